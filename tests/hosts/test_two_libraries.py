"""Two SQLite libraries in one process, as sqlite3 and apsw in a notebook: a copy of the one that Python has is another
library to the loader, with routines and variables of its own."""

import ctypes
import os
import re
import shutil
import sqlite3
import threading

import numpy as np
import pytest

import shell

OK, ROW, OPEN_FLAGS = 0, 100, 6


def path_of_library():
    """The file of the SQLite that this Python's sqlite3 is linked with."""
    import _sqlite3  # noqa: F401  (loads it)

    with open("/proc/self/maps") as maps:
        paths = {line.split()[-1] for line in maps if re.search(r"/libsqlite3\.so[.\d]*$", line)}
    return sorted(paths)[0]


class Library:
    """What these tests need of a SQLite library that nobody else uses."""

    def __init__(self, path):
        self.calls = ctypes.CDLL(path)
        self.calls.sqlite3_column_text.restype = ctypes.c_char_p
        self.calls.sqlite3_errmsg.restype = ctypes.c_char_p
        self.calls.sqlite3_memory_used.restype = ctypes.c_int64

    def connect(self):
        db = ctypes.c_void_p()
        assert self.calls.sqlite3_open_v2(b":memory:", ctypes.byref(db), OPEN_FLAGS, None) == OK
        self.calls.sqlite3_enable_load_extension(db, 1)
        return db

    def load(self, db, path=shell.EXTENSION):
        message = ctypes.c_char_p()
        code = self.calls.sqlite3_load_extension(db, path.encode(), None, ctypes.byref(message))
        return "ok" if code == OK else message.value.decode()

    def one(self, db, sql):
        """The first column of the first row, or the error."""
        statement = ctypes.c_void_p()
        code = self.calls.sqlite3_prepare_v2(db, sql.encode(), -1, ctypes.byref(statement), None)
        if code == OK:
            code = self.calls.sqlite3_step(statement)
        text = self.calls.sqlite3_column_text(statement, 0) if code == ROW else self.calls.sqlite3_errmsg(db)
        self.calls.sqlite3_finalize(statement)
        return text.decode()

    def close(self, db):
        assert self.calls.sqlite3_close(db) == OK


@pytest.fixture
def other(tmp_path):
    copy = tmp_path / "libsqlite3-other.so"
    shutil.copyfile(path_of_library(), copy)
    return Library(str(copy))


def test_the_second_library_took_the_routines_of_the_first(connect, other, tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6.0).reshape(2, 3))
    sql = f"SELECT group_concat(value, ';') FROM npy_rows('{tmp_path}/x.npy')"
    rows = "[0.0,1.0,2.0];[3.0,4.0,5.0]"
    first = connect()
    assert first.execute(sql).fetchone() == (rows,)
    second = other.connect()
    assert other.load(second) == "ok"
    for _ in range(3):
        assert other.one(second, sql) == rows
        assert first.execute(sql).fetchone() == (rows,)
    # Memory of the one's rows is counted by the one's library: two copies of one release forgive a mix-up otherwise.
    used = [library.calls.sqlite3_memory_used() for library in (Library(path_of_library()), other)]
    rows_of_first = first.execute(sql.replace("group_concat(value, ';')", "value"))
    assert rows_of_first.fetchone() == ("[0.0,1.0,2.0]",)
    used_then = [library.calls.sqlite3_memory_used() for library in (Library(path_of_library()), other)]
    assert used_then[0] - used[0] > 16 << 10 and used_then[1] == used[1]
    rows_of_first.close()
    third = other.connect()
    assert other.load(third) == "ok" and other.one(third, sql) == rows
    # Both write, and each has its transactions.
    first.execute(f"CREATE VIRTUAL TABLE temp.t USING npy('{tmp_path}/y.npy', mode='w+', dtype='i4')")
    first.execute("BEGIN")
    first.execute("INSERT INTO t VALUES (7)")
    assert other.one(second, f"SELECT bytes FROM npy_write('{tmp_path}/z.npy', npy_from_json('[1,2]', 'i1'))") == "130"
    first.execute("COMMIT")
    assert np.load(tmp_path / "y.npy").tolist() == [7] and np.load(tmp_path / "z.npy").tolist() == [1, 2]
    # What one counts is not the other's.
    assert other.one(second, "SELECT npyext_counters() ->> 'files_opened'") != "0"
    other.close(second)
    assert first.execute(sql).fetchone() == (rows,)
    assert other.one(third, sql) == rows
    other.close(third)


def test_both_libraries_load_at_once(other, connect):
    """Both load at the same time, again and again."""
    failures = []

    def by_other():
        for _ in range(20):
            db = other.connect()
            if other.load(db) != "ok" or other.one(db, "SELECT npy_shape(npy_from_json('[1,2]'))") != "[2]":
                failures.append("other")
            other.close(db)

    thread = threading.Thread(target=by_other)
    thread.start()
    for _ in range(20):
        db = shell.connect()
        assert db.execute("SELECT npy_shape(npy_from_json('[1,2]'))").fetchone() == ("[2]",)
        db.close()
    thread.join()
    assert not failures


def test_a_copy_that_cannot_be_made_is_an_error_to_act_on(tmp_path, connect, other):
    """The file is gone: the first library goes on, the second is told what to do, and that works."""
    gone, elsewhere = tmp_path / "npyext.so", tmp_path / "npyext2.so"
    shutil.copyfile(shell.EXTENSION, gone)
    shutil.copyfile(shell.EXTENSION, elsewhere)
    first = sqlite3.connect(":memory:")
    first.enable_load_extension(True)
    first.load_extension(str(gone))
    (tmp_path / "moved").mkdir()
    os.rename(gone, tmp_path / "moved" / "npyext.so")  # dlopen still knows it by its inode
    second = other.connect()
    message = other.load(second, str(tmp_path / "moved" / "npyext.so"))
    assert "another SQLite library in this process" in message and f"cp {gone} npyext2.so" in message
    assert first.execute("SELECT npy_ndim(npy_from_json('[[1]]'))").fetchone() == (2,)
    assert other.load(second, str(elsewhere)) == "ok"
    assert other.one(second, "SELECT npy_ndim(npy_from_json('[[1]]'))") == "2"
    other.close(second)
    first.close()
