"""Writers that are killed, or whose system calls fail: the old contents or the new ones, and nothing beside them."""

import functools
import io
import os
import random
import zipfile

import numpy as np
import pytest

import crashes
import shell
from arrays import npy_bytes, npz_bytes, ten_bytes
from crashes import FORMS, NCOLUMNS
from tars import shard_writer

NRANDOM = 5 if shell.SAMPLES else 15  # kills of each form at random moments: a hundred in all
LAST = 3  # the states that are written where every moment is tried
SHARD_STEP = 2 if shell.SAMPLES else 1  # writers of shards make many calls


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    started = crashes.Server(str(tmp_path_factory.mktemp("server")))
    yield started
    started.close()


def seeded_random():
    seed = shell.random_seed()
    print(f"NPYEXT_SEED={seed}")
    return random.Random(seed)


# --- what must lie there -----------------------------------------------------------------------------------


def array_of(states):
    return np.frombuffer(b"".join(b"".join(crashes.rows_of(state)) for state in states), "<f8").reshape(-1, NCOLUMNS)


def items_of(state):
    """Of a file whose rows change: each state is of the same of them."""
    numbers = np.arange(crashes.NITEMS)
    return 1000.0 * numbers + state * (numbers % crashes.CHANGED == 0)


def whole_file(form, states):
    """The file with the rows, or the arrays, of these states, made by NumPy."""
    if form.mode == "r+":
        return npy_bytes(items_of(states[-1]))
    if form.path.endswith(".npy"):
        return npy_bytes(array_of(states))
    arrays = {f"s{state}": array_of([state]) for state in states}
    return npz_bytes(arrays) if form.path.endswith(".npz") else ten_bytes(list(arrays.values()), infos=list(arrays))


def in_file(form, state):
    """The states whose rows are in the file when a state has been reached."""
    if form.mode in (None, "r+") or state == 0:
        return [state]
    return list(range(0 if form.mode == "a" else 1, state + 1))


def holds(path, form, states, may_have_tail=False):
    """Whether the file is the one of these states; with a tail there are bytes after it, of rows that do not count."""
    got, want = path.read_bytes(), whole_file(form, states)
    if path.suffix == ".npz":
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            members = {name: archive.read(name) for name in archive.namelist()}
        return members == {f"s{state}.npy": npy_bytes(array_of([state])) for state in states}
    if path.suffix == ".npy":
        assert np.load(path).nbytes <= len(got) - 128
        is_loaded = np.array_equal(np.load(path), np.load(io.BytesIO(want)))
        assert is_loaded == got.startswith(want), "the header and the rows say different things"
    return got == want or (may_have_tail and path.suffix == ".npy" and got.startswith(want))


def begin(folder, form):
    """A new folder with state 0."""
    folder.mkdir()
    (folder / form.path).write_bytes(whole_file(form, [0]))
    return folder / form.path


def check_after_a_kill(server, folder, name, outcome, label):
    """The file is that of the transactions committed, or of the one that was being; a new writer finds no traces."""
    form, path = FORMS[name], folder / FORMS[name].path
    assert outcome["end"] == -9, (label, outcome)
    done = max([0, *(state for what, state in outcome["reports"] if what == "done")])
    trying = max([0, *(state for what, state in outcome["reports"] if what == "trying")])
    found = [
        state for state in sorted({done, max(done, trying)}) if holds(path, form, in_file(form, state), may_have_tail=True)
    ]
    assert found, f"{label}: the file holds neither state {done} nor {trying}"
    again = server.run("write", name, folder, 200, 200)
    assert again["end"] == 0, (label, again)
    states = [*in_file(form, found[0]), 200] if form.mode == "a" else [200]
    assert holds(path, form, states), f"{label}: after the next writer"
    assert os.listdir(folder) == [form.path], label
    return found[0]


# --- kills -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMS)
def test_kills_at_random_moments(server, in_memory, name):
    rng, form = seeded_random(), FORMS[name]
    begin(in_memory / "timed", form)
    seconds = server.run("write", name, in_memory / "timed", 1, 8)["seconds"]
    for i in range(NRANDOM):
        folder = in_memory / str(i)
        begin(folder, form)
        moment = rng.uniform(0, seconds)
        outcome = server.run("write", name, folder, 1, 199, seconds=moment)
        check_after_a_kill(server, folder, name, outcome, f"{name} killed after {moment:.4f} s")


@pytest.mark.parametrize("action", ["kill", "tear"])
@pytest.mark.parametrize("name", FORMS)
def test_kills_before_every_call(server, in_memory, name, action):
    """Before each call that changes a file in turn, and in the middle of each write, until there is none left."""
    form, at, found = FORMS[name], 0, set()
    while True:
        at += 1
        folder = in_memory / str(at)
        begin(folder, form)
        outcome = server.run("write", name, folder, 1, LAST, "pwrite" if action == "tear" else "", at, action)
        if outcome["end"] == 0:
            break
        found.add(check_after_a_kill(server, folder, name, outcome, f"{name}, {action} at call {at}"))
    assert outcome["reports"][-1] == ["calls", at - 1]
    assert holds(folder / form.path, form, in_file(form, LAST)) and os.listdir(folder) == [form.path]
    # the moments were those between all states
    assert at > LAST and found >= set(range(LAST)), (at, found)


