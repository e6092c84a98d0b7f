"""Every column of every table compared with values of every type that SQLite has, and every function given arguments of
every type. One process, whatever SQLite its sqlite3 module has:

    python3 tests/queries/comparisons.py [FILE]    FILE: gets every question with its answer, for diff

Comparisons are asked of npyext's table and of an ordinary one with the same rows and declared types, which must answer
alike; each value comes as a literal, as a parameter, in a list and from columns of every affinity of another table. What
arguments do has no such twin. All answers go into digests, one for each table and function, by which releases of SQLite are
held against each other (tests/hosts/test_sqlite_versions.py).
"""

import collections
import hashlib
import json
import os
import random
import sqlite3
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))

import numpy as np  # noqa: E402

import expected  # noqa: E402
import shell  # noqa: E402
import tars  # noqa: E402
from arrays import npy_bytes, ten_bytes  # noqa: E402
from formats import npz, objects, safetensors  # noqa: E402

WHEN = 1_700_000_000
ARRAY = npy_bytes(np.array([[1, 2], [3, 4]], "<i4"))

# Whose items are numbers, JSON in SQL, texts, structures and none.
ARRAYS = [ARRAY, *map(npy_bytes, (np.array([1 + 2j, -1]), np.array(["1", "abc"]), np.array([(1, 0.5)], "i4, f8"), np.zeros((0, 2))))]

# --- files ---------------------------------------------------------------------------------------------------


def structured():
    items = np.zeros(4, [("id", "<i4"), ("score", "<f8"), ("cls", "S3")])
    items["id"], items["score"], items["cls"] = [0, 1, 2, 1], [0.5, 1, -1, np.inf], [b"a", b"1", b"", b"abc"]
    return items


def arrays():
    return {
        "ints": np.array([1, 0, -1, 2, 1, 2**31 - 1], "<i4"),
        "long": np.array([1, 0, -(2**63), 2**63 - 1], ">i8"),
        "unsigned": np.array([1, 0, 2**64 - 1, 2**63], "<u8"),
        "bools": np.array([True, False]),
        "floats": np.array([1, 0.5, -0.0, np.nan, np.inf, 1e300, 9223372036854775808.0]),
        "halves": np.array([1, 0.5, -2, np.nan], "<f2"),
        "complex": np.array([1, 1 + 2j, np.nan]),
        "matrix": np.array([[1.0, 0.5, 2.0], [0.0, -1.0, 1e9]]),
        "cube": np.arange(8, dtype="<i2").reshape(2, 2, 2),
        "texts": np.array(["1", "1.0", "abc", "", "a", " 1"]),
        "bytes": np.array([b"1", b"abc", b""]),
        "voids": np.array([b"1\0", b"ab"], "V2"),
        "dates": np.array(["2023-06-01", "NaT", "1970-01-01"], "M8[D]"),
        "spans": np.array([1, 0, -1], "m8[s]"),
        "records": structured(),
        "scalar": np.array(1.5),
        "nothing": np.zeros((0, 3), "<f4"),
    }


def make_files():
    """In the current folder, all of one time."""
    made = {f"{name}.npy": npy_bytes(array) for name, array in arrays().items()}
    made["objects.npy"] = objects((4,), [1, "1", None, 1.5])
    members = {name: arrays()[name] for name in ("ints", "floats", "texts")}
    made["pair.npz"] = npz([(f"{name}.npy", npy_bytes(array)) for name, array in members.items()])
    members["floats"] = members["floats"] + 1
    made["other.npz"] = npz([(f"{name}.npy", npy_bytes(array)) for name, array in members.items()])
    made["two.ten"] = ten_bytes([arrays()["ints"], arrays()["matrix"]], infos=["first", "1"])
    made["model.safetensors"] = safetensors([("1", "F32", [2], bytes(8)), ("b.weight", "BF16", [1, 2], bytes(4))], {"1": "x"})
    made["shard.tar"] = b"".join(
        tars.member(f"{key}.{ext}", data) for key in ("000", "1") for ext, data in (("cls", key.encode()), ("txt", b"abc"))
    ) + tars.END
    os.mkdir("kinds")
    made.update({os.path.join("kinds", name): made[name] for name in KINDS})
    for name, contents in made.items():
        with open(name, "wb") as file:
            file.write(contents)
        os.utime(name, (WHEN, WHEN))


