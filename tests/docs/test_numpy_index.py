"""docs/numpy.md: each line of its tables is run by NumPy and in SQL, in two folders of the same files, and gives the same
answer or writes the same files. A line whose left side NumPy alone cannot run has its answer in BY_OTHER_MEANS."""

import ast
import contextlib
import io
import json
import os
import re
import shutil
import struct
import tarfile
import zipfile

import numpy as np
import pytest

import make_files
import pictures
import shell

DOCUMENT = os.path.join(shell.ROOT, "docs", "numpy.md")
with open(DOCUMENT) as document:
    TEXT = document.read()
(NAMES,) = re.findall(r"^```python\n(.*?)^```$", TEXT, re.M | re.S)
LINE = re.compile(r"\| `([^`|]+)` \| `([^`|]+)` \|(?: .*)? \|")


def lines():
    """[(Python, SQL)] of the tables, and their lines that are none."""
    found, others = [], []
    for line in TEXT.splitlines():
        if line.startswith("|"):
            match = LINE.fullmatch(line)
            found.append(match.groups()) if match else others.append(line)
    return found, others


LINES, OTHERS = lines()

# What another order of additions, or of roundings, makes of float64, and of float32.
ROUNDED = {
    "np.corrcoef(F.T)",
    "np.linalg.norm(X.astype('f8'), axis=1)",
    "scipy.spatial.distance.cosine(X[1], X[2])",
    "scipy.spatial.distance.cdist(F[4:5], F)[0]",
    "(X - X.mean(0, 'f8')) / X.std(0, 'f8')",
    "X / np.linalg.norm(X.astype('f8'), axis=1)[:, None]",
    "[(0.9 ** np.arange(6 - t) * y[t:]).sum() for t in range(6)]",
}
ROUNDED_AS_FLOAT32 = {
    "np.clip(np.sqrt(np.abs(X)), 1, 2)",
    "-np.mean((F - np.log(np.exp(F).sum(1))[:, None])[np.arange(12), labels])",
    "0.9 * w1 + 0.1 * w2",
    "np.linalg.norm(w1 - w2)",
}
TOLERANCES = dict.fromkeys(ROUNDED, 1e-12) | dict.fromkeys(ROUNDED_AS_FLOAT32, 1e-6)


# --- what needs other libraries than NumPy, computed without them ---------------------------------------------------


def bfloat16(data):
    return (np.frombuffer(data, "<u2").astype("u4") << 16).view("f4")


def tensors(path):
    """({name: array}, metadata) of a .safetensors, in the order of the data."""
    with open(path, "rb") as file:
        (nbytes,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(nbytes)), file.read()
    metadata = header.pop("__metadata__")
    decode = {"BF16": bfloat16, "F16": lambda d: np.frombuffer(d, "<f2"), "F32": lambda d: np.frombuffer(d, "<f4")}
    places = sorted(header.items(), key=lambda item: item[1]["data_offsets"])
    return {name: decode[t["dtype"]](data[slice(*t["data_offsets"])]).reshape(t["shape"]) for name, t in places}, metadata


PARTS = [f"llm/model-0000{part}-of-00002.safetensors" for part in (1, 2)]


def samples(*numbers):
    """WebDataset's samples of these shards: {extension: contents}, __key__ among them."""
    for number in numbers:
        by_key = {}
        with tarfile.open(f"wds/train-{number:06}.tar") as tar:
            for member in tar:
                key, ext = member.name.split(".", 1)
                by_key.setdefault(key, {"__key__": key})[ext] = tar.extractfile(member).read()
        for sample in by_key.values():
            sample["cls"] = int(sample["cls"])
            sample["emb.npy"] = np.load(io.BytesIO(sample["emb.npy"]))
            yield sample


def counts(values):
    values = list(values)
    return {value: values.count(value) for value in sorted(set(values))}


def distance(a, b):
    return float(np.sqrt(((a.astype("f8") - b.astype("f8")) ** 2).sum()))


def cosine(a, b):
    a, b = a.astype("f8"), b.astype("f8")
    return 1 - (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())


