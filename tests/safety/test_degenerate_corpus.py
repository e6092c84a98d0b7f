"""The corpus of degenerate arrays (degenerate.py): a sample of its questions in each run, all of them by NPYEXT_DEGENERATE=all."""

import os
import subprocess
import sys

import shell

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "degenerate.py")
IS_ALL = os.environ.get("NPYEXT_DEGENERATE") == "all"


def ask(in_memory, sample, *options):
    """In a process of its own, which may die; what it was asked last stands in the log."""
    log = in_memory / "question"
    seed = shell.random_seed()
    asked = subprocess.run(
        [sys.executable, "-B", TOOL, "--log", log, "--seed", str(seed), *options, *(() if IS_ALL else ("--sample", str(sample)))],
        capture_output=True, text=True, env=dict(os.environ, TMPDIR=str(in_memory)),
    )  # fmt: skip
    last = log.read_text() if asked.returncode < 0 else ""
    assert asked.returncode == 0, f"seed {seed}, exit code {asked.returncode}\n{asked.stdout[-3000:]}{asked.stderr[-3000:]}{last}"


def test_every_function_of_degenerate_arrays(in_memory):
    ask(in_memory, 5000)


def test_every_function_of_degenerate_arrays_on_a_small_stack(in_memory):
    ask(in_memory, 5000, "--stack", str(1 << (23 if shell.SANITIZED else 17)))  # frames of that build are large


def test_every_function_of_degenerate_lazy_arrays(in_memory):
    ask(in_memory, 3000, "--lazy")


def test_every_function_of_degenerate_lazy_arrays_on_a_small_stack(in_memory):
    ask(in_memory, 2000, "--lazy", "--stack", str(1 << (23 if shell.SANITIZED else 17)))


def test_an_interrupt_of_degenerate_lazy_arrays(in_memory):
    ask(in_memory, 40, "--lazy", "--rows")


def test_an_interrupt_of_what_gives_rows_without_end(in_memory):
    ask(in_memory, 100, "--rows")


def test_every_function_of_archives_without_arrays(in_memory):
    """A .safetensors or a .gguf without tensors, as labels or as a query, was a null pointer."""
    ask(in_memory, 3000, "--archives")