# --- tables --------------------------------------------------------------------------------------------------

# A file of each kind, in a folder of their own: a pattern opens all that it matches for every question.
KINDS = "records.npy nothing.npy scalar.npy objects.npy texts.npy pair.npz two.ten model.safetensors shard.tar".split()

# What is asked of each table function; of those that take any array, of some of each kind of items.
CALLS = [f"npy_rows('{name}.npy')" for name in [*arrays(), "objects"]]
CALLS += [f"npy_elements('{name}.npy')" for name in ("ints", "floats", "matrix", "cube", "texts", "complex", "dates", "scalar")]
CALLS += [f"npy_stats('{name}.npy')" for name in ("ints", "floats", "matrix", "texts", "dates", "records")]
CALLS += ["npy_stats('matrix.npy', '', '', 0)", "npy_stats('pair.npz')", "npy_unique('ints.npy')", "npy_unique('texts.npy')"]
CALLS += ["npy_histogram('ints.npy', '', '', 3)", "npy_quantile('matrix.npy', '', '', '[0, 0.5, 1]')", "npy_unique('floats.npy')"]
LABELS = """npy_from_json('["007", "1", "a", "1", "", "7"]', 'U3')"""
CALLS += [f"npy_stats('ints.npy', '', '', '', '', '', '', '', {LABELS})", f"npy_unique('ints.npy', '', '', '', '', '', '', {LABELS})"]
CALLS += ["npy_nearest('matrix.npy', '', '', npy_from_json('[1, 0.5, 2]'))", "npy_compare('pair.npz', 'other.npz')", "npy_compare('pai[r].npz', 'othe[r].npz')", "npy_paths('*.npy')"]
CALLS += ["npy_meta('kinds/*')", "npz_members('pair.npz')", "tar_members('shard.tar')", "ten_arrays('two.ten')", "npy_file('pair.npz')"]
TYPED = {
    "t_ints": "npy('ints.npy')",
    "t_matrix": "npy('matrix.npy')",
    "t_records": "npy('records.npy')",
    "t_pair": "npy('two.ten', member='first')",
    "t_samples": "wds('shard.tar')",
}
# `=` with one of these chooses what is read: no condition is about them.
ARGUMENTS = "source member slice field view astype expect on_error axis by bins range_lo range_hi quantiles method query k metric max_distance a b target".split()
# Coordinates beyond the fourth are like the fifth.
LEFT_OUT = {f"i{axis}" for axis in range(5, 64)}
# Compared at the first call of a function alone.
OF_FILES = set("path name parts stem parent key ext error error_kind".split())


def declared(db, name):
    """[(column, declared type, is an output)] of a virtual table."""
    columns = db.execute("SELECT name, type FROM pragma_table_xinfo(?)", (name,)).fetchall()
    is_output = lambda column: column not in ARGUMENTS and (column, name) != ("array", "npy_write")
    return [(column, kind, is_output(column)) for column, kind in columns if column not in LEFT_OUT]


def is_compared(name, column):
    """npy_rows.array is a BLOB of its own, the handles of npy_file are like no others."""
    return column != "array_key" and (name, column) != ("npy_file", "array")


class Twin:
    """A table of npyext's and an ordinary one with the same rows."""

    def __init__(self, db, number, ours, name, has_rowid=False):
        self.ours, self.plain = ours, f"plain{number}"
        columns = [(column, kind) for column, kind, is_output in declared(db, name) if is_output and is_compared(name, column) and can_be_read(db, ours, column)]
        if has_rowid:
            columns.append(("rowid", "INTEGER"))
        self.columns = [column for column, _ in columns]
        self.listed = ", ".join(f'f."{column}"' for column in self.columns)
        db.execute(f"CREATE TABLE {self.plain}({', '.join(f'{quoted(column)} {kind}' for column, kind in columns)})")
        db.execute(f"INSERT INTO {self.plain} SELECT {self.listed} FROM {ours} AS f")

    def values(self, db, column):
        return [value for (value,) in db.execute(f"SELECT {quoted(column)} FROM {self.plain}")]


def quoted(name):
    return f'"{name}"'


