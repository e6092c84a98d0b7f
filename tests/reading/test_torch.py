"""Files of torch.save, in both of their forms, and of TorchScript. PyTorch is the oracle where it is installed (Debian's python3-torch);
the other files are made by hand, from its sources."""

import importlib.util
import json
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import shell
import tars
from arrays import npy_bytes
from expected import counters, error_of, since
from torch_files import Call, Global, Storage, pickled, tensor, torch_legacy, torch_zip, typed_tensor, write_sparse_torch_zip

if importlib.util.find_spec("torch") is not None:

    def test_random_files_of_torch(db, folder):
        """250 files: nested containers, views, shared storages, parameters, whole modules and optimizers, in protocols 2 to 5."""
        seed, count = shell.random_seed(), 250
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        writer = os.path.join(os.path.dirname(shell.__file__), "torch_writer.py")
        subprocess.run([sys.executable, "-B", writer, str(seed), str(count), "."], check=True, env=environment, timeout=shell.PATIENCE)
        for number in range(count):
            with open(f"{number}.json") as file:
                told = json.load(file)
            label = f"seed {seed}, file {number}"
            meta = db.execute("SELECT idx, name, dtype, shape, format, error FROM npy_meta(?) WHERE idx IS NOT NULL", (f"{number}.pt",)).fetchall()
            data = [data for (data,) in db.execute("SELECT npy_data(array) FROM npy_file(?)", (f"{number}.pt",))]
            found = [[name, {"dtype": dtype, "shape": json.loads(shape), "data": data[idx].hex()}] for idx, name, dtype, shape, _, _ in meta]
            if told["is_module"]:  # in an order of its own; and recurrent layers hold a second list of their weights
                found = sorted((pair for pair in found if "_flat_weights" not in pair[0]), key=lambda pair: pair[0])
            assert found == told["tensors"], label
            assert {row[4:] for row in meta} <= {("torch", None)}, label
            rows = db.execute("SELECT name, data FROM npy_rows(?, '', 'None')", (f"{number}.pt",)).fetchall()
            assert rows == [(row[1], octets) for row, octets in zip(meta, data)], label


# --- files by hand -----------------------------------------------------------------------------------------------------


def test_forms_and_byte_orders(db, folder):
    """A zip, stored and deflated, in both byte orders; and pickles in a row, in every protocol."""
    array = np.arange(12, dtype="f4").reshape(3, 4)
    tree = {"w": tensor("Float", "0", 12, 0, (3, 4), (4, 1)), "t": tensor("Float", "0", 12, 1, (3, 2), (4, 2))}
    files = {
        "zip": torch_zip(tree, {"0": array.tobytes()}),
        "named otherwise": torch_zip(tree, {"0": array.tobytes()}, name="my model.v2"),
        "no byteorder": torch_zip(tree, {"0": array.tobytes()}, byteorder=None),
        "deflated": torch_zip(tree, {"0": array.tobytes()}, method=zipfile.ZIP_DEFLATED),
        "big-endian": torch_zip(tree, {"0": array.astype(">f4").tobytes()}, byteorder="big"),
        "with a .npy": torch_zip(tree, {"0": array.tobytes()}, others={"x.npy": npy_bytes(array)}),
        **{f"legacy {n}": torch_legacy(tree, {"0": (12, array.tobytes())}, n) for n in (2, 3, 4, 5)},
    }
    for label, contents in files.items():
        with open("m.pt", "wb") as file:
            file.write(contents)
        for source in ("m.pt", contents):
            rows = db.execute("SELECT name, dtype, shape FROM npy_meta(?)", (source,)).fetchall()
            assert rows == [("w", "float32", "[3,4]"), ("t", "float32", "[3,2]")], label
            values = [json.loads(row[0]) for row in db.execute("SELECT value FROM npy_rows(?)", (source,))]
            assert values == [*array.tolist(), [1, 3], [5, 7], [9, 11]], label
        assert db.execute("SELECT value FROM npy_rows(?, 't', '::-1, 1')", (contents,)).fetchall() == [(11,), (7,), (3,)], label
        assert db.execute("SELECT sum, argmax FROM npy_stats('m.pt', 'w')").fetchall() == [(66, 11)], label


