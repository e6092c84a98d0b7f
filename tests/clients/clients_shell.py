"""The command npyext against the sqlite3 program: what README, docs and sql/ show, and random tables in every output mode,
through both, byte for byte (`make check-clients`).

Debian's sqlite3 is 3.40, and apsw has a newer SQLite. Its words are the same where these ask; `alike` says what is not. Two habits
of 3.40 are not asked for: `.mode` without arguments resets the options of the mode that it tells, and names of columns with
numbers may collide in `.import`.
"""

import difflib
import math
import os
import random
import re
import shutil
import stat
import subprocess
import sys

import numpy as np
import pytest

import make_files
import packages
import shell
from arrays import write_sparse_npy
from clients_python import Terminal, command, environment, run_script
from expected import sql_literal

sys.path += [os.path.join(shell.TESTS, "docs"), os.path.join(shell.TESTS, "sql")]

import test_docs  # noqa: E402
import test_sql  # noqa: E402

MODES = ["ascii", "box", "column", "csv", "html", "insert t", "json", "line", "list", "markdown", "qbox", "quote", "table", "tabs", "tcl"]


@pytest.fixture(scope="module")
def python():
    return packages.python_with("shell-apsw", f"{packages.wheel()}[apsw]")


def through(program, script, folder):
    """Standard output and error, in order, as bytes."""
    done = subprocess.run(program, input=script.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder, env=environment(folder), timeout=shell.PATIENCE)
    assert done.returncode in (0, 1), done.stdout.decode(errors="replace")
    return done.stdout


def sqlite3(*options):
    return ["stdbuf", "-o0", "sqlite3", "-batch", *options, "-cmd", f".load '{shell.EXTENSION}'", ":memory:"]


def npyext(python, *options):
    return command(python, "-batch", *options, ":memory:")


# REALs with 20 digits, in modes whose output is read again: SQLite 3.40 reckons them in 80 bits, which are too few for most of
# them; newer releases and npyext have the exact value. They are compared as numbers.
REAL = re.compile(rb"(?<![\w.])(-?\d+\.\d+(?:e[-+]\d+)?)(?![\w.])")


def is_long(real):
    return len(real.partition(b"e")[0].strip(b"-0").replace(b".", b"")) > 15


def alike(ours, theirs):
    """Ours, with their REALs in place of those that have 16 digits or more and are close to them."""
    mine, other = REAL.split(ours), REAL.split(theirs)
    if len(mine) == len(other):
        for i in range(1, len(mine), 2):
            if (is_long(mine[i]) or is_long(other[i])) and math.isclose(float(mine[i]), float(other[i]), rel_tol=4e-15):
                mine[i] = other[i]
    return b"".join(mine)


def assert_same(ours, theirs):
    ours = alike(ours, theirs)
    if ours != theirs:
        lines = [each.decode(errors="backslashreplace").split("\n") for each in (theirs, ours)]
        raise AssertionError("\n".join(list(difflib.unified_diff(*lines, "sqlite3", "npyext", lineterm="", n=1))[:60]))


# --- what the documents show ------------------------------------------------------------------------------------------


def run_both(python, script, tmp_path, *options, prepare=lambda folder: None):
    """In folders of their own, with the files of the documents."""
    printed = []
    for name, program in (("ours", npyext(python, *options)), ("theirs", sqlite3(*options))):
        folder = tmp_path / name
        folder.mkdir()
        make_files.make(folder)
        os.symlink(shell.EXTENSION, folder / "npyext.so")
        os.symlink(os.path.join(shell.ROOT, "sql"), folder / "sql")
        prepare(folder)
        printed.append(through(program, script, folder))
    return printed


READY = {name: options for name, (path, _, options) in test_sql.scripts().items() if path.startswith(test_sql.LIBRARY)}


