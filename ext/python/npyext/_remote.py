"""URLs, read by fsspec: the three SQL functions through which npyext reads what is elsewhere.

npyext asks for many files or ranges in one call, and threads here ask their servers side by side. Bytes are only those of
the version that npyext names: the servers of HTTP and S3 are told it (If-Match), others are asked for it again after the
read. What fails is returned as a text, because sqlite3 hides what an exception says.
"""

import concurrent.futures
import json
import posixpath
import re
import time
import urllib.parse

NTHREADS = 32
NTRIES = 4
FIRST_WAIT_SECONDS = 0.1
# The first of these that a file system tells of a file is its version.
VERSIONS = ("ETag", "etag", "generation", "versionId", "xet_hash", "blob_id", "md5Hash", "content_md5", "Content-MD5", "Digest",
            "LastModified", "last_modified", "Last-Modified", "mtime", "updated", "created")  # fmt: skip
# What is on this machine has paths, and NPYEXT_ROOT.
LOCAL = ("file", "local")
TRANSIENT = (429, 500, 502, 503, 504)

NO_FSSPEC = "npyext.connect(remote=True) reads URLs by fsspec, which this Python ({python}) does not have: pip install fsspec"


class Changed(Exception):
    """The file is no longer the version that was asked for."""


class Refused(ValueError):
    """A URL outside of what is allowed."""


def _parts(url):
    """Scheme, host and path of a URL; the path as servers understand it."""
    scheme, _, rest = url.partition("://")
    path, _, _ = rest.partition("?")
    host, slash, path = path.partition("/")
    decoded = urllib.parse.unquote(path)
    if ".." in decoded.replace("\\", "/").split("/"):
        raise Refused("a URL with `..` in its path is not read")
    return scheme.lower(), host.lower(), posixpath.normpath("/" + decoded) if slash else "/"


def _is_below(path, folder):
    return folder == "/" or path == folder or path.startswith(folder + "/")


class Allowed:
    """Prefixes of URLs, each a whole host or bucket, or a folder or file of it. None: all but this machine's files."""

    def __init__(self, prefixes):
        prefixes = [prefixes] if isinstance(prefixes, str) else prefixes
        for prefix in prefixes or ():
            if "://" not in prefix:
                raise ValueError(f"allow= takes URLs, as in allow=['s3://bucket/'], not {prefix!r}")
        self._prefixes = None if prefixes is None else [_parts(prefix) for prefix in prefixes]

    def check(self, url):
        scheme, host, path = _parts(url)
        if self._prefixes is None:
            if scheme in LOCAL:
                raise Refused("files of this machine are read by their paths")
            return
        if not any((scheme, host) == prefix[:2] and _is_below(path, prefix[2]) for prefix in self._prefixes):
            raise Refused("it is not below what allow=[...] or --remote names")


def version_of(info):
    """A text that is another one when a file is."""
    found = next((info[name] for name in VERSIONS if info.get(name)), "")
    return str(found.timestamp() if hasattr(found, "timestamp") else found)


def _is_transient(error):
    status = getattr(error, "status", None)
    return status in TRANSIENT or isinstance(error, (ConnectionError, TimeoutError)) or type(error).__name__ in (
        "ClientConnectionError", "ServerDisconnectedError", "ClientOSError", "ClientPayloadError", "ServerTimeoutError"
    )  # fmt: skip


def _retried(call):
    for ntries in range(1, NTRIES + 1):
        try:
            return call()
        except Exception as error:
            if ntries == NTRIES or not _is_transient(error):
                raise
            time.sleep(FIRST_WAIT_SECONDS * 2**ntries)


def _protocols(filesystem):
    return (filesystem.protocol,) if isinstance(filesystem.protocol, str) else tuple(filesystem.protocol)


