"""Random arrays for tests/numpy/same.py, the files that hold them, and the parts of them that are asked about."""

import json
import math
import os
import zipfile
from typing import Any, NamedTuple

import numpy as np

import tars
from arrays import (
    COMPLEX,
    DATES,
    FLOATS,
    INTEGERS,
    TEN_CODES,
    TEXTS,
    few_values,
    npy_bytes,
    random_array,
    random_structured_dtype,
    saved,
    ten_bytes,
    zip_bytes,
)
from safetensors_files import NAMES, safetensors_bytes

# Most cases are small, so that many are asked; the others reach what the released build does from 64 KiB, 256 KiB and 4 MiB on.
SMALL, MIDDLE, BIG = "small", "middle", "big"
NBYTES = {SMALL: (1 << 8, 1 << 14), MIDDLE: (1 << 14, 1 << 20), BIG: (10 << 20, 40 << 20)}
SHARES = {SMALL: 0.86, MIDDLE: 0.07, BIG: 0.07}
# Where only threads are compared, of which nothing smaller has any.
SHARES_OF_THREADS = {SMALL: 0.3, MIDDLE: 0.1, BIG: 0.6}
# Two million questions by hand.
SHARES_OF_SMALL = {SMALL: 0.96, MIDDLE: 0.03, BIG: 0.01}
# Items of one byte would be too many for what looks at each.
MOST_NELEM = 8 << 20
# More than this is not deflated: it would take longer than all questions about it.
MOST_DEFLATED_NBYTES = 6 << 20


def pick(rng, choices):
    """One of a list, or of the keys of a dict of weights."""
    if isinstance(choices, dict):
        weights = np.array(list(choices.values()), "f8")
        return list(choices)[int(rng.choice(len(weights), p=weights / weights.sum()))]
    return choices[int(rng.integers(len(choices)))]


def chance(rng, share):
    return bool(rng.random() < share)


# --- arrays ------------------------------------------------------------------------------------------------


def random_dtype(rng, size):
    kinds = {"real": 10, "few bits": 2, "float128": 1, "complex": 1, "date": 1, "text": 1, "structured": 1.5}
    if size == BIG:
        kinds = {"real": 12, "few bits": 3, "complex": 1, "date": 1, "text": 0.5, "structured": 0.5, "float128": 0.5}
    kind = pick(rng, kinds)
    if kind == "structured":
        return random_structured_dtype(rng)
    names = {"real": INTEGERS + FLOATS[:3] * 3, "few bits": ["?", "u1", "i1", "f2"], "float128": ["f16"], "complex": COMPLEX, "date": DATES, "text": TEXTS}
    return np.dtype(pick(rng, names[kind])).newbyteorder(pick(rng, {"<": 3, ">": 1}))


