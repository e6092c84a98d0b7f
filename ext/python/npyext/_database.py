"""What to say when a file that is given as the database is an array: that is the first thing people type."""

import os

DATABASE = b"SQLite format 3\0"
# The function that shows what is in a file of each format; npy_meta for those of several arrays.
FUNCTIONS = {"npy": "npy_rows", "tar": "tar_members"}


def _begins_otherwise(path):
    """Whether the file is there and cannot be a database; an empty one can."""
    try:
        with open(path, "rb") as file:
            return file.read(len(DATABASE)) not in (b"", DATABASE)
    except OSError:
        return False


def refuse_array(path, make_connection):
    """Raises ValueError when the path is an array file's. make_connection() gives a connection with the extension to a
    database in memory; it is called only for a file that is no database."""
    path = os.fspath(path)
    if not isinstance(path, str) or not _begins_otherwise(path):
        return
    connection = make_connection()
    try:
        formats = [row[0] for row in connection.execute("SELECT format FROM npy_meta(json_array(?), 'row') LIMIT 1", (path,))]
    finally:
        connection.close()
    if formats in ([], [None]):
        return
    function = FUNCTIONS.get(formats[0], "npy_meta")
    shown = min(path, os.path.relpath(path), key=len)
    sql = f"SELECT * FROM {function}('%s')" % shown.replace("'", "''")
    raise ValueError(f"{shown} is an array file ({formats[0]}), not a database. In any database, or in :memory:, this shows it: {sql}")
