"""The page for browsers in headless Chromium: files of NumPy and others, chosen and dropped, and what it answers (`make
check-clients`)."""

import json
import math
import os
import re
import sqlite3
import tarfile
import time

import numpy as np
import pytest

import browser
import packages
import shell
from formats import npy, safetensors, ten
from visits import LOOKS, WEB, Visit, barriers, base, chromium, is_light  # noqa: F401

LARGE_NBYTES = 2 << 30


@pytest.fixture
def visit(chromium, base):
    chromium.faults.clear()
    yield Visit(chromium, base)
    assert chromium.faults == []


rng = np.random.default_rng(7)
X = rng.normal(size=(40, 30))
LABELS = rng.integers(0, 5, 40)
PIXELS = rng.integers(0, 256, (12, 17, 3), "u1")
W = rng.normal(size=(8, 4)).astype("f4")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What people have, each file by the program that writes such files."""
    root = tmp_path_factory.mktemp("files")
    np.save(root / "X.npy", X)
    np.save(root / "it's 1 [odd] % name é.npy", X.T)
    np.save(root / "pixels.npy", PIXELS)
    np.save(root / "names.npy", np.array(["é", "<b>x</b>", "c"]))
    np.save(root / "records.npy", np.array([(1, 2.5), (2, np.nan)], [("step", "i4"), ("loss", "f8")]))
    np.savez(root / "stored.npz", X=X, labels=LABELS)
    np.savez_compressed(root / "deflated.npz", X=X, labels=LABELS, one=np.float32(1.5))
    (root / "arrays.ten").write_bytes(ten([("f4", "w", W.shape, W.tobytes()), ("i8", "labels", LABELS.shape, LABELS.astype("<i8").tobytes())]))
    (root / "model.safetensors").write_bytes(safetensors([("layer.weight", "F32", W.shape, W.tobytes()), ("half", "BF16", (2,), b"\x80\x3f\x00\x40")], {"format": "np"}))
    with tarfile.open(root / "shard.tar", "w") as tar:
        for i in range(5):
            np.save(root / "row", X[i])
            (root / "row.cls").write_text(str(LABELS[i]))
            tar.add(root / "row.npy", f"{i:06}.npy")
            tar.add(root / "row.cls", f"{i:06}.cls")
    (root / "row.npy").unlink(), (root / "row.cls").unlink()
    (root / "cut.npy").write_bytes(npy("<f8", (1000,), bytes(80)))
    log = sqlite3.connect(root / "runs log.db")
    log.execute("PRAGMA journal_mode = WAL")
    log.execute("CREATE TABLE runs(row INTEGER, name TEXT)")
    log.executemany("INSERT INTO runs VALUES (?, ?)", [(i, f"run {i}") for i in range(40)])
    log.commit()
    log.close()
    return root


def paths(folder):
    return sorted(path for path in folder.iterdir() if path.is_file() and path.suffix not in (".db-shm", ".db-wal"))


def numbers(rows):
    return np.array([[float(cell) for cell in row] for row in rows])


def test_answers_are_those_of_numpy(visit, folder):
    visit.choose(*paths(folder))
    assert np.array_equal(numbers(visit.ask("SELECT i0, i1, value FROM npy_elements('X.npy') LIMIT 500"))[:, 2], X.ravel()[:500])
    assert [json.loads(value) for (value,) in visit.ask("SELECT value FROM npy_rows('it''s 1 [odd] % name é.npy')")] == X.T.tolist()
    for source in ("'X.npy', ''", "'stored.npz', 'X'", "'deflated.npz', 'X'"):
        ((count, least, greatest, mean, std),) = numbers(visit.ask(f"SELECT count, min, max, mean, std FROM npy_stats({source})"))
        assert (count, least, greatest) == (X.size, X.min(), X.max())
        assert np.allclose([mean, std], [X.mean(), X.std()], rtol=1e-12)
    counts, edges = np.histogram(X, 7)
    assert np.array_equal(numbers(visit.ask("SELECT lo, count FROM npy_histogram('X.npy', '', '', 7)")), np.c_[edges[:-1], counts])
    for source in ("'arrays.ten', 'labels'", "'stored.npz', 'labels'", "'deflated.npz', 'labels'"):
        wanted = [[str(value), str(count)] for value, count in zip(*np.unique(LABELS, return_counts=True))]
        assert visit.ask(f"SELECT value, count FROM npy_unique({source}) ORDER BY value") == wanted
    assert np.array_equal(np.array([json.loads(value) for (value,) in visit.ask("SELECT value FROM npy_rows('arrays.ten', 'w')")], "f4"), W)
    assert np.array_equal(np.array([json.loads(value) for (value,) in visit.ask("SELECT value FROM npy_rows('model.safetensors', 'layer.weight')")], "f4"), W)
    assert visit.ask("SELECT value FROM npy_rows('model.safetensors', 'half')") == [["1.0"], ["2.0"]]
    assert visit.ask("SELECT value FROM npy_rows('names.npy')") == [["é"], ["<b>x</b>"], ["c"]]
    rows = visit.ask("CREATE VIRTUAL TABLE temp.samples USING wds('shard.tar'); SELECT cls, npy_get(npy, -1) FROM temp.samples")
    assert np.array_equal(numbers(rows), np.c_[LABELS[:5], X[:5, -1]])
    distances = np.linalg.norm(X - X[0], axis=1)
    rows = visit.ask("SELECT row, distance FROM npy_nearest('X.npy', '', '', (SELECT array FROM npy_rows('X.npy') WHERE row = 0), 5)")
    assert [int(row) for row, _ in rows] == np.argsort(distances)[:5].tolist()


NATIVELY_TOO = [
    "SELECT path, name, dtype, descr, shape, nbytes, format, error FROM npy_meta('**/*.*', 'row') WHERE path NOT LIKE '%.db%'",
    "SELECT path, name, count, nulls, min, max, mean, std, sum, crc32, error FROM npy_stats('*.{npz,ten,tar,safetensors,npy}') WHERE on_error = 'row'",
    "SELECT name, value, count FROM npy_unique('stored.npz', 'labels')",
    "SELECT name, method, compressed_size, crc32, crc_ok FROM npz_members('*.npz')",
    "SELECT status, max_abs, differing FROM npy_compare('stored.npz', 'deflated.npz')",
    "SELECT q, value FROM npy_quantile('X.npy', '', '', '[0.1, 0.5]')",
    "SELECT hex(npz_archive('a', npy_from_json('[1, 2]'), 'deflate')) IS NOT NULL, npy_hash('x'), npy_preview(array, 2), npy_spark(array) FROM npy_file('X.npy')",
]


def native(folder, sql):
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    db.load_extension(shell.EXTENSION)
    before = os.getcwd()
    os.chdir(folder)
    try:
        return db.execute(sql).fetchall()
    finally:
        os.chdir(before)


def test_answers_are_those_of_the_native_library(visit, folder):
    visit.choose(*paths(folder))
    for sql in NATIVELY_TOO:
        got, wanted = visit.ask(sql), native(folder, sql)
        assert len(got) == len(wanted) > 0, sql
        for got_row, wanted_row in zip(sorted(got), sorted(wanted, key=lambda row: ["NULL" if cell is None else str(cell) for cell in row])):
            for got_cell, cell in zip(got_row, wanted_row):
                # moments are added up in an order that depends on the processor
                is_same = math.isclose(float(got_cell), cell, rel_tol=1e-13, abs_tol=1e-15) if isinstance(cell, float) else got_cell == ("NULL" if cell is None else str(cell))
                assert is_same, (sql, got_row, wanted_row)


def test_every_ready_query_of_every_file_runs(visit, folder):
    visit.choose(*paths(folder))
    ran = 0
    for path in paths(folder):
        visit.until_ready()
        visit.page.js(f"[...document.querySelectorAll('#files input')].find((input) => input.value === {json.dumps(path.name)}).click()")
        visit.page.wait(f"document.querySelector('#files .chosen input')?.value === {json.dumps(path.name)}")
        for sql in visit.page.js("[...document.querySelector('#ready').options].map((option) => option.value)"):
            if "npy_compare" in sql and "X.npy" not in sql:
                continue  # of many pairs some are enough
            if "'cut.npy'" in sql and "npy_meta" not in sql:
                with pytest.raises(browser.Failed, match="data is truncated"):
                    visit.ask(sql)
                continue
            visit.ask(sql)
            ran += 1
            assert "npy_png" not in sql and "npy_plot" not in sql or min(min(visit.pictures())) > 0
    assert ran > 100


def test_the_menu_follows_what_is_chosen(visit, folder):
    visit.choose(folder / "stored.npz", folder / "pixels.npy")
    assert visit.page.js("document.querySelector('#sql').value").startswith("SELECT name, dtype, shape")
    pick = lambda menu, label: visit.page.js(f"(menu => {{ menu.selectedIndex = [...menu.options].findIndex(({{ textContent }}) => textContent.startsWith('{label}')); menu.dispatchEvent(new Event('change')); }})(document.querySelector('{menu}'))")
    pick("#ready", "Statistics")
    for array in ("X", "labels"):
        pick("#array", array)
        sql = visit.page.js("document.querySelector('#sql').value")
        assert "npy_stats('stored.npz', '%s')" % array in sql
        visit.page.js("document.querySelector('#run').click()")
        visit.until_ready()
        assert visit.page.js("document.querySelector('#sql').value") == sql and visit.text("#results td") == str({"X": X, "labels": LABELS}[array].size)
    visit.ask("SELECT 42")
    visit.page.js("document.querySelectorAll('#files input')[1].click()")
    visit.page.wait("document.querySelector('#files .chosen input').value === 'pixels.npy'")
    assert visit.page.js("document.querySelector('#sql').value") == "SELECT 42"  # one's own text stays


def test_pictures_are_pictures(visit, folder):
    visit.choose(folder / "X.npy", folder / "pixels.npy")
    visit.ask("SELECT npy_png(array, 'viridis'), npy_plot(array, '<i>') FROM npy_file('X.npy') UNION ALL SELECT npy_png(array), 1 FROM npy_file('pixels.npy')")
    assert visit.pictures() == [[30, 40], [720, 360], [17, 12]]
    assert visit.ask("SELECT x'89504e47', zeroblob(3), array, '<svg onload=1' FROM npy_file('X.npy')")[0][:2] == ["BLOB, 4 bytes", "BLOB, 3 bytes"]
    assert visit.pictures() == []


def test_results_are_cut_and_say_so(visit):
    rows = visit.ask("WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t WHERE i < 12345) SELECT i FROM t")
    assert len(rows) == 500 and visit.text(".count") == "The first 500 of 12,345 rows are shown."
    visit.ask("WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t) SELECT i FROM t")
    assert re.fullmatch(r"The first 500 rows are shown, of more than [\d,]+\.", visit.text(".count"))
    assert visit.ask("SELECT 9007199254740993, -9223372036854775808, 1e300, 1.0, 9e999, NULL") == [["9007199254740993", "-9223372036854775808", "1e+300", "1.0", "Inf", "NULL"]]
    assert visit.ask("") == [] and "no rows" in visit.text("#status")


def test_errors_are_readable_and_the_page_goes_on(visit, folder):
    visit.choose(folder / "cut.npy")
    for sql, said in [
        ("SELECT * FROM npy_rows('gone.npy')", "npyext: gone.npy: no such file"),
        ("SELECT * FROM npy_stats('cut.npy')", "npyext: cut.npy: data is truncated (header says 8000 bytes, there are 80 from byte 128)"),
        ("SELEC 1", 'near "SELEC": syntax error'),
        ("SELECT 1; SELECT gone", "no such column: gone"),
        ("ATTACH 'cut.npy' AS x; SELECT * FROM x.t", "file is not a database"),
    ]:
        with pytest.raises(browser.Failed, match=re.escape(said)):
            visit.ask(sql)
        assert visit.ask("SELECT 1") == [["1"]]


def test_a_large_file_is_read_by_slices(visit, tmp_path):
    shape = (LARGE_NBYTES // 8000, 1000)
    array = np.lib.format.open_memmap(tmp_path / "large.npy", "w+", "f8", shape)
    array[-2] = np.arange(1000)
    del array
    visit.choose(tmp_path / "large.npy")
    rows = visit.ask(f"SELECT row, npy_sum(array), value FROM npy_rows('large.npy') WHERE row = {shape[0] - 2}")
    assert rows[0][:2] == [str(shape[0] - 2), "499500.0"] and rows[0][2].endswith("… (5,891 characters)")
    assert json.loads(visit.ask("SELECT npyext_counters()")[0][0])["bytes_read"] < 32768
    assert visit.ask("SELECT npy_get(array, -2, -1) FROM npy_file('large.npy')") == [["999.0"]]
    read = int(re.search(r"([\d,]+) bytes read", visit.text("#status"))[1].replace(",", ""))
    assert read <= 3 << 16


def test_a_long_query_is_stopped_and_the_page_goes_on(visit, folder):
    visit.choose(folder / "X.npy", folder / "runs log.db")
    visit.ask("SELECT * FROM npy_write('mine.npy', npy_from_json('[4, 5]'))")
    endless = "WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t) SELECT count(*) FROM t, npy_rows('X.npy')"
    for stop in (lambda: visit.page.js("document.querySelector('#stop').click()"), lambda: visit.page.press("Escape", 27)):
        visit.begin(endless)
        visit.page.wait("/ s, .* read/.test(document.querySelector('#status').textContent)")
        stop()
        visit.until_ready()
        assert visit.text("#status").startswith("Stopped.") and visit.text("#error") == ""
        assert visit.ask("SELECT count(*) FROM npy_rows('X.npy')") == [["40"]]
        assert visit.ask("SELECT value FROM npy_rows('mine.npy')") == [["4"], ["5"]]
        assert visit.ask("SELECT count(*) FROM \"runs log\".runs") == [["40"]]


def test_what_sql_writes_can_be_downloaded(chromium, visit, folder, tmp_path):
    chromium.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    visit.choose(folder / "X.npy")
    assert visit.ask("SELECT path FROM npy_write('out.npy', (SELECT npy_astype(array, '<f4') FROM npy_file('X.npy')))") == [["out.npy"]]
    visit.ask("SELECT * FROM npy_write('both.npz', (SELECT npz_archive(name, array, 'deflate') FROM (SELECT 'a' AS name, array FROM npy_file('X.npy') UNION ALL SELECT 'b', npy_from_json('[1]'))))")
    visit.ask("CREATE VIRTUAL TABLE temp.t USING npy('rows.npy', mode='w+', dtype='[(''x'', ''<i8''), (''y'', ''<f8'')]')")
    visit.ask("BEGIN; INSERT INTO t VALUES (1, 2.5), (3, 4.5); COMMIT; INSERT INTO t VALUES (5, 6.5)")
    visit.ask("CREATE VIRTUAL TABLE temp.u USING npy('out.npy', mode='r+'); UPDATE u SET c0 = 7 WHERE rowid = 1")
    visit.ask("CREATE VIRTUAL TABLE temp.w USING npy('out.npy', mode='r+'); BEGIN; UPDATE u SET c0 = 8 WHERE rowid = 1")
    with pytest.raises(browser.Failed, match="is being written to by table u; commit its rows first"):
        visit.ask("UPDATE w SET c0 = 9")
    visit.ask("ROLLBACK")
    visit.ask("CREATE VIRTUAL TABLE temp.s USING wds('out-%06d.tar', mode='w+', columns='cls, txt'); INSERT INTO s(__key__, cls, txt) VALUES ('a', 1, 'one'), ('b', 2, 'two')")
    visit.ask("ATTACH 'made.db' AS made; CREATE TABLE made.t AS SELECT row FROM npy_rows('X.npy')")
    with pytest.raises(browser.Failed, match="X.npy"):  # the visitor's own file is not written to
        visit.ask("CREATE VIRTUAL TABLE temp.v USING npy('X.npy', mode='a'); INSERT INTO v SELECT * FROM v LIMIT 1")
    names = visit.page.js("[...document.querySelectorAll('#files a')].map((link) => link.download)")
    assert sorted(names) == ["both.npz", "made.db", "out-000000.tar", "out.npy", "rows.npy"]
    for name in names:
        visit.page.js(f"[...document.querySelectorAll('#files a')].find((link) => link.download === {json.dumps(name)}).click()")
        until = time.monotonic() + shell.PATIENCE
        while not (tmp_path / name).exists() and time.monotonic() < until:
            visit.page.js("1")
            time.sleep(0.05)
    wanted = X.astype("f4")
    wanted[1, 0] = 7
    assert np.array_equal(np.load(tmp_path / "out.npy"), wanted)
    assert np.array_equal(np.load(tmp_path / "both.npz")["a"], X) and np.load(tmp_path / "both.npz")["b"].tolist() == [1]
    assert np.load(tmp_path / "rows.npy").tolist() == [(1, 2.5), (3, 4.5), (5, 6.5)]
    assert tarfile.open(tmp_path / "out-000000.tar").getnames() == ["a.cls", "a.txt", "b.cls", "b.txt"]
    assert sqlite3.connect(tmp_path / "made.db").execute("SELECT count(*) FROM t").fetchone() == (40,)
    assert np.array_equal(np.load(folder / "X.npy"), X)


def test_a_database_that_was_dropped_is_joined_with(visit, folder):
    visit.choose(folder / "runs log.db", folder / "X.npy")
    rows = visit.ask("SELECT l.name, npy_get(x.array, 0) FROM \"runs log\".runs AS l JOIN npy_rows('X.npy') AS x ON x.row = l.row WHERE l.row > 37")
    assert rows == [["run 38", repr(float(X[38, 0]))], ["run 39", repr(float(X[39, 0]))]]
    with pytest.raises(browser.Failed, match="readonly database"):
        visit.ask("DELETE FROM \"runs log\".runs")


def test_folders_are_dropped_with_what_is_in_them(visit, tmp_path):
    os.makedirs(tmp_path / "runs" / "r1")
    for i, place in enumerate(("runs/a.npy", "runs/r1/b.npy")):
        np.save(tmp_path / place, np.arange(i + 1))
    for kind in ("dragEnter", "dragOver", "drop"):
        data = {"items": [], "files": [str(tmp_path / "runs")], "dragOperationsMask": 1}
        visit.page.browser.call("Input.dispatchDragEvent", visit.page.session, type=kind, x=200, y=200, data=data)
    visit.page.wait("document.querySelectorAll('#files li').length === 2")
    assert visit.ask("SELECT path, shape FROM npy_meta('**/*.npy')") == [["runs/a.npy", "[1]"], ["runs/r1/b.npy", "[2]"]]
    visit.page.js("document.querySelector('#files button').click()")
    visit.page.wait("document.querySelectorAll('#files li').length === 1")
    assert len(visit.ask("SELECT path FROM npy_meta('**/*.npy')")) == 1


LONG_NAME = "a-run-with-a-very-long-name-" * 5 + ".npy"


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """What does not fit: long names, wide records, errors, missing values, pictures of one pixel's width."""
    root = tmp_path_factory.mktemp("odd")
    np.save(root / "float.npy", X)
    np.save(root / LONG_NAME, LABELS)
    np.save(root / "wide.npy", np.zeros(3, [(f"column_{i}", "f8") for i in range(60)]))
    np.save(root / "nan.npy", np.array([1, np.nan]))
    (root / "cut.npy").write_bytes(npy("<f8", (1000,), bytes(80)))
    np.savez(root / "named.npz", **{"x" * 200: W, "b": W})
    for shape in ((1, 1), (1, 1000), (1000, 1), (600, 900)):
        np.save(root / "picture-{}-{}.npy".format(*shape), np.arange(shape[0] * shape[1], dtype="u1").reshape(shape))
    return root


