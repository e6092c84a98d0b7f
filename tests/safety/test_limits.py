"""Every limit at its last good value and one beyond; and what claims much, costs little: bombs, special files."""

import json
import os
import socket
import sqlite3
import struct
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest

import shell
from arrays import npy_bytes, npz_bytes
from expected import error_of
from formats import endless_npz, header_text, npy, npz, ten, ten_chunk, ten_header

SOON = 30.0 if shell.SANITIZED else 5.0


def write(path, contents):
    with open(path, "wb") as file:
        file.write(contents)


def one(db, sql, *arguments):
    (row,) = db.execute(sql, arguments).fetchall()
    return row[0] if len(row) == 1 else row


def counters(db):
    return json.loads(one(db, "SELECT npyext_counters()"))


# --- limits ------------------------------------------------------------------------------------------------


def padded_npy(header_nbytes):
    """A .npy of version 2.0 whose header has so many bytes."""
    text = header_text("<i2", (1,)).encode()
    header = text + b" " * (header_nbytes - len(text) - 1) + b"\n"
    return b"\x93NUMPY\2\0" + struct.pack("<I", len(header)) + header + b"\7\0"


def test_header_size(connect):
    assert one(connect(), "SELECT value FROM npy_rows(?)", padded_npy(1 << 20)) == 7
    message = error_of(connect(), "SELECT value FROM npy_rows(?)", padded_npy((1 << 20) + 1))
    assert "the header claims 1048577 bytes (at most 1048576 are read" in message


def test_literals_in_arguments(connect):
    db = connect()
    for sql, good in [
        ("SELECT npy_size(npy_from_data(x'0102', ?, '[-1]'))", "[('a', '<i2')]"),
        ("SELECT npy_size(npy_from_data(x'0102', 'i2', ?))", "[1]"),
        ("SELECT count(*) FROM npy_stats(npy_from_json('[1]'), '', '', ?)", "[0]"),
    ]:
        assert one(db, sql, good.ljust(1 << 20)) == 1
        error_of(db, sql, good.ljust((1 << 20) + 1))


def test_nesting_of_literals(connect):
    # The dict of the header is one bracket.
    nested = lambda depth: npy(None, None, b"", text="{'descr': " + "[" * depth + "]" * depth + "}")
    assert "nested more than 200 deep" not in error_of(connect(), "SELECT value FROM npy_rows(?)", nested(199))
    assert "nested more than 200 deep" in error_of(connect(), "SELECT value FROM npy_rows(?)", nested(200))


def test_nesting_of_dtypes(connect):
    descr = "<i2"
    for _ in range(60):
        descr = [("a", descr)]
    assert one(connect(), "SELECT value FROM npy_rows(?)", npy(descr, (1,), b"\7\0")) == '{"a":' * 60 + "7" + "}" * 60
    for _ in range(40):  # three brackets each
        descr = [("a", descr)]
    error_of(connect(), "SELECT value FROM npy_rows(?)", npy(descr, (1,), b"\7\0"))


def test_dimensions(connect):
    db = connect()
    assert one(db, "SELECT ndim FROM npy_meta(?)", npy("<i2", (1,) * 64, b"\7\0")) == 64
    assert one(db, "SELECT value, i63 FROM npy_elements(?)", npy("<i2", (1,) * 64, b"\7\0")) == (7, 0)
    assert "64" in error_of(db, "SELECT ndim FROM npy_meta(?)", npy("<i2", (1,) * 65, b"\7\0"))
    assert one(db, "SELECT ndim FROM npy_meta(?)", ten([("i2", "a", (1,) * 64, b"\7\0")])) == 64
    assert "64" in error_of(db, "SELECT ndim FROM npy_meta(?)", ten([("i2", "a", (1,) * 65, b"\7\0")]))
    assert one(db, "SELECT ndim FROM npy_meta(?)", npy([("a", "<i2", (1,) * 64)], (1,), b"\7\0")) == 1
    error_of(db, "SELECT ndim FROM npy_meta(?)", npy([("a", "<i2", (1,) * 65)], (1,), b"\7\0"))
    added = lambda n: ", ".join(["None"] * n)
    assert one(db, "SELECT value FROM npy_rows(?, '', ?)", npy("<i2", (1,), b"\7\0"), added(63))
    assert "64" in error_of(db, "SELECT value FROM npy_rows(?, '', ?)", npy("<i2", (1,), b"\7\0"), added(64))
    assert one(db, "SELECT npy_ndim(npy_from_json(?))", "[" * 64 + "7" + "]" * 64) == 64
    assert "64" in error_of(db, "SELECT npy_from_json(?)", "[" * 65 + "7" + "]" * 65)


