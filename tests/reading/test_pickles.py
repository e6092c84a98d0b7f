"""Arrays in pickles: pickle.dump in every protocol, several in a file, compressed ones, and what joblib writes. NumPy and
pickle are the oracle; joblib where it is installed (Debian's python3-joblib)."""

import gzip
import importlib.util
import io
import json
import os
import pickle
import zlib

import numpy as np
import pytest

import shell
from expected import counters, error_of, since
from pickle_files import Holder, arrays_of, joblib_dumps, random_tree

LEFT_NBYTES = 1 << 14  # of an array that is not read with the pickle


def write(path, contents):
    with open(path, "wb") as file:
        file.write(contents)


def shown(item):
    if isinstance(item, dict):
        return json.dumps({key: value.tolist() for key, value in item.items()}, separators=(",", ":"))
    return str(item) if isinstance(item, int) and abs(item) >= 2**63 else item


def check(db, path, expected, label):
    meta = db.execute("SELECT idx, name, shape, descr, fortran_order, error FROM npy_meta(?) WHERE idx IS NOT NULL", (path,)).fetchall()
    assert [row[1] for row in meta] == [name for name, _ in expected], label
    for (idx, name, shape, descr, fortran_order, error), (_, array) in zip(meta, expected):
        where = f"{label}: {name}"
        assert error is None and json.loads(shape) == list(array.shape), where
        if array.dtype == object:
            assert descr == "|O", where
            found = [value for (value,) in db.execute("SELECT value FROM npy_elements(?, ?)", (path, idx))]
            assert found == [shown(x) for x in array.ravel().tolist()], where
            continue
        ((blob,),) = db.execute("SELECT npy_copy(array) FROM npy_file(?, ?)", (path, idx))
        found = np.load(io.BytesIO(blob))
        if array.dtype.names:  # between whose fields may be anything
            assert [found.dtype.fields[n] for n in found.dtype.names] == [array.dtype.fields[n] for n in array.dtype.names] and (found == array).all(), where
        else:
            assert found.dtype == array.dtype and found.tobytes() == np.ascontiguousarray(array).tobytes(), where
        assert fortran_order == (array.flags.f_contiguous and not array.flags.c_contiguous) or array.size == 0, where


def test_random_pickles(db, folder):
    """240 trees, in protocols 0 to 5, plain and compressed; sometimes several in a file."""
    seed = shell.random_seed()
    rng = np.random.default_rng(seed)
    for number in range(240):
        protocol = number % 6
        trees = [random_tree(rng, has_slots=protocol >= 2) for _ in range(1 + (protocol >= 2 and rng.random() < 0.2))]
        contents = b"".join(pickle.dumps(tree, protocol=protocol) for tree in trees)
        form = rng.integers(4) if protocol >= 2 else 3
        contents = gzip.compress(contents) if form == 0 else zlib.compress(contents) if form == 1 else contents
        write("x.pkl", contents)
        expected = [pair for tree in trees for pair in arrays_of(tree)]
        check(db, "x.pkl", expected, f"seed {seed}, tree {number}, protocol {protocol}")


def test_arrays_between_opcodes(db, folder):
    """As joblib writes them, with and without bytes that align them, in every protocol."""
    seed = shell.random_seed()
    rng = np.random.default_rng(seed)
    for number in range(120):
        tree = random_tree(rng)
        contents = joblib_dumps(tree, 2 + number % 4, [0, 16, 64][number % 3])
        write("x.joblib", zlib.compress(contents) if rng.random() < 0.2 else contents)
        check(db, "x.joblib", arrays_of(tree), f"seed {seed}, tree {number}")


