"""npy_array, npy_stack and npy_records, against numpy.save."""

import json
import sqlite3

import numpy as np
import pytest

from arrays import (
    INTEGERS,
    SCALARS,
    both_byte_orders,
    descr_of,
    expressible_array,
    has_json,
    npy_bytes,
    npz_bytes,
    random_shape,
    random_structured_dtype,
    seeded_generator,
    without_undefined,
)
from expected import error_of


def one(db, sql, *arguments):
    ((value,),) = db.execute(sql, arguments).fetchall()
    return value


def of_values(db, values, *arguments):
    """npy_array over Python values, in their order."""
    db.execute("DROP TABLE IF EXISTS given")
    db.execute("CREATE TABLE given(value)")
    db.executemany("INSERT INTO given VALUES (?)", [(value,) for value in values])
    marks = "".join(", ?" for _ in arguments)
    return one(db, f"SELECT npy_array(value{marks}) FROM (SELECT value FROM given ORDER BY rowid)", *arguments)


# --- npy_array ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [t for t in SCALARS])
def test_values_of_every_dtype_make_the_array_again(connect, name):
    rng, db = seeded_generator(), connect()
    for dtype in both_byte_orders(name):
        array = expressible_array(rng, dtype, (25,))
        contents = npy_bytes(array)
        made = one(db, "SELECT npy_array(value, ?) FROM npy_rows(?)", dtype.str, contents)
        assert without_undefined(made, dtype) == without_undefined(contents, dtype), dtype


def test_values_of_structured_dtypes_make_the_array_again(connect):
    rng, db = seeded_generator(), connect()
    checked = 0
    while checked < 60:
        dtype = random_structured_dtype(rng)
        if not has_json(dtype):
            continue
        array = expressible_array(rng, dtype, (4,))
        contents = npy_bytes(array)
        assert one(db, "SELECT npy_array(value, ?) FROM npy_rows(?)", descr_of(dtype), contents) == contents, dtype
        checked += 1


@pytest.mark.parametrize(
    "values, dtype",
    [
        ([1, 2, 3], "i8"),
        ([1, 2.5], "f8"),
        ([1, None, 2.5], "f8"),
        ([None, None, -1.5], "f8"),
        ([2.5, None, 3], "f8"),
        ([-(2**63), 2**63 - 1], "i8"),
        ([2**53, 0.5], "f8"),
        (["a", "bcd", ""], "U3"),
        (["", ""], "U1"),
        (["\U0001f600x", "\u4e2d"], "U2"),
        ([b"ab", b"cd"], "V2"),
        ([float("inf"), -0.0, 5e-324], "f8"),
    ],
)
def test_the_dtype_that_values_have(connect, values, dtype):
    array = np.array([np.nan if value is None else value for value in values], dtype)
    if dtype[0] == "V":
        array = np.frombuffer(b"".join(values), dtype)
    assert of_values(connect(), values) == npy_bytes(array)


def test_texts_of_a_length_that_they_say(connect):
    db = connect()
    assert of_values(db, ["a", "bcd"], "U") == npy_bytes(np.array(["a", "bcd"]))
    assert of_values(db, ["a", "caf\u00e9"], "S") == npy_bytes(np.array([b"a", "caf\u00e9".encode()]))


