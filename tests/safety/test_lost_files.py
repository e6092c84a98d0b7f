"""Files, rows and COMMITs that writers once lost, each named for what was lost; two_writers.py looks for more."""

import gzip
import io
import os
import signal
import sqlite3
import subprocess
import sys
import tarfile
import threading
import time
import zipfile

import numpy as np
import pytest

import crashes
import shell
from arrays import npy_bytes, npz_bytes, seeded_generator, ten_bytes
from expected import error_of
from written import contents, make, only

ARRAY = npy_bytes(np.arange(3, dtype="i4"))


def put(path, bytes_):
    with open(path, "wb") as file:
        file.write(bytes_)


# --- what is replaced ----------------------------------------------------------------------------------------


def tar_bytes(members):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return packed.getvalue()


def database_bytes():
    sqlite3.connect("made.db").executescript("CREATE TABLE t(x); INSERT INTO t VALUES (1);")
    database = contents("made.db")
    os.remove("made.db")
    return database


NO_ARRAYS = {
    "results.db": (database_bytes, "is an SQLite database, which is not replaced; remove it first"),
    "table.csv": (lambda: b"a,b\n1,2\n", "is plain text, which is not replaced; remove it first"),
    "x.npy.gz": (lambda: gzip.compress(ARRAY), "is gzip-compressed data, which is not replaced; remove it first"),
    "shard": (lambda: tar_bytes([("a.npy", ARRAY)]), "is a tar archive, which is not replaced; remove it first"),
    "blob": (
        lambda: b"\x01\xfe\x02\xfd\x03" * 9,
        "is not an array file (it begins with the bytes 01 FE 02 FD), and is not replaced; remove it first",
    ),
    "short": (lambda: b"\x93", "is not an array file (it begins with the byte 93), and is not replaced; remove it first"),
}


@pytest.mark.parametrize("path", NO_ARRAYS)
def test_a_database_or_a_csv_is_not_replaced(connect, folder, path):
    db, (make_it, message) = connect(), NO_ARRAYS[path]
    before = make_it()
    put(path, before)
    make(db, path, mode="w+", dtype="i4")
    for sql, *parameters in [
        ("SELECT * FROM npy_write(?, npy_from_json('[1]'))", path),
        ("INSERT INTO out VALUES (1)",),
        ("INSERT OR IGNORE INTO out SELECT value FROM json_each('[1, 2]')",),
    ]:
        assert error_of(db, sql, *parameters) == f"npyext: {path}: {message}"
        assert contents(path) == before
    only(folder, path)
    os.remove(path)
    db.execute("INSERT INTO out VALUES (1)")
    assert contents(path) == npy_bytes(np.array([1], "i4"))


@pytest.mark.parametrize("name", ["empty", "npy", "npz", "empty npz", "ten", "damaged npy"])
def test_array_files_and_empty_ones_are_replaced(connect, folder, name):
    db = connect()
    before = {
        "empty": b"",
        "npy": ARRAY,
        "npz": npz_bytes({"x": np.arange(3)}),
        "empty npz": npz_bytes({}),
        "ten": ten_bytes([np.arange(3)]),
        "damaged npy": ARRAY[:20],
    }[name]
    for statement in ("SELECT * FROM npy_write('x', npy_from_json('[1]', 'i4'))", "INSERT INTO out VALUES (1)"):
        put("x", before)
        if "INSERT" in statement:
            make(db, "x", mode="w+", dtype="i4")
        db.execute(statement).fetchall()
        assert contents("x") == npy_bytes(np.array([1], "i4"))


