"""npy_file's handles and the scalar functions of arrays, against NumPy."""

import io
import itertools
import json
import math
import os
import re
import sqlite3
import struct
import threading
import time

import numpy as np
import pytest

import shell
from arrays import (
    ITEM_SIZE_ZERO,
    NPZ_VARIANTS,
    SCALARS,
    both_byte_orders,
    mixed_entries,
    npy_bytes,
    npz_bytes,
    object_npy_bytes,
    random_array,
    random_shape,
    random_structured_dtype,
    saved,
    seeded_generator,
    ten_bytes,
    write_sparse_npy,
    zip_bytes,
)
from expected import (
    assert_same_data,
    counters,
    error_of,
    identical,
    json_of,
    parse_json,
    scalar_value,
    since,
)

ONE_ARRAY = ["npy_shape", "npy_dtype", "npy_ndim", "npy_size", "npy_get", "npy_json", "npy_data"]
ALL = ONE_ARRAY + ["npy_valid"]


def one(db, sql, *arguments):
    ((value,),) = db.execute(sql, arguments).fetchall()
    return value


def write(path, contents):
    with open(path, "wb") as out:
        out.write(contents if isinstance(contents, bytes) else npy_bytes(contents))
    return str(path)


def handle_of(db, path, member=""):
    return one(db, "SELECT array FROM npy_file(?, ?)", path, member)


def dtypes(rng):
    yield from (order for dtype in SCALARS + ITEM_SIZE_ZERO for order in both_byte_orders(dtype))
    yield from (random_structured_dtype(rng) for _ in range(60))


def assert_item(value, item, label):
    """value is what SQL makes of a 0-d array."""
    if item.dtype.names is not None or item.dtype.kind == "c":
        assert parse_json(value) == json_of(item), label
    else:
        assert identical(value, scalar_value(item[()])), f"{label}: {value!r}, expected {scalar_value(item[()])!r}"


def random_slice(rng, shape):
    """The text of a slice and what it means to NumPy; integers are in range."""
    parts = []
    for length in shape[: int(rng.integers(len(shape) + 1))]:
        if length and rng.random() < 0.3:
            parts.append(str(rng.integers(-length, length)))
        else:
            bounds = [str(rng.integers(-7, 8)) if rng.random() < 0.5 else "" for _ in range(2)]
            parts.append(":".join(bounds + [str(rng.choice([-3, -2, -1, 1, 2, 3]))]))
    text = ", ".join(parts)
    # With `...` NumPy gives an array of the same byte order, never a scalar.
    return text, eval(f"np.s_[{', '.join([*parts, '...'])}]")


# --- values ------------------------------------------------------------------------------------------------


def test_every_dtype_from_blobs_and_handles(connect, tmp_path):
    db, rng = connect(), seeded_generator()
    for number, dtype in enumerate(dtypes(rng)):
        rank = int(rng.integers(4))
        array = random_array(rng, dtype, random_shape(rng, rank), str(rng.choice(["C", "F"])))
        path = write(tmp_path / f"{number % 20}.npy", array)
        for given in (npy_bytes(array), handle_of(db, path)):
            label = f"{dtype!r} {array.shape}"
            facts = "SELECT npy_shape(?1), npy_dtype(?1), npy_ndim(?1), npy_size(?1), npy_valid(?1)"
            expected = (json.dumps(array.shape).replace(" ", ""), dtype.name, array.ndim, array.size, 1)
            assert db.execute(facts, (given,)).fetchone() == expected, label
            assert parse_json(one(db, "SELECT json_quote(npy_json(?))", given)) == json_of(array), label
            assert_same_data(one(db, "SELECT npy_data(?)", given), array, label)
            for indices in itertools.product(*[range(n) for n in array.shape]):
                negative = [i - n if rng.random() < 0.5 else i for i, n in zip(indices, array.shape)]
                marks = "".join(", ?" for _ in indices)
                assert_item(one(db, f"SELECT npy_get(?{marks})", given, *negative), array[indices + (...,)], label)
            if array.size and array.ndim > 1:
                part = one(db, "SELECT npy_get(?, -1)", given)
                assert parse_json(part) == json_of(array[-1]), label


def test_slices_are_what_numpy_saves(connect, tmp_path):
    db, rng = connect(), seeded_generator()
    for dtype in dtypes(rng):
        array = random_array(rng, dtype, random_shape(rng, int(rng.integers(4))), str(rng.choice(["C", "F"])))
        handle = handle_of(db, write(tmp_path / "a.npy", array))
        for given in (npy_bytes(array), handle):
            text, index = random_slice(rng, array.shape)
            got = one(db, "SELECT npy_slice(?, ?)", given, text)
            assert got == saved(array[index]), f"{dtype!r} {array.shape} [{text}]"
            assert one(db, "SELECT npy_shape(npy_slice(?, ?))", given, text) == json.dumps(
                array[index].shape
            ).replace(" ", "")


