"""docs/troubleshooting.md names errors by their text: each that it quotes is brought about here, and says what is quoted. So are
some that only docs/reference/errors.md quotes."""

import io
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import make_files
import shell
from arrays import npy_text_bytes, seeded_generator
from other_files import OTHERS

PAGE = os.path.join(shell.ROOT, "docs", "troubleshooting.md")

# Of other systems and hosts than this one, or of faults that test_faults.py injects.
ELSEWHERE = {
    "libminizip.so.1: cannot open shared object file",
    "version 'GLIBC_2.38' not found",
    "npyext needs SQLite 3.37 or newer; this is ...",
    "'sqlite3.Connection' object has no attribute 'enable_load_extension'",
    "no such function: sqrt",
    "out of memory",
    # or that last for long: test_lost_files.py
    "is being published by another writer, who has not ended within 10 seconds",
}

# In bold and between backticks, but no errors.
ANSWERS = {
    "npy_rows('X.npy', slice = '0')",
    "npy_rows(m.path, name)",
    "WHERE member <> 'w'",
    "WHERE value = '7'",
    "json_extract(value, '$[0]')",
    "max(value)",
    "[1.5,-2.0]",
    ".NAME.….npyext",
    "npy_meta('shards/*', on_error = 'row')",
    "USING (idx)",
    "value = 0.1",
    "row IN (SELECT value FROM npy_rows('mask.npy'))",
    "npy_concat(path)",
    "data",
    "max(value) - min(value)",
}

WRITES = "CREATE VIRTUAL TABLE temp.t USING npy('t.npy', mode='w+', dtype='{}', shape='[-1]')"

