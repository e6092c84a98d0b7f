"""The round trips of docs/cookbook.md on random data, against NumPy doing the same."""

import json
import os
import sqlite3

import numpy as np
import pytest

import shell
from arrays import npy_bytes, seeded_generator, ten_bytes
from written import only


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def run(db, script):
    db.executescript(script)


def some(rng, n):
    """A random choice of the numbers below n, in order."""
    return np.flatnonzero(rng.random(n) < rng.random())


# --- rows --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", ">f8", "uint8", "float16"])
def test_a_filtered_copy_of_a_dataset(connect, folder, dtype):
    rng, db = seeded_generator(), connect()
    n, k = 5000, int(rng.integers(1, 40))
    x, y = (rng.standard_normal((n, k)) * 50).clip(0, 255).astype(dtype), rng.integers(0, 10, n)
    order = "F" if rng.random() < 0.3 else "C"
    np.save("X.npy", np.asarray(x, order=order))
    np.save("y.npy", y)
    chosen = "SELECT {} FROM npy_rows('X.npy') AS x JOIN npy_rows('y.npy') AS y USING (row) WHERE y.value = 7 ORDER BY row"
    run(
        db,
        f"""CREATE VIRTUAL TABLE temp.sevens USING npy('sevens.npy', mode='w+', dtype='{dtype}', shape='[-1, {k}]');
            INSERT INTO sevens {chosen.format("x.data")};""",
    )
    assert contents("sevens.npy") == npy_bytes(np.ascontiguousarray(x[y == 7]))
    (stacked,) = db.execute(f"SELECT npy_stack(data, '{dtype}') FROM ({chosen.format('x.data')})").fetchone()
    assert stacked == contents("sevens.npy")


def test_a_filtered_copy_by_an_ordinary_table(connect, folder):
    rng, db = seeded_generator(), connect()
    x = rng.standard_normal((3000, 2, 5)).astype("f4")
    np.save("X.npy", x)
    keep = some(rng, len(x))
    db.execute("CREATE TABLE keep(id INTEGER PRIMARY KEY)")
    db.executemany("INSERT INTO keep VALUES (?)", [(int(i),) for i in keep])
    run(
        db,
        """CREATE VIRTUAL TABLE temp.kept USING npy('kept.npy', mode='w+', dtype='f4', shape='[-1, 2, 5]');
           INSERT INTO kept SELECT r.data FROM keep JOIN npy_rows('X.npy') AS r ON r.row = keep.id ORDER BY keep.id;""",
    )
    assert contents("kept.npy") == npy_bytes(x[keep])


def test_train_and_validation_split(connect, folder):
    rng, db = seeded_generator(), connect()
    n = 4000
    x, y = rng.standard_normal((n, 8)).astype("f4"), rng.integers(0, 5, n)
    np.save("X.npy", x)
    np.save("y.npy", y)
    tables = [(letter, part) for letter in "Xy" for part in ("train", "valid")]
    arguments = {"X": "dtype='float32', shape='[-1, 8]'", "y": "dtype='int64'"}
    run(
        db,
        """CREATE TEMP TABLE split AS SELECT row, (row * 2654435761) % 4294967296 >= 0.7 * 4294967296 AS is_validation
             FROM npy_rows('y.npy');"""
        + "".join(
            f"CREATE VIRTUAL TABLE temp.{letter}_{part} USING npy('{letter}_{part}.npy', mode='w+', {arguments[letter]});"
            for letter, part in tables
        ),
    )
    fill = "INSERT INTO {0}_{1} SELECT {2} FROM npy_rows('{0}.npy') JOIN split USING (row) WHERE is_validation = {3} ORDER BY row"
    db.execute("BEGIN")
    for letter, part in tables:
        db.execute(fill.format(letter, part, "data" if letter == "X" else "value", int(part == "valid")))
    only(".", "X.npy", "y.npy", pending=[f"{letter}_{part}.npy" for letter, part in tables])
    db.execute("COMMIT")
    is_validation = np.arange(n, dtype="u8") * 2654435761 % 4294967296 >= 0.7 * 4294967296
    assert 0.25 < is_validation.mean() < 0.35
    for letter, array in (("X", x), ("y", y)):
        assert contents(f"{letter}_train.npy") == npy_bytes(array[~is_validation])
        assert contents(f"{letter}_valid.npy") == npy_bytes(array[is_validation])


