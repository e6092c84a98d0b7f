"""What is handed on: an installation, one C file, a shared object that needs libc alone."""

import glob
import os
import platform
import re
import shutil
import sqlite3
import subprocess
import sys

import numpy
import pytest

import packages
import shell

# Compilers and other programs do not run under a sanitizer that is preloaded.
__test__ = not shell.SANITIZED

# Copies a part of each array, as another dtype if one is given, and says what it copied.
CODEC_PROGRAM = r"""
#include <npyx/npyx.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int copy(npyx_input *input, npyx_output *output, char **argv) {
    if ((argv[3] != NULL && !npyx_input_slice(input, argv[3])) ||
        (argv[3] != NULL && argv[4] != NULL && !npyx_input_astype(input, argv[4])))
        return 0;
    int64_t nelem = npyx_input_nelem(input);
    void *items = malloc((size_t)(nelem * npyx_input_itemsize(input)) + 1);
    int done = npyx_input_read(input, 0, nelem, items) &&
               npyx_output_begin(output, npyx_input_name(input), argv[3] != NULL && argv[4] != NULL ? argv[4] : npyx_input_descr(input),
                                 npyx_input_ndim(input), npyx_input_shape(input)) &&
               npyx_output_append(output, items, nelem);
    free(items);
    printf("%s %s %d %" PRId64 "\n", npyx_input_name(input), npyx_input_dtype(input), npyx_input_ndim(input), nelem);
    return done;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    npyx_input *input = npyx_input_open(argv[1]);
    npyx_output *output = npyx_output_open(argv[2]);
    while (npyx_input_next(input)) {
        if (!copy(input, output, argv))
            break;
    }
    if (npyx_input_error(input) == NULL)
        npyx_output_commit(output);
    const char *said = npyx_input_error(input) != NULL ? npyx_input_error(input) : npyx_output_error(output);
    if (said != NULL)
        printf("%s\n", said);
    npyx_output_close(output);
    npyx_input_close(input);
    return said != NULL;
}
"""

STATIC_PROGRAM = r"""
#include <stdio.h>

#include "npyext.h"

static int print(void *ctx, int nvalues, char **values, char **names) {
    (void)ctx, (void)names;
    for (int i = 0; i < nvalues; i++)
        printf("%s%s", i > 0 ? "|" : "", values[i]);
    return printf("\n"), 0;
}

int main(int argc, char **argv) {
    sqlite3_auto_extension((void (*)(void))sqlite3_npyext_init);
    for (int i = 1; i < argc; i++) {
        sqlite3 *db = NULL;
        char *message = NULL;
        if (sqlite3_open(":memory:", &db) != SQLITE_OK || sqlite3_exec(db, argv[i], print, NULL, &message) != SQLITE_OK)
            return printf("%s\n", message ? message : sqlite3_errmsg(db)), 1;
        sqlite3_close(db);
    }
    printf("%s\n", NPYEXT_VERSION);
    return 0;
}
"""

LOADING_PROGRAM = r"""
#include <sqlite3.h>
#include <stdio.h>

int main(int argc, char **argv) {
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    char *message = NULL;
    sqlite3_open(":memory:", &db);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    if (sqlite3_load_extension(db, argv[1], NULL, &message) != SQLITE_OK)
        return printf("%s\n", message), 3;
    if (sqlite3_prepare_v2(db, argv[argc - 1], -1, &statement, NULL) != SQLITE_OK)
        return printf("%s\n", sqlite3_errmsg(db)), 4;
    while (sqlite3_step(statement) == SQLITE_ROW)
        printf("%s\n", (const char *)sqlite3_column_text(statement, 0));
    return sqlite3_finalize(statement);
}
"""


def compiled(folder, name, text, *options, compiler=packages.CC):
    """The path of a program made of a C text."""
    source, program = os.path.join(folder, name + ".c"), os.path.join(folder, name)
    with open(source, "w") as file:
        file.write(text)
    packages.run(*compiler, "-Wall", "-Wextra", "-Werror", "-O1", "-o", program, source, *options)
    return program


