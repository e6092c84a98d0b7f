"""The wheels and npm packages of all platforms: what their objects ask of a machine, and the README's kind of query on each
whose programs run here. macOS's are built and examined, and not run."""

import glob
import json
import os
import re
import shutil
import struct
import subprocess
import tarfile
import zipfile

import pytest

import install_guide
import packages
import platforms
import shell

NAMES = ["linux-x64", "linux-arm64", "linux-x64-musl", "linux-arm64-musl", "darwin-arm64", "darwin-x64", "win32-x64"]
QUESTION = (
    "SELECT * FROM npy_write('ä b.npy', npy_from_json('[[1, 2], [3, 4]]'));"
    "SELECT * FROM npy_write('ä b.npy', npy_from_json('[[1.5, 2], [3, 4]]'));"
    "SELECT path, dtype, shape FROM npy_meta('*.npy');"
    "SELECT row, value FROM npy_rows('ä b.npy');"
)
ANSWER = "ä b.npy|160\nä b.npy|160\nä b.npy|float64|[2,2]\n0|[1.5,2.0]\n1|[3.0,4.0]\n"


@pytest.fixture(autouse=True)
def patience(patience_for):
    """Whoever comes first builds for all platforms."""
    patience_for(10 * shell.PATIENCE)


@pytest.fixture(scope="module")
def wheels():
    """{platform: path}"""
    platforms.built()
    packages.make("wheels")
    paths = glob.glob(os.path.join(shell.ROOT, ".build", "wheels", "*.whl"))
    by_tag = {re.search(r"-py3-none-(.*)\.whl$", path)[1]: path for path in paths}
    return {name: by_tag[platform.wheel] for name, platform in platforms.built().items()}


@pytest.fixture(scope="module")
def npm():
    """The folder of the npm packages."""
    platforms.built()
    packages.make("npm")
    return os.path.join(shell.ROOT, ".build", "npm")


def test_all_platforms_are_there():
    assert list(platforms.built()) == NAMES


@pytest.mark.parametrize("name", platforms.RUN_HERE)
def test_a_question(name, tmp_path):
    """Written, replaced, found by a pattern and read, under a name that is not ASCII."""
    platform = platforms.built()[name]
    program = "sqlite3" if name == "linux-x64" else platforms.sqlite3(name)
    shutil.copy(platform.object, tmp_path)
    script = f".load ./npyext\n{QUESTION}\n"
    (tmp_path / "question.sql").write_text(script, encoding="utf-8")
    said = packages.run(program, "-batch", ":memory:", ".read question.sql", cwd=tmp_path, seconds=600)
    assert said.replace("\r\n", "\n") == ANSWER


@pytest.mark.parametrize("name", platforms.RUN_HERE)
def test_a_number_just_below_a_power_of_two(name, tmp_path):
    """strtod of mingw-w64 makes the power of it."""
    platform = platforms.built()[name]
    program = "sqlite3" if name == "linux-x64" else platforms.sqlite3(name)
    shutil.copy(platform.object, tmp_path)
    text = "3.839223843572815e-239"
    (tmp_path / "question.sql").write_text(f".load ./npyext\nSELECT hex(npy_data(npy_from_json('[{text}]')));\n", encoding="ascii")
    said = packages.run(program, "-batch", ":memory:", ".read question.sql", cwd=tmp_path, seconds=600)
    assert said.strip() == struct.pack("<d", float(text)).hex().upper()


@pytest.mark.parametrize("name", NAMES)
def test_a_wheel(name, wheels):
    platform = platforms.built()[name]
    with zipfile.ZipFile(wheels[name]) as wheel, open(platform.object, "rb") as file:
        (inside,) = [each for each in wheel.namelist() if each.endswith((".so", ".dylib", ".dll"))]
        assert wheel.read(inside) == file.read()
        text = wheel.read(f"npyext-{packages.version()}.dist-info/WHEEL").decode()
    assert re.findall("^Tag: (.*)$", text, re.M) == [f"py3-none-{tag}" for tag in platform.wheel.split(".")]


def test_the_sboms_are_valid(wheels, npm):
    """By CycloneDX's own schema."""
    python = packages.python_with("cyclonedx", "cyclonedx-python-lib[json-validation]")
    check = (
        "import sys; from cyclonedx.validation.json import JsonStrictValidator; from cyclonedx.schema import SchemaVersion; "
        "sys.exit(JsonStrictValidator(SchemaVersion.V1_5).validate_str(sys.stdin.read()) is not None)"
    )
    for name in NAMES:
        with zipfile.ZipFile(wheels[name]) as wheel:
            sbom = wheel.read(f"npyext-{packages.version()}.dist-info/sboms/npyext.cdx.json")
        with tarfile.open(os.path.join(npm, f"npyext-{name}-{packages.version()}.tgz")) as tar:
            assert tar.extractfile("package/npyext.cdx.json").read() == sbom
            assert tar.extractfile("package/LICENSE.zlib").read()
        subprocess.run([python, "-c", check], input=sbom, check=True, timeout=shell.PATIENCE)
        assert subprocess.run([python, "-c", check], input=sbom.replace(b'"library"', b'"book"'), timeout=shell.PATIENCE, stderr=subprocess.DEVNULL).returncode == 1