class _Opened:
    """A file system, and how it reads a range of a certain version."""

    def __init__(self, filesystem):
        self.filesystem = filesystem
        protocols = _protocols(filesystem)
        self._is_http = "http" in protocols or "https" in protocols
        self._is_s3 = "s3" in protocols and hasattr(filesystem, "_call_s3")

    def path(self, url):
        return url if self._is_http else self.filesystem._strip_protocol(url)

    def urls(self, pattern, paths):
        """The URLs of paths that were listed, spelled like the pattern up to its first wildcard."""
        head = pattern[: re.search(r"[*?[]", pattern).start()].rpartition("/")[0] + "/"
        prefix = self.path(head).rstrip("/")
        prefix += "/" if prefix else ""
        for path in paths:
            yield head + path[len(prefix) :] if path.startswith(prefix) else self.filesystem.unstrip_protocol(path)

    def info(self, url):
        if self._is_http:
            return _retried(lambda: self._sync(self._http_info(url)))
        self.filesystem.invalidate_cache()
        return _retried(lambda: self.filesystem.info(self.path(url)))

    def read(self, url, version, start, nbytes):
        """Bytes, which may be of another version; whether they were checked."""
        if nbytes == 0:
            return b"", False
        if self._is_http:
            return _retried(lambda: self._sync(self._http_read(url, version, start, nbytes)))
        if self._is_s3 and version:
            return _retried(lambda: self._sync(self._s3_read(url, version, start, nbytes))), True
        return _retried(lambda: self._plain_read(self.path(url), start, nbytes)), False

    def _plain_read(self, path, start, nbytes):
        """Where cat_file is not a request of its own, it opens a file that reads megabytes ahead."""
        if self.filesystem.async_impl:
            return self.filesystem.cat_file(path, start=start, end=start + nbytes)
        with self.filesystem.open(path, "rb", cache_type="none") as file:
            file.seek(start)
            return file.read(nbytes)

    def _sync(self, coroutine):
        import fsspec.asyn

        return fsspec.asyn.sync(self.filesystem.loop, lambda: coroutine)

    async def _http_ask(self, method, url, headers):
        filesystem = self.filesystem
        session = await filesystem.set_session()
        options = {"allow_redirects": True, **filesystem.kwargs}
        headers = {**options.pop("headers", {}), "Accept-Encoding": "identity", **headers}
        return session.request(method, filesystem.encode_url(url), headers=headers, **options)

    async def _http_info(self, url):
        """fsspec's own takes every failure for a missing file. A URL may be signed for GET alone, and a length be told by a range."""
        for method, headers in (("HEAD", {}), ("GET", {"Range": "bytes=0-0"})):
            async with await self._http_ask(method, url, headers) as response:
                total = response.headers.get("Content-Range", "").rpartition("/")[2]
                length = response.headers.get("Content-Length", "")
                size = total if response.status == 206 else length if "Content-Encoding" not in response.headers else ""
                if response.status in (404, 410):
                    raise FileNotFoundError(url)
                if response.status < 400 and size.isdigit():
                    return {"size": int(size), "ETag": version_of(response.headers)}
                if method == "GET":
                    response.raise_for_status()
        raise OSError("the server does not tell the length of the file")

    async def _http_read(self, url, version, start, nbytes):
        """As read: a server need not say again which version it answers with."""
        headers = {"Range": f"bytes={start}-{start + nbytes - 1}"}
        if version.startswith('"'):  # a strong ETag: the only kind that If-Match compares
            headers["If-Match"] = version
        async with await self._http_ask("GET", url, headers) as response:
            if response.status == 412:
                raise Changed
            response.raise_for_status()
            total = response.headers.get("Content-Range", "").rpartition("/")[2]
            if response.status != 206 and (start, response.content_length) != (0, nbytes):
                raise OSError(f"the server answers {response.status} to a request for a range; npyext needs ranges of bytes")
            found = version_of(response.headers)
            if version and found and found != version:
                raise Changed
            body = await response.read()
        if response.status == 206 and not response.headers["Content-Range"].startswith(f"bytes {start}-"):
            raise OSError(f"the server answers with the range {response.headers['Content-Range']!r}, of {total} bytes")
        return body, version != "" and found == version

    async def _s3_read(self, url, version, start, nbytes):
        bucket, key, _ = self.filesystem.split_path(self.path(url))
        answer = await self.filesystem._call_s3(
            "get_object", Bucket=bucket, Key=key, Range=f"bytes={start}-{start + nbytes - 1}", IfMatch=version,
            **self.filesystem.req_kw
        )  # fmt: skip
        if answer.get("ETag") != version:
            raise Changed
        async with answer["Body"] as body:
            return await body.read()


def _words(error):
    text = str(error) or type(error).__name__
    return text if isinstance(error, Refused) else f"{type(error).__name__}: {text}"


