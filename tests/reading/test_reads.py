"""Nothing is read that is not needed: what npyext_counters() says of each function."""

import numpy as np

from arrays import npz_bytes, ten_bytes, write_sparse_npy
from expected import counters, since


def read_by(db, sql, *arguments):
    before = counters(db)
    rows = db.execute(sql, arguments).fetchall()
    return rows, since(db, before)


def test_the_counters(connect):
    names = {"bytes_read", "read_calls", "bytes_inflated", "files_opened", "cache_hits", "files_skipped"}
    assert names <= counters(connect()).keys()


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
