"""npy_globals against pickletools: every global that a pickle names, wherever in a file the pickle is, and nothing run."""

import collections
import datetime
import decimal
import fractions
import gzip
import os
import pathlib
import pickle
import pickletools
import struct
import subprocess
import uuid
import zipfile

import numpy as np
import pytest

import tars
from arrays import npy_bytes, npz_bytes, seeded_generator, ten_bytes
from expected import counters, error_of
from objects import array_of, saved
from safetensors_files import safetensors_bytes
from torch_files import Call, Global, pickled, tensor, torch_legacy, torch_zip

STRINGS = ("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8")
PUTS, GETS = ("PUT", "BINPUT", "LONG_BINPUT"), ("GET", "BINGET", "LONG_BINGET")


def globals_of(contents):
    """{(module, name): how often}, in the order of the pickle, by the strings before each STACK_GLOBAL and in the memo."""
    counted, memo, texts, last = collections.Counter(), {}, [], None
    for opcode, argument, _ in pickletools.genops(contents):
        if opcode.name in ("GLOBAL", "INST"):
            counted[tuple(argument.split(" ", 1))] += 1
            last = None
        elif opcode.name == "STACK_GLOBAL":
            counted[tuple(texts[-2:])] += 1
            last = None
        elif opcode.name in STRINGS:
            texts.append(argument)
            last = argument
        elif opcode.name == "MEMOIZE":
            memo[len(memo)] = last
        elif opcode.name in PUTS:
            memo[int(argument)] = last
        elif opcode.name in GETS:
            last = memo.get(int(argument))
            if isinstance(last, str):
                texts.append(last)
        elif opcode.name not in ("PROTO", "FRAME", "MARK"):
            last = None
    return dict(counted)


def rows(db, source, columns="module, qualname, count", on_error="row"):
    return db.execute(f"SELECT {columns} FROM npy_globals(?, ?)", (source, on_error)).fetchall()


def named(contents):
    return [(module, name, count) for (module, name), count in globals_of(contents).items()]


class Unsafe:
    """What would run a command."""

    def __init__(self, command="echo no > ran"):
        self.command = command

    def __reduce__(self):
        return (os.system, (self.command,))


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a, self.b = a, (a, a)


class Plain:
    class Inner:
        pass


SYSTEM = (os.system.__module__, "system")
# A pickle of each way to name a global; the last three never reach their end.
BY_HAND = {
    "GLOBAL": b"cos\nsystem\n(S'ls'\ntR.",
    "INST": b"(S'ls'\nios\nsystem\n.",
    "OBJ": b"(cos\nsystem\nS'ls'\no.",
    "STACK_GLOBAL": b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R.",
    "texts from the memo": b"\x80\x04\x8c\x06system\x94\x8c\x02os\x940h\x01h\x00\x93.",
    "texts below others": b"\x80\x04\x8c\x02os\x8c\x06system\x8c\x01x0\x93.",
    "texts of other opcodes": b"\x80\x04X\x02\x00\x00\x00os\x8d\x06\x00\x00\x00\x00\x00\x00\x00system\x93.",
    "a UNICODE": b"Vo\\u0073\nVsystem\n\x93.",
    "a text put twice": b"\x80\x02U\x01xq\x00X\x02\x00\x00\x00osq\x00h\x00X\x06\x00\x00\x00system\x93.",
    "popped": b"\x80\x02cos\nsystem\n0N.",
    "in a popped mark": b"\x80\x02(cos\nsystem\n1N.",
    "duplicated": b"\x80\x02cos\nsystem\n2\x86.",
    "without PROTO, nested": b"(lp0\n(dp1\nS'k'\ncos\nsystem\nsa.",
    "without STOP": b"\x80\x02cos\nsystem\nU\x02ls\x85R",
    "an unknown opcode": b"\x80\x04cos\nsystem\n\xff.",
    "a frame that is cut off": b"\x80\x04\x95\xff\x00\x00\x00\x00\x00\x00\x00cos\nsystem\n",
}
OF_BY_HAND = {("os", "system")}


