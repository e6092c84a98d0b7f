"""Defects of tables that write and of aggregates that were found once, and what lies near them, each named for what
went wrong or might."""

import json
import os
import re
import sqlite3
import zipfile

import numpy as np
import pytest

import shell
from arrays import npy_bytes, npz_bytes
from expected import error_of
from formats import npy
from written import contents, make, only

ARCHIVES = ["out.npz", "out.ten"]
OLD, YESTERDAYS = npy_bytes(np.arange(3)), npy_bytes(np.zeros(2, "u1"))


def names_in(db, path):
    return [name for (name,) in db.execute("SELECT name FROM npy_meta(?)", (path,)) if name is not None]


def damaged_array(db):
    """A handle of an array that is told to be damaged when its last bytes are read."""
    damaged = bytearray(npz_bytes({"x": np.arange(200_000)}))
    damaged[1_000_000] ^= 1
    with open("damaged.npz", "wb") as file:
        file.write(damaged)
    return db.execute("SELECT array FROM npy_file('damaged.npz')").fetchone()[0]


# --- an array that fails half way ----------------------------------------------------------------------------


def refuse_damaged(db, name, damaged, conflict=""):
    """Inserts the damaged array: a value that does not fit, which OR IGNORE goes on without."""
    sql = f"INSERT {conflict} INTO out VALUES ('{name}', ?)"
    if conflict == "OR IGNORE":
        total = db.total_changes
        db.execute(sql, (damaged,))
        assert db.total_changes == total
        return
    text = error_of(db, sql, damaged, code=sqlite3.SQLITE_CONSTRAINT)
    assert re.match(r"npyext: out\.\w+: row \d+: the entry's bytes are damaged", text), text


@pytest.mark.parametrize("conflict", ["", "OR IGNORE", "OR FAIL", "OR REPLACE"])
@pytest.mark.parametrize("path", ARCHIVES)
def test_an_array_that_fails_half_way_takes_no_others_with_it(connect, folder, path, conflict):
    """A COMMIT after it published an archive without any."""
    db = connect()
    damaged, array = damaged_array(db), npy_bytes(np.arange(3))
    make(db, path, mode="w+")
    db.execute("BEGIN")
    for name in ("a", "b"):
        db.execute("INSERT INTO out VALUES (?, ?)", (name, array))
    for _ in range(2):
        refuse_damaged(db, "c", damaged, conflict)
    db.execute("INSERT INTO out SELECT 'c', ?", (array,))
    refuse_damaged(db, "d", damaged, conflict)
    db.execute("COMMIT")
    db.execute("DROP TABLE out")
    assert names_in(db, path) == ["a", "b", "c"]
    make(db, path, mode="a")
    db.execute("BEGIN")
    refuse_damaged(db, "x", damaged, conflict)
    db.execute("INSERT INTO out VALUES ('d', ?)", (array,))
    db.execute("COMMIT")
    assert names_in(db, path) == ["a", "b", "c", "d"]
    if path == "out.npz":
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            assert all(archive.read(f"{name}.npy") == array for name in "abcd")
    only(folder, path, "damaged.npz")


def test_an_array_that_fails_half_way_in_an_archive_with_a_comment(connect, folder):
    db = connect()
    damaged = damaged_array(db)
    with zipfile.ZipFile("out.npz", "w") as archive:
        archive.writestr("a.npy", npy_bytes(np.arange(3)))
        archive.comment = b"a comment"
    make(db, "out.npz", mode="a")
    db.execute("BEGIN")
    db.execute("INSERT INTO out VALUES ('b', ?)", (npy_bytes(np.arange(4)),))
    refuse_damaged(db, "c", damaged)
    db.execute("COMMIT")
    with np.load("out.npz") as loaded:
        assert loaded.files == ["a", "b"] and loaded["b"].tolist() == [0, 1, 2, 3]
        assert loaded.zip.comment == b"a comment"


