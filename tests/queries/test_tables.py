"""CREATE VIRTUAL TABLE ... USING npy: arrays as typed tables, and databases that carry them."""

import json
import os
import random
import shutil
import sqlite3

import numpy as np
import pytest

import shell
from arrays import npy_bytes, npz_bytes, ten_bytes, zip_bytes
from expected import counters, error_of


pytestmark = pytest.mark.usefixtures("folder")


def save(path, contents):
    """Bytes, an array or a dict of arrays to a file. It gets another inode: a change is then never overlooked."""
    if isinstance(contents, np.ndarray):
        contents = npy_bytes(contents)
    elif isinstance(contents, dict):
        contents = npz_bytes(contents)
    with open(path + ".new", "wb") as out:
        out.write(contents)
    os.replace(path + ".new", path)


def create(db, arguments, name="t"):
    db.execute(f"CREATE VIRTUAL TABLE {name} USING npy({arguments})")
    return db


def columns(db, name="t"):
    return [(row[1], row[2]) for row in db.execute(f"PRAGMA table_info({name})")]


def names(db, name="t"):
    return [column for column, _ in columns(db, name)]


def select(db, sql, *arguments):
    return db.execute(sql, arguments).fetchall()


def tables(db, schema="main"):
    return sorted(name for name, in db.execute(f"SELECT name FROM {schema}.sqlite_master"))


def plan(db, sql):
    return " ".join(row[3] for row in db.execute("EXPLAIN QUERY PLAN " + sql))


GRID = np.arange(12, dtype="f4").reshape(4, 3) / 4


# --- columns -----------------------------------------------------------------------------------------------


def test_structured(connect):
    dtype = [("id", "<i4"), ("x", ">f8"), ("name", "U5"), ("raw", "V2"), ("when", "M8[s]"), ("took", "m8[ms]"),
             ("big", "<u8"), ("z", "c8"), ("ok", "?"), ("pos", [("a", "i2"), ("b", "f4")]), ("m", "<i2", (2, 2)), ("s", "S4")]
    array = np.zeros(2, dtype)
    array[0] = (7, 0.5, "žluť", b"\1\2", "2026-01-02T03:04:05", 90, 2**64 - 1, 1 - 2j, True, (3, 1.5), [[1, 2], [3, 4]], b"ab")
    array[1] = (-1, np.nan, "", b"\0\0", "NaT", "NaT", 5, 0, False, (0, 0), 0, b"\xff")
    save("s.npy", array)
    db = create(connect("d.db"), "'s.npy'")
    assert columns(db) == [
        ("id", "INTEGER"), ("x", "REAL"), ("name", "TEXT"), ("raw", "BLOB"), ("when", "TEXT"), ("took", "INTEGER"), ("big", ""),
        ("z", "TEXT"), ("ok", "INTEGER"), ("pos", "TEXT"), ("m", "TEXT"), ("s", "TEXT"),
    ]
    assert select(db, "SELECT * FROM t") == [
        (7, 0.5, "žluť", b"\1\2", "2026-01-02 03:04:05", 90, str(2**64 - 1), "[1.0,-2.0]", 1, '{"a":3,"b":1.5}', "[[1,2],[3,4]]", "ab"),
        (-1, None, "", b"\0\0", None, None, 5, "[0.0,0.0]", 0, '{"a":0,"b":0.0}', "[[0,0],[0,0]]", b"\xff"),
    ]
    # JSON columns are JSON to SQLite's functions, and a uint64 is not rounded on its way into another table.
    assert select(db, "SELECT json_array(m), json_extract(pos, '$.b') FROM t WHERE rowid = 0") == [("[[[1,2],[3,4]]]", 1.5)]
    db.execute("CREATE TABLE copy AS SELECT * FROM t")
    assert select(db, "SELECT big FROM copy") == [(str(2**64 - 1),), (5,)]


def test_padding_is_no_column(connect):
    array = np.zeros(3, np.dtype([("a", "u1"), ("b", "<i4")], align=True))
    array["b"] = [5, 6, 7]
    save("p.npy", array)
    db = create(connect(), "'p.npy'")
    assert names(db) == ["a", "b"] and select(db, "SELECT b FROM t") == [(5,), (6,), (7,)]


@pytest.mark.parametrize("order", "CF")
def test_items_of_two_axes(connect, order):
    save("x.npy", np.asarray(GRID, order=order))
    db = create(connect(), "'x.npy'")
    assert columns(db) == [("c0", "REAL"), ("c1", "REAL"), ("c2", "REAL")]
    assert select(db, "SELECT rowid, * FROM t") == [(i, *row) for i, row in enumerate(GRID.tolist())]
    create(db, "'x.npy', columns = 'a, B c,\"d,e\"'", "named")
    assert names(db, "named") == ["a", "B c", "d,e"]
    assert select(db, 'SELECT "d,e", a FROM named LIMIT 1') == [(0.5, 0.0)]