@pytest.mark.parametrize(
    "values, arguments, message",
    [
        ([1, None], (), "value 1: NULL does not fit int64; name a dtype that has NaN, such as 'float64'"),
        ([None], (), "every value is NULL; name a dtype that has NaN, such as 'float64'"),
        ([2**53 + 1, 0.5], (), f"value 0: {2**53 + 1} would be rounded, since other values are REALs"),
        ([0.5, 2**53 + 1], (), f"value 1: {2**53 + 1} would be rounded, since other values are REALs; name a dtype, such as 'float64'"),
        ([1, "a"], (), "value 1: a TEXT among numbers"),
        (["a", 1], (), "value 1: an INTEGER among TEXTs"),
        (["a", None], (), "value 1: NULL among TEXTs"),
        ([b"ab", b"abc"], (), "value 1: "),
        ([1, 300], ("u1",), "value 1: 300 does not fit uint8"),
        ([1.5], ("i4",), "value 0: 1.5 does not fit int32"),
        (["x"], ("f4",), "value 0: "),
        ([None], ("i4",), "value 0: NULL does not fit int32"),
        ([1e300], ("f4",), "value 0: 1e+300 does not fit float32"),
        ([1], ("nope",), "nope"),
        ([1], (7,), "a dtype must be a TEXT, as in 'float32'"),
        ([1], ("[2, 3]",), "[2, 3] is not a dtype; a shape is the third argument, as in npy_array(value, NULL, '[2, 3]')"),
        ([1, 2, 3], ("i4", "[2, -1]"), "shape (2, -1) has a multiple of 2 items, and there are 3"),
        ([1, 2, 3], ("i4", "[2, 2]"), "shape (2, 2) has 4 items, and there are 3"),
        ([1, 2, 3], ("i4", "[-1, -1]"), "shape has more than one -1 to be worked out"),
        ([1, 2, 3], ("i4", "three"), "shape 'three' must be a list of integers, as '[2, 3]'"),
    ],
)
def test_what_does_not_fit_says_which_value(connect, values, arguments, message):
    with pytest.raises(sqlite3.Error) as raised:
        of_values(connect(), values, *arguments)
    assert str(raised.value).startswith("npyext: npy_array: ") and message in str(raised.value)


def test_rows_of_several_items_are_not_taken_for_texts(connect):
    db, array = connect(), npy_bytes(np.ones((2, 3)))
    text = error_of(db, "SELECT npy_array(value) FROM npy_rows(?)", array)
    assert "value 0: is JSON, like a row of several items; use npy_stack to make an array from such rows" in text
    texts = np.array(["[1.0,1.0,1.0]"] * 2)
    assert one(db, "SELECT npy_array(value, 'U') FROM npy_rows(?)", array) == npy_bytes(texts)


def test_shapes(connect):
    db, values = connect(), list(range(12))
    for shape, text in [((3, 4), "[3, 4]"), ((3, 4), "(3, -1)"), ((12,), "12"), ((2, 2, 3), "[2,-1,3]")]:
        assert of_values(db, values, "<i2", text) == npy_bytes(np.arange(12, dtype="<i2").reshape(shape))
    assert of_values(db, values, None, "[-1, 6]") == npy_bytes(np.arange(12).reshape(2, 6))
    assert of_values(db, [7], "", "[]") == npy_bytes(np.array(7))


def test_no_rows_are_null(connect):
    """An aggregate sees no argument then, and a dtype that nobody knows is not made up."""
    db = connect()
    for call in ("npy_array(1, 'f4')", "npy_stack('[1]', 'f4')", "npy_records('[(\"x\", \"<f4\")]', 1)"):
        assert one(db, f"SELECT {call} WHERE 0") is None


def test_groups_and_windows_of_rows(connect):
    db = connect()
    db.execute("CREATE TABLE runs(run, step, loss)")
    db.executemany("INSERT INTO runs VALUES (?, ?, ?)", [(s % 3, s, s / 8) for s in range(30)])
    rows = db.execute(
        "SELECT run, npy_array(loss, 'f4') FROM (SELECT * FROM runs ORDER BY run, step) GROUP BY run"
    ).fetchall()
    for run, contents in rows:
        assert contents == npy_bytes(np.array([s / 8 for s in range(30) if s % 3 == run], "f4"))
    if sqlite3.sqlite_version_info >= (3, 44):
        got = one(db, "SELECT npy_array(step ORDER BY step DESC) FROM runs")
        assert got == npy_bytes(np.arange(29, -1, -1))
    assert one(db, "SELECT npy_array(step) FILTER (WHERE step > 27) FROM runs") == npy_bytes(np.array([28, 29]))


def test_a_result_beyond_the_limit_names_the_table_form(connect):
    db = connect()
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000) if hasattr(db, "setlimit") else pytest.fail("needs setlimit")
    with pytest.raises((sqlite3.Error, OverflowError)) as raised:
        one(db, "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 20000) SELECT npy_array(i) FROM n")
    assert "mode='w+'" in str(raised.value)


# --- npy_stack ---------------------------------------------------------------------------------------------


def stack(db, values, *arguments):
    db.execute("DROP TABLE IF EXISTS given")
    db.execute("CREATE TABLE given(value)")
    db.executemany("INSERT INTO given VALUES (?)", [(value,) for value in values])
    marks = "".join(", ?" for _ in arguments)
    return one(db, f"SELECT npy_stack(value{marks}) FROM (SELECT value FROM given ORDER BY rowid)", *arguments)


