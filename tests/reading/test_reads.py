"""Nothing is read that is not needed: what npyext_counters() says of each function."""

import json
import sqlite3

import numpy as np
import pytest

import shell
from arrays import npy_bytes, npz_bytes, seeded_generator, ten_bytes, write_sparse_npy
from expected import counters, error_of, since
from tars import gzipped, tar_of


def read_by(db, sql, *arguments):
    before = counters(db)
    rows = db.execute(sql, arguments).fetchall()
    return rows, since(db, before)


def test_the_counters(connect):
    names = {"bytes_read", "read_calls", "bytes_inflated", "files_opened", "cache_hits", "files_skipped"}
    assert names <= counters(connect()).keys()


def counters_of_process(db):
    return json.loads(db.execute("SELECT npyext_counters('process')").fetchone()[0])


def test_the_counters_of_the_process_are_sums(connect, tmp_path):
    """Over all connections, closed ones too, and the same whichever is asked."""
    for i in range(5):
        (tmp_path / f"{i}.npy").write_bytes(npy_bytes(np.arange(1000.0) + i))
    (tmp_path / "5.npy").write_bytes(b"no array")
    path, first, second, closed = str(tmp_path / "*.npy"), connect(), connect(), shell.connect()
    before, own = counters_of_process(first), [counters(db) for db in (first, second, closed)]
    statements = (
        "SELECT sum(value) FROM npy_rows(?) WHERE on_error = 'skip'",
        "SELECT sum(npy_get(array, 5)) FROM npy_file(?) WHERE on_error = 'skip'",
        "SELECT count(*) FROM npy_stats(?) WHERE on_error = 'skip'",
    )
    for db in (first, second, closed):
        for sql in statements:
            db.execute(sql, (path,)).fetchall()
    spent = [since(db, begun) for db, begun in zip((first, second, closed), own)]
    expected = {name: before[name] + sum(each[name] for each in spent) for name in before}
    assert spent[0]["files_opened"] >= 6 and spent[0]["files_skipped"] == 3
    assert counters_of_process(first) == expected == counters_of_process(second)
    closed.close()
    assert counters_of_process(connect()) == expected
    # A handle, in a statement that no cursor of a table function ends.
    first.execute("CREATE TEMP TABLE handles AS SELECT array FROM npy_file(?)", (str(tmp_path / "0.npy"),))
    before, own = counters_of_process(second), counters(first)
    assert first.execute("SELECT npy_get(array, 900) FROM handles").fetchone() == (900.0,)
    read = since(first, own)["bytes_read"]
    assert read > 0 and counters_of_process(second)["bytes_read"] - before["bytes_read"] == read


@pytest.mark.parametrize("sql", ["SELECT max FROM npy_stats(?)", "SELECT count(*) FROM npy_rows(?) WHERE value > 1", "SELECT sum(value) FROM npy_elements(?)"])
def test_the_counters_of_the_process_grow_while_a_statement_runs(connect, tmp_path, sql):
    """Another connection tells them, in the running one's progress handler, too."""
    path, running, asked, seen = tmp_path / "endless.npy", connect(), connect(), []
    write_sparse_npy(path, (20_000_000_000,))
    before = counters_of_process(asked)

    def look():
        now = counters_of_process(asked)
        seen.append((now["files_opened"] - before["files_opened"], now["bytes_read"] - before["bytes_read"]))
        return len(set(seen)) > 2 or len(seen) > 2000

    running.set_progress_handler(look, 1000)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        running.execute(sql, (str(path),)).fetchall()
    assert seen == sorted(seen) and len(set(seen)) > 1 and seen[-1][0] == 1


def test_what_else_the_counters_are_asked_for_is_an_error(connect):
    db = connect()
    for wrong in ("", "connection", "Process", "process\0", None, 1, b"process"):
        text = error_of(db, "SELECT npyext_counters(?)", wrong)
        assert text == "npyext: npyext_counters: the argument must be 'process' (for the sums over all connections), or left out"
    db = connect(entry_point="sqlite3_npyext_blob_init")
    assert "which reveals nothing about files" in error_of(db, "SELECT npyext_counters('process')")


def test_a_limit_reads_little_of_a_big_file(connect, tmp_path):
    path, db = tmp_path / "big.npy", connect()
    write_sparse_npy(path, (50_000_000,))
    for sql in (
        "SELECT value FROM npy_rows(?) LIMIT 10",
        "SELECT data FROM npy_rows(?) LIMIT 10 OFFSET 3",
    ):
        rows, read = read_by(db, sql, str(path))
        assert len(rows) == 10
        assert 0 < read["bytes_read"] <= 65536, sql
    # A cursor that is left early has not read ahead without bound either.
    before = counters(db)
    assert db.execute("SELECT value FROM npy_rows(?)", (str(path),)).fetchone() == (0.0,)
    assert since(db, before)["bytes_read"] <= 65536


