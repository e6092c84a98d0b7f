"""npy_compare against NumPy: equality as array_equal(equal_nan=True) has it, differences in extended precision."""

import itertools
import math
import os
import sqlite3
import struct

import numpy as np
import pytest

import shell
from arrays import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    ITEM_SIZE_ZERO,
    NPZ_VARIANTS,
    SCALARS,
    TEN_CODES,
    both_byte_orders,
    npy_bytes,
    npz_bytes,
    object_npy_bytes,
    random_array,
    random_shape,
    random_structured_dtype,
    seeded_generator,
    ten_bytes,
    zip_bytes,
)
from expected import counters, error_of, since
from formats import npy

COLUMNS = "name, status, max_abs, max_rel, rms, differing, first_at, error"


def compare(db, a, b, *on_error):
    marks = ", ".join("?" * (2 + len(on_error)))
    return db.execute(f"SELECT {COLUMNS} FROM npy_compare({marks})", (a, b, *on_error)).fetchall()


def assert_nan(db, first, second, a, b):
    """nan_a and nan_b of two sources that hold the arrays a and b: NaN and NaT, and NULL where nothing is compared, or what has none."""
    is_compared = expected(a, b)[4] is not None and a.dtype.kind in "biufcmM"
    want = tuple(int(np.isnan(wide(array)).sum()) if is_compared else None for array in (a, b))
    assert db.execute("SELECT nan_a, nan_b FROM npy_compare(?, ?)", (first, second)).fetchone() == want, (a, b)


def statuses(db, a, b, *on_error):
    return {row[0]: row[1] for row in compare(db, a, b, *on_error)}


# --- what NumPy says ---------------------------------------------------------------------------------------


def is_number(dtype):
    return dtype.kind in "biufc"


def same_but_for_order(a, b):
    return a.newbyteorder("<") == b.newbyteorder("<")


def wide(array):
    """Numbers in a type that holds them and their differences: x87's, exact for integers of 64 bits."""
    if array.dtype.kind in "mM":
        counts = array.view(array.dtype.str.replace(array.dtype.kind, "i").split("[")[0])
        return np.where(counts == -(2**63), np.longdouble("nan"), counts.astype("g"))
    with np.errstate(all="ignore"):
        numbers = array.astype("G" if array.dtype.kind == "c" else "g")
        if array.dtype.itemsize > 8:
            numbers.real = within_reach(numbers.real)
        if array.dtype.itemsize > 16:
            numbers.imag = within_reach(numbers.imag)
        return numbers


def within_reach(numbers):
    """x87 numbers beyond a double's range are what a double makes of them."""
    double = numbers.astype("d").astype("g")
    return np.where(np.isinf(double) | (np.abs(numbers) < 2.0**-900), double, numbers)


def differing(a, b):
    """For each element whether it differs."""
    if a.dtype.names is not None:
        differs = np.zeros(a.shape, bool)
        for name in a.dtype.names:
            found = differing(a[name], b[name])
            differs |= found.reshape(*a.shape, math.prod(found.shape[a.ndim :])).any(axis=-1)
        return differs
    if is_number(a.dtype) or a.dtype.kind in "mM":
        x, y = wide(a), wide(b)
        with np.errstate(invalid="ignore"):
            return (x != y) & ~(np.isnan(x) & np.isnan(y))
    if a.dtype.itemsize == 0:
        return np.zeros(a.shape, bool)
    raw = lambda array: np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"))).view(f"V{a.dtype.itemsize}")
    bytes_of = lambda array: [item.tobytes() for item in raw(array.reshape(-1))]
    found = [p != q for p, q in zip(bytes_of(a), bytes_of(b))]
    return np.array(found, bool).reshape(a.shape)


def numbers_of(a, b):
    """max_abs, max_rel, rms"""
    x, y = wide(a).reshape(-1), wide(b).reshape(-1)
    with np.errstate(all="ignore"):
        has_nan = np.isnan(x) | np.isnan(y)
        finite = np.isfinite(x) & np.isfinite(y)
        is_unbounded = bool((~has_nan & ~finite & (x != y)).any())
        x, y = x[finite], y[finite]
        if not len(x):
            return (math.inf if is_unbounded else None), None, None
        d, larger = np.abs(x - y), np.maximum(np.abs(x), np.abs(y))
        rel = np.where(larger == 0, 0, d / np.where(larger == 0, 1, larger))
        rms = np.sqrt(np.mean(d * d))
        return math.inf if is_unbounded else float(d.max()), float(rel.max()), float(rms)


def expected(a, b):
    """The columns from status to first_at."""
    if a.shape != b.shape:
        return ("shape",) + (None,) * 5
    same = same_but_for_order(a.dtype, b.dtype)
    if not same and not (is_number(a.dtype) and is_number(b.dtype)):
        return ("dtype",) + (None,) * 5
    differs = differing(a, b).reshape(-1)
    count = int(differs.sum())
    status = "dtype" if not same else "differs" if count else "equal"
    numbers = numbers_of(a, b) if a.dtype.kind in "biufcmM" else (None,) * 3
    return (status, *numbers, count, int(differs.argmax()) if count else None)


