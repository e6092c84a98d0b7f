"""The ready queries of sql/ on random data, against NumPy and zipfile. Their output for the sample files is stored by
test_sql.py."""

import collections
import glob
import json
import math
import os
import pickle
import re
import sqlite3
import tarfile
import zipfile

import numpy as np
import pytest

import tars
from arrays import npy_bytes, npz_bytes, seeded_generator, ten_bytes
from gguf_files import gguf
from ready_queries import LIBRARY, ask, assert_nearest, lab, save, statements  # noqa: F401 (lab is a fixture)
from safetensors_files import safetensors_bytes
from torch_files import Global, pickled, tensor, torch_legacy, torch_zip

def number(text):
    return int(str(text).replace(",", ""))


def test_every_file_says_what_it_answers():
    names = [os.path.basename(path)[:-4] for path in glob.glob(os.path.join(LIBRARY, "*.sql"))]
    assert len(names) == 27
    for name in names:
        with open(os.path.join(LIBRARY, name + ".sql")) as file:
            text = file.read()
        assert re.match(r"-- [A-Z].*[.:]\n", text.split("--\n")[0]) or name == "demo"
        assert name == "demo" or f".read sql/{name}.sql" in text
        # A parameter is one that the comment tells of.
        for parameter in set(re.findall(r"coalesce\((:\w+)", text)):
            assert len(re.findall(rf"{parameter}\b", text.split(";")[0])) > 0, (name, parameter)


def parameters_of(name):
    """{parameter: its default, as it stands in the SQL of a file, or None}."""
    with open(os.path.join(LIBRARY, name + ".sql")) as file:
        text = re.sub(r"--.*", "", file.read())
    defaults = dict.fromkeys(re.findall(r":[a-z_]+\b", re.sub(r"'[^']*'", "", text)))
    for parameter, default in re.findall(r"coalesce\((:[a-z_]+), ('[^']*'|\d+)\)", text):
        assert defaults[parameter] in (None, default), (name, parameter)
        defaults[parameter] = default
    return defaults


def test_the_table_of_parameters():
    """README.md has the parameters of each query with their defaults; one that is not a literal is told in words."""
    with open(os.path.join(LIBRARY, "README.md")) as file:
        (table,) = re.findall(r"^\| query \| parameter \|.*\n.*\n((?:\|.*\n)+)", file.read(), re.M)
    told, query = collections.defaultdict(dict), None
    for line in table.splitlines():
        name, parameters, default, meaning = (cell.strip() for cell in line.strip("|").split("|"))
        query = name or query
        parameters = re.findall(r"`([^`]+)`", parameters)
        defaults = re.findall(r"`([^`]+)`", default) or [None] * len(parameters)
        assert parameters and meaning and len(parameters) == len(defaults)
        told[query].update(zip(parameters, defaults))
    names = [os.path.basename(path)[:-4] for path in glob.glob(os.path.join(LIBRARY, "*.sql"))]
    assert dict(told) == {name: parameters_of(name) for name in names if parameters_of(name)}


def many_arrays(path, n, array):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    np.savez(path, **{f"layer{i:05}": array(i) for i in range(n)})


