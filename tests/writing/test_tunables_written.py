"""Sizes at which writing takes another path (src/base/tunables.h): each test fails where the path after one of them is
broken. What is written here is long enough for the build that has every size at its least (`make check-small`).
"""

import glob
import json
import os
import resource
import sqlite3
import tarfile

import numpy as np
import pytest

import shell
from arrays import seeded_generator
from written import make


def begin(array, **arguments):
    """Saves the array, and gives a connection a table of it."""
    np.save("y.npy", array)
    db = shell.connect()
    make(db, "y.npy", "y", mode="r+", **arguments)
    return db


# --- rows that are added -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["w+", "a"])
@pytest.mark.parametrize("width", [1, 2, 3000])
def test_long_rows_that_were_added_are_read_as_a_whole(db, folder, mode, width):
    """Their column is the row, of which no item is left out as columns that nobody asks for are."""
    array = seeded_generator().normal(size=(7, width))
    np.save("in.npy", array)
    np.save("out.npy", array[:3])
    make(db, "out.npy", "out", mode=mode, **({"dtype": "<f8", "shape": f"[-1, {width}]"} if mode == "w+" else {}))
    db.execute("BEGIN")
    db.execute("INSERT INTO out SELECT value FROM npy_rows('in.npy') WHERE row >= ?", [3 if mode == "a" else 0])
    for end in ("SAVEPOINT s", "COMMIT"):
        assert [json.loads(row) for (row,) in db.execute("SELECT row FROM out")] == array.tolist()
        assert [json.loads(row) for (row,) in db.execute("SELECT row FROM out ORDER BY rowid DESC")] == array[::-1].tolist()
        db.execute(end)
    assert np.load("out.npy").tolist() == array.tolist()


# --- rows that are changed ---------------------------------------------------------------------------------


def test_changes_here_and_there_and_some_of_them_undone(folder):
    """Windows that move on write what has changed in them, and note what was there before."""
    rng = seeded_generator()
    array = rng.normal(size=5000)
    db = begin(array)
    db.execute("BEGIN")
    for turn in range(6):
        is_undone = turn % 3 == 1
        db.execute("SAVEPOINT s")
        row = 0
        for _ in range(100):
            row = int(rng.integers(len(array))) if rng.integers(10) == 0 else min(row + int(rng.integers(1, 9)), len(array) - 1)
            value = float(rng.normal())
            db.execute("UPDATE y SET value = ? WHERE rowid = ?", (value, row))
            array[row] = array[row] if is_undone else value
        db.execute("ROLLBACK TO s" if is_undone else "RELEASE s")
    db.execute("COMMIT")
    db.close()
    assert np.load("y.npy").tobytes() == array.tobytes()


def test_columns_that_lie_apart_share_the_windows(folder, memory_used):
    """Each has one of its own, which is smaller where there are many."""
    array = np.asfortranarray(seeded_generator().integers(0, 1000, (3000, 64)))
    db = begin(array)
    names = [row[1] for row in db.execute("PRAGMA table_info(y)")]
    assert len(names) == 64
    db.execute("BEGIN")
    before = memory_used()
    db.execute(f"UPDATE y SET {', '.join(f'{name} = {name} + 1' for name in names)} WHERE rowid % 7 = 0")
    assert memory_used() - before < 8 << 20
    db.execute("COMMIT")
    db.close()
    array[::7] += 1
    assert np.array_equal(np.load("y.npy"), array)


# --- many files of one transaction -------------------------------------------------------------------------

NSHARDS = 200


def shards(db):
    db.execute("CREATE VIRTUAL TABLE temp.o USING wds('out-%06d.tar', mode='w+', columns='cls', maxcount=1)")
    db.execute("BEGIN")
    db.executemany("INSERT INTO o(__key__, cls) VALUES (?, ?)", [(str(i), i) for i in range(NSHARDS)])


def test_what_is_in_the_way_of_the_last_of_many_files_is_found_before_the_first_is_published(db, folder):
    db.isolation_level = None
    shards(db)
    os.mkdir(f"out-{NSHARDS - 1:06}.tar")
    with pytest.raises(sqlite3.Error, match="was changed or replaced by another program"):
        db.execute("COMMIT")
    assert glob.glob("*.tar") == [f"out-{NSHARDS - 1:06}.tar"]


def test_many_files_are_published_with_few_descriptors(db, folder):
    db.isolation_level = None
    shards(db)
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 260, limits[1]))
    try:
        db.execute("COMMIT")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    for i, path in enumerate(sorted(glob.glob("*.tar"))):
        with tarfile.open(path) as archive:
            assert archive.extractfile(f"{i}.cls").read() == str(i).encode()
    assert len(glob.glob("*.tar")) == NSHARDS
