"""Headers nest dtypes 98 deep, with 64 dimensions at each level, and hosts have threads of 128 KiB of stack (musl's have no
more). Each function of arrays is asked about each such array there, in a process that may die of it."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest

import shell
from formats import npy
from gguf_files import gguf
from torch_files import Call, pickled, tensor, torch_legacy, torch_zip

LEVELS = 98  # two brackets each, and the header's own
STACK_NBYTES = 131072


def nested(innermost, levels, *shape):
    for _ in range(levels):
        innermost = [("a", innermost, *shape)]
    return innermost


def in_pairs(innermost, levels):
    """Formats in parentheses, a dimension each, around records of one field."""
    for _ in range(levels):
        innermost = [("a", (((innermost, (1,)), (1,)), 1))]
    return innermost


def many_fields(levels):
    """Fields beside the one that nests, titles among them."""
    descr = "<f8"
    for level in range(levels):
        descr = [("n", "<f8"), (("title", f"b{level}"), "S3"), ("a", descr), ("t", ">M8[s]")]
    return descr


def nbytes_of(descr, *shape):
    if isinstance(descr, str):
        nbytes = int("".join(filter(str.isdigit, descr.split("[")[0])) or 8)
    elif isinstance(descr, tuple):
        nbytes = nbytes_of(*descr)
    else:
        nbytes = sum(nbytes_of(*field[1:]) for field in descr)
    return nbytes * math.prod(length for lengths in shape for length in (lengths if isinstance(lengths, tuple) else (lengths,)))


DTYPES = {
    "f8": nested("<f8", LEVELS), "u1": nested("|u1", LEVELS), "date": nested("<M8[s]", LEVELS), "complex": nested(">c16", LEVELS),
    "text": nested("S3", LEVELS), "void": nested("V3", LEVELS), "fields": many_fields(60), "ones": nested("<f8", LEVELS - 1, (1,) * 64),
    "ones_u1": nested("|u1", LEVELS - 1, (1,) * 64), "ones_text": nested("S3", LEVELS - 1, (1,) * 64), "ones_c16": nested("<c16", LEVELS - 1, (1,) * 64),
    "pairs": in_pairs("<i2", 30), "ones_15": nested("<f8", 15, (1,) * 64), "twos": nested("<f4", 3, (2, 1, 2)),
    "ints": nested("<i4", LEVELS, 1), "pair": nested("<i2", LEVELS - 1, (1, 1)),
}
NOTHING = {"empty": nested("<f8", LEVELS - 1, (0,) * 64), "none": nested([], LEVELS - 1, (2,)), "no_bytes": nested("V0", LEVELS - 1, (1,) * 64)}
SHAPES = {"row": (4,), "scalar": (), "square": (2, 2), "ones": (1,) * 64}
ARRAYS = {}
for dtype_name, descr in (DTYPES | NOTHING).items():
    data = b"" if dtype_name in NOTHING else bytes(range(1, 101)) * 100
    for shape_name, shape in SHAPES.items():
        nitems = 1 if shape_name in ("scalar", "ones") else 4
        for order in (False, True):
            nbytes = 0 if dtype_name in NOTHING else nitems * (nbytes_of(descr))
            ARRAYS[f"{dtype_name}-{shape_name}-{'F' if order else 'C'}"] = npy(descr, shape, data[:nbytes].ljust(nbytes, b"\1"), order, (2, 0))

VIEWS = ["", "::-1", "None", "0"]
TABLES = [
    "npy_rows", "npy_elements", "npy_meta", "npy_stats", "npy_unique", "npy_histogram", "npy_quantile", "npy_file", "npz_members", "tar_members", "ten_arrays", "npy_globals",
]
SCALARS = [
    "argmax", "argmin", "corrcoef", "data", "dtype", "hash", "json", "max", "mean", "median", "min", "ndim", "norm", "plot", "png", "preview", "shape", "size",
    "sketch", "spark", "std", "sum", "transpose", "valid",
]
QUESTIONS = (
    [f"SELECT * FROM {table}(:a) LIMIT 10" for table in TABLES]
    + [f"SELECT * FROM {table}(:a, '', '', '{view}') LIMIT 10" for table in ("npy_rows", "npy_elements") for view in VIEWS]
    + [f"SELECT * FROM {table}(:a, '', '', 0) LIMIT 10" for table in ("npy_stats", "npy_quantile")]
    + [f"SELECT npy_{name}(:a)" for name in SCALARS]
    + [f"SELECT npy_{name}(:a, 0)" for name in ("sum", "mean", "min", "max", "std", "median", "argmin", "argmax", "norm", "order", "get", "hash", "spark")]
    + [f"SELECT npy_{name}(:a, :a)" for name in ("dot", "distance")]
    + [
        "SELECT npy_preview(:a, 3)", "SELECT npy_json(npy_slice(:a, '::-1'))", "SELECT npy_json(npy_reshape(:a, '[-1]'))", "SELECT npy_astype(:a, 'f8')",
        "SELECT npy_astype(:a, :d)", "SELECT npy_get(:a, 0)", "SELECT npy_get_or(:a, 0, 'x')", "SELECT npy_get(:a, 'a')",
        "SELECT npy_json(npy_transpose(:a))", "SELECT npy_from_data(npy_data(:a), :d, '[-1]')", "SELECT npy_from_json(npy_json(:a), :d)",
        "SELECT npy_array(value, :d) FROM npy_rows(:a)", "SELECT npy_stack(value, :d) FROM npy_rows(:a)",
        "SELECT npy_stack(data, :d) FROM npy_rows(:a)", "SELECT npy_records(:d, value) FROM npy_rows(:a)",
        "SELECT npz_archive('a', :a)", "SELECT ten_archive('a', :a)", "SELECT * FROM npy_compare(:a, :a)", "SELECT * FROM npy_compare(:a, :a, '', '', 0)",
        "SELECT * FROM npy_nearest(:a, :a)", "SELECT value, count FROM npy_unique(:a) WHERE by = :a", "SELECT label, count FROM npy_stats(:a) WHERE by = :a",
        "SELECT value FROM npy_rows(:a) WHERE value > 'b' ORDER BY value", "SELECT crc32 FROM npy_stats(:a)", "SELECT * FROM npy_meta(:a) WHERE on_error = 'row'",
        "SELECT value FROM npy_rows(:a) WHERE field = :p LIMIT 3", "SELECT value FROM npy_elements(:a) WHERE field = :p LIMIT 3",
        "SELECT npy_json(npy_get(:a, :p))", "SELECT * FROM npy_write('out.npy', :a)", "SELECT * FROM npy_rows('out.npy')",
        "CREATE VIRTUAL TABLE temp.t USING npy('out.npy')", "SELECT * FROM temp.t", "DROP TABLE IF EXISTS temp.t",
        "CREATE VIRTUAL TABLE temp.r USING npy('out.npy', mode='r+')", "UPDATE temp.r SET a = a", "DROP TABLE IF EXISTS temp.r",
        "CREATE VIRTUAL TABLE temp.w USING npy('out.npy', mode='a')", "INSERT INTO temp.w SELECT a FROM temp.w LIMIT 1", "DROP TABLE IF EXISTS temp.w",
    ]
)

# Those that have an answer for each array whose text is not longer than SQLite's limit.
ANSWERED = ["SELECT npy_json(:a)", "SELECT npy_shape(:a)", "SELECT npy_preview(:a)", "SELECT * FROM npy_rows(:a) LIMIT 10"]

ASK = """
import json, os, sqlite3, sys, tempfile, threading
sys.path.insert(0, sys.argv[1])
import shell
given = json.load(sys.stdin)
said = []
def ask():
    db = shell.connect()
    for sql in given["questions"]:
        for name, array in given["arrays"].items():
            os.pwrite(2, f"{name}: {sql}".ljust(4000).encode(), 0)
            try:
                db.execute(sql, {"a": bytes.fromhex(array), "p": given["path"], "d": given["dtype"]}).fetchall()
            except sqlite3.Error as error:
                said.append([name, sql, str(error)])
