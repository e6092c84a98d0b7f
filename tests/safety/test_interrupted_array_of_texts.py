"""An interrupt while npy_array gathers texts: SQLite calls for the result all the same, and none is made of them."""

import sqlite3
import time

import pytest

import shell

SECONDS_TO_FREE = 0.5 if shell.SANITIZED else 0.1  # hundreds of megabytes

TEXTS = """WITH t(text) AS MATERIALIZED (SELECT hex(zeroblob(131072)))
SELECT npy_array(text) FROM t CROSS JOIN npy_rows(npy_from_data(zeroblob(100000), 'u1', '[-1]'))"""


def test_nothing_is_made_of_texts_that_were_gathered():
    db = shell.connect()
    deadline = time.process_time() + 0.05
    late_at = []
    db.set_progress_handler(lambda: time.process_time() > deadline and (late_at.append(time.process_time()) or True), 100)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        db.execute(TEXTS).fetchall()
    assert time.process_time() - late_at[0] < SECONDS_TO_FREE
