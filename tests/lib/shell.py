"""The sqlite3 shell and Python's sqlite3 module, each with the extension loaded."""

import functools
import os
import re
import shutil
import sqlite3
import subprocess
import time
import zlib

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
# Another build or host repeats what the release has passed (NPYEXT_REPEATS where no variable here tells).
REPEATS = FLAVOUR not in ("release", "coverage") or MAPPED or os.environ.get("NPYEXT_REPEATS") == "1"
# `make check` by itself asks samples of what takes longest, and so does what CI repeats with other compilers, releases and ways
# of reading, and sanitized. `make check-whole` asks all of it, and so does any other target with NPYEXT_WHOLE=1.
SAMPLES = FLAVOUR in ("release", "asan") and os.environ.get("NPYEXT_WHOLE") != "1"
# A test that waits longer than this for a process has found one that hangs.
PATIENCE = 120 if FLAVOUR == "release" else 600


def random_seed():
    """Of what is random in a run: NPYEXT_SEED begins where another run began. Whatever takes one prints it."""
    return int(os.environ.get("NPYEXT_SEED") or time.time_ns() % 2**32)


def is_asked(name):
    """Whether a test is among those of this run: NPYEXT_SHARE=2 asks every second, others with another seed, of what repeats what
    another build asks."""
    return zlib.crc32(f"{os.environ.get('NPYEXT_SEED', '0')} {name}".encode()) % int(os.environ.get("NPYEXT_SHARE", "1")) == 0


def fewer(count):
    """How often a random test is to do what CI does so many times: a third of that where it is only repeated, for every build
    has the same seed and asks the same things again, and where samples are asked."""
    return -(-count // 3) if REPEATS or SAMPLES else count


def some(items, step):
    """Those of a list that are asked where samples are: the first and each step-th after it."""
    return items[::step] if SAMPLES else items


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


def shell_command():
    """Asked for each time: a test of two hosts goes from one shell to the other."""
    return os.environ.get("SQLITE3", "sqlite3")


def is_new_shell():
    """Whether the shell lays tables out as those of SQLite 3.53 and newer do, and shows REALs with 17 digits."""
    return shows_17_digits(shell_command())


@functools.lru_cache(maxsize=None)
def shows_17_digits(command):
    done = subprocess.run([command, "-batch", ":memory:"], input=b".dbconfig fp_digits", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return b"fp_digits 17" in done.stdout


def stable_errors(text):
    """Spell the shell's messages alike, whatever its version: `Error near line N: message`. Older ones tell SQLite's code, too."""
    text = re.sub(r"^(?:Runtime |Parse )?[Ee]rror:? near line (\d+): ?(?:in prepare, |stepping, )?", r"Error near line \1: ", text, flags=re.M)
    if not is_new_shell():
        text = re.sub(r"^(Error near line .*) \([1-9]\d*\)$", r"\1", text, flags=re.M)
    # The excerpt of the statement that newer shells show below a parse error.
    return re.sub(r"^  .*\n +(?:\^--- )?error here(?: ---\^)?\n", "", text, flags=re.M)


def left_aligned(text):
    """The columns and boxes of a new shell as older ones lay them out: headers and numbers on the left. What is compared with
    this goes through lines()."""
    text = text.translate(str.maketrans("\u256d\u256e\u2570\u256f\u255e\u2550\u256a\u2561", "\u250c\u2510\u2514\u2518\u251c\u2500\u253c\u2524"))
    shown = text.split("\n")
    rules = [i for i, line in enumerate(shown) if i > 0 and re.fullmatch(r"-+(?:  -+)*", line)]
    for at, after in zip(rules, [*rules[1:], len(shown) + 1]):
        columns = [match.span() for match in re.finditer("-+", shown[at])]
        for i in range(at - 1, after - 1):
            cells = None if i == at else cells_of(shown[i], columns, i < at)
            if i > at and cells is None:
                break
            if cells is not None:
                shown[i] = "  ".join(cell.ljust(end - begin) for cell, (begin, end) in zip(cells, columns)).rstrip()
    return "\n".join(shown)


def lines(text):
    """Without the blanks after them, which older shells have in the last column."""
    return [line.rstrip() for line in text.splitlines()]


def cells_of(line, columns, is_header):
    """The texts of a row, or None of what is no row of these columns."""
    line = line.ljust(columns[-1][1])
    gaps = [line[end:begin] for (_, end), (begin, _) in zip(columns, columns[1:])] + [line[columns[-1][1] :]]
    if "".join(gaps).strip() or not line.strip():
        return None
    cells = [line[begin:end] for begin, end in columns]
    return [cell.strip() if is_header or re.fullmatch(r" +(?:[-+.e\d]+|-?Inf)", cell) else cell.rstrip() for cell in cells]


def run(sql, folder, *options, digits=15):
    """The shell's standard output and error, in order, for SQL read in a folder; exit codes are the shell's habit
    and told by the messages, but a signal is a failure. What newer shells show otherwise is shown as before."""
    command = ["stdbuf", "-o0", shell_command(), "-batch", *options]
    if is_new_shell():
        command += ["-cmd", ".output /dev/null", "-cmd", f".dbconfig fp_digits {digits}", "-cmd", ".output stdout"]
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
    text = printed(done.stdout)
    assert done.returncode in (0, 1), f"the shell ended with {done.returncode}:\n{text}"
    return text


def printed(output):
    """What a shell printed, as the older ones do."""
    text = output.decode("utf-8", "backslashreplace").replace("\r\n", "\n")
    return stable_errors(left_aligned(text) if is_new_shell() else text)
