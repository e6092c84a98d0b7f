"""The speed contract: each row's work done by its peer and by us, in turn, in one run; the least times are compared.

    bench.py [ROW...]       all rows and the growth, which is also written to RESULTS.md; or the rows named, or `growth`

It goes on in a Python with NumPy 2, which is made in .build/bench when it is not there (peers.py). Nothing here fails:
a row that cannot be measured says why.
"""

import concurrent.futures
import glob
import json
import os
import platform
import sqlite3
import sys
import time
import zlib
from typing import Callable, NamedTuple, Optional

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "lib")]

import numpy as np  # noqa: E402

import data  # noqa: E402
import fresh  # noqa: E402
import growth  # noqa: E402
import least  # noqa: E402
import peers  # noqa: E402
import shell  # noqa: E402
import slow_files  # noqa: E402
from fresh import FOLDER, Unmeasured, path  # noqa: E402
from tables import figure, lines  # noqa: E402
from timing import TURNS, peak_memory, query, run_shell, timed_in_processes, timed_in_python, timed_in_shell  # noqa: E402


# --- the rows ---------------------------------------------------------------------------------------------------------


def row_1(ours="SELECT sum(value), count(*) FROM npy_rows('values.npy')", loads=()):
    return timed_in_shell("SELECT sum(value), count(*) FROM generate_series(1, 10000000)", ours, loads)


def row_1_least():
    return row_1("SELECT sum(value), count(*) FROM least('reals', '')", [f"'{least.library()}'"])


def row_2():
    return timed_in_shell(
        "SELECT sum(value), count(*) FROM generate_series(1, 10000000)",
        "SELECT sum(value), count(*) FROM npy_elements('matrix.npy')",
    )


ABOVE = "SELECT count(*) FROM npy_rows(?) WHERE value > 4"


def above(ours):
    mapped = np.load(path("large.npy"), mmap_mode="r")
    return timed_in_python(lambda: int(np.count_nonzero(mapped > 4)), ours)


def row_3():
    return above(query(ABOVE, path("large.npy")))


def row_3_mapped():
    return above(query(ABOVE, path("large.npy"), mapped=True))


STATISTICS = "SELECT * FROM npy_stats(?)"


def row_4():
    mapped = np.load(path("large.npy"), mmap_mode="r")
    peer = lambda: [float(f(mapped)) for f in (np.min, np.max, np.mean, np.std)]
    return timed_in_python(peer, query(STATISTICS, path("large.npy")), turns=5)


def row_4n():
    mapped = np.load(path("with_nan.npy"), mmap_mode="r")
    peer = lambda: [float(f(mapped)) for f in (np.nanmin, np.nanmax, np.nanmean, np.nanstd)]
    return timed_in_python(peer, query(STATISTICS, path("with_nan.npy")), turns=5)


def row_4f():
    mapped = np.load(path("narrow.npy"), mmap_mode="r")
    peer = lambda: [float(f(mapped)) for f in (np.min, np.max, np.mean, np.std)]
    return timed_in_python(peer, query(STATISTICS, path("narrow.npy")), turns=5)


def row_8():
    [stream] = fresh.deflated_streams(path("member.npz"))
    peer = lambda: zlib.crc32(zlib.decompress(stream, -15))
    return timed_in_python(peer, query(STATISTICS, path("member.npz")), turns=7)


def row_8s():
    return timed_in_python(query(STATISTICS, path("stored.npy")), query(STATISTICS, path("stored.npz")), turns=7)


def row_8m():
    peer = "inflated_by_zlib", "members.npz", {}
    ours = "sql", "SELECT * FROM npy_stats('members.npz')", {"NPYEXT_THREADS": "2"}
    return timed_in_processes(peer, ours, turns=7, times=3)


def row_9():
    name = path("member.npz")
    [stream] = fresh.deflated_streams(name)
    connection = shell.connect()
    connection.execute("SELECT max FROM npy_stats(?)", (name,)).fetchone()
    rng = np.random.default_rng(data.SEED)
    sql, nlookups = "SELECT value FROM npy_rows(?, 'x') WHERE row = ?", 50
    rows = lambda: rng.integers(10_000_000, size=nlookups).tolist()
    ours = lambda: [connection.execute(sql, (name, row)).fetchone() for row in rows()]
    peer, all_lookups = timed_in_python(lambda: len(zlib.decompress(stream, -15)), ours, turns=5)
    return peer, all_lookups / nlookups


HEADERS = "SELECT sum(length(path) + length(dtype) + length(shape)) FROM npy_meta(?)"


