"""The floors of src/ and ext/, read from the includes:

    python3 tests/tools/floors.py check    which files include a floor above their own or what is private to another one, and
                                           circles of includes and of calls (`make lint`)
    python3 tests/tools/floors.py graph    the folders, their rooms and which stand on which, for graphviz (`make graph`)
"""

import os
import re
import sys

# The lowest first: a file includes files of its own folder and of folders that stand before it.
FLOORS = "src/base src/text src/io src/array src/item src/walk src/format src/lazy src/stat src/codec".split()
FLOORS += "ext/core ext/source ext/scan ext/value ext/function ext/table ext/entry".split()
# What builds and wraps it holds no .c and is included by nothing.
BESIDE = "ext/tools ext/python ext/node ext/web".split()
# Programs of their own, which include nothing of ours.
PROGRAMS = ["ext/web/page/main.c"]
# The codec's public header, for programs of others.
PUBLIC = "npyx.h"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def sources():
    """(folder, name) of every C file, floor by floor."""
    for folder in [*FLOORS, *BESIDE]:
        if os.path.isdir(os.path.join(ROOT, folder)):
            for name in sorted(os.listdir(os.path.join(ROOT, folder))):
                if name.endswith((".c", ".h")):
                    yield folder, name


def included(folder, name):
    """The files of ours that a file includes, as (folder, name) each."""
    with open(os.path.join(ROOT, folder, name), encoding="utf-8") as file:
        found = re.findall(r'^\s*#\s*include\s+"([^"]+)"', file.read(), re.M)
    for path in found:
        below, base = os.path.split(path)
        yield next((floor for floor in FLOORS if floor.split("/")[1] == below), below) if below else folder, base


NAME = r"\b(?:npyx|npyext|sqlite3_npyext)_\w+"
# The name of a function or a table that begins a line, and the brace or the equals sign after it.
DEFINITION = re.compile(r"^(?!static|typedef|extern|#)[a-z][^;{}()=]*?(%s)(?:\[\])?\s*(?:\([^;{]*\)\s*\{|=)" % NAME, re.M)
INLINE = re.compile(r"^static inline [^;{}()=]*?(%s)\([^;{]*\)\s*\{(.*?)^\}" % NAME, re.M | re.S)


def calls():
    """.c -> the .c files whose functions and tables it names, itself or through a header's inline functions."""
    code = {}
    for folder, name in sources():
        if folder in FLOORS:
            with open(os.path.join(ROOT, folder, name), encoding="utf-8") as file:
                code[folder, name] = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    inline = {name: set(re.findall(NAME, body)) for text in code.values() for name, body in INLINE.findall(text)}
    owner = {name: file for file, text in code.items() if file[1].endswith(".c") for name in DEFINITION.findall(text)}
    named = {}
    for file, text in code.items():
        if file[1].endswith(".c"):
            names, new = set(), set(re.findall(NAME, text))
            while new:
                names |= new
                new = set().union(*(inline[name] for name in new if name in inline)) - names
            named[file] = sorted({owner[name] for name in names if name in owner} - {file})
    return named


def circles(files):
    """The circles of files, each as a list; walks from file to file."""
    done, found = set(), []

    def walk(file, way):
        if file in way:
            found.append([*way[way.index(file) :], file])
        elif file not in done:
            for other in files.get(file, ()):
                walk(other, [*way, file])
            done.add(file)

    for file in files:
        walk(file, [])
    return found


def faults():
    files = {file: list(included(*file)) for file in sources()}
    for top in ("src", "ext"):
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            floor = os.path.relpath(folder, ROOT)
            for name in names:
                if f"{floor}/{name}" not in PROGRAMS and floor not in FLOORS and (name.endswith(".c") or (name.endswith(".h") and (floor not in BESIDE and name != PUBLIC))):
                    yield f"{floor}/{name}: lies on no floor"
    for (folder, name), others in files.items():
        for other in others:
            path = f"{folder}/{name}: includes {'/'.join(other)}"
            if other[1] == PUBLIC:
                if folder != "src/codec":
                    yield f"{path}, which is for programs of others"
            elif other not in files:
                yield f"{path}, which is not there"
            elif other[1].endswith("_private.h") and other[0] != folder:
                yield f"{path}, which is private to its folder"
            elif folder in BESIDE or other[0] in BESIDE or FLOORS.index(other[0]) > FLOORS.index(folder):
                yield f"{path}, which is no lower floor"
    for word, graph in (("includes", files), ("calls", calls())):
        for circle in circles(graph):
            yield f" {word} ".join("/".join(file) for file in circle)


def rooms(folder):
    """The modules of a folder; those of one family (stats, stats_add) as one room."""
    names = sorted({os.path.splitext(name)[0] for floor, name in sources() if floor == folder})
    return [name for name in names if not any(name.startswith(other + "_") for other in names)]


def stands_on():
    """folder -> the folders it includes, but for those that one of these stands on."""
    direct = {folder: set() for folder in FLOORS}
    for folder, name in sources():
        if folder in FLOORS:
            direct[folder] |= {other for other, _ in included(folder, name)} - {folder}
            if folder.startswith("ext/"):
                direct[folder] |= {floor for floor in FLOORS if floor.startswith("src/")}
    whole = {}
    for folder in FLOORS:  # the lowest first, so that what is below is known
        whole[folder] = direct[folder].union(*(whole[other] for other in direct[folder]))
    return {folder: [f for f in FLOORS if f in direct[folder] and not any(f in whole[o] for o in direct[folder])] for folder in FLOORS}


def graph():
    yield "digraph npyext {"
    yield "  rankdir=BT; nodesep=0.4; ranksep=0.35; node [shape=plain fontname=Helvetica]; edge [color=gray40];"
    for folder in FLOORS:
        listed, row = [], ""
        for room in rooms(folder):
            if len(row) + len(room) > 60:
                listed.append(row)
                row = ""
            row += (", " if row else "") + room
        listed.append(row)
        colour = "lightblue" if folder.startswith("src") else "khaki"
        cells = f'<tr><td bgcolor="{colour}"><b>{folder}</b></td></tr><tr><td>{",<br/>".join(listed)}</td></tr>'
        yield f'  "{folder}" [label=<<table border="0" cellborder="1" cellspacing="0" cellpadding="5">{cells}</table>>];'
    for folder, others in stands_on().items():
        for other in others:
            yield f'  "{other}" -> "{folder}" [dir=back];'
    yield "}"


def main():
    if sys.argv[1:] == ["graph"]:
        print("\n".join(graph()))
        return
    if sys.argv[1:] != ["check"]:
        sys.exit(__doc__)
    found = list(faults())
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))


main()
