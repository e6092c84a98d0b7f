"""The files that tests/sql and the examples in the documents read: `python3 tests/lib/make_files.py FOLDER` to look at them.

    runs/r1 ... runs/r4, experiments.csv    the demo's (tests/demo)
    X.npy y.npy                             (6, 4) float32 and (6,) int64: vectors and their labels
    types/NAME.npy                          one array of each dtype; NAME_be.npy big-endian
    orders/c.npy f.npy                      the same (2, 3, 4) int32 in C and in Fortran order
    shapes/scalar.npy empty.npy ones.npy    (), (0, 3), (1, 1, 1)
    versions/v1.npy v2.npy v3.npy           header versions
    structured/plain.npy nested.npy padded.npy titled.npy subarray.npy fortran.npy
    objects/settings.npy mixed.npy ragged.npy   arrays of Python objects; a pickle that would run a command, were it
    objects/hostile.npy field.npy               loaded; a field of objects
    w.npz deflated.npz                      the same two arrays, w and b, stored and deflated
    mixed.npz                               an array, a text, an empty entry, a duplicate name, a name with a slash
    empty.npz                               a bare end record
    encrypted.npz bzip2.npz lzma.npz        what cannot be read
    multi.ten big_endian.ten empty.ten      three arrays (two of one name); the other byte order; no arrays
    checkpoints/step_N/model.npz            three checkpoints, with a NaN in the last
    shards/shard-000000.npy ... 000003      for {000000..000003}
    odd/a[1].npy {x}.npy .hidden.npy        names that look like patterns
    odd/link.npy dangling.npy fifo.npy      a symbolic link, a broken one, a named pipe
    odd/folder.npy/                         a folder with a file's name
    survey/...                              good files among a corrupt, a truncated, an empty and an object one
    dataset/...                             twelve rows with labels and splits, images in batches, copies, an archive,
                                            and in each of them what the queries of sql/ are to find
    clips/heron_01.npy ..., labels.csv      four arrays, and a label and a caption of each
    wds/train-000000.tar ... 000002         twelve samples as WebDataset's ShardWriter lays them out, each of cls, emb.npy, json
                                            and latent.npz; one without its latent.npz, one without its json, a float64 among
                                            the float32, a NaN
    wds/train-000003.tar.gz                 two samples more, compressed
    llm/model-00001-of-00002.safetensors    a small model in two parts: bfloat16, float16 and float32, with a NaN in the
    llm/model-00002-of-00002.safetensors    second part
    models/pipeline.pkl                     a pipeline of scikit-learn's
    torch/tuned.pt                          the second part's tensors once more, as a state_dict of torch.save, one of them changed
    gguf/tiny.gguf                          a model for llama.cpp: float32, Q8_0, Q4_K, and a Q5_K, which is not read
    tokens/train.bin                        four documents of token ids as nanoGPT's prepare.py writes them, one of them empty, and the
                                            beginning of a fifth
    tokens/wiki.bin wiki.idx                an indexed dataset of Megatron's: two documents, of two sequences and of one
    sparse/x.npz                            a (4, 5) matrix as scipy.sparse.save_npz writes it, in rows (CSR)
    gguf/original.safetensors               what two of its tensors were made of
    wds/damaged/cut.tar header.tar array.tar    the second shard cut short, with a wrong byte in a tar header, and with one in
                                            the header of an array

Every file's modification time is 2026-01-02 03:04:05 UTC.
"""

import json
import os
import struct
import sys
import tarfile
import zipfile

import demo_files
import gguf_files
import tars
import torch_files
from formats import npy, npz, numbers, objects, pickled, safetensors, ten

MODIFIED = 1767323045  # 2026-01-02 03:04:05 UTC
NAN, INFINITY = float("nan"), float("inf")
NAT = -(2**63)

REALS = [0.0, -0.0, 1.5, 0.1, NAN, INFINITY, -INFINITY]
DAYS = [0, 20455, -1, NAT]
NANOSECONDS = [0, 1767323045123456789, -1, NAT]


