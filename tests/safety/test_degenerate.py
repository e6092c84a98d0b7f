"""Arrays that claim very many items of no bytes: a header is all there is of them. Functions of whole arrays end soon,
in little memory, or with an error of kind limit."""

import os
import sqlite3
import subprocess
import sys

import pytest

import shell
from formats import npy

MANY = 2**62
NOTHING = ["'|S0'", "'<U0'", "'|V0'", "[('a', '<f8', (0,))]", "[('a', '|V0'), ('b', '<i4', (0, 3))]", "[('a', '|S0')]", "[]"]
SHAPES = [(MANY + 10,), (MANY, 1), (1, MANY), (3, MANY // 4), (MANY // 4, 3), (MANY // 4, 1, 3), (200_000_000,)]
QUESTIONS = [
    "SELECT count, nulls, min, max, mean, argmin FROM npy_stats(:a)", "SELECT crc32 FROM npy_stats(:a)",
    "SELECT at, count FROM npy_stats(:a, '', '', 0) LIMIT 100", "SELECT at, count FROM npy_stats(:a, '', '', -1) LIMIT 100",
    "SELECT at, count FROM npy_stats(:a, '', '', '[0, 2]') LIMIT 100",
    "SELECT label, count FROM npy_stats(:a) WHERE by = :a LIMIT 100", "SELECT value, label, count FROM npy_unique(:a) WHERE by = :a LIMIT 100",
    "SELECT value, count, first FROM npy_unique(:a)", "SELECT * FROM npy_histogram(:a)", "SELECT * FROM npy_quantile(:a)",
    "SELECT * FROM npy_compare(:a, :a)", "SELECT npy_json(:a)", "SELECT npy_preview(:a)", "SELECT npy_sum(:a)", "SELECT npy_min(:a, 0)",
]


def header(descr, shape):
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"


# Asks one array all questions, in a process that may die: a line before each, and how it went.
ASK = """
import resource, signal, sqlite3, sys, time
sys.path.insert(0, sys.argv[1])
import shell
from formats import npy
db = shell.connect()
array = npy('', (), b'', text=sys.argv[2])
for sql in sys.stdin.read().splitlines():
    print(sql, flush=True)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.alarm(20)  # ends also what asks nobody whether to stop
    start = time.process_time()
    try:
        db.execute(sql, {"a": array}).fetchall()
    except (sqlite3.Error, OverflowError) as error:
        pass
    seconds, grown = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert seconds < (1 if sys.argv[3] == "release" else 10), (sql, seconds)
    assert grown < 64 << 10 or sys.argv[3] != "release", (sql, grown)
"""


@pytest.mark.parametrize("descr", NOTHING)
def test_items_of_no_bytes_overflowed_the_heap_and_never_ended(descr):
    for shape in SHAPES:
        asked = subprocess.run(
            [sys.executable, "-B", "-c", ASK, os.path.dirname(shell.__file__), header(descr, shape), shell.FLAVOUR],
            input="\n".join(QUESTIONS), capture_output=True, text=True,
        )
        assert asked.returncode == 0, (descr, shape, asked.returncode, asked.stdout.splitlines()[-1:], asked.stderr[-800:])


def test_labels_of_no_bytes_took_memory_for_each_that_was_claimed(db):
    array = npy("", (), b"", text=header("'|S0'", (200_000_000,)))
    for function in ("npy_stats", "npy_unique"):
        with pytest.raises(sqlite3.DataError, match="has 200000000 labels without bytes, more than 1048576"):
            db.execute(f"SELECT count FROM {function}(?) WHERE by = ?", (array, array)).fetchall()
