"""The fuzz targets (tests/fuzz) over their seeds, what fuzzing has learned, and every finding that a fuzzer ever made.

A finding is kept as tests/fuzz/findings/TARGET-WHAT.bin. `make fuzz` looks for new ones.
"""

import glob
import os
import subprocess
import sys

import pytest

import shell

FUZZ = os.path.join(shell.TESTS, "fuzz")
sys.path.insert(0, FUZZ)

import learned  # noqa: E402
import run  # noqa: E402
import seeds  # noqa: E402

FINDINGS = sorted(glob.glob(os.path.join(FUZZ, "findings", "*.bin")))


# Findings of the target `sql` begin with the number of a statement, which changes when others come before it.
STATEMENTS_OF_FINDINGS = {
    "a-blob-beside-numbers": "<name, row, valuenpy_rows(?1)value+value",
    "a-damaged-array-went-into-a-shard": "INSERT OR IGNORE INTO t(__key__, cls, npy) VALUES (?2, ?3, ?1), ",
    "a-key-like-a-zip": "INSERT OR IGNORE INTO t(__key__, cls, npy) VALUES (?2, ?3, ?1), ",
    "a-text-like-a-zip-in-a-shard": "COMMITCREATE VIRTUAL TABLE temp.t USING wds('g-%%d', mode='w+', columns='txt', maxcount=1)",
    "archive-writer-outlived-its-sink": "INSERT INTO t(name, array) VALUES (?3, ?1), (?4, ?1)CREATE VIRTUAL TABLE temp.t USING npy('g.npz'",
    "dot-of-nothing": "SELECT npy_norm(?1), npy_norm(?1, ?2), npy_dot(?1, ?1), npy_distance(",
    "mean-of-times-far-apart": "SELECT *, argmin, argmax, var, m2, crc32, array_key FROM npy_stats(?1)",
    "objects-of-megabytes-stacked": "SELECT npy_json(npy_stack(value)) FROM npy_rows(?1)",
    "rows-without-items-converted": "SELECT value FROM npy_rows(?1, '', ?2) WHERE astype = ?3",
}


def replay(target, paths):
    program = os.path.join(shell.BUILD, "fuzz", f"replay_{target}")
    assert os.path.exists(program), f"{program} is not built; `make check` builds it"
    done = subprocess.run(
        [program, *paths],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(shell.environment(shell.ROOT), FUZZ_PATIENCE="1" if shell.FLAVOUR == "release" else "10"),
        timeout=shell.PATIENCE,
    )
    lines = done.stdout.decode("utf-8", "backslashreplace").splitlines()
    assert done.returncode == 0 and lines[-1] == f"{len(paths)} files", "\n".join(lines[-40:])


# `make fuzz`, which CI runs too, begins with all seeds and all that was learned, sanitized: none of them is longer than its inputs
# may be. Here that build replays the findings.
TARGETS = [] if shell.SANITIZED else seeds.SEEDS
LEARNED_STEP = 5 if shell.SAMPLES else 1


@pytest.mark.parametrize("target", TARGETS)
def test_seeds(target, tmp_path):
    count = seeds.write_seeds(tmp_path, target)
    paths = sorted(glob.glob(str(tmp_path / target / "*")))
    assert len(paths) == count > 0
    assert all(os.path.getsize(path) <= run.max_length(target) for path in paths)
    replay(target, paths)


@pytest.mark.parametrize("target", TARGETS)
def test_learned(target, tmp_path):
    seed = shell.random_seed()
    print(f"NPYEXT_SEED={seed}")
    count = learned.write(tmp_path, target, seed % LEARNED_STEP, LEARNED_STEP)
    paths = sorted(glob.glob(str(tmp_path / target / "*")))
    assert len(paths) == count > 0
    assert all(os.path.getsize(path) <= run.max_length(target) for path in paths)
    for begin in range(0, len(paths), 1000):
        replay(target, paths[begin : begin + 1000])


@pytest.mark.parametrize("path", FINDINGS, ids=map(os.path.basename, FINDINGS))
def test_finding(path):
    target = os.path.basename(path).split("-")[0]
    assert target in seeds.SEEDS
    replay(target, [path])


def test_findings_have_their_statements():
    paths = {os.path.basename(path)[4:-4]: path for path in FINDINGS if os.path.basename(path).startswith("sql-")}
    assert set(paths) == set(STATEMENTS_OF_FINDINGS)
    for name, path in paths.items():
        with open(path, "rb") as file:
            number = int.from_bytes(file.read(2), "little")
        assert seeds.statements()[number].startswith(STATEMENTS_OF_FINDINGS[name]), f"{name}: {number}"


def test_targets_and_seeds_match():
    targets = {os.path.basename(path)[5:-2] for path in glob.glob(os.path.join(FUZZ, "fuzz_*.c"))}
    assert targets == set(seeds.SEEDS)
