"""npy_quantile, and the median of npy_stats and npy_median, against NumPy's nanquantile and nanmedian."""

import io
import json
import math
import sqlite3
import warnings

import numpy as np
import pytest

import quantiles
import shell
from arrays import both_byte_orders, npy_bytes, npz_bytes, object_npy_bytes, seeded_generator, write_sparse_npy
from expected import counters, error_of, since
from quantiles import asked, wanted

# More items than are held at a time: they are counted.
MANY = (1 << 20) + 12345


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_every_method_of_random_arrays(db):
    assert quantiles.compare(db, seeded_generator(), 40) > 200


# --- arrays that are counted, not held ---------------------------------------------------------------------------


def normal(rng):
    return rng.normal(size=MANY)


def changed(array, where, value):
    array[where] = value
    return array


# Each is made when it is asked for: they are large.
LARGE = {
    "normal": normal,
    "sorted": lambda rng: np.sort(normal(rng)),
    "float32": lambda rng: normal(rng).astype("f4"),
    "float16": lambda rng: normal(rng).astype("f2"),
    "big-endian": lambda rng: normal(rng).astype(">f8"),
    "with NaN": lambda rng: changed(normal(rng), rng.random(MANY) < 0.3, np.nan),
    "of NaN alone": lambda rng: np.full(MANY, np.nan),
    "that begin with the same bits": lambda rng: 1 + normal(rng) * 1e-9,
    "all the same": lambda rng: np.full(MANY, 3.5),
    "few": lambda rng: rng.integers(0, 5, MANY).astype("f8"),
    "half of them 0": lambda rng: changed(normal(rng), slice(MANY // 2), 0),
    "infinite in part": lambda rng: changed(normal(rng), rng.random(MANY) < 0.3, np.inf),
    "periodic": lambda rng: np.resize(np.concatenate([np.zeros(1000), rng.normal(size=1000)]), MANY),
    "int64": lambda rng: rng.integers(-(2**62), 2**62, MANY),
    "few int64": lambda rng: rng.integers(-3, 3, MANY),
    "near int64": lambda rng: rng.integers(0, 2**20, MANY) + 2**40,
    "uint64": lambda rng: rng.integers(2**63, 2**64 - 1, MANY, dtype="u8"),
    "int16": lambda rng: rng.integers(-9999, 9999, MANY, dtype="i2"),
    "uint8": lambda rng: rng.integers(0, 255, MANY, dtype="u1"),
    "in Fortran order": lambda rng: np.asfortranarray(normal(rng)[: 1000 * (MANY // 1000)].reshape(1000, -1)),
}


@pytest.mark.parametrize("threads", shell.some(["2", "1"], 2))
def test_large_arrays(connect, monkeypatch, threads):
    monkeypatch.setenv("NPYEXT_THREADS", threads)
    rng = seeded_generator()
    db, some = connect(), [0, 0.001, 0.25, 0.5, 0.9999, 1] + [round(float(q), 4) for q in rng.random(4)]
    for what, make in LARGE.items():
        array = make(rng)
        np.save("large.npy", array)
        for list_ in (some, [i / 100 for i in range(101)]):
            assert asked(db, "large.npy", list_) == wanted(array, list_, None, "linear"), what
        assert asked(db, "large.npy", some, method="lower") == wanted(array, some, None, "lower"), what


@pytest.mark.parametrize("slice_", [":, ::-1", "::2", ":, 100:1300", "3"])
def test_slices_of_large_arrays(db, slice_):
    array = seeded_generator().normal(size=(1500, 1400))
    np.save("a.npy", array)
    got = [v for (v,) in db.execute("SELECT value FROM npy_quantile('a.npy', '', ?, '[0.1, 0.5]')", (slice_,))]
    assert got == np.quantile(eval(f"array[{slice_}]"), [0.1, 0.5]).tolist()


@pytest.mark.parametrize("dtype", shell.some(["f8", "u1", "i4"], 3))
@pytest.mark.parametrize("axis", [0, 1])
def test_axes_of_large_arrays(db, dtype, axis):
    """Batches of coordinates, and coordinates that are larger than what is held."""
    rng = seeded_generator()
    shapes = [(3, 1_700_000), (1_700_000, 2), (50_000, 70), (70, 50_000)]
    if shell.SAMPLES:  # along the other axis the others
        shapes = shapes[(axis + int(rng.integers(2))) % 2 :: 2]
    for shape in shapes:
        array = (rng.normal(size=shape) * 50).astype(dtype)
        np.save("a.npy", array)
        got = asked(db, "a.npy", [0.25, 0.5], axis)
        wide = array.astype("i8") if dtype != "f8" else array
        assert got == np.moveaxis(np.quantile(wide, [0.25, 0.5], axis=axis), 0, -1).ravel().tolist(), shape


def test_memory_is_bounded(connect, heap, tmp_path):
    """Of a gigabyte, or a quarter of it: without the threads' own blocks, which are not SQLite's memory."""
    write_sparse_npy(tmp_path / "s.npy", (1 << (25 if shell.SAMPLES else 27),))
    heap(32 << 20)
    try:
        assert asked(connect(), "s.npy", [0, 0.5, 1]) == [0, 0, 0]
        assert asked(connect(), "s.npy", [i / 100 for i in range(101)]) == [0] * 101
    finally:
        heap(None)


def test_one_pass_mostly(db):
    """Of a sample it is known about where the quantiles are: the file is read once, and little more."""
    np.save("a.npy", seeded_generator().normal(size=4 * MANY))
    before = counters(db)
    asked(db, "a.npy", [0.01, 0.25, 0.5, 0.75, 0.99])
    nbytes = since(db, before)["bytes_read"]
    assert 32 * MANY <= nbytes < 1.3 * 32 * MANY


# --- what there is in rows ---------------------------------------------------------------------------------------


def test_columns(db):
    x = np.arange(24.0).reshape(2, 3, 4)
    np.save("x.npy", x)
    rows = db.execute("SELECT path, name, field_name, at, q, value, error FROM npy_quantile('x.npy', '', '', 0.5, 1)").fetchall()
    want = [("x.npy", "", None, json.dumps([i, k], separators=(",", ":")), 0.5, float(np.median(x[i, :, k])), None) for i in range(2) for k in range(4)]
    assert rows == want
    rows = db.execute("SELECT at, q, value FROM npy_quantile('x.npy')").fetchall()
    assert rows == [(None, q, float(np.quantile(x, q))) for q in (0, 0.25, 0.5, 0.75, 1)]
    sliced = db.execute("SELECT at, value FROM npy_quantile('x.npy', '', '1, ::2', 1, -1)").fetchall()
    assert sliced == [(0, 15.0), (2, 23.0)]
    assert db.execute("SELECT count(DISTINCT array_key) FROM npy_quantile('x.npy', '', '', '[0, 0.5]', 0)").fetchone() == (24,)
    assert db.execute("SELECT count(*) FROM npy_quantile('x.npy', '', '', '[]')").fetchone() == (0,)


def test_fields(db):
    """Each of its own; a text has none."""
    array = np.zeros(5, [("a", "<f4"), ("t", "U3"), ("n", [("b", ">i2", (2,))])])
    array["a"], array["n"]["b"] = [3, 1, np.nan, 2, 9], np.arange(10).reshape(5, 2)
    rows = db.execute("SELECT field_name, q, value FROM npy_quantile(?, '', '', '[0, 0.5]')", (npy_bytes(array),)).fetchall()
    assert rows == [("a", 0, 1), ("a", 0.5, 2.5), ("t", 0, None), ("t", 0.5, None), ("n.b", 0, 0), ("n.b", 0.5, 4.5)]
    assert asked(db, npy_bytes(array), [0.5], field="n.b") == [4.5]
    table = np.zeros((3, 4), array.dtype)
    table["a"] = np.arange(12).reshape(3, 4)
    rows = db.execute("SELECT at, value FROM npy_quantile(?, '', '', 0.5, 0) WHERE field_name = 'a'", (npy_bytes(table),)).fetchall()
    assert rows == [(i, 4.0 + i) for i in range(4)]


def test_large_structured_arrays(db):
    rng = seeded_generator()
    array = np.zeros((2, MANY), [("x", "f4"), ("y", ">i8")])
    array["x"], array["y"] = rng.normal(size=array.shape), rng.integers(-(10**6), 10**6, array.shape)
    np.save("s.npy", array)
    rows = db.execute("SELECT at, field_name, value FROM npy_quantile('s.npy', '', '', 0.3, 1)").fetchall()
    assert rows == [(i, name, float(np.quantile(array[name][i].astype("f8" if name == "x" else "i8"), 0.3))) for i in range(2) for name in "xy"]


@pytest.mark.parametrize("dtype", both_byte_orders("M8[s]") + both_byte_orders("m8[ms]"))
def test_dates_are_items(db, dtype):
    array = np.array([50, -3, -(2**63), 7, 200, 7]).view(np.dtype(dtype).newbyteorder("=")).astype(dtype)
    known = np.sort(array[~np.isnat(array)])
    shown = [value for (value,) in db.execute("SELECT value FROM npy_rows(?)", (npy_bytes(known),))]
    for method in ("lower", "higher", "nearest", "inverted_cdf"):
        places = np.quantile(np.arange(5), [0, 0.3, 0.5, 1], method=method).astype(int)
        assert asked(db, npy_bytes(array), [0, 0.3, 0.5, 1], method=method) == [shown[i] for i in places]
    assert "'lower'" in error_of(db, "SELECT value FROM npy_quantile(?)", npy_bytes(array))
    median = db.execute("SELECT median FROM npy_stats(?)", (npy_bytes(array),)).fetchone()[0]
    assert median == (7 if np.dtype(dtype).kind == "m" else shown[2])


def test_empty_and_0d(db):
    assert asked(db, npy_bytes(np.zeros(0)), [0, 0.5]) == [None, None]
    assert asked(db, npy_bytes(np.array(7)), [0, 0.5]) == [7, 7]
    assert asked(db, npy_bytes(np.zeros((0, 3))), [0.5], 0) == [None] * 3
    assert asked(db, npy_bytes(np.zeros((0, 3))), [0.5], 1) == []
    infinite = np.array([np.nan, np.inf, -np.inf, 1])
    assert asked(db, npy_bytes(infinite), [0, 0.25, 0.5, 1]) == wanted(infinite, [0, 0.25, 0.5, 1], None, "linear")
    assert db.execute("SELECT count(*) FROM npy_quantile(?)", (npy_bytes(np.zeros(3, [])),)).fetchone() == (0,)


def test_bfloat16_by_view(db):
    singles = seeded_generator().normal(size=100).astype("f4")
    halves = (singles.view("u4") >> 16).astype("u2")
    want = (halves.astype("u4") << 16).view("f4").astype("f8")
    assert asked(db, npy_bytes(halves), [0.1, 0.5], view="bfloat16") == np.quantile(want, [0.1, 0.5]).tolist()


def test_archives_patterns_and_faults(db):
    np.save("a.npy", np.arange(3.0))
    with open("b.npz", "wb") as file:
        file.write(npz_bytes({"x": np.arange(5), "t": np.array(["no"])}, "deflate"))
    with open("c.npy", "wb") as file:
        file.write(b"\x93NUMPY")
    rows = db.execute("SELECT path, name, value, error_kind FROM npy_quantile('*.np?', '', '', 0.5)").fetchall()
    assert rows == [("a.npy", "", 1, None), ("b.npz", "x", 2, None), ("b.npz", "t", None, "value"), ("c.npy", "", None, "truncated")]
    assert db.execute("SELECT count(*) FROM npy_quantile('*.np?', '', '', 0.5) WHERE on_error = 'skip'").fetchone() == (2,)
    rows = db.execute("SELECT f.path, q.value FROM npy_meta('*.npz') AS f JOIN npy_quantile(f.path, f.name, '', 1) AS q WHERE f.dtype = 'int64'").fetchall()
    assert rows == [("b.npz", 4)]


@pytest.mark.parametrize(
    "array, quantiles, axis, method, said",
    [
        (np.zeros(3), 1.5, "", "", "from 0 to 1"),
        (np.zeros(3), 50, "", "", "percentiles must be divided by 100"),
        (np.zeros(3), "[0.5, -1]", "", "", "from 0 to 1"),
        (np.zeros(3), "median", "", "", "a number or a JSON array of numbers"),
        (np.zeros(3), b"\0", "", "", "a number or a JSON array of numbers"),
        (np.zeros(3), "[0.5,]", "", "", "a number or a JSON array of numbers"),
        (np.zeros(3), "[NaN]", "", "", "a number or a JSON array of numbers"),
        (np.zeros(3), json.dumps([0.5] * 10001), "", "", "more than 10000"),
        (np.zeros(3), 0.5, 1, "", "axis"),
        (np.zeros(3), 0.5, "", "linaer", "inverted_cdf, averaged_inverted_cdf"),
        (np.zeros(3), 0.5, "", 3, "method must be a text"),
        (np.zeros(3, "c16"), 0.5, "", "", "complex128"),
        (np.array(["a"]), 0.5, "", "", "str"),
    ],
)
def test_errors(db, array, quantiles, axis, method, said):
    sql = "SELECT value FROM npy_quantile(?, '', '', ?, ?) WHERE method = ?"
    assert said in error_of(db, sql, npy_bytes(array), quantiles, axis, method)


def test_objects_are_refused(db):
    assert "object" in error_of(db, "SELECT value FROM npy_quantile(?)", object_npy_bytes())


# --- medians -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", quantiles.REALS)
def test_median_of_stats(db, dtype):
    rng = seeded_generator()
    for shape in ((7,), (8,), (3, 4, 5), (1,)):
        array = quantiles.random_reals(rng, dtype, shape)
        wide = array.astype("f8" if dtype[0] == "f" else "u1" if dtype == "?" else dtype)
        for axis in [None, *range(len(shape))]:
            with np.errstate(all="ignore"):
                want = [None if math.isnan(v) else v for v in np.atleast_1d(np.nanmedian(wide, axis=axis)).ravel().tolist()]
            got = db.execute("SELECT median, count FROM npy_stats(?, '', '', ?)", (npy_bytes(array), "" if axis is None else axis)).fetchall()
            assert [row[0] for row in got] == want and sum(row[1] for row in got) == int((array == array).sum())


def test_median_alone_reads_no_more_than_it_needs(db):
    np.save("a.npy", np.arange(100_000.0))
    before = counters(db)
    assert db.execute("SELECT median FROM npy_stats('a.npy')").fetchall() == [(49999.5,)]
    assert since(db, before)["bytes_read"] < 900_000


def test_median_of_fields_and_texts(db):
    array = np.array([(1, "a"), (4, "b")], [("x", "i4"), ("t", "U1")])
    assert db.execute("SELECT field_name, median FROM npy_stats(?)", (npy_bytes(array),)).fetchall() == [("x", 2.5), ("t", None)]
    assert db.execute("SELECT median, count FROM npy_stats(?)", (npy_bytes(np.array([1j])),)).fetchall() == [(None, 1)]
    assert db.execute("SELECT median FROM npy_stats(?)", (object_npy_bytes(),)).fetchall() == [(None,)]


@pytest.mark.parametrize("dtype", quantiles.REALS)
def test_npy_median(db, dtype):
    rng = seeded_generator()
    for shape in ((7,), (2, 3, 4), (0, 2)):
        array = quantiles.random_reals(rng, dtype, shape)
        wide = array.astype("f8" if dtype[0] == "f" else "u1" if dtype == "?" else dtype)
        for axis in [None, *range(len(shape))]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                want = np.nanmedian(wide, axis=axis)
            (got,) = db.execute("SELECT npy_median(?, ?)", (npy_bytes(array), axis)).fetchone()
            if isinstance(got, bytes):
                got = np.load(io.BytesIO(got))
                assert got.dtype == "f8" and got.shape == want.shape and np.array_equal(got, want, equal_nan=True)
            else:
                assert want.ndim == 0 and (got == want or (got is None and np.isnan(want)))


def test_npy_median_of_dates_and_what_has_none(db):
    dates = np.array(["2020-01-01", "2020-01-04", "NaT", "2020-03-01"], "M8[D]")
    assert db.execute("SELECT npy_median(?)", (npy_bytes(dates),)).fetchone() == ("2020-01-04",)
    (got,) = db.execute("SELECT npy_median(?, 1)", (npy_bytes(dates.reshape(2, 2)),)).fetchone()
    assert np.load(io.BytesIO(got)).tolist() == np.array(["2020-01-02", "2020-03-01"], "M8[D]").tolist()
    for array, said in ((np.array(["a"]), "no median of str"), (np.zeros(2, "c8"), "no median of complex64"), (np.zeros(2, [("a", "i4")]), "structured")):
        assert said in error_of(db, "SELECT npy_median(?)", npy_bytes(array))
    assert "takes an array" in error_of(db, "SELECT npy_median(3)")


# --- by labels ---------------------------------------------------------------------------------------------------


def asked_by(db, source, labels, wanted, axis="", method="linear", slice=""):
    """{(label, at): the values}"""
    sql = "SELECT label, at, value FROM npy_quantile(:source, '', :slice, :wanted, :axis) WHERE by = :by AND method = :method"
    parameters = dict(source=source, slice=slice, wanted=json.dumps(wanted), axis=axis, by=labels, method=method)
    found = {}
    for label, at, value in db.execute(sql, parameters):
        found.setdefault((label, at), []).append(int(value) if isinstance(value, str) and value.isdigit() else value)
    return found


def medians_by(db, source, labels, axis="", slice=""):
    sql = "SELECT label, at, median FROM npy_stats(?, '', ?, ?) WHERE by = ?"
    return {(label, at): [median] for label, at, median in db.execute(sql, (source, slice, axis, labels))}


def parts_by(array, labels):
    """(label, `array[labels == label]`) for every label, all NaN one label."""
    for label in np.unique(labels[labels == labels]).tolist():
        yield label, array[labels == label]
    if (labels != labels).any():
        yield None, array[labels != labels]


def shown_at(array, axes):
    """What `at` shows of every coordinate of the axes that are kept."""
    if axes is None:
        return [None]
    kept = [array.shape[axis] for axis in range(array.ndim) if axis not in axes]
    places = [list(place) for place in np.ndindex(*kept)]
    return [place[0] if len(place) == 1 else json.dumps(place, separators=(",", ":")) for place in places]


@pytest.mark.parametrize("dtype", quantiles.REALS)
def test_quantiles_by_label(db, dtype):
    rng = seeded_generator()
    places = [0.25, 0, 1, 0.7]
    for shape in ((200,), (150, 3), (30, 4, 5)):
        array = quantiles.random_reals(rng, dtype, shape)
        wide = array.astype("f8" if dtype[0] == "f" else "u1" if dtype == "?" else dtype)
        labels = rng.integers(0, 5, shape[0]).astype(rng.choice(["i4", "f8"]))
        if labels.dtype.kind == "f":
            labels[rng.random(len(labels)) < 0.1] = np.nan
        for axes in [None, [0], [*range(len(shape))]] + [[0, 2], [0, 1]] * (len(shape) == 3):
            axis = "" if axes is None else json.dumps(axes)
            method = str(rng.choice(["linear", "lower", "nearest", "hazen", "median_unbiased"]))
            source = npy_bytes(np.asfortranarray(array) if rng.random() < 0.3 else array)
            got, medians = asked_by(db, source, npy_bytes(labels), places, axis, method), medians_by(db, source, npy_bytes(labels), axis)
            all_at = shown_at(array, axes)
            for label, part in parts_by(wide, labels):
                values = wanted(part, places, axes, method)
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    middles = np.atleast_1d(np.nanmedian(part, axis=None if axes is None else tuple(axes))).ravel().tolist()
                for i, at in enumerate(all_at):
                    if not quantiles.overflows(array, method):
                        assert got[label, at] == values[4 * i : 4 * i + 4], (method, dtype, shape, axes, label, at)
                    (median,) = medians[label, at]
                    assert median == middles[i] or (median is None and math.isnan(middles[i])), (dtype, shape, axes, label, at)
            assert len(got) == len(medians) == len(all_at) * sum(1 for _ in parts_by(wide, labels))


@pytest.mark.parametrize("kind", shell.some(sorted(LARGE), 3))
def test_quantiles_by_label_of_many_items(db, kind):
    """More than are held: passes over the file count them, and with many labels a few bits at a time."""
    rng = seeded_generator()
    array = LARGE[kind](rng)
    np.save("a.npy", array)
    for nlabels in (3, 3000):
        labels = rng.integers(0, nlabels, array.shape[0])
        np.save("labels.npy", labels)
        got = asked_by(db, "a.npy", "labels.npy", [0.1, 0.5, 0.9], method="higher")
        order = np.argsort(labels, kind="stable")
        parts = np.split(array[order].reshape(array.shape[0], -1), np.cumsum(np.bincount(labels, minlength=nlabels))[:-1])
        assert len(got) == len(np.unique(labels))
        for label in rng.choice(np.unique(labels), 20).tolist() if nlabels > 3 else range(3):
            assert got[label, None] == wanted(parts[label], [0.1, 0.5, 0.9], None, "higher"), (kind, label)


def test_more_labels_than_are_found_at_once(db):
    rng = seeded_generator()
    array, labels = rng.normal(size=60_000), np.arange(60_000) % 20_000
    got = asked_by(db, npy_bytes(array), npy_bytes(labels), [0, 0.3, 0.5, 0.8, 1])
    want = np.quantile(array.reshape(3, 20_000), [0, 0.3, 0.5, 0.8, 1], axis=0).T.tolist()
    assert [got[label, None] for label in range(20_000)] == want
    sql = "SELECT count(*), min(value) FROM npy_quantile(?, '', '', 0.5) WHERE by = ?"
    assert db.execute(sql, (npy_bytes(np.arange(65_536.0)), npy_bytes(np.arange(65_536)))).fetchone() == (65_536, 0)
    said = error_of(db, sql, npy_bytes(np.arange(65_537.0)), npy_bytes(np.arange(65_537)), code=sqlite3.SQLITE_TOOBIG)
    assert "there are 65537 labels; quantiles and medians by label take at most 65536" in said


def test_quantiles_by_label_of_fields_slices_and_dates(db):
    records = np.zeros(6, [("x", "i4"), ("t", "U1"), ("v", "f4", (2,))])
    records["x"], records["v"] = [1, 2, 3, 4, 5, 6], np.arange(12).reshape(6, 2)
    labels = npy_bytes(np.array(["a", "b", "a", "b", "a", "b"]))
    rows = db.execute("SELECT label, field_name, value FROM npy_quantile(?, '', '', 0.5) WHERE by = ?", (npy_bytes(records), labels)).fetchall()
    assert sorted(rows, key=str) == sorted([("a", "x", 3.0), ("b", "x", 4.0), ("a", "t", None), ("b", "t", None), ("a", "v", 4.5), ("b", "v", 6.5)], key=str)
    rows = db.execute("SELECT label, field_name, median FROM npy_stats(?) WHERE by = ?", (npy_bytes(records[["x"]]), labels)).fetchall()
    assert rows == [("a", "x", 3.0), ("b", "x", 4.0)]
    dates = np.array(["2020-01-01", "2020-01-02", "2020-01-04", "NaT", "2020-01-09", "2020-01-06"], "M8[D]")
    assert medians_by(db, npy_bytes(dates), labels) == {("a", None): ["2020-01-04"], ("b", None): ["2020-01-04"]}
    assert asked_by(db, npy_bytes(dates), labels, [1], method="lower") == {("a", None): ["2020-01-09"], ("b", None): ["2020-01-06"]}
    # a label that the slice has no entry of, and a slice that chooses one entry
    assert asked_by(db, npy_bytes(np.arange(6.0)), labels, [0.5], slice="2:3") == {("a", None): [2.0], ("b", None): [None]}
    assert medians_by(db, npy_bytes(np.arange(6.0)), labels, slice="3") == {("a", None): [None], ("b", None): [3.0]}
    assert asked_by(db, npy_bytes(np.zeros((0, 2))), npy_bytes(np.zeros(0)), [0.5]) == {}
    np.save("a.npy", np.arange(6.0))
    assert asked_by(db, "a.npy", labels, [0.5], slice="0:0:-1") == {("a", None): [None], ("b", None): [None]}
    for sql in ("SELECT value FROM npy_quantile(?, '', '', 0.5, 1) WHERE by = ?", "SELECT median FROM npy_stats(?, '', '', 1) WHERE by = ?"):
        assert "by is for the entries of the first axis" in error_of(db, sql, npy_bytes(np.zeros((6, 2))), labels)
    assert "by has 6 labels" in error_of(db, "SELECT value FROM npy_quantile(?) WHERE by = ?", npy_bytes(np.zeros(5)), labels)


def test_medians_by_label_read_the_file_a_few_times(db):
    """Not once for each label."""
    array = np.random.default_rng(1).normal(size=1 << 21)
    np.save("a.npy", array)
    np.save("labels.npy", (np.arange(len(array)) % 50).astype("i4"))
    before = counters(db)
    assert len(medians_by(db, "a.npy", "labels.npy")) == 50
    assert since(db, before)["bytes_read"] < 6 * array.nbytes


def test_a_file_that_changes_between_the_passes_of_medians_by_label(db):
    np.save("a.npy", np.zeros(1 << 21))
    np.save("labels.npy", np.zeros(1 << 21, "u1"))
    calls, others = [], np.zeros(1 << 21)  # sanitized, room for them would take longer than the question each time

    def change():
        calls.append(1)
        if len(calls) % 20 == 10:
            with open("a.npy", "r+b") as file:
                file.seek(128)
                others.fill(len(calls))
                file.write(others)
        return 0

    db.set_progress_handler(change, 1)
    try:
        rows = medians_by(db, "a.npy", "labels.npy")
    except Exception as error:
        assert "changed while it was read" in str(error)
    else:
        assert len(rows) == 1
    finally:
        db.set_progress_handler(None, 1)


def test_no_entries_of_labels_ended_the_process(db):
    """A slice that leaves nothing of the axis that has labels: a division by the number of its entries."""
    labels = npy_bytes(np.array([1, 2, 3]))
    for array in (np.ones((3, 2)), np.ones((3, 2, 2), "i4"), np.ones(3, "f2")):
        for axis, nplaces in (("", 1), (", 0", array[0].size)):
            sql = f"SELECT label, q, value FROM npy_quantile(?, '', ':0', '[0, 0.5]'{axis}) WHERE by = ?"
            rows = db.execute(sql, (npy_bytes(array), labels)).fetchall()
            assert sorted(rows) == sorted([(label, q, None) for label in (1, 2, 3) for q in (0, 0.5)] * nplaces)