def test_fields_are_what_numpy_saves(connect, tmp_path):
    db, rng = connect(), seeded_generator()
    position = [("x", ">i2"), ("y", "<f4")]
    dtype = np.dtype({"names": ["label", "box", "pos", "day"], "formats": ["u1", (">f8", (2, 3)), position, "M8[D]"], "offsets": [3, 8, 60, 72], "itemsize": 90})
    for order, shape in (("C", (70,)), ("F", (9, 5)), ("C", ()), ("C", (0, 2))):
        array = np.zeros(shape, dtype, order=order)
        array["label"], array["box"] = rng.integers(0, 9, shape), rng.normal(size=(*shape, 2, 3))
        array["pos"]["x"], array["pos"]["y"] = rng.integers(-99, 99, shape), rng.integers(0, 99, shape)
        array["day"] = rng.integers(0, 20000, shape)
        handle = handle_of(db, write(tmp_path / "a.npy", array))
        for field in ("label", "box", "pos", "pos.x", "pos.y", "day"):
            wanted = array
            for name in field.split("."):
                wanted = wanted[name]
            assert one(db, "SELECT npy_field(?, ?)", npy_bytes(array), field) == saved(wanted), field
            copied = np.load(io.BytesIO(one(db, "SELECT npy_copy(npy_field(?, ?))", handle, field)))
            assert copied.dtype == wanted.dtype and np.array_equal(copied, wanted), field
        nested = np.load(io.BytesIO(one(db, "SELECT npy_copy(npy_field(npy_field(?, 'pos'), 'y'))", handle)))
        assert np.array_equal(nested, array["pos"]["y"])


def test_a_field_of_a_file_is_no_more_than_its_call(connect, tmp_path):
    db = connect()
    array = np.zeros(3, [("x", "i4")])
    handle = handle_of(db, write(tmp_path / "a.npy", array))
    assert len(one(db, "SELECT npy_field(?, 'x')", handle)) < 1000
    assert one(db, "SELECT npy_field(?, NULL)", handle) is None and one(db, "SELECT npy_field(NULL, 'x')") is None
    for field, wanted in (("y", "there is no field 'y' (there are 'x')"), (0, "the field must be a TEXT (found a number), such as 'x' or 'pos.x'")):
        with pytest.raises(sqlite3.OperationalError, match=re.escape(wanted)):
            one(db, "SELECT npy_field(?, ?)", handle, field)


def test_headers_of_slices(connect):
    """Growth space, version 2.0 for a long header, version 3.0 for names beyond latin1."""
    db = connect()
    long = np.dtype([(f"a field with a long name, number {i}", "<f8") for i in range(2000)])
    latin = np.dtype([("\u00e9\u00ff", ">i2")])
    shapes = [(), (0,), (1,), (10**9, 0), (3, 4), (1,) * 30]
    for dtype in map(np.dtype, ["<f4", long, latin, [("\u0100", "i1")], [(("t", "x"), "u2", (2, 3))], "M8[25s]"]):
        for shape in shapes:
            array = np.zeros(shape, dtype)
            assert one(db, "SELECT npy_slice(?, '...')", npy_bytes(array)) == npy_bytes(array), (dtype, shape)


def test_arrays_of_many_blocks(connect, tmp_path):
    """Larger than any one read, in both orders; a JSON text joins its blocks."""
    db = connect()
    flat = np.arange(300_000) % 1000
    for array in (flat, flat.reshape(600, 500), np.asfortranarray(flat.reshape(600, 500)), flat.reshape(1, -1)):
        for given in (npy_bytes(array), handle_of(db, write(tmp_path / "a.npy", array))):
            assert json.loads(one(db, "SELECT npy_json(?)", given)) == array.tolist()
            assert one(db, "SELECT npy_data(?)", given) == array.tobytes()
            assert one(db, "SELECT npy_slice(?, '::-1')", given) == saved(array[::-1])


