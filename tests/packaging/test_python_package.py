"""The Python package: the wheel that `make wheel` makes, and what is in it, with Debian's Python and NumPy."""

import base64
import contextlib
import csv
import hashlib
import io
import json
import os
import platform
import re
import shutil
import sqlite3
import subprocess
import sys
import zipfile

import numpy
import pytest

import children
import packages
import shell
from arrays import seeded_generator

__test__ = not shell.SANITIZED


@pytest.fixture(scope="module")
def wheel():
    return packages.wheel()


@pytest.fixture(scope="module")
def package(wheel, tmp_path_factory):
    """The package, imported from where a wheel unpacks to."""
    folder = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    sys.path.insert(0, str(folder))
    import npyext

    yield npyext
    sys.path.remove(str(folder))


def python(package, *arguments):
    """What Python prints, in the folder of the package."""
    folder = os.path.dirname(os.path.dirname(package.loadable_path()))
    return packages.run(sys.executable, "-B", *arguments, env=dict(os.environ, PYTHONPATH=folder), cwd=folder)


def in_a_child(work):
    """Adapters are of a process and for good: they are tried in one of their own."""
    outcome = children.run(lambda _: work(), ["work"], shell.PATIENCE)["work"]
    assert outcome is None, outcome


# ---- the wheel ----


def test_the_record_is_true(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (record,) = [name for name in names if name.endswith(".dist-info/RECORD")]
        rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(archive.read(record).decode()))}
        assert set(rows) == set(names) and len(names) == len(set(names))
        for name in set(names) - {record}:
            data = archive.read(name)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert rows[name] == [f"sha256={digest}", str(len(data))]


def test_the_wheel_holds_what_it_should(wheel):
    with zipfile.ZipFile(wheel) as archive:
        info = f"npyext-{packages.version()}.dist-info"
        with open(packages.STANDALONE, "rb") as built, open(os.path.join(shell.ROOT, "LICENSE"), "rb") as licence:
            assert archive.read("npyext/npyext.so") == built.read()
            assert archive.read(f"{info}/LICENSE") == licence.read()
        assert b"Jean-loup Gailly" in archive.read(f"{info}/LICENSE.zlib")
        metadata = archive.read(f"{info}/METADATA").decode()
        assert f"\nVersion: {packages.version()}\n" in metadata and "npyext.register_adapters()" in metadata


def test_the_sbom_says_what_is_linked(wheel):
    with zipfile.ZipFile(wheel) as archive:
        sbom = json.loads(archive.read(f"npyext-{packages.version()}.dist-info/sboms/npyext.cdx.json"))
        digest = hashlib.sha256(archive.read("npyext/npyext.so")).hexdigest()
    assert sbom["metadata"]["component"]["hashes"] == [{"alg": "SHA-256", "content": digest}]
    assert sbom["metadata"]["component"]["version"] == packages.version()
    versions = {part["name"]: part["version"] for part in sbom["components"]}
    assert set(versions) == {"zlib", "minizip"} and versions["zlib"] == packages.run("pkg-config", "--modversion", "zlib").strip()


def test_the_tag_is_of_the_symbols(wheel):
    major, minor = packages.newest_glibc(packages.STANDALONE)
    tags = re.fullmatch(rf"npyext-{packages.version()}-py3-none-(.*)\.whl", os.path.basename(wheel))[1].split(".")
    assert f"manylinux_{major}_{max(minor, 17)}_{platform.machine()}" in tags
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"npyext-{packages.version()}.dist-info/WHEEL").decode()
    assert re.findall("^Tag: (.*)$", text, re.M) == [f"py3-none-{tag}" for tag in tags]


def test_the_wheel_is_reproducible(wheel, tmp_path):
    with open(wheel, "rb") as file:
        before = file.read()
    copy = tmp_path / "elsewhere"
    for folder in ("ext", "src"):
        shutil.copytree(os.path.join(shell.ROOT, folder), copy / folder)
    for file in ("Makefile", "LICENSE"):
        shutil.copy(os.path.join(shell.ROOT, file), copy / file)
    # Another folder, other times; the extension itself is not compiled again.
    os.makedirs(copy / ".build" / "standalone")
    shutil.copy(packages.STANDALONE, copy / ".build" / "standalone" / "npyext.so")
    packages.run(sys.executable, "-B", str(copy / "ext/python/backend.py"), str(tmp_path), cwd=tmp_path)
    with open(tmp_path / os.path.basename(wheel), "rb") as file:
        assert file.read() == before


