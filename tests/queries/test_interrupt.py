"""sqlite3_interrupt and progress handlers stop the loops inside the extension, which then goes on working."""

import json
import os
import sqlite3
import threading
import time

import numpy as np
import pytest

import shell
import tars
from arrays import npy_bytes, write_sparse_npy
from formats import endless_npz

# Seconds; without a stop the tasks below take longer than this, but for the one wide row, which ends as interrupted
# or not at all.
SOON = 20.0 if shell.SANITIZED else 4.0
# When the interrupt comes: in the middle of a task, which has read its arguments and opened its files by then.
BEGUN = 0.3 if shell.SANITIZED or shell.FLAVOUR == "small" else 0.1


def write(name, contents):
    with open(name, "wb") as out:
        out.write(contents)


# Each task fills the current folder and returns a statement with its source.


def rows():
    """Every step is SQLite's own, and short."""
    write_sparse_npy("x", (1_000_000_000,))
    return "SELECT count(value) FROM npy_rows(?)", "x"


def one_wide_row():
    """One step builds the JSON of 60 million numbers."""
    write_sparse_npy("x", (1, 60_000_000))
    return "SELECT length(value) FROM npy_rows(?)", "x"


def walk():
    """One step walks a tree again and again and finds nothing."""
    for i in range(400):
        os.makedirs(f"tree/{i}/a/b")
    return "SELECT count(*) FROM npy_meta(?)", json.dumps(["tree/**/*.npy"] * 20_000)


def skipped_files():
    """One step opens a million files that are no arrays."""
    write("x", b"no array")
    return "SELECT count(*) FROM npy_meta(?, 'skip')", json.dumps(["x"] * 1_000_000)


def empty_arrays():
    """One step opens a million arrays of no rows."""
    write("x", npy_bytes(np.zeros(0)))
    return "SELECT count(*) FROM npy_rows(?)", json.dumps(["x"] * 1_000_000)


def far_ahead():
    """One step inflates gigabytes to reach its row."""
    write("x", endless_npz())
    return "SELECT value FROM npy_rows(?) WHERE row = 4000000000", "x"


def crc():
    """One step inflates a member to its end."""
    write("x", endless_npz())
    return "SELECT crc_ok FROM npz_members(?)", "x"


def filtered_rows():
    """One step looks for a row that is not there."""
    write_sparse_npy("x", (20_000_000_000,))
    return "SELECT count(*) FROM npy_rows(?) WHERE value > 1", "x"


def filtered_converted_rows():
    """The same of rows that are converted, which no thread reads ahead."""
    write_sparse_npy("x", (20_000_000_000,))
    return "SELECT count(*) FROM npy_rows(?) WHERE astype = 'f4' AND value > 1", "x"


def filtered_elements():
    """One step looks for an element that is not there, in panels."""
    write_sparse_npy("x", (2_000_000, 10_000), fortran_order=True)
    return "SELECT count(*) FROM npy_elements(?) WHERE value > 1", "x"


def statistics():
    """One step reduces 160 GB, with another thread's help."""
    write_sparse_npy("x", (20_000_000_000,))
    return "SELECT max FROM npy_stats(?)", "x"


def statistics_along_an_axis():
    """One step reduces 160 GB that come in panels."""
    write_sparse_npy("x", (2_000_000, 10_000))
    return "SELECT max FROM npy_stats(?, '', '', 0)", "x"


def quantiles():
    """One step counts twenty billion numbers."""
    write_sparse_npy("x", (20_000_000_000,))
    return "SELECT value FROM npy_quantile(?)", "x"


def quantiles_along_an_axis():
    """One step orders the first of 10,000 columns, which lie in 160 GB."""
    write_sparse_npy("x", (2_000_000, 10_000))
    return "SELECT value FROM npy_quantile(?, '', '', 0.5, 0)", "x"


def different_values():
    """One step counts twenty billion numbers that are the same."""
    write_sparse_npy("x", (20_000_000_000,))
    return "SELECT count FROM npy_unique(?)", "x"


def nearest():
    """One step measures a hundred million rows."""
    write_sparse_npy("x", (100_000_000, 128), "<f4")
    return f"SELECT row FROM npy_nearest(?, '', '', npy_from_json('{[1] * 128}'), 3)", "x"