def assert_compared(row, a, b, label):
    want = expected(a, b)
    assert row[0] == want[0] and row[4:6] == want[4:6], (label, row, want)
    for got, number in zip(row[1:4], want[1:4]):
        assert (got is None) == (number is None), (label, row, want)
        is_close = got is None or got == number or math.isclose(got, number, rel_tol=1e-12)
        assert is_close, (label, row, want)


# --- random pairs ------------------------------------------------------------------------------------------


def random_items(rng, dtype, shape, order="C"):
    if dtype.kind in "fc" and dtype.itemsize in (12, 16, 24, 32) and dtype not in ("<c16", ">c16"):
        # of random bytes next to all would be beyond a double's range
        parts = rng.normal(0, 100, (*shape, 2)).astype("g")
        parts += rng.choice(np.array([0, 2.0**-60, -(2.0**-58)]), parts.shape).astype("g")
        values = parts[..., 0] + 1j * parts[..., 1] if dtype.kind == "c" else parts[..., 0]
        return np.asarray(values.astype(dtype), order=order)
    return random_array(rng, dtype, shape, order)


def altered(rng, array, count):
    """A copy in which some items are others."""
    copy = array.copy(order="K")
    other = random_items(rng, array.dtype, array.shape)
    for _ in range(count if array.size else 0):
        at = tuple(int(rng.integers(n)) for n in array.shape)
        copy[at] = other[at]
    return copy


def reordered(rng, array):
    """The same numbers in any byte order and memory order."""
    dtype = array.dtype if array.dtype.kind == "V" else array.dtype.newbyteorder(str(rng.choice(["<", ">"])))
    return np.asarray(array.astype(dtype), order=str(rng.choice(["C", "F"])))


def packed(rng, array):
    """The array in some container, as the only array of it."""
    kinds = ["npy"] + NPZ_VARIANTS + (["ten <", "ten >"] if array.dtype.str[1:] in TEN_CODES else [])
    kind = str(rng.choice(kinds))
    if kind == "npy":
        return npy_bytes(array)
    return ten_bytes([array], kind[-1]) if kind.startswith("ten") else npz_bytes({"it": array}, kind)


def pairs(rng):
    for dtype in itertools.chain(SCALARS + ITEM_SIZE_ZERO, (random_structured_dtype(rng) for _ in range(60))):
        for rank in range(4):
            shape = random_shape(rng, rank)
            for order in both_byte_orders(dtype) if np.dtype(dtype).names is None else [np.dtype(dtype)]:
                a = random_items(rng, order, shape, str(rng.choice(["C", "F"])))
                yield a, altered(rng, a, int(rng.integers(4)))


def source(rng, contents, path):
    """A BLOB, or the same in a file."""
    if rng.random() < 0.5:
        return contents
    path.write_bytes(contents)
    return str(path)


def test_random_pairs(db, tmp_path):
    rng = seeded_generator()
    for number, (a, b) in enumerate(pairs(rng)):
        b = reordered(rng, b)
        first, second = packed(rng, a), packed(rng, b)
        sources = source(rng, first, tmp_path / f"a{number}"), source(rng, second, tmp_path / f"b{number}")
        rows = compare(db, *sources)
        assert_nan(db, *sources, a, b)
        assert len(rows) == 1 and rows[0][-1] is None
        assert_compared(rows[0][1:7], a, b, (a, b))


@pytest.mark.parametrize("nelem", [1, 63, 64, 511, 512, 513, 20_000])
def test_random_lengths(db, nelem):
    rng = seeded_generator()
    for dtype in map(np.dtype, INTEGERS + FLOATS[:3] + COMPLEX[:2] + ["?", ">f4", ">i8", "M8[s]"]):
        a = random_items(rng, dtype, (nelem,))
        for b in (a, altered(rng, a, 3), random_items(rng, dtype, (nelem,))):
            ((_, *row, error),) = compare(db, npy_bytes(a), npy_bytes(b))
            assert_compared(tuple(row), a, b, (dtype, nelem))
            assert_nan(db, npy_bytes(a), npy_bytes(b), a, b)
            assert error is None


def test_random_numbers_of_two_dtypes(db):
    rng = seeded_generator()
    dtypes = [np.dtype(d) for d in ["?"] + INTEGERS + FLOATS + COMPLEX + [">f4", ">i8", ">u2", ">f8", ">c8"]]
    for p, q in itertools.product(dtypes, dtypes):
        a = random_items(rng, p, (100,))
        with np.errstate(all="ignore"):
            same = np.real(a).astype(q) if q.kind != "c" else a.astype(q)
        for b in (same, random_items(rng, q, (100,))):
            assert_nan(db, npy_bytes(a), npy_bytes(b), a, b)
            ((_, *row, _),) = compare(db, npy_bytes(a), npy_bytes(b))
            assert_compared(tuple(row), a, b, (p, q, a, b))


