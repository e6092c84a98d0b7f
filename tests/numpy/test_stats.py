"""npy_stats: against NumPy where it is exact, and against rational numbers where it is not."""

import json
import math
import sqlite3
import zlib
from fractions import Fraction

import numpy as np
import pytest
import shell

from arrays import both_byte_orders, containers, npy_bytes, npz_bytes, object_npy_bytes, random_shape, seeded_generator
from expected import error_of, little_endian, scalar_value

COLUMNS = "path name field_name at count nulls infs zeros min max mean std sum error argmin argmax var m2 crc32".split()
EPSILON = 2.0**-53


def stats(db, source, *arguments, where=""):
    marks = ", ".join("?" * (1 + len(arguments)))
    sql = f"SELECT {', '.join(COLUMNS)} FROM npy_stats({marks}) {where}"
    return [dict(zip(COLUMNS, row)) for row in db.execute(sql, (source, *arguments))]


def one(db, source, *arguments):
    [row] = stats(db, source, *arguments)
    return row


# --- moments against rational numbers ----------------------------------------------------------------------


def exact_moments(values):
    """Sum, mean and variance of finite numbers, as fractions."""
    numbers = [Fraction(value) for value in values]
    total = sum(numbers, Fraction(0))
    mean = total / len(numbers)
    return total, mean, sum((x - mean) ** 2 for x in numbers) / len(numbers)


def distance(got, exact):
    return abs(Fraction(got) - exact)


def assert_accurate(row, array, label):
    """At least as near to the truth as NumPy in float64, or as near as an ulp or a few can be."""
    values = [item for item in array.ravel().tolist()]
    total, mean, var = exact_moments(values)
    magnitude = sum(abs(Fraction(x)) for x in values)
    with np.errstate(all="ignore"):
        doubles = array.astype("f8")
        theirs = [float(np.sum(doubles)), float(np.mean(doubles)), float(np.var(doubles))]
    error = lambda value, exact: distance(value, exact) if math.isfinite(value) else math.inf
    tiny = Fraction(5e-324)
    allowed = 4 * EPSILON * magnitude + tiny
    if array.dtype.kind in "biu":
        assert int(row["sum"]) == total, label
    else:
        assert distance(row["sum"], total) <= max(error(theirs[0], total), allowed), label
    assert distance(row["mean"], mean) <= max(error(theirs[1], mean), 2 * allowed / len(values) + tiny), label
    if var < Fraction(1e308) and var > Fraction(1e-290):
        assert distance(row["var"], var) <= max(error(theirs[2], var), 16 * EPSILON * var), (label, row["var"], float(var))
        assert math.isclose(row["std"], math.sqrt(row["var"]), rel_tol=1e-15)
        assert math.isclose(row["m2"], row["var"] * len(values), rel_tol=1e-12)