@pytest.mark.parametrize("with_database", [False, True])
def test_a_csv_that_comes_before_the_commit_is_not_replaced(connect, folder, with_database):
    """Nor is anything else that was not seen."""
    db = connect("a.db")
    db.execute("CREATE TABLE t(x)")
    for first in (None, ARRAY):
        if first is not None:
            put("out.npy", first)
        make(db, mode="w+", dtype="i4")
        db.execute("BEGIN")
        db.execute("INSERT INTO out VALUES (1)")
        if with_database:
            db.execute("INSERT INTO t VALUES (1)")
        put("new", b"a,b\n1,2\n")
        os.replace("new", "out.npy")
        assert "out.npy: was changed or replaced by another program while it was written to" in error_of(db, "COMMIT")
        assert contents() == b"a,b\n1,2\n" and db.execute("SELECT count(*) FROM t").fetchone() == (0,)
        only(folder, "out.npy", "a.db")
        os.remove("out.npy")
        db.execute("DROP TABLE out")


def test_nothing_around_a_zip_is_dropped(connect, folder):
    """Mode 'a' copied the arrays and left the rest: of a .pyc of 29,787 bytes 256 remained."""
    db, rng = connect(), seeded_generator()
    packed = npz_bytes({"a": np.arange(5), "b": np.arange(3)})
    noise = rng.integers(0, 256, 5000, "u1").tobytes()
    database = database_bytes()
    cases = {
        "tail": packed + b"what stands after",
        "prefix": b"#!/bin/sh\n" + packed,
        "two": packed + npz_bytes({"c": np.arange(2)}),
        "tar": tar_bytes([("1.npz", packed), ("2.npz", packed)]),
        "database": database[:-len(packed) - 100] + packed + bytes(100),
        "noise": noise + packed,
        "pyc": b"\xa7\r\r\n\0\0\0\0" + noise + npz_bytes({}),
        "truncated": packed[:-1],
        "empty with a comment": npz_bytes({})[:-2] + b"\7\0comment",
        "none of its entries": packed[:100] + npz_bytes({})[:16] + (100).to_bytes(4, "little") + b"\0\0",
    }
    for label, before in cases.items():
        put("out.npz", before)
        with pytest.raises(sqlite3.OperationalError, match="^npyext: out.npz: "):
            make(db, "out.npz", mode="a")
            db.execute("INSERT INTO out SELECT 'new', npy_array(1)")
        assert contents("out.npz") == before, label
        db.execute("DROP TABLE IF EXISTS out")
        only(folder, "out.npz")


def test_what_a_zip_holds_besides_its_entries_stays(connect, folder):
    """Bytes between entries, as programs leave that take entries out, and the comment."""
    db = connect()
    with zipfile.ZipFile("out.npz", "w") as archive:
        archive.writestr("a.npy", ARRAY)
        archive.fp.write(b"PK\3\4 of an entry that was taken out")
        archive.start_dir = archive.fp.tell()
        archive.writestr("b.npy", ARRAY)
        archive.comment = b"a comment"
    before = contents("out.npz")
    make(db, "out.npz", mode="a")
    db.execute("INSERT INTO out SELECT 'new', ?", (ARRAY,))
    after = contents("out.npz")
    directory_off = before.index(b"PK\1\2")
    assert after[:directory_off] == before[:directory_off] and b"of an entry that was taken out" in after
    with zipfile.ZipFile("out.npz") as archive:
        assert archive.testzip() is None and archive.comment == b"a comment"
        assert [archive.read(name) for name in ("a.npy", "b.npy", "new.npy")] == [ARRAY] * 3


# --- what lies after the last item --------------------------------------------------------------------------

TAILS = [b"x", b"no array, but of somebody", bytes(100), b"\x93NUM", b"tail" * 100_000]


