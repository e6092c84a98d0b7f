"""npz_members against zipfile, ten_arrays against what was written."""

import io
import json
import struct
import zipfile

import numpy as np
import pytest

from arrays import NPZ_VARIANTS, mixed_entries, npy_bytes, npz_bytes, seeded_generator, ten_bytes, zip_bytes
from expected import assert_has, error_of, named_rows
from formats import ten_chunk, ten_header


@pytest.mark.parametrize("variant", NPZ_VARIANTS)
def test_members_agree_with_zipfile(connect, tmp_path, variant):
    db, path = connect(), tmp_path / "m.npz"
    contents = zip_bytes(mixed_entries() + [("a.npy", npy_bytes(np.arange(2)))], variant)
    path.write_bytes(contents)
    infos = zipfile.ZipFile(io.BytesIO(contents)).infolist()
    for source in (str(path), contents):
        rows = named_rows(db, "SELECT *, crc_ok FROM npz_members(?)", source)
        assert len(rows) == len(infos) == 6
        for idx, (row, info) in enumerate(zip(rows, infos)):
            name = info.filename.removesuffix(".npy")
            start = info.header_offset + 30 + sum(struct.unpack_from("<HH", contents, info.header_offset + 26))
            assert_has(
                row,
                {
                    "path": str(path) if source is not contents else None,
                    "idx": idx,
                    "filename": info.filename,
                    "name": name,
                    "method": "deflate" if info.compress_type else "stored",
                    "compressed_size": info.compress_size,
                    "uncompressed_size": info.file_size,
                    "crc32": info.CRC,
                    "crc_ok": 1,
                    "encrypted": 0,
                    "error": None,
                    "data_offset": start,
                    "modified": "{:04}-{:02}-{:02} {:02}:{:02}:{:02}".format(*info.date_time),
                    "is_array": int(idx in (1, 3, 5)),
                },
                info,
            )
            if info.file_size:
                assert row["ratio"] == pytest.approx(info.compress_size / info.file_size)
        described = [
            (row["dtype"], row["descr"], row["shape"], row["ndim"], row["size"], row["fortran_order"]) for row in rows
        ]
        nothing = (None,) * 6
        assert described == [
            nothing,
            ("float32", ">f4", "[2,3]", 2, 6, 1),
            nothing,
            ("int64", "<i8", "[4]", 1, 4, 0),
            nothing,
            ("int64", "<i8", "[2]", 1, 2, 0),
        ]


def test_member_names_in_cp437_and_utf8(connect):
    names = ["caf\u00e9.npy", "\u4e2d.npy", "../up.npy", "/root.npy", "UPPER.NPY", "a.npy.npy", ".npy"]
    contents = zip_bytes([(name, npy_bytes(np.arange(1))) for name in names] + [("XX.npy", npy_bytes(np.arange(1)))])
    # Without flag 0x800 a name is cp437, in which these two bytes are letters.
    contents = contents.replace(b"XX.npy", b"\x82\x9a.npy")
    names.append("\u00e9\u00dc.npy")
    db = connect()
    rows = db.execute("SELECT filename, name FROM npz_members(?)", (contents,)).fetchall()
    assert rows == [(name, name.removesuffix(".npy")) for name in names]
    for idx, (filename, name) in enumerate(rows):
        # The name '' is no name to choose by.
        for member in filter(None, (idx, filename, name)):
            assert db.execute("SELECT value FROM npy_rows(?, ?)", (contents, member)).fetchall() == [(0,)], member


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_name_in_utf8_whose_directory_has_it_in_cp437(connect, method):
    """The local name is longer than the directory's, which decides how much of the header is read at first."""
    letters = "\u00e9" * 40
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr(letters + ".npy", npy_bytes(np.arange(5)))
    contents = bytearray(out.getvalue())
    directory = contents.rindex(b"PK\1\2")
    utf8, cp437 = letters.encode(), letters.encode("cp437")
    after = directory + 46 + len(utf8)
    struct.pack_into("<H", contents, directory + 8, 0)
    struct.pack_into("<H", contents, directory + 28, len(cp437) + 4)
    end = contents.rindex(b"PK\5\6")
    struct.pack_into("<I", contents, end + 12, end - directory - (len(utf8) - len(cp437)))
    contents = bytes(contents[: directory + 46]) + cp437 + bytes(contents[after:])
    assert np.load(io.BytesIO(contents))[letters].tolist() == [0, 1, 2, 3, 4]
    assert connect().execute("SELECT value FROM npy_rows(?, ?)", (contents, letters)).fetchall() == [(i,) for i in range(5)]