def test_other_shapes(connect):
    cube = np.arange(24).reshape(2, 3, 4)
    for name, array, want in [
        ("one", np.array([3, 1], ">i2"), [(0, 3), (1, 1)]),
        ("scalar", np.array(2.5), [(0, 2.5)]),
        ("empty", np.zeros((0, 2, 2)), []),
        ("cube", cube, [(i, json.dumps(v.tolist(), separators=(",", ":"))) for i, v in enumerate(cube)]),
    ]:
        save(name + ".npy", array)
        db = create(connect(), f"{name}.npy")
        assert names(db) == ["value"] and select(db, "SELECT rowid, value FROM t") == want
    save("one.npy", np.arange(2))
    assert names(create(connect(), "one.npy, columns=label")) == ["label"]


def test_every_type(connect):
    for code in ["?", "i1", "u1", "i8", "u8", "f2", "f4", "f8", "c16", "M8[D]", "M8", "m8[us]", "S3", "U2", "V3"]:
        dtype = np.dtype(code)
        array = np.frombuffer(bytes(range(1, 1 + dtype.itemsize)) * 2, dtype)
        if dtype.kind == "M" or dtype.kind == "U":
            array = np.zeros(2, dtype)
        save("a.npy", array)
        db = create(connect(), "'a.npy'")
        assert select(db, "SELECT rowid, value FROM t") == select(db, "SELECT row, value FROM npy_rows('a.npy')"), code


def test_arguments_of_slice_and_view(connect):
    array = np.arange(20, dtype="<u2").reshape(10, 2)
    save("x.npy", array)
    db = connect()
    create(db, "'x.npy', slice='2:8:2, 1', view='<i2', mode='r'")
    assert select(db, "SELECT rowid, value FROM t") == [(i, array[i, 1]) for i in (2, 4, 6)]
    create(db, "'x.npy', slice=-3", "row")
    assert select(db, "SELECT rowid, value FROM row") == [(0, 14), (1, 15)]
    save("v.npy", np.array([0x3FC0, 0x4000], "<u2"))
    create(db, "'v.npy', VIEW = bfloat16", "v")
    assert columns(db, "v") == [("value", "REAL")] and select(db, "SELECT value FROM v") == [(1.5,), (2.0,)]


def test_a_reversed_slice_keeps_its_numbers(connect):
    save("y.npy", np.arange(7) * 10)
    db = create(connect(), "'y.npy', slice='::-2'")
    rows = [(6, 60), (4, 40), (2, 20), (0, 0)]
    assert select(db, "SELECT rowid, value FROM t") == rows
    assert select(db, "SELECT rowid, value FROM t ORDER BY rowid") == rows[::-1]
    assert select(db, "SELECT rowid, value FROM t WHERE rowid > 1 ORDER BY rowid DESC") == rows[:3]
    assert select(db, "SELECT value FROM t WHERE rowid IN (1, 2, 6) ORDER BY rowid") == [(20,), (60,)]


# --- arrays side by side -----------------------------------------------------------------------------------


def test_arrays_side_by_side(connect):
    members = {"x": np.arange(4), "y z": np.linspace(0, 1, 4), "grid": GRID, "r": np.array([(1, 2.0)] * 4, "i4,f4")}
    save("a.npz", members)
    save("z.npz", npz_bytes(members, "deflate"))
    save("t.ten", ten_bytes([members["x"], GRID], infos=["x", "grid"]))
    for path in ("a.npz", "z.npz"):
        db = create(connect(), f"'{path}'")
        assert columns(db) == [("x", "INTEGER"), ("y z", "REAL"), ("grid", "TEXT"), ("r", "TEXT")]
        want = [(i, float(members["y z"][i]), json.dumps(GRID[i].tolist(), separators=(",", ":")), '{"f0":1,"f1":2.0}') for i in range(4)]
        assert select(db, "SELECT * FROM t") == want
        assert select(db, "SELECT * FROM t ORDER BY rowid DESC") == want[::-1]
        create(db, f"'{path}', member='grid'", "one")
        assert names(db, "one") == ["c0", "c1", "c2"]
        create(db, f"'{path}', member = 0", "first")
        assert columns(db, "first") == [("value", "INTEGER")]
        create(db, f"'{path}', members='grid, x', columns='g,h'", "picked")
        assert names(db, "picked") == ["g", "h"] and select(db, "SELECT h FROM picked") == [(0,), (1,), (2,), (3,)]
    db = create(connect(), "'t.ten'")
    assert select(db, "SELECT x, json_extract(grid, '$[2]') FROM t WHERE rowid = 3") == [(3, 2.75)]


