"""The arguments slice, field, view, astype and expect, and npy_elements, against NumPy."""

import re
import sqlite3
import threading
import warnings

import numpy as np
import pytest

from arrays import (
    INTEGERS,
    SCALARS,
    TEN_CODES,
    npy_bytes,
    npz_bytes,
    random_array,
    random_shape,
    random_structured_dtype,
    seeded_generator,
    ten_bytes,
)
from expected import (
    assert_same_data,
    error_of,
    identical,
    is_json_row,
    json_of,
    parse_json,
    rows_of,
    scalar_value,
)
from formats import npy

DTYPES = ["?", "i1", "<i2", ">i4", "<i8", "u1", ">u2", "<u8", "<f2", ">f4", "<f8", "f16", "<c8", ">c16", "S3", ">U2", "V5"]
DTYPES += ["<M8[s]", ">M8[D]", "<m8[ms]", "M8"]

# --- random slices -----------------------------------------------------------------------------------------


def random_range(rng, length):
    """A range with bounds inside and outside of the axis, and steps either way."""

    def bound():
        return "" if rng.random() < 0.35 else str(rng.integers(-length - 3, length + 4))

    step = "" if rng.random() < 0.4 else f":{rng.choice(['', '1', '2', '3', '-1', '-2', '-7', '9223372036854775807'])}"
    return f"{bound()}:{bound()}{step}"


def random_slice(rng, shape):
    """The text of a basic index that fits the shape."""
    parts = []
    for length in shape[: rng.integers(0, len(shape) + 1)]:
        if length and rng.random() < 0.3:
            parts.append(str(rng.integers(-length, length)))
        else:
            parts.append(random_range(rng, length))
    if rng.random() < 0.3:
        # After the dots the parts are for the last axes.
        at = int(rng.integers(0, len(parts) + 1))
        after = shape[len(shape) - (len(parts) - at) :] if len(parts) > at else ()
        parts[at:] = ["...", *(random_range(rng, n) if not n or rng.random() < 0.7 else str(-n) for n in after)]
    for _ in range(int(rng.random() < 0.2) + int(rng.random() < 0.05)):
        parts.insert(int(rng.integers(0, len(parts) + 1)), str(rng.choice(["None", "newaxis"])))
    return str(rng.choice([", ", ",", " , "])).join(parts)


def index_of(text):
    """The index that NumPy is given for a text, by Python's own reading of it."""
    index = eval(f"np.s_[{text or '...'}]", {"np": np, "newaxis": None})  # texts made above, and no others
    index = index if isinstance(index, tuple) else (index,)
    # With dots the result is an array, if one of no axes.
    return index if Ellipsis in index else (*index, Ellipsis)


def spelled(rng, text):
    """The text, in brackets or not, with a comma at its end or not, spaces around it or not."""
    if text and not text.rstrip().endswith(",") and rng.random() < 0.1:
        text += ","
    brackets = ["[{}]", " {} "] if text else ["{}", "()", "[...]"]
    return str(rng.choice(brackets)).format(text) if rng.random() < 0.3 else text


# --- sources -----------------------------------------------------------------------------------------------


def sources_of(rng, array, path):
    """(label, source, member) of the array by path and as a BLOB, in one of the containers that can hold it."""
    kinds = ["npy", "stored", "deflate"] + ["ten"] * (array.dtype.str[1:] in TEN_CODES)
    kind = str(rng.choice(kinds))
    other = np.arange(3)
    if kind == "npy":
        contents, member = npy_bytes(array), ""
    elif kind == "ten":
        contents, member = ten_bytes([other, array], str(rng.choice(["<", ">"]))), 1
    else:
        contents, member = npz_bytes({"other": other, "it": array, "last": other}, kind), "it"
    path.write_bytes(contents)
    label = f"{kind}, {'Fortran' if array.flags.fnc else 'C'} order"
    return [(f"{label}, path", str(path), member), (f"{label}, BLOB", contents, member)]


# --- what must come ----------------------------------------------------------------------------------------


def same_value(got, item):
    if is_json_row(item):
        return parse_json(got) == json_of(item)
    return identical(got, scalar_value(item[()]))


def numbers_of_rows(index, shape):
    """The file's index of each row of a part: along the first axis that the part still has."""
    named = sum(part is not None and part is not Ellipsis for part in index)
    at = index.index(Ellipsis)
    parts = [*index[:at], *[slice(None)] * (len(shape) - named), *index[at + 1 :]]
    lengths = iter(shape)
    for part in parts:
        if part is None:
            return [0]
        length = next(lengths)
        if isinstance(part, slice):
            return list(range(length))[part]
    return [0]


