"""Ten seconds of random sequences of statements that write (model.py; NPYEXT_MODEL_SECONDS, which is 30 in CI)."""

import os

import model

SECONDS = float(os.environ.get("NPYEXT_MODEL_SECONDS", "10"))


def test_files_hold_what_the_model_says():
    try:
        print(model.run(SECONDS))
    except model.Difference as difference:
        raise AssertionError(difference.text) from None
