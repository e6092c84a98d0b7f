"""Loading the extension into a connection of sqlite3, apsw or a module like these."""

import os
import sys
import warnings

NO_EXTENSIONS = """\
this Python ({python}) was built without SQLite's extension loading: {module}.Connection has no enable_load_extension. \
Ways out: a Python that has it (Debian's and Ubuntu's /usr/bin/python3, Fedora's, Homebrew's, python.org's, conda's; \
of pyenv's: PYTHON_CONFIGURE_OPTS=--enable-loadable-sqlite-extensions pyenv install VERSION); \
or, in this one, `pip install apsw` and apsw.Connection(path) in the place of sqlite3.connect(path); \
or `pip install pysqlite3-binary` and `import pysqlite3 as sqlite3`."""


def loadable_path():
    """The path of the extension as SQLite takes it: without its `.so`, which SQLite adds."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "npyext")


def _check(connection):
    if hasattr(connection, "enable_load_extension"):
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
    connection.enable_load_extension(True)
    try:
        call()
    finally:
        connection.enable_load_extension(False)


def load(connection):
    """Load the extension into a connection: npyext's functions and tables are there afterwards.

    Whether the connection loads extensions on request is as it was before. Raises RuntimeError when the Python at
    hand cannot load extensions, and the connection's own error for what else fails.
    """
    _load(connection, lambda: connection.load_extension(loadable_path()))


def can_load(connection):
    """Whether the connection's Python can load extensions; a plugin that cannot says so once, and leaves its host alone."""
    if hasattr(connection, "enable_load_extension"):
        return True
    warnings.warn("npyext: " + NO_EXTENSIONS.format(python=sys.executable, module=type(connection).__module__))
    return False


def load_readonly(connection):
    """The same without what writes files."""
    sql = "SELECT load_extension(?, 'sqlite3_npyext_readonly_init')"
    _load(connection, lambda: connection.execute(sql, (loadable_path(),)).fetchall())
