"""npy_unique against numpy.unique, with counts and first places."""

import numpy as np
import pytest

import quantiles
import shell
from arrays import both_byte_orders, few_values, npy_bytes, npz_bytes, object_npy_bytes, random_array, random_shape, seeded_generator
from expected import error_of, scalar_value

DATES = ["M8[D]", "M8[ns]", "m8[s]"]
TEXTS = ["S1", "S7", "U1", "U5"]


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def wanted(array):
    """(value as SQL has it, count, first place), NaN and NaT as one None at the end."""
    values, firsts, counts = np.unique(array.astype(array.dtype.newbyteorder("=")).ravel(), return_index=True, return_counts=True)
    return [(scalar_value(value), int(count), int(first)) for value, count, first in zip(values, counts, firsts)]


def asked(db, source, slice="", **more):
    where = " AND ".join(f"{name} = :{name}" for name in more) or "1"
    rows = db.execute(f"SELECT value, count, first FROM npy_unique(:source, '', :slice) WHERE {where}", dict(more, source=source, slice=slice)).fetchall()
    counted = db.execute(f"SELECT value, count FROM npy_unique(:source, '', :slice) WHERE {where}", dict(more, source=source, slice=slice)).fetchall()
    assert counted == [row[:2] for row in rows]  # without places it goes other ways
    return rows


@pytest.mark.parametrize("dtype", quantiles.REALS + DATES + TEXTS)
def test_random_arrays(db, dtype):
    rng = seeded_generator()
    for order in both_byte_orders(dtype):
        for _ in range(6):
            shape = random_shape(rng, int(rng.integers(0, 4)))
            array = few_values(rng, order, shape) if rng.random() < 0.6 else random_array(rng, order, shape, str(rng.choice(["C", "F"])))
            if array.dtype.kind == "f":
                array = np.where(rng.random(shape) < 0.2, -array * 0, array).astype(order)
            if array.dtype.kind == "b":
                array = array.view("u1") != 0
            if array.dtype.kind in "MUS":  # what SQL has no values for is an error of its own
                array = random_dates(rng, order, shape) if array.dtype.kind == "M" else rng.choice(np.array(["", "a", "b", "ab", "é" if dtype[0] == "U" else "z"]), shape).astype(order)
            assert asked(db, npy_bytes(array)) == wanted(array), (order, shape)


def random_dates(rng, dtype, shape):
    counts = rng.integers(-5, 5, shape).astype("i8")
    counts = np.where(rng.random(shape) < 0.2, -(2**63), counts)
    return counts.view(np.dtype(dtype).newbyteorder("=")).astype(dtype)


