"""Tables that change rows: CREATE VIRTUAL TABLE temp.y USING npy('y.npy', mode='r+', ...) and UPDATE."""

import io
import os
import resource
import shutil
import sqlite3
import threading

import numpy as np
import pytest

import shell
from arrays import (
    SCALARS,
    both_byte_orders,
    expressible_array,
    has_json,
    npy_bytes,
    object_npy_bytes,
    random_array,
    random_structured_dtype,
    seeded_generator,
    ten_bytes,
    without_undefined,
)
from expected import error_of
from tars import shard_writer
from written import contents, make, only


def begin(array, path="y.npy", **arguments):
    """Saves the array, and gives a connection a table of it."""
    np.save(path, array)
    db = shell.connect()
    db.isolation_level = None
    make(db, path, "y", mode="r+", **arguments)
    return db


def is_same_bytes(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


# --- values ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCALARS)
def test_values_of_every_dtype(connect, folder, name):
    rng = seeded_generator()
    for dtype in both_byte_orders(name):
        array = expressible_array(rng, dtype, (17,))
        np.save("in.npy", array)
        db = begin(np.zeros_like(array))
        db.execute("CREATE VIRTUAL TABLE temp.source USING npy('in.npy')")
        db.execute("UPDATE y SET value = (SELECT source.value FROM source WHERE source.rowid = y.rowid)")
        db.close()
        assert without_undefined(contents("y.npy"), dtype) == without_undefined(npy_bytes(array), dtype), dtype
    only(folder, "in.npy", "y.npy")


def test_fields_of_structured_dtypes(folder):
    """Those that are set have the values of another array; all other bytes, padding too, are what they were."""
    rng, checked = seeded_generator(), 0
    while checked < 40:
        dtype = random_structured_dtype(rng)
        if not has_json(dtype) or any(dtype[name].base.names for name in dtype.names):
            continue
        old = np.frombuffer(rng.bytes(9 * max(dtype.itemsize, 1)), "V1")[: 9 * dtype.itemsize].view(dtype) if dtype.itemsize else np.zeros(9, dtype)
        new = expressible_array(rng, dtype, (9,))
        np.save("in.npy", new)
        db = begin(old)
        db.execute("CREATE VIRTUAL TABLE temp.source USING npy('in.npy')")
        columns = [row[1] for row in db.execute("PRAGMA table_info(y)")]
        chosen = [i for i in range(len(columns)) if rng.integers(2) or len(columns) == 1]
        want = np.frombuffer(bytearray(old.tobytes()), dtype) if dtype.itemsize else old.copy()
        for i in chosen:
            want[dtype.names[i]][3:] = new[dtype.names[i]][3:]
        if chosen:
            quoted = ['"' + columns[i].replace('"', '""') + '"' for i in chosen]
            sets = ", ".join(f"{c} = (SELECT source.{c} FROM source WHERE source.rowid = y.rowid)" for c in quoted)
            db.execute(f"UPDATE y SET {sets} WHERE rowid >= 3")
        db.close()
        got = np.load("y.npy")
        for part in dtype.names:
            assert without_undefined_items(got[part]) == without_undefined_items(want[part]), (dtype, part)
        left = padding_of(dtype)
        assert [bytes(a[left]) for a in rows_of(got)] == [bytes(a[left]) for a in rows_of(want)]
        checked += 1


def without_undefined_items(items):
    items = np.ascontiguousarray(items)
    return without_undefined(npy_bytes(items), items.dtype)


def rows_of(array):
    return np.frombuffer(array.tobytes(), "u1").reshape(len(array), -1)


def padding_of(dtype):
    left = np.ones(dtype.itemsize, bool)
    for name in dtype.names:
        part, off = dtype.fields[name][:2]
        left[off : off + part.itemsize] = False
    return left


def test_what_is_not_set_keeps_its_bytes(folder):
    """NaN of any payload, -0.0, texts after a NUL, lone surrogates: what SQL has no value for."""
    items = np.zeros(5, [("a", "<u4"), ("b", "S6"), ("c", "<U2"), ("d", "?"), ("n", "<i4")])
    items["a"] = [0x7FC12345, 0xFFC00001, 0x7F800001, 0x80000000, 1]
    items["b"] = [b"x\0y", b"", b"\xff", b"\0z", b"abc"]
    raw = bytearray(items.tobytes())
    for i in range(5):
        raw[i * items.itemsize + 10 : i * items.itemsize + 14] = (0xDC00).to_bytes(4, "little")
        raw[i * items.itemsize + 18] = 7  # a bool that is neither 0 nor 1
    old = np.frombuffer(bytes(raw), [("a", "<f4"), ("b", "S6"), ("c", "<U2"), ("d", "?"), ("n", "<i4")])
    db = begin(old)
    db.execute("UPDATE y SET n = n + 1")
    want = old.copy()
    want["n"] += 1
    assert contents("y.npy") == npy_bytes(want)


def test_random_statements(folder):
    """The same statements on an ordinary table, with savepoints; what NumPy loads in the end is the same, too."""
    rng = seeded_generator()
    for round in range(30):
        nrows, ncolumns = int(rng.integers(1, 3000)), int(rng.integers(1, 6))
        dtype = rng.choice(["<i4", ">i8", "<f8", ">f4", "<i2", "u1"])
        order = rng.choice(["C", "F"])
        array = np.asarray(rng.integers(0, 100, (nrows, ncolumns)), dtype=dtype, order=order)
        array = array[:, 0] if ncolumns == 1 else array
        db = begin(array)
        columns = ["value"] if ncolumns == 1 else [f"c{i}" for i in range(ncolumns)]
        listed = ", ".join(columns)
        db.execute(f"CREATE TABLE t(rowno INTEGER PRIMARY KEY, {listed})")
        db.execute(f"INSERT INTO t SELECT rowid, {listed} FROM y")
        level, in_transaction = 0, False

        def both(sql):
            db.execute(sql.replace("@", "y"))
            db.execute(sql.replace("@", "t").replace("rowid", "rowno"))

        for _ in range(25):
            kind = rng.integers(10)
            c, d = rng.choice(columns), rng.choice(columns)
            low, high, n = int(rng.integers(0, nrows)), int(rng.integers(0, nrows)), int(rng.integers(0, 50))
            if kind == 0 and not in_transaction:
                db.execute("BEGIN")
                in_transaction = True
            elif kind == 1 and in_transaction:
                db.execute(f"SAVEPOINT s{level}")
                level += 1
            elif kind == 2 and level > 0:
                to = int(rng.integers(level))
                db.execute(f"ROLLBACK TO s{to}")
                level = to + 1
            elif kind == 3 and level > 0:
                level = int(rng.integers(level))
                db.execute(f"RELEASE s{level}")
            elif kind == 4 and in_transaction:
                db.execute("ROLLBACK" if rng.integers(2) else "COMMIT")
                in_transaction, level = False, 0
            elif kind == 5:
                both(f"UPDATE @ SET {c} = {n} WHERE rowid = {low}")
            elif kind == 6:
                both(f"UPDATE @ SET {c} = {d} + 1 WHERE {d} < {n} AND rowid % 3 = {n % 3} AND {d} < 100")
            elif kind == 7:
                both(f"UPDATE @ SET {c} = (SELECT min(o.{d}) FROM @ AS o WHERE o.rowid BETWEEN {min(low, high)} AND {max(low, high)}) WHERE rowid > {high}")
            elif kind == 8:
                both(f"UPDATE @ SET {c} = {n}, {d} = {c} WHERE rowid IN (SELECT o.rowid FROM @ AS o WHERE o.{c} = {n} LIMIT 5)")
            else:
                both(f"UPDATE @ SET {c} = {n} WHERE rowid BETWEEN {low} AND {high} OR {d} = {n}")
            checked = f"SELECT rowid, {listed} FROM @"
            assert db.execute(checked.replace("@", "y")).fetchall() == db.execute(checked.replace("@", "t")).fetchall()
        if in_transaction:
            db.execute("COMMIT")
        want = np.array(db.execute(f"SELECT {listed} FROM t").fetchall(), dtype).reshape(array.shape)
        got = np.load("y.npy")
        assert np.array_equal(got, want) and got.dtype == array.dtype
        assert got.flags.f_contiguous == array.flags.f_contiguous
        db.close()
    only(folder, "y.npy")


@pytest.mark.parametrize(
    "shape, text, index",
    [
        ((20,), "::2", np.s_[::2]),
        ((20,), "::-3", np.s_[::-3]),
        ((20,), "5:9", np.s_[5:9]),
        ((20, 5), "::2, 1:4", np.s_[::2, 1:4]),
        ((20, 5), "::-1, ::-2", np.s_[::-1, ::-2]),
        ((20, 5), ":, 2", np.s_[:, 2]),
        ((20, 5), "3", np.s_[3]),
        ((6, 4, 3), ":, 1", np.s_[:, 1]),
        ((6, 4, 3), "::-2, ::2, ::-1", np.s_[::-2, ::2, ::-1]),
        ((6, 4, 3, 2), "1:, :, 2", np.s_[1:, :, 2]),
    ],
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_slices(folder, shape, text, index, order):
    """Rows keep the numbers that they have in the file; numpy.memmap with the same slice is the oracle."""
    rng = seeded_generator()
    array = np.asarray(rng.integers(0, 1000, shape), dtype="<i4", order=order)
    db = begin(array, slice=text)
    np.save("want.npy", array)
    mapped = np.load("want.npy", mmap_mode="r+")
    view = mapped[index]
    new = rng.integers(0, 1000, view.shape)
    numbers = np.arange(shape[0])[index if not isinstance(index, tuple) else index[0]] if text != "3" else np.arange(shape[1])
    for number, row in zip(numbers, new):
        if row.ndim == 1:
            sets = ", ".join(f"c{i} = {value}" for i, value in enumerate(row.tolist()))
        elif row.ndim == 0:
            sets = f"value = {row}"
        else:
            sets = f"value = '{row.tolist()}'"
        db.execute(f"UPDATE y SET {sets} WHERE rowid = {number}")
    view[...] = new
    mapped.flush()
    assert contents("y.npy") == contents("want.npy")
    assert db.execute("UPDATE y SET rowid = rowid").rowcount == len(new)


def test_another_dtype(folder):
    array = np.arange(6, dtype="<u2")
    db = begin(array, view="bfloat16")
    db.execute("UPDATE y SET value = 1.5 WHERE rowid = 2")
    array[2] = 0x3FC0
    assert contents("y.npy") == npy_bytes(array)


@pytest.mark.parametrize("order", ["C", "F"])
def test_many_columns(folder, order):
    """More columns than there are windows, each longer than one of them."""
    rng = seeded_generator()
    array = np.asarray(rng.integers(0, 9, (4000, 150)), dtype="<f8", order=order)
    db = begin(array)
    db.execute("BEGIN")
    db.execute("SAVEPOINT a")
    db.execute("UPDATE y SET c0 = c149, c64 = c0 + c128, c128 = 0.5, c149 = rowid")
    db.execute("UPDATE y SET c3 = 7")
    db.execute("ROLLBACK TO a")
    assert db.execute("SELECT sum(c3), sum(c149) FROM y").fetchone() == (array[:, 3].sum(), array[:, 149].sum())
    db.execute("UPDATE y SET c0 = c149, c64 = c0 + c128, c128 = 0.5, c149 = rowid")
    db.execute("COMMIT")
    want = array.copy(order=order)
    want[:, 0], want[:, 64], want[:, 128], want[:, 149] = array[:, 149], array[:, 0] + array[:, 128], 0.5, np.arange(4000)
    assert contents("y.npy") == npy_bytes(want)


def test_rows_larger_than_a_window(folder):
    rng = seeded_generator()
    for order in "CF":
        array = np.asarray(rng.random((3, 200, 300)), order=order)
        new = rng.random((200, 300))
        db = begin(array)
        db.execute("UPDATE y SET value = npy_from_data(?, 'f8', '[200, 300]') WHERE rowid = 1", (new.tobytes(),))
        array[1] = new
        assert contents("y.npy") == npy_bytes(array)
        db.close()


def test_arrays_of_one_file(folder):
    """Several arrays that were saved one after the other are columns side by side, or one of them is the table."""
    a, b = np.arange(5), np.arange(5) / 2
    with open("y.npy", "wb") as file:
        np.save(file, a)
        np.save(file, b)
    db = shell.connect()
    make(db, "y.npy", "y", mode="r+", columns="a,b")
    db.execute("CREATE VIRTUAL TABLE temp.second USING npy('y.npy', mode='r+', member=1)")
    db.isolation_level = None
    db.execute("UPDATE y SET a = b * 10, b = a WHERE rowid > 1")
    db.execute("UPDATE second SET value = -1 WHERE rowid = 0")
    a[2:], b[2:] = b[2:] * 10, [2, 3, 4]
    b[0] = -1
    assert contents("y.npy") == npy_bytes(a) + npy_bytes(b)


def test_what_lies_after_the_last_item_stays(folder):
    data = npy_bytes(np.arange(4)) + b"notes of mine"
    (folder / "y.npy").write_bytes(data)
    db = shell.connect()
    make(db, "y.npy", "y", mode="r+")
    db.execute("UPDATE y SET value = 9 WHERE rowid = 3")
    db.commit()
    want = npy_bytes(np.array([0, 1, 2, 9])) + b"notes of mine"
    assert contents("y.npy") == want


def test_arrays_without_an_axis_and_without_rows(folder):
    db = begin(np.array(3.5))
    db.execute("UPDATE y SET value = value + 1")
    assert contents("y.npy") == npy_bytes(np.array(4.5))
    db = begin(np.zeros((0, 3)))
    before = os.stat("y.npy")
    db.execute("UPDATE y SET c1 = 2")
    assert os.stat("y.npy") == before


# --- transactions ------------------------------------------------------------------------------------------


def test_only_the_connection_that_writes_sees_it(connect, folder):
    db, other = begin(np.arange(5)), connect()
    make(other, "y.npy", "y", mode="r")
    inode = os.stat("y.npy").st_ino
    db.execute("BEGIN")
    db.execute("UPDATE y SET value = value * 10")
    assert [row for (row,) in db.execute("SELECT value FROM y")] == [0, 10, 20, 30, 40]
    assert db.execute("SELECT value FROM y WHERE rowid = 3").fetchone() == (30,)
    assert db.execute("SELECT sum(value) FROM npy_rows('y.npy')").fetchone() == (10,)  # the file is as it was
    assert other.execute("SELECT sum(value) FROM y").fetchone() == (10,)
    only(folder, "y.npy", pending=["y.npy"])
    db.execute("COMMIT")
    assert other.execute("SELECT sum(value) FROM y").fetchone() == (100,)
    assert os.stat("y.npy").st_ino != inode
    db.execute("BEGIN")
    db.execute("UPDATE y SET value = 0")
    db.execute("ROLLBACK")
    assert db.execute("SELECT sum(value) FROM y").fetchone() == (100,)
    only(folder, "y.npy")


def test_a_statement_that_fails_changes_nothing(folder):
    db = begin(np.arange(5))
    db.execute("BEGIN")
    db.execute("UPDATE y SET value = 10 WHERE rowid = 0")
    late = "UPDATE {} y SET value = CASE rowid WHEN 3 THEN 'x' ELSE -1 END"
    with pytest.raises(sqlite3.IntegrityError, match="row 3: column 'value': 'x' does not fit int64"):
        db.execute(late.format(""))
    assert db.execute("SELECT group_concat(value) FROM y").fetchone() == ("10,1,2,3,4",)
    db.execute(late.format("OR IGNORE"))
    assert db.execute("SELECT group_concat(value) FROM y").fetchone() == ("-1,-1,-1,3,-1",)
    db.execute("UPDATE y SET value = 5")
    with pytest.raises(sqlite3.IntegrityError):
        db.execute(late.format("OR FAIL"))
    assert db.execute("SELECT group_concat(value) FROM y").fetchone() == ("-1,-1,-1,5,5",)
    with pytest.raises(sqlite3.IntegrityError):
        db.execute(late.format("OR ROLLBACK"))
    assert not db.in_transaction and contents("y.npy") == npy_bytes(np.arange(5))


def test_a_value_that_does_not_fit_leaves_its_row(folder):
    """All of a row is looked at before any of it changes."""
    db = begin(np.zeros((2, 3), "i1"))
    db.execute("UPDATE OR IGNORE y SET c0 = 1, c1 = 2, c2 = CASE rowid WHEN 0 THEN 200 ELSE 3 END")
    assert np.load("y.npy").tolist() == [[0, 0, 0], [1, 2, 3]]


def test_several_files_in_one_transaction(folder):
    db = begin(np.zeros(3))
    np.save("z.npy", np.zeros(3, "i4"))
    make(db, "z.npy", "z", mode="r+")
    make(db, "out.npy", "out", mode="w+", dtype="f8")
    for end in ("ROLLBACK", "COMMIT"):
        db.execute("BEGIN")
        db.execute("UPDATE y SET value = 1")
        db.execute("UPDATE z SET value = (SELECT sum(y.value) FROM y)")
        db.execute("INSERT INTO out SELECT y.value + z.value FROM y JOIN z ON z.rowid = y.rowid")
        assert db.execute("SELECT group_concat(value) FROM out").fetchone() == ("4.0,4.0,4.0",)
        db.execute(end)
        assert np.load("z.npy").tolist() == ([3, 3, 3] if end == "COMMIT" else [0, 0, 0])
    assert np.load("y.npy").tolist() == [1, 1, 1] and np.load("out.npy").tolist() == [4, 4, 4]
    only(folder, "out.npy", "y.npy", "z.npy")


def test_two_that_change_one_file(folder):
    db, other = begin(np.arange(3)), shell.connect()
    other.isolation_level = None
    make(other, "y.npy", "y", mode="r+")
    make(other, "y.npy", "more", mode="a")
    make(db, "y.npy", "twin", mode="r+")
    db.execute("BEGIN")
    db.execute("UPDATE y SET value = 7 WHERE rowid = 0")
    for sql in ("UPDATE y SET value = 8", "INSERT INTO more VALUES (3)"):
        assert "is being written to by another writer" in error_of(other, sql)
    assert "is being written to by table y; commit its rows first" in error_of(db, "UPDATE twin SET value = 8")
    db.execute("COMMIT")
    other.execute("UPDATE y SET value = value + 1")
    other.execute("INSERT INTO more VALUES (3)")
    db.execute("UPDATE twin SET value = -1 WHERE rowid = 3")
    assert np.load("y.npy").tolist() == [8, 2, 3, -1]


def test_a_file_that_changes_after_its_rows_were_read(folder):
    """An UPDATE reads first and writes then: what another program puts there in between is not lost."""
    db = begin(np.arange(3))

    def replace(value):
        np.save("new.npy", np.array([100, 200, 300]))
        os.replace("new.npy", "y.npy")
        return value + 1

    db.create_function("replace_it", 1, replace)
    assert "y.npy: was changed by another program after its rows were read; run the statement again" in error_of(db, "UPDATE y SET value = replace_it(value)")
    assert np.load("y.npy").tolist() == [100, 200, 300]
    db.execute("UPDATE y SET value = value + 1")
    assert np.load("y.npy").tolist() == [101, 201, 301]
    only(folder, "y.npy")


def test_the_same_in_the_transaction_that_made_the_table(folder):
    """SQLite tells such a table of no beginning."""
    np.save("y.npy", np.arange(3))
    db = shell.connect()
    db.isolation_level = None
    db.create_function("replace_it", 1, lambda value: (os.replace("new.npy", "y.npy") if os.path.exists("new.npy") else None, value)[1])
    for text, want in (("value + 1", [1, 2, 3]), ("replace_it(value)", [7, 8])):
        np.save("new.npy", np.array([7, 8]))
        db.execute("BEGIN")
        make(db, "y.npy", "y", mode="r+")
        failed = error_of(db, f"UPDATE y SET value = {text}") if "replace" in text else db.execute(f"UPDATE y SET value = {text}") and None
        assert failed is None or "was changed by another program" in failed
        db.execute("COMMIT")
        db.execute("DROP TABLE IF EXISTS y")
        assert np.load("y.npy").tolist() == want


@pytest.mark.parametrize("change", ["replaced", "written to", "removed"])
def test_a_file_that_changes_before_the_commit(folder, change):
    db = begin(np.arange(3))
    db.execute("BEGIN")
    db.execute("UPDATE y SET value = 9")
    if change == "replaced":
        np.save("new.npy", np.arange(4))
        os.replace("new.npy", "y.npy")
    elif change == "removed":
        os.remove("y.npy")
    else:
        with open("y.npy", "r+b") as file:
            file.seek(128)
            file.write(b"\7")
    before = contents("y.npy") if change != "removed" else None
    message = error_of(db, "COMMIT")
    assert "y.npy: was " in message and "while it was written to" in message
    assert not db.in_transaction
    assert (contents("y.npy") if os.path.exists("y.npy") else None) == before
    only(folder, *([] if before is None else ["y.npy"]))


def test_cursors_that_outlive_a_transaction(folder):
    n = 200_000
    db = begin(np.arange(n))
    db.execute("BEGIN")
    db.execute("UPDATE y SET value = value + 1")
    rows = db.execute("SELECT rowid, value FROM y")
    assert rows.fetchone() == (0, 1)
    db.execute("COMMIT")
    assert all(value == number + 1 for number, value in rows)
    db.execute("BEGIN")
    db.execute("UPDATE y SET value = 0")
    rows = db.execute("SELECT rowid, value FROM y")
    assert rows.fetchone() == (0, 0)
    db.execute("ROLLBACK")
    assert len(rows.fetchall()) == n - 1  # SQLite lets them go on; what they read is still there for them
    rows = db.execute("SELECT value FROM y")
    assert rows.fetchone() == (1,)
    db.execute("UPDATE y SET value = 5 WHERE rowid = 100")
    assert len(rows.fetchall()) == n - 1
    assert db.execute("SELECT value FROM y WHERE rowid = 100").fetchone() == (5,)


def test_a_schema_that_changes_in_between(folder):
    db = begin(np.arange(3))
    db.execute("BEGIN")
    db.execute("UPDATE y SET value = 8 WHERE rowid = 1")
    db.execute("CREATE TABLE t(x)")
    assert db.execute("SELECT group_concat(value) FROM y").fetchone() == ("0,8,2",)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        db.execute("DROP TABLE y")
    db.execute("COMMIT")
    assert np.load("y.npy").tolist() == [0, 8, 2]


def test_an_update_of_no_rows_touches_nothing(folder):
    db = begin(np.arange(3))
    before = os.stat("y.npy")
    db.execute("UPDATE y SET value = 8 WHERE value > 10")
    db.execute("BEGIN")
    db.execute("UPDATE y SET value = 8 WHERE rowid = 10")
    db.execute("SAVEPOINT a")
    db.execute("UPDATE y SET value = 8")
    db.execute("ROLLBACK TO a")
    db.execute("COMMIT")
    assert os.stat("y.npy") == before


def test_a_full_disk(folder):
    np.save("y.npy", np.zeros(200_000))
    db, limit = shell.connect(), resource.getrlimit(resource.RLIMIT_FSIZE)
    db.isolation_level = None
    db.execute("PRAGMA temp_store = memory")  # SQLite's own copy of the rows has the same limit else
    make(db, "y.npy", "y", mode="r+")
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, limit[1]))
        message = error_of(db, "UPDATE y SET value = 1")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert message.startswith("npyext: y.npy: cannot be written (File too large")
    assert contents("y.npy") == npy_bytes(np.zeros(200_000))
    only(folder, "y.npy")
    db.execute("UPDATE y SET value = 1")
    assert contents("y.npy") == npy_bytes(np.ones(200_000))