def types():
    """Yield (name, .npy) for every dtype, in both byte orders where there are two."""
    for kind in "iu":
        for size in (1, 2, 4, 8):
            name, greatest = f"{kind}{size}", 2 ** (8 * size - (kind == "i")) - 1
            values = [0, 1, greatest, -greatest - 1 if kind == "i" else 2]
            yield name, numbers(("<" if size > 1 else "|") + name, (4,), values)
            if size > 1:
                yield name + "_be", numbers(">" + name, (4,), values)
    yield "b1", npy("|b1", (3,), bytes([0, 1, 7]))
    for name in ("f2", "f4", "f8"):
        yield name, numbers("<" + name, (7,), REALS)
        yield name + "_be", numbers(">" + name, (7,), REALS)
    # 1.5 and pi as x87 stores them: significand, sign and exponent, six bytes of nothing.
    yield "f16", npy("<f16", (2,), struct.pack("<QH6xQH6x", 3 << 62, 16383, 0xC90FDAA22168C235, 16384))
    yield "c8", npy("<c8", (2,), struct.pack("<4f", 1.5, -2, NAN, INFINITY))
    yield "c16", npy("<c16", (2,), struct.pack("<4d", 1.5, -2, NAN, INFINITY))
    for letter, unit, values in (("M", "D", DAYS), ("M", "ns", NANOSECONDS), ("m", "s", [0, 90, -1, NAT])):
        packed = struct.pack("<4q", *values)
        yield f"{letter}8_{unit}", npy(f"<{letter}8[{unit}]", (4,), packed)
    yield "S5", npy("|S5", (4,), b"abc\0\0" + b"hello" + b"\xff\xfe\0\0\0" + b"\0" * 5)
    yield "U4", npy("<U4", (3,), "".join(text.ljust(4, "\0") for text in ("abc", "žluť", "")).encode("utf-32-le"))
    yield "U4_be", npy(">U4", (2,), "".join(text.ljust(4, "\0") for text in ("abc", "žluť")).encode("utf-32-be"))
    yield "V3", npy("|V3", (2,), b"\x01\x02\0abc")
    yield "bfloat16", npy("<V2", (3,), struct.pack("<3H", 0x3FC0, 0xC000, 0x7FC0))


def structured():
    """Yield (name, .npy) for dtypes with fields."""
    yield "plain", npy([("x", "<f4"), ("y", "<i8"), ("tag", "|S3")], (2,),
                       struct.pack("<fq3sfq3s", 1.5, -1, b"ab\0", 0.1, 2**40, b"xyz"))
    yield "nested", npy([("id", "<i4"), ("pos", [("x", "<f8"), ("y", "<f8")])], (2,),
                        struct.pack("<iddidd", 1, 0.5, -0.5, 2, NAN, 3.0))
    yield "padded", npy([("a", "|u1"), ("", "|V3"), ("b", "<i4")], (2,), struct.pack("<B3siB3si", 1, b"...", -1, 2, b"...", -2))
    yield "titled", npy([(("the title", "a"), "<i2")], (2,), struct.pack("<2h", 7, 8))
    yield "subarray", npy([("m", "<i2", (2, 2)), ("v", "|u1", 3)], (1,), struct.pack("<4h3B", 1, 2, 3, 4, 5, 6, 7))
    yield "fortran", npy([("a", "<i2"), ("b", "|u1")], (2, 2), struct.pack("<" + "hB" * 4, 0, 0, 2, 2, 1, 1, 3, 3), fortran_order=True)


def encrypted(data):
    """The archive's bytes with the encryption flag set in the local header and the central directory."""
    data = bytearray(data)
    data[6] |= 1
    data[data.rindex(b"PK\1\2") + 8] |= 1
    return bytes(data)


def damaged(data):
    """The archive's bytes with the last one of its last entry changed."""
    data = bytearray(data)
    data[data.index(b"PK\1\2") - 1] ^= 1
    return bytes(data)