def test_layouts(db):
    """Blocks of two orders are of different sizes."""
    rng = seeded_generator()
    for dtype, shape in itertools.product(["<f4", ">f8", "<i8", "<f2"], [(700, 300), (3, 100_000), (40, 50, 60)]):
        a = random_items(rng, np.dtype(dtype), shape)
        b = np.asfortranarray(altered(rng, a, 5))
        arrays = {"a": a, "b": b, "a, Fortran": np.asfortranarray(a)}
        files = {(name, variant): npz_bytes({"x": array}, variant) for name, array in arrays.items() for variant in ("stored", "deflate")}
        for first, second in (("a", "b"), ("b", "a"), ("b", "b"), ("a, Fortran", "a")):
            rows = []
            for variant in ("stored", "deflate"):
                ((_, *row, _),) = compare(db, files[first, variant], files[second, "stored"])
                rows.append(tuple(row))
            assert_compared(rows[0], arrays[first], arrays[second], (dtype, shape, first, second))
            assert rows[1] == rows[0], (dtype, shape, first, second, "deflate")


# --- numbers that are hard ---------------------------------------------------------------------------------


def numbers(db, a, b):
    ((_, *row, error),) = compare(db, npy_bytes(np.array(a)), npy_bytes(np.array(b)))
    assert error is None
    return tuple(row)


INF, NAN = math.inf, math.nan


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", "f16"])
def test_special_floats(db, dtype):
    of = lambda *values: np.array(values, dtype)
    assert numbers(db, of(0.0, NAN, INF), of(-0.0, NAN, INF)) == ("equal", 0, 0, 0, 0, None)
    assert numbers(db, of(1, NAN, 3), of(1, 2, 3)) == ("differs", 0, 0, 0, 1, 1)
    assert numbers(db, of(1, INF, 3), of(1, 2, 4)) == ("differs", INF, 0.25, math.sqrt(0.5), 2, 1)
    assert numbers(db, of(1, INF), of(1, -INF)) == ("differs", INF, 0, 0, 1, 1)
    assert numbers(db, of(INF), of(NAN)) == ("differs", None, None, None, 1, 0)
    assert numbers(db, of(INF), of(1)) == ("differs", INF, None, None, 1, 0)
    assert numbers(db, of(NAN), of(NAN)) == ("equal", None, None, None, 0, None)
    assert numbers(db, of(), of()) == ("equal", None, None, None, 0, None)


def test_signs_and_payloads_of_nan(db):
    bits = [0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, 0x7FFFFFFFFFFFFFFF]
    a = npy("<f8", (4,), struct.pack("<4Q", *bits))
    b = npy("<f8", (4,), struct.pack("<4Q", *reversed(bits)))
    assert compare(db, a, b) == [("", "equal", None, None, None, 0, None, None)]


def test_integers_are_subtracted_exactly(db):
    low, high = -(2**63), 2**63 - 1
    of = lambda dtype, *values: np.array(values, dtype)
    assert numbers(db, of("i8", low), of("i8", high)) == ("differs", 2.0**64, 2, 2.0**64, 1, 0)
    assert numbers(db, of("u8", 0), of("u8", 2**64 - 1)) == ("differs", 2.0**64, 1, 2.0**64, 1, 0)
    assert numbers(db, of("i8", high), of("i8", high - 1))[1] == 1
    assert numbers(db, of("u8", 2**64 - 1), of("u8", 2**64 - 3))[1] == 2
    assert numbers(db, of("i8", -1), of("u8", 2**64 - 1)) == ("dtype", 2.0**64, 1 + 2**-64, 2.0**64, 1, 0)
    assert numbers(db, of("i8", 2**53 + 1), of("f8", 2**53)) [:2] == ("dtype", 1)
    assert numbers(db, of("i8", high), of("u8", high)) == ("dtype", 0, 0, 0, 0, None)
    assert numbers(db, of("M8[s]", 5), of("M8[s]", "NaT")) == ("differs", None, None, None, 1, 0)
    assert numbers(db, of("m8[s]", 5), of("m8[s]", 8)) == ("differs", 3, 3 / 8, 3, 1, 0)
    assert numbers(db, of("M8[s]", 5), of("M8[ms]", 5)) == ("dtype",) + (None,) * 5


@pytest.mark.parametrize("nelem", [1, 16, 700])
@pytest.mark.parametrize("size", [1e-320, 1e-200, 1e-150, 1e150, 1e200, 1e307])
def test_squares_neither_vanish_nor_overflow(db, size, nelem):
    a, b = np.full(nelem, size), np.full(nelem, 3 * size)
    status, max_abs, max_rel, rms, *rest = numbers(db, a, b)
    assert (status, max_abs, rest) == ("differs", 3 * size - size, [nelem, 0])
    assert math.isclose(max_rel, 2 / 3, rel_tol=1e-3 if size < 1e-300 else 1e-15)
    assert math.isclose(rms, 2 * size, rel_tol=1e-3 if size < 1e-300 else 1e-15)


def test_differences_beyond_a_double(db):
    _, max_abs, max_rel, rms, *_ = numbers(db, np.array([1.5e308, 0.0]), np.array([-1.5e308, 0.0]))
    assert max_abs == INF and max_rel == 2 and math.isclose(rms, 1.5e308 * math.sqrt(2), rel_tol=1e-14)


