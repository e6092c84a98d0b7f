"""tests/sql and the unit tests on the platforms that this machine can run programs of: the wheel's own object, loaded by a
shell of the platform, and the codec compiled for it. `make check-platforms`; some minutes, not in CI, where
clients_platforms.py asks each of them one question."""

import os
import re
import subprocess
import sys

import pytest

import platforms
import shell


@pytest.fixture(autouse=True)
def patience(patience_for):
    """Whoever comes first builds for all platforms."""
    patience_for(10 * shell.PATIENCE)


def suite(name, chosen, **more):
    """Runs tests of tests/sql with the platform's shell and object."""
    platform = platforms.built()[name]
    program = "sqlite3" if name == "linux-x64" else platforms.sqlite3(name)
    env = dict(os.environ, SQLITE3=program, NPYEXT_SO=platform.object, **more)
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-c", os.path.join(shell.TESTS, "pytest.ini"), "-p", "no:cacheprovider"]
    command += [os.path.join(shell.TESTS, "sql", "test_sql.py"), "-k", chosen]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=shell.ROOT, timeout=1800)
    assert done.returncode == 0, done.stdout[-6000:]
    assert re.search(r"^[1-9][0-9]* passed, 0 failed$", done.stdout, re.M), done.stdout


@pytest.mark.parametrize("name", platforms.RUN_HERE)
def test_sql_on(name):
    suite(name, "test_sql and not by_init and not sources")


@pytest.mark.parametrize("name", platforms.RUN_HERE)
def test_sources_on(name):
    """Wine lists a FIFO as if it were a file; Windows has none in folders."""
    suite(name, "test_sql and sources", **({"NPYEXT_NO_FIFO": "1"} if name == "win32-x64" else {}))


OTHERS = [name for name in platforms.RUN_HERE if name != "linux-x64"]


@pytest.mark.parametrize("name, test", [(name, test) for name in OTHERS for test in platforms.unit_tests(name)])
def test_unit_on(name, test, tmp_path):
    said = platforms.run_unit_test(name, test, str(tmp_path))
    assert re.search(r"\[  PASSED  \] [1-9][0-9]* test\(s\)", said) and "FAILED" not in said, said
