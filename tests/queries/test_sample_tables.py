"""CREATE VIRTUAL TABLE ... USING wds(...): shards as tables of samples. The model is tarfile's list of members, grouped by
WebDataset's rule as tars.Samples has it; webdataset itself is asked in tests/clients/clients_shards.py."""

import json
import os
import sqlite3

import numpy as np
import pytest

import shell
import tars
from arrays import npy_bytes, npz_bytes, seeded_generator, ten_bytes
from expected import counters, error_of, since
from tars import gzipped, member, tar, tar_of

TEXTS, INTEGERS = {"txt", "text", "transcript", "json", "jsn"}, {"cls", "cls2", "index", "inx", "id"}

CAPTION = '{"caption": "a heron"}'
SAMPLE = [("000.cls", b"7"), ("000.emb.npy", npy_bytes(np.arange(3.0))), ("000.json", CAPTION.encode()), ("000.txt", "grün".encode())]


def write(path, contents):
    with open(path, "wb") as out:
        out.write(contents)
    return contents


def make(db, *arguments, name="s"):
    db.execute(f"CREATE VIRTUAL TABLE {name} USING wds({', '.join(arguments)})")


def columns_of(db, name="s"):
    return db.execute("SELECT name, type FROM pragma_table_info(?)", (name,)).fetchall()


def rows_of(db, name="s"):
    return db.execute(f"SELECT rowid, * FROM {name}").fetchall()


def decoded(ext, contents):
    last = ext.rpartition(".")[2]
    return contents.decode() if last in TEXTS else int(contents) if last in INTEGERS else contents


def samples_of(contents):
    """[(key, {extension: contents})] of a tar."""
    samples = []
    for row in tars.expected_members(contents):
        if row["sample"] is None:
            continue
        if row["sample"] == len(samples):
            samples.append((row["key"], {}))
        samples[row["sample"]][1][row["ext"]] = row["data"]
    return samples


def expected_rows(shards, exts):
    """The rows of the table over {path: contents}."""
    rows = []
    for path, contents in shards.items():
        for key, parts in samples_of(contents):
            cells = [decoded(ext, parts[ext]) if ext in parts else None for ext in exts]
            rows.append((len(rows), key, path, *cells))
    return rows


# --- what a table shows ------------------------------------------------------------------------------------


def test_a_sample_is_a_row(db, folder):
    write("s.tar", tar_of(SAMPLE))
    make(db, "'s.tar'")
    assert columns_of(db) == [("__key__", "TEXT"), ("__url__", "TEXT"), ("cls", "INTEGER"), ("emb.npy", "BLOB"), ("json", "TEXT"), ("txt", "TEXT")]
    assert rows_of(db) == [(0, "000", "s.tar", 7, SAMPLE[1][1], CAPTION, "grün")]
    sql = """SELECT npy_get("emb.npy", 1), json ->> 'caption', typeof(cls), typeof("emb.npy"), typeof(json) FROM s"""
    assert db.execute(sql).fetchall() == [(1.0, "a heron", "integer", "blob", "text")]
    assert db.execute("""SELECT r.row, r.value FROM s, npy_rows(s."emb.npy") AS r""").fetchall() == [(0, 0.0), (1, 1.0), (2, 2.0)]


def test_cells_are_sources(db, folder):
    write("s.tar", tar_of([("a.npz", npz_bytes({"w": np.arange(3), "b": np.arange(2.0)})), ("a.ten", ten_bytes([np.arange(2)], infos=["n"]))]))
    make(db, "'s.tar'")
    sql = "SELECT m.format, m.name, m.dtype FROM s, npy_meta(s.npz) AS m UNION ALL SELECT m.format, m.name, m.dtype FROM s, npy_meta(s.ten) AS m"
    assert db.execute(sql).fetchall() == [("npz", "w", "int64"), ("npz", "b", "float64"), ("ten", "n", "int64")]
    assert db.execute("SELECT npy_get(npy_member(npz, 'w'), 2) FROM s").fetchall() == [(2,)]