def test_a_split_that_fails_leaves_the_old_files(connect, folder):
    db = connect()
    for name in "ab":
        np.save(f"{name}.npy", np.arange(3))
        db.execute(f"CREATE VIRTUAL TABLE temp.{name} USING npy('{name}.npy', mode='w+', dtype='u1')")
    db.execute("BEGIN")
    db.execute("INSERT INTO a VALUES (1)")
    with pytest.raises(sqlite3.IntegrityError, match="row 1: column 'value': 256 does not fit uint8"):
        db.execute("INSERT OR ROLLBACK INTO b VALUES (255), (256)")
    assert not db.in_transaction
    assert contents("a.npy") == contents("b.npy") == npy_bytes(np.arange(3))


def test_an_ordinary_table_as_a_structured_array(connect, folder):
    rng, db = seeded_generator(), connect()
    n = 2000
    dtype = np.dtype([("id", "<i4"), ("started", "<M8[s]"), ("optimizer", "<U8"), ("loss", "<f4")])
    array = np.zeros(n, dtype)
    array["id"] = rng.permutation(n)
    array["started"] = rng.integers(-(10**9), 2 * 10**9, n)
    array["optimizer"] = rng.choice(["sgd", "adam", "", "žluť"], n)
    array["loss"] = np.where(rng.random(n) < 0.1, np.nan, rng.standard_normal(n))
    db.execute("CREATE TABLE trials(id INTEGER, started TEXT, optimizer TEXT, loss REAL)")
    text = lambda date: str(date).replace("T", " ") if date < np.datetime64("2000") else str(date)
    rows = [(int(i), text(date), str(name), None if np.isnan(loss) else float(loss)) for i, date, name, loss in array]
    db.executemany("INSERT INTO trials VALUES (?, ?, ?, ?)", rows)
    descr = json.dumps(dtype.descr)
    array.sort(order="id")
    (made,) = db.execute(
        "SELECT npy_records(?, id, started, optimizer, loss) FROM (SELECT * FROM trials ORDER BY id)", (descr,)
    ).fetchone()
    assert made == npy_bytes(array)
    db.execute(f"CREATE VIRTUAL TABLE temp.records USING npy('records.npy', mode='w+', dtype='{descr}')")
    db.execute("INSERT INTO records SELECT * FROM trials ORDER BY id")
    assert contents("records.npy") == npy_bytes(array)
    db.execute("CREATE VIRTUAL TABLE temp.saved USING npy('records.npy')")
    back = db.execute("SELECT id, optimizer, loss FROM saved").fetchall()
    assert back == [(i, name, loss) for i, _, name, loss in sorted(rows)]
    same = "SELECT count(*) FROM saved JOIN trials USING (id) WHERE datetime(saved.started) = datetime(trials.started)"
    assert db.execute(same).fetchone() == (n,)


def test_shards_as_one_array(connect, folder):
    rng, db = seeded_generator(), connect()
    shards = [rng.integers(-100, 100, (int(rng.integers(0, 300)), 3)).astype("<i2") for _ in range(12)]
    for i, shard in enumerate(shards):
        np.save(f"shard-{i:06}.npy", shard)
    run(
        db,
        """CREATE VIRTUAL TABLE temp.whole USING npy('whole.npy', mode='w+', dtype='<i2', shape='[-1, 3]');
           INSERT INTO whole SELECT data FROM npy_rows('shard-{000000..000011}.npy');""",
    )
    assert contents("whole.npy") == npy_bytes(np.concatenate(shards))


