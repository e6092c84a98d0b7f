"""What the planner takes upon itself changes no answer, and saves what it promises.

Every random query is asked twice: as it is, so that seeks, prunes and native filters serve it, and over a materialized
CTE of all rows, which SQLite filters, joins and sorts by itself. A CTE keeps the affinity of its columns, which a unary
plus would take away: `+row = '1'` is false.

The library of the sqlite3 module runs it, whichever that is: test_sqlite_versions.py has others run it.
"""

import collections
import math
import os
import re
import sqlite3

import numpy as np
import pytest

import shell
from arrays import FEW_FIELDS, FEW_INTEGERS, FEW_REALS, FEW_WORDS, few_values, npy_bytes, npz_bytes, seeded_generator, ten_bytes, write_sparse_npy
from expected import counters, is_refused, since, sql_literal

# --- connections -------------------------------------------------------------------------------------------


def version_of(db):
    return tuple(map(int, db.execute("SELECT sqlite_version()").fetchone()[0].split(".")))


def sees_literals(db):
    """Whether a plan can see what a literal source is; where not, SQLite sorts by itself."""
    return version_of(db) >= (3, 38)


@pytest.fixture
def select(connect):
    """select(sql, arguments) -> rows"""
    db = connect()
    return lambda sql, arguments=(): db.execute(sql, arguments).fetchall()


# --- data --------------------------------------------------------------------------------------------------

DTYPES = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 f16 c8 c16 S3 U2 >U3 V2 M8[s] M8[Y] M8 m8[ms] >i4 >u8 >f8 >f4 >c16 >i8".split()


def random_items(rng, largest, greatest):
    dtype = FEW_FIELDS if rng.random() < 0.08 else str(rng.choice(DTYPES))
    shape = (int(rng.integers(0, largest)),)
    if rng.random() < 0.5:
        rank = int(rng.integers(6))
        shape = tuple(int(n) for n in rng.integers(1, [2, 31, 9, 6, 5, 4][rank], rank))
    array = few_values(rng, dtype, shape, greatest)
    return np.asfortranarray(array) if rng.random() < 0.4 else array


class Sources:
    """Files of random arrays; pick() gives a source with arguments, as SQL, and what stands in its arrays."""

    def __init__(self, rng, folder, largest=60, greatest=2**64 - 1):
        self.rng, self.folder = rng, str(folder)
        make = lambda: random_items(rng, largest, greatest)
        self.single, self.blob_array = make(), make()
        self.members = members = {name: make() for name in ("a", "B", "dir/c", "1", "empty")}
        tens = [few_values(rng, t, (int(rng.integers(0, largest)),), greatest) for t in ("i4", "f8", "u8", "f2")]
        files = {
            "single.npy": npy_bytes(self.single),
            "m.npz": npz_bytes(members, str(rng.choice(["stored", "deflate"]))),
            "p1.npz": npz_bytes({"a": make(), "b": make()}, "deflate"),
            "p2.npy": npy_bytes(make()),
            "P3.npy": npy_bytes(make()),
            "p4.ten": ten_bytes(tens, infos=["a", "b", "a", ""]),
        }
        for name, contents in files.items():
            with open(os.path.join(folder, name), "wb") as out:
                out.write(contents)
        self.blob, self.archive = npy_bytes(self.blob_array), files["m.npz"]
        self.paths = [os.path.join(self.folder, name) for name in files]

    def path(self, name):
        return os.path.join(self.folder, name)

    def pick(self):
        """Positional arguments of a function: a source, and now and then a member, slice, field, view or astype."""
        kind = self.rng.integers(8)
        if kind < 2:
            return self.part(self.path("single.npy"), "", self.single)
        if kind == 2:
            return self.part(self.blob, "", self.blob_array)
        if kind == 3:
            return (self.path("m.npz"),)
        if kind == 4:
            return (self.path("m.npz"), ["a", "B", "dir/c", "1", 0, 3, 1.0][self.rng.integers(7)])
        if kind == 5:
            return (self.archive,)
        return (self.path("[pP]*"),)

    def part(self, source, member, array):
        rng = self.rng
        if rng.random() < 0.4:
            return (source,)
        slices = ["", "", "::-1", "1:", "::2", "..., ::-2", "None, ...", "..., None", "5:2"]
        slices += ["-1"] if array.ndim and array.shape[0] else []
        slices += ["0, ..., ::-1", "::-1, ::2"] if array.ndim > 1 and array.shape[0] else []
        field = ""
        if array.dtype.names is not None and rng.random() < 0.7:
            field = str(rng.choice(["x", "s", "n.k", "n.v", "n"]))
        view = {1: ["float8_e4m3fn", "float8_e5m2", "i1"], 2: ["bfloat16", "<u2", ">i2"], 8: ["<i8", ">f8", "m8[s]"]}
        reads = array.dtype.names is None and array.dtype.itemsize in view and rng.random() < 0.3
        as_view = str(rng.choice(view[array.dtype.itemsize])) if reads else ""
        if array.ndim == 0:
            slices = ["", "None"]
        if field == "n.v":  # whose subarray adds an axis to any array
            slices = ["", "..., ::-1", "..., 1"]
        return (source, member, str(rng.choice(slices)), field, as_view)


# --- queries -----------------------------------------------------------------------------------------------

Function = collections.namedtuple("Function", "name columns indexes values")
ROWS = Function("npy_rows", ["path", "name", "row", "value", "data"], ["row"], ["value"])
ELEMENTS = Function(
    "npy_elements",
    ["path", "name", "idx", "i0", "i1", "i2", "i3", "i4", "i5", "value", "real", "imag"],
    ["idx", "idx", "i0", "i1", "i2", "i3", "i4", "i5"],
    ["value", "value", "real", "imag"],
)



def spelled(column):
    """Real and imag are of numeric affinity, so that the CTE keeps 2.0 as 2."""
    return f"r.{column} + 0.0" if column in ("real", "imag") else f"r.{column}"


COLLATION = re.compile(" COLLATE [A-Z]+")
COMPARISONS = ["=", "=", "<>", "<", "<=", ">", ">=", "IS", "IS NOT", "==", "!="]