# the parts of a word that lie on different lines, of words that are short enough for one
BROKEN_WORDS = """[...document.querySelectorAll('#results td, #results th')].filter((cell) => cell.textContent.length <= 20 && !cell.querySelector('img')).filter((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return new Set([...range.getClientRects()].map(({ top }) => top)).size > 1;
}).map((cell) => cell.textContent)"""

on_screen = lambda selector: f"(({{ top, bottom }}) => top >= 0 && bottom <= innerHeight)(document.querySelector({json.dumps(selector)}).getBoundingClientRect())"


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("sql", ["SELECT * FROM npy_meta('*', 'row')", "SELECT * FROM npy_stats('{float,nan,cut,wide}.npy') WHERE on_error = 'row'", "SELECT * FROM npy_rows('wide.npy')"])
def test_cells_are_not_broken_inside_of_words(visit, odd, sql, look):
    visit.page.look(*look)
    visit.choose(*paths(odd))
    visit.ask(sql)
    assert visit.page.js(BROKEN_WORDS) == []
    assert max(visit.page.js("[...document.querySelectorAll('#results tr')].map((row) => row.offsetHeight)")) < 300
    assert visit.page.js("document.documentElement.scrollWidth <= innerWidth")
    if "error" in visit.page.js("[...document.querySelectorAll('#results th')].map((cell) => cell.textContent)"):
        assert visit.page.js("[...document.querySelectorAll('#results td')].find((cell) => cell.textContent.includes('truncated')).offsetWidth") > 200


