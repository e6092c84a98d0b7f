"""The rules of tables that write, each named for the defect without it: only rows write, nothing is replaced that was not
seen, what is written belongs to the connection and not to SQLite's object of a table, and a file keeps what it is besides
its bytes. What lies there is read by NumPy, zipfile and tarfile, or compared with what Python writes."""

import errno
import glob
import io
import os
import pickle
import shutil
import sqlite3
import struct
import subprocess
import sys
import tarfile
import time
import zipfile

import numpy as np
import pytest

import shell
from arrays import npy_bytes, npz_bytes, ten_bytes, zip_bytes
from expected import error_of
from tars import shard_writer
from written import contents, only, quoted

CHANGED = "was changed or replaced by another program while it was written to"
MADE = "was made by another writer meanwhile, and is not replaced"
MAXCOUNT = 2
SET = "s-%06d.tar"
FORMS = ["out.npy", "out.npz", "out.ten", SET]
FILES = FORMS[:3]


def create(db, path, mode="w+", name="w"):
    if path == SET:
        db.execute(f"CREATE VIRTUAL TABLE temp.{name} USING wds('{path}', mode='{mode}', columns='cls', maxcount={MAXCOUNT})")
    else:
        dtype = ", dtype='u1'" if path.endswith(".npy") and mode != "r+" else ""
        db.execute(f"CREATE VIRTUAL TABLE temp.{name} USING npy({quoted(path)}, mode='{mode}'{dtype})")


def inserting(path, value, name="w"):
    """A row of a number, which is spelled in SQL."""
    if path == SET:
        return f"INSERT INTO {name}(__key__, cls) SELECT 'k' || {value}, {value}"
    row = str(value) if path.endswith(".npy") else f"'m' || {value}, npy_from_json('[' || {value} || ']', 'u1')"
    return f"INSERT INTO {name} SELECT {row}"


def insert(db, path, *values, name="w"):
    for value in values:
        db.execute(inserting(path, value, name))


def files_of(path, values):
    """{name: bytes} of what Python writes of these rows."""
    arrays = {f"m{value}": np.array([value], "u1") for value in values}
    if path == SET:
        made = shard_writer([(f"k{value}", {"cls": b"%d" % value}) for value in values], MAXCOUNT)
        return {SET % number: data for number, data in enumerate(made)}
    if path.endswith(".npy"):
        return {path: npy_bytes(np.array(values, "u1"))}
    return {path: npz_bytes(arrays) if path.endswith(".npz") else ten_bytes(list(arrays.values()), infos=list(arrays))}


def put(path, *values):
    for name, data in files_of(path, values).items():
        write(name, data)


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def replace(path, data):
    """As another program would do it that knows nothing of locks."""
    write("replacement", data)
    os.replace("replacement", path)


def rows_of(path):
    """The rows that lie there, as NumPy, zipfile and tarfile read them; None: there is no file."""
    if path == SET:
        return [value for name in sorted(glob.glob("s-*.tar")) for value in samples_of(name)] or None
    if not os.path.exists(path):
        return None
    if path.endswith(".npy"):
        return np.load(path).tolist()
    if path.endswith(".ten"):  # there is no other reader
        names = [name for (name,) in shell.connect().execute("SELECT name FROM npy_meta(?)", (path,))]
        values = [int(name[1:]) for name in names]
        assert contents(path) == files_of(path, values)[path]
        return values
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return [np.load(io.BytesIO(archive.read(name))).tolist()[0] for name in archive.namelist()]


def samples_of(name):
    with tarfile.open(name) as archive:
        return [int(archive.extractfile(member).read()) for member in archive]


def assert_holds(path, values):
    """These rows lie there, as Python writes them, and nothing beside them; a zip has times of its own."""
    want = files_of(path, values)
    only(".", *want)
    assert rows_of(path) == values
    if path.endswith(".npz"):
        with zipfile.ZipFile(path) as archive:
            assert [(name, archive.read(name)) for name in archive.namelist()] == [(f"m{value}.npy", npy_bytes(np.array([value], "u1"))) for value in values]
    else:
        assert {name: contents(name) for name in want} == want


def everything():
    found = {}
    for folder, _, names in os.walk("."):
        found.update({os.path.join(folder, name): contents(os.path.join(folder, name)) for name in names})
    return found


# --- 1: only rows write --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("is_select", [False, True])
def test_a_row_that_fails_empties_no_file(db, folder, path, is_select):
    """BEGIN; INSERT of json('bad'), which fails; COMMIT: yesterday's file was replaced with one without rows."""
    put(path, 9, 8, 7)
    before = everything()
    create(db, path)
    sql = inserting(path, "json('bad')")
    if not is_select:
        sql = sql.replace("SELECT ", "VALUES (") + ")"
    for conflict in ("", "OR IGNORE ", "OR FAIL ", "OR REPLACE "):
        db.execute("BEGIN")
        with pytest.raises(sqlite3.OperationalError, match="malformed JSON"):
            db.execute(sql.replace("INSERT ", f"INSERT {conflict}"))
        db.execute("COMMIT")
        assert everything() == before


OF_NO_ROWS = ["DELETE FROM w", "UPDATE w SET {0} = 1", "INSERT INTO w({0}) SELECT 1 WHERE 0", "DELETE FROM w WHERE rowid = 3", "SELECT count(*) FROM w"]


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("sql", OF_NO_ROWS)
def test_a_statement_of_no_rows_empties_no_file(db, folder, path, sql):
    """Without any error: DELETE and UPDATE of a table that has no rows yet."""
    put(path, 9, 8, 7)
    before = everything()
    create(db, path)
    column = "cls" if path == SET else "value" if path.endswith(".npy") else "array"
    for _ in range(2):
        try:
            db.execute(sql.format(column)).fetchall()
        except sqlite3.Error as error:
            assert path == SET and "only adds samples" in str(error)
        db.execute("BEGIN")
        try:
            db.execute(sql.format(column)).fetchall()
        except sqlite3.Error:
            assert path == SET
        db.execute("COMMIT")
        assert everything() == before


