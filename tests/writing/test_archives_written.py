"""npz_archive and ten_archive, against zipfile, numpy.load, a decoder of .ten by the rules of the format, and our own
readers."""

import io
import sqlite3
import struct
import zipfile
import zlib

import numpy as np
import pytest

from arrays import (
    ITEM_SIZE_ZERO,
    SCALARS,
    TEN_CODES,
    both_byte_orders,
    npy_bytes,
    npz_bytes,
    object_npy_bytes,
    random_array,
    random_shape,
    random_structured_dtype,
    seeded_generator,
    ten_bytes,
)
from expected import error_of, little_endian


def one(db, sql, *arguments):
    ((value,),) = db.execute(sql, arguments).fetchall()
    return value


def with_arrays(db, contents, names=()):
    """A table of BLOBs or handles, numbered from 0."""
    names = [*names, *[""] * (len(contents) - len(names))]
    db.execute("DROP TABLE IF EXISTS temp.arrays")
    db.execute("CREATE TABLE temp.arrays(id INTEGER PRIMARY KEY, name TEXT, array)")
    db.executemany("INSERT INTO arrays VALUES(?, ?, ?)", zip(range(len(contents)), names, contents))


def archive(db, names, contents, method="stored"):
    with_arrays(db, contents, names)
    return one(db, "SELECT npz_archive(name, array, ?) FROM (SELECT * FROM arrays ORDER BY id)", method)


def opened(archived):
    zipped = zipfile.ZipFile(io.BytesIO(archived))
    assert zipped.testzip() is None
    return zipped


def stored_part(archived, info):
    """The bytes of a member as they lie in the zip, after its local header."""
    name_nbytes, extra_nbytes = struct.unpack_from("<HH", archived, info.header_offset + 26)
    start = info.header_offset + 30 + name_nbytes + extra_nbytes
    return archived[start : start + info.compress_size]


def decode_ten(contents):
    """(code, info, shape, items) of each array: FORMATS.md D, words of a little-endian machine."""
    at, arrays = 0, []

    def chunk():
        nonlocal at
        assert contents[at : at + 8] == b"~TenBin~"
        (nbytes,) = struct.unpack_from("<q", contents, at + 8)
        payload = contents[at + 16 : at + 16 + nbytes]
        assert len(payload) == nbytes
        at += 16 + nbytes
        padding = contents[at : at + -nbytes % 64]
        assert padding == bytes(-nbytes % 64)
        at += len(padding)
        return payload

    while at < len(contents):
        header, items = chunk(), chunk()
        words = struct.unpack(f"<{len(header) // 8 - 2}q", header[16:])
        assert len(header) % 8 == 0 and words[0] == len(words) - 1
        arrays.append((header[:8].rstrip(b"\0").decode(), header[8:16].rstrip(b"\0").decode(), words[1:], items))
    return arrays


# --- .npz --------------------------------------------------------------------------------------------------


def test_members_are_what_numpy_saves(connect, tmp_path):
    """Every dtype, in both byte orders, both orders and many shapes, from BLOBs and from handles."""
    rng, db = seeded_generator(), connect()
    dtypes = [order for dtype in SCALARS + ITEM_SIZE_ZERO for order in both_byte_orders(dtype)]
    dtypes += [random_structured_dtype(rng) for _ in range(60)]
    arrays = {}
    for i, dtype in enumerate(dtypes):
        order = "CF"[int(rng.integers(2))]
        arrays[f"a{i}"] = random_array(rng, dtype, random_shape(rng, int(rng.integers(0, 5))), order)
    for method in ["stored", "deflate", "deflate:1"]:
        archived = archive(db, arrays, [npy_bytes(array) for array in arrays.values()], method)
        zipped = opened(archived)
        assert zipped.namelist() == [f"{name}.npy" for name in arrays]
        for name, array in arrays.items():
            assert zipped.read(f"{name}.npy") == npy_bytes(array), (name, array.dtype, array.shape)
        path = tmp_path / f"{method}.npz"
        path.write_bytes(archived)
        handles = "SELECT npz_archive(name, array) FROM npy_file(?)"
        again = opened(one(db, handles, str(path)))
        assert [(i.filename, i.CRC) for i in again.infolist()] == [(i.filename, i.CRC) for i in zipped.infolist()]
    loaded = np.load(io.BytesIO(archived))
    assert loaded.files == list(arrays)
    for name, array in arrays.items():
        assert loaded[name].dtype == array.dtype and loaded[name].shape == array.shape


