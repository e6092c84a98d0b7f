"""npy_histogram against numpy.histogram of NumPy 2: the same edges bit for bit, the same counts. lib/histograms.py says what
those are where an older NumPy is installed, and is itself compared with an installed NumPy 2."""

import json
import math
import os
import struct
import warnings

import numpy as np
import pytest

import histograms
import shell
from arrays import both_byte_orders, containers, npy_bytes, npz_bytes, seeded_generator, ten_bytes
from arrays import object_npy_bytes, write_sparse_npy
from expected import counters, error_of, since

SQL = "SELECT bin, lo, hi, count, bar FROM npy_histogram(?, ?, ?, ?, ?, ?)"

INTEGERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FLOATS = ["f2", "f4", "f8"]


def write(name, contents):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "wb") as out:
        out.write(contents)


# --- what NumPy says ---------------------------------------------------------------------------------------


def bits(value):
    """A double's bits; a zero has no sign, because that of a minimum of 0.0 and -0.0 is NumPy's secret."""
    return struct.pack("<d", value + 0.0)


def finite_part(array):
    """What is counted: NaN is NULL."""
    flat = np.asarray(array).ravel()
    return flat[~np.isnan(flat)] if flat.dtype.kind == "f" else flat


def answer_of(histogram, array, bins, range):
    """(edges, counts) of a function, or the exception that says why there are none."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            counts, edges = histogram(finite_part(array), bins, range)
        except (IndexError, ValueError, FloatingPointError) as error:
            return error
    return [float(edge) for edge in edges], [int(count) for count in counts]


def numpy_histogram(array, bins=10, range=None):
    """(edges, counts), or None where NumPy 2 fails: its indices leave the array. Where float16 or float32 cannot express so
    many edges, or one of them, which NumPy refuses or takes for an infinity, the answer is that for float64."""
    answer = answer_of(histograms.histogram, array, bins, range)
    is_refused = isinstance(answer, ValueError) or (isinstance(answer, tuple) and not isinstance(bins, list) and not np.all(np.isfinite(answer[0])))
    if is_refused and array.dtype.kind == "f" and array.dtype.itemsize < 8:
        answer = answer_of(histograms.histogram, array.astype("f8"), bins, range)
    return answer if isinstance(answer, tuple) else None


def bar_of(count, greatest):
    """40 characters for the greatest count, to the nearest eighth; something for everything but 0."""
    eighths = max(1, math.floor(count / greatest * 320 + 0.5)) if count else 0
    return "\u2588" * (eighths // 8) + (chr(0x2590 - eighths % 8) if eighths % 8 else "")


def assert_rows(rows, want, label):
    edges, counts = want
    assert [row[0] for row in rows] == list(range(len(counts))), label
    for k, (got, wanted) in enumerate(
        [([bits(row[1]) for row in rows], [bits(edge) for edge in edges[:-1]]),
         ([bits(row[2]) for row in rows], [bits(edge) for edge in edges[1:]]),
         ([row[3] for row in rows], counts)]
    ):
        wrong = [i for i, (a, b) in enumerate(zip(got, wanted)) if a != b]
        assert not wrong, f"{label}: {['lo', 'hi', 'count'][k]} of bin {wrong[0]}: {rows[wrong[0]]}, numpy {edges[wrong[0]:wrong[0] + 2]} {counts[wrong[0]]}"
    greatest = max(counts, default=0)
    assert [row[4] for row in rows] == [bar_of(count, greatest) for count in counts], label


def check(db, array, bins=None, range=None, source=None, member="", label=""):
    """Compares; False when NumPy has no answer, where every value is in a bin all the same. A source may be several
    (source, member)."""
    lo, hi = range or ("", "")
    text = json.dumps(bins) if isinstance(bins, list) else "" if bins is None else bins
    source = npy_bytes(array) if source is None else source
    label = f"{label} {array.dtype.str} {array.shape} bins={bins} range={range}"
    want = numpy_histogram(array, 10 if bins is None else bins, range)
    for source, member in source if isinstance(source, list) else [(source, member)]:
        rows = db.execute(SQL, (source, member, "", text, lo, hi)).fetchall()
        if want is None:
            assert len(rows) == (bins or 10) and (range or sum(row[3] for row in rows) == finite_part(array).size), label
        else:
            assert_rows(rows, want, label)
    return want is not None


# --- random data -------------------------------------------------------------------------------------------


def random_values(rng, dtype, count):
    """Values of one of many shapes, on edges more often than not."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.random(count) < rng.random()
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        kind = rng.integers(5)
        if kind == 0:
            return np.frombuffer(rng.bytes(count * dtype.itemsize), dtype).copy()
        width = min(int(2 ** rng.integers(0, 62)), int(info.max) - int(info.min))
        low = [info.min, info.max - width, 0, info.max // 2 - width // 2][kind - 1]
        low = max(info.min, min(int(low), info.max - width))
        offsets = rng.integers(0, width, count, endpoint=True).astype(object)
        return np.array([int(low) + int(o) for o in offsets], dtype)
    info = np.finfo(dtype)
    with np.errstate(all="ignore"):
        kind = rng.integers(8)
        if kind == 0:
            values = rng.normal(0, 1, count)
        elif kind == 1:
            values = np.round(rng.normal(0, 10, count)) / 10
        elif kind == 2:  # a huge offset
            values = float(rng.choice([1e3, 2.0**20, 1e15, -1e7])) + rng.random(count)
        elif kind == 3:  # subnormal numbers
            values = rng.integers(0, 2000, count) * float(info.smallest_subnormal)
        elif kind == 4:  # steps of a few units in the last place
            values = 1 + rng.integers(0, 100, count) * float(info.eps)
        elif kind == 5:
            values = rng.normal(0, 1, count) * float(info.max) / 10
        elif kind == 6:
            values = rng.integers(0, 11, count) / 10
        else:
            values = np.full(count, rng.choice([0, -1.5, 0.1, 65504, 1e8, 1e30]))
        values = np.clip(values, float(info.min) / 2.5, float(info.max) / 2.5).astype(dtype)
        if rng.random() < 0.3:
            values[rng.random(count) < 0.2] = np.nan
    return values


def random_range(rng, array):
    kind = rng.integers(9)
    real = lambda: float(rng.choice([0, 0.1, -1, 0.5, 1, 1e-3, 10, 65000, 64999.5, 1e5, -70000, 1e39, 3.4e38, 2.0**60]))
    integer = lambda: int(rng.choice([0, 1, -1, 5, 127, 128, 200, 255, 256, -129, -40000, 40000, 65536, 2**31, 2**53 + 1]))
    if kind < 2:
        return None
    if kind < 5:
        values = finite_part(array).astype(float)
        ends = [real(), real()] if not len(values) else [float(v) for v in rng.choice(values, 2)]
        if kind == 4:
            ends[rng.integers(2)] += float(rng.normal(0, 1))
    elif kind < 7:
        ends = [integer(), integer() if kind == 5 else real()]
    elif kind == 7 and array.dtype.kind in "iu" and array.size:
        ends = [int(v) for v in rng.choice(array.ravel(), 2)]
        ends = [min(end, 2**63 - 1) for end in ends]
    else:
        ends = [real(), real()]
    return tuple(sorted(ends))


def random_bins(rng):
    return [None, 1, 2, 3, 7, 10, 50, 256, 1000, 3000, 5000][rng.integers(11)]


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_what_is_expected_is_what_numpy_says(dtype):
    """NumPy 1 agrees about the edges of what it places as float64, too, where NumPy 2 has an answer."""
    rng = seeded_generator()
    is_new = int(np.__version__.split(".")[0]) >= 2
    for i in range(300):
        array = random_values(rng, dtype, int(rng.choice([0, 1, 2, 17, 300])))
        bins, limits = random_bins(rng) or 10, random_range(rng, array)
        want, installed = (answer_of(histogram, array, bins, limits) for histogram in (histograms.histogram, np.histogram))
        if is_new:
            assert repr(installed) == repr(want), (i, bins, limits)
        elif isinstance(want, tuple) and isinstance(installed, tuple) and dtype not in ("f2", "f4"):
            assert installed[0] == want[0], (i, bins, limits)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_random(db, dtype):
    rng = seeded_generator()
    compared = 0
    for i in range(150):
        array = random_values(rng, dtype, int(rng.choice([1, 2, 17, 300, 2000])))
        array = array.astype(np.dtype(dtype).newbyteorder(str(rng.choice(["<", ">"]))))
        compared += check(db, array, random_bins(rng), random_range(rng, array), label=i)
    assert compared > 75


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_random_edges(db, dtype):
    rng = seeded_generator()
    for i in range(60):
        array = random_values(rng, dtype, int(rng.choice([0, 1, 17, 300])))
        count = int(rng.choice([2, 3, 4, 10, 100]))
        pool = [float(v) for v in finite_part(array)] + [0.0, 1.0, -1.5, 1e300, 0.1, math.inf, -math.inf]
        if rng.random() < 0.5:
            pool = [int(v) for v in pool if abs(v) < 2**62] + [0, 2**53 + 1, 2**62, -(2**63), 2**63 - 1]
            if array.dtype.kind in "iu":
                pool += [int(v) for v in array.ravel() if v < 2**63]
        edges = sorted(pool[k] for k in rng.integers(len(pool), size=count))
        assert check(db, array, edges, label=i)


def test_every_container_order_and_byte_order(db, folder):
    rng = seeded_generator()
    compared = 0
    for dtype in INTEGERS + FLOATS:
        for order in both_byte_orders(dtype):
            array = random_values(rng, dtype, 60).astype(order).reshape(3, 4, 5)
            if rng.random() < 0.5:
                array = np.asfortranarray(array)
            for label, contents, arguments in containers(array):
                write("x", contents)
                member = arguments[0] if arguments else ""
                lo, hi = float(rng.normal()) - 1, float(rng.normal()) + 3
                bins, range = (7, None) if rng.random() < 0.5 else (7, tuple(sorted((lo, hi))))
                compared += check(db, array, bins, range, "x", member, label)
    assert compared > 100


@pytest.mark.parametrize("variant", ["stored", "deflate"])
def test_large_arrays_are_read_in_blocks(db, folder, variant):
    """Several blocks, and a second thread where the file is not deflated; two passes begin anew."""
    rng = seeded_generator()
    for dtype in shell.some(["<f8", "<f4", ">f8", "<i8", "<u8", "<i4", ">u4", "<f2", "u1"], 3):
        # more than what makes a second thread worth it, where items are not small
        count = min(1_500_000, 5_250_000 // np.dtype(dtype).itemsize // 1500 * 1500)
        array = rng.normal(50, 20, count).clip(0, 200).astype(dtype)
        write("x.npy", npy_bytes(array))
        write("x.npz", npz_bytes({"a": array}, variant))
        sources = [("x.npy", ""), ("x.npz", "a")]
        assert check(db, array, 50, None, sources)
        assert check(db, array, 5000, (10, 60.5), sources) or dtype == "<f2"
        assert check(db, array, [0, 1, 5.5, 50, 50, 100], None, sources)
        folded = np.asfortranarray(array.reshape(-1, 30, 50))
        assert check(db, folded, 33)


def test_slices_fields_and_views(db):
    rng = seeded_generator()
    array = rng.normal(0, 1, (30, 40)).astype("f4")
    for slice, part in [("::2, 3", array[::2, 3]), ("-1", array[-1]), ("::-1, ::-3", array[::-1, ::-3]), ("5:5", array[5:5])]:
        rows = db.execute(SQL, (npy_bytes(array), "", slice, "", "", "")).fetchall()
        assert_rows(rows, numpy_histogram(part), slice)
    rows = db.execute(SQL, (npy_bytes(array), "", 3, "", "", "")).fetchall()
    assert_rows(rows, numpy_histogram(array[3]), 3)
    records = np.zeros(50, [("a", "u1"), ("p", [("x", ">f8")])])
    records["p"]["x"] = rng.normal(0, 1, 50)
    got = db.execute(SQL + " WHERE field = 'p.x'", (npy_bytes(records), "", "", "", "", "")).fetchall()
    assert_rows(got, numpy_histogram(records["p"]["x"]), "field")
    got = db.execute(SQL + " WHERE view = 'i4'", (npy_bytes(array), "", "", "", "", "")).fetchall()
    assert_rows(got, numpy_histogram(array.view("i4")), "view")
    sixteen = (array.view("u4") >> 16).astype("u2")
    wide = (sixteen.astype("u4") << 16).view("f4")
    got = db.execute(SQL + " WHERE view = 'bfloat16'", (npy_bytes(sixteen), "", "", 77, "", "")).fetchall()
    assert_rows(got, numpy_histogram(wide, 77), "bfloat16")
    dates = np.arange(100).astype("M8[s]")
    got = db.execute(SQL + " WHERE view = 'i8'", (npy_bytes(dates), "", "", 7, "", "")).fetchall()
    assert_rows(got, numpy_histogram(np.arange(100), 7), "dates")


def test_long_doubles_count_as_doubles(db):
    rng = seeded_generator()
    array = rng.normal(0, 1, 1000).astype("f16")
    got = db.execute(SQL, (npy_bytes(array), "", "", 20, "", "")).fetchall()
    assert_rows(got, numpy_histogram(array.astype("f8"), 20), "f16")


# --- special values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS + ["f16"])
def test_nan_and_infinities(db, dtype):
    values = np.array([1, 2, np.nan, 3, np.nan, 2.5], dtype)
    assert check(db, values, 4)
    nothing = np.array([np.nan, np.nan], dtype)
    assert check(db, nothing, 4)
    assert check(db, nothing, 4, (2, 5))
    infinite = np.array([1, 2, np.inf, -np.inf, np.nan, 3], dtype)
    assert "there are infinite values; give range_lo and range_hi" in error_of(db, SQL, npy_bytes(infinite), "", "", "", "", "")
    assert check(db, infinite, 4, (0, 2.5))
    assert check(db, infinite, [-math.inf, 0, 2, math.inf])
    assert check(db, infinite, [0, 2])


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_empty_0d_and_constant(db, dtype):
    for shape in [(0,), (3, 0, 2)]:
        assert check(db, np.zeros(shape, dtype))
        assert check(db, np.zeros(shape, dtype), 3, (2, 9))
        assert check(db, np.zeros(shape, dtype), [1, 2.5])
    for value in (0, 1):
        assert check(db, np.array(value, dtype))
        assert check(db, np.full((4, 4), value, dtype), 3)
        assert check(db, np.full(5, value, dtype), 3, (1, 1))
        assert check(db, np.full(5, value, dtype), 3, (1, 1.0))


def test_integers_at_extremes(db):
    for dtype in ("i8", "u8"):
        info = np.iinfo(dtype)
        ends = [info.min, info.min + 1, info.max - 1, info.max]
        cases = [ends, ends[2:], ends[:2], [2**53, 2**53 + 1, 2**53 + 2], [2**62, 2**62 + 2**10 + 1]]
        for values in cases:
            for bins in (1, 2, 3, 10, 100):
                check(db, np.array(values, dtype), bins)
            for range in [(2**53 + 1, 2**62), (2.0**53, 2.0**62), (-5, 2**63 - 1), (-(2**63), -1), (0.5, 1e19), (-1e300, 1e300),
                          (2**63 - 2, 2**63 - 1), (-7, -2), (2.0**64, 2.0**65), (1e18, 2**63 - 1)]:
                check(db, np.array(values, dtype), 3, range)
            for edges in [[2**53, 2**53 + 1, 2**53 + 2], [-(2**63), 0, 2**63 - 1], [0, 2.0**63, 2.0**64], [2**63 - 2, 2**63 - 1]]:
                assert check(db, np.array(values, dtype), edges)


def test_where_numpy_fails_values_are_placed_by_the_edges(db):
    """NumPy's indices overflow here; a count of every value stays right."""
    fails = [
        np.array([0, 5e-324]),
        np.full(9, 1e300),
        np.array([2**60] * 3),
    ]
    for array in fails:
        assert numpy_histogram(array) is None
        rows = db.execute(SQL, (npy_bytes(array), "", "", "", "", "")).fetchall()
        assert len(rows) == 10 and sum(row[3] for row in rows) == array.size
        for _, lo, hi, count, _ in rows[:-1]:
            assert count == sum(lo <= value < hi for value in array), array


def test_narrow_floats_that_cannot_express_the_edges(db):
    """NumPy refuses these, or makes an edge infinite: they are placed as float64."""
    cases = [
        (np.full(5, 4096, "f2"), 10, None),
        (np.full(5, 1e10, "f4"), 10, None),
        (np.array([1000, 1001, 1002], "f2"), 50, None),
        (np.linspace(0, 1, 99, dtype="f2"), 5000, None),
        (np.array([1, 60000], "f2"), 7, (0, 70000)),
        (np.array([1, 3e38], "f4"), 7, (0, 1e39)),
        (np.array([1, 2], "f4"), 4, (1e-60, 1e-50)),
        (np.array([-3e38, 0, 3e38], "f4"), 10, None),
        (np.array([-60000, 3, 60000], "f2"), 10, None),
        (np.arange(-9, 9, dtype="f4") * np.float32(3.7e37), 6, None),
    ]
    for array, bins, limits in cases:
        answer = answer_of(histograms.histogram, array, bins, limits)
        assert isinstance(answer, ValueError) or answer[0][-1] == math.inf
        assert check(db, array, bins, limits)
    rows = db.execute(SQL, (npy_bytes(np.full(5, 1e10, "f4")), "", "", 2, "", "")).fetchall()
    assert [row[1:4] for row in rows] == [(1e10 - 0.5, 1e10, 0), (1e10, 1e10 + 0.5, 5)]


def test_numpy_2_computes_edges_of_narrow_floats_in_their_precision(db):
    """The numbers are NumPy 2.4's. NumPy 1.24 has 0.4000000059604645 and 0.400146484375."""
    for dtype, want in [
        ("f4", [0.10000000149011612, 0.25, 0.3999999761581421, 0.550000011920929]),
        ("f2", [0.0999755859375, 0.25, 0.39990234375, 0.55029296875]),
    ]:
        rows = db.execute(SQL, (npy_bytes(np.array([0.1, 0.25, 0.7], dtype)), "", "", 4, "", "")).fetchall()
        assert [row[1] for row in rows] == want


# --- arguments ---------------------------------------------------------------------------------------------


def test_arguments_are_columns(db):
    source = npy_bytes(np.arange(20.0))
    positional = db.execute("SELECT * FROM npy_histogram(?, '', '', 4, 0, 16.0)", (source,)).fetchall()
    named = db.execute(
        "SELECT * FROM npy_histogram WHERE range_hi = 16.0 AND bins = 4 AND source = ? AND range_lo = 0", (source,)
    ).fetchall()
    assert positional == named == [(i, 4.0 * i, 4.0 * i + 4, 4 + (i == 3), bar_of(4 + (i == 3), 5)) for i in range(4)]
    row = db.execute(
        "SELECT member, slice, bins, range_lo, range_hi, field, view, expect, on_error, path, name"
        " FROM npy_histogram(?, '', ':5', '[0, 2, 4]', '', '', '', 'f8', '[20]', 'skip') LIMIT 1",
        (source,),
    )
    assert row.fetchone() == ("", ":5", "[0, 2, 4]", "", "", "", "f8", "[20]", "skip", None, "")
    row = db.execute("SELECT member, bins, range_lo, range_hi, typeof(range_hi) FROM npy_histogram(?) LIMIT 1", (source,))
    assert row.fetchone() == (None, None, None, None, "null")
    row = db.execute("SELECT bins, range_lo, range_hi FROM npy_histogram(?, '', '', 3.0, 1, 2.5) LIMIT 1", (source,))
    assert [repr(value) for value in row.fetchone()] == ["3.0", "1", "2.5"]


def test_null_gives_no_rows(db):
    source = npy_bytes(np.arange(20.0))
    for i in range(6):
        arguments = [source, "", "", 5, 0, 1]
        arguments[i] = None
        assert db.execute(SQL, arguments).fetchall() == []
    # Whatever the others are.
    assert db.execute(SQL, (source, None, "", "auto", 5, 1)).fetchall() == []


def test_in_or_and_joins(db, folder):
    write("a.npy", npy_bytes(np.arange(6)))
    write("b.npy", npy_bytes(np.array([1.0, 2.0])))
    write("c.npz", npz_bytes({"x": np.zeros(3), "y": np.arange(4, dtype="f4")}))
    counts = db.execute("SELECT bins, count(*), sum(count) FROM npy_histogram('a.npy') WHERE bins IN (2, 3, '[0, 1]') GROUP BY 1")
    assert counts.fetchall() == [(2, 2, 6), (3, 3, 6), ("[0, 1]", 1, 2)]
    rows = db.execute(
        "SELECT m.path, m.name, count(*), sum(h.count), min(h.lo), max(h.hi)"
        " FROM npy_meta('*.np*') m, npy_histogram(m.path, m.idx) h GROUP BY 1, 2 ORDER BY 1, 2"
    )
    want = [("a.npy", "", 10, 6, 0.0, 5.0), ("b.npy", "", 10, 2, 1.0, 2.0), ("c.npz", "x", 10, 3, -0.5, 0.5), ("c.npz", "y", 10, 4, 0.0, 3.0)]
    assert rows.fetchall() == want
    reordered = "SELECT h.path, h.name, h.bin, h.count FROM npy_histogram(m.path, m.idx, '', m.ndim + 1) h, npy_meta('*.np*') m"
    assert len(db.execute(reordered).fetchall()) == 8
    names = db.execute("SELECT path, name, count FROM npy_histogram('*.np*', '', '', 1) ORDER BY 1, 2").fetchall()
    assert names == [("a.npy", "", 6), ("b.npy", "", 2), ("c.npz", "x", 3), ("c.npz", "y", 4)]
    assert db.execute("SELECT count FROM npy_histogram('c.npz', '', '', 1) WHERE name = 'y'").fetchall() == [(4,)]
    assert db.execute("SELECT count FROM npy_histogram('*.npy', '', '', 1) WHERE path = 'b.npy'").fetchall() == [(2,)]
    either = "SELECT source, member, sum(count) FROM npy_histogram WHERE (source = 'c.npz' AND member = 'y') OR (source = 'a.npy' AND bins = 2) GROUP BY 1"
    assert db.execute(either).fetchall() == [("a.npy", None, 6), ("c.npz", "y", 4)]
    ordered = db.execute("SELECT bin FROM npy_histogram('a.npy') ORDER BY count DESC, bin DESC LIMIT 3").fetchall()
    assert ordered == [(9,), (8,), (6,)]
    assert db.execute("SELECT count(*), count(DISTINCT array_key) FROM npy_histogram('c.npz')").fetchone() == (20, 2)


def test_a_ten_file(db, folder):
    write("x.ten", ten_bytes([np.arange(8, dtype="f4"), np.arange(3, dtype="i2")], infos=["a", "b"]))
    rows = db.execute("SELECT name, bin, count FROM npy_histogram('x.ten', '', '', 2)").fetchall()
    assert rows == [("a", 0, 4), ("a", 1, 4), ("b", 0, 1), ("b", 1, 2)]


def test_the_same_call_again_reads_nothing(db, folder):
    """As the inner loop of a join; another argument counts anew."""
    write("a.npy", npy_bytes(np.arange(100000.0)))
    sql = "WITH t(i, n) AS (VALUES (0, 5), (1, 5), (2, 5), (3, 7)) SELECT i, sum(count), count(*) FROM t CROSS JOIN npy_histogram('a.npy', '', '', t.n) GROUP BY 1"
    before = counters(db)
    assert db.execute(sql).fetchall() == [(0, 100000, 5), (1, 100000, 5), (2, 100000, 5), (3, 100000, 7)]
    cost = since(db, before)
    assert cost["files_opened"] == 1 and cost["bytes_read"] < 4.5 * 800_000
    before = counters(db)
    assert db.execute("SELECT count(*) FROM npy_histogram('a.npy', '', '', 1000)").fetchone() == (1000,)
    assert since(db, before)["bytes_read"] < 10_000


def test_passes(db, folder):
    """One where the range is known or the items have 16 bits, else two."""
    write("wide.npy", npy_bytes(np.arange(500_000.0)))
    write("narrow.npy", npy_bytes(np.arange(500_000).astype("i2")))
    for source, range, passes, nbytes in [
        ("wide.npy", ("", ""), 2, 4_000_000),
        ("wide.npy", (0, 1), 1, 4_000_000),
        ("narrow.npy", ("", ""), 1, 1_000_000),
    ]:
        before = counters(db)
        db.execute(SQL, (source, "", "", "", *range)).fetchall()
        assert passes * nbytes <= since(db, before)["bytes_read"] < passes * nbytes + 100_000


def test_memory_does_not_grow_with_the_array(folder):
    """In a process of its own: the limit can only be lowered."""
    write_sparse_npy("x.npy", (20_000_000,))
    write("x.npz", npz_bytes({"a": np.zeros(2_000_000)}, "deflate"))
    write_sparse_npy("f.npy", (4000, 5000), "<i4", fortran_order=True)
    sql = "PRAGMA hard_heap_limit = 4000000;\n" + "".join(
        f"SELECT max(count) FROM npy_histogram('{name}', '', '', {bins});\n"
        for name in ("x.npy", "x.npz", "f.npy") for bins in (10, 10000)
    )
    want = ["4000000"] + [str(n) for n in (20_000_000, 2_000_000, 20_000_000) for _ in range(2)]
    assert shell.run(sql, folder).split() == want


# --- errors ------------------------------------------------------------------------------------------------

HOW = "bins must be the number of bins (an INTEGER) or a JSON array of edges, as in '[0, 0.5, 10]'"
CALLS = [
    ((0,), "bins is 0; there must be at least 1"),
    ((-(2**63),), "bins is -9223372036854775808; there must be at least 1"),
    ((1_000_001,), "bins is 1000001; there can be at most 1000000"),
    ((2.5,), HOW),
    ((1e300,), HOW),
    ((b"[0, 1]",), HOW),
    (("20",), HOW),
    (("[0, 1",), HOW),
    (("[0, 1] 2",), HOW),
    (("[0, , 1]",), HOW),
    (("[0, 1,]",), HOW),
    (("[0, NaN]",), HOW),
    (("[0, 0x10]",), HOW),
    (("[0, 01]",), HOW),
    (("[0, 1.]",), HOW),
    (("[0, 1e]",), HOW),
    (("[[0, 1]]",), HOW),
    (("['0', '1']",), HOW),
    (("[0, 1]\0",), HOW),
    (("auto",), "bins = 'auto' is one of NumPy's estimators, which are not computed; give a number of bins or their edges"),
    (("sturges",), "bins = 'sturges' is one of NumPy's estimators, which are not computed; give a number of bins or their edges"),
    (("[]",), "bins has 0 edges; a bin needs two"),
    (("[5]",), "bins has 1 edge; a bin needs two"),
    (("[0, 2, 1]",), "the edges in bins do not increase: number 2 (from 0, at byte 7 of the text) is less than the one before"),
    (("[0.5, 0]",), "the edges in bins do not increase: number 1 (from 0, at byte 6 of the text) is less than the one before"),
    (("[" + "0," * 1_000_001 + "0]",), "bins has 1000002 edges; there can be at most 1000000 bins"),
    (("[0, 1]", 0, 1), "bins gives the edges already; leave range_lo and range_hi out"),
    (("", 0, ""), "range_lo and range_hi go together; range_hi is missing"),
    (("", "", 0.5), "range_lo and range_hi go together; range_lo is missing"),
    (("", "0", 1), "range_lo must be a number"),
    (("", 0, b"1"), "range_hi must be a number"),
    (("", 2, 1), "range_lo (2) is greater than range_hi (1)"),
    (("", 2**53 + 1, 2.0**53), "range_lo (9007199254740993) is greater than range_hi (9007199254740992.0)"),
    (("", 0, math.inf), "range_lo and range_hi must be finite"),
    (("", -math.inf, 0), "range_lo and range_hi must be finite"),
]


@pytest.mark.parametrize("arguments, message", CALLS)
def test_errors_of_the_call(db, arguments, message):
    arguments = [*arguments, *[""] * (3 - len(arguments))]
    for on_error in ("", " WHERE on_error = 'skip'"):
        assert error_of(db, SQL + on_error, npy_bytes(np.arange(3)), "", "", *arguments) == f"npyext: {message}"


def test_a_call_at_fault_is_at_fault_again(db):
    sql = "SELECT count(*) FROM (VALUES (1), (2)) CROSS JOIN npy_histogram(?, '', '', 'auto')"
    assert "estimators" in error_of(db, sql, npy_bytes(np.arange(3)))
    assert "needs a source, as in npy_histogram('x.npy')" in error_of(db, "SELECT * FROM npy_histogram")
    assert "npy_histogram has no column `error`" in error_of(db, "SELECT * FROM npy_histogram('x') WHERE on_error = 'row'")


DTYPES = [
    ("c16", "complex128"),
    ("S3", "bytes24"),
    ("U2", "str64"),
    ("V4", "void32"),
    ("M8[ns]", "datetime64[ns]; view = 'i8' takes the counts of its unit"),
    ("m8[s]", "timedelta64[s]; view = 'i8' takes the counts of its unit"),
    ([("a", "i4")], "void32; choose one of its fields with field"),
]


@pytest.mark.parametrize("dtype, name", DTYPES)
def test_dtypes_without_a_histogram(db, folder, dtype, name):
    write("x.npy", npy_bytes(np.zeros(3, dtype)))
    want = f"npyext: x.npy: a histogram is one of real numbers, not of {name}"
    assert error_of(db, SQL, "x.npy", "", "", "", "", "") == want
    assert error_of(db, "SELECT count(*) FROM npy_histogram('x.npy')") == want
    write("y.npy", npy_bytes(np.zeros(3)))
    skipped = "SELECT path, count(*) FROM npy_histogram('?.npy') WHERE on_error = 'skip' GROUP BY path"
    assert db.execute(skipped).fetchall() == [("y.npy", 10)]


def test_other_faults_of_arrays(db, folder):
    write("o.npy", object_npy_bytes())
    assert "holds Python objects" in error_of(db, "SELECT * FROM npy_histogram('o.npy')")
    write("w.npy", npy_bytes(np.array([-1e308, 1e308])))
    text = "npyext: w.npy: the range from -1e+308 to 1e+308 is wider than a float64 can express"
    assert error_of(db, "SELECT lo FROM npy_histogram('w.npy')") == text
    assert error_of(db, "SELECT lo FROM npy_histogram('w.npy', '', '', 3, -1e308, 1e308)") == text
    write("t.npy", npy_bytes(np.zeros(100))[:-1])
    assert "data is truncated" in error_of(db, "SELECT lo FROM npy_histogram('t.npy')")
    assert "expected int8, found float64[2]" in error_of(db, "SELECT * FROM npy_histogram('w.npy') WHERE expect = 'int8'")
    damaged = bytearray(npz_bytes({"a": np.arange(1000.0)}))
    damaged[2000] ^= 1
    write("d.npz", damaged)
    assert "CRC-32" in error_of(db, "SELECT sum(count) FROM npy_histogram('d.npz')")
    before = counters(db)
    assert db.execute("SELECT sum(count) FROM npy_histogram('*.np?') WHERE on_error = 'skip'").fetchone() == (None,)
    assert since(db, before)["files_skipped"] == 4
