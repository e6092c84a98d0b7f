"""Some seconds of random sequences of statements that write (model.py; NPYEXT_MODEL_SECONDS, which is 5 to 20 in CI), and
sequences in which tables that write went wrong once, each under what went wrong."""

import os
import subprocess
import sys

import pytest

import model
import shell
from model_state import BAD, DAMAGED, FAILING, TEXT, TORCH
from model_steps import SET

SECONDS = float(os.environ.get("NPYEXT_MODEL_SECONDS", "3"))
A, B = 0, 1
FILE = "a.npy"
OLD = ("foreign", None, FILE, "put", (91, 92, 93, 94, 95))
W, V = ("create", A, "w", "w+", FILE), ("create", A, "v", "w+", FILE)
BEGIN, COMMIT, ROLLBACK, RESET = ("begin", A), ("commit", A), ("rollback", A), ("schema", A, "PRAGMA writable_schema = RESET")
OTHER_SCHEMA, OTHER_ROW = ("schema", A, "ALTER TABLE p ADD COLUMN z1"), ("plain", A, "t", 7)


def insert(c, name, *values, conflict=""):
    return "insert", c, name, values, conflict, False


def update(name, *values, is_from=False):
    return "update", A, name, values, "", is_from


SEQUENCES = {
    "a row that failed": [OLD, W, BEGIN, insert(A, "w", BAD), COMMIT],
    "a value that failed": [OLD, W, BEGIN, insert(A, "w", FAILING), COMMIT],
    "no rows": [OLD, W, insert(A, "w")],
    "DELETE of no rows": [OLD, W, ("delete", A, "w")],
    "UPDATE of no rows": [OLD, W, update("w", (0, 1))],
    "an index of another table": [OLD, BEGIN, W, ("schema", A, "CREATE INDEX i1 ON p(x)"), COMMIT],
    "rows that another table has just committed": [("create", B, "w", "a", FILE), BEGIN, W, insert(B, "w", 1), insert(A, "w"), COMMIT],
    "DROP taken back": [OLD, W, insert(A, "w", 1, 2), BEGIN, ("drop", A, "w"), ROLLBACK, insert(A, "w", 3)],
    "DROP and CREATE taken back": [OLD, W, insert(A, "w", 1, 2), BEGIN, ("drop", A, "w"), W, insert(A, "w", 3), ROLLBACK, insert(A, "w", 4)],
    "DROP taken back to a savepoint": [W, insert(A, "w", 1), ("savepoint", A, "s"), ("drop", A, "w"), ("rollback to", A, "s"), insert(A, "w", 2), ("release", A, "s")],
    "DROP and CREATE taken back to a savepoint, with rows": [OLD, ("create", A, "w", "a", FILE), ("savepoint", A, "r"), ("savepoint", A, "s"), ("drop", A, "w"), ("create", A, "w", "a", FILE), insert(A, "w", 1, conflict="ROLLBACK"),
                                                             ("rollback to", A, "s"), ("select", A, "w"), insert(A, "w", 2), COMMIT],
    "the same before a COMMIT": [OLD, ("create", A, "w", "a", FILE), ("savepoint", A, "s"), ("drop", A, "w"), W, insert(A, "w", 1, conflict="ROLLBACK"), ("rollback to", A, "s"), COMMIT],
    "the same before DROP": [W, insert(A, "w", 1), ("savepoint", A, "s"), ("drop", A, "w"), W, insert(A, "w", 2, conflict="ROLLBACK"), ("rollback to", A, "s"), ("drop", A, "w"), COMMIT],
    "RENAME taken back": [OLD, W, insert(A, "w", 1, 2), BEGIN, ("rename", A, "w", "v"), ROLLBACK, insert(A, "w", 3)],
    "names swapped and taken back": [W, insert(A, "w", 1), ("create", A, "v", "w+", "b.npy"), insert(A, "v", 2), BEGIN, ("rename", A, "w", "x"), ("rename", A, "v", "w"),
                                     ("rename", A, "x", "v"), ROLLBACK, insert(A, "w", 3), insert(A, "v", 4)],
    "two that add where no file is": [("create", A, "w", "a", FILE), ("create", B, "w", "a", FILE), BEGIN, insert(A, "w", 1), insert(B, "w", 2), COMMIT],
    "two that add to a set": [("create", A, "w", "a", SET), ("create", B, "w", "a", SET), insert(A, "w", 1, 2), insert(B, "w", 3), insert(A, "w", 4)],
    "the next shard is another writer's": [("create", A, "w", "w+", SET), insert(A, "w", 1, 2), ("foreign", None, SET % 1, "put", (50,)), insert(A, "w", 3)],
    "UPDATE FROM that fails half-way": [OLD, ("create", A, "w", "r+", FILE), BEGIN, update("w", (0, 1), (1, 2), (2, BAD), is_from=True), COMMIT],
    "RENAME after ALTER of another table": [W, BEGIN, insert(A, "w", 1), OTHER_SCHEMA, ("rename", A, "w", "v"), COMMIT],
    "DROP after ALTER of another table": [W, BEGIN, insert(A, "w", 1), OTHER_SCHEMA, ("drop", A, "w"), COMMIT],
    "INSERT after ALTER of another table": [BEGIN, W, OTHER_SCHEMA, OTHER_ROW, insert(A, "w", 1), COMMIT],
    "rows before and after ALTER of another table": [W, BEGIN, insert(A, "w", 1), OTHER_SCHEMA, insert(A, "w", 2), ("select", A, "w"), COMMIT, insert(A, "w", 3)],
    "a database in memory": [W, BEGIN, OTHER_ROW, insert(A, "w", 1), ("commit watched", A)],
    "adding after others have": [("create", A, "w", "a", FILE), insert(A, "w", 1), ("foreign", None, FILE, "append", (2,)), insert(A, "w", 3)],
    "adding to a set after others have": [("create", A, "w", "a", SET), insert(A, "w", 1), ("foreign", None, SET % 0, "append", (2,)), insert(A, "w", 3)],
    "adding where the file was removed": [("create", A, "w", "a", "a.npz"), insert(A, "w", 1), ("foreign", None, "a.npz", "delete", ()), insert(A, "w", 3)],
    "adding where there was another dtype": [("create", A, "w", "a", FILE), insert(A, "w", 1), ("foreign", None, FILE, "of another dtype", (2,)), RESET, ("delete", A, "w"),
                                             ("foreign", None, FILE, "put", (3,)), insert(A, "w", 4)],
    "an array that is damaged": [("create", A, "w", "w+", "a.npz"), insert(A, "w", 1, DAMAGED, 2, conflict="IGNORE")],
    "two tables of one path": [W, V, BEGIN, insert(A, "w", 1), insert(A, "v", 2), COMMIT],
    "a table made beside one that adds": [("create", A, "w", "a", "a.ten"), BEGIN, insert(A, "w", 1), ("create", A, "v", "a", "a.ten"), insert(A, "w", 2, 3), COMMIT],
    "a file that came after the first row": [W, BEGIN, insert(A, "w", 1), OLD, COMMIT],
    "two that began on one old file": [OLD, W, ("create", B, "w", "w+", FILE), BEGIN, ("begin", B), insert(A, "w", 1), insert(B, "w", 2), COMMIT, ("commit", B)],
    "a model is not replaced": [("foreign", None, "a.npz", TORCH, ()), ("write", A, "a.npz", (1,))],
    "a model is not replaced by a table": [("foreign", None, "a.npz", TORCH, ()), ("create", A, "w", "w+", "a.npz"), insert(A, "w", 1)],
    "a table shows its own rows alone": [("foreign", None, FILE, TEXT, ()), W, ("select", A, "w")],
    # These have always been right.
    "a COMMIT that the host refuses": [OLD, W, BEGIN, insert(A, "w", 1), OTHER_ROW, ("commit refused", A), insert(A, "w", 2)],
    "a COMMIT that is put off": [OLD, W, BEGIN, insert(A, "w", 1), OTHER_ROW, ("commit busy", A), insert(A, "w", 2), COMMIT, insert(A, "w", 3)],
    "a COMMIT that a foreign key refuses": [OLD, W, BEGIN, insert(A, "w", 1), ("plain", A, "c", 7), COMMIT, insert(A, "w", 2), ("plain", A, "pp", 7), COMMIT, insert(A, "w", 3)],
    "a loop over rows": [("step", A, "p"), W, insert(A, "w", 1), ("drop", A, "w"), W, insert(A, "w", 2), ("drop", A, "w")],
    "all of temp is dropped": [W, insert(A, "w", 1), ("temp_store", A, 2), W, insert(A, "w", 3)],
    "r+ of a file that is gone": [OLD, ("create", A, "w", "r+", FILE), ("foreign", None, FILE, "delete", ()), RESET, ("drop", A, "w")],
    "a of a file that is none": [OLD, ("create", A, "w", "a", FILE), ("foreign", None, FILE, TEXT, ()), RESET, ("drop", A, "w")],
}  # fmt: skip


