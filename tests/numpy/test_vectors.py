"""npy_nearest, npy_distance, npy_dot and npy_norm, against their definitions in NumPy's float64."""

import io
import math
import os
import sqlite3

import numpy as np
import pytest

import shell
from arrays import NPZ_VARIANTS, both_byte_orders, npy_bytes, npz_bytes, object_npy_bytes, seeded_generator, ten_bytes
from expected import counters, error_of, since

METRICS = ["euclidean", "sqeuclidean", "cosine", "cityblock", "chebyshev", "hamming", "dot"]
REALS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "f16"]
SQL = "SELECT {} FROM npy_nearest(:source, '', :slice, :query, :k, :metric) WHERE 1"


def distances(metric, rows, query):
    """As scipy.spatial.distance.cdist, in float64; of `dot` the negative product."""
    x, q = rows.astype("f8"), query.astype("f8")
    with np.errstate(all="ignore"):
        if metric in ("euclidean", "sqeuclidean"):
            square = ((x - q) ** 2).sum(-1)
            return np.sqrt(square) if metric == "euclidean" else square
        if metric == "cosine":
            return 1 - (x * q).sum(-1) / (np.sqrt((x * x).sum(-1)) * np.sqrt((q * q).sum(-1)))
        if metric == "cityblock":
            return np.abs(x - q).sum(-1)
        if metric == "chebyshev":
            return np.abs(x - q).max(-1)
        return (x != q).mean(-1) if metric == "hamming" else -(x * q).sum(-1)


def nearest(db, source, query, k=10, metric="euclidean", slice="", columns="query_row, row, distance", **more):
    where = "".join(f" AND {name} = :{name}" for name in more)
    parameters = dict(more, source=source, slice=slice, query=npy_bytes(query), k=k, metric=metric)
    return db.execute(SQL.format(columns) + where, parameters).fetchall()


