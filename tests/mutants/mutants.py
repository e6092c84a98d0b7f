"""Changes single places of src and asks whether a test notices: `python3 tests/mutants/mutants.py COUNT [FOLDER...]`.

A mutant is one token or statement changed at random: a comparison, a sign, a constant by one, a condition turned round, a
statement left out. It is killed when a test fails or hangs. One that does not compile, or whose object file is the same, is none.

Tests are asked in the order of their time, and only those that reach the line: what reaches it was found by running each unit
test and each test file by itself on the coverage build (`reached.json`, made once: a quarter of an hour). Mutants live in a copy
of the tree in .build/mutants. Prints a line for each, survivors with their change, and the share killed by folder. NPYEXT_SEED
begins where another run began; results are added to .build/mutants/log.txt.
"""

import collections
import contextlib
import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tests", "lib"), os.path.join(ROOT, "tests", "tools")]

import coverage  # noqa: E402
import shell  # noqa: E402

BUILD = os.path.join(ROOT, ".build", "mutants")
FOLDERS = ("src/array", "src/format", "src/text")
PATIENCE = 30  # seconds that a test may take before it counts as hanging, beyond three times what it took without a mutant
PYTEST = [sys.executable, "-B", "-m", "pytest", "-c", "tests/pytest.ini", "-x", "-q", "-p", "no:cacheprovider"]
NO_TESTS = 5  # pytest's exit status
# Those that build the product anew, or only repeat other files.
LEFT_OUT = ("tests/packaging/", "tests/hosts/test_sqlite_versions.py", "tests/docs/", "tests/demo/")

# ---- mutants ----

TOKEN = re.compile(
    r"""(?P<skip>/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
      |(?P<word>[A-Za-z_]\w*)|(?P<number>\d[\w.]*)|(?P<operator>->|<<=|>>=|[-+*/%&|^<>=!]=|\+\+|--|<<|>>|&&|\|\||[-+*/%&|^<>=!~?:])""",
    re.S | re.M | re.X,
)
OPERATORS = {
    "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=", ">="), "!=": ("==", "<"),
    "&&": ("||",), "||": ("&&",), "+": ("-",), "-": ("+",), "*": ("/", "+"), "/": ("*",), "%": ("/",), "<<": (">>",), ">>": ("<<",),
    "&": ("|",), "|": ("&",), "^": ("|",), "+=": ("-=", "="), "-=": ("+=", "="), "*=": ("/=", "="), "|=": ("&=", "="), "&=": ("|=", "="),
    "++": ("--",), "--": ("++",), "!": ("",), "~": ("",),
}  # fmt: skip
WORDS = {"true": ("false",), "false": ("true",), "break": ("continue",), "continue": ("break",)}
STATEMENT = re.compile(r"^ +(?!return|static|const|enum|struct|goto)(?:[\w\]\[>.()*-]+ [-+*/|&]?= |NPYX_TRY\(|\w+\()[^{}\n]*;$", re.M)
CONDITION = re.compile(r"\b(?:if|while) \(")


def changes(text):
    """(begin, end, instead) of each mutant of a source."""
    for found in TOKEN.finditer(text):
        begin, end = found.span()
        if found["operator"]:
            spaced = text[begin - 1] == " " and text[end : end + 1] == " "
            if found[0] in ("*", "&", "-", "+", "/", "%", "|", "^", "<", ">") and not spaced:
                continue  # a pointer, a sign, a header's name
            for instead in OPERATORS.get(found[0], ()):
                yield begin, end, instead
        elif found["word"]:
            for instead in WORDS.get(found[0], ()):
                yield begin, end, instead
        elif found["number"] and re.fullmatch(r"\d+|0x[0-9a-fA-F]+", found[0]):
            base = 16 if found[0].startswith("0x") else 10
            for step in (-1, 1) if int(found[0], base) else (1,):
                yield begin, end, str(int(found[0], base) + step)
    for found in STATEMENT.finditer(text):
        yield found.start(), found.end(), ";"
    for found in CONDITION.finditer(text):
        yield found.end(), found.end(), "!"


def mutants(folders, rng):
    """Endlessly: (path, text of the mutant, line, what changes)."""
    paths = sorted(path for folder in folders for path in glob.glob(os.path.join(ROOT, folder, "*.c")))
    texts = {path: open(path, encoding="utf-8").read() for path in paths}
    every = [(path, change) for path in paths for change in changes(texts[path])]
    rng.shuffle(every)
    for path, (begin, end, instead) in every:
        text = texts[path]
        line = text.count("\n", 0, begin) + 1
        mutated = text[:begin] + instead + text[end:]
        old, new = text.splitlines()[line - 1].strip(), mutated.splitlines()[line - 1].strip()
        yield os.path.relpath(path, ROOT), mutated, line, f"{old} => {new}"


# ---- what reaches a line ----