def files_of(folder):
    return {os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names}


# ---- make install ----


@pytest.fixture
def installation(tmp_path):
    """(root, [the variables of make]) of an installation that is somewhere else yet."""
    packages.make("npyext.so", ".build/install/libnpyx.a")
    variables = [f"DESTDIR={tmp_path / 'root'}", "PREFIX=/opt/npyext"]
    packages.make("install", *variables)
    return tmp_path / "root", variables


def pkg_config(root, *arguments):
    env = dict(os.environ, PKG_CONFIG_PATH=str(root / "opt/npyext/lib/pkgconfig"), PKG_CONFIG_SYSROOT_DIR=str(root))
    return packages.run("pkg-config", *arguments, "npyx", env=env).split()


def test_a_program_uses_the_installed_codec(installation, tmp_path):
    root, _ = installation
    flags = pkg_config(root, "--static", "--cflags", "--libs")
    assert f"-I{root}/opt/npyext/include" in flags and "-lminizip" in flags
    program = compiled(tmp_path, "codec", CODEC_PROGRAM, *flags)
    w = numpy.asfortranarray(numpy.random.default_rng(5).random((30, 41)).astype(">f4"))
    pairs = numpy.array([(1, "é"), (2, "")], [("id", "<i8"), ("name", ">U3")])
    arrays = dict(w=w, step=numpy.int64(7), pairs=pairs, none=numpy.zeros((0, 3)), dates=numpy.array(["2026-11-27", "NaT"], "M8[s]"))
    numpy.savez_compressed(tmp_path / "w.npz", **arrays)
    run = lambda *arguments: packages.run(program, *(str(tmp_path / name) for name in arguments[:2]), *arguments[2:])
    assert run("w.npz", "copy.npz").splitlines()[:2] == ["w float32 2 1230", "step int64 0 1"]
    with numpy.load(tmp_path / "copy.npz") as copy:
        assert list(copy) == list(arrays)
        for name, array in arrays.items():
            numpy.testing.assert_array_equal(copy[name], array)
            assert copy[name].dtype == array.dtype and copy[name].shape == array.shape
    numpy.save(tmp_path / "w.npy", w)
    for part, index in [("...", ...), ("5:2:-1, ::7", numpy.s_[5:2:-1, ::7]), (":, -1", numpy.s_[:, -1])]:
        for dtype in ("float64", "<f4", "bool"):
            run("w.npy", "part.npy", part, dtype)
            numpy.testing.assert_array_equal(numpy.load(tmp_path / "part.npy"), w[index].astype(dtype))
            assert numpy.load(tmp_path / "part.npy").dtype == numpy.dtype(dtype)
    failed = subprocess.run([program, tmp_path / "w.npy", tmp_path / "new.npy", "30"], stdout=subprocess.PIPE, text=True)
    assert failed.returncode == 1 and "out of range" in failed.stdout and not (tmp_path / "new.npy").exists()
    assert pkg_config(root, "--modversion") == [packages.version()]


def test_the_installed_extension_loads(installation, tmp_path):
    root, _ = installation
    (path,) = pkg_config(root, "--variable=extension")
    path = path if path.startswith(str(root)) else str(root) + path
    connection = sqlite3.connect(":memory:")
    connection.enable_load_extension(True)
    connection.load_extension(path)
    assert connection.execute("SELECT npyext_version()").fetchone() == (packages.version(),)
    # By its bare name, from a folder that dlopen looks into.
    program = compiled(tmp_path, "loading", LOADING_PROGRAM, "-lsqlite3")
    env = dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(path))
    assert packages.run(program, "npyext", "SELECT npyext_version()", env=env).split() == [packages.version()]


