"""Sizes at which the code takes another path (src/base/tunables.h): each test fails where the path behind one of them is
broken. Arrays are long enough for the build that has every size at its least (`make check-small`), and where that is not
long also for the released sizes.
"""

import os

import numpy as np
import pytest

from arrays import npy_bytes
from expected import counters, since


# --- chunks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 63, 64, 511, 512, 1023, 1298, 1299])
def test_a_difference_anywhere_in_a_long_field(db, at):
    dtype = [("k", "i4"), ("x", "f8", (1300,))]
    a = np.zeros(3, dtype)
    b = a.copy()
    b["x"][1, at] = 1
    got = db.execute("SELECT differing, first_at FROM npy_compare(?, ?)", (npy_bytes(a), npy_bytes(b))).fetchall()
    assert got == [(int((a != b).sum()), 1)]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u8", "i4"])
@pytest.mark.parametrize("is_falling", [False, True])
def test_the_range_of_a_histogram_has_the_last_item(db, dtype, is_falling):
    array = np.arange(1500).astype(dtype)[:: -1 if is_falling else 1]
    got = db.execute("SELECT lo, hi, count FROM npy_histogram(?) WHERE bins = 7", (npy_bytes(array),)).fetchall()
    counts, edges = np.histogram(array, 7)
    assert [row[2] for row in got] == counts.tolist()
    assert [row[0] for row in got] == edges[:-1].tolist() and got[-1][1] == edges[-1]


# --- objects -----------------------------------------------------------------------------------------------


def test_objects_are_kept_while_there_is_room(db, folder):
    """64 MiB of them. What is kept is not read again."""
    nbytes = 24 << 20

    def is_read(path):
        before = counters(db)
        assert db.execute("SELECT length(value) FROM npy_elements(?)", (path,)).fetchall() == [(nbytes,)]
        return since(db, before)["bytes_read"] > nbytes

    for path in ("a.npy", "b.npy", "c.npy"):
        np.save(path, np.array([bytes(nbytes)], object), allow_pickle=True)
    assert [is_read(path) for path in ("a.npy", "b.npy", "c.npy", "a.npy", "c.npy")] == [True, True, True, False, True]
    os.replace("c.npy", "d.npy")
    np.save("a.npy", np.zeros(3))
    assert db.execute("SELECT count(value) FROM npy_elements('a.npy')").fetchall() == [(3,)]
    assert [is_read("d.npy") for _ in range(2)] == [True, False]
