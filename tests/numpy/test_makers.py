"""The scalar functions that make arrays, against what numpy.save writes."""

import bisect
import json
import math
import sqlite3
import threading
import time
import warnings
from fractions import Fraction

import numpy as np
import pytest

from arrays import (
    INTEGERS,
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
    zip_bytes,
)
from expected import Number, error_of, json_of
from formats import npy, numbers


def one(db, sql, *arguments):
    ((value,),) = db.execute(sql, arguments).fetchall()
    return value


def handle_of(db, tmp_path, array):
    path = tmp_path / "a.npy"
    path.write_bytes(npy_bytes(array))
    return one(db, "SELECT array FROM npy_file(?)", str(path))


def spelled(dtype):
    """A dtype as a user may write it."""
    descr = np.lib.format.dtype_to_descr(dtype)
    return descr if isinstance(descr, str) else repr(descr)


def plain_parts(array):
    if array.dtype.names is None:
        yield array
    else:
        for name in array.dtype.names:
            yield from plain_parts(array[name])


def leaf_dtypes(dtype):
    dtype = dtype.base
    if dtype.names is None:
        return [dtype]
    return [leaf for name in dtype.names for leaf in leaf_dtypes(dtype.fields[name][0])]


def without_padding(to, values):
    """Assigns long doubles and leaves zeros where they hold no value."""
    part = np.dtype("f16").newbyteorder(to.dtype.byteorder)
    octets = np.frombuffer(np.array(values, to.dtype).tobytes(), "u1").reshape(-1, 16).copy()
    octets[:, 10:] = 0 if part.newbyteorder("<") == part else octets[:, 10:]
    octets[:, :6] = 0 if part.newbyteorder(">") == part else octets[:, :6]
    to.view(f"V{to.dtype.itemsize}")[...] = np.frombuffer(octets.tobytes(), f"V{to.dtype.itemsize}").reshape(to.shape)


def tidied(array):
    """The array in C order with zeros between fields, and only items that JSON and SQL tell apart: one NaN, one true,
    texts that are text."""
    made = np.ndarray(array.shape, array.dtype, bytearray(array.nbytes or 1))
    for to, of in zip(plain_parts(made), plain_parts(array)):
        if not to.nbytes:
            continue
        values, kind = np.array(of), of.dtype.kind
        if kind == "b":
            values = np.array(of.view("u1") != 0)
        if kind == "S":
            decode = lambda item: bytes(item).decode("utf-8", "ignore").rstrip("\0").encode()
            values = np.array([decode(item) for item in of.ravel()], of.dtype).reshape(of.shape)
        if kind == "U":
            keep = lambda item: "".join(c for c in item if not 0xD800 <= ord(c) < 0xE000).rstrip("\0")
            values = np.array([keep(item) for item in of.ravel()], of.dtype).reshape(of.shape)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # long doubles beyond the range of a double
            if kind == "f":
                values = values.astype("f8") if of.dtype.itemsize == 16 else values
                values[np.isnan(values)] = np.nan
            if kind == "c":
                values = values.astype("c16") if of.dtype.itemsize == 32 else values
                values.real[np.isnan(values.real)] = np.nan
                values.imag[np.isnan(values.imag)] = np.nan
        if kind in "fc" and of.dtype.itemsize in (16, 32) and of.dtype not in (np.dtype("<c16"), np.dtype(">c16")):
            without_padding(to, values)
        else:
            to[...] = values
    return made


