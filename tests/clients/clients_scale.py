"""npyext.map, npyext.dask and sketches, with real workers: docs/scale.md as it is written, the same rows whoever works,
workers that die, and Apache's sketches beside ours (`make check-clients`)."""

import functools
import json
import os
import re
import subprocess
import textwrap
import time

import pytest

import packages
import shell

DOCUMENT = os.path.join(shell.ROOT, "docs", "scale.md")
PACKAGES = ("dask[dataframe]", "distributed", "datasketches", "pandas", "polars", "duckdb", "adbc_driver_sqlite", "pyarrow")
FILES = """
import io, os, tarfile
import numpy as np
generator = np.random.default_rng(3)
os.makedirs("data/sub")
for i in range(150):
    np.save(f"data/{i:03}.npy", generator.standard_normal(generator.integers(1, 3000)))
for i in range(9):
    np.savez(f"data/sub/{i}.npz", w=generator.standard_normal((20, 30)).astype("f4"), b=np.arange(i))
for i in range(3):
    with tarfile.open(f"data/shard-{i}.tar", "w") as tar:
        for k in range(25):
            out = io.BytesIO()
            np.save(out, generator.integers(0, 9, k + 1))
            member = tarfile.TarInfo(f"{i}{k:03}.x.npy")
            member.size = out.tell()
            tar.addfile(member, io.BytesIO(out.getvalue()))
with open("data/007.npy", "r+b") as file:
    file.truncate(130)
open("data/empty.npy", "w").close()
# The error of a file that was written to within ten seconds says so: the same file, asked later, has another text.
for path in ("data/007.npy", "data/empty.npy"):
    os.utime(path, (10**9, 10**9))
"""


@pytest.fixture(scope="module")
def python():
    return packages.python_with("scale", packages.wheel(), *PACKAGES)


