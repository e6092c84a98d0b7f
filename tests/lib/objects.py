"""Python objects in arrays: what SQL is to make of them, computed with Python alone, and files that have some."""

import base64
import datetime
import decimal
import io
import json
import pathlib
import pickle
import uuid
import zoneinfo

import numpy as np

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


def behind_header(stream, shape=(1,), descr="|O"):
    """A pickle by hand behind a header. It stands for a list of the items, which numpy.load would give, too."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue() + stream
