"""Checkpoints in .safetensors files. What the library itself says of such files is in tests/clients/clients_safetensors.py."""

import json
import os
import sqlite3
import threading
import time

import numpy as np
import pytest

import shell
from arrays import npy_bytes, random_array, random_shape, seeded_generator
from expected import error_of
from safetensors_files import BITS, DTYPES, file_of, safetensors_bytes, tensor
from tars import shard_writer
from written import make

META = "SELECT name, idx, format, dtype, descr, shape, nbytes, data_offset, error FROM npy_meta(?)"


def counters(db):
    return json.loads(db.execute("SELECT npyext_counters()").fetchone()[0])


def counted(db, sql, *arguments):
    """The rows, and what was counted meanwhile."""
    before = counters(db)
    rows = db.execute(sql, arguments).fetchall()
    after = counters(db)
    return rows, {name: after[name] - before[name] for name in after}


# --- values ------------------------------------------------------------------------------------------------


def test_values_of_every_dtype(db, folder):
    """As the same array in a .npy."""
    rng = seeded_generator()
    for name, code in DTYPES.items():
        for _ in range(3):
            array = random_array(rng, np.dtype(code), random_shape(rng, int(rng.integers(5))))
            np.save("a.npy", array)
            (folder / "a.safetensors").write_bytes(safetensors_bytes({"other": np.arange(3.0), "w": array}))
            for sql in ("SELECT row, value, data FROM npy_rows({})", "SELECT * FROM npy_stats({})", "SELECT idx, value FROM npy_elements({})"):
                got = db.execute(sql.format("'a.safetensors', 'w'")).fetchall()
                want = db.execute(sql.format("'a.npy'")).fetchall()
                if "stats" in sql:
                    got, want = [row[2:] for row in got], [row[2:] for row in want]
                assert got == want, (name, sql)
            facts = db.execute("SELECT dtype, descr, shape, nbytes FROM npy_meta('a.safetensors') WHERE name = 'w'").fetchone()
            assert facts == (array.dtype.name, name, json.dumps(list(array.shape), separators=(",", ":")), array.nbytes)


@pytest.mark.parametrize("name", BITS)
def test_dtypes_that_numpy_lacks(db, folder, name):
    """As the same bits in a .npy, seen as that dtype."""
    code, shown = BITS[name]
    bits = np.arange(0, 65536, 7 if code == "<u2" else 257, dtype=code) if code == "<u2" else np.arange(256, dtype=code)
    np.save("bits.npy", bits)
    (folder / "a.safetensors").write_bytes(safetensors_bytes({"w": bits}, bits={"w": name}))
    got = db.execute("SELECT value FROM npy_rows('a.safetensors')").fetchall()
    assert got == db.execute("SELECT value FROM npy_rows('bits.npy') WHERE view = ?", (shown,)).fetchall() and len(got) == len(bits)
    assert db.execute("SELECT dtype, descr, itemsize FROM npy_meta('a.safetensors')").fetchone() == (shown, name, bits.itemsize)
    stats = "SELECT count, nulls, min, max, sum FROM npy_stats({})"
    assert db.execute(stats.format("'a.safetensors'")).fetchall() == db.execute(stats.format("'bits.npy'") + " WHERE view = ?", (shown,)).fetchall()