def assert_rows(got, want, part, label):
    assert [row for row, _, _ in got] == want, f"{label}: row numbers"
    assert_same_data(b"".join(data for _, _, data in got), part, label)
    for (_, value, _), item in zip(got, rows_of(part)):
        if part.ndim > 1:
            assert parse_json(value) == json_of(item), f"{label}: {value!r}"
        else:
            assert same_value(value, item), f"{label}: {value!r}, expected {item!r}"


def check_elements(db, source, member, text, array, index, label, more=()):
    """npy_elements of a part: the places in the whole array, and what stands there."""
    part = array[index]
    positions = np.arange(array.size).reshape(array.shape)[index].ravel()
    columns = ", ".join(["idx", *(f"i{k}" for k in range(array.ndim + 1)), "value"])
    marks = ", ?" * len(more)
    got = db.execute(
        f"SELECT {columns} FROM npy_elements(?, ?, ?{marks})", (source, member, text, *more)
    ).fetchall()
    coordinates = np.stack([*np.unravel_index(positions, array.shape)], 1).tolist() if array.ndim else [[]] * positions.size
    want = [(idx, *at, None) for idx, at in zip(positions.tolist(), coordinates)]
    assert [row[:-1] for row in got] == want, f"{label}: places"
    for (*_, value), i in zip(got, np.ndindex(part.shape)):
        # An item of a structured array stays an array of no axes.
        assert same_value(value, part[i + (...,)]), f"{label} at {i}: {value!r}, expected {part[i]!r}"


# --- slice -------------------------------------------------------------------------------------------------


def test_random_slices_of_random_arrays(connect, tmp_path):
    rng, db = seeded_generator(), connect()
    for round in range(900):
        dtype = random_structured_dtype(rng, 1) if rng.random() < 0.15 else DTYPES[round % len(DTYPES)]
        array = random_array(rng, dtype, random_shape(rng, int(rng.integers(0, 5))), "CF"[round % 2])
        for label, source, member in sources_of(rng, array, tmp_path / "array"):
            text = random_slice(rng, array.shape)
            given, index = spelled(rng, text), index_of(text)
            label = f"{array.dtype} {array.shape}[{given}], {label}"
            got = db.execute("SELECT row, value, data FROM npy_rows(?, ?, ?)", (source, member, given)).fetchall()
            assert_rows(got, numbers_of_rows(index, array.shape), array[index], label)
            check_elements(db, source, member, given, array, index, label)


def test_slices_of_many_blocks(connect, tmp_path):
    """Parts whose rows, panels and outer axes do not fit into one block."""
    rng, db = seeded_generator(), connect()
    cases = [
        ("<i4", (300, 700), ["::-1", ":, ::-3", "5:250:7, 3", "::2, ::2", "-1", "...", ":, None, 20:600"]),
        ("<f8", (40, 30, 50), ["::-1, 3, ::2", ":, ::-1", "..., -1", "7", "::9, ::9, ::9"]),
        (">u2", (200_000,), ["::-1", "::3", "199990:", "100000:100001", "::-65536"]),
    ]
    for dtype, shape, texts in cases:
        raw = np.frombuffer(rng.bytes(int(np.prod(shape)) * np.dtype(dtype).itemsize), dtype).reshape(shape)
        for array in (raw, np.asfortranarray(raw)):
            for label, source, member in sources_of(rng, array, tmp_path / "array"):
                for text in texts:
                    index = index_of(text)
                    got = db.execute("SELECT row, data FROM npy_rows(?, ?, ?)", (source, member, text)).fetchall()
                    assert [row for row, _ in got] == numbers_of_rows(index, shape), f"{label} {text}"
                    assert_same_data(b"".join(data for _, data in got), array[index], f"{label} {text}")
                    places = np.arange(array.size).reshape(shape)[index].ravel().tolist()
                    got = db.execute(
                        "SELECT idx, value IS NULL FROM npy_elements(?, ?, ?)", (source, member, text)
                    ).fetchall()
                    assert [idx for idx, _ in got] == places, f"{label} {text}"


