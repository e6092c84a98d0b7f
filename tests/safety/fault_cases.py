"""What test_faults.py makes fail: scripts of SQL that together call everything, each with what has to stand
before it and what tells the state of the files and tables that it changes."""

import functools
import json
import os
import pickle
import sys
import zlib
from typing import NamedTuple

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fuzz"))

import make_files
import seeds
from arrays import npy_bytes, npz_bytes, ten_bytes
from formats import objects
from objects import array_of, saved
from gguf_files import gguf
from pickle_files import joblib_dumps
from safetensors_files import file_of, safetensors_bytes, tensor
from tars import END, gnu_long, gnu_sparse, gzipped, member, pax, tar
from torch_files import Global, pickled, torch_legacy, torch_zip
from torch_files import tensor as torch_tensor


PICKLED = {"long": np.arange(9000.0), "wide": np.asfortranarray(np.arange(60000, dtype="i2").reshape(300, 200)), "few": [np.arange(3), None], "objects": np.array([1, "a", None], object), "text": "x" * 9000}
# 20 tensors of one storage, one with strides, a number and an array.
TORCH_TREE = {
    "rows": [torch_tensor("Float", "0", 12000, 40 * i, (40,), (1,)) for i in range(20)], "turned": torch_tensor("Float", "0", 12000, 3, (30, 7), (2, 60)),
    "other": torch_tensor("Long", "1", 8, 0, (2, 4), (1, 2)), 7: np.arange(4.0), "text": "x" * 70_000,
}  # fmt: skip


class Case(NamedTuple):
    name: str
    script: str
    setup: str = ""
    # Its answer after a failure is the one from before the script or the one from after it.
    check: str = "SELECT 1"
    # System calls are made to fail too: what a script writes is tested in test_crashes.py.
    only_reads: bool = True
    # The C library's allocations are made to fail too. minizip 1.1 does not look at what malloc gave it when it
    # begins an entry of a zip.
    libc: bool = True


def make(folder):
    """The files that the cases read, in the current folder."""
    make_files.make(folder)
    rng = np.random.default_rng(5)
    long = np.arange(140_000.0)
    wide = rng.integers(-9, 9, (300, 40)).astype("<f4")
    files = {
        "long.npy": npy_bytes(long),
        "many.npy": npy_bytes(np.arange(1_100_000, dtype="f4")),
        # More values than are kept in a table (NPYX_KEY_TABLE_MOST_N), and most of them again.
        "many_values.npy": npy_bytes(np.arange(200_000.0) % 70_000),
        "long_too.npy": npy_bytes(np.where(long == 139_000, -1, long)),
        "fortran.npy": npy_bytes(np.asfortranarray(wide)),
        "big_endian.npy": npy_bytes(wide.astype(">f8")),
        "deflated_long.npz": npz_bytes({"a": rng.integers(0, 200, 150_000), "b": wide}, "deflate"),
        "many.npz": npz_bytes({f"a rather long name of a layer/number {i}": wide[i] for i in range(40)}),
        "globals.pkl": b"".join(pickled([Global("m" * 30, f"n{i}"), Global("m", f"n{i // 2}")]) for i in range(40)) + b"cos\nsystem\n",
        "globals.tar.gz": gzipped(tar(member("a.pkl", pickled([Global("m", "n"), Global("numpy", "float64")])), member("b.pt", torch_zip({"x": 1}, {"0": b"123"})))),
        "out.npy": npy_bytes(np.arange(3.0)),
        "out.npz": npz_bytes({"old": np.arange(3)}),
        "objects.npy": saved(array_of([value for values in seeds.objects() for value in values]), 4),
        "old_objects.npz": npz_bytes({"a": np.array([[{"k": [1, "x"]}, None], [2.5, b"b"]], object), "b": np.arange(3)}, "deflate"),
        "checkpoint.safetensors": safetensors_bytes({f"layer {i}": wide[i] for i in range(60)} | {"b": np.arange(3)}, {"a": "b"}),
        "model.pt": torch_zip(TORCH_TREE, {"0": wide.tobytes(), "1": bytes(64)}, others={"constants.pkl": pickled((torch_tensor("Float", "0", 4, 0, (2,), (1,)),)), "constants/0": bytes(16)}),
        "old.pt": torch_legacy(TORCH_TREE, {"0": (wide.size, wide.tobytes()), "1": (8, bytes(64))}),
        "x.pkl": pickle.dumps(PICKLED, protocol=2), "x5.pkl": pickle.dumps(PICKLED, protocol=5), "x.joblib": joblib_dumps(PICKLED), "z.joblib": zlib.compress(joblib_dumps(PICKLED)),
        "model.gguf": gguf(
            [("a", "F32", wide.shape, wide.tobytes()), ("q", "Q4_K", (40, 512), bytes(i % 61 for i in range(80 * 144))), ("x", "Q5_K", (256,), bytes(176)), *((f"b.{i}", "I8", (2,), b"ab") for i in range(40))],
            [("general.architecture", "string", "llama"), ("tokens", "array", ("string", [f"token {i}" for i in range(5000)])), ("some", "array", ("array", [("uint8", [1, 2])] * 3))],
        ),
        "foreign.safetensors": file_of({"a": tensor("F4", [4], 0, 2), "b": tensor("I8", [2], 2, 4)}, b"abcd"),
        **tar_files(),
    }
    for name, contents in files.items():
        with open(name, "wb") as file:
            file.write(contents)
        os.utime(name, (10**9, 10**9))  # or messages say that it was written just now, for a while


