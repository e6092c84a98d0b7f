"""The directory of a zip, read as Python's zipfile reads it: random archives, and the same with damaged directories.

What zipfile lists is listed alike, entry by entry; an entry that zipfile does not open is a fault of that entry. Where
the two differ on purpose (docs/formats.md, .npz), STRICTER and LENIENT name the reason.
"""

import io
import re
import struct
import sys
import tarfile
import warnings
import zipfile

import numpy as np
import pytest

from arrays import NPZ_VARIANTS, npy_bytes, npz_bytes, seeded_generator, zip_bytes
from expected import counters, error_of, named_rows, since

# --- random archives ---------------------------------------------------------------------------------------

NAMES = ["a.npy", "b", "d/", "d/e.npy", "\u00e9.npy", "\u4e2d/\u6587.npy", "x" * 300 + ".npy", "nul\0l.npy", ".npy", "A.NPY"]


def random_entries(rng):
    names = [str(rng.choice(NAMES)) if rng.random() < 0.6 else f"{rng.integers(1000)}.npy" for _ in range(rng.integers(8))]
    for name in names:
        size = int(rng.integers(40)) if rng.random() < 0.9 else 3000
        yield name, b"" if name.endswith("/") else npy_bytes(np.arange(size) * 7) if rng.random() < 0.8 else b"no array"