# What is quoted: statements, of which the last one fails so.
STATEMENTS = {
    "npy_meta is a table, not a function": "SELECT npy_meta('x.npy')",
    "no such column: X.npy": "SELECT * FROM npy_meta(X.npy)",
    'near ">": syntax error': "SELECT * FROM npy_rows('w.npz', member => 'b')",
    "ambiguous column name: path": "SELECT path FROM npy_meta('X.npy'), npy_meta('y.npy')",
    "npy_rows needs a source, as in npy_rows('x.npy'); ... qualify it, as in m.path": (
        "SELECT (SELECT max(value) FROM npy_rows(path)) FROM npy_meta('shards/*.npy')"
    ),
    "no query solution": "SELECT * FROM npy_meta(b.path) AS a, npy_meta(a.path) AS b",
    'unsafe use of virtual table "npy_rows"': "CREATE VIEW v AS SELECT * FROM npy_rows('X.npy'); SELECT * FROM v",
    "table npy_rows may not be modified": "DELETE FROM npy_rows",
    "table ... only reads; to write, create one with mode='w+' or mode='a'": (
        "CREATE VIRTUAL TABLE temp.t USING npy('X.npy'); DELETE FROM t"
    ),
    "a table that writes must be a TEMP table": (WRITES.replace("temp.", "")).format("f4"),
    "table ... only reads; to change rows, create one with mode='r+'": "CREATE VIRTUAL TABLE temp.t USING npy('X.npy'); UPDATE t SET c0 = 1",
    "rows can only be added, not deleted": WRITES.format("f4") + "; INSERT INTO t VALUES (1); DELETE FROM t",
    "rows can only be changed, not deleted": "CREATE VIRTUAL TABLE temp.t USING npy('X.npy', mode='r+'); DELETE FROM t",
    "database table is locked": WRITES.format("f4") + "; BEGIN; INSERT INTO t VALUES (1.0); DROP TABLE t",
    "no such file": "SELECT * FROM npy_meta('gone.npy')",
    "has the dtype F4, which is not read": "SELECT * FROM npy_rows(x'3800000000000000" + b'{"a":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}}   '.hex() + "0000')",
    "is ..., not a .npy, .npz, .ten, .tar, .safetensors, .pt, .pkl or .gguf file": "SELECT * FROM npy_meta('survey/not_an_array.npy')",
    "is not a .npy, .npz, .ten, .tar, .safetensors, .pt, .pkl or .gguf file (none begins with the bytes ...)": "SELECT * FROM npy_meta(zeroblob(100))",
    "is empty (0 bytes)": "SELECT * FROM npy_meta('survey/empty.npy')",
    "data is truncated (...)": "SELECT * FROM npy_rows('survey/truncated.npy')",
    "the zip is truncated (no end record; ...)": "SELECT * FROM npy_meta('survey/truncated.npz')",
    "holds Python objects, whose values can only be read (dtype |O)": "SELECT * FROM npy_histogram('objects/mixed.npy')",
    "bad header: ...": "SELECT * FROM npy_meta('survey/corrupt.npy')",
    "is encrypted, which is not read": "SELECT * FROM npy_rows('encrypted.npz')",
    "is compressed by ... (zip method ...)": "SELECT * FROM npy_rows('bzip2.npz')",
    "the entry's bytes are damaged (CRC-32 is ...)": "SELECT * FROM npy_rows('dataset/cache/mixed.npz', 'last')",
    "is a directory, not a regular file": "SELECT * FROM npy_meta('runs')",
    "there is no array '...' (there are ...)": "SELECT * FROM npy_rows('w.npz', 'x')",
    "... arrays have the name '...'": "SELECT * FROM npy_rows('multi.ten', 'y')",
    "index ... is out of range for axis ...": "SELECT * FROM npy_rows('X.npy', '', '9')",
    "too many indices": "SELECT * FROM npy_rows('y.npy', '', '0, 0')",
    "there are infinite values; give range_lo and range_hi": "SELECT * FROM npy_histogram('dataset/sensor.npy')",
    "item ... is ..., which ... cannot hold": "SELECT npy_astype(npy_from_json('[1, 300]'), 'u1')",
    "dates of datetime64[ns] are texts with all their digits": "SELECT * FROM npy_rows('types/M8_ns.npy') WHERE value = '2026-01-02'",
    "'7' does not fit int64: it is a text": WRITES.format("i8") + "; INSERT INTO t VALUES ('7')",
    "a BLOB of 4 bytes does not fit float32": WRITES.format("f4") + "; INSERT INTO t VALUES (x'0000803f')",
    "... does not fit ...": WRITES.format("i1") + "; INSERT INTO t VALUES (NULL)",
    "every value is NULL; name a dtype ...": "SELECT npy_array(NULL)",
    "raw items need a dtype ...": "SELECT npy_stack(data) FROM npy_rows('X.npy')",
    "... is JSON, like a row of several items; use npy_stack to make an array from such rows": "SELECT npy_array(value) FROM npy_rows('X.npy')",
    "its folder does not exist": "SELECT * FROM npy_write('gone/x.npy', npy_from_json('[1]'))",
    "cannot be written in its folder (...)": "SELECT * FROM npy_write('/proc/x.npy', npy_from_json('[1]'))",
    "cannot be opened for writing (...)": f"SELECT * FROM npy_write('{'x' * 300}', npy_from_json('[1]'))",
    "rows cannot be added to an array in Fortran order": "CREATE VIRTUAL TABLE temp.t USING npy('orders/f.npy', mode='a')",
    "is a .tar file, not an .npz; tar_members lists it": "SELECT * FROM npz_members('wds/train-000000.tar')",
    "is a .tar file, not a .ten; tar_members lists it": "SELECT * FROM ten_arrays('wds/train-000000.tar')",
    "is a .npz file, not a .tar; npy_meta lists it": "SELECT * FROM tar_members('w.npz')",
    "is a .npy file, not an .npz; npy_meta lists it": "SELECT * FROM npz_members('X.npy')",
    "there is no array number 1: a .npy has only number 0; give '' here, and other arguments after it": "SELECT * FROM npy_stats('X.npy', 1)",
    "rows are JSON here (shape [6,4]); compare elements with npy_elements, or choose a column with the slice ':, 0'": (
        "SELECT * FROM npy_rows('X.npy') WHERE value > 1"
    ),
    "values are JSON here (complex128); compare real and imag of npy_elements": (
        "SELECT * FROM npy_elements(npy_from_json('[[1, 2]]', 'c16')) WHERE value > 1"
    ),
    "values are JSON here (structured items); compare one field, as in npy_rows('X.npy', '', '', 'field')": (
        "SELECT * FROM npy_rows('structured/plain.npy') WHERE value > 1"
    ),
    "npy_mean: '...' is a TEXT; npy_from_json makes an array from JSON": "SELECT npy_mean(value) FROM npy_rows('X.npy')",
    "npy_mean: takes an array, not a number; for the numbers in rows, use avg(value)": "SELECT npy_mean(value) FROM npy_rows('y.npy')",
    "npy_mean: '...' is a TEXT; to open a path, use npy_file, as in SELECT npy_mean(array) FROM npy_file(...)": "SELECT npy_mean('X.npy')",
    "npy_dot: a number is not an array; pass a .npy BLOB, or a handle from npy_file": "SELECT npy_dot(1, 2)",
    "npy_dot: the vectors have 2 and 3 items": "SELECT npy_dot(npy_from_json('[1, 2]'), npy_from_json('[1, 2, 3]'))",
    "query ([1,2]): a TEXT is not an array; npy_from_json makes one from JSON": "SELECT * FROM npy_nearest('X.npy', '', '', '[1,2]')",
    "query: a number is not an array; npy_from_json('[1.0]') makes one": "SELECT * FROM npy_nearest('X.npy', '', '', 1)",
    "matches 3 files; npy_compare takes one on each side, or two patterns": "SELECT * FROM npy_compare('checkpoints/*/model.npz', 'w.npz')",
    "more than 16777216 rows are within max_distance; make it smaller, or give a k": (
        "SELECT * FROM npy_nearest(npy_from_data(zeroblob(4096), 'u1', '[4096, 1]'), '', '', npy_from_data(zeroblob(4097), 'u1', '[4097, 1]')) WHERE max_distance = 1"
    ),
    "rows have 4 items, and the query has 2": "SELECT * FROM npy_nearest('X.npy', '', '', npy_from_json('[1, 2]'))",
    "rows are compared with the query: the array must have two dimensions, and has 1; a slice or npy_reshape makes another shape": (
        "SELECT * FROM npy_nearest('y.npy', '', '', npy_from_json('[1, 2]'))"
    ),
    "distances and norms need real numbers; these items are complex128": (
        "SELECT * FROM npy_nearest(npy_from_json('[[[1, 2], [3, 4]]]', 'complex128'), '', '', npy_from_json('[1, 2]'))"
    ),
    "interrupted": "SELECT count(*) FROM npy_rows('X.npy')",
    "not authorized": "SELECT load_extension('./npyext')",
}