def picture():
    """One call looks for the range of 32 GB."""
    write_sparse_npy("x", (60_000, 65_000))
    return "SELECT npy_png(array) FROM npy_file(?)", "x"


def plotted():
    """One call draws twenty billion items."""
    write_sparse_npy("x", (20_000_000_000,))
    return "SELECT npy_plot(array) FROM npy_file(?)", "x"


def sparkled():
    """One call adds up twenty billion items."""
    write_sparse_npy("x", (20_000_000_000,))
    return "SELECT npy_spark(array) FROM npy_file(?)", "x"


def compare():
    """One step compares arrays of 16 GB."""
    write_sparse_npy("x", (2_000_000_000,))
    return "SELECT differing FROM npy_compare(?1, ?1)", "x"


def histogram():
    """One step counts ten billion numbers."""
    write_sparse_npy("x", (10_000_000_000,), "<f8")
    return "SELECT sum(count) FROM npy_histogram(?)", "x"


def deflated_histogram():
    """One step inflates a member to its end, twice."""
    write("x", endless_npz())
    return "SELECT sum(count) FROM npy_histogram(?, '', '', 1000)", "x"


def archive():
    """One step deflates 8 GB."""
    write_sparse_npy("x", (1_000_000_000,))
    return "SELECT npz_archive('x', array, 'deflate:1') FROM npy_file(?)", "x"


def write_a_file():
    """One step writes 80 GB; nothing of them stays."""
    write_sparse_npy("x", (10_000_000_000,))
    return "SELECT * FROM npy_write('out.npy', (SELECT array FROM npy_file(?)))", "x"


def members_of_a_tar():
    """Each step is a member, and 20 million are to come."""
    write("x", tars.numbered(tars.member("0000000.txt"), np.arange(200_000)) + tars.END)
    return "SELECT count(*) FROM tar_members(?)", json.dumps(["x"] * 100)


def tars_without_arrays():
    """One step walks through 200,000 members, a hundred times: of each path there is an open file."""
    write("x", tars.numbered(tars.member("0000000.txt"), np.arange(200_000)) + tars.END)
    return "SELECT count(*) FROM npy_rows(?)", json.dumps(["./" * i + "x" for i in range(100)])


def empty_arrays_of_tars():
    """One step looks into 100,000 members, a hundred times."""
    write("x", tars.numbered(tars.member("0000000.npy", npy_bytes(np.zeros(0))), np.arange(100_000)) + tars.END)
    return "SELECT count(*) FROM npy_rows(?)", json.dumps(["./" * i + "x" for i in range(100)])


def zeros_after_a_tar():
    """One step looks whether 200 GB are zeros."""
    write("x", tars.tar_of({"a.txt": b"a"}))
    os.truncate("x", 200 << 30)
    return "SELECT count(*) FROM tar_members(?)", "x"


def zeros_after_a_gzip_file():
    """The same, of what pads the compressed file."""
    write("x", tars.gzipped(tars.tar_of({"a.txt": b"a"})))
    os.truncate("x", 200 << 30)
    return "SELECT count(*) FROM tar_members(?)", "x"


def a_compressed_member():
    """One step inflates 32 GB to reach the header after it."""
    write("x", tars.endless_tar_gz())
    return "SELECT count(*) FROM tar_members(?)", "x"


def a_row_of_a_compressed_member():
    """One step inflates 16 GB to reach its row."""
    write("x", tars.endless_tar_gz())
    return "SELECT value FROM npy_rows(?, 0) WHERE row = 2000000000", "x"


def a_chain_of_records():
    """One step reads 8 million pax headers that are all about one member."""
    write("x", tars.endless_gz(tars.member("a.txt"), tars.pax({"comment": "on"})))
    return "SELECT count(*) FROM tar_members(?)", "x"


def chains_of_maps():
    """One step follows a sparse member's map for 8 GB, and there are twenty."""
    sparse = tars.gnu_sparse("a.npy", [(i, b"") for i in range(50)], 50)
    write("x", tars.endless_gz(sparse[: 2 * tars.BLOCK], sparse[tars.BLOCK : 2 * tars.BLOCK]))
    return "SELECT count(*) FROM tar_members(?)", json.dumps(["x"] * 20)


