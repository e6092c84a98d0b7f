"""The C unit tests: each tests/unit/test_*.c is a cmocka program, each of its tests is one here.

`make check-unit` builds the programs. A program runs once; what it says of each test is looked up afterwards.
Environment: NPYEXT_RUNNER is the command that runs programs of another host; NPYEXT_UNITS names some programs, otherwise all run.
"""

import functools
import glob
import os
import re
import subprocess

import pytest

import shell


def programs():
    if "NPYEXT_UNITS" in os.environ:
        return os.environ["NPYEXT_UNITS"].split()
    return [os.path.basename(path)[:-2] for path in sorted(glob.glob(os.path.join(shell.TESTS, "unit", "test_*.c")))]


def names_in(program):
    """The tests that a program's source names."""
    with open(os.path.join(shell.TESTS, "unit", program + ".c")) as source:
        return re.findall(r"\bcmocka_unit_test(?:_\w+)?\(\s*(\w+)", source.read())


@functools.lru_cache(maxsize=None)
def run(program):
    """The exit code, the whole output, and {test: what it printed if it failed, None if it passed}."""
    path = os.path.join(shell.BUILD, "unit", program)
    assert os.path.exists(path), f"{path} is not built; `make check-unit` builds it"
    done = subprocess.run(
        [*os.environ.get("NPYEXT_RUNNER", "").split(), path],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=(dict(NPYEXT_UNIT_ROUNDS="few") if shell.SAMPLES else {}) | shell.environment(shell.ROOT),
        cwd=shell.ROOT,
        timeout=shell.PATIENCE,
    )
    output = done.stdout.decode("utf-8", "backslashreplace")
    results, name, said = {}, None, []
    for line in output.splitlines():
        mark = re.match(r"\[ +(RUN|OK|FAILED|SKIPPED|ERROR) +\] (\w+)", line)
        if not mark:
            said.append(line)
        elif mark[1] == "RUN":
            name, said = mark[2], []
            results[name] = "the program ended in this test\n" + output
        elif mark[2] == name:
            results[name] = None if mark[1] == "OK" else "\n".join([*said, line])
            name = None
    return done.returncode, output, results


@pytest.mark.parametrize("program, test", [(program, test) for program in programs() for test in names_in(program)])
def test_unit(program, test):
    _, output, results = run(program)
    assert test in results, f"did not run:\n{output}"
    assert results[test] is None, results[test]


@pytest.mark.parametrize("program", programs())
def test_program_ends_well(program):
    """Leaks and group set-up failures show in the exit code alone; tests made by macros are not found by name."""
    code, output, results = run(program)
    assert code == 0, output
    assert set(names_in(program)) <= set(results) and results, output