def row_5():
    pattern = path("many/**/*.npy")
    return timed_in_processes(("headers_by_numpy", pattern, {}), ("sql", HEADERS, pattern, {}))


def row_5_waiting():
    """20 folders of 100 files."""
    ours, slow = ("sql", HEADERS, path("many/[01][0-9]/*.npy")), fresh.slow_opens()
    return timed_in_processes((*ours, {**slow, "NPYEXT_THREADS": "1"}), (*ours, slow), turns=5)


def row_6():
    name, sql = path("archive.npz"), "SELECT sum(length(name) + length(dtype) + length(shape)) FROM npy_meta(?)"
    return timed_in_processes(("arrays_by_numpy", name, {}), ("sql", sql, name, {}), turns=5)


def row_19():
    ours = "SELECT count(*), sum(length(name)), sum(size) FROM tar_members(?)"
    return timed_in_processes(("members_by_tarfile", path("shard.tar"), {}), ("sql", ours, path("shard.tar"), {}), turns=7)


def row_16():
    ours = "SELECT group_concat(value) FROM npy_quantile('large.npy', '', '', '[0.01, 0.25, 0.5, 0.75, 0.99]')"
    return timed_in_processes(("percentiles_by_numpy", "large.npy", {}), ("sql", ours, {}), turns=5)


def row_18(name, *more):
    ours = f"SELECT count(*), sum(count) FROM npy_unique('{name}')"
    return timed_in_processes(("unique_by_numpy", name, {}), ("sql", ours, {}), *more, turns=5)


def row_18_few():
    return row_18("few.npy")


def row_18_many():
    """Without what the same aggregates of ten million rows take, whatever makes these. All three in turn: a machine that
    becomes faster or slower would be taken for the difference of the last two."""
    of_rows = "SELECT count(*), sum(row) FROM npy_rows('values.npy')"
    peer, ours, rows = row_18("values.npy", ("sql", of_rows, {}))
    return peer, ours - rows


def row_20_short(shape, axis):
    """The statistics of many coordinates with four items each."""
    mapped = np.load(path("values.npy"), mmap_mode="r").reshape(shape)
    peer = lambda: [float(f(mapped, axis=axis).sum()) for f in (np.mean, np.std, np.min, np.max)]
    sql = f"SELECT sum(mean), sum(std), sum(min), sum(max) FROM npy_file(?) AS f, npy_stats(npy_reshape(f.array, '{json.dumps(shape)}'), '', '', {axis})"
    return timed_in_python(peer, query(sql, path("values.npy")))


NEAREST = """SELECT group_concat(row) FROM npy_nearest('vectors.npy', '', '', (SELECT npy_slice(array, 5)
               FROM npy_file('vectors.npy')), 10, 'cosine')"""


def row_17(ours=("sql", NEAREST, {})):
    return timed_in_processes(("nearest_by_numpy", "vectors.npy", {}), ours, turns=7)


def row_17_many():
    ours = """SELECT count(*), sum(row) FROM npy_nearest('vectors.npy', '', '', (SELECT npy_slice(array, '5:105')
                FROM npy_file('vectors.npy')), 10, 'cosine')"""
    return timed_in_processes(("nearest_many_by_numpy", "vectors.npy", {}), ("sql", ours, {}), turns=5)


DIFFERENCE = "SELECT min, max, mean, std FROM npy_stats((SELECT npy_calc('a - b', a.array, b.array) FROM npy_file(?) AS a, npy_file(?) AS b))"
BOTH = "large.npy", "other_large.npy"


def row_25(ours=None):
    a, b = (np.load(path(name), mmap_mode="r") for name in BOTH)

    def peer():
        difference = a - b
        return [float(f(difference)) for f in (np.min, np.max, np.mean, np.std)]

    return timed_in_python(peer, ours or query(DIFFERENCE, *map(path, BOTH)), turns=5)


def row_24():
    connection = shell.connect()
    connection.execute("CREATE TABLE wanted(i INTEGER)")
    places = np.random.default_rng(data.SEED).integers(0, 10_000_000, 1_000_000).tolist()
    connection.executemany("INSERT INTO wanted VALUES (?)", ((place,) for place in places))
    ask = lambda sql, name: lambda: connection.execute(sql, (path(name),)).fetchone()
    return timed_in_python(ask("SELECT sum(value) FROM wanted JOIN npy_rows(?) ON row = i", "values.npy"),
                           ask("SELECT sum(value) FROM wanted JOIN npy_elements(?) ON idx = i", "wide.npy"), turns=5)


