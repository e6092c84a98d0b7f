"""Sizes at which reading takes another path (src/base/tunables.h): each test fails where the path after one of them is
broken. What is read here is long enough for the build that has every size at its least (`make check-small`); what the
released sizes need is tested where it belongs.
"""

import json
import os
import sqlite3

import numpy as np
import pytest

import shell
from arrays import npy_bytes, npz_bytes, seeded_generator, write_sparse_npy
from expected import counters, since
from tars import gzipped, tar_of

NARRAYS = 4


def few_bytes(rng, count=200_000):
    """Bytes that deflate makes a little smaller: a block of it ends after every 16383 of them."""
    return rng.integers(0, 50, count).astype("u1")


def rows_in_any_order(rng, nrows, n):
    """Small steps either way, and jumps."""
    row = 0
    for _ in range(n):
        row = int(rng.integers(nrows)) if rng.integers(8) == 0 else int(np.clip(row + rng.integers(-20, 30), 0, nrows - 1))
        yield row


# --- what inflates -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gz", "npz"])
def test_look_ups_in_several_compressed_arrays_at_a_time(db, folder, kind):
    """More places to go on from than one array or all of them keep, and steps back to what was read just now."""
    rng = seeded_generator()
    arrays = [few_bytes(rng) for _ in range(NARRAYS)]
    if kind == "gz":
        for i, array in enumerate(arrays):
            (folder / f"a{i}").write_bytes(gzipped(tar_of([("a.npy", npy_bytes(array))])))
    else:
        (folder / "a").write_bytes(npz_bytes({f"a{i}": array for i, array in enumerate(arrays)}, "deflate"))
    sources = [f"npy_rows('a{i}')" if kind == "gz" else f"npy_rows('a', 'a{i}')" for i in range(NARRAYS)]
    wanted = np.array([list(rows_in_any_order(rng, len(arrays[0]), 80)) for _ in arrays]).T
    got = db.execute(
        f"SELECT {', '.join(f'r{i}.value' for i in range(NARRAYS))} FROM json_each(?) w "
        + " ".join(f"CROSS JOIN {source} r{i}" for i, source in enumerate(sources))
        + " WHERE "
        + " AND ".join(f"r{i}.row = w.value ->> {i}" for i in range(NARRAYS)),
        [json.dumps(wanted.tolist())],
    ).fetchall()
    assert got == [tuple(int(array[row]) for array, row in zip(arrays, rows)) for rows in wanted]


def test_steps_back_in_a_compressed_tar(db, folder):
    """To what was inflated just now, of which more was kept than is kept at a time."""
    rng = seeded_generator()
    array = rng.integers(0, 1000, 3000)
    (folder / "a").write_bytes(gzipped(tar_of([("a.npy", npy_bytes(array))])))
    rows = []
    for first in range(10, 2900, 29):
        last = first + int(rng.integers(5, 40))
        rows += [*range(first, last), last - 1 - int(rng.integers(5, 10))]
    got = db.execute("SELECT r.value FROM json_each(?) w CROSS JOIN npy_rows('a') r WHERE r.row = w.value", [json.dumps(rows)]).fetchall()
    assert [value for (value,) in got] == array[rows].tolist()


@pytest.mark.parametrize("kind", ["gz", "npz"])
def test_rows_that_lie_apart_in_a_compressed_array(db, folder, kind):
    """Several passes through it, a panel of rows from each."""
    array = np.asfortranarray(seeded_generator().integers(0, 1000, (3000, 20)).astype("f8"))
    if kind == "gz":
        (folder / "a").write_bytes(gzipped(tar_of([("a.npy", npy_bytes(array))])))
    else:
        (folder / "a").write_bytes(npz_bytes({"a": array}, "deflate"))
    rows = db.execute("SELECT data FROM npy_rows('a') ORDER BY row").fetchall()
    assert b"".join(data for (data,) in rows) == array.tobytes()


