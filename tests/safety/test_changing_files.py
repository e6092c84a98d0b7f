"""Files that change under their readers: between the header and the data, during a scan, and by our own writers. What
comes is the old contents, or the new ones, or an error; never something else, and never a crash.

Files are changed by a function that the statement itself calls at some row, so that it happens at the same place each
time; and by another thread, so that it happens everywhere.
"""

import faulthandler
import functools
import os
import signal
import sqlite3
import threading
import time

import numpy as np
import pytest

import children
import shell
from arrays import npy_bytes, npz_bytes, ten_bytes

# Rows of f8: several blocks of a scan, and less than one.
LONG, SHORT = 6_000, 50


@pytest.fixture(params=[False, True], ids=["read", "mapped"])
def is_mapped(request, monkeypatch):
    monkeypatch.setenv("NPYEXT_MMAP", "1" if request.param else "0")
    return request.param


@pytest.fixture
def folder(folder, monkeypatch):
    monkeypatch.setenv("NPYEXT_MMAP", "0")  # a test that takes is_mapped after this has its say
    return folder


def write(path, contents):
    with open(path, "wb") as file:
        file.write(contents)


def replace(path, contents):
    write("new", contents)
    os.rename("new", path)


def overwrite(path, contents):
    """In place."""
    with open(path, "r+b") as file:
        file.write(contents)


# Two contents of each kind of file, of the same size.
KINDS = {
    "npy": lambda values: npy_bytes(values),
    "big-endian": lambda values: npy_bytes(values.astype(">f8")),
    "npz": lambda values: npz_bytes({"a": values}),
    "deflated": lambda values: npz_bytes({"a": values}, "deflate"),
    "ten": lambda values: ten_bytes([values]),
}


def old_values(n):
    return np.arange(n) * 1.0


def new_values(n):
    return np.arange(n) + 0.5


