"""Some seconds of random questions, which every setting must answer alike (same.py; NPYEXT_SAME_SECONDS, which is 4 to 10 in CI).
NumPy is asked by `make same`: its releases differ in what the other tests here know of, one by one."""

import os
import subprocess
import sys

import same
import shell

SECONDS = float(os.environ.get("NPYEXT_SAME_SECONDS", "3"))


def test_one_answer_at_every_size(monkeypatch):
    same.ASKS_NUMPY = False
    if shell.SAMPLES:  # only `make check-whole` builds it: what lies there may be of another day
        monkeypatch.setattr(same, "SMALL_BUILD", "")
    try:
        print(same.run(SECONDS))
    except same.Difference as difference:
        raise AssertionError(str(difference)) from None


ASK_SKETCH = """
import sqlite3
db = sqlite3.connect(":memory:")
db.enable_load_extension(True)
db.load_extension({!r})
print(db.execute("SELECT hex(npy_sketch(npy_array(i * 7919 % 103, 'f8'), 800)) FROM "
                 "(WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c LIMIT 103) SELECT i FROM c)").fetchone())
"""


def test_too_many_keys_for_a_piece_that_fit_in_one_are_not_dealt_forever():
    """With small pieces key_sort.c, which dealt keys into pieces then, dealt one into itself, round and round."""
    libraries = [(shell.EXTENSION, {}), (same.SMALL_BUILD, {"NPYEXT_TUNE": "sort_piece_nkeys=4"})]
    found = [subprocess.run([sys.executable, "-c", ASK_SKETCH.format(os.path.abspath(library))], env=os.environ | settings, capture_output=True, text=True, timeout=60, check=True).stdout
             for library, settings in libraries[: 1 if shell.SAMPLES else 2]]  # only `make check-whole` builds the other
    assert len(set(found)) == 1 and "4E50594B4C4C" in found[0], found
