"""URLs through the Python package, on real servers over loopback: nginx with ranges and without, S3 (moto) through s3fs, one that
misbehaves, and docs/elsewhere.md as it is written (`make check-clients`)."""

import os
import re
import shutil
import socket
import subprocess
import textwrap
import time

import pytest

import packages
import shell

DOCUMENT = os.path.join(shell.ROOT, "docs", "elsewhere.md")

# What every script begins with; S3 is at the address in AWS_ENDPOINT_URL.
BEFORE = """
import io, json, os, sys
import numpy as np
import fsspec, npyext

def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()

def npz(arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()

def error_of(db, sql, *arguments):
    try:
        rows = db.execute(sql, arguments).fetchall()
    except Exception as error:
        return str(error)
    raise AssertionError(f"no error, but {str(rows)[:200]}")

def safetensors(arrays):
    header, at = {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + b"".join(array.tobytes() for array in arrays.values())
"""

S3 = BEFORE + """
import s3fs

counts = {}
def count(request, operation_name=None, **_):
    counts[operation_name or request.method] = counts.get(operation_name or request.method, 0) + 1

fs = s3fs.S3FileSystem()
fs.mkdir("bucket")
fs.s3.meta.events.register("before-send.s3", lambda request, **_: count(request))
rng = np.random.default_rng(5)
"""


@pytest.fixture(scope="module")
def python():
    stores = ("fsspec", "aiohttp", "s3fs", "moto[server]", "gcsfs", "gcp-storage-emulator", "huggingface_hub")
    return packages.python_with("remote", packages.wheel(), "numpy", "apsw", "dask[dataframe]", "pandas", *stores)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(port):
    for _ in range(600):
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"nothing answers at port {port}")


@pytest.fixture
def s3(python, tmp_path):
    """The environment in which S3 is a server here, with nothing in it."""
    port = free_port()
    with open(tmp_path / "moto.log", "w") as log:
        server = subprocess.Popen([python, "-m", "moto.server", "-p", str(port)], stdout=log, stderr=log)
    try:
        wait_for(port)
        yield dict(os.environ, AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}", AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b", AWS_DEFAULT_REGION="us-east-1")
    finally:
        server.terminate()
        server.wait()


def run(python, folder, script, env=None, *arguments):
    return packages.run(python, "-c", textwrap.dedent(script), *arguments, cwd=folder, env=env)


def test_a_model_on_s3_is_surveyed_by_few_requests_and_read_once(python, s3, tmp_path):
    run(python, tmp_path, S3 + """
shards = {f"bucket/llm/model-{i}.safetensors": safetensors({f"layer.{i}.{k}": rng.normal(size=(100, 1000)).astype("f4") for k in range(10)}) for i in range(8)}
damaged = bytearray(shards["bucket/llm/model-5.safetensors"])
damaged[-4000:-3996] = np.float32(np.nan).tobytes()
shards["bucket/llm/model-5.safetensors"] = bytes(damaged)
for key, contents in shards.items():
    fs.pipe(key, contents)
db = npyext.connect(remote=fs)
counts.clear()
names = db.execute("SELECT path, name FROM npy_meta('s3://bucket/llm/*.safetensors')").fetchall()
assert len(names) == 80 and names[0] == ("s3://bucket/llm/model-0.safetensors", "layer.0.0")
assert sum(counts.values()) <= 16, counts
found = db.execute("SELECT path, name, nulls FROM npy_stats('s3://bucket/llm/*.safetensors') WHERE nulls > 0").fetchall()
assert found == [("s3://bucket/llm/model-5.safetensors", "layer.5.9", 1)]
told = json.loads(db.execute("SELECT npyext_counters()").fetchone()[0])
assert told["remote_bytes"] == sum(map(len, shards.values())), told
""", s3)  # fmt: skip