def json_text(value, rng, is_list=False):
    """The text of what json_of gives; a structured item is an object in any order, or a list, and so are then the
    ones in it."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, tuple):
        is_list = is_list or rng.random() < 0.3
        pairs = [(json.dumps(name), json_text(item, rng, is_list)) for name, item in value[1]]
        if is_list:
            return "[" + ",".join(item for _, item in pairs) + "]"
        if rng.random() < 0.3:
            rng.shuffle(pairs)
        return "{" + " , ".join(f"{name}: {item}" for name, item in pairs) + "}"
    if isinstance(value, list):
        return "[" + rng.choice([",", ", ", "\n,\t"]).join(json_text(item, rng, is_list) for item in value) + "]"
    return json.dumps(value, ensure_ascii=bool(rng.random() < 0.5))


def encodable(dtype):
    return not any(leaf.kind == "V" for leaf in leaf_dtypes(dtype))


def structured_dtypes(rng, count):
    made = (random_structured_dtype(rng) for _ in range(100 * count))
    return [dtype for dtype, _ in zip((d for d in made if encodable(d)), range(count))]


# --- npy_from_json -----------------------------------------------------------------------------------------


def test_json_of_every_dtype(connect):
    db, rng = connect(), seeded_generator()
    plain = [order for dtype in SCALARS if np.dtype(dtype).kind != "V" for order in both_byte_orders(dtype)]
    compared = 0
    for dtype in plain * 2 + structured_dtypes(rng, 150):
        shape = random_shape(rng, int(rng.integers(4)), may_be_empty=False)
        array = tidied(random_array(rng, dtype, shape))
        text = json_text(json_of(array), rng)
        # An item of zero fields or elements says nothing of the depth it stands at.
        if dtype.names is not None and "[" == text[0] and any(0 in dtype.fields[n][0].shape for n in dtype.names):
            continue
        got = one(db, "SELECT npy_from_json(?, ?)", text, spelled(dtype))
        assert got == saved(array), f"{dtype!r} {shape} {text[:300]}"
        compared += 1
    assert compared > 200


def test_json_in_numpys_order_is_what_numpy_saves(connect):
    """The same once more with numpy.save itself, where there is nothing between fields."""
    db, rng = connect(), seeded_generator()
    for dtype in ["?", *INTEGERS, "f2", "f4", "f8", "c8", "c16"]:
        for order in both_byte_orders(dtype):
            for shape in [(), (0,), (1,), (3,), (2, 3), (1, 4), (4, 1), (2, 1, 2)]:
                array = tidied(random_array(rng, order, shape))
                text = json_text(json_of(array), rng)
                assert one(db, "SELECT npy_from_json(?, ?)", text, order.str) == npy_bytes(array), text


def test_default_dtypes_are_numpys(connect):
    db = connect()
    for text in [
        "1", "[1, 2]", "[[1, -2], [3, 4]]", "1.5", "[1, 2.5]", "[true, false]", "true", "[true, 2]", "[false, 0.5]",
        '"a"', '["a", "bcd"]', '[["\u00e9", "\U0001f600x"], ["", "\\u4e2d"]]', '[""]', '""', "[]", "[[], []]", "[[[]]]",
        "[9223372036854775807, -9223372036854775808]", "[9223372036854775808]", "[18446744073709551615]", "[-0]",
        "[-0.0]", "[1e3]", "[1e400, -1e400]", "[9223372036854775808, 0.5]", '"\\ud83d\\ude00"',
    ]:
        want = np.array(json.loads(text))
        assert one(db, "SELECT npy_from_json(?)", text) == npy_bytes(want), text
    assert one(db, "SELECT npy_from_json('[1, null]')") == npy_bytes(np.array([1, np.nan]))
    assert one(db, "SELECT npy_from_json('[[null, 0.5], [1, 2]]')") == npy_bytes(np.array([[np.nan, 0.5], [1, 2]]))
    assert one(db, "SELECT npy_from_json('[9e999, -9e999]')") == npy_bytes(np.array([np.inf, -np.inf]))
    for text, why in [
        ("[null]", "nulls alone have no dtype; give one"),
        ("[true, null]", "there is a null among true and false"),
        ('["a", null]', "there is a null among texts"),
        ('["a", 1]', "texts and numbers have no dtype in common"),
        ('[true, "a"]', "texts and numbers have no dtype in common"),
        ('{"x": 1}', "objects are items of a structured dtype; give it"),
        ("[18446744073709551616]", "there is an integer of more than 64 bits; give a float dtype to have it rounded"),
        ("[-1, 9223372036854775808]", "integers above 2^63 - 1 are among negative ones; give a dtype"),
    ]:
        assert error_of(db, "SELECT npy_from_json(?)", text) == f"npyext: npy_from_json: {why}"


def test_bytes_and_text_of_json(connect):
    db = connect()
    make = lambda text, dtype: one(db, "SELECT npy_from_json(?, ?)", text, dtype)
    assert make('["caf\u00e9", ""]', "S5") == npy_bytes(np.array(["caf\u00e9".encode(), b""], "S5"))
    assert make('["a\\u0000b"]', "S4") == npy_bytes(np.array([b"a\0b"], "S4"))
    for order in "<>":
        want = np.array(["\U0001f600\u00e9", "", "a\0b"], order + "U4")
        assert make('["\U0001f600\\u00e9", "", "a\\u0000b"]', order + "U4") == npy_bytes(want)
        dates = np.array(["2020-02-29", "NaT", "-0001-12-31", "1969-12-31T23:59:59"], order + "M8[s]")
        assert make('["2020-02-29T00", null, "-0001-12-31", "1969-12-31 23:59:59Z"]', order + "M8[s]") == npy_bytes(dates)
        deltas = np.array([5, "NaT", -7], order + "m8[25s]")
        assert make("[5, null, -7]", order + "m8[25s]") == npy_bytes(deltas)
    assert make('["nat", 3]', "M8") == npy_bytes(np.array([-(2**63), 3]).view("M8"))


def test_complex_items(connect):
    db = connect()
    make = lambda text, dtype="c16": one(db, "SELECT npy_from_json(?, ?)", text, dtype)
    assert make("[1, -2]") == npy_bytes(np.array(1 - 2j))
    assert make("5") == npy_bytes(np.array(5 + 0j))
    assert make("null", ">c8") == npy_bytes(np.array(None, ">c8"))
    assert make("[[1, null], [9e999, 2]]") == npy_bytes(np.array([complex(1, math.nan), complex(math.inf, 2)]))
    assert make("[]") == npy_bytes(np.zeros(0, complex))
    assert make("[[[1, 2]], [[3, 4]]]", "<c8") == npy_bytes(np.array([[1 + 2j], [3 + 4j]], "<c8"))


def test_structured_items(connect):
    db = connect()
    dtype = np.dtype([("x", "<i4"), ("c", ">c8"), ("in", [("a", "u1"), ("b", "f2", (2, 2))])])
    want = np.array([(1, 2 + 3j, (4, [[5, 6], [7, 8]])), (9, 1j, (2, [[0, 0], [0, np.nan]]))], dtype)
    objects = (
        '[{"x": 1, "c": [2, 3], "in": {"b": [[5, 6], [7, 8]], "a": 4}},'
        ' {"in": [2, [[0, 0], [0, null]]], "x": 9, "c": [0, 1]}]'
    )
    lists = "[[1, [2, 3], [4, [[5, 6], [7, 8]]]], [9, [0, 1], {\"a\": 2, \"b\": [[0, 0], [0, null]]}]]"
    for text in (objects, lists):
        assert one(db, "SELECT npy_from_json(?, ?)", text, spelled(dtype)) == npy_bytes(want)
        assert one(db, "SELECT npy_from_json(?, ?)", f"[{text}]", spelled(dtype)) == npy_bytes(want[None])
    item = json.dumps({"x": 1, "c": 2, "in": [4, [[5, 6], [7, 8]]]})
    want = np.array((1, 2, (4, [[5, 6], [7, 8]])), dtype)
    assert one(db, "SELECT npy_from_json(?, ?)", item, spelled(dtype)) == npy_bytes(want)
    assert one(db, "SELECT npy_from_json('[{}, {}]', '[]')") == npy_bytes(np.ndarray((2,), np.dtype([]), b" "))
    assert one(db, "SELECT npy_from_json('[\"\", \"\"]', 'S0')") == npy_bytes(np.ndarray((2,), "S0", b" "))
    wide = np.dtype([(f"f{i}", "i2") for i in range(100)])
    values = list(range(100))
    want = np.array(tuple(values), wide)
    for text in (json.dumps({f"f{i}": i for i in reversed(values)}), json.dumps(values)):
        assert one(db, "SELECT npy_from_json(?, ?)", text, spelled(wide)) == npy_bytes(want)


def test_what_json_cannot_be(connect):
    db = connect()
    xy = '[["x","<i4"],["y","f4",[2]]]'
    for text, dtype, message in [
        ("[[1, 2], [300, 3]]", "u1", "[1, 0]: 300 does not fit uint8"),
        ("[-1]", "u8", "[0]: -1 does not fit uint64"),
        ("18446744073709551616", "u8", "1.8446744073709552e+19 does not fit uint64"),
        ("128", "i1", "128 does not fit int8"),
        ("1.5", "<i4", "1.5 does not fit int32"),
        ("1e300", "i8", "1e+300 does not fit int64"),
        ("9e999", "i2", "inf does not fit int16"),
        ("2", "?", "2 does not fit bool"),
        ("0.5", "?", "0.5 does not fit bool"),
        ("null", "i4", "null does not fit int32"),
        ("null", "?", "null does not fit bool"),
        ("null", "S3", "null does not fit bytes24"),
        ("1e39", "f4", "1e+39 does not fit float32"),
        ("65520", "f2", "65520 does not fit float16"),
        ("9e999", "float8_e4m3fn", "inf does not fit float8_e4m3fn"),
        ('"1"', "f4", "'1' does not fit float32"),
        ('"abc"', "i4", "'abc' does not fit int32"),
        ('"1.5"', "u8", "'1.5' does not fit uint64"),
        ('"18446744073709551616"', "u8", "'18446744073709551616' does not fit uint64"),
        ('["ab", "abcd"]', "S3", "[1]: 'abcd' does not fit bytes24: it has 4 bytes, an item 3"),
        ('"\u00e9\u00e9\u00e9"', "U2", "'\u00e9\u00e9\u00e9' does not fit str64: it has 3 characters, an item 2"),
        ('"ab"', "V2", "'ab' does not fit void16: bytes are given as a BLOB"),
        ("1", "U3", "1 does not fit str96"),
        ("true", "S4", "true does not fit bytes32"),
        ("true", "M8[s]", "true does not fit datetime64[s]"),
        ("1.5", "m8[s]", "1.5 does not fit timedelta64[s]: a count is an integer of 64 bits"),
        ("-9223372036854775808", "m8[s]", "-9223372036854775808 does not fit timedelta64[s]: it stands for NaT, which NULL gives"),
        ('"2020-01-01 10:00"', "M8[D]", "'2020-01-01 10:00' does not fit datetime64[D]: it is not a whole number of these units"),
        ('"2021-02-29"', "M8[s]", "'2021-02-29' is a date or time that does not exist"),
        ('"soon"', "M8[s]", "'soon' is not a date (YYYY-MM-DD or YYYY-MM-DD HH:MM:SS.fff is one)"),
        ('"9999-01-01"', "M8[ns]", "'9999-01-01' does not fit datetime64[ns]: it is too far from 1970"),
        ('"2020-01-01"', "M8", "'2020-01-01' does not fit datetime64 without a unit, which counts nothing in particular"),
        ('"1 s"', "m8[s]", "'1 s' does not fit timedelta64[s]"),
        ("[[1, 2], [3]]", "i4", "[1]: the lists are ragged: the list has 1 item, others have 2"),
        ("[[1, 2], 3]", "i4", "[1]: the lists are ragged: there is an item where others have a list"),
        ("[1, [2]]", "i4", "[1]: the lists are ragged: there is a list where others have an item"),
        ("[[1, 2, 3]]", "c8", "[0]: a complex item is [re, im], an innermost list: the list has more than 2 items"),
        ("[[1], [2]]", "c8", "[0]: a complex item is [re, im], an innermost list: the list has fewer than 2 items"),
        ('[[1, "x"]]', "c8", "[0]: 'x' does not fit float32"),
        ("[{}]", "f4", "[0]: an object does not fit float32"),
        ('[{"x": 1, "y": [1, 2]}, {"x": 1}]', xy, "[1]: no value is given for field 'y'"),
        ('{"x": 1, "y": [1, 2], "z": 0}', xy, "there is no field 'z'"),
        ('{"x": 1, "x": 1, "y": [1, 2]}', xy, "two values are given for field 'x'"),
        ('[{"x": 1, "y": [1]}]', xy, "[0]: field 'y': the list has fewer than 2 items"),
        ('[{"x": 1, "y": 7}]', xy, "[0]: field 'y': a number is found where a list of 2 items is expected"),
        ('[{"x": 1.5, "y": [1, 2]}]', xy, "[0]: field 'x': 1.5 does not fit int32"),
        ('[{"x": 1, "y": [1, 1e99]}]', xy, "[0]: field 'y': [1]: 1e+99 does not fit float32"),
        ("[[1]]", xy, "[0]: a structured item has 2 fields: the list has fewer than 2 items"),
        ("[[1, [2, 3], 4]]", xy, "[0]: a structured item has 2 fields: the list has more than 2 items"),
        ("[1, 2", "i4", "is not JSON: it ends at byte 5, where a comma or ] is expected"),
        ("[1,]", "i4", "is not JSON: at byte 3 a value is expected"),
        ("[01]", "i4", "is not JSON: at byte 1 a value is expected"),
        ("[1] 2", "i4", "is not JSON: at byte 4 something follows the value"),
        ("", "i4", "is not JSON: it ends at byte 0, where a value is expected"),
        ("[NaN]", "f4", "is not JSON: at byte 1 a value is expected"),
        ('{"x" 1}', xy, "is not JSON: at byte 5 a colon is expected"),
        ('["\\ud800"]', "U2", "is not JSON: at byte 2 a surrogate stands alone, which is not a character"),
        ('["a\\u0000"]', "S9", "[0]: 'a"),
        ("[" * 65 + "]" * 65, "i4", "lists nested 65 deep make more than 64 dimensions"),
        ("[" * 1001, "i4", "the JSON is nested more than 1000 deep"),
        ("[1]", "O", "dtype O holds Python objects, which are a pickle and are never written"),
        ("[1]", "f3", "`f3` is not a dtype"),
    ]:
        got = error_of(db, "SELECT npy_from_json(?, ?)", text, dtype)
        assert got.startswith(f"npyext: npy_from_json: {message}"), (text, dtype, got)
    assert "ends in a NUL" in error_of(db, "SELECT npy_from_json(?, ?)", '["a\\u0000"]', "S9")
    assert "ends in a NUL" in error_of(db, "SELECT npy_from_json(?, ?)", '["a\\u0000"]', "U9")
    assert error_of(db, "SELECT npy_from_json(x'00')") == "npyext: npy_from_json: JSON must be a TEXT (found a BLOB)"
    assert "the dtype must be a TEXT (found a number)" in error_of(db, "SELECT npy_from_json('[1]', 5)")
    assert "is not UTF-8" in error_of(db, "SELECT npy_from_json(CAST(x'5b22ff225d' AS TEXT), 'U3')")


# --- rounding ----------------------------------------------------------------------------------------------


def doubles_around(rng, values):
    """Values, the points halfway between neighbours, the doubles next to those, and random ones; both signs."""
    values = np.unique(values[np.isfinite(values)].astype("f8"))
    halves = (values[:-1] + values[1:]) / 2
    some = np.concatenate([values, halves, np.nextafter(halves, np.inf), np.nextafter(halves, -np.inf)])
    some = np.concatenate([rng.choice(some, min(len(some), 6000), replace=False), rng.normal(size=500)])
    return np.concatenate([some, -some, [5e-324, 1e-300, 0.0, -0.0]])


def made_of(db, doubles, dtype):
    text = json.dumps([float(x) for x in doubles])
    return one(db, "SELECT npy_from_json(?, ?)", text, dtype)


def test_float16_is_rounded_once(connect):
    db, rng = connect(), seeded_generator()
    doubles = doubles_around(rng, np.arange(0x7C00, dtype="u2").view("f2"))
    doubles = np.concatenate([doubles, rng.choice([-1, 1], 2000) * 2.0 ** rng.uniform(-26, 15.9, 2000), [65519.999]])
    for order in "<>":
        assert made_of(db, doubles, order + "f2") == npy_bytes(doubles.astype(order + "f2"))


def test_float32_is_rounded_once(connect):
    db, rng = connect(), seeded_generator()
    values = rng.integers(0, 0x7F800000, 3000, dtype="u4")
    values = np.unique(np.concatenate([values, values + 1, np.arange(50, dtype="u4"), [0x7F7FFFFF]])).astype("u4")
    doubles = doubles_around(rng, values[values < 0x7F800000].view("f4"))
    for order in "<>":
        assert made_of(db, doubles, order + "f4") == npy_bytes(doubles.astype(order + "f4"))


def test_integers_to_floats_are_rounded_once(connect):
    db, rng = connect(), seeded_generator()
    signed = rng.integers(-(2**63), 2**63 - 1, 2000, endpoint=True) >> rng.integers(0, 40, 2000)
    # Halfway between two float32 but for the last bit, which rounding to a double first would lose.
    ties = (np.int64(2**62) + (np.arange(2000) << 39) + (1 << 38)) + rng.choice([-1, 0, 1], 2000)
    signed = np.concatenate([signed, ties, -ties])
    unsigned = signed.view("u8") | np.uint64(2**63)
    for order in "<>":
        for integers in (signed, unsigned):
            for code in ("f4", "f8"):
                text = json.dumps([int(i) for i in integers])
                got = one(db, "SELECT npy_from_json(?, ?)", text, order + code)
                assert got == npy_bytes(integers.astype(order + code)), (order, code)
    small = np.arange(-65519, 65520, 7)
    got = one(db, "SELECT npy_from_json(?, 'f2')", json.dumps(small.tolist()))
    assert got == npy_bytes(small.astype("f2"))
    longs = one(db, "SELECT npy_data(npy_from_json(?, '<f16'))", json.dumps([int(i) for i in signed]))
    octets = np.frombuffer(signed.astype("<f16").tobytes(), "u1").reshape(-1, 16)
    assert np.array_equal(np.frombuffer(longs, "u1").reshape(-1, 16)[:, :10], octets[:, :10])
    assert not np.frombuffer(longs, "u1").reshape(-1, 16)[:, 10:].any()


def narrow_values(exponent_nbits, fraction_nbits, has_infinity):
    """The finite values of a format from 0 up, in the order of their bits."""
    bias = 2 ** (exponent_nbits - 1) - 1
    values = []
    for bits in range(2 ** (exponent_nbits + fraction_nbits)):
        exponent, fraction = bits >> fraction_nbits, bits & (2**fraction_nbits - 1)
        if has_infinity and exponent == 2**exponent_nbits - 1:
            break
        significand = fraction + (2**fraction_nbits if exponent else 0)
        values.append(Fraction(significand) * Fraction(2) ** (max(exponent, 1) - bias - fraction_nbits))
    return values if has_infinity else values[:-1]


def nearest(values, magnitude):
    """The bits of the nearest value, ties to even."""
    at = bisect.bisect_left(values, magnitude)
    if at == len(values):
        return at - 1  # the tests stay below what overflows
    if at == 0 or values[at] == magnitude:
        return at
    below, above = magnitude - values[at - 1], values[at] - magnitude
    return at - 1 if below < above or (below == above and (at - 1) % 2 == 0) else at


@pytest.mark.parametrize(
    "dtype, exponent_nbits, fraction_nbits, has_infinity",
    [("bfloat16", 8, 7, True), ("float8_e4m3fn", 4, 3, False), ("float8_e5m2", 5, 2, True)],
)
def test_formats_without_a_numpy_type(connect, dtype, exponent_nbits, fraction_nbits, has_infinity):
    db, rng = connect(), seeded_generator()
    values = narrow_values(exponent_nbits, fraction_nbits, has_infinity)
    doubles = doubles_around(rng, np.array([float(v) for v in values]))[:6000]
    doubles = doubles[np.abs(doubles) <= float(values[-1])]
    width = 1 if dtype.startswith("float8") else 2
    sign = 1 << (8 * width - 1)
    want = [
        nearest(values, Fraction(abs(float(x)))) | (sign if math.copysign(1, x) < 0 else 0) for x in doubles
    ]
    data = one(db, "SELECT npy_data(?)", made_of(db, doubles, dtype))
    assert np.frombuffer(data, f"<u{width}").tolist() == want


def test_decimal_texts_round_as_pythons(connect):
    """Long and short numerals, exponents and halves, to the last bit of a double."""
    db, rng = connect(), seeded_generator()
    texts = ["5e-324", "2.4703282292062328e-324", "2.4703282292062327e-324", "1.7976931348623158e308", "1e22", "1e23",
             "0." + "0" * 400 + "1e300", "1" + "0" * 400 + "e-400", "9007199254740993", "9007199254740993.0",
             "9007199254740992.99999999999999999999", "1e-1000000000000000000000", "0e99999999999999999999", "123E+2"]
    for _ in range(3000):
        digits = "".join(map(str, rng.integers(0, 10, int(rng.integers(1, 25)))))
        texts.append(f"{int(digits[0])}.{digits}e{rng.integers(-330, 300)}")
        texts.append(repr(float(np.frombuffer(rng.bytes(8), "f8")[0])))
        # exactly halfway between two doubles, and a digit beside it
        x = abs(float(rng.normal())) * 2.0 ** int(rng.integers(-60, 60))
        half = Fraction(x) + (Fraction(math.nextafter(x, math.inf)) - Fraction(x)) / 2
        scaled, power = half, 0
        while scaled.denominator != 1:
            scaled, power = scaled * 10, power + 1
        texts += [f"{scaled.numerator}e-{power}", f"{scaled.numerator}1e-{power + 1}", f"{scaled.numerator - 1}e-{power}"]
    texts = [t for t in texts if t not in ("nan", "inf", "-inf")]
    got = one(db, "SELECT npy_from_json(?, '<f8')", f"[{','.join(texts)}]")
    assert got == npy_bytes(np.array([float(t) for t in texts], "<f8"))


# --- npy_from_data -----------------------------------------------------------------------------------------


def little_endian_data(array):
    """The items' bytes in C order and little-endian."""
    made = np.ndarray(array.shape, array.dtype.newbyteorder("<"), bytearray(array.nbytes or 1))
    for to, of in zip(plain_parts(made), plain_parts(array)):
        if to.nbytes:
            swapped = of.dtype.byteorder == ">" and of.dtype.kind not in "SV"
            to.view(f"V{to.dtype.itemsize}")[...] = (of.byteswap() if swapped else of).view(f"V{of.dtype.itemsize}")
    return made.tobytes()


