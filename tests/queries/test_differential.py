"""Half a minute of random queries (tests/queries/differential.py; NPYEXT_DIFFERENTIAL_SECONDS), ten seconds where the build is a
slow one. test_sqlite_versions.py has other releases of SQLite run it."""

import os

import differential
import shell

SECONDS = float(os.environ.get("NPYEXT_DIFFERENTIAL_SECONDS", "30" if shell.FLAVOUR == "release" else "10"))


def test_queries_are_answered_as_by_ordinary_tables():
    try:
        print(differential.run(SECONDS))
    except differential.Difference as difference:
        raise AssertionError(str(difference)) from None
