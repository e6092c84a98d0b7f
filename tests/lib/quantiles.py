"""npy_quantile against numpy.nanquantile, on random arrays. Needs nothing but NumPy and an extension that is loaded, so that
it runs with the newest NumPy, too:

    quantiles.py EXTENSION SEED TURNS       prints how many questions were asked
"""

import io
import json
import math
import sqlite3
import sys
import warnings

import numpy as np

ITEMS = ["inverted_cdf", "closest_observation", "lower", "higher", "nearest"]
NUMBERS = ["averaged_inverted_cdf", "interpolated_inverted_cdf", "hazen", "weibull", "linear", "median_unbiased", "normal_unbiased", "midpoint"]
METHODS = ITEMS + NUMBERS
REALS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
IS_NUMPY_2 = int(np.__version__.split(".")[0]) >= 2


def random_reals(rng, dtype, shape):
    """With ties, NaN, infinities and zeros of both signs; integers over their whole range."""
    if dtype == "?":
        return rng.random(shape) < 0.5
    if dtype[0] in "iu":
        info, few = np.iinfo(dtype), rng.random() < 0.5
        low, high = (max(info.min, -3), 4) if few else (info.min, info.max)
        return rng.integers(low, high, shape, dtype, endpoint=True)
    array = (rng.normal(size=shape) * rng.choice([1e-3, 1, 50])).astype(dtype)
    if rng.random() < 0.4:
        array = np.round(array)
    for value, share in ((np.nan, 0.3), (np.inf, 0.15), (-np.inf, 0.15), (-0.0, 0.2)):
        if rng.random() < share:
            array[rng.random(shape) < 0.2] = value
    return array


def wanted(array, quantiles, axis, method):
    """What NumPy says of items in which no difference overflows, each coordinate's quantiles side by side, NaN as None. An
    integer's method gives it as it is."""
    kind = array.dtype.kind
    wide = array.astype("u1") if kind == "b" else array.astype("f8") if kind == "f" and method in NUMBERS else array
    if kind == "i" or (kind == "u" and array.itemsize < 8):
        wide = array.astype("i8")
    axes = axis if axis is None else tuple(np.atleast_1d(axis).tolist())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = np.moveaxis(np.nanquantile(wide, quantiles, axis=axes, method=method), 0, -1).ravel().tolist()
    return [None if isinstance(value, float) and math.isnan(value) else value for value in found]


def asked(db, source, quantiles, axis="", method="", **more):
    where = "".join(f" AND {name} = :{name}" for name in more)
    sql = f"SELECT value FROM npy_quantile(:source, '', '', :quantiles, :axis) WHERE method = :method{where}"
    axis = "" if axis is None else json.dumps(axis) if isinstance(axis, (list, tuple)) else axis
    rows = db.execute(sql, dict(more, source=source, quantiles=json.dumps(quantiles), axis=axis, method=method))
    return [int(value) if isinstance(value, str) and value.isdigit() else value for (value,) in rows]  # beyond 2^63 - 1


def overflows(array, method):
    """Whether NumPy's own differences of neighbours do, where ours are exact: of int64 and uint64."""
    return method in NUMBERS and array.dtype.kind in "iu" and array.itemsize == 8 and array.size > 0 and int(array.max()) - int(array.min()) >= 2**63


def compare(db, rng, turns):
    """Returns how many questions were asked."""
    nasked = 0
    for _ in range(turns):
        shape = tuple(int(n) for n in rng.integers(1, 9, size=int(rng.integers(1, 4))))
        array = random_reals(rng, str(rng.choice(REALS)), shape)
        array = np.asfortranarray(array) if rng.random() < 0.3 else array
        array = array.astype(array.dtype.newbyteorder(rng.choice(["<", ">"])))
        file = io.BytesIO()
        np.save(file, array)
        quantiles = [0, 1, 0.5, 0.25] + [round(float(q), int(rng.integers(1, 6))) for q in rng.random(3)]
        axis = None
        if rng.random() < 0.6:
            axis = sorted(int(n) for n in rng.choice(array.ndim, size=int(rng.integers(1, array.ndim + 1)), replace=False))
        for method in METHODS:
            if overflows(array, method) or (method == "closest_observation" and not IS_NUMPY_2):  # NumPy 1's was wrong
                continue
            got, want = asked(db, file.getvalue(), quantiles, axis, method), wanted(array, quantiles, axis, method)
            assert got == want, (method, array.dtype, array.shape, axis, quantiles, got[:10], want[:10])
            nasked += 1
    return nasked


if __name__ == "__main__":
    connection = sqlite3.connect(":memory:")
    connection.enable_load_extension(True)
    connection.load_extension(sys.argv[1])
    print(np.__version__, compare(connection, np.random.default_rng(int(sys.argv[2])), int(sys.argv[3])))
