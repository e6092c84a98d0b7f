"""The plugins of the wheel: Datasette's page of arrays and its pictures in cells, by HTTP and in headless Chromium, and
sqlite-utils (`make check-clients`)."""

import json
import os
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import numpy as np
import pytest

import install_guide
import packages
import pictures
import shell
from formats import npy
from visits import LOOKS, barriers, chromium, is_light  # noqa: F401


@pytest.fixture(scope="module")
def python():
    return packages.python_with("datasette", packages.wheel(), "datasette", "sqlite-utils")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs as people have them: one of them broken, one with NaN; and what is nobody's business beside it."""
    root = tmp_path_factory.mktemp("datasette")
    data = root / "data"
    os.makedirs(data / "runs" / "r1")
    os.makedirs(data / "odd [x]* & co")
    np.save(data / "runs" / "r1" / "loss.npy", np.exp(-np.arange(200) / 50))
    np.save(data / "runs" / "diverged.npy", np.where(np.arange(200) > 150, np.nan, 1.0))
    (data / "runs" / "cut.npy").write_bytes(npy("<f8", (1000,), bytes(80)))
    np.savez(data / "runs" / "model.npz", **{"a.weight": np.arange(12.0).reshape(3, 4), "<b>": np.full(3, np.inf)})
    np.save(data / "odd [x]* & co" / "picture.npy", np.arange(20 * 30 * 3, dtype="u1").reshape(20, 30, 3))
    np.save(data / "records.npy", np.zeros(4, [("x", "f4"), ("name", "U3")]))
    np.save(data / "texts.npy", np.array(["a", "b"]))
    np.save(root / "secret.npy", np.arange(3))
    os.symlink(root / "secret.npy", data / "link.npy")
    os.symlink(root, data / "out")
    return root


@pytest.fixture(scope="module")
def serve(python, folder):
    """serve(*options, root=...) -> fetch(path, **query) -> (status, text, seconds)."""
    servers = []

    def begin(*options, config=None):
        port = install_guide.free_port()
        command = [python, "-m", "datasette", "--memory", "--host", "127.0.0.1", "--port", str(port), *options]
        if config is not None:
            path = folder / f"metadata-{port}.json"
            path.write_text(json.dumps({"plugins": {"npyext": config}}))
            command += ["--metadata", str(path)]
        log = open(folder / f"log-{port}", "w")
        env = {name: value for name, value in os.environ.items() if name != "NPYEXT_ROOT"}
        server = subprocess.Popen(command, cwd=folder / "data", stdout=log, stderr=log, env=env)
        servers.append((server, log))
        base = f"http://127.0.0.1:{port}"

        def fetch(page, **query):
            began = time.monotonic()
            try:
                with urllib.request.urlopen(f"{base}{page}?{urllib.parse.urlencode(query)}", timeout=shell.PATIENCE) as answer:
                    return answer.status, answer.read().decode(), time.monotonic() - began
            except urllib.error.HTTPError as error:
                return error.code, error.read().decode(), time.monotonic() - began

        fetch.base = base
        for _ in range(300):
            try:
                fetch("/-/versions.json")
                return fetch
            except urllib.error.URLError:
                assert server.poll() is None, (folder / f"log-{port}").read_text()
                time.sleep(0.2)
        raise AssertionError("Datasette does not answer")

    yield begin
    for server, log in servers:
        server.terminate()
        server.wait()
        log.close()


@pytest.fixture(scope="module")
def datasette(serve):
    return serve("--setting", "sql_time_limit_ms", "1000")


def cells(text):
    """The texts of the cells of a page's tables, row by row."""
    rows = re.findall(r"<tr>(.*?)</tr>", text, re.S)
    return [[re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.S)] for row in rows]


def test_a_folder_shows_which_array_is_broken_and_which_has_nan(datasette):
    status, text, _ = datasette("/-/arrays", path="runs")
    assert status == 200 and 'href="/-/arrays?path=runs/r1"' in text
    lines = {(line[0], line[1]): line for line in cells(text) if line}
    assert set(lines) == {("cut.npy", ""), ("diverged.npy", ""), ("model.npz", "a.weight"), ("model.npz", "&lt;b&gt;")}
    assert lines["cut.npy", ""][2].startswith("runs/cut.npy: data is truncated (header says 8000 bytes, there are 80 from byte 128)")
    assert lines["diverged.npy", ""][2:9] == ["float64", "[200]", "49", "", "1", "1", "1"] and lines["diverged.npy", ""][9].endswith("····")
    assert lines["model.npz", "a.weight"][2:9] == ["float64", "[3,4]", "", "", "0", "11", "5.5"] and len(lines["model.npz", "a.weight"][9]) == 24
    assert lines["model.npz", "&lt;b&gt;"][5] == "3" and "<b>" not in text


