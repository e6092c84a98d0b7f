"""Defects that were found once, each named for what went wrong."""

import ctypes
import io
import json
import os
import sqlite3
import stat
import struct
import threading
import time
import zipfile
import zlib

import numpy as np
import pytest

from arrays import npy_bytes, npz_bytes, ten_bytes
from expected import counters, error_of, since
from formats import npy
from tars import END, SPARSE_VERSIONS, base256, expected_members, gnu_long, gzipped, header, member, pax, pax_record, sparse, tar

# Seconds for work that takes none when it is bounded by the bytes present, and minutes when it is bounded by a claim.
SOON = 5.0


def npz_member_at(contents, name):
    """Where an entry's central directory record begins."""
    return contents.rindex(b"PK\1\2", 0, contents.rindex(name))


@pytest.mark.parametrize(
    "descr, shape",
    [
        ("<f4", (1, 10**12, 0)),
        ([("a", "<f4", (2147483647, 0))], (1,)),
        ([("a", "S0", (2147483647,))], (1,)),
        ([("a", ">U0")], (1, 2**62)),
        ([("a", [("b", "S0", (46340,))], (46340,))], (1,)),
    ],
)
def test_claims_without_bytes_cost_nothing(connect, descr, shape):
    contents, begin = npy(descr, shape, b""), time.monotonic()
    assert connect().execute("SELECT length(data) FROM npy_rows(?)", (contents,)).fetchone() == (0,)
    with pytest.raises(sqlite3.Error, match="npyext: .*longer than"):
        connect().execute("SELECT length(value) FROM npy_rows(?)", (contents,)).fetchone()
    assert time.monotonic() - begin < SOON


def test_a_subarray_of_no_items_with_huge_axes_after_it(connect):
    huge = 2**31 - 1
    assert "2147483647 bytes" in error_of(
        connect(), "SELECT value FROM npy_rows(?)", npy([("a", "<f8", (0, huge, huge, huge))], (1,), b"")
    )


def test_many_field_names(connect):
    """Names are sorted to find duplicates; a table of hashes could be made slow by a choice of names."""
    fields = [(f"f{i:05}", "|u1") for i in range(20000)]
    contents = npy(fields, (1,), bytes(len(fields)), version=(2, 0))
    begin = time.monotonic()
    row = connect().execute("SELECT json_array_length(fields) FROM npy_meta(?)", (contents,)).fetchone()
    assert row == (len(fields),) and time.monotonic() - begin < SOON
    fields[17] = fields[19000]
    assert "f19000" in error_of(connect(), "SELECT shape FROM npy_meta(?)", npy(fields, (1,), b"", version=(2, 0)))


def zip64_by_extra_field(member, extra):
    """A .npz whose record leaves its sizes and its place to an extra field."""
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 45, 0, 0, 0, 33, zlib.crc32(member), len(member), len(member), 5, 0)
    local += b"x.npy" + member
    record = struct.pack(
        "<4s6H3I5H2I", b"PK\1\2", 45, 45, 0, 0, 0, 33, zlib.crc32(member), 2**32 - 1, 2**32 - 1, 5, len(extra), 0, 0, 0,
        0, 2**32 - 1,
    )
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, len(record) + 5 + len(extra), len(local), 0)
    return local + record + b"x.npy" + extra + end


def test_zip64_sizes_and_offset_in_one_extra_field(connect):
    """minizip reads them itself from some version on: the record's own bytes count."""
    member = npy_bytes(np.arange(5))
    contents = zip64_by_extra_field(member, struct.pack("<HHQQQ", 1, 24, len(member), len(member), 0))
    assert np.load(io.BytesIO(contents))["x"].tolist() == list(range(5))
    db = connect()
    assert db.execute("SELECT uncompressed_size FROM npz_members(?)", (contents,)).fetchall() == [(len(member),)]
    assert db.execute("SELECT value FROM npy_rows(?, 'x')", (contents,)).fetchall() == [(i,) for i in range(5)]


@pytest.mark.parametrize("nbytes", range(0, 24, 4))
def test_a_zip64_field_too_short_for_what_is_left_to_it(connect, nbytes):
    """What follows it is another field's."""
    member = npy_bytes(np.arange(5))
    field = struct.pack("<QQQ", len(member), len(member), 0)
    contents = zip64_by_extra_field(member, struct.pack("<HH", 1, nbytes) + field[:nbytes] + struct.pack("<HH", 0x9999, 24) + field)
    with pytest.raises(zipfile.BadZipFile, match="Corrupt zip64 extra field"):
        zipfile.ZipFile(io.BytesIO(contents))
    assert "BLOB:x: the zip directory contradicts itself" in error_of(connect(), "SELECT value FROM npy_rows(?, 'x')", contents)