def failure(db, statements):
    *before, last = statements.split("; ")
    for statement in before:
        db.execute(statement)
    with pytest.raises(sqlite3.Error) as raised:
        db.execute(last).fetchall()
    return str(raised.value)


def failure_of(db, sql, *arguments):
    with pytest.raises(sqlite3.Error) as raised:
        db.execute(sql, arguments).fetchall()
    return str(raised.value)


def pattern(quoted):
    return ".+".join(re.escape(part) for part in quoted.split("..."))


@pytest.fixture
def folder(folder):
    make_files.make(folder)
    return folder


@pytest.mark.parametrize("quoted", STATEMENTS)
def test_statement(folder, connect, quoted):
    db = connect()
    db.enable_load_extension(quoted != "not authorized")
    if quoted == "interrupted":
        db.set_progress_handler(lambda: 1, 1)
    assert re.search(pattern(quoted), failure(db, STATEMENTS[quoted]))


# --- those that take more than a statement: each gives the text -------------------------------------------------


def load_error(path):
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    with pytest.raises(sqlite3.OperationalError) as raised:
        db.load_extension(path)
    return str(raised.value)


def no_file(connect):
    return load_error("./npyext")


def suffix_twice(connect):
    with open("npyext.so", "wb") as file:
        file.write(b"no program\n" * 100)
    return load_error("./npyext.so")


