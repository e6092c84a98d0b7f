"""GGUF files. The oracle is a dequantizer of NumPy's own (tests/lib/gguf_blocks.py); PyPI's gguf is asked in
tests/clients/clients_gguf.py."""

import json
import sqlite3
import struct
import threading
import time

import numpy as np
import pytest

import shell
from arrays import npy_bytes, seeded_generator
from expected import counters, error_of
from gguf_blocks import dequantized, random_blocks, random_file
from gguf_files import BLOCKS, FOREIGN, TYPES, gguf, pair, tensor_info, text
from tars import shard_writer


def counted(db, sql, *arguments):
    """The rows, and what was counted meanwhile."""
    before = counters(db)
    rows = db.execute(sql, arguments).fetchall()
    after = counters(db)
    return rows, {name: after[name] - before[name] for name in after}


def quantized(rng, kind, rows, blocks):
    """(bytes, items) of rows of so many blocks."""
    made = random_blocks(rng, kind, rows * blocks)
    return made.tobytes(), dequantized(made, kind).reshape(rows, -1)


def same(data, items):
    """Whether bytes are those items; NaN is NaN."""
    found = np.frombuffer(data, items.dtype).reshape(items.shape)
    return np.array_equal(found, items, equal_nan=items.dtype.kind == "f")


SMALL = gguf(
    [("a", "F32", (2, 3), np.arange(6, dtype="f4").tobytes()), ("q", "Q8_0", (2, 32), bytes(68)), ("b", "I16", (5,), bytes(10))],
    [("general.architecture", "string", "llama"), ("x.list", "array", ("string", ["a", "bc"])), ("x.deep", "array", ("array", [("int8", [1]), ("uint64", [])]))],
)


# --- values ------------------------------------------------------------------------------------------------------------


def test_random_files(db, folder):
    """300 files of both byte orders: every item, and the metadata."""
    rng = seeded_generator()
    for number in range(300):
        contents, tensors, said, _ = random_file(rng)
        (folder / "a.gguf").write_bytes(contents)
        source = "a.gguf" if number % 2 else contents
        rows = db.execute("SELECT name, format, descr, shape, size, metadata, error FROM npy_meta(?) WHERE idx IS NOT NULL", (source,)).fetchall()
        shapes = [(name, "gguf", kind, json.dumps(shape, separators=(",", ":")), int(np.prod(shape, dtype=int)), None) for name, (kind, shape, _, _) in tensors.items()]
        assert [(*row[:5], row[6]) for row in rows] == shapes, number
        for (metadata,) in db.execute("SELECT metadata FROM npy_meta(?)", (source,)):
            assert json.loads(metadata) == said, (number, metadata, said)
        for index, (kind, _, _, items) in enumerate(tensors.values()):
            if items is None:
                assert f"has the dtype {kind}, which is not read" in error_of(db, "SELECT * FROM npy_rows(?, ?)", source, index)
                continue
            [(data,)] = db.execute("SELECT data FROM npy_rows(?, ?, 'None')", (source, index))
            assert same(data, items), (number, index, kind)


def test_items_in_place(db, folder):
    """As in a .npy: numbers, statistics, and where they are in the file."""
    for kind, code in {"F32": "f4", "F16": "f2", "F64": "f8", "I8": "i1", "I16": "i2", "I32": "i4", "I64": "i8"}.items():
        for order in "<>":
            array = np.arange(-6, 6).astype(order + code).reshape(3, 4)
            np.save("a.npy", array)
            (folder / "a.gguf").write_bytes(gguf([("other", "I8", (3,), b"abc"), ("w", kind, (3, 4), array.tobytes())], order=order))
            for sql in ("SELECT row, value, data FROM npy_rows({})", "SELECT count, nulls, min, max, sum, argmax FROM npy_stats({})", "SELECT idx, value FROM npy_elements({})"):
                assert db.execute(sql.format("'a.gguf', 'w'")).fetchall() == db.execute(sql.format("'a.npy'")).fetchall(), (kind, order)
            dtype, descr, offset, nbytes = db.execute("SELECT dtype, descr, data_offset, nbytes FROM npy_meta('a.gguf') WHERE name = 'w'").fetchone()
            assert (dtype, descr, nbytes) == (array.dtype.name, kind, array.nbytes)
            assert (folder / "a.gguf").read_bytes()[offset : offset + nbytes] == array.tobytes()