def test_bytes_like_a_zip64_locator_in_the_data(connect):
    contents = npz_bytes({"x": np.frombuffer(b"PK\6\7" * 64, "u1")})
    assert connect().execute("SELECT count(*) FROM npy_rows(?)", (contents,)).fetchone() == (256,)


@pytest.mark.parametrize("columns", ["data_offset", "crc_ok", "data_offset, error"])
def test_one_bad_entry_does_not_end_a_survey(connect, tmp_path, columns):
    good = npz_bytes({"x": np.arange(3)})
    bad = bytearray(good)
    bad[bad.index(b"PK\1\2") + 42] ^= 7  # the local header's offset
    for name, contents in (("a", good), ("b", bytes(bad)), ("c", good)):
        (tmp_path / f"{name}.npz").write_bytes(contents)
    rows = connect().execute(f"SELECT {columns} FROM npz_members(?)", (str(tmp_path / "*.npz"),)).fetchall()
    assert len(rows) == 3 and rows[0] == rows[2] and rows[1] != rows[0]


def test_a_fault_of_one_array_hides_no_other(connect):
    contents = bytearray(npz_bytes({"bad": np.arange(3), "good": np.arange(4)}))
    contents[contents.index(b"'descr'") + 1] = ord("?")
    rows = connect().execute("SELECT name, row FROM npy_rows(?) WHERE on_error = 'skip'", (bytes(contents),)).fetchall()
    assert rows == [("good", i) for i in range(4)]


def test_the_key_of_a_blob_is_made_once_and_not_for_every_row(connect):
    contents, begin = npy_bytes(np.zeros(1_000_000)), time.monotonic()
    rows = connect().execute("SELECT array_key FROM npy_rows(?) LIMIT 2000", (contents,)).fetchall()
    assert len(rows) == 2000 and len(set(rows)) == 1 and time.monotonic() - begin < SOON


def test_lookups_by_idx_in_a_long_ten_do_not_walk_it_each_time(connect, tmp_path):
    path, n, db = tmp_path / "many.ten", 20_000, connect()
    path.write_bytes(ten_bytes([np.array([i]) for i in range(n)]))
    before = counters(db)
    rows = db.execute(
        "WITH t(i) AS (VALUES (19999), (3), (10000), (19998)) SELECT i, value FROM t JOIN npy_rows(?, i)", (str(path),)
    ).fetchall()
    assert rows == [(i, i) for i in (19999, 3, 10000, 19998)]
    assert since(db, before)["read_calls"] < 2 * n


def test_a_fifo_is_not_opened(connect, tmp_path):
    """A writer that waits for a reader must not find one that goes away at once."""
    path = tmp_path / "fifo.npy"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: open(path, "wb").close(), daemon=True)
    writer.start()
    time.sleep(0.1)
    assert "FIFO" in error_of(connect(), "SELECT * FROM npy_rows(?)", str(path))
    assert writer.is_alive() and stat.S_ISFIFO(os.stat(path).st_mode)
    os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))  # lets the writer go
    writer.join(5)


def test_an_empty_entry_with_a_crc(connect):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("empty", b"")
    contents = bytearray(out.getvalue())
    contents[contents.index(b"PK\1\2") + 16] = 1
    assert connect().execute("SELECT crc_ok FROM npz_members(?)", (bytes(contents),)).fetchall() == [(0,)]


def test_a_deflate_stream_that_cannot_be_that_long(connect):
    contents = bytearray(npz_bytes({"x": np.zeros(10)}, "deflate"))
    record = npz_member_at(contents, b"x.npy")
    contents[record + 24 : record + 28] = struct.pack("<I", 2**31)
    assert "cannot inflate" in error_of(connect(), "SELECT * FROM npy_rows(?)", bytes(contents))


def test_the_last_bytes_of_a_deflated_member_that_zlib_holds_back(connect):
    """All compressed bytes may be handed over before the last inflated ones come out."""
    db = connect()
    for size in range(1, 400):
        array = (np.arange(size) * 2654435761 % 251).astype("u1")
        contents = npz_bytes({"x": array}, "deflate")
        got = b"".join(data for (data,) in db.execute("SELECT data FROM npy_rows(?)", (contents,)))
        assert got == array.tobytes()


