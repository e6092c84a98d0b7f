"""Debian's source package, which `make debian` makes: its bytes and what is in it. roots_debian.py builds and installs it."""

import glob
import os
import re
import tarfile

import pytest

import packages
import shell

__test__ = not shell.SANITIZED
FOLDER = os.path.join(shell.ROOT, ".build", "debian")


def bytes_of(folder):
    """{name: bytes} of the files of the source package."""
    found = {}
    for path in glob.glob(os.path.join(folder, "npyext_*")):
        with open(path, "rb") as file:
            found[os.path.basename(path)] = file.read()
    return found


def read(path):
    with open(path) as file:
        return file.read()


@pytest.fixture(scope="module")
def source():
    """The bytes of the source package. What lies at the top is what lay there."""
    before = os.listdir(shell.ROOT)
    packages.made("debian")
    assert set(os.listdir(shell.ROOT)) <= {*before, ".build"}
    return bytes_of(FOLDER)


@pytest.fixture
def unpacked(source, tmp_path):
    """The path of the sources as dpkg-source unpacks them."""
    (dsc,) = glob.glob(os.path.join(FOLDER, "*.dsc"))
    packages.run("dpkg-source", "--no-check", "--extract", dsc, str(tmp_path / "unpacked"))
    return tmp_path / "unpacked"


def test_the_files_have_the_names_that_debian_wants(source):
    version = packages.version()
    names = f"npyext_{version}.orig.tar.xz", f"npyext_{version}-1.debian.tar.xz", f"npyext_{version}-1.dsc"
    assert set(source) == set(names)
    described = source[names[2]].decode()
    assert "Format: 3.0 (quilt)\n" in described and "Binary: libsqlite3-mod-npyext, libnpyx-dev\n" in described


def test_the_same_sources_make_the_same_bytes(source):
    packages.make("debian")
    assert bytes_of(FOLDER) == source


def test_it_makes_itself_again_without_git(source, unpacked, tmp_path):
    time = packages.run("dpkg-parsechangelog", "-S", "Timestamp", cwd=unpacked).strip()
    script = os.path.join(unpacked, "ext", "tools", "debian_source.py")
    packages.run("/usr/bin/python3", "-B", script, str(tmp_path / "again"), env=dict(os.environ, SOURCE_DATE_EPOCH=time))
    assert bytes_of(tmp_path / "again") == source


def test_the_sources_are_in_it(source, unpacked):
    with tarfile.open(os.path.join(FOLDER, f"npyext_{packages.version()}.orig.tar.xz")) as tar:
        members = tar.getmembers()
    top = f"npyext-{packages.version()}/"
    names = {member.name.removeprefix(top) for member in members}
    wanted = "Makefile LICENSE README.md CHANGELOG.md ext/core/version.h src/npyx.h sql/survey.sql tests/pytest.ini docs/install.md"
    assert names >= set(wanted.split()) and len(names) == len(members) > 500
    assert {name.split("/")[0] for name in names} == set("CHANGELOG.md LICENSE Makefile README.md docs ext sql src tests".split())
    assert not [name for name in names if re.search(r"__pycache__|\.(o|so|pyc)$", name)]
    for member in members:
        assert member.isfile() and (member.uid, member.gid, member.uname, member.gname) == (0, 0, "root", "root")
        name = member.name.removeprefix(top)
        with open(os.path.join(shell.ROOT, name), "rb") as ours, open(unpacked / name, "rb") as theirs:
            assert ours.read() == theirs.read(), name


def test_the_templates_are_filled_in(source, unpacked):
    debian = unpacked / "debian"
    files = {os.path.relpath(os.path.join(at, name), debian) for at, _, names in os.walk(debian) for name in names}
    assert files >= {"changelog", "control", "copyright", "rules", "source/format", "libnpyx-dev.install"}
    assert not [name for name in files if re.search("@[A-Z]+@", read(debian / name))]
    assert os.access(debian / "rules", os.X_OK)
    assert packages.run("dpkg-parsechangelog", "-S", "Version", cwd=unpacked) == packages.version() + "-1\n"
    licence = re.sub(r"^ \.?", "", read(debian / "copyright").split("\nLicense: Expat\n")[-1], flags=re.M)
    ours = read(os.path.join(shell.ROOT, "LICENSE"))
    assert ours.endswith("\n\n" + licence)
    assert f"\nCopyright: {re.search('Copyright .c. (.*)', ours)[1]}\n" in read(debian / "copyright")


def test_another_maintainer(tmp_path):
    env = dict(os.environ, DEBFULLNAME="A Person", DEBEMAIL="person@example.org")
    script = os.path.join(shell.ROOT, "ext", "tools", "debian_source.py")
    packages.run("/usr/bin/python3", "-B", script, str(tmp_path / "theirs"), env=env)
    debian = tmp_path / "theirs" / f"npyext-{packages.version()}" / "debian"
    assert "\nMaintainer: A Person <person@example.org>\n" in read(debian / "control")
    assert "\n -- A Person <person@example.org>  " in read(debian / "changelog")
