"""Other releases of SQLite than the installed one, which `make sqlite-versions` fetches: built from the amalgamations that
better-sqlite3 brings, and inside of apsw's wheels, the newest patch of each minor release. Without them there is no test here.

On those that Python's sqlite3 module can take, whole test files run; on all of them the random queries, the table of
comparisons, whose answers must be the same on each, and test_releases.py. Of the wheels, the oldest, the newest and a few
between them take part, by NPYEXT_SEED; NPYEXT_SQLITE=all: all of them, and every test.
"""

import functools
import glob
import json
import os
import random
import re
import subprocess
import sys

import pytest

import shell
import small_build

LIBRARIES = sorted(glob.glob(os.path.join(shell.ROOT, ".build", "sqlite", "*", "libsqlite3.so.0")))
WHEELS = sorted(glob.glob(os.path.join(shell.ROOT, ".build", "sqlite", "apsw-*")))
if shell.SANITIZED:
    LIBRARIES, WHEELS = [], []  # the sanitized build has met every statement on the installed one

NBETWEEN = 2


def name_of(release):
    return os.path.basename(release)


def some(wheels):
    """What SQLite changes in a release stays in those after it, so that two that lie apart find nearly all that is found.
    Those between take turns: the seed comes from the tree in CI, and is fixed without one, since every process must collect
    the same tests."""
    if os.environ.get("NPYEXT_SQLITE") == "all" or len(wheels) <= NBETWEEN + 2:
        return wheels
    order = sorted(wheels, key=lambda path: [int(part) for part in name_of(path).split("-")[1].split(".")])
    draw = random.Random(int(os.environ.get("NPYEXT_SEED") or 0))
    return [order[0], *sorted(draw.sample(order[1:-1], NBETWEEN), key=order.index), order[-1]]


# Neither the sqlite3 shell, which insists on the library that it was made with, nor SQLite-free tests. What npy_compare,
# npy_histogram and npy_stats compute is ours alone, whatever asks for it; comparisons.py asks them everything that SQLite can
# hand over.
FILES = "aggregates archives_written defects differential errors joins library makers members meta model npy_write planned".split()
FILES += "policy reads releases remote round_trips scalars sources surveys tables writers_rules writing_defects writing_tables".split()
# The newest release meets all files, the oldest half of their tests, by NPYEXT_SEED, those between them what SQLite's planner has
# a part in.
OLDEST, BETWEEN = "7.5.0", ("7.5.1", "11.1.2")  # by the names of build-sqlite.sh
PLANNED = "defects differential joins planned releases sources surveys tables".split()
# Large arrays take long and go through code of ours. Queries about them stay, since their plans are SQLite's.
LARGE = [f"{file}::{test}" for file, tests in small_build.LARGE.items() if not file.startswith("queries/") for test in tests.split()]
# Of random queries, on each of apsw's releases.
SECONDS = os.environ.get("NPYEXT_RELEASE_SECONDS", "5")
QUERIES = os.path.join(shell.TESTS, "queries")


def environment(release):
    """For a Python whose sqlite3 module has the SQLite of a folder; None: the installed one."""
    values = {"NPYEXT_DIFFERENTIAL_SECONDS": "10", **os.environ, "PYTEST_ADDOPTS": "", "NPYEXT_REPEATS": "1"}
    if release is not None and name_of(release) == OLDEST and os.environ.get("NPYEXT_SQLITE") != "all":
        values["NPYEXT_SHARE"] = "2"
    if release in WHEELS:
        values["PYTHONPATH"] = os.pathsep.join([os.path.join(shell.TESTS, "hosts", "apsw"), release])
    elif release is not None:
        values["LD_LIBRARY_PATH"] = release
    return values


def python(release, *arguments):
    return subprocess.run(
        [sys.executable, "-B", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(release),
        cwd=shell.ROOT,
        text=True,
        timeout=5 * shell.PATIENCE,
    )


def run_files(release, names):
    """The tests of these files, none of which may fail."""
    files = [path for name in names for path in glob.glob(os.path.join(shell.TESTS, "*", f"test_{name}.py"))]
    assert len(files) == len(names)
    left_out = [f"--deselect={test}" for test in LARGE]
    done = python(release, "-m", "pytest", "-c", os.path.join(shell.TESTS, "pytest.ini"), *left_out, *files)
    totals = re.search(r"^(\d+) passed, (\d+) failed$", done.stdout, re.M)
    assert done.returncode == 0 and totals, f"{name_of(release)}\n{done.stdout[-6000:]}"
    assert totals[2] == "0"
    return int(totals[1])


@pytest.mark.parametrize("library", LIBRARIES, ids=[path.split(os.sep)[-2] for path in LIBRARIES])
def test_on_another_sqlite(library, patience_for):
    folder = os.path.dirname(library)
    patience_for(5 * shell.PATIENCE)
    version = python(folder, "-c", "import sqlite3; print(sqlite3.sqlite_version)").stdout.strip()
    with open(library, "rb") as built:
        assert version.encode() in built.read()
    names = PLANNED if name_of(folder) in BETWEEN else FILES
    assert run_files(folder, names) > 10 * len(names)


# --- the same on every release -----------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def compared(release):
    """What comparisons.py tells on the SQLite of a folder; None is the installed one."""
    done = python(release, os.path.join(QUERIES, "comparisons.py"))
    assert done.returncode == 0, f"{release and name_of(release)} ended with {done.returncode}:\n{done.stdout[-6000:]}"
    return json.loads(done.stdout)


def assert_same_answers(release):
    ours, installed = compared(release), compared(None)
    differing = [name for name, digest in installed["digests"].items() if ours["digests"].get(name) != digest]
    assert ours["asked"] == installed["asked"] and not differing, f"SQLite {ours['sqlite']} answers otherwise than {installed['sqlite']}: {differing}"


@pytest.mark.parametrize("library", LIBRARIES, ids=[path.split(os.sep)[-2] for path in LIBRARIES])
def test_answers_of_a_library(library, patience_for):
    patience_for(5 * shell.PATIENCE)
    assert_same_answers(os.path.dirname(library))


@pytest.mark.parametrize("wheel", some(WHEELS), ids=[name_of(path) for path in some(WHEELS)])
def test_answers_of_a_release(wheel, patience_for):
    patience_for(5 * shell.PATIENCE)
    version = python(wheel, "-c", "import sqlite3; print(sqlite3.sqlite_version)").stdout.strip()
    assert name_of(wheel).startswith(f"apsw-{version}."), version
    assert_same_answers(wheel)
    assert run_files(wheel, ["releases"]) >= 8
    done = python(wheel, os.path.join(QUERIES, "differential.py"), SECONDS)
    assert done.returncode == 0, f"{name_of(wheel)} ended with {done.returncode}:\n{done.stdout[-6000:]}"
    print(done.stdout)
