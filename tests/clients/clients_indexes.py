"""The indexes of shards that ready queries make, held against those that megatron-energon and wids (PyPI) make of the same shards
(`make check-clients`). Both would bring PyTorch along, and neither needs it to look into a tar: what is not installed is stood in for."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))

import packages  # noqa: E402
import shell  # noqa: E402
from arrays import seeded_generator  # noqa: E402
from ready_queries import ask  # noqa: E402

# Stands in for packages that are imported and not used.
STAND_IN = r'''
import abc, importlib.abc, importlib.machinery, json, sys, types

class Kind(abc.ABCMeta):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return kind(name)
    def __getitem__(cls, item): return cls
    def __or__(cls, other): return cls
    __ror__ = __or__

def kind(name):
    return Kind(name, (), {"__init__": lambda self, *arguments, **named: None})

class Module(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__") and name != "__version__":
            raise AttributeError(name)
        setattr(self, name, kind(name))
        return getattr(self, name)

class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if not name.startswith(("megatron", "wids")):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
    def create_module(self, spec):
        module = Module(spec.name)
        module.__path__ = []
        return module
    def exec_module(self, module):
        pass

sys.meta_path.append(Finder())
'''

ENERGON = STAND_IN + r'''
import os, pathlib
from megatron.energon.flavors.webdataset import prepare
from megatron.energon.flavors.webdataset.indexing import *

class Path(type(pathlib.Path())):
    def with_suffix(self, suffix):  # EPath's, whose indexes lie beside the shards
        return Path(super().with_suffix(suffix))
    def move(self, target):
        os.rename(self, target)

prepare.TarIndexWriter = type("None", (), {"__init__": lambda self, path: None, "__enter__": lambda self: self, "__exit__": lambda self, *error: None, "append": lambda self, at: None})
samples, parts, paths = [], [], sys.argv[1:]
for path in paths:
    for item in prepare.WebdatasetPreparator._preprocess_tar(path, {name: i for i, name in enumerate(paths)}, Path("."), 10**9):
        row = item.__dict__ if hasattr(item, "__dict__") else {name: getattr(item, name) for name in item.__slots__}
        if "byte_size" in row:
            samples.append([row[name] for name in ("tar_file_id", "sample_key", "sample_index", "byte_offset", "byte_size")])
        elif "part_name" in row:
            parts.append([row[name] for name in ("tar_file_id", "sample_index", "part_name", "content_byte_offset", "content_byte_size")])
print("\n" + json.dumps([samples, parts]))
'''

WIDS = STAND_IN + r'''
import argparse, os
from wids import wids_index

arguments = argparse.Namespace(files=sys.argv[2:], output=sys.argv[1], name="some", include=None, info=None, base=None)
wids_index.main_create(arguments)
print("\n" + json.dumps(json.load(open(sys.argv[1]))))
'''

WRITE = """
import sys
import numpy as np
import webdataset
rng = np.random.default_rng(int(sys.argv[1]))
with webdataset.ShardWriter("train-%06d.tar", maxcount=50, verbose=0) as out:
    for i in range(230):
        parts = {"cls": int(rng.integers(10)), "A.npy": rng.normal(size=int(rng.integers(300))), "seg.PNG": rng.bytes(int(rng.integers(2000))), "json": {"n": i}}
        out.write({"__key__": f"{'d/' * int(rng.integers(2))}{i:05}", **{name: part for name, part in parts.items() if name == "cls" or rng.random() < 0.7}})
"""


def test_indexes(connect, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = {"cwd": tmp_path, "seconds": 10 * shell.PATIENCE}
    seeded = str(seeded_generator().integers(2**31))
    packages.run(packages.python_with("webdataset", "webdataset", "numpy"), "-B", "-W", "ignore", "-c", WRITE, seeded, **options)
    python = packages.python_with("indexes", "--no-deps", "megatron-energon", "wids", "numpy", "typing_extensions", "braceexpand")
    shards = sorted(name for name in os.listdir(".") if name.endswith(".tar"))
    assert len(shards) == 5

    samples, parts = json.loads(packages.run(python, "-B", "-W", "ignore", "-c", ENERGON, *shards, **options).splitlines()[-1])
    db = connect()
    ask(db, "shards_energon", source="train-*.tar")
    assert len(samples) == 230 and len(parts) > 500
    got = db.execute("SELECT tar_file_id, sample_key, sample_index, byte_offset, byte_size FROM samples").fetchall()
    assert sorted(map(tuple, samples)) == sorted(got)
    got = db.execute("SELECT tar_file_id, sample_index, part_name, content_byte_offset, content_byte_size FROM sample_parts").fetchall()
    assert sorted(map(tuple, parts)) == sorted(got)

    want = json.loads(packages.run(python, "-B", "-W", "ignore", "-c", WIDS, "index.json", *shards, **options).splitlines()[-1])
    ((row,),) = ask(db, "shards_wids", source="train-*.tar", set="some")
    for shard in want["shardlist"]:
        shard.pop("md5sum", None)
    assert json.loads(row["shardindex"])["shardlist"] == want["shardlist"], want
