"""The limits of tars at their last value and one beyond; and what claims much, or says much of little, costs what its
bytes warrant."""

import gzip
import json
import struct

import numpy as np
import pytest

import shell
import tars
from arrays import npy_bytes, npz_bytes, seeded_generator, ten_bytes
from expected import counters, error_of, since
from formats import npy, ten_chunk, ten_header
from tars import BLOCK, END, base256, gnu_long, gzipped, header, member, numbered, pax, pax_record, tar
from test_limits import CLAIMS, FACTOR, MIB, many_entries, one, peak_of, write

LONGEST = 1 << 22  # bytes of one record that says more of the next member
ARRAY = npy_bytes(np.arange(3))
FIRST = member("first.npy", ARRAY)

EVERYWHERE = [
    "SELECT name, size, error FROM tar_members(?, 'row')", "SELECT data FROM tar_members(?, 'row')", "SELECT data FROM tar_members(?)",
    "SELECT * FROM npy_meta(?, 'row')", "SELECT value FROM npy_rows(?)", "SELECT data FROM npy_rows(?, 1) LIMIT 1",
    "SELECT * FROM npy_stats(?)", "SELECT * FROM npy_stats(?, '', '', 0)", "SELECT * FROM npy_histogram(?)",
    "SELECT * FROM npy_compare(?1, ?1)", "SELECT npy_data(array) FROM npy_file(?)", "SELECT npy_slice(array, ':') FROM npy_file(?)",
    "SELECT count(*) FROM npz_members(?)", "SELECT count(*) FROM ten_arrays(?)",
]  # fmt: skip


def assert_claims_cost_nothing(connect, heap, source, nbytes=12 * MIB):
    """Everything that reads the source ends in rows or an error of its own, within so much memory."""
    said = []
    for sql in EVERYWHERE:
        db = connect()
        heap(nbytes * FACTOR)
        try:
            said.append(str(db.execute(sql, (source,)).fetchall()))
        except Exception as error:
            said.append(str(error))
            assert said[-1].startswith("npyext: ") and len(said[-1]) < 6000, (sql, said[-1][:500])
        finally:
            heap(None)
        db.close()
    assert any("npyext: " in text for text in said), said
    return said


# --- sizes -------------------------------------------------------------------------------------------------

TOO_LARGE = {
    "octal": header("x.npy", b"77777777777\0"), "octal without an end": header("x.npy", b"777777777777"),
    "2^62": header("x.npy", 2**62), "2^63 - 1": header("x.npy", 2**63 - 1), "2^63": header("x.npy", 2**63),
    "2^87 - 1": header("x.npy", 2**87 - 1), "least": header("x.npy", base256(-(2**87), 12)),
    "pax, 2^63 - 1": pax({"size": 2**63 - 1}) + header("x.npy"), "pax, 2^63": pax({"size": 2**63}) + header("x.npy"),
    "pax, 10^400": pax({"size": "1" + "0" * 400}) + header("x.npy"), "pax of all": pax({"size": 2**63 - 1}, b"g") + header("x.npy"),
    "-1": header("x.npy", -1), "octal, -1": header("x.npy", b"-0000000001\0"), "-2^63": header("x.npy", -(2**63)),
    "pax, -1": pax({"size": -1}) + header("x.npy"), "pax, -2^63": pax({"size": -(2**63)}) + header("x.npy"),
    "L": header("long", 2**63 - 1, b"L"), "K": header("long", 2**40, b"K"), "x": header("pax", 2**63 - 1, b"x"),
    "g": header("pax", base256(2**63 - 512, 12), b"g"), "X": header("pax", 2**62, b"X"), "L, 2^63": header("long", 2**63, b"L"),
    "sparse": header("x.npy", 2**62, b"S", patches={483: base256(2**63 - 1, 12)}),
    "type of nobody's": header("x.npy", 2**63 - 1, b"Q"),
}  # fmt: skip


@pytest.mark.parametrize("label", TOO_LARGE)
def test_sizes_beyond_the_file(connect, folder, heap, label):
    contents = tar(FIRST, TOO_LARGE[label], npy("<f8", (2**59,), bytes(300_000)))
    for source in (contents, gzipped(contents), "x.tar", "x.tar.gz"):
        if isinstance(source, str):
            write(source, gzipped(contents) if source.endswith("gz") else contents)
        said = assert_claims_cost_nothing(connect, heap, source)
        for text in said[:2]:
            assert ("first.npy" in text or "NUMPY" in text) and text.count("npyext: ") <= 1, text
        assert "npyext: " in said[0] or "sparse" in label, said[0]
        assert one(connect(), "SELECT sum(value) FROM npy_rows(?, 0)", source) == 3