def test_data_of_every_dtype(connect):
    db, rng = connect(), seeded_generator()
    plain = [order for dtype in SCALARS + ITEM_SIZE_ZERO for order in both_byte_orders(dtype)]
    for dtype in plain + [random_structured_dtype(rng) for _ in range(100)]:
        shape = random_shape(rng, int(rng.integers(4)))
        made = np.ndarray(shape, dtype, bytearray(np.dtype(dtype).itemsize * math.prod(shape) or 1))
        array = random_array(rng, dtype, shape)
        for to, of in zip(plain_parts(made), plain_parts(array)):
            if to.nbytes:
                to.view(f"V{to.dtype.itemsize}")[...] = of.view(f"V{of.dtype.itemsize}")
        data, label = little_endian_data(made), f"{dtype!r} {shape}"
        given = rng.choice([json.dumps(shape), repr(shape)])
        assert one(db, "SELECT npy_from_data(?, ?, ?)", data, spelled(dtype), given) == saved(made), label
        if 0 not in shape and shape and dtype.itemsize:
            axis = int(rng.integers(len(shape)))
            worked_out = json.dumps([-1 if i == axis else n for i, n in enumerate(shape)])
            assert one(db, "SELECT npy_from_data(?, ?, ?)", data, spelled(dtype), worked_out) == saved(made), label
        assert one(db, "SELECT npy_data(npy_from_data(?, ?, ?))", data, spelled(dtype), given) == data, label
    flat = np.arange(5, dtype=">i2")
    for length in (5, -1):
        assert one(db, "SELECT npy_from_data(?, '>i2', ?)", flat.astype("<i2").tobytes(), length) == npy_bytes(flat)