os.chdir(tempfile.mkdtemp(dir=sys.argv[3]))
threading.stack_size(int(sys.argv[2]))
thread = threading.Thread(target=ask)
thread.start()
thread.join()
os.pwrite(2, b" " * 4000, 0)
print(json.dumps(said))
"""


def asked(arrays, dtype, questions, folder, stack_nbytes):
    """The errors there were: [array, question, message]; where it died, that is a failure that names the question."""
    given = {"arrays": {name: array.hex() for name, array in arrays.items()}, "questions": questions, "path": ".".join(["a"] * LEVELS), "dtype": repr(dtype)}
    with open(folder / "stderr", "w+b") as stderr:
        command = [sys.executable, "-B", "-c", ASK, os.path.dirname(shell.__file__), str(stack_nbytes), str(folder)]
        done = subprocess.run(command, input=json.dumps(given).encode(), stdout=subprocess.PIPE, stderr=stderr, timeout=shell.PATIENCE)
        stderr.seek(0)
        assert done.returncode == 0, (done.returncode, stderr.read()[:4000].decode(errors="replace").strip())
    return json.loads(done.stdout)


@pytest.mark.parametrize("dtype", DTYPES | NOTHING)
def test_nested_dtypes(dtype, tmp_path):
    arrays = {name: array for name, array in ARRAYS.items() if name.split("-")[0] == dtype}
    # The sanitizer's frames are several times as large: it gets the usual stack.
    errors = asked(arrays, (DTYPES | NOTHING)[dtype], QUESTIONS, tmp_path, 8 << 20 if shell.SANITIZED else STACK_NBYTES)
    for name, sql, message in errors:
        assert "out of memory" not in message, (name, sql, message)
        assert sql not in ANSWERED or dtype == "none", (name, sql, message)


def around(kind, value, levels):
    for _ in range(levels):
        value = {"list": lambda: [value], "tuple": lambda: (value,), "dict": lambda: {"k": value}, "args": lambda: Call("own", "Class", value), "state": lambda: Call("own", "Class", state={"_modules": {"k": value}})}[kind]()
    return value


@pytest.mark.parametrize("kind", ["list", "tuple", "dict", "args", "state"])
def test_nested_trees_of_torch(kind, tmp_path):
    """As deep as trees may be, and deeper."""
    sys.setrecursionlimit(20000)
    w = tensor("Float", "0", 4, 0, (2, 2), (1, 2))
    arrays = {str(levels): make(around(kind, w, levels), storages) for levels in (40, 96, 99, 100, 180) for make, storages in ((torch_zip, {"0": bytes(16)}),)}
    arrays |= {f"old {levels}": torch_legacy(around(kind, w, levels), {"0": (4, bytes(16))}) for levels in (40, 99, 180)}
    arrays |= {f"bare {levels}": pickled(around(kind, np.arange(3), levels)) for levels in (40, 99, 180)}
    questions = ["SELECT * FROM npy_meta(:a)", "SELECT metadata FROM npy_meta(:a)", "SELECT * FROM npy_rows(:a, 0)", "SELECT npy_json(array) FROM npy_file(:a)", "SELECT * FROM npy_stats(:a)", "SELECT * FROM npz_members(:a)"]
    errors = asked(arrays, "f4", questions, tmp_path, 8 << 20 if shell.SANITIZED else STACK_NBYTES)
    assert all("levels deep" in message or "npz_members" in sql for _, sql, message in errors), errors
    assert {name for name, _, _ in errors} >= {"180", "old 180", "bare 180"} and "40" not in {name for name, _, _ in errors}


def test_arrays_in_arrays_of_gguf(tmp_path):
    """As deep as values may be, and deeper; and blocks of quantized items."""

    def around(levels):
        value = ("int8", [1])
        for _ in range(levels - 1):
            value = ("array", [value])
        return gguf([("w", "Q6_K", (3, 256), bytes(i % 50 for i in range(630)))], [("k", "array", value)])

    sys.setrecursionlimit(20000)
    arrays = {str(levels): around(levels) for levels in (1, 16, 17, 500)}
    questions = ["SELECT *, metadata FROM npy_meta(:a)", "SELECT * FROM npy_rows(:a, 0)", "SELECT npy_json(array) FROM npy_file(:a)", "SELECT * FROM npy_stats(:a)"]
    errors = asked(arrays, "f4", questions, tmp_path, 8 << 20 if shell.SANITIZED else STACK_NBYTES)
    assert all("nested more than 16 deep" in message for _, _, message in errors), errors
    assert {name for name, _, _ in errors} == {"17", "500"}
