"""npyext.connect and the command npyext with apsw from PyPI: in a Python whose sqlite3 loads no extensions, in one whose
own does, and on a terminal (`make check-clients`)."""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time

import numpy as np
import pytest

import install_guide
import packages
import shell
from arrays import write_sparse_npy

FOLDER = os.path.join(shell.ROOT, ".build", "clients")
# sqlite3 as it is where Python was built without loading.
STUB = """
import sqlite3
class Connection:
    def __init__(self, *arguments, **options):
        raise AssertionError("it must open nothing")
sqlite3.Connection = sqlite3.connect = Connection
"""
ENDLESS = [
    "SELECT max FROM npy_stats('endless.npy');",
    "SELECT count(*) FROM npy_rows('endless.npy') WHERE value > 1;",
    "SELECT sum(value) FROM npy_elements('endless.npy');",
]


def without_loading():
    """The first Python on PATH, where its sqlite3 loads no extensions (pyenv's); None where there is no such one."""
    python = shutil.which("python3")
    script = "import sqlite3, sys; sys.exit(hasattr(sqlite3.Connection, 'enable_load_extension'))"
    return python if subprocess.run([python, "-c", script], stderr=subprocess.DEVNULL).returncode == 0 else None


def venv(name, base, folder, *wanted):
    """The path of a Python with packages from PyPI; made anew, so that it has the wheel of now."""
    env = install_guide.environment(os.path.expanduser("~"))
    path = os.path.join(FOLDER, name)
    packages.run(base, "-m", "venv", "--clear", path, env=env, cwd=folder)
    packages.run(os.path.join(path, "bin", "python"), "-m", "pip", "install", "-q", *wanted, env=env, cwd=folder)
    return os.path.join(path, "bin", "python")


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Debian's, with apsw."""
    return venv("python-apsw", "/usr/bin/python3", tmp_path_factory.mktemp("pip"), f"{packages.wheel()}[apsw]")


@pytest.fixture
def folder(tmp_path):
    """With a stub beside the files, for PYTHONPATH."""
    (tmp_path / "stub").mkdir()
    (tmp_path / "stub" / "sitecustomize.py").write_text(STUB)
    np.save(tmp_path / "x.npy", np.arange(6.0).reshape(2, 3))
    write_sparse_npy(tmp_path / "endless.npy", (20_000_000_000,))
    return tmp_path


def environment(folder, is_stubbed=False):
    values = {**shell.environment(folder), "TERM": "xterm", "NO_COLOR": "1"}
    return {**values, "PYTHONPATH": str(folder / "stub")} if is_stubbed else values


def prints(python, script, folder, **environment_options):
    return packages.run(python, "-B", "-c", script, cwd=folder, env=environment(folder, **environment_options))


# --- connect ----------------------------------------------------------------------------------------------------------

CONNECT = """
import npyext
db = npyext.connect({path})
print(type(db).__module__, list(db.execute("SELECT row, value FROM npy_rows(?)", ("x.npy",))))
db.execute("CREATE TABLE IF NOT EXISTS t(x)")
"""
ANSWER = "[(0, '[0.0,1.0,2.0]'), (1, '[3.0,4.0,5.0]')]\n"


def test_connect_takes_what_loads(python, folder):
    assert prints(python, CONNECT.format(path=""), folder) == "sqlite3 " + ANSWER
    assert prints(python, CONNECT.format(path=""), folder, is_stubbed=True) == "apsw " + ANSWER
    script = CONNECT.format(path="pathlib.Path('t.db')").replace("import", "import pathlib,")
    assert prints(python, script, folder, is_stubbed=True) == "apsw " + ANSWER
    assert (folder / "t.db").stat().st_size > 0


