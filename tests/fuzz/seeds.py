"""Seeds of the fuzz targets: `python3 tests/fuzz/seeds.py FOLDER` writes FOLDER/TARGET/*, small files.

They come from the makers of the project's own tests, so that a new kind of file is a seed as soon as it is tested.
"""

import collections
import datetime
import decimal
import gzip
import io
import json
import os
import pathlib
import pickle
import re
import struct
import sys
import tarfile
import uuid
import zipfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))

import numpy as np  # noqa: E402

import arrays  # noqa: E402
import gguf_files  # noqa: E402
import make_files  # noqa: E402
import pickle_files  # noqa: E402
import tars  # noqa: E402
import torch_files  # noqa: E402
from formats import header_text, npy, npz, ten  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
MAX_BYTES = 4096
MAX_BYTES_OF = {"tar": 24576}


def npy_files():
    """Every dtype, in both byte orders, scalar, empty, Fortran and structured."""
    rng = np.random.default_rng(1)
    for dtype in arrays.SCALARS + arrays.ITEM_SIZE_ZERO:
        for order in arrays.both_byte_orders(dtype):
            yield arrays.npy_bytes(arrays.random_array(rng, order, (3,)))
    for shape in [(), (0,), (1,), (2, 3), (3, 0, 2), (2, 1, 3, 1), (1,) * 32]:
        yield arrays.npy_bytes(arrays.random_array(rng, "<f8", shape))
        yield arrays.npy_bytes(arrays.random_array(rng, ">i2", shape, "F"))
    for _ in range(40):
        yield arrays.npy_bytes(arrays.random_array(rng, arrays.random_structured_dtype(rng), (2,)))
    for version in [(1, 0), (2, 0), (3, 0)]:
        yield arrays.npy_bytes(np.arange(5), version)
    for _, contents in [*make_files.types(), *make_files.structured()]:
        yield contents
    yield arrays.object_npy_bytes()
    for values in objects():
        array = np.empty(len(values), object)
        array[:] = values if len(values) != 1 else [values[0]]
        yield arrays.npy_bytes(array)
    yield arrays.npy_bytes(np.array([(1, [2], 0.5, "x")], [("a", "<i4"), ("o", "O"), ("h", "<f2"), ("u", "<U2")]))
    for claim in claims():
        yield npy("|O", (1,), claim)
    yield npy("<f4", (2**40, 0, 3), b"")
    yield npy("<f4", (1000,), bytes(8))


def npz_files():
    rng = np.random.default_rng(2)
    members = {"a": np.arange(6).reshape(2, 3), "d/b": rng.normal(size=3), "c": np.array(["x", "yz"])}
    for variant in arrays.NPZ_VARIANTS:
        yield arrays.npz_bytes(members, variant)
        yield arrays.zip_bytes(arrays.mixed_entries(), variant)
    yield arrays.zip_bytes([("a.npy", arrays.npy_bytes(np.zeros(3))), ("a.npy", b"x"), ("\u540d.npy", b"")])
    yield npz([], comment=b"nothing")
    yield npz([("no date.npy", arrays.npy_bytes(np.arange(2)))], when=(1980, 0, 0, 0, 0, 0))
    yield arrays.npy_bytes(np.arange(4))
    plain = arrays.npz_bytes({"x": np.arange(3)})
    yield b"bytes before" + plain
    yield b"#!/bin/sh\nexit\n" + plain
    yield plain + b"bytes after"
    yield plain + plain
    limit, zipfile.ZIP_FILECOUNT_LIMIT = zipfile.ZIP_FILECOUNT_LIMIT, -1  # zip64's end record, whatever is in it
    yield arrays.npz_bytes({})
    yield arrays.npz_bytes({"x": np.arange(3), "y": np.arange(2)}, "zip64")
    yield b"\x7fELF" + bytes(60) + arrays.npz_bytes({"x": np.arange(3)})
    zipfile.ZIP_FILECOUNT_LIMIT = limit
    for place in (np.arange(3), np.zeros((2, 2), "f4")):  # several arrays in one .npy
        yield arrays.npy_bytes(place) + arrays.npy_bytes(np.arange(4)) + arrays.npy_bytes(np.zeros(0)) + b"tail"
    yield arrays.npz_bytes({"f": np.asfortranarray(np.arange(300).reshape(15, 20) % 7)}, "deflate")
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        yield npz([("x.npy", arrays.npy_bytes(np.arange(3)))], method)
    for dtype in ("<f8", ">i2", "?", "<M8[s]", "S3"):
        yield arrays.npz_bytes({"x": arrays.random_array(rng, dtype, (4,)), "y": arrays.random_array(rng, dtype, (4, 2))})