def test_arrays_are_numbered_in_the_order_of_their_data(db, folder):
    header = {"z": tensor("I8", [2], 4, 6), "a": tensor("I8", [4], 0, 4), "none": tensor("F32", [0, 3], 6, 6), "m": tensor("U8", [], 6, 7)}
    data = bytes(range(10, 17))
    (folder / "a.safetensors").write_bytes(file_of(header, data))
    rows = db.execute(META, ("a.safetensors",)).fetchall()
    begin = 8 + len(json.dumps(header))
    assert [(name, idx, offset - begin) for name, idx, _, _, _, _, _, offset, _ in rows] == [("a", 0, 0), ("z", 1, 4), ("none", 2, 6), ("m", 3, 6)]
    assert {row[2] for row in rows} == {"safetensors"} and {row[-1] for row in rows} == {None}
    assert db.execute("SELECT name, value FROM npy_rows('a.safetensors')").fetchall() == [("a", 10), ("a", 11), ("a", 12), ("a", 13), ("z", 14), ("z", 15), ("m", 16)]
    assert db.execute("SELECT value FROM npy_rows('a.safetensors', 1)").fetchall() == [(14,), (15,)]
    assert "there is no array 'x' (there are 'a', 'z', 'none', 'm')" in error_of(db, "SELECT * FROM npy_rows('a.safetensors', 'x')")


@pytest.mark.parametrize("metadata", [None, {}, {"format": "pt"}, {"\u00e9\"\\": "\n\U0001f600", "": ""}, {"a": "\x00b"}])
def test_metadata(db, folder, metadata):
    (folder / "a.safetensors").write_bytes(safetensors_bytes({"w": np.arange(2)}, metadata))
    [(text,)] = db.execute("SELECT metadata FROM npy_meta('a.safetensors')")
    assert (None if text is None else json.loads(text)) == metadata
    assert db.execute("SELECT metadata FROM npy_meta(?)", (npy_bytes(np.arange(2)),)).fetchone() == (None,)
    if metadata and "\0" not in text and "\\u0000" not in text:  # at which SQLite's JSON functions end a text
        key, value = next(iter(metadata.items()))
        assert db.execute("SELECT said.value FROM npy_meta('a.safetensors') AS m, json_each(m.metadata) AS said WHERE said.key = ?", (key,)).fetchone() == (value,)


def test_every_function(db, folder):
    w, b = np.arange(12, dtype="f4").reshape(4, 3), np.array([1.5, np.nan, np.inf])
    (folder / "m-00001-of-00002.safetensors").write_bytes(safetensors_bytes({"layer.0.w": w}))
    (folder / "m-00002-of-00002.safetensors").write_bytes(safetensors_bytes({"layer.0.b": b}))
    whole = safetensors_bytes({"layer.0.w": w, "layer.0.b": b})
    (folder / "m.safetensors").write_bytes(whole)
    np.savez("m.npz", **{"layer.0.w": w, "layer.0.b": b})
    assert db.execute("SELECT name, status FROM npy_compare('m.safetensors', 'm.npz')").fetchall() == [("layer.0.w", "equal"), ("layer.0.b", "equal")]
    assert db.execute("SELECT count(*), sum(size) FROM npy_meta('m-*-of-*.safetensors')").fetchone() == (2, 15)
    assert db.execute("SELECT name FROM npy_stats('m-*.safetensors') WHERE nulls > 0").fetchall() == [("layer.0.b",)]
    assert db.execute("SELECT value FROM npy_rows('m-*.safetensors', 'layer.0.w') WHERE row = 2").fetchone() == ("[6.0,7.0,8.0]",)
    assert db.execute("SELECT value FROM npy_rows(?, 'layer.0.w', '1, 2')", (whole,)).fetchone() == (5.0,)
    assert db.execute("SELECT sum(count) FROM npy_histogram('m.safetensors', 'layer.0.w')").fetchone() == (12,)
    assert db.execute("SELECT npy_json(npy_slice(array, ':, 1')) FROM npy_file('m.safetensors', 'layer.0.w')").fetchone() == ("[1.0,4.0,7.0,10.0]",)
    assert db.execute("SELECT npy_json(npy_member(?, 'layer.0.w'))", (whole,)).fetchone() == (json.dumps(w.tolist(), separators=(",", ":")),)
    db.execute("CREATE VIRTUAL TABLE t USING npy('m.safetensors', member='layer.0.w', columns='x,y,z')")
    assert db.execute("SELECT rowid, * FROM t WHERE rowid = 3").fetchone() == (3, 9, 10, 11)
    db.execute("SELECT * FROM npy_write('copy.npz', (SELECT npz_archive(name, array) FROM npy_file('m.safetensors')))")
    assert [np.array_equal(np.load("copy.npz")[name], array, equal_nan=True) for name, array in (("layer.0.w", w), ("layer.0.b", b))] == [True, True]