@functools.lru_cache(maxsize=None)
def shard():
    """A tar with something of everything, and members beyond what is read at once. Made once: NumPy writes the time of
    day into an .npz, and how far that compresses is never the same."""
    rng = np.random.default_rng(6)
    members = [
        member("d", type=b"5"), pax({"comment": "of all", "uname": "somebody"}, b"g"),
        pax({"path": "a/000.emb.npy", "mtime": "1.5"}) + member("short", npy_bytes(np.arange(6.0).reshape(2, 3))),
        member("a/000.cls", b"7"), gnu_long("L", "a/001." + "n" * 150 + ".npz") + member("short", npz_bytes({"w": np.arange(4), "b": np.ones(2), "d/w": np.arange(3)}, "deflate")),
        member("a/001.x.ten", ten_bytes([np.array([1, 2], "i4"), np.array([[3.0]]), np.array([4], "u1")], infos=["n", "", "m"])),
        gnu_long("K", "k" * 120) + member("link", type=b"2", linkname="k"), gnu_sparse("s.bin", [(100 * i, b"s") for i in range(30)], 4000),
        member("a/002.txt", rng.bytes(3000)), member("a/003.npy", npy_bytes(np.arange(40_000))),
        member("stored.npz", npz_bytes({"x": np.arange(5)})), member("a/004.npy", npy_bytes(np.arange(3))),
    ]  # fmt: skip
    return tar(*members, end=END + bytes(3000))


