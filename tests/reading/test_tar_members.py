"""tar_members against Python's tarfile and WebDataset's rules, over random archives; and the faults of tars, of which
tarfile says nothing."""

import io
import itertools
import re
import tarfile

import numpy as np
import pytest

import tars
from arrays import npy_bytes, seeded_generator
from expected import assert_has, counters, error_of, named_rows, since
from tars import END, gnu_long, gzipped, header, member, pax, tar

VISIBLE = ["path", "idx", "name", "key", "ext", "type", "size", "mtime", "error"]
HIDDEN = ["sample", "header_offset", "data_offset", "mode", "uid", "gid", "uname", "gname", "linkname", "data"]
PIECES = ["parts", "stem", "parent", "error_kind"]
FACTS = [name for name in VISIBLE + HIDDEN if name not in ("error", "linkname", "uname", "gname", "data_offset")]


def listed(db, source, on_error="raise", columns=", ".join(VISIBLE + HIDDEN + ["error_kind"])):
    return named_rows(db, f"SELECT {columns} FROM tar_members(?, ?)", source, on_error)


def assert_same_members(rows, expected, label=""):
    """rows of tar_members are those that tarfile gives. A second member of one key and extension is a fault."""
    assert [row["name"] for row in rows] == [want["name"] for want in expected], (label, rows[-1])
    for row, want in zip(rows, expected):
        assert_has(row, {name: want[name] for name in FACTS}, (label, want["name"]))
        for name in ("uname", "gname", "linkname"):  # '' and NULL are both nothing
            assert (row[name] or "") == want[name], (label, name)
        if want["type"] == "file":
            assert row["data_offset"] == want["data_offset"], (label, want["name"])
        assert (row["error_kind"], row["error"] is None) == (("format", False) if want["is_second"] else (None, True)), (label, row)


def faulted(rows):
    """(rows of members, the error that the list ends with). What ends it is the last row's, which may be a member's."""
    assert [row for row in rows[:-1] if row["error"]] == [] and rows[-1]["error"], rows
    last = rows[-1]
    return (rows[:-1] if last["idx"] is None else rows), last["error"], last["error_kind"]


# --- the makers --------------------------------------------------------------------------------------------


def test_tarfile_reads_what_the_makers_make():
    rng = seeded_generator()
    for _ in range(100):
        made = tars.random_members(rng)
        expected = tars.expected_members(tar(*(one.raw for one in made)))
        assert [(want["name"], want["type"], want["data"]) for want in expected] == [
            (tars.shown(one.name), one.type, one.contents if one.type == "file" else None) for one in made
        ]
        starts = itertools.accumulate((len(one.raw) for one in made), initial=0)
        assert all(want["header_offset"] == start for want, start in zip(expected, starts))


@pytest.mark.parametrize("version", tars.SPARSE_VERSIONS)
@pytest.mark.parametrize("count", [1, 4, 5, 30])
def test_tarfile_reads_sparse_members_of_the_makers(version, count):
    segments = [(1000 * i, bytes([65 + i]) * (i + 1)) for i in range(count)]
    contents = tar(tars.sparse(version, "s.npy", segments, 40000), member("b.txt", b"hi"))
    assert [(want["name"], want["type"], want["size"]) for want in tars.expected_members(contents)] == [
        ("s.npy", "sparse", 40000),
        ("b.txt", "file", 2),
    ]
    with tars.opened(contents) as archive:
        assert archive.extractfile("s.npy").read() == tars.expanded(segments, 40000)


# --- columns and members -----------------------------------------------------------------------------------


def test_columns_stand_in_their_documented_order(db):
    columns = db.execute("SELECT name, hidden FROM pragma_table_xinfo('tar_members')").fetchall()
    assert [name for name, hidden in columns if not hidden] == VISIBLE
    assert [name for name, hidden in columns if hidden] == ["source", "on_error"] + HIDDEN + PIECES + ["array_key"]


@pytest.mark.parametrize("seed", range(4))
def test_random_archives_as_tarfile_lists_them(db, tmp_path, seed):
    rng, path = seeded_generator(seed), tmp_path / "r.tar"
    for _ in range(60):
        contents = tar(*(one.raw for one in tars.random_members(rng)), end=[END, END + bytes(9000), b""][rng.integers(3)])
        path.write_bytes(contents)
        for source in (str(path), contents):
            expected = tars.expected_members(contents, str(path) if source is not contents else None)
            rows = listed(db, source, "row")
            assert_same_members(rows, expected)
            for row, want in zip(rows, expected):
                if want["type"] == "file":
                    assert contents[row["data_offset"] :][: row["size"]] == want["data"] == row["data"]
                else:
                    assert row["data"] is None