if importlib.util.find_spec("joblib") is not None:
    import joblib

    def test_random_files_of_joblib(db, folder):
        seed = shell.random_seed()
        rng = np.random.default_rng(seed)
        for number in range(120):
            tree = random_tree(rng)
            joblib.dump(tree, "x.joblib", compress=[0, 0, 3, ("gzip", 3)][number % 4], protocol=[2, 3, 4, 5][rng.integers(4)])
            check(db, "x.joblib", arrays_of(tree), f"seed {seed}, tree {number}")

    def test_what_joblib_compresses_otherwise_is_named(db, folder):
        for method, what in {"bz2": "bzip2", "xz": "xz", "lzma": "lzma"}.items():
            joblib.dump({"a": np.arange(9000)}, "x.joblib", compress=(method, 3))
            assert f"x.joblib: is {what}-compressed data" in error_of(db, "SELECT * FROM npy_meta('x.joblib')")

    def test_joblib_is_read_in_place(db, folder):
        """Of 40 MB in ten arrays the survey reads what lies between them."""
        arrays = {f"a{i}": np.full((500, 1000), i, "f8") for i in range(10)}
        joblib.dump(arrays, "x.joblib")
        before = counters(db)
        assert db.execute("SELECT count(*), min(data_offset % 16), max(data_offset % 16) FROM npy_meta('x.joblib')").fetchone() == (10, 0, 0)
        assert counters(db)["bytes_read"] - before["bytes_read"] < 100_000
        assert [row[0] for row in db.execute("SELECT mean FROM npy_stats('x.joblib')")] == list(range(10))
        assert np.memmap("x.joblib", "f8", "r", db.execute("SELECT data_offset FROM npy_meta('x.joblib') WHERE name = 'a7'").fetchone()[0], (3,)).tolist() == [7] * 3


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_long_arrays_stay_in_the_file(db, folder, protocol):
    """A survey reads what is around them, and a row only that row."""
    arrays = [np.full((1000, 1000), i, "i8") for i in range(5)]
    write("x.pkl", pickle.dumps({"arrays": arrays, "n": 5}, protocol=protocol))
    before = counters(db)
    assert db.execute("SELECT count(*) FROM npy_meta('x.pkl')").fetchone() == (5,)
    assert counters(db)["bytes_read"] - before["bytes_read"] < 60_000
    before = counters(db)
    assert db.execute("SELECT name, value FROM npy_rows('x.pkl', 'arrays.3', '500, :2')").fetchall() == [("arrays.3", 3), ("arrays.3", 3)]
    assert counters(db)["bytes_read"] - before["bytes_read"] < 60_000
    offset = db.execute("SELECT data_offset FROM npy_meta('x.pkl') WHERE name = 'arrays.4'").fetchone()[0]
    assert np.memmap("x.pkl", "i8", "r", offset, (1000, 1000))[999, 999] == 4


def test_python_2_s_strings_stay_in_the_file(db, folder):
    """BINSTRING, as in the files of MNIST and CIFAR."""
    array = np.arange(10000, dtype="<i8")
    data = array.tobytes()
    head = b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01M\x10'\x85cnumpy\ndtype\nU\x02i8K\x00K\x01\x87R(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89"
    contents = head + b"T" + len(data).to_bytes(4, "little") + data + b"tb."
    assert np.array_equal(pickle.loads(contents, encoding="latin1"), array)
    for path, octets in {"x.pkl": contents, "x.pkl.gz": gzip.compress(contents)}.items():
        write(path, octets)
        assert db.execute("SELECT name, shape, data_offset FROM npy_meta(?)", (path,)).fetchall() == [("", "[10000]", len(head) + 5 if path == "x.pkl" else None)]
        assert db.execute("SELECT sum FROM npy_stats(?)", (path,)).fetchone() == (49995000,)
        assert db.execute("SELECT value FROM npy_rows(?, '', '-2:')", (path,)).fetchall() == [(9998,), (9999,)]


def test_the_length_at_which_an_array_stays(db, folder):
    for nbytes in (LEFT_NBYTES - 1, LEFT_NBYTES, LEFT_NBYTES + 1):
        array = np.arange(nbytes, dtype="u1")
        contents = pickle.dumps([array, array[:3]], protocol=4)
        write("x.pkl", contents)
        rows = db.execute("SELECT data_offset IS NOT NULL, name FROM npy_meta('x.pkl')").fetchall()
        assert rows == [(int(nbytes >= LEFT_NBYTES), "0"), (0, "1")]
        assert db.execute("SELECT sum FROM npy_stats('x.pkl')").fetchall() == [(int(array.sum()),), (3,)]
        assert db.execute("SELECT sum FROM npy_stats(?)", (contents,)).fetchall() == [(int(array.sum()),), (3,)]