def test_size_of_an_item(connect):
    db = connect()
    assert one(db, "SELECT itemsize FROM npy_meta(?)", npy("|V2147483647", (0,), b"")) == 2147483647
    error_of(db, "SELECT itemsize FROM npy_meta(?)", npy("|V2147483648", (0,), b""))


def test_items_and_bytes_of_an_array(connect):
    db = connect()
    assert one(db, "SELECT size FROM npy_meta(?)", npy("|V0", (2**63 - 1,), b"")) == 2**63 - 1
    assert "2^63" in error_of(db, "SELECT size FROM npy_meta(?)", npy("|V0", (2**62, 2), b""))
    assert one(db, "SELECT nbytes FROM npy_meta(?)", npy("<i2", (2**62 - 1, 0), b"")) == 0
    assert "2^63" in error_of(db, "SELECT nbytes FROM npy_meta(?)", npy("<i2", (2**62, 0), b""))


def test_nesting_of_json(connect):
    db = connect()
    nested = lambda depth: '{"a":' * depth + "7" + "}" * depth
    assert "1000 deep" not in error_of(db, "SELECT npy_from_json(?, 'i2')", nested(1000))
    assert "nested more than 1000 deep" in error_of(db, "SELECT npy_from_json(?, 'i2')", nested(1001))


@pytest.mark.parametrize("column, limit", [("value", 10_001), ("data", 5_000)])
def test_length_of_a_row(connect, folder, column, limit):
    """5000 numbers of one digit and one byte."""
    write("x.npy", npy_bytes(np.ones((2, 5_000), "i1")))
    db, sql = connect(), f"SELECT length({column}) FROM npy_rows('x.npy') LIMIT 1"
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limit)
    assert one(db, sql) == limit
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limit - 1)
    error_of(db, sql, code=sqlite3.SQLITE_TOOBIG)


@pytest.mark.parametrize(
    "sql",
    ["SELECT length(npy_slice(array, ':')) FROM npy_file('x.npy')", "SELECT length(npy_array(value, 'i1')) FROM npy_rows('x.npy')"],
)
def test_length_of_an_array_as_a_value(connect, folder, sql):
    write("x.npy", npy_bytes(np.arange(5_000).astype("i1")))
    db = connect()
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 5_128)
    assert one(db, sql) == 5_128
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 5_127)
    error_of(db, sql, code=sqlite3.SQLITE_TOOBIG)


def test_columns_of_a_typed_table(connect, folder):
    write("x.npy", npy_bytes(np.zeros((1, 101), "i1")))
    db = connect()
    db.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, 100)
    assert "100" in error_of(db, "CREATE VIRTUAL TABLE t USING npy('x.npy')")
    db.execute("CREATE VIRTUAL TABLE t USING npy('x.npy', slice=':, :100')")
    assert one(db, "SELECT count(*) FROM pragma_table_info('t')") == 100


def test_bins(connect):
    db = connect()
    sql = "SELECT count(*) FROM npy_histogram(npy_from_json('[1, 2]'), '', '', ?)"
    assert one(db, sql, 1_000_000) == 1_000_000
    assert "at most 1000000" in error_of(db, sql, 1_000_001)
    assert one(db, sql, json.dumps(list(range(1_000_001)))) == 1_000_000
    assert "at most 1000000" in error_of(db, sql, json.dumps(list(range(1_000_002))))