def test_the_first_page_has_the_folders(datasette):
    status, text, _ = datasette("/-/arrays")
    assert status == 200 and ">runs/</a>" in text and ">odd [x]* &amp; co/</a>" in text
    assert "2 fields" in text and "No files" not in text
    assert '<a href="/-/arrays">Arrays</a>' in datasette("/")[1]  # in the menu


def test_one_array(datasette):
    status, text, _ = datasette("/-/arrays", path="runs/model.npz", array="a.weight")
    assert status == 200 and "[[ 0.  1.  2.  3.] [ 4.  5.  6.  7.] [ 8.  9. 10. 11.]]" in text
    assert "data:image/png;base64," in text and "<rect " in text and "Statistics" in text
    assert "[0. 1. 2. 3.]" in text and "array=%3Cb%3E" in text
    assert "data:image/svg+xml;base64," in datasette("/-/arrays", path="runs/r1/loss.npy")[1]
    _, text, _ = datasette("/-/arrays", path="records.npy")
    assert "field" in text and "name" in text and "data:image" not in text
    assert "a and b" not in text and "<td>a</td>" in datasette("/-/arrays", path="texts.npy")[1]
    assert "data is truncated" in datasette("/-/arrays", path="runs/cut.npy")[1]
    assert "data:image/png" in datasette("/-/arrays", path="odd [x]* & co/picture.npy")[1]


@pytest.mark.parametrize("path", ["..", "../secret.npy", "/etc", "link.npy", "out", "out/secret.npy", "runs/../../secret.npy"])
def test_nothing_is_seen_outside_of_the_root(datasette, path):
    status, text, _ = datasette("/-/arrays", path=path)
    assert status == 403 and "leads out" in text
    assert datasette("/-/arrays", path="missing")[0] == 404
    status, text, _ = datasette("/_memory.json", sql=f"SELECT * FROM npy_meta('{path}')", _shape="array")
    assert status == 400 or json.loads(text) == []


def test_nothing_writes(datasette):
    status, text, _ = datasette("/_memory.json", sql="SELECT * FROM npy_write('y.npy', npy_from_json('[1]'))", _shape="array")
    assert status == 400 and "no such table: npy_write" in json.loads(text)["error"]


def test_pictures_in_cells(datasette):
    status, text, _ = datasette("/_memory", sql="SELECT npy_png(npy_from_json('[[0, 1], [2, 3]]'), 'viridis'), npy_plot(npy_from_json('[1, 2]'), '<script>alert(1)</script>')")
    assert status == 200 and text.count('<img src="data:image/') == 2 and "<script>alert(1)" not in text
    status, text, _ = datasette("/_memory", sql="SELECT x'89504e47', 'a <svg that is none>', '<svg onload=\"alert(1)\"></svg>'")
    assert "data:image/png" not in text and '<svg onload="alert(1)">' not in text


def test_the_time_limit_is_that_of_a_page(serve, folder):
    np.lib.format.open_memmap(folder / "data" / "runs" / "r1" / "zeros.npy", mode="w+", dtype="f8", shape=(1 << 33,))
    try:
        fetch = serve("--setting", "sql_time_limit_ms", "300")
        for path in ("runs/r1", "runs/r1/zeros.npy"):
            status, text, seconds = fetch("/-/arrays", path=path)
            assert status == 200 and "There was no time for" in text and seconds < 10, text
    finally:
        os.remove(folder / "data" / "runs" / "r1" / "zeros.npy")


def test_the_root_of_the_configuration(serve, folder):
    fetch = serve(config={"root": str(folder / "data" / "runs")})
    status, text, _ = fetch("/-/arrays")
    assert status == 200 and ">r1/</a>" in text and "diverged.npy" in text
    assert fetch("/-/arrays", path="../texts.npy")[0] == 403


