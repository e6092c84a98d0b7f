"""Ten seconds of random questions, which every setting must answer alike (same.py; NPYEXT_SAME_SECONDS)."""

import os

import same

SECONDS = float(os.environ.get("NPYEXT_SAME_SECONDS", "10"))


def test_one_answer_at_every_size():
    try:
        print(same.run(SECONDS))
    except same.Difference as difference:
        raise AssertionError(str(difference)) from None