def random_nelem(rng, size, itemsize):
    low, high = NBYTES[size]
    if size == SMALL and chance(rng, 0.15):
        return int(rng.integers(1, 10))
    return min(MOST_NELEM, max(1, int(math.exp(rng.uniform(math.log(low), math.log(high)))) // max(1, itemsize)))


def random_lengths(rng, nelem):
    """A shape of about so many items, in which one axis may have nearly all of them. Few long rows and many short ones are read
    in ways of their own, so they are as frequent as all others."""
    ndim = pick(rng, {0: 0.3, 1: 3, 2: 5, 3: 3, 4: 1, 5: 0.5})
    kind = pick(rng, {"any": 1, "long rows": 2, "short rows": 1}) if ndim > 1 else "any"
    shares = rng.dirichlet(np.full(max(ndim, 1), 0.5))
    lengths = [max(1, round(nelem**share)) for share in shares[:ndim]]
    if kind != "any":
        lengths = [pick(rng, [1, 2, 2, 3, 4, 8] if ndim == 2 else [1, 2, 3]) for _ in range(ndim)]
        lengths[-1 if kind == "long rows" else 0] = max(1, nelem // math.prod(lengths[:-1] if kind == "long rows" else lengths[1:]))
    for axis in range(ndim):
        if chance(rng, 0.04):
            lengths[axis] = pick(rng, [0, 1, 1])
    return tuple(lengths)


def tame(rng, dtype, count):
    """Numbers whose sums mean something: of one size, some equal, now and then NaN, infinities and zeros of both signs."""
    low, high = pick(rng, [(0, 2), (-5, 6), (-100, 100), (0, 1000000)])
    if dtype.kind in "iub":
        info = np.iinfo(dtype) if dtype.kind != "b" else np.iinfo("u1")
        return rng.integers(max(low, int(info.min)), min(high, int(info.max)), count).astype(dtype)
    numbers = rng.standard_normal(count, "f4") * high if count > 1 << 16 else rng.standard_normal(count) * high
    if chance(rng, 0.3):
        np.round(numbers, out=numbers)
    for odd in (np.nan, -0.0, np.inf, -np.inf):
        if chance(rng, 0.15):
            numbers[rng.random(count) < pick(rng, [0.5, 0.05, 2 / max(count, 2)])] = odd
    with np.errstate(all="ignore"):
        return numbers.astype(dtype)


def tame_dates(rng, dtype, count):
    counts = rng.integers(-5, pick(rng, [5, 20000]), count)
    counts[rng.random(count) < pick(rng, [0, 0.1])] = -(2**63)
    return counts.astype(dtype.str[0] + "i8").view(dtype)


def mixed_parts(rng, dtype, count):
    """Parts of few values between parts whose values are all different, as far as so many fit: what counts values begins with one
    way of doing that and goes on with another."""
    ends = np.sort(rng.integers(count + 1, size=pick(rng, [1, 2, 3, 8])))
    least = np.ones(1, f"f{dtype.itemsize}").view(f"u{dtype.itemsize}") if dtype.kind == "f" else 0  # numbers from 1 to 2
    items = (least + rng.permutation(count).astype(f"u{dtype.itemsize}")).astype(f"{dtype.str[0]}u{dtype.itemsize}").view(dtype)
    few = random_array(rng, dtype, (pick(rng, [1, 3, 50, 2000]),))
    for part in np.split(items, ends)[int(rng.integers(2)) :: 2]:
        part[...] = few[rng.integers(len(few), size=len(part))]
    return items


def random_items(rng, dtype, count):
    """(how, items)"""
    how = pick(rng, {"tame": 6, "few": 2, "wild": 2, "mixed": 1})
    if how == "mixed" and dtype.kind in "iuf" and dtype.itemsize in (4, 8):
        return how, mixed_parts(rng, dtype, count)
    if how == "tame" and dtype.kind in "iubf":
        items = tame(rng, dtype, count)
        if count < 1 << 20 and chance(rng, 0.1):
            how, items = "tame, sorted", np.sort(items)
        return how, items
    if how == "tame" and dtype.kind == "c":
        return how, tame(rng, np.dtype(f"{dtype.str[0]}f{dtype.itemsize // 2}"), 2 * count).view(dtype)
    if how == "tame" and dtype.kind in "mM":
        return how, tame_dates(rng, dtype, count)
    if how == "few" and dtype.names is None:
        pool = few_values(rng, dtype, (min(count, pick(rng, [1, 2, 5, 300])),))
    else:
        pool = random_array(rng, dtype, (min(count, 5000),))
    if count <= len(pool):
        return how, pool[:count]
    return how, pool[rng.integers(len(pool), size=count)]


def ordered(rng, array):
    """The array, or a copy in Fortran order."""
    return np.asfortranarray(array) if array.ndim > 1 and chance(rng, 0.25 if array.nbytes < 1 << 20 else 0.12) else array


def array_of(rng, dtype, shape):
    how, items = random_items(rng, dtype, math.prod(shape))
    return how, ordered(rng, items.reshape(shape))


# --- files -------------------------------------------------------------------------------------------------


class Blob(NamedTuple):
    """A parameter that each worker reads from a file."""

    path: str


class Source(NamedTuple):
    value: Any  # the parameter `source`
    member: Any  # '' for all arrays
    arrays: list  # those that it gives, in order
    how: str
    text: str = ":source"  # what stands for it where a source is expected


def write(path, contents):
    with open(path, "wb") as out:
        out.write(contents)


def npy_of(rng, array):
    return saved(array) if array.dtype.names is not None else npy_bytes(array, pick(rng, {None: 3, (2, 0): 1, (3, 0): 1}))


FORMS = set()  # where not empty, only these of the sources below, if the array can be one


def formats_of(array, size):
    weights = all_formats_of(array, size)
    return {form: weight for form, weight in weights.items() if form in FORMS} or weights


def all_formats_of(array, size):
    nbytes, dtype = array.nbytes, array.dtype
    weights = {"npy": 5, "npz": 2, "tar": 1, "pattern": 1.5}
    if array.ndim:
        weights["concat"] = 2
    if dtype.kind in "biufcmM" and dtype.str[1:] not in ("f16", "c32") and "generic" not in dtype.name and dtype.str[-3:] != "[W]":
        weights["calc"] = 1
    if nbytes <= MOST_DEFLATED_NBYTES:
        weights |= {"npz deflated": 3, "tar.gz": 1, "parts deflated": 1}
    if dtype.names is None and dtype.str[1:] in TEN_CODES and 0 < array.ndim < 10:
        weights["ten"] = 2
    if dtype.names is None and dtype.newbyteorder("<") in NAMES:
        weights["safetensors"] = 2
    if size == BIG:
        weights = {name: weight for name, weight in weights.items() if name not in ("tar.gz", "parts deflated") or nbytes < 4 << 20}
    return weights


def parts_of(rng, array):
    """Arrays of the same dtype, as the files of a data set are: the array cut along its first axis."""
    if not array.ndim or not len(array):
        return [array, array]
    cuts = sorted(int(n) for n in rng.integers(0, len(array), size=pick(rng, [1, 2, 7]), endpoint=True))
    return np.split(array, cuts)


def write_parts(rng, array, size):
    """Files that npy_concat makes the array of: cut along an axis, in any byte order and order of items."""
    axis = int(rng.integers(array.ndim)) if chance(rng, 0.5) else 0
    length = array.shape[axis]
    cuts = sorted(int(n) for n in rng.integers(0, length, size=pick(rng, [1, 2, 7, 40]) if size == SMALL else 3, endpoint=True))
    for i, part in enumerate(np.split(array, cuts, axis)):
        part = part.astype(part.dtype.newbyteorder(pick(rng, ["<", ">"]))) if part.dtype.names is None and chance(rng, 0.5) else part
        part = np.asfortranarray(part) if chance(rng, 0.3) else part
        if chance(rng, 0.2):
            zip_deflated(f"p-{i:02d}", [("it.npy", npy_of(rng, part))])
        else:
            write(f"p-{i:02d}", npy_of(rng, part))
    if array.dtype.names is None:
        array = array.astype(array.dtype.newbyteorder("="))
    axes = [axis - array.ndim] if axis or chance(rng, 0.5) else []
    text = ", ".join(["npy_concat(:source", *(["''", str(axes[0])] if axes else [])]) + ")"
    return Source("p-*", "", [np.ascontiguousarray(array).reshape(array.shape)], "concat", text)


def zip_deflated(path, entries):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, contents in entries:
            archive.writestr(name, contents)


def write_archive(rng, array, form):
    """One array among others, in a file of this form. Returns (path, member, the array as it is there)."""
    contents, other = npy_of(rng, array), npy_bytes(np.arange(3))
    if form in ("npz", "npz deflated"):
        entries = [("other.npy", other), ("it.npy", contents), ("last.npy", other)]
        if form == "npz":
            write("a.npz", zip_bytes(entries, pick(rng, ["stored", "zip64", "streamed"])))
        else:
            zip_deflated("a.npz", entries)
        return "a.npz", pick(rng, ["it", 1]), array
    if form == "ten":
        order = pick(rng, ["<", ">"])
        array = np.ascontiguousarray(array.astype(array.dtype.newbyteorder(order)))
        write("a.ten", ten_bytes([np.arange(3), array, np.arange(2.0)], order, ["", "it", ""]))
        return "a.ten", pick(rng, ["it", 1]), array
    if form == "safetensors":
        array = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"))).reshape(array.shape)
        write("a.safetensors", safetensors_bytes({"other": np.arange(3), "it": array}))
        return "a.safetensors", "it", array
    whole = tars.tar(tars.member(b"other.npy", other), tars.member(b"it.npy", contents), tars.member(b"text.txt", b"no array"))
    if form == "tar":
        write("a.tar", whole)
        return "a.tar", pick(rng, ["it", 1]), array
    tars.write_gzipped("a.tar.gz", [whole])
    return "a.tar.gz", "it", array


def write_source(rng, array, size):
    form = pick(rng, formats_of(array, size))
    if form == "npy":
        write("a.npy", npy_of(rng, array))
        if chance(rng, 0.05):
            return Source(json.dumps({"path": "a.npy", "offset": 0, "nbytes": os.path.getsize("a.npy")}), "", [array], "range")
        return as_blob(rng, Source("a.npy", "", [array], form), size)
    if form == "parts deflated":
        parts = parts_of(rng, array)
        zip_deflated("a.npz", [(f"p{i}.npy", npy_of(rng, part)) for i, part in enumerate(parts)])
        return as_blob(rng, Source("a.npz", "", parts, form), size)
    if form == "pattern":
        parts = parts_of(rng, array)
        for i, part in enumerate(parts):
            write(f"p-{i:02d}.npy", npy_of(rng, part))
        return Source(pick(rng, ["p-*.npy", json.dumps([f"p-{i:02d}.npy" for i in range(len(parts))])]), "", parts, form)
    if form == "concat":
        return write_parts(rng, array, size)
    if form == "calc":
        write("a.npy", npy_of(rng, array))
        made = array.astype(array.dtype.newbyteorder("="), order="C").reshape(array.shape)
        return Source("a.npy", "", [made], form, "(SELECT npy_calc('a', array) FROM npy_file(:source))")
    path, member, array = write_archive(rng, array, form)
    return as_blob(rng, Source(path, member, [array], form), size)


def as_blob(rng, source, size):
    if chance(rng, 0.25 if size == SMALL else 0.1):
        return source._replace(value=Blob(source.value), how=f"BLOB of {source.how}")
    return source


# --- parts -------------------------------------------------------------------------------------------------


def random_range(rng, length):
    """(text, slice) of an axis: long parts more often than short ones."""
    at = lambda: int(rng.integers(-1, length + 2))
    kind = pick(rng, {"part": 2, "most": 3, "half": 3, "step": 3, "back": 2, "any": 1})
    start, stop, step = None, None, None
    if kind == "part":
        start, stop = sorted((at(), at()))
    elif kind == "most":
        start, stop = at() // 8, pick(rng, [None, -1, length - at() // 8])
    elif kind == "half":
        start, stop = (None, at()) if chance(rng, 0.5) else (at(), None)
    elif kind == "step":
        start, step = pick(rng, [None, 1, at()]), pick(rng, [2, 3, 7])
    elif kind == "back":
        start, stop, step = None, pick(rng, [None, at()]), pick(rng, [-1, -1, -2, -5])
    else:
        start, stop, step = at() - length, at(), pick(rng, [None, -1, 2])
    spelled = lambda number: "" if number is None else str(number)
    text = f"{spelled(start)}:{spelled(stop)}" + (f":{step}" if step is not None else pick(rng, ["", "", ":"]))
    return text, slice(start, stop, step)


def random_slice(rng, shape):
    """(text, index): NumPy's basic indexing; now and then out of range."""
    if chance(rng, 0.25) or not shape:
        return pick(rng, [("", ()), ("...", (...,))])
    parts = []
    naxes = len(shape) if chance(rng, 0.6) else int(rng.integers(1, len(shape), endpoint=True))
    for length in shape[:naxes]:
        kind = pick(rng, {"whole": 4, "range": 5, "one": 1.2})
        if kind == "one":
            index = int(rng.integers(-length, length)) if length and chance(rng, 0.97) else length
            parts.append((str(index), index))
        else:
            parts.append((":", slice(None)) if kind == "whole" else random_range(rng, length))
    if chance(rng, 0.15):
        # The last axes, those before them whole.
        parts.insert(0, ("...", ...))
    if chance(rng, 0.08):
        parts.insert(int(rng.integers(len(parts) + 1)), (pick(rng, ["None", "newaxis"]), None))
    text = ", ".join(text for text, _ in parts)
    if chance(rng, 0.1):
        text = f"[{text}]"
    return text, tuple(index for _, index in parts)


def random_field(rng, dtype):
    """The name of a field, nested ones with points; '' for none."""
    if dtype.names is None or chance(rng, 0.3):
        return ""
    name = pick(rng, dtype.names)
    inner = random_field(rng, dtype[name]) if dtype[name].names is not None and not "." in name else ""
    return f"{name}.{inner}" if inner else name


class View(NamedTuple):
    """A part of each array of a source."""

    field: str
    slice: str
    whole: Any  # the field of the only array, or None
    index: Any
    array: Any  # what NumPy makes of whole[index], or None

    @property
    def places(self):
        """Flat positions in the whole array."""
        return np.arange(self.whole.size).reshape(self.whole.shape)[self.index]


def random_view(rng, source):
    field = random_field(rng, source.arrays[0].dtype)
    whole = source.arrays[0]
    try:
        for name in field.split(".") if field else ():
            whole = whole[name]
    except (ValueError, KeyError, IndexError):
        whole = None  # a name that has points of its own
    text, index = random_slice(rng, source.arrays[0].shape if whole is None else whole.shape)
    array = None
    if whole is not None and len(source.arrays) == 1:
        try:
            # With an ellipsis one item is an array of its dtype too, not a scalar in the machine's byte order.
            array = whole[index if any(part is ... for part in index) else (*index, ...)]
        except IndexError:
            pass
    return View(field, text, whole, index, array)
