"""Wrong answers that were found by using it hard, each named for what went wrong. NumPy says what is right."""

import io
import json
import math
import sqlite3
import zipfile
from fractions import Fraction

import numpy as np
import pytest

import histograms
import shell
from arrays import npy_bytes, npz_bytes, seeded_generator, ten_bytes
from expected import counters, error_of
from formats import npy


def row(db, sql, *arguments):
    return db.execute(sql, arguments).fetchone()


# --- value where rows are JSON -----------------------------------------------------------------------------

RACK = "rows are JSON here (shape [6,4]); compare elements with npy_elements, or choose a column with the slice ':, 0'"


@pytest.mark.parametrize("condition", ["value > 0.5", "value = 1", "value IN (1, 2)", "? < value", "value BETWEEN 0 AND 1"])
def test_a_number_was_less_than_every_row_of_json(db, folder, condition):
    np.save("X.npy", np.arange(24.0).reshape(6, 4))
    arguments = (0.5,) if "?" in condition else ()
    assert RACK in error_of(db, f"SELECT count(*) FROM npy_rows('X.npy') WHERE {condition}", *arguments)
    # in a join, lookup after lookup
    sql = f"SELECT count(*) FROM json_each('[1,2,3]') t CROSS JOIN npy_rows('X.npy') r ON r.row = t.value WHERE r.{condition}"
    if "?" not in condition:
        assert RACK in error_of(db, sql)


def test_what_is_no_number_may_be_compared_with_json(db, folder):
    np.save("X.npy", np.arange(24.0).reshape(6, 4))
    for condition, count in [
        ("value = '[0.0,1.0,2.0,3.0]'", 1), ("value > '['", 6), ("value IS NOT NULL", 6), ("value IS NULL", 0),
        ("value = NULL", 0), ("value IN ('[0.0,1.0,2.0,3.0]', 'x')", 1), ("row > 2", 3),
    ]:
        assert row(db, f"SELECT count(*) FROM npy_rows('X.npy') WHERE {condition}") == (count,), condition
    assert row(db, "SELECT count(*) FROM npy_rows('X.npy', '', ':, 0') WHERE value > 3") == (5,)
    assert row(db, "SELECT count(*) FROM npy_elements('X.npy') WHERE value > 3") == (20,)


@pytest.mark.parametrize("function", ["npy_rows", "npy_elements"])
def test_a_number_was_less_than_every_complex_and_structured_item(db, folder, function):
    np.save("c.npy", np.array([1 + 2j, 3, np.nan]))
    np.save("s.npy", np.array([(1, 2.0), (3, 4.0)], [("a", "i4"), ("b", "f8")]))
    for condition in ("value > 1", "value = 3", "value IN (1, 2)", "value BETWEEN 0 AND 1"):
        for path, way_out in [("c.npy", "(complex128); compare real and imag of npy_elements"), ("s.npy", "(structured items); compare one field")]:
            assert f"values are JSON here {way_out}" in error_of(db, f"SELECT count(*) FROM {function}(?) WHERE {condition}", path)
    for path, condition, count in [
        ("c.npy", "value = '[3.0,0.0]'", 1), ("c.npy", "value IS NULL", 0), ("c.npy", "value IS NOT NULL", 3), ("c.npy", "value > '['", 3),
        ("s.npy", "value ->> 'b' > 3", 1), ("s.npy", "field = 'b' AND value > 3", 1), ("s.npy", "value IS NOT NULL", 2),
    ]:
        assert row(db, f"SELECT count(*) FROM {function}(?) WHERE {condition}", path) == (count,), condition
    assert row(db, "SELECT count(*) FROM npy_elements('c.npy') WHERE real > 1 AND imag = 0") == (1,)
    assert db.execute(f"SELECT path FROM {function}('*.npy') WHERE on_error = 'skip' AND value > 1").fetchall() == []


