"""npy_sum, npy_mean, ... of an array and along its axes, against NumPy's functions of the same names."""

import io
import json
import math
import warnings

import numpy as np
import pytest

from arrays import both_byte_orders, npy_bytes, object_npy_bytes, seeded_generator
from expected import counters, error_of, scalar_value, since

REALS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "f16"]
NAMES = ["sum", "mean", "std", "min", "max", "argmin", "argmax"]


def call(db, name, contents, *axis):
    return db.execute(f"SELECT npy_{name}(?{', ?' * len(axis)})", (contents, *axis)).fetchone()[0]


def load(contents):
    return np.load(io.BytesIO(contents))


def numpy_says(name, array, axis):
    """NumPy's function that leaves NaN out, in float64."""
    wide = array.astype("f8") if array.dtype.kind == "f" and array.dtype.itemsize < 8 and name in ("sum", "mean", "std") else array
    function = getattr(np, "nan" + name) if array.dtype.kind in "fc" else getattr(np, name)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(wide, axis=axis)


def random_items(rng, dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        items = rng.standard_normal(shape) * 4
        items[rng.random(shape) < 0.1] = np.nan
        items.reshape(-1)[: items.size : 7] = 1.5  # so that there is one everywhere, and ties
        return items.astype(dtype)
    low, high = (0, 2) if dtype.kind == "b" else (max(-9, int(np.iinfo(dtype).min)), min(2**40, int(np.iinfo(dtype).max)))
    return rng.integers(low, high, shape).astype(dtype)


@pytest.mark.parametrize("dtype", REALS)
def test_every_dtype(connect, dtype):
    rng, db = seeded_generator(), connect()
    for order in both_byte_orders(dtype) if dtype != "f16" else [np.dtype("f16")]:
        for shape in [(7,), (6, 7), (5, 7, 3)]:
            array = random_items(rng, order, shape)
            if array.dtype.kind == "f":
                array[..., 0] = 2.5
                array[0] = 0.5
            for contents in (npy_bytes(array), npy_bytes(np.asfortranarray(array))):
                for name in NAMES:
                    value, want = call(db, name, contents), numpy_says(name, array, None)
                    if name in ("mean", "std") or (name == "sum" and array.dtype.kind == "f"):
                        assert math.isclose(value, want, rel_tol=1e-12, abs_tol=1e-13), (name, order, shape)
                    else:
                        assert value == scalar_value(want), (name, order, shape)
                    for axis in range(array.ndim if array.ndim > 1 else 0):
                        got, want = load(call(db, name, contents, axis - array.ndim * (axis % 2))), numpy_says(name, array, axis)
                        assert got.shape == want.shape and got.dtype.isnative
                        if name in ("min", "max"):
                            assert got.dtype == array.dtype.newbyteorder("=")
                        if name == "sum":
                            assert got.dtype == np.dtype({"b": "i8", "i": "i8", "u": "u8", "f": "f8"}[array.dtype.kind])
                        if name in ("mean", "std") or got.dtype.kind == "f":
                            assert np.allclose(got.astype("f8"), want.astype("f8"), rtol=1e-12, atol=1e-13, equal_nan=True), (name, axis)
                        else:
                            assert np.array_equal(got, want), (name, order, shape, axis)


def test_several_axes_and_none(connect):
    rng, db = seeded_generator(), connect()
    array = rng.standard_normal((4, 5, 6))
    contents = npy_bytes(array)
    for axes in ([0, 1], [1, 2], [0, -1], (2, 0)):
        for name in ("sum", "mean", "std", "min", "max"):
            got = load(call(db, name, contents, json.dumps(list(axes))))
            assert np.allclose(got, getattr(np, name)(array, axis=tuple(axes)), rtol=1e-12)
    # where no axis is left NumPy gives a number, too
    assert math.isclose(call(db, "sum", contents, "[0, 1, 2]"), array.sum(), rel_tol=1e-12)
    assert call(db, "argmax", npy_bytes(array[0, 0]), 0) == array[0, 0].argmax()
    for nothing in (None, ""):
        assert call(db, "max", contents, nothing) == array.max()
    assert np.array_equal(load(call(db, "max", contents, "[]")), array)  # NumPy's axis=()


def test_dates_complex_numbers_and_texts(connect):
    db = connect()
    dates = np.array([["2020-01-03", "NaT", "2019-01-01"], ["2020-01-01", "2021-05-05", "2019-01-03"]], "M8[D]")
    contents = npy_bytes(dates)
    assert call(db, "min", contents) == "2019-01-01" and call(db, "argmax", contents) == 4
    assert np.array_equal(load(call(db, "max", contents, 0)), np.array(["2020-01-03", "2021-05-05", "2019-01-03"], "M8[D]"))
    assert np.array_equal(load(call(db, "mean", contents, 0)), np.array(["2020-01-02", "2021-05-05", "2019-01-02"], "M8[D]"))
    steps = npy_bytes(np.array([1, 2, 4, "NaT"], "m8[s]"))
    assert (call(db, "sum", steps), call(db, "mean", steps), call(db, "min", steps)) == (7, 7 / 3, 1)
    number = npy_bytes(np.array([[1 + 2j, 3 - 1j], [0, 1j]]))
    assert json.loads(call(db, "sum", number)) == [4.0, 2.0]
    assert np.array_equal(load(call(db, "mean", number, 1)), np.array([2 + 0.5j, 0.5j]))
    texts = npy_bytes(np.array(["b", "żółw", "a"]))
    assert (call(db, "min", texts), call(db, "max", texts), call(db, "argmin", texts)) == ("a", "żółw", 2)
    assert call(db, "max", npy_bytes(np.array([b"b", b"abc"]))) == "b"


def test_nothing_to_count(connect):
    db = connect()
    nothing, nans = npy_bytes(np.zeros(0)), npy_bytes(np.full(3, np.nan))
    assert [call(db, name, nothing) for name in NAMES] == [0.0, None, None, None, None, None, None]
    assert [call(db, name, nans) for name in NAMES] == [0.0, None, None, None, None, None, None]
    assert call(db, "max", npy_bytes(np.zeros(0, "i4"))) is None
    columns = np.array([[np.nan, 1.0], [np.nan, 2.0]])
    assert np.array_equal(load(call(db, "max", npy_bytes(columns), 0)), [np.nan, 2.0], equal_nan=True)
    assert error_of(db, "SELECT npy_argmax(?, 0)", npy_bytes(columns)).endswith("there is no argmax if there are no items, or only NaN")
    assert error_of(db, "SELECT npy_min(?, 1)", npy_bytes(np.zeros((2, 0), "i4"))).endswith("there is no min if there are no items, or only NaN")
    assert load(call(db, "mean", npy_bytes(np.zeros((0, 3))), 1)).shape == (0,)
    assert db.execute("SELECT npy_sum(NULL), npy_max(NULL, 0)").fetchone() == (None, None)


def test_a_sum_that_does_not_fit_is_an_error(connect):
    db = connect()
    large = np.array([2**63 - 1, 1])
    assert error_of(db, "SELECT npy_sum(?)", npy_bytes(large)).endswith("the sum is 9223372036854775808, which does not fit int64")
    unsigned = np.array([2**63, 5], "u8")
    assert int(call(db, "sum", npy_bytes(unsigned))) == 2**63 + 5
    assert error_of(db, "SELECT npy_sum(?, 0)", npy_bytes(np.array([[2**63], [2**63]], "u8"))).endswith(
        "the sum is 18446744073709551616, which does not fit uint64")


def test_what_is_no_array_of_numbers(connect):
    db = connect()
    assert error_of(db, "SELECT npy_mean(1.5)").endswith("takes an array, not a number; for the numbers in rows, use avg(value)")
    assert error_of(db, "SELECT npy_argmin(1)").endswith("takes an array, not a number")
    assert "npy_file('x.npy')" in error_of(db, "SELECT npy_sum('x.npy')")
    record = npy_bytes(np.zeros(2, [("a", "i4")]))
    assert error_of(db, "SELECT npy_sum(?)", record).endswith("items are structured; npy_stats has a row for each of their fields")
    assert error_of(db, "SELECT npy_min(?)", npy_bytes(np.zeros(2, "c8"))).endswith("there is no min of complex64 items")
    assert error_of(db, "SELECT npy_sum(?)", npy_bytes(np.zeros(2, "M8[D]"))).endswith("there is no sum of datetime64[D] items")
    assert error_of(db, "SELECT npy_std(?)", npy_bytes(np.array(["a"]))).endswith("there is no std of str32 items")
    assert "Python objects" in error_of(db, "SELECT npy_max(?)", object_npy_bytes((3,)))
    array = npy_bytes(np.zeros((2, 3)))
    assert error_of(db, "SELECT npy_sum(?, 2)", array).endswith("axis 2 is out of range for an array of 2 dimensions")
    assert error_of(db, "SELECT npy_sum(?, 'x')", array).endswith("axis is an integer or a list of integers, as in '[0, 2]'")
    assert error_of(db, "SELECT npy_sum(?, 1.5)", array).endswith("axis is an integer or a list of integers, as in '[0, 2]'")
    assert error_of(db, "SELECT npy_sum(?, '[0, -2]')", array).endswith("axis -2 is named twice")


def test_handles_are_read_once_and_not_held(connect, folder):
    rng, db = seeded_generator(), connect()
    array = rng.standard_normal((2000, 300)).astype("f4")
    np.save("x.npy", array)
    before = counters(db)
    [got] = db.execute("SELECT npy_mean(array, 0) FROM npy_file('x.npy')").fetchone()
    assert np.allclose(load(got), array.mean(0, dtype="f8"), atol=1e-12)
    assert since(db, before)["bytes_read"] <= array.nbytes + 4096
    rows = db.execute("SELECT row, npy_max(array), npy_argmin(array) FROM npy_rows('x.npy')").fetchall()
    assert rows == [(i, float(array[i].max()), int(array[i].argmin())) for i in range(2000)]


def test_many_results_come_in_groups(connect):
    rng, db = seeded_generator(), connect()
    array = rng.standard_normal((3, 20000))
    assert np.array_equal(load(call(db, "max", npy_bytes(array), 0)), array.max(0))
    assert np.array_equal(load(call(db, "argmax", npy_bytes(array.T), 1)), array.argmax(0))


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "f16"])
def test_places_in_rows(db, dtype):
    """Rows along the last axis have a way of their own: short ones, and those longer than what is looked at together."""
    rng = seeded_generator()
    for order in both_byte_orders(dtype):
        for length in (1, 2, 10, 511, 700, 1500):
            shape = (int(rng.integers(1, 9)), int(rng.integers(1, 9)), length)[int(rng.integers(0, 2)):]
            array = rng.integers(0, 2 if dtype == "?" else 5, shape).astype(order)
            if array.dtype.kind == "f":
                array = np.where(rng.random(shape) < 0.3, rng.choice([-np.inf, np.nan, -0.0, 0.0]), array)
                array[..., 0] = np.where(np.isnan(array).all(-1), -np.inf, array[..., 0])
                array = array.astype(order)
            if array.dtype.kind == "i":
                array = -array
            array = np.asarray(array, order=str(rng.choice(["C", "F"])))
            with np.errstate(all="ignore"):
                wanted = {"argmin": np.nanargmin(array.astype("f8"), -1), "argmax": np.nanargmax(array.astype("f8"), -1)}
            for name, places in wanted.items():
                assert np.array_equal(load(call(db, name, npy_bytes(array), -1)), places), (order, shape, name)


def test_rows_of_infinities_and_nan_have_places(db):
    rows = np.array([[np.nan, -np.inf, -np.inf], [np.nan, np.inf, np.nan], [np.inf, np.inf, 0], [-np.inf, -1e308, np.nan]])
    assert load(call(db, "argmax", npy_bytes(rows), 1)).tolist() == [1, 1, 0, 1]
    assert load(call(db, "argmin", npy_bytes(rows), 1)).tolist() == [1, 1, 2, 0]
    assert "there is no argmax if there are no items, or only NaN" in error_of(db, "SELECT npy_argmax(?, 1)", npy_bytes(np.array([[1.0, 2], [np.nan, np.nan]])))