TYPED = {"float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1, "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1, "uint16": 2, "uint32": 4, "uint64": 8, "float32": 4}


def test_dtypes_of_untyped_storages(db, folder):
    """_rebuild_tensor_v3: for dtypes that have no class of storages."""
    for dtype, itemsize in TYPED.items():
        octets = bytes(range(1, 1 + 6 * itemsize))
        contents = torch_zip([typed_tensor(dtype, "0", len(octets), 2, (2, 2), (2, 1))], {"0": octets})
        ((name, found, shape),) = db.execute("SELECT name, dtype, shape FROM npy_meta(?)", (contents,)).fetchall()
        assert (name, found, shape) == ("0", dtype, "[2,2]")
        assert b"".join(data for (data,) in db.execute("SELECT data FROM npy_rows(?)", (contents,))) == octets[2 * itemsize :]


def test_what_is_listed_and_not_read(db, folder):
    """Quantized, sparse and nested tensors, conjugate views and new dtypes have a name, a shape and what they are."""
    sparse = Call("torch._utils", "_rebuild_sparse_tensor", Global("torch", "sparse_coo"), (tensor("Long", "0", 1, 0, (1, 1), (1, 1)), 1, Call("torch", "Size", (3, 4))))
    tree = {
        "q": Call("torch._utils", "_rebuild_qtensor", Storage("QInt8", "0", 4), 0, (2, 2), (2, 1), (), False, {}), "s": sparse,
        "n": Call("torch._utils", "_rebuild_nested_tensor", 1, 2), "c": tensor("ComplexFloat", "0", 1, 0, (1,), (1,), {"conj": True}),
        "new": typed_tensor("float4_e2m1fn_x2", "0", 4, 0, (4,), (1,)), "m": Call("torch._utils", "_rebuild_meta_tensor_no_storage", Global("torch", "float32"), (5,), (1,), False),
        "w": tensor("Float", "0", 2, 0, (2,), (1,)),
    }  # fmt: skip
    contents = torch_zip(tree, {"0": np.float32([1, 2]).tobytes()})
    rows = db.execute("SELECT name, dtype, shape, error FROM npy_meta(?)", (contents,)).fetchall()
    assert rows == [
        ("q", "qint8", "[2,2]", None), ("s", "sparse", "[3,4]", None), ("n", "nested", "[]", None), ("c", "conjugate or negative view", "[1]", None),
        ("new", "float4_e2m1fn_x2", "[4]", None), ("m", "meta", "[5]", None), ("w", "float32", "[2]", None),
    ]  # fmt: skip
    for name in "qsncm":
        assert "is not read" in error_of(db, "SELECT * FROM npy_rows(?, ?)", contents, name), name
    assert db.execute("SELECT value FROM npy_rows(?, 'w')", (contents,)).fetchall() == [(1,), (2,)]
    survey = db.execute("SELECT name, count FROM npy_stats(?) WHERE on_error = 'row'", (contents,)).fetchall()
    assert survey == [("q", None), ("s", None), ("n", None), ("c", None), ("new", None), ("m", None), ("w", 2)]


def test_numpy_arrays_and_other_values_beside_tensors(db, folder):
    array = np.arange(6, dtype=">i2").reshape(2, 3)
    tree = {"epoch": 3, "lr": np.float64(0.5), "rng": [array, np.asfortranarray(array)], "w": tensor("Float", "0", 1, 0, (), ()), "names": np.array(["a", None], object)}
    contents = torch_zip(tree, {"0": bytes(4)})
    rows = db.execute("SELECT name, dtype, shape FROM npy_meta(?)", (contents,)).fetchall()
    assert rows == [("rng.0", "int16", "[2,3]"), ("rng.1", "int16", "[2,3]"), ("w", "float32", "[]"), ("names", "object", "[2]")]
    for name in ("rng.0", "rng.1"):
        assert [json.loads(row[0]) for row in db.execute("SELECT value FROM npy_rows(?, ?)", (contents, name))] == array.tolist()