def test_connect_in_a_python_that_loads_none(folder, capfd):
    base = without_loading()
    if base is None:
        with capfd.disabled():
            print("\nthe python3 of this machine loads extensions: one that loads none was not asked")
        return
    python = venv("python-none", base, folder, packages.wheel())
    script = "import npyext\ntry:\n    npyext.connect()\nexcept RuntimeError as error:\n    print(error)"
    told = prints(python, script, folder)
    assert "was built without extension loading" in told and "`pip install apsw`" in told and python in told
    packages.run(python, "-m", "pip", "install", "-q", "apsw", cwd=folder)
    assert prints(python, CONNECT.format(path=""), folder) == "apsw " + ANSWER
    assert "[3.0,4.0,5.0]" in packages.run(python, "-m", "npyext", ":memory:", "SELECT * FROM npy_rows('x.npy')", cwd=folder)


MAP = """
import npyext
for name in ("y", "z"):
    npyext.connect().execute("SELECT * FROM npy_write(?, npy_from_json('[1.5, 2.5]'))", (name + ".npy",)).fetchall()
rows = npyext.map("SELECT path, sum FROM npy_stats(:source) WHERE count > :least", ["y.npy", "z.npy"], parameters={"least": 1})
print(rows, rows.columns, npyext.map("SELECT path, sum FROM npy_stats(:source)", "[yz].npy", reduce="SELECT sum(sum) AS s FROM parts").columns)
print(npyext.map("SELECT path FROM npy_stats(:source)", "gone*.npy").columns)
"""


def test_map_takes_what_loads(python, folder):
    """It said that sqlite3.Connection has no enable_load_extension."""
    told = "[('y.npy', 4.0), ('z.npy', 4.0)] ['path', 'sum'] ['s']\n['path']\n"
    assert prints(python, MAP, folder) == prints(python, MAP, folder, is_stubbed=True) == told


BOTH = """
import sqlite3, apsw, npyext
own, other = npyext.connect(), apsw.Connection(":memory:")
npyext.load(other)
asked = [sqlite3.connect(":memory:"), apsw.Connection(":memory:")]
for each in asked:
    npyext.load(each)
read = lambda db: list(db.execute("SELECT npyext_counters('process') ->> 'files_opened'"))[0][0]
rows = lambda db: [row[0] for row in db.execute("SELECT value FROM npy_rows('x.npy')")]
before = [read(each) for each in asked]
print(rows(own) == rows(other) == rows(own) == ["[0.0,1.0,2.0]", "[3.0,4.0,5.0]"])
print([read(each) - begun for each, begun in zip(asked, before)])
other.close()
print(rows(own) == rows(asked[1]), own.execute("SELECT sqlite_version()").fetchall() != list(asked[1].execute("SELECT sqlite_version()")))
"""


@pytest.mark.parametrize("first", ["own", "other"])
def test_both_libraries_in_one_process_have_a_state_of_their_own(python, folder, first):
    """Whichever loads first; sums of the process are a library's."""
    script = BOTH if first == "own" else BOTH.replace("own, other = npyext.connect(), apsw.Connection(\":memory:\")\nnpyext.load(other)",
                                                      "other = apsw.Connection(\":memory:\")\nnpyext.load(other)\nown = npyext.connect()")
    assert (script != BOTH) == (first == "other")
    assert prints(python, script, folder) == "True\n[1, 1]\nTrue True\n"


# --- the command ------------------------------------------------------------------------------------------------------


