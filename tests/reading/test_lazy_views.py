"""npy_slice, npy_reshape and npy_astype of what npy_concat and npy_calc give: made when it is read, and the same as of an array in a
file. NumPy is the oracle."""

import json
import os
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

import shell
from arrays import npy_bytes, seeded_generator
from expected import counters, error_of
from one_file import compare, cut, write, write_one, write_parts

CONCAT = "npy_concat('x-*.npy')"
CALC = "npy_calc('a + 0', (SELECT array FROM npy_file('whole.npy')))"


def write_all(array, *cuts):
    write_parts(cut(array, *cuts))
    write("whole.npy", npy_bytes(array))


def is_lazy(db, call):
    """A handle has no header."""
    return db.execute(f"SELECT substr({call}, 1, 6) != x'934e554d5059'").fetchone() == (1,)


# What SQL makes of an array, and NumPy of the same; all are matrices of at least 10 by 4, as the questions want them.
VIEWS = {
    "npy_slice({}, '1:')": lambda a: a[1:],
    "npy_slice({}, '::-1')": lambda a: a[::-1],
    "npy_slice({}, '::2, 1:')": lambda a: a[::2, 1:],
    "npy_slice({}, '..., ::-1')": lambda a: a[..., ::-1],
    "npy_slice(npy_slice({}, '3:'), '::-2, ::-1')": lambda a: a[3:][::-2, ::-1],
    "npy_reshape({}, '[-1, 5]')": lambda a: a.reshape(-1, 5),
    "npy_reshape(npy_slice({}, ':, 0'), '[12, 2]')": lambda a: a[:, 0].reshape(12, 2),
    "npy_slice(npy_reshape({}, '[4, -1]'), ':, :20:2')": lambda a: a.reshape(4, -1)[:, :20:2],
    "npy_astype({}, 'f4')": lambda a: a.astype("f4"),
    "npy_astype({}, '>f4')": lambda a: a.astype(">f4"),
    "npy_astype(npy_slice({}, '::-1, 1:'), 'f2')": lambda a: a[::-1, 1:].astype("f2"),
    "npy_slice(npy_astype({}, 'c16'), '1:, 2:')": lambda a: a[1:, 2:].astype("c16"),
    "npy_astype(npy_astype({}, 'f2'), 'f8')": lambda a: a.astype("f2").astype("f8"),
}