def test_where_items_are_in_the_file(db, folder):
    """data_offset and compression; NULL where the file has the items in another form."""
    numbers = np.arange(8, dtype="f4")
    tree = [tensor("Float", "0", 8, 2, (3,), (1,)), tensor("Float", "0", 8, 3, (2,), (2,)), np.arange(3.0), tensor("Float", "0", 8, 1, (2, 2), (1, 2))]
    for label, contents in {"zip": torch_zip(tree, {"0": numbers.tobytes()}), "legacy": torch_legacy(tree, {"0": (8, numbers.tobytes())})}.items():
        rows = db.execute("SELECT data_offset, compression FROM npy_meta(?)", (contents,)).fetchall()
        found = [contents[off : off + 4] if off is not None else None for off, _ in rows]
        assert found == [np.float32(2).tobytes(), np.float32(3).tobytes(), None, np.float32(1).tobytes()], label
        assert {row[1] for row in rows} == ({"stored", None} if label == "zip" else {None})
    rows = db.execute("SELECT data_offset, compression FROM npy_meta(?)", (torch_zip(tree, {"0": numbers.tobytes()}, method=zipfile.ZIP_DEFLATED),)).fetchall()
    assert rows == [(None, "deflate"), (None, "deflate"), (None, None), (None, "deflate")]


def test_torchscript_constants(db, folder):
    module = Call("__torch__", "Net", state={"training": False, "w": tensor("Float", "0", 2, 0, (2,), (1,))})
    constants = pickled((tensor("Long", "0", 2, 0, (2,), (1,)), 5))
    others = {"constants.pkl": constants, "constants/0": np.int64([7, 8]).tobytes(), "code/__torch__.py": b"class Net:"}
    contents = torch_zip(module, {"0": np.float32([1, 2]).tobytes()}, others=others)
    assert db.execute("SELECT name, npy_json(npy_array(value)) FROM npy_rows(?) GROUP BY name ORDER BY name", (contents,)).fetchall() == [("constants.0", "[7,8]"), ("w", "[1.0,2.0]")]


def test_storages_one_by_one_and_views_of_them(db, folder):
    """A storage may be saved alone; files from before 1.12 say which part of one is meant."""
    tree = [Storage("Short", "0", 3), tensor("Short", "0", 3, 0, (1,), (1,))]
    contents = torch_zip(tree, {"0": np.int16([5, 6, 7]).tobytes()})
    assert db.execute("SELECT name, value FROM npy_rows(?)", (contents,)).fetchall() == [("0", 5), ("0", 6), ("0", 7), ("1", 5)]
    part = Call("torch._utils", "_rebuild_tensor_v2", Storage("Short", "9", 3, ("10", 1, 2)), 1, (1,), (1,), False, {})
    contents = torch_legacy([part], {"9": (3, np.int16([5, 6, 7]).tobytes())})
    assert db.execute("SELECT value FROM npy_rows(?)", (contents,)).fetchall() == [(7,)]


def test_a_name_of_several_arrays_is_chosen_by_number(db, folder):
    w = tensor("Byte", "0", 2, 0, (1,), (1,))
    contents = torch_zip({"a": {"b": w}, "a.b": tensor("Byte", "0", 2, 1, (1,), (1,)), "tied": w}, {"0": b"\5\6"})
    assert [row[0] for row in db.execute("SELECT name FROM npy_meta(?)", (contents,))] == ["a.b", "a.b", "tied"]
    assert "2 arrays have the name 'a.b'; give the idx" in error_of(db, "SELECT * FROM npy_rows(?, 'a.b')", contents)
    assert db.execute("SELECT value FROM npy_rows(?, 1)", (contents,)).fetchall() == [(6,)]
    assert "there is no array 'x' (there are 'a.b', 'a.b', 'tied')" in error_of(db, "SELECT * FROM npy_rows(?, 'x')", contents)


