"""Answers do not depend on how many threads make them: values, bits, errors, their order, and what was read."""

import io
import json
import os
import resource
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pytest

import shell
from arrays import npy_bytes, npz_bytes, seeded_generator
from expected import counters

# One, two, an odd number, and the most, which are more than there are blocks. Other builds go the same ways: one with other
# threads is enough there, and for a sample.
NTHREADS = ("1", "3") if shell.REPEATS or shell.SAMPLES else ("1", "2", "3", "16")


def connect_with(nthreads, monkeypatch):
    monkeypatch.setenv("NPYEXT_THREADS", nthreads)
    return shell.connect()


def answers(monkeypatch, queries):
    """The rows of all queries by each number of threads; twice on a connection, which knows its files by then."""
    found = {}
    for nthreads in NTHREADS:
        db = connect_with(nthreads, monkeypatch)
        found[nthreads] = [[db.execute(sql).fetchall() for sql in queries] for _ in range(2)]
        db.close()
    return found


def assert_alike(monkeypatch, queries):
    found = answers(monkeypatch, queries)
    for nthreads in NTHREADS:
        for turn in range(2):
            for sql, got, want in zip(queries, found[nthreads][turn], found["1"][0]):
                assert repr(got) == repr(want), (nthreads, turn, sql)
    return found["1"][0]