def test_indices(connect):
    db = connect()
    array = npy_bytes(np.array([[1, 2, 3], [4, 5, 6]], "i4"))
    get = lambda indices: one(db, f"SELECT npy_get(?{indices})", array)
    assert (get(", 0, 0"), get(", -1, -1"), get(", 1.0, 2"), get(", 1")) == (1, 6, 6, "[4,5,6]")
    assert get("") == "[[1,2,3],[4,5,6]]"
    for outside in (", 2", ", -3", ", 0, 3", ", 0, -4", ", 9e18, 0", ", -1e300, 0", ", NULL, 0", ", 9223372036854775807"):
        assert get(outside) is None, outside
    assert get(", -9223372036854775808") is None
    for wrong, message in [
        (", 0, 0, 0", "npyext: npy_get: too many indices: the array has 2 dimensions, 3 were given"),
        (", 9, 9, 9", "npyext: npy_get: too many indices: the array has 2 dimensions, 3 were given"),
        (", '1'", "npyext: npy_get: index 1 is not an integer (found a TEXT)"),
        (", 0, x'00'", "npyext: npy_get: index 2 is not an integer (found a BLOB)"),
        (", 0.5", "npyext: npy_get: index 1 is not an integer (found 0.5)"),
        (", 9e999", "npyext: npy_get: index 1 is not an integer (found inf)"),
    ]:
        assert error_of(db, f"SELECT npy_get(?{wrong})", array) == message
    scalar = npy_bytes(np.array(7))
    assert one(db, "SELECT npy_get(?)", scalar) == 7
    assert "0 dimensions, 1 was" in error_of(db, "SELECT npy_get(?, 0)", scalar)
    assert one(db, "SELECT npy_get(?, 0)", npy_bytes(np.zeros((0, 3)))) is None
    with pytest.raises(sqlite3.OperationalError):
        db.execute("SELECT npy_get()")


def test_fallback_is_for_what_is_out_of_range_alone(connect):
    db = connect()
    array = npy_bytes(np.array([1.5, math.nan]))
    get_or = lambda fallback, index: one(db, "SELECT npy_get_or(?, ?, ?)", array, fallback, index)
    assert (get_or(9, 0), get_or(9, 2), get_or("x", -3), get_or(None, 5), get_or(b"\0", 9)) == (1.5, 9, "x", None, b"\0")
    assert get_or(9, 1) is None and get_or(9, None) is None
    assert one(db, "SELECT npy_get_or(NULL, 1, 0)") is None
    assert one(db, "SELECT npy_get_or(?, 1)", array) == "[1.5,null]"
    assert "index 1 is not an integer" in error_of(db, "SELECT npy_get_or(?, 1, 'x')", array)


def test_null_gives_null(connect):
    db = connect()
    for function in ALL:
        assert one(db, f"SELECT {function}(NULL)") is None
    array = npy_bytes(np.arange(3))
    assert one(db, "SELECT npy_slice(NULL, '0')") is None and one(db, "SELECT npy_slice(?, NULL)", array) is None


def test_json_results_are_json(connect):
    db, array = connect(), npy_bytes(np.array([[1, 2]]))
    for call in ("npy_shape(?1)", "npy_get(?1, 0)", "npy_get_or(?1, 0, 0)", "npy_json(?1)"):
        quoted = one(db, f"SELECT json_array({call})", array)
        assert quoted == f"[{one(db, f'SELECT {call}', array)}]"
    assert one(db, "SELECT json_array(npy_get_or(?, json('[5]'), 7))", array) == "[[5]]"


# --- what is no array --------------------------------------------------------------------------------------