def dataset():
    """Yield (path, bytes): a folder as people have them, with the mistakes that people make."""
    centres = [(1, 0, 0, 0), (0, 2, 0, 0), (0, 0, 3, 3)]
    labels = [0, 1, 0, 0, 2, 0, 1, 0, 1, 0, 2, 0]
    rows = [round(centre + 0.05 * ((13 * i * i + 7 * i * j + 3 * j * j) % 17 - 8), 2) for i, label in enumerate(labels) for j, centre in enumerate(centres[label])]
    yield "features.npy", numbers("<f4", (12, 4), rows)
    yield "labels.npy", numbers("<i8", (12,), labels)
    # Row 3 is in two splits, row 11 in none.
    splits = {"train": [0, 1, 2, 3, 4, 5, 6], "valid": [7, 8], "test": [9, 10, 3]}
    yield "splits.npz", npz([(f"{name}.npy", numbers("<i8", (len(index),), index)) for name, index in splits.items()])

    pixels = [[(40 * batch + 7 * i) % 256 for i in range(48)] for batch in range(5)]
    yield "images/batch-000.npy", numbers("|u1", (3, 4, 4), pixels[0])
    yield "images/batch-001.npy", numbers("|u1", (3, 4, 4), pixels[1])
    yield "images/batch-002.npy", numbers("<f4", (3, 4, 4), [pixel / 256 for pixel in pixels[2]])
    yield "images/batch-003.npy", numbers("|u1", (3, 4, 3), pixels[3][:36])
    yield "images/batch-004.npy", numbers("|u1", (1, 4, 4), pixels[4][:16])
    yield "images/batch-005.npy", numbers("|u1", (3, 4, 4), pixels[0])[:-20]
    in_fortran_order = [pixels[0][16 * i + 4 * j + k] for k in range(4) for j in range(4) for i in range(3)]
    yield "backup/batch-000.npy", numbers("|u1", (3, 4, 4), in_fortran_order, fortran_order=True)
    second = numbers("|u1", (3, 4, 4), pixels[1])
    yield "backup/images.npz", npz([("one.npy", second), ("other.npy", numbers("|u1", (3, 4, 4), pixels[2]))], zipfile.ZIP_DEFLATED)

    yield "captions.npy", npy("|O", (1,), b"\x80\x02]q\x00K\x01a.")
    yield "no_rows.npy", numbers("<f4", (0, 4), [])
    yield "sensor.npy", numbers(">f8", (8,), [0.5, 1.5, NAN, 2.0, INFINITY, 1.0, 2.5, 1.5])
    zeros = numbers("<f4", (1000,), [0] * 1000)
    members = [
        ("a.npy", numbers("<f4", (4,), [1, 2, 3, 4])),
        ("a.npy", numbers("<f4", (3,), [1, 2, 3])),
        ("zeros.npy", zeros, zipfile.ZIP_DEFLATED),
        ("objects.npy", objects((1,), [None])),
        ("../outside.npy", second),
        ("readme.txt", b"hello\n"),
        ("last.npy", second),
    ]
    yield "cache/mixed.npz", damaged(npz(members))
    yield "cache/private.npz", encrypted(npz([("a.npy", second)]))


CAPTIONS = [
    "a heron on a post", "two bicycles", "a heron in the reeds", "a red kite", "a heron at dusk", "a bicycle in the rain",
    "herons over a lake", "a heron, asleep", "a bicycle wheel", "a kite and its shadow", "a heron takes off", "bicycles for hire",
    "a heron on ice", "a kite in a tree",
]
CLASSES = [0, 1, 0, 2, 0, 1, 0, 0, 1, 2, 0, 1, 0, 2]


def sample(i):
    """[(extension, bytes)] of a sample, sorted as ShardWriter sorts them."""
    vector = [round(CLASSES[i] + 0.25 * ((5 * i + 3 * j) % 7) - 0.5, 2) for j in range(4)]
    if i == 9:
        vector[2] = NAN
    yield "cls", str(CLASSES[i]).encode()
    yield "emb.npy", numbers("<f8" if i == 4 else "<f4", (4,), vector)
    if i != 10:
        yield "json", json.dumps({"caption": CAPTIONS[i], "width": 640 - 16 * i}).encode()
    if i != 6:
        mean, std = [(i + j) / 8 for j in range(4)], [1 - j / 8 for j in range(4)]
        yield "latent.npz", npz([("mean.npy", numbers("<f2", (2, 2), mean)), ("std.npy", numbers("<f2", (2, 2), std))])