@pytest.mark.parametrize("format", tars.TARFILE_FORMATS)
@pytest.mark.parametrize("seed", range(2))
def test_archives_of_tarfile(db, format, seed):
    rng = seeded_generator(seed)
    for _ in range(30):
        members = []
        for i in range(int(rng.integers(1, 10))):
            # Of the start and end of a folder's name tarfile takes away a slash.
            info = tarfile.TarInfo(tars.shown(tars.random_name(rng)).strip("/") or "x")
            if format == "ustar" and tars.ustar_split(info.name.encode() + b"/") is None:
                info.name = f"{i}.npy"
            info.mtime = int(rng.choice([0, 1700000000, 8**11 - 1])) if format == "ustar" else int(rng.choice([-5, 2**40, 7]))
            if format == "pax" and rng.random() < 0.5:
                info.mtime += 0.25
            info.uid = int(rng.choice([0, 1000] if format == "ustar" else [8**7, 2**31]))
            info.gid, info.uname, info.gname = 100, "\u00e9", "staff"
            info.type = [tarfile.REGTYPE, tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE][rng.integers(6)]
            if info.issym() or info.islnk():
                info.linkname = "t" * int(rng.choice([1, 90 if format == "ustar" else 200]))
            members.append((info, rng.bytes(int(rng.integers(2000)))))
        contents = tars.tarfile_tar(members, format, {"comment": "all", "mtime": "77"} if format == "pax" and seed else None)
        assert_same_members(listed(db, contents, "row"), tars.expected_members(contents))