@pytest.mark.parametrize("kind", BLOCKS)
def test_parts_of_quantized_tensors(db, folder, kind):
    """Rows, slices and single items, wherever they cut the blocks."""
    rng = seeded_generator()
    octets, items = quantized(rng, kind, 40, 3)
    np.save("a.npy", items)
    (folder / "a.gguf").write_bytes(gguf([("w", kind, items.shape, octets)]))
    assert db.execute("SELECT dtype, descr, nbytes, itemsize, data_offset FROM npy_meta('a.gguf')").fetchall() == [("float32", kind, items.nbytes, 4, None)]
    for _ in range(150):
        i, j = sorted(int(n) for n in rng.integers(0, 41, 2))
        k, m = sorted(int(n) for n in rng.integers(0, items.shape[1] + 1, 2))
        for part in (f"{i}:{j}, {k}:{m}", f"{min(i, 39)}, {min(k, items.shape[1] - 1)}", f"::-3, {k}:{m}:7", f":, {min(k, items.shape[1] - 1)}"):
            sql = "SELECT npy_data(npy_slice(array, ?)) FROM npy_file(?)"
            assert db.execute(sql, (part, "a.gguf")).fetchone() == db.execute(sql, (part, "a.npy")).fetchone(), part
    stats = "SELECT count, mean, std, min, max, argmin FROM npy_stats(?)"
    assert db.execute(stats, ("a.gguf",)).fetchall() == db.execute(stats, ("a.npy",)).fetchall()


@pytest.mark.parametrize("kind", BLOCKS)
def test_only_the_blocks_asked_for_are_read(connect, folder, kind):
    db = connect()
    octets, items = quantized(seeded_generator(), kind, 20_000, 2)
    (folder / "a.gguf").write_bytes(gguf([("w", kind, items.shape, octets), ("b", "F32", (1,), bytes(4))]))
    db.execute("SELECT data FROM npy_rows('a.gguf', 'w') WHERE row = 3").fetchall()
    rows, spent = counted(db, "SELECT data FROM npy_rows('a.gguf', 'w') WHERE row = 7777")
    assert same(rows[0][0], items[7777])
    assert spent["bytes_read"] <= 4 * len(octets) // 20_000 + 9000
    # and all of it, which threads read
    np.save("a.npy", items)
    stats = "SELECT count, mean, std, min, max, argmin, median FROM npy_stats(?, 'w')", "SELECT count, mean, std, min, max, argmin, median FROM npy_stats(?)"
    (row,), spent = counted(db, stats[0], "a.gguf")
    assert [row] == db.execute(stats[1], ("a.npy",)).fetchall()
    assert b"".join(data for (data,) in db.execute("SELECT data FROM npy_rows('a.gguf', 'w')")) == items.tobytes()
    [(total,)], spent = counted(db, "SELECT sum FROM npy_stats('a.gguf', 'w')")
    assert spent["bytes_read"] <= len(octets) * 1.1 + 20_000


def test_every_function(db, folder):
    octets, q = quantized(seeded_generator(), "Q4_0", 4, 1)
    w = np.arange(12, dtype="f4").reshape(4, 3)
    whole = gguf([("w", "F32", (4, 3), w.tobytes()), ("q", "Q4_0", (4, 32), octets)])
    (folder / "m.gguf").write_bytes(whole)
    np.savez("m.npz", w=w, q=q)
    assert db.execute("SELECT name, status FROM npy_compare('m.gguf', 'm.npz')").fetchall() == [("w", "equal"), ("q", "equal")]
    assert db.execute("SELECT npy_json(npy_member(?, 'w'))", (whole,)).fetchone() == (json.dumps(w.tolist(), separators=(",", ":")),)
    assert db.execute("SELECT npy_data(npy_calc('a - b', a.array, b.array)) FROM npy_file('m.gguf', 'q') a, npy_file('m.npz', 'q') b").fetchone() == (bytes(512),)
    assert db.execute("SELECT sum(count) FROM npy_histogram('m.gguf', 'q')").fetchone() == (128,)
    assert db.execute("SELECT npy_shape(array), npy_dtype(array) FROM npy_file('m.gguf', 'q')").fetchone() == ("[4,32]", "float32")
    db.execute("CREATE VIRTUAL TABLE t USING npy('m.gguf', member='w', columns='x,y,z')")
    assert db.execute("SELECT rowid, * FROM t WHERE rowid = 3").fetchone() == (3, 9, 10, 11)
    db.execute("SELECT * FROM npy_write('copy.npz', (SELECT npz_archive(name, array) FROM npy_file('m.gguf')))")
    assert np.array_equal(np.load("copy.npz")["q"], q)
    (folder / "s.tar").write_bytes(shard_writer([("a", {"gguf": whole, "npy": npy_bytes(np.arange(2))})])[0])
    [(offset, size)] = db.execute("SELECT data_offset, size FROM tar_members('s.tar') WHERE ext = 'gguf'")
    source = json.dumps({"path": "s.tar", "offset": offset, "nbytes": size})
    assert [data for (data,) in db.execute("SELECT npy_data(array) FROM npy_file(?)", (source,))] == [w.tobytes(), q.tobytes()]