def test_arrays_that_do_not_fit(connect):
    save("a.npz", {"x": np.arange(4), "y": np.arange(5), "lr": np.array(0.1)})
    db = connect()
    error = error_of(db, "CREATE VIRTUAL TABLE t USING npy('a.npz')")
    assert "'x' 4, 'y' 5" in error and "members=" in error
    assert "'lr'" in error_of(db, "CREATE VIRTUAL TABLE t USING npy('a.npz', members='x,lr')")
    save("b.npz", {"x": np.arange(4), "step": np.array(3)})
    assert "have no rows: 'step'" in error_of(db, "CREATE VIRTUAL TABLE t USING npy('b.npz')")
    create(db, "'b.npz', members=x")
    assert select(db, "SELECT sum(x) FROM t") == [(6,)]
    assert "different rows of each array" in error_of(db, "CREATE VIRTUAL TABLE q USING npy('a.npz', members='x,y', slice='-2:')")
    save("o.npz", {"x": np.arange(2), "o": np.array([1, None])})
    db.execute("CREATE VIRTUAL TABLE objects USING npy('o.npz')")
    assert select(db, "SELECT x, o FROM objects") == [(0, 1), (1, None)]
    create(db, "'o.npz', members='x'", "picked")
    save("none.npz", zip_bytes([("readme.txt", b"hello")], "stored"))
    assert "holds no arrays" in error_of(db, "CREATE VIRTUAL TABLE q USING npy('none.npz')")
    assert tables(db) == ["objects", "objects_npy", "picked", "picked_npy", "t", "t_npy"]


def test_names_that_collide(connect):
    fields = ["a", "A", "a_1", 'quo"te', "with space", "select", "x); DROP TABLE keep; --", "ž", "Ž", "rowid"]
    array = np.zeros(1, [(name, "i4") for name in fields])
    array[0] = tuple(range(len(fields)))
    save("s.npy", array)
    db = connect()
    db.execute("CREATE TABLE keep(x)")
    create(db, "'s.npy'")
    assert names(db) == ["a", "A_1", "a_1_1", *fields[3:]]
    assert select(db, "SELECT * FROM t") == [tuple(range(len(fields)))]
    assert select(db, "SELECT _rowid_ FROM t") == [(0,)]
    assert "keep" in tables(db)
    two = [np.arange(2), np.arange(2), np.arange(2)]
    save("t.ten", ten_bytes(two, infos=["", "", "y"]))
    create(db, "'t.ten'", "e")
    assert names(db, "e") == ["_1", "_2", "y"]
    create(db, "'t.ten', columns='v,V,v'", "f")
    assert names(db, "f") == ["v", "V_1", "v_2"]


def test_too_many_columns(connect):
    save("x.npy", np.arange(4002).reshape(2, 2001))
    db = connect()
    error = error_of(db, "CREATE VIRTUAL TABLE t USING npy('x.npy')")
    assert "2001 columns, more than the 2000" in error
    create(db, "'x.npy', slice=':, :2000'")
    assert select(db, "SELECT c0, c63, c64, c1999 FROM t WHERE rowid = 1") == [(2001, 2064, 2065, 4000)]
    assert len(select(db, "SELECT * FROM t")[1]) == 2000
    save("none.npy", np.zeros((3, 0)))
    assert "column" in error_of(db, "CREATE VIRTUAL TABLE n USING npy('none.npy')")
    save("many.npz", npz_bytes({f"a{i}": np.arange(2) for i in range(2001)}))
    assert "more arrays than the 2000" in error_of(db, "CREATE VIRTUAL TABLE n USING npy('many.npz')")


def test_two_thousand_arrays_side_by_side(connect):
    save("many.npz", npz_bytes({f"a{i}": np.arange(3) + i for i in range(2000)}))
    db = create(connect(), "'many.npz'")
    assert select(db, "SELECT * FROM t WHERE rowid = 2") == [tuple(range(2, 2002))]


# --- arguments ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, what",
    [
        ("", "needs a path"),
        ("''", "needs a path"),
        ("member='x'", "needs a path"),
        ("'x.npy', 'y.npy'", "second path"),
        ("'x.npy', foo='x'", "member, members, columns, slice, view, mode, and for tables that write dtype, shape and method"),
        ("'x.npy', mode='w+'", "a table that writes must be a TEMP table: CREATE VIRTUAL TABLE temp.t"),
        ("'x.npy', mode=a", "a table that writes must be a TEMP table: CREATE VIRTUAL TABLE temp.t"),
        ("'x.npy', slice=':', slice=':'", "twice"),
        ("'x.npy', member=1, members='x'", "not both"),
        ("'x.npy', slice=':' x", "not a single quoted text"),
        ("'x.npy', slice=0, 3", "needs quotes"),
        ("'x.npy', slice=':,:,:'", "x.npy"),
        ("'x.npy', slice='a'", "x.npy"),
        ("'x.npy', view='<i8'", "items of 8 bytes"),
        ("'x.npy', view='nonsense'", "x.npy"),
        ("'x.npy', columns='a,b'", "2 names for 3 columns"),
        ("'x.npy', columns='\"a,b,c'", "quoted name"),
        ("'x.npy', member='w'", "there is no array 'w'"),
        ("'x.npy', members='w'", "there is no array 'w'"),
        ("'w.npz', member='z'", "there are 'a'"),
        ("'w.npz', member=7", "no array number 7"),
        ("'w.npz', member=99999999999999999999", "no array number"),
        ("'w.npz', members='a,z'", "there are 'a'"),
        ("'gone.npy'", "gone.npy"),
        ("'*.npy'", "*.npy"),
        ("'.'", "."),
    ],
)
def test_bad_arguments(connect, arguments, what):
    save("x.npy", GRID)
    save("w.npz", {"a": GRID})
    db = connect()
    assert what in error_of(db, f"CREATE VIRTUAL TABLE t USING npy({arguments})")
    assert tables(db) == []


