"""npy_concat answers every question as numpy.concatenate's result does, stored in one file; and reads no more than it
needs. What goes wrong with its files is in tests/safety/test_lazy_arrays.py."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest

import shell
import tars
from arrays import npy_bytes, npz_bytes, random_array, saved, seeded_generator, ten_bytes
from expected import counters, error_of
from one_file import compare, cut, write, write_one, write_parts
from safetensors_files import safetensors_bytes

BLOCKS = 700_000  # items of f4: more than a few blocks


def npz(members, variant="stored"):
    return npz_bytes(members, variant)


# --- where the parts are -----------------------------------------------------------------------------------


def in_range(parts):
    """Ranges of one file: {"path", "offset", "nbytes"}."""
    contents = [npy_bytes(part) for part in parts]
    write("ranges", b"before" + b"".join(contents))
    offsets = np.cumsum([6] + [len(c) for c in contents])
    return json.dumps([{"path": "ranges", "offset": int(o), "nbytes": len(c)} for o, c in zip(offsets, contents)])


def in_list(parts):
    write_parts(parts)
    return json.dumps([f"x-{i:03}.npy" for i in range(len(parts))])


def in_pattern(parts):
    write_parts(parts, "d/{:03}/x.npy")
    return "d/**/*.npy"


def in_archives(parts):
    """One array of each of several files, by its name."""
    write_parts(parts, "m-{:03}.npz", lambda part: npz({"other": np.arange(3), "it": part}, "deflate"))
    return "m-*.npz"


def one(path, contents):
    write(path, contents)
    return path


def named(parts):
    return {f"a{i:03}": part for i, part in enumerate(parts)}


def as_tar(parts):
    members = [tars.member(name + ".npy", npy_bytes(part)) for name, part in named(parts).items()]
    return tars.tar(tars.member("first.txt", b"no array"), *members)


# (source, member) for parts, each of them a way to store arrays.
FORMS = {
    "pattern": lambda parts: (in_pattern(parts), ""),
    "list": lambda parts: (in_list(parts), ""),
    "ranges": lambda parts: (in_range(parts), ""),
    "fortran": lambda parts: (write_parts(map(np.asfortranarray, parts), "f-{:03}.npy") or "f-*.npy", ""),
    "members by name": lambda parts: (in_archives(parts), "it"),
    "members by idx": lambda parts: (in_archives(parts), 1),
    "npz": lambda parts: (one("s.npz", npz(named(parts))), ""),
    "deflated npz": lambda parts: (one("d.npz", npz(named(parts), "deflate")), ""),
    "ten": lambda parts: (one("x.ten", ten_bytes(parts)), ""),
    "tar": lambda parts: (one("x.tar", as_tar(parts)), ""),
    "tar.gz": lambda parts: (one("x.tar.gz", tars.gzipped(as_tar(parts))), ""),
    "safetensors": lambda parts: (one("x.safetensors", safetensors_bytes(named(parts))), ""),
    "BLOB of npz": lambda parts: (npz(named(parts), "deflate"), ""),
    "BLOB of safetensors": lambda parts: (safetensors_bytes(named(parts)), ""),
}

@pytest.mark.parametrize("form", FORMS)
def test_as_one_file(db, folder, form):
    array = np.random.default_rng(1).integers(-9, 9, (10, 4)).astype("f8")
    array[3, 2] = np.nan
    write_one(array)
    source, member = FORMS[form](cut(array, 0, 3, 4, 4, 9))
    compare(db, "npy_concat(:source, :member)", {"source": source, "member": member})


@pytest.mark.parametrize("axis", [1, -1, -2])
@pytest.mark.parametrize("form", FORMS)
def test_other_axes(db, folder, form, axis):
    array = np.random.default_rng(2).integers(-9, 9, (9, 6)).astype("i2")
    write_one(array)
    source, member = FORMS[form](cut(array, 1, 1, 4, axis=axis))
    compare(db, "npy_concat(:source, :member, :axis)", {"source": source, "member": member, "axis": axis})


@pytest.mark.parametrize("axis", range(3))
def test_three_axes(db, folder, axis):
    array = np.arange(4 * 5 * 6, dtype=">i4").reshape(4, 5, 6)
    parts = cut(array, 1, 2, 2, axis=axis)
    write("one.npy", npy_bytes(array.astype("=i4")))
    write_parts([parts[0].astype("<i4"), np.asfortranarray(parts[1]), parts[2], parts[3].transpose(2, 0, 1).copy().transpose(1, 2, 0)])
    for view in ["", "1:, ::-1", ":, None, 3, ::2", "..., -1", "::-3, :, 1", "0, 0, 0"]:
        questions = [
            f"SELECT row, value, hex(data) FROM npy_rows({{x}}, '', '{view}')",
            f"SELECT idx, value FROM npy_elements({{x}}, '', '{view}')",
            f"SELECT npy_json(npy_slice({{h}}, '{view}')), npy_json(npy_transpose({{h}}, '[1, 2, 0]'))",
            f"SELECT count, min, max, sum, argmax FROM npy_stats({{x}}, '', '{view}')",
        ]
        compare(db, "npy_concat('x-*.npy', '', :axis)", {"axis": axis}, questions)


DTYPES = ["?", "i1", "u8", "f2", "f4", "f16", "c8", "c32", "M8[ms]", "m8[D]", "S3", "U2", "V5", "S0", "U0", "V0"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_in_mixed_byte_orders(db, folder, dtype):
    array = random_array(seeded_generator(), dtype, (7, 3))
    parts = cut(array, 2, 3)
    write("one.npy", saved(array))
    write_parts([parts[0], parts[1].astype(array.dtype.newbyteorder(">")) if array.itemsize else parts[1], np.asfortranarray(parts[2])], contents=saved)
    asked = ["SELECT row, hex(data) FROM npy_rows({x})", "SELECT row, hex(data) FROM npy_rows({x}, '', '::-1, 1:')", "SELECT npy_copy({h}) = npy_copy({one})"]
    asked += ["SELECT status, differing FROM npy_compare({x}, 'one.npy')", "SELECT dtype, shape FROM npy_meta({x})", "SELECT row, hex(data) FROM npy_rows({x}, '', 4)"]
    compare(db, "npy_concat('x-*.npy')", {}, asked)


STRUCTURED = [
    [("a", "<i2"), ("b", ">f8", (2,)), ("c", "S3")],
    [("n", [("x", "<u4"), ("y", ">M8[s]")]), ("t", "U2"), ("z", "i1", (0,))],
    np.dtype([("a", "i1"), ("b", "<f8")], align=True),
]


FIELDS = [("a", "<f4"), ("b", "<i2", (2,)), ("t", "<M8[s]")]
OTHERS = [[("a", "<f4"), ("c", "<i2", (2,)), ("t", "<M8[s]")], [(("A", "a"), "<f4"), ("b", "<i2", (2,)), ("t", "<M8[s]")]]
OTHERS += [[FIELDS[1], FIELDS[0], FIELDS[2]], [FIELDS[0], ("b", "<i2", (1, 2)), FIELDS[2]], [FIELDS[0], ("b", "<i4", (1,)), FIELDS[2]]]
OTHERS += [[("a", "<i4"), *FIELDS[1:]], [*FIELDS[:2], ("t", "<M8[ms]")], [*FIELDS[:2], ("t", "<M8[2s]")], [FIELDS[0], ("b", "V4"), FIELDS[2]]]
OTHERS += [[("a", [("x", "<f4")]), *FIELDS[1:]], [FIELDS[0], ("b", "<i2", (6,))], [*FIELDS, ("z", "u1")]]


@pytest.mark.parametrize("other", OTHERS, ids=str)
def test_fields_that_differ_are_shown(db, folder, other):
    np.save("0.npy", np.zeros(2, FIELDS))
    np.save("1.npy", np.zeros(2, other))
    error = error_of(db, "SELECT count(*) FROM npy_rows(npy_concat('[01].npy'))")
    assert f"1.npy: has dtype {np.dtype(other).descr}, and those before it {np.dtype(FIELDS).descr}; npy_astype converts" in error
    assert db.execute("SELECT status FROM npy_compare('0.npy', '1.npy')").fetchall() == [("dtype",)]


@pytest.mark.parametrize("number", range(len(STRUCTURED)))
def test_structured_dtypes(db, folder, number):
    """Fields may differ in byte order, too; padding is nobody's."""
    rng = seeded_generator()
    dtype = np.dtype(STRUCTURED[number])
    array = random_array(rng, dtype, (6, 2))
    parts = cut(array, 1, 4)
    write("one.npy", saved(array))
    swapped = np.empty(parts[1].shape, dtype.newbyteorder())
    copy_items(parts[1], swapped)
    write_parts([parts[0], swapped, np.asfortranarray(parts[2])], contents=saved)
    data = "hex(data)" if not dtype.isalignedstruct else "length(data)"
    asked = [f"SELECT row, value, {data} FROM npy_rows({{x}})", "SELECT row, value FROM npy_rows({x}, '', '::-1')", "SELECT idx, value FROM npy_elements({x})"]
    compare(db, "npy_concat('x-*.npy')", {}, asked)