def test_a_list_that_is_not_json_but_a_pattern(connect, tmp_path, monkeypatch):
    (tmp_path / "b.npy").write_bytes(npy_bytes(np.arange(2)))
    monkeypatch.chdir(tmp_path)
    assert connect().execute("SELECT count(*) FROM npy_rows('[a-c].npy')").fetchone() == (2,)


def test_results_with_a_subtype_say_so(connect):
    """From 3.45 a strict build refuses functions that do not."""
    db = connect()
    assert json.loads(db.execute("SELECT npyext_counters()").fetchone()[0])["files_opened"] == 0
    assert json.loads(db.execute("SELECT json_array(npyext_debug())").fetchone()[0])[0]["version"]


def test_an_error_does_not_roll_the_transaction_back(connect):
    """As SQLITE_IOERR would, which SQLite takes for a fault of its own files."""
    db = connect()
    db.execute("CREATE TABLE t(a)")
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES (1)")
    error_of(db, "SELECT * FROM npy_rows(?), t", "n" * 5000)
    assert db.in_transaction and db.execute("SELECT count(*) FROM t").fetchone() == (1,)


def test_an_automatic_extension_leaves_no_error_behind(extension):
    """sqlite3_open takes the error code that is there after automatic extensions for its own."""
    sqlite, entry = ctypes.CDLL("libsqlite3.so.0"), ctypes.CDLL(extension).sqlite3_npyext_init
    assert sqlite.sqlite3_auto_extension(entry) == 0
    try:
        db = sqlite3.connect(":memory:")
        assert db.execute("SELECT npy_json(npy_from_json('[1, 2]'))").fetchone() == ("[1,2]",)
        db.close()
    finally:
        assert sqlite.sqlite3_cancel_auto_extension(entry) == 1


def test_a_dtype_that_is_not_utf8(connect):
    """Written into a header it made a file that nobody could read."""
    spelled = b"[('\xe9', '<f4')]"
    sql = "SELECT npy_from_json('[[1]]', CAST(? AS TEXT))"
    assert "UTF-8" in error_of(connect(), sql, spelled)
    contents = connect().execute(sql, (spelled.decode("latin1").encode(),)).fetchone()[0]
    assert np.load(io.BytesIO(contents)).dtype.names == ("\u00e9",)


def test_true_and_false_among_numbers_and_nulls(connect):
    """A bool was chosen, which no number fits."""
    for text, values in (("[false, 36, null]", [0, 36, np.nan]), ("[null, true, 2]", [np.nan, 1, 2])):
        contents = connect().execute("SELECT npy_from_json(?)", (text,)).fetchone()[0]
        array = np.load(io.BytesIO(contents))
        assert array.dtype == "f8" and np.array_equal(array, values, equal_nan=True)


def test_the_mean_of_times_far_apart(connect):
    """The distance from the first of them to the mean is more than int64 holds."""
    times = np.array([-(2**63) + 1, 2**63 - 1, 2**63 - 1, 2**63 - 1], "<i8").view("<M8[ns]")
    mean = connect().execute("SELECT mean FROM npy_stats(?)", (npy_bytes(times),)).fetchone()[0]
    exact = sum(times.view("i8").tolist()) // 4
    assert abs(int(np.datetime64(mean, "ns").astype("i8")) - exact) <= 2048  # a double apart


def test_the_deviation_of_numbers_whose_squares_overflow(connect):
    """It was NULL or infinite as the order of additions had it."""
    rng = np.random.default_rng(6)
    for size in (2, 3, 20, 1000, 100_000):
        numbers = rng.choice([-1.0, 1.0], size) * rng.uniform(1e200, 1e300, size)
        numbers[:2] = -1e300, 1e300
        found = connect().execute("SELECT std, var, m2 FROM npy_stats(?)", (npy_bytes(numbers),)).fetchone()
        assert found == (np.inf,) * 3


def years_with_one_outside_of_the_calendar(nelem, place):
    years = np.zeros(nelem, "i8")
    years[place] = 2**63 - 1
    return years.view("M8[Y]")


def text_that_is_damaged():
    text = np.array(["ab", "cd"])
    text.view("u4")[0] = 0x110000
    return text


