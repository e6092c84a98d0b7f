"""What every test shares: the extension under test, connections and shells that have it loaded, the last line, and who
runs what where several processes run the tests. What tests import from each other lies in lib/.

Environment: NPYEXT_SO names the extension (default ./npyext.so); NPYEXT_FLAVOUR names the build under test
(release, or asan, small, tsan, s390x, i386 below .build); SQLITE3 names the shell. NPYEXT_SHARE=2 asks every second
test, by NPYEXT_SEED.
"""

import ctypes
import faulthandler
import gc
import os
import pathlib
import shutil
import signal
import sqlite3
import sys
import tempfile

import pytest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))

import shell  # noqa: E402
import small_build  # noqa: E402
import workers  # noqa: E402

MEMORY, MEMORY_NBYTES = "/dev/shm", 1 << 30


@pytest.fixture(scope="session")
def extension():
    return shell.EXTENSION


@pytest.fixture
def connect():
    """connect(database=':memory:', entry_point=None) -> a connection with the extension loaded; all are closed after
    the test."""
    opened = []

    def connect(database=":memory:", entry_point=None):
        opened.append(shell.connect(database, entry_point))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()


@pytest.fixture
def db(connect):
    """A connection with the extension loaded."""
    return connect()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def in_memory(tmp_path, request):
    """An empty folder for many files, or for one that is written again and again, where the disk has no part in what is asked:
    ext4 waits for it when a file that was emptied is closed. In memory, where there is room. That of a test that failed
    is put where its others lie."""
    if not os.access(MEMORY, os.W_OK) or shutil.disk_usage(MEMORY).free < MEMORY_NBYTES:
        yield tmp_path
        return
    folder = pathlib.Path(tempfile.mkdtemp(prefix="npyext-", dir=MEMORY))
    yield folder
    if not getattr(request.node, "passed_so_far", True):
        shutil.copytree(folder, tmp_path, symlinks=True, dirs_exist_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def pytest_report_header(config):
    return f"{os.path.relpath(shell.EXTENSION, shell.ROOT)}, SQLite {sqlite3.sqlite_version}"


def pytest_unconfigure(config):
    """The last line of a run. What is neither passed nor failed (errors, skips) counts as failed: nothing here is
    allowed to be left out."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    count = lambda outcome: len(reporter.stats.get(outcome, ()))
    passed = count("passed")
    failed = sum(count(outcome) for outcome in ("failed", "error", "skipped", "xfailed", "xpassed"))
    print(f"{passed} passed, {failed} failed", flush=True)


def pytest_sessionfinish(session, exitstatus):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if exitstatus == 0 and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = 1


def pytest_collection_modifyitems(config, items):
    """A parameter list that is empty (no documents, no corpus) makes no test, rather than one that is skipped."""
    no_parameters = lambda mark: "empty parameter set" in mark.kwargs.get("reason", "")
    items[:] = [item for item in items if not any(map(no_parameters, item.iter_markers("skip")))]
    if shell.FLAVOUR == "small":
        items[:] = [item for item in items if not small_build.is_left_out(item.nodeid)]
    items[:] = [item for item in items if shell.is_asked(item.nodeid)]
    if hasattr(config, "workerinput"):  # one of several processes
        items.sort(key=lambda item: workers.rank(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return workers.scheduler(config, log)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """The folder of a test that passed is removed when the test ends: those of a whole run take 7 GB, and a disk that
    is full fails whatever comes next. That of a test that failed stays."""
    report = (yield).get_result()
    passed_so_far = report.passed and getattr(item, "passed_so_far", True)
    item.passed_so_far = passed_so_far
    if call.when == "teardown" and passed_so_far and "tmp_path" in getattr(item, "funcargs", {}):
        shutil.rmtree(item.funcargs["tmp_path"], ignore_errors=True)


@pytest.fixture(autouse=True)
def patience():
    """A test that hangs ends the run, or one of its processes, after the traceback that faulthandler_timeout in
    pytest.ini prints."""
    signal.alarm(2 * shell.PATIENCE)
    yield
    signal.alarm(0)


@pytest.fixture
def patience_for():
    """patience_for(seconds): this test may take longer."""

    def patience_for(seconds):
        signal.alarm(seconds)
        faulthandler.dump_traceback_later(seconds)

    return patience_for


@pytest.fixture
def memory_used():
    """memory_used() -> what SQLite's allocator, which the extension allocates by, has given out. What earlier tests left to
    Python's collector is freed first: newer Pythons free it later, so that memory seemed to shrink."""
    used = ctypes.CDLL("libsqlite3.so.0").sqlite3_memory_used
    used.restype = ctypes.c_int64
    gc.collect()
    return used


@pytest.fixture
def heap(memory_used):
    """heap(nbytes): SQLite can allocate so many bytes more; heap(None): any number. The limit is the process's, and
    its PRAGMA can only lower it: tests that set it use this, which lifts it again."""
    library = ctypes.CDLL("libsqlite3.so.0")
    limits = library.sqlite3_hard_heap_limit64, library.sqlite3_soft_heap_limit64
    for limit in limits:
        limit.argtypes, limit.restype = [ctypes.c_int64], ctypes.c_int64

    def heap(nbytes):
        for limit in limits:
            limit(0)
        if nbytes is not None:
            limits[0](memory_used() + nbytes + 1)

    yield heap
    heap(None)
