"""Tables of samples that write: the shards are held against those of webdataset's ShardWriter (tars.shard_writer)."""

import glob
import os
import signal
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

import shell
from arrays import npy_bytes, seeded_generator, ten_bytes
from expected import error_of
from tars import shard_writer, tar_of


def contents(pattern="out-*.tar"):
    found = []
    for path in sorted(glob.glob(pattern)):
        with open(path, "rb") as file:
            found.append(file.read())
    return found


def leftovers():
    return [name for name in os.listdir(".") if name.startswith(".")]


@pytest.fixture
def out(connect, folder):
    db = connect()
    db.isolation_level = None
    return db


def make(db, *arguments, name="o", path="out-%06d.tar", mode="w+", columns="cls, txt, a.npy"):
    more = "".join(", " + argument for argument in arguments)
    db.execute(f"CREATE VIRTUAL TABLE temp.{name} USING wds('{path}', mode='{mode}', columns='{columns}'{more})")


EXTS = ["cls", "txt", "a.npy"]


def insert(db, samples, name="o"):
    for key, parts in samples:
        values = [None if ext not in parts else int(parts[ext]) if ext == "cls" else parts[ext].decode() if ext == "txt" else parts[ext] for ext in EXTS]
        db.execute(f'INSERT INTO {name}(__key__, cls, txt, "a.npy") VALUES (?, ?, ?, ?)', (key, *values))


def random_samples(rng, n, begin=0):
    stems = ["{}", "d/{}", "a.b/{}", "grün {}", "k" * 120 + "{}", "x" * 88 + "/{}"]
    samples = []
    for i in range(begin, begin + n):
        parts = {"cls": b"%d" % rng.integers(-5, 5), "txt": ("é" * int(rng.integers(700))).encode(), "a.npy": npy_bytes(rng.normal(size=int(rng.integers(300))))}
        kept = {ext: data for ext, data in parts.items() if rng.random() < 0.7} or {"cls": b"0"}
        samples.append((stems[rng.integers(len(stems))].format(i), kept))
    return samples


# --- what is written ---------------------------------------------------------------------------------------


def test_shards_are_those_of_shard_writer(connect, folder):
    rng = seeded_generator()
    for round in range(12):
        maxcount, maxsize = int(rng.choice([1, 2, 7, 100])), int(rng.choice([1, 2000, 20_000, 10**9]))
        db, samples = connect(), []
        db.isolation_level = None
        make(db, f"maxcount={maxcount}", f"maxsize={maxsize}", path=f"{round}-%d.tar")
        for _ in range(int(rng.integers(1, 4))):
            more = random_samples(rng, int(rng.integers(1, 30)), len(samples))
            db.execute("BEGIN")
            insert(db, more, "o")
            db.execute("COMMIT")
            samples += more
            made = shard_writer(samples, maxcount, maxsize)
            assert [open(f"{round}-{i}.tar", "rb").read() for i in range(len(made))] == made
            assert len(glob.glob(f"{round}-*.tar")) == len(made) and not leftovers()
        make_reader = f"CREATE VIRTUAL TABLE r USING wds('[{', '.join(chr(34) + f'{round}-{i}.tar' + chr(34) for i in range(len(made)))}]', columns='cls, txt, a.npy')"
        db.execute(make_reader)
        rows = db.execute("SELECT __key__, CAST(cls AS TEXT), txt, \"a.npy\" FROM r").fetchall()
        text = lambda data: None if data is None else data.decode()
        assert rows == [(key, text(parts.get("cls")), text(parts.get("txt")), parts.get("a.npy")) for key, parts in samples]


def test_random_savepoints(connect, folder):
    """Against a list that is copied at each savepoint."""
    rng = seeded_generator()
    db, published = connect(), []
    db.isolation_level = None
    make(db, "maxcount=3", "maxsize=5000")
    number = 0
    for _ in range(40):
        samples, marks = list(published), []
        db.execute("BEGIN")
        for _ in range(int(rng.integers(1, 15))):
            choice = rng.random()
            if choice < 0.5:
                more = random_samples(rng, int(rng.integers(1, 5)), number)
                number += len(more)
                insert(db, more)
                samples += more
            elif choice < 0.7:
                db.execute(f"SAVEPOINT s{len(marks)}")
                marks.append(list(samples))
            elif choice < 0.9 and marks:
                at = int(rng.integers(len(marks)))
                db.execute(f"ROLLBACK TO s{at}")
                del marks[at + 1 :]
                samples = list(marks[at])
            elif marks:
                at = int(rng.integers(len(marks)))
                db.execute(f"RELEASE s{at}")
                del marks[at:]
        if rng.random() < 0.3:
            db.execute("ROLLBACK")
        else:
            db.execute("COMMIT")
            published = samples
        if published:
            assert contents() == shard_writer(published, 3, 5000)
        assert not leftovers()


