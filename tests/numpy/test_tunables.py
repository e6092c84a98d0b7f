"""Sizes at which the code takes another path (src/base/tunables.h): each test fails where the path after one of them is
broken. Arrays are long enough for the build that has every size at its least (`make check-small`), and where that is not
long also for the released sizes.
"""

import json
import os

import numpy as np
import pytest

from arrays import npy_bytes, npy_text_bytes, npz_bytes, seeded_generator, ten_bytes
from expected import counters, since
from quantiles import asked, random_reals, wanted


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


@pytest.mark.parametrize("dtype", ["f8", ">f4", "f2", "i4", ">i8"])
@pytest.mark.parametrize("width", [2, 70])
def test_many_rows_along_an_axis_with_labels_and_without(db, dtype, width):
    rng, nrows = seeded_generator(), 20_000 if width == 2 else 3000
    array, labels = rng.integers(-100, 100, (nrows, width)).astype(dtype), rng.integers(0, 3, nrows)

    def asked(more, *arguments):
        sql = f"SELECT count, sum, min, max FROM npy_stats(?, '', '', 0) {more}"
        return db.execute(sql, (npy_bytes(array), *arguments)).fetchall()

    def wanted(rows):
        items = rows.astype("f8")
        return [(len(rows), *column) for column in zip(items.sum(0), items.min(0), items.max(0))]

    assert asked("ORDER BY at") == wanted(array)
    assert asked("WHERE by = ? ORDER BY label, at", npy_bytes(labels)) == sum((wanted(array[labels == i]) for i in range(3)), [])


@pytest.mark.parametrize("dtype", ["u1", "f8"])
@pytest.mark.parametrize("width", [1, 2, 15, 16, 300, 2000])
def test_long_and_short_rows_of_each_label(db, dtype, width):
    rng = seeded_generator()
    array, labels = rng.integers(0, 100, (90_000 // (width + 60), width)).astype(dtype), rng.integers(0, 3, 90_000 // (width + 60))
    got = db.execute(
        "SELECT count, sum, argmax FROM npy_stats(?) WHERE by = ? ORDER BY label", (npy_bytes(array), npy_bytes(labels))
    ).fetchall()
    places = np.arange(array.size).reshape(array.shape)
    for (count, total, place), rows in zip(got, [labels == i for i in range(3)]):
        assert (count, total, place) == (array[rows].size, array[rows].astype("f8").sum(), places[rows].ravel()[array[rows].argmax()])


# --- order -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", ">f8", "i4", ">i8", "u2", "u1"])
@pytest.mark.parametrize("variant", ["stored", "deflate"])
def test_quantiles_of_more_items_than_are_held(db, folder, dtype, variant):
    """A few and many of them, of items that are all different, nearly the same, and in order."""
    rng = seeded_generator()
    dtype = np.dtype(dtype)
    reals = [random_reals(rng, dtype.str[1:], n) for n in (90, 140, 200, 3000)]
    arrays = [*reals, rng.integers(0, 4, 150), rng.integers(0, 4, 3000), np.sort(reals[-1])]
    for array in [array.astype(dtype) for array in arrays]:
        (folder / "a.npz").write_bytes(npz_bytes({"a": array}, variant))
        for quantiles in ([0], [0.5], [0.95], [0, 0.01, 0.3, 0.5, 0.99, 1], np.linspace(0, 1, 100).tolist()):
            for method in ("lower", "higher"):
                assert asked(db, "a.npz", quantiles, method=method) == wanted(array, quantiles, None, method), (quantiles, method)


def test_the_middle_of_a_large_sorted_array(db, folder):
    """All that is near it lies in one block, which has more of it than there is room for."""
    array = np.arange(3_200_000, dtype="f4")
    np.save("a.npy", array)
    for quantiles in ([0.5], [0.25, 0.5, 0.75]):
        assert asked(db, "a.npy", quantiles, method="lower") == wanted(array, quantiles, None, "lower")


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


# --- an array that a function was called with before --------------------------------------------------------


@pytest.mark.parametrize("nbytes", [24, 40, 300, 5000])
def test_items_that_end_after_what_was_read_along(db, folder, nbytes):
    """Item by item, with steps back: windows on a file hold not a whole number of these units."""
    rng = seeded_generator()
    array = np.frombuffer(rng.integers(65, 91, 1500 * nbytes, "u1").tobytes(), f"S{nbytes}")
    np.save("a.npy", array)
    places = [max(0, i - int(rng.integers(0, 3))) for i in range(len(array))]
    got = db.execute("SELECT npy_get(array, w.value) FROM npy_file('a.npy') CROSS JOIN json_each(?) w", (json.dumps(places),)).fetchall()
    assert [value for (value,) in got] == [array[i].decode() for i in places]


def test_long_headers_are_not_kept(db, memory_used):
    """Of arrays in BLOBs, after the statement."""
    before = memory_used()
    for n in range(2, 8):
        text = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({n},), }}" + " " * (1 << 19)
        array = npy_text_bytes(text, np.arange(n, dtype="<i4").tobytes(), (2, 0))
        assert db.execute("SELECT npy_get(?1, 1), npy_size(?1)", (array,)).fetchall() == [(1, n)]
    assert memory_used() - before < 1 << 20


# --- many arrays -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [8, 9, 15, 4103])
def test_arrays_that_have_hits_are_remembered_when_others_are_forgotten(db, n):
    """Each is nearer than those before it; the last two are far, and come when there are more than are remembered."""
    distances = [*range(n + 10, 10, -1), 9000, 9001]
    contents = ten_bytes([np.full((1, 2), distance, "f4") for distance in distances], infos=[f"a{i}" for i in range(n + 2)])
    got = db.execute(
        "SELECT name, distance FROM npy_nearest(?, '', '', ?, 3, 'chebyshev')", (contents, npy_bytes(np.zeros(2)))
    ).fetchall()
    assert got == [(f"a{n - 1 - i}", 11 + i) for i in range(3)]