def with_a_query(calls):
    """Milliseconds of a call for each of the vectors with one of them as a bound parameter, and as a subquery."""
    rows = f"npy_rows('{path('vectors.npy')}')"
    fifth = f"(SELECT array FROM {rows} WHERE row = 5)"
    (bound,) = query(f"SELECT {fifth}")()
    ask = lambda sql, *parameters: query(f"SELECT sum({calls % sql}) FROM {rows}", *parameters)
    return timed_in_python(ask("?", bound), ask(fifth), turns=5)


def row_29():
    return with_a_query("npy_dot(array, %s)")


def row_29_least():
    """The bound parameter's time, and on top of it what SQLite's own function pays for a subquery."""
    peer, _ = row_29()
    bound, subquery = with_a_query("length(%s)")
    return peer, peer + subquery - bound


def row_28():
    files = slow_files.Slow(path("many"))
    peer = lambda: len(slow_files.one_after_the_other(files, "0[0-9]/*.npy"))
    ours = lambda: slow_files.connect(files).execute("SELECT count(shape) FROM npy_meta('slow://0[0-9]/*.npy')").fetchone()[0]
    return timed_in_python(peer, ours, turns=3)


def row_26():
    columns = "SELECT min, max, mean, std FROM"
    one = query(f"{columns} npy_stats(?)", path("large.npy"))
    return timed_in_python(one, query(f"{columns} npy_stats(npy_concat(?))", path("parts/*.npy")), turns=7)


SAVE = """
import torch
torch.save({f"layers.{i}.weight": torch.full((500, 500), float(i)) for i in range(1000)}, "/model.pt")
"""
LIST = """
import time
import torch
start = time.perf_counter()
found = [(name, tensor.dtype, tuple(tensor.shape)) for name, tensor in torch.load("/model.pt", mmap=True).items()]
print(time.perf_counter() - start, len(found))
"""


def row_27():
    """Ours is the whole process of the shell, its start and the loading of the extension too."""
    root = peers.root_with_torch()
    model = os.path.join(root, "model.pt")
    if not os.path.exists(model):
        peers.by_torch(root, SAVE)
    times, answers = [], set()
    for _ in range(7):
        seconds, count = peers.by_torch(root, LIST).splitlines()[-1].split()
        start = time.perf_counter()
        answers.add(run_shell(f"SELECT count(*), min(dtype), max(shape) FROM (SELECT name, dtype, shape FROM npy_meta('{model}'));\n"))
        times.append((float(seconds), time.perf_counter() - start))
        answers.add(count)
    print("   ", *answers)
    return tuple(1000 * min(side) for side in zip(*times))


def read_by_pread(*names):
    """A function that reads the files whole, by as many threads as there are processors, a piece each in turn."""
    piece, nthreads = 1 << 20, os.cpu_count() or 1

    def read(name, first):
        buffer, total = bytearray(piece), 0
        descriptor = os.open(path(name), os.O_RDONLY)
        try:
            for off in range(first * piece, os.path.getsize(path(name)), nthreads * piece):
                total += os.preadv(descriptor, [buffer], off)
        finally:
            os.close(descriptor)
        return total

    def work():
        with concurrent.futures.ThreadPoolExecutor(nthreads) as pool:
            return sum(pool.map(read, *zip(*((name, first) for name in names for first in range(nthreads)))))

    return work


def row_l(ours, *names):
    """A work that reads files whole, against reading them."""
    return timed_in_python(read_by_pread(*names), ours, turns=7)


def row_l3():
    return row_l(query(ABOVE, path("large.npy")), "large.npy")


def row_l4():
    return row_l(query(STATISTICS, path("large.npy")), "large.npy")


def row_l16():
    quantiles = "SELECT count(value) FROM npy_quantile(?, '', '', '[0.01, 0.25, 0.5, 0.75, 0.99]')"
    return row_l(query(quantiles, path("large.npy")), "large.npy")


def row_l17():
    nearest = "SELECT count(*) FROM npy_nearest(?1, '', '', (SELECT npy_slice(array, 5) FROM npy_file(?1)), 10, 'cosine')"
    return row_l(query(nearest, path("vectors.npy")), "vectors.npy")


def row_l25():
    return row_l(query(DIFFERENCE, *map(path, BOTH)), *BOTH)


def row_20():
    mapped, labels = np.load(path("vectors.npy"), mmap_mode="r"), np.load(path("labels.npy"))
    peer = lambda: float(sum(mapped[labels == label].mean(0)[5] for label in range(10)))
    sql = "SELECT sum(mean) FILTER (WHERE at = 5) FROM npy_stats(?, '', '', 0) WHERE by = ?"
    return timed_in_python(peer, query(sql, path("vectors.npy"), path("labels.npy")), turns=7)