def can_be_read(db, ours, column):
    """Python objects have no data, and so on."""
    try:
        db.execute(f"SELECT f.{quoted(column)} FROM {ours} AS f").fetchall()
        return True
    except sqlite3.Error:
        return False


# --- values --------------------------------------------------------------------------------------------------

VALUES = [None, 0, 1, -1, 2, 2**63 - 1, 1.0, 0.5, -0.0, 1e300, float("inf"), "1", "1.0", " 1", "0.5", "1e0", "-1", "abc", "", "9223372036854775808"]
VALUES += [b"1", b"abc", b""]
# Numbers and texts on which a text that reads like a number, a list and a pattern turn.
FEW = [1, 1.0, 0.5, "1", "0", "1.5", "abc", b"1", None]
OPERATORS = ["=", "<>", "<", "<=", ">", ">=", "IS", "IS NOT"]
AFFINITIES = {"x": "", "i": "INTEGER", "t": "TEXT", "r": "REAL", "n": "NUMERIC", "b": "BLOB"}


# Where values are JSON or dates. SQLite 3.37 does not hand over that one is to be equal to a constant, which is an error otherwise.
REFUSING = {f"npy_{function}('{name}.npy')" for function in ("rows", "elements") for name in ("complex", "cube", "dates", "matrix", "nothing", "records")}

# Columns of integers that are looked up.
SOUGHT = [("npy_rows('ints.npy')", "row"), ("npy_elements('matrix.npy')", "i1"), ("npy_elements('cube.npy')", "idx"), ("t_records", "rowid"), ("t_samples", "rowid")]


