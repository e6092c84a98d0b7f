"""Writers of .npy, .npz, .ten and .safetensors in plain Python: bytes under full control, the same on every machine and with
every NumPy, malformed ones included."""

import functools
import io
import json
import pickle
import struct
import warnings
import zipfile
import zlib


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


def pickled(shape, items, dtype=b"cnumpy\ndtype\nX\x02\0\0\0O8\x89\x88\x87R(K\x03X\x01\0\0\0|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?tb"):
    """The pickle of an array of objects, items in C order, as NumPy makes it with protocol 3."""
    inside = lambda value: pickle.dumps(value, 3)[2:-1]
    begin = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85C\x01b\x87R"
    return b"\x80\x03" + begin + b"(K\x01" + inside(tuple(shape)) + dtype + b"\x89" + inside(list(items)) + b"tb."


def objects(shape, items):
    """A .npy of Python objects."""
    return npy("|O", shape, pickled(shape, items))


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


def safetensors(tensors, metadata=None):
    """A .safetensors of (name, dtype, shape, raw bytes)."""
    header, data = {} if metadata is None else {"__metadata__": metadata}, b""
    for name, dtype, shape, raw in tensors:
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


@functools.cache
def endless_npz():
    """A deflated member of 32 GB of zeros in 32 MB. Its crc is wrong, which nobody lives to see."""
    blocks, block_nbytes = 1000, 32 << 20
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    head = packer.compress(npy("<f8", (blocks * block_nbytes // 8,), b"")) + packer.flush(zlib.Z_FULL_FLUSH)
    # After a full flush a block refers to nothing before it, so it can be repeated.
    block = packer.compress(bytes(block_nbytes)) + packer.flush(zlib.Z_FULL_FLUSH)
    stream = head + block * blocks + packer.flush(zlib.Z_FINISH)
    size = 128 + blocks * block_nbytes
    zip64 = struct.pack("<HHQQ", 1, 16, size, len(stream))
    common = struct.pack("<HHHHHIIIHH", 45, 0, 8, 0, 0x21, 0, 0xFFFFFFFF, 0xFFFFFFFF, len(b"a.npy"), len(zip64))
    local = b"PK\3\4" + common + b"a.npy" + zip64 + stream
    central = b"PK\1\2" + struct.pack("<H", 45) + common + struct.pack("<HHHII", 0, 0, 0, 0, 0) + b"a.npy" + zip64
    return local + central + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
