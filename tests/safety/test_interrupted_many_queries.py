"""An interrupt of npy_nearest with a million queries is noticed between their hits, not once for each row; and before
the first row, while they are read and measured, and after the last, while their hits are sorted."""

import sqlite3
import time

import pytest

import shell

BETWEEN_SECONDS = 0.5 if shell.SANITIZED else 0.06  # 0.2 when a million queries were cleared and measured at once


def nearest(nrows, nqueries, k):
    array = lambda n: f"npy_from_data(zeroblob({n * 24}), '<f8', '[{n}, 3]')"
    return f"SELECT count(*) FROM npy_nearest({array(nrows)}, '', '', {array(nqueries)}, {k})"


class Looks:
    """The processor time of each look of a connection; it is interrupted after so many seconds."""

    def __init__(self, db, seconds):
        self.times, self.seconds = [time.process_time()], seconds
        db.set_progress_handler(self, 100)

    def __call__(self):
        self.times.append(time.process_time())
        return self.times[-1] - self.times[0] > self.seconds

    def longest(self):
        return max(b - a for a, b in zip(self.times, self.times[1:]))


def test_looks_are_never_far_apart():
    db = shell.connect()
    looks = Looks(db, 1.5)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        db.execute(nearest(50, 1_000_000, 16)).fetchall()
    assert looks.longest() < BETWEEN_SECONDS


def test_hits_are_sorted_with_looks():
    db = shell.connect()
    looks = Looks(db, 60)
    assert db.execute(nearest(10, 400_000, 8)).fetchone() == (3_200_000,)
    assert looks.longest() < BETWEEN_SECONDS


def test_bytes_are_copied_in_pieces():
    db = shell.connect()
    looks = Looks(db, 60)
    db.execute("SELECT length(npy_from_data(zeroblob(200000000), '<f8', '[-1]'))").fetchone()
    assert len(looks.times) > 3