def no_program(connect):
    suffix_twice(connect)
    return load_error("./npyext")


def other_word_size(connect):
    with open(shell.EXTENSION, "rb") as file:
        image = bytearray(file.read())
    image[4] = 3 - image[4]
    with open("npyext.so", "wb") as file:
        file.write(image)
    return load_error("./npyext").replace("ELFCLASS64", "ELFCLASS32")


def python_beside_it(*arguments):
    """What Python says in a folder where the extension lies."""

    def beside(connect):
        os.symlink(shell.EXTENSION, "npyext.so")
        done = subprocess.run([sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=shell.environment("."))
        return done.stdout.decode()

    return beside


def renamed(connect):
    shutil.copy(shell.EXTENSION, "other.so")
    return load_error("./other")


def safe_mode(connect):
    command = [os.environ.get("SQLITE3", "sqlite3"), "-safe", "-batch", ":memory:"]
    done = subprocess.run(command, input=b".load ./npyext\n", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=shell.environment("."))
    return done.stdout.decode()


def without_extension(statement):
    return lambda connect: failure(sqlite3.connect(":memory:"), statement)


def by_entry_point(entry_point, statement):
    return lambda connect: failure(connect(entry_point=entry_point), statement)


def below_a_root(connect):
    os.environ["NPYEXT_ROOT"] = os.path.abspath("runs")
    try:
        return failure(connect(), "SELECT * FROM npy_meta('../X.npy')")
    finally:
        del os.environ["NPYEXT_ROOT"]


def by_authorizer(denied_action, statement):
    def denied(connect):
        db = connect()
        matches = lambda *action: action[: len(denied_action)] == denied_action
        db.set_authorizer(lambda *action: sqlite3.SQLITE_DENY if matches(*action) else sqlite3.SQLITE_OK)
        return failure(db, statement)

    return denied


def changed_while_read(connect):
    np.save("long.npy", np.zeros(1_000_000))
    rows = connect().execute("SELECT value FROM npy_rows('long.npy')")
    next(rows)
    with open("long.npy", "ab") as file:  # longer: where files are mapped (NPYEXT_MMAP), a shorter one ends the process
        file.write(bytes(8))
    with pytest.raises(sqlite3.OperationalError) as raised:
        rows.fetchall()
    return str(raised.value)


def written_over_a_text(connect):
    with open("table.csv", "w") as file:
        file.write("a,b\n1,2\n")
    return failure(connect(), "SELECT * FROM npy_write('table.csv', npy_from_json('[1]'))")


def two_writers(connect):
    np.save("log.npy", np.zeros(3))
    one, two = connect(), connect()
    for db in (one, two):
        db.execute("CREATE VIRTUAL TABLE temp.t USING npy('log.npy', mode='a')")
    one.execute("BEGIN")
    one.execute("INSERT INTO t VALUES (1.0)")
    return failure(two, "INSERT INTO t VALUES (2.0)")


def written_by_others(connect):
    db = connect()
    db.execute(WRITES.format("f4"))
    db.execute("INSERT INTO t VALUES (1.0)")
    np.save("t.npy", np.zeros(5))
    return failure(db, "INSERT INTO t VALUES (2.0)")


def changed_since(connect):
    np.save("log.npy", np.zeros(3))
    db = connect()
    db.execute("CREATE VIRTUAL TABLE temp.t USING npy('log.npy', mode='a')")
    np.save("log.npy", np.zeros(3, "f4"))
    return failure(db, "INSERT INTO t VALUES (2.0)")


def changed_after_reading(connect):
    np.save("v.npy", np.arange(3))
    db = connect()
    db.execute("CREATE VIRTUAL TABLE temp.v USING npy('v.npy', mode='r+')")
    db.create_function("replace_it", 0, lambda: np.save("v.npy", np.arange(4)))
    return failure_of(db, "UPDATE v SET value = coalesce(replace_it(), 1)")


def tight_header(connect):
    with open("tight.npy", "wb") as file:
        file.write(npy_text_bytes("{'descr':'<i4','fortran_order':False,'shape':(2,)}\n", struct.pack("<2i", 1, 2)))
    return failure(connect(), "CREATE VIRTUAL TABLE temp.t USING npy('tight.npy', mode='a'); INSERT INTO t VALUES (7)")


def limited(statement):
    def beyond(connect):
        db = connect()
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2000)
        return failure(db, statement)

    return beyond