@pytest.mark.parametrize(
    "bad, fault, column, others",
    [
        (years_with_one_outside_of_the_calendar(2, 0), "outside the calendar", "max", "min, count, nulls"),
        (text_that_is_damaged(), "0x110000", "max", "min, count, argmax"),
        (np.array([2**63 - 1, 2**63 - 3], "i8").view("M8[Y]"), "outside the calendar", "mean", "count, argmin"),
    ],
)
def test_a_value_that_sql_cannot_express_does_not_end_a_survey_of_stats(connect, tmp_path, bad, fault, column, others):
    db = connect()
    for name, array in (("a", np.arange(3)), ("b", bad), ("z", np.arange(4))):
        np.save(tmp_path / f"{name}.npy", array)
    query, source = f"SELECT path, {column}, error FROM npy_stats(?)", str(tmp_path / "*.npy")
    want = [(str(tmp_path / "a.npy"), *db.execute(f"SELECT {column}, error FROM npy_stats(?)", (npy_bytes(np.arange(3)),)).fetchone())]
    for options in ("", " WHERE on_error = 'row'"):
        a, b, z = db.execute(query + options, (source,)).fetchall()
        assert [a] == want and z[0].endswith("z.npy") and z[2] is None
        assert b[:2] == (str(tmp_path / "b.npy"), None) and fault in b[2] and "b.npy" in b[2]
    before = counters(db)
    a, z = db.execute(query + " WHERE on_error = 'skip'", (source,)).fetchall()
    assert [a] == want and z[0].endswith("z.npy") and since(db, before)["files_skipped"] == 1
    assert fault in error_of(db, query + " WHERE on_error = 'raise'", source)
    # what is not asked for is at no fault
    assert db.execute(f"SELECT error FROM (SELECT {others}, error FROM npy_stats(?))", (source,)).fetchall() == [(None,)] * 3


def test_the_row_of_a_fault_after_other_rows_of_its_array_has_a_key_of_its_own(connect):
    nrows = 5000
    source = npy_bytes(years_with_one_outside_of_the_calendar(nrows, nrows - 1))
    rows = connect().execute("SELECT array_key, at, min, error FROM npy_stats(?, '', '', '[]') WHERE on_error = 'row'", (source,)).fetchall()
    assert len(rows) == nrows and len({key for key, *_ in rows}) == nrows
    assert rows[-2][1:] == (nrows - 2, "1970-01-01", None)
    assert rows[-1][1:3] == (None, None) and "outside the calendar" in rows[-1][3]


@pytest.mark.skipif(not hasattr(sqlite3.Connection, "setlimit"), reason="before Python 3.11 there is no way to set a limit")
def test_a_declaration_beyond_the_limit_of_length_is_not_taken_for_a_lack_of_memory(connect):
    source, lengths = npy_bytes(np.arange(3)), {}
    for length in range(200, 2400, 100):
        for function in ("npy_elements", "npy_stats", "npy_meta"):
            db = connect()
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, length)
            try:
                db.execute(f"SELECT path FROM {function}(?)", (source,)).fetchone()
            except sqlite3.Error as error:
                assert str(error) == f"npyext: {function}: its columns cannot be declared (string or blob too big)", length
                lengths[function] = length
    assert set(lengths) == {"npy_elements", "npy_stats", "npy_meta"} and max(lengths.values()) < 2000


def test_a_list_of_names_in_a_message_is_of_whole_names_and_says_how_many_more(connect):
    for names, contents in (
        ([f"layer{i // 7}.attn{i}" for i in range(38)], lambda names: npz_bytes({name: np.arange(2) for name in names})),
        ([f"array{i:03}" for i in range(38)], lambda names: ten_bytes([np.arange(2)] * 38, infos=names)),
        ([f"field{i:03}" for i in range(38)], lambda names: npy_bytes(np.zeros(2, [(name, "i1") for name in names]))),
    ):
        argument = "'', '', " if names[0] == "field000" else ""
        message = error_of(connect(), f"SELECT * FROM npy_rows(?, {argument}'nope')", contents(names))
        listed, more = message.split("(there are ")[1].rstrip(")").split(" and ")
        shown = listed.split(", ")
        assert shown == [f"'{name}'" for name in names[: len(shown)]] and len(shown) > 5
        assert more == f"{38 - len(shown)} more"


