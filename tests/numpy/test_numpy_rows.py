"""npy_rows against NumPy: every dtype, byte order, order, rank and container, by path and as a BLOB."""

import warnings

import numpy as np
import pytest

from arrays import (
    COMPLEX,
    DATES,
    FLOATS,
    FULL_RANGE_UNITS,
    INTEGERS,
    ITEM_SIZE_ZERO,
    MULTIPLES,
    NPZ_VARIANTS,
    TEXTS,
    UNITS,
    both_byte_orders,
    containers,
    npy_bytes,
    npy_containers,
    npy_text_bytes,
    npz_bytes,
    object_npy_bytes,
    random_array,
    random_shape,
    random_structured_dtype,
    seeded_generator,
    ten_bytes,
)
from expected import assert_same_data, error_of, assert_same_rows, float_text, parse_json

GROUPS = {
    "numbers": ["?"] + INTEGERS + FLOATS + COMPLEX,
    "dates": DATES,
    "text": TEXTS,
    "item size 0": ITEM_SIZE_ZERO,
}


def read_rows(db, source, arguments=()):
    marks = ", ?" * len(arguments)
    return db.execute(
        f"SELECT row, value, data FROM npy_rows(?{marks}) ORDER BY row", (source, *arguments)
    ).fetchall()


class Reader:
    """Reads an array's files by path and as BLOBs, and compares with the array."""

    def __init__(self, db, folder):
        self.db, self.path = db, folder / "array"

    def check(self, array, made):
        for container in made:
            label = f"{array.dtype} {array.shape} {container.label}"
            # No suffix: the format is told by the bytes.
            self.path.write_bytes(container.contents)
            for source in (str(self.path), container.contents):
                where = f"{label} {'path' if source is not container.contents else 'BLOB'}"
                assert_same_rows(read_rows(self.db, source, container.arguments), array, where)


@pytest.fixture
def reader(connect, in_memory):
    return Reader(connect(), in_memory)


@pytest.mark.parametrize("group", GROUPS)
def test_every_dtype_in_every_container(reader, group):
    rng = seeded_generator()
    for dtype in GROUPS[group]:
        for ordered in both_byte_orders(dtype):
            for rank in range(5):
                order = str(rng.choice(["C", "F"]))
                array = random_array(rng, ordered, random_shape(rng, rank), order)
                reader.check(array, containers(array))


def test_fortran_order_of_every_rank(reader):
    rng = seeded_generator()
    for dtype in ["<i2", ">f8", "S3", "<U2", [("a", "i1"), ("b", ">f4", (2,))]]:
        for rank in range(5):
            array = random_array(rng, dtype, random_shape(rng, rank, may_be_empty=False), "F")
            reader.check(array, npy_containers(array))
    # The header may claim it of arrays whose storage it does not change.
    for shape, data in (((), b"\7"), ((3,), b"\7\6\5"), ((1, 3), b"\7\6\5")):
        contents = npy_text_bytes(f"{{'descr': '|u1', 'fortran_order': True, 'shape': {shape}}}", data)
        assert b"".join(data for _, _, data in read_rows(reader.db, contents)) == data


def test_empty_arrays(reader):
    rng = seeded_generator()
    for dtype in ["<f8", ">i4", "S4", "M8[s]", [("a", "i1"), ("b", "f4", (2,))]]:
        for shape in [(0,), (0, 3), (3, 0), (2, 0, 4), (0, 0), (2, 3, 0, 1)]:
            for order in "CF":
                array = random_array(rng, dtype, shape, order)
                reader.check(array, containers(array))


def test_structured_arrays(reader):
    rng = seeded_generator()
    for i in range(120):
        array = random_array(rng, random_structured_dtype(rng), random_shape(rng, i % 4), "CF"[i % 2])
        reader.check(array, containers(array))


