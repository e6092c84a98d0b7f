"""Who may reach what: the entry points, NPYEXT_ROOT, NPYEXT_VIEWS; and every way around them that we know of."""

import ctypes
import json
import os
import re
import resource
import sqlite3
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import shell
import without_openat2
from arrays import npy_bytes, npz_bytes, ten_bytes
from expected import counters, error_of

ALL, READONLY, BLOB = "sqlite3_npyext_init", "sqlite3_npyext_readonly_init", "sqlite3_npyext_blob_init"
ENTRY_POINTS = [ALL, READONLY, BLOB]
READERS = ["npy_meta", "npz_members", "ten_arrays", "npy_rows", "npy_elements", "npy_stats", "npy_histogram", "npy_file", "npy_globals"]
INSIDE = np.arange(3)
# What must not be seen: of 4242 items, each of which is 4242.
SECRET = np.full(4242, 4242)
SQLITE_INNOCUOUS, SQLITE_DIRECTONLY = 0x200000, 0x80000

# test_without_openat2 runs this file again in a process that has no openat2.
TAKEN_AWAY = os.environ.get("NPYEXT_TEST_OPENAT2") == "no"
if TAKEN_AWAY:
    without_openat2.take_away()


def put(path, contents):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as out:
        out.write(contents)


def functions_of(db):
    names = "SELECT name, narg, max(flags) FROM pragma_function_list WHERE name GLOB 'np[yz]*' OR name GLOB 'ten_*' GROUP BY name, narg"
    return {(name, narg): flags for name, narg, flags in db.execute(names)}


def modules_of(db):
    return {name for (name,) in db.execute("SELECT name FROM pragma_module_list") if re.match("np[yz]|ten_", name)}


def debug_of(db):
    return json.loads(db.execute("SELECT npyext_debug()").fetchone()[0])


def complaint_of(db, sql, *arguments):
    """SQLite's own words on a statement that it does not run."""
    with pytest.raises(sqlite3.OperationalError) as raised:
        db.execute(sql, arguments).fetchall()
    return str(raised.value)


# --- entry points ------------------------------------------------------------------------------------------


def test_what_each_has(connect):
    everywhere = {*READERS, "npy_compare", "npy_nearest", "npy_paths", "npy_quantile", "npy_unique"}
    every, readonly, blob = (connect(entry_point=entry_point) for entry_point in ENTRY_POINTS)
    assert modules_of(every) == everywhere | {"npy", "npy_write"}
    assert modules_of(readonly) == everywhere | {"npy"}
    assert modules_of(blob) == everywhere
    # Each table has a function of its name, which says that it is none.
    assert functions_of(every).keys() - functions_of(readonly).keys() == {("npy_write", -1)}
    assert functions_of(readonly).items() <= functions_of(every).items() and functions_of(readonly).keys() == functions_of(blob).keys()
    assert all(flags & SQLITE_INNOCUOUS for flags in functions_of(blob).values())
    directonly = {name for (name, _), flags in functions_of(every).items() if flags & SQLITE_DIRECTONLY}
    assert directonly == {"npyext_debug", "npyext_counters", "npy_concat"}  # they tell of the process; it opens files by name
    assert all(bool(flags & SQLITE_INNOCUOUS) == (name not in directonly) for (name, _), flags in functions_of(every).items())
    for db, entry_point in zip([every, readonly, blob], ENTRY_POINTS):
        assert debug_of(db)["entry_point"] == entry_point


def test_the_default_is_all(connect):
    assert debug_of(connect())["entry_point"] == ALL


@pytest.mark.parametrize("second", ENTRY_POINTS)
@pytest.mark.parametrize("first", ENTRY_POINTS)
def test_loading_twice(connect, first, second, monkeypatch):
    db = connect(entry_point=first)
    modules, functions, debug = modules_of(db), functions_of(db), debug_of(db)
    monkeypatch.setenv("NPYEXT_VIEWS", "1")
    if first == second:
        shell.load(db, second)
    else:
        with pytest.raises(sqlite3.OperationalError, match="already loaded through another entry point"):
            shell.load(db, second)
    assert (modules_of(db), functions_of(db), debug_of(db)) == (modules, functions, debug)


def test_loading_twice_keeps_handles(connect, tmp_path):
    put(tmp_path / "x.npy", npy_bytes(INSIDE))
    db = connect()
    (handle,) = db.execute("SELECT array FROM npy_file(?)", (str(tmp_path / "x.npy"),)).fetchone()
    shell.load(db)
    shell.load(db, ALL)
    assert db.execute("SELECT npy_get(?, 2)", (handle,)).fetchone() == (2,)