def test_large_members_in_every_order(connect, tmp_path):
    """Longer than any block, so that they are streamed; wide rows too."""
    rng, db = seeded_generator(), connect()
    for shape in [(700_000,), (2, 400_000), (300, 50, 40), (1, 600_000)]:
        for order in "CF":
            array = random_array(rng, ">i4", shape, order)
            np.save(tmp_path / "x.npy", array)
            for source in (npy_bytes(array), one(db, "SELECT array FROM npy_file(?)", str(tmp_path / "x.npy"))):
                archived = archive(db, ["x"], [source], "deflate:1")
                assert opened(archived).read("x.npy") == npy_bytes(array)
                ((code, _, shape_found, items),) = decode_ten(one(db, "SELECT ten_archive(?)", source))
                assert (code, shape_found, items) == ("i4", shape, little_endian(array).tobytes())


@pytest.mark.parametrize("method", ["stored", "", "deflate", *(f"deflate:{level}" for level in range(10))])
def test_methods_and_levels(connect, method):
    """The stream is what zlib makes at that level; date, flags and attributes are those of one and the same entry."""
    rng, db = seeded_generator(), connect()
    contents = npy_bytes(np.round(rng.normal(size=50_000), 1))
    archived = archive(db, ["x"], [contents], method)
    assert archived == archive(db, ["x"], [contents], method)
    (info,) = opened(archived).infolist()
    assert info.date_time == (1980, 1, 1, 0, 0, 0) and info.external_attr == 0o600 << 16
    assert info.create_system == 3 and not info.flag_bits & 0x809
    if method in ("stored", ""):
        assert info.compress_type == zipfile.ZIP_STORED and stored_part(archived, info) == contents
        return
    level = int(method[8:] or "6") if ":" in method else 6
    packer = zlib.compressobj(level, zlib.DEFLATED, -15, 8)
    assert info.compress_type == zipfile.ZIP_DEFLATED
    assert zlib.decompress(stored_part(archived, info), -15) == contents
    if level > 0:  # stored blocks are as long as the buffers that zlib is given
        assert info.compress_size == len(packer.compress(contents) + packer.flush())
    method_shown = "SELECT method, crc_ok, uncompressed_size FROM npz_members(?)"
    assert db.execute(method_shown, (archived,)).fetchall() == [("deflate", 1, len(contents))]


def test_names(connect):
    db = connect()
    names = ["a", "a.npy", "d/e", "../up", "/root", "sp ace", "\u00e9", "\u4e2d\u6587", "\U0001f600", "it's", 'q"', "." * 300]
    contents = [npy_bytes(np.arange(i)) for i in range(len(names))]
    archived = archive(db, names, contents)
    infos = opened(archived).infolist()
    assert [info.filename for info in infos] == [f"{name}.npy" for name in names]
    assert [bool(info.flag_bits & 0x800) for info in infos] == [not name.isascii() for name in names]
    assert np.load(io.BytesIO(archived)).files == names
    assert [row[0] for row in db.execute("SELECT name FROM npy_meta(?)", (archived,))] == names
    assert one(db, "SELECT name FROM npy_meta((SELECT npz_archive(5, ?)))", contents[0]) == "5"


def test_the_order_of_rows(connect):
    db = connect()
    with_arrays(db, [npy_bytes(np.arange(i)) for i in range(9)])
    sql = "SELECT npz_archive('a' || id, array) FROM (SELECT * FROM arrays ORDER BY {})"
    for order, ids in (("id", range(9)), ("id DESC", range(8, -1, -1)), ("id % 3, id", [0, 3, 6, 1, 4, 7, 2, 5, 8])):
        assert opened(one(db, sql.format(order))).namelist() == [f"a{i}.npy" for i in ids]
    if sqlite3.sqlite_version_info >= (3, 44):
        archived = one(db, "SELECT npz_archive('a' || id, array ORDER BY id DESC) FROM arrays")
        assert opened(archived).namelist() == [f"a{i}.npy" for i in range(8, -1, -1)]


def test_groups(connect):
    """Aggregates of many groups at once do not get in each other's way, nor do those of an error."""
    db = connect()
    with_arrays(db, [npy_bytes(np.arange(i)) for i in range(90)])
    sql = "SELECT id % 10, npz_archive('a' || id, array, 'deflate'), ten_archive(array, 'a' || id) FROM arrays GROUP BY 1"
    for group, zipped, ten in db.execute(sql).fetchall():
        expected = [f"a{i}" for i in range(group, 90, 10)]
        assert np.load(io.BytesIO(zipped)).files == expected
        assert [info for _, info, _, _ in decode_ten(ten)] == expected
    db.execute("UPDATE arrays SET array = NULL WHERE id = 77")
    assert error_of(db, sql) == "npyext: npz_archive: row 7: the array is NULL"
    db.execute("DELETE FROM arrays WHERE id = 77")
    assert len(db.execute(sql).fetchall()) == 10