@pytest.mark.parametrize("look", LOOKS)
def test_the_answer_is_on_the_screen(visit, odd, look):
    visit.page.look(*look)
    visit.choose(*paths(odd)[:6])
    visit.ask("SELECT 1")
    assert visit.page.js(on_screen("#results table"))
    visit.page.js("scrollTo(0, 0)")
    visit.ask("SELECT npy_plot(array) FROM npy_file('float.npy')")
    visit.page.wait(on_screen("#results img"))  # when it has loaded
    visit.page.js("scrollTo(0, 0)")
    with pytest.raises(browser.Failed, match="no such file"):
        visit.ask("SELECT * FROM npy_rows('gone.npy')")
    assert visit.page.js(on_screen("#error"))


@pytest.mark.parametrize("look", [(1280, False), (390, False)])
def test_many_files_say_how_many_they_are(visit, odd, tmp_path, look):
    visit.page.look(*look)
    visit.choose(*[path for path in paths(odd) if path.name != LONG_NAME][:6])
    assert visit.text("#count").startswith("6 files, ")
    seen = "[...document.querySelectorAll('#files li')].filter((line) => line.offsetTop >= list.scrollTop && line.offsetTop + line.offsetHeight <= list.scrollTop + list.clientHeight)"
    assert visit.page.js(f"(list => {seen}.length)(document.querySelector('#files'))") == 6
    for i in range(2000):
        np.save(tmp_path / f"{i:04}.npy", [i])
    visit.choose(*paths(tmp_path))
    assert visit.text("#count").startswith("2,006 files, ")
    assert visit.page.js(f"(list => {seen}.map((line) => line.className))(document.querySelector('#files'))").count("chosen") == 1
    assert visit.ask("SELECT count(*) FROM npy_meta('*')")[0][0] > "2000"