def copy_items(of, to):
    """Item by item of every field: astype rounds some NaNs."""
    if of.dtype.names is not None:
        for name in of.dtype.names:
            copy_items(of[name], to[name])
    elif of.nbytes:
        to[...] = of.byteswap().view(to.dtype) if of.dtype != to.dtype else of


def test_bfloat16(db, folder):
    bits = np.array([0x3F80, 0x4000, 0xFFC0, 0x7F80, 0x0001, 0xC2C8], "<u2")
    write("x.safetensors", safetensors_bytes(named(cut(bits, 2, 3)), bits={"a000": "BF16", "a001": "BF16", "a002": "BF16"}))
    write("one.safetensors", safetensors_bytes({"it": bits}, bits={"it": "BF16"}))
    for sql in ["SELECT row, value, hex(data) FROM npy_rows({})", "SELECT count, min, max, nulls FROM npy_stats({})", "SELECT dtype, shape FROM npy_meta({})"]:
        assert db.execute(sql.format("npy_concat('x.safetensors')")).fetchall() == db.execute(sql.format("'one.safetensors'")).fetchall()


def test_lengths_of_0(db, folder):
    """Along the axis, along others, everywhere; and no bytes however many items."""
    for shapes, axis in [
        ([(0, 3), (2, 3), (0, 3)], 0), ([(0, 3), (0, 3)], 0), ([(2, 0), (3, 0)], 0), ([(2, 0), (2, 4), (2, 0)], 1), ([(0, 2), (0, 3)], 1),
        ([(0, 2**30, 2**20), (0, 2**30, 2**20)], 0), ([(2**30, 0, 2**20), (2**30, 0, 2**20)], 1), ([(2**30, 2**20, 0), (2**30, 2**20, 0)], 0),
    ]:  # fmt: skip
        huge = max(map(max, shapes)) > 9
        write_parts([np.ndarray(shape, "f8", bytearray(8 * math.prod(shape) or 1)) for shape in shapes] if not huge else [], "e-{}.npy")
        if huge:
            for i, shape in enumerate(shapes):
                write(f"e-{i}.npy", npy_header("<f8", shape))
        expected = list(shapes[0])
        expected[axis] = sum(shape[axis] for shape in shapes)
        source = json.dumps([f"e-{i}.npy" for i in range(len(shapes))])
        assert db.execute("SELECT npy_shape(npy_concat(?, '', ?))", (source, axis)).fetchone() == (json.dumps(expected, separators=(",", ":")),)
        ((count,),) = db.execute("SELECT count FROM npy_stats(npy_concat(?, '', ?))", (source, axis)).fetchall()
        assert count == math.prod(expected)
        assert huge or len(db.execute("SELECT value FROM npy_rows(npy_concat(?, '', ?)) LIMIT 5", (source, axis)).fetchall()) == min(5, expected[0])
        assert db.execute("SELECT npy_size(npy_copy(npy_concat(?, '', ?)))", (source, axis)).fetchone() == (count,)


