"""sql/nearest_vec.sql with sqlite-vec, which npm installs below .build; its stored output is tests/sql/nearest_vec.out."""

import glob
import os
import subprocess

import numpy as np
import pytest

import make_files
import ready_queries
import shell
from arrays import seeded_generator
from ready_queries import lab  # noqa: F401: a fixture

PACKAGE = "sqlite-vec-linux-arm64@0.1.6" if os.uname().machine == "aarch64" else "sqlite-vec-linux-x64@0.1.6"
FOLDER = os.path.join(shell.ROOT, ".build", "clients", "vectors")
SCRIPT = os.path.join(ready_queries.LIBRARY, "nearest_vec.sql")


@pytest.fixture(scope="module")
def vectors():
    """The path of vec0.so."""
    files = os.path.join(FOLDER, "node_modules", "sqlite-vec-*", "vec0.so")
    if not glob.glob(files):
        os.makedirs(FOLDER, exist_ok=True)
        command = ["npm", "install", "--silent", "--no-save", "--prefix", FOLDER, PACKAGE]
        subprocess.run(command, check=True, timeout=300)
    (found,) = glob.glob(files)
    return found


@pytest.fixture
def vector_lab(lab, vectors):
    lab.enable_load_extension(True)
    lab.load_extension(vectors[:-3])
    return lab


@pytest.mark.parametrize("dtype", ["f4", "f8", ">f2"])
def test_nearest(vector_lab, dtype):
    X = seeded_generator().normal(size=(300, 16)).astype(dtype)
    X[7, 3] = np.nan
    np.save("X.npy", X)
    x = X.astype("f4").astype("f8")
    for query in (0, 250):
        ready_queries.assert_nearest(vector_lab, "nearest_vec", x, query, 2e-5)


def test_table_of_vectors(vector_lab):
    """The statements in the comment."""
    X = seeded_generator().normal(size=(300, 4)).astype("f4")
    ready_queries.save("dataset/features.npy", X)
    with open(SCRIPT) as file:
        comment = "".join(line[2:] for line in file if line.startswith("--     ") and "--     ." not in line)
    *before, query, rest = comment.split(";")
    for statement in before:
        vector_lab.execute(statement)
    assert not rest.strip()
    order = np.argsort(((X - X[4]) ** 2).sum(1))[:5]
    assert [row for row, _ in vector_lab.execute(query)] == list(order)


def test_stored_output(vectors, tmp_path):
    make_files.make(tmp_path)
    for name, target in (("sql", ready_queries.LIBRARY), ("npyext.so", shell.EXTENSION), ("vec0.so", vectors)):
        os.symlink(target, tmp_path / name)
    with open(os.path.join(shell.TESTS, "sql", "nearest_vec.out")) as file:
        want = file.read()
    assert shell.run(".read sql/nearest_vec.sql\n", tmp_path, "-header", "-column") == want
    done = subprocess.run(
        [os.environ.get("SQLITE3", "sqlite3"), "-batch", "-init", "sql/nearest_vec.sql", ":memory:"],
        input=b"", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=tmp_path, env=shell.environment(tmp_path),
    )
    assert [line.split("|") for line in done.stdout.decode().splitlines()] == [line.split() for line in want.splitlines()[2:]]
