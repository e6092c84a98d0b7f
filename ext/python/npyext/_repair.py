"""Databases in which NumPy scalars were stored as the raw bytes of their buffer."""

from ._load import load


def _quoted(name):
    return '"' + name.replace('"', '""') + '"'


def repair_scalars(connection, table, column, dtype, schema="main"):
    """Make numbers of the BLOBs in a column that are one raw item of dtype, and return how many there were.

    Python's sqlite3 binds np.int64(5) as the 8 bytes of its memory, unless it is told otherwise (register_adapters).
    The bytes do not say what they were: dtype, such as 'int64', 'float32' or 'datetime64[us]', is for the caller to
    know, and every BLOB of its length is taken for one. Other values stay, BLOBs of other lengths too. Look first:

        SELECT typeof(c), length(c), count(*) FROM t GROUP BY 1, 2

    Runs in the connection's transaction, which is left to the caller to commit. Needs no NumPy.
    """
    load(connection)
    dtype = str(dtype)
    blob = f"npy_get(npy_from_data({{}}, ?1, '[1]'), 0)"
    (nbytes,) = next(
        iter(connection.execute("SELECT itemsize FROM npy_meta(npy_from_data(x'', ?1, '[0]'))", (dtype,)))
    )
    name = _quoted(column)
    connection.execute(
        f"UPDATE {_quoted(schema)}.{_quoted(table)} SET {name} = {blob.format(name)}"
        f" WHERE typeof({name}) = 'blob' AND length({name}) = ?2",
        (dtype, nbytes),
    )
    return next(iter(connection.execute("SELECT changes()")))[0]
