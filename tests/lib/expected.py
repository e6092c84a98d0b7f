"""What SQL must make of an array, computed with NumPy and Python alone: the bytes of `data`, `value` and its JSON.

Also the form that rows, errors and counters have in every test.
"""

import json
import math
import sqlite3

import numpy as np
import pytest

# --- bytes -------------------------------------------------------------------------------------------------


def _plain_parts(array, where=""):
    """(path, array) of each field that is not structured, or of the array itself."""
    if array.dtype.names is None:
        yield where, array
    else:
        for name in array.dtype.names:
            yield from _plain_parts(array[name], f"{where}/{name}")


def little_endian(array):
    """The array in C order with every item, nested fields included, in little-endian; padding is zero."""
    want = np.ndarray(array.shape, array.dtype.newbyteorder("<"), bytearray(array.nbytes or 1))
    for (_, to), (_, of) in zip(_plain_parts(want), _plain_parts(array)):
        if to.nbytes:
            # astype would not do: it takes the byte order of a datetime64 without a unit for nothing.
            to[...] = of.byteswap().view(to.dtype) if of.dtype.byteorder == ">" else of
    return want


def _defined_bytes(array):
    """The bytes of an unstructured array without the 6 of every long double that mean nothing."""
    octets = np.frombuffer(array.tobytes(), "u1")
    if array.dtype.kind in "fc" and array.dtype.base in (np.dtype("f16"), np.dtype("c32")):
        return octets.reshape(-1, 16)[:, :10].tobytes()
    return octets.tobytes()


def assert_same_data(data, array, label):
    """data is the array in C order and little-endian; only what holds no value may differ."""
    want = little_endian(array)
    assert len(data) == want.nbytes, f"{label}: {len(data)} bytes of data, {want.nbytes} expected"
    got = np.ndarray(want.shape, want.dtype, data or b"\0")
    for (where, got_part), (_, want_part) in zip(_plain_parts(got), _plain_parts(want)):
        assert _defined_bytes(got_part) == _defined_bytes(want_part), f"{label}{where}: data differ"


# --- numbers and text --------------------------------------------------------------------------------------


def float_text(item):
    """The shortest decimal that reads back as the same float of its own width, spelled as Python's repr does. A number
    so large that all of its width are whole is the float64 that it is."""
    if item.dtype.itemsize >= 8 or abs(item) >= 2.0 ** (np.finfo(item.dtype).nmant + 1):
        return repr(float(item))
    mantissa, exponent = np.format_float_scientific(item, unique=True, trim="-").split("e")
    sign, digits, exponent = "-" * mantissa.startswith("-"), mantissa.lstrip("-").replace(".", ""), int(exponent)
    if exponent < -4 or exponent >= 16:
        return f"{sign}{digits[0]}{'.' * (len(digits) > 1)}{digits[1:]}e{exponent:+03d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    digits = digits.ljust(exponent + 1, "0")
    return f"{sign}{digits[: exponent + 1]}.{digits[exponent + 1:] or '0'}"


def datetime_text(item):
    """`YYYY-MM-DD[ HH:MM:SS[.fff...]]`: always a whole date, always whole seconds, the digits of the unit."""
    unit, _ = np.datetime_data(item.dtype)
    whole = item.astype("M8[D]") if unit in "YMWD" else item
    year, month, rest = np.datetime_as_string(whole).rsplit("-", 2)
    rest = rest.replace("T", " ") + {"h": ":00:00", "m": ":00"}.get(unit, "")
    # NumPy counts the minus sign among the four columns of a year; SQLite's own functions do not.
    return f"{'-' * year.startswith('-')}{abs(int(year)):04d}-{month}-{rest}"


def _bytes_text(item):
    """The text of an S item, or None when it is not UTF-8."""
    try:
        return bytes(item).decode("utf-8")
    except UnicodeDecodeError:
        return None


def _unicode_text(item):
    return "".join("\ufffd" if 0xD800 <= ord(c) <= 0xDFFF else c for c in str(item))


def _date_value(item):
    if np.isnat(item):
        return None
    if item.dtype.kind == "m" or np.datetime_data(item.dtype)[0] == "generic":
        return int(item.astype("i8"))
    return datetime_text(item)


# --- JSON --------------------------------------------------------------------------------------------------


class Number(str):
    """A JSON number that is a float, by its very text."""


def parse_json(text):
    """JSON with floats as Number and objects as ('object', pairs), so that spelling, order and repeats all show."""

    def refuse(name):
        raise AssertionError(f"{name} is not JSON: {text[:200]}")

    return json.loads(
        text, parse_float=Number, parse_constant=refuse, object_pairs_hook=lambda pairs: ("object", pairs)
    )


def _float_json(item, text=float_text):
    # A long double is given as the nearest double, which may overflow.
    item = np.float64(float(item)) if text is float_text and item.dtype.itemsize == 16 else item
    if math.isnan(item):
        return None
    if math.isinf(item):
        return Number("9e999" if item > 0 else "-9e999")
    return Number(text(item))


