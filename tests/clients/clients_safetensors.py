"""Checkpoints that the safetensors library has written, and what it says of damaged ones (`make check-clients`)."""

import os

import packages
import shell

LIB = os.path.join(shell.TESTS, "lib")

# The library decides of each file whether it is sound; npyext agrees, but where docs/formats.md says otherwise.
SCRIPT = r'''
import json, os, random, sqlite3, sys
sys.path.insert(0, sys.argv[2])
import ml_dtypes
import numpy as np
import safetensors
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from safetensors_files import DTYPES, file_of, tensor

seed = int(sys.argv[3])
print(f"NPYEXT_SEED={seed}, safetensors {safetensors.__version__}, NumPy {np.__version__}")
rng, pick = np.random.default_rng(seed), random.Random(seed)
db = sqlite3.connect(":memory:")
db.enable_load_extension(True)
db.load_extension(sys.argv[1])
path = "a.safetensors"

def ask(sql, *arguments):
    return db.execute(sql, arguments).fetchall()

# --- what it writes
for round in range(60):
    arrays = {}
    for i in range(int(rng.integers(0, 8))):
        dtype = np.dtype(pick.choice(list(DTYPES.values())))
        shape = tuple(int(n) for n in rng.integers(0, 5, int(rng.integers(0, 4))))
        bits = rng.integers(0, 2 if dtype == "?" else 256, (*shape, dtype.itemsize), dtype="u1")
        arrays[pick.choice(["w", "layer.%d.weight" % i, "\u00e9\"%d" % i, "a/b\\%d" % i])] = bits.reshape(*shape, -1).view(dtype).reshape(shape) if bits.size else np.zeros(shape, dtype)
    metadata = pick.choice([None, {}, {"format": "np"}, {"k\n": "v\"", "": "x" * 300}])
    save_file(arrays, path, metadata=metadata)
    try:
        safe_open(path, "np")
    except SafetensorError:  # 0.8.0 writes no JSON where the metadata are an empty dict
        assert metadata == {}
        continue
    rows = ask("SELECT name, descr, shape, nbytes, metadata, data_offset FROM npy_meta(?) WHERE idx IS NOT NULL", path)
    assert sorted(row[0] for row in rows) == sorted(arrays)
    with safe_open(path, "np") as file:
        for name, descr, shape, nbytes, said, offset in rows:
            piece = file.get_slice(name)
            assert descr == piece.get_dtype() and json.loads(shape) == piece.get_shape() == list(arrays[name].shape) and nbytes == arrays[name].nbytes
            assert (json.loads(said) if said is not None else None) == (file.metadata() if file.metadata() is not None else None), (said, file.metadata())
            loaded = file.get_tensor(name)
            np.save("one.npy", loaded)
            assert ask("SELECT idx, value FROM npy_elements(?, ?)", path, name) == ask("SELECT idx, value FROM npy_elements('one.npy')")
            with open(path, "rb") as bytes_of:
                bytes_of.seek(offset)
                assert bytes_of.read(nbytes) == loaded.tobytes()
    if arrays:
        np.savez("all.npz", **{f"n{i}": array for i, array in enumerate(arrays.values())})

# --- dtypes of ml_dtypes
for code, dtype in [("bfloat16", ml_dtypes.bfloat16), ("float8_e4m3fn", ml_dtypes.float8_e4m3fn), ("float8_e5m2", ml_dtypes.float8_e5m2)]:
    array = np.arange(-8, 8, 0.5).astype(dtype)
    name = {"bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2"}[code]
    open(path, "wb").write(file_of({"w": tensor(name, array.shape, 0, array.nbytes)}, array.tobytes()))
    assert ask("SELECT dtype FROM npy_meta(?)", path) == [(code,)]
    assert [value for (value,) in ask("SELECT value FROM npy_rows(?)", path)] == array.astype("f8").tolist()

# --- what it refuses
KNOWN = ["BOOL", "F4", "F6_E2M3", "F6_E3M2", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "I16", "U16", "F16", "BF16", "I32", "U32", "F32", "C64", "F64", "I64", "U64"]
def made():
    """A header that is sound, or nearly so."""
    header, at = {}, 0
    for i in range(pick.randrange(4)):
        dtype, shape = pick.choice(KNOWN), [pick.randrange(4) for _ in range(pick.randrange(4))]
        bits = {"BOOL": 8, "F4": 4, "C64": 64, "BF16": 16}.get(dtype) or int("".join(c for c in dtype.split("_")[0] if c.isdigit()))
        nbytes = int(np.prod(shape, dtype=int)) * bits // 8
        header[f"t{i}"] = tensor(dtype, shape, at, at + nbytes)
        at += nbytes
    return header, at

def spoiled(header, nbytes):
    kind = pick.randrange(14)
    names = list(header)
    one = header[pick.choice(names)] if names else None
    if one is not None and kind == 0:
        one["data_offsets"][pick.randrange(2)] += pick.choice([-1, 1, 4])
    elif one is not None and kind == 1:
        one["shape"].append(pick.choice([0, 1, 2, -1, 1.0, "1", None, 2**40, 2**64, True]))
    elif one is not None and kind == 2:
        del one[pick.choice(list(one))]
    elif one is not None and kind == 3:
        one[pick.choice(["dtype", "shape", "data_offsets"])] = pick.choice([None, 1, "x", [], {}, [0, 0], [[0]], "I8"])
    elif kind == 4:
        nbytes += pick.choice([-1, 1])
    elif kind == 5:
        header["__metadata__"] = pick.choice([{}, {"a": "b"}, {"a": 1}, {"a": None}, [], "x", None, {"a": {"b": "c"}}])
    elif kind == 6:
        header["more"] = pick.choice([None, 1, {}, [], tensor("I8", [0], 0, 0), tensor("I8", [0], nbytes, nbytes), tensor("I8", [1], nbytes, nbytes + 1)])
    elif one is not None and kind == 7:
        one["unknown"] = pick.choice([1, [], {"a": [1.5e3, None, True]}, "x"])
    text = json.dumps(header).encode()
    length = None
    if kind == 8:
        text = pick.choice([b" ", b"\n\t", b"\r"]) + text
    elif kind == 9:
        text += pick.choice([b" ", b"   \n", b"\0", b"x", b"{}", b","])
    elif kind == 10 and text:
        at = pick.randrange(len(text))
        text = text[:at] + bytes([pick.randrange(256)]) + text[at + 1 :]
    elif kind == 11:
        length = len(text) + pick.choice([-1, 1, 8, 2**40, 2**63])
    elif kind == 12:
        text = text.replace(b'"t0"', pick.choice([b'"\\u0074\\u0030"', b'"\\ud800"', b'"\xc3\xa9"', b'"\xff"']), 1)
    return file_of(text, bytes(max(nbytes, 0)), length)

seen = {True: 0, False: 0}
for round in range(6000):
    contents = spoiled(*made())
    with open(path, "wb") as file:
        file.write(contents)
    try:
        with safe_open(path, "np") as file:
            list(file.keys())
        sound, why = True, None
    except (SafetensorError, OverflowError) as error:
        sound, why = False, str(error)
    try:
        ask("SELECT * FROM npy_meta(?)", path)
        ours, reason = True, None
    except sqlite3.Error as error:
        ours, reason = False, str(error)
    seen[sound] += 1
    is_meant = (sound and not ours and " twice" in reason) or (ours and not sound and "unknown variant" in why)
    assert ours == sound or is_meant, (contents, why, reason)
assert min(seen.values()) > 500, seen
print(seen)
'''


def test_safetensors(tmp_path):
    python = packages.python_with("safetensors", "safetensors", "numpy>=2", "ml_dtypes")
    printed = packages.run(python, "-B", "-c", SCRIPT, shell.EXTENSION, LIB, str(shell.random_seed()), cwd=str(tmp_path))
    assert "safetensors 0." in printed or "safetensors 1." in printed