def test_data_that_do_not_fit(connect):
    db = connect()
    for data, dtype, shape, message in [
        (bytes(24), "f4", "[2, 2]", "shape (2, 2) has 4 items, and there are 6"),
        (bytes(24), "f4", "(7,)", "shape (7,) has 7 items, and there are 6"),
        (bytes(24), "f4", 5, "shape (5,) has 5 items, and there are 6"),
        (bytes(24), "f4", "[4, -1]", "shape (4, -1) has a multiple of 4 items, and there are 6"),
        (bytes(24), "f4", "[-1, -1]", "shape has more than one -1 to be worked out"),
        (bytes(24), "f4", "[-2, 3]", "shape has a length of -2"),
        (bytes(0), "f4", "[0, -1]", "shape (0, -1) has a multiple of 0 items, and there are 0"),
        (bytes(25), "f4", "[6]", "the data have 25 bytes, which is not a multiple of the itemsize 4"),
        (bytes(24), "f4", "[4294967296, 4294967296]", "shape (4294967296, 4294967296) has more than 2^63 - 1 items, and there are 6"),
        (bytes(0), "f4", "[4294967296, 4294967296, 0]", "shape (4294967296, 4294967296, 0) has more than 2^63 - 1 items, and there are 0"),
        (bytes(24), "f4", "[2, 3", "shape '[2, 3' must be a list of integers, as '[2, 3]'"),
        (bytes(24), "f4", "[2, 'x']", "shape '[2, 'x']' must be a list of integers, as '[2, 3]'"),
        (bytes(24), "f4", "6.0", "shape '6.0' must be a list of integers, as '[2, 3]'"),
        (bytes(24), "f4", 6.0, "shape must be a TEXT (found a number)"),
        (bytes(24), "f4", str([1] * 65), "shape has 65 numbers; there are at most 64 dimensions"),
        ("text", "f4", 1, "the data must be a BLOB (found a TEXT); || makes a TEXT of two BLOBs, and CAST(a || b AS BLOB) a BLOB of it"),
        (bytes(8), "O", 1, "dtype O holds Python objects, which are a pickle and are never written"),
        (bytes(1), "S0", 1, "the data have 1 bytes, but items have 0 bytes"),
        (bytes(0), "S0", -1, "items have 0 bytes, so a length of -1 cannot be worked out"),
    ]:
        got = error_of(db, "SELECT npy_from_data(?, ?, ?)", data, dtype, shape)
        assert got == f"npyext: npy_from_data: {message}"
    assert one(db, "SELECT npy_size(npy_from_data(x'', 'V0', '[3, 1000000000]'))") == 3_000_000_000


