"""Tables that write: CREATE VIRTUAL TABLE temp.out USING npy('out.npy', mode='w+' or 'a', ...)."""

import io
import os
import sqlite3
import stat
import threading
import time
import zipfile

import numpy as np
import pytest

import shell
from arrays import (
    SCALARS,
    both_byte_orders,
    descr_of,
    expressible_array,
    has_json,
    npy_bytes,
    npy_text_bytes,
    random_structured_dtype,
    seeded_generator,
    ten_bytes,
    without_undefined,
)
from expected import error_of
from written import contents, make, only


# --- what is written ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCALARS)
def test_values_of_every_dtype(connect, folder, name):
    rng, db = seeded_generator(), connect()
    for dtype in both_byte_orders(name):
        array = expressible_array(rng, dtype, (17,))
        np.save("in.npy", array)
        make(db, mode="w+", dtype=dtype.str)
        db.execute("INSERT INTO out SELECT value FROM npy_rows('in.npy')")
        db.execute("DROP TABLE out")
        assert without_undefined(contents(), dtype) == without_undefined(npy_bytes(array), dtype), dtype
    only(folder, "in.npy", "out.npy")


def test_structured_dtypes_have_their_fields_as_columns(connect, folder):
    rng, db = seeded_generator(), connect()
    checked = 0
    while checked < 40:
        dtype = random_structured_dtype(rng)
        if not has_json(dtype):
            continue
        array = expressible_array(rng, dtype, (6,))
        np.save("in.npy", array)
        db.execute("CREATE VIRTUAL TABLE temp.source USING npy('in.npy')")
        make(db, mode="w+", dtype=descr_of(dtype))
        assert [row[1:3] for row in db.execute("PRAGMA table_info(out)")] == [
            row[1:3] for row in db.execute("PRAGMA table_info(source)")
        ]
        db.execute("INSERT INTO out SELECT * FROM source")
        db.execute("DROP TABLE source")
        db.execute("DROP TABLE out")
        assert contents() == npy_bytes(array), dtype
        checked += 1


def test_rows_of_any_shape_by_data_json_and_arrays(connect, folder):
    rng, db = seeded_generator(), connect()
    for dtype in ("<f4", ">f4", "<i8", ">u2", "<f2", "|u1", "<c8", ">M8[s]"):
        for shape in [(5, 3), (4, 2, 3), (3, 1), (2, 0), (0, 4)]:
            array = expressible_array(rng, dtype, shape)
            np.save("in.npy", array)
            want = npy_bytes(array) if len(array) else contents()  # only rows write
            for value in ("data", "value", "r.array", "npy_slice(f.array, row)"):
                make(db, mode="w+", dtype=dtype, shape=[-1, *shape[1:]])
                assert [row[1] for row in db.execute("PRAGMA table_info(out)")] == ["row"]
                db.execute(f"INSERT INTO out SELECT {value} FROM npy_rows('in.npy') AS r, npy_file('in.npy') AS f")
                db.execute("DROP TABLE out")
                assert contents() == want, (dtype, shape, value)
        none = f"npy_reshape(npy_from_json('[]', '{dtype}'), '[0, 4]')"
        db.execute(f"SELECT * FROM npy_write('none.npy', {none})").fetchall()
        assert contents("none.npy") == npy_bytes(np.zeros((0, 4), dtype))


def test_named_columns(connect, folder):
    db = connect()
    make(db, mode="w+", dtype="f4", shape="[-1, 3]", columns="x,y,z")
    db.execute("INSERT INTO out(z, x, y) VALUES (3, 1, 2), (6.5, 4, 5)")
    assert contents() == npy_bytes(np.array([[1, 2, 3], [4, 5, 6.5]], "f4"))
    make(db, "one.npy", "one", mode="w+", dtype="i2", columns="label")
    db.execute("INSERT INTO one(label) VALUES (7)")
    assert contents("one.npy") == npy_bytes(np.array([7], "i2"))


def test_a_filtered_copy_of_the_design(connect, folder):
    rng, db = np.random.default_rng(1), connect()
    x, y = rng.standard_normal((1000, 128)).astype("f4"), rng.integers(0, 10, 1000)
    np.save("X.npy", x)
    np.save("y.npy", y)
    make(db, mode="w+", dtype="float32", shape="[-1, 128]")
    db.execute(
        "INSERT INTO out SELECT x.data FROM npy_rows('X.npy') x JOIN npy_rows('y.npy') y USING (row) WHERE y.value = 7"
    )
    assert contents() == npy_bytes(x[y == 7])


