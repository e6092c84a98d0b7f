"""Arrays in tars, through every function: their names, how they are chosen, ranges of files, and compressed tars."""

import json
import os
import tarfile

import numpy as np
import pytest

import shell
import tars
from arrays import npy_bytes, npz_bytes, object_npy_bytes, random_array, random_shape, seeded_generator, ten_bytes, zip_bytes
from expected import assert_has, assert_same_rows, counters, error_of, named_rows, since
from tars import gzipped, member, tar, tar_of

A, B, C = np.arange(5), np.arange(6.0).reshape(2, 3), np.array(7, ">i2")
W, BIAS = np.arange(6, dtype="f4").reshape(3, 2), np.array([0.5, -1])
T = [np.array([1, 2], "i4"), np.array([[3.0]]), np.array([4], "u1")]

MEMBERS = [
    ("readme.txt", b"no array"),
    ("000.a.npy", npy_bytes(A)),
    ("000.cls", b"7"),
    ("d/b.NPY", npy_bytes(np.asfortranarray(B.astype(">f8")))),
    ("c", npy_bytes(C)),
    ("fake.npy", b"no array, whatever its name says"),
    ("001.feats.npz", npz_bytes({"w": W, "d/b": BIAS}, "deflate")),
    ("001.x.ten", ten_bytes(T, infos=["n", "", "m"])),
    ("empty.npy", b""),
]
# In the order of their idx: name in npy_meta, key, ext, the array.
ARRAYS = [
    ("000.a", "000", "a.npy", A),
    ("d/b.NPY", "d/b", "npy", B),
    ("c", None, None, C),
    ("001.feats.npz:w", "001", "feats.npz", W),
    ("001.feats.npz:d/b", "001", "feats.npz", BIAS),
    ("001.x.ten:n", "001", "x.ten", T[0]),
    ("001.x.ten:1", "001", "x.ten", T[1]),
    ("001.x.ten:m", "001", "x.ten", T[2]),
]


@pytest.fixture
def shard(folder):
    """MEMBERS in the current folder: x.tar, and x.tar.gz; the bytes of the tar."""
    contents = tar_of(MEMBERS)
    (folder / "x.tar").write_bytes(contents)
    (folder / "x.tar.gz").write_bytes(gzipped(contents))
    return contents


def write(path, contents):
    with open(path, "wb") as out:
        out.write(contents)
    return contents


def values(db, *arguments):
    marks = ", ".join("?" * len(arguments))
    return [value for (value,) in db.execute(f"SELECT value FROM npy_rows({marks})", arguments)]


def names(db, source):
    return [name for (name,) in db.execute("SELECT name FROM npy_meta(?)", (source,))]


def sources(contents):
    return ["x.tar", contents, "x.tar.gz", gzipped(contents)]


# --- names and metadata ------------------------------------------------------------------------------------


def test_arrays_are_what_begins_as_one(db, shard):
    for source in sources(shard):
        path = source if isinstance(source, str) else None
        rows = named_rows(db, "SELECT *, key, ext, error_kind FROM npy_meta(?)", source)
        assert [row["name"] for row in rows] == [name for name, _, _, _ in ARRAYS]
        for idx, (row, (name, key, ext, array)) in enumerate(zip(rows, ARRAYS)):
            want = {"path": path, "idx": idx, "key": key, "ext": ext, "format": "tar", "dtype": array.dtype.name}
            want |= {"ndim": array.ndim, "size": array.size, "nbytes": array.nbytes, "error": None, "error_kind": None}
            assert_has(row, want, name)
            assert json.loads(row["shape"]) == list(array.shape)
            if path:
                assert row["file_size"] == os.path.getsize(path) and row["mtime"] == int(os.path.getmtime(path))


def test_data_offsets_are_those_of_the_file(db, shard):
    rows = db.execute("SELECT idx, data_offset FROM npy_meta('x.tar')").fetchall()
    for idx, at in rows:
        name, _, _, array = ARRAYS[idx]
        if ".npz" in name:  # deflated
            assert at is None, name
        else:
            order = ">" if name in ("d/b.NPY", "c") else "<"
            stored = np.frombuffer(shard, array.dtype.newbyteorder(order), array.size, at)
            assert (stored.reshape(array.shape, order="F" if name == "d/b.NPY" else "C") == array).all(), name
    contents = tar_of({"s.npz": npz_bytes({"w": W}, "stored")})
    at = db.execute("SELECT data_offset FROM npy_meta(?)", (contents,)).fetchone()[0]
    assert contents[at:][: W.nbytes] == W.tobytes()
    assert {at for (at,) in db.execute("SELECT data_offset FROM npy_meta('x.tar.gz')")} == {None}


def test_every_array_by_every_name(db, shard):
    given = {
        "000.a": 0, "000.a.npy": 0, "d/b.NPY": 1, "c": 2, "001.feats.npz:w": 3, "001.feats.npz:d/b": 4,
        "001.x.ten:n": 5, "001.x.ten:1": 6, "001.x.ten:m": 7,
    }  # fmt: skip
    for source in sources(shard):
        for wanted, idx in [*given.items(), *((idx, idx) for idx in range(len(ARRAYS))), (3.0, 3)]:
            rows = db.execute("SELECT row, value, data FROM npy_rows(?, ?)", (source, wanted)).fetchall()
            assert_same_rows(rows, ARRAYS[idx][3], wanted)
        for wanted in ("readme.txt", "fake.npy", "fake", "000", "000.A", "d/b", "001.feats.npz:no", "001.x.ten:9", "nowhere", 8, -1):
            error = error_of(db, "SELECT value FROM npy_rows(?, ?)", source, wanted)
            assert str(wanted) in error
    # Not given: all, one after the other.
    assert [idx for (idx,) in db.execute("SELECT DISTINCT name FROM npy_rows('x.tar')")] == [name for name, *_ in ARRAYS]