# --- from arrays -------------------------------------------------------------------------------------------


def random_arrays(rng, count=1):
    plain = [order for dtype in SCALARS + ITEM_SIZE_ZERO for order in both_byte_orders(dtype)]
    for dtype in plain * count + [random_structured_dtype(rng) for _ in range(80)]:
        shape = list(random_shape(rng, int(rng.integers(5))))
        for axis in range(len(shape)):
            if rng.random() < 0.25:
                shape[axis] = 1
        # NumPy's flags of items without bytes tell how an array was made, not how it lies.
        yield random_array(rng, dtype, tuple(shape), str(rng.choice(["C", "F"])) if np.dtype(dtype).itemsize else "C")


def test_transposed(connect, tmp_path):
    db, rng = connect(), seeded_generator()
    for array in random_arrays(rng):
        for given in (npy_bytes(array), handle_of(db, tmp_path, array)):
            label = f"{array.dtype!r} {array.shape} {array.flags.f_contiguous}"
            assert one(db, "SELECT npy_transpose(?)", given) == saved(array.T), label
            axes = [int(axis) for axis in rng.permutation(array.ndim)]
            given_axes = [axis - array.ndim if rng.random() < 0.5 else axis for axis in axes]
            text = json.dumps(given_axes) if rng.random() < 0.5 else repr(tuple(given_axes))
            assert one(db, "SELECT npy_transpose(?, ?)", given, text) == saved(array.transpose(axes)), (label, axes)


