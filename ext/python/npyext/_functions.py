"""The functions that the sqlite3 program adds to SQLite, as far as people use them with arrays: readfile, writefile,
REGEXP and the table generate_series."""

import os
import re

import apsw

from ._load import method

try:
    import apsw.ext
except ImportError:  # before apsw 3.40
    pass


def _path(path):
    return path if isinstance(path, (str, bytes)) else str(path)


def readfile(path):
    """The bytes of a file, or NULL."""
    try:
        with open(_path(path), "rb") as file:
            return file.read()
    except (OSError, ValueError):
        return None


def writefile(path, data, mode=None, modified=None):
    """The number of bytes written."""
    if path is None:
        return None
    data = b"" if data is None else data if isinstance(data, bytes) else str(data).encode()
    try:
        folder = os.path.dirname(_path(path))
        if folder and not os.path.isdir(folder):
            os.makedirs(folder)
        with open(_path(path), "wb") as file:
            file.write(data)
        if mode:
            os.chmod(_path(path), mode & 0o777)
        if modified is not None:
            os.utime(_path(path), (modified, modified))
    except (OSError, ValueError) as error:
        raise apsw.SQLError(f"failed to write file: {path} ({getattr(error, 'strerror', None) or error})") from None
    return len(data)


def _regexp(pattern, text):
    return None if pattern is None or text is None else re.search(str(pattern), str(text)) is not None


DIRECTONLY = 0x000080000  # SQLITE_DIRECTONLY: not in a database's views and triggers


def _series(start=None, stop=0xFFFFFFFF, step=1):
    """3, 5, 7 for 3, 7, 2. Without an end it goes to 4294967295."""
    step = int(step or 1)
    value, stop = int(0 if start is None else start), int(0xFFFFFFFF if stop is None else stop)
    while value <= stop if step > 0 else value >= stop:
        yield (value,)
        value += step


_series.columns = ("value",)


def add(connection):
    create = method(connection, "create_scalar_function")
    create("regexp", _regexp, 2, deterministic=True)
    try:
        create("readfile", readfile, 1, flags=DIRECTONLY)
    except TypeError:  # before apsw 3.41, which keeps no view of a database from calling them
        return
    for narguments in (2, 3, 4):
        create("writefile", writefile, narguments, flags=DIRECTONLY)
    if hasattr(getattr(apsw, "ext", None), "make_virtual_module"):
        _series.column_access = apsw.ext.VTColumnAccess.By_Index
        apsw.ext.make_virtual_module(connection, "generate_series", _series)