def tar_files():
    contents = shard()
    broken = tar(member("broken.npy", npy_bytes(np.arange(9))[:-5]), gnu_sparse("s.npy", [(0, b"s")], 99), member("good.npy", npy_bytes(np.arange(3))), member("cut.npy", size=9000))
    return {"x.tar": contents, "broken.tar": broken, "x.tar.gz": gzipped(contents, [700, 700, len(contents) // 2]), "x.bin": b"before" + gzipped(contents) + b"after"}


def range_of(path, begin, nbytes):
    """Of a part of a file, as an SQL literal."""
    return "'" + json.dumps({"path": path, "offset": begin, "nbytes": nbytes}) + "'"


def range_of_member(begin, length=None):
    """The contents of a member of x.tar that begin so, and have so many bytes or as many as its header says."""
    contents = shard()
    at = contents.index(begin)
    nbytes = int(contents[at - 512 + 124 : at - 512 + 135], 8) if length is None else length
    return range_of("x.tar", at, nbytes)


OBJECTS = objects((2,), [{"k": [1, "x"]}, b"b"])


def reading(name, script, **more):
    return Case(name, script, **more)


LISTS = [
    reading("npy_meta of a .npy", "SELECT *, parts, stem, strides, array_key, source FROM npy_meta('structured/nested.npy')"),
    reading("npy_meta of an .npz", "SELECT * FROM npy_meta('many.npz')"),
    reading("npy_meta of URLs", "SELECT path, name, shape, error FROM npy_meta('test://*')"),
    reading("a list of URLs", "SELECT path, name, error FROM npy_meta('[\"test://X.npy\", \"test://nope.npy\", \"test://{w,X}.np[yz]\"]')"),
    reading("statistics of a URL", "SELECT min, max, mean FROM npy_stats('test://long.npy')"),
    reading("rows of a URL", "SELECT value FROM npy_rows('test://long.npy') WHERE row IN (3, 100000, 139000)"),
    reading("npy_meta of a deflated .npz", "SELECT * FROM npy_meta('deflated.npz')"),
    reading("npy_meta of a .ten", "SELECT * FROM npy_meta('multi.ten')"),
    reading("npy_meta of a .safetensors", "SELECT *, metadata FROM npy_meta('checkpoint.safetensors')"),
    reading("npy_meta of a .pt", "SELECT * FROM npy_meta('model.pt'); SELECT * FROM npy_meta('old.pt')"),
    reading("npy_rows of a .pt", "SELECT name, count(value) FROM npy_rows('model.pt') GROUP BY name"),
    reading("a tensor of a .pt by its name", "SELECT value FROM npy_rows('model.pt', 'turned')"),
    reading("a tensor of an old .pt by its name", "SELECT value FROM npy_rows('old.pt', 'turned', '::-3')"),
    reading("npy_meta of pickles", "SELECT *, metadata FROM npy_meta('x5.pkl'); SELECT *, metadata FROM npy_meta('x.joblib'); SELECT * FROM npy_meta('z.joblib')"),
    reading("rows of a pickle", "SELECT value FROM npy_rows('x.pkl', 'long', '::1000'); SELECT value FROM npy_rows('x5.pkl', 'objects'); SELECT sum FROM npy_stats('z.joblib', 'wide')"),
    reading("a raw array", """SELECT row, value FROM npy_rows('[{"path": "long.npy", "dtype": "<f8", "offset": 128, "shape": [-1, 70]}, {"path": "many.npy", "dtype": "u1", "nbytes": 5}]') LIMIT 30"""),
    reading("npz_members of a .pt", "SELECT * FROM npz_members('model.pt')"),
    reading("npy_meta of a GGUF", "SELECT *, metadata FROM npy_meta('model.gguf')"),
    reading("npy_rows of a GGUF", "SELECT name, value FROM npy_rows('model.gguf', 'a'); SELECT name, value FROM npy_rows('model.gguf', 41)"),
    reading("a quantized tensor of a GGUF by its name", "SELECT value FROM npy_rows('model.gguf', 'q', '::-3, 250:260'); SELECT * FROM npy_stats('model.gguf', 'q')"),
    reading("npy_globals of pickles in every kind of file", "SELECT *, error_kind, array_key FROM npy_globals('{model.pt,old.pt,objects.npy,old_objects.npz,globals.*}'); SELECT count(*) FROM npy_globals((SELECT array FROM npy_file('objects.npy')))"),
    reading("npy_meta of foreign tensors", "SELECT * FROM npy_meta('foreign.safetensors')"),
    reading("npy_rows of a .safetensors", "SELECT name, value FROM npy_rows('checkpoint.safetensors')"),
    reading("a tensor by its name", "SELECT value FROM npy_rows('checkpoint.safetensors', 'layer 37')"),
    reading("npy_meta of a pattern", "SELECT * FROM npy_meta('{survey,shards}/**/*.np[yz]')"),
    reading("npy_meta of a tree", "SELECT path, name, shape, error FROM npy_meta('**/*[0-9].npy')"),
    reading("npy_meta of a list", """SELECT path, shape, error FROM npy_meta('["X.npy", "shards/*", "w.npz"]')"""),
    reading("npy_meta of a name like a pattern", "SELECT path, shape FROM npy_meta('odd/a[1].npy')"),
    reading("npz_members", "SELECT *, crc_ok FROM npz_members('mixed.npz')"),
    reading("npz_members, deflated", "SELECT *, crc_ok FROM npz_members('deflated_long.npz')"),
    reading("ten_arrays", "SELECT * FROM ten_arrays('multi.ten')"),
    reading("npy_file", "SELECT path, name, npy_shape(array), npy_get(array, 0) FROM npy_file('{w,deflated}.npz')"),
    reading("a blob", "SELECT row, value FROM npy_rows(npy_from_json('[[1, 2], [3, 4]]'))"),
]

ROWS = [
    reading("npy_rows, numbers", "SELECT row, value, hex(data) FROM npy_rows('y.npy')"),
    reading("npy_rows, JSON", "SELECT row, value, path, name, array_key FROM npy_rows('X.npy')"),
    reading("npy_rows, structured", "SELECT row, value, hex(data) FROM npy_rows('structured/nested.npy')"),
    reading("npy_rows, text", "SELECT row, value FROM npy_rows('types/{U,S,M8,V,c}*.npy')"),
    reading("objects", "SELECT row, value FROM npy_rows('objects.npy')"),
    reading("objects, deflated", "SELECT name, row, value FROM npy_rows('old_objects.npz'); SELECT npy_get(array, 0, 0), npy_json(array) FROM npy_file('old_objects.npz', 'a')"),
    reading("objects, one after the other", "SELECT i.value, r.value FROM json_each('[3, 1, 2]') AS i JOIN npy_rows('objects/mixed.npy') AS r ON r.row = i.value ORDER BY i.value"),
    reading("objects in a BLOB", f"SELECT npy_json(x'{OBJECTS.hex()}'), npy_get(x'{OBJECTS.hex()}', 1); SELECT value FROM npy_elements(x'{OBJECTS.hex()}')"),
    reading("objects, fields", "SELECT row, value FROM npy_rows('objects/field.npy'); SELECT value FROM npy_rows('objects/field.npy') WHERE field = 'o'; SELECT field_name, count, nulls FROM npy_stats('objects/field.npy')"),
    reading("npy_rows, long", "SELECT count(*), sum(value) FROM npy_rows('long.npy')"),
    reading("npy_rows, filtered", "SELECT row, value FROM npy_rows('long.npy') WHERE value >= 139990"),
    reading("npy_rows, one row", "SELECT value FROM npy_rows('X.npy') WHERE row = 3"),
    reading("npy_rows, some rows backwards", "SELECT row, value FROM npy_rows('X.npy') WHERE row IN (1, 4) ORDER BY row DESC LIMIT 1"),
    reading("npy_rows, fortran", "SELECT row, value FROM npy_rows('fortran.npy', '', '::60, ::7')"),
    reading("npy_rows, every argument", "SELECT row, hex(data) FROM npy_rows('big_endian.npy', '', '3:8, -1', '', '>f8', '<f4', 'float64[*, 40]', 'raise')"),
    reading("npy_rows, a field", "SELECT row, value FROM npy_rows('structured/nested.npy', '', '', 'pos.y')"),
    reading("npy_rows, a view", "SELECT row, value FROM npy_rows('types/bfloat16.npy') WHERE view = 'bfloat16' AND expect = '[*]'"),
    reading("npy_rows of an .npz", "SELECT name, row, value FROM npy_rows('w.npz')"),
    reading("npy_rows, deflated", "SELECT count(*), sum(value) FROM npy_rows('deflated_long.npz', 'a')"),
    reading("npy_rows, deflated, there and back", "SELECT i.value, r.value FROM json_each('[145000, 10, 75000, 145001, 5]') AS i JOIN npy_rows('deflated_long.npz', 'a') AS r ON r.row = i.value"),
    reading("npy_rows of a .ten", "SELECT name, row, value FROM npy_rows('multi.ten')"),
    reading("npy_rows of a list", "SELECT path, row, value FROM npy_rows('[\"y.npy\", \"shards/*\"]', '', '0')"),
    reading("a join", "SELECT m.path, m.name, r.value FROM npy_meta('{y.npy,w.npz}', 'raise') AS m JOIN npy_rows(m.path, m.idx) AS r WHERE r.row = 1"),
    reading("lookups", "SELECT x.row, y.value FROM npy_rows('X.npy') AS x JOIN npy_rows('y.npy') AS y USING (row)"),
    reading("a union", "SELECT row, value FROM npy_rows('w.npz') WHERE (member = 'b' AND row = 1) OR row = 2"),
    reading("npy_elements", "SELECT *, real, imag, path, name FROM npy_elements('w.npz', 'w', '1:, ::-1')"),
    reading("npy_elements, fortran", "SELECT count(*), sum(value), max(i1) FROM npy_elements('fortran.npy')"),
    reading("npy_elements, complex", "SELECT idx, value, real, imag FROM npy_elements('types/c8.npy')"),
    reading("npy_elements, filtered", "SELECT idx, i0, value FROM npy_elements('fortran.npy') WHERE value > 7 AND i0 BETWEEN 2 AND 9"),
    reading("npy_elements, converted", "SELECT idx, value FROM npy_elements('X.npy', '', ':2', '', '', 'i2')"),
]

SUMS = [
    reading("npy_stats", "SELECT *, argmin, argmax, var, m2, crc32 FROM npy_stats('{X,long}.npy')"),
    reading("npy_stats of fields", "SELECT *, argmin, crc32 FROM npy_stats('structured/*.npy')"),
    reading("npy_stats along an axis", "SELECT at, min, max, std FROM npy_stats('fortran.npy', '', '', 0)"),
    reading("npy_stats along axes", "SELECT at, count, sum, argmax, error FROM npy_stats('orders/*.npy', '', '', '[0, 2]')"),
    reading("npy_stats, deflated", "SELECT name, count, sum, std FROM npy_stats('deflated_long.npz')"),
    reading("npy_stats of text", "SELECT path, count, min, max, error FROM npy_stats('types/{U,S,M8,c,f16}*.npy')"),
    reading("npy_stats by labels", "SELECT label, count, min, argmax, std FROM npy_stats('X.npy') WHERE by = 'y.npy'; SELECT label, at, mean, max FROM npy_stats('X.npy', '', '', 0) WHERE by = 'y.npy'"),
    reading("npy_stats by labels, one by one", "SELECT label, field_name, count, sum FROM npy_stats('structured/nested.npy', '', ':2') WHERE by = (SELECT npy_from_json('[' || group_concat(row % 2) || ']') FROM npy_rows('structured/nested.npy'))"),
    reading("npy_stats by labels, long", "SELECT label, count, sum FROM npy_stats('long.npy') WHERE by = (SELECT npy_astype(array, 'bool') FROM npy_file('long.npy'))"),
    reading("statistics as functions", "SELECT npy_sum(array), npy_mean(array, 0), npy_max(array, '[0, 1]'), npy_argmin(array, 1), npy_std(array, -1) FROM npy_file('X.npy'); SELECT npy_min(array) FROM npy_rows('X.npy')"),
    reading("npy_quantile", "SELECT *, median FROM npy_quantile('{X,long}.npy', '', '', '[0.1, 0.9]', 0) AS q JOIN npy_stats('X.npy')"),
    reading("npy_quantile by label", "SELECT *, q.label FROM npy_quantile('X.npy', '', '', '[0.1, 0.9]', 0) AS q JOIN npy_stats('X.npy') AS s WHERE q.by = 'y.npy' AND s.by = 'y.npy' AND s.median > 0"),
    reading("npy_quantile of many items", "SELECT q, value FROM npy_quantile('many.npy', '', '', '[0.1, 0.9]')"),
    reading("npy_unique", "SELECT value, count, first, error FROM npy_unique('{y,X}.npy'); SELECT count(*) FROM npy_unique('types/U4.npy')"),
    reading("npy_unique by labels", "SELECT label, value, count, first FROM npy_unique('X.npy') WHERE by = 'y.npy'"),
    reading("npy_unique of many values", "SELECT count(*), sum(count) FROM npy_unique('many_values.npy')"),
    reading("sketches", "SELECT npy_sketch_quantile(npy_sketch_merge(npy_sketch(array, 8)), 0.5) FROM npy_file('{X,y,long}.npy')"),
    reading("a sketch of many items", "SELECT npy_sketch_quantile(npy_sketch(array), 0.5) FROM npy_file('many.npy')"),
    reading("npy_paths", "SELECT * FROM npy_paths('**/*.npy'); SELECT path, file_size FROM npy_paths('[\"X.npy\", \"gone\"]')"),
    reading("npy_nearest", "SELECT *, query_row, data FROM npy_nearest('X.npy', '', '', (SELECT npy_slice(array, ':2') FROM npy_file('X.npy')), 3)"),
    reading("npy_nearest within a distance", "SELECT *, query_row, data FROM npy_nearest('{X,X}.npy', '', '', (SELECT npy_slice(array, ':2') FROM npy_file('X.npy'))) WHERE max_distance = 3"),
    reading("npy_nearest of many files", "SELECT path, row, distance, error FROM npy_nearest('{X,y,long,orders/*}.npy', '', '', npy_from_json('[0, 0.5, 1, 2]'), 4, 'cosine')"),
    reading("vectors", "SELECT npy_norm(array), npy_dot(npy_slice(array, 0), npy_slice(array, 1)), npy_distance(npy_slice(array, 0), npy_from_json('[1, 2, 3, 4]'), 'cosine') FROM npy_file('X.npy'); SELECT npy_norm(array, 3) FROM npy_file('y.npy'); SELECT npy_corrcoef(array), npy_corrcoef(array, 0), npy_argmax(array, 1) FROM npy_file('X.npy')"),
    reading("pictures", "SELECT npy_png(array), npy_png(array, 'magma', 0, 1), npy_plot(array, 'a < b'), npy_spark(array), npy_preview(array) FROM npy_file('X.npy'); SELECT npy_preview(array) FROM npy_file('structured/nested.npy'); SELECT npy_preview(array, 1) FROM npy_file('types/U4.npy')"),
    reading("npy_histogram", "SELECT * FROM npy_histogram('long.npy', '', '', 4)"),
    reading("npy_histogram with edges", "SELECT name, lo, hi, count, bar FROM npy_histogram('deflated.npz') WHERE bins = '[-2, 0, 0.25, 3]'"),
    reading("npy_compare", "SELECT * FROM npy_compare('long.npy', 'long_too.npy')"),
    reading("npy_compare of archives", "SELECT * FROM npy_compare('checkpoints/step_1/model.npz', 'checkpoints/step_3/model.npz')"),
    reading("npy_compare of some of each", "SELECT name, status FROM npy_compare('mixed.npz', 'multi.ten')"),
    reading("npy_compare of two patterns", "SELECT path, name, status, max_abs, error FROM npy_compare('checkpoints/step_1/*', 'checkpoints/step_{1,3}/model.npz')"),
    reading("npy_compare of structures", "SELECT * FROM npy_compare('structured/nested.npy', 'structured/nested.npy')"),
    reading("npy_compare of handles", "SELECT status, max_abs FROM npy_file('w.npz') AS a JOIN npy_file('deflated.npz') AS b USING (name) JOIN npy_compare(a.array, b.array)"),
]

LAZY = [
    reading("npy_concat", "SELECT count, sum FROM npy_stats(npy_concat('long*.npy')); SELECT path, row, value FROM npy_rows(npy_concat('long*.npy')) WHERE row IN (5, 139999, 140000)"),
    reading("npy_concat of an archive", "SELECT sum(value) FROM npy_rows(npy_concat('many.npz')); SELECT npy_sum(npy_concat('many.npz', '', -1))"),
    reading("npy_concat of other orders", """SELECT count, sum FROM npy_stats(npy_concat('["fortran.npy", "fortran.npy"]', '', 1)); SELECT npy_json(npy_slice(npy_concat('["y.npy", "y.npy"]'), '::-1'))"""),
    reading("npy_concat of a BLOB", "SELECT npy_shape(npy_concat((SELECT npz_archive(name, array) FROM npy_file('many.npz'))))", libc=False),
    reading("npy_calc", "SELECT npy_sum(npy_calc('a - b', a.array, b.array)), npy_json(npy_calc('a + 1', npy_from_json('[1, 2]'))) FROM npy_file('long.npy') AS a JOIN npy_file('long_too.npy') AS b"),
    reading("lazy arrays of lazy arrays", "SELECT npy_mean(npy_calc('a * 2', npy_concat(npy_calc('a + 1', npy_concat('long*.npy'))))), length(npy_copy(npy_concat('many.npz')))"),
]

MAGIC = b"\x93NUMPY"
EVERY_MEMBER = "SELECT *, sample, mode, uid, gid, uname, gname, linkname, header_offset, data_offset, parts, stem, array_key FROM tar_members"
ALL_OF_GZ = range_of("x.bin", 6, len(gzipped(shard())))

TARS = [
    reading("tar_members", f"{EVERY_MEMBER}('x.tar')"),
    reading("tar_members with data", "SELECT name, hex(data) FROM tar_members('x.tar') WHERE type = 'file'"),
    reading("tar_members, faults as rows", "SELECT name, length(data), error FROM tar_members('broken.tar', 'row')"),
    reading("tar_members, compressed", f"{EVERY_MEMBER}('x.tar.gz')"),
    reading("tar_members, compressed, with data", "SELECT name, hex(data) FROM tar_members('x.tar.gz') WHERE type = 'file'"),
    reading("tar_members of a list", """SELECT path, name, error FROM tar_members('["x.tar", "y.npy", "broken.tar", "x.tar.gz"]')"""),
    reading("tar_members of a range", f"SELECT path, name, header_offset, length(data) FROM tar_members({ALL_OF_GZ}) WHERE type <> 'sparse'"),
    reading("npy_meta of a tar", "SELECT *, key, ext, compression, array_key FROM npy_meta('x.tar')"),
    reading("npy_meta of a tar with faults", "SELECT name, shape, error FROM npy_meta('broken.tar', 'row')"),
    reading("npy_meta of a compressed tar", "SELECT *, key, ext, array_key FROM npy_meta('x.tar.gz')"),
    reading("npy_meta of a gzip file in a file", f"SELECT name, shape, error FROM npy_meta({ALL_OF_GZ}, 'row')"),
    reading("npy_meta of ranges", f"SELECT path, name, shape, key FROM npy_meta({range_of_member(b'~TenBin~')}) UNION ALL SELECT path, name, shape, key FROM npy_meta({range_of_member(b'PK')})"),
    reading("npy_rows of a tar", "SELECT name, key, ext, row, value FROM npy_rows('x.tar', '', ':9')"),
    reading("npy_rows of a compressed tar", "SELECT name, key, ext, row, value FROM npy_rows('x.tar.gz', '', ':9')"),
    reading("npy_rows of a tar by names", "SELECT j.value, r.row, r.value FROM json_each('[\"a/004\", \"a/001.x.ten:n\", \"a/003.npy\", \"stored.npz:x\"]') AS j JOIN npy_rows('x.tar', j.value) AS r WHERE r.row = 1"),
    reading("npy_rows of a compressed tar, there and back", "SELECT j.value, r.value FROM json_each('[39000, 5, 20000, 39999]') AS j JOIN npy_rows('x.tar.gz', 'a/003') AS r ON r.row = j.value"),
    reading("npy_rows of a nested .npz", f"SELECT name, row, value FROM npy_rows({range_of_member(b'PK')})"),
    reading("npy_rows of ranges", f"SELECT path, row, value FROM npy_rows('[' || {range_of_member(b'~TenBin~')} || ', \"y.npy\", ' || {range_of_member(MAGIC)} || ']', 0)"),
    reading("npy_stats of a tar", "SELECT name, key, count, sum, std FROM npy_stats('x.tar')"),
    reading("npy_stats of a compressed tar", "SELECT name, count, sum, std, error FROM npy_stats('x.tar.gz') WHERE on_error = 'row'"),
    reading("npy_compare of tars", "SELECT name, status FROM npy_compare('x.tar', 'x.tar.gz')"),
    reading("npy_file of a tar", "SELECT name, npy_json(npy_slice(array, ':2')) FROM npy_file('x.tar')"),
    reading("npy_file of a range", f"SELECT path, name, npy_json(array) FROM npy_file({range_of_member(b'PK')})"),
    reading("a join of members", "SELECT t.name, r.value FROM tar_members('x.tar') AS t JOIN npy_rows(t.data) AS r WHERE t.ext IN ('emb.npy', 'x.ten') AND r.row = 0"),
    reading("a join by an index of members", "SELECT s.name, r.value FROM s JOIN npy_rows(json_object('path', 'x.tar', 'offset', s.data_offset, 'nbytes', s.size)) AS r WHERE r.row = 1",
            setup="CREATE TABLE s AS SELECT name, data_offset, size FROM tar_members('x.tar') WHERE ext IN ('emb.npy', 'npy')"),
    reading("a typed table of objects", "SELECT rowid, * FROM t WHERE rowid >= 1", setup="CREATE VIRTUAL TABLE t USING npy('objects/field.npy')"),
    reading("a table of samples", "SELECT rowid, * FROM t", setup="CREATE VIRTUAL TABLE t USING wds('x.tar', columns='cls, emb.npy, x.ten, npy')"),
    reading("a table of samples, compressed", "SELECT rowid, * FROM t", setup="CREATE VIRTUAL TABLE t USING wds('x.tar.gz', columns='cls, emb.npy, npy')"),
    reading("a table of samples, by keys", "SELECT j.value, t.rowid, t.npy FROM json_each('[\"a/004\", \"a/000\", \"no\"]') AS j JOIN t ON t.__key__ = j.value",
            setup="CREATE VIRTUAL TABLE t USING wds('[\"x.tar\", \"x.tar.gz\"]', columns='npy')"),
    reading("CREATE of a table of samples", "BEGIN; CREATE VIRTUAL TABLE t USING wds('x.tar'); SELECT rowid, __key__, __url__, cls FROM t; ROLLBACK",
            check="SELECT count(*) FROM sqlite_schema"),
    reading("a typed table of a tar", "SELECT rowid, * FROM t", setup="CREATE VIRTUAL TABLE t USING npy('x.tar', member='a/004')"),
    reading("a typed table of a compressed tar", "BEGIN; CREATE VIRTUAL TABLE t USING npy('x.tar.gz', member='a/000.emb'); SELECT rowid, * FROM t; ROLLBACK",
            check="SELECT count(*) FROM sqlite_schema"),
]

ARRAY = "npy_from_json('[[1.5, 2, null], [4, 5, 6]]')"

SCALARS = [
    reading("npy_shape and others", f"SELECT npy_shape(a), npy_dtype(a), npy_ndim(a), npy_size(a), npy_valid(a), npy_hash(npy_data(a)) FROM (SELECT {ARRAY} AS a)"),
    reading("npy_get", f"SELECT npy_get(a, 1, -1), npy_get(a, 0), npy_get_or(a, 'none', 7), npy_get_or(a, 'none', 1) FROM (SELECT {ARRAY} AS a)"),
    reading("npy_slice", f"SELECT hex(npy_slice({ARRAY}, '::-1, 1:'))"),
    reading("npy_json and npy_data", f"SELECT npy_json({ARRAY}), hex(npy_data({ARRAY}))"),
    reading("npy_from_json", """SELECT hex(npy_from_json('[["a", "bc"], ["d", "e"]]', 'U3')), hex(npy_from_json('[{"x": 1, "y": [2, 3]}]', '[["x", "i1"], ["y", "u2", [2]]]'))"""),
    reading("npy_from_data", "SELECT hex(npy_from_data(x'0102030405060708', '<i2', '[2, -1]'))"),
    reading("npy_member", "SELECT npy_json(npy_member(z, 'a')) FROM (SELECT npz_archive('a', npy_from_json('[1, 2]'), 'deflate') AS z)", libc=False),
    reading("npy_astype", f"SELECT hex(npy_astype({ARRAY}, '>f2'))"),
    reading("npy_reshape and others", f"SELECT npy_json(npy_reshape({ARRAY}, '[3, 2]')), npy_json(npy_transpose({ARRAY})), npy_json(npy_transpose({ARRAY}, '[1, 0]')), hex(npy_order({ARRAY}, 'F'))"),
    reading("functions of handles", "SELECT npy_json(array), npy_json(npy_slice(array, '0')), hex(npy_data(npy_transpose(array))) FROM npy_file('w.npz')"),
    reading("an index on an expression", "BEGIN; CREATE INDEX i ON t(npy_get(a, 0)); SELECT id FROM t WHERE npy_get(a, 0) > 1; ROLLBACK",
            setup="CREATE TABLE t(id, a BLOB, shape AS (npy_shape(a))); INSERT INTO t VALUES (1, npy_from_json('[1]')), (2, npy_from_json('[2]'))",
            check="SELECT count(*) FROM sqlite_schema"),
    reading("introspection", "SELECT npyext_version(), length(npyext_debug()) > 0, length(npyext_counters()) > 0, length(npyext_counters('process')) > 0"),
]

NUMBERS = "(WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT 2000) SELECT i FROM n)"

AGGREGATES = [
    reading("npy_array", f"SELECT length(npy_array(i)), length(npy_array(i / 2.0)), length(npy_array('t' || i)), npy_dtype(npy_array(zeroblob(3))) FROM {NUMBERS}"),
    reading("npy_array of a dtype", f"SELECT npy_shape(npy_array(i, '>f4', '[2, -1]')), npy_shape(npy_array('t' || i, 'U5')) FROM {NUMBERS}"),
    reading("npy_array of groups", f"SELECT npy_json(npy_array(i)) FROM {NUMBERS} WHERE i < 20 GROUP BY i % 3"),
    reading("npy_stack", "SELECT npy_json(npy_stack(value)), npy_json(npy_stack(data, 'f4')) FROM npy_rows('X.npy')"),
    reading("npy_stack of arrays", "SELECT npy_json(npy_stack(array)) FROM npy_file('shards/*')"),
    reading("npy_records", """SELECT npy_json(npy_records('[["a", "i4"], ["b", "U4"], ["c", "f8", [2]]]', row, 'x' || row, '[1, 2]')) FROM npy_rows('y.npy')"""),
    reading("npz_archive", "SELECT hex(npz_archive('layer ' || name || path, array)) FROM npy_file('{w,deflated}.npz')", libc=False),
    reading("npz_archive, deflated", "SELECT length(npz_archive('a', array, 'deflate:1')) FROM npy_file('fortran.npy')", libc=False),
    reading("ten_archive", "SELECT hex(ten_archive(array)), hex(ten_archive(array, 'n')) FROM npy_file('X.npy')"),
]

TABLES = [
    reading("CREATE of a typed table", "BEGIN; CREATE VIRTUAL TABLE t USING npy('structured/nested.npy'); SELECT rowid, * FROM t; ROLLBACK",
            check="SELECT count(*) FROM sqlite_schema"),
    reading("CREATE of a typed table of arrays", "DROP TABLE IF EXISTS t; CREATE VIRTUAL TABLE t USING npy('many.npz', columns='" + ",".join(f"c{i}" for i in range(40)) + "')",
            check="SELECT 1"),
    reading("a typed table", "SELECT rowid, * FROM t WHERE rowid > 1 ORDER BY rowid DESC", setup="CREATE VIRTUAL TABLE t USING npy('X.npy', columns='a,b,c,d')"),
    reading("a typed table of arrays", "SELECT rowid, * FROM t", setup="CREATE VIRTUAL TABLE t USING npy('w.npz', slice=':2')"),
    reading("a typed table, looked up", "SELECT y.row, t.c1 FROM npy_rows('y.npy') AS y JOIN t ON t.rowid = y.row", setup="CREATE VIRTUAL TABLE t USING npy('X.npy')"),
    reading("a typed table, fortran", "SELECT sum(c0), sum(c39) FROM t WHERE c1 > 0", setup="CREATE VIRTUAL TABLE t USING npy('fortran.npy')"),
    reading("a typed table, connected anew", "PRAGMA writable_schema=RESET; SELECT * FROM t", setup="CREATE VIRTUAL TABLE t USING npy('X.npy')"),
    reading("RENAME of a typed table", "BEGIN; ALTER TABLE t RENAME TO u; SELECT * FROM u; ROLLBACK; SELECT * FROM t",
            setup="CREATE VIRTUAL TABLE t USING npy('X.npy')", check="SELECT count(*) FROM sqlite_schema"),
    reading("DROP of a typed table", "BEGIN; DROP TABLE t; ROLLBACK; SELECT * FROM t",
            setup="CREATE VIRTUAL TABLE t USING npy('X.npy')", check="SELECT * FROM t"),
]


def writing(name, script, setup="", check="SELECT npy_json(array) FROM npy_file('out.npy')", **more):
    put_back = "SELECT * FROM npy_write('out.npy', npy_from_json('[0.0, 1.0, 2.0]'));"
    return Case(name, script, put_back + setup, check, only_reads=False, **more)


ROW_TABLE = "CREATE VIRTUAL TABLE temp.out USING npy('out.npy', mode='w+', dtype='float32', shape='[-1, 2]', columns='a,b');"
EDIT_TABLE = "CREATE VIRTUAL TABLE temp.y USING npy('out.npy', mode='r+');"
ZIP_TABLE = "CREATE VIRTUAL TABLE temp.out USING npy('out.npz', mode='w+', method='deflate');"
ZIP_STATE = "SELECT group_concat(name || npy_json(array)) FROM npy_file('out.npz')"
PUT_ZIP_BACK = "SELECT * FROM npy_write('out.npz', (SELECT npz_archive('old', npy_from_json('[1, 2]'))));"



def shard_table(name):
    return f"CREATE VIRTUAL TABLE temp.out USING wds('{name}-%d.tar', mode='w+', maxcount=2, columns='cls, txt');"


def shards(name):
    return f"SELECT group_concat(path || name || CAST(data AS TEXT)) FROM (SELECT path, name, data FROM tar_members('[\"{name}-0.tar\", \"{name}-1.tar\", \"{name}-2.tar\"]', 'skip'))"


WRITES = [
    writing("npy_write", "SELECT * FROM npy_write('out.npy', npy_from_json('[7, 8, 9]'))"),
    writing("npy_write of a handle", "SELECT * FROM npy_write('out.npy', (SELECT array FROM npy_file('X.npy')))"),
    writing("a table that writes", f"BEGIN; DROP TABLE IF EXISTS temp.out; {ROW_TABLE} INSERT INTO out VALUES (1, 2), (3, 4); COMMIT"),
    writing("an INSERT that is committed", "INSERT INTO out SELECT i, i + 1 FROM " + NUMBERS, setup=ROW_TABLE + "INSERT INTO out VALUES (5, 5)"),
    writing("a ROLLBACK", "BEGIN; INSERT INTO out VALUES (1, 2), (3, 4); ROLLBACK", setup=ROW_TABLE + "INSERT INTO out VALUES (5, 5);"),
    writing("savepoints", "BEGIN; INSERT INTO out VALUES (1, 2); SAVEPOINT a; INSERT INTO out VALUES (3, 4); SAVEPOINT b; INSERT INTO out VALUES (5, 6); ROLLBACK TO b; RELEASE a; INSERT INTO out VALUES (7, 8); COMMIT", setup=ROW_TABLE + "INSERT INTO out VALUES (5, 5);"),
    writing("rows added to a .npy", "BEGIN; INSERT INTO more SELECT value FROM npy_rows('y.npy'); COMMIT", setup="CREATE VIRTUAL TABLE temp.more USING npy('out.npy', mode='a');"),
    writing("structured rows", "BEGIN; DROP TABLE IF EXISTS temp.out; CREATE VIRTUAL TABLE temp.out USING npy('out.npy', mode='w+', dtype='[[\"a\", \"i4\"], [\"b\", \"U3\"], [\"c\", \"f4\", [2]]]'); INSERT INTO out VALUES (1, 'x', '[1, 2]'), (2, 'yz', '[3, 4]'); COMMIT"),
    writing("deeper rows", "BEGIN; DROP TABLE IF EXISTS temp.out; CREATE VIRTUAL TABLE temp.out USING npy('out.npy', mode='w+', dtype='float32', shape='[-1, 2, 2]'); INSERT INTO out VALUES ('[[1, 2], [3, 4]]'), (zeroblob(16)); COMMIT"),
    writing("an .npz", f"BEGIN; DROP TABLE IF EXISTS temp.out; {ZIP_TABLE} INSERT INTO out SELECT name, array FROM npy_file('w.npz'); COMMIT",
            setup=PUT_ZIP_BACK, check=ZIP_STATE, libc=False),
    writing("arrays added to an .npz", "BEGIN; INSERT INTO more SELECT name, array FROM npy_file('w.npz'); COMMIT",
            setup=PUT_ZIP_BACK + "CREATE VIRTUAL TABLE temp.more USING npy('out.npz', mode='a');", check=ZIP_STATE, libc=False),
    writing("a .ten", "BEGIN; DROP TABLE IF EXISTS temp.out; CREATE VIRTUAL TABLE temp.out USING npy('out.ten', mode='w+'); INSERT INTO out VALUES ('a', npy_from_json('[1, 2]')), ('b', npy_from_json('[3.5]')); COMMIT",
            setup="SELECT * FROM npy_write('out.ten', (SELECT ten_archive(npy_from_json('[1]'), 'old')));", check="SELECT group_concat(name || npy_json(array)) FROM npy_file('out.ten')"),
    writing("shards", f"BEGIN; DROP TABLE IF EXISTS temp.out; {shard_table('one')} INSERT INTO out(__key__, cls, txt) VALUES ('a', 1, 'x'), ('b', 2, NULL), ('c', 3, 'z'); COMMIT", check=shards("one")),
    writing("shards with savepoints", "BEGIN; INSERT INTO out(__key__, cls) VALUES ('d', 1), ('e', 2), ('f', 3); SAVEPOINT a; "
            "INSERT INTO out(__key__, cls) VALUES ('g', 1), ('h', 2), ('i', 3); ROLLBACK TO a; INSERT INTO out(__key__, cls) VALUES ('j', 4), ('k', 5); COMMIT",
            setup=shard_table("two"), check=shards("two")),
    writing("a ROLLBACK of shards", f"BEGIN; DROP TABLE IF EXISTS temp.out; {shard_table('three')} INSERT INTO out(__key__, cls) VALUES ('d', 1), ('e', 2), ('f', 3); ROLLBACK", check=shards("three")),
    writing("a sample added to a shard", "BEGIN; INSERT INTO out(__key__, cls) VALUES ('b', 2); COMMIT", setup=shard_table("four") + "INSERT INTO out(__key__, cls) VALUES ('a', 1);", check=shards("four")),
    writing("rows changed", "UPDATE y SET value = value + 1 WHERE value < 2", setup=EDIT_TABLE),
    writing("rows changed with savepoints", "BEGIN; UPDATE y SET value = 5 WHERE rowid = 1; SAVEPOINT a; UPDATE y SET value = -1; "
            "SELECT sum(value) FROM y; ROLLBACK TO a; UPDATE y SET value = value * 2; COMMIT", setup=EDIT_TABLE),
    writing("a ROLLBACK of rows changed", "BEGIN; UPDATE y SET value = 5; SELECT * FROM y; ROLLBACK; SELECT * FROM y", setup=EDIT_TABLE),
    writing("a table that changes rows", "BEGIN; DROP TABLE IF EXISTS temp.y; " + EDIT_TABLE + " SELECT * FROM y; UPDATE y SET value = 3; COMMIT"),
    writing("arrays in place of rows", "UPDATE y SET value = npy_from_json('[[7.0, 8.0], [9.0, 0.0]]') WHERE rowid = 1",
            setup="SELECT * FROM npy_write('out.npy', npy_from_json('[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]'));" + EDIT_TABLE),
    writing("rows that are added, read", "BEGIN; INSERT INTO out VALUES (1, 2); SELECT rowid, * FROM out; ROLLBACK; SELECT * FROM out", setup=ROW_TABLE),
    writing("arrays that are added, read", "BEGIN; INSERT INTO more SELECT name, array FROM npy_file('w.npz'); SELECT name, npy_json(array) FROM more; ROLLBACK; SELECT name, npy_json(array) FROM more",
            setup=PUT_ZIP_BACK + "CREATE VIRTUAL TABLE temp.more USING npy('out.npz', mode='a');", check=ZIP_STATE, libc=False),
    writing("DROP of a table that writes", "BEGIN; DROP TABLE out; ROLLBACK; SELECT count(*) FROM pragma_table_info('out')", setup=ROW_TABLE),
]

LOADING = [Case("loading", "", only_reads=False)]

READING = LISTS + ROWS + SUMS + LAZY + TARS + SCALARS + AGGREGATES + TABLES
ALL = READING + WRITES + LOADING
