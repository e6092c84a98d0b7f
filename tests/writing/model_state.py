"""What files hold, and what each statement may answer: the rules of tables that write, without SQLite and without files.

A World has the files and the connections. A Version is what one act has put at a path; two of the same contents are two.
What a transaction can take back is a State, which is never changed but replaced, so that a savepoint is a reference to one.
A statement's Verdict says whether it may succeed, whether it may fail, and the State after either; where both may be, the
real answer decides, and the State follows it. model.py says which choices were made where the rules leave one.
"""

from dataclasses import dataclass, field, replace

GOOD, OTHER = "good", "of another dtype"  # versions with rows
EMPTY, NO_ENTRIES = "empty", "a zip without entries"  # of nothing, and replaced as arrays are
TEXT, TORCH = "a text", "a model of PyTorch"  # never replaced
BAD, DAMAGED = "x", "y"  # values that fit no dtype here; in an archive the second is an array whose bytes are damaged
FAILING = "z"  # an expression that fails by itself: SQLite undoes the statement, whatever it says of conflicts


def is_bad(value):
    return isinstance(value, str)


class Unknowable(Exception):
    """Rules and answers leave two states possible: the sequence ends here."""


class Version:
    def __init__(self, kind, rows=()):
        self.kind, self.rows = kind, tuple(rows)

    def is_replaced(self, path):
        """Whether a table or npy_write may put another file in its place."""
        return self.kind in (GOOD, OTHER, EMPTY) or self.kind == NO_ENTRIES and path.endswith(".npz")

    def __repr__(self):
        return f"{list(self.rows)}{'' if self.kind == GOOD else ' ' + self.kind}"


@dataclass(frozen=True)
class Table:
    name: str
    mode: str
    path: str  # a set's has %06d in it
    maxcount: int = 0
    made_on: str = GOOD  # the kind of file that was there at its CREATE
    written: tuple = None  # ((path, version), ...) of mode w+: what it has put in place

    @property
    def is_set(self):
        return "%" in self.path

    def shard(self, number):
        return self.path % number

    @property
    def form(self):
        """How its rows are spelled."""
        return "set" if self.is_set else "npy" if self.path.endswith(".npy") else "archive"

    @property
    def goes_on(self):
        return self.written is not None


@dataclass(frozen=True)
class Pending:
    """What a transaction has written through one table."""

    base: dict = field(default_factory=dict)  # path: the version (or None) that was there at the first row
    contents: dict = field(default_factory=dict)  # path: the rows to be put there
    changed: frozenset = frozenset()  # the paths of them that a row went to
    nrows: int = 0  # inserted or changed and not taken back


@dataclass(frozen=True)
class State:
    tables: dict = field(default_factory=dict)
    pending: dict = field(default_factory=dict)  # by the table's name
    plain: dict = field(default_factory=dict)  # rows of ordinary tables
    trigger: str = None  # the table that rows of src go to
    trigger_form: str = None  # what it inserts there

    def with_table(self, table):
        return replace(self, tables={**self.tables, table.name: table})

    def with_pending(self, name, pending):
        return replace(self, pending={**self.pending, name: pending})

    def with_plain(self, name, rows):
        return replace(self, plain={**self.plain, name: tuple(rows)})

    def without(self, name):
        keep = lambda d: {key: value for key, value in d.items() if key != name}
        return replace(self, tables=keep(self.tables), pending=keep(self.pending))


@dataclass
class Verdict:
    can_succeed: bool
    can_fail: bool
    state: State = None  # after success
    failed: State = None  # after failure; None: as before
    ends: object = False  # whether a failure ends the transaction: True, False, or None for either

    @staticmethod
    def must_fail(ends=False):
        return Verdict(False, True, ends=ends)

    @staticmethod
    def half_done(conflict, can_fail, is_changed, after):
        """Of a statement that fails at a row: what came before it stays with OR FAIL, and OR ROLLBACK ends the transaction."""
        if conflict == "FAIL":
            if can_fail and is_changed:
                raise Unknowable
            return Verdict(False, True, failed=after)
        return Verdict.must_fail(ends=(None if can_fail else True) if conflict == "ROLLBACK" else False)

    @staticmethod
    def must_succeed(state):
        return Verdict(True, False, state)

    @staticmethod
    def either(state):
        return Verdict(True, True, state)