def long_row(connect):
    np.save("wide.npy", np.zeros((2, 1000)))
    return limited("SELECT data FROM npy_rows('wide.npy')")(connect)


def other_file(what):
    return lambda connect: failure_of(connect(), "SELECT * FROM npy_meta(?)", OTHERS[what][0])


# The second is that of newer SQLites, which look at the path before they load it.
EMPTY_PATH = "undefined symbol: sqlite3__init", "unable to open shared library []"


def empty_path(connect):
    """Both messages, where SQLite gives one of them."""
    message = load_error("")
    assert any(quoted in message for quoted in EMPTY_PATH), message
    return "; ".join(EMPTY_PATH)


SITUATIONS = {
    "is a Git LFS pointer, not the file itself, not a .npy, .npz, .ten, .tar, .safetensors, .pt, .pkl or .gguf file": other_file("a Git LFS pointer, not the file itself"),
    "is an HTML page, not a .npy, .npz, .ten, .tar, .safetensors, .pt, .pkl or .gguf file": other_file("an HTML page"),
    "is gzip-compressed data, not a .npy, .npz, .ten, .tar, .safetensors, .pt, .pkl or .gguf file": other_file("gzip-compressed data"),
    "BLOB: is not a .npy, .npz, .ten, .tar, .safetensors, .pt, .pkl or .gguf file (none begins with the bytes ...)": (
        lambda connect: failure_of(connect(), "SELECT npy_shape(?)", np.arange(3.0))
    ),
    "npyext.so: cannot open shared object file: No such file or directory": no_file,
    "npyext.so.so: cannot open shared object file": suffix_twice,
    "invalid ELF header": no_program,
    "wrong ELF class: ELFCLASS32": other_word_size,
    "undefined symbol: sqlite3_other_init": renamed,
    **{quoted: empty_path for quoted in EMPTY_PATH},
    "... is the extension for SQLite, and no package npyext is installed": python_beside_it("-c", "import npyext"),
    "No code object available for npyext": python_beside_it("-m", "npyext"),
    "cannot run .load in safe mode": safe_mode,
    "no such table: npy_meta": without_extension("SELECT * FROM npy_meta('X.npy')"),
    "no such module: npy": without_extension("CREATE VIRTUAL TABLE t USING npy('X.npy')"),
    "no such function: npy_array": without_extension("SELECT npy_array(1)"),
    "no such table: npy_write": by_entry_point("sqlite3_npyext_readonly_init", "SELECT * FROM npy_write('x.npy', x'')"),
    "a TEXT names a file, and npyext was loaded by sqlite3_npyext_blob_init, which opens none": by_entry_point(
        "sqlite3_npyext_blob_init", "SELECT * FROM npy_meta('X.npy')"
    ),
    "cannot be opened (it leads out of ..., below which NPYEXT_ROOT keeps every path; ...)": below_a_root,
    "not authorized to use function: npy_...": by_authorizer((sqlite3.SQLITE_FUNCTION,), "SELECT npy_shape(x'')"),
    "access to ... is prohibited": by_authorizer((sqlite3.SQLITE_READ, "npy_meta"), "SELECT path FROM npy_meta('X.npy')"),
    "its columns cannot be declared (...)": by_authorizer((sqlite3.SQLITE_READ,), "SELECT path FROM npy_meta('X.npy')"),
    "the file changed while it was read": changed_while_read,
    "is plain text, which is not replaced; remove it first": written_over_a_text,
    "is being written to by another writer": two_writers,
    "was changed by another program after its rows were read": changed_after_reading,
    "is no longer as this table wrote it": written_by_others,
    "has changed since the table was made": changed_since,
    "the header has no room for more rows": tight_header,
    "string or blob too big": limited("SELECT zeroblob(3000)"),
    "one row has ... bytes, more than SQLite's limit": long_row,
}


