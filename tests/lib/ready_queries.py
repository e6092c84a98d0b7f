"""The ready queries of sql/, asked through Python."""

import collections
import math
import os
import sqlite3

import numpy as np
import pytest

import shell

LIBRARY = os.path.join(shell.ROOT, "sql")


@pytest.fixture
def lab(connect, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    db = connect()
    try:
        db.execute("SELECT sqrt(4)")
    except sqlite3.OperationalError:  # SQLite's mathematical functions are optional when it is built
        db.create_function("sqrt", 1, lambda x: None if x is None else math.sqrt(x), deterministic=True)
    return db


def statements(name):
    """The SQL statements of a file: its dot commands are the shell's."""
    with open(os.path.join(LIBRARY, name + ".sql")) as file:
        text = "".join(line for line in file if not line.startswith("."))
    found, statement = [], ""
    for line in text.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            found.append(statement)
            statement = ""
    assert not statement.strip()
    return found


def ask(db, name, **parameters):
    """The rows, as dictionaries, of each statement that gives columns but the one that loads the extension. Parameters that
    are not given are NULL."""
    results = []
    for statement in statements(name):
        cursor = db.execute(statement, collections.defaultdict(lambda: None, parameters))
        if cursor.description and "load_extension" not in statement:
            names = [column[0] for column in cursor.description]
            results.append([dict(zip(names, row)) for row in cursor])
    return results


def assert_nearest(db, name, x, query, tolerance):
    """The twenty rows of X.npy, which is x as float64, that are nearest to one of them, by nearest.sql or nearest_vec.sql. Row 7
    has a NaN."""
    (found,) = ask(db, name, source="X.npy", query=query, k=20)
    distance = np.sqrt(((x - x[query]) ** 2).sum(1))
    distance[[7, query]] = np.inf
    order = np.argsort(distance)[:20]
    assert [row["row"] for row in found] == list(order)
    assert [row["distance"] for row in found] == pytest.approx(distance[order], abs=tolerance)
    cosine = x[order] @ x[query] / np.linalg.norm(x[order], axis=1) / np.linalg.norm(x[query])
    assert [row["cosine"] for row in found] == pytest.approx(cosine, abs=tolerance)


def save(path, array, **more):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    np.save(path, array, **more)
