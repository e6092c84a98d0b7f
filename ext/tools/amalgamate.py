#!/usr/bin/env python3
"""amalgamate.py FOLDER: write FOLDER/npyext.c, all of src/ and ext/ as one C file, and FOLDER/npyext.h, its entry
points.

    cc -O2 -fPIC -shared -o npyext.so npyext.c -lminizip -lz -lm

Files may use the same names for what is their own: static functions and variables, types, tags, constants. In one
translation unit these meet, so a name of this kind that means something elsewhere, too, gets the name of its file as
suffix. What a file declares is taken from the preprocessor's output (CC, by default cc), where functions that macros
make stand in full, and from the text, where the branches for other machines are. Macros of a file end with it.
"""

import collections
import glob
import os
import re
import shlex
import subprocess
import sys

from c_text import is_name, names_of, renamed, words_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Where headers of other folders are looked for, as -I has it.
SEARCHED = ("src", "ext")
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)((?:\\\n|[^\n])*)\n?", re.M)
FEATURES = re.compile(r"_(GNU|POSIX|XOPEN|DEFAULT|FILE)_\w+$")


def fail(message):
    sys.exit(f"amalgamate.py: {message}")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def preprocessed(path, known):
    """{file: its words} of a file and what it includes but the known files, macros expanded; {file: its macros}."""
    command = [*shlex.split(os.environ.get("CC", "cc")), "-E", "-dD", "-D_GNU_SOURCE", *(f"-I{folder}" for folder in SEARCHED), path]
    output = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout.decode()
    texts, macros, origin = {}, {}, path
    for line in output.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            origin = os.path.normpath(marker[1])
        elif line.startswith("#"):
            define = re.match(r"#define (\w+)", line)
            if define:
                macros.setdefault(origin, set()).add(define[1])
        else:
            texts.setdefault(origin, []).append(line + "\n")
    return {origin: words_of("".join(lines)) for origin, lines in texts.items() if origin not in known}, macros


def found_header(path, name):
    """The path of a header that a file includes: beside it, or below the folders that are searched."""
    for folder in (os.path.dirname(path), *SEARCHED):
        found = os.path.normpath(os.path.join(folder, name))
        if os.path.exists(os.path.join(ROOT, found)):
            return found
    return fail(f"{path} includes {name}, which is not there")


def split_includes(path, text):
    """(system headers, own headers, the text without these lines). Those within #if stay where they are."""
    system, own, kept, depth, at = [], [], [], 0, 0
    for directive in DIRECTIVE.finditer(text):
        kind, rest = directive[1], directive[2].strip()
        guard = depth == 1 and path.endswith(".h")
        if kind == "include" and (depth == 0 or guard):
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


def own_macros(text):
    """The macros that end with the file; those that stand in for one that is missing (#ifndef X) do not."""
    found, before = [], None
    for directive in DIRECTIVE.finditer(text):
        words = directive[2].split()
        if directive[1] == "define":
            name = re.match(r"\w+", words[0])[0]
            if before != ("ifndef", name) and name not in found and not FEATURES.match(name):
                found.append(name)
        before = (directive[1], words[0] if words else "")
    return found