def plain_value(rng, depth=0):
    """Whatever Python pickles with a global."""
    choice = int(rng.integers(0, 18 if depth < 3 else 12))
    simple = [
        1, "text", None, 2.5, {1, 2}, frozenset([3]), 1j, b"bytes", bytearray(b"more"), datetime.datetime(2026, 1, 2, 3), decimal.Decimal("1.5"), pathlib.PurePosixPath("a/b"),
    ]  # fmt: skip
    if choice < 12:
        return simple[choice]
    inner = [plain_value(rng, depth + 1) for _ in range(int(rng.integers(1, 4)))]
    slotted = Slotted(inner[0])
    made = [inner, tuple(inner), {str(i): value for i, value in enumerate(inner)}, collections.OrderedDict(enumerate(inner)), [fractions.Fraction(1, 3), Plain.Inner, Plain(), len], slotted]
    return made[choice - 12]


def test_random_objects(db):
    """In all protocols, as BLOBs, against pickletools."""
    rng = seeded_generator()
    ncompared = 0
    for number in range(400):
        value = [plain_value(rng) for _ in range(4)] + [np.arange(3), np.float32(1), datetime.timezone.utc, uuid.UUID(int=5)]
        for protocol in range(6):
            try:
                contents = pickle.dumps(value, protocol)
            except (TypeError, pickle.PicklingError):  # slots before protocol 2
                continue
            ncompared += 1
            assert rows(db, contents) == named(contents), (number, protocol)
    assert ncompared > 1500


def test_known(db):
    """What npyext reads as data is known; what would run, what gives a way to that, and what only has a name like it, is not."""
    data = [
        np.arange(3), np.float32(1), np.datetime64("2026-01-02"), np.array(["a"]), np.ma.array([1, 2], mask=[0, 1]), datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc),
        datetime.timedelta(1), decimal.Decimal(1), uuid.UUID(int=1), pathlib.PurePosixPath("a"), {1}, frozenset([1]), 1j, bytearray(b"1"), collections.OrderedDict(a=1),
        np.zeros(2, [("a", "f4"), ("b", "U2")]), array_of([1, "a"]), Global("numpy", "float64"), Global("numpy", "str_"), Global("ml_dtypes", "bfloat16"),
        Global("torch", "FloatStorage"), Global("torch", "bfloat16"), Global("torch.storage", "UntypedStorage"), Global("torch.cuda", "HalfStorage"),
        Global("torch._utils", "_rebuild_tensor_v2"), Global("torch", "Size"), Global("zoneinfo", "ZoneInfo._unpickle"), Global("builtins", "object"),
    ]  # fmt: skip
    for value in data:
        for protocol in range(6):
            assert rows(db, pickled(value, protocol), "module, qualname", "raise") or protocol > 3
            assert {known for (known,) in rows(db, pickled(value, protocol), "known")} <= {1}, (value, protocol)
    others = [
        ("os", "system"), ("posix", "system"), ("builtins", "eval"), ("__builtin__", "eval"), ("builtins", "getattr"), ("__builtin__", "getattr"), ("numpy", "load"), ("numpy", "Others"),
        ("numpy.testing._private.utils", "runstring"), ("torch", "load"), ("torch.hub", "float32"), ("torch.hub", "FloatStorage"), ("torch.storage", "_load_from_bytes"),
        ("collections", "Counter"), ("collections.OrderedDict", ""), ("", "collections.OrderedDictX"), ("persistent id", ""), ("numpy", "f4,f4"), ("datetime", "datetime.now"),
    ]  # fmt: skip
    for module, name in others:
        assert rows(db, pickled(Global(module, name)), "module, qualname, known") == [(module, name, 0)]


def test_counts_and_order(db):
    """Each once, in the order of first appearance, by module and name; what is fetched from the memo is not named again."""
    contents = b"\x80\x02(cb\nx\nq\x00ca\nx\nh\x00h\x00cb\nx\nca.b\nc\nca\nb.c\ncb\nx\nt."
    assert rows(db, contents) == [("b", "x", 3), ("a", "x", 1), ("a.b", "c", 1), ("a", "b.c", 1)]
    assert db.execute("SELECT count(DISTINCT array_key), count(*) FROM npy_globals(?)", (contents,)).fetchone() == (4, 4)


