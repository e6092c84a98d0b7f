"""NumPy's values as parameters and results of Python's sqlite3 module.

Without this an ndarray and most NumPy scalars are bound as the raw bytes of their buffer, without a word: np.int64(5)
becomes x'0500000000000000'.
"""

import io

# Types of declared columns that give an ndarray, with sqlite3.connect(..., detect_types=sqlite3.PARSE_DECLTYPES).
DECLARED = ("npy", "ndarray")


def to_npy(array):
    """The bytes of a .npy file of an array, as numpy.save writes them. Arrays of objects are a ValueError."""
    import numpy

    out = io.BytesIO()
    numpy.save(out, numpy.asarray(array), allow_pickle=False)
    return out.getvalue()


def from_npy(data):
    """The array in the bytes of a .npy file. Anything else, NULL (None), texts and pickles too, is a ValueError."""
    import numpy

    try:
        nbytes = memoryview(data).nbytes
    except TypeError:
        kind = "NULL" if data is None else type(data).__name__
        raise ValueError(f"npyext: an array is expected, as the bytes of a .npy file, and this is {kind}") from None
    if bytes(data[:6]) != b"\x93NUMPY":
        raise ValueError(f"npyext: a column of arrays holds {nbytes} bytes that are no .npy file")
    try:
        return numpy.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, MemoryError):
        raise
    except Exception as error:  # NumPy's parser of headers lets those of Python's tokenizer through
        raise ValueError(f"npyext: the bytes are no sound .npy file: {error}") from error


def _refuse_masked(array):
    raise TypeError("npyext: a masked array has no .npy form; bind array.filled() or array.data")


def _from_timedelta(value):
    """The count of its unit, as npyext shows it."""
    import numpy

    return None if numpy.isnat(value) else int(value.astype("int64"))


def _from_datetime(value):
    """The text that npyext and SQLite's date functions have for it: `2026-01-02 03:04:05`."""
    import numpy

    if numpy.isnat(value):
        return None
    unit = numpy.datetime_data(value.dtype)[0]
    if unit == "generic":
        return int(value.astype("int64"))
    if unit in ("Y", "M", "W", "D"):
        return str(value.astype("M8[D]"))
    if unit in ("h", "m", "s"):
        return str(value.astype("M8[s]")).replace("T", " ")
    return str(value.astype(f"M8[{unit}]")).replace("T", " ")


def _json_number(part):
    """A float as npyext shows it in JSON: the shortest digits at its own width, `null` for NaN, `9e999` for infinity."""
    import numpy

    if numpy.isnan(part):
        return "null"
    if numpy.isinf(part):
        return "9e999" if part > 0 else "-9e999"
    # The digits of a float32 are few enough to be those of the double that they make, too. From 2^24 on it is whole, and
    # shown as the double that it is.
    is_short = part.dtype == numpy.float32 and abs(part) < 2.0**24
    return repr(float(numpy.format_float_scientific(part)) if is_short else float(part))


def _from_complex(value):
    """The JSON text that npyext shows of it, to the byte: texts are compared."""
    return f"[{_json_number(value.real)},{_json_number(value.imag)}]"


def register_adapters(module=None):
    """Teach sqlite3 (or a module like it, such as pysqlite3) NumPy's values, for all of its connections.

    - An ndarray binds as a .npy BLOB.
    - A column that is declared as `npy` or `ndarray` gives one back, on connections with
      detect_types=PARSE_DECLTYPES.
    - NumPy's numbers and booleans bind as INTEGER and REAL, datetime64 as text, timedelta64 as the count of its
      unit (NaT as NULL), complex numbers as a JSON text: what npyext shows of them in an array of their dtype.
      Structured scalars bind as a .npy BLOB of one record.
    - Dates and durations are compared as these texts and counts, so give a parameter the unit of the array:
      `day.astype("M8[ns]")` for one of datetime64[ns], `hours.astype("m8[D]")` for one of timedelta64[D]. Likewise
      `numpy.complex64(z)` for one of complex64, and `numpy.float32(x)` for one of float32.
    - What has no such form (objects, masked arrays) is an error.
    """
    import numpy

    if module is None:
        import sqlite3 as module
    for kind in (numpy.ndarray, numpy.memmap, numpy.recarray, numpy.matrix, numpy.void, numpy.record):
        module.register_adapter(kind, to_npy)
    module.register_adapter(numpy.ma.MaskedArray, _refuse_masked)
    module.register_adapter(numpy.bool_, int)
    for kind in set(numpy.sctypeDict.values()):
        if issubclass(kind, numpy.integer) and not issubclass(kind, numpy.timedelta64):
            module.register_adapter(kind, int)
        elif issubclass(kind, numpy.floating):
            module.register_adapter(kind, float)
        elif issubclass(kind, numpy.complexfloating):
            module.register_adapter(kind, _from_complex)
    module.register_adapter(numpy.datetime64, _from_datetime)
    module.register_adapter(numpy.timedelta64, _from_timedelta)
    for name in DECLARED:
        module.register_converter(name, from_npy)
