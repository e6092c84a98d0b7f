"""Python objects in arrays: what SQL is to make of them, computed with Python alone, and files that have some."""

import base64
import collections
import datetime
import decimal
import io
import json
import pathlib
import pickle
import uuid
import zoneinfo

import numpy as np

from arrays import random_array
from expected import Number, identical, json_of, parse_json, scalar_value

# --- values ------------------------------------------------------------------------------------------------


def text_of(text):
    return "".join("\ufffd" if 0xD800 <= ord(c) <= 0xDFFF else c for c in text)


def float_json(real):
    if real != real:
        return None
    return Number("9e999" if real > 0 else "-9e999") if real in (float("inf"), float("-inf")) else Number(repr(real))


def plain(value):
    """What stands for a value of a class that is known, or the value."""
    if isinstance(value, (datetime.datetime, datetime.time)) and isinstance(value.tzinfo, zoneinfo.ZoneInfo):
        return f"{value.replace(tzinfo=None).isoformat()}[{value.tzinfo.key}]"
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, np.ndarray) and value.ndim == 0 and not isinstance(value, np.ma.MaskedArray):
        return plain(value[()])
    return str(value) if isinstance(value, (decimal.Decimal, uuid.UUID, pathlib.PurePath)) else value


def json_value(value):
    """What parse_json is to give. The order of a set is that in which it is pickled, too."""
    value = plain(value)
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, np.ma.MaskedArray):
        return json_value(masked_list(value))
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        return json_value(listed(value))
    if isinstance(value, (np.ndarray, np.generic)):
        return json_of(np.asarray(value))
    if isinstance(value, float):
        return float_json(value)
    if isinstance(value, str):
        return text_of(value)
    if isinstance(value, (bytes, bytearray)):
        return ("object", [("__bytes__", base64.b64encode(value).decode())])
    if isinstance(value, complex):
        return [float_json(value.real), float_json(value.imag)]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [json_value(part) for part in value]
    assert isinstance(value, dict), type(value)
    return ("object", [(key_text(key), json_value(part)) for key, part in value.items()])


def listed(array):
    """Nested lists of an array with objects; structured items are dicts."""
    if array.ndim:
        return [listed(array[i, ...]) for i in range(len(array))]
    if array.dtype.names is None:
        return array[()]
    return {name: listed(np.asarray(array[name])) for name in array.dtype.names}


def masked_list(array):
    if array.ndim:
        return [masked_list(array[i, ...]) for i in range(len(array))]
    return None if np.ma.getmaskarray(array)[()] else array.data[()]


def key_text(key):
    key = plain(key)
    if isinstance(key, str):
        return text_of(key)
    return spelled(json_value(key))


def spelled(found):
    """What parse_json gives, as text again."""
    if isinstance(found, Number):
        return str(found)
    if isinstance(found, list):
        return "[" + ",".join(map(spelled, found)) + "]"
    if isinstance(found, tuple):
        return "{" + ",".join(f"{spelled(name)}:{spelled(value)}" for name, value in found[1]) + "}"
    if not isinstance(found, str):
        return json.dumps(found)
    return '"' + "".join(f"\\u{ord(c):04x}" if c < " " else "\\" + c if c in '"\\' else c for c in found) + '"'


def assert_value(got, value, label):
    value = plain(value)
    if value is None or isinstance(value, float) and value != value:
        want = None
    elif isinstance(value, np.generic) and value.dtype.kind not in "cV":
        want = scalar_value(value)
    elif isinstance(value, bool):
        want = int(value)
    elif isinstance(value, int):
        want = value if -(2**63) <= value < 2**63 else str(value)
    elif isinstance(value, (float, str, bytes)):
        want = text_of(value) if isinstance(value, str) else float(value) if isinstance(value, float) else bytes(value)
    elif isinstance(value, bytearray):
        want = bytes(value)
    else:
        found = parse_json(got)
        assert found == json_value(value), f"{label}: {got!r} of {value!r}"
        return
    assert identical(got, want), f"{label}: {got!r}, expected {want!r}"


# --- random values -----------------------------------------------------------------------------------------

ZONES = [None, None, datetime.timezone.utc, datetime.timezone(-datetime.timedelta(hours=3, minutes=30)), datetime.timezone(datetime.timedelta(seconds=3601, microseconds=5))]
TEXTS = ["", "a", "grün", "\u4e2d\u6587", "\U0001f600", "\ud800 alone", '"\\\n\x00\x7f', "x" * 300, "é" * 200]


