"""npy_write: what it publishes, against NumPy and zipfile; that the path holds the old contents or the new ones whole,
and nothing is left beside it, whatever happens."""

import os
import random
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import shell
from arrays import (
    ITEM_SIZE_ZERO,
    SCALARS,
    npy_bytes,
    npz_bytes,
    random_array,
    random_shape,
    random_structured_dtype,
    seeded_generator,
    ten_bytes,
    write_sparse_npy,
)
from expected import error_of


def contents_of(path):
    with open(path, "rb") as file:
        return file.read()


def put(path, contents):
    with open(path, "wb") as file:
        file.write(contents)


def publish(db, path, array):
    ((path_shown, nbytes),) = db.execute("SELECT * FROM npy_write(?, ?)", (path, array)).fetchall()
    assert path_shown == path and nbytes == os.path.getsize(path)


def handle_of(db, path, member=""):
    ((handle,),) = db.execute("SELECT array FROM npy_file(?, ?)", (str(path), member)).fetchall()
    return handle


ARRAY = npy_bytes(np.arange(12.0).reshape(3, 4))
OTHER = npy_bytes(np.arange(1000))


# --- what is published -------------------------------------------------------------------------------------


def test_blobs_are_published_as_they_are(connect, folder):
    db = connect()
    blobs = {
        "x.npy": ARRAY,
        "trailing.npy": ARRAY + b"more",
        "x.npz": npz_bytes({"a": np.arange(3), "b": np.zeros((2, 2))}, "deflate"),
        "empty.npz": npz_bytes({}),
        "x.ten": ten_bytes([np.arange(3), np.zeros((2, 2))]),
        "big.ten": ten_bytes([np.arange(3)], ">"),
        "empty.ten": b"",
        "large.npy": npy_bytes(np.arange(1_500_000)),
    }
    for name, contents in blobs.items():
        publish(db, name, contents)
        assert contents_of(name) == contents
    assert sorted(os.listdir()) == sorted(blobs)
    assert db.execute("SELECT sum(value) FROM npy_rows('large.npy')").fetchone() == (sum(range(1_500_000)),)


def test_handles_are_published_as_numpy_saves(connect, folder):
    """Arrays of files of every format, dtype and order."""
    rng, db = seeded_generator(), connect()
    dtypes = [np.dtype(dtype).newbyteorder(str(rng.choice(["<", ">"]))) for dtype in SCALARS + ITEM_SIZE_ZERO]
    arrays = {}
    for i, dtype in enumerate([*dtypes, *(random_structured_dtype(rng) for _ in range(20))]):
        arrays[f"a{i}"] = random_array(rng, dtype, random_shape(rng, int(rng.integers(0, 4))), "CF"[i % 2])
    for variant in ("stored", "deflate"):
        put("all.npz", npz_bytes(arrays, variant))
        for name, array in arrays.items():
            publish(db, "out.npy", handle_of(db, "all.npz", name))
            assert contents_of("out.npy") == npy_bytes(array), (array.dtype, array.shape)
    put("all.ten", ten_bytes([np.arange(5.0), np.ones((2, 3))], ">"))
    publish(db, "out.npy", handle_of(db, "all.ten", 1))
    assert contents_of("out.npy") == npy_bytes(np.ones((2, 3), ">f8"))
    assert sorted(os.listdir()) == ["all.npz", "all.ten", "out.npy"]