def test_an_index_that_there_is_not_says_how_many_there_are(connect):
    for count, said in ((0, ": the file holds none"), (1, " (there is only number 0)"), (3, " (there are 3, from 0)")):
        arrays = {f"a{i}": np.arange(2) for i in range(count)}
        for contents in (npz_bytes(arrays), *([ten_bytes(list(arrays.values()))] if count else [])):
            for index in (count, -1, 10**12):
                message = error_of(connect(), "SELECT * FROM npy_rows(?, ?)", contents, index)
                assert message.endswith(f"there is no array number {index}{said}")
    assert "only number 0" in error_of(connect(), "SELECT * FROM npy_rows(?, 1)", npy_bytes(np.arange(2)))


def test_axis_of_items_without_bytes_does_not_call_them_texts(connect):
    for dtype, said in (("V0", "have no bytes"), ("U3", "are texts"), ("S2", "are texts")):
        message = error_of(connect(), "SELECT * FROM npy_stats(?, '', '', 0)", npy_bytes(np.zeros((3, 2), dtype)))
        assert message.endswith(f"axis is for numbers; these items {said}"), dtype


def test_a_field_whose_first_part_is_another_field_too(connect):
    inner = np.dtype([("b.c", "i4"), ("b", [("d", "i2"), ("c.e", "i1")])])
    array = np.zeros(3, [("a.b", [("f", "f4")]), ("a", inner), ("x.y", "i8"), ("x", "i8")])
    array["a"]["b.c"], array["a"]["b"]["d"], array["a"]["b"]["c.e"], array["a.b"]["f"] = 1, 2, 3, 4
    db, contents = connect(), npy_bytes(array)
    rows = {name: least for name, least in db.execute("SELECT field_name, min FROM npy_stats(?)", (contents,))}
    assert rows == {"a.b.f": 4, "a.b.c": 1, "a.b.d": 2, "a.b.c.e": 3, "x.y": 0, "x": 0}
    for name, least in rows.items():
        assert db.execute("SELECT min, max FROM npy_stats(?) WHERE field = ?", (contents, name)).fetchone() == (least, least)
    assert "there is no field 'd2' (there are 'f')" in error_of(db, "SELECT * FROM npy_stats(?) WHERE field = 'a.b.d2'", contents)


def test_a_field_that_can_be_looked_for_in_very_many_ways(connect):
    descr = "<i4"
    for _ in range(60):
        descr = [(("a.a", "a"), descr)]
    begin = time.monotonic()
    assert "there is no field" in error_of(connect(), "SELECT * FROM npy_rows(?) WHERE field = ?", npy(descr, (1,), bytes(4)), "a." * 110 + "x")
    assert time.monotonic() - begin < SOON


