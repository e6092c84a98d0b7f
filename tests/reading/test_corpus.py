"""The corpus: good files with expected values, malformed files, and files of public projects.

It is no part of the repository: NPYEXT_CORPUS names its folder, ../shared/corpus otherwise, and where that is not
there nothing here becomes a test. Its README explains the fields used below.
"""

import ast
import csv
import functools
import hashlib
import importlib
import io
import json
import os
import re
import resource
import sqlite3
import sys

import numpy as np
import pytest

import children
import shell
from expected import assert_same_rows
from objects import assert_value

CORPUS = os.environ.get("NPYEXT_CORPUS") or os.path.join(shell.ROOT, "..", "shared", "corpus")
SECONDS = 120 if shell.SANITIZED else 20
# What a malformed file may cost that is legal and only large.
LIMIT_SECONDS = 2 * (10 if shell.SANITIZED else 1)
LIMIT_BYTES = 64 << 20

# Good files whose values are refused, and a word of why (docs/formats.md): no zlib inflates the first three.
REFUSED = {
    "npz/bzip2.npz": "bzip2",
    "npz/lzma.npz": "lzma",
    "npz/ppmd.npz": "ppmd",
    "npz/encrypted_zipcrypto.npz": "encrypted",
    "npy/dtype_U1_out_of_range.npy": "110000",
}


def corpus_path(*parts):
    return os.path.join(CORPUS, *parts)


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def table(*parts):
    path = corpus_path(*parts)
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


@functools.lru_cache(maxsize=None)
def good_entries():
    path = corpus_path("expected.json")
    return {entry["file"]: entry for entry in json.loads(contents(path))["entries"]} if os.path.exists(path) else {}


@functools.lru_cache(maxsize=None)
def bad_entries():
    return {entry["file"]: entry for entry in table("bad", "bad.tsv")}


@functools.lru_cache(maxsize=None)
def real_entries():
    entries = {}
    for row in table("real.tsv"):
        entries.setdefault(row["path"], []).append(row)
    return entries


# --- reading ---------------------------------------------------------------------------------------------------------


def metadata(db, source):
    """{idx: row of npy_meta as a dict}."""
    cursor = db.execute("SELECT * FROM npy_meta(?)", (source,))
    names = [column[0] for column in cursor.description]
    rows = [dict(zip(names, row)) for row in cursor]
    assert all(row["error"] is None for row in rows), [row["error"] for row in rows]
    return {row["idx"]: row for row in rows}


def rows_of(db, source, idx):
    return db.execute("SELECT row, value, data FROM npy_rows(?, ?) ORDER BY row", (source, idx)).fetchall()


def error_of(db, source, *statements):
    """The message of the first statement that fails, or None."""
    for statement in statements:
        try:
            db.execute(statement, (source,)).fetchall()
        except sqlite3.Error as error:
            return str(error)
    return None


def assert_same_descr(got, want):
    """want is the header's: a string or a list of fields; got its text, spelled in any way for a list."""
    if isinstance(want, str):
        assert got == want, f"descr {got!r}, expected {want!r}"
    else:
        assert ast.literal_eval(got) == want, f"descr {got!r}, expected {want!r}"


# --- good files ------------------------------------------------------------------------------------------------------


def is_object(want):
    return "object array" in want.get("expect", "") or "Object arrays" in want.get("error", "")


def header_descr(want):
    """The descr as the header spells it, or as NumPy does where no header is given."""
    try:
        return ast.literal_eval(want["header"].strip())["descr"]
    except (KeyError, SyntaxError):
        return ast.literal_eval(want["descr"])


def assert_same_metadata(row, want):
    assert json.loads(row["shape"]) == want["shape"], row["shape"]
    for name in ("itemsize", "size", "nbytes"):
        if name in want:
            assert row[name] == want[name], f"{name} {row[name]}, expected {want[name]}"
    if "fortran_order" in want:
        assert bool(row["fortran_order"]) == want["fortran_order"], "fortran_order"
    if "short" in want:
        assert row["dtype"] == np.dtype(want["short"]).name and row["name"] == want["info"], row
    else:
        assert_same_descr(row["descr"], header_descr(want))
    if "data_offset" in want:
        assert row["data_offset"] == want["data_offset"], "data_offset"
    assert row["ndim"] == len(want["shape"]) and row["has_objects"] == 0, row


def array_of(entry, want, data):
    """The array as NumPy has it: loaded where NumPy 1.24 loads it, built from `data` where it does not."""
    path = corpus_path(entry["file"])
    if entry["kind"] == "npy" and entry["numpy_1_24"] == entry["numpy_default_limits"] == "ok":
        return np.load(path)
    if entry.get("numpy_load") == "ok":
        with np.load(path) as archive:
            return archive[want["name"]]
    dtype = want.get("dtype_str") or ast.literal_eval(want["descr"])
    return np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).reshape(want["shape"])