def test_large_arrays_take_little_memory(connect, folder):
    """One row of 400 MB and Fortran order, in a process of its own."""
    write_sparse_npy("wide.npy", (1, 50_000_000))
    write_sparse_npy("fortran.npy", (50_000, 1000), fortran_order=True)
    script = (
        "import resource, sys; sys.path.insert(0, sys.argv[1]); import shell; db = shell.connect()\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "for name in ('wide', 'fortran'):\n"
        "    db.execute('SELECT * FROM npy_write(?, (SELECT array FROM npy_file(?)))', (name + '.out', name + '.npy')).fetchall()\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = subprocess.run([sys.executable, "-c", script, shell.LIB], stdout=subprocess.PIPE, text=True, check=True)
    assert int(done.stdout.splitlines()[-1]) < (100_000 if shell.SANITIZED else 16_000)
    for name in ("wide", "fortran"):
        with open(f"{name}.npy", "rb") as a, open(f"{name}.out", "rb") as b:
            assert a.read(128) == b.read(128)
        assert os.path.getsize(f"{name}.npy") == os.path.getsize(f"{name}.out")
        assert not np.load(f"{name}.out", mmap_mode="r").any()


def test_a_file_is_written_from_itself(connect, folder):
    db = connect()
    put("x.arrays", npz_bytes({"x": np.arange(1000)}, "deflate"))
    publish(db, "x.arrays", handle_of(db, "x.arrays", "x"))
    assert contents_of("x.arrays") == npy_bytes(np.arange(1000))


def test_a_npy_was_written_by_the_name_of_another_format(connect, folder):
    db, npz = connect(), npz_bytes({"x": np.arange(3)}, "stored")
    put("x.npz", npz)
    for path, array, written, advice in [
        ("y.npz", ARRAY, "npy", "; npz_archive(name, array) makes an .npz"), ("x.npz", handle_of(db, "x.npz", "x"), "npy", "; npz_archive"),
        ("y.ten", ARRAY, "npy", "; ten_archive(name, array) makes a .ten"), ("y.npy", npz, "npz", ""), ("y.tar", npz, "npz", ""),
        ("y.safetensors", ARRAY, "npy", ""),
    ]:
        message = f"the name ends in {path[1:]}, but the file would be a .{written}{advice}"
        assert message in error_of(db, "SELECT * FROM npy_write(?, ?)", path, array)
    assert "the name ends in .npz" in error_of(db, "SELECT * FROM npy_write('Y.NPZ', ?)", ARRAY)  # as tables take names
    assert os.listdir() == ["x.npz"] and contents_of("x.npz") == npz
    for path, array in [("y.npz", npz), ("y.npy", ARRAY), ("npz", ARRAY), ("y.npz.new", ARRAY), ("y.zip", npz)]:
        publish(db, path, array)


def test_a_read_right_after_sees_the_new_file(connect, folder):
    """In the next statement, in the same one, through another connection; a handle of the old one is an error."""
    db, other = connect(), connect()
    for reader in (db, other):
        publish(db, "x.npy", ARRAY)
        assert reader.execute("SELECT shape FROM npy_meta('x.npy')").fetchone() == ("[3,4]",)
        assert reader.execute("SELECT count(*) FROM npy_rows('x.npy')").fetchone() == (3,)
        old = handle_of(reader, "x.npy")
        publish(db, "x.npy", OTHER)
        assert reader.execute("SELECT shape FROM npy_meta('x.npy')").fetchone() == ("[1000]",)
        assert reader.execute("SELECT sum(value) FROM npy_rows('x.npy')").fetchone() == (499500,)
        assert "the file has changed" in error_of(reader, "SELECT npy_get(?, 1)", old)
    same = "SELECT shape FROM npy_meta('x.npy') UNION ALL SELECT m.shape FROM npy_write('x.npy', ?) w, npy_meta(w.path) m"
    assert db.execute(same, (ARRAY,)).fetchall() == [("[1000]",), ("[3,4]",)]


def test_many_files_in_one_statement(connect, folder):
    """A row of the table is a file, whichever way SQLite joins them."""
    db = connect()
    db.execute("CREATE TABLE t(path TEXT, array BLOB)")
    db.executemany("INSERT INTO t VALUES(?, ?)", [(f"{i}.npy", npy_bytes(np.arange(i))) for i in range(50)])
    for source in (
        "t, npy_write(t.path, t.array) w",
        "npy_write w JOIN t ON w.target = t.path AND w.array = t.array",
        "npy_write(t.path, t.array) w, t",
    ):
        for name in os.listdir():
            os.unlink(name)
        assert db.execute(f"SELECT w.path, bytes FROM {source}").fetchall() == [
            (f"{i}.npy", 128 + 8 * i) for i in range(50)
        ]
        assert all(contents_of(f"{i}.npy") == npy_bytes(np.arange(i)) for i in range(50))
    assert len(os.listdir()) == 50


def test_arguments_come_back(connect, folder):
    db = connect()
    sql = "SELECT target IS ?1, array IS ?2, path, typeof(array_key) FROM npy_write(?1, ?2)"
    assert db.execute(sql, ("x.npy", ARRAY)).fetchall() == [(1, 1, "x.npy", "integer")]
    either = "SELECT path FROM npy_write WHERE (target = 'a.npy' AND array = ?1) OR (target = 'b.npy' AND array = ?1)"
    assert sorted(db.execute(either, (ARRAY,)).fetchall()) == [("a.npy",), ("b.npy",)]
    both = "SELECT path FROM npy_write WHERE target IN ('c.npy', 'd.npy') AND array = ?1"
    assert sorted(db.execute(both, (ARRAY,)).fetchall()) == [("c.npy",), ("d.npy",)]
    assert sorted(os.listdir()) == ["a.npy", "b.npy", "c.npy", "d.npy", "x.npy"]


# --- what writes nothing -----------------------------------------------------------------------------------


def test_null_writes_nothing(connect, folder):
    db = connect()
    put("x.npy", OTHER)
    for arguments in (("x.npy", None), (None, ARRAY), (None, None), ("y.npy", None)):
        assert db.execute("SELECT * FROM npy_write(?, ?)", arguments).fetchall() == []
    assert os.listdir() == ["x.npy"] and contents_of("x.npy") == OTHER


def test_planning_writes_and_opens_nothing(connect, folder):
    db = connect()
    os.mkfifo("fifo")
    literal = f"npy_write('x.npy', x'{ARRAY.hex()}')"
    db.text_factory = bytes  # EXPLAIN shows the BLOB as a text
    for sql in (f"EXPLAIN SELECT * FROM {literal}", f"EXPLAIN QUERY PLAN SELECT * FROM {literal}"):
        assert db.execute(sql).fetchall()
    db.text_factory = str
    assert db.execute(f"SELECT * FROM {literal} LIMIT 0").fetchall() == []
    assert db.execute(f"SELECT * FROM {literal} WHERE false").fetchall() == []
    db.execute(f"CREATE TEMP VIEW v AS SELECT * FROM {literal}")
    assert os.listdir() == ["fifo"]
    plan = db.execute("EXPLAIN QUERY PLAN SELECT * FROM npy_write('fifo', ?)", (ARRAY,)).fetchall()
    assert plan[0][3].endswith("by target, array; writing")
    assert db.execute("SELECT * FROM v").fetchall() == [("x.npy", len(ARRAY))]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ("", "npy_write needs a path and an array, as in npy_write('out.npy', array)"),
        ("('x.npy')", "npy_write needs a path and an array"),
        ("('', ?1)", "npy_write needs a path and an array"),
        ("(5, ?1)", "the path must be a TEXT"),
        ("(x'61', ?1)", "the path must be a TEXT"),
        ("('x' || char(0) || '.npy', ?1)", "the path contains a NUL character"),
        ("('x.npy', 5)", "the array is a number; it must be a BLOB, as npy_from_json('[1, 2]') makes, or a handle"),
        ("('x.npy', 'y.npy')", "the array is a TEXT; it must be a BLOB, as npy_from_json('[1, 2]') makes, or a handle"),
        ("('x.npy', x'')", "npyext: BLOB: is empty (0 bytes)"),
        ("('x.npy', x'00')", "npyext: BLOB: is not a .npy, .npz, .ten, .tar, .safetensors, .pt, .pkl or .gguf file"),
        ("('missing/x.npy', ?1)", "npyext: missing/x.npy: its folder does not exist"),
        ("('folder', ?1)", "npyext: folder: is a directory, not a regular file"),
        ("('folder/', ?1)", "npyext: folder/: is a directory, not a file"),
        ("('fifo', ?1)", "npyext: fifo: is a FIFO, not a regular file"),
        ("('/dev/full', ?1)", "npyext: /dev/full: is a device, not a regular file"),
        ("('x.npy/y.npy', ?1)", "npyext: x.npy/y.npy: its folder does not exist"),
    ],
)
def test_errors_write_nothing(connect, folder, arguments, message):
    db = connect()
    put("x.npy", OTHER)
    os.mkdir("folder")
    os.mkfifo("fifo")
    assert message in error_of(db, f"SELECT * FROM npy_write{arguments}", *([ARRAY] if "?1" in arguments else []))
    assert sorted(os.listdir()) == ["fifo", "folder", "x.npy"] and contents_of("x.npy") == OTHER