def random_scalar(rng):
    choose = lambda *values: values[rng.integers(len(values))]
    zone = ZONES[rng.integers(len(ZONES))]
    return choose(
        lambda: None,
        lambda: bool(rng.integers(2)),
        lambda: int(rng.integers(-(2**63), 2**63 - 1)) >> int(rng.integers(64)),
        lambda: choose(1, -1) * int(rng.integers(1, 2**62)) ** int(rng.integers(1, 40)),
        lambda: choose(0.0, -0.0, 1.5, 0.1, 1e300, -5e-324, float("nan"), float("inf"), float("-inf"), 1e16, 123456789.0),
        lambda: TEXTS[rng.integers(len(TEXTS))],
        lambda: rng.bytes(int(rng.choice([0, 1, 2, 3, 100, 300]))),
        lambda: bytearray(rng.bytes(int(rng.integers(5)))),
        lambda: complex(rng.normal(), choose(0.0, float("nan"), float("inf"), 2.5)),
        lambda: datetime.datetime(int(rng.integers(1, 9999)), 3, 31, 23, 59, int(rng.integers(60)), choose(0, 1, 999999), zone),
        lambda: datetime.date(int(rng.integers(1, 9999)), 12, 1),
        lambda: datetime.time(1, 2, 3, choose(0, 7), zone),
        lambda: datetime.timedelta(int(rng.integers(-(10**5), 10**5)), int(rng.integers(86400)), int(rng.integers(10**6))),
        lambda: decimal.Decimal(choose("1.50", "-0", "NaN", "1E+400", "123456789012345678901234567890.5")),
        lambda: uuid.UUID(int=int.from_bytes(rng.bytes(16), "big")),
        lambda: choose(pathlib.PurePosixPath, pathlib.PureWindowsPath)(choose("/a/b c", "a/b", ".", "c:\\x\\y", "/")),
        lambda: random_array(rng, np.dtype(choose("f4", ">i2", "?", "U3", "S2", "M8[us]", "m8[D]", "c8", "f2", [("x", "f4"), ("y", ">u2", (2,))])), choose((), (3,), (2, 0), (2, 3))),
        lambda: np.asfortranarray(random_array(rng, np.dtype(choose("i4", ">f8", [("x", "S2"), ("y", "f4")])), (2, 3))),
        lambda: choose(np.float32(0.1), np.int16(-5), np.bool_(True), np.datetime64("2026-01-02T03:04:05", "s"), np.str_("é"), np.bytes_(b"ab"), np.float64("nan"), np.longdouble(1.5), np.complex64(1 - 2j)),
    )()


def hashable(value):
    try:
        hash(value)
    except TypeError:
        return False
    return not isinstance(value, (np.ndarray, np.generic)) and value == value


def random_value(rng, depth=0):
    if depth > 3 or rng.random() < 0.5:
        return random_scalar(rng)
    parts = [random_value(rng, depth + 1) for _ in range(int(rng.integers(0, 5)))]
    keys = [key for key in parts if hashable(key)]
    return [
        lambda: parts,
        lambda: tuple(parts),
        lambda: {key for key in keys},
        lambda: frozenset(keys),
        lambda: {f"{i}": part for i, part in enumerate(parts)},
        lambda: dict(zip({key_text(key): key for key in keys}.values(), parts)),
        lambda: collections.OrderedDict((f"{i}", part) for i, part in enumerate(parts)),
        lambda: parts + parts[:1],
        lambda: array_of(parts),
        lambda: np.ma.array(np.arange(len(parts) + 1, dtype="f4"), mask=[bool(rng.integers(2)) for _ in range(len(parts) + 1)]),
    ][rng.integers(10)]()


# --- files -------------------------------------------------------------------------------------------------


def saved(array, protocol):
    """As numpy.save writes it, by any protocol."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
    return file.getvalue() + pickle.dumps(array, protocol=protocol)


def array_of(values):
    array = np.empty(len(values), object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def after_header(stream, shape=(1,), descr="|O"):
    """A pickle by hand after a header. It stands for a list of the items, which numpy.load would give, too."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue() + stream