def test_quotes_and_blanks(connect):
    os.mkdir("it's")
    save("it's/a,b=(c).npy", GRID)
    db = connect()
    create(db, "  'it''s/a,b=(c).npy' ,  COLUMNS\n=\t\"a,b,c\"  ")
    assert names(db) == ["a", "b", "c"]
    create(db, "\"it's/a,b=(c).npy\", member='', slice = [1:3]", "u")
    assert select(db, "SELECT rowid FROM u") == [(1,), (2,)]


# --- the database ------------------------------------------------------------------------------------------


def reopened(connect, db, path="d.db"):
    db.close()
    return connect(path)


def test_a_database_whose_file_is_gone(connect):
    save("x.npy", GRID)
    db = create(connect("d.db"), "'x.npy', columns='a,b,c'")
    db.execute("CREATE TABLE log(id, note)")
    db.execute("INSERT INTO log VALUES (1, 'one')")
    db.execute("CREATE TEMP VIEW v AS SELECT a, note FROM t JOIN log ON t.rowid = id")
    os.remove("x.npy")
    db = reopened(connect, db)
    assert select(db, "SELECT note FROM log") == [("one",)]
    assert names(db) == ["a", "b", "c"]
    assert "CREATE VIRTUAL TABLE t" in select(db, "SELECT sql FROM sqlite_master")[0][0]
    assert "x.npy" in error_of(db, "SELECT a FROM t")
    assert select(db, "SELECT a FROM t WHERE rowid > 5 AND rowid < 3") == []
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        db.execute("SELECT c0 FROM t")
    db.execute("ALTER TABLE log RENAME TO logs")
    db.execute("ALTER TABLE t RENAME TO u")
    db.execute("VACUUM")
    assert select(db, "PRAGMA integrity_check") == [("ok",)]
    assert tables(db) == ["logs", "u", "u_npy"]
    save("x.npy", GRID)
    assert select(db, "SELECT a, c FROM u WHERE rowid = 3") == [(2.25, 2.75)]
    os.remove("x.npy")
    db = reopened(connect, db)
    db.execute("DROP TABLE u")
    assert tables(db) == ["logs"]


def test_a_file_that_changed(connect):
    save("x.npy", GRID)
    db = create(connect("d.db"), "'x.npy'")
    save("x.npy", np.concatenate([GRID, GRID]))
    assert select(db, "SELECT count(*), sum(c1) FROM t") == [(8, float(GRID[:, 1].sum()) * 2)]
    save("x.npy", np.asfortranarray(GRID[:2]))
    assert select(db, "SELECT count(*), max(rowid) FROM t") == [(2, 1)]
    for changed, what in [
        (GRID.astype("f8"), "was <f4[*, 3] and is <f8[*, 3]"),
        (GRID.astype(">f4"), "is >f4[*, 3]"),
        (GRID[:, :2], "is <f4[*, 2]"),
        (GRID[:, 0], "is <f4[*]"),
        (np.array(1, "f4"), "is <f4[]"),
        (np.zeros(3, "i4,f4"), "x.npy"),
        (b"not an array", "x.npy"),
        (b"", "x.npy"),
        (npy_bytes(GRID)[:-1], "truncated"),
        ({"x": GRID}, "x.npy"),
    ]:
        save("x.npy", changed)
        for sql in ("SELECT * FROM t", "SELECT count(*) FROM t", "SELECT c0 FROM t WHERE rowid = 0"):
            error = error_of(db, sql)
            assert what in error and ("truncated" in what or "x.npy" in error)
    save("x.npy", GRID)
    assert select(db, "SELECT c2 FROM t WHERE rowid = 3") == [(2.75,)]


def test_an_archive_that_changed(connect):
    save("a.npz", {"x": np.arange(3), "y": np.arange(3.0)})
    db = create(connect("d.db"), "'a.npz'")
    save("a.npz", {"x": np.arange(5), "y": np.arange(5.0)})
    assert select(db, "SELECT sum(y) FROM t") == [(10.0,)]
    for changed, what in [
        ({"x": np.arange(5), "y": np.arange(4.0)}, "different lengths"),
        ({"x": np.arange(5)}, "had 2 arrays and has 1"),
        ({"x": np.arange(5), "y": np.arange(5.0), "z": np.arange(5)}, "had 2 arrays and has 3"),
        ({"y": np.arange(5.0), "x": np.arange(5)}, "'x' was array 0 then"),
        ({"x": np.arange(5), "y": np.arange(5)}, "a.npz:y: has changed"),
    ]:
        save("a.npz", changed)
        assert what in error_of(db, "SELECT x FROM t")


