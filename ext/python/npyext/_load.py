"""Loading the extension into a connection of sqlite3, apsw or a module like these."""

import os
import sys

NO_EXTENSIONS = """\
this Python ({python}) was built without SQLite's extension loading: {module}.Connection has no enable_load_extension. \
Ways out: a Python that has it (Debian's and Ubuntu's /usr/bin/python3, Fedora's, Homebrew's, python.org's, conda's; \
of pyenv's: PYTHON_CONFIGURE_OPTS=--enable-loadable-sqlite-extensions pyenv install VERSION); \
or, in this one, `pip install apsw` and apsw.Connection(path) in the place of sqlite3.connect(path); \
or `pip install pysqlite3-binary` and `import pysqlite3 as sqlite3`."""


def loadable_path():
    """The path of the extension as SQLite takes it: without its `.so`, which SQLite adds."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "npyext")


def load(connection):
    """Load the extension into a connection: npyext's functions and tables are there afterwards.

    Whether the connection loads extensions on request is as it was before. Raises RuntimeError when the Python at
    hand cannot load extensions, and the connection's own error for what else fails.
    """
    if not hasattr(connection, "enable_load_extension"):
        module = type(connection).__module__
        if hasattr(connection, "execute"):
            raise RuntimeError(NO_EXTENSIONS.format(python=sys.executable, module=module))
        raise TypeError(f"npyext.load takes a connection, not {type(connection).__name__}")
    try:
        connection.load_extension(loadable_path())
        return
    except Exception as error:
        if "not authorized" not in str(error):
            raise
    connection.enable_load_extension(True)
    try:
        connection.load_extension(loadable_path())
    finally:
        connection.enable_load_extension(False)