@functools.lru_cache(maxsize=None)
def has_ray(python):
    """Ray is not made for every Python that there is, and a mirror of PyPI does not always have it: that is told, and no failure."""
    for pause in (0, 20, 60):
        time.sleep(pause)
        done = subprocess.run([python, "-m", "pip", "install", "-q", "ray"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode == 0:
            return True
        assert "from versions" in done.stdout, done.stdout
    return False


@pytest.fixture(scope="module")
def folder(python, tmp_path_factory):
    folder = tmp_path_factory.mktemp("scale")
    packages.run(python, "-c", FILES, cwd=folder)
    return folder


@pytest.fixture
def run(python, folder, tmp_path, patience_for):
    """run(script) -> what it printed, read as JSON."""

    def run(text, cwd=folder):
        patience_for(5 * shell.PATIENCE)
        script = tmp_path / "script.py"
        script.write_text(textwrap.dedent(text))
        done = subprocess.run([python, script], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=4 * shell.PATIENCE)
        assert done.returncode == 0, done.stderr[-3000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run


# --- docs/scale.md ----------------------------------------------------------------------------------------------------


def examples():
    with open(DOCUMENT) as file:
        return re.findall(r"^```python\n(.*?)^```\n+```text\n(.*?)^```$", file.read(), re.M | re.S)


@pytest.fixture(scope="module")
def runs(python, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    with open(DOCUMENT) as file:
        packages.run(python, "-c", re.search(r"^```python files\n(.*?)^```$", file.read(), re.M | re.S)[1], cwd=folder)
    return folder


@pytest.mark.parametrize("number", range(len(examples())))
def test_example(python, runs, tmp_path, capfd, patience_for, number):
    patience_for(5 * shell.PATIENCE)
    text, expected = examples()[number]
    if "import ray" in text and not has_ray(python):
        with capfd.disabled():
            print("\nPyPI has no Ray for this Python: its example was not run")
        return
    script = tmp_path / "example.py"
    script.write_text(text)
    done = subprocess.run([python, script], cwd=runs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=4 * shell.PATIENCE)
    assert (done.returncode, done.stdout) == (0, expected), done.stderr[-3000:]


def test_every_python_block_is_run():
    with open(DOCUMENT) as file:
        assert len(re.findall(r"^```python$", file.read(), re.M)) == len(examples()) > 6


# --- the same rows ----------------------------------------------------------------------------------------------------

# One statement of everything in one connection; the same by workers of every kind.
SAME = """
    import concurrent.futures, json, sqlite3, sys
    import npyext
    SOURCES = ["data/*.npy", "data/**/*.npz", "data/shard-{0..2}.tar", "data/gone.npy"]
    STATEMENTS = [
        "SELECT path, name, key, count, min, max, mean, std, error FROM npy_stats(:source)",
        "SELECT path, name, dtype, shape, error, error_kind FROM npy_meta(:source)",
        "SELECT path, value, count FROM npy_unique(:source, '', ':9') WHERE on_error = 'skip'",
    ]
    def one_pass():
        connection = sqlite3.connect(":memory:")
        npyext.load(connection)
        return [connection.execute(sql, {"source": json.dumps(SOURCES)}).fetchall() for sql in STATEMENTS]
"""


def test_processes_give_the_rows_of_one_pass(run):
    script = SAME + """
    if __name__ == "__main__":
        want = one_pass()
        assert len(want[0]) > 230 and sum(row[-1] is not None for row in want[0]) == 3
        same = []
        for workers in (1, 4):
            for parts in (None, 1, 7, 1000):
                with concurrent.futures.ProcessPoolExecutor(workers) as executor:
                    same.append([npyext.map(sql, SOURCES, executor=executor, parts=parts) for sql in STATEMENTS] == want)
        with concurrent.futures.ThreadPoolExecutor(3) as executor:
            same.append([npyext.map(sql, SOURCES, executor=executor) for sql in STATEMENTS] == want)
        same.append([npyext.map(sql, SOURCES) for sql in STATEMENTS] == want)
        print(json.dumps(same))
    """
    assert run(script) == [True] * 10


def test_dask_gives_the_rows_of_one_pass(run):
    """A real scheduler and four worker processes, over loopback."""
    script = SAME + """
    if __name__ == "__main__":
        import pandas
        from dask.distributed import Client, LocalCluster
        want = one_pass()
        with LocalCluster(n_workers=4, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, Client(cluster) as client:
            executor = client.get_executor()
            same = [npyext.map(sql, SOURCES, executor=executor) == rows for sql, rows in zip(STATEMENTS, want)]
            frame = npyext.dask(STATEMENTS[0], SOURCES)
            columns = npyext.map(STATEMENTS[0], SOURCES, executor=executor).columns
            made = frame.compute()
            rows = [tuple(None if pandas.isna(value) else value for value in row) for row in made.itertuples(index=False)]
            same.append(list(made.columns) == columns and rows == want[0])
            same.append({name: str(dtype) for name, dtype in made.dtypes.items()} == {name: str(dtype) for name, dtype in frame.dtypes.items()})
            pids = client.run(lambda: __import__("os").getpid())
            same.append(len(set(pids.values())))
        print(json.dumps(same))
    """
    assert run(script) == [True] * 5 + [4]


def test_a_dask_worker_that_is_killed_is_replaced(run):
    script = SAME + """
    # some 100 ms a part: the worker is killed in the middle of one
    SLOW = "WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 700000) SELECT path, shape FROM npy_meta(:source), (SELECT count(*) FROM c)"
    if __name__ == "__main__":
        import os, signal, threading, time
        from dask.distributed import Client, LocalCluster
        connection = sqlite3.connect(":memory:")
        npyext.load(connection)
        want = connection.execute("SELECT path, shape FROM npy_meta(?)", (json.dumps(SOURCES),)).fetchall()
        with LocalCluster(n_workers=4, threads_per_worker=1, processes=True, dashboard_address=None) as cluster, Client(cluster) as client:
            pids = list(client.run(os.getpid).values())
            done = []
            def progress(ended, total):
                done.append((ended, total))
                if ended == 5:
                    os.kill(pids[0], signal.SIGKILL)
            rows = npyext.map(SLOW, SOURCES, executor=client.get_executor(), progress=progress)
            after = set(client.run(os.getpid).values())
        print(json.dumps([rows == want, pids[0] in after, done[-1][0] == done[-1][1] == len(done)]))
    """
    assert run(script) == [True, False, True]


def test_a_process_that_is_killed_is_an_error(run):
    script = SAME + """
    SLOW = "WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 3000000) SELECT path FROM npy_meta(:source), (SELECT count(*) FROM c)"
    if __name__ == "__main__":
        import contextlib, os, signal
        with concurrent.futures.ProcessPoolExecutor(2) as executor:
            def progress(ended, total):
                with contextlib.suppress(ProcessLookupError):  # the first one has ended it
                    os.kill(next(iter(executor._processes)), signal.SIGKILL)
            try:
                npyext.map(SLOW, SOURCES, executor=executor, progress=progress)
                print(json.dumps("no error"))
            except npyext.MapError as error:
                print(json.dumps([error.sql == SLOW, error.worker, "BrokenProcessPool" in error.message, len(error.sources) > 0]))
    """
    assert run(script) == [True, "unknown", True, True]


def test_errors_say_the_sql_the_part_and_the_worker(run):
    script = SAME + """
    if __name__ == "__main__":
        import os, pickle
        found = []
        sql = "SELECT path, sum(value) FROM npy_rows(:source) GROUP BY path"
        try:
            npyext.map(sql, "data/*.npy", parts=10)
        except npyext.MapError as error:
            host, pid = error.worker.rsplit(":", 1)
            found += [error.sql == sql, error.number, "data/007.npy" in error.sources, int(pid) != os.getpid(), "data/007.npy" in error.message]
            again = pickle.loads(pickle.dumps(error))
            found += [str(again) == str(error), str(error).startswith(f"part 0 ({len(error.sources)} files: data/000.npy, ..., "), str(error).endswith(sql)]
        for wrong in (("SELECT 1", "x"), ("SELECT nope FROM npy_meta(:source)", "x"), ("SELECT :source", 5), ("SELECT :source", ["x", 5]), ("SELECT :source, :k", "x")):
            try:
                npyext.map(*wrong)
            except Exception as error:
                found.append(f"{type(error).__name__}: {error}")
        for parts in (0, -1, 2.5, True, "x"):
            try:
                npyext.map("SELECT :source", "x", parts=parts)
            except ValueError as error:
                found.append(str(error))
        print(json.dumps(found))
    """
    found = run(script)
    assert found[:8] == [True, 0, True, True, True, True, True, True]
    assert found[8] == "ValueError: the statement reads its part of the sources as :source, as in FROM npy_meta(:source)"
    assert found[9] == "OperationalError: no such column: nope"
    assert found[10] == found[11] == "TypeError: sources are paths, patterns and ranges, not int"
    assert found[12].startswith("ProgrammingError: You did not supply a value for binding")
    assert len(found) == 18 and all("parts is a number of parts, 1 at least, not" in each for each in found[13:])


def test_a_million_rows_and_what_is_made_of_them(run):
    script = """
    import json, os
    import numpy as np
    import npyext
    if __name__ == "__main__":
        os.makedirs("million", exist_ok=True)
        generator = np.random.default_rng(5)
        arrays = [np.round(generator.standard_normal(50_000), 3) for _ in range(20)]
        for i, array in enumerate(arrays):
            np.save(f"million/{i:02}.npy", array)
        every = np.concatenate(arrays)
        rows = npyext.map("SELECT path, row, value FROM npy_rows(:source)", "million/*.npy")
        found = [len(rows) == 1_000_000, [row[2] for row in rows] == every.tolist(), rows[50_001][:2] == ("million/01.npy", 1)]
        rows = npyext.map("SELECT value, count FROM npy_unique(:source)", "million/*.npy", reduce="SELECT value, sum(count) FROM parts GROUP BY value ORDER BY value")
        values, counts = np.unique(every, return_counts=True)
        found.append(list(rows) == list(zip(values.tolist(), counts.tolist())))
        rows = npyext.map("SELECT bin, count FROM npy_histogram(:source, '', '', 30, -3, 3)", "million/*.npy", reduce="SELECT sum(count) FROM parts GROUP BY bin")
        found.append([count for (count,) in rows] == np.histogram(every, 30, (-3, 3))[0].tolist())
        ((n, mean, std),) = npyext.map(
            "SELECT count, mean, std FROM npy_stats(:source)", "million/*.npy",
            reduce="SELECT sum(count), m, sqrt(sum(count * (std * std + (mean - m) * (mean - m))) / sum(count)) FROM parts, (SELECT sum(count * mean) / sum(count) AS m FROM parts)")
        found += [n == len(every), bool(abs(mean - every.mean()) < 1e-12), bool(abs(std - every.std()) < 1e-12)]
        ((median,),) = npyext.map("SELECT npy_sketch_merge(npy_sketch(array)) AS s FROM npy_file(:source)", "million/*.npy",
                                  reduce="SELECT npy_sketch_quantile(npy_sketch_merge(s), 0.5) FROM parts")
        found.append(bool(abs(np.searchsorted(np.sort(every), median) / len(every) - 0.5) < 0.006))
        found.append(npyext.map("SELECT path FROM npy_meta(:source)", "million/none*.npy") == [])
        found.append(npyext.map("SELECT path AS p FROM npy_meta(:source)", [], reduce="SELECT count(p) FROM parts") == [(0,)])
        found.append(npyext.map("SELECT count(*) FROM npy_meta(:source) WHERE dtype = :dtype", "million/*.npy", parts=1, parameters={"dtype": "float64"}) == [(20,)])
        print(json.dumps(found))
    """
    assert run(script) == [True] * 12


def test_parts_are_of_about_the_same_size(run):
    """One large file among many small ones is a part; of thousands of files some sizes are enough."""
    script = """
    import json, os, sqlite3
    import npyext
    from npyext._map import make_parts
    connection = sqlite3.connect(":memory:")
    npyext.load(connection)
    os.makedirs("sizes/many", exist_ok=True)
    for i in range(100):
        with open(f"sizes/{i:03}.npy", "wb") as file:
            file.truncate(100_000_000 if i == 50 else 1000)
    for i in range(3000):
        open(f"sizes/many/{i:04}.npy", "w").close()
    found = []
    parts = make_parts(connection, "sizes/*.npy", 8)
    found += [["sizes/050.npy"] in parts, len(parts) <= 8, sum(parts, []) == sorted(sum(parts, []))]
    looked_up = []
    connection.set_trace_callback(lambda sql: looked_up.append("file_size" in sql))
    parts = make_parts(connection, "sizes/many/*.npy")
    found += [sum(looked_up) <= 1024, len(parts), min(map(len, parts)) >= 45, max(map(len, parts)) <= 48, len(sum(parts, []))]
    parts = make_parts(connection, ["sizes/1?0.npy", "sizes/000.npy", {"path": "sizes/050.npy", "offset": 0, "nbytes": 100}, "gone.npy", "sizes/000.npy"], 3)
    found += [sum(parts, [])]
    print(json.dumps(found))
    """
    listed = ["sizes/000.npy", {"path": "sizes/050.npy", "offset": 0, "nbytes": 100}, "gone.npy", "sizes/000.npy"]
    assert run(script) == [True, True, True, True, 64, True, True, 3000, listed]


def test_dask_frames_know_what_is_missing(run):
    script = """
    import json
    import numpy as np
    import npyext
    if __name__ == "__main__":
        np.save("q0.npy", np.array([1.0, 2, 3]))
        np.save("q2.npy", np.array([1, 2]))
        np.save("q1.npy", np.array([1.5, np.nan]))
        found = []
        frame = npyext.dask("SELECT path, nullif(row, 1) AS row, value, data FROM npy_rows(:source)", ["q0.npy", "q1.npy"], parts=2)
        made = frame.compute(scheduler="sync")
        found += [frame.npartitions, [str(dtype) for dtype in made.dtypes], [None if str(x) == "<NA>" else x for x in made["row"].tolist()]]
        found += [[type(x).__name__ for x in made["data"]], float(made["value"].sum())]
        frame = npyext.dask("SELECT path, value FROM npy_rows(:source)", ["q0.npy", "q1.npy"], meta={"path": "string", "value": "Float64"})
        found += [str(frame.dtypes["value"]), float(frame["value"].sum().compute(scheduler="processes"))]
        try:
            npyext.dask("SELECT path FROM npy_rows(:source)", "q0.npy", meta={"x": "string"})
        except ValueError as error:
            found.append(str(error))
        try:
            npyext.dask("SELECT path, value FROM npy_rows(:source)", ["q2.npy", "q1.npy"], parts=2).compute(scheduler="sync")
        except ValueError as error:
            found.append(str(error))
        frame = npyext.dask("SELECT path, value FROM npy_rows(:source)", ["q1.npy", "q2.npy"], parts=2).compute(scheduler="sync")
        found.append([None if str(x) == "<NA>" else x for x in frame["value"]])
        found.append(len(npyext.dask("SELECT path FROM npy_meta(:source)", "nothing*.npy").compute(scheduler="sync")))
        print(json.dumps(found))
    """
    found = run(script)
    assert found[:3] == [2, ["string", "Int64", "Float64", "object"], [0, None, 2, 0, None]]
    assert found[3] == ["bytes"] * 5 and found[4] == 7.5 and found[5:7] == ["Float64", 7.5]
    assert found[7] == "meta has the columns ['x'], the statement ['path']"
    assert found[8].startswith("part 1: the column 'value' is Float64 here and Int64 in the first file; say what it must be, as in meta=")
    assert found[9] == [1.5, None, 1.0, 2.0] and found[10] == 0


# --- sketches ---------------------------------------------------------------------------------------------------------


def test_sketches_are_as_exact_as_apaches(run):
    """The same items in the same pieces, merged, for the same k: ours are off by no more than the documented bound, and about
    as much as theirs."""
    script = """
    import json, sqlite3
    import datasketches
    import numpy as np
    import npyext
    connection = sqlite3.connect(":memory:")
    npyext.load(connection)
    generator = np.random.default_rng(%d)
    places = np.linspace(0.005, 0.995, 199)
    def error(items, found):
        ranks = [np.searchsorted(items, value, side) / len(items) for side in ("left", "right") for value in found]
        low, high = np.array(ranks[: len(found)]), np.array(ranks[len(found) :])
        return float(np.maximum(0, np.maximum(low - places, places - high)).max())
    found = []
    for k in (200, 800):
        ours, theirs = [], []
        for draw in (lambda n: generator.standard_normal(n), lambda n: generator.exponential(size=n) ** 3, lambda n: generator.integers(0, 1000, n).astype("f8"), lambda n: np.sort(generator.random(n)) + generator.random()):
            for turn in range(6):
                arrays = [draw(int(generator.integers(100, 30_000))) for _ in range(60)]
                items = np.sort(np.concatenate(arrays))
                merged = datasketches.kll_doubles_sketch(k)
                connection.execute("CREATE TEMP TABLE s (s)")
                for array in arrays:
                    part = datasketches.kll_doubles_sketch(k)
                    part.update(array)
                    merged.merge(part)
                    connection.execute("INSERT INTO s VALUES (npy_sketch(?, ?))", (npyext.to_npy(array), k))
                (data,) = connection.execute("SELECT npy_sketch_merge(s) FROM s").fetchone()
                connection.execute("DROP TABLE s")
                ours.append(error(items, [connection.execute("SELECT npy_sketch_quantile(?, ?)", (data, q)).fetchone()[0] for q in places.tolist()]))
                theirs.append(error(items, merged.get_quantiles(places.tolist())))
        bound = datasketches.kll_doubles_sketch.get_normalized_rank_error(k, False)
        found.append([max(ours), sum(ours) / len(ours), max(theirs), sum(theirs) / len(theirs), 2.296 / k**0.9723, bound])
    print(json.dumps(found))
    """
    seed = shell.random_seed()
    print(f"NPYEXT_SEED={seed}")
    for worst, mean, their_worst, their_mean, bound, their_bound in run(script % seed):
        print(f"ours {worst:.5f} (mean {mean:.5f}), theirs {their_worst:.5f} (mean {their_mean:.5f}), bound {bound:.5f}")
        assert worst < bound and abs(bound - their_bound) < 1e-6
        assert mean < 1.25 * their_mean