@pytest.mark.parametrize("threads", shell.some(["2", "1"], 2))
def test_large_arrays(connect, monkeypatch, threads):
    """Few different numbers, counted in blocks; many, which are listed; and both in one array."""
    monkeypatch.setenv("NPYEXT_THREADS", threads)
    db, rng, n = connect(), seeded_generator(), 2_600_000
    few, many = rng.integers(-50, 50, n), rng.random(n)
    with_nan = many.copy()
    with_nan[rng.random(n) < 0.1] = np.nan
    for array in (few, few.astype("f4"), few.astype(">i2"), many[: n // 4], with_nan[: n // 8], np.concatenate([many[: n // 4], np.round(many[: n // 4], 1), many[:1000]]), np.arange(n // 4) // 4):
        np.save("a.npy", array)
        values, firsts, counts = np.unique(array, return_index=True, return_counts=True)
        rows = np.array(db.execute("SELECT coalesce(value, 9e99), count FROM npy_unique('a.npy')").fetchall())
        assert np.array_equal(rows[:, 0], np.nan_to_num(values, nan=9e99)) and np.array_equal(rows[:, 1], counts)
    for array in (few, with_nan[: n // 8]):
        np.save("a.npy", array)
        values, firsts, counts = np.unique(array, return_index=True, return_counts=True)
        rows = db.execute("SELECT value, count, first FROM npy_unique('a.npy')").fetchall()
        assert [row[1:] for row in rows] == list(zip(counts.tolist(), firsts.tolist()))


def wanted_by(array, labels):
    """The same for each label: [(label, value, count, first place)]."""
    labels = labels.astype(labels.dtype.newbyteorder("="))
    places = np.arange(array.size).reshape(array.shape)
    rows = []
    for label in np.unique(labels):
        is_of = np.isnan(labels) if label != label else labels == label
        rows += [(scalar_value(label), value, count, int(places[is_of].ravel()[first])) for value, count, first in wanted(array[is_of])]
    return rows


def asked_by(db, source, by, slice=""):
    sql = "SELECT label, value, count{} FROM npy_unique(:source, '', :slice) WHERE by = :by"
    rows = db.execute(sql.format(", first"), {"source": source, "slice": slice, "by": by}).fetchall()
    assert db.execute(sql.format(""), {"source": source, "slice": slice, "by": by}).fetchall() == [row[:3] for row in rows]
    return rows


@pytest.mark.parametrize("dtype", quantiles.REALS + DATES + TEXTS)
def test_by_labels(db, dtype):
    rng = seeded_generator()
    for label_dtype in rng.choice(["<i8", ">u2", "<f4", "?", "M8[s]", "<U2"], 3):
        shape = (int(rng.integers(1, 40)), *random_shape(rng, int(rng.integers(0, 3))))
        array = np.asarray(some_of(rng, np.dtype(dtype), shape), order=str(rng.choice(["C", "F"])))
        labels = some_of(rng, np.dtype(str(label_dtype)), shape[:1])
        assert asked_by(db, npy_bytes(array), npy_bytes(labels)) == wanted_by(array, labels), (shape, label_dtype)


def some_of(rng, dtype, shape):
    """Few different items, NaN and NaT among them."""
    if dtype.kind in "US":
        return rng.choice(np.array(["", "a", "b", "ab"]), shape).astype(dtype)
    if dtype.kind in "mM":
        return random_dates(rng, dtype, shape)
    array = rng.integers(0, 4, shape).astype(dtype)
    return np.where(rng.random(shape) < 0.2, np.nan, array).astype(dtype) if dtype.kind == "f" else array


def test_by_labels_of_a_slice(db):
    """Labels are those of the whole array's first axis."""
    array, labels = np.array([[1, 2], [1, 1], [3, 1], [2, 2]]), np.array([7, 8, 7, 8])
    np.save("a.npy", array)
    np.save("y.npy", labels)
    assert asked_by(db, "a.npy", "y.npy", "::-1, 0") == [(7, 1, 1, 0), (7, 3, 1, 4), (8, 1, 1, 2), (8, 2, 1, 6)]
    assert asked_by(db, "a.npy", "y.npy", "2") == [(7, 1, 1, 5), (7, 3, 1, 4)]
    assert asked_by(db, "a.npy", "y.npy", "None, 1:3") == [(7, 1, 1, 5), (7, 3, 1, 4), (8, 1, 2, 2)]
    assert db.execute("SELECT label FROM npy_unique('a.npy')").fetchall() == [(None,)] * 3
    assert "by has 4 labels, and the array's first axis 2 entries" in error_of(db, "SELECT count FROM npy_unique(?) WHERE by = 'y.npy'", npy_bytes(array[:2]))
    assert "labels are an array of one axis" in error_of(db, "SELECT count FROM npy_unique('a.npy') WHERE by = 'a.npy'")
    assert db.execute("SELECT count FROM npy_unique('a.npy') WHERE by = NULL").fetchall() == []


def test_by_labels_of_texts_without_bytes(db):
    labels = npy_bytes(np.array([2, 1, 2]))
    assert asked_by(db, npy_bytes(np.zeros((3, 4), "U0")), labels) == [(1, "", 4, 4), (2, "", 8, 0)]
    assert asked_by(db, npy_bytes(np.zeros((3, 0), "U0")), labels) == []
    assert asked_by(db, npy_bytes(np.zeros((3, 4), "U0")), labels, "1") == [(1, "", 4, 4)]


def test_by_labels_of_many_pairs(db):
    """More pairs than the table takes: they are listed, and sorted."""
    rng = seeded_generator()
    array, labels = rng.integers(0, 1000, 400_000), rng.integers(0, 300, 400_000)
    np.save("a.npy", array)
    np.save("y.npy", labels)
    pairs, counts = np.unique(labels * 1000 + array, return_counts=True)
    rows = np.array(db.execute("SELECT label, value, count FROM npy_unique('a.npy') WHERE by = 'y.npy'").fetchall())
    assert np.array_equal(rows[:, 0] * 1000 + rows[:, 1], pairs) and np.array_equal(rows[:, 2], counts)


def test_the_last_date_is_no_nat_as_a_label(db):
    """Both had one key."""
    labels = np.array([2**63 - 1, -(2**63), 2**63 - 1]).view("m8[ns]")
    rows = db.execute("SELECT label, count FROM npy_stats(?) WHERE by = ?", (npy_bytes(np.arange(3)), npy_bytes(labels))).fetchall()
    assert [(label is None, count) for label, count in rows] == [(False, 2), (True, 1)]


def test_places_are_those_of_npy_elements(db):
    array = np.array([[3, 1, 2], [1, 3, 3]])
    for order in "CF":
        np.save("a.npy", np.asarray(array, order=order))
        assert asked(db, "a.npy") == [(1, 2, 1), (2, 1, 2), (3, 3, 0)]
        assert asked(db, "a.npy", ":, ::-1") == [(1, 2, 1), (2, 1, 2), (3, 3, 0)]
        assert asked(db, "a.npy", "1") == [(1, 1, 3), (3, 2, 4)]
        rows = db.execute("SELECT u.value, e.value FROM npy_unique('a.npy') AS u JOIN npy_elements('a.npy') AS e ON e.idx = u.first").fetchall()
        assert len(rows) == 3 and all(a == b for a, b in rows)


def test_fields_and_views(db):
    array = np.array([(1, "b"), (2, "a"), (1, "b")], [("n", "i4"), ("t", "U1")])
    assert asked(db, npy_bytes(array), field="t") == [("a", 1, 1), ("b", 2, 0)]
    assert asked(db, npy_bytes(array), field="n") == [(1, 2, 0), (2, 1, 1)]
    assert asked(db, npy_bytes(np.array([0x3F80, 0x4000, 0x3F80], "u2")), view="bfloat16") == [(1, 2, 0), (2, 1, 1)]
    assert asked(db, npy_bytes(np.array([-0.0, 0.0, np.nan, -np.nan]))) == [(0, 2, 0), (None, 2, 2)]


def test_what_has_no_items_or_no_bytes(db):
    assert asked(db, npy_bytes(np.zeros((0, 3)))) == []
    assert asked(db, npy_bytes(np.array(7))) == [(7, 1, 0)]
    assert asked(db, npy_bytes(np.zeros(3, "U0"))) == [("", 3, 0)]
    assert asked(db, npy_bytes(np.zeros(0, "U0"))) == []


def test_archives_patterns_and_faults(db):
    np.save("a.npy", np.array([2, 2, 1]))
    with open("b.npz", "wb") as file:
        file.write(npz_bytes({"x": np.array([1.5]), "z": np.array([1j])}, "deflate"))
    rows = db.execute("SELECT path, name, value, count, error_kind FROM npy_unique('*.np?')").fetchall()
    assert rows == [("a.npy", "", 1, 1, None), ("a.npy", "", 2, 2, None), ("b.npz", "x", 1.5, 1, None), ("b.npz", "z", None, None, "value")]
    assert db.execute("SELECT count(*), count(DISTINCT array_key) FROM npy_unique('*.np?')").fetchone() == (4, 4)
    rows = db.execute("SELECT m.name, u.value FROM npy_meta('*.npz') AS m JOIN npy_unique(m.path, m.name) AS u WHERE m.dtype = 'float64'").fetchall()
    assert rows == [("x", 1.5)]
    assert db.execute("SELECT count FROM npy_unique('a.npy') WHERE value = 2").fetchall() == [(2,)]


@pytest.mark.parametrize("array, said", [(np.zeros(2, "c8"), "complex64"), (np.zeros(2, [("a", "i4")]), "these items are"), (np.zeros(2, "V3"), "void24")])
def test_errors(db, array, said):
    assert said in error_of(db, "SELECT value FROM npy_unique(?)", npy_bytes(array))
    assert "object" in error_of(db, "SELECT value FROM npy_unique(?)", object_npy_bytes())


def test_many_different_values_take_bounded_memory(connect, heap):
    """Without their places: what sorting takes and 16 bytes for each different value, not more for each item."""
    np.save("a.npy", np.tile(np.random.default_rng(1).permutation(100_000).astype("u4"), 120))
    heap(64 << 20)
    try:
        assert connect().execute("SELECT count(*), sum(count) FROM npy_unique('a.npy')").fetchone() == (100_000, 12_000_000)
    finally:
        heap(None)


def test_values_that_are_all_different_take_8_bytes_each(connect, heap):
    """In one list, which grows and is sorted once. Lists that are sorted one by one need twice as much."""
    np.save("a.npy", np.random.default_rng(1).permutation(6_000_000).astype("u4"))
    heap((1024 if shell.FLAVOUR == "small" else 64) << 20)  # the small build's blocks have few values, which go to a table
    try:
        assert connect().execute("SELECT count(*), sum(count) FROM npy_unique('a.npy')").fetchone() == (6_000_000, 6_000_000)
    finally:
        heap(None)