@pytest.mark.parametrize("size", [2**40, 2**63 - 1])
def test_sizes_that_sparse_members_would_have(connect, size):
    """They are no claim on the file, which has what the map says; an integer of SQL shows them."""
    for version in tars.SPARSE_VERSIONS:
        contents = tar(tars.sparse(version, "s.bin", [(0, b"abc")], size), member("b.x", b"1"))
        assert connect().execute("SELECT name, size FROM tar_members(?)", (contents,)).fetchall() == [("s.bin", size), ("b.x", 1)]


# --- names and records -------------------------------------------------------------------------------------


def records_of(nbytes, key="path"):
    """A pax record of so many bytes."""
    record = pax_record(key, "p" * (nbytes - 100))
    record = pax_record(key, "p" * (nbytes - 100 + nbytes - len(record)))
    assert len(record) == nbytes
    return record


@pytest.mark.parametrize("nbytes", [MIB, LONGEST, LONGEST + 1])
@pytest.mark.parametrize("kind", ["L", "K", "path", "linkpath", "uname", "comment", "g"])
def test_length_of_a_record(connect, folder, nbytes, kind):
    """A name with the zero after it, or a pax header's records together."""
    if kind in "LK":
        said = gnu_long(kind, "n" * (nbytes - 1))
    else:
        said = pax(records_of(nbytes, "path" if kind == "g" else kind), b"g" if kind == "g" else b"x")
    contents = tar(FIRST, said + member("short.npy", ARRAY))
    write("x.tar", contents)
    column = {"L": "name", "K": "linkname", "path": "name", "linkpath": "linkname", "g": "name"}.get(kind, "uname")
    for source in ("x.tar", contents, gzipped(contents)):
        if nbytes > LONGEST:
            error = error_of(connect(), "SELECT name FROM tar_members(?)", source)
            assert f"the tar header at byte {len(FIRST)} has {nbytes} bytes; at most {LONGEST} are read" in error
            rows = connect().execute("SELECT name, error_kind FROM tar_members(?, 'row')", (source,)).fetchall()
            assert rows == [("first.npy", None), (None, "limit")]
            continue
        got = connect().execute(f"SELECT length({column}), size FROM tar_members(?)", (source,)).fetchall()[1]
        record = b"" if kind in "LK" else records_of(nbytes, "path" if kind == "g" else kind)
        text_nbytes = nbytes - 1 if kind in "LK" else 0 if kind == "comment" else len(record) - record.index(b"=") - 2
        assert got == (text_nbytes, len(ARRAY))
        name = one(connect(), "SELECT name FROM npy_meta(?) WHERE idx = 1", source)
        assert one(connect(), "SELECT sum(value) FROM npy_rows(?, ?)", source, name) == 3


