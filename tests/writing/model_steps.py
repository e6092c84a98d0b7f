"""The steps of a sequence: how each is spelled in SQL, which one comes next, and what foreign writers do.

A step is a tuple (kind, connection, ...) without any state, so that it means something in any sequence, also in one that was
shortened. Values are numbers that occur once in a sequence, so that a row that is lost or comes back is known by its value.
"""

import io
import os
import zipfile

import numpy as np

from arrays import npy_bytes, ten_bytes
from model_state import BAD, DAMAGED, EMPTY, FAILING, GOOD, NO_ENTRIES, OTHER, TEXT, TORCH, Version, is_bad
from tars import shard_writer

NAMES = ["w", "v"]
SAVEPOINTS = ["s", "r"]
CONFLICTS = ["", "", "", "", "ABORT", "IGNORE", "FAIL", "REPLACE", "ROLLBACK"]
SET = "s-%06d.tar"
MAXCOUNT = 2
LEFT_OUT = "foreign write plain schema step temp_store attach reopen savepoint begin update delete drop rename trigger bad none other_tables fk select".split()


# --- spelling --------------------------------------------------------------------------------------------------------


def literal(value):
    return "json('bad')" if value == FAILING else f"'{value}'" if is_bad(value) else str(value)


def spelled_row(form, value):
    if form == "npy":
        return literal(value)
    if form == "set":
        return f"'s{value}', {literal(value)}"
    array = {BAD: "NULL", DAMAGED: "(SELECT array FROM npy_file('damaged.npz'))", FAILING: literal(FAILING)}.get(value)
    return f"'m{value}', " + (array or f"npy_from_json('[{value}]', 'i4')")


# The same of a column, for rows that come from a SELECT or a trigger.
OF_COLUMN = {
    "npy": "{0}",
    "set": "'s' || {0}, {0}",
    "archive": "'m' || {0}, iif(typeof({0}) = 'integer', npy_from_json('[' || {0} || ']', 'i4'), NULL)",
}


def target(name, form):
    return f"{name}(__key__, cls)" if form == "set" else name


def or_(conflict):
    return f"OR {conflict} " if conflict else ""


def insert_sql(table, form, values, conflict, is_select):
    into = f"INSERT {or_(conflict)}INTO {target(table, form)} "
    if not values:
        return into + f"SELECT {OF_COLUMN[form].format('1')} WHERE 0"
    if is_select:
        rows = ", ".join(f"({literal(value)})" for value in values)
        return into + f"SELECT {OF_COLUMN[form].format('column1')} FROM (VALUES {rows})"
    return into + "VALUES " + ", ".join(f"({spelled_row(form, value)})" for value in values)


def update_sql(table, values, conflict, is_from):
    if is_from:
        rows = ", ".join(f"({rowid}, {literal(value)})" for rowid, value in values)
        return f"UPDATE {or_(conflict)}{table} SET value = f.column2 FROM (VALUES {rows}) AS f WHERE {table}.rowid = f.column1"
    cases = " ".join(f"WHEN {rowid} THEN {literal(value)}" for rowid, value in values)
    return f"UPDATE {or_(conflict)}{table} SET value = CASE rowid {cases} END WHERE rowid BETWEEN {values[0][0]} AND {values[-1][0]}"


def create_sql(name, mode, path):
    if "%" in path:
        return f"CREATE VIRTUAL TABLE temp.{name} USING wds('{path}', mode='{mode}', columns='cls', maxcount={MAXCOUNT})"
    dtype = ", dtype='i4'" if path.endswith(".npy") and mode != "r+" else ""
    return f"CREATE VIRTUAL TABLE temp.{name} USING npy('{path}', mode='{mode}'{dtype})"


def write_sql(path, values):
    """npy_write of as many rows."""
    if path.endswith(".npy"):
        return f"SELECT * FROM npy_write('{path}', npy_from_json('{list(values)}', 'i4'))"
    if path.endswith(".npz"):
        made = f"npz_archive({OF_COLUMN['archive'].format('column1')})"
    elif path.endswith(".ten"):
        made = "ten_archive(npy_from_json('[' || column1 || ']', 'i4'), 'm' || column1)"
    else:
        return f"SELECT * FROM npy_write('{path}', x'{file_bytes(path, Version(GOOD, values)).hex()}')"
    return f"SELECT * FROM npy_write('{path}', (SELECT {made} FROM (VALUES {', '.join(f'({value})' for value in values)})))"