def test_key_and_ext_of_rows(db, shard):
    sql = "SELECT name, key, ext, count(*) FROM npy_rows('x.tar') WHERE key IN ('000', '001') GROUP BY name ORDER BY name"
    assert db.execute(sql).fetchall() == sorted(
        (name, key, ext, len(array)) for name, key, ext, array in ARRAYS if key in ("000", "001")
    )
    assert db.execute("SELECT value FROM npy_rows('x.tar') WHERE key = '000' AND ext = 'a.npy'").fetchall() == [(n,) for n in range(5)]
    assert db.execute("SELECT name FROM npy_stats('x.tar') WHERE ext = 'feats.npz' AND key = '001'").fetchall() == [
        ("001.feats.npz:w",), ("001.feats.npz:d/b",),
    ]  # fmt: skip


def test_full_names_go_before_names_without_npy_and_of_duplicates_the_last(db, folder):
    one = lambda n: npy_bytes(np.array([n]))
    contents = write("x.tar", tar_of([
        ("w", one(1)), ("w.npy", one(2)), ("w.npy.npy", one(3)), ("v.npy", one(4)), ("v.npy", one(5)), ("u", one(6)), ("u", b"text"),
        ("t.npy", one(7)), ("t.npy", b"text"), ("7", one(8)), (".npy", one(9)), ("d/.npy", one(10)),
    ]))  # fmt: skip
    assert names(db, contents) == ["w", "w", "w.npy", "v", "v", "u", "t", "7", "", "d/"]
    for source in ("x.tar", contents):
        # The full name w.npy is number 1; without .npy it is that of number 2.
        for wanted, value in {"w": 1, "w.npy": 2, "w.npy.npy": 3, "v.npy": 5, "v": 5, "7": 8, 7: 8, 3: 4, 4: 5, ".npy": 9, "d/.npy": 10, "d/": 10}.items():
            assert values(db, source, wanted) == [value], wanted
        # The text that came last is no array.
        assert values(db, source, "u") == [6] and values(db, source, "t") == [7]


def test_nested_arrays_without_a_name_of_their_own_have_a_number(db):
    tens = ten_bytes([np.array([n]) for n in range(6)], infos=["x", "", "y", "x", "", "5"])
    contents = tar_of([("a.ten", tens), ("b.ten", ten_bytes([np.array([9])])), ("e.ten", b"")])
    assert names(db, contents) == ["a.ten:0", "a.ten:1", "a.ten:y", "a.ten:3", "a.ten:4", "a.ten:5", "b.ten:0"]
    for wanted, value in {"a.ten:0": 0, "a.ten:1": 1, "a.ten:y": 2, "a.ten:3": 3, "a.ten:4": 4, "a.ten:5": 5, "b.ten:0": 9}.items():
        assert values(db, contents, wanted) == [value], wanted
    entries = [("x.npy", 0), ("x.npy", 1), (".npy", 2), ("y.npy", 3), ("no.txt", None), ("z", 4), ("x", 5)]
    zipped = zip_bytes([(name, b"text" if n is None else npy_bytes(np.array([n]))) for name, n in entries])
    contents = tar_of([("a.npz", zipped), ("e.npz", zip_bytes([("t.txt", b"text")]))])
    got = [(name, values(db, contents, name)) for name in names(db, contents)]
    assert [value for _, [value] in got] == [0, 1, 2, 3, 4, 5] and len({name for name, _ in got}) == 6
    assert [name for name, _ in got][3:5] == ["a.npz:y", "a.npz:z"]
    # A number counts the entries of an .npz as npz_members does, or its arrays; of the first ones it is the same.
    assert [name for name, _ in got][:3] == ["a.npz:0", "a.npz:1", "a.npz:2"]


def test_nesting_ends_at_archives_in_a_tar(db):
    inner = npz_bytes({"a": np.arange(3)})
    contents = tar_of([
        ("deep.npz", zip_bytes([("in.npz", inner), ("in.ten", ten_bytes([A])), ("top.npy", npy_bytes(A))])),
        ("in.tar", tar_of({"b.npy": npy_bytes(A)})), ("in.tar.gz", gzipped(tar_of({"b.npy": npy_bytes(A)}))), ("a.npy.gz", gzipped(npy_bytes(A))),
    ])  # fmt: skip
    assert names(db, contents) == ["deep.npz:top"]
    # But a member's bytes are a source of their own.
    sql = "SELECT n.name FROM tar_members(?) AS t, npy_meta(t.data) AS n WHERE t.name = 'in.tar'"
    assert db.execute(sql, (contents,)).fetchall() == [("b",)]


def test_a_member_of_several_arrays(db):
    """Saved one after the other into one .npy, they are arrays of the tar like others."""
    contents = tar_of([("a.npy", npy_bytes(np.array([1]))), ("s.npy", b"".join(npy_bytes(np.array([n])) for n in (2, 3, 4))), ("z.npy", npy_bytes(np.array([5])))])
    assert [idx for (idx,) in db.execute("SELECT idx FROM npy_meta(?)", (contents,))] == [0, 1, 2, 3, 4]
    assert [values(db, contents, idx) for idx in range(5)] == [[1], [2], [3], [4], [5]]
    assert values(db, contents, "a") == [1] and values(db, contents, "z") == [5]


def test_names_of_bytes_that_are_no_utf8_are_found_by_idx(db):
    contents = tar(*(member(name, npy_bytes(np.array([i]))) for i, name in enumerate([b"\xff.npy", b"\xfe.npy", "\u00e9.npy".encode()])))
    assert names(db, contents) == ["\ufffd", "\ufffd", "\u00e9"]
    assert [values(db, contents, idx) for idx in range(3)] == [[0], [1], [2]] and values(db, contents, "\u00e9.npy") == [2]


def test_a_tar_without_arrays_is_one_row(db, folder):
    for i, contents in enumerate([tar_of({"a.txt": b"text"}), tar(member("d", type=b"5"))]):
        write(f"{i}.tar", contents)
        rows = db.execute("SELECT path, name, idx, format, shape, file_size, error FROM npy_meta(?)", (f"{i}.tar",)).fetchall()
        assert rows == [(f"{i}.tar", None, None, "tar", None, len(contents), None)]
        assert values(db, f"{i}.tar") == []


