"""Files without a header, as numpy.memmap reads them: {"path": …, "dtype": …} as a source."""

import json
import os

import numpy as np
import pytest

import shell
from arrays import npy_bytes, random_array, seeded_generator
from expected import assert_same_data, counters, error_of
from one_file import compare, write, write_one


def raw(path, dtype, **more):
    return json.dumps({"path": path, "dtype": dtype, **more})


FILE_QUESTIONS = [
    "SELECT row, value, hex(data) FROM npy_rows({x})", "SELECT row, value FROM npy_rows({x}, '', '::-2, 1:')", "SELECT row, value FROM npy_rows({x}) WHERE row IN (0, 5, 99)",
    "SELECT idx, i0, i1, value FROM npy_elements({x}) WHERE value > 0", "SELECT a.row, b.value FROM npy_rows({x}) AS a JOIN npy_rows({y}) AS b USING (row)",
    "SELECT count, nulls, min, max, sum, argmax FROM npy_stats({x})", "SELECT at, count, min, max FROM npy_stats({x}, '', '', 0)", "SELECT q, value FROM npy_quantile({x}, '', '', 0.3)",
    "SELECT value, count, first FROM npy_unique({x})", "SELECT dtype, descr, ndim, shape, size, nbytes, fortran_order, format, error FROM npy_meta({x})",
    "SELECT npy_json(array), npy_shape(array), npy_sum(array), npy_get(array, 3, 2) FROM npy_file({x})", "SELECT npy_copy(npy_slice(array, '1::2')) FROM npy_file({x})",
    "SELECT status, differing FROM npy_compare({x}, 'one.npy')", "SELECT count(*) FROM npy_rows(npy_concat({x}))", "SELECT npy_json(npy_calc('a * 2', array)) FROM npy_file({x})",
]  # fmt: skip

def test_every_question_is_answered_as_of_a_npy(db, folder):
    array = np.random.default_rng(3).integers(-9, 9, (12, 4)).astype("f8")
    array[5, 2] = np.nan
    write_one(array)
    write("it.bin", b"head" + array.tobytes() + b"tail")
    compare(db, ":source", {"source": raw("it.bin", "<f8", shape=[12, 4], offset=4)}, FILE_QUESTIONS)


DTYPES = ["?", "i1", "<u2", ">u2", "<i8", "<f2", ">f4", "<c16", "S3", "<U2", "<M8[s]", "V5"]


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_shapes_and_orders(db, folder, dtype, order):
    array = random_array(seeded_generator(), dtype, (4, 3, 2), order)
    array.ravel("K").tofile("it.bin") if array.dtype.kind != "U" else write("it.bin", array.tobytes(order))
    want = np.memmap("it.bin", dtype, "r", 0, (4, 3, 2), order)
    for shape in ([4, 3, 2], [-1, 3, 2], [4, -1, 2]):
        (made,) = db.execute("SELECT npy_copy(array) FROM npy_file(?)", (raw("it.bin", dtype, shape=shape, order=order),)).fetchone()
        assert made == npy_bytes(np.array(want, order="K")), shape
    flat = np.memmap("it.bin", dtype, "r")
    ((shape,),) = db.execute("SELECT shape FROM npy_meta(?)", (raw("it.bin", dtype),)).fetchall()
    assert shape == f"[{flat.size}]"
    rows = [row[0] for row in db.execute("SELECT data FROM npy_rows(?)", (raw("it.bin", dtype),))]
    assert_same_data(b"".join(rows), np.array(flat), dtype)


def test_structured_dtypes(db, folder):
    array = np.array([(1, 2.5), (3, -1)], [("id", "<i4"), ("x", "<f8")])
    array.tofile("it.bin")
    for dtype in ([["id", "<i4"], ["x", "<f8"]], "[('id', '<i4'), ('x', '<f8')]"):
        assert db.execute("SELECT value ->> 'id', value ->> 'x' FROM npy_rows(?)", (raw("it.bin", dtype),)).fetchall() == [(1, 2.5), (3, -1.0)]


def test_parts_lists_and_their_paths(db, folder):
    for name in "ab":
        np.arange(100, dtype="<u2").tofile(f"{name}.bin")
    part = {"path": "a.bin", "dtype": "<u2", "offset": 20, "nbytes": 10}
    assert db.execute("SELECT value FROM npy_rows(?)", (json.dumps(part),)).fetchall() == [(n,) for n in range(10, 15)]
    assert db.execute("SELECT count(*) FROM npy_rows(?)", (raw("a.bin", "<u2", shape=7),)).fetchall() == [(7,)]
    both = json.dumps([part, {"path": "b.bin", "dtype": "u1"}, {"path": "b.bin", "dtype": "<u4", "shape": [2, -1]}])
    assert db.execute("SELECT path, shape, dtype FROM npy_meta(?)", (both,)).fetchall() == [("a.bin", "[5]", "uint16"), ("b.bin", "[200]", "uint8"), ("b.bin", "[2,25]", "uint32")]
    assert db.execute("SELECT DISTINCT path FROM npy_rows(?) WHERE path = 'a.bin'", (both,)).fetchall() == [("a.bin",)]
    assert db.execute("SELECT file_size, mtime IS NOT NULL, data_offset FROM npy_meta(?)", (raw("a.bin", "u1", nbytes=3, offset=9),)).fetchall() == [(200, 1, 9)]
    many = json.dumps([{"path": f"{'ab'[i % 2]}.bin", "dtype": "<u2", "offset": 2 * i, "nbytes": 2} for i in range(40)])
    assert [row[0] for row in db.execute("SELECT value FROM npy_rows(?)", (many,))] == list(range(40))
    assert db.execute("SELECT count(*), sum(value) FROM npy_rows(npy_concat(?))", (many,)).fetchall() == [(40, sum(range(40)))]