def test_a_log_that_grows_day_by_day(folder):
    """Each day is another connection, and some of them go wrong."""
    rng = seeded_generator()
    dtype = np.dtype([("day", "<M8[D]"), ("loss", "<f8")])
    want, first = [], np.datetime64("2025-12-25")
    for day in range(40):
        db = shell.connect()
        rows = [(first + day, float(loss)) for loss in rng.standard_normal(int(rng.integers(1, 50)))]
        declared = f", dtype='{json.dumps(dtype.descr)}'" if day == 0 else ""
        db.execute(f"CREATE VIRTUAL TABLE temp.log USING npy('log.npy', mode='a'{declared})")
        db.execute("BEGIN")
        db.executemany("INSERT INTO log VALUES (?, ?)", [(str(date), loss) for date, loss in rows])
        is_kept = day == 0 or rng.random() < 0.7
        if is_kept:
            db.execute("COMMIT")
            want += rows
        elif rng.random() < 0.5:
            db.execute("ROLLBACK")
        db.close()
        assert contents("log.npy") == npy_bytes(np.array(want, dtype)), day
    assert os.listdir() == ["log.npy"]


# --- archives ----------------------------------------------------------------------------------------------


def random_arrays(rng, dtypes):
    """Arrays by name, some of them in Fortran order."""
    arrays = {}
    for i, dtype in enumerate(dtypes):
        shape = tuple(int(n) for n in rng.integers(1, 60, int(rng.integers(0, 4))))
        array = (rng.standard_normal(shape) * 20).astype(dtype) if shape else np.array(i).astype(dtype)
        arrays[f"a{i}"] = np.asfortranarray(array) if rng.random() < 0.3 else array
    return arrays


def members(path):
    """The .npy files in an .npz, as NumPy's own writer would have made them again."""
    with np.load(path) as archive:
        return {name: npy_bytes(archive[name]) for name in archive.files}


def test_a_folder_of_npy_as_one_npz(connect, folder):
    rng, db = seeded_generator(), connect()
    arrays = random_arrays(rng, ["f4", "f8", ">i4", "u1", "<U5", "M8[s]", "?", "c8"] * 3)
    os.mkdir("parts")
    for name, array in arrays.items():
        np.save(f"parts/{name}.npy", array)
    want = {name: npy_bytes(array) for name, array in arrays.items()}
    source = "FROM npy_meta('parts/*.npy') AS m JOIN npy_file(m.path) AS f"
    for method in ("stored", "deflate", "deflate:1"):
        ((path, nbytes),) = db.execute(
            f"SELECT * FROM npy_write('value.npz', (SELECT npz_archive(m.stem, f.array, ?) {source}))", (method,)
        ).fetchall()
        assert (path, nbytes) == ("value.npz", os.stat("value.npz").st_size)
        run(
            db,
            f"""CREATE VIRTUAL TABLE temp.pack USING npy('table.npz', mode='w+', method='{method}');
                INSERT INTO pack SELECT m.stem, f.array {source};
                DROP TABLE pack;""",
        )
        assert contents("value.npz") == contents("table.npz")
        assert members("table.npz") == want
        with np.load("table.npz") as archive:
            assert archive.files == sorted(arrays)  # the order of the paths


def test_an_npz_deflated_in_its_own_place(connect, folder):
    rng, db = seeded_generator(), connect()
    arrays = random_arrays(rng, ["f4", "i8", ">u2"] * 4)
    arrays["long"] = np.zeros((2000, 50))
    np.savez("w.npz", **arrays)
    before, size = members("w.npz"), os.stat("w.npz").st_size
    run(
        db,
        """CREATE VIRTUAL TABLE temp.deflate USING npy('w.npz', mode='w+', method='deflate:9');
           INSERT INTO deflate SELECT name, array FROM npy_file('w.npz');
           DROP TABLE deflate;""",
    )
    assert members("w.npz") == before and os.stat("w.npz").st_size < size / 2
    np.savez_compressed("numpys.npz", **arrays)
    statuses = db.execute("SELECT DISTINCT status FROM npy_compare('w.npz', 'numpys.npz')").fetchall()
    assert statuses == [("equal",)]
    run(
        db,
        """CREATE VIRTUAL TABLE temp.store USING npy('w.npz', mode='w+');
           INSERT INTO store SELECT name, array FROM npy_file('w.npz');""",
    )
    assert members("w.npz") == before
    assert db.execute("SELECT DISTINCT method FROM npz_members('w.npz')").fetchall() == [("stored",)]
    assert sorted(os.listdir()) == ["numpys.npz", "w.npz"]