@pytest.mark.parametrize("quoted", SITUATIONS)
def test_situation(folder, connect, quoted):
    assert re.search(pattern(quoted), SITUATIONS[quoted](connect))


def test_every_quoted_error_is_brought_about():
    with open(PAGE) as file:
        bold = re.findall(r"\*\*(.+?)\*\*", file.read())
    quoted = {text for part in bold for text in re.findall(r"`([^`]+)`", part)}
    brought_about = {*STATEMENTS, *SITUATIONS, *ELSEWHERE, *ANSWERS}
    assert not quoted - brought_about
    # Those that need no more than their advice stand in the reference alone.
    assert {text for text in brought_about - quoted if not is_in_the_reference(text)} == set()


def is_in_the_reference(text):
    """Whether errors.md has a message that shows this text, or a part of it."""
    with open(os.path.join(shell.ROOT, "docs", "reference", "errors.md")) as file:
        messages = [message for message in re.findall(r"`([^`\n]+)`", file.read()) if len(message) >= 12]
    return any(text in message or re.search(pattern(text), message) or re.search(pattern(message), text) for message in messages)


def test_other_files_by_their_names(connect):
    """The table of other files: each is one that an error names so."""
    with open(PAGE) as file:
        rows = "".join(line.split("|")[1] for line in file if line.startswith("| `a") or line.startswith(("| `g", "| `p", "| `J")))
    quoted = re.findall(r"`([^`]+)`", rows)
    assert len(quoted) > 12 and set(quoted) <= set(OTHERS), set(quoted) - set(OTHERS)
    for what in quoted:
        assert f"is {what}, not a" in failure_of(connect(), "SELECT * FROM npy_meta(?)", OTHERS[what][0])