@pytest.mark.parametrize("mode", ["w+", "a"])
def test_a_table_without_rows_writes_no_shard(out, mode):
    make(out, mode=mode)
    out.execute("INSERT INTO o(__key__, cls) SELECT 'a', 1 WHERE 0")
    assert contents() == [] and not leftovers()
    with open("out-000000.tar", "wb") as file:  # an empty one, as webdataset leaves it
        file.write(bytes(10240))
    out.execute("INSERT INTO o(__key__, cls) SELECT 'a', 1 WHERE 0")
    assert contents() == shard_writer([]) == [bytes(10240)]
    insert(out, [("a", {"cls": b"1"})])  # which is replaced, or added to
    assert contents() == shard_writer([("a", {"cls": b"1"})]) and not leftovers()


def test_each_insert_goes_on_with_the_last_shard(out):
    make(out, "maxcount=3")
    samples = [(f"{i}", {"cls": b"1"}) for i in range(8)]
    insert(out, samples)
    assert contents() == shard_writer(samples, 3) and not leftovers()


def test_cells(out):
    array = np.arange(6, dtype="f4").reshape(2, 3)
    with open("x.npy", "wb") as file:
        file.write(npy_bytes(array))
    make(out, columns="npy, x.ten, json, cls, jpg, txt, id")
    sql = "INSERT INTO o(__key__, npy, \"x.ten\", json, cls, jpg, txt, id) SELECT ?, array, array, json_array(1, 'a'), '7', x'ff00', 1.5, 2 FROM npy_file('x.npy')"
    out.execute(sql, ("handle",))
    out.execute("INSERT INTO o(__key__, npy, \"x.ten\") VALUES ('files', ?, ?)", (npy_bytes(array), ten_bytes([array], infos=["n"])))
    out.execute("INSERT INTO o(__key__, \"x.ten\") VALUES ('a ten of a npy', ?)", (npy_bytes(array),))
    ten = ten_bytes([array], infos=[""])
    parts = {"npy": npy_bytes(array), "x.ten": ten, "json": b'[1,"a"]', "cls": b"7", "jpg": b"\xff\0", "txt": b"1.5", "id": b"2"}
    samples = [("handle", parts), ("files", {"npy": npy_bytes(array), "x.ten": ten_bytes([array], infos=["n"])}), ("a ten of a npy", {"x.ten": ten})]
    assert contents() == shard_writer(samples)


WRONG = [
    ("('', 1)", "__key__ is empty"),
    ("(NULL, 1)", "__key__ is NULL"),
    ("('a.b', 1)", "a key has no dot after its last slash"),
    ("('/a', 1)", "leads out of the folder"),
    ("('PK' || char(3, 4) || 'a', 1)", "begins as a zip does, which a shard would be taken for"),
    ("('~TenBin~a', 1)", "begins as a .ten does"),
    ("('a/../../b', 1)", "leads out of the folder"),
    ("('__x__/a', 1)", "would be passed over"),
    ("('a' || char(0), 1)", "is not UTF-8 text, or has a NUL in it"),
    ("(hex(zeroblob(600)), 1)", "at most 1024 make the name of a file"),
    ("('last', 1)", "is the same as that of the sample before"),
    ("('k', NULL)", "a sample needs at least one part, but all columns are NULL"),
    ("('k', 'x')", "column 'cls': is not an integer but 'x'"),
    ("('k', 1.5)", "column 'cls': is not an integer but '1.5'"),
    ("('k', x'31ff')", "column 'cls': is not an integer"),
]