def test_a_file_that_is_replaced_on_s3_is_never_mixed(python, s3, tmp_path):
    run(python, tmp_path, S3 + """
db = npyext.connect(remote=fs)
fs.pipe("bucket/x.npy", npy(np.arange(300_000)))
rows = db.execute("SELECT value FROM npy_rows('s3://bucket/x.npy')")
assert rows.fetchone() == (0,)
fs.pipe("bucket/x.npy", npy(np.arange(300_000)[::-1].copy()))
try:
    rows.fetchall()
    raise AssertionError("two versions were mixed")
except Exception as error:
    assert "s3://bucket/x.npy: the file changed while it was read" in str(error), error
assert db.execute("SELECT value FROM npy_rows('s3://bucket/x.npy') LIMIT 1").fetchall() == [(299_999,)]
fs.rm("bucket/x.npy")
assert "no such file" in error_of(npyext.connect(remote=fs), "SELECT * FROM npy_rows('s3://bucket/x.npy')")
assert "no such file" in error_of(db, "SELECT * FROM npy_rows('s3://other/x.npy')")
""", s3)  # fmt: skip


def test_what_is_allowed(python, s3, tmp_path):
    run(python, tmp_path, S3 + """
fs.pipe("bucket/data/x.npy", npy(np.arange(3)))
fs.pipe("bucket/database/x.npy", npy(np.arange(3)))
db = npyext.connect(remote=True, allow=["s3://bucket/data"])
assert db.execute("SELECT count(*) FROM npy_rows('s3://bucket/data/x.npy')").fetchall() == [(3,)]
assert db.execute("SELECT path FROM npy_meta('s3://bucket/data/*')").fetchall() == [("s3://bucket/data/x.npy",)]
for url in ("s3://bucket/database/x.npy", "s3://bucket/*/x.npy", "s3://bucket/data/../database/x.npy", "s3://bucket/data/%2e%2e/database/x.npy",
            "https://bucket/data/x.npy", "s3://bucket@other/data/x.npy", "S3://bucket/x.npy", "file:///etc/passwd"):
    said = error_of(db, "SELECT * FROM npy_rows(?)", url)
    assert "not below" in said or "`..`" in said or (url[0] == "S" and "small letters" in said), (url, said)
assert db.execute("SELECT npyext_remote_read(?)", (json.dumps([["s3://bucket/database/x.npy", "", 0, 9]]),)).fetchone()[0].startswith("it is not below")
assert "files of this machine are read by their paths" in error_of(npyext.connect(remote=True), "SELECT * FROM npy_rows('file:///etc/passwd')")
for options in ({"allow": ["s3://bucket"]}, {"remote": True, "allow": ["bucket"]}, {"remote": "s3"}):
    try:
        npyext.connect(**options)
        raise AssertionError(options)
    except (TypeError, ValueError) as error:
        assert "remote=" in str(error) or "allow=" in str(error)
db.execute("CREATE VIEW v AS SELECT npyext_remote_info('[]')")
assert "unsafe use" in error_of(db, "SELECT * FROM v")
""", s3)  # fmt: skip


def test_map_dask_and_the_command(python, s3, tmp_path):
    run(python, tmp_path, S3 + """
import subprocess
for i in range(9):
    fs.pipe(f"bucket/r/{i}.npy", npy(np.full(100, i)))
sql = "SELECT path, mean FROM npy_stats(:source)"
wanted = [(f"s3://bucket/r/{i}.npy", float(i)) for i in range(9)]
if __name__ == "__main__":
    assert npyext.map(sql, "s3://bucket/r/*.npy", remote=True, allow=["s3://bucket/r/"]) == wanted
    frame = npyext.dask(sql, "s3://bucket/r/*.npy", remote=True, parts=3).compute(scheduler="synchronous")
    assert list(frame.itertuples(index=False, name=None)) == wanted
    done = subprocess.run([sys.executable, "-m", "npyext", "--remote", "s3://bucket/r/", ":memory:", sql.replace(":source", "'s3://bucket/r/*.npy'")], capture_output=True, text=True)
    assert done.stdout.splitlines() == [f"{path}|{mean}" for path, mean in wanted], done
    done = subprocess.run([sys.executable, "-m", "npyext", "--remote", "nothing"], capture_output=True, text=True)
    assert done.returncode == 1 and "--remote s3://bucket/" in done.stderr
""", s3)  # fmt: skip