def test_a_hundred_headers_and_lengths(connect, folder):
    """The header is written when the number of rows is known, whatever its number of digits."""
    db = connect()
    none = "SELECT * FROM npy_write('out.npy', npy_from_json('[]', 'u1'))"  # a table writes no array without rows
    assert db.execute(none).fetchall() and contents() == npy_bytes(np.zeros(0, "u1"))
    for nrows in (1, 9, 10, 99, 100, 99999, 100000):
        make(db, mode="w+", dtype="u1")
        db.execute(
            "WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) INSERT INTO out SELECT i % 251 FROM n LIMIT ?", (nrows,)
        )
        db.execute("DROP TABLE out")
        assert contents() == npy_bytes((np.arange(nrows) % 251).astype("u1"))
    names = [f"column number {i} of many" for i in range(300)]
    dtype = np.dtype([(name, "<f4") for name in names] + [("\u540d", "u1")])
    make(db, mode="w+", dtype=descr_of(dtype))
    db.execute(f"INSERT INTO out VALUES ({', '.join('1' for _ in dtype.names)})")
    assert contents() == npy_bytes(np.ones(1, dtype))


def test_npz_and_ten(connect, folder):
    rng, db = seeded_generator(), connect()
    arrays = {"w": rng.standard_normal((3, 4)).astype("f4"), "b/x": np.arange(5), "\u540d": np.asfortranarray(np.ones((2, 3), ">i2"))}
    np.savez("in.npz", **arrays)
    for method, compress_type in (("stored", zipfile.ZIP_STORED), ("deflate:9", zipfile.ZIP_DEFLATED)):
        make(db, "out.npz", mode="w+", method=method)
        assert [row[1:3] for row in db.execute("PRAGMA table_info(out)")] == [("name", "TEXT"), ("array", "BLOB")]
        db.execute("INSERT INTO out SELECT name, array FROM npy_file('in.npz')")
        db.execute("DROP TABLE out")
        with zipfile.ZipFile("out.npz") as archive:
            assert archive.testzip() is None
            assert {entry.compress_type for entry in archive.infolist()} == {compress_type}
            for name, array in arrays.items():
                assert archive.read(f"{name}.npy") == npy_bytes(array)
    make(db, "out.ten", mode="w+")
    db.execute("INSERT INTO out(name, array) SELECT iif(name = 'w', 'w', 'other'), array FROM npy_file('in.npz')")
    others = [np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")) for array in arrays.values()]
    assert contents("out.ten") == ten_bytes(others, infos=["w", "other", "other"])
    only(folder, "in.npz", "out.npz", "out.ten")


# --- modes -------------------------------------------------------------------------------------------------


def test_w_replaces_once_and_then_adds(connect, folder):
    db = connect()
    np.save("out.npy", np.arange(3))
    make(db, mode="w+", dtype="i4")
    assert contents() == npy_bytes(np.arange(3))  # nothing is written yet
    for value in (1, 2, 3):
        db.execute("INSERT INTO out VALUES (?)", (value,))  # a transaction each
    assert contents() == npy_bytes(np.array([1, 2, 3], "i4"))
    db.execute("CREATE TABLE main.other(x)")
    db.execute("ALTER TABLE main.other RENAME TO another")  # SQLite makes its objects anew
    db.execute("ATTACH ':memory:' AS second")
    db.execute("DETACH second")
    db.execute("VACUUM")
    db.execute("INSERT INTO out VALUES (4)")
    assert contents() == npy_bytes(np.array([1, 2, 3, 4], "i4"))
    db.execute("ALTER TABLE out RENAME TO renamed")
    db.execute("INSERT INTO renamed VALUES (5)")
    assert contents() == npy_bytes(np.array([1, 2, 3, 4, 5], "i4"))
    db.execute("DROP TABLE renamed")
    make(db, mode="w+", dtype="i4")
    db.execute("INSERT INTO out VALUES (9)")
    assert contents() == npy_bytes(np.array([9], "i4"))
    only(folder, "out.npy")


def test_no_rows_replace_nothing(connect, folder):
    np.save("out.npy", np.arange(3))
    db = connect()
    make(db, mode="w+", dtype="f8", shape="[-1, 4]")
    db.execute("INSERT INTO out SELECT data FROM npy_rows('out.npy') WHERE 0")
    assert contents() == npy_bytes(np.arange(3))
    assert db.execute("SELECT changes()").fetchone() == (0,)  # by which a script sees that yesterday's file is still there
    none = "npy_reshape(npy_from_json('[]', 'f8'), '[0, 4]')"
    db.execute(f"SELECT * FROM npy_write('out.npy', {none})").fetchall()
    assert contents() == npy_bytes(np.zeros((0, 4)))
    only(folder, "out.npy")


@pytest.mark.parametrize("dtype, shape", [("<f4", (3,)), (">i8", (3, 2)), ("<U3", (3, 1, 2)), ([("a", "<i4"), ("b", "u1")], (3,))])
def test_rows_are_added_in_place(connect, folder, dtype, shape):
    rng, db = seeded_generator(), connect()
    array = expressible_array(rng, dtype, shape)
    np.save("out.npy", array)
    np.save("more.npy", array)
    inode = os.stat("out.npy").st_ino
    make(db, mode="a")
    columns = ", ".join(row[1] for row in db.execute("PRAGMA table_info(out)"))
    if array.dtype.names:
        db.execute("CREATE VIRTUAL TABLE temp.more USING npy('more.npy')")
        db.execute(f"INSERT INTO out({columns}) SELECT a, b FROM more")
    else:
        db.execute("INSERT INTO out SELECT value FROM npy_rows('more.npy')")
    both = np.concatenate([array, array]).astype(array.dtype)  # which may have changed its byte order
    assert contents() == npy_bytes(both)
    assert os.stat("out.npy").st_ino == inode
    db.execute("BEGIN")
    db.execute(f"INSERT INTO out({columns}) SELECT {columns} FROM more" if array.dtype.names else "INSERT INTO out SELECT value FROM npy_rows('more.npy')")
    db.execute("ROLLBACK")
    assert contents() == npy_bytes(both)
    only(folder, "more.npy", "out.npy")


def test_adding_begins_a_file_that_is_not_there(connect, folder):
    db = connect()
    assert "there is no such file to add to" in error_of(db, "CREATE VIRTUAL TABLE temp.o USING npy('out.npy', mode='a')")
    make(db, mode="a", dtype="i2")
    for i in range(3):
        db.execute("INSERT INTO out VALUES (?)", (i,))
    assert contents() == npy_bytes(np.arange(3, dtype="i2"))


def test_adding_to_headers_of_other_writers(connect, folder):
    """Rows are added to any header that has room for the new number; blanks may change, bytes after it do not."""
    db = connect()
    text = "{'shape': (2,), 'fortran_order': False, 'descr': '<i4'}" + " " * 40 + "\n"
    for header, version in ((text, (1, 0)), (text, (2, 0)), (text, (3, 0))):
        with open("out.npy", "wb") as file:
            file.write(npy_text_bytes(header, np.arange(2, dtype="<i4").tobytes(), version) + b"left by a crash")
        size = os.stat("out.npy").st_size - len(b"left by a crash")
        make(db, mode="a")
        db.execute("INSERT INTO out VALUES (7), (8)")
        db.execute("DROP TABLE out")
        assert os.stat("out.npy").st_size == size + 8 and contents()[6] == version[0]
        assert np.load("out.npy").tolist() == [0, 1, 7, 8]
    tight = "{'descr':'<i4','fortran_order':False,'shape':(2,)}\n"
    before = npy_text_bytes(tight, np.arange(2, dtype="<i4").tobytes())
    with open("out.npy", "wb") as file:
        file.write(before)
    make(db, mode="a")
    assert "the header has no room for more rows" in error_of(db, "INSERT INTO out VALUES (7)")
    assert contents() == before


def test_what_cannot_be_added_to(connect, folder):
    db = connect()
    cases = {
        "fortran.npy": (np.asfortranarray(np.ones((3, 2))), "Fortran order"),
        "scalar.npy": (np.array(1.0), "without an axis"),
    }
    for path, (array, message) in cases.items():
        np.save(path, array)
        assert message in error_of(db, f"CREATE VIRTUAL TABLE temp.o USING npy('{path}', mode='a')")
    np.save("x.npy", np.ones((3, 2)))
    for arguments in ("dtype='f4'", "shape='[-1, 3]'", "shape='[3, 2]'"):
        text = error_of(db, f"CREATE VIRTUAL TABLE temp.o USING npy('x.npy', mode='a', {arguments})")
        assert "rows can only be added as in the existing array, which is float64[3,2]" in text
    make(db, "x.npy", "fitting", mode="a", dtype="float64", shape="[-1, 2]")
    with open("two.npy", "wb") as file:
        np.save(file, np.arange(3))
        np.save(file, np.arange(3))
    make(db, "two.npy", "two", mode="a")
    assert "another array begins where this one ends" in error_of(db, "INSERT INTO two VALUES (1)")
    np.save("objects.npy", np.array([None]))
    assert "objects" in error_of(db, "CREATE VIRTUAL TABLE temp.o USING npy('objects.npy', mode='a')")


def test_a_file_that_changed_is_not_written_to(connect, folder):
    db = connect()
    make(db, mode="w+", dtype="i4")
    db.execute("INSERT INTO out VALUES (1)")
    np.save("out.npy", np.arange(5, dtype="i4"))
    before = contents()
    assert "is no longer as this table wrote it" in error_of(db, "INSERT INTO out VALUES (2)")
    np.save("added.npy", np.arange(3))
    make(db, "added.npy", "added", mode="a")
    np.save("added.npy", np.arange(3, dtype="f4"))
    assert "has changed since the table was made" in error_of(db, "INSERT INTO added VALUES (2)")
    assert contents() == before and contents("added.npy") == npy_bytes(np.arange(3, dtype="f4"))
    os.remove("out.npy")
    assert "out.npy" in error_of(db, "INSERT INTO out VALUES (2)")
    only(folder, "added.npy")


def test_archives_are_added_to(connect, folder):
    db = connect()
    one, two = npy_bytes(np.arange(3)), npy_bytes(np.ones((2, 2), "f4"))
    for path in ("out.npz", "out.ten"):
        make(db, path, mode="w+")
        db.execute("INSERT INTO out VALUES ('a', ?)", (one,))
        db.execute("INSERT INTO out VALUES ('b', ?)", (two,))
        db.execute("DROP TABLE out")
        make(db, path, mode="a")
        db.execute("INSERT INTO out VALUES ('c', ?)", (one,))
        db.execute("DROP TABLE out")
        names = [name for (name,) in db.execute("SELECT name FROM npy_meta(?)", (path,))]
        assert names == ["a", "b", "c"]
        assert db.execute("SELECT sum(value) FROM npy_elements(?, 'c')", (path,)).fetchone() == (3,)
    with np.load("out.npz") as loaded:
        assert loaded["b"].tolist() == [[1, 1], [1, 1]] and loaded["c"].tolist() == [0, 1, 2]
    only(folder, "out.npz", "out.ten")


# --- transactions ------------------------------------------------------------------------------------------


def test_commit_publishes_and_rollback_does_not(connect, folder):
    np.save("out.npy", np.arange(3))
    old = contents()
    db = connect()
    make(db, mode="w+", dtype="i4")
    db.execute("BEGIN")
    db.execute("INSERT INTO out VALUES (1), (2)")
    assert contents() == old
    only(folder, "out.npy", pending=["out.npy"])
    db.execute("ROLLBACK")
    assert contents() == old
    db.execute("BEGIN")
    db.execute("INSERT INTO out VALUES (3)")
    db.execute("INSERT INTO out VALUES (4)")
    db.execute("COMMIT")
    assert contents() == npy_bytes(np.array([3, 4], "i4"))
    db.execute("BEGIN")
    db.execute("INSERT INTO out VALUES (5)")
    db.execute("ROLLBACK")
    assert contents() == npy_bytes(np.array([3, 4], "i4"))
    db.execute("INSERT INTO out VALUES (6)")
    assert contents() == npy_bytes(np.array([3, 4, 6], "i4"))
    only(folder, "out.npy")


@pytest.mark.parametrize("path", ["out.npy", "out.npz", "out.ten"])
def test_savepoints(connect, folder, path):
    db = connect()
    archive = not path.endswith(".npy")
    make(db, path, mode="w+", **({} if archive else {"dtype": "i4"}))

    def insert(*values):
        for value in values:
            if archive:
                db.execute("INSERT INTO out SELECT ?, npy_array(?)", (f"m{value}", value))
            else:
                db.execute("INSERT INTO out VALUES (?)", (value,))

    db.execute("BEGIN")
    insert(1, 2)
    db.execute("SAVEPOINT a")
    insert(3)
    db.execute("SAVEPOINT b")
    insert(4)
    db.execute("ROLLBACK TO b")
    insert(5)
    db.execute("ROLLBACK TO b")
    insert(6)
    db.execute("RELEASE b")
    insert(7)
    db.execute("SAVEPOINT c")
    insert(8)
    db.execute("ROLLBACK TO a")
    insert(9)
    db.execute("SAVEPOINT d")
    insert(10)
    db.execute("RELEASE d")
    db.execute("COMMIT")
    values = [value for (value,) in db.execute("SELECT value FROM npy_elements(?)", (path,))]
    assert values == [1, 2, 9, 10]
    if not archive:
        assert contents() == npy_bytes(np.array(values, "i4"))


def test_random_savepoints(connect, folder):
    """Any sequence of inserts and savepoints leaves what it leaves in an ordinary table."""
    rng, db = seeded_generator(), connect()
    db.execute("CREATE TABLE plain(value)")
    for trial in range(30):
        make(db, mode="w+", dtype="i4")
        db.execute("DELETE FROM plain")
        db.execute("BEGIN")
        names = []
        for step in range(40):
            choice = rng.integers(5)
            if choice <= 1:
                for table in ("out", "plain"):
                    db.execute(f"INSERT INTO {table} VALUES (?)", (step,))
            elif choice == 2:
                names.append(f"s{int(rng.integers(3))}")
                db.execute(f"SAVEPOINT {names[-1]}")
            elif names:
                chosen = names[int(rng.integers(len(names)))]
                last = len(names) - 1 - names[::-1].index(chosen)
                db.execute(("ROLLBACK TO " if choice == 3 else "RELEASE ") + chosen)
                del names[last + (choice == 3) :]
        db.execute("COMMIT")
        want = [value for (value,) in db.execute("SELECT value FROM plain ORDER BY rowid")]
        db.execute("DROP TABLE out")
        if os.path.exists("out.npy"):
            assert contents() == npy_bytes(np.array(want, "i4"))
            os.remove("out.npy")
        else:
            assert not want


def test_a_statement_that_fails_leaves_nothing(connect, folder):
    db = connect()
    make(db, mode="w+", dtype="u1")
    many = "WITH n(i) AS (SELECT 250 UNION ALL SELECT i + 1 FROM n LIMIT 10) INSERT {} INTO out SELECT i FROM n"
    text = error_of(db, many.format(""), code=sqlite3.SQLITE_CONSTRAINT)
    assert text == "npyext: out.npy: row 6: column 'value': 256 does not fit uint8"
    only(folder)
    db.execute("BEGIN")
    db.execute("INSERT INTO out VALUES (1)")
    error_of(db, many.format(""), code=sqlite3.SQLITE_CONSTRAINT)  # undone by itself
    error_of(db, many.format("OR REPLACE"), code=sqlite3.SQLITE_CONSTRAINT)
    db.execute("INSERT INTO out VALUES (2)")
    error_of(db, many.format("OR FAIL"), code=sqlite3.SQLITE_CONSTRAINT)  # what came before stays
    db.execute(many.format("OR IGNORE"))
    db.execute("COMMIT")
    assert contents() == npy_bytes(np.array([1, 2, *range(250, 256), *range(250, 256)], "u1"))
    db.execute("BEGIN")
    db.execute("INSERT INTO out VALUES (3)")
    error_of(db, many.format("OR ROLLBACK"), code=sqlite3.SQLITE_CONSTRAINT)
    assert not db.in_transaction
    assert np.load("out.npy").size == 14
    only(folder, "out.npy")


def test_what_fails_before_the_first_row_replaces_nothing(connect, folder):
    """A script that goes on to its COMMIT after an error leaves the old file, not an empty one."""
    db = connect()
    for path in ("out.npy", "out.npz"):
        with open(path, "wb") as file:
            file.write(npy_bytes(np.arange(3)))
        is_npy = path == "out.npy"
        make(db, path, mode="w+", **({"dtype": "u1"} if is_npy else {}))
        good = "(7)" if is_npy else "('a', npy_from_json('[1]'))"
        bad = good + (", (300)" if is_npy else f", {good}")
        db.execute("BEGIN")
        error_of(db, f"INSERT INTO out VALUES {bad}", code=sqlite3.SQLITE_CONSTRAINT)
        db.execute("SAVEPOINT s")
        db.execute(f"INSERT INTO out VALUES {good}")
        db.execute("ROLLBACK TO s")
        db.execute("COMMIT")
        assert contents(path) == npy_bytes(np.arange(3))
        db.execute("BEGIN")
        error_of(db, f"INSERT INTO out VALUES {bad}", code=sqlite3.SQLITE_CONSTRAINT)
        db.execute(f"INSERT INTO out VALUES {good}")
        db.execute("COMMIT")
        assert db.execute("SELECT npy_size(array) FROM npy_file(?)", (path,)).fetchall() == [(1,)]
        db.execute("DROP TABLE out")
    only(folder, "out.npy", "out.npz")


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_a_table_made_in_the_transaction_that_writes(connect, folder, end):
    """SQLite does not call xBegin then."""
    db = connect()
    db.execute("BEGIN")
    make(db, mode="w+", dtype="i4")
    db.execute("INSERT INTO out VALUES (1), (2)")
    error_of(db, "INSERT INTO out VALUES (3), (NULL)", code=sqlite3.SQLITE_CONSTRAINT)
    db.execute("INSERT INTO out VALUES (4)")
    only(folder, pending=["out.npy"])
    db.execute(end)
    if end == "ROLLBACK":
        only(folder)
    else:
        assert contents() == npy_bytes(np.array([1, 2, 4], "i4"))
        db.execute("INSERT INTO out VALUES (5)")
        assert contents() == npy_bytes(np.array([1, 2, 4, 5], "i4"))


@pytest.mark.parametrize("rows", ["(1)", "(1), (2)"])
@pytest.mark.parametrize("outer", ["BEGIN", "SAVEPOINT outer"])
def test_a_table_whose_making_is_rolled_back_writes_nothing(connect, folder, rows, outer):
    db = connect()
    db.execute(outer)
    db.execute("SAVEPOINT s")
    make(db, mode="w+", dtype="i4")
    db.execute(f"INSERT INTO out VALUES {rows}")
    db.execute("ROLLBACK TO s")
    db.execute("COMMIT")
    only(folder)
    make(db, mode="w+", dtype="i4")
    db.execute("INSERT INTO out VALUES (7)")
    assert contents() == npy_bytes(np.array([7], "i4"))


def test_a_failure_elsewhere_rolls_the_file_back(connect, folder):
    """A commit that a foreign key refuses publishes nothing."""
    db = connect("other.db")
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("CREATE TABLE a(x PRIMARY KEY)")
    db.execute("CREATE TABLE b(x REFERENCES a DEFERRABLE INITIALLY DEFERRED)")
    make(db, mode="w+", dtype="i4")
    db.execute("BEGIN")
    db.execute("INSERT INTO out VALUES (1)")
    db.execute("INSERT INTO b VALUES (5)")
    with pytest.raises(sqlite3.IntegrityError):
        db.execute("COMMIT")
    assert not os.path.exists("out.npy")
    db.execute("ROLLBACK")
    only(folder, "other.db")


def test_closing_with_an_open_transaction(connect, folder):
    db = shell.connect()
    make(db, mode="w+", dtype="i4")
    db.execute("BEGIN")
    db.execute("INSERT INTO out VALUES (1)")
    db.close()
    only(folder)


def test_an_interrupt_leaves_the_old_file(connect, folder):
    np.save("out.npy", np.arange(3))
    old, db = contents(), connect()
    make(db, mode="w+", dtype="i8")
    timer = threading.Timer(0.3, db.interrupt)
    timer.start()
    began = time.monotonic()
    error = pytest.raises(sqlite3.OperationalError)
    with error as raised:
        db.execute("WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) INSERT INTO out SELECT i FROM n")
    timer.join()
    assert raised.value.sqlite_errorname == "SQLITE_INTERRUPT" and time.monotonic() - began < 10
    assert contents() == old
    only(folder, "out.npy")


def test_two_writers_of_one_file(connect, folder):
    one, two = connect(), connect()
    for db, value in ((one, 1), (two, 2)):
        make(db, mode="w+", dtype="i4")
        db.execute("BEGIN")
        db.execute("INSERT INTO out VALUES (?)", (value,))
    one.execute("COMMIT")
    assert "was changed or replaced by another program while it was written to" in error_of(two, "COMMIT")
    assert not two.in_transaction and contents() == npy_bytes(np.array([1], "i4"))  # whole, the first one's
    two.execute("INSERT INTO out VALUES (2)")  # which is what it replaces now
    assert contents() == npy_bytes(np.array([2], "i4"))
    assert "is no longer as this table wrote it" in error_of(one, "INSERT INTO out VALUES (3)")
    only(folder, "out.npy")
    three, four = connect(), connect()
    for db in (three, four):
        make(db, mode="a")
    three.execute("BEGIN")
    three.execute("INSERT INTO out VALUES (4)")
    assert "another" in error_of(four, "INSERT INTO out VALUES (5)")
    three.execute("COMMIT")
    four.execute("INSERT INTO out VALUES (5)")
    assert contents() == npy_bytes(np.array([2, 4, 5], "i4"))
    only(folder, "out.npy")


@pytest.mark.parametrize("path", ["out.npz", "out.ten"])
def test_two_writers_who_add_to_one_archive(connect, folder, path):
    """Each works on a copy: the later one must not take the earlier one's arrays away."""
    one, two, array = connect(), connect(), npy_bytes(np.arange(3))
    make(one, path, mode="w+")
    one.execute("INSERT INTO out VALUES ('a', ?)", (array,))
    for db in (one, two):
        db.execute("DROP TABLE IF EXISTS temp.out")
        make(db, path, mode="a")
    one.execute("BEGIN")
    one.execute("INSERT INTO out VALUES ('b', ?)", (array,))
    assert "is being written to by another writer" in error_of(two, "INSERT INTO out VALUES ('c', ?)", array)
    one.execute("COMMIT")
    two.execute("INSERT INTO out VALUES ('c', ?)", (array,))
    assert [name for (name,) in two.execute("SELECT name FROM npy_meta(?)", (path,))] == ["a", "b", "c"]
    two.execute("BEGIN")
    two.execute("INSERT INTO out VALUES ('d', ?)", (array,))
    other = contents(path)
    with open("other", "wb") as file:
        file.write(other)
    os.replace("other", path)
    assert "was changed or replaced by another program while it was written to" in error_of(two, "COMMIT")
    assert contents(path) == other
    only(folder, path)


def test_a_file_replaced_while_rows_are_added(connect, folder):
    np.save("out.npy", np.arange(3))
    db = connect()
    make(db, mode="a")
    db.execute("BEGIN")
    db.execute("INSERT INTO out VALUES (4)")
    np.save("new.npy", np.arange(5))
    os.replace("new.npy", "out.npy")
    assert "replaced" in error_of(db, "COMMIT")
    assert contents() == npy_bytes(np.arange(5))


def test_a_schema_that_changes_in_the_transaction(connect, folder):
    """SQLite makes another object of the table then: rows of both must not get lost."""
    db = connect()
    make(db, mode="w+", dtype="i4")
    db.execute("CREATE TABLE main.t(x)")
    db.execute("BEGIN")
    db.execute("INSERT INTO out VALUES (1)")
    db.execute("ALTER TABLE main.t RENAME TO u")
    try:
        db.execute("INSERT INTO out VALUES (2)")
        want = [1, 2]
    except sqlite3.OperationalError as error:
        assert "commit it first" in str(error)
        want = [1]
    db.execute("COMMIT")
    assert contents() == npy_bytes(np.array(want, "i4"))
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        db.executescript("BEGIN; INSERT INTO out VALUES (3); DROP TABLE out;")
    db.execute("COMMIT")
    assert contents() == npy_bytes(np.array(want + [3], "i4"))


# --- refusals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("'out.npy', mode='w+'", "a new .npy needs a dtype, as in dtype='float32'"),
        ("'out.npy', mode='w'", "unknown mode 'w': 'r' reads, 'r+' changes rows of a .npy, 'w+' writes a new file, 'a' adds to one"),
        ("'out.npy', mode='r+'", "no such file; mode='r+' changes an existing one, and 'w+' makes a new one"),
        ("'out.npy', mode='w+', dtype='f5'", "f5"),
        ("'out.npy', mode='w+', dtype='O'", "dtype O holds Python objects, which are a pickle and are never written"),
        ("'out.npy', mode='w+', dtype='f4', shape='[]'", "an array without an axis has no rows to add"),
        ("'out.npy', mode='w+', dtype='f4', shape='[3, -1]'", "a dimension of the shape is -1; only the first, the number of rows, may be negative: -1"),
        ("'out.npy', mode='w+', dtype='f4', shape='[-1, -1]'", "a dimension of the shape is -1; only the first, the number of rows, may be negative: -1"),
        ("'out.npy', mode='w+', dtype='f4', shape='[-1, 4611686018427387904]'", "a row has more bytes than a value in SQLite"),
        ("'out.npy', mode='w+', dtype='f4', shape='[-1, 3]', columns='a,b'", "columns lists 2 names for 3 columns"),
        ("'out.npy', mode='w+', dtype='f4', slice='::2'", "slice belongs to tables that read (mode='r')"),
        ("'out.npy', mode='w+', dtype='f4', member='x'", "member belongs to tables that read"),
        ("'out.npy', dtype='f4'", "dtype belongs to tables that write (mode='w+')"),
        ("'out.npz', mode='w+', dtype='f4'", "dtype is for a .npy; an .npz or a .ten is made of whole arrays"),
        ("'out.ten', mode='w+', method='deflate'", "method is for an .npz; a .ten is never compressed"),
        ("'out.npz', mode='w+', method='lzma'", "lzma"),
    ],
)
def test_declarations_that_make_no_sense(connect, folder, arguments, message):
    assert message in error_of(connect(), f"CREATE VIRTUAL TABLE temp.out USING npy({arguments})")
    only(folder)