def row_21():
    ours = "SELECT length(npy_json(array)) FROM npy_file(?)"
    return timed_in_processes(("texts_by_numpy", path("objects.npy"), {}), ("sql", ours, path("objects.npy"), {}), turns=7)


def row_21_rows():
    ours = "SELECT sum(length(value)) FROM npy_rows(?)"
    return timed_in_processes(("texts_by_numpy", path("objects.npy"), {}), ("sql", ours, path("objects.npy"), {}), turns=7)


def row_22():
    peers.webdataset()
    ours = "SELECT min(min), max(max) FROM npy_stats(?)"
    return timed_in_processes(("extremes_by_webdataset", path("arrays.tar"), {}), ("sql", ours, path("arrays.tar"), {}), turns=7)


def row_23():
    peers.webdataset()
    pattern = path("samples/*.tar")
    for folder in ("kept_by_webdataset", "kept"):
        os.makedirs(path(folder), exist_ok=True)
    return timed_in_processes(
        ("filtered_by_webdataset", pattern, path("kept_by_webdataset/%06d.tar"), {}),
        ("filtered_by_sql", pattern, path("kept/%06d.tar"), {}),
        turns=2,
    )


BY_ROW = "SELECT sum(r.value) FROM wanted w JOIN npy_rows(?) r ON r.row = w.row"
BY_PREAD = "SELECT sum(r.value) FROM wanted w JOIN least('item', ?) r ON r.row = w.row"
IN_MEMORY = "SELECT sum(r.value) FROM wanted w JOIN least('held', ?) r ON r.row = w.row"


def lookups(name, spread, sql=BY_ROW):
    """A million random rows through a join, against the same join on a table of a million rows with native rowids."""
    connection = shell.connect() if sql == BY_ROW else least.connect()
    connection.execute("CREATE TABLE wanted(native INTEGER, row INTEGER)")
    rows = np.random.default_rng(data.SEED).integers(0, 1_000_000, 1_000_000).tolist()
    connection.executemany("INSERT INTO wanted VALUES (?, ?)", ((row, row * spread) for row in rows))
    connection.execute("CREATE TABLE native(id INTEGER PRIMARY KEY, value REAL)")
    connection.execute("INSERT INTO native SELECT row, value FROM npy_rows(?)", (path("million.npy"),))
    ask = lambda sql, *parameters: lambda: connection.execute(sql, parameters).fetchone()
    return timed_in_python(
        ask("SELECT sum(n.value) FROM wanted w JOIN native n ON n.id = w.native"),
        ask(sql, path(name)),
        turns=5,
    )


def row_7():
    return lookups("million.npy", 1)


def row_7b():
    return lookups("large.npy", 50)


def row_10(ours="SELECT sum(length(data)) FROM npy_rows('vectors.npy')", loads=()):
    peer = "SELECT sum(length(vector)) FROM vec_npy_each(vec_npy_file('vectors.npy'))"
    return timed_in_shell(peer, ours, [f"'{peers.sqlite_vec()}' sqlite3_vec_numpy_init", *loads])


def row_10_least():
    return row_10("SELECT sum(length(value)) FROM least('vectors', 'vectors.npy')", [f"'{least.library()}'"])


ELEMENTS = "SELECT sum(value) FROM npy_elements('%s')"


def row_11(ours=ELEMENTS % "fortran.npy", loads=()):
    return timed_in_shell(ELEMENTS % "matrix_c.npy", ours, loads)


def row_11_least():
    return row_11("SELECT sum(value) FROM least('fortran', 'fortran.npy')", [f"'{least.library()}'"])


def row_12():
    return timed_in_shell(
        "SELECT sum(value) FROM npy_rows('values.npy')",
        "SELECT length(npy_array(value)) FROM npy_rows('values.npy')",
    )


def row_12_table():
    """Each side makes its table anew, in a file: a database, or the .npy."""
    database = path("written.db")
    for name in glob.glob(f"{database}*"):
        os.remove(name)
    connections = shell.connect(database), shell.connect()
    statements = (
        "DROP TABLE IF EXISTS written",
        "CREATE TABLE written(value REAL)",
        f"INSERT INTO written SELECT value FROM npy_rows('{path('values.npy')}')",
    ), (
        "DROP TABLE IF EXISTS temp.written",
        f"CREATE VIRTUAL TABLE temp.written USING npy('{path('written.npy')}', mode='w+', dtype='f8')",
        f"INSERT INTO temp.written SELECT value FROM npy_rows('{path('values.npy')}')",
    )
    write = lambda side: lambda: [connections[side].execute(sql).rowcount for sql in statements[side]][-1]
    times = timed_in_python(write(0), write(1), turns=3)
    for connection in connections:
        connection.close()
    for name in glob.glob(path("written.*")):
        os.remove(name)
    return times


