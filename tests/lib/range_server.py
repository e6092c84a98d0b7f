"""A server of files for pages of other origins: ranges, ETags, CORS; and what is wrong with such servers."""

import contextlib
import gzip
import hashlib
import http.server
import re
import threading

# A page may read these of an answer if the server says so.
EXPOSED = "ETag, Content-Range"


class Server(http.server.ThreadingHTTPServer):
    """Serves `files`, {name: bytes}, at /FAULT/name?query; faults are those of the methods of Answer below, and `fine` is none.
    What it was asked is in `asked`, (method, path, range) each; whose answers were not waited for in `left_early`."""

    daemon_threads = True

    def __init__(self, files):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.asked, self.headers, self.left_early, self.slow = files, [], [], [], threading.Event()
        self.base = f"http://127.0.0.1:{self.server_port}"

    def url(self, name, fault="fine"):
        return f"{self.base}/{fault}/{name}"

    def handle_error(self, *_):
        pass  # a browser that leaves early


class Answer:
    """A good one, which a fault then spoils."""

    def __init__(self, server, method, name, path, wanted, headers):
        self.server, self.method, self.wanted, self.encodings = server, method, wanted, headers.get("Accept-Encoding", "")
        self.times = sum(each[:2] == (method, path) for each in server.asked)
        self.body = server.files.get(name)
        self.status = 404 if self.body is None else 200
        self.headers = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": EXPOSED, "Accept-Ranges": "bytes"}
        self.closes_early = False
        if self.body is not None:
            self.headers["ETag"] = '"%s"' % hashlib.sha1(self.body).hexdigest()[:16]
            self.headers["Last-Modified"] = "Thu, 01 Jan 2026 00:00:00 GMT"

    def cut(self):
        """The range that is asked for."""
        if self.body is None or self.wanted is None:
            return
        total = len(self.body)
        first, last = re.fullmatch(r"bytes=(\d+)-(\d*)", self.wanted).groups()
        first, last = int(first), min(int(last or total - 1), total - 1)
        if first > last:
            self.status, self.body = 416, b""
            self.headers["Content-Range"] = f"bytes */{total}"
            return
        self.status, self.body = 206, self.body[first : last + 1]
        self.headers["Content-Range"] = f"bytes {first}-{last}/{total}"

    # ---- faults ----

    def fine(self):
        self.cut()

    def foreign(self):
        """No page of another origin may read it."""
        self.cut()
        del self.headers["Access-Control-Allow-Origin"]

    def dated(self):
        """No ETag can be read, but when the file was written."""
        self.cut()
        del self.headers["Access-Control-Expose-Headers"]

    def hidden(self):
        self.dated()
        self.headers.pop("Last-Modified", None)

    def whole(self):
        """It knows no ranges."""

    def headless(self):
        self.cut()
        if self.method == "HEAD":
            self.status = 405

    def headless_and_hidden(self):
        self.headless()
        del self.headers["Access-Control-Expose-Headers"]

    def short(self):
        self.cut()
        if self.method == "GET":
            self.body = self.body[:-10]

    def torn(self):
        """The connection ends in the middle."""
        self.cut()
        self.closes_early = self.method == "GET"

    def shifted(self):
        self.cut()
        if self.method == "GET":
            self.headers["Content-Range"] = re.sub(r"\d+-", "7-", self.headers["Content-Range"])

    def busy_once(self):
        self.cut()
        if self.times == 1:
            self.status, self.body = 503, b"later"

    def busy(self):
        self.status, self.body = 503, b"later"

    def refused(self):
        self.status, self.body = 403, b"no"

    def changing(self):
        """Another file each time that its bytes are asked for."""
        self.cut()
        if self.method == "GET":
            self.headers["ETag"] = f'"{self.times}"'

    def going(self):
        """It is gone when its bytes are asked for."""
        self.cut()
        if self.method == "GET":
            self.status, self.body = 404, b""

    def compressing(self):
        """It compresses for whoever lets it."""
        if "gzip" in self.encodings:
            self.body = gzip.compress(self.body)
            self.headers.update({"Content-Encoding": "gzip", "ETag": f"W/{self.headers['ETag']}"})
        else:
            self.cut()

    def stuck(self):
        self.cut()
        if self.method == "GET":
            self.server.slow.wait(60)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        path = self.path.partition("?")[0]
        _, fault, name = path.split("/", 2)
        wanted = self.headers.get("Range")
        self.server.asked.append((self.command, path, wanted))
        self.server.headers.append(dict(self.headers))
        if self.command == "OPTIONS":
            self.send_error(405)  # what needs leave in advance gets none
            return
        if fault == "moved":
            self.send_response(302)
            self.send_header("Location", f"/fine/{name}")
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        answer = Answer(self.server, self.command, name, path, wanted, self.headers)
        getattr(answer, fault)()
        body = answer.body or b""
        self.send_response(answer.status)
        for header, value in answer.headers.items():
            self.send_header(header, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if answer.closes_early:
            body, self.close_connection = body[: len(body) // 2], True
        if self.command != "HEAD":
            self.send_body(body, path)

    def send_body(self, body, path):
        try:
            self.wfile.write(body)
        except OSError:
            self.server.left_early.append(path)
            raise

    do_GET = do_HEAD = do_OPTIONS = answer

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(files):
    server = Server(files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.slow.set()
    server.shutdown()
    server.server_close()