def ten_files():
    rng = np.random.default_rng(3)
    for order in "<>":
        for code in arrays.TEN_CODES:
            yield arrays.ten_bytes([arrays.random_array(rng, code, (3,)), np.zeros((2, 0), "f4")], order, ["one"])
    yield arrays.ten_bytes([np.array(i) for i in range(5)], infos=["a", "b", "a", "", "12345678"])
    yield ten([("f8", "deep", (1,) * 9, bytes(8)), ("f8", "\0deeper", (1,) * 40, bytes(8))])


def dtype_texts():
    with open(os.path.join(HERE, "..", "..", "src", "array", "dtype_parse.c"), encoding="utf-8") as source:
        yield from re.findall(r'^    \{"([^"]+)", NPYX_', source.read(), re.M)
    rng = np.random.default_rng(4)
    for dtype in arrays.SCALARS:
        for order in arrays.both_byte_orders(dtype):
            yield order.str
    for _ in range(60):
        yield repr(np.lib.format.dtype_to_descr(arrays.random_structured_dtype(rng)))
    yield from ["float32[*, 128]", "[>=1000, 28, 28]", "int64[..., 3]", "datetime64[25s]", "M8[s/1000]", "<U2147483647"]
    yield from ['[["x","<f4"],["y","<i8",[3]]]', "[('a', ('<f4', (2,))), ('', '|V4')]", "('<i4', (2, 3))", "O8", "f4\0"]
    yield repr([("quote'\"", "f4"), ("tab\t line\n\r \x1b \\", "i2", 1), ("deep", "u1", (1,) * 65)])
    yield from ["[('x', ('f4', 2, 3))]", "[('x', ('S9', (2147483647,)))]", "[" + "('name', 'f4'), " * 9 + "]", ">" * 70]


def literals():
    yield from map(header_text, ["<f4", [("x", "<f4"), (("t", "y"), ">i2", (2, 3))]], [(3,), (2, 2)])
    yield from ["{'a': 1, \"b\": [True, False, None], }", "(1, -2, 0x1f, 0o17, 0b11, 1_000)", "[" * 199 + "]" * 199]
    yield from ["'\\x41\\u00e9\\U0001f600\\n\\'\\N{DASH}'", "b'\\xff' b'y'", "'a' 'b' \"c\"", "'''long'''", "r'\\n'"]
    yield from ["(1,\r\n 2)", "'a\\\r\nb'", "[1, 'x"]
    yield from ["99999999999999999999", "-9223372036854775808", "1L", "()", "(1,)", "# comment\n1", "1 \\\n"]


SLICES = ["[" * 70, "9" * 30, "10:20", ":, 3", "..., ::-2", "-1", "None, 1", "[1:, ::3]", "(0, ..., newaxis)", "::-1, 1:2, :5:2", "()", "5:2"]


def slices():
    for i, text in enumerate(SLICES):
        for first in SLICES[:3]:
            shape = bytes([2 * (2 + i % 3) + i % 2, 3, 4, 5, 6])
            yield shape + bytes([len(first)]) + first.encode() + bytes([i, 2, 1]) + bytes([len(text)]) + text.encode() + b"..."


EXPRESSIONS = ["a", "a - b", "(a - b) / c", "where(a > 0, a, b // 3)", "-a ** 2 % 7", "~a & b | c ^ 1", "clip(a, -1, 1e3)", "minimum(a, maximum(b, .5))",
               "sqrt(abs(a)) + exp(log1p(b)) - tanh(c)", "round(a * 100) / 100", "isnan(a) | ~isfinite(b)", "((((a))))", "a < 300", "1 - a", "floor(a) == trunc(b)", "a *", "a b", "a < b < c", "a and b"]