def npy_header(descr, shape):
    header = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {tuple(shape)!r}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header


@pytest.mark.parametrize("descr", ["|S0", "<U0", "|V0"])
def test_items_of_no_bytes(db, folder, descr):
    """There may be 2^62 of them, and not 2^63."""
    write("a.npy", npy_header(descr, (2**61,)))
    write("b.npy", npy_header(descr, (2**61 - 1,)))
    assert db.execute("SELECT npy_shape(npy_concat('?.npy'))").fetchone() == (f"[{2**62 - 1}]",)
    path = db.execute("SELECT path, row FROM npy_rows(npy_concat('?.npy')) WHERE row IN (0, ?, ?)", (2**61 - 1, 2**61)).fetchall()
    assert path == [("a.npy", 0), ("a.npy", 2**61 - 1), ("b.npy", 2**61)]
    write("c.npy", npy_header(descr, (2**62,)))
    write("d.npy", npy_header(descr, (2**62,)))
    assert "d.npy: the lengths add up to more than 2^63 - 1" in error_of(db, "SELECT npy_concat('[cd].npy')")


def test_64_dimensions(db, folder):
    write("a.npy", npy_header("<i2", (1,) * 63 + (2,)) + b"\1\0\2\0")
    write("b.npy", npy_header("<i2", (1,) * 63 + (3,)) + b"\3\0\4\0\5\0")
    assert db.execute("SELECT npy_sum(h), npy_json(npy_reshape(h, '[-1]')) FROM (SELECT npy_concat('?.npy', '', -1) AS h)").fetchone() == (15, "[1,2,3,4,5]")
    assert "there is no axis 64" in error_of(db, "SELECT npy_concat('?.npy', '', 64)")
    assert "does not go with" in error_of(db, "SELECT npy_concat('?.npy')")


