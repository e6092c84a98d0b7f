"""The statements of tests/fuzz/fuzz_sql_statements.h for programs other than the fuzzer, and files for them."""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import seeds  # noqa: E402
import shell  # noqa: E402


def listed_statements():
    """The (sql, same, setup) of tests/fuzz/fuzz_sql_statements.h, read after the preprocessor."""
    header = os.path.join(shell.TESTS, "fuzz", "fuzz_sql_statements.h")
    command = [*os.environ.get("CC", "cc").split(), "-E", "-P", "-x", "c", header]
    text = subprocess.run(command, stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    text = text[text.index("statements[] = {") + len("statements[] =") : text.index("};", text.index("statements[] = {"))]
    found, quoted = [], False
    for brace, comma, string in re.findall(r'(\{)|(,|NULL)|"((?:\\.|[^"\\])*)"', text):
        if brace:
            found.append([""])
        elif comma == ",":
            found[-1].append("")
        elif not comma:
            found[-1][-1] += string.replace('\\"', '"')
    found = [tuple((entry + ["", ""])[:3]) for entry in found if entry[0]]
    assert len(found) > 150 and all(sql.split()[0] in ("SELECT", "WITH", "INSERT", "UPDATE", "COMMIT", "DELETE") for sql, _, _ in found)
    return found


def spoiled(rng, contents):
    """Cut short, or a few of its bytes others."""
    contents = bytearray(contents)
    if rng.random() < 0.3:
        return bytes(contents[: rng.randrange(len(contents) + 1)])
    for _ in range(rng.randrange(1, 4)):
        if contents:
            contents[min(rng.randrange(len(contents)), rng.randrange(len(contents)))] = rng.randrange(256)
    return bytes(contents)


def quoted(value):
    return "NULL" if value is None else "'" + (str(value) if not isinstance(value, bytes) else "bytes").replace("'", "''") + "'"


# Arrays that stand for the other file.
OTHERS = ["[0, 1]", "[2, 0.5, null]", "[[1, 2, 3], [4, 5, 6]]", '["a", "b"]']


def script(rng):
    """All of them, in any order, as SQL for the shell: over `f` by its path or as a BLOB, with sensible arguments or none."""
    lines = []
    for sql, same, setup in rng.sample(listed_statements(), len(listed_statements())):
        values = [None if own is None else own.decode() for own in seeds.arguments_of(sql + setup)]
        values = [own if own is not None else rng.choice([":", "2.5", "0", "x", "*"]) for own in values]
        texts = iter(values)
        lines += ["ROLLBACK", "DROP TABLE IF EXISTS t", "DROP TABLE IF EXISTS r", re.sub("%Q", lambda _: quoted(next(texts)), setup)]
        source = rng.choice(["readfile('f')", "'f'"])
        for text in filter(None, (sql, same)):
            arguments = [source, *map(quoted, values), f"npy_from_json('{rng.choice(OTHERS)}')"]
            lines.append(re.sub(r"\?(\d)", lambda number: arguments[int(number[1]) - 1], text))
    return "".join(line + ";\n" for line in lines if line)
