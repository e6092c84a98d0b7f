"""What some release of SQLite answered otherwise than the installed one, or not at all. test_sqlite_versions.py runs this on all
of them: here is nothing that an sqlite3 module over apsw does not have."""

import sqlite3

import numpy as np
import pytest

import shell
import tars


def fetched(db, sql, *parameters):
    return db.execute(sql, parameters).fetchall()


@pytest.fixture
def matrix(folder):
    np.save("m.npy", np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))


# SQLite 3.53 looks into the database of a value that sqlite3_value_dup has made, which has none.
@pytest.mark.parametrize("bound", ["'1'", "?"])
@pytest.mark.parametrize("operator, rows", [("=", [1]), (">", [2]), ("<=", [0, 1]), ("IS", [1])])
def test_a_row_number_beside_a_text_does_not_crash(matrix, db, bound, operator, rows):
    given = ["1"] if bound == "?" else []
    db.execute("CREATE VIRTUAL TABLE t USING npy('m.npy')")
    row = fetched(db, f"SELECT row FROM npy_rows('m.npy') WHERE row {operator} {bound} ORDER BY row", *given)
    rowid = fetched(db, f"SELECT rowid FROM t WHERE rowid {operator} {bound} ORDER BY rowid", *given)
    i0 = fetched(db, f"SELECT DISTINCT i0 FROM npy_elements('m.npy') WHERE i0 {operator} {bound} ORDER BY i0", *given)
    idx = fetched(db, f"SELECT idx FROM npy_elements('m.npy') WHERE idx {operator} {bound} AND idx < 3 ORDER BY idx", *given)
    assert row == rowid == i0 == idx == [(number,) for number in rows]


def test_a_join_with_texts_that_were_imported_does_not_crash(matrix, db):
    """`.import --csv` makes columns of TEXT."""
    db.execute("CREATE TABLE log(id TEXT, loss TEXT)")
    db.executemany("INSERT INTO log VALUES (?, ?)", [("2", "0.5"), (" 0", "0.25"), ("x", ""), ("1.5", ""), ("1e0", "0.125")])
    rows = fetched(db, "SELECT log.id, r.row, r.value FROM log JOIN npy_rows('m.npy') AS r ON r.row = log.id ORDER BY r.row")
    assert rows == [(" 0", 0, "[1.0,2.0]"), ("1e0", 1, "[3.0,4.0]"), ("2", 2, "[5.0,6.0]")]


@pytest.mark.parametrize("call", ["npy_sum(?)", "npy_mean(?)"])
def test_a_sum_of_complex_numbers_where_subtypes_must_be_declared(folder, db, call):
    """SQLite built with STRICT_SUBTYPE: `misuse of sqlite3_result_subtype()`."""
    np.save("c.npy", np.array([1 + 2j, 3 - 2j]))
    with open("c.npy", "rb") as file:
        array = file.read()
    wanted = "[4.0,0.0]" if "sum" in call else "[2.0,0.0]"
    assert fetched(db, f"SELECT {call}, json_type({call}), json_array({call})", *[array] * 3) == [(wanted, "array", f"[{wanted}]")]


@pytest.fixture
def unreadable(folder, connect):
    """unreadable(how) -> the path of a database that cannot be read."""
    kept = []

    def make(how):
        holder = sqlite3.connect("held.db", isolation_level=None)
        kept.append(holder)
        holder.execute("CREATE TABLE t(x)")
        if how == "locked":
            holder.execute("BEGIN EXCLUSIVE")
            return "held.db"
        with open("held.db", "rb") as file:
            contents = bytearray(file.read())
        if how == "damaged":
            contents[100:] = bytes(len(contents) - 100)
        else:
            contents = b"\x93NUMPY" + bytes(5000)
        with open("other.db", "wb") as file:
            file.write(contents)
        return "other.db"

    yield make
    for each in kept:
        each.close()


@pytest.mark.parametrize("how", ["locked", "damaged", "foreign"])
def test_loading_into_a_database_that_cannot_be_read(unreadable, connect, how):
    """SQLite 3.48 and newer read the schema for any SELECT: loading said `already loaded through another entry point`."""
    db = connect(unreadable(how))
    db.execute("PRAGMA busy_timeout = 0")  # Python's five seconds are for locks that end
    shell.load(db)  # once more is harmless
    with pytest.raises(sqlite3.Error, match="lock|malformed|not a database"):
        db.execute("SELECT * FROM t")