@pytest.mark.parametrize("tail", TAILS, ids=len)
def test_bytes_after_the_last_item_stay_until_the_commit(connect, folder, tail):
    """A file was cut at BEGIN: ROLLBACK, or an INSERT that failed, left it without them."""
    array, before = np.arange(1000, dtype="i4"), npy_bytes(np.arange(1000, dtype="i4")) + tail
    put("out.npy", before)
    os.utime("out.npy", (1, 1))
    db = connect()
    make(db, mode="a")
    db.execute("BEGIN")
    db.execute("INSERT INTO out VALUES (1)")
    assert contents() == before
    db.execute("INSERT INTO out SELECT 2 FROM npy_rows('out.npy'), npy_rows('out.npy')")  # 4 MB
    assert contents() == before
    db.execute("ROLLBACK")
    assert contents() == before
    error_of(db, "INSERT INTO out VALUES (1), ('x')", code=sqlite3.SQLITE_CONSTRAINT)
    db.execute("INSERT INTO out SELECT 1 WHERE 0")
    assert contents() == before and os.stat("out.npy").st_mtime == 1
    child = os.fork()
    if child == 0:
        own = shell.connect()
        make(own, mode="a")
        own.execute("BEGIN")
        own.execute("INSERT INTO out SELECT 2 FROM npy_rows('out.npy'), npy_rows('out.npy')")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert contents() == before
    db.execute("INSERT INTO out VALUES (7)")
    assert contents() == npy_bytes(np.append(array, np.int32(7)))
    only(folder, "out.npy")


def test_an_array_after_the_first_is_not_written_over(connect, folder):
    """Several arrays saved one after the other into one file, as numpy.save documents."""
    with open("out.npy", "wb") as file:
        for first in range(3):
            np.save(file, np.arange(first, first + 4))
    before, db = contents(), connect()
    make(db, mode="a")
    for sql in ("INSERT INTO out VALUES (1)", "BEGIN; INSERT INTO out VALUES (1); COMMIT"):
        with pytest.raises(sqlite3.OperationalError, match="another array begins where this one ends .byte 160."):
            db.executescript(sql)
    if db.in_transaction:
        db.execute("ROLLBACK")
    assert contents() == before
    only(folder, "out.npy")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    started = crashes.Server(str(tmp_path_factory.mktemp("server")))
    yield started
    started.close()


def test_bytes_after_the_last_item_outlive_a_writer_that_is_killed(server, tmp_path):
    """Before every call that changes a file, and in the middle of writes: the file is as before, or has the rows."""
    form, found = crashes.FORMS["a npy"], set()
    items = lambda states: npy_bytes(
        np.frombuffer(b"".join(row for state in states for row in crashes.rows_of(state)), "<f8").reshape(-1, crashes.NCOLUMNS)
    )
    before, after = items([0]) + b"after", items([0, 1])
    for action in ("kill", "tear"):
        for at in range(1, 100):
            path = tmp_path / f"{action}{at}" / form.path
            path.parent.mkdir()
            path.write_bytes(before)
            outcome = server.run("write", "a npy", path.parent, 1, 1, "pwrite" if action == "tear" else "", at, action)
            found.add(path.read_bytes() == after)
            assert path.read_bytes() in (before, after), (action, at)
            if outcome["end"] == 0:
                break
        assert outcome["end"] == 0 and path.read_bytes() == after
    assert found == {False, True}


# --- COMMITs -------------------------------------------------------------------------------------------------


def test_a_commit_refused_by_a_shape_ends_the_transaction(connect, folder):
    """SQLite rolls back all of it, the database's part too; reference.md said that it stayed open, which is so when a
    foreign key refuses it."""
    db = connect("a.db")
    db.executescript("PRAGMA foreign_keys = ON; CREATE TABLE t(x); CREATE TABLE a(x PRIMARY KEY)")
    db.execute("CREATE TABLE b(x REFERENCES a DEFERRABLE INITIALLY DEFERRED)")
    put("out.npy", ARRAY)
    make(db, mode="w+", dtype="i4", shape="[3]")
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES (1)")
    db.execute("INSERT INTO out VALUES (1), (2)")
    assert "the shape says 3 rows, and there are 2" in error_of(db, "COMMIT")
    assert not db.in_transaction and contents() == ARRAY
    assert db.execute("SELECT count(*) FROM t").fetchone() == (0,)
    db.execute("BEGIN")
    db.execute("INSERT INTO out VALUES (5), (6), (7)")  # which are all there are
    db.execute("INSERT INTO b VALUES (1)")
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        db.execute("COMMIT")
    assert db.in_transaction and contents() == ARRAY
    db.execute("DELETE FROM b")
    db.execute("COMMIT")
    assert contents() == npy_bytes(np.array([5, 6, 7], "i4"))
    only(folder, "out.npy", "a.db")