@pytest.mark.parametrize("values, why", WRONG)
def test_samples_that_are_refused(out, values, why):
    make(out)
    insert(out, [("last", {"cls": b"1"})])
    text = error_of(out, f"INSERT INTO o(__key__, cls) VALUES {values}", code=sqlite3.SQLITE_CONSTRAINT)
    assert text.startswith("npyext: out-%06d.tar: row 0: ") and why in text, text
    out.execute(f"INSERT OR IGNORE INTO o(__key__, cls) VALUES {values}, ('after', 2)")
    assert contents() == shard_writer([("last", {"cls": b"1"}), ("after", {"cls": b"2"})])


def test_a_sample_that_is_refused_begins_no_shard(out):
    make(out, "maxcount=2")
    samples = [(f"{i}", {"cls": b"1"}) for i in range(4)]
    out.execute("BEGIN")
    insert(out, samples)
    out.execute("INSERT OR IGNORE INTO o(__key__, cls) VALUES ('bad', 'x'), ('none', NULL)")
    out.execute("COMMIT")
    assert contents() == shard_writer(samples, 2)
    out.execute("INSERT OR IGNORE INTO o(__key__, cls) VALUES ('bad', 'x'), ('4', 1), ('worse', 'x'), ('4', 1), ('5', 1)")
    assert contents() == shard_writer(samples + [("4", {"cls": b"1"}), ("5", {"cls": b"1"})], 2)


def test_more_shards_than_are_open_at_a_time(out):
    make(out, "maxcount=1")
    samples = [(f"{i}", {"cls": b"1"}) for i in range(150)]
    out.execute("BEGIN")
    insert(out, samples)
    out.execute("COMMIT")
    assert contents() == shard_writer(samples, 1) and not leftovers()


def test_an_array_cell_that_is_none(out):
    make(out)
    for value in (b"no array", "text", 7):
        with pytest.raises(sqlite3.IntegrityError, match="column 'a.npy'"):
            out.execute('INSERT INTO o(__key__, "a.npy") VALUES (?, ?)', ("k", value))
    with pytest.raises(sqlite3.IntegrityError, match="column 'txt': is not UTF-8"):
        out.execute("INSERT INTO o(__key__, txt) VALUES ('k', x'ff')")
    assert contents() == []


def test_a_damaged_array_is_refused(out):
    """Found by fuzzing: a .npy that nobody can read went into a shard as it was."""
    make(out, columns="npy, x.ten")
    whole, ten = npy_bytes(np.arange(9.0)), ten_bytes([np.arange(3.0), np.arange(2)])
    for array in (whole.replace(b"descr", b"desc!"), whole[:-1], whole[:20]):
        text = error_of(out, "INSERT INTO o(__key__, npy) VALUES ('k', ?)", array, code=sqlite3.SQLITE_CONSTRAINT)
        assert text.startswith("npyext: out-%06d.tar: row 0: column 'npy': "), text
    for end in (20, 40, len(ten) - 60):
        error_of(out, 'INSERT INTO o(__key__, "x.ten") VALUES (?, ?)', "k", ten[:end], code=sqlite3.SQLITE_CONSTRAINT)
    assert contents() == []
    out.execute('INSERT INTO o(__key__, npy, "x.ten") VALUES (?, ?, ?)', ("k", whole + b"more", ten))
    assert contents() == shard_writer([("k", {"npy": whole + b"more", "x.ten": ten})])


def test_rows_are_only_added(out):
    make(out)
    insert(out, [("a", {"cls": b"1"})])
    for sql in ("DELETE FROM o", "UPDATE o SET cls = 2", "SELECT * FROM o", "INSERT INTO o(__key__, __url__, cls) VALUES ('b', 'x', 1)"):
        with pytest.raises(sqlite3.Error):
            out.execute(sql).fetchall()
    assert contents() == shard_writer([("a", {"cls": b"1"})])


# --- tables that are not made, and paths that are left alone -----------------------------------------------


