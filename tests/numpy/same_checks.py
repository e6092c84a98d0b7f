"""What NumPy answers to questions of tests/numpy/same.py: each function returns a check of an answer's rows and their number, which
raises AssertionError, or None where NumPy has no answer or takes too long."""

import hashlib
import json
import math
import warnings

import numpy as np

import histograms
import quantiles
import test_unique
from expected import assert_same_data, scalar_value

# NumPy is asked about no more than this, for it is the slowest of all.
CHECKED_NELEM = 1 << 20
# Answers with more items in one value are not asked for.
LONG_NELEM = 20000
# More rows than these are not fetched.
FETCHED_ROWS = 100000


def axes_of(axis, ndim):
    axes = json.loads(axis) if isinstance(axis, str) else [axis]
    return sorted(axis % ndim for axis in axes)


def near(got, want, scale=0.0):
    if got is None or want is None or isinstance(got, str) or isinstance(want, str):
        return got == want
    return got == want or math.isclose(got, want, rel_tol=1e-12, abs_tol=1e-12 * scale)


def exact_sum(items):
    if items.dtype.kind == "f":
        return math.fsum(items.astype("f8")) if items.size <= LONG_NELEM else float(np.sum(items.astype("g")))
    wide = items.astype("u8" if items.dtype.kind in "bu" else "i8")
    return (int((wide >> 32).sum()) << 32) + int((wide & 0xFFFFFFFF).sum())


def numpy_stats(items):
    """The statistics of real numbers, as SQL has them. Places are among the items."""
    items = items.view("u1") != 0 if items.dtype.kind == "b" else items
    is_null = np.isnan(items) if items.dtype.kind == "f" else np.zeros(items.shape, bool)
    known, places = items[~is_null], np.flatnonzero(~is_null)
    facts = {"count": len(known), "nulls": int(is_null.sum()), "zeros": int((known == 0).sum()), "infs": int(np.isinf(known).sum())}
    facts |= dict.fromkeys(["min", "max", "argmin", "argmax", "mean", "std"])
    facts["sum"] = 0.0 if items.dtype.kind == "f" else 0
    if not len(known):
        return facts
    facts |= {"min": scalar_value(known.min()), "max": scalar_value(known.max()), "argmin": int(places[known.argmin()]), "argmax": int(places[known.argmax()])}
    if facts["infs"]:
        return {name: value for name, value in facts.items() if name not in ("sum", "mean", "std")}
    total = exact_sum(known)
    facts["sum"] = total if isinstance(total, float) or -(2**63) <= total < 2**63 else str(total)
    facts["mean"] = total / len(known)
    if float(np.abs(known.astype("f8")).max()) < 1e150:  # beyond, squares overflow in float64, in which statistics.md promises them
        facts["std"] = float(known.astype("g").std())
    else:
        del facts["std"]
    return facts


