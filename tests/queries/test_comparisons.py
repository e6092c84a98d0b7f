"""Comparisons with values of every type, and arguments of every type, on the installed SQLite (comparisons.py);
tests/hosts/test_sqlite_versions.py holds other releases against it."""

import comparisons
import shell

# Without a factor in common with what comes in turn: eight operators, six affinities, three forms of a call.
STEP = 5 if shell.SAMPLES else 1


def test_comparisons_are_answered_as_by_ordinary_tables():
    try:
        told = comparisons.run(step=STEP)
    except comparisons.Differences as differences:
        raise AssertionError(str(differences)) from None
    print({name: value for name, value in told.items() if name != "digests"})
    assert told["asked"] > 200_000 / STEP and told["errors"] < told["asked"] / 5
    # Of each table function, of each typed table, of each scalar function and aggregate.
    assert len(told["digests"]) > 90