def test_files_hold_what_the_model_says():
    try:
        print(model.run(SECONDS))
    except model.Difference as difference:
        raise AssertionError(difference.text) from None


@pytest.mark.parametrize("build", [] if shell.SAMPLES else ["small"])
def test_files_hold_what_the_model_says_at_the_least_sizes(build):
    """In a process of its own, whose build has variable sizes. With fewer targets than 64 open at a time, files are for good before
    a commit hook refuses (reference/shards.md), which the model does not know."""
    small = os.path.join(shell.ROOT, ".build", build, "npyext.so")
    if shell.FLAVOUR != "release" or not os.path.exists(small):
        return  # only `make check-whole` builds it
    env = {**os.environ, "NPYEXT_SO": small, "NPYEXT_TUNE": "least,open_ntargets=64", "NPYEXT_THREADS": "3"}
    command = [sys.executable, "-B", model.__file__, str(SECONDS / 2)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=shell.PATIENCE + 4 * SECONDS)
    assert done.returncode == 0 and "without a difference" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("on_disk", [False, True], ids=["memory", "disk"])
@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_that_went_wrong_once(name, on_disk):
    with model.folder_for_files():
        difference, log = model.Runs(0).again(([on_disk] * 2, 0), SEQUENCES[name])
    assert difference is None, "\n".join([*log, difference.text])