def test_another_entry_point_is_named(connect):
    db = connect(entry_point="sqlite3_npyext_blob_init")
    with pytest.raises(sqlite3.Error, match="already loaded through another entry point, sqlite3_npyext_blob_init, not sqlite3_npyext_init"):
        shell.load(db)
    assert fetched(db, "SELECT json_extract(npyext_debug(), '$.entry_point')") == [("sqlite3_npyext_blob_init",)]


def test_labels_and_medians_are_compared_as_they_are(folder, db):
    """Their columns had the affinity NUMERIC, so that no text of digits was equal to itself."""
    np.save("x.npy", np.arange(4.0))
    np.save("labels.npy", np.array(["007", "7", "007", ""]))
    by = "npy_{}('x.npy') WHERE by = (SELECT array FROM npy_file('labels.npy'))"
    assert fetched(db, f"SELECT label, count FROM {by.format('stats')} AND label = '007'") == [("007", 2)]
    assert fetched(db, f"SELECT label, value FROM {by.format('unique')} AND label > '00' ORDER BY value") == [("007", 0.0), ("7", 1.0), ("007", 2.0)]
    assert fetched(db, "SELECT count(*) FROM npy_stats('x.npy') WHERE median = '1.5'") == [(0,)]
    assert fetched(db, "SELECT count(*) FROM npy_stats('x.npy') WHERE median = 1.5") == [(1,)]


def test_keys_are_found_in_a_list_of_numbers(folder, db):
    """Of `__key__ IN (SELECT integer)` SQLite hands over one value after the other, and compares each as a text then."""
    with open("s.tar", "wb") as file:
        file.write(tars.tar(*(tars.member(f"{key}.cls", b"1") for key in ("000", "1", "x", "2"))))
    db.execute("CREATE VIRTUAL TABLE s USING wds('s.tar')")
    db.execute("CREATE TABLE chosen(number INTEGER, text TEXT)")
    db.executemany("INSERT INTO chosen VALUES (?, ?)", [(0, "000"), (2, "x"), (5, None)])
    keys = lambda condition: [key for (key,) in fetched(db, f"SELECT __key__ FROM s WHERE {condition} ORDER BY rowid")]
    assert keys("__key__ IN (SELECT number FROM chosen)") == ["000", "2"]
    assert keys("__key__ IN (SELECT text FROM chosen)") == ["000", "x"]
    assert keys("__key__ IN ('2', 'x', 'y') AND rowid > 2") == ["2"]
    assert keys("__key__ IN ('1', NULL)") == ["1"]
    assert keys("__key__ IN (SELECT NULL)") == []
    assert keys("__key__ NOT IN ('1', 'x')") == ["000", "2"]
    assert keys("__url__ IN ('s.tar', 'y') AND __key__ = 'x'") == ["x"]


def test_a_hash_of_a_real_number(db):
    """Was one of SQLite's text of it, which has 17 digits since 3.53 and had 15 before."""
    assert fetched(db, "SELECT npy_hash(0.1 + 0.2), npy_hash('0.3'), npy_hash(1e300), npy_hash('1.0e+300')") == [
        (hash_of_text(db, "0.3"), hash_of_text(db, "0.3"), hash_of_text(db, "1.0e+300"), hash_of_text(db, "1.0e+300"))
    ]


def hash_of_text(db, text):
    return fetched(db, "SELECT npy_hash(?)", text)[0][0]


def test_a_real_number_in_a_shard(folder, db):
    """Its text in a sample: the digits that read back as it, as webdataset's str() writes them."""
    db.execute("CREATE VIRTUAL TABLE temp.out USING wds('out.tar', mode='w+', columns='txt')")
    db.execute("INSERT INTO out(__key__, txt) VALUES ('a', 0.1 + 0.2), ('b', 1e300), ('c', 0.5)")
    assert fetched(db, "SELECT CAST(data AS TEXT) FROM tar_members('out.tar') ORDER BY idx") == [("0.30000000000000004",), ("1e+300",), ("0.5",)]


def test_a_value_that_is_json_is_unequal_to_a_number(matrix, db):
    """From SQLite 3.51 on `<>` is handed over, and was an error as `=` is."""
    assert fetched(db, "SELECT count(*) FROM npy_rows('m.npy') WHERE value <> 1") == [(3,)]
    assert fetched(db, "SELECT count(*) FROM npy_rows('m.npy') WHERE value IS NOT 1") == [(3,)]
    if sqlite3.sqlite_version_info < (3, 38):  # which does not hand this over
        assert fetched(db, "SELECT count(*) FROM npy_rows('m.npy') WHERE value = 1") == [(0,)]
        return
    with pytest.raises(sqlite3.Error, match="rows are JSON here"):
        db.execute("SELECT count(*) FROM npy_rows('m.npy') WHERE value = 1").fetchall()
