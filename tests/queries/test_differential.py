"""Some seconds of random queries (differential.py; NPYEXT_DIFFERENTIAL_SECONDS, which is 4 to 20 in CI).
test_sqlite_versions.py has other releases of SQLite run five to ten seconds of them."""

import os

import differential

SECONDS = float(os.environ.get("NPYEXT_DIFFERENTIAL_SECONDS", "3"))


def test_queries_are_answered_as_by_ordinary_tables():
    try:
        print(differential.run(SECONDS))
    except differential.Difference as difference:
        raise AssertionError(str(difference)) from None