def test_a_file_that_changes_while_it_is_read(connect, monkeypatch):
    monkeypatch.delenv("NPYEXT_MMAP", raising=False)  # under a map it ends the process
    save("x.npy", np.arange(200000.0))
    db = create(connect(), "'x.npy'")
    rows = db.execute("SELECT value FROM t")
    assert rows.fetchone() == (0.0,)
    with open("x.npy", "r+b") as file:
        file.truncate(5000)
    with pytest.raises(sqlite3.OperationalError, match="npyext: x.npy: "):
        rows.fetchall()


ODD_NAMES = ["a b", 'say "hi"', "it's", "select", "Ünïcode", "x;--", "t_npy", "[b]", "100%", "%w%s"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names(connect, name):
    quoted = '"' + name.replace('"', '""') + '"'
    save("x.npy", GRID)
    db = connect("d.db")
    db.execute(f"ATTACH 'other.db' AS {quoted}")
    for schema in ("main", quoted):
        create(db, "'x.npy'", f"{schema}.{quoted}")
        assert select(db, f"SELECT count(*) FROM {schema}.{quoted}") == [(4,)]
        db.execute(f"ALTER TABLE {schema}.{quoted} RENAME TO \"new {name.replace(chr(34), '')}\"")
        db.execute(f"ALTER TABLE {schema}.\"new {name.replace(chr(34), '')}\" RENAME TO {quoted}")
    db.execute(f"DETACH {quoted}")
    db = reopened(connect, db)
    assert tables(db) == sorted([name, name + "_npy"])
    assert select(db, f"SELECT c1 FROM {quoted} WHERE rowid = 1") == [(1.0,)]
    db.execute(f"DROP TABLE {quoted}")
    assert tables(db) == []


def test_temp_and_attached(connect):
    save("x.npy", GRID)
    db = connect("d.db")
    create(db, "'x.npy'", "temp.t")
    assert select(db, "SELECT count(*) FROM t") == [(4,)] and tables(db) == []
    db.execute("ALTER TABLE t RENAME TO u")
    db.execute("DROP TABLE u")
    assert tables(db, "temp") == []
    db.execute("ATTACH 'other.db' AS other")
    create(db, "'x.npy'")
    create(db, "'x.npy', columns='a,b,c'", "other.t")
    assert names(db) == ["c0", "c1", "c2"] and tables(db, "other") == ["t", "t_npy"]
    db.execute("ALTER TABLE other.t RENAME TO o")
    assert select(db, "SELECT a FROM o WHERE rowid = 1") == [(0.75,)]
    db.execute("DROP TABLE o")
    assert tables(db, "other") == [] and tables(db) == ["t", "t_npy"]


def test_read_only(connect):
    save("x.npy", GRID)
    create(connect("d.db"), "'x.npy'").close()
    db = connect("d.db")
    db.execute("PRAGMA query_only = 1")
    assert select(db, "SELECT count(c0) FROM t") == [(4,)]
    db.close()
    shutil.copy("d.db", "r.db")
    os.chmod("r.db", 0o444)
    db = connect(":memory:")
    db.execute("ATTACH 'r.db' AS r")
    assert select(db, "SELECT count(c0) FROM r.t") == [(4,)]


def test_transactions(connect):
    save("x.npy", GRID)
    db = connect("d.db")
    db.execute("BEGIN")
    create(db, "'x.npy'")
    error_of(db, "CREATE VIRTUAL TABLE u USING npy('gone.npy')")
    db.execute("ROLLBACK")
    assert tables(db) == []
    create(db, "'x.npy'")
    db.execute("BEGIN")
    db.execute("DROP TABLE t")
    db.execute("ROLLBACK")
    assert select(db, "SELECT count(*) FROM t") == [(4,)]
    db.execute("CREATE TABLE v_npy(x)")
    with pytest.raises(sqlite3.OperationalError, match="v_npy"):
        create(db, "'x.npy'", "v")
    assert tables(db) == ["t", "t_npy", "v_npy"]
    assert "table t only reads; to change rows, create one with mode='r+'" in error_of(db, "UPDATE t SET c0 = 1")
    for sql in ("DELETE FROM t", "INSERT INTO t VALUES (1, 2, 3)"):
        assert "table t only reads; to write, create one with mode='w+' or mode='a'" in error_of(db, sql)


def test_views_and_triggers_of_a_database_do_not_read_files(connect):
    save("x.npy", GRID)
    db = create(connect("d.db"), "'x.npy'")
    db.execute("CREATE VIEW v AS SELECT c0 FROM t")
    with pytest.raises(sqlite3.OperationalError, match="unsafe use"):
        db.execute("SELECT * FROM v")
    db.execute("CREATE TEMP VIEW w AS SELECT c0 FROM t")
    assert len(select(db, "SELECT * FROM w")) == 4


def test_views_of_a_trusted_database(connect, monkeypatch):
    monkeypatch.setenv("NPYEXT_VIEWS", "1")
    save("x.npy", GRID)
    db = create(connect("d.db"), "'x.npy'")
    db.execute("CREATE VIEW v AS SELECT c0 FROM t")
    db.execute("CREATE TABLE log(id)")
    assert len(select(db, "SELECT * FROM v")) == 4
    os.remove("x.npy")
    db = reopened(connect, db)
    db.execute("ALTER TABLE log RENAME TO logs")
    db.execute("ALTER TABLE t RENAME TO u")
    save("x.npy", GRID)
    assert len(select(db, "SELECT * FROM v")) == 4
    assert tables(db) == ["logs", "u", "u_npy", "v"]


# --- hostile databases -------------------------------------------------------------------------------------


def hostile(connect, change):
    save("x.npy", GRID)
    db = create(connect("d.db"), "'x.npy'")
    db.execute("CREATE TABLE keep(x)")
    db.close()
    plain = sqlite3.connect("d.db", isolation_level=None)
    plain.executescript(change)
    plain.close()
    return connect("d.db")


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM t_npy",
        "DELETE FROM t_npy WHERE item = 'format'",
        "DELETE FROM t_npy WHERE item = 'column'",
        "DELETE FROM t_npy WHERE item = 'array'",
        "DELETE FROM t_npy WHERE item = 'argument'",
        "UPDATE t_npy SET value = '2' WHERE item = 'format'",
        "UPDATE t_npy SET value = 'INTEGER); DROP TABLE keep; --' WHERE item = 'column'",
        "UPDATE t_npy SET value = 'INTEGER HIDDEN' WHERE item = 'column'",
        "UPDATE t_npy SET value = x'00ff' WHERE item = 'column'",
        "UPDATE t_npy SET name = x'414200' WHERE item = 'column'",
        "UPDATE t_npy SET name = 'a' || char(0) || 'b' WHERE item = 'column'",
        "UPDATE t_npy SET name = CAST(x'ff' AS TEXT) WHERE item = 'column'",
        "UPDATE t_npy SET name = '' WHERE item = 'column'",
        "UPDATE t_npy SET name = NULL WHERE item = 'column'",
        "UPDATE t_npy SET name = 'same' WHERE item = 'column'",
        "UPDATE t_npy SET item = 'other' WHERE item = 'array'",
        "UPDATE t_npy SET item = x'00' WHERE item = 'array'",
        "UPDATE t_npy SET name = 'other' WHERE item = 'argument'",
        "UPDATE t_npy SET value = printf('%.*c', 9000000, 'x') WHERE item = 'argument'",
        "INSERT INTO t_npy(item, name, value) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) SELECT 'column', 'x' || i, 'TEXT' FROM n",
        "INSERT INTO t_npy(item, name, value) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) SELECT 'array', 'x' || i, 'TEXT' FROM n",
        "INSERT INTO t_npy(item, name, value) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 5000) SELECT 'argument', 'path', 'x.npy' FROM n",
        "DROP TABLE t_npy",
        "DROP TABLE t_npy; CREATE TABLE t_npy(x)",
        "DROP TABLE t_npy; CREATE VIEW t_npy AS SELECT 'format' AS item, NULL AS name, 1 AS value, 1 AS position",
        # This one would not end.
        "DROP TABLE t_npy; CREATE VIEW t_npy AS WITH RECURSIVE n(position) AS (SELECT 1 UNION ALL SELECT position + 1 FROM n) SELECT position, 'x' AS item, 'x' AS name, 'x' AS value FROM n",
    ],
)
def test_damaged_declarations(connect, change):
    db = hostile(connect, change)
    assert select(db, "SELECT count(*) FROM keep") == [(0,)]
    error_of(db, "SELECT * FROM t")
    assert "keep" in tables(db)
    if "VIEW" not in change:
        db.execute("DROP TABLE t")
        assert tables(db) == ["keep"]