def test_readonly_writes_nothing(connect, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put("x.npy", npy_bytes(INSIDE))
    db = connect(entry_point=READONLY)
    assert "no such table: npy_write" in complaint_of(db, "SELECT * FROM npy_write('y.npy', ?)", npy_bytes(INSIDE))
    for mode in ("w+", "a"):
        for path in ("x.npy", "y.npy", "y.npz"):
            text = error_of(db, f"CREATE VIRTUAL TABLE temp.t USING npy('{path}', mode='{mode}', dtype='i8')")
            assert text == f"npyext: {path}: mode='{mode}' writes a file, and npyext was loaded by {READONLY}, which writes none"
    assert os.listdir() == ["x.npy"] and np.array_equal(np.load("x.npy"), INSIDE)
    assert db.execute("SELECT sum(value) FROM npy_rows('x.npy')").fetchone() == (3,)
    db.execute("CREATE VIRTUAL TABLE t USING npy('x.npy', mode='r')")
    assert db.execute("SELECT sum(value) FROM t").fetchone() == (3,)
    assert db.execute("SELECT npy_json(npy_array(value)) FROM t").fetchone() == ("[0,1,2]",)


def test_blob_reads_blobs(connect):
    db = connect(entry_point=BLOB)
    npy, npz, ten = npy_bytes(INSIDE), npz_bytes({"x": INSIDE}), ten_bytes([INSIDE])
    for function in READERS:
        blob = {"npz_members": npz, "ten_arrays": ten, "npy_globals": b"cos\nsystem\n."}.get(function, npy)
        assert db.execute(f"SELECT count(*) > 0 FROM {function}(?)", (blob,)).fetchone() == (1,), function
        assert db.execute(f"SELECT count(*) FROM {function}(NULL)").fetchone() == (0,)
    assert db.execute("SELECT status FROM npy_compare(?, ?)", (npy, npy)).fetchone() == ("equal",)
    assert db.execute("SELECT npy_get(array, 1) FROM npy_file(?)", (npz,)).fetchone() == (1,)
    assert db.execute("SELECT npy_get(npy_array(value), 1) FROM npy_rows(?)", (npy,)).fetchone() == (1,)


def test_blob_opens_nothing(connect, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put("x.npy", npy_bytes(SECRET))
    (handle,) = connect().execute("SELECT array FROM npy_file('x.npy')").fetchone()
    db = connect("d.db", entry_point=BLOB)
    refusal = f"names a file, and npyext was loaded by {BLOB}, which opens none"
    for source in ("x.npy", str(tmp_path / "x.npy"), "*.npy", '["x.npy"]', "nothing", "x.npy\0"):
        for function in READERS:
            for on_error in ("raise", "row", "skip"):
                sql = f"SELECT * FROM {function} WHERE source = ? AND on_error = '{on_error}'"
                assert f"a TEXT {refusal}" in error_of(db, sql, source)
        assert f"a TEXT {refusal}" in error_of(db, "SELECT * FROM npy_compare(?, ?)", source, npy_bytes(INSIDE))
        assert f"a TEXT {refusal}" in error_of(db, "SELECT * FROM npy_compare(?, ?)", npy_bytes(INSIDE), source)
        assert f"a TEXT {refusal}" in error_of(db, "SELECT npy_shape(?)", source)
    for function in (*READERS, "npy_paths"):
        assert f"a handle {refusal}" in error_of(db, f"SELECT * FROM {function}(?)", handle)
        assert f"a TEXT {refusal}" in error_of(db, f"SELECT * FROM {function}('x.npy')")  # planned as a literal
    for scalar in ("npy_shape(?)", "npy_get(?, 0)", "npy_json(?)", "npy_data(?)", "npy_stack(?)"):
        assert f"a handle {refusal}" in error_of(db, f"SELECT {scalar}", handle)
    assert db.execute("SELECT npy_valid(?)", (handle,)).fetchone() == (0,)
    for ddl in ("t USING npy('x.npy')", "temp.t USING npy('y.npy', mode='w+', dtype='i8')"):
        assert "no such module: npy" in complaint_of(db, f"CREATE VIRTUAL TABLE {ddl}")
    assert "no such table: npy_write" in complaint_of(db, "SELECT * FROM npy_write('y.npy', ?)", npy_bytes(INSIDE))
    assert counters(db)["files_opened"] == 0 and set(os.listdir()) <= {"d.db", "x.npy"}


def test_blob_takes_no_notice_of_the_root(connect, monkeypatch):
    monkeypatch.setenv("NPYEXT_ROOT", "/nowhere/at/all")
    debug = debug_of(connect(entry_point=BLOB))
    assert debug["root"] is None and debug["views_allowed"] is True


def test_blob_serves_an_untrusted_schema(connect, tmp_path):
    database = str(tmp_path / "hosted.db")
    db = connect(database, entry_point=BLOB)
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x BLOB CHECK(npy_valid(x)), shape AS (npy_shape(x)))")
    db.execute("CREATE TABLE log(id, total)")
    db.execute("CREATE INDEX i ON t(npy_get(x, 0))")
    functions = ", ".join(f"(SELECT count(*) FROM {function}(x)) AS {function}" for function in READERS if function not in ("npz_members", "ten_arrays"))
    db.execute(f"CREATE VIEW v AS SELECT id, r.row, r.value, npyext_debug() IS NOT NULL AS debug, {functions} FROM t, npy_rows(t.x) r")
    db.execute("CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO log SELECT new.id, sum(value) FROM npy_rows(new.x); END")
    db.execute("INSERT INTO t(x) VALUES (?)", (npy_bytes(INSIDE + 5),))
    assert db.execute("SELECT row, value, debug FROM v").fetchall() == [(0, 5, 1), (1, 6, 1), (2, 7, 1)]
    assert db.execute("SELECT npy_meta, npy_elements, npy_file FROM v").fetchone() == (1, 3, 1)
    assert db.execute("SELECT * FROM log").fetchall() == [(1, 18)]
    assert db.execute("SELECT id, shape FROM t WHERE npy_get(x, 0) = 5").fetchall() == [(1, "[3]")]
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with pytest.raises(sqlite3.Error):
        db.execute("INSERT INTO t(x) VALUES (x'00')")
    assert db.execute("SELECT count(*) FROM t").fetchone() == (1,)


# --- a database from elsewhere -----------------------------------------------------------------------------


@pytest.fixture
def hostile(connect, tmp_path, monkeypatch):
    """A database whose schema wants this machine's files, made on another connection."""
    monkeypatch.chdir(tmp_path)
    put("secret.npy", npy_bytes(SECRET))
    db = connect("hostile.db")
    db.execute("CREATE TABLE t(x, y)")
    db.execute("CREATE TABLE loot(x)")
    for function in READERS:
        db.execute(f"CREATE VIEW v_{function} AS SELECT * FROM {function}('secret.npy')")
    db.execute("CREATE VIEW v_npy_compare AS SELECT * FROM npy_compare('secret.npy', 'secret.npy')")
    db.execute("CREATE VIEW v_get AS SELECT npy_get(array, 0) FROM npy_file('secret.npy')")
    db.execute("CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO loot SELECT value FROM npy_rows('secret.npy'); END")
    db.execute(f"CREATE VIEW v_npy_write AS SELECT * FROM npy_write('made.npy', x'{npy_bytes(INSIDE).hex()}')")
    db.execute("CREATE VIRTUAL TABLE typed USING npy('secret.npy')")
    db.execute("CREATE VIEW v_typed AS SELECT * FROM typed")
    db.execute("CREATE VIEW v_debug AS SELECT npyext_debug()")
    db.close()
    return "hostile.db"


VIEWS = [f"v_{name}" for name in [*READERS, "npy_compare", "get", "typed"]]


@pytest.mark.parametrize("trusted", ["ON", "OFF"])
@pytest.mark.parametrize("entry_point", [ALL, READONLY])
def test_its_schema_reads_nothing(connect, hostile, entry_point, trusted):
    db = connect(hostile, entry_point)
    db.execute(f"PRAGMA trusted_schema = {trusted}")
    for view in [*VIEWS, "v_debug"]:
        assert "unsafe use of" in complaint_of(db, f"SELECT * FROM {view}")
        assert "unsafe use of" in complaint_of(db, f"EXPLAIN SELECT * FROM {view}")
    assert "unsafe use of" in complaint_of(db, "INSERT INTO t VALUES (1, 2)")
    expected = "unsafe use of" if entry_point == ALL else "no such table"
    assert expected in complaint_of(db, "SELECT * FROM v_npy_write")
    assert db.execute("PRAGMA quick_check").fetchall() == [("ok",)]
    assert counters(db)["files_opened"] == 0
    assert db.execute("SELECT count(*) FROM loot").fetchone() == (0,)
    assert not os.path.exists("made.npy")


@pytest.mark.parametrize("entry_point", [ALL, READONLY])
def test_its_schema_where_views_are_allowed(connect, hostile, entry_point, monkeypatch):
    monkeypatch.setenv("NPYEXT_VIEWS", "1")
    db = connect(hostile, entry_point)
    assert debug_of(db)["views_allowed"] is True
    db.execute("PRAGMA trusted_schema = ON")
    assert db.execute("SELECT shape FROM v_npy_meta").fetchone() == ("[4242]",)
    assert db.execute("SELECT * FROM v_typed LIMIT 1").fetchone() == (4242,)
    assert db.execute("SELECT * FROM v_get").fetchone() == (4242,)
    db.execute("INSERT INTO t VALUES (1, 2)")
    assert db.execute("SELECT count(*) FROM loot").fetchone() == (4242,)
    assert ("unsafe use of" if entry_point == ALL else "no such table") in complaint_of(db, "SELECT * FROM v_npy_write")
    assert not os.path.exists("made.npy")
    monkeypatch.delenv("NPYEXT_VIEWS")  # it was read when the extension was loaded
    assert db.execute("SELECT count(*) FROM v_npy_rows").fetchone() == (4242,)
    db.execute("PRAGMA trusted_schema = OFF")
    for view in VIEWS:
        assert "unsafe use of" in complaint_of(db, f"SELECT * FROM {view}")


def connected_to(db):
    """What hosts ask of a table before they use it; what it answers is another matter."""
    for sql in ("PRAGMA table_info(typed_npy)", "PRAGMA table_info(typed)", "PRAGMA table_xinfo(typed)", "PRAGMA table_list", "SELECT count(*) FROM typed"):
        try:
            db.execute(sql).fetchall()
        except sqlite3.OperationalError:
            pass


@pytest.mark.parametrize("writable", ["OFF", "ON"])
def test_a_shadow_table_that_is_virtual_was_read(connect, tmp_path, monkeypatch, writable):
    """Connecting to a typed table read files where its shadow was a typed table itself, past SQLITE_DIRECTONLY."""
    monkeypatch.chdir(tmp_path)
    names, types = ["position", "item", "name", "value"], ["i8", "U8", "U8", "U8"]
    put("declaration.npy", npy_bytes(np.array([(1, "format", "", "1")], list(zip(names, types)))))
    db = connect("hostile.db")
    db.execute("CREATE VIRTUAL TABLE typed_npy USING npy('declaration.npy')")
    db.execute("PRAGMA writable_schema = ON")
    sql = "CREATE VIRTUAL TABLE typed USING npy('secret.npy')"
    db.execute("INSERT INTO sqlite_schema VALUES ('table', 'typed', 'typed', 0, ?)", (sql,))
    # Beside it, an ordinary table of another name that the schema lists under this one, which the virtual one lacks.
    ordinary = "CREATE TABLE other(position INTEGER PRIMARY KEY, item TEXT NOT NULL, name TEXT, value TEXT NOT NULL)"
    if writable == "ON":
        db.execute(ordinary)
        db.execute("UPDATE sqlite_schema SET name = CASE name WHEN 'other' THEN 'typed_npy' ELSE 'spy' END WHERE name IN ('other', 'typed_npy')")
    db.close()
    db = sqlite3.connect("hostile.db")
    # before anything else is asked: the newest SQLite reads no schema like this one without it
    db.execute(f"PRAGMA writable_schema = {writable}")
    db.enable_load_extension(True)
    shell.load(db, READONLY)
    connected_to(db)
    assert counters(db)["files_opened"] == 0
    assert "not one that npyext made" in complaint_of(db, "SELECT * FROM typed")


def test_a_shadow_table_that_computes_took_gigabytes(connect, hostile):
    """A generated column made 8 MB of each of 1,990 rows, which connecting kept."""
    db = connect(hostile)
    for view in [*VIEWS, "v_npy_write", "v_debug"]:
        db.execute(f"DROP VIEW {view}")
    db.execute("DROP TABLE typed_npy")
    texts = [("item", "'format'", "'array'"), ("name", "NULL", "position"), ("value", "'1'", "hex(zeroblob(4000000))")]
    columns = ", ".join(f"{name} TEXT AS (iif(position = 1, {first}, {other}))" for name, first, other in texts)
    db.execute(f"CREATE TABLE typed_npy(position INTEGER PRIMARY KEY, {columns})")
    db.executemany("INSERT INTO typed_npy(position) VALUES (?)", [(number,) for number in range(1, 101)])
    db.close()
    assert os.path.getsize(hostile) < 100000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    db = connect(hostile, READONLY)
    connected_to(db)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10  # KiB
    assert "not one that npyext made" in complaint_of(db, "SELECT * FROM typed")


def test_a_declaration_of_many_long_texts_ends(connect, hostile):
    """The whole of it is bounded, not each text alone: here 240 MB, of which 16 are read."""
    db = connect(hostile)
    for number in range(30):
        db.execute("INSERT INTO typed_npy(item, name, value) VALUES ('array', ?, hex(zeroblob(4000000)))", (f"a{number}",))
    db.close()
    db = connect(hostile, READONLY)
    assert "longer than npyext ever writes one" in complaint_of(db, "SELECT * FROM typed")
    db.execute("DROP TABLE typed")


@pytest.mark.parametrize("entry_point", [ALL, READONLY])
def test_a_database_holds_no_table_that_writes(connect, hostile, entry_point):
    db = connect(hostile)
    db.execute("INSERT INTO typed_npy(item, name, value) VALUES ('argument', 'mode', 'w+'), ('argument', 'dtype', 'i8')")
    db.execute("PRAGMA writable_schema = ON")
    sql = "CREATE VIRTUAL TABLE typed USING npy('made.npy', mode='w+', dtype='i8')"
    db.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'typed'", (sql,))
    db.close()
    db = connect(hostile, entry_point)
    for statement in ("INSERT INTO typed VALUES (1)", "UPDATE typed SET value = 1", "DELETE FROM typed"):
        with pytest.raises(sqlite3.Error):
            db.execute(statement)
    assert not os.path.exists("made.npy") and np.array_equal(np.load("secret.npy"), SECRET)


def test_views_cannot_be_allowed_later(connect, hostile, monkeypatch):
    db = connect(hostile)
    monkeypatch.setenv("NPYEXT_VIEWS", "1")
    for view in VIEWS:
        assert "unsafe use of" in complaint_of(db, f"SELECT * FROM {view}")
    assert debug_of(db)["views_allowed"] is False


@pytest.mark.parametrize("trusted", ["ON", "OFF"])
@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_constraints_and_generated_columns_open_nothing(connect, tmp_path, monkeypatch, entry_point, trusted):
    """They may call any function, before SQLite 3.50 even those that are DIRECTONLY."""
    monkeypatch.chdir(tmp_path)
    put("secret.npy", npy_bytes(SECRET))
    (handle,) = connect().execute("SELECT array FROM npy_file('secret.npy')").fetchone()
    db = connect("d.db", entry_point)
    db.execute(f"PRAGMA trusted_schema = {trusted}")
    calls = ["npy_get(x, 0)", "npy_shape(x)", "npy_valid(x)", "npy_json(x)", "npy_size(npy_slice(x, ':'))"]
    calls += ["npy_get('secret.npy', 0)", f"npy_get(x'{handle.hex()}', 0)", "npy_member('secret.npy', 'x')"]
    for number, call in enumerate(calls):
        db.execute(f"CREATE TABLE c{number}(x, CHECK({call} IS NOT 4242))")
        db.execute(f"CREATE TABLE g{number}(x, y AS ({call}) STORED)")
        for table in (f"c{number}", f"g{number}"):
            for x in ("secret.npy", handle):
                try:
                    db.execute(f"INSERT INTO {table}(x) VALUES (?)", (x,))
                except sqlite3.Error as error:
                    assert "4242" not in str(error)
            assert "4242" not in repr(db.execute(f"SELECT * FROM {table}").fetchall())
    db.execute("PRAGMA quick_check").fetchall()
    db.execute("PRAGMA integrity_check").fetchall()
    assert counters(db)["files_opened"] == 0
    for column in ("x CHECK((SELECT count(*) FROM npy_rows('secret.npy')))", "x AS (npy_array(x))", "x AS ((SELECT 1 FROM npy_rows('secret.npy')))"):
        with pytest.raises(sqlite3.OperationalError):
            db.execute(f"CREATE TABLE no(a, {column})")


# --- NPYEXT_ROOT -------------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """in/, which is the root, and what is not to be seen beside it; the current folder is a third one."""
    monkeypatch.chdir(tmp_path)
    for path in ("f.npy", "a/f.npy", "a/b/f.npy"):
        put(f"in/{path}", npy_bytes(INSIDE))
    for path in ("out/secret.npy", "out/f.npy", "inside/f.npy", "f.npy", "cwd/f.npy", "cwd/only_here.npy"):
        put(path, npy_bytes(SECRET))
    links = {"a/up.npy": "../f.npy", "la": "a", "lb": "a/b", "lout": "../out", "a/lout": "../../out", "lsecret.npy": "../out/secret.npy"}
    links.update({"lchain.npy": "lsecret.npy", "ldots": "..", "a/back.npy": "../../in/f.npy", "new.npy": "../out/new.npy"})
    links.update({"labsolute.npy": tmp_path / "in/f.npy", "lpasswd.npy": "/etc/passwd", "lfolder": tmp_path / "out"})
    for path, target in links.items():
        os.symlink(target, f"in/{path}")
    monkeypatch.chdir("cwd")
    monkeypatch.setenv("NPYEXT_ROOT", str(tmp_path / "in"))
    return tmp_path


OUTSIDE = [
    "../out/secret.npy",
    "a/../../out/secret.npy",
    "./../in/f.npy",
    "la/../../out/secret.npy",
    "lb/../../../out/secret.npy",
    "lout/secret.npy",
    "a/lout/secret.npy",
    "lsecret.npy",
    "lchain.npy",
    "ldots/out/secret.npy",
    "a/back.npy",
    "labsolute.npy",
    "lpasswd.npy",
    "lfolder/secret.npy",
    "{tree}/out/secret.npy",
    "{tree}/in/../out/secret.npy",
    "{tree}/inside/f.npy",
    "{tree}/in/lout/secret.npy",
    "/etc/passwd",
    "/proc/self/cwd/f.npy",
    "/proc/self/root/etc/passwd",
    "/dev/stdin",
]


def contents(folder):
    """Everything in a folder: names, bytes and times."""
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            with open(path, "rb") as file:
                found[path] = file.read(), os.stat(path).st_mtime_ns, os.stat(path).st_ino
    return found


def assert_refused(db, sql, *arguments, path):
    text = error_of(db, sql, *arguments)
    assert "NPYEXT_ROOT" in text and "4242" not in text and "root:" not in text, text
    assert text.startswith(f"npyext: {path}: "), text  # as it was given


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_path_leads_out(connect, tree, path):
    path = path.format(tree=tree)
    before = contents("../out"), contents("../inside"), contents(".")
    for entry_point in (ALL, READONLY):
        db = connect("../d.db", entry_point)
        for function in (*READERS, "npy_paths"):
            assert_refused(db, f"SELECT * FROM {function}(?)", path, path=path)
            assert_refused(db, f"SELECT * FROM {function}('{path}')", path=path)  # planned as a literal
            db.execute(f"EXPLAIN QUERY PLAN SELECT * FROM {function}('{path}')").fetchall()
        assert_refused(db, "SELECT * FROM npy_compare(?, 'f.npy')", path, path=path)
        assert_refused(db, "SELECT * FROM npy_compare('f.npy', ?)", path, path=path)
        assert_refused(db, f"CREATE VIRTUAL TABLE t USING npy('{path}')", path=path)
        ((shown, error, *facts),) = db.execute("SELECT path, error, file_size, mtime, shape FROM npy_meta(?)", (json.dumps([path]),))
        assert shown == path and "NPYEXT_ROOT" in error and facts == [None] * 3
        assert db.execute("SELECT * FROM npy_meta(?, 'skip')", (path,)).fetchall() == []
    db = connect()
    files = counters(db)["files_opened"]
    for mode in ("w+", "a"):
        db.execute("DROP TABLE IF EXISTS t")
        try:
            db.execute(f"CREATE VIRTUAL TABLE temp.t USING npy('{path}', mode='{mode}', dtype='i8')")
        except sqlite3.OperationalError as error:
            assert mode == "a" and "NPYEXT_ROOT" in str(error)
        else:
            assert_refused(db, "INSERT INTO t VALUES (1)", path=path)
    assert_refused(db, "SELECT * FROM npy_write(?, ?)", path, npy_bytes(INSIDE), path=path)
    assert counters(db)["files_opened"] == files
    assert (contents("../out"), contents("../inside"), contents(".")) == before


def test_new_files_are_made_inside_alone(connect, tree):
    db = connect()
    for path in ("../out/new.npy", "new.npy", "lout/new.npy", f"{tree}/new.npy", "ldots/new.npy", "lfolder/new.npy"):
        assert_refused(db, "SELECT * FROM npy_write(?, ?)", path, npy_bytes(INSIDE), path=path)
        db.execute(f"CREATE VIRTUAL TABLE temp.t USING npy('{path}', mode='w+', dtype='i8')")
        assert_refused(db, "INSERT INTO t VALUES (1)", path=path)
        db.execute("DROP TABLE t")
    assert sorted(os.listdir("../out")) == ["f.npy", "secret.npy"] and not os.path.exists("../new.npy")
    os.symlink("b/linked.npy", "../in/a/target.npy")
    for path in ("made.npy", "la/made.npy", f"{tree}/in/a/b/made.npy", "a/target.npy"):
        assert db.execute("SELECT path FROM npy_write(?, ?)", (path, npy_bytes(INSIDE))).fetchone() == (path,)
        db.execute(f"CREATE VIRTUAL TABLE temp.t USING npy('{path}', mode='a')")
        db.execute("INSERT INTO t VALUES (3)")
        db.execute("DROP TABLE t")
        assert np.load(os.path.join("../in", path)).tolist() == [0, 1, 2, 3]
    assert os.path.islink("../in/a/target.npy") and os.path.exists("../in/a/b/linked.npy")
    db.execute("CREATE VIRTUAL TABLE temp.z USING npy('la/z.npz', mode='a')")
    for name in ("x", "y"):
        db.execute("INSERT INTO z VALUES (?, ?)", (name, npy_bytes(INSIDE)))
    assert sorted(np.load("../in/a/z.npz")) == ["x", "y"]
    assert sorted(os.listdir(".")) == ["f.npy", "only_here.npy"]


def test_paths_inside(connect, tree):
    db = connect()
    assert debug_of(db)["root"] == str(tree / "in")
    for path in ("f.npy", "./f.npy", "a/../f.npy", "la/f.npy", "lb/../f.npy", "a/up.npy", f"{tree}/in/f.npy", f"{tree}/in//la/f.npy"):
        assert db.execute("SELECT path, shape FROM npy_meta(?)", (path,)).fetchall() == [(path, "[3]")]
        assert db.execute("SELECT count(*) FROM npy_rows(?)", (path,)).fetchone() == (3,)
        assert db.execute("SELECT path, npy_get(array, 2) FROM npy_file(?)", (path,)).fetchall() == [(path, 2)]
    assert "no such file" in error_of(db, "SELECT * FROM npy_meta('only_here.npy')")  # of the current folder
    for folder in ("a", ".", "la", str(tree / "in")):
        assert "is a directory, not a regular file" in error_of(db, "SELECT * FROM npy_meta(?)", folder)
    os.mkfifo("../in/fifo")
    assert "is a FIFO, not a regular file" in error_of(db, "SELECT * FROM npy_meta('fifo')")


def test_patterns(connect, tree):
    db = connect()
    found = lambda pattern: [path for (path,) in db.execute("SELECT path FROM npy_meta(?)", (pattern,))]
    assert found("*.npy") == ["f.npy"]
    assert found("**/*.npy") == found("**") == ["a/b/f.npy", "a/f.npy", "a/up.npy", "f.npy"]
    assert found("*/*.npy") == ["a/f.npy", "a/up.npy", "la/f.npy", "la/up.npy", "lb/f.npy"]
    assert found("l*/*") == ["la/f.npy", "la/up.npy", "lb/f.npy"]
    assert found("*/secret.npy") == found("*/../out/*") == found("[.][.]/*") == found("??/out/*") == []
    assert found("lb/../*/*.npy") == ["lb/../b/f.npy"]
    assert {path.split("/")[0] for path in found("*/../../*/*")} == {"lb"}  # of a/b, so that it stays inside
    assert found(f"{tree}/in/*.npy") == [f"{tree}/in/f.npy"]
    assert found("{f,a/f}.npy") == ["a/f.npy", "f.npy"]
    for pattern in ("../*", "../out/*.npy", "lout/*", "a/lout/**", "ldots/*/*", f"{tree}/*/*.npy", "/etc/*", "/*", "{f,../out/secret}.npy"):
        assert_refused(db, "SELECT * FROM npy_meta(?)", pattern, path=pattern)
    for pattern in ("../{out}/*", "{tree}/in{,/../out}/*.npy".replace("{tree}", str(tree))):
        assert "4242" not in repr(error_of(db, "SELECT * FROM npy_meta(?)", pattern))
    rows = db.execute("SELECT path, shape, error FROM npy_meta(?)", (json.dumps(["f.npy", "lsecret.npy", "a/*.npy", "../out/f.npy"]),)).fetchall()
    assert [row[:2] for row in rows] == [("f.npy", "[3]"), ("lsecret.npy", None), ("a/f.npy", "[3]"), ("a/up.npy", "[3]"), ("../out/f.npy", None)]
    assert all("NPYEXT_ROOT" in error for _, shape, error in rows if shape is None)


def test_handles(connect, tree, monkeypatch):
    monkeypatch.delenv("NPYEXT_ROOT")
    free = connect()
    (foreign,) = free.execute("SELECT array FROM npy_file(?)", (str(tree / "out/secret.npy"),)).fetchone()
    assert free.execute("SELECT npy_get(?, 0)", (foreign,)).fetchone() == (4242,)
    monkeypatch.setenv("NPYEXT_ROOT", str(tree / "in"))
    db = connect()
    (handle,) = db.execute("SELECT array FROM npy_file('a/f.npy')").fetchone()
    forged = handle.replace(b"a/f.npy", b"../out/secret.npy")
    for array in (foreign, forged, foreign[:40] + b"f.npy"):
        assert "npy_file" in error_of(db, "SELECT npy_get(?, 0)", array)
        assert "npy_file" in error_of(db, "SELECT * FROM npy_rows(?)", array)
        assert "npy_file" in error_of(db, "SELECT npy_stack(?)", array)
        assert "npy_file" in error_of(db, "SELECT * FROM npy_write('x.npy', ?)", array)
    # what a handle names leads out by now
    assert db.execute("SELECT npy_get(?, 2)", (handle,)).fetchone() == (2,)
    os.remove("../in/a/f.npy")
    os.symlink("../../out/secret.npy", "../in/a/f.npy")
    assert "NPYEXT_ROOT" in error_of(db, "SELECT npy_get(?, 0)", handle)
    assert "NPYEXT_ROOT" in error_of(db, "SELECT * FROM npy_rows(?)", handle)


def test_the_cache_of_open_files(connect, tree):
    """An open file is held against the file system before it is used again, by way of the root too."""
    db = connect()
    assert db.execute("SELECT sum(value) FROM npy_rows('a/b/f.npy')").fetchone() == (3,)
    os.rename("../in/a/b", "../in/a/c")
    os.symlink("../../out", "../in/a/b")
    assert_refused(db, "SELECT * FROM npy_rows('a/b/f.npy')", path="a/b/f.npy")
    os.remove("../in/a/b")
    os.rename("../in/a/c", "../in/a/b")
    assert db.execute("SELECT sum(value) FROM npy_rows('a/b/f.npy')").fetchone() == (3,)


def test_what_is_outside_cannot_be_told(connect, tree):
    """Not even whether it is there, and of what kind."""
    db = connect()
    os.symlink("../out/nothing", "../in/lnothing.npy")
    pairs = [("../out/f.npy", "../out/nothing"), (f"{tree}/out/f.npy", f"{tree}/nothing"), ("lout/f.npy", "lout/nothing"), ("lsecret.npy", "lnothing.npy")]
    pairs += [("../out", "../nothing"), ("/etc/passwd", "/etc/nothing"), ("lout", "lnothing.npy")]
    for there, not_there in pairs:
        texts = [error_of(db, "SELECT * FROM npy_meta(?)", path).replace(path, "PATH") for path in (there, not_there)]
        assert texts[0] == texts[1]
        texts = [error_of(db, "SELECT * FROM npy_write(?, ?)", path, npy_bytes(INSIDE)).replace(path, "PATH") for path in (there, not_there)]
        assert texts[0] == texts[1]


@pytest.mark.parametrize("path", OUTSIDE)
def test_tables_of_a_database_from_elsewhere(connect, tree, monkeypatch, path):
    """Their declarations are whatever their maker wrote."""
    path = path.format(tree=tree)
    monkeypatch.delenv("NPYEXT_ROOT")
    db = connect("../hostile.db")
    db.execute(f"CREATE VIRTUAL TABLE t USING npy('{tree}/out/secret.npy')")
    db.execute("UPDATE t_npy SET value = ? WHERE name = 'path'", (path,))
    db.execute("CREATE VIEW v AS SELECT * FROM t")
    db.close()
    for entry_point in (ALL, READONLY):
        with monkeypatch.context() as context:
            context.setenv("NPYEXT_ROOT", str(tree / "in"))
            context.setenv("NPYEXT_VIEWS", "1")
            db = connect("../hostile.db", entry_point)
        for sql in ("SELECT * FROM t", "SELECT * FROM v", "SELECT count(*) FROM t", "SELECT * FROM t WHERE rowid = 1"):
            assert_refused(db, sql, path=path)
    db.execute("DROP TABLE t")


def test_a_root_is_read_once(connect, tree, monkeypatch):
    db = connect()
    for folder in ("out", "."):
        monkeypatch.setenv("NPYEXT_ROOT", str(tree / folder))
        assert "no such file" in error_of(db, "SELECT * FROM npy_meta('secret.npy')")
    monkeypatch.delenv("NPYEXT_ROOT")
    for path in ("../out/secret.npy", f"{tree}/out/secret.npy"):
        assert_refused(db, "SELECT * FROM npy_meta(?)", path, path=path)
    assert debug_of(db)["root"] == str(tree / "in")
    free = connect()
    assert debug_of(free)["root"] is None
    monkeypatch.setenv("NPYEXT_ROOT", str(tree / "in"))
    assert free.execute("SELECT shape FROM npy_meta('f.npy')").fetchone() == ("[4242]",)


def test_a_root_stays_the_folder_that_it_was(connect, tree):
    db = connect()
    os.rename("../in", "../moved")
    os.symlink("out", "../in")
    assert db.execute("SELECT shape FROM npy_meta('f.npy')").fetchone() == ("[3]",)
    assert "no such file" in error_of(db, "SELECT * FROM npy_meta('secret.npy')")


@pytest.mark.parametrize("spelling", ["../in", "../lin", "../in/a/../", "{tree}/lin/.", "/"])
def test_spellings_of_a_root(connect, tree, monkeypatch, spelling):
    os.symlink("in", "../lin")
    monkeypatch.setenv("NPYEXT_ROOT", spelling.format(tree=tree))
    db = connect()
    assert debug_of(db)["root"] == ("/" if spelling == "/" else str(tree / "in"))
    assert db.execute("SELECT shape FROM npy_meta(?)", (f"{tree}/in/f.npy",)).fetchone() == ("[3]",)
    if spelling == "/":
        assert db.execute("SELECT shape FROM npy_meta(?)", (f"{tree}/in/lsecret.npy".lstrip("/"),)).fetchone() == ("[4242]",)


def test_names_of_a_root(connect, tmp_path, monkeypatch):
    folder = tmp_path / "a \"b\"\\ \u00e9\n{x} 'y' *"
    put(folder / "f.npy", npy_bytes(INSIDE))
    monkeypatch.setenv("NPYEXT_ROOT", str(folder))
    db = connect()
    assert debug_of(db)["root"] == str(folder)
    assert db.execute("SELECT path FROM npy_meta('*')").fetchone() == ("f.npy",)
    assert db.execute("SELECT shape FROM npy_meta(?)", (str(folder / "f.npy"),)).fetchone() == ("[3]",)
    assert "\n" not in error_of(db, "SELECT * FROM npy_meta('/etc/passwd')")


@pytest.mark.parametrize("entry_point", [ALL, READONLY])
@pytest.mark.parametrize("root, reason", [("{tree}/nowhere", "No such file"), ("{tree}/f.npy", "not a folder"), ("", "is empty"), ("{tree}/f.npy/x", "Not a directory")])
def test_a_root_that_is_none(connect, tree, monkeypatch, entry_point, root, reason):
    """Loading fails: going without would open everything."""
    monkeypatch.setenv("NPYEXT_ROOT", root.format(tree=tree))
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.enable_load_extension(True)
    with pytest.raises(sqlite3.OperationalError, match=f"NPYEXT_ROOT.*{reason}"):
        shell.load(db, entry_point)
    assert modules_of(db) == set() and functions_of(db) == {}
    monkeypatch.setenv("NPYEXT_ROOT", str(tree / "in"))
    shell.load(db, entry_point)
    assert db.execute("SELECT shape FROM npy_meta('f.npy')").fetchone() == ("[3]",)
    db.close()


def test_descriptors_of_roots_are_closed(connect, tree):
    count = lambda: len(os.listdir("/proc/self/fd"))
    before = count()
    for _ in range(20):
        db = shell.connect()
        for path in OUTSIDE[:14] + ["f.npy", "lb/../f.npy", "x"]:
            db.execute("SELECT * FROM npy_meta(?, 'skip')", (path,)).fetchall()
        db.execute("SELECT * FROM npy_meta('**')").fetchall()
        db.close()
    assert count() == before


def test_links_swapped_while_queries_run(connect, tree):
    """Nothing is checked first and opened then: however they are timed, nothing from outside is seen or written."""
    put("../in/d/f.npy", npy_bytes(INSIDE))
    put("../in/g.npy", npy_bytes(INSIDE))
    os.symlink("../out", "../in/swapped")
    os.symlink("../out/secret.npy", "../in/swapped.npy")
    libc, exchange, is_over = ctypes.CDLL(None), 2, threading.Event()
    names = [tuple(os.fsencode(os.path.abspath(f"../in/{name}")) for name in pair) for pair in (("d", "swapped"), ("g.npy", "swapped.npy"))]

    def swap():
        while not is_over.is_set():
            for a, b in names:
                assert libc.renameat2(-100, a, -100, b, exchange) == 0

    swapper = threading.Thread(target=swap)
    before = contents("../out")
    db = connect()
    outcomes = {"seen": 0, "refused": 0, "written": 0}
    statements = [
        ("SELECT path, shape, file_size FROM npy_meta(?, 'raise')", ["d/f.npy", "g.npy", "[d]/f.npy", "*.npy", "**", "*/*.npy", '["g.npy"]']),
        ("SELECT value FROM npy_rows(?)", ["d/f.npy", "g.npy", "d/*", "swapped/f.npy"]),
        ("SELECT path, npy_json(array) FROM npy_file(?)", ["d/f.npy", "g.npy"]),
    ]
    written = npy_bytes(INSIDE)
    swapper.start()
    end = time.monotonic() + 3
    try:
        while time.monotonic() < end or (not all(outcomes.values()) and time.monotonic() < end + 30):
            for sql, sources in statements:
                for source in sources:
                    try:
                        rows = db.execute(sql, (source,)).fetchall()
                        outcomes["seen"] += len(rows) > 0
                        assert "4242" not in repr(rows), rows
                    except sqlite3.OperationalError as error:
                        assert "4242" not in str(error)
                        outcomes["refused"] += "NPYEXT_ROOT" in str(error)
            try:
                db.execute("SELECT * FROM npy_write('d/written.npy', ?)", (written,)).fetchall()
                outcomes["written"] += 1
            except sqlite3.OperationalError:
                pass
    finally:
        is_over.set()
        swapper.join()
    assert all(outcomes.values()), outcomes  # it was a race
    assert contents("../out") == before


# --- without openat2 ---------------------------------------------------------------------------------------


def test_which_way_is_taken():
    """By the kernel where it has openat2; the rerun below, which CI makes, has none."""
    assert not TAKEN_AWAY or not without_openat2.is_there()


@pytest.mark.parametrize("again", [] if TAKEN_AWAY or shell.SAMPLES else ["without openat2"])
def test_part_by_part(again, patience_for):
    patience_for(3 * shell.PATIENCE)
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-c", os.path.join(shell.TESTS, "pytest.ini"), os.path.abspath(__file__)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(os.environ, NPYEXT_TEST_OPENAT2="no", PYTEST_ADDOPTS=""),
        cwd=shell.ROOT,
        text=True,
        timeout=3 * shell.PATIENCE,
    )
    totals = re.search(r"^(\d+) passed, (\d+) failed$", done.stdout, re.M)
    assert done.returncode == 0 and totals, done.stdout[-6000:]
    assert int(totals[1]) > 80 and totals[2] == "0"


def test_operands_are_kept_below_the_root_too(connect, tmp_path, monkeypatch):
    """The labels of npy_stats are a path, or a handle, as a source is."""
    monkeypatch.chdir(tmp_path)
    put("in/x.npy", npy_bytes(np.zeros((4242, 1))))
    put("y.npy", npy_bytes(SECRET))
    refused = "SELECT label FROM npy_stats(?) WHERE by = ?"
    assert "which opens none" in error_of(connect(entry_point=BLOB), refused, npy_bytes(SECRET), "y.npy")
    (handle,) = connect().execute("SELECT array FROM npy_file('y.npy')").fetchone()
    monkeypatch.setenv("NPYEXT_ROOT", str(tmp_path / "in"))
    db = connect()
    for labels in ("../y.npy", str(tmp_path / "y.npy")):
        text = error_of(db, refused, "x.npy", labels)
        assert "NPYEXT_ROOT" in text and "4242" not in text, text
    for sql in (refused, "SELECT label FROM npy_unique(?) WHERE by = ?", "SELECT * FROM npy_nearest(?, '', '', ?)"):
        assert "a handle, but not one that npy_file made on this connection" in error_of(db, sql, "x.npy", handle)
