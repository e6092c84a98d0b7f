"""`make demo` as somebody does first, on Debian's releases from the oldest supported to what is not released yet, with its
newest compiler and C library: each in a root of its own (`make check-install`; `make check-newest` takes the newest alone).

Needs root, debootstrap and Debian's mirror. A root of the newest cannot always be made, since its packages change from
hour to hour and do not always fit together: with NPYEXT_ROOTS=possible that is told and is no failure."""

import os
import shutil
import subprocess

import pytest

import packages
import shell
from roots_guide import ARCHIVES, FOLDER, PATIENCE, SOURCES, entered, environment, mirror

BUILDS = "gcc,make,libc6-dev,libsqlite3-dev,zlib1g-dev,libminizip-dev,sqlite3"


def root_of(release):
    """The path of a root with what a build needs, or None where none can be made and that is allowed."""
    path = os.path.join(FOLDER, release)
    os.makedirs(ARCHIVES, exist_ok=True)
    if os.path.exists(path):
        return path
    new = path + ".new"
    shutil.rmtree(new, ignore_errors=True)
    command = ["debootstrap", "--variant=minbase", f"--include={BUILDS}", release, new, mirror()]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
    if done.returncode != 0 and os.environ.get("NPYEXT_ROOTS") == "possible":
        print(f"no root of {release} can be made:\n{done.stdout[-1000:]}")
        return None
    assert done.returncode == 0, done.stdout[-3000:]
    os.rename(new, path)
    return path


@pytest.mark.parametrize("release", ["bookworm", "trixie", "sid"])
def test_demo(release, patience_for):
    patience_for(2 * PATIENCE)
    root = root_of(release)
    if root is None:
        return
    sources = f"{root}/{SOURCES}"
    shutil.rmtree(sources, ignore_errors=True)
    files = packages.run("git", "ls-files", "-z").rstrip("\0").split("\0")
    for file in filter(os.path.exists, (os.path.join(shell.ROOT, file) for file in files)):
        to = f"{sources}/{os.path.relpath(file, shell.ROOT)}"
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy(file, to)
    script = f"gcc --version | head -n 1; ldd --version 2>&1 | head -n 1; cd /{SOURCES} && make WERROR=-Werror demo"
    shown = packages.run(*entered(root, "sh", "-c", script), env=environment(), seconds=PATIENCE)
    print(shown[:200])
    assert "Building ./npyext.so" in shown and os.path.exists(f"{sources}/npyext.so")
