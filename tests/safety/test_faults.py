"""Every allocation and every system call of the reading side is made to fail, one after the other: faults.c is
the program that does it, and says what has to hold. NPYEXT_FAULTS=all, as in `make faults`, tries every single one; a sample
is each 23rd call, and a third of the kinds in which system calls fail: others in each run, by its seed."""

import functools
import os
import subprocess

import pytest

import fault_cases
import shell

ALL = os.environ.get("NPYEXT_FAULTS") == "all"
IS_SAMPLE = shell.SAMPLES and not ALL
SAMPLE_STEP = 23
SEED = shell.random_seed()


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The program, built as the extension was: the sanitizers' run time has to be in it."""
    made = str(tmp_path_factory.mktemp("program") / "faults")
    sources = [os.path.join(shell.TESTS, "safety", name) for name in ("faults.c", "inject.c", "remote_functions.c")]
    flags = ["-fsanitize=address,undefined"] if shell.SANITIZED else []
    command = [os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-rdynamic", *flags, "-o", made, *sources, "-lsqlite3", "-ldl"]
    without_preload = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    subprocess.run(command, check=True, env=without_preload)
    return made


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    here = os.getcwd()
    os.chdir(folder)
    fault_cases.make(".")
    os.chdir(here)
    return folder


def inject(program, folder, case, faults, **variables):
    environment = shell.environment(folder) | variables
    environment.pop("LD_PRELOAD", None)
    done = subprocess.run(
        [program, shell.EXTENSION, case.setup, case.script, case.check, *faults],
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=4 * shell.PATIENCE,
    )
    said = done.stderr.decode("utf-8", "backslashreplace")
    code = done.returncode  # alone: pytest shows the whole of what an expression holds
    assert code == 0, f"ended with {code}\n{said}"
    return {fault: tuple(map(int, numbers)) for fault, *numbers in map(str.split, done.stdout.decode().splitlines())}


def spread(case, *faults, first=100):
    """Of those past the first ones a few are tried, and fewer where each try goes through many items."""
    step = 1 if ALL else (97 if shell.SANITIZED else 23) * (10 if "many" in case.name else 1)
    if IS_SAMPLE:
        step, first = SAMPLE_STEP * (20 if "many" in case.name else 1), 1 + SEED % SAMPLE_STEP
    return [f"{fault}/{step},{first}" for fault in faults]


@pytest.mark.parametrize("case", fault_cases.ALL, ids=lambda case: case.name)
def test_no_memory(program, files, case, patience_for):
    patience_for(5 * shell.PATIENCE)  # a statement runs some hundred times
    print(f"NPYEXT_SEED={SEED}")
    faults = ["memory", "memory+"]
    if case.libc and not shell.SANITIZED:
        faults += ["libc", "libc+"]
    tried = inject(program, files, case, spread(case, *faults))
    calls, ntried, nabsorbed, _ = tried[spread(case, "memory")[0]]
    if IS_SAMPLE:
        assert ntried >= (1 if "many" in case.name else calls // SAMPLE_STEP) and nabsorbed < ntried
    else:
        assert ntried >= min(calls, 100) and nabsorbed < max(min(calls, 100), ntried // 3)


ROLLED_BACK = ("rows changed with savepoints", "a ROLLBACK of rows changed", "arrays that are added, read")


@pytest.mark.parametrize("case", [case for case in fault_cases.ALL if case.name in ROLLED_BACK], ids=lambda case: case.name)
def test_a_statement_within_a_statement_took_the_transaction_along(program, files, case, patience_for):
    """Without memory for a SELECT of the extension's own SQLite rolled everything back, and what it had looked up was no more."""
    patience_for(5 * shell.PATIENCE)
    print(f"NPYEXT_SEED={SEED}")
    # The sanitizer sees what is no more, and has each of the first; by itself the release takes a sample of all.
    which = "100,400" if shell.SANITIZED else f"7,{1 + SEED % 7}" if IS_SAMPLE else "1,400"
    inject(program, files, case, [f"memory/{which}", f"memory+/{which}"])


@pytest.mark.parametrize("case", fault_cases.READING, ids=lambda case: case.name)
def test_system_calls(program, files, case):
    print(f"NPYEXT_SEED={SEED}")
    faults = ["EIO", "EIO+", "EMFILE", "EMFILE+", "EINTR", "short", "short+", "end", "end+"]
    has_pattern = any(c in case.script for c in "*{[")
    if not has_pattern:  # what may not be read has no matches
        faults += ["EACCES", "EACCES+"]
    if IS_SAMPLE:
        faults = faults[SEED % 3 :: 3]
    # The system calls of many items are those of the first blocks over and over.
    inject(program, files, case, spread(case, *faults, first=25 if "many items" in case.name else 100))