def test_the_sql_is_installed(installation):
    root, _ = installation
    sql = {name for name in os.listdir(shell.ROOT + "/sql") if name.endswith(".sql")}
    folder = root / "opt/npyext/share/npyext/sql"
    assert sql and set(os.listdir(folder)) == sql
    (libraries,) = pkg_config(root, "--variable=libdir")
    loads = [line for name in sql for line in (folder / name).read_text().splitlines() if "npyext')" in line]
    assert loads and all(f"load_extension('{libraries.removeprefix(str(root))}/npyext')" in line for line in loads)


def test_uninstall_leaves_nothing(installation):
    root, variables = installation
    (header,) = [name for name in files_of(root) if name.endswith(".h")]  # the public one
    assert header.endswith("include/npyx/npyx.h") and len(files_of(root)) > 25
    packages.make("uninstall", *variables)
    assert files_of(root) == set()
    left = {os.path.relpath(at, root) for at, _, _ in os.walk(root)}
    assert not any("npyx" in name or name.endswith("npyext/sql") for name in left)


def test_libraries_go_where_they_are_told(tmp_path):
    folders = [f"DESTDIR={tmp_path}", "LIBDIR=/lib64", "INCLUDEDIR=/headers", "PREFIX=/p"]
    packages.make("install", *folders)
    files = files_of(tmp_path)
    assert {"lib64/npyext.so", "lib64/libnpyx.a", "lib64/pkgconfig/npyx.pc", "headers/npyx/npyx.h"} <= files
    text = (tmp_path / "lib64/pkgconfig/npyx.pc").read_text()
    assert "libdir=/lib64\n" in text and "includedir=/headers\n" in text and "@" not in text
    packages.make("uninstall", *folders)
    assert files_of(tmp_path) == set()


# ---- make amalgamation ----

AMALGAMATION = os.path.join(shell.ROOT, ".build", "amalgamation")
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]


def test_some_compiler_is_there():
    assert COMPILERS


def test_one_file_holds_the_sources_and_no_more():
    packages.made("amalgamation")
    with open(os.path.join(AMALGAMATION, "npyext.c")) as file:
        parts = re.findall(r"^/\* =+ (\S+) =+ \*/$", file.read(), re.M)
    sources = [path for folder in ("src", "ext") for path in glob.glob(f"{folder}/*/*.c", root_dir=shell.ROOT)]
    assert sorted(path for path in parts if path.endswith(".c")) == sorted(sources)
    assert all(re.match("(src|ext)/([a-z]+/)?[a-z0-9_]+\\.[ch]$", path) for path in parts) and len(parts) == len(set(parts))


@pytest.fixture(scope="module")
def extensions_of_one_file(tmp_path_factory):
    """compiler -> the extension made of npyext.c, by the line that it shows, without a warning."""
    folder, made = tmp_path_factory.mktemp("amalgamation"), {}

    def extension(compiler):
        if compiler not in made:
            packages.made("amalgamation")
            made[compiler] = str(folder / compiler / "npyext.so")
            os.mkdir(folder / compiler)
            options = "-Wall -Wextra -Wconversion -Werror -O1 -fPIC -shared".split()
            source = os.path.join(AMALGAMATION, "npyext.c")
            packages.run(compiler, *options, "-o", made[compiler], source, "-lminizip", "-lz", "-lm")
        return made[compiler]

    return extension


@pytest.mark.parametrize("compiler", COMPILERS)
def test_one_file_passes_the_sql_tests(compiler, extensions_of_one_file, patience_for):
    patience_for(5 * shell.PATIENCE)
    passes_the_sql_tests(extensions_of_one_file(compiler))


def passes_the_sql_tests(extension):
    assert all(re.fullmatch("sqlite3_npyext_([a-z]+_)?init|PyInit_npyext", name) for name in packages.exported(extension))
    tests = [os.path.join(shell.TESTS, "sql", "test_sql.py"), "-c", os.path.join(shell.TESTS, "pytest.ini")]
    env = dict(os.environ, NPYEXT_SO=extension, PYTEST_ADDOPTS="")
    printed = packages.run(sys.executable, "-B", "-m", "pytest", *tests, env=env)
    assert re.search(r"^\d\d+ passed, 0 failed$", printed, re.M), printed


