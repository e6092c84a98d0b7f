"""Writers of the same paths, in several processes, with random delays between their system calls:
`python3 tests/safety/two_writers.py SECONDS [--writers N] [--delay-ms MS] [--seed SEED]`, or `make two-writers SECONDS=...`.

A round has a folder with a .npy and an .npz. Its writers replace and add to them, with npy_write and with tables, with and
without a database on disk in the same transaction; they roll back, are refused, wait for a database that is locked, and are
killed. Every array tells which transaction wrote it. A reader looks at the files all the time. All of them write to one log,
whose order tells what came before what; a COMMIT has happened at some moment between its two lines there. Then

- what is at a path is at any time the whole of what some transaction has replaced it by, and what others have added since;
- a transaction whose COMMIT said OK is there afterwards, unless one that replaces came later; its row in the database, too;
- rows of a transaction that was rolled back or refused are nowhere;
- no writer is told of anything but that another one adds to the file, or has replaced it;
- nothing is left beside the paths, but by writers that were killed, and that the next writer removes.

With --mix they also write files that nobody replaces, in all other modes (writers_mix.py), and are stopped for a while.
"""

import argparse
import collections
import ctypes
import glob
import io
import json
import math
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))

import numpy as np  # noqa: E402

import shell  # noqa: E402
import writers_mix  # noqa: E402

# Before each of these calls a process sleeps now and then; also after them, when what they have done can be seen. And
# a file system that cannot exchange two names.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t state;
static long one_in, longest_us;
static int has_no_renameat2;

void delays_arm(uint64_t seed, long n, long us, int no_renameat2) {
    state = seed * 2 + 1;
    one_in = n;
    longest_us = us;
    has_no_renameat2 = no_renameat2;
}