@pytest.mark.parametrize("name", ["linux-x64", "linux-arm64", "linux-x64-musl", "linux-arm64-musl"])
def test_auditwheel_agrees(name, wheels):
    python = packages.python_with("auditwheel", "auditwheel==6.5.0")
    said = packages.run(python, "-m", "auditwheel", "show", wheels[name], env=install_guide.environment(os.path.expanduser("~")))
    found = re.search(r'consistent with the following platform tag: "([^"]+)"', " ".join(said.split()))
    assert found and found[1] == platforms.built()[name].wheel.split(".")[0], said


@pytest.mark.parametrize("name, other", [("linux-x64-musl", "linux-x64"), ("linux-x64", "linux-arm64"), ("darwin-x64", "darwin-arm64"), ("win32-x64", "linux-x64")])
def test_an_object_of_another_platform_is_no_result(name, other):
    built = platforms.built()
    assert platforms.faults(built[name].object, built[name]) == []
    assert platforms.faults(built[name].object, built[other]) != []


def test_npm_packages_say_where_they_belong(npm):
    version = packages.version()
    with tarfile.open(os.path.join(npm, f"npyext-{version}.tgz")) as tar:
        about = json.load(tar.extractfile("package/package.json"))
    assert set(about["optionalDependencies"]) == {f"npyext-{name}" for name in NAMES}
    for name, platform in platforms.built().items():
        with tarfile.open(os.path.join(npm, f"npyext-{name}-{version}.tgz")) as tar:
            about = json.load(tar.extractfile("package/package.json"))
            assert (about["os"], about["cpu"], about.get("libc", [None])) == tuple([each] for each in platform.npm)
            with open(platform.object, "rb") as file:
                assert tar.extractfile(f"package/{os.path.basename(platform.object)}").read() == file.read()


def test_npm_packages_are_installed_and_asked(npm, tmp_path):
    version = packages.version()
    env = install_guide.environment(str(tmp_path))
    mine = [os.path.join(npm, f"npyext-{version}.tgz"), os.path.join(npm, f"npyext-linux-x64-{version}.tgz")]
    # optional ones that no registry has yet are left out, as npm does with those of other platforms
    packages.run("npm", "install", "--silent", "--no-audit", "--no-fund", *mine, "better-sqlite3@11", cwd=tmp_path, env=env, seconds=900)
    program = (
        "const db = new (require('better-sqlite3'))(':memory:');\n"
        "require('npyext').load(db);\n"
        "db.prepare(\"SELECT * FROM npy_write('x.npy', npy_from_json('[[1, 2], [3, 4]]'))\").all();\n"
        "console.log(JSON.stringify(db.prepare(\"SELECT row, value FROM npy_rows('x.npy')\").all()));\n"
        "import('npyext').then((m) => console.log(typeof m.load, m.getLoadablePath().endsWith('npyext.so')));\n"
        "try { require('npyext').load('x.db'); } catch (error) { console.log(error.message); }\n"
    )
    (tmp_path / "program.js").write_text(program)
    said = packages.run("node", "program.js", cwd=tmp_path, env=env)
    assert said.splitlines() == [
        '[{"row":0,"value":"[1,2]"},{"row":1,"value":"[3,4]"}]',
        "npyext.load takes a database of better-sqlite3 or node:sqlite, which has loadExtension",
        "function true",
    ]


def unpack(package, folder):
    """As npm does, which on this machine refuses what is for Windows."""
    with tarfile.open(package) as tar:
        tar.extractall(folder)
    os.rename(os.path.join(folder, "package"), folder + ".new")
    os.rmdir(folder)
    os.rename(folder + ".new", folder)


def test_node_of_windows_asks(npm, tmp_path):
    """Node's own distribution for Windows, with the SQLite that is in it, under Wine. Its output is a file's: Node finds no
    terminal and no pipe there."""
    modules = tmp_path / "node_modules"
    for name in ("npyext", "npyext-win32-x64"):
        os.makedirs(modules / name)
        unpack(os.path.join(npm, f"{name}-{packages.version()}.tgz"), str(modules / name))
    program = (
        "const { DatabaseSync } = require('node:sqlite');\n"
        "const db = new DatabaseSync(':memory:', { allowExtension: true });\n"
        "require('npyext').load(db);\n"
        "db.prepare(\"SELECT * FROM npy_write('x.npy', npy_from_json('[[1, 2], [3, 4]]'))\").all();\n"
        "const rows = db.prepare(\"SELECT row, value FROM npy_rows('x.npy')\").all();\n"
        "require('fs').writeFileSync('answer.json', JSON.stringify([process.platform, rows]));\n"
    )
    (tmp_path / "program.js").write_text(program)
    packages.run(*platforms.node_of_windows(), "--no-warnings", "program.js", cwd=tmp_path, seconds=600)
    answer = json.loads((tmp_path / "answer.json").read_text())
    assert answer == ["win32", [{"row": 0, "value": "[1,2]"}, {"row": 1, "value": "[3,4]"}]]


def test_a_missing_platform_is_told(npm, tmp_path):
    with tarfile.open(os.path.join(npm, f"npyext-{packages.version()}.tgz")) as tar:
        tar.extractall(tmp_path)
    program = "try { require('./package').getLoadablePath(); } catch (error) { console.log(error.message); }"
    said = packages.run("node", "-e", program, cwd=tmp_path)
    assert "the package npyext-linux-x64 is not installed" in said and "--omit=optional" in said
