"""Some seconds of random questions, which every setting must answer alike (same.py; NPYEXT_SAME_SECONDS, which is 4 to 10 in CI).
NumPy is asked by `make same`: its releases differ in what the other tests here know of, one by one."""

import os

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
