#!/usr/bin/env python3
"""amalgamate.py FOLDER: write FOLDER/npyext.c, all of src/ and ext/ as one C file, and FOLDER/npyext.h, its entry
points.

    cc -O2 -fPIC -shared -o npyext.so npyext.c -lminizip -lz -lm

System headers come first, then ours in the order of their use, then the sources, each unchanged except for its includes.
A template (NAME_template.h) is included several times, and is copied to each of these places. Names that are private to a
file contain the file's word, so they do not collide; if any do, the compiler reports it. Macros of a source are undefined
after it.
"""

import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Where headers of other folders are looked for, like -I.
SEARCHED = ("src", "ext")
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)((?:\\\n|[^\n])*)\n?", re.M)
TEMPLATE = re.compile(r'"[\w/]+_template\.h"')
# A template that another one includes by this macro.
NAMED_TEMPLATE = re.compile(r'^#define KERNEL_TEMPLATE +("[\w/]+_template\.h")\n', re.M)
KEPT = re.compile(r"^(#include <.*>)\n", re.M)
FEATURE = re.compile(r"^#ifndef (_(?:GNU|POSIX|XOPEN|DEFAULT|FILE)_\w+)\n#define \1\n#endif\n", re.M)


def fail(message):
    sys.exit(f"amalgamate.py: {message}")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def found_header(path, name):
    """The path of a header that a file includes: beside the file, or below the folders that are searched."""
    for folder in (os.path.dirname(path), *SEARCHED):
        found = os.path.normpath(os.path.join(folder, name))
        if os.path.exists(os.path.join(ROOT, found)):
            return found
    return fail(f"{path} includes {name}, which does not exist")


def split_includes(path, text, named=None):
    """(system headers, own headers, the text without these lines). Those within #if stay where they are. Templates
    become part of the text; named is the one that is included as KERNEL_TEMPLATE."""
    system, own, kept, depth, at = [], [], [], 0, 0
    names = NAMED_TEMPLATE.findall(text)
    if len(names) > 1:
        fail(f"{path} defines KERNEL_TEMPLATE more than once")
    named = names[0] if names else named
    for directive in DIRECTIVE.finditer(text):
        kind, rest = directive[1], directive[2].strip()
        guard = depth == 1 and path.endswith(".h")
        if kind == "include" and rest == "KERNEL_TEMPLATE":
            rest = named
        if kind == "include" and TEMPLATE.fullmatch(rest):
            kept += [text[at : directive.start()], template(found_header(path, rest.strip('"')), named)]
            at = directive.end()
        elif kind == "include" and (depth == 0 or guard):
            if rest.startswith("<"):
                system.append(rest)
            else:
                own.append(found_header(path, rest.strip('"')))
            kept.append(text[at : directive.start()])
            at = directive.end()
        elif kind == "include" and not rest.startswith("<"):
            fail(f"{path} includes {rest} within #if")
        depth += kind.startswith("if")
        depth -= kind == "endif"
    return system, own, "".join(kept) + text[at:]


def template(path, named):
    """The text of a template, including those that it includes."""
    system, own, text = split_includes(path, read(path), named)
    if system or own or "#ifndef" in text:
        fail(f"{path} is a template, so it must not have a guard or include anything but templates")
    return f"/* -------- {path} -------- */\n{text}"


def own_macros(text):
    """The macros that are undefined after the file: all but those that replace one that is missing (#ifndef X)."""
    found, before = [], None
    for directive in DIRECTIVE.finditer(text):
        words = directive[2].split()
        if directive[1] == "define":
            name = re.match(r"\w+", words[0])[0]
            if before != ("ifndef", name) and name not in found:
                found.append(name)
        before = (directive[1], words[0] if words else "")
    return found


