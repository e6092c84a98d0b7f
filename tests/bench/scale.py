"""What more workers give: the tables of docs/scale.md. `make check-clients` and `make bench` have made its Python and its
files.

    .build/clients/scale/bin/python -B tests/bench/scale.py
"""

import concurrent.futures
import os
import sqlite3
import subprocess
import sys
import time

import npyext

import fresh
from fresh import FOLDER

STATISTICS = "SELECT path, count, min, max, mean, std FROM npy_stats(:source)"
IN_SQL = "SELECT path, sum(value * value) FROM npy_rows(:source) GROUP BY path"
SURVEY = "SELECT path, dtype, shape FROM npy_meta(:source)"
TURNS = 3
SLOW_MS = 5


def least(call):
    times = []
    for _ in range(TURNS):
        began = time.perf_counter()
        answer = call()
        times.append(time.perf_counter() - began)
    return min(times), answer


def by_one_statement(sql, source):
    connection = sqlite3.connect(":memory:")
    npyext.load_readonly(connection)
    return connection.execute(sql, {"source": source}).fetchall()


def by_processes(sql, source, parts=None):
    print("| one statement | 1 | {:.2f} s |".format(least(lambda: by_one_statement(sql, source))[0]))
    rows = by_one_statement(sql, source)
    for nworkers in (1, 2, 4):
        with concurrent.futures.ProcessPoolExecutor(nworkers) as executor:
            seconds, answer = least(lambda: npyext.map(sql, source, executor=executor, parts=parts))
        assert answer == rows
        print(f"| npyext.map, processes{'' if parts is None else f', {parts} parts'} | {nworkers} | {seconds:.2f} s |", flush=True)


def by_dask(sql, source):
    from dask.distributed import Client, LocalCluster

    rows = by_one_statement(sql, source)
    for nworkers in (1, 2, 4):
        options = {"n_workers": nworkers, "threads_per_worker": 1, "dashboard_address": None}
        with LocalCluster(**options) as cluster, Client(cluster) as client:
            seconds, answer = least(lambda: npyext.map(sql, source, executor=client.get_executor()))
        assert answer == rows
        print(f"| npyext.map, Dask | {nworkers} | {seconds:.2f} s |", flush=True)


def main():
    print(f"{len(os.sched_getaffinity(0))} cores; the least of {TURNS}\n")
    print("Statistics of 100,000 files\n\n| how | workers | time |\n| --- | --- | --- |")
    by_processes(STATISTICS, os.path.join(FOLDER, "files_100000", "**", "*.npy"))
    by_dask(STATISTICS, os.path.join(FOLDER, "files_100000", "**", "*.npy"))
    print("\nSums of squares by SQL, 3,200,000 rows of as many files\n\n| how | workers | time |\n| --- | --- | --- |")
    by_processes(IN_SQL, os.path.join(FOLDER, "files_100000", "**", "*.npy"))
    print(f"\nA survey of 10,000 files, each of which takes {SLOW_MS} ms to open\n\n| how | workers | time |\n| --- | --- | --- |", flush=True)
    slow = fresh.compiled("slow_open", f"-DSLOW_OPEN_NSEC={SLOW_MS * 1_000_000}", libraries=("-ldl",))
    subprocess.run([sys.executable, "-B", __file__, "slow"], env={**os.environ, "LD_PRELOAD": slow}, check=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["slow"]:
        by_processes(SURVEY, os.path.join(FOLDER, "files_10000", "**", "*.npy"))
        by_processes(SURVEY, os.path.join(FOLDER, "files_10000", "**", "*.npy"), 8)
    else:
        main()