@pytest.mark.parametrize("narrays", [65533, 65534, 65535, 65536])
def test_an_array_that_fails_half_way_where_zip64_begins(connect, folder, narrays):
    """A directory of 65,535 entries has another end than one of fewer."""
    db = connect()
    damaged, array = damaged_array(db), npy_bytes(np.zeros((), "i1"))
    make(db, "out.npz", mode="w+")
    db.execute("BEGIN")
    db.execute(
        "WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT ?) INSERT INTO out SELECT 'n' || i, ? FROM n",
        (narrays, array),
    )
    refuse_damaged(db, "c", damaged)
    db.execute("COMMIT")
    with zipfile.ZipFile("out.npz") as archive:
        assert archive.namelist() == [f"n{i}.npy" for i in range(narrays)]
        assert archive.read(f"n{narrays - 1}.npy") == array
    db.execute("INSERT INTO out VALUES ('last', ?)", (array,))
    with zipfile.ZipFile("out.npz") as archive:
        assert len(archive.namelist()) == narrays + 1 and archive.read("last.npy") == array


def test_a_name_that_reads_as_a_zip64_locator(connect, folder):
    """The archive could not be read again, not by us and not by Python."""
    db = connect()
    name, array = "PK\6\7" + 12 * "a", npy_bytes(np.arange(3))
    with zipfile.ZipFile("python.npz", "w") as archive:
        archive.writestr(name + ".npy", array)
    with pytest.raises(zipfile.BadZipFile):
        zipfile.ZipFile("python.npz")
    make(db, "out.npz", mode="w+")
    insert = "INSERT INTO out VALUES (?, ?)"
    text = error_of(db, insert, name, array, code=sqlite3.SQLITE_CONSTRAINT)
    assert "would be taken for the end of the zip" in text
    for near in (name + "b", name[:-1]):
        db.execute(insert, (near, array))
        with np.load("out.npz") as loaded:
            assert loaded[near].tolist() == [0, 1, 2]


# --- transactions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["out.npy", *ARCHIVES])
def test_a_commit_after_statements_that_failed_replaces_nothing(connect, folder, path):
    """It replaced the file with an empty one."""
    db, is_npy = connect(), path.endswith(".npy")
    with open(path, "wb") as file:
        file.write(OLD)
    make(db, path, mode="w+", **({"dtype": "i4"} if is_npy else {}))
    value = "VALUES ('x')" if is_npy else "VALUES (NULL, NULL)"
    for sql in (f"INSERT INTO out {value}", f"INSERT OR FAIL INTO out {value}", "INSERT INTO out SELECT value, value FROM npy_rows('none.npy')"):
        db.execute("BEGIN")
        with pytest.raises(sqlite3.Error):
            db.execute(sql.replace("value, value", "value") if is_npy else sql)
        db.execute("COMMIT")
        assert contents(path) == OLD
    db.execute("BEGIN")
    db.execute("SAVEPOINT a")
    db.execute("INSERT INTO out " + ("VALUES (1)" if is_npy else "SELECT 'a', npy_array(1)"))
    db.execute("ROLLBACK TO a")
    db.execute("COMMIT")
    assert contents(path) == OLD
    only(folder, path)


@pytest.mark.parametrize("path, mode", [("a.npy", "w+"), ("a.npy", "a"), ("a.npz", "w+"), ("a.npz", "a"), ("none.npy", "w+")])
def test_a_transaction_of_two_files_is_published_whole_or_not_at_all(connect, folder, path, mode):
    """The second one fails after the first one has taken its place."""
    db = connect()
    np.save("a.npy", np.arange(3, dtype="i4"))
    np.savez("a.npz", x=np.arange(3))
    np.save("b.npy", np.arange(4, dtype="i4"))
    before = {name: contents(name) for name in os.listdir(".")}
    is_npy = path.endswith(".npy")
    make(db, path, "a", mode=mode, **({"dtype": "i4"} if mode == "w+" and is_npy else {}))
    make(db, "b.npy", "b", mode="w+", dtype="i4", shape="[2]")
    insert = "INSERT INTO a " + ("VALUES (7)" if is_npy else "SELECT 'y', npy_array(7)")
    for statements in ([insert, "INSERT INTO b VALUES (1)"], ["INSERT INTO b VALUES (1)", insert]):
        db.execute("BEGIN")
        for sql in statements:
            db.execute(sql)
        assert "the shape says 2 rows, and there are 1" in error_of(db, "COMMIT")
        assert not db.in_transaction
        assert {name: contents(name) for name in os.listdir(".")} == before
    db.execute("BEGIN")
    db.execute(insert)
    db.execute("INSERT INTO b VALUES (1), (2)")
    db.execute("COMMIT")
    assert contents("b.npy") == npy_bytes(np.array([1, 2], "i4")) and contents(path) != before.get(path)
    db.execute(insert.replace("'y'", "'z'"))
    only(folder, *{*before, path})


