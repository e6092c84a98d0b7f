"""Tars of every dialect that programs write, and those that CPython and Go test their own readers with, where a machine
has them."""

import base64
import functools
import os
import shutil
import subprocess
import sysconfig

import numpy as np
import pytest

import tars
from arrays import npy_bytes, npz_bytes
from expected import error_of
from test_tar_members import assert_same_members, listed

# --- what programs write -----------------------------------------------------------------------------------

ARRAY = np.arange(12.0).reshape(3, 4)
LONG = "/".join(["folder-of-a-long-name"] * 5) + "/" + "n" * 60 + ".npy"  # for a prefix
LONGER = "/".join(["folder-of-a-long-name"] * 9) + "/" + "n" * 120 + ".npy"  # for no header


def fill(folder):
    """Files of every type that a program takes from a disk, root or not."""
    files = {
        "000.npy": npy_bytes(ARRAY), "000.cls": b"7", "000.JPG": b"\xff\xd8" + bytes(600), "001.feats.npz": npz_bytes({"w": ARRAY}, "deflate"),
        "empty.txt": b"", "d/e/f.npy": npy_bytes(ARRAY + 1), "\u00e9\u4e2d.npy": npy_bytes(ARRAY + 2), "sp ace.txt": b"x" * 512,
        LONG: npy_bytes(ARRAY + 3), LONGER: npy_bytes(ARRAY + 4), "__meta__.json": b"{}",
    }  # fmt: skip
    for name, contents in files.items():
        os.makedirs(os.path.dirname(folder / name), exist_ok=True)
        (folder / name).write_bytes(contents)
        os.utime(folder / name, ns=(10**18, 1600000000_123456789 if name == "000.cls" else -5_000_000_000 if name == "empty.txt" else 1700000000 * 10**9))
    with open(os.path.join(os.fsencode(folder), b"\xff\xfe.npy"), "wb") as out:
        out.write(npy_bytes(ARRAY + 5))
    os.symlink("000.npy", folder / "soft.npy")
    os.symlink("t" * 150, folder / "soft-long")
    os.link(folder / "000.npy", folder / "z-hard.npy")
    os.mkfifo(folder / "pipe")
    return files


def has_room(label, path, is_folder):
    """Whether the program can say the path in its dialect."""
    dialect = label.split()[-1]
    if label.startswith("bsdtar") and path.startswith(b"\xff"):  # it asks the locale
        return False
    if dialect in ("v7", "v7tar") and (len(path) + is_folder >= 100 or path in (b"pipe", b"soft-long")):
        return False
    if dialect == "ustar" and (len(path) + is_folder >= 100 and (is_folder or tars.ustar_split(path) is None) or path == b"soft-long"):
        return False
    # A time before 1970; busybox would go into folders by itself.
    return (path != b"empty.txt" or dialect in ("oldgnu", "gnu", "posix", "pax")) and not (label == "busybox" and is_folder)


def made_by(label, folder):
    """(files by name, the paths that were given, the tar)."""
    os.mkdir(folder)
    files, root, paths = fill(folder), os.fsencode(folder), []
    for parent, below, names in os.walk(root):
        for name in below + names:
            path = os.path.join(parent, name)
            if has_room(label, os.path.relpath(path, root), os.path.isdir(path)):
                paths.append(os.path.relpath(path, root))
    paths.sort()
    options = [] if label == "busybox" else ["--no-recursion"] if label.startswith("GNU") else ["-n"]
    return files, paths, tars.program_tar(label, folder, paths, *options)