@pytest.mark.parametrize(
    "arguments, why",
    [
        ("'out-%06d.tar', mode='w+'", "a table that writes needs columns"),
        ("'out-%s.tar', mode='w+', columns='cls'", "a path may have one %d (or %06d) in its file name"),
        ("'out-%d-%d.tar', mode='w+', columns='cls'", "a path may have one %d (or %06d)"),
        ("'out-%6d.tar', mode='w+', columns='cls'", "a path may have one %d (or %06d)"),
        ("'%d/out.tar', mode='w+', columns='cls'", "a path may have one %d (or %06d)"),
        ("'out.tar', mode='w+', columns='cls', maxcount=5", "without a %d in its path, a table writes only one shard"),
        ("'out-%d.tar', mode='w+', columns='cls', maxcount=0", "maxcount must be a number above 0"),
        ("'out-%d.tar', mode='w+', columns='cls', maxcount=1.5", "maxcount must be a whole number"),
        ("'out-%d.tar', mode='w+', columns='cls', maxsize='x'", "maxsize must be a number above 0"),
        ("'out-%d.tar.gz', mode='w+', columns='cls'", "shards are written uncompressed; name them .tar, and compress them afterwards"),
        ("'out-%d.tar', mode='x', columns='cls'", "unknown mode 'x'"),
        ("'out-%d.tar', mode='r+', columns='cls'", "no table of this kind changes existing samples; 'a' adds some, and 'w+' writes a new set"),
        ("'out-%d.tar', maxcount=5", "maxcount belongs to tables that write"),
        ("'out-%d.tar', mode='w+', columns='cls,cls'", "columns names 'cls' twice"),
    ],
)
def test_tables_that_are_not_made(out, arguments, why):
    assert why in error_of(out, f"CREATE VIRTUAL TABLE temp.o USING wds({arguments})")


def test_a_database_carries_none(out, connect):
    text = error_of(out, "CREATE VIRTUAL TABLE o USING wds('out-%d.tar', mode='w+', columns='cls')")
    assert "a table that writes must be a TEMP table: CREATE VIRTUAL TABLE temp.o USING wds(...)" in text
    readonly = connect(entry_point="sqlite3_npyext_readonly_init")
    error_of(readonly, "CREATE VIRTUAL TABLE temp.o USING wds('out-%d.tar', mode='w+', columns='cls')")


@pytest.mark.parametrize("what, contents_of", [("an array", npy_bytes(np.arange(3))), ("a text", b"mine"), ("a zip", b"PK\3\4" + bytes(100))])
def test_what_is_no_tar_is_not_replaced(out, what, contents_of):
    with open("out-000001.tar", "wb") as file:
        file.write(contents_of)
    make(out, "maxcount=2")
    out.execute("BEGIN")
    with pytest.raises(sqlite3.Error, match="is an array file, which is not replaced by a tar" if what == "an array" else "not replaced"):
        insert(out, [(f"{i}", {"cls": b"1"}) for i in range(5)])
        out.execute("COMMIT")
    if out.in_transaction:
        out.execute("ROLLBACK")
    assert contents() == [contents_of] and not leftovers()


def test_an_array_table_does_not_replace_a_tar(out):
    with open("x.npy", "wb") as file:
        file.write(tar_of([("a.txt", b"a")]))
    with pytest.raises(sqlite3.Error, match="not replaced"):
        out.execute("SELECT * FROM npy_write('x.npy', npy_from_json('[1]'))").fetchall()


def test_old_shards_are_replaced_but_none_is_left_behind(out):
    old = shard_writer([(f"old{i}", {"cls": b"9"}) for i in range(6)], 1)
    for i, data in enumerate(old):
        with open(f"out-{i:06}.tar", "wb") as file:
            file.write(data)
    make(out, "maxcount=2")
    samples = [(f"{i}", {"cls": b"1"}) for i in range(8)]
    out.execute("BEGIN")
    insert(out, samples)
    text = error_of(out, "COMMIT")
    assert "shards numbered above the last one written exist already: 'out-000004.tar', 'out-000005.tar'; remove them first" in text
    if out.in_transaction:
        out.execute("ROLLBACK")
    assert contents() == old and not leftovers()
    os.remove("out-000004.tar")
    os.remove("out-000005.tar")
    with open("out-0000005.tar", "wb") as file:  # not one of them
        file.write(b"mine")
    out.execute("BEGIN")
    insert(out, samples)
    out.execute("COMMIT")
    assert contents("out-??????.tar") == shard_writer(samples, 2)


def test_adding_to_what_is_there(connect, folder):
    samples = [(f"{i}", {"cls": b"1"}) for i in range(5)]
    for i, data in enumerate(shard_writer(samples, 3)):
        with open(f"out-{i:06}.tar", "wb") as file:
            file.write(data)
    for i in range(5, 12):
        db = connect()
        db.isolation_level = None
        make(db, "maxcount=3", mode="a")
        samples.append((f"{i}", {"cls": b"1", "txt": b"t"}))
        insert(db, samples[-1:])
        assert contents() == shard_writer(samples, 3)


