"""Prints how much of src/ and ext/ was reached by what ran on the coverage build, folder by folder: `make coverage`.

Of lines; of branches, each of which is to be taken and not taken; and of conditions (MC/DC): each part of a decision is to
change its result alone. The figures are llvm-cov's, which count what a macro hides (NPYX_TRY, which returns an error), and of an
inline function each copy. What else no copy has reached is listed in .build/coverage/left.txt: `src/io/sink.c:120:9 never true`.
Processes that are killed, or end by _exit, count nothing.
"""

import bisect
import collections
import glob
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, ".build", "coverage")
KINDS = ("lines", "branches", "mcdc")
STRICT = ("src/array", "src/format", "src/text")  # what reads strangers' bytes
VERSION = "19"


def files(root=ROOT, raw=None):
    """What llvm-cov tells of each file of src/ and ext/, by name: of what was built in a tree, and counted in raw profiles."""
    build = os.path.join(root, ".build", "coverage")
    merged = os.path.join(build, "merged.profdata")
    raw = raw or glob.glob(os.path.join(build, "profiles", "*.profraw"))
    subprocess.run([f"llvm-profdata-{VERSION}", "merge", "-sparse", "-o", merged, *raw], check=True)
    programs = [path for folder in ("unit", "fuzz", "host") for path in glob.glob(os.path.join(build, folder, "*")) if os.access(path, os.X_OK)]
    output = subprocess.run(
        [
            *(f"llvm-cov-{VERSION}", "export", "--skip-functions", "--skip-expansions", f"--instr-profile={merged}"),
            *(os.path.join(build, "npyext.so"), *(f"--object={path}" for path in sorted(programs))),
        ],
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    (data,) = json.loads(output)["data"]
    named = {os.path.relpath(file["filename"], root): file for file in data["files"]}
    return {name: file for name, file in sorted(named.items()) if name.startswith(("src/", "ext/"))}


def lines_reached(file):
    """The lines of a file that were executed."""
    lines = set()
    for (line, _, count, has_count, *_), (end, *_) in zip(file["segments"], file["segments"][1:]):
        if has_count and count > 0:
            lines.update(range(line, end + 1))
    return lines


def regions(file):
    """[((line, column), count)] of the places where counts change, in order; None: nothing is counted."""
    return [((line, column), count if has_count else None) for line, column, count, has_count, *_ in file["segments"]]


def branches(file):
    """{place: [times true, times false]}, of a function in a header all its copies together. A condition that is constant, such as
    `sizeof(void *) == 8`, is none."""
    times, places = collections.defaultdict(lambda: [0, 0]), regions(file)

    def is_reached(place):
        number = bisect.bisect_right(places, place, key=lambda region: region[0])
        return number > 0 and (places[number - 1][1] or 0) > 0

    for line, column, _, _, times_true, times_false, *_ in file["branches"]:
        times[line, column][0] += times_true
        times[line, column][1] += times_false
    return {place: both for place, both in sorted(times.items()) if any(both) or not is_reached(place)}


def conditions(file):
    """{place: [whether each condition was shown to decide by itself]}."""
    shown = {}
    for line, column, _, _, *_, alone in file.get("mcdc_records", ()):
        before = shown.get((line, column), [False] * len(alone))
        shown[line, column] = [a or b for a, b in zip(alone, before)] if len(before) == len(alone) else alone
    return shown


def left(name, file):
    """Lines that say which branches and conditions of a file were not reached."""
    missed = []
    for (line, column), both in branches(file).items():
        missed += [(line, column, f"never {side}") for side, times in zip(("true", "false"), both) if times == 0]
    for (line, column), shown in conditions(file).items():
        alone = [str(number) for number, is_shown in enumerate(shown, 1) if not is_shown]
        if alone:
            missed.append((line, column, f"not decided by condition {', '.join(alone)} of {len(shown)}"))
    return [f"{name}:{line}:{column} {what}" for line, column, what in sorted(missed)]


def share(covered, count):
    return f"{100 * covered / count:5.1f} % of {count:6,}" if count else f"{'':18}"


def main():
    folders = collections.defaultdict(lambda: dict.fromkeys(((kind, word) for kind in KINDS for word in ("covered", "count")), 0))
    missed = []
    for name, file in files().items():
        missed += left(name, file)
        for folder in {os.path.dirname(name), name.split("/")[0], "src and ext"}:
            for kind, word in folders[folder]:
                folders[folder][kind, word] += file["summary"][kind][word]
    print(f"{'':12}  {'lines':18}  {'branches':18}  {'conditions (MC/DC)':18}")
    for folder, sums in sorted(folders.items()):
        print(f"{folder:12}  " + "  ".join(share(sums[kind, "covered"], sums[kind, "count"]) for kind in KINDS))
    path = os.path.join(BUILD, "left.txt")
    with open(path, "w", encoding="utf-8") as out:
        out.write("".join(line + "\n" for line in missed))
    print(f"What was not reached: {len(missed)} lines of {os.path.relpath(path, ROOT)}")
    poor = [folder for folder in STRICT if folders[folder]["lines", "covered"] < 0.95 * folders[folder]["lines", "count"]]
    return 1 if poor else 0


if __name__ == "__main__":
    sys.exit(main())
