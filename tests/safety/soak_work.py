"""Random statements for tests/safety/soak.py: over good and bad files, read and written, finished, abandoned and interrupted."""

import collections
import os
import random
import re
import sqlite3
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fuzz"))

import numpy as np  # noqa: E402

import arrays  # noqa: E402
import make_files  # noqa: E402
import seeds  # noqa: E402
import shell  # noqa: E402
from seeds_of_statements import listed_statements, quoted, spoiled  # noqa: E402

ENTRY_POINTS = ["sqlite3_npyext_init"] * 6 + ["sqlite3_npyext_readonly_init", "sqlite3_npyext_blob_init"]
# What may end a statement: never a misuse, an internal fault, a fault of the database's files, or lack of memory.
EXPECTED = {"SQLITE_ERROR", "SQLITE_INTERRUPT", "SQLITE_TOOBIG", "SQLITE_CONSTRAINT", "SQLITE_CONSTRAINT_NOTNULL", "SQLITE_MISMATCH",
            "SQLITE_READONLY", "SQLITE_LOCKED", "SQLITE_BUSY", "SQLITE_ABORT_ROLLBACK", "SQLITE_AUTH"}
ODD = [None, 0, 1, -1, 3, 2**63 - 1, -(2**63), 0.5, float("inf"), "", "0", ":", "...", "1:3", "::-1", "-1", "x", "a", "0/x", "f4", ">i2", "<U3", "M8[s]",
       "[('a', '<f4'), ('b', '<U3')]", "[2, -1]", "[[1, 2], [3, 4]]", "[1, {}]", "row", "skip", "raise", "deflate", "store", "F", "C", "\u017elu\u0165",
       b"", b"\x93NUMPY", b"\xff" * 40, "x" * 3000, "f", "f*", "no such file", "**", "../f", '["f", "d/f", "gone"]']