def test_an_integer_is_a_slice(connect):
    array, db = np.arange(12).reshape(3, 4), connect()
    for source in (npy_bytes(array), npy_bytes(np.asfortranarray(array))):
        for i in range(-3, 3):
            got = db.execute("SELECT value FROM npy_rows(?, '', ?)", (source, i)).fetchall()
            assert got == [(v,) for v in array[i].tolist()]
        assert db.execute("SELECT idx FROM npy_elements(?, '', -1)", (source,)).fetchall() == [(8,), (9,), (10,), (11,)]
    assert db.execute("SELECT * FROM npy_rows(?, '', NULL)", (npy_bytes(array),)).fetchall() == []
    assert "out of range" in error_of(db, "SELECT * FROM npy_rows(?, '', 3)", npy_bytes(array))


BAD_SLICES = {
    "3": r"index 3 .*out of range.*axis 0.*\b3\b",
    "-4": r"index -4 .*out of range",
    "0, 9": r"index 9 .*axis 1.*\b4\b",
    "0, 0, 0": r"too many.*\b2\b.*\b3\b",
    "..., ...": r"\.\.\.",
    "::0": r"step of 0",
    "a": r"\ba\b",
    "1 2": r"\b2\b|at",
    "[0": r"",
    "0]": r"",
    "1:2:3:4": r"",
    "0, , 1": r"",
    ",": r"",
    "1.5": r"",
    "[0, 1], 0": r"",
    "True": r"",
    "99999999999999999999": r"",
    "None, " * 64 + "...": r"\b64\b",
}


@pytest.mark.parametrize("text", BAD_SLICES)
def test_slices_that_numpy_would_refuse_or_that_are_not_basic(connect, text):
    contents = npy_bytes(np.zeros((3, 4)))
    for function in ("npy_rows", "npy_elements"):
        assert re.search(BAD_SLICES[text], error_of(connect(), f"SELECT * FROM {function}(?, '', ?)", contents, text))


def test_arguments_of_another_type(connect):
    contents = npy_bytes(np.zeros((3, 4)))
    for argument, value in [("slice", b"0"), ("slice", 1.5), ("field", 1), ("view", 4), ("astype", b"f4"), ("expect", 2.5)]:
        text = error_of(connect(), f"SELECT * FROM npy_rows(?) WHERE {argument} = ?", contents, value)
        assert re.search(rf"{argument}.*text", text)


# --- npy_elements ------------------------------------------------------------------------------------------


def test_elements_of_every_dtype(connect, tmp_path):
    rng, db = seeded_generator(), connect()
    for dtype in [order + t if len(t) > 1 and order else t for t in SCALARS for order in ("<", ">")]:
        array = random_array(rng, dtype, random_shape(rng, int(rng.integers(0, 4))), str(rng.choice(["C", "F"])))
        for label, source, member in sources_of(rng, array, tmp_path / "array"):
            check_elements(db, source, member, "", array, (...,), f"{array.dtype} {array.shape} {label}")


def test_real_and_imaginary_parts(connect):
    rng, db = seeded_generator(), connect()
    for dtype in ("<c8", ">c16", "c32", "<f4", ">i8", "u8", "?"):
        array = random_array(rng, dtype, (40,))
        got = db.execute("SELECT real, imag FROM npy_elements(?)", (npy_bytes(array),)).fetchall()
        for (real, imag), item in zip(got, array):
            if array.dtype.kind == "c":
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", RuntimeWarning)  # a long double beyond float64
                    parts = scalar_value(item.real), scalar_value(item.imag)
                assert identical(real, parts[0]) and identical(imag, parts[1]), f"{item!r}: {real!r}, {imag!r}"
            else:
                assert identical(real, scalar_value(item)) and imag == 0, f"{item!r}: {real!r}, {imag!r}"
    for dtype in ("S2", "U2", "V3", "M8[s]", "m8[s]", [("a", "i4")]):
        array = random_array(rng, dtype, (3,))
        got = db.execute("SELECT real, imag FROM npy_elements(?)", (npy_bytes(array),)).fetchall()
        assert got == [(None, None)] * 3, dtype