# --- paths -------------------------------------------------------------------------------------------------


def test_the_path_of_a_row_is_its_part_s(db, folder):
    lengths = [3, 0, 1, 5]
    write_parts([np.arange(n) + 10 * i for i, n in enumerate(lengths)], "d{}/it.x.npy")
    paths = [f"d{i}/it.x.npy" for i, n in enumerate(lengths) for _ in range(n)]
    call = "npy_concat('d*/*.npy')"
    assert db.execute(f"SELECT path, row FROM npy_rows({call})").fetchall() == [(path, row) for row, path in enumerate(paths)]
    assert db.execute(f"SELECT path, idx FROM npy_elements({call})").fetchall() == [(path, row) for row, path in enumerate(paths)]
    assert db.execute(f"SELECT path, row FROM npy_rows({call}, '', '::-2')").fetchall() == [(paths[row], row) for row in (8, 6, 4, 2, 0)]
    assert db.execute(f"SELECT path, parts, stem, parent FROM npy_rows({call}) WHERE row = 4").fetchall() == [("d3/it.x.npy", '["d3","it.x.npy"]', "it.x", "d3")]
    assert db.execute(f"SELECT row FROM npy_rows({call}) WHERE path = 'd2/it.x.npy'").fetchall() == [(3,)]
    assert db.execute(f"SELECT row FROM npy_rows({call}) WHERE path IN ('d2/it.x.npy', 'd0/it.x.npy', 'd1/it.x.npy')").fetchall() == [(0,), (1,), (2,), (3,)]
    assert db.execute(f"SELECT row FROM npy_rows({call}) WHERE path LIKE 'd_/it%' AND path > 'd2'").fetchall() == [(n,) for n in range(3, 9)]
    assert db.execute(f"SELECT path, count(*), sum(value) FROM npy_rows({call}) GROUP BY path").fetchall() == [(f"d{i}/it.x.npy", n, sum(range(10 * i, 10 * i + n))) for i, n in enumerate(lengths) if n]
    assert db.execute(f"SELECT path FROM npy_nearest({call}, '', ':, None', npy_from_json('[31.2]'), 2)").fetchall() == [("d3/it.x.npy",)] * 2
    assert db.execute(f"SELECT DISTINCT path FROM npy_rows({call}, '', 'None')").fetchall() == [("npy_concat('d*/*.npy')",)]
    assert db.execute(f"SELECT value FROM npy_elements({call}, '', '3') WHERE path = 'd2/it.x.npy'").fetchall() == [(20,)]


