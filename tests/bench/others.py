"""The same questions asked of what else people have: pandas, Polars, DuckDB and ClickHouse (chdb), all from PyPI. The
figures of docs/comparison.md come from here.

    others.py               prints a table; `make bench-others` installs the libraries and runs it

Each time is of a process of its own, without its start and its imports, and with the file in the page cache: the least of five
turns, every tool in turn. Answers are held against NumPy's before a time counts.
"""

import json
import os
import subprocess
import sys
import time

from fresh import FOLDER, path, sql

LARGE = path("large.npy")
MANY = path("many")
TURNS = 5
QUANTILES = [0.01, 0.25, 0.5, 0.75, 0.99]
QUESTIONS = {
    "moments": "least, greatest, mean and standard deviation of 50M float64",
    "above": "how many of 50M float64 are above 4",
    "quantiles": "five exact quantiles of 50M float64",
    "headers": "shapes of 10,000 .npy files",
}


def by_npyext(question):
    work = sql(*{
        "moments": ("SELECT min, max, mean, std FROM npy_stats(?)", LARGE),
        "above": ("SELECT count(*) FROM npy_rows(?) WHERE value > 4", LARGE),
        "quantiles": ("SELECT value FROM npy_quantile(?, '', '', ?)", LARGE, json.dumps(QUANTILES)),
        "headers": ("SELECT count(shape) FROM npy_meta(?)", os.path.join(MANY, "**")),
    }[question])
    return lambda: [value for row in work() for value in row]


def by_numpy(question):
    import glob

    import numpy as np

    def mapped():
        return np.load(LARGE, mmap_mode="r")

    def headers():
        return [sum(1 for path in glob.glob(os.path.join(MANY, "**", "*.npy"), recursive=True) if np.load(path, mmap_mode="r").shape is not None)]

    return {
        "moments": lambda: [f(mapped()) for f in (np.min, np.max, np.mean, np.std)],
        "above": lambda: [np.count_nonzero(mapped() > 4)],
        "quantiles": lambda: np.quantile(mapped(), QUANTILES).tolist(),
        "headers": headers,
    }[question]


def by_pandas(question):
    import numpy as np
    import pandas as pd

    def series():
        return pd.Series(np.load(LARGE, mmap_mode="r"))

    def moments():
        s = series()
        return [s.min(), s.max(), s.mean(), s.std(ddof=0)]

    return {"moments": moments, "above": lambda: [(series() > 4).sum()], "quantiles": lambda: series().quantile(QUANTILES).tolist()}.get(question)


def by_polars(question):
    import numpy as np
    import polars as pl

    def series():
        return pl.Series(np.load(LARGE))

    def moments():
        s = series()
        return [s.min(), s.max(), s.mean(), s.std(ddof=0)]

    def quantiles():
        s = series()
        return [s.quantile(q, "linear") for q in QUANTILES]

    return {"moments": moments, "above": lambda: [(series() > 4).sum()], "quantiles": quantiles}.get(question)


def by_duckdb(question):
    import duckdb
    import numpy as np

    statement = {
        "moments": "SELECT min(column0), max(column0), avg(column0), stddev_pop(column0) FROM a",
        "above": "SELECT count(*) FROM a WHERE column0 > 4",
        "quantiles": f"SELECT unnest(quantile_cont(column0, {QUANTILES})) FROM a",
    }.get(question)

    def work():
        a = np.load(LARGE, mmap_mode="r")  # noqa: F841, DuckDB finds it by its name
        return [value for row in duckdb.sql(statement).fetchall() for value in row]

    return statement and work


def by_clickhouse(question):
    import chdb

    columns = {
        "moments": "min(array), max(array), avg(array), stddevPop(array)",
        "above": "countIf(array > 4)",
        "quantiles": f"quantilesExactInclusive({', '.join(map(str, QUANTILES))})(array)",
    }.get(question)

    def work():
        answer = json.loads(str(chdb.query(f"SELECT {columns} FROM file('{LARGE}', Npy)", "JSONCompact")))["data"][0]
        return [float(value) for cell in answer for value in (cell if isinstance(cell, list) else [cell])]

    return columns and work


TOOLS = {"npyext": by_npyext, "NumPy": by_numpy, "pandas": by_pandas, "Polars": by_polars, "DuckDB": by_duckdb, "ClickHouse": by_clickhouse}


def measured(tool, question):
    """(seconds, answer), of a process of its own; None where the tool has no way to do it."""
    done = subprocess.run([sys.executable, "-B", __file__, tool, question], stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout)


def is_near(answer, expected):
    return len(answer) == len(expected) and all(abs(a - b) <= 1e-6 * max(1, abs(b)) for a, b in zip(answer, expected))


def row(question):
    least, expected = {}, None
    for _ in range(TURNS):
        for tool in ("NumPy", *(tool for tool in TOOLS if tool != "NumPy")):
            found = measured(tool, question)
            if found is None:
                continue
            seconds, answer = found
            expected = expected or answer
            if not is_near(answer, expected):
                sys.exit(f"{tool} answers {answer} to {question}, and NumPy {expected}")
            least[tool] = min(seconds, least.get(tool, seconds))
    return [QUESTIONS[question], *(f"{1000 * least[tool]:.0f} ms" if tool in least else "–" for tool in TOOLS)]


def main():
    import data

    data.make(FOLDER, ["large.npy", "many"])
    table = [["work", *TOOLS], ["---"] * (1 + len(TOOLS)), *(row(question) for question in QUESTIONS)]
    for line in table:
        print("| " + " | ".join(line) + " |")
    import importlib.metadata as metadata

    print("\nWith " + ", ".join(f"{name} {metadata.version(name)}" for name in ("numpy", "pandas", "polars", "duckdb", "chdb")) + ".")


def one(tool, question):
    work = TOOLS[tool](question)
    if work is None:
        print("null")
        return
    began = time.perf_counter()
    answer = work()
    seconds = time.perf_counter() - began
    print(json.dumps([seconds, [float(value) for value in answer]]))


if __name__ == "__main__":
    one(*sys.argv[1:]) if len(sys.argv) > 1 else main()