class Queries:
    """Random SQL over a table `r` with the columns of a function."""

    def __init__(self, rng, function, sources):
        self.rng, self.function, self.sources = rng, function, sources
        self.arguments = {}

    def one_of(self, items):
        return items[self.rng.integers(len(items))]

    def literal(self, value):
        """A value as SQL, or bound to a parameter."""
        if self.rng.random() < 0.4 and not (isinstance(value, int) and not -(2**63) <= value < 2**63):
            name = f"p{len(self.arguments)}"
            self.arguments[name] = value
            return f":{name}"
        return sql_literal(value)

    def operand(self, of):
        rng = self.rng
        kind = rng.random()
        if kind < 0.05:
            return "NULL"
        if kind < 0.15:
            return self.literal(self.one_of(FEW_WORDS + [" 2 ", "1e0", "0x1", "2.0", "9e999", "-1"]))
        if kind < 0.19:
            return self.literal(self.one_of([b"", b"1", b"\xff"]))
        if kind < 0.24:
            return f"r.{self.one_of(self.function.indexes + self.function.values)}"
        if of in self.function.indexes:
            if kind < 0.8:
                return self.literal(int(rng.integers(-2, 24 if of != "row" else 12)))
            if kind < 0.9:
                return self.literal(self.one_of([1.0, 2.5, 0.0, -0.5, -0.0, 3.999, 1e300, -1e300, 2.0**63, -(2.0**63)]))
        return self.literal(self.one_of(FEW_INTEGERS if rng.random() < 0.5 else FEW_REALS))

    def leaf(self):
        rng = self.rng
        kind = rng.random()
        if kind < 0.12:
            return self.text_leaf()
        column = self.one_of(self.function.indexes if kind < 0.55 else self.function.values)
        form = rng.random()
        if form < 0.62:
            sides = [f"r.{column}", self.operand(column)]
            if rng.random() < 0.2:
                sides.reverse()
            return f"{sides[0]} {self.one_of(COMPARISONS)} {sides[1]}"
        negated = "NOT " * (rng.random() < 0.2)
        if form < 0.75:
            return f"r.{column} {negated}BETWEEN {self.operand(column)} AND {self.operand(column)}"
        if form < 0.9:
            listed = ", ".join(self.operand(column) for _ in range(rng.integers(0, 5)))
            return f"r.{column} {negated}IN ({listed})"
        if form < 0.94:
            return f"r.{column} {negated}IN (SELECT {self.one_of(['i', 't', 'u'])} FROM t)"
        return f"r.{column} IS {negated}NULL"

    def text_leaf(self):
        column = self.one_of(["name", "path"])
        texts = self.sources.paths if column == "path" else ["a", "B", "b", "dir/c", "1", "", "A"]
        text = self.one_of(texts)
        operand = self.literal(self.one_of([text, text, text, text.upper(), text.encode(), None, 1, 1.0]))
        collation = self.one_of(["", "", "", " COLLATE NOCASE", " COLLATE RTRIM"])
        form = self.rng.random()
        if form < 0.6:
            return f"r.{column} {self.one_of(COMPARISONS)} {operand}{collation}"
        if form < 0.8:
            return f"r.{column} IN ({operand}, {self.literal(self.one_of(texts))})"
        return f"r.{column} {self.one_of(['LIKE', 'GLOB'])} {self.literal('*' + text[-3:])}"

    def condition(self, depth=2):
        kind = self.rng.random()
        if depth == 0 or kind < 0.35:
            return self.leaf()
        if kind < 0.4:
            return f"NOT ({self.condition(depth - 1)})"
        word = " AND " if kind < 0.72 else " OR "
        parts = [self.condition(depth - 1) for _ in range(self.rng.integers(2, 4))]
        if word == " OR ":
            # SQLite 3.40 makes IN ('b', 'c') of x = 'b' COLLATE NOCASE OR x = 'c', for indexes of its own tables too.
            parts = [COLLATION.sub("", part) for part in parts]
        return "(" + word.join(parts) + ")"

    def selected(self):
        """A SELECT list: all columns, or few, so that the rest need not be read."""
        kind = self.rng.random()
        if kind < 0.6:
            return list(map(spelled, self.function.columns))
        if kind < 0.7:
            return ["count(*)", f"min(r.{self.function.indexes[0]})", f"max(r.{self.function.indexes[0]})"]
        if kind < 0.75:
            return [f"max(r.{self.function.indexes[0]})"]
        if kind < 0.8:
            return [f"min(r.{self.one_of(self.function.indexes)})"]  # 1 and 1.0 are one least value
        chosen = self.rng.choice(self.function.columns, int(self.rng.integers(1, 4)), replace=False)
        return list(map(spelled, chosen))


Shape = collections.namedtuple("Shape", "template order limit offset")


def random_query(q):
    """A query whose {r} is the table, with what of its order and number of rows is certain."""
    rng = q.rng
    kind, selected, joined = rng.random(), q.selected(), None
    if kind < 0.6:
        body = f"FROM {{r}} AS r WHERE {q.condition()}"
    elif kind < 0.68:
        body = "FROM {r} AS r"
    else:
        column = q.one_of(q.function.indexes if rng.random() < 0.75 else q.function.values)
        on = f"r.{column} {q.one_of(['=', '=', '=', 'IS', '<'])} t.{q.one_of(['i', 't', 'u', 'id'])}"
        joined = f"r.{column}"
        extra = f" AND {q.leaf()}" if rng.random() < 0.3 else ""
        join = q.one_of(["t JOIN {r} AS r", "{r} AS r JOIN t", "t LEFT JOIN {r} AS r", "t CROSS JOIN {r} AS r"])
        body = f"FROM {join} ON {on}{extra}"
        if rng.random() < 0.4:
            body += f" WHERE {q.leaf()}"
        selected = ["t.id", *selected] if "(" not in "".join(selected) else selected
    is_aggregate = "(" in "".join(selected)
    if rng.random() < 0.15 and not is_aggregate:
        body += f" UNION ALL SELECT {', '.join(selected)} FROM {{r}} AS r" + (" JOIN t" if "t.id" in selected else "")
        body += f" WHERE {q.leaf()}"
    order = []
    # To SQLite what equals t.i is one value, in tables of its own too: 1, '1' and '01' are left unsorted.
    sortable = [i for i, column in enumerate(selected) if not joined or not column.startswith(joined)]
    if rng.random() < 0.5 and sortable and not is_aggregate:
        chosen = rng.choice(sortable, min(len(sortable), int(rng.integers(1, 3))), replace=False)
        directions = [q.one_of(["", " DESC"]) for _ in chosen]
        if "UNION" in body:
            order = [f"{i + 1}{d}" for i, d in zip(chosen, directions)]
        else:
            order = [f"{selected[i]}{d}" for i, d in zip(chosen, directions)]
        body += " ORDER BY " + ", ".join(order)
        order = [int(i) for i in chosen]
    limit = offset = None
    if rng.random() < 0.3:
        limit, offset = int(q.one_of([0, 1, 2, 5, 20, 1000, -1])), int(q.one_of([0, 0, 1, 3, 30, -1]))
    return Shape(f"SELECT {', '.join(selected)} {body}", order, limit, offset)


def texts(rows):
    """Rows by the text of their values: NULL, 1, 1.0, -0.0 and '1' are five."""
    return [tuple(map(repr, row)) for row in rows]