@pytest.mark.parametrize("label", BY_HAND)
def test_by_hand(db, folder, label):
    contents = BY_HAND[label]
    is_bad = label in list(BY_HAND)[-3:]
    for name in ("x.pkl", "x.pt", "x.bin", "x.dat"):
        (folder / name).write_bytes(contents)
        got = rows(db, name, "name, module, qualname, known, error IS NULL")
        assert got == [("", "os", "system", 0, 1)] + [("", None, None, 0, 0)] * is_bad, name
    assert rows(db, contents, "module, qualname", "skip") == [("os", "system")]
    if not is_bad:
        assert globals_of(contents).keys() == OF_BY_HAND or label == "texts below others"
        return
    assert "a fault in the pickle at byte" in error_of(db, "SELECT * FROM npy_globals(?)", contents)
    assert db.execute("SELECT module FROM npy_globals(?) LIMIT 1", (contents,)).fetchall() == [("os",)]


def test_pickles_in_a_row(db):
    """Of any protocol, up to bytes that are no pickle; a bad one after others is an error."""
    good, text = pickle.dumps(Unsafe(), 4), BY_HAND["GLOBAL"]
    assert rows(db, good + text + good, "module") == [(SYSTEM[0],), ("os",), (SYSTEM[0],)]
    assert rows(db, good + b"\0\0\0 storages", "module, error") == [(SYSTEM[0], None)]
    assert rows(db, pickle.dumps(1) + b"cos\nsystem\n", "module, error IS NULL") == [("os", 1), (None, 0)]
    assert rows(db, pickle.dumps(1) + b"\x80\x04\x00", "module, error IS NULL") == [(None, 0)]
    assert rows(db, b"N." * 5000 + text, "module") == [("os",)]
    many = b"".join(pickle.dumps([number, Unsafe()], 2) for number in range(9000))  # several pieces
    assert rows(db, many, "count(*), sum(count)") == [(9000, 9000)]
    large = pickle.dumps([b"x" * 3_000_000, Unsafe()], 3) + text
    assert rows(db, large, "module") == [(SYSTEM[0],), ("os",)]


def test_arrays_of_objects(db, folder):
    """In a .npy, several of them, in an .npz; what is not pickled gives no rows."""
    dangerous = [*named(saved(array_of([Unsafe()]), 4)[128:])]
    floats, objects_2 = npy_bytes(np.arange(3.0)), saved(array_of([{1}]), 2)
    (folder / "a.npy").write_bytes(floats + objects_2 + floats + saved(array_of([Unsafe()]), 4))
    assert rows(db, "a.npy", "name, module, qualname, count")[-1:] == [("", *SYSTEM, 1)]
    assert dangerous == rows(db, "a.npy")[-len(dangerous) :]
    np.savez("z.npz", a=array_of([1]), b=np.arange(3), c=array_of([Unsafe()]))
    assert [row[0] for row in rows(db, "z.npz", "name", "raise")] == ["a"] * 3 + ["c"] * 4
    assert rows(db, "z.npz", "name, known, qualname")[-1] == ("c", 0, "system")
    fields = np.array([(1, [Unsafe()])], [("a", "i4"), ("b", "O")])
    assert rows(db, saved(fields, 3))[-1] == (*SYSTEM, 1)
    for nothing in (floats, npz_bytes({"a": np.arange(3)}), ten_bytes([np.arange(3.0)]), safetensors_bytes({"a": np.arange(3.0)}), b"", b"\x89PNG\r\n\x1a\n", b"some text", b"\x80"):
        assert rows(db, nothing, "*", "raise") == [], nothing[:8]
    assert rows(db, floats[:-5]) == [], "whether floats are whole is not asked"
    assert "is_error" in [row[0] for row in rows(db, saved(array_of([Unsafe()]), 4)[:-1], "CASE WHEN error IS NULL THEN '' ELSE 'is_error' END")]


