"""An interrupt of npy_nearest with a million queries is noticed between their hits, not once for each row."""

import sqlite3
import time

import pytest

import shell

BETWEEN_SECONDS = 0.5 if shell.SANITIZED else 0.15  # 0.2 to 0.4 when a hit counted no more than its items

MANY = """SELECT count(*) FROM npy_nearest(npy_from_data(zeroblob(1200), '<f8', '[50, 3]'), '', '',
npy_from_data(zeroblob(24000000), '<f8', '[1000000, 3]'), 16)"""


def test_looks_are_never_far_apart():
    db = shell.connect()
    looks, begun_at = [], time.process_time()

    def look():
        looks.append(time.process_time())
        return looks[-1] - begun_at > 1.5

    db.set_progress_handler(look, 100)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        db.execute(MANY).fetchall()
    assert max(b - a for a, b in zip(looks, looks[1:])) < BETWEEN_SECONDS
