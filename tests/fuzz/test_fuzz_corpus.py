"""The fuzz targets (tests/fuzz) over their seeds, and over every finding that a fuzzer ever made.

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

import seeds  # noqa: E402

FINDINGS = sorted(glob.glob(os.path.join(FUZZ, "findings", "*.bin")))


def replay(target, paths):
    program = os.path.join(shell.BUILD, "fuzz", f"replay_{target}")
    assert os.path.exists(program), f"{program} is not built; `make check` builds it"
    done = subprocess.run(
        [program, *paths],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=shell.environment(shell.ROOT),
        timeout=shell.PATIENCE,
    )
    lines = done.stdout.decode("utf-8", "backslashreplace").splitlines()
    assert done.returncode == 0 and lines[-1] == f"{len(paths)} files", "\n".join(lines[-40:])


@pytest.mark.parametrize("target", seeds.SEEDS)
def test_seeds(target, tmp_path):
    count = seeds.write_seeds(tmp_path, target)
    paths = sorted(glob.glob(str(tmp_path / target / "*")))
    assert len(paths) == count > 0
    replay(target, paths)


@pytest.mark.parametrize("path", FINDINGS, ids=map(os.path.basename, FINDINGS))
def test_finding(path):
    target = os.path.basename(path).split("-")[0]
    assert target in seeds.SEEDS
    replay(target, [path])


def test_targets_and_seeds_match():
    targets = {os.path.basename(path)[5:-2] for path in glob.glob(os.path.join(FUZZ, "fuzz_*.c"))}
    assert targets == set(seeds.SEEDS)