def test_columns_that_are_named(db, folder):
    write("s.tar", tar_of(SAMPLE + [("001.CLS", b"8")]))
    make(db, "'s.tar'", "columns='txt, nowhere.npy, CLS'")
    assert columns_of(db)[2:] == [("txt", "TEXT"), ("nowhere.npy", "BLOB"), ("cls", "INTEGER")]
    assert rows_of(db) == [(0, "000", "s.tar", "grün", None, 7), (1, "001", "s.tar", None, None, 8)]
    make(db, "'s.tar'", """columns='"emb.npy"'""", name="quoted")
    assert db.execute('SELECT length("emb.npy") FROM quoted').fetchall() == [(152,), (None,)]


def test_samples_that_lack_parts_and_members_that_are_in_none(db, folder):
    parts = [("README", b"r"), ("__meta__.json", b"{}"), ("d/a.b/0.txt", b"0"), ("d/a.b/0.cls", b"1"), ("img_0.5_x.jpg", b"j"), (".hidden", b"h"),
             ("1.", b"empty"), ("1.txt", b"one"), ("0.txt", b"again"), ("é.txt", b"e"), ("__skipped__/a.txt", b"s"), ("0.txt.gz", b"z")]
    shards = {"s.tar": write("s.tar", tar_of(parts))}
    make(db, "'s.tar'")
    exts = ["json", "txt", "cls", "5_x.jpg", "txt.gz"]
    assert [name for name, _ in columns_of(db)] == ["__key__", "__url__", *exts]
    assert rows_of(db) == expected_rows(shards, exts)
    assert [row[1] for row in rows_of(db)] == ["__meta__", "d/a.b/0", "img_0", "1", "0", "é", "0"]


@pytest.mark.parametrize(
    "ext, contents, value",
    [("cls", b"-7", -7), ("cls2", b" 12\n", 12), ("x.id", b"1_000", 1000), ("index", b"+0", 0), ("inx", b"9223372036854775807", 2**63 - 1),
     ("cls", b"-9223372036854775808", -(2**63)), ("text", b"", ""), ("transcript", b"a\0b", "a\0b"), ("jsn", b"[1]", "[1]"), ("jpg", b"", b""),
     ("x.cls.jpg", b"1", b"1"), ("npy", b"no array", b"no array")],
)  # fmt: skip
def test_how_parts_are_decoded(db, folder, ext, contents, value):
    write("s.tar", tar_of([(f"a.{ext}", contents)]))
    make(db, "'s.tar'")
    (got,) = db.execute(f'SELECT "{ext}" FROM s').fetchone()
    assert (type(got), got) == (type(value), value)


@pytest.mark.parametrize(
    "ext, contents, why",
    [("cls", b"x", "is not an integer but 'x'"), ("cls", b"", "is not an integer but ''"), ("id", b"1__0", "is not an integer"), ("id", b"1_", "is not an integer"),
     ("cls", b"- 1", "is not an integer"), ("cls", b"1.0", "is not an integer"), ("inx", b"9223372036854775808", "is an integer of more than 64 bits"),
     ("index", b"-9223372036854775809", "is an integer of more than 64 bits"), ("txt", b"\xff", "is not UTF-8"), ("json", "é".encode("latin1"), "is not UTF-8")],
)  # fmt: skip
def test_parts_that_are_none_of_their_extension(db, folder, ext, contents, why):
    write("s.tar", tar_of([("k.png", b"fine"), (f"k.{ext}", contents)]))
    make(db, "'s.tar'")
    assert db.execute("SELECT png FROM s").fetchall() == [(b"fine",)]
    text = error_of(db, f'SELECT "{ext}" FROM s')
    assert text.startswith(f"npyext: s.tar:k.{ext}: {why}"), text


def test_names_that_are_no_utf8(db, folder):
    write("s.tar", tar(member(b"\xffa.txt", b"1"), member(b"b.t\xfe", b"2"), member(b"\xfea.txt", b"3")))
    make(db, "'s.tar'")
    assert rows_of(db) == [(0, "\ufffda", "s.tar", "1", None), (1, "b", "s.tar", None, b"2"), (2, "\ufffda", "s.tar", "3", None)]
    assert db.execute("SELECT rowid FROM s WHERE __key__ = ? ORDER BY rowid", ("\ufffda",)).fetchall() == [(0,), (2,)]


