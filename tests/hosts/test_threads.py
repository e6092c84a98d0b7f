"""Many threads, and what ends while something is open: the programs beside this file, which use SQLite as a host does.

`make check-threads` runs them under ThreadSanitizer, `make check-sanitized` under AddressSanitizer.
"""

import os
import re
import subprocess

import numpy as np
import pytest

import shell
from arrays import npy_bytes, npz_bytes, ten_bytes, write_sparse_npy
from formats import endless_npz


def scenarios(program):
    """What the program's main lists."""
    with open(os.path.join(shell.TESTS, "hosts", program + ".c")) as source:
        return re.findall(r'\{"(\w+)", \w+\}', source.read())


def put_files(folder):
    rng = np.random.default_rng(6)
    arrays = {
        "big": rng.random(800_000),  # beyond what one thread reads alone
        "small": np.arange(100),
        "counted": np.arange(1000),
        "fortran": np.asfortranarray(rng.random((60_000, 3)).astype("f4")),
        "long": rng.random(8_000_000),
    }
    for name, array in arrays.items():
        (folder / f"{name}.npy").write_bytes(npy_bytes(array))
    members = {"x": rng.integers(0, 1000, 100_000), "y": rng.random((1000, 7)), "s": np.array(["a", "žluť"])}
    for variant, name in (("stored", "stored"), ("deflate", "deflated")):
        (folder / f"{name}.npz").write_bytes(npz_bytes(members, variant))
    (folder / "counted.npz").write_bytes(npz_bytes({"x": arrays["counted"]}, "deflate"))
    (folder / "numbers.ten").write_bytes(ten_bytes([np.arange(500.0).reshape(50, 10), np.arange(9, dtype="u1")]))
    (folder / "counted.ten").write_bytes(ten_bytes([arrays["counted"]], infos=["x"]))
    (folder / "words").write_bytes(b"no array")
    (folder / "parts").mkdir()
    for i in range(34):  # two more than npy_concat has open at once; some are not stored as the result is
        part = rng.random(131_072 + 99 * i)
        (folder / f"parts/{i:02}.npy").write_bytes(npy_bytes(part.astype(">f8") if i % 20 == 13 else part))
    members = {f"m{i}": rng.integers(0, 100, 5000 + 999 * i) for i in range(25)}
    (folder / "members.npz").write_bytes(npz_bytes(members, "deflate"))
    (folder / "again.npz").write_bytes(npz_bytes({"x": rng.integers(0, 100, 800_000)}, "deflate"))
    (folder / "many").mkdir()
    for i in range(60):
        (folder / f"many/{i}.npy").write_bytes(npy_bytes(np.arange(i)) if i % 9 else b"no array")
    folder = folder / "endless"
    folder.mkdir()
    (folder / "x.npz").write_bytes(endless_npz())
    write_sparse_npy(folder / "x.npy", (20_000_000_000,))
    write_sparse_npy(folder / "fortran.npy", (2_000_000, 10_000), fortran_order=True)
    for i in range(200):
        (folder / f"tree/{i}/a/b").mkdir(parents=True)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("threads")
    put_files(folder)
    return folder


def drive(program, scenario, folder, **environment):
    done = subprocess.run(
        [os.path.join(shell.BUILD, "host", program), shell.EXTENSION, scenario],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env={**shell.environment(folder), **environment},
        timeout=shell.PATIENCE,
    )
    output = done.stdout.decode("utf-8", "backslashreplace")
    assert done.returncode == 0 and output.endswith(f"ok {scenario}\n"), f"ended with {done.returncode}\n{output[-8000:]}"
    assert "ThreadSanitizer" not in output, output[-8000:]


@pytest.mark.parametrize("scenario", scenarios("lifetimes"))
def test_lifetimes(files, scenario):
    drive("lifetimes", scenario, files)


@pytest.mark.parametrize("mapped", ["", "1"], ids=["read", "mapped"])
@pytest.mark.parametrize("scenario", scenarios("threads"))
def test_threads(files, scenario, mapped):
    drive("threads", scenario, files, NPYEXT_MMAP=mapped, NPYEXT_THREADS="4")


@pytest.mark.parametrize("mapped", ["", "1"], ids=["read", "mapped"])
def test_parts_that_are_read_when_their_places_are_wanted(files, mapped):
    """So many threads are as far ahead as the parts that the pass before left open."""
    drive("threads", "concatenations", files, NPYEXT_MMAP=mapped, NPYEXT_THREADS="16")