# --- GCS, Hugging Face -------------------------------------------------------------------------------------------------


def test_google_cloud_storage(python, tmp_path):
    port = free_port()
    env = dict(os.environ, STORAGE_EMULATOR_HOST=f"http://127.0.0.1:{port}", GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT="false", GOOGLE_CLOUD_PROJECT="p")
    run(python, tmp_path, BEFORE + """
import gcsfs
from gcp_storage_emulator.server import create_server
server = create_server("127.0.0.1", int(sys.argv[1]), in_memory=True, default_bucket="bucket")
server.start()
fs = gcsfs.GCSFileSystem(token="anon")
fs.pipe("bucket/x.npy", npy(np.arange(100_000)))
db = npyext.connect(remote=fs)
assert db.execute("SELECT sum(value) FROM npy_rows('gs://bucket/x.npy')").fetchall() == [(4_999_950_000,)]
assert db.execute("SELECT path, shape FROM npy_meta('gs://bucket/*.npy')").fetchall() == [("gs://bucket/x.npy", "[100000]")]
assert "no such file" in error_of(db, "SELECT * FROM npy_rows('gs://bucket/nope.npy')")
os._exit(0)
""", env, str(port))  # fmt: skip


# As much of Hugging Face's hub as its file system asks for.
HUB = r"""
import http.server, re, threading

files = {"data/x.npy": npy(np.arange(100_000))}
ranges = []

class Hub(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def give(self, status, body, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def tell(self, value, status=200):
        self.give(status, json.dumps(value).encode(), Content_Type="application/json")

    def do_GET(self):
        path = self.path.partition("?")[0]
        resolved = re.search("/resolve/[^/]+/(.*)$", path)
        if path.endswith("/tree/main"):
            self.tell([{"type": "directory", "oid": "0" * 40, "path": "data"}])
        elif path.endswith("/tree/main/data"):
            self.tell([{"type": "file", "oid": "1" * 40, "size": len(contents), "path": name} for name, contents in files.items()])
        elif resolved and resolved[1] in files:
            contents = files[resolved[1]]
            begin, end = map(int, re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"]).groups())
            ranges.append((begin, end))
            self.give(206, contents[begin : end + 1], Content_Range=f"bytes {begin}-{end}/{len(contents)}")
        elif path == "/api/datasets/user/name":
            self.tell({"id": "user/name", "sha": "a" * 40, "siblings": [], "private": False})
        else:
            self.tell({"error": "not found"}, 404)

    do_HEAD = do_GET

hub = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
threading.Thread(target=hub.serve_forever, daemon=True).start()
os.environ["HF_ENDPOINT"] = f"http://127.0.0.1:{hub.server_port}"
"""


def test_hugging_face(python, tmp_path):
    run(python, tmp_path, BEFORE + HUB + """
db = npyext.connect(remote=True, allow=["hf://datasets/user/"])
assert db.execute("SELECT sum(value) FROM npy_rows('hf://datasets/user/name/data/x.npy')").fetchall() == [(4_999_950_000,)]
nbytes = len(files["data/x.npy"])
assert sum(end + 1 - begin for begin, end in ranges) == nbytes, ranges  # each byte once, and none ahead
assert db.execute("SELECT path, shape FROM npy_meta('hf://datasets/user/name/data/*.npy')").fetchall() == [("hf://datasets/user/name/data/x.npy", "[100000]")]
assert "no such file" in error_of(db, "SELECT * FROM npy_rows('hf://datasets/user/name/data/nope.npy')")
""")  # fmt: skip


# --- HTTP -------------------------------------------------------------------------------------------------------------