def factored(rng, size):
    """A random shape of this many items."""
    shape = []
    while size > 1:
        factor = int(rng.choice([n for n in range(2, size + 1) if size % n == 0]))
        shape.append(factor)
        size //= factor
    for _ in range(int(rng.integers(3))):
        shape.insert(int(rng.integers(len(shape) + 1)), 1)
    return shape


def test_reshaped(connect, tmp_path):
    db, rng = connect(), seeded_generator()
    in_fortran_order = 0
    for array in random_arrays(rng, 3):
        label = f"{array.dtype!r} {array.shape} {array.flags.f_contiguous}"
        shapes = [list(array.shape), [*array.shape, 1], [1, *array.shape], [array.size]]
        shapes += [factored(rng, array.size) for _ in range(3)] if array.size else [[0, 3], [2, 0]]
        for shape in shapes:
            # as bytes, because a copy of structured items leaves out what lies between fields
            width = f"V{array.dtype.itemsize}" if array.dtype.itemsize else array.dtype
            want = array.view(width).reshape(shape).view(array.dtype)
            in_fortran_order += want.flags.f_contiguous and not want.flags.c_contiguous
            given = npy_bytes(array) if rng.random() < 0.7 else handle_of(db, tmp_path, array)
            if shape and array.size:
                shape[rng.integers(len(shape))] = -1
            assert one(db, "SELECT npy_reshape(?, ?)", given, json.dumps(shape)) == saved(want), (label, shape)
    assert in_fortran_order > 50


def test_in_order(connect, tmp_path):
    db, rng = connect(), seeded_generator()
    for array in random_arrays(rng):
        for given in (npy_bytes(array), handle_of(db, tmp_path, array)):
            for order in "CF":
                want = np.ndarray(array.shape, array.dtype, bytearray(array.nbytes or 1), order=order)
                if array.nbytes:
                    width = f"V{array.dtype.itemsize}"
                    want.view(width)[...] = array.view(width)
                label = f"{array.dtype!r} {array.shape} {array.flags.f_contiguous} {order}"
                assert one(db, "SELECT npy_order(?, ?)", given, order) == saved(want), label


def test_as_type(connect, tmp_path):
    db, rng = connect(), seeded_generator()
    numeric = ["?", *INTEGERS, "f2", "f4", "f8", "c8", "c16"]
    for of in numeric:
        for to in numeric:
            if np.dtype(of).kind == "c" and np.dtype(to).kind != "c":
                continue
            shape = random_shape(rng, int(rng.integers(4)))
            array = np.ndarray(shape, str(rng.choice(["<", ">"])) + of, order=str(rng.choice(["C", "F"])))
            array[...] = rng.integers(0, 2 if "?" in (of, to) else 100, shape)
            dtype = np.dtype(to).newbyteorder(str(rng.choice(["<", ">"])))
            given = npy_bytes(array) if rng.random() < 0.5 else handle_of(db, tmp_path, array)
            got = one(db, "SELECT npy_astype(?, ?)", given, dtype.str)
            assert got == npy_bytes(array.astype(dtype)), f"{array.dtype} {shape} {dtype}"
    for array in random_arrays(rng):  # only the byte order changes
        if array.dtype.names is None and array.dtype.itemsize:
            swapped = array.dtype.newbyteorder("S")
            got = one(db, "SELECT npy_astype(?, ?)", npy_bytes(array), spelled(swapped))
            raw = array.byteswap() if swapped != array.dtype else array
            assert got == saved(raw.view(swapped)), f"{array.dtype!r}"
    big = np.asfortranarray(np.arange(300_000.0).reshape(600, 500))
    assert one(db, "SELECT npy_astype(?, '<f4')", npy_bytes(big)) == npy_bytes(big.astype("<f4"))
    assert one(db, "SELECT npy_astype(?, 'f4')", npy_bytes(np.zeros((0, 3)))) == npy_bytes(np.zeros((0, 3), "f4"))
    assert one(db, "SELECT npy_astype(?, 'i1')", npy_bytes(np.array([1.9, -1.9]))) == npy_bytes(np.array([1, -1], "i1"))