def row_15():
    array = np.load(path("vectors.npy"), mmap_mode="r")[:100_000]
    return timed_in_python(
        lambda: len(json.dumps(array.tolist())),
        query("SELECT sum(length(value)) FROM npy_rows(?) WHERE row < 100000", path("vectors.npy")),
        turns=3,
    )


def row_13():
    return peak_memory({
        "400 MB": "SELECT sum(value), count(*) FROM npy_rows('large.npy')",
        "512 MB of vectors": "SELECT sum(length(data)) FROM npy_rows('vectors.npy')",
        "JSON": "SELECT sum(length(value)) FROM npy_rows('vectors.npy') WHERE row < 100000",
        "Fortran order": "SELECT sum(length(data)) FROM npy_rows('fortran.npy')",
        "statistics": "SELECT * FROM npy_stats('large.npy')",
        "along an axis": "SELECT sum(max) FROM npy_stats('vectors.npy', '', '', 0)",
        "histogram": "SELECT sum(count) FROM npy_histogram('large.npy')",
        "comparison": "SELECT differing FROM npy_compare('large.npy', 'with_nan.npy')",
        "10,000 files": "SELECT count(dtype) FROM npy_meta('many/**/*.npy')",
    })


def row_13_quantiles():
    return peak_memory({
        "of all": "SELECT sum(value) FROM npy_quantile('large.npy')",
        "of columns": "SELECT sum(value) FROM npy_quantile('vectors.npy', '', ':, :8', 0.5, 0)",
        "of all columns": "SELECT sum(value) FROM npy_quantile('vectors.npy', '', '', 0.5, 0)",
    })


def row_13_deflated():
    return peak_memory({
        "160 MB": "SELECT sum(value), count(*) FROM npy_rows('deflated.npz')",
        "200 members": "SELECT sum(length(data)) FROM npy_rows('archive.npz')",
    })


def row_13_shards():
    os.makedirs(path("kept"), exist_ok=True)
    tables = """CREATE VIRTUAL TABLE temp.samples USING wds('samples/*.tar');
CREATE VIRTUAL TABLE temp.kept USING wds('kept/%06d.tar', mode='w+', maxcount=1000, columns='emb.npy, cls, json')"""
    return peak_memory({"100,000 samples": f"{tables};\n{fresh.FILTER}"})


def row_14():
    connection = shell.connect()
    connection.execute("SELECT value FROM npy_rows(?) LIMIT 10", (path("large.npy"),)).fetchall()
    (counters,) = connection.execute("SELECT npyext_counters()").fetchone()
    return None, json.loads(counters)["bytes_read"] / 1024


class Row(NamedTuple):
    number: str
    work: str
    against: str
    limit: float
    measure: Callable  # returns the peer's figure (None when there is none) and ours
    files: list
    unit: str = "ms"
    is_ratio: bool = True

    def judged(self, peer: Optional[float], ours: float) -> float:
        """The figure that the limit is for."""
        return ours / peer if self.is_ratio else ours