# {} are files or patterns of the folder; what they cost is small, or ends by itself.
SCRIPTS = [
    "SELECT *, argmin, argmax, crc32 FROM npy_stats({})",
    "SELECT label, at, count, mean FROM npy_stats({}, '', '', 0) WHERE by = (SELECT array FROM npy_file({}) LIMIT 1)",
    "SELECT npy_sum(array), npy_mean(array, 0), npy_argmax(array), npy_min(array, -1) FROM npy_file({})",
    "SELECT npy_max(array), array FROM npy_rows({}) WHERE on_error = 'skip'",
    "SELECT * FROM npy_quantile({}, '', '', '[0.3, 0.7]', 0)",
    "SELECT median, npy_median(f.array, 0) FROM npy_stats({}) JOIN npy_file({}) AS f",
    "SELECT *, first FROM npy_unique({})",
    "SELECT *, label FROM npy_unique({}) WHERE by = (SELECT array FROM npy_file({}) LIMIT 1)",
    "SELECT *, data FROM npy_nearest({}, '', '', (SELECT array FROM npy_file({}) LIMIT 1), 5)",
    "SELECT npy_corrcoef(array), npy_corrcoef(array, 0), npy_argmin(array, 1) FROM npy_file({})",
    "SELECT npy_png(array), npy_plot(array, path) FROM npy_file({})",
    "SELECT npy_spark(array), npy_preview(array) FROM npy_file({})",
    "SELECT npy_sketch_quantile(npy_sketch_merge(npy_sketch(array)), 0.5) FROM npy_file({})",
    "SELECT *, stem FROM npy_paths({})",
    "SELECT npy_norm(array), npy_distance(array, array, 'cosine') FROM npy_file({})",
    "SELECT *, crc_ok FROM npz_members({}, 'row')",
    "SELECT *, array_key FROM npy_meta({}, 'row')",
    "SELECT * FROM ten_arrays({}, 'skip')",
    "SELECT sum(value), count(data) FROM npy_rows WHERE source = {} AND on_error = 'skip'",
    "SELECT a.row, b.value FROM npy_rows({}) a JOIN npy_elements({}) b ON b.idx = a.row",
    "SELECT * FROM npy_compare({}, {})",
    "SELECT * FROM npy_histogram({}, '', '', 20)",
    "SELECT npy_get(array, 0), npy_json(npy_slice(array, ':3')), npy_valid(array) FROM npy_file({})",
    "SELECT * FROM npy_file({}) h, npy_write('w/' || abs(random()) % 20 || '.npy', h.array)",
    "SELECT npz_archive(name, array, 'deflate'), ten_archive(array, 'x') FROM npy_file({})",
    "SELECT npy_array(value), npy_stack(data, '<f4'), npy_records('[(''a'', ''<i8''), (''b'', ''<f4'')]', row, value) FROM npy_rows({})",
    "CREATE VIRTUAL TABLE IF NOT EXISTS r USING npy({}); SELECT count(*), sum(rowid) FROM r; SELECT * FROM r WHERE rowid > 2; DROP TABLE r",
    "CREATE VIRTUAL TABLE temp.o USING npy('w/o.npy', mode='w+', dtype='<f4'); BEGIN; INSERT INTO o SELECT value FROM npy_rows({}); "
    "SAVEPOINT a; INSERT INTO o SELECT value FROM npy_rows({}); ROLLBACK TO a; INSERT INTO o VALUES (1), (NULL); COMMIT; INSERT INTO o VALUES (2), ('x'); SELECT sum FROM npy_stats('w/o.npy')",
    "CREATE VIRTUAL TABLE temp.o USING npy('w/o.npz', mode='w+', method='deflate'); BEGIN; INSERT INTO o SELECT abs(random()) % 9 || name, array FROM npy_file({}); "
    "ROLLBACK; INSERT INTO o SELECT abs(random()) % 9 || name, array FROM npy_file({}); SELECT name, crc_ok FROM npz_members('w/o.npz')",
    "CREATE VIRTUAL TABLE temp.o USING npy('w/a.ten', mode='a'); BEGIN; INSERT INTO o SELECT name, array FROM npy_file({}); SAVEPOINT a; "
    "INSERT INTO o SELECT name, array FROM npy_file({}); RELEASE a; COMMIT",
    "CREATE VIRTUAL TABLE temp.o USING npy('f', mode='a'); BEGIN; INSERT INTO o SELECT data FROM npy_rows({}); DROP TABLE o; ROLLBACK; DROP TABLE o",
    "ATTACH 'side.db' AS side; CREATE TABLE IF NOT EXISTS side.kept(v); CREATE VIRTUAL TABLE IF NOT EXISTS side.s USING npy({}); BEGIN; "
    "CREATE VIRTUAL TABLE temp.o USING npy('w/o.npy', mode='w+', dtype='<f8'); INSERT INTO o SELECT row FROM npy_rows({}) LIMIT 50; "
    "INSERT INTO side.kept SELECT * FROM side.s LIMIT 50; COMMIT; DELETE FROM side.kept; DROP TABLE side.s; DETACH side",
    "SELECT * FROM npy_write('w/r.npy', npy_from_json('[1.5, 2, 3]')); CREATE VIRTUAL TABLE temp.e USING npy('w/r.npy', mode='r+'); BEGIN; UPDATE e SET value = rowid; SAVEPOINT a; "
    "UPDATE OR IGNORE e SET value = (SELECT row FROM npy_rows({})); SELECT sum(value) FROM e; ROLLBACK TO a; UPDATE e SET value = value + 1 WHERE rowid = 1; COMMIT; UPDATE e SET value = 'x'; DROP TABLE e",
    "CREATE VIRTUAL TABLE temp.e USING npy({}, mode='r+'); BEGIN; UPDATE e SET rowid = rowid; SELECT count(*) FROM e; ROLLBACK; DROP TABLE e",
    "CREATE VIRTUAL TABLE IF NOT EXISTS k USING wds({}); SELECT count(*), sum(rowid) FROM k; SELECT * FROM k WHERE rowid > 2 OR __key__ = '000001'; DROP TABLE k",
    "SELECT path, value FROM npy_rows({}) WHERE on_error = 'skip'; SELECT npy_json(array), npy_get(array, 0) FROM npy_file({})",
    "SELECT *, metadata, array_key FROM npy_meta({}, 'row')",
    "SELECT * FROM npy_globals({}, 'row')",
    "SELECT npyext_debug(), npyext_counters(), npyext_version()",
    "CREATE TEMP VIEW v AS SELECT * FROM npy_meta({}); SELECT count(*) FROM v; DROP VIEW v",
]