def test_objects_do_not_tell_where_they_were_made(wheel):
    with open(packages.STANDALONE, "rb") as file:
        assert shell.ROOT.encode() not in file.read()


# ---- load ----


def test_load(package):
    connection = sqlite3.connect(":memory:")
    connection.enable_load_extension(False)  # Debian's SQLite begins with it on
    package.load(connection)
    assert package.__version__ == packages.version()
    assert connection.execute("SELECT npyext_version()").fetchone() == (packages.version(),)
    with pytest.raises(sqlite3.OperationalError, match="not authorized"):
        connection.load_extension(package.loadable_path())


def test_the_example_of_the_readme(package, tmp_path):
    """As it says: in the folder of the examples, where runs and the extension itself are."""
    with open(os.path.join(shell.ROOT, "README.md"), encoding="utf-8") as file:
        (example,) = re.findall(r"^```python\n(.*?)^```", file.read(), re.M | re.S)
    packages.make("examples")
    shutil.copytree(os.path.join(shell.ROOT, ".build", "examples", "runs"), tmp_path / "runs")
    shutil.copy(os.path.join(shell.ROOT, "npyext.so"), tmp_path)
    (tmp_path / "shapes.py").write_text(example)
    env = dict(os.environ, PYTHONPATH=os.path.dirname(os.path.dirname(package.loadable_path())))
    printed = packages.run(sys.executable, "-B", "shapes.py", env=env, cwd=tmp_path)
    runs = ["r1", "r2", "r3", "r4"]
    assert printed.splitlines() == [line for run in runs for line in (f"runs/{run}/confusion.npy [3,3]", f"runs/{run}/loss.npy [{6 if run == 'r4' else 8}]")]


def test_the_package_is_imported_where_the_extension_lies(package, tmp_path):
    """Python takes ./npyext.so for a module of its own, before it looks at where packages are."""
    shutil.copy(os.path.join(shell.ROOT, "npyext.so"), tmp_path)
    folder = os.path.dirname(os.path.dirname(package.loadable_path()))
    asked = "import npyext, npyext._load; print(npyext.__file__, npyext.__spec__.origin, npyext.__path__, npyext.__version__)"
    env = dict(os.environ, PYTHONPATH=folder)
    printed = packages.run(sys.executable, "-W", "error", "-B", "-c", asked, env=env, cwd=tmp_path)
    assert printed.split() == [package.__file__, package.__file__, f"['{folder}/npyext']", package.__version__]
    (tmp_path / "npyext").mkdir()  # no package: there is nothing in it
    failed = subprocess.run([sys.executable, "-c", "import npyext"], stderr=subprocess.PIPE, cwd=tmp_path, text=True)
    assert failed.returncode == 1 and "ImportError: " in failed.stderr and "pip install ext/python" in failed.stderr


def test_load_leaves_loading_enabled(package):
    connection = sqlite3.connect(":memory:")
    connection.enable_load_extension(True)
    package.load(connection)
    package.load(connection)
    connection.load_extension(package.loadable_path())
    assert connection.execute("SELECT npy_json(npy_array(1))").fetchone() == ("[1]",)


def test_loadable_path(package):
    assert os.path.exists(package.loadable_path() + ".so")
    shown = python(package, "-m", "npyext")
    assert shown == package.loadable_path() + "\n"
    query = ["-cmd", f".load {shown.strip()}", ":memory:", "SELECT npyext_version()"]
    assert packages.run(os.environ.get("SQLITE3", "sqlite3"), *query).strip() == packages.version()


def test_the_library_is_found_by_any_systems_suffix(package, tmp_path, monkeypatch):
    """SQLite adds its own system's; a file with another one is given whole."""
    from npyext import _load

    monkeypatch.setattr(_load, "__file__", str(tmp_path / "_load.py"))
    path = str(tmp_path / "npyext")
    assert package.loadable_path() == path
    for platform, own, other in (("linux", ".so", ".dll"), ("darwin", ".dylib", ".so"), ("win32", ".dll", ".so"), ("freebsd14", ".so", ".dylib")):
        monkeypatch.setattr(sys, "platform", platform)
        open(path + other, "w").close()
        assert package.loadable_path() == path + other
        open(path + own, "w").close()
        assert package.loadable_path() == path
        os.remove(path + own)
        os.remove(path + other)


