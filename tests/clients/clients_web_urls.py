"""The page for URLs in headless Chromium: files of another origin's server, good and bad, what it answers, what it asks of whom
(`make check-clients`)."""

import io
import json
import re
import tarfile

import numpy as np
import pytest

import browser
import range_server
from formats import safetensors
from visits import Visit, base, chromium  # noqa: F401

rng = np.random.default_rng(11)
X = rng.normal(size=(40, 3000))
LABELS = rng.integers(0, 5, 40)
PIXELS = rng.integers(0, 256, (12, 17, 3), "u1")
W = rng.normal(size=(8, 4)).astype("f4")
BLOCK_NBYTES = 1 << 16  # NPYX_REMOTE_BLOCK_NBYTES

EXPOSE = "the server must send Access-Control-Expose-Headers: ETag, Content-Range"


def npy_bytes(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz_bytes(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def tar_bytes():
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for i in range(5):
            for extension, body in (("npy", npy_bytes(X[i, :30])), ("cls", str(LABELS[i]).encode())):
                member = tarfile.TarInfo(f"{i:06}.{extension}")
                member.size = len(body)
                tar.addfile(member, io.BytesIO(body))
    return file.getvalue()


FILES = {
    "X.npy": npy_bytes(X),
    "small.npy": npy_bytes(LABELS),
    "pixels.npy": npy_bytes(PIXELS),
    "empty.npy": b"",
    "both.npz": npz_bytes(X=X, labels=LABELS),
    "model.safetensors": safetensors([("layer.weight", "F32", W.shape, W.tobytes())], {"format": "np"}),
    "shard.tar": tar_bytes(),
    **{f"part-{i}.npy": npy_bytes(np.full(10, i)) for i in range(4)},
}


@pytest.fixture
def server():
    with range_server.serving(dict(FILES)) as started:
        yield started


class UrlVisit(Visit):
    def __init__(self, chromium, base, server):
        super().__init__(chromium, base, "remote.html")
        self.server = server

    def add(self, *urls):
        """Adds URLs, of which the first is looked into, and waits for what its first ready query answers."""
        self.until_ready()
        self.page.js("document.querySelector('#results').replaceChildren(); document.querySelector('#error').textContent = ''; document.querySelector('#sql').value = [...document.querySelector('#ready').options].find(({ selected }) => selected).value")
        self.page.js(f"document.querySelector('#urls').value = {json.dumps(chr(10).join(urls))}; document.querySelector('#add').click()")
        self.page.wait("document.body.dataset.state === 'ready' && (document.querySelector('#results table') || document.querySelector('#error').textContent !== '')")

    def list(self):
        """Has the server's URLs allowed, by one that nothing is asked about."""
        self.add(self.server.url("none.npy"))
        self.server.asked.clear()

    def said(self, sql):
        """The error of a query."""
        with pytest.raises(browser.Failed) as raised:
            self.ask(sql)
        return str(raised.value)


@pytest.fixture
def visit(chromium, base, server):
    chromium.faults.clear()
    chromium.requests.clear()
    yield UrlVisit(chromium, base, server)
    assert [fault for fault in chromium.faults if "Access-Control-Allow-Origin" not in fault] == []


def numbers(rows):
    return np.array([[float(cell) for cell in row] for row in rows])


def moments(url):
    return f"SELECT count, min, max FROM npy_stats('{url}')"


MOMENTS = [[str(X.size), repr(X.min()), repr(X.max())]]


def test_answers_are_those_of_numpy(visit, server):
    visit.add(*(server.url(name) for name in FILES))
    assert visit.text("#results td:nth-child(3)") == "[40,3000]"
    assert visit.ask(moments(server.url("X.npy"))) == MOMENTS
    assert visit.ask(f"SELECT count, min, max FROM npy_stats('{server.url('both.npz')}', 'X')") == MOMENTS
    wanted = [[str(value), str(count)] for value, count in zip(*np.unique(LABELS, return_counts=True))]
    assert visit.ask(f"SELECT value, count FROM npy_unique('{server.url('both.npz')}', 'labels') ORDER BY value") == wanted
    rows = visit.ask(f"SELECT value FROM npy_rows('{server.url('model.safetensors')}', 'layer.weight')")
    assert np.array_equal(np.array([json.loads(value) for (value,) in rows], "f4"), W)
    rows = visit.ask(f"CREATE VIRTUAL TABLE temp.samples USING wds('{server.url('shard.tar')}'); SELECT cls, npy_get(npy, -1) FROM temp.samples")
    assert np.array_equal(numbers(rows), np.c_[LABELS[:5], X[:5, 29]])
    assert not any(method == "OPTIONS" for method, _, _ in server.asked)


def test_every_ready_query_runs(visit, server):
    names = ["X.npy", "pixels.npy", "both.npz", "model.safetensors", "shard.tar"]
    visit.add(*(f"{server.url(name)}?sig=a/b.c" for name in names))
    ran = 0
    for i in range(len(names)):
        visit.until_ready()
        visit.page.js(f"document.querySelectorAll('#files input')[{i}].click()")
        visit.page.wait(f"document.querySelectorAll('#files li')[{i}].classList.contains('chosen')")
        for sql in visit.page.js("[...document.querySelector('#ready').options].map((option) => option.value)"):
            visit.ask(sql)
            ran += 1
            assert "npy_png" not in sql and "npy_plot" not in sql or min(min(visit.pictures())) > 0
    assert ran > 50
    made = visit.page.js("[...document.querySelectorAll('#files a')].map(({ download }) => download)")
    assert "X-float32.npy" in made and all("?" not in name for name in made)
    assert visit.ask("SELECT dtype, shape FROM npy_meta('X-float32.npy')") == [["float32", "[40,3000]"]]


def test_a_survey_asks_twice_of_each_file(visit, server):
    visit.list()
    rows = visit.ask(f"SELECT path, shape, error FROM npy_meta('{server.url('part-{0..3}.npy')}')")
    assert rows == [[server.url(f"part-{i}.npy"), "[10]", "NULL"] for i in range(4)]
    nbytes = len(FILES["part-0.npy"])
    assert sorted(server.asked) == sorted(
        [(method, f"/fine/part-{i}.npy", f"bytes=0-{last}") for i in range(4) for method, last in (("HEAD", ""), ("GET", nbytes - 1))]
    )
    assert visit.text("#status").endswith(f"{4 * nbytes} bytes read by 8 requests.")
    listed = json.dumps([server.url(name) for name in ("part-0.npy", "none.npy", "small.npy")])
    rows = visit.ask(f"SELECT shape, error FROM npy_meta('{listed}', 'row')")
    assert [shape for shape, _ in rows] == ["[10]", "NULL", "[40]"] and rows[1][1].endswith("none.npy: no such file")
    assert len(server.asked) == 8 + 1 + 2  # what part-0.npy holds is known


def test_only_bytes_that_are_needed_are_read(visit, server):
    server.files["long.npy"] = npy_bytes(np.arange(4 << 20))
    visit.list()
    assert visit.ask(f"SELECT npy_get(array, -1) FROM npy_file('{server.url('long.npy')}')") == [[str((4 << 20) - 1)]]
    ranges = [tuple(map(int, re.findall(r"\d+", wanted))) for method, _, wanted in server.asked if method == "GET"]
    assert len(ranges) == 2 and all(last - first < BLOCK_NBYTES for first, last in ranges)
    server.asked.clear()
    assert visit.ask(f"SELECT sum FROM npy_stats('{server.url('long.npy')}')") == [[str(sum(range(4 << 20)))]]
    assert len(server.asked) < 20 and len(json.loads(visit.ask("SELECT npyext_counters()")[0][0])) > 0


WRONG = {
    # fault: what is said after the URL, and how many requests that took
    "foreign": ("no answer that this page may read: the server must send Access-Control-Allow-Origin (CORS), with a 404, too, which this may be; an https page reads no http; or the network failed)", 2),
    "hidden": (f"a change would go unnoticed, as neither ETag nor Last-Modified can be read: {EXPOSE})", 1),
    "headless_and_hidden": ("its length cannot be read: the server must answer HEAD with Content-Length, or send Access-Control-Expose-Headers: ETag, Content-Range)", 2),
    "whole": ("the server answers 200, the whole file, to a request for bytes 0-65535; npyext needs ranges (206)", 2),
    "short": ("the server returned 65526 bytes where 65536 were asked for", 2),
    "torn": ("the connection failed or ended early, or the answer has no Access-Control-Allow-Origin (CORS), which the server must send with each", 2),
    "shifted": (f"the server answers with other bytes (bytes 7-65535/{len(FILES['X.npy'])}) than 0-65535", 2),
    "busy": ("the server answers 503, 3 times)", 3),
    "refused": ("the server answers 403: this page sends no credentials; a signed URL is refused when it has expired)", 2),
    "changing": ("the file changed while it was read", 2),
    "going": ("the file changed while it was read", 2),
}


@pytest.mark.parametrize("fault", WRONG)
def test_what_is_wrong_is_said_as_an_error_and_in_a_row(visit, server, fault):
    words, nrequests = WRONG[fault]
    visit.list()
    url = f"{server.url('X.npy', fault)}?sig=SECRET"
    said = visit.said(moments(url))
    assert said.startswith(f"npyext: {server.url('X.npy', fault)}: ") and said.endswith(words) and "SECRET" not in said
    assert len(server.asked) == nrequests
    listed = json.dumps([url, server.url("small.npy")])
    (bad, good) = visit.ask(f"SELECT shape, error FROM npy_meta('{listed}', 'row')")
    assert bad[0] == "NULL" and bad[1].endswith(words) and "SECRET" not in bad[1] and good == ["[40]", "NULL"]


@pytest.mark.parametrize(
    "fault, methods",
    [
        ("fine", ["HEAD"] + 5 * ["GET"]),
        ("dated", ["HEAD"] + 5 * ["GET"]),
        ("headless", ["HEAD"] + 6 * ["GET"]),
        ("compressing", ["HEAD"] + 5 * ["GET"]),
        ("busy_once", 2 * ["HEAD"] + 6 * ["GET"]),
        ("moved", 2 * ["HEAD"] + 10 * ["GET"]),
    ],
)
def test_servers_of_many_kinds_will_do(visit, server, fault, methods):
    visit.list()
    assert visit.ask(moments(server.url("X.npy", fault))) == MOMENTS
    asked = [method for method, _, _ in server.asked]
    assert asked[: methods.count("HEAD")] == methods[: methods.count("HEAD")] and asked.count("OPTIONS") == 0
    assert len(asked) <= len(methods)


def test_a_server_without_ranges_may_have_small_files(visit, server):
    server.files["long.npy"] = npy_bytes(np.zeros(8 << 20))
    visit.list()
    assert visit.ask(f"SELECT count FROM npy_stats('{server.url('small.npy', 'whole')}')") == [["40"]]
    assert visit.said(moments(server.url("long.npy", "whole"))).endswith("npyext needs ranges (206)")
    assert server.left_early == ["/whole/long.npy"]  # 64 MB were not waited for


def test_what_is_empty_missing_or_listed_by_nobody(visit, server):
    visit.list()
    assert "none.npy: no such file" in visit.said(moments(server.url("none.npy")))
    assert "empty.npy: is empty" in visit.said(f"SELECT * FROM npy_meta('{server.url('empty.npy')}')")
    server.asked.clear()
    assert "HTTP lists no files: name each URL, or put what differs into braces, {a,b} or {000..127}" in visit.said(f"SELECT * FROM npy_meta('{server.url('*.npy')}')")
    assert "a browser reads only https:// and http://" in visit.said("SELECT * FROM npy_meta('s3://bucket/x.npy')")
    assert server.asked == []


def test_a_file_that_was_replaced_is_read_anew(chromium, base, server):
    """Not from the browser's cache, which would keep it for a month: it was last modified long ago."""
    for i in range(3):
        server.files["X.npy"] = npy_bytes(np.arange(5) + i)
        visit = UrlVisit(chromium, base, server)
        visit.add(server.url("X.npy"))
        assert visit.ask(f"SELECT sum FROM npy_stats('{server.url('X.npy')}')") == [[str(10 + 5 * i)]]


def test_only_servers_that_are_listed_are_asked(chromium, visit, server):
    with range_server.serving(dict(FILES)) as other:
        assert "a URL in its list names: add this one there" in visit.said(moments(other.url("X.npy")))
        visit.list()
        for sql in (moments(other.url("X.npy")), f"SELECT * FROM npy_meta('{server.url('{X,small}.npy')}'); {moments(other.url('X.npy'))}"):
            assert "this page asks only servers that a URL in its list names: add this one there" in visit.said(sql)
        direct = f"SELECT npyext_remote_read('[[\"{other.url('X.npy')}\", \"\", 0, 1]]')"
        assert visit.ask(direct) == [["this page asks only servers that a URL in its list names: add this one there"]]
        visit.add(other.url("none.npy"))
        other.asked.clear()
        assert visit.ask(moments(other.url("X.npy"))) == MOMENTS and len(other.asked) > 1
        visit.page.js("[...document.querySelectorAll('#files button')].at(-1).click()")
        visit.page.wait("document.querySelectorAll('#files li').length === 1")
        other.asked.clear()
        assert "add this one there" in visit.said(moments(other.url("small.npy"))) and other.asked == []
    ours = visit.page.js("location.origin")
    assert {url.split("/", 3)[2] for url in chromium.requests if not url.startswith("blob:")} == {each.split("/")[2] for each in (ours, server.base, other.base)}
    assert all("Cookie" not in headers and "Authorization" not in headers for headers in server.headers)
    assert all(re.fullmatch(r"http://127\.0\.0\.1:\d+/", headers.get("Referer", ours + "/")) for headers in server.headers)


def test_views_and_triggers_cannot_ask(visit, server):
    visit.list()
    assert "unsafe use of npyext_remote_info()" in visit.said(f"CREATE VIEW v AS SELECT npyext_remote_info('[\"{server.url('X.npy')}\"]'); SELECT * FROM v")
    assert visit.ask("SELECT npyext_remote_info(NULL)")[0][0].startswith("SyntaxError")
    assert visit.ask("SELECT npyext_remote_read('[[\"x\", \"\", 0, -1]]')")[0][0].startswith("RangeError")
    assert server.asked == []


def test_a_server_that_is_stuck_is_left_by_stop(visit, server):
    visit.list()
    visit.begin(moments(server.url("X.npy", "stuck")))
    visit.page.wait("document.querySelector('#status').textContent.includes(' read')")
    visit.page.js("document.querySelector('#stop').click()")
    visit.until_ready()
    assert visit.text("#status").startswith("Stopped.")
    assert visit.ask(moments(server.url("X.npy"))) == MOMENTS  # the list is as it was


def test_what_is_no_url_is_not_added(visit, server):
    for text in ("X.npy", "s3://bucket/X.npy", "https://", "HTTPS://data.example.org/x.npy"):
        visit.add(server.url("X.npy"), text)
        assert visit.text("#error") == f"{text}: a URL begins with https:// or http://"
    assert visit.page.js("document.querySelectorAll('#files li').length") == 0 and server.asked == []


def test_the_other_page_asks_nobody(chromium, base, server):
    """It has no functions for URLs, and no leave to ask anybody but its own server."""
    visit = Visit(chromium, base)
    with pytest.raises(browser.Failed, match="has no function npyext_remote_info for it"):
        visit.ask(moments(server.url("X.npy")))
    policies = "document.querySelector('meta[http-equiv=Content-Security-Policy]').content"
    here = visit.page.js(policies)
    there = UrlVisit(chromium, base, server).page.js(policies)
    assert there == here.replace("connect-src 'self'", "connect-src 'self' https: http:") != here
    assert visit.page.js("navigator.serviceWorker.getRegistrations().then((all) => all.map(({ scope }) => new URL(scope).pathname))") == ["/remote"]
    assert Visit(chromium, base).page.js("navigator.serviceWorker.controller") is None
    assert server.asked == []