def test_coordinates_beyond_the_dimensions(connect):
    array, db = np.arange(2**6).reshape([2] * 6), connect()
    got = db.execute("SELECT i4, i5, i6, i63 FROM npy_elements(?) WHERE idx = 2", (npy_bytes(array),)).fetchall()
    assert got == [(1, 0, None, None)]
    deep = np.arange(2).reshape([1] * 31 + [2])
    assert db.execute("SELECT i30, i31, i32 FROM npy_elements(?)", (npy_bytes(deep),)).fetchall() == [(0, 0, None), (0, 1, None)]
    # What is not there is NULL, which no comparison holds for.
    count = lambda where, *arguments: db.execute(
        f"SELECT count(*) FROM npy_elements(?) WHERE {where}", (npy_bytes(np.arange(6).reshape(2, 3)), *arguments)
    ).fetchone()
    for where in ("i2 = 0", "i3 < 1", "i3 >= 0", "i2 < 'abc'", "i2 <= 9e999", "i2 > -9e999", "i3 IN (0, NULL)", "i2 IS 0"):
        assert count(where) == (0,), where
    assert count("i2 IS NULL") == count("i2 IS ?", None) == count("+i2 IS ?", None) == (6,)
    assert count("i1 IS NULL") == count("i1 IS ?", None) == (0,)
    names = [c[0] for c in db.execute("SELECT * FROM npy_elements(?) LIMIT 0", (npy_bytes(array),)).description]
    assert names == ["idx", "i0", "i1", "i2", "i3", "value"]


