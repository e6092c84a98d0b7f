"""What is wrong with a file or an argument is said in one line that names the place and the fault."""

import re
import sqlite3
import struct

import numpy as np
import pytest

from arrays import npy_bytes, npy_text_bytes, npz_bytes, object_npy_bytes, zip_bytes
from expected import error_of
from formats import header_text, npy, ten_chunk, ten_header

GOOD = npy_bytes(np.arange(5, dtype="<i4"))
HEADER = header_text("<i4", (5,))


def headed(old, new):
    """A file whose header text has one thing replaced."""
    assert old in HEADER
    return npy("", (), bytes(20), text=HEADER.replace(old, new))


# Of each file, what its error must say in any case; the rest of the text is free.
BROKEN = {
    "short magic": (GOOD[:5], r"not a .npy"),
    "no magic": (b"These are words, and not few of them.\n", r"not a .npy"),
    "no header length": (GOOD[:9], r"header.*truncated"),
    "cut header": (GOOD[:40], r"truncated.*\b118\b.*\b30\b"),
    "no data": (GOOD[:-20], r"truncated.*\b20\b.*\b0\b"),
    "cut data": (GOOD[:-3], r"truncated.*\b20\b.*\b17\b"),
    "claimed header": (b"\x93NUMPY\2\0\xff\xff\xff\xff" + GOOD[10:], r"header.*\b4294967295\b"),
    "header over 1 MiB": (npy_text_bytes(HEADER + " " * 2_000_000 + "\n", bytes(20), (2, 0)), r"header.*\b1048576\b"),
    "version 1.1": (npy_text_bytes(HEADER, bytes(20), (1, 1)), r"version.*1\.1"),
    "version 4.0": (npy_text_bytes(HEADER, bytes(20), (4, 0)), r"version.*4\.0"),
    "list": (npy("", (), bytes(20), text="[1, 2]"), r"not a dict"),
    "open dict": (headed("}", ""), r"ends"),
    "call": (headed("(5,)", "tuple([5])"), r"tuple"),
    "arithmetic": (headed("(5,)", "(2+3,)"), r"\b62\b"),
    "words after": (headed("}", "} words"), r"follows"),
    "NUL padding": (npy_text_bytes(HEADER + "\0" * 20 + "\n", bytes(20)), r"NUL"),
    "deep nesting": (headed("'<i4'", "[" * 50_000), r"nested"),
    "no fortran_order": (headed("'fortran_order': False,", ""), r"fortran_order"),
    "unknown key": (headed("}", "'colour': 1}"), r"colour"),
    "fortran_order 0": (headed("False", "0"), r"fortran_order"),
    "shape 5": (headed("(5,)", "5"), r"shape"),
    "shape None": (headed("(5,)", "(None,)"), r"shape"),
    "negative": (headed("(5,)", "(-5,)"), r"shape.*-5"),
    "hidden negative": (headed("(5,)", "(0, -5)"), r"shape.*-5"),
    "2^64 items": (headed("(5,)", "(4294967296, 4294967296)"), r"shape"),
    "2^63 bytes": (headed("(5,)", "(2305843009213693952,)"), r"shape"),
    "2^70": (headed("(5,)", "(1180591620717411303424,)"), r"shape"),
    "65 dimensions": (headed("(5,)", "(" + "1, " * 65 + ")"), r"\b64\b"),
    "unknown descr": (headed("<i4", "<q7"), r"<q7"),
    "odd size": (headed("<i4", "<i3"), r"<i3"),
    "negative size": (headed("<i4", "|S-5"), r"S-5"),
    "giant size": (headed("<i4", "|S2147483648"), r"S2147483648"),
    "unknown unit": (headed("<i4", "<M8[fortnight]"), r"fortnight"),
    "subarray": (headed("'<i4'", "('<i4', (2,))"), r"subarray"),
    "duplicate fields": (headed("'<i4'", "[('x', '<i4'), ('x', '<i4')]"), r"\bx\b"),
    "title and name": (headed("'<i4'", "[(('x', 'y'), '<i4'), ('x', '<i4')]"), r"\bx\b"),
    "field of one": (headed("'<i4'", "[('x',)]"), r"field"),
    "bad UTF-8": (npy_text_bytes(HEADER, bytes(20), (3, 0)).replace(b"'shape'", b"'s\xffape'"), r"UTF-8"),
}


def fault(place, text):
    """What the error says is wrong with the place that it must begin with."""
    assert text.startswith(f"npyext: {place}: "), text
    return text.removeprefix(f"npyext: {place}: ")


