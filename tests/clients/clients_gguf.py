"""GGUF files that PyPI's gguf has written, and its values of quantized tensors (`make check-clients`)."""

import os

import packages
import shell

LIB = os.path.join(shell.TESTS, "lib")

SCRIPT = r'''
import json, random, sqlite3, sys, warnings
sys.path.insert(0, sys.argv[2])
import numpy as np
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter, GGUFEndian
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize, quantize
from gguf_blocks import random_blocks, random_file
from gguf_files import BLOCKS, PLAIN, TYPES

seed, count = int(sys.argv[3]), int(sys.argv[4])
print(f"NPYEXT_SEED={seed}, NumPy {np.__version__}")
warnings.simplefilter("ignore")
rng, pick = np.random.default_rng(seed), random.Random(seed)
db = sqlite3.connect(":memory:")
db.enable_load_extension(True)
db.load_extension(sys.argv[1])

def ask(sql, *arguments):
    return db.execute(sql, arguments).fetchall()

def same(data, items):
    """To the bit, but for NaN."""
    found = np.frombuffer(data, items.dtype)
    bits = found.view(f"u{found.itemsize}") == items.reshape(-1).view(f"u{found.itemsize}")
    return found.size == items.size and bool(np.all(bits | (np.isnan(found) & np.isnan(items.reshape(-1))) if found.dtype.kind == "f" else bits))

def told(path):
    """What the library finds: [name, type, shape], items."""
    for tensor in GGUFReader(path).tensors:
        kind = tensor.tensor_type.name
        items = np.array(tensor.data)
        if kind in BLOCKS:
            items = dequantize(items, tensor.tensor_type)
        yield [tensor.name, kind, [int(n) for n in reversed(tensor.shape)]], items if kind in BLOCKS or kind in PLAIN else None

for name, (number, nelem, nbytes) in TYPES.items():
    sizes = GGML_QUANT_SIZES[GGMLQuantizationType[name]]
    assert GGMLQuantizationType[name] == number and (sizes == (nelem, nbytes) or name == "Q8_1"), name  # it has the 40 bytes of long ago

ncompared = 0
def compare(path):
    global ncompared
    found = [[name, kind, json.loads(shape)] for name, kind, shape in ask("SELECT name, descr, shape FROM npy_meta(?) WHERE idx IS NOT NULL", path)]
    wanted = list(told(path))
    assert found == [facts for facts, _ in wanted], path
    for index, ((_, kind, _), items) in enumerate(wanted):
        if items is not None:
            [(data,)] = ask("SELECT data FROM npy_rows(?, ?, 'None')", path, index)
            assert same(data, items.astype(items.dtype.newbyteorder("<"))), (path, index, kind)
            ncompared += 1

# --- what it writes
KINDS = {"F32": "f4", "F16": "f2", "F64": "f8", "I8": "i1", "I16": "i2", "I32": "i4", "I64": "i8"}
for round in range(count):
    order = GGUFEndian.BIG if pick.random() < 0.2 else GGUFEndian.LITTLE
    writer = GGUFWriter("a.gguf", "llama", endianess=order)
    said = {"general.architecture": "llama"}
    for key, add, value in [("k.u8", writer.add_uint8, 200), ("k.i64", writer.add_int64, -2**60), ("k.f32", writer.add_float32, 0.1), ("k.b", writer.add_bool, True), ("k.s", writer.add_string, "\u00e9\n"), ("k.a", writer.add_array, [1, 2, 3]), ("k.t", writer.add_array, ["a", "b"])]:
        if pick.random() < 0.5:
            add(key, value)
            said[key] = value
    for i in range(pick.randrange(1, 5)):
        shape = [pick.randrange(1, 4) for _ in range(pick.randrange(4))]
        kind = pick.choice([*KINDS, *BLOCKS]) if order == GGUFEndian.LITTLE else pick.choice(list(KINDS))
        if kind in KINDS:
            writer.add_tensor(f"t{i}", rng.integers(-100, 100, shape or [1]).astype(KINDS[kind]))
        elif kind in ("Q8_0", "Q4_0") and pick.random() < 0.5:
            items = rng.normal(0, 2, [*shape, 64]).astype("f4")
            writer.add_tensor(f"t{i}", quantize(items, GGMLQuantizationType[kind]), raw_dtype=GGMLQuantizationType[kind])
        else:
            blocks = random_blocks(rng, kind, int(np.prod(shape, dtype=int)) * 2, pick.random() < 0.3)
            writer.add_tensor(f"t{i}", blocks.reshape(*shape, -1), raw_dtype=GGMLQuantizationType[kind])
    writer.write_header_to_file(); writer.write_kv_data_to_file(); writer.write_tensors_to_file(); writer.close()
    [metadata] = {row[0] for row in ask("SELECT metadata FROM npy_meta('a.gguf')")}
    assert json.loads(metadata) == said, metadata
    compare("a.gguf")

# --- what our tests write
for round in range(count):
    contents, tensors, _, pairs = random_file(rng, order="<", kinds=[*PLAIN, *BLOCKS, "BF16", "Q5_K", "IQ4_NL", "MXFP4"])
    if any(0 in shape for _, shape, _, _ in tensors.values()) or any(not shape for _, shape, _, _ in tensors.values()):
        continue  # the library takes neither
    with open("b.gguf", "wb") as file:
        file.write(contents)
    compare("b.gguf")
print(f"{ncompared} tensors compared")
assert ncompared > count
'''


def test_gguf(tmp_path):
    python = packages.python_with("gguf", "gguf", "numpy>=2")
    printed = packages.run(python, "-B", "-c", SCRIPT, shell.EXTENSION, LIB, str(shell.random_seed()), "300", cwd=str(tmp_path))
    assert "tensors compared" in printed