static void pause_now_and_then(void) {
    if (one_in == 0)
        return;
    state = state * 6364136223846793005u + 1442695040888963407u;
    if ((state >> 33) % one_in != 0)
        return;
    state = state * 6364136223846793005u + 1442695040888963407u;
    long us = (long)((state >> 33) % (uint64_t)longest_us);
    nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

#define CALL(type, name, parameters, arguments)                          \
    type name parameters {                                               \
        static type (*real) parameters;                                  \
        if (real == NULL)                                                \
            real = (type (*) parameters)dlsym(RTLD_NEXT, #name);         \
        pause_now_and_then();                                            \
        type result = real arguments;                                    \
        int errno_value = errno;                                         \
        pause_now_and_then();                                            \
        errno = errno_value;                                             \
        return result;                                                   \
    }

CALL(int, renameat, (int a, const char *b, int c, const char *d), (a, b, c, d))
CALL(int, linkat, (int a, const char *b, int c, const char *d, int e), (a, b, c, d, e))
CALL(int, unlinkat, (int a, const char *b, int c), (a, b, c))
CALL(int, flock, (int a, int b), (a, b))
CALL(int, fstatat, (int a, const char *b, struct stat *c, int d), (a, b, c, d))
CALL(int, ftruncate, (int a, off_t b), (a, b))
CALL(ssize_t, pwrite, (int a, const void *b, size_t c, off_t d), (a, b, c, d))

int renameat2(int a, const char *b, int c, const char *d, unsigned e) {
    static int (*real)(int, const char *, int, const char *, unsigned);
    if (real == NULL)
        real = (int (*)(int, const char *, int, const char *, unsigned))dlsym(RTLD_NEXT, "renameat2");
    if (has_no_renameat2)
        return errno = EINVAL, -1;
    pause_now_and_then();
    int result = real(a, b, c, d, e), errno_value = errno;
    pause_now_and_then();
    errno = errno_value;
    return result;
}

/* Nothing here depends on the disk itself. */
int fsync(int descriptor) {
    pause_now_and_then();
    return fcntl(descriptor, F_GETFD) < 0 ? -1 : 0;
}

int openat(int folder, const char *path, int flags, ...) {
    static int (*real)(int, const char *, int, ...);
    mode_t mode = 0;
    if (real == NULL)
        real = (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat");
    if (flags & O_CREAT) {
        va_list more;
        va_start(more, flags);
        mode = va_arg(more, mode_t);
        va_end(more);
    }
    pause_now_and_then();
    return real(folder, path, flags, mode);
}
"""

PATHS = ["out.npy", "out.npz"]
FIRST = {"out.npy": (0, 1), "out.npz": (0, 2)}  # what lies there when a round begins
ROUND_SECONDS = 4
# What a writer may be told; more of it would be a fault.
EXPECTED = re.compile(
    "is being written to by another writer|was changed or replaced by another program while it was written to|was made by another writer meanwhile"
    "|is no longer as this table wrote it|the shape says 3 rows, and there are 1|database is locked|refused by the test"
)
Transaction = collections.namedtuple("Transaction", "name path replaces nparts start end outcome")


# --- what a file holds -----------------------------------------------------------------------------------------------


def part(name):
    """The items that a transaction writes: its writer and number, twice in a row of a .npy."""
    return np.array([*name, *name], "<i8")


def parts_of_npy(contents):
    rows = np.lib.format.read_array(io.BytesIO(contents))
    assert rows.dtype == np.dtype("<i8") and rows.shape[1:] == (4,)
    return [tuple(row) for row in rows.tolist()]


def parts_of_npz(contents):
    with zipfile.ZipFile(io.BytesIO(contents)) as archive:
        assert archive.testzip() is None
        members = [np.lib.format.read_array(io.BytesIO(archive.read(name))) for name in archive.namelist()]
        for name, member in zip(archive.namelist(), members):
            assert tuple(int(number) for number in name.split(".")[0].split("_")[:2]) == tuple(member[:2].tolist())
    return [tuple(member.tolist()) for member in members]


def read_file(path):
    """[(transaction, number of its parts)] in the order of the file. One that is extended is not read in one moment: its
    header may count rows that have been taken back when they are come to."""
    for trial in range(20):
        with open(path, "rb") as file:
            contents = file.read()
        try:
            parts = (parts_of_npy if path.endswith(".npy") else parts_of_npz)(contents)
            break
        except Exception as error:
            if trial == 19:
                raise AssertionError(f"{path} is broken: {error!r}") from error
    found = []
    for one in parts:
        assert one[:2] == one[2:], f"{path} holds {one}"
        if not found or found[-1][0] != one[:2]:
            found.append([one[:2], 0])
        found[-1][1] += 1
    return [(name, n) for name, n in found]


# --- writers ---------------------------------------------------------------------------------------------------------


class Writer:
    """One process; its transactions are (number of the writer, 1), (…, 2), ..."""

    def __init__(self, number, log, seed, is_mix):
        self.is_mix = is_mix
        self.number, self.log, self.rng, self.ntransactions = number, log, random.Random(seed), 0
        self.db = self.other = None

    def say(self, *fact):
        os.write(self.log, json.dumps(fact).encode() + b"\n")

    def connect(self):
        name = f"own{self.number}.db"
        self.db, self.other = shell.connect(name), sqlite3.connect(name, isolation_level=None)
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.execute("PRAGMA busy_timeout = 0")
        self.db.execute("CREATE TABLE IF NOT EXISTS t(writer, number)")
        self.ntables = 0

    def close(self):
        self.other.close()
        self.db.close()

    def run(self, end_time):
        self.connect()
        while time.monotonic() < end_time:
            if self.is_mix and self.rng.random() < 0.6:
                writers_mix.work(self)
                continue
            work = self.rng.choice([self.write_at_once, self.use_table, self.use_table, self.use_table, self.use_table])
            work(self.rng.choice(PATHS))
            if self.rng.random() < 0.1:
                self.close()
                self.connect()
        self.close()

    def attempt(self, sql, parameters=()):
        """None, or what the statement was refused by."""
        try:
            self.db.execute(sql, parameters).fetchall()
            return None
        except sqlite3.Error as error:
            self.say("told", str(error))
            return str(error)

    def new_name(self):
        self.ntransactions += 1
        return (self.number, self.ntransactions)

    def write_at_once(self, path):
        name, n = self.new_name(), self.rng.choice([1, 2, 5])
        if path.endswith(".npy"):
            array = ("npy_from_data(?, 'i8', ?)", (np.stack([part(name)] * n).tobytes(), f"[{n}, 4]"))
        else:
            members = io.BytesIO()
            np.savez(members, **{f"{name[0]}_{name[1]}_{i}": part(name) for i in range(n)})
            array = ("?", (members.getvalue(),))
        self.say("start", name, path, True, n)
        refused = self.attempt(f"SELECT * FROM npy_write('{path}', {array[0]})", array[1])
        self.say("end", name, refused is None)

    def insert(self, table, path, name, first, n):
        for i in range(first, first + n):
            if path.endswith(".npy"):
                refused = self.attempt(f"INSERT INTO {table} VALUES (?)", (part(name).tobytes(),))
            else:
                member = (f"{name[0]}_{name[1]}_{i}", part(name).tobytes())
                refused = self.attempt(f"INSERT INTO {table} SELECT ?, npy_from_data(?, 'i8', '[4]')", member)
            if refused:
                return False
        return True

    def use_table(self, path):
        replaces, is_npy = self.rng.random() < 0.5, path.endswith(".npy")
        self.ntables += 1
        table = f"out{self.ntables}"
        shape = ", dtype='i8', shape='[-1, 4]'" if is_npy and replaces else ""
        mode = "w+" if replaces else "a"
        if self.attempt(f"CREATE VIRTUAL TABLE temp.{table} USING npy('{path}', mode='{mode}'{shape})"):
            return
        for _ in range(self.rng.choice([1, 1, 2])):
            if not self.transaction(table, path, replaces):
                break
            replaces = False  # it adds to its own file then
        if self.ntables:  # the connection has not been closed
            self.attempt(f"DROP TABLE {table}")

    def transaction(self, table, path, replaces):
        name, rng = self.new_name(), self.rng
        with_database, n = rng.random() < 0.4, rng.choice([1, 1, 3, 8, 3000 if path.endswith(".npy") else 2])
        self.db.execute("BEGIN")
        if with_database:
            self.db.execute("INSERT INTO t VALUES (?, ?)", name)
        if not self.insert(table, path, name, 0, n):
            self.db.execute("ROLLBACK")
            return False
        how = rng.choice(["commit"] * 6 + ["rollback", "refused", "refused", "close"])
        if how == "rollback":
            self.db.execute("ROLLBACK")
            return False
        if how == "close":
            self.close()
            self.connect()
            return False
        if how == "refused":  # by the last table of the transaction, when this one has taken its place
            own = f"own{self.number}_{self.ntransactions}"
            self.db.execute(f"CREATE VIRTUAL TABLE temp.{own} USING npy('{own}.npy', mode='w+', dtype='u1', shape='[3]')")
            self.db.execute(f"INSERT INTO {own} VALUES (1)")
        is_put_off = with_database and how == "commit" and rng.random() < 0.3
        if is_put_off:
            self.other.execute("BEGIN")
            self.other.execute("SELECT * FROM t").fetchall()
        self.say("start", name, path, replaces, n)
        refused = self.attempt("COMMIT")
        if is_put_off and self.db.in_transaction:
            refused = self.go_on(table, path, name, n)
        elif is_put_off:
            self.other.execute("COMMIT")
        if self.db.in_transaction:
            self.db.execute("ROLLBACK")
        self.say("end", name, refused is None)
        if how == "refused":
            self.db.execute(f"DROP TABLE IF EXISTS {own}")
        return refused is None

    def go_on(self, table, path, name, n):
        """After a COMMIT that was put off: what the transaction is refused by in the end, or None."""
        time.sleep(self.rng.random() * 0.02)
        how = self.rng.choice(["rollback", "commit", "more"])
        nmore = 2 if how == "more" and self.insert(table, path, name, n, 2) else 0
        self.other.execute("COMMIT")
        if how == "rollback" or (how == "more" and nmore == 0):
            self.db.execute("ROLLBACK")
            return "refused by the test"
        self.say("restart", name, n + nmore)
        return self.attempt("COMMIT")


# --- the checks ------------------------------------------------------------------------------------------------------


class Log:
    """What happened to one path or to both, by the positions of the lines."""

    def __init__(self, lines):
        self.looks, self.told, self.killed = [], collections.Counter(), {}
        self.transactions = {name: Transaction(name, path, True, 1, -2, -1, "ok") for path, name in FIRST.items()}
        began = {}
        for at, line in enumerate(lines):
            what, *facts = json.loads(line)
            if what == "start":
                name, path, replaces, nparts = facts
                began[tuple(name)] = Transaction(tuple(name), path, replaces, nparts, at, math.inf, "maybe")
            elif what == "restart":
                began[tuple(facts[0])] = began[tuple(facts[0])]._replace(start=at, nparts=facts[1])
            elif what == "end":
                began[tuple(facts[0])] = began[tuple(facts[0])]._replace(end=at, outcome="ok" if facts[1] else "no")
            elif what == "killed":
                self.killed[facts[0]] = at
            elif what == "look":
                path, before, found = facts
                self.looks.append((path, before, at, [(tuple(name), n) for name, n in found]))
            elif what == "told":
                self.told[re.sub(r"^npyext: \S+: ", "", facts[0])] += 1
        for name, one in began.items():
            if one.outcome == "maybe":
                one = one._replace(end=self.killed[name[0]])
            self.transactions[name] = one

    def check_look(self, path, before, after, found):
        """What a look between two positions may find."""
        label, known = f"{path} at {before}: {found[:3]}...{found[-2:]}", self.transactions
        names = [name for name, _ in found]
        assert len(set(names)) == len(names), f"{label}: twice the same"
        for name, n in found:
            assert name in known, f"{label}: {name} has never got as far as its COMMIT"
            one = known[name]
            assert one.path == path and one.nparts == n and one.start < after, (label, one)
            assert one.outcome != "no" or one.end > before, f"{label}: {name} was taken back and stays: {one}"
        base, added = known[names[0]], [known[name] for name in names[1:]]
        assert base.replaces and not any(one.replaces for one in added), f"{label}: {base}"
        for one in known.values():
            is_later = one.path == path and one.outcome == "ok" and one.start > base.end and one.end < before
            assert not (is_later and one.replaces), f"{label}: {one} came later than {base}"
            assert not is_later or one.name in names, f"{label}: {one} is lost; its COMMIT said OK"
        for i, one in enumerate(added):
            assert one.end > base.start, f"{label}: {one} was there before {base}"
            assert i == 0 or added[i - 1].start < one.end, f"{label}: {added[i - 1]} was added after {one}"

    def check(self):
        for look in self.looks:
            self.check_look(*look)
        for told in self.told:
            assert EXPECTED.search(told), f"a writer was told: {told}"

    def check_databases(self, folder):
        """A row in the database says that the transaction was committed."""
        for path in glob.glob(os.path.join(folder, "own*.db")):
            db = sqlite3.connect(path)
            has_table = db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]  # else it was killed before
            for name in db.execute("SELECT writer, number FROM t") if has_table else []:
                one = self.transactions.get(name)
                assert one is not None and one.outcome in ("ok", "maybe"), f"{path} has {name}, which is {one}"
            db.close()


def look(log, path, lines):
    """Reads a file, and writes down what was found between which lines."""
    before = lines()
    found = read_file(path)
    os.write(log, json.dumps(["look", path, before, found]).encode() + b"\n")


# --- rounds ----------------------------------------------------------------------------------------------------------


class Round:
    def __init__(self, folder, options, delays, rng):
        self.folder, self.options, self.delays, self.rng = folder, options, delays, rng
        self.writers, self.nwriters, self.nkilled = {}, 0, 0
        # how many calls are delayed, and by how much at most; whether the file system is a poorer one
        longest_us = int(options.delay_ms * rng.choice([30, 300, 1000]))
        self.system = (rng.choice([1, 3, 10]), max(longest_us, 1), int(rng.random() < 0.2))
        os.chdir(folder)
        np.save("out.npy", np.stack([part(FIRST["out.npy"])]))
        np.savez("out.npz", **{"0_2_0": part(FIRST["out.npz"])})
        self.stopped = []  # (when it goes on, the writer)
        if options.mix:
            writers_mix.begin(folder)
        self.log = os.open("log", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        self.reader = open("log", "rb")
        self.nlines = 0

    def count_lines(self):
        self.nlines += self.reader.read().count(b"\n")
        return self.nlines

    def start_writer(self, end_time):
        self.nwriters += 1
        number, seed = self.nwriters, self.rng.getrandbits(60)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                if self.delays is not None:
                    self.delays.delays_arm(seed, *self.system)
                Writer(number, self.log, seed, self.options.mix).run(end_time)
                code = 0
            except BaseException as error:
                os.write(self.log, json.dumps(["told", f"fault in writer {number}: {error!r}"]).encode() + b"\n")
            finally:
                os._exit(code)
        self.writers[pid] = number

    def kill_one(self):
        pid = self.rng.choice(list(self.writers))
        self.stopped = [(when, stopped) for when, stopped in self.stopped if stopped != pid]
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.write(self.log, json.dumps(["killed", self.writers.pop(pid)]).encode() + b"\n")
        self.nkilled += 1

    def stop_one(self):
        pid = self.rng.choice(list(self.writers))
        os.kill(pid, signal.SIGSTOP)
        self.stopped.append((time.monotonic() + self.rng.random(), pid))

    def let_go_on(self, now):
        for when, pid in self.stopped:
            if when <= now:
                os.kill(pid, signal.SIGCONT)
        self.stopped = [(when, pid) for when, pid in self.stopped if when > now]

    def run(self, seconds):
        end_time = time.monotonic() + seconds
        kills = self.options.kills and self.rng.random() < 0.7
        for _ in range(self.options.writers):
            self.start_writer(end_time)
        while time.monotonic() < end_time:
            for path in PATHS:
                look(self.log, path, self.count_lines)
            time.sleep(self.rng.random() * 0.02)
            if kills and self.rng.random() < 0.02:
                self.kill_one()
                self.start_writer(end_time)
            if self.options.mix and self.rng.random() < 0.03:
                self.stop_one()
            self.let_go_on(time.monotonic())
        self.let_go_on(math.inf)
        for pid in self.writers:
            os.waitpid(pid, 0)
        for path in PATHS:
            look(self.log, path, self.count_lines)

    def check(self):
        with open("log", "rb") as file:
            lines = file.read().splitlines()
        self.kept = writers_mix.check(lines) if self.options.mix else {}
        log = Log(lines)
        log.check()
        log.check_databases(self.folder)
        left = glob.glob(".*.npyext")
        assert self.nkilled > 0 or not left, f"left beside the files: {left}"
        db = shell.connect()
        for path in PATHS:
            made = "npz_archive('x', npy_from_json('1'))" if path.endswith(".npz") else "npy_from_json('1')"
            db.execute(f"SELECT * FROM npy_write('{path}', (SELECT {made}))").fetchall()
        db.close()
        left = glob.glob(".out.*.npyext")
        assert not left, f"the next writer has left {left}"
        return log

    def close(self):
        os.close(self.log)
        self.reader.close()
        os.chdir("/")


def compile_shim(folder):
    source, library = os.path.join(folder, "delays.c"), os.path.join(folder, "delays.so")
    with open(source, "w") as file:
        file.write(SHIM)
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


def run_rounds(options):
    delays = None
    if options.delay_ms > 0:
        delays = ctypes.CDLL(os.environ["TWO_WRITERS_SHIM"])
        delays.delays_arm.argtypes = [ctypes.c_uint64, ctypes.c_long, ctypes.c_long, ctypes.c_int]
    rng, end_time = random.Random(options.seed), time.monotonic() + options.seconds
    totals = collections.Counter()
    while time.monotonic() < end_time:
        folder = tempfile.mkdtemp(prefix="npyext-writers-")
        one = Round(folder, options, delays, rng)
        try:
            one.run(min(ROUND_SECONDS, max(1, end_time - time.monotonic())))
            log = one.check()
        except BaseException:
            print(f"round {totals['rounds'] + 1} failed ({one.system}); its files are in {folder}", flush=True)
            raise
        one.close()
        shutil.rmtree(folder)
        outcomes = collections.Counter(one.outcome for one in log.transactions.values())
        totals.update({f"commits {outcome}": n for outcome, n in outcomes.items()})
        totals.update({f"told: {told}": n for told, n in log.told.items()})
        totals.update(one.kept)
        totals.update(rounds=1, looks=len(log.looks), killed=one.nkilled)
    for what, n in sorted(totals.items()):
        print(f"{n:9,d} {what}")
    print(f"{totals['rounds']} rounds passed, 0 failed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", type=float, nargs="?", default=20)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--delay-ms", type=float, default=10, help="the longest delay before a system call; 0: none")
    parser.add_argument("--mix", action="store_true", help="files that nobody replaces, too, and writers that are stopped")
    parser.add_argument("--no-kills", dest="kills", action="store_false")
    parser.add_argument("--seed", type=int, default=shell.random_seed())
    options = parser.parse_args()
    print(f"NPYEXT_SEED={options.seed}, {options.writers} writers, delays of up to {options.delay_ms} ms", flush=True)
    if options.delay_ms > 0 and "TWO_WRITERS_SHIM" not in os.environ:
        folder = tempfile.mkdtemp(prefix="npyext-shim-")
        library = compile_shim(folder)
        preloaded = " ".join([*os.environ.get("LD_PRELOAD", "").split(), library])
        environment = dict(os.environ, LD_PRELOAD=preloaded, TWO_WRITERS_SHIM=library, NPYEXT_SEED=str(options.seed))
        done = subprocess.run([sys.executable, "-B", os.path.abspath(__file__), *sys.argv[1:]], env=environment)
        shutil.rmtree(folder)
        sys.exit(done.returncode)
    run_rounds(options)


if __name__ == "__main__":
    main()