@pytest.mark.parametrize("case", BROKEN)
def test_broken_npy(connect, tmp_path, case):
    contents, meaning = BROKEN[case]
    path, db = tmp_path / "broken.npy", connect()
    path.write_bytes(contents)
    for sql in ("SELECT * FROM npy_meta(?)", "SELECT value FROM npy_rows(?)"):
        text = error_of(db, sql, str(path))
        assert re.search(meaning, fault(path, text)), text
        assert re.search(meaning, error_of(db, sql, contents))


@pytest.mark.parametrize("case", ["cut data", "cut header", "unknown descr", "negative"])
@pytest.mark.parametrize("variant", ["stored", "deflate"])
def test_broken_members_are_named(connect, tmp_path, case, variant):
    contents, meaning = BROKEN[case]
    path, db = tmp_path / "w.npz", connect()
    path.write_bytes(zip_bytes([("good.npy", GOOD), ("dir/layer1.npy", contents)], variant))
    text = error_of(db, "SELECT value FROM npy_rows(?)", str(path))
    assert re.search(meaning, fault(f"{path}:dir/layer1", text)), text
    assert db.execute("SELECT sum(value) FROM npy_rows(?, 'good')", (str(path),)).fetchone() == (10,)


def test_objects_have_values_and_no_data(connect, tmp_path):
    path, db = tmp_path / "o.npy", connect()
    nested = npy_bytes(np.zeros(2, [("a", "i4"), ("b", [("c", "O")])]))
    for contents, value in ((object_npy_bytes(), None), (nested, '{"a":0,"b":{"c":0}}')):
        path.write_bytes(contents)
        assert db.execute("SELECT value FROM npy_rows(?) LIMIT 1", (str(path),)).fetchall() == [(value,)]
        assert "object" in fault(path, error_of(db, "SELECT data FROM npy_rows(?)", str(path)))
    path.write_bytes(npz_bytes({"ok": np.arange(2), "o": np.array([None])}))
    assert "object" in fault(f"{path}:o", error_of(db, "SELECT data FROM npy_rows(?, 'o')", str(path)))
    assert db.execute("SELECT value FROM npy_rows(?, 'ok')", (str(path),)).fetchall() == [(0,), (1,)]


def test_broken_zips(connect, tmp_path):
    path, db = tmp_path / "w.npz", connect()
    good = npz_bytes({"a": np.arange(50)})
    end = good.rindex(b"PK\5\6")
    far = bytearray(good)
    struct.pack_into("<I", far, end + 16, 2**31)  # where the central directory begins
    local = bytearray(good)
    struct.pack_into("<I", local, good.index(b"PK\1\2") + 42, 7)  # where the member's local header begins
    long = bytearray(good)
    struct.pack_into("<II", long, good.index(b"PK\1\2") + 20, 2**30, 2**30)  # its sizes
    for contents in (
        good[:-30],
        good[:end],
        bytes(far),
        bytes(local),
        bytes(long),
        b"PK\3\4",
        b"PK\3\4" + bytes(70_000),
        b"PK\5\6",
    ):
        path.write_bytes(contents)
        assert str(path) in error_of(db, "SELECT value FROM npy_rows(?)", str(path))
        error_of(db, "SELECT value FROM npy_rows(?)", contents)


def test_a_wrong_crc_is_noticed_at_the_end(connect):
    db = connect()
    for variant in ("stored", "deflate"):
        good = npz_bytes({"a": np.arange(300_000)}, variant)
        bad = bytearray(good)
        bad[good.index(b"PK\1\2") + 16] ^= 1  # the crc in the central directory
        assert re.search("(?i)crc", error_of(db, "SELECT value FROM npy_rows(?)", bytes(bad)))
        # A reader that stops before the end is not told.
        assert db.execute("SELECT value FROM npy_rows(?) LIMIT 3", (bytes(bad),)).fetchall() == [(0,), (1,), (2,)]


def ten_of(header, data=ten_chunk(bytes(20))):
    return ten_chunk(header) + data


def test_broken_tens(connect, tmp_path):
    path, db = tmp_path / "broken.ten", connect()
    header = ten_header("i4", "", (5,))
    cases = [
        (ten_of(header)[:20], r"truncated"),
        (ten_of(header)[:100], r"truncated"),
        (ten_of(header, b""), r"data"),
        (ten_of(header, ten_chunk(bytes(19))), r"\b20\b.*\b19\b"),
        (ten_of(ten_header("i4", "", (-5,))), r"-5"),
        (ten_of(ten_header("i4", "", (2**40, 2**40))), r"shape|overflow|large|big|dim"),
        (ten_of(header.replace(struct.pack("<q", 1), struct.pack("<q", 9))), r"rank|dim|\b9\b"),
        (ten_of(header.replace(struct.pack("<q", 1), struct.pack("<q", -1))), r"rank|dim|-1"),
        (ten_of(ten_header("f3", "", (5,))), r"f3"),
        (ten_of(header[:16]), r"header"),
        (b"~TenBin~" + struct.pack("<q", -8) + bytes(64), r"count|length|size|-8"),
        (b"~TenBin~" + struct.pack("<q", 2**62) + bytes(64), r""),
        (ten_of(header) + b"~TenBim~" + bytes(72), r"\b160\b"),
    ]
    for contents, meaning in cases:
        path.write_bytes(contents)
        for function in ("ten_arrays", "npy_rows"):
            text = error_of(db, f"SELECT * FROM {function}(?)", str(path))
            # The array is named where its header could be read.
            assert text.startswith(f"npyext: {path}:") and re.search(
                meaning, text.removeprefix(f"npyext: {path}")
            ), text
            error_of(db, f"SELECT * FROM {function}(?)", contents)