def expressions():
    """Operands (a kind, a dtype, flags and lengths, a seed of the items each), and an expression over them."""
    for i, text in enumerate(EXPRESSIONS):
        for type in range(0, 20):
            names = [name for name in "abc" if name in text] or ["a"]
            operands = b"".join(bytes([200, (type + 3 * k * (i % 2)) % 20, 4 + i % 2, (3, 6, 5)[k] if i % 3 else 3, 4, (17 * i + k) % 256]) for k in range(len(names)))
            yield bytes([len(names) - 1]) + operands + text.encode()


def jsons():
    texts = ["[[1, 2], [3]]", "[[1], {}]", "[1, null, true, false, \"x\", [2]]", "[1, 2.5, null]", "[[1, 2], [3, 4]]", "[true, false]", '["a", "\\u00e9\\ud83d\\ude00"]', "[]", "[[], []]", "3",
             "[9e999, -9e999, 1e-5]", "[18446744073709551615, 9223372036854775808]", '{"x": 1, "y": [1, 2]}']
    for text in texts:
        for dtype in ["", "f4", "<i2", "?", "U5", "S9", ">u8", "f2", "f16", "bfloat16"]:
            yield dtype, text
    yield "c16", "[[1, 2], [null, 9e999]]"
    yield "M8[D]", '["2020-02-29", null, 17]'
    yield "m8[s]", "[1, null, -5]"
    yield "[('x', '<f4'), ('y', '>i2', (2,))]", '[{"x": 1, "y": [1, 2]}, {"x": null, "y": [3, 4]}]'
    yield "[('x', '<f4'), ('y', [('z', 'S3')])]", '[[1, ["abc"]], [2, ["d"]]]'


def texts():
    for text in ["0", "-0.0", "1e308", "123456789.125", "4.9e-324", "18446744073709551615", "2020-02-29", "1969-12-31 23:59:59.999",
                 "-0044-03-15T12", "NaT", "2020-01-01T12:3", "2020-01-1", "9999999999999999-01-01", "25s", "s/1000", "generic", "[1, {\"a\": [null, \"\\u00e9\"]}]", "[2, -1, 3]", "deflate:9"]:
        for i in range(3):
            yield struct.pack("<dBBB", 1.5 * 10.0 ** (20 * i - 20), len(text) % 14, i, 3) + text.encode()


def writes():
    rng = np.random.default_rng(5)
    for flags in (0, 1, 2, 3):
        for _ in range(8):
            operations = b""
            for _ in range(6):
                name = bytes(rng.choice(list(b"abcxyz/."), rng.integers(1, 6)))
                member = bytes([rng.integers(256), 2, rng.integers(1, 5), rng.integers(1, 5), len(name)]) + name
                operations += bytes([0]) + member + bytes([9, rng.integers(256), 200] + [0] * 3)
                operations += bytes([rng.integers(4, 8) + 8 * rng.integers(3)])
            yield bytes([flags]) + (bytes([99]) if flags & 2 else b"") + operations


def arguments_of(statement):
    """Something sensible for ?2 to ?4 of a statement of fuzz_sql."""
    chosen = {"astype = ": "<f4", "view = ": "<i8", "field = ": "x", "expect = ": "float64", "on_error = ": "skip",
              "npy_astype(?1, ": "<f4", "npy_reshape(?1, ": "[-1]", "npy_order(?1, ": "F", "npy_transpose(?1, ": "[1, 0]",
              "npy_member(?1, ": "a", "npy_from_json(": "[[1, 2], [3, 4]]", "npy_from_json(?2, ": "<i2",
              "npy_from_data(?1, ": "u1", "npy_from_data(?1, ?2, ": "[-1]", "npy_array(value, ": "<f4",
              "npy_array(value, ?2, ": "[-1]", "npy_records(": "[('a', '<f4'), ('b', '<U3')]", "npy_stack(data, ": "<f8",
              "npy_stack(column1, ": "<f4", "npz_archive(column1, ?1, ": "deflate:9", "npy_stats(?1, '', ?2) WHERE axis = ": "0",
              "tar_members(?1, ": "row", "key = ": "a", "'offset', 0 + ": "0", "'nbytes', 0 + ": "152", "'offset', 512 * ": "0"}
    quoted = iter([{"dtype=%Q": b"<f4", "shape=%Q": b"[-1]", "method=%Q": b"deflate"}.get(text) for text in re.findall(r"\w*=?%Q", statement)])
    for number in (2, 3, 4):
        own = next(quoted, None)
        if own is not None:
            yield own
            continue
        found = [text for before, text in chosen.items() if f"{before}?{number}" in statement]
        yield found[-1].encode() if found else None