ROWS = [
    Row("1", "sum and count of 10M float64 through npy_rows", "generate_series", 1.0, row_1, ["values.npy"]),
    Row("2", "the same through npy_elements of (10000, 1000)", "generate_series", 1.0, row_2, ["matrix.npy"]),
    Row("3", "count(*) WHERE value > 4 over 50M float64", "NumPy, count_nonzero on a memmap", 1.1, row_3,
        ["large.npy"]),
    Row("3m", "the same, mapped", "NumPy, count_nonzero on a memmap", 0.65, row_3_mapped, ["large.npy"]),
    Row("4", "npy_stats, all visible columns, 50M float64", "NumPy, min + max + mean + std on a memmap", 0.30, row_4,
        ["large.npy"]),
    Row("4n", "the same with 1 % NaN", "NumPy, nanmin + nanmax + nanmean + nanstd", 0.10, row_4n, ["with_nan.npy"]),
    Row("4f", "the same of 50M float32", "NumPy, min + max + mean + std on a memmap", 0.35, row_4f, ["narrow.npy"]),
    Row("5", "npy_meta over 10,000 files", "NumPy's header reader in a loop", 0.20, row_5, ["many"]),
    Row("5w", "the same over 2,000 files, every open taking 1 ms more", "one thread", 1 / 12, row_5_waiting, ["many"]),
    Row("6", "names, shapes, dtypes of a deflated .npz of 200 × 1 MB", "NumPy, z[k] for every k", 0.004, row_6,
        ["archive.npz"]),
    Row("7", "1M random rows of an 8 MB .npy through a join", "the same join on native rowids", 0.35, row_7,
        ["million.npy"]),
    Row("7b", "the same of a 400 MB .npy", "the same join on native rowids", 1.8, row_7b, ["million.npy", "large.npy"]),
    Row("8", "npy_stats of a deflated 80 MB member", "Python's zlib.decompress and crc32", 0.92, row_8, ["member.npz"]),
    Row("8s", "npy_stats of a stored 200 MB member", "the same as .npy", 1.35, row_8s, ["stored.npy", "stored.npz"]),
    Row("8m", "npy_stats of 64 deflated members of 1.2 MB, two threads", "Python's zlib.decompress and crc32", 0.55,
        row_8m, ["members.npz"]),
    Row("9", "one random row of the member of row 8, checkpoints in place", "inflating it all", 0.01, row_9,
        ["member.npz"]),
    Row("10", "sum(length(data)) over 1M × 128 float32", "sqlite-vec's vec_npy_each", 1.0, row_10, ["vectors.npy"]),
    Row("11", "sum over a Fortran (5000, 2000) float64 array by elements", "the same in C order", 1.15, row_11,
        ["fortran.npy", "matrix_c.npy"]),
    Row("12", "npy_array over 10M rows", "sum over the same rows", 1.35, row_12, ["values.npy"]),
    Row("12t", "INSERT of the same rows into a table that writes a .npy", "into an ordinary table of a database", 0.6,
        row_12_table, ["values.npy"]),
    Row("13", "peak memory of scans above sqlite3's own", "sqlite3", 16, row_13,
        ["large.npy", "with_nan.npy", "vectors.npy", "fortran.npy", "many"], "MiB", False),
    Row("13q", "the same of quantiles", "sqlite3", 32, row_13_quantiles, ["large.npy", "vectors.npy"], "MiB", False),
    Row("13d", "the same of deflated members", "sqlite3", 32, row_13_deflated, ["deflated.npz", "archive.npz"], "MiB",
        False),
    Row("13s", "the same of an INSERT of 100,000 samples into shards", "sqlite3", 32, row_13_shards, ["samples"], "MiB",
        False),
    Row("14", "bytes read for LIMIT 10 of 400 MB", "–", 64, row_14, ["large.npy"], "KiB", False),
    Row("15", "sum(length(value)) over 100k × 128 float32", "json.dumps(a.tolist())", 0.15, row_15, ["vectors.npy"]),
    Row("19", "tar_members of a shard of 20,000 members", "Python's tarfile, getmembers", 0.05, row_19, ["shard.tar"]),
    Row("16", "five quantiles of 50M float64", "NumPy, percentile of a memmap", 0.12, row_16, ["large.npy"]),
    Row("18", "npy_unique of 10M int64, 100 of them different", "NumPy, unique with counts of a memmap", 0.2, row_18_few,
        ["few.npy"]),
    Row("18m", "npy_unique of 10M float64, all different, less count(*) and sum(row) of 10M rows",
        "NumPy, unique with counts of a memmap", 0.6, row_18_many,
        ["values.npy"]),
    Row("17", "10 nearest of 1M × 128 float32 by cosine", "NumPy, product over norms and argpartition on a memmap", 0.6,
        row_17, ["vectors.npy"]),
    Row("17b", "the same for each of 100 queries", "NumPy, product over norms and argpartition on a memmap", 0.6, row_17_many,
        ["vectors.npy"]),
    Row("20", "mean of every column of 1M × 128 float32 for each of 10 labels", "NumPy, a mask and a mean for each", 0.3,
        row_20, ["vectors.npy", "labels.npy"]),
    Row("20r", "mean, std, min and max of each row of 2.5M × 4 float64", "NumPy, along axis 1 of a memmap", 2.0,
        lambda: row_20_short([2_500_000, 4], 1), ["values.npy"]),
    Row("20c", "the same of each column of 4 × 2.5M", "NumPy, along axis 0 of a memmap", 10.0,
        lambda: row_20_short([4, 2_500_000], 0), ["values.npy"]),
    Row("21", "an array of 200,000 texts, an object each, as JSON", "NumPy, load with allow_pickle and json.dumps", 0.8,
        row_21, ["objects.npy"]),
    Row("21r", "the values of its rows", "NumPy, load with allow_pickle and json.dumps", 0.8, row_21_rows, ["objects.npy"]),
    Row("22", "npy_stats of 2,000 .npy of 4 KB in a shard", "webdataset with its decoder, min and max", 0.1, row_22,
        ["arrays.tar"]),
    Row("24", "1M lookups by idx in an array of rows of 100,000", "by row of an array of one axis", 1.3, row_24,
        ["values.npy", "wide.npy"]),
    Row("25", "npy_stats of npy_calc('a - b', …) of 50M float64", "NumPy, a - b, and its min, max, mean, std, of memmaps", 0.35,
        row_25, ["large.npy", "other_large.npy"]),
    Row("26", "npy_stats of npy_concat of 100 files of 4 MB", "the same in one file", 1.2, row_26, ["large.npy", "parts"]),
    Row("27", "names, dtypes, shapes of a .pt of 1,000 tensors, 1 GB, the shell's whole process",
        "PyTorch 2.6, load(mmap=True) and a loop, without its import", 0.25, row_27, []),
    Row("28", "a survey of 1,000 files elsewhere, 20 ms a request", "one request after the other", 1 / 12, row_28, ["many"]),
    Row("29", "npy_dot of 1M × 128 float32 with a query from a subquery", "with a bound parameter", 1.2, row_29, ["vectors.npy"]),
    Row("L3", "row 3", "reading the file by pread with as many threads", 4 / 3, row_l3, ["large.npy"]),
    Row("L4", "row 4", "the same", 4 / 3, row_l4, ["large.npy"]),
    Row("L16", "row 16", "the same", 2.5, row_l16, ["large.npy"]),
    Row("L17", "row 17", "the same", 4 / 3, row_l17, ["vectors.npy"]),
    Row("L25", "row 25", "the same", 4 / 3, row_l25, ["large.npy", "other_large.npy"]),
    Row("23", "100,000 samples in 100 shards, those with NaN left out, into new shards", "webdataset in a loop", 0.1,
        row_23, ["samples"]),
]