def test_tables_that_write_are_temporary(connect, folder):
    """No database can carry one: whoever opens it would write files."""
    db = connect("a.db")
    sql = "CREATE VIRTUAL TABLE {} USING npy('out.npy', mode='w+', dtype='f4')"
    for name in ("out", "main.out"):
        assert "a table that writes must be a TEMP table" in error_of(db, sql.format(name))
    db.execute("PRAGMA writable_schema = ON")
    db.execute(
        "INSERT INTO sqlite_master(type, name, tbl_name, rootpage, sql) VALUES ('table', 'out', 'out', 0, ?)",
        (sql.format("out"),),
    )
    other = connect("a.db")
    with pytest.raises(sqlite3.OperationalError):
        other.execute("INSERT INTO out VALUES (1)")
    other.execute("PRAGMA writable_schema = ON")
    only(folder, "a.db")


def test_values_that_do_not_fit(connect, folder):
    db = connect()
    cases = [
        ("u1", 300, "300 does not fit uint8"),
        ("i4", 1.5, "1.5 does not fit int32"),
        ("f4", "x", "does not fit float32"),
        ("i4", None, "NULL does not fit int32"),
        ("<U2", "abc", "abc"),
        ("f2", 70000, "70000 does not fit float16"),
        ("M8[D]", "2020-01-01 10:00", "2020-01-01 10:00"),
        ("M8[D]", "yesterday", "yesterday"),
    ]
    for dtype, value, message in cases:
        make(db, mode="w+", dtype=dtype)
        with pytest.raises(sqlite3.IntegrityError) as raised:
            db.execute("INSERT INTO out VALUES (?)", (value,))
        assert str(raised.value).startswith("npyext: out.npy: row 0: column 'value': ") and message in str(raised.value)
        db.execute("DROP TABLE out")
    make(db, mode="w+", dtype="f4", shape="[-1, 2]")
    for value, message in [
        ("[1, 2, 3]", "row 0: "),
        ("[1]", "row 0: "),
        (b"1234", "row 0: the BLOB has 4 bytes, and 2 items of 4 bytes are 8"),
        (None, "row 0: NULL is not a row"),
        ("x.npy", "row 0: "),
    ]:
        with pytest.raises(sqlite3.IntegrityError) as raised:
            db.execute("INSERT INTO out VALUES (?)", (value,))
        assert message in str(raised.value)
    db.execute("DROP TABLE out")
    make(db, mode="w+", dtype="f4", shape="[2]")
    assert "the shape says 2 rows, and there are 1" in error_of(db, "INSERT INTO out VALUES (1)")
    error = pytest.raises(sqlite3.IntegrityError, match="the shape says 2 rows, and this would be one more")
    with error:
        db.execute("INSERT INTO out VALUES (1), (2), (3)")
    db.execute("INSERT INTO out VALUES (1), (2)")
    assert np.load("out.npy").tolist() == [1, 2]