def make_growing(n):
    """Files that the queries below read: 20 n rows, and n arrays in each archive and folder."""
    rng = seeded_generator()
    np.save("labels.npy", rng.integers(0, 9, 20 * n))
    np.save("ids.npy", np.arange(20 * n))
    np.save("names.npy", np.array(["train", "valid"])[rng.integers(0, 2, 20 * n)])
    order = rng.permutation(20 * n)
    np.savez("numbers.npz", train=order[: 10 * n], valid=order[10 * n :])
    np.savez("reals.npz", train=order[: 10 * n] + 0.0, gone=order[10 * n :] + 0.5)
    np.save("matrix.npy", rng.normal(size=(20 * n, 3)))
    np.where(rng.random(20 * n) < 0.1, 50256, rng.integers(0, 500, 20 * n)).astype("<u2").tofile("tokens.bin")
    many_arrays("steps/1/m.npz", n, lambda i: np.array([i, np.nan, i + 1]))
    many_arrays("steps/2/m.npz", n, lambda i: np.array([i, 2, 3.0]))
    many_arrays("same/m.npz", n, lambda i: np.array([i % 7, 2]))
    many_arrays("classes/m.npz", n, lambda i: np.arange(9) % 3)
    for i in range(n):
        save(f"parts/{i}.npy", np.arange(3))
        save(f"runs/r{i}/loss.npy", np.array([1.0, i]))
        save(f"runs/r{i}/confusion.npy", np.eye(2))
        np.savez(f"runs/r{i}/weights.npz", w=np.zeros(2))
        os.makedirs("pickles", exist_ok=True)
        with open(f"pickles/{i}.pkl", "wb") as file:
            file.write(pickled([Global("m", f"n{i}"), Global("m", "n"), Global("numpy", "dtype")]))
    # Some extensions, shapes and classes are those of one sample alone, and every third sample lacks something.
    save_shards("wds", 10, lambda shard: {
        f"{shard}-{i:05}": {
            "x.npy": npy_bytes(np.zeros(i % 50)), "cls": str(i if i % 7 == 0 else i % 5), f"{i if i % 9 == 0 else 0}.txt": "t",
            **({} if i % 3 == 0 else {"y.npz": npz_bytes({"a": np.zeros(2), f"b{i if i % 8 == 0 else 0}": np.zeros((1, 2))})}),
        }
        for i in range(n // 5)
    })  # fmt: skip


def save_shards(folder, n, samples_of, **options):
    """n shards of {key: {extension: bytes or text}}; returns {path: samples}."""
    os.makedirs(folder, exist_ok=True)
    saved = {f"{folder}/s-{shard:06}.tar": samples_of(shard) for shard in range(n)}
    for path, samples in saved.items():
        members = [(f"{key}.{ext}", data.encode() if isinstance(data, str) else data) for key, parts in samples.items() for ext, data in parts.items()]
        with open(path, "wb") as file:
            file.write(tars.tarfile_tar(members, **options))
    return saved


GROWING = [
    ("checkpoint_diff", {"a": "steps/1/m.npz", "b": "steps/2/m.npz"}),
    ("checkpoint_survey", {"source": "steps/*/*"}),
    ("class_balance", {"labels": "labels.npy", "splits": "names.npy"}),
    ("class_balance", {"labels": "labels.npy", "splits": "numbers.npz"}),
    ("class_balance", {"labels": "ids.npy", "splits": "reals.npz"}),
    ("dataset_card", {"source": "{steps,classes,runs}/**"}),
    ("distribution", {"source": "matrix.npy"}),
    ("drift", {"source": "steps/*/*"}),
    ("duplicates", {"source": "same/*"}),
    ("experiments", {}),
    ("merged_statistics", {"shards": "steps/2/m.npz"}),
    ("merged_statistics", {"shards": "parts/*"}),
    ("nan_hunt", {"source": "steps/*/*"}),
    ("npz_audit", {"source": "steps/*/*"}),
    ("pack", {"source": "parts/*", "target": "packed.npz"}),
    ("sample", {"labels": "labels.npy", "n": 30}),
    ("shards_classes", {"source": "wds/*"}),
    ("shards_dali", {"source": "wds/s-000003.tar"}),
    ("shards_energon", {"source": "wds/*"}),
    ("shards_index", {"source": "wds/*", "key": "3-00001", "ext": "x.npy"}),
    ("shards_lacking", {"source": "wds/*", "usual": 30}),
    ("shards_survey", {"source": "wds/*"}),
    ("shards_wids", {"source": "wds/*"}),
    ("siblings", {"source": "{steps,runs}/**"}),
    ("survey", {"source": "{steps,runs}/**"}),
    ("tokens", {"source": "tokens.bin"}),
    ("unsafe_globals", {"source": "pickles/*"}),
]


def vm_steps(db, name, parameters):
    """How many instructions of SQLite's machine the statements of a query take, in thousands. A statement's are counted
    over all of its runs, so several tell more than one; in steps that are longer than the statement by which the extension
    asks now and then whether it is to stop."""
    count, nruns, nsteps = 0, 5, 4000

    def tick():
        nonlocal count
        count += 1

    db.set_progress_handler(tick, nsteps)
    for _ in range(nruns):
        for table in ("samples", "sample_parts"):
            db.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in statements(name):
            if "temp.log;" not in statement:  # the shell's .import makes it anew
                db.execute(statement, collections.defaultdict(lambda: None, parameters)).fetchall()
    db.set_progress_handler(None, 0)
    return count * nsteps / nruns / 1000


def test_no_query_is_quadratic(lab, tmp_path, monkeypatch):
    """Four times the rows, arrays and files take about four times the steps. (What grows quadratically takes up to 16.)"""
    steps = []
    names = {os.path.basename(path)[:-4] for path in glob.glob(os.path.join(LIBRARY, "*.sql"))}
    assert {name for name, _ in GROWING} == names - {"demo", "nearest", "nearest_vec"}  # without joins of their own, and of another extension
    for n in (100, 400):
        os.mkdir(tmp_path / str(n))
        monkeypatch.chdir(tmp_path / str(n))
        make_growing(n)
        lab.execute("DROP TABLE IF EXISTS temp.log")
        lab.execute("CREATE TEMP TABLE log(run TEXT, optimizer TEXT, learning_rate TEXT, width TEXT)")
        lab.executemany("INSERT INTO log VALUES (?, 'sgd', '0.1', '8')", [[f"r{i}"] for i in range(n)])
        steps.append([vm_steps(lab, name, parameters) for name, parameters in GROWING])
    grown = {(name, *parameters.values()): few and many / few for (name, parameters), few, many in zip(GROWING, *steps)}
    print(steps, grown)
    assert {case: ratio for case, ratio in grown.items() if not 2 < ratio < 6} == {}


def cut_short(path):
    """It was counted as if all of it were there."""
    save(path, np.zeros((1000, 3), "f4"))
    os.truncate(path, 500)


def test_survey(lab):
    rng = seeded_generator()
    kinds = collections.defaultdict(list)
    for i in range(60):
        dtype = rng.choice(["f4", "f8", "u1"])
        shape = (int(rng.integers(1, 9)), *[(), (4,), (4, 2)][rng.integers(3)])
        array = np.zeros(shape, dtype)
        save(f"data/{i % 7}/{i}.npy", array)
        kinds[array.dtype.name, array.shape[1:]].append(array)
    save("data/big_endian.npy", np.zeros(3, ">f8"))
    save("data/fortran.npy", np.zeros((3, 2), order="F"))
    save("data/none.npy", np.zeros((0, 9), "i2"))
    save("data/objects.npy", np.array([None]), allow_pickle=True)
    with open("data/broken.npy", "wb") as file:
        file.write(b"\x93NUMPY\1\0")
    cut_short("data/cut.npy")
    total, found, odd = ask(lab, "survey", source="data/**/*.npy")
    assert total[0]["files"] == 66 and total[0]["arrays"] == 64 and total[0]["errors"] == 2
    sound = set(glob.glob("data/**/*.npy", recursive=True)) - {"data/broken.npy", "data/cut.npy"}
    assert number(total[0]["bytes"]) == sum(np.load(path, allow_pickle=True).nbytes for path in sound)
    assert number(total[0]["disk"]) == sum(os.path.getsize(path) for path in glob.glob("data/**/*.npy", recursive=True))
    for row in found:
        inner = tuple(int(n) for n in re.findall(r"\d+", row["shape"]))
        if (row["dtype"], inner) in kinds and row["example"][5].isdigit() and inner != (2,):
            arrays = kinds[row["dtype"], inner]
            extra = [np.zeros(3)] if (row["dtype"], inner) == ("float64", ()) else []
            assert (row["arrays"], row["rows"]) == (len(arrays + extra), sum(len(a) for a in arrays + extra))
            assert number(row["bytes"]) == sum(a.nbytes for a in arrays + extra)
    assert len(found) == len({*kinds, ("float64", ()), ("float64", (2,)), ("int16", (9,)), ("object", ())})
    assert [number(row["bytes"]) for row in found] == sorted((number(row["bytes"]) for row in found), reverse=True)
    assert [row["path"][5:] for row in odd] == ["broken.npy", "cut.npy", "objects.npy", "none.npy", "big_endian.npy", "fortran.npy"]


def test_siblings(lab):
    rng = seeded_generator()
    odd = {int(i): kind for i, kind in zip(rng.choice(40, 6, replace=False), ["dtype", "shape", "ndim"] * 2)}
    for i in range(40):
        kind = odd.get(i)
        shape = (8, 6) if kind == "shape" else (8,) if kind == "ndim" else (int(rng.integers(1, 100)), 5)
        save(f"run{i:02}/x.npy", np.zeros(shape, "f8" if kind == "dtype" else "f4"))
        save(f"run{i:02}/y.npy", np.zeros(9 if i == 11 else 7))
        np.savez(f"run{i:02}/z.npz", step=np.array(i), w=np.zeros(3 + i))
    seen, found = ask(lab, "siblings", source="run*/*")
    want = {(f"run{i:02}/x.npy", "dtype" if kind == "dtype" else "shape") for i, kind in odd.items()}
    assert {(row["path"], row["differs_in"]) for row in found} == want | {("run11/y.npy", "rows")}
    assert {row["siblings"] for row in found} == {40} and seen == [{"files": 120, "arrays": 160, "errors": 0}]
    assert all(row["usual_dtype"] == "float32" for row in found if row["path"].endswith("x.npy"))


def test_duplicates(lab):
    rng = seeded_generator()
    distinct = [rng.integers(0, 2, (3, 2)).astype(dtype) for dtype in ("i4", "f8", "u1") for _ in range(6)]
    held = {}  # (path, name): array
    for i in range(60):
        array = distinct[rng.integers(len(distinct))]
        if i % 3 == 0:
            save(f"{i:02}.npy", np.asfortranarray(array.astype(array.dtype.newbyteorder(">"))))
            held[f"{i:02}.npy", ""] = array
        elif i % 3 == 1:
            np.savez_compressed(f"{i:02}.npz", a=array, empty=np.zeros(0, "i4"))
            held[f"{i:02}.npz", "a"] = array
        else:
            with open(f"{i:02}.ten", "wb") as file:
                file.write(ten_bytes([array], infos=["a"]))
            held[f"{i:02}.ten", "a"] = array
    points = np.array([(1, 2.5), (3, 4.5)], [("x", "i4"), ("y", "f4")])
    for name in ("s1.npy", "s2.npy"):
        save(name, points)
        held[name, ""] = points
    points["y"][1] = 4.25
    save("s3.npy", points)
    held["s3.npy", ""] = points.copy()
    held["s1.npy", ""] = held["s2.npy", ""] = np.load("s1.npy")
    first, want = {}, set()
    for place, array in sorted(held.items()):
        key = (array.dtype, array.shape, array.tobytes())
        if key in first:
            want.add((*first[key], *place))
        first.setdefault(key, place)
    seen, found = ask(lab, "duplicates", source="*")
    assert {(row["path"], row["name"], row["copy"], row["copy_name"]) for row in found} == want and len(found) == len(want)
    assert {row["status"] for row in found} == {"equal"}
    assert seen[0]["files"] == len({path for path, _ in held}) and seen[0]["errors"] == 0


def test_nan_hunt(lab):
    rng = seeded_generator()
    want = {}
    for step in range(8, 14):
        arrays = {
            "w": rng.normal(size=(20, 5)).astype("f4"),
            "z": rng.normal(size=12) + 1j * rng.normal(size=12),
            "n": np.arange(4),
            "s": np.zeros(9, [("a", "f4"), ("b", "i4")]),
        }
        for name, chance in (("w", 0.02), ("z", 0.1), ("s", 0.1)):
            target = arrays[name]["a"] if name == "s" else arrays[name]
            if rng.random() < 0.7:
                target[rng.random(target.shape) < chance] = np.nan
            if rng.random() < 0.5:
                target[rng.random(target.shape) < chance] = complex(0, np.inf) if name == "z" else -np.inf
            nans, infs = np.isnan(target), np.isinf(target)
            if nans.any() or infs.any():
                at = np.flatnonzero(nans.ravel() if nans.any() else infs.ravel())[0]
                field = "a" if name == "s" else None
                want[f"m/step_{step}.npz", name, field] = (int(nans.sum()), int(infs.sum()), target.size, int(at))
        os.makedirs("m", exist_ok=True)
        np.savez(f"m/step_{step}.npz", **arrays)
    seen, found = ask(lab, "nan_hunt", source="m/*.npz")
    got = {(row["path"], row["name"], row["field"]): (row["nans"], row["infs"], row["items"], row["at"]) for row in found}
    assert got == want and seen == [{"files": 6, "arrays": 24, "errors": 0}]
    firsts = {}
    for row in found:
        firsts.setdefault((row["name"], row["field"]), (row["path"], "first"))
    assert sorted((row["path"], row["turn"]) for row in found if row["turn"]) == sorted(firsts.values())
    paths = [row["path"] for row in found]
    assert paths == sorted(paths, key=lambda path: (len(path), path))


def test_nan_hunt_marks_the_first_of_a_series(lab):
    for step in (2, 9, 10):
        os.makedirs(f"c/{step}")
        np.savez(f"c/{step}/m.npz", w=np.array([np.nan if step > 2 else 0.0]))
    _, found = ask(lab, "nan_hunt", source="c/*/m.npz")
    assert [(row["path"], row["turn"]) for row in found] == [("c/9/m.npz", "first"), ("c/10/m.npz", "")]


def test_checkpoint_survey(lab):
    """Against sums over the arrays themselves; of a part that is missing and a name that is there twice it tells."""
    rng = np.random.default_rng(8)
    os.makedirs("m")
    parts = [{f"layers.{i}.w\"{j}": rng.integers(0, 9, (i + 1, 3)).astype(rng.choice(["f4", "f2"])) for i in range(4)} for j in range(2)]
    parts[1]["twice"] = parts[0]["twice"] = np.zeros(2, "i8")
    for j, arrays in enumerate(parts):
        with open(f"m/model-{j + 1:05}-of-00003.safetensors", "wb") as file:
            file.write(safetensors_bytes(arrays, {"part": str(j)}))
    every = [array for arrays in parts for array in arrays.values()]
    (total,), dtypes, layers, said, odd = ask(lab, "checkpoint_survey", source="m/*")
    assert total == {"files": 2, "arrays": 10, "parameters": str(sum(a.size for a in every)), "bytes": str(sum(a.nbytes for a in every))}
    assert {row["dtype"]: int(row["bytes"].replace(",", "")) for row in dtypes} == {
        name: sum(a.nbytes for a in every if a.dtype.name == name) for name in {a.dtype.name for a in every}
    }
    assert sum(row["arrays"] for row in layers) == 10 and {row["layer"] for row in layers} == {'layers.*.w"0', 'layers.*.w"1', "twice"}
    assert [(row["key"], row["value"]) for row in said] == [("part", "0"), ("part", "1")]
    assert [(row["name"], row["what"]) for row in odd] == [("twice", "is in 2 files"), (None, "2 of 3 parts are there")]


def test_unsafe_globals(lab):
    os.makedirs("m")
    unsafe = Global("os", "system")
    files = {
        "a.pkl": pickled([unsafe, unsafe]), "b.pt": torch_zip({"x": [unsafe, Global("a", "b.c")], "y": Global("numpy", "dtype")}, {}), "c.pkl": pickled(Global("a", "b"))[:-1], "d.txt": b"text",
    }  # fmt: skip
    for name, contents in files.items():
        with open(f"m/{name}", "wb") as file:
            file.write(contents)
    found, (unread,), (known,) = ask(lab, "unsafe_globals", source="m/*")
    assert [tuple(row.values()) for row in found] == [("os.system", 2, 2, "m/a.pkl"), ("a.b", 1, 1, "m/c.pkl"), ("a.b.c", 1, 1, "m/b.pt")]
    assert unread["path"] == "m/c.pkl" and "without STOP" in unread["error"] and known == {"files": 1, "globals": 1, "times": 1}


def test_checkpoint_diff(lab):
    rng = seeded_generator()
    a = {f"layer{i}": rng.normal(size=(30, 40)).astype("f4") for i in range(6)}
    b = {name: (array + rng.normal(0, 10.0 ** -i, array.shape)).astype("f4") for i, (name, array) in enumerate(a.items())}
    a.update(same=np.arange(5), zeros=np.zeros(3), gone=np.ones(2), shaped=np.ones(4), number=np.array([1, 2]))
    b.update(same=np.arange(5), zeros=np.ones(3), new=np.ones(2), shaped=np.ones(5), number=np.array([1, 2], "f4"))
    np.savez("a.npz", **a)
    np.savez("b.npz", **b)
    (found,) = ask(lab, "checkpoint_diff", a="a.npz", b="b.npz")
    rows = {row["name"]: row for row in found}
    assert list(rows)[-1] == "same" and len(rows) == len(found) == len({**a, **b})
    for name in (name for name in rows if name.startswith("layer")):
        x, y = a[name].astype("f8"), b[name].astype("f8")
        rms = np.sqrt(np.mean((y - x) ** 2))
        assert rows[name]["status"] == "differs" and rows[name]["differing"] == (x != y).sum()
        assert rows[name]["percent"] == pytest.approx(100 * (x != y).mean(), abs=0.051)
        assert rows[name]["max_abs"] == pytest.approx(np.abs(y - x).max(), rel=1e-12)
        assert rows[name]["rms"] == pytest.approx(rms, abs=1e-6)
        assert rows[name]["relative"] == pytest.approx(rms / np.sqrt(np.mean(x**2)), abs=1e-6)
    moved = [row["relative"] for row in found if row["relative"] and row["status"] != "equal"]
    assert moved == sorted(moved, reverse=True)
    statuses = {"gone": "only_a", "new": "only_b", "shaped": "shape", "number": "dtype", "same": "equal"}
    assert {name: rows[name]["status"] for name in statuses} == statuses
    assert rows["zeros"]["relative"] is None and rows["shaped"]["shape"] == "[4]"
    np.save("one.npy", a["layer0"])
    np.savez("other.npz", layer0=b["layer0"])
    ((row,),) = ask(lab, "checkpoint_diff", a="one.npy", b="other.npz")
    assert row["relative"] == rows["layer0"]["relative"] and row["shape"] == "[30,40]"


def saved_in_all_formats(folder, arrays):
    """{format: path} of the same arrays."""
    tensors = {name: tensor(TORCH_KINDS[a.dtype.name], str(i), a.size, 0, a.shape, [n // a.itemsize for n in a.strides]) for i, (name, a) in enumerate(arrays.items())}
    storages = {str(i): a.tobytes() for i, a in enumerate(arrays.values())}
    sizes = {str(i): (a.size, a.tobytes()) for i, a in enumerate(arrays.values())}
    saved = {
        "npz": npz_bytes(arrays),
        "safetensors": safetensors_bytes(arrays, {"format": "pt"}),
        "pt": torch_zip(tensors, storages),
        "old.pt": torch_legacy(tensors, sizes),
        "pkl": pickle.dumps(arrays, 5),
        "gguf": gguf([(name, GGUF_KINDS[a.dtype.name], a.shape, a.tobytes()) for name, a in arrays.items()], [("general.name", "string", "m")]),
    }
    os.makedirs(folder)
    for suffix, contents in saved.items():
        with open(f"{folder}/m.{suffix}", "wb") as file:
            file.write(contents)
    return {suffix: f"{folder}/m.{suffix}" for suffix in saved}


TORCH_KINDS = {"float32": "Float", "float16": "Half", "float64": "Double", "int32": "Int"}
GGUF_KINDS = {"float32": "F32", "float16": "F16", "float64": "F64", "int32": "I32"}


def test_checkpoints_of_every_format(lab):
    """The three queries for checkpoints answer of .pt, .pkl, .gguf and .safetensors what they answer of the .npz of the same arrays."""
    rng = seeded_generator()
    a = {f"layers.{i}.w": rng.normal(size=(3 + i, 40)).astype(list(TORCH_KINDS)[i % 3]) for i in range(6)} | {"step": np.arange(5, dtype="i4")}
    b = {name: array.copy() for name, array in a.items()}
    for name in ("layers.1.w", "layers.4.w"):
        b[name][1, ::7] += 1
    b["layers.2.w"][2, 5], b["layers.3.w"][0, 3] = np.nan, np.inf
    a_paths, b_paths = saved_in_all_formats("1", a), saved_in_all_formats("2", b)

    def answers(suffix):
        found = ask(lab, "checkpoint_survey", source=b_paths[suffix])
        (total,), dtypes, layers, said, odd = found
        assert total["arrays"] == 7 and {row["dtype"]: row["arrays"] for row in dtypes} == {"float32": 2, "float16": 2, "float64": 2, "int32": 1} and odd == []
        assert [row["key"] for row in said] == {"safetensors": ["format"], "gguf": ["general.name"]}.get(suffix, [])
        seen, nans = ask(lab, "nan_hunt", source=json.dumps([a_paths[suffix], b_paths[suffix]]))
        assert [(row["path"], row["name"], row["nans"], row["infs"], row["at"], row["turn"]) for row in nans] == [
            (b_paths[suffix], "layers.2.w", 1, 0, 85, "first"), (b_paths[suffix], "layers.3.w", 0, 1, 3, "first")
        ]  # fmt: skip
        return total, dtypes, layers, seen

    want = answers("npz")
    (changes,) = ask(lab, "checkpoint_diff", a=a_paths["npz"], b=b_paths["npz"])
    assert {row["name"] for row in changes if row["status"] == "differs"} == {f"layers.{i}.w" for i in (1, 2, 3, 4)}
    for suffix in a_paths:
        assert answers(suffix) == want, suffix
        for other in a_paths:
            assert ask(lab, "checkpoint_diff", a=a_paths[suffix], b=b_paths[other]) == [changes], (suffix, other)


def test_tokens(lab):
    rng = seeded_generator()
    for turn in range(20):
        dtype = str(rng.choice(["<u2", "<i4", ">u4"]))
        lengths = rng.integers(0, 12, rng.integers(0, 9))
        documents = [rng.integers(0, 60, n) for n in lengths]
        last = rng.integers(0, 60, rng.integers(0, 4))
        ids = np.concatenate([part for document in documents for part in (document, [50])] + [last]).astype(dtype)
        ids.tofile("t.bin")
        (total,), (sizes,), frequent, odd = ask(lab, "tokens", source="t.bin", dtype=dtype, eot=50, vocab_size=55)
        pieces, started = [], 0
        for end in np.flatnonzero(ids == 50).tolist() + ([len(ids)] if len(ids) and ids[-1] != 50 else []):
            pieces.append((started, end - started))
            started = end + 1
        values, counts = np.unique(ids, return_counts=True)
        assert (number(total["tokens"]), total["distinct_tokens"], number(total["documents"])) == (len(ids), len(values), len(pieces))
        if pieces:
            want = np.quantile([length for _, length in pieces], [0, 0.5, 0.95, 1]).astype(int).tolist()
            assert list(sizes.values()) == want, (turn, sizes)
        ranked = sorted(zip((-counts).tolist(), values.tolist()))[:10]
        assert [(-number(row["count"]), row["token"]) for row in frequent] == ranked
        told = {row["what"]: (row["count"], row["tokens"], row["example"]) for row in odd}
        want = {}
        if (values >= 55).any():
            want["ids that are not in the vocabulary"] = (int((values >= 55).sum()), int(counts[values >= 55].sum()), int(values[values >= 55][0]))
        want["ids that never occur"] = (55 - int((values < 55).sum()), None, None)
        empty = [first for first, length in pieces if length == 0]
        if empty:
            want["documents without a token; the first in row"] = (len(empty), 0, empty[0])
        if len(ids) and ids[-1] != 50:
            want["no end after the last document; it begins in row"] = (1, pieces[-1][1], pieces[-1][0])
        assert told == want, turn


@pytest.mark.parametrize("baseline", [None, "r/12/"])
def test_drift(lab, baseline):
    rng = seeded_generator()
    arrays = {run: {name: rng.normal(rng.normal(), 1 + rng.random(), 50) for name in "wb"} for run in (8, 9, 12)}
    for run, named in arrays.items():
        named["c"] = np.full(3, 2.0)
        os.makedirs(f"r/{run}")
        np.savez(f"r/{run}/m.npz", **named)
    base = 12 if baseline else 8
    want = {}
    for run, named in arrays.items():
        for name in "wb" if run != base else "":
            x, b = named[name], arrays[base][name]
            want[f"r/{run}/", name] = ((x.mean() - b.mean()) / b.std(), x.std() / b.std())
    seen, note, found = ask(lab, "drift", source="r/*/*.npz", baseline=baseline)
    assert note == [] and {(row["run"], row["name"]) for row in found} == set(want) and seen == [{"files": 3, "arrays": 9, "errors": 0}]
    for row in found:
        assert (row["shift"], row["spread"]) == pytest.approx(want[row["run"], row["name"]], abs=5.1e-4)
    far = [max(abs(shift), spread - 1, 1 / spread - 1) for shift, spread in (want[row["run"], row["name"]] for row in found)]
    assert far == sorted(far, reverse=True)


def test_drift_begins_with_what_moved_out_of_sight(lab):
    """Infinities and a deviation that is gone are further than any number; the baseline holds for folders below it."""
    plain = {"far": [1.0, 2.0], "gone": [1.0, 2.0], "infinite": [1.0, 2.0], "nan": [np.nan, np.nan]}
    moved = {"far": [50.0, 51.0], "gone": [1.5, 1.5], "infinite": [1.0, np.inf], "nan": [np.nan, np.nan]}
    for run, arrays in (("aa", moved), ("base", plain)):
        os.makedirs(f"r/{run}/last")
        np.savez(f"r/{run}/last/m.npz", **arrays)
    _, _, found = ask(lab, "drift", source="r/**/*.npz", baseline="r/base/")
    assert [row["name"] for row in found] == ["gone", "infinite", "far", "nan"]
    assert {row["run"] for row in found} == {"r/aa/last/"}


def test_drift_of_one_run_alone(lab):
    for step in range(3):
        save(f"r/step_{step}.npy", np.arange(3.0) + step)
    seen, note, found = ask(lab, "drift", source="r/*.npy")
    assert seen[0]["files"] == 3 and found == [] and [row["note"].split(":")[0] for row in note] == ["every file lies in the folder r/"]


def test_class_balance(lab):
    rng = seeded_generator()
    labels = rng.integers(0, 7, 3000)
    order = rng.permutation(3000)
    splits = {"train": order[:2000], "valid": order[2000:2500], "test": np.append(order[2490:2990], 3005)}
    np.save("y.npy", labels)
    np.savez("s.npz", **splits)
    classes, wrong = ask(lab, "class_balance", labels="y.npy", splits="s.npz")
    assert len(classes) == 3 * len(set(labels))
    for row in classes:
        index = splits[row["split"]]
        index = index[index < 3000]
        share = (labels[index] == row["label"]).mean()
        assert row["rows"] == (labels[index] == row["label"]).sum()
        assert row["percent"] == pytest.approx(100 * share, abs=0.051)
        assert row["overall"] == pytest.approx(100 * (labels == row["label"]).mean(), abs=0.051)
    rows = collections.defaultdict(set)
    for row in wrong:
        rows[row["problem"]].add(row["row"])
    twice = [problem for problem in rows if problem.startswith("taken 2 times")]
    assert len(twice) == 1 and rows[twice[0]] == set(order[2490:2500])
    assert rows["in no split"] == set(order[2990:]) and rows["in test, and there is no such row"] == {3005}
    assert len(rows) == 3


@pytest.mark.parametrize("form", ["texts", "files"])
def test_class_balance_by_other_forms_of_splits(lab, form):
    rng = seeded_generator()
    labels, chosen = rng.integers(0, 3, 200), rng.integers(0, 2, 200)
    np.save("y.npy", labels)
    names = ["a", "b"] if form == "texts" else ["split/a.npy", "split/b.npy"]
    save("names.npy", np.array(["a", "b"])[chosen])
    for number, name in enumerate(["a", "b"]):
        save(f"split/{name}.npy", np.flatnonzero(chosen == number))
    classes, wrong = ask(lab, "class_balance", labels="y.npy", splits="names.npy" if form == "texts" else "split/*.npy")
    want = {(names[s], c): np.sum((chosen == s) & (labels == c)) for s in (0, 1) for c in range(3)}
    assert {(row["split"], row["label"]): row["rows"] for row in classes} == want and wrong == []


def test_experiments(lab):
    rng = seeded_generator()
    lab.execute("CREATE TEMP TABLE log(run, optimizer, learning_rate, width)")
    losses = {}
    for i in range(12):
        run = f"r{i}"
        if i != 11:
            lab.execute("INSERT INTO log VALUES (?, 'sgd', 0.1, 8)", [run])
        if i != 10:
            losses[run] = rng.random(20)
            save(f"runs/{run}/loss.npy", losses[run])
            save(f"runs/{run}/confusion.npy", np.diag([3, 4]) + i)
            np.savez(f"runs/{run}/weights.npz", w=np.zeros((i + 1, 4)), b=np.zeros(4))
    rows = []
    for statement in statements("experiments")[2:]:  # the first load and drop
        cursor = lab.execute(statement)
        names = [column[0] for column in cursor.description]
        rows += [dict(zip(names, row)) for row in cursor]
    assert len(rows) == 12 and rows[-1]["run"] == "r10" and rows[-1]["note"] == "no losses"
    for row in rows[:-1]:
        i, loss = int(row["run"][1:]), losses[row["run"]]
        confusion = np.diag([3, 4]) + i
        assert (row["best_epoch"], row["epochs"], row["parameters"]) == (loss.argmin(), 20, 4 * (i + 1) + 4)
        assert (row["best_loss"], row["last_loss"]) == pytest.approx((loss.min(), loss[-1]), abs=5.1e-5)
        assert row["accuracy"] == pytest.approx(np.trace(confusion) / confusion.sum(), abs=5.1e-4)
        assert row["note"] == ("not in the log" if i == 11 else None)
    best = [row["best_loss"] for row in rows[:-1]]
    assert best == sorted(best)


def test_npz_audit(lab):
    rng = seeded_generator()
    for i in range(8):
        arrays = {f"a{j}": rng.integers(0, 3, 500).astype("i4") for j in range(3)}
        (np.savez_compressed if i % 2 else np.savez)(f"{i}.npz", **arrays)
    np.savez("8.npz", x=np.array([{}]), noise=rng.random(10))
    with zipfile.ZipFile("8.npz", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("/etc/x", b"")
        archive.writestr("zeros", bytes(10**6))
        archive.writestr("noise.bin", rng.bytes(1000))
    with open("3.npz", "r+b") as file:
        file.seek(zipfile.ZipFile("3.npz").infolist()[1].header_offset + 60)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 0x55]))
    totals, findings = ask(lab, "npz_audit", source="*.npz")
    for row in totals:
        entries = zipfile.ZipFile(row["path"]).infolist()
        sizes = sum(e.file_size for e in entries), sum(e.compress_size for e in entries)
        assert (row["entries"], number(row["bytes"]), number(row["packed"])) == (len(entries), *sizes)
        assert row["percent"] == pytest.approx(100 * sizes[1] / sizes[0], abs=0.051)
        assert row["damaged"] == (row["path"] == "3.npz")
    assert [(row["path"], row["name"]) for row in findings if "CRC" in row["finding"]] == [("3.npz", "a1.npy")]
    assert {(row["name"], row["finding"].split()[0]) for row in findings if row["path"] == "8.npz"} == {
        ("x.npy", "a"), ("/etc/x", "its"), ("/etc/x", "no"), ("zeros", "no"), ("zeros", "inflates"), ("noise.bin", "no"), ("noise.bin", "compressed")
    }
    assert not [row for row in findings if row["path"] not in ("3.npz", "8.npz")]


def test_nearest(lab):
    rng = seeded_generator()
    X = rng.normal(size=(300, 16)).astype("f4")
    X[7, 3] = np.nan
    np.save("X.npy", X)
    for query in (0, 250):
        assert_nearest(lab, "nearest", X.astype("f8"), query, 1e-6)


def test_sample(lab):
    rng = seeded_generator()
    labels = rng.integers(0, 5, 4000)
    np.save("y.npy", labels)
    taken = np.zeros(4000)
    for seed in range(40):
        sample, classes = ask(lab, "sample", labels="y.npy", n=200, per_class=10, seed=seed)
        rows = [row["row"] for row in sample]
        assert rows == sorted(set(rows)) and len(rows) == 200 and [row["label"] for row in sample] == list(labels[rows])
        taken[rows] += 1
        assert [row["label"] for row in classes] == list(range(5)) and all(row["rows"] == 10 for row in classes)
        for row in classes:
            assert set(labels[[int(n) for n in row["which"].split()]]) == {row["label"]}
        assert ask(lab, "sample", labels="y.npy", n=200, per_class=10, seed=seed) == [sample, classes]
    # 8000 draws of 2 a row: each row's number is binomial (40, 0.05), each tenth of the rows gets 800 of them.
    assert taken.var() == pytest.approx(40 * 0.05 * 0.95, rel=0.15)
    assert np.abs(taken.reshape(10, 400).sum(1) - 800).max() < 5 * math.sqrt(800)
    assert len(set(map(tuple, (ask(lab, "sample", labels="y.npy", n=5, seed=s)[0][0].values() for s in range(20))))) > 10


def test_distribution(lab):
    rng = seeded_generator()
    values = rng.normal(size=(100, 30)).astype("f8")
    values[rng.random(values.shape) < 0.01] = np.nan
    values[3, 3] = np.inf
    np.savez("v.npz", v=values, none=np.full(3, np.nan))
    for parameters, part in (({}, values), ({"slice": ":, 5"}, values[:, 5]), ({"lo": -1, "hi": 2.5}, values)):
        bins, (totals,), places = ask(lab, "distribution", source="v.npz", member="v", bins=13, **parameters)
        finite = part[np.isfinite(part)]
        reach = (parameters.get("lo", finite.min()), parameters.get("hi", finite.max()))
        counts, edges = np.histogram(finite, 13, reach)
        assert [row["count"] for row in bins] == list(counts)
        assert [float(row["from"]) for row in bins] == pytest.approx(edges[:-1], rel=1e-5)
        assert [row["percent"] for row in bins] == pytest.approx(100 * counts / counts.sum(), abs=0.051)
        assert bins[-1]["up_to"] == 100 and totals["items"] == part.size
        assert (totals["nulls"], totals["infs"]) == (np.isnan(part).sum(), np.isinf(part).sum())
        assert [row["value"] for row in places] == np.nanquantile(part, [row["q"] for row in places]).tolist() and len(places) == 7
    bins, *_ = ask(lab, "distribution", source="v.npz", member="none")
    assert [row["count"] for row in bins] == [0] * 8 and bins[0]["percent"] is None


def test_dataset_card(lab):
    rng = seeded_generator()
    shards = [rng.normal(3, 2, (int(rng.integers(1, 50)), 4)).astype("f4") for _ in range(30)]
    for i, shard in enumerate(shards):
        save(f"d/shard-{i:03}.npy", shard)
    labels = rng.integers(-1, 3, 500)
    save("d/labels.npy", labels)
    parts = rng.integers(0, 4, 90)
    for i in range(3):
        save(f"d/part-{i}.npy", parts[30 * i : 30 * i + 30])
    save("d/scalar.npy", np.array(1.0))
    save("d/a|b.npy", np.array([np.nan, 1, np.inf]))
    cut_short("d/cut.npy")
    (((card,),),) = [[list(row.values()) for row in result] for result in ask(lab, "dataset_card", source="d/*.npy", title="Mine")]
    assert card.startswith("# Mine\n\n37 files, 36 arrays, ")
    table = {}
    for line in card.splitlines():
        if re.match(r"\| \d", line):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            table.setdefault(cells[0], []).extend(cells[1:])
    sound = [np.load(path) for path in glob.glob("d/*.npy") if path != "d/cut.npy"]
    assert f" {sum(a.size for a in sound):,} items; " in card and f", {sum(a.nbytes for a in sound):,} in memory." in card
    whole = np.concatenate(shards).astype("f8")
    shard = next(cells for cells in table.values() if cells[0] == "`d/shard-###.npy`")
    assert shard[1:4] == ["30", "float32", "`[*,4]`"] and number(shard[4]) == len(whole) and number(shard[5]) == whole.size * 4
    want = whole.min(), whole.max(), whole.mean(), whole.std()
    assert [float(cell) for cell in shard[6:10]] == pytest.approx(want, rel=1e-5)
    odd = next(cells for cells in table.values() if cells[0] == "`d/a\\|b.npy`")
    assert odd[9:12] == ["", "1", "1"]
    counts = collections.Counter(labels.tolist()).most_common()
    line = next(line for line in card.splitlines() if line.startswith("- `d/labels.npy`"))
    assert sorted(line.split(": ")[1].split(", ")) == sorted(f"{label} × {n}" for label, n in counts)
    line = next(line for line in card.splitlines() if line.startswith("- `d/part-#.npy`"))
    assert sorted(line.split(": ")[1].split(", ")) == sorted(f"{label} × {n}" for label, n in collections.Counter(parts.tolist()).items())
    assert next(cells for cells in table.values() if cells[0] == "`d/scalar.npy`")[4] == ""
    assert "- `d/a|b.npy`: 1 NaN and 1 infinite values" in card


def test_pack(lab):
    rng = seeded_generator()
    arrays = {"X": rng.normal(size=(50, 3)), "y": rng.integers(0, 3, 50)}
    for name, array in arrays.items():
        save(f"d/{name}.npy", array)
    np.savez("d/more.npz", w=np.ones(50), s=np.zeros(50, [("a", "f4"), ("b", "i8")]))
    problems, written, checked = ask(lab, "pack", source="d/*", target="out.npz")
    assert problems == [] and written == [{"path": "out.npz", "bytes": os.path.getsize("out.npz")}]
    assert {row["status"] for row in checked} == {"equal"} and len(checked) == 4
    with np.load("out.npz") as packed:
        assert sorted(packed) == ["X", "s", "w", "y"]
        for name, array in arrays.items():
            np.testing.assert_array_equal(packed[name], array)
    before = open("out.npz", "rb").read()
    broken = {
        "d/short.npy": (np.ones(49), "has 49 rows, the first array 50"),
        "d/nan.npy": (np.append(np.ones(48), [np.nan, np.inf]), "2 values are NaN or infinite"),
        "d/objects.npy": (np.array([None] * 50), "holds Python objects"),
        "d/w.npy": (np.ones(50), "2 arrays would have this name"),
        "d/scalar.npy": (np.array(1.0), "has no rows: shape []"),
    }
    for path, (array, problem) in broken.items():
        save(path, array, allow_pickle=True)
        problems, written, checked = ask(lab, "pack", source="d/*", target="out.npz")
        assert [row["problem"] for row in problems] == [problem] and written == checked == []
        os.remove(path)
    assert open("out.npz", "rb").read() == before


def test_merged_statistics(lab):
    rng = seeded_generator()
    shards = [rng.normal(1e6, 3, int(rng.integers(1, 80))) for _ in range(20)]
    shards[4][0] = np.nan
    for i, shard in enumerate(shards):
        save(f"s/{i}.npy", shard)
    ((row,),) = ask(lab, "merged_statistics", shards="s/*.npy")
    whole = np.concatenate(shards)
    assert (row["pieces"], row["count"], row["nulls"]) == (20, whole.size - 1, 1)
    want = np.nanmin(whole), np.nanmax(whole), np.nanmean(whole), np.nanstd(whole)
    assert (row["min"], row["max"], row["mean"], row["std"]) == pytest.approx(want, rel=1e-11)


def random_samples(rng, first, n):
    """{key: {extension: bytes}} of n samples: most have all parts, in a random order."""
    samples = {}
    for i in range(first, first + n):
        dtype = "f4" if rng.random() < 0.9 else "f8"
        parts = {
            "emb.npy": npy_bytes(np.zeros(8, dtype)),
            "tok.npy": npy_bytes(np.zeros((int(rng.integers(1, 40)), 3), "i4")),
            "Feats.NPZ": npz_bytes({"w": np.zeros((2, int(rng.integers(2)))), "step": np.array(i)}),
            "x.ten": ten_bytes([np.zeros(3, "u1"), np.zeros(2, "i8")], infos=["t", ""]),
            "cls": [str(rng.integers(5)), f" {rng.integers(5)}\n", "cat", "+1", "", "-2", "1.5"][rng.choice(7, p=[0.6, 0.2] + 5 * [0.04])],
            "json": json.dumps({"n": i}),
            "rare.txt": "rare",
        }
        chances = {"rare.txt": 0.05, "json": 0.8, "cls": 0.95}
        names = [ext for ext in rng.permutation(list(parts)) if rng.random() < chances.get(ext, 0.97)] or ["json"]
        samples[f"{'d/' if i % 3 else ''}{i:06}"] = {str(ext): parts[ext] for ext in names}
    return samples


def lowered(saved):
    """[(path, key, {extension in lower case: bytes})] of what save_shards returned."""
    as_bytes = lambda data: data.encode() if isinstance(data, str) else data
    return [(path, key, {ext.lower(): as_bytes(data) for ext, data in parts.items()}) for path, samples in saved.items() for key, parts in samples.items()]


def test_shards_survey(lab):
    rng = seeded_generator()
    saved = save_shards("s", 7, lambda shard: random_samples(rng, 100 * shard, int(rng.integers(1, 40))), format=str(rng.choice(["ustar", "gnu", "pax"])))
    samples = lowered(saved)
    total, parts, arrays, faults = ask(lab, "shards_survey", source="s/*.tar")
    sizes, kinds = collections.defaultdict(list), collections.defaultdict(list)
    for _, key, held in samples:
        for ext, data in held.items():
            sizes[ext].append(len(data))
        for ext, array, dtype, ndim in [("emb.npy", "", None, 1), ("tok.npy", "", "int32", 2)]:
            if ext in held:
                shape = tuple(map(int, re.search(rb"'shape': \(([^)]*)\)", held[ext])[1].strip(b",").split(b",")))
                kinds[ext, array, dtype or ("float32" if b"<f4" in held[ext] else "float64"), ndim].append(shape)
        if "x.ten" in held:
            kinds["x.ten", "t", "uint8", 1].append((3,))
            kinds["x.ten", "1", "int64", 1].append((2,))
        if "feats.npz" in held:
            kinds["feats.npz", "w", "float64", 2].append((2, 1 if len(held["feats.npz"]) == max(sizes["feats.npz"]) else 0))
            kinds["feats.npz", "step", "int64", 0].append(())
    members = sum(map(len, sizes.values()))
    want = {"shards": 7, "samples": len(samples), "members": members, "others": 0, "bytes": f"{sum(map(sum, sizes.values())):,}"}
    assert total == [{**want, "arrays": sum(map(len, kinds.values()))}] and faults == []
    assert {(row["ext"], row["members"], number(row["least"]), number(row["most"]), number(row["bytes"])) for row in parts} == {
        (ext, len(held), min(held), max(held), sum(held)) for ext, held in sizes.items()
    }
    assert all(row["percent"] == pytest.approx(100 * row["members"] / len(samples), abs=0.051) for row in parts)
    assert len(arrays) == len(kinds)
    for row in arrays:
        shapes = kinds[row["ext"], row["array"], row["dtype"], 0 if row["shape"] == "[]" else row["shape"].count(",") + 1]
        if (row["ext"], row["array"]) != ("feats.npz", "w"):
            spans = [(min(axis), max(axis)) for axis in zip(*shapes)]
            assert row["shape"] == "[" + ",".join(f"{a}..{b}" if a < b else str(a) for a, b in spans) + "]" and row["shapes"] == len(set(shapes))
            assert number(row["bytes"]) == sum(math.prod(shape) for shape in shapes) * np.dtype(row["dtype"]).itemsize
        assert row["arrays"] == len(shapes)
        assert row["ext"] in dict((key, held) for path, key, held in samples if path == row["first_in"])[row["first_of"]]


def test_shards_survey_of_damaged_shards(lab):
    rng = seeded_generator()
    saved = save_shards("s", 4, lambda shard: {f"{shard}{i}": {"a.npy": npy_bytes(np.arange(i + 1)), "cls": "1"} for i in range(9)})
    contents = {path: open(path, "rb").read() for path in saved}
    first = contents["s/s-000000.tar"]
    contents["s/s-000000.tar"] = first[: first.index(b"0%d.a.npy" % rng.integers(1, 9)) + 300]
    contents["s/s-000001.tar"] = contents["s/s-000001.tar"].replace(b"14.a.npy", b"14.a.npx")
    contents["s/s-000002.tar"] = contents["s/s-000002.tar"].replace(b"'shape': (4,)", b"'shape': (4.)")
    contents["s/s-000004.tar"] = tars.tar_of([("__meta__.json", b"{}"), ("README", b"x"), ("a.cls", b"1"), ("a.CLS", b"2"), ("__d__/b.cls", b"1")])
    contents["s/s-000005.tar"] = b"words\n"
    for path, data in contents.items():
        with open(path, "wb") as file:
            file.write(data)
    total, _, _, faults = ask(lab, "shards_survey", source="s/*.tar")
    assert [row["path"][2:10] for row in faults] == ["s-000000", "s-000001", "s-000002", "s-000004", "s-000005"]
    assert [row["name"] for row in faults][1:] == [None, "23.a", "a.CLS", None]
    assert "truncated" in faults[0]["error"] or "in the middle" in faults[0]["error"]
    assert total[0]["shards"] == 6 and total[0]["others"] == 2


def test_shards_lacking(lab):
    rng = seeded_generator()
    made = lambda shard: random_samples(rng, 100 * shard, int(rng.integers(1, 40)))
    samples = lowered(save_shards("s", 6, made))
    usual = {ext for ext in ("emb.npy", "tok.npy", "feats.npz", "x.ten", "cls", "json")}
    parts, lacking, repeated = ask(lab, "shards_lacking", source="s/*.tar", usual=60)
    counts = collections.Counter(ext for _, _, held in samples for ext in held)
    assert {(row["ext"], row["samples"], row["lacking"]) for row in parts} == {(ext, n, len(samples) - n) for ext, n in counts.items()}
    want = [(path, key, ", ".join(sorted(usual - {*held}))) for path, key, held in samples if usual - {*held}]
    assert [tuple(row.values()) for row in lacking] == want[:100] and repeated == []
    # Two shards of the same keys, and samples whose members lie apart.
    save_shards("t", 2, lambda shard: {f"{i}": {"a": "1", "b": "2"} for i in range(3)})
    with open("t/x.tar", "wb") as file:
        file.write(tars.tar_of([(f"k{i}.{ext}", b"x") for ext in "ab" for i in range(4)]))
    _, lacking, repeated = ask(lab, "shards_lacking", source="t/*.tar")
    assert [(row["key"], row["lacks"]) for row in lacking] == [(f"k{i}", part) for part in "ba" for i in range(4)]
    apart = [(f"k{i}", 2, 1, "t/x.tar", "t/x.tar", "its members are not all next to each other") for i in range(4)]
    assert [tuple(row.values()) for row in repeated] == [(f"{i}", 2, 2, "t/s-000000.tar", "t/s-000001.tar", "in several shards") for i in range(3)] + apart
    assert ask(lab, "shards_lacking", source="t/s-*.tar", usual=100)[1] == []


def test_shards_classes(lab):
    rng = seeded_generator()

    def class_of(held):
        if "cls" not in held:
            return None
        try:
            return int(held["cls"])
        except ValueError:
            return held["cls"].decode().strip()

    samples = lowered(save_shards("s", 6, lambda shard: random_samples(rng, 100 * shard, int(rng.integers(1, 40)))))
    classes, shards, problems = ask(lab, "shards_classes", source="s/*.tar")
    labels = [(path, key, class_of(held)) for path, key, held in samples]
    counts = collections.Counter(label for _, _, label in labels)
    assert {row["class"]: (row["samples"], row["shards"]) for row in classes} == {
        label: (n, len({path for path, _, other in labels if other == label})) for label, n in counts.items()
    }
    assert all(row["percent"] == pytest.approx(100 * row["samples"] / len(labels), abs=0.051) for row in classes)
    assert len(shards) == 6 and [row["apart"] for row in shards] == sorted((row["apart"] for row in shards), reverse=True)
    for row in shards:
        held = collections.Counter(label for path, _, label in labels if path == row["path"])
        n = sum(held.values())
        assert (row["samples"], row["classes"], held[row["commonest"]]) == (n, len(held), max(held.values()))
        assert row["percent"] == pytest.approx(100 * max(held.values()) / n, abs=0.051)
        apart = sum(abs(held[label] / n - counts[label] / len(labels)) for label in counts) / 2
        assert row["apart"] == pytest.approx(100 * apart, abs=0.051)
    told = [(path, key, "has no label" if label is None else f"is no integer: {label}") for path, key, label in labels if not isinstance(label, int)]
    assert [tuple(row.values()) for row in problems] == told[:100]
    # Another extension: any text is a class.
    classes, _, problems = ask(lab, "shards_classes", source="s/*.tar", ext="RARE.txt")
    assert {row["class"] for row in classes} == {"rare" if "rare.txt" in held else None for _, _, held in samples}
    assert {row["problem"] for row in problems} == {"has no label"}


def test_shards_index(lab):
    rng = seeded_generator()
    saved = save_shards("s", 5, lambda shard: {f"{shard}/{i}": {"v.npy": npy_bytes(rng.normal(size=4)), "W.npz": npz_bytes({"a": np.array([shard, i])}, "deflate"), "cls": "1"} for i in range(30)})
    with open("s/z.tar.gz", "wb") as file:
        file.write(tars.gzipped(open("s/s-000004.tar", "rb").read()))
    for _ in range(5):
        shard, i = int(rng.integers(5)), int(rng.integers(30))
        key, path = f"{shard}/{i}", f"s/s-{shard:06}.tar"
        members, parts, rows = ask(lab, "shards_index", source="s/*", key=key, ext="v.npy")
        assert [(row["ext"], row["members"], row["places"]) for row in members] == [(ext, 180, 150) for ext in ("cls", "v.npy", "w.npz")]
        with open(path, "rb") as file:
            data = file.read()
        held = [data[row["data_offset"] :][: row["size"]] for row in parts if row["path"] == path]
        assert held == [saved[path][key][ext].encode() if ext == "cls" else saved[path][key][ext] for ext in ("v.npy", "W.npz", "cls")]
        assert [row["value"] for row in rows] == list(np.frombuffer(saved[path][key]["v.npy"][-32:])) and {row["path"] for row in rows} == {path}
        assert [(row["name"], row["value"]) for row in ask(lab, "shards_index", source="s/*", key=key, ext="w.npz")[2]] == [("a", shard), ("a", i)]


# --- indexes that others read ------------------------------------------------------------------------------


def indexed(paths):
    """[(number of the shard, path, [(key, extension with its letters, TarInfo)], offset after the last member)], as tarfile
    tells it; Energon, wids and DALI's wds2idx go through a shard by it or by GNU tar."""
    shards = []
    for number, path in enumerate(sorted(paths)):
        with tarfile.open(path) as archive:
            members = [(*re.match(r"^((?:.*/|)[^.]+)[.]([^/]*)$", info.name).groups(), info) for info in archive if info.isreg()]
            members = [(key, ext, info) for key, ext, info in members if not re.match(r"__[^/]*__($|/)", info.name)]
            shards.append((number, path, members, archive.offset))
    return shards


def random_shards(folder, n):
    rng = seeded_generator()
    texts = ["cls", "A.npy", "seg.PNG", "json"]
    samples_of = lambda shard: {f"{shard}/s{i:03}": {ext: "x" * int(rng.integers(2000)) for ext in texts if ext == "cls" or rng.random() < 0.7} for i in range(int(rng.integers(1, 40)))}
    return save_shards(folder, n, samples_of, format=str(rng.choice(["ustar", "gnu", "pax"])))


def test_shards_energon(lab):
    """As WebdatasetPreparator._preprocess_tar of megatron-energon 7 fills the tables."""
    saved = random_shards("s", 5)
    want_samples, want_parts = [], []
    for number, _, members, end in indexed(saved):
        starts = [(key, info.offset) for i, (key, _, info) in enumerate(members) if i == 0 or key != members[i - 1][0]]
        ends = [offset for _, offset in starts[1:]] + [end]
        want_samples += [(number, key, i, offset, after - offset) for i, ((key, offset), after) in enumerate(zip(starts, ends))]
        numbers = {key: i for i, (key, _) in enumerate(starts)}
        want_parts += [(number, numbers[key], ext, info.offset_data, info.size) for key, ext, info in members]
    ((counts,),) = ask(lab, "shards_energon", source="s/*.tar")
    assert counts == {"shards": 5, "samples": len(want_samples), "parts": len(want_parts)}
    assert lab.execute("SELECT tar_file_id, sample_key, sample_index, byte_offset, byte_size FROM samples").fetchall() == want_samples
    assert lab.execute("SELECT tar_file_id, sample_index, part_name, content_byte_offset, content_byte_size FROM sample_parts").fetchall() == want_parts
    indexes = {name for (name,) in lab.execute("SELECT name FROM sqlite_schema WHERE type = 'index'")}
    assert indexes == {"idx_samples_sample_key", "idx_samples_by_tar_and_idx", "idx_sample_parts_seq", "idx_sample_parts_full"}


def test_shards_energon_leaves_alone_what_is_there(lab):
    random_shards("s", 1)
    lab.execute("CREATE TABLE samples(mine)")
    with pytest.raises(sqlite3.OperationalError, match="table samples already exists"):
        ask(lab, "shards_energon", source="s/*.tar")
    assert lab.execute("SELECT * FROM samples").fetchall() == []


def test_shards_energon_of_a_key_that_is_there_twice(lab):
    save_shards("s", 2, lambda shard: {"same": {"cls": "1"}})
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE constraint failed: samples.sample_key"):
        ask(lab, "shards_energon", source="s/*.tar")


def test_shards_dali(lab):
    """As IndexCreator of DALI's wds2idx writes it."""
    for _, path, members, _ in indexed(random_shards("s", 3)):
        lines = []
        for i, (key, ext, info) in enumerate(members):
            part = f"{ext} {info.offset_data} {info.size} {info.name}"
            if i > 0 and key == members[i - 1][0]:
                lines[-1] += " " + part
            else:
                lines.append(part)
        (rows,) = ask(lab, "shards_dali", source=path)
        assert [row["line"] for row in rows] == [f"v1.2 {len(lines)}", *lines]


def test_shards_wids(lab):
    """As main_create of wids_index.py writes it, without the md5sum."""
    saved = random_shards("s", 4)
    with open("s/empty.tar", "wb") as file:
        file.write(tars.tar())
    ((row,),) = ask(lab, "shards_wids", source="s/*.tar", set="some")
    shards = [{"url": path, "nsamples": len({key for key, _, _ in members}), "filesize": os.path.getsize(path)} for _, path, members, _ in indexed([*saved, "s/empty.tar"])]
    assert json.loads(row["shardindex"]) == {"__kind__": "wids-shard-index-v1", "wids_version": 1, "name": "some", "shardlist": shards}