NGINX = """
{user} daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1;
events {{}}
http {{
    access_log {folder}/access.log; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
    uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
    server {{
        listen 127.0.0.1:{port}; root {folder}/www;
        location /whole/ {{ alias {folder}/www/; max_ranges 0; }}
        location /packed/ {{ alias {folder}/www/; gzip on; gzip_types *; gzip_min_length 1; }}
        location /untagged/ {{ alias {folder}/www/; etag off; }}
        location /moved/ {{ return 302 /x.npy; }}
        location /forbidden/ {{ return 403; }}
    }}
}}
"""


@pytest.fixture
def nginx(tmp_path):
    program = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    assert program, "nginx is not installed; ext/tools/install-packages.sh clients does it"
    port = free_port()
    os.mkdir(tmp_path / "www")
    (tmp_path / "nginx.conf").write_text(NGINX.format(folder=tmp_path, port=port, user="user root;" if os.getuid() == 0 else ""))
    server = subprocess.Popen([program, "-c", str(tmp_path / "nginx.conf")])
    try:
        wait_for(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


def test_nginx_with_ranges_and_without(python, nginx, tmp_path):
    run(python, tmp_path, BEFORE + """
base = sys.argv[1]
array = np.random.default_rng(1).normal(size=500_000)
for name, contents in (("x.npy", npy(array)), ("y.npy", npy(np.arange(5))), ("z.npz", npz({f"m{i}": array[: 1000 * i] for i in range(50)}))):
    with open("www/" + name, "wb") as file:
        file.write(contents)
db = npyext.connect(remote=True, allow=[base])
ask = lambda sql, *arguments: db.execute(sql, arguments).fetchall()
assert ask("SELECT min, max FROM npy_stats(?)", base + "/x.npy") == [(array.min(), array.max())]
assert ask("SELECT value FROM npy_rows(?) WHERE row = 400000", base + "/x.npy?sig=secret") == [(array[400_000],)]
assert len(ask("SELECT name FROM npy_meta(?)", base + "/z.npz")) == 50
assert ask("SELECT path FROM npy_meta(?)", base + "/{x,nope,y}.npy") == [(base + "/x.npy",), (base + "/y.npy",)]
for folder in ("untagged", "moved", "packed"):
    assert ask("SELECT max FROM npy_stats(?)", f"{base}/{folder}/x.npy") == [(array.max(),)], folder
assert "npyext needs ranges" in error_of(db, "SELECT * FROM npy_stats(?)", base + "/whole/x.npy?sig=secret")
assert "secret" not in error_of(db, "SELECT * FROM npy_stats(?)", base + "/whole/x.npy?sig=secret")
assert ask("SELECT count(*) FROM npy_rows(?)", base + "/whole/y.npy") == [(5,)]  # all of it is what was asked for
assert "403" in error_of(db, "SELECT * FROM npy_stats(?)", base + "/forbidden/x.npy?sig=secret")
assert "no such file" in error_of(db, "SELECT * FROM npy_stats(?)", base + "/nope.npy")
rows = db.execute("SELECT value FROM npy_rows(?)", (base + "/x.npy",))
other = npyext.connect(remote=True)
rows = other.execute("SELECT value FROM npy_rows(?)", (base + "/x.npy",))
assert rows.fetchone() == (array[0],)
with open("www/new", "wb") as file:
    file.write(npy(-array))
os.utime("www/new", (10**9, 10**9))  # nginx makes its ETag of the length and the second
os.rename("www/new", "www/x.npy")
try:
    rows.fetchall()
    raise AssertionError("two versions were mixed")
except Exception as error:
    assert "the file changed while it was read" in str(error), error
""", None, nginx)  # fmt: skip


def test_servers_that_misbehave(python, tmp_path):
    run(python, tmp_path, BEFORE + r"""
import collections, http.server, random, re, threading

array = np.arange(200_000.0)
contents, changed = npy(array), npy(-array)
seen = collections.Counter()

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        how = self.path.split("/")[1].split("?")[0]
        seen[how] += 1
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
        begin, end = map(int, asked.groups()) if asked else (0, len(contents) - 1)
        body, status, tag = contents[begin : end + 1], 206 if asked else 200, '"one"'
        ranged = f"bytes {begin}-{end}/{len(contents)}"
        if how == "busy" and seen[how] % 2 == 1 or how == "down":
            return self.give(503, b"", {})
        if asked and how == "whole":
            body, status = contents, 200
        if asked and how == "elsewhere":
            body, ranged = contents[:end + 1 - begin], f"bytes 0-{end - begin}/{len(contents)}"
        if asked and how == "long":
            body += b"xx"
        if asked and how in ("changes", "hides") and begin > 100_000:
            body, tag = changed[begin : end + 1], '"two"'
            seen["hidden"] += how == "hides"
        if how == "hides":  # a range does not say which version it is of
            tag = None if asked else '"two"' if seen["hidden"] else '"one"'
        headers = {"Accept-Ranges": "bytes"} | ({"ETag": tag} if tag else {}) | ({"Content-Range": ranged} if status == 206 else {})
        self.give(status, body, headers, cut=asked and how == "cut", other_nbytes=how == "lies" and not asked)

    def give(self, status, body, headers, cut=False, other_nbytes=False):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) + 1000 * other_nbytes))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut or other_nbytes:
            self.close_connection = True

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{server.server_port}"
for how, words in {"good": None, "busy": None, "down": "503", "whole": "npyext needs ranges", "elsewhere": "with the range", "cut": "Payload|bytes where",
                   "long": "bytes where", "changes": "changed while it was read", "hides": "changed while it was read", "lies": "416|range|bytes where|changed|header says"}.items():
    db = npyext.connect(remote=True)
    url = f"{base}/{how}/x.npy?key=secret"
    if words is None:
        assert db.execute("SELECT sum(value) FROM npy_rows(?)", (url,)).fetchall() == [(array.sum(),)], how
        continue
    error = error_of(db, "SELECT sum(value), ? FROM npy_rows(?)", how, url)
    assert f"{base}/{how}/x.npy: " in error and "secret" not in error and re.search(words, error), (how, error)

random.seed(int(sys.argv[1]))
print("seed", sys.argv[1])
nfailed = 0
hows = ["good", "busy", "cut", "long", "changes", "whole", "elsewhere"]
for _ in range(60):
    how, row = random.choice(hows), random.randrange(200_000)
    db = npyext.connect(remote=True)
    try:
        found = db.execute("SELECT value FROM npy_rows(?) WHERE row BETWEEN ? AND ?", (f"{base}/{how}/x.npy", row, row + 30_000)).fetchall()
        assert found == [(value,) for value in array[row : row + 30_001].tolist()], how
    except Exception as error:
        assert how not in ("good", "busy") and f"{base}/{how}/x.npy" in str(error), (how, error)
        nfailed += 1
assert nfailed > 0
""", None, str(shell.random_seed()))  # fmt: skip


# --- docs/elsewhere.md ------------------------------------------------------------------------------------------------


def test_the_page_as_it_is_written(python, s3, nginx, tmp_path):
    with open(DOCUMENT) as file:
        of_s3, of_http = re.findall(r"^```python\n(.*?)^```$\n\n^```text\n(.*?)^```$", file.read(), re.M | re.S)
    run(python, tmp_path, S3 + """
fs.mkdir("models")
tensors = {f"layer.{i}": rng.normal(size=(300, 200)).astype("f4") for i in range(3)}
tensors["layer.2"][7, 8] = np.nan
fs.pipe("models/llm/model-1.safetensors", safetensors({name: tensors[name] for name in ("layer.0", "layer.1")}))
fs.pipe("models/llm/model-2.safetensors", safetensors({"layer.2": tensors["layer.2"]}))
""", s3)  # fmt: skip
    run(python, tmp_path, "import numpy as np; np.save('www/loss.npy', np.arange(10_000) / 2)")
    for script, printed in (of_s3, of_http):
        assert packages.run(python, "-c", script.replace("https://data.example.org", nginx), cwd=tmp_path, env=s3) == printed