@pytest.mark.parametrize("of", [CONCAT, CALC], ids=["concat", "calc"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_answers_as_one_file(db, folder, view, of):
    array = seeded_generator().integers(-9, 9, (24, 5)).astype("f8")
    array[7, 3] = np.nan
    write_all(array, 5, 5, 6, 17)
    one = VIEWS[view](array)
    call = view.format(of)
    assert is_lazy(db, call)
    if one.dtype.kind == "c" or not one.dtype.isnative:
        write("one.npy", npy_bytes(np.ascontiguousarray(one)))
        asked = ["SELECT row, value, hex(data) FROM npy_rows({x})", "SELECT row, value FROM npy_rows({x}, '', '::-2, 1')", "SELECT npy_copy({h}) = npy_copy({one})"]
        compare(db, call, {}, asked + ["SELECT count, nulls, min, max, sum FROM npy_stats({x})", "SELECT status, differing FROM npy_compare({x}, 'one.npy')"])
    else:
        write_one(one)
        compare(db, call, {})


def test_few_and_no_dimensions_and_no_items(db, folder):
    array = np.arange(24, dtype="i4")
    write_all(array, 7)
    for view, expected in [
        ("npy_slice({}, '3')", array[3]), ("npy_slice({}, 7)", array[7]), ("npy_slice({}, '5:5')", array[5:5]), ("npy_slice({}, ':, None')", array[:, None]),
        ("npy_reshape({}, '[2, 3, 4]')", array.reshape(2, 3, 4)), ("npy_reshape({}, 24)", array), ("npy_reshape(npy_slice({}, '4:5'), '()')", array[4]),
        ("npy_astype(npy_slice({}, '::-5'), 'u1')", array[::-5].astype("u1")), ("npy_astype(npy_slice({}, '9:2'), 'f4')", array[9:2].astype("f4")),
        ("npy_slice(npy_reshape({}, '[4, 6]'), '1, ::-1')", array.reshape(4, 6)[1, ::-1]), ("npy_slice({}, '')", array),
    ]:  # fmt: skip
        for of in (CONCAT, CALC):
            call = view.format(of)
            assert is_lazy(db, call)
            assert db.execute(f"SELECT npy_copy({call})").fetchone() == (npy_bytes(np.array(expected, order="C")),), call


def random_slice(rng, shape):
    def part(length):
        kind = rng.integers(4)
        if kind == 0:
            return ":"
        if kind == 1 and length:
            return str(rng.integers(-length, length))
        bounds = ["" if rng.random() < 0.3 else str(rng.integers(-length - 1, length + 2)) for _ in range(2)]
        return ":".join([*bounds, str(rng.choice([-3, -1, 1, 2]))])

    return ", ".join(part(length) for length in shape[: rng.integers(len(shape) + 1)])


def random_shape_of(rng, nelem):
    shape = []
    while nelem > 1 and len(shape) < 4:
        divisors = [n for n in range(1, min(nelem, 50) + 1) if nelem % n == 0]
        shape.append(int(rng.choice(divisors)))
        nelem //= shape[-1]
    return [*shape, nelem]


def random_view(rng, call, array):
    kind = rng.integers(3)
    if kind == 0:
        text = random_slice(rng, array.shape)
        return f"npy_slice({call}, '{text}')", eval(f"array[{text}{', ' * bool(text)}...]", {"array": array})  # noqa: S307
    if kind == 1:
        shape = random_shape_of(rng, array.size)
        return f"npy_reshape({call}, '{json.dumps(shape)}')", array.reshape(shape)
    dtype = rng.choice(["<f4", ">f8", "<i2", ">i4", "<c8", "<f2"] if array.dtype.kind != "c" else ["<c16", ">c8"])
    return f"npy_astype({call}, '{dtype}')", array.astype(dtype)


def test_random_views(db, folder):
    """Up to six views, one of the other; 250 of them."""
    rng = seeded_generator()
    for _ in range(25):
        array = rng.integers(-99, 99, [int(n) for n in rng.integers(1, 9, rng.integers(1, 4))]).astype(rng.choice(["i2", "f4", ">f8", "c16"]))
        for old in os.listdir("."):
            os.remove(old)
        write_all(array, *sorted(rng.integers(0, array.shape[0] + 1, 2)))
        for _ in range(10):
            call, expected = CONCAT if rng.random() < 0.5 else CALC, array.astype(array.dtype.newbyteorder("="))
            for _ in range(rng.integers(1, 7)):
                call, expected = random_view(rng, call, expected)
            contiguous = np.array(expected, order="C")
            (made,) = db.execute(f"SELECT npy_copy({call})").fetchone()
            assert made == npy_bytes(contiguous), call
            if expected.ndim and expected.size:
                row = int(rng.integers(expected.shape[0]))
                ((data,),) = db.execute(f"SELECT data FROM npy_rows({call}) WHERE row = ?", (row,)).fetchall()
                assert data == np.ascontiguousarray(contiguous[row]).astype(expected.dtype.newbyteorder("<")).tobytes(), call


def test_rows_keep_the_path_of_their_part(db, folder):
    write_all(np.arange(20).reshape(10, 2), 3, 7)
    paths = ["x-000.npy"] * 3 + ["x-001.npy"] * 4 + ["x-002.npy"] * 3
    for view, rows in [
        ("npy_slice({}, '::-3')", [9, 6, 3, 0]), ("npy_slice({}, '2:, ::-1')", range(2, 10)), ("npy_astype({}, 'f4')", range(10)),
        ("npy_astype(npy_slice(npy_slice({}, '1:'), '::2, 0'), 'i2')", [1, 3, 5, 7, 9]), ("npy_slice({}, '4')", [4, 4]),
    ]:  # fmt: skip
        got = db.execute(f"SELECT path, row FROM npy_rows({view.format(CONCAT)})").fetchall()
        assert got == [(paths[row], i) for i, row in enumerate(rows)], view
    shown = "npy_reshape(npy_concat('x-*.npy'), '[4, 5]')"
    assert db.execute(f"SELECT DISTINCT path FROM npy_rows({shown})").fetchall() == [(shown,)]


def test_only_what_is_wanted_is_read(db, folder):
    """Of ten files the headers, and one of them once more with a page or a few of items."""
    array = np.arange(10 * 65536, dtype="f8")
    write_all(array, *range(65536, 10 * 65536, 65536))
    before = counters(db)
    (value,) = db.execute(f"SELECT npy_get(npy_astype(npy_reshape(npy_slice({CONCAT}, '65536:'), '[-1, 64]'), 'f4'), 3000, 5)").fetchone()
    after = counters(db)
    assert value == 65536 + 3000 * 64 + 5
    assert after["bytes_read"] - before["bytes_read"] < 10 * 4096 + 65536
    assert after["files_opened"] - before["files_opened"] <= 11


@pytest.mark.parametrize("nthreads", [1, 3])
def test_every_number_of_threads_gives_the_same(folder, nthreads):
    """Of many blocks, converted in threads; the first item that does not fit is named whatever they did."""
    array = np.random.default_rng(5).integers(-99, 99, 900_000).astype("f8")
    write_all(array, 300_000, 300_001)
    bad = array.copy()
    bad[777_777] = bad[888_888] = 1e30
    write("bad.npy", npy_bytes(bad))
    program = f"""if True:
        import sys; sys.path.insert(0, {os.path.dirname(shell.__file__)!r})
        import shell
        db = shell.connect()
        for view in ["npy_astype({{}}, 'f4')", "npy_astype(npy_slice({{}}, '5:'), '>i2')", "npy_reshape(npy_astype({{}}, 'c8'), '[-1, 9]')", "npy_slice({{}}, '::-7')"]:
            for of in [{CONCAT!r}, {CALC!r}]:
                call = view.format(of)
                print(db.execute(f"SELECT count, sum, min, argmax FROM npy_stats({{call}})").fetchall(), db.execute(f"SELECT npy_hash(npy_data(npy_copy({{call}})))").fetchall())
        try:
            db.execute("SELECT s.sum FROM npy_file('bad.npy') AS f, npy_stats(npy_astype(npy_calc('a * 2', f.array), 'i4')) AS s").fetchall()
        except Exception as error:
            print(error)
        """
    environment = dict(os.environ, NPYEXT_THREADS=str(nthreads))
    done = subprocess.run([sys.executable, "-B", "-c", program], stdout=subprocess.PIPE, check=True, env=environment, timeout=shell.PATIENCE, text=True)
    lines = done.stdout.splitlines()
    hashes = []
    for expected in [array.astype("f4"), array[5:].astype(">i2"), array.astype("c8"), array[::-7]]:
        stats = (expected.size, expected.sum(dtype="f8") if expected.dtype.kind != "c" else None)
        native = np.ascontiguousarray(expected).astype(expected.dtype.newbyteorder("<"))
        hashes += [shell.connect().execute("SELECT npy_hash(?)", (native.tobytes(),)).fetchone()[0]] * 2
        assert f"({stats[0]}, " in lines[len(hashes) - 1]
    assert [json.loads(line.rsplit("[", 1)[1].strip("[](),").replace("'", '"').replace(",", "")) for line in lines[:-1]] == hashes
    assert "777777" in lines[-1] and "int32" in lines[-1]


def test_what_a_view_refuses(db, folder):
    """With the words of the function, whatever it is a view of."""
    write_all(np.arange(20.0).reshape(10, 2), 3)
    write("one.npy", npy_bytes(np.arange(20.0).reshape(10, 2)))
    of_file = "(SELECT array FROM npy_file('one.npy'))"
    for view in ["npy_slice({}, '1:2:0')", "npy_slice({}, '9, 9')", "npy_slice({}, x'00')", "npy_reshape({}, '[3, 7]')", "npy_reshape({}, 'x')", "npy_astype({}, 'S3')", "npy_astype({}, 'f3')", "npy_astype({}, 5)"]:
        messages = [error_of(db, f"SELECT {view.format(of)}") for of in (CONCAT, CALC, of_file)]
        assert len({message.rsplit(": ", 1)[1] for message in messages}) == 1, messages
    assert db.execute(f"SELECT npy_slice({CONCAT}, NULL), npy_reshape({CONCAT}, NULL), npy_astype({CONCAT}, NULL)").fetchone() == (None, None, None)


def test_texts_and_records_are_converted_at_once(db, folder):
    """Only the byte order can change, and their items may be longer than a block."""
    for array in [np.array(["ä", "b", "c"]), np.array([(1, 2.5), (3, 4.5)], [("a", "<i2"), ("b", "<f8")])]:
        for old in os.listdir("."):
            os.remove(old)
        write_all(array, 1)
        big = str(array.dtype.newbyteorder(">").descr if array.dtype.names else array.dtype.newbyteorder(">").str)
        assert db.execute("SELECT npy_json(npy_astype(npy_concat('x-*.npy'), ?))", (big,)).fetchone() == db.execute("SELECT npy_json(npy_copy(npy_concat('x-*.npy')))").fetchone()
        assert not db.execute("SELECT substr(npy_astype(npy_concat('x-*.npy'), ?), 1, 6) != x'934e554d5059'", (big,)).fetchone()[0]
    write_parts([np.array([b"x" * 9000, b"y"]), np.array([b"z" * 9000])], "long-{}.npy")
    assert db.execute("SELECT npy_hash(npy_data(npy_slice(npy_concat('long-*.npy'), '::-1'))) = npy_hash(npy_data(npy_slice(npy_copy(npy_concat('long-*.npy')), '::-1')))").fetchone() == (1,)


def test_a_file_that_changed_is_an_error(db, folder):
    write_all(np.arange(20.0), 3)
    (handle,) = db.execute(f"SELECT npy_slice({CONCAT}, '::2')").fetchone()
    assert db.execute("SELECT npy_sum(?)", (handle,)).fetchone() == (90.0,)
    write("x-001.npy", npy_bytes(np.arange(30.0)))
    assert "changed" in error_of(db, "SELECT npy_sum(?)", handle)


def test_views_nest_as_deep_as_others(db, folder):
    write_all(np.arange(40.0), 3)
    call = CONCAT
    for _ in range(15):
        call = f"npy_slice({call}, '1:')"
    assert db.execute(f"SELECT npy_sum({call})").fetchone() == (float(sum(range(15, 40))),)
    assert "16 deep" in error_of(db, f"SELECT npy_slice({call}, '1:')")


GAPS = {
    "a division by 0": ("npy_calc('6 // a', {})", lambda a: 6 // a, "divi"),
    "a value that does not fit": ("npy_astype(npy_calc('a * 100', {}), 'i1')", lambda a: a * 100, "int8"),
    "in a slice": ("npy_slice(npy_calc('6 // a', {}), ':-1')", lambda a: 6 // a[:-1], "divi"),
    "in a slice with a step": ("npy_slice(npy_calc('6 // a', {}), '::2')", lambda a: 6 // a[::2], "divi"),
    "in a concatenation": ("npy_concat(npy_calc('6 // a', {}))", lambda a: 6 // a, "divi"),
}


@pytest.mark.parametrize("nelem", [7, 5000, 400_000])
@pytest.mark.parametrize("gap", GAPS)
def test_items_before_one_that_has_no_value_are_read(db, folder, gap, nelem):
    """And those after it by lookups, however many are read or held at a time."""
    call, compute, words = GAPS[gap]
    array = np.ones(nelem, "i4")
    at = nelem - 3 if nelem > 7 else 4
    at -= at % 2
    array[at] = 0 if "6" in call else 9
    write("x.npy", npy_bytes(array))
    with np.errstate(all="ignore"):
        expected = compute(array)
    handle = call.format("(SELECT array FROM npy_file('x.npy'))")
    step = 2 if "::2" in call else 1
    first = at // step
    cursor = db.execute(f"SELECT value FROM npy_rows({handle})")
    got = [cursor.fetchone()[0] for _ in range(first - 1)]  # Python's cursor is always one row ahead
    assert got == expected[: first - 1].tolist()
    with pytest.raises(sqlite3.Error, match=words):
        cursor.fetchall()
    assert db.execute(f"SELECT value FROM npy_rows({handle}) LIMIT 1").fetchall() == [(int(expected[0]),)]
    (handle_bytes,) = db.execute(f"SELECT {handle}").fetchone()
    for row in [*range(max(first - 12, 0), first), *range(first + 1, len(expected))]:
        assert db.execute("SELECT npy_get(?, ?)", (handle_bytes, row)).fetchone() == (int(expected[row]),)
    wanted = [row for row in (0, 1, first - 1, first + 1) * 9 if row < len(expected)]
    joined = db.execute("SELECT r.value, v.value FROM json_each(?) AS r JOIN npy_rows(?) AS v ON v.row = r.value", (json.dumps(wanted), handle_bytes)).fetchall()
    assert joined == [(row, int(expected[row])) for row in wanted]
    assert words in error_of(db, "SELECT npy_get(?, ?)", handle_bytes, first)
    assert words in error_of(db, "SELECT npy_sum(?)", handle_bytes)