def test_elements_of_several_arrays(connect, tmp_path):
    members = {"a": np.arange(3), "b": np.ones((2, 2), "f4"), "c": np.array(7), "none": np.zeros((0, 3))}
    db = connect()
    for variant in ("stored", "deflate"):
        (tmp_path / "m.npz").write_bytes(npz_bytes(members, variant))
        got = db.execute("SELECT name, idx, i0, i1, value FROM npy_elements(?)", (str(tmp_path / "m.npz"),)).fetchall()
        assert got == [
            *[("a", i, i, None, i) for i in range(3)],
            *[("b", i, i // 2, i % 2, 1.0) for i in range(4)],
            ("c", 0, None, None, 7),
        ]


# --- field -------------------------------------------------------------------------------------------------


def fields_of(dtype, prefix=""):
    """(text, path) of every field, nested ones too, whose names can be spelled."""
    for name in dtype.names or ():
        yield prefix + name, (name,)
        base = dtype[name].base
        # The fields of a subarray are fields of the items that it adds.
        for text, path in fields_of(base, f"{prefix}{name}."):
            yield text, (name, *path)


def selected(array, path):
    for name in path:
        array = array[name]
    return array


def test_random_fields(connect, tmp_path):
    rng, db = seeded_generator(), connect()
    for round in range(200):
        dtype = random_structured_dtype(rng)
        array = random_array(rng, dtype, random_shape(rng, round % 3), "CF"[round % 2])
        for text, path in fields_of(dtype):
            if "a.b" in path and path[-1] != "a.b" or sum(name == "a.b" for name in path) > 1:
                continue
            if "a.b" in path and "a" in dtype.names:
                continue  # `a.b` is the field b of a there
            field = np.asarray(selected(array, path))
            label = f"{dtype} {array.shape} field {text}"
            [(_, source, member), _] = sources_of(rng, array, tmp_path / "array")
            got = db.execute(
                "SELECT row, value, data FROM npy_rows(?, ?, '', ?)", (source, member, text)
            ).fetchall()
            assert_rows(got, list(range(field.shape[0] if field.ndim else 1)), field, label)
            part = random_slice(rng, field.shape)
            check_elements(db, source, member, part, field, index_of(part), f"{label}[{part}]", more=(text,))


def test_fields_by_name_title_and_path(connect):
    dtype = np.dtype(
        [
            (("The title", "x"), ">i2"),
            ("pos", [("x", "<f8"), ("y", "<f8", (2,))]),
            ("m", "<i4", (2, 3)),
            ("list", [("k", "u1")], (2,)),
            ("a.b", "S2"),
        ]
    )
    db, array = connect(), random_array(np.random.default_rng(5), dtype, (3, 2), "F")
    contents = npy_bytes(array)
    for text, want in [
        ("x", array["x"]),
        ("The title", array["x"]),
        ("pos.x", array["pos"]["x"]),
        ("pos.y", array["pos"]["y"]),
        ("m", array["m"]),
        ("list", array["list"]),
        ("list.k", array["list"]["k"]),
        ("a.b", array["a.b"]),
    ]:
        got = db.execute("SELECT data FROM npy_rows(?, '', '', ?)", (contents, text)).fetchall()
        assert_same_data(b"".join(data for (data,) in got), np.asarray(want), text)
    for text in ("z", "pos.z", "x.x", "pos.", ".x", "m.k"):
        assert re.search(r"field", error_of(db, "SELECT * FROM npy_rows(?, '', '', ?)", contents, text)), text
    for name in dtype.names:
        assert name in error_of(db, "SELECT * FROM npy_rows(?, '', '', 'z')", contents)
    assert "structured" in error_of(db, "SELECT * FROM npy_rows(?, '', '', 'x')", npy_bytes(np.arange(3)))


# --- view --------------------------------------------------------------------------------------------------


def narrow_values(codes, exponent_bits, has_infinities):
    """float8 by its definition: 1 sign, the exponent's bits, and the rest of the fraction."""
    fraction_bits = 7 - exponent_bits
    bias, values = 2 ** (exponent_bits - 1) - 1, []
    for code in codes.tolist():
        sign, exponent = -1.0 if code & 0x80 else 1.0, (code & 0x7F) >> fraction_bits
        fraction = code & (2**fraction_bits - 1)
        is_last = exponent == 2**exponent_bits - 1
        if is_last and has_infinities:
            values.append(sign * float("inf") if fraction == 0 else None)
        elif is_last and fraction == 2**fraction_bits - 1:
            values.append(None)
        elif exponent == 0:
            values.append(sign * fraction * 2.0 ** (1 - bias - fraction_bits))
        else:
            values.append(sign * (1 + fraction / 2**fraction_bits) * 2.0 ** (exponent - bias))
    return values


def test_views_of_narrow_floats(connect):
    db = connect()

    def check(stored, name, want):
        got = db.execute("SELECT value FROM npy_rows(?, '', '', '', ?)", (npy_bytes(stored), name)).fetchall()
        assert all(identical(a, b) for (a,), b in zip(got, want)) and len(got) == len(want), name

    codes = np.arange(256, dtype="u1")
    for stored in (codes, codes.view("i1"), codes.view("V1")):
        check(stored, "float8_e4m3fn", narrow_values(codes, 4, False))
        check(stored, "float8_e5m2", narrow_values(codes, 5, True))
    words = np.arange(65536, dtype="<u2")
    wide = (words.astype("u4") << 16).view("f4")
    want = [None if np.isnan(x) else float(x) for x in wide]
    for stored in (words, words.view("V2"), words.view("<f2")):
        check(stored, "bfloat16", want)
    # In both functions, with the slice after it.
    got = db.execute(
        "SELECT i0, value FROM npy_elements(?, '', '16256::-16000', '', 'bfloat16')", (npy_bytes(words.view("V2")),)
    ).fetchall()
    assert got == [(16256, 1.0), (256, float(wide[256]))]


def test_views_as_other_dtypes(connect):
    rng, db = seeded_generator(), connect()
    pairs = [
        ("<u8", "<i8"), ("<f8", ">f8"), ("<i8", "M8[ns]"), ("<c8", "<u8"), ("S4", "<u4"), ("<f4", "V4"), (">u2", "<u2"),
        ("<U1", "<i4"), ("<i8", "<c8"), ("V8", "m8[s]"), ("u1", "?"), ("V16", "<c16"), ([("a", "<f4"), ("b", "<i4")], "<i8"),
        ("<i8", [("a", "<f4"), ("b", "<u2", (2,))]),
    ]
    for stored, name in pairs:
        array = random_array(rng, stored, (3, 4), str(rng.choice(["C", "F"])))
        if np.dtype(name).kind in "M":
            array = (rng.integers(-(10**15), 10**15, (3, 4))).astype("<i8").view(stored)
        want = np.ndarray(array.shape, name, array.tobytes())
        if isinstance(name, list):
            name = '[["a","<f4"],["b","<u2",[2]]]'
        got = db.execute("SELECT row, value, data FROM npy_rows(?, '', '', '', ?)", (npy_bytes(array), name)).fetchall()
        assert_rows(got, [0, 1, 2], want, f"{stored} as {name}")
    for name, meaning in [("<i4", r"\b4\b.*\b8\b"), ("S9", r"\b9\b.*\b8\b"), ("colour", "colour"), ("O", "object"), ("<q7", "q7")]:
        text = error_of(db, "SELECT value FROM npy_rows(?, '', '', '', ?)", npy_bytes(np.zeros(3)), name)
        assert re.search(meaning, text), text


# --- astype ------------------------------------------------------------------------------------------------

NUMBERS = ["?", *INTEGERS, "f2", "f4", "f8", "f16", "c8", "c16"]


def is_defined(array, to):
    """Which items NumPy converts by value: inside the type, finite where it needs be."""
    to = np.dtype(to)
    if to.kind == "b" or to.kind == "c" and array.dtype.kind == "c" and to.itemsize >= array.dtype.itemsize:
        return np.ones(array.shape, bool)
    if to.kind in "iu":
        if array.dtype.kind == "b":
            return np.ones(array.shape, bool)
        low, high = int(np.iinfo(to).min), int(np.iinfo(to).max)
        if array.dtype.kind in "iu":
            return np.array([low <= int(x) <= high for x in array.ravel()]).reshape(array.shape)
        inside = lambda x: np.isfinite(x) and low <= int(x) <= high
        return np.array([inside(x) for x in array.ravel()]).reshape(array.shape)
    with np.errstate(all="ignore"):
        parts = array.view(array.real.dtype) if array.dtype.kind == "c" else array
        width = np.dtype(f"f{to.itemsize // 2}") if to.kind == "c" else to
        made = np.isfinite(parts.astype(width)) | ~np.isfinite(parts)
    return made.reshape(array.shape + (-1,)).all(-1) if array.dtype.kind == "c" else made


def items_of(rng, dtype, count):
    """Numbers of every size, so that some fit into any type."""
    dtype = np.dtype(dtype)
    items = random_array(rng, dtype, (count,))
    small = rng.integers(0, 100, count)
    with np.errstate(all="ignore"):
        halves = (small - 50 * (dtype.kind in "fci" and dtype.itemsize > 1)) / (2 if dtype.kind in "fc" else 1)
        items = np.where(rng.random(count) < 0.5, halves.astype(dtype), items)
    if dtype.kind == "f" and dtype.itemsize == 16 or dtype.kind == "c":
        items = np.where(rng.random(count) < 0.3, small.astype(dtype), items)
    return items.astype(dtype)


def test_conversions_between_numbers(connect):
    rng, db = seeded_generator(), connect()
    for of in NUMBERS:
        for to in NUMBERS:
            if np.dtype(of).kind == "c" and np.dtype(to).kind != "c":
                text = error_of(db, "SELECT * FROM npy_rows(?, '', '', '', '', ?)", npy_bytes(np.zeros(2, of)), to)
                assert re.search("complex.*cannot be converted", text), text
                continue
            stored = np.dtype(of).newbyteorder(str(rng.choice(["<", ">"])))
            array = items_of(rng, of, 200).astype(stored)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fits = is_defined(array, to)
                good, bad = array[fits], array[~fits]
                want = good.astype(np.dtype(to))
            name = str(rng.choice([np.dtype(to).str, np.dtype(to).name]))
            for function, columns in (("npy_rows", "value, data"), ("npy_elements", "value, ''")):
                got = db.execute(
                    f"SELECT {columns} FROM {function}(?, '', '', '', '', ?)", (npy_bytes(good), name)
                ).fetchall()
                assert len(got) == len(good), f"{of} to {to}"
                for i, (value, data) in enumerate(got):
                    item, label = want[i, ...], f"{function}: {of} to {to}: {good[i]!r}"
                    assert same_value(value, item), f"{label} is {value!r}, expected {item!r}"
                    # The bits of a NaN are nobody's promise, and a true byte becomes 1 or stays.
                    with np.errstate(invalid="ignore"):
                        is_number = bool(item == item)
                    if data and is_number and item.dtype != bool:
                        assert_same_data(data, item, label)
            for item in bad[:5]:
                array = np.array([1, item], array.dtype)
                text = error_of(db, "SELECT value FROM npy_rows(?, '', '', '', '', ?)", npy_bytes(array), name)
                # The value and where it stands.
                assert np.dtype(to).name in text and re.search(r"\b1\b", text), f"{item!r}: {text}"


def test_conversions_that_are_refused(connect):
    db = connect()
    convert = lambda array, to: error_of(
        db, "SELECT value FROM npy_rows(?, '', '', '', '', ?)", npy_bytes(np.asarray(array)), to
    )
    assert re.search(r"300.*uint8", convert([1, 300], "u1"))
    assert re.search(r"-1.*uint64", convert([-1], "u8"))
    assert re.search(r"(?i)nan.*int32", convert([1.0, np.nan], "i4"))
    assert re.search(r"(?i)inf.*int64", convert([np.inf], "<i8"))
    assert re.search(r"1e\+?300.*float32", convert([1e300], "f4"))
    assert re.search(r"9223372036854775808|9\.22337", convert([2.0**63], "i8"))
    assert re.search(r"65520.*float16", convert([65520.0], "f2"))
    assert re.search(r"(?i)inf.*float8_e4m3fn", convert([np.inf], "float8_e4m3fn"))
    for of, to in (("S3", "i4"), ("M8[s]", "i8"), ("i8", "M8[s]"), ("U2", "f4"), ("f4", "S4"), ("c8", "f4")):
        assert "cannot be converted" in convert(np.zeros(1, of), to)
    assert "cannot be converted" in convert(np.zeros(1, [("a", "i4")]), "f4")
    assert "colour" in convert([1], "colour")
    # The item is counted in the array, not in the block that was converted.
    late = np.zeros(100_000)
    late[50_000] = np.nan
    for function in ("npy_rows", "npy_elements"):
        text = error_of(db, f"SELECT count(value) FROM {function}(?, '', '', '', '', 'i4')", npy_bytes(late))
        assert re.search(r"\b50000\b", text), text


def test_conversions_to_narrow_floats(connect):
    """Rounded once, to nearest, ties to even: against every code of the type."""
    rng, db = seeded_generator(), connect()
    codes = np.arange(256, dtype="u1")
    kinds = [("float8_e4m3fn", narrow_values(codes, 4, False)), ("float8_e5m2", narrow_values(codes, 5, True))]
    bits = (np.arange(65536, dtype="u4") << 16).view("f4")
    kinds.append(("bfloat16", [None if np.isnan(x) else float(x) for x in bits]))
    for name, values in kinds:
        finite = np.array(sorted({v for v in values if v is not None and abs(v) != np.inf}))
        middles = (finite[1:] + finite[:-1]) / 2  # exact in float64
        around = np.concatenate([middles, np.nextafter(middles, np.inf), np.nextafter(middles, -np.inf), finite])
        if len(around) > 5000:
            around = rng.choice(around, 5000)
        got = db.execute(
            "SELECT value, data FROM npy_rows(?, '', '', '', '', ?)", (npy_bytes(around), name)
        ).fetchall()
        code_of = {}
        for code, value in enumerate(values):
            if value is not None:
                code_of.setdefault(value, code)
        for (value, data), given in zip(got, around):
            at = int(np.searchsorted(finite, given))
            low, high = finite[max(at - 1, 0)], finite[min(at, len(finite) - 1)]
            if given - low == high - given and low != high:
                even = [v for v in (low, high) if code_of[float(v)] % 2 == 0]
                want = even[0]
            else:
                want = low if abs(given - low) < abs(high - given) else high
            assert value == want, f"{name}: {given!r} is {value!r}, expected {want!r}"
            assert len(data) == (2 if name == "bfloat16" else 1)


# --- expect ------------------------------------------------------------------------------------------------


def test_expectations(connect):
    db = connect()
    array, dates = np.zeros((1000, 64), "<f4"), np.zeros((3, 2), "M8[ns]")
    structured = np.zeros(4, [("x", "<f4"), ("y", "<i8", (3,))])
    met = [
        (array, ["float32", "f4", "<f4", "[1000, 64]", "[*, 64]", "float32[*, 64]", "f4[>=1000, *]", "f4 [ > 999, < 65 ]"]),
        (array, ["[...]", "[..., 64]", "[1000, ...]", "[*, ..., *]", "f4[...]", "[<=1000,<=64]"]),
        (dates, ["datetime64", "M8", "M8[ns]", "datetime64[ns]", "M8[ns][3, *]", "datetime64[3, 2]"]),
        (structured, ["void", "V", '[["x","<f4"],["y","<i8",[3]]]', "[4]", '[["x","f4"],["y","i8",[3]]][4]']),
        (np.zeros(2, "S5"), ["S", "S5", "S5[2]"]),
        (np.array(1.0), ["[]", "f8[]", "[...]"]),
    ]
    for stored, texts in met:
        for text in texts:
            got = db.execute("SELECT count(*) FROM npy_rows(?) WHERE expect = ?", (npy_bytes(stored), text)).fetchone()
            assert got == (stored.shape[0] if stored.ndim else 1,), text
    found = r"expected .*, found (float32|<f4)\[1000, 64\]"
    for text in ("float64", ">f4", "i4[1000, 64]", "[1000]", "[*, 63]", "[>1000, *]", "[<=999, 64]", "[*, *, *]", "[*, 64, ..., *]"):
        assert re.search(found, error_of(db, "SELECT count(*) FROM npy_rows(?) WHERE expect = ?", npy_bytes(array), text)), text
    for stored, text in ((dates, "M8[s]"), (structured, '[["x","f8"]]'), (np.zeros(2, "S5"), "S4"), (np.array(1.0), "[*]")):
        assert re.search(r"expected .*found", error_of(db, "SELECT * FROM npy_rows(?) WHERE expect = ?", npy_bytes(stored), text))
    for text in ("float33", "[", "[a]", "f4[1", "[1,,2]", "[..., ...]", "f4]", "[-1]", "f4[2] words"):
        error_of(db, "SELECT * FROM npy_rows(?) WHERE expect = ?", npy_bytes(array), text)


def test_the_order_of_the_arguments(connect):
    """field, view, expect, slice, then astype: each sees what those before it made."""
    rng, db = seeded_generator(), connect()
    array = random_array(rng, [("id", "<i4"), ("h", "V2", (4,))], (6,))
    halves = rng.integers(-99, 99, (6, 4)).astype("<f4")
    array["h"] = (halves.view("<u4") >> 16).astype("<u2").view("V2").reshape(6, 4)
    kept = ((halves.view("<u4") >> 16) << 16).view("<f4")
    got = db.execute(
        "SELECT row, data FROM npy_rows(?, '', '::-2, 1:3', 'h', 'bfloat16', '<f4', 'bfloat16[6, 4]')",
        (npy_bytes(array),),
    ).fetchall()
    assert got == [(row, kept[row, 1:3].astype("<f4").tobytes()) for row in (5, 3, 1)]
    # Only what the slice leaves is converted.
    numbers = npy_bytes(np.array([1.0, np.nan, 3.0]))
    assert db.execute("SELECT value FROM npy_rows(?, '', '::2', '', '', 'i4')", (numbers,)).fetchall() == [(1,), (3,)]
    got = db.execute(
        "SELECT idx, i0, i1, value FROM npy_elements(?, '', '::-2, 1:3', 'h', 'bfloat16', 'i2') WHERE i0 = 3",
        (npy_bytes(array),),
    ).fetchall()
    assert got == [(13, 3, 1, int(kept[3, 1])), (14, 3, 2, int(kept[3, 2]))]


def idx_conditions(rng, size):
    """(SQL, its parameters, the same in Python)"""
    low, high = rng.integers(-2, size + 3, 2).tolist()
    return [
        ("idx = ?", [low], lambda v: v == low),
        ("idx >= ? AND idx < ?", [low, high], lambda v: low <= v < high),
        ("idx > ?", [low], lambda v: v > low),
        ("idx <= ?", [low], lambda v: v <= low),
        ("idx BETWEEN ? AND ? AND value > 2", [low, high], lambda v: low <= v <= high and v > 2),
    ][rng.integers(5)]


def test_ranges_of_idx(connect):
    """Of all orders and directions of axes; the value of an element is its idx."""
    rng, db = seeded_generator(), connect()
    parts = [":", "::-1", "1:", "::2", "::-2", "None", "0", "-1", ":2"]
    for _ in range(1500):
        array = np.arange(np.prod(shape := rng.choice([0, 1, 2, 3, 5, 7], rng.integers(0, 5)), dtype=int)).reshape(shape)
        array = np.asfortranarray(array) if rng.random() < 0.5 else array
        text = ", ".join(rng.choice(parts, rng.integers(0, array.ndim + 1)))
        try:
            chosen = eval(f"array[{text}]" if text else "array")  # noqa: S307
        except IndexError:
            continue
        sql, parameters, is_wanted = idx_conditions(rng, array.size)
        expected = [value for value in np.asarray(chosen).ravel().tolist() if is_wanted(value)]
        for columns in ("idx, value", "idx"):
            for rest, part in (("", slice(None)), ("LIMIT 2", slice(2)), ("LIMIT 3 OFFSET 1", slice(1, 4))):
                got = db.execute(f"SELECT {columns} FROM npy_elements(?, '', ?) WHERE {sql} {rest}", (npy_bytes(array), text, *parameters))
                assert [row[0] for row in got] == expected[part], (shape, text, sql, parameters, rest)


def test_an_idx_in_a_row_of_2_62_items_was_looked_for_one_by_one(connect):
    db, array = connect(), npy("", (), b"", text=f"{{'descr': '<U0', 'fortran_order': False, 'shape': (1, {2**62}), }}")
    assert db.execute("SELECT idx, i1 FROM npy_elements(?) WHERE idx = ?", (array, 2**61)).fetchall() == [(2**61, 2**61)]
    mixed = npy("", (), b"", text=f"{{'descr': '<U0', 'fortran_order': False, 'shape': (2, {2**30}, {2**31}), }}")
    timer = threading.Timer(0.1, db.interrupt)
    timer.start()
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):  # there is no order, so all are looked at
        db.execute("SELECT idx FROM npy_elements(?, '', ':, :, ::-1') WHERE idx BETWEEN 2 AND 3", (mixed,)).fetchall()
    timer.join()
