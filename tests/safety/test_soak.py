"""A soak of some seconds (soak.py; NPYEXT_SOAK_SECONDS, which is 10 to 20 in CI)."""

import os
import subprocess
import sys

import shell

SECONDS = os.environ.get("NPYEXT_SOAK_SECONDS", "5")


def test_soak(tmp_path, patience_for):
    patience_for(int(SECONDS) + shell.PATIENCE)
    done = subprocess.run(
        [sys.executable, "-B", os.path.join(shell.TESTS, "safety", "soak.py"), SECONDS],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(os.environ, TMPDIR=str(tmp_path)),
    )
    output = done.stdout.decode("utf-8", "backslashreplace")
    assert done.returncode == 0 and output.endswith(" passed, 0 failed\n"), output[-8000:]
