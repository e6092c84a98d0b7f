"""One statement over many files, by many processes or machines: npyext.map and npyext.dask.

The sources are split into parts, each of which a worker asks in a connection of its own. There is no scheduler here:
an executor is anything with the interface of concurrent.futures, and Dask's, Ray's or MPI's know their machines.
"""

import concurrent.futures
import json
import os
import pickle
import queue
import re
import signal
import socket

from ._load import connect_with_what_loads, load_readonly, method

# As many parts as are made unless told otherwise: enough for their workers to end at about the same time. That they do
# not depend on the machine makes the answers those of every other one.
NPARTS = 64
# What a file costs beside its bytes.
OPEN_NBYTES = 64 * 1024
# Sizes of at most so many files are looked up; each stands for those after it. Over a network a lookup costs 1 ms.
MOST_LOOKUPS = 1024


class MapError(RuntimeError):
    """A part that failed: its number, its sources, the worker (host:process), the SQL, and what the worker said."""

    def __init__(self, message, number, sources, worker, sql):
        super().__init__(message, number, sources, worker, sql)
        self.message, self.number, self.sources, self.worker, self.sql = message, number, sources, worker, sql

    def __str__(self):
        sources = self.sources if len(self.sources) < 3 else [self.sources[0], "...", self.sources[-1]]
        shown = ", ".join(each if isinstance(each, str) else json.dumps(each) for each in sources)
        files = f"{len(self.sources)} file{'' if len(self.sources) == 1 else 's'}"
        return f"part {self.number} ({files}: {shown}), worker {self.worker}: {self.message}\nSQL: {self.sql}"


class Rows(list):
    """The rows as tuples, and their columns' names: pandas.DataFrame(rows, columns=rows.columns)."""

    def __init__(self, rows, columns):
        super().__init__(rows)
        self.columns = columns


class _Answer:
    """What a cursor of sqlite3 has: apsw's forgets the names of its columns with the last row."""

    def __init__(self, cursor, sql, parameters):
        self.description = ()

        def look(cursor, sql, bindings):
            self.description = tuple(method(cursor, "get_description")())
            return True

        method(cursor, "set_exec_trace")(look)
        self._rows = cursor.execute(sql, parameters or None)

    def fetchall(self):
        return list(self._rows)

    def fetchone(self):
        return next(self._rows, None)

    def __iter__(self):
        return self._rows


class _Apsw:
    """A connection of apsw, used as one of sqlite3."""

    def __init__(self, connection):
        self._connection = connection

    def execute(self, sql, parameters=()):
        return _Answer(self._connection.cursor(), sql, parameters)

    def executemany(self, sql, rows):
        self._connection.cursor().executemany(sql, rows)

    def close(self):
        self._connection.close(True)


def _connect(remote=None, allow=None):
    """By sqlite3 or, where that loads no extensions, by apsw, as npyext.connect does it."""
    connection = connect_with_what_loads(":memory:", {})
    load_readonly(connection, remote, allow)
    return connection if hasattr(connection, "set_trace_callback") else _Apsw(connection)


# --- parts ------------------------------------------------------------------------------------------------------------


def _paths(connection, sources):
    """The files of patterns and lists, none of which is opened; ranges stay as they are."""
    if isinstance(sources, (str, os.PathLike, dict, int)):
        sources = [sources]
    found = []
    for each in sources:
        if isinstance(each, dict):
            found.append(each)
        elif isinstance(each, (str, os.PathLike)):
            found += [path for (path,) in connection.execute("SELECT path FROM npy_paths(?)", (os.fspath(each),))]
        else:
            raise TypeError(f"sources are paths, patterns and ranges, not {type(each).__name__}")
    return found


