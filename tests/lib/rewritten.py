"""pytest rewrites the assertions of each test file, so that one that fails shows its values: four seconds of every process that
collects all tests, and a run has several processes. What it made of a file is kept below .build, and made once.

pytest's own store lies beside the sources, where -B, which all of our processes have, lets nothing be written."""

import fcntl
import hashlib
import importlib.util
import marshal
import os

import pytest
from _pytest.assertion import rewrite

import shell

FOLDER = os.path.join(shell.ROOT, ".build", "rewritten")


def keep():
    """From now on. A pytest whose insides are others rewrites as it always does."""
    rewrite_test = getattr(rewrite, "_rewrite_test", None)
    if rewrite_test is None:
        return

    def rewritten(path, *more):
        try:
            os.makedirs(FOLDER, exist_ok=True)
            # Processes that begin together want the same file at the same time: the others wait for the first.
            with open(os.path.join(FOLDER, "lock"), "wb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                return kept(path, lambda: rewrite_test(path, *more))
        except OSError:
            return rewrite_test(path, *more)

    rewrite._rewrite_test = rewritten


def kept(path, make):
    """What is kept of a file, if that is of its text, this Python and this pytest; otherwise what is made, and kept now."""
    stat = os.stat(path)
    with open(path, "rb") as file:
        digest = hashlib.sha256(b"\0".join([importlib.util.MAGIC_NUMBER, pytest.__version__.encode(), file.read()])).digest()
    place = os.path.join(FOLDER, hashlib.sha256(os.fsencode(path)).hexdigest())
    if os.path.exists(place):
        with open(place, "rb") as file:
            if file.read(len(digest)) == digest:
                return stat, marshal.load(file)
    stat, code = make()
    # Another name first: a process that is killed here leaves no half of a file.
    with open(place + ".new", "wb") as file:
        file.write(digest + marshal.dumps(code))
    os.replace(place + ".new", place)
    return stat, code