def test_a_range_and_a_tar(db, folder):
    whole = safetensors_bytes({"w": np.arange(3)})
    (folder / "s.tar").write_bytes(shard_writer([("a", {"safetensors": whole, "npy": npy_bytes(np.arange(2))})])[0])
    [(offset, size)] = db.execute("SELECT data_offset, size FROM tar_members('s.tar') WHERE ext = 'safetensors'")
    source = json.dumps({"path": "s.tar", "offset": offset, "nbytes": size})
    assert db.execute("SELECT name, value FROM npy_rows(?)", (source,)).fetchall() == [("w", 0), ("w", 1), ("w", 2)]
    assert db.execute("SELECT name FROM npy_meta('s.tar')").fetchall() == [("a",)]
    [(data,)] = db.execute("SELECT data FROM tar_members('s.tar') WHERE ext = 'safetensors'")
    assert data == whole


# --- what is read ------------------------------------------------------------------------------------------


def test_a_thousand_tensors_are_one_read_of_the_header(db, folder):
    path = "big.safetensors"
    (folder / path).write_bytes(safetensors_bytes({f"t{i}": np.full(500, i, "f4") for i in range(1000)}))
    header_nbytes = int.from_bytes((folder / path).read_bytes()[:8], "little")
    rows, spent = counted(db, "SELECT count(dtype), sum(nbytes), max(error) FROM npy_meta(?)", path)
    assert rows == [(1000, 2_000_000, None)]
    assert spent["files_opened"] == 1 and spent["read_calls"] == 2  # its first bytes, and the header
    assert spent["bytes_read"] <= 512 + header_nbytes
    lookup = "SELECT value FROM npy_rows(?, ?) WHERE row = 7"
    assert counted(db, lookup, path, "t500")[0] == [(500,)]
    rows, spent = counted(db, lookup, path, "t501")
    assert rows == [(501,)] and spent["read_calls"] <= 1 and spent["bytes_read"] <= 2000 and spent["files_opened"] == 0
    assert spent["names_hashed"] <= 3  # nothing is parsed again


def test_tensors_in_any_order_take_no_longer_than_in_theirs(db, folder):
    """Steps of SQLite say nothing of our own work, but the names that are hashed and the bytes that are read do."""
    n = 50_000
    rng = seeded_generator()
    order = rng.permutation(n)
    text = "{" + ",".join('"layer.%d.weight":{"dtype":"I8","shape":[1],"data_offsets":[%d,%d]}' % (i, i, i + 1) for i in order) + "}"
    (folder / "many.safetensors").write_bytes(file_of(text.encode(), bytes(i % 100 for i in range(n))))
    rows, spent = counted(db, "SELECT count(*), sum(idx = CAST(substr(name, 7, length(name) - 13) AS INTEGER)) FROM npy_meta('many.safetensors')")
    assert rows == [(n, n)] and spent["names_hashed"] <= 2 * n and spent["bytes_read"] <= len(text) + 600
    assert db.execute("SELECT value FROM npy_rows('many.safetensors', 'layer.40077.weight')").fetchone() == (77,)


def test_interrupts(db, folder):
    n = 200_000
    text = "{" + ",".join('"w%d":{"dtype":"I8","shape":[0],"data_offsets":[0,0]}' % i for i in range(n)) + "}"
    (folder / "many.safetensors").write_bytes(file_of(text.encode()))
    db.set_progress_handler(lambda: 1, 1)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        db.execute("SELECT count(dtype) FROM npy_meta('many.safetensors')").fetchall()
    db.set_progress_handler(None, 0)
    assert db.execute("SELECT count(dtype) FROM npy_meta('many.safetensors')").fetchone() == (n,)