@pytest.mark.parametrize("label", tars.programs())
def test_what_a_program_writes_as_tarfile_reads_it(db, tmp_path, label):
    files, paths, contents = made_by(label, tmp_path / "in")
    path = tmp_path / "x.tar"
    path.write_bytes(contents)
    expected = tars.expected_members(contents, str(path))
    assert {want["name"] for want in expected} == {tars.shown(name) for name in paths} and len(expected) >= 14
    rows = listed(db, str(path), "row")
    assert_same_members(rows, expected, label)
    found = {row["name"]: row for row in rows}
    for name, data in files.items():
        if os.fsencode(name) in paths and found[name]["type"] == "file":  # the second of a hard link is one
            assert found[name]["data"] == data and contents[found[name]["data_offset"] :][: len(data)] == data, name
    assert found["soft.npy"]["type"] == "symlink" and found["soft.npy"]["linkname"] == "000.npy"
    for name, kind in {"pipe": "fifo", "d": "directory", "d/e": "directory", "soft-long": "symlink"}.items():
        assert name not in found or found[name]["type"] == kind
    assert found["z-hard.npy"]["type"] == "hardlink" and found["z-hard.npy"]["linkname"] == "000.npy"
    if label in ("GNU tar posix", "bsdtar pax"):
        assert found["000.cls"]["mtime"] == 1600000000.123456789 and found["empty.txt"]["mtime"] == -5


@pytest.mark.parametrize("label", tars.programs())
def test_arrays_in_what_a_program_writes(db, tmp_path, label):
    _, paths, contents = made_by(label, tmp_path / "in")
    arrays = {"000": 0, "d/e/f": 1, "\u00e9\u4e2d": 2, LONG[:-4]: 3, LONGER[:-4]: 4, "\ufffd\ufffd": 5}
    given = {name: more for name, more in arrays.items() if os.fsencode(f"{name}.npy") in paths or more == 5 and b"\xff\xfe.npy" in paths}
    assert len(given) >= 3
    for source in (contents, tars.gzipped(contents)):
        rows = db.execute("SELECT name, sum(value) FROM (SELECT name FROM npy_meta(:source)) JOIN npy_elements(:source, name) USING (name) GROUP BY 1", {"source": source}).fetchall()
        sums = {"001.feats.npz:w": ARRAY.sum()} | {name: (ARRAY + more).sum() for name, more in given.items()}
        assert dict(rows) == sums, label


def sparse_file(folder):
    with open(folder / "s.npy", "wb") as out:
        for i in range(30):
            out.seek(i * 131072)
            out.write(b"data" * 1024)
        out.truncate(30 * 131072)
    (folder / "after.npy").write_bytes(npy_bytes(ARRAY))


def sparse_dialects():
    if "GNU tar gnu" not in tars.programs():
        return []
    return [("GNU tar gnu", "-S"), ("GNU tar oldgnu", "-S"), *(("GNU tar posix", "-S", f"--sparse-version={version}") for version in ("0.0", "0.1", "1.0"))]


@pytest.mark.parametrize("dialect", sparse_dialects(), ids=" ".join)
def test_sparse_members_of_gnu_tar(db, tmp_path, dialect):
    sparse_file(tmp_path)
    contents = tars.program_tar(dialect[0], tmp_path, ["s.npy", "after.npy"], "--hole-detection=raw", *dialect[1:])
    assert len(contents) < 1_000_000
    expected = tars.expected_members(contents)
    assert [(want["name"], want["type"], want["size"]) for want in expected][0] == ("s.npy", "sparse", 30 * 131072)
    rows = listed(db, contents, columns="name, type, size, mode, uid, mtime, header_offset, error")
    keys = list(rows[0])[:-1]
    assert [[row[key] for key in keys] for row in rows] == [[want[key] for key in keys] for want in expected]
    assert rows[0]["error"] is None
    assert "sparse" in error_of(db, "SELECT data FROM tar_members(?) WHERE name = 's.npy'", contents)
    assert db.execute("SELECT count(*) FROM npy_rows(?, 'after')", (contents,)).fetchone() == (3,)


