"""Random queries over npyext's tables and over ordinary tables with the same contents, which must answer alike:

    python3 tests/queries/differential.py [SECONDS | --queries N] [--seed S] [--only NUMBER]

or `make differential SECONDS=...`. The library of Python's sqlite3 module runs them: with LD_LIBRARY_PATH any other one.

Query NUMBER of a seed is always the same one. A difference is printed with both spellings, shortened, and ends the run.

What may differ, beside the order of rows that no ORDER BY fixes:
- which of several values that are equal (1 and 1.0, 0.0 and -0.0) stands for all of them in DISTINCT, GROUP BY, min, max,
  UNION, EXCEPT and INTERSECT;
- the text of an error;
- a number compared with values that are JSON, a BLOB compared with numbers, a text that is no date compared with dates: errors, as
  reference.md says;
- where a text was compared with a number's column by `=`: SQLite takes a column for constant that an `=` fixes, although
  '1' and 1 are two values then, and leaves open which of them is first or least.
"""

import argparse
import collections
import os
import sqlite3
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))

import numpy as np  # noqa: E402

import differential_data  # noqa: E402
import differential_queries  # noqa: E402
import expected  # noqa: E402
import shell  # noqa: E402

QUERIES_PER_WORLD = 8000


class Difference(Exception):
    pass


def answer(db, sql, parameters):
    """The rows, or the error."""
    try:
        return db.execute(sql, parameters).fetchall()
    except sqlite3.Error as error:
        return error


def is_same_coerced(query, ours, plain):
    numbers = lambda rows: collections.Counter(tuple(map(differential_data.as_number, row)) for row in rows)
    return "LIMIT" in query.text or "OVER" in query.text or numbers(ours) == numbers(plain)


def is_same(query, ours, plain, whole):
    """Whether two answers are one. whole: to what is chosen from by LIMIT."""
    if expected.is_refused(ours):
        return True
    if isinstance(ours, sqlite3.Error) or isinstance(plain, sqlite3.Error):
        return isinstance(ours, sqlite3.Error) and isinstance(plain, sqlite3.Error)
    if len(ours) != len(plain):
        return False
    # repr tells types and the signs of zeros from each other
    spelled = repr if query.is_strict else lambda row: row
    a, b = list(map(spelled, ours)), list(map(spelled, plain))
    if a == b or query.is_coerced and is_same_coerced(query, ours, plain):
        return True
    if query.how == differential_queries.IN_ORDER:
        return False
    if [row[: query.norder] for row in ours] != [row[: query.norder] for row in plain]:
        return False
    if query.how == differential_queries.WITHIN:
        return not collections.Counter(a) - collections.Counter(map(spelled, whole()))
    return collections.Counter(a) == collections.Counter(b)


def compare(db, query):
    """(ours, plain, whether they are the same)"""
    ours = answer(db, query.spelled(0), query.parameters)
    plain = answer(db, query.spelled(1), query.parameters)
    whole = lambda: answer(db, query.spelled(1, query.whole), query.parameters)
    return ours, plain, is_same(query, ours, plain, whole)


def shortened(db, query):
    """As much of a query as still differs."""
    for shorter in query.shorter() if query.whole is None else ():
        ours, plain, same = compare(db, shorter)
        if not same and isinstance(ours, sqlite3.Error) == isinstance(compare(db, query)[0], sqlite3.Error):
            return shortened(db, shorter)
    return query


def report(db, query, seed, number):
    query = shortened(db, query)
    ours, plain, _ = compare(db, query)
    texts = [query.spelled(0), query.spelled(1)]
    used = {name: value for name, value in query.parameters.items() if any(f":{name}" in text for text in texts)}
    lines = [f"SQLite {sqlite3.sqlite_version}: query {number} of seed {seed} differs, to be compared {query.how}{'' if query.is_strict else ', loosely'}"]
    for text, rows in zip(texts, (ours, plain)):
        shown = repr(rows) if isinstance(rows, sqlite3.Error) else f"{len(rows)} rows: {rows[:12]}"
        lines += [text, f"    {shown}"]
    lines += [f"parameters {str(used)[:1000]}", f"again: tests/queries/differential.py --seed {seed} --only {number}"]
    return "\n".join(lines)


class Run:
    """Queries of a seed, in worlds of QUERIES_PER_WORLD."""

    def __init__(self, seed, folder):
        self.seed, self.folder = seed, folder
        self.nqueries = self.nerrors = self.nrows = 0
        self.db = None

    def enter(self, number):
        if self.db is not None:
            self.db.close()
        folder = os.path.join(self.folder, str(number))
        os.mkdir(folder)
        os.chdir(folder)
        self.db = sqlite3.connect(":memory:", isolation_level=None, cached_statements=4)
        # bytes cast to TEXT are any: which rows a LIMIT takes, and so whether they are UTF-8, is nobody's fault
        self.db.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
        self.db.enable_load_extension(True)
        shell.load(self.db)
        # Those of SQLite 3.40 lose rows of ordinary tables by COLLATE RTRIM; virtual ones never have any.
        self.db.execute("PRAGMA automatic_index = off")
        world = differential_data.World(self.db, np.random.default_rng([self.seed, number]))
        self.writer = differential_queries.Writer(world, sqlite3.sqlite_version_info)

    def one(self, number):
        query = self.writer.query(self.seed * 2**40 + number)
        ours, plain, same = compare(self.db, query)
        if same and number % 8 == 0:  # the prepared statements once more
            query.again()
            ours, plain, same = compare(self.db, query)
        self.nqueries += 1
        if isinstance(ours, sqlite3.Error):
            self.nerrors += 1
        else:
            self.nrows += len(ours)
        if not same:
            raise Difference(report(self.db, query, self.seed, number))

    def go(self, is_over):
        number = 0
        while not is_over(number):
            if number % QUERIES_PER_WORLD == 0:
                self.enter(number // QUERIES_PER_WORLD)
            self.one(number)
            number += 1


def run(seconds=None, queries=None, seed=None, only=None):
    """Returns a line about what was run; raises Difference."""
    seed = shell.random_seed() if seed is None else seed
    began, home = time.monotonic(), os.getcwd()
    try:
        with tempfile.TemporaryDirectory() as folder:
            runs = Run(seed, folder)
            if only is not None:
                runs.enter(only // QUERIES_PER_WORLD)
                runs.one(only)
            else:
                runs.go(lambda number: number >= queries if queries is not None else time.monotonic() - began > seconds)
            runs.db.close()
    finally:
        os.chdir(home)
    took = time.monotonic() - began
    return (
        f"SQLite {sqlite3.sqlite_version}, seed {seed}: {runs.nqueries} queries without a difference in {took:.0f} s "
        f"({runs.nqueries / took:.0f} a second, {runs.nrows} rows, {runs.nerrors} errors on both sides)"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", nargs="?", type=float, default=30)
    parser.add_argument("--queries", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    try:
        print(run(options.seconds, options.queries, options.seed, options.only), flush=True)
    except Difference as difference:
        sys.exit(str(difference))


if __name__ == "__main__":
    main()