class Least(NamedTuple):
    """What takes our place in a row to show how little it can take (least.c)."""

    work: str
    measure: Callable  # returns the peer's figure and the least one


LEAST = {
    "1": Least("a virtual table whose value is a counter", row_1_least),
    "3": Least("two threads that read and compare", lambda: above(least.work("above", "large.npy"))),
    "3m": Least("two threads that compare, the file mapped anew", lambda: above(least.work("above_mapped", "large.npy"))),
    "7": Least("a virtual table over the file in memory", lambda: lookups("million.npy", 1, IN_MEMORY)),
    "7b": Least("a virtual table that reads 8 bytes a row by pread", lambda: lookups("large.npy", 50, BY_PREAD)),
    "10": Least("a virtual table over blocks of 1 MiB that are read", row_10_least),
    "11": Least("a virtual table over panels of 500 rows", row_11_least),
    "17": Least("two threads that read, a product and a norm a row", lambda: row_17(("least", "nearest", "vectors.npy", {}))),
    "25": Least("two threads that read both, two passes over a - b in a first-level cache", lambda: row_25(least.work("difference", *BOTH))),
    "29": Least("npy_dot with a bound parameter, and what a subquery costs length()", row_29_least),
    "L3": Least("row 3's", lambda: row_l(least.work("above", "large.npy"), "large.npy")),
    "L4": Least("two threads that read, two passes in a first-level cache", lambda: row_l(least.work("moments", "large.npy"), "large.npy")),
    "L16": Least("two threads that read and count the upper 16 bits of each, the first half of the work",
                 lambda: row_l(least.work("counts", "large.npy"), "large.npy")),
    "L17": Least("row 17's", lambda: row_l(least.work("nearest", "vectors.npy"), "vectors.npy")),
    "L25": Least("row 25's", lambda: row_l(least.work("difference", *BOTH), *BOTH)),
}


HEADS = ["#", "work", "against", "peer", "ours", "ratio", "limit"]
# Rows of the large files, which are also measured when these are in large pages.
READ_AHEAD = ["3", "3m", "4", "16", "17", "25", "L3", "L4", "L16", "L17", "L25"]


# --- the report -------------------------------------------------------------------------------------------------------


cached = set()


def prepare(names, in_large_pages):
    """Makes files that are missing, and gives each once the pages that are wanted."""
    data.make(FOLDER, names)
    for name in names:
        if (name, in_large_pages) not in cached:
            data.cache(path(name), in_large_pages)
            cached.add((name, in_large_pages))


