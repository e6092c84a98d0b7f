"""Runs the harnesses: `python3 tests/prove/run.py [--quick] [--planted] [NAME...]`, each through CBMC, which looks at every
input within a bound: no access outside an object, no overflow, no loop that goes on, and what the harness asserts.

A harness is a function prove_NAME of tests/prove/*.c. The lines of the comment before it say, where they begin so
(and are continued by lines that are indented):

    Bound:    what inputs are looked at
    Unwind:   how often loops run at most, and others of them: `14 name.0:3`; one that could run on fails
    Checks:   also conversion (no value is cut), unsigned (no wrap), leaks (all memory is freed)
    Replaces: `f by g`: calls of f are calls of g, which says what f may do, and f is checked by another harness
    Planted:  `src/FILE: OLD => NEW`: with this fault in the source, the harness must fail
    Fails:    the kinds of its faults, all of which must be found (canary.c)
    Took:     seconds of a processor, and `quick` if `--quick` is to run it

Each is run twice: the second time, inputs for all that it says is `reached` must be found, or it would say nothing. With
--planted the faults are sought instead. Prints a line for each, and `N passed, N failed` last. JOBS says how many run side by
side (default: one a processor); with --quick, NPYEXT_SHARE=2 takes every second of them, by NPYEXT_SEED. Logs, with the inputs
that were found, are in .build/prove.

CBMC is this machine's or that of a root of Debian 13's, made in .build/roots (root and debootstrap).
"""

import glob
import os
import re
import resource
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, ".build", "prove")

sys.path[:0] = [os.path.join(ROOT, "tests", "lib")]

import packages  # noqa: E402
import shell  # noqa: E402

CPU_SECONDS, MEMORY_NBYTES = int(os.environ.get("PROVE_SECONDS") or 600), 6 << 30
WORDS = "Bound|Unwind|Checks|Replaces|Planted|Fails|Took"
HARNESS = re.compile(r"/\*((?:(?!\*/).)*)\*/\nvoid prove_(\w+)\(void\)", re.S)
LINE = re.compile(rf"^ \* ({WORDS}): +(.*)$", re.M)
ALWAYS = ["--no-standard-checks", "--bounds-check", "--pointer-check", "--pointer-overflow-check", "--div-by-zero-check",
          "--signed-overflow-check", "--undefined-shift-check", "--unwinding-assertions"]
CHECKS = {"conversion": "--conversion-check", "unsigned": "--unsigned-overflow-check", "leaks": "--memory-leak-check"}
RESULT = re.compile(r"^\[(\S+)\] (.*): (SUCCESS|FAILURE|UNKNOWN|ERROR)$", re.M)
printing = threading.Lock()


def harnesses():
    """Name, file, and the lines of each, in order."""
    for path in sorted(glob.glob(os.path.join(HERE, "*.c"))):
        with open(path, encoding="utf-8") as file:
            for comment, name in HARNESS.findall(file.read()):
                comment = re.sub(r"\n \*    +", " ", comment)
                lines = {word: [] for word in WORDS.split("|")}
                for word, value in LINE.findall(comment):
                    lines[word].append(value)
                assert lines["Bound"] and lines["Unwind"] and lines["Took"], f"{path}: prove_{name} does not say what it checks"
                yield name, path, lines


class Tools:
    """CBMC's programs."""

    def __init__(self):
        self.before = []
        if shutil.which("cbmc") is not None:
            self.folder = ""
            return
        root = os.path.join(ROOT, ".build", "roots", "prove")
        if not os.path.exists(root):
            packages.debootstrap("trixie", root, "cbmc")
        libraries = sorted({os.path.dirname(path) for path in glob.glob(f"{root}/usr/lib/**/lib*.so.*", recursive=True)})
        # Its programs run with its own libraries, and call this machine's compiler for its headers.
        (loader,) = glob.glob(f"{root}/lib*/ld-linux*.so.*")
        self.before = [os.path.join(root, "lib", os.path.relpath(os.path.realpath(loader), f"{root}/usr/lib")),
                       "--library-path", ":".join(libraries)]
        self.folder = f"{root}/usr/bin/"

    def command(self, tool, *arguments):
        return ["nice", "-n", "2", *self.before, self.folder + tool, *arguments]


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_NBYTES, MEMORY_NBYTES))


def run(command, log):
    """What it prints, whether it succeeds, and its seconds of a processor."""
    with open(log, "ab+") as file:
        begin = file.tell()
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, preexec_fn=limit, cwd=ROOT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        file.seek(begin)
        return file.read().decode("utf-8", "replace"), process.returncode == 0, usage.ru_utime + usage.ru_stime


def plant(name, planted):
    """A copy of the sources with the faults."""
    folder = os.path.join(BUILD, "planted", name)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(os.path.join(ROOT, "src"), os.path.join(folder, "src"))
    for line in planted:
        path, old, new = (part.replace("\\n", "\n") for part in re.fullmatch(r"(src/\S+): (.*) => (.*)", line).groups())
        with open(os.path.join(folder, path), encoding="utf-8") as file:
            text = file.read()
        assert text.count(old) == 1, f"{name}: {path} has {text.count(old)} times {old}"
        with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))
    return os.path.join(folder, "src")