def test_a_declaration_that_lies(connect):
    """Sound, but not of this file: never wrong data, whatever it says."""
    for change in [
        "UPDATE t_npy SET value = 'TEXT' WHERE name = 'c1'",
        "UPDATE t_npy SET name = 'c9' WHERE name = 'c1'",
        "UPDATE t_npy SET value = '<f8[*, 3]' WHERE item = 'array'",
        "UPDATE t_npy SET name = 'w' WHERE item = 'array'",
        "INSERT INTO t_npy(item, name, value) VALUES ('column', 'c3', 'REAL')",
        "INSERT INTO t_npy(item, name, value) VALUES ('array', '', '<f4[*]')",
        "INSERT INTO t_npy(item, name, value) VALUES ('argument', 'slice', ':, 1')",
        "INSERT INTO t_npy(item, name, value) VALUES ('argument', 'idx', '-1')",
        "INSERT INTO t_npy(item, name, value) VALUES ('argument', 'idx', 'x')",
        "INSERT INTO t_npy(item, name, value) VALUES ('argument', 'view', '[[\"a\",\"<f4\"]]')",
        "INSERT INTO t_npy(item, name, value) VALUES ('argument', 'columns', ',,,,')",
        "INSERT INTO t_npy(item, name, value) VALUES ('argument', 'members', '\"')",
        "DELETE FROM t_npy WHERE name = 'c2'",
        "UPDATE t_npy SET value = 'd.db' WHERE name = 'path'",
    ]:
        db = hostile(connect, change)
        error_of(db, "SELECT * FROM t")
        error_of(db, "SELECT count(*) FROM t")
        db.execute("DROP TABLE t")
        assert tables(db) == ["keep"], change
        db.close()
        os.remove("d.db")


