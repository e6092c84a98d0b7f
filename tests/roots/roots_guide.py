"""The sections of docs/install.md from nothing (`make check-install`): each in a fresh Debian of its own, with no package
but those that debootstrap calls minimal. Needs root, debootstrap, Debian's mirror, PyPI and npm.

What the roots share with this machine: its kernel, its name server, and, where SSL_CERT_FILE names them, its certificates.
Packages are fetched once, into .build/roots."""

import os
import re
import shutil
import subprocess

import pytest

import install_guide
import packages
import shell
from packages import codename, mirror

FOLDER = os.path.join(shell.ROOT, ".build", "roots")
BARE = os.path.join(FOLDER, "bare")
ARCHIVES = os.path.join(FOLDER, "archives")
SOURCES = "root/npyext"
# Seconds: the packages of Node are hundreds.
PATIENCE = 20 * shell.PATIENCE

FROM_PYTHON = """import npyext
sql = "SELECT count(*) FROM npy_meta(?)"
print(*npyext.connect().execute(sql, ("runs/*/confusion.npy",)).fetchone())"""

ENTER = """
set -eu
root=$1
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind "$2" "$root/var/cache/apt/archives"
shift 2
exec chroot "$root" "$@"
"""


@pytest.fixture(scope="module")
def bare(request):
    """The path of a root as debootstrap makes it, and a list of packages for apt-get, to be copied."""
    if not os.path.exists(BARE):
        os.makedirs(ARCHIVES, exist_ok=True)
        new = BARE + ".new"
        shutil.rmtree(new, ignore_errors=True)
        packages.run("debootstrap", "--variant=minbase", codename(), new, mirror(), seconds=PATIENCE)
        packages.run(*entered(new, "apt-get", "update", "-qq"), seconds=PATIENCE)
        with open(f"{new}/etc/apt/apt.conf.d/minimal", "w") as file:
            # What is recommended is not to be needed; packages are kept for the next root.
            file.write('APT::Install-Recommends "false"; APT::Keep-Downloaded-Packages "true"; APT::Sandbox::User "root";\n')
        os.rename(new, BARE)
    return BARE


def entered(root, *command):
    """The command in a root. Mounts and processes that it leaves behind end with it."""
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "enter", root, ARCHIVES, *command]


def connect(root):
    """Names and certificates for a root that has been made or copied."""
    shutil.copy("/etc/resolv.conf", f"{root}/etc/resolv.conf")
    if "SSL_CERT_FILE" in os.environ:
        shutil.copy(os.environ["SSL_CERT_FILE"], f"{root}/etc/certificates-of-the-host")


def copy_sources(root):
    """Puts the files that git knows into a root."""
    shutil.rmtree(f"{root}/{SOURCES}", ignore_errors=True)
    files = packages.run("git", "ls-files", "-z").rstrip("\0").split("\0")
    for file in filter(os.path.exists, (os.path.join(shell.ROOT, file) for file in files)):
        to = f"{root}/{SOURCES}/{os.path.relpath(file, shell.ROOT)}"
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copy(file, to)


@pytest.fixture
def root(bare, tmp_path):
    """The path of a copy with the sources in it, of the files that git knows."""
    path = str(tmp_path / "root")
    packages.run("cp", "-a", bare, path)
    connect(path)
    copy_sources(path)
    yield path
    shutil.rmtree(path)


def environment():
    """That of a login, and no other."""
    values = {"HOME": "/root", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    values["DEBIAN_FRONTEND"] = "noninteractive"
    if "SSL_CERT_FILE" in os.environ:
        for name in ("SSL_CERT_FILE", "PIP_CERT", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"):
            values[name] = "/etc/certificates-of-the-host"
    return values


@pytest.mark.parametrize("name", install_guide.sections())
def test_section(name, root, patience_for):
    patience_for(PATIENCE + shell.PATIENCE)
    blocks = install_guide.sections()[name]
    assert install_guide.installs_packages(blocks[0][1])
    with open(f"{root}/root/script", "w") as file:
        file.write(f"cd /{SOURCES}\n" + install_guide.script_of(blocks))
    command = entered(root, "sh", "/root/script")
    install_guide.check_output(name, blocks, command, PATIENCE, env=environment())


def test_readme(root, patience_for):
    """The commands that README begins with, where nothing is installed."""
    patience_for(PATIENCE + shell.PATIENCE)
    with open(os.path.join(shell.ROOT, "README.md")) as file:
        (commands,) = re.findall(r"in a clone of this repository:\n\n((?:    .*\n)+)", file.read())
    with open(f"{root}/root/script", "w") as file:
        file.write(f"set -eu\ncd /{SOURCES}\n{commands}make examples\ncd .build/examples\n~/venv/bin/python -c '{FROM_PYTHON}'\n")
    printed = packages.run(*entered(root, "sh", "/root/script"), env=environment(), seconds=PATIENCE)
    assert printed.endswith("\n4\n"), printed[-3000:]


def test_standalone_on_another_machine(root, patience_for):
    """An extension that was built here, where there is SQLite's shell and neither zlib's nor minizip's package."""
    patience_for(PATIENCE)
    packages.made("npyext-standalone", "npyext.so")
    packages.run(*entered(root, "apt-get", "install", "-y", "sqlite3"), env=environment(), seconds=PATIENCE)
    query = ["sqlite3", "-cmd", ".load /root/npyext", ":memory:", "SELECT npy_json(npy_array(1.5))"]
    shutil.copy(packages.STANDALONE, f"{root}/root/npyext.so")
    assert packages.run(*entered(root, *query), env=environment()) == "[1.5]\n"
    shutil.copy(os.path.join(shell.ROOT, "npyext.so"), f"{root}/root/npyext.so")
    answer = subprocess.run(entered(root, *query), env=environment(), stderr=subprocess.PIPE, text=True)
    assert "libminizip" in answer.stderr