def test_a_list_with_a_null_or_a_number_among_its_texts_is_no_pattern(connect, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b", "1"):
        np.save(f"{name}.npy", np.arange(3))
    db, query = connect(), "SELECT path FROM npy_meta(?)"

    def paths(*entries):
        return [path for (path,) in db.execute(query, (json.dumps(entries),))]

    assert paths("a.npy", None) == ["a.npy"] and paths(None, "[ab].npy", None, "b.npy") == ["a.npy", "b.npy", "b.npy"]
    assert paths(None) == paths(None, None) == paths() == []
    for entry, shown in ((12, "12"), (1.5, "1.5"), (True, "true"), (False, "false"), (["a.npy"], '["a.npy"]')):
        for entries in (("a.npy", entry), (None, entry, "a.npy")):
            message = error_of(db, query, json.dumps(entries))
            assert f"entry 1 of the list, counted from 0, is {shown}, and neither a path nor a pattern" in message
    # a pattern that happens to be JSON
    np.save("x", np.arange(2))
    (tmp_path / "x.npy").rename(tmp_path / "1")
    assert db.execute(query, ("[12]",)).fetchall() == [("1",)]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_does_not_have_but_python_writes(connect, tmp_path, monkeypatch, number):
    monkeypatch.chdir(tmp_path)
    db, text = connect(), json.dumps([1.0, number])
    hint = "JSON has no NaN and no Infinity: write null, and 9e999 or -9e999"
    assert f"at byte 6 a value is expected; {hint}" in error_of(db, "SELECT npy_from_json(?)", text)
    db.execute("CREATE VIRTUAL TABLE temp.t USING npy('t.npy', mode='w+', dtype=f8, shape='[-1, 2]')")
    assert hint in error_of(db, "INSERT INTO t VALUES (?)", text, code=sqlite3.SQLITE_CONSTRAINT)
    assert hint not in error_of(db, "SELECT npy_from_json('[1.0, Na]')")
    # what the hint says is so
    good = text.replace("NaN", "null").replace("Infinity", "9e999")
    [array] = db.execute("SELECT npy_from_json(?)", (good,)).fetchone()
    np.testing.assert_array_equal(np.load(io.BytesIO(array)), [1.0, number])


def test_a_list_in_a_complex_item_is_said_to_be_one(connect):
    said = "a complex item is [re, im], an innermost list: it has a list for a number"
    assert said in error_of(connect(), "SELECT npy_from_json('[1,[2,3]]', 'c8')")
    assert "an innermost list: the list has fewer than 2 items" in error_of(connect(), "SELECT npy_from_json('[null]', 'c8')")
    array = connect().execute("SELECT npy_from_json('[[1,2],null,3]', 'c8')").fetchone()[0]
    np.testing.assert_array_equal(np.load(io.BytesIO(array)), np.array([1 + 2j, complex(np.nan, np.nan), 3], "c8"))


def test_a_table_of_a_pattern_is_told_that_it_takes_none(connect, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.arange(3))
    db = connect()
    for path in ("*.npy", "[ab].npy", "{a,b}.npy", "?.npy"):
        message = error_of(db, f"CREATE VIRTUAL TABLE t USING npy('{path}')")
        assert message == f"npyext: {path}: no such file; a table reads one file, so its path cannot be a pattern"
    assert error_of(db, "CREATE VIRTUAL TABLE t USING npy('gone.npy')") == "npyext: gone.npy: no such file"
    (tmp_path / "a.npy").rename(tmp_path / "[ab].npy")
    db.execute("CREATE VIRTUAL TABLE t USING npy('[ab].npy')")
    assert db.execute("SELECT count(*) FROM t").fetchone() == (3,)


def test_a_table_that_cannot_take_a_name_says_why(connect, tmp_path):
    np.save(tmp_path / "a.npy", np.arange(3))
    db = connect()
    db.execute(f"CREATE VIRTUAL TABLE k USING npy('{tmp_path}/a.npy')")
    db.execute("CREATE TABLE kk_npy(x)")
    assert "kk_npy" in error_of(db, "ALTER TABLE k RENAME TO kk")
    assert db.execute("SELECT count(*) FROM k").fetchone() == (3,)
    db.execute("DROP TABLE kk_npy")
    db.execute("ALTER TABLE k RENAME TO kk")
    assert db.execute("SELECT count(*) FROM kk").fetchone() == (3,)


def test_names_of_a_tar_that_are_said_once_and_kept_for_every_array(connect, heap):
    """By a global header, or as the name of the member that the arrays are in."""
    array, name = npy_bytes(np.arange(1)), "n" * (1 << 20)
    for contents in (
        tar(member("first.npy", array), pax({"path": name}, b"g"), *[member("x", array)] * 100),
        tar(member("first.npy", array), gnu_long("L", name), member("x", ten_bytes([np.arange(1)] * 100))),
    ):
        heap(48 << 20)  # of the 100 MiB
        rows = connect().execute("SELECT name, error_kind, error FROM npy_meta(?, 'row')", (contents,)).fetchall()
        heap(None)
        assert rows[0] == ("first", None, None) and 10 < len(rows) < 20 and {row[1] for row in rows[:-1]} == {None}
        assert rows[-1][1] == "limit" and "longer than what is kept" in rows[-1][2]
    long = [pax({"path": f"{name[:8000]}{i}"}) + member("x", array) for i in range(2000)]
    assert connect().execute("SELECT count(DISTINCT name), count(error) FROM npy_meta(?)", (tar(*long),)).fetchone() == (2000, 0)


def test_extensions_of_a_large_sample_that_were_kept_for_all_after_it(connect, memory_used):
    """Each of these then cost as much as the large one, whose table was emptied over and over."""
    large = b"".join(header(f"large.{i}") for i in range(20_000))
    contents = large + b"".join(header(f"{i}.a") for i in range(20)) + END
    rows = connect().execute("SELECT idx, sample FROM tar_members(?)", (contents,))
    kept, last = [], None
    for row in rows:
        kept.append(memory_used())
        last = row
    assert last == (20_019, 20) and len(kept) == 20_020
    assert kept[19_990] - kept[0] > 1 << 20 and abs(kept[20_010] - kept[0]) < 1 << 16


def test_a_damaged_ten_in_a_tar_that_was_walked_to_its_fault_for_every_array(connect, tmp_path):
    path, n, db = tmp_path / "x.tar", 2000, connect()
    contents = ten_bytes([np.arange(1)] * n, infos=[f"{i}" for i in range(n)])
    path.write_bytes(tar(member("a.ten", contents + b"no chunk"), member("b.npy", npy_bytes(np.arange(1)))))
    before = counters(db)
    rows = db.execute("SELECT name, error IS NULL FROM npy_meta(?, 'row')", (str(path),)).fetchall()
    assert rows == [*((f"a.ten:{i}", 1) for i in range(n)), ("a.ten", 0), ("b", 1)]
    assert since(db, before)["read_calls"] < 20 * n


@pytest.mark.parametrize("compress", [bytes, gzipped], ids=["tar", "tar.gz"])
def test_arrays_that_a_walk_through_a_tar_lost_when_it_failed_halfway(connect, folder, heap, compress):
    """The next statement, whose file was still open, went on after them."""
    arrays, sql = {f"{i}": np.arange(2) for i in range(40)}, "SELECT name, value FROM npy_rows('x')"
    (folder / "x").write_bytes(compress(tar(
        member("a.npy", npy_bytes(np.arange(3))), pax({"path": "n" * 3000}) + member("x", npy_bytes(np.arange(3))),
        gnu_long("L", "m" * 3000) + member("y", npz_bytes(arrays)), member("t", ten_bytes(list(arrays.values()), infos=list(arrays))),
    )))  # fmt: skip
    expected, nfailed = connect().execute(sql).fetchall(), 0
    assert len(expected) == 3 + 3 + 2 * 80
    limits = range(40_000, 800_000, 6_007)
    for nbytes in limits:
        db = connect()
        db.execute("SELECT value FROM npy_rows(npy_from_json('[1]'))").fetchall()
        heap(nbytes)
        try:
            db.execute(sql).fetchall()
        except (sqlite3.Error, MemoryError):
            nfailed += 1
        heap(None)
        assert db.execute(sql).fetchall() == expected, nbytes
        db.close()
    assert 10 < nfailed < len(limits)


def test_a_size_in_a_compressed_tar_that_its_bytes_cannot_inflate_to(connect, heap):
    """How long the whole is, nobody knows before the end; so memory was asked for by what a header says."""
    kept = b"\x93NUMPY" + bytes(200_000)  # more than is read with the header
    for size in (900_000_000, 2**40, 2**63 - 1):
        contents = gzipped(tar(member("a.npy", b"1"), member("b.bin", kept, size=size)))
        heap(16 << 20)
        for sql in ("SELECT data FROM tar_members(?)", "SELECT size FROM tar_members(?)", "SELECT * FROM npy_meta(?)"):
            assert f"more bytes of b.bin than the file can inflate to ({size} at byte 1536)" in error_of(connect(), sql, contents)
        heap(None)
    # What may be true is found out by reading.
    contents = gzipped(tar(member("b.bin", kept, size=300_000), end=b""))
    assert "truncated" in error_of(connect(), "SELECT data FROM tar_members(?)", contents)
    assert connect().execute("SELECT count(*), max(error_kind) FROM tar_members(?, 'row')", (contents,)).fetchone() == (2, "truncated")


@pytest.mark.parametrize("kind", "LKxgX")
def test_a_record_of_a_tar_of_negative_size_that_was_called_too_long(connect, kind):
    contents = tar(member("a.x", b"1"), header("record", base256(-512, 12), kind.encode()), member("b.x", b"2"))
    error = error_of(connect(), "SELECT name FROM tar_members(?)", contents)
    assert error == "npyext: BLOB: the tar header at byte 1024 has a negative size"


def test_a_number_of_a_pax_record_with_two_signs(connect):
    """The first was taken off, and the second of the least integer, too, beyond 64 bits. Python reads no number there."""
    numbers = ["--9223372036854775808", "--5", "+-5", "-+5", "-", "+", "", "-9223372036854775808", "+7", "-007"]
    for key in ("mtime", "uid"):
        contents = tar(*(pax({key: number}) + member(f"{i}.x") for i, number in enumerate(numbers)))
        got = [value for (value,) in connect().execute(f"SELECT {key} FROM tar_members(?)", (contents,))]
        assert got == [row[key] for row in expected_members(contents)] == [0] * 7 + [-(2**63), 7, -7]


@pytest.mark.parametrize("version", SPARSE_VERSIONS)
def test_a_sparse_member_that_is_to_be_of_negative_size(connect, version):
    contents = tar(member("a.x", b"1"), sparse(version, "s.npy", [(0, b"abc")], -5), member("b.x", b"2"))
    rows = connect().execute("SELECT name, size, error_kind FROM tar_members(?, 'row')", (contents,)).fetchall()
    assert rows == [("a.x", 1, None), (None, None, "format")]
    assert "has a negative size" in error_of(connect(), "SELECT name FROM tar_members(?)", contents)


def test_a_name_of_megabytes_that_a_message_repeated(connect):
    name = "\u00e9" * (1 << 20)
    contents = tar(*[gnu_long("L", name + ".npy") + member("short", npy_bytes(np.arange(3))[:-1])] * 2)
    for sql, told in (("SELECT value FROM npy_rows(?)", "data is truncated"), ("SELECT * FROM tar_members(?)", "is the second member")):
        error = error_of(connect(), sql, contents)
        assert error.startswith("npyext: BLOB:" + name[:500] + ": " + told) and len(error) < 1200


def test_the_crc_of_a_stored_member_was_not_checked_after_a_header_of_64_kib(db):
    """The header is read when the member is described, and the pass that checks the CRC-32 begins after it."""
    for nfields in (10, 6000):
        array = np.zeros(3, [(f"field{i}", "u1") for i in range(nfields)])
        sound = bytearray(npz_bytes({"x": array}))
        damaged = bytearray(sound)
        damaged[npz_member_at(damaged, b"x.npy") - 3] ^= 1  # in the last item
        for sql in ("SELECT count(*), sum(length(data)) FROM npy_rows(?)", "SELECT count FROM npy_stats(?) LIMIT 1"):
            db.execute(sql, [bytes(sound)]).fetchall()
            assert "CRC" in error_of(db, sql, bytes(damaged)), (nfields, sql)


def test_a_pax_record_of_a_name_alone_made_a_member_sparse(connect):
    array = np.arange(3)
    contents = tar(pax({"GNU.sparse.name": "real.npy"}) + member("other", npy_bytes(array)), member("b.npy", npy_bytes(array)))
    assert connect().execute("SELECT name, value FROM npy_rows(?)", (contents,)).fetchall() == [(name, i) for name in ("real", "b") for i in range(3)]
    assert [row["name"] for row in expected_members(contents)] == ["real.npy", "b.npy"]


def test_blanks_around_a_number_of_a_pax_record(connect):
    """tarfile reads them with int() and float(), which pass over blanks; a size read as 0 lost all members after it."""
    numbers = [" 7", "7 ", "\t 7\r\v\f", " -7 ", " ", "7 7"]
    for key in ("mtime", "uid"):
        contents = tar(*(pax({key: number}) + member(f"{i}.x") for i, number in enumerate(numbers)))
        got = [value for (value,) in connect().execute(f"SELECT {key} FROM tar_members(?)", (contents,))]
        assert got == [row[key] for row in expected_members(contents)] == [7, 7, 7, -7, 0, 0]
    contents = tar(pax({"size": " 700 "}) + member("a.x", b"x" * 700, size=0), member("b.x", b"2"))
    assert connect().execute("SELECT name, size FROM tar_members(?)", (contents,)).fetchall() == [("a.x", 700), ("b.x", 1)]


def test_a_pax_record_one_byte_longer_than_its_header(connect):
    """A planted fault that neither tests nor a minute of fuzzing found: what follows the header's data was taken for its end."""
    for before in ({}, {"mtime": 5}, {"comment": "x" * 485}):  # the last fills a block but for the record
        sound = b"".join(pax_record(key, value) for key, value in before.items())
        records = sound + pax_record("path", "y.x")
        contents = tar(member("./PaxHeaders/x", records, size=len(records) - 1, type=b"x"), member("a.x", b"1"))
        error = error_of(connect(), "SELECT name FROM tar_members(?)", contents)
        assert error == f"npyext: BLOB: a pax header has no record at byte {512 + len(sound)}, where one is expected"


def test_an_interrupt_while_the_columns_are_declared_was_a_fault_of_theirs(connect):
    db = connect()
    left = db.execute("SELECT 1 UNION SELECT 2")
    left.fetchone()  # an interrupt ends the statements that run; there must be one
    db.set_authorizer(lambda action, table, *_: (db.interrupt() if table == "x" else None, sqlite3.SQLITE_OK)[1])
    with pytest.raises(sqlite3.OperationalError, match="^interrupted$"):
        db.execute("SELECT * FROM npy_meta(x'00')")