def statements():
    """The texts of each statement of fuzz_sql, in the order of their numbers."""
    with open(os.path.join(HERE, "fuzz_sql_statements.h"), encoding="utf-8") as source:
        body = source.read()
    begin = body.index("statements[] = {") + len("statements[] = {")
    body = re.sub(r"/\*.*?\*/", "", body[begin : body.index("\n};", begin)], flags=re.S)
    comparisons, found = 10, []
    for macro, brace, text in re.findall(r'(COMPARED)|([{}])|"((?:\\.|[^"\\])*)"', body):
        if macro:
            found += [["<", comparisons]]
        elif brace == "{":
            found += [["", 1]]
        else:
            found[-1][0] += text
    return [text for text, count in found for _ in range(count)]


def sqls():
    files = [arrays.npy_bytes(np.arange(6.0).reshape(2, 3)), arrays.npy_bytes(np.array([3, -1, 7])),
             arrays.npz_bytes({"a": np.arange(4), "b": np.ones(4)}, "deflate"), arrays.ten_bytes([np.arange(4, dtype="i2")]),
             arrays.npy_bytes(np.array([(1, 2.5), (3, 4)], [("x", "<i4"), ("y", "<f8")])),
             arrays.npy_bytes(np.array([1 + 2j, 3])), arrays.npy_bytes(np.array(["ab", "c"])),
             arrays.npy_bytes(np.array(["2020-01-01", "NaT"], "M8[D]"))]
    array = arrays.npy_bytes(np.arange(3))
    shard = tars.tar(tars.pax({"path": "a.npy"}) + tars.member("short", array), tars.member("a.cls", b"7"), end=bytes(512))
    files += [shard, tars.gzipped(shard + tars.member("b.npz", arrays.npz_bytes({"w": np.arange(4)}, "deflate")), [700])]
    files += list(checkpoints())[4:7:2]  # whole ones: a dtype that is not read, and sound ones
    labels = [np.array(["a", "b"]), np.array([1.5, np.nan]), np.array(["NaT", "2020-01-01"], "M8[D]"), np.zeros(2, "S0"), np.array([[2], [2]], ">i2")]
    pairs = {0: [arrays.npy_bytes(np.ones((2, 3), "f4")), *map(arrays.npy_bytes, labels)], 1: [arrays.npy_bytes(np.array([True, False, True]))]}
    for number, statement in enumerate(statements()):
        for k, contents in enumerate(files):
            texts = [b"\1\1", b"\1\5", b""] if k % 2 else [b":", b"2.5", b"0"]
            texts = [own if own is not None else text for own, text in zip(arguments_of(statement), texts)]
            for other in [b""] if "?5" not in statement and "'o'" not in statement else [files[k - 1], array, *pairs.get(k, ())]:
                yield sql_input(number, texts, other, contents)
                if k in (0, 2, 4) and "USING" not in statement:
                    yield sql_input(number | IS_VIEW, texts, other, contents)
        if "USING" in statement and number % 10 == 0:  # these do the same all: two vectors come into the table, and do not
            yield sql_input(number | IS_VIEW, texts, array, array)
            yield sql_input(number | IS_VIEW, texts, array, files[0])


IS_VIEW = 0x8000  # as in fuzz_sql.c


def sql_input(number, texts, other, contents):
    texts = b"".join(bytes([len(text)]) + text for text in texts)
    return number.to_bytes(2, "little") + texts + len(other).to_bytes(2, "little") + other + contents


