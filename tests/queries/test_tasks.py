"""The tasks of tasks.py: SQL gives NumPy's answer."""

import json
import math
import sqlite3

import numpy as np
import pytest

from arrays import seeded_generator
from tasks import TASKS


def plain(value):
    """What SQL or JSON has for values of NumPy, and for containers of them."""
    value = value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return int(value) if isinstance(value, bool) else None if value != value else value


def agree(got, wanted, tolerance):
    if isinstance(wanted, (list, dict)):
        got = json.loads(got) if isinstance(got, str) else got
        if isinstance(wanted, dict):
            return got == wanted
        return isinstance(got, list) and len(got) == len(wanted) and all(agree(g, w, tolerance) for g, w in zip(got, wanted))
    if isinstance(wanted, float) and isinstance(got, float):
        return got == wanted or math.isclose(got, wanted, rel_tol=tolerance, abs_tol=tolerance)
    return type(got) is type(wanted) and got == wanted


def statements(script):
    """The statements of a script, one by one."""
    begun = ""
    for piece in script.split(";"):
        begun += piece + ";"
        if sqlite3.complete_statement(begun):
            yield begun
            begun = ""


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.answer.__name__)
def test_task(task, db, folder):
    rows = plain(task.answer(seeded_generator(TASKS.index(task)), db))
    for statement in statements(task.sql):
        answers = db.execute(statement).fetchall()
    wrong = [(got, wanted) for got, wanted in zip(answers, rows) if not agree(list(got), wanted, task.tolerance)]
    assert rows and len(answers) == len(rows), (task.question, answers, rows)
    assert not wrong, (task.question, wrong)