class Project:
    """The files of src/ and ext/ in order, the system headers that they need, and their texts without includes."""

    def __init__(self, folders=SEARCHED):
        self.headers, self.system, self.text = [], [], {}
        self.files = [os.path.relpath(path, ROOT) for folder in folders for path in sorted(glob.glob(os.path.join(ROOT, folder, "*", "*.c")))]
        for path in self.files:
            self.take(path)
        self.features = sorted({name for text in self.text.values() for name in FEATURE.findall(text)})

    def take(self, path):
        """Read a file and, before it, the headers that it includes."""
        system, headers, self.text[path] = split_includes(path, read(path))
        self.system += [header for header in system if header not in self.system]
        for header in headers:
            if header not in self.text:
                if not re.search(r"^#ifndef (\w+_H)\n#define \1\n", read(header), re.M):
                    fail(f"{header} has no guard of the form #ifndef NAME_H")
                self.take(header)
                self.headers.append(header)

    def section(self, path):
        # System headers of one platform stay within its #if, where our visibility must not apply to them.
        text = KEPT.sub(r"#pragma GCC visibility push(default)\n\1\n#pragma GCC visibility pop\n", FEATURE.sub("", self.text[path]))
        parts = [f"\n/* ======== {path} ======== */\n", text]
        if path.endswith(".c"):
            parts += [f"#undef {name}\n" for name in own_macros(text)]
        for pragma in sorted(set(re.findall(r"^#pragma STDC (\w+) O", text, re.M))):
            # Otherwise it would apply to the rest of the unit.
            parts.append(f"#ifdef __clang__\n#pragma STDC {pragma} DEFAULT\n#endif\n")
        return "".join(parts)


def version():
    return re.search(r'NPYEXT_VERSION "([^"]+)"', read("ext/core/version.h"))[1]


def entry_points():
    return sorted(set(re.findall(r"\bsqlite3_npyext_(?:[a-z]+_)?init\b", read("ext/entry/npyext.c"))), key=len)


HEADER = """/*
 * npyext {version}: SQL over NumPy's .npy and .npz, WebDataset shards and .safetensors files, in SQLite.
 *
 * The entry points, for programs that compile npyext.c into themselves, with -DSQLITE_CORE. Before the first
 * connection is opened:
 *
 *     sqlite3_auto_extension((void (*)(void))sqlite3_npyext_init);
 *
 * and every connection has it. MIT licence.
 */
#ifndef NPYEXT_H
#define NPYEXT_H

#include <sqlite3.h>

#define NPYEXT_VERSION "{version}"

#ifdef __cplusplus
extern "C" {{
#endif

struct sqlite3_api_routines;

{declarations}
#ifdef __cplusplus
}}
#endif

#endif
"""

PREAMBLE = """/*
 * npyext {version}: SQL over NumPy's .npy and .npz, WebDataset shards and .safetensors files, in SQLite.
 *
 * This one file is made of src/ and ext/ by ext/tools/amalgamate.py. As a loadable extension:
 *
 *     cc -O2 -fPIC -shared -o npyext.so npyext.c -lminizip -lz -lm
 *
 * As a part of a program that has SQLite (3.37 or newer), see npyext.h:
 *
 *     cc -O2 -DSQLITE_CORE program.c npyext.c -lsqlite3 -lminizip -lz -lm -lpthread
 *
{licence} */
"""


def one_file(project):
    """The text of all files of a project, each system header first."""
    licence = "".join(f" * {line}".rstrip() + "\n" for line in read("LICENSE").splitlines())
    parts = [PREAMBLE.format(version=version(), licence=licence)]
    parts += [f"#ifndef {name}\n#define {name}\n#endif\n" for name in project.features]
    parts += [f"#include {header}\n" for header in sorted(project.system)]
    # What files share is hidden from others; in the build of separate files, -fvisibility=hidden does this.
    parts.append("\n#pragma GCC visibility push(hidden)\n")
    parts += [project.section(path) for path in [*project.headers, *project.files]]
    parts.append("\n#pragma GCC visibility pop\n")
    return "".join(parts)


def main(folder):
    project = Project()
    prototype = "int {}(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);\n"
    prototypes = "".join(prototype.format(name) for name in entry_points())
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "npyext.c"), "w", encoding="utf-8") as file:
        file.write(one_file(project))
    with open(os.path.join(folder, "npyext.h"), "w", encoding="utf-8") as file:
        file.write(HEADER.format(version=version(), declarations=prototypes))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        fail("usage: amalgamate.py FOLDER")
    main(sys.argv[1])