def test_structured_padding_titles_and_subarrays(reader):
    rng = seeded_generator()
    dtypes = [
        np.dtype([("a", "i1"), ("b", "f8"), ("c", "S3")], align=True),
        np.dtype({"names": ["a", "b"], "formats": ["u1", ">i4"], "offsets": [2, 8], "itemsize": 20}),
        np.dtype([(("The title", "short"), "i4"), ("\u00e9", "M8[25s]")]),
        np.dtype([("m", ">f4", (2, 3)), ("n", [("x", "u8"), ("y", "V3", 2)], (2,)), ("none", "i4", (0,))]),
        np.dtype([("empty", []), ("s", "S0"), ("v", "u1")]),
    ]
    for dtype in dtypes:
        for shape in [(), (4,), (2, 3)]:
            array = random_array(rng, dtype, shape)
            reader.check(array, containers(array))


def test_shapes_that_need_many_blocks(reader):
    """Rows longer than a block, panels of Fortran order, and blocks that end inside an item."""
    rng = seeded_generator()
    cases = [
        ("<f8", (3, 400_000)),
        (">u2", (700_001,)),
        ("<i4", (70_001, 9)),
        ("V7", (200_003,)),
        ("<f4", (31, 37, 41, 43)),
    ]
    for dtype, shape in cases:
        raw = np.frombuffer(rng.bytes(int(np.prod(shape)) * np.dtype(dtype).itemsize), dtype).reshape(shape)
        for order in "CF"[: len(shape)]:
            array = np.asarray(raw, order=order)
            for contents in (npy_bytes(array), npz_bytes({"it": array}, "deflate")):
                reader.path.write_bytes(contents)
                for source in (str(reader.path), contents):
                    rows = reader.db.execute("SELECT row, data FROM npy_rows(?)", (source,)).fetchall()
                    assert [row for row, _ in rows] == list(range(shape[0]))
                    assert_same_data(b"".join(data for _, data in rows), array, f"{dtype} {shape} {order}")


def test_rows_as_arrays(reader):
    """The column `array` is what numpy.save writes of each row."""
    rng = seeded_generator()
    for dtype in ["<f4", ">f8", "u1", ">i2", "U3", "S5", "M8[s]", "c16", [("a", ">i4"), ("b", "f8", (2,))]]:
        for shape in [(), (5,), (4, 3), (3, 2, 4), (2, 0)]:
            array = random_array(rng, np.dtype(dtype), shape)
            for stored in (array, np.asfortranarray(array)):
                rows = reader.db.execute("SELECT array FROM npy_rows(?)", (npy_bytes(stored),)).fetchall()
                want = [npy_bytes(np.array(row, array.dtype)) for row in (array if shape else [array[()]])]
                assert [row for row, in rows] == want, (dtype, shape)
    halves = npy_bytes(np.arange(6.0).reshape(2, 3))
    [row] = reader.db.execute("SELECT array FROM npy_rows(?, '', '1:', '', '', 'f2')", (halves,)).fetchone()
    assert row == npy_bytes(np.array([3.0, 4.0, 5.0], "f2"))
    archive = npz_bytes({"a": np.zeros((1, 2), "f4"), "b": np.zeros((1, 3), "i2")})
    assert [row for row, in reader.db.execute("SELECT npy_dtype(array) || npy_shape(array) FROM npy_rows(?)", (archive,))] == [
        "float32[2]",
        "int16[3]",
    ]
    assert "have no data" in error_of(reader.db, "SELECT array FROM npy_rows(?)", object_npy_bytes((3,)))