def test_connect(package, tmp_path):
    with contextlib.closing(package.connect(tmp_path / "x.db", timeout=1, isolation_level=None)) as db:
        assert isinstance(db, sqlite3.Connection) and db.isolation_level is None
        assert db.execute("SELECT npy_json(npy_array(1))").fetchone() == ("[1]",)
    assert package.connect().execute("SELECT npyext_version()").fetchone() == (packages.version(),)
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):
        package.connect(tmp_path / "none" / "x.db")


def test_an_array_that_is_given_as_the_database(package, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    numpy.save("it's.npy", numpy.arange(3))
    numpy.savez("x.npz", a=numpy.arange(3))
    for path in ("it's.npy", tmp_path / "it's.npy"):
        with pytest.raises(ValueError, match=re.escape("it's.npy is an array file (npy), not a database. In any database, or in :memory:, this shows it: SELECT * FROM npy_rows('it''s.npy')")):
            package.connect(path)
    with pytest.raises(ValueError, match=re.escape("SELECT * FROM npy_meta('x.npz')")):
        package.connect("x.npz")
    for name, contents in (("empty.db", b""), ("other.db", b"no database, no array")):
        (tmp_path / name).write_bytes(contents)
        package.connect(name).close()


@pytest.mark.parametrize(
    "stub, reason",
    [
        ("sys.modules['sqlite3'] = None", "its sqlite3 cannot be imported ("),
        ("sqlite3.Connection = object", "its sqlite3 was built without extension loading"),
        ("sqlite3.sqlite_version, sqlite3.sqlite_version_info = '3.34.1', (3, 34, 1)", "its sqlite3 has SQLite 3.34.1, and npyext needs 3.37 or newer"),
    ],
)
def test_connect_takes_apsw_or_says_so(package, stub, reason):
    """What is asked of apsw is tried with it itself in clients_python.py."""
    told = f"import sys, sqlite3\n{stub}\nsys.modules['apsw'] = None\nimport npyext\ntry:\n    npyext.connect('x.db')\nexcept RuntimeError as error:\n    print(error)"
    shown = python(package, "-c", told)
    assert reason in shown and "`pip install apsw`" in shown and sys.executable in shown
    apsw = f"""
import sys, sqlite3, types
{stub}
class Connection:
    def __init__(self, *arguments, **options):
        print(arguments, options)
    enable_load_extension = lambda self, on: None
    load_extension = lambda self, path: print(path)
sys.modules['apsw'] = types.SimpleNamespace(Connection=Connection)
import npyext
npyext.connect('x.db', vfs='unix')
"""
    assert python(package, "-c", apsw) == f"('x.db',) {{'vfs': 'unix'}}\n{package.loadable_path()}\n"


def test_a_python_without_loading_is_told(package):
    class Connection:
        """As sqlite3.Connection is where Python was configured without loadable extensions."""

        def execute(self, sql):
            raise AssertionError("it must execute nothing")

    with pytest.raises(RuntimeError) as caught:
        package.load(Connection())
    for word in (sys.executable, "enable_load_extension", "apsw", "pysqlite3", "/usr/bin/python3"):
        assert word in str(caught.value)
    with pytest.raises(TypeError, match="a connection, not str"):
        package.load("database.db")


def test_numpy_is_optional(package):
    script = (
        "import sys; sys.modules['numpy'] = None\n"
        "import sqlite3, npyext\n"
        "db = sqlite3.connect(':memory:'); npyext.load(db)\n"
        "db.execute('CREATE TABLE t(x)'); db.execute('INSERT INTO t VALUES (?)', (bytes([5] + [0] * 7),))\n"
        "print(npyext.repair_scalars(db, 't', 'x', 'int64'), *db.execute('SELECT x FROM t').fetchone())\n"
    )
    assert python(package, "-c", script) == "1 5\n"


# ---- the command, as far as it goes without apsw (clients_python.py has the rest) ----


def test_the_command_without_apsw(package, wheel):
    path = package.loadable_path() + "\n"
    assert python(package, "-m", "npyext", "--path") == path and python(package, "-m", "npyext", "--version") == packages.version() + "\n"
    with zipfile.ZipFile(wheel) as archive:
        info = f"npyext-{packages.version()}.dist-info"
        assert "[console_scripts]\nnpyext = npyext._command:main\n" in archive.read(f"{info}/entry_points.txt").decode()
        assert "\nProvides-Extra: apsw\nRequires-Dist: apsw; extra == 'apsw'\n" in archive.read(f"{info}/METADATA").decode()
    script = "import sys; sys.modules['apsw'] = None; from npyext._command import main; print(main(['runs.db']))"
    told = python(package, "-c", script)
    assert "`pip install apsw`" in told and "`npyext --path`" in told and sys.executable in told and told.endswith("\n1\n")


class ShortTerminal(io.StringIO):
    def fileno(self):
        raise OSError("no terminal at all")


def test_the_line_about_what_lasts(package, tmp_path, monkeypatch):
    """Time is what the test says it is."""
    from npyext import _progress

    shown = {(3.2, 1, 512_000_000): "3 s: 1 file opened, 512 MB read, 160 MB/s", (1.0, 0, 0): "1 s: 96 million steps, 96 million/s",
             (10.0, 12345, 9_960_000): "10 s: 12345 files opened, 10 MB read, 996 kB/s", (2.0, 2, 1999): "2 s: 2 files opened, 2.0 kB read, 1.0 kB/s",
             (100.0, 1, 3e15): "100 s: 1 file opened, 3000 TB read, 30 TB/s"}
    for (seconds, nfiles, nbytes), line in shown.items():
        assert _progress.line_of(seconds, nfiles, nbytes, 96_000_000) == line
    numpy.save(tmp_path / "x.npy", numpy.zeros(1_000_000))
    now, terminal = [100.0], ShortTerminal()
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now[0])
    busy, progress = package.connect(), _progress.Progress(terminal, package.connect())
    progress.step(1000)  # before any statement
    for after, written in ((0.9, ""), (0.2, "\r1 s: 1 file opened, 8.0 MB read, 7.3 MB/s"), (0.4, ""), (0.2, "\r1 s: 1 file opened, 8.0 MB read, 4.7 MB/s")):
        if after == 0.9:
            progress.begin()
            busy.execute("SELECT max FROM npy_stats(?)", (str(tmp_path / "x.npy"),)).fetchall()
        terminal.seek(terminal.truncate(0))
        now[0] += after
        progress.step(1000)
        assert terminal.getvalue() == written
    terminal.seek(terminal.truncate(0))
    progress.end()
    progress.end()
    assert terminal.getvalue() == "\r" + " " * len("1 s: 1 file opened, 8.0 MB read, 4.7 MB/s") + "\r"
    progress.begin()
    now[0] += 5
    progress.step(1000)
    assert terminal.getvalue().endswith("\r5 s: 0.0 million steps, 0.0 million/s")