def test_a_text_is_never_opened(connect, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("x'y.npy", np.arange(3))
    db = connect()
    before = counters(db)
    assert error_of(db, "SELECT npy_get(?, 0)", "x'y.npy") == (
        "npyext: npy_get: 'x''y.npy' is a TEXT; to open a path, use npy_file, as in "
        "SELECT npy_get(array, 0) FROM npy_file('x''y.npy')"
    )
    for function in ALL:
        assert f"SELECT {function}(array" in error_of(db, f"SELECT {function}('x')")
    for text in ("", "\u00e9" * 500, "'" * 500, "\U0001f600" * 200, "%s%n"):
        assert "is a TEXT" in error_of(db, "SELECT npy_shape(?)", text)
    assert "npy_slice(array, '0:10')" in error_of(db, "SELECT npy_slice('x', '0')")
    assert "npy_get_or(array, NULL, 0)" in error_of(db, "SELECT npy_get_or('x', 0)")
    assert since(db, before)["files_opened"] == 0


def test_other_values_are_refused(connect):
    db = connect()
    for number in (1, 1.5):
        assert error_of(db, "SELECT npy_get(?, 0)", number).startswith("npyext: npy_get: a number is not an array")
    assert "the slice must be a TEXT" in error_of(db, "SELECT npy_slice(?, 1.5)", npy_bytes(np.arange(3)))
    assert one(db, "SELECT npy_slice(?, -1)", npy_bytes(np.arange(3))) == npy_bytes(np.array(2))
    for archive, word in ((npz_bytes({"a": np.arange(3)}), "an .npz"), (ten_bytes([np.arange(3)]), "a .ten")):
        message = error_of(db, "SELECT npy_get(?, 0)", archive)
        assert message.startswith(f"npyext: BLOB: is {word}") and "FROM npy_file(blob)" in message
        assert one(db, "SELECT npy_valid(?)", archive) == 0
    for array in (object_npy_bytes(), npy_bytes(np.array([(1, None)], [("a", "i4"), ("o", "O")]))):
        assert (one(db, "SELECT npy_valid(?)", array), one(db, "SELECT npy_ndim(?)", array)) == (1, 1)
        assert "holds Python objects" in error_of(db, "SELECT npy_data(?)", array)


def siphash(data, seed=0):
    """SipHash-2-4 as Aumasson and Bernstein give it, of 64 bits, under the key seed."""
    mask = 2**64 - 1
    rotate = lambda x, n: (x << n | x >> (64 - n)) & mask
    v = [seed & mask ^ 0x736F6D6570736575, 0x646F72616E646F6D, seed & mask ^ 0x6C7967656E657261, 0x7465646279746573]

    def rounds(n):
        for _ in range(n):
            for a, b, x, y in ((0, 1, 13, 32), (2, 3, 16, 0), (0, 3, 21, 0), (2, 1, 17, 32)):
                v[a] = (v[a] + v[b]) & mask
                v[b] = rotate(v[b], x) ^ v[a]
                v[a] = rotate(v[a], y) if y else v[a]

    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) % 256])
    for i in range(0, len(padded), 8):
        word = int.from_bytes(padded[i : i + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def test_hash(connect):
    assert siphash(b"") == 0x1E924B9D737700D7  # of the reference code under a key of zeros
    db, rng = connect(), seeded_generator()
    of = lambda data, seed=0: siphash(data, seed) % 2**63
    for size in [*range(20), 100, 5000]:
        data, seed = rng.bytes(size), int(rng.integers(-(2**63), 2**63 - 1))
        text = "".join(chr(int(c)) for c in rng.integers(1, 0xD000, size))
        assert one(db, "SELECT npy_hash(?)", data) == of(data)
        assert one(db, "SELECT npy_hash(?, ?)", text, seed) == of(text.encode(), seed)
    assert one(db, "SELECT npy_hash(-12)") == of(b"-12") and one(db, "SELECT npy_hash(1.5, -1)") == of(b"1.5", -1)
    assert db.execute("SELECT npy_hash(NULL), npy_hash(NULL, 1), npy_hash('a', NULL)").fetchone() == (None, None, None)
    assert one(db, "SELECT npy_hash(npy_json(?))", npy_bytes(np.arange(3))) == of(b"[0,1,2]")
    assert "the seed must be an INTEGER" in error_of(db, "SELECT npy_hash('a', 'b')")


def test_hash_of_a_handle_is_refused(connect, tmp_path):
    db = connect()
    handle = handle_of(db, write(tmp_path / "a.npy", np.arange(3)))
    assert error_of(db, "SELECT npy_hash(?)", handle).startswith("npyext: npy_hash: takes bytes or a text, not a handle; to hash its items, use npy_hash(npy_data(array))")
    assert one(db, "SELECT npy_hash(npy_data(?))", handle) == siphash(np.arange(3).tobytes()) % 2**63


def test_valid_is_an_answer_for_any_blob(connect):
    db, rng = connect(), seeded_generator()
    whole = npy_bytes(np.arange(5, dtype="i4"))
    assert one(db, "SELECT npy_valid(?)", whole + b"more") == 1
    for end in range(len(whole)):
        assert one(db, "SELECT npy_valid(?)", whole[:end]) == 0, end
        assert error_of(db, "SELECT npy_shape(?)", whole[:end]).startswith("npyext: BLOB: ")
    for _ in range(2000):
        damaged = bytearray(whole)
        for _ in range(int(rng.integers(1, 6))):
            damaged[int(rng.integers(len(whole)))] = int(rng.integers(256))
        assert one(db, "SELECT npy_valid(?)", bytes(damaged)) in (0, 1)
    assert one(db, "SELECT npy_valid(zeroblob(1000))") == 0 and one(db, "SELECT npy_valid(5)") == 0
    # The same header again, the data after it cut off.
    assert [row[0] for row in db.execute("SELECT npy_valid(column1) FROM (VALUES (?1), (substr(?1, 1, 130)), (?1))", (whole,))] == [1, 0, 1]


def test_arrays_that_claim_more_than_they_have(connect):
    db = connect()
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1_000_000)
    huge = npy_bytes(np.zeros((2**40, 0), "i4"))
    assert one(db, "SELECT npy_size(?)", huge) == 0
    error_of(db, "SELECT npy_json(?)", huge, code=sqlite3.SQLITE_TOOBIG)
    assert one(db, "SELECT npy_data(?)", huge) == b""
    empty_items = npy_bytes(np.ndarray(3, "S0", b"\0"))
    claimed = empty_items.replace(b"(3,), }" + b" " * 20, b"(9223372036854775807,), }" + b" " * 2)
    assert one(db, "SELECT npy_size(?)", claimed) == 2**63 - 1
    assert one(db, "SELECT npy_get(?, -1)", claimed) == ""
    assert one(db, "SELECT length(npy_slice(?, '5:'))", claimed) == 128
    error_of(db, "SELECT npy_json(?)", claimed, code=sqlite3.SQLITE_TOOBIG)


def test_limit_of_sqlite(connect, tmp_path):
    db = connect()
    path = str(tmp_path / "big.npy")
    write_sparse_npy(path, (50_000_000,))
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1_000_000)
    before = counters(db)
    for call in ("npy_data(array)", "npy_json(array)", "npy_slice(array, ':')", "npy_get(array)"):
        error_of(db, f"SELECT {call} FROM npy_file(?)", path, code=sqlite3.SQLITE_TOOBIG)
    assert one(db, "SELECT length(npy_data(npy_slice(array, ':100'))) FROM npy_file(?)", path) == 800
    assert since(db, before)["bytes_read"] < 1_000_000