def test_a_long_source_of_wide_characters_is_shown_whole(db, folder):
    """A path that stands for a concatenation was cut in the middle of a character."""
    for name in ("\u4e2d" * 60 + "/" + "\u4e2d" * 60, "\U0001f600" * 60 + "/x" + "\U0001f600" * 60, "x'" * 90):
        write(f"{name}.npy", npy_bytes(np.arange(2)))
        ((path,),) = db.execute("SELECT CAST(path AS BLOB) FROM npy_meta(npy_concat(?))", (f"{name}.npy",)).fetchall()
        assert path.decode().startswith("npy_concat('" + name.replace("'", "''")[:90])


# --- handles, joins, counts --------------------------------------------------------------------------------


def test_handles_pass_through_sql(db, folder):
    write_parts([np.arange(6.0).reshape(3, 2), np.ones((2, 2))])
    db.execute("CREATE TEMP TABLE kept(id INTEGER PRIMARY KEY, h)")
    db.execute("INSERT INTO kept(h) SELECT npy_concat('x-*.npy') UNION ALL SELECT npy_calc('a * 2', npy_concat('x-*.npy'))")
    assert db.execute("SELECT npy_sum(h) FROM kept ORDER BY length(h) DESC").fetchall() == [(38.0,), (19.0,)]
    assert db.execute("WITH c AS MATERIALIZED (SELECT h FROM kept ORDER BY id DESC) SELECT npy_get(h, 4, 1) FROM c").fetchall() == [(2.0,), (1.0,)]
    assert db.execute("SELECT id, row, value FROM kept JOIN npy_rows(h) WHERE row >= 3").fetchall() == [(i, r, f"[{i}.0,{i}.0]") for i in (1, 2) for r in (3, 4)]
    assert db.execute("SELECT count(DISTINCT h), count(*) FROM (SELECT h FROM kept UNION ALL SELECT npy_concat('x-*.npy'))").fetchone() == (2, 3)
    assert db.execute("SELECT npy_shape(npy_concat(h)), npy_json(npy_concat(h, '', 1)) FROM kept WHERE id = 2").fetchone() == ("[5,2]", "[[0.0,2.0],[4.0,6.0],[8.0,10.0],[2.0,2.0],[2.0,2.0]]")


def test_two_cursors_over_one_handle(db, folder):
    """Interleaved, forwards and backwards, with more parts than are open at once."""
    write_parts([np.arange(3) + 3 * i for i in range(50)])
    (handle,) = db.execute("SELECT npy_concat('x-*.npy')").fetchone()
    first = db.execute("SELECT value FROM npy_rows(?)", (handle,))
    second = db.execute("SELECT value FROM npy_rows(?, '', '::-1')", (handle,))
    for i in range(150):
        assert first.fetchone() == (i,) and second.fetchone() == (149 - i,)
        assert i % 7 or db.execute("SELECT npy_get(?, ?)", (handle, 149 - i)).fetchone() == (149 - i,)
    pairs = "SELECT a.value, b.value FROM npy_rows(:h) AS a JOIN npy_rows(:h) AS b ON b.row = (a.row * 37) % 150"
    assert db.execute(pairs, {"h": handle}).fetchall() == [(i, i * 37 % 150) for i in range(150)]