def test_braces(connect, folder):
    db = connect()
    write("7.npy", npy_bytes(np.zeros(2)))
    sql = "SELECT count(*) FROM npy_meta(?)"
    assert one(db, sql, "{1..1000000}.npy") == 1
    for bomb in ["{1..1000001}.npy", "{1..999999999999999999}", "{0..1000}{0..1000}", "{a,b}" * 20, "{" * 12 + "a,b}" * 12 + "{1..999999999}"]:
        assert "make more than 1000000 patterns" in error_of(db, sql, bomb), bomb
    assert "at most 18 digits" in error_of(db, sql, "{1..9999999999999999999}")
    assert "more than 1000000 braces" in error_of(db, sql, "{a," * 600_000 + "}" * 600_000)


def test_length_of_a_pattern_and_its_parts(connect, folder):
    db, sql = connect(), "SELECT count(*) FROM npy_meta(?)"
    assert one(db, sql, "*" * 16384) == 0
    assert "more than 16384 bytes" in error_of(db, sql, "*" * 16385)
    assert "more than 16384 bytes" in error_of(db, sql, "*{" + "a" * 16384 + "}")
    assert one(db, sql, "*/" * 510 + "*") == 0
    assert "more than 511 parts" in error_of(db, sql, "*/" * 511 + "*")


def test_length_of_a_path(connect, folder):
    """The kernel takes 4095 bytes."""
    db = connect()
    path = "./" * 2045 + "a.npy"
    assert len(path) == 4095
    write("a.npy", npy_bytes(np.zeros(2)))
    assert one(db, "SELECT shape FROM npy_meta(?)", path) == "[2]"
    assert "File name too long" in error_of(db, "SELECT shape FROM npy_meta(?)", "." + "/" * 1 + path)
    message = error_of(db, "SELECT shape FROM npy_meta(?)", "a" * 1_000_000)
    assert "File name too long" in message and len(message) < 5000


def test_length_of_names_in_a_zip(connect):
    db, contents = connect(), npy_bytes(np.arange(2))
    name = "é" * 32765 + "a"  # 65,531 bytes, and `.npy`
    assert one(db, "SELECT name FROM npy_meta(?)", npz([(name + ".npy", contents)])) == name
    assert one(db, "SELECT npy_shape(npy_member(npz_archive(?, npy_from_json('[1]')), ?))", name, name) == "[1]"
    assert "65532 bytes" in error_of(db, "SELECT npz_archive(?, npy_from_json('[1]'))", name + "a")


def many_entries(n):
    """A zip of one member, which n records of its directory name."""
    local = npz([("a.npy", npy_bytes(np.arange(2)))])
    at = local.index(b"PK\1\2")
    record = local[at : local.index(b"PK\5\6")]
    directory = record * n
    counts = struct.pack("<QQQQ", n, n, len(directory), at)
    zip64 = b"PK\6\6" + struct.pack("<QHHII", 44, 45, 45, 0, 0) + counts
    locator = b"PK\6\7" + struct.pack("<IQI", 0, at + len(directory), 1)
    shown = min(n, 0xFFFF)
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, shown, shown, len(directory), at, 0)
    return local[:at] + directory + (zip64 + locator if n >= 0xFFFF else b"") + end


def test_entries_of_a_zip(connect, folder):
    db = connect()
    write("x.npz", many_entries(1_000_000))
    assert one(db, "SELECT count(*) FROM npz_members('x.npz')") == 1_000_000
    write("x.npz", many_entries(1_000_001))
    assert "the zip has more than 1000000 entries" in error_of(db, "SELECT count(*) FROM npz_members('x.npz')")


# --- memory ------------------------------------------------------------------------------------------------

CHILD = """
import sys
sys.path.insert(0, {lib!r})
import shell
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) << 10
db = shell.connect()
db.execute("SELECT count(*) FROM npy_meta('small.npy')").fetchall()
try:
    cursor = db.execute("PRAGMA temp_store = 2")
    with open("/proc/self/clear_refs", "w") as peaks:
        peaks.write("5")
    before = peak()
    rows = db.execute(sys.argv[1]).fetchmany(3)
except Exception as error:
    rows = str(error)
print(peak() - before)
print(str(rows)[:1000])
"""


