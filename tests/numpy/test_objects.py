"""Arrays of Python objects: values held against Python's own, for pickles of every protocol; and pickles that nobody should load."""

import collections
import datetime
import fractions
import json
import os
import pathlib
import pickle
import pickletools
import sqlite3
import struct
import sys
import time
import zoneinfo

import numpy as np
import pytest

import shell
from arrays import random_array, seeded_generator
from expected import counters, error_of, parse_json
from objects import array_of, assert_value, after_header, json_value, listed, random_value, saved

def value_of(db, stream):
    """The one value of a pickle that leaves one."""
    ((value,),) = db.execute("SELECT value FROM npy_rows(?)", (after_header(b"]" + stream[:-1] + b"a."),)).fetchall()
    return value


@pytest.mark.parametrize("protocol", range(6))
def test_random_values(connect, protocol):
    db, rng = connect(), seeded_generator()
    for round in range(40):
        values = [random_value(rng) for _ in range(int(rng.integers(1, 12)))]
        data = saved(array_of(values), protocol)
        rows = db.execute("SELECT value FROM npy_rows(?)", (data,)).fetchall()
        assert len(rows) == len(values)
        for (got,), value in zip(rows, values):
            assert_value(got, value, f"protocol {protocol}, round {round}")
        whole = db.execute("SELECT npy_json(?)", (data,)).fetchone()[0]
        assert parse_json(whole) == json_value(values)


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_shapes_and_orders(connect, tmp_path, protocol, order):
    db, rng = connect(), seeded_generator()
    for shape in [(), (0,), (3,), (2, 3), (2, 1, 4), (0, 2), (3, 2, 2)]:
        array = np.empty(shape, object, order=order)
        for index in np.ndindex(shape):
            array[index] = random_value(rng)
        path = tmp_path / "a.npy"
        path.write_bytes(saved(array, protocol))
        for source in (str(path), path.read_bytes()):
            rows = db.execute("SELECT value FROM npy_elements(?) ORDER BY idx", (source,)).fetchall()
            assert len(rows) == array.size
            for (got,), index in zip(rows, np.ndindex(shape)):
                assert_value(got, array[index], f"{shape} {index}")
        for index in np.ndindex(shape):
            marks = "".join(", ?" for _ in index)
            ((got,),) = db.execute(f"SELECT npy_get(array{marks}) FROM npy_file(?)", (*index, str(path))).fetchall()
            assert_value(got, array[index], f"{shape} {index}")
        if len(shape) == 2 and array.size:
            rows = db.execute("SELECT value FROM npy_rows(?, '', ':, ::-1')", (str(path),)).fetchall()
            assert [parse_json(value) for (value,) in rows] == [json_value(list(row)) for row in array[:, ::-1]]


class Spelled:
    """Pickled as a path of these segments, which Python keeps since 3.12; older ones pickle a path's parts."""

    def __init__(self, kind, segments):
        self.kind, self.segments = kind, segments

    def __reduce__(self):
        return self.kind, self.segments


# What str() says of them in Python 3.13 and 3.14.
WINDOWS_PATHS = [
    ((), "."), (("",), "."), (("a/b",), "a\\b"), (("/a/b c",), "\\a\\b c"), (("a/", "./b//", ""), "a\\b"), (("a", "/b"), "\\b"),
    (("c:/x", "y"), "c:\\x\\y"), (("c:x", "C:y"), "C:x\\y"), (("c:x", "d:y"), "d:y"), (("c:/x", "/y"), "c:\\y"), (("c:",), "c:"),
    (("./c:x",), ".\\c:x"), (("é:x",), "é:x"), (("//srv/share/x",), "\\\\srv\\share\\x"), (("//srv/share",), "\\\\srv\\share\\"),
    (("//srv", "x"), "\\\\srv\\x\\"), (("//./dev/x",), "\\\\.\\dev\\x"), (("//./dev",), "\\\\.\\dev"), (("//?/UNC/srv/share/x",), "\\\\?\\UNC\\srv\\share\\x"),
    (("\\", "a", "b c"), "\\a\\b c"), (("c:\\", "x", "y"), "c:\\x\\y"), (("\\\\srv\\share\\", "x"), "\\\\srv\\share\\x"), (("a", "..", " b "), "a\\..\\ b "),
    (("//", "a/", ""), "\\\\a\\"),
]
POSIX_PATHS = [
    ((), "."), (("",), "."), (("./",), "."), (("a//b/./",), "a/b"), (("a/", "b"), "a/b"), (("a", "/b", "c"), "/b/c"), (("//a//b",), "//a/b"), (("///a",), "/a"),
    (("/",), "/"), (("/", "a", "b c"), "/a/b c"), (("a", "..", " b "), "a/../ b "), (("c:\\x",), "c:\\x"), (("//",), "//"), (("", "x"), "x"),
]


