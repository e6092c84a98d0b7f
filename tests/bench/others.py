"""The same questions asked of what else people have: pandas, Polars, DuckDB and ClickHouse (chdb), faiss, USearch,
webdataset and picklescan, all from PyPI. The figures of docs/comparison.md come from here.

    others.py               prints the tables; `make bench-others` installs the libraries and runs it

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
VECTORS = path("vectors.npy")
SHARD = path("arrays.tar")
PICKLES = path("pickles")
TURNS = 5
QUANTILES = [0.01, 0.25, 0.5, 0.75, 0.99]
QUESTIONS = {
    "moments": "least, greatest, mean and standard deviation of 50M float64",
    "above": "how many of 50M float64 are above 4",
    "quantiles": "five exact quantiles of 50M float64",
    "headers": "shapes of 10,000 .npy files",
    "nearest": "10 nearest of 1M × 128 float32 in a file",
    "nearest_100": "the same for each of 100 queries",
    "loaded": "10 nearest, the vectors loaded or indexed before",
    "loaded_100": "the same for each of 100 queries",
    "extremes": "least and greatest of 2,000 arrays in a shard",
    "globals": "what 1,000 pickles would import",
}


# What is compared: the number of the rows found, and the sum of their numbers.
NEAREST = "SELECT count(*), sum(row) FROM npy_nearest(?1, '', '', (SELECT npy_slice(array, ?2) FROM npy_file(?1)), 10)"


def by_npyext(question):
    work = sql(*{
        "moments": ("SELECT min, max, mean, std FROM npy_stats(?)", LARGE),
        "above": ("SELECT count(*) FROM npy_rows(?) WHERE value > 4", LARGE),
        "quantiles": ("SELECT value FROM npy_quantile(?, '', '', ?)", LARGE, json.dumps(QUANTILES)),
        "headers": ("SELECT count(shape) FROM npy_meta(?)", os.path.join(MANY, "**")),
        "extremes": ("SELECT min(min), max(max) FROM npy_stats(?)", SHARD),
        "globals": ("SELECT count(DISTINCT path) FROM npy_globals(?)", os.path.join(PICKLES, "*")),
        "nearest": (NEAREST, VECTORS, "5:6"),
        "nearest_100": (NEAREST, VECTORS, "5:105"),
    }[question.replace("loaded_100", "nearest_100").replace("loaded", "nearest")])
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
        **searches(by_arithmetic, lambda: np.load(VECTORS, mmap_mode="r")),
    }.get(question)


def by_arithmetic(rows, queries):
    import numpy as np

    squares = np.einsum("ij,ij->i", rows, rows) - 2 * (queries @ rows.T)
    return np.argpartition(squares, 10, axis=1)[:, :10]


def searches(search, load):
    """The questions of the nearest, by search(loaded, queries), which returns the rows for each query."""
    import numpy as np

    def asked(nqueries, is_loaded):
        queries = np.array(np.load(VECTORS, mmap_mode="r")[5 : 5 + nqueries])

        def prepared():
            loaded = load()
            if is_loaded and isinstance(loaded, np.memmap):
                loaded = np.array(loaded)
            return lambda: search(loaded, queries)

        found = prepared() if is_loaded else lambda: prepared()()

        def work():
            rows = np.asarray(found())
            return [rows.size, int(rows.sum())]

        return work

    return {
        "nearest": lambda: asked(1, False)(),
        "nearest_100": lambda: asked(100, False)(),
        "loaded": Prepared(lambda: asked(1, True)),
        "loaded_100": Prepared(lambda: asked(100, True)),
    }


class Prepared:
    """A work that does something first, whose time is not counted."""

    def __init__(self, make):
        self.make = make


def by_faiss(question):
    import faiss
    import numpy as np

    def load():
        index = faiss.IndexFlatL2(128)
        index.add(np.load(VECTORS, mmap_mode="r"))
        return index

    return searches(lambda index, queries: index.search(queries, 10)[1], load).get(question)


def by_usearch(question):
    import numpy as np
    from usearch.index import MetricKind, search

    found = lambda rows, queries: search(rows, queries, 10, MetricKind.L2sq, exact=True).keys
    return searches(found, lambda: np.load(VECTORS, mmap_mode="r")).get(question)


def by_webdataset(question):
    import webdataset

    def work():
        arrays = [sample["npy"] for sample in webdataset.WebDataset(SHARD, shardshuffle=False).decode()]
        return [min(array.min() for array in arrays), max(array.max() for array in arrays)]

    return work if question == "extremes" else None


def by_picklescan(question):
    from picklescan.scanner import scan_directory_path

    return (lambda: [scan_directory_path(PICKLES).scanned_files]) if question == "globals" else None


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


TOOLS = {
    "npyext": by_npyext, "NumPy": by_numpy, "pandas": by_pandas, "Polars": by_polars, "DuckDB": by_duckdb, "ClickHouse": by_clickhouse,
    "faiss": by_faiss, "USearch": by_usearch, "webdataset": by_webdataset, "picklescan": by_picklescan,
}
TABLES = [
    (["npyext", "NumPy", "pandas", "Polars", "DuckDB", "ClickHouse"], ["moments", "above", "quantiles", "headers"]),
    (["npyext", "NumPy", "faiss", "USearch"], ["nearest", "nearest_100", "loaded", "loaded_100"]),
    (["npyext", "webdataset"], ["extremes"]),
    (["npyext", "picklescan"], ["globals"]),
]
LIBRARIES = ["numpy", "pandas", "polars", "duckdb", "chdb", "faiss-cpu", "usearch", "webdataset", "picklescan"]


def measured(tool, question):
    """(seconds, answer), of a process of its own; None where the tool has no way to do it."""
    done = subprocess.run([sys.executable, "-B", __file__, tool, question], stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout)


def is_near(answer, expected):
    return len(answer) == len(expected) and all(abs(a - b) <= 1e-6 * max(1, abs(b)) for a, b in zip(answer, expected))


def row(question, tools):
    """The least times, and the second tool's answer is what the others must come near."""
    least, expected = {}, None
    for _ in range(TURNS):
        for tool in (tools[1], *(tool for tool in tools if tool != tools[1])):
            found = measured(tool, question)
            if found is None:
                continue
            seconds, answer = found
            expected = expected or answer
            if not is_near(answer, expected):
                sys.exit(f"{tool} answers {answer} to {question}, and {tools[1]} {expected}")
            least[tool] = min(seconds, least.get(tool, seconds))
    return [QUESTIONS[question], *(f"{1000 * least[tool]:.0f} ms" if tool in least else "–" for tool in tools)]


def main():
    import importlib.metadata as metadata

    import data
    from tables import lines

    data.make(FOLDER, ["large.npy", "many", "vectors.npy", "arrays.tar", "pickles"])
    for tools, questions in TABLES:
        print("\n".join(lines(["work", *tools], [row(question, tools) for question in questions])) + "\n", flush=True)
    print("With " + ", ".join(f"{name} {metadata.version(name)}" for name in LIBRARIES) + ".")


def one(tool, question):
    work = TOOLS[tool](question)
    if work is None:
        print("null")
        return
    if isinstance(work, Prepared):
        work = work.make()
    began = time.perf_counter()
    answer = work()
    seconds = time.perf_counter() - began
    print(json.dumps([seconds, [float(value) for value in answer]]))


if __name__ == "__main__":
    one(*sys.argv[1:]) if len(sys.argv) > 1 else main()
