"""Runs make, compilers and programs for the tests of what is handed on."""

import functools
import glob
import os
import re
import shlex
import shutil
import subprocess

import install_guide
import shell

CC = shlex.split(os.environ.get("CC", "cc"))
STANDALONE = os.path.join(shell.ROOT, ".build", "standalone", "npyext.so")


def run(*command, env=None, cwd=shell.ROOT, seconds=5 * shell.PATIENCE):
    """Standard output and error of a command that must succeed."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd, env=env, timeout=seconds
    )
    assert done.returncode == 0, f"{shlex.join(command)} ended with {done.returncode}:\n{done.stdout[-6000:]}"
    return done.stdout


def make(*arguments):
    """A make of its own, not a part of the one that runs the tests."""
    env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    return run("make", "-j2", *arguments, env=env)


@functools.lru_cache(maxsize=None)
def made(*targets):
    """make, once a run."""
    return make(*targets)


@functools.lru_cache(maxsize=None)
def version():
    with open(os.path.join(shell.ROOT, "ext", "core", "version.h")) as file:
        return re.search(r'NPYEXT_VERSION "([^"]+)"', file.read())[1]


def wheel():
    """The path of the wheel."""
    made("wheel")
    (path,) = glob.glob(os.path.join(shell.ROOT, ".build", "dist", f"npyext-{version()}-*.whl"))
    return path


@functools.lru_cache(maxsize=None)
def python_with(name, *wanted, system=False):
    """The path of a Python of its own with packages from PyPI, once a run; `system` adds Debian's packages."""
    folder = os.path.join(shell.ROOT, ".build", "clients", name)
    env = install_guide.environment(os.path.expanduser("~"))
    run("/usr/bin/python3", "-m", "venv", "--clear", *["--system-site-packages"] * system, folder, env=env)
    python = os.path.join(folder, "bin", "python")
    run(python, "-m", "pip", "install", "-q", *wanted, env=env)
    return python


def npm_installed(name, *options, path=""):
    """The folder node_modules of one package, a folder for each: npm removes what it was not told of."""
    folder = os.path.join(shell.ROOT, ".build", "clients", name.split("@")[0])
    if not os.path.exists(os.path.join(folder, "complete")):
        os.makedirs(folder, exist_ok=True)
        env = install_guide.environment(os.path.expanduser("~"))
        env["PATH"] = path + env["PATH"]
        run("npm", "install", "--silent", "--no-save", *options, name, cwd=folder, env=env)
        open(os.path.join(folder, "complete"), "w").close()
    return os.path.join(folder, "node_modules")


def exported(library):
    """The names that a library shows to others."""
    return {line.split()[-1] for line in run("nm", "-D", "--defined-only", library).splitlines()}


def needed(library):
    """The libraries that one needs, their versions left out, what they need in turn included."""
    names = (line.split()[0] for line in run("ldd", library).splitlines())
    return {re.sub(r"\.so.*$", "", os.path.basename(name)) for name in names}


def newest_glibc(library):
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", run("objdump", "-T", library))
    return max((int(major), int(minor)) for major, minor in versions)


def codename():
    with open("/etc/os-release") as file:
        return re.search(r"^VERSION_CODENAME=(\w+)$", file.read(), re.M)[1]


def mirror():
    """Where this machine has Debian's packages from."""
    fields = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
    listed = run("apt-get", "indextargets", "--format", fields, "Created-By: Packages").split("\n")
    return next(line.split()[0] for line in listed if line.split()[1:] == [codename(), "main"])


def debootstrap(release, path, included, seconds=20 * shell.PATIENCE):
    """Makes a root of a release of Debian's with these packages."""
    new = path + ".new"
    shutil.rmtree(new, ignore_errors=True)
    run("debootstrap", "--variant=minbase", f"--include={included}", release, new, mirror(), seconds=seconds)
    os.rename(new, path)