@pytest.mark.parametrize("label", [label for label in tars.programs() if label.startswith("GNU")])
def test_owners_and_times_beyond_octal_of_gnu_tar(db, tmp_path, label):
    (tmp_path / "a.npy").write_bytes(npy_bytes(ARRAY))
    dialect = label.split()[-1]
    big = dialect in ("oldgnu", "gnu", "posix")
    options = ["--owner=name:3000000", "--group=:2000000"] if big else ["--owner=name:1000", "--group=:2000"]
    options.append("--mtime=@" + ("99999999999" if big else "5"))
    contents = tars.program_tar(label, tmp_path, ["a.npy"], *options)
    [row] = listed(db, contents)
    assert (row["uid"], row["gid"], row["mtime"]) == ((3000000, 2000000, 99999999999) if big else (1000, 2000, 5))
    assert_same_members([row], tars.expected_members(contents))


@pytest.mark.parametrize("label", [label for label in tars.programs() if label.startswith("GNU") and not label.endswith("v7")])
def test_archives_that_gnu_tar_added_to(db, tmp_path, label):
    """tar -r writes over the end; tar -A puts one after another; duplicates are what updates leave."""
    for i in range(3):
        (tmp_path / f"{i}.npy").write_bytes(npy_bytes(ARRAY + i))
    format = tars.programs()[label][1]
    tar = lambda *arguments: subprocess.run(["tar", format, *arguments], cwd=tmp_path, check=True)
    tar("-cf", "x.tar", "0.npy", "1.npy")
    (tmp_path / "0.npy").write_bytes(npy_bytes(ARRAY + 9))
    tar("-rf", "x.tar", "2.npy", "0.npy")
    (tmp_path / "y.tar").write_bytes(tars.program_tar(label, tmp_path, ["1.npy"]))
    tar("-Af", "x.tar", "y.tar")
    contents = (tmp_path / "x.tar").read_bytes()
    rows = listed(db, contents, "row")
    assert [row["name"] for row in rows] == ["0.npy", "1.npy", "2.npy", "0.npy", "1.npy"]
    assert_same_members(rows, tars.expected_members(contents))
    assert db.execute("SELECT min(value) FROM npy_elements(?, '0')", (contents,)).fetchone() == (9.0,)


