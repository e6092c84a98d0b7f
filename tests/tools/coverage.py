"""Prints which lines of src/ were executed by what ran on the coverage build: `make coverage`.

gcov counts a line once for each program that it was compiled into; here a line is reached when any reached it.
Headers count with their functions.
"""

import collections
import glob
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def counts():
    """{file: {line: how often}} of src/."""
    lines = collections.defaultdict(lambda: collections.defaultdict(int))
    notes = sorted(glob.glob(os.path.join(ROOT, ".build", "coverage", "src", "*", "*.gcno")))
    output = subprocess.run(["gcov", "--json-format", "--stdout", *notes], stdout=subprocess.PIPE, check=True, cwd=ROOT).stdout
    for document in output.decode().splitlines():
        for file in json.loads(document)["files"] if document else ():
            name = os.path.normpath(file["file"])
            if name.startswith("src" + os.sep):
                for line in file["lines"]:
                    lines[name][line["line_number"]] += line["count"]
    return lines


def ranges(numbers):
    """`3, 7-9` of sorted numbers."""
    found = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def main():
    every = reached = 0
    for name, lines in sorted(counts().items()):
        missed = sorted(number for number, count in lines.items() if count == 0)
        every, reached = every + len(lines), reached + len(lines) - len(missed)
        share = 100 * (len(lines) - len(missed)) / len(lines)
        print(f"{share:6.1f} %  {name:32} {len(lines):4} lines{'; not: ' + ranges(missed) if missed else ''}")
    print(f"{100 * reached / every:6.2f} %  of {every} lines of src/")
    return 0 if reached >= 0.95 * every else 1


if __name__ == "__main__":
    sys.exit(main())
