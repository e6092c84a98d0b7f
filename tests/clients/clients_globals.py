"""npy_globals finds every global that picklescan (PyPI) finds, in pickles of every module that picklescan knows, and in those that
fickling (PyPI) puts calls into; what picklescan calls dangerous is not known (`make check-clients`)."""

import packages
import shell

SCRIPT = r'''
import io, os, pickle, sqlite3, sys, warnings, zipfile
import numpy as np
from fickling.fickle import Pickled
from picklescan import scanner

db = sqlite3.connect(":memory:")
db.enable_load_extension(True)
db.load_extension(sys.argv[1])
folder = sys.argv[2]
warnings.simplefilter("ignore")

def named(module, name):
    """Pickles that name a global in each way, some of them cut off or followed by others."""
    m, n = module.encode(), name.encode()
    short = lambda text: b"\x8c" + bytes([len(text)]) + text
    reduced = b"(X\x02\x00\x00\x00lstR."
    yield b"c" + m + b"\n" + n + b"\n" + reduced
    yield b"\x80\x02c" + m + b"\n" + n + b"\nq\x00" + reduced
    yield b"(X\x02\x00\x00\x00lsi" + m + b"\n" + n + b"\n."
    yield b"\x80\x04" + short(m) + short(n) + b"\x93" + reduced
    yield b"\x80\x04" + short(n) + b"\x94" + short(m) + b"\x940h\x01h\x00\x93" + reduced
    yield b"\x80\x04" + short(n) + b"\x94" + short(m) + b"\x940h\x01\x94h\x00\x94\x93\x94" + reduced
    yield b"\x80\x04" + short(m) + short(n) + b"\x93" + reduced[:-1]
    yield b"\x80\x02c" + m + b"\n" + n + b"\n" + reduced[:-1] + b"\xff"
    yield pickle.dumps([1, {"a": 2.5}], 4) + b"\x80\x04" + short(m) + short(n) + b"\x93" + reduced
    yield pickle.dumps(["x" * 300], 2) + b"c" + m + b"\n" + n + b"\n" + reduced

def injected():
    for protocol in range(2, 5): # fickling reads no BYTEARRAY8
        for value in ({"a": [1, 2.5, None]}, [{1, 2}, b"bytes", "text"], (np.arange(3), np.float32(1))):
            for first in (False, True):
                made = Pickled.load(pickle.dumps(value, protocol))
                made.insert_python_eval("print(1)", run_first=first)
                yield made.dumps()
                made = Pickled.load(pickle.dumps(value, protocol))
                made.insert_python_exec("print(2)", run_first=first)
                yield made.dumps()

known = {**scanner._safe_globals, **scanner._unsafe_globals}
globals_of = lambda names: ["x"] if names == "*" else [names] if isinstance(names, str) else sorted(names)
pickles = [made for module, names in sorted(known.items()) for name in globals_of(names) for made in named(module, name)]
pickles += list(injected())

def files(number, contents):
    yield f"{number}.pkl", contents
    if number % 7 == 0:
        header = np.lib.format
        out = io.BytesIO()
        header.write_array_header_1_0(out, {"descr": "|O", "fortran_order": False, "shape": (1,)})
        yield f"{number}.npy", out.getvalue() + contents
        for suffix, inside in (("pt", "archive/data.pkl"), ("zip", "odd"), ("npz", "a.npy")):
            zipped = io.BytesIO()
            with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED if number % 2 else zipfile.ZIP_STORED) as archive:
                archive.writestr(inside, contents if suffix != "npz" else out.getvalue() + contents)
            yield f"{number}.{suffix}", zipped.getvalue()
            if number % 2 == 0 and suffix == "zip":  # with a wrong CRC-32
                yield f"{number}.damaged.zip", zipped.getvalue().replace(contents, contents[:-1] + b"!")
        heads = [pickle.dumps(part, 2) for part in (0x1950A86A20F9469CFC6C, 1001, {})]
        yield f"{number}.old.pt", b"".join(heads) + contents + pickle.dumps([], 2)

ntheirs = nfiles = 0
for number, contents in enumerate(pickles):
    for name, whole in files(number, contents):
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(whole)
        found = {(one.module, one.name): one.safety for one in scanner.scan_file_path(path).globals}
        rows = db.execute("SELECT module, qualname, known FROM npy_globals(?, 'row')", (path,)).fetchall()
        missing = found.keys() - {(module, name) for module, name, _ in rows}
        assert not missing, (path, missing, rows)
        dangerous = {pair for pair, safety in found.items() if safety == scanner.SafetyLevel.Dangerous}
        assert not dangerous & {(module, name) for module, name, is_known in rows if is_known}, (path, dangerous)
        os.unlink(path)
        ntheirs += len(found)
        nfiles += 1
print(nfiles, ntheirs)
'''


def test_what_picklescan_finds(tmp_path):
    python = packages.python_with("globals", "picklescan", "fickling", "numpy", "typing_extensions")
    nfiles, nfound = packages.run(python, "-B", "-c", SCRIPT, shell.EXTENSION, str(tmp_path)).split()[-2:]
    assert int(nfiles) > 1000 and int(nfound) > 1000