def long_headers(nbytes):
    """Of one token, of many, of none."""
    yield b"{" + b" " * nbytes + b"}"
    yield b'{"__metadata__":{"a":"' + b"\\n" * (nbytes // 2) + b'"}}'
    yield b'{"__metadata__":{"a":"' + "\u00e9".encode() * (nbytes // 2) + b'"}}'
    yield b'{"__metadata__":{' + b",".join(b'"%07d":""' % i for i in range(nbytes // 14)) + b"}}"
    yield b'{"a":{"z":[' + b"[]," * (nbytes // 3) + b'0],"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'


def test_long_headers_can_be_interrupted(connect, folder):
    for header in long_headers(4_000_000):
        db = connect()
        (folder / "a.safetensors").write_bytes(file_of(header))
        source = json.dumps(["a.safetensors"] * 3000)  # minutes of it
        timer = threading.Timer(0.3, db.interrupt)
        timer.start()
        begin = time.perf_counter()
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            db.execute("SELECT count(*) FROM npy_meta(?)", (source,)).fetchall()
        assert time.perf_counter() - begin < (20 if shell.SANITIZED else 4)
        timer.join()


def test_a_long_text_is_not_cut_in_a_character(connect, folder):
    """Texts are read in pieces of 65,536 bytes: each character of 2, 3 and 4 bytes at each place of the seam."""
    db = connect()
    for character in ("\u00e9", "\u4e2d", "\U0001f600"):
        for nbefore in range(65536 - 60, 65536 - 20):
            text = "x" * nbefore + character * 40
            (folder / "a.safetensors").write_bytes(file_of(json.dumps({"__metadata__": {"k": text}}, ensure_ascii=False).encode()))
            assert db.execute("SELECT json_extract(metadata, '$.k') FROM npy_meta('a.safetensors')").fetchall() == [(text,)]
    bad = b'{"__metadata__":{"k":"' + b"x" * 65530 + b"\xe4\xb8" + b'"}}'
    (folder / "a.safetensors").write_bytes(file_of(bad))
    assert f"at byte {bad.index(0xE4)} a string is not UTF-8" in error_of(db, "SELECT * FROM npy_meta('a.safetensors')")


def test_memory_follows_the_bytes(connect, folder, heap):
    """A header that claims 90 MB of a file without them takes none."""
    db = connect()
    (folder / "a.safetensors").write_bytes(file_of({}, length=90_000_000))
    heap(1 << 20)
    assert "the header is truncated" in error_of(db, "SELECT * FROM npy_meta('a.safetensors')")
    (folder / "a.safetensors").write_bytes(file_of({"a": tensor("F32", [2**40], 0, 2**42)}))
    assert "data is truncated" in error_of(db, "SELECT * FROM npy_meta('a.safetensors')")


# --- what is refused ---------------------------------------------------------------------------------------

SOUND = {
    "no tensors": file_of({}),
    "no tensors, metadata": file_of({"__metadata__": {}}),
    "no metadata": file_of({"__metadata__": None}),
    "blanks after": file_of(b"{}      "),
    "blanks before": file_of(b" \n{}"),
    "other keys": file_of({"a": {**tensor("F32", [2], 0, 8), "more": [1, {"x": None}]}}, bytes(8)),
    "nothing in it": file_of({"a": tensor("F32", [0], 0, 0), "b": tensor("F32", [1], 0, 4), "c": tensor("F32", [5, 0], 4, 4)}, bytes(4)),
    "four bits": file_of({"a": tensor("F4", [4], 0, 2)}, bytes(2)),
    "six bits": file_of({"a": tensor("F6_E2M3", [4], 0, 3), "b": tensor("F6_E3M2", [8], 3, 9)}, bytes(9)),
}

UNSOUND = {
    "a hole before": (file_of({"a": tensor("F32", [2], 4, 12)}, bytes(12)), "'a' begins at byte 4 of the data, where 0 is the next that belongs to none"),
    "an overlap": (file_of({"a": tensor("F32", [2], 0, 8), "b": tensor("F32", [2], 4, 12)}, bytes(12)), "'b' begins at byte 4 of the data, where 8 is"),
    "a gap": (file_of({"a": tensor("F32", [1], 0, 4), "b": tensor("F32", [1], 8, 12)}, bytes(12)), "'b' begins at byte 8 of the data, where 4 is"),
    "the same twice": (file_of({"a": tensor("F32", [1], 0, 4), "b": tensor("F32", [1], 0, 4)}, bytes(4)), "begins at byte 0 of the data, where 4 is"),
    "backward": (file_of({"a": tensor("F32", [2], 8, 0)}, bytes(8)), "bad safetensors header: 'a' begins at byte 8"),
    "data cut short": (file_of({"a": tensor("F32", [2], 0, 8)}, bytes(7)), "data is truncated (the header says 8 bytes, there are 7"),
    "data after": (file_of({"a": tensor("F32", [2], 0, 8)}, bytes(9)), "1 bytes after the last tensor belong to none"),
    "another size": (file_of({"a": tensor("F32", [3], 0, 8)}, bytes(8)), "'a' has 12 bytes by its shape, and 8 by its offsets"),
    "no whole bytes": (file_of({"a": tensor("F4", [3], 0, 2)}, bytes(2)), "'a' has 12 bits, which are not whole bytes"),
    "another size of four bits": (file_of({"a": tensor("F4", [4], 0, 3)}, bytes(3)), "'a' has 2 bytes by its shape, and 3 by its offsets"),
    "a negative length": (file_of({"a": tensor("F32", [-2], 0, 8)}, bytes(8)), "a shape is not a list of up to 64 lengths"),
    "less than nothing": (file_of(b'{"a":{"dtype":"F32","shape":[0],"data_offsets":[-0,0]}}'), "data_offsets is not a list of two offsets"),
    "a name of a megabyte": (file_of(b'{"' + b"n" * 1_048_577 + b'":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'), "a name of 1048577 bytes, and there may be 1048576"),
    "a fraction": (file_of({"a": tensor("F32", [2.0], 0, 8)}, bytes(8)), "a shape is not a list of up to 64 lengths"),
    "65 dimensions": (file_of({"a": tensor("F32", [1] * 65, 0, 4)}, bytes(4)), "a shape is not a list of up to 64 lengths"),
    "too many items": (file_of({"a": tensor("F32", [2**62, 4], 0, 8)}, bytes(8)), "'a' has more than 2^63 - 1 bits"),
    "a number beyond 64 bits": (file_of({"a": tensor("F32", [2**70], 0, 8)}, bytes(8)), "a shape is not a list of up to 64 lengths"),
    "three offsets": (file_of({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4, 8]}}, bytes(8)), "data_offsets is not a list of two offsets"),
    "no offsets": (file_of({"a": {"dtype": "F32", "shape": [2]}}, bytes(8)), "'a' lacks its dtype, shape or data_offsets"),
    "a dtype that is no text": (file_of({"a": tensor(4, [2], 0, 8)}, bytes(8)), "a dtype is not a text"),
    "a tensor that is no object": (file_of({"a": [1]}), "a tensor is not an object"),
    "a list": (file_of(b'["a", 1, 2, 3]'), None),
    "a number in the metadata": (file_of({"__metadata__": {"a": 1}}), "__metadata__ is not an object of texts"),
    "metadata twice": (file_of(b'{"__metadata__":{},"__metadata__":{}}'), "'__metadata__' is there twice"),
    "a name twice": (file_of(b'{"a":{"dtype":"I8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"I8","shape":[0],"data_offsets":[0,0]}}'), "two tensors have the name 'a'"),
    "a name twice, spelled in two ways": (file_of(b'{"a":{"dtype":"I8","shape":[0],"data_offsets":[0,0]},"\\u0061":{"dtype":"I8","shape":[0],"data_offsets":[0,0]}}'), "two tensors have the name 'a'"),
    "a key twice": (file_of(b'{"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}}', bytes(8)), "'dtype' is there twice"),
    "something after the header": (file_of(b"{} x"), "bad safetensors header: "),
    "not UTF-8": (file_of(b'{"\xff":1}'), "bad safetensors header: "),
    "no end": (file_of(b'{"a":'), "bad safetensors header: "),
    "deep": (file_of(b'{"a":{"x":' + b"[" * 5000 + b"]" * 5000 + b"}}"), "bad safetensors header: the JSON is nested more than 1000 deep"),
    "a length beyond the file": (file_of(b'{"a":{}}', length=1000), "the header is truncated (its length says 1000 bytes, there are 8 from byte 8)"),
    "a length beyond what there may be": (file_of(b"{}", length=100_000_001), "its length says 100000001 bytes, and there may be 100000000"),
    "a length beyond 63 bits": (file_of(b"{}", length=2**64 - 1), "its length says 18446744073709551615 bytes"),
    "no length": (b"\x10\0\0\0", "is too short for a safetensors file (4 bytes, where the length of the header has 8)"),
    "a header of nothing": (file_of(b""), "bad safetensors header: "),
}  # fmt: skip


@pytest.mark.parametrize("name", SOUND)
def test_sound_headers(db, folder, name):
    (folder / "a.safetensors").write_bytes(SOUND[name])
    assert {row[-1] for row in db.execute(META, ("a.safetensors",))} <= {None}
    assert {row[-1] for row in db.execute(META, (SOUND[name],))} <= {None}


@pytest.mark.parametrize("name", UNSOUND)
def test_unsound_headers(db, folder, name):
    contents, message = UNSOUND[name]
    (folder / "a.safetensors").write_bytes(contents)
    found = error_of(db, "SELECT * FROM npy_meta('a.safetensors')")
    assert found.startswith("npyext: a.safetensors: ") and (message or "") in found, found
    for sql in ("npy_rows", "npy_stats", "npy_file"):
        assert error_of(db, f"SELECT * FROM {sql}('a.safetensors')") == found
    [(kind,)] = db.execute("SELECT error_kind FROM npy_meta WHERE source = 'a.safetensors' AND on_error = 'row'")
    assert kind in ("header", "truncated", "format", "limit")
    error_of(db, "SELECT * FROM npy_meta(?)", contents)  # a BLOB has no name: a .safetensors by its first bytes, or nothing


def test_a_file_cut_short_anywhere(db, folder):
    whole = safetensors_bytes({"w": np.arange(5, dtype="i2"), "b": np.ones(2)}, {"a": "b"})
    for nbytes in range(len(whole)):
        (folder / "a.safetensors").write_bytes(whole[:nbytes])
        rows = db.execute("SELECT name, error_kind FROM npy_meta WHERE source = 'a.safetensors' AND on_error = 'row'").fetchall()
        assert len(rows) == 1 and rows[0][0] is None and rows[0][1] in ("header", "truncated", "empty"), (nbytes, rows)


def test_dtypes_that_are_not_read_are_listed(db, folder):
    header = {
        "a": tensor("F32", [2], 0, 8), "q": tensor("F4", [2, 4], 8, 12), "x": tensor("MX9", [3], 12, 24), "z": tensor("I8", [2], 24, 26),
    }  # fmt: skip
    (folder / "a.safetensors").write_bytes(file_of(header, bytes(range(26))))
    rows = db.execute("SELECT name, dtype, descr, kind, itemsize, byteorder, shape, size, nbytes, error FROM npy_meta('a.safetensors')").fetchall()
    assert rows == [
        ("a", "float32", "F32", "f", 4, "<", "[2]", 2, 8, None),
        ("q", "F4", "F4", None, None, None, "[2,4]", 8, 4, None),
        ("x", "MX9", "MX9", None, None, None, "[3]", 3, 12, None),
        ("z", "int8", "I8", "i", 1, "|", "[2]", 2, 2, None),
    ]
    for name, dtype in (("q", "F4"), ("x", "MX9")):
        for sql in (
            "SELECT * FROM npy_rows('a.safetensors', ?)", "SELECT * FROM npy_elements('a.safetensors', ?)", "SELECT * FROM npy_stats('a.safetensors', ?)",
            "SELECT count(*) FROM npy_rows('a.safetensors', ?)", "SELECT * FROM npy_histogram('a.safetensors', ?)", "SELECT npy_json(array) FROM npy_file('a.safetensors', ?)",
            "SELECT npy_dtype(array) FROM npy_file('a.safetensors', ?)", "SELECT npz_archive(name, array) FROM npy_file('a.safetensors', ?)",
        ):  # fmt: skip
            assert f"a.safetensors:{name}: has the dtype {dtype}, which is not read" in error_of(db, sql, name)
    stats = db.execute("SELECT name, count, error_kind FROM npy_stats WHERE source = 'a.safetensors' AND on_error = 'row'").fetchall()
    assert stats == [("a", 2, None), ("q", None, "unsupported"), ("x", None, "unsupported"), ("z", 2, None)]
    assert db.execute("SELECT value FROM npy_rows('a.safetensors', 'z')").fetchall() == [(24,), (25,)]


def test_none_is_written_or_replaced(db, folder):
    contents = safetensors_bytes({"w": np.arange(3)})
    (folder / "a.safetensors").write_bytes(contents)
    assert "the name ends in .safetensors, but the file would be a .npy" in error_of(db, "SELECT * FROM npy_write('a.safetensors', npy_from_json('[1]'))")
    os.rename("a.safetensors", "a.weights")
    assert "is a safetensors file, which is not replaced; remove it first" in error_of(db, "SELECT * FROM npy_write('a.weights', npy_from_json('[1]'))")
    os.rename("a.weights", "a.safetensors")
    make(db, "a.safetensors", mode="w+", dtype="f4")
    assert "is a safetensors file, which is not replaced" in error_of(db, "INSERT INTO out VALUES (1)")
    db.execute("DROP TABLE out")
    assert "mode='a' adds to a .npy, an .npz or a .ten, and this is a .safetensors" in error_of(db, "CREATE VIRTUAL TABLE temp.o USING npy('a.safetensors', mode='a')")
    assert "mode='r+' only changes rows of a .npy; make a new .npz" in error_of(db, "CREATE VIRTUAL TABLE temp.o USING npy('a.safetensors', mode='r+')")
    assert (folder / "a.safetensors").read_bytes() == contents and os.listdir(folder) == ["a.safetensors"]
    assert db.execute("SELECT bytes FROM npy_write('copy.safetensors', ?)", (contents,)).fetchone() == (len(contents),)  # as it is
    assert (folder / "copy.safetensors").read_bytes() == contents


def test_other_files_are_not_taken_for_one(db):
    """A length that may be one, and what is no header after it."""
    for contents in (b"\x10\0\0\0\0\0\0\0[1, 2, 3]       ", b"\x10\0\0\0\0\0\0\0" + bytes(16), b"\x10\0\0\0\0\0\0\0{x: 1}          ", b"\1\0\0\0\0\0\0\0{}"):
        assert "is not a .npy, .npz, .ten, .tar, .safetensors, .pt, .pkl or .gguf file" in error_of(db, "SELECT * FROM npy_meta(?)", contents)