def peak_of(sql):
    """How much memory a statement takes beyond what a small one takes, and what it gave."""
    write("small.npy", npy_bytes(np.zeros(2)))
    done = subprocess.run(
        [sys.executable, "-B", "-c", CHILD.format(lib=shell.LIB), sql],
        stdout=subprocess.PIPE, timeout=shell.PATIENCE, check=True,
    )
    nbytes, said = done.stdout.decode().split("\n", 1)
    return int(nbytes), said


MIB = 1 << 20
# The sanitizer keeps what was freed, and redzones around the rest.
FACTOR = 8 if shell.SANITIZED else 1


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT value FROM npy_rows('z.npz') LIMIT 3",
        "SELECT name, shape, nbytes FROM npy_meta('z.npz')",
        "SELECT filename, uncompressed_size FROM npz_members('z.npz')",
        "SELECT value FROM npy_rows('z.npz') WHERE row = 50000000",
        "SELECT npy_get(array, 3) FROM npy_file('z.npz')",
        "SELECT length(npy_json(array)) FROM npy_file('z.npz')",
        "SELECT length(npy_data(array)) FROM npy_file('z.npz')",
        "SELECT length(npy_slice(array, ':')) FROM npy_file('z.npz')",
    ],
)
def test_a_zip_bomb_costs_what_is_asked_for(folder, sql):
    """32 GB of zeros in 32 MB; the row in the middle is 400 MB into them."""
    write("z.npz", endless_npz())
    nbytes, said = peak_of(sql)
    assert nbytes < 24 * MIB * FACTOR, said


def test_a_zip_bomb_is_not_inflated_further_than_needed(connect, folder):
    write("z.npz", endless_npz())
    db = connect()
    db.execute("SELECT name, shape FROM npy_meta('z.npz')").fetchall()
    db.execute("SELECT value FROM npy_rows('z.npz') LIMIT 3").fetchall()
    assert counters(db)["bytes_inflated"] < MIB


def test_a_directory_that_names_one_member_over_and_over(connect, folder):
    write("x.npz", many_entries(65_535))
    db, begin = connect(), time.monotonic()
    # They overlap, as Python's zipfile says: only one of them can have the bytes.
    query = "SELECT count(*), count(shape), sum(error LIKE '%overlap%') FROM npy_meta('x.npz', 'row')"
    assert one(db, query) == (65_535, 1, 65_534)
    assert one(db, "SELECT value FROM npy_rows('x.npz', 0) WHERE row = 1") == 1
    assert time.monotonic() - begin < SOON
    nbytes, said = peak_of(query)
    assert nbytes < 24 * MIB * FACTOR and said.startswith("[(65535,"), said


def test_members_that_overlap(connect, folder):
    """Each of 1000 stored members begins in the one before it and goes on to the end (zip quines and bombs are made of
    such): only the last has its bytes for itself."""
    plain = npz([(f"{i}.npy", npy_bytes(np.arange(2))) for i in range(1000)])
    end = plain.index(b"PK\1\2")
    damaged = bytearray(plain)
    at = end
    while damaged[at : at + 4] == b"PK\1\2":  # each is as long as all that lies after it
        (header_off,) = struct.unpack_from("<I", damaged, at + 42)
        name_nbytes, extra_nbytes = struct.unpack_from("<HH", damaged, at + 28)
        nbytes = end - header_off - 30 - name_nbytes
        struct.pack_into("<II", damaged, at + 20, nbytes, nbytes)
        at += 46 + name_nbytes + extra_nbytes
    write("x.npz", bytes(damaged))
    db = connect()
    with zipfile.ZipFile("x.npz") as archive:
        refused = 0
        for name in archive.namelist():
            try:
                archive.read(name)
            except zipfile.BadZipFile as error:
                refused += "Overlapped" in str(error)
    assert one(db, "SELECT count(*), sum(error LIKE '%overlap%') FROM npy_meta('x.npz', 'row')") == (1000, refused)
    assert refused == 999
    assert "overlap" in error_of(db, "SELECT value FROM npy_rows('x.npz', '500') WHERE row = 1")
    assert one(db, "SELECT value FROM npy_rows('x.npz', '999') WHERE row = 1") == 1
    assert one(db, "SELECT sum(crc_ok) FROM npz_members('x.npz')") == 1