def test_deflated_members_are_read_by_other_threads_in_whole(folder, monkeypatch):
    """Else the caller inflates them once more, and reads each in pieces."""
    rng = seeded_generator()
    arrays = {f"a{i}": rng.integers(0, 256, 300_000, dtype="u1") for i in range(12)}
    (folder / "a.npz").write_bytes(npz_bytes(arrays, "deflate"))
    monkeypatch.setenv("NPYEXT_THREADS", "3")
    db = shell.connect()
    before = counters(db)
    assert db.execute("SELECT sum FROM npy_stats('a.npz')").fetchall() == [(int(array.sum()),) for array in arrays.values()]
    assert since(db, before)["read_calls"] <= 5 * len(arrays)
    db.close()


# --- a file ------------------------------------------------------------------------------------------------


def test_a_file_that_changes_under_a_scan_is_noticed_before_its_end(db, folder):
    (folder / "a.npy").write_bytes(npy_bytes(np.arange(1 << 20, dtype="f8")))
    rows = db.execute("SELECT row FROM npy_rows('a.npy') WHERE value >= 0")
    assert next(rows) == (0,)
    with open("a.npy", "ab") as file:
        file.write(b"more")
    with pytest.raises(sqlite3.Error, match="the file changed while it was read"):
        for (row,) in rows:
            assert row < 1 << 18, "2 MiB further on"


def test_runs_far_apart_are_read_several_at_a_time(db, folder):
    """Of a few items of each long row, more rows than are copied together."""
    array = seeded_generator().integers(0, 1000, (100, 2000))
    np.save("a.npy", array)
    rows = db.execute("SELECT value FROM npy_rows('a.npy') WHERE slice = ':, 700:703' ORDER BY row").fetchall()
    assert [json.loads(value) for (value,) in rows] == array[:, 700:703].tolist()


@pytest.mark.parametrize("order", "CF")
def test_elements_from_the_middle_of_a_large_array_on(db, folder, order):
    """Rows longer than are read at a time, of an array of three axes that lie in another order."""
    array = np.array(seeded_generator().integers(0, 1000, (7, 5, 700)), order=order)
    np.save("a.npy", array)
    places = np.arange(array.size).reshape(array.shape)[:, ::2].ravel()
    for first in (1, 699, 700, 1400, 3499, 3500, 7001, 20_000, 24_499):
        got = db.execute("SELECT idx, value FROM npy_elements('a.npy', '', ':, ::2') WHERE idx >= ? LIMIT 900", [first]).fetchall()
        wanted = places[places >= first][:900]
        assert got == list(zip(wanted.tolist(), array.ravel()[wanted].tolist())), first


# The items of ?2, or of a table t of it, that the list ?1 names.
LOOK_UPS = [
    "SELECT r.value FROM json_each(?1) w CROSS JOIN npy_rows(?2) r WHERE r.row = w.value",
    "SELECT r.value FROM json_each(?1) w CROSS JOIN npy_elements(?2) r WHERE r.idx = w.value",
    "SELECT npy_get(array, w.value) FROM npy_file(?2) CROSS JOIN json_each(?1) w",
    "SELECT r.value FROM json_each(?1) w CROSS JOIN t r WHERE r.rowid = w.value AND ?2 IS NOT NULL",
]


@pytest.mark.parametrize("n", [8, 2000])
@pytest.mark.parametrize("container", ["npy", "stored", "deflate"])
def test_small_arrays_are_looked_up_in_memory(db, folder, n, container):
    """After a few lookups, by every way there is."""
    rng = seeded_generator()
    array = rng.integers(0, 1000, n)
    path = str(folder / "a")
    (folder / "a").write_bytes(npy_bytes(array) if container == "npy" else npz_bytes({"a": array}, container))
    member = "" if container == "npy" else ", member='a'"
    db.execute(f"CREATE VIRTUAL TABLE temp.t USING npy('{path}'{member})")
    rows = rng.integers(0, n, 40).tolist()
    wanted = array[rows].tolist()
    for sql in LOOK_UPS:
        got = db.execute(sql, [json.dumps(rows), path]).fetchall()
        assert [value for (value,) in got] == wanted, sql