def reached(tree):
    """{file: {line: [test]}}, and {test: seconds}: what each unit test and test file reaches by itself."""
    path = os.path.join(BUILD, "reached.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    subprocess.run(["sh", "ext/tools/install-packages.sh", "check", "coverage"], check=True, cwd=ROOT)
    subprocess.run(["make", "-s", "-j2", "CC=clang-19", ".build/coverage/npyext.so", "units-coverage", "replayers-coverage"], check=True, cwd=tree)
    tests = [os.path.relpath(path, tree) for path in sorted(glob.glob(f"{tree}/tests/*/test_*.py"))]
    tests = [test for test in tests if not test.startswith(LEFT_OUT) and test != "tests/unit/test_unit.py"]
    tests = [f"unit/{os.path.basename(path)}" for path in sorted(glob.glob(f"{tree}/.build/coverage/unit/test_*"))] + tests
    lines, seconds = collections.defaultdict(lambda: collections.defaultdict(list)), {}
    for test in tests:
        folder = os.path.join(BUILD, "profile")
        shutil.rmtree(folder, ignore_errors=True)
        environment = {**os.environ, "LLVM_PROFILE_FILE": f"{folder}/%4m.profraw", "NPYEXT_SO": f"{tree}/.build/coverage/npyext.so"}
        began = time.monotonic()
        done = run(tree, test, {**environment, "NPYEXT_FLAVOUR": "coverage"}, 1800, "coverage")
        seconds[test] = time.monotonic() - began
        raw = glob.glob(f"{folder}/*.profraw")
        print(f"{test}: {seconds[test]:.0f} s{'' if done else ', fails'}", flush=True)
        if not done or not raw:
            continue
        for name, file in coverage.files(tree, raw).items():
            for line in coverage.lines_reached(file):
                lines[name][line].append(test)
    with open(path, "w", encoding="utf-8") as file:
        json.dump([lines, seconds], file)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


# ---- one mutant ----


def make(tree, *targets):
    return subprocess.run(["make", "-s", "CC=gcc", "CFLAGS=-O1", *targets], cwd=tree, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def run(tree, test, environment, seconds, flavour="release"):
    """Whether a test passes, or has nothing for this build."""
    is_unit = test.startswith("unit/")
    command = [os.path.join(tree, ".build", flavour, test)] if is_unit else [*PYTEST, test]
    process = subprocess.Popen(command, cwd=tree, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        return process.wait(seconds) in ((0,) if is_unit else (0, NO_TESTS))
    except subprocess.TimeoutExpired:
        return False
    finally:
        if process.poll() is None:
            os.killpg(process.pid, 9)
            process.wait()


def first_failing(tree, tests, seconds, environment):
    """The first test that fails, or None."""
    environment = {**os.environ, **environment}
    return next((test for test in tests if not run(tree, test, environment, PATIENCE + 3 * seconds[test])), None)


@contextlib.contextmanager
def replaced(path, text):
    """A file has another text meanwhile."""
    with open(path, encoding="utf-8") as file:
        original = file.read()
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        yield
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(original)


def killer(tree, path, mutated, tests, seconds):
    """The test that kills the mutant; None: no test does; False: it is no mutant."""
    object_name = f".build/release/{path[:-1]}o"
    object_path = os.path.join(tree, object_name)
    with open(object_path, "rb") as file:
        object_bytes = file.read()
    with replaced(os.path.join(tree, path), mutated):
        if not make(tree, object_name) or open(object_path, "rb").read() == object_bytes:
            killed_by = False
        else:
            units = [test for test in tests if test.startswith("unit/")]
            assert make(tree, "npyext.so", *(f".build/release/{test}" for test in units))
            killed_by = first_failing(tree, tests, seconds, {"NPYEXT_UNIT_ROUNDS": "few"})
    make(tree, object_name)
    return killed_by


def copy_tree(name):
    tree = os.path.join(BUILD, name, "main")
    shutil.rmtree(os.path.dirname(tree), ignore_errors=True)
    shutil.copytree(ROOT, tree, ignore=lambda folder, names: [name for name in names if name in (".build", ".git") or name.endswith(".so")], symlinks=True)
    shared = os.path.join(os.path.dirname(ROOT), "shared")
    if os.path.exists(shared):
        os.symlink(shared, os.path.join(BUILD, name, "shared"))
    return tree


def main(count, folders):
    seed = shell.random_seed()
    print(f"NPYEXT_SEED={seed}")
    os.makedirs(BUILD, exist_ok=True)
    tree = copy_tree(str(os.getpid()))
    lines, seconds = reached(tree)
    assert make(tree, "npyext.so", "units-release", "replayers-release")
    tally = collections.defaultdict(lambda: [0, 0])
    for path, mutated, line, change in mutants(folders, random.Random(seed)):
        of_file = lines.get(path, {})
        # a table's line is executed by nobody: all that reach the file may look at it
        tests = of_file.get(str(line)) or {test for reaching in of_file.values() for test in reaching}
        tests = sorted(tests, key=seconds.get)
        began = time.monotonic()
        killed_by = killer(tree, path, mutated, tests, seconds)
        if killed_by is False:
            continue
        tally[os.path.dirname(path)][0] += killed_by is not None
        tally[os.path.dirname(path)][1] += 1
        word = f"killed by {killed_by}" if killed_by else f"SURVIVES {len(tests)} tests"
        report = f"{path}:{line}: {word} ({time.monotonic() - began:.0f} s): {change}"
        print(report, flush=True)
        with open(os.path.join(BUILD, "log.txt"), "a", encoding="utf-8") as log:
            log.write(report + "\n")
        if sum(total for _, total in tally.values()) == count:
            break
    shutil.rmtree(os.path.dirname(tree))
    for folder, (killed, total) in sorted(tally.items()):
        print(f"{folder}: {killed} of {total} killed, {100 * killed / total:.1f} %")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:] or FOLDERS)