@pytest.mark.parametrize("path", FORMS)
def test_a_create_beside_another_schema_change_empties_no_file(db, folder, path):
    put(path, 9, 8, 7)
    before = everything()
    db.execute("CREATE TABLE p(x)")
    for more in ("CREATE INDEX i ON p(x)", "ALTER TABLE p ADD COLUMN z", "CREATE TABLE q(y)", "CREATE TEMP VIEW v AS SELECT * FROM p", "SELECT * FROM p"):
        db.execute("BEGIN")
        create(db, path)
        db.execute(more)
        db.execute("COMMIT")
        assert everything() == before
        db.execute("DROP TABLE w")
        assert everything() == before


@pytest.mark.parametrize("path", FORMS)
def test_rows_that_another_table_has_committed_stay(db, folder, path):
    create(db, path)
    create(db, path, name="other")
    insert(db, path, 1, 2, 3, name="other")
    before = everything()
    db.execute("BEGIN")
    with pytest.raises(sqlite3.OperationalError, match="malformed JSON"):
        db.execute(inserting(path, "json('bad')"))
    db.execute("SAVEPOINT s")
    db.execute("ROLLBACK TO s")
    db.execute("COMMIT")
    if path != SET:
        db.execute("DELETE FROM w")
    db.execute(inserting(path, 4) + " WHERE 0")
    assert everything() == before and rows_of(path) == [1, 2, 3]
    insert(db, path, 4, name="other")  # which goes on with its own file
    assert rows_of(path) == [1, 2, 3, 4]


# --- 2: DROP and RENAME that are taken back ------------------------------------------------------------------------


TAKEN_BACK = {
    "DROP": ["BEGIN", "DROP TABLE w", "ROLLBACK"],
    "DROP to a savepoint": ["SAVEPOINT s", "DROP TABLE w", "ROLLBACK TO s", "RELEASE s"],
    "DROP in a transaction": ["BEGIN", "SAVEPOINT s", "DROP TABLE w", "ROLLBACK TO s", "COMMIT"],
    "RENAME": ["BEGIN", "ALTER TABLE w RENAME TO x", "ROLLBACK"],
    "RENAME to a savepoint": ["BEGIN", "SAVEPOINT s", "ALTER TABLE w RENAME TO x", "ROLLBACK TO s", "COMMIT"],
    "RENAME there and back": ["BEGIN", "ALTER TABLE w RENAME TO x", "ALTER TABLE x RENAME TO w", "COMMIT"],
    "DROP with CREATE": ["BEGIN", "DROP TABLE w", "CREATE", "ROLLBACK"],
    "DROP with CREATE to a savepoint": ["BEGIN", "SAVEPOINT s", "DROP TABLE w", "CREATE", "ROLLBACK TO s", "COMMIT"],
    "a change of another table": ["BEGIN", "CREATE TABLE p(x)", "ROLLBACK", "CREATE TABLE p(x)", "ALTER TABLE p ADD COLUMN z", "VACUUM"],
}


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("what", TAKEN_BACK)
def test_a_table_whose_end_is_taken_back_goes_on(db, folder, path, what):
    """INSERT 1, 2; BEGIN; DROP TABLE; ROLLBACK; INSERT 3 left the 3 alone."""
    create(db, path)
    insert(db, path, 1, 2)
    for sql in TAKEN_BACK[what]:
        create(db, path) if sql == "CREATE" else db.execute(sql)
    insert(db, path, 3)
    assert_holds(path, [1, 2, 3])


@pytest.mark.parametrize("path", FORMS)
def test_a_table_that_is_renamed_goes_on(db, folder, path):
    create(db, path)
    insert(db, path, 1, 2)
    db.execute("ALTER TABLE w RENAME TO x")
    insert(db, path, 3, name="x")
    db.execute("BEGIN")
    db.execute("ALTER TABLE x RENAME TO y")
    insert(db, path, 4, name="y")
    db.execute("COMMIT")
    assert rows_of(path) == [1, 2, 3, 4]
    create(db, path, name="x")  # another one of the name begins anew
    db.execute("BEGIN")
    insert(db, path, 5, 6, 7, name="x")
    db.execute("COMMIT")
    assert_holds(path, [5, 6, 7])


@pytest.mark.parametrize("ending", ["COMMIT", "ROLLBACK"])
def test_tables_whose_names_are_swapped_go_on_with_their_own(db, folder, ending):
    """Rolled back, both were refused for ever."""
    for path, name in (("w.npy", "w"), ("v.npy", "v")):
        create(db, path, name=name)
        insert(db, path, 1, name=name)
    db.execute("BEGIN")
    for old, new in (("w", "t"), ("v", "w"), ("t", "v")):
        db.execute(f"ALTER TABLE {old} RENAME TO {new}")
    db.execute(ending)
    insert(db, "w.npy", 2, name="w")
    insert(db, "v.npy", 3, name="v")
    of_w, of_v = ([1, 3], [1, 2]) if ending == "COMMIT" else ([1, 2], [1, 3])
    assert (rows_of("w.npy"), rows_of("v.npy")) == (of_w, of_v)


@pytest.mark.parametrize("path", FORMS)
def test_a_table_that_is_dropped_and_made_again_replaces(db, folder, path):
    """And TEMP that is emptied without a word, by PRAGMA temp_store."""
    create(db, path)
    insert(db, path, 1)
    db.execute("DROP TABLE w")
    create(db, path)
    insert(db, path, 2)
    assert rows_of(path) == [2]
    db.execute("PRAGMA temp_store = MEMORY")
    with pytest.raises(sqlite3.OperationalError, match="no such table: w"):
        insert(db, path, 3)
    create(db, path)
    insert(db, path, 4, 5)
    assert rows_of(path) == [4, 5]