def put(path, contents):
    """As a new file, so that one that is mapped stays as it is."""
    with open("new", "wb") as file:
        file.write(contents)
    os.rename("new", path)


def make_folder(rng):
    """The files of tests/sql and the fuzzer's seeds, good and spoiled, in the current folder; returns the small ones."""
    make_files.make(".")
    for folder in ("d", "w", "good", "bad"):
        os.mkdir(folder)
    of_kinds = lambda *kinds: [contents for kind in kinds for contents in kind() if len(contents) <= 20_000]
    plain, models = of_kinds(seeds.npy_files, seeds.npz_files, seeds.ten_files), of_kinds(seeds.pickles, seeds.torch_saved, seeds.gguf_saved, seeds.checkpoints)
    small = plain + models
    for i, contents in enumerate(rng.sample(plain, 150) + rng.sample(models, 100)):
        put(f"good/{i:03}", contents)
        put(f"bad/{i:03}", spoiled(rng, contents))
    numbers = np.random.default_rng(rng.randrange(2**32))
    long = numbers.random(300_000)
    put("long.npy", arrays.npy_bytes(long))
    put("long.npz", arrays.npz_bytes({"x": (long * 100).astype("i4"), "y": long[:1000]}, "deflate"))
    put("fortran.npy", arrays.npy_bytes(np.asfortranarray(long.reshape(3000, 100))))
    stored = bytearray(arrays.npz_bytes({"x": long[:9000], "y": long[:10]}))
    stored[40_000] ^= 1
    put("crc.npz", stored)
    put("half.npz", arrays.npz_bytes({"x": long}, "deflate")[:500_000])
    put("rows.npy", arrays.npy_text_bytes("{'descr': '|u1', 'fortran_order': False, 'shape': (4611686018427387904, 0), }\n"))
    return small