def spelled(world, step):
    """The SQL of a step that is one statement."""
    kind, number, *facts = step
    state = world.connections[number].state
    form_of = lambda name: state.tables[name].form if name in state.tables else "npy"
    if kind == "create":
        return create_sql(*facts)
    if kind == "insert":
        return insert_sql(facts[0], form_of(facts[0]), *facts[1:])
    if kind == "update":
        return update_sql(*facts)
    if kind == "src":
        return f"INSERT {or_(facts[1])}INTO src VALUES {', '.join(f'({literal(value)})' for value in facts[0])}"
    if kind == "trigger":
        form = form_of(facts[0])
        row = OF_COLUMN[form].format("new.v")
        return f"CREATE TEMP TRIGGER tr AFTER INSERT ON main.src BEGIN INSERT INTO {target(facts[0], form).split('(')[0]} SELECT {pad(form, row)}; END"
    if kind == "select":
        column = "npy_json(array)" if form_of(facts[0]) == "archive" else "*"
        return f"SELECT {column} FROM {facts[0]}"
    if kind == "plain":
        return f"INSERT INTO {'aux.t' if facts[0] == 'aux' else facts[0]} VALUES ({facts[1]})"
    if kind == "write":
        return write_sql(*facts)
    return {
        "drop": "DROP TABLE {}",
        "rename": "ALTER TABLE {} RENAME TO {}",
        "delete": "DELETE FROM {}",
        "clear": "DELETE FROM {}",
        "drop trigger": "DROP TRIGGER tr",
        "begin": "BEGIN",
        "commit": "COMMIT",
        "commit refused": "COMMIT",
        "commit watched": "COMMIT",
        "commit busy": "COMMIT",
        "rollback": "ROLLBACK",
        "savepoint": "SAVEPOINT {}",
        "release": "RELEASE {}",
        "rollback to": "ROLLBACK TO {}",
        "schema": "{}",
        "attach": "ATTACH 'aux{}.db' AS aux",
        "detach": "DETACH aux",
        "temp_store": "PRAGMA temp_store = {}",
        "step": "SELECT * FROM {}",
    }[kind].format(*facts, *([number] if kind == "attach" else []))


def pad(form, row):
    """In a trigger no columns can be named by the table's (__key__, cls): all of them are given, __url__ as NULL."""
    return row.replace(", ", ", NULL, ", 1) if form == "set" else row


# --- foreign writers -------------------------------------------------------------------------------------------------


def zip_bytes(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data)
    return file.getvalue()


def damaged_zip():
    """Its one array is told to be damaged when its last byte has been read."""
    return zip_bytes([("x.npy", npy_bytes(np.arange(3)))]).replace(np.arange(3).tobytes(), np.array([0, 1, 7]).tobytes())


def file_bytes(path, version):
    """What Python would write there."""
    kind, rows = version.kind, version.rows
    if kind == EMPTY:
        return b""
    if kind == TEXT:
        return b"no array at all"
    if kind == NO_ENTRIES:
        return zip_bytes([])
    if kind == TORCH:
        return zip_bytes([("archive/data.pkl", b"\x80\x02}q\x00."), ("archive/version", b"3\n"), ("archive/data/0", bytes(8))])
    dtype = "i4" if kind == GOOD else "i8"
    if path.endswith(".npy"):
        return npy_bytes(np.array(rows, dtype))
    if path.endswith(".npz"):
        return zip_bytes([(f"m{row}.npy", npy_bytes(np.array([row], dtype))) for row in rows])
    if path.endswith(".ten"):
        return ten_bytes([np.array([row], dtype) for row in rows], infos=[f"m{row}" for row in rows])
    return shard_writer([(f"s{row}", {"cls": b"%d" % row}) for row in rows])[0]