def test_an_inode_that_is_used_again(db, folder):
    """The file of a table that is gone was believed to be the one of its successor: file systems give an inode again."""
    for round in range(5):
        create(db, "w.npz")
        insert(db, "w.npz", *range(4))
        assert rows_of("w.npz") == [0, 1, 2, 3]
        db.execute("DROP TABLE w")


@pytest.mark.parametrize("path", FORMS)
def test_tables_that_come_and_go_in_a_loop_over_rows(db, folder, path):
    """CREATE; INSERT; DROP while a statement of the same connection is stepping."""
    np.save("in.npy", np.arange(5))
    for (value,) in db.execute("SELECT value FROM npy_rows('in.npy')"):
        create(db, path)
        insert(db, path, value)
        db.execute("DROP TABLE w")
        assert rows_of(path) == [value]


# --- 3: of two that begin with the same, one is refused --------------------------------------------------------------


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("mode, is_there", [("a", False), ("w+", False), ("w+", True)])
def test_the_second_commit_of_two_is_refused(connect, folder, path, mode, is_there):
    """Both were told yes, and the first one's row was gone."""
    one, two = connect(), connect()
    if is_there:
        put(path, 9)
    for db in (one, two):
        create(db, path, mode)
    one.execute("BEGIN")
    insert(one, path, 1)
    insert(two, path, 2)
    before = {name: data for name, data in everything().items() if not name.endswith(".npyext")}
    text = error_of(one, "COMMIT")
    assert CHANGED in text or MADE in text
    assert not one.in_transaction and everything() == before and rows_of(path) == [2]
    insert(one, path, 1)
    assert rows_of(path) == ([2, 1] if mode == "a" else [1])


@pytest.mark.parametrize("path", FORMS)
def test_a_file_that_comes_or_goes_before_the_commit(db, folder, path):
    """By the hands of a program that knows nothing of locks: what is there in the end is theirs."""
    first, *_ = files_of(path, [1])
    theirs = files_of(path, [7])[first]
    changes = {
        "made": (None, lambda: write(first, theirs)),
        "replaced": (theirs, lambda: replace(first, theirs)),
        "changed": (files_of(path, [9])[first], lambda: write(first, theirs)),
        "removed": (theirs, lambda: os.remove(first)),
    }
    for what, (before, change) in changes.items():
        db.execute("DROP TABLE IF EXISTS w")
        if os.path.exists(first):
            os.remove(first)
        if before is not None:
            write(first, before)
        create(db, path)
        db.execute("BEGIN")
        insert(db, path, 1)
        change()
        text = error_of(db, "COMMIT")
        assert CHANGED in text or MADE in text, (what, text)
        assert everything() == ({} if what == "removed" else {f"./{first}": theirs}), what
        insert(db, path, 1)
        assert rows_of(path) == [1]


WRITER = """
import random, sqlite3, sys, time
sys.path.insert(0, {lib!r})
import shell
db = shell.connect()
db.execute("CREATE VIRTUAL TABLE temp.w USING wds('r-%06d.tar', mode='a', columns='cls', maxcount=3)")
begun = time.monotonic()
for number in range({first}, {first} + 25):
    is_there = False
    while not is_there:
        assert time.monotonic() - begun < 30, "refused for ever"
        try:
            db.execute("INSERT INTO w(__key__, cls) VALUES ('k' || ?1, ?1)", (number,))
            is_there = True
        except sqlite3.OperationalError as error:
            assert any(words in str(error) for words in ("another", "was made", "was changed", "would follow")), error
            time.sleep(random.random() / 200)
"""


def test_what_four_processes_add_to_a_set_is_there(folder):
    """Of 160 samples that were acknowledged 97 were there, as shards were replaced that another one had just made."""
    programs = [WRITER.format(lib=shell.LIB, first=1000 * i) for i in range(4)]
    writers = [subprocess.Popen([sys.executable, "-B", "-c", program]) for program in programs]
    assert [writer.wait() for writer in writers] == [0] * 4
    shards = sorted(glob.glob("r-*.tar"))
    found = [value for name in shards for value in samples_of(name)]
    assert sorted(found) == [1000 * i + number for i in range(4) for number in range(25)]  # each once
    assert shards == ["r-%06d.tar" % number for number in range(34)] and all(len(samples_of(name)) == 3 for name in shards[:-1])
    only(folder, *shards)


# --- 4: shards of others ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["w+", "a"])
@pytest.mark.parametrize("is_open", [False, True])
def test_a_shard_that_another_one_has_made_is_not_replaced(db, folder, mode, is_open):
    """The next shard of a set, whose last one is full, took its place."""
    create(db, SET, mode)
    insert(db, SET, 1, 2)
    theirs = shard_writer([("theirs", {"cls": b"7"})])[0]
    if is_open:
        db.execute("BEGIN")
        insert(db, SET, 3)
    write(SET % 1, theirs)
    if is_open or mode == "w+":
        text = error_of(db, "COMMIT" if is_open else inserting(SET, 3))
        assert CHANGED in text or MADE in text
    assert everything() == {"./" + SET % 0: files_of(SET, [1, 2])[SET % 0], "./" + SET % 1: theirs}
    if mode == "a":  # which goes on with it
        insert(db, SET, 3, 4)
        assert rows_of(SET) == [1, 2, 7, 3, 4]


# --- 5: a statement that fails half-way ------------------------------------------------------------------------------


OLD, HALF = [1, 2, 3], [10, 20, 3]


