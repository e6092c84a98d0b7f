"""How times grow: with the size of an array, the files of a folder, the members of an archive, the threads; and what they
are when the files are not in the page cache."""

import glob
import os
import shutil

import data
import fresh
from tables import figure, lines

TIMES = 3
PATIENCE = 10  # seconds, after which nothing is asked once more
HUGE = {"10000mb.npy": 10 << 30, "files_1000000": 5 << 30}  # bytes; made only where there is twice the room, and not kept

SIZES = [1, 10, 100, 1000, 10_000]  # megabytes of float64
SCANS = {
    "sum(value) FROM npy_rows": "SELECT sum(value) FROM npy_rows(?)",
    "sum(value) FROM npy_elements": "SELECT sum(value) FROM npy_elements(?)",
    "count(*) FROM npy_rows WHERE value > 4": "SELECT count(*) FROM npy_rows(?) WHERE value > 4",
    "* FROM npy_stats": "SELECT * FROM npy_stats(?)",
}
LOOKUPS = {
    "value FROM npy_rows WHERE row = ?": "SELECT value FROM npy_rows(?) WHERE row = ?",
    "value FROM npy_elements WHERE idx = ?": "SELECT value FROM npy_elements(?) WHERE idx = ?",
    "value FROM npy_rows LIMIT 10": "SELECT value FROM npy_rows(?) LIMIT 10",
}
SURVEYS = {
    "sum(length(dtype)) FROM npy_meta": "SELECT sum(length(dtype)) FROM npy_meta(?)",
    "sum(mean) FROM npy_stats": "SELECT sum(mean) FROM npy_stats(?)",
}
BY_NAME = "SELECT value FROM npy_rows(?, ?) WHERE row = 7"
THREADS = [1, 2, 4, 8, 16]
THREADED = {
    "* FROM npy_stats, 400 MB": "SELECT * FROM npy_stats('large.npy')",
    "count(*) FROM npy_rows WHERE value > 4, 400 MB": "SELECT count(*) FROM npy_rows('large.npy') WHERE value > 4",
    "* FROM npy_stats, 64 deflated members": "SELECT * FROM npy_stats('members.npz')",
    "* FROM npy_compare, two of 200 MB": "SELECT * FROM npy_compare('narrow.npy', 'shifted.npy')",
}


def cell(*work, unit="ms", times=1, variables=None, before=lambda: None):
    """The least time of a work, each time in a process of its own."""
    seconds = []
    try:
        while len(seconds) < TIMES and sum(seconds) < PATIENCE:
            before()
            seconds.append(fresh.done(*work, times=times, variables=variables).seconds)
    except fresh.Unmeasured as error:
        print("   ", *work, error, flush=True)
        return "–"
    return f"{figure(min(seconds) * {'ms': 1e3, 'µs': 1e6}[unit])} {unit}"


def section(title, heads, rows, what="SELECT"):
    """The lines of a table, whose rows are a label and functions that measure a cell each."""
    table = []
    for label, cells in rows:
        table.append([f"`{label}`", *(measure() for measure in cells)])
        print("   ", *table[-1], flush=True)
    return [title, "", *lines([what, *heads], table), ""]


def column(name, measures):
    """The cells of one array or folder. By it, not by the statement: a huge one is gone when they are done."""
    if shutil.disk_usage(fresh.FOLDER).free < 2 * HUGE.get(name, 0):
        return ["–"] * len(measures)
    data.make(fresh.FOLDER, [name])
    cells = [measure() for measure in measures]
    print("   ", name, *cells, flush=True)
    if name in HUGE:
        data.remove(fresh.path(name))
    return cells


def by_columns(title, heads, labels, columns):
    table = [[f"`{label}`", *cells] for label, *cells in zip(labels, *columns)]
    return [title, "", *lines(["SELECT", *heads], table), ""]