@pytest.mark.parametrize("path", ["out.npy", "out.npz", "out.ten"])
def test_a_file_of_another_table_is_not_adopted(connect, folder, path):
    """Two tables that write the same file: in one transaction the second one is refused, so that neither's rows are lost;
    one that has been replaced since is not added to, and what its table is refused does not touch it."""
    db, is_npy = connect(), path.endswith(".npy")
    for table in "ab":
        db.execute(f"CREATE VIRTUAL TABLE temp.{table} USING npy('{path}', mode='w+'{', dtype=i4' if is_npy else ''})")
    insert = "INSERT INTO {} VALUES ({})" if is_npy else "INSERT INTO {0}(name, array) VALUES ('x{1}', npy_from_json('{1}', 'i4'))"
    db.execute("BEGIN")
    db.execute(insert.format("a", 1))
    assert error_of(db, insert.format("b", 2)) == f"npyext: {path}: is being written to by table a; commit its rows first"
    db.execute("COMMIT")
    assert [value for value, in db.execute("SELECT value FROM npy_rows(?)", (path,))] == [1]
    db.execute(insert.format("b", 2))
    written = contents(path)
    with pytest.raises(sqlite3.Error, match="is no longer as this table wrote it"):
        db.execute(insert.format("a", 3))
    assert contents(path) == written
    db.execute(insert.format("b", 4))
    assert [value for value, in db.execute("SELECT value FROM npy_rows(?)", (path,))] == [2, 4]


@pytest.mark.parametrize("path", ["out.npy", "out.npz", "out.ten"])
def test_an_insert_of_no_rows_leaves_the_old_file(connect, folder, path):
    """Only rows write, also in the transaction that made the table, where SQLite calls no xBegin."""
    db, is_npy = connect(), path.endswith(".npy")
    create = f"CREATE VIRTUAL TABLE temp.out USING npy('{path}', mode='w+'{', dtype=i4' if is_npy else ''})"
    none = "INSERT INTO out SELECT 1 WHERE 0" if is_npy else "INSERT INTO out(name, array) SELECT 'x', NULL WHERE 0"
    row = "INSERT INTO out VALUES (1)" if is_npy else "INSERT INTO out SELECT 'a', npy_array(1)"
    db.execute(create)
    db.execute(none)
    only(folder)

    def ends(*statements):
        db.execute("DROP TABLE out")
        with open(path, "wb") as file:
            file.write(YESTERDAYS)
        for statement in statements:
            db.execute(statement)
        only(folder, path)
        return contents(path)

    assert ends("BEGIN", create, none, "COMMIT") == YESTERDAYS
    assert ends("SAVEPOINT a", create, none, "RELEASE a") == YESTERDAYS
    assert ends("BEGIN", create, none, none, "COMMIT", "BEGIN", none, "COMMIT") == YESTERDAYS
    assert ends("BEGIN", create, "COMMIT") == YESTERDAYS
    assert ends(create) == YESTERDAYS
    assert ends("BEGIN", create, none, "ROLLBACK", create) == YESTERDAYS
    assert ends("BEGIN", create, "SAVEPOINT a", none, "ROLLBACK TO a", "COMMIT") == YESTERDAYS
    assert ends("BEGIN", "SAVEPOINT a", create, none, "ROLLBACK TO a", "COMMIT", create) == YESTERDAYS
    assert ends("BEGIN", create, none, "SAVEPOINT a", none, "ROLLBACK TO a", "COMMIT") == YESTERDAYS
    assert ends("BEGIN", create, "SAVEPOINT a", "SAVEPOINT b", none, "RELEASE b", "ROLLBACK TO a", "COMMIT") == YESTERDAYS
    assert ends("BEGIN", create, none, "DROP TABLE out", "COMMIT", create) == YESTERDAYS
    assert ends("BEGIN", create, "SAVEPOINT a", row, "ROLLBACK TO a", none, "COMMIT") == YESTERDAYS
    assert ends("BEGIN", create, row, "ROLLBACK", create) == YESTERDAYS
    one_row = ends(create, row)
    assert one_row != YESTERDAYS and len(db.execute("SELECT * FROM npy_rows(?)", (path,)).fetchall()) == 1
    assert ends(create, row, none) == one_row  # added to what is there, as if it had not been asked for
    assert ends("BEGIN", create, none, row, none, "COMMIT") == one_row
    assert ends("BEGIN", create, row, "SAVEPOINT a", none, "ROLLBACK TO a", "COMMIT") == one_row


