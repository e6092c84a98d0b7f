"""Shards of a thousand samples, written by webdataset's own ShardWriter (PyPI), asked what docs/shards.md asks; the
answers are held against what was written (`make check-clients`). To print the table of times that stands there:

    python3 tests/clients/clients_shards.py [SHARDS]

Needs 7 MB a shard on the disk of TMPDIR (default /tmp), and removes what it wrote.
"""

import json
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))

import packages  # noqa: E402
import shell  # noqa: E402

SAMPLES = 1000
PATTERN = "train-*.tar"

# The other side: it prints what it wrote, and how long it takes to read it all.
WEBDATASET = """
import collections, glob, json, sys, time
import numpy as np
import webdataset

shards, samples, seed = map(int, sys.argv[1:])
rng = np.random.default_rng(seed)
classes, nans, chosen, nbytes = collections.Counter(), {}, {}, 0
words = ["heron", "kite", "bicycle", "gate", "river", "house", "cloud"]
with webdataset.ShardWriter("train-%06d.tar", maxcount=samples, verbose=0) as out:
    for i in range(shards * samples):
        vector, label = rng.standard_normal(256, dtype="f4"), int(rng.integers(10))
        caption = " ".join(rng.choice(words, 4))
        if rng.random() < 0.001:
            vector[rng.integers(256, size=1 + rng.integers(3))] = np.nan
            nans[f"{i:08}"] = int(np.isnan(vector).sum())
        if "heron kite" in caption:
            chosen[f"{i:08}"] = float(vector[0]) if vector[0] == vector[0] else None
        sample = {"emb.npy": vector, "cls": label, "json": json.dumps({"caption": caption})}
        if rng.random() < 0.0005:
            del sample["cls"]
        else:
            classes[label] += 1
        out.write({"__key__": f"{i:08}", **sample})
        nbytes += 128 + vector.nbytes + len(sample["json"]) + ("cls" in sample)
begun = time.monotonic()
found = 0
for sample in webdataset.WebDataset(sorted(glob.glob("train-*.tar")), shardshuffle=False).decode():
    found += np.isnan(sample["emb.npy"]).any()
assert found == len(nans)
seconds = time.monotonic() - begun
print(json.dumps({"classes": classes, "nans": nans, "chosen": chosen, "nbytes": nbytes, "seconds": seconds}))
"""

# Filters the set itself, reads back what we have made of it, and holds both against each other.
CHECK = """
import glob, io, json, sys
import numpy as np
import webdataset

read = lambda pattern: webdataset.WebDataset(sorted(glob.glob(pattern)), shardshuffle=False)
parts = lambda sample: {name: value for name, value in sample.items() if name not in ("__url__", "__local_path__")}
kept, back = 0, iter(read("clean-*.tar"))
with webdataset.ShardWriter("theirs-%06d.tar", maxcount=int(sys.argv[1]), mtime=0, verbose=0) as out:
    for sample in read("train-*.tar"):
        if not np.isnan(np.load(io.BytesIO(sample["emb.npy"]))).any():
            out.write(sample)
            assert parts(next(back)) == parts(sample), sample["__key__"]
            kept += 1
assert next(back, None) is None
theirs, ours = sorted(glob.glob("theirs-*.tar")), sorted(glob.glob("clean-*.tar"))
assert len(theirs) == len(ours) > 0
for one, other in zip(theirs, ours):
    assert open(one, "rb").read() == open(other, "rb").read(), (one, other)
print(kept)
"""

# Prints how many rows it has inserted, how many MiB more the process came to need than it had, and seconds.
FILTER = """
import re, sys, time
sys.path.insert(0, sys.argv[1])
import shell

def resident(name):
    with open("/proc/self/status") as status:
        return int(re.search(name + r":\\s+(\\d+) kB", status.read())[1]) / 1024

db = shell.connect()
db.isolation_level = None
before, begun = resident("VmRSS"), time.monotonic()
db.execute("CREATE VIRTUAL TABLE temp.train USING wds('train-*.tar')")
db.execute(f"CREATE VIRTUAL TABLE temp.clean USING wds('clean-%06d.tar', mode='w+', maxcount={sys.argv[2]}, columns='emb.npy, cls, json')")
done = db.execute('''INSERT INTO clean(__key__, "emb.npy", cls, json) SELECT t.__key__, t."emb.npy", t.cls, t.json FROM train AS t
                      WHERE NOT EXISTS (SELECT 1 FROM npy_stats(t."emb.npy") WHERE nulls > 0)''')
print(done.rowcount, resident("VmHWM") - before, time.monotonic() - begun)
"""

RANGE = "json_object('path', i.path, 'offset', i.data_offset, 'nbytes', i.size)"


def ask(told, db, what, sql, *arguments):
    """Rows of a statement, whose time is told."""
    begun = time.perf_counter()
    rows = db.execute(sql, arguments).fetchall()
    told.append((what, time.perf_counter() - begun))
    return rows