def test_distances_that_overflow_in_both_parts(db):
    """Their modulus was infinity over infinity, and made a NaN of the rms of all items."""
    a, b = np.array([1.5e308 + 1.5e308j, 1]), np.array([-1.5e308 - 1.5e308j, 2])
    _, max_abs, max_rel, rms, *_ = numbers(db, a, b)
    assert max_abs == INF and math.isclose(max_rel, 2) and rms == INF  # 3e308, which no double holds
    a, b = np.concatenate([a, np.zeros(98)]), np.concatenate([b, np.zeros(98)])
    assert math.isclose(numbers(db, a, b)[3], 3e307 * math.sqrt(2), rel_tol=1e-14)


def test_the_mean_is_accurate(db):
    rng = seeded_generator()
    a, b = rng.normal(size=300_000), rng.normal(size=300_000) * 10.0 ** rng.integers(-8, 3, 300_000)
    rms = numbers(db, a, b)[3]
    exact = math.sqrt(math.fsum((a - b) ** 2) / len(a))
    assert math.isclose(rms, exact, rel_tol=4e-16 * 2)


def test_narrow_checkpoints(db):
    rng = seeded_generator()
    a = rng.uniform(0.01, 9, 10_000).astype("f4")  # nothing that float16 holds as a denormal
    b = a.astype("f2")
    status, max_abs, max_rel, *_ = numbers(db, a, b)
    assert status == "dtype" and max_abs == float(np.abs(a - b.astype("f4")).max()) and max_rel < 1e-3
    assert numbers(db, a, a.astype("f8")) == ("dtype", 0, 0, 0, 0, None)


# --- which arrays are compared -----------------------------------------------------------------------------


def test_pairs_by_name(db):
    x, y = np.arange(3), np.arange(4.0)
    a = npz_bytes({"same": x, "left": y, "moved": x, "shape": y, "kind": np.array(["a", "b", "c"])})
    b = npz_bytes({"right": x, "moved": x + [0, 0, 2], "kind": x, "shape": x, "same": x, "more": y})
    rows = compare(db, a, b)
    assert [row[:2] for row in rows] == [
        ("same", "equal"),
        ("left", "only_a"),
        ("moved", "differs"),
        ("shape", "shape"),
        ("kind", "dtype"),
        ("right", "only_b"),
        ("more", "only_b"),
    ]
    assert rows[2] == ("moved", "differs", 2, 0.5, math.sqrt(4 / 3), 1, 2, None)
    for row in rows[1:2] + rows[3:]:
        assert row[2:] == (None,) * 6


def test_single_arrays_are_paired_whatever_their_names(db):
    x = np.arange(5, dtype="<f4")
    single = {"": npy_bytes(x), "w": npz_bytes({"w": x}), "t": ten_bytes([x], infos=["t"])}
    extra = zip_bytes([("readme.txt", b"hello"), ("z.npy", npy_bytes(x))])
    for (p, a), (q, b) in itertools.product([*single.items(), ("z", extra)], repeat=2):
        assert compare(db, a, b) == [(p or q, "equal", 0, 0, 0, 0, None, None)]
    both = npz_bytes({"w": x, "v": x})
    assert statuses(db, single[""], both) == {"": "only_a", "w": "only_b", "v": "only_b"}
    assert statuses(db, single["w"], both) == {"w": "equal", "v": "only_b"}


def test_what_is_no_array_is_not_compared(db):
    x = npy_bytes(np.arange(3))
    a = zip_bytes([("readme.txt", b"a"), ("x.npy", x), ("y.npy", b"words"), ("z.npy", x)])
    b = zip_bytes([("readme.txt", b"b"), ("x.npy", x), ("y.npy", x), ("z.npy", b"words")])
    assert [row[:2] for row in compare(db, a, b)] == [("x", "equal"), ("z", "only_a"), ("y", "only_b")]
    empty = zip_bytes([])
    assert compare(db, empty, empty) == []
    assert statuses(db, empty, a) == {"x": "only_b", "z": "only_b"}


def test_duplicate_names(db):
    x, y = npy_bytes(np.arange(3)), npy_bytes(np.arange(4))
    a = zip_bytes([("w.npy", y), ("v.npy", x), ("w.npy", x)])
    b = zip_bytes([("w.npy", x), ("v.npy", x)])
    assert [row[:2] for row in compare(db, a, b)] == [("v", "equal"), ("w", "equal")]
    arrays = [np.arange(n) for n in (3, 4, 5)]
    rows = compare(db, ten_bytes(arrays), ten_bytes([arrays[0], arrays[1] + 1]))
    assert [row[1] for row in rows] == ["equal", "differs", "only_a"]


def test_many_arrays_of_one_name(db):
    many = ten_bytes([np.zeros(1)] * 20_000)
    rows = compare(db, many, many)
    assert len(rows) == 20_000 and {row[1] for row in rows} == {"equal"}


# SQLite 3.37 does not tell = from IN, which is its own to check.
PRUNES = sqlite3.sqlite_version_info >= (3, 38)


