"""Random sequences of statements over tables that write, held against a model of what each file must hold:

    python3 tests/writing/model.py [SECONDS | --sequences N] [--seed S] [--only NUMBER] [--survey] [--steps STEPS]

or `make writing-model SECONDS=...`. The library of Python's sqlite3 module runs them: with LD_LIBRARY_PATH any other one.

A sequence has one or two connections, with databases in memory or on disk, and foreign writers, which replace, extend and
delete files between any two statements without asking. After each statement every file is read by numpy, zipfile and tarfile
and compared with the model (model_state.py), whose rules are:

- rows that a COMMIT has acknowledged are in the file, in their order, until a later act that was acknowledged replaces it;
- a file changes only when a transaction with at least one row pending is committed, or when somebody else changes it;
- after a ROLLBACK, a COMMIT that failed and a statement that failed each file and each database is as it was before
  (OR FAIL and OR IGNORE aside), whatever schemas, names, savepoints and triggers did in between;
- the rows of ordinary tables agree with COMMIT's answer;
- what can be done succeeds, and what would lose rows is refused.

Sequence NUMBER of a seed is always the same one. A difference is shortened, printed as statements with their answers, and
ends the run; --survey goes on and lists one sequence for each class of differences.

Where the rules leave it open whether a statement is refused, both are right, and the files must agree with the answer:
- what looks at a path that another connection's transaction has added to or changes rows of, and that one's COMMIT (which may
  be told of a lock or of a change, now or later); COMMIT is also free where bytes that were taken back again came between;
- what follows a change of the file within the own transaction, up to the COMMIT, which must be refused if it has rows for
  that path; rows that were taken back, or failed, may have noted what was at the path, or may not;
- DROP and RENAME of a table whose rows were all taken back, or that a SELECT is reading; RENAME beside any such SELECT;
- a first row, where what lies at the path cannot be replaced: it or the COMMIT must fail;
- UPDATE and DELETE that find no row; 'a' and 'r+' on an array of another dtype; SELECT of what somebody else has replaced;
- a shard that somebody put there after a transaction's first row and before the shard's own; a set of mode 'a' that somebody
  has continued meanwhile; shards before the last one; what two tables that write one set at the same time find missing;
- other tables' CREATE, ALTER, ANALYZE, VACUUM, ATTACH, DETACH and PRAGMA, none of which may change a file.

A sequence ends where the answer does not tell which of two states is there: OR FAIL where the first row might have been
refused, a set with a hole or an empty file after it, rows for a zip without arrays, SQLite's own RELEASE that failed.

Not in it: interrupts, failures of the disk, memory that runs out, several processes (tests/safety), permissions and links,
rows of more than one item, compressed archives, single tars, names that occur twice, files overwritten by as many bytes.
"""

import argparse
import ast
import collections
import contextlib
import ctypes
import io
import os
import random
import re
import shutil
import sqlite3
import sys
import tarfile
import tempfile
import threading
import time
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))

import numpy as np  # noqa: E402

import model_state  # noqa: E402
import model_steps  # noqa: E402
import shell  # noqa: E402
from model_state import GOOD, OTHER, Unknowable  # noqa: E402

PATHS = ["a.npy", "b.npy", "a.npz", "a.ten", model_steps.SET]
SCHEMA = """
    CREATE TABLE t(x); CREATE TABLE p(x); CREATE TABLE src(v); CREATE TABLE pp(x PRIMARY KEY);
    CREATE TABLE c(x REFERENCES pp DEFERRABLE INITIALLY DEFERRED);
    WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT 20) INSERT INTO p SELECT i FROM n;
"""
DAMAGED_ZIP = model_steps.damaged_zip()
PLAIN = {"t": "t", "src": "src", "pp": "pp", "c": "c"}
PATIENCE = 8  # seconds that no statement takes: what waits longer waits for a lock that nobody will release
COMMITS = ("commit", "commit refused", "commit watched", "commit busy")


