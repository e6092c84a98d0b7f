"""GGUF files in plain Python, from ggml's docs/gguf.md: whatever a header may say, true or not."""

import struct

# ggml.h, enum ggml_type, and ggml-common.h: number, items and bytes of a block.
TYPES = {
    "F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_0": (2, 32, 18), "Q4_1": (3, 32, 20), "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24), "Q8_0": (8, 32, 34),
    "Q8_1": (9, 32, 36), "Q2_K": (10, 256, 84), "Q3_K": (11, 256, 110), "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176), "Q6_K": (14, 256, 210),
    "Q8_K": (15, 256, 292), "IQ2_XXS": (16, 256, 66), "IQ2_XS": (17, 256, 74), "IQ3_XXS": (18, 256, 98), "IQ1_S": (19, 256, 50),
    "IQ4_NL": (20, 32, 18), "IQ3_S": (21, 256, 110), "IQ2_S": (22, 256, 82), "IQ4_XS": (23, 256, 136), "I8": (24, 1, 1), "I16": (25, 1, 2),
    "I32": (26, 1, 4), "I64": (27, 1, 8), "F64": (28, 1, 8), "IQ1_M": (29, 256, 56), "BF16": (30, 1, 2), "TQ1_0": (34, 256, 54),
    "TQ2_0": (35, 256, 66), "MXFP4": (39, 32, 17), "NVFP4": (40, 64, 36), "Q1_0": (41, 128, 18),
}  # fmt: skip
PLAIN = {"F32": "f4", "F16": "f2", "F64": "f8", "I8": "i1", "I16": "i2", "I32": "i4", "I64": "i8"}
BLOCKS = ["Q8_0", "Q4_0", "Q4_K", "Q6_K"]
FOREIGN = [name for name in TYPES if name not in PLAIN and name not in BLOCKS and name != "BF16"]

# enum gguf_metadata_value_type: number, and struct's code.
VALUES = {
    "uint8": (0, "B"), "int8": (1, "b"), "uint16": (2, "H"), "int16": (3, "h"), "uint32": (4, "I"), "int32": (5, "i"), "float32": (6, "f"), "bool": (7, "?"),
    "string": (8, None), "array": (9, None), "uint64": (10, "Q"), "int64": (11, "q"), "float64": (12, "d"),
}  # fmt: skip


def text(value, order="<"):
    octets = value if isinstance(value, bytes) else value.encode()
    return struct.pack(order + "Q", len(octets)) + octets


def value(kind, what, order="<"):
    """The bytes of a value without its type. An array is (type of its items, list of them)."""
    if kind == "string":
        return text(what, order)
    if kind == "array":
        of, items = what
        return struct.pack(order + "IQ", VALUES[of][0], len(items)) + b"".join(value(of, item, order) for item in items)
    return struct.pack(order + VALUES[kind][1], what)


def pair(key, kind, what, order="<"):
    return text(key, order) + struct.pack(order + "I", VALUES[kind][0]) + value(kind, what, order)


def tensor_info(name, kind, shape, offset, order="<"):
    """kind: a name of TYPES, or a number. shape: NumPy's, which the file has the other way round."""
    number = TYPES[kind][0] if kind in TYPES else kind
    return text(name, order) + struct.pack(f"{order}I{len(shape)}QIQ", len(shape), *reversed(shape), number, offset)


def gguf(tensors, pairs=(), *, order="<", version=3, alignment=32, counts=None):
    """A file of tensors (name, type, shape, bytes) and of pairs (key, type, value). counts: what it says of their numbers."""
    pairs = [*pairs, ("general.alignment", "uint32", alignment)] if alignment != 32 else pairs
    infos, data = bytearray(), bytearray()
    for name, kind, shape, octets in tensors:
        data += b"\xee" * (-len(data) % alignment)
        infos += tensor_info(name, kind, shape, len(data), order)
        data += octets
    ntensors, npairs = counts or (len(tensors), len(pairs))
    head = b"GGUF" + struct.pack(order + "IQQ", version, ntensors, npairs) + b"".join(pair(*one, order) for one in pairs) + bytes(infos)
    return head + b"\xdd" * (-len(head) % alignment) + bytes(data)


__all__ = ["BLOCKS", "FOREIGN", "PLAIN", "TYPES", "VALUES", "gguf", "pair", "tensor_info", "text", "value"]