@pytest.mark.parametrize("journal_mode", ["delete", "wal", "memory", "truncate"])
def test_a_commit_that_is_put_off_publishes_nothing(connect, folder, journal_mode):
    """Another connection holds the database: COMMIT is SQLITE_BUSY, and the transaction goes on."""
    db, other = connect("a.db"), sqlite3.connect("a.db", isolation_level=None)
    db.execute("PRAGMA busy_timeout = 0")
    db.execute(f"PRAGMA journal_mode = {journal_mode}")
    db.execute("CREATE TABLE t(x)")
    for path, kind in (("out.npy", {"dtype": "i4"}), ("out.npz", {})):
        with open(path, "wb") as file:
            file.write(OLD)
        make(db, path, mode="w+", **kind)
        insert = "INSERT INTO out VALUES (?)" if kind else "INSERT INTO out SELECT 'n' || ?, npy_array(1)"
        db.execute("BEGIN")
        db.execute("INSERT INTO t VALUES (1)")
        db.execute(insert, (1,))
        other.execute("BEGIN")
        other.execute("SELECT * FROM t").fetchall()
        if journal_mode == "wal":  # where readers hold nobody up
            db.execute("COMMIT")
            db.execute(insert, (2,))
        else:
            for number in (2, 3):
                with pytest.raises(sqlite3.OperationalError, match="locked"):
                    db.execute("COMMIT")
                assert db.in_transaction and contents(path) == OLD
                if number == 2:
                    db.execute(insert, (2,))
        other.execute("COMMIT")
        if db.in_transaction:
            db.execute("COMMIT")
        if kind:
            assert contents(path) == npy_bytes(np.array([1, 2], "i4"))
        else:
            assert names_in(db, path) == ["n1", "n2"]
        db.execute("DROP TABLE out")
    other.close()
    assert db.execute("SELECT count(*) FROM t").fetchone() == (2,)


def test_the_outermost_savepoint_is_a_transaction(connect, folder):
    db = connect()
    make(db, mode="w+", dtype="i4")
    db.execute("SAVEPOINT a")
    db.execute("INSERT INTO out VALUES (1)")
    only(folder, pending=["out.npy"])
    db.execute("ROLLBACK TO a")
    only(folder)
    db.execute("INSERT INTO out VALUES (2)")
    db.execute("SAVEPOINT b")
    db.execute("INSERT INTO out VALUES (3)")
    db.execute("RELEASE b")
    only(folder, pending=["out.npy"])
    db.execute("RELEASE a")
    assert contents() == npy_bytes(np.array([2, 3], "i4"))
    db.execute("SAVEPOINT a")
    db.execute("INSERT INTO out VALUES (4)")
    db.execute("ROLLBACK")
    assert contents() == npy_bytes(np.array([2, 3], "i4"))


@pytest.mark.parametrize("store", ["FILE", "MEMORY"])
def test_temporary_tables_wherever_they_are_kept(connect, folder, store):
    db = connect("a.db")
    db.execute(f"PRAGMA temp_store = {store}")
    db.execute("ATTACH 'b.db' AS b")
    db.execute("CREATE TABLE b.t(x)")
    db.execute("CREATE TEMP TABLE u(x)")
    make(db, mode="w+", dtype="i4")
    db.execute("BEGIN")
    for table in ("out", "b.t", "temp.u"):
        db.execute(f"INSERT INTO {table} VALUES (1)")
        db.execute("SAVEPOINT a")
        db.execute(f"INSERT INTO {table} VALUES (2)")
        db.execute("ROLLBACK TO a")
        db.execute(f"INSERT INTO {table} VALUES (3)")
    db.execute("COMMIT")
    for query in ("SELECT x FROM b.t", "SELECT x FROM temp.u", "SELECT value FROM npy_rows('out.npy')"):
        assert db.execute(query).fetchall() == [(1,), (3,)]
    assert "must be a TEMP table" in error_of(db, "CREATE VIRTUAL TABLE b.o USING npy('x.npy', mode='w+', dtype='i4')")