def test_another_ready_query_has_no_answer_yet(visit, folder):
    visit.choose(folder / "X.npy")
    assert visit.text("#status").startswith("Done")
    visit.page.js("(menu => { menu.selectedIndex = 1; menu.dispatchEvent(new Event('change')); })(document.querySelector('#ready'))")
    assert visit.text("#status") == "Ready." and visit.page.js("document.querySelector('#results').childElementCount") == 0
    visit.page.js("document.querySelector('#run').click()")
    visit.until_ready()
    assert visit.text("#status").startswith("Done") and visit.text("#results td") != ""


@pytest.mark.parametrize("look", LOOKS)
def test_plots_are_dark_in_the_dark_and_pictures_can_be_seen(visit, odd, look):
    visit.page.look(*look)
    visit.choose(*paths(odd))
    visit.ask("SELECT npy_plot(array) FROM npy_file('float.npy')")
    assert visit.pictures() and is_light(visit.page, "#results img") != look[1]
    visit.ask(" UNION ALL ".join(f"SELECT npy_png(array) AS picture FROM npy_file('picture-{shape}.npy')" for shape in ("1-1", "1-1000", "1000-1", "600-900")))
    assert visit.pictures() == [[1, 1], [1000, 1], [1, 1000], [900, 600]]
    shown = np.array(visit.page.js("[...document.images].map((image) => [image.clientWidth, image.clientHeight])"))
    assert shown.min() >= 16 and shown[:, 0].max() <= look[0] and shown[:, 1].max() <= 600
    assert abs(shown[3, 0] / shown[3, 1] - 1.5) < 0.02