def filter_all(python, samples, nans, options):
    """One INSERT makes new shards of the set. They are those that webdataset's own loop writes, and however many samples there are,
    the memory is that of a few."""
    arguments = [os.path.join(shell.TESTS, "lib"), str(SAMPLES)]
    kept, used, seconds = packages.run("/usr/bin/python3", "-B", "-c", FILTER, *arguments, env={**os.environ, "NPYEXT_SO": shell.EXTENSION}, **options).split()
    assert int(kept) == samples - len(nans)
    assert float(used) < 40, f"{used} MiB"
    assert packages.run(python, "-B", "-W", "ignore", "-c", CHECK, str(SAMPLES), **options).splitlines()[-1] == kept
    return float(seconds)


def ask_all(folder, shards, seed):
    """[(what, seconds)] of our answers, which are checked, and the seconds that webdataset needs to read it all."""
    python = packages.python_with("webdataset", "webdataset", "numpy")
    options = {"cwd": folder, "seconds": 30 * shell.PATIENCE}
    written = json.loads(packages.run(python, "-B", "-W", "ignore", "-c", WEBDATASET, str(shards), str(SAMPLES), str(seed), **options).splitlines()[-1])
    samples, labels = shards * SAMPLES, sum(written["classes"].values())
    os.chdir(folder)
    db, told = shell.connect("shards.db"), []

    [answer] = ask(told, db, "list every member", "SELECT count(DISTINCT path), count(*), sum(size), count(error) FROM tar_members(?)", PATTERN)
    assert answer == (shards, 2 * samples + labels, written["nbytes"], 0)
    rows = ask(told, db, "shapes and dtypes of all arrays", "SELECT ext, dtype, shape, count(*) FROM npy_meta(?) GROUP BY 1, 2, 3", PATTERN)
    assert rows == [("emb.npy", "float32", "[256]", samples)]
    sql = "SELECT CAST(data AS TEXT), count(*) FROM tar_members(?) WHERE ext = 'cls' GROUP BY 1"
    assert dict(ask(told, db, "count the classes", sql, PATTERN)) == written["classes"]

    db.execute("CREATE TABLE captions(key TEXT PRIMARY KEY, caption TEXT)")
    sql = "INSERT INTO captions SELECT key, json_extract(CAST(data AS TEXT), '$.caption') FROM tar_members(?) WHERE ext = 'json'"
    ask(told, db, "make a table of the captions", sql, PATTERN)
    sql = """SELECT c.key, r.value FROM npy_rows(?) AS r JOIN captions AS c ON c.key = r.key
              WHERE r.row = 0 AND c.caption LIKE '%heron kite%'"""
    assert dict(ask(told, db, "join them with the vectors of some", sql, PATTERN)) == written["chosen"]
    sql = "SELECT key, nulls FROM npy_stats(?) WHERE nulls + infs > 0"
    assert dict(ask(told, db, "find NaN in all vectors", sql, PATTERN)) == written["nans"]
    sql = "SELECT key FROM tar_members(?) WHERE sample IS NOT NULL GROUP BY path, sample HAVING count(*) < 3"
    assert len(ask(told, db, "find samples that lack a part", sql, PATTERN)) == samples - labels

    db.execute("CREATE TABLE shard_index(path, key, ext, data_offset, size)")
    ask(told, db, "make an index of offsets", "INSERT INTO shard_index SELECT path, key, ext, data_offset, size FROM tar_members(?)", PATTERN)
    ask(told, db, "", "CREATE INDEX shard_index_by_key ON shard_index(key, ext)")
    told[-2:] = [(told[-2][0], told[-2][1] + told[-1][1])]
    sql = f"SELECT r.value FROM shard_index AS i JOIN npy_rows({RANGE}) AS r WHERE i.key = ? AND i.ext = 'emb.npy' AND r.row = 0"
    keys, lookups = list(written["chosen"]), []
    for key in keys[:1000]:
        assert ask(lookups, db, "", sql, key) == [(written["chosen"][key],)]
    told.append(("one vector through it", sorted(seconds for _, seconds in lookups)[len(lookups) // 2]))
    db.close()
    told.append(("write them anew, without the samples that have NaN", filter_all(python, samples, written["nans"], options)))
    return told, written["seconds"]


def test_twenty_shards(patience_for, monkeypatch):
    patience_for(10 * shell.PATIENCE)
    seed = shell.random_seed()
    print(f"NPYEXT_SEED={seed}")
    monkeypatch.chdir("/")
    with tempfile.TemporaryDirectory() as folder:
        ask_all(folder, 20, seed)


def spelled(seconds):
    return f"{1e3 * seconds:.2g} ms" if seconds < 0.1 else f"{seconds:.2g} s"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        told, peer = ask_all(folder, int(sys.argv[1]) if len(sys.argv) > 1 else 100, 0)
        os.chdir("/")
    print("| | time |\n|---|---|")
    for what, seconds in told:
        print(f"| {what} | {spelled(seconds)} |")
    print(f"| WebDataset itself: decode all, and `numpy.isnan` of the vectors | {spelled(peer)} |")