def test_files_of_json_rows_are_left_out_by_on_error(db, folder):
    np.save("a.npy", np.arange(4.0))
    np.save("b.npy", np.arange(24.0).reshape(2, 3, 4))
    sql = "SELECT path, value FROM npy_rows('*.npy') WHERE value > 2"
    assert "slice ':, 0, 0'" in error_of(db, sql)
    assert db.execute(f"{sql} AND on_error = 'skip'").fetchall() == [("a.npy", 3.0)]
    assert counters(db)["files_skipped"] == 1


def test_whole_floats_lost_digits_in_json(db):
    """float16 16384 went through JSON as 16380.0 into a file of wider items."""
    rng = seeded_generator()
    for dtype, highest in [("f2", 65504), ("f4", 1e18), ("f4", 3.4e38)]:
        items = np.round(rng.uniform(-highest, highest, (1, 2000))).astype(dtype)
        (text,) = row(db, "SELECT value FROM npy_rows(?)", npy_bytes(items))
        assert np.array_equal(np.array(json.loads(text)), items[0].astype("f8"))
        (copied,) = row(db, "SELECT npy_stack(value, 'f8') FROM npy_rows(?)", npy_bytes(items))
        assert np.array_equal(np.load(io.BytesIO(copied)), items.astype("f8"))
    assert row(db, "SELECT value FROM npy_rows(?)", npy_bytes(np.array([[16384, 0.1]], "f2"))) == ("[16384.0,0.1]",)


# --- statistics --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f2", "f4"])
def test_edges_of_narrow_floats_near_their_greatest(db, dtype):
    """A range that is the items' own has the items' type, however large its ends: it was taken for one that was given."""
    greatest = float(np.finfo(dtype).max)
    rng = seeded_generator()
    for low, high in [(0, greatest), (greatest / 2, greatest), (-greatest / 4, greatest), (0, greatest * 0.995)]:
        for bins in (1, 3, 10, 17):
            items = np.concatenate([[low, high], rng.uniform(low, high, 200)]).astype(dtype)
            with np.errstate(over="ignore"):
                try:
                    counts, edges = histograms.histogram(items, bins)
                except (IndexError, ValueError):
                    continue  # NumPy's own difference of the ends is infinite
            rows = db.execute("SELECT lo, hi, count FROM npy_histogram(?, '', '', ?)", (npy_bytes(items), bins)).fetchall()
            assert [lo for lo, _, _ in rows] + [rows[-1][1]] == edges.astype("f8").tolist(), (low, high, bins)
            assert [count for *_, count in rows] == counts.tolist(), (low, high, bins)


def test_edges_of_half_precision_up_to_65504(db):
    sql = "SELECT lo FROM npy_histogram(?, '', '', 3)"
    assert db.execute(sql, (npy_bytes(np.array([0, 65504], "f2")),)).fetchall() == [(0.0,), (21840.0,), (43680.0,)]


@pytest.mark.parametrize("descr", ["|S0", "<U0"])
def test_the_least_of_items_without_bytes_was_the_last(db, descr):
    assert row(db, "SELECT argmin, argmax, count FROM npy_stats(?)", npy(descr, (7,), b"")) == (0, 0, 7)
    assert row(db, "SELECT argmin, argmax FROM npy_stats(?)", npy(descr, (2, 3), b"")) == (0, 0)
    assert row(db, "SELECT argmin, argmax, count FROM npy_stats(?)", npy(descr, (2**40,), b"")) == (0, 0, 2**40)


@pytest.mark.parametrize("items", [[-1e308, 1e308, -1e308, 1e308, -1e308], [1e308, -1e308] * 700 + [3.5], [1.7e308, -1.7e308, 1e-300]])
def test_sums_that_come_back_from_infinity(db, items):
    """Four at a time the first and the fifth item passed the greatest double."""
    total = math.fsum(items)
    assert row(db, "SELECT sum FROM npy_stats(?)", npy_bytes(np.array(items))) == (total,)
    complex_items = np.array(items) + 1j * np.array(items)[::-1]
    (text,) = row(db, "SELECT sum FROM npy_stats(?)", npy_bytes(complex_items))
    assert json.loads(text) == [total, total]