# --- which samples -----------------------------------------------------------------------------------------


@pytest.fixture
def shards(folder):
    """Three shards; some keys stand in several, and one twice in one of them."""
    made = {}
    for i in range(3):
        parts = [(f"{j:02}.{ext}", b"%d" % (100 * i + j)) for j in range(10 * i, 10 * i + 15) for ext in ("cls", "txt")[: 1 + (j % 3 > 0)]]
        made[f"t-{i}.tar"] = write(f"t-{i}.tar", tar_of(parts + [("again.cls", b"1"), ("00x.cls", b"2"), ("again.cls", b"3")]))
    return made


CONDITIONS = [
    ("", lambda row: True),
    ("WHERE __key__ = '12'", lambda row: row[1] == "12"),
    ("WHERE __key__ = 'again'", lambda row: row[1] == "again"),
    ("WHERE __key__ IN ('12', 'again', 'nothing', NULL)", lambda row: row[1] in ("12", "again")),
    ("WHERE __key__ = 'AGAIN' COLLATE NOCASE", lambda row: row[1] == "again"),
    ("WHERE __key__ = 12", lambda row: row[1] == "12"),
    ("WHERE __key__ = x'3132'", lambda row: False),
    ("WHERE __key__ = NULL", lambda row: False),
    ("WHERE __key__ IS NULL", lambda row: False),
    ("WHERE __key__ > '2'", lambda row: row[1] > "2"),
    ("WHERE __key__ = '12' OR cls = 3", lambda row: row[1] == "12" or row[3] == 3),
    ("WHERE __url__ = 't-1.tar'", lambda row: row[2] == "t-1.tar"),
    ("WHERE __url__ = 't-1.tar' AND __key__ = '12'", lambda row: row[1:3] == ("12", "t-1.tar")),
    ("WHERE __url__ = 't-3.tar'", lambda row: False),
    ("WHERE __url__ <> 't-1.tar'", lambda row: row[2] != "t-1.tar"),
    ("WHERE __url__ IN ('t-2.tar', 't-0.tar')", lambda row: row[2] != "t-1.tar"),
    ("WHERE rowid = 20", lambda row: row[0] == 20),
    ("WHERE rowid IN (53, 0, -1, 54)", lambda row: row[0] in (0, 53)),
    ("WHERE rowid BETWEEN 15 AND 19", lambda row: 15 <= row[0] <= 19),
    ("WHERE rowid >= 35 AND rowid < 37.5", lambda row: 35 <= row[0] < 37.5),
    ("WHERE rowid > 1e30", lambda row: False),
    ("WHERE rowid > 17 AND __key__ = 'again'", lambda row: row[0] > 17 and row[1] == "again"),
    ("WHERE rowid <= 17 AND __key__ = 'again'", lambda row: row[0] <= 17 and row[1] == "again"),
    ("WHERE rowid < 36 AND __url__ = 't-1.tar'", lambda row: row[0] < 36 and row[2] == "t-1.tar"),
    ("WHERE txt IS NULL", lambda row: row[4] is None),
    ("WHERE cls = 112 AND __key__ = '12'", lambda row: row[1] == "12" and row[3] == 112),
]


@pytest.mark.parametrize("condition, holds", CONDITIONS, ids=[condition or "all" for condition, _ in CONDITIONS])
def test_conditions(db, shards, condition, holds):
    make(db, "'t-*.tar'")
    wanted = [row for row in expected_rows(shards, ["cls", "txt"]) if holds(row)]
    for _ in range(2):
        assert sorted(db.execute(f"SELECT rowid, * FROM s {condition}").fetchall()) == wanted
        assert db.execute(f"SELECT rowid, * FROM s {condition} ORDER BY rowid").fetchall() == wanted
        assert db.execute(f"SELECT rowid, * FROM s {condition} ORDER BY rowid DESC").fetchall() == wanted[::-1]
        assert db.execute(f"SELECT rowid FROM s {condition} ORDER BY rowid LIMIT 3 OFFSET 2").fetchall() == [row[:1] for row in wanted[2:5]]
        assert db.execute(f"SELECT count(*), max(rowid) FROM s {condition}").fetchall() == [(len(wanted), max((row[0] for row in wanted), default=None))]
    make(db, "'t-1.tar'", name="first")  # the two sides of a join, and one table twice
    joined = db.execute(f"SELECT s.rowid FROM first JOIN s USING (__key__, __url__) {condition.replace('rowid', 's.rowid').replace('cls', 's.cls').replace('txt', 's.txt')}")
    names = [(row[1], row[2]) for row in expected_rows({"t-1.tar": shards["t-1.tar"]}, ["cls", "txt"])]
    assert sorted(joined.fetchall()) == sorted((row[0],) for row in wanted for name in names if name == (row[1], row[2]))