def shard(numbers_of_samples):
    members = []
    for i in numbers_of_samples:
        for ext, contents in sample(i):
            info = tarfile.TarInfo(f"{i:06}.{ext}")
            info.mode, info.mtime, info.uname, info.gname = 0o444, MODIFIED, "bigdata", "bigdata"
            members.append((info, contents))
    return tars.tarfile_tar(members, "ustar")


def shards():
    """Yield (path, bytes): a set of shards, and damaged ones."""
    for number in range(3):
        yield f"train-{number:06}.tar", shard(range(4 * number, 4 * number + 4))
    yield "train-000003.tar.gz", tars.gzipped(shard([12, 13]))
    second = shard(range(4, 8))
    yield "damaged/cut.tar", second[: second.index(b"000006.json") + 512 + 20]
    yield "damaged/header.tar", second.replace(b"000006.emb.npy", b"000006.emb.np\xff")
    yield "damaged/array.tar", second.replace(b"'descr': '<f8'", b"'desc!': '<f8'")


def model():
    """A checkpoint in two parts."""
    half = lambda *values: struct.pack(f"<{len(values)}e", *values)
    single = lambda *values: struct.pack(f"<{len(values)}f", *values)
    brain = lambda *values: b"".join(struct.pack("<f", value)[2:] for value in values)
    weights = [round(0.125 * (i % 7) - 0.25, 3) for i in range(24)]
    parts = [
        [("embed.weight", "BF16", (6, 4), brain(*weights)), ("layers.0.attn.weight", "F16", (4, 4), half(*weights[:16])), ("layers.0.norm.weight", "F32", (4,), single(1, 1, 0.5, 1))],
        [("layers.1.attn.weight", "F16", (4, 4), half(*weights[8:21], NAN, 0.5, 0)), ("layers.1.norm.weight", "F32", (4,), single(1, 1, 1, 2)), ("head.weight", "F32", (6, 4), single(*weights))],
    ]
    for number, tensors in enumerate(parts, 1):
        yield f"llm/model-{number:05}-of-00002.safetensors", safetensors(tensors, {"format": "pt"})
    storages = {str(i): raw for i, (_, _, _, raw) in enumerate(parts[1])} | {"1": single(1, 1, 1, 2.5)}
    state = {
        "layers.1.attn.weight": torch_files.tensor("Half", "0", 16, 0, (4, 4), (4, 1)),
        "layers.1.norm.weight": torch_files.tensor("Float", "1", 4, 0, (4,), (1,)),
        "head.weight": torch_files.tensor("Float", "2", 24, 0, (6, 4), (4, 1)),
    }
    yield "torch/tuned.pt", torch_files.torch_zip(state, storages)
    scaled = lambda *scales: struct.pack(f"<{len(scales)}e", *scales)
    q8_0 = b"".join(scaled(1 / 64) + bytes((7 * i + 40 * row) % 256 for i in range(32)) for row in range(3))
    q4_k = scaled(1 / 256, 1 / 128) + bytes(range(1, 13)) + bytes(31 * i % 256 for i in range(128))
    tensors = [("output_norm.weight", "F32", (4,), single(1, 1, 0.5, 1)), ("token_embd.weight", "Q8_0", (3, 32), q8_0), ("blk.0.ffn_up.weight", "Q4_K", (1, 256), q4_k), ("blk.0.ffn_down.weight", "Q5_K", (1, 256), bytes(176))]
    noisy = [(b - 256 if b > 127 else b) / 64 + (i % 5 - 2) / 640 for row in range(3) for i, b in enumerate(q8_0[34 * row + 2 : 34 * row + 34])]
    yield "gguf/original.safetensors", safetensors([("model.embed_tokens.weight", "F32", (3, 32), single(*noisy)), ("model.norm.weight", "F32", (4,), single(1, 1, 0.5, 1))], {"format": "pt"})
    tokens = [f"token {i}" for i in range(100)]
    yield "gguf/tiny.gguf", gguf_files.gguf(tensors, [("general.architecture", "string", "llama"), ("llama.context_length", "uint32", 4096), ("tokenizer.ggml.tokens", "array", ("string", tokens))])