def test_keys_and_extensions_as_long_as_names_may_be(connect):
    half = LONGEST // 2 - 1
    for key, ext in (("k" * half, "e" * half), ("k", "E" * (LONGEST - 3)), ("k" * (LONGEST - 3), "e"), ("d/" * (half // 2) + "k", "e." * (half // 2))):
        contents = tar(FIRST, gnu_long("L", f"{key}.{ext}") + member("short", ARRAY), gnu_long("L", f"{key}.f") + member("short"))
        rows = connect().execute("SELECT key, ext, sample, error FROM tar_members(?)", (contents,)).fetchall()
        assert rows[1:] == [(key, ext.lower(), 1, None), (key, "f", 1, None)]
        assert one(connect(), "SELECT value FROM npy_rows(?) WHERE key = ? AND ext = ? AND row = 2", contents, key, ext.lower()) == 2
        # What is wrong with such a member is told in a few words.
        twice = contents[: -len(END)] + gnu_long("L", f"{key}.{ext}") + member("short") + END
        assert "second member of its sample" in error_of(connect(), "SELECT * FROM tar_members(?)", twice)
        broken = tar(gnu_long("L", f"{key}.{ext}") + member("short", ARRAY[:-1]))
        assert "truncated" in error_of(connect(), "SELECT * FROM npy_rows(?)", broken)


def test_names_of_arrays_together(connect):
    """16 MiB, and 4096 bytes for each array before the last one."""
    free, each, long = 1 << 24, 1 << 12, 3_400_000
    for beyond in (0, 1):
        rest = free + 4 * each + beyond - 4 * long
        contents = tar(*(gnu_long("L", "n" * nbytes) + member("short", ARRAY) for nbytes in [long] * 4 + [rest]))
        rows = connect().execute("SELECT length(name), error_kind, error FROM npy_meta(?, 'row')", (contents,)).fetchall()
        assert [row[:2] for row in rows[:4]] == [(long, None)] * 4
        if not beyond:
            assert rows[4:] == [(rest, None, None)]
        else:
            assert rows[4][:2] == (None, "limit") and len(rows) == 5
            assert "longer than what is kept (16777216 bytes, and 4096 for each array)" in rows[4][2]
        # The members themselves are no arrays that are kept.
        assert one(connect(), "SELECT count(name) FROM tar_members(?)", contents) == 5


def test_chains_of_records_before_one_member(connect, folder, heap):
    """Of several sayings the first counts; of global ones the last. The file is read once, and nothing is kept of each."""
    n = 10_000
    chain = lambda make: b"".join(make(i) for i in range(n))
    for label, records, name, uname in [
        ("x", chain(lambda i: pax({"path": f"p{i}", "uname": f"u{i}"})), "p0", "u0"),
        ("L", chain(lambda i: gnu_long("L", f"p{i}")), "p0", ""),
        ("L and x", chain(lambda i: gnu_long("L", f"p{i}") + pax({"path": "no", "uname": "u"})), "p0", "u"),
        ("g", chain(lambda i: pax({"path": f"p{i}", "uname": f"u{i}"}, b"g")), f"p{n - 1}", f"u{n - 1}"),
        ("g and x", chain(lambda i: pax({"uname": f"u{i}"}, b"g") + pax({"path": f"p{i}"})), "p0", f"u{n - 1}"),
    ]:
        contents = tar(FIRST, records, member("a.npy", ARRAY), end=b"")
        write("x.tar", contents)
        write("x.tar.gz", gzipped(contents))
        for path in ("x.tar", "x.tar.gz"):
            db = connect()
            before = counters(db)
            heap(1 * MIB * FACTOR)
            rows = db.execute("SELECT name, uname, size FROM tar_members(?)", (path,)).fetchall()
            heap(None)
            assert rows[1:] == [(name, uname, len(ARRAY))], label
            assert max(since(db, before)[key] for key in ("bytes_read", "bytes_inflated")) <= len(contents) + BLOCK, label
        assert connect().execute("SELECT name FROM npy_meta('x.tar')").fetchall() == [("first",), (name,)]
        # And no member after them.
        write("x.tar", tar(FIRST, records))
        if "g" != label:
            assert "ends after a header that describes a member" in error_of(connect(), "SELECT name FROM tar_members('x.tar')")


def test_records_by_the_thousand(connect, heap):
    n = 100_000
    records = [("path", f"p{i}") for i in range(n)] + [(f"SCHILY.xattr.{i}", "x") for i in range(n // 10)]
    contents = tar(FIRST, pax(records) + member("a.npy", ARRAY), pax(records, b"g") + member("b.npy", ARRAY))
    heap(8 * MIB * FACTOR)
    rows = connect().execute("SELECT name FROM tar_members(?)", (contents,)).fetchall()
    heap(None)
    assert rows == [("first.npy",), (f"p{n - 1}",), (f"p{n - 1}",)]
    # A fault among them is told with its byte.
    spoiled = contents.replace(b"path=p77777\n", b"path:p77777\n", 1)
    at = spoiled.index(b"path:p77777") - 3
    assert f"no record at byte {at}," in error_of(connect(), "SELECT name FROM tar_members(?)", spoiled)


# --- sparse maps -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [4, 5, 25, 26, 50_000])
@pytest.mark.parametrize("version", tars.SPARSE_VERSIONS)
def test_sparse_maps_of_any_length(connect, version, count):
    segments = [(2 * i, b"x") for i in range(count)]
    contents = tar(FIRST, tars.sparse(version, "s.npy", segments, 2 * count), member("b.txt", b"B"))
    for source in (contents, gzipped(contents)):
        rows = connect().execute("SELECT name, type, size FROM tar_members(?)", (source,)).fetchall()
        assert rows[1:] == [("s.npy", "sparse", 2 * count), ("b.txt", "file", 1)]


def test_a_sparse_map_that_never_ends(connect, folder):
    sparse = tars.gnu_sparse("s.npy", [(i, b"") for i in range(50)], 50)
    endless = sparse[:BLOCK] + sparse[BLOCK : 2 * BLOCK] * 10_000
    for contents in (endless, endless + b"\1", endless[:-1], sparse[:BLOCK]):
        contents = FIRST + contents
        write("x.tar", contents)
        write("x.tar.gz", gzipped(contents))
        for source in ("x.tar", "x.tar.gz", contents, gzipped(contents)):
            error = error_of(connect(), "SELECT name FROM tar_members(?)", source)
            assert "sparse map" in error or "in the middle of a header" in error
            rows = connect().execute("SELECT name, error_kind FROM tar_members(?, 'row')", (source,)).fetchall()
            assert rows == [("first.npy", None), (None, "truncated")]
    # It ends where a block says so, be it another member's header.
    rows = connect().execute("SELECT name, type FROM tar_members(?)", (tar(endless, member("eaten.x"), member("b.x")),)).fetchall()
    assert rows == [("s.npy", "sparse"), ("b.x", "file")]


# --- many members ------------------------------------------------------------------------------------------


def test_a_million_members(connect, folder, heap):
    """Of a member nothing is kept once its row has gone: what there is are a window, and a compressed file's checkpoints,
    8 MiB at most."""
    n, step = 1_000_000, 20_000
    tars.write_gzipped("x.tar.gz", [*(numbered(member("0000000.cls"), np.arange(i, i + step)) for i in range(0, n, step)), END])
    db = connect()
    write("y.tar.gz", gzipped(tar(member("a.cls"))))
    db.execute("SELECT name FROM tar_members('y.tar.gz')").fetchall()
    heap(10 * MIB * FACTOR)
    before = counters(db)
    sql = "SELECT count(*), max(sample), min(name), max(name), sum(size), count(error) FROM tar_members('x.tar.gz')"
    assert one(db, sql) == (n, n - 1, "0000000.cls", "0999999.cls", 0, 0)
    assert since(db, before)["bytes_inflated"] == n * BLOCK + len(END)
    heap(1 * MIB * FACTOR)  # in the file as it is, not even these
    write("x.tar", numbered(member("0000000.cls"), np.arange(100_000)))
    before = counters(db)
    assert one(db, "SELECT count(*), max(sample), max(name) FROM tar_members('x.tar')") == (100_000, 99_999, "0099999.cls")
    assert since(db, before)["bytes_read"] <= 100_000 * BLOCK + BLOCK


# What is kept of an array in a tar: where it is and its name. Rooms double as they grow.
ARRAY_NBYTES = 56
LOOKED_UP_NBYTES = 40 + 4 * 8


def test_what_is_kept_of_each_array(connect, folder, memory_used):
    n, name_nbytes = 1 << 17, len("0000000.npy") + 1
    write("x.tar", numbered(member("0000000.npy", npy_bytes(np.arange(1))), np.arange(n)))
    db = connect()
    db.execute("SELECT value FROM npy_rows(npy_from_json('[1]'))").fetchall()
    before = memory_used()
    assert one(db, "SELECT value FROM npy_rows('x.tar', ?)", n - 1) == 0
    kept = (memory_used() - before) / n
    assert kept < ARRAY_NBYTES + (name_nbytes + 7) // 8 * 8 + 2, kept
    before = memory_used()
    assert one(db, "SELECT value FROM npy_rows('x.tar', ?)", f"{n - 1:07}") == 0
    kept = (memory_used() - before) / n
    assert kept < LOOKED_UP_NBYTES + 2 * name_nbytes, kept


# Sanitized it takes 40 s: the limit is a number whatever the build, and the rooms that double were those of the test above.
@pytest.mark.parametrize("limit", [] if shell.SANITIZED else [5_000_000])
def test_more_arrays_than_are_kept(connect, folder, limit):
    """Ten million, in a compressed tar of some megabytes."""
    one_array, n = npy_bytes(np.zeros(0, "u1")), 100_000
    contents = member("a.npy", one_array * n)
    tars.write_gzipped("x.tar.gz", [*([contents] * 100), END])
    db = connect()
    # Their names are looked up in what is made of them for that, which takes as long again.
    beyond = limit if shell.SAMPLES else f"a.npy:{limit}"
    said = error_of(db, "SELECT value FROM npy_rows('x.tar.gz', ?)", beyond)
    assert "x.tar.gz" in said and f"has more than {limit} arrays" in said
    assert one(db, "SELECT count(*) FROM npy_rows('x.tar.gz', ?)", limit - 1) == 0


# --- compressed --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT name, size, key FROM tar_members('x.tar.gz') LIMIT 1",
        "SELECT length(data) FROM tar_members('x.tar.gz') LIMIT 1",
        "SELECT value FROM npy_rows('x.tar.gz') LIMIT 3",
        "SELECT value FROM npy_rows('x.tar.gz', 0) WHERE row = 50000000",
        "SELECT npy_data(array) FROM npy_file('x.tar.gz', 0)",
        "SELECT npy_slice(array, '::2') FROM npy_file('x.tar.gz', 0)",
    ],
)
def test_a_compressed_bomb_costs_what_is_asked_for(folder, sql):
    """32 GB of zeros in 32 MB; the row in the middle is 400 MB into them."""
    write("x.tar.gz", tars.endless_tar_gz())
    nbytes, said = peak_of(sql)
    assert nbytes < 24 * MIB * FACTOR, said
    assert ("longer than" in said) == ("data" in sql or "slice" in sql), said


def test_a_compressed_bomb_is_not_inflated_further_than_needed(connect, folder):
    write("x.tar.gz", tars.endless_tar_gz())
    db = connect()
    assert db.execute("SELECT name, size FROM tar_members('x.tar.gz') LIMIT 1").fetchone() == ("a.npy", 128 + (32 << 30))
    assert db.execute("SELECT name, shape FROM npy_meta('x.tar.gz') LIMIT 1").fetchone() == ("a", f"[{4 << 30}]")
    assert db.execute("SELECT value FROM npy_rows('x.tar.gz') LIMIT 3").fetchall() == [(0.0,)] * 3
    assert counters(db)["bytes_inflated"] < MIB


def test_gzip_members_of_nothing(connect, folder):
    """By the hundred thousand: before, between and after those that hold the tar."""
    nothing, n = gzip.compress(b"", mtime=0) * 100_000, 20
    contents = tar(*(member(f"{i}.npy", npy_bytes(np.arange(i, i + 3))) for i in range(n)))
    middle = len(contents) // 2
    packed = nothing + gzipped(contents[:middle]) + nothing + gzipped(contents[middle:]) + nothing
    write("x.tar.gz", packed)
    for source in ("x.tar.gz", packed):
        db = connect()
        before = counters(db)
        assert db.execute("SELECT name, length(data) FROM tar_members(?)", (source,)).fetchall() == [(f"{i}.npy", len(ARRAY)) for i in range(n)]
        read = since(db, before)
        assert read["bytes_inflated"] == len(contents) and read["bytes_read"] <= len(packed) + 2 * BLOCK
        assert one(db, "SELECT sum(value) FROM npy_rows(?)", source) == sum(3 * i + 3 for i in range(n))
    write("x.tar.gz", nothing)
    assert "is gzip-compressed data, not a" in error_of(connect(), "SELECT * FROM tar_members('x.gz')".replace("x.gz", "x.tar.gz"))
    write("x.tar.gz", nothing[:-5])
    error_of(connect(), "SELECT * FROM npy_meta('x.tar.gz')")


# --- what is in a member -----------------------------------------------------------------------------------


def zip64_end(entries, nbytes, offset):
    """A directory that says so much of itself, after a member that is sound."""
    local = npz_bytes({"a": np.arange(3)})
    at = local.index(b"PK\1\2")
    zip64 = b"PK\6\6" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, entries, entries, nbytes, offset)
    locator = b"PK\6\7" + struct.pack("<IQI", 0, at, 1)
    return local[:at] + zip64 + locator + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)


ZIP_CLAIMS = [zip64_end(2**40, 2**40, 0), zip64_end(2**63, 2**62, 2**62), zip64_end(2**40, 0, 0), zip64_end(10**6, 100, 0), zip64_end(2**32, 2**63 - 1, 1)]
ZIP_CLAIMS += [b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFE, 0), b"PK\3\4" + b"\xff" * 60]