# --- npy_file ----------------------------------------------------------------------------------------------


def test_columns_and_arguments(connect):
    columns = connect().execute("SELECT name, hidden FROM pragma_table_xinfo('npy_file')").fetchall()
    assert [name for name, hidden in columns if not hidden] == ["path", "name", "array"]
    assert [name for name, hidden in columns if hidden] == ["source", "member", "on_error", "parts", "stem", "parent", "key", "ext", "array_key"]


def test_arrays_of_every_container(connect, tmp_path):
    db = connect()
    arrays = {"a": np.arange(6).reshape(2, 3), "b": np.array([1.5, -2.5], ">f4")}
    for variant in NPZ_VARIANTS:
        contents = npz_bytes(arrays, variant)
        path = write(tmp_path / "x.npz", contents)
        rows = db.execute("SELECT path, name, npy_json(array) FROM npy_file(?)", (path,)).fetchall()
        assert rows == [(path, "a", "[[0,1,2],[3,4,5]]"), (path, "b", "[1.5,-2.5]")], variant
        blobs = db.execute("SELECT path, name, array FROM npy_file(?)", (contents,)).fetchall()
        assert blobs == [(None, name, npy_bytes(array)) for name, array in arrays.items()], variant
    for order in "<>":
        contents = ten_bytes([np.array([[1, 2]], "i2"), np.array([0.5], "f8")], order, ["x", "y"])
        path = write(tmp_path / "x.ten", contents)
        want = [("x", "[[1,2]]"), ("y", "[0.5]")]
        for source in (path, contents):
            assert db.execute("SELECT name, npy_json(array) FROM npy_file(?)", (source,)).fetchall() == want
        (blob,) = db.execute("SELECT array FROM npy_file(?, 'x')", (contents,)).fetchone()
        assert blob == npy_bytes(np.array([[1, 2]], order + "i2"))
    single = npy_bytes(np.arange(3))
    assert db.execute("SELECT path, name, array FROM npy_file(?)", (single,)).fetchall() == [(None, "", single)]


def test_entries_that_are_no_arrays(connect, tmp_path):
    db = connect()
    path = write(tmp_path / "mixed.npz", zip_bytes(mixed_entries()))
    listed = [name for (name,) in db.execute("SELECT name FROM npz_members(?) WHERE is_array ORDER BY idx", (path,))]
    assert [name for (name,) in db.execute("SELECT name FROM npy_file(?)", (path,))] == listed
    assert "magic bytes are missing" in error_of(db, "SELECT * FROM npy_file(?, 'readme.txt')", path)
    assert "there is no array 'gone'" in error_of(db, "SELECT * FROM npy_file(?, 'gone')", path)
    assert one(db, "SELECT count(*) FROM npy_file(?, 'gone', 'skip')", path) == 0


