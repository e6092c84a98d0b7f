"""As much of Python's sqlite3 module as random queries and comparisons use, over apsw, whose wheels each bring a release
of SQLite of their own: `PYTHONPATH=tests/hosts/apsw:<folder of a wheel> python3 tests/queries/comparisons.py`."""

import apsw

sqlite_version = apsw.sqlitelibversion()
sqlite_version_info = tuple(map(int, sqlite_version.split(".")))
Error = apsw.Error
SQLITE_ERROR = apsw.SQLITE_ERROR


class Cursor:
    """The rows, which are all fetched at once."""

    def __init__(self, rows):
        self.rows = rows

    def __iter__(self):
        return iter(self.rows)

    def fetchall(self):
        return self.rows


class Connection(apsw.Connection):
    def execute(self, sql, parameters=()):
        try:
            return Cursor(list(self.cursor().execute(sql, parameters)))
        except UnicodeDecodeError as error:  # of a BLOB that was cast to TEXT
            raise Error(str(error)) from None

    def executemany(self, sql, rows):
        self.cursor().executemany(sql, rows)

    def enable_load_extension(self, is_enabled):
        self.enableloadextension(is_enabled)

    def load_extension(self, path):
        self.loadextension(path)


def connect(path, isolation_level=None, cached_statements=100):
    return Connection(path, statementcachesize=cached_statements)
