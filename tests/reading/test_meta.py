"""Columns and arguments of the functions, and npy_meta against NumPy."""

import json
import os

import numpy as np
import pytest

from arrays import (
    ITEM_SIZE_ZERO,
    NPZ_VARIANTS,
    SCALARS,
    both_byte_orders,
    mixed_entries,
    npy_bytes,
    npy_containers,
    npy_text_bytes,
    npz_bytes,
    object_npy_bytes,
    random_array,
    random_shape,
    random_structured_dtype,
    seeded_generator,
    ten_bytes,
    zip_bytes,
)
from expected import assert_has, named_rows

META = (
    "path, name, idx, format, dtype, descr, kind, itemsize, byteorder, ndim, shape, size, nbytes, fortran_order, "
    "fields, has_objects, version, data_offset, compression, file_size, mtime, error"
)
VISIBLE = {
    "npy_meta": META,
    "npz_members": "path, idx, name, filename, is_array, dtype, descr, shape, ndim, size, fortran_order, method, "
    "compressed_size, uncompressed_size, ratio, crc32, data_offset, modified, encrypted, error",
    "ten_arrays": "path, idx, name, dtype, shape, ndim, size, nbytes, header_offset, data_offset, error",
    "npy_rows": "row, value",
}
ARGUMENTS = {"npy_rows": ["source", "member", "slice", "field", "view", "astype", "expect", "on_error"]}
OUTPUTS_HIDDEN = {
    "npy_meta": ["parts", "stem", "parent", "key", "ext", "error_kind", "strides", "metadata"],
    "npz_members": ["crc_ok", "parts", "stem", "parent", "error_kind"],
    "ten_arrays": ["parts", "stem", "parent", "error_kind"],
    "npy_rows": ["data", "array", "path", "name", "parts", "stem", "parent", "key", "ext"],
}


def meta(db, source):
    return named_rows(db, "SELECT *, parts, stem, strides FROM npy_meta(?)", source)


def array_facts(array):
    """The columns of npy_meta that an array itself determines."""
    dtype = array.dtype
    order = {"=": "<"}.get(dtype.byteorder, dtype.byteorder)
    return {
        "dtype": dtype.name,
        "kind": dtype.kind,
        "itemsize": dtype.itemsize,
        "byteorder": order,
        "ndim": array.ndim,
        "size": array.size,
        "nbytes": array.nbytes,
        "has_objects": int(dtype.hasobject),
        "error": None,
    }


def header_descr(dtype):
    """How a header spells the dtype: a string without its quotes, or the list as Python prints it."""
    descr = np.lib.format.dtype_to_descr(dtype)
    return descr if isinstance(descr, str) else repr(descr)


@pytest.mark.parametrize("function", VISIBLE)
def test_columns_and_arguments_stand_in_their_documented_order(connect, function):
    columns = connect().execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (function,)).fetchall()
    assert [name for name, hidden in columns if not hidden] == VISIBLE[function].split(", ")
    arguments = ARGUMENTS.get(function, ["source", "on_error"])
    assert [name for name, hidden in columns if hidden] == arguments + OUTPUTS_HIDDEN[function] + ["array_key"]


def test_meta_of_every_dtype(connect, tmp_path):
    db, rng, path = connect(), seeded_generator(), tmp_path / "array.npy"
    dtypes = [d for dtype in SCALARS + ITEM_SIZE_ZERO for d in both_byte_orders(dtype)]
    dtypes += [random_structured_dtype(rng) for _ in range(60)]
    for dtype in dtypes:
        array = random_array(rng, dtype, random_shape(rng, int(rng.integers(5))), str(rng.choice(["C", "F"])))
        for container in npy_containers(array):
            label = f"{dtype} {array.shape} {container.label}"
            path.write_bytes(container.contents)
            [row] = meta(db, str(path))
            fortran = array.flags.f_contiguous and not array.flags.c_contiguous
            assert_has(row, array_facts(array), label)
            assert_has(
                row,
                {
                    "path": str(path),
                    "name": "",
                    "idx": 0,
                    "format": "npy",
                    "version": container.label[4:],
                    "descr": header_descr(dtype),
                    "fortran_order": int(fortran),
                    "compression": None,
                    "data_offset": len(container.contents) - array.nbytes,
                    "file_size": len(container.contents),
                    "mtime": int(os.stat(path).st_mtime),
                    "stem": "array",
                },
                label,
            )
            assert json.loads(row["shape"]) == list(array.shape), label
            if array.nbytes:
                # NumPy's strides of an array without items are arbitrary.
                as_stored = np.ndarray(array.shape, dtype, array.tobytes(), order="CF"[fortran])
                assert json.loads(row["strides"]) == list(as_stored.strides), label
            [as_blob] = meta(db, container.contents)
            assert as_blob == {**row, "path": None, "mtime": None, "parts": None, "stem": None}, label