CLAIMS = [
    npy("<f8", (2**60 - 1,), b""),
    npy("|V2147483647", (2**31,), b""),
    npz([("a.npy", npy("<f8", (2**59,), b""))]),
    ten([("f8", "a", (2**59,), b"")]),
    b"\x93NUMPY\2\0" + struct.pack("<I", 2**32 - 1),
    b"~TenBin~" + struct.pack("<q", 2**63 - 1),
    ten_chunk(ten_header("f8", "a", (2,))) + b"~TenBin~" + struct.pack("<q", 2**63 - 1),
]


@pytest.mark.parametrize("i", range(len(CLAIMS)))
def test_claims_cost_nothing(folder, i):
    write("x.npy", CLAIMS[i])
    for sql in ["SELECT * FROM npy_meta('x.npy')", "SELECT value FROM npy_rows('x.npy')", "SELECT * FROM npy_stats('x.npy')",
                "SELECT * FROM npy_stats('x.npy', '', '', 0)", "SELECT * FROM npy_histogram('x.npy')", "SELECT * FROM npy_compare('x.npy', 'x.npy')",
                "SELECT npy_data(array) FROM npy_file('x.npy')"][:: 6 if shell.SANITIZED else 1]:
        nbytes, said = peak_of(sql)
        assert nbytes < 12 * MIB * FACTOR and "npyext: x.npy" in said, said


# --- .ten --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [-1, -64, -(2**63), 2**63 - 1, 2**63 - 64, 2**62, 1 << 20])
@pytest.mark.parametrize("chunk", [0, 1])
def test_chunks_that_would_lead_back_or_beyond(connect, size, chunk):
    """Whatever a chunk says of its length, the next one lies after it or nowhere."""
    good = ten([("i2", "a", (2,), b"\1\0\2\0")] * 3)
    starts = [i for i in range(len(good)) if good[i : i + 8] == b"~TenBin~"]
    bad = bytearray(good)
    struct.pack_into("<q", bad, starts[2 + chunk] + 8, size)
    db, begin = connect(), time.monotonic()
    rows = db.execute("SELECT idx, error FROM ten_arrays(?) WHERE on_error = 'row'", (bytes(bad),)).fetchall()
    assert 2 <= len(rows) <= 3 and rows[0] == (0, None) and rows[-1][1] is not None
    assert time.monotonic() - begin < SOON


# --- rows without bytes ------------------------------------------------------------------------------------

BOMBS = {"v0": npy("|V0", (2**62,), b""), "u0": npy("<U0", (2**61, 2), b""), "s": npy([], (2**62,), b""), "f8": npy("<f8", (2**59, 0), b"")}
BOUNDED = ["SELECT value FROM npy_rows('x') WHERE row = 400000000000000000", "SELECT row FROM npy_rows('x') ORDER BY row DESC LIMIT 2",
           "SELECT * FROM npy_stats('x')", "SELECT at FROM npy_stats('x', '', '', 1) LIMIT 2", "SELECT * FROM npy_histogram('x')",
           "SELECT status FROM npy_compare('x', 'x')", "SELECT npy_json(array) FROM npy_file('x')", "SELECT length(npy_data(array)) FROM npy_file('x')",
           "SELECT length(npy_slice(array, '::-2')) FROM npy_file('x')", "SELECT length(npy_transpose(array)) FROM npy_file('x')",
           "SELECT npy_get(array, 5) FROM npy_file('x')", "SELECT length(npz_archive('a', array)) FROM npy_file('x')",
           "SELECT npy_shape(npy_stack(array)) FROM npy_file('x')", "SELECT * FROM npy_write('y', (SELECT array FROM npy_file('x')))"]
ENDLESS = ["SELECT count(*) FROM npy_rows('x')", "SELECT count(value) FROM npy_rows('x')", "SELECT count(*) FROM npy_rows('x') WHERE value > 3",
           "SELECT npy_array(value, 'S0') FROM npy_rows('x')", "SELECT npy_stack(data, 'i1') FROM npy_rows('x')"]