def hostile_reals(rng, n):
    """Arrays on which naive formulas fail."""
    noise = rng.standard_normal(n)
    yield "noise", noise
    yield "a large offset", noise + 1e9
    yield "a very large offset", noise + 2.0**53
    yield "an offset in the last place", 1.0 + noise * 2.0**-50
    yield "alternating signs", np.where(np.arange(n) % 2 == 0, 1e16, -1e16) + noise
    yield "scales", noise * 10.0 ** rng.integers(-150, 150, n)
    yield "denormals", (rng.integers(-1000, 1000, n) * 5e-324)
    yield "one outlier", np.concatenate([[1e300], noise[1:]])
    yield "equal", np.full(n, 0.1)
    yield "near the limit", rng.uniform(0.5, 1, n) * 1.7e308
    yield "signed zeros", np.where(rng.random(n) < 0.5, 0.0, -0.0)
    yield "a step", np.repeat([1e8, 1e8 + 1], [n // 2, n - n // 2])


@pytest.mark.parametrize("n", [1, 2, 3, 100, 1023, 1024, 1025, 5000])
def test_reals_are_as_accurate_as_numpy(connect, n):
    rng, db = seeded_generator(), connect()
    with np.errstate(all="ignore"):
        for label, array in hostile_reals(rng, n):
            for dtype in ("<f8", ">f8", "<f4", "f2"):
                narrowed = array.astype(dtype)
                if not np.isfinite(narrowed).all():
                    continue
                row = one(db, npy_bytes(narrowed))
                assert (row["count"], row["nulls"], row["infs"]) == (n, 0, 0)
                assert row["min"] == narrowed.min() and row["max"] == narrowed.max(), label
                if label == "near the limit":
                    mean = exact_moments(narrowed.tolist())[1]  # NumPy's overflows
                    assert distance(row["mean"], mean) <= Fraction(1e-13) * mean
                else:
                    assert_accurate(row, narrowed, f"{label} {dtype} {n}")


def test_integers_are_exact(connect):
    rng, db = seeded_generator(), connect()
    for dtype in "? i1 i2 i4 i8 u1 u2 u4 u8 >i2 >u4 >i8 >u8".split():
        dtype = np.dtype(dtype)
        for n in (1, 7, 1024, 3000):
            low, high = (0, 2) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
            extremes = rng.choice(np.array([low, high, 0, high // 2], "O"), n)
            near = np.array([int(high) - int(x) for x in rng.integers(0, 2, n)], "O")
            for label, numbers in (("extremes", extremes), ("near the limit", near)):
                array = np.array([int(x) > 0 if dtype.kind == "b" else int(x) for x in numbers], dtype)
                row = one(db, npy_bytes(array))
                assert_accurate(row, array, f"{label} {dtype} {n}")
                assert (row["count"], row["zeros"]) == (n, int((array == 0).sum()))
                assert (row["min"], row["max"]) == (scalar_value(array.min()), scalar_value(array.max()))
                assert (row["argmin"], row["argmax"]) == (array.argmin(), array.argmax())


def test_a_sum_beyond_int64_is_decimal_text(connect):
    db = connect()
    assert one(db, npy_bytes(np.full(4, 2**63 - 1)))["sum"] == str(4 * (2**63 - 1))
    assert one(db, npy_bytes(np.full(3, -(2**63))))["sum"] == str(-3 * 2**63)
    assert one(db, npy_bytes(np.array([2**63 - 1, 1, -1])))["sum"] == 2**63 - 1


def test_nan_and_infinities(connect):
    rng, db = seeded_generator(), connect()
    for dtype in ("<f8", "<f4", ">f8", "f2"):
        for n in (5, 1024, 4000):
            array = rng.integers(-9, 9, n).astype(dtype)
            array[rng.random(n) < 0.2] = np.nan
            array[0] = np.nan
            finite = array[np.isfinite(array)]
            row = one(db, npy_bytes(array))
            assert row["nulls"] == np.isnan(array).sum() and row["count"] == len(finite)
            assert row["zeros"] == (array == 0).sum()
            if len(finite):
                assert_accurate(row, finite, f"{dtype} {n}")
                assert (row["argmin"], row["argmax"]) == (np.nanargmin(array), np.nanargmax(array))
            for infinities, total in (([np.inf], math.inf), ([-np.inf], -math.inf), ([np.inf, -np.inf], None)):
                with_infinities = np.concatenate([array, np.array(infinities, dtype)])
                row = one(db, npy_bytes(with_infinities))
                assert row["infs"] == len(infinities) and row["count"] == len(finite) + len(infinities)
                assert row["sum"] == row["mean"] == total and row["std"] is row["m2"] is None
                assert row["min"] == np.nanmin(with_infinities) and row["max"] == np.nanmax(with_infinities)
    row = one(db, npy_bytes(np.full(3, np.nan)))
    assert (row["count"], row["nulls"], row["sum"], row["min"], row["mean"], row["argmin"]) == (0, 3, 0.0, None, None, None)


# --- everything against NumPy ------------------------------------------------------------------------------


def test_every_container_layout_and_slice(connect):
    rng, db = seeded_generator(), connect()
    slices = ["", "::-1", "..., ::2", "1:", "None, ...", "-1"]
    for dtype in both_byte_orders("i4") + both_byte_orders("f8") + ["u1", "<i8"]:
        for _ in range(6):
            shape = random_shape(rng, int(rng.integers(1, 4)))
            array = np.array(rng.integers(-100, 100, shape) % 251, dtype)
            array = np.asfortranarray(array) if rng.random() < 0.5 else array
            slice_text = str(rng.choice(slices)) if array.size else ""
            part = eval(f"array[{slice_text or '...'}]")
            for label, source, member in containers(array):
                row = one(db, source, *(member or ("",)), slice_text)
                assert row["count"] == part.size, label
                assert row["sum"] == part.sum(), label
                assert row["crc32"] == zlib.crc32(little_endian(np.asarray(part)).tobytes()), label
                if part.size:
                    assert (row["min"], row["max"]) == (part.min(), part.max())
                    where = np.arange(array.size).reshape(array.shape)
                    where = np.asarray(eval(f"where[{slice_text or '...'}]"))
                    assert row["argmin"] == where.ravel()[part.argmin()], (label, slice_text)
                    assert row["argmax"] == where.ravel()[part.argmax()], (label, slice_text)


def reduce_with_numpy(array, axes, function):
    return function(array, axis=tuple(axes))


def test_axes(connect):
    rng, db = seeded_generator(), connect()
    for _ in range(150):
        rank = int(rng.integers(1, 5))
        shape = tuple(int(x) for x in rng.integers(0 if rng.random() < 0.1 else 1, 6, rank))
        if rng.random() < 0.2:  # more coordinates than are made at a time, or more items than a chunk has
            shape = shape[:-1] + (int(rng.choice([1500, 5000])),)
        dtype = str(rng.choice(["<f8", ">i4", "<f4", "<i8", "u1"]))
        array = np.array(rng.integers(0, 200, shape), dtype)
        if rng.random() < 0.4:
            array = np.asfortranarray(array)
        axes = sorted(int(x) for x in rng.choice(rank, int(rng.integers(1, rank + 1)), replace=False))
        named = [axis - rank if rng.random() < 0.3 else axis for axis in axes]
        argument = named[0] if len(named) == 1 and rng.random() < 0.7 else json.dumps(named)
        source = npz_bytes({"a": array}, str(rng.choice(["stored", "deflate"])))
        slice_text = str(rng.choice(["", "::-1", "..., ::2"]))
        part = eval(f"array[{slice_text or '...'}]")
        rows = stats(db, source, "a", slice_text, argument)
        kept = [axis for axis in range(rank) if axis not in axes]
        coordinates = list(np.ndindex(*[part.shape[axis] for axis in kept]))
        assert len(rows) == len(coordinates), (shape, axes)
        indices = [eval(f"of_axis[{slice_text or '...'}]", {"of_axis": of_axis}) for of_axis in np.indices(array.shape)]
        file_index = lambda axis, i: int(indices[axis].take(i, axis).flat[0])
        for row, coordinate in list(zip(rows, coordinates))[:: max(1, len(rows) // 20)]:
            items = part[tuple(coordinate[kept.index(axis)] if axis in kept else slice(None) for axis in range(rank))]
            if part.size:
                at = [file_index(axis, i) for axis, i in zip(kept, coordinate)]
                assert row["at"] == (at[0] if len(kept) == 1 else json.dumps(at).replace(" ", ""))
            exact = items.sum(dtype="f8" if dtype == "<f4" else None)  # NumPy adds float32 up in float32
            assert row["count"] == items.size and row["sum"] == exact and row["crc32"] is None
            if not items.size:
                continue
            assert (row["min"], row["max"]) == (items.min(), items.max())
            assert math.isclose(row["mean"], float(items.mean(dtype="f8")), rel_tol=1e-14)
            assert math.isclose(row["var"], float(items.var(dtype="f8")), rel_tol=1e-12, abs_tol=1e-12)
            if len(axes) == 1:
                assert row["argmax"] == file_index(axes[0], int(items.argmax())), (shape, axes, slice_text)
            else:
                assert row["argmax"] == items.argmax()


# More coordinates than a group has (NPYX_GROUP_NSTATS); columns in parts of tiles; runs that a block ends within.
SHORT = [((3, 40000), 0), ((40000, 3), 1), ((40000, 3), 0), ((5, 7, 3000), 1), ((7, 3, 2001), (0, 2)), ((2, 20001, 2), 0), ((3001, 5, 3), (0, 2)), ((33, 17, 65), 1)]
OF_SHORT = [(dtype, shape, axis) for dtype in ("<f8", "<f4", ">f4", "<f2", "u1", ">i4", "?", "<i8") for shape, axis in SHORT]


@pytest.mark.parametrize("dtype, shape, axis", shell.some(OF_SHORT, 9))
def test_short_axes(connect, dtype, shape, axis):
    """Of many coordinates with few items each, places included: all of them at once, if sums allow (reduction_columns.c)."""
    rng = seeded_generator()
    array = np.round(rng.normal(size=shape) * 3)
    if "f" in dtype:
        for special in (np.nan, np.inf, -np.inf, -0.0):
            array[rng.random(shape) < 0.01] = special
        if dtype == "<f8" and rng.random() < 0.5:
            array[rng.random(shape) < 0.001] = 1.7e308  # two of these have no sum
    array = (array if "f" in dtype else np.abs(array) if dtype == "u1" else array).astype(dtype)
    moved = np.moveaxis(array, axis, range(-len(np.atleast_1d(axis)), 0))
    rows = moved.reshape(-1, math.prod(np.take(shape, axis)) if isinstance(axis, tuple) else shape[axis])
    numbers = rows.astype("f8") if "f" in dtype else rows.astype("i8")
    is_null, is_inf = np.isnan(numbers), np.isinf(numbers)
    got = connect().execute("SELECT count, nulls, infs, zeros, min, max, argmin, argmax, mean, std FROM npy_stats(?, '', '', ?)", (npy_bytes(array), json.dumps(axis))).fetchall()
    assert len(got) == len(rows)
    columns = [np.array([np.nan if value is None else value for value in column], "f8") for column in zip(*got)]
    count, nulls, infs, zeros, least, greatest, argmin, argmax, mean, std = columns
    assert (nulls == is_null.sum(1)).all() and (count == (~is_null).sum(1)).all()
    assert (infs == is_inf.sum(1)).all() and (zeros == (numbers == 0).sum(1)).all()
    some = ~is_null.all(1)
    numbers, rows, is_inf = numbers[some], rows[some], is_inf[some]
    assert (least[some] == np.nanmin(numbers, 1)).all() and (greatest[some] == np.nanmax(numbers, 1)).all()
    if not isinstance(axis, tuple):  # a place along several axes is a flat one in the whole array
        for place, value in ((argmin, least), (argmax, greatest)):  # numpy.nanargmin takes a NaN for an infinity
            assert (place[some] == (numbers == value[some][:, None]).argmax(1)).all()
    finite = ~is_inf.any(1)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = numbers[finite] / 16  # so that no sum overflows
        np.testing.assert_allclose(mean[some][finite] / 16, np.nanmean(scaled, 1), rtol=1e-12, atol=1e-13)
        usual = np.abs(np.nan_to_num(scaled)).max(1) < 1e100
        np.testing.assert_allclose(std[some][finite][usual] / 16, np.nanstd(scaled[usual], 1), rtol=1e-9, atol=1e-9)


def test_axes_that_are_none(connect):
    db, array = connect(), npy_bytes(np.zeros((2, 3)))
    for axis, message in (
        (2, "axis 2 is out of range for an array of 2 dimensions"),
        (-3, "axis -3 is out of range for an array of 2 dimensions"),
        ("[0, 0]", "axis 0 is named twice"),
        ("[0, -2]", "axis -2 is named twice"),
        ("[0.5]", "axis is an integer or a list of integers, as in '[0, 2]'"),
        ("x", "axis is an integer or a list of integers, as in '[0, 2]'"),
        (1.5, "axis is an integer or a list of integers, as in '[0, 2]'"),
        (b"0", "axis is an integer or a list of integers, as in '[0, 2]'"),
    ):
        assert message in error_of(db, "SELECT * FROM npy_stats(?, '', '', ?)", array, axis)
    assert "axis is for numbers" in error_of(db, "SELECT * FROM npy_stats(?, '', '', 0)", npy_bytes(np.array(["a"])))
    assert stats(db, array, "", "", None) == []
    assert len(stats(db, array, "", "", "")) == 1 and stats(db, array, "", "", "")[0]["at"] is None
    assert [row["at"] for row in stats(db, array, "", "", "[]")] == ["[0,0]", "[0,1]", "[0,2]", "[1,0]", "[1,1]", "[1,2]"]
    assert [row["at"] for row in stats(db, array, "", "", "[0, 1]")] == ["[]"]


def test_fields(connect):
    rng, db = seeded_generator(), connect()
    inner = np.dtype([("k", ">i8"), ("v", "<u2", (2, 2))])
    array = np.zeros((40, 30), [("x", "<f4"), ("s", "S3"), ("n", inner, (2,)), ("d", "M8[D]")])
    array["x"] = rng.integers(-9, 9, array.shape)
    array["s"] = rng.choice([b"a", b"bcd", b""], array.shape)
    array["n"]["k"] = rng.integers(-(2**62), 2**62, array["n"]["k"].shape)
    array["n"]["v"] = rng.integers(0, 2**16, array["n"]["v"].shape)
    array["d"] = rng.integers(0, 20000, array.shape).astype("M8[D]")
    for source in (npy_bytes(array), npy_bytes(np.asfortranarray(array))):
        rows = {row["field_name"]: row for row in stats(db, source)}
        assert list(rows) == ["x", "s", "n.k", "n.v", "d"]
        for name, part in (("x", array["x"]), ("n.k", array["n"]["k"]), ("n.v", array["n"]["v"])):
            row = rows[name]
            assert row["count"] == part.size and int(row["sum"]) == sum(int(x) for x in part.ravel())
            assert (row["min"], row["max"], row["argmin"]) == (part.min(), part.max(), part.argmin()), name
            assert row["crc32"] == zlib.crc32(little_endian(np.ascontiguousarray(part)).tobytes())
            assert row["count"] == one(db, source, "", "", "", name)["count"]
        assert (rows["s"]["min"], rows["s"]["max"], rows["s"]["sum"]) == ("", "bcd", None)
        assert rows["d"]["min"] == str(array["d"].min()) and rows["d"]["sum"] is None
        assert rows["d"]["mean"] == str(np.datetime64(round(array["d"].astype("i8").mean()), "D"))
        [alone] = stats(db, source, "", "", "", "n.v")
        assert alone["field_name"] is None and alone["sum"] == rows["n.v"]["sum"]
    by_column = stats(db, npy_bytes(array[["x", "d"]]), "", "", 0)
    assert len(by_column) == 60 and [row["field_name"] for row in by_column[:2]] == ["x", "d"]
    assert [row["sum"] for row in by_column[::2]] == array["x"].sum(axis=0, dtype="f8").tolist()


def test_dtype_and_shape_are_those_of_what_a_row_is_about(connect, tmp_path):
    db, path = connect(), str(tmp_path / "x.npy")
    inner = np.dtype([("k", ">i8"), ("v", "<u2", (2, 3))])
    arrays = [np.zeros(shape, dtype) for dtype in ("<f4", ">i2", "U3", "S0", "M8[ns]", "?", "c16") for shape in ((), (0,), (5,), (4, 0, 2), (2, 3, 4))]
    arrays += [np.asfortranarray(array) for array in arrays] + [np.zeros(shape, [("x", "f4"), ("n", inner, (2,))]) for shape in ((), (3,), (4, 5))]
    described = "SELECT field_name, dtype, shape, at FROM npy_stats(?, '', ?, ?)"
    for array in arrays:
        np.save(path, array)
        for text in ("", "...", "::-2", "1:, ..., :1", "..., None", "1, ..."):
            try:
                part = array[eval(f"np.s_[{text}]")] if text else array
            except IndexError:
                continue
            part = np.asarray(part)
            leaves = [(None, part)] if part.dtype.names is None else [("x", part["x"]), ("n.k", part["n"]["k"]), ("n.v", part["n"]["v"])]
            want = [(name, leaf.dtype.name, json.dumps(leaf.shape).replace(" ", "")) for name, leaf in leaves]
            assert [row[:3] for row in db.execute(described, (path, text, ""))] == want, (array.dtype, array.shape, text)
            if part.ndim and array.dtype.kind in "fi":  # each coordinate is of the same array
                rows = db.execute(described, (path, text, 0)).fetchall()
                assert len(rows) == math.prod(part.shape[1:]) and {row[:3] for row in rows} <= set(want)
        whole = db.execute("SELECT dtype, shape FROM npy_meta(?)", (path,)).fetchall()
        assert array.dtype.names is not None or db.execute("SELECT dtype, shape FROM npy_stats(?)", (path,)).fetchall() == whole
    assert db.execute("SELECT json_array(shape), dtype FROM npy_stats(?) WHERE view = 'bfloat16'", (npy_bytes(np.zeros((2, 3), "u2")),)).fetchall() == [("[[2,3]]", "bfloat16")]
    assert db.execute("SELECT DISTINCT dtype, shape, label FROM npy_stats(?1) WHERE by = ?1", (npy_bytes(np.arange(3)),)).fetchall() == [("int64", "[3]", i) for i in range(3)]
    assert db.execute("SELECT dtype, shape, error_kind FROM npy_stats(?) WHERE on_error = 'row'", (b"nothing",)).fetchall() == [(None, None, "format")]


def test_other_types(connect):
    db = connect()
    row = one(db, npy_bytes(np.array([1 + 2j, complex(np.nan, 0), 3 - 1j, 0, complex(0, np.inf)])))
    assert (row["count"], row["nulls"], row["zeros"], row["infs"]) == (4, 1, 1, 1)
    assert row["sum"] == "[4.0,9e999]" and row["min"] is None and row["std"] is None
    row = one(db, npy_bytes(np.array([1 + 2j, 3 - 1j], ">c8")))
    assert (row["sum"], row["mean"]) == ("[4.0,1.0]", "[2.0,0.5]")
    row = one(db, npy_bytes(np.array(["NaT", "2020-01-31", "2020-02-02"], "M8[D]")))
    assert (row["count"], row["nulls"], row["min"], row["max"], row["mean"]) == (2, 1, "2020-01-31", "2020-02-02", "2020-02-01")
    day = np.array(["2026-01-01T00:00:00.123456789", "2026-01-01T00:00:00.123456791"], "M8[ns]")
    assert one(db, npy_bytes(day))["mean"] == "2026-01-01 00:00:00.123456790"
    row = one(db, npy_bytes(np.array([5, "NaT", -2], "m8[s]")))
    assert (row["count"], row["nulls"], row["min"], row["max"], row["sum"], row["mean"]) == (2, 1, -2, 5, 3, 1.5)
    row = one(db, npy_bytes(np.array(["b", "\U0001f600", "\uffff", "a"])))
    assert (row["min"], row["max"], row["argmax"], row["zeros"]) == ("a", "\U0001f600", 1, None)
    row = one(db, npy_bytes(np.array([b"\x01\x02", b"\x03\x04"], "V2")))
    assert (row["count"], row["min"], row["nulls"]) == (2, None, 0)
    for dtype, view in (("u2", "bfloat16"), ("u1", "float8_e4m3fn")):
        row = one(db, npy_bytes(np.arange(100, dtype=dtype)), "", "", "", "", view)
        values = [v for (v,) in db.execute("SELECT value FROM npy_rows(?, '', '', '', ?)", (npy_bytes(np.arange(100, dtype=dtype)), view))]
        assert row["max"] == max(values) and math.isclose(row["sum"], math.fsum(values), rel_tol=1e-15)
    long = np.array([1.5, 2.5, np.nan], "f16")
    assert one(db, npy_bytes(long))["sum"] == 4.0
    row = one(db, object_npy_bytes())
    assert (row["count"], row["nulls"], row["min"], row["mean"]) == (0, 3, None, None)
    for shape in ((), (0,), (3, 0)):
        row = one(db, npy_bytes(np.zeros(shape)))
        assert row["count"] == math.prod(shape) and row["sum"] == 0.0 and (row["min"] is None) == (0 in shape)


def test_items_of_size_0_cost_nothing(connect):
    from formats import npy

    db = connect()
    for descr in ("|S0", "<U0", "|V0"):
        assert one(db, npy(descr, (2**63 - 1,), b""))["count"] == 2**63 - 1
    assert one(db, npy([("a", "|S0", (1000000, 1000))], (2**62,), b""))["count"] == 2**63 - 1


def test_large_arrays_with_another_thread(connect, tmp_path):
    rng, db, path = seeded_generator(), connect(), str(tmp_path / "x.npy")
    for dtype in ("<f8", "<f4", "<i8", ">f4", "u1"):
        array = rng.integers(0, 100, 12_000_000 // np.dtype(dtype).itemsize).astype(dtype)
        array[len(array) // 3], array[len(array) // 2] = 101, 102
        array = array.reshape(-1, 10)[:, :] if rng.random() < 0.5 else array
        np.save(path, np.asfortranarray(array) if rng.random() < 0.3 else array)
        row = one(db, path)
        assert (row["count"], row["sum"]) == (array.size, array.sum(dtype="f8"))
        assert (row["argmax"], row["max"]) == (array.argmax(), 102)
        assert row["crc32"] == zlib.crc32(little_endian(array).tobytes())
        assert math.isclose(row["var"], float(np.var(array, dtype="f8")), rel_tol=1e-11)
        [(count, total, var)] = db.execute("SELECT count, sum, var FROM npy_stats(?)", (path,)).fetchall()
        assert (count, total) == (array.size, row["sum"]) and math.isclose(var, row["var"], rel_tol=1e-13)


# --- in SQL ------------------------------------------------------------------------------------------------


def test_a_bad_file_does_not_end_a_survey(connect, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.npy").write_bytes(npy_bytes(np.arange(3)))
    (tmp_path / "b.npy").write_bytes(npy_bytes(np.arange(3))[:-1])
    (tmp_path / "c.npy").write_bytes(b"nothing")
    (tmp_path / "d.npz").write_bytes(npz_bytes({"x": np.arange(4), "y": np.arange(5)}))
    (tmp_path / "e.npy").write_bytes(object_npy_bytes())
    db = connect()
    rows = stats(db, "*")
    assert [(row["path"], row["name"], row["count"]) for row in rows] == [
        ("a.npy", "", 3),
        ("b.npy", "", None),
        ("c.npy", "", None),
        ("d.npz", "x", 4),
        ("d.npz", "y", 5),
        ("e.npy", "", 0),
    ]
    assert ["truncated" in rows[1]["error"], rows[0]["error"], "c.npy: " in rows[2]["error"]] == [True, None, True]
    assert (rows[5]["error"], rows[5]["nulls"]) == (None, 3)
    assert len(stats(db, "*", where="WHERE on_error = 'skip'")) == 4
    assert "b.npy" in error_of(db, "SELECT * FROM npy_stats('*') WHERE on_error = 'raise'")
    assert "truncated" in error_of(db, "SELECT * FROM npy_stats('b.npy')")
    [row] = stats(db, "b.npy", where="WHERE on_error = 'row'")
    assert "truncated" in row["error"]
    joined = db.execute("SELECT m.path, s.count FROM npy_meta('*') AS m JOIN npy_stats(m.path, m.idx) AS s WHERE m.error IS NULL AND m.has_objects = 0")
    assert joined.fetchall() == [("a.npy", 3), ("d.npz", 4), ("d.npz", 5)]
    assert db.execute("SELECT count(*) FROM npy_stats('d.npz') WHERE name = 'y' OR count = 4").fetchone() == (2,)


def test_damage_that_shows_at_the_end(connect, tmp_path):
    contents = bytearray(npz_bytes({"a": np.arange(100_000), "b": np.arange(3)}))
    contents[5000] ^= 1
    (tmp_path / "x.npz").write_bytes(contents)
    rows = stats(connect(), str(tmp_path / "x.npz"), where="WHERE on_error = 'row'")
    assert "CRC" in rows[0]["error"] and rows[0]["count"] is None and rows[1]["count"] == 3


def test_partial_results_merge(connect):
    """Chan's rule in SQL, over the pieces of one array."""
    rng, db = seeded_generator(), connect()
    array = rng.standard_normal(10_000) + 1e6
    db.execute("CREATE TABLE parts(count, mean, m2)")
    for part in np.split(array, [1, 17, 900, 5000]):
        db.execute("INSERT INTO parts SELECT count, mean, m2 FROM npy_stats(?)", (npy_bytes(part),))
    [(count, mean, var)] = db.execute(
        "WITH whole AS (SELECT sum(count) AS n, sum(count * mean) / sum(count) AS mean FROM parts) "
        "SELECT n, whole.mean, (sum(m2) + sum(count * (parts.mean - whole.mean) * (parts.mean - whole.mean))) / n "
        "FROM parts, whole"
    ).fetchall()
    assert count == 10_000 and math.isclose(mean, array.mean(), rel_tol=1e-14)
    # each mean near 1e6 is rounded by up to 6e-11, which enters the variance times twice its distance from the whole's
    assert math.isclose(var, array.var(), rel_tol=1e-11)


def test_only_what_is_asked_for_is_read(connect, tmp_path):
    from arrays import write_sparse_npy
    from expected import counters, since

    path, db = str(tmp_path / "x.npy"), connect()
    write_sparse_npy(path, (1_000_000, 8))
    before = counters(db)
    assert db.execute("SELECT count(*) FROM npy_stats(?, '', '', 0)", (path,)).fetchone() == (8,)
    assert since(db, before)["bytes_read"] < 65536
    before = counters(db)
    assert db.execute("SELECT dtype, shape, field_name FROM npy_stats(?)", (path,)).fetchall() == [("float64", "[1000000,8]", None)]
    assert since(db, before)["bytes_read"] < 65536
    before = counters(db)
    assert db.execute("SELECT sum(zeros) FROM npy_stats(?, '', '', 0)", (path,)).fetchone() == (8_000_000,)
    assert since(db, before)["bytes_read"] <= 64_000_000 + 65536  # once
    before = counters(db)
    assert db.execute("SELECT zeros FROM npy_stats(?, '', ':1000')", (path,)).fetchone() == (8000,)
    assert since(db, before)["bytes_read"] <= 64_000 + 65536


def test_arguments_are_columns(connect):
    db, array = connect(), npy_bytes(np.arange(6).reshape(2, 3))
    sql = "SELECT axis, typeof(axis), slice, at, sum FROM npy_stats WHERE source = ? AND axis = 1 AND slice = '::-1'"
    assert db.execute(sql, (array,)).fetchall() == [(1, "integer", "::-1", 1, 12), (1, "integer", "::-1", 0, 3)]
    with pytest.raises(sqlite3.OperationalError, match="needs a source"):
        db.execute("SELECT * FROM npy_stats").fetchall()
    keys = [key for (key,) in db.execute("SELECT array_key FROM npy_stats(?, '', '', '[]')", (array,))]
    assert len(set(keys)) == 6
