"""Archives beyond 4 GiB: `make check-big`."""

import io
import os
import subprocess
import zipfile

import numpy as np

import shell
from arrays import write_sparse_npy

NELEM = 9 << 26
PIECE = 1 << 20


def read_counted(file, nelem):
    """An array of zeros but for the number of each piece at its start."""
    assert np.lib.format.read_magic(file) == (1, 0)
    assert np.lib.format.read_array_header_1_0(file) == ((nelem,), False, np.dtype("<i8"))
    for i in range(-(-nelem // PIECE)):
        items = np.frombuffer(file.read(8 * min(PIECE, nelem - i * PIECE)), "<i8")
        assert items[0] == i and not items[1:].any()
    assert file.read(1) == b""


def test_members_and_offsets_beyond_4_gib(connect, tmp_path, patience_for):
    patience_for(1800)
    path, db = str(tmp_path / "big.npz"), connect()
    subprocess.run([os.path.join(shell.BUILD, "unit", "big_archive_write"), path], check=True)
    sizes = {"stored": NELEM, "after": 3, "deflated": NELEM, "last": 5}
    with zipfile.ZipFile(path) as zipped:
        infos = zipped.infolist()
        assert [info.filename for info in infos] == [f"{name}.npy" for name in sizes]
        assert [info.file_size for info in infos] == [128 + 8 * nelem for nelem in sizes.values()]
        assert infos[1].header_offset > 2**32
        for name, nelem in sizes.items():
            with zipped.open(f"{name}.npy") as member:  # which checks the CRC
                read_counted(member, nelem)
    shown = db.execute("SELECT name, uncompressed_size, method FROM npz_members(?)", (path,)).fetchall()
    methods = ["stored", "stored", "deflate", "deflate"]
    assert shown == [(name, 128 + 8 * n, method) for (name, n), method in zip(sizes.items(), methods)]
    for name, nelem in sizes.items():
        last = nelem - nelem % PIECE if nelem % PIECE else nelem - PIECE
        sql = "SELECT value FROM npy_rows(?, ?) WHERE row = ?"
        assert db.execute(sql, (path, name, last)).fetchone() == (last // PIECE,)
    assert db.execute("SELECT sum FROM npy_stats(?, 'deflated')", (path,)).fetchone() == (sum(range(NELEM // PIECE)),)


def test_a_blob_of_an_array_beyond_4_gib(connect, tmp_path, patience_for):
    patience_for(1800)
    db = connect()
    write_sparse_npy(tmp_path / "x.npy", (NELEM,), "<i8")
    write_sparse_npy(tmp_path / "y.npy", (3,), "<i8")
    sql = "SELECT npz_archive(substr(path, -5, 1), array, 'deflate:1') FROM npy_file(?)"
    ((archived,),) = db.execute(sql, (str(tmp_path / "?.npy"),)).fetchall()
    with zipfile.ZipFile(io.BytesIO(archived)) as zipped:
        assert [info.file_size for info in zipped.infolist()] == [128 + 8 * NELEM, 128 + 24]
        assert zipped.testzip() is None