def test_answers_to_another_question(connect, tmp_path, monkeypatch):
    """What the page says of each, and what it says to write instead."""
    monkeypatch.chdir(tmp_path)
    rng = seeded_generator()
    for folder in ("pred", "lab"):
        os.mkdir(folder)
        for i in range(3):
            np.save(f"{folder}/{i}.npy", rng.integers(0, 5, 4))
    mask = np.array([False, True, False, True, True])
    days = np.array(["2024-01-03", "2024-01-01"], "M8[D]")
    matrix = np.arange(6.0).reshape(3, 2)
    matrix[1, 0] = np.nan
    for name, array in {"mask": mask, "days": days, "matrix": matrix, "counts": np.arange(6).reshape(3, 2), "complex": np.array([3 + 4j]), "y": np.array([7, 8])}.items():
        np.save(f"{name}.npy", array)
    db = connect()
    db.execute("CREATE TABLE runs AS SELECT 'y.npy' AS file, '7' AS label")
    both = "npy_rows({}) AS p JOIN npy_rows({}) AS l USING ({})"
    patterns = ("'pred/*.npy'", "'lab/*.npy'")
    count = lambda text: db.execute(f"SELECT count(*) FROM {text}").fetchone()[0]
    assert count(both.format(*patterns, "row")) == 36
    assert count(both.format(*patterns, "stem, row")) == count(both.format(*(f"npy_concat({p})" for p in patterns), "row")) == 12
    left = "SELECT runs.label, s.count FROM runs LEFT JOIN npy_stats(file) AS s {} s.by = 'y.npy'"
    assert db.execute(left.format("WHERE")).fetchall() == [] and db.execute(left.format("ON")).fetchall() == [("7", 1), ("7", 1)]
    keeping = "SELECT run, max FROM (SELECT 'y' AS run UNION ALL SELECT 'gone') LEFT JOIN npy_stats(run || '.npy') AS s ON s.on_error = 'skip' ORDER BY run"
    assert db.execute(keeping).fetchall() == [("gone", None), ("y", 8)]
    rows = "SELECT row FROM npy_rows('mask.npy') WHERE row IN (SELECT {})"
    assert db.execute(rows.format("value FROM npy_rows('mask.npy')")).fetchall() == [(0,), (1,)]
    assert db.execute(rows.format("row FROM npy_rows('mask.npy') WHERE value")).fetchall() == [(int(i),) for i in mask.nonzero()[0]]
    labels = np.concatenate([np.load(f"lab/{i}.npy") for i in range(3)])
    assert count("npy_unique(npy_concat('lab/*.npy'))") == len(np.unique(labels)) and count("npy_stats('lab/*.npy')") == 3
    shape = "SELECT npy_shape(npy_copy(npy_concat({}))) FROM npy_paths('lab/*.npy')"
    assert [text for (text,) in db.execute(shape.format("path"))] == ["[4]"] * 3 and db.execute(shape.format("json_group_array(path)")).fetchone() == ("[12]",)
    made = lambda column: npy_array_of(db.execute(f"SELECT npy_stack({column}, 'f8') FROM npy_rows('counts.npy')").fetchone()[0]).tolist()
    assert made("array") == [[0, 1], [2, 3], [4, 5]] and made("data") != made("array")
    assert db.execute("SELECT max(value) - min(value) FROM npy_rows('days.npy')").fetchone() == (0,)
    assert db.execute("SELECT npy_json(npy_calc('a - b', npy_slice(array, 0), npy_slice(array, 1))) FROM npy_file('days.npy')").fetchone() == ("2",)
    assert count("npy_rows('matrix.npy') WHERE value IS NULL") == 0 and count("npy_elements('matrix.npy') WHERE value IS NULL") == 1
    assert db.execute("SELECT max(abs(value)) FROM npy_rows('complex.npy')").fetchone() == (0,)
    assert db.execute("SELECT npy_json(npy_calc('abs(a)', array)) FROM npy_file('complex.npy')").fetchone() == ("[5.0]",)
    assert count("runs JOIN npy_rows('y.npy') AS y ON runs.label = y.value") == 0 and count("runs JOIN npy_rows('y.npy') AS y ON CAST(label AS INTEGER) = y.value") == 1


def npy_array_of(blob):
    return np.load(io.BytesIO(blob))


def test_joins_by_value_that_do_not_scan_for_each_row(connect, tmp_path, monkeypatch):
    """A join by value scans one array for each row of the other, as the page says; the ways out that it gives do not."""
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.arange(3000))
    np.save("b.npy", np.arange(3000)[::-1].copy())
    db = connect()
    # Conditions that SQLite has to check itself, so that its steps count what the extension's own scan would hide.
    queries = {
        "nested": "SELECT count(*) FROM npy_rows('a.npy') AS a CROSS JOIN npy_rows('b.npy') AS b ON a.value = b.value + 0",
        "materialized": "WITH b AS MATERIALIZED (SELECT row, value FROM npy_rows('b.npy'))"
        " SELECT count(*) FROM npy_rows('a.npy') AS a CROSS JOIN b ON a.value = b.value",
        "in": "SELECT count(*) FROM npy_rows('a.npy') WHERE value IN (SELECT value FROM npy_rows('b.npy'))",
    }
    steps = {}
    for name, query in queries.items():
        steps[name] = 0

        def tick():
            steps[name] += 1

        db.set_progress_handler(tick, 1000)
        assert db.execute(query).fetchone() == (3000,)
    assert steps["nested"] > 9000 and steps["materialized"] < 200 and steps["in"] < 200
    plan = " ".join(row[3] for row in db.execute("EXPLAIN QUERY PLAN " + queries["nested"].replace(" + 0", "")))
    assert "value=?" in plan and "AUTOMATIC" not in plan
    assert "AUTOMATIC" in " ".join(row[3] for row in db.execute("EXPLAIN QUERY PLAN " + queries["materialized"]))