def test_opening_is_lazy(connect, tmp_path):
    """A .npy's header is not parsed for a handle, and bad ones are found out when they are used. One block is read of each
    file, which is to tell the format."""
    db = connect()
    for i in range(5):
        write(tmp_path / f"{i}.npy", np.arange(1000))
    write(tmp_path / "5.npy", npy_bytes(np.arange(3)).replace(b"descr", b"desc!"))
    before = counters(db)
    assert one(db, "SELECT count(array) FROM npy_file(?)", f"{tmp_path}/*.npy") == 6
    used = since(db, before)
    assert used["bytes_read"] <= 6 * 512 and (used["read_calls"] <= 6 or shell.MAPPED)
    assert "bad header" in error_of(db, "SELECT npy_shape(array) FROM npy_file(?)", f"{tmp_path}/*.npy")
    assert one(db, "SELECT sum(npy_valid(array)) FROM npy_file(?)", f"{tmp_path}/*.npy") == 5


def test_files_are_opened_once(connect, tmp_path):
    db = connect()
    path = write(tmp_path / "a.npy", np.arange(100_000))
    before = counters(db)
    rows = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT 100000)"
    total = one(db, f"{rows} SELECT sum(npy_get(array, i)) FROM npy_file(?), n", path)
    assert total == 4999950000
    used = since(db, before)
    assert used["files_opened"] == 1 and used["read_calls"] < 100
    assert used["bytes_read"] < 2 * 800_000 or shell.MAPPED
    before = counters(db)
    assert one(db, "SELECT sum(npy_get(array, 0)) FROM npy_file(?)", path) == 0
    assert since(db, before)["files_opened"] == 0


def test_many_arrays_in_turn(connect, tmp_path):
    db = connect()
    for i in range(12):
        write(tmp_path / f"{i:02}.npy", np.arange(4) + 10 * i)
    pairs = """SELECT sum(npy_get(a.array, 1) * npy_get(b.array, 2)) FROM npy_file(?1) a, npy_file(?1) b"""
    expected = sum((10 * i + 1) * (10 * j + 2) for i in range(12) for j in range(12))
    assert one(db, pairs, f"{tmp_path}/*.npy") == expected


# --- handles -----------------------------------------------------------------------------------------------


@pytest.fixture
def losses(tmp_path):
    for i in range(4):
        write(tmp_path / f"run{i}.npy", np.array([1.0, i / 2]))
    return f"{tmp_path}/run*.npy"


def test_handles_go_through_queries(connect, losses):
    db = connect()
    want = [(0.0,), (0.5,), (1.0,), (1.5,)]
    for sql in (
        "WITH h AS MATERIALIZED (SELECT * FROM npy_file(?)) SELECT npy_get(array, -1) v FROM h ORDER BY v",
        "SELECT npy_get(array, -1) v FROM (SELECT array, path FROM npy_file(?) ORDER BY path DESC LIMIT 9) ORDER BY v",
        "SELECT npy_get(array, -1) v FROM npy_file(?) GROUP BY array ORDER BY v",
        "SELECT DISTINCT npy_get(array, -1) v FROM (SELECT DISTINCT array FROM npy_file(?)) ORDER BY 1",
        "SELECT npy_get(a, -1) v FROM (SELECT array a FROM npy_file(?) UNION SELECT NULL) WHERE v NOT NULL ORDER BY v",
        "SELECT npy_get(coalesce(NULL, array), 1) v FROM npy_file(?) ORDER BY row_number() OVER (ORDER BY path)",
        "SELECT npy_get(max(array), 1) v FROM npy_file(?) GROUP BY path",
    ):
        assert db.execute(sql, (losses,)).fetchall() == want, sql
    db.execute("CREATE TEMP TABLE h AS SELECT * FROM npy_file(?)", (losses,))
    assert db.execute("SELECT npy_get(array, -1) v FROM h WHERE array IN (SELECT array FROM h) ORDER BY v").fetchall() == want
    again = db.execute("SELECT count(*) FROM h JOIN npy_file(?) f ON f.array = h.array", (losses,)).fetchone()
    assert again == (4,), "the same file has the same handle"