def test_random_arrays_in_tars(db, tmp_path):
    rng, path = seeded_generator(), str(tmp_path / "r.tar")
    for turn in range(12):
        arrays = [random_array(rng, str(rng.choice(["<i2", ">i8", "u1", "<f4", ">f8", "?"])), random_shape(rng, int(rng.integers(4)))) for _ in range(8)]
        members = []
        for i, array in enumerate(arrays):
            array[...] = np.nan_to_num(array) if array.dtype.kind == "f" else array != 0 if array.dtype == "?" else array
            kind = ["npy", "npz", "ten"][rng.integers(3 if array.dtype != "?" else 2)]
            made = {"npy": lambda: npy_bytes(array), "npz": lambda: npz_bytes({"w": array}, ["stored", "deflate"][i % 2]), "ten": lambda: ten_bytes([array], infos=["w"])}
            members.append((f"{i:03}.{kind}", made[kind]()))
        contents = write(path, tars.tarfile_tar(members, list(tars.TARFILE_FORMATS)[turn % 3]))
        for source in (path, contents, gzipped(contents, [len(contents) // 2])):
            for i, array in enumerate(arrays):
                rows = db.execute("SELECT row, value, data FROM npy_rows(?, ?)", (source, i)).fetchall()
                assert_same_rows(rows, array, (turn, members[i][0]))


# --- faults of arrays --------------------------------------------------------------------------------------


def test_a_broken_array_is_a_fault_of_its_own(db, folder):
    good = npy_bytes(np.arange(3))
    contents = write("x.tar", tar_of([
        ("good.npy", good), ("header.npy", good.replace(b"shape", b"shade")), ("cut.npy", good[:-3]), ("o.npy", object_npy_bytes()),
        ("bad.npz", npz_bytes({"w": W})[:-30]), ("cut.ten", ten_bytes([A])[:100]), ("last.npy", good),
    ]))  # fmt: skip
    rows = db.execute("SELECT name, error_kind, error FROM npy_meta('x.tar', 'row')").fetchall()
    faults = {name.partition(":")[0]: kind for name, kind, error in rows if name is not None and error}
    assert faults["header"] == "header" and faults["cut"] == "truncated" and {"bad.npz", "cut.ten"} <= set(faults)
    assert [name for name, _, error in rows if error is None] == ["good", "o", "last"]
    for name, _, error in rows:
        assert error is None or error.startswith(f"npyext: x.tar:{name}"), (name, error)
    for wanted in ("good", "last"):
        assert values(db, contents, wanted) == [0, 1, 2]
    assert error_of(db, "SELECT value FROM npy_rows('x.tar', 'header')").startswith("npyext: x.tar:header: ")
    assert "truncated" in error_of(db, "SELECT value FROM npy_rows('x.tar', 'cut.npy')")
    assert values(db, contents, "o") == [None, None, None]
    rows = db.execute("SELECT DISTINCT name FROM npy_rows('x.tar') WHERE on_error = 'skip'").fetchall()
    assert {("good",), ("last",)} <= set(rows)


@pytest.mark.parametrize("text", [b"PK\5\6:", b"PK\3\4 is how zips begin", b"~TenBin~"])
def test_a_text_that_begins_as_an_archive_does(db, text):
    """Found by fuzzing: it was a damaged archive. It is one where its name says that it must be one."""
    shard = tar(member("a.txt", text), member("b.npz", text), member("c.npy", npy_bytes(np.arange(2))))
    rows = db.execute("SELECT name, dtype, error IS NOT NULL FROM npy_meta(?) WHERE on_error = 'row'", (shard,)).fetchall()
    assert rows == [("b.npz", None, 1), ("c", "int64", 0)]


def test_bytes_after_an_array_in_its_member_are_not_the_next_one(db):
    """A member ends where its size says, not where its block does."""
    array = npy_bytes(np.arange(8))
    contents = tar(member("a.npy", array + bytes(512), size=len(array) - 8), end=b"")[: 512 + 512] + tars.END
    assert "truncated" in error_of(db, "SELECT value FROM npy_rows(?)", contents)


# --- every function ----------------------------------------------------------------------------------------


def test_elements_statistics_and_histograms(db, shard):
    for source in sources(shard):
        assert db.execute("SELECT value FROM npy_elements(?, 'd/b.NPY')", (source,)).fetchall() == [(v,) for v in B.ravel()]
        rows = db.execute("SELECT name, key, ext, count, min, max, mean FROM npy_stats(?)", (source,)).fetchall()
        assert rows == [(name, key, ext, a.size, a.min(), a.max(), pytest.approx(a.mean())) for name, key, ext, a in ARRAYS]
        rows = db.execute("SELECT count FROM npy_histogram(?, '001.feats.npz:w', '', 3)", (source,)).fetchall()
        assert [count for (count,) in rows] == list(np.histogram(W, 3)[0])
        rows = db.execute("SELECT row, value FROM npy_rows(?, '000.a', '::-2')", (source,)).fetchall()
        assert rows == [(4, 4), (2, 2), (0, 0)]
        rows = db.execute("SELECT value FROM npy_rows(?, '001.x.ten:n') WHERE astype = 'f8' AND expect = 'i4[*]'", (source,)).fetchall()
        assert rows == [(1.0,), (2.0,)]


def test_handles(db, shard):
    for source in sources(shard):
        rows = db.execute("SELECT path, name, key, ext, npy_shape(array), npy_dtype(array), npy_data(array) FROM npy_file(?)", (source,)).fetchall()
        path = source if isinstance(source, str) else None
        assert [row[:4] for row in rows] == [(path, name, key, ext) for name, key, ext, _ in ARRAYS]
        for row, (name, _, _, array) in zip(rows, ARRAYS):
            assert (json.loads(row[4]), row[5]) == (list(array.shape), array.dtype.name), name
            assert row[6] == array.astype(array.dtype.newbyteorder("<")).tobytes(), name
        [handle] = db.execute("SELECT array FROM npy_file(?, '001.feats.npz:w')", (source,)).fetchone()
        assert db.execute("SELECT npy_get(?, 2, 1), npy_valid(?)", (handle, handle)).fetchone() == (5.0, 1)
        assert values(db, handle) == ["[0.0,1.0]", "[2.0,3.0]", "[4.0,5.0]"]
    handles = [handle for (handle,) in db.execute("SELECT array FROM npy_file('x.tar')")]
    assert len(set(handles)) == len(ARRAYS)
    # The same array of an unchanged file has the same handle; another file of that name is refused.
    assert handles == [handle for (handle,) in db.execute("SELECT array FROM npy_file('x.tar')")]
    write("x.tar", tar_of(MEMBERS[:2] * 2))
    assert "changed" in error_of(db, "SELECT npy_get(?, 0)", handles[0])


def test_members_of_a_blob(db, shard):
    for wanted, array in [("000.a", A), ("000.a.npy", A), ("001.feats.npz:w", W), (5, T[0])]:
        for contents in (shard, gzipped(shard)):
            [made] = db.execute("SELECT npy_member(?, ?)", (contents, wanted)).fetchone()
            assert made == npy_bytes(array)


def test_npz_and_ten_functions_say_that_a_tar_is_one(db, shard):
    for function in ("npz_members", "ten_arrays"):
        for source in ("x.tar", shard):
            assert "tar" in error_of(db, f"SELECT * FROM {function}(?)", source)
    for source in (npz_bytes({"a": A}), ten_bytes([A]), npy_bytes(A)):
        assert "tar" in error_of(db, "SELECT * FROM tar_members(?)", source)


def test_comparisons_of_tars_with_archives_and_folders(db, folder):
    rng = seeded_generator()
    arrays = {f"layer{i}/w": rng.standard_normal((3, i + 1)) for i in range(5)}
    contents = write("m.tar", tar_of({f"{name}.npy": npy_bytes(array) for name, array in arrays.items()}))
    write("m.npz", npz_bytes(arrays, "deflate"))
    write("m.tar.gz", gzipped(contents))
    equal = [(name, "equal") for name in arrays]
    compared = lambda a, b: db.execute("SELECT name, status FROM npy_compare(?, ?)", (a, b)).fetchall()
    for a in ("m.tar", "m.tar.gz", contents, "m.npz"):
        for b in ("m.tar", "m.tar.gz", contents, "m.npz"):
            assert compared(a, b) == equal
    changed = dict(list(arrays.items())[1:]) | {"new": A, "layer3/w": arrays["layer3/w"] + 1}
    write("n.tar", tar_of({f"{name}.npy": npy_bytes(array) for name, array in changed.items()}))
    want = {name: "equal" for name in arrays} | {"layer0/w": "only_a", "layer3/w": "differs", "new": "only_b"}
    assert dict(compared("m.npz", "n.tar")) == want == dict(compared("m.tar", "n.tar"))
    # A folder: file by file, by the name of the member.
    with tarfile.open("m.tar") as archive:
        archive.extractall("out")
    sql = """SELECT f.path, c.status FROM npy_meta('out/**/*.npy') AS f
        JOIN npy_file('m.tar') AS t ON f.path = 'out/' || t.name || '.npy' JOIN npy_compare(f.path, t.array) AS c"""
    assert sorted(db.execute(sql).fetchall()) == [(f"out/{name}.npy", "equal") for name in sorted(arrays)]


def test_comparisons_pair_the_last_of_duplicates(db):
    twice = tar_of([("a.npy", npy_bytes(A)), ("a.npy", npy_bytes(A + 1)), ("b.npy", npy_bytes(A))])
    once = npz_bytes({"a": A + 1, "b": A})
    assert db.execute("SELECT name, status FROM npy_compare(?, ?) ORDER BY name", (twice, once)).fetchall() == [("a", "equal"), ("b", "equal")]


def test_typed_tables(db, folder):
    write("t.tar", tar_of([("x.npy", npy_bytes(np.arange(4))), ("note.txt", b"text"), ("y.npy", npy_bytes(np.arange(4) / 2)), ("f.npz", npz_bytes({"z": np.arange(8).reshape(4, 2)}))]))
    write("t.tar.gz", gzipped((folder / "t.tar").read_bytes()))
    for i, path in enumerate(("t.tar", "t.tar.gz")):
        db.execute(f"CREATE VIRTUAL TABLE whole{i} USING npy('{path}')")
        assert db.execute(f'SELECT rowid, x, y, "f.npz:z" FROM whole{i}').fetchall() == [(n, n, n / 2, f"[{2 * n},{2 * n + 1}]") for n in range(4)]
        db.execute(f"CREATE VIRTUAL TABLE one{i} USING npy('{path}', member='y.npy', columns='half')")
        assert db.execute(f"SELECT half FROM one{i} WHERE rowid >= 2").fetchall() == [(1.0,), (1.5,)]
        db.execute(f"CREATE VIRTUAL TABLE nested{i} USING npy('{path}', member='f.npz:z')")
        assert db.execute(f"SELECT c0, c1 FROM nested{i} ORDER BY rowid DESC LIMIT 1").fetchall() == [(6, 7)]
        db.execute(f"CREATE VIRTUAL TABLE two{i} USING npy('{path}', members='y,x')")
        assert db.execute(f"SELECT * FROM two{i} WHERE rowid = 3").fetchall() == [(1.5, 3)]
    write("t.tar", tar_of([("x.npy", npy_bytes(np.arange(4.0))), ("y.npy", npy_bytes(np.arange(4) / 2))]))
    assert "changed" in error_of(db, "SELECT * FROM whole0")


def test_patterns_of_shards(db, folder):
    for i in range(12):
        write(f"s-{i:06}.tar", tar_of([(f"{i}{j}.emb.npy", npy_bytes(np.array([i, j]))) for j in range(3)] + [(f"{i}3.txt", b"x")]))
    want = [(f"s-{i:06}.tar", f"{i}{j}.emb", j, f"{i}{j}", "emb.npy") for i in range(2, 11) for j in range(3)]
    for pattern in ("s-{000002..000010}.tar", json.dumps([f"s-{i:06}.tar" for i in range(2, 11)])):
        assert db.execute("SELECT path, name, idx, key, ext FROM npy_meta(?)", (pattern,)).fetchall() == want
    rows = db.execute("SELECT path, row, value FROM npy_rows('s-*.tar', 1)").fetchall()
    assert rows == [(f"s-{i:06}.tar", j, v) for i in range(12) for j, v in enumerate((i, 1))]
    # Shards without the member are passed over.
    assert db.execute("SELECT path, value FROM npy_rows('s-*.tar', '72.emb')").fetchall() == [("s-000007.tar", 7), ("s-000007.tar", 2)]
    assert db.execute("SELECT sum(mean * count) FROM npy_stats('s-*.tar')").fetchone() == (pytest.approx(sum(i + j for i in range(12) for j in range(3))),)
    sql = "SELECT count(*), count(DISTINCT key) FROM npy_meta('s-*.tar') WHERE path = 's-000003.tar'"
    assert db.execute(sql).fetchone() == (3, 3)
    sql = "SELECT m.key, CAST(t.data AS TEXT) FROM tar_members('s-*.tar') AS t LEFT JOIN npy_meta('s-*.tar') AS m USING (path, key) WHERE t.ext = 'txt'"
    assert db.execute(sql).fetchall() == [(None, "x")] * 12


def test_joins_of_members_and_arrays(db, folder):
    write("s.tar", tar_of([member for i in range(5) for member in ((f"{i}.cls", str(i * i).encode()), (f"{i}.npy", npy_bytes(np.arange(i, i + 3))))]))
    sql = """SELECT t.key, CAST(CAST(t.data AS TEXT) AS INTEGER), r.value
        FROM tar_members('s.tar') AS t JOIN npy_rows('s.tar') AS r ON r.key = t.key WHERE t.ext = 'cls' AND r.row = 1 ORDER BY t.idx"""
    assert db.execute(sql).fetchall() == [(str(i), i * i, i + 1) for i in range(5)]
    # The bytes of a member are a source.
    sql = "SELECT t.name, sum(r.value) FROM tar_members('s.tar') AS t, npy_rows(t.data) AS r WHERE t.ext = 'npy' GROUP BY 1"
    assert db.execute(sql).fetchall() == [(f"{i}.npy", 3 * i + 3) for i in range(5)]
    sql = "SELECT m.name, r.value FROM npy_meta('s.tar') AS m JOIN npy_rows(m.path, m.idx) AS r WHERE r.row = 2"
    assert db.execute(sql).fetchall() == [(str(i), i + 2) for i in range(5)]


def test_later_statements_seek(db, folder):
    rng = seeded_generator()
    write("s.tar", tar_of([(f"{i:05}.bin", rng.bytes(3000)) for i in range(3000)] + [("last.npy", npy_bytes(np.arange(3)))]))
    assert values(db, "s.tar", "last") == [0, 1, 2]
    for wanted in ("last", "last.npy", 0):
        before = counters(db)
        assert values(db, "s.tar", wanted) == [0, 1, 2]
        assert since(db, before)["bytes_read"] < 200_000
    # Another file of that name is noticed.
    write("s.tar", tar_of([("last.npy", npy_bytes(np.arange(3) + 7)), ("more.npy", npy_bytes(A))]))
    assert values(db, "s.tar", "last") == [7, 8, 9] and names(db, "s.tar") == ["last", "more"]


LISTINGS = ["SELECT count(*) FROM npy_meta(?)", "SELECT count(*) FROM tar_members(?)", "SELECT max(max) FROM npy_stats(?)"]


@pytest.mark.parametrize("sql", LISTINGS)
def test_the_first_look_up_in_a_tar_that_was_listed_is_one_read(connect, folder, sql):
    arrays = [np.arange(i, i + 30 + i % 3) for i in range(500)]
    parts = [part for i, a in enumerate(arrays) for part in ((f"{i:03}.cls", b"%d" % i), (f"{i:03}.npy", npy_bytes(a)))]
    write("s.tar", tar_of(parts))
    for member, number in (("311", 311), ("497.npy", 497), (0, 0)):
        db = connect()
        db.execute(sql, ("s.tar",)).fetchall()
        before = counters(db)
        assert values(db, "s.tar", member) == arrays[number].tolist()
        read = since(db, before)
        assert read["bytes_read"] == len(npy_bytes(arrays[number])) and not read["files_opened"]
        assert read["read_calls"] == 1 or shell.MAPPED


def test_a_look_up_of_a_large_array_does_not_read_all_of_it(db, folder):
    large = np.arange(1_000_000)
    write("s.tar", tar_of([("a.npy", npy_bytes(large)), ("b.npy", npy_bytes(large[:100]))]))
    db.execute("SELECT * FROM tar_members('s.tar')").fetchall()
    before = counters(db)
    assert db.execute("SELECT value FROM npy_rows('s.tar', 'a') WHERE row = 777777").fetchall() == [(777777,)]
    assert since(db, before)["bytes_read"] < 200_000


def looked_through():
    """Tars in which arrays are not found by the first bytes of plain .npy files alone: {what: contents}."""
    plain = [member(f"{i}.npy", npy_bytes(np.arange(i))) for i in range(4)]
    return {
        "mixed": tar_of(MEMBERS),
        "nothing": tar(),
        "no arrays": tar_of([("a.txt", b"a"), ("b.txt", b"b")]),
        "several in one": tar(*plain[:2], member("s.npy", npy_bytes(A) + npy_bytes(B)), *plain[2:]),
        "more after an array": tar(*plain[:2], member("s.npy", npy_bytes(A) + b"more"), *plain[2:]),
        "cut": tar(*plain[:2], member("s.npy", npy_bytes(A)[:-1]), *plain[2:]),
        "objects": tar(*plain[:2], member("o.npy", object_npy_bytes((2,))), *plain[2:]),
        "a long header": tar(*plain[:2], member("l.npy", npy_bytes(np.zeros(2, [(f"a_field_of_number_{i}", "i4") for i in range(60)]))), *plain[2:]),
        "a global header": tar(plain[0], tars.pax({"path": "global.npy"}, b"g"), *plain[1:]),
        "of pax": tar(*plain[:2], tars.pax({"path": "d/long.npy"}), *plain[2:]),
        "equal names": tar(*plain, *plain),
        "sparse": tar(*plain[:2], tars.gnu_sparse("s.npy", [(0, b"x" * 512)], 5000), *plain[2:]),
        "damaged after": tar(*plain, b"\1" * 512),
        "ends early": tar(*plain, end=b"")[:-600],
        "bytes after": tar(*plain) + b"x",
    }


@pytest.mark.parametrize("what", looked_through())
@pytest.mark.parametrize("limit", [0, 1, 3, -1])
def test_a_list_of_members_changes_nothing_of_what_arrays_there_are(connect, folder, what, limit):
    contents = looked_through()[what]
    sql = "SELECT *, key, ext, error_kind, data_offset FROM npy_meta(?, 'row')"
    for name, bytes in (("s.tar", contents), ("s.tar.gz", gzipped(contents))):
        write(name, bytes)
        alone = connect().execute(sql, (name,)).fetchall()
        db = connect()
        db.execute("SELECT * FROM tar_members(?, 'row') LIMIT ?", (name, limit)).fetchall()
        assert db.execute(sql, (name,)).fetchall() == alone
        db.execute("SELECT * FROM tar_members(?, 'row')", (name,)).fetchall()
        assert db.execute(sql, (name,)).fetchall() == alone
        for (idx,) in db.execute("SELECT idx FROM npy_meta(?, 'skip') WHERE dtype <> 'object'", (name,)).fetchall():
            assert [repr(value) for value in values(db, name, idx)] == [repr(value) for value in values(connect(), name, idx)]


def test_two_lists_of_members_at_once(db, folder):
    write("s.tar", tar_of([(f"{i}.npy", npy_bytes(np.arange(i + 1))) for i in range(5)]))
    sql = "SELECT a.name, b.name, m.name FROM tar_members('s.tar') AS a, tar_members('s.tar') AS b, npy_meta('s.tar') AS m"
    rows = db.execute(sql + " WHERE a.idx = b.idx AND b.idx = m.idx ORDER BY a.idx").fetchall()
    assert rows == [(f"{i}.npy", f"{i}.npy", str(i)) for i in range(5)]


def test_a_tar_that_was_listed_and_replaced_is_read_anew(db, folder):
    write("s.tar", tar_of([("a.npy", npy_bytes(A))]))
    for sql in LISTINGS:
        db.execute(sql, ("s.tar",)).fetchall()
        write("t.tar", tar_of([("b.npy", npy_bytes(A + 1)), ("a.npy", npy_bytes(A + 2))]))
        os.replace("t.tar", "s.tar")
        assert values(db, "s.tar", "a") == (A + 2).tolist()
        write("s.tar", tar_of([("a.npy", npy_bytes(A))]))


# --- ranges ------------------------------------------------------------------------------------------------


def range_of(path, offset, nbytes):
    return json.dumps({"path": path, "offset": offset, "nbytes": nbytes})


@pytest.fixture
def ranged(db, shard):
    """{name of a member: the range of x.tar that is its data}."""
    rows = db.execute("SELECT name, data_offset, size FROM tar_members('x.tar')").fetchall()
    with tars.opened(shard) as archive:
        assert rows == [(info.name, info.offset_data, info.size) for info in archive]
    return {name: range_of("x.tar", at, size) for name, at, size in rows}


def test_a_range_is_a_source_of_every_function(db, shard, ranged):
    for name, array in {"000.a.npy": A, "d/b.NPY": B, "c": C}.items():
        rows = db.execute("SELECT row, value, data FROM npy_rows(?)", (ranged[name],)).fetchall()
        assert_same_rows(rows, array, name)
        [row] = named_rows(db, "SELECT * FROM npy_meta(?)", ranged[name])
        at, size = (json.loads(ranged[name])[key] for key in ("offset", "nbytes"))
        assert_has(row, {"path": "x.tar", "name": "", "idx": 0, "format": "npy", "error": None, "dtype": array.dtype.name}, name)
        assert row["data_offset"] == at + size - array.nbytes
        assert db.execute("SELECT path, npy_data(array) FROM npy_file(?)", (ranged[name],)).fetchall() == [
            ("x.tar", array.astype(array.dtype.newbyteorder("<")).tobytes())
        ]
        assert db.execute("SELECT count, max FROM npy_stats(?)", (ranged[name],)).fetchall() == [(array.size, array.max())]
        assert db.execute("SELECT status FROM npy_compare(?, ?)", (ranged[name], npy_bytes(array))).fetchall() == [("equal",)]
        assert db.execute("SELECT sum(count) FROM npy_histogram(?, '', '', 2)", (ranged[name],)).fetchone() == (array.size,)
        assert len(db.execute("SELECT value FROM npy_elements(?)", (ranged[name],)).fetchall()) == array.size
    assert values(db, ranged["001.feats.npz"], "d/b") == [0.5, -1.0]
    assert values(db, ranged["001.x.ten"], "n") == [1, 2]
    rows = db.execute("SELECT path, filename FROM npz_members(?)", (ranged["001.feats.npz"],)).fetchall()
    assert rows == [("x.tar", "w.npy"), ("x.tar", "d/b.npy")]
    base = json.loads(ranged["001.x.ten"])["offset"]
    offsets = db.execute("SELECT data_offset FROM ten_arrays(?)", (ranged["001.x.ten"],)).fetchall()
    for (at,), array in zip(offsets, T):
        assert at > base and shard[at:][: array.nbytes] == array.tobytes()


def test_a_range_may_be_a_tar(db, shard, folder):
    write("two.bin", b"prefix." + shard + b"after")
    source = range_of("two.bin", 7, len(shard))
    assert names(db, source) == [name for name, *_ in ARRAYS] and values(db, source, "000.a") == list(range(5))
    rows = db.execute("SELECT path, name, header_offset, data_offset, data FROM tar_members(?)", (source,)).fetchall()
    assert rows == [("two.bin", *row) for row in db.execute("SELECT name, header_offset + 7, data_offset + 7, data FROM tar_members(?)", (shard,))]
    # A part of a tar that begins with a header is a tar, and a missing end is accepted.
    (first, at, size) = db.execute("SELECT header_offset, data_offset, size FROM tar_members('x.tar') WHERE name = '000.a.npy'").fetchone()
    assert names(db, range_of("x.tar", first, at - first + (size + 511) // 512 * 512)) == ["000.a"]
    # Bytes after a range are not read, nor is the file's own format.
    assert "truncated" in error_of(db, "SELECT value FROM npy_rows(?)", range_of("x.tar", at, size - 1))


def test_a_gzip_in_a_range_and_a_range_of_a_gzip(db, shard, folder):
    packed = gzipped(shard)
    write("p.bin", b"12345" + packed + b"678")
    assert names(db, range_of("p.bin", 5, len(packed))) == [name for name, *_ in ARRAYS]
    assert names(db, range_of("x.tar.gz", 0, len(packed))) == [name for name, *_ in ARRAYS]
    # Of the file's bytes, not of what they inflate to.
    assert "goes beyond the file" in error_of(db, "SELECT value FROM npy_rows(?)", range_of("x.tar.gz", 512, len(shard)))


def test_ranges_in_lists(db, shard, ranged, folder):
    write("plain.npy", npy_bytes(np.array([99])))
    write("q1.npy", npy_bytes(np.array([100])))
    listed = [json.loads(ranged["000.a.npy"]), "plain.npy", json.loads(ranged["c"]), "q*.npy", json.loads(ranged["000.a.npy"])]
    rows = db.execute("SELECT path, value FROM npy_rows(?)", (json.dumps(listed),)).fetchall()
    a = [("x.tar", n) for n in range(5)]
    assert rows == a + [("plain.npy", 99), ("x.tar", 7), ("q1.npy", 100)] + a
    assert db.execute("SELECT path, format, dtype FROM npy_meta(?)", (json.dumps(listed[:3]),)).fetchall() == [
        ("x.tar", "npy", "int64"), ("plain.npy", "npy", "int64"), ("x.tar", "npy", "int16"),
    ]  # fmt: skip
    assert db.execute("SELECT value FROM npy_rows(?)", (json.dumps([listed[2], None]),)).fetchall() == [(7,)]
    # Of several files a fault is a row, as in other lists.
    broken = json.dumps([listed[2], {"path": "x.tar", "offset": 10**9, "nbytes": 10}, {"path": "missing.tar", "offset": 0, "nbytes": 10}])
    rows = db.execute("SELECT path, dtype, error_kind FROM npy_meta(?)", (broken,)).fetchall()
    assert rows == [("x.tar", "int16", None), ("x.tar", None, "truncated"), ("missing.tar", None, "missing")]


def test_ranges_of_one_file_are_sources_of_their_own(db, shard, ranged):
    sql = "SELECT DISTINCT array_key FROM npy_meta(?)"
    keys = {db.execute(sql, (ranged[name],)).fetchone() for name in ("000.a.npy", "d/b.NPY", "c")}
    assert len(keys) == 3
    both = json.dumps([json.loads(ranged["000.a.npy"]), json.loads(ranged["c"])])
    assert db.execute("SELECT count(DISTINCT array_key) FROM npy_meta(?)", (both,)).fetchone() == (2,)
    # Two in one statement, and handles of both.
    sql = "SELECT a.value, c.value FROM npy_rows(?) AS a, npy_rows(?) AS c"
    assert db.execute(sql, (ranged["000.a.npy"], ranged["c"])).fetchall() == [(n, 7) for n in range(5)]
    assert db.execute("SELECT count(*) FROM (SELECT DISTINCT array FROM npy_file(?))", (both,)).fetchone() == (2,)
    assert db.execute("SELECT status FROM npy_compare(?, ?)", (ranged["000.a.npy"], ranged["d/b.NPY"])).fetchall() == [("shape",)]
    # By a table of offsets, as it is meant.
    db.execute("CREATE TABLE offsets AS SELECT path, key, ext, data_offset, size FROM tar_members('x.tar')")
    sql = """SELECT o.ext, r.value FROM offsets AS o JOIN npy_rows(json_object('path', o.path, 'offset', o.data_offset, 'nbytes', o.size)) AS r
        WHERE o.key = '000' AND o.ext = 'a.npy'"""
    assert db.execute(sql).fetchall() == [("a.npy", n) for n in range(5)]


def test_a_range_is_read_without_the_rest_of_the_file(db, folder):
    rng = seeded_generator()
    contents = write("s.tar", tar_of([(f"{i}.bin", rng.bytes(100_000)) for i in range(50)] + [("last.npy", npy_bytes(np.arange(3)))]))
    source = range_of("s.tar", contents.index(b"\x93NUMPY"), 128 + 24)
    before = counters(db)
    assert values(db, source) == [0, 1, 2]
    assert since(db, before)["bytes_read"] < 10_000


def test_how_a_range_is_spelled(db, shard, ranged):
    at, size = (json.loads(ranged["c"])[key] for key in ("offset", "nbytes"))
    for text in (
        f'{{"nbytes":{size},"offset":{at},"path":"x.tar"}}',
        f' {{ "path" : "x.tar" , "offset" : {at} ,\n"nbytes" : {size} }} ',
        f'{{"p\\u0061th": "\\u0078.tar", "offset": {at}, "nbytes": {size}}}',
    ):
        assert values(db, text) == [7], text
    absolute = json.dumps({"path": os.path.abspath("x.tar"), "offset": at, "nbytes": size})
    assert db.execute("SELECT path, value FROM npy_rows(?)", (absolute,)).fetchall() == [(os.path.abspath("x.tar"), 7)]


WRONG_RANGES = [
    {"path": "x.tar"}, {"path": "x.tar", "offset": 512}, {"offset": 0, "nbytes": 5}, {}, {"path": "x.tar", "offset": 0, "length": 10},
    {"path": "x.tar", "offset": 0, "nbytes": 10240, "more": 1}, {"Path": "x.tar", "offset": 0, "nbytes": 10240}, {"path": "x.tar", "offset": -1, "nbytes": 9},
    {"path": "x.tar", "offset": 0, "nbytes": -10240}, {"path": "x.tar", "offset": "0", "nbytes": 10240}, {"path": "x.tar", "offset": 0, "nbytes": None},
    {"path": 7, "offset": 0, "nbytes": 10240}, {"path": ["x.tar"], "offset": 0, "nbytes": 10240}, {"path": "x.tar", "offset": 0, "nbytes": [10240]},
    {"path": "x.tar", "offset": 0.5, "nbytes": 10240}, {"path": "x.tar", "offset": 0, "nbytes": 2**64}, {"path": "x.tar", "offset": True, "nbytes": 10240},
]  # fmt: skip


def rows_or_error(db, sql, *arguments):
    """The rows, or none where it is an error."""
    try:
        return db.execute(sql, arguments).fetchall()
    except Exception as error:
        assert str(error).startswith("npyext: "), error
        return []


@pytest.mark.parametrize("wrong", WRONG_RANGES, ids=json.dumps)
def test_what_is_no_range(db, shard, wrong):
    """Nothing of the file is read; in a list, where it could be nothing else, it is an error."""
    text = json.dumps(wrong)
    assert [row for row in rows_or_error(db, "SELECT name FROM npy_meta(?, 'skip')", text) if row[0]] == []
    assert rows_or_error(db, "SELECT value FROM npy_rows(?)", text) == []
    error_of(db, "SELECT name FROM npy_meta(?, 'raise')", json.dumps(["x.tar", wrong]))


def test_a_range_with_a_key_twice_is_none(db, shard, ranged):
    at, size = (json.loads(ranged["c"])[key] for key in ("offset", "nbytes"))
    text = f'{{"path": "x.tar", "offset": {at}, "offset": {at}, "nbytes": {size}}}'
    assert rows_or_error(db, "SELECT value FROM npy_rows(?)", text) == []


@pytest.mark.parametrize("offset, nbytes", [(10**9, 10), (0, 10**9), (2**62, 2**62), (2**63 - 1, 2**63 - 1), (10240, 512)])
def test_ranges_beyond_the_file(db, shard, offset, nbytes):
    write("x.tar", shard[:10240].ljust(10240, b"\0"))
    source = range_of("x.tar", offset, nbytes)
    for function in ("npy_meta", "npy_rows", "tar_members"):
        error = error_of(db, f"SELECT * FROM {function}(?)", source)
        assert "x.tar" in error and str(nbytes) in error or str(offset) in error
    assert db.execute("SELECT path, error_kind FROM npy_meta(?, 'row')", (source,)).fetchall() == [("x.tar", "truncated")]


def test_a_range_of_nothing_is_empty(db, shard):
    assert db.execute("SELECT error_kind FROM npy_meta(?, 'row')", (range_of("x.tar", 512, 0),)).fetchall() == [("empty",)]


def test_a_path_that_looks_like_a_range_and_exists_stays_a_path(db, shard, ranged):
    text = ranged["c"]
    assert values(db, text) == [7]
    write(text, npy_bytes(np.array([42])))
    assert db.execute("SELECT path, value FROM npy_rows(?)", (text,)).fetchall() == [(text, 42)]
    os.remove(text)
    assert values(db, text) == [7]


def test_the_path_of_a_range_is_never_a_pattern(db, shard, ranged):
    at, size = (json.loads(ranged["c"])[key] for key in ("offset", "nbytes"))
    for path in ("*.tar", "?.tar", "{x}.tar", "[x].tar", '["x.tar"]', ranged["c"]):
        assert path in error_of(db, "SELECT * FROM npy_meta(?)", range_of(path, at, size)).replace('\\"', '"') or path == ranged["c"]
    write("[x].tar", shard)
    assert db.execute("SELECT path, value FROM npy_rows(?)", (range_of("[x].tar", at, size),)).fetchall() == [("[x].tar", 7)]
    os.mkdir("d.tar")
    for path in ("d.tar", "", "missing.tar", "x.tar/y"):
        error_of(db, "SELECT * FROM npy_meta(?)", range_of(path, at, size))


# --- compressed --------------------------------------------------------------------------------------------


def test_compressed_tars_answer_alike(db, shard):
    columns = "name, idx, format, dtype, descr, shape, nbytes, fortran_order, key, ext, error"
    for sql in (
        f"SELECT {columns} FROM npy_meta(?)",
        "SELECT idx, name, key, ext, type, size, mtime, sample, mode, uid, gid, uname, gname, linkname, data FROM tar_members(?)",
        "SELECT name, row, value, data FROM npy_rows(?)",
        "SELECT name, key, ext, count, min, max, mean FROM npy_stats(?)",
        "SELECT row, value FROM npy_rows(?, '001.feats.npz:w', '::-1, 1')",
    ):
        want = db.execute(sql, ("x.tar",)).fetchall()
        assert want and db.execute(sql, ("x.tar.gz",)).fetchall() == want
        for cuts in ([100], [512, 513], [1536, 3000, 3000, 5000]):
            write("cut.tgz", gzipped(shard, cuts))
            assert db.execute(sql, ("cut.tgz",)).fetchall() == want
            assert db.execute(sql, (gzipped(shard, cuts),)).fetchall() == want
    assert set(db.execute("SELECT data_offset FROM tar_members('x.tar.gz') UNION SELECT data_offset FROM npy_meta('x.tar.gz')")) == {(None,)}


def test_rows_of_a_large_compressed_tar(db, folder):
    """Beyond one checkpoint, forwards and backwards, in any order."""
    rng = seeded_generator()
    arrays = [rng.integers(0, 50, (4000, 8), "i4") for _ in range(20)]
    contents = tar_of([(f"{i:03}.npy", npy_bytes(array)) for i, array in enumerate(arrays)])
    write("l.tar.gz", gzipped(contents, [len(contents) // 3]))
    for i in [19, 0, 10, *map(int, rng.integers(0, 20, 6))]:
        row = int(rng.integers(4000))
        sql = "SELECT value FROM npy_rows('l.tar.gz', ?) WHERE row = ?"
        assert db.execute(sql, (f"{i:03}", row)).fetchall() == [(json.dumps(arrays[i][row].tolist(), separators=(",", ":")),)]
    before = counters(db)
    assert db.execute("SELECT count(*) FROM npy_rows('l.tar.gz', '019') WHERE row > 3990").fetchone() == (9,)
    assert since(db, before)["bytes_read"] < os.path.getsize("l.tar.gz") / 2