def test_rows_of_every_kind_stack(connect, tmp_path):
    rng, db = seeded_generator(), connect()
    for name in INTEGERS + ["f2", "f4", "f8", "M8[us]", "c8"]:
        for dtype in both_byte_orders(name):
            array = expressible_array(rng, dtype, (3, *random_shape(rng, int(rng.integers(1, 3)), False)))
            contents = npy_bytes(array)
            assert stack(db, [npy_bytes(row) for row in array]) == contents, dtype
            assert stack(db, [npy_bytes(np.asfortranarray(row)) for row in array]) == contents, dtype
            rows = db.execute("SELECT data, value FROM npy_rows(?)", (contents,)).fetchall()
            if array.ndim == 2:  # raw items have one dimension, unless a row before them says more
                assert stack(db, [data for data, _ in rows], dtype.str) == contents, dtype
            assert stack(db, [npy_bytes(array[0])] + [data for data, _ in rows[1:]], dtype.str) == contents, dtype
            assert stack(db, [value for _, value in rows], dtype.str) == contents, dtype


def test_handles_stack(connect, tmp_path):
    arrays = [np.arange(i, i + 6, dtype="f4").reshape(2, 3) for i in range(4)]
    for i, array in enumerate(arrays):
        np.save(tmp_path / f"{i}.npy", array)
    db = connect()
    pattern = str(tmp_path / "*.npy")
    assert one(db, "SELECT npy_stack(array) FROM npy_file(?)", pattern) == npy_bytes(np.stack(arrays))
    narrowed = npy_bytes(np.stack(arrays).astype("f2"))
    assert one(db, "SELECT npy_stack(array, 'f2') FROM npy_file(?)", pattern) == narrowed


def test_json_rows_have_a_dtype_of_their_own(connect):
    db = connect()
    assert stack(db, ["[1, 2]", "[3, 4]"]) == npy_bytes(np.array([[1, 2], [3, 4]]))
    assert stack(db, ["[1, 2]", "[3.5, 4]"]) == npy_bytes(np.array([[1, 2], [3.5, 4]]))
    assert stack(db, ["[1.5, null]", "[3, 4]"]) == npy_bytes(np.array([[1.5, np.nan], [3, 4]]))
    assert stack(db, ["[[1], [2]]"]) == npy_bytes(np.array([[[1], [2]]]))
    assert stack(db, ["[true]", "[false]"]) == npy_bytes(np.array([[True], [False]]))


def test_json_rows_among_arrays_are_of_their_dtype(connect):
    """Byte orders and lengths of texts that JSON does not have by itself: rows used to be written as JSON's own."""
    rng, db = seeded_generator(), connect()
    for name in ["i8", "u8", "f8", "?", "U5"]:
        for dtype in both_byte_orders(name):
            for _ in range(10):
                array = expressible_array(rng, dtype, (4, int(rng.integers(1, 5))))
                if name == "u8":
                    array |= 2**63  # or they are of int64
                elif name == "f8":
                    array[:] = rng.normal(size=array.shape)
                rows = [npy_bytes(row) if i == 0 or rng.random() < 0.5 else json.dumps(row.tolist()) for i, row in enumerate(array)]
                assert stack(db, rows) == npy_bytes(array), (dtype, rows)
    for order in "<>":
        integers, reals = np.array([1, 2], f"{order}i8"), np.array([2.5, 3], f"{order}f8")
        assert stack(db, [npy_bytes(integers), "[0.5, 1.5]", "[7, 8]"]) == npy_bytes(np.array([[1, 2], [0.5, 1.5], [7, 8]]))
        assert stack(db, [npy_bytes(reals), "[7, 8]", "[0.5, 9]"]) == npy_bytes(np.array([[2.5, 3], [7, 8], [0.5, 9]], reals.dtype))