@pytest.mark.parametrize("gz", [False, True])
@pytest.mark.parametrize("source", ["t-{0..2}.tar", '["t-0.tar", "t-1.tar", "t-2.tar"]', "t-[0-9].tar"])
def test_sources(db, shards, source, gz):
    if gz:
        for path, contents in shards.items():
            write(path + ".gz", gzipped(contents, [len(contents) // 2]))
        source = source.replace(".tar", ".tar.gz")
        shards = {path + ".gz": contents for path, contents in shards.items()}
    make(db, f"'{source}'")
    assert rows_of(db) == expected_rows(shards, ["cls", "txt"])
    assert [row[:2] for row in rows_of(db) if row[0] in (3, 20)] == db.execute("SELECT rowid, __key__ FROM s WHERE rowid IN (20, 3) ORDER BY 1").fetchall()


def test_a_range_of_a_file(db, shards):
    contents = shards["t-1.tar"]
    write("both", b"before" + contents)
    source = json.dumps({"path": "both", "offset": 6, "nbytes": len(contents)})
    make(db, f"'{source}'")
    assert rows_of(db) == expected_rows({"both": contents}, ["cls", "txt"])


def test_random_shards(connect, folder):
    rng = seeded_generator()
    for _ in range(60):
        shards = {}
        for i in range(1 + int(rng.integers(3))):
            members = [made for made in tars.random_members(rng, 30) if made.type == "file"]
            contents = b"".join(made.raw for made in members) + tars.END
            if not any(row["is_second"] for row in tars.expected_members(contents)):
                shards[f"r-{i}.tar"] = write(f"r-{i}.tar", contents)
        if not shards:
            continue
        exts = list(dict.fromkeys(ext for contents in shards.values() for _, parts in samples_of(contents) for ext in parts if ext))
        db, named = connect(), [ext for ext in exts if ext.rpartition(".")[2] not in TEXTS | INTEGERS]
        if not named:
            continue
        make(db, "'" + json.dumps(list(shards)) + "'", "columns='" + ", ".join('"' + ext.replace('"', '""') + '"' for ext in named).replace("'", "''") + "'")
        wanted = expected_rows(shards, named)
        assert rows_of(db) == wanted
        for row in wanted:
            found = db.execute("SELECT rowid, * FROM s WHERE __key__ = ? AND __url__ = ?", row[1:3]).fetchall()
            assert row in found and all(other[1:3] == row[1:3] for other in found)


# --- tables that are not made ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, why",
    [
        ("", "a table needs a path, as in CREATE VIRTUAL TABLE t USING wds('train-{000000..000127}.tar')"),
        ("'nothing.tar'", "nothing.tar: "),
        ("'nothing-*.tar'", "nothing-*.tar: "),
        ("'a.npy'", "a.npy: is a .npy file, not a .tar"),
        ("'text.tar'", "text.tar: "),
        ("'zeros.tar'", "zeros.tar: contains no samples, so its columns are not known; name them"),
        ("'many.tar'", "many.tar: has 201 different extensions, more than the 200 that become columns automatically; list some"),
        ("'second.tar'", "second.tar: the sample 'a' has two members with the extension 'txt'"),
        ("'s.tar', columns='cls, txt, CLS'", "s.tar: columns names 'cls' twice"),
        ("'s.tar', columns='cls,,txt'", "columns must list extensions"),
        ("'s.tar', columns=['npy','cls']", "a list has no brackets: write 'npy,cls' for ['npy','cls']"),
        ("'s.tar', columns='[\"npy\", \"cls\"]'", "a list has no brackets: write 'npy, cls' for [\"npy\", \"cls\"]"),
        ("'s.tar', columns='(npy)'", "write 'npy' for (npy)"),
        ("'s.tar', columns='npy cls'", "columns must list extensions, as in columns='jpg, cls'; 'npy cls' is not one"),
        ("'s.tar', columns='.npy'", "'.npy' is not one"),
        ("'s.tar', columns='__key__'", "columns must list extensions, as in columns='jpg, cls'; '__key__' is not one"),
        ("'s.tar', mode='w+'", "a table that writes needs columns"),
        ("'s.tar', members='a'", "unknown argument 'members'"),
        ("'s.tar', 't.tar'", "is a second path"),
    ],
)
def test_tables_that_are_not_made(db, folder, arguments, why):
    write("s.tar", tar_of(SAMPLE))
    write("a.npy", npy_bytes(np.arange(3)))
    write("text.tar", b"no tar at all, " * 100)
    write("zeros.tar", tar())
    write("many.tar", tar_of([(f"{i}.e{i}", b"") for i in range(201)]))
    write("second.tar", tar_of([("a.txt", b"1"), ("a.txt", b"2")]))
    text = error_of(db, f"CREATE VIRTUAL TABLE s USING wds({arguments})")
    assert why in text, text
    assert db.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)


def test_200_extensions_and_more_that_are_named(db, folder):
    write("s.tar", tar_of([(f"{i % 7}.e{i}", b"%d" % i) for i in range(0, 210)]))
    error_of(db, "CREATE VIRTUAL TABLE s USING wds('s.tar')")
    make(db, "'s.tar'", "columns='" + ",".join(f"e{i}" for i in range(210)) + "'")
    assert db.execute("SELECT e209, e7, e6 FROM s WHERE __key__ = '6' AND e209 IS NOT NULL").fetchall() == [(b"209", None, None)]
    write("s.tar", tar_of([(f"{i}.e{i}", b"") for i in range(200)]))
    make(db, "'s.tar'", name="found")
    assert len(columns_of(db, "found")) == 202


# --- shards that are not sound -----------------------------------------------------------------------------


def test_a_damaged_shard_gives_the_samples_before_its_fault(db, folder):
    parts = [member(f"{i}.txt", b"%d" % i) for i in range(5)]
    write("a.tar", tar(*parts[:2]))
    write("b.tar", tar(*parts[2:4], member("x.txt", b"x"), end=b"")[:-512] + b"\1" * 1024)
    write("c.tar", tar(parts[4]))
    make(db, "'[abc].tar'")
    assert db.execute("SELECT __key__ FROM s LIMIT 4").fetchall() == [("0",), ("1",), ("2",), ("3",)]
    assert error_of(db, "SELECT __key__ FROM s LIMIT 5").startswith("npyext: b.tar: no tar header at byte ")
    assert db.execute("SELECT rowid, txt FROM s WHERE rowid < 3").fetchall() == [(0, "0"), (1, "1"), (2, "2")]
    assert db.execute("SELECT txt FROM s WHERE __url__ = 'c.tar'").fetchall() == [("4",)]
    for sql in ("SELECT txt FROM s WHERE __key__ = '4'", "SELECT count(*) FROM s", "SELECT rowid FROM s WHERE __url__ = 'c.tar'", "SELECT txt FROM s WHERE rowid = 4"):
        assert "b.tar" in error_of(db, sql)


def test_a_second_part_is_a_fault_after_the_samples_before(db, folder):
    write("s.tar", tar_of([("0.txt", b"0"), ("1.cls", b"1"), ("1.cls", b"2"), ("2.txt", b"2")]))
    make(db, "'s.tar'", "columns='cls, txt'")
    assert db.execute("SELECT __key__, txt FROM s LIMIT 1").fetchall() == [("0", "0")]
    assert "s.tar: the sample '1' has two members with the extension 'cls'" in error_of(db, "SELECT __key__ FROM s")


def test_a_sparse_part_is_an_error_when_it_is_read(db, folder):
    write("s.tar", tar(member("a.txt", b"t"), tars.gnu_sparse("a.bin", [(0, b"x" * 512)], 5000)))
    make(db, "'s.tar'")
    assert db.execute("SELECT __key__, txt FROM s").fetchall() == [("a", "t")]
    assert "s.tar:a.bin: is a sparse member" in error_of(db, "SELECT bin FROM s")


def test_a_cell_longer_than_a_value_may_be(db, folder):
    write("s.tar", tar_of([("a.bin", b"x" * 200_000), ("b.bin", b"y")]))
    make(db, "'s.tar'")
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000)
    with pytest.raises(sqlite3.Error):
        db.execute("SELECT bin FROM s").fetchall()
    assert db.execute("SELECT bin FROM s WHERE __key__ = 'b'").fetchall() == [(b"y",)]