def test_metadata_reads_headers_only(connect, tmp_path):
    for i in range(20):
        write_sparse_npy(tmp_path / f"{i}.npy", (10_000_000,))
    db = connect()
    rows, read = read_by(db, "SELECT * FROM npy_meta(?)", str(tmp_path / "*.npy"))
    assert len(rows) == 20 and all(row[-1] is None for row in rows)
    assert (read["files_opened"], read["bytes_inflated"]) == (20, 0)
    assert 20 * 128 <= read["bytes_read"] <= 20 * 4096


def test_members_read_the_central_directory_only(connect, tmp_path):
    rng, path, db = np.random.default_rng(1), tmp_path / "big.npz", connect()
    path.write_bytes(npz_bytes({f"layer{i}": rng.random(200_000) for i in range(8)}, "deflate"))
    rows, read = read_by(db, "SELECT name, method, compressed_size, crc32, modified FROM npz_members(?)", str(path))
    assert len(rows) == 8 and read["bytes_inflated"] == 0
    assert read["bytes_read"] <= 8192
    rows, read = read_by(db, "SELECT name, dtype, shape FROM npz_members(?)", str(path))
    assert [row[1:] for row in rows] == [("float64", "[200000]")] * 8
    assert 0 < read["bytes_inflated"] <= 8 * 16384
    assert read["bytes_read"] <= 4 * 65536 + 8 * 16384


def test_tens_skip_the_data(connect, tmp_path):
    path, db = tmp_path / "big.ten", connect()
    path.write_bytes(ten_bytes([np.zeros(1_000_000) for _ in range(5)]))
    for function in ("ten_arrays", "npy_meta"):
        rows, read = read_by(db, f"SELECT * FROM {function}(?)", str(path))
        assert len(rows) == 5 and read["bytes_read"] <= 65536


@pytest.mark.parametrize("order", "CF")
def test_look_ups_in_the_only_member_of_an_archive_inflate_it_a_few_times(connect, tmp_path, order):
    """Each took a pass through it, as if there were other arrays to come to: 0.5 ms, or 8 in Fortran order."""
    path, array = str(tmp_path / "x.npz"), seeded_generator().normal(size=(300, 500))
    np.savez_compressed(path, x=np.asarray(array, order=order))
    places = list(range(7, array.size, 701))
    db = connect()
    db.execute("CREATE TABLE wanted(place)")
    db.executemany("INSERT INTO wanted VALUES (?)", [(place,) for place in places])
    rows, read = read_by(db, "SELECT e.value FROM wanted CROSS JOIN npy_elements(?) AS e ON e.idx = place", path)
    assert rows == [(array.flat[place],) for place in places]
    assert read["bytes_inflated"] < 8 * array.nbytes


def test_look_ups_in_order_are_read_in_blocks(connect, tmp_path):
    path, n = str(tmp_path / "x.npy"), 20_000
    write_sparse_npy(path, (2_000_000,))  # more than is held in memory
    counted = "WITH RECURSIVE n(i) AS (SELECT 5 UNION ALL SELECT i + ? FROM n LIMIT ?) SELECT count(r.value) FROM n CROSS JOIN npy_rows(?) AS r ON r.row = i"
    rows, read = read_by(connect(), counted, 1, n, path)
    assert rows == [(n,)] and read["read_calls"] < n / 10
    rows, read = read_by(connect(), counted, 7, 1000, path)
    assert rows == [(1000,)] and read["bytes_read"] < 1000 * 8 + 1000


# --- tars --------------------------------------------------------------------------------------------------

BLOCK = 512
WINDOW = 1 << 16  # what is read at once where headers lie near each other
TAIL = 10240  # the zeros at the end, as tarfile writes them; whether they are zeros is looked at


def test_a_list_of_large_members_reads_headers_only(connect, tmp_path):
    """One read for each: its header and, with it, the first bytes of its data."""
    path, n = tmp_path / "x.tar", 40
    path.write_bytes(tar_of([(f"{i:03}.npy", npy_bytes(np.zeros(20_000 + i))) for i in range(n)]))
    for sql in ("SELECT name, size, key FROM tar_members(?)", "SELECT name, shape FROM npy_meta(?)", "SELECT count(*) FROM npy_rows(?)"):
        _, read = read_by(connect(), sql, str(path))
        assert read["read_calls"] <= n + 3 or shell.MAPPED, sql
        assert n * BLOCK <= read["bytes_read"] <= n * 2 * BLOCK + WINDOW + TAIL, sql
    rows, read = read_by(connect(), "SELECT length(data) FROM tar_members(?) WHERE idx = 20", str(path))
    assert rows == [(128 + 8 * 20_020,)] and read["bytes_read"] <= n * 2 * BLOCK + WINDOW + TAIL + rows[0][0]