def test_what_is_listed_and_not_read(db, folder):
    """With shape and stored bytes."""
    tensors = [(kind, kind, (3, 2 * TYPES[kind][1]), bytes(6 * TYPES[kind][2])) for kind in FOREIGN] + [("new", 99, (7,), b""), ("w", "F32", (1,), bytes(4))]
    contents = gguf(tensors)
    rows = db.execute("SELECT name, dtype, descr, kind, shape, nbytes, error FROM npy_meta(?)", (contents,)).fetchall()
    assert rows[:-2] == [(kind, kind, kind, None, f"[3,{2 * TYPES[kind][1]}]", 6 * TYPES[kind][2], None) for kind in FOREIGN]
    assert rows[-2] == ("new", "type 99", "type 99", None, "[7]", 0, None)
    survey = db.execute("SELECT name, count, error FROM npy_stats(?) WHERE on_error = 'row'", (contents,)).fetchall()
    assert all(f"has the dtype {row[1]}, which is not read" in said and count is None for row, (_, count, said) in zip(rows[:-1], survey))
    assert survey[-1] == ("w", 1, None)


# --- metadata ----------------------------------------------------------------------------------------------------------


def metadata_of(db, pairs, **more):
    [(said,)] = db.execute("SELECT metadata FROM npy_meta(?)", (gguf([], pairs, **more),))
    return said


def test_metadata(db):
    said = metadata_of(db, [
        ("general.architecture", "string", "llama"), ("tokens", "array", ("string", ["t"] * 65)), ("scores", "array", ("float32", [0.1] * 64)),
        ("nan", "float64", float("nan")), ("inf", "float32", -float("inf")), ("not UTF-8 \"", "string", b"a\xffb\xc3"), ("nested", "array", ("array", [("bool", [True]), ("array", [])])),
        ("long", "array", ("array", [("bool", [True])] * 100)), ("most", "uint64", 2**64 - 1),
    ])  # fmt: skip
    assert said == (
        '{"general.architecture":"llama","tokens":{"type":"string","length":65},"scores":[' + ",".join(["0.1"] * 64) + '],"nan":null,"inf":-9e999,'
        '"not UTF-8 \\"":"a\ufffdb\ufffd","nested":[[true],[]],"long":{"type":"array","length":100},"most":"18446744073709551615"}'
    )
    assert metadata_of(db, []) == "{}"
    assert metadata_of(db, [("a", "bool", True)], order=">", version=2) == '{"a":true}'
    assert db.execute("SELECT json_extract(metadata, '$.\"general.architecture\"') FROM npy_meta(?)", (SMALL,)).fetchone() == ("llama",)


def test_metadata_are_made_when_asked_for(connect, folder):
    db = connect()
    (folder / "a.gguf").write_bytes(gguf([(f"t{i}", "I8", (1,), b"x") for i in range(50)], [(f"k{i}", "string", "x" * 20_000) for i in range(20)]))
    _, spent = counted(db, "SELECT name, shape FROM npy_meta('a.gguf')")
    assert spent["bytes_read"] < 500_000
    rows, spent = counted(db, "SELECT name, length(metadata) FROM npy_meta('a.gguf')")
    assert len(rows) == 50 and rows[0][1] > 400_000 and spent["bytes_read"] < 900_000  # once for all rows


