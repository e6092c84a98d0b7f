"""Shards that webdataset (PyPI) writes are read as webdataset itself reads them: keys, extensions, samples, and arrays as it
decodes them (`make check-clients`)."""

import os

import packages
import shell

COMMON = r'''
import io, json, re, sqlite3, sys, tarfile
import numpy as np
import webdataset
from webdataset import handlers, tariterators

db = sqlite3.connect(":memory:")
db.enable_load_extension(True)
db.load_extension(sys.argv[1])
rng = np.random.default_rng(int(sys.argv[2]))
choose = lambda listed: listed[rng.integers(len(listed))]

def theirs(path, handler=handlers.reraise_exception):
    """[(key, {extension: bytes})] of a shard."""
    samples = list(tariterators.tarfile_samples([{"url": path}], handler=handler))
    assert all(sample["__url__"] == path for sample in samples)
    return [(sample["__key__"], {ext: data for ext, data in sample.items() if ext not in ("__key__", "__url__")}) for sample in samples]

def ours(path):
    """The same by tar_members, second members of an extension left out."""
    rows = db.execute("SELECT sample, key, ext, data FROM tar_members(?, 'row') WHERE sample IS NOT NULL AND error IS NULL ORDER BY idx", (path,))
    samples = []
    for sample, key, ext, data in rows:
        assert sample in (len(samples) - 1, len(samples)), "samples are numbered in their order"
        if sample == len(samples):
            samples.append((key, {}))
        assert samples[-1][0] == key and ext not in samples[-1][1]
        samples[-1][1][ext] = data
    return samples

def assert_same_samples(path, got, want):
    assert [key for key, _ in got] == [key for key, _ in want], path
    for (key, mine), (_, other) in zip(got, want):
        assert list(mine) == list(other), (path, key, list(mine), list(other))
        assert mine == other, (path, key)
'''

