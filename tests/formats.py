"""Writers of .npy, .npz and .ten in plain Python: bytes under full control, the same on every machine and with
every NumPy, malformed ones included."""

import io
import struct
import warnings
import zipfile


def header_text(descr, shape, fortran_order=False):
    return f"{{'descr': {descr!r}, 'fortran_order': {fortran_order}, 'shape': {tuple(shape)!r}, }}"


def npy(descr, shape, data, fortran_order=False, version=(1, 0), text=None):
    """A .npy of the raw bytes `data`; `text` replaces the whole header text."""
    header = (text or header_text(descr, shape, fortran_order)).encode("utf-8" if version >= (3, 0) else "latin1")
    length = "<H" if version == (1, 0) else "<I"
    prefix = 8 + struct.calcsize(length)
    header += b" " * (63 - (prefix + len(header)) % 64) + b"\n"
    return b"\x93NUMPY" + bytes(version) + struct.pack(length, len(header)) + header + data


def numbers(descr, shape, values, **more):
    """A .npy of numbers that struct can pack: descr is a byte order and one of NumPy's kind-and-size codes."""
    code = {"b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q", "u1": "B", "u2": "H", "u4": "I", "u8": "Q",
            "f2": "e", "f4": "f", "f8": "d"}[descr[1:]]
    values = list(values)
    return npy(descr, shape, struct.pack((">" if descr[0] == ">" else "<") + code * len(values), *values), **more)


def npz(members, method=zipfile.ZIP_STORED, when=(2026, 1, 2, 3, 4, 6), comment=b""):
    """A .npz of (file name in the archive, bytes) or (file name, bytes, method)."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Duplicate name")
        archive.comment = comment
        for name, data, *own in members:
            entry = zipfile.ZipInfo(name, when)
            entry.compress_type = own[0] if own else method
            archive.writestr(entry, data)
    return out.getvalue()


def ten_chunk(payload, order="<"):
    return b"~TenBin~" + struct.pack(order + "q", len(payload)) + payload + b"\0" * (-len(payload) % 64)


def ten_header(code, name, shape, order="<"):
    """The payload of a header chunk."""
    words = code.encode().ljust(8, b"\0") + name.encode().ljust(8, b"\0")
    return words + struct.pack(f"{order}{1 + len(shape)}q", len(shape), *shape)


def ten(arrays, order="<"):
    """A .ten of (dtype code, name, shape, raw bytes)."""
    return b"".join(
        ten_chunk(ten_header(code, name, shape, order), order) + ten_chunk(data, order)
        for code, name, shape, data in arrays
    )
