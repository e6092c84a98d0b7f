"""Blocks of quantized items by NumPy, from ggml-common.h and ggml-quants.c: made at random, and as float32; and random files."""

import numpy as np

from gguf_files import BLOCKS, PLAIN, TYPES, VALUES, gguf

# Where a block has its scales of all items, as halves.
SCALES = {"Q8_0": [0], "Q4_0": [0], "Q4_K": [0, 2], "Q6_K": [208]}


def random_blocks(rng, kind, count, specials=False):
    """count blocks; specials: with NaN, infinities and denormal numbers among the scales."""
    blocks = rng.integers(0, 256, (count, TYPES[kind][2]), dtype="u1")
    for off in SCALES[kind]:
        scales = rng.normal(0, 0.05, count).astype("<f2")
        if specials:
            scales = np.where(rng.random(count) < 0.3, rng.choice(np.float16([np.nan, np.inf, -np.inf, 0, -0.0, 6e-8, 65504]), count), scales).astype("<f2")
        blocks[:, off : off + 2] = scales.view("u1").reshape(count, 2)
    return blocks


def swapped(blocks, kind):
    """As a big-endian file has them (gguf_convert_endian.py)."""
    blocks = blocks.copy()
    for off in SCALES[kind]:
        blocks[:, [off, off + 1]] = blocks[:, [off + 1, off]]
    return blocks


def half(blocks, off):
    return np.ascontiguousarray(blocks[:, off : off + 2]).view("<f2").astype("f4")


def dequantized(blocks, kind):
    """(blocks, items) of float32."""
    with np.errstate(invalid="ignore"):
        return {"Q8_0": q8_0, "Q4_0": q4_0, "Q4_K": q4_k, "Q6_K": q6_k}[kind](blocks)


def q8_0(blocks):
    return half(blocks, 0) * blocks[:, 2:].view("i1").astype("f4")


def q4_0(blocks):
    codes = np.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1)
    return half(blocks, 0) * (codes.astype("f4") - 8)


def q4_k(blocks):
    packed = blocks[:, 4:16].astype(int)
    columns = []
    for group in range(8):  # get_scale_min_k4
        if group < 4:
            factor, offset = packed[:, group] & 63, packed[:, group + 4] & 63
        else:
            factor = packed[:, group + 4] & 15 | packed[:, group - 4] >> 6 << 4
            offset = packed[:, group + 4] >> 4 | packed[:, group] >> 6 << 4
        codes = blocks[:, 16 + 32 * (group // 2) :][:, :32] >> (4 * (group % 2)) & 15
        by, minus = half(blocks, 0)[:, 0] * factor.astype("f4"), half(blocks, 2)[:, 0] * offset.astype("f4")
        columns.append(by[:, None] * codes.astype("f4") - minus[:, None])
    return np.concatenate(columns, axis=1)


def q6_k(blocks):
    low, high, scales = blocks[:, :128], blocks[:, 128:192], blocks[:, 192:208].view("i1").astype("f4")
    out = np.empty((len(blocks), 256), "f4")
    for part in range(2):  # 128 items each, as the loop of dequantize_row_q6_K
        ql, qh = low[:, 64 * part :][:, :64], high[:, 32 * part :][:, :32]
        codes = [ql[:, :32] & 15 | (qh & 3) << 4, ql[:, 32:] & 15 | (qh >> 2 & 3) << 4, ql[:, :32] >> 4 | (qh >> 4 & 3) << 4, ql[:, 32:] >> 4 | (qh >> 6) << 4]
        for k, code in enumerate(codes):
            by = np.repeat(half(blocks, 208) * scales[:, 8 * part + 2 * k :][:, :2], 16, axis=1)
            out[:, 128 * part + 32 * k :][:, :32] = by * (code.astype("f4") - 32)
    return out


# --- random files ------------------------------------------------------------------------------------------------------


def random_tensor(rng, order, kinds=None):
    """(type, shape, bytes as in the file, items as they are read; None of a type that is not)."""
    kind = str(rng.choice(kinds or [*PLAIN, "BF16", *BLOCKS * 3, "Q5_K", "IQ4_NL", "MXFP4"]))
    _, nelem, nbytes = TYPES[kind]
    shape = [int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, 5, int(rng.integers(0 if nelem == 1 else 1, 5)))]
    if nelem > 1:
        shape[-1] *= nelem
    size = int(np.prod(shape, dtype=int))
    if kind in BLOCKS:
        blocks = random_blocks(rng, kind, size // nelem, specials=rng.random() < 0.3)
        return kind, shape, (blocks if order == "<" else swapped(blocks, kind)).tobytes(), dequantized(blocks, kind).reshape(shape)
    octets = rng.integers(0, 256, size // nelem * nbytes, dtype="u1")
    if kind in PLAIN or kind == "BF16":
        items = octets.view(order + PLAIN.get(kind, "u2")).reshape(shape)
        return kind, shape, octets.tobytes(), items.astype(items.dtype.newbyteorder("<"))
    return kind, shape, octets.tobytes(), None


def random_value(rng, kind=None, depth=0):
    """(type, value, what its JSON reads as)."""
    kind = kind or str(rng.choice([*VALUES, "array", "string"]))
    if kind == "string":
        what = str(rng.choice(["", "llama", "é\"\\\n", "x" * 300, "\U0001f600"]))
        return kind, what, what
    if kind == "array":
        of = str(rng.choice([name for name in VALUES if name != "array" or depth < 3]))
        items = [random_value(rng, of, depth + 1) for _ in range(int(rng.choice([0, 1, 3, 64, 65, 100] if depth == 0 else [0, 1, 2])))]
        shown = [item[2] for item in items] if len(items) <= 64 else {"type": of, "length": len(items)}
        return kind, (of, [item[1] for item in items]), shown
    if kind == "bool":
        truth = bool(rng.random() < 0.5)
        return kind, truth, truth
    if kind.startswith("float"):
        number = np.dtype(kind).type(rng.choice([0, -0.0, 1.5, 0.1, 1e-5, 3e38, np.nan, np.inf, -np.inf]))
        return kind, float(number), None if np.isnan(number) else float(str(number)) if abs(number) < 2**24 else float(number)  # as items in JSON
    limits = np.iinfo(kind)
    number = [limits.min, 0, 1, 100, limits.max][int(rng.integers(5))]
    return kind, number, number if number < 2**63 else str(number)  # as uint64's items in JSON


def random_file(rng, order=None, kinds=None):
    """(contents, {name: tensor as of random_tensor}, what the JSON of the metadata reads as, pairs)."""
    order = order or ("<" if rng.random() < 0.7 else ">")
    tensors = {f"blk.{i}.weight é": random_tensor(rng, order, kinds) for i in range(int(rng.integers(0, 7)))}
    values = {f"key.{i}": random_value(rng) for i in range(int(rng.integers(0, 7)))}
    alignment = int(rng.choice([32, 32, 1, 8, 64, 4096]))
    pairs = [(key, kind, what) for key, (kind, what, _) in values.items()]
    contents = gguf(
        [(name, kind, shape, octets) for name, (kind, shape, octets, _) in tensors.items()], pairs, order=order, version=int(rng.choice([2, 3])), alignment=alignment
    )
    said = {key: shown for key, (_, _, shown) in values.items()} | ({"general.alignment": alignment} if alignment != 32 else {})
    return contents, tensors, said, pairs