def test_paths_are_spelled_as_by_pathlib(db):
    for kind, listed_paths in ((pathlib.PureWindowsPath, WINDOWS_PATHS), (pathlib.PurePosixPath, POSIX_PATHS)):
        paths = [Spelled(kind, segments) for segments, _ in listed_paths]
        rows = db.execute("SELECT value FROM npy_rows(?)", (saved(array_of(paths), 2),)).fetchall()
        assert [value for (value,) in rows] == [text for _, text in listed_paths]


@pytest.mark.parametrize("kind", [pathlib.PureWindowsPath, pathlib.PurePosixPath])
def test_random_paths(db, kind):
    """Against the Python that is there; older ones than 3.13 pickle other segments, and spell the rarest differently."""
    rng = seeded_generator()
    words = ["/", "/", "//", "\\", ".", "..", "a", "b c", "é", "c:", "C:", "d:", "?", "UNC", "srv", ""] if sys.version_info >= (3, 13) else ["/", "//", ".", "..", "a", "b c", "é", ""]
    segments = [tuple("".join(rng.choice(words, rng.integers(6))) for _ in range(rng.integers(4))) for _ in range(3000)]
    paths = [kind(*some) for some in segments]
    rows = db.execute("SELECT value FROM npy_rows(?)", (saved(array_of(paths), 2),)).fetchall()
    wrong = [(some, got, str(path)) for some, (got,), path in zip(segments, rows, paths) if got != str(path)]
    assert len(rows) == 3000 and not wrong


STRUCTS = [
    [("a", "i4"), ("o", "O"), ("h", ">f2"), ("s", "S3"), ("d", "M8[D]"), ("sub", "f4", (2, 2)), ("u", ">U3"), ("b", "?"), ("c", "c8"), ("v", "V3")],
    [("n", [("x", "u8"), ("o", "O")]), ("t", "m8[ms]"), ("ns", "M8[ns]"), ("g", "f16")],
    {"names": ["i", "o"], "formats": ["i2", "O"], "offsets": [4, 8], "itemsize": 24},
    [("many", "O", (2,))],
]


@pytest.mark.parametrize("spelled", STRUCTS, ids=str)
def test_fields_of_objects(connect, tmp_path, spelled):
    db, rng = connect(), seeded_generator()
    dtype = np.dtype(spelled)
    array = np.zeros(5, dtype)

    def fill(part):
        for name in part.dtype.names:
            if part.dtype[name].names:
                fill(part[name])
            elif part.dtype[name].base.kind == "O":
                for index in np.ndindex(part[name].shape):
                    part[name][index] = random_value(rng)
            else:
                drawn = random_array(rng, part.dtype[name].base, part[name].shape)
                part[name] = np.clip(drawn.astype("i8"), -3000, 3000).astype(drawn.dtype) if drawn.dtype.kind in "Mm" else drawn

    fill(array)
    for protocol in (2, 4, 5):
        path = tmp_path / f"{protocol}.npy"
        path.write_bytes(saved(array, protocol))
        rows = db.execute("SELECT value FROM npy_rows(?)", (str(path),)).fetchall()
        for (got,), item in zip(rows, array):
            found = parse_json(got)
            assert found == ("object", struct_json(item)), got
        for name in dtype.names:
            if dtype[name].kind == "O":
                values = db.execute("SELECT value FROM npy_rows(?) WHERE field = ?", (str(path), name)).fetchall()
                for (got,), item in zip(values, array[name]):
                    assert_value(got, item, name)
    db.execute(f"CREATE VIRTUAL TABLE t USING npy('{tmp_path}/4.npy')")
    rows = db.execute("SELECT * FROM t").fetchall()
    assert len(rows) == 5 and len(rows[0]) == len(dtype.names)
    for row, item in zip(rows, array):
        for value, name in zip(row, dtype.names):
            if dtype[name].kind == "O":
                assert_value(value, item[name], name)


def struct_json(item):
    return [(name, ("object", struct_json(item[name])) if item.dtype[name].names else json_value(listed(item[name]) if item.dtype[name].base.kind == "O" and item.dtype[name].shape else item[name] if item.dtype[name].base.kind == "O" else np.asarray(item[name]))) for name in item.dtype.names]


# --- classes -----------------------------------------------------------------------------------------------


class Own:
    def __init__(self, x):
        self.x = x


class OwnList(list):
    pass


class OwnDict(dict):
    pass


class Reduced:
    def __reduce__(self):
        return (Own, (1, "two"))


class NewArgs:
    def __new__(cls, *args, **kwargs):
        return object.__new__(cls)

    def __getnewargs_ex__(self):
        return (1,), {"k": 2}


