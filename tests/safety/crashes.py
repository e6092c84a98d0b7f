"""Writers that are killed, and system calls that fail, for test_crashes.py.

A server process runs with a small library preloaded that stands before the system calls that change files, and forks
a child for every run. The child arms the library (the call number `at` of those named, or of any, kills it or fails)
and writes states of a file, one transaction each.
"""

import ctypes
import errno
import glob
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))

import shell  # noqa: E402

SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { KILL = -1, TEAR = -2, SHORT = -3 }; /* others are values of errno */

static char armed_name[16];
static int is_armed;
static long armed_at, ncalls;
static int armed_action, armed_persists;

void crash_arm(const char *name, long at, int action, int persists) {
    is_armed = name != NULL;
    strncpy(armed_name, is_armed ? name : "", sizeof armed_name - 1);
    armed_at = at;
    armed_action = action;
    armed_persists = persists;
    ncalls = 0;
}

long crash_count(void) { return ncalls; }

static int take(const char *name) {
    if (!is_armed || (*armed_name != '\0' && strcmp(name, armed_name) != 0))
        return 0;
    ncalls++;
    if (ncalls != armed_at && !(armed_persists && ncalls > armed_at && armed_at > 0))
        return 0;
    if (armed_action == KILL)
        kill(getpid(), SIGKILL);
    return armed_action;
}

#define REAL(type, name, ...)                                    \
    static type (*real)(__VA_ARGS__);                            \
    if (real == NULL)                                            \
        real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

#define FAIL(action) if (action != 0) return errno = action, -1