# --- failures ----------------------------------------------------------------------------------------------

FAILURES = [
    ("pwrite", "ENOSPC", True, "No space left on device"),
    ("pwrite", "EIO", False, "Input/output error"),
    ("fsync", "EIO", False, "Input/output error"),
    ("creat", "ENOSPC", False, "No space left on device"),
    ("renameat", "EPERM", False, "Operation not permitted"),
    ("ftruncate", "EIO", False, "Input/output error"),
]


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("call, action, persists, message", shell.some(FAILURES, 2))
def test_calls_that_fail(server, in_memory, name, call, action, persists, message):
    """The statement or its COMMIT fails and says why; the file is as before; the same connection writes then."""
    form, at, nfailed = FORMS[name], 0, 0
    while True:
        at += 1
        folder = in_memory / str(at)
        path = begin(folder, form)
        outcome = server.run("write and try again", name, folder, 1, LAST, call, at, action, persists)
        label = f"{name}: {call} {at} fails with {action}"
        assert outcome["end"] == 0, (label, outcome)
        for facts in outcome["reports"]:
            assert (facts["error"] is not None) == (facts["calls"] >= at), (label, facts)
            if facts["error"] is None:
                continue
            nfailed += 1
            assert facts["error"].startswith(f"npyext: {form.path}: ") and message in facts["error"], (label, facts)
            assert facts["is_as_before"] and facts["new_files"] == [] and facts["new_descriptors"] == 0, (label, facts)
        assert holds(path, form, in_file(form, LAST)) and os.listdir(folder) == [form.path], label
        if all(facts["error"] is None for facts in outcome["reports"]):
            break
    always = {"creat", "pwrite", "fsync"}
    replaces = {"renameat"} if name != "a npy" else set()
    assert nfailed > 0 or call not in always | replaces


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("call, action", [("pwrite", "short"), ("pwrite", "EINTR"), ("fsync", "EINTR"), ("ftruncate", "EINTR")])
def test_calls_that_are_cut_short(server, in_memory, name, call, action):
    """Nothing is lost when a write takes a part, or a signal comes."""
    form = FORMS[name]
    for at in range(1, 9):
        path = begin(in_memory / str(at), form)
        outcome = server.run("write", name, path.parent, 1, LAST, call, at, action)
        assert outcome["end"] == 0 and outcome["reports"][-2] == ["done", LAST], (at, outcome)
        assert holds(path, form, in_file(form, LAST)), (name, call, action, at)


@pytest.mark.parametrize("name", ["w+ npy", "a npy", "a npz", "a ten", "r+ npy"])
def test_a_savepoint_that_cannot_be_gone_back_to(server, in_memory, name):
    """The COMMIT that follows must not publish the rows after it."""
    form, path = FORMS[name], begin(in_memory / "it", FORMS[name])
    call = "pwrite" if name == "r+ npy" else "ftruncate"
    outcome = server.run("go back to a savepoint", name, path.parent, 3, 0, call, 1, "EIO", True)
    assert outcome["end"] == 0, outcome
    went_back, committed = outcome["reports"]
    assert went_back == "SQL logic error"  # SQLite asks for no message there
    assert committed.startswith(f"npyext: {form.path}: ")
    assert holds(path, form, [0, 2] if form.mode == "a" else [2]) and os.listdir(path.parent) == [form.path]


@pytest.mark.parametrize("call", ["pwrite", "ftruncate"])
@pytest.mark.parametrize("name", ["w+ npy", "a npy", "a npz", "a ten", "r+ npy"])
def test_a_savepoint_before_the_first_row_can_be_gone_back_to(server, in_memory, name, call):
    """All rows are after it: the file is given up, whatever the disk says, and the COMMIT has nothing to publish."""
    form, path = FORMS[name], begin(in_memory / "it", FORMS[name])
    outcome = server.run("go back to a savepoint", name, path.parent, 0, 0, call, 1, "EIO", True)
    assert outcome["end"] == 0, outcome
    assert outcome["reports"] == [None, None]
    assert holds(path, form, [0, 2] if form.mode == "a" else [2]) and os.listdir(path.parent) == [form.path]


