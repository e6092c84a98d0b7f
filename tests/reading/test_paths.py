"""npy_paths: the files of a source, none of which is opened."""

import json
import os

import numpy as np

from arrays import npy_bytes
from expected import counters, error_of, since


def test_files_of_patterns_and_lists_as_they_are(db, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.makedirs("runs/a[1]")
    for name, nbytes in (("runs/b.npy", 5), ("runs/a[1]/x.npy", 300), ("runs/c.txt", 0)):
        with open(name, "wb") as file:
            file.write(bytes(nbytes))
        os.utime(name, (1e9, 1_234_567_890 + nbytes))
    os.mkfifo("runs/pipe.npy")
    before = counters(db)
    rows = db.execute("SELECT path, file_size, mtime FROM npy_paths('runs/**/*.npy')").fetchall()
    assert rows == [("runs/a[1]/x.npy", 300, 1_234_568_190), ("runs/b.npy", 5, 1_234_567_895)]
    listed = ["runs/c.txt", "runs/a[1]/x.npy", None, "runs/b*", "gone.npy", "runs/pipe.npy", "runs/c.txt"]
    rows = db.execute("SELECT path, file_size FROM npy_paths(?)", (json.dumps(listed),)).fetchall()
    assert [row[0] for row in rows] == ["runs/c.txt", "runs/a[1]/x.npy", "runs/b.npy", "gone.npy", "runs/pipe.npy", "runs/c.txt"]
    assert rows[3][1] is None and rows[2][1] == 5
    read = since(db, before)
    assert read["files_opened"] == 0 and read["bytes_read"] == 0


def test_a_list_that_is_not_json_was_a_pattern_without_matches(db, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.npy", "b.npy"):
        np.save(name, np.arange(3))
    for text in (str(["a.npy", "b.npy"]), '["a.npy", "b.npy",]', '["a.npy", b.npy]', ' [ "a.npy"'):
        assert "the list is not JSON" in error_of(db, "SELECT * FROM npy_meta(?)", text)
    assert db.execute("SELECT count(*) FROM npy_meta('[ab].npy')").fetchone() == (2,)
    # JSON5 is not JSON, whichever SQLite reads it
    assert db.execute("SELECT count(*) FROM npy_meta(?)", ("{path: 'a.npy', offset: 0, nbytes: 152}",)).fetchone() == (0,)
    np.save("['x'].npy", np.arange(4))  # a path that is there is a path
    assert db.execute("SELECT shape FROM npy_meta(?)", ("['x'].npy",)).fetchall() == [("[4]",)]


def test_other_sources(db, tmp_path):
    path = str(tmp_path / "x.npy")
    np.save(path, np.arange(3))
    one = (path, os.path.getsize(path))
    sql = "SELECT path, file_size FROM npy_paths(?)"
    assert db.execute(sql, (json.dumps({"path": path, "offset": 5, "nbytes": 6}),)).fetchall() == [one]
    (handle,) = db.execute("SELECT array FROM npy_file(?)", (path,)).fetchone()
    assert db.execute(sql, (handle,)).fetchall() == [one]
    data = npy_bytes(np.arange(3))
    assert db.execute("SELECT path, file_size, mtime, stem FROM npy_paths(?)", (data,)).fetchall() == [(None, len(data), None, None)]
    assert db.execute(sql, (None,)).fetchall() == []
    assert db.execute(sql + " WHERE path = ?", (json.dumps(["a", path]), path)).fetchall() == [one]
    assert db.execute("SELECT stem, parent, parts FROM npy_paths(?)", (path,)).fetchone()[0] == "x"
    assert "the source is a number" in error_of(db, sql, 5)


def test_join_with_what_is_in_them(db, tmp_path):
    """The newest file's arrays, of which alone the header is read."""
    for i in range(5):
        np.save(tmp_path / f"{i}.npy", np.arange(i))
        os.utime(tmp_path / f"{i}.npy", (0, 100 - abs(i - 3)))
    sql = "SELECT m.shape FROM (SELECT path FROM npy_paths(?) ORDER BY mtime DESC LIMIT 1) AS p JOIN npy_meta(p.path) AS m"
    before = counters(db)
    assert db.execute(sql, (str(tmp_path / "*.npy"),)).fetchall() == [("[3]",)]
    assert since(db, before)["files_opened"] == 1
