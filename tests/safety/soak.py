"""Soak: random statements over good and bad files in one process, which must end with no more memory, files or threads
than it had: `python3 tests/safety/soak.py SECONDS [SEED]`, or `make soak SECONDS=...`.

The time is cut into windows, at whose ends every connection is closed and the process measured. A quarter of them warm it
up. After that:

- SQLite's memory, which is all of the extension's but zlib's and minizip's, is what it was, to the byte;
- so are the numbers of open files, threads and mapped files; no temporary file is left in the folder;
- the C library's memory in use (zlib, minizip, stdio, SQLite and Python's larger objects) and resident memory are flat: the
  median of the last third of the windows exceeds that of the first third by no more than LEAK bytes a statement and a NOISE
  that does not depend on time.

Under a sanitizer, whose allocator keeps what is freed, resident memory is only printed.
"""

import ctypes
import gc
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))

import shell  # noqa: E402
import soak_work  # noqa: E402

# Of what may be added: bytes a statement, and bytes whatever the time. Python 3.14 takes some 40 KB of its own in the first
# half minute, and no more in the second.
LEAK = {"heap": 0.5, "resident": 20}
NOISE = {"heap": 8 << 10 if sys.version_info < (3, 14) else 64 << 10, "resident": 4 << 20}
EXACT = ["sqlite", "files", "threads", "maps", "leftovers"]


class Mallinfo2(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


libc = ctypes.CDLL(None)
sqlite = ctypes.CDLL("libsqlite3.so.0")
sqlite.sqlite3_memory_used.restype = ctypes.c_int64


def heap_in_use():
    """Bytes that malloc has handed out."""
    if shell.SANITIZED:
        libc.__sanitizer_get_current_allocated_bytes.restype = ctypes.c_size_t
        return libc.__sanitizer_get_current_allocated_bytes()
    libc.mallinfo2.restype = Mallinfo2
    found = libc.mallinfo2()
    return found.uordblks + found.hblkhd


def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS:"))


def mapped_files(folder):
    with open("/proc/self/maps") as maps:
        return sum(f" {folder}/" in line for line in maps)


def leftovers(folder):
    """How many files a writer, or SQLite, made for its own use and left."""
    return sum(name.endswith((".npyext", "-journal", "-wal")) for _, _, found in os.walk(folder) for name in found)


def figures(folder):
    """With no connection open."""
    gc.collect()
    libc.malloc_trim(0)
    return {
        "sqlite": sqlite.sqlite3_memory_used(),
        "heap": heap_in_use(),
        "resident": resident(),
        "files": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
        "maps": mapped_files(folder),
        "leftovers": leftovers(folder),
    }


def soak(seconds, seed, folder):
    """The work, and [(statements so far, figures)] of each window."""
    work, windows = soak_work.Work(seed), []
    window_seconds = max(0.2, min(30, seconds / 40))
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        until = time.monotonic() + window_seconds
        while time.monotonic() < until:
            work.session()
        windows.append((work.nstatements, figures(folder)))
    return work, windows


def growth(windows, name):
    """How much a figure grew between the first and the last third of the windows, and over how many statements."""
    third = max(1, len(windows) // 3)
    first, last = windows[:third], windows[-third:]
    median = lambda part: (statistics.median(n for n, _ in part), statistics.median(found[name] for _, found in part))
    (first_n, first_value), (last_n, last_value) = median(first), median(last)
    return last_value - first_value, last_n - first_n


def checks(work, windows):
    """(what is asked, whether it is so, the figures)."""
    warm = windows[len(windows) // 4 :]
    for name in EXACT:
        found = sorted({values[name] for _, values in warm})
        yield f"{name}: the same after each window", len(found) == 1 and (name not in ("maps", "leftovers") or found == [0]), f"{found[0]} to {found[-1]}"
    for name, noise in NOISE.items():
        grown, n = growth(warm, name)
        is_flat = grown <= noise + LEAK[name] * n or (shell.SANITIZED and name == "resident")
        values = f"{warm[0][1][name]} to {warm[-1][1][name]}; the medians {grown:+.0f} bytes over {n:.0f} statements"
        yield f"{name}: flat", is_flat, values
    yield "every statement ended as a statement may", not work.faults, f"{len(work.faults)} did not"
    yield "statements finished, were abandoned, interrupted and wrong", all(
        work.counts[ending] > 0 for ending in ("finished", "abandoned", "SQLITE_INTERRUPT", "SQLITE_ERROR")
    ), f"{work.nstatements} in all"


def main(seconds, seed):
    print(f"soak: {seconds:g} s, seed {seed}, {os.path.relpath(shell.EXTENSION)}, SQLite {sqlite3.sqlite_version}", flush=True)
    outer = os.path.realpath(tempfile.mkdtemp(prefix="soak"))
    folder = os.path.join(outer, "folder")  # `../f` is written, too
    os.mkdir(folder)
    os.chdir(folder)
    try:
        work, windows = soak(seconds, seed, folder)
        results = list(checks(work, windows))
    finally:
        os.chdir("/")
        shutil.rmtree(outer)
    for ending, count in work.counts.most_common():
        print(f"{count:10} {ending}")
    for n, found in [windows[len(windows) // 4], windows[-1]]:
        print(f"after {n} statements:", ", ".join(f"{name} {value}" for name, value in found.items()))
    for fault in work.faults[:20]:
        print("not expected:", fault)
    for what, is_so, values in results:
        print("ok  " if is_so else "FAIL", what, f"({values})")
    passed = sum(is_so for _, is_so, _ in results)
    print(f"{passed} passed, {len(results) - passed} failed")
    return 0 if passed == len(results) else 1


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else shell.random_seed()))