def load_objects(path, name):
    """The array as Python has it. In pickles of Python 2 bytes are texts, where they are ASCII."""
    for module in ("", ".multiarray"):  # where NumPy 2 has them
        sys.modules.setdefault(f"numpy._core{module}", importlib.import_module(f"numpy.core{module}"))
    is_python_2 = os.path.basename(path).startswith("py2")
    loaded = np.load(path, allow_pickle=True, encoding="bytes" if is_python_2 else "ASCII")
    array = loaded[name] if path.endswith(".npz") else loaded
    for index in np.ndindex(array.shape) if is_python_2 else ():
        if isinstance(array[index], bytes) and array[index].isascii():
            array[index] = array[index].decode()
    return array


def check_objects(db, source, idx, array):
    values = [value for (value,) in db.execute("SELECT value FROM npy_elements(?, ?) ORDER BY idx", (source, idx))]
    assert len(values) == array.size, f"{len(values)} objects"
    for value, item in zip(values, array.reshape(-1)):
        if array.dtype.names or type(item).__module__ not in ("builtins", "numpy") or isinstance(item, (range, type)):
            assert json.loads(value), value
        else:
            assert_value(value, item, source if isinstance(source, str) else "BLOB")


def check_array(db, entry, source, row, want, idx):
    if is_object(want):
        assert row["has_objects"] == 1, "has_objects"
        check_objects(db, source, idx, load_objects(corpus_path(entry["file"]), want.get("name")))
        return
    assert_same_metadata(row, want)
    rows = rows_of(db, source, idx)
    data = b"".join(row[2] for row in rows)
    if "sha256_c_le" in want and want["dtype_str"][1:] not in ("f16", "c32"):
        assert hashlib.sha256(data).hexdigest() == want["sha256_c_le"], "data differ"
    if len(want["shape"]) <= 32:
        assert_same_rows(rows, array_of(entry, want, data), entry["file"])
    else:
        offset = want["data_offset"]
        assert data == contents(corpus_path(entry["file"]))[offset : offset + len(data)], "data differ"
        assert flat([json.loads(value) for _, value, _ in rows]) == list(data), "values differ"


def flat(value):
    return [item for part in value for item in flat(part)] if isinstance(value, list) else [value]


def wanted_arrays(entry):
    """{idx: expectations} of a file's arrays."""
    if entry["kind"] == "npy":
        return {0: entry}
    if entry["kind"] == "ten":
        return {array["index"]: array for array in entry["arrays"]}
    return {idx: member for idx, member in enumerate(entry["members"]) if not member.get("non_npy")}


def check_zip_directory(db, entry, source):
    methods = {0: "stored", 8: "deflate", 12: "bzip2", 14: "lzma", 98: "ppmd"}
    got = db.execute(
        "SELECT idx, filename, method, compressed_size, uncompressed_size, crc32, encrypted FROM npz_members(?)",
        (source,),
    ).fetchall()
    want = [
        (idx, m["name"], methods[m["method"]], m["csize"], m["usize"], m["crc"], m["flags"] & 1)
        for idx, m in enumerate(entry["members"])
    ]
    assert got == want, f"npz_members: {got}, expected {want}"


def arrays_in_a_row(file):
    """How many arrays numpy.load finds in a .npy when it is called again and again; one, when it fails."""
    stream, n = io.BytesIO(contents(corpus_path(file))), 0
    try:
        while True:
            np.load(stream)
            n += 1
    except (EOFError, ValueError):
        return max(n, 1)


def check_good(file):
    entry, db = good_entries()[file], shell.connect()
    path = corpus_path(file)
    for source in (path, contents(path)):
        refused = REFUSED.get(file)
        if refused:
            message = error_of(db, source, "SELECT value FROM npy_rows(?)")
            assert message and refused in message.lower(), f"expected to be refused ({refused}): {message}"
        if entry["kind"] == "npz":
            check_zip_directory(db, entry, source)
        if refused:
            continue
        got, want = metadata(db, source), wanted_arrays(entry)
        listed = set(want) | set(range(1, arrays_in_a_row(file))) if entry["kind"] == "npy" else set(want)
        assert set(got) == (listed or {None}), f"arrays {sorted(got)}, expected {sorted(listed)}"
        for idx in want:
            check_array(db, entry, source, got[idx], want[idx], idx)


# --- malformed files -------------------------------------------------------------------------------------------------