# ---- adapters ----


def test_arrays_go_there_and_back(package, tmp_path):
    def work():
        package.register_adapters()
        db = sqlite3.connect(":memory:", detect_types=sqlite3.PARSE_DECLTYPES)
        package.load(db)
        db.execute("CREATE TABLE runs(name TEXT, loss npy, weights NDARRAY)")
        loss = numpy.linspace(1, 0, 5)
        weights = numpy.asfortranarray(numpy.arange(6, dtype=">i2").reshape(2, 3))
        db.execute("INSERT INTO runs VALUES ('a', ?, ?)", (loss, weights))
        db.execute("INSERT INTO runs VALUES ('b', NULL, ?)", (numpy.zeros((0, 3)),))
        (first, second), (nothing, empty) = db.execute("SELECT loss, weights FROM runs").fetchall()
        numpy.testing.assert_array_equal(first, loss, strict=True)
        numpy.testing.assert_array_equal(second, weights, strict=True)
        assert second.flags.f_contiguous and nothing is None and empty.shape == (0, 3)
        rows = db.execute("SELECT npy_shape(weights), npy_get(loss, -1) FROM runs WHERE name = 'a'").fetchall()
        assert rows == [("[2,3]", 0.0)]

    in_a_child(work)


def test_kinds_of_arrays(package, tmp_path):
    def work():
        package.register_adapters()
        db = sqlite3.connect(":memory:")
        numpy.save(tmp_path / "x.npy", numpy.arange(3))
        mapped = numpy.load(tmp_path / "x.npy", mmap_mode="r")
        records = numpy.rec.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f4")])
        for array in (mapped, records, numpy.matrix([[1]]), numpy.array(5), numpy.array(["a", "bc"])):
            (data,) = db.execute("SELECT ?", (array,)).fetchone()
            numpy.testing.assert_array_equal(package.from_npy(data), numpy.asarray(array))
        (data,) = db.execute("SELECT ?", (numpy.asarray(records)[0],)).fetchone()
        assert package.from_npy(data)["b"] == 2.0
        with pytest.raises(ValueError):
            db.execute("SELECT ?", (numpy.array([object()]),))
        with pytest.raises(TypeError, match="filled"):
            db.execute("SELECT ?", (numpy.ma.array([1]),))
        for wrong in (b"", b"text", b"PK\x03\x04"):
            with pytest.raises(ValueError, match="no .npy file"):
                package.from_npy(wrong)
        for wrong, kind in ((None, "NULL"), ("text", "str"), (5, "int"), ([1], "list")):
            with pytest.raises(ValueError, match=f"this is {kind}$"):
                package.from_npy(wrong)
        sound = package.to_npy([1.0, 2.0])
        for wrong in (sound[:6], sound[:20], sound[:-1], sound[:10] + b"(" * 118, sound.replace(b"<f8", b"|O ")):
            with pytest.raises(ValueError):
                package.from_npy(wrong)
        for whole in (bytearray(sound), memoryview(sound)):
            assert package.from_npy(whole).tolist() == [1.0, 2.0]

    in_a_child(work)