def test_other_classes_are_named(connect):
    db = connect()
    own = f"{__name__}.Own"
    listed, mapped = OwnList([1, 2]), OwnDict(a=1)
    listed.name = "l"
    cases = [
        (Own(1), {"__class__": own, "args": [], "state": {"x": 1}}),
        (Reduced(), {"__class__": own, "args": [1, "two"]}),
        (listed, {"__class__": f"{own}List", "args": [], "items": [1, 2], "state": {"name": "l"}}),
        (mapped, {"__class__": f"{own}Dict", "args": [], "entries": {"a": 1}}),
        (NewArgs(), {"__class__": f"{__name__}.NewArgs", "args": [1], "kwargs": {"k": 2}}),
        (collections.Counter(a=2), {"__class__": "collections.Counter", "args": [{"a": 2}]}),
        (collections.defaultdict(list, a=1), {"__class__": "collections.defaultdict", "args": [{"__class__": "builtins.list"}], "entries": {"a": 1}}),
        (range(2, 9), {"__class__": "builtins.range", "args": [2, 9, 1]}),
        (fractions.Fraction(1, 3), None),
        (len, {"__class__": "builtins.len"}),
        (Own, {"__class__": own}),
        (slice(1, 2), {"__class__": "builtins.slice", "args": [1, 2, None]}),
    ]
    for protocol in (4, 5):
        rows = db.execute("SELECT value FROM npy_rows(?)", (saved(array_of([value for value, _ in cases]), protocol),)).fetchall()
        for (got,), (value, want) in zip(rows, cases):
            assert json.loads(got)["__class__"] and (want is None or json.loads(got) == want), (value, got)


def test_a_nan_is_null_and_counted(connect):
    db = connect()
    data = saved(array_of([None, float("nan"), np.float32("nan"), np.datetime64("NaT"), 0, "", [None]]), 4)
    assert db.execute("SELECT count, nulls, min, max, mean, crc32 FROM npy_stats(?)", (data,)).fetchall() == [(3, 4, None, None, None, None)]
    assert db.execute("SELECT count(*) FROM npy_elements(?) WHERE value IS NULL", (data,)).fetchone() == (4,)
    assert db.execute("SELECT count(*) FROM npy_elements(?) WHERE value = 0", (data,)).fetchone() == (1,)
    assert db.execute("SELECT count(*) FROM npy_elements(?) WHERE value > 5", (data,)).fetchone() == (2,)


def test_npz_members_and_names(connect, tmp_path):
    db = connect()
    np.savez_compressed(tmp_path / "a.npz", settings=np.array({"lr": 0.1}), x=np.arange(3), texts=array_of(["a", "b"]))
    path = str(tmp_path / "a.npz")
    assert db.execute("SELECT value ->> 'lr' FROM npy_rows(?, 'settings')", (path,)).fetchall() == [(0.1,)]
    rows = db.execute("SELECT name, value FROM npy_elements(?) ORDER BY name, idx", (path,)).fetchall()
    assert rows == [("settings", '{"lr":0.1}'), ("texts", "a"), ("texts", "b"), ("x", 0), ("x", 1), ("x", 2)]
    db.execute(f"CREATE VIRTUAL TABLE t USING npy('{path}', members='texts')")
    assert db.execute("SELECT * FROM t WHERE rowid = 1").fetchall() == [("b",)]


def test_the_pickle_is_read_once(connect, tmp_path):
    db = connect()
    (tmp_path / "a.npy").write_bytes(saved(array_of([f"text {i}" for i in range(5000)]), 4))
    path = str(tmp_path / "a.npy")
    db.execute("SELECT count(*) FROM npy_rows(?)", (path,)).fetchall()
    before = counters(db)
    for i in range(100):
        assert db.execute("SELECT value FROM npy_rows(?) WHERE row = ?", (path, i)).fetchall() == [(f"text {i}",)]
        assert db.execute("SELECT npy_get(array, ?) FROM npy_file(?)", (i, path)).fetchall() == [(f"text {i}",)]
    used = {name: value - before[name] for name, value in counters(db).items()}
    assert used["bytes_read"] <= 1 << 16, used
    os.utime(path, (1, 1))
    (tmp_path / "a.npy").write_bytes(saved(array_of(["another"]), 4))
    assert db.execute("SELECT value FROM npy_rows(?)", (path,)).fetchall() == [("another",)]


def test_expect(connect):
    db, data = connect(), saved(array_of([1, "a"]), 4)
    for expected in ("object", "O", "object[*]", "[2]", "O[2]"):
        assert db.execute("SELECT value FROM npy_rows(?) WHERE expect = ?", (data, expected)).fetchall() == [(1,), ("a",)]
    assert "expected float32, found object[2]" in error_of(db, "SELECT value FROM npy_rows(?) WHERE expect = 'float32'", data)