def test_a_ten_of_an_npz(connect, folder):
    rng, db = seeded_generator(), connect()
    arrays = random_arrays(rng, ["f2", "f4", ">f8", "i1", ">i4", "u4", "u8", "?", "<f4"])
    renamed = {f"hidden.{name}": array for name, array in arrays.items()}
    np.savez("w.npz", **renamed)
    take = "npy_astype(array, iif(npy_dtype(array) = 'bool', 'u1', npy_dtype(array)))"
    query = f"SELECT {take} AS array, replace(name, 'hidden', 'h') AS name FROM npy_file('w.npz')"
    little = [
        np.ascontiguousarray(a).astype("u1" if a.dtype == bool else a.dtype.newbyteorder("<")).reshape(a.shape)
        for a in renamed.values()
    ]
    want = ten_bytes(little, infos=[name.replace("hidden", "h") for name in renamed])
    assert db.execute(f"SELECT ten_archive(array, name) FROM ({query})").fetchone() == (want,)
    run(
        db,
        f"""CREATE VIRTUAL TABLE temp.out USING npy('w.ten', mode='w+');
            INSERT INTO out(name, array) SELECT name, array FROM ({query});""",
    )
    assert contents("w.ten") == want
    with pytest.raises(sqlite3.Error, match="row 0: the name 'hidden.a0' has 9 bytes"):
        db.execute("SELECT ten_archive(array, name) FROM npy_file('w.npz')").fetchone()


# --- items -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", "CF")
def test_float64_embeddings_as_float32(connect, folder, order):
    rng, db = seeded_generator(), connect()
    wide = np.ldexp(rng.standard_normal((2000, 64)), rng.integers(-160, 120, (2000, 64)))  # subnormals of float32, too
    wide[0, :4] = [np.nan, np.inf, -np.inf, -0.0]
    np.save("E.npy", np.asarray(wide, order=order))
    with np.errstate(under="ignore"):
        want = wide.astype("f4")
    db.execute("SELECT * FROM npy_write('E4.npy', (SELECT npy_astype(array, 'float32') FROM npy_file('E.npy')))").fetchall()
    assert contents("E4.npy") == npy_bytes(np.asarray(want, order=order))
    for i, column in enumerate(["data FROM npy_rows('E.npy') WHERE astype = '<f4'", "npy_slice(f.array, row) FROM npy_rows('E.npy') AS r, npy_file('E.npy') AS f"]):
        run(
            db,
            f"""CREATE VIRTUAL TABLE temp.narrow{i} USING npy('rows.npy', mode='w+', dtype='float32', shape='[-1, 64]');
                INSERT INTO narrow{i} SELECT {column};""",
        )
        assert contents("rows.npy") == npy_bytes(want)
    # JSON has no bits of a NaN: another one is as good
    run(
        db,
        """CREATE VIRTUAL TABLE temp.by_json USING npy('json.npy', mode='w+', dtype='float32', shape='[-1, 64]');
           INSERT INTO by_json SELECT value FROM npy_rows('E.npy');""",
    )
    np.testing.assert_array_equal(np.load("json.npy").view("u4")[1:], want.view("u4")[1:])
    np.testing.assert_array_equal(np.load("json.npy")[0], want[0])
    wide[7, 5] = 1e39
    np.save("E.npy", wide)
    with pytest.raises(sqlite3.Error, match=f"item {7 * 64 + 5} is 1e\\+39, which float32 cannot hold"):
        db.execute("SELECT npy_astype(array, 'float32') FROM npy_file('E.npy')").fetchone()