def opened(db, sql, *arguments):
    """The rows of a statement, and how many files it opened and bytes it read."""
    before = counters(db)
    rows = db.execute(sql, arguments).fetchall()
    after = counters(db)
    return rows, after["files_opened"] - before["files_opened"], after["bytes_read"] - before["bytes_read"]


def test_only_what_is_needed_is_opened(db, folder):
    """Of more than is held in memory for lookups."""
    n, length = 300, 4000
    write_parts([np.arange(length) + length * i for i in range(n)])
    db.execute("CREATE TEMP TABLE kept AS SELECT npy_concat('x-*.npy') AS h")
    assert opened(db, "SELECT npy_shape(h) FROM kept")[:2] == ([(f"[{n * length}]",)], 0)
    rows, nfiles, nbytes = opened(db, "SELECT value FROM npy_rows((SELECT h FROM kept)) WHERE row = 600300")
    assert rows == [(600300,)] and nfiles == 1 and nbytes < 40_000
    rows, nfiles, _ = opened(db, "SELECT value FROM npy_rows((SELECT h FROM kept)) LIMIT 3")
    assert rows == [(0,), (1,), (2,)] and nfiles <= 2
    wanted = [7000, 1_199_999, 7001, 3, 600_000, 6_999]
    rows, nfiles, nbytes = opened(db, "SELECT r.value FROM json_each(?) AS i JOIN npy_rows((SELECT h FROM kept)) AS r ON r.row = i.value", json.dumps(wanted))
    assert rows == [(i,) for i in wanted] and nfiles == 4 and nbytes < 200_000
    rows, nfiles, _ = opened(db, "SELECT count(*) FROM npy_rows((SELECT h FROM kept))")
    assert rows == [(n * length,)] and nfiles == 0
    rows, nfiles, nbytes = opened(db, "SELECT sum FROM npy_stats((SELECT h FROM kept))")
    assert rows == [(sum(range(n * length)),)] and nfiles == n and nbytes < n * (8 * length + 600)


def test_one_expansion_a_statement(db, folder):
    """Of both sides of a join, however many rows it looks up; each file's header is read once."""
    n = 40
    write_parts([np.arange(5) + 5 * i for i in range(n)])
    write_parts([np.arange(5) * 2 + 10 * i for i in range(n)], "y-{:03}.npy")
    sql = "SELECT count(*), sum(y.value - 2 * x.value) FROM npy_rows(npy_concat('x-*.npy')) AS x JOIN npy_rows(npy_concat('y-*.npy')) AS y USING (row)"
    rows, nfiles, _ = opened(db, sql)
    assert rows == [(200, 0)] and nfiles <= 4 * n  # headers, and items
    rows, nfiles, _ = opened(db, sql)
    assert rows == [(200, 0)] and nfiles <= (4 if shell.FLAVOUR == "small" else 2) * n  # items; the small build keeps one file


def test_parts_of_one_archive_share_it(db, folder):
    """The directory of an archive with many parts was read again for each part."""
    n = 400
    write("x.npz", npz({f"{i:04}": np.arange(2) + 2 * i for i in range(n)}))
    write("x.safetensors", safetensors_bytes({f"{i:04}": np.arange(2) + 2 * i for i in range(n)}))
    for path in ("x.npz", "x.safetensors"):
        size = os.path.getsize(path)
        rows, nfiles, nbytes = opened(db, "SELECT sum(value) FROM npy_rows(npy_concat(?))", path)
        assert rows == [(sum(range(2 * n)),)] and nfiles <= 2 and nbytes < 12 * size


