"""Runs the fuzz targets: `python3 tests/fuzz/run.py SECONDS [TARGET...]`, each for that long, from fresh seeds and what
earlier runs have learned.

Prints for each what was executed and found, and `N passed, N failed` last: one a target. A finding stays in
.build/fuzz/findings, and its name is told. Too much is one, too: an input may take a second of the processor's time
and 256 MiB of memory, by the account of fuzz.c. FUZZ_CORPUS=FOLDER keeps what a run learns there, for the next one;
FUZZ_JOBS says how many run side by side (default: one a processor); NPYEXT_SEED begins where another run began. With NPYEXT_SHARE=2
every second target runs, by the seed, if none is named.
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, ".build", "fuzz")
FINDINGS = os.path.join(BUILD, "findings")

sys.path.insert(0, HERE)

import learned  # noqa: E402
import seeds  # noqa: E402
import shell  # noqa: E402

# The longest input of a target, where 4096 bytes are not what is wanted.
MAX_LENGTHS = {"literal": 2048, "dtype": 1024, "slice": 400, "text": 400, "json": 1024, "npz": 8192, "tar": 24576, "write": 2048, "calc": 300}
DICTIONARIES = {"header": "header", "dtype": "header", "literal": "header", "npz": "header", "json": "text",
                "text": "text", "slice": "text", "sql": "sql", "pickle": "pickle",
                "safetensors": "safetensors", "calc": "calc", "torch": "torch", "gguf": "gguf"}


# fuzz.c keeps to its own limits. These are for what it does not see: wall clock, in seconds, that nothing spends, and
# the memory of the sanitizers, which keep freed blocks for a while, of the corpus and of what an input takes.
TIMEOUT, RSS_MB, QUARANTINE_MB = 60, 1024, 64


def max_length(target):
    return MAX_LENGTHS.get(target, 4096)


def command(target, seconds, seed, corpus, prefix):
    program = os.path.join(BUILD, f"fuzz_{target}")
    options = [f"-max_total_time={seconds}", f"-seed={seed}", f"-max_len={max_length(target)}",
               f"-timeout={TIMEOUT}", f"-rss_limit_mb={RSS_MB}", "-malloc_limit_mb=256", "-print_final_stats=1", "-verbosity=1",
               f"-artifact_prefix={prefix}"]
    if target == "sql":
        options.append("-entropic=0")  # a schedule of inputs that takes a fifth of the time of so many
    if target in DICTIONARIES:
        options.append(f"-dict={os.path.join(HERE, DICTIONARIES[target])}.dict")
    return ["nice", "-n", "10", program, *options, *corpus]


def statistic(output, pattern):
    found = re.findall(pattern, output)
    return int(found[-1]) if found else 0


def run(target, seconds, seed):
    """Whether the target ran to the end of its time; prints what it did."""
    kept = os.environ.get("FUZZ_CORPUS")
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=BUILD) as folder, tempfile.TemporaryDirectory(dir=shared) as memory:
        seeds.write_seeds(folder, target)
        learned.write(folder, target)
        corpus = [os.path.join(folder, target)]
        if kept:
            corpus.insert(0, os.path.join(kept, target))
            os.makedirs(corpus[0], exist_ok=True)
        prefix = os.path.join(FINDINGS, f"{target}-")
        done = subprocess.run(
            command(target, seconds, seed, corpus, prefix),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(os.environ, TMPDIR=memory, ASAN_OPTIONS=f"quarantine_size_mb={QUARANTINE_MB}"),  # TMPDIR: the files of fuzz_sql
        )
    output = done.stdout.decode("utf-8", "backslashreplace")
    with open(os.path.join(BUILD, f"{target}.log"), "w", encoding="utf-8") as log:
        log.write(output)
    executions = statistic(output, r"stat::number_of_executed_units: +(\d+)") or statistic(output, r"#(\d+)\t")
    edges, features = statistic(output, r" cov: (\d+)"), statistic(output, r" ft: (\d+)")
    megabytes = statistic(output, r"peak_rss_mb: +(\d+)")
    print(f"{target:8} {executions:>10} executions, {edges:>6} edges, {features:>6} features, peak {megabytes:>4} MB: "
          f"{'ok' if done.returncode == 0 else 'FAILED'}", flush=True)
    if done.returncode != 0:
        what = re.findall(r"does not hold: .*|ERROR: .*|runtime error: .*|SUMMARY: .*", output)
        where = re.findall(r"written to (\S+)", output)
        print("    " + "\n    ".join([*what[:4], *where[:1], f"log: .build/fuzz/{target}.log"]), flush=True)
    return done.returncode == 0


def main():
    seconds, targets = int(sys.argv[1]), sys.argv[2:] or [target for target in seeds.SEEDS if shell.is_asked(target)]
    os.makedirs(FINDINGS, exist_ok=True)
    seed = shell.random_seed()
    print(f"NPYEXT_SEED={seed}", flush=True)
    jobs = int(os.environ.get("FUZZ_JOBS") or os.cpu_count() or 1)
    with ThreadPoolExecutor(jobs) as pool:
        results = list(pool.map(lambda target: run(target, seconds, seed), targets))
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