def test_names_at_the_limits_of_every_field(db):
    """100 bytes fill the field of the name, 155 that of the prefix, and neither ends in a NUL then."""
    for nbytes in (1, 99, 100, 101, 155, 156, 255, 256, 257, 300, 511, 512, 513, 5000):
        for name in ("n" * nbytes, "d" * (nbytes // 2) + "/" + "n" * (nbytes - nbytes // 2 - 1), "\u00e9" * (nbytes // 2)):
            if not name.strip("/"):
                continue
            made = [gnu_long("L", name) + member("short", b"1"), pax({"path": name}) + member("short", b"2")]
            split = tars.ustar_split(name.encode())
            if split:
                made.append(member(split[1], b"3", prefix=split[0]))
            contents = tar(*made)
            rows = listed(db, contents)
            assert [row["name"] for row in rows] == [name] * len(made)
            assert_same_members(rows, tars.expected_members(contents))


def test_values_have_the_types_of_sql(db):
    contents = tar(
        pax({"mtime": "1.5"}) + member("a.b", b"x"), member("c.d", b"y", mtime=-3), member("e.f", b"", mtime=0)
    )
    sql = "SELECT mtime, typeof(data), typeof(name), typeof(size), typeof(mode), data FROM tar_members(?)"
    rows = db.execute(sql, (contents,)).fetchall()
    assert rows == [
        (1.5, "blob", "text", "integer", "integer", b"x"),
        (-3, "blob", "text", "integer", "integer", b"y"),
        (0, "blob", "text", "integer", "integer", b""),
    ]


def test_huge_times_and_owners(db):
    contents = tar(
        member("a", mtime=2**62, uid=2**55, gid=2**55 - 1),
        member("b", mtime=-(2**62), uid=-(2**40)),
        pax({"mtime": "1e30", "uid": 2**62}) + member("c"),
        member("d", mtime=2**80),
        member("e", mtime=-(2**80)),
    )
    rows = listed(db, contents, "row")
    assert [row["name"] for row in rows] == ["a", "b", "c", "d", "e"] and [row["error"] for row in rows] == [None] * 5
    assert (rows[0]["mtime"], rows[0]["uid"], rows[0]["gid"]) == (2**62, 2**55, 2**55 - 1)
    assert (rows[1]["mtime"], rows[1]["uid"]) == (-(2**62), -(2**40)) and rows[2]["uid"] == 2**62
    # What SQL's integers cannot hold is nothing or a REAL, never another number.
    assert rows[2]["mtime"] in (None, 1e30) and rows[3]["mtime"] in (None, 2.0**80) and rows[4]["mtime"] == -(2.0**80)


NUMBERS_AS_TEXT = [b"0000644\0", b"644 \0", b"   644 \0", b" 644", b"00000644", b"644\0 7", b"\0", b"       "]


def test_numbers_as_old_tars_write_them(db):
    """Blanks before and after, no NUL at all, nothing at all."""
    contents = tar(*(member(f"{i}.x", b"abc", mode=text, uid=text) for i, text in enumerate(NUMBERS_AS_TEXT)))
    expected = tars.expected_members(contents)
    assert [want["mode"] for want in expected] == [0o644] * 6 + [0, 0]
    assert_same_members(listed(db, contents), expected)
    sizes = tar(*(member("s.x", b"abc", size=text) for text in (b"3", b"          3\0", b"00000000003 ", b"000000000003", tars.base256(3, 12))))
    assert_same_members(listed(db, sizes, "row"), tars.expected_members(sizes))


def test_checksums_as_old_tars_write_them(db):
    name = "\u00e9.npy"  # bytes above 127, which make the two sums differ
    spellings = [lambda n: b"%06o\0 " % n, lambda n: b"%07o\0" % n, lambda n: b"%06o \0" % n, lambda n: b"%6o\0 " % n]
    for spelling, is_signed in itertools.product(spellings, (False, True)):
        plain = header(name, 3)
        contents = tar(header(name, 3, checksum=spelling(tars.checksum_of(plain, is_signed))) + tars.padded(b"abc"))
        assert_same_members(listed(db, contents), tars.expected_members(contents))
        assert listed(db, contents)[0]["data"] == b"abc"


@pytest.mark.parametrize("order", itertools.permutations("xLKg"))
def test_records_in_any_order(db, order):
    records = {
        "x": pax({"path": "from/x", "mtime": "5.5"}),
        "L": gnu_long("L", "from/L"),
        "K": gnu_long("K", "link/K"),
        "g": pax({"comment": "all", "uname": "global"}, b"g"),
    }
    contents = tar(*(records[kind] for kind in order), member("h", type=b"2", linkname="link/h"), member("next.x", b"n"))
    assert_same_members(listed(db, contents), tars.expected_members(contents))


def test_global_headers_hold_until_others_take_their_place(db):
    contents = tar(
        member("0.x", b"0", mtime=1),
        pax({"mtime": "10", "uname": "first", "comment": "c"}, b"g"),
        member("1.x", b"1", mtime=2),
        pax({"mtime": "20.5"}) + member("2.x", b"2"),
        member("3.x", b"3"),
        pax({"mtime": "30", "gname": "second"}, b"g"),
        member("4.x", b"4"),
    )
    rows = listed(db, contents)
    assert [(row["mtime"], row["uname"] or "", row["gname"] or "") for row in rows] == [
        (1, "", ""), (10, "first", ""), (20.5, "first", ""), (10, "first", ""), (30, "first", "second"),
    ]  # fmt: skip
    assert_same_members(rows, tars.expected_members(contents))


def test_names_of_bytes_that_are_no_utf8(db):
    names = [b"\xff.npy", b"a\xc3.npy", b"\xe4\xb8x.npy", b"\xed\xa0\x80.npy", b"\x80\x81/\xf5.cls", "\u00e9".encode("latin1") + b".txt"]
    for way in ("ustar", "L", "x", "BINARY"):
        parts = []
        for i, name in enumerate(names):
            records = {"x": pax({"path": name}), "BINARY": pax([("hdrcharset", "BINARY"), ("path", name)]), "L": gnu_long("L", name)}
            parts.append(records.get(way, b"") + member(name if way == "ustar" else "short", npy_bytes(np.arange(i))))
        contents = tar(*parts)
        rows = listed(db, contents)
        assert [row["name"] for row in rows] == [tars.shown(name) for name in names]
        assert_same_members(rows, tars.expected_members(contents))


# --- types -------------------------------------------------------------------------------------------------


def test_every_type(db):
    types = [
        (b"0", "file"), (b"\0", "file"), (b"7", "file"), (b"5", "directory"), (b"2", "symlink"), (b"1", "hardlink"),
        (b"3", "char"), (b"4", "block"), (b"6", "fifo"), (b"V", "other"), (b"Z", "other"), (b"D", "other"),
    ]  # fmt: skip
    contents = tar(*(member(f"m{i}.x", b"", type=code, linkname="to" if code in b"12" else "") for i, (code, _) in enumerate(types)))
    rows = listed(db, contents)
    assert [row["type"] for row in rows] == [kind for _, kind in types]
    # Only files have contents and a sample.
    assert [row["data"] for row in rows if row["type"] != "other"] == [b""] * 3 + [None] * 6
    assert [row["sample"] for row in rows] == [0, 1, 2] + [None] * 9
    expected = tars.expected_members(contents)
    assert [want["type"] for want in expected] == [kind for _, kind in types]
    assert_same_members(rows, expected)


def test_the_data_of_types_that_nobody_knows_are_skipped(db):
    contents = tar(member("a.x", b"1"), member("strange", b"x" * 700, type=b"Q"), member("b.x", b"2"))
    assert_same_members([row | {"data": row["data"] if row["type"] == "file" else None} for row in listed(db, contents)], tars.expected_members(contents))


def test_folders_have_no_slash_at_their_end(db):
    contents = tar(
        member("d/", type=b"5"), member("old/", type=b"\0", magic=tars.V7), member("plain", type=b"5"),
        gnu_long("L", "long/" + "n" * 200 + "/") + member("short", type=b"5"), pax({"path": "pax/p/"}) + member("short", type=b"5"),
    )  # fmt: skip
    rows = listed(db, contents)
    assert [(row["name"], row["type"]) for row in rows] == [
        (name, "directory") for name in ("d", "old", "plain", "long/" + "n" * 200, "pax/p")
    ]
    assert_same_members(rows, tars.expected_members(contents))


def test_links_name_what_they_link_to_and_have_no_contents(db):
    array = npy_bytes(np.arange(3))
    contents = tar(
        member("a.npy", array), member("hard.npy", type=b"1", linkname="a.npy"), member("soft.npy", type=b"2", linkname="a.npy"),
        gnu_long("K", "t" * 300) + member("long.npy", type=b"2", linkname="t" * 100), pax({"linkpath": "\u4e2d" * 90}) + member("pax.npy", type=b"1"),
    )  # fmt: skip
    rows = listed(db, contents)
    assert [(row["type"], row["linkname"] or "", row["size"]) for row in rows] == [
        ("file", "", len(array)), ("hardlink", "a.npy", 0), ("symlink", "a.npy", 0), ("symlink", "t" * 300, 0), ("hardlink", "\u4e2d" * 90, 0),
    ]  # fmt: skip
    assert [row["data"] for row in rows] == [array] + [None] * 4
    assert db.execute("SELECT name FROM npy_meta(?)", (contents,)).fetchall() == [("a",)]


@pytest.mark.parametrize("version", tars.SPARSE_VERSIONS)
@pytest.mark.parametrize("count", [0, 1, 4, 5, 25, 26, 60])
def test_sparse_members_are_listed_and_are_a_fault_when_read(db, version, count):
    segments = [(1000 * i, bytes([65 + i]) * (i + 1)) for i in range(count)] or [(70000, b"")]  # as GNU tar says nothing
    contents = tar(member("a.txt", b"A"), tars.sparse(version, "big.npy", segments, 70000), member("b.txt", b"B"))
    rows = listed(db, contents, columns="name, type, size, key, ext, sample, error")
    assert [tuple(row.values()) for row in rows] == [
        ("a.txt", "file", 1, "a", "txt", 0, None),
        ("big.npy", "sparse", 70000, "big", "npy", 1, None),
        ("b.txt", "file", 1, "b", "txt", 2, None),
    ]
    assert "sparse" in error_of(db, "SELECT data FROM tar_members(?)", contents)
    assert "big" in error_of(db, "SELECT data FROM tar_members(?) WHERE name = 'big.npy'", contents)
    rows = listed(db, contents, "row", "data, error, error_kind")
    assert [row["data"] for row in rows] == [b"A", None, b"B"] and [row["error"] is None for row in rows] == [True, False, True]
    assert rows[1]["error_kind"] == "unsupported"
    assert "sparse" in error_of(db, "SELECT value FROM npy_rows(?, 'big.npy')", contents)


# --- key, ext and sample -----------------------------------------------------------------------------------

NAMES = [
    "a.npy", "a", "a.", ".a", "a..b", "d/a.x.y", "d.x/a", "d.x/a.y", "d/.a", "/a.b", "./a.b", "../a.b", "a/b/c.D.E", "A.NPY",
    "a.b/", "a\n.b", "a.b\n", "d\n/a.b", "x.y/z\n.w", "\u00e9.Npy", "a b.c d", "a.b.c/d", "d//a.b", "..", "...", "a/..", "a/...b",
    "__a__", "__a__.b", "__a__/b.c", "__a__/d/b.c", "d/__a__/b.c", "____", "___", "__a_", "__.__", "__a__b.c", "__a__b__/x.y", "_a_.x",
    "000017.latent.npy", "000017.JPG", "000017.Seg.Png",
]  # fmt: skip


def test_keys_and_extensions_are_those_of_webdataset(db):
    contents = tar(*(pax({"path": name}) + member("x", b"1") for name in NAMES))
    names = [name.rstrip("/") for name in NAMES]
    rows = listed(db, contents, "row")
    assert [(row["name"], row["key"], row["ext"]) for row in rows] == [(name, *tars.key_and_ext(name)) for name in names]
    by_name = {row["name"]: row for row in rows}
    keyed = {name: (row["key"], row["ext"], row["sample"] is None) for name, row in by_name.items()}
    assert keyed["000017.latent.npy"] == ("000017", "latent.npy", False) and keyed["A.NPY"] == ("A", "npy", False)
    assert keyed["d.x/a.y"] == ("d.x/a", "y", False) and keyed["a"] == keyed["d.x/a"] == (None, None, True)
    # A name of underscores is skipped, whatever its key.
    assert keyed["__a__/b.c"] == ("__a__/b", "c", True) and keyed["__a__"] == (None, None, True)
    assert keyed["__a__.b"] == ("__a__", "b", False) and keyed["d/__a__/b.c"][2] is False
    assert_same_members(rows, tars.expected_members(contents))


def test_adjacent_members_of_one_key_are_a_sample(db):
    names = ["0.jpg", "0.cls", "1.jpg", "__meta__.json", "2.a", "README", "2.b", "__skipped__/2.c", "2.d", "3.x", "2.e", "d/2.a", "d/2.b"]
    contents = tar(
        member("d/", type=b"5"), *(member(name, b"x") for name in names[:6]), member("2.z", type=b"2", linkname="2.a"),
        *(member(name, b"x") for name in names[6:]),
    )  # fmt: skip
    rows = listed(db, contents)
    assert [(row["name"], row["sample"]) for row in rows] == [
        ("d", None), ("0.jpg", 0), ("0.cls", 0), ("1.jpg", 1), ("__meta__.json", 2), ("2.a", 3), ("README", None), ("2.z", None),
        ("2.b", 3), ("__skipped__/2.c", None), ("2.d", 3), ("3.x", 4), ("2.e", 5), ("d/2.a", 6), ("d/2.b", 6),
    ]  # fmt: skip
    assert_same_members(rows, tars.expected_members(contents))


@pytest.mark.parametrize("seed", range(2))
def test_samples_of_random_shards(db, seed):
    rng = seeded_generator(seed)
    choose = lambda listed: listed[rng.integers(len(listed))]
    for _ in range(100):
        names = [choose(["0", "1", "d/0", "__a__", "__b__/0", "x.y/0"]) + choose([".a", ".B", ".b", ".c.d", ""]) for _ in range(rng.integers(1, 25))]
        contents = tar(*(member(name, b"x") if rng.random() < 0.9 else member(name, type=b"2") for name in names))
        assert_same_members(listed(db, contents, "row"), tars.expected_members(contents))


def test_a_second_member_of_one_key_and_extension(db):
    contents = tar(*(member(name, name.encode()) for name in ("0.jpg", "0.cls", "0.JPG", "1.jpg", "0.jpg", "0.jpg", "2.jpg")))
    rows = listed(db, contents, "row")
    assert [row["sample"] for row in rows] == [0, 0, 0, 1, 2, 2, 3]
    assert [row["error_kind"] for row in rows] == [None, None, "format", None, None, "format", None]
    # The fault says which, and what else is known of the member is there.
    assert "0.JPG" in rows[2]["error"] and rows[2]["data"] == b"0.JPG" and rows[5]["size"] == 5
    assert_same_members(rows, tars.expected_members(contents))


def test_samples_are_counted_in_each_shard(db, folder):
    for i in range(3):
        (folder / f"s-{i}.tar").write_bytes(tars.tar_of([(f"{i}{j}.{ext}", b"x") for j in range(3) for ext in "ab"]))
    sql = "SELECT path, key, sample, count(*), group_concat(ext) FROM tar_members('s-{0..2}.tar') GROUP BY 1, 2 ORDER BY 1, 3"
    assert db.execute(sql).fetchall() == [(f"s-{i}.tar", f"{i}{j}", j, 2, "a,b") for i in range(3) for j in range(3)]


# --- data --------------------------------------------------------------------------------------------------


def test_data_as_text(db):
    texts = {"0.txt": "caf\u00e9 \u4e2d", "0.cls": "7", "0.json": '{"a": [1, 2]}', "1.txt": ""}
    contents = tars.tar_of([(name, text.encode()) for name, text in texts.items()])
    rows = db.execute("SELECT name, CAST(data AS TEXT), typeof(data) FROM tar_members(?)", (contents,)).fetchall()
    assert rows == [(name, text, "blob") for name, text in texts.items()]
    sql = "SELECT CAST(CAST(data AS TEXT) AS INTEGER) FROM tar_members(?) WHERE ext = 'cls'"
    assert db.execute(sql, (contents,)).fetchall() == [(7,)]
    sql = "SELECT json_extract(CAST(data AS TEXT), '$.a[1]') FROM tar_members(?) WHERE ext = 'json'"
    assert db.execute(sql, (contents,)).fetchall() == [(2,)]


def test_data_are_read_only_when_asked_for(db, tmp_path):
    path = tmp_path / "s.tar"
    path.write_bytes(tars.tar_of([(f"{i:03}.bin", bytes([i]) * 300_000) for i in range(20)]))
    before = counters(db)
    rows = db.execute("SELECT name, size, data_offset FROM tar_members(?)", (str(path),)).fetchall()
    assert len(rows) == 20 and since(db, before)["bytes_read"] < 1_000_000
    before = counters(db)
    sql = "SELECT data = zeroblob(0), substr(data, 1, 1) FROM tar_members(?) WHERE name = '007.bin'"
    assert db.execute(sql, (str(path),)).fetchall() == [(0, b"\7")]
    assert since(db, before)["bytes_read"] < 1_500_000


def test_data_by_their_offsets(db, tmp_path):
    rng, path = seeded_generator(), tmp_path / "s.tar"
    made = {f"{i:06}.npy": npy_bytes(rng.integers(0, 9, int(rng.integers(1, 500)))) for i in range(40)}
    path.write_bytes(tars.tarfile_tar(list(made.items()), "pax"))
    with open(path, "rb") as file:
        for name, at, size in db.execute("SELECT name, data_offset, size FROM tar_members(?)", (str(path),)):
            file.seek(at)
            assert file.read(size) == made[name]


def test_conditions_and_orders(db, tmp_path):
    path = tmp_path / "s.tar"
    path.write_bytes(tars.tar_of([(f"{i}.{ext}", b"x" * i) for i in range(10) for ext in ("a", "b")]))
    expected = tars.expected_members(path.read_bytes(), str(path))
    for where, keep in [
        ("name = '7.a'", lambda row: row["name"] == "7.a"),
        ("key = '3'", lambda row: row["key"] == "3"),
        ("ext = 'b' AND size > 4", lambda row: row["ext"] == "b" and row["size"] > 4),
        ("idx IN (0, 19, 99)", lambda row: row["idx"] in (0, 19)),
        ("sample BETWEEN 2 AND 3", lambda row: row["sample"] in (2, 3)),
        ("type <> 'file'", lambda row: False),
    ]:
        names = [name for (name,) in db.execute(f"SELECT name FROM tar_members(?) WHERE {where} ORDER BY idx", (str(path),))]
        assert names == [row["name"] for row in expected if keep(row)], where
    sql = "SELECT idx FROM tar_members(?) ORDER BY size DESC, idx DESC LIMIT 3"
    assert db.execute(sql, (str(path),)).fetchall() == [(19,), (18,), (17,)]
    sql = "SELECT parts, stem, parent FROM tar_members('s.tar') LIMIT 1"
    assert db.execute(sql.replace("'s.tar'", "?"), (str(path),)).fetchone()[1:] == ("s", tmp_path.name)
    assert db.execute("SELECT count(*), count(DISTINCT array_key) FROM tar_members(?)", (str(path),)).fetchone() == (20, 20)


# --- what is a tar, and where it ends ----------------------------------------------------------------------

THREE = [member("a.npy", npy_bytes(np.arange(3))), member("b.txt", b"text"), member("c.cls", b"7")]
NAMES_OF_THREE = ["a.npy", "b.txt", "c.cls"]


@pytest.mark.parametrize("end", [b"", bytes(512), END, bytes(512 * 3), bytes(10240), bytes(100), bytes(1300)])
def test_ends_that_are_accepted(db, tmp_path, end):
    """None at all, one block, two as the standard has it, more than that; and zeros that are no whole block."""
    path, contents = tmp_path / "e.tar", tar(*THREE, end=end)
    path.write_bytes(contents)
    for source in (str(path), contents):
        assert [row["name"] for row in listed(db, source)] == NAMES_OF_THREE


def mistakes():
    """{label: (what stands after three members, the byte that the fault names, its kinds)}."""
    at = sum(map(len, THREE))
    lost = member("d.npy", b"data" * 200)
    kinds = ("format",)
    return {
        "bad checksum": (member("d.npy", b"xyz", checksum="wrong") + END, [at], kinds),
        "bad checksum, blanks": (header("d", checksum=b" " * 8) + END, [at], kinds),
        "no number": (header("d", checksum=b"rubbish!") + END, [at], kinds),
        "no size": (header("d", size=b"rubbish!") + END, [at], kinds),
        "negative size": (header("d", size=tars.base256(-512, 12)) + END, [at], kinds),
        "garbage": (bytes(range(256)) * 4, [at], kinds),
        "text": (b"These are words, and not few of them.\n" * 30, [at], kinds),
        "one byte": (b"x", [at], ("format", "truncated")),
        "half a header": (lost[:300], [at], ("format", "truncated")),
        "after the end": (END + b"garbage".ljust(512, b"."), [at + 1024], kinds),
        "far after the end": (bytes(9000) + b"x" + bytes(99), [at + 9000, at + 9000 // 512 * 512], kinds),
        "after one zero block": (bytes(512) + member("d.npy", b"xyz") + END, [at + 512], kinds),
        "a second tar": (END + tar(member("d.npy", b"xyz")), [at + 1024], kinds),
        "size beyond the file": (lost[:-700], [at, at + 512, at + len(lost) - 700], ("format", "truncated")),
        "header alone": (lost[:512], [at, at + 512], ("format", "truncated")),
        "huge size": (header("d", size=2**62) + END, [at, at + 512, at + 1536], ("format", "truncated")),
        "size beyond 2^63": (header("d", size=2**80) + END, [at, at + 512, at + 1536], ("format", "truncated", "limit")),
        "size of pax beyond the file": (pax({"size": 10**6}) + member("d", b"abc") + END, None, ("format", "truncated")),
        "L without a header": (gnu_long("L", "n" * 200) + END, [at, at + 1024], kinds),
        "L at the end of the file": (gnu_long("L", "n" * 200), [at, at + 1024], ("format", "truncated")),
        "L cut short": (gnu_long("L", "n" * 2000)[:700], [at, at + 512, at + 700], ("format", "truncated")),
        "x without a header": (pax({"path": "p"}) + END, [at, at + 1024], kinds),
        "x cut short": (pax({"path": "p" * 2000})[:700], [at, at + 512, at + 700], ("format", "truncated")),
        "x of a wrong length": (pax(b"99 path=abc\n") + member("d", b"abc") + END, [at, at + 512], kinds),
        "x without a length": (pax(b"path=abc\n") + member("d", b"abc") + END, [at, at + 512], kinds),
        "x of a length too short": (pax(b"4 path=abc\n") + member("d", b"abc") + END, [at, at + 512], kinds),
        "x of a length of 30 digits": (pax(b"9" * 30 + b" path=abc\n") + member("d", b"abc") + END, [at, at + 512], kinds),
        "x without a newline": (pax(b"12 path=abcd") + member("d", b"abc") + END, [at, at + 512], kinds),
        "x without an equals sign": (pax(b"12 path abc\n") + member("d", b"abc") + END, [at, at + 512], kinds),
    }


@pytest.mark.parametrize("label", mistakes())
def test_faults_after_sound_members(db, tmp_path, label):
    after, offsets, kinds = mistakes()[label]
    path, contents = tmp_path / "f.tar", tar(*THREE, after, end=b"")
    path.write_bytes(contents)
    for source in (str(path), contents):
        rows, error, kind = faulted(listed(db, source, "row"))
        assert [row["name"] for row in rows[:3]] == NAMES_OF_THREE and len(rows) <= 4, rows
        assert kind in kinds, (kind, error)
        if offsets:
            assert any(re.search(rf"\b{at}\b", error) for at in offsets), (error, offsets)
        if source is not contents:
            assert str(path) in error
        assert error_of(db, "SELECT name FROM tar_members(?)", source) == error
        names = [row["name"] for row in listed(db, source, "skip")]
        assert names[:3] == NAMES_OF_THREE
        # What lies before the fault is read as ever; by its number, since a name may come again after it.
        assert db.execute("SELECT sum(value) FROM npy_rows(?, 0)", (source,)).fetchall() == [(3,)]
        assert db.execute("SELECT name, error IS NULL FROM npy_meta(?, 'row')", (source,)).fetchall()[0] == ("a", 1)


def test_tarfile_says_nothing_of_these():
    """Which is why it is no oracle for them: it ends its list, or reads on in silence."""
    silent = {"bad checksum", "garbage", "text", "no size", "after the end", "far after the end", "after one zero block", "a second tar"}
    for label in silent:
        with tars.opened(tar(*THREE, mistakes()[label][0], end=b"")) as archive:
            assert archive.getnames() == NAMES_OF_THREE, label


def test_a_member_cut_short_is_a_fault_wherever_it_is_cut(db):
    contents = tar(member("a.npy", npy_bytes(np.arange(100))), member("b.npy", npy_bytes(np.arange(100))), end=b"")
    start = len(contents) // 2
    for length in range(start + 1, start + 512 + 928, 100):  # in its header or its data, and not in what pads it
        rows, error, kind = faulted(listed(db, contents[:length], "row"))
        assert rows[0]["name"] == "a.npy" and len(rows) <= 2 and kind in ("truncated", "format"), (length, error)
        assert db.execute("SELECT count(*) FROM npy_rows(?, 0)", (contents[:length],)).fetchone() == (100,)


def test_a_header_whose_first_sum_is_wrong_is_no_tar(db, tmp_path):
    path = tmp_path / "x.tar"
    for contents in (tar(member("a.npy", b"abc", checksum="wrong")), b"x" * 2000, tar(member("a.npy", b"abc"))[1:]):
        path.write_bytes(contents)
        for source in (str(path), contents):
            for function in ("tar_members", "npy_meta", "npy_rows"):
                assert "not a" in error_of(db, f"SELECT * FROM {function}(?)", source)
        [row] = listed(db, str(path), "row")
        assert (row["path"], row["name"], row["error_kind"]) == (str(path), None, "format")


def test_a_file_of_zeros_is_a_tar_by_its_name_alone(db, folder):
    for nbytes in (512, 1024, 10240):
        for name in ("zeros.tar", "zeros.bin", "tar"):
            (folder / name).write_bytes(bytes(nbytes))
        assert db.execute("SELECT * FROM tar_members('zeros.tar')").fetchall() == []
        # As of an .npz without arrays there is one row.
        assert db.execute("SELECT path, name, format, error FROM npy_meta('zeros.tar')").fetchall() == [("zeros.tar", None, "tar", None)]
        for source in ("zeros.bin", "tar", bytes(nbytes)):
            assert "not a" in error_of(db, "SELECT * FROM tar_members(?)", source)
    # Zeros, and then something else.
    (folder / "zeros.tar").write_bytes(bytes(2048) + b"x" * 512)
    assert re.search(r"\b2048\b", error_of(db, "SELECT * FROM tar_members('zeros.tar')"))


def test_an_empty_file_is_no_tar(db, folder):
    (folder / "empty.tar").write_bytes(b"")
    with pytest.raises(tarfile.ReadError):
        tarfile.open("empty.tar")
    for function in ("tar_members", "npy_meta"):
        assert "empty" in error_of(db, f"SELECT * FROM {function}('empty.tar')")
    assert [row["error_kind"] for row in listed(db, "empty.tar", "row")] == ["empty"]


def test_what_a_file_is_goes_by_its_first_bytes(db, folder):
    """The name of the first member is what a tar begins with; its ending says nothing."""
    (folder / "x.bin").write_bytes(tar(*THREE))
    (folder / "npy.tar").write_bytes(npy_bytes(np.arange(3)))
    assert [row["name"] for row in listed(db, "x.bin")] == NAMES_OF_THREE
    assert db.execute("SELECT format FROM npy_meta('npy.tar')").fetchall() == [("npy",)]
    assert "npy.tar" in error_of(db, "SELECT * FROM tar_members('npy.tar')")
    # A member may have any name, that of another format's first bytes among them.
    for name in (b"\x93NUMPY", b"~TenBin~", b"PK", b"BZh"):
        contents = tar(member(name + b"/a.npy", npy_bytes(np.arange(3))))
        if name in (b"PK", b"BZh"):
            assert [row["name"] for row in listed(db, contents)] == [tars.shown(name + b"/a.npy")]


def test_surveys_of_tars_and_others(db, folder):
    (folder / "1.tar").write_bytes(tar(*THREE))
    (folder / "2.tar").write_bytes(b"no tar at all, but some words of text")
    (folder / "3.tar").write_bytes(tar(THREE[0], b"x" * 512, end=b""))
    (folder / "4.tar").write_bytes(tar(THREE[1]))
    rows = db.execute("SELECT path, name, error_kind FROM tar_members('?.tar')").fetchall()
    assert rows == [
        ("1.tar", "a.npy", None), ("1.tar", "b.txt", None), ("1.tar", "c.cls", None), ("2.tar", None, "format"),
        ("3.tar", "a.npy", None), ("3.tar", None, "format"), ("4.tar", "b.txt", None),
    ]  # fmt: skip
    rows = db.execute("SELECT path, name FROM tar_members('[\"4.tar\", \"1.tar\", \"missing.tar\"]', 'skip')").fetchall()
    assert rows == [("4.tar", "b.txt"), ("1.tar", "a.npy"), ("1.tar", "b.txt"), ("1.tar", "c.cls")]
    assert "2.tar" in error_of(db, "SELECT path FROM tar_members('?.tar', 'raise')")
    assert listed(db, "missing.tar", "row")[0]["error_kind"] == "missing"
    assert db.execute("SELECT * FROM tar_members(NULL)").fetchall() == []
    assert "on_error" in error_of(db, "SELECT * FROM tar_members('1.tar', 'never')")


# --- compressed --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["s.tar.gz", "s.tgz", "s.bin"])
def test_compressed_tars_are_listed_alike(db, folder, name):
    rng = seeded_generator()
    for i in range(15):
        contents = tar(*(one.raw for one in tars.random_members(rng)))
        cuts = sorted(int(at) for at in rng.integers(0, len(contents), i % 4))
        (folder / name).write_bytes(gzipped(contents, cuts))
        expected = tars.expected_members(contents, name)
        for source in (name, gzipped(contents, cuts)):
            rows = listed(db, source, "row")
            assert [row["data_offset"] for row in rows] == [None] * len(rows)
            rows = [row | {"data_offset": want["data_offset"]} for row, want in zip(rows, expected)]
            facts = [want | {"path": name if source == name else None} for want in expected]
            where = [{"header_offset": row["header_offset"]} for row in rows]  # in what, is another question
            assert_same_members(rows, [want | at for want, at in zip(facts, where)])


def test_faults_of_compressed_tars(db, folder):
    contents = tar(*THREE, member("big.bin", seeded_generator().bytes(200_000)))
    packed = gzipped(contents)
    for name, damaged in {
        "cut.tar.gz": packed[: len(packed) // 2],
        "cut-end.tar.gz": packed[:-5],
        "crc.tar.gz": packed[:-8] + bytes(4) + packed[-4:],
        "length.tar.gz": packed[:-4] + bytes(4),
        "garbage.tar.gz": packed + b"garbage that is no gzip",
        "inner.tar.gz": gzipped(tar(*THREE, b"x" * 512)),
    }.items():
        (folder / name).write_bytes(damaged)
        for source in (name, damaged):
            rows, error, kind = faulted(listed(db, source, "row", "idx, name, size, data, error, error_kind"))
            assert [row["name"] for row in rows][:3] == NAMES_OF_THREE and kind in ("format", "truncated", "crc"), (name, error)
    # Zeros after the last gzip member are what tapes leave there.
    assert [row["name"] for row in listed(db, packed + bytes(512))] == NAMES_OF_THREE + ["big.bin"]
    (folder / "npy.gz").write_bytes(gzipped(npy_bytes(np.arange(3))))
    assert "gzip" in error_of(db, "SELECT * FROM tar_members('npy.gz')")
    (folder / "empty.tar.gz").write_bytes(gzipped(bytes(10240)))
    assert db.execute("SELECT * FROM tar_members('empty.tar.gz')").fetchall() == []
    # Another compression is none of a tar's.
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:bz2") as archive:
        archive.addfile(tarfile.TarInfo("a"))
    assert "bzip2" in error_of(db, "SELECT * FROM tar_members(?)", out.getvalue())


# --- damage ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
def test_damaged_archives_end_where_they_are_damaged(db, seed):
    """Whatever is changed, what lies before it is listed as ever, and nothing but a row or an error comes of the rest."""
    rng = seeded_generator(seed)
    for _ in range(150):
        made = tars.random_members(rng, 6)
        contents = bytearray(tar(*(one.raw for one in made)))
        sound = tars.expected_members(bytes(contents))
        at = int(rng.integers(len(made[0].raw), len(contents)))
        contents[at : at + int(rng.choice([1, 8, 600]))] = rng.bytes(int(rng.choice([1, 8, 600])))
        rows = listed(db, bytes(contents), "row")
        ends = [*(want["header_offset"] for want in sound[1:]), sum(len(one.raw) for one in made)]
        before = sum(end <= at for end in ends)
        assert before >= 1 and [row["name"] for row in rows[:before]] == [want["name"] for want in sound[:before]], at
        assert_same_members(rows[:before], sound[:before], at)
