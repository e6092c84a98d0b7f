"""The examples in README.md, docs/ and sql/README.md: every ```sql block of a document is run, in order, in one sqlite3 shell in a
folder of files (make_files.py). A block without language or of ```text that follows directly is its output, exactly;
a block without one must at least not fail."""

import collections
import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

import pytest

import make_files
import pictures
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
REFERENCE = sorted(glob.glob(os.path.join(shell.ROOT, "docs", "reference", "*.md")))
FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^ *```[ \t]*$", re.M | re.S)
# Printed between blocks; nothing else prints it.
BORDER = "--- next block ---"


def text_of(document):
    with open(document) as file:
        return file.read()


def blocks(document):
    """[(line, SQL, expected output or None)] of a document."""
    text = text_of(document)
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
        for made in re.findall(r"^```python files\n(.*?)^```$", text_of(document), re.M | re.S):
            subprocess.run(["/usr/bin/python3", "-c", made], cwd=folder, check=True)
        os.symlink(shell.EXTENSION, os.path.join(folder, "npyext.so"))
        os.symlink(os.path.join(shell.ROOT, "sql"), os.path.join(folder, "sql"))
        printed = shell.run(script, folder).split(BORDER + "\n")
        compare_pictures(document, folder)
        return printed


# Pictures of documents, made by the commands beside them. Of a PNG it is the pixels that count: zlib may deflate otherwise.
wrong_pictures = {}


def compare_pictures(document, folder):
    for path in re.findall(r"!\[[^]]*\]\((pictures/[^)]+)\)", text_of(document)):
        made, kept = os.path.join(folder, os.path.basename(path)), os.path.join(os.path.dirname(document), path)
        if os.environ.get("UPDATE") and os.path.exists(made):
            os.makedirs(os.path.dirname(kept), exist_ok=True)
            shutil.copy(made, kept)
        if not os.path.exists(made) or contents(made) != contents(kept):
            wrong_pictures.setdefault(document, []).append(path)


def contents(path):
    with open(path, "rb") as file:
        data = file.read()
    return pictures.png_pixels(data)[1].tobytes() if path.endswith(".png") else data


@pytest.mark.parametrize("document", [path for path in DOCUMENTS if "](pictures/" in text_of(path)], ids=os.path.basename)
def test_pictures_are_those_that_the_commands_make(document):
    outputs(document)
    assert wrong_pictures.get(document, []) == []


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
        assert shell.lines(printed[number]) == shell.lines(expected), sql


def test_the_files_of_the_examples_are_made_without_numpy(tmp_path):
    """A stranger's Python has none."""
    made = subprocess.run([sys.executable, "-c", f"import sys; sys.modules['numpy'] = None; sys.path.insert(0, {os.path.dirname(make_files.__file__)!r}); import make_files; make_files.make({str(tmp_path)!r})"])
    assert made.returncode == 0 and os.path.exists(tmp_path / "wds" / "train-000000.tar")


def test_reference_has_an_example_of_each(tmp_path):
    """Each function, aggregate and table of the extension is called in a block of the reference whose output is compared."""
    listing = "SELECT name FROM pragma_function_list UNION SELECT name FROM pragma_module_list;"
    # A connection that the shell opens later has not loaded the extension.
    loaded, bare = (set(names.split()) for names in shell.run(f"{listing}\n.print '{BORDER}'\n.open :memory:\n{listing}", tmp_path).split(BORDER))
    registered = loaded - bare
    assert len(registered) >= 36 and "abs" in bare
    compared = "".join(sql for page in REFERENCE for _, sql, output in blocks(page) if output is not None)
    assert not registered - set(re.findall(r"\b(\w+)\(", compared))


# --- the messages that the reference quotes -----------------------------------------------------------------------

LITERAL = r'"(?:[^"\\\n]|\\.)*"'


@functools.lru_cache(maxsize=None)
def texts_of_the_source():
    """The string literals of src/ and ext/, adjacent ones joined, with a NUL for each %-directive."""
    texts = set()
    for path in [*glob.glob(os.path.join(shell.ROOT, "src", "*", "*.[ch]")), *glob.glob(os.path.join(shell.ROOT, "ext", "*", "*.[ch]"))]:
        with open(path) as file:
            code = re.sub(r"/\*.*?\*/", " ", file.read(), flags=re.S)
        for found in re.findall(rf"{LITERAL}(?:\s*(?:PRI\w+\s*)?{LITERAL})*", code):
            text = re.sub(r'"\s*(?:PRI\w+)?\s*"', "", found)[1:-1].replace('\\"', '"').replace("\\\\", "\\")
            texts.add(re.sub(r"%(?:[-+ #0]*[\d.*]*(?:ll|[lzhj])?[a-zA-Z])?", "\0", text))
    return texts


@functools.lru_cache(maxsize=None)
def whole_texts(least):
    """Those without directives that have so many characters, the longest first."""
    return sorted((text.strip() for text in texts_of_the_source() if "\0" not in text and len(text) >= least), key=len, reverse=True)


@functools.lru_cache(maxsize=None)
def texts_by_fives():
    """{five characters in a row: the texts that have them}."""
    texts = {}
    for text in texts_of_the_source():
        for i in range(len(text) - 4):
            texts.setdefault(text[i : i + 5], set()).add(text)
    return texts


def literal_share(part, text):
    """The share of a part's characters that stand in a text, where NULs of the text are any characters."""
    reached = [0] * (len(text) + 1)  # by the place in text: how many characters of part are literal so far, or -1
    for character in part:
        after = [-1] * (len(text) + 1)
        for place, expected in enumerate(text):
            if reached[place] >= 0:
                if expected == "\0":
                    after[place] = max(after[place], reached[place])
                elif expected == character:
                    after[place + 1] = max(after[place + 1], reached[place] + 1)
            if expected == "\0":
                after[place + 1] = max(after[place + 1], after[place])
        reached = after
    return max(reached) / len(part)


def is_in_the_source(part):
    """A part of a message that does not change is in one text, half of it at least: the rest is what %-directives print.
    Texts that are whole stand for themselves, as what such directives print."""

    def shortened(least):
        """least: a short text, such as the name of a format, may be a word of another one."""
        shorter = part
        for text in whole_texts(least):
            shorter = shorter.replace(text, "#")
        return shorter

    if len(shortened(6)) < 12:
        return True
    shared = collections.Counter(text for i in range(len(part) - 4) for text in texts_by_fives().get(part[i : i + 5], ()))
    likely = sorted(shared, key=shared.get, reverse=True)
    return any(literal_share(form, text) > 0.5 for form in (part, shortened(12), shortened(6)) for text in likely)


def test_messages_of_the_reference_are_those_of_the_source():
    tables = text_of(os.path.join(shell.ROOT, "docs", "reference", "errors.md")).split("\n## Errors\n")[1].split("\n## ")[0]
    cells = [re.split(r"(?<!\\) \| ", line[2:])[0] for line in tables.splitlines() if line.startswith("| ") and not line.startswith("| message ")]
    quoted = [m for cell in cells for m in re.finditer(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)(?! \(SQLite's\))", cell)]
    parts = {part.strip() for m in quoted for part in re.split(r"`?\.\.\.`?", m[2]) if len(part.strip()) >= 12}
    # A value of the example, which is not the message's own.
    parts = {part.replace("'7' does not fit uint8: ", "") for part in parts}
    assert len(parts) > 150
    assert {part for part in parts if not is_in_the_source(part)} == set()


def headings(document):
    """The anchors of a document, as GitHub makes them of its headings."""
    with open(document) as file:
        text = FENCE.sub("", file.read())
    titles = re.findall(r"^#+ +(.*?) *$", text, re.M)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)|[`*]", r"\1", title).lower() for title in titles)
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain}


@pytest.mark.parametrize("document", DOCUMENTS, ids=[os.path.relpath(path, shell.ROOT) for path in DOCUMENTS])
def test_links(document):
    """What a link of a document leads to in this tree exists, its heading too."""
    with open(document) as file:
        text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", file.read()))
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(os.path.dirname(document), path)) if path else document
        if not os.path.exists(target) or (anchor and anchor not in headings(target)):
            broken.append(link)
    assert not broken


def test_readme_leads_to_every_document():
    linked = set(re.findall(r"\]\(((?:docs|sql)/[\w/.]+\.md)", text_of(os.path.join(shell.ROOT, "README.md"))))
    pages = re.findall(r"\]\((reference/\w+\.md)", text_of(os.path.join(shell.ROOT, "docs", "reference.md")))
    assert {os.path.relpath(path, shell.ROOT) for path in DOCUMENTS} - {"README.md"} <= linked | {f"docs/{page}" for page in pages}