@pytest.mark.parametrize("places", [("npy_rows", "row"), ("npy_elements", "idx")])
def test_look_ups_convert_no_item_that_is_not_asked_for(db, folder, places):
    """However many there are: with astype an array is not held as a whole."""
    array = np.arange(8.0)
    array[1] = np.inf
    np.save("a.npy", array)
    rows = [0, 2, 3, 4, 5, 6, 7, 7, 3, 0]
    function, place = places
    got = db.execute(
        f"SELECT r.value FROM json_each(?) w CROSS JOIN {function}('a.npy') r WHERE r.astype = 'i8' AND r.{place} = w.value", [json.dumps(rows)]
    ).fetchall()
    assert got == [(row,) for row in rows]


@pytest.mark.parametrize("container", ["npy", "stored"])
def test_large_arrays_are_not_read_as_a_whole_for_some_look_ups(db, folder, container):
    rng = seeded_generator()
    array = rng.integers(0, 1000, (10 << 20) // 8)
    path = str(folder / "a")
    (folder / "a").write_bytes(npy_bytes(array) if container == "npy" else npz_bytes({"a": array}, container))
    member = "" if container == "npy" else ", member='a'"
    db.execute(f"CREATE VIRTUAL TABLE temp.t USING npy('{path}'{member})")
    rows = rng.integers(0, len(array), 30).tolist()
    for sql in LOOK_UPS:
        before = counters(db)
        got = db.execute(sql, [json.dumps(rows), path]).fetchall()
        assert [value for (value,) in got] == array[rows].tolist(), sql
        assert since(db, before)["bytes_read"] < 2 << 20, sql


def test_small_arrays_are_read_once_for_many_look_ups(db, folder):
    array = seeded_generator().integers(0, 1000, 20_000)
    np.save("a.npy", array)
    db.execute("CREATE VIRTUAL TABLE temp.t USING npy('a.npy')")
    rows = list(range(0, len(array), 61))
    for sql in LOOK_UPS:
        before = counters(db)
        got = db.execute(sql, [json.dumps(rows), "a.npy"]).fetchall()
        assert [value for (value,) in got] == array[rows].tolist(), sql
        assert since(db, before)["read_calls"] < 20, sql


def test_few_of_many_files_stay_open(db, folder):
    before = len(os.listdir("/proc/self/fd"))
    for i in range(60):
        np.save(f"{i}.npy", np.arange(i))
        assert db.execute("SELECT size FROM npy_meta(?)", (f"{i}.npy",)).fetchall() == [(i,)]
        assert db.execute("SELECT count(value) FROM npy_rows(?)", (f"{i}.npy",)).fetchall() == [(i,)]
    assert len(os.listdir("/proc/self/fd")) <= before + 20


@pytest.mark.parametrize("variant", ["stored", "deflate"])
def test_a_long_member_of_a_blob_is_copied_whole(db, variant):
    array = seeded_generator().integers(0, 1000, 200_000)
    contents = npz_bytes({"a": np.arange(3), "b": array}, variant)
    assert db.execute("SELECT array FROM npy_file(?, 'b')", (contents,)).fetchall() == [(npy_bytes(array),)]


def resident_nbytes():
    """Of files that are mapped."""
    with open("/proc/self/status") as status:
        return [int(line.split()[1]) << 10 for line in status if line.startswith("RssFile:")][0]


def test_a_scan_of_a_mapped_file_leaves_little_of_it_in_the_process(folder, monkeypatch):
    monkeypatch.setenv("NPYEXT_MMAP", "1")
    write_sparse_npy("a.npy", (4 << 20,))
    db = shell.connect()
    before = resident_nbytes()
    assert db.execute("SELECT count, sum FROM npy_stats('a.npy')").fetchall() == [(4 << 20, 0.0)]
    assert resident_nbytes() - before < 20 << 20
    db.close()