REFUSED = [
    "SELECT data FROM npy_rows('a.npy')",
    "SELECT npy_data(array) FROM npy_file('a.npy')",
    "SELECT npy_slice(array, ':1') FROM npy_file('a.npy')",
    "SELECT npy_astype(array, 'f4') FROM npy_file('a.npy')",
    "SELECT npy_reshape(array, '[2, 1]') FROM npy_file('a.npy')",
    "SELECT * FROM npy_histogram('a.npy')",
    "SELECT value FROM npy_rows('a.npy') WHERE view = 'i8'",
    "SELECT value FROM npy_rows('a.npy') WHERE astype = 'i8'",
    "SELECT value FROM npy_rows('a.npy') WHERE astype = 'O'",
    "SELECT * FROM npy_write('b.npy', (SELECT array FROM npy_file('a.npy')))",
    "SELECT npy_stack(array) FROM npy_file('a.npy')",
    "SELECT npz_archive('a', array) FROM npy_file('a.npy')",
]


@pytest.mark.parametrize("sql", REFUSED)
def test_nothing_but_values(connect, folder, sql):
    """Addresses in memory are nobody's business, and no pickle is ever written."""
    db = connect()
    with open("a.npy", "wb") as file:
        file.write(saved(array_of([1, 2]), 4))
    assert db.execute("SELECT value FROM npy_rows('a.npy')").fetchall() == [(1,), (2,)]
    error_of(db, sql)


# --- by hand -----------------------------------------------------------------------------------------------

BY_HAND = [
    (b"(I01\nI00\nI7\nL12345678901234567890L\nF2.5\nFnan\nNl.", [True, False, 7, 12345678901234567890, 2.5, None, None]),
    (b"(S'a\\n\\x41\\'\\101'\nS\"b\"\nl.", ["a\nA'A", "b"]),
    (b"(V\\u4e2d\\U0001f600\xe9\nVa\\u000ab\nl.", ["\u4e2d\U0001f600\xe9", "a\nb"]),
    (b"(dp0\nS'a'\np1\nI1\nsg1\nI2\ns.", {"a": 2}),
    (b"(lp5\n(lp6\nag6\na.", [[], []]),
    (b"(I1\nI2\ntp0\n0(I3\ng0\nl.", [3, [1, 2]]),
    (b"(I1\n2l.", [1, 1]),
    (b"((I5\n1I6\nl.", [6]),
    (b"(\x8a\x00\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\xffl.", [0, -(2**63)]),
    (b"\x80\x02]q\x00(K\x01M\x00\x01J\xff\xff\xff\xffe.", [1, 256, -1]),
    (b"(U\x02abT\x03\x00\x00\x00xyzX\x01\x00\x00\x00ql.", ["ab", "xyz", "q"]),
    (b"(U\x02\xff\xfel.", [{"__bytes__": "//4="}]),
    (b"(i__main__\nC\n(dS'x'\nI1\nsb.", None),
    (b"\x8f(K\x01K\x02\x90.", [1, 2]),
    (b"(K\x03\x91.", [3]),
    (b"}(K\x01K\x02NK\x03\x88K\x04G?\xf8\x00\x00\x00\x00\x00\x00K\x05u.", {"1": 2, "null": 3, "true": 4, "1.5": 5}),
    (b"}(K\x01K\x02X\x01\x00\x00\x001K\x03u.", {"1": 3}),
    (b"\x8d\x01\x00\x00\x00\x00\x00\x00\x00a.", "a"),
    (b"\x8e\x01\x00\x00\x00\x00\x00\x00\x00a.", {"__bytes__": "YQ=="}),
    (b"\x96\x01\x00\x00\x00\x00\x00\x00\x00a.", {"__bytes__": "YQ=="}),
    (b"ccollections\nOrderedDict\n(((lS'k'\naI1\nalt.", None),
]


@pytest.mark.parametrize("stream, want", BY_HAND, ids=lambda case: repr(case)[:40])
def test_streams_by_hand(connect, stream, want):
    db = connect()
    if want is None:
        return
    stream = stream[2:] if stream[:1] == b"\x80" else stream
    ((got,),) = db.execute("SELECT npy_json(?)", (after_header(b"]" + stream[:-1] + b"a."),)).fetchall()
    assert json.loads(got, parse_int=int) == [want], got


def test_instances_of_python_2(connect):
    db = connect()
    got = value_of(db, b"(i__main__\nC\np0\n(dS'x'\nI1\nsb.")
    assert json.loads(got) == {"__class__": "__main__.C", "args": [], "state": {"x": 1}}
    assert json.loads(value_of(db, b"(c__main__\nC\nK\x05o.")) == {"__class__": "__main__.C", "args": [5]}
    assert value_of(db, b"ccollections\nOrderedDict\n((l(lS'k'\naI1\naatR.") == '{"k":1}'
    date = b"cdatetime\ndatetime\n(S'\\x07\\xea\\x01\\x02\\x03\\x04\\x05\\x00\\x00\\x00'\ntR."
    assert value_of(db, date) == "2026-01-02T03:04:05"