def test_fields_of_structured_dtypes(connect):
    db, rng = connect(), seeded_generator()
    for _ in range(100):
        dtype = random_structured_dtype(rng)
        fields = json.loads(meta(db, npy_bytes(np.zeros(1, dtype)))[0]["fields"])
        assert [field["name"] for field in fields] == list(dtype.names)
        for field in fields:
            of_numpy, offset, *title = dtype.fields[field["name"]]
            assert (field["title"], field["offset"]) == (title[0] if title else None, offset)
            assert field["shape"] == list(of_numpy.shape)
            if of_numpy.base.names is None:
                assert field["descr"] == of_numpy.base.str
    [plain] = meta(db, npy_bytes(np.zeros(1)))
    assert plain["fields"] is None


def test_byte_orders_and_spellings_that_mean_native(connect):
    db = connect()
    for descr, dtype, order in [
        ("i4", "int32", "<"),
        ("=i4", "int32", "<"),
        ("|i4", "int32", "<"),
        ("<i1", "int8", "|"),
        ("float64", "float64", "<"),
        (">f08", "float64", ">"),
        ("a5", "bytes40", "|"),
        ("?", "bool", "|"),
        ("g", "float128", "<"),
        ("M8[s/1000]", "datetime64[ms]", "<"),
        ("M8[\u03bcs]", "datetime64[us]", "<"),
    ]:
        header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': (0,)}}\n"
        [row] = meta(db, npy_text_bytes(header, version=(3, 0)))
        assert (row["descr"], row["dtype"], row["byteorder"], row["version"]) == (descr, dtype, order, "3.0")


def test_object_arrays_have_metadata(connect, tmp_path):
    db = connect()
    (tmp_path / "o.npy").write_bytes(object_npy_bytes((2, 3)))
    nested = np.zeros(2, [("a", "i4"), ("b", [("c", "O")])])
    for source in (str(tmp_path / "o.npy"), object_npy_bytes((2, 3))):
        [row] = meta(db, source)
        assert_has(
            row,
            {"dtype": "object", "descr": "|O", "kind": "O", "has_objects": 1, "shape": "[2,3]", "error": None},
            "object",
        )
    [row] = meta(db, npy_bytes(nested))
    assert_has(row, {"kind": "V", "has_objects": 1, "shape": "[2]", "error": None}, "nested object")


@pytest.mark.parametrize(
    "path, parts, stem",
    [
        ("runs/7/loss.npy", ["runs", "7", "loss.npy"], "loss"),
        ("./runs/7/./loss.npy", ["runs", "7", "loss.npy"], "loss"),
        ("a.tar.npy", ["a.tar.npy"], "a.tar"),
        ("runs/.npy", ["runs", ".npy"], ".npy"),
        ("noext", ["noext"], "noext"),
    ],
)
def test_parts_and_stem_of_a_path(connect, tmp_path, monkeypatch, path, parts, stem):
    monkeypatch.chdir(tmp_path)
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_bytes(npy_bytes(np.arange(2)))
    [row] = meta(connect(), path)
    assert (row["path"], json.loads(row["parts"]), row["stem"]) == (path, parts, stem)