def test_handles_of_others_are_refused(connect, losses):
    db, other = connect(), connect()
    handle = handle_of(db, losses.replace("*", "1"))
    assert one(db, "SELECT npy_get(?, 1)", handle) == 0.5
    refused = "the handle is not one that npy_file made on this connection"
    assert refused in error_of(other, "SELECT npy_get(?, 1)", handle)
    assert one(other, "SELECT npy_valid(?)", handle) == 0
    for i in range(len(handle)):
        for bit in (1, 0x80):
            altered = handle[:i] + bytes([handle[i] ^ bit]) + handle[i + 1 :]
            message = error_of(db, "SELECT npy_shape(?)", altered)
            assert (refused if i >= 8 else "is not a .npy") in message, i
    for end in range(8, len(handle)):
        assert refused in error_of(db, "SELECT npy_shape(?)", handle[:end])
    assert refused in error_of(db, "SELECT npy_shape(?)", handle + b"\0")
    # Made by hand for another file, with the right bytes everywhere but in the MAC.
    forged = handle[:40] + losses.replace("*", "2").encode()
    assert refused in error_of(db, "SELECT npy_shape(?)", forged)
    assert since(db, counters(db))["files_opened"] == 0


def test_handles_hold_what_they_were_made_of(connect, tmp_path):
    db = connect()
    path = write(tmp_path / "a.npy", np.arange(3))
    handle = handle_of(db, path)
    assert one(db, "SELECT npy_get(?, 1)", handle) == 1
    # Replaced by one of the same size, then grown, then gone: each is noticed by the next statement.
    for contents in (np.arange(3) + 5, np.arange(4)):
        write(tmp_path / "new.npy", contents)
        os.replace(tmp_path / "new.npy", path)
        assert error_of(db, "SELECT npy_get(?, 1)", handle) == (
            f"npyext: {path}: the file has changed since npy_file made this handle of it; call npy_file again"
        )
        assert one(db, "SELECT npy_valid(?)", handle) == 0
        assert one(db, "SELECT npy_get(array, 1) FROM npy_file(?)", path) == contents[1]
    handle = handle_of(db, path)
    assert one(db, "SELECT npy_get(?, 3)", handle) == 3
    os.remove(path)
    assert error_of(db, "SELECT npy_get(?, 1)", handle) == f"npyext: {path}: no such file"
    assert one(db, "SELECT npy_valid(?)", handle) == 0


def test_a_file_written_over_in_place_is_noticed(connect, tmp_path):
    db = connect()
    path = write(tmp_path / "a.npy", np.arange(3))
    statement = "SELECT npy_get(array, 0) FROM npy_file(?)"
    assert one(db, statement, path) == 0
    with open(path, "r+b") as file:
        file.seek(-24, os.SEEK_END)
        file.write(struct.pack("<q", 77))
    os.utime(path, ns=(1, 1))
    assert one(db, statement, path) == 77


def test_a_statement_that_runs_again_looks_again(connect, tmp_path):
    """sqlite3's statement cache hands out the same statement: it is not what is remembered."""
    db = connect()
    path = write(tmp_path / "a.npy", np.arange(3))
    handle = handle_of(db, path)
    for _ in range(3):
        assert one(db, "SELECT npy_get(?, 1)", handle) == 1
    os.remove(path)
    error_of(db, "SELECT npy_get(?, 1)", handle)


