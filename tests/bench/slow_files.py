"""Files elsewhere, each request to which takes 20 ms: a file system as those of fsspec are, over a folder. Row 28 of bench.py."""

import glob
import importlib.util
import io
import os
import time

import numpy as np

import shell

SECONDS = 0.02
REMOTE = os.path.join(shell.ROOT, "ext", "python", "npyext", "_remote.py")


class Slow:
    """URLs slow://NAME are the files of the folder."""

    protocol = "slow"
    async_impl = True  # cat_file is a request of its own

    def __init__(self, folder):
        self._folder = folder
        self.nrequests = 0

    def _path(self, path):
        return os.path.join(self._folder, path)

    def _request(self):
        self.nrequests += 1
        time.sleep(SECONDS)

    def _strip_protocol(self, url):
        return url.partition("://")[2]

    def invalidate_cache(self):
        pass

    def info(self, path):
        self._request()
        return {"size": os.path.getsize(self._path(path)), "ETag": "1"}

    def cat_file(self, path, start=0, end=None):
        self._request()
        with open(self._path(path), "rb") as file:
            file.seek(start)
            return file.read(None if end is None else end - start)

    def glob(self, pattern, detail=True):
        self._request()
        names = sorted(os.path.relpath(path, self._folder) for path in glob.glob(self._path(pattern)))
        return {name: {"size": os.path.getsize(self._path(name)), "ETag": "1"} for name in names}


def connect(files):
    """A connection that reads them as npyext.connect(remote=files) does."""
    spec = importlib.util.spec_from_file_location("npyext_remote", REMOTE)
    remote = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(remote)
    connection = shell.connect()
    remote.bind(connection, files)
    return connection


def one_after_the_other(files, pattern):
    """The shapes of all that match, by a request for each."""
    shapes = []
    for name in files.glob(pattern):
        file = io.BytesIO(files.cat_file(name, 0, 65536))
        np.lib.format.read_magic(file)
        shapes.append(np.lib.format.read_array_header_1_0(file)[0])
    return shapes