def _weights(connection, paths):
    """About what each costs to read."""
    step = -(-len(paths) // MOST_LOOKUPS) or 1
    sql = "SELECT file_size FROM npy_paths(?)"
    weights = []
    for i in range(0, len(paths), step):
        path = paths[i]
        if isinstance(path, dict):
            nbytes = path.get("nbytes")
        else:
            (nbytes,) = connection.execute(sql, (json.dumps([path]),)).fetchone() or (None,)
        weights += [OPEN_NBYTES + (nbytes or 0)] * min(step, len(paths) - i)
    return weights


def make_parts(connection, sources, parts=None):
    """Lists of paths in the order of the sources, of about the same size."""
    if parts is None:
        parts = NPARTS
    if isinstance(parts, bool) or not isinstance(parts, int) or parts < 1:
        raise ValueError(f"parts is a number of parts, 1 at least, not {parts!r}")
    paths = _paths(connection, sources)
    weights = _weights(connection, paths)
    total, before, made = sum(weights), 0, {}
    for path, weight in zip(paths, weights):
        made.setdefault((2 * before + weight) * parts // (2 * total), []).append(path)
        before += weight
    return list(made.values())


# --- a worker ---------------------------------------------------------------------------------------------------------


def run_part(sql, number, source, parameters, remote=None, allow=None):
    """The rows of a part, in a worker; source: its sources as JSON."""
    try:
        connection = _connect(remote, allow)
        try:
            return connection.execute(sql, {**parameters, "source": source}).fetchall()
        finally:
            connection.close()
    except Exception as error:
        worker = f"{socket.gethostname()}:{os.getpid()}"
        raise MapError(f"{type(error).__name__}: {error}", number, json.loads(source), worker, sql) from None


def run_packed(*arguments):
    """The same as bytes: executors that look into lists, as Dask's does, take much longer for the rows than SQL did."""
    return pickle.dumps(run_part(*arguments), 4)


def _begin_process(nthreads):
    """Processes share the cores; a Ctrl-C ends them in the middle of a statement."""
    os.environ.setdefault("NPYEXT_THREADS", str(nthreads))
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _processes(nparts):
    ncores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    nworkers = max(1, min(ncores, nparts))
    return concurrent.futures.ProcessPoolExecutor(
        nworkers, initializer=_begin_process, initargs=(max(1, ncores // nworkers),)
    )


# --- map --------------------------------------------------------------------------------------------------------------


def _columns(connection, sql, parameters):
    """The names of the columns; what is wrong with the statement is found before a worker begins."""
    if not re.search(r":source\b", sql):
        raise ValueError("the statement reads its part of the sources as :source, as in FROM npy_meta(:source)")
    sql = sql.strip().rstrip(";")
    cursor = connection.execute(f"SELECT * FROM ({sql}\n) LIMIT 0", {**parameters, "source": "[]"})
    return [column[0] for column in cursor.description]


def _collect(executor, sql, parts, parameters, progress, remote, allow):
    """What the parts gave, in their order. The first to fail, as they end, takes those that have not begun with it."""
    ended = queue.SimpleQueue()
    futures = []
    results = [None] * len(parts)
    try:
        for number, sources in enumerate(parts):
            futures.append(executor.submit(run_packed, sql, number, json.dumps(sources), parameters, remote, allow))
            futures[-1].add_done_callback(lambda _, number=number: ended.put(number))
        for done in range(1, len(parts) + 1):
            number = ended.get()
            results[number] = _result(futures[number], sql, number, parts[number])
            if progress is not None:
                progress(done, len(parts))
    finally:
        for future in futures:
            future.cancel()
    return results


def _result(future, sql, number, sources):
    try:
        return pickle.loads(future.result())
    except MapError:
        raise
    except Exception as error:  # the executor's: the worker is gone, or what it gave could not be sent
        message = f"{type(error).__name__}: {error}"
        raise MapError(message, number, sources, "unknown", sql) from error


def _reduce(connection, sql, columns, results):
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
    connection.execute(f"CREATE TABLE parts ({names})")
    insert = f"INSERT INTO parts VALUES ({', '.join('?' * len(columns))})"
    for rows in results:
        connection.executemany(insert, rows)
    cursor = connection.execute(sql)
    return Rows(cursor.fetchall(), [column[0] for column in cursor.description or ()])


def map(sql, sources, *, reduce=None, executor=None, parts=None, parameters=None, progress=None, remote=None, allow=None):
    """Ask a statement of many files in parts, by many processes or machines, and return its rows.

    - sql is a SELECT that reads `:source`: `SELECT path, mean FROM npy_stats(:source)`. Its other named parameters are
      in the dict parameters. Workers load the extension read-only.
    - sources is a path, a pattern, or a list of them; ranges (dicts) may stand in it, too. Files are not opened here.
    - parts is the number of parts at most, 64 unless given, of about the same number of bytes. They follow from the
      files alone, not from the workers.
    - The rows come as a list, in the order of the parts, which is that of the sources; `.columns` has their names.
      reduce, a statement over a table `parts` of them, makes the answer of them instead.
    - executor is anything with the interface of concurrent.futures: Dask's client.get_executor(), an MPIPoolExecutor.
      Without one there is a process for each core. Its workers need npyext, and see the files by the same paths.
    - progress(done, total) is called here after each part.
    - remote and allow are those of npyext.connect, for URLs; a file system of fsspec is sent to the workers.

    Raises MapError, which says the part, the worker and the SQL, as soon as a part fails: those that have not begun are
    cancelled. What a file's fault becomes is for the statement to say, by on_error.
    """
    parameters = dict(parameters or {})
    connection = _connect(remote, allow)
    try:
        columns = _columns(connection, sql, parameters)
        made = make_parts(connection, sources, parts)
        own = _processes(len(made)) if executor is None and made else None
        try:
            results = _collect(own or executor, sql, made, parameters, progress, remote, allow)
        except BaseException:
            if own is not None:
                own.shutdown(wait=False)  # its parts were cancelled; that which runs ends by itself
                own = None
            raise
        finally:
            if own is not None:
                own.shutdown()
        if reduce is not None:
            return _reduce(connection, reduce, columns, results)
        return Rows((row for rows in results for row in rows), columns)
    finally:
        connection.close()


# --- Dask -------------------------------------------------------------------------------------------------------------


def _frame(rows, columns):
    """Integers, numbers and texts that may be NULL, as pandas has types for; BLOBs and what is mixed are objects."""
    import pandas

    kinds = {(int,): "Int64", (float,): "Float64", (float, int): "Float64", (str,): "string"}
    frame = {}
    for i, name in enumerate(columns):
        cells = [row[i] for row in rows]
        found = {type(cell) for cell in cells} - {type(None)}
        dtype = kinds.get(tuple(sorted(found, key=lambda kind: kind.__name__)), "object")
        frame[name] = pandas.Series(cells, dtype=dtype)
    return pandas.DataFrame(frame)


def frame_part(part, sql, parameters, dtypes, remote=None, allow=None):
    """A part's rows as a DataFrame, in a worker. (An argument `columns` would be taken for what Dask may narrow.)"""
    number, source = part
    frame = _frame(run_part(sql, number, source, parameters, remote, allow), list(dtypes))
    for name, dtype in dtypes.items():
        found = str(frame[name].dtype)
        if str(dtype) in ("Int64", "string") and found not in (str(dtype), "object"):
            raise ValueError(
                f"part {number}: the column {name!r} is {found} here and {dtype} in the first file; say what it must be, as in "
                f"meta={dict.fromkeys(dtypes, 'object') | {name: found}}"
            )
    return frame.astype(dtypes)


def dask(sql, sources, *, parts=None, parameters=None, meta=None, remote=None, allow=None):
    """The same rows as a Dask DataFrame, a partition for each part, which workers read when it is computed.

    The columns' types are those that the first file's rows have (Int64, Float64, string, and object for BLOBs), unless
    meta says them: an empty pandas.DataFrame, or a dict of names and dtypes. remote and allow are those of npyext.connect.
    """
    import dask as dask_package
    import dask.dataframe
    import pandas

    parameters = dict(parameters or {})
    connection = _connect(remote, allow)
    try:
        columns = _columns(connection, sql, parameters)
        made = make_parts(connection, sources, parts)
    finally:
        connection.close()
    if meta is None:
        rows = run_part(sql, 0, json.dumps(made[0][:1]), parameters, remote, allow) if made else []
        meta = _frame(rows, columns).iloc[:0]
    elif not isinstance(meta, pandas.DataFrame):
        meta = pandas.DataFrame({name: pandas.Series(dtype=dtype) for name, dtype in dict(meta).items()})
    if list(meta.columns) != columns:
        raise ValueError(f"meta has the columns {list(meta.columns)}, the statement {columns}")
    with dask_package.config.set({"dataframe.convert-string": False}):  # BLOBs are objects and stay bytes
        return dask.dataframe.from_map(
            frame_part,
            [(number, json.dumps(sources)) for number, sources in enumerate(made)] or [(0, "[]")],
            sql=sql,
            parameters=parameters,
            dtypes=dict(meta.dtypes),
            remote=remote,
            allow=allow,
            meta=meta,
        )