def test_name_prunes(db, tmp_path):
    x = np.zeros(100_000)
    for name in ("a.npz", "b.npz"):
        (tmp_path / name).write_bytes(npz_bytes({f"x{i}": x for i in range(10)}))
    paths = str(tmp_path / "a.npz"), str(tmp_path / "b.npz")
    before = counters(db)
    assert db.execute("SELECT name, status FROM npy_compare(?, ?) WHERE name = 'x3'", paths).fetchall() == [("x3", "equal")]
    if not shell.MAPPED and PRUNES:
        assert since(db, before)["bytes_read"] < 2_000_000
    assert db.execute("SELECT name FROM npy_compare(?, ?) WHERE name = 'gone'", paths).fetchall() == []
    assert db.execute("SELECT name FROM npy_compare(?, ?) WHERE name = NULL", paths).fetchall() == []
    # Rows of the two scans must not be taken for the same.
    either = "SELECT name FROM npy_compare WHERE (a = ?1 AND b = ?2 AND name = 'x1') OR (a = ?1 AND b = ?2 AND name = 'x2')"
    assert sorted(db.execute(either, paths).fetchall()) == [("x1",), ("x2",)]
    assert len(db.execute("SELECT name FROM npy_compare(?, ?) WHERE name IN ('x7', 'x5', 'y')", paths).fetchall()) == 2


def test_reading_stops_where_the_answer_is_known(db, tmp_path):
    (tmp_path / "a.npy").write_bytes(npy_bytes(np.zeros(1_000_000)))
    (tmp_path / "b.npy").write_bytes(npy_bytes(np.ones(1_000_000)))
    paths = str(tmp_path / "a.npy"), str(tmp_path / "b.npy")
    before = counters(db)
    assert db.execute("SELECT status, first_at FROM npy_compare(?, ?)", paths).fetchone() == ("differs", 0)
    assert db.execute("SELECT count(*) FROM npy_compare(?, ?)", paths).fetchone() == (1,)
    assert since(db, before)["bytes_read"] < 100_000
    assert db.execute("SELECT status, differing FROM npy_compare(?, ?)", paths).fetchone() == ("differs", 1_000_000)


# --- sources -----------------------------------------------------------------------------------------------


def put(name, contents):
    with open(name, "wb") as out:
        out.write(contents)


def test_null_and_missing_arguments(db):
    x = npy_bytes(np.arange(3))
    assert compare(db, x, None) == compare(db, None, x) == compare(db, x, x, None) == []
    for sql, arguments in [
        ("SELECT * FROM npy_compare", ()),
        ("SELECT * FROM npy_compare(?)", (x,)),
        ("SELECT * FROM npy_compare WHERE b = ?", (x,)),
        ("SELECT * FROM npy_compare(?, '')", (x,)),
    ]:
        assert "npy_compare needs two sources" in error_of(db, sql, *arguments)
    assert db.execute("SELECT a IS ?1, b IS ?1, on_error FROM npy_compare(?1, ?1, 'row')", (x,)).fetchall() == [(1, 1, "row")]
    assert "is a number" in error_of(db, "SELECT * FROM npy_compare(?, 5)", x)
    assert "on_error must be" in error_of(db, "SELECT * FROM npy_compare(?, ?, 'no')", x, x)


def test_one_file_on_each_side(db, folder):
    for name in ("a1.npy", "a2.npy", "b.npy"):
        put(name, npy_bytes(np.arange(3)))
    assert statuses(db, "b*.npy", '["a1.npy"]') == {"": "equal"}
    for a, b, text in [
        ("a*.npy", "b.npy", "a*.npy: matches 2 files"),
        ("b.npy", "a*.npy", "a*.npy: matches 2 files"),
        ("b.npy", "c*.npy", "c*.npy: matches 0 files"),
        ('["a1.npy", "a2.npy"]', "a*.npy", '["a1.npy", "a2.npy"]: matches 2 files'),
        ("a*.npy", '["a*.npy"]', "a*.npy: matches 2 files"),
    ]:
        for on_error in ("raise", "row", "skip"):
            message = error_of(db, "SELECT * FROM npy_compare(?, ?, ?)", a, b, on_error)
            assert message == f"npyext: {text}; npy_compare takes one on each side, or two patterns"


# --- the files of two patterns -----------------------------------------------------------------------------


PAIR_COLUMNS = "name, status, max_abs, max_rel, rms, differing, first_at, nan_a, nan_b, error, error_kind"


def open_part(path, head, tail):
    assert path.startswith(head)
    return path[len(head) : len(path) - len(tail)] if path.endswith(tail) and len(path) >= len(head) + len(tail) else ""


def pair_by_pair(db, a, b):
    """What npy_compare says of two patterns, each given with its literal ends, from what it says of pairs of files, and npy_meta of single ones."""
    files = [{open_part(path, *ends): path for (path,) in db.execute("SELECT path FROM npy_paths(?)", (pattern,))} for pattern, *ends in (a, b)]
    rows = []
    for side, status in ((0, "only_a"), (1, "only_b")):
        for part, path in files[side].items():
            partner = files[1 - side].get(part)
            if partner is None:
                found = db.execute("SELECT name, error, error_kind FROM npy_meta(?, 'row')", (path,)).fetchall()
                rows += [(path, name, status if error is None else None, *[None] * 7, error, kind) for name, error, kind in found]
            elif side == 0:
                rows += [(path, *row) for row in db.execute(f"SELECT {PAIR_COLUMNS} FROM npy_compare(?, ?, 'row')", (path, partner))]
    return rows


