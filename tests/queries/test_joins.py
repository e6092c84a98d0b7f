"""Arguments that come from other tables, and the same function several times in one query."""

import json
import sqlite3

import numpy as np
import pytest

from arrays import npy_bytes, npz_bytes, seeded_generator, ten_bytes
from expected import counters, error_of, since


class Lab:
    """Files of a few arrays, and a database in which a table names them."""

    def __init__(self, db):
        self.db = db
        self.arrays = {}  # (path, name): array
        for i in range(4):
            self.add(f"run{i}.npz", {"w": np.arange(i + 2) * 1.5, "b": np.array([i, -i])})
        self.add("t.ten", {"w": np.array([7, 8], "i4"), "c": np.array([9], "i4")})
        self.add("y.npy", {"": np.array([7, 1, 7, 3, 7])})
        self.add("X.npy", {"": np.arange(10, dtype="f4").reshape(5, 2)})
        self.add("none.npy", {"": np.zeros(0)})
        # A member of any type: a name, an idx, the same as a REAL, one that is not given, and NULL.
        self.runs = [
            (0, "run0.npz", "w"),
            (1, "run1.npz", 1),
            (2, "run2.npz", 0.0),
            (3, "run3.npz", ""),
            (4, "t.ten", "c"),
            (5, "y.npy", None),
            (6, None, "w"),
            (7, "none.npy", ""),
        ]
        db.execute("CREATE TABLE runs(id INTEGER PRIMARY KEY, path, member)")
        db.executemany("INSERT INTO runs VALUES (?, ?, ?)", self.runs)
        db.execute("CREATE TABLE blobs(id INTEGER PRIMARY KEY, array)")
        db.executemany(
            "INSERT INTO blobs(array) VALUES (?)", [(npy_bytes(np.arange(n)),) for n in (3, 0, 2)] + [(None,)]
        )

    def add(self, path, members):
        infos = list(members)
        pack = {
            "npz": npz_bytes,
            "ten": lambda m: ten_bytes(list(m.values()), infos=infos),
            "npy": lambda m: npy_bytes(m[""]),
        }
        with open(path, "wb") as out:
            out.write(pack[path[-3:]](members))
        self.arrays.update({(path, name): array for name, array in members.items()})

    def select(self, sql, arguments=()):
        return self.db.execute(sql, arguments).fetchall()

    def chosen(self, path, member):
        """The arrays that a source and a member choose, in the order of the file."""
        if path is None or member is None:
            return []
        names = [name for at, name in self.arrays if at == path]
        if not isinstance(member, str):
            names = [names[int(member)]]
        elif member:
            names = [member]
        return [self.arrays[path, name] for name in names]

    def rows(self):
        """(id, row, value) of every run, as a join must find them."""
        return [
            (i, row, value)
            for i, path, member in self.runs
            for array in self.chosen(path, member)
            for row, value in enumerate(array.tolist())
        ]


