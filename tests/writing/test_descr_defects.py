"""Defects of the headers that are written, each named for what went wrong. NumPy writes the header to compare with."""

import io
import sys
import unicodedata
import warnings

import numpy as np
import pytest


def saved(array):
    """What numpy.save writes, without its word on version 3.0."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.save(file, array)
    return file.getvalue()


def written(db, dtype, descr=None):
    items = np.zeros(1, dtype)
    return db.execute("SELECT npy_from_data(?, ?, '[1]')", (items.tobytes(), descr or repr(dtype.descr))).fetchone()[0]


def test_many_of_the_generic_unit_were_another_dtype_than_what_is_written(connect):
    """NumPy writes and prints `<m8` for each."""
    db = connect()
    for dtype in ("m8[10generic]", "M8[7generic]"):
        assert written(db, np.dtype(dtype), dtype) == saved(np.zeros(1, dtype))
        sql = "SELECT status FROM npy_compare(npy_from_data(zeroblob(8), ?, '[1]'), npy_from_data(zeroblob(8), ?, '[1]'))"
        assert db.execute(sql, (dtype, dtype[:2])).fetchone() == ("equal",)


@pytest.mark.parametrize(
    "descr",
    [
        [("c", ("<f8", (5,)), (2,))],
        [("c", (("<f8", (5,)), (2,)), (3, 4))],
        [("c", [("a", ("<f8", (5,)), (2,)), ("b", "|S3")], (2,))],
        [("c", ("<f4", (1,)), (2,))],
        [("c", ("<f4", ()), (2,))],
    ],
)
def test_nested_subarrays_were_written_as_one(connect, descr):
    dtype = np.dtype(descr)
    assert written(connect(), dtype, repr(descr)) == saved(np.zeros(1, dtype))


def test_nested_subarrays_of_a_file_that_is_added_to(connect, tmp_path):
    """The header that COMMIT writes over the old one is NumPy's, too."""
    path, dtype = tmp_path / "x.npy", np.dtype([("c", ("<f8", (5,)), (2,))])
    np.save(path, np.zeros(1, dtype))
    db = connect()
    db.execute(f"CREATE VIRTUAL TABLE temp.t USING npy('{path}', mode='a')")
    db.execute("INSERT INTO t VALUES (json('[[1,2,3,4,5],[6,7,8,9,10]]'))")
    want = np.zeros(2, dtype)
    want["c"][1] = np.arange(1.0, 11).reshape(2, 5)
    assert path.read_bytes() == saved(want)


@pytest.mark.parametrize(
    "name", ["\u00e9\x01\u200b\ud7ff", "a\x7fb\u00a0\u00ad", "\U000e0001", "\u2028\u3000x", "'\"\\\x85", "\U0001f600\x1f"]
)
def test_names_that_do_not_print_were_written_as_they_are(connect, name):
    dtype = np.dtype([(name, "<f4")])
    assert written(connect(), dtype, repr([(name, "<f4")])) == saved(np.zeros(1, dtype))


def test_what_prints_is_what_python_prints(connect):
    """Every character, a thousand to a name; surrogates are no characters, and those that Unicode has assigned since
    this Python was made are escaped by Python alone."""
    db = connect()
    compared = 0
    for start in range(1, sys.maxunicode, 1000):
        known = [chr(c) for c in range(start, min(start + 1000, sys.maxunicode + 1)) if not 0xD800 <= c < 0xE000]
        known = [c for c in known if unicodedata.category(c) not in ("Cn", "Cs")]
        if known:
            dtype = np.dtype([("".join(known), "|u1")])
            assert written(db, dtype, repr(dtype.descr)) == saved(np.zeros(1, dtype)), hex(start)
            compared += len(known)
    assert compared > 250000


def test_titles_that_are_ints_were_refused(connect):
    descr = [((17, "a"), "<f4"), (("t", "b"), "<f4")]
    db, dtype = connect(), np.dtype(descr)
    (fields,) = db.execute("SELECT fields ->> '$[0].title' FROM npy_meta(?)", (saved(np.zeros(1, dtype)),)).fetchone()
    assert fields == "17"
    assert written(db, dtype, repr(descr)) == saved(np.zeros(1, dtype))