SCALARS = [
    (numpy.int64(-5), -5),
    (numpy.uint8(200), 200),
    (numpy.longlong(1 << 40), 1 << 40),
    (numpy.float16(0.5), 0.5),
    (numpy.float32(0.1), float(numpy.float32(0.1))),
    (numpy.float64(0.1), 0.1),
    (numpy.longdouble(0.25), 0.25),
    (numpy.bool_(True), 1),
    (numpy.complex64(1 - 2j), "[1.0,-2.0]"),
    (numpy.complex64(0.1), "[0.1,0.0]"),
    (numpy.complex128(complex(numpy.nan, -numpy.inf)), "[null,-9e999]"),
    (numpy.str_("text"), "text"),
    (numpy.bytes_(b"bytes"), b"bytes"),
    (numpy.datetime64("2026-01-02"), "2026-01-02"),
    (numpy.datetime64("2026", "Y"), "2026-01-01"),
    (numpy.datetime64("2026-01-02T03", "h"), "2026-01-02 03:00:00"),
    (numpy.datetime64("2026-01-02T03:04:05.123456"), "2026-01-02 03:04:05.123456"),
    (numpy.datetime64("NaT"), None),
    (numpy.timedelta64(90, "s"), 90),
    (numpy.timedelta64("NaT"), None),
]


def test_scalars_bind_as_values(package):
    def work():
        package.register_adapters()
        db = sqlite3.connect(":memory:")
        package.load(db)
        for scalar, expected in SCALARS:
            (value,) = db.execute("SELECT ?", (scalar,)).fetchone()
            assert value == expected and type(value) is type(expected), (scalar, value)
        with pytest.raises(OverflowError):
            db.execute("SELECT ?", (numpy.uint64(1 << 63),))
        # What npyext shows of the same values in an array.
        for scalar, _ in SCALARS:
            if scalar.dtype.kind in "biufcmM" and scalar.dtype.name != "datetime64":
                bound, shown = db.execute("SELECT ?, npy_get(?, 0)", (scalar, numpy.array([scalar]))).fetchone()
                assert bound == shown, scalar

    in_a_child(work)


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "clongdouble"])
def test_complex_numbers_are_found(package, dtype):
    """Bound, they are the text that npyext shows of any bits, with NaN and infinities."""
    rng = seeded_generator()

    def work():
        package.register_adapters()
        db = sqlite3.connect(":memory:")
        package.load(db)
        part = "u4" if dtype == "complex64" else "u8"
        # Random bits have every exponent; numbers of few digits, and of whole values, are what people compare with.
        bits = rng.integers(0, numpy.iinfo(part).max, 2000, part, endpoint=True).view("f4" if part == "u4" else "f8")
        plain = numpy.round(rng.normal(size=1000) * 10.0 ** rng.integers(-6, 20, 1000), 3)
        odd = [numpy.nan, numpy.inf, -numpy.inf, 0.0, -0.0, 1e16, 1e-4, 1e-5]
        parts = numpy.concatenate([bits.astype("f8"), plain, odd, rng.permutation(odd)])
        with numpy.errstate(all="ignore"):
            values = (parts[0::2] + 0j).astype(dtype)
            values.imag = parts[1::2]
        shown = [text for (text,) in db.execute("SELECT value FROM npy_rows(?)", (values,))]
        bound = [db.execute("SELECT ?", (value,)).fetchone()[0] for value in values]
        assert bound == shown and len(bound) == len(parts) // 2
        (found,) = db.execute("SELECT count(*) FROM npy_rows(?) WHERE value = ?", (values, values[1100])).fetchone()
        assert found >= 1

    in_a_child(work)


