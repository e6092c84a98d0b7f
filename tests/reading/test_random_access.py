"""Any order of lookups in a deflated member gives what its stored twin gives, and inflates little of it: once a pass
has gone through it, each begins at a checkpoint.

zlib ends a block after 16383 symbols at the latest, which for data that hardly compress is as many bytes or a few
times that: BLOCK. The checkpoints of members of up to 64 MiB are SPAN of inflated bytes apart, or a block more.
"""

import itertools
import shutil
import zipfile

import numpy as np
import pytest

import shell
from arrays import npy_bytes, npz_bytes, seeded_generator
from expected import counters, error_of, since

SPAN = 256 << 10
BLOCK = 128 << 10
LOOKUP = SPAN + BLOCK + 32768  # what a lookup inflates at most; the rest is headers and what is not worth a jump
ALL = 12 << 20  # about what a member holds


def arrays(rng):
    """Members of several MB: of numbers that compress by half, hardly, and to nothing, and of all of them."""
    noise = rng.integers(0, 2**63, (ALL // 800, 100))
    halves = rng.integers(0, 1000, (ALL // 800, 100))
    mixed = halves.copy()
    mixed[2000:5000] = noise[2000:5000]
    mixed[8000:11000] = 7
    return {
        "noise": noise,
        "halves": halves,
        "zeros": np.zeros(ALL // 8),
        "mixed": mixed,
        "fortran": np.asfortranarray(halves[:3000] * 3),
        "long": rng.normal(size=ALL // 8).astype(">f8"),
        "records": np.rec.fromarrays([rng.integers(0, 9, 700_000), rng.normal(size=700_000)], names="k,v"),
        "small": np.arange(100),
    }


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    """{stored, deflate: path} of the same arrays, and the arrays."""
    folder, members = tmp_path_factory.mktemp("twins"), arrays(seeded_generator())
    paths = {}
    for variant in ("stored", "deflate"):
        paths[variant] = str(folder / f"{variant}.npz")
        with open(paths[variant], "wb") as out:
            out.write(npz_bytes(members, variant))
    return paths, members


def read_by(db, sql, *arguments):
    before = counters(db)
    rows = db.execute(sql, arguments).fetchall()
    return rows, since(db, before)


def rows_in_any_order(rng, nrows, n):
    """Row numbers: jumps, small steps either way, runs, and both ends."""
    row = 0
    for _ in range(n):
        kind = rng.integers(6)
        if kind == 0:
            row = int(rng.integers(-2, 3)) % nrows
        elif kind < 3:
            row = int(rng.integers(nrows))
        elif kind == 3:
            row = min(row + 1, nrows - 1)
        else:
            row = int(np.clip(row + rng.integers(-nrows // 50 - 1, nrows // 50 + 2), 0, nrows - 1))
        yield row


# --- the same answers --------------------------------------------------------------------------------------

STATEMENTS = [
    "SELECT row, value, data FROM npy_rows({source}, {member}) WHERE row = {row}",
    "SELECT row, data FROM npy_rows({source}, {member}) WHERE row BETWEEN {row} AND {row} + 40",
    "SELECT row, data FROM npy_rows({source}, {member}) WHERE row >= {row} LIMIT 3",
    "SELECT row, data FROM npy_rows({source}, {member}) WHERE row <= {row} ORDER BY row DESC LIMIT 3",
    "SELECT data FROM npy_rows({source}, {member}, {row})",
    "SELECT row, data FROM npy_rows({source}, {member}, '::-7') WHERE row IN ({row}, {row} / 2, {row} - 1)",
    "SELECT idx, value FROM npy_elements({source}, {member}) WHERE i0 = {row}",
    "SELECT idx, value FROM npy_elements({source}, {member}) WHERE idx = {row}",
    "SELECT idx, value FROM npy_elements({source}, {member}) WHERE idx >= {row} LIMIT 5",
    "SELECT count(*), min(row), max(row) FROM npy_rows({source}, {member}) WHERE row > {row} AND length(data) > 0",
]


@pytest.mark.parametrize("name", ["noise", "halves", "zeros", "mixed", "fortran", "long", "records", "small"])
def test_the_stored_twin(connect, twins, name):
    rng, (paths, members) = seeded_generator(), twins
    db = connect()
    for row in rows_in_any_order(rng, len(members[name]), 10 if shell.SAMPLES else 30):
        sql = STATEMENTS[rng.integers(len(STATEMENTS))]
        got, want = (
            db.execute(sql.format(source=":source", member=":member", row=":row"), {"source": path, "member": name, "row": row})
            for path in (paths["deflate"], paths["stored"])
        )
        assert got.fetchall() == want.fetchall(), (sql, row)


def test_cursors_that_take_turns(connect, twins):
    """Several cursors read one member of one open file, each at its own place."""
    rng, (paths, members) = seeded_generator(), twins
    db, array = connect(), members["mixed"]
    cursors = []
    for step in range(3000):
        if len(cursors) < 4:
            first = int(rng.integers(len(array)))
            rows = db.execute("SELECT row, data FROM npy_rows(?, 'mixed') WHERE row >= ?", (paths["deflate"], first))
            cursors.append((rows, itertools.count(first)))
        rows, numbers = cursors[rng.integers(len(cursors))]
        number, got = next(numbers), rows.fetchone()
        assert got == ((number, array[number].tobytes()) if number < len(array) else None)
        if got is None or rng.random() < 0.01:
            cursors = [cursor for cursor in cursors if cursor[0] is not rows]


def test_a_join_in_any_order(connect, twins):
    rng, (paths, members) = seeded_generator(), twins
    db = connect()
    db.execute("CREATE TABLE t(i, row)")
    wanted = list(rows_in_any_order(rng, len(members["halves"]), 200))
    db.executemany("INSERT INTO t VALUES(?, ?)", enumerate(wanted))
    sql = "SELECT t.row, r.data FROM t CROSS JOIN npy_rows(?, 'halves') r WHERE r.row = t.row ORDER BY t.i"
    want = [(row, members["halves"][row].tobytes()) for row in wanted]
    assert db.execute(sql, (paths["deflate"],)).fetchall() == want
    rows, cost = read_by(db, sql, paths["deflate"])
    assert rows == want and cost["bytes_inflated"] <= len(wanted) * LOOKUP


def test_items_of_a_handle(connect, twins):
    rng, (paths, members) = seeded_generator(), twins
    db = connect()
    db.execute("CREATE TABLE t(i, at)")
    flat = members["long"]
    wanted = list(rows_in_any_order(rng, len(flat), 200))
    db.executemany("INSERT INTO t VALUES(?, ?)", enumerate(wanted))
    sql = "SELECT npy_get(f.array, t.at) FROM t CROSS JOIN npy_file(?, 'long') f ORDER BY t.i"
    want = [(float(flat[at]),) for at in wanted]
    assert db.execute(sql, (paths["deflate"],)).fetchall() == want


@pytest.mark.parametrize("variant", ["stored", "deflate"])
def test_lookups_into_small_arrays_read_them_once(connect, tmp_path, variant):
    """Whatever looks up. npy_elements and npy_get used to inflate for each, and a name from a join to open its array."""
    rng = seeded_generator()
    members = {f"w{i}": rng.integers(0, 100, (2000, 3)) for i in range(30)}
    with open(tmp_path / "a.npz", "wb") as file:
        file.write(npz_bytes(members, variant))
    db, path, size = connect(), str(tmp_path / "a.npz"), 2000 * 3 * 8 + 128
    db.execute("CREATE TABLE wanted(i INTEGER PRIMARY KEY, name, idx, row)")
    wanted = [(name, int(i), int(i) // 3) for name in ("w7", "w3") for i in rng.permutation(6000)[:500]]
    db.executemany("INSERT INTO wanted(name, idx, row) VALUES (?, ?, ?)", wanted)
    expected = [int(members[name].flat[i]) for name, i, _ in wanted]
    for call, narrays in [
        ("SELECT e.value FROM wanted CROSS JOIN npy_elements(:path) e USING (name, idx) ORDER BY i", 2),
        ("SELECT e.value FROM wanted CROSS JOIN npy_elements(:path, wanted.name) e USING (idx) ORDER BY i", 2),
        ("SELECT json_extract(value, '$[' || (idx % 3) || ']') FROM wanted CROSS JOIN npy_rows(:path) r USING (name, row) ORDER BY i", 2),
        ("SELECT npy_get(f.array, row, wanted.idx % 3) FROM npy_file(:path) f CROSS JOIN wanted USING (name) ORDER BY i", 2),
    ]:
        before = counters(db)
        assert [value for value, in db.execute(call, {"path": path})] == expected, call
        read = since(db, before)
        # each array until the fourth lookup, and then all of it; and the directory
        most = narrays * 6 * size + 20000
        assert read["bytes_read"] <= most or (shell.MAPPED and variant == "stored"), (call, read)
        assert read["bytes_inflated"] <= most, (call, read)


def test_a_name_that_stands_twice_is_looked_up_twice(connect, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive, pytest.warns(UserWarning):
        for name, first in (("w", 0), ("v", 100), ("w", 200)):
            archive.writestr(f"{name}.npy", npy_bytes(np.arange(first, first + 3)))
    db = connect()
    for function, number in [("npy_rows", "row"), ("npy_elements", "idx")]:
        rows = db.execute(
            f"SELECT n.column1, n.column2, value FROM (VALUES ('w', 0), ('w', 1), ('v', 1), ('w', 2), ('v', 0), ('v', 2)) n "
            f"CROSS JOIN {function}(?) x ON x.name = n.column1 AND x.{number} = n.column2",
            (str(tmp_path / "a.npz"),),
        ).fetchall()
        assert rows == [("w", 0, 0), ("w", 0, 200), ("w", 1, 1), ("w", 1, 201), ("v", 1, 101), ("w", 2, 2), ("w", 2, 202), ("v", 0, 100), ("v", 2, 102)]


def test_a_blob(connect, twins):
    """An archive without a file has its checkpoints for as long as it is open."""
    _, members = twins
    db, contents = connect(), npz_bytes({"x": members["mixed"]}, "deflate")
    sql = "SELECT row, data FROM npy_rows(?, 'x') WHERE row IN (9000, 11000, 100, 5000, 8999)"
    assert sorted(db.execute(sql, (contents,))) == [(n, members["mixed"][n].tobytes()) for n in (100, 5000, 8999, 9000, 11000)]


# --- what it costs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["noise", "halves", "mixed", "long"])
def test_a_lookup_after_a_pass(connect, twins, name):
    rng, (paths, members) = seeded_generator(), twins
    db, array = connect(), members[name]
    if name == "mixed":  # whose constant part is a few blocks of megabytes
        array = array[:8000]
    _, cost = read_by(db, "SELECT count(data) FROM npy_rows(?, ?)", paths["deflate"], name)
    assert members[name].nbytes <= cost["bytes_inflated"] <= members[name].nbytes + 32768
    for row in rows_in_any_order(rng, len(array), 60):
        rows, cost = read_by(db, "SELECT data FROM npy_rows(?, ?) WHERE row = ?", paths["deflate"], name, row)
        assert rows == [(array[row].astype(array.dtype.newbyteorder("<")).tobytes(),)]
        assert cost["bytes_inflated"] <= LOOKUP and cost["files_opened"] == 0
        # Of the compressed bytes, which are fewer here, half as much again may be fetched in vain.
        assert cost["bytes_read"] <= LOOKUP * 3 // 2 + 32768
        rows, cost = read_by(db, "SELECT value FROM npy_elements(?, ?) WHERE idx = ?", paths["deflate"], name, row)
        assert len(rows) == 1 and cost["bytes_inflated"] <= LOOKUP


def test_the_first_lookup_and_the_next(connect, twins):
    (paths, members), db = twins, connect()
    array = members["halves"]
    lookup = "SELECT data FROM npy_rows(?, 'halves') WHERE row = ?"
    row_nbytes = array[0].nbytes
    for row, before in [(10_000, 0), (10_100, 10_000), (9_000, 10_100), (14_000, 10_100), (13_999, 14_000), (5, 14_000)]:
        rows, cost = read_by(db, lookup, paths["deflate"], row)
        assert rows == [(array[row].tobytes(),)]
        fresh_nbytes = max(0, row - before) * row_nbytes  # what nobody has inflated yet
        assert cost["bytes_inflated"] <= fresh_nbytes + LOOKUP, row
    other = connect()
    _, cost = read_by(other, lookup, paths["deflate"], 10_000)
    assert cost["bytes_inflated"] <= 10_000 * row_nbytes + LOOKUP  # as much as there is up to the row, and no more


def test_a_changed_file_has_none(connect, tmp_path):
    rng, path, db = seeded_generator(), tmp_path / "x.npz", connect()
    for turn in range(3):
        array = rng.integers(0, 1000, (20_000 + turn, 50))
        path.write_bytes(npz_bytes({"x": array}, "deflate"))
        assert db.execute("SELECT count(data) FROM npy_rows(?)", (str(path),)).fetchone() == (len(array),)
        for row in (19_000, 3, 12_000):
            rows, cost = read_by(db, "SELECT data FROM npy_rows(?) WHERE row = ?", str(path), row)
            assert rows == [(array[row].tobytes(),)] and cost["bytes_inflated"] <= LOOKUP


# --- damage ------------------------------------------------------------------------------------------------


def test_damage_shows_as_often_as_without(connect, tmp_path):
    """The CRC-32 is that of the whole member, wherever a statement that comes to its end began."""
    array = seeded_generator().integers(0, 1000, (20_000, 50))
    contents = bytearray(npz_bytes({"x": array}, "deflate"))
    directory = contents.rindex(b"PK\1\2")
    contents[directory + 16] ^= 1
    path, db = tmp_path / "x.npz", connect()
    path.write_bytes(contents)
    lookup = "SELECT data FROM npy_rows(?) WHERE row = ?"
    for _ in range(3):
        assert "CRC-32" in error_of(db, "SELECT sum(length(data)) FROM npy_rows(?)", str(path))
        assert "CRC-32" in error_of(db, lookup, str(path), len(array) - 1)
        for row in (0, 15_000, 7_000, len(array) - 2):
            assert db.execute(lookup, (str(path), row)).fetchall() == [(array[row].tobytes(),)]


# --- memory ------------------------------------------------------------------------------------------------


def test_memory_is_bounded(connect, tmp_path, memory_used):
    """8 MiB a member and 16 MiB a connection, which its files share."""
    rng, paths, db = seeded_generator(), [str(tmp_path / f"{i}.npz") for i in range(4)], connect()
    array = np.tile(rng.integers(0, 250, (1 << 16, 128), "u1"), (9, 1))
    with zipfile.ZipFile(paths[0], "w", zipfile.ZIP_DEFLATED, compresslevel=0) as archive:
        archive.writestr("x.npy", npy_bytes(array))
    for path in paths[1:]:
        shutil.copy(paths[0], path)
    before, mib = memory_used(), 1 << 20
    for i, path in enumerate(paths):
        assert db.execute("SELECT count(data) FROM npy_rows(?)", (path,)).fetchone() == (len(array),)
        used = memory_used() - before
        assert (2 if i == 0 else 8) * mib < used < (9 if i == 0 else 17) * mib, (i, used)
    for row in rng.integers(len(array), size=10):
        for path in paths:
            rows, cost = read_by(db, "SELECT data FROM npy_rows(?) WHERE row = ?", path, int(row))
            assert rows == [(array[row].tobytes(),)] and cost["bytes_inflated"] <= 4 * mib
    assert memory_used() - before < 17 * mib
    db.close()
    assert memory_used() < before + mib