@pytest.mark.parametrize("conflict, want", [("", OLD), ("OR ABORT", OLD), ("OR REPLACE", OLD), ("OR ROLLBACK", OLD), ("OR FAIL", HALF), ("OR IGNORE", HALF)])
@pytest.mark.parametrize("has_savepoint", [False, True])
def test_an_update_from_that_fails_at_its_third_row(db, folder, conflict, want, has_savepoint):
    """SQLite opens no savepoint for UPDATE ... FROM: COMMIT kept the first two rows."""
    np.save("out.npy", np.array([1, 2, 3], "u1"))
    create(db, "out.npy", "r+")
    db.execute("CREATE TABLE f(i INTEGER PRIMARY KEY, v)")
    db.execute("INSERT INTO f VALUES (0, 10), (1, 20), (2, 300)")
    update = f"UPDATE {conflict} w SET value = f.v FROM f WHERE f.i = w.rowid"
    for is_changed in (False, True):
        np.save("out.npy", np.array([1, 2, 3], "u1"))
        db.execute("BEGIN")
        if is_changed:  # rows of an earlier statement stay
            db.execute("UPDATE w SET value = value + 0")
        if has_savepoint:
            db.execute("SAVEPOINT s")
        if conflict == "OR IGNORE":
            db.execute(update)
        else:
            assert "300 does not fit uint8" in error_of(db, update, code=sqlite3.SQLITE_CONSTRAINT)
        assert db.in_transaction == (conflict != "OR ROLLBACK")
        if db.in_transaction:
            assert [value for (value,) in db.execute("SELECT value FROM w")] == want
            db.execute("COMMIT")
        assert rows_of("out.npy") == want
    only(folder, "out.npy")


def test_an_update_from_that_fails_after_rows_of_the_same_transaction(db, folder):
    np.save("out.npy", np.array([1, 2, 3], "u1"))
    create(db, "out.npy", "r+")
    db.execute("CREATE TABLE f(i INTEGER PRIMARY KEY, v)")
    db.execute("INSERT INTO f VALUES (0, 10), (1, 20), (2, NULL)")
    update = "UPDATE w SET value = f.v FROM f WHERE f.i = w.rowid"
    db.execute("BEGIN")
    db.execute("UPDATE w SET value = 5 WHERE rowid = 1")
    for _ in range(3):
        error_of(db, update, code=sqlite3.SQLITE_CONSTRAINT)
    db.execute("UPDATE w SET value = 6 WHERE rowid = 2")
    error_of(db, update, code=sqlite3.SQLITE_CONSTRAINT)
    db.execute("COMMIT")
    assert rows_of("out.npy") == [1, 5, 6]
    error_of(db, update, code=sqlite3.SQLITE_CONSTRAINT)  # and where no transaction is open
    assert rows_of("out.npy") == [1, 5, 6]


# --- 6 and 7: schemas that change in between -------------------------------------------------------------------------


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("ending", ["ALTER TABLE w RENAME TO w2", "DROP TABLE w"])
@pytest.mark.parametrize("change", ["ALTER TABLE p ADD COLUMN z", "CREATE INDEX i ON p(x)", "CREATE TEMP TABLE q(y)", "SELECT 1"])
def test_a_table_with_rows_is_not_taken_away_from_under_them(db, folder, path, ending, change):
    """After another change of the schema it was: COMMIT said yes, and the row was lost."""
    db.execute("CREATE TABLE p(x)")
    create(db, path)
    db.execute("BEGIN")
    insert(db, path, 1)
    db.execute(change)
    for _ in range(2):
        with pytest.raises(sqlite3.OperationalError, match="database table is locked"):
            db.execute(ending)
    db.execute("COMMIT")
    assert rows_of(path) == [1]
    db.execute(ending)
    assert rows_of(path) == [1]


@pytest.mark.parametrize("path", FORMS)
def test_rows_after_a_schema_change(connect, folder, path):
    """BEGIN; CREATE; ALTER TABLE p; INSERT; COMMIT failed, and took the databases' changes with it."""
    db = connect("p.db")
    db.execute("CREATE TABLE p(x)")
    db.execute("BEGIN")
    create(db, path)
    db.execute("INSERT INTO p VALUES (1)")
    db.execute("ALTER TABLE p ADD COLUMN z")
    insert(db, path, 1)
    db.execute("COMMIT")
    assert rows_of(path) == [1] and db.execute("SELECT * FROM p").fetchall() == [(1, None)]
    db.execute("BEGIN")
    insert(db, path, 2)
    db.execute("CREATE INDEX i ON p(x)")
    insert(db, path, 3)
    db.execute("SAVEPOINT s")
    db.execute("ALTER TABLE p ADD COLUMN y")
    insert(db, path, 4)
    db.execute("ROLLBACK TO s")  # which changes the schema back
    insert(db, path, 5)
    db.execute("CREATE TABLE q(x)")
    db.execute("COMMIT")
    assert rows_of(path) == [1, 2, 3, 5]
    db.execute("BEGIN")
    insert(db, path, 6)
    db.execute("ALTER TABLE q ADD COLUMN y")
    insert(db, path, 7)
    db.execute("ROLLBACK")
    assert rows_of(path) == [1, 2, 3, 5]
    insert(db, path, 6)
    assert rows_of(path) == [1, 2, 3, 5, 6]