class Project:
    """The files of src/ and ext/, what each includes and what each declares."""

    def __init__(self):
        self.files = [
            os.path.relpath(path, ROOT) for folder in SEARCHED for path in sorted(glob.glob(os.path.join(ROOT, folder, "*", "*.c")))
        ]
        self.headers, self.system, self.text, self.includes = [], [], {}, {}
        self.own, self.made_by_macros, self.shared, self.linked, self.known = {}, {}, set(), set(), set()
        for path in self.files:
            self.take(path)
        for path in self.files:
            self.learn(path)
        self.settle()

    def take(self, path):
        """Read a file and the headers that it includes, which become known in the order of their use."""
        system, headers, self.text[path] = split_includes(path, read(path))
        self.system += [header for header in system if header not in self.system]
        self.includes[path] = []
        for header in headers:
            if header not in self.text:
                if not re.search(r"^#ifndef (\w+_H)\n#define \1\n", read(header), re.M):
                    fail(f"{header} has no guard of the form #ifndef NAME_H")
                self.take(header)
                self.headers.append(header)
            self.includes[path] += [header, *self.includes[header]]

    def learn(self, path):
        """Note what a file declares, and what its headers do. Of system headers every word counts, which costs a
        suffix too many at most."""
        texts, macros = preprocessed(path, self.known)
        self.known.update(texts)
        for origin, words in texts.items():
            if origin in self.text:
                own, linked = names_of(words)
                literal, literally_linked = names_of(words_of(DIRECTIVE.sub("", self.text[origin])))
                self.linked |= linked | (literally_linked - own)
                self.own[origin] = own | literal
                self.made_by_macros[origin] = own - literal
            else:
                self.shared.update(filter(is_name, words))
        for origin, names in macros.items():
            if origin not in self.files:
                self.shared |= names

    def settle(self):
        """What a file declares, too, of which its header knows is not its own: types that are complete there
        alone. Nor is what is linked."""
        for path, headers in self.includes.items():
            self.own[path] -= self.linked
            for header in headers:
                self.own[path] -= self.own[header]
        self.declared = collections.Counter(name for names in self.own.values() for name in names)

    def clashes(self, path):
        taken = self.shared | self.linked
        return {name for name in self.own[path] if name in taken or self.declared[name] > 1}

    def new_names(self, path):
        """{name: with a suffix} of the names in a file that have another meaning elsewhere: its own ones, and those
        of private headers, of which each file includes one."""
        names = {}
        for origin in dict.fromkeys([path, *self.includes[path]]):
            suffix = os.path.splitext(os.path.basename(origin))[0]
            for name in sorted(self.clashes(origin)):
                if origin.endswith(".h") and (name in self.shared or name.endswith("_H")):
                    continue
                new = f"{name}_{suffix}"
                while new in self.shared or new in self.linked or new in self.declared:
                    new += "_"
                names.setdefault(name, new)
        return names


def section(project, path):
    """(macros that it wants before all includes, its text) of a file as a part of the whole."""
    text, names = project.text[path], project.new_names(path)
    features = [name for name in re.findall(r"^#define (\w+)$", text, re.M) if FEATURES.match(name)]
    for name in features:
        text = re.sub(rf"^#ifndef {name}\n#define {name}\n#endif\n", "", text, flags=re.M)
    pasted = [name for name in names if name in project.made_by_macros[path]]
    parts = [f"\n/* ======== {path} ======== */\n"]
    parts += [f"#define {name} {names[name]}\n" for name in pasted]
    parts.append(renamed(text, names))
    parts += [f"#undef {name}\n" for name in pasted]
    if path.endswith(".c"):
        parts += [f"#undef {name}\n" for name in own_macros(text)]
    for pragma in sorted(set(re.findall(r"^#pragma STDC (\w+) O", text, re.M))):
        # It would last to the end of the unit.
        parts.append(f"#ifdef __clang__\n#pragma STDC {pragma} DEFAULT\n#endif\n")
    return features, "".join(parts)


def version():
    return re.search(r'NPYEXT_VERSION "([^"]+)"', read("ext/core/version.h"))[1]


def entry_points(project):
    return sorted(set(re.findall(r"\bsqlite3_npyext_(?:[a-z]+_)?init\b", read("ext/entry/npyext.c"))), key=len)


HEADER = """/*
 * npyext {version}: SQLite reads and writes NumPy's .npy and .npz and WebDataset's .ten files.
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
 * npyext {version}: SQLite reads and writes NumPy's .npy and .npz and WebDataset's .ten files.
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


def main(folder):
    project = Project()
    sections = [section(project, path) for path in project.files]
    features = sorted({name for names, _ in sections for name in names})
    licence = "".join(f" * {line}".rstrip() + "\n" for line in read("LICENSE").splitlines())
    parts = [PREAMBLE.format(version=version(), licence=licence)]
    parts += [f"#ifndef {name}\n#define {name}\n#endif\n" for name in features]
    parts += [f"#include {header}\n" for header in sorted(project.system)]
    parts += [section(project, path)[1] for path in project.headers]
    parts += [text for _, text in sections]
    prototype = "int {}(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);\n"
    prototypes = "".join(prototype.format(name) for name in entry_points(project))
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "npyext.c"), "w", encoding="utf-8") as file:
        file.write("".join(parts))
    with open(os.path.join(folder, "npyext.h"), "w", encoding="utf-8") as file:
        file.write(HEADER.format(version=version(), declarations=prototypes))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        fail("usage: amalgamate.py FOLDER")
    main(sys.argv[1])