@pytest.fixture
def lab(connect, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Lab(connect())


@pytest.mark.parametrize(
    "tables",
    [
        "runs JOIN npy_rows(runs.path, runs.member) r",
        "npy_rows(runs.path, runs.member) r JOIN runs",
        "runs CROSS JOIN npy_rows(runs.path, runs.member) r",
        "npy_rows r JOIN runs ON r.source = runs.path AND r.member = runs.member",
        "runs, npy_rows r ON runs.path = r.source AND runs.member = r.member",
        "(SELECT id, path, member FROM runs) AS runs JOIN npy_rows(runs.path, runs.member) r",
        "runs JOIN (SELECT * FROM runs ORDER BY path DESC) AS k USING (id) JOIN npy_rows(k.path, k.member) r",
    ],
)
def test_arguments_from_a_table_in_either_order(lab, tables):
    got = lab.select(f"SELECT id, row, value FROM {tables} ORDER BY id, r.name = 'b', row")
    assert got == lab.rows() and len(got) > 12


def test_an_order_that_cannot_supply_the_source_is_an_error(lab):
    sql = "SELECT * FROM npy_rows r CROSS JOIN runs ON r.source = runs.path"
    assert "an earlier table" in error_of(lab.db, sql)


@pytest.mark.parametrize(
    "arguments, hinted",
    [("(path)", True), ("(path, runs.member)", True), ("('')", False), ("", False)],
)
def test_a_bare_name_that_is_the_functions_own(lab, arguments, hinted):
    """In a subquery `path` is that of npy_rows, the innermost one. The error says so where the query names the source."""
    error = error_of(lab.db, f"SELECT (SELECT max(value) FROM npy_rows{arguments}) FROM runs WHERE path IS NOT NULL")
    hinted = hinted and sqlite3.sqlite_version_info >= (3, 38)  # before, SQLite does not tell that the argument is there
    assert "npy_rows needs a source" in error and ("qualify it, as in m.path" in error) == hinted


def test_left_join(lab):
    got = lab.select(
        "SELECT id, row, value FROM runs LEFT JOIN npy_rows(runs.path, runs.member) r ON 1 "
        "ORDER BY id, r.name = 'b', row"
    )
    want = lab.rows()
    found = {i for i, _, _ in want}
    assert got == sorted(want + [(i, None, None) for i, _, _ in lab.runs if i not in found], key=lambda row: row[0])
    # A condition of the join, which keeps the runs that have no such row.
    got = lab.select(
        "SELECT id, value FROM runs LEFT JOIN npy_rows(runs.path, runs.member) r ON r.row = 2 WHERE id < 3 "
        "ORDER BY id"
    )
    assert got == [(0, None), (1, None), (2, 3.0)]


def test_correlated_subqueries(lab):
    sums = {
        i: sum(v for j, _, v in lab.rows() if j == i) if any(j == i for j, _, _ in lab.rows()) else None
        for i, _, _ in lab.runs
    }
    got = lab.select("SELECT id, (SELECT sum(value) FROM npy_rows(runs.path, runs.member)) FROM runs")
    assert got == list(sums.items())
    got = lab.select(
        "SELECT id FROM runs WHERE EXISTS (SELECT 1 FROM npy_rows(runs.path, runs.member) WHERE value > 5)"
    )
    assert [i for (i,) in got] == sorted({i for i, _, v in lab.rows() if v > 5})
    got = lab.select("SELECT id FROM runs WHERE 1.5 IN (SELECT value FROM npy_rows(runs.path, runs.member))")
    assert [i for (i,) in got] == sorted({i for i, _, v in lab.rows() if v == 1.5})
    got = lab.select(
        "SELECT id, (SELECT shape FROM npy_meta(runs.path) WHERE idx = 0) FROM runs WHERE id IN (1, 5, 6)"
    )
    assert got == [(1, "[3]"), (5, "[5]"), (6, None)]


def test_views_over_blob_columns(lab):
    lab.db.execute("CREATE TEMP VIEW items AS SELECT id, row, value FROM blobs, npy_rows(blobs.array)")
    want = [(1, 0, 0), (1, 1, 1), (1, 2, 2), (3, 0, 0), (3, 1, 1)]
    assert lab.select("SELECT * FROM items ORDER BY id, row") == want
    assert lab.select("SELECT * FROM items WHERE row = 1 ORDER BY id") == [(1, 1, 1), (3, 1, 1)]
    got = lab.select("SELECT a.id, b.id FROM items a JOIN items b USING (row) WHERE row = 1 AND a.id < b.id")
    assert got == [(1, 3)]
    got = lab.select("SELECT id, shape FROM blobs LEFT JOIN npy_meta(blobs.array) ON 1 ORDER BY id")
    assert got == [(1, "[3]"), (2, "[0]"), (3, "[2]"), (4, None)]
    # The blobs change under their row numbers: nothing of the old ones may be used.
    lab.db.execute("UPDATE blobs SET array = ? WHERE id = 1", (npy_bytes(np.arange(5, 8)),))
    assert lab.select("SELECT value FROM items WHERE id = 1 ORDER BY row") == [(5,), (6,), (7,)]


def test_the_same_function_twice(lab):
    got = lab.select(
        "SELECT x.value FROM npy_rows('X.npy') x JOIN npy_rows('y.npy') y USING (row) WHERE y.value = 7 ORDER BY row"
    )
    assert [json.loads(value) for (value,) in got] == [[0.0, 1.0], [4.0, 5.0], [8.0, 9.0]]
    got = lab.select(
        "SELECT a.row, b.row FROM npy_rows('y.npy') a, npy_rows('y.npy') b WHERE a.value = b.value "
        "AND a.row < b.row ORDER BY 1, 2"
    )
    assert got == [(0, 2), (0, 4), (2, 4)]
    # `member` is handed from one to the other as a constant, so SQLite may check it again.
    got = lab.select(
        "SELECT a.value, b.value FROM npy_rows('run1.npz') a, npy_rows('t.ten') b WHERE a.member = 'w' "
        "AND b.member = a.member AND a.row = b.row ORDER BY a.row"
    )
    assert got == [(0.0, 7), (1.5, 8)]
    got = lab.select(
        "SELECT m.path, m.name, (SELECT count(*) FROM npy_rows(m.path, m.idx)) FROM npy_meta('run*.npz') m"
    )
    assert got == [(path, name, len(array)) for (path, name), array in lab.arrays.items() if path.startswith("run")]


def test_or_over_sources_loses_no_row(lab):
    for where, n in [
        ("source = 'y.npy' OR source = 'X.npy'", 10),
        ("(source = 'y.npy' AND row < 2) OR (source = 'X.npy' AND row < 3)", 5),
        ("source = 'run1.npz' AND (member = 'w' OR member = 'b')", 5),
        ("(source = 'run1.npz' AND member = 'w') OR (source = 'run1.npz' AND member = 'b' AND row = 1)", 4),
        ("(source = 'y.npy' AND row = 1) OR (source = 'y.npy' AND row IN (1, 3))", 2),
        ("source = 'y.npy' AND (row = 0 OR row = 4 OR value = 3)", 3),
    ]:
        got = lab.select(f"SELECT source, name, row FROM npy_rows WHERE {where}")
        assert len(got) == len(set(got)) == n, where
    got = lab.select(
        "SELECT id, row FROM runs, npy_rows r WHERE (r.source = runs.path AND r.member = 'w' AND id < 3) "
        "OR (r.source = 'y.npy' AND id = 0) ORDER BY 1, 2"
    )
    assert got == sorted([(i, row) for i in range(3) for row in range(i + 2)] + [(0, row) for row in range(5)])


def test_a_path_that_stands_twice_in_a_list_has_its_rows_twice(lab):
    """By an OR too, whose branches SQLite tells rows apart in by the primary key, and by DISTINCT, which trusts it."""
    twice = json.dumps(["*.npy", "y.npy"])
    branches = ["source = 'X.npy' AND row = 0", "source = ? AND path = 'y.npy' AND row = 1", "source = ? AND row = 1", "source = 't.ten' AND row = 1"]
    seen = [lab.select(f"SELECT path, row, value FROM npy_rows WHERE {branch}", (twice,) * branch.count("?")) for branch in branches]
    assert [len(rows) for rows in seen] == [1, 2, 3, 1]
    got = lab.select("SELECT path, row, value FROM npy_rows WHERE " + " OR ".join(f"({branch})" for branch in branches), (twice, twice))
    assert sorted(got) == sorted(seen[0] + seen[2] + seen[3])  # what the second branch has, the third one has
    assert len(lab.select("SELECT DISTINCT array_key, row FROM npy_rows('[\"y.npy\", \"y.npy\"]') WHERE row = 0")) == 2
    for function in ("npy_meta", "npy_stats", "npy_elements", "npy_histogram", "npy_file"):
        total, distinct = lab.select(f"SELECT count(*), count(DISTINCT array_key) FROM {function}('[\"y.npy\", \"y.npy\"]')")[0]
        assert distinct == 2 and total % 2 == 0, function


@pytest.mark.parametrize("other", ["b.row = 1", "b.row = ?", "b.row = ? + 0"])
@pytest.mark.parametrize("pairs", ["VALUES (1, 5), (1, 2)", "SELECT 1, value FROM json_each('[5, 2]')"])
def test_pairs_of_which_one_half_is_constant(lab, other, pairs):
    """SQLite 3.54.1 gave the pair (1, 2) twice; it was found by random queries, with paths."""
    arguments = (1,) * other.count("?")
    for condition in (f"{other} AND (b.row, a.row) IN ({pairs})", f"(b.row, a.row) IN ({pairs}) AND {other}"):
        assert lab.select(f"SELECT a.row, b.row FROM npy_rows('y.npy') AS a, npy_rows('y.npy') AS b WHERE {condition}", arguments) == [(2, 1)]


def test_source_in(lab):
    def count(condition, *arguments):
        return lab.select(
            f"SELECT source, count(*) FROM npy_rows WHERE source {condition} GROUP BY 1 ORDER BY 1", arguments
        )

    assert count("IN ('y.npy', 'X.npy', 'y.npy', NULL)") == [("X.npy", 5), ("y.npy", 5)]
    assert count("IN (?, ?)", "none.npy", "y.npy") == [("y.npy", 5)]
    assert count("IN (SELECT path FROM runs WHERE id IN (0, 1))") == [("run0.npz", 4), ("run1.npz", 5)]
    assert count("IN (SELECT NULL)") == count("IN (NULL)") == []
    assert lab.select("SELECT count(*) FROM npy_rows WHERE source IN (SELECT array FROM blobs)") == [(5,)]
    got = lab.select("SELECT name, row FROM npy_rows('run0.npz') WHERE member IN ('w', 'b', 1) AND row IN (0, 7)")
    assert sorted(set(got)) == [("b", 0), ("w", 0)]


def test_unions_and_nesting(lab):
    got = lab.select(
        "SELECT value FROM npy_rows('run0.npz', 'w') UNION ALL SELECT value FROM npy_rows('run1.npz', 'w') "
        "LIMIT 3 OFFSET 1"
    )
    assert got == [(1.5,), (0.0,), (1.5,)]
    got = lab.select(
        "SELECT * FROM (SELECT value FROM npy_rows('y.npy') LIMIT 2 OFFSET 3) UNION ALL "
        "SELECT * FROM (SELECT value FROM npy_rows('y.npy') LIMIT 1)"
    )
    assert got == [(3,), (7,), (7,)]
    got = lab.select(
        "WITH big AS (SELECT path, idx FROM npy_meta('*.np[yz]') WHERE size > 4) SELECT path, count(*) "
        "FROM big, npy_rows(big.path, big.idx) USING (path) GROUP BY 1"
    )
    assert got == [
        (path, len(array)) for (path, _), array in sorted(lab.arrays.items()) if array.size > 4 and path[-3:] != "ten"
    ]
    got = lab.select(
        "SELECT j.value, r.value FROM json_each('[\"run3.npz\", \"run2.npz\"]') j, npy_rows(j.value, 'b') r "
        "WHERE r.row = 0"
    )
    assert got == [("run3.npz", 3), ("run2.npz", 2)]
    got = lab.select(
        "SELECT row, value, sum(value) OVER (ORDER BY row) FROM npy_rows('y.npy') ORDER BY row DESC LIMIT 2"
    )
    assert got == [(4, 7, 25), (3, 3, 18)]
    assert lab.select("SELECT DISTINCT value FROM npy_rows('y.npy') ORDER BY 1") == [(1,), (3,), (7,)]
    lab.db.execute("CREATE TABLE kept AS SELECT row, value FROM npy_rows('y.npy')")
    assert lab.select("SELECT count(*) FROM kept EXCEPT SELECT 5") == []


def test_lookups_by_row(lab):
    got = lab.select("SELECT blobs.id, r.value FROM blobs JOIN npy_rows('y.npy') r ON r.row = blobs.id ORDER BY 1")
    assert got == [(1, 1), (2, 7), (3, 3), (4, 7)]
    got = lab.select(
        "SELECT a.row, b.value FROM npy_rows('y.npy') a "
        "LEFT JOIN npy_rows('run3.npz', 'w') b ON b.row = a.value ORDER BY 1"
    )
    assert got == [(0, None), (1, 1.5), (2, None), (3, 4.5), (4, None)]


LOOKED_UP = [
    np.arange(300) * 1.5,
    np.arange(300, dtype=">i4").reshape(100, 3),
    np.asfortranarray(np.arange(60.0).reshape(20, 3)),
    np.array(["a", "", "ccc", "dd"] * 10),
    np.array([b""] * 5, "S0"),
    np.zeros((7, 0)),
    np.zeros(0),
    np.array(5),
    np.array([(1, 2.5), (3, np.nan)], [("n", "i8"), ("x", "f4")]),
    np.array([1, 2, 300, 4]),
]
KEYS = [None, 0, 1, 2, 3, 5, 1.0, 2.5, "3", "x", b"1", -1, 99, 299, 300, 2**63 - 1, -(2**63), 1e30]


@pytest.mark.parametrize("condition", ["", "r.slice = '1:'", "r.slice = '::2'", "r.slice = '::-1'", "r.astype = 'f8'"])
def test_lookups_find_what_a_table_of_the_same_rows_has(db, folder, condition):
    """Those that go the short way and those that go the long one, which follow each other in any order."""
    rng = seeded_generator()
    terms = f" AND {condition}" if condition else ""
    db.execute("CREATE TEMP TABLE wanted(id INTEGER PRIMARY KEY, key, path)")
    np.savez("two.npz", a=np.arange(9), b=np.arange(5.0))
    for number, array in enumerate(LOOKED_UP):
        np.save(f"{number}.npy", array)
    ncompared = 0
    for path in [f"{number}.npy" for number in range(len(LOOKED_UP))] + ["two.npz", "[01].npy"]:
        ints = rng.integers(-2, 12, 50).tolist() + list(range(20)) + rng.integers(0, 320, 30).tolist()
        keys = [key if rng.random() < 0.8 else KEYS[rng.integers(len(KEYS))] for key in ints]
        paths = rng.choice([path, "0.npy", "two.npz"], len(keys), p=[0.8, 0.1, 0.1]).tolist()
        db.execute("DELETE FROM wanted")
        db.executemany("INSERT INTO wanted(key, path) VALUES (?, ?)", zip(keys, paths))
        db.execute("DROP TABLE IF EXISTS temp.plain")
        every = [f"SELECT '{each}' AS path, row, value, data FROM npy_rows('{each}') AS r WHERE true{terms}" for each in {path, "0.npy", "two.npz"}]
        try:
            db.execute("CREATE TEMP TABLE plain AS " + " UNION ALL ".join(every))
        except sqlite3.Error:  # not for this array
            continue
        for operator, columns in [("=", "r.row, r.value"), ("=", "r.data"), ("=", "r.row"), ("<=", "r.row"), ("IS", "r.row, r.value")]:
            for source, of_plain in [(f"'{path}'", f"r.path = '{path}'"), ("w.path", "r.path = w.path")]:
                asked = f"SELECT w.id, {columns} FROM wanted AS w LEFT JOIN %s AS r ON r.row {operator} w.key AND %s"
                expected = db.execute(asked % ("plain", of_plain)).fetchall()
                got = db.execute(asked % (f"npy_rows({source})", condition or "true")).fetchall()
                assert sorted(map(repr, got)) == sorted(map(repr, expected))
                ncompared += 1
    assert ncompared >= 5 * 2 * 5


def test_a_lookup_that_stopped_in_the_first_array_is_not_the_next_ones(db, folder):
    """SQLite leaves the first array open: it has what it wanted."""
    np.savez("two.npz", a=np.arange(3) + 10, b=np.arange(9) + 20)
    found = "(SELECT r.value FROM npy_rows('two.npz') AS r WHERE r.row = w.value AND abs(r.value) > 0 LIMIT 1)"
    keys = [1, 2, 7, 0, 8, 2, 2, 5, 9]
    got = db.execute(f"SELECT {found} FROM json_each(?) AS w", (json.dumps(keys),)).fetchall()
    assert got == [(11,), (12,), (27,), (10,), (28,), (12,), (12,), (25,), (None,)]


def test_lookups_in_an_array_too_large_to_be_held(db, folder):
    array = np.arange(5_000_000) * 3.0
    np.save("large.npy", array)
    rows = seeded_generator().integers(-10, len(array) + 10, 2000).tolist() + list(range(100, 200))
    db.execute("CREATE TEMP TABLE wanted(id INTEGER PRIMARY KEY, row)")
    db.executemany("INSERT INTO wanted(row) VALUES (?)", [(row,) for row in rows])
    found = db.execute("SELECT w.id, r.row, r.value FROM wanted AS w JOIN npy_rows('large.npy') AS r ON r.row = w.row ORDER BY w.id")
    assert found.fetchall() == [(i + 1, row, array[row]) for i, row in enumerate(rows) if 0 <= row < len(array)]


def test_argument_columns_return_exactly_what_was_given(lab):
    contents = npz_bytes({"w": np.arange(2)})
    for source in ("run0.npz", '["run0.npz"]', "run[0].npz", contents):
        for member in ("w", 0, 0.0, ""):
            got = lab.db.execute(
                "SELECT source, member, typeof(member), on_error FROM npy_rows(?, ?) "
                "WHERE on_error = 'raise' LIMIT 1",
                (source, member),
            ).fetchone()
            assert got == (source, member, {str: "text", int: "integer", float: "real"}[type(member)], "raise")
    given = lab.db.execute(
        "SELECT source, member, slice, field, view, astype, expect, on_error FROM npy_rows('y.npy') LIMIT 1"
    ).fetchone()
    assert given == ("y.npy",) + (None,) * 7
    given = lab.select(
        "SELECT DISTINCT source, member, slice, field, view, astype, expect "
        "FROM npy_rows('y.npy', '', '', '', '', '', '')"
    )
    assert given == [("y.npy",) + ("",) * 6]
    assert lab.select("SELECT source, on_error FROM npy_meta('y.npy', 'skip')") == [("y.npy", "skip")]
    # More constraints than SQLite lets a table leave unchecked.
    many = " AND ".join(f"row <> {n}" for n in range(100, 130))
    got = lab.db.execute(
        f"SELECT member, count(*) FROM npy_rows WHERE {many} AND member = 0 AND source = 'run0.npz'"
    ).fetchone()
    assert got == (0, 2)


def test_array_keys(lab):
    blobs = [npy_bytes(np.arange(n)) for n in (3, 4)]
    cases = [(source, member) for source in ("run0.npz", "run1.npz", "run*.npz") for member in ("", "w", "b", 0, 1)]
    cases += [(source, member) for source in ("y.npy", "X.npy", "t.ten", *blobs) for member in ("", 0)]
    seen = {}
    for source, member in cases:
        for key in lab.select("SELECT path, name, array_key FROM npy_rows(?, ?)", (source, member)):
            seen.setdefault(key[-1], set()).add((source, member, *key[:-1]))
    for source, on_error in [(source, on_error) for source, _ in cases for on_error in ("", "row")]:
        for key in lab.select("SELECT path, idx, array_key FROM npy_meta(?, ?)", (source, on_error)):
            seen.setdefault(key[-1], set()).add(("meta", source, on_error, *key[:-1]))
    assert all(isinstance(key, int) for key in seen)
    assert max(map(len, seen.values())) == 1 and len(seen) > 2 * len(cases)


def test_a_statement_run_again_sees_the_file_as_it_is_then(lab):
    sql = "SELECT value FROM npy_rows(?)"
    for array in (np.arange(3), np.arange(4.0), np.array(["a"]), np.arange(3) + 1):
        with open("changing.npy", "wb") as out:
            out.write(npy_bytes(array))
        assert [v for (v,) in lab.db.execute(sql, ("changing.npy",))] == array.tolist()
        blob = bytearray(npy_bytes(array))
        assert [v for (v,) in lab.db.execute(sql, (blob,))] == array.tolist()
    outer = lab.db.execute("SELECT row, value FROM npy_rows('y.npy')")
    for row, value in outer:
        # Two statements at once over one file.
        assert lab.db.execute("SELECT value FROM npy_rows('y.npy') WHERE row = ?", (row,)).fetchone() == (value,)


def test_an_error_in_a_join_names_its_file(lab):
    lab.db.execute("INSERT INTO runs VALUES (8, 'missing.npz', 'w')")
    assert "missing.npz" in error_of(lab.db, "SELECT count(*) FROM runs, npy_rows(runs.path, runs.member)")
    assert lab.db.execute(
        "SELECT count(*) FROM runs, npy_rows(runs.path, runs.member, '') r WHERE r.on_error = 'skip'"
    ).fetchone() == (len(lab.rows()),)


@pytest.mark.parametrize("suffix", ["npz", "ten"])
def test_a_join_by_name_looks_each_name_up_once(connect, tmp_path, suffix):
    """As many arrays as the file has are looked up in it by name: what each costs does not grow with their number."""
    db, path, n = connect(), tmp_path / f"many.{suffix}", 3000
    arrays = [np.array([i]) for i in range(n)]
    path.write_bytes(
        npz_bytes({f"a{i}": array for i, array in enumerate(arrays)})
        if suffix == "npz"
        else ten_bytes(arrays, infos=[f"a{i}" for i in range(n)])
    )
    read = {}
    for column in ("idx", "name"):
        before = counters(db)
        sql = f"SELECT count(*), sum(r.value) FROM npy_meta(?) AS m JOIN npy_rows(m.path, m.{column}) AS r"
        assert db.execute(sql, (str(path),)).fetchone() == (n, n * (n - 1) // 2)
        read[column] = since(db, before)
    assert read["idx"]["names_hashed"] == 0
    # Each name of the file, and each that is looked up: in an .npz as it is and with `.npy`.
    assert n < read["name"]["names_hashed"] <= 3 * n
    assert read["name"]["read_calls"] <= 2 * read["idx"]["read_calls"] + n