def test_the_focus_stays_where_it_was(visit, odd):
    visit.choose(*paths(odd))
    names = [path.name for path in paths(odd)]
    focused = "(element => element.ariaLabel || element.value || element.id)(document.activeElement)"
    visit.page.js("document.querySelector('#files input').focus()")
    for name in names[1:3]:
        visit.page.press("ArrowDown", 40)
        visit.page.wait(f"document.body.dataset.state === 'ready' && document.querySelector('#files .chosen input')?.value === {json.dumps(name)}")
        assert visit.page.js(focused) == name
    visit.page.js("document.querySelectorAll('#files button')[3].focus()")
    visit.page.press("Enter", 13, text="\r")
    visit.page.wait(f"document.querySelectorAll('#files li').length === {len(names) - 1}")
    assert visit.page.js(focused) == f"Remove {names[4]}"
    visit.page.js("document.querySelector('#run').focus()")
    visit.page.press("Enter", 13, text="\r")
    visit.page.wait("document.body.dataset.state === 'ready' && document.querySelector('#status').textContent.startsWith('Done')")
    assert visit.page.js("document.activeElement.id") == "run"


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("name", ["index.html", "remote.html"])
def test_axe_finds_no_barriers(chromium, base, odd, name, look):
    visit = Visit(chromium, base, name)
    visit.page.look(*look)
    assert barriers(visit.page) == []
    if name == "index.html":
        visit.choose(*paths(odd))
    visit.ask("SELECT 1, NULL, x'00', 'text', npy_plot(npy_from_json('[1, 2]')), hex(zeroblob(900)); SELECT value FROM json_each('[1, 2]')")
    assert barriers(visit.page) == []
    with pytest.raises(browser.Failed):
        visit.ask("SELEC 1")
    assert barriers(visit.page) == []


