"""Constants beside `value`, `row` and coordinates that cannot mean what they seem to say are errors: dates in another form, against NumPy's
comparisons of dates, and NumPy scalars that Python's sqlite3 has bound as BLOBs."""

import json
import operator
import random
import sqlite3

import numpy as np
import pytest

import shell
from arrays import npy_bytes
from expected import error_of

UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "5m", "25s"]
OPERATORS = {"=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def random_text(rng):
    text = f"{rng.choice([1999, 2023, 2023, 2024])}"
    for part in (f"-{rng.choice([1, 6, 12]):02}", f"-{rng.choice([1, 2, 28]):02}", f"{rng.choice('  T')}{rng.choice([0, 0, 12]):02}", f":{rng.choice([0, 0, 30]):02}",
                 f":{rng.choice([0, 0, 25]):02}", "." + "".join(rng.choice("000001") for _ in range(rng.choice([1, 3, 6, 9])))):  # fmt: skip
        if rng.random() < 0.2:
            break
        text += part
    return text


def written(date, unit):
    """A date as the extension writes it."""
    plain = str(np.datetime64(date, "D" if unit in "YMWD" else "s" if unit in ("h", "m", "s", "5m", "25s") else unit))
    return plain.replace("T", " ")


def test_dates_are_compared_as_dates_or_not_at_all(db):
    """A text that NumPy takes for a date: the rows that NumPy's comparison of dates gives, or an error that says what to write."""
    seed = shell.random_seed()
    rng = random.Random(seed)
    nerrors = nanswers = 0
    for turn in range(1500):
        unit, op, text = rng.choice(UNITS), rng.choice(list(OPERATORS)), random_text(rng)
        near = [np.datetime64(random_text(rng)) for _ in range(6)] + [np.datetime64(text)]
        items = np.array([date.astype(f"M8[{unit}]") for date in near])
        # Before SQLite 3.51 a bound parameter beside <> does not come to the extension.
        forms = ["literal", "bound", "list"] if op == "=" else ["literal"] if op == "<>" else ["literal", "bound"]
        form = rng.choice(forms)
        condition = f"value IN ('{text}')" if form == "list" else f"value {op} " + ("?" if form == "bound" else f"'{text}'")
        sql = f"SELECT row FROM npy_rows(?) WHERE {condition}" if rng.random() < 0.5 else f"SELECT idx FROM npy_elements(?) WHERE {condition}"
        label = f"seed {seed}, turn {turn}: {sql}, {text}, {items}"
        try:
            found = [row for (row,) in db.execute(sql, [npy_bytes(items)] + [text] * (form == "bound"))]
        except sqlite3.OperationalError as error:
            nerrors += 1
            assert f"dates of datetime64[{unit}] are texts" in str(error), label
            # Not where the text is one of those that the items are written as, nor a beginning beside >= or <.
            assert not any(written(date, unit) == text for date in items), label
            assert op not in ("<", ">=") or not any(written(date, unit).startswith(text) for date in items), label
            continue
        nanswers += 1
        assert found == np.flatnonzero(OPERATORS[op](items.astype("M8[ns]"), np.datetime64(text, "ns"))).tolist(), label
    assert nerrors > 200 and nanswers > 200


def test_what_to_write_finds_the_rows(db):
    dates = npy_bytes(np.array(["2023-06-01", "2023-06-01T12:00"], "M8[ns]"))
    message = error_of(db, "SELECT * FROM npy_rows(?) WHERE value = '2023-06-01'", dates)
    assert message == "npyext: BLOB: dates of datetime64[ns] are texts with all their digits: write '2023-06-01 00:00:00.000000000' instead of '2023-06-01'"
    assert db.execute("SELECT row FROM npy_rows(?) WHERE value = '2023-06-01 00:00:00.000000000'", (dates,)).fetchall() == [(0,)]
    assert db.execute("SELECT row FROM npy_rows(?) WHERE value = npy_datetime('2023-06-01', 'M8[ns]')", (dates,)).fetchall() == [(0,)]
    assert "texts such as '1970-01-01', and 'yesterday' is not one" in error_of(db, "SELECT * FROM npy_rows(?) WHERE value < 'yesterday'", npy_bytes(np.array([0], "M8[D]")))


@pytest.mark.parametrize("condition", ["value = t", "value = (SELECT t FROM dates)", "value = '2023-06' || '-01'", "+value = '2023-06-01'"])
def test_dates_from_tables_are_compared_by_sqlite(db, condition):
    """A join must not be an error in one order and not in the other."""
    db.execute("CREATE TABLE dates AS SELECT '2023-06-01' AS t")
    dates = npy_bytes(np.array(["2023-06-01"], "M8[ns]"))
    assert db.execute(f"SELECT count(*) FROM npy_rows(?), dates WHERE {condition}", (dates,)).fetchone() == (0,)


def test_lists(db):
    dates = npy_bytes(np.array(["2023-06-01"], "M8[D]"))
    sql = "SELECT row FROM npy_rows(?) WHERE value IN ('2023-06-01', '2024-01-01', 5, NULL{})"
    assert db.execute(sql.format(""), (dates,)).fetchall() == [(0,)]
    assert "write '2023-06-01' instead of '2023-06-01T00'" in error_of(db, sql.format(", '2023-06-01T00'"), dates)
    listed = "SELECT row FROM npy_rows(?) WHERE value IN (SELECT value FROM json_each(?))"
    assert "'day 1' is not one" in error_of(db, listed, dates, '["2023-06-01", "day 1"]')
    assert db.execute(listed, (dates, json.dumps(["2023-06-01", *(f"day {i}" for i in range(200))]))).fetchall() == [(0,)]  # nobody has written so many


def test_each_lookup_has_a_list_of_its_own(db):
    """Where a list comes from a subquery about another table's row, the array stays open and the list changes."""
    dates = npy_bytes(np.array(["2023-06-01", "2023-06-02"], "M8[D]"))
    sql = "SELECT k, row FROM {0} CROSS JOIN npy_rows(?) ON row < 9 AND value IN (SELECT t FROM {0} AS l WHERE l.k = {0}.k) ORDER BY k"
    db.execute("CREATE TABLE days AS SELECT 1 AS k, '2023-06-01' AS t UNION ALL SELECT 2, '2023-06-02'")
    db.execute("CREATE TABLE numbers AS SELECT 1 AS k, 7 AS t UNION ALL SELECT 2, 5")
    assert db.execute(sql.format("days"), (dates,)).fetchall() == [(1, 0), (2, 1)]
    assert db.execute(sql.format("numbers"), (npy_bytes(np.array([5, 6, 7])),)).fetchall() == [(1, 2), (2, 0)]
    db.execute("INSERT INTO days VALUES (3, '2023-6-3')")
    assert "'2023-6-3' is not one" in error_of(db, sql.format("days"), dates)


def test_over_several_arrays_one_of_which_can_have_the_text(db, folder):
    np.save("a.npy", np.array(["2023-06-01", "2023-06-02"], "M8[D]"))
    np.save("b.npy", np.array(["2023-06-01"], "M8[ns]"))
    np.save("c.npy", np.arange(3))
    np.save("d.npy", np.array(["2023-06-01"]))
    sql = "SELECT path, row FROM npy_rows(?) WHERE value = '2023-06-01'"
    assert db.execute(sql, ("[ab].npy",)).fetchall() == [("a.npy", 0)]
    assert db.execute(sql, ("[bd].npy",)).fetchall() == [("d.npy", 0)]
    assert "datetime64[ns]" in error_of(db, sql, "[bc].npy")
    for on_error in ("skip", "raise"):  # no file's fault
        assert "datetime64[ns]" in error_of(db, sql + f" AND on_error = '{on_error}'", "[bc].npy")
        assert "datetime64[ns]" in error_of(db, sql + f" AND on_error = '{on_error}'", "b.npy")
    assert db.execute("SELECT row FROM npy_rows('a.npy') WHERE view = '<i8' AND value = '2023-06-01'").fetchall() == []
    assert "datetime64[s]" in error_of(db, "SELECT row FROM npy_rows('c.npy') WHERE view = 'M8[s]' AND value = '2023-06-01'")
    # in rows of several items the values are JSON, and as counts they are numbers
    assert db.execute("SELECT count(*) FROM npy_rows(?) WHERE value = '2023-06-01'", (npy_bytes(np.zeros((2, 2), "M8[ns]")),)).fetchone() == (0,)
    assert db.execute("SELECT count(*) FROM npy_rows(?) WHERE value = '2023-06-01'", (npy_bytes(np.zeros(2, "m8[ns]")),)).fetchone() == (0,)


@pytest.mark.parametrize("scalar", [np.int64(1), np.float32(1), np.int8(1), np.bool_(True)])
def test_a_numpy_scalar_is_not_taken_for_a_number_that_no_row_has(db, scalar):
    """Python's sqlite3 binds it by its buffer, as a BLOB."""
    blob, numbers = bytes(scalar.data), npy_bytes(np.arange(4))
    for sql in ("SELECT * FROM npy_rows(?) WHERE row = ?", "SELECT * FROM npy_elements(?) WHERE idx = ?", "SELECT * FROM npy_elements(?) WHERE i0 >= ?", "SELECT * FROM npy_rows(?) WHERE value = ?",
                "SELECT * FROM npy_elements(?) WHERE value > ?", "SELECT * FROM npy_rows(?) WHERE row BETWEEN 0 AND ?"):  # fmt: skip
        assert "Python's sqlite3 binds a NumPy scalar as a BLOB: bind " in error_of(db, sql, numbers, blob)
    assert "a BLOB of 1 bytes" in error_of(db, "SELECT * FROM npy_rows(?) WHERE row = x'01'", numbers)
    raw = npy_bytes(np.array([b"\1\2", b"\3\4"], "V2"))
    assert db.execute("SELECT row FROM npy_rows(?) WHERE value = ?", (raw, b"\3\4")).fetchall() == [(1,)]


def test_a_blob_over_several_arrays_one_of_which_has_raw_items(db, folder):
    np.save("a.npy", np.arange(2))
    np.save("b.npy", np.array([b"\1\2"], "V2"))
    assert db.execute("SELECT path FROM npy_rows('[ab].npy') WHERE value = ?", (b"\1\2",)).fetchall() == [("b.npy",)]
    assert "binds a NumPy scalar" in error_of(db, "SELECT path FROM npy_rows('a*.npy') WHERE value = ?", b"\1\2")


def test_the_parts_of_complex_numbers_are_no_dates(db):
    dates, numbers = npy_bytes(np.array(["2023-06-01"], "M8[ns]")), npy_bytes(np.array([1 + 2j]))
    for condition in ("real = '1'", "imag <> '2023'", "real IN ('x', 'y')", "real = 'x'"):
        assert db.execute(f"SELECT count(*) FROM npy_elements(?) WHERE {condition}", (dates,)).fetchone() == (0,)
    assert "real is a number" in error_of(db, "SELECT * FROM npy_elements(?) WHERE real = x'01'", numbers)


@pytest.mark.parametrize("unit", UNITS)
def test_npy_datetime(db, unit):
    dates = np.array(["2023-06-01T12:30:25", "1969-12-31", "1700-01-01"], "M8[s]").astype(f"M8[{unit}]")
    shown = [value for (value,) in db.execute("SELECT value FROM npy_rows(?)", (npy_bytes(dates),))]
    assert [db.execute("SELECT npy_datetime(?, ?)", (text, f"M8[{unit}]")).fetchone()[0] for text in shown] == shown


def test_npy_datetime_of_other_things(db):
    assert db.execute("SELECT npy_datetime(NULL, 'M8[s]'), npy_datetime('NaT', 'M8[s]'), npy_datetime('2023-06-01T10:00Z', 'M8[s]')").fetchone() == (None, None, "2023-06-01 10:00:00")
    assert "the dtype must be a datetime64 with a unit" in error_of(db, "SELECT npy_datetime('2023', 'M8')")
    assert "the dtype must be a datetime64 with a unit" in error_of(db, "SELECT npy_datetime('2023', 'f8')")
    assert "takes a date as a TEXT" in error_of(db, "SELECT npy_datetime(3, 'M8[s]')")
    assert "does not fit datetime64[D]" in error_of(db, "SELECT npy_datetime('2023-06-01 10:00', 'M8[D]')")