@pytest.mark.parametrize("name", READY)
def test_a_ready_query_prints_what_it_prints_in_sqlite3(python, name, tmp_path):
    with open(os.path.join(test_sql.LIBRARY, name + ".sql")) as file:
        script = file.read()
    ours, theirs = run_both(python, script, tmp_path, *READY[name])
    assert theirs
    assert_same(ours, theirs)


def recipe(name):
    """The lines in the head of a ready query that show how it is run with parameters."""
    with open(os.path.join(test_sql.LIBRARY, name + ".sql")) as file:
        lines = [line[7:] for line in file if line.startswith("--     ")]
    return "".join(lines)


@pytest.mark.parametrize("name", [name for name in READY if ".parameter set" in recipe(name)])
def test_a_ready_query_with_its_parameters(python, name, tmp_path):
    """As its head shows them, though the files are there under other names: it may find none."""
    ours, theirs = run_both(python, ".parameter list\n" + recipe(name) + ".parameter list\n", tmp_path)
    assert b".parameter" not in theirs and theirs
    assert_same(ours, theirs)


@pytest.mark.parametrize("name", ["survey", "experiments"])
def test_a_ready_query_by_init(python, name, tmp_path):
    """`-init` prints what `.read` prints, and standard input comes after it."""
    ours, theirs = run_both(python, "SELECT 'after it';\n", tmp_path, "-init", f"sql/{name}.sql")
    assert ours.endswith(b"after it\n") and len(ours) > 200
    assert_same(ours, theirs)


def test_the_card_is_in_its_file(python, tmp_path):
    """`.once` gave its file to the statement that loads npyext, which prints nothing, and the card went to standard output."""
    run_both(python, recipe("dataset_card"), tmp_path)
    cards = [(tmp_path / name / "card.md").read_text() for name in ("ours", "theirs")]
    assert cards[0] == cards[1] and cards[0].startswith("# Digits, second release\n")


def test_parameters_reach_a_ready_query(python, tmp_path):
    script = ".parameter init\n.parameter set :source \"'runs/*/*.npy'\"\n.read sql/survey.sql\n.parameter set :source dataset/**/*.npz\n.parameter list\n.read sql/survey.sql\n"
    ours, theirs = run_both(python, script, tmp_path, "-header", "-column")
    assert theirs.count(b"runs/") > 0
    assert_same(ours, theirs)


@pytest.mark.parametrize("name", sorted(name for name, (path, _, _) in test_sql.scripts().items() if not path.startswith(test_sql.LIBRARY)))
def test_a_script_of_the_tests(python, name, tmp_path):
    """Those of tests/sql, with their errors."""
    with open(test_sql.scripts()[name][0]) as file:
        script = file.read()
    ours, theirs = run_both(python, script, tmp_path)
    assert_same(ours, theirs)


DOCUMENTS = [path for path in test_docs.DOCUMENTS if test_docs.blocks(path)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: os.path.relpath(path, shell.ROOT))
def test_the_blocks_of_a_document(python, document, tmp_path):
    border = f"\n.print '{test_docs.BORDER}'\n"
    script = border.join(sql for _, sql, _ in test_docs.blocks(document))

    def prepare(folder):
        for made in re.findall(r"^```python files\n(.*?)^```$", test_docs.text_of(document), re.M | re.S):
            subprocess.run(["/usr/bin/python3", "-c", made], cwd=folder, check=True)

    ours, theirs = run_both(python, script, tmp_path, prepare=prepare)
    assert_same(ours, theirs)


# --- every output mode ------------------------------------------------------------------------------------------------

TEXTS = ["", "a", "two\nlines", "cr\r\nlf", "tab\tin it", "it's", 'a "quote"', "a,b;c|d", "<b>&amp;</b>", "日本語のテキスト", "é́ü", "🙂 smile", "back\\slash", "trailing  ",
         "  leading", "NULL", "1.5", "\x01\x1b[0m", "end\n", "\n", "word " * 20, "x" * 70, "日本" * 40, "a\tb\tc\td", "long-line,with;marks " * 5 + "\nand another", "{}[]*?%_", "\x7f", "\u00a0", "nul\0after"]
