"""numpy.histogram as NumPy 2 has it, whatever NumPy is installed: NumPy 1 has other edges for float16 and float32, and takes
edges that do not increase. tests/numpy/test_histogram.py compares this with an installed NumPy 2."""

import numpy as np


def histogram(items, bins=10, range=None):
    """(counts, edges) of an array that holds no NaN, for a number of bins or edges, and a range of Python's numbers.
    ValueError or IndexError where NumPy 2 has no answer."""
    items = np.ravel(items)
    items = items.astype("u1") if items.dtype.kind == "b" else items.astype(items.dtype.newbyteorder("="))
    if np.ndim(bins):
        return np.histogram(items, bins)
    own = items.dtype if items.dtype.kind == "f" else np.dtype("f8")
    # A range found among the items has their precision; one of Python's numbers has that of a float, until it meets items.
    precision = own if range is None and items.size else np.dtype("f8")
    lo, hi = outer_edges(items, range, precision)
    with np.errstate(all="ignore"):
        edges = linspace(lo, hi, bins, precision).astype(own)
    if np.any(edges[:-1] >= edges[1:]):
        raise ValueError(f"Too many bins for data range. Cannot create {bins} finite-sized bins.")
    kept = items[is_within(items, lo, hi)].astype(own)
    with np.errstate(all="ignore"):
        share = (kept - one(lo, own)).astype(precision) / width_of(lo, hi, precision)
        places = (share * one(bins, precision)).astype(np.intp)
    places[places == bins] -= 1
    places[kept < edges[places]] -= 1
    places[(kept >= edges[places + 1]) & (places != bins - 1)] += 1
    return np.bincount(places, minlength=bins), edges


def one(number, dtype):
    """An array of one number: NumPy 1 would look at a scalar's value to choose the type of a result."""
    return np.array([number]).astype(dtype)


def number_of(end):
    return int(end) if isinstance(end, (int, np.integer)) else float(end)


def outer_edges(items, range, precision):
    if range is None:
        range = (items.min(), items.max()) if items.size else (0, 1)
    lo, hi = map(number_of, range)
    if not (np.isfinite(float(lo)) and np.isfinite(float(hi))):
        raise ValueError(f"range of [{lo}, {hi}] is not finite")
    if lo == hi:
        lo, hi = (float((one(end, precision) + one(half, precision))[0]) for end, half in ((lo, -0.5), (hi, 0.5)))
    return lo, hi


def width_of(lo, hi, precision):
    exact = isinstance(lo, int) and isinstance(hi, int)
    return one(hi - lo, precision) if exact else one(hi, precision) - one(lo, precision)


def linspace(lo, hi, bins, precision):
    lo, hi, parts = (one(float(number), precision) for number in (lo, hi, bins))
    width = hi - lo
    step = width / parts
    edges = np.arange(bins + 1).astype(precision)
    edges = (edges * step if step[0] else edges / parts * width) + lo
    edges[-1] = hi[0]
    return edges


def is_within(items, lo, hi):
    """Integers are compared with integers exactly, and with floats as floats."""
    if items.dtype.kind == "f":
        return (items >= one(lo, items.dtype)) & (items <= one(hi, items.dtype))
    return is_at_least(items, lo) & ~is_above(items, hi)


def is_at_least(items, end):
    if isinstance(end, float):
        return items.astype("f8") >= end
    info = np.iinfo(items.dtype)
    if end > info.max:
        return np.zeros(items.shape, bool)
    return items >= np.array([max(end, info.min)], items.dtype)


def is_above(items, end):
    return is_at_least(items, end + 1) if isinstance(end, int) else items.astype("f8") > end