# --- 8: databases in memory ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("attached", [None, ":memory:", ""])
def test_a_database_in_memory_does_not_commit_before_the_file(db, folder, path, attached):
    """It was taken for one on disk, whose COMMIT must come first: what the file then met was told to nobody."""
    table, file = "t", next(iter(files_of(path, [1])))
    if attached is not None:
        db.execute("ATTACH ? AS other", (attached,))
        table = "other.t"
    db.execute(f"CREATE TABLE {table}(x)")
    create(db, path)
    db.execute("BEGIN")
    db.execute(f"INSERT INTO {table} VALUES (1)")
    insert(db, path, 1)

    def in_between(action, name, *_):
        """The databases are asked for after the last look at the path, and before it is published."""
        if action == sqlite3.SQLITE_PRAGMA and name == "database_list":
            write(file, b"a,b\n1,2\n")
        return sqlite3.SQLITE_OK

    db.set_authorizer(in_between)
    text = error_of(db, "COMMIT")
    db.set_authorizer(None)
    assert CHANGED in text or "not replaced" in text
    assert db.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,) and not db.in_transaction
    assert everything() == {f"./{file}": b"a,b\n1,2\n"}


# --- 9: what a file is besides its bytes -----------------------------------------------------------------------------

USER_OBJ, USER, GROUP_OBJ, MASK, OTHER = 1, 2, 4, 16, 32
ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"


def acl(*entries):
    """The bytes of an access control list of (tag, permissions, id): version 2 of linux/posix_acl_xattr.h."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, allowed, who) for tag, allowed, who in entries)


NOBODY = 2**32 - 1
# user 1234 may read; the group may nothing, although the group's bits of the mode, which are the mask, say that it may read
LISTED = acl((USER_OBJ, 6, NOBODY), (USER, 4, 1234), (GROUP_OBJ, 0, NOBODY), (MASK, 4, NOBODY), (OTHER, 0, NOBODY))


def set_attribute(path, name, value):
    try:
        os.setxattr(path, name, value)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            pytest.fail(f"{os.path.abspath(path)}: its file system has no {name}; --basetemp names a folder on one that has (ext4, XFS, Btrfs)")
        raise


def attributes(path):
    found = os.stat(path)
    return {name: os.getxattr(path, name) for name in os.listxattr(path)}, oct(found.st_mode), found.st_uid, found.st_gid


def replacements(db):
    """{what: how each way to replace a file is asked for}, with the file that it replaces."""

    def by_table(path, mode, sql=None):
        put(path, 9)

        def write_it():
            db.execute("DROP TABLE IF EXISTS w")
            create(db, path, mode)
            db.execute(sql or inserting(path, 1))

        return SET % 0 if path == SET else path, write_it

    def by_npy_write():
        put("out.npy", 9)
        return "out.npy", lambda: db.execute("SELECT * FROM npy_write('out.npy', npy_from_json('[1]', 'u1'))").fetchall()

    ways = {f"w+ {path}": (by_table, path, "w+") for path in FORMS}
    ways.update({f"a {path}": (by_table, path, "a") for path in FORMS})
    ways["r+"] = (by_table, "out.npy", "r+", "UPDATE w SET value = 1")
    ways["npy_write"] = (by_npy_write,)
    return ways


WAYS = list(replacements(None))


def replaced(db, way, prepare):
    """What the file is before and after it was written to."""
    make, *arguments = replacements(db)[way]
    path, write_it = make(*arguments)
    prepare(path)
    before, old = attributes(path), contents(path)
    write_it()
    assert contents(path) != old
    return before, attributes(path)


@pytest.mark.parametrize("way", WAYS)
def test_a_file_that_is_replaced_keeps_its_attributes(db, folder, way):
    """Extended attributes were dropped by r+, npy_write and w+."""

    def prepare(path):
        set_attribute(path, "user.origin", b"s3://bucket/\0key")
        set_attribute(path, "user.empty", b"")
        set_attribute(path, "user.long", bytes(range(256)) * 8)
        os.chmod(path, 0o604)

    before, after = replaced(db, way, prepare)
    assert after == before and after[0]["user.empty"] == b""


@pytest.mark.parametrize("way", WAYS)
def test_a_file_that_is_replaced_keeps_its_access_control_list(db, folder, way):
    """Without it the group could read what it may not: the mode's group bits are the mask."""

    def prepare(path):
        os.chmod(path, 0o640)
        set_attribute(path, ACCESS, LISTED)

    before, after = replaced(db, way, prepare)
    assert after == before and after[0][ACCESS] == LISTED


@pytest.mark.parametrize("way", WAYS)
def test_a_file_that_is_replaced_gets_no_access_control_list(db, folder, way):
    """Of the folder's default one, which came later than the file."""

    def prepare(path):
        os.chmod(path, 0o600)
        set_attribute(".", DEFAULT, acl((USER_OBJ, 7, NOBODY), (USER, 7, 1234), (GROUP_OBJ, 7, NOBODY), (MASK, 7, NOBODY), (OTHER, 5, NOBODY)))

    before, after = replaced(db, way, prepare)
    assert after == before and after[0] == {}


@pytest.mark.parametrize("way", WAYS)
def test_a_file_that_is_replaced_keeps_its_owner(db, folder, way):
    def prepare(path):
        if os.geteuid() == 0:
            os.chown(path, 1234, 1235)
        os.chmod(path, 0o640)

    before, after = replaced(db, way, prepare)
    assert after == before


# --- 10: the end of a zip --------------------------------------------------------------------------------------------


def zip_counts(path):
    """Entries as the end says it, and as its zip64 form does; None: there is none."""
    data = contents(path)
    (of_end,) = struct.unpack("<H", data[-12:-10])
    assert data[-22:-18] == b"PK\5\6"
    if data[-42:-38] != b"PK\6\7":
        return of_end, None
    (at,) = struct.unpack("<Q", data[-34:-26])
    assert data[at : at + 4] == b"PK\6\6" and at == len(data) - 22 - 20 - 56
    on_this_disk, in_all = struct.unpack("<QQ", data[at + 24 : at + 40])
    assert on_this_disk == in_all
    return of_end, in_all


MANY = "WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT ?)"