def check(tools, name, path, lines, what):
    """The properties that CBMC looked at, each with its result, and the seconds that took."""
    stem, log = (os.path.join(BUILD, f"{name}.{what}{end}") for end in ("", ".log"))
    open(log, "w").close()
    sources = plant(name, lines["Planted"]) if what == "planted" else "src"
    defines = ["-DPROVE_REACHED"] if what == "reached" else []
    steps = [run(tools.command("goto-cc", "-std=c11", "-D_GNU_SOURCE", *defines, f"-I{sources}", "-Itests/prove",
                                          "--function", f"prove_{name}", path, "-o", f"{stem}.gb"), log)]
    replaced = [option for line in lines["Replaces"] for option in ("--replace-calls", ":".join(line.split(" by ")))]
    for options in [replaced] * bool(replaced) + [["--drop-unused-functions"]]:
        steps.append(run(tools.command("goto-instrument", *options, f"{stem}.gb", f"{stem}.gb"), log))
    unwind, *others = lines["Unwind"][0].split()
    options = ["--unwind", unwind, *(["--unwindset", ",".join(others)] if others else [])]
    if what == "reached":
        options += ["--no-standard-checks", "--no-unwinding-assertions"]
    else:
        options += ALWAYS + [CHECKS[check] for line in lines["Checks"] for check in line.split(", ")]
    if what == "planted" and not lines["Fails"]:
        options.append("--stop-on-fail")
    output, _, more = run(tools.command("cbmc", f"{stem}.gb", *options, "--slice-formula", "--trace", "--compact-trace"), log)
    seconds = more + sum(step[2] for step in steps)
    if "VERIFICATION " not in output or not all(step[1] for step in steps):
        return [("cbmc", "tells no result", "ERROR")], seconds
    found = RESULT.findall(output)
    if what == "planted" and "VERIFICATION FAILED" in output:
        found.append(("planted", "", "FAILURE"))
    return found, seconds


def kind(result):
    """`overflow` of `prove_canary.overflow.1`."""
    return result[0].split(".")[-2]


def verdict(lines, what, results):
    """What is wrong with them, if anything is."""
    errors = [result for result in results if result[2] == "ERROR"]
    failed = [result for result in results if result[2] == "FAILURE"]
    unknown = [result for result in results if result[2] == "UNKNOWN"]  # what comes after a fault
    if errors or (what == "checked" and not lines["Fails"]):
        return errors or failed or unknown
    if what == "checked":
        wanted = set(lines["Fails"][0].split())
        return [(kind, "", "NOT FOUND") for kind in wanted ^ {kind(result) for result in failed}]
    if what == "planted":
        return [] if failed else [("planted", lines["Planted"][0], "NOT FOUND")]
    goals = [result for result in results if " reached: " in result[1]]
    return [goal for goal in goals if goal[2] == "SUCCESS"] if goals else [("reached", "nothing is", "ERROR")]


def judge(tools, name, path, lines, passes):
    """Whether the harness holds; prints a line."""
    faults, seconds, nproperties = [], 0.0, 0
    for what in passes:
        results, took = check(tools, name, path, lines, what)
        seconds += took
        nproperties += len(results) if what == "checked" else 0
        faults += [(what, *fault) for fault in verdict(lines, what, results)]
    with printing:
        print(f"{name:28} {lines['Bound'][0]:44} {seconds:6.1f} s {nproperties:5} properties: "
              f"{'FAILED' if faults else 'ok'}", flush=True)
        for what, name_of, text, result in faults[:8]:
            print(f"    {what}: {name_of} {text}: {result}\n    log: .build/prove/{name}.{what}.log", flush=True)
    return not faults


def main():
    arguments = sys.argv[1:]
    passes = ["planted"] if "--planted" in arguments else ["checked", "reached"]
    names = [argument for argument in arguments if not argument.startswith("--")]
    chosen = [harness for harness in harnesses() if not names or harness[0] in names]
    unknown = set(names) - {harness[0] for harness in chosen}
    if unknown:
        sys.exit(f"there is no harness {', '.join(sorted(unknown))}")
    if "--quick" in arguments:
        chosen = [harness for harness in chosen if harness[2]["Took"][0].endswith(", quick")]
        chosen = [harness for harness in chosen if harness[0] == "canary" or shell.is_asked(harness[0])]
    if "--planted" in arguments:
        chosen = [harness for harness in chosen if harness[2]["Planted"]]
    os.makedirs(BUILD, exist_ok=True)
    tools = Tools()
    # The longest first, so that none of them is left alone at the end.
    chosen.sort(key=lambda harness: -float(harness[2]["Took"][0].split()[0]))
    with ThreadPoolExecutor(int(os.environ.get("JOBS") or os.cpu_count() or 1)) as pool:
        results = list(pool.map(lambda harness: judge(tools, *harness, passes), chosen))
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if all(results) and results else 1


if __name__ == "__main__":
    sys.exit(main())