@pytest.mark.parametrize("suffix", ["npy", "npz", "ten"])
def test_of_two_tables_of_one_path_one_writes_at_a_time(connect, folder, suffix):
    """What the second one had replaced, the first one's file, stayed after a ROLLBACK, and the original was gone."""
    db, path, is_npy = connect(), f"out.{suffix}", suffix == "npy"
    put(path, {"npy": ARRAY, "npz": npz_bytes({}), "ten": b""}[suffix])
    before = contents(path)
    for table in "ab":
        make(db, path, table, mode="w+", **({"dtype": "i4"} if is_npy else {}))
    make(db, "c.npy", "c", mode="w+", dtype="i4", shape="[2]")
    insert = "INSERT INTO {} VALUES ({})" if is_npy else "INSERT INTO {0} SELECT 'x{1}', npy_array({1}, 'i4')"
    for first, second in ("ab", "ba"):
        db.execute("BEGIN")
        db.execute(insert.format(first, 1))
        assert error_of(db, insert.format(second, 1)) == f"npyext: {path}: is being written to by table {first}; commit its rows first"
        db.execute("INSERT INTO c VALUES (1)")
        assert "the shape says 2 rows" in error_of(db, "COMMIT")
        assert contents(path) == before
        only(folder, path)
    for table, value in (("a", 1), ("b", 2)):
        db.execute(insert.format(table, value))
    assert [value for value, in db.execute("SELECT value FROM npy_rows(?)", (path,))] == [2]
    only(folder, path)


def test_a_table_is_refused_while_a_commit_of_its_path_is_put_off(connect, folder):
    """It does not wait for its own connection."""
    db, other = connect("a.db"), sqlite3.connect("a.db", isolation_level=None)
    db.execute("PRAGMA busy_timeout = 0")
    db.execute("CREATE TABLE t(x)")
    put("out.npy", ARRAY)
    for table in "ab":
        make(db, "out.npy", table, mode="w+", dtype="i4")
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES (1)")
    db.execute("INSERT INTO a VALUES (1)")
    other.execute("BEGIN")
    other.execute("SELECT * FROM t").fetchall()
    for value in (2, 3):
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            db.execute("COMMIT")
        assert contents() == ARRAY
        assert "is being written to by table a" in error_of(db, "INSERT INTO b VALUES (9)")
        db.execute("INSERT INTO a VALUES (?)", (value,))
    other.execute("COMMIT")
    db.execute("COMMIT")
    assert np.load("out.npy").tolist() == [1, 2, 3]
    other.close()
    only(folder, "out.npy", "a.db")


class PutOff:
    """A transaction whose COMMIT waits for a database that another connection reads."""

    def __init__(self, connect):
        self.db, self.other = connect("a.db"), sqlite3.connect("a.db", isolation_level=None)
        self.db.execute("PRAGMA busy_timeout = 0")
        self.db.execute("CREATE TABLE t(x)")
        make(self.db, mode="w+", dtype="i4")
        self.db.execute("BEGIN")
        self.db.execute("INSERT INTO t VALUES (1)")
        self.db.execute("INSERT INTO out VALUES (1)")
        self.other.execute("BEGIN")
        self.other.execute("SELECT * FROM t").fetchall()
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            self.db.execute("COMMIT")

    def end(self, how):
        self.other.execute("COMMIT")
        self.other.close()
        self.db.execute(how)


def write_in_thread(sql, told):
    def work():
        db = shell.connect()
        try:
            db.execute(sql).fetchall()
            told.append(None)
        except sqlite3.Error as error:
            told.append(str(error))
        db.close()

    thread = threading.Thread(target=work)
    thread.start()
    return thread