def test_zones_with_names(connect):
    db = connect()
    at = datetime.datetime(2026, 7, 1, 12)
    pytz = b"cpytz\n_p\n(S'Europe/Berlin'\nI3600\nI0\nS'CET'\ntR"
    written = pickle.dumps(at, 2)[2:-1]
    call = written[: written.rindex(b"\x85")] if b"\x85" in written else None
    assert call is not None
    assert value_of(db, call + pytz + b"\x86R.") == "2026-07-01T12:00:00+01:00"
    assert value_of(db, call + b"cpytz\n_UTC\n)R\x86R.") == "2026-07-01T12:00:00+00:00"
    unknown = json.loads(value_of(db, call + b"cacme\nZone\n)R\x86R."))
    assert unknown["__class__"] == "datetime.datetime" and unknown["args"][1] == {"__class__": "acme.Zone", "args": []}
    for protocol in range(6):
        zone = zoneinfo.ZoneInfo("Europe/Berlin")
        assert db.execute("SELECT value FROM npy_rows(?)", (saved(array_of([at.replace(tzinfo=zone)]), protocol),)).fetchone() == ("2026-07-01T12:00:00[Europe/Berlin]",)


# --- hostile -----------------------------------------------------------------------------------------------

def doubled(times):
    """[] in a list twice, that in a list twice, ..."""
    return b"]q\0" + b"".join(b"0](h%ch%ceq%c" % (i, i, i + 1) for i in range(times)) + b"."


