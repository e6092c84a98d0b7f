"""The sqlite3 shell and Python's sqlite3 module, each with the extension loaded."""

import os
import re
import shutil
import sqlite3
import subprocess
import time

LIB = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(LIB)
ROOT = os.path.dirname(TESTS)
FLAVOUR = os.environ.get("NPYEXT_FLAVOUR", "release")
SANITIZED = FLAVOUR == "asan"
# Files are mapped: bytes_read counts every look at one, and none is copied.
MAPPED = os.environ.get("NPYEXT_MMAP") == "1"
BUILD = os.path.join(ROOT, ".build", FLAVOUR)
EXTENSION = os.path.abspath(
    os.environ.get("NPYEXT_SO") or os.path.join(ROOT if FLAVOUR == "release" else BUILD, "npyext.so")
)
# A test that waits longer than this for a process has found one that hangs.
PATIENCE = 120 if FLAVOUR == "release" else 600


def random_seed():
    """Of what is random in a run: NPYEXT_SEED begins where another run began. Who takes one prints it."""
    return int(os.environ.get("NPYEXT_SEED") or time.time_ns() % 2**32)


def connect(database=":memory:", entry_point=None):
    """A connection with the extension loaded, through an entry point that is named or the usual one."""
    connection = sqlite3.connect(database, isolation_level=None)
    connection.enable_load_extension(True)
    load(connection, entry_point)
    return connection


def load(connection, entry_point=None):
    if entry_point is None:
        connection.load_extension(EXTENSION)
    else:
        connection.execute("SELECT load_extension(?, ?)", (EXTENSION, entry_point))


def environment(folder):
    """For processes other than Python, which is the only one that leaks by itself; no start-up files are read."""
    values = dict(os.environ, HOME=str(folder), LC_ALL="C.UTF-8", TZ="UTC")
    values.pop("LD_LIBRARY_PATH", None)  # the shell insists on the SQLite that it was made with
    if SANITIZED:
        # An exit code that no program under test has of its own.
        values.update(ASAN_OPTIONS="detect_leaks=1:exitcode=99", UBSAN_OPTIONS="exitcode=99:print_stacktrace=1")
    if FLAVOUR == "tsan":
        values.update(TSAN_OPTIONS="exitcode=99:history_size=7")
    return values


def stable_errors(text):
    """Spell the shell's messages alike, whatever its version: `Error near line N: message (code)`."""
    text = re.sub(r"^(?:Runtime |Parse )?[Ee]rror:? near line (\d+): ?(?:in prepare, |stepping, )?", r"Error near line \1: ", text, flags=re.M)
    text = re.sub(r"^(Error near line .*) \(1\)$", r"\1", text, flags=re.M)
    # The excerpt of the statement that newer shells show below a parse error.
    return re.sub(r"^  .*\n +(?:\^--- )?error here(?: ---\^)?\n", "", text, flags=re.M)


def run(sql, folder, *options):
    """The shell's standard output and error, in order, for SQL read in a folder; exit codes are the shell's habit
    and told by the messages, but a signal is a failure."""
    command = ["stdbuf", "-o0", os.environ.get("SQLITE3", "sqlite3"), "-batch", *options]
    command += ["-cmd", f".load '{EXTENSION}'", ":memory:"]
    assert shutil.which(command[2]), f"there is no {command[2]}"
    done = subprocess.run(
        command,
        input=sql.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=environment(folder),
        timeout=PATIENCE,
    )
    text = done.stdout.decode("utf-8", "backslashreplace").replace("\r\n", "\n")
    assert done.returncode in (0, 1), f"the shell ended with {done.returncode}:\n{text}"
    return stable_errors(text)