def test_errors(db, folder):
    """One that is cut off, at any byte; what follows; a part that would be elsewhere; and names that several arrays have."""
    contents = pickle.dumps({"a": np.arange(3), "b": [np.zeros(40000), np.ones((2, 2))]}, protocol=4)
    for nbytes in [*range(3, 300), *range(300, len(contents), 3571), len(contents) - 1]:
        write("x.pkl", contents[:nbytes])
        assert "x.pkl: " in error_of(db, "SELECT * FROM npy_meta('x.pkl')"), nbytes
        rows = db.execute("SELECT error FROM npy_meta('*.pkl')").fetchall()
        assert len(rows) == 1 and rows[0][0] is not None, nbytes
    write("x.pkl", contents + b"more")
    assert db.execute("SELECT name FROM npy_meta('x.pkl')").fetchall() == [("a",), ("b.0",), ("b.1",)]
    write("x.pkl", contents + b"\x80\x04]q")
    assert db.execute("SELECT name, error IS NULL FROM npy_meta('x.*')").fetchall() == [("a", 1), ("b.0", 1), ("b.1", 1), (None, 0)]
    write("x.pkl", pickle.dumps([Holder(a=np.arange(2))]) + pickle.dumps([Holder(a=np.arange(4))]))
    assert db.execute("SELECT shape FROM npy_meta('x.pkl')").fetchall() == [("[2]",), ("[4]",)]
    assert "2 arrays have the name '0.a'" in error_of(db, "SELECT * FROM npy_rows('x.pkl', '0.a')")
    assert db.execute("SELECT count(*) FROM npy_rows('x.pkl', 1)").fetchone() == (4,)
    write("x.pkl", pickle.dumps({"no": "arrays"}))
    assert db.execute("SELECT name, format, error FROM npy_meta('x.pkl')").fetchall() == [(None, "pickle", None)]
    assert "the file holds none" in error_of(db, "SELECT * FROM npy_rows('x.pkl', 'no')")
    write("x.pkl", pickle.dumps(np.arange(3), protocol=5, buffer_callback=lambda buffer: None))
    assert "NEXT_BUFFER: it refers to what is not in the file" in error_of(db, "SELECT * FROM npy_meta('x.pkl')")
    write("x.pkl", zlib.compress(b"not a pickle"))
    assert "is zlib-compressed data" in error_of(db, "SELECT * FROM npy_meta('x.pkl')")
    damaged = bytearray(zlib.compress(pickle.dumps(np.arange(30000))))
    damaged[-1] ^= 1
    write("x.pkl", damaged)
    assert "Adler-32" in error_of(db, "SELECT sum FROM npy_stats('x.pkl')")


def test_other_names_and_texts(db, folder):
    """Protocol 0 looks like text: only its name tells. A text that is named so is no pickle."""
    old = pickle.dumps({"w": np.arange(3)}, protocol=0)
    for path in ("x.pkl", "x.pickle", "x.joblib"):
        write(path, old)
        assert db.execute("SELECT name FROM npy_meta(?)", (path,)).fetchall() == [("w",)]
    write("x.dat", old)
    assert "is not a .npy" in error_of(db, "SELECT * FROM npy_meta('x.dat')")
    write("x.pkl", b"version https://git-lfs.github.com/spec/v1\n")
    assert "Git LFS pointer" in error_of(db, "SELECT * FROM npy_meta('x.pkl')")
    write("x.pkl", b"a note, not a pickle\n")
    assert "a fault in the pickle at byte" in error_of(db, "SELECT * FROM npy_meta('x.pkl')")