WRITTEN = COMMON + r'''
FLOATS, INTEGERS = ["f2", "f4", "f8"], ["i1", "i2", "i4", "i8", "u1", "u2", "u8"]

def array(dtypes, least=0):
    shape = tuple(rng.integers(0, 5, rng.integers(least, 4)))
    numbers = rng.integers(0, 100, shape).astype(choose(dtypes))
    return np.asfortranarray(numbers) if rng.random() < 0.3 and dtypes is ANY else numbers

ANY = FLOATS + INTEGERS + [">f4", ">i8", "?", "c8", "u4", "U3", "S4", [("x", "<f4"), ("y", "<i2", (2,))]]
tens = lambda: [array(FLOATS + INTEGERS, 1) for _ in range(rng.integers(1, 4))]
PARTS = {
    "npy": lambda: array(ANY), "latent.npy": lambda: array(ANY), "NPY": lambda: array(ANY), "Emb.Npy": lambda: array(ANY),
    "ten": tens, "x.tb": tens, "TEN": tens,
    "npz": lambda: {"w": array(FLOATS), "d/b": array(INTEGERS)},
    "cls": lambda: int(rng.integers(10)), "json": lambda: {"caption": "a d\u00f6g", "n": [1, None]}, "txt": lambda: "\u4e2d\u6587",
    "jpg": lambda: b"\xff\xd8\xff\xe0\0\x10JFIF" + rng.bytes(int(rng.integers(2000))), "Seg.PNG": lambda: b"\x89PNG\r\n" + rng.bytes(600),
    "a.b.c": lambda: b"", "index": lambda: 7, "bin": lambda: rng.bytes(512),
}
FOLDERS = ["", "d/", "a.b/", "d/e/f/", "./", "UPPER/", "n\u00e9/", "x" * 90 + "/" + "y" * 90 + "/"]

def samples(n):
    for i in range(n):
        sample, seen = {"__key__": f"{choose(FOLDERS)}{i:06}"}, set()
        for ext in rng.permutation(list(PARTS))[: rng.integers(1, 8)]:
            if ext.lower() not in seen:
                seen.add(ext.lower())
                sample[str(ext)] = PARTS[ext]()
        yield sample

def assert_same_array(got, want, label):
    dtype, shape, data = got
    want = np.asarray(want)
    assert dtype == want.dtype.name and tuple(json.loads(shape)) == want.shape, (label, dtype, shape, want.dtype, want.shape)
    little = want if want.dtype.names else want.astype(want.dtype.newbyteorder("<"))
    assert data == little.tobytes(), label

def assert_same_arrays(path):
    """npy, ten, tb and npz: as decoded by its extension. Returns how many there were."""
    held = {}
    for key, ext, name, *array in db.execute("SELECT key, ext, name, npy_dtype(array), npy_shape(array), npy_data(array) FROM npy_file(?)", (path,)):
        held.setdefault((key, ext), []).append((name, array))
    count = 0
    for sample in webdataset.WebDataset(path, shardshuffle=False, empty_check=False).decode():
        key = sample["__key__"]
        for ext, decoded in sample.items():
            if not re.search(r"(^|\.)(npy|npz|ten|tb)$", ext):
                assert ext[:2] == "__" or (key, ext) not in held
                continue
            if isinstance(decoded, np.ndarray):
                decoded = [decoded]
            names, arrays = zip(*held.pop((key, ext)))
            if isinstance(decoded, dict):
                assert [name.rpartition(":")[2] for name in names] == list(decoded), (path, names)
                decoded = list(decoded.values())
            assert len(arrays) == len(decoded), (path, key, ext)
            for mine, other in zip(arrays, decoded):
                assert_same_array(mine, other, (path, key, ext))
                count += 1
    assert not held, held
    return count

writers = []
for turn in range(12):
    options = {"mtime": choose([None, 0, 1700000000.5])}
    if turn % 3 == 0:
        name = f"{turn}-%03d.tar" + choose(["", ".gz"])
        with webdataset.ShardWriter(name, maxcount=7, verbose=0, **options) as out:
            for sample in samples(20):
                out.write(sample)
        writers += [name % i for i in range(3)]
    else:
        name = f"{turn}.tar" + choose(["", ".gz"])
        with webdataset.TarWriter(name, keep_meta=turn % 2, **options) as out:
            for sample in samples(15):
                out.write(sample | ({"__meta__": "of the sample"} if turn % 2 else {}))
        writers.append(name)
arrays = 0
for path in writers:
    assert_same_samples(path, ours(path), theirs(path))
    arrays += assert_same_arrays(path)
    # The members' bytes are sources, too, and so are ranges of a shard that is not compressed.
    for name, data, at, size, key, ext in db.execute(
        "SELECT name, data, data_offset, size, key, ext FROM tar_members(?) WHERE ext = 'npy' OR ext LIKE '%.npy'", (path,)
    ).fetchall():
        want = np.load(io.BytesIO(data))
        sources = [data] if at is None else [data, json.dumps({"path": path, "offset": at, "nbytes": size})]
        for source in sources:
            [row] = db.execute("SELECT npy_dtype(array), npy_shape(array), npy_data(array) FROM npy_file(?)", (source,))
            assert_same_array(row, want, (path, name))
    # Text and numbers as they are decoded.
    for sample in webdataset.WebDataset(path, shardshuffle=False).decode(only=["cls", "txt", "json", "index"]):
        for ext, decoded in sample.items():
            if ext in ("cls", "index", "txt", "json"):
                [text] = db.execute("SELECT CAST(data AS TEXT) FROM tar_members(?) WHERE key = ? AND ext = ?", (path, sample["__key__"], ext)).fetchone()
                assert {"cls": int, "index": int, "txt": str, "json": json.loads}[ext](text) == decoded
assert arrays > 100
print("same", len(writers), arrays)
'''