def test_changes_refused(connect):
    db = connect()
    array = np.zeros((2, 3))
    array[1, 1] = 300
    for sql, given, message in [
        ("npy_astype(?, 'u1')", array, "npy_astype: item 4 is 300.0, which uint8 cannot hold"),
        ("npy_astype(?, 'u1')", np.asfortranarray(array), "npy_astype: item 4 is 300.0, which uint8 cannot hold"),
        ("npy_astype(?, 'U3')", array, "npy_astype: float64 cannot be converted to str96"),
        ("npy_astype(?, 'f8')", array + 1j, "npy_astype: complex128 cannot be converted to float64, which has no imaginary part"),
        ("npy_astype(?, 'f5')", array, "npy_astype: `f5` is not a dtype"),
        ("npy_astype(?, 'O')", array, "npy_astype: dtype O holds Python objects"),
        ("npy_reshape(?, '[4, 2]')", array, "npy_reshape: shape (4, 2) has 8 items, and there are 6"),
        ("npy_reshape(?, '[]')", array, "npy_reshape: shape () has 1 item, and there are 6"),
        ("npy_reshape(?, 'x')", array, "npy_reshape: shape 'x' must be a list of integers"),
        ("npy_order(?, 'K')", array, "npy_order: the order must be 'C' or 'F' (found 'K')"),
        ("npy_order(?, 1)", array, "npy_order: the order must be a TEXT (found a number)"),
        ("npy_transpose(?, '[0]')", array, "npy_transpose: axes has 1 number, and the array 2 dimensions"),
        ("npy_transpose(?, '[0, 2]')", array, "npy_transpose: axis 2 is out of range (the array has 2 dimensions)"),
        ("npy_transpose(?, '[0, -3]')", array, "npy_transpose: axis -3 is out of range (the array has 2 dimensions)"),
        ("npy_transpose(?, '[0, -2]')", array, "npy_transpose: axis -2 is named twice in axes"),
    ]:
        assert error_of(db, f"SELECT {sql}", npy_bytes(given)).startswith(f"npyext: {message}"), sql
    for call in ("npy_astype(?, 'f4')", "npy_reshape(?, -1)", "npy_order(?, 'C')", "npy_transpose(?)"):
        assert "Python objects" in error_of(db, f"SELECT {call}", object_npy_bytes()), call
        assert "npy_file" in error_of(db, f"SELECT {call}", "a.npy"), call
        assert "is truncated" in error_of(db, f"SELECT {call}", npy_bytes(array)[:-1]), call


def test_nothing_in_gives_nothing(connect):
    db = connect()
    array = npy_bytes(np.arange(6))
    calls = {
        "npy_from_json": ["[1]", "i4"], "npy_from_data": [bytes(4), "i4", 1], "npy_astype": [array, "f4"],
        "npy_reshape": [array, -1], "npy_order": [array, "C"], "npy_transpose": [array, "[0]"],
        "npy_member": [array, ""],
    }
    for name, arguments in calls.items():
        marks = ", ".join("?" * len(arguments))
        assert isinstance(one(db, f"SELECT {name}({marks})", *arguments), bytes), name
        for i in range(len(arguments)):
            with_null = [None if i == k else argument for k, argument in enumerate(arguments)]
            assert one(db, f"SELECT {name}({marks})", *with_null) is None, (name, i)
        with pytest.raises(sqlite3.OperationalError, match="wrong number"):
            db.execute(f"SELECT {name}()")


def test_slices_keep_fortran_order(connect):
    db = connect()
    array = np.asfortranarray(np.arange(24).reshape(2, 3, 4))
    for index in ("...", ":, :, 1:3", "0", ":, :, 2", ":, 1:2, 0:1", "None, ...", "::-1", ":, 1"):
        want = eval(f"array[{index}]")
        assert one(db, "SELECT npy_slice(?, ?)", npy_bytes(array), index) == npy_bytes(want), index


# --- npy_member --------------------------------------------------------------------------------------------


def test_members(connect):
    db, rng = connect(), seeded_generator()
    for variant in NPZ_VARIANTS:
        arrays = {f"n{i}": array for i, array in enumerate(random_arrays(rng)) if i % 17 == 3}
        arrays["layer.0/\u00e9"] = np.asfortranarray(np.arange(6).reshape(2, 3))
        contents = npz_bytes(arrays, variant)
        for idx, (name, array) in enumerate(arrays.items()):
            for member in (name, name + ".npy", idx):
                assert one(db, "SELECT npy_member(?, ?)", contents, member) == npy_bytes(array), (variant, name)
    for order in "<>":
        arrays = [np.arange(6, dtype="i2").reshape(2, 3), np.zeros((0, 2), "f4"), np.array(7.5)]
        contents = ten_bytes(arrays, order, ["x", "y", "z"])
        for idx, (name, array) in enumerate(zip("xyz", arrays)):
            for member in (name, idx):
                assert one(db, "SELECT npy_member(?, ?)", contents, member) == npy_bytes(array.astype(array.dtype.newbyteorder(order)))
    single = npy_bytes(np.arange(3))
    assert one(db, "SELECT npy_member(?, '')", single) == single
    assert one(db, "SELECT npy_member(?, 0)", single) == single


def test_members_as_numpy_would_save_them(connect):
    """Not as they are stored, when someone else wrote them."""
    db = connect()
    array = np.arange(6, dtype="<i2").reshape(2, 3)
    for odd in (
        npy("<i2", (2, 3), array.tobytes(), version=(2, 0)),
        npy("<i2", (2, 3), array.tobytes() + b"after"),
        npy("<i2", (2, 3), array.tobytes(), text="{'shape':(2,3),'fortran_order':False,'descr':'i2'}"),
        npy("<i2", (2, 3), array.tobytes(), text="{'shape':(2,3),'fortran_order':False,'descr':'int16'}" + " " * 500),
    ):
        for contents in (zip_bytes([("a.npy", odd)]), zip_bytes([("a.npy", odd)], "deflate"), odd):
            assert one(db, "SELECT npy_member(?, 0)", contents) == npy_bytes(array)
    flat = numbers("<i2", (6,), range(6), fortran_order=True)
    assert one(db, "SELECT npy_member(?, '')", flat) == npy_bytes(np.arange(6, dtype="i2"))