def measured(row, in_large_pages=False):
    """The row's cells."""
    start = [row.number, row.work, row.against]
    print(f"{row.number}: {row.work}", flush=True)
    try:
        prepare(row.files, in_large_pages)
        peer, ours = row.measure()
    except (Unmeasured, sqlite3.Error, OSError, ValueError, KeyError) as error:
        return [*start, "–", "–", "–", f"not measured: {error}"]
    judged = row.judged(peer, ours)
    verdict = "holds" if judged <= row.limit else "does not hold"
    unit = lambda value: "–" if value is None else f"{figure(value)} {row.unit}"
    limit = figure(row.limit) if row.is_ratio else f"{figure(row.limit)} {row.unit}"
    return [*start, unit(peer), unit(ours), figure(judged) if row.is_ratio else "–", f"{limit}: {verdict}"]


def measured_least(row):
    """The cells of the least that the row can take."""
    work, measure = LEAST[row.number]
    print(f"{row.number}: {work}", flush=True)
    try:
        peer, found = measure()
    except (Unmeasured, sqlite3.Error, OSError, ValueError, KeyError) as error:
        return [row.number, work, "–", "–", "–", f"not measured: {error}"]
    verdict = "possible" if found / peer <= row.limit else "not possible"
    return [row.number, work, f"{figure(peer)} ms", f"{figure(found)} ms", figure(found / peer), f"{figure(row.limit)}: {verdict}"]


def table_of_least(rows):
    table = [measured_least(row) for row in rows if row.number in LEAST]
    return [*lines(["#", "in our place", "peer", "least", "ratio", "limit"], table), ""] if table else []


def possible(rows):
    """The lines of what can be reached."""
    table = table_of_least(rows)
    explained = [
        "The same peers, and in our place a work of tests/bench/least.c: what SQLite, the kernel and the memory cost, and next to nothing",
        "else. It checks nothing and knows one file; so a limit that it misses cannot be held on this machine.",
    ]
    return ["## What is possible", "", *explained, "", *table] if table else []


def read_ahead(rows):
    """The lines of what changes if the kernel has read the files ahead. Last of all: the pages stay."""
    rows = [row for row in rows if row.number in READ_AHEAD]
    explained = [
        "Above, files are in the page cache in pages of 4 KiB, as they are after they were written. What the kernel reads ahead from the",
        "disk it keeps in larger ones, from which copying takes less time; the rest of the work is then a larger part. The same rows, and",
        "what is possible, with the files in such pages:",
    ]
    table = [measured(row, in_large_pages=True) for row in rows]
    return ["## Files that the kernel has read ahead", "", *explained, "", *lines(HEADS, table), "", *table_of_least(rows)] if rows else []


def report(table, grown):
    versions = f"NumPy {np.__version__}, SQLite {sqlite3.sqlite_version}, Python {platform.python_version()}"
    is_newest = int(np.__version__.split(".")[0]) >= 2
    remark = "NumPy 2 could not be installed: the peer is an older one, which reads headers three times as slowly."
    return "\n".join([
        "# The speed contract, measured",
        "",
        f"By `make bench` on {os.cpu_count()} cores, {platform.machine()}, {platform.system()}, with {versions}.",
        f"Files are in the page cache; the least of {TURNS} turns (7 for rows 8, 8s, 8m, 19, 21, 21r, 22 and 27, 5 for rows 4, 5w, 6, 7,",
        "9, 16, 17b, 18 and 18m, 3 for rows 12t and 15, 2 for row 23), ours and the peer's in turn; rows 1, 2, 10, 11 and 12 in processor",
        "time, all others by the clock. In rows 5, 5w, 6, 16, 17, 17b, 18, 18m, 19, 21, 21r, 22 and 23 each time is of a process of its own, in 8m each",
        "three are; in row 27 ours is the whole process of the shell.",
        "",
        *([] if is_newest else [remark, ""]),
        *lines(HEADS, table),
        "",
        *grown,
    ])


def main(wanted):
    rows = [row for row in ROWS if not wanted or row.number in wanted]
    table = [measured(row) for row in rows]
    text = report(table, possible(rows) + read_ahead(rows) + (growth.page() if not wanted or "growth" in wanted else []))
    print()
    print(text)
    if not wanted:
        with open(os.path.join(HERE, "RESULTS.md"), "w") as file:
            file.write(text)


def with_numpy_2():
    """Go on in another Python where this one has no NumPy 2, and that one has."""
    python = peers.python_with_numpy_2()
    if python is None:
        print(f"NumPy 2 could not be installed: the peer is NumPy {np.__version__}", flush=True)
    elif python != sys.executable:
        os.execv(python, [python, "-B", *sys.argv])


if __name__ == "__main__":
    with_numpy_2()
    main(sys.argv[1:])