def fault(got, want, shape):
    """What is wrong with the rows, given all rows that the query without LIMIT has in the reference's order."""
    got, want = texts(got), texts(want)
    first = max(shape.offset or 0, 0)
    last = len(want) if shape.limit is None or shape.limit < 0 else min(len(want), first + shape.limit)
    if len(got) != max(0, last - first):
        return f"{len(got)} rows, {max(0, last - first)} expected of {len(want)}"
    if (collections.Counter(got) - collections.Counter(want)) != collections.Counter():
        return "other rows"
    keys = lambda rows: [[row[i] for i in shape.order] for row in rows]
    same_zero = lambda rows: [["0.0" if key == "-0.0" else key for key in row] for row in rows]
    if shape.order and not ties_alike(same_zero(keys(got)), same_zero(keys(want[first:last]))):
        return "another order"
    return None


def ties_alike(got, want):
    """1 and 1.0 sort alike, and either may come first."""
    number = lambda text: float(text) if text[:1] not in "'b\"N" else text
    return all(
        a == b or number(a) == number(b) for row, other in zip(got, want) for a, b in zip(row, other)
    )


TABLE = [
    (1, 1, "1", 1),
    (2, 0, "0.0", 0.0),
    (3, None, None, None),
    (4, 5, "abc", "3"),
    (5, 2**63 - 1, "2.5", 2.5),
    (6, -(2**63), "", b"1"),
    (7, 2**53 + 1, " 7 ", 2.0**53),
    (8, 7, "9223372036854775808", "abc"),
    (9, 3, "07", 7),
    (10, 3, "1e0", math.inf),
]


def make_table(select):
    # Of a third column whose values keep whatever type they have.
    select("CREATE TEMP TABLE t(id INTEGER PRIMARY KEY, i INTEGER, t TEXT, u)")
    for row in TABLE:
        select("INSERT INTO t VALUES (?, ?, ?, ?)", row)


def asked(select, sql, arguments=()):
    """The rows, or None for a comparison that an ordinary table answers and npy_rows refuses."""
    try:
        return select(sql, arguments)
    except sqlite3.OperationalError as error:
        if not is_refused(error):
            raise
        return None


def compare(select, q):
    """Asks one random query in every way, and compares."""
    shape = random_query(q)
    picked = q.sources.pick()
    given = {f"a{i}": value for i, value in enumerate(picked)}
    bound = call = f"{q.function.name}({', '.join(':' + name for name in given)})"
    if q.rng.random() < 0.6:  # of literals: then the plan knows what the header says
        call = f"{q.function.name}({', '.join(map(sql_literal, picked))})"
    columns = ", ".join(q.function.columns)
    cte = f"WITH everything AS MATERIALIZED (SELECT {columns} FROM {bound} LIMIT -1) "
    arguments = {**q.arguments, **given}
    want = select(cte + shape.template.replace("{r}", "everything"), arguments)
    limit = "" if shape.limit is None else f" LIMIT {shape.limit} OFFSET {shape.offset}"
    sql = shape.template.replace("{r}", call) + limit
    got = asked(select, sql, arguments)
    if got is None:
        return
    wrong = fault(got, want, shape)
    shown = {name: value[:80] if isinstance(value, bytes) else value for name, value in arguments.items()}
    surplus = list((collections.Counter(texts(got)) - collections.Counter(texts(want))).items())
    missing = list((collections.Counter(texts(want)) - collections.Counter(texts(got))).items())
    assert not wrong, f"{wrong}\n{sql}\n{shown}\ntoo many {surplus[:5]}\nmissing  {missing[:5]}"


# The CTE would turn the texts of numbers above 2^63 into reals in `real`, which has an affinity.
CASES = {
    "npy_rows": (ROWS, 2**64 - 1),
    "npy_elements": (ELEMENTS, 2**63 - 1),
    "npy_elements above 2^63": (ELEMENTS._replace(values=["value"]), 2**64 - 1),
}


def compare_branches(select, q):
    """An OR whose branches all name the source, which SQLite asks one after the other; a row of both comes once."""
    source, *member = q.sources.pick()[:2]
    given = {"source": source, **({"member": member[0]} if member and member[0] != "" else {})}
    columns = ", ".join(q.function.columns)
    # SQLite folds a branch with an empty list to false, source and all, and newer ones ask no branches that collate:
    # the source is missing then, which is an error.
    is_asked = lambda condition: "IN ()" not in condition and "COLLATE" not in condition
    conditions = list(filter(is_asked, (q.condition(1) for _ in range(9))))[:3]
    listed, arguments = ", ".join(q.selected()), {**q.arguments, **given}
    want = select(
        f"WITH everything AS MATERIALIZED (SELECT {columns} FROM {q.function.name}({', '.join(':' + n for n in given)}) LIMIT -1) "
        f"SELECT {listed} FROM everything AS r WHERE {' OR '.join(conditions)}",
        arguments,
    )
    named = " AND ".join(f"r.{name} = :{name}" for name in given)
    sql = f"SELECT {listed} FROM {q.function.name} AS r WHERE "
    sql += " OR ".join(f"({named} AND {condition})" for condition in conditions)
    got = asked(select, sql, arguments)
    assert got is None or not fault(got, want, Shape(sql, [], None, None)), f"{sql}\n{q.arguments}\n{got and len(got)} rows, {len(want)} expected"


@pytest.mark.parametrize("case", CASES)
def test_a_plan_changes_no_answer(select, case, tmp_path):
    rng, (function, greatest) = seeded_generator(), CASES[case]
    make_table(select)
    for i in range(shell.fewer(6)):
        folder = tmp_path / str(i)
        folder.mkdir()
        sources = Sources(rng, folder, greatest=greatest)
        for _ in range(250):
            compare(select, Queries(rng, function, sources))
        for _ in range(40):
            compare_branches(select, Queries(rng, function, sources))


def window_query(q):
    """An order that one array has by itself, a range of it, and a part of that."""
    rng, function = q.rng, q.function
    index, coordinates = function.indexes[0], [f"r.{name}" for name in function.indexes if name[0] == "i" and name != "idx"]
    ordered = [f"r.{index}"] if not coordinates or rng.random() < 0.5 else coordinates
    keys = list(ordered)
    for constant in ("r.path", "r.name"):
        if rng.random() < 0.2:
            keys.insert(int(rng.integers(len(keys) + 1)), constant)
    direction = q.one_of(["", " DESC"])
    order = ", ".join(key + (q.one_of(["", " DESC"]) if key in ("r.path", "r.name") else direction) for key in keys)
    conditions = []
    while rng.random() < 0.4:
        column = q.one_of(function.indexes[:4])
        conditions.append(f"r.{column} {q.one_of(['<', '<=', '>', '>=', '>=', 'IN', '='])} {int(rng.integers(-2, 30))}")
        conditions[-1] = re.sub(r"IN (\S+)", r"IN (3, \1, 0)", conditions[-1])
    if rng.random() < 0.2:
        conditions.append(f"r.{q.one_of(function.values)} {q.one_of(COMPARISONS)} {q.operand('value')}")
    sql = f"SELECT {', '.join(map(spelled, function.columns))} FROM {{r}} AS r"
    sql += (" WHERE " + " AND ".join(conditions)) * bool(conditions)
    # an IN gives its values' rows in the order of the values
    sql += f" ORDER BY {order}" * (rng.random() < 0.8 or " IN (" in sql)
    offset = int(q.one_of([0, 1, 2, 7, 30, 500, -1]))
    return sql + f" LIMIT {int(q.one_of([0, 1, 2, 5, 40, -1]))} OFFSET {offset}" * (rng.random() < 0.7)