def test_the_rows_of_all_arrays_of_an_archive(reader):
    a, b, scalar = np.arange(3), np.ones((2, 2), "f4"), np.array(7)
    made = [npz_bytes({"a": a, "dir/b": b, "c": scalar}, variant) for variant in NPZ_VARIANTS]
    for contents, names in [(m, ("a", "dir/b", "c")) for m in made] + [
        (ten_bytes([a, b, scalar], infos=("i", "", "s")), ("i", "", "s"))
    ]:
        reader.path.write_bytes(contents)
        rows = reader.db.execute("SELECT path, name, row, value FROM npy_rows(?)", (str(reader.path),)).fetchall()
        want = [
            (names[0], 0, 0),
            (names[0], 1, 1),
            (names[0], 2, 2),
            (names[1], 0, "[1.0,1.0]"),
            (names[1], 1, "[1.0,1.0]"),
            (names[2], 0, 7),
        ]
        assert rows == [(str(reader.path), *row) for row in want]
    assert reader.db.execute("SELECT path, name FROM npy_rows(?)", (npy_bytes(scalar),)).fetchall() == [(None, "")]


def test_float_text_in_json_is_the_shortest_of_its_width(reader):
    rng = seeded_generator()
    powers = np.concatenate([10.0 ** np.arange(-8, 19), np.nextafter(10.0 ** np.arange(-8, 19), 0)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # beyond float16
        arrays = [np.arange(65536, dtype="u2").view("f2")]
        for dtype in ("f4", "f8"):
            bits = np.frombuffer(rng.bytes(30_000 * np.dtype(dtype).itemsize), dtype)
            decimals = np.round(rng.normal(0, 1000, 30_000), 3).astype(dtype)
            arrays.append(np.concatenate([bits, decimals, powers.astype(dtype), -powers.astype(dtype)]))
    for array in arrays:
        [(_, text, _)] = read_rows(reader.db, npy_bytes(array.reshape(1, -1)))
        numbers = parse_json(text)
        assert len(numbers) == array.size
        for number, item in zip(numbers, array):
            if np.isfinite(item):
                assert number == float_text(item), f"{array.dtype} {item!r}"
            else:
                assert number == {"inf": "9e999", "-inf": "-9e999", "nan": None}[str(item)]


def test_long_doubles_round_once_to_nearest(reader):
    rng = seeded_generator()
    finite = rng.integers(0, 2**64, 4000, dtype="u8") | np.uint64(1 << 63)
    ties = (finite & np.uint64(0xFFFFFFFFFFFFF800)) | np.uint64(0x400)
    for significands in (finite, ties):
        items = np.zeros(significands.size, "f16")
        octets = items.view("u1").reshape(-1, 16)
        octets[:, :8] = significands.view("u1").reshape(-1, 8)
        # Exponents around both ends of the double range, where subnormals and overflow begin.
        exponents = rng.choice(
            [16383 - 1074, 16383 - 1040, 16383 - 1022, 16383 - 1, 16383, 16383 + 1023, 16383 + 1024], items.size
        )
        octets[:, 8:10] = (exponents + rng.integers(-2, 3, items.size)).astype("u2").view("u1").reshape(-1, 2)
        reader.check(items, npy_containers(items))


def test_calendar_in_every_unit(reader):
    text = [
        "1970-01-01",
        "1969-12-31",
        "2000-02-29",
        "1900-03-01",
        "2100-12-31",
        "0001-01-01",
        "0000-02-29",
        "9999-12-31",
    ]
    for unit in UNITS + MULTIPLES + ["7M", "13us"]:
        base = np.datetime_data(f"M8[{unit}]")[0]
        days = (
            []
            if base in ("as", "fs", "ps", "ns")
            else np.array(text, "M8[D]").astype(f"M8[{unit}]").astype("i8").tolist()
        )
        counts = np.array(days + [0, 1, -1, 59, 60, -60, 86399, -86400, 10**9, -(10**9) - 1, -(2**63)])
        if base in FULL_RANGE_UNITS and not unit[0].isdigit():
            counts = np.append(counts, [2**63 - 1, -(2**63) + 1])
        for kind in ("M8", "m8"):
            array = counts.view(f"{kind}[{unit}]")
            reader.check(array, npy_containers(array))


def test_headers_that_numpy_accepts_but_does_not_write(reader):
    data = np.arange(3, dtype="<i4").tobytes()
    headers = [
        "{'shape': (3,), 'fortran_order': False, 'descr': '<i4'}",
        "{\"descr\": \"i4\", 'fortran_order': False, 'shape': (0x3,), }   ",
        "{'descr': 'int32', 'fortran_order': False, 'shape': (3L,), }\n",
        "  {'descr': '=i4',\r\n 'fortran_order': False, # in C order\n 'shape': (+3,)}\r\n",
        "{'descr': u'<' r'i4', 'fortran_order': (False), 'shape': (3 , ) , 'shape': (3,)}\n",
        "{'descr': '''<i04''', 'fortran_order': False, 'shape': (0_3,)}\n".replace("0_3", "0b11"),
        "{'descr': 'i', 'fortran_order': False, 'shape': (3,)}\n",
    ]
    for header in headers:
        contents = npy_text_bytes(header, data)
        assert read_rows(reader.db, contents) == [(i, i, data[4 * i : 4 * i + 4]) for i in range(3)], header
    # What follows the array, another array for one, is not its concern.
    # several arrays, one saved after the other, are all there
    assert len(read_rows(reader.db, npy_bytes(np.arange(3)) + npy_bytes(np.arange(9)))) == 3 + 9


def test_columns_that_are_not_asked_for_change_nothing(reader):
    array = np.arange(12.0).reshape(3, 4)
    contents = npy_bytes(array)
    for columns, want in [
        ("row", [0, 1, 2]),
        ("data", [row.tobytes() for row in array]),
        ("json_extract(value, '$[1]')", [1.0, 5.0, 9.0]),
        ("1", [1, 1, 1]),
    ]:
        assert [x for (x,) in reader.db.execute(f"SELECT {columns} FROM npy_rows(?)", (contents,))] == want
    assert reader.db.execute("SELECT count(*) FROM npy_rows(?)", (contents,)).fetchone() == (3,)
    cursor = reader.db.execute("SELECT * FROM npy_rows(?)", (contents,))
    assert [column[0] for column in cursor.description] == ["row", "value"]


def test_constraints_on_rows_and_values(reader):
    rng = seeded_generator()
    array = rng.integers(-50, 50, 500)
    contents = npy_bytes(array)
    numbers = list(enumerate(array.tolist()))
    for where, keep in [
        ("row = 17", lambda i, v: i == 17),
        ("row IN (3, 499, 500, -1)", lambda i, v: i in (3, 499)),
        ("row >= 490 AND row < 495", lambda i, v: 490 <= i < 495),
        ("row > 498.5", lambda i, v: i == 499),
        ("row BETWEEN -5 AND 2", lambda i, v: i <= 2),
        ("row = '12'", lambda i, v: i == 12),
        ("row = NULL", lambda i, v: False),
        ("row = 1.5", lambda i, v: False),
        ("row = 'abc'", lambda i, v: False),
        ("row < 'abc'", lambda i, v: True),
        ("row != 3", lambda i, v: i != 3),
        ("value > 40", lambda i, v: v > 40),
        ("value = 7 OR row < 5", lambda i, v: v == 7 or i < 5),
        ("value IS NULL", lambda i, v: False),
        ("value = '7'", lambda i, v: False),
        ("value < 'x'", lambda i, v: True),
    ]:
        got = reader.db.execute(
            f"SELECT row, value FROM npy_rows(?) WHERE {where} ORDER BY row", (contents,)
        ).fetchall()
        assert got == [(i, v) for i, v in numbers if keep(i, v)], where
    page = reader.db.execute("SELECT row FROM npy_rows(?) LIMIT 4 OFFSET 97", (contents,)).fetchall()
    assert page == [(97,), (98,), (99,), (100,)]
    backwards = reader.db.execute("SELECT row FROM npy_rows(?) ORDER BY row DESC LIMIT 3", (contents,)).fetchall()
    assert backwards == [(499,), (498,), (497,)]
    assert reader.db.execute("SELECT sum(value) FROM npy_rows(?)", (contents,)).fetchone() == (int(array.sum()),)
