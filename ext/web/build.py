#!/usr/bin/env python3
"""build.py FOLDER: write the pages for browsers, a folder of static files, which `make web` calls.

SQLite, npyext, zlib and minizip become one WebAssembly by Zig's compiler (ext/tools/cross.py). SQLite's own source file is that
of the npm package better-sqlite3, of one version; it is fetched once. The rest is copied from ext/web/page, where both pages
are made of one template.
"""

import glob
import os
import re
import shutil
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "ext", "tools"))

import cross

PAGE = os.path.join(HERE, "page")
TEMPLATE = "template.html"
PACKAGE = "better-sqlite3@12.11.1"
SQLITE = os.path.join(cross.HERE, PACKAGE)
STACK_NBYTES = 4 << 20

SQLITE_FLAGS = [
    "-DSQLITE_CORE", "-DSQLITE_OS_OTHER=1", "-DSQLITE_THREADSAFE=0", "-DSQLITE_TEMP_STORE=3", "-DSQLITE_OMIT_LOAD_EXTENSION",
    "-DSQLITE_ENABLE_MATH_FUNCTIONS", "-DSQLITE_ENABLE_FTS5", "-DSQLITE_ENABLE_RTREE", "-DSQLITE_DQS=0", "-DSQLITE_MAX_MMAP_SIZE=0",
]  # fmt: skip

NOTE = """npyext and this page, MIT:

{npyext}
Built in are SQLite (https://sqlite.org), which is in the public domain, and

zlib and minizip:

{zlib}
minizip: Copyright (C) 1998-2010 Gilles Vollant, (C) 2009-2010 Mathias Svensson, under the conditions of zlib above.

wasi-libc (https://github.com/WebAssembly/wasi-libc), with musl: Copyright 2005-2020 Rich Felker, et al., MIT, whose text is that
of npyext above.
"""


def make_sqlite(folder):
    cross.run("npm", "pack", "--silent", PACKAGE, cwd=folder)
    (package,) = glob.glob(os.path.join(folder, "*.tgz"))
    with tarfile.open(package) as tar:
        for name in ("sqlite3.c", "sqlite3.h", "sqlite3ext.h"):
            with open(os.path.join(folder, name), "wb") as file:
                shutil.copyfileobj(tar.extractfile(f"package/deps/sqlite3/{name}"), file)
    os.remove(package)


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as file:
        return file.read()


def exported():
    """The functions of SQLite that the page calls."""
    return sorted(set(re.findall(r"\bsqlite3_\w+(?=\()", read(PAGE, "database.js"))))


def compile_flags():
    flags = ["-O2", "-msimd128", "-std=gnu11", "-D_GNU_SOURCE", "-fvisibility=hidden", "-fno-sanitize=undefined", "-g0", "-w"]
    flags += ["-DHAVE_UNISTD_H", "-DNOCRYPT", "-DNOUNCRYPT", "-Dfdopen=fdopen", "-DUSE_FILE32API", f"-ffile-prefix-map={ROOT}=."]
    folders = [SQLITE, *(os.path.join(cross.SOURCES, each) for each in ("include", os.path.join("include", "minizip"), "zlib"))]
    return flags + SQLITE_FLAGS + [f"-I{folder}" for folder in folders]


def link_flags():
    exports = [f"-Wl,--export={name}" for name in exported()]
    return ["-s", f"-Wl,-z,stack-size={STACK_NBYTES}", "-Wl,--gc-sections", *exports]


def build(path):
    cross.use_tools()
    cross.made_once(cross.SOURCES, cross.make_sources)
    cross.made_once(SQLITE, make_sqlite)
    cross.run("make", "-s", "-C", ROOT, "amalgamation")
    sources = [os.path.join(PAGE, "main.c"), os.path.join(SQLITE, "sqlite3.c"), *cross.sources_of(None)]
    # Zig keeps what it has compiled, file by file.
    places = {"ZIG_GLOBAL_CACHE_DIR": os.path.join(cross.HERE, "cache"), "ZIG_LOCAL_CACHE_DIR": os.path.join(cross.HERE, "web")}
    command = [cross.zig(), "cc", "-target", "wasm32-wasi", "-mexec-model=reactor", *compile_flags(), "-o", path, *sources, *link_flags()]
    cross.run(*command, env={**os.environ, **places}, cwd=cross.HERE)
    os.chmod(path, 0o644)


def licences():
    # of zlib's own licence file the conditions are in its header, too, which every release has
    notice = re.search(r"Copyright \(C\) 1995.*?madler@alumni\.caltech\.edu", read(cross.SOURCES, "zlib", "zlib.h"), re.S)[0]
    text = "\n".join(line.strip() for line in notice.splitlines())
    return NOTE.format(npyext=read(ROOT, "LICENSE"), zlib=text + "\n")


def write_page(name, folder):
    """One of the pages: the template, with the parts that the file of that name has, each below its own name."""
    _, *parts = re.split(r"<!-- (\w+) -->\n", read(PAGE, name))
    texts = {part: text.strip() for part, text in zip(parts[::2], parts[1::2])}
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(re.sub(r"<!-- (\w+) -->", lambda place: texts[place[1]], read(PAGE, TEMPLATE)))


def write_static(folder):
    for name in sorted(os.listdir(PAGE)):
        if name.endswith(".html") and name != TEMPLATE:
            write_page(name, folder)
        elif name.endswith((".js", ".css", ".svg")):
            shutil.copyfile(os.path.join(PAGE, name), os.path.join(folder, name))


def main(folder):
    """The folder is made anew; whoever looks sees the old or the new page, and none that was half written."""
    new = f"{folder}.new"
    shutil.rmtree(new, ignore_errors=True)
    os.makedirs(new)
    write_static(new)
    build(os.path.join(os.path.abspath(new), "npyext.wasm"))
    with open(os.path.join(new, "LICENSES.txt"), "w", encoding="utf-8") as file:
        file.write(licences())
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(new, folder)
    print(f"{os.path.relpath(folder, ROOT)}: {sum(entry.stat().st_size for entry in os.scandir(folder))} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