def tar_files():
    files = {"a/000001.emb.npy": arrays.npy_bytes(np.arange(4)), "a/000001.cls": b"7", "b.npz": arrays.npz_bytes({"w": np.ones(3)}),
             "c.ten": arrays.ten_bytes([np.arange(3, dtype="i2")]), "é" * 60 + "/" + "x" * 90 + ".npy": arrays.npy_bytes(np.ones(2))}
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=form, pax_headers={"comment": "of all"} if form == tarfile.PAX_FORMAT else None) as tar:
            for name, contents in files.items():
                info = tarfile.TarInfo(name)
                info.size, info.mtime = len(contents), 1.5 if form == tarfile.PAX_FORMAT else 3
                tar.addfile(info, io.BytesIO(contents))
            for kind in (tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.GNUTYPE_SPARSE):
                info = tarfile.TarInfo("other")
                info.type, info.linkname = kind, "a/000001.cls"
                tar.addfile(info)
        yield out.getvalue()
        yield out.getvalue()[:2048]
    made = list(tars_of_parts())
    yield from made
    # What is compressed already: in several members, cut, with the fields that a header may have.
    for contents in made[:3]:
        yield tars.gzipped(contents)
        yield tars.gzipped(contents, [0, 100, 100, 512, len(contents) // 2])
        yield tars.gzipped(contents)[:-20]
        yield gzip.compress(b"") * 9 + tars.gzipped(contents, [700]) + bytes(600)
        yield gzip_with_fields(contents)
    yield tars.gzipped(made[0]) + b"something else"
    yield tars.gzipped(b"no tar")


def gzip_with_fields(contents):
    """An extra field, a name, a comment, and the CRC of all that."""
    begin = b"\x1f\x8b\x08\x1e" + bytes(6) + b"\5\0ab\1\0x" + b"name\0" + b"comment\0"
    return begin + struct.pack("<H", zlib.crc32(begin) & 0xFFFF) + tars.gzipped(contents)[10:]


def tars_of_parts():
    """Everything that can stand before a member or in it."""
    member, pax, tar = tars.member, tars.pax, tars.tar
    array, many = arrays.npy_bytes(np.arange(3)), {"w": np.arange(6.0).reshape(2, 3), "d/b": np.ones(2), "": np.arange(1)}
    nested = arrays.zip_bytes([("a.npy", array), ("a.npy", array), (".npy", array), ("no.txt", b"text")])
    yield tar(member("a.npy", array), member("b.npz", arrays.npz_bytes(many, "deflate")), member("c.npz", nested),
              member("d.ten", arrays.ten_bytes([np.arange(3, dtype="i2"), np.arange(2.0), np.arange(1.0)], infos=["x", "", "x"])), member("e.npy", array + array))  # fmt: skip
    yield tar(tars.gnu_long("L", "n" * 150 + ".npy") + member("short", array), tars.gnu_long("K", "t" * 300) + member("link", type=b"2"),
              pax({"path": "p" * 120 + "/\u00e9.npy", "mtime": "1.25", "uid": 2**40}) + member("short", array), member("d" * 90 + "/x.npy", array, prefix="p" * 150),
              pax({"size": len(array), "linkpath": "l" * 200}) + member("size.npy", array, size=0))  # fmt: skip
    yield tar(pax({"mtime": "7.5", "uname": "all", "comment": "of all"}, b"g"), member("a.npy", array), pax({"uname": "others"}, b"g"), pax({"gname": "own"}) + member("b.npy", array),
              member("folder/", type=b"\0", magic=tars.V7), member("late", mtime=2**80, uid=-5), member("minus", mtime=-7))  # fmt: skip
    segments = [(100 * i, b"s" * (i + 1)) for i in range(30)]
    for version in tars.SPARSE_VERSIONS:
        yield tar(member("a.npy", array), tars.sparse(version, "s.npy", segments, 4000), member("b.npy", array))
    yield tar(tars.gnu_sparse("s.npy", segments, 4000)[:1024])
    yield tar(member("a.npy", array, size=2**62), end=b"")
    yield tar(*(pax({"path": f"{i}"}) for i in range(9)), *(tars.gnu_long("L", f"{i}") for i in range(9)), member("x.npy", array))
    yield tar(pax([("path", f"p{i}") for i in range(200)] + [("size", "--9")]) + member("x.npy", array[:-1]), end=bytes(99))
    yield tar(*(member(f"k.{i}", type=b"0") for i in range(20)), member("k.1"), member("0000000.npy", array), end=tars.END + bytes(3000) + b"x")


def objects():
    """Values of every kind that is known by its class, and of some that are not."""
    yield [None, True, 1, -(2**31), 2**70, -0.0, float("inf"), "a", "\u4e2d\ud800", b"\0\xff", bytearray(b"b"), 1 - 2j]
    yield [(), [], {}, set(), frozenset({1}), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), {"k": [1], 2: None, (3,): "v"}]
    yield [datetime.datetime(2026, 1, 2, 3, 4, 5, 6, datetime.timezone.utc), datetime.date(1, 1, 1), datetime.time(1), datetime.timedelta(-1, 2)]
    yield [decimal.Decimal("1.50"), uuid.UUID(int=7), pathlib.PurePosixPath("/a/b"), collections.OrderedDict(a=1), collections.Counter("ab"), range(3), len]
    yield [np.arange(6).reshape(2, 3), np.asfortranarray(np.ones((2, 2), ">f4")), np.float32(0.5), np.datetime64("2026-01-02"), np.array(["a", None], object)]
    yield [np.zeros(2, [("x", "f4"), ("o", "O"), ("s", "S2", (2,))]), np.ma.array([1, 2], mask=[0, 1]), np.bool_(True), np.array("x")]
    shared = ["shared"]
    yield [shared, shared, [shared, {"again": shared}]]


def pickles():
    for value in objects():
        for protocol in range(6):
            yield pickle.dumps(value, protocol)
    yield b"(S'a\\x41\\n'\nV\\u4e2d\nI01\nL5L\nF1.5\n(lp0\ng0\n(dt0."
    yield b"(i__main__\nC\n(dS'x'\nI1\nsb."
    yield b"(c__main__\nC\nK\x05o."
    yield b"]q\0h\0a."
    yield b"]q\0" + b"".join(b"0](h%ch%ceq%c" % (i, i, i + 1) for i in range(60)) + b"."
    yield b"cos\nsystem\n(S'true'\ntR."
    for tree in ([np.arange(6.0).reshape(2, 3), {"k": np.asfortranarray(np.ones((3, 2), ">i2")), 1: np.array([None, "x"], object)}], np.arange(3000, dtype="u8"), {"a": np.zeros(2, [("x", "<i2"), ("y", "<f4", (2,))])}):
        yield pickle_files.joblib_dumps(tree)
        yield pickle_files.joblib_dumps(tree, 2, 0)
        yield zlib.compress(pickle.dumps(tree, 4)) + pickle.dumps(tree, 5)
        yield pickle.dumps(tree, 5) + pickle.dumps(tree, 2)
    yield from claims()


def claims():
    """Pickles that nobody's pickle module makes: they claim what is not there, or name one part many times."""
    stop, array = b".", b"\x80\x04cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85U\1b\x87R\x94"
    masked = array.replace(b"core.multiarray\n_re", b"ma.core\n_mare")

    def number(value):
        return b"\x8a\x08" + value.to_bytes(8, "little", signed=True)

    def shape(*lengths):
        return b"(" + b"".join(map(number, lengths)) + b"t"

    def dtype(code, state=b""):
        return b"cnumpy\ndtype\nU" + bytes([len(code)]) + code + b"\x89\x88\x87R\x94" + state

    def fields(itemsize, *pairs):
        names = b"".join(b"\x8c\1" + name for name, _, _ in pairs)
        each = b"".join(b"\x8c\1" + name + of + number(at) + b"\x86" for name, of, at in pairs)
        return dtype(b"V8", b"(K\3U\1|N(" + names + b"t}(" + each + b"u" + number(itemsize) + b"K\1K\x10tb")

    def state(lengths, of, data):
        return b"(K\1" + shape(*lengths) + of + b"\x89" + data + b"tb"

    big = fields(2**31 - 1, (b"a", dtype(b"O8"), 0), (b"b", dtype(b"V2147483639"), 8))
    for data in (b"C\0", b"](K\1e", b"](K\1K\2te", b"](K\1C\0t" + b"h\1" * 9 + b"e"):
        yield array + state([2**62], dtype(b"S0"), data) + stop
        yield array + state([2**31, 2**31], dtype(b"f8"), data) + stop
        yield array + state([1], big, data) + stop
        yield array + state([1] * 64, fields(8, (b"x", dtype(b"f4"), 0), (b"o", dtype(b"O8"), 0)), data) + stop
        yield masked + state([3], dtype(b"V0"), data)[:-2] + b"C\3\0\1\0Ntb" + stop
        yield b"\x80\4cnumpy.core.multiarray\nscalar\n(" + dtype(b"V2147483647") + data + b"tR" + stop
        yield b"\x80\4cnumpy._core.numeric\n_frombuffer\n(" + data + dtype(b"O8") + shape(2**62) + b"U\1CtR" + stop
    nested = dtype(b"f8")
    for depth in range(18):  # each has the one before for all its fields
        nested = fields(64, *((bytes([97 + i]), nested if i == 0 else b"h" + bytes([depth]), 0) for i in range(8)))
    yield array + state([0], nested, b"C\0") + stop
    yield b"\x80\4" + dtype(b"V8", b"(K\3U\1|N(\x8c\1at}(\x8c\1ah\0K\0\x86uK\1K\1K\x10tb") + stop  # a field of itself
    for around in (b"(%st", b"(%sl", b"(%sd", b"(%s\x91", b"\x8f(%s\x90", b"](%se", b"cown\nClass\n(%st\x81", b"cown\nClass\n)\x81(%stb"):
        twice = b"".join(b"0" + around % (b"h%c" % i * 2) + b"\x94" for i in range(100))
        yield b"\x80\4](K\1\x94" + twice + b"e" + stop
        yield b"\x80\4}(" + around % b"}(K\1K\2u" * 2 + around % b"" + b"N" + b"u" + stop  # dicts and all else as keys
    yield b"\x80\4]\x94(h\0h\0e}\x94(h\0h\1u" + b"\x86" + stop  # within themselves
    yield b"\x80\4(" + b"ccollections\nOrderedDict\n)R\x94(h\0h\0u" * 3 + b"cbuiltins\nset\n(](h\0e\x85R" + b"l" + stop
    yield b"\x80\4X\xff\xff\xff\x7fab" + stop
    yield b"\x80\4r\xff\xff\xff\x7fj\xff\xff\xff\x7f" + stop
    yield b"\x80\4\x8b\xa0\x0f\0\0" + b"\xff" * 4000  # as many digits as are turned into a text, without an end
    yield b"\x80\4\x8b\0\7\0\0" + b"\xff" * 1792 + b"\x94](" + b"h\0" * 900 + b"e" + stop


def checkpoints():
    """Whole files, and what fuzz_safetensors.c makes them of."""
    sizes = {"BOOL": 1, "I8": 1, "U16": 2, "I32": 4, "U64": 8, "F16": 2, "BF16": 2, "F32": 4, "F64": 8, "C64": 8, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1}
    headers = [{}, {"__metadata__": {"format": "pt", "note": "\u00e9\"\\"}}, {"a": {"dtype": "F4", "shape": [4], "data_offsets": [0, 2]}}]
    for shapes in ([[2, 3], [], [0, 4]], [[3], [1, 2, 2]]):
        at, header = 0, {"__metadata__": {"a": "b"}}
        for i, (dtype, size) in enumerate(sizes.items()):
            nbytes = size * int(np.prod(shapes[i % len(shapes)], dtype=int))
            header[f"layer.{i}"] = {"dtype": dtype, "shape": shapes[i % len(shapes)], "data_offsets": [at, at + nbytes]}
            at += nbytes
            headers.append(dict(header))
    for header in headers:
        text = json.dumps(header).encode()
        nbytes = max([tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"] or [0])
        data = bytes(i * 7 % 256 for i in range(nbytes))
        yield len(text).to_bytes(8, "little") + text + data
        yield b"\1" + len(text).to_bytes(2, "little") + nbytes.to_bytes(2, "little") + text + data


def torch_saved():
    """Whole files, and what fuzz_torch.c makes them of."""
    numbers = np.arange(24, dtype="f4").tobytes()
    sound = torch_files.tensor("Float", "0", 24, 0, (2, 3, 4), (12, 4, 1))
    trees = [
        {"a": sound, "b": [torch_files.tensor("Float", "0", 24, 1, (3, 2), (4, 2)), sound], 7: torch_files.tensor("Long", "1", 1, 0, (), ())},
        [torch_files.typed_tensor(dtype, "0", 96, 2, (2, 5), (0, 1)) for dtype in ("float8_e4m3fn", "uint16", "float32", "float4")],
        [torch_files.Storage(kind, "0", 3) for kind in ("Half", "BFloat16", "Bool", "ComplexDouble", "QInt8", "Untyped")],
        torch_files.Call("torch.nn.modules.linear", "Linear", state={"_parameters": {"weight": torch_files.Call("torch._utils", "_rebuild_parameter", sound, True, {})}, "_buffers": {}}),
        torch_files.Call("torch._tensor", "_rebuild_from_type_v2", torch_files.Global("torch._utils", "_rebuild_tensor_v2"), torch_files.Global("own", "Tensor"), sound.args, {}),
        torch_files.Call("torch._utils", "_rebuild_sparse_tensor", 1, (sound, sound, torch_files.Call("torch", "Size", (3, 4)))),
        {"x": np.arange(6).reshape(2, 3), "y": {"z": {"w": (sound,) * 5}}, (1, b"k"): [None, 2.5, "text"]},
        torch_files.tensor("Float", "0", 24, 0, (2**40, 2), (0, 2**62)),
    ]  # fmt: skip
    for tree in trees:
        yield torch_files.torch_zip(tree, {"0": numbers, "1": bytes(8)})
        yield torch_files.torch_legacy(tree, {"0": (24, numbers), "1": (1, bytes(8))})
        pickle_bytes = torch_files.pickled(tree)
        for form in (1, 2):
            yield bytes([form]) + len(pickle_bytes).to_bytes(2, "little") + bytes([24]) + pickle_bytes + numbers


def gguf_saved():
    """Whole files, and what fuzz_gguf.c makes them of."""
    every = [(kind, kind, (2, nelem), bytes(i % 251 for i in range(2 * nbytes))) for kind, (_, nelem, nbytes) in gguf_files.TYPES.items()]
    values = [(f"k.{kind}", kind, 1) for kind in gguf_files.VALUES if kind not in ("string", "array")]
    lists = [("s", "string", "a\u00e9"), ("t", "array", ("string", ["a", "", "bc"])), ("n", "array", ("array", [("int8", [1, 2]), ("array", [("float64", [0.5])])])), ("l", "array", ("uint16", [7] * 70))]
    for order in "<>":
        for version in (1, 2, 3):
            yield gguf_files.gguf([("w", "F32", (2, 3), bytes(24)), ("w", "I8", (), b"x"), ("", "Q8_0", (0, 32), b"")], [("general.architecture", "string", "llama")], order=order, version=version)
        yield gguf_files.gguf([], [*values, *lists], order=order)
        yield gguf_files.gguf(every[:7], lists[:1], order=order, alignment=8)
    for i in range(0, len(every), 3):
        yield gguf_files.gguf(every[i : i + 3])
    for count, pairs, tensors in ((0, [*values, *lists], []), (2, [], every[:4]), (3, lists, every[4:10]), (1, values[:3], every[-3:])):
        contents = gguf_files.gguf(tensors, pairs)
        yield bytes([1, len(tensors), len(pairs)]) + contents[24:]
        yield bytes([1 + 2 * count, 255, 0]) + contents[24:]


def remote_files():
    """What is before the file says how its host is wrong: fuzz_remote.c."""
    files = [*npz_files()][:12] + [*npy_files()][:12] + [*ten_files()][:4] + [*tar_files()][:4] + [*checkpoints()][:4] + [*torch_saved()][:4]
    for i, contents in enumerate(files):
        yield bytes([i % 6 + 64 * (i % 4), i % 7, i % 4 + 64 * (i % 2)]) + (i * 977).to_bytes(8, "little") + contents


SEEDS = {
    "header": npy_files,
    "dtype": lambda: (text.encode() for text in dtype_texts()),
    "pickle": pickles,
    "safetensors": checkpoints,
    "gguf": gguf_saved,
    "torch": torch_saved,
    "remote": remote_files,
    "literal": lambda: (bytes([i % 2]) + text.encode() for i, text in enumerate(literals())),
    "npz": npz_files,
    "ten": ten_files,
    "tar": tar_files,
    "slice": slices,
    "calc": expressions,
    "json": lambda: (bytes([len(dtype)]) + dtype.encode() + text.encode() for dtype, text in jsons()),
    "text": texts,
    "write": writes,
    "sql": sqls,
}


def write_seeds(folder, target):
    """The number of seeds written to FOLDER/TARGET."""
    path = os.path.join(folder, target)
    os.makedirs(path, exist_ok=True)
    number = 0
    for number, contents in enumerate((c for c in SEEDS[target]() if len(c) <= MAX_BYTES_OF.get(target, MAX_BYTES)), 1):
        with open(os.path.join(path, f"{number:04}"), "wb") as file:
            file.write(contents)
    return number


if __name__ == "__main__":
    for target in SEEDS:
        print(target, write_seeds(sys.argv[1], target))