def test_sums_of_many_chunks_that_come_back(db):
    rng = seeded_generator()
    items = rng.uniform(-1, 1, 100000) * 1.7e308
    items = np.concatenate([items, -items, [1e290]])
    rng.shuffle(items)
    total, mean = row(db, "SELECT sum, mean FROM npy_stats(?)", npy_bytes(items))
    assert total == pytest.approx(1e290, abs=1e308 * 2**-40) and mean == pytest.approx(0, abs=1e308 * 2**-40)
    with np.errstate(over="ignore"):
        assert row(db, "SELECT sum, mean FROM npy_stats(?)", npy_bytes(np.full(3000, 1.5e308))) == (math.inf, 1.5e308)
        assert row(db, "SELECT sum FROM npy_stats(?)", npy_bytes(np.array([1e308, 1e308, -np.inf]))) == (-math.inf,)


def test_statistics_of_no_items_took_memory_for_their_size(db):
    for descr in ("<U268435455", "|S2147483647", [("a", "<U134217727"), ("b", "<U134217727")]):
        rows = db.execute("SELECT count, min, max, argmin FROM npy_stats(?)", (npy(descr, (0,), b""),)).fetchall()
        assert rows and set(rows) == {(0, None, None, None)}


# --- listings and JSON -------------------------------------------------------------------------------------


def test_where_an_entry_lies_depends_on_no_other_column(db):
    """An entry with a broken header lay nowhere, but only where a column of the header was asked for, too."""
    bad = npy("<f4", (5,), b"")
    good = npy_bytes(np.arange(3))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, contents in [("good.npy", good), ("bad.npy", bad), ("text.txt", b"hello")]:
            archive.writestr(name, contents)
    with zipfile.ZipFile(file) as archive:
        want = [info.header_offset + 30 + len(info.filename) for info in archive.infolist()]
    source = file.getvalue()
    sql = "SELECT data_offset{} FROM npz_members(?) WHERE on_error = 'row' ORDER BY idx"
    for columns in ("", ", dtype", ", error", ", shape, error, crc_ok"):
        assert [found[0] for found in db.execute(sql.format(columns), (source,))] == want, columns


def test_integers_beyond_int64_beside_small_ones(db):
    (array,) = row(db, "SELECT npy_from_json('[18446744073709551615, 1]')")
    assert array == npy_bytes(np.array([2**64 - 1, 1], "u8"))
    assert "among negative ones" in error_of(db, "SELECT npy_from_json('[18446744073709551615, -1]')")


# --- kinds of errors, and pieces of paths ------------------------------------------------------------------


