"""safetensors files of NumPy arrays, and of headers that are wrong on purpose."""

import json

import numpy as np

from formats import safetensors

# The names of dtypes, and what NumPy has for them.
DTYPES = {
    "BOOL": "?", "I8": "i1", "I16": "<i2", "I32": "<i4", "I64": "<i8", "U8": "u1", "U16": "<u2", "U32": "<u4", "U64": "<u8",
    "F16": "<f2", "F32": "<f4", "F64": "<f8", "C64": "<c8",
}  # fmt: skip
# Those that NumPy lacks: the dtype whose bits they are here, and what ml_dtypes calls them.
BITS = {
    "BF16": ("<u2", "bfloat16"), "F8_E4M3": ("u1", "float8_e4m3fn"), "F8_E5M2": ("u1", "float8_e5m2"), "F8_E8M0": ("u1", "float8_e8m0fnu"),
    "F8_E4M3FNUZ": ("u1", "float8_e4m3fnuz"), "F8_E5M2FNUZ": ("u1", "float8_e5m2fnuz"),
}  # fmt: skip
NAMES = {np.dtype(code): name for name, code in DTYPES.items()}


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


def file_of(header, data=b"", length=None):
    """A file of a header, a dict or its text, and data."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def safetensors_bytes(arrays, metadata=None, bits=None):
    """Arrays by their names, in this order; bits: the dtypes of those that stand for others."""
    dtypes = {name: (bits or {}).get(name) or NAMES[array.dtype.newbyteorder("<")] for name, array in arrays.items()}
    return safetensors([(name, dtypes[name], array.shape, np.ascontiguousarray(array).tobytes()) for name, array in arrays.items()], metadata)