def pickled_model():
    """A pipeline of scikit-learn's, without what is not an array."""

    def array(shape, *values):
        dtype = torch_files.Call("numpy", "dtype", "f8", False, True, state=(3, "<", None, None, None, -1, -1, 0))
        return torch_files.Call("numpy.core.multiarray", "_reconstruct", torch_files.Global("numpy", "ndarray"), (0,), b"b", state=(1, shape, dtype, False, struct.pack(f"<{len(values)}d", *values)))

    scaler = torch_files.Call("sklearn.preprocessing._data", "StandardScaler", state={"mean_": array((3,), 5.5, 3, 0.25), "scale_": array((3,), 2, 0.5, 0.125)})
    classifier = torch_files.Call("sklearn.linear_model._logistic", "LogisticRegression", state={"C": 1.0, "coef_": array((1, 3), 1.5, -0.25, 4), "intercept_": array((1,), -0.5)})
    steps = [("standardscaler", scaler), ("logisticregression", classifier)]
    yield "models/pipeline.pkl", torch_files.pickled(torch_files.Call("sklearn.pipeline", "Pipeline", state={"steps": steps, "verbose": False}))


def tokens():
    """Files of token ids, which have no header."""
    end = 50256
    ids = [464, 1468, 10108, 290, 262, 5417, end, 464, 5417, end, end, 1468, 1468, 5417, 13, end, 464]
    yield "tokens/train.bin", struct.pack(f"<{len(ids)}H", *ids)
    sequences = [[464, 1468, 10108], [262, 5417], [1468, 5417, 13, end]]
    places = [0, 6, 10]
    counts = struct.pack("<QBQQ", 1, 8, len(sequences), 3)  # version 1, uint16, sequences, documents and one
    yield "tokens/wiki.bin", b"".join(struct.pack(f"<{len(part)}H", *part) for part in sequences)
    yield "tokens/wiki.idx", b"MMIDIDX\0\0" + counts + struct.pack("<3i3q3q", *map(len, sequences), *places, 0, 2, 3)


def sparse():
    """As scipy.sparse.save_npz writes it: row i has the columns indices[indptr[i]:indptr[i + 1]]."""
    parts = [("indices", "<i4", (5,), [0, 3, 1, 4, 2]), ("indptr", "<i4", (5,), [0, 2, 2, 4, 5])]
    members = [(f"{name}.npy", numbers(dtype, shape, items)) for name, dtype, shape, items in parts]
    members += [("format.npy", npy("|S3", (), b"csr")), ("shape.npy", numbers("<i8", (2,), [4, 5])), ("data.npy", numbers("<f8", (5,), [1.5, -2, 0.25, 4, 8]))]
    yield "sparse/x.npz", npz(members, zipfile.ZIP_DEFLATED)