FIRST_ROWS = {"t": (), "p": tuple(range(20)), "pp": (), "c": (), "src": (), "aux": ()}


class Connection:
    def __init__(self, number, on_disk):
        self.number, self.on_disk = number, on_disk
        self.state = State(plain=dict(FIRST_ROWS))
        self.before = None  # the State at the beginning of the transaction
        self.is_savepoint_first = False
        self.savepoints = []  # (name, State)
        self.attached = False
        self.temp_store = 0
        self.stepping = 0
        self.stepping_tables = set()
        self.end()

    def end(self):
        """Forgets what is of one transaction."""
        self.before, self.savepoints, self.is_savepoint_first = None, [], False
        self.noted_by = {}  # path: the tables whose statements looked there
        self.noted = {}  # path: the versions seen there by statements, also by those that failed or were taken back
        self.locks = set()  # paths which it may hold locked
        self.not_made = set()  # names of tables whose CREATE may have failed: SQLite keeps them, and renames nothing to them
        self.doubtful = set()  # paths whose COMMIT may be refused for what others did meanwhile
        self.dirty = False

    @property
    def in_transaction(self):
        return self.before is not None

    def rows_pending(self, name):
        pending = self.state.pending.get(name)
        return 0 if pending is None else pending.nrows


class World:
    def __init__(self, on_disk):
        self.files = {}
        self.connections = [Connection(i, d) for i, d in enumerate(on_disk)]
        self.strange = set()  # paths at which something has been that is no array of these tables
        self.touched = {}  # version: the tables that have added rows after its last one without a COMMIT

    # --- the first row -----------------------------------------------------------------------------------------------

    def shards(self, table):
        """The numbers of a set's shards that are there."""
        head, tail = table.path.split("%06d")
        found = (path[len(head) : -len(tail)] for path in self.files if path.startswith(head) and path.endswith(tail))
        return sorted(int(number) for number in found if number.isdigit())

    def paths_of(self, table):
        """The paths that a table's next row may go to, or stand for a set."""
        return {table.path} if not table.is_set else {table.path, *map(table.shard, self.shards(table))}

    def note(self, c, table):
        """A statement looks at a table's paths. Returns whether it may find that something is in the way."""
        strange = False
        # Of two tables that write one set, the second may take away what the first has put aside.
        locks = table.mode != "w+" or table.goes_on or table.is_set
        for path in self.paths_of(table):
            now = self.files.get(path)
            seen = c.noted.setdefault(path, [])
            strange |= any(version is not now for version in seen)
            if all(version is not now for version in seen):
                seen.append(now)
            names = c.noted_by.setdefault(path, set())
            names.add(table.name)
            if len(names) > 1:
                strange = True
            if len(seen) > 1 or len(names) > 1:
                c.doubtful.add(path)
            if locks:
                c.locks.add(path)
            for other in self.connections:
                if other is not c and path in other.noted and (locks or path in other.locks):
                    strange = True
                    c.doubtful.add(path)
                    other.doubtful.add(path)
        return strange

    def is_shared_here(self, c, state, table):
        """Whether another table of the connection has rows pending for the path."""
        return any(pending.nrows and name != table.name and state.tables[name].path == table.path for name, pending in state.pending.items())

    def first_row(self, c, state, table):
        """(may succeed, may fail, Pending) of a table's first row in a transaction, or of a later one."""
        strange = self.note(c, table)
        pending = state.pending.get(table.name)
        if pending is not None and pending.nrows:
            doomed = any(self.files.get(path) is not version for path, version in pending.base.items())
            return True, strange or doomed or bool(c.doubtful & {table.path, *pending.base}), pending
        if self.is_shared_here(c, state, table):
            return False, True, Pending()
        begin = self.first_of_set if table.is_set else self.first_of_file
        can_succeed, can_fail, pending = begin(c, table)
        return can_succeed, can_fail or strange, pending

    def first_of_file(self, c, table):
        path, now = table.path, self.files.get(table.path)
        added = lambda rows: Pending({path: now}, {path: tuple(rows)})
        can_fail = False
        if table.goes_on:
            if now is None or now is not dict(table.written)[path]:
                return False, True, Pending()
            can_fail = self.is_touched(c, table, now)
        elif table.mode == "w+":
            return True, now is not None and not now.is_replaced(path), added(())
        elif now is None:
            return table.mode == "a", table.mode == "r+", added(())
        elif now.kind in (TEXT, TORCH, EMPTY, NO_ENTRIES):
            # An 'a' may take an empty file, and may add to any zip; of nothing no row is changed.
            return table.mode == "a" and now.kind != TEXT, True, None if now.kind != EMPTY else added(())
        # SQLite may have made its object of the table anew while something else lay there.
        if now.kind == OTHER or table.made_on != GOOD or table.mode == "r+" and path in self.strange:
            can_fail = True
        if table.mode != "r+" and path.endswith(".npy"):
            self.touched.setdefault(now, set()).add((c.number, table.name))
        return True, can_fail, added(now.rows)

    def is_touched(self, c, table, version):
        return bool(self.touched.get(version, set()) - {(c.number, table.name)})

    def first_of_set(self, c, table):
        there = self.shards(table)
        base = {table.shard(number): self.files[table.shard(number)] for number in there}
        if table.goes_on:
            last, version = table.written[-1]
            if self.files.get(last) is not version:
                return False, True, Pending()
            older = any(self.files.get(path) is not version for path, version in table.written)
            beyond = any(path > last for path in base)  # where a row that does not fit may be looked at in vain
            return True, older or beyond or self.is_touched(c, table, version), Pending({last: version}, {last: version.rows})
        if table.mode == "w+":
            return True, any(not version.is_replaced(path) or version.kind != GOOD for path, version in base.items()), Pending(base)
        if not there:
            return True, False, Pending()
        last = table.shard(there[-1])
        if there != list(range(len(there))):
            raise Unknowable  # a set with a hole
        odd = any(version.kind != GOOD for version in base.values())
        if base[last].kind != GOOD:
            return base[last].kind == EMPTY, True, None  # an empty file may be taken for a shard or for none
        return True, odd, Pending({last: base[last]}, {last: base[last].rows})

    def add_row(self, c, table, pending, value):
        if not table.is_set:
            path = table.path
            contents = pending.contents
        else:
            path, contents, pending = self.shard_for(c, table, pending)
        contents = {**contents, path: (*contents[path], value)}
        return replace(pending, contents=contents, changed=pending.changed | {path}, nrows=pending.nrows + 1)

    def shard_for(self, c, table, pending):
        """The shard that takes the next sample; one that is begun has been seen as it is now."""
        path = max(pending.contents, default=None)
        if path is not None and len(pending.contents[path]) < table.maxcount:
            return path, pending.contents, pending
        number = 0 if path is None else int(path[len(table.path.split("%06d")[0]) :].split(".")[0]) + 1
        path = table.shard(number)
        now, base = self.files.get(path), pending.base.get(path)
        if table.mode == "a" or table.goes_on:
            now = None  # a new name: nothing may be there at the COMMIT
        elif now is not base:
            c.doubtful.add(path)
        return path, {**pending.contents, path: ()}, replace(pending, base={**pending.base, path: now})

    # --- COMMIT ------------------------------------------------------------------------------------------------------

    def may_publish(self, c, state):
        """(whether a COMMIT may put the files in place, whether it may be refused because of them)"""
        can_succeed, can_fail = True, False
        for name, pending in state.pending.items():
            if not pending.nrows:
                continue
            table = state.tables[name]
            for path, version in pending.base.items():
                now = self.files.get(path)
                if path not in pending.changed:
                    can_fail |= now is not version
                elif now is not version or now is not None and not now.is_replaced(path):
                    can_succeed = False
                can_fail |= path in c.doubtful
            can_fail |= table.path in c.doubtful
            if table.is_set:
                is_followed = self.shards(table)[-1:] > [int(path[len(table.path.split("%06d")[0]) :].split(".")[0]) for path in [max(pending.changed)]]
                can_succeed &= not (is_followed and table.mode == "w+")
                can_fail |= is_followed
        return can_succeed, can_fail or not can_succeed

    def publish(self, c, state):
        """The files change; returns the State afterwards."""
        for name, pending in state.pending.items():
            if not pending.nrows:
                continue
            table, made = state.tables[name], {}
            for path in sorted(pending.changed):
                base = pending.base.get(path)
                keeps_dtype = base is not None and base.kind == OTHER and (table.mode != "w+" or table.goes_on)
                self.files[path] = made[path] = Version(OTHER if keeps_dtype else GOOD, pending.contents[path])
            if table.mode == "w+":
                state = state.with_table(replace(table, written=tuple({**dict(table.written or ()), **made}.items())))
        return replace(state, pending={})

    def breaks_foreign_key(self, state):
        return not set(state.plain["c"]) <= set(state.plain["pp"])

    # --- statements --------------------------------------------------------------------------------------------------

    def settle(self, c, verdict, succeeded, in_transaction):
        """Takes over what a statement within a transaction, or one that is its own, has answered."""
        if c.in_transaction:
            if succeeded:
                c.state = verdict.state
            elif verdict.ends is True or verdict.ends is None and not in_transaction:
                c.state = c.before
                c.end()
            elif verdict.failed is not None:
                c.state = verdict.failed
            return
        if succeeded:
            c.state = self.publish(c, verdict.state)
        elif verdict.failed is not None:
            c.state = self.publish(c, verdict.failed)
        c.end()

    def as_own_transaction(self, c, verdict):
        """A statement outside of a transaction ends with a COMMIT."""
        if verdict.state is not None and verdict.can_succeed:
            can_succeed, can_fail = self.may_publish(c, verdict.state)
            can_fail |= self.breaks_foreign_key(verdict.state)
            can_succeed &= not self.breaks_foreign_key(verdict.state)
            verdict = replace_verdict(verdict, can_succeed, can_fail)
        if verdict.failed is not None:
            can_succeed, can_fail = self.may_publish(c, verdict.failed)
            if can_succeed and can_fail:
                raise Unknowable
            if not can_succeed:
                verdict.failed = None
        return verdict

    def insert(self, c, name, values, conflict):
        state, table = c.state, c.state.tables.get(name)
        if table is None:
            return Verdict.must_fail()
        if table.mode == "r+":
            self.note(c, table)
            return Verdict.must_fail() if values else Verdict.either(state)
        if not values:  # SQLite opens the table all the same
            strange = self.note(c, table) or self.first_row(c, state, table)[1]
            return Verdict(True, strange, state)
        return self.insert_rows(c, state, table, values, conflict)

    def insert_rows(self, c, state, table, values, conflict):
        can_succeed, can_fail, pending = self.first_row(c, state, table)
        if pending is None and can_succeed:
            raise Unknowable
        bad = [i for i, value in enumerate(values) if is_bad(value)]
        if FAILING in values:
            conflict = "ABORT"
        fails = bool(bad) and conflict != "IGNORE"
        if fails and conflict == "FAIL":
            values = values[: bad[0]]
        good = [value for value in values if not is_bad(value)] if not fails or conflict == "FAIL" else []
        if not can_succeed:
            return Verdict(conflict == "IGNORE" and not good, True, state, ends=None if conflict == "ROLLBACK" else False)
        tried = pending  # a row that fails may have to begin a shard first
        for value in values[: bad[0] + 1] if fails else values:
            tried = self.add_row(c, table, tried, value)
        for value in good:
            pending = self.add_row(c, table, pending, value)
        in_the_way = [self.files[path] is not version or not version.is_replaced(path) for path, version in tried.base.items() if path in self.files]
        can_fail |= bool(c.doubtful & tried.changed) or any(in_the_way)
        after = state.with_pending(table.name, pending) if good else state
        if not fails:
            return Verdict(True, can_fail, after, ends=False)
        return Verdict.half_done(conflict, can_fail, bool(good), after)

    def visible(self, c, state, table):
        """The rows that the table shows, and whether that is sure."""
        pending, now = state.pending.get(table.name), self.files.get(table.path)
        if pending is not None and pending.nrows:
            return pending.contents[table.path], now is pending.base[table.path] and table.path not in c.doubtful
        if table.mode == "w+" and not table.goes_on:
            return (), True
        if table.goes_on and now is not dict(table.written)[table.path]:
            return (), False
        if now is None:
            return (), False
        sure = now.kind == GOOD and table.path not in self.strange and table.made_on == GOOD and not self.is_touched(c, table, now) and not any(version is not now for version in c.noted.get(table.path, ()))
        return now.rows, sure

    def delete(self, c, name):
        table = c.state.tables.get(name)
        if table is not None:
            self.note(c, table)
        if table is None or table.is_set:
            return Verdict.must_fail()
        rows, sure = self.visible(c, c.state, table)
        return Verdict.must_fail() if rows and sure else Verdict.either(c.state)

    def update(self, c, name, values, conflict):
        """values: (rowid, value), by rowid."""
        state, table = c.state, c.state.tables.get(name)
        if table is not None and table.is_set:
            self.note(c, table)
        if table is None or table.is_set:
            return Verdict.must_fail()
        rows, sure = self.visible(c, state, table)
        matched = [(rowid, value) for rowid, value in values if rowid < len(rows)]
        if table.mode != "r+":
            self.note(c, table)
            return Verdict.must_fail() if matched and sure else Verdict.either(state)
        can_succeed, can_fail, pending = self.first_row(c, state, table)
        can_fail |= any(value == FAILING for _, value in values)  # it may be evaluated for no row
        if not matched:
            return Verdict(True, can_fail or not can_succeed or not sure, state)
        if not can_succeed:
            return Verdict(False, True, ends=None if conflict == "ROLLBACK" else False)
        return self.update_rows(c, state, table, pending, matched, conflict, can_fail or not sure)

    def update_rows(self, c, state, table, pending, matched, conflict, can_fail):
        bad = [i for i, (_, value) in enumerate(matched) if is_bad(value)]
        if any(value == FAILING for _, value in matched):
            conflict = "ABORT"
        fails = bool(bad) and conflict != "IGNORE"
        if fails and conflict == "FAIL":
            matched = matched[: bad[0]]
        rows, nchanged = list(pending.contents[table.path]), 0
        for rowid, value in matched if not fails or conflict == "FAIL" else ():
            if not is_bad(value):
                rows[rowid] = value
                nchanged += 1
        changed = replace(pending, contents={table.path: tuple(rows)}, changed=frozenset([table.path]), nrows=pending.nrows + nchanged)
        after = state.with_pending(table.name, changed) if nchanged else state
        if not fails:
            return Verdict(True, can_fail, after)
        return Verdict.half_done(conflict, can_fail, bool(nchanged), after)

    def into_src(self, c, values, conflict):
        """Rows of an ordinary table with a trigger that hands them on."""
        state = c.state
        after = state.with_plain("src", (*state.plain["src"], *values))
        if FAILING in values:
            return Verdict.must_fail()
        if state.trigger is None:
            return Verdict.must_succeed(after)
        if state.trigger not in state.tables:
            return Verdict.must_fail()
        if state.tables[state.trigger].form != state.trigger_form:
            raise Unknowable
        fired = self.insert(c, state.trigger, values, conflict)
        if fired.state is not None:
            fired.state = replace(fired.state, plain=after.plain)
        return fired

    def create(self, c, name, mode, path, maxcount):
        now, state = self.files.get(path), c.state
        table = Table(name, mode, path, maxcount, GOOD if now is None else now.kind)
        if name in state.tables:
            return Verdict.must_fail()
        made = state.with_table(table)
        if mode == "w+":
            return Verdict.must_succeed(made)
        c.not_made.add(name)
        there = [self.files[table.shard(number)] for number in self.shards(table)] if table.is_set else [self.files[path]] if path in self.files else []
        if not there:
            return Verdict.must_succeed(made) if mode == "a" else Verdict.must_fail()
        if all(version.kind == GOOD for version in there):
            return Verdict.must_succeed(made) if not (there[-1] in self.touched) else Verdict.either(made)
        return Verdict.either(made)

    def drop(self, c, name):
        state = c.state
        if name not in state.tables:
            return Verdict.must_fail()
        if c.rows_pending(name):
            return Verdict.must_fail()
        table = state.tables[name]
        is_sure = name not in c.stepping_tables and table.path not in c.noted
        return Verdict(True, not is_sure, state.without(name))

    def rename(self, c, name, to):
        state = c.state
        if name not in state.tables or to in state.tables or c.rows_pending(name):
            return Verdict.must_fail()
        table = state.tables[name]
        is_sure = not c.stepping and table.path not in c.noted and (state.trigger is None or state.trigger in state.tables)
        is_sure &= to not in c.not_made
        after = state.without(name).with_table(replace(table, name=to))
        if state.trigger == name:
            after = replace(after, trigger=to)
        return Verdict(True, not is_sure, after)

    def plain_insert(self, c, name, value):
        if name == "aux" and not c.attached:
            return Verdict.must_fail()
        if name == "pp" and value in c.state.plain[name]:  # its PRIMARY KEY
            return Verdict.must_fail()
        return Verdict.must_succeed(c.state.with_plain(name, (*c.state.plain[name], value)))

    def plain_clear(self, c, name):
        return Verdict.must_succeed(c.state.with_plain(name, ()))

    def make_trigger(self, c, name):
        if c.state.trigger is not None or name not in c.state.tables:
            raise Unknowable
        return Verdict.must_succeed(replace(c.state, trigger=name, trigger_form=c.state.tables[name].form))

    def drop_trigger(self, c):
        return Verdict.must_fail() if c.state.trigger is None else Verdict.either(replace(c.state, trigger=None))

    # --- transactions ------------------------------------------------------------------------------------------------

    def begin(self, c):
        c.before = c.state

    def savepoint(self, c, name):
        if not c.in_transaction:
            self.begin(c)
            c.is_savepoint_first = True
        c.savepoints.append((name, c.state))

    def place_of(self, c, name):
        """Of the innermost savepoint of that name, or None."""
        found = [i for i, (own, _) in enumerate(c.savepoints) if own == name]
        return found[-1] if found else None

    def rollback_to(self, c, name):
        place = self.place_of(c, name)
        c.state = c.savepoints[place][1]
        del c.savepoints[place + 1 :]

    def release(self, c, name):
        del c.savepoints[self.place_of(c, name) :]

    def rollback(self, c):
        c.state = c.before
        c.end()

    def commit(self, c):
        c.state = self.publish(c, c.state)
        c.end()

    def may_commit(self, c):
        """(may succeed, may be refused and rolled back, is refused and goes on)"""
        if self.breaks_foreign_key(c.state):
            return False, False, True
        can_succeed, can_fail = self.may_publish(c, c.state)
        return can_succeed, can_fail, False

    def put(self, path, version):
        if version is None:
            self.files.pop(path, None)
        else:
            self.files[path] = version
        if version is None or version.kind != GOOD:
            self.strange.add(path)

    def write_at_once(self, c, path, rows):
        """npy_write by a connection, in a transaction or not: (may succeed, may fail)"""
        now = self.files.get(path)
        if now is not None and not now.is_replaced(path):
            return False, True
        if path.endswith(".tar") and now is not None:  # of which npy_write may be shy
            return True, True
        # A writer that adds to the file, or has changed it, may keep others out until the end of its transaction.
        return True, any(path in other.locks or path in other.noted for other in self.connections)

    def written_at_once(self, path, rows):
        """npy_write has succeeded. It takes away what others have put aside for the path, as a full shard is (shards.md)."""
        self.put(path, Version(GOOD, rows))
        for c in self.connections:
            if path.endswith(".tar") and any(path in pending.contents for pending in c.state.pending.values()):
                c.doubtful.add(path)


def replace_verdict(verdict, can_succeed, can_fail):
    return Verdict(verdict.can_succeed and can_succeed, verdict.can_fail or can_fail or not can_succeed, verdict.state, verdict.failed, verdict.ends)