@pytest.mark.parametrize("call", ["pwrite", "fsync", "renameat"])
@pytest.mark.parametrize("name", ["w+ npy", "a npy", "w+ npz", "a ten", "r+ npy"])
def test_a_database_that_commits_before_the_file(server, in_memory, name, call):
    """What fails after the database's own COMMIT is the error of the next statement."""
    form, told_later = FORMS[name], set()
    for at in range(1, 9):
        path = begin(in_memory / str(at), form)
        outcome = server.run("write with a database", name, path.parent, 0, 0, call, at, "EIO")
        assert outcome["end"] == 0, (at, outcome)
        committed, then, nrows = outcome["reports"]
        lost = then.startswith(f"npyext: {form.path}: the rows of the last COMMIT were lost: ")
        told_later.add(lost)
        assert committed is None or "Input/output error" in committed or "disk I/O error" in committed, (at, outcome)
        assert (nrows == 1) == (committed is None) and (not lost or committed is None), (at, outcome)
        states = [2] if lost or committed is not None else [1, 2]
        assert holds(path, form, [0, *states] if form.mode == "a" else states), (at, outcome)
        assert sorted(os.listdir(path.parent)) == sorted([form.path, "own.db"])
    # an archive is whole when the database commits, and rows that are added are never renamed
    all_before = (call == "pwrite" and name != "a npy") or (call == "renameat" and name == "a npy")
    assert told_later == ({False} if all_before else {False, True})


# --- shards ------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def shards_of(*states):
    """What lies in the folder when these are written; not to be changed."""
    made = shard_writer([sample for state in states for sample in crashes.samples_of(state)], crashes.MAXCOUNT)
    return {f"out-{i}.tar": data for i, data in enumerate(made)}


def begin_shards(folder, name):
    """A new folder with shards: of state 0, which is added to, or of one sample, which is replaced."""
    folder.mkdir()
    old = shards_of(0) if name == "a" else {"out-0.tar": shard_writer([("old", {"bin": b"old"})])[0]}
    for path, data in old.items():
        (folder / path).write_bytes(data)
    return old


def shards_in(folder):
    return {path.name: path.read_bytes() for path in folder.glob("out-*.tar")}


def after(name, old, state):
    return old if state == 0 else shards_of(*range(0 if name == "a" else 1, state + 1))


@pytest.mark.parametrize("action", ["kill", "tear"])
@pytest.mark.parametrize("name", crashes.SHARDS)
def test_kills_of_a_writer_of_shards(server, in_memory, name, action):
    """Each shard is an old one or a new one, whole, and those that are new come first. The next writer clears away the rest."""
    at, nmixed = 1 - SHARD_STEP, 0
    while True:
        at += SHARD_STEP
        folder = in_memory / str(at)
        old = begin_shards(folder, name)
        outcome = server.run("write", name, folder, 1, LAST, "pwrite" if action == "tear" else "", at, action)
        if outcome["end"] == 0:
            break
        label = f"{name}, {action} at call {at}: {outcome}"
        assert outcome["end"] == -9, label
        done = max([0, *(state for what, state in outcome["reports"] if what == "done")])
        trying = max([0, *(state for what, state in outcome["reports"] if what == "trying")])
        before, meant, found = after(name, old, done), after(name, old, max(done, trying)), shards_in(folder)
        names = sorted(meant)
        mixes = [{**{key: meant[key] for key in names[:n]}, **{key: data for key, data in before.items() if key not in names[:n]}} for n in range(len(names) + 1)]
        assert found in mixes, label
        nmixed += found not in (before, meant)
        for path in found:
            os.remove(folder / path)
        again = server.run("write", "w+", folder, 1, 1)
        assert again["end"] == 0, (label, again)
        assert sorted(os.listdir(folder)) == sorted(shards_of(1)) and shards_in(folder) == shards_of(1), label
    what, ncalls = outcome["reports"][-1]
    assert what == "calls" and at - SHARD_STEP <= ncalls < at
    assert shards_in(folder) == after(name, old, LAST) and sorted(os.listdir(folder)) == sorted(shards_in(folder))
    assert at > 20 and (nmixed > 0 or action == "tear"), (at, nmixed)


@pytest.mark.parametrize("name", crashes.SHARDS)
@pytest.mark.parametrize("call, action, persists, message", shell.some(FAILURES, 2))
def test_calls_of_a_writer_of_shards_that_fail(server, in_memory, name, call, action, persists, message):
    """No shard is new when a COMMIT fails; nothing is left beside them; the same connection writes then."""
    at, nfailed = 0, 0
    while True:
        at += 1
        folder = in_memory / str(at)
        old = begin_shards(folder, name)
        outcome = server.run("write and try again", name, folder, 1, LAST, call, at, action, persists)
        label = f"{name}: {call} {at} fails with {action}"
        assert outcome["end"] == 0, (label, outcome)
        for facts in outcome["reports"]:
            assert (facts["error"] is not None) == (facts["calls"] >= at), (label, facts)
            if facts["error"] is None:
                continue
            nfailed += 1
            assert facts["error"].startswith("npyext: out-%d.tar: ") and message in facts["error"], (label, facts)
            assert facts["is_as_before"] and facts["new_files"] == [] and facts["new_descriptors"] == 0, (label, facts)
        assert shards_in(folder) == after(name, old, LAST), label
        assert sorted(os.listdir(folder)) == sorted(shards_in(folder)), label
        if all(facts["error"] is None for facts in outcome["reports"]):
            break
    assert nfailed > 0 or call == "ftruncate"