def test_kinds_of_errors(db, folder):
    deflated = bytearray(npz_bytes({"x": np.zeros(100000)}, "deflated"))
    stored = bytearray(npz_bytes({"x": np.arange(1000)}, "stored"))
    stored[2000] ^= 1
    deflated[100:120] = bytes(20)
    pickled = io.BytesIO()
    np.save(pickled, np.array([None, 1]), allow_pickle=True)
    contents = {
        "empty.npy": b"",
        "format.npy": b"hello, world\n" * 9,
        "header.npy": npy("<f9", (3,), bytes(24)),
        "negative.npy": npy("<f4", (-3,), bytes(24)),
        "truncated.npy": npy_bytes(np.arange(100))[:-1],
        "short.npy": npy_bytes(np.arange(100))[:60],
        "crc.npz": bytes(stored),
        "objects.npy": pickled.getvalue(),
        "truncated.ten": ten_bytes([np.arange(10)])[:-100],
        "good.npy": npy_bytes(np.arange(3)),
    }
    for name, bytes_of in contents.items():
        with open(name, "wb") as out:
            out.write(bytes_of)
    import os

    os.mkdir("folder.npy")
    sql = "SELECT path, error_kind, error FROM npy_stats(?) WHERE on_error = 'row' GROUP BY path"
    for name in [*contents, "folder.npy", "missing.npy"]:
        want = {"negative": "header", "short": "truncated", "folder": "unsupported", "good": None, "objects": None}
        stem = name.split(".")[0]
        (_, kind, error) = row(db, sql, name)
        assert kind == want.get(stem, stem), (name, error)
        assert (error is None) == (kind is None)
    # beside the errors of the other functions
    assert row(db, "SELECT error_kind FROM npy_meta('missing.npy') WHERE on_error = 'row'") == ("missing",)
    assert row(db, "SELECT error_kind FROM npz_members('good.npy') WHERE on_error = 'row'") == ("value",)
    assert row(db, "SELECT error_kind FROM ten_arrays('truncated.ten') WHERE on_error = 'row' AND error IS NOT NULL") == ("truncated",)
    assert row(db, "SELECT error_kind FROM npy_compare('missing.npy', 'good.npy') WHERE on_error = 'row'") == ("missing",)
    assert row(db, "SELECT error_kind FROM npy_meta('good.npy')") == (None,)


PATHS = ["runs/a/x.npy", "x.npy", "./runs//b.tar.npy", "../up/.hidden", "runs/./y.", "/abs/runs/z.npy", "/top.npy", "a/../b/c.npz"]


@pytest.mark.parametrize("path", PATHS)
def test_pieces_of_paths_in_every_function(db, folder, path):
    """As pathlib's, also of files that are not there; a dot at the end is part of the stem, as before Python 3.14."""
    import pathlib

    pure = pathlib.PurePosixPath(path)
    stem = pure.name if pure.name.endswith(".") else pure.stem
    for function in ("npy_meta", "npy_stats"):
        found = row(db, f"SELECT parts, stem, parent FROM {function}(?) WHERE on_error = 'row'", path)
        assert (json.loads(found[0]), *found[1:]) == (list(pure.parts), stem, pure.parent.name), function


def test_pieces_of_paths_beside_rows(db, folder):
    (folder / "runs").mkdir()
    np.save("runs/x.npy", np.arange(2.0))
    (folder / "runs" / "x.npz").write_bytes(npz_bytes({"a": np.arange(2)}))
    (folder / "runs" / "x.ten").write_bytes(ten_bytes([np.arange(2)]))
    for function, suffix in [
        ("npy_meta", "npy"), ("npy_rows", "npy"), ("npy_elements", "npy"), ("npy_stats", "npy"), ("npy_histogram", "npy"),
        ("npy_file", "npy"), ("npz_members", "npz"), ("ten_arrays", "ten"),
    ]:
        sql = f"SELECT DISTINCT parts, stem, parent FROM {function}(?)"
        assert db.execute(sql, (f"runs/x.{suffix}",)).fetchall() == [(f'["runs","x.{suffix}"]', "x", "runs")], function
        contents = (folder / "runs" / f"x.{suffix}").read_bytes()
        assert db.execute(sql, (contents,)).fetchall() == [(None, None, None)], function


def test_a_fault_has_no_kind_where_there_is_no_column(db, folder):
    with pytest.raises(sqlite3.Error, match="no such column"):
        db.execute("SELECT error_kind FROM npy_rows('x.npy')")


# --- names ------------------------------------------------------------------------------------------------


def test_names_were_compared_without_a_key(db):
    """Names of two archives met in a table whose hash anybody could compute: chosen ones made it quadratic. Each is hashed
    once, under the connection's own key."""
    names = [f"layer{i}" for i in range(500)]
    a = npz_bytes({name: np.arange(2) for name in names})
    before = counters(db)["names_hashed"]
    rows = db.execute("SELECT count(*), sum(status = 'equal') FROM npy_compare(?, ?)", (a, a)).fetchone()
    assert rows == (500, 500)
    assert 2 * len(names) <= counters(db)["names_hashed"] - before <= 4 * len(names)


