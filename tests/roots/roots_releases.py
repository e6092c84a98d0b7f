"""Debian's releases from the oldest supported to what is not released yet, with its newest compiler and C library, each in a
root of its own: `make demo`, as somebody does first, and `make check`, with the SQLite, NumPy and Python of each (`make
check-debian`; `make check-newest` takes the demo on the newest, and Debian's 13 or newest, by the seed, for the tests). Ubuntu's
newest with long support too, where NPYEXT_UBUNTU says where its packages are.

Needs root, debootstrap and Debian's mirror. A root of the newest cannot always be made, since its packages change from hour to
hour and do not always fit together: with NPYEXT_ROOTS=possible that is told and is no failure."""

import os
import re
import shutil
import subprocess
import time

import pytest

import packages
import shell
import small_build
from roots_guide import ARCHIVES, FOLDER, PATIENCE, connect, copy_sources, entered, environment, mirror, SOURCES

BUILDS = "gcc,make,libc6-dev,libsqlite3-dev,zlib1g-dev,libminizip-dev,sqlite3"
CHECKS = "libcmocka-dev,python3,python3-numpy,python3-pytest,python3-pytest-xdist,binutils,pkg-config"
UBUNTU = "resolute"  # 26.04
RELEASES = ["bookworm", "trixie", "sid"] + ([UBUNTU] if "NPYEXT_UBUNTU" in os.environ else [])
NEWER = ["trixie", "sid"]
# In Debian 13 PyTorch has float8 and the unsigned integers, which that of Debian 12 lacks: test_torch.py then reads its files.
MORE = {"trixie": ",python3-torch"}
SAYS_WHAT = """
gcc --version | head -n 1; ldd --version 2>&1 | head -n 1; sqlite3 --version | cut -d ' ' -f 1
! command -v python3 >/dev/null || python3 -c 'import sys, numpy; print("Python", sys.version.split()[0], "NumPy", numpy.__version__)'
"""
# Takes long, and is about us and the kernel, which is this machine's whatever the release: calls that fail, writers that are
# killed or wait for each other, what is derived of pickles, what grows with time, limits of memory, what changes
# while it is read, how much is read. Large arrays go through the same code as those that are left, and test_sqlite_versions.py
# has the comparisons asked on newer SQLite. What a release has of its own, its compiler, C library, SQLite, NumPy and Python,
# takes part in the rest. Left out where one release is taken of several.
ALIKE = [f"safety/test_{name}.py" for name in "crashes faults lost_files derived soak tar_limits degenerate_corpus changing_files".split()]
ALIKE += ["reading/test_random_access.py", "queries/test_comparisons.py"]
LARGE = [f"{file}::{test}" for file, tests in small_build.LARGE.items() for test in tests.split()]


def root_of(release):
    """The path of a root with what a build and the tests need, or None where none can be made and that is allowed."""
    path = os.path.join(FOLDER, release)
    os.makedirs(ARCHIVES, exist_ok=True)
    if not os.path.exists(path) and not made(release, path):
        return None
    with open(f"{path}/etc/apt/apt.conf.d/clock", "w") as file:
        file.write('Acquire::Check-Date "false";\n')  # sid is younger than a clock that is slow
    connect(path)
    copy_sources(path)
    return path


def made(release, path):
    new = path + ".new"
    shutil.rmtree(new, ignore_errors=True)
    command = ["debootstrap", "--variant=minbase", f"--include={BUILDS},{CHECKS}{MORE.get(release, '')}"]
    if release == UBUNTU:
        # Debian has neither its key nor a script of its name: TLS vouches for the packages.
        command += ["--no-check-gpg", "--components=main,universe", release, new]
        command += [os.environ["NPYEXT_UBUNTU"], "/usr/share/debootstrap/scripts/gutsy"]
    else:
        command += [release, new, mirror()]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
    if done.returncode != 0 and os.environ.get("NPYEXT_ROOTS") == "possible":
        print(f"no root of {release} can be made:\n{done.stdout[-1000:]}")
        return False
    assert done.returncode == 0, done.stdout[-3000:]
    os.rename(new, path)
    return True


def make(root, target, env):
    """make in a root; what it prints, and the seconds it took."""
    began = time.monotonic()
    script = f"{SAYS_WHAT} cd /{SOURCES} && make WERROR=-Werror {target}"
    done = subprocess.run(entered(root, "sh", "-c", script), env={**environment(), **env}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=PATIENCE)
    return done, time.monotonic() - began


@pytest.mark.parametrize("release", RELEASES)
def test_demo(release, patience_for):
    patience_for(2 * PATIENCE)
    root = root_of(release)
    if root is None:
        return
    done, _ = make(root, "demo", {})
    print(done.stdout[:200])
    assert done.returncode == 0, done.stdout[-3000:]
    assert "Building ./npyext.so" in done.stdout and os.path.exists(f"{root}/{SOURCES}/npyext.so")


def checked():
    """The releases that `make check` is to pass on: all, or one of the newer ones, each in its turn."""
    if os.environ.get("NPYEXT_RELEASES", "all") == "all":
        return RELEASES
    return [NEWER[shell.random_seed() % len(NEWER)]]


@pytest.mark.parametrize("release", checked())
def test_check(release, patience_for, capfd):
    patience_for(2 * PATIENCE)
    root = root_of(release)
    if root is None:
        return
    env = {"NPYEXT_WORKERS": os.environ.get("NPYEXT_WORKERS", ""), "NPYEXT_SEED": str(shell.random_seed())}
    env.update((name, value) for name, value in os.environ.items() if name.startswith("NPYEXT_") and name.endswith("_SECONDS"))
    if checked() != RELEASES:
        env["PYTEST_ADDOPTS"] = " ".join([*(f"--ignore=tests/{path}" for path in ALIKE), *(f"--deselect={test}" for test in LARGE)])
        env["NPYEXT_REPEATS"] = "1"
        env["NPYEXT_SHARE"] = "2"
    # Whole where each release is asked. One of several asks half of the tests, of these samples, and builds nothing of variable
    # sizes, as what is repeated with other compilers does: the paths are those that `make check-whole` has asked here.
    done, seconds = make(root, "check-whole" if checked() == RELEASES else "check", env)
    totals = re.findall(r"^(\d+) passed, (\d+) failed$", done.stdout, re.M)
    with capfd.disabled():
        versions = ", ".join(done.stdout.split("\n")[:4])
        print(f"\nmake check on {release} ({versions}): {' '.join(totals[-1]) if totals else 'no totals'}, {seconds:.0f} s")
    assert done.returncode == 0 and totals and int(totals[-1][0]) > (3000 if checked() == RELEASES else 2000), done.stdout[-6000:]
