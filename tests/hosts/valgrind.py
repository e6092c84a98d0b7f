"""memcheck: `make check-valgrind`. The unit tests, the scripts of tests/sql, and the fuzzer's statements over files of
each kind, good and spoiled, in the sqlite3 shell. An error is any use of memory that is not ours or not set, and any
block that nothing points to at the end. Nothing is suppressed.
"""

import concurrent.futures
import glob
import os
import random
import re
import subprocess
import sys
import tempfile
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(TESTS, "lib"), os.path.join(TESTS, "fuzz")]

import numpy as np  # noqa: E402

import arrays  # noqa: E402
import make_files  # noqa: E402
import seeds_of_statements as listed  # noqa: E402
import shell  # noqa: E402

FAULT = 98  # no exit code of the shell's or of a test's
VALGRIND = ["valgrind", "-q", f"--error-exitcode={FAULT}", "--leak-check=full", "--show-leak-kinds=definite,indirect",
            "--errors-for-leak-kinds=definite,indirect", "--keep-debuginfo=yes", "--trace-children=no"]
# Tens of thousands of inflated streams and patterns take many minutes here; `make check-sanitized` runs them.
TOO_LONG = {"test_inflate", "test_pattern"}
# valgrind computes 80-bit floats in 64 bits, as its manual says, which these tests notice.
OF_80_BITS = {b"rounded_once", b"floats", b"x87_random"}
PATIENCE = 900


def run_unit(program):
    done = subprocess.run(
        [*VALGRIND, program],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=shell.ROOT,
        env=dict(shell.environment(shell.ROOT), NPYEXT_UNIT_ROUNDS="few"),
        timeout=PATIENCE,
    )
    wrong = set(re.findall(rb"\[  FAILED  \] ([a-z]\w*)", done.stdout))
    if wrong and wrong <= OF_80_BITS and done.returncode == len(wrong):
        done.returncode = 0
    return done


def run_sql(sql, contents=None):
    """SQL in the shell, in a folder of its own; contents are `f` and `d/f` there. Its errors are no matter."""
    with tempfile.TemporaryDirectory(prefix="valgrind") as folder:
        make_files.make(folder)
        os.mkdir(os.path.join(folder, "d"))
        for name in ("f", "d/f"):
            with open(os.path.join(folder, name), "wb") as file:
                file.write(contents or b"")
        done = subprocess.run(
            [*VALGRIND, os.environ.get("SQLITE3", "sqlite3"), "-batch", "-cmd", f".load '{shell.EXTENSION}'", ":memory:"],
            input=sql.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=shell.environment(folder),
            timeout=PATIENCE,
        )
    done.returncode = 0 if done.returncode == 1 else done.returncode  # 1: a statement was wrong
    return done


def jobs():
    """(name, what runs it)."""
    for path in sorted(glob.glob(os.path.join(shell.TESTS, "sql", "*.sql"))):
        with open(path, encoding="utf-8") as script:
            yield os.path.basename(path), lambda sql=script.read(): run_sql(sql)
    rng, values = random.Random(1), np.arange(6.0).reshape(2, 3)
    files = {
        "f8.npy": arrays.npy_bytes(values),
        "structured.npy": arrays.npy_bytes(np.array([(1, 2.5), (3, 4)], [("x", "<i4"), ("y", "<f8")])),
        "text.npy": arrays.npy_bytes(np.array(["ab", "c"])),
        "deflated.npz": arrays.npz_bytes({"a": values, "b": np.arange(9)}, "deflate"),
        "zip64.npz": arrays.npz_bytes({"a": values}, "zip64"),
        "two.ten": arrays.ten_bytes([values, np.arange(4)]),
    }
    for name, contents in files.items():
        yield "statements over " + name, lambda contents=contents: run_sql(listed.script(rng), contents)
    for name in ("f8.npy", "deflated.npz", "two.ten"):
        spoiled = listed.spoiled(rng, files[name])
        yield f"statements over a spoiled {name}", lambda contents=spoiled: run_sql(listed.script(rng), contents)
    for path in sorted(glob.glob(os.path.join(shell.BUILD, "unit", "test_*"))):
        if os.path.basename(path) not in TOO_LONG:
            yield os.path.basename(path), lambda path=path: run_unit(path)


def main():
    began, nfailed = time.monotonic(), 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        running = [(name, pool.submit(work)) for name, work in jobs()]
        for name, future in running:
            done = future.result()
            is_sound = done.returncode == 0 and not re.search(rb"^==\d+== \S", done.stdout, re.M)
            print("ok  " if is_sound else f"FAIL ({done.returncode})", name, flush=True)
            if not is_sound:
                nfailed += 1
                print(done.stdout.decode("utf-8", "backslashreplace")[-6000:])
    print(f"{time.monotonic() - began:.0f} s")
    print(f"{len(running) - nfailed} passed, {nfailed} failed")
    return 1 if nfailed else 0


if __name__ == "__main__":
    sys.exit(main())