NUMBERS = [0, 1, -1, 42, -(2**63), 2**63 - 1, 0.1, -2.5, 1e15, 123456789.125, 1e-7, 1e300, -1e-300, 1 / 3, 2 / 3 * 1e20, 100.0, 1e14, 5e-5, float("inf"), float("-inf"), -0.0]
NAMES = ["a", "b c", "select", "x1", "1x", "größe", 'q"t', "a_very_long_name_of_a_column_that_nothing_fills_and_that_is_longer_than_sixty_letters", "d", "e'f"]


def as_sql(value):
    """On one line, and an integer as one."""
    if isinstance(value, str):
        return sql_literal(value).replace("\r", "'||char(13)||'").replace("\n", "'||char(10)||'").replace("\0", "'||char(0)||'")
    return "(-9223372036854775807 - 1)" if value == -(2**63) and isinstance(value, int) else sql_literal(value)


def random_value(random):
    kind = random.randrange(10)
    if kind == 0:
        return None
    if kind == 1:
        return bytes(random.randrange(256) for _ in range(random.randrange(6)))
    if kind == 2:
        return float(f"{random.uniform(-1, 1):.11f}e{random.randrange(-20, 20)}")
    if kind == 3:
        return random.randrange(-1000, 1000)
    return random.choice(NUMBERS if kind < 6 else TEXTS)


def random_table(random):
    ncolumns = random.choice([1, 2, 3, 3, 4, 8])
    names = random.sample(NAMES, ncolumns)
    rows = [[random_value(random) for _ in names] for _ in range(random.choice([0, 1, 2, 5, 12]))]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    lines = [f"CREATE TABLE t({', '.join(quoted)});"]
    return lines + [f"INSERT INTO t VALUES({', '.join(map(as_sql, row))});" for row in rows]


def random_settings(random):
    settings = [f".headers {random.choice(['on', 'off'])}"] if random.random() < 0.7 else []
    mode = random.choice(MODES)
    if mode in ("box", "column", "table", "markdown", "qbox"):
        mode += random.choice(["", "", " --wrap 7", " --wrap 20 --ww", " --wrap 0", " --wordwrap on", " --quote", " --noquote"])
    settings.append(f".mode {mode}")
    if random.random() < 0.5:
        settings.append(f".nullvalue {random.choice(['NULL', '-', '∅'])}")
    if random.random() < 0.3:
        settings.append(".separator " + random.choice(["';'", "', '", "' - ' \"\\n\"", '"\\t"', '| "\\n--\\n"']))
    if random.random() < 0.3:
        settings.append(".width " + " ".join(str(random.choice([0, 5, -12, 30, 3])) for _ in range(random.randrange(4))))
    return settings


@pytest.mark.parametrize("part", range(4))
def test_random_tables_in_every_mode(python, part, tmp_path):
    seed = shell.random_seed() + part
    print(f"NPYEXT_SEED={seed}")
    chosen = random.Random(seed)
    lines = []
    for i in range(60):
        lines += ["DROP TABLE IF EXISTS t;", *random_table(chosen)]
        for _ in range(4):
            lines += [*random_settings(chosen), f".print '---- {i}'", "SELECT * FROM t;", '.separator | "\\n"', ".width", ".nullvalue ''"]
        lines += [".show", ".dump"]
    script = "\n".join(lines) + "\n"
    assert_same(through(npyext(python), script, tmp_path), through(sqlite3(), script, tmp_path))


def test_reals_have_fifteen_digits(python, tmp_path):
    """Of which 3.40 rounds the last one from 80 bits, so that it may be another one."""
    seed = shell.random_seed()
    print(f"NPYEXT_SEED={seed}")
    chosen = random.Random(seed)
    reals = [chosen.uniform(-1, 1) * 10.0 ** chosen.randrange(-300, 300) for _ in range(2000)]
    script = "".join(f"SELECT {each!r};\n" for each in reals)
    ours, theirs = (through(program, script, tmp_path).split() for program in (npyext(python), sqlite3()))
    assert len(ours) == len(reals) and sum(one == other for one, other in zip(ours, theirs)) > 1900
    for real, one, other in zip(reals, ours, theirs):
        assert one == other or math.isclose(float(one), float(other), rel_tol=2e-14)
        assert math.isclose(float(one), real, rel_tol=6e-15)


