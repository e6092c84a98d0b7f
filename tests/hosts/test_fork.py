"""A child process that has a copy of a connection: it may end, and close what it has, and nothing of the parent's is
touched or waited for. Nothing else may be done with the copy, as SQLite says of every connection."""

import os
import signal
import sqlite3

import numpy as np
import pytest

from arrays import npy_bytes
from expected import error_of

SECONDS = 20
# Of a file that is large enough for another thread to read ahead, also when a third has been read.
NROWS = 900_000


def in_a_child(work):
    """Runs the work in a forked process and waits; -> what the work returned, as text."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        try:
            os.write(writer, str(work()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as said:
        text = said.read().decode()
    _, status = os.waitpid(child, 0)
    assert os.WIFEXITED(status), f"the child ended by signal {os.WTERMSIG(status)}"
    return text


def closing(db, cursor=None):
    """What a child does that ends in Python's way: its objects go."""

    def close():
        if cursor is not None:
            cursor.close()
        db.close()
        return "closed"

    return close


ENDS = {"exits": lambda db, cursor: lambda: "", "closes": closing}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("mode", ["w+", "a"])
@pytest.mark.parametrize("name", ["out.npy", "out.npz"])
def test_a_table_that_writes(connect, folder, name, mode, end):
    db = connect()
    row = {"npy": "VALUES (7)", "npz": "VALUES ('n%d', npy_from_json('[1, 2]', '<i8'))"}[name[-3:]]
    declare = f"CREATE VIRTUAL TABLE temp.out USING npy('{name}', mode=%s{', dtype=i8' * (name[-3:] == 'npy')})"
    db.execute(declare % "'w+'")
    db.execute("INSERT INTO out " + row.replace("%d", "0"))
    if mode == "a":
        db.execute("DROP TABLE out")
        db.execute((declare % "'a'").replace(", dtype=i8", ""))
    count = lambda: connect().execute(f"SELECT count(*) FROM {'npy_rows' if name[-3:] == 'npy' else 'npz_members'}(?)", (name,)).fetchone()[0]
    before = count()
    db.execute("BEGIN")
    for i in range(1, 5):
        db.execute("INSERT INTO out " + row.replace("%d", str(i)))
    in_a_child(ENDS[end](db, None))
    for i in range(5, 8):
        db.execute("INSERT INTO out " + row.replace("%d", str(i)))
    assert count() == before
    if mode == "a":
        # the lock is the parent's still
        other = connect()
        with pytest.raises(sqlite3.OperationalError, match="written to by another writer"):
            other.execute((declare % "'a'").replace(", dtype=i8", ""))
            other.execute("INSERT INTO out " + row.replace("%d", "99"))
    db.execute("COMMIT")
    assert count() == before + 7
    assert os.listdir(folder) == [name]


def test_a_lock_ends_with_its_writer(connect, folder):
    """Even while a child that was forked in the middle still lives, with copies of all descriptors."""
    db = connect()
    (folder / "x.npy").write_bytes(npy_bytes(np.arange(3)))
    db.execute("CREATE VIRTUAL TABLE temp.out USING npy('x.npy', mode='a')")
    db.execute("BEGIN")
    db.execute("INSERT INTO out VALUES (7)")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writer)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        os.read(reader, 1)  # until the parent has closed its end
        os._exit(0)
    try:
        db.execute("COMMIT")
        other = connect()
        other.execute("CREATE VIRTUAL TABLE temp.out USING npy('x.npy', mode='a')")
        other.execute("INSERT INTO out VALUES (8)")
    finally:
        os.close(writer)
        os.close(reader)
        os.waitpid(child, 0)
    assert db.execute("SELECT group_concat(value) FROM npy_rows('x.npy')").fetchone() == ("0,1,2,7,8",)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("query", ["WHERE value >= 0", "", "WHERE value >= 0 ORDER BY row DESC"])
def test_a_cursor(connect, folder, query, end):
    """Of a file that is large enough for another thread to read ahead, which the child does not have."""
    (folder / "x.npy").write_bytes(npy_bytes(np.arange(NROWS, dtype="f8")))
    db = connect()
    cursor = db.execute(f"SELECT value FROM npy_rows('x.npy') {query}")
    values = [value for value, in cursor.fetchmany(NROWS // 3)]
    in_a_child(ENDS[end](db, cursor))
    values += [value for value, in cursor.fetchall()]
    assert sorted(values) == list(range(NROWS))


def test_a_copy_reads_on_or_says_why_not(connect, folder):
    (folder / "x.npy").write_bytes(npy_bytes(np.arange(NROWS, dtype="f8")))
    db = connect()
    cursor = db.execute("SELECT value FROM npy_rows('x.npy') WHERE value >= 0")
    assert cursor.fetchone() == (0,)

    def read_on():
        try:
            return sum(1 for _ in cursor) + 1
        except sqlite3.Error as error:
            return error

    said = in_a_child(read_on)
    assert said == str(NROWS) or "child of the process" in said
    assert len(cursor.fetchall()) == NROWS - 1


def test_a_connection_made_before_and_used_after(connect, folder):
    """A child that opens its own connection works, whatever the parent has open."""
    (folder / "x.npy").write_bytes(npy_bytes(np.arange(1000)))
    db = connect()
    cursor = db.execute("SELECT value FROM npy_rows('x.npy')")
    cursor.fetchone()
    assert in_a_child(lambda: connect().execute("SELECT sum(value) FROM npy_rows('x.npy')").fetchone()) == "(499500,)"
    assert error_of(db, "SELECT * FROM npy_rows('none.npy')")
    assert len(cursor.fetchall()) == 999
