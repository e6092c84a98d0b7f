"""Works done in a process of their own, as a stranger's first query is: nothing is warm but the page cache. The time is
taken in that process, without what comes before the work: the start of Python, its imports, the extension's loading.

    fresh.py TIMES WORK ARGUMENTS       ARGUMENTS in JSON; prints the least seconds of so many times, and the answer
"""

import json
import os
import shlex
import subprocess
import sys
import time
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "lib")]

import shell  # noqa: E402

FOLDER = os.path.join(shell.ROOT, ".build", "bench")
SHOWN = 100  # characters of an answer

# Of a table of samples, into one that writes shards.
FILTER = """INSERT INTO kept(__key__, "emb.npy", cls, json) SELECT s.__key__, s."emb.npy", s.cls, s.json FROM samples AS s
             WHERE NOT EXISTS (SELECT 1 FROM npy_stats(s."emb.npy") WHERE nulls > 0)"""


class Unmeasured(Exception):
    """Why there are no figures."""


def path(name):
    return os.path.join(FOLDER, name)


# --- the works: each prepares itself and returns what is timed -------------------------------------------------------


def sql(statement, *parameters):
    connection = shell.connect()
    return lambda: connection.execute(statement, parameters).fetchall()


def lookups(statement, name, nrows):
    """Another row each time, where the statement asks for one."""
    import random

    connection, rows = shell.connect(), random.Random(20260102)
    parameters = iter(lambda: (name, rows.randrange(nrows))[: statement.count("?")], None)
    return lambda: connection.execute(statement, next(parameters)).fetchall()


def headers_by_numpy(pattern):
    import glob

    from numpy.lib import format as npy

    def work():
        total = 0
        for name in glob.glob(pattern, recursive=True):
            with open(name, "rb") as file:
                npy.read_magic(file)
                shape, _, dtype = npy.read_array_header_1_0(file)
            total += len(name) + len(dtype.name) + len(shape)
        return total

    return work


def arrays_by_numpy(name):
    import numpy as np

    def work():
        with np.load(name) as archive:
            return sum(len(key) + len(archive[key].shape) for key in archive.files)

    return work


def inflated_by_zlib(name):
    import zlib

    streams = deflated_streams(name)
    return lambda: [zlib.crc32(zlib.decompress(stream, -15)) for stream in streams]


def deflated_streams(name):
    """The raw streams of an archive's members."""
    import zipfile

    streams = []
    with zipfile.ZipFile(name) as archive, open(name, "rb") as file:
        for member in archive.infolist():
            file.seek(member.header_offset)
            header = file.read(30)
            to_data = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
            file.seek(to_data, os.SEEK_CUR)
            streams.append(file.read(member.compress_size))
    return streams


def members_by_tarfile(name):
    import tarfile

    def work():
        with tarfile.open(name) as shard:
            members = shard.getmembers()
            return len(members), sum(len(member.name) for member in members), sum(member.size for member in members)

    return work


def moments_by_numpy(name):
    import numpy as np

    def work():
        mapped = np.load(name, mmap_mode="r")
        return [float(f(mapped)) for f in (np.min, np.max, np.mean, np.std)]

    return work


def percentiles_by_numpy(name):
    import numpy as np

    return lambda: np.percentile(np.load(name, mmap_mode="r"), [1, 25, 50, 75, 99]).tolist()


def unique_by_numpy(name):
    import numpy as np

    def work():
        values, counts = np.unique(np.load(name, mmap_mode="r"), return_counts=True)
        return len(values), int(counts.sum())

    return work


def nearest_by_numpy(name):
    """The ten rows nearest to row 5 by cosine."""
    import numpy as np

    rows = np.load(name, mmap_mode="r")
    one = np.array(rows[5])

    def work():
        cosines = rows @ one / (np.sqrt(np.einsum("ij,ij->i", rows, rows)) * np.sqrt(one @ one))
        nearest = np.argpartition(-cosines, 10)[:10]
        return nearest[np.argsort(-cosines[nearest])].tolist()

    return work