def test_zips(db, folder):
    """Pickles in entries of any name; of storages, only what names something."""
    unsafe = pickle.dumps(Unsafe(), 4)
    with zipfile.ZipFile("x.zip", "w", zipfile.ZIP_DEFLATED) as out:
        for name, contents in {
            "README": b"some text", "an odd/näme": unsafe, "old.pkl": BY_HAND["GLOBAL"], "old.txt": BY_HAND["GLOBAL"], "a.npy": saved(array_of([Unsafe()]), 4), "b.npy": npy_bytes(np.arange(3)),
            "bad.data": b"\x80\x04\x00", "empty.pkl": b"", "folder/": b"", "last.dat": b"\x01\x02",
        }.items():  # fmt: skip
            out.writestr(name, contents)
    got = rows(db, "x.zip", "name, module, qualname, error IS NULL")
    assert [row for row in got if row[1] in ("os", SYSTEM[0]) or row[1] is None] == [
        ("an odd/näme", *SYSTEM, 1), ("old.pkl", "os", "system", 1), ("a", *SYSTEM, 1), ("bad.data", None, None, 0),
    ]  # fmt: skip
    contents = (folder / "x.zip").read_bytes()
    assert rows(db, b"#!/bin/sh\n" + contents, "name, module, qualname, error IS NULL") == got
    assert rows(db, unsafe + contents, "name, module, qualname, error IS NULL") == [("", *SYSTEM, 1), *got], "a pickle and a zip in one"
    far = "is a zip inside a zip, which is looked into only if it is stored and holds no other"
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile("y.zip", "w", method) as out:
            out.writestr("x.zip", contents)
            out.writestr("OLD.PKL", BY_HAND["GLOBAL"])
        inside = [(f"x.zip:{name}", *rest) for name, *rest in got]
        want = inside if method == zipfile.ZIP_STORED else [("x.zip", None, None, 0)]
        assert rows(db, "y.zip", "name, module, qualname, error IS NULL") == [*want, ("OLD.PKL", "os", "system", 1)]
    assert rows(db, "y.zip", "error")[0] == (f"npyext: y.zip:x.zip: {far}",)
    tree = {"w": tensor("Float", "0", 4, 0, (4,), (1,)), "x": Call("os", "system", "ls")}
    storages = {"0": b"\x80\x02 chance..", "1": unsafe}
    got = rows(db, torch_zip(tree, storages), "name, module, qualname, known, error")
    assert got == [
        ("archive/data.pkl", "torch._utils", "_rebuild_tensor_v2", 1, None), ("archive/data.pkl", "torch", "FloatStorage", 1, None),
        ("archive/data.pkl", "os", "system", 0, None), ("archive/data/1", *SYSTEM, 0, None),
    ]  # fmt: skip
    script = torch_zip(tree, {}, others={"constants.pkl": BY_HAND["GLOBAL"], "code/__torch__.py.debug_pkl": unsafe})
    assert {name for (name,) in rows(db, script, "name")} == {"archive/data.pkl", "archive/constants.pkl", "archive/code/__torch__.py.debug_pkl"}


def test_old_torch_files(db):
    """Five pickles, each of which may name something, and storages, which are not looked at."""
    tree = {"w": tensor("Float", "0", 4, 0, (4,), (1,)), "x": Call("os", "system", "ls")}
    for protocol in (2, 3, 4, 5):
        contents = torch_legacy(tree, {"0": (4, b"cos\nsystem\n.....")}, protocol)
        assert rows(db, contents) == [("torch._utils", "_rebuild_tensor_v2", 1), ("torch", "FloatStorage", 1), ("os", "system", 1)]
    assert rows(db, torch_legacy([], {"0": (0x0280, b"\x80\x04\0" * 900)})) == [], "a storage that begins with PROTO"
    assert rows(db, torch_legacy([], {}) + pickle.dumps(Unsafe(), 2), "module") == [(SYSTEM[0],)]
    magic = pickle.dumps(0x1950A86A20F9469CFC6C, 2)
    others = [pickle.dumps(value, 2) for value in (1001, {}, [], [])]
    for place in range(1, 5):
        parts = [magic, *others]
        parts[place] = BY_HAND["GLOBAL"]
        assert rows(db, b"".join(parts), "module") == [("os",)], place