def files():
    """Yield (path, bytes)."""
    vectors = [round(0.25 * i - 1, 2) for i in range(24)]
    yield "X.npy", numbers("<f4", (6, 4), vectors)
    yield "y.npy", numbers("<i8", (6,), [7, 1, 7, 3, 7, 1])
    for name, data in types():
        yield f"types/{name}.npy", data
    cube = range(24)
    yield "orders/c.npy", numbers("<i4", (2, 3, 4), cube)
    yield "orders/f.npy", numbers("<i4", (2, 3, 4), [12 * i + 4 * j + k for k in range(4) for j in range(3) for i in range(2)], fortran_order=True)
    yield "shapes/scalar.npy", numbers("<f8", (), [2.5])
    yield "shapes/empty.npy", numbers("<f4", (0, 3), [])
    yield "shapes/ones.npy", numbers("|u1", (1, 1, 1), [9])
    for version in (1, 2, 3):
        yield f"versions/v{version}.npy", numbers("<i2", (3,), [1, 2, 3], version=(version, 0))
    for name, data in structured():
        yield f"structured/{name}.npy", data
    yield "objects/settings.npy", objects((), [{"lr": 0.1, "layers": [64, 64], "name": "r1", "seed": None}])
    yield "objects/mixed.npy", objects((7,), [1, 2.5, "three", None, [4, "4"], b"five", {"six": 6}])
    yield "objects/ragged.npy", objects((3,), [[1, 2, 3], [], [4]])
    # Loading it would run a command.
    yield "objects/hostile.npy", npy("|O", (1,), b"\x80\x03]cos\nsystem\nX\x0b\x00\x00\x00touch owned\x85Ra.")
    yield "objects/field.npy", npy([("a", "<i4"), ("o", "|O")], (2,), pickled((2,), [(1, {"k": [1]}), (2, None)]))

    w, b = numbers("<f4", (3, 2), [0.5, 1, -1.5, 2, 0.1, 0]), numbers("<f4", (2,), [0.25, -0.25])
    yield "w.npz", npz([("w.npy", w), ("b.npy", b)])
    yield "deflated.npz", npz([("w.npy", w), ("b.npy", b)], zipfile.ZIP_DEFLATED)
    yield "mixed.npz", npz([("a.npy", b), ("readme.txt", b"hello\n"), ("none.bin", b""), ("sub/c.npy", w), ("a.npy", w)])
    yield "empty.npz", b"PK\5\6" + bytes(18)
    yield "encrypted.npz", encrypted(npz([("a.npy", b)]))
    yield "bzip2.npz", npz([("a.npy", b)], zipfile.ZIP_BZIP2)
    yield "lzma.npz", npz([("a.npy", b)], zipfile.ZIP_LZMA)
    arrays = lambda order: [
        ("f4", "x", (2, 2), struct.pack(order + "4f", 1, 2, 3, 4)),
        ("i8", "y", (3,), struct.pack(order + "3q", 5, -6, 7)),
        ("u1", "y", (2,), b"\x08\x09"),
    ]
    yield "multi.ten", ten(arrays("<"))
    yield "big_endian.ten", ten(arrays(">"), order=">")
    yield "empty.ten", b""

    for step in (1, 2, 3):
        values = [step / 4, -step / 4, NAN if step == 3 else 0.0]
        yield f"checkpoints/step_{step}/model.npz", npz([("w.npy", numbers("<f4", (3,), values)), ("step.npy", numbers("<i8", (), [step]))])
    for shard in range(4):
        yield f"shards/shard-{shard:06}.npy", numbers("<i4", (2,), [2 * shard, 2 * shard + 1])
    for name in ("a[1].npy", "{x}.npy", ".hidden.npy"):
        yield "odd/" + name, numbers("|u1", (1,), [1])

    good = numbers("<f8", (2,), [1, 2])
    yield "survey/a.npy", good
    yield "survey/corrupt.npy", good.replace(b"'descr'", b"'desc!'")
    yield "survey/empty.npy", b""
    yield "survey/not_an_array.npy", b"These are words.\n"
    yield "survey/objects.npy", objects((2,), ["a", None])
    yield "survey/truncated.npy", good[:-1]
    yield "survey/truncated.npz", npz([("a.npy", good)])[:-30]
    yield "survey/z.npz", npz([("a.npy", good), ("bad.npy", good[:20])])

    for path, data in dataset():
        yield "dataset/" + path, data
    for number, name in enumerate(["gate_01", "heron_01", "heron_02", "kite_01"]):
        yield f"clips/{name}.npy", numbers("<f4", (2, 3), [number + i / 8 for i in range(6)])
    yield "clips/labels.csv", b"name,label,caption\ngate_01,0,a wooden gate\nheron_01,1,a heron at dusk\nheron_02,1,\nkite_01,2,a red kite\n"
    for path, data in shards():
        yield "wds/" + path, data
    yield from model()
    yield from pickled_model()
    yield from tokens()
    yield from sparse()


def make(folder):
    demo_files.make(folder)
    for path, data in files():
        path = os.path.join(folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
    odd = os.path.join(folder, "odd")
    os.symlink("a[1].npy", os.path.join(odd, "link.npy"))
    os.symlink("gone", os.path.join(odd, "dangling.npy"))
    if not os.environ.get("NPYEXT_NO_FIFO"):
        os.mkfifo(os.path.join(odd, "fifo.npy"))
    os.mkdir(os.path.join(odd, "folder.npy"))
    for place, _, names in os.walk(folder):
        for name in names:
            os.utime(os.path.join(place, name), (MODIFIED, MODIFIED), follow_symlinks=False)


if __name__ == "__main__":
    make(sys.argv[1])