def random_file(rng, suffix):
    arrays = {f"{letter}": rng.integers(0, 3, (2, 2)).astype(str(rng.choice(["f4", "i8"]))) for letter in rng.choice(list("wxyz"), int(rng.integers(1, 4)), replace=False)}
    if rng.random() < 0.06:
        return b"\x93NUMPY" + bytes(3)
    return npy_bytes(next(iter(arrays.values()))) if suffix == ".npy" else npz_bytes(arrays)


def test_the_files_of_two_patterns_are_paired_by_what_these_leave_open(db, folder):
    rng = seeded_generator()
    stems = ["x", "y", "z10", "z2", "é", "a b", "sub/x", "sub/deep/w", "x.y", "-", "sub/z2"]
    for side in ("old", "new"):
        for stem in stems:
            for suffix in (".npy", ".npz"):
                if rng.random() < 0.75:
                    path = f"{side}/{stem}{suffix}"
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    put(path, random_file(rng, suffix))
                    if rng.random() < 0.5 and side == "old":
                        os.makedirs(f"flat/{os.path.dirname(stem)}", exist_ok=True)
                        put(f"flat/{stem}_v2{suffix}", random_file(rng, suffix))
    sides = [
        *[(f"{side}/{wild}", f"{side}/", tail) for side in ("old", "new") for wild, tail in (("*.npy", ".npy"), ("**", ""), ("**/*.npz", ".npz"), ("[x-z]*.npy", ".npy"), ("{x,y,z2,gone}.npy", ".npy"))],
        ("old/**/z2.npz", "old/", "/z2.npz"), ("new/**/z2.npz", "new/", "/z2.npz"), ("old/z{2..10}.npy", "old/z", ".npy"), ("new/z?.npy", "new/z", ".npy"),
        ("flat/**/*_v2.npy", "flat/", "_v2.npy"), ("flat//*_v2.npz", "flat//", "_v2.npz"), ("./old/*", "./old/", ""), ("gone/*", "gone/", ""),
    ]
    columns = f"path, {PAIR_COLUMNS}"
    nrows = 0
    for a, b in itertools.product(sides, sides):
        want = pair_by_pair(db, a, b)
        assert db.execute(f"SELECT {columns} FROM npy_compare(?, ?)", (a[0], b[0])).fetchall() == want, (a, b)
        nrows += len(want)
        sound = [row for row in want if row[10] is None]
        assert db.execute(f"SELECT {columns} FROM npy_compare(?, ?, 'skip')", (a[0], b[0])).fetchall() == sound
        if want != sound:
            error_of(db, "SELECT * FROM npy_compare(?, ?, 'raise')", a[0], b[0])
        paths = sorted({row[0] for row in want})
        for path in paths[::3]:  # conditions on path leave out what they leave out, and nothing beside it
            assert db.execute(f"SELECT {columns} FROM npy_compare(?, ?) WHERE path = ?", (a[0], b[0], path)).fetchall() == [row for row in want if row[0] == path]
        some = db.execute(f"SELECT path, name FROM npy_compare(?1, ?2) WHERE path IN (?3, ?4) AND name IN ('w', 'x')", (a[0], b[0], *(paths * 2 + ["", ""])[:2])).fetchall()
        assert some == [row[:2] for row in want if row[0] in paths[:2] and row[1] in ("w", "x")]
        either = "SELECT path, name, status, array_key FROM npy_compare WHERE a = ?1 AND b = ?2 AND (status = 'only_a' OR status = 'only_b' OR status = 'equal')"
        rows = db.execute(either, (a[0], b[0])).fetchall()
        assert sorted(row[:3] for row in rows) == sorted((path, name, status) for path, name, status, *_ in want if status in ("only_a", "only_b", "equal"))
        assert len({row[3] for row in rows}) == len(rows)
    assert nrows > 3000


def test_pairs_of_files_are_read_as_far_as_is_asked(db, folder):
    for side in ("old", "new"):
        os.mkdir(side)
        for number in range(40):
            put(f"{side}/{number}.npy", npy_bytes(np.full(50_000, number)))
    call = "npy_compare('old/*.npy', 'new/*.npy')"
    for sql, most, nfiles in [
        (f"SELECT path FROM {call} WHERE path = 'old/7.npy'", 20_000 if PRUNES else 200_000, 2),
        (f"SELECT path, name FROM {call}", 200_000, 80),
        (f"SELECT path, status FROM {call} LIMIT 1", 1_000_000, 2),
        (f"SELECT path, status FROM {call}", 33_000_000, 80),
    ]:
        before = counters(db)
        assert len(db.execute(sql).fetchall()) == (40 if nfiles == 80 else 1)
        spent = since(db, before)
        if not shell.MAPPED:
            assert spent["bytes_read"] <= most, (sql, spent)
        if PRUNES:
            assert spent["files_opened"] <= nfiles, (sql, spent)