@pytest.mark.parametrize("case", CASES)
def test_order_and_window_of_one_array_change_no_answer(select, case, tmp_path):
    rng, (function, greatest) = seeded_generator(), CASES[case]
    make_table(select)
    for i in range(shell.fewer(20)):
        folder = tmp_path / str(i)
        folder.mkdir()
        largest = 9000 if rng.random() < 0.2 else 60  # many blocks, or one
        sources = Sources(rng, folder, largest, greatest)
        for _ in range(60):
            q = Queries(rng, function, sources)
            given = sources.part(sources.path("single.npy"), "", sources.single)
            if rng.random() < 0.4:
                name = q.one_of(list(sources.members))
                given = sources.part(sources.path("m.npz"), name, sources.members[name])
                given = given if len(given) > 1 else (*given, name)
            bound = {f"a{i}": value for i, value in enumerate(given)}
            sql = window_query(q)
            arguments = {**q.arguments, **bound}
            everything = f"SELECT {', '.join(function.columns)} FROM {function.name}({', '.join(':' + n for n in bound)})"
            want = select(f"WITH e AS MATERIALIZED ({everything} LIMIT -1) {sql.replace('{r}', 'e')}", arguments)
            literal = f"{function.name}({', '.join(map(sql_literal, given))})"
            got = asked(select, sql.replace("{r}", literal), arguments)
            assert got is None or texts(got) == texts(want), f"{sql}\n{given}\n{q.arguments}\n{got[:3]}\n{want[:3]}"