@pytest.mark.parametrize("way", ["a table", "a table that adds", "npy_write"])
def test_a_zip_of_more_entries_than_16_bits_count(db, folder, way):
    """It had no zip64 end record, so that unzip -t failed."""
    narrays, array = 65_537, npy_bytes(np.zeros((), "i1"))
    if way == "npy_write":
        db.execute(f"SELECT * FROM npy_write('out.npz', ({MANY} SELECT npz_archive('n' || i, ?) FROM n))", (narrays, array)).fetchall()
    else:
        for mode, n in [("w+", narrays)] if way == "a table" else [("w+", narrays - 2), ("a", 2)]:
            db.execute("DROP TABLE IF EXISTS w")
            create(db, "out.npz", mode)
            db.execute(f"{MANY} INSERT INTO w SELECT iif(?, 'n', 'a') || i, ? FROM n", (n, mode == "w+", array))
    assert zip_counts("out.npz") == (0xFFFF, narrays)
    with zipfile.ZipFile("out.npz") as archive:
        assert len(archive.namelist()) == len(set(archive.namelist())) == narrays
        assert all(archive.read(archive.namelist()[i]) == array for i in (0, 65_534, 65_535, 65_536))
    assert db.execute("SELECT count(*) FROM npz_members('out.npz')").fetchone() == (narrays,)


def test_a_zip_of_fewer_entries_has_the_old_end(db, folder):
    """As Python writes it."""
    array = npy_bytes(np.zeros((), "i1"))
    create(db, "out.npz")
    db.execute(f"{MANY} INSERT INTO w SELECT 'n' || i, ? FROM n", (65_534, array))
    assert zip_counts("out.npz") == (65_534, None)
    with zipfile.ZipFile("out.npz") as archive:
        assert len(archive.namelist()) == 65_534


# --- 11: mode 'a' goes on from what is there -------------------------------------------------------------------------


@pytest.mark.parametrize("path", FORMS)
def test_two_tables_that_add_in_turn(connect, folder, path):
    """A table of mode 'a' could append only until somebody else did."""
    one, two = connect(), connect()
    for db in (one, two):
        create(db, path, "a")
    for value in range(6):
        insert((one, two)[value % 2], path, value)
        assert rows_of(path) == list(range(value + 1))
    one.execute("BEGIN")
    insert(one, path, 6, 7)
    one.execute("SAVEPOINT s")
    insert(one, path, 8)
    one.execute("ROLLBACK TO s")
    one.execute("COMMIT")
    insert(two, path, 9)
    assert_holds(path, [0, 1, 2, 3, 4, 5, 6, 7, 9])


@pytest.mark.parametrize("path", FORMS)
def test_a_table_adds_to_what_another_program_has_put_there(db, folder, path):
    put(path, 1)
    create(db, path, "a")
    insert(db, path, 2)
    for name, data in files_of(path, [5, 6, 7]).items():
        replace(name, data)
    insert(db, path, 8)
    assert rows_of(path) == [5, 6, 7, 8]
    for name in files_of(path, [5, 6, 7, 8]):
        os.remove(name)
    insert(db, path, 9)
    assert rows_of(path) == [9]


# --- 12: other things that went wrong ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["out.npy", "out.npz", SET])
@pytest.mark.parametrize("is_there", [False, True])
def test_a_folder_that_is_removed_is_no_other_writer(db, folder, path, is_there):
    """COMMIT waited for 10 seconds, and blamed one."""
    os.mkdir("gone")
    os.chdir("gone")
    if is_there:
        put(path, 9)
    create(db, path)
    db.execute("BEGIN")
    insert(db, path, 1)
    shutil.rmtree(os.path.join(folder, "gone"))
    begun = time.monotonic()
    text = error_of(db, "COMMIT")
    assert time.monotonic() - begun < 5 and "another writer" not in text
    assert "folder" in text or CHANGED in text
    os.chdir(folder)
    only(folder)


@pytest.mark.parametrize("mode", ["w+", "npy_write"])
@pytest.mark.parametrize("is_there", [False, True])
def test_a_symlink_that_comes_later_is_no_device(db, folder, mode, is_there):
    """It is not followed either: nobody has seen where it leads to."""
    if is_there:
        put("out.npy", 9)
    put("other.npy", 7)
    create(db, "out.npy")
    db.execute("BEGIN")
    insert(db, "out.npy", 1)
    if is_there:
        os.remove("out.npy")
    os.symlink("other.npy", "out.npy")
    text = error_of(db, "COMMIT")
    assert "device" not in text and (CHANGED in text or "symbolic link" in text)
    assert os.readlink("out.npy") == "other.npy" and rows_of("other.npy") == [7]
    if mode == "npy_write":  # one that is there from the beginning is followed
        db.execute("SELECT * FROM npy_write('out.npy', npy_from_json('[8]', 'u1'))").fetchall()
    else:
        insert(db, "out.npy", 8)
    assert os.readlink("out.npy") == "other.npy" and rows_of("other.npy") == [8]