def test_objects_with_what_was_left_in_the_file(db, folder):
    """Long arrays and bytes, in Fortran order, too, as items of an array of objects: read when it is, and by themselves in place."""
    wide, tall = np.asfortranarray(np.arange(6000, dtype="i8").reshape(60, 100)), np.asfortranarray(np.arange(6, dtype="i4").reshape(2, 3))
    objects = np.array([wide, [tall, {"k": wide}], b"x" * 20000, "text", None, np.array([tall, None], object)], object)
    for contents in (pickle.dumps([objects, wide], protocol=5), joblib_dumps([objects, wide])):
        write("x.pkl", contents)
        for _ in range(2):
            values = [row[0] for row in db.execute("SELECT value FROM npy_elements('x.pkl', 0)")]
            assert [json.loads(value) for value in (values[0], values[1], values[5])] == [wide.tolist(), [tall.tolist(), {"k": wide.tolist()}], [tall.tolist(), None]]
            assert values[2:5] == [b"x" * 20000, "text", None]
            rows = db.execute("SELECT name, fortran_order, data_offset IS NOT NULL OR size < 100 FROM npy_meta('x.pkl')").fetchall()
            inner = [("0", 0, 1), ("0.0", 1, 1), ("0.1.0", 1, 1), ("0.1.1.k", 1, 1), ("0.5", 0, 1), ("0.5.0", 1, 1), ("1", 1, 1)]
            if contents[:20] == pickle.dumps([objects, wide], protocol=5)[:20]:
                assert rows == inner
            assert db.execute("SELECT value FROM npy_rows('x.pkl', '0.1.1.k', '1, :3')").fetchall() == [(100,), (101,), (102,)]
            assert db.execute("SELECT value FROM npy_rows('x.pkl', '0.1.0', '1')").fetchall() == [(3,), (4,), (5,)]
    many = np.array([np.zeros(1_500_000) for _ in range(4)] + [None], object)
    write("x.pkl", pickle.dumps(many))
    assert "the arrays in its items take more than" in error_of(db, "SELECT value FROM npy_elements('x.pkl', 0)")
    assert db.execute("SELECT sum(count) FROM npy_stats('x.pkl') WHERE on_error = 'skip'").fetchone() == (6_000_000,)


def test_an_integer_of_megabytes_of_zeros_was_read_whole(db, folder):
    """It took a second under the sanitizers; Python writes no zeros before an integer's digits."""
    nbytes = 40_000_000
    with open("x.pkl", "wb") as file:
        file.write(b"\x80\x02\x8b" + nbytes.to_bytes(4, "little"))
        file.truncate(7 + nbytes)
        file.seek(0, os.SEEK_END)
        file.write(b".")
    before = counters(db)
    assert "LONG4: an integer of more than 4300 digits" in error_of(db, "SELECT * FROM npy_meta('x.pkl')")
    assert since(db, before)["bytes_read"] < 1 << 20
    assert pickle.loads(open("x.pkl", "rb").read()) == 0


def test_what_is_not_an_array_is_metadata(db, folder):
    """JSON with the arrays' names in their places, whatever holds them; of several pickles a list."""
    shared = np.arange(3)
    tree = {"epoch": 7, "lr": 0.1, "best": np.float32(0.5), "when": np.datetime64("2026-01-02"), "names": ["a", None, True], "set": {1}, 1: {"w": shared, ("t", 2): [shared, b"ab"]},
            "long": b"x" * LEFT_NBYTES, "model": Holder(weight=np.zeros((2, 2)), config=Holder(depth=3)), "objects": np.array([{"in": shared}], object)}
    expected = {"epoch": 7, "lr": 0.1, "best": 0.5, "when": "2026-01-02", "names": ["a", None, True], "set": [1], "1": {"w": {"__array__": "1.w"}, '["t",2]': [{"__array__": "1.w"}, {"__bytes__": "YWI="}]},
                "long": {"__bytes__": LEFT_NBYTES}, "model": {"__class__": "pickle_files.Holder", "args": [], "state": {"weight": {"__array__": "model.weight"}, "config": {"__class__": "pickle_files.Holder", "args": [], "state": {"depth": 3}}}},
                "objects": {"__array__": "objects"}}
    for contents in (pickle.dumps(tree, 5), joblib_dumps(tree)):
        if contents == joblib_dumps(tree):  # which writes an array as often as it occurs
            expected["1"]['["t",2]'][0]["__array__"] = "1.('t', 2).0"
        write("x.pkl", contents)
        ((metadata,),) = db.execute("SELECT DISTINCT metadata FROM npy_meta('x.pkl')").fetchall()
        assert json.loads(metadata) == expected and " " not in metadata.replace("('t', 2)", "")
    write("x.pkl", pickle.dumps(shared, 4) + pickle.dumps({"n": 2}, 4))
    assert db.execute("SELECT metadata FROM npy_meta('x.pkl')").fetchall() == [('[{"__array__":""},{"n":2}]',)]
    within = {"a": shared}
    within["self"] = within
    write("x.pkl", pickle.dumps(within, 4))
    assert db.execute("SELECT metadata FROM npy_meta('x.pkl')").fetchall() == [('{"a":{"__array__":"a"},"self":null}',)]
    write("x.pkl", pickle.dumps({"only": "text"}))
    assert db.execute("SELECT name, metadata FROM npy_meta('x.pkl')").fetchall() == [(None, '{"only":"text"}')]