def test_archives_refuse_what_they_cannot_hold(connect, folder):
    db = connect()
    array = npy_bytes(np.arange(3))
    make(db, "out.npz", "zip", mode="w+")
    make(db, "out.ten", "ten", mode="w+")
    for table, name, value, message in [
        ("zip", None, array, "the name is NULL, not a TEXT"),
        ("zip", 5.5, array, "the name is a REAL, not a TEXT"),
        ("zip", "x", None, "NULL"),
        ("zip", "x", "x.npy", "to open a path, use npy_file"),
        ("zip", "x", b"abc", ""),
        ("ten", "too long for it", array, "8"),
        ("ten", "x", npy_bytes(np.arange(3).astype("U1")), ""),
        ("ten", "x", npy_bytes(np.arange(3).astype("c8")), ""),
    ]:
        with pytest.raises(sqlite3.Error) as raised:
            db.execute(f"INSERT INTO {table} VALUES (?, ?)", (name, value))
        assert "row 0: " in str(raised.value) and message in str(raised.value), str(raised.value)
    db.execute("BEGIN")
    db.execute("INSERT INTO zip VALUES ('x', ?)", (array,))
    with pytest.raises(sqlite3.IntegrityError, match="row 1: .*x"):
        db.execute("INSERT INTO zip VALUES ('x', ?)", (array,))
    db.execute("COMMIT")
    only(folder, "out.npz")