# By name of the file, the words with which the defect may be told; the first pattern that fits counts.
DEFECTS = {
    r"npy_trunc|npy_shape_huge|npz_member|npz_csize|ten_trunc_(084|096)|ten_dim_too_big": r"truncated|is empty|is not a",
    r"npy_version": r"version",
    r"npy_(hdr_)?shape|ten_dim|ten_rank": r"shape|dimension|decimal number",
    r"npy_descr": r"dtype|field|subarray|nested",
    r"npy_h": r"header",
    r"npy_object": r"pickle",
    r"npy_(not|utf8)|ten_trunc_004": r"is not a",
    r"npz_(trunc|pk)": r"zip is truncated",
    r"npz_method": r"method 99",
    r"npz_flag_(enc|str)": r"encrypted",
    r"npz_flag_patch": r"patched",
    r"npz_deflate": r"truncated|inflates",
    r"npz_": r"zip directory|local header",
    r"ten_magic": r"TenBin",
    r"ten_neg": r"negative",
    r"ten_dtype": r"dtype",
    r"ten_": r"chunk|no data",
}

# More rows than any test needs of a file that honestly claims 10^12.
FIRST_ROWS = 10000


def read_all(path, as_blob):
    """What reading the metadata and the values costs and says: (message or None, seconds, bytes)."""
    db = shell.connect()
    source = contents(path) if as_blob else path
    before = resource.getrusage(resource.RUSAGE_SELF)
    message = error_of(db, source, "SELECT * FROM npy_meta(?)", f"SELECT *, data FROM npy_rows(?) LIMIT {FIRST_ROWS}")
    after = resource.getrusage(resource.RUSAGE_SELF)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return message, seconds, (after.ru_maxrss - before.ru_maxrss) << 10


def check_bad(file):
    entry = bad_entries()[file]
    for as_blob in (False, True):
        message, seconds, nbytes = read_all(corpus_path("bad", file), as_blob)
        if entry["class"] in ("must-reject", "should-reject"):
            assert message, f"accepted: {entry['reason']}"
            words = next((words for pattern, words in DEFECTS.items() if re.match(pattern, file)), ".")
            assert re.search(words, message), f"{message!r} does not tell of {entry['reason']}"
        if message is not None:
            assert re.match(r"npyext: .+", message) and "\n" not in message, f"{message!r}: {entry['reason']}"
        if entry["class"] == "limit":
            assert seconds <= LIMIT_SECONDS, f"took {seconds:.1f} s"
            # The sanitizer's own bookkeeping is many times that.
            assert shell.SANITIZED or nbytes <= LIMIT_BYTES, f"took {nbytes >> 20} MiB"


# --- files of public projects ----------------------------------------------------------------------------------------


def check_real(file):
    db, path = shell.connect(), corpus_path("real", file)
    for source in (path, contents(path)):
        rows = metadata(db, source)
        by_name = {row["name"]: row for row in rows.values()}
        assert len(by_name) == len(rows) == len(real_entries()[file]), f"{len(rows)} arrays"
        for want in real_entries()[file]:
            check_real_array(db, path, source, by_name[real_name(want)], want)


def real_name(want):
    if want["ver"] == "ten":
        return re.search(r"info='(.*)'", want["member"])[1]
    name = want["member"].split(" ")[0]
    return name[:-4] if name.endswith(".npy") else name


def check_real_array(db, path, source, row, want):
    if want["loads"] == "0":
        assert row["has_objects"] == 1, "has_objects"
        check_objects(db, source, row["idx"], load_objects(path, row["name"]))
        return
    shape = ast.literal_eval(want["shape"])
    assert json.loads(row["shape"]) == list(shape), row["shape"]
    # `order` is that of the array in memory, and a 1-D one is in both.
    assert row["fortran_order"] == ("'fortran_order': True" in want["header"]), "fortran_order"
    if want["ver"] != "ten":
        assert_same_descr(row["descr"], ast.literal_eval(want["descr"]) if want["descr"][0] == "[" else want["descr"])
    rows = rows_of(db, source, row["idx"])
    if want["ver"] == "ten":
        start = row["data_offset"]
        array = np.frombuffer(contents(path)[start : start + row["nbytes"]], want["descr"]).reshape(shape)
    else:
        array = np.load(path)
        array = array[row["name"]] if want["member"] else array
    assert_same_rows(rows, array, row["name"])


# --- tests -----------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def outcomes(check, files):
    return children.run(check, files, SECONDS)


def judge(check, entries, file):
    outcome = outcomes(check, tuple(entries()))[file]
    assert outcome is None, outcome


@pytest.mark.parametrize("file", good_entries())
def test_good(file):
    judge(check_good, good_entries, file)


@pytest.mark.parametrize("file", bad_entries())
def test_bad(file):
    judge(check_bad, bad_entries, file)


@pytest.mark.parametrize("file", real_entries())
def test_real(file):
    judge(check_real, real_entries, file)