def test_only_what_is_wanted_is_read(db, folder):
    np.arange(1 << 22, dtype="<u2").tofile("train.bin")
    before = counters(db)
    assert db.execute("SELECT value FROM npy_rows(?) WHERE row = 3000000", (raw("train.bin", "<u2"),)).fetchall() == [(3000000 % 65536,)]
    assert db.execute("SELECT shape FROM npy_meta(?)", (raw("train.bin", "<u2", shape=[-1, 1024]),)).fetchall() == [("[4096,1024]",)]
    assert counters(db)["bytes_read"] - before["bytes_read"] < 10_000


NEEDS = "the items of a file without a header need the keys path and dtype"
REFUSED = {
    "an unknown key": ({"path": "x.bin", "dtype": "u1", "mode": "r"}, NEEDS),
    "a key twice": ('{"path": "x.bin", "dtype": "u1", "dtype": "u2"}', NEEDS),
    "no path": ({"dtype": "u1"}, NEEDS),
    "a negative offset": ({"path": "x.bin", "dtype": "u1", "offset": -1}, NEEDS),
    "a shape of texts": ({"path": "x.bin", "dtype": "u1", "shape": ["3"]}, "shape"),
    "an order that is none": ({"path": "x.bin", "dtype": "u1", "order": "K"}, "the order must be 'C' or 'F' (found 'K')"),
    "objects": ({"path": "x.bin", "dtype": "O"}, "object"),
    "no dtype": ({"path": "x.bin", "dtype": "x9"}, "x9"),
    "half an item": ({"path": "x.bin", "dtype": "<u4"}, "10 bytes are not a whole number of entries of the shape"),
    "half a row": ({"path": "x.bin", "dtype": "<u2", "shape": [-1, 2]}, "10 bytes are not a whole number of entries of the shape"),
    "two open lengths": ({"path": "x.bin", "dtype": "<u2", "shape": [-1, -1]}, "shape"),
    "a negative length": ({"path": "x.bin", "dtype": "<u2", "shape": [-2]}, "negative"),
    "too long": ({"path": "x.bin", "dtype": "<u2", "shape": [6]}, "truncated"),
    "2^63": ({"path": "x.bin", "dtype": "<u2", "shape": [2**40, 2**40]}, "2^63"),
    "2^63 and open": ({"path": "x.bin", "dtype": "<u2", "shape": [-1, 2**40, 2**40]}, "2^63"),
    "an offset beyond the end": ({"path": "x.bin", "dtype": "u1", "offset": 11}, "goes beyond the file, which has 10"),
    "bytes beyond the end": ({"path": "x.bin", "dtype": "u1", "offset": 4, "nbytes": 7}, "goes beyond the file, which has 10"),
    "items of no bytes": ({"path": "x.bin", "dtype": "S0"}, "not a whole number"),
    "no such file": ({"path": "y.bin", "dtype": "u1"}, "y.bin: no such file"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(db, folder, what):
    write("x.bin", bytes(range(10)))
    source, message = REFUSED[what]
    assert message in error_of(db, "SELECT * FROM npy_rows(?)", source if isinstance(source, str) else json.dumps(source))


def test_a_file_that_changed(db, folder):
    write("x.bin", bytes(range(10)))
    (handle,) = db.execute("SELECT array FROM npy_file(?)", (raw("x.bin", "u1"),)).fetchone()
    assert db.execute("SELECT npy_sum(?)", (handle,)).fetchone() == (45,)
    write("x.bin", bytes(range(20)))
    assert "changed" in error_of(db, "SELECT npy_sum(?)", handle)
    assert db.execute("SELECT sum FROM npy_stats(?)", (raw("x.bin", "u1"),)).fetchall() == [(190,)]


def test_an_empty_file(db, folder):
    write("x.bin", b"")
    assert db.execute("SELECT shape FROM npy_meta(?)", (raw("x.bin", "<f4", shape=[-1, 3]),)).fetchall() == [("[0,3]",)]


def test_who_may_not_open_it(folder, monkeypatch):
    """It is a path like any other."""
    write("in/x.bin", bytes(range(10)))
    blob = shell.connect(entry_point="sqlite3_npyext_blob_init")
    assert "names a file, and npyext was loaded by sqlite3_npyext_blob_init" in error_of(blob, "SELECT * FROM npy_rows(?)", raw("in/x.bin", "u1"))
    (handle,) = shell.connect().execute("SELECT array FROM npy_file(?)", (raw("in/x.bin", "u1"),)).fetchone()
    assert "a handle names a file, and npyext was loaded by" in error_of(blob, "SELECT npy_sum(?)", handle)
    monkeypatch.setenv("NPYEXT_ROOT", os.path.abspath("in"))
    rooted = shell.connect()
    assert rooted.execute("SELECT sum FROM npy_stats(?)", (raw("x.bin", "u1"),)).fetchall() == [(45,)]
    write("y.bin", b"abc")
    for path in ("../y.bin", os.path.abspath("y.bin")):
        assert "leads out of" in error_of(rooted, "SELECT * FROM npy_rows(?)", raw(path, "u1"))