def test_rows_are_only_added(connect, folder):
    db = connect()
    make(db, mode="w+", dtype="i4")
    db.execute("INSERT INTO out VALUES (1)")
    assert "rows can only be added, not deleted" in error_of(db, "DELETE FROM out")
    assert "rows can only be added, not changed; a table with mode='r+' changes those of a .npy" in error_of(db, "UPDATE out SET value = 2")
    with pytest.raises(sqlite3.IntegrityError, match="the next rowid is 1, not 7"):
        db.execute("INSERT INTO out(rowid, value) VALUES (7, 1)")
    cursor = db.execute("INSERT INTO out(rowid, value) VALUES (1, 8)")
    assert cursor.lastrowid == 1
    np.save("in.npy", np.arange(3))
    db.execute("CREATE VIRTUAL TABLE temp.reading USING npy('in.npy')")
    for sql in ("INSERT INTO reading VALUES (1)", "DELETE FROM reading"):
        assert "only reads; to write, create one with mode='w+'" in error_of(db, sql)
    assert contents("in.npy") == npy_bytes(np.arange(3))


# --- the file system ---------------------------------------------------------------------------------------


def test_permissions_are_those_of_a_plain_open(connect, folder):
    db = connect()
    before = os.umask(0o027)
    try:
        make(db, mode="w+", dtype="i4")
        db.execute("INSERT INTO out VALUES (1)")
        db.execute("DROP TABLE out")
        assert stat.S_IMODE(os.stat("out.npy").st_mode) == 0o640
        os.chmod("out.npy", 0o604)
        make(db, mode="w+", dtype="i4")
        db.execute("INSERT INTO out VALUES (2)")
        assert stat.S_IMODE(os.stat("out.npy").st_mode) == 0o604
    finally:
        os.umask(before)


