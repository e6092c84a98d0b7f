"""npy_concat and npy_calc over files that are wrong, that change, and that are not to be read: errors that can be acted
on, the new contents, never something else."""

import json
import os
import signal
import sqlite3
import struct
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import children
import degenerate
import shell
import tars
from arrays import npy_bytes, npz_bytes, object_npy_bytes, ten_bytes
from expected import counters, error_of
from formats import npy
from safetensors_files import safetensors_bytes

ALL, READONLY, BLOB = "sqlite3_npyext_init", "sqlite3_npyext_readonly_init", "sqlite3_npyext_blob_init"
OLD = 1_000_000_000


def write(path, contents):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(contents)
    os.utime(path, (OLD, OLD))  # that it changes shows


def write_parts(n, length=4, dtype="f8"):
    for i in range(n):
        write(f"x-{i:03}.npy", npy_bytes((np.arange(length) + length * i).astype(dtype)))


# --- errors ------------------------------------------------------------------------------------------------

# What the second of two parts is, and what is said of it.
FAULTS = {
    "another dtype": (npy_bytes(np.arange(4, dtype="f4")), "has dtype float32, and those before it float64; npy_astype converts"),
    "another structure": (npy_bytes(np.zeros(4, "i2,i2")), "has dtype"),
    "more axes": (npy_bytes(np.zeros((4, 1))), "has shape [4, 1], which does not go with [0] along axis 0"),
    "no axes": (npy_bytes(np.float64(1)), "does not go with"),
    "objects": (object_npy_bytes(), "objects"),
    "empty": (b"", "is empty (0 bytes)"),
    "words": (b"words" * 100, "is plain text, not a .npy"),
    "cut header": (npy_bytes(np.arange(4.0))[:50], "truncated"),
    "cut items": (npy_bytes(np.arange(4.0))[:-9], "truncated"),
    "an archive without arrays": (npz_bytes({}), None),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_a_part(db, folder, fault):
    contents, said = FAULTS[fault]
    write("x-0.npy", npy_bytes(np.arange(4.0)))
    write("x-1.npy", contents)
    if said is None:  # it has none to add
        assert db.execute("SELECT npy_json(npy_concat('x-*.npy'))").fetchone() == ("[0.0,1.0,2.0,3.0]",)
        return
    text = error_of(db, "SELECT npy_concat('x-*.npy')")
    assert text.startswith("npyext: npy_concat: x-1.npy: ") and said.split(" with [0]")[0] in text, text
    assert error_of(db, "SELECT * FROM npy_rows(npy_concat('x-*.npy'))") == text


def test_faults_of_the_first_part(db, folder):
    write("x.npy", npy_bytes(np.float64(1)))
    assert error_of(db, "SELECT npy_concat('x.npy')") == "npyext: npy_concat: x.npy: has no dimensions; npy_stack makes an array of such values"
    write("x.npz", npz_bytes({"a": np.arange(3), "b": np.arange(3.0)}))
    assert error_of(db, "SELECT npy_concat('x.npz')") == "npyext: npy_concat: x.npz:b: has dtype float64, and those before it int64; npy_astype converts"
    assert "x.npz: there is no array 'c'" in error_of(db, "SELECT npy_concat('x.npz', 'c')")
    write("y.npz", npz_bytes({"a": np.arange(3)}))
    assert "y.npz: there is no array" in error_of(db, "SELECT npy_concat('[xy].npz', 'b')").replace("has dtype", "there is no array")


def test_arguments(db, folder):
    write_parts(2)
    for call, said in {
        "npy_concat('nothing-*')": "no file matches nothing-*",
        "npy_concat('x-000.npy', '', 1)": "x-000.npy: there is no axis 1: the array has 1",
        "npy_concat('x-000.npy', '', -2)": "x-000.npy: there is no axis -2",
        "npy_concat('x-000.npy', '', 9223372036854775807)": "there is no axis 9223372036854775807: arrays have at most 64",
        "npy_concat('x-000.npy', '', '0')": "the axis must be an INTEGER, such as 0 or -1",
        "npy_concat('x-000.npy', '', 0.5)": "the axis must be an INTEGER, such as 0 or -1",
        "npy_concat('x-000.npy', '', x'00')": "the axis must be an INTEGER, such as 0 or -1",
        "npy_concat('x-000.npy', 1.5)": "member must be an array's name (TEXT) or its idx (INTEGER)",
        "npy_concat('x-000.npy', 3)": "x-000.npy: there is no array number 3",
        "npy_concat(3)": "the source is a number",
        "npy_concat('gone.npy')": "gone.npy: no such file",
        "npy_concat('[\"x-000.npy\", \"gone.npy\"]')": "gone.npy: no such file",
        "npy_concat(zeroblob(9))": "BLOB: is not a .npy",
        "npy_concat(x'')": "BLOB: is empty",
        "npy_concat('[' || printf('%.*c', 70000, ' ') || '\"x-000.npy\"]')": "the texts have 70013 bytes; at most 65536",
        "npy_hash(npy_concat('x-*.npy'))": "not a handle",
    }.items():
        with pytest.raises(sqlite3.Error) as raised:  # SQLITE_TOOBIG is one of the codes
            db.execute(f"SELECT {call}")
        assert str(raised.value).startswith("npyext: npy_") and said in str(raised.value), call
    assert db.execute("SELECT npy_concat(NULL), npy_copy(NULL), npy_calc('a', NULL)").fetchone() == (None, None, None)
    assert db.execute("SELECT npy_sum(npy_concat('x-*.npy', NULL, NULL))").fetchone() == (28.0,)  # as if left out
    for count in (0, 4):
        with pytest.raises(sqlite3.OperationalError, match="wrong number of arguments"):
            db.execute(f"SELECT npy_concat({', '.join(['1'] * count)})")


def test_a_long_path_keeps_its_end(db, folder):
    """Of a path of more than 200 bytes the name of the file was cut off, perhaps in the middle of a character."""
    deep = "/".join(["\u4e2d" * 60] * 3)
    write(f"{deep}/good.npy", npy_bytes(np.arange(3)))
    write(f"{deep}/other.npy", npy_bytes(np.arange(3.0)))
    text = error_of(db, "SELECT npy_concat(?)", f"{deep}/*.npy")
    assert "\u4e2d/other.npy: has dtype float64" in text and "\ufffd" not in text


# --- files that change -------------------------------------------------------------------------------------


def replace(path, contents):
    write("new", contents)
    os.rename("new", path)


def overwrite(path, contents):
    with open(path, "r+b") as file:
        file.write(contents)


def rewrite_unseen(path, contents):
    """In place, and the time of change is set back: only the inode's own time tells."""
    overwrite(path, contents)
    os.utime(path, (OLD, OLD))


NEW = npy_bytes(np.array([9.0, 8.0, 7.0, 6.0]))
CHANGES = {
    "replaced": lambda path: replace(path, NEW),
    "overwritten": lambda path: overwrite(path, NEW),
    "longer": lambda path: replace(path, npy_bytes(np.array([9.0, 8.0, 7.0, 6.0, 5.0]))),
    "shorter": lambda path: replace(path, npy_bytes(np.array([9.0]))),
    "of another dtype": lambda path: replace(path, npy_bytes(np.arange(4))),
    "words": lambda path: replace(path, b"words" * 99),
    "cut": lambda path: os.truncate(path, 140),
    "emptied": lambda path: os.truncate(path, 0),
    "deleted": lambda path: os.unlink(path),
    "a folder": lambda path: (os.unlink(path), os.mkdir(path)),
    "added": lambda path: write("x-9.npy", NEW),
    "touched": lambda path: os.utime(path, (OLD, OLD + 1)),
}
SAME_VALUES = ["touched"]


def expected_now():
    """What numpy.concatenate makes of the files as they are; None if it cannot."""
    try:
        parts = [np.load(path) for path in sorted(os.listdir()) if path.startswith("x-") and os.path.isfile(path)]
    except Exception:
        return None
    return np.concatenate(parts) if len({part.dtype for part in parts}) == 1 else None


@pytest.mark.parametrize("change", CHANGES)
def test_changed_between_statements(db, folder, change):
    """A new call has the new contents, or an error that names the file; a handle from before, kept in a table, an
    error; so has npy_calc of it."""
    write_parts(40)
    db.execute("CREATE TEMP TABLE kept AS SELECT npy_concat('x-*.npy') AS h")
    db.execute("INSERT INTO kept SELECT npy_calc('a + 0', h) FROM kept UNION ALL SELECT npy_concat(h) FROM kept")
    assert db.execute("SELECT npy_sum(h) FROM kept").fetchall() == [(expected_now().sum(),)] * 3
    CHANGES[change]("x-020.npy")
    now = expected_now()
    for _ in range(2):
        if now is None or not now.size:
            assert "x-020.npy: " in error_of(db, "SELECT npy_sum(npy_concat('x-*.npy'))") or change == "a folder"
        else:
            assert db.execute("SELECT npy_sum(npy_concat('x-*.npy')), sum(value) FROM npy_rows(npy_concat('x-*.npy'))").fetchone() == (now.sum(),) * 2
        for (handle,) in db.execute("SELECT h FROM kept").fetchall():
            for sql in ("SELECT npy_sum(?)", "SELECT npy_get(?, 2)", "SELECT * FROM npy_rows(?)", "SELECT npy_calc('a', ?)", "SELECT npy_concat(?)"):
                assert error_of(db, sql, handle).startswith("npyext: ")
    if change not in ("words", "cut", "emptied", "deleted", "of another dtype", "a folder"):
        assert "have changed since this handle of them was made; make it anew" in error_of(db, "SELECT npy_sum(h) FROM kept")


@pytest.mark.parametrize("where", ["x-001.npy", "x-020.npy", "x-059.npy"])
@pytest.mark.parametrize("change", CHANGES)
def test_changed_while_a_cursor_is_open(connect, folder, change, where):
    """Old values up to an error; new ones only of a file that was changed in place."""
    new = set(np.load_npy(where)) if False else {9.0, 8.0, 7.0, 6.0, 5.0}
    for sql in ("SELECT row, value FROM npy_rows(npy_concat('x-*.npy'))", "SELECT idx, value FROM npy_elements(npy_concat('x-*.npy'))",
                "SELECT row, value FROM npy_rows(npy_calc('a + 0', npy_concat('x-*.npy')))", "SELECT a.row, b.value FROM npy_rows(npy_concat('x-*.npy')) AS a JOIN npy_rows(npy_concat('x-*.npy')) AS b USING (row)"):  # fmt: skip
        for name in os.listdir():
            os.rmdir(name) if os.path.isdir(name) else os.unlink(name)
        write_parts(60, 200)
        old = expected_now()
        db = connect()
        cursor = db.execute(sql)
        rows = [cursor.fetchone() for _ in range(300)]
        CHANGES[change](where)
        error = None
        try:
            rows += cursor.fetchall()
        except sqlite3.Error as raised:
            error = str(raised)
        assert error is None or error.startswith("npyext: ") and where in error, error
        for row, value in rows:
            assert value == old[row] or (change == "overwritten" and value in new), (sql, row, value)
        assert error is not None or [row for row, _ in rows] == list(range(12000))
        db.close()


HEADERS = {
    # another header of the same length, for items that take as many bytes
    "larger items": npy(">c16", (100,), b"")[:128],
    "fewer items": npy(">f8", (100,), b"")[:128],
    "another shape": npy(">f8", (20, 10), b"")[:128],
    "Fortran order": npy(">f8", (2, 100), b"", True)[:128],
}


@pytest.mark.parametrize("header", HEADERS)
def test_a_part_rewritten_with_another_header(connect, folder, header):
    """With its size and time set back: items larger than those of the first header overflowed a buffer."""
    for big in (">f8", "<f8"):
        db = connect()
        for i in range(3):
            write(f"x-{i}.npy", npy_bytes(np.arange(200).astype(big)))
        db.execute("CREATE TEMP TABLE kept AS SELECT npy_concat('x-*.npy') AS h")
        cursor = db.execute("SELECT value FROM npy_rows((SELECT h FROM kept))")
        cursor.fetchone()
        contents = HEADERS[header].replace(b">", big[0].encode())
        rewrite_unseen("x-1.npy", contents)
        for sql in ("SELECT npy_sum(h) FROM kept", "SELECT npy_get(h, 399) FROM kept", "SELECT npy_copy(h) FROM kept", "SELECT npy_sum(npy_concat('x-*.npy'))"):
            try:
                db.execute(sql).fetchall()
                assert header == "fewer items" and "kept" not in sql
            except sqlite3.Error as error:
                assert str(error).startswith("npyext: ")
        try:
            assert len(cursor.fetchall()) == 599
        except sqlite3.Error as error:
            assert "x-1.npy: the file has changed since npy_concat looked at it" in str(error)


def test_a_part_rewritten_with_its_time_set_back_is_read_anew(db, folder):
    """The layout of a concatenation was kept for files whose headers had changed."""
    write("x-0.npy", npy_bytes(np.arange(6.0).reshape(3, 2)))
    write("x-1.npy", npy_bytes(np.arange(6.0).reshape(3, 2)))
    assert db.execute("SELECT npy_shape(npy_concat('x-*.npy'))").fetchone() == ("[6,2]",)
    for i in (0, 1):
        rewrite_unseen(f"x-{i}.npy", npy_bytes(np.arange(6.0).reshape(2, 3)))
    assert db.execute("SELECT npy_shape(npy_concat('x-*.npy')), npy_json(npy_concat('x-*.npy', '', 1))").fetchone() == ("[4,3]", "[[0.0,1.0,2.0,0.0,1.0,2.0],[3.0,4.0,5.0,3.0,4.0,5.0]]")


def test_a_read_that_failed_is_not_gone_on_from(db, folder):
    """After an error in a part that is not stored as the result is, the next read took items from before its place."""
    for i in range(2):
        write(f"x-{i}.npy", npy_bytes(np.asfortranarray(np.arange(20_000.0).reshape(5000, 4) + 20_000 * i)))
    for n in (1, 2, 3, 50):
        (handle,) = db.execute("SELECT npy_concat('x-*.npy')").fetchone()
        calls = []
        db.set_progress_handler(lambda: calls.append(0) or len(calls) > n, 1000)
        for row in range(0, 10_000, 997):
            try:
                db.execute("SELECT npy_json(npy_slice(?, ?))", (handle, f"{row}:{row + 900}, ::2")).fetchone()
            except sqlite3.Error as error:
                assert "interrupted" in str(error)
            db.set_progress_handler(None, 0)
            assert db.execute("SELECT npy_get(?, ?, 2)", (handle, row + 900)).fetchone() == (4.0 * (row + 900) + 2,) or row + 900 >= 10_000
            db.set_progress_handler(lambda: calls.append(0) or len(calls) > n, 1000)
        db.set_progress_handler(None, 0)


@pytest.mark.parametrize("n", [3, 120, 300])
def test_a_part_that_was_closed_is_checked_first(connect, folder, n):
    """A part of an archive does not end its file, where changes are looked for; many parts later it was closed unlooked at."""
    for i in range(n):
        write(f"x-{i:03}.npz", npz_bytes({"a": np.full(3000, i), "b": np.arange(3)}))
    db = connect()
    cursor = db.execute("SELECT value FROM npy_rows(npy_concat('x-*.npz', 'a'))")
    rows = [cursor.fetchone() for _ in range(4000)]
    with open("x-001.npz", "ab") as file:
        file.write(b"more")
    with pytest.raises(sqlite3.Error, match="x-001.npz: the file changed while it was read"):
        cursor.fetchall()
    assert rows == [(i // 3000,) for i in range(4000)]


def test_by_another_thread(connect, folder):
    """Parts replaced, cut and made whole, added and deleted, as fast as it can: each answer is of files that were there."""
    n, length = 40, 3000
    write_parts(n, length)
    stop = threading.Event()

    def disturb():
        rng = np.random.default_rng(4)
        while not stop.is_set():
            i = int(rng.integers(n))
            path, contents = f"x-{i:03}.npy", npy_bytes((np.arange(length) + length * i).astype("f8"))
            match rng.integers(4):
                case 0:
                    replace(path, contents)
                case 1:
                    os.truncate(path, int(rng.integers(len(contents))))
                    time.sleep(0.001)
                    overwrite(path, contents)
                case 2:
                    os.unlink(path)
                    time.sleep(0.001)
                    replace(path, contents)
                case _:
                    time.sleep(0.01)

    thread = threading.Thread(target=disturb)
    thread.start()
    db, answers, nerrors = connect(), 0, 0
    asked = ["WITH c AS MATERIALIZED (SELECT npy_concat('x-*.npy') AS h) SELECT npy_sum(h), npy_size(h) FROM c", "SELECT sum(value), count(*) FROM npy_rows(npy_concat('x-*.npy'))", "SELECT sum, count FROM npy_stats(npy_calc('a', npy_concat('x-*.npy')))"]
    until = time.monotonic() + 1
    try:
        while time.monotonic() < until:
            for sql in asked:
                try:
                    ((total, count),) = db.execute(sql).fetchall()
                except sqlite3.Error as error:
                    assert str(error).startswith("npyext: "), str(error)
                    nerrors += 1
                    continue
                # a file that is away for a moment is not of the pattern
                size = n * length
                assert count == size and total == size * (size - 1) / 2 or count < size and count % length == 0, (sql, count, total)
                answers += 1
    finally:
        stop.set()
        thread.join()


# --- who may read what -------------------------------------------------------------------------------------


def test_blob_entry_takes_archives_only(connect, folder):
    write_parts(2)
    (handle,) = connect().execute("SELECT npy_concat('x-*.npy')").fetchone()
    db = connect(entry_point=BLOB)
    for archive in (npz_bytes({"a": np.arange(3), "b": np.arange(2)}), ten_bytes([np.arange(3), np.arange(2)]), safetensors_bytes({"a": np.arange(3), "b": np.arange(2)}), tars.tar(tars.member("a.npy", npy_bytes(np.array([0, 1, 2, 0, 1]))))):
        assert db.execute("SELECT npy_json(npy_concat(?)), npy_json(npy_calc('a + 1', npy_concat(?)))", (archive, archive)).fetchone() == ("[0,1,2,0,1]", "[1,2,3,1,2]")
    for source in ("x-*.npy", "x-000.npy", '["x-000.npy"]', '{"path": "x-000.npy", "offset": 0, "nbytes": 160}'):
        assert "a TEXT names a file, and npyext was loaded by " + BLOB in error_of(db, "SELECT npy_concat(?)", source)
    for sql in ("SELECT npy_concat(?)", "SELECT npy_calc('a', ?)", "SELECT npy_copy(?)", "SELECT * FROM npy_rows(?)", "SELECT npy_sum(?)"):
        assert "a handle names a file" in error_of(db, sql, handle)
    assert counters(db)["files_opened"] == 0


@pytest.mark.parametrize("views", [False, True])
def test_views_of_a_database_from_elsewhere(connect, folder, monkeypatch, views):
    monkeypatch.setenv("NPYEXT_VIEWS", "0")
    write_parts(2)
    made = connect("hostile.db")
    made.execute("CREATE TABLE t(x)")
    made.execute("CREATE TABLE loot(x)")
    (handle,) = made.execute("SELECT npy_concat('x-*.npy')").fetchone()
    made.execute("INSERT INTO t VALUES (?)", (handle,))
    made.execute("CREATE VIEW v AS SELECT npy_json(npy_concat('x-*.npy')) AS x")
    made.execute("CREATE VIEW w AS SELECT npy_json(npy_calc('a', x)) AS x FROM t")
    made.execute("CREATE TRIGGER g AFTER INSERT ON t BEGIN INSERT INTO loot SELECT npy_copy(npy_concat('x-*.npy')); END")
    made.execute("CREATE TEMP VIEW mine AS SELECT npy_sum(npy_concat('x-*.npy')) AS x")
    assert made.execute("SELECT x FROM mine").fetchone() == (28.0,)
    monkeypatch.setenv("NPYEXT_VIEWS", "1" if views else "0")
    db = connect("hostile.db")
    if views:
        assert db.execute("SELECT x FROM v").fetchone() == ("[0.0,1.0,2.0,3.0,4.0,5.0,6.0,7.0]",)
        db.execute("INSERT INTO t VALUES (1)")
        assert db.execute("SELECT npy_sum(x) FROM loot").fetchone() == (28.0,)
    else:
        for sql in ("SELECT x FROM v", "INSERT INTO t VALUES (1)"):
            with pytest.raises(sqlite3.OperationalError, match="unsafe use of npy_concat"):
                db.execute(sql)
        assert db.execute("SELECT count(*) FROM loot").fetchone() == (0,)
    for sql in ("SELECT x FROM w", "SELECT npy_sum(x) FROM t", "SELECT npy_concat(x) FROM t", "SELECT r.* FROM t, npy_rows(x) AS r"):  # of another connection
        assert "npy_file made on this connection" in error_of(db, sql)


def test_the_root(connect, folder, monkeypatch):
    write("in/x-0.npy", npy_bytes(np.arange(3)))
    write("out/x-0.npy", npy_bytes(np.full(3, 4242)))
    os.symlink("../out", "in/link")
    monkeypatch.setenv("NPYEXT_ROOT", str(folder / "in"))
    db = connect()
    os.chdir("in")
    assert db.execute("SELECT npy_json(npy_concat('*.npy'))").fetchone() == ("[0,1,2]",)
    for source in ("../out/x-0.npy", str(folder / "out/x-0.npy"), "link/x-0.npy", '["x-0.npy", "../out/x-0.npy"]', "../out/*.npy", "link/*.npy", json.dumps({"path": "link/x-0.npy", "offset": 0, "nbytes": 152})):
        text = error_of(db, "SELECT npy_concat(?)", source)
        assert "4242" not in text and ("root" in text.lower() or "no file matches" in text), text


def test_every_byte_of_a_handle_is_vouched_for(db, folder):
    write_parts(2)
    handles = db.execute("SELECT npy_concat('x-*.npy', '', 0), npy_calc('a + 1', npy_concat('x-*.npy')), npy_concat(npy_calc('a + 1', npy_concat('x-*.npy')))").fetchone()
    for handle in handles:
        assert db.execute("SELECT npy_size(?)", (handle,)).fetchone() == (8,)
        forged = [handle[:i] + bytes([handle[i] ^ bit]) + handle[i + 1 :] for i in range(len(handle)) for bit in (1, 128)]
        forged += [handle[:n] for n in range(len(handle))] + [handle + b"\0", handle + handle]
        for other in forged:
            for sql in ("SELECT npy_sum(?)", "SELECT npy_calc('a', ?)", "SELECT npy_concat(?)", "SELECT * FROM npy_rows(?)"):
                assert error_of(db, sql, other).startswith("npyext: ")
    assert db.execute("SELECT npy_valid(?)", (handles[1][:-1] + b"x",)).fetchone() == (0,)


# --- depth, stack ------------------------------------------------------------------------------------------


def nest(db, handle, n, wraps=("npy_calc('a + 0', ?)",)):
    for i in range(n):
        (handle,) = db.execute(f"SELECT {wraps[i % len(wraps)]}", (handle,)).fetchone()
    return handle


WRAPS = [("npy_calc('a + 0', ?)",), ("npy_concat(?)",), ("npy_calc('-a', ?)", "npy_concat(?)"), ("npy_calc('a + 0', ?)", "npy_concat(?, '', -1)")]


@pytest.mark.parametrize("wraps", WRAPS)
def test_16_deep_and_not_17(db, folder, wraps):
    """What was open already was not counted: handles nested without end, and reading one overflowed the stack."""
    write_parts(3)
    (handle,) = db.execute("SELECT npy_concat('x-*.npy')").fetchone()
    deepest = nest(db, handle, 15, wraps)
    assert db.execute("SELECT abs(npy_sum(?)), npy_get(?, 2) IN (2, -2)", (deepest, deepest)).fetchone() == (66.0, 1)
    assert "more than 16 deep; npy_copy makes a BLOB of one" in error_of(db, f"SELECT {wraps[0]}", deepest)
    (copied,) = db.execute("SELECT npy_copy(?)", (deepest,)).fetchone()
    assert db.execute("SELECT abs(npy_sum(npy_calc('a + 0', ?)))", (copied,)).fetchone() == (66.0,)


ON_A_SMALL_STACK = """
import os, sqlite3, sys, threading
sys.path.insert(0, sys.argv[1])
import shell
asked = ["SELECT npy_sum(?)", "SELECT npy_copy(?)", "SELECT sum(value) FROM npy_rows(?)", "SELECT count FROM npy_stats(?, '', '', 0)",
         "SELECT q, value FROM npy_quantile(?)", "SELECT count(*) FROM npy_unique(?)", "SELECT status FROM npy_compare(?1, ?1)", "SELECT npy_json(npy_calc('a / 2', ?))",
         "SELECT array FROM npy_file(?)", "SELECT npy_preview(?), npy_valid(?1)"]
def work():
    db = shell.connect()
    kept = []
    for j in range(20):  # more than are kept open, each on top of 15 others
        (handle,) = db.execute("SELECT npy_concat('x-*.npy', '', ?)", (j % 2 - 1,)).fetchone()
        for i in range(14):
            (handle,) = db.execute(["SELECT npy_calc(?2, ?1)", "SELECT npy_concat(?1)"][i % 3 == 2], (handle, f"a + {j}")[: 1 + (i % 3 != 2)]).fetchone()
        kept.append(handle)
        for sql in asked if j < 2 else asked[:1]:
            db.execute(sql, (handle,)).fetchall()
        try:
            db.execute("SELECT npy_calc('a', npy_calc('a', ?))", (handle,)).fetchall()
            print("not refused")
        except sqlite3.Error:
            pass
    for handle in kept:
        db.execute("SELECT npy_sum(?)", (handle,)).fetchall()
    db.close()
    print("done")
threading.stack_size(int(sys.argv[2]))
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def test_deep_ones_on_a_small_stack(folder):
    """Opened, read, checked again and closed. Closing one closed what it was made of within itself, and so on."""
    write("x-0.npy", npy_bytes(np.arange(6.0).reshape(1, 6)))
    write("x-1.npy", npy_bytes(np.asfortranarray(np.arange(12.0).reshape(1, 12)[:, ::2])))
    stack = 8 << 20 if shell.SANITIZED else 128 << 10
    done = subprocess.run([sys.executable, "-B", "-c", ON_A_SMALL_STACK, os.path.dirname(shell.__file__), str(stack)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=shell.PATIENCE)
    assert (done.returncode, done.stdout) == (0, b"done\n"), done.stderr.decode(errors="replace")[-2000:]


def test_operands_are_checked_once_a_statement(db, folder):
    """A recipe that has the same operand twice, which has one twice, and so on, checked each as often as it stands there:
    each level doubled the time. And each took memory to read it, without end."""
    write_parts(1)
    (handle,) = db.execute("SELECT array FROM npy_file('x-000.npy')").fetchone()
    for _ in range(8):
        last = handle
        (handle,) = db.execute("SELECT npy_calc('a + b', ?1, ?1)", (handle,)).fetchone()
    before = counters(db)
    assert db.execute("SELECT npy_sum(?)", (handle,)).fetchone() == (6.0 * 2**8,)
    assert counters(db)["cache_hits"] - before["cache_hits"] < 100
    assert "is made of more than 256 arrays that are made when they are read" in error_of(db, "SELECT npy_calc('a + b', ?1, ?1)", handle)
    assert db.execute("SELECT npy_sum(npy_calc('a + b', npy_copy(?1), ?2))", (handle, last)).fetchone() == (6.0 * 2**8 + 6.0 * 2**7,)


# --- interrupts, memory ------------------------------------------------------------------------------------


INTERRUPTED = [
    "SELECT npy_size(npy_concat('d/*.npy'))", "SELECT sum(value) FROM npy_rows(npy_concat('d/*.npy'))", "SELECT npy_sum(h) FROM kept", "SELECT npy_size(h) FROM kept",
    "SELECT sum FROM npy_stats((SELECT h FROM kept), '', '', 0)", "SELECT npy_size(npy_calc('a * 2', h)) FROM kept", "SELECT length(npy_copy(h)) FROM kept", "SELECT npy_sum(w) FROM kept",
]  # fmt: skip


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    contents = npy_bytes(np.arange(20).reshape(10, 2))
    os.mkdir(folder / "d")
    for i in range(6000):
        with open(folder / f"d/{i:05}.npy", "wb") as file:
            file.write(contents)
    return folder


@pytest.mark.parametrize("way", ["progress handler", "sqlite3_interrupt"])
@pytest.mark.parametrize("sql", shell.some(INTERRUPTED, 3))
def test_interrupts(connect, many, monkeypatch, sql, way):
    """While files are opened, read, and looked at again. What was interrupted is right the next time."""
    monkeypatch.chdir(many)
    db = connect_for_threads()
    db.execute("CREATE TEMP TABLE kept AS SELECT npy_concat('d/*.npy') AS h, npy_calc('a + 1', npy_concat('d/*.npy', '', 1)) AS w")
    expected = db.execute(sql).fetchall()
    for delay in (0.001, 0.004):
        noticed = interrupted(db, sql, way, delay)
        assert noticed is None or noticed < (1 if shell.FLAVOUR != "release" else 0.25), noticed  # 50 ms, on a machine that does other things
        assert db.execute(sql).fetchall() == expected
    db.close()


def connect_for_threads():
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    db.enable_load_extension(True)
    shell.load(db)
    return db


def interrupted(db, sql, way, delay):
    """How long after the interrupt the statement ended; None: it was done before."""
    at = [None]

    def interrupt():
        at[0] = at[0] or time.monotonic()
        db.interrupt()

    def handler():
        if time.monotonic() < began + delay:
            return 0
        at[0] = at[0] or time.monotonic()
        return 1

    timer = threading.Timer(delay, interrupt)
    began = time.monotonic()
    db.set_progress_handler(handler, 100) if way == "progress handler" else timer.start()
    try:
        db.execute(sql).fetchall()
        noticed = None
    except sqlite3.OperationalError as error:
        assert "interrupted" in str(error), str(error)
        noticed = time.monotonic() - at[0]
    finally:
        db.set_progress_handler(None, 0)
        if way != "progress handler":
            timer.cancel()
            timer.join()
    return noticed


def test_large_operands_are_not_kept(db, folder, memory_used):
    """A handle has a copy of its BLOB operands. The cache kept that of sixteen of them after they were used."""
    write("x.npy", npy_bytes(np.zeros(500_000)))
    (handle,) = db.execute("SELECT array FROM npy_file('x.npy')").fetchone()
    large = npy_bytes(np.ones(500_000))
    used = memory_used()
    for i in range(30):
        assert db.execute("SELECT npy_sum(npy_calc('a + b + ' || ?, ?, ?))", (i, handle, large)).fetchone() == (500_000.0 * (i + 1),)
    assert memory_used() - used < 6 * len(large)