def heed_ctrl_c():
    """What a shell starts in the background, as .ci/run does, ignores Ctrl-C, and so do its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, command, folder, **environment_options):
        env = {**environment(folder, **environment_options), "COLUMNS": "100"}
        self.process_id, self.file = pty.fork()
        if self.process_id == 0:
            heed_ctrl_c()
            os.chdir(folder)
            os.execve(command[0], command, env)
        self.seen = ""

    def type(self, text):
        os.write(self.file, text.encode())

    def read_until(self, pattern, typed_again=""):
        """What was shown up to and with the pattern."""
        until = time.monotonic() + shell.PATIENCE
        while not re.search(pattern, self.seen, re.S):
            assert time.monotonic() < until, f"no {pattern!r} in {self.seen!r}"
            if select.select([self.file], [], [], 1)[0]:
                self.seen += os.read(self.file, 1 << 16).decode()
            else:
                self.type(typed_again)
        end = re.search(pattern, self.seen, re.S).end()
        shown, self.seen = self.seen[:end], self.seen[end:]
        return shown

    def ask(self, line):
        self.type(line + "\n")
        return self.read_until(r"npyext> ")

    def exit_code(self):
        process_id, self.process_id = self.process_id, None
        return os.waitstatus_to_exitcode(os.waitpid(process_id, 0)[1])

    def close(self):
        if self.process_id is not None:
            os.kill(self.process_id, signal.SIGKILL)
            self.exit_code()
        os.close(self.file)


@pytest.fixture
def terminal(python, folder):
    """terminal(*arguments) -> the command on a terminal."""
    opened = []

    def open_terminal(*arguments):
        opened.append(Terminal([os.path.join(os.path.dirname(python), "npyext"), *arguments], folder))
        return opened[-1]

    yield open_terminal
    for each in opened:
        each.close()


def test_the_shell_on_a_terminal(terminal, folder):
    t = terminal("runs.db")
    assert f"npyext {packages.version()}, SQLite " in t.read_until("npyext> ")
    assert "[3.0,4.0,5.0]" in t.ask("SELECT row, value FROM npy_rows('x.npy');")
    t.ask("CREATE TABLE t(x);")
    assert "no such column: nope" in t.ask("SELECT nope;")
    assert "npyext: gone.npy: " in t.ask("SELECT * FROM npy_rows('gone.npy');")
    t.type("SELECT\n")
    t.read_until(r"\.\.\.> ")
    assert "42" in t.ask("40 + 2;")
    assert "[1]" in t.ask(".open other.db") + t.ask("SELECT npy_json(npy_array(1));")  # each connection has it
    t.type("SELECT half of a line")
    t.read_until("of a line")
    t.type("\x03")
    t.read_until("npyext> ", typed_again="\x03")  # Python's readline overlooks one that comes just before it waits
    t.type("SELECT 40 + 2;\n")
    t.read_until("42.*npyext> ")
    t.type(".exit\n")
    assert t.exit_code() == 0 and (folder / "runs.db").exists()


@pytest.mark.parametrize("sql", [*ENDLESS, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n;"])
def test_what_lasts_has_a_line_and_ends_by_ctrl_c(terminal, sql):
    t = terminal()
    t.read_until("npyext> ")
    t.type(sql + "\n")
    line = r"\d files? opened, [\d.]+ [kMGT]?B read, [\d.]+ [kMGT]?B/s" if sql in ENDLESS else r"[\d.,]+ million steps, [\d.]+ million/s"
    first = t.read_until("1 s: " + line)
    assert not re.search(r"\b0 s: ", first)
    assert "\n" not in t.read_until(r"\r2 s: " + line)
    t.type("\x03")
    shown = t.read_until("npyext> ")
    assert re.search(r"\r {30,}\r", shown) and "^C" in shown  # the line is wiped
    assert " s: " not in t.ask("SELECT npy_shape(npy_from_json('[1,2]')) AS s;") and "42" in t.ask("SELECT 40 + 2;")


def test_the_line_counts_from_the_beginning_of_each_statement(terminal, folder):
    """After one that has read much; two statements of one line are two."""
    write_sparse_npy(folder / "some.npy", (10_000_000,))
    t = terminal()
    t.read_until("npyext> ")
    t.ask("SELECT max FROM npy_stats('some.npy');")
    t.type("SELECT 1; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n;\n")
    t.read_until(r"1 s: [\d.]+ million steps")
    t.type("\x03")
    t.read_until("npyext> ")


def command(python, *arguments):
    return [os.path.join(os.path.dirname(python), "npyext"), *arguments]


def run_script(command, script, folder):
    done = subprocess.run(command, input=script, capture_output=True, text=True, cwd=folder, env=environment(folder), timeout=shell.PATIENCE)
    return done.returncode, done.stdout, done.stderr


def test_what_the_workflows_ask_of_an_installed_package(python, folder):
    said = packages.run(python, os.path.join(shell.TESTS, "packaging", "installed.py"), cwd=folder)
    assert said == f"npyext {packages.version()} on linux\n"


def test_a_script_on_standard_input(python, folder):
    script = "SELECT sum(value)\n  FROM npy_elements('x.npy');\n.print next\nSELECT npy_ndim(npy_from_json('[1]'));\n"
    assert run_script(command(python), script, folder) == (0, "15.0\nnext\n1\n", "")
    for end in ("SELECT 1", "SELECT\n1\n", "SELECT 1;", ".print 1", "SELECT 1; -- last", "SELECT 1 -- last"):
        assert run_script(command(python), end, folder) == (0, "1\n", "")
    code, shown, told = run_script(command(python), "SELECT 'no end", folder)
    assert (code, shown) == (1, "") and "unrecognized token" in told and "Traceback" not in told
    code, shown, told = run_script(command(python), "SELECT 1;\nSELECT nope;\nSELECT 3;\n", folder)
    assert (code, shown) == (1, "1\n3\n") and "no such column: nope" in told
    code, shown, told = run_script(command(python, "-bail"), "SELECT 1;\nSELECT * FROM npy_rows('gone.npy');\nSELECT 3;\n", folder)
    assert (code, shown) == (1, "1\n") and "npyext: gone.npy: " in told and "Traceback" not in told


def test_statements_as_arguments(python, folder):
    assert run_script(command(python, ":memory:", "SELECT count(*) FROM npy_rows('x.npy')", ".print end"), "", folder) == (0, "2\nend\n", "")
    assert run_script([python, "-m", "npyext", "t.db", "SELECT 1"], "", folder) == (0, "1\n", "")
    for wrong in ("SELECT nope", ".nope"):
        code, shown, told = run_script(command(python, ":memory:", wrong, "SELECT 2"), "", folder)
        assert (code, shown) == (1, "") and "nope" in told and "Traceback" not in told
    code, _, told = run_script(command(python, "--nope"), "", folder)
    assert code == 1 and "nope" in told and "Traceback" not in told
    assert run_script(command(python, "-csv", "-header", ":memory:", "SELECT 1 AS a, 'x' AS b"), "", folder) == (0, "a,b\n1,x\n", "")
    assert "[OPTIONS]" in run_script(command(python, "--help"), "", folder)[1]


def test_an_array_that_is_given_as_the_database(python, folder):
    """The first thing that people type."""
    told = "x.npy is an array file (npy), not a database. In any database, or in :memory:, this shows it: SELECT * FROM npy_rows('x.npy')\n"
    assert run_script(command(python, "x.npy"), "SELECT 1;", folder) == (1, "", told)
    assert run_script(command(python, "-csv", str(folder / "x.npy"), "SELECT 1"), "", folder) == (1, "", told)
    code, shown, told_of_open = run_script(command(python), ".open x.npy\nSELECT 1;\n", folder)
    assert code == 1 and told in told_of_open and "Traceback" not in told_of_open


def test_the_path_is_told_where_somebody_reads_it(python, folder):
    """`$(python -m npyext)` as before; the command is a shell wherever it runs."""
    path = prints(python, "import npyext; print(npyext.loadable_path())", folder)
    for told in ([python, "-m", "npyext"], [python, "-m", "npyext", "--path"], command(python, "--path")):
        assert run_script(told, "SELECT 1;", folder) == (0, path, "")
    assert run_script(command(python, "--version"), "", folder) == (0, packages.version() + "\n", "")
    t = Terminal([python, "-m", "npyext"], folder)
    t.read_until("npyext> ")
    t.close()


def test_ctrl_c_ends_a_script(python, folder):
    process = subprocess.Popen(command(python), cwd=folder, env=environment(folder), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=heed_ctrl_c)
    try:
        process.stdin.write(f".print begun\n{ENDLESS[0]}\n")
        process.stdin.flush()
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(shell.PATIENCE) == 130
    finally:
        process.kill()
        process.communicate()