HOSTILE = [
    (b"cos\nsystem\n(S'touch hacked'\ntR.", "os.system"),
    (b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x0ctouch hacked\x85R.", "os.system"),
    (b"c__builtin__\neval\n(S'open(\"hacked\", \"w\")'\ntR.", "__builtin__.eval"),
    (b"(S'touch hacked'\nios\nsystem\n.", "os.system"),
    (b"(cos\nsystem\nS'touch hacked'\no.", "os.system"),
    (b"cos\nsystem\n(S'touch hacked'\nt\x81.", "os.system"),
    (b"cos\nsystem\n(S'touch hacked'\nt}\x92.", "os.system"),
    (b"cfunctools\npartial\n(cos\nsystem\ntR(S'touch hacked'\ntR.", "functools.partial"),
    (b"c__builtin__\ngetattr\n(cos\nS'system'\ntR(S'touch hacked'\ntR.", None),
    (b"c__builtin__\ngetattr\n(cbuiltins\ndict\nS'get'\ntR(S'touch hacked'\ntR.", "builtins.dict.get"),
    (b"cpip\nmain\n((lS'install'\nS'x'\nalltR.", None),
    (b"ctypes\nCodeType\n(I0\nI0\nI0\nI0\nI0\nS'd\\x00'\n(t(t(tS''\nS'f'\nI1\nS''\ntR.", "types.CodeType"),
    (b"cnumpy.testing._private.utils\nrunstring\n(S'open(\"hacked\",\"w\")'\n(dtR.", "runstring"),
    (b"ctorch\nload\n(S'hacked'\ntR.", "torch.load"),
    (b"(dS'__reduce__'\ncos\nsystem\ns.", "os.system"),
]


@pytest.mark.parametrize("stream, shown", HOSTILE, ids=lambda case: repr(case)[:50])
def test_nothing_runs(connect, folder, stream, shown):
    """The samples that picklescan and fickling tell of: each is named, and none is called."""
    db = connect()
    with open("a.npy", "wb") as file:
        head = b"\x80\x04" if stream.startswith(b"\x80") else b""
        file.write(after_header(head + b"]" + stream[len(head) : -1] + b"a."))
    try:
        ((value,),) = db.execute("SELECT value FROM npy_rows('a.npy')").fetchall()
        assert shown is None or shown in value, value
    except sqlite3.Error as error:
        assert shown is None, error
    assert os.listdir(".") == ["a.npy"]


FAULTS = [
    (b"", "it ends without STOP"),
    (b"]", "it ends without STOP"),
    (b".", "STOP: the stack is empty"),
    (b"\x00.", "0x00 is no opcode"),
    (b"\xff.", "0xFF is no opcode"),
    (b"\x80\x06N.", "PROTO: protocol 6"),
    (b"N0.", "STOP: the stack is empty"),
    (b"0.", "POP: the stack has too few values"),
    (b"t.", "TUPLE: there is no MARK"),
    (b"1.", "POP_MARK: there is no MARK"),
    (b"(Na.", "APPEND: the stack is empty"),
    (b"N(a.", "APPEND: the stack has too few values"),
    (b"NNa.", "APPEND: what it adds to is no list"),
    (b"]NNs.", "SETITEM: what it adds to is no dict"),
    (b"}(Nu.", "SETITEMS: a key has no value"),
    (b"(Nd.", "DICT: a key has no value"),
    (b"](N\x90.", "ADDITEMS: what it adds to is no set"),
    (b"\x85.", "TUPLE1: the stack has too few values"),
    (b"X\xff\xff\xff\xffa.", "BINUNICODE: 4294967295 bytes are wanted, the pickle ends after 2"),
    (b"\x8d" + b"\xff" * 7 + b"\x7fa.", "BINUNICODE8: 9223372036854775807 bytes are wanted"),
    (b"\x8e" + b"\xff" * 8 + b"a.", "BINBYTES8: 18446744073709551615 bytes are wanted"),
    (b"T\xff\xff\xff\xffa.", "BINSTRING: its length is negative"),
    (b"\x8b\xff\xff\xff\xff.", "LONG4: its length is negative"),
    (b"\x95\xff\xff\xff\xff\xff\xff\xff\x7fN.", "FRAME: a frame of"),
    (b"h\x00.", "BINGET: there is no memo number 0"),
    (b"g-1\n.", "GET: '-1' is no memo number"),
    (b"gx\n.", "GET: 'x' is no memo number"),
    (b"Nr\xff\xff\xff\xff.", "LONG_BINPUT: memo number 4294967295 so early"),
    (b"Np99999999\n.", "PUT: memo number 99999999 so early"),
    (b"q\x00.", "BINPUT: the stack is empty"),
    (b"Ia\n.", "INT: 'a' is not an integer"),
    (b"L\n.", "LONG: '' is not an integer"),
    (b"I1", "INT: its line has no end"),
    (b"F1.5x\n.", "FLOAT: '1.5x' is not a float"),
    (b"Sabc\n.", "STRING: a text without its quotes"),
    (b"S'a\\'\n.", "STRING: a text that ends in a backslash"),
    (b"S'\\xzz'\n.", "STRING: a \\x without two digits"),
    (b"V\\u12\n.", "UNICODE: an escape that is no character"),
    (b"V\\Uffffffff\n.", "UNICODE: an escape that is no character"),
    (b"X\x01\x00\x00\x00\xff.", "BINUNICODE: a text that is not UTF-8"),
    (b"NNR.", "REDUCE: the arguments must be a tuple"),
    (b"NN\x93.", "STACK_GLOBAL: module and name must be texts"),
    (b"N)N\x92.", "NEWOBJ_EX: the keyword arguments must be a dict"),
    (b"(o.", "OBJ: there is no class"),
    (b"]}b.", "BUILD: the object that it gives a state to takes none"),
    (b"Pid\n.", "PERSID: it refers to what is not in the file"),
    (b"NQ.", "BINPERSID: it refers to what is not in the file"),
    (b"\x82\x01.", "EXT1: it refers to what is not in the file"),
    (b"\x84\x01\x00\x00\x00.", "EXT4: it refers to what is not in the file"),
    (b"\x97.", "NEXT_BUFFER: it refers to what is not in the file"),
    (b"N\x98.", "READONLY_BUFFER: it refers to what is not in the file"),
    (b"\x8a\xff" + b"\x7f" * 255 + b"\x8b\x00\x10\x00\x00" + b"\x7f" * 4096 + b"l.", "LONG4: an integer of more than 4300 digits"),
    (b"I" + b"9" * 5000 + b"\n.", "INT: an integer of more than 4300 digits"),
    (b"N.", "something else than an array of objects"),
    (b"}.", "something else than an array of objects"),
    (b"].", "an array of another shape than the header says"),
    (b"(NNl.", "an array of another shape than the header says"),
]


@pytest.mark.parametrize("stream, why", FAULTS, ids=lambda case: repr(case)[:40])
def test_faults_name_the_opcode(connect, stream, why):
    text = error_of(connect(), "SELECT value FROM npy_rows(?)", after_header(stream))
    assert why in text and "pickle" in text, text


def test_faults_have_offsets(connect):
    data = after_header(b"]NNNNR.")
    begin = len(data) - 7
    assert error_of(connect(), "SELECT value FROM npy_rows(?)", data).endswith(f"a fault in the pickle at byte {begin + 5}: REDUCE: the arguments must be a tuple")


def test_values_that_contain_themselves(connect):
    db = connect()
    for stream in (b"]q\0h\0a.", b"}q\0(K\x01h\0u.", b"]q\0(](h\0ee.", b"c__main__\nC\n)Rq\0h\0b."):
        assert "contains itself" in error_of(db, "SELECT npy_json(?)", after_header(b"]" + stream[:-1] + b"a."))
    # the others of the array are there
    rows = db.execute("SELECT value FROM npy_rows(?) WHERE row <> 1", (after_header(b"(K\x01]q\0h\0aK\x03l.", (3,)),)).fetchall()
    assert rows == [(1,), (3,)]


def test_a_list_doubled_sixty_times(connect):
    db = connect()
    assert json.loads(value_of(db, doubled(4))) == nested_twice(4)
    error_of(db, "SELECT npy_json(?)", after_header(b"]" + doubled(60)[:-1] + b"a."), code=sqlite3.SQLITE_TOOBIG)
    error_of(db, "SELECT value FROM npy_rows(?)", after_header(b"]" + doubled(60)[:-1] + b"a."), code=sqlite3.SQLITE_TOOBIG)


def nested_twice(times):
    value = []
    for _ in range(times):
        value = [value, value]
    return value


def test_depth(connect):
    db = connect()
    assert value_of(db, b"]" * 190 + b"a" * 189 + b".") == "[" * 190 + "]" * 190
    for depth in (202, 1000, 100_000):
        assert "nested more than 200 deep" in error_of(db, "SELECT npy_json(?)", after_header(b"]" * depth + b"a" * (depth - 1) + b"."))


def test_claims(connect):
    """Shapes and dtypes that claim more than is there."""
    db = connect()
    huge = (2**40,)
    assert "another shape" in error_of(db, "SELECT value FROM npy_rows(?)", after_header(pickle.dumps([1]), huge))
    wide = after_header(pickle.dumps([(b"", None)] * 40), (40,), [("s", "S2147483000"), ("o", "O")])
    assert "bytes of items in so few" in error_of(db, "SELECT value FROM npy_rows(?)", wide)
    nested = np.empty(1, object)
    nested[0] = np.arange(3.0)
    whole = saved(nested, 4)
    for claimed in (b"K\xff\x85", b"K\x02\x85"):
        changed = whole[:-60].replace(b"K\x03\x85", claimed, 1) + whole[-60:]
        if changed != whole:
            value = db.execute("SELECT value FROM npy_rows(?)", (changed,)).fetchone()[0]
            assert "ndarray" in value and "args" in value, value


def dtype_pickle(names, fields, itemsize):
    """A structured dtype of any fields: {name: (code, byte order, offset)}."""
    plain = lambda code, order: b"cnumpy\ndtype\nX" + struct.pack("<I", len(code)) + code.encode() + b"\x89\x88\x87R(K\3X\1\0\0\0" + order.encode() + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"
    text = lambda name: b"X" + struct.pack("<I", len(name)) + name.encode()
    pairs = b"".join(text(name) + plain(code, order) + b"K" + bytes([offset]) + b"\x86" for name, (code, order, offset) in fields.items())
    code = f"V{itemsize}"
    return b"cnumpy\ndtype\n" + text(code) + b"\x89\x88\x87R(K\3X\1\0\0\0|N(" + b"".join(map(text, names)) + b"t}(" + pairs + b"uK" + bytes([itemsize]) + b"K\1K\x10tb"


@pytest.mark.parametrize("offsets", [(0, 4), (4, 0), (0, 0), (0, 7), (8, 1)])
def test_a_field_over_an_object(connect, offsets):
    """Found by fuzzing: a number that lies over an object showed its address, or was taken for one."""
    db = connect()
    fields = {"o": ("O8", "|", offsets[0]), "n": ("f8", "<", offsets[1])}
    array = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85C\1b\x87R(K\1K\1\x85"
    for names in (["o", "n"], ["n", "o"]):
        items = b"(X\1\0\0\0xG\x40\x00\x00\x00\x00\x00\x00\x00t" if names[0] == "o" else b"(G\x40\x00\x00\x00\x00\x00\x00\x00X\1\0\0\0xt"
        value = value_of(db, array + dtype_pickle(names, fields, 16) + b"\x89]" + items + b"atb.")
        assert json.loads(value)["__class__"].endswith("_reconstruct"), value
    apart = {"o": ("O8", "|", 8), "n": ("f8", "<", 0)}
    items = b"(X\1\0\0\0xG\x40\x00\x00\x00\x00\x00\x00\x00t"
    assert value_of(db, array + dtype_pickle(["o", "n"], apart, 16) + b"\x89]" + items + b"atb.") == '[{"o":"x","n":2.0}]'
    header = {"names": ["o", "n"], "formats": ["|O", "<f8"], "offsets": list(offsets), "itemsize": 16}
    error_of(db, "SELECT value FROM npy_rows(?)", after_header(b"](" + b"Nta.", (1,), header))


def test_work_that_multiplies(connect):
    """What stands in the pickle once and counts many times is refused, or named, before it takes time."""
    db = connect()
    newobj = b"ccopyreg\n__newobj__\n"
    started = time.process_time()
    value = value_of(db, newobj + b"q\0" + b"(" + b"h\0" * 200_000 + b"t\x81.")
    assert json.loads(value)["__class__"] == "copyreg.__newobj__" and len(json.loads(value)["args"]) == 200_000
    # a dtype of 40 fields of one of 40 fields of ..., where all lie at offset 0
    names = b"(" + b"".join(b"X\x02\0\0\0%02d" % i for i in range(40)) + b"t"
    stream = names + b"q\0"
    stream += b"0cnumpy\ndtype\nq\1X\2\0\0\0f4\x89\x88\x87R(K\3X\1\0\0\0<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tbq\2"
    for _ in range(12):
        fields = b"}(" + b"".join(b"X\2\0\0\0%02dh\2K\0\x86" % i for i in range(40)) + b"u"
        stream += b"0h\1X\2\0\0\0V4\x89\x88\x87R(K\3X\1\0\0\0|Nh\0" + fields + b"K\4K\1K\x10tbq\2"
    array = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85C\1b\x87R(K\1K\1\x85h\2\x89C\4abcdtb"
    error_of(db, "SELECT value FROM npy_rows(?)", after_header(b"]" + stream + b"0" + array + b"a."), code=sqlite3.SQLITE_TOOBIG)
    assert time.process_time() - started < 20 * shell.PATIENCE


def test_a_query_of_objects_is_interrupted(connect):
    """A list doubled 18 times prints for some time, and 100,000 times for long."""
    db = connect()
    calls = []
    db.set_progress_handler(lambda: calls.append(1) or len(calls) > 3, 1000)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        db.execute("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT length(npy_json(?)) FROM n", (after_header(b"]" + doubled(18)[:-1] + b"a."),)).fetchall()


def test_truncated_at_every_byte(connect):
    db, rng = connect(), seeded_generator()
    for protocol in (0, 2, 4, 5):
        data = saved(array_of([random_value(rng) for _ in range(4)]), protocol)
        begin = data.index(b"\n") + 1
        for end in range(begin, len(data)):
            error_of(db, "SELECT value FROM npy_rows(?)", data[:end])


def test_counting_reads_no_pickle(connect, tmp_path):
    db, path = connect(), tmp_path / "a.npy"
    path.write_bytes(after_header(b"no pickle", (1000,)))
    assert db.execute("SELECT count(*), sum(row), max(path) FROM npy_rows(?)", (str(path),)).fetchall() == [(1000, 499500, str(path))]
    assert db.execute("SELECT count(*) FROM npy_elements(?) WHERE idx > 9", (str(path),)).fetchall() == [(990,)]
    error_of(db, "SELECT count(value) FROM npy_rows(?)", str(path))
    error_of(db, "SELECT count(*) FROM npy_rows(?) WHERE value > 0", str(path))
    error_of(db, "SELECT count FROM npy_stats(?)", str(path))


def taken_apart(stream):
    """Whether pickletools takes it apart; None where it reads texts of Python 2, or names, by a rule of its own."""
    try:
        list(pickletools.genops(stream))
        return True
    except ValueError as error:
        is_of_texts = "ascii" in str(error) or "in string" in str(error) or "escape" in str(error)
        return None if is_of_texts else False


def test_random_damage_is_an_answer_or_an_error(connect):
    db, rng = connect(), seeded_generator()
    for round in range(60):
        whole = saved(array_of([random_value(rng) for _ in range(4)]), int(rng.integers(6)))
        begin = whole.index(b"\n") + 1
        for _ in range(40):
            damaged = bytearray(whole)
            for _ in range(int(rng.integers(1, 4))):
                damaged[int(rng.integers(begin, len(whole)))] = int(rng.integers(256))
            try:
                rows = db.execute("SELECT value FROM npy_rows(?)", (bytes(damaged),)).fetchall()
                assert len(rows) == 4
                assert taken_apart(bytes(damaged[begin:])) is not False
            except sqlite3.Error as error:
                assert str(error).startswith("npyext: BLOB: ") or "too big" in str(error), error
                if "is no opcode" in str(error) or "ends without STOP" in str(error):
                    assert taken_apart(bytes(damaged[begin:])) is not True


def test_opcodes_are_those_of_pickletools(connect):
    """What pickletools knows is known here, and nothing else."""
    db = connect()
    known = {opcode.code.encode("latin-1"): opcode for opcode in pickletools.opcodes}
    for byte in range(256):
        code = bytes([byte])
        try:
            db.execute("SELECT value FROM npy_rows(?)", (after_header(b"(((NNN" + code + b"\n" * 40),)).fetchall()
            text = ""
        except sqlite3.Error as error:
            text = str(error)
        assert ("is no opcode" in text.replace("0x0A is no opcode", "")) == (code not in known and byte != 10), (byte, text)
