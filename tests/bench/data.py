"""The files that the measurements read: made once, kept in .build/bench."""

import os
import shutil

import numpy as np

# NumPy seeds; the values matter only in that they do not compress or branch unnaturally well.
SEED = 20260102


def _values(path):
    np.save(path, np.random.default_rng(SEED).normal(size=10_000_000))


def _million(path):
    np.save(path, np.random.default_rng(SEED).normal(size=1_000_000))


def _matrix(path):
    np.save(path, np.random.default_rng(SEED).normal(size=(10_000, 1000)))


def _matrix_c(path):
    np.save(path, np.random.default_rng(SEED).normal(size=(5000, 2000)))


def _vectors(path):
    np.save(path, np.random.default_rng(SEED).normal(size=(1_000_000, 128)).astype("f4"))


def _large(path):
    np.save(path, np.random.default_rng(SEED).normal(size=50_000_000))


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
    np.savez_compressed(path, **{f"layer_{i:03}": rng.normal(size=(512, 512)).astype("f2").astype("f4") for i in range(200)})


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


MAKERS = {
    "with_nan.npy": _with_nan,
    "narrow.npy": _narrow,
    "member.npz": _member,
    **{f"{megabytes}mb.npy": _of_megabytes(megabytes) for megabytes in (1, 10, 100, 1000)},
    "values.npy": _values,
    "million.npy": _million,
    "matrix.npy": _matrix,
    "matrix_c.npy": _matrix_c,
    "vectors.npy": _vectors,
    "large.npy": _large,
    "fortran.npy": _fortran,
    "many": _many,
    "archive.npz": _archive,
    "deflated.npz": _deflated,
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
        os.rename(half, path)
