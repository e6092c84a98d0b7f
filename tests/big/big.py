"""Files of more than 4 GiB, written through tables and read back: by ourselves, by NumPy and by zipfile.

    big.py [GB]       the size of the .npy, 5 unless told; the member of the .npz is as large

Needs three times that on the disk of TMPDIR (default /tmp), and removes what it wrote.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))

import numpy as np  # noqa: E402

import shell  # noqa: E402

NCOLUMNS = 1 << 16  # float64 of a row: half a megabyte
ROW_NBYTES = 8 * NCOLUMNS
# Each row of the source is another one, and the same row of the file holds the same.
NSOURCE = 64
PEAK_MIB = 64


class Fault(Exception):
    pass


def check(is_right, what):
    if not is_right:
        raise Fault(what)


def in_shell(sql, folder):
    """The output of a script in the shell, its seconds, and the MiB of memory that it came to need."""
    command = [os.environ.get("SQLITE3", "sqlite3"), "-batch", "-init", "/dev/null", ":memory:"]
    script = f".bail on\n.load '{shell.EXTENSION}'\n{sql}\n.system grep VmHWM /proc/$PPID/status\n"
    begun = time.monotonic()
    done = subprocess.run(
        command, input=script, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder
    )
    seconds = time.monotonic() - begun
    peak = re.search(r"VmHWM:\s+(\d+) kB", done.stdout)
    check(done.returncode == 0 and peak, f"the shell ended with {done.returncode}: {done.stdout[-500:]}")
    return done.stdout[: peak.start()].split(), seconds, int(peak[1]) / 1024


def tell(what, nbytes, seconds, peak=None):
    memory = "" if peak is None else f", peak memory {peak:.1f} MiB"
    print(f"{what:58} {seconds:7.1f} s {nbytes / 1e6 / seconds:7.0f} MB/s{memory}", flush=True)
    check(peak is None or peak < PEAK_MIB, f"more than {PEAK_MIB} MiB of memory")


def crc_of(source, nrows):
    """zlib's CRC-32 of the rows."""
    rows, crc = [row.tobytes() for row in source], 0
    for i in range(nrows):
        crc = zlib.crc32(rows[i % NSOURCE], crc)
    return crc


def write_and_read_npy(folder, source, nrows):
    nbytes = nrows * ROW_NBYTES
    sql = f"""
        CREATE VIRTUAL TABLE temp.out USING npy('big.npy', mode='w+', dtype='float64', shape='[-1, {NCOLUMNS}]');
        WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT {nrows})
        INSERT INTO out SELECT s.data FROM n CROSS JOIN npy_rows('source.npy') s ON s.row = n.i % {NSOURCE};"""
    _, seconds, peak = in_shell(sql, folder)
    tell("INSERT ... SELECT into a .npy", nbytes, seconds, peak)
    output, seconds, peak = in_shell("SELECT count, crc32 FROM npy_stats('big.npy');", folder)
    tell("npy_stats of it, crc32 too", nbytes, seconds, peak)
    check(output == [f"{nrows * NCOLUMNS}|{crc_of(source, nrows)}"], f"npy_stats says {output}")
    begun = time.monotonic()
    mapped = np.load(os.path.join(folder, "big.npy"), mmap_mode="r")
    check(mapped.shape == (nrows, NCOLUMNS) and mapped.dtype == np.float64, f"NumPy finds {mapped.shape}")
    for first in range(0, nrows, NSOURCE):
        block = mapped[first : first + NSOURCE]
        check(np.array_equal(block, source[: len(block)]), f"NumPy finds other rows from {first} on")
    tell("numpy.load, mapped, every row compared", nbytes, time.monotonic() - begun)


def write_and_read_npz(folder, source, nrows):
    nbytes = nrows * ROW_NBYTES
    sql = """
        CREATE VIRTUAL TABLE temp.out USING npy('big.npz', mode='w+');
        INSERT INTO out SELECT 'before', npy_array(1.5);
        INSERT INTO out SELECT 'big', array FROM npy_file('big.npy');
        INSERT INTO out SELECT 'after', npy_array(2.5);"""
    _, seconds, peak = in_shell(sql.replace("mode='w+');", "mode='w+');\n        BEGIN;") + "\n        COMMIT;", folder)
    tell("a handle of it into an .npz, in a transaction of three", nbytes, seconds, peak)
    path = os.path.join(folder, "big.npz")
    output, seconds, peak = in_shell("SELECT name, count, crc32 FROM npy_stats('big.npz') WHERE name = 'big';", folder)
    tell("npy_stats of the member", nbytes, seconds, peak)
    check(output == [f"big|{nrows * NCOLUMNS}|{crc_of(source, nrows)}"], f"npy_stats says {output}")
    begun = time.monotonic()
    with zipfile.ZipFile(path) as archive:
        names = [entry.filename for entry in archive.infolist()]
        check(names == ["before.npy", "big.npy", "after.npy"], f"zipfile finds {names}")
        check(archive.getinfo("big.npy").file_size == nbytes + 128 > 2**32, "zipfile finds another size")
        check(archive.testzip() is None, "zipfile finds a wrong CRC")
        tell("zipfile.testzip", nbytes, time.monotonic() - begun)
        with archive.open("big.npy") as member:
            header = np.lib.format.read_magic(member), np.lib.format.read_array_header_1_0(member)
        check(header == ((1, 0), ((nrows, NCOLUMNS), False, np.dtype("f8"))), f"NumPy reads {header}")
    with np.load(path) as archive:
        check(archive["before"].tolist() == [1.5] and archive["after"].tolist() == [2.5], "the small ones differ")
    sql = """
        CREATE VIRTUAL TABLE temp.out USING npy('big.npz', mode='a');
        INSERT INTO out SELECT 'added', npy_array(3.5);"""
    _, seconds, peak = in_shell(sql, folder)
    tell("one more array added to it", nbytes, seconds, peak)
    with np.load(path) as archive:
        check(archive.files == ["before", "big", "after", "added"], f"numpy.load finds {archive.files}")
        check(archive["added"].tolist() == [3.5], "what was added differs")


def main(gigabytes):
    nrows = -(-int(gigabytes * 1e9) // ROW_NBYTES)
    needed = int(3.1 * nrows * ROW_NBYTES)  # adding to an archive copies it
    free = shutil.disk_usage(tempfile.gettempdir()).free
    check(free > needed, f"{tempfile.gettempdir()} has {free / 1e9:.1f} GB free, and this needs {needed / 1e9:.1f} GB")
    check(nrows * ROW_NBYTES > 2**32, "what is not larger than 4 GiB tries nothing")
    source = np.random.default_rng(0).standard_normal((NSOURCE, NCOLUMNS))
    with tempfile.TemporaryDirectory(prefix="npyext-big-") as folder:
        np.save(os.path.join(folder, "source.npy"), source)
        write_and_read_npy(folder, source, nrows)
        write_and_read_npz(folder, source, nrows)
        left = sorted(os.listdir(folder))
        check(left == ["big.npy", "big.npz", "source.npy"], f"there is more in the folder: {left}")
    print("big: all is as it was written")


if __name__ == "__main__":
    try:
        main(float(sys.argv[1]) if len(sys.argv) > 1 else 5)
    except Fault as fault:
        sys.exit(f"big: {fault}")