def arrays():
    title = "How scans and lookups (of which a process does 50) grow with the size of a float64 .npy:"
    scan = lambda statement, name: lambda: cell("sql", statement, name)
    lookup = lambda statement, name, nrows: lambda: cell("lookups", statement, name, nrows, unit="µs", times=50)
    columns = []
    for megabytes in SIZES:
        name = f"{megabytes}mb.npy"
        measures = [scan(statement, name) for statement in SCANS.values()]
        measures += [lookup(statement, name, megabytes * 125_000) for statement in LOOKUPS.values()]
        columns.append(column(name, measures))
    return by_columns(title, [f"{megabytes} MB" for megabytes in SIZES], [*SCANS, *LOOKUPS], columns)


def folders():
    ask = lambda statement, count: lambda: cell("sql", statement, f"files_{count}/*.npy")
    columns = [column(f"files_{count}", [ask(sql, count) for sql in SURVEYS.values()]) for count in data.FILE_COUNTS]
    return by_columns("With the .npy of a folder:", [f"{count:,} files" for count in data.FILE_COUNTS], SURVEYS, columns)


def archives(kind):
    names = [f"{kind}_{count}.npz" for count in data.MEMBER_COUNTS]
    data.make(fresh.FOLDER, names)
    ask = lambda statement, *parameters: lambda: cell("sql", statement, *parameters)
    rows = [(label, [ask(sql, name) for name in names]) for label, sql in SURVEYS.items()]
    middle = [ask(BY_NAME, name, data.member(count // 2)) for name, count in zip(names, data.MEMBER_COUNTS)]
    rows.append(("value FROM npy_rows(?, name) WHERE row = ?", middle))
    return section(f"With the members of a {kind} .npz:", [f"{count:,}" for count in data.MEMBER_COUNTS], rows)


def threads():
    data.make(fresh.FOLDER, ["large.npy", "members.npz", "narrow.npy", "shifted.npy"])
    ask = lambda statement, count: lambda: cell("sql", statement, variables={"NPYEXT_THREADS": str(count)})
    rows = [(label, [ask(statement, count) for count in THREADS]) for label, statement in THREADED.items()]
    return section("With the threads (`NPYEXT_THREADS`):", [str(count) for count in THREADS], rows)


COLD = {
    "* FROM npy_stats, 400 MB": ("large.npy", "sql", "SELECT * FROM npy_stats('large.npy')"),
    "NumPy: min, max, mean and std of a memmap": ("large.npy", "moments_by_numpy", "large.npy"),
    "value FROM npy_rows WHERE row = ?, 400 MB": ("large.npy", "sql", "SELECT value FROM npy_rows('large.npy') WHERE row = 40000000"),
    "sum(length(dtype)) FROM npy_meta, 10,000 files": ("many/**/*.npy", "sql", "SELECT sum(length(dtype)) FROM npy_meta('many/**/*.npy')"),
    "NumPy: headers in a loop": ("many/**/*.npy", "headers_by_numpy", "many/**/*.npy"),
}


def forget(pattern):
    """Takes files out of the page cache; their folders stay."""
    for name in glob.glob(fresh.path(pattern), recursive=True):
        descriptor = os.open(name, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def cold():
    data.make(fresh.FOLDER, ["large.npy", "many"])
    if not hasattr(os, "posix_fadvise"):
        return []
    ask = lambda work, before: lambda: cell(*work, before=before)
    rows = [(label, [ask(work, lambda pattern=pattern: forget(pattern)), ask(work, lambda: None)]) for label, (pattern, *work) in COLD.items()]
    return section("From the disk, and from the page cache:", ["disk", "page cache"], rows, what="work")


def page():
    """The lines of all of it. A disk that is full costs the sections that have no room, not the report."""
    least = f"The least of {TIMES}, or of as many as {PATIENCE} s are enough for, each in a process of its own."
    text = ["## Growth", "", least, ""]
    sections = arrays, folders, lambda: archives("stored"), lambda: archives("deflated"), threads, cold
    for measure in sections:
        try:
            text += measure()
        except OSError as error:
            text += [f"Not measured: {error.strerror}.", ""]
    return text