def check_stats(subject, columns, axis):
    array = subject.checked()
    if array is None or (array.dtype.kind == "f" and subject.is_wild):  # sums near the limits are those of test_stats.py
        return None
    places = subject.view.places if axis == "" else None
    if axis != "":
        try:
            axes = axes_of(axis, array.ndim)
        except ZeroDivisionError:
            return None
        if not isinstance(axis, int) and len(set(axes)) != len(axes) or max(axes, default=0) >= array.ndim or isinstance(axis, int) and axis >= array.ndim:
            return None
        kept = [i for i in range(array.ndim) if i not in axes]
        groups = array.transpose(kept + axes).reshape(math.prod(array.shape[i] for i in kept), math.prod(array.shape[i] for i in axes))
    else:
        groups = array.reshape(1, array.size)

    facts_of_all = {"dtype": array.dtype.name, "shape": json.dumps(array.shape).replace(" ", "")}

    def check(rows, count):
        assert count in (len(groups), FETCHED_ROWS), f"NumPy has {len(groups)} rows"
        for group, row in list(zip(groups, rows))[:: max(1, len(groups) // 50)]:
            facts = numpy_stats(group) | facts_of_all
            scale = float(np.abs(group[np.isfinite(group)].astype("f8")).sum()) if group.dtype.kind == "f" else 0
            for name, got in zip(columns, row):
                want = facts.get(name, got)
                if name in ("argmin", "argmax") and want is not None:
                    if places is None and subject.view.slice:
                        continue  # they are places in the file
                    want = want if places is None else int(places.ravel()[want])
                if name in ("mean", "std", "sum") and array.dtype.kind == "f":
                    is_same = near(got, want, scale if name == "sum" else scale / max(1, facts["count"]) * (1 if name == "mean" else 1e3))
                else:
                    # A mean of integers near 2**63 has no digit after the point in NumPy's long doubles.
                    peak = float(np.abs(group.astype("f8")).max(initial=0)) if name == "std" else 0
                    is_same = near(got, want, max(1e-3, 1e-6 * peak)) if name in ("mean", "std") else got == want
                assert is_same, f"NumPy's {name} is {want!r}"

    return check


def check_unique(subject, columns):
    array = subject.checked()
    if array is None or not array.size:
        return None

    def check(rows, count):
        items = array.view("u1") != 0 if array.dtype.kind == "b" else array
        wanted = test_unique.wanted(items)
        places = subject.view.places.ravel()
        assert count in (len(wanted), FETCHED_ROWS), f"NumPy has {len(wanted)} values"
        for row, (value, number, first) in zip(rows, wanted):
            facts = {"value": value, "count": number, "first": int(places[first])}
            assert list(row) == [facts[name] for name in columns], f"NumPy has {facts}"

    return check


def check_quantile(subject, wanted, axis, method):
    array = subject.checked()
    method = method or "linear"
    if array is None or not array.size or quantiles.overflows(array, method) or method == "closest_observation":
        return None
    if axis != "" and (not array.ndim or isinstance(axis, int) and axis >= array.ndim):
        return None
    axes = None if axis == "" else axes_of(axis, array.ndim)
    if axes == [] or math.prod(array.shape[i] for i in axes or ()) > 1 << 18:
        return None

    def check(rows, count):
        items = (array.view("u1") != 0) if array.dtype.kind == "b" else array
        want = quantiles.wanted(items.astype(items.dtype.newbyteorder("=")), wanted, axes, method)
        got = [int(value) if isinstance(value, str) and value.isdigit() else value for (value,) in rows]
        assert count in (len(want), FETCHED_ROWS) and got == want[: len(got)], f"NumPy has {want[:20]}"

    return check


def check_histogram(subject, bins, ends):
    array = subject.checked()
    if array is None or array.size > 1 << 18:
        return None

    def check(rows, count):
        items = (array.view("u1") != 0) if array.dtype.kind == "b" else array
        items = items[~np.isnan(items)] if items.dtype.kind == "f" else items.ravel()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                counts, edges = histograms.histogram(items, bins, ends)
        except (ValueError, IndexError):
            return
        edges = [float(edge) for edge in edges]
        if not np.isfinite(edges).all():
            return  # statistics.md: where float16 cannot express an end of the range, the items are placed as float64
        assert [tuple(row[:3]) for row in rows] == list(zip(edges, edges[1:], map(int, counts)))[: len(rows)], f"NumPy has {counts[:20]} between {edges[:20]}"

    return check


def check_bytes(subject, made):
    """made(array): what NumPy makes, of which the answer is the only value."""
    array = subject.view.array
    if array is None or subject.view.field or array.size > CHECKED_NELEM or array.dtype.itemsize in (0, 32) or array.dtype == np.dtype("f16") or array.dtype == np.dtype(">f16"):
        return None

    def check(rows, count):
        got, want = rows[0][0], made(array)
        if isinstance(got, tuple):
            got, want = got[1:], (len(want), hashlib.md5(want).hexdigest())
        assert got == want, "NumPy has other bytes"

    return check


def check_data(subject):
    array = subject.view.array
    if array is None or array.nbytes > 1 << 15 or subject.view.field:
        return None
    return lambda rows, count: assert_same_data(rows[0][0], array, "data")