def test_npz_members_lists_the_zip(db, folder):
    contents = torch_zip({"w": tensor("Float", "0", 2, 0, (2,), (1,))}, {"0": bytes(8)})
    with open("m.pt", "wb") as file:
        file.write(contents)
    for source in ("m.pt", contents):
        rows = db.execute("SELECT filename, uncompressed_size, crc_ok FROM npz_members(?)", (source,)).fetchall()
        assert [row[0] for row in rows] == ["archive/data.pkl", "archive/byteorder", "archive/data/0", "archive/version"] and rows[2][1:] == (8, 1)
    with open("old.pt", "wb") as file:
        file.write(torch_legacy([], {}))
    assert "is a .torch file, not an .npz; npy_meta lists it" in error_of(db, "SELECT * FROM npz_members('old.pt')")
    assert db.execute("SELECT format, idx FROM npy_meta('old.pt')").fetchall() == [("torch", None)]


def test_in_a_tar(db, folder):
    contents = torch_zip({"w": tensor("Float", "0", 2, 0, (2,), (1,))}, {"0": np.float32([3, 4]).tobytes()})
    whole = tars.tar(tars.member(b"a.txt", b"x"), tars.member(b"k.pth", contents))
    assert db.execute("SELECT name, value FROM npy_rows(?)", (whole,)).fetchall() == [("k.pth:w", 3), ("k.pth:w", 4)]


def test_only_the_directory_and_the_pickle_are_read(db, folder):
    """Of a file of 64 MB; and of a tensor its own items."""
    n = 1 << 20
    tree = {f"layer.{i}": tensor("Float", str(i), n, 0, (n,), (1,)) for i in range(16)}
    with open("big.pt", "wb") as file:
        file.write(torch_zip(tree, {str(i): np.full(n, i, "f4").tobytes() for i in range(16)}))
    before = counters(db)
    assert len(db.execute("SELECT name, dtype, shape FROM npy_meta('big.pt')").fetchall()) == 16
    surveyed = counters(db)
    assert surveyed["bytes_read"] - before["bytes_read"] < 50_000
    assert db.execute("SELECT value FROM npy_rows('big.pt', 'layer.5') WHERE row = 777").fetchall() == [(5,)]
    assert counters(db)["bytes_read"] - surveyed["bytes_read"] < 200_000
    assert db.execute("SELECT sum(sum) FROM npy_stats('big.pt')").fetchall() == [(sum(range(16)) * n,)]


def test_a_survey_of_10_gb_reads_the_directory_and_the_pickle(db, folder):
    """Storages of a gigabyte each, the last beyond 4 GiB of the zip; none of their bytes is read, nor a place for them made."""
    n, last = 1 << 28, np.arange(9, dtype="f4")
    tree = {f"layers.{i}": tensor("Float", str(i), n, 0, (n >> 10, 1 << 10), (1 << 10, 1)) for i in range(10)}
    tree["norm"] = tensor("Float", "10", 9, 0, (9,), (1,))
    write_sparse_torch_zip("big.pt", tree, {**{str(i): 4 * n for i in range(10)}, "10": last.tobytes()})
    size = os.path.getsize("big.pt")
    assert size > 10 << 30
    with zipfile.ZipFile("big.pt") as archive:  # the same file to zipfile
        assert archive.read("archive/data/10") == last.tobytes() and archive.getinfo("archive/data/10").header_offset > 10 << 30
        directory = size - archive.start_dir
    before = counters(db)
    rows = db.execute("SELECT name, dtype, shape, nbytes FROM npy_meta('big.pt')").fetchall()
    read = since(db, before)
    assert rows == [(f"layers.{i}", "float32", f"[{n >> 10},1024]", 4 * n) for i in range(10)] + [("norm", "float32", "[9]", 36)]
    assert read["bytes_read"] < 16 * 1024 + directory + len(pickled(tree)) and read["files_opened"] == 1
    assert db.execute("SELECT value FROM npy_rows('big.pt', 'norm')").fetchall() == [(x,) for x in last]
    assert db.execute("SELECT data FROM npy_rows('big.pt', 'layers.9') WHERE row = 262143").fetchall() == [(bytes(4096),)]
    assert since(db, before)["bytes_read"] < 256 * 1024