def test_methods_that_are_listed_and_not_read(connect):
    db, array = connect(), npy_bytes(np.zeros(1000))
    for method, text in [(zipfile.ZIP_BZIP2, "bzip2"), (zipfile.ZIP_LZMA, "lzma")]:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as archive:
            archive.writestr("a.npy", array)
        [row] = named_rows(db, "SELECT * FROM npz_members(?)", out.getvalue())
        assert (row["method"], row["encrypted"], row["uncompressed_size"], row["shape"]) == (
            text,
            0,
            len(array),
            None,
        )
        assert text in error_of(db, "SELECT * FROM npy_rows(?)", out.getvalue())


def with_flags(contents, flags):
    """The zip with general-purpose flags set in every local and central header."""
    out = bytearray(contents)
    for magic, off in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        at = out.find(magic)
        while at >= 0:
            out[at + off] |= flags
            at = out.find(magic, at + 4)
    return bytes(out)


def test_encrypted_members_are_listed_and_not_read(connect):
    db, contents = connect(), with_flags(npz_bytes({"a": np.arange(5)}), 1)
    [row] = named_rows(db, "SELECT * FROM npz_members(?)", contents)
    assert (row["name"], row["encrypted"], row["method"], row["shape"]) == ("a", 1, "stored", None)
    assert "encrypted" in error_of(db, "SELECT * FROM npy_rows(?)", contents)


@pytest.mark.parametrize("variant", NPZ_VARIANTS)
def test_crc_ok_finds_the_corrupted_member(connect, variant):
    db, rng = connect(), seeded_generator()
    contents = bytearray(npz_bytes({"good": np.arange(9), "bad": rng.integers(0, 256, 999, "u1")}, variant))
    start = db.execute("SELECT data_offset FROM npz_members(?) WHERE name = 'bad'", (bytes(contents),)).fetchone()[0]
    contents[start + 700] ^= 0x10
    rows = db.execute("SELECT name, crc_ok, error FROM npz_members(?, 'row')", (bytes(contents),)).fetchall()
    assert [row[:2] for row in rows] == [("good", 1), ("bad", 0)]
    assert rows[0][2] is None
    # A reader that goes to the end of a member notices as well.
    assert "bad" in error_of(db, "SELECT count(data) FROM npy_rows(?, 'bad')", bytes(contents))


def test_ten_arrays(connect, tmp_path):
    db, path = connect(), tmp_path / "t.ten"
    arrays = [
        np.zeros((2, 3), "f4"),
        np.arange(5, dtype="u1"),
        np.zeros((0, 2), "i8"),
        np.array(3, "i2"),
        np.zeros((2,) * 9, "u4"),
    ]
    for order in "<>":
        contents = ten_bytes(arrays, order, ["x", "", "info", "a\0b", "eight888"])
        path.write_bytes(contents)
        for source in (str(path), contents):
            at = 0
            rows = named_rows(db, "SELECT * FROM ten_arrays(?)", source)
            assert len(rows) == len(arrays)
            for idx, (row, array) in enumerate(zip(rows, arrays)):
                header = ten_chunk(ten_header(array.dtype.str[1:], "", array.shape))
                assert_has(
                    row,
                    {
                        "path": str(path) if source is not contents else None,
                        "idx": idx,
                        "name": ["x", "", "info", "a\0b", "eight888"][idx],
                        "dtype": array.dtype.name,
                        "ndim": array.ndim,
                        "size": array.size,
                        "nbytes": array.nbytes,
                        "header_offset": at,
                        "data_offset": at + len(header) + 16,
                        "error": None,
                    },
                    f"{order} {idx}",
                )
                assert json.loads(row["shape"]) == list(array.shape)
                at += len(header) + len(ten_chunk(array.tobytes()))


def test_tens_that_a_strict_reader_would_refuse(connect):
    db, three = connect(), np.arange(3, dtype="i4")
    header = ten_chunk(ten_header("i4", "", (3,)))
    spare_words = ten_chunk(ten_header("i4", "", (3,)) + bytes(16))
    for contents in (
        ten_bytes([three])[:-52],
        spare_words + ten_chunk(three.tobytes()),
        header + ten_chunk(three.tobytes() + b"\1" * 20),
        header + ten_chunk(three.tobytes())[:-52] + b"\xff" * 52,
    ):
        assert db.execute("SELECT shape, error FROM ten_arrays(?)", (contents,)).fetchall() == [("[3]", None)]
        assert db.execute("SELECT value FROM npy_rows(?)", (contents,)).fetchall() == [(0,), (1,), (2,)]
