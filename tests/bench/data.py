"""The files that the measurements read: made once, kept in .build/bench."""

import io
import os
import pickle
import shutil
import tarfile
import zipfile

import numpy as np

import peers

# NumPy seeds; the values matter only in that they do not compress or branch unnaturally well.
SEED = 20260102
FILE_COUNTS = [100, 1000, 10_000, 100_000, 1_000_000]
MEMBER_COUNTS = [1, 100, 10_000, 100_000]


def _values(path):
    np.save(path, np.random.default_rng(SEED).normal(size=10_000_000))


def _million(path):
    np.save(path, np.random.default_rng(SEED).normal(size=1_000_000))


def _matrix(path):
    np.save(path, np.random.default_rng(SEED).normal(size=(10_000, 1000)))


def _wide(path):
    np.save(path, np.random.default_rng(SEED).normal(size=(100, 100_000)))


def _matrix_c(path):
    np.save(path, np.random.default_rng(SEED).normal(size=(5000, 2000)))


def _vectors(path):
    np.save(path, np.random.default_rng(SEED).normal(size=(1_000_000, 128)).astype("f4"))


def _labels(path):
    """Of the vectors, ten classes."""
    np.save(path, np.random.default_rng(SEED).integers(0, 10, 1_000_000))


def _few(path):
    """A hundred different numbers."""
    np.save(path, np.random.default_rng(SEED).integers(0, 100, 10_000_000))


def _large(path):
    np.save(path, np.random.default_rng(SEED).normal(size=50_000_000))


def _other_large(path):
    np.save(path, np.random.default_rng(SEED + 1).normal(size=50_000_000))


def _parts(folder):
    """large.npy in 100 files."""
    for number, part in enumerate(np.array_split(np.random.default_rng(SEED).normal(size=50_000_000), 100)):
        os.makedirs(folder, exist_ok=True)
        np.save(os.path.join(folder, f"{number:03}.npy"), part)


def _fortran(path):
    np.save(path, np.asfortranarray(np.random.default_rng(SEED).normal(size=(5000, 2000))))


def _many(folder):
    """10,000 small files in 100 folders."""
    rng = np.random.default_rng(SEED)
    for number in range(10_000):
        place = os.path.join(folder, f"{number // 100:02}")
        os.makedirs(place, exist_ok=True)
        np.save(os.path.join(place, f"{number:05}.npy"), rng.normal(size=(number % 7 + 1, 4)).astype("f4"))


def _archive(path):
    """200 arrays of 1 MB, deflated: rounded, as weights of limited precision are."""
    rng = np.random.default_rng(SEED)
    layer = lambda: rng.normal(size=(512, 512)).astype("f2").astype("f4")
    np.savez_compressed(path, **{f"layer_{i:03}": layer() for i in range(200)})


def _deflated(path):
    """One member of 160 MB."""
    np.savez_compressed(path, x=np.random.default_rng(SEED).integers(0, 1000, 20_000_000))