def test_no_rows(connect):
    db = connect()
    empty = one(db, "SELECT npz_archive('a', x'00') WHERE false")
    out = io.BytesIO()
    zipfile.ZipFile(out, "w").close()
    assert empty == out.getvalue() and len(empty) == 22
    assert db.execute("SELECT count(*) FROM npz_members(?)", (empty,)).fetchone() == (0,)
    assert one(db, "SELECT ten_archive(x'00') WHERE false") == b""
    assert db.execute("SELECT npz_archive('a', x'00') FROM (SELECT 1 AS n WHERE false) GROUP BY n").fetchall() == []


def test_more_entries_than_a_zip_has_numbers_for(connect):
    """Beyond 65,535 the count stands in a zip64 end record."""
    db = connect()
    for count in (65_534, 65_535, 66_000):
        archived = one(
            db,
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT ?1) "
            "SELECT npz_archive('n' || i, ?2) FROM n",
            count,
            npy_bytes(np.zeros(0)),
        )
        names = zipfile.ZipFile(io.BytesIO(archived)).namelist()
        assert names == [f"n{i}.npy" for i in range(count)]
        assert one(db, "SELECT count(*) FROM npz_members(?)", archived) == count


@pytest.mark.parametrize(
    "row, message",
    [
        (("NULL", "?1"), "the name is NULL"),
        (("'b'", "NULL"), "the array is NULL"),
        (("'b'", "?1", "NULL"), "the method is NULL"),
        (("'a'", "?1"), "there is an array 'a' already"),
        (("''", "?1"), "the name is empty"),
        (("1.5", "?1"), "the name is a REAL, not a TEXT"),
        (("x'61'", "?1"), "the name is a BLOB, not a TEXT"),
        (("'b' || char(0)", "?1"), "has a NUL in it"),
        (("CAST(x'ff' AS TEXT)", "?1"), "is not UTF-8"),
        (("'b'", "?1", "'zstd'"), "no method of an .npz: 'zstd'"),
        (("'b'", "?1", "'deflate:10'"), "there are stored, deflate, and deflate:0 to deflate:9"),
        (("'b'", "5"), "a number is not an array"),
        (("'b'", "'x.npy'"), "'x.npy' is a TEXT; to open a path, use npy_file"),
        (("'b'", "?2"), "which may contain several arrays; use npy_file to choose one"),
        (("'b'", "?3"), "an array of objects is not written"),
    ],
)
def test_errors_say_the_row(connect, row, message):
    db = connect()
    name, array, *method = row
    values = f"('a', ?1, 'stored'), ({name}, {array}, {method[0] if method else repr('stored')})"
    sql = f"SELECT npz_archive(column1, column2, column3), ?2, ?3 FROM (VALUES {values})"
    text = error_of(db, sql, npy_bytes(np.arange(3)), npz_bytes({"a": np.arange(3)}), object_npy_bytes())
    assert text.startswith(("npyext: npz_archive: row 1: ", "npyext: BLOB: row 1: ")) and message in text


def test_damaged_arrays_are_refused(connect, tmp_path):
    db = connect()
    contents = npy_bytes(np.arange(100.0))
    assert "row 0: data is truncated" in error_of(db, "SELECT npz_archive('a', ?)", contents[:-1])
    assert "npyext: BLOB: row 0:" in error_of(db, "SELECT ten_archive(?)", contents[:20])
    for method in ("stored", "deflate"):
        path = tmp_path / f"{method}.npz"
        damaged = bytearray(archive(db, ["a"], [contents], method))
        damaged[150 if method == "deflate" else 300] ^= 1
        path.write_bytes(damaged)
        text = error_of(db, "SELECT npz_archive(name, array) FROM npy_file(?)", str(path))
        assert f"{method}.npz:a: row 0: " in text


def test_longer_than_the_limit(connect, tmp_path):
    db, limit = connect(), 500_000
    np.save(tmp_path / "x.npy", np.arange(40_000))
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limit)
    rows = "FROM (VALUES (1), (2)), npy_file(?)"
    for call, name in (("npz_archive('a' || column1, array)", "npz"), ("ten_archive(array)", "ten")):
        text = too_big(db, f"SELECT {call} {rows}", str(tmp_path / "x.npy"))
        assert f"_archive: the archive exceeds SQLite's limit of {limit} bytes" in text
        assert f"CREATE VIRTUAL TABLE temp.out USING npy('out.{name}', mode='w+')" in text
    fits = one(db, f"SELECT npz_archive('a' || column1, array, 'deflate') {rows}", str(tmp_path / "x.npy"))
    assert len(opened(fits).namelist()) == 2