@pytest.mark.parametrize("compiler", COMPILERS)
def test_one_file_is_a_part_of_a_program(compiler, tmp_path, patience_for):
    patience_for(5 * shell.PATIENCE)
    packages.made("amalgamation")
    options = ["-O0", "-Wconversion", "-DSQLITE_CORE", f"-I{AMALGAMATION}", os.path.join(AMALGAMATION, "npyext.c")]
    libraries = "-lsqlite3 -lminizip -lz -lm -lpthread".split()
    program = compiled(tmp_path, "static", STATIC_PROGRAM, "-std=c11", *options, *libraries, compiler=[compiler])
    numpy.save(tmp_path / "x.npy", numpy.arange(6.0).reshape(2, 3))
    shown = packages.run(
        program,
        "SELECT npyext_version()",
        "SELECT dtype, shape FROM npy_meta('x.npy'); SELECT value FROM npy_rows('x.npy')",
        cwd=tmp_path,
    )
    lines = [packages.version(), "float64|[2,3]", "[0.0,1.0,2.0]", "[3.0,4.0,5.0]", packages.version()]
    assert shown.splitlines() == lines


# ---- make npyext-standalone ----


@pytest.fixture(scope="module")
def standalone():
    packages.made("npyext-standalone")
    return packages.STANDALONE


def test_standalone_needs_libc_alone(standalone):
    libraries = packages.needed(standalone)
    assert libraries <= {"linux-vdso", "linux-gate", "libc", "libm", "libpthread", "libdl", "ld-linux-x86-64", "ld-linux-aarch64"}
    assert all(re.fullmatch("sqlite3_npyext_([a-z]+_)?init|PyInit_npyext", name) for name in packages.exported(standalone))
    if platform.machine() == "x86_64":
        assert packages.newest_glibc(standalone) <= (2, 17)


def test_standalone_passes_the_sql_tests(standalone, patience_for):
    patience_for(5 * shell.PATIENCE)
    passes_the_sql_tests(standalone)


def test_standalone_loads_in_a_root_without_zlib(standalone, tmp_path):
    """A root with a program, SQLite's library and libc, to which the ordinary extension is no use."""
    root = tmp_path / "root"
    program = compiled(tmp_path, "loading", LOADING_PROGRAM, "-lsqlite3")
    libraries = re.findall(r"(/\S+) \(0x", packages.run("ldd", program))
    folder_of_libc = os.path.dirname(next(x for x in libraries if "libc.so" in x))
    for part in ("libpthread.so.0", "libdl.so.2"):  # files of their own in glibc, which were libraries before 2.34
        libraries += glob.glob(os.path.join(folder_of_libc, part))
    for path in libraries:
        os.makedirs(f"{root}{os.path.dirname(path)}", exist_ok=True)
        shutil.copy(path, f"{root}{path}")
    assert not re.search("libz|minizip", " ".join(files_of(root)))
    shutil.copy(program, root / "program")
    shutil.copy(standalone, root / "standalone.so")
    packages.make("npyext.so")
    shutil.copy(os.path.join(shell.ROOT, "npyext.so"), root / "ordinary.so")
    numpy.savez_compressed(root / "w.npz", w=numpy.arange(4))
    into_root = ["chroot", str(root)] if os.geteuid() == 0 else ["unshare", "-r", "chroot", str(root)]
    query = "SELECT group_concat(value, ' ') FROM npy_rows('/w.npz', 'w')"
    os.rename(root / "standalone.so", root / "npyext.so")
    assert packages.run(*into_root, "/program", "/npyext", query).strip() == "0 1 2 3"
    os.rename(root / "ordinary.so", root / "npyext.so")
    with pytest.raises(AssertionError, match="libz|libminizip"):
        packages.run(*into_root, "/program", "/npyext", query)