def test_members_refused(connect):
    db = connect()
    contents = npz_bytes({"a": np.arange(3), "b": np.arange(4)})
    damaged = bytearray(contents)
    damaged[contents.index(b"\x93NUMPY") + 130] ^= 1
    mixed = zip_bytes(mixed_entries())
    for archive, member, message in [
        (contents, "c", "there is no array 'c'"),
        (contents, 2, "there is no array number 2"),
        (contents, -1, "there is no array number -1"),
        (contents, b"a", "member must be an array's name (TEXT) or its idx (INTEGER)"),
        (contents, 0.5, "member must be an array's name (TEXT) or its idx (INTEGER)"),
        (bytes(damaged), "a", "a: the entry's bytes are damaged"),
        (mixed, "fake", "fake: is not a .npy array (the magic bytes are missing)"),
        (b"nothing", "a", "is not a .npy, .npz, .ten, .tar, .safetensors, .pt, .pkl or .gguf"),
        (b"", "a", "there is no array 'a'"),
        ("w.npz", "a", "takes an .npz, .ten, .tar, .safetensors, .pt, .pkl or .gguf as a BLOB (found a TEXT); npy_file opens a path"),
        (5, "a", "takes an .npz, .ten, .tar, .safetensors, .pt, .pkl or .gguf as a BLOB (found a number)"),
        (npy_bytes(np.arange(3)), "x", "there is no array 'x'"),
        (npy_bytes(np.arange(3))[:-1], "", "data is truncated"),
    ]:
        got = error_of(db, "SELECT npy_member(?, ?)", archive, member)
        assert got.startswith(f"npyext: npy_member: {message}"), (got, message)


# --- bounds, and where they may stand ----------------------------------------------------------------------


def test_results_beyond_sqlites_limit(connect):
    db = connect()
    array = npy_bytes(np.zeros(50_000))
    wide = npz_bytes({"a": np.zeros(500_000)}, "deflate")
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 500_000)
    big = sqlite3.SQLITE_TOOBIG
    assert len(one(db, "SELECT npy_transpose(?)", array)) == len(array)
    assert "limit of 500000 bytes" in error_of(db, "SELECT npy_astype(?, 'c16')", array, code=big)
    assert "limit of 500000 bytes" in error_of(db, "SELECT npy_member(?, 'a')", wide, code=big)
    text = f"[{','.join('0' * 100_000)}]"
    assert len(one(db, "SELECT npy_from_json(?, 'i4')", text)) == 400_128
    assert "limit of 500000 bytes" in error_of(db, "SELECT npy_from_json(?, 'f8')", text, code=big)
    assert "limit of 500000 bytes" in error_of(db, "SELECT npy_from_json('[\"\"]', 'S2000000000')", code=big)


def test_in_indexes_and_generated_columns(connect):
    db = connect()
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute(
        """CREATE TABLE runs(
            id INTEGER PRIMARY KEY, losses TEXT CHECK (npy_valid(npy_from_json(losses, 'f4'))),
            array BLOB AS (npy_from_json(losses, '<f4')) STORED,
            halves BLOB AS (npy_astype(array, '<f2')) VIRTUAL)"""
    )
    db.execute("CREATE INDEX by_array ON runs(npy_reshape(array, '[-1, 1]'))")
    db.executemany("INSERT INTO runs(losses) VALUES (?)", [(f"[{i}, {i + 0.5}]",) for i in range(50)])
    want = np.array([7, 7.5], "<f4")
    row = "SELECT id, array, halves FROM runs WHERE npy_reshape(array, '[-1, 1]') = ?"
    key = npy_bytes(want.reshape(-1, 1))
    assert "by_array" in db.execute("EXPLAIN QUERY PLAN " + row, (key,)).fetchall()[0][3]
    assert db.execute(row, (key,)).fetchall() == [(8, npy_bytes(want), npy_bytes(want.astype("<f2")))]
    with pytest.raises(sqlite3.Error, match=r"\[1\]: 1e\+99 does not fit float32"):
        db.execute("INSERT INTO runs(losses) VALUES ('[1, 1e99]')")
    assert db.execute("SELECT count(*) FROM runs").fetchone() == (50,)
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_they_work_on_each_other(connect):
    db = connect()
    sql = """SELECT npy_json(npy_slice(npy_reshape(npy_transpose(npy_astype(npy_from_json(
        '[[1, 2, 3], [4, 5, 6]]'), '>f4')), '[2, -1]'), '0'))"""
    want = np.array([[1, 2, 3], [4, 5, 6]], ">f4").T.reshape(2, -1)[0]
    assert json.loads(one(db, sql)) == want.tolist()


def test_interrupts(connect):
    """Short lists in a long one, which nobody had asked between."""
    db = connect()
    text = "[" + ",".join(["[" + ",".join(["0.123456789012345678901"] * 1000) + "]"] * 4000) + "]"
    is_done, started = threading.Event(), time.monotonic()

    def interrupt():
        while not is_done.wait(0.2):  # one that falls between two statements is lost
            db.interrupt()

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(sqlite3.OperationalError, match="interrupt"):
            while time.monotonic() - started < 20:
                one(db, "SELECT length(npy_from_json(?, 'f4'))", text)
    finally:
        is_done.set()
        thread.join()
    assert time.monotonic() - started < 10


def test_texts_without_a_length_are_as_long_as_the_longest(connect):
    db = connect()
    assert one(db, "SELECT npy_from_json('[[\"a\", \"bcd\"]]', 'U')") == npy_bytes(np.array([["a", "bcd"]]))