def test_triggers_that_insert(connect, folder, monkeypatch):
    """They may when NPYEXT_VIEWS says so; each statement's rows stand or fall with it, however deep they came from."""
    script = """
        CREATE TABLE t(x);
        CREATE VIRTUAL TABLE temp.out USING npy('out.npy', mode='w+', dtype='u1');
        PRAGMA recursive_triggers = ON;
        CREATE TEMP TRIGGER first AFTER INSERT ON t BEGIN INSERT INTO out VALUES (new.x); END;
        CREATE TEMP TRIGGER more AFTER INSERT ON t WHEN new.x < 50 BEGIN INSERT INTO t VALUES (new.x + 10); END;"""
    db = connect()
    db.executescript(script)
    if sqlite3.sqlite_version_info >= (3, 40):  # older ones look at what a trigger reads alone
        with pytest.raises(sqlite3.OperationalError, match="unsafe use of virtual table"):
            db.execute("INSERT INTO t VALUES (1)")
        only(folder)
    monkeypatch.setenv("NPYEXT_VIEWS", "1")
    db = connect()
    db.executescript(script)
    db.execute("INSERT INTO t VALUES (5)")
    values = lambda: sorted(np.load("out.npy").tolist())
    assert values() == [5, 15, 25, 35, 45, 55]
    assert "300 does not fit uint8" in error_of(db, "INSERT INTO t VALUES (7), (300)", code=sqlite3.SQLITE_CONSTRAINT)
    assert values() == [5, 15, 25, 35, 45, 55]
    db.execute("INSERT OR IGNORE INTO t VALUES (60), (300), (70)")
    assert values() == [5, 15, 25, 35, 45, 55, 60, 70]


def test_closing_with_a_statement_that_runs(folder):
    db = shell.connect()
    np.save("in.npy", np.arange(10))
    make(db, mode="w+", dtype="i4")
    db.execute("BEGIN")
    db.execute("INSERT INTO out VALUES (1)")
    reading = db.execute("SELECT value FROM npy_rows('in.npy')")
    assert next(reading) == (0,)
    writing = db.execute("INSERT INTO out SELECT value FROM npy_rows('in.npy') RETURNING value")
    assert next(writing) == (0,)
    db.close()
    only(folder, "in.npy")


# --- a file that is read and written -------------------------------------------------------------------------


def test_rows_of_the_file_that_is_replaced_or_added_to(connect, folder):
    db = connect()
    for size in (10, 1_000_000):
        array = np.arange(size, dtype="f8")
        np.save("out.npy", array)
        make(db, mode="w+", dtype="f8")
        db.execute("INSERT INTO out SELECT value * 2 FROM npy_rows('out.npy')")
        db.execute("DROP TABLE out")
        assert contents() == npy_bytes(array * 2)
        make(db, mode="a")
        try:
            db.execute("INSERT INTO out SELECT value FROM npy_rows('out.npy')")
            want = np.concatenate([array * 2, array * 2])
        except sqlite3.OperationalError as error:  # a long read looks whether its file has changed, and it has
            assert "the file changed while it was read" in str(error)
            want = array * 2
        db.execute("DROP TABLE out")
        assert contents() == npy_bytes(want)
    only(folder, "out.npy")


# --- sizes and memory ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [3, 2050, 40000])
def test_long_rows_that_were_added_came_back_mixed(connect, folder, length):
    """The one column `row` was taken for the first item of each row, where leaving out the others seemed worth it."""
    array = np.arange(7 * length, dtype="<i4").reshape(7, length)
    db = connect()
    make(db, mode="w+", dtype="<i4", shape=f"[-1, {length}]")
    db.execute("BEGIN")
    db.executemany("INSERT INTO out VALUES (?)", [(str(row.tolist()),) for row in array])
    for _ in range(2):  # in the transaction, and after it
        rows = [json.loads(row) for (row,) in db.execute("SELECT * FROM out ORDER BY rowid")]
        assert np.array_equal(rows, array)
        db.execute("COMMIT") if db.in_transaction else None
    assert np.array_equal(np.load("out.npy"), array)
    make(db, name="added", mode="a")
    rows = [json.loads(row) for (row,) in db.execute("SELECT * FROM added")]
    assert np.array_equal(rows, array)