@pytest.mark.parametrize("path", ["out.npz", "out.ten", SET])
def test_a_damaged_array_is_a_row_that_does_not_fit(db, folder, path):
    """It stopped INSERT OR IGNORE into an .npz."""
    damaged = bytearray(npz_bytes({"x": np.arange(1000)}))
    damaged[4000] ^= 1
    write("damaged.npz", damaged)
    array = db.execute("SELECT array FROM npy_file('damaged.npz')").fetchone()[0]
    good = npy_bytes(np.arange(3))
    if path == SET:
        db.execute(f"CREATE VIRTUAL TABLE temp.w USING wds('{SET}', mode='w+', columns='a.npy')")
    else:
        create(db, path)
    db.execute("CREATE TABLE given(name, array)")
    db.executemany("INSERT INTO given VALUES (?, ?)", [("a", good), ("b", good), ("c", good)])
    into = "w(__key__, \"a.npy\")" if path == SET else "w(name, array)"
    one_bad = f"{into} SELECT name, iif(name = 'b', ?, array) FROM given"
    for conflict in ("", "OR ABORT", "OR REPLACE"):
        assert "damaged" in error_of(db, f"INSERT {conflict} INTO {one_bad}", array, code=sqlite3.SQLITE_CONSTRAINT)
    only(folder, "damaged.npz")
    db.execute(f"INSERT OR IGNORE INTO {one_bad}", (array,))
    assert db.execute("SELECT changes()").fetchone() == (2,)
    if path == SET:
        with tarfile.open(SET % 0) as archive:
            assert {member.name: archive.extractfile(member).read() for member in archive} == {"a.a.npy": good, "c.a.npy": good}
    else:
        assert contents(path) == (ten_bytes([np.arange(3)] * 2, infos="ac") if path == "out.ten" else contents(path))
        found = db.execute("SELECT name, npy_json(array) FROM npy_file(?)", (path,)).fetchall()
        assert found == [("a", "[0,1,2]"), ("c", "[0,1,2]")]


@pytest.mark.parametrize("text", ["1e3", "true", "1", " 7 ", "-0.5", "Infinity"])
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_a_text_is_no_complex_number(db, folder, text, dtype):
    """As it is no real one: '1e3' and 'true' went in as JSON."""
    db.execute(f"CREATE VIRTUAL TABLE temp.w USING npy('out.npy', mode='w+', dtype='{dtype}')")
    db.execute(f"CREATE VIRTUAL TABLE temp.s USING npy('s.npy', mode='w+', dtype='[(\"z\", \"{dtype}\"), (\"n\", \"u1\")]')")
    for sql in ("INSERT INTO w VALUES (?)", "INSERT INTO s VALUES (?, 1)"):
        error_of(db, sql, text, code=sqlite3.SQLITE_CONSTRAINT)
    only(folder)
    db.execute("INSERT INTO w VALUES (1000.0), ('[1, 2]'), (1), (NULL)")
    assert np.load("out.npy").astype("c16").tolist()[:3] == [1000, 1 + 2j, 1] and np.isnan(np.load("out.npy")[3])


SAVEPOINTS = """
import resource, sys
sys.path.insert(0, {lib!r})
import shell
db = shell.connect()
db.execute("CREATE VIRTUAL TABLE temp.w USING npy('{path}', mode='w+')")
db.execute("BEGIN")
begun = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for i in range(4000):
    db.execute("SAVEPOINT s%d" % i)
    db.execute("INSERT INTO w VALUES ('n' || ?, npy_from_json('[1]'))", (i,))
db.execute("ROLLBACK TO s3000")
db.execute("COMMIT")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - begun)
"""


@pytest.mark.parametrize("path", ["out.npz", "out.ten"])
def test_nested_savepoints_of_an_archive_are_cheap(db, folder, path):
    """4,000 of them held 1.2 GB: each had a copy of all names."""
    program = SAVEPOINTS.format(lib=shell.LIB, path=path)
    done = subprocess.run([sys.executable, "-B", "-c", program], stdout=subprocess.PIPE, text=True, timeout=shell.PATIENCE, check=True)
    names = [name for (name,) in db.execute("SELECT name FROM npy_meta(?)", (path,))]
    assert names == [f"n{i}" for i in range(3000)]
    assert int(done.stdout) < 100_000 or shell.SANITIZED, f"{done.stdout.strip()} KiB"


@pytest.mark.parametrize("nbytes", [1, 65_513, 65_514, 65_535])
def test_a_zip_with_a_long_comment_is_added_to_or_refused(db, folder, nbytes):
    """The longest was an error -103 of minizip, which looks for the directory in the last 65,535 bytes."""
    comment = (b"comment " * 10_000)[:nbytes]
    with zipfile.ZipFile("out.npz", "w") as archive:
        archive.writestr("a.npy", npy_bytes(np.arange(3)))
        archive.comment = comment
    before = contents("out.npz")
    create(db, "out.npz", "a")
    insert = "INSERT OR IGNORE INTO w VALUES ('b', ?)"
    if nbytes > 65_513:
        assert "minizip finds no directory before a comment of more than 65,513 bytes; make the comment shorter" in error_of(db, insert, npy_bytes(np.arange(4)))
        assert contents("out.npz") == before
        return
    db.execute(insert, (npy_bytes(np.arange(4)),))
    with np.load("out.npz") as loaded:
        assert loaded.files == ["a", "b"] and loaded["b"].tolist() == [0, 1, 2, 3]
        assert loaded.zip.comment == comment
    only(folder, "out.npz")


def test_rows_changed_in_a_sparse_file_leave_it_sparse(db, folder):
    """64 MB of holes became 64 MB on the disk."""
    nrows = 8 << 20
    np.lib.format.open_memmap("out.npy", "w+", "f8", (nrows,)).flush()
    before = os.stat("out.npy").st_blocks
    assert before * 512 < 1 << 20, f"{os.path.abspath('out.npy')}: its file system has no sparse files; --basetemp names a folder on one that has"
    create(db, "out.npy", "r+")
    db.execute("UPDATE w SET value = 1 WHERE rowid IN (0, 5000000, ?)", (nrows - 1,))
    after = os.stat("out.npy").st_blocks
    assert after * 512 < 1 << 20, (before, after)
    found = np.load("out.npy", mmap_mode="r")
    assert np.flatnonzero(found).tolist() == [0, 5_000_000, nrows - 1] and found.shape == (nrows,)