class Difference(Exception):
    """label: the class it belongs to; text: what was expected and found."""

    def __init__(self, label, text):
        super().__init__(text)
        self.label, self.text = label, text


# --- what files hold -------------------------------------------------------------------------------------------------


def rows_of_npz(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        rows = [(name, np.lib.format.read_array(io.BytesIO(archive.read(name))).tolist()) for name in archive.namelist()]
    return [row[0] if name == f"m{row[0]}.npy" else (name, row) for name, row in rows]


def rows_of_tar(data):
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        rows = [(member.name, archive.extractfile(member).read()) for member in archive]
    return [int(row) if name == f"s{int(row)}.cls" else (name, row) for name, row in rows]


def rows_of(path, data):
    if path.endswith(".npy"):
        return np.lib.format.read_array(io.BytesIO(data)).tolist()
    return rows_of_npz(data) if path.endswith(".npz") else rows_of_tar(data)


class Reader:
    """Remembers what it has read: most files are the same after most statements, and many in many sequences."""

    def __init__(self):
        self.known = {}

    def rows(self, path, data):
        key = (path[-4:], data)
        if len(self.known) > 20000:
            self.known.clear()
        if key not in self.known:
            try:
                self.known[key] = rows_of(path, data)
            except Exception as error:
                self.known[key] = f"{len(data)} bytes that are none: {error!r} {data[:40]}"
        return self.known[key]

    def found(self, path, version):
        """None if the file is what it must be; else what it is."""
        try:
            with open(path, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return None if version is None else "nothing"
        if version is None:
            return self.shown(path, data)
        if version.kind not in (GOOD, OTHER) or path.endswith(".ten"):
            return None if data == model_steps.file_bytes(path, version) else self.shown(path, data)
        rows = self.rows(path, data)
        return None if rows == list(version.rows) else rows

    def shown(self, path, data):
        if path.endswith(".ten"):
            return [int(part.split(b"\0")[0]) for part in data.split(b"m")[1:] if part.split(b"\0")[0].isdigit()]
        return self.rows(path, data) if data else "an empty file"


READER = Reader()


def how_it_differs(version, found):
    """The class of a file's difference."""
    if found == "nothing":
        return "is gone"
    if isinstance(found, str):
        return "is damaged"
    expected = list(version.rows) if version is not None else []
    lost, more = [row for row in expected if row not in found], [row for row in found if row not in expected]
    parts = ["has lost rows"] * bool(lost) + ["has rows of nobody"] * bool(more) + ["is there"] * (version is None)
    return " and ".join(parts) or "has its rows in another order"


# --- a connection ----------------------------------------------------------------------------------------------------

LIBRARY = ctypes.CDLL("libsqlite3.so.0")
HOOK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
LIBRARY.sqlite3_commit_hook.argtypes = [ctypes.c_void_p, HOOK, ctypes.c_void_p]
LIBRARY.sqlite3_commit_hook.restype = ctypes.c_void_p


def handle_of(db):
    """Python's connection begins with its reference count, its type and SQLite's."""
    return ctypes.c_void_p.from_address(id(db) + object.__basicsize__).value


@contextlib.contextmanager
def commit_hook(db, call):
    """SQLite calls it when all files are prepared, and before its own databases are committed; 1 refuses the COMMIT."""
    hook = HOOK(call)
    LIBRARY.sqlite3_commit_hook(handle_of(db), hook, None)
    yield
    LIBRARY.sqlite3_commit_hook(handle_of(db), HOOK(), None)


class Database:
    """One connection of a sequence."""

    def __init__(self, number, on_disk, cached, template):
        self.path = f"main{number}.db" if on_disk else ":memory:"
        self.cached, self.cursors = cached, []
        if on_disk:
            model_steps.put_file(self.path, template, False)
        model_steps.put_file(f"aux{number}.db", template, False)
        self.open()

    def open(self):
        self.db = sqlite3.connect(self.path, isolation_level=None, timeout=0, cached_statements=self.cached)
        self.db.enable_load_extension(True)
        shell.load(self.db)
        self.db.execute("PRAGMA foreign_keys = ON")
        if self.path == ":memory:":
            self.db.executescript(SCHEMA)

    def close(self):
        self.cursors.clear()
        self.db.close()


class Watch:
    """Interrupts a statement that has been running for too long."""

    def __init__(self):
        self.db = self.began = None
        self.has_interrupted = False
        threading.Thread(target=self.look, daemon=True).start()

    def look(self):
        while True:
            time.sleep(PATIENCE / 4)
            began, db = self.began, self.db
            if began is not None and time.monotonic() - began > PATIENCE:
                self.has_interrupted = True
                db.interrupt()

    @contextlib.contextmanager
    def over(self, db):
        self.has_interrupted = False
        self.db, self.began = db, time.monotonic()
        try:
            yield
        finally:
            self.began = None
        if self.has_interrupted:
            raise Difference(("waits",), f"this took {PATIENCE} s and was interrupted: nobody is publishing")


WATCH = Watch()


# --- a sequence ------------------------------------------------------------------------------------------------------


class Sequence:
    """Runs steps, and says what differs first."""

    def __init__(self, scene, template):
        """scene: (whether each connection's database is on disk, statements that Python keeps prepared)"""
        on_disk, cached = scene
        for name in os.listdir("."):
            os.remove(name)
        self.world, self.reader, self.log = model_state.World(on_disk), READER, []
        self.databases = [Database(i, is_on_disk, cached, template) for i, is_on_disk in enumerate(on_disk)]
        self.put_off = None
        model_steps.put_file("damaged.npz", DAMAGED_ZIP, False)

    def close(self):
        for database in self.databases:
            database.close()

    def end(self):
        """All connections are closed: what is left?"""
        self.close()
        for c in self.world.connections:
            c.state, c.before = (c.before, None) if c.in_transaction else (c.state, None)
        self.check_files("close")
        known = {"damaged.npz", *self.world.files, *(f"{kind}{i}.db" for kind in ("main", "aux") for i in range(2))}
        left = set(os.listdir(".")) - known
        if left:
            raise Difference(("left beside the files", "close"), f"left: {left}")

    # --- what is compared ---

    def check_files(self, kind):
        there = (name for name in os.listdir(".") if name[0] != "." and not name.endswith(("db", "db-journal", "damaged.npz")))
        for path in {*self.world.files, *there}:
            version = self.world.files.get(path)
            found = self.reader.found(path, version)
            if found is not None:
                label = ("file", how_it_differs(version, found), kind, self.form(path))
                raise Difference(label, f"{path} must hold {version if version else 'nothing'}, and has {found}")

    def form(self, path):
        return "set" if path.endswith("tar") else os.path.splitext(path)[1]

    def check_plain(self, c, kind):
        db = self.databases[c.number].db
        for name, table in [*PLAIN.items(), *([("aux", "aux.t")] if c.attached else [])]:
            try:
                found = tuple(row for row, in db.execute(f"SELECT * FROM {table}").fetchall())
            except sqlite3.Error as error:
                raise Difference(("database", kind, normal(str(error))), f"table {name} must hold {c.state.plain[name]}: {error}") from None
            if found != c.state.plain[name]:
                raise Difference(("database", kind), f"table {name} must hold {c.state.plain[name]}, and has {found}")

    def check_transaction(self, c, kind, error):
        is_open = self.databases[c.number].db.in_transaction
        if is_open != c.in_transaction:
            text = f"a transaction must {'' if c.in_transaction else 'not '}be open"
            raise Difference(("transaction", kind, normal(error)), text)

    def check_answer(self, step, can_succeed, can_fail, error):
        if error is None and not can_succeed:
            raise Difference(("must fail", step[0], self.about(step)), "must fail")
        if error is not None and not can_fail:
            raise Difference(("must succeed", step[0], self.about(step), normal(error)), f"must succeed: {error}")

    def about(self, step):
        """The mode and form of the table that a step is about."""
        state = self.world.connections[step[1]].state
        table = state.tables.get(step[2]) if len(step) > 2 and isinstance(step[2], str) else None
        return f"{table.mode} {self.form(table.path)}" if table is not None else ""

    # --- running ---

    def ask(self, number, sql):
        """None, or the error; the rows are in self.rows."""
        self.rows, error, db = None, None, self.databases[number].db
        shown = re.sub("x'([0-9a-f]{80})[0-9a-f]+'", r"x'\1...'", sql)
        self.log.append(f"{'AB'[number]}: {shown}")
        with WATCH.over(db):
            try:
                for one in sql.split("; ") if "TRIGGER" not in sql else [sql]:
                    self.rows = db.execute(one).fetchall()
            except sqlite3.Error as fault:
                error = str(fault)
        self.log[-1] += f"    -- {error}" if error else f"    -- {self.rows}" if self.rows else ""
        return error

    def run(self, step):
        kind, number = step[:2]
        if kind == "foreign":
            return self.foreign(*step[2:])
        if number >= len(self.world.connections) or self.put_off is not None and (number != self.put_off or kind == "write"):
            return  # waiting for a lock would take long
        c = self.world.connections[number]
        if kind in COMMITS or kind == "release":
            self.end_transaction(c, step)
        else:
            method = getattr(self, "run_" + kind.replace(" ", "_"), None)
            method(c, step) if method is not None else self.statement(c, step)
        if not c.in_transaction and self.put_off == number:
            self.put_off = None
        self.check_files(kind)

    def foreign(self, path, what, rows):
        version = model_steps.foreign_version(self.world, path, what, rows)
        now = self.world.files.get(path)
        # Of the same length it would pass for the same file, and bytes that are pending lie after the last row.
        is_in_place = what == "over" and now is not None and len(now.rows) != len(rows) and not any(path in c.noted for c in self.world.connections)
        data = None if version is None else model_steps.file_bytes(path, version)
        model_steps.put_file(path, data, is_in_place)
        self.world.put(path, version)
        self.log.append(f"another program: {'overwrites' if is_in_place else 'replaces' if version else 'removes'} {path}{f' with {version}' if version else ''}")

    def verdict(self, c, step):
        kind, world = step[0], self.world
        if kind == "insert":
            return world.insert(c, step[2], step[3], step[4])
        if kind == "update":
            return world.update(c, step[2], step[3], step[4])
        if kind == "create":
            return world.create(c, *step[2:], model_steps.MAXCOUNT)
        if kind == "src":
            return world.into_src(c, *step[2:])
        call = {"drop": world.drop, "rename": world.rename, "delete": world.delete, "plain": world.plain_insert, "clear": world.plain_clear,
                "trigger": world.make_trigger, "drop trigger": world.drop_trigger}[kind]  # fmt: skip
        return call(c, *step[2:])

    def statement(self, c, step):
        sql, verdict = model_steps.spelled(self.world, step), self.verdict(c, step)
        is_own = not c.in_transaction
        if is_own:
            verdict = self.world.as_own_transaction(c, verdict)
        error = self.ask(c.number, sql)
        # SQLite 3.37 keeps the name of a table whose CREATE has failed until the transaction ends, others after a savepoint.
        has_failed = sqlite3.sqlite_version_info < (3, 38) or any("CREATE VIRTUAL" in line and "    -- " in line for line in self.log)
        if has_failed and "already another table" in str(error):
            raise Unknowable
        # What is in the way of the next shard is no constraint, and ends no transaction.
        if "OR ROLLBACK" in sql and "was made by another writer meanwhile" in str(error):
            raise Unknowable
        # After a RESET in a transaction SQLite forgets that a ROLLBACK has schemas to read anew.
        is_reset = any("writable_schema = RESET" in line for line in self.log)
        if is_reset and re.search("already another table|table \\S+ already exists|table \\S+ has \\d+ columns? but|has no column named", str(error)):
            raise Unknowable
        # Of two connections that write one set one may remove what the other has finished, as shards.md says.
        if "was removed or changed, as another writer of this path does" in str(error):
            raise Unknowable
        self.check_answer(step, verdict.can_succeed, verdict.can_fail, error)
        self.world.settle(c, verdict, error is None, self.databases[c.number].db.in_transaction)
        c.dirty |= step[0] in ("plain", "clear", "src")
        self.check_transaction(c, step[0], error)
        if is_own or verdict.ends is not False:
            self.check_plain(c, step[0])

    def run_begin(self, c, step):
        error = self.ask(c.number, "BEGIN")
        self.check_answer(step, not c.in_transaction, c.in_transaction, error)
        if error is None:
            self.world.begin(c)

    def run_savepoint(self, c, step):
        error = self.ask(c.number, model_steps.spelled(self.world, step))
        self.check_answer(step, True, False, error)
        self.world.savepoint(c, step[2])

    def run_rollback(self, c, step):
        error = self.ask(c.number, "ROLLBACK")
        self.check_answer(step, c.in_transaction, not c.in_transaction, error)
        if error is None:
            self.world.rollback(c)
        self.check_transaction(c, step[0], error)
        self.check_plain(c, step[0])

    def run_rollback_to(self, c, step):
        error = self.ask(c.number, model_steps.spelled(self.world, step))
        is_known = self.world.place_of(c, step[2]) is not None
        self.check_answer(step, is_known, not is_known or any("tar" in path for path in c.doubtful), error)
        if error is None:
            self.world.rollback_to(c, step[2])
        elif is_known:
            raise Unknowable

    def end_transaction(self, c, step):
        """COMMIT in its forms, and the RELEASE that is one."""
        kind, world, sql = step[0], self.world, model_steps.spelled(self.world, step)
        place = world.place_of(c, step[2]) if kind == "release" else None
        is_possible = place is not None if kind == "release" else c.in_transaction
        if not is_possible or kind == "release" and (place > 0 or not c.is_savepoint_first):
            error = self.ask(c.number, sql)
            self.check_answer(step, is_possible, not is_possible, error)
            if error is None:
                world.release(c, step[2])
            return
        can_succeed, can_fail, goes_on = world.may_commit(c)
        seen = []
        with self.surroundings(c, kind, seen):
            error = self.ask(c.number, sql)
        if "refused" in seen:  # by the hook
            can_succeed, can_fail = False, True
        is_open = self.databases[c.number].db.in_transaction
        if error is not None and is_open and kind == "commit busy" and c.on_disk and c.dirty:
            can_fail = goes_on = True
            self.put_off = c.number
        self.check_answer(step, can_succeed, can_fail or goes_on, error)
        if error is None:
            world.commit(c)
        elif not (is_open and goes_on):
            world.rollback(c)
            if kind == "release" and is_open:  # SQLite says so after it has rolled everything back
                self.check_files(kind)
                self.check_plain(c, kind)
                raise Unknowable
        self.check_transaction(c, kind, error)
        if error is None and "watched" in seen and seen[-1] is not None:
            raise Difference(("at the hook", *seen[-1].label[1:]), f"when the databases are about to be committed: {seen[-1].text}")
        self.check_plain(c, kind)

    @contextlib.contextmanager
    def surroundings(self, c, kind, seen):
        """What a COMMIT is made in; seen tells what happened then."""
        database = self.databases[c.number]
        if kind == "commit refused":
            with commit_hook(database.db, lambda _: (seen.append("refused"), 1)[1]):
                yield
        elif kind == "commit watched" and not c.on_disk and not c.attached:
            with commit_hook(database.db, lambda _: (seen.extend(["watched", self.look_ahead(c)]), 0)[1]):
                yield
        elif kind == "commit busy" and c.on_disk:
            other = sqlite3.connect(database.path, isolation_level=None, timeout=0)
            other.execute("BEGIN")
            with contextlib.suppress(sqlite3.Error):  # which holds off readers when a COMMIT has been put off before
                other.execute("SELECT * FROM t").fetchall()
            yield
            other.close()
        else:
            yield

    def look_ahead(self, c):
        """With no database on disk each file is in its place before COMMIT can say that it is."""
        before = dict(self.world.files)
        try:
            self.world.publish(c, c.state)
            self.check_files("hook")
        except Difference as difference:
            return difference
        finally:
            self.world.files = before
        return None

    def run_select(self, c, step):
        world, table = self.world, c.state.tables.get(step[2])
        error = self.ask(c.number, model_steps.spelled(world, step))
        if table is None or table.is_set:
            return self.check_answer(step, False, True, error)
        rows, sure = world.visible(c, c.state, table)
        self.check_answer(step, True, not sure, error)
        spelled = [str([row]) for row in rows] if table.form == "archive" else list(rows)
        if error is None and sure and [row[-1] for row in self.rows] != spelled:
            raise Difference(("shown", self.about(step)), f"{step[2]} must show {spelled}, and shows {self.rows}")

    def run_write(self, c, step):
        path, rows = step[2:]
        can_succeed, can_fail = self.world.write_at_once(c, path, rows)
        error = self.ask(c.number, model_steps.spelled(self.world, step))
        self.check_answer(step, can_succeed, can_fail, error)
        if error is None:
            self.world.written_at_once(path, rows)

    def run_schema(self, c, step):
        self.ask(c.number, step[2])
        c.dirty = True

    def run_step(self, c, step):
        """A SELECT that is left where it is."""
        sql = model_steps.spelled(self.world, step)
        with contextlib.suppress(sqlite3.Error):
            cursor = self.databases[c.number].db.execute(sql)
            cursor.fetchone()
            self.databases[c.number].cursors.append(cursor)
            c.stepping += 1
            c.stepping_tables |= {step[2]} - {"p"}
            self.log.append(f"{'AB'[c.number]}: {sql}    -- is left after its first row")

    def run_finish(self, c, step):
        self.databases[c.number].cursors.clear()
        c.stepping, c.stepping_tables = 0, set()
        self.log.append(f"{'AB'[c.number]}: (statements that were left are reset)")

    def run_attach(self, c, step):
        if self.ask(c.number, model_steps.spelled(self.world, step)) is None:
            c.attached = step[0] == "attach"

    run_detach = run_attach

    def run_temp_store(self, c, step):
        """All of temp goes away, and no table is told."""
        error = self.ask(c.number, model_steps.spelled(self.world, step))
        self.check_answer(step, True, c.in_transaction or c.stepping > 0, error)
        if error is None and step[2] != c.temp_store:
            c.temp_store = step[2]
            c.state = model_state.replace(c.state, tables={}, trigger=None)

    def run_reopen(self, c, step):
        database = self.databases[c.number]
        database.close()
        database.open()
        self.log.append(f"{'AB'[c.number]}: (closed and opened again)")
        if c.in_transaction:
            self.world.rollback(c)
        plain = c.state.plain if c.on_disk else {**model_state.FIRST_ROWS, "aux": c.state.plain["aux"]}
        c.state, c.attached, c.temp_store, c.stepping, c.stepping_tables = model_state.State(plain=plain), False, 0, 0, set()
        self.check_plain(c, step[0])


def normal(error):
    """An error without its numbers and names."""
    text = "" if error is None else error.split(": ", 2)[-1] if error.startswith("npyext: ") else error
    return "".join("N" if letter.isdigit() else letter for letter in text)[:70]


# --- many sequences --------------------------------------------------------------------------------------------------


class Runs:
    def __init__(self, seed):
        self.seed = seed
        db = sqlite3.connect("template.db")
        db.executescript(SCHEMA)
        db.close()
        with open("template.db", "rb") as file:
            self.template = file.read()
        self.kinds = collections.Counter()

    def scene(self, rng):
        on_disk = [rng.random() < 0.4 for _ in range(rng.choice([1, 1, 2]))]
        return on_disk, rng.choice([0, 16])

    def make(self, number):
        """(scene, steps, Difference or None) of a sequence that is made while it runs."""
        rng = random.Random(self.seed * 2**40 + number)
        scene, steps = self.scene(rng), []
        paths = rng.sample(PATHS, rng.choice([1, 1, 2]))
        sequence = Sequence(scene, self.template)
        writer = model_steps.Writer(rng, sequence.world, paths)
        if rng.random() < 0.6:
            steps += [("foreign", None, path % 0 if "%" in path else path, "put", tuple(writer.value() for _ in range(rng.choice([1, 2, 5])))) for path in paths]
            if steps[0][2] != paths[0]:  # a shard has so many
                steps[0] = (*steps[0][:4], steps[0][4][: model_steps.MAXCOUNT])
        difference = self.go(sequence, steps, lambda: writer.step() if len(steps) < length else None)  if (length := rng.randint(5, 25)) else None
        return scene, steps, difference

    def again(self, scene, steps):
        sequence = Sequence(scene, self.template)
        left = iter(steps)
        return self.go(sequence, [], lambda: next(left, None)), sequence.log

    def go(self, sequence, steps, next_step):
        """Runs steps, and those that next_step gives, which are added to them."""
        try:
            for step in list(steps):
                sequence.run(step)
            while (step := next_step()) is not None:
                steps.append(step)
                self.kinds[step[0]] += 1
                sequence.run(step)
            sequence.end()
        except Unknowable:
            sequence.close()
        except Difference as difference:
            sequence.close()
            return difference
        return None

    def shorter(self, scene, steps):
        """What may still differ: one or several steps left out, one connection, fewer values."""
        for n in (8, 4, 2, 1):
            for i in range(len(steps) - n, -1, -1):
                yield scene, steps[:i] + steps[i + n :]
        if True in scene[0]:
            yield ([False] * len(scene[0]), scene[1]), steps
        if len(scene[0]) == 2 and not any(step[1] == 1 for step in steps):
            yield (scene[0][:1], scene[1]), steps
        if scene[1]:
            yield (scene[0], 0), steps
        for i, step in enumerate(steps):
            for j, fact in enumerate(step):
                if isinstance(fact, tuple) and len(fact) > 1:
                    for k in range(len(fact)):
                        yield scene, [*steps[:i], (*step[:j], fact[:k] + fact[k + 1 :], *step[j + 1 :]), *steps[i + 1 :]]

    def shortened(self, scene, steps, label):
        if label[0] == "waits":
            return scene, steps
        ends = time.monotonic() + 3
        for other in self.shorter(scene, steps):
            if time.monotonic() > ends:
                break
            difference, _ = self.again(*other)
            if difference is not None and difference.label == label:
                return self.shortened(*other, label)
        return scene, steps

    def report(self, number, scene, steps, difference):
        scene, steps = self.shortened(scene, steps, difference.label)
        again, log = self.again(scene, steps)
        where = ", ".join(f"{'AB'[i]} {'on disk' if on_disk else 'in memory'}" for i, on_disk in enumerate(scene[0]))
        lines = [f"SQLite {sqlite3.sqlite_version}: sequence {number} of seed {self.seed} differs ({where})", *(f"    {line}" for line in log)]
        lines += [f"  {(again or difference).text}", f'this alone: tests/writing/model.py --steps "{(scene, steps)}"']
        return "\n".join(lines), steps


@contextlib.contextmanager
def folder_for_files():
    """In memory if there is such a file system: syncing takes no time there, and no number of a file comes twice."""
    home = os.getcwd()
    base = os.environ.get("NPYEXT_MODEL_FOLDER") or ("/dev/shm" if os.path.isdir("/dev/shm") else None)
    folder = tempfile.mkdtemp(prefix="npyext-model-", dir=base)
    before = os.environ.get("NPYEXT_VIEWS")
    os.environ["NPYEXT_VIEWS"] = "1"  # triggers may write then
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(home)
        shutil.rmtree(folder)
        os.environ.pop("NPYEXT_VIEWS") if before is None else os.environ.update(NPYEXT_VIEWS=before)


def run(seconds=None, sequences=None, seed=None, only=None):
    """Returns a line about what was run; raises Difference."""
    seed = shell.random_seed() if seed is None else seed
    began, number, nsteps = time.monotonic(), 0 if only is None else only, 0
    with folder_for_files():
        runs = Runs(seed)
        is_over = lambda: number > only if only is not None else number >= sequences if sequences is not None else time.monotonic() - began > seconds
        while not is_over():
            scene, steps, difference = runs.make(number)
            nsteps += len(steps)
            if difference is not None:
                text, _ = runs.report(number, scene, steps, difference)
                raise Difference(difference.label, f"{text}\nagain: tests/writing/model.py --seed {seed} --only {number}")
            number += 1
    took = time.monotonic() - began
    nrun = number if only is None else 1
    return f"SQLite {sqlite3.sqlite_version}, seed {seed}: {nrun} sequences, {nsteps} steps without a difference in {took:.0f} s ({nrun / took:.0f} a second)"


def run_steps(text):
    """Runs the steps that a report has printed; raises Difference."""
    scene, steps = ast.literal_eval(text)
    with folder_for_files():
        difference, log = Runs(0).again(scene, steps)
    print("\n".join(log))
    if difference is not None:
        raise difference
    return "without a difference"


def survey(seconds, sequences, seed):
    """One shortened sequence for each class of differences, and how many there were."""
    began, counts, shown, examples = time.monotonic(), collections.Counter(), {}, collections.Counter()
    number, spent = 0, 0
    with folder_for_files():
        runs = Runs(seed)
        while number < sequences if sequences is not None else time.monotonic() - began < seconds:
            scene, steps, difference = runs.make(number)
            number += 1
            if difference is None:
                continue
            examples[difference.label] += 1
            if examples[difference.label] > 8:  # shortening takes longer than finding
                counts[difference.label, ()] += 1
                continue
            start = time.monotonic()
            text, short = runs.report(number - 1, scene, steps, difference)
            spent += time.monotonic() - start
            kind = (difference.label, tuple(sorted({step[0] for step in short})))
            counts[kind] += 1
            if kind not in shown or len(text.splitlines()) < len(shown[kind][0].splitlines()):
                shown[kind] = (text, *(shown[kind][1:] if kind in shown else (number, time.monotonic() - began - spent)))
    for kind, (text, first, after) in sorted(shown.items(), key=lambda item: item[1][1]):
        print(f"--- {counts[kind]} times, first after {first} sequences, {after:.1f} s: {kind[0]} by {kind[1]}\n{text}")
    ndiffer = sum(counts.values())
    took = time.monotonic() - began - spent
    print(f"SQLite {sqlite3.sqlite_version}, seed {seed}: {ndiffer} of {number} sequences differ, in {len(shown)} classes; {number / took:.0f} a second")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", nargs="?", type=float, default=30)
    parser.add_argument("--sequences", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--only", type=int)
    parser.add_argument("--steps", help="those that a report has printed, alone")
    parser.add_argument("--survey", action="store_true", help="go on after differences, and list them by classes")
    options = parser.parse_args()
    if options.survey:
        survey(options.seconds, options.sequences, shell.random_seed() if options.seed is None else options.seed)
        return
    try:
        print(run_steps(options.steps) if options.steps else run(options.seconds, options.sequences, options.seed, options.only), flush=True)
    except Difference as difference:
        sys.exit(difference.text)


if __name__ == "__main__":
    main()