class Session:
    """A connection, for some statements; counts what it ran by how it ended."""

    def __init__(self, rng, small, listed, counts, faults):
        self.rng, self.small, self.listed, self.counts, self.faults = rng, small, listed, counts, faults
        environment = {"NPYEXT_MMAP": 0.3, "NPYEXT_VIEWS": 0.2}
        for name, share in environment.items():
            os.environ[name] = "1" if rng.random() < share else "0"
        os.environ["NPYEXT_THREADS"] = rng.choice(["0", "1", "1", "2", "5", "16"])
        os.environ.pop("NPYEXT_ROOT", None)
        if rng.random() < 0.3:
            os.environ["NPYEXT_ROOT"] = os.getcwd()
        self.db = shell.connect(rng.choice([":memory:", ":memory:", "main.db"]), rng.choice(ENTRY_POINTS))
        self.db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 4 << 20)
        self.db.executescript("PRAGMA synchronous = OFF; PRAGMA busy_timeout = 5")
        self.db.text_factory = bytes
        self.cursors, self.handles, self.has_attached = [], [b"npyext" * 8], False

    def close(self):
        if self.rng.random() < 0.5:
            self.cursors.clear()
        self.db.close()
        self.cursors.clear()

    def step(self):
        """One or more statements, for one purpose."""
        draw = self.rng.random()
        if draw < 0.6:
            self.run_listed()
        elif draw < 0.95:
            self.run_script()
        else:
            self.take_handles()
        if len(self.cursors) > 4:
            del self.cursors[self.rng.randrange(5)]

    def run_listed(self):
        sql, same, setup = self.rng.choice(self.listed)
        contents = self.rng.choice(self.small)
        if self.rng.random() < 0.4:
            contents = spoiled(self.rng, contents)
        if self.rng.random() < 0.5:
            put("f", contents)
        source = self.rng.choice([contents, contents, "f", "d/f", self.rng.choice(self.handles)])
        other = self.rng.choice([contents, self.rng.choice(self.small)])
        sensible = [None if own is None else own.decode() for own in seeds.arguments_of(sql + setup)]
        values = [own if own is not None and self.rng.random() < 0.8 else self.rng.choice(ODD) for own in sensible]
        if setup:
            texts = iter(values)
            self.clear()
            for statement in re.sub("%Q", lambda _: quoted(next(texts)), setup).split("; "):
                self.run(statement)
        for text in filter(None, (sql, same)):
            self.run(text, (source, *values, other)[: max(map(int, re.findall(r"\?(\d)", text)), default=0)])

    def run_script(self):
        for sql in re.sub(r"\{\}", lambda _: quoted(self.some_path()), self.rng.choice(SCRIPTS)).split("; "):
            self.run(sql)
            self.has_attached |= sql.startswith("ATTACH")
        if self.rng.random() < 0.8:
            self.clear()

    def clear(self):
        """Ends what is under way, when nothing holds it."""
        if self.db.in_transaction:
            self.run("ROLLBACK")
        for table in "tor":
            self.run(f"DROP TABLE IF EXISTS {table}")
        if self.has_attached:
            self.run("DETACH side")
            self.has_attached = False

    def some_path(self):
        patterns = ["survey/*", "**/*.npz", "types/*.npy", "odd/*", "w/*", "shards/shard-{000000..000003}.npy", "gone", "odd/fifo.npy", "bad/00*"]
        files = ["long.npy", "long.npz", "fortran.npy", "crc.npz", "half.npz", "rows.npy", "mixed.npz", "multi.ten", "f", "f"]
        numbered = f"{self.rng.choice(['good', 'bad'])}/{self.rng.randrange(150):03}"
        return self.rng.choice([numbered, numbered, self.rng.choice(files), self.rng.choice(patterns)])

    def take_handles(self):
        found = self.run("SELECT array FROM npy_file(?)", (self.some_path(),))
        self.handles = (self.handles + [handle for (handle,) in found])[-20:]

    def run(self, sql, arguments=()):
        """Runs a statement to its end, or leaves it half-read, or interrupts it; returns the rows that it gave."""
        patience, deadline, ncalls = self.rng.choice([1, 10, 30, 1e9, 1e9]), time.monotonic() + 0.1, 0

        def is_late():
            nonlocal ncalls
            ncalls += 1
            return ncalls > patience or time.monotonic() > deadline

        self.db.set_progress_handler(is_late, 100)
        timer = threading.Timer(self.rng.random() * 0.02, self.db.interrupt) if self.rng.random() < 0.02 else None
        if timer is not None:
            timer.start()
        rows, ending = [], "finished"
        try:
            cursor = self.db.execute(sql, arguments)
            rows = cursor.fetchmany(self.rng.choice([0, 1, 10, 300, 300]))
            if self.rng.random() < 0.1:
                self.cursors.append(cursor)
            ending = "finished" if len(rows) < 300 and cursor.fetchone() is None else "abandoned"
        except sqlite3.Error as error:
            ending = self.judge(sql, arguments, error)
        if timer is not None:
            timer.cancel()
            timer.join()
        self.counts[ending] += 1
        return rows

    def judge(self, sql, arguments, error):
        """How SQLite names the error; one that must not be is noted."""
        name = getattr(error, "sqlite_errorname", type(error).__name__)
        if name not in EXPECTED or "out of memory" in str(error):
            self.faults.append(f"{name}: {error}\n    {sql[:500]}\n    {[str(a)[:80] for a in arguments]}")
        return name


class Work:
    """An endless series of sessions over the files of the current folder."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.small, self.listed = make_folder(self.rng), listed_statements()
        self.counts, self.faults = collections.Counter(), []
        put("f", self.small[0])
        os.link("f", "d/f")

    def session(self):
        """Opens a connection or two, runs some statements, and closes all."""
        sessions = [Session(self.rng, self.small, self.listed, self.counts, self.faults) for _ in range(self.rng.choice([1, 1, 2]))]
        for _ in range(self.rng.choice([0, 5, 20, 40])):
            self.rng.choice(sessions).step()
        for session in sessions:
            session.close()

    @property
    def nstatements(self):
        return sum(self.counts.values())