def assert_nearest(got, rows, queries, k, metric, first=0, step=1):
    """The rows are the k nearest of each query in the order of their distances; nearly equal ones may change places."""
    queries = np.atleast_2d(queries)
    scale = max(1.0, float(np.nan_to_num(np.abs(rows.astype("f8")), posinf=0, neginf=0).max(initial=0))) ** 2 * rows.shape[1]
    wanted = 0
    for number, query in enumerate(queries):
        want = distances(metric, rows, query)
        hits = [(row, distance) for query_row, row, distance in got if query_row == number]
        known = np.sort(want[~np.isnan(want)])[:k]
        wanted += len(known)
        assert len(hits) == len(known), (metric, rows.dtype)
        near = lambda a, b: a == b or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-7 if metric in ("euclidean", "cosine") else 1e-12 * scale)
        for (row, distance), best in zip(hits, known):
            assert near(distance, want[(row - first) // step]) and near(distance, best), (metric, rows.dtype, row, distance, best)
        assert [distance for _, distance in hits] == sorted(distance for _, distance in hits)
        assert len({row for row, _ in hits}) == len(hits)
        for (row, distance), (next_row, next_distance) in zip(hits, hits[1:]):
            assert distance < next_distance or row < next_row  # ties by row
    assert len(got) == wanted


def random_rows(rng, dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        rows = (rng.standard_normal(shape) * 3).astype(dtype)
        rows[rng.random(shape) < 0.1] = 1
        return rows
    low, high = (0, 2) if dtype.kind == "b" else (max(-9, int(np.iinfo(dtype).min)), min(100, int(np.iinfo(dtype).max)))
    return rng.integers(low, high, shape).astype(dtype)


# --- the nearest rows --------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS)
def test_every_dtype_and_order(connect, metric):
    rng, db = seeded_generator(), connect()
    for dtype in REALS:
        for order in both_byte_orders(dtype) if dtype != "f16" else [np.dtype("f16")]:
            for nrows, width in [(60, 1), (40, 7), (30, 32), (20, 131)]:
                rows = random_rows(rng, order, (nrows, width))
                query = rows[3] if width == 7 else random_rows(rng, rng.choice(["f4", "f8", "i4"]), (width,))
                for contents in (npy_bytes(rows), npy_bytes(np.asfortranarray(rows))):
                    assert_nearest(nearest(db, contents, query, 9, metric), rows, query, 9, metric)


def test_several_queries_and_every_k(connect):
    rng, db = seeded_generator(), connect()
    rows, queries = rng.standard_normal((300, 12)).astype("f4"), rng.standard_normal((7, 12))
    for metric in METRICS:
        for k in (1, 2, 17, 300, 1000):
            assert_nearest(nearest(db, npy_bytes(rows), queries, k, metric), rows, queries, k, metric)
    many = rng.standard_normal((3000, 12))  # more than blocks have heaps for
    assert_nearest(nearest(db, npy_bytes(rows), many, 3), rows, many, 3, "euclidean")
    assert nearest(db, npy_bytes(rows), np.zeros((0, 12))) == []
    assert nearest(db, npy_bytes(rows[:0]), queries) == []


def test_ties_are_in_the_order_of_rows(connect):
    db = connect()
    rows = np.zeros((5000, 3))
    assert [row for _, row, _ in nearest(db, npy_bytes(rows), np.ones(3), 70)] == list(range(70))
    rows[4000:] = 1
    assert [row for _, row, _ in nearest(db, npy_bytes(rows), np.ones(3), 1002)] == [*range(4000, 5000), 0, 1]


def test_rows_that_have_no_distance(connect):
    db = connect()
    rows = np.array([[1, np.nan], [np.inf, 1], [0, 0], [3, 4], [-np.inf, 2]])
    assert nearest(db, npy_bytes(rows), np.array([1.0, 1.0])) == [
        (0, 2, math.sqrt(2)), (0, 3, math.sqrt(13)), (0, 1, math.inf), (0, 4, math.inf)]
    assert [row for _, row, _ in nearest(db, npy_bytes(rows), np.array([1.0, 1.0]), metric="cosine")] == [3]
    assert [row for _, row, _ in nearest(db, npy_bytes(rows), np.array([1.0, 1.0]), metric="chebyshev")] == [2, 3, 1, 4]
    assert nearest(db, npy_bytes(rows), np.array([np.nan, 1.0])) == []
    assert nearest(db, npy_bytes(rows), np.array([0.0, 0.0]), metric="cosine") == []


def test_slices_fields_and_views(connect):
    rng, db = seeded_generator(), connect()
    rows = rng.standard_normal((80, 10))
    query = rng.standard_normal(4)
    got = nearest(db, npy_bytes(rows), query, 5, slice="70:10:-3, 2:6")
    assert_nearest(got, rows[70:10:-3, 2:6], query, 5, "euclidean", first=70, step=-3)
    table = np.zeros(50, [("id", "i4"), ("v", ">f4", (4,))])
    table["v"] = rng.standard_normal((50, 4))
    assert_nearest(nearest(db, npy_bytes(table), query, 5, field="v"), table["v"], query, 5, "euclidean")
    brain = (rng.standard_normal((30, 4)).astype("f4").view("u4") >> 16).astype("u2")
    wide = (brain.astype("u4") << 16).view("f4")
    assert_nearest(nearest(db, npy_bytes(brain), query, 5, view="bfloat16"), wide, query, 5, "euclidean")
    cube = rng.standard_normal((3, 20, 4))
    assert_nearest(nearest(db, npy_bytes(cube), query, 2, slice="1"), cube[1], query, 2, "euclidean")


def test_data_are_the_bytes_of_the_row(connect):
    rng, db = seeded_generator(), connect()
    for order in (">f4", "<f8", ">i2"):
        rows = random_rows(rng, order, (40, 6))
        got = nearest(db, npy_bytes(rows), rows[7], 6, columns="row, data")
        assert all(data == rows[row].astype(rows.dtype.newbyteorder("<")).tobytes() for row, data in got)
        assert len(got) == 6


@pytest.mark.parametrize("metric", METRICS)
def test_queries_together_have_the_bits_of_each_alone(connect, metric):
    """Several are compared with a row at once (NPYX_DISTANCE_NMANY)."""
    db, rng = connect(), seeded_generator()
    for dtype in ("f4", "f8", "f2", "<i4", ">f4"):
        # rows of 700 are widened two at a time, those of 5,000 in three parts (NPYX_DISTANCE_NWIDENED)
        for width in (1, 31, 32, 33, 64, 100, 700, 5000, int(rng.integers(1, 300))):
            rows = (rng.normal(size=(9 if width > 300 else 41, width)) * 100).astype(dtype)
            queries = (rng.normal(size=(int(rng.integers(2, 12)), width)) * 100).astype("f4")
            rows[7], queries[1] = rows[3], rows[3]
            together = nearest(db, npy_bytes(rows), queries, k=41, metric=metric)
            alone = [(number, *hit[1:]) for number, query in enumerate(queries)
                     for hit in nearest(db, npy_bytes(rows), query, k=41, metric=metric)]
            assert together == alone and together, (metric, dtype, width, len(queries))


@pytest.mark.parametrize("sign", (1, -1))
def test_rows_nearer_by_less_than_a_float32_shows(connect, folder, sign):
    """Threads are told how far the hits so far go, as a float32 (nearest_set_bound): every row is nearer than all before."""
    rows = np.zeros((400_000, 4))
    rows[:, 0] = 1 - np.arange(len(rows)) * 1e-13
    np.save("near.npy", rows)
    query = np.array([0.0 if sign > 0 else 1.0, 0, 0, 0])
    got = nearest(connect(), "near.npy", query, 3, metric="cityblock" if sign > 0 else "dot", columns="row, distance")
    wanted = np.abs(rows - query).sum(1) if sign > 0 else -(rows @ query)
    assert got == [(int(row), wanted[row]) for row in np.argsort(wanted, kind="stable")[:3]]


def test_the_nearest_of_all_files(connect, folder):
    rng, db = seeded_generator(), connect()
    rows, query = rng.standard_normal((500, 6)).astype("f4"), rng.standard_normal(6)
    for number in range(10):
        np.save(f"part-{number}.npy", rows[50 * number : 50 * number + 50])
    with open("part-bad.npy", "wb") as out:
        out.write(npy_bytes(rows)[:-3])
    np.save("part-other.npy", rows[:, :5])
    got = nearest(db, "part-*.npy", query, 12, columns="path, row, distance, error")
    faults = [(path, error) for path, row, distance, error in got if error is not None]
    assert [path for path, _ in faults] == ["part-bad.npy", "part-other.npy"]
    assert faults[1][1].endswith("part-other.npy: rows have 5 items, and the query has 6")
    hits = [(0, 50 * int(path[5]) + row, distance) for path, row, distance, error in got if error is None]
    assert_nearest(hits, rows, query, 12, "euclidean")
    assert nearest(db, "part-*.npy", query, 12, columns="path, row", on_error="skip") == [(p, r) for p, r, _, e in got if e is None]
    assert "part-bad.npy" in error_of_nearest(db, "part-*.npy", query, on_error="raise")
    # a condition on what is shown chooses among the hits, and does not change them
    some = db.execute("SELECT path, row FROM npy_nearest('part-*.npy', '', '', ?, 12) WHERE path = 'part-3.npy' AND error IS NULL", [npy_bytes(query)]).fetchall()
    assert some == [(p, r) for p, r, _, e in got if p == "part-3.npy" and e is None]


def error_of_nearest(db, source, query, k=10, metric="euclidean", on_error="raise"):
    return error_of(db, "SELECT * FROM npy_nearest(?, '', '', ?, ?, ?) WHERE on_error = ?", source, npy_bytes(query), k, metric, on_error)


def test_members_of_archives(connect, folder):
    rng, db = seeded_generator(), connect()
    a, b, query = rng.standard_normal((40, 5)).astype("f4"), rng.standard_normal((40, 5)), rng.standard_normal(5)
    both = np.concatenate([a.astype("f8"), b])
    for contents in [npz_bytes({"a": a, "b": b}, variant) for variant in NPZ_VARIANTS] + [ten_bytes([a, b], infos=("a", "b"))]:
        got = nearest(db, contents, query, 9, columns="name, row, distance")
        assert_nearest([(0, row + 40 * (name == "b"), distance) for name, row, distance in got], both, query, 9, "euclidean")
        [(best,)] = db.execute("SELECT distance FROM npy_nearest(?, 'b', '', ?, 1)", (contents, npy_bytes(query))).fetchall()
        assert math.isclose(best, distances("euclidean", b, query).min())


def test_many_files_lose_their_hits_again(connect, folder):
    """Each file is nearer than all before it: what is remembered of files is swept."""
    db = connect()
    os.mkdir("many")
    for number in range(4500):
        with open(f"many/{number:05}.npy", "wb") as out:
            out.write(npy_bytes(np.full((1, 2), 5000.0 - number, "f4")))
    got = nearest(db, "many/*.npy", np.zeros(2), 3, columns="path, distance")
    assert [path for path, _ in got] == ["many/04499.npy", "many/04498.npy", "many/04497.npy"]


def test_every_number_of_threads_gives_the_same(connect, folder, monkeypatch):
    rng = seeded_generator()
    np.save("x.npy", rng.standard_normal((50000, 40)).astype("f4"))
    queries, answers = rng.standard_normal((3, 40)), []
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("NPYEXT_THREADS", threads)
        db = connect()
        answers.append([nearest(db, "x.npy", queries, 20, metric) for metric in METRICS])
    assert answers[0] == answers[1] == answers[2]


def test_the_array_is_read_once(connect, folder):
    rng, db = seeded_generator(), connect()
    rows = rng.standard_normal((20000, 50)).astype("f4")
    np.save("x.npy", rows)
    before = counters(db)
    nearest(db, "x.npy", rows[:20], 5, columns="row, data")
    assert since(db, before)["bytes_read"] <= rows.nbytes + 4096


def test_a_query_of_each_row_of_a_table(connect, folder):
    rng, db = seeded_generator(), connect()
    rows = rng.standard_normal((200, 8))
    np.save("x.npy", rows)
    got = db.execute("SELECT q.row, n.row FROM npy_rows('x.npy', '', '::40') AS q JOIN npy_nearest('x.npy', '', '', q.array, 2) AS n "
                     "WHERE n.row <> q.row").fetchall()
    for row, other in got:
        assert other == np.argsort(distances("euclidean", rows, rows[row]), kind="stable")[1]
    assert [row for row, _ in got] == [0, 40, 80, 120, 160]
    handle = "(SELECT array FROM npy_file('x.npy'))"
    assert len(db.execute(f"SELECT * FROM npy_nearest('x.npy', '', '', {handle}, 2)").fetchall()) == 400


@pytest.mark.parametrize(
    "array, query, k, metric, wanted",
    [
        (np.zeros((3, 2)), np.zeros(3), 1, "euclidean", "rows have 2 items, and the query has 3"),
        (np.zeros(3), np.zeros(3), 1, "euclidean", "the array must have two dimensions, and has 1"),
        (np.zeros((3, 2), "c8"), np.zeros(2), 1, "euclidean", "distances and norms need real numbers; these items are complex64"),
        (np.zeros((3, 2)), np.zeros(2, "U3"), 1, "euclidean", "query: distances and norms need real numbers; these items are str96"),
        (np.zeros((3, 2)), np.zeros((1, 1, 2)), 1, "euclidean", "query: must be a vector, or vectors as rows; it has 3 dimensions"),
        (np.zeros((3, 0)), np.zeros(0), 1, "euclidean", "query: must be a vector, or vectors as rows; these have no items"),
        (np.zeros((3, 2)), np.zeros(2), 0, "euclidean", "k, the number of rows to find, must be an INTEGER of at least 1"),
        (np.zeros((3, 2)), np.zeros(2), "x", "euclidean", "k, the number of rows to find, must be an INTEGER of at least 1"),
        (np.zeros((3, 2)), np.zeros(2), 1, "l2", "the metric 'l2' is none of euclidean, sqeuclidean, cosine, cityblock, chebyshev, hamming and dot"),
    ],
)
def test_what_does_not_fit(connect, array, query, k, metric, wanted):
    assert wanted in error_of_nearest(connect(), npy_bytes(array), query, k, metric)


def test_more_hits_than_are_kept(connect):
    wanted = "query: 2 queries of 16777216 hits each are more than 16777216"
    sql = "SELECT * FROM npy_nearest(?, '', '', ?, 16777216)"
    assert wanted in error_of(connect(), sql, npy_bytes(np.zeros((3, 2))), npy_bytes(np.zeros((2, 2))), code=sqlite3.SQLITE_TOOBIG)


def within(hits, most, k=None):
    """What max_distance leaves of all hits, which are in order by query."""
    numbers, left = {}, []
    for hit in hits:
        numbers[hit[0]] = numbers.get(hit[0], 0) + 1
        if hit[2] <= most and (k is None or numbers[hit[0]] <= k):
            left.append(hit)
    return left


@pytest.mark.parametrize("metric", shell.some(METRICS, 2))
def test_all_rows_within_a_distance(connect, folder, metric):
    rng, db = seeded_generator(), connect()
    for dtype, shape, nqueries in [("f4", (3000, 16), 5), (">f8", (500, 3), 1), ("i2", (2000, 2), 3), ("u1", (200 if shell.SAMPLES else 600, 40), 200), ("f8", (0, 4), 2), ("f2", (70, 7), 4)]:
        rows, queries = random_rows(rng, dtype, shape), random_rows(rng, "f4", (nqueries, shape[1]))
        if dtype == "f2":
            rows[5], rows[6, 2] = 0, np.nan
        np.save("x.npy", np.asfortranarray(rows) if nqueries == 3 else rows)
        all_hits = nearest(db, "x.npy", queries, 5000, metric)
        assert_nearest(all_hits, rows, queries, 5000, metric)
        known = sorted(distance for _, _, distance in all_hits) or [1.0]
        for most in {known[0], known[len(known) // 500], known[len(known) // 20], known[len(known) // 2], known[-1], math.inf, np.nextafter(known[len(known) // 3], -math.inf), 0}:
            if most < 0 and metric != "dot":
                continue
            want = within(all_hits, most)  # ties at max_distance are in it
            assert nearest(db, "x.npy", queries, "", metric, max_distance=most) == want
            numpy = sum(int((distances(metric, rows, query) <= most + 1e-6 * (1 + abs(most))).sum()) for query in queries)
            assert len(want) <= numpy and (most != math.inf or len(want) == numpy)
            for k in (1, 3, 40):
                assert nearest(db, "x.npy", queries, k, metric, max_distance=most) == within(all_hits, most, k)
        part = nearest(db, "x.npy", queries, 5000, metric, slice="::-3")
        assert nearest(db, "x.npy", queries, "", metric, slice="::-3", max_distance=known[len(known) // 7]) == within(part, known[len(known) // 7])


def test_within_a_distance_every_number_of_threads_gives_the_same(connect, folder, monkeypatch):
    rng = seeded_generator()
    os.mkdir("parts")
    rows = rng.standard_normal((60000, 8)).astype("f4")
    rows[20000:41000] = 0.5  # blocks with more hits than they have room for
    for number in range(3):
        np.save(f"parts/{number}.npy", rows[20000 * number : 20000 * number + 20000])
    np.save("parts/x.npy", rows[:5, :3])
    queries, answers = np.concatenate([rows[:3], np.full((1, 8), 0.5)]), []
    for threads in shell.some(("1", "2", "3", "16"), 2):
        monkeypatch.setenv("NPYEXT_THREADS", threads)
        db = connect()
        columns = "query_row, path, row, distance, npy_hash(data), error"
        answers.append([nearest(db, "parts/*.npy", queries, k, metric, columns=columns, max_distance=2) for metric in METRICS for k in ("", 7)])
    assert len(answers) > 1 and all(answer == answers[0] for answer in answers)
    hits = answers[0][0]
    assert hits[0][5].endswith("parts/x.npy: rows have 3 items, and the query has 8")
    for number, query in enumerate(queries):
        found = {int(path[6]) * 20000 + row for query_row, path, row, *_, error in hits if error is None and query_row == number}
        want = distances("euclidean", rows, query)
        assert set(np.flatnonzero(want < 2 - 1e-9)) <= found <= set(np.flatnonzero(want < 2 + 1e-9))
    exactly = [(path, row) for query_row, path, row, distance, *_ in hits if query_row == 3 and distance == 0]
    assert exactly == [(f"parts/{row // 20000}.npy", row % 20000) for row in range(20000, 41000)]


def test_max_distance_is_an_argument(connect, folder):
    db, query = connect(), npy_bytes(np.zeros(1))
    np.save("x.npy", np.arange(30)[:, None])
    call = "npy_nearest('x.npy', '', '', ?1{})"
    ask = lambda tail, columns="row", *more: db.execute(f"SELECT {columns} FROM {call.format(tail)}", (query, *more)).fetchall()
    assert ask(") WHERE (max_distance = 12") == [(row,) for row in range(13)]
    assert ask(", '', '', '', '', '', '', 12") == [(row,) for row in range(13)]
    assert ask(", 4, '', '', '', '', '', 2.5", "row, max_distance") == [(0, 2.5), (1, 2.5), (2, 2.5)]
    assert len(ask(") WHERE (max_distance = ''")) == 10 and ask(") WHERE (max_distance = NULL") == []
    assert ask(") WHERE (max_distance = ?2", "row", math.nan) == []  # SQLite binds NaN as NULL
    assert len(ask(") WHERE (max_distance = ?2", "row", math.inf)) == 30
    assert ask(") WHERE (max_distance = -28 AND metric = 'dot'") == []
    joined = "SELECT v.value, count(*) FROM json_each('[0, 2, 50]') v JOIN npy_nearest('x.npy', '', '', ?) n ON n.max_distance = v.value GROUP BY 1"
    assert db.execute(joined, (query,)).fetchall() == [(0, 1), (2, 3), (50, 30)]
    for wrong in ("'0.5'", "x'00'", "'near'"):
        assert "max_distance must be a number, as in max_distance = 0.5" in error_of(db, f"SELECT * FROM {call.format('')} WHERE max_distance = {wrong}", query)
    wanted = "max_distance must be at least 0, as in max_distance = 0.5; only the metric 'dot' has negative distances"
    for wrong in ("-1", "-1e-300", "-9e999"):
        assert wanted in error_of(db, f"SELECT * FROM {call.format('')} WHERE max_distance = {wrong}", query)
    rows = [(row,) for row in range(29, 9, -1)]
    assert db.execute("SELECT row FROM npy_nearest('x.npy', '', '', ?, '', 'dot') WHERE max_distance = -20", (npy_bytes(np.full(1, 2.0)),)).fetchall() == rows


def test_more_rows_within_a_distance_than_are_kept(connect, folder):
    """However many files they are in, it is no file's fault: on_error does not hide it."""
    np.save("a.npy", np.zeros((4096, 1), "i1"))
    np.save("b.npy", np.zeros((4096, 1), "i1"))
    queries = npy_bytes(np.zeros((2049, 1)))
    wanted = "more than 16777216 rows are within max_distance; make it smaller, or give a k"
    # Sanitized it takes 40 s, and docs/test_troubleshooting.py asks that build for as many hits.
    for on_error in () if shell.SANITIZED else shell.some(("skip", "row", "raise"), 3):
        sql = "SELECT * FROM npy_nearest('[ab].npy', '', '', ?1) WHERE max_distance = 1 AND on_error = ?2"
        assert wanted in error_of(connect(), sql, queries, on_error, code=sqlite3.SQLITE_TOOBIG)
    few = "SELECT count(*) FROM npy_nearest('[ab].npy', '', '', ?1, 2) WHERE max_distance = 1"
    assert connect().execute(few, (queries,)).fetchone() == (4098,)


def test_what_is_no_query(connect, folder):
    db = connect()
    np.save("x.npy", np.zeros((2, 2)))
    assert "npy_nearest needs a query, as in" in error_of(db, "SELECT * FROM npy_nearest('x.npy')")
    assert "query (x.npy): a TEXT is not an array; to read one from a file, write (SELECT array FROM npy_file('x.npy'))" in error_of(
        db, "SELECT * FROM npy_nearest('x.npy', '', '', 'x.npy')")
    assert "query ([1, 2]): a TEXT is not an array; npy_from_json makes one from JSON" in error_of(
        db, "SELECT * FROM npy_nearest('x.npy', '', '', '[1, 2]')")
    assert "query: a number is not an array" in error_of(db, "SELECT * FROM npy_nearest('x.npy', '', '', 1)")
    assert db.execute("SELECT * FROM npy_nearest('x.npy', '', '', NULL)").fetchall() == []
    assert db.execute("SELECT count(*) FROM npy_nearest('x.npy', '', '', npy_from_json('[1.0, 2]'))").fetchone() == (2,)


# --- functions of vectors ----------------------------------------------------------------------------------


def value(db, sql, *arguments):
    return db.execute(f"SELECT {sql}", arguments).fetchone()[0]


@pytest.mark.parametrize("dtype", REALS)
def test_distances_of_two_vectors(connect, dtype):
    rng, db = seeded_generator(), connect()
    for order in both_byte_orders(dtype) if dtype != "f16" else [np.dtype("f16")]:
        for n in (1, 2, 33, 200):
            a, b = random_rows(rng, order, (n,)), random_rows(rng, rng.choice(REALS), (n,))
            a[0], b[0] = 1, 1
            for metric in METRICS:
                want = distances(metric, a[None], b)[0]
                got = value(db, "npy_distance(?, ?, ?)", npy_bytes(a), npy_bytes(b), metric)
                assert math.isclose(got, want, rel_tol=1e-9, abs_tol=1e-7 if metric in ("euclidean", "cosine") else 1e-9), (metric, a.dtype, b.dtype)
            assert math.isclose(value(db, "npy_dot(?, ?)", npy_bytes(a), npy_bytes(b)), float(np.dot(a.astype("f8"), b.astype("f8"))), rel_tol=1e-9, abs_tol=1e-9)
            assert value(db, "npy_distance(?, ?)", npy_bytes(a), npy_bytes(b)) == value(db, "npy_distance(?, ?, 'euclidean')", npy_bytes(a), npy_bytes(b))


def test_a_column_of_vectors_by_its_distance(connect, folder):
    rng, db = seeded_generator(), connect()
    rows = rng.standard_normal((50, 9)).astype("f4")
    np.save("x.npy", rows)
    want = np.argsort(distances("cosine", rows, rows[4]), kind="stable")
    sql = "SELECT r.row FROM npy_rows('x.npy') AS r {} ORDER BY npy_distance(r.array, {}, 'cosine')"
    assert [row for row, in db.execute(sql.format("", "?"), [npy_bytes(rows[4])])] == want.tolist()
    sql = sql.format("JOIN npy_rows('x.npy') AS q", "q.array").replace("ORDER", "WHERE q.row = 4 ORDER")
    assert [row for row, in db.execute(sql)] == want.tolist()
    db.execute("CREATE TABLE v(id INTEGER PRIMARY KEY, array BLOB)")
    db.execute("INSERT INTO v SELECT row, array FROM npy_rows('x.npy')")
    assert [row for row, in db.execute("SELECT id FROM v ORDER BY npy_distance(array, (SELECT array FROM v WHERE id = 4), 'cosine')")] == want.tolist()


def test_vectors_without_a_distance(connect):
    db = connect()
    a, zeros, nans = npy_bytes(np.array([3.0, 4.0])), npy_bytes(np.zeros(2)), npy_bytes(np.array([np.nan, 1]))
    assert value(db, "npy_distance(?, ?)", a, nans) is None
    assert value(db, "npy_distance(?, ?, 'cosine')", a, zeros) is None
    assert value(db, "npy_distance(?, ?)", a, None) is None and value(db, "npy_dot(?, ?)", None, a) is None
    assert value(db, "npy_dot(?, ?)", npy_bytes(np.zeros(0)), npy_bytes(np.zeros(0))) == 0
    assert error_of(db, "SELECT npy_dot(?, ?)", a, npy_bytes(np.zeros(3))).endswith("npy_dot: the vectors have 2 and 3 items")
    assert error_of(db, "SELECT npy_dot(?, ?)", npy_bytes(np.zeros((2, 2))), a).endswith("npy_dot takes two vectors; this array has 2 dimensions")
    assert error_of(db, "SELECT npy_distance(?, ?, 'l2')", a, a).endswith("hamming and dot")
    assert "distances and norms need real numbers" in error_of(db, "SELECT npy_distance(?, ?)", a, npy_bytes(np.array(["a", "b"])))
    assert "Python objects" in error_of(db, "SELECT npy_dot(?, ?)", a, object_npy_bytes((2,)))
    assert "npy_file('x')" in error_of(db, "SELECT npy_dot(?, 'x')", a)


@pytest.mark.parametrize("dtype", REALS)
def test_norms(connect, dtype):
    rng, db = seeded_generator(), connect()
    for order in both_byte_orders(dtype) if dtype != "f16" else [np.dtype("f16")]:
        for shape in [(1,), (50,), (3000,), (6, 7), (3, 4, 5)]:
            array = random_rows(rng, order, shape)
            wide = array.astype("f8")
            assert math.isclose(value(db, "npy_norm(?)", npy_bytes(array)), np.linalg.norm(wide.ravel()), rel_tol=1e-12)
            if array.ndim == 2:
                assert math.isclose(value(db, "npy_norm(?, 'fro')", npy_bytes(np.asfortranarray(array))), np.linalg.norm(wide, "fro"), rel_tol=1e-12)
            if array.ndim > 1:
                continue
            for ord in (1, 2, 0, 3, 0.5, "inf", "-inf"):
                with np.errstate(all="ignore"):
                    want = np.linalg.norm(wide, float(ord))
                assert math.isclose(value(db, "npy_norm(?, ?)", npy_bytes(array), ord), want, rel_tol=1e-11), (order, shape, ord)


def test_norms_of_what_is_odd(connect):
    db = connect()
    complex_numbers = np.array([[3 + 4j, 0], [1j, 2]])
    assert math.isclose(value(db, "npy_norm(?)", npy_bytes(complex_numbers)), np.linalg.norm(complex_numbers))
    assert value(db, "npy_norm(?)", npy_bytes(np.array([1, np.nan]))) is None
    assert value(db, "npy_norm(?, 0)", npy_bytes(np.array([0, np.nan, 2]))) == 2
    assert value(db, "npy_norm(?)", npy_bytes(np.array([1, -np.inf]))) == math.inf
    assert value(db, "npy_norm(?)", npy_bytes(np.zeros(0))) == 0 and value(db, "npy_norm(NULL)") is None
    assert value(db, "npy_norm(?)", npy_bytes(np.array(-2.5))) == 2.5
    assert value(db, "npy_norm(?, 'inf')", npy_bytes(np.array([2**62, -(2**63)]))) == 2.0**63
    matrix = npy_bytes(np.zeros((2, 2)))
    assert "this ord is for vectors; the array has 2 dimensions" in error_of(db, "SELECT npy_norm(?, 1)", matrix)
    assert error_of(db, "SELECT npy_norm(?, 'nuc')", matrix).endswith("ord must be a number, 'inf' or '-inf', or for a matrix 'fro'")
    assert "distances and norms need real numbers" in error_of(db, "SELECT npy_norm(?)", npy_bytes(np.array(["a"])))


@pytest.mark.parametrize("dtype", [*REALS, "c8", "c16"])
def test_norms_along_axes(db, dtype):
    rng = seeded_generator()
    for shape in [(7,), (3, 4), (2, 3, 5), (300, 40), (0, 4), (4, 0), (1, 1)]:
        array = np.asarray(random_rows(rng, np.dtype(dtype), shape) if dtype[0] != "c" else rng.normal(size=shape) + 1j * rng.normal(size=shape), order=rng.choice(["C", "F"])).astype(dtype)
        wide = array.astype("c16" if dtype[0] == "c" else "f8")
        for axis in range(-array.ndim, array.ndim):
            for ord in [None, 2] + [0, "inf"] * (dtype[0] != "c" and dtype not in ("i8", "u8", "f16") and 0 not in shape):
                with np.errstate(all="ignore"):
                    want = np.linalg.norm(wide, None if ord is None else float(ord), axis)
                got = value(db, "npy_norm(?, ?, ?)", npy_bytes(array), ord, axis)
                got = np.load(io.BytesIO(got)) if isinstance(got, bytes) else np.float64(got)
                assert got.shape == want.shape and np.allclose(got, want, rtol=1e-12, atol=0), (shape, axis, ord)
        if array.ndim == 3:
            got = np.load(io.BytesIO(value(db, "npy_norm(?, NULL, '[0, 2]')", npy_bytes(array))))
            assert np.allclose(got, np.sqrt((np.abs(wide) ** 2).sum((0, 2))), rtol=1e-12)
            assert math.isclose(value(db, "npy_norm(?, NULL, '[0, 1, 2]')", npy_bytes(array)), np.linalg.norm(wide.ravel()), rel_tol=1e-12)


def test_norms_along_axes_that_are_refused(db):
    matrix = npy_bytes(np.ones((2, 3)))
    assert "along an axis, ord is 2, 0 or 'inf'; npy_sum(npy_calc('abs(a)', array), axis) is the norm of ord 1" in error_of(db, "SELECT npy_norm(?, 1, 0)", matrix)
    assert "or 'inf', but for 64-bit integers; " in error_of(db, "SELECT npy_norm(?, 'inf', 0)", npy_bytes(np.ones((2, 3), "i8")))
    assert "axis 2 is out of range" in error_of(db, "SELECT npy_norm(?, NULL, 2)", matrix)
    assert "this ord is for vectors; the array has 2 dimensions" in error_of(db, "SELECT npy_norm(?, 2, '[0, 1]')", matrix)
    assert value(db, "npy_norm(?, 2, NULL)", npy_bytes(np.ones(4))) == 2


# --- npy_corrcoef -----------------------------------------------------------------------------------------------------


def corrcoef(db, array, *rowvar):
    (data,) = db.execute(f"SELECT npy_corrcoef({', '.join('?' * (1 + len(rowvar)))})", (npy_bytes(array), *rowvar)).fetchone()
    return np.load(io.BytesIO(data))


@pytest.mark.parametrize("dtype", REALS)
def test_correlations(db, dtype):
    rng = seeded_generator()
    for order in both_byte_orders(dtype):
        for _ in range(10):
            shape = tuple(rng.integers(2, 150, 2)) if rng.random() < 0.5 else tuple(rng.integers(2, 12, 2))
            array = np.asarray(rng.normal(size=shape) * 30 + 50 if np.dtype(dtype).kind == "f" else rng.integers(0, 2 if dtype == "?" else 100, shape), order=str(rng.choice(["C", "F"]))).astype(order)
            for rowvar in (1, 0):
                with np.errstate(all="ignore"):
                    wanted = np.corrcoef(array.astype("f8"), rowvar=bool(rowvar))
                assert np.allclose(corrcoef(db, array, rowvar), wanted, rtol=1e-9, atol=1e-9, equal_nan=True), (shape, order)
            assert np.array_equal(corrcoef(db, array), corrcoef(db, array, 1), equal_nan=True)
            made = corrcoef(db, array)
            assert np.array_equal(made, made.T, equal_nan=True) and (np.abs(made[~np.isnan(made)]) <= 1).all()


def test_the_second_vector_is_kept_and_never_mistaken(db, tmp_path):
    """From row to row it is the same, of another length, of the same bytes as a TEXT, NULL, and the same again."""
    array = seeded_generator().normal(size=(40, 6))
    path = str(tmp_path / "x.npy")
    np.save(path, array)
    db.execute("CREATE TEMP TABLE queries AS SELECT row % 3 AS k, array AS query FROM npy_rows(?) WHERE row < 3", (path,))
    found = db.execute("SELECT row, npy_dot(array, (SELECT query FROM queries WHERE k = row / 7 % 4)) FROM npy_rows(?)", (path,)).fetchall()
    wanted = [(row, None if row // 7 % 4 == 3 else array[row] @ array[row // 7 % 4]) for row in range(40)]
    assert [(row, None if dot is None else pytest.approx(dot, rel=1e-12)) for row, dot in wanted] == found
    two = "SELECT row, npy_dot(array, (SELECT query FROM queries WHERE k = 0)) + npy_distance(array, (SELECT query FROM queries WHERE k = 1)) FROM npy_rows(?)"
    assert np.allclose([value for _, value in db.execute(two, (path,))], array @ array[0] + np.linalg.norm(array - array[1], axis=1), rtol=1e-12)
    with pytest.raises(sqlite3.OperationalError, match="is a TEXT; to open a path"):
        db.execute("SELECT npy_dot(array, CASE WHEN row < 2 THEN (SELECT query FROM queries WHERE k = 0) ELSE CAST((SELECT query FROM queries WHERE k = 0) AS TEXT) END) FROM npy_rows(?)", (path,)).fetchall()
    with pytest.raises(sqlite3.OperationalError, match="the vectors have 6 and 2 items"):
        db.execute("SELECT npy_dot(array, CASE WHEN row < 2 THEN (SELECT query FROM queries WHERE k = 0) ELSE npy_slice((SELECT query FROM queries WHERE k = 0), ':2') END) FROM npy_rows(?)", (path,)).fetchall()


def test_correlations_of_nothing_and_of_nan(db):
    assert corrcoef(db, np.zeros((0, 3)), 1).shape == (0, 0) and np.isnan(corrcoef(db, np.zeros((0, 3)), 0)).all()
    assert np.isnan(corrcoef(db, np.array([[1.0, 2, 3], [5, 5, 5]]))).tolist() == [[False, True], [True, True]]
    array = np.array([[1.0, 2, np.nan], [1, 2, 4], [4, 2, 1]])
    assert np.isnan(corrcoef(db, array)).tolist() == [[True, True, True], [True, False, False], [True, False, False]]
    far = np.array([[1e9 + 1, 1e9 + 2, 1e9 + 4], [3, 1, 2]])
    assert np.allclose(corrcoef(db, far), np.corrcoef(far), rtol=1e-12)


def test_what_is_not_correlated(db):
    assert "takes a matrix; this array has 1 dimensions" in error_of(db, "SELECT npy_corrcoef(?)", npy_bytes(np.zeros(3)))
    assert "takes numbers; these items are complex64" in error_of(db, "SELECT npy_corrcoef(?)", npy_bytes(np.zeros((2, 2), "c8")))
    assert "there are 4097 variables, of which 4096 can be correlated at most; npy_slice takes some of them, and rowvar = 0" in error_of(db, "SELECT npy_corrcoef(?)", npy_bytes(np.zeros((4097, 2), "u1")))
    assert "rowvar must be 1 (rows are variables) or 0 (columns are)" in error_of(db, "SELECT npy_corrcoef(?, 'x')", npy_bytes(np.zeros((2, 2))))
    assert db.execute("SELECT npy_corrcoef(NULL), npy_corrcoef(NULL, 0)").fetchone() == (None, None)