# What becomes of the file: (name, whether the bytes that a reader has open change, the change itself).
CHANGES = {
    "unlinked": (False, lambda path, old, new: os.unlink(path)),
    "replaced": (False, lambda path, old, new: replace(path, new)),
    "replaced by less": (False, lambda path, old, new: replace(path, new[: len(new) // 2])),
    "replaced by nothing": (False, lambda path, old, new: replace(path, b"")),
    "replaced by words": (False, lambda path, old, new: replace(path, b"words" * 1000)),
    "replaced by a folder": (False, lambda path, old, new: (os.unlink(path), os.mkdir(path))),
    "replaced by a FIFO": (False, lambda path, old, new: (os.unlink(path), os.mkfifo(path))),
    "appended to": (True, lambda path, old, new: write(path, old + b"more" * 1000)),
    "overwritten": (True, lambda path, old, new: overwrite(path, new)),
    "overwritten by words": (True, lambda path, old, new: overwrite(path, b"words" * 1000)),
    "cut to the header": (True, lambda path, old, new: os.truncate(path, 128)),
    "cut in half": (True, lambda path, old, new: os.truncate(path, len(old) // 2)),
    "cut to nothing": (True, lambda path, old, new: os.truncate(path, 0)),
    "cut and written anew": (True, lambda path, old, new: write(path, new)),
}
# Under a map a file that is cut short ends the process, which is documented.
CUTS = [name for name in CHANGES if "cut" in name or name == "appended to"]
DURING_A_SCAN = [(change, False) for change in CHANGES] + [(change, True) for change in CHANGES if change not in CUTS]
READS = {
    "npy_rows": "SELECT row, value, iif(row = ?, change(), 0) FROM npy_rows('x', 0)",
    "npy_elements": "SELECT idx, value, iif(idx = ?, change(), 0) FROM npy_elements('x', 0)",
    "a typed table": "SELECT rowid, value, iif(rowid = ?, change(), 0) FROM t",
    "lookups": "SELECT r.row, r.value, iif(r.row = ?, change(), 0) FROM (WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT ?) SELECT i FROM n) AS i CROSS JOIN npy_rows('x', 0) AS r ON r.row = i.i",
}


def fetch(execute):
    """The rows up to the end or an error, and the error."""
    rows = []
    try:
        for row in execute():
            rows.append(row[:2])
    except sqlite3.Error as error:
        assert str(error).startswith("npyext: x"), str(error)
        assert error.sqlite_errorcode == sqlite3.SQLITE_ERROR
        return rows, str(error)
    return rows, None


@functools.cache
def contents(kind, n):
    return KINDS[kind](old_values(n)), KINDS[kind](new_values(n))


@functools.cache
def rows_of(values, n):
    return list(enumerate(values(n).tolist()))


def prepare(connect, kind, n):
    old, new = contents(kind, n)
    write("x", old)
    os.utime("x", (1_000_000_000, 1_000_000_000))  # that it changes shows
    db = connect()
    db.execute(f"CREATE VIRTUAL TABLE t USING npy('x'{'' if kind in ('npy', 'big-endian') else ', member=0'})")
    return db, old, new


@pytest.mark.parametrize("change, is_mapped", DURING_A_SCAN, indirect=["is_mapped"])
@pytest.mark.parametrize("kind", KINDS)
def test_during_a_scan(connect, folder, is_mapped, kind, change):
    alters, alter = CHANGES[change]
    for name, sql in READS.items():
        for n in (LONG if name != "lookups" else LONG // 4, SHORT):
            at = 1000 if n > SHORT else 1
            db, old, new = prepare(connect, kind, n)
            done = []
            db.create_function("change", 0, lambda: done.append(bool(alter("x", old, new))))
            rows, error = fetch(lambda: db.execute(sql, (at, n)[: sql.count("?")]))
            assert len(done) == 1 and len(rows) >= at  # the module steps once more before it gives a row
            was, becomes = rows_of(old_values, n), rows_of(new_values, n)
            if not alters:  # the file that is open stays as it was
                assert error is None and rows == was, (name, n, error)
            elif error is None and not is_mapped and name != "lookups":
                assert rows == was, (name, n)
            elif rows != was[: len(rows)]:  # then what was given before the error stood in the file
                assert "overwritten" in change or change == "cut and written anew", (name, n)
                # half a deflated stream goes on into another one: its CRC-32 tells, at the end
                is_told = error is not None and kind == "deflated"
                assert is_told or change == "overwritten by words" or all(r in ab for r, *ab in zip(rows, was, becomes)), (name, n)
            db.close()
            if os.path.isdir("x"):
                os.rmdir("x")
            elif os.path.lexists("x"):
                os.unlink("x")


@pytest.mark.parametrize("first", [KINDS["npz"], lambda values: ten_bytes([values, values])], ids=["npz", "ten"])
def test_an_array_that_does_not_end_the_file(connect, folder, is_mapped, first):
    """Its scan has an end of its own."""
    old, new = first(old_values(LONG)), first(new_values(LONG))
    write("x", old)
    os.utime("x", (1_000_000_000, 1_000_000_000))
    db = connect()
    db.create_function("change", 0, lambda: overwrite("x", new))
    rows, error = fetch(lambda: db.execute("SELECT row, value, iif(row = 1000, change(), 0) FROM npy_rows('x', 0)"))
    assert "changed while it was read" in error and 1000 < len(rows) < LONG


@pytest.mark.parametrize("kind", KINDS)
def test_cut_under_a_map(folder, monkeypatch, kind):
    """It ends in an error, or the process by SIGBUS; nothing else."""
    monkeypatch.setenv("NPYEXT_MMAP", "1")

    def scan_and_cut(change):
        faulthandler.disable()
        db, old, new = prepare(shell.connect, kind, LONG)
        db.create_function("change", 0, lambda: bool(CHANGES[change][1]("x", old, new)))
        rows, error = fetch(lambda: db.execute(READS["npy_rows"], (1000,)))
        assert len(rows) >= 1000 and rows[:1000] == rows_of(old_values, LONG)[:1000]
        assert error is not None or change in ("appended to", "cut and written anew") and len(rows) == LONG

    bus_error = "the process ended with exit code" if shell.SANITIZED else f"ended by signal {signal.SIGBUS:d}"
    for change, outcome in children.run(scan_and_cut, CUTS, 20).items():
        assert outcome is None or outcome.startswith(bus_error), (change, outcome)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", KINDS)
def test_between_planning_and_reading(connect, folder, kind, change):
    """The header was read when the statement was prepared, and by the statements before it."""
    for n in (LONG, SHORT):
        db, old, new = prepare(connect, kind, n)
        assert db.execute("SELECT value FROM npy_rows('x', 0) WHERE row = 3").fetchone() == (3,)
        done = []
        db.create_function("change", 0, lambda: len(done) or done.append(CHANGES[change][1]("x", old, new)))
        sql = "SELECT r.row, r.value, c FROM (SELECT change() IS NULL AS c LIMIT 1) CROSS JOIN npy_rows('x', 0) AS r"
        rows, error = fetch(lambda: db.execute(sql))
        assert done
        if error is None:
            assert rows in (rows_of(new_values, n), rows_of(old_values, n))
            assert change in ("replaced", "overwritten", "cut and written anew", "appended to")
        else:
            assert len(rows) < n
        db.close()
        os.rmdir("x") if os.path.isdir("x") else os.path.lexists("x") and os.unlink("x")


@pytest.mark.parametrize("change", CHANGES)
def test_handles_and_caches(connect, folder, change):
    """A handle made before the change is refused; whatever is asked next sees the file as it is."""
    db, old, new = prepare(connect, "npy", LONG)
    ((handle,),) = db.execute("SELECT array FROM npy_file('x')").fetchall()
    assert db.execute("SELECT npy_get(?, 7)", (handle,)).fetchone() == (7,)
    CHANGES[change][1]("x", old, new)
    with pytest.raises(sqlite3.Error, match="^npyext: "):
        db.execute("SELECT npy_get(?, 7)", (handle,)).fetchall()
    if change in ("replaced", "overwritten", "cut and written anew"):
        assert db.execute("SELECT value FROM npy_rows('x', 0) WHERE row = 7").fetchone() == (7.5,)
        assert db.execute("SELECT sum FROM npy_stats('x', 0)").fetchone() == (new_values(LONG).sum(),)
    os.rmdir("x") if os.path.isdir("x") else None


STATEMENTS = [
    "SELECT count(*), sum(value), min(value) FROM npy_rows('x', 0)",
    "SELECT count, sum, min FROM npy_stats('x', 0)",
    "SELECT max(idx) + 1, sum(value), min(value) FROM npy_elements('x', 0)",
    "SELECT sum(count), NULL, min(lo) FROM npy_histogram('x', 0)",
    "SELECT json_extract(shape, '$[0]'), NULL, NULL FROM npy_meta('x', 'raise')",
    "SELECT npy_size(array), NULL, npy_get(array, 0) FROM npy_file('x')",
    "SELECT count(*), sum(value), min(value) FROM t",
    "SELECT differing, NULL, NULL FROM npy_compare('x', 'old') WHERE differing > 0",
]


@pytest.mark.parametrize("kind", KINDS)
def test_by_another_thread(connect, folder, kind):
    """Replaced, unlinked, cut and made whole again, added to and cut back, as fast as it can."""
    n = 100_000
    old, new = KINDS[kind](old_values(n)), KINDS[kind](new_values(n))
    write("old", old)
    write("x", old)
    db, stop, ntimes = connect(), threading.Event(), [0]
    db.execute(f"CREATE VIRTUAL TABLE t USING npy('x'{'' if kind in ('npy', 'big-endian') else ', member=0'})")

    def disturb():
        generator = np.random.default_rng(3)
        contents = old
        while not stop.is_set():
            ntimes[0] += 1
            match generator.integers(5):
                case 0:
                    contents = new if contents is old else old
                    replace("x", contents)
                case 1:
                    os.unlink("x")
                    write("x", b"")
                    replace("x", contents)
                case 2:
                    os.truncate("x", generator.integers(len(contents)))
                    time.sleep(0.002)
                    overwrite("x", contents)
                case 3:
                    with open("x", "ab") as file:
                        file.write(b"more" * 100)
                    os.truncate("x", len(contents))
                case _:
                    time.sleep(0.02)

    thread = threading.Thread(target=disturb)
    thread.start()
    answers, nerrors = 0, 0
    until = time.monotonic() + 0.7
    expected = {0.0: old_values(n).sum(), 0.5: new_values(n).sum()}
    try:
        while time.monotonic() < until or answers <= 5 or ntimes[0] <= 5:
            for sql in STATEMENTS:
                try:
                    rows = db.execute(sql).fetchall()
                except sqlite3.Error as error:
                    assert str(error).startswith("npyext: x"), (sql, str(error))
                    nerrors += 1
                    continue
                for size, total, least in rows:
                    assert size == n, (sql, rows)
                    assert least in (None, 0.0, 0.5) and (total is None or total == expected[least]), (sql, rows)
                answers += 1
    finally:
        stop.set()
        thread.join()
    replace("x", new)
    for sql in STATEMENTS:
        ((size, total, least),) = db.execute(sql).fetchall()
        assert size == n and total in (None, expected[0.5]) and least in (None, 0.5)


# --- our own writers ---------------------------------------------------------------------------------------


def read_on(cursor, rows):
    """The rest of the rows, or the error that says that the file has changed."""
    more, error = fetch(lambda: cursor)
    assert error is None or "changed while it was read" in error or "directory" in error, error
    return rows + more, error


@pytest.mark.parametrize("kind", ["npy", "npz", "ten"])
@pytest.mark.parametrize("ending", ["COMMIT", "ROLLBACK"])
def test_a_file_that_our_writer_replaces(connect, folder, is_mapped, kind, ending):
    """A reader keeps the old contents whole; one that begins later has the new ones."""
    writer = connect()
    path = f"x.{kind}"
    write(path, KINDS[kind](old_values(LONG)))
    was, becomes = rows_of(old_values, LONG), rows_of(new_values, LONG)
    if kind == "npy":
        writer.execute("CREATE VIRTUAL TABLE temp.out USING npy('x.npy', mode='w+', dtype='f8')")
        rows = [(value,) for value in new_values(LONG).tolist()]
        insert = "INSERT INTO out VALUES (?)"
    else:
        writer.execute(f"CREATE VIRTUAL TABLE temp.out USING npy('{path}', mode='w+')")
        rows = [("a", npy_bytes(new_values(LONG)))]
        insert = "INSERT INTO out VALUES (?, ?)"
    reader = connect()
    sql = f"SELECT row, value FROM npy_rows('{path}')"
    before = reader.execute(sql)
    first = [next(before)]
    writer.execute("BEGIN")
    writer.executemany(insert, rows)
    during = connect().execute(sql)
    assert next(during) == (0, 0.0)
    writer.execute(ending)
    assert read_on(before, first) == (was, None)
    assert read_on(during, [(0, 0.0)]) == (was, None)
    assert reader.execute(sql).fetchall() == (becomes if ending == "COMMIT" else was)


@pytest.mark.parametrize("ending", ["COMMIT", "ROLLBACK"])
def test_a_file_that_our_writer_adds_to(connect, folder, is_mapped, ending):
    """In place: a reader has the old rows, or is told; the rows that are added show when all of them do."""
    writer, reader = connect(), connect()
    write("x.npy", npy_bytes(old_values(LONG)))
    was = rows_of(old_values, LONG)
    writer.execute("CREATE VIRTUAL TABLE temp.out USING npy('x.npy', mode='a')")
    sql = "SELECT row, value FROM npy_rows('x.npy')"
    before = reader.execute(sql)
    first = [next(before)]
    writer.execute("BEGIN")
    writer.executemany("INSERT INTO out VALUES (?)", [(-1.0,)] * LONG)
    during = connect().execute(sql)
    second = [next(during)]
    assert connect().execute("SELECT count(*) FROM npy_rows('x.npy')").fetchone() == (LONG,)
    writer.execute(ending)
    for cursor, rows in [(before, first), (during, second)]:
        rows, error = read_on(cursor, rows)
        assert rows == was[: len(rows)] and (error or len(rows) == LONG)
    added = [(LONG + i, -1.0) for i in range(LONG)] if ending == "COMMIT" else []
    assert reader.execute(sql).fetchall() == was + added


def test_readers_while_our_writer_adds_again_and_again(connect, folder):
    """Every answer is that of some commit."""
    write("x.npy", npy_bytes(np.zeros(0)))
    stop, failures = threading.Event(), []

    def add():
        writer = shell.connect()
        writer.execute("CREATE VIRTUAL TABLE temp.out USING npy('x.npy', mode='a')")
        try:
            for i in range(60):
                if stop.is_set():
                    break
                writer.execute("BEGIN")
                writer.executemany("INSERT INTO out VALUES (?)", [(float(i),)] * 200)
                writer.execute("COMMIT" if i % 3 else "ROLLBACK")
        except sqlite3.Error as error:
            failures.append(str(error))
        writer.close()

    thread = threading.Thread(target=add)
    thread.start()
    db, answers = connect(), 0
    while thread.is_alive() and answers < 2000:
        try:
            count, distinct = db.execute("SELECT count(*), count(DISTINCT value) FROM npy_rows('x.npy')").fetchone()
        except sqlite3.Error as error:
            assert str(error).startswith("npyext: x.npy"), str(error)
            continue
        assert count == 200 * distinct
        answers += 1
    stop.set()
    thread.join()
    assert failures == [] and answers > 0