def test_pairs_of_files_in_joins(db, folder):
    for path, value in (("r1/a.npy", 1), ("r1/b.npy", 2), ("r2/a.npy", 1), ("r2/c.npy", 5), ("r3/b.npy", 3)):
        os.makedirs(path[:2], exist_ok=True)
        put(path, npy_bytes(np.full(3, value)))
    sql = "SELECT r.value, c.parent, c.stem, c.status, json_array_length(c.parts) FROM json_each('[\"r1\", \"r2\", \"r3\"]') r JOIN npy_compare('r1/*.npy', r.value || '/*.npy') c WHERE c.status <> 'equal'"
    assert db.execute(sql).fetchall() == [
        ("r2", "r1", "b", "only_a", 2), ("r2", "r2", "c", "only_b", 2), ("r3", "r1", "a", "only_a", 2), ("r3", "r1", "b", "differs", 2)]
    assert db.execute("SELECT path, parts, stem FROM npy_compare(?1, ?1)", (npy_bytes(np.arange(3)),)).fetchall() == [(None, None, None)]
    assert db.execute("SELECT path, status FROM npy_compare(?1, 'r1/a.npy')", (npy_bytes(np.arange(3)),)).fetchall() == [(None, "differs")]
    assert db.execute("SELECT path, status FROM npy_compare('r1/a.npy', ?1)", (npy_bytes(np.arange(3)),)).fetchall() == [("r1/a.npy", "differs")]
    assert db.execute("SELECT path FROM npy_compare('r1/a.npy', 'r2/a.npy') WHERE path = 'r2/a.npy'").fetchall() == []
    # a file of both patterns that has a partner in neither is two rows
    assert sorted(db.execute("SELECT path, status FROM npy_compare WHERE a = 'r1/[a]*.npy' AND b = 'r1/*.npy' AND (status = 'only_a' OR status = 'only_b')").fetchall()) == [("r1/b.npy", "only_b")]
    assert sorted(db.execute("SELECT path, status FROM npy_compare WHERE a = 'r1/a*.npy' AND b = 'r[1]/*.npy' AND (status = 'only_a' OR status = 'only_b')").fetchall()) == [
        ("r1/a.npy", "only_a"), ("r1/a.npy", "only_b"), ("r1/b.npy", "only_b")]


def test_files_that_cannot_be_paired(db, folder):
    """Two files of a pattern have the same open part only if one file is found by two spellings."""
    os.mkdir("d")
    put("d/x.npy", npy_bytes(np.arange(3)))
    text = "npyext: d/{**,}/x.npy: leaves the same part open in 'd//x.npy' and 'd/x.npy', so these cannot be paired"
    for a, b in (("d/{**,}/x.npy", "d/*.npy"), ("d/*.npy", "d/{**,}/x.npy")):
        for on_error in ("row", "skip", "raise"):
            assert error_of(db, "SELECT * FROM npy_compare(?, ?, ?)", a, b, on_error) == text


def test_joins(db, folder):
    for i in range(3):
        put(f"a{i}.npy", npy_bytes(np.arange(4) * i))
        put(f"b{i}.npz", npz_bytes({"w": np.arange(4) * i + (i == 1), "v": np.zeros(1)}))
    db.execute("CREATE TABLE files(a, b)")
    db.executemany("INSERT INTO files VALUES(?, ?)", [(f"a{i}.npy", f"b{i}.npz") for i in range(3)] + [(None, "x")])
    sql = "SELECT f.a, c.name, c.status FROM files f, npy_compare(f.a, f.b) c WHERE c.status <> 'only_b'"
    assert db.execute(sql).fetchall() == [(f"a{i}.npy", "", "only_a") for i in range(3)]
    sql = """SELECT f.path, c.status, c.max_abs FROM npy_file('b*.npz', 'w') f
             JOIN npy_file('a*.npy') g ON substr(g.path, 2, 1) = substr(f.path, 2, 1)
             JOIN npy_compare(f.array, g.array) c ORDER BY 1"""
    assert db.execute(sql).fetchall() == [("b0.npz", "equal", 0), ("b1.npz", "differs", 1), ("b2.npz", "equal", 0)]
    sql = "SELECT count(*) FROM npy_compare(f.a, f.b) c JOIN files f ON c.status = 'only_b'"
    assert db.execute(sql).fetchone() == (6,)
    either = "SELECT name FROM npy_compare WHERE (a = 'a0.npy' AND b = 'b0.npz') OR (a = 'a1.npy' AND b = 'b1.npz')"
    assert sorted(db.execute(either).fetchall()) == sorted([("",), ("w",), ("v",)] * 2)
    assert error_of(db, "SELECT * FROM npy_compare(zeroblob(60), 'a1.npy')").startswith("npyext: BLOB: ")


def test_a_file_with_itself(db, folder):
    put("t.ten", ten_bytes([np.arange(3), np.arange(4.0), np.zeros((2, 2))], infos=["p", "q", "q"]))
    rows = compare(db, "t.ten", "t.ten")
    assert [row[:2] for row in rows] == [("p", "equal"), ("q", "equal"), ("q", "equal")]


# --- faults ------------------------------------------------------------------------------------------------


def damaged(contents, at):
    return contents[:at] + bytes([contents[at] ^ 1]) + contents[at + 1 :]


