"""npy_stats by labels, against NumPy's masks: `X[y == label]` for each of `numpy.unique(y)`."""

import json
import math
import os

import numpy as np
import pytest

from arrays import both_byte_orders, npy_bytes, object_npy_bytes, seeded_generator
from expected import counters, error_of, scalar_value, since

COLUMNS = "label at count nulls infs zeros min max mean std sum argmin argmax".split()
PLAIN = COLUMNS[:-2]
REALS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]


def stats_by(db, source, by, slice="", axis="", columns=COLUMNS, **more):
    where = "".join(f" AND {name} = :{name}" for name in more)
    sql = f"SELECT {', '.join(columns)} FROM npy_stats(:source, '', :slice, :axis) WHERE by = :by{where}"
    parameters = dict(more, source=source, by=by, slice=slice, axis=axis)
    rows = [dict(zip(columns, row)) for row in db.execute(sql, parameters)]
    # Results of several passes begin with the first label again (reference/statistics.md); a million results are one pass.
    if os.environ.get("NPYEXT_FLAVOUR") == "small":
        labels = [repr(row["label"]) for row in rows]
        rows.sort(key=lambda row: labels.index(repr(row["label"])))
    return rows


# --- what NumPy says ---------------------------------------------------------------------------------------


def label_masks(labels):
    """(label as SQL shows it, its mask) in numpy.unique's order, all NaN one label."""
    is_null = labels != labels if labels.dtype.kind == "f" else np.isnat(labels) if labels.dtype.kind in "mM" else None
    known = labels if is_null is None else labels[~is_null]
    for label in np.unique(known):
        shown = str(label) if labels.dtype.kind == "M" else scalar_value(label)
        yield shown, labels == label
    if is_null is not None and is_null.any():
        yield None, is_null


def expected_of(values, places):
    """The statistics of items in C order, which have those places."""
    doubles = values.astype("f8") if values.dtype.kind != "f" else values
    is_null = np.isnan(doubles)
    known, known_places = values[~is_null], places[~is_null]
    finite = known[np.isfinite(known)] if values.dtype.kind == "f" else known
    row = dict(count=len(known), nulls=int(is_null.sum()), infs=len(known) - len(finite), zeros=int((known == 0).sum()))
    row["min"] = scalar_value(known.min()) if len(known) else None
    row["max"] = scalar_value(known.max()) if len(known) else None
    row["argmin"] = int(known_places[known.argmin()]) if len(known) else None
    row["argmax"] = int(known_places[known.argmax()]) if len(known) else None
    with np.errstate(all="ignore"):
        if values.dtype.kind in "biu":
            row["sum"] = sum(int(x) for x in known)
        else:
            row["sum"] = math.fsum(known.astype("f8")) if len(finite) == len(known) else float(known.astype("f8").sum())
        row["mean"] = row["sum"] / len(known) if len(known) else None
        row["std"] = float(known.astype("f8").std()) if len(known) else None
    return row


def same(ours, theirs, is_near, scale):
    if theirs is None or (isinstance(theirs, float) and math.isnan(theirs)):
        return ours is None
    if is_near:
        return ours is not None and math.isclose(float(ours), float(theirs), rel_tol=1e-12, abs_tol=1e-13 * scale)
    return int(ours) == theirs if isinstance(theirs, int) else ours == theirs


def assert_by(db, source, array, labels, axis=None, columns=COLUMNS, rows=None, **arguments):
    """Compares with masks. axis: what is reduced, the first axis of the array among it; rows: those of a slice."""
    shown = "" if axis is None else json.dumps(axis) if isinstance(axis, list) else axis
    got = stats_by(db, source, npy_bytes(labels), axis=shown, columns=columns, **arguments)
    reduced = sorted(range(array.ndim)) if axis is None else sorted(np.atleast_1d(axis).tolist())
    kept = [i for i in range(array.ndim) if i not in reduced]
    table = np.ascontiguousarray(array.transpose(kept + reduced)).reshape(
        [math.prod(array.shape[i] for i in kept), array.shape[0], -1]
    )
    places = np.arange(table[0].size).reshape(table.shape[1:])
    scale = max([1.0] + [abs(float(x)) for x in array.ravel()[:2000].tolist() if math.isfinite(x)])
    want = []
    for label, mask in label_masks(labels):
        for coordinate in range(table.shape[0]):
            row = expected_of(table[coordinate][mask].ravel(), places[mask].ravel())
            row["label"] = label
            at = [int(i) for i in np.unravel_index(coordinate, [array.shape[i] for i in kept])]
            row["at"] = None if axis is None else at[0] if len(at) == 1 else json.dumps(at).replace(" ", "")
            want.append(row)
    assert len(got) == len(want)
    for ours, theirs in zip(got, want):
        for column in columns:
            is_near = column in ("mean", "std") or (column == "sum" and array.dtype.kind == "f")
            assert same(ours[column], theirs[column], is_near, scale) or (column == "std" and theirs["infs"]), (
                column, ours, theirs, array.dtype, array.shape, axis)