def too_big(db, sql, *arguments):
    with pytest.raises(sqlite3.DataError) as raised:
        db.execute(sql, arguments).fetchall()
    assert raised.value.sqlite_errorcode == sqlite3.SQLITE_TOOBIG
    return str(raised.value)


def test_innocuous(connect):
    """They reach no file by a name, so a view of an untrusted schema may call them over BLOBs."""
    db = connect()
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("CREATE TABLE t(name, array)")
    db.execute("INSERT INTO t VALUES('a', ?)", (npy_bytes(np.arange(3)),))
    db.execute("CREATE VIEW v AS SELECT npz_archive(name, array) AS z, ten_archive(array, name) AS t FROM t")
    zipped, ten = db.execute("SELECT z, t FROM v").fetchone()
    assert opened(zipped).namelist() == ["a.npy"] and len(decode_ten(ten)) == 1


def test_repacking(connect, tmp_path):
    """A folder of .npy into one .npz, that from stored to deflated, and that into a .ten."""
    rng, db = seeded_generator(), connect()
    arrays = {f"layer{i}": random_array(rng, "<f4", (10 * i, 7)) for i in range(5)}
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    packed = one(
        db,
        "SELECT npz_archive(stem, array) FROM (SELECT m.stem, array FROM npy_meta(?1) m JOIN npy_file(m.path) ORDER BY m.path)",
        str(tmp_path / "*.npy"),
    )
    (tmp_path / "packed.npz").write_bytes(packed)
    for call in ("npz_archive(name, array, 'deflate')", "npz_archive(name, array)", "ten_archive(array, name)"):
        again = one(db, f"SELECT {call} FROM npy_file(?)", str(tmp_path / "packed.npz"))
        compared = db.execute("SELECT name, status FROM npy_compare(?, ?)", (packed, again)).fetchall()
        assert compared == [(name, "equal") for name in arrays]


# --- .ten --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", TEN_CODES)
def test_ten_dtypes(connect, code):
    """Both byte orders, both orders, ranks 0 to 9."""
    rng, db = seeded_generator(), connect()
    arrays = []
    for rank in range(10):
        for dtype in both_byte_orders(code):
            shape = random_shape(rng, rank) if rank < 6 else tuple(int(n) for n in rng.integers(1, 3, rank))
            arrays.append(random_array(rng, dtype, shape, "CF"[int(rng.integers(2))]))
    with_arrays(db, [npy_bytes(array) for array in arrays])
    ten = one(db, "SELECT ten_archive(array, substr('name' || id, -8)) FROM arrays")
    decoded = decode_ten(ten)
    assert len(decoded) == len(arrays)
    for i, (array, found) in enumerate(zip(arrays, decoded)):
        assert found == (code, f"name{i}", array.shape, little_endian(array).tobytes())
    plain = [np.ascontiguousarray(array).reshape(array.shape) for array in arrays]
    assert ten == ten_bytes(plain, "<", [f"name{i}" for i in range(len(arrays))])
    assert [row[0] for row in db.execute("SELECT name FROM ten_arrays(?)", (ten,))] == [f"name{i}" for i in range(len(arrays))]


def test_ten_names_may_repeat_or_be_left_out(connect):
    db = connect()
    contents = npy_bytes(np.arange(3.0))
    assert [info for _, info, _, _ in decode_ten(one(db, "SELECT ten_archive(?) FROM (VALUES (1), (2))", contents))] == ["", ""]
    assert [info for _, info, _, _ in decode_ten(one(db, "SELECT ten_archive(?, 'a') FROM (VALUES (1), (2))", contents))] == ["a", "a"]


@pytest.mark.parametrize(
    "array, name, message",
    [
        (np.arange(3.0), "123456789", "the name '123456789' has 9 bytes (a .ten holds 8)"),
        (np.arange(3.0), "\u00e9", "the name '\u00e9' is not ASCII"),
        (np.arange(3.0), None, "the name is NULL"),
        (np.zeros(3, bool), "a", "a .ten holds f2, f4, f8, i1 to i8 and u1 to u8 (found bool)"),
        (np.zeros(3, "c8"), "a", "found complex64"),
        (np.zeros(3, "U3"), "a", "found str96"),
        (np.zeros(3, [("x", "f4")]), "a", "found void32"),
        (np.zeros((1,) * 10), "a", "the array has 10 dimensions (a .ten holds at most 9)"),
    ],
)
def test_ten_refuses(connect, array, name, message):
    db = connect()
    text = error_of(db, "SELECT ten_archive(?, ?)", npy_bytes(array), name)
    assert text.startswith("npyext: ten_archive: row 0: ") and message in text