def test_rows_of_more_items_than_can_be_counted(connect, folder):
    """Items without bytes made the row's bytes countable, and not its items."""
    db = connect()
    for dtype in ("S0", "V0", "f8"):
        text = error_of(
            db, f"CREATE VIRTUAL TABLE temp.o USING npy('o.npy', mode='w+', dtype='{dtype}', shape='[-1, {2**62}, 8]')"
        )
        assert "a row has more bytes than a value in SQLite may have" in text


def test_more_rows_than_can_be_counted(connect, folder):
    """Of rows without bytes there can be any number, up to what a reader can count."""
    db = connect()
    for descr, shape, message in [
        ("<f8", (2**60 - 2, 0), "the shape needs more than 2^63 - 1 bytes"),
        ("|S0", (2**63 - 2,), "more rows than an array can have"),
    ]:
        with open("rows.npy", "wb") as file:
            file.write(npy(descr, shape, b""))
        make(db, "rows.npy", mode="a")
        value = "'[]'" if len(shape) == 2 else "''"
        db.execute(f"INSERT INTO out VALUES ({value})")
        before = contents("rows.npy")
        with pytest.raises(sqlite3.Error) as raised:
            db.execute(f"INSERT INTO out VALUES ({value})")
        assert message in str(raised.value)
        assert contents("rows.npy") == before
        rows = db.execute("SELECT shape FROM npy_meta('rows.npy')").fetchone()[0]
        assert rows.startswith(f"[{shape[0] + 1}")
        db.execute("DROP TABLE out")


def test_aggregates_where_a_value_has_no_room_for_a_header(connect):
    """They wrote before the beginning of their buffer."""
    db = connect()
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100)
    for call in ("npy_array(1.5)", "npy_array(1)", "npy_array('x')", "npy_stack('[1]')", "npy_records('[[\"a\",\"f8\"]]', 1)"):
        with pytest.raises(sqlite3.DataError) as raised:
            db.execute(f"SELECT {call}").fetchone()
        assert raised.value.sqlite_errorname == "SQLITE_TOOBIG"


@pytest.mark.parametrize("path", ["out.npy", *ARCHIVES])
def test_memory_that_runs_out_anywhere(connect, folder, heap, path):
    """A transaction that says that it failed has changed nothing; the next one succeeds."""
    db, is_npy = connect(), path.endswith(".npy")
    np.save("in.npy", np.arange(100.0))
    insert = "INSERT INTO out VALUES (zeroblob(800))" if is_npy else "INSERT INTO out SELECT 'n' || (SELECT n FROM counted), npy_array(1.5)"
    db.execute("CREATE TABLE counted(n)")
    db.execute("INSERT INTO counted VALUES (0)")
    nfailed = nsucceeded = nbytes = 0
    while nsucceeded < 5:
        if nfailed % 50 == 0:
            db.execute("DROP TABLE IF EXISTS temp.out")
            make(db, path, mode="w+", **({"dtype": "f8", "shape": "[-1, 100]"} if is_npy else {}))
            db.execute("UPDATE counted SET n = n + 1")
            db.execute(insert)
        db.execute("UPDATE counted SET n = n + 1")
        before = contents(path)
        heap(nbytes)
        error = None
        try:
            for sql in ("BEGIN", insert, "COMMIT"):
                db.execute(sql)
        except (MemoryError, sqlite3.OperationalError) as fault:
            error = fault
        heap(None)
        if db.in_transaction:
            db.execute("ROLLBACK")
        nfailed, nsucceeded = nfailed + (error is not None), nsucceeded + (error is None)
        assert error is None or isinstance(error, MemoryError) or "no transaction" in str(error), error
        assert (contents(path) == before) == (error is not None), (nbytes, error)
        nbytes += 16 if nbytes < 8000 else 4001
    assert nfailed > 100
    only(folder, "in.npy", path)