@pytest.mark.parametrize("i", range(len(CLAIMS) + len(ZIP_CLAIMS)))
def test_claims_inside_of_a_member(connect, folder, heap, i):
    """And in a range that is the member, after which the tar goes on."""
    claim = (CLAIMS + ZIP_CLAIMS)[i]
    contents = tar(FIRST, member("x.npy", claim), member("last.npy", ARRAY))
    write("x.tar", contents)
    write("x.tar.gz", gzipped(contents))
    for source in ("x.tar", "x.tar.gz"):
        assert_claims_cost_nothing(connect, heap, source)
        rows = connect().execute("SELECT name, error IS NULL FROM npy_meta(?, 'row')", (source,)).fetchall()
        assert rows[0] == ("first", 1) and rows[-1] == ("last", 1) and all(row[1] == 0 for row in rows[1:-1])
    at = contents.index(claim)
    source = json.dumps({"path": "x.tar", "offset": at, "nbytes": len(claim)})
    said = assert_claims_cost_nothing(connect, heap, source)
    assert "NUMPY" not in said[0] and "last" not in str(said)


def test_a_ten_in_a_range_that_leads_out_of_it(connect, folder):
    """Its chunks go on after the range, where the file has what they claim."""
    whole = ten_bytes([np.arange(9), np.arange(9)], infos=["a", "b"])
    header_chunk = ten_chunk(ten_header("i8", "c", (1000,)))
    write("x.bin", b"before" + whole + header_chunk + b"~TenBin~" + struct.pack("<q", 8000) + bytes(8000))
    for nbytes, sound in ((len(whole), 2), (len(whole) + len(header_chunk) + 16, 2), (len(whole) - 60, 1), (len(whole) + 8, 2)):
        source = json.dumps({"path": "x.bin", "offset": 6, "nbytes": nbytes})
        rows = connect().execute("SELECT name, error_kind FROM npy_meta(?, 'row')", (source,)).fetchall()
        assert [row for row in rows if row[1] is None] == [("a", None), ("b", None)][:sound] and len(rows) == sound + (nbytes != len(whole))
    source = json.dumps({"path": "x.bin", "offset": 6, "nbytes": len(whole) + len(header_chunk) + 16 + 8000})
    assert one(connect(), "SELECT count(*) FROM npy_rows(?, 'c')", source) == 1000