def near_numbers():
    """Texts of the signs that numbers are made of, among them those at the ends of the integers."""
    draw = random.Random(53)
    texts = ["9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "1" + "0" * 400, "1e-400", ".", "1.", ".5", "+1", "0x1"]
    texts += ["\x0b1\x0c", "1\0", "1\xa0", "1_0", "nan", "inf", "1e+", "1 e1", "00001", "1.0000000000000000001", "0.99999999999999999999", "--1", "1e19", "1E0"]
    return texts + ["".join(draw.choice("0112 .e+-\t") for _ in range(draw.randrange(1, 6))) for _ in range(400)]


def spelled(rows):
    return sorted(map(repr, rows))


class Differences(Exception):
    pass


class Comparisons:
    """Asks of a twin, counts, and keeps digests of all answers."""

    def __init__(self, db, log=None, step=1):
        self.db, self.log = db, log
        self.step, self.ncome = step, 0
        self.digests = collections.defaultdict(hashlib.sha256)
        self.nasked = self.nerrors = 0
        self.differences = []
        self.compared = set()

    def answer(self, sql, parameters=()):
        """The rows, or the error; of errors that two tables give the texts may differ."""
        self.nasked += 1
        try:
            answered = spelled(self.db.execute(sql, parameters).fetchall())
        except sqlite3.Error as error:
            self.nerrors += 1
            answered = error
        if self.log is not None:
            self.log.write(f"{sql} {parameters} -> {'error' if isinstance(answered, Exception) else answered}\n")
        return answered

    def is_taken(self):
        """Whether what comes now is asked, of which each step-th is."""
        self.ncome += 1
        return self.ncome % self.step == 0

    def ask(self, digest, sql, parameters=()):
        if self.is_taken():
            self.note(digest, self.answer(sql, parameters))

    def note(self, digest, answered):
        text = "error" if isinstance(answered, Exception) else "\n".join(answered)
        self.digests[digest].update(f"{text}\0".encode("utf-8", "surrogateescape"))

    def alike(self, twin, select, condition, parameters=(), is_noted=True):
        """select: with {} for what is selected from."""
        if not self.is_taken():
            return
        ours = self.answer(f"{select.format(twin.ours)} {condition}", parameters)
        plain = self.answer(f"{select.format(twin.plain)} {condition}", parameters)
        if is_noted and not any(isinstance(value, bytes) for value in parameters) and "x'" not in condition:
            self.note(twin.ours, ours)
        if expected.is_refused(ours):
            return
        if ours != plain and not (isinstance(ours, Exception) and isinstance(plain, Exception)):
            self.differences.append(f"{select.format(twin.ours)} {condition} {parameters}\n    ours:  {ours}\n    plain: {plain}")

    def compare(self, twin, left_out=()):
        for column in [column for column in twin.columns if column not in left_out]:
            is_noted = column != "value" or twin.ours not in REFUSING
            values = twin.values(self.db, column)
            name, found, contents = f"f.{quoted(column)}", len(self.differences), (twin.ours.split("(")[0], column, repr(values))
            if contents in self.compared:
                continue
            self.compared.add(contents)
            shown = f"f.{quoted(twin.columns[0])}, {name}"
            select = f"SELECT {shown} FROM {{}} AS f WHERE"
            joined = f"SELECT v.id, {shown} FROM v JOIN {{}} AS f ON"
            own = [value for value in dict.fromkeys(values) if value is not None][:3]
            for value in FEW + own + [str(value) for value in own if isinstance(value, (int, float))]:
                for operator in OPERATORS:
                    self.alike(twin, select, f"{name} {operator} ?", (value,), is_noted)
            for value in FEW + own[:1]:
                for operator in OPERATORS:
                    self.alike(twin, select, f"{name} {operator} {expected.sql_literal(value)}", is_noted=is_noted)
                self.alike(twin, select, f"{name} IN (?, ?)", (value, 2), is_noted)
                self.alike(twin, select, f"{name} IN ({expected.sql_literal(value)})", is_noted=is_noted)
                self.alike(twin, select, f"{name} BETWEEN {expected.sql_literal(value)} AND ?", (5,), is_noted)
                if not any(isinstance(each, bytes) for each in (value, *own)):  # which BLOBs are like a text is a matter of how SQLite was built
                    self.alike(twin, select, f"{name} LIKE ?", (value,), is_noted)
                    self.alike(twin, select, f"{name} GLOB {expected.sql_literal(value)}", is_noted=is_noted)
            for other in AFFINITIES:
                for operator in OPERATORS:
                    self.alike(twin, joined, f"{name} {operator} v.{other}", is_noted=is_noted)
                self.alike(twin, select, f"{name} IN (SELECT {other} FROM v)", is_noted=is_noted)
            del self.differences[found + 2:]

    def compare_near_numbers(self, twin, column):
        """An integer beside texts that are numbers or nearly so. A NUL ends a number since SQLite 3.53, so releases differ."""
        joined = f"SELECT n.id, f.{column} FROM n JOIN {{}} AS f ON"
        for operator in OPERATORS:
            self.alike(twin, joined, f"f.{column} {operator} n.t", is_noted=False)
            self.alike(twin, joined, f"n.x {operator} f.{column}", is_noted=False)

    # --- arguments

    def give(self, name):
        """Every argument of a table function, of every type, beside a source that is there."""
        columns = declared(self.db, name)
        arguments = [column for column, _, is_output in columns if not is_output]
        shown = "f.path, f.name" if name == "npy_file" else "f.*"
        for argument in arguments:
            given = {"source": "matrix.npy", "query": "[1, 2, 3]", "a": "pair.npz", "b": "other.npz", "target": "new.npy", "array": ARRAY}
            given = {column: value for column, value in given.items() if column in arguments and column != argument}
            fixed = "".join(f" AND f.{column} = ?" for column in given)
            values = VALUES + ["matrix.npy", ARRAY]
            for value in values:
                self.ask(name, f"SELECT {shown} FROM {name} AS f WHERE f.{argument} = ?{fixed}", (value, *given.values()))
            for value in FEW:
                self.ask(name, f"SELECT {shown} FROM {name} AS f WHERE f.{argument} = {expected.sql_literal(value)}{fixed}", (*given.values(),))
            for number in range(1, len(VALUES) + 1):
                for other in "xit":
                    sql = f"SELECT {shown} FROM v CROSS JOIN {name} AS f WHERE v.id = {number} AND f.{argument} = v.{other}{fixed}"
                    self.ask(name, sql, (*given.values(),))
            self.tidy()

    def call(self, name, nargument, is_aggregate):
        """A scalar function or an aggregate of so many arguments."""
        values = VALUES + ARRAYS + ["[1, 2]", "i4"]
        draw = random.Random(f"{name} {nargument}")
        if nargument == 1:
            lists = [(value,) for value in values]
        else:
            lists = [[draw.choice(values) for _ in range(nargument)] for _ in range(120)]
            lists += [[array, *[draw.choice(values) for _ in range(nargument - 1)]] for _ in range(20) for array in ARRAYS]
        places = ", ".join("?" * nargument)
        columns = ", ".join(f"column{i + 1}" for i in range(nargument))
        for given in lists:
            self.ask(name, f"SELECT {name}({places})", given)
            if is_aggregate:
                self.ask(name, f"SELECT {name}({columns}) FROM (VALUES ({places}), ({places}))", [*given, *given])
            if all(not isinstance(value, bytes) or len(value) < 200 for value in given):
                self.ask(name, f"SELECT {name}({', '.join(map(expected.sql_literal, given))})")
        if nargument == 1:  # of columns of every affinity
            for number in range(1, len(VALUES) + 1):
                self.ask(name, f"SELECT {', '.join(f'{name}({other})' for other in AFFINITIES)} FROM v WHERE id = {number}")
            if not is_aggregate:  # whether a result is JSON
                for array in ARRAYS:
                    self.ask(name, f"SELECT json_type(json_array({name}(?)), '$[0]')", (array,))

    def tidy(self):
        """What npy_write has written goes: no later answer is to depend on it."""
        for name in set(os.listdir(".")) - self.files:
            os.remove(name)

    def go(self):
        self.files = set(os.listdir("."))
        twins, called = {}, set()
        for call in CALLS:
            name = call.split("(")[0]
            twins[call] = Twin(self.db, len(twins), call, name)
            self.compare(twins[call], OF_FILES if name in called else ())
            called.add(name)
        for name, using in TYPED.items():
            self.db.execute(f"CREATE VIRTUAL TABLE {name} USING {using}")
            twins[name] = Twin(self.db, len(twins), name, name, has_rowid=True)
            self.compare(twins[name])
        for name, column in SOUGHT:
            self.compare_near_numbers(twins[name], column)
        for name in sorted(called | {"npy_write"}):
            self.give(name)
        functions = "SELECT DISTINCT name, narg, type FROM pragma_function_list WHERE name GLOB 'np[yz]_*' OR name GLOB 'ten_*' ORDER BY 1, 2"
        for name, nargument, kind in self.db.execute(functions).fetchall():
            for count in [1, 2, 3] if nargument < 0 else [nargument]:
                self.call(name, count, is_aggregate=kind != "s")
        self.tidy()


def run(log=None, step=1):
    """Returns {"sqlite", "asked", "errors", "digests"}, of each step-th question; raises Differences."""
    home = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            make_files()
            db = sqlite3.connect(":memory:", isolation_level=None, cached_statements=4)
            db.text_factory = lambda text: text.decode("utf-8", "surrogateescape")
            db.enable_load_extension(True)
            shell.load(db)
            db.execute(f"CREATE TABLE v(id INTEGER PRIMARY KEY, {', '.join(f'{name} {kind}' for name, kind in AFFINITIES.items())})")
            db.executemany(f"INSERT INTO v VALUES (?{', ?' * len(AFFINITIES)})", [[i + 1, *[value] * len(AFFINITIES)] for i, value in enumerate(VALUES)])
            db.execute("CREATE TABLE n(id INTEGER PRIMARY KEY, t TEXT, x)")
            db.executemany("INSERT INTO n(t, x) VALUES (?, ?)", [[text, text] for text in near_numbers()])
            asked = Comparisons(db, log, step)
            asked.go()
            db.close()
        finally:
            os.chdir(home)
    if asked.differences:
        raise Differences(f"SQLite {sqlite3.sqlite_version}: {len(asked.differences)} of {asked.nasked} differ, among them\n" + "\n".join(asked.differences[:20]))
    digests = {name: digest.hexdigest()[:16] for name, digest in asked.digests.items()}
    return {"sqlite": sqlite3.sqlite_version, "asked": asked.nasked, "errors": asked.nerrors, "digests": digests}


def main():
    log = open(sys.argv[1], "w", errors="backslashreplace") if len(sys.argv) > 1 else None
    try:
        print(json.dumps(run(log)), flush=True)
    except Differences as differences:
        sys.exit(str(differences))


if __name__ == "__main__":
    main()
