"""Random trees of Python objects with arrays in them, and the names that their arrays have: the way to each through
dicts, lists and objects."""

import collections
import io
import pickle
import sys
import types

import numpy as np

DTYPES = ["f4", "f8", "f2", "i1", "u2", ">i4", "<i8", ">f8", "c8", "c16", "?", "S5", "<U3", ">U2", "M8[D]", "m8[ms]", [("a", "<i4"), ("b", ">f4", (2,))], np.dtype([("a", "<i2"), ("b", ">f8", (2,)), ("c", "?")], align=True), "O"]


class Holder:
    """An object with attributes, as models are."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Slots:
    __slots__ = ("left", "right")


def random_array(rng):
    dtype = np.dtype(DTYPES[rng.integers(len(DTYPES))])
    large = rng.random() < 0.25  # left in the file
    shape = tuple(int(n) for n in rng.integers(0 if not large else 12, 6 if not large else 40, rng.integers(1, 4)))
    nelem = int(np.prod(shape))
    if dtype == object:
        items = np.empty(nelem, object)
        items[:] = [[None, 1.5, "text", 2**70, True, -3][rng.integers(6)] for _ in range(nelem)]
        if nelem > 2 and rng.random() < 0.3:
            items[1] = {"in": np.arange(rng.integers(4))}
    elif dtype.kind in "fc":
        items = rng.normal(size=nelem).astype(dtype)
    elif dtype.kind in "SU":
        items = np.array(["abcde"[: rng.integers(6)] for _ in range(nelem)], dtype)
    elif dtype.names:
        items = np.zeros(nelem, dtype)
        items["a"] = rng.integers(-9, 9, nelem)
        items["b"] = rng.normal(size=(nelem, 2))
    else:
        items = rng.integers(0, 2 if dtype.kind == "b" else 100, nelem).astype(dtype)
    array = items.reshape(shape)
    form = rng.integers(5)
    if form == 0:
        array = np.asfortranarray(array)
    elif form == 1:
        array = array.T
    elif form == 2 and len(shape) > 0 and shape[0] > 1:
        array = array[::2]
    return array


def random_tree(rng, depth=0, known=None, has_slots=True):
    """has_slots: protocols 0 and 1 cannot pickle objects with slots. known: arrays of this tree, one of which may come again."""
    known = [] if known is None else known
    kind = rng.integers(9) if depth < 4 else 6
    if depth == 0 and kind >= 6:
        kind = rng.integers(6)
    if kind >= 6:
        if rng.random() < 0.2:
            return [None, 3, 2.5, "a text", b"octets", {1, 2}, np.float64(1.5), 10**30][rng.integers(8)]
        if known and rng.random() < 0.1:
            return known[rng.integers(len(known))]
        known.append(random_array(rng))
        return known[-1]
    parts = [random_tree(rng, depth + 1, known, has_slots) for _ in range(rng.integers(0, 5))]
    if kind == 0:
        return parts
    if kind == 1:
        return tuple(parts)
    keys = [["w", "b", "a.b", "é", "", 1, -2, (1, "x"), None, True, 2.5, b"k"][i] for i in rng.permutation(12)[: len(parts)]]
    if kind == 2:
        return dict(zip(keys, parts))
    if kind == 3:
        return collections.OrderedDict(zip(keys, parts))
    if kind == 4 and has_slots:
        slots = Slots()
        if parts:
            slots.left = parts[0]
        return slots
    return Holder(**{f"attribute{i}": part for i, part in enumerate(parts)})


def arrays_of(tree, name=""):
    """Pairs of a name and an array."""

    def of(key, part):
        return arrays_of(part, f"{name}.{key}" if name else key)

    if isinstance(tree, np.ndarray):
        items = [pair for i, part in enumerate(tree.ravel().tolist()) for pair in of(str(i), part)] if tree.dtype == object else []
        return [(name, tree), *items]
    if isinstance(tree, (list, tuple)):
        return [pair for i, part in enumerate(tree) for pair in of(str(i), part)]
    if isinstance(tree, dict):
        return [pair for key, part in tree.items() for pair in of(key if isinstance(key, str) else repr(key), part)]
    if isinstance(tree, Holder):
        return arrays_of(tree.__dict__, name)
    if isinstance(tree, Slots):
        return arrays_of({slot: getattr(tree, slot) for slot in Slots.__slots__ if hasattr(tree, slot)}, name)
    return []


# --- as joblib writes them ---------------------------------------------------------------------------------------------


class NumpyArrayWrapper:
    """What stands for an array, whose items follow it (joblib/numpy_pickle.py)."""


NumpyArrayWrapper.__module__ = "joblib.numpy_pickle"


class JoblibPickler(pickle._Pickler):
    def __init__(self, file, protocol, alignment):
        super().__init__(file, protocol)
        self.file, self.alignment = file, alignment

    def save(self, value, save_persistent_id=True):
        if type(value) is not np.ndarray:
            return super().save(value, save_persistent_id)
        wrapper = NumpyArrayWrapper()
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        wrapper.__dict__ = {"subclass": np.ndarray, "shape": value.shape, "order": order, "dtype": value.dtype, "allow_mmap": not value.dtype.hasobject}
        if self.alignment:
            wrapper.numpy_array_alignment_bytes = self.alignment
        super().save(wrapper)
        if self.proto >= 4:
            self.framer.commit_frame(force=True)
        if value.dtype.hasobject:
            pickle.dump(value, self.file, protocol=self.proto)
            return None
        if self.alignment:
            padding = self.alignment - (self.file.tell() + 1) % self.alignment
            self.file.write(bytes([padding]) + b"\xff" * padding)
        self.file.write(value.tobytes(order))
        return None


def joblib_dumps(tree, protocol=4, alignment=16):
    """What joblib.dump writes. alignment: 0 before joblib 1.2."""
    known = {name: sys.modules.get(name) for name in ("joblib", "joblib.numpy_pickle")}
    module = types.ModuleType("joblib.numpy_pickle")
    module.NumpyArrayWrapper = NumpyArrayWrapper
    sys.modules.update({"joblib": types.ModuleType("joblib"), "joblib.numpy_pickle": module})
    try:
        file = io.BytesIO()
        JoblibPickler(file, protocol, alignment).dump(tree)
    finally:
        for name, value in known.items():
            if value is None:
                del sys.modules[name]
            else:
                sys.modules[name] = value
    return file.getvalue()