def _plain_json(item):
    kind = item.dtype.kind
    if kind == "b":
        return bool(item)
    if kind in "iu":
        return int(item) if int(item) < 2**63 else str(int(item))
    if kind == "f":
        return _float_json(item)
    if kind == "c":
        return [_float_json(item.real), _float_json(item.imag)]
    if kind in "Mm":
        return _date_value(item)
    if kind == "S":
        text = _bytes_text(item)
        return bytes(item).hex().upper() if text is None else text
    if kind == "U":
        return _unicode_text(item)
    return bytes(item).hex().upper()


def _once_for_equals(array):
    """The JSON of an unstructured array, for which each of its different items is looked at once."""
    flat = array.reshape(-1)
    if array.dtype.itemsize in (1, 2, 4, 8):
        bits = np.frombuffer(flat.tobytes(), f"u{array.dtype.itemsize}")
        _, first, inverse = np.unique(bits, return_index=True, return_inverse=True)
    else:
        first = inverse = np.arange(array.size)
    if array.dtype.kind == "f" and array.dtype.itemsize == 8:
        items = [_float_json(item, repr) for item in flat[first].tolist()]
    else:
        items = [_plain_json(flat[at]) for at in first]
    found = np.empty(len(items), object)
    for i, item in enumerate(items):  # an item may be a list
        found[i] = item
    return found[inverse.reshape(array.shape)].tolist()


def json_of(array):
    """What parse_json must return for the array, or for one item when it is 0-d."""
    if array.ndim and array.dtype.names is None:
        return _once_for_equals(array)
    if array.ndim:
        return [json_of(array[i, ...]) for i in range(array.shape[0])]
    if array.dtype.names is not None:
        return ("object", [(name, json_of(array[name])) for name in array.dtype.names])
    return _plain_json(array[()])


# --- values ------------------------------------------------------------------------------------------------


def is_json_row(array):
    """Whether `value` of the array's rows is JSON."""
    return array.ndim > 1 or array.dtype.names is not None or array.dtype.kind == "c"


def scalar_value(item):
    """The SQL value of an item that is no JSON."""
    kind = item.dtype.kind
    if kind == "b":
        return int(item)
    if kind in "iu":
        return int(item) if int(item) < 2**63 else str(int(item))
    if kind == "f":
        return None if np.isnan(item) else float(item)
    if kind in "Mm":
        return _date_value(item)
    if kind == "S":
        text = _bytes_text(item)
        return bytes(item) if text is None else text
    return _unicode_text(item) if kind == "U" else bytes(item)


def identical(got, want):
    """Equal, of one type, and with one sign of zero."""
    return (
        type(got) is type(want)
        and got == want
        and (not isinstance(want, float) or math.copysign(1, got) == math.copysign(1, want))
    )


def rows_of(array):
    """The rows of npy_rows: entries along the first axis, or the one item of a 0-d array."""
    return [array[i, ...] for i in range(array.shape[0])] if array.ndim else [array]


def assert_same_rows(rows, array, label):
    """rows are (row, value, data) of npy_rows over the whole array."""
    expected = rows_of(array)
    assert [row for row, _, _ in rows] == list(range(len(expected))), f"{label}: row numbers"
    assert_same_data(b"".join(data for _, _, data in rows), array, label)
    for (row, value, _), want in zip(rows, expected):
        where = f"{label} row {row}"
        if is_json_row(array):
            assert parse_json(value) == json_of(want), f"{where}: {value!r}"
        else:
            assert identical(
                value, scalar_value(want[()])
            ), f"{where}: {value!r}, expected {scalar_value(want[()])!r}"


# --- rows by name ------------------------------------------------------------------------------------------


def named_rows(db, sql, *arguments):
    cursor = db.execute(sql, arguments)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row)) for row in cursor]


def assert_has(row, facts, label):
    got = {name: row[name] for name in facts}
    assert got == facts, label


# --- errors ------------------------------------------------------------------------------------------------


def error_of(db, sql, *arguments, code=sqlite3.SQLITE_ERROR):
    """The text of the error that the statement ends with, which has the form that every error has."""
    with pytest.raises(sqlite3.Error) as raised:
        db.execute(sql, arguments).fetchall()
    text = str(raised.value)
    # One line, in which nothing longer than a path is repeated.
    assert text.startswith("npyext: ") and text.isprintable() and len(text) < 6000, repr(text[:1000])
    assert raised.value.sqlite_errorcode & 0xFF == code, (text, raised.value.sqlite_errorname)
    return text


REFUSED = ("are JSON here", "are texts with all their digits", "are texts such as", "binds a NumPy scalar as a BLOB")


def is_refused(answered):
    """Whether an answer is the error of a comparison that an ordinary table answers, and the extension does not: its other side can
    equal nothing, and the documents say so."""
    return isinstance(answered, sqlite3.Error) and any(text in str(answered) for text in REFUSED)


# --- what a statement costs --------------------------------------------------------------------------------


def counters(db):
    return json.loads(db.execute("SELECT npyext_counters()").fetchone()[0])


def since(db, before):
    return {name: count - before[name] for name, count in counters(db).items()}


def sql_literal(value):
    """A value as SQL; NaN is NULL."""
    if value is None or value != value:
        return "NULL"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value).replace("inf", "9e999") if isinstance(value, float) else str(value)
