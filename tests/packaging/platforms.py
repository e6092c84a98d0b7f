"""The other platforms, as far as this machine runs their programs: qemu-user for ARM, musl's loader, Wine for Windows.

Each has a sqlite3 shell of its own, built by Zig from the sources that npm's package sqlite3 carries: the release that
Debian 12 has, so that tests/sql prints the same.
"""

import functools
import glob
import os
import shlex
import stat
import sys

import packages
import shell

sys.path.insert(0, os.path.join(shell.ROOT, "ext", "tools"))

import cross
import examine

SHELLS = "sqlite3@5.1.4"
FOLDER = os.path.join(cross.HERE, "shells")
RUN_HERE = ["linux-x64", "linux-arm64", "linux-x64-musl", "linux-arm64-musl", "win32-x64"]


@functools.lru_cache(maxsize=None)
def built():
    """{name: Platform}, their objects made."""
    # a process of its own: what fails there ends with its output
    packages.run(sys.executable, "-B", os.path.join(shell.ROOT, "ext", "tools", "cross.py"), seconds=1800)
    cross.use_tools()
    return cross.PLATFORMS


def make_sqlite(folder):
    cross.run("npm", "pack", "--silent", SHELLS, cwd=folder)
    cross.run("sh", "-c", "tar -xzf *.tgz && tar -xzf package/deps/sqlite-autoconf-*.tar.gz", cwd=folder)


@functools.lru_cache(maxsize=None)
def sqlite():
    """The folder of SQLite's sources."""
    built()
    os.makedirs(FOLDER, exist_ok=True)
    cross.made_once(os.path.join(FOLDER, "sources"), make_sqlite)
    (folder,) = glob.glob(os.path.join(FOLDER, "sources", "sqlite-autoconf-*", ""))
    return folder


def make_arm_musl(folder):
    """musl's loader for ARM, out of Debian's package for it, by an apt that knows of no other machine."""
    options = [*cross.apt_of_its_own(folder, "deb"), "-oAPT::Architecture=arm64", "-oAPT::Architectures=arm64", "-oDir::State::status=/dev/null"]
    cross.run("apt-get", *options, "update", cwd=folder)
    cross.run("apt-get", *options, "download", "musl", cwd=folder)
    cross.run("sh", "-c", "dpkg-deb --extract musl_*.deb .", cwd=folder)


def runner(name):
    """The command that runs a program of the platform."""
    if name == "linux-arm64":
        return ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
    if name == "linux-arm64-musl":
        loader = os.path.join(FOLDER, "arm-musl")
        cross.made_once(loader, make_arm_musl)
        return ["qemu-aarch64", "-L", loader]
    if name == "win32-x64":
        prefix = os.path.join(FOLDER, "wine")
        return ["env", "-u", "DISPLAY", f"WINEPREFIX={prefix}", "WINEDEBUG=-all", "wine"]
    return []


# What a shell says of an error is to stand among its rows.
UNBUFFERED = """\
#include <stdio.h>
__attribute__((constructor)) static void unbuffer(void) { setvbuf(stdout, NULL, _IONBF, 0); }
"""


def compile_shell(name, path):
    place = os.path.join(FOLDER, name)
    os.makedirs(place, exist_ok=True)
    sources = [os.path.join(sqlite(), each) for each in ("shell.c", "sqlite3.c")] + [os.path.join(place, "unbuffered.c")]
    with open(sources[-1], "w", encoding="ascii") as file:
        file.write(UNBUFFERED)
    flags = ["-O1", "-w", "-g0", "-fno-sanitize=undefined", "-DSQLITE_THREADSAFE=1", "-DSQLITE_ENABLE_MATH_FUNCTIONS"]
    if cross.PLATFORMS[name].suffix == "so":
        flags += ["-dynamic", "-lm", "-ldl", "-lpthread"]
    places = {"ZIG_GLOBAL_CACHE_DIR": os.path.join(cross.HERE, "cache"), "ZIG_LOCAL_CACHE_DIR": os.path.join(place, "cache")}
    command = [cross.zig(), "cc", "-target", cross.PLATFORMS[name].target, "-o", path, *sources, *flags]
    cross.run(*command, env={**os.environ, **places}, cwd=place)


@functools.lru_cache(maxsize=None)
def sqlite3(name):
    """The path of a program that runs the platform's sqlite3 shell, like `sqlite3`."""
    path = os.path.join(FOLDER, name, "sqlite3.exe" if name == "win32-x64" else "sqlite3")
    if not os.path.exists(path):
        compile_shell(name, path)
    if name == "win32-x64":
        start_wine(path)
    script = os.path.join(FOLDER, name, "run.sh")
    with open(script, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nunset LD_PRELOAD\nexec {shlex.join([*runner(name), path])} "$@"\n')
    os.chmod(script, os.stat(script).st_mode | stat.S_IXUSR)
    return script


def start_wine(path):
    """The first program makes Wine's folders, and talks of that."""
    packages.run(*runner("win32-x64"), path, "-version", seconds=600)


def as_program(path):
    """A path as the platform's program is given it: Wine has the root of this machine as drive Z."""
    return f"Z:{path}" if path.endswith(".dll") else path


def faults(path, platform):
    return examine.faults(path, platform)
