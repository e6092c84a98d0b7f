"""What is read of files that are not as plain as numpy.save leaves them, and what an error says of other files."""

import io
import os
import pickle
import struct
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest

import shell
from arrays import npy_bytes, npz_bytes, ten_bytes
from expected import counters, error_of, rows_of, since
from formats import npy, ten_chunk, ten_header
from other_files import OTHERS, tar_bytes


def write(path, contents):
    with open(path, "wb") as file:
        file.write(contents)


# --- several arrays in one .npy ----------------------------------------------------------------------------

SEVERAL = [
    np.arange(5),
    np.ones((2, 3), "f4"),
    np.zeros((0, 7), "i2"),
    np.array("text"),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.array([(1, 2.5), (3, 4.5)], [("a", "i4"), ("b", "f8")]),
]


def saved(arrays):
    """As numpy.save documents it: "any data saved to the file is appended to the end of the file"."""
    out = io.BytesIO()
    for array in arrays:
        np.save(out, array)
    return out.getvalue()


@pytest.mark.parametrize("tail", [b"", b"bytes of nobody's", bytes(1000)])
def test_arrays_saved_one_after_the_other_are_all_there(connect, folder, tail):
    db, contents = connect(), saved(SEVERAL) + tail
    write("several.npy", contents)
    file, loaded = io.BytesIO(contents), []
    for _ in SEVERAL:
        loaded.append(np.load(file))
    for source in ("several.npy", contents):
        rows = db.execute("SELECT idx, name, shape, dtype, data_offset, error FROM npy_meta(?)", (source,)).fetchall()
        assert [row[:2] for row in rows] == [(i, "") for i in range(len(SEVERAL))]
        for (idx, _, shape, dtype, data_offset, error), array in zip(rows, loaded):
            assert (shape, dtype, error) == (str(list(array.shape)).replace(" ", ""), rows[idx][3], None)
            data = array.tobytes("F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C")
            assert contents[data_offset : data_offset + array.nbytes] == data
            got = db.execute("SELECT value FROM npy_rows(?, ?)", (source, idx)).fetchall()
            assert got == db.execute("SELECT value FROM npy_rows(?)", (npy_bytes(array),)).fetchall()
        assert db.execute("SELECT count(*) FROM npy_meta(?)", (source,)).fetchone() == (len(SEVERAL),)
        together = db.execute("SELECT value FROM npy_rows(?)", (source,)).fetchall()
        assert len(together) == sum(array.shape[0] if array.ndim else 1 for array in loaded)
        files = [row[0] for row in db.execute("SELECT npy_json(array) FROM npy_file(?)", (source,))]
        assert files == [db.execute("SELECT npy_json(?)", (npy_bytes(array),)).fetchone()[0] for array in loaded]
    assert db.execute("SELECT npy_json(npy_member(?, 1))", (contents,)).fetchone() == ("[[1.0,1.0,1.0],[1.0,1.0,1.0]]",)
    assert "there is no array number 6 (there are 6, from 0)" in error_of(db, "SELECT * FROM npy_rows('several.npy', 6)")
    assert "those of a .npy have no names" in error_of(db, "SELECT * FROM npy_rows('several.npy', 'a')")
    assert "contains several arrays" in error_of(db, "SELECT npy_json(?)", contents)
    db.execute("CREATE VIRTUAL TABLE temp.second USING npy('several.npy', member=1)")
    assert db.execute("SELECT count(*) FROM second").fetchone() == (2,)


def test_a_fault_in_a_later_array_of_a_npy_is_a_row_of_its_own(connect, folder):
    db = connect()
    write("x.npy", saved(SEVERAL[:2])[:-1])
    rows = db.execute("SELECT idx, shape, error FROM npy_meta('x.npy', 'row')").fetchall()
    assert rows[0] == (0, "[5]", None) and rows[1][:2] == (1, "[2,3]") and "data is truncated" in rows[1][2]
    assert len(rows) == 2
    write("y.npy", saved(SEVERAL[:1]) + b"\x93NUMPY\1\0\5\0{'a':")
    rows = db.execute("SELECT idx, shape, error FROM npy_meta('y.npy', 'row')").fetchall()
    assert rows[0] == (0, "[5]", None) and rows[1][:2] == (1, None) and "bad header" in rows[1][2]
    # A pickle does not say how long it is.
    objects = io.BytesIO()
    np.save(objects, np.array([{}]), allow_pickle=True)
    assert len(db.execute("SELECT * FROM npy_meta(?)", (objects.getvalue() + npy_bytes(np.arange(2)),)).fetchall()) == 1