def test_what_is_not_sound_is_not_published(connect, folder):
    """Every BLOB cut short, and arrays of which the header says more than is there; the old file stays."""
    db = connect()
    put("x", OTHER)
    sound = {
        "npy": npy_bytes(np.arange(20)),
        "npz": npz_bytes({"a": np.arange(5), "b": np.arange(3)}),
        "ten": ten_bytes([np.arange(16.0), np.arange(8.0)]),
    }
    for name, contents in sound.items():
        # the last padding of a .ten may be missing, and so may whole arrays
        wholes = {len(contents), 0}
        if name == "ten":
            wholes = {16 + 64 + 16 + 128, len(contents)}
        for length in range(0, len(contents), 1 if name == "npy" else 7):
            if length not in wholes:
                error_of(db, "SELECT * FROM npy_write('x', ?)", contents[:length])
    inner = npz_bytes({"a": np.arange(5)}).replace(b"(5,)", b"(6,)")
    assert "a: data is truncated" in error_of(db, "SELECT * FROM npy_write('x', ?)", inner)
    assert os.listdir() == ["x"] and contents_of("x") == OTHER


def test_damaged_sources_leave_the_old_file(connect, folder):
    db = connect()
    put("x.npy", OTHER)
    for variant in ("stored", "deflate"):
        damaged = bytearray(npz_bytes({"w": np.arange(100_000)}, variant))
        damaged[len(damaged) // 2] ^= 1
        put("bad.npz", damaged)
        text = error_of(db, "SELECT * FROM npy_write('x.npy', ?)", handle_of(db, "bad.npz", "w"))
        assert text.startswith("npyext: bad.npz:w: ")
        assert contents_of("x.npy") == OTHER and sorted(os.listdir()) == ["bad.npz", "x.npy"]
    put("o.npy", npy_bytes(np.array([None, {}], dtype=object)))
    assert "o.npy" in error_of(db, "SELECT * FROM npy_write('x.npy', ?)", handle_of(db, "o.npy"))
    forged = bytearray(handle_of(db, "x.npy"))
    forged[-1] ^= 1
    assert "not one that npy_file made" in error_of(db, "SELECT * FROM npy_write('x.npy', ?)", bytes(forged))
    assert contents_of("x.npy") == OTHER


def test_an_untrusted_schema_writes_nothing(connect, folder):
    """Not even where NPYEXT_VIEWS=1 lets views read."""
    db = connect("untrusted.db")
    db.execute(f"CREATE VIEW v AS SELECT * FROM npy_write('x.npy', x'{ARRAY.hex()}')")
    db.execute("CREATE VIEW r AS SELECT * FROM npy_meta('y.npy')")
    put("y.npy", OTHER)
    with pytest.raises(sqlite3.OperationalError, match="unsafe use of virtual table"):
        db.execute("SELECT * FROM v")
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import shell; db = shell.connect('untrusted.db')\n"
        "print(len(db.execute('SELECT * FROM r').fetchall()))\n"
        "try: db.execute('SELECT * FROM v')\n"
        "except Exception as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, shell.LIB],
        env=dict(os.environ, NPYEXT_VIEWS="1"),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["1", 'unsafe use of virtual table "npy_write"']
    assert not os.path.exists("x.npy")


# --- files -------------------------------------------------------------------------------------------------


def test_permissions(connect, folder):
    db = connect()
    for mask, mode in ((0o022, 0o644), (0o077, 0o600), (0o002, 0o664)):
        old = os.umask(mask)
        try:
            publish(db, f"{mask}.npy", ARRAY)
        finally:
            os.umask(old)
        assert stat.S_IMODE(os.stat(f"{mask}.npy").st_mode) == mode
    for mode in (0o600, 0o640, 0o755):
        os.chmod("18.npy", mode)
        publish(db, "18.npy", OTHER)
        assert stat.S_IMODE(os.stat("18.npy").st_mode) == mode


def test_links_are_followed(connect, folder):
    db = connect()
    os.mkdir("data")
    os.symlink("data/x.npy", "link.npy")
    for contents in (ARRAY, OTHER):
        publish(db, "link.npy", contents)
        assert os.path.islink("link.npy") and contents_of("data/x.npy") == contents
    assert os.listdir("data") == ["x.npy"]
    # another name of the same file keeps what it had
    os.link("data/x.npy", "hard.npy")
    publish(db, "data/x.npy", ARRAY)
    assert contents_of("hard.npy") == OTHER


def test_a_full_disk(connect, folder):
    """As far as a limit of the size of files is one."""
    db = connect()
    put("x.npy", OTHER)
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        for nelem in (300_000, 1_000_000):
            blob = npy_bytes(np.arange(nelem))
            resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, old[1]))
            text = error_of(db, "SELECT * FROM npy_write('x.npy', ?)", blob)
            resource.setrlimit(resource.RLIMIT_FSIZE, old)
            assert text.startswith("npyext: x.npy: cannot be written (File too large, at byte ")
            assert os.listdir() == ["x.npy"] and contents_of("x.npy") == OTHER
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)
    publish(db, "x.npy", blob)