def test_a_directory_in_a_tar_that_names_one_member_over_and_over(connect, folder, heap):
    contents = tar(FIRST, member("x.npz", many_entries(65_535)), member("last.npy", ARRAY))
    write("x.tar", contents)
    write("x.tar.gz", gzipped(contents))
    for path in ("x.tar", "x.tar.gz"):
        heap(24 * MIB * FACTOR)
        row = one(connect(), "SELECT count(*), count(shape), sum(error LIKE '%overlap%') FROM npy_meta(?, 'row')", path)
        heap(None)
        assert row == (65_537, 3, 65_534)


def test_random_claims(connect, heap):
    """A header's number, a record's length, a name: any bytes in their place."""
    rng = seeded_generator()
    parts = [FIRST, pax({"path": "p.npy", "size": len(ARRAY)}) + member("x", ARRAY), gnu_long("L", "l" * 200) + member("y", ten_bytes([np.arange(2)])),
             tars.gnu_sparse("s.npy", [(i, b"x") for i in range(30)], 99), member("z.npz", npz_bytes({"a": np.arange(3)}, "deflate"))]  # fmt: skip
    whole = tar(*parts)
    for _ in range(20 if shell.SANITIZED else 100):
        contents = bytearray(whole)
        for _ in range(int(rng.integers(1, 4))):
            at = int(rng.integers(len(contents) // BLOCK)) * BLOCK + int(rng.choice([0, 124, 135, 156, 482, 483, 504, int(rng.integers(BLOCK))]))
            new = [b"\xff", b"\x80" + b"\x7f" * 11, b"9223372036854775807", b"\0", rng.bytes(int(rng.integers(1, 20)))][rng.integers(5)]
            contents[at : at + len(new)] = new
        for at in range(0, len(contents) - BLOCK, BLOCK):
            if contents[at + 257 : at + 262] == b"ustar":
                contents[at + 148 : at + 156] = b"%06o\0 " % tars.checksum_of(bytes(contents[at : at + BLOCK]))
        for source in (bytes(contents), gzipped(bytes(contents))):
            db = connect()
            heap(12 * MIB * FACTOR)
            for sql in EVERYWHERE[: 2 if shell.SANITIZED else None]:
                try:
                    db.execute(sql, (source,)).fetchall()
                except Exception as error:
                    assert str(error).startswith("npyext: "), (sql, error)
            heap(None)
            db.close()