def test_tars_and_compressed_files(db, folder):
    """Members of a tar that are such files; what is gzipped."""
    unsafe = pickle.dumps(Unsafe(), 4)
    contents = tars.tar(
        tars.member("a.pkl", unsafe), tars.member("b.txt", b"text"), tars.member("c.npz", npz_bytes({"w": np.arange(3)})), tars.member("d.npy", saved(array_of([Unsafe()]), 4)),
        tars.member("e.pt", torch_zip({"x": Call("os", "system", "ls")}, {})), tars.member("f.pyd", BY_HAND["GLOBAL"][:-1]), tars.member("g.pyd", unsafe),
    )  # fmt: skip
    want = [("a.pkl",), ("d",), ("e.pt:archive/data.pkl",), ("g.pyd",)]
    assert rows(db, contents, "DISTINCT name", "raise") == want
    assert rows(db, gzip.compress(contents), "DISTINCT name") == want
    assert rows(db, gzip.compress(unsafe), "module") == [(SYSTEM[0],)]
    (folder / "x.pth").write_bytes(contents)
    assert rows(db, "x.pth", "DISTINCT name", "raise") == want
    # A tar begins with a name, and that may be a pickle.
    (folder / "y.pkl").write_bytes(tars.tar(tars.member("cos\nsystem\n(S'ls'\ntR.", b"")))
    assert rows(db, "y.pkl", "name, module, error") == [("", "os", None)]
    sparse = tars.tar(tars.gnu_sparse("s.pkl", [(0, unsafe)], 600), tars.member("a.pkl", unsafe))
    assert rows(db, sparse, "name, module, error_kind") == [("s.pkl", None, "unsupported"), ("a.pkl", SYSTEM[0], None)]
    assert rows(db, contents[:530], "module, error IS NULL")[-1] == (None, 0)


def test_sources(db, folder):
    """A pattern, a list, a range, a handle; errors are rows of what could not be read, and not known."""
    unsafe = pickle.dumps(Unsafe(), 4)
    files = {"a.pkl": unsafe, "b.pt": b"\x89PNG\r\n\x1a\n", "c.npy": npy_bytes(np.arange(3)), "d.npz": b"PK\3\4 and no zip", "e.txt": b"text", "f.npy": saved(array_of([Unsafe()]), 4)}
    for name, contents in files.items():
        (folder / name).write_bytes(contents)
    scan = "SELECT path, name, module, qualname, error IS NULL FROM npy_globals(?) WHERE NOT known"
    want = [("a.pkl", "", *SYSTEM, 1), ("b.pt", "", None, None, 0), ("d.npz", "", None, None, 0), ("f.npy", "", *SYSTEM, 1)]
    assert db.execute(scan, ("*",)).fetchall() == want
    assert db.execute(scan, ("**/*.{pt,pth,pkl,npy,npz}",)).fetchall() == want
    assert db.execute(scan, ('["gone.pkl", "a.pkl"]',)).fetchall() == [("gone.pkl", None, None, None, 0), want[0]]
    assert db.execute("SELECT path FROM npy_globals('*', 'skip') WHERE NOT known").fetchall() == [("a.pkl",), ("f.npy",)]
    (folder / "g").write_bytes(b"123" + unsafe + b"456")
    assert rows(db, f'{{"path": "g", "offset": 3, "nbytes": {len(unsafe)}}}', "module") == [(SYSTEM[0],)]
    assert "goes beyond the file" in error_of(db, "SELECT * FROM npy_globals(?)", '{"path": "g", "offset": 3, "nbytes": 900}')
    assert rows(db, '{"path": "g", "dtype": "u1"}', "*", "raise") == []
    assert db.execute("SELECT module FROM npy_file('f.npy') AS f, npy_globals(f.array) AS g WHERE NOT g.known").fetchall() == [(SYSTEM[0],)]
    assert db.execute("SELECT count(*) FROM npy_globals((SELECT npy_calc('a + 1', array) FROM npy_file('c.npy')))").fetchone() == (0,)
    assert db.execute("SELECT g.module FROM npy_paths('a.pkl') AS p, npy_globals(p.path) AS g").fetchall() == [(SYSTEM[0],)]
    assert rows(db, None) == []
    assert "npy_globals needs a source, as in npy_globals('x.pkl')" in error_of(db, "SELECT * FROM npy_globals")
    assert not (folder / "ran").exists()