def test_two_writers_of_one_path(connect, folder):
    """Both succeed, whoever comes last wins, and readers see one of the two whole."""
    contents = [npy_bytes(np.full(200_000, i)) for i in range(2)]
    failures = []

    def work(i):
        try:
            db = shell.connect()
            for _ in range(30):
                publish_quietly(db, contents[i])
            db.close()
        except Exception as error:
            failures.append(error)

    def publish_quietly(db, array):
        db.execute("SELECT * FROM npy_write('x.npy', ?)", (array,)).fetchall()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    put("x.npy", contents[0])
    for thread in threads:
        thread.start()
    nreads = 0
    while any(thread.is_alive() for thread in threads):
        assert contents_of("x.npy") in contents
        nreads += 1
    assert failures == [] and nreads > 0
    assert os.listdir() == ["x.npy"] and contents_of("x.npy") in contents


def test_killed_at_random_moments(connect, folder):
    """The path leads to one of the arrays whole, and after one more write there is nothing beside it."""
    seed = shell.random_seed()
    print(f"NPYEXT_SEED={seed}")
    rng, db, seen = random.Random(seed), connect(), set()
    publish(db, "x.npy", npy_bytes(np.zeros(600_000)))
    for _ in range(30):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                own = shell.connect()
                arrays = [npy_bytes(np.full(600_000, i, float)) for i in range(1, 4)]
                os.write(writer, b".")
                while True:
                    for array in arrays:
                        own.execute("SELECT * FROM npy_write('x.npy', ?)", (array,)).fetchall()
            finally:
                os._exit(1)
        os.close(writer)
        assert os.read(reader, 1) == b"."
        os.close(reader)
        time.sleep(rng.random() * 0.06)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status)
        found = np.load("x.npy")
        assert found.shape == (600_000,) and (found == found[0]).all()
        seen.add(found[0])
        assert db.execute("SELECT min, max FROM npy_stats('x.npy')").fetchone() == (found[0], found[0])
        assert len(os.listdir()) <= 3  # the path, the lock that is on it, and another file
        publish(db, "x.npy", npy_bytes(np.zeros(600_000)))
        assert os.listdir() == ["x.npy"]
    assert len(seen) > 1