def test_dates_are_found_in_the_unit_of_the_array(package):
    def work():
        package.register_adapters()
        db = sqlite3.connect(":memory:")
        package.load(db)
        find = lambda array, value: [row for (row,) in db.execute("SELECT row FROM npy_rows(?) WHERE value = ?", (array, value))]
        times = numpy.datetime64("2024-02-29T12", "ns") + numpy.arange(5) * numpy.timedelta64(6, "h")
        day = numpy.datetime64("2024-03-01")
        with pytest.raises(sqlite3.OperationalError, match=re.escape("dates of datetime64[ns] are texts with all their digits")):
            find(times, day)
        assert find(times, day.astype("M8[ns]")) == [2]
        hours = numpy.timedelta64(48, "h")
        assert find(numpy.arange(5).astype("m8[D]"), hours) == [] and find(numpy.arange(5).astype("m8[D]"), hours.astype("m8[D]")) == [2]
        tenths = (numpy.arange(5) / 10).astype("f4")
        assert find(tenths, 0.1) == [] and find(tenths, numpy.float32(0.1)) == [1]

    in_a_child(work)


# ---- repair ----


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint16", "float32", "float16", "bool", "datetime64[us]", "u8"])
def test_scalars_are_repaired(package, dtype):
    values = numpy.array([1, 0, 1, 1], dtype=dtype)
    db = sqlite3.connect(":memory:")
    package.load(db)
    db.execute('CREATE TABLE "odd ""name"""("a column", note)')
    insert = 'INSERT INTO "odd ""name""" VALUES (?, ?)'
    for value in values:
        db.execute(insert, (value.tobytes(), "raw"))
    others = [(7, "integer"), (None, "null"), ("text", "text"), (b"\x01\x02\x03", "blob"), (package.to_npy([1]), "npy")]
    db.executemany(insert, others)
    db.commit()
    assert package.repair_scalars(db, 'odd "name"', "a column", dtype) == len(values)
    assert db.in_transaction
    rows = db.execute('SELECT * FROM "odd ""name"""').fetchall()
    expected = values.astype("M8[us]").astype(str) if dtype.startswith("date") else values.tolist()
    expected = [str(value).replace("T", " ") if dtype.startswith("date") else value for value in expected]
    assert [value for value, _ in rows[: len(values)]] == expected and rows[len(values) :] == others
    assert package.repair_scalars(db, 'odd "name"', "a column", dtype) == 0
    db.rollback()
    assert db.execute('SELECT "a column" FROM "odd ""name"""').fetchone() == (values[0].tobytes(),)


def test_a_repair_that_fails_changes_nothing(package):
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE t(x UNIQUE)")
    db.executemany("INSERT INTO t VALUES (?)", [(b"\x05\0\0\0",), (b"\x06\0\0\0",), (6,)])
    db.commit()
    before = db.execute("SELECT x FROM t").fetchall()
    with pytest.raises(sqlite3.IntegrityError):
        package.repair_scalars(db, "t", "x", "int32")
    assert db.execute("SELECT x FROM t").fetchall() == before
    with pytest.raises(sqlite3.OperationalError, match="no_such"):
        package.repair_scalars(db, "t", "x", "no_such")