def write_zip(rng, out):
    comment = bytes(rng.integers(0, 256, int(rng.choice([0, 0, 3, 22, 70, 65535])), "u1"))
    with zipfile.ZipFile(out, "a" if out.getvalue() else "w") as archive:
        for name, contents in random_entries(rng):
            method = int(rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
            info = zipfile.ZipInfo("n" * len(name) if "\0" in name else name, (2001, 2, 3, 4, 5, 6))
            info.filename = name
            info.compress_type = method
            info.comment = bytes(rng.integers(0, 256, int(rng.choice([0, 9])), "u1"))
            with archive.open(info, "w", force_zip64=zipfile.ZIP64_LIMIT < 2**31 - 1 or bool(rng.random() < 0.3)) as member:
                member.write(contents)
        archive.comment = b"" if b"PK\5\6" in comment else comment


def random_zip(rng, monkeypatch):
    """(The archive, what stands before it.) The limits decide what is written with zip64's records."""
    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # duplicate names are wanted
        patch.setattr(zipfile, "ZIP64_LIMIT", int(rng.choice([20, 1000, 2**31 - 1])))
        patch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", int(rng.choice([-1, 2, 65535])))
        prefix = [b"", b"", b"#!/bin/sh\nexit 0\n", b"MZ" + bytes(range(256)), b"\x7fELF" + bytes(70)][rng.integers(5)]
        is_shifted = rng.random() < 0.5
        out = io.BytesIO()
        if prefix and not is_shifted:  # offsets from the start of the file
            out.write(prefix)
        write_zip(rng, out)
    return (prefix if is_shifted else b"") + out.getvalue(), prefix


# --- what zipfile says -------------------------------------------------------------------------------------

REFUSED = (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError, ValueError, OSError, OverflowError, struct.error)


def facts_of(info):
    method = {0: "stored", 8: "deflate"}.get(info.compress_type)
    return info.filename, info.compress_size, info.file_size, info.CRC, method


def opened_by_zipfile(archive, info):
    """The entry's bytes; None when zipfile refuses it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # newer ones warn of two at one place, and read the one that is there
            return archive.read(info)
    except Exception:  # zlib.error, EOFError, RuntimeError of encrypted ones ...
        return None


# Why an archive that zipfile lists is refused here, or cut short.
STRICTER = [
    r"several zips one after the other, or a damaged one",  # zipfile takes what is before the zip for a prefix
    r"places it where it cannot be",  # its offset is after the directory: zipfile takes less than nothing for a prefix
    r"zip64 (locator|end record)",  # as zipfile from 3.13.10 and 3.14.1 on (CVE-2025-8291)
    r"the zip is truncated",  # in the middle of the comment
    r"a record ends early",  # zipfile takes what there is
    r"is one of several parts of a split zip",
    r"not a \.npy, \.npz, \.ten, \.tar, \.safetensors, \.pt, \.pkl or \.gguf file",  # something stands before it and the offsets do not agree with where it begins
]
# And an entry that zipfile reads.
STRICTER_OF_ENTRIES = [
    r"the deflated data end early|inflates to more than|cannot inflate to",  # zipfile looks no further than to its size
    r"gives it two sizes",  # one of them is 0: zipfile reads nothing
    r"data is truncated",  # its size reaches beyond the directory
    r"the directory gives it the CRC-32",  # it is empty, and zipfile checks nothing
    r"the magic bytes are missing",  # so npy_rows does not say why
    r"its data overlap those of another entry",  # of two with the same local header Python 3.13 only warns
]
# Why an archive that zipfile refuses as a whole has entries here: the fault is of one entry or of no matter.
LENIENT = [
    r"Corrupt extra field", r"Corrupt zip64 extra field", r"Corrupt unicode path extra field", r"zip file version",
    r"codec can't decode", r"Bad magic number for central directory", r"Truncated central directory",
]


def compare(db, contents):
    """Compares what both say of an archive; returns how it ended, for the count of what was tried."""
    rows, refusal = [], ""
    try:
        rows = named_rows(db, "SELECT *, crc_ok FROM npz_members(?, 'row')", contents)
    except Exception as error:
        refusal = str(error)
    if rows and rows[-1]["idx"] is None:
        refusal = rows.pop()["error"]
    try:
        archive = zipfile.ZipFile(io.BytesIO(contents))
    except REFUSED as error:
        assert refusal or any(re.search(reason, str(error)) for reason in LENIENT), (error, rows)
        return "refused"
    infos = archive.infolist()
    if refusal:
        assert any(re.search(reason, refusal) for reason in STRICTER), (refusal, infos)
        infos = infos[: len(rows)]
    assert len(rows) == len(infos), (rows, infos)
    for row, info in zip(rows, infos):
        got = row["filename"], row["compressed_size"], row["uncompressed_size"], row["crc32"], row["method"]
        want = facts_of(info)
        if want[4] is None:
            got, want = got[:4], want[:4]
        if max(want[1:3]) < 2**63 and info.header_offset < 2**62:
            assert got == want, (got, want)
        plain = opened_by_zipfile(archive, info)
        is_read = row["crc_ok"] == 1
        if plain is None or info.compress_type not in (0, 8) or len(plain) != info.file_size:
            # Of nothing there is nothing to be inflated; and what overlaps may be after where the list was cut short.
            assert not is_read or info.file_size == 0 or refusal, (row, info)
        else:
            if not is_read and row["size"] == 0:
                continue  # of no items nothing is read, and crc_ok alone tells of the stream
            if not is_read:
                said = row["error"] or error_of(db, "SELECT sum(length(data)) FROM npy_rows(?, ?)", contents, row["idx"])
                assert any(re.search(reason, said) for reason in STRICTER_OF_ENTRIES), (said, info)
                continue
            start = info.header_offset + 30 + sum(struct.unpack_from("<HH", contents, info.header_offset + 26))
            assert row["data_offset"] == start
            assert row["is_array"] == plain.startswith(b"\x93NUMPY")
    return "cut short" if refusal else "listed"


def directory_start(contents):
    return zipfile.ZipFile(io.BytesIO(contents)).start_dir


@pytest.mark.parametrize("seed", range(3))
def test_random_archives_as_zipfile_lists_them(connect, monkeypatch, seed):
    db, rng = connect(), seeded_generator(seed)
    for _ in range(150):
        contents, prefix = random_zip(rng, monkeypatch)
        assert compare(db, contents) == "listed", prefix


def damaged(rng, contents):
    """The archive with a few bytes of its directory and end records changed; or of its local headers."""
    out = bytearray(contents)
    start = directory_start(contents) if rng.random() < 0.8 else 0
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(start, len(out)))
        if rng.random() < 0.5 and start:  # the end records are few bytes among many
            at = int(rng.integers(max(start, len(out) - 98), len(out)))
        value = int(rng.choice([0, 1, 255, 0x7F, int(rng.integers(256)), (out[at] + 1) % 256, (out[at] - 1) % 256]))
        out[at] = value
    if rng.random() < 0.1:
        out = out[: int(rng.integers(1, len(out)))]
    if rng.random() < 0.1:
        out += bytes(rng.integers(0, 256, int(rng.integers(1, 40)), "u1"))
    return bytes(out)


@pytest.mark.parametrize("seed", range(4))
def test_damaged_archives_as_zipfile_takes_them(connect, monkeypatch, seed):
    db, rng = connect(), seeded_generator(seed)
    seen = {"listed": 0, "cut short": 0, "refused": 0}
    for _ in range(40):
        contents, _ = random_zip(rng, monkeypatch)
        for _ in range(20):
            seen[compare(db, damaged(rng, contents))] += 1
    assert min(seen.values()) > 0, seen


# --- what is an .npz ---------------------------------------------------------------------------------------


def samples(n):
    return [(f"{i:06}.npz", npz_bytes({"x": np.arange(i), "y": np.arange(3)})) for i in range(n)]


def tar_of(members, format=tarfile.USTAR_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format) as tar:
        for name, contents in members:
            info = tarfile.TarInfo(name)
            info.size = len(contents)
            tar.addfile(info, io.BytesIO(contents))
    return out.getvalue()


def v7(tar):
    """The tar without the magic that old ones lack."""
    out = bytearray(tar)
    out[257:265] = bytes(8)
    out[148:156] = b" " * 8
    out[148:156] = b"%06o\0 " % sum(out[:512])
    return bytes(out)


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_a_tar_of_samples_is_no_npz_of_the_last(connect, tmp_path, format):
    db, path = connect(), tmp_path / "shard.tar"
    whole = tar_of(samples(200), format)
    # Cut after the last sample, it ends as a zip does.
    cut = whole[: whole.rindex(b"PK\5\6") + 22]
    for contents in (whole, cut, v7(whole)):
        path.write_bytes(contents)
        error = error_of(db, "SELECT * FROM npz_members(?)", str(path))
        assert error == f"npyext: {path}: is a .tar file, not an .npz; tar_members lists it"
        assert db.execute("SELECT DISTINCT format FROM npy_meta(?)", (str(path),)).fetchall() == [("tar",)]


def test_a_database_with_a_zip_in_its_last_page_is_no_npz(connect, tmp_path):
    db, path = connect(), tmp_path / "results.db"
    db.execute("ATTACH ? AS other", (str(path),))
    db.executescript("PRAGMA other.journal_mode = DELETE; CREATE TABLE other.t(b)")
    db.execute("INSERT INTO other.t VALUES (?)", (npz_bytes({"a": np.arange(5), "b": np.arange(6)}),))
    db.commit()
    db.execute("DETACH other")
    contents = path.read_bytes()
    # SQLite puts the first row of a page at its end.
    assert contents.endswith(bytes(2)) and contents[-22:-18] == b"PK\5\6" and zipfile.is_zipfile(path)
    assert "is an SQLite database, not a .npy, .npz, .ten, .tar, .safetensors, .pt, .pkl or .gguf file" in error_of(db, "SELECT * FROM npz_members(?)", str(path))


def test_a_module_of_python_with_a_zip_in_it_is_no_npz(connect, tmp_path):
    import py_compile

    db, source, path = connect(), tmp_path / "m.py", tmp_path / "m.pyc"
    for contents in (b"PK\5\6" + bytes(18), npz_bytes({"a": np.arange(5)})):
        source.write_text(f"x = {contents!r}\n")
        py_compile.compile(str(source), str(path))
        path.write_bytes(path.read_bytes().partition(b"PK\5\6")[0] + b"PK\5\6" + contents[-18:])
        error = error_of(db, "SELECT * FROM npz_members(?)", str(path))
        assert "is a compiled Python file (.pyc), not a .npy, .npz, .ten, .tar, .safetensors, .pt, .pkl or .gguf file" in error


def test_bytes_like_an_empty_zip_near_the_end_of_other_data_are_none(connect):
    db = connect()
    for after in (b"\1", bytes(1000)):
        contents = b"\x80\1\2\3" * 100 + b"PK\5\6" + bytes(18) + after
        assert "none begins with the bytes 80 01 02 03" in error_of(db, "SELECT * FROM npz_members(?)", contents)


def test_a_local_header_that_names_another_entry(connect):
    """zipfile: File name in directory and header differ."""
    db = connect()
    for variant in NPZ_VARIANTS:
        contents = bytearray(npz_bytes({"one": np.arange(3), "two": np.arange(4)}, variant))
        at = contents.index(b"one.npy")
        contents[at : at + 3] = b"two"
        with pytest.raises(zipfile.BadZipFile, match="differ"):
            zipfile.ZipFile(io.BytesIO(contents)).read("one.npy")
        rows = named_rows(db, "SELECT name, dtype, error FROM npz_members(?, 'row')", bytes(contents))
        assert [row["name"] for row in rows] == ["one", "two"] and rows[1]["error"] is None
        assert rows[0]["dtype"] is None and "names another entry than the directory does" in rows[0]["error"]
        assert "names another entry" in error_of(db, "SELECT value FROM npy_rows(?, 'one')", bytes(contents))
        assert len(db.execute("SELECT value FROM npy_rows(?, 'two')", (bytes(contents),)).fetchall()) == 4


def test_an_entry_whose_data_overlap_those_of_another(connect):
    """zipfile: Overlapped entries (possible zip bomb)."""
    db = connect()
    contents = bytearray(npz_bytes({"one": np.arange(3), "two": np.arange(4)}))
    archive = zipfile.ZipFile(io.BytesIO(contents))
    nbytes = archive.start_dir - archive.getinfo("one.npy").header_offset - 37
    struct.pack_into("<II", contents, archive.start_dir + 20, nbytes, nbytes)
    with pytest.raises(zipfile.BadZipFile, match="Overlapped entries"):
        zipfile.ZipFile(io.BytesIO(contents)).read("one.npy")
    rows = named_rows(db, "SELECT name, error FROM npz_members(?, 'row')", bytes(contents))
    assert "its data overlap those of another entry" in rows[0]["error"] and rows[1]["error"] is None
    assert "overlap" in error_of(db, "SELECT value FROM npy_rows(?, 'one')", bytes(contents))
    assert len(db.execute("SELECT value FROM npy_rows(?, 'two')", (bytes(contents),)).fetchall()) == 4


def zip64_of(entries, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", -1)
        contents = zip_bytes(entries)
    assert b"PK\6\6" in contents and b"PK\6\7" in contents
    return contents


@pytest.mark.parametrize("prefix", [b"", b"#!/bin/sh\n", bytes(range(100)), b"\x7fELF" + bytes(5000)])
def test_zip64_end_records_after_a_prefix_or_without_entries(connect, monkeypatch, prefix):
    db = connect()
    for entries in ([], [("a.npy", npy_bytes(np.arange(3))), ("b.npy", npy_bytes(np.arange(2)))]):
        contents = prefix + zip64_of(entries, monkeypatch)
        assert zipfile.ZipFile(io.BytesIO(contents)).namelist() == [name for name, _ in entries]
        rows = db.execute("SELECT filename, error, crc_ok FROM npz_members(?)", (contents,)).fetchall()
        assert rows == [(name, None, 1) for name, _ in entries]


def test_a_prefix_counts_in_all_offsets_or_in_none(connect):
    db, inner = connect(), npz_bytes({"a": np.arange(3)})
    unpacker = b"#!/bin/sh\nexec unzip $0\n"
    absolute = io.BytesIO(unpacker)
    with zipfile.ZipFile(absolute, "a") as archive:
        archive.writestr("a.npy", npy_bytes(np.arange(3)))
    for contents in (unpacker + inner, absolute.getvalue()):
        assert db.execute("SELECT value FROM npy_rows(?)", (contents,)).fetchall() == [(0,), (1,), (2,)]
    # Neither: the first entry is cut off, and the others do not begin where the zip would.
    two = npz_bytes({"a": np.arange(3), "b": np.arange(4)})
    cut = unpacker + two[two.index(b"PK\3\4", 4) :]
    assert "is a script, not a .npy, .npz, .ten, .tar, .safetensors, .pt, .pkl or .gguf file" in error_of(db, "SELECT * FROM npz_members(?)", cut)


def test_several_zips_one_after_the_other_lose_none_in_silence(connect):
    """zipfile and NumPy list the last one's entries."""
    db = connect()
    both = npz_bytes({"a": np.arange(3)}) + npz_bytes({"b": np.arange(4)})
    assert zipfile.ZipFile(io.BytesIO(both)).namelist() == ["b.npy"]
    assert "several zips one after the other" in error_of(db, "SELECT * FROM npz_members(?)", both)


def test_nothing_before_or_after_a_zip_is_dropped_by_adding_to_it(connect, tmp_path):
    db, inner, path = connect(), npz_bytes({"a": np.arange(3)}), tmp_path / "x.npz"
    for contents, word in ((inner + b"tail", "4 bytes after the zip would be lost"), (b"#!/bin/sh\n" + inner, "is a script, which is not replaced")):
        path.write_bytes(contents)
        assert db.execute("SELECT name FROM npz_members(?)", (str(path),)).fetchall() == [("a",)]
        db.execute(f"CREATE VIRTUAL TABLE temp.o USING npy('{path}', mode='a')")
        error = error_of(db, "INSERT INTO o(name, array) VALUES ('b', ?)", npy_bytes(np.arange(2)))
        db.execute("DROP TABLE o")
        assert word in error and path.read_bytes() == contents


# --- what is read of it ------------------------------------------------------------------------------------


def test_the_directory_is_read_in_whole_blocks(connect, tmp_path):
    """Not two reads for each record of a zip."""
    db, path = connect(), tmp_path / "many.npz"
    path.write_bytes(npz_bytes({f"array{i}": np.arange(2) for i in range(3000)}))
    start = directory_start(path.read_bytes())
    directory_nbytes = path.stat().st_size - start
    before = counters(db)
    assert db.execute("SELECT count(*), count(crc32) FROM npz_members(?)", (str(path),)).fetchone() == (3000, 3000)
    read = since(db, before)
    assert read["read_calls"] <= 4 + directory_nbytes // 65000 and read["bytes_read"] <= directory_nbytes + 65536
    before = counters(db)
    assert db.execute("SELECT count(shape) FROM npz_members(?)", (str(path),)).fetchone() == (3000,)
    assert since(db, before)["read_calls"] <= 3000, "a header lies after its local header"


def test_a_small_archive_is_one_read_and_the_look_at_its_beginning(connect, tmp_path):
    db, path = connect(), tmp_path / "small.npz"
    path.write_bytes(npz_bytes({"a": np.arange(20_000), "b": np.arange(3)}))
    before = counters(db)
    assert len(db.execute("SELECT name, crc32 FROM npz_members(?)", (str(path),)).fetchall()) == 2
    assert since(db, before)["read_calls"] == 2