def test_links_are_followed(connect, folder):
    db = connect()
    os.mkdir("data")
    np.save("data/real.npy", np.arange(3))
    os.symlink("data/real.npy", "out.npy")
    make(db, mode="w+", dtype="i4")
    db.execute("INSERT INTO out VALUES (1)")
    assert os.path.islink("out.npy") and contents("data/real.npy") == npy_bytes(np.array([1], "i4"))
    assert os.listdir("data") == ["real.npy"]


def test_what_is_no_file_is_not_replaced(connect, folder):
    db = connect()
    os.mkdir("folder.npy")
    os.mkfifo("fifo.npy")
    for path in ("folder.npy", "fifo.npy", "nowhere/out.npy", "/proc/self/out.npy"):
        make(db, path, mode="w+", dtype="i4")
        assert path in error_of(db, "INSERT INTO out VALUES (1)")
        db.execute("DROP TABLE out")
    only(folder, "folder.npy", "fifo.npy")


def test_constant_memory(folder):
    """A hundred megabytes go through a few."""
    done = shell.run(
        "CREATE VIRTUAL TABLE temp.out USING npy('out.npy', mode='w+', dtype='f8');\n"
        "INSERT INTO out SELECT value * 0.5 FROM generate_series(1, 12500000);\n"
        "SELECT sum(value) FROM npy_rows('out.npy');\n.shell grep VmHWM /proc/$PPID/status\n",
        folder,
    ) if not shell.SANITIZED else None
    if done is not None:
        assert "39062503125000.0" in done or "3.9062503125e+13" in done, done
        assert int(done.split("VmHWM:")[1].split()[0]) < 48 * 1024, done