# --- one connection, one path ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("modes", [("w+", "w+"), ("w+", "a"), ("a", "w+"), ("a", "a")])
def test_rows_for_a_path_that_another_table_has_rows_for(db, folder, path, modes):
    """The later one won."""
    os.symlink(".", "here")
    other_path = path if path == SET else "here/" + path
    create(db, path, modes[0])
    create(db, other_path, modes[1], name="other")
    for ending in ("ROLLBACK", "COMMIT"):
        db.execute("BEGIN")
        insert(db, path, 1)
        for _ in range(2):
            text = error_of(db, inserting(path, 2, "other"))
            assert text.endswith("is being written to by table w; commit its rows first")
        insert(db, path, 3)
        db.execute(ending)
        assert rows_of(path) == ([1, 3] if ending == "COMMIT" else None)
    insert(db, path, 4, name="other")
    assert rows_of(path) == ([1, 3, 4] if modes[1] == "a" else [4])


def test_rows_that_are_taken_back_let_go_of_the_path(db, folder):
    create(db, "out.npy")
    create(db, "out.npy", name="other")
    db.execute("BEGIN")
    db.execute("SAVEPOINT s")
    insert(db, "out.npy", 1)
    error_of(db, inserting("out.npy", 2, "other"))
    db.execute("ROLLBACK TO s")
    insert(db, "out.npy", 2, name="other")
    assert "is being written to by table other" in error_of(db, inserting("out.npy", 3))
    db.execute("COMMIT")
    assert rows_of("out.npy") == [2]


@pytest.mark.parametrize("path", FILES)
def test_a_table_that_has_written_nothing_has_no_rows(db, folder, path):
    """Whatever is at the path; in a transaction it has those of the transaction."""
    put(path, 9, 8)
    create(db, path)
    nrows = lambda: db.execute("SELECT count(*) FROM w").fetchone()[0]
    assert db.execute("SELECT * FROM w").fetchall() == [] and nrows() == 0
    db.execute("BEGIN")
    insert(db, path, 1)
    assert nrows() == 1
    db.execute("ROLLBACK")
    assert nrows() == 0 and rows_of(path) == [9, 8]
    write(path, b"no array at all")
    assert nrows() == 0
    put(path, 9)
    insert(db, path, 1, 2)
    assert nrows() == 2


def test_npy_write_replaces_what_is_there_at_that_moment(connect, folder):
    """It is one act; the transaction that has seen something else is refused."""
    db, other = connect(), connect()
    create(db, "out.npy")
    for writer in (other, db):
        db.execute("BEGIN")
        insert(db, "out.npy", 1)
        writer.execute("SELECT * FROM npy_write('out.npy', npy_from_json('[5, 6]', 'u1'))").fetchall()
        assert rows_of("out.npy") == [5, 6]
        assert CHANGED in error_of(db, "COMMIT")
        assert rows_of("out.npy") == [5, 6]
    only(folder, "out.npy")


# --- only what is written here is replaced -------------------------------------------------------------------------------


def models():
    """{what: bytes}: files that a slip of the path would lose."""
    torch = [("archive/data.pkl", b"\x80\x02}q\x00."), ("archive/data/0", bytes(8)), ("archive/version", b"3\n")]
    npz = npz_bytes({"x": np.arange(1000)})
    return {
        "PyTorch": zip_bytes(torch),
        "PyTorch with an array": zip_bytes([*torch, ("archive/x.npy", npy_bytes(np.arange(3)))]),
        "data.pkl at the top": zip_bytes([("x.npy", npy_bytes(np.arange(3))), ("data.pkl", b"\x80\x02}q\x00.")]),
        "a zip of texts": zip_bytes([("readme.txt", b"hello")]),
        "half of a zip": npz[: len(npz) // 2],
        "a pickle": pickle.dumps({"a": 1}, 2),
        "safetensors": struct.pack("<Q", 8) + b'{}      ',
        "GGUF": b"GGUF" + struct.pack("<IQQ", 3, 0, 0),
        "a text": b"a,b\n1,2\n",
    }


WRITTEN = {
    "out.npy": "npy_from_json('[1]')",
    "out.npz": "(SELECT npz_archive('a', npy_from_json('[1]')))",
    "out.ten": "(SELECT ten_archive(npy_from_json('[1]'), 'a'))",
}


@pytest.mark.parametrize("what", models())
@pytest.mark.parametrize("path", FORMS)
def test_models_are_not_replaced(db, folder, what, path):
    """npy_write over a model of torch.save succeeded and left 136 bytes."""
    data = models()[what]
    file = SET % 0 if path == SET else path
    write(file, data)
    create(db, path)
    texts = [error_of(db, inserting(path, 1))]
    if path != SET:
        texts.append(error_of(db, f"SELECT * FROM npy_write('{path}', {WRITTEN[path]})"))
    for text in texts:
        assert "replaced" in text and "remove it first" in text
    assert everything() == {f"./{file}": data}
    if what.startswith("PyTorch"):
        assert all("PyTorch" in text for text in texts) or path == SET

@pytest.mark.parametrize("what", models())
def test_nothing_is_added_to_a_model(db, folder, what):
    """Whether it is the CREATE or the first row that is refused."""
    data = models()[what]
    write("out.npz", data)
    with pytest.raises(sqlite3.Error, match="out.npz: "):
        create(db, "out.npz", "a")
        insert(db, "out.npz", 1)
    assert everything() == {"./out.npz": data}


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("what", ["an empty file", "an empty zip", "an empty tar"])
def test_empty_files_are_replaced(db, folder, path, what):
    data = {"an empty file": b"", "an empty zip": zip_bytes([]), "an empty tar": bytes(10240)}[what]
    write(SET % 0 if path == SET else path, data)
    create(db, path)
    if (what == "an empty tar") <= (path == SET) and (what == "an empty zip") <= (path != SET):
        insert(db, path, 1)
        assert rows_of(path) == [1]
    else:
        assert "not replaced" in error_of(db, inserting(path, 1))