def test_a_copy_without_nan(connect, folder):
    rng, db = seeded_generator(), connect()
    gaps = rng.standard_normal((1500, 6)).astype("f4")
    gaps[rng.random(gaps.shape) < 0.05] = np.nan
    np.save("gaps.npy", gaps)
    (filled,) = db.execute(
        """SELECT npy_array(v, 'float32', (SELECT npy_shape(array) FROM npy_file('gaps.npy')))
             FROM (SELECT coalesce(value, 0) AS v FROM npy_elements('gaps.npy') ORDER BY idx)"""
    ).fetchone()
    assert filled == npy_bytes(np.nan_to_num(gaps))
    run(
        db,
        """CREATE VIRTUAL TABLE temp.complete USING npy('complete.npy', mode='w+', dtype='float32', shape='[-1, 6]');
           INSERT INTO complete SELECT data FROM npy_rows('gaps.npy') AS r
            WHERE NOT EXISTS (SELECT 1 FROM json_each(r.value) AS item WHERE item.value IS NULL);""",
    )
    assert contents("complete.npy") == npy_bytes(gaps[~np.isnan(gaps).any(axis=1)])
    # with the mean of its column instead
    (means,) = db.execute(
        """SELECT npy_array(v, 'float64', '[-1, 6]')
             FROM (SELECT coalesce(e.value, s.mean) AS v
                     FROM npy_elements('gaps.npy') AS e JOIN npy_stats('gaps.npy', '', '', 0) AS s ON s.at = e.i1
                    ORDER BY e.idx)"""
    ).fetchone()
    wide = gaps.astype("f8")
    np.testing.assert_allclose(
        np.frombuffer(means[128:]).reshape(gaps.shape), np.where(np.isnan(wide), np.nanmean(wide, axis=0), wide), rtol=1e-12
    )


def test_json_to_an_array_and_back(connect, folder):
    rng, db = seeded_generator(), connect()
    for dtype in ("f4", "f8", "i8", "u1", "?"):
        array = (rng.standard_normal((17, 5, 3)) * 100).clip(0, 200).astype(dtype)
        text = json.dumps(array.tolist())
        made, back = db.execute("SELECT a, npy_json(a) FROM (SELECT npy_from_json(?, ?) AS a)", (text, dtype)).fetchone()
        assert made == npy_bytes(array)
        assert json.loads(back) == json.loads(text) or dtype == "f4"
        (again,) = db.execute("SELECT npy_from_json(?, ?)", (back, dtype)).fetchone()
        assert again == made
    db.execute("CREATE TABLE answers(id INTEGER PRIMARY KEY, embedding BLOB CHECK (npy_valid(embedding)))")
    array = rng.standard_normal((300, 16)).astype("f4")
    db.executemany("INSERT INTO answers(embedding) VALUES (npy_from_json(?, 'f4'))", [(json.dumps(row.tolist()),) for row in array])
    (stacked,) = db.execute("SELECT npy_stack(embedding) FROM (SELECT embedding FROM answers ORDER BY id)").fetchone()
    assert stacked == npy_bytes(array)


def test_the_order_of_an_aggregate(connect):
    rng, db = seeded_generator(), connect()
    epochs, losses = rng.permutation(500), rng.standard_normal(500)
    db.execute("CREATE TABLE losses(run, epoch, loss)")
    db.executemany("INSERT INTO losses VALUES (?, ?, ?)", [(int(e) % 7, int(e), float(v)) for e, v in zip(epochs, losses)])
    in_order = losses[np.argsort(epochs)]
    rows = db.execute("SELECT run, npy_array(loss) FROM (SELECT run, loss FROM losses ORDER BY run, epoch) GROUP BY run").fetchall()
    assert rows == [(r, npy_bytes(in_order[r::7])) for r in range(7)]
    if sqlite3.sqlite_version_info >= (3, 44):
        rows = db.execute("SELECT run, npy_array(loss ORDER BY epoch DESC) FROM losses GROUP BY run").fetchall()
        assert rows == [(r, npy_bytes(in_order[r::7][::-1])) for r in range(7)]