@pytest.mark.parametrize("name", BOMBS)
def test_rows_without_bytes(connect, folder, heap, name):
    write("x", BOMBS[name])
    db, begin = connect(), time.monotonic()
    heap(64 * MIB)
    for sql in BOUNDED:
        try:
            db.execute(sql).fetchall()
        except sqlite3.Error as error:  # what there is no answer to is told, and not by running out
            assert str(error).startswith("npyext: "), (sql, str(error))
            assert error.sqlite_errorcode in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_TOOBIG), sql
    assert time.monotonic() - begin < SOON


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("sql", ENDLESS)
def test_rows_without_bytes_and_without_end(connect, folder, name, sql):
    write("x", BOMBS[name])
    db, deadline = connect(), time.monotonic() + 0.2
    db.set_progress_handler(lambda: time.monotonic() > deadline, 1000)
    with pytest.raises(sqlite3.Error) as raised:
        db.execute(sql).fetchall()
    if raised.value.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:  # some cannot even begin
        assert str(raised.value).startswith("npyext: ")
    assert time.monotonic() - deadline < SOON


# --- what is no regular file -------------------------------------------------------------------------------


@pytest.fixture
def oddities(folder):
    """{what it is: path}, each also after a link."""
    os.mkfifo("fifo")
    server = socket.socket(socket.AF_UNIX)
    server.bind("socket")
    os.mkdir("folder")
    paths = {"FIFO": "fifo", "socket": "socket", "directory": "folder", "device": "/dev/zero"}
    for name, path in paths.items():
        os.symlink(path, f"link_to_{name}")
    yield paths
    server.close()


def test_special_files_are_refused_and_not_waited_for(connect, oddities):
    db, begin = connect(), time.monotonic()
    for name, path in oddities.items():
        for each in (path, f"link_to_{name}"):
            for sql in ["SELECT * FROM npy_meta(?)", "SELECT * FROM npy_rows(?)", "SELECT array FROM npy_file(?)"]:
                assert f"is a {name}" in error_of(db, sql, each), sql
            quoted = each.replace("'", "''")
            assert f"is a {name}" in error_of(db, f"CREATE VIRTUAL TABLE t USING npy('{quoted}')")
            assert one(db, "SELECT error FROM npy_meta(?, 'row')", each).startswith(f"npyext: {each}: is a {name}")
    assert db.execute("SELECT path FROM npy_meta('*')").fetchall() == []
    assert db.execute("SELECT path FROM npy_meta('{fifo,socket,folder,link_to_FIFO,link_to_device}')").fetchall() == []
    assert one(db, "SELECT count(error) FROM npy_meta(?)", json.dumps(["fifo", "socket", "link_to_device"])) == 3
    assert time.monotonic() - begin < SOON


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/tty", "/dev/ptmx", "/dev/stdin"])
def test_devices(connect, path):
    begin = time.monotonic()
    message = error_of(connect(), "SELECT * FROM npy_rows(?)", path)
    assert message.startswith(f"npyext: {path}: ") and time.monotonic() - begin < SOON


def test_files_that_the_kernel_makes_up(connect):
    """Their size is 0, or not theirs; some have no end, some wait for what is to come."""
    db, begin = connect(), time.monotonic()
    for path in ["/proc/self/status", "/proc/self/mem", "/proc/self/maps", "/proc/kmsg", "/proc/self/pagemap", "/proc/sys/kernel/random/uuid",
                 "/proc/sys/kernel/hostname", "/proc/self/environ", "/sys/power/state", "/sys/kernel/mm/transparent_hugepage/enabled",
                 "/sys/devices/system/cpu/online", "/proc/kpagecount", "/sys/kernel/notes", "/proc/self/fd/0"]:
        message = error_of(db, "SELECT * FROM npy_rows(?)", path)
        assert message.startswith(f"npyext: {path}: ")
    rows = db.execute("SELECT path, error FROM npy_meta('/proc/self/*')").fetchall()
    assert rows and all(error.startswith(f"npyext: {path}: ") for path, error in rows)
    rows = db.execute("SELECT path, error FROM npy_meta('/sys/devices/system/cpu/**')").fetchall()
    assert all(error.startswith(f"npyext: {path}: ") for path, error in rows)
    assert time.monotonic() - begin < SOON