def test_who_may_not_execute_sql_sees_no_arrays(serve):
    fetch = serve("--setting", "default_allow_sql", "off")
    assert fetch("/-/arrays")[0] == 403


def test_many_files_are_on_several_pages(serve, folder):
    os.mkdir(folder / "data" / "many")
    for i in range(120):
        (folder / "data" / "many" / f"{i:03}.npy").write_bytes(npy("<f8", (1,), bytes(8)))
    fetch = serve()
    seen, first = [], "0"
    while first is not None:
        _, text, _ = fetch("/-/arrays", path="many", first=first)
        seen += [line[0] for line in cells(text) if line]
        found = re.search(r'first=(\d+)">Next', text)
        first = found and found[1]
    assert seen == [f"{i:03}.npy" for i in range(120)]


def test_the_page_in_a_browser(datasette, tmp_path):
    """Pictures load, nothing is wider than a phone but what scrolls by itself, and no script is run."""
    for width in (1200, 420):
        path = tmp_path / f"{width}.png"
        url = f"{datasette.base}/-/arrays?path=runs/model.npz&array=a.weight"
        subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},1400", f"--screenshot={path}", url],
                       check=True, capture_output=True, timeout=shell.PATIENCE)
        pixels = pictures.png_pixels(path.read_bytes())[1][..., :3].reshape(-1, 3)
        # the ends of viridis, of the picture, and the colour of the bars
        for colour in ((0x44, 0x01, 0x54), (0xFD, 0xE7, 0x25), (0x27, 0x68, 0x90)):
            assert (np.abs(pixels.astype(int) - colour).max(1) <= 2).sum() > 100, (width, colour)


LONG_NAME = "a-run-with-a-very-long-name-" * 5 + ".npy"


@pytest.fixture(scope="module")
def odd(folder):
    """What does not fit: long names and texts, wide records, pictures of one pixel's width; and what has no values."""
    root = folder / "data" / "odd"
    os.makedirs(root)
    np.save(root / LONG_NAME, np.arange(100))
    np.savez(root / "named.npz", **{"x" * 200: np.arange(3.0), "b": np.arange(4.0)})
    np.save(root / "text.npy", np.array(["word" * 200, "b"]))
    np.save(root / "wide.npy", np.zeros(3, [(f"column_{i}", "f8") for i in range(60)]))
    np.save(root / "nan.npy", np.full(3, np.nan))
    np.save(root / "nat.npy", np.array(["2020-01-01", "NaT"], "M8[D]"))
    np.save(root / "null.npy", np.array([None, 1], object))
    np.save(root / "empty.npy", np.zeros(0))
    for shape in ((1, 1), (1, 1000), (1000, 1), (600, 900)):
        np.save(root / "picture-{}-{}.npy".format(*shape), np.arange(shape[0] * shape[1], dtype="u1").reshape(shape))
    return root


@pytest.mark.parametrize("look", LOOKS)
def test_nothing_is_wider_than_the_screen_or_without_end(datasette, chromium, odd, look):
    for name in ("", *sorted(os.listdir(odd))):
        page = chromium.open(f"{datasette.base}/-/arrays?path={urllib.parse.quote(os.path.join('odd', name))}")
        page.look(*look)
        page.wait("[...document.images].every((image) => image.complete)")
        assert page.js("document.documentElement.scrollWidth <= innerWidth"), name
        assert page.js("[...document.querySelectorAll('.table-wrapper')].every((box) => box.scrollWidth <= box.clientWidth)"), name
        assert name == "wide.npy" or page.js("document.documentElement.scrollHeight") < 5000, name
        (shown,) = page.js("[...document.images].map((image) => [image.clientWidth, image.clientHeight])") or [[16, 16]]
        assert min(shown) >= 16 and max(shown) <= 1280 and shown[1] <= 640, name
        assert not name.endswith("600-900.npy") or abs(shown[0] / shown[1] - 1.5) < 0.02


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_no_barriers(datasette, chromium, odd, look):
    for path in ("", "runs", "odd", "odd/text.npy", "odd/wide.npy", "odd/named.npz", "odd/picture-1-1000.npy", "runs/cut.npy", "runs/r1/loss.npy"):
        page = chromium.open(f"{datasette.base}/-/arrays?path={path}")
        page.look(*look)
        assert barriers(page) == [], path
        assert page.js("[...document.images].every((image) => image.alt !== '')")