def test_a_list_of_small_members_reads_the_file_once(connect, tmp_path):
    path, n = tmp_path / "x.tar", 3000
    path.write_bytes(tar_of([(f"{i:05}.{ext}", contents) for i in range(n // 2) for ext, contents in (("npy", npy_bytes(np.arange(i % 9))), ("cls", b"7"))]))
    nbytes = path.stat().st_size
    for sql in ("SELECT name, size, sample FROM tar_members(?)", "SELECT name, shape FROM npy_meta(?)", "SELECT count(*) FROM npy_rows(?)"):
        _, read = read_by(connect(), sql, str(path))
        assert read["files_opened"] == 1 and nbytes - WINDOW < read["bytes_read"] <= nbytes + BLOCK + TAIL, sql
        assert read["read_calls"] <= nbytes / WINDOW + 4, sql
    # With the data, too: where a member reaches into the next window, its window begins with its header.
    _, read = read_by(connect(), "SELECT name, data FROM tar_members(?)", str(path))
    assert read["bytes_read"] <= 2 * nbytes


def test_a_look_up_in_a_tar_that_was_listed_is_one_read(connect, tmp_path):
    path, n, db = tmp_path / "x.tar", 2000, connect()
    path.write_bytes(tar_of([(f"{i:05}.npy", npy_bytes(np.arange(i, i + 1000))) for i in range(n)]))
    db.execute("SELECT count(*) FROM npy_rows(?)", (str(path),)).fetchall()
    for i in (n - 1, 0, 1000):
        for member in (i, f"{i:05}", f"{i:05}.npy"):
            rows, read = read_by(db, "SELECT value FROM npy_rows(?, ?) WHERE row = 7", str(path), member)
            assert rows == [(i + 7,)]
            assert read["bytes_read"] <= 128 + 8000 and (read["read_calls"] <= 1 or shell.MAPPED) and not read["files_opened"]
    # All of it.
    rows, read = read_by(db, "SELECT sum(value) FROM npy_rows(?, '00005')", str(path))
    assert rows == [(sum(range(5, 1005)),)] and read["bytes_read"] <= BLOCK + 8000


def test_a_look_up_by_an_index_of_ranges_reads_a_header_and_a_row(connect, tmp_path):
    path, n, db = tmp_path / "x.tar", 2000, connect()
    path.write_bytes(tar_of([(f"{i:05}.{ext}", contents) for i in range(n) for ext, contents in (("npy", npy_bytes(np.arange(i, i + 1000))), ("cls", b"7"))]))
    db.execute("CREATE TABLE shard AS SELECT path, name, data_offset, size FROM tar_members(?) WHERE ext = 'npy'", (str(path),))
    sql = """SELECT r.value FROM shard AS s JOIN npy_rows(json_object('path', s.path, 'offset', s.data_offset, 'nbytes', s.size)) AS r
        WHERE s.name = ? AND r.row = 7"""
    for _ in range(2):
        rows, read = read_by(db, sql, "01234.npy")
        assert rows == [(1241,)]
        assert read["bytes_read"] <= BLOCK + 8 and (read["read_calls"] <= 2 or shell.MAPPED) and read["files_opened"] <= 1
    rows, read = read_by(db, sql.replace("r.row = 7", "r.row >= 0").replace("r.value", "sum(r.value)"), "01999.npy")
    assert rows == [(sum(range(1999, 2999)),)] and read["bytes_read"] <= BLOCK + 8000


def test_a_second_look_up_in_a_compressed_tar_inflates_from_a_checkpoint(connect, tmp_path):
    """These are at least 256 KiB apart, or a deflate block. What was read last is there without any."""
    rng, path, n, db = seeded_generator(), tmp_path / "x.tar.gz", 400, connect()
    arrays = rng.integers(0, 9, (n, 5000), "i4")
    contents = tar_of([(f"{i:05}.npy", npy_bytes(array)) for i, array in enumerate(arrays)])
    path.write_bytes(gzipped(contents, [len(contents) // 2]))
    rows, read = read_by(db, "SELECT value FROM npy_rows(?, ?) WHERE row = 7", str(path), n // 2)
    assert rows == [(int(arrays[n // 2][7]),)] and read["bytes_inflated"] < 0.6 * len(contents)
    rows, read = read_by(db, "SELECT value FROM npy_rows(?, ?) WHERE row = 7", str(path), f"{n - 1:05}")
    assert read["bytes_inflated"] < 0.6 * len(contents)
    for i in [0, n - 2, *map(int, rng.integers(0, n, 10))]:
        rows, read = read_by(db, "SELECT value FROM npy_rows(?, ?) WHERE row = 7", str(path), i)
        assert rows == [(int(arrays[i][7]),)]
        assert read["bytes_inflated"] < 1 << 19 and read["bytes_read"] < 1 << 19, i
    rows, read = read_by(db, "SELECT value FROM npy_rows(?, ?) WHERE row = 8", str(path), i)
    assert rows == [(int(arrays[i][8]),)] and read["bytes_inflated"] < 1 << 16
    # A list inflates all of it once.
    _, read = read_by(connect(), "SELECT count(*) FROM tar_members(?)", str(path))
    assert read["bytes_inflated"] == len(contents)