def test_keys_that_are_long(db, folder):
    """A key of more than 64 KiB is shown as `...`, also one that is a tuple of one tuple many times over."""
    key = ()
    for _ in range(7):
        key = (key,) * 12
    write("x.pkl", pickle.dumps({"a" * 65536: np.arange(1), "b" * 65537: [np.arange(2)], key: np.arange(3), "last": np.arange(4)}))
    assert [row[0] for row in db.execute("SELECT name FROM npy_meta('x.pkl')")] == ["a" * 65536, "....0", "...", "last"]


def test_a_claim_makes_nothing(db, folder):
    """Lengths beyond the end of the file, of strings, frames, joblib's arrays and shapes."""
    for contents in (b"\x80\x04\x8e" + (1 << 60).to_bytes(8, "little") + b"x." , b"\x80\x04\x95" + (1 << 39).to_bytes(8, "little") + b"N.",
                     b"\x80\x04B\xff\xff\xff\xff.", b"\x80\x02T\xff\xff\xff\x7f."):
        write("x.pkl", contents)
        assert "a fault in the pickle" in error_of(db, "SELECT * FROM npy_meta('x.pkl')")


def test_a_pickle_is_never_overwritten(db, folder):
    contents = pickle.dumps(np.arange(3))
    write("x.pkl", contents)
    assert "x.pkl" in error_of(db, "SELECT * FROM npy_write('x.pkl', (SELECT npy_array(value) FROM json_each('[1,2]')))")
    with open("x.pkl", "rb") as file:
        assert file.read() == contents
    assert os.listdir(".") == ["x.pkl"]


def test_fields_that_no_header_can_say(db, folder):
    """They overlap, are in another order, or hold objects: such an array is listed, and not read. So is a masked one."""
    overlapping = np.zeros(3, np.dtype({"names": ["a", "b"], "formats": ["<i4", "<i2"], "offsets": [0, 2]}))
    turned = np.zeros(3, np.dtype({"names": ["a", "b"], "formats": ["<i4", "<i2"], "offsets": [4, 0]}))
    titled = np.zeros(3, np.dtype({"names": ["a"], "formats": ["<i4"], "titles": ["The A"]}))
    held = np.zeros(3, [("a", "O"), ("b", "<i2")])
    masked = np.ma.array([[1, 2]], mask=[[0, 1]])
    write("x.pkl", pickle.dumps([overlapping, turned, titled, held, masked]))
    rows = db.execute("SELECT name, descr, shape, error FROM npy_meta('x.pkl')").fetchall()
    assert rows == [("0", "fields out of order", "[3]", None), ("1", "fields out of order", "[3]", None),
                    ("2", "[(('The A', 'a'), '<i4')]", "[3]", None), ("3", "objects in fields", "[3]", None), ("4", "masked", "[1,2]", None)]
    assert "has the dtype fields out of order, which is not read" in error_of(db, "SELECT * FROM npy_rows('x.pkl', '0')")
    assert db.execute("SELECT value FROM npy_rows('x.pkl', '2', 0)").fetchall() == [('{"a":0}',)]
