"""Folders in which files are broken, no files at all, or gone: on_error, and a survey that goes to its end."""

import json
import os
import socket
import subprocess
import sys

import numpy as np
import pytest

import shell
from arrays import npy_bytes, npz_bytes, object_npy_bytes, ten_bytes, write_sparse_npy
from expected import counters, error_of, since


@pytest.fixture
def survey(tmp_path, monkeypatch):
    """A folder, entered, in which little is as it should be; returns the contents of its regular files by name."""
    monkeypatch.chdir(tmp_path)
    good = npy_bytes(np.arange(4))
    files = {
        "bad-magic.npy": b"\x93NUMPZ" + good[6:],
        "cut-data.npy": good[:-3],
        "cut-header.npy": good[:40],
        "empty.npy": b"",
        "empty.ten": b"",
        "fine.npy": good,
        "good.ten": ten_bytes([np.arange(4)]),
        "objects.npy": object_npy_bytes(),
        "text.npy": b"just text\n",
        "torn.npz": npz_bytes({"a": np.arange(9)})[:-30],
        "tail.npz": b"PK\3\4" + b"\0" * 100,
        "z.npz": npz_bytes({"a": np.arange(4)}),
    }
    for name, contents in files.items():
        (tmp_path / name).write_bytes(contents)
    os.mkdir("directory.npy")
    os.mkfifo("fifo.npy")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.npy")
    os.symlink("nowhere", "dangling.npy")
    return files


# Of what the survey reads, the rows of data; in byte order.
READABLE = {"empty.ten": 0, "fine.npy": 4, "good.ten": 4, "objects.npy": 3, "z.npz": 4}
# Sound headers in front of data that are not: their metadata are known.
METADATA_ONLY = {"cut-data.npy"}


def test_a_survey_goes_to_its_end(connect, survey):
    db = connect()
    rows = db.execute("SELECT path, shape, error FROM npy_meta('*')").fetchall()
    # What is no regular file is not read: no pattern finds it.
    assert [path for path, _, _ in rows] == sorted(survey)
    for path, shape, error in rows:
        if path in READABLE:
            assert error is None, path
        else:
            assert error.startswith(f"npyext: {path}: ") and error.isprintable()
            assert (shape is not None) == (path in METADATA_ONLY), path


def test_on_error(connect, survey):
    db = connect()
    broken = sorted(set(survey) - set(READABLE))
    for source in ("*", json.dumps(sorted(survey))):
        meta = db.execute("SELECT path FROM npy_meta(?, 'skip')", (source,)).fetchall()
        assert [path for (path,) in meta] == sorted(READABLE)
        error_of(db, "SELECT path FROM npy_meta(?, 'raise')", source)
        # npy_rows has no column for errors, so its default is to raise, and skipping is the way on.
        error_of(db, "SELECT value FROM npy_rows(?)", source)
        before = counters(db)
        got = db.execute(
            "SELECT path, count(*) FROM npy_rows(?) WHERE on_error = 'skip' GROUP BY path", (source,)
        ).fetchall()
        assert got == [(path, n) for path, n in READABLE.items() if n]
        assert since(db, before)["files_skipped"] == len(broken)
    for path in broken:
        assert path in error_of(db, "SELECT * FROM npy_meta(?)", path)
        [(at, error)] = db.execute("SELECT path, error FROM npy_meta(?, 'row')", (path,)).fetchall()
        assert at == path and path in error
        assert db.execute("SELECT * FROM npy_meta(?, 'skip')", (path,)).fetchall() == []
        assert path in error_of(db, "SELECT data FROM npy_rows(?)", path)
    assert "on_error" in error_of(db, "SELECT * FROM npy_meta('fine.npy', 'maybe')")
    assert "on_error" in error_of(db, "SELECT * FROM npy_rows('fine.npy') WHERE on_error = 'maybe'")


def test_archives_and_tens_in_a_survey(connect, survey):
    db = connect()
    rows = db.execute("SELECT path, name, error FROM npz_members('{torn,tail,z,missing}.npz')").fetchall()
    assert [(path, name) for path, name, _ in rows] == [("tail.npz", None), ("torn.npz", None), ("z.npz", "a")]
    assert [error is None for _, _, error in rows] == [False, False, True]
    # A file of another format is an error here, not an archive of one.
    assert "fine.npy" in error_of(db, "SELECT * FROM npz_members('fine.npy')")
    assert "z.npz" in error_of(db, "SELECT * FROM ten_arrays('z.npz')")
    # Only the name can tell that an empty file is a .ten of no arrays.
    assert db.execute("SELECT * FROM ten_arrays('empty.ten')").fetchall() == []
    [row] = db.execute("SELECT format, idx, shape, file_size FROM npy_meta('empty.ten')").fetchall()
    assert row == ("ten", None, None, 0)
    for empty in ("empty.npy", b""):
        assert "empty" in error_of(db, "SELECT * FROM npy_rows(?)", empty).removeprefix("npyext: empty.npy")


def test_missing_files_in_a_list_are_rows(connect, survey):
    db, source = connect(), '["fine.npy", "missing.npy", "directory.npy", "dangling.npy", "socket.npy", "fine.npy"]'
    rows = db.execute("SELECT path, shape, error FROM npy_meta(?)", (source,)).fetchall()
    assert [(path, shape) for path, shape, _ in rows] == [
        ("fine.npy", "[4]"),
        *((p, None) for p in ("missing.npy", "directory.npy", "dangling.npy", "socket.npy")),
        ("fine.npy", "[4]"),
    ]
    assert all(path in error for path, _, error in rows[1:5])
    assert "missing.npy" in error_of(db, "SELECT * FROM npy_rows(?)", source)


def test_files_that_vanish_while_they_are_surveyed(connect, tmp_path):
    paths = [str(tmp_path / f"{i:04}.npy") for i in range(500)]
    for path in paths:
        write_sparse_npy(path, (7,))
    cursor = connect().execute("SELECT path, error FROM npy_meta(?)", (str(tmp_path / "*.npy"),))
    first = cursor.fetchone()
    for path in paths[100:]:
        os.unlink(path)
    rows = [first] + cursor.fetchall()
    assert [path for path, _ in rows] == paths
    assert not any(error for _, error in rows[:100])
    assert all(error and path in error for path, error in rows[100:])


def test_a_fifo_never_blocks(tmp_path, extension):
    fifo = tmp_path / "fifo.npy"
    os.mkfifo(fifo)
    program = (
        "import sqlite3, sys\n"
        "db = sqlite3.connect(':memory:')\n"
        "db.enable_load_extension(True)\n"
        "db.load_extension(sys.argv[1])\n"
        "print([len(db.execute('SELECT * FROM npy_meta(?)', (s,)).fetchall()) for s in sys.argv[3:]])\n"
        "db.execute('SELECT * FROM npy_rows(?)', (sys.argv[2],))\n"
    )
    pattern, listed = str(tmp_path / "*.npy"), json.dumps([str(fifo)])
    done = subprocess.run(
        [sys.executable, "-c", program, extension, str(fifo), pattern, listed],
        capture_output=True,
        text=True,
        timeout=shell.PATIENCE,
    )
    assert done.stdout == "[0, 1]\n"
    assert "npyext: " in done.stderr and "fifo.npy" in done.stderr
