"""What an installed package answers: `python installed.py`, on any system, with the package and apsw installed.

It uses nothing of the repository, so that it shows what was installed.
"""

import os
import struct
import sys
import tempfile

import npyext

HEADER = b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }".ljust(117) + b"\n"


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("ä b.npy", "wb") as file:
            file.write(HEADER + struct.pack("<4d", 1.5, 2, 3, 4))
        db = npyext.connect()
        assert list(db.execute("SELECT path, dtype, shape FROM npy_meta('*.npy')")) == [("ä b.npy", "float64", "[2,2]")]
        assert list(db.execute("SELECT row, value FROM npy_rows('ä b.npy')")) == [(0, "[1.5,2.0]"), (1, "[3.0,4.0]")]
        assert list(db.execute("SELECT mean FROM npy_stats('ä b.npy')")) == [(2.625,)]
        list(db.execute("SELECT w.bytes FROM npy_file('ä b.npy') AS f JOIN npy_write('copy.npy', f.array) AS w"))
        with open("copy.npy", "rb") as file:
            assert file.read() == HEADER + struct.pack("<4d", 1.5, 2, 3, 4)
        db.close()
        os.chdir(os.path.dirname(folder))  # Windows removes no folder that a process is in
    print("npyext", npyext.__version__, "on", sys.platform)


if __name__ == "__main__":
    main()
