"""Sizes that are multiplied where memory is asked for:

    python3 tests/tools/sizes.py    allocations of `n * sizeof x` or `nelem * y`, as file:line (`make lint`)

What a file claims is multiplied by npyx_alloc_array, npyx_arena_array, npyx_buffer_reserve_array or npyx_mul_size, which
say when a product is no size. A factor that is a constant, in capitals, wraps nowhere.
"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CALL = re.compile(r"\b(npyx_(alloc|alloc_zeroed|arena_alloc|buffer_reserve|buffer_grow)|sqlite3_(malloc|realloc)(64)?|malloc|calloc|realloc)\(")
PRODUCT = re.compile(r"(?<![A-Z]) \* \(?sizeof|sizeof[^,;]* \* |nelem \* ")
# Nothing there comes from a file: columns that SQLite has counted, and constants.
ALLOWED = {"src/io/system_windows.c"}


def faults():
    for top in ("src", "ext"):
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), ROOT)
                if not name.endswith((".c", ".h")) or path in ALLOWED:
                    continue
                with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                    text = re.sub(r"/\*.*?\*/", lambda comment: re.sub(r"[^\n]", " ", comment[0]), file.read(), flags=re.S)
                for statement in re.finditer(r"[^;{}]+;", text):
                    if CALL.search(statement[0]) and PRODUCT.search(statement[0]):
                        start = statement.start() + len(statement[0]) - len(statement[0].lstrip())
                        line = text.count("\n", 0, start) + 1
                        yield f"{path}:{line}: {' '.join(statement[0].split())}"


found = list(faults())
print("\n".join(found), end="\n" if found else "")
sys.exit(bool(found))