def test_a_name_to_break_out_with(connect):
    name = 'x" TEXT); DROP TABLE keep; CREATE TABLE y("z'
    db = hostile(connect, "UPDATE t_npy SET name = '%s' WHERE name = 'c1'" % name)
    assert names(db) == ["c0", name, "c2"]
    assert tables(db) == ["keep", "t", "t_npy"]
    error_of(db, "SELECT * FROM t")


def test_a_shadow_that_reads_its_own_table(connect):
    db = hostile(connect, "DROP TABLE t_npy; CREATE VIEW t_npy AS SELECT 'format' AS item, NULL AS name, c0 AS value, 1 AS position FROM t")
    assert select(db, "SELECT count(*) FROM keep") == [(0,)]
    with pytest.raises(sqlite3.Error):
        db.execute("SELECT * FROM t").fetchall()


# --- plans -------------------------------------------------------------------------------------------------


def test_seeks_give_what_full_scans_give(connect):
    seed = shell.random_seed()
    print(f"NPYEXT_SEED={seed}")
    rng = random.Random(seed)
    n = 3000
    values = np.random.default_rng(seed).integers(-1000, 1000, (n, 5))
    save("c.npy", values)
    save("f.npy", np.asfortranarray(values))
    save("z.npz", npz_bytes({"a": values[:, 0].copy(), "b": values[:, 1].copy(), "g": np.asfortranarray(values)}, "deflate"))
    db = connect()
    for name, arguments in [("c", "'c.npy'"), ("f", "'f.npy'"), ("z", "'z.npz'"), ("m", "'z.npz', member='g'"), ("r", "'c.npy', slice='::-3'"), ("p", "'f.npy', slice='7:2900:2'")]:
        create(db, arguments, name)
        db.execute(f"CREATE TABLE {name}_copy AS SELECT rowid AS id, * FROM {name}")
        fields = [column for column, _ in columns(db, name)]
        for _ in range(150):
            literals = [str(rng.randrange(-5, n + 5)), f"{rng.uniform(-5, n + 5):.1f}", f"'{rng.randrange(n)}'", "'abc'", "NULL", "x'00'", "1e300", "-1e300", "9223372036854775807", "-9223372036854775808", "'12.0'"]
            one = lambda: rng.choice(literals[:2]) if rng.random() < 0.8 else rng.choice(literals)
            term = lambda: rng.choice([
                f"# {rng.choice(['<', '<=', '>', '>=', '=', 'IS', '<>', 'IS NOT'])} {one()}",
                f"# BETWEEN {one()} AND {one()}",
                f"# IN ({one()}, {one()}, {one()})",
                f"{rng.choice(fields[:2])} > {rng.randrange(-1000, 1000)}",
            ])
            where = f" {rng.choice(['AND', 'AND', 'OR'])} ".join(term() for _ in range(rng.randrange(1, 4)))
            order = rng.choice(["ORDER BY #", "ORDER BY # DESC", "ORDER BY # DESC, " + fields[0]])
            limit = rng.choice(["", f"LIMIT {rng.randrange(20)}", f"LIMIT {rng.randrange(20)} OFFSET {rng.randrange(40)}"])
            wanted = ", ".join(["#"] + rng.sample(fields, rng.randrange(0, len(fields))))
            sql = lambda table, rowid: f"SELECT {wanted} FROM {table} WHERE {where} {order} {limit}".replace("#", rowid)
            # without a literal NULL in a list of rowids: it has no plan of its own in either table
            assert select(db, sql(name, "rowid")) == select(db, sql(f"{name}_copy", "id")), sql(name, "rowid")


