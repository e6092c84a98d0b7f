"""Plants faults, one at a time, and says which of our checks find them, and after how long: `python3 tests/mutants/planted.py
[NAME...]`, of those below. It is the checks that are tried here. A fuzz target gets an hour of one core; of `make check` and `make
check-small` those tests run that reach the line (as in mutants.py), up to the first that fails; of `make prove` the harness that
looks at the function.

Each is planted in a copy of the tree in .build/mutants. NPYEXT_SEED begins where another run began.
"""

import os
import subprocess
import sys
import time

import mutants
import shell

# Name: what is wrong, fuzz target, harness of tests/prove, `FILE: OLD => NEW`.
FAULTS = {
    "npy prefix": ("a size too small by two", "header", "npy_measure", "src/format/header.c: if (nbytes < prefix_nbytes(bytes[6])) => if (nbytes < 10)"),
    "literal blanks": ("a loop that no end bounds", "literal", "literal_blanks",
                       "src/text/literal.c: while (p->off < p->nbytes && p->text[p->off] == ' ') => while (p->text[p->off] == ' ')"),
    "safetensors shape": ("an array one too short", "safetensors", "safetensors_integers",
                          "src/format/archive_safetensors.c: if (!is_length || *n == most) => if (!is_length || *n > most)"),
    "gguf shape": ("a wrong sign", "gguf", "gguf_shape", "src/format/archive_gguf.c: tensor->shape[tensor->ndim - 1 - i] => tensor->shape[tensor->ndim + 1 - i]"),
    "zip directory": ("a missing check of a size", "npz", "zip_place_directory",
                      "src/format/zip_directory.c: if (found->directory_nbytes > (uint64_t)found->off || => if ("),
    "pickle memo": ("an index one too large", "pickle", "pickle_memo",
                    "src/format/pickle.c: if (number >= (uint64_t)p->nmemo || => if (number > (uint64_t)p->nmemo ||"),
    "pickle claim": ("room for what is claimed", "pickle", "pickle_memo",
                     "src/format/pickle.c: if (number > (uint64_t)(npyx_pickle_off(p) - p->begin_off)) => if (number > UINT32_MAX)"),
    "pax record": ("a length one too large", "tar", "tar_record", "src/format/tar_header.c: length > left.nbytes || => length > left.nbytes + 1 ||"),
    "index": ("an index one too large", "slice", "slice_integer", "src/array/slice.c: if (at < 0 || at >= length) => if (at < 0 || at > length)"),
    "operator": ("a look beyond the end", "calc", "expression_operator",
                 "src/lazy/expression.c: p->nbytes - p->off >= nbytes && memcmp => p->nbytes - p->off + 1 >= nbytes && memcmp"),
}  # fmt: skip
FUZZ_SECONDS = 3600
SMALL = {"NPYEXT_FLAVOUR": "small", "NPYEXT_TUNE": "least", "NPYEXT_THREADS": "3"}
SMALL_FOLDERS = tuple(f"tests/{folder}/" for folder in "numpy reading queries writing sql".split())


def place_of(line):
    """File and text before and after, of `FILE: OLD => NEW`."""
    path, change = line.split(": ", 1)
    return path, *change.split(" => ")


def program_finds(tree, *arguments):
    """When a program fails, in seconds, or `no`."""
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-B", *arguments], cwd=tree, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return f"{time.monotonic() - began:.0f} s" if done.returncode else "no"


def tests_find(tree, tests, seconds, environment):
    """The first of the tests that fails, or `no`, and how many there were."""
    failing = mutants.first_failing(tree, tests, seconds, environment)
    return f"no, {len(tests)} tests" if failing is None else os.path.basename(failing)


def main(names):
    print(f"NPYEXT_SEED={shell.random_seed()}")
    os.makedirs(mutants.BUILD, exist_ok=True)
    tree = mutants.copy_tree("planted")
    lines, seconds = mutants.reached(tree)
    os.makedirs(os.path.join(tree, ".build"), exist_ok=True)
    roots = os.path.join(mutants.ROOT, ".build", "roots")
    if os.path.exists(roots):
        os.symlink(roots, os.path.join(tree, ".build", "roots"))
    print(f"{'':18} {'what is wrong':28} {'make fuzz':10} {'make check':28} {'make check-small':28} make prove")
    for name in names or FAULTS:
        wrong, target, harness, line = FAULTS[name]
        path, old, new = place_of(line)
        with open(os.path.join(tree, path), encoding="utf-8") as file:
            original = file.read()
        assert original.count(old) == 1, f"{path} has {original.count(old)} times {old}"
        number = original.count("\n", 0, original.index(old)) + 1
        targets = [f".build/fuzz/fuzz_{target}", "npyext.so", "units-release", "replayers-release", ".build/small/npyext.so"]
        tests = sorted(lines[path].get(str(number), ()), key=seconds.get)
        with mutants.replaced(os.path.join(tree, path), original.replace(old, new)):
            subprocess.run(["make", "-s", "-j2", *targets], cwd=tree, check=True, stdout=subprocess.DEVNULL)
            found = [
                program_finds(tree, "tests/fuzz/run.py", str(FUZZ_SECONDS), target),
                tests_find(tree, tests, seconds, {}),
                tests_find(tree, [test for test in tests if test.startswith(SMALL_FOLDERS)], seconds, SMALL),
                program_finds(tree, "tests/prove/run.py", harness),
            ]
        print(f"{name:18} {wrong:28} {found[0]:10} {found[1]:28} {found[2]:28} {found[3]}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