def test_permissions_and_links(folder):
    db = begin(np.arange(3))
    os.chmod("y.npy", 0o640)
    os.symlink("y.npy", "link.npy")
    make(db, "link.npy", "linked", mode="r+")
    db.execute("UPDATE linked SET value = 4")
    assert os.path.islink("link.npy") and os.stat("y.npy").st_mode & 0o777 == 0o640
    assert np.load("y.npy").tolist() == [4, 4, 4]


def test_threads_of_one_file(folder):
    """Each connection adds to the counter until all have; those that are refused begin again."""
    begin(np.zeros(2, "i8")).close()
    nwriters, neach, failures = 4, 25, []

    def count(number):
        db = shell.connect()
        db.isolation_level = None
        make(db, "y.npy", "y", mode="r+")
        done = 0
        while done < neach:
            try:
                db.execute("UPDATE y SET value = value + 1 WHERE rowid = 0")
                done += 1
            except sqlite3.OperationalError as error:
                if "another" not in str(error) and "replaced" not in str(error):
                    failures.append(str(error))
                    return
        db.close()

    threads = [threading.Thread(target=count, args=(i,)) for i in range(nwriters)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == [] and np.load("y.npy").tolist() == [nwriters * neach, 0]
    only(folder, "y.npy")


# --- refusals ----------------------------------------------------------------------------------------------


def test_what_is_never_changed(connect, folder):
    db = connect()
    np.savez("a.npz", w=np.arange(3), v=np.arange(4))
    (folder / "a.ten").write_bytes(ten_bytes([np.arange(3.0)]))
    (folder / "o.npy").write_bytes(object_npy_bytes())
    (folder / "s.tar").write_bytes(shard_writer([("a", {"npy": npy_bytes(np.arange(3))})])[0])
    (folder / "note.txt").write_bytes(b"not an array at all")
    np.save("y.npy", np.arange(3))
    before = {name: contents(name) for name in os.listdir(folder)}
    for path, message in [
        ("a.npz", "only changes rows of a .npy; make a new .npz from this file's arrays instead, as in SELECT * FROM npy_write('new.npz', (SELECT npz_archive(name, array) FROM npy_file('old.npz')))"),
        ("a.ten", "(SELECT ten_archive(array, name) FROM npy_file('old.ten'))"),
        ("s.tar", "only changes rows of a .npy"),
        ("o.npy", "holds Python objects, which are a pickle and are never written"),
        ("missing.npy", "no such file; mode='r+' changes an existing one, and 'w+' makes a new one"),
        ("note.txt", "not a .npy"),
    ]:
        assert message in error_of(db, f"CREATE VIRTUAL TABLE temp.y USING npy('{path}', mode='r+')"), path
    for more, message in [
        ("dtype='f4'", "dtype belongs to tables that write (mode='w+')"),
        ("shape='[-1]'", "shape belongs to tables that write"),
        ("columns='a,b'", "columns lists 2 names for 1 column"),
        ("slice='99'", "99"),
    ]:
        assert message in error_of(db, f"CREATE VIRTUAL TABLE temp.y USING npy('y.npy', mode='r+', {more})"), more
    assert "must be a TEMP table" in error_of(db, "CREATE VIRTUAL TABLE y USING npy('y.npy', mode='r+')")
    assert {name: contents(name) for name in os.listdir(folder)} == before


def test_rows_are_neither_added_nor_taken_out(folder):
    db = begin(np.arange(3))
    for sql, done in (("INSERT INTO y VALUES (3)", "added"), ("DELETE FROM y WHERE rowid = 0", "deleted")):
        message = error_of(db, sql)
        assert f"rows can only be changed, not {done}; mode='a' adds rows to a file, and npy_write makes a new one" in message
    with pytest.raises(sqlite3.IntegrityError, match="row 1 cannot be changed: it is the row's place in the array"):
        db.execute("UPDATE y SET rowid = 7 WHERE rowid = 1")
    make(db, "y.npy", "reading", mode="r")
    assert "to change rows, create one with mode='r+'" in error_of(db, "UPDATE reading SET value = 1")
    assert contents("y.npy") == npy_bytes(np.arange(3))


def test_a_file_that_became_another_array(folder):
    """Rows of another width are not written over."""
    db = begin(np.arange(3))
    np.save("y.npy", np.arange(3, dtype="i4"))
    assert "has changed since the table was made: it was <i8[*] and is <i4[*]" in error_of(db, "UPDATE y SET value = 1")
    np.save("y.npy", np.arange(2))
    db.execute("UPDATE y SET value = value + 1")
    assert np.load("y.npy").tolist() == [1, 2]


# --- SELECT on tables that add -----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["w+", "a"])
def test_reading_rows_that_are_added(connect, folder, mode):
    rng = seeded_generator()
    for shape, dtype in [((), "<f8"), ((), "M8[s]"), ((2,), ">i4"), ((2, 2), "<f4"), ((), [("a", "<i4"), ("b", "U3")])]:
        dtype = np.dtype(dtype)
        array = expressible_array(rng, dtype, (7, *shape))
        np.save("in.npy", array)
        if os.path.exists("out.npy"):
            os.remove("out.npy")
        if mode == "a":
            np.save("out.npy", array[:3])
        db = shell.connect()
        db.isolation_level = None
        texts = dict(mode=mode)
        if mode == "w+":
            texts |= dict(dtype=str(dtype.str) if dtype.names is None else '[["a", "<i4"], ["b", "<U3"]]', shape=str([-1, *shape]))
        make(db, **texts)
        begun = 3 if mode == "a" else 0
        listed = "SELECT rowid, * FROM out"
        assert [row[0] for row in db.execute(listed)] == list(range(begun))
        columns = "*" if len(shape) == 0 and dtype.names is not None else "value"
        if columns == "*":
            db.execute("CREATE VIRTUAL TABLE temp.source USING npy('in.npy')")
        source = "source" if columns == "*" else "npy_rows('in.npy')"
        number = "rowid" if columns == "*" else "row"
        db.execute("BEGIN")
        db.execute(f"INSERT INTO out SELECT {columns} FROM {source} WHERE {number} BETWEEN {begun} AND 4")
        pending = db.execute(listed).fetchall()
        assert [row[0] for row in pending] == list(range(5))
        db.execute("SAVEPOINT a")
        db.execute(f"INSERT INTO out SELECT {columns} FROM {source} WHERE {number} > 4")
        assert len(db.execute(listed).fetchall()) == 7
        db.execute("ROLLBACK TO a")
        assert db.execute(listed).fetchall() == pending
        assert db.execute(listed + " ORDER BY rowid DESC LIMIT 2").fetchall() == pending[:-3:-1]
        assert db.execute("SELECT count(*) FROM npy_rows('out.npy')").fetchone()[0] == begun if mode == "a" else not os.path.exists("out.npy")
        db.execute("COMMIT")
        assert db.execute(listed).fetchall() == pending
        assert contents("out.npy") == npy_bytes(array[:5])
        db.execute("BEGIN")
        db.execute(f"INSERT INTO out SELECT {columns} FROM {source} WHERE {number} > 4")
        assert len(db.execute(listed).fetchall()) == 7
        db.execute("ROLLBACK")
        assert db.execute(listed).fetchall() == pending
        db.close()


@pytest.mark.parametrize("path", ["out.npz", "out.ten"])
@pytest.mark.parametrize("mode", ["w+", "a"])
def test_reading_arrays_that_are_added(folder, path, mode):
    db = shell.connect()
    db.isolation_level = None
    listed = "SELECT rowid, name, npy_json(array) FROM out"
    if mode == "a":
        old = {"old": np.array([0.5])}
        np.savez(path, **old) if path.endswith("npz") else (folder / path).write_bytes(ten_bytes(list(old.values()), infos=["old"]))
    before = [(0, "old", "[0.5]")] if mode == "a" else []
    make(db, path, mode=mode)
    assert db.execute(listed).fetchall() == before
    db.execute("BEGIN")
    db.execute("INSERT INTO out VALUES ('a', npy_from_json('[1, 2]'))")
    first = [*before, (len(before), "a", "[1,2]")]
    assert db.execute(listed).fetchall() == first
    db.execute("SAVEPOINT s")
    db.execute("INSERT INTO out VALUES ('b', npy_from_json('[3]'))")
    assert len(db.execute(listed).fetchall()) == len(first) + 1
    db.execute("ROLLBACK TO s")
    db.execute("INSERT INTO out SELECT 'c', array FROM out WHERE name = 'a'")
    both = [*first, (len(first), "c", "[1,2]")]
    assert db.execute(listed).fetchall() == both
    assert db.execute(listed + " ORDER BY rowid DESC").fetchall() == both[::-1]
    assert db.execute(listed + " WHERE rowid = 0").fetchall() == both[:1]
    db.execute("COMMIT")
    assert db.execute(listed).fetchall() == both
    if path.endswith("npz"):
        assert {name: array.tolist() for name, array in np.load(path).items()} == {name: eval(text) for _, name, text in both}
    assert db.execute("SELECT group_concat(name) FROM npy_meta(?)", (path,)).fetchone() == (",".join(name for _, name, _ in both),)


def test_a_member_that_is_no_array(folder):
    import zipfile

    with zipfile.ZipFile("out.npz", "w") as archive:
        archive.writestr("README.md", "about these")
        archive.writestr("w.npy", npy_bytes(np.arange(2)))
    db = shell.connect()
    make(db, "out.npz", mode="a")
    assert db.execute("SELECT name, npy_json(array) FROM out").fetchall() == [("README.md", None), ("w", "[0,1]")]


def test_a_file_that_the_table_has_not_written(folder):
    """As NumPy's 'w+' has it: what was there is not the table's, and what another puts there is told."""
    np.save("out.npy", np.arange(3.0))
    db = shell.connect()
    db.isolation_level = None
    make(db, mode="w+", dtype="f8")
    assert db.execute("SELECT * FROM out").fetchall() == []
    assert np.load("out.npy").tolist() == [0, 1, 2]
    db.execute("INSERT INTO out VALUES (7)")
    assert db.execute("SELECT * FROM out").fetchall() == [(7,)]
    np.save("out.npy", np.arange(3.0))
    assert "is no longer as this table wrote it" in error_of(db, "SELECT * FROM out")
