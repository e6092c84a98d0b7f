"""The recipes of docs/cookbook.md for token files and sparse matrices, on what Megatron's builder, numpy.memmap and SciPy have written
(`make check-clients`)."""

import os
import re

import packages
import pytest
import shell

BEFORE = """
import random, sqlite3, sys
import numpy as np

pick = random.Random(int(sys.argv[2]))
print(f"NPYEXT_SEED={sys.argv[2]}, NumPy {np.__version__}")
db = sqlite3.connect(":memory:")
db.enable_load_extension(True)
db.load_extension(sys.argv[1])
recipes = sys.argv[3:]

def answer(recipe):
    rows = []
    for statement in filter(str.strip, recipe.split(";")):
        rows = db.execute(statement).fetchall()
    return rows
"""

MEGATRON = BEFORE + """
import glob, os, types
# Megatron's package wants a GPU's libraries; its datasets' reader and builder do not.
root = os.path.dirname(os.path.dirname(glob.glob(sys.prefix + "/lib/python*/site-packages/megatron/core")[0]))
for name in ("megatron", "megatron.core", "megatron.core.datasets", "megatron.core.utils"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [os.path.join(root, *name.split("."))]
sys.modules["megatron.core.utils"].log_single_rank = lambda *_, **__: None
import json, torch
from megatron.core.datasets.indexed_dataset import DType, IndexedDataset, IndexedDatasetBuilder

dtypes = {np.uint8: "u1", np.int16: "<i2", np.int32: "<i4", np.int64: "<i8", np.uint16: "<u2"}
for turn in range(60):
    dtype = pick.choice(list(dtypes))
    builder = IndexedDatasetBuilder(f"{turn}.bin", dtype=dtype)
    for _ in range(pick.randrange(1, 8)):
        sizes = [pick.randrange(1, 40) for _ in range(pick.randrange(1, 5))]
        builder.add_document(torch.tensor([pick.randrange(100) for _ in range(sum(sizes))]), sizes)
    builder.finalize(f"{turn}.idx")
    dataset = IndexedDataset(str(turn))
    db.execute("DROP TABLE IF EXISTS sequences")
    rows = answer(recipes[0].replace("tokens/wiki", str(turn)).replace('"<u2"', dtypes[dtype]).replace("'<u2'", f"'{dtypes[dtype]}'"))
    assert [json.loads(tokens) for _, tokens in rows] == [dataset[i].tolist() for i in range(len(dataset))], turn
    (code,), = db.execute("SELECT value FROM npy_rows(?)", (json.dumps({"path": f"{turn}.idx", "dtype": "u1", "offset": 17, "shape": [1]}),))
    assert code == DType.code_from_dtype(dtype)
print("60 datasets compared")
"""

SPARSE = BEFORE + """
import scipy.sparse as sparse

for turn in range(60):
    shape = pick.randrange(1, 60), pick.randrange(1, 60)
    kind = pick.choice(["csr", "csc"])
    matrix = sparse.random(*shape, pick.random() / 2, kind, random_state=pick.randrange(1000), dtype=pick.choice([np.float64, np.float32]))
    sparse.save_npz("x.npz", matrix, compressed=pick.random() < 0.5)
    rows = sorted(answer(recipes[0].replace("sparse/x.npz", "x.npz")))
    entries = matrix.tocoo()
    lines, columns = (entries.row, entries.col) if kind == "csr" else (entries.col, entries.row)
    assert rows == sorted(zip(lines.tolist(), columns.tolist(), entries.data.astype(float).tolist())), turn

for turn in range(60):  # nanoGPT: numpy.memmap, as its train.py reads
    np.array([pick.randrange(65536) for _ in range(pick.randrange(11, 999))], np.uint16).tofile("train.bin")
    mapped = np.memmap("train.bin", dtype=np.uint16, mode="r")
    assert answer(recipes[1].replace("tokens/train.bin", "train.bin")) == [(str(mapped[7:11].tolist()).replace(" ", ""),)], turn
print("120 files compared")
"""


def recipes(heading):
    """The blocks of SQL below a heading of the cookbook."""
    with open(os.path.join(shell.ROOT, "docs", "cookbook.md"), encoding="utf-8") as file:
        section = file.read().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"```sql\n(.*?)```", section, re.S)


def test_megatron(tmp_path):
    python = packages.python_with("megatron", "--no-deps", "megatron-core", system=True)
    _, sequences = recipes("Read the token files of nanoGPT and Megatron")
    printed = packages.run(python, "-B", "-c", MEGATRON, shell.EXTENSION, str(shell.random_seed()), sequences, cwd=str(tmp_path))
    assert "60 datasets compared" in printed


@pytest.mark.parametrize("name, wanted", [("numpy-1", ["scipy<1.12", "numpy<2"]), ("numpy-2", ["scipy", "numpy>=2"])])
def test_sparse_and_nanogpt(name, wanted, tmp_path):
    python = packages.python_with(f"sparse-{name}", *wanted)
    crop, _ = recipes("Read the token files of nanoGPT and Megatron")
    (sparse,) = recipes("Read a sparse matrix of SciPy")
    printed = packages.run(python, "-B", "-c", SPARSE, shell.EXTENSION, str(shell.random_seed()), sparse, crop, cwd=str(tmp_path))
    assert "120 files compared" in printed
