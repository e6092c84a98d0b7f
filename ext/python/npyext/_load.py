"""Connections with the extension: those of sqlite3, apsw or a module like these."""

import os
import sys
import warnings

from ._database import refuse_array

NO_EXTENSIONS = """\
this Python ({python}) was built without SQLite's extension loading: {module}.Connection has no enable_load_extension. \
Ways out: a Python that has it (Debian's and Ubuntu's /usr/bin/python3, Fedora's, Homebrew's, python.org's, conda's; \
of pyenv's: PYTHON_CONFIGURE_OPTS=--enable-loadable-sqlite-extensions pyenv install VERSION); \
or, in this one, `pip install apsw` and npyext.connect(path) in the place of sqlite3.connect(path); \
or `pip install pysqlite3-binary` and `import pysqlite3 as sqlite3`."""

NO_LIBRARY = """\
npyext.connect found no SQLite that loads extensions: {reason}. `pip install apsw` brings one to this Python ({python}), \
and npyext.connect then takes it."""

# The oldest SQLite that npyext runs in.
OLDEST_SQLITE = (3, 37)


def loadable_path():
    """The path of the extension as SQLite takes it: without the suffix of this system's libraries, which SQLite adds."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "npyext")
    own = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
    found = [suffix for suffix in (".so", ".dylib", ".dll") if os.path.exists(path + suffix)]
    return path if own in found or not found else path + found[0]


def method(connection, name):
    """apsw's methods had no underscores once; None when there is none."""
    return getattr(connection, name, None) or getattr(connection, name.replace("_", ""), None)


def _check(connection):
    if method(connection, "enable_load_extension"):
        return
    if hasattr(connection, "execute"):
        raise RuntimeError(NO_EXTENSIONS.format(python=sys.executable, module=type(connection).__module__))
    raise TypeError(f"npyext.load takes a connection, not {type(connection).__name__}")


def _load(connection, call):
    """Has call load the extension; whether the connection does so on request is as before."""
    _check(connection)
    try:
        call()
        return
    except Exception as error:
        if "not authorized" not in str(error):
            raise
    enable = method(connection, "enable_load_extension")
    enable(True)
    try:
        call()
    finally:
        enable(False)


def load(connection, remote=None, allow=None):
    """Load the extension into a connection: npyext's functions and tables are there afterwards.

    remote and allow are those of connect. Whether the connection loads extensions on request is as it was before. Raises RuntimeError when the Python at
    hand cannot load extensions, and the connection's own error for what else fails.
    """
    _load(connection, lambda: method(connection, "load_extension")(loadable_path()))
    _bind(connection, remote, allow)


def _bind(connection, remote, allow):
    if remote is None or remote is False:
        if allow is not None:
            raise ValueError("allow= says which URLs may be read, and needs remote=True or a file system")
        return
    from ._remote import bind

    bind(connection, remote, allow)


def _why_not_sqlite3():
    """What keeps Python's own sqlite3 from loading the extension; None when nothing does."""
    try:
        import sqlite3
    except ImportError as error:
        return f"its sqlite3 cannot be imported ({error})"
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        return "its sqlite3 was built without extension loading"
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        return f"its sqlite3 has SQLite {sqlite3.sqlite_version}, and npyext needs {'.'.join(map(str, OLDEST_SQLITE))} or newer"
    return None


def connect_with_what_loads(path, options):
    """A connection of sqlite3, or of apsw where that loads no extensions; without npyext."""
    reason = _why_not_sqlite3()
    if reason is None:
        import sqlite3

        return sqlite3.connect(path, **options)
    try:
        import apsw
    except ImportError as error:
        raise RuntimeError(NO_LIBRARY.format(reason=reason, python=sys.executable)) from error
    return apsw.Connection(os.fspath(path), **options)


def connect(path=":memory:", *, remote=None, allow=None, **options):
    """A connection to a database with the extension loaded.

    remote=True has it read URLs, by the file systems of fsspec (s3://, gs://, https://, hf://, ...); an fsspec file
    system, or a dict of one for each scheme, by these. allow is a list of the URLs, buckets or folders that may be read.

    It is one of Python's own sqlite3 where that loads extensions, else one of apsw, which has a SQLite of its own. Both
    have execute and executemany; the options are those of sqlite3.connect or apsw.Connection. Raises RuntimeError when
    there is neither, and ValueError when path is an array file.
    """
    refuse_array(path, connect)
    connection = connect_with_what_loads(path, options)
    try:
        load(connection, remote, allow)
    except BaseException:
        connection.close()
        raise
    return connection


def can_load(connection):
    """Whether the connection's Python can load extensions; a plugin that cannot says so once, and leaves its host alone."""
    if hasattr(connection, "enable_load_extension"):
        return True
    warnings.warn("npyext: " + NO_EXTENSIONS.format(python=sys.executable, module=type(connection).__module__))
    return False


def load_readonly(connection, remote=None, allow=None):
    """The same without what writes files."""
    sql = "SELECT load_extension(?, 'sqlite3_npyext_readonly_init')"
    _load(connection, lambda: connection.execute(sql, (loadable_path(),)).fetchall())
    _bind(connection, remote, allow)
