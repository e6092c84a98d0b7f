"""The examples in README.md, docs/ and sql/README.md: every ```sql block of a document is run, in order, in one sqlite3 shell in a
folder of files (make_files.py). A block without language or of ```text that follows directly is its output, exactly;
a block without one must at least not fail."""

import functools
import glob
import os
import re
import tempfile

import pytest

import make_files
import shell

DOCUMENTS = [
    path
    for path in [
        os.path.join(shell.ROOT, "README.md"),
        *sorted(glob.glob(os.path.join(shell.ROOT, "docs", "**", "*.md"), recursive=True)),
        os.path.join(shell.ROOT, "sql", "README.md"),
    ]
    if os.path.exists(path)
]
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^ *```[ \t]*$", re.M | re.S)
# Printed between blocks; nothing else prints it.
BORDER = "--- next block ---"


def blocks(document):
    """[(line, SQL, expected output or None)] of a document."""
    with open(document) as file:
        text = file.read()
    fences = list(FENCE.finditer(text))
    found = []
    for fence, following in zip(fences, [*fences[1:], None]):
        if fence[2] != "sql":
            continue
        follows = following and following[2] in ("", "text") and not text[fence.end() : following.start()].strip()
        found.append((text.count("\n", 0, fence.start()) + 1, dedent(fence), dedent(following) if follows else None))
    return found


def dedent(fence):
    indent = len(fence[1])
    return "".join(line[indent:] if line[:indent].isspace() else line for line in fence[3].splitlines(keepends=True))


@functools.lru_cache(maxsize=None)
def outputs(document):
    """What the shell printed for each of the document's blocks."""
    script = f"\n.print '{BORDER}'\n".join(sql for _, sql, _ in blocks(document))
    with tempfile.TemporaryDirectory() as folder:
        make_files.make(folder)
        os.symlink(shell.EXTENSION, os.path.join(folder, "npyext.so"))
        os.symlink(os.path.join(shell.ROOT, "sql"), os.path.join(folder, "sql"))
        return shell.run(script, folder).split(BORDER + "\n")


CASES = [
    pytest.param(document, number, id=f"{os.path.relpath(document, shell.ROOT)}:{line}")
    for document in DOCUMENTS
    for number, (line, _, _) in enumerate(blocks(document))
]


@pytest.mark.parametrize("document, number", CASES)
def test_example(document, number):
    _, sql, expected = blocks(document)[number]
    printed = outputs(document)
    assert len(printed) > number, f"the shell stopped before this block:\n{printed[-1]}"
    if expected is None:
        assert not re.search(r"^(?:Error|Usage)\b", printed[number], re.M), printed[number]
    else:
        assert printed[number].splitlines() == expected.splitlines(), sql