def foreign_version(world, path, what, rows):
    """What a foreign writer puts at the path, or None."""
    now = world.files.get(path)
    if what == "delete":
        return None
    if what == "append":
        return Version(GOOD, (*(now.rows if now is not None and now.kind == GOOD else ()), *rows))
    return Version({"put": GOOD, "over": GOOD}.get(what, what), rows if what in ("put", "over", OTHER) else ())


def put_file(path, data, is_in_place):
    if data is None:
        if os.path.exists(path):
            os.remove(path)
    elif is_in_place:
        with open(path, "wb") as file:
            file.write(data)
    else:
        with open("foreign", "wb") as file:
            file.write(data)
        os.replace("foreign", path)


# --- which step comes next -------------------------------------------------------------------------------------------


class Writer:
    """Makes the steps of one sequence, looking at the model's state."""

    def __init__(self, rng, world, paths):
        self.rng, self.world, self.paths, self.last = rng, world, paths, 0
        # Each sequence does without some: what they find does not hide what the others would.
        self.left_out = {kind for kind in LEFT_OUT if rng.random() < 0.35}

    def value(self):
        self.last += 1
        return self.last

    def values(self, most=3):
        n = self.rng.choice([1, 1, 2, 3, 3][: most + 2])
        values = [self.value() for _ in range(n)]
        if self.rng.random() < 0.25 and "bad" not in self.left_out:
            values[self.rng.randrange(n)] = self.rng.choice([BAD, BAD, BAD, FAILING, DAMAGED])
        return tuple(values)

    def file(self):
        """A path for foreign writers; of a set mostly the last shard or the one after it."""
        path = self.rng.choice(self.paths)
        if "%" not in path:
            return path
        nshards = sum(name.endswith(".tar") for name in self.world.files)
        return path % max(0, self.rng.choice([nshards, nshards, nshards - 1, nshards - 1, nshards - 1, self.rng.randrange(3)]))

    def name(self, state):
        """Of a table, mostly of one that is there."""
        names = list(state.tables)
        return self.rng.choice(names) if names and self.rng.random() < 0.97 else self.rng.choice(NAMES)

    def step(self):
        rng, number = self.rng, 0 if len(self.world.connections) == 1 or self.rng.random() < 0.65 else 1
        c = self.world.connections[number]
        kinds = self.weights(c)
        kind = rng.choices(list(kinds), list(kinds.values()))[0]
        return getattr(self, "make_" + kind.replace(" ", "_"))(kind, number, c)

    def weights(self, c):
        has_table = bool(c.state.tables)
        kinds = {
            "create": (1 if len(c.state.tables) > 1 else 0.5 if "other_tables" in self.left_out else 6), "foreign": 6, "write": 1.5, "plain": 4, "schema": 4, "step": 1, "temp_store": 0.4,
            "attach": 0.4, "reopen": 0.3, "savepoint": 2.5,
        }  # fmt: skip
        if not has_table:
            kinds["create"] = 60
        else:
            kinds |= {"insert": 26, "update": 7, "delete": 1.5, "drop": 2.5, "rename": 2.5, "select": 3, "trigger": 0 if c.state.trigger else 0.8}
        if c.state.trigger:
            kinds |= {"src": 6, "drop trigger": 0.5}
        if c.in_transaction:
            kinds |= {"commit": 6, "rollback": 3, "commit refused": 1, "commit watched": 1, "commit busy": 1 if c.on_disk else 0, "fk": 1}
            if c.savepoints:
                kinds |= {"rollback to": 5, "release": 3}
        else:
            kinds |= {"begin": 9, "fk": 0.3}
        if c.stepping:
            kinds["finish"] = 2
        return {kind: weight for kind, weight in kinds.items() if kind not in self.left_out} or {"begin": 1}

    def make_create(self, kind, number, c):
        free = [name for name in NAMES if name not in c.state.tables]
        path = self.rng.choice(self.paths)
        if "update" in self.left_out:
            return kind, number, self.rng.choice(free or NAMES), self.rng.choice(["w+", "a"]), path
        modes = ["w+", "w+", "w+", "a", "a", "r+", "r+", "r+"] if path.endswith(".npy") else ["w+", "a"]
        return kind, number, self.rng.choice(free or NAMES), self.rng.choice(modes), path

    def make_insert(self, kind, number, c):
        name = self.name(c.state)
        table = c.state.tables.get(name)
        if table is not None and table.mode == "r+" and "update" not in self.left_out and self.rng.random() < 0.9:
            return self.make_update("update", number, c, name)
        values = () if self.rng.random() < 0.1 and "none" not in self.left_out else self.values()
        return kind, number, name, values, self.rng.choice(CONFLICTS), self.rng.random() < 0.3

    def make_update(self, kind, number, c, name=None):
        name = name or self.name(c.state)
        first, values = self.rng.choice([0, 0, 0, 1, 3]), list(self.values())
        if self.rng.random() < 0.3 and "bad" not in self.left_out:  # half-way
            values = [self.value(), BAD]
        values = tuple((first + i, value) for i, value in enumerate(values))
        is_from = self.rng.random() < 0.5
        conflict = self.rng.choice(CONFLICTS)
        return kind, number, name, values, "" if is_from and conflict == "FAIL" else conflict, is_from

    def make_select(self, kind, number, c):
        return kind, number, self.name(c.state)

    make_delete = make_drop = make_trigger = make_select

    def make_rename(self, kind, number, c):
        return kind, number, self.name(c.state), self.rng.choice([*NAMES, "x"])

    def make_src(self, kind, number, c):
        return kind, number, self.values(), self.rng.choice(["", "", "ABORT", "IGNORE"])

    def make_plain(self, kind, number, c):
        return kind, number, "aux" if c.attached and self.rng.random() < 0.4 else "t", self.value()

    def make_fk(self, kind, number, c):
        if c.state.plain["c"] and self.rng.random() < 0.6:
            return ("clear", number, "c") if self.rng.random() < 0.5 else ("plain", number, "pp", c.state.plain["c"][-1])
        return "plain", number, "c", self.value()

    def make_schema(self, kind, number, c):
        n = self.value()
        return kind, number, self.rng.choice([
            f"ALTER TABLE p ADD COLUMN z{n}", f"CREATE TABLE n{n}(x)", f"CREATE INDEX i{n} ON p(x)", f"CREATE TEMP TABLE n{n}(x)",
            f"CREATE TEMP VIEW e{n} AS SELECT 1", f"CREATE TABLE n{n}(x); DROP TABLE n{n}", "PRAGMA writable_schema = RESET", "ANALYZE", "VACUUM",
            f"ALTER TABLE src RENAME COLUMN v TO u; ALTER TABLE src RENAME COLUMN u TO v", "ALTER TABLE w ADD COLUMN z",
        ])  # fmt: skip

    def make_step(self, kind, number, c):
        return kind, number, "p" if not c.state.tables or self.rng.random() < 0.7 else self.name(c.state)

    def make_savepoint(self, kind, number, c):
        return kind, number, self.rng.choice(SAVEPOINTS)

    def make_rollback_to(self, kind, number, c):
        return kind, number, self.rng.choice(c.savepoints)[0]

    make_release = make_rollback_to

    def make_temp_store(self, kind, number, c):
        return kind, number, self.rng.choice([0, 1, 2])

    def make_attach(self, kind, number, c):
        return "detach" if c.attached else "attach", number

    def make_write(self, kind, number, c):
        return kind, number, self.file(), tuple(self.value() for _ in range(self.rng.choice([1, 2, 3])))

    def make_foreign(self, kind, number, c):
        path = self.file()
        whats = ["put", "put", "put", "append", "append", "over", "delete", "delete", EMPTY, TEXT]
        whats += [TORCH, NO_ENTRIES] if path.endswith(".npz") else [OTHER] if path.endswith(".npy") else []
        return kind, None, path, self.rng.choice(whats), tuple(self.value() for _ in range(self.rng.choice([1, 2, 3, 4])))

    def make_begin(self, kind, number, c):
        return kind, number

    make_commit = make_rollback = make_commit_refused = make_commit_watched = make_commit_busy = make_begin
    make_drop_trigger = make_finish = make_reopen = make_begin
