"""This build beside another one: our side of each row of bench.py, in turn and in fresh processes, so that neither has
the warmer caches or the quieter minute.

    turns.py OTHER.so [ROW...]       all rows, or those named; the ratio is this build's least time to the other's

Rows 5, 5w and 6 are asked once a process: what a stranger's first query takes. All others are asked once before they
are timed. 13c is no row of bench.py: a comparison of two .npy of 200 MB of float32 that differ everywhere.
"""

import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "lib")]

NPROCESSES = 7  # of each build
NTIMES = 3  # in a process
ONCE = ("5", "5w", "6")

WRITES = """
    DROP TABLE IF EXISTS temp.written;
    CREATE VIRTUAL TABLE temp.written USING npy('turns.npy', mode='w+', dtype='f8');
    INSERT INTO temp.written SELECT value FROM npy_rows('values.npy')"""
WANTED = """
    CREATE TABLE IF NOT EXISTS wanted AS WITH RECURSIVE n(i, x) AS (SELECT 0, 12345 UNION ALL
    SELECT i + 1, (x * 48271) % 2147483647 FROM n WHERE i < 999999) SELECT x % 1000000 AS row FROM n"""
LOOKUPS = "SELECT sum(r.value) FROM wanted w JOIN npy_rows('%s') r ON r.row = w.row * %d"
NEAREST = """SELECT count(*), sum(row) FROM npy_nearest('vectors.npy', '', '', (SELECT npy_slice(array, %s)
    FROM npy_file('vectors.npy')), 10, 'cosine')"""
SCANS = {
    "1": "SELECT sum(value), count(*) FROM npy_rows('values.npy')",
    "2": "SELECT sum(value), count(*) FROM npy_elements('matrix.npy')",
    "3": "SELECT count(*) FROM npy_rows('large.npy') WHERE value > 4",
    "4": "SELECT * FROM npy_stats('large.npy')",
    "4n": "SELECT * FROM npy_stats('with_nan.npy')",
    "4f": "SELECT * FROM npy_stats('narrow.npy')",
    "5": "SELECT sum(length(path) + length(dtype) + length(shape)) FROM npy_meta('many/**/*.npy')",
    "5w": "SELECT sum(length(path) + length(dtype) + length(shape)) FROM npy_meta('many/[01][0-9]/*.npy')",
    "6": "SELECT sum(length(name) + length(dtype) + length(shape)) FROM npy_meta('archive.npz')",
    "7": LOOKUPS % ("million.npy", 1),
    "7b": LOOKUPS % ("large.npy", 50),
    "8": "SELECT * FROM npy_stats('member.npz')",
    "8s": "SELECT * FROM npy_stats('stored.npz')",
    "8m": "SELECT * FROM npy_stats('members.npz')",
    "9": "SELECT value FROM npy_rows('member.npz', 'x') WHERE row = 7654321",
    "10": "SELECT sum(length(data)) FROM npy_rows('vectors.npy')",
    "11": "SELECT sum(value) FROM npy_elements('fortran.npy')",
    "12": "SELECT length(npy_array(value)) FROM npy_rows('values.npy')",
    "12t": WRITES,
    "13c": "SELECT * FROM npy_compare('narrow.npy', 'shifted.npy')",
    "16": "SELECT sum(value) FROM npy_quantile('large.npy', '', '', '[0.01, 0.25, 0.5, 0.75, 0.99]')",
    "17": NEAREST % "5",
    "17b": NEAREST % "'5:105'",
    "18": "SELECT count(*), sum(count) FROM npy_unique('few.npy')",
    "18m": "SELECT count(*), sum(count) FROM npy_unique('values.npy')",
    "19": "SELECT count(*), sum(size) FROM tar_members('shard.tar')",
    "20": "SELECT sum(mean) FROM npy_stats('vectors.npy', '', '', 0) WHERE by = 'labels.npy'",
    "20r": "SELECT sum(mean), sum(std) FROM npy_file('values.npy') AS f, npy_stats(npy_reshape(f.array, '[2500000, 4]'), '', '', 1)",
    "20c": "SELECT sum(mean), sum(std) FROM npy_file('values.npy') AS f, npy_stats(npy_reshape(f.array, '[4, 2500000]'), '', '', 0)",
    "15": "SELECT sum(length(value)) FROM npy_rows('vectors.npy') WHERE row < 100000",
}


def seconds(row):
    """The least time of a row's statements, in this process."""
    import shell

    connection = shell.connect()
    ask = lambda: [connection.execute(sql).fetchall() for sql in SCANS[row].split(";")]
    if row.startswith("7"):
        connection.execute(WANTED)
    if row == "9":  # checkpoints
        connection.execute(SCANS["8"]).fetchall()
    times = []
    for _ in range(1 if row in ONCE else NTIMES + 1):
        start = time.perf_counter()
        ask()
        times.append(time.perf_counter() - start)
    return min(times[-NTIMES:])


def variables(row):
    """What a row's process finds in its environment."""
    import fresh

    return fresh.slow_opens() if row == "5w" else {"NPYEXT_THREADS": "2"} if row == "8m" else {}


def of_another_process(row, extension, folder):
    environment = dict(os.environ, NPYEXT_SO=extension, **variables(row))
    done = subprocess.run(
        [sys.executable, "-B", __file__, "--one", row], env=environment, cwd=folder, stdout=subprocess.PIPE, check=True
    )
    return json.loads(done.stdout)


def main(other, rows):
    import bench
    import data
    import shell

    files = {name for row in bench.ROWS if row.number in rows for name in row.files}
    data.make(bench.FOLDER, sorted(files | ({"narrow.npy", "shifted.npy"} if "13c" in rows else set())))
    builds = (os.path.abspath(other), shell.EXTENSION)
    for row in rows:
        times = ([], [])
        for turn in range(NPROCESSES):
            for side in (0, 1) if turn % 2 else (1, 0):
                times[side].append(of_another_process(row, builds[side], bench.FOLDER))
        before, now = min(times[0]), min(times[1])
        print(f"{row:>4}  {1000 * before:9.3f} ms  {1000 * now:9.3f} ms  {now / before:.3f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        print(seconds(sys.argv[2]))
    else:
        main(sys.argv[1], sys.argv[2:] or list(SCANS))