def printed(value):
    """What print shows, on one line."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        print(value)
    return out.getvalue().strip().replace("\n", "")


def gray(array):
    """The pixels of 256 equal levels from the least to the greatest item."""
    share = (array.astype("f8") - array.min()) / (float(array.max()) - array.min())
    level = np.minimum(share * 256, 255).astype("u1")
    return np.dstack([level, level, level, np.full_like(level, 255)])


def loads(path):
    try:
        loaded = np.load(path, allow_pickle=True)
        return all(loaded[name] is not None for name in loaded.files) if path.endswith(".npz") else True
    except Exception:
        return False


BY_OTHER_MEANS = {
    "np.load('types/bfloat16.npy').view(ml_dtypes.bfloat16)": lambda n: bfloat16(np.load("types/bfloat16.npy").tobytes()),
    "scipy.spatial.distance.cosine(X[1], X[2])": lambda n: cosine(n["X"][1], n["X"][2]),
    "scipy.spatial.distance.cdist(F[4:5], F)[0]": lambda n: [distance(n["F"][4], row) for row in n["F"]],
    "print(X)": lambda n: printed(n["X"]),
    "plt.imshow(X, cmap='gray')": lambda n: gray(n["X"]),
    "plt.plot(np.load('runs/r1/loss.npy'))": lambda n: [(i, round(v, 2)) for i, v in enumerate(np.load("runs/r1/loss.npy").tolist())],
    "[(s['__key__'], s['cls']) for s in webdataset.WebDataset('wds/train-000000.tar').decode()]": lambda n: [(s["__key__"], s["cls"]) for s in samples(0)],
    "collections.Counter(s['cls'] for s in webdataset.WebDataset('wds/train-{000000..000002}.tar').decode())": lambda n: counts(s["cls"] for s in samples(0, 1, 2)),
    "[s['__key__'] for s in webdataset.WebDataset('wds/train-{000000..000002}.tar').decode() if np.isnan(s['emb.npy']).any()]": (
        lambda n: [s["__key__"] for s in samples(0, 1, 2) if np.isnan(s["emb.npy"]).any()]
    ),
    "safe_open('llm/model-00001-of-00002.safetensors', 'pt').metadata()": lambda n: tensors(PARTS[0])[1],
    "load_file('llm/model-00002-of-00002.safetensors')['layers.1.norm.weight']": lambda n: tensors(PARTS[1])[0]["layers.1.norm.weight"],
    "safe_open('llm/model-00001-of-00002.safetensors', 'pt').get_slice('embed.weight')[1:3]": lambda n: tensors(PARTS[0])[0]["embed.weight"][1:3],
    "{k: t.shape for k, t in load_file('llm/model-00002-of-00002.safetensors').items()}": lambda n: {k: t.shape for k, t in tensors(PARTS[1])[0].items()},
    "{k: torch.isnan(t).any() for k, t in load_file('llm/model-00002-of-00002.safetensors').items()}": (
        lambda n: {k: np.isnan(t).any() for k, t in tensors(PARTS[1])[0].items()}
    ),
    "sum(t.numel() for t in model.state_dict().values())": lambda n: sum(t.size for path in PARTS for t in tensors(path)[0].values()),
    "[p for p in sorted(glob.glob('survey/*')) if not loads(p)]": lambda n: [p for p in sorted(n["glob"].glob("survey/*")) if not loads(p)],
}


# --- what is compared -----------------------------------------------------------------------------------------------


def plain(value):
    """A value of NumPy or Python as lists, numbers and texts: NaN and NaT are None, dicts and records are lists of pairs,
    and arrays side by side are columns."""
    if isinstance(value, tuple) and len(value) > 1 and all(isinstance(v, np.ndarray) and len(v) == len(value[0]) for v in value):
        return [[x for item in row for x in (item if isinstance(item, list) else [item])] for row in zip(*map(plain, value))]
    if isinstance(value, np.void) and value.dtype.names:
        return [[name, plain(value[name])] for name in value.dtype.names]
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value] if value.ndim else plain(value[()])
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else str(value).replace("T", " ")
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, set):
        return sorted(map(plain, value))
    if isinstance(value, dict):
        return [[plain(key), plain(item)] for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and np.isnan(value):
        return None
    if isinstance(value, bytes):
        with contextlib.suppress(UnicodeDecodeError):
            return value.decode()
    assert value is None or isinstance(value, (int, float, str, bytes)), f"what is a {type(value)}?"
    return value


def decoded(cell):
    """A cell of SQL, likewise: JSON is parsed, pictures are what they show."""
    if isinstance(cell, str) and cell[:1] in ("[", "{"):
        with contextlib.suppress(ValueError):
            return plain(json.loads(cell))
    if isinstance(cell, str) and cell.startswith("<svg"):
        plot = pictures.Plot(cell)
        (x, x_pixels), (y, y_pixels) = map(plot.scale, (plot.x_ticks, plot.y_ticks))
        ((line,),) = plot.lines
        return [[round(x(place[0])), round(y(place[1]), 2)] for place in line]
    if isinstance(cell, bytes) and cell.startswith(b"\x89PNG"):
        return plain(pictures.png_pixels(cell)[1])
    return plain(cell)


def forms(rows):
    """What rows may stand for: themselves, a value each where there is one column, and one row or value where they are one."""
    cells = [[decoded(cell) for cell in row] for row in rows]
    found = [cells]
    if len(cells) == 1:
        found.append(cells[0])
    if cells and len(cells[0]) == 1:
        found.append([row[0] for row in cells])
        if len(cells) == 1:
            found.append(cells[0][0])
    return found


def same(a, b, tolerance):
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y, tolerance) for x, y in zip(a, b))
    if tolerance and isinstance(a, float) and isinstance(b, float):
        return bool(np.isclose(a, b, rtol=tolerance, atol=0))
    return isinstance(a, (str, bytes)) == isinstance(b, (str, bytes)) and a == b


def contents(data):
    """Of an archive the entries, since zips are dated; of other files the bytes."""
    if data[:4] != b"PK\3\4":
        return data
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [(entry.filename, entry.compress_type, archive.read(entry)) for entry in archive.infolist()]


def files():
    found = {}
    for place, _, names in os.walk("."):
        for name in names:
            path = os.path.join(place, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    found[path] = file.read()
    return found


def changes(before):
    after = files()
    assert not before.keys() - after.keys()
    return {path: contents(data) for path, data in after.items() if before.get(path) != data}


def times():
    """When each file and folder was changed last; that of a folder tells whether something came or went."""
    return {path: os.lstat(path).st_mtime_ns for place, folders, names in os.walk(".") for path in [place, *(os.path.join(place, name) for name in folders + names)]}


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    made = tmp_path_factory.mktemp("made") / "examples"
    made.mkdir()
    make_files.make(made)
    (made / "odd" / "fifo.npy").unlink(missing_ok=True)  # which no copy is made of
    return made


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    """Where the two sides have theirs."""
    return tmp_path_factory.mktemp("copies")


@pytest.fixture
def agree(connect, examples, copies, monkeypatch):
    """agree(Python, SQL): both give the same answer, and write the same files."""

    def by_numpy(python):
        names = {}
        exec(NAMES, names)
        before = files()
        if python in BY_OTHER_MEANS:
            return BY_OTHER_MEANS[python](names), changes(before)
        *statements, last = ast.parse(python).body
        if not isinstance(last, ast.Expr):
            statements, last = [*statements, last], None
        exec(compile(ast.Module(statements, []), "numpy.md", "exec"), names)
        return last and eval(compile(ast.Expression(last.value), "numpy.md", "eval"), names), changes(before)

    def by_sql(sql):
        db, before = connect(), files()
        for statement in sql.split("; "):
            rows = db.execute(statement).fetchall()
        return rows, changes(before)

    def in_a_copy(name, run, text):
        """In a copy of the examples; the next line has it, too, if this one has left it as it was."""
        copy, is_as_before = copies / name, False
        if not copy.exists():
            shutil.copytree(examples, copy, symlinks=True)
        monkeypatch.chdir(copy)
        try:
            before = times()
            answer = run(text)
            is_as_before = times() == before
            return answer
        finally:
            if not is_as_before:
                shutil.rmtree(copy)

    def agree(python, sql):
        value, written = in_a_copy("numpy", by_numpy, python)
        rows, written_by_sql = in_a_copy("sql", by_sql, sql)
        assert written_by_sql == written
        if not written:
            expected = plain(value)
            assert expected is not None and expected != [], "NumPy's side gives nothing to compare"
            assert any(same(expected, form, TOLERANCES.get(python, 0)) for form in forms(rows)), f"NumPy: {expected}\nSQL:   {rows}"

    return agree


# --- the document ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("python, sql", LINES, ids=[python for python, _ in LINES])
def test_line(agree, python, sql):
    agree(python, sql)


def test_every_line_is_read():
    assert len(LINES) >= 70
    assert len(OTHERS) == 2 * len(re.findall(r"^\| (?:NumPy|Python) \| SQL \| ", TEXT, re.M))
    assert all(line.startswith(("| NumPy | SQL | ", "| Python | SQL | ")) or line == "|---|---|---|" for line in OTHERS)
    assert len({python for python, _ in LINES}) == len(LINES)


def test_nothing_is_kept_for_lines_that_are_gone():
    assert not (BY_OTHER_MEANS.keys() | TOLERANCES.keys()) - {python for python, _ in LINES}


def test_all_lines_can_be_pasted_into_one_shell(examples, tmp_path):
    shutil.copytree(examples, tmp_path / "shell", symlinks=True)
    printed = shell.run("".join(f"{sql};\n" for _, sql in LINES), tmp_path / "shell")
    assert not re.search(r"^(?:Error|Usage)\b", printed, re.M), printed


# --- that a wrong line is found ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "python, sql",
    [
        ("X.shape", "SELECT shape FROM npy_meta('y.npy')"),
        ("X.sum()", "SELECT npy_mean(array) FROM npy_file('X.npy')"),
        ("X[3]", "SELECT value FROM npy_rows('X.npy', '', 2)"),
        ("X[1:4]", "SELECT value FROM npy_rows('X.npy', '', '1:3')"),
        ("np.sort(y)", "SELECT value FROM npy_rows('y.npy')"),
        ("np.isnan(s).sum()", "SELECT NULL"),
        ("np.array([np.nan, 1])", "SELECT column1 FROM (VALUES (0), (1))"),
        ("np.corrcoef(F.T)", "SELECT npy_json(npy_corrcoef(array)) FROM npy_file('dataset/features.npy')"),
        ("[]", "SELECT value FROM npy_rows('y.npy') WHERE 0"),
        ("None", "SELECT NULL"),
        ("np.save('a.npy', X)", "SELECT * FROM npy_write('a.npy', npy_from_json('[1]'))"),
        ("np.save('a.npy', y)", "SELECT 1"),
        ("X.sum()", "SELECT w.bytes FROM npy_file('X.npy') AS f, npy_write('a.npy', f.array) AS w"),
        ("np.savez('a.npz', X=X)", "SELECT * FROM npy_write('a.npz', (SELECT npz_archive('X', array, 'deflate') FROM npy_file('X.npy')))"),
        ("print(X)", "SELECT npy_preview(array, 1) FROM npy_file('X.npy')"),
        ("plt.imshow(X, cmap='gray')", "SELECT npy_png(array, 'viridis') FROM npy_file('X.npy')"),
        ("plt.plot(np.load('runs/r1/loss.npy'))", "SELECT npy_plot(array) FROM npy_file('runs/r2/loss.npy')"),
    ],
)
def test_a_wrong_line_fails(agree, python, sql):
    with pytest.raises(AssertionError):
        agree(python, sql)


@pytest.mark.parametrize("python", ["torch.load('model.pt')", "for name in np.load('w.npz'):"])
def test_a_line_that_cannot_be_run_fails(agree, python):
    with pytest.raises((NameError, SyntaxError)):
        agree(python, "SELECT 1")