def test_thousands_of_arrays_in_a_npy_are_each_near(connect, folder):
    db, n = connect(), 3000
    write("many.npy", saved([np.array([i, -i]) for i in range(n)]))
    before = counters(db)
    sql = "SELECT count(*), sum(r.value * (r.row = 0)) FROM npy_meta('many.npy') AS m JOIN npy_rows(m.path, m.idx) AS r"
    assert db.execute(sql).fetchone() == (2 * n, n * (n - 1) // 2)
    assert since(db, before)["read_calls"] <= 8 * n
    before = counters(db)
    assert db.execute("SELECT value FROM npy_rows('many.npy', 2999) WHERE row = 0").fetchone() == (2999,)
    for idx in (5, 2998, 300, 299):
        assert db.execute("SELECT value FROM npy_rows('many.npy', ?) WHERE row = 1", (idx,)).fetchone() == (-idx,)
    assert since(db, before)["read_calls"] <= n + 5 * 300


def test_a_survey_of_npy_files_reads_each_once(connect, folder):
    """That there is no second array its size tells."""
    db = connect()
    for i in range(20):
        write(f"{i}.npy", npy_bytes(np.arange(1000)))
    before = counters(db)
    assert len(db.execute("SELECT * FROM npy_meta('*.npy')").fetchall()) == 20
    assert since(db, before)["read_calls"] == 20
    for i in range(20):
        write(f"{i}.npy", npy_bytes(np.arange(1000)) + b"more")
    before = counters(db)
    assert len(db.execute("SELECT * FROM npy_meta('*.npy')").fetchall()) == 20
    assert since(db, before)["read_calls"] == 40


def test_rows_are_not_added_to_one_of_several_arrays(connect, folder):
    db, contents = connect(), saved(SEVERAL[:2])
    write("x.npy", contents)
    db.execute("CREATE VIRTUAL TABLE temp.o USING npy('x.npy', mode='a')")
    assert "another array begins where this one ends" in error_of(db, "INSERT INTO o VALUES (1)")
    with open("x.npy", "rb") as file:
        assert file.read() == contents


# --- .ten --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extra", [1, 4, 7, 12])
def test_a_ten_header_that_is_not_whole_words(connect, extra):
    """WebDataset's reader takes it for an array of int64, which fails."""
    db = connect()
    contents = ten_chunk(ten_header("i4", "", (3,)) + bytes(extra)) + ten_chunk(np.arange(3, dtype="i4").tobytes())
    with pytest.raises(ValueError):
        np.frombuffer(ten_header("i4", "", (3,)) + bytes(extra), "i8")
    assert f"has {32 + extra} bytes, which are not whole words of 8" in error_of(db, "SELECT * FROM ten_arrays(?)", contents)
    whole = ten_chunk(ten_header("i4", "", (3,)) + bytes(8)) + ten_chunk(np.arange(3, dtype="i4").tobytes())
    assert db.execute("SELECT value FROM npy_rows(?)", (whole,)).fetchall() == [(0,), (1,), (2,)]


# --- other files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", OTHERS)
def test_an_error_names_what_is_mistaken_for_an_array(connect, folder, what):
    db = connect()
    for contents in OTHERS[what]:
        write("x.npy", contents)
        error = error_of(db, "SELECT * FROM npy_meta('x.npy')")
        assert error == f"npyext: x.npy: is {what}, not a .npy, .npz, .ten, .tar, .safetensors, .pt, .pkl or .gguf file"
        assert error_of(db, "SELECT npy_dtype(?)", contents) == error.replace("x.npy", "BLOB")


def test_what_is_not_known_is_not_named(connect, folder):
    """Bytes that only look a little like another format."""
    db = connect()
    lies = [b"\x80\x02", b"\x80\x07]q\0.", b"ustar" * 120, bytes(512), b"BZh9" + bytes(20), struct.pack("<Q", 2**40) + b'{"a"', b"\x1f\x8b", b"ab\0\1"]
    lies.append(bytearray(tar_bytes())[:512])
    lies[-1][0] ^= 1  # the sum is wrong
    for contents in map(bytes, lies):
        write("x.npy", contents)
        error = error_of(db, "SELECT * FROM npy_meta('x.npy')")
        assert "none begins with the byte" in error or "plain text" in error and contents.isascii() and b"\0" not in contents, error


def torch_zip():
    """As torch.save writes it: a pickle and the storages beside it, aligned to 64 bytes."""
    return zip_of([("archive/data.pkl", pickle.dumps({"w": 1}, 2)), ("archive/data/0", bytes(16)), ("archive/version", b"3\n")])


def zip_of(entries):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, contents in entries:
            archive.writestr(name, contents)
    return out.getvalue()


# --- truncated ones, and their writers ---------------------------------------------------------------------


def test_a_truncated_blob_is_no_file(connect):
    db, array = connect(), npy_bytes(np.arange(6.0))
    for contents in (array[:-20], array[:60], ten_bytes([np.arange(6.0)])[:-70], npz_bytes({"a": np.arange(3)})[:90]):
        error = error_of(db, "SELECT * FROM npy_rows(?)", contents)
        assert "BLOB" in error and "truncated" in error
        assert "file has" not in error and "just now" not in error


def test_a_file_that_is_being_written_says_so(connect, folder):
    db = connect()
    for name, contents in (("x.npy", npy_bytes(np.arange(600.0))[:-20]), ("x.npz", npz_bytes({"a": np.arange(3)})[:-5]), ("x.ten", ten_bytes([np.arange(6.0)])[:-70])):
        write(name, contents)
        assert "it was written to just now, and its writer may not have finished" in error_of(db, f"SELECT * FROM npy_rows('{name}')")
        os.utime(name, (0, time.time() - 60))
        error = error_of(db, f"SELECT * FROM npy_rows('{name}')")
        assert "truncated" in error and "just now" not in error


def test_a_file_rewritten_in_place_with_its_size_and_time_set_back(connect, folder):
    """Its time of change cannot be set back."""
    db = connect()
    old, new = npz_bytes({"a": np.arange(3)}), npz_bytes({"b": np.arange(3) + 5})
    assert len(old) == len(new)
    write("x.npz", old)
    os.utime("x.npz", ns=(10**18, 10**18))
    assert db.execute("SELECT name FROM npy_meta('x.npz')").fetchall() == [("a",)]
    assert db.execute("SELECT value FROM npy_rows('x.npz')").fetchall() == [(0,), (1,), (2,)]
    time.sleep(0.05)  # the clock of a file system ticks every few milliseconds
    with open("x.npz", "r+b") as file:
        file.write(new)
    os.utime("x.npz", ns=(10**18, 10**18))
    assert db.execute("SELECT value FROM npy_rows('x.npz', 'b')").fetchall() == [(5,), (6,), (7,)]


# --- stacks ------------------------------------------------------------------------------------------------

DEEP = """
import sys, threading
sys.path.insert(0, {lib!r})
import shell
contents = sys.stdin.buffer.read()
def run():
    db = shell.connect()
    print(len(db.execute(sys.argv[1], (contents,)).fetchall()))
threading.stack_size(256 << 10)
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM npy_stats(?)", "SELECT * FROM npy_stats(?, '', '', 0)", "SELECT * FROM npy_meta(?)", "SELECT value FROM npy_rows(?)",
        "SELECT * FROM npy_elements(?)", "SELECT * FROM npy_compare(?1, ?1)", "SELECT npy_json(?)", "SELECT npy_slice(?, '::-1')",
        "SELECT * FROM npy_file(?)", "SELECT npy_get(?, 0)",
    ],
)
def test_a_header_nested_98_deep_on_a_small_stack(sql):
    if shell.SANITIZED:
        return  # its frames are several times larger
    descr = "'<f8'"
    for _ in range(98):
        descr = f"[('a', {descr})]"
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': (2,), }}\n".encode()
    contents = b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + bytes(16)
    program = DEEP.format(lib=shell.LIB)
    done = subprocess.run([sys.executable, "-B", "-c", program, sql], input=contents, capture_output=True)
    assert done.returncode == 0 and int(done.stdout) >= 1, (done.returncode, done.stderr)