@pytest.mark.parametrize(
    "values, arguments, message",
    [
        ([npy_bytes(np.array(["a"])), json.dumps(["b" * 1000])], (), "row 1: [0]: "),
        ([npy_bytes(np.array([2**53 + 1], ">i8")), "[0.5]"], (), f"row 1: item 0 before it: {2**53 + 1} would be rounded"),
        ([npy_bytes(np.array([0.5], ">f8")), f"[{2**53 + 1}]"], (), f"row 1: {2**53 + 1} would be rounded"),
        (["[1, 2]", "[1, 2, 3]"], (), "row 1: the row's shape is [3], and [2] is expected"),
        (["[1, 2]", "[1, [2]]"], (), "row 1: "),
        (["[1]", None], (), "row 1: NULL is not a row"),
        (["[1]", 5], (), "row 1: a number is not a row"),
        (["[1]", "[true]"], (), "row 1: the row is bool, those before it are int64"),
        (["[1"], (), "row 0: "),
        ([b"abcd"], (), "row 0: raw items need a dtype"),
        ([b"abcde"], ("f4",), "row 0: the BLOB's 5 bytes are not a whole number of items of 4 bytes"),
        ([b"abcd", b"abcdefgh"], ("f4",), "row 1: the BLOB has 8 bytes, and 1 items of 4 bytes are 4"),
        (["[1, 300]"], ("u1",), "row 0: [1]: 300 does not fit uint8"),
        ([f"[{2**53 + 1}]", "[0.5]"], (), f"row 1: item 0 before it: {2**53 + 1} would be rounded, since other values are REALs"),
        (['["a"]'], (), "row 0: texts need a dtype"),
    ],
)
def test_rows_that_do_not_stack(connect, values, arguments, message):
    with pytest.raises(sqlite3.Error) as raised:
        stack(connect(), values, *arguments)
    assert str(raised.value).startswith("npyext: npy_stack: ") and message in str(raised.value)


def test_arrays_of_other_dtypes_are_converted_when_asked(connect):
    db = connect()
    rows = [npy_bytes(np.array([1, 2], "i4")), npy_bytes(np.array([3, 4], "f8"))]
    with pytest.raises(sqlite3.Error, match="row 1: the row is float64, those before it are int32"):
        stack(db, rows)
    assert stack(db, rows, "f4") == npy_bytes(np.array([[1, 2], [3, 4]], "f4"))
    with pytest.raises(sqlite3.Error, match="row 1: .*300"):
        stack(db, [rows[0], npy_bytes(np.array([1, 300], "i4"))], "u1")


def test_a_path_is_no_row(connect):
    db = connect()
    with pytest.raises(sqlite3.Error, match="row 0: .*JSON"):
        stack(db, ["x.npy"])
    with pytest.raises(sqlite3.Error, match="raw items need a dtype"):
        stack(db, [npz_bytes({"a": np.arange(3)})])


# --- npy_records -------------------------------------------------------------------------------------------


def test_records_of_columns(connect, tmp_path):
    rng, db = seeded_generator(), connect()
    path, checked = str(tmp_path / "x.npy"), 0
    while checked < 60:
        dtype = random_structured_dtype(rng)
        if not has_json(dtype):
            continue
        array = expressible_array(rng, dtype, (5,))
        np.save(path, array)
        db.execute(f"CREATE VIRTUAL TABLE temp.x USING npy('{path}')")
        columns = ['"' + row[1].replace('"', '""') + '"' for row in db.execute("PRAGMA table_info(x)")]
        made = one(db, f"SELECT npy_records(?, {', '.join(columns)}) FROM x", descr_of(dtype))
        db.execute("DROP TABLE x")
        assert made == npy_bytes(array), dtype
        checked += 1


def test_records_that_do_not_fit(connect):
    db = connect()
    descr = '[["x", "<f4"], ["y", "u1"], ["p", "<i2", [2]]]'
    made = one(db, "SELECT npy_records(?, 1.5, 2, '[3, 4]')", descr)
    assert made == npy_bytes(np.array([(1.5, 2, (3, 4))], [("x", "<f4"), ("y", "u1"), ("p", "<i2", (2,))]))
    for values, message in [
        ("1, 2", "2 values for 3 fields: x, y, p"),
        ("1, 300, '[3, 4]'", "row 0, field 'y': 300 does not fit uint8"),
        ("1, 2, '[3]'", "row 0, field 'p': "),
        ("1, 2, 3", "row 0, field 'p': a number is not a row of items"),
        ("1, NULL, '[3, 4]'", "row 0, field 'y': NULL does not fit uint8"),
    ]:
        assert message in error_of(db, f"SELECT npy_records(?, {values})", descr)
    assert "the first argument must be a structured dtype" in error_of(db, "SELECT npy_records('f4', 1)")
    assert "takes a dtype and a value" in error_of(db, "SELECT npy_records()")