#define PWRITE(name)                                                               \
    ssize_t name(int fd, const void *bytes, size_t nbytes, off_t off) {            \
        REAL(ssize_t, #name, int, const void *, size_t, off_t);                    \
        int action = take("pwrite");                                               \
        if (action == SHORT || action == TEAR) {                                   \
            size_t part = (nbytes + 1) / 2;                                          \
            if (action == TEAR) /* the kernel writes what lies on one page whole */ \
                part -= part % 4096;                                               \
            ssize_t n = part > 0 ? real(fd, bytes, part, off) : 0;                 \
            if (action == TEAR)                                                    \
                kill(getpid(), SIGKILL);                                           \
            return n;                                                              \
        }                                                                          \
        FAIL(action);                                                              \
        return real(fd, bytes, nbytes, off);                                       \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

#define FTRUNCATE(name)                        \
    int name(int fd, off_t nbytes) {           \
        REAL(int, #name, int, off_t);          \
        int action = take("ftruncate");        \
        FAIL(action);                          \
        return real(fd, nbytes);               \
    }
FTRUNCATE(ftruncate)
FTRUNCATE(ftruncate64)

/* Nothing here depends on the disk itself: what a killed process has written is in the kernel. */
int fsync(int fd) {
    int action = take("fsync");
    FAIL(action);
    return fcntl(fd, F_GETFD) < 0 ? -1 : 0;
}

int linkat(int from, const char *a, int to, const char *b, int flags) {
    REAL(int, "linkat", int, const char *, int, const char *, int);
    int action = take("linkat");
    FAIL(action);
    return real(from, a, to, b, flags);
}

int renameat(int from, const char *a, int to, const char *b) {
    REAL(int, "renameat", int, const char *, int, const char *);
    int action = take("renameat");
    FAIL(action);
    return real(from, a, to, b);
}

int renameat2(int from, const char *a, int to, const char *b, unsigned flags) {
    REAL(int, "renameat2", int, const char *, int, const char *, unsigned);
    int action = take("renameat");
    FAIL(action);
    return real(from, a, to, b, flags);
}

int unlinkat(int folder, const char *name, int flags) {
    REAL(int, "unlinkat", int, const char *, int);
    int action = take("unlinkat");
    FAIL(action);
    return real(folder, name, flags);
}

/* Opening changes nothing: it is counted when it is asked for by its name; making a file does. */
int openat(int folder, const char *name, int flags, ...) {
    REAL(int, "openat", int, const char *, int, ...);
    mode_t mode = 0;
    if (flags & O_CREAT) {
        va_list more;
        va_start(more, flags);
        mode = va_arg(more, mode_t);
        va_end(more);
    }
    if (flags & O_CREAT) {
        int action = take("creat");
        FAIL(action);
    }
    if (*armed_name != '\0') {
        int action = take("openat");
        FAIL(action);
    }
    return real(folder, name, flags, mode);
}

int fchmod(int fd, mode_t mode) {
    REAL(int, "fchmod", int, mode_t);
    int action = take("fchmod");
    FAIL(action);
    return real(fd, mode);
}
"""

ACTIONS = {"kill": -1, "tear": -2, "short": -3}


# --- what is written -------------------------------------------------------------------------------------------------

NCOLUMNS = 4096


def rows_of(state):
    """The rows of NCOLUMNS float64 that a transaction adds. Most pass the buffer of 256 KiB: some of them are in the
    file before the COMMIT then."""
    return [bytes([state, i + 1, 1, 1, 1, 1, 1, 1]) * NCOLUMNS for i in range([3, 11, 9, 17][state % 4])]


# The float64 of a file whose rows change: two windows of 256 KiB (NPYX_EDIT_WINDOW_NBYTES), and a part of one.
NITEMS = 70_000
# Each of so many is changed, which is in all of the windows.
CHANGED = 7


MAXCOUNT = 2


def samples_of(state):
    """The samples that a transaction adds to shards. Some pass the buffer of 256 KiB: they are in the file before the COMMIT."""
    return [(f"{state}_{i}", {"bin": bytes([state, i]) * (150_000 if i in (0, 3) else 700)}) for i in range(5)]


class Form:
    """A file, and the transactions that bring it from state to state; state 0 lies there before."""

    def __init__(self, path, mode):
        self.path, self.mode = path, mode
        self.is_npy = path.endswith(".npy") and mode is not None
        self.bad_statement = "INSERT INTO out VALUES (NULL)" if self.is_npy else "INSERT INTO out VALUES (NULL, NULL)"

    def open(self, db):
        shape = f", dtype='f8', shape='[-1, {NCOLUMNS}]'" if self.is_npy and self.mode == "w+" else ""
        if self.mode is not None:
            db.execute(f"CREATE VIRTUAL TABLE temp.out USING npy('{self.path}', mode='{self.mode}'{shape})")

    def contents(self):
        return contents(self.path)

    def array(self, state):
        """An expression for the array of a state, and its parameters."""
        rows = rows_of(state)
        return "npy_from_data(?, 'f8', ?)", (b"".join(rows), f"[{len(rows)}, {NCOLUMNS}]")

    def insert(self, db, state):
        if self.is_npy:
            db.executemany("INSERT INTO out VALUES (?)", ((row,) for row in rows_of(state)))
        else:
            array, parameters = self.array(state)
            db.execute(f"INSERT INTO out SELECT ?, {array}", (f"s{state}", *parameters))

    def write(self, db, state, before_commit=lambda: None):
        """A transaction that ends in a state."""
        if self.mode is None:
            before_commit()
            array, parameters = self.array(state)
            db.execute(f"SELECT bytes FROM npy_write(?, {array})", (self.path, *parameters)).fetchall()
            return
        db.execute("BEGIN")
        self.insert(db, state)
        before_commit()
        db.execute("COMMIT")


class Changed(Form):
    """A file whose rows change."""

    def __init__(self, path):
        super().__init__(path, "r+")
        self.bad_statement = "UPDATE out SET value = 'x'"

    def open(self, db):
        db.execute("PRAGMA temp_store = memory")  # the calls that are counted are ours
        super().open(db)

    def insert(self, db, state):
        db.execute(f"UPDATE out SET value = rowid * 1000.0 + ? WHERE rowid % {CHANGED} = 0", (state,))


class Shards(Form):
    """A set of shards of two samples. A transaction adds five: to the last shard, and in new ones."""

    def open(self, db):
        db.execute(f"CREATE VIRTUAL TABLE temp.out USING wds('{self.path}', mode='{self.mode}', columns='bin', maxcount={MAXCOUNT})")

    def insert(self, db, state):
        db.executemany("INSERT INTO out(__key__, bin) VALUES (?, ?)", ((key, parts["bin"]) for key, parts in samples_of(state)))

    def contents(self):
        return {path: contents(path) for path in sorted(glob.glob(self.path.replace("%d", "*")))}


FORMS = {
    "w+ npy": Form("out.npy", "w+"),
    "w+ npz": Form("out.npz", "w+"),
    "w+ ten": Form("out.ten", "w+"),
    "a npy": Form("out.npy", "a"),
    "a npz": Form("out.npz", "a"),
    "a ten": Form("out.ten", "a"),
    "npy_write": Form("out.npy", None),
    "r+ npy": Changed("out.npy"),
}
SHARDS = {"w+": Shards("out-%d.tar", "w+"), "a": Shards("out-%d.tar", "a")}


# --- children --------------------------------------------------------------------------------------------------------


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def armed(library, run):
    library.crash_arm(run["call"].encode(), run["at"], run["action"], run["persists"])


def disarmed(library):
    """How many calls there were."""
    count = library.crash_count()
    library.crash_arm(None, 0, 0, 0)
    return count


def write(form, library, run, report):
    """The states, each in a transaction; reports the one that is about to be committed, and that it was."""
    db = shell.connect()
    form.open(db)
    armed(library, run)
    for state in range(run["first"], run["last"] + 1):
        form.write(db, state, lambda: report(["trying", state]))
        report(["done", state])
    report(["calls", disarmed(library)])
    db.close()


def write_and_try_again(form, library, run, report):
    """The states; one whose transaction fails is written again by the same connection. Reports what came of each."""
    db = shell.connect()
    form.open(db)
    for state in range(run["first"], run["last"] + 1):
        files, before, descriptors = os.listdir("."), form.contents(), os.listdir("/proc/self/fd")
        facts = {"error": None}
        armed(library, run)
        try:
            form.write(db, state)
        except sqlite3.Error as error:
            facts["error"] = str(error)
        facts["calls"] = disarmed(library)
        if facts["error"] is not None:
            if db.in_transaction:
                db.execute("ROLLBACK")
            facts["is_as_before"] = form.contents() == before
            facts["new_files"] = sorted(set(os.listdir(".")) - set(files))
            facts["new_descriptors"] = len(os.listdir("/proc/self/fd")) - len(descriptors)
            form.write(db, state)
        report(facts)
    db.close()


def go_back_to_a_savepoint(form, library, run, report):
    """A state after a savepoint that cannot be gone back to; then one that can."""
    db = shell.connect()
    form.open(db)
    db.execute("BEGIN")
    if run["first"] == 3:  # a return to where there were no rows gives up the file
        form.insert(db, 3)
    db.execute("SAVEPOINT a")
    form.insert(db, 1)
    armed(library, run)
    report(error_of(db, "ROLLBACK TO a"))
    disarmed(library)
    report(error_of(db, "COMMIT"))
    form.write(db, 2)
    db.close()


def write_with_a_database(form, library, run, report):
    """A state in a transaction that a database on disk takes part in, then another one."""
    db = shell.connect("own.db")
    db.execute("CREATE TABLE t(x)")
    form.open(db)
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES (1)")
    form.insert(db, 1)
    armed(library, run)
    report(error_of(db, "COMMIT"))
    disarmed(library)
    told = error_of(db, form.bad_statement)
    report(told)
    report(db.execute("SELECT count(*) FROM t").fetchone()[0])
    if form.mode == "w+" and "were lost" in (told or ""):  # what it had written before is not there
        go_on_anew(form, db)
    form.write(db, 2)
    db.close()


def go_on_anew(form, db):
    """A table of mode 'w+' may only go on where the file is as it has written it: else it says so."""
    try:
        form.write(db, 2)
    except sqlite3.Error as error:
        assert "is no longer as this table wrote it; drop the table and create it again" in str(error), error
    else:
        raise AssertionError("goes on with a file that is another one's")
    db.execute("ROLLBACK")
    db.execute("DROP TABLE out")
    form.open(db)


def error_of(db, sql):
    try:
        db.execute(sql)
    except sqlite3.Error as error:
        return str(error)
    return None


WORK = {
    "write": write,
    "write and try again": write_and_try_again,
    "go back to a savepoint": go_back_to_a_savepoint,
    "write with a database": write_with_a_database,
}


# --- the server ------------------------------------------------------------------------------------------------------


def serve(path):
    """Runs children as standard input asks; what they report is followed by how they ended, as a line of JSON."""
    library = ctypes.CDLL(path)
    library.crash_arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int]
    library.crash_count.restype = ctypes.c_long
    for line in sys.stdin:
        run = json.loads(line)
        reader, writer = os.pipe()
        begun = time.monotonic()
        pid = os.fork()
        if pid == 0:
            os.close(reader)
            code = 1
            report = lambda fact: os.write(writer, json.dumps(fact).encode() + b"\n")
            try:
                os.chdir(run["folder"])
                WORK[run["work"]]({**FORMS, **SHARDS}[run["form"]], library, run, report)
                code = 0
            except BaseException as error:
                report(["fault", repr(error)])
            finally:
                os._exit(code)
        os.close(writer)
        if "seconds" in run:
            time.sleep(run["seconds"])
            os.kill(pid, signal.SIGKILL)
        with os.fdopen(reader) as lines:
            reports = [json.loads(line) for line in lines if line.endswith("\n")]
        _, status = os.waitpid(pid, 0)
        end = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        print(json.dumps({"reports": reports, "end": end, "seconds": time.monotonic() - begun}), flush=True)


class Server:
    """The process that forks writers."""

    def __init__(self, folder):
        source, library = os.path.join(folder, "shim.c"), os.path.join(folder, "shim.so")
        with open(source, "w") as file:
            file.write(SHIM)
        command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"]
        subprocess.run(command, check=True)
        # AddressSanitizer must come first, and stands before the system calls itself: it calls the shim then.
        preloaded = [*os.environ.get("LD_PRELOAD", "").split(), library]
        environment = dict(os.environ, LD_PRELOAD=" ".join(preloaded))
        self.process = subprocess.Popen(
            [sys.executable, "-B", os.path.abspath(__file__), library],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )

    def run(self, work, form, folder, first, last, call="", at=0, action="kill", persists=False, **more):
        """What a child reported; its exit code, or the signal below 0 that ended it; its seconds. An empty call is any
        of them; seconds=N kills the child after that time."""
        action = ACTIONS[action] if action in ACTIONS else getattr(errno, action)
        run = {"work": work, "form": form, "folder": str(folder), "first": first, "last": last, "call": call, "at": at}
        run.update(action=action, persists=int(persists), **more)
        self.process.stdin.write(json.dumps(run) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"the server has ended with {self.process.poll()}"
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


if __name__ == "__main__":
    serve(sys.argv[1])
