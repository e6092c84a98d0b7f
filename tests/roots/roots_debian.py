"""The Debian packages from nothing (`make check-install`): built in a fresh Debian, looked through by lintian, installed in
another one that has never seen the sources, and taken away again. roots_guide.py follows the guide's section of them."""

import glob
import os
import re
import shutil

import pytest

import install_guide
import packages
import shell
from roots_guide import PATIENCE, SOURCES, bare, connect, entered, environment, root  # noqa: F401

SECTION = "Debian package"
BUILD = f"""
set -eu
cd /{SOURCES}
apt-get install -y make dpkg-dev python3
make debian
cd .build/debian
apt-get build-dep -y ./npyext_*.dsc
sha256sum npyext_* > made
(cd npyext-*/ && dpkg-buildpackage -us -uc)
sha256sum -c made
"""
# There is no bug of Debian's that asks for this package.
LINTIAN = f"""
set -eu
apt-get install -y lintian
cd /{SOURCES}/.build/debian
echo looking
lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs *.changes
"""
CODEC = "The codec alone"
FILES = "find /usr /etc /var/lib/dpkg/info -name '*npy[ex]*' | sort"


@pytest.fixture
def debs(root, patience_for):  # noqa: F811
    """[the packages, built in a root of their own and looked through by lintian]."""
    patience_for(4 * PATIENCE)
    printed = packages.run(*entered(root, "sh", "-c", BUILD), env=environment(), seconds=PATIENCE)
    assert re.search(r"^\d{3,} passed, 0 failed$", printed, re.M), printed[-3000:]
    # Every file of C is compiled with what dpkg asks for.
    compiled = [line for line in printed.splitlines() if re.match(r"(cc|gcc) .* -c ", line)]
    assert len(compiled) > 100 and all("-fstack-protector-strong" in line and "_FORTIFY_SOURCE" in line for line in compiled)
    printed = packages.run(*entered(root, "sh", "-c", LINTIAN), env=environment(), seconds=PATIENCE)
    print(printed.split("looking\n")[-1])
    return [path for path in glob.glob(f"{root}/{SOURCES}/.build/debian/*.deb") if "-dbgsym_" not in path]


@pytest.fixture
def clean(bare, tmp_path):  # noqa: F811
    """The path of a root without the sources."""
    path = str(tmp_path / "clean")
    packages.run("cp", "-a", bare, path)
    connect(path)
    yield path
    shutil.rmtree(path)


def test_packages(debs, clean):
    inside = lambda *command: packages.run(*entered(clean, *command), env=environment(), seconds=PATIENCE)
    names = {os.path.basename(path).split("_")[0]: os.path.basename(path) for path in debs}
    assert set(names) == {"libsqlite3-mod-npyext", "libnpyx-dev"}
    for path in debs:
        shutil.copy(path, f"{clean}/root")

    assert inside("sh", "-c", FILES) == ""
    inside("apt-get", "install", "-y", f"/root/{names['libsqlite3-mod-npyext']}", "sqlite3")
    blocks = install_guide.sections()[SECTION][-2:]
    command = entered(clean, "sh", "-c", install_guide.script_of(blocks))
    install_guide.check_output(SECTION, blocks, command, PATIENCE, env=environment())
    assert inside("sqlite3", "-cmd", ".load npyext", ":memory:", "SELECT npyext_version()") == packages.version() + "\n"
    # A query of /usr/share loads what it needs.
    ask = ["-cmd", ".parameter init", "-cmd", ".parameter set :source \"'x.npy'\"", ":memory:"]
    shown = inside("sh", "-c", 'cd && sqlite3 "$@"', "sh", *ask, ".read /usr/share/npyext/sql/survey.sql")
    assert shown.splitlines()[:2] == ["1|1|32|160|0", "npy|int64|[*,2]|1|1|2|32|x.npy"]
    assert not inside("sh", "-c", "ldd /usr/lib/*/npyext.so").count("not found")

    inside("apt-get", "install", "-y", f"/root/{names['libnpyx-dev']}", "gcc", "libc6-dev", "pkg-config")
    (program,) = [text for language, text in install_guide.sections()[CODEC] if language == "c"]
    with open(f"{clean}/root/program.c", "w") as file:
        file.write(program)
    inside("sh", "-c", "cd && cc -o program program.c $(pkg-config --static --cflags --libs npyx)")
    assert inside("sh", "-c", "cd && ./program") == "2 axis of int64, 4 items\n"

    inside("apt-get", "purge", "-y", *names)
    assert inside("sh", "-c", FILES) == ""


def test_the_section_is_there():
    assert install_guide.installs_what_it_makes(install_guide.sections()[SECTION])