def nearest_many_by_numpy(name):
    """The ten rows nearest to each of 100 by cosine: their number, and the sum of their numbers."""
    import numpy as np

    rows = np.load(name, mmap_mode="r")
    queries = np.array(rows[5:105])

    def work():
        cosines = queries @ rows.T
        cosines /= np.sqrt(np.einsum("ij,ij->i", rows, rows))
        cosines /= np.sqrt(np.einsum("ij,ij->i", queries, queries))[:, None]
        nearest = np.argpartition(-cosines, 10, axis=1)[:, :10]
        return nearest.size, int(nearest.sum())

    return work


def texts_by_numpy(name):
    import numpy as np

    return lambda: len(json.dumps(np.load(name, allow_pickle=True).tolist()))


def extremes_by_webdataset(name):
    """Of all arrays, each decoded by its own decoder."""
    import webdataset

    def work():
        arrays = [sample["npy"] for sample in webdataset.WebDataset(name, shardshuffle=False).decode()]
        return min(array.min() for array in arrays), max(array.max() for array in arrays)

    return work


def filtered_by_webdataset(pattern, out):
    """The samples without NaN, their bytes as they are, into new shards."""
    import glob
    import io

    import numpy as np
    import webdataset

    def work():
        kept = 0
        with webdataset.ShardWriter(out, maxcount=1000, mtime=0, verbose=0) as sink:
            for sample in webdataset.WebDataset(sorted(glob.glob(pattern)), shardshuffle=False):
                if not np.isnan(np.lib.format.read_array(io.BytesIO(sample["emb.npy"]))).any():
                    sink.write(sample)
                    kept += 1
        return kept

    return work


def filtered_by_sql(pattern, out):
    connection = shell.connect()
    connection.isolation_level = None

    def work():
        connection.execute(f"CREATE VIRTUAL TABLE temp.samples USING wds('{pattern}')")
        connection.execute(f"CREATE VIRTUAL TABLE temp.kept USING wds('{out}', mode='w+', maxcount=1000, columns='emb.npy, cls, json')")
        return connection.execute(FILTER).rowcount

    return work


def least(function, *names):
    """A work of least.c."""
    import least as of_c

    return of_c.work(function, *names)


WORKS = {
    work.__name__: work
    for work in (
        sql,
        lookups,
        headers_by_numpy,
        arrays_by_numpy,
        inflated_by_zlib,
        members_by_tarfile,
        moments_by_numpy,
        percentiles_by_numpy,
        unique_by_numpy,
        nearest_by_numpy,
        nearest_many_by_numpy,
        texts_by_numpy,
        extremes_by_webdataset,
        filtered_by_webdataset,
        filtered_by_sql,
        least,
    )
}


# --- their processes --------------------------------------------------------------------------------------------------


class Done(NamedTuple):
    seconds: float
    answer: str


def done(work, *arguments, times=1, variables=None):
    """What a work of WORKS took, in .build/bench, with variables in its environment."""
    environment = {name: value for name, value in os.environ.items() if name != "NPYEXT_THREADS"}
    environment.update(variables or {}, NPYEXT_SO=shell.EXTENSION)
    command = [sys.executable, "-B", os.path.abspath(__file__), str(times), work, json.dumps(arguments)]
    child = subprocess.run(command, capture_output=True, text=True, cwd=FOLDER, env=environment)
    if child.returncode != 0:
        raise Unmeasured((child.stderr.strip().splitlines() or [f"exit code {child.returncode}"])[-1])
    return Done(*json.loads(child.stdout))


def compiled(name, *flags, libraries=()):
    """The loadable file of a source in C beside this one."""
    made, source = path(f"{name}.so"), os.path.join(HERE, f"{name}.c")
    os.makedirs(FOLDER, exist_ok=True)
    compiler = shlex.split(os.environ.get("CC") or "cc")
    command = [*compiler, "-D_GNU_SOURCE", "-O2", *flags, "-shared", "-fPIC", "-o", made, source, *libraries]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise Unmeasured(f"no compiler makes {name}.so") from error
    return made


def slow_opens():
    """The environment in which every open of a .npy takes 1 ms more."""
    return {"LD_PRELOAD": compiled("slow_open", libraries=("-ldl",))}


def main(times, work, arguments):
    timed, seconds = WORKS[work](*json.loads(arguments)), []
    for _ in range(int(times)):
        start = time.perf_counter()
        answer = timed()
        seconds.append(time.perf_counter() - start)
    print(json.dumps([min(seconds), repr(answer)[:SHOWN]]))


if __name__ == "__main__":
    main(*sys.argv[1:])