@pytest.mark.parametrize("is_dark", [False, True])
def test_it_is_dark_in_the_dark(datasette, chromium, is_dark):
    page = chromium.open(f"{datasette.base}/-/arrays?path=runs/r1/loss.npy")
    page.look(1280, is_dark)
    assert (sum(map(int, re.findall(r"\d+", page.js("getComputedStyle(document.body).backgroundColor")))) < 150) == is_dark
    page.wait("[...document.images].every((image) => image.complete)")
    assert is_light(page, "main") != is_dark and is_light(page, "main img") != is_dark


def test_missing_values_have_numpys_names(datasette, odd):
    for name, wanted in (("nan", ["NaN", "NaN", "NaN"]), ("nat", ["2020-01-01", "NaT"]), ("null", ["null", "1"])):
        _, text, _ = datasette("/-/arrays", path=f"odd/{name}.npy")
        rows = text[text.index("<h2>First rows</h2>") :]
        assert [line[1] for line in cells(rows) if line] == wanted


def test_what_has_no_values_has_no_distribution(datasette, odd):
    for name in ("empty", "nan"):
        status, text, _ = datasette("/-/arrays", path=f"odd/{name}.npy")
        assert status == 200 and "Distribution" not in text and "Statistics" in text
    assert "data:image" not in datasette("/-/arrays", path="odd/empty.npy")[1]


def test_what_is_not_there_is_not_found(datasette, odd, folder):
    status, text, _ = datasette("/-/arrays", path="odd/named.npz", array="nope")
    assert status == 404 and "There is no array nope in odd/named.npz." in text
    assert datasette("/-/arrays", path="odd/nan.npy", array="nope")[0] == 404
    status, text, _ = datasette("/-/arrays", path="odd", first="9999")
    assert status == 404 and "There are only 12 files of arrays here." in text
    assert datasette("/-/arrays", path="odd", first="11")[0] == 200
    assert "data is truncated" in datasette("/-/arrays", path="runs/cut.npy", array="nope")[1]
    np.savez(odd / "many.npz", **{f"a{i:03}": np.full(2, i) for i in range(250)})  # more than are listed
    try:
        status, text, _ = datasette("/-/arrays", path="odd/many.npz", array="a249")
        assert status == 200 and "[249 249]" in text
    finally:
        os.remove(odd / "many.npz")


@pytest.mark.parametrize("look", LOOKS)
def test_pictures_in_cells_fit(datasette, chromium, odd, look):
    page = chromium.open(f"{datasette.base}/_memory?sql=" + urllib.parse.quote("SELECT npy_png(array) AS picture FROM npy_file('odd/picture-600-900.npy') UNION ALL SELECT npy_png(array) FROM npy_file('odd/picture-1000-1.npy')"))
    page.look(*look)
    page.wait("[...document.images].every((image) => image.complete)")
    shown = page.js("[...document.images].map((image) => [image.clientWidth, image.clientHeight])")
    assert len(shown) == 2 and max(width for width, _ in shown) <= look[0] and min(map(min, shown)) >= 16 and max(height for _, height in shown) <= 640


def test_another_entry_point_that_is_asked_for_stays(serve, python):
    path = packages.run(python, "-m", "npyext", cwd="/").strip()
    fetch = serve("--load-extension", path)
    status, text, _ = fetch("/_memory.json", sql="SELECT count(*) AS n FROM npy_write('made.npy', npy_from_json('[1]'))", _shape="array")
    assert (status, json.loads(text)) == (200, [{"n": 1}])


def test_sqlite_utils(python, folder):
    utils = os.path.join(os.path.dirname(python), "sqlite-utils")
    for more in ((), ("--load-extension", packages.run(python, "-m", "npyext", cwd="/").strip())):
        printed = packages.run(utils, "memory", "SELECT dtype, shape FROM npy_meta('texts.npy')", *more, cwd=folder / "data")
        assert json.loads(printed) == [{"dtype": "str32", "shape": "[2]"}]
    script = "import sqlite_utils, npyext; db = sqlite_utils.Database(memory=True); npyext.load(db.conn); print(list(db.query(\"SELECT count(*) AS n FROM npy_write('made.npy', npy_from_json('[1]'))\")))"
    assert packages.run(python, "-c", script, cwd=folder / "data").strip() == "[{'n': 1}]"
