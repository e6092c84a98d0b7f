"""Every tests/sql/NAME.sql is run by the sqlite3 shell in a folder of files (make_files.py) and its output compared
with NAME.out. UPDATE=1 (`make update-sql`) stores the output instead. So is the library of ready queries, sql/NAME.sql,
the demo among them, in columns with headers; the dataset card is a document of its own. test_library.py holds its numbers
against NumPy."""

import glob
import os
import subprocess

import pytest

import make_files
import shell

SQL = os.path.join(shell.TESTS, "sql")
LIBRARY = os.path.join(shell.ROOT, "sql")
COLUMNS = ["-header", "-column"]
# What needs another extension too: clients_vectors.py.
NEEDS_MORE = ["nearest_vec"]


def scripts():
    """The scripts by name, each with the file of its expected output and the shell's options."""
    found = {os.path.basename(path)[:-4]: path for path in glob.glob(os.path.join(SQL, "*.sql"))}
    cases = {name: (path, path[:-4] + ".out", []) for name, path in found.items()}
    for path in glob.glob(os.path.join(LIBRARY, "*.sql")):
        name = os.path.basename(path)[:-4]
        if name in NEEDS_MORE:
            continue
        assert name not in cases, f"sql/{name}.sql and tests/sql/{name}.sql would share an output"
        folder = os.path.join(shell.TESTS, "demo") if name == "demo" else SQL
        cases[name] = (path, os.path.join(folder, name + ".out"), [] if name in ("demo", "dataset_card") else COLUMNS)
    return dict(sorted(cases.items()))


@pytest.mark.parametrize("name", scripts())
def test_sql(name, in_memory):
    script, expected, options = scripts()[name]
    make_files.make(in_memory)
    with open(script) as file:
        got = shell.run(file.read(), in_memory, *options)
    if os.environ.get("UPDATE"):
        with open(expected, "w") as file:
            file.write(got)
    assert os.path.exists(expected), f"no {expected}; `make update-sql` writes it. Output:\n{got}"
    with open(expected) as file:
        want = file.read()
    assert shell.lines(got) == shell.lines(want)


@pytest.mark.parametrize("name", sorted(name for name, (path, _, _) in scripts().items() if path.startswith(LIBRARY)))
def test_ready_query_by_init(name, in_memory):
    """`sqlite3 -init` finds the extension itself, and prints what `.read` prints."""
    make_files.make(in_memory)
    os.symlink(LIBRARY, in_memory / "sql")
    os.symlink(shell.EXTENSION, in_memory / "npyext.so")
    command = [os.environ.get("SQLITE3", "sqlite3"), "-batch", "-init", f"sql/{name}.sql", ":memory:"]
    done = subprocess.run(command, input=b"", stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=in_memory, env=shell.environment(in_memory))
    assert done.stderr == b""
    assert shell.printed(done.stdout) == shell.run(f".read sql/{name}.sql\n", in_memory, digits=17)


def test_every_output_has_its_sql():
    outputs = {os.path.basename(path)[:-4] for path in glob.glob(os.path.join(SQL, "*.out"))}
    assert outputs <= {*scripts(), *NEEDS_MORE}