@pytest.mark.parametrize("case", CASES)
def test_a_plan_over_many_blocks_changes_no_answer(select, case, tmp_path):
    """Bitmaps that end inside of a word, candidates in none or few of many blocks."""
    rng, (function, greatest) = seeded_generator(), CASES[case]
    columns, listed = ", ".join(function.columns), ", ".join(map(spelled, [function.indexes[0], *set(function.values)]))
    for i in range(shell.fewer(8)):
        dtype, count = str(rng.choice([t for t in DTYPES if t not in ("S3", "U2", ">U3")])), int(rng.integers(9000, 30000))
        array = few_values(rng, dtype, (count,), greatest)
        # Long stretches of one item, in which no candidate or every one lies.
        for begin in rng.integers(0, count, 4):
            array[begin : begin + int(rng.integers(count))] = array[begin]
        if rng.random() < 0.4:
            array = np.asfortranarray(array[: count // 7 * 7].reshape(-1, 7))
        path = tmp_path / f"{i}.npz"
        path.write_bytes(npz_bytes({"it": array}, str(rng.choice(["stored", "deflate"]))))
        call = f"{function.name}(?, 'it', '{rng.choice(['', '::-1', '3::2'])}')"
        for _ in range(10):
            q = Queries(rng, function, None)
            column = q.one_of(function.values)
            where = f"r.{column} {q.one_of(COMPARISONS)} {q.literal(q.one_of(FEW_INTEGERS + FEW_REALS))}"
            if rng.random() < 0.4:
                bound = int(rng.integers(count))
                where += f" {q.one_of(['AND', 'OR'])} r.{function.indexes[0]} {q.one_of(['<', '>=', '='])} {bound}"
            want = select(
                f"WITH everything AS MATERIALIZED (SELECT {columns} FROM {call.replace('?', ':path')} LIMIT -1) "
                f"SELECT {listed} FROM everything AS r WHERE {where}",
                {**q.arguments, "path": str(path)},
            )
            got = asked(
                select,
                f"SELECT {listed} FROM {call.replace('?', ':path')} AS r WHERE {where}",
                {**q.arguments, "path": str(path)},
            )
            has_blob = "x'" in where or any(isinstance(value, bytes) for value in q.arguments.values())
            may_refuse = got is None and (array.ndim > 1 or array.dtype.kind in "cVM" or has_blob)
            assert may_refuse or got == want, f"{array.dtype} {array.shape} {where} {q.arguments}: {got and len(got)}, {len(want)}"


def test_a_filter_over_megabytes_changes_no_answer(select, tmp_path):
    """So many that another thread helps."""
    rng, path = seeded_generator(), str(tmp_path / "x.npy")
    nthreads = lambda: len(os.listdir("/proc/self/task"))
    before = nthreads()
    for dtype in ("f8", "<i2", "u1", ">f4", "c16"):
        count = 14_000_000 // np.dtype(dtype).itemsize
        array = np.zeros(count, dtype)
        places = np.sort(rng.choice(count, 300, replace=False))
        array[places] = rng.integers(1, 100, 300)
        array_in_file = array.reshape(-1, 20) if rng.random() < 0.3 else array
        with open(path, "wb") as out:
            contents = [npy_bytes(array_in_file), npz_bytes({"a": array_in_file}, "deflate"), npz_bytes({"a": array_in_file})]
            out.write(contents[int(rng.integers(3))])
        for sql, want in (
            ("SELECT idx FROM npy_elements(?) WHERE {value} > 0", places),
            ("SELECT idx FROM npy_elements(?) WHERE {value} > 0 LIMIT 7", places[:7]),
            (f"SELECT idx FROM npy_elements(?) WHERE {{value}} > 0 AND idx > {places[20]}", places[21:]),
            ("SELECT idx FROM npy_elements(?) WHERE {value} > 50 AND {value} <> 0", places[array[places].real > 50]),
            ("SELECT row FROM npy_rows(?, '', '...', '', '', '') WHERE value > 0", places),
            (f"SELECT row FROM npy_rows(?) WHERE value > 0 AND row BETWEEN {places[9]} AND {places[280]}", places[9:281]),
            ("SELECT a.row FROM npy_rows(?1) AS a, npy_rows(?1) AS b WHERE a.value > 0 AND b.value > 98 AND b.row = a.row", None),
        ):
            if "npy_rows" in sql and (dtype == "c16" or not read_as_one_axis(select, path)):
                continue
            if want is None:
                want = places[array[places] > 98]
            value = "real" if dtype == "c16" else "value"
            got = select(sql.format(value=value), (path,))
            assert [row for (row,) in got] == want.tolist(), (dtype, sql)
    assert nthreads() <= before  # one of another test may have ended meanwhile


def test_texts_that_are_sought_change_no_answer(select, tmp_path):
    """Equal items are found in whole blocks; what reads like a number, and other collations, by SQLite."""
    rng, path = seeded_generator(), str(tmp_path / "x.npy")
    words = ["", "a", "ab", "abc", "é", "e\u0301", "ß", "漢字", "😀", "\ufffd", "a\0b", "a ", " a", "A", "1", "1.0", "01", "-", "x1", "e"]
    select("CREATE TABLE words(word, given TEXT, upper TEXT COLLATE NOCASE, number INTEGER)")
    for word in words:
        select("INSERT INTO words VALUES (?, ?, ?, ?)", (word, word, word.upper(), word))
    for dtype in ["<U3", ">U3", "<U1", ">U7", "S1", "S3", "S9", "U0", "S0"]:
        pool = np.array([word.encode() for word in words] if "S" in dtype else words, dtype)
        array = pool[rng.integers(0, len(pool), int(rng.integers(1, 400)))]
        if dtype == "<U3" and rng.random() < 0.5:
            array.view("<u4")[0] = 0xD800  # which is no character: it reads as U+FFFD
        np.save(path, np.repeat(array, 1 + 20_000 // len(array)) if rng.random() < 0.3 else array)  # many blocks
        for function in ("npy_rows", "npy_elements"):
            for condition in (
                "{v} = w.word", "{v} = w.given", "{v} = w.upper", "w.upper = {v}", "{v} = w.number", "{v} = w.word COLLATE RTRIM", "{v} IS w.word",
                "{v} = w.word AND {v} > 'a'", "{v} = w.word || char(0)", "{v} = CAST(w.word AS BLOB)", "{v} = w.word AND {v} = w.given",
            ):
                sql = f"SELECT w.rowid, count(*) FROM words w CROSS JOIN {function}(?) x WHERE {condition} GROUP BY 1"
                want = select(sql.format(v="+x.value"), (path,))
                assert select(sql.format(v="x.value"), (path,)) == want, (dtype, function, condition)


def test_a_text_is_sought_without_a_step_for_each_row(connect, tmp_path):
    path = str(tmp_path / "x.npy")
    np.save(path, np.array([f"sample_{i}" for i in range(100_000)]))
    for function in ("npy_rows", "npy_elements"):
        db, steps = connect(), []
        db.set_progress_handler(lambda: steps.append(1) and None, 100)
        assert db.execute(f"SELECT value FROM {function}(?) WHERE value = 'sample_77777'", (path,)).fetchall() == [("sample_77777",)]
        assert len(steps) < 500 or version_of(db) < (3, 38), function  # a look for interrupts takes 20, a step for each row 5,000


def read_as_one_axis(select, path):
    return select("SELECT ndim FROM npy_meta(?)", (path,)) == [(1,)]


def test_affinities_of_the_other_side(connect):
    """A term that the plan takes is compared once more as the query has it."""
    db, texts_of_numbers = connect(), npy_bytes(np.array(["1", "01", "2"]))
    db.execute("CREATE TABLE t(i INTEGER)")
    db.execute("INSERT INTO t VALUES (1)")
    for condition in ("value IN (SELECT i FROM t)", "value = (SELECT i FROM t LIMIT 1) + 0 OR value IN (SELECT i FROM t)"):
        rows = db.execute(f"SELECT row FROM npy_rows(?) WHERE {condition}", (texts_of_numbers,)).fetchall()
        assert rows == [(0,), (1,)], condition
    assert db.execute("SELECT row FROM npy_rows(?) AS r JOIN t ON r.value = t.i", (texts_of_numbers,)).fetchall() == [
        (0,),
        (1,),
    ]
    # Of what is no number real and imag are NULL, though its items could be compared.
    for dtype in ("m8[s]", "M8"):
        contents = npy_bytes(np.arange(3).view(dtype))
        count = lambda where: db.execute(f"SELECT count(*) FROM npy_elements(?) WHERE {where}", (contents,)).fetchone()
        assert count("real IS NULL") == count("imag IS NULL") == (3,) and count("real IS NOT NULL") == (0,)


# --- defects -----------------------------------------------------------------------------------------------


def test_offset_is_not_taken_for_functions_that_do_not_read_it(select, tmp_path):
    """SQLite 3.46 and newer: rows 0 and 1 came, whatever OFFSET said."""
    for i in range(5):
        (tmp_path / f"{i}.npy").write_bytes(npy_bytes(np.arange(i + 1)))
        (tmp_path / f"{i}.npz").write_bytes(npz_bytes({"a": np.arange(i + 1)}))
        (tmp_path / f"{i}.ten").write_bytes(ten_bytes([np.arange(i + 1)], infos=["a"]))
    for function, suffix in (
        ("npy_meta", "npy"),
        ("npz_members", "npz"),
        ("ten_arrays", "ten"),
        ("npy_rows", "npy"),
        ("npy_elements", "npy"),
        ("npy_stats", "npy"),
        ("npy_histogram", "npy"),
        ("npy_file", "npy"),
    ):
        pattern = str(tmp_path / f"*.{suffix}")
        per_file = {"npy_rows": [1, 2, 3, 4, 5], "npy_elements": [1, 2, 3, 4, 5], "npy_histogram": [10] * 5}.get(function, [1] * 5)
        want = [(str(tmp_path / f"{i}.{suffix}"),) for i, count in enumerate(per_file) for _ in range(count)]
        for limit, offset in ((2, 2), (2, 4), (-1, 3), (3, 0), (1, 100), (0, 1)):
            stop = None if limit < 0 else offset + limit
            for window, arguments in ((f"{limit} OFFSET {offset}", ()), ("? OFFSET ?", (limit, offset))):
                rows = select(f"SELECT path FROM {function}(?) LIMIT {window}", (pattern, *arguments))
                assert rows == want[offset:stop], (function, window, arguments)
    archives = [npz_bytes({name: np.arange(2) for name in "abcde"}) for _ in range(2)]
    assert select("SELECT name FROM npy_compare(?, ?) LIMIT 2 OFFSET 2", archives) == [("c",), ("d",)]


def test_offset_is_not_taken_beside_a_part_of_a_row_value(select, tmp_path):
    """SQLite 3.46 and newer: `(row, value) > (3, 6)` is handed over as `row >= 3`, and the row that is left out by the
    rest of it was counted as one that OFFSET passes over."""
    array = np.array([9, 9, 9, 5, 7, 1, 2, 3])
    path = str(tmp_path / "a.npy")
    np.save(path, array)
    np.savez(tmp_path / "t.npz", value=array)
    select(f"CREATE VIRTUAL TABLE typed USING npy('{tmp_path / 't.npz'}')")
    tables = ((f"npy_rows('{path}')", "row"), (f"npy_elements('{path}')", "idx"), ("typed", "rowid"))
    for table, key in tables:
        for op, satisfies in ((">", tuple.__gt__), (">=", tuple.__ge__), ("<", tuple.__lt__), ("<=", tuple.__le__)):
            want = [(i,) for i, value in enumerate(array.tolist()) if satisfies((i, value), (3, 6))]
            sql = f"SELECT {key} FROM {table} WHERE ({key}, value) {op}"
            for right, arguments in (("(3, 6)", ()), ("(?, ?)", (3, 6)), ("(SELECT 3, 6)", ())):
                for offset in range(4):
                    rows = select(f"{sql} {right} LIMIT 1 OFFSET {offset}", arguments)
                    assert rows == want[offset : offset + 1], (table, op, right, offset)


def test_a_left_join_keeps_the_rows_that_its_condition_leaves_out(select, tmp_path):
    """SQLite 3.37 to 3.50: `<>` and IS NOT NULL of an ON clause were taken of the left table, and its rows lost."""
    path, items = str(tmp_path / "a.npy"), [1.0, 3.0, None, 3.0, 5.0]
    np.save(path, np.array(items, float))
    select("CREATE TABLE k(i)")
    select("INSERT INTO k VALUES (0), (1), (2)")
    select("CREATE TABLE plain(place, value)")
    for place, value in enumerate(items):
        select("INSERT INTO plain VALUES (?, ?)", (place, value))
    conditions = "value <> 3|3.0 <> value|value IS NOT 3|value IS NOT NULL|value NOTNULL|value IS NULL|value IS 3|value = 3|value > 3|value <= 3"
    conditions += "|value IN (1, 3)|value BETWEEN 1 AND 3|value LIKE '3%'|{place} = 1|{place} IS 1|{place} <> 1|{place} > 1|{place} IN (1, 2)"
    for condition in conditions.split("|"):
        for on in (condition, f"i = {{place}} AND {condition}", f"i <> {{place}} AND {condition}"):
            sql = f"SELECT {{place}}, value, i FROM {{table}} LEFT JOIN k ON {on} ORDER BY 1, 3"
            want = select(sql.format(place="place", table="plain"))
            assert {row[0] for row in want} == set(range(5))  # every row of the left table
            for function, place in (("npy_rows", "row"), ("npy_elements", "idx")):
                assert select(sql.format(place=place, table=f"{function}('{path}')")) == want, (function, on)


def test_in_compares_names_and_paths_with_the_affinities_of_both_sides(select, tmp_path, monkeypatch):
    """Each value of an IN was asked for by itself, which SQLite compares once more as if it had no affinity: of the name
    '1' and integers of a column without one, rows too many; of '01' and an INTEGER column, too few."""
    monkeypatch.chdir(tmp_path)
    names = ["1", "01", "a"]
    for name in names:
        (tmp_path / name).write_bytes(npy_bytes(np.arange(2)))
    (tmp_path / "x.npz").write_bytes(npz_bytes({name: np.arange(2) for name in names}))
    (tmp_path / "y.npz").write_bytes(npz_bytes({name: np.arange(2) for name in names}))
    select("CREATE TABLE plain(path TEXT, name TEXT)")
    for name in names:
        select("INSERT INTO plain VALUES (?, ?)", (name, name))
    select("CREATE TABLE k(i INTEGER, t TEXT, r REAL, n NUMERIC, u)")
    for value in (1, "1", "a", None, 1.5, b"1", "01"):
        select("INSERT INTO k VALUES (?, ?, ?, ?, ?)", (value,) * 5)
    tables = [("path", f"{function}('[\"1\", \"01\", \"a\"]')") for function in ("npy_rows", "npy_elements", "npy_meta", "npy_file", "npy_stats")]
    tables += [("name", f"{function}('x.npz')") for function in ("npy_rows", "npy_elements", "npy_meta", "npy_file", "npy_stats")]
    tables += [("name", "npy_compare('x.npz', 'y.npz')")]
    for column in ("i", "t", "r", "n", "u"):
        for condition in (f"IN (SELECT {column} FROM k)", f"NOT IN (SELECT {column} FROM k)", f"IN (SELECT {column} FROM k WHERE typeof({column}) = 'integer')"):
            for key, table in tables:
                rows = select(f"SELECT DISTINCT {key} FROM {table} WHERE {key} {condition}")
                assert sorted(rows) == sorted(select(f"SELECT {key} FROM plain WHERE {key} {condition}")), (table, condition)
    for listed in ("1", "'1', 'a'", "1, '01', NULL", "x'31', 'a'", "NULL", "", "'', 'a'"):
        for key, table in tables:
            rows = select(f"SELECT DISTINCT {key} FROM {table} WHERE {key} IN ({listed})")
            assert sorted(rows) == sorted(select(f"SELECT {key} FROM plain WHERE {key} IN ({listed})")), (table, listed)


# --- what is read ------------------------------------------------------------------------------------------


def read_by(db, sql, *arguments):
    before = counters(db)
    rows = db.execute(sql, arguments).fetchall()
    return rows, since(db, before)


def test_a_limit_reads_kilobytes(connect, tmp_path):
    path, db = str(tmp_path / "big.npy"), connect()
    write_sparse_npy(path, (50_000_000,))
    for sql in (
        "SELECT value FROM npy_rows(?) LIMIT 10",
        "SELECT value FROM npy_elements(?) LIMIT 10",
        "SELECT value FROM npy_rows(?) WHERE row >= 40000000 LIMIT 10",
        "SELECT value FROM npy_elements(?) WHERE idx > 49999980 LIMIT 10",
        "SELECT value FROM npy_elements(?) WHERE value = 0 LIMIT 10",
        "SELECT value FROM npy_rows(?, '', '30000000::-1') LIMIT 10",
    ):
        rows, read = read_by(db, sql, path)
        # What lies backwards is gathered, from whole pages.
        most = 2 * 65536 if "::-1" in sql else 65536
        assert len(rows) == 10 and 0 < read["bytes_read"] <= most, sql


def test_an_order_or_offset_of_one_array_reads_kilobytes(connect, tmp_path):
    path, db = str(tmp_path / "big.npy"), connect()
    write_sparse_npy(path, (50_000_000,))
    for sql, keys in (
        ("SELECT row FROM npy_rows('{path}') WHERE value = 0 ORDER BY row DESC LIMIT 3", range(49_999_999, 0, -1)),
        ("SELECT row, value FROM npy_rows('{path}') ORDER BY row DESC LIMIT 3", range(49_999_999, 0, -1)),
        ("SELECT row, value FROM npy_rows('{path}', '', '::-1') ORDER BY path, row LIMIT 3", range(3)),
        ("SELECT idx, value FROM npy_elements('{path}') ORDER BY idx DESC LIMIT 3", range(49_999_999, 0, -1)),
        ("SELECT i0, value FROM npy_elements('{path}') ORDER BY i0 DESC LIMIT 3", range(49_999_999, 0, -1)),
        ("SELECT row, value FROM npy_rows('{path}', '', '::10000') ORDER BY row LIMIT 3", range(0, 30000, 10000)),
        ("SELECT idx, value FROM npy_elements('{path}', '', '::-10000') LIMIT 3", range(49_999_999, 0, -10000)),
    ):
        rows, read = read_by(db, sql.format(path=path))
        assert [row[0] for row in rows] == list(keys[:3]), sql
        # What lies backwards is gathered, from whole pages.
        assert read["bytes_read"] > 0 and (read["bytes_read"] <= 2 * 65536 or not sees_literals(db)), (sql, read)
    # What OFFSET passes over is not read where SQLite leaves it to the table.
    if version_of(db) >= (3, 46):
        for function in ("npy_rows", "npy_elements"):
            rows, read = read_by(db, f"SELECT value FROM {function}('{path}') LIMIT 3 OFFSET 40000000")
            assert len(rows) == 3 and 0 < read["bytes_read"] <= 65536, function


def test_a_seek_reads_about_a_row(connect, tmp_path):
    path, db = str(tmp_path / "big.npy"), connect()
    for fortran_order in (False, True):
        write_sparse_npy(path, (400_000, 128), fortran_order=fortran_order)
        most = 128 * 4096 if fortran_order else 32768
        for sql, n in (
            ("SELECT data FROM npy_rows(?) WHERE row = 399999", 1),
            ("SELECT data FROM npy_rows(?) WHERE row IN (5, 300000, 399999)", 3),
            ("SELECT data FROM npy_rows(?) WHERE row BETWEEN 200000 AND 200003", 4),
            ("SELECT value FROM npy_elements(?) WHERE i0 = 300000", 128),
            ("SELECT value FROM npy_elements(?) WHERE idx = 51199999", 1),
            ("SELECT value FROM npy_elements(?) WHERE i0 = 7 AND i1 >= 126", 2),
        ):
            rows, read = read_by(db, sql, path)
            assert len(rows) == n, sql
            assert 0 < read["bytes_read"] <= most * (3 if "IN (" in sql else 1), (sql, fortran_order, read)
    for nothing in ("row = 400000", "row < 0", "row = 'abc'", "row = 1.5", "row IN (-1, NULL)", "row > 5 AND row < 3"):
        rows, read = read_by(db, f"SELECT data FROM npy_rows(?) WHERE {nothing}", path)
        assert rows == [] and read["bytes_read"] <= 4096, nothing


def test_a_pruned_file_is_never_opened(connect, tmp_path):
    for i in range(20):
        (tmp_path / f"{i:02}.npz").write_bytes(npz_bytes({"a": np.arange(i), "b": np.arange(2)}))
    # What nobody can open makes opening it an error.
    (tmp_path / "broken.npz").write_bytes(b"no zip")
    pattern, wanted = str(tmp_path / "*.npz"), str(tmp_path / "07.npz")
    # SQLite 3.37 does not tell = from IN, which is its own to check then: it prunes nothing.
    prunes = sees_literals(connect())
    if not prunes:
        (tmp_path / "broken.npz").unlink()
    for function, key in (("npy_rows", "row"), ("npy_elements", "idx"), ("npy_meta", "idx")):
        db = connect()
        rows, read = read_by(db, f"SELECT name, {key} FROM {function}(?) WHERE path = ?", pattern, wanted)
        assert len(rows) == (2 if function == "npy_meta" else 9) and read["files_opened"] == (1 if prunes else 20), function
        rows, read = read_by(
            db, f"SELECT count(*) FROM {function}(?) WHERE path IN (?, ?, 'x')", pattern, wanted, wanted[:-6] + "8.npz"
        )
        assert read["files_opened"] <= (1 if prunes else 20), function
        rows, read = read_by(db, f"SELECT * FROM {function}(?) WHERE path = 'elsewhere'", pattern)
        assert rows == [] and (read["files_opened"] == 0 or not prunes), function
        # Only a comparison of bytes prunes; another collation has to look at all, the broken one too.
        if function != "npy_meta" and prunes:
            with pytest.raises(Exception, match="broken"):
                db.execute(f"SELECT * FROM {function}(?) WHERE path = ? COLLATE NOCASE", (pattern, wanted)).fetchall()
    db = connect()
    rows, read = read_by(db, "SELECT value FROM npy_rows(?) WHERE name = 'b'", wanted)
    assert rows == [(0,), (1,)]


def test_a_million_lookups_open_one_file(connect, tmp_path):
    rng, db, n = np.random.default_rng(3), connect(), 1_000_000
    array, wanted = rng.random(300_000), rng.integers(0, 300_000, n)
    db.execute("CREATE TABLE wanted(k INTEGER)")
    db.execute("INSERT INTO wanted SELECT value FROM json_each(?)", (str(wanted.tolist()),))
    for name, contents in (("x.npy", npy_bytes(array)), ("x.npz", npz_bytes({"a": array}))):
        path = str(tmp_path / name)
        with open(path, "wb") as out:
            out.write(contents)
        for function, key in (("npy_rows", "row"), ("npy_elements", "idx"), ("npy_elements", "i0")):
            sql = f"SELECT count(*), total(r.value) FROM wanted CROSS JOIN {function}(?) AS r ON r.{key} = wanted.k"
            if function == "npy_elements":
                sql = sql.replace("wanted CROSS", "(SELECT k FROM wanted LIMIT 5000) AS wanted CROSS")
            few = wanted[:5000] if function == "npy_elements" else wanted
            [(count, total)], read = read_by(db, sql, path)
            assert count == len(few) and math.isclose(total, math.fsum(array[few]), rel_tol=1e-9), sql
            assert read["files_opened"] <= 1, sql


def test_lookups_in_a_blob_do_not_copy_it(connect):
    db, array = connect(), np.arange(1_000_000.0)
    db.execute("CREATE TABLE wanted AS WITH RECURSIVE n(k) AS (SELECT 0 UNION ALL SELECT k + 9 FROM n LIMIT 20000) SELECT k FROM n")
    sql = "SELECT sum(r.value) FROM wanted CROSS JOIN npy_rows(?) AS r ON r.row = wanted.k"
    # Twenty thousand copies of 8 MB would take minutes.
    [(total,)], read = read_by(db, sql, npy_bytes(array))
    assert total == array[:180000:9].sum() and read["bytes_read"] == 0


def test_a_file_replaced_between_statements_is_noticed(connect, tmp_path):
    path, db = str(tmp_path / "x.npy"), connect()
    for function in ("npy_rows", "npy_elements"):
        # Of other and of the same size, in place and renamed over.
        for array in (np.arange(4), np.arange(4) + 1, np.arange(7), np.arange(7.0), np.ones((2, 2), "f4")):
            with open(path + ".new", "wb") as out:
                out.write(npy_bytes(array))
            os.replace(path + ".new", path)
            got, read = read_by(db, f"SELECT value FROM {function}(?)", path)
            want = array.ravel().tolist() if function == "npy_elements" or array.ndim == 1 else ["[1.0,1.0]"] * 2
            assert [value for (value,) in got] == want
            assert read["files_opened"] == 1 and read["cache_hits"] == 0
            got, read = read_by(db, f"SELECT count(*) FROM {function}(?)", path)
            assert read["files_opened"] == 0 and read["cache_hits"] == 1
    os.remove(path)
    with pytest.raises(Exception, match="no such file"):
        db.execute("SELECT * FROM npy_rows(?)", (path,)).fetchall()


def test_a_plan_for_one_array_is_made_anew_when_there_are_several(connect, tmp_path):
    """The order that the table was to give would be the order of each array."""
    path, db = str(tmp_path / "x.npy"), connect()
    for function, key in (("npy_rows", "row"), ("npy_elements", "idx")):
        sql = f"SELECT {key}, value FROM {function}('{path}') ORDER BY {key} DESC, value LIMIT 5"
        for contents, want in (
            (npy_bytes(np.arange(3)), [(2, 2), (1, 1), (0, 0)]),
            (npz_bytes({"a": np.arange(3), "b": np.arange(2) + 7}), [(2, 2), (1, 1), (1, 8), (0, 0), (0, 7)]),
            (npy_bytes(np.arange(2) + 1), [(1, 2), (0, 1)]),
        ):
            with open(path + ".new", "wb") as out:
                out.write(contents)
            os.replace(path + ".new", path)
            assert db.execute(sql).fetchall() == want, (function, want)


def test_a_statement_validates_a_file_once(connect, tmp_path):
    """What replaces a file in the middle of a statement is seen by the next one."""
    path, db = str(tmp_path / "x.npy"), connect()
    with open(path, "wb") as out:
        out.write(npy_bytes(np.arange(1000)))
    db.execute("CREATE TABLE wanted AS WITH RECURSIVE n(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n LIMIT 1000) SELECT k FROM n")
    sql = "SELECT r.value FROM wanted CROSS JOIN npy_rows(?) AS r ON r.row = wanted.k"
    cursor = db.execute(sql, (path,))
    first = cursor.fetchone()
    with open(path + ".new", "wb") as out:
        out.write(npy_bytes(np.arange(1000) + 5000))
    os.replace(path + ".new", path)
    assert [first, *cursor.fetchall()] == [(i,) for i in range(1000)]
    assert db.execute(sql, (path,)).fetchall() == [(i + 5000,) for i in range(1000)]


def test_no_more_files_stay_open_than_a_few(connect, tmp_path):
    for i in range(60):
        (tmp_path / f"{i}.npy").write_bytes(npy_bytes(np.arange(2)))
    db, opened = connect(), lambda: len(os.listdir("/proc/self/fd"))
    before = opened()
    assert db.execute("SELECT count(value) FROM npy_rows(?)", (str(tmp_path / "*.npy"),)).fetchone() == (120,)
    assert opened() - before <= 16


# --- EXPLAIN QUERY PLAN ------------------------------------------------------------------------------------


def plan(db, sql):
    return [row[-1] for row in db.execute(f"EXPLAIN QUERY PLAN {sql}")]


@pytest.mark.parametrize(
    "sql, sentence",
    [
        ("SELECT * FROM npy_rows('x') WHERE row = 3", "by source; row=?; reading items"),
        ("SELECT row FROM npy_rows('x') WHERE row >= 3 AND row < 9", "by source; row>=?, row<?; listing"),
        ("SELECT * FROM npy_rows('x', 'w') WHERE row IN (1, 2)", "by source, member; row=?; reading items"),
        ("SELECT row FROM npy_rows('x') WHERE value > 2", "by source; value>?; reading items"),
        ("SELECT * FROM npy_rows('x') WHERE path = 'y' AND name <> 'z'", "by source; path=?; reading items"),
        ("SELECT * FROM npy_rows('x') WHERE path = 'y' COLLATE NOCASE", "by source; reading items"),
        ("SELECT idx FROM npy_elements('x') WHERE i0 = 1 AND i63 = 2", "by source; i0=?, i63=?; listing"),
        ("SELECT * FROM npy_elements('x') WHERE +i0 = 1", "by source; reading items"),
        ("SELECT row FROM npy_rows('one.npy') ORDER BY row", "by source; listing; in order"),
        ("SELECT row FROM npy_rows('two.npz', 'a') ORDER BY path, row DESC", "by source, member; listing; last row first"),
        ("SELECT row FROM npy_rows('two.npz', 1) ORDER BY row, value", "by source, member; reading items; in order"),
        ("SELECT idx FROM npy_elements('one.npy') ORDER BY i0 DESC, i1 DESC", "by source; listing; last row first"),
    ],
)
def test_the_plan_as_a_sentence(connect, sql, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.npy").write_bytes(npy_bytes(np.zeros((2, 3))))
    (tmp_path / "two.npz").write_bytes(npz_bytes({"a": np.arange(2), "b": np.arange(2)}))
    db = connect()
    if not sees_literals(db):
        sentence = sentence.replace("; in order", "").replace("; last row first", "").replace("; path=?", "")
    assert plan(db, sql)[0].endswith(":" + sentence)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT row FROM npy_rows('two.npz') ORDER BY row",
        "SELECT row FROM npy_rows('*.npy') ORDER BY row",
        "SELECT row FROM npy_rows('one.npy') ORDER BY value, row",
        "SELECT idx FROM npy_elements('one.npy') ORDER BY i1, i0",
        "SELECT idx FROM npy_elements('one.npy') ORDER BY i0, i1 DESC",
        "SELECT idx FROM npy_elements('one.npy') ORDER BY i1",
    ],
)
def test_an_order_that_the_array_does_not_have_is_left_to_sqlite(connect, sql, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.npy").write_bytes(npy_bytes(np.zeros((2, 3))))
    (tmp_path / "two.npz").write_bytes(npz_bytes({"a": np.arange(2), "b": np.arange(2)}))
    assert "USE TEMP B-TREE FOR ORDER BY" in plan(connect(), sql)


def test_estimates_come_from_headers(connect, tmp_path, monkeypatch):
    """The small array is the outer loop of a join whichever stands first."""
    monkeypatch.chdir(tmp_path)
    write_sparse_npy(str(tmp_path / "big.npy"), (50_000_000,))
    (tmp_path / "small.npy").write_bytes(npy_bytes(np.arange(3)))
    for sql in (
        "SELECT * FROM npy_rows('small.npy') AS s JOIN npy_rows('big.npy') AS b USING (row)",
        "SELECT * FROM npy_rows('big.npy') AS b JOIN npy_rows('small.npy') AS s USING (row)",
    ):
        db = connect()
        first, second = plan(db, sql)
        if not sees_literals(db):
            assert "row=?" in second
            continue
        assert first.startswith("SCAN s ") and second.startswith("SCAN b ") and "row=?" in second, sql