def test_json_columns_nest_in_other_json(connect, tmp_path):
    db = connect()
    (tmp_path / "r.npy").write_bytes(npy_bytes(np.zeros((2, 3), [("x", "i4")])))
    [(nested,)] = db.execute(
        "SELECT json_array(shape, strides, fields, parts) FROM npy_meta(?)", (str(tmp_path / "r.npy"),)
    )
    shape, strides, fields, parts = json.loads(nested)
    assert (shape, strides, fields[0]["name"], parts[-1]) == ([2, 3], [12, 4], "x", "r.npy")
    archive = npz_bytes({"a": np.zeros((2, 3))})
    assert db.execute("SELECT json_array(shape) FROM npz_members(?)", (archive,)).fetchone() == ("[[2,3]]",)
    assert db.execute("SELECT json_array(shape) FROM ten_arrays(?)", (ten_bytes([np.zeros((2, 3))]),)).fetchone() == (
        "[[2,3]]",
    )
    assert db.execute(
        "SELECT json_array(value) FROM npy_rows(?)", (npy_bytes(np.ones((1, 2), "i4")),)
    ).fetchone() == ("[[1,1]]",)
    assert db.execute("SELECT json_array(value) FROM npy_rows(?)", (npy_bytes(np.array(["[1]"])),)).fetchone() == (
        '["[1]"]',
    )


def test_meta_of_archives(connect, tmp_path):
    db, path = connect(), tmp_path / "w.tar.npz"
    for variant in NPZ_VARIANTS:
        contents = zip_bytes(mixed_entries(), variant)
        path.write_bytes(contents)
        for source in (str(path), contents):
            rows = meta(db, source)
            # idx counts zip entries, arrays or not; an array is one by its magic and not by its name.
            facts = ("idx", "name", "format", "shape", "descr", "fortran_order", "version")
            assert [tuple(row[fact] for fact in facts) for row in rows] == [
                (1, "a", "npz", "[2,3]", ">f4", 1, "1.0"),
                (3, "d/b", "npz", "[4]", "<i8", 0, "1.0"),
            ]
            deflated = variant.endswith("deflate")
            for row, data in zip(rows, (bytes(24), np.arange(4).tobytes())):
                assert (row["file_size"], row["stem"]) == (len(contents), None if source is contents else "w.tar")
                assert row["compression"] == ("deflate" if deflated else "stored")
                assert row["data_offset"] is None if deflated else contents[row["data_offset"] :][: len(data)] == data
    assert json.loads(rows[0]["strides"]) == [4, 8]


def test_an_archive_without_arrays_is_one_row(connect, tmp_path):
    """A zip of other files says so; one is not what it seems if nothing in it is named as an array."""
    db, path = connect(), tmp_path / "none"
    other = "is a zip without arrays{}; npz_members lists it"
    for entries, error in [([], None), ([("d.npy", b"no array")], None), ([("readme.txt", b"x"), ("d/", b"")], other.format("")),
                           ([("config.json", b"{}"), ("model.weights.h5", b"")], other.format(" (it is a Keras model)")), ([("[Content_Types].xml", b"")], other.format(" (it is an Office document)"))]:
        contents = zip_bytes(entries)
        path.write_bytes(contents)
        [row] = meta(db, str(path))
        assert_has(row, {"format": "npz", "name": None, "idx": None, "shape": None, "file_size": len(contents)}, contents)
        assert row["error"] == (None if error is None else f"npyext: {path}: {error}")
        assert db.execute("SELECT count(*) FROM npy_rows(?)", (contents,)).fetchone() == (0,)


def test_meta_of_tens(connect, tmp_path):
    db, path = connect(), tmp_path / "t.ten"
    arrays = [np.zeros((2, 3), "f4"), np.arange(5, dtype="u1"), np.array(1.5), np.zeros((0, 2), "i8")]
    for order in "<>":
        contents = ten_bytes(arrays, order, ["x", "", "eight888"])
        path.write_bytes(contents)
        rows = meta(db, str(path))
        assert [(row["idx"], row["name"]) for row in rows] == [(0, "x"), (1, ""), (2, "eight888"), (3, "")]
        for row, array in zip(rows, arrays):
            stored = array.astype(array.dtype.newbyteorder(order))
            assert_has(row, array_facts(stored), f"{order} {row['idx']}")
            assert_has(
                row,
                {"format": "ten", "fortran_order": 0, "compression": None, "version": None, "fields": None},
                order,
            )
            assert contents[row["data_offset"] :][: array.nbytes] == stored.tobytes()
            assert json.loads(row["shape"]) == list(array.shape)