# --- many parts, large parts -------------------------------------------------------------------------------


@pytest.mark.parametrize("cuts", [[], [1, 2, 3], [100_000, 350_000], list(range(0, BLOCKS, 9973))], ids=["one", "small", "large", "many"])
def test_parts_smaller_and_larger_than_blocks(db, folder, cuts):
    array = np.arange(BLOCKS, dtype="f4") % 1009
    write_one(array)
    write_parts(cut(array, *cuts), "x-{:06}.npy")
    asked = [
        "SELECT count, min, max, sum, argmax FROM npy_stats({x})", "SELECT value, count, first FROM npy_unique({x}) WHERE value % 100 = 0", "SELECT q, value FROM npy_quantile({x}, '', '', 0.3)",
        "SELECT lo, count FROM npy_histogram({x}, '', '', 7)", "SELECT status FROM npy_compare({x}, 'one.npy')", "SELECT bytes FROM npy_write('out.npy', {h}); SELECT status FROM npy_compare('out.npy', 'one.npy')",
        "SELECT sum(value), count(*) FROM npy_rows({x}, '', '::-7')", "SELECT npy_copy({h}) = npy_copy({one})", "SELECT row, value FROM npy_rows({x}) WHERE row IN (0, 99999, 100000, 699999)",
    ]  # fmt: skip
    compare(db, "npy_concat('x-*.npy')", {}, asked)


MANY = """
import json, os, resource, sys
sys.path.insert(0, sys.argv[1])
import shell
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
db = shell.connect()
db.execute("CREATE TEMP TABLE kept AS SELECT npy_concat('p/*.npy') AS h, npy_concat('p/*.npy', '', 1) AS wide")
asked = [
    "SELECT count, sum, min, max FROM npy_stats((SELECT h FROM kept))",
    "SELECT sum(a.value = b.value) FROM npy_rows((SELECT h FROM kept), '', ':, 0') AS a JOIN npy_rows(npy_concat('p/*.npy'), '', ':, 0') AS b USING (row)",
    "SELECT sum(a.value * b.value) FROM npy_rows((SELECT h FROM kept), '', ':, 0') AS a JOIN npy_rows((SELECT h FROM kept), '', '::-1, 0') AS b USING (row)",
    "SELECT count, sum FROM npy_stats((SELECT wide FROM kept))",
    "SELECT npy_json(npy_slice(wide, '1, ::500')) FROM kept",
    "SELECT status FROM npy_compare((SELECT h FROM kept), npy_concat('p/*.npy'))",
    "SELECT q, value FROM npy_quantile((SELECT h FROM kept), '', '', 0.25)",
]
print(json.dumps([db.execute(sql).fetchall() for sql in asked]))
"""


@pytest.mark.parametrize("nthreads", [1, 4])
def test_2000_parts_and_64_descriptors(folder, nthreads):
    n = 2000
    write_parts([np.array([[i, 1], [i, 2]]) for i in range(n)], "p/{:04}.npy")
    environment = dict(os.environ, NPYEXT_THREADS=str(nthreads))
    done = subprocess.run([sys.executable, "-B", "-c", MANY, os.path.dirname(shell.__file__)], stdout=subprocess.PIPE, check=True, env=environment, timeout=shell.PATIENCE)
    total = n * (n - 1)
    first = np.repeat(np.arange(n), 2)
    assert json.loads(done.stdout) == [
        [[4 * n, total + 3 * n, 0, n - 1]], [[2 * n]], [[int((first * first).sum())]], [[4 * n, total + 3 * n]],
        [[json.dumps(np.stack([np.arange(n), np.full(n, 2)], 1).reshape(-1)[::500].tolist(), separators=(",", ":"))]], [["equal"]], [[0.25, 1]],
    ]  # fmt: skip
