"""tests/sql on the platforms that this machine can run programs of: the wheel's own object, loaded by a shell of the
platform. `make check-platforms`; some minutes, not in CI, where clients_platforms.py asks each of them one question."""

import os
import subprocess
import sys

import pytest

import platforms
import shell


def suite(name):
    """Runs tests/sql with the platform's shell and object; how many passed and failed, and what was said."""
    platform = platforms.built()[name]
    program = "sqlite3" if name == "linux-x64" else platforms.sqlite3(name)
    env = dict(os.environ, SQLITE3=program, NPYEXT_SO=platform.object, NPYEXT_PLATFORM=name)
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-c", os.path.join(shell.TESTS, "pytest.ini"), "-p", "no:cacheprovider"]
    command += [os.path.join(shell.TESTS, "sql", "test_sql.py"), "-k", "test_sql and not by_init"]
    return subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=shell.ROOT, timeout=1800)


@pytest.mark.parametrize("name", platforms.RUN_HERE)
def test_sql_on(name):
    done = suite(name)
    assert done.returncode == 0, done.stdout[-6000:]
    assert " passed" in done.stdout and ", 0 failed" in done.stdout
