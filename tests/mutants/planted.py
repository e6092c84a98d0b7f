"""Plants faults, one at a time, and says which of our checks find them, and after how long: `python3 tests/mutants/planted.py
[NAME...]`, of those below. It is the checks that are tried here. A fuzz target gets an hour of one core, the tests end with
the first that fails, and of the harnesses of `make prove` those run that look at the function.

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


def replace(tree, line):
    """Plants `FILE: OLD => NEW`."""
    path, change = line.split(": ", 1)
    old, new = change.split(" => ")
    with open(os.path.join(tree, path), encoding="utf-8") as file:
        text = file.read()
    assert text.count(old) == 1, f"{path} has {text.count(old)} times {old}"
    with open(os.path.join(tree, path), "w", encoding="utf-8") as file:
        file.write(text.replace(old, new))


def finds(tree, *command, **environment):
    """When a check finds the fault, in seconds, or `not in N s`."""
    began = time.monotonic()
    done = subprocess.run(command, cwd=tree, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    seconds = time.monotonic() - began
    with open(os.path.join(mutants.BUILD, "planted.log"), "ab") as log:
        log.write(b"== " + " ".join(command).encode() + b"\n" + done.stdout[-4000:])
    return f"{seconds:.0f} s" if done.returncode else f"not in {seconds:.0f} s"


def main(names):
    print(f"NPYEXT_SEED={shell.random_seed()}")
    os.makedirs(mutants.BUILD, exist_ok=True)
    tree = mutants.copy_tree("planted")
    roots = os.path.join(mutants.ROOT, ".build", "roots")
    os.makedirs(os.path.join(tree, ".build"))
    if os.path.exists(roots):
        os.symlink(roots, os.path.join(tree, ".build", "roots"))
    print(f"{'':18} {'what is wrong':28} {'make fuzz':14} {'make check':14} {'make check-small':16} make prove")
    for name in names or FAULTS:
        wrong, target, harness, line = FAULTS[name]
        with open(os.path.join(tree, line.split(": ")[0]), encoding="utf-8") as file:
            original = file.read()
        replace(tree, line)
        subprocess.run(["make", "-s", "-j2", f".build/fuzz/fuzz_{target}", "npyext.so", "units-release", "replayers-release", ".build/small/npyext.so"],
                       cwd=tree, check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        python = [sys.executable, "-B"]
        found = [
            finds(tree, *python, "tests/fuzz/run.py", str(FUZZ_SECONDS), target),
            finds(tree, "make", "-s", "check", PYTEST_ADDOPTS="-x"),
            finds(tree, "make", "-s", "check-small", PYTEST_ADDOPTS="-x"),
            finds(tree, *python, "tests/prove/run.py", harness),
        ]
        print(f"{name:18} {wrong:28} {found[0]:14} {found[1]:14} {found[2]:16} {found[3]}", flush=True)
        with open(os.path.join(tree, line.split(": ")[0]), "w", encoding="utf-8") as file:
            file.write(original)


if __name__ == "__main__":
    main(sys.argv[1:])