def test_a_vocabulary_is_read_in_pieces(connect, folder):
    db = connect()
    words = ("array", ("string", [f"token {i}" for i in range(150_000)]))
    octets = bytes(40_000_000)
    contents = gguf([("w", "F32", (10_000_000,), octets)], [("general.architecture", "string", "llama"), ("tokens", *words), ("scores", "array", ("float32", [0.5] * 150_000))])
    (folder / "a.gguf").write_bytes(contents)
    header_nbytes = len(contents) - len(octets)
    rows, spent = counted(db, "SELECT shape, metadata ->> '$.tokens.length' FROM npy_meta('a.gguf')")
    assert rows == [("[10000000]", 150_000)]
    assert spent["bytes_read"] <= 2 * header_nbytes + 600_000 and spent["read_calls"] < 100


# --- what is refused ---------------------------------------------------------------------------------------------------


def head(ntensors=0, npairs=0, version=3, order="<"):
    return b"GGUF" + struct.pack(order + "IQQ", version, ntensors, npairs)


def nested(levels):
    """A value of arrays in arrays."""
    return pair("k", "array", ("int8", []))[: -12] + struct.pack("<IQ", 9, 1) * (levels - 1) + struct.pack("<IQ", 0, 0)


REFUSED = {
    "version 1": (head(version=1), "is GGUF of version 1; 2 and 3 are read"),
    "version 4": (head(version=4), "is GGUF of version 4; 2 and 3 are read"),
    "version 1, big-endian": (head(version=1, order=">"), "is GGUF of version 1; 2 and 3 are read"),
    "many tensors": (head(2**60) + bytes(99), "the header is truncated (it says 1152921504606846976 tensors from byte 24, there are 99 bytes)"),
    "all tensors": (head(2**64 - 1), "it says 18446744073709551615 tensors"),
    "many keys": (head(0, 2**61) + bytes(99), "it says 2305843009213693952 keys from byte 24"),
    "a key beyond the file": (head(0, 1) + struct.pack("<Q", 2**63) + bytes(9), "it says 9223372036854775808 bytes from byte 32"),
    "a key of 64 KiB": (head(0, 1) + text("k" * 65536) + bytes(9), "a key of 65536 bytes, and there may be 65535"),
    "a name of 64 KiB": (head(1) + text("k" * 65536) + bytes(99), "a tensor's name of 65536 bytes, and there may be 65535"),
    "a type of values": (head(0, 1) + text("k") + struct.pack("<IQ", 13, 0), "bad GGUF header: 13 is not the type of a value"),
    "a type of items": (head(0, 1) + text("k") + struct.pack("<IIQ", 9, 99, 0), "99 is not the type of a value"),
    "an array beyond the file": (head(0, 1) + text("k") + struct.pack("<IIQ", 9, 12, 2**61), "it says 2305843009213693952 values from byte"),
    "texts beyond the file": (head(0, 1) + text("k") + struct.pack("<IIQ", 9, 8, 2**61) + bytes(64), "it says 2305843009213693952 values from byte"),
    "arrays beyond the file": (head(0, 1) + text("k") + struct.pack("<IIQ", 9, 9, 2**59) + bytes(64), "it says 576460752303423488 values from byte"),
    "depth": (head(0, 1) + nested(17), "arrays are nested more than 16 deep"),
    "great depth": (head(0, 1) + nested(100_000), "arrays are nested more than 16 deep"),
    "a key twice": (gguf([], [("k", "bool", True), ("k", "int8", 1)]), "the key 'k' is there twice"),
    "no alignment": (gguf([], [("general.alignment", "uint32", 0)]), "general.alignment is not a power of 2"),
    "an alignment of 24": (gguf([], [("general.alignment", "uint32", 24)]), "general.alignment is not a power of 2"),
    "another type of alignment": (gguf([], [("general.alignment", "uint64", 32)]), "general.alignment is not a uint32"),
    "dimensions beyond the file": (head(1) + text("t") + struct.pack("<I", 2**32 - 1) + bytes(99), "it says 4294967295 dimensions"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_refused(db, folder, what):
    contents, reason = REFUSED[what]
    (folder / "a.gguf").write_bytes(contents)
    begin = time.perf_counter()
    for sql in ("SELECT * FROM npy_meta(?)", "SELECT metadata FROM npy_meta(?)", "SELECT * FROM npy_rows(?)"):
        assert reason in error_of(db, sql, "a.gguf")
        assert reason in error_of(db, sql, contents)
    assert time.perf_counter() - begin < 2


def test_depth_that_is_read(db):
    assert db.execute("SELECT metadata FROM npy_meta(?)", (head(0, 1) + nested(16),)).fetchone() == ('{"k":' + "[" * 16 + "]" * 16 + "}",)


def one(*infos, data=b""):
    """A file of such tensors."""
    header = head(len(infos)) + b"".join(infos)
    return header + bytes(-len(header) % 32) + data


FAULTS = {
    "an offset beyond the file": (tensor_info("w", "F32", (2,), 96), "data is truncated (header says 8 bytes, there are 0 from byte"),
    "an offset beyond 2^63": (tensor_info("w", "F32", (2,), 2**64 - 32), "data is truncated"),
    "unaligned": (tensor_info("w", "F32", (2,), 4), "its offset 4 is not a multiple of the alignment 32"),
    "too long": (tensor_info("w", "F32", (17,), 0), "data is truncated (header says 68 bytes, there are 64 from byte"),
    "too long in blocks": (tensor_info("w", "Q8_0", (2, 32), 0), "data is truncated (header says 68 bytes, there are 64 from byte"),
    "too long and not read": (tensor_info("w", "Q5_K", (256,), 0), "data is truncated (header says 176 bytes"),
    "parts of a block": (tensor_info("w", "Q8_0", (32, 31), 0), "its rows of 31 items are not whole blocks of 32 (Q8_0)"),
    "a block of one item": (tensor_info("w", "Q4_K", (), 0), "its rows of 1 items are not whole blocks of 256 (Q4_K)"),
    "a dimension of 2^63": (tensor_info("w", "F32", (2**63,), 0), "a dimension exceeds 2^63 - 1"),
    "a product": (tensor_info("w", "I8", (2**40, 2**40), 0), "the shape has more than 2^63 - 1 items"),
    "a product of zeros": (tensor_info("w", "I8", (2**40, 2**40, 0), 0), "the shape has more than 2^63 - 1 items"),
    "a product of bytes": (tensor_info("w", "Q4_0", (2**57, 32), 0), "the shape needs more than 2^63 - 1 bytes"),
    "a product of bytes that are not read": (tensor_info("w", "Q8_K", (2**54, 256), 0), "data is truncated"),
    "65 dimensions": (tensor_info("w", "F32", (1,) * 65, 0), "it has 65 dimensions, and there may be 64"),
}  # fmt: skip


@pytest.mark.parametrize("what", FAULTS)
def test_faults_of_one_tensor(db, what):
    info, reason = FAULTS[what]
    contents = one(tensor_info("a", "I8", (3,), 0), info, tensor_info("b", "I8", (2,), 32), data=b"abc" + bytes(29) + b"de" + bytes(30))
    rows = db.execute("SELECT name, error FROM npy_meta(?) WHERE on_error = 'row'", (contents,)).fetchall()
    assert [row[0] for row in rows] == ["a", "w", "b"] and rows[0][1] is None is rows[2][1] and reason in rows[1][1]
    assert reason in error_of(db, "SELECT * FROM npy_rows(?, 'w')", contents)
    assert db.execute("SELECT value FROM npy_rows(?, 'b')", (contents,)).fetchall() == [(100,), (101,)]


def test_names(db):
    contents = one(*(tensor_info(name, "I8", (1,), 32 * i) for i, name in enumerate(["a", "b", "a", "", b"\xff"])), data=bytes(range(160)))
    assert [row[0] for row in db.execute("SELECT name FROM npy_meta(?)", (contents,))] == ["a", "b", "a", "", "\ufffd"]
    assert "2 arrays have the name 'a'; give the idx" in error_of(db, "SELECT * FROM npy_rows(?, 'a')", contents)
    assert db.execute("SELECT value FROM npy_rows(?, 2)", (contents,)).fetchall() == [(64,)]
    assert db.execute("SELECT value FROM npy_rows(?, 'b')", (contents,)).fetchall() == [(32,)]


def test_every_length(db):
    """The header, or a tensor, is truncated; what is there is read."""
    end = SMALL.index(struct.pack("<6f", *range(6)))
    for nbytes in range(1, len(SMALL)):
        cut = SMALL[:nbytes]
        if nbytes < 4:
            assert "is not a .npy" in error_of(db, "SELECT * FROM npy_meta(?)", cut)
            continue
        try:
            rows = db.execute("SELECT name, error FROM npy_meta(?) WHERE on_error = 'row'", (cut,)).fetchall()
        except sqlite3.OperationalError as error:
            assert "the header is truncated" in str(error), nbytes
            continue
        if rows[0][0] is None:
            assert "the header is truncated" in rows[0][1] and nbytes < end, (nbytes, rows)
            continue
        assert nbytes >= end - 31 and [row[0] for row in rows] == ["a", "q", "b"], nbytes
        sound = [error is None for _, error in rows]
        assert sound == [nbytes >= end + last for last in (24, 32 + 68, 128 + 10)], nbytes
        assert all("data is truncated" in error for _, error in rows if error is not None)


def test_spoiled_headers(db):
    """Any byte may be any other: rows or errors, at once."""
    rng = seeded_generator()
    for off in range(4, SMALL.index(struct.pack("<6f", *range(6)))):
        for byte in (0, 0xFF, int(rng.integers(256))):
            contents = SMALL[:off] + bytes([byte]) + SMALL[off + 1 :]
            for sql in ("SELECT *, metadata FROM npy_meta(?) WHERE on_error = 'row'", "SELECT * FROM npy_stats(?) WHERE on_error = 'row'"):
                begin = time.perf_counter()
                try:
                    db.execute(sql, (contents,)).fetchall()
                except sqlite3.Error as error:
                    assert "npyext: " in str(error)
                assert time.perf_counter() - begin < 2


def test_memory_follows_the_bytes(connect, folder, heap):
    db = connect()
    heap(1 << 20)
    for what in ("many tensors", "many keys", "a key beyond the file", "an array beyond the file", "texts beyond the file", "dimensions beyond the file"):
        contents, reason = REFUSED[what]
        assert reason in error_of(db, "SELECT * FROM npy_meta(?)", contents)


def test_interrupts(connect, folder):
    files = {
        "tensors": gguf([(f"t{i}", "I8", (0,), b"") for i in range(150_000)]),
        "texts": gguf([], [("k", "array", ("string", [""] * 1_000_000))]),
        "arrays": gguf([], [("k", "array", ("array", [("int8", [])] * 500_000))]),
        "keys": gguf([], [(f"k{i}", "bool", True) for i in range(200_000)]),
    }
    for what, contents in files.items():
        db = connect()
        (folder / "a.gguf").write_bytes(contents)
        source = json.dumps(["a.gguf"] * 3000)  # minutes of it
        timer = threading.Timer(0.3, db.interrupt)
        timer.start()
        begin = time.perf_counter()
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            db.execute("SELECT sum(length(metadata)) FROM npy_meta(?)", (source,)).fetchall()
        assert time.perf_counter() - begin < (20 if shell.SANITIZED else 4), what
        timer.join()


# --- writing -----------------------------------------------------------------------------------------------------------


def test_nothing_is_written_to_one(db, folder):
    (folder / "a.gguf").write_bytes(SMALL)
    (folder / "a.npy").write_bytes(SMALL)
    assert db.execute("SELECT bytes FROM npy_write('copy.gguf', ?)", (SMALL,)).fetchone() == (len(SMALL),)
    assert "is a GGUF file, which is not replaced; remove it first" in error_of(db, "SELECT * FROM npy_write('copy.gguf', ?)", SMALL)
    assert "the name ends in .gguf, but the file would be a .npy" in error_of(db, "SELECT * FROM npy_write('b.gguf', npy_from_json('[1]'))")
    assert "is a GGUF file, which is not replaced; remove it first" in error_of(db, "SELECT * FROM npy_write('a.npy', npy_from_json('[1]'))")
    assert "and this is a .gguf" in error_of(db, "CREATE VIRTUAL TABLE temp.t USING npy('a.npy', mode='a')")
    assert "gguf" in error_of(db, "CREATE VIRTUAL TABLE temp.t USING npy('a.gguf', member='a', mode='r+')")
    assert (folder / "a.gguf").read_bytes() == SMALL == (folder / "a.npy").read_bytes()