@pytest.mark.parametrize("label", [label for label in tars.programs() if label.startswith("GNU tar gnu")])
def test_volumes_labels_and_increments_of_gnu_tar(db, tmp_path, label):
    """Members of types that are GNU's own are others, and what follows them is found."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.npy").write_bytes(npy_bytes(ARRAY))
    contents = tars.program_tar(label, tmp_path, ["d/a.npy"], "--label=the label")
    rows = listed(db, contents)
    assert [(row["name"], row["type"]) for row in rows] == [("the label", "other"), ("d/a.npy", "file")]
    contents = tars.program_tar(label, tmp_path, ["d"], "--listed-incremental=snapshot")
    rows = listed(db, contents)
    assert [row["type"] for row in rows] == ["other", "file"] and rows[1]["data"] == npy_bytes(ARRAY)
    # GNU keeps times of access where ustar has its prefix; tarfile takes them for a folder.
    assert rows[1]["name"] == "d/a.npy" and rows[0]["name"].rstrip("/") == "d"


# --- CPython's and Go's own ----------------------------------------------------------------------------------


@functools.lru_cache(maxsize=None)
def cpython_tars():
    """{name: path} in the test folders of this Python and of the first one in PATH."""
    folders = [sysconfig.get_path("stdlib")]
    if shutil.which("python3"):
        tell = ["python3", "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"]
        folders.append(subprocess.run(tell, stdout=subprocess.PIPE, text=True).stdout.strip())
    found = {}
    for folder in folders:
        for below in ("test", os.path.join("test", "archivetestdata")):
            for name in ("testtar.tar", "recursion.tar"):
                path = os.path.join(folder, below, name)
                if os.path.exists(path):
                    found.setdefault(name, path)
    return found


@functools.lru_cache(maxsize=None)
def go_tars():
    """{name: path} of archive/tar/testdata beside the go in PATH. Newer releases encode some of them: `.base64` is left out."""
    go = shutil.which("go")
    if go is None:
        return {}
    folder = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(go))), "src", "archive", "tar", "testdata")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return {name.removesuffix(".base64"): os.path.join(folder, name) for name in sorted(names) if name.endswith((".tar", ".tar.base64"))}


def contents_of(path):
    with open(path, "rb") as file:
        contents = file.read()
    return base64.b64decode(contents) if path.endswith(".base64") else contents


def facts_without_data(db, contents):
    """Rows and what tarfile says of them, where reading sparse members would be a fault."""
    expected = tars.expected_members(contents)
    rows = listed(db, contents, "row")
    for row, want in zip(rows, expected):
        if want["type"] == "sparse":
            row["error"] = row["error_kind"] = None
        if want["type"] != "file":
            row["data"] = None
    return rows, expected


@pytest.mark.parametrize("name", [name for name in cpython_tars() if name == "testtar.tar"])
def test_the_tar_of_cpython(db, name):
    contents = contents_of(cpython_tars()[name])
    rows, expected = facts_without_data(db, contents)
    assert len(rows) >= 39 and {row["type"] for row in rows} >= {"file", "directory", "symlink", "hardlink", "char", "block", "fifo", "sparse"}
    assert_same_members(rows, expected)
    assert [row["name"] for row in listed(db, tars.gzipped(contents), columns="name")] == [want["name"] for want in expected]


@pytest.mark.parametrize("name", [name for name in cpython_tars() if name == "recursion.tar"])
def test_the_tar_of_cpython_in_which_a_record_has_no_length(db, name):
    """CVE-2019-20907: a pax record of length 0, which readers looked at forever."""
    error_of(db, "SELECT name FROM tar_members(?)", contents_of(cpython_tars()[name]))


# Those that tarfile and Go's own reader refuse.
GO_FAULTS = {
    "issue10968.tar", "issue11169.tar", "issue12435.tar", "neg-size.tar", "pax-bad-hdr-file.tar", "pax-path-hdr.tar", "writer-big.tar",
    "writer-big-long.tar",
}  # fmt: skip
# Of these tarfile and other readers do not say the same: of two records of one kind which counts, what a NUL in a pax
# record is, a time that is no number, and the size of a sparse member whose records give two. (Names of several are
# those that either finds.)
GO_DIFFER = {
    "gnu-multi-hdrs.tar": ["GNU1/GNU1/long-path-name", "GNU2/GNU2/long-path-name"],
    "pax-multi-hdrs.tar": ["PAX1/PAX1/long-path-name", "PAX2/PAX2/long-path-name", "bar"],
    "pax-nul-path.tar": None,
    "pax-nul-xattrs.tar": None,
    "pax-bad-mtime-file.tar": None,
    "pax-nil-sparse-data.tar": ["sparse.db"],
    "pax-nil-sparse-hole.tar": ["sparse.db"],
    "pax-sparse-big.tar": ["pax-sparse"],
    "gnu-incremental.tar": ["test2", "test2/"],
    "invalid-go17.tar": ["a" * 97 + "/foo", "foo"],  # a prefix in a header of GNU's
}


@pytest.mark.parametrize("name", [name for name in go_tars() if name not in GO_FAULTS and name not in GO_DIFFER])
def test_the_tars_of_go(db, name):
    rows, expected = facts_without_data(db, contents_of(go_tars()[name]))
    assert_same_members(rows, expected)


@pytest.mark.parametrize("name", [name for name in go_tars() if name in GO_FAULTS])
def test_the_tars_that_go_refuses(db, name):
    error_of(db, "SELECT name FROM tar_members(?)", contents_of(go_tars()[name]))


@pytest.mark.parametrize("name", [name for name in go_tars() if name in GO_DIFFER])
def test_the_tars_of_go_that_readers_differ_about(db, name):
    rows = listed(db, contents_of(go_tars()[name]), "row", "idx, name, type, error")
    if GO_DIFFER[name]:
        assert rows[0]["name"] in GO_DIFFER[name] and rows[0]["error"] is None
    else:
        assert len(rows) == 1
    if name == "gnu-incremental.tar":
        assert [row["type"] for row in rows] == ["other", "file", "sparse"] and rows[1]["name"] == "test2/foo"