# --- what is read, and kept --------------------------------------------------------------------------------


def test_cells_are_read_only_when_asked_for(db, folder):
    write("s.tar", tar_of([(f"{i:02}.{ext}", bytes([i]) * 300_000) for i in range(10) for ext in ("bin", "x")]))
    make(db, "'s.tar'")
    before = counters(db)
    assert db.execute("SELECT count(*), count(__key__) FROM s").fetchone() == (10, 10)
    assert since(db, before)["bytes_read"] == 0
    assert db.execute("SELECT count(bin) FROM s WHERE rowid = 7").fetchone() == (1,)
    read = since(db, before)
    assert read["bytes_read"] in (0, 300_000) and (read["read_calls"] == 1 or shell.MAPPED)


def test_a_look_up_by_key_is_one_read(db, folder):
    for i in range(4):
        write(f"t-{i}.tar", tar_of([(f"{i}{j:03}.{ext}", b"%d" % j) for j in range(500) for ext in ("cls", "txt")]))
    make(db, "'t-*.tar'")
    assert db.execute("SELECT count(*) FROM s").fetchone() == (2000,)
    for key in ("2123", "2124", "0007"):
        before = counters(db)
        assert db.execute("SELECT cls FROM s WHERE __key__ = ?", (key,)).fetchall() == [(int(key[1:]),)]
        read = since(db, before)
        assert read["bytes_read"] <= 3 and (read["read_calls"] == 1 or shell.MAPPED) and read["files_opened"] <= 1