def test_order_is_consumed(connect):
    save("x.npy", np.arange(200000.0).reshape(-1, 2))
    db = create(connect(), "'x.npy'")
    for sql in ["SELECT c0 FROM t ORDER BY rowid", "SELECT c0 FROM t ORDER BY rowid DESC LIMIT 10", "SELECT c0 FROM t WHERE rowid > 5 ORDER BY rowid DESC"]:
        assert "TEMP B-TREE" not in plan(db, sql), plan(db, sql)
    assert "TEMP B-TREE" in plan(db, "SELECT c0 FROM t ORDER BY c0")
    assert plan(db, "SELECT c0 FROM t WHERE rowid >= 3 AND rowid < 9 ORDER BY rowid DESC").endswith("x.npy by rowid>=?, rowid<?; last row first")
    before = counters(db)["bytes_read"]
    assert select(db, "SELECT rowid, c1 FROM t ORDER BY rowid DESC LIMIT 3") == [(99999, 199999.0), (99998, 199997.0), (99997, 199995.0)]
    assert counters(db)["bytes_read"] - before < 40000
    assert select(db, "SELECT c0 FROM t ORDER BY rowid DESC") == [(v,) for v in np.arange(199998.0, -1, -2).tolist()]
    before = counters(db)["bytes_read"]
    assert select(db, "SELECT c0 FROM t LIMIT 2 OFFSET 1") == [(2.0,), (4.0,)]
    assert select(db, "SELECT c0 FROM t WHERE rowid = 70000") == [(140000.0,)]
    assert counters(db)["bytes_read"] - before < 40000


def test_a_column_of_many_is_read_alone(connect):
    values = np.arange(1000000, dtype="f8").reshape(1000, 1000)
    save("f.npy", np.asfortranarray(values))
    save("c.npy", values)
    db = connect()
    for path, most in (("f.npy", 40000), ("c.npy", 8200000)):
        create(db, f"'{path}'", path[0])
        before = counters(db)["bytes_read"]
        assert select(db, f"SELECT sum(c5) FROM {path[0]}") == [(float(values[:, 5].sum()),)]
        assert counters(db)["bytes_read"] - before < most, path
        # columns beyond the 63rd share a bit of what SQLite tells
        assert select(db, f"SELECT c3, c70, c999 FROM {path[0]} WHERE rowid = 2") == [(2003.0, 2070.0, 2999.0)]
        assert select(db, f"SELECT c999 FROM {path[0]} ORDER BY rowid DESC LIMIT 1") == [(999999.0,)]


def test_joins(connect):
    n = 20000
    values = np.arange(n * 2, dtype="i4").reshape(n, 2)
    save("x.npy", values)
    save("y.npz", {"label": np.arange(n) % 7, "weight": np.arange(n) / n})
    db = connect()
    create(db, "'x.npy', columns='a,b'", "x")
    create(db, "'y.npz'", "y")
    db.execute("CREATE TABLE pick(id INTEGER PRIMARY KEY, at)")
    rng = random.Random(3)
    at = [rng.randrange(-10, n + 10) for _ in range(5000)]
    db.executemany("INSERT INTO pick(at) VALUES (?)", [(i,) for i in at])
    inside = [i for i in at if 0 <= i < n]
    before = counters(db)
    got = select(db, "SELECT at, a, b, label FROM pick JOIN x ON x.rowid = at JOIN y ON y.rowid = at ORDER BY id")
    assert got == [(i, 2 * i, 2 * i + 1, i % 7) for i in inside]
    after = counters(db)
    assert after["files_opened"] - before["files_opened"] == 0 and after["read_calls"] - before["read_calls"] < 200
    assert "by rowid=?" in plan(db, "SELECT * FROM pick JOIN x ON x.rowid = at")
    assert select(db, "SELECT count(*) FROM x JOIN y ON x.rowid = y.rowid WHERE label = 3 AND a > 100") == [
        (sum(1 for i in range(n) if i % 7 == 3 and 2 * i > 100),)]
    assert select(db, "SELECT count(*), count(a) FROM pick LEFT JOIN x ON x.rowid = at") == [(len(at), len(inside))]
    assert select(db, "SELECT count(*) FROM x AS p JOIN x AS q ON p.rowid = q.rowid + 1") == [(n - 1,)]
    assert select(db, "SELECT x.b FROM x WHERE rowid IN (SELECT at FROM pick WHERE id = 1)") == [
        (2 * i + 1,) for i in at[:1] if 0 <= i < n]
    for direction in ("", "DESC"):
        got = select(db, f"SELECT x.rowid, y.weight FROM x CROSS JOIN y ON y.rowid = x.rowid ORDER BY x.rowid {direction} LIMIT 3")
        first = 0 if not direction else n - 1
        assert [row[0] for row in got] == [first, *(first + (k if not direction else -k) for k in (1, 2))]


def test_an_interrupt_ends_a_scan(connect):
    save("x.npy", np.zeros((3000000, 1)))
    db = create(connect(), "'x.npy'")
    db.set_progress_handler(lambda: 1, 100000)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        db.execute("SELECT sum(c0) FROM t").fetchall()
    db.set_progress_handler(None, 0)