TASKS = [rows, one_wide_row, walk, skipped_files, empty_arrays, far_ahead, crc]
TASKS += [members_of_a_tar, tars_without_arrays, empty_arrays_of_tars, zeros_after_a_tar, zeros_after_a_gzip_file]
TASKS += [a_compressed_member, a_row_of_a_compressed_member, a_chain_of_records, chains_of_maps]
TASKS += [archive, write_a_file, filtered_rows, filtered_converted_rows, filtered_elements, statistics, statistics_along_an_axis, quantiles, quantiles_along_an_axis, different_values, nearest, picture, plotted, sparkled, compare, histogram, deflated_histogram]


def open_files(folder):
    """What this process holds open below the folder."""
    links = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{fd}"))
        except FileNotFoundError:
            pass  # the descriptor of the listing itself
    return [link for link in links if link.startswith(str(folder))]


def assert_stopped(db, task, folder, start):
    """Runs the task; it ends as interrupted and soon, and what follows works."""
    sql, source = task()
    start()
    begin = time.monotonic()
    with pytest.raises(sqlite3.OperationalError) as raised:
        db.execute(sql, (source,)).fetchall()
    seconds = time.monotonic() - begin
    text = str(raised.value)
    assert raised.value.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT, text[:1000]
    # Hosts compare the whole message. A source may be a list of a million paths, too, which none needs to repeat.
    is_plain = text == "interrupted"
    assert is_plain, text[:1000]
    assert seconds < SOON
    db.set_progress_handler(None, 0)
    again = npy_bytes(np.arange(5))
    assert db.execute("SELECT sum(value) FROM npy_rows(?)", (again,)).fetchone() == (10,)
    write("again.npy", again)
    assert db.execute("SELECT shape FROM npy_meta('ag*.npy')").fetchone() == ("[5]",)
    db.close()
    assert open_files(folder) == []
    if os.path.exists("x"):  # pytest keeps the folder, and some are large
        os.remove("x")


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)
def test_interrupt(connect, folder, task):
    db = connect()
    timer = threading.Timer(BEGUN, db.interrupt)
    assert_stopped(db, task, folder, timer.start)
    timer.join()


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.__name__)
def test_progress_handler(connect, folder, task):
    db, calls = connect(), []

    def limited():
        calls.append(None)
        return len(calls) >= 20

    assert_stopped(db, task, folder, lambda: db.set_progress_handler(limited, 1000))
    assert len(calls) >= 20


def test_a_handler_that_lets_pass_changes_nothing(connect, folder):
    write("z.npy", npy_bytes(np.arange(300_000)))
    db, calls = connect(), []
    db.set_progress_handler(lambda: calls.append(None), 1000)
    assert db.execute("SELECT sum(value) FROM npy_rows('z.npy')").fetchone() == (sum(range(300_000)),)
    assert calls


def test_an_interrupt_ends_one_statement_of_two(connect, folder):
    """A cursor that was read halfway ends too, as SQLite documents, and the next statement is not touched."""
    write_sparse_npy("x.npy", (10_000_000,))
    db = connect()
    cursor = db.execute("SELECT row FROM npy_rows('x.npy')")
    assert cursor.fetchone() == (0,)
    db.interrupt()
    with pytest.raises(sqlite3.OperationalError, match="^interrupted$"):
        cursor.fetchall()
    assert db.execute("SELECT row FROM npy_rows('x.npy') LIMIT 2").fetchall() == [(0,), (1,)]


def test_an_interrupted_walk_through_a_tar_loses_nothing(connect, folder):
    """The file stays open, and the next statement takes the walk up."""
    array = npy_bytes(np.arange(1))
    parts = [tars.pax({"path": f"{i}.npy"}) + tars.member("x", array) for i in range(20_000)]
    write("x", tars.tar(*parts))
    for ncalls in range(1, 12):
        db, calls = connect(), []
        db.set_progress_handler(lambda: calls.append(None) or len(calls) == ncalls, 1000)
        try:
            db.execute("SELECT count(*) FROM npy_rows('x')").fetchall()
        except sqlite3.OperationalError as error:
            assert str(error) == "interrupted"
        db.set_progress_handler(None, 0)
        assert db.execute("SELECT count(*), count(DISTINCT name) FROM npy_rows('x')").fetchone() == (20_000, 20_000)
        db.close()