def test_columns_of_equal_names_have_numbers(db, folder):
    """Names of columns are told apart as SQLite does, whatever the case of ASCII letters."""
    np.save("x.npy", np.zeros(1, [(name, "i4") for name in ["a", "A", "a_1", "\u00e4", "\u00c4"]]))
    db.execute("CREATE VIRTUAL TABLE t USING npy('x.npy')")
    assert [name for _, name, *_ in db.execute("PRAGMA table_info(t)")] == ["a", "A_1", "a_1_1", "\u00e4", "\u00c4"]


def test_rows_of_bfloat16_could_not_be_added(db, folder):
    """A file says V2 of them: the dtype that was named was taken for another one."""
    db.execute("CREATE VIRTUAL TABLE temp.t USING npy('x.npy', mode='w+', dtype='bfloat16')")
    db.execute("INSERT INTO t VALUES (1.5)")
    db.execute("CREATE VIRTUAL TABLE temp.u USING npy('x.npy', mode='a', dtype='bfloat16')")
    db.execute("INSERT INTO u VALUES (-2.0), (3.0)")
    assert np.load("x.npy").view("u2").tolist() == [0x3FC0, 0xC000, 0x4040]  # the upper halves of float32
    assert db.execute("SELECT value FROM npy_rows('x.npy') WHERE view = 'bfloat16'").fetchall() == [(1.5,), (-2.0,), (3.0,)]
    with pytest.raises(sqlite3.Error, match=r"which is void16\[3\]"):
        db.execute("CREATE VIRTUAL TABLE temp.v USING npy('x.npy', mode='a', dtype='f2')")


def test_pieces_of_the_path_that_was_written(db, folder):
    sql = "SELECT path, parts, stem, parent FROM npy_write('./out.npy', npy_from_json('[1]'))"
    assert row(db, sql) == ("./out.npy", '["out.npy"]', "out", "")


@pytest.mark.parametrize("astype", [None, "<f4", ">f8"])
def test_data_of_converted_rows_without_items_was_null(db, folder, astype):
    np.save(folder / "empty.npy", np.zeros((2, 0)))
    rows = "SELECT data, value FROM npy_rows WHERE source = ?" + (" AND astype = ?" if astype else "")
    assert db.execute(rows, [str(folder / "empty.npy")] + [astype] * bool(astype)).fetchall() == [(b"", "[]")] * 2


@pytest.mark.parametrize("descr", ["m8[W]", "M8[W]", ">m8[3s]", "M8[D]", "m8", ">i2", "f2", "c8"])
def test_numbers_of_dates_along_an_axis_kept_the_unit(db, descr):
    """The places of dates had the descr `<i8[W]`, and means of timedeltas `<f8[W]`, which nobody can read."""
    array = np.arange(12).reshape(3, 4).astype(descr)
    native = array.astype(array.dtype.newbyteorder("="))
    for name in ("sum", "mean", "std", "min", "max", "argmin", "argmax", "median"):
        try:
            (got,) = row(db, f"SELECT npy_{name}(?, 0)", npy_bytes(array))
        except sqlite3.OperationalError as error:
            assert "there is no" in str(error)
            continue
        loaded = np.load(io.BytesIO(got))
        if name.startswith("arg"):
            assert loaded.dtype == np.dtype("i8") and loaded.tolist() == [0 if name == "argmin" else 2] * 4
        elif native.dtype.kind == "M":
            wanted = {"min": native[0], "max": native[2]}.get(name, native[1])
            assert np.array_equal(loaded, wanted) and loaded.dtype == wanted.dtype
        else:
            # Numbers of units (reference/statistics.md).
            plain = native.astype("f8") if native.dtype.kind == "m" and name in ("mean", "std", "median") else native
            wanted = getattr(np, name)(plain, axis=0)
            assert loaded.dtype.kind == wanted.dtype.kind and loaded.dtype in (wanted.dtype, "f8", "c16", "i8"), (name, loaded.dtype)
            assert np.allclose(loaded.astype(loaded.dtype if loaded.dtype.kind in "cf" else "i8"), wanted.astype(loaded.dtype if loaded.dtype.kind in "cf" else "i8"), rtol=1e-3)


