"""Tables of samples (USING wds) against webdataset (PyPI) over the same shards, sample by sample (`make check-clients`)."""

import glob
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))

import numpy as np  # noqa: E402

import packages  # noqa: E402
import shell  # noqa: E402
import tars  # noqa: E402
from arrays import npy_bytes, seeded_generator  # noqa: E402

# Prints [key, url, {extension: [bytes, decoded or null]}] of each sample; bytes as latin-1 texts.
WEBDATASET = """
import json, sys
import webdataset
paths = json.loads(sys.argv[1])
raw = webdataset.WebDataset(paths, shardshuffle=False)
decoded = webdataset.WebDataset(paths, shardshuffle=False).decode()
for sample, values in zip(raw, decoded):
    parts = {}
    for ext, data in sample.items():
        if ext not in ("__key__", "__url__", "__local_path__"):
            value = values[ext]
            parts[ext] = [data.decode("latin-1"), value if isinstance(value, (str, int)) else None]
    print(json.dumps([sample["__key__"], sample["__url__"], parts]))
"""

# Writes [[key, {extension: text of latin-1}]] into shards.
SHARD_WRITER = """
import json, sys
import webdataset
samples, maxcount, maxsize = json.load(sys.stdin)
with webdataset.ShardWriter("theirs-%d.tar", maxcount=maxcount, maxsize=maxsize, mtime=0, verbose=0) as out:
    for key, parts in samples:
        out.write({"__key__": key, **{ext: data.encode("latin-1") for ext, data in parts.items()}})
"""

FOLDERS = ["", "", "d/", "a.b/c/", "d/__x__/"]
STEMS = ["000", "img_0", "é", "with space", "x-y_z", "UPPER", "__x__"]
CELLS = {
    "txt": ["a heron", "", "grün\n"],
    "transcript": ["t"],
    "cls": ["7", "-1", " 12\n", "1_000"],
    "index": ["9223372036854775807"],
    "x.id": ["0"],
    "json": ['{"a": [1, "b"]}', "null", "[]"],
    "jpg": ["no picture"],
    "emb.npy": [npy_bytes(np.arange(3.0))],
    "5_x.png": ["dots in a name"],
    "JPG": ["in capitals"],
}


def random_shard(rng):
    """Members of samples with gaps, between which stand others that are in none."""
    members, seen = [], None
    for i in range(int(rng.integers(1, 25))):
        key = FOLDERS[rng.integers(len(FOLDERS))] + STEMS[rng.integers(len(STEMS))] + (str(i) if rng.random() < 0.8 else "")
        exts = [ext for ext in CELLS if rng.random() < 0.4]
        if key == seen or "jpg" in exts and "JPG" in exts:
            continue
        seen = key if exts else seen
        for ext in exts:
            if rng.random() < 0.1:
                members.append([("README", b"r"), ("__meta__", b"m"), ("__x__/a.txt", b"s"), (".hidden", b"h")][rng.integers(4)])
            cell = CELLS[ext][rng.integers(len(CELLS[ext]))]
            members.append((f"{key}.{ext}", cell if isinstance(cell, bytes) else cell.encode()))
    return members


def cell_of(ext, data, decoded):
    last = ext.rpartition(".")[2]
    if last in ("txt", "transcript", "cls", "index", "id"):
        return decoded
    return data.encode("latin-1").decode() if last == "json" else data.encode("latin-1")


def test_samples_are_those_of_webdataset(tmp_path, monkeypatch):
    python = packages.python_with("webdataset", "webdataset", "numpy")
    rng, paths = seeded_generator(), []
    monkeypatch.chdir(tmp_path)
    for i in range(30):
        members = random_shard(rng)
        if members:
            paths.append(f"s-{i:03}.tar")
            with open(paths[-1], "wb") as file:
                file.write(tars.tarfile_tar(members, format=["ustar", "gnu", "pax"][i % 3]))
    printed = packages.run(python, "-B", "-W", "ignore", "-c", WEBDATASET, json.dumps(paths), cwd=tmp_path, seconds=60 * shell.PATIENCE)
    samples = [json.loads(line) for line in printed.splitlines()]
    assert len(samples) > 100
    exts = list(dict.fromkeys(ext for _, _, parts in samples for ext in parts))
    assert set(exts) == {ext.lower() for ext in CELLS}
    db = shell.connect()
    columns = ", ".join(exts)
    db.execute(f"CREATE VIRTUAL TABLE s USING wds('s-*.tar', columns='{columns}')")
    rows = db.execute("SELECT rowid, * FROM s").fetchall()
    assert len(rows) == len(samples)
    for i, (row, (key, url, parts)) in enumerate(zip(rows, samples)):
        cells = [cell_of(ext, *parts[ext]) if ext in parts else None for ext in exts]
        assert row == (i, key, url, *cells), (row, key, url, parts)
        assert row in db.execute("SELECT rowid, * FROM s WHERE __key__ = ?", (key,)).fetchall()


def test_shards_are_those_of_shard_writer(tmp_path, monkeypatch):
    """Names beyond ustar included, which stand in pax headers on both sides."""
    python = packages.python_with("webdataset", "webdataset", "numpy")
    rng = seeded_generator()
    monkeypatch.chdir(tmp_path)
    exts = [ext for ext in CELLS if ext.lower() == ext]
    stems = [*STEMS[:-1], "k" * 90, "long/" * 30 + "k"]
    for number in range(6):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        samples = []
        for i in range(int(rng.integers(1, 80))):
            parts = {ext: CELLS[ext][rng.integers(len(CELLS[ext]))] for ext in exts if rng.random() < 0.5} or {"cls": "7"}
            parts = {ext: cell if isinstance(cell, bytes) else cell.encode() for ext, cell in parts.items()}
            samples.append((f"{['', 'd/', 'a.b/c/'][rng.integers(3)]}{stems[rng.integers(len(stems))]}{i}", parts))
        limits = int(rng.choice([1, 7, 1000])), int(rng.choice([1000, 10**9]))
        given = json.dumps([[(key, {ext: data.decode("latin-1") for ext, data in parts.items()}) for key, parts in samples], *limits])
        subprocess.run([python, "-B", "-W", "ignore", "-c", SHARD_WRITER], input=given, text=True, check=True, timeout=60 * shell.PATIENCE)
        db = shell.connect()
        db.isolation_level = None
        db.execute(f"CREATE VIRTUAL TABLE temp.o USING wds('ours-%d.tar', mode='w+', columns='{', '.join(exts)}', maxcount={limits[0]}, maxsize={limits[1]})")
        db.execute("BEGIN")
        for key, parts in samples:
            cells = [parts.get(ext) for ext in exts]
            columns = ", ".join(f'"{ext}"' for ext in exts)
            db.execute(f"INSERT INTO o(__key__, {columns}) VALUES (?{', ?' * len(exts)})", (key, *cells))
        db.execute("COMMIT")
        theirs, ours = sorted(glob.glob("theirs-*.tar")), sorted(glob.glob("ours-*.tar"))
        assert [name.partition("-")[2] for name in theirs] == [name.partition("-")[2] for name in ours]
        for one, other in zip(theirs, ours):
            with open(one, "rb") as file, open(other, "rb") as mine:
                assert file.read() == mine.read(), (one, other, limits)