def test_what_is_read(db, folder):
    """Of large arrays only headers, of a file after its pickle little more than a piece."""
    np.save("large.npy", np.zeros(1_000_000))
    (folder / "old.pt").write_bytes(torch_legacy({"w": tensor("Float", "0", 1_000_000, 0, (1_000_000,), (1,))}, {"0": (1_000_000, bytes(4_000_000))}))
    (folder / "new.pt").write_bytes(torch_zip({"w": tensor("Float", "0", 1_000_000, 0, (1_000_000,), (1,))}, {"0": bytes(4_000_000)}))
    for name, most in (("large.npy", 5000), ("old.pt", 700_000), ("new.pt", 300_000)):
        before = counters(db)["bytes_read"]
        rows(db, name, "*", "raise")
        assert counters(db)["bytes_read"] - before < most, name


def test_many_globals_and_long_names(db):
    """Time is linear in the pickle; memory is charged to its account."""
    contents = b"\x80\x02(" + b"".join(b"cm%d\nn\n" % number for number in range(100_000)) + b"t."
    assert rows(db, contents, "count(*), count(DISTINCT module), sum(count)") == [(100_000, 100_000, 100_000)]
    contents = b"\x80\x02(" + b"cm\nn\n" * 200_000 + b"t."
    assert rows(db, contents) == [("m", "n", 200_000)]
    name = b"x" * 2_000_000
    long = b"\x80\x04X" + struct.pack("<I", len(name)) + name + b"\x94\x94(" + b"h\x00h\x00\x93" * 100 + b"t."
    assert rows(db, long, "length(module), length(qualname), count") == [(2_000_000, 2_000_000, 100)]
    bomb = b"\x80\x04X" + struct.pack("<I", len(name)) + name + b"\x94(" + b"h\x00h\x00\x93" * 1_000_000 + b"t."
    assert "more than" in rows(db, bomb, "error")[-1][0]


def test_nothing_runs(db, folder):
    """Python would run the command; npyext does not."""
    for protocol in range(6):
        (folder / f"{protocol}.pkl").write_bytes(pickle.dumps(Unsafe(), protocol))
    assert rows(db, "*.pkl", "count(*)") == [(6,)] and not (folder / "ran").exists()
    subprocess.run(["/usr/bin/python3", "-c", "import pickle; pickle.load(open('2.pkl', 'rb'))"], check=True)
    assert (folder / "ran").exists()


def test_damaged_pickles(db):
    """Cut anywhere: the globals up to there, then an error."""
    contents = pickle.dumps([Unsafe(), datetime.datetime(2026, 1, 2), {1}, np.arange(3)], 2)
    every = named(contents)
    for length in range(2, len(contents)):
        got = rows(db, contents[:length], "module, qualname, error IS NULL")
        assert got[-1] == (None, None, 0), length
        assert [row[:2] for row in got[:-1]] == [row[:2] for row in every[: len(got) - 1]], length
    rng = seeded_generator()
    for _ in range(2000):
        changed = bytearray(contents)
        for _ in range(int(rng.integers(1, 4))):
            changed[int(rng.integers(2, len(changed)))] = int(rng.integers(256))
        keys = rows(db, npy_bytes(np.arange(3)) + bytes(changed) + contents, "array_key") + rows(db, bytes(changed) + contents, "array_key")
        assert len(set(keys)) == len(keys), bytes(changed)