class Remote:
    """What a connection reads of URLs: remote is True, an fsspec file system, or one for each scheme in a dict."""

    def __init__(self, remote, allow):
        self._remote = remote
        self._allowed = Allowed(allow)
        self._opened = {}
        self._threads = concurrent.futures.ThreadPoolExecutor(NTHREADS, "npyext")

    def _of(self, url):
        self._allowed.check(url)
        scheme = url.partition("://")[0]
        opened = self._opened.get(scheme)
        if opened is None:
            opened = self._opened[scheme] = _Opened(self._filesystem(scheme))
        return opened

    def _filesystem(self, scheme):
        if self._remote is True:
            import fsspec

            options = {"use_listings_cache": False, "skip_instance_cache": True}
            return fsspec.filesystem(scheme, **options)
        if isinstance(self._remote, dict):
            filesystem = self._remote.get(scheme)
        else:
            filesystem = self._remote if scheme in _protocols(self._remote) else None
        if filesystem is None:
            raise Refused(f"remote= has no file system for {scheme}://")
        return filesystem

    def _info(self, url):
        try:
            info = self._of(url).info(url)
            if info.get("type", "file") != "file":
                return None
            return [info["size"], version_of(info)]
        except FileNotFoundError:
            return None
        except Exception as error:
            return _words(error)

    def info(self, urls):
        try:
            return json.dumps(list(self._threads.map(self._info, json.loads(urls))))
        except Exception as error:
            return _words(error)

    def _read(self, asked):
        url, version, start, nbytes = asked
        opened = self._of(url)
        try:
            found, is_checked = opened.read(url, version, start, nbytes)
        except Changed:
            raise
        except Exception as error:
            now = self._info(url)
            if now is None or (isinstance(now, list) and now[1] != version):
                raise Changed from error
            raise
        if len(found) != nbytes:
            raise OSError(f"the server returned {len(found)} bytes where {nbytes} were asked for")
        return found, is_checked

    def read(self, ranges):
        try:
            asked = json.loads(ranges)
            found = list(self._threads.map(self._read, asked))
            unchecked = {url: version for (url, version, _, _), (_, is_checked) in zip(asked, found) if not is_checked}
            for (url, version), now in zip(unchecked.items(), self._threads.map(self._info, unchecked)):
                if isinstance(now, str):
                    return now
                if now is None or now[1] != version:
                    return "changed"
            return b"".join(part for part, _ in found)
        except Changed:
            return "changed"
        except Exception as error:
            return _words(error)

    def _glob(self, pattern):
        opened = self._of(pattern)
        opened.filesystem.invalidate_cache()
        listed = _retried(lambda: opened.filesystem.glob(opened.path(pattern), detail=True))
        for url, info in zip(opened.urls(pattern, listed), listed.values()):
            if info.get("type", "file") != "file":
                continue
            self._allowed.check(url)
            # What else a listing tells of a version need not be what info says; then npyext asks for that.
            has_version = isinstance(info.get("size"), int) and (info.get("ETag") or info.get("etag"))
            yield [url, info["size"], version_of(info)] if has_version else url

    def glob(self, pattern):
        try:
            return json.dumps(list(self._glob(pattern)))
        except FileNotFoundError:
            return "[]"
        except Exception as error:
            return _words(error)


def bind(connection, remote, allow=None):
    """Define the functions on a connection.

    A database's views and triggers must not call them. apsw can say so of a function; for sqlite3 it is said of the
    whole connection, by PRAGMA trusted_schema = OFF.
    """
    if not (remote is True or isinstance(remote, dict) or hasattr(remote, "cat_file")):
        raise TypeError(f"remote= is True, a file system of fsspec or a dict of one for each scheme, not {remote!r}")
    if remote is True:
        try:
            import fsspec  # noqa: F401
        except ImportError as error:
            import sys

            raise RuntimeError(NO_FSSPEC.format(python=sys.executable)) from error
    made = Remote(remote, allow)
    functions = {"npyext_remote_info": made.info, "npyext_remote_read": made.read, "npyext_remote_glob": made.glob}
    create = getattr(connection, "create_scalar_function", None) or getattr(connection, "createscalarfunction", None)
    for name, function in functions.items():
        if create is None:
            connection.create_function(name, 1, function)
        else:
            create(name, function, 1, flags=0x000080000)  # SQLITE_DIRECTONLY
    if create is None:
        connection.execute("PRAGMA trusted_schema = OFF")