def test_samples_in_order_are_read_together(db, folder):
    contents = write("s.tar", tar_of([(f"{j:04}.{ext}", b"%d" % j) for j in range(2000) for ext in ("cls", "txt")]))
    make(db, "'s.tar'")
    before = counters(db)
    assert db.execute("SELECT sum(cls), sum(length(txt)) FROM s").fetchone() == (1999000, 6890)
    read = since(db, before)
    assert read["bytes_read"] < 1.2 * len(contents) and (read["read_calls"] < 70 or shell.MAPPED)


def test_a_shard_that_was_replaced_is_read_anew(db, folder):
    write("s.tar", tar_of([("a.txt", b"old"), ("b.txt", b"b")]))
    make(db, "'s.tar'")
    assert rows_of(db) == [(0, "a", "s.tar", "old"), (1, "b", "s.tar", "b")]
    write("new.tar", tar_of([("c.cls", b"3"), ("a.txt", b"new")]))
    os.replace("new.tar", "s.tar")
    assert rows_of(db) == [(0, "c", "s.tar", None), (1, "a", "s.tar", "new")]
    write("t.tar", tar_of([("d.txt", b"d")]))
    make(db, "'[st].tar'", name="two")
    assert len(rows_of(db, "two")) == 3
    os.remove("t.tar")
    assert len(rows_of(db, "two")) == 2


def test_a_shard_that_changes_under_a_statement(connect, folder):
    write("s.tar", tar_of([(f"{i}.txt", b"%d" % i * 50_000) for i in range(20)]))
    db = connect()
    make(db, "'s.tar'")
    rows = db.execute("SELECT txt FROM s")
    assert next(rows) == ("0" * 50_000,)
    with open("s.tar", "r+b") as file:
        file.write(b"\0" * 600_000)
        file.truncate(600_000)
    with pytest.raises(sqlite3.Error, match="changed while it was read|ends in the middle"):
        rows.fetchall()