NAMES = COMMON + r'''
WORDS = ["a", "b", "c", "0", "A", "aB", ".", "..", "__", "_", "__a__", "__a__b", "/", "/", "//", "./", " ", "\n", "\u00e9", "\u4e2d", "\U0001f600", "-", "%s", "'", "n" * 60]
EXTENSIONS = [".npy", ".cls", ".A.b", ".JPG", ".", "", "..", ".\u00e9"]

def random_name():
    name = "".join(choose(WORDS) for _ in range(rng.integers(0, 6))) + choose(EXTENSIONS)
    # Names of the fields that webdataset has for itself.
    return name if not re.search(r"\.__\w*__$", name) else "a"

def write(path, members):
    """A tar of (name, type, contents). It is told by its first header, which has to have a name."""
    members = [("first", tarfile.REGTYPE, b""), *members]
    with tarfile.open(path, "w", format=choose([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])) as tar:
        for name, kind, data in members:
            info = tarfile.TarInfo(name)
            info.type, info.size = kind, len(data)
            if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                info.linkname = "a.npy"
            tar.addfile(info, io.BytesIO(data))

def ascii_lower(text):
    return None if text is None else re.sub("[A-Z]", lambda letter: letter[0].lower(), text)

# key and ext of any name.
named = 0
for turn in range(20):
    names = [random_name() for _ in range(300)]
    names += ["".join(choose("aB./_\u00c9\u0130\u03a3\n") for _ in range(rng.integers(0, 9))) for _ in range(300)]
    write("names.tar", [(name, tarfile.REGTYPE, b"") for name in names])
    with tarfile.open("names.tar") as tar:
        read = tar.getnames()
    rows = db.execute("SELECT name, key, ext FROM tar_members('names.tar', 'row') ORDER BY idx").fetchall()
    assert [name for name, _, _ in rows] == read
    for name, key, ext in rows:
        base, suffix = tariterators.base_plus_ext(name)
        assert (key, ext) == (base, ascii_lower(suffix)), (name, key, ext, base, suffix)
        named += key is not None

# Samples: members next to each other by their keys, between those that are in none.
grouped = 0
for turn in range(150):
    keys = [random_name().rpartition(".")[0] or "k" for _ in range(4)] + ["k", "d/k", "__m__", "__m__/k", "d/__m__"]
    members = []
    for _ in range(40):
        name = random_name() if rng.random() < 0.2 else choose(keys) + choose([*EXTENSIONS, ".x", ".y", ".z", ".X"])
        kind = choose([tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE]) if rng.random() < 0.1 else tarfile.REGTYPE
        members.append((name, kind, rng.bytes(3) if kind == tarfile.REGTYPE else b""))
    write("samples.tar", members)
    want = theirs("samples.tar", handlers.ignore_and_continue)
    assert_same_samples((turn, members), ours("samples.tar"), want)
    grouped += sum(len(held) > 1 for _, held in want)

# A second member of an extension: an error there, a fault of that member here.
write("twice.tar", [("a.x", tarfile.REGTYPE, b"1"), ("a.X", tarfile.REGTYPE, b"2"), ("b.x", tarfile.REGTYPE, b"3")])
try:
    theirs("twice.tar")
    raise AssertionError("webdataset takes both")
except ValueError as error:
    assert "duplicate file name" in str(error)
rows = db.execute("SELECT name, sample, error FROM tar_members('twice.tar', 'row')").fetchall()
assert [(name, sample, bool(error)) for name, sample, error in rows[1:]] == [("a.x", 0, False), ("a.X", 0, True), ("b.x", 1, False)]
assert named > 1000 and grouped > 200
print("same", named, grouped)
'''


def run(script, folder):
    seed = shell.random_seed()
    print(f"NPYEXT_SEED={seed}")
    python = packages.python_with("webdataset", "webdataset", "numpy")
    path = os.path.join(folder, "script.py")  # so that a traceback has its lines
    with open(path, "w") as file:
        file.write(script)
    printed = packages.run(python, "-B", "-W", "ignore", path, shell.EXTENSION, str(seed), cwd=folder)
    assert printed.splitlines()[-1].startswith("same"), printed


def test_what_webdataset_writes(tmp_path, patience_for):
    patience_for(5 * shell.PATIENCE)
    run(WRITTEN, tmp_path)


def test_names_and_samples(tmp_path, patience_for):
    patience_for(5 * shell.PATIENCE)
    run(NAMES, tmp_path)