def unpleasant(rng, dtype, count):
    """Numbers of all sizes, some of which overflow a sum, with NaN, infinities and zeros of either sign."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "fc":
        bits = rng.integers(0, 256, count * dtype.itemsize, dtype="u1").tobytes()
        return np.frombuffer(bits, dtype) if dtype.kind != "b" else np.frombuffer(bits, "u1") % 2 == 1
    array = (rng.standard_normal(count) * 10.0 ** rng.integers(-4, 4, count)).astype(dtype)
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, np.finfo(dtype).max, np.finfo(dtype).min, np.finfo(dtype).tiny]
    for value in special[: rng.integers(0, len(special) + 1)]:
        array[rng.integers(0, count, 3)] = value
    return array


STATISTICS = "SELECT *, argmin, argmax, var, m2, crc32 FROM npy_stats('{}')"


@pytest.mark.parametrize("dtype", shell.some(["f8", ">f8", "f4", "f2", "c16", "i8", "u8", "i4", "u1", "?", "M8[s]"], 2))
def test_statistics_histograms_and_filters_are_the_same_to_the_last_bit(folder, monkeypatch, dtype):
    rng = seeded_generator()
    array = unpleasant(rng, dtype, int(5_500_000 / np.dtype(dtype).itemsize) + int(rng.integers(0, 5000)))
    (folder / "x.npy").write_bytes(npy_bytes(array))
    (folder / "stored.npz").write_bytes(npz_bytes({"x": array}))
    (folder / "deflated.npz").write_bytes(npz_bytes({"x": array}, "deflate", level=1))
    queries = [STATISTICS.format(name) for name in ("x.npy", "stored.npz", "deflated.npz")]
    queries.append("SELECT * FROM npy_stats('x.npy', '', '3::2')")
    if np.dtype(dtype).kind in "fiub":
        queries.append("SELECT * FROM npy_histogram('x.npy', '', '', 37, -5.5, 100)")
        queries.append("SELECT count(*), sum(value) FROM npy_rows('deflated.npz') WHERE value > 0.25 AND value < 1e4")
    assert_alike(monkeypatch, queries)


COMPARED = [
    (dtypes, change)
    for dtypes in [("f4", "f4"), ("f8", "f8"), ("f8", "f4"), ("i8", "f8"), ("c8", "c16"), ("i2", "u8"), ("U3", "U3")]
    for change in ["nothing", "one", "all"]
    if (dtypes[0], change) != ("U3", "all")  # texts are not computed with
]


@pytest.mark.parametrize("dtypes, change", shell.some(COMPARED, 2))
def test_comparisons_are_the_same_to_the_last_bit(folder, monkeypatch, dtypes, change):
    rng = seeded_generator()
    count = 1_200_000 // np.dtype(dtypes[0]).itemsize * 4
    if dtypes[0] == "U3":
        a = rng.integers(0, 50, count).astype("U3")
    else:
        a = unpleasant(rng, dtypes[0], count)
    b = a.copy()
    with np.errstate(all="ignore"):
        if change == "one":
            b[count * 2 // 3] = "z" if dtypes[0] == "U3" else 1
        elif change == "all":
            b = (b * np.asarray(1.001, dtypes[0]) + np.asarray(1, dtypes[0])).astype(dtypes[0])
        b = b.astype(dtypes[1])
    (folder / "a.npy").write_bytes(npy_bytes(a))
    for variant in ("stored", "deflate"):
        (folder / f"{variant}.npz").write_bytes(npz_bytes({"a": b}, variant, level=1))
    (folder / "b.npy").write_bytes(npy_bytes(b))
    queries = ["SELECT *, first_at FROM npy_compare('a.npy', 'b.npy')", "SELECT *, first_at FROM npy_compare('b.npy', 'a.npy')"]
    (folder / "a.npz").write_bytes(npz_bytes({"a": a}))
    queries += [f"SELECT *, first_at FROM npy_compare('a.npz', '{variant}.npz')" for variant in ("stored", "deflate")]
    rows = assert_alike(monkeypatch, [sql.replace(", first_at", "") for sql in queries])
    assert all(len(row) == 1 for row in rows)


# --- members of an archive -----------------------------------------------------------------------------------------


def many_members(rng, count=40):
    return {f"m{i:02}": np.round(rng.standard_normal(int(rng.integers(1, 60_000))), 2) for i in range(count)}


def damaged(contents, name, change):
    """The archive with the deflated bytes of one member changed, or its CRC-32 in the directory."""
    contents = bytearray(contents)
    info = zipfile.ZipFile(io.BytesIO(contents)).getinfo(name)
    if change == "bytes":
        contents[info.header_offset + 30 + len(name) + info.compress_size // 2] ^= 0x55
    else:
        at = contents.rindex(b"PK\1\2", 0, contents.rindex(name.encode()))
        contents[at + 16 : at + 20] = (info.CRC ^ 1).to_bytes(4, "little")
    return bytes(contents)


def test_deflated_members_are_inflated_ahead_and_give_what_zipfile_gives(folder, monkeypatch):
    rng = seeded_generator()
    members = many_members(rng)
    (folder / "m.npz").write_bytes(npz_bytes(members, "deflate"))
    rows = assert_alike(
        monkeypatch,
        [STATISTICS.format("m.npz"), "SELECT name, row, value FROM npy_rows('m.npz') WHERE row % 1000 = 7", "SELECT name, shape FROM npy_meta('m.npz')"],
    )
    assert [row[-1] for row in rows[0]] == [zlib.crc32(array.tobytes()) for array in members.values()]
    assert rows[1] == [(name, i, array[i]) for name, array in members.items() for i in range(7, len(array), 1000)]


@pytest.mark.parametrize("change", ["bytes", "crc"])
def test_a_damaged_member_among_those_inflated_ahead_is_told_where_it_stands(folder, monkeypatch, change):
    rng = seeded_generator()
    contents = npz_bytes(many_members(rng), "deflate")
    for name in ("m00.npy", "m11.npy", "m12.npy", "m39.npy"):
        contents = damaged(contents, name, change)
    (folder / "m.npz").write_bytes(contents)
    rows = assert_alike(monkeypatch, ["SELECT *, error_kind FROM npy_stats('m.npz') WHERE on_error = 'row'"])[0]
    assert [row[1] for row in rows if row[-2] is not None or row[-1] is not None] == ["m00", "m11", "m12", "m39"]
    assert len(rows) == 40


def test_two_cursors_in_one_archive_do_not_meet(folder, monkeypatch):
    rng = seeded_generator()
    members = many_members(rng, 12)
    (folder / "m.npz").write_bytes(npz_bytes(members, "deflate"))
    assert_alike(
        monkeypatch,
        [
            "SELECT a.name, b.name, sum(a.value), b.value FROM npy_rows('m.npz') a JOIN npy_rows('m.npz') b ON b.row = 0 "
            "WHERE a.row < 2 GROUP BY 1, 2",
            "SELECT s.name, count(*) FROM npy_stats('m.npz') s, npy_stats('m.npz') t WHERE s.mean < t.mean GROUP BY 1",
        ],
    )


def test_what_was_inflated_ahead_and_not_asked_for_is_not_counted(folder, monkeypatch):
    rng = seeded_generator()
    (folder / "m.npz").write_bytes(npz_bytes(many_members(rng), "deflate"))
    for sql in ("SELECT mean FROM npy_stats('m.npz') LIMIT 9", "SELECT count(value) FROM npy_rows('m.npz')"):
        counted = set()
        for nthreads in NTHREADS:
            db = connect_with(nthreads, monkeypatch)
            db.execute(sql).fetchall()
            now = counters(db)
            counted.add((now["bytes_inflated"], now["files_opened"]))
            db.close()
        assert len(counted) == 1, (sql, counted)


# --- files of a pattern --------------------------------------------------------------------------------------------


def put_many(folder, count=120):
    for i in range(count):
        (folder / f"f{i:03}.npy").write_bytes(npy_bytes(np.full(i + 1, float(i))))
    (folder / "f007.npy").write_bytes(b"")
    (folder / "f008.npy").write_bytes(b"no array at all")
    (folder / "f050.npy").write_bytes(npy_bytes(np.arange(5000.0))[:-8])
    (folder / "f051.npy").unlink()
    (folder / "f051.npy").mkdir()
    (folder / "f052.npy").unlink()
    (folder / "f052.npy").symlink_to("f000.npy")
    (folder / "f053.npy").unlink()
    (folder / "f053.npy").symlink_to("nowhere")


def test_a_pattern_gives_the_same_rows_faults_and_counts(folder, monkeypatch):
    put_many(folder)
    listed = json.dumps([f"{folder}/f{i:03}.npy" for i in range(60)])
    rows = assert_alike(
        monkeypatch,
        [
            "SELECT *, error_kind FROM npy_meta('*.npy')",
            "SELECT *, error_kind FROM npy_stats('*.npy')",
            "SELECT path, row, value FROM npy_rows('*.npy') WHERE row < 2 AND on_error = 'skip'",
            f"SELECT path, shape, error FROM npy_meta('{listed}')",
        ],
    )
    assert len(rows[0]) == 118 and sum(row[-1] is not None for row in rows[0]) == 3
    assert len(rows[3]) == 60 and sum(row[2] is not None for row in rows[3]) == 5
    counted = set()
    for nthreads in NTHREADS:
        db = connect_with(nthreads, monkeypatch)
        for sql in ("SELECT dtype FROM npy_meta('*.npy')", "SELECT dtype FROM npy_meta('*.npy') LIMIT 20"):
            db.execute(sql).fetchall()
        counted.add(tuple(counters(db).items()))
        db.close()
    assert len(counted) == 1, counted


def test_a_fifo_in_a_list_is_not_opened(folder, monkeypatch):
    put_many(folder)
    (folder / "f060.npy").unlink()
    os.mkfifo(folder / "f060.npy")
    paths = ", ".join(f'"f{i:03}.npy"' for i in range(55, 70))
    rows = assert_alike(monkeypatch, [f"SELECT path, error FROM npy_meta('[{paths}]')"])[0]
    assert [row[0] for row in rows if row[1]] == ["f060.npy"] and "a FIFO" in rows[5][1]


def test_few_descriptors_are_enough(folder, monkeypatch):
    put_many(folder)
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), 1000));"
        f"sys.path.insert(0, {shell.LIB!r}); import shell; db = shell.connect();"
        "print(len(db.execute(\"SELECT dtype FROM npy_meta('*.npy')\").fetchall()), "
        "len(db.execute(\"SELECT mean FROM npy_stats('*.npy')\").fetchall()))"
    )
    for most in (24, 30, 40, 60):
        for nthreads in NTHREADS:
            done = subprocess.run(
                [sys.executable, "-c", script, str(most)],
                capture_output=True,
                text=True,
                cwd=folder,
                env=dict(os.environ, NPYEXT_THREADS=nthreads),
            )
            assert done.stdout == "118 118\n", (most, nthreads, done.stdout, done.stderr)
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 60


# --- the number itself ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "shown"), [("1", 1), ("5", 5), ("16", 16), ("17", 16), ("999999999999999999999", 16)])
def test_the_number_of_threads(monkeypatch, text, shown):
    db = connect_with(text, monkeypatch)
    assert db.execute("SELECT npyext_debug() ->> 'threads', npyext_debug() ->> 'uses_one_thread'").fetchone() == (shown, int(shown == 1))


@pytest.mark.parametrize("text", ["", "0"])
def test_none_is_as_many_as_there_are_processors(monkeypatch, text):
    db = connect_with(text, monkeypatch)
    assert db.execute("SELECT npyext_debug() ->> 'threads'").fetchone()[0] == min(16, len(os.sched_getaffinity(0)))


@pytest.mark.parametrize("text", ["two", "-1", "1.5", " 1"])
def test_what_is_no_number_of_threads_is_refused(monkeypatch, text):
    with pytest.raises(Exception, match="NPYEXT_THREADS=.* is not a number of threads; give 1 to 16, or unset it"):
        connect_with(text, monkeypatch)


# --- a block's number is not where it lies -----------------------------------------------------------------


@pytest.mark.parametrize("slice", [":, 1:580001", "::2, :590000", "::-1, 3:599999"])
def test_a_statistic_of_rows_that_lie_apart_depended_on_the_number_of_threads(folder, monkeypatch, slice):
    rng = seeded_generator()
    array = rng.standard_normal((4, 600_001))  # rows so long that each comes as blocks of its own, and threads help
    array[2, 7:300] = np.nan
    np.save("apart.npy", array)
    few = np.round(array, 2)  # which threads count; of many different values, as in the last row, they count none
    few[3, ::4] = array[3, ::4]
    np.save("few.npy", few)
    np.save("labels.npy", np.array([1, 0, 1, 2]))
    np.save("query.npy", array[1])
    part = array[eval(f"np.s_[{slice}]")]
    of = f"'apart.npy', '', '{slice}'"
    columns = "count, nulls, min, max, mean, std, sum, argmin, argmax"
    whole, lines, *_ = assert_alike(monkeypatch, [
        f"SELECT {columns} FROM npy_stats({of})",
        f"SELECT {columns} FROM npy_stats({of}, 1)",
        f"SELECT {columns} FROM npy_stats({of}, '[0, 1]')",
        f"SELECT at, sum, argmin FROM npy_stats({of}, 0) LIMIT 1000",
        f"SELECT label, {columns} FROM npy_stats({of}) WHERE by = 'labels.npy'",
        f"SELECT * FROM npy_histogram({of}, 20)",
        f"SELECT * FROM npy_quantile({of})",
        f"SELECT count(*), sum(count), sum(first), max(first) FROM npy_unique('few.npy', '', '{slice}')",
        f"SELECT * FROM npy_compare('apart.npy', 'apart.npy', '', '{slice}')",
        f"SELECT count(*), min(idx), max(idx), total(value) FROM npy_elements({of}) WHERE value > 3",
        f"SELECT npy_sum(array), npy_argmax(array, 1), npy_std(array, 1) FROM (SELECT npy_slice(array, '{slice}') AS array FROM npy_file('apart.npy'))",
    ])
    for (count, nulls, least, greatest, mean, std, total, argmin, argmax), items in [(whole[0], part), *zip(lines, part)]:
        assert (count, nulls, least, greatest) == (np.isfinite(items).sum(), np.isnan(items).sum(), np.nanmin(items), np.nanmax(items))
        np.testing.assert_allclose([mean, std, total], [np.nanmean(items), np.nanstd(items), np.nansum(items)], rtol=1e-11)
    assert (array.ravel()[whole[0][7]], array.ravel()[whole[0][8]]) == (np.nanmin(part), np.nanmax(part))
    columns_of_file = np.arange(array.shape[1])[eval(f"np.s_[{slice}]")[1]]
    assert [line[8] for line in lines] == [columns_of_file[np.nanargmax(line)] for line in part]