@pytest.mark.parametrize("how", ["COMMIT", "ROLLBACK"])
def test_a_commit_that_is_put_off_keeps_its_place(connect, folder, how):
    """Another writer waits until its transaction has ended, also while it goes on; neither COMMIT is lost."""
    put("out.npy", ARRAY)
    waiting, told = PutOff(connect), []
    thread = write_in_thread("SELECT * FROM npy_write('out.npy', npy_from_json('[9]', 'i4'))", told)
    time.sleep(0.3)
    waiting.db.execute("INSERT INTO out VALUES (2)")
    time.sleep(0.3)
    assert told == [] and contents() == ARRAY
    waiting.end(how)
    thread.join()
    assert told == [None]
    assert np.load("out.npy").tolist() == [9]
    assert waiting.db.execute("SELECT count(*) FROM t").fetchone() == (int(how == "COMMIT"),)
    only(folder, "out.npy", "a.db")


def test_who_waits_for_a_writer_can_be_interrupted(connect, folder):
    put("out.npy", ARRAY)
    waiting = PutOff(connect)
    interrupted = shell.connect()
    deadline = time.monotonic() + 0.3
    interrupted.set_progress_handler(lambda: time.monotonic() > deadline, 1)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        interrupted.execute("SELECT * FROM npy_write('out.npy', npy_from_json('[8]', 'i4'))").fetchall()
    waiting.end("COMMIT")
    assert np.load("out.npy").tolist() == [1]
    only(folder, "out.npy", "a.db")


@pytest.mark.parametrize("seconds", [] if shell.SAMPLES else [10])  # which a process waits with nothing to do
def test_who_waits_for_a_writer_gives_up(connect, folder, seconds):
    put("out.npy", ARRAY)
    waiting, told = PutOff(connect), []
    thread = write_in_thread("SELECT * FROM npy_write('out.npy', npy_from_json('[9]', 'i4'))", told)
    thread.join(shell.PATIENCE)
    assert told == ["npyext: out.npy: is being published by another writer, who has not ended within %d seconds" % seconds]
    waiting.end("COMMIT")
    assert np.load("out.npy").tolist() == [1]
    only(folder, "out.npy", "a.db")


# --- waste ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", crashes.FORMS)
def test_names_of_crashed_writers_are_not_looked_for_one_by_one(server, tmp_path, name):
    """Each of 32 was opened for every file that was."""
    form, ntransactions = crashes.FORMS[name], 4
    (tmp_path / form.path).write_bytes({"npy": ARRAY, "npz": npz_bytes({}), "ten": b""}[form.path[-3:]])
    if name == "a npy":
        (tmp_path / form.path).write_bytes(npy_bytes(np.zeros((1, crashes.NCOLUMNS))))
    outcome = server.run("write", name, tmp_path, 1, ntransactions, "openat", 0)
    assert outcome["end"] == 0 and outcome["reports"][-2] == ["done", ntransactions], outcome
    nopened = outcome["reports"][-1][1]
    # the new file, what it replaces (twice), the lock, notes for r+, and what the first transaction sweeps
    assert ntransactions <= nopened <= 7 * ntransactions, outcome


# --- many writers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [[], ["--writers", "7", "--delay-ms", "0"], ["--mix"]], ids=["delays", "no delays", "mix"])
def test_two_writers_of_one_path(tmp_path, patience_for, options):
    """See two_writers.py; NPYEXT_WRITERS_SECONDS is 3 to 8 in CI, and `make two-writers SECONDS=...` is for longer."""
    seconds = os.environ.get("NPYEXT_WRITERS_SECONDS", "2")
    patience_for(60 + int(seconds) + shell.PATIENCE)
    done = subprocess.run(
        [sys.executable, "-B", os.path.join(shell.TESTS, "safety", "two_writers.py"), seconds, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(os.environ, TMPDIR=str(tmp_path)),
    )
    output = done.stdout.decode("utf-8", "backslashreplace")
    assert done.returncode == 0 and output.endswith(" passed, 0 failed\n"), output[-8000:]
