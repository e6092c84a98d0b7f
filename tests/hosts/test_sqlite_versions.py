"""What goes through Python's sqlite3 module, on other releases of SQLite than the installed one: those that
`make sqlite-versions` has built. Without them there is no test here.
"""

import glob
import os
import re
import subprocess
import sys

import pytest

import shell

LIBRARIES = sorted(glob.glob(os.path.join(shell.ROOT, ".build", "sqlite", "*", "libsqlite3.so.0")))
if shell.SANITIZED:
    LIBRARIES = []  # the sanitized build has met every statement on the installed one
# Neither the sqlite3 shell, which insists on the library that it was made with, nor SQLite-free tests.
FILES = "aggregates archives_written compare defects differential errors histogram joins library makers members meta model npy_write planned".split()
FILES += "policy reads round_trips scalars sources stats surveys tables writing_defects writing_tables".split()
# The oldest and the newest release meet all files, those between them what SQLite's planner has a part in.
BETWEEN = ("7.5.1", "11.1.2")  # by the names of build-sqlite.sh
PLANNED = "defects differential joins planned sources surveys tables".split()


def python(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-B", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={"NPYEXT_DIFFERENTIAL_SECONDS": "30", **os.environ, "LD_LIBRARY_PATH": folder, "PYTEST_ADDOPTS": ""},
        cwd=shell.ROOT,
        text=True,
        timeout=5 * shell.PATIENCE,
    )


@pytest.mark.parametrize("library", LIBRARIES, ids=[path.split(os.sep)[-2] for path in LIBRARIES])
def test_on_another_sqlite(library, patience_for):
    folder = os.path.dirname(library)
    patience_for(5 * shell.PATIENCE)
    version = python(folder, "-c", "import sqlite3; print(sqlite3.sqlite_version)").stdout.strip()
    with open(library, "rb") as built:
        assert version.encode() in built.read()
    names = PLANNED if os.path.basename(folder) in BETWEEN else FILES
    files = [path for name in names for path in glob.glob(os.path.join(shell.TESTS, "*", f"test_{name}.py"))]
    assert len(files) == len(names)
    done = python(folder, "-m", "pytest", "-c", os.path.join(shell.TESTS, "pytest.ini"), *files)
    totals = re.search(r"^(\d+) passed, (\d+) failed$", done.stdout, re.M)
    assert done.returncode == 0 and totals, f"SQLite {version}\n{done.stdout[-6000:]}"
    assert int(totals[1]) > 20 * len(files) and totals[2] == "0"