def test_damage_is_told_with_its_place(connect, tmp_path):
    db = connect()
    array = np.arange(1000)
    path = write(tmp_path / "cut.npy", npy_bytes(array)[:-1])
    assert error_of(db, "SELECT npy_get(array, 0) FROM npy_file(?)", path).startswith(f"npyext: {path}: data is truncated")
    archive = bytearray(npz_bytes({"a": array}))
    archive[len(archive) // 2] ^= 1
    path = write(tmp_path / "bad.npz", bytes(archive))
    assert error_of(db, "SELECT npy_json(array) FROM npy_file(?)", path).startswith(
        f"npyext: {path}:a: the entry's bytes are damaged"
    )
    path = write(tmp_path / "cut.ten", ten_bytes([array, array], "<", ["x", "y"])[:-100])
    assert one(db, "SELECT npy_get(array, -1) FROM npy_file(?, 'x')", path) == 999
    message = error_of(db, "SELECT npy_get(array, -1) FROM npy_file(?, 'y')", path)
    assert message.startswith(f"npyext: {path}:y: data is truncated")


# --- where they may stand ----------------------------------------------------------------------------------


def test_in_schemas_of_untrusted_databases(connect):
    db = connect()
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute(
        """CREATE TABLE arrays(
            id INTEGER PRIMARY KEY, array BLOB CHECK (npy_valid(array) AND npy_ndim(array) = 1),
            shape TEXT AS (npy_shape(array)) STORED, last AS (npy_get(array, -1)) VIRTUAL)"""
    )
    db.execute("CREATE INDEX by_first ON arrays(npy_get(array, 0))")
    db.execute("CREATE INDEX by_type ON arrays(npy_dtype(array)) WHERE npy_ndim(array) = 1")
    db.execute("CREATE VIEW summary AS SELECT id, npy_size(array) AS size, npy_json(npy_slice(array, ':2')) AS head FROM arrays")
    db.executemany("INSERT INTO arrays(array) VALUES (?)", [(npy_bytes(np.arange(3) + i),) for i in range(50)])
    with pytest.raises(sqlite3.IntegrityError):
        db.execute("INSERT INTO arrays(array) VALUES (?)", (npy_bytes(np.ones((2, 2))),))
    db.execute("CREATE TABLE checked(array CHECK (npy_valid(array)))")
    with pytest.raises(sqlite3.IntegrityError):
        db.execute("INSERT INTO checked VALUES (x'00')")
    plan = db.execute("EXPLAIN QUERY PLAN SELECT id FROM arrays WHERE npy_get(array, 0) = 7").fetchall()
    assert "by_first" in plan[0][3]
    assert db.execute("SELECT id, shape, last FROM arrays WHERE npy_get(array, 0) = 7").fetchall() == [(8, "[3]", 9)]
    assert db.execute("SELECT * FROM summary WHERE id = 8").fetchall() == [(8, 3, "[7,8]")]
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_a_hostile_schema_reaches_no_file(connect, tmp_path):
    """Neither a text nor a handle that someone else made gives a stored CHECK or view anything to read."""
    db = connect()
    path = write(tmp_path / "secret.npy", np.arange(3))
    foreign = handle_of(connect(), path)
    db.execute("CREATE VIEW stolen AS SELECT npy_get(array, 0) FROM npy_file('%s')" % path)
    with pytest.raises(sqlite3.OperationalError, match="unsafe use"):
        db.execute("SELECT * FROM stolen")
    db.execute("CREATE TABLE trap(x CHECK (npy_get(x'%s', 0) = 99))" % foreign.hex())
    before = counters(db)
    assert "is not one that npy_file made" in error_of(db, "INSERT INTO trap VALUES (1)")
    assert since(db, before)["files_opened"] == 0


def test_interrupts(connect, tmp_path):
    db = connect()
    path = str(tmp_path / "big.npy")
    write_sparse_npy(path, (15000, 8000), "<f4", fortran_order=True)
    timer = threading.Timer(0.3, db.interrupt)
    timer.start()
    started = time.monotonic()
    with pytest.raises(sqlite3.OperationalError, match="interrupt"):
        db.execute("SELECT length(npy_json(array)) FROM npy_file(?)", (path,)).fetchall()
    assert time.monotonic() - started < 3
    timer.join()


def test_blob_columns_are_read_in_place(connect):
    """A lookup in a large BLOB costs no more than one in a small one."""
    db = connect()
    db.execute("CREATE TABLE t AS SELECT ? AS array", (npy_bytes(np.zeros(4_000_000)),))
    rows = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT 2000)"
    started = time.monotonic()
    assert one(db, f"{rows} SELECT sum(npy_get(?, i)) FROM n", npy_bytes(np.ones(4_000_000))) == 2000
    assert time.monotonic() - started < 2


def test_a_handle_is_a_source(connect, tmp_path):
    """Wherever a source goes in, for the one array that it names."""
    path, db = tmp_path / "w.npz", connect()
    path.write_bytes(npz_bytes({"w": np.arange(6).reshape(3, 2), "b": np.arange(4.0)}))
    files = "npy_file(?) f"
    assert db.execute(
        f"SELECT f.name, r.name, r.row, r.value FROM {files}, npy_rows(f.array) r WHERE f.name = 'b'", (str(path),)
    ).fetchall() == [("b", "b", i, float(i)) for i in range(4)]
    assert db.execute(f"SELECT m.name, m.idx, m.shape FROM {files}, npy_meta(f.array) m", (str(path),)).fetchall() == [
        ("w", 0, "[3,2]"), ("b", 1, "[4]")
    ]
    assert db.execute(f"SELECT sum(e.value) FROM {files}, npy_elements(f.array) e", (str(path),)).fetchone() == (21,)
    (handle,) = db.execute("SELECT array FROM npy_file(?, 'b')", (str(path),)).fetchone()
    assert "member" in error_of(db, "SELECT * FROM npy_rows(?, 'w')", handle)
    forged = handle[:-1] + bytes([handle[-1] ^ 1])
    for wrong, connection in ((forged, db), (handle, connect())):
        assert "handle" in error_of(connection, "SELECT * FROM npy_rows(?)", wrong)
    path.write_bytes(npz_bytes({"w": np.arange(3), "b": np.arange(40.0)}))
    assert "has changed" in error_of(db, "SELECT * FROM npy_rows(?)", handle)