def _with_nan(path):
    """Every hundredth one is NaN, in random places."""
    rng = np.random.default_rng(SEED)
    array = rng.normal(size=50_000_000)
    array[rng.choice(array.size, array.size // 100, replace=False)] = np.nan
    np.save(path, array)


def _narrow(path):
    np.save(path, np.random.default_rng(SEED).normal(size=50_000_000).astype("f4"))


def _member(path):
    """One member of 80 MB of float64, of limited precision."""
    np.savez_compressed(path, x=np.random.default_rng(SEED).normal(size=10_000_000).astype("f2").astype("f8"))


def _of_megabytes(megabytes):
    return lambda path: np.save(path, np.random.default_rng(SEED).normal(size=megabytes * 125_000))


def _huge(path):
    """10 GB: 100 times the same 100 MB, so that it is soon made and need not lie in memory."""
    block = np.random.default_rng(SEED).normal(size=12_500_000)
    with open(path, "wb") as file:
        header = {"descr": "<f8", "fortran_order": False, "shape": (100 * block.size,)}
        np.lib.format.write_array_header_1_0(file, header)
        for _ in range(100):
            file.write(block.data)


def _stored(path):
    """The array of stored.npy."""
    np.savez(path, x=np.random.default_rng(SEED).normal(size=25_000_000))


def _shifted(path):
    """narrow.npy, and 0.001 more everywhere."""
    np.save(path, np.random.default_rng(SEED).normal(size=50_000_000).astype("f4") + np.float32(1e-3))


def _members(path):
    """64 members of 1.2 MB of float64, of limited precision."""
    rng = np.random.default_rng(SEED)
    arrays = {member(i): rng.normal(size=150_000).astype("f2").astype("f8") for i in range(64)}
    np.savez_compressed(path, **arrays)


def _tar(path, members):
    """As WebDataset's writer leaves it, times left out."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def _shard(path):
    """10,000 samples of a small array and a class."""
    arrays = enumerate(_small_files(10_000))
    _tar(path, (part for i, array in arrays for part in ((f"{i:06}.cls", b"%d" % (i % 10)), (f"{i:06}.npy", array))))


def _arrays(path):
    """2,000 arrays of 4 KB."""
    rng, members = np.random.default_rng(SEED), []
    for i in range(2000):
        file = io.BytesIO()
        np.save(file, rng.normal(size=1024).astype("f4"))
        members.append((f"{i:06}.npy", file.getvalue()))
    _tar(path, members)


def _objects(path):
    """An array of 200,000 texts of 20 letters."""
    letters = np.random.default_rng(SEED).integers(97, 123, (200_000, 20), "u1").tobytes().decode()
    np.save(path, np.array([letters[20 * i : 20 * i + 20] for i in range(200_000)], object), allow_pickle=True)


def _pickles(folder):
    """1,000 pickles of 20 arrays of 1,000 float32, as checkpoints of small runs are."""
    os.makedirs(folder)
    rng = np.random.default_rng(SEED)
    for number in range(1000):
        with open(os.path.join(folder, f"{number:04}.pkl"), "wb") as file:
            pickle.dump({f"layers.{i}": rng.normal(size=1000).astype("f4") for i in range(20)}, file)


def _samples(folder):
    """100 shards of 1,000 samples by webdataset's own writer; a NaN in one vector of a hundred."""
    peers.webdataset()
    import webdataset

    os.makedirs(folder)
    rng = np.random.default_rng(SEED)
    with webdataset.ShardWriter(os.path.join(folder, "train-%06d.tar"), maxcount=1000, verbose=0) as out:
        for i in range(100_000):
            vector = rng.standard_normal(256, dtype="f4")
            if i % 100 == 0:
                vector[i // 100 % 256] = np.nan
            out.write({"__key__": f"{i:08}", "emb.npy": vector, "cls": i % 10, "json": {"caption": f"number {i}"}})


def member(number):
    return f"layer_{number:06}"


def _small_files(count):
    """The bytes of .npy files of 16 float64 each; NumPy itself would take minutes for many of them."""
    file = io.BytesIO()
    np.save(file, np.zeros(16))
    header = file.getvalue()[: -16 * 8]
    return (header + row.tobytes() for row in np.random.default_rng(SEED).normal(size=(count, 16)))


def _folder(count):
    def make_folder(folder):
        os.makedirs(folder)
        for number, content in enumerate(_small_files(count)):
            with open(os.path.join(folder, f"{number:06}.npy"), "wb") as file:
                file.write(content)

    return make_folder


def _archive_of(count, compression):
    def make_archive(path):
        with zipfile.ZipFile(path, "w", compression) as archive:
            for number, content in enumerate(_small_files(count)):
                archive.writestr(f"{member(number)}.npy", content)

    return make_archive


MAKERS = {
    "with_nan.npy": _with_nan,
    "narrow.npy": _narrow,
    "member.npz": _member,
    **{f"{megabytes}mb.npy": _of_megabytes(megabytes) for megabytes in (1, 10, 100, 1000)},
    "10000mb.npy": _huge,
    **{f"files_{count}": _folder(count) for count in FILE_COUNTS},
    **{f"stored_{count}.npz": _archive_of(count, zipfile.ZIP_STORED) for count in MEMBER_COUNTS},
    **{f"deflated_{count}.npz": _archive_of(count, zipfile.ZIP_DEFLATED) for count in MEMBER_COUNTS},
    "stored.npy": _of_megabytes(200),
    "stored.npz": _stored,
    "members.npz": _members,
    "shifted.npy": _shifted,
    "values.npy": _values,
    "million.npy": _million,
    "matrix.npy": _matrix,
    "wide.npy": _wide,
    "matrix_c.npy": _matrix_c,
    "vectors.npy": _vectors,
    "labels.npy": _labels,
    "few.npy": _few,
    "large.npy": _large,
    "other_large.npy": _other_large,
    "parts": _parts,
    "fortran.npy": _fortran,
    "many": _many,
    "archive.npz": _archive,
    "deflated.npz": _deflated,
    "shard.tar": _shard,
    "arrays.tar": _arrays,
    "objects.npy": _objects,
    "samples": _samples,
    "pickles": _pickles,
}


def make(folder, names):
    """Make those of the files that are not there; the last step gives them their names, so that none is half made."""
    os.makedirs(folder, exist_ok=True)
    for name in names:
        path, half = os.path.join(folder, name), os.path.join(folder, "half-" + name)
        if os.path.exists(path):
            continue
        print(f"making {name}", flush=True)
        shutil.rmtree(half, ignore_errors=True)
        MAKERS[name](half)
        os.sync()  # or the disk would be busy with it while something is timed
        os.rename(half, path)


def cache(path, in_large_pages):
    """Reads a file anew into the page cache. What was written, or is read without reading ahead, the kernel keeps in pages of
    4 KiB; what it reads ahead in larger ones, from which copying takes two thirds of the time. Which a file has would
    otherwise depend on what ran before. A folder's files are cached, too."""
    if os.path.isdir(path):
        for name in os.listdir(path):
            cache(os.path.join(path, name), in_large_pages)
        return
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)  # only what is on the disk can be dropped
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    if not in_large_pages:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    while os.read(file, 1 << 20):
        pass
    os.close(file)


def remove(path):
    shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