# --- vectors -----------------------------------------------------------------------------------------------


def test_equal_distances_under_a_negative_step_came_in_falling_order(db):
    rows, query = np.zeros((5000, 3)), npy_bytes(np.ones(3))
    rows[1000:] = 2
    for text in ("::-1", "4000::-7", "-1:10:-2"):
        asked = sorted(np.arange(5000)[eval(f"np.s_[{text}]")].tolist())  # all lie as far from the query
        for k in (3, 700):
            got = [n for (n,) in db.execute("SELECT row FROM npy_nearest(?, '', ?, ?, ?)", (npy_bytes(rows), text, query, k))]
            assert got == asked[:k], (text, k)


def test_the_correlation_of_one_variable_was_a_matrix(db):
    """As NumPy squeezes it: a number."""
    for array, rowvar in (([[1.0, 2, 4]], 1), ([[1.0], [2], [4]], 0), ([[5.0, 5]], 1)):
        with np.errstate(all="ignore"):
            expected = np.corrcoef(np.array(array), rowvar=bool(rowvar))
        (got,) = row(db, "SELECT npy_corrcoef(?, ?)", npy_bytes(np.array(array)), rowvar)
        loaded = np.load(io.BytesIO(got))
        assert loaded.shape == expected.shape == ()
        np.testing.assert_array_equal(loaded, expected)


def test_statistics_of_inflated_views_depended_on_the_number_of_threads(folder, monkeypatch):
    """Threads inflate the entries after the third ahead of their reader, into memory, which was read in other panels."""
    rng = seeded_generator()
    np.savez_compressed("z.npz", **{f"a{i:02}": (rng.normal(size=60001 + 3 * i) * 1000 + i).round(1) for i in range(24)})
    answers = {}
    for threads in ("1", "2", "3", "16"):
        monkeypatch.setenv("NPYEXT_THREADS", threads)
        db = shell.connect()
        answers[threads] = db.execute("SELECT mean, std FROM npy_stats('z.npz', '', '::3')").fetchall()
    assert len(answers["1"]) == 24 and all(answer == answers["1"] for answer in answers.values())