def test_adding_where_nothing_is(out):
    make(out, mode="a")
    insert(out, [("a", {"cls": b"1"})])
    make(out, mode="a", name="p", path="one.tar")
    insert(out, [("b", {"cls": b"1"}), ("c", {"cls": b"2"})], "p")
    assert contents() == shard_writer([("a", {"cls": b"1"})])
    assert contents("one.tar") == shard_writer([("b", {"cls": b"1"}), ("c", {"cls": b"2"})])


def test_a_path_with_what_patterns_have(out):
    os.mkdir("a[b]{c,d}")
    make(out, "maxcount=1", path="a[b]{c,d}/x*-%d.tar")
    samples = [("a", {"cls": b"1"}), ("b", {"cls": b"2"})]
    for sample in samples:
        insert(out, [sample])
    assert sorted(os.listdir("a[b]{c,d}")) == ["x*-0.tar", "x*-1.tar"]


# --- transactions ------------------------------------------------------------------------------------------


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def test_finished_shards_hold_no_descriptor(out):
    make(out, "maxcount=1")
    out.execute("BEGIN")
    insert(out, [("first", {"cls": b"1"})])
    before = descriptors()
    insert(out, [(f"{i}", {"cls": b"1"}) for i in range(60)])
    assert descriptors() <= before + 1
    out.execute("COMMIT")
    assert len(contents()) == 61 and descriptors() < before and not leftovers()


def test_with_a_database_on_disk(connect, folder):
    db = connect("d.db")
    db.isolation_level = None
    db.execute("CREATE TABLE kept(x)")
    make(db, "maxcount=2")
    db.execute("BEGIN")
    samples = [(f"{i}", {"cls": b"1"}) for i in range(5)]
    insert(db, samples)
    db.execute("INSERT INTO kept VALUES (1)")
    db.execute("COMMIT")
    assert contents() == shard_writer(samples, 2) and not leftovers()


def test_a_commit_that_is_busy_is_put_off(connect, folder):
    db, other = connect("d.db"), connect("d.db")
    db.isolation_level = other.isolation_level = None
    db.execute("PRAGMA busy_timeout = 0")
    db.execute("CREATE TABLE kept(x)")
    make(db, "maxcount=2")
    samples = [(f"{i}", {"cls": b"1"}) for i in range(5)]
    db.execute("BEGIN")
    insert(db, samples[:3])
    db.execute("INSERT INTO kept VALUES (1)")
    other.execute("BEGIN")
    other.execute("SELECT * FROM kept").fetchall()
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        db.execute("COMMIT")
    assert contents() == []
    other.execute("COMMIT")
    insert(db, samples[3:])
    db.execute("COMMIT")
    assert contents() == shard_writer(samples, 2) and not leftovers()


def test_drop_and_rename(out):
    make(out, "maxcount=2")
    samples = [(f"{i}", {"cls": b"1"}) for i in range(5)]
    insert(out, samples[:3])
    out.execute("ALTER TABLE o RENAME TO p")
    insert(out, samples[3:], "p")
    assert contents() == shard_writer(samples, 2)
    out.execute("BEGIN")
    insert(out, [("x", {"cls": b"1"})], "p")
    with pytest.raises(sqlite3.OperationalError):
        out.execute("DROP TABLE p")
    out.execute("ROLLBACK")
    out.execute("DROP TABLE p")
    assert contents() == shard_writer(samples, 2) and not leftovers()


def test_a_connection_that_closes_in_a_transaction(connect, folder):
    db = connect()
    db.isolation_level = None
    make(db, "maxcount=2")
    db.execute("BEGIN")
    insert(db, [(f"{i}", {"cls": b"1"}) for i in range(7)])
    assert leftovers()
    db.close()
    assert contents() == [] and not leftovers()


KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
import shell
db = shell.connect()
db.isolation_level = None
db.execute("CREATE VIRTUAL TABLE temp.o USING wds('out-%06d.tar', mode='w+', columns='cls', maxcount=2)")
db.execute("BEGIN")
for i in range(7):
    db.execute("INSERT INTO o(__key__, cls) VALUES (?, 1)", (str(i),))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_writer_that_is_killed(out):
    """Nothing of it is at a path; what waited beside it goes away with the next writer there."""
    done = subprocess.run([sys.executable, "-B", "-c", KILLED, os.path.join(shell.TESTS, "lib")], env={**os.environ, "NPYEXT_SO": shell.EXTENSION})
    assert done.returncode == -signal.SIGKILL
    assert contents() == [] and leftovers()
    make(out, "maxcount=2")
    samples = [(f"{i}", {"cls": b"1"}) for i in range(7)]
    out.execute("BEGIN")
    insert(out, samples)
    out.execute("COMMIT")
    assert contents() == shard_writer(samples, 2) and not leftovers()


def test_two_writers_of_one_path(connect, folder):
    """The one that publishes first takes away what the other one has put aside, which then fails whole."""
    one, other = connect(), connect()
    samples = [(f"{i}", {"cls": b"1"}) for i in range(5)]
    for db in (one, other):
        db.isolation_level = None
        make(db, "maxcount=2")
    one.execute("BEGIN")
    insert(one, samples)
    other.execute("BEGIN")
    insert(other, [(f"x{i}", {"cls": b"2"}) for i in range(5)])
    other.execute("COMMIT")
    theirs = shard_writer([(f"x{i}", {"cls": b"2"}) for i in range(5)], 2)
    assert contents() == theirs
    with pytest.raises(sqlite3.Error, match="was removed or changed"):
        one.execute("COMMIT")
    if one.in_transaction:
        one.execute("ROLLBACK")
    assert contents() == theirs and not leftovers()


@pytest.mark.parametrize("of_one, of_other", [(3, 3), (5, 3), (3, 5), (7, 1)])
@pytest.mark.parametrize("has_database", [False, True])
def test_two_tables_of_one_path_in_one_transaction(connect, folder, of_one, of_other, has_database):
    """The second one is refused at its first row: it would leave shards of the first, or throw away its samples. After
    the commit it replaces them, unless some of them would follow its own."""
    db = connect("d.db")
    db.isolation_level = None
    db.execute("CREATE TABLE kept(x)")
    for name in ("one", "other"):
        make(db, "maxcount=1", name=name)
    db.execute("BEGIN")
    of_a, of_b = ([(f"{key}{i}", {"cls": b"1"}) for i in range(n)] for key, n in (("a", of_one), ("b", of_other)))
    insert(db, of_a, "one")
    with pytest.raises(sqlite3.Error, match="out-%06d.tar: is being written to by table one; commit its rows first"):
        insert(db, of_b, "other")
    if has_database:
        db.execute("INSERT INTO kept VALUES (1)")
    db.execute("COMMIT")
    assert contents() == shard_writer(of_a, 1) and not leftovers()
    assert db.execute("SELECT count(*) FROM kept").fetchone() == (int(has_database),)
    db.execute("BEGIN")
    insert(db, of_b, "other")
    if of_other < of_one:
        with pytest.raises(sqlite3.Error, match="shards numbered above the last one written exist already"):
            db.execute("COMMIT")
        assert not db.in_transaction and contents() == shard_writer(of_a, 1) and not leftovers()
        insert(db, [("z", {"cls": b"1"})], "one")
        assert contents() == shard_writer([*of_a, ("z", {"cls": b"1"})], 1)
    else:
        db.execute("COMMIT")
        assert contents() == shard_writer(of_b, 1) and not leftovers()
        with pytest.raises(sqlite3.Error, match="is no longer as this table wrote it"):
            insert(db, [("z", {"cls": b"1"})], "one")
        assert contents() == shard_writer(of_b, 1)


def test_a_full_disk(out):
    """A limit of the size of files stands for one: the shards before are not published either."""
    import resource

    make(out, "maxsize=100000")
    big = npy_bytes(np.zeros(20_000))
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    out.execute("BEGIN")
    insert(out, [("a", {"a.npy": big}), ("b", {"a.npy": big})])
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limit[1]))
    try:
        with pytest.raises(sqlite3.Error):
            insert(out, [("c", {"a.npy": big})])
            out.execute("COMMIT")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, ignored)
    if out.in_transaction:
        out.execute("ROLLBACK")
    assert contents() == [] and not leftovers()