def test_directories_that_do_not_fit_are_read_anew(db, folder):
    """Two hundred thousand samples with long keys, twice: more than is kept of both."""
    for i in range(3):
        parts = tars.numbered(member("0000000" + "x" * 80 + ".txt"), np.arange(i * 300_000, (i + 1) * 300_000))
        write(f"t-{i}.tar", parts + tars.END)
    make(db, "'t-*.tar'")
    sql = "SELECT count(*), min(__key__), max(__key__), max(rowid) FROM s"
    for _ in range(2):
        assert db.execute(sql).fetchone() == (900_000, "0000000" + "x" * 80, "0899999" + "x" * 80, 899_999)
        assert db.execute("SELECT rowid FROM s WHERE __key__ = ?", ("0300001" + "x" * 80,)).fetchall() == [(300_001,)]


# --- in a database -----------------------------------------------------------------------------------------


def test_a_database_that_outlives_its_shards(connect, folder):
    write("s.tar", tar_of(SAMPLE))
    db = connect("d.db")
    make(db, "'s.tar'")
    db.execute("CREATE TABLE other AS SELECT __key__ AS key, cls FROM s")
    db.commit()
    db.close()
    os.remove("s.tar")
    db = connect("d.db")
    assert db.execute("SELECT * FROM other").fetchall() == [("000", 7)]
    assert [name for name, _ in columns_of(db)][2:] == ["cls", "emb.npy", "json", "txt"]
    assert "s.tar" in error_of(db, "SELECT * FROM s")
    write("s.tar", tar_of([("x.jpg", b"j"), ("y.cls", b"1")]))
    assert rows_of(db) == [(0, "x", "s.tar", None, None, None, None), (1, "y", "s.tar", 1, None, None, None)]
    db.execute("ALTER TABLE s RENAME TO renamed")
    assert db.execute("SELECT count(*) FROM renamed").fetchone() == (2,)
    for sql in ("INSERT INTO renamed(__key__) VALUES ('z')", "DELETE FROM renamed", "UPDATE renamed SET cls = 1"):
        assert "only reads" in error_of(db, sql)
    db.execute("DROP TABLE renamed")
    assert db.execute("SELECT name FROM sqlite_schema").fetchall() == [("other",)]


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM s_npy WHERE item = 'column' AND name = '__url__'",
        "UPDATE s_npy SET value = 'BLOB' WHERE name = 'cls'",
        "UPDATE s_npy SET name = '__key__' WHERE name = 'cls'",
        "UPDATE s_npy SET item = 'array' WHERE name = 'cls'",
        "DELETE FROM s_npy WHERE item = 'argument'",
        "DELETE FROM s_npy",
    ],
)
def test_a_declaration_that_makes_no_sense_can_be_dropped(connect, folder, change):
    write("s.tar", tar_of(SAMPLE))
    db = connect("d.db")
    make(db, "'s.tar'")
    db.execute(change)
    db.commit()
    db.close()
    db = connect("d.db")
    assert "declaration" in error_of(db, "SELECT * FROM s")
    db.execute("DROP TABLE s")
    assert db.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)


def test_where_there_are_no_files(connect, folder):
    write("s.tar", tar_of(SAMPLE))
    db = connect(entry_point="sqlite3_npyext_readonly_init")
    make(db, "'s.tar'")
    assert db.execute("SELECT cls FROM s").fetchall() == [(7,)]
    with pytest.raises(sqlite3.OperationalError, match="no such module: wds"):
        make(connect(entry_point="sqlite3_npyext_blob_init"), "'s.tar'")


def test_an_interrupt_while_a_shard_is_read(connect, folder):
    write("s.tar", tars.numbered(member("0000000.txt"), np.arange(300_000)) + tars.END)
    db = connect()
    make(db, "'s.tar'", "columns='txt'")
    os.utime("s.tar", ns=(1, 1))  # so it is read again
    db.set_progress_handler(lambda: 1, 1000)
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        db.execute("SELECT count(*) FROM s").fetchall()
    db.set_progress_handler(None, 0)
    assert db.execute("SELECT count(*) FROM s").fetchone() == (300_000,)