# --- files that are not what they say ----------------------------------------------------------------------------------

SOUND = tensor("Float", "0", 4, 0, (4,), (1,))
FAULTS = {
    "no such storage": (tensor("Float", "7", 4, 0, (4,), (1,)), "its storage is not in the file"),
    "a short storage": (tensor("Float", "0", 5, 0, (4,), (1,)), "its storage has fewer bytes than its pickle says"),
    "beyond the end": (tensor("Float", "0", 4, 1, (4,), (1,)), "its items go beyond the end of its storage"),
    "beyond the end by strides": (tensor("Float", "0", 4, 0, (2, 2), (3, 1)), "its items go beyond the end of its storage"),
    "2^63 by strides": (tensor("Float", "0", 4, 0, (3,), (2**62,)), "its items go beyond the end of its storage"),
    "2^63 by shape": (tensor("Float", "0", 4, 0, (2**40, 2**40), (0, 0)), "its items go beyond the end of its storage"),
    "2^63 by offset": (tensor("Float", "0", 4, 2**63 - 1, (2,), (1,)), "its items go beyond the end of its storage"),
    "repeated without end": (tensor("Float", "0", 4, 0, (2**40,), (0,)), "it repeats the items of its storage more than 1032 times"),
    "a negative stride": (tensor("Float", "0", 4, 3, (4,), (-1,)), "its pickle does not say a storage"),
    "a negative length": (tensor("Float", "0", 4, 0, (-4,), (1,)), "its pickle does not say a storage"),
    "too few strides": (tensor("Float", "0", 4, 0, (2, 2), (1,)), "its pickle does not say a storage"),
    "65 dimensions": (tensor("Float", "0", 4, 0, (1,) * 65, (1,) * 65), "its pickle does not say a storage"),
    "a shape of texts": (tensor("Float", "0", 4, 0, ("4",), (1,)), "its pickle does not say a storage"),
    "no arguments": (Call("torch._utils", "_rebuild_tensor_v2"), "its pickle does not say a storage"),
    "no storage": (Call("torch._utils", "_rebuild_tensor_v2", 5, 0, (4,), (1,)), "its pickle does not say a storage"),
    "a key that is a number": (tensor("Float", 0, 4, 0, (4,), (1,)), "its storage is not one of torch.save's"),
    "a negative storage": (tensor("Float", "0", -4, 0, (4,), (1,)), "its storage is not one of torch.save's"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_tensor_is_an_error_of_its_own(db, folder, fault):
    wrong, message = FAULTS[fault]
    octets = np.float32([1, 2, 3, 4]).tobytes()
    for contents in (torch_zip({"a": SOUND, "b": wrong, "c": SOUND}, {"0": octets}), torch_legacy({"a": SOUND, "b": wrong, "c": SOUND}, {"0": (4, octets)})):
        rows = db.execute("SELECT name, shape, error FROM npy_meta(?) WHERE on_error = 'row'", (contents,)).fetchall()
        assert [row[:2] for row in rows] == [("a", "[4]"), ("b", None), ("c", "[4]")] and message in rows[1][2]
        assert message in error_of(db, "SELECT * FROM npy_rows(?, 'b')", contents)
        assert db.execute("SELECT sum FROM npy_stats(?, 'c')", (contents,)).fetchall() == [(10,)]


def test_strides_of_axes_of_length_1_mean_nothing(db, folder):
    """Nor do any where there are no items: whatever they are, no product of them is taken."""
    octets = np.arange(8, dtype="f4").tobytes()
    tree = [tensor("Float", "0", 8, 1, (1, 3), (2**62, 2)), tensor("Float", "0", 8, 0, (1, 2, 2), (2**63 - 1, 1, 2)), tensor("Float", "0", 8, 2**61, (2**20, 0, 2**20), (2**62, 2**62, 2**62))]
    for contents in (torch_zip(tree, {"0": octets}), torch_legacy(tree, {"0": (8, octets)})):
        rows = db.execute("SELECT npy_json(npy_array(value)) FROM npy_elements(?) GROUP BY name ORDER BY name", (contents,)).fetchall()
        assert rows == [("[1.0,3.0,5.0]",), ("[0.0,2.0,1.0,3.0]",)]
        shapes = db.execute("SELECT shape, error, data_offset IS NOT NULL FROM npy_meta(?) WHERE on_error = 'row'", (contents,)).fetchall()
        assert shapes == [("[1,3]", None, 1), ("[1,2,2]", None, 1), ("[1048576,0,1048576]", None, 1)]


def test_a_faulty_pickle_is_an_error_of_the_file(db, folder):
    """Whose zip is listed all the same."""
    for broken, message in [
        (b"\x80\x02}", "it ends without STOP"), (b"", "it ends without STOP"), (b"\x80\x02K\x01R.", "the stack has too few values"), (b"\x80\x02\x82\1.", "refers to what is not in the file"),
    ]:  # fmt: skip
        contents = torch_zip(None, {"0": bytes(4)}, pickle_bytes=broken)
        assert message in error_of(db, "SELECT * FROM npy_rows(?)", contents), broken
        rows = db.execute("SELECT name, error FROM npy_meta(?) WHERE on_error = 'row'", (contents,)).fetchall()
        assert len(rows) == 1 and message in rows[0][1]
        assert len(db.execute("SELECT * FROM npz_members(?)", (contents,)).fetchall()) == 4


def test_nothing_is_called(db, folder):
    """What torch.load would run: it is neither run nor an array."""
    evil = b"\x80\x02cos\nsystem\nX\x0b\0\0\0touch owned\x85R."
    contents = torch_zip(None, {}, pickle_bytes=evil)
    assert db.execute("SELECT idx, error FROM npy_meta(?) WHERE on_error = 'row'", (contents,)).fetchall() == [(None, None)]
    assert not os.path.exists("owned")


def bomb(depth):
    """A dict that holds one dict twice, which holds one dict twice, ..."""
    tree = SOUND
    for _ in range(depth):
        tree = {"a": tree, "b": tree}
    return tree


def test_trees_that_take_too_long(db, folder):
    ((error,),) = db.execute("SELECT error FROM npy_meta(?) WHERE on_error = 'row'", (torch_zip(bomb(40), {"0": bytes(16)}),)).fetchall()
    assert "in so many places that listing them takes more than" in error
    assert db.execute("SELECT count(*) FROM npy_meta(?)", (torch_zip(bomb(6), {"0": bytes(16)}),)).fetchall() == [(64,)]
    deep = SOUND
    for _ in range(250):
        deep = [deep]
    assert "more than 100 levels deep" in db.execute("SELECT error FROM npy_meta(?) WHERE on_error = 'row'", (torch_zip(deep, {"0": bytes(16)}),)).fetchone()[0]


def test_a_tree_that_contains_itself(db, folder):
    """Modules may know the one that they are in."""
    tree = {"w": SOUND}
    tree["self"] = tree
    tree["list"] = [tree, SOUND]
    assert [row[0] for row in db.execute("SELECT name FROM npy_meta(?)", (torch_zip(tree, {"0": bytes(16)}),))] == ["w", "list.1"]


def test_a_legacy_file_at_every_length(db, folder):
    """Cut anywhere, it is an error or lists fewer sound tensors; its pickles are longer than a piece of reading."""
    octets = np.float32([1, 2, 3, 4]).tobytes()
    whole = torch_legacy({"a": SOUND, "b": tensor("Short", "1", 2, 0, (2,), (1,))}, {"0": (4, octets), "1": (2, b"\1\0\2\0")})
    for length in range(15, len(whole)):
        for row in db.execute("SELECT name, error FROM npy_meta(?) WHERE on_error = 'row'", (whole[:length],)).fetchall():
            assert row[1] is not None or (row[0] == "a" and length >= len(whole) - 12), (length, row)
    long = torch_legacy({"a": SOUND, "text": "x" * 200_000, "b": SOUND}, {"0": (4, octets)})
    assert db.execute("SELECT name, sum FROM npy_stats(?)", (long,)).fetchall() == [("a", 10), ("b", 10)]