def test_rows_before_one_that_cannot_be_converted_depended_on_blocks(db, folder):
    """The whole block failed: a LIMIT that ends before the item did, too, and how many rows came depended on sizes."""
    nelem, bad = 100000, 77777
    x = np.arange(nelem) % 200
    np.save("x.npy", np.where(np.arange(nelem) == bad, -1, x))
    np.save("pairs.npy", np.where(np.arange(nelem) == bad, -1, x).reshape(-1, 2))
    for function, path in [("npy_rows", "x.npy"), ("npy_elements", "x.npy"), ("npy_elements", "pairs.npy")]:
        source = f"FROM {function}('{path}') WHERE astype = 'u1'"
        assert db.execute(f"SELECT value {source} LIMIT 10").fetchall() == [(int(n),) for n in x[:10]]
        found, cursor = [], db.execute(f"SELECT value {source}")
        with pytest.raises(sqlite3.Error, match=f"item {bad} is -1, which uint8 cannot hold"):
            for value, in cursor:
                found.append(value)
        # Python's module is one row ahead of what it has given
        assert len(found) in (bad - 1, bad) and found == x[: len(found)].tolist()
    assert row(db, "SELECT count(*) FROM npy_rows('pairs.npy') WHERE astype = 'u1' AND on_error = 'skip' AND value > ''") == (bad // 2,)
    assert row(db, "SELECT count(value) FROM npy_elements('pairs.npy') WHERE astype = 'u1' AND idx BETWEEN 10 AND ?", bad - 1) == (bad - 10,)
    assert row(db, "SELECT sum(value) FROM npy_elements('pairs.npy') WHERE astype = 'u1' AND idx > ?", bad) == (int(x[bad + 1 :].sum()),)
    assert "is -1, which uint8 cannot hold" in error_of(db, "SELECT sum(value) FROM npy_elements('pairs.npy') WHERE astype = 'u1' AND idx >= ?", bad)
    assert row(db, "SELECT sum(value) FROM npy_rows('x.npy') WHERE astype = 'u1' AND row < ?", bad) == (int(x[:bad].sum()),)


@pytest.mark.parametrize("function", ["npy_rows", "npy_elements"])
def test_a_fault_is_of_one_question_and_one_array(db, folder, function):
    """Where a LIMIT ends before it, the next lookup must not meet it; nor the next array, where it is skipped."""
    np.save("a.npy", np.array([1, 2, 300, 4]))
    np.save("b.npy", np.array([5, 6]))
    db.execute("CREATE TEMP TABLE wanted AS SELECT value AS n FROM json_each('[0, 1, 0, 1, 0, 1, 0, 1]')")
    first = f"(SELECT value FROM {function}('a.npy') WHERE astype = 'u1' AND value > n LIMIT 1)"
    assert db.execute(f"SELECT {first} FROM wanted").fetchall() == [(1,), (2,)] * 4
    of_both = f"SELECT value FROM {function}('[\"a.npy\", \"b.npy\"]') WHERE astype = 'u1' AND on_error = 'skip'"
    assert db.execute(of_both).fetchall() == [(1,), (2,), (5,), (6,)]


def test_the_mean_of_dates_depended_on_blocks(db, folder):
    """It was made of rounded parts, so that a mean between two dates, and of dates far apart, went either way."""
    rng = seeded_generator()
    for case in range(200):
        ticks = rng.integers(-(2 ** int(rng.integers(2, 63))), 2 ** int(rng.integers(2, 63)), int(rng.integers(1, 40)))
        mean = round(Fraction(sum(map(int, ticks)), len(ticks)))  # to the nearest, ties to even
        for dtype in ("<M8[ns]", ">M8[ns]"):
            np.save("d.npy", ticks.astype("i8").view("M8[ns]").astype(dtype))
            blob, = row(db, "SELECT npy_mean(npy_reshape(array, '[1,-1]'), 1) FROM npy_file('d.npy')")
            assert np.load(io.BytesIO(blob)).view("i8").tolist() == [mean]
            expected = str(np.int64(mean).view("M8[ns]")).replace("T", " ")
            assert row(db, "SELECT mean FROM npy_stats('d.npy')") == row(db, "SELECT npy_mean(array) FROM npy_file('d.npy')") == (expected,)


def test_the_sign_of_an_edge_that_is_zero_depended_on_blocks(db, folder):
    np.save("z.npy", np.array([-12, -0.0, 0.0, -0.0], "f4"))
    for order in ("", "::-1"):
        edges = [edge for pair in db.execute("SELECT lo, hi FROM npy_histogram('z.npy', '', ?, 3)", (order,)) for edge in pair]
        assert repr(edges) == "[-12.0, -8.0, -8.0, -4.0, -4.0, 0.0]"


@pytest.mark.parametrize("function", ["npy_min", "npy_max"])
@pytest.mark.parametrize("shape", [(2, 1), (8, 245), (3, 5, 7), (3000, 1)])
def test_the_byte_of_true_depended_on_blocks(db, function, shape):
    """In a file any byte but 0 is true; arrays that are made have 1."""
    for order in "CF":
        array = np.full(shape, 255, "u1").view("?").copy(order)
        for axis in range(array.ndim):
            blob, = row(db, f"SELECT {function}(?, ?)", npy_bytes(array), axis)
            assert set(np.load(io.BytesIO(blob)).view("u1").ravel().tolist()) == {1}