def npz_with_a_bad(kind):
    x = npy_bytes(np.arange(50_000))
    good = {"first": np.zeros(2), "last": np.ones(2)}
    bad = {
        "crc": lambda: damaged(npz_bytes({**good, "bad": np.arange(50_000)}), 200_000),
        "deflated": lambda: damaged(npz_bytes({**good, "bad": np.arange(50_000) * 7919 % 65_536}, "deflate"), 40_000),
        "truncated": lambda: zip_bytes([("first.npy", npy_bytes(good["first"])), ("last.npy", npy_bytes(good["last"])), ("bad.npy", x[:-1])]),
        "header": lambda: zip_bytes([("first.npy", npy_bytes(good["first"])), ("last.npy", npy_bytes(good["last"])), ("bad.npy", x.replace(b"descr", b"desc!"))]),
        "objects": lambda: zip_bytes([("first.npy", npy_bytes(good["first"])), ("last.npy", npy_bytes(good["last"])), ("bad.npy", object_npy_bytes((50_000,)))]),
    }
    return bad[kind]()


@pytest.mark.parametrize("kind", ["crc", "deflated", "truncated", "header", "objects"])
def test_a_bad_member(db, folder, kind):
    bad = npz_with_a_bad(kind)
    whole = {"first": np.zeros(2), "bad": np.arange(50_000), "last": np.ones(2)}
    if kind == "deflated":
        whole["bad"] = np.arange(50_000) * 7919 % 65_536
    good = npz_bytes(whole)
    if kind == "objects":
        good = bad  # against numbers it would be another dtype
        assert statuses(db, bad, npz_bytes(whole)) == {"first": "equal", "bad": "dtype", "last": "equal"}
    put("bad.npz", bad)
    put("good.npz", good)
    for a, b in (("bad.npz", "good.npz"), ("good.npz", "bad.npz")):
        message = error_of(db, "SELECT * FROM npy_compare(?, ?)", a, b)
        assert kind == "objects" or message.startswith("npyext: bad.npz:bad: ")
        rows = {row[0]: row for row in compare(db, a, b, "row")}
        assert rows["first"][1] == rows["last"][1] == "equal"
        assert rows["bad"] == ("bad",) + (None,) * 6 + (message,)
        before = counters(db)
        assert statuses(db, a, b, "skip") == {"first": "equal", "last": "equal"}
        assert since(db, before)["files_skipped"] == 1
    assert statuses(db, "bad*.npz", "good.npz")["bad"] is None  # a pattern's default is 'row'


def test_a_bad_member_alone(db):
    cut = npy_bytes(np.arange(5))[:-1]
    a, b = zip_bytes([("x.npy", cut), ("y.npy", npy_bytes(np.zeros(1)))]), npz_bytes({"y": np.zeros(1)})
    for sides in ((a, b), (b, a)):
        rows = compare(db, *sides, "row")
        assert sorted((row[0], row[1], row[-1] is None) for row in rows) == [("x", None, False), ("y", "equal", True)]


def test_a_bad_side(db, folder):
    put("good.npy", npy_bytes(np.arange(3)))
    put("bad.npy", b"These are words.\n")
    put("cut.npz", npz_bytes({"x": np.arange(3)})[:-30])
    for bad in ("bad.npy", "cut.npz", "gone.npy"):
        for a, b in ((bad, "good.npy"), ("good.npy", bad)):
            message = error_of(db, "SELECT * FROM npy_compare(?, ?)", a, b)
            assert message.startswith(f"npyext: {bad}: ")
            assert compare(db, a, b, "row") == [(None,) * 7 + (message,)]
            assert compare(db, a, b, "skip") == []


def test_handles_that_are_stale(db, folder):
    put("x.npy", npy_bytes(np.arange(3)))
    ((handle,),) = db.execute("SELECT array FROM npy_file('x.npy')").fetchall()
    assert statuses(db, handle, "x.npy") == {"": "equal"}
    put("y.npy", npy_bytes(np.arange(4)))
    os.replace("y.npy", "x.npy")
    assert "has changed" in error_of(db, "SELECT * FROM npy_compare(?, 'x.npy')", handle)


# --- size and time -----------------------------------------------------------------------------------------


def test_forty_megabytes(db, folder):
    rng = seeded_generator()
    a = rng.normal(size=5_000_000)
    b = a.copy()
    at = sorted(int(i) for i in rng.choice(len(a), 7, replace=False))
    b[at] += 0.5
    np.save("a.npy", a)
    np.save("b.npy", b)
    ((_, *row, _),) = compare(db, "a.npy", "b.npy")
    assert_compared(tuple(row), a, b, "40 MB")
    assert row[4:6] == [7, at[0]]
    before = counters(db)
    assert statuses(db, "a.npy", "a.npy") == {"": "equal"}
    assert since(db, before)["bytes_read"] <= 2 * (len(a) * 8 + 10_000)


def test_the_plan_reads_as_a_sentence(db):
    plan = db.execute("EXPLAIN QUERY PLAN SELECT status FROM npy_compare('a', 'b') WHERE name = 'x'").fetchall()
    assert plan[0][-1].endswith("by a, b; name=?; reading items" if PRUNES else "by a, b; reading items")
    with pytest.raises(sqlite3.OperationalError, match="no query solution"):
        db.execute("SELECT * FROM npy_compare(x.path, y.path) c, npy_meta(c.name) x, npy_meta(c.name) y")