@pytest.mark.parametrize("option", ["ascii", "box", "column", "csv", "html", "json", "line", "list", "markdown", "quote", "table", "tabs", "header", "noheader", "echo"])
def test_an_option(python, option, tmp_path):
    script = "SELECT 1 AS a, 'x y' AS b UNION ALL SELECT 2, '" + "long " * 20 + "';\nSELECT 1.5 AS c, NULL AS d;\n.show\n.mode\n"
    for dashes in ("-", "--"):
        assert_same(through(npyext(python, dashes + option), script, tmp_path), through(sqlite3(dashes + option), script, tmp_path))


# --- commands ---------------------------------------------------------------------------------------------------------

DATABASE = """
CREATE TABLE a(x INTEGER PRIMARY KEY AUTOINCREMENT, y TEXT DEFAULT 'q');
INSERT INTO a(y) VALUES('1'), ('two
lines'), (NULL);
CREATE VIEW v AS SELECT x, y + 1 AS "z z" FROM a;
CREATE INDEX i ON a(y);
CREATE UNIQUE INDEX j ON a(x, y);
CREATE TRIGGER tr AFTER INSERT ON a BEGIN SELECT 1; SELECT 2; END;
CREATE TABLE w(a PRIMARY KEY, b) WITHOUT ROWID;
INSERT INTO w VALUES(x'00ff', 1.5), ('it''s', -1e999);
CREATE TABLE "if not"("or" INTEGER);
CREATE TEMP TABLE tt(q);
CREATE TEMP VIEW tv AS SELECT 1 AS o;
CREATE TABLE long_table_name_number_one(a); CREATE TABLE long_table_name_number_two(a); CREATE TABLE long_table_name_number_3(a);
ATTACH ':memory:' AS other; CREATE TABLE other.oo(x, y); CREATE INDEX other.oi ON oo(x);
"""
CSV = {
    "plain.csv": "a,b,c\n1,x,2.5\n2,,\n",
    "quoted.csv": 'n,"the ""name""",n\r\n1,"two\r\nlines",z\r\n2,"a,b",\r\n"","",""\r\n',
    "uneven.csv": "a,b,c\n1\n1,2,3,4,5\n\n1,2,3",
    "bom.csv": "\ufeffå,b\n日本,2\n",
    "names.csv": "a,,A,b,,a,c,d,e,f,a 1\n1,2,3,4,5,6,7,8,9,10,11\n",
    "broken.csv": 'a,b\n"x"y,2\n"z,3\n',
    "empty.csv": "",
    "bars.txt": "a|b\n1|2\n",
    "tabs.tsv": "a\tb\n1\t2,3\n",
    "strange.asc": "a\x1fb\x1e1\x1f2\x1e3\x1f4",
}
COMMANDS = {
    "schema": ".schema\n.schema a\n.schema %v\n.schema other.oo\n.schema nope\n.schema sqlite_schema\n.schema --nosys\n.schema a b\n",
    "names": ".tables\n.tables a%\n.tables nope\n.tables %o%\n.indexes\n.indexes a\n.indices\n.databases\n",
    "dump": ".dump\n.dump w\n.dump a%\n.dump nope\n",
    "plans": "EXPLAIN QUERY PLAN SELECT * FROM a JOIN w ON a.y = w.a WHERE x IN (SELECT q FROM tt) ORDER BY b;\n.eqp on\nSELECT count(*) FROM a;\n.eqp off\nSELECT 1;\n",
    "changes": ".changes on\nINSERT INTO w VALUES(1, 2);\nDELETE FROM w;\n.changes off\nSELECT changes();\n",
    "echo": ".echo on\nSELECT 1;\n\n-- a comment\nSELECT\n2;\n.print x\n.echo off\nSELECT 3;\n",
    "bail": "SELECT nope;\n.bail on\nSELECT 1;\nSELECT nope;\nSELECT 2;\n",
    "files": ".once o.txt\nSELECT 'in the file';\nSELECT 'not in it';\n.output p.txt\n.print a\nSELECT 'in p';\n.output\n.print b\n.read p.txt\nSELECT CAST(readfile('o.txt') AS TEXT), CAST(readfile('p.txt') AS TEXT), readfile('gone');\n.read gone.sql\n.output gone/x\nSELECT writefile('w.txt', 'abc'), readfile('w.txt'), writefile('new/er.txt', NULL);\n",
    "parameters": ".parameter\n.parameter list\n.parameter set :a \"'x/*'\"\n.parameter set :b x+y\n.parameter set @c \"x'00'\"\n.parameter set $long_name 1+1\n.parameter set ?2 second\n.parameter list\nSELECT :a, ?2, :b, @c, $long_name, :none, ?;\n.parameter unset :a\n.parameter unset :a\n.parameter set :b\n.parameter list\nSELECT :a, :b;\n.parameter clear\n.parameter list\nSELECT :b;\n.parameter init\n.parameter list\nSELECT * FROM temp.sqlite_parameters;\n.parameter nope\n",
    "wrong": ".nope\n.mode nope\n.headers\n.headers maybe\n.nullvalue\n.separator\n.cd nope\n.cd\n.load\n.read\n.bail\n.import\n.import --nope x y\n.import gone.csv t\n.import plain.csv\n.import a b c\n.print\n.print a  'b c' \"d\\te\"\n.\n.mode insert x y\n.width a 3\n.stats off\n.show\n",
    "errors": "SELECT nope;\nSELECT 1;\nSELECT 2; SELECT nope; SELECT 3;\n  SELECT\n 4,\n nope2;\nSELECT json('{');\nSELECT value, json(value) FROM (SELECT 1 AS value UNION ALL SELECT '{');\nSELECT \"a\" FROM (SELECT 1) WHERE " + "a" * 70 + " = 1 AND bbbbbbbbbbbbbbbbbbbb = 2 AND cccccccccccc = 2;\nINSERT INTO a VALUES(1, 2);\nSELECT abs('x', 1);\nSELECT * FROM gone;\nSELECT 1 +;\nSELECT 1 FROM a WHERE é = nope;\nSELECT 'no end\n",
    "lines": "SELECT 1\n/\nSELECT 2\ngo\n#comment\n-- comment\n/* more\nlines */ SELECT 3;SELECT 4; -- after\nSELECT ';' AS \"a;b\" /* ; */;\n;\n;;\nCREATE TRIGGER t2 AFTER INSERT ON a BEGIN SELECT 1;\nSELECT 2; END;\nSELECT 5;\r\nSELECT 6",
    "shortened": ".head on\n.mod col\nSELECT 1 AS a;\n.sch w\n.tab w%\n.echo on\n.null x\nSELECT NULL AS b;\n.sep ;\n.pri 5\n.out\n.he\n".replace(".he\n", ""),
    "modes": "".join(f".mode {mode}\nSELECT 1 AS a, 'x' AS b;\n.mode\n" for mode in [*MODES, "box --wrap 30", "insert", "insert 'a b'", "column --quote"]),
    "dbconfig": ".dbconfig defensive on\n.dbconfig defensive\n.dbconfig defensive off\n.dbconfig nope\n.dbconfig enable_fkey yes\nPRAGMA foreign_keys;\n",
    "open": ".open :memory:\n.tables\nCREATE TABLE n(x);\n.open new.db\nCREATE TABLE m(x);\n.tables\n.open\n.tables\n.open new.db\n.tables\n.open --new new.db\n.tables\n.open gone/x.db\n",
    "copies": ".backup b.db\n.save other o.db\n.backup\n.open b.db\n.tables\nSELECT * FROM w;\n.restore o.db\n.tables\n.restore\n.restore a b c\n.open o.db\n.tables\n",
    "exit": ".exit\nSELECT 1;\n",
    "series": "SELECT * FROM generate_series(1, 5);\nSELECT value FROM generate_series(1, 10, 3) WHERE value > 2;\nSELECT 'abc' REGEXP '^a.c$', 'abd' REGEXP 'c$';\n",
    **{f"import {name}": f".import --csv {name} t\n.schema t\n.mode quote\nSELECT * FROM t;\n.import --csv -v --skip 1 {name} t\nSELECT * FROM t;\n.import --csv --schema temp {name} t\n.schema\n" for name in CSV if name.endswith(".csv")},
    "import by separators": ".import bars.txt bars\nSELECT * FROM bars;\n.mode tabs\n.import tabs.tsv tabs\n.import --csv plain.csv p\nSELECT * FROM tabs;\nSELECT * FROM p;\n.mode ascii\n.import strange.asc s\n.mode list\nSELECT * FROM s;\n.import --ascii strange.asc s2\nSELECT * FROM s2;\n.separator ::\n.import plain.csv q\n.import '|printf \"a,b\\n1,2\\n\"' piped --csv\n.separator ,\n.mode csv\n.import plain.csv by_mode\nSELECT * FROM by_mode;\n",
    "import into what is there": "CREATE TABLE t(a UNIQUE, b, c);\n.import --csv plain.csv t\n.import -v --csv plain.csv t\nSELECT * FROM t;\nBEGIN;\n.import --csv plain.csv t2\nROLLBACK;\n.tables\n",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands(python, name, tmp_path):
    printed = []
    for program, which in ((npyext(python), "ours"), (sqlite3(), "theirs")):
        folder = tmp_path / which
        folder.mkdir()
        for file, text in CSV.items():
            (folder / file).write_bytes(text.encode())
        printed.append(through(program, DATABASE + COMMANDS[name], folder))
    printed[0] = printed[0].replace(b"one of: ascii auto box", b"one of: ascii box")  # the mode that sqlite3 has not
    assert_same(*printed)


def test_an_explained_program_is_laid_out_as_there(python, tmp_path):
    """Its instructions are another release's; the columns are the same."""
    for program in (npyext(python), sqlite3()):
        lines = through(program, "CREATE TABLE t(a);\nEXPLAIN SELECT * FROM t WHERE a > 1;\n", tmp_path).decode().splitlines()
        assert lines[:2] == ["addr  opcode         p1    p2    p3    p4             p5  comment      ", "----  -------------  ----  ----  ----  -------------  --  -------------"]
        assert any(re.match(r"\d     Rewind   ", line) for line in lines) and any(re.match(r"\d       Column   ", line) for line in lines)


# --- what is the command's own ----------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6.0).reshape(2, 3))
    write_sparse_npy(tmp_path / "endless.npy", (20_000_000_000,))
    return tmp_path


@pytest.fixture
def terminal(python, folder):
    """terminal(*arguments) -> the command on a terminal."""
    opened = []

    def open_terminal(*arguments):
        opened.append(Terminal(command(python, *arguments), folder))
        opened[-1].read_until("npyext> ")
        return opened[-1]

    yield open_terminal
    for each in opened:
        each.close()


def test_a_statement_in_the_place_of_the_database(python, folder):
    assert run_script(command(python, "SELECT count(*) FROM npy_rows('x.npy')"), "", folder) == (0, "2\n", "")
    assert run_script(command(python, "-csv", "values(1)", "SELECT 2"), "", folder) == (0, "1\n2\n", "")
    assert {path.name for path in folder.iterdir()} == {"x.npy", "endless.npy"}


def test_no_empty_database_is_left(python, folder):
    assert run_script(command(python, "nope.db", "SELECT 1"), "", folder) == (0, "1\n", "")
    assert run_script(command(python, "nope.db"), ".tables\n.open other.db\nSELECT 2;\n", folder) == (0, "2\n", "")
    assert {path.name for path in folder.iterdir()} == {"x.npy", "endless.npy"}
    assert run_script(command(python, "made.db", "CREATE TABLE t(x)"), "", folder) == (0, "", "")
    assert (folder / "made.db").stat().st_size > 0
    (folder / "empty.db").touch()
    run_script(command(python, "empty.db", "SELECT 1"), "", folder)
    assert (folder / "empty.db").exists()  # it was there


def test_a_table_of_text_in_the_place_of_the_database(python, folder):
    (folder / "my runs.csv").write_text("a,b\n1,2\n")
    code, shown, told = run_script(command(python, "my runs.csv"), "", folder)
    assert (code, shown) == (1, "")
    line = re.search(r"\.import --csv .*", told)[0]
    assert run_script(command(python), f"{line}\nSELECT * FROM my_runs;\n", folder) == (0, "1|2\n", "")


def test_npyext_is_loaded_whatever_loads_it(python, folder):
    script = ".load ./npyext\n.load /gone/npyext.so\nSELECT count(*) FROM npy_rows('x.npy');\n.load ./other\n"
    code, shown, told = run_script(command(python), script, folder)
    assert (code, shown) == (1, "2\n") and "other" in told and "Traceback" not in told


def test_help_names_every_command_and_option(python, folder):
    code, shown, told = run_script(command(python), ".help\n.help mode\n.help nothing like it\n", folder)
    assert (code, told) == (0, "") and "Nothing matches" in shown and ".import FILE TABLE" in shown and "`auto`" in shown
    for words in re.findall(r"^\.(\w+)", shown, re.M):
        assert "unknown command" not in run_script(command(python), f".{words} /nope/nope\n", folder)[2]
    shown = run_script(command(python, "--help"), "", folder)[1]
    for option in set(re.findall(r"^   -(\w+) ", shown, re.M)) - {"path", "remote"}:  # these stand alone, or need more
        assert "unknown option" not in run_script(command(python, f"--{option}", "x", ":memory:", ".quit"), "", folder)[2]


def test_the_man_page_is_the_help(python, folder):
    page = os.path.join(os.path.dirname(os.path.dirname(python)), "share", "man", "man1", "npyext.1")
    with open(page) as file:
        text = file.read()
    assert text.startswith(".TH NPYEXT 1 ") and packages.version() in text
    for line in run_script(command(python), ".help\n", folder)[1].splitlines():
        if line.startswith("."):
            assert line[25:].replace("-", "\\-") in text
    formatted = subprocess.run(["man", "-l", page], stdout=subprocess.PIPE, stderr=subprocess.PIPE) if shutil.which("man") else None
    assert formatted is None or not formatted.stderr


def test_rows_on_a_terminal_are_readable(terminal):
    """A box where it fits, lines where it does not; `.mode` is as ever. npy_stats was shredded, npy_meta refused."""
    t = terminal()
    assert "\u2502 0   \u2502 [0.0,1.0,2.0] \u2502" in t.ask("SELECT row, value FROM npy_rows('x.npy');")
    shown = t.ask("SELECT * FROM npy_meta('x.npy');") + t.ask("SELECT * FROM npy_stats('x.npy');")
    for line in ("path = x.npy", "dtype = float64", "mean = 2.5"):
        assert line in shown
    assert max(map(len, shown.split("\n"))) < 101
    assert "current output mode: auto" in t.ask(".mode")
    assert "1|2" in t.ask(".mode list") + t.ask("SELECT 1, 2;")


def test_texts_of_strangers_do_not_command_the_terminal(terminal, folder):
    """As the newest sqlite3 prints them. What goes into a file is left as it is."""
    text = "\x1b]0;owned\x07\x1b[31mred\r\x9b2J\x7f"
    np.save(folder / "bad.npy", np.array([text]))
    t = terminal()
    for mode in ("auto", "list", "line", "column", "box"):
        shown = t.ask(f".mode {mode}") + t.ask("SELECT value, x'1b5b07' FROM npy_rows('bad.npy');")
        assert "^[]0;owned^G^[[31mred^M\\x9b2J^?" in shown and "^[[^G" in shown
        assert not {"\x1b]", "\x07", "\x9b", "\x1b[31m"} & set(re.findall("\x1b\\]|\x07|\x9b|\x1b\\[31m", shown))
    t.ask(".mode list")
    t.ask(".headers off")
    t.ask(".once out")
    t.ask("SELECT value FROM npy_rows('bad.npy');")
    t.type(".quit\n")
    assert t.exit_code() == 0 and (folder / "out").read_bytes().decode() == text + "\n"


def test_words_without_a_dot_and_interrupts(terminal):
    t = terminal()
    assert ".import FILE TABLE" in t.ask("help")
    t.type("SELECT max FROM npy_stats('endless.npy');\n")
    t.read_until("1 s: ")
    t.type("\x03")
    assert "interrupted" in t.read_until("npyext> ")
    shown = t.ask("SELECT 1, nope;")
    assert "Parse error: no such column: nope\r\n  SELECT 1, nope;\r\n            ^--- error here" in shown
    t.type("quit\n")
    assert t.exit_code() == 0


def test_a_join_of_tables_has_a_line(terminal):
    t = terminal()
    t.ask("CREATE TABLE t AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000) SELECT i FROM n;")
    t.type("SELECT count(*) FROM t AS a JOIN t AS b ON a.i + b.i < 0;\n")
    t.read_until(r"1 s: [\d.,]+ million steps, [\d.,]+ million/s")
    t.type("\x03")
    t.read_until("npyext> ")


def test_history_is_kept_for_its_owner(terminal, folder, monkeypatch):
    t = terminal()
    t.ask("SELECT 'remembered';")
    t.type(".quit\n")
    assert t.exit_code() == 0
    path = folder / ".npyext_history"
    assert "SELECT 'remembered';" in path.read_text() and stat.S_IMODE(path.stat().st_mode) == 0o600
    t = terminal()
    t.type("\x1b[A\x1b[A\n")  # the statement before .quit
    assert "remembered" in t.read_until("remembered.*remembered.*npyext> ")
    monkeypatch.setenv("NPYEXT_HISTORY", "")
    path.unlink()
    t = terminal()
    t.ask("SELECT 1;")
    t.type(".quit\n")
    assert t.exit_code() == 0 and not path.exists()


def test_completion(terminal, folder):
    (folder / "sub folder").mkdir()
    (folder / "sub folder" / "array.npy").touch()
    (folder / "it's.npy").touch()
    t = terminal()
    t.ask("CREATE TABLE measurements(temperature, pressure);")
    for typed, completed in [
        ("SELECT npy_nor\t", "npy_norm("),
        ("SELECT * FROM measu\t", "measurements"),
        ("SELECT pressure FROM measurements WHERE tempera\t", "temperature"),
        ("SELECT * FROM npy_meta('x.npy') WHERE has_obj\t", "has_objects"),
        ("SELECT * FROM npy_rows('endl\t", "endless.npy'"),
        ("SELECT * FROM npy_rows('sub folder/arr\t", "array.npy'"),
        ("SELECT * FROM npy_rows('sub fo\tarr\t", "sub folder/array.npy'"),  # no quote after a folder
        ("SELECT * FROM npy_rows('it''\t", "it''s.npy'"),
        ("SELECT 1 UNIO\t", "UNION"),
        (".parame\t", ".parameter"),
        (".mode mark\t", "markdown"),
    ]:
        t.type(typed)
        t.read_until(re.escape(completed))
        t.type("\x03")
        t.read_until("npyext> ", typed_again="\x03")