def test_missing_and_odd_paths(connect, tmp_path):
    db = connect()
    (tmp_path / "good.npy").write_bytes(GOOD)
    for name in (
        "missing.npy",
        "no/such/folder.npy",
        "good.npy/in.npy",
        "n" * 5000,
        "two\nlines.npy",
        "\x1b31m.npy",
    ):
        text = error_of(db, "SELECT * FROM npy_meta(?)", str(tmp_path / name))
        plain = re.match(r"[a-z/.]*", name).group()
        assert text.startswith(f"npyext: {tmp_path}/{plain}"[:200])
    assert "directory" in error_of(db, "SELECT * FROM npy_rows(?)", str(tmp_path))
    # A NUL ends nothing: this is not the path of good.npy.
    error_of(db, "SELECT * FROM npy_rows(?)", f"{tmp_path}/good.npy\0.npy")
    # Braces that do not close are a mistake and not a pattern that matches nothing.
    assert "{a,b.npy" in error_of(db, "SELECT * FROM npy_rows(?)", f"{tmp_path}/{{a,b.npy")


def test_characters_beyond_unicode_fail_where_they_stand(connect):
    db = connect()
    contents = npy("<U1", (4,), struct.pack("<4I", 0x41, 0x42, 0x110000, 0x43))
    # Python's cursor is always a row ahead.
    cursor = db.execute("SELECT value FROM npy_rows(?)", (contents,))
    assert cursor.fetchone() == ("A",)
    with pytest.raises(sqlite3.Error, match=r"npyext: .*110000"):
        cursor.fetchall()
    assert db.execute("SELECT value FROM npy_rows(?) WHERE row = 3", (contents,)).fetchall() == [("C",)]
    assert db.execute("SELECT count(data) FROM npy_rows(?)", (contents,)).fetchone() == (4,)


def test_what_is_longer_than_sqlite_allows(connect):
    db, contents = connect(), npy_bytes(np.zeros((2, 1000)))
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2000)
    blob = npz_bytes({"a": np.zeros((2, 1000))}, "deflate")
    assert len(blob) < 2000 < len(contents)
    for column in ("data", "value"):
        text = error_of(db, f"SELECT {column} FROM npy_rows(?)", blob, code=sqlite3.SQLITE_TOOBIG)
        assert re.search(r"\b2000\b", text)
    assert db.execute("SELECT row FROM npy_rows(?)", (blob,)).fetchall() == [(0,), (1,)]


def test_a_file_that_shrinks_while_it_is_read(connect, tmp_path, monkeypatch):
    monkeypatch.delenv("NPYEXT_MMAP", raising=False)  # under a map it ends the process
    path, db = tmp_path / "s.npy", connect()
    path.write_bytes(npy_bytes(np.zeros(2_000_000)))
    cursor = db.execute("SELECT value FROM npy_rows(?)", (str(path),))
    assert cursor.fetchone() == (0.0,)
    with open(path, "r+b") as file:
        file.truncate(1000)
    with pytest.raises(sqlite3.Error, match="npyext: .*s.npy") as raised:
        cursor.fetchall()
    assert raised.value.sqlite_errorcode == sqlite3.SQLITE_ERROR


def test_items_of_size_0_claim_any_number(connect):
    db = connect()
    for descr in ("|S0", "<U0", "|V0", []):
        contents = npy(descr, (2**63 - 1,), b"")
        assert db.execute(
            "SELECT count(*) FROM (SELECT value FROM npy_rows(?) LIMIT 10)", (contents,)
        ).fetchone() == (10,)
        assert db.execute("SELECT size, nbytes FROM npy_meta(?)", (contents,)).fetchone() == (2**63 - 1, 0)
        # As JSON they would be longer than any value, which needs no trying out; their bytes are none.
        wide = npy(descr, (1, 2**62), b"")
        error_of(db, "SELECT value FROM npy_rows(?)", wide, code=sqlite3.SQLITE_TOOBIG)
        assert db.execute("SELECT data FROM npy_rows(?)", (wide,)).fetchall() == [(b"",)]