def random_items(rng, dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        items = rng.standard_normal(shape) * 3
        items[rng.random(shape) < 0.05] = np.nan
        items[rng.random(shape) < 0.02] = 0
        return items.astype(dtype)
    low, high = (0, 2) if dtype.kind == "b" else (max(-5, np.iinfo(dtype).min), min(2**40, int(np.iinfo(dtype).max)))
    return rng.integers(low, high, shape).astype(dtype)


# --- items, labels, axes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", REALS)
def test_every_dtype(connect, dtype):
    rng, db = seeded_generator(), connect()
    for order in both_byte_orders(dtype):
        for shape, axes in [((300,), [None, 0]), ((300, 7), [None, 0, [0, 1]]), ((40, 33), [0]), ((50, 3, 5), [0, [0, 2], [0, 1], None])]:
            array = random_items(rng, order, shape)
            labels = rng.integers(0, 6, shape[0])
            for axis in axes:
                assert_by(db, npy_bytes(array), array, labels, axis)
                assert_by(db, npy_bytes(array), array, labels, axis, columns=PLAIN)
                assert_by(db, npy_bytes(np.asfortranarray(array)), array, labels, axis, columns=PLAIN)


def test_every_kind_of_label(connect):
    rng, db = seeded_generator(), connect()
    array = random_items(rng, "f4", (200, 5))
    numbers = rng.integers(0, 4, 200)
    kinds = [numbers.astype(t) for t in ["?", "i1", ">i2", "i8", "u8", ">u4", "f2", "f4", ">f8"]]
    kinds += [np.where(numbers == 1, np.nan, np.where(numbers == 2, -0.0, numbers)).astype("f8")]
    kinds += [np.array(["cat", "dog", "", "żółw"])[numbers], np.array([b"a", b"bb", b"", b"z"])[numbers]]
    kinds += [np.array(["2020-01-01", "1969-12-31", "NaT", "2021-06-01"], "M8[D]")[numbers]]
    kinds += [(numbers.astype("u8") + np.uint64(2**63))]
    kinds += [rng.standard_normal(200), np.arange(200), np.zeros(200, "i4")]
    for labels in kinds:
        for axis in (None, 0):
            got = stats_by(db, npy_bytes(array), npy_bytes(labels), axis="" if axis is None else axis)
            if labels.dtype == np.dtype("u8"):
                assert [int(row["label"]) for row in got[:: 1 if axis is None else 5]] == np.unique(labels).tolist()
                continue
            if labels.dtype.kind == "S":
                assert [row["label"] for row in got[:: 1 if axis is None else 5]] == [x.decode() for x in np.unique(labels)]
                continue
            assert_by(db, npy_bytes(array), array, labels, axis)


def test_labels_of_a_slice_are_those_of_its_entries(connect):
    rng, db = seeded_generator(), connect()
    array = random_items(rng, "f8", (90, 4))
    labels = np.arange(90) % 7
    for text, part in [("10:50", np.s_[10:50]), ("::-1", np.s_[::-1]), ("80:2:-3", np.s_[80:2:-3]), ("5:60:4, 1:3", np.s_[5:60:4, 1:3])]:
        rows = part[0] if isinstance(part, tuple) else part
        got = stats_by(db, npy_bytes(array), npy_bytes(labels), slice=text, axis=0)
        want = array[part]
        for row in got:
            column = row["at"] - (1 if isinstance(part, tuple) else 0)
            mask = labels[rows] == row["label"]
            items = want[mask][:, column]
            items = items[~np.isnan(items)]
            assert row["count"] == len(items)
            if len(items):
                assert (row["min"], row["max"]) == (items.min(), items.max())
                assert math.isclose(row["mean"], items.mean(), rel_tol=1e-12, abs_tol=1e-14)
                assert array[row["argmin"], row["at"]] == items.min()
                assert labels[row["argmin"]] == row["label"]


def test_a_slice_of_one_entry_has_one_label(connect):
    db = connect()
    array, labels = np.arange(12.0).reshape(3, 4), np.array([5, 7, 5])
    got = stats_by(db, npy_bytes(array), npy_bytes(labels), slice="1", columns=["label", "count", "sum"])
    assert got == [{"label": 5, "count": 0, "sum": 0.0}, {"label": 7, "count": 4, "sum": 22.0}]
    got = stats_by(db, npy_bytes(array), npy_bytes(labels), slice="None, :, 2", axis="[0, 1]", columns=["label", "at", "sum"])
    assert [(row["label"], row["sum"]) for row in got] == [(5, 12.0), (7, 6.0)]


def test_fields_have_statistics_of_their_own(connect):
    rng, db = seeded_generator(), connect()
    array = np.zeros(500, [("x", "f4"), ("pos", [("a", ">i4"), ("b", "f8", (3,))])])
    array["x"], array["pos"]["a"] = rng.standard_normal(500), rng.integers(0, 100, 500)
    array["pos"]["b"] = rng.standard_normal((500, 3))
    labels = rng.integers(0, 3, 500)
    got = stats_by(db, npy_bytes(array), npy_bytes(labels), columns=["label", "field_name", "count", "sum", "argmax"])
    assert [(row["label"], row["field_name"]) for row in got] == [(l, f) for l in range(3) for f in ("x", "pos.a", "pos.b")]
    for row in got:
        items = array[labels == row["label"]]
        items = {"x": items["x"], "pos.a": items["pos"]["a"], "pos.b": items["pos"]["b"]}[row["field_name"]]
        assert row["count"] == items.size
        assert math.isclose(row["sum"], items.astype("f8").sum(), rel_tol=1e-9, abs_tol=1e-9)
    got = stats_by(db, npy_bytes(array), npy_bytes(labels), field="pos.b", axis=0, columns=["label", "at", "mean", "argmin"])
    for row in got:
        items = array["pos"]["b"][labels == row["label"]][:, row["at"]]
        assert math.isclose(row["mean"], items.mean(), rel_tol=1e-12, abs_tol=1e-14)
        assert array["pos"]["b"][row["argmin"], row["at"]] == items.min()


def test_infinities_and_numbers_near_the_limit(connect):
    rng, db = seeded_generator(), connect()
    array = random_items(rng, "f8", (400, 20))
    array[rng.random(array.shape) < 0.01] = np.inf
    array[:, 3][rng.random(400) < 0.05] = -np.inf
    labels = rng.integers(0, 5, 400)
    assert_by(db, npy_bytes(array), array, labels, 0, columns=PLAIN)
    assert_by(db, npy_bytes(array.astype("f4")), array.astype("f4"), labels, 0, columns=PLAIN)
    large = rng.uniform(0.5, 1, (300, 20)) * 1.7e308
    for row in stats_by(db, npy_bytes(large), npy_bytes(labels[:300]), axis=0, columns=["label", "at", "mean", "min"]):
        items = large[labels[:300] == row["label"]][:, row["at"]]
        assert math.isclose(row["mean"], (items / 1024).mean() * 1024, rel_tol=1e-12)
        assert row["min"] == items.min()


# --- many labels, large arrays, threads --------------------------------------------------------------------


def test_every_number_of_threads_gives_the_same_bits(connect, folder, monkeypatch):
    rng = seeded_generator()
    array = rng.standard_normal((60000, 40)).astype("f4")
    labels = rng.integers(0, 300, 60000)
    np.save("X.npy", array), np.save("y.npy", labels), np.save("flat.npy", array[:, :30].ravel())
    np.save("labels.npy", rng.integers(0, 50, 1800000).astype("u1"))
    answers = []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("NPYEXT_THREADS", threads)
        db = connect()
        answers.append(stats_by(db, "X.npy", "y.npy", axis=0, columns=PLAIN))
        answers[-1] += stats_by(db, "flat.npy", "labels.npy", columns=COLUMNS)
    assert answers[0] == answers[1] == answers[2]
    assert_by(connect(), "X.npy", array, labels, 0, columns=PLAIN)


def test_the_array_and_the_labels_are_read_once(connect, folder):
    rng, db = seeded_generator(), connect()
    np.save("X.npy", rng.standard_normal((50000, 32)).astype("f4")), np.save("y.npy", rng.integers(0, 7, 50000))
    before = counters(db)
    assert len(stats_by(db, "X.npy", "y.npy", axis=0, columns=["label", "mean"])) == 7 * 32
    assert since(db, before)["bytes_read"] <= 50000 * 32 * 4 + 50000 * 8 + 3 * 4096


def test_more_labels_than_results_are_kept_of_at_a_time(connect, folder):
    """Coordinates are then taken in several groups."""
    rng, db = seeded_generator(), connect()
    array, labels = rng.standard_normal((3000, 500)), np.arange(3000)
    got = stats_by(db, npy_bytes(array), npy_bytes(labels), axis=0, columns=["label", "at", "count", "sum"])
    assert len(got) == 3000 * 500
    assert all(row["count"] == 1 and row["sum"] == array[row["label"], row["at"]] for row in got)
    assert len({(row["label"], row["at"]) for row in got}) == 3000 * 500


# --- sources, and what is wrong ----------------------------------------------------------------------------


def test_labels_are_a_path_a_handle_or_a_blob(connect, folder):
    db = connect()
    array, labels = np.arange(8.0), np.array([1, 0, 1, 0, 1, 1, 1, 0])
    np.save("y.npy", labels)
    np.savez("d.npz", X=array, y=labels)
    np.savez("y.npz", labels)
    want = [(0, 3, 11.0), (1, 5, 17.0)]
    sql = "SELECT label, count, sum FROM npy_stats('d.npz', 'X') WHERE by = "
    assert db.execute(sql + "'y.npy'").fetchall() == want
    assert db.execute(sql + "'y.npz'").fetchall() == want
    assert db.execute(sql + "?", [npy_bytes(labels)]).fetchall() == want
    assert db.execute(sql + "(SELECT array FROM npy_file('d.npz', 'y'))").fetchall() == want
    assert db.execute("SELECT s.label, s.sum FROM npy_file('d.npz', 'y') AS y JOIN npy_stats('d.npz', 'X') AS s "
                      "WHERE s.by = y.array").fetchall() == [(0, 11.0), (1, 17.0)]
    assert db.execute(sql + "NULL").fetchall() == []
    assert db.execute("SELECT label, sum FROM npy_stats(?)", [npy_bytes(array)]).fetchall() == [(None, 28.0)]


def test_one_array_of_many_has_another_length(connect, folder):
    db = connect()
    np.save("a.npy", np.arange(3.0)), np.save("b.npy", np.arange(4.0)), np.save("y.npy", np.array([0, 1, 0]))
    rows = db.execute("SELECT path, label, sum, error FROM npy_stats('[ab].npy') WHERE by = 'y.npy'").fetchall()
    assert rows[:2] == [("a.npy", 0, 2.0, None), ("a.npy", 1, 1.0, None)]
    assert rows[2][:3] == ("b.npy", None, None)
    assert rows[2][3].endswith("b.npy: by has 3 labels, and the array's first axis 4 entries")


@pytest.mark.parametrize(
    "array, labels, axis, wanted",
    [
        (np.zeros((3, 2)), np.zeros(2, int), 0, "by has 2 labels, and the array's first axis 3 entries"),
        (np.zeros((3, 2)), np.zeros(3, int), 1, "by is for the entries of the first axis, which axis is to name"),
        (np.array(1.0), np.zeros(1, int), "", "the array has no axes"),
        (np.zeros(3), np.zeros((3, 1)), "", "by: labels are an array of one axis; this one has 2"),
        (np.zeros(3), np.zeros(3, "c8"), "", "by: labels are numbers, dates or texts; these items are complex64"),
        (np.zeros(3), np.zeros(3, [("a", "i4")]), "", "by: labels are numbers, dates or texts; these items are void32"),
        (np.array(["a", "b", "c"]), np.zeros(3, int), "", "by is for numbers; these items are texts"),
    ],
)
def test_what_does_not_fit(connect, array, labels, axis, wanted):
    db = connect()
    assert wanted in error_of(db, "SELECT count FROM npy_stats(?, '', '', ?) WHERE by = ?", npy_bytes(array), axis, npy_bytes(labels))


def test_what_is_no_array_of_labels(connect, folder):
    db = connect()
    np.savez("two.npz", a=np.zeros(3), b=np.zeros(3))
    with open("x.csv", "w") as out:
        out.write("a,b\n")
    sql = "SELECT count FROM npy_stats(?) WHERE by = ?"
    source = npy_bytes(np.zeros(3))
    assert "by (nofile.npy): " in error_of(db, sql, source, "nofile.npy")
    assert "by (two.npz): contains several arrays" in error_of(db, sql, source, "two.npz")
    assert "by (x.csv): " in error_of(db, sql, source, "x.csv")
    assert "by (*.npz): must be one file" in error_of(db, sql, source, "*.npz")
    assert "by: a number is not an array" in error_of(db, sql, source, 3)
    assert "by (BLOB): " in error_of(db, sql, source, b"nothing")
    assert "Python objects" in error_of(db, sql, source, object_npy_bytes((3,)))


def test_empty_arrays(connect):
    db = connect()
    assert stats_by(db, npy_bytes(np.zeros((0, 3))), npy_bytes(np.zeros(0, int)), axis=0) == []
    got = stats_by(db, npy_bytes(np.zeros((2, 0))), npy_bytes(np.array([1, 2])), columns=["label", "count", "mean"])
    assert got == [{"label": 1, "count": 0, "mean": None}, {"label": 2, "count": 0, "mean": None}]
    assert stats_by(db, npy_bytes(np.zeros((2, 0))), npy_bytes(np.array([1, 2])), axis=0) == []