def test_by_keyboard_on_a_phone_and_in_the_dark(visit, folder):
    visit.choose(folder / "X.npy")
    call = lambda method, **params: visit.page.browser.call(method, visit.page.session, **params)
    visit.page.look(390, True)
    assert sum(map(int, re.findall(r"\d+", visit.page.js("getComputedStyle(document.body).backgroundColor")))) < 150
    visit.ask("SELECT * FROM npy_meta('X.npy')")
    assert visit.page.js("document.documentElement.scrollWidth <= innerWidth")
    visit.page.js("document.querySelector('#sql').focus(); document.querySelector('#sql').select()")
    call("Input.insertText", text="SELECT 40 + 2")
    visit.page.press("Enter", 13, modifiers=2)
    visit.page.wait("document.querySelector('#results td')?.textContent === '42'")


def test_a_server_that_calls_the_file_something_else_will_do(chromium):
    packages.made("web")
    chromium.faults.clear()
    with browser.served(WEB, wasm="application/octet-stream") as address:
        assert Visit(chromium, address).ask("SELECT 1") == [["1"]]


def test_nothing_is_asked_of_anybody_else(chromium, base, visit, folder):
    visit.choose(*paths(folder))
    visit.ask("SELECT npy_png(array) FROM npy_file('X.npy')")
    assert {"npyext.wasm", "worker.js", "system.js"} <= {url.rsplit("/", 1)[1] for url in chromium.requests}
    assert all(re.match(r"(blob:)?http://127\.0\.0\.1:\d+/", url) for url in chromium.requests)
    blocked = "new Promise((resolve) => { addEventListener('securitypolicyviolation', (event) => resolve(event.violatedDirective)); fetch('http://127.0.0.1:9/').catch(() => {}); })"
    assert visit.page.js(blocked) == "connect-src"
    chromium.faults.clear()


def test_the_sizes_in_the_docs():
    """Of the page as a whole, in round numbers."""
    packages.made("web")
    nbytes = sum(entry.stat().st_size for entry in os.scandir(WEB))
    with open(os.path.join(shell.ROOT, "docs", "install.md"), encoding="utf-8") as file:
        said = re.search(r"The page is ([\d.]+) MB", file.read())
    assert said and abs(float(said[1]) - nbytes / 1e6) < 0.1
