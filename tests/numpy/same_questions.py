"""Random questions about an array for tests/numpy/same.py, and what NumPy answers to some of them."""

import json
import math
from typing import Any, NamedTuple

import numpy as np

import quantiles
import same_data
import test_compare
import test_vectors
from arrays import npy_bytes
from expected import identical, json_of, parse_json, scalar_value
from same_checks import CHECKED_NELEM, LONG_NELEM, check_bytes, check_data, check_histogram, check_quantile, check_stats, check_unique, near
from same_data import BIG, Blob, chance, pick


class Question(NamedTuple):
    sql: str
    parameters: dict
    # Columns of rounded sums, and how large a rounded difference is of no account there, at any size of a block: 1e-12 of this.
    loose: dict = {}
    check: Any = None  # of the rows: raises AssertionError where NumPy has another answer
    setup: tuple = ()
    after: tuple = ()


class Subject(NamedTuple):
    """What is asked about: a source, a part of it, and other files beside it."""

    source: same_data.Source
    view: same_data.View
    size: str
    labels: str  # a file of labels of the first axis
    other: Any  # a file whose array differs a little, and this array
    is_wild: bool

    @property
    def nelem(self):
        return sum(array.size for array in self.source.arrays) if self.view.array is None else self.view.array.size

    def checked(self, kinds="biuf"):
        """The part, if NumPy can be asked about it."""
        array = self.view.array
        is_plain = array is not None and array.dtype.names is None and array.dtype.kind in kinds
        return array if is_plain and array.dtype.itemsize < 16 and array.size <= CHECKED_NELEM else None


# --- how a question is written -----------------------------------------------------------------------------


def literal(value):
    return "'%s'" % value.replace("'", "''") if isinstance(value, str) else str(value)


def table(rng, subject, function, *arguments, **named):
    """(FROM clause, parameters): the arguments by position or by name, as parameters or literals."""
    source, view = subject.source, subject.view
    parameters = {"source": source.value, "member": source.member, "slice": view.slice}
    first = source.text
    if len(source.arrays) == 1 and chance(rng, 0.15):
        first, parameters["member"] = f"(SELECT array FROM npy_file({first}, :chosen))", ""
        parameters["chosen"] = source.member
    elif isinstance(source.value, str) and first == ":source" and chance(rng, 0.4):
        first = literal(parameters.pop("source"))
    places = [first, ":member", ":slice"]
    for i, value in enumerate(arguments):
        parameters[f"argument{i}"] = value
        places.append(f":argument{i}")
    text = f"{function}({', '.join(places)})"
    conditions = [f"{name} = :{name}" for name in named if named[name] != ""]
    parameters |= {name: value for name, value in named.items() if value != ""}
    if view.field:
        conditions.append("field = :field")
        parameters["field"] = view.field
    return f"{text} WHERE {' AND '.join(conditions) or '1'}", parameters


def arrays_of(subject):
    """(FROM clause, parameters, the array in it with its slice)"""
    source, view = subject.source, subject.view
    parameters = {"source": source.value, "member": source.member}
    if not view.slice:
        return f"npy_file({source.text}, :member)", parameters, "array"
    return f"npy_file({source.text}, :member)", parameters | {"slice": view.slice}, "npy_slice(array, :slice)"


def stored(subject, call):
    """The array as a BLOB: of a handle of an array that is made when it is read, these functions give another handle."""
    return f"npy_copy({call})" if subject.source.how in ("concat", "calc") else call


def some(rng, names, most=None):
    """Some of the names, often one."""
    count = 1 if chance(rng, 0.35) else int(rng.integers(1, most or len(names), endpoint=True))
    return [names[i] for i in rng.choice(len(names), min(count, len(names)), replace=False)]


def random_axis(rng, ndim):
    """An axis or a list of them, now and then one too many."""
    if not ndim or chance(rng, 0.03):
        return pick(rng, [0, -1, "[]", ndim])
    if chance(rng, 0.6):
        return int(rng.integers(-ndim, ndim))
    return json.dumps([int(axis) for axis in rng.choice(ndim, int(rng.integers(0, ndim, endpoint=True)), replace=False)])


def magnitudes(subject):
    """(sum of absolute values, the greatest of them) of all that the question may add up."""
    total = peak = 0.0
    for array in subject.source.arrays:
        for part in leaves(array):
            with np.errstate(all="ignore"):
                plain = part.view(part.dtype.byteorder.replace("|", "=") + "i8") if part.dtype.kind in "mM" else part
                numbers = np.abs(plain if plain.dtype.kind == "c" else plain.astype("f8")).astype("f8")  # |-2**63| is no int64
                numbers = numbers[np.isfinite(numbers)]
                total += float(numbers.sum())
            peak = max(peak, float(numbers.max(initial=0)))
    return total, peak


def leaves(array):
    if array.dtype.names is None:
        if array.dtype.kind in "fcium" or array.dtype == np.dtype("M8"):
            yield array
    else:
        for name in array.dtype.names:
            yield from leaves(array[name])


def scales(subject, names):
    """Which columns are rounded, and at which scale. Sums of integers and means of dates are exact."""
    if all(array.dtype.names is None and array.dtype.kind not in "fc" for array in subject.source.arrays):
        names = [name if name != "sum" else "" for name in names]
    rounded = {"sum", "mean", "std", "var", "m2"}
    if not rounded & set(names):
        return {}
    total, peak = magnitudes(subject)
    with np.errstate(all="ignore"):
        scale = {"sum": total, "mean": peak, "std": float(np.sqrt(np.square(peak))), "var": float(np.square(peak)), "m2": float(np.float64(peak) * total)}
    return {i: scale[name] for i, name in enumerate(names) if name in rounded}


# --- questions about a whole part --------------------------------------------------------------------------

STATS = "count nulls infs zeros min max mean std sum argmin argmax var m2 crc32 median dtype shape error".split()


def stats(rng, subject):
    ndim = subject.view.array.ndim if subject.view.array is not None else 2
    axis = "" if chance(rng, 0.5) else random_axis(rng, ndim)
    columns = some(rng, STATS, 7)
    if subject.size == BIG and "median" in columns and chance(rng, 0.7):
        columns = [name for name in columns if name != "median"] or ["count"]
    text, parameters = table(rng, subject, "npy_stats", axis)
    extra = pick(rng, ["", "", ", at", ", name", ", field_name"])
    return Question(f"SELECT {', '.join(columns)}{extra} FROM {text}", parameters, scales(subject, columns), check_stats(subject, columns, axis))


def stats_by(rng, subject):
    ndim = subject.view.array.ndim if subject.view.array is not None else 2
    axis = pick(rng, ["", "", 0, json.dumps(list(range(ndim))), random_axis(rng, ndim)])
    columns = some(rng, [name for name in STATS if name != "crc32"], 6)
    text, parameters = table(rng, subject, "npy_stats", axis, by=subject.labels)
    # Where several passes are needed, each begins with the first label again.
    return Question(f"SELECT {', '.join(columns)}, label, at FROM {text} ORDER BY label, at", parameters, scales(subject, columns))


def histogram(rng, subject):
    bins, ends = pick(rng, [1, 3, 10, 64, 5000]), ()
    kind = pick(rng, ["plain", "plain", "range", "edges"])
    if kind == "range":
        ends = pick(rng, [(-1, 3), (0.5, 0.5), (-100.25, 77.5), (0, 2**40)])
    elif kind == "edges":
        bins = sorted(set(np.round(rng.normal(size=pick(rng, [2, 5, 100])) * 50, 2).tolist()) | {0.0, 1.0})
    text, parameters = table(rng, subject, "npy_histogram", json.dumps(bins) if kind == "edges" else bins, *ends)
    return Question(f"SELECT lo, hi, count{pick(rng, ['', ', bar', ', name'])} FROM {text}", parameters, {}, check_histogram(subject, bins, ends or None))


def quantile(rng, subject):
    ndim = subject.view.array.ndim if subject.view.array is not None else 2
    axis = "" if chance(rng, 0.5) else random_axis(rng, ndim)
    count = pick(rng, [1, 1, 3, 5, 20, 100]) if subject.size != BIG else pick(rng, [1, 3, 20])
    wanted = [round(float(q), pick(rng, [1, 2, 6])) for q in rng.random(count)]
    method = pick(rng, ["", "", *quantiles.METHODS])
    text, parameters = table(rng, subject, "npy_quantile", json.dumps(wanted), axis, method=method)
    return Question(f"SELECT value FROM {text}", parameters, {}, check_quantile(subject, wanted, axis, method))


def quantile_by(rng, subject):
    ndim = subject.view.array.ndim if subject.view.array is not None else 2
    axis = pick(rng, ["", "", 0, json.dumps(list(range(ndim))), random_axis(rng, ndim)])
    wanted = [round(float(q), 2) for q in rng.random(pick(rng, [1, 2, 5]))]
    text, parameters = table(rng, subject, "npy_quantile", json.dumps(wanted), axis, method=pick(rng, ["", *quantiles.METHODS]), by=subject.labels)
    return Question(f"SELECT label, at, q, value FROM {text}", parameters, {}, None)


def unique(rng, subject):
    columns = pick(rng, [["value", "count"], ["value", "count", "first"], ["first"], ["value"], ["count"]])
    text, parameters = table(rng, subject, "npy_unique")
    if chance(rng, 0.15 if subject.size != BIG else 0.03):
        text, parameters = table(rng, subject, "npy_unique", by=subject.labels)
        return Question(f"SELECT label, {', '.join(columns)} FROM {text}", parameters)
    if chance(rng, 0.15):
        return Question(f"SELECT {', '.join(columns)} FROM {text} LIMIT {pick(rng, [1, 10])}", parameters)
    return Question(f"SELECT {', '.join(columns)} FROM {text}", parameters, {}, check_unique(subject, columns))


def compare(rng, subject):
    path, other = subject.other
    columns = some(rng, "status max_abs max_rel rms differing first_at nan_a nan_b error".split())
    parameters = {"source": subject.source.value, "path": path}
    text = subject.source.text
    a, b = pick(rng, [(text, ":path"), (":path", text)])
    if len(subject.source.arrays) == 1:
        a = f"(SELECT array FROM npy_file({text}, :member))"
        parameters["member"], b = subject.source.member, ":path"
    elif isinstance(subject.source.value, str) and text == ":source" and not set("[{*?") & set(subject.source.value + path) and chance(rng, 0.4):
        parameters = {name: f"{value[:-1]}[{value[-1]}]" for name, value in parameters.items()}  # patterns with one open part
        b += ", 'raise'"
    total, peak = magnitudes(subject) if "rms" in columns else (0, 0)
    check, whole = None, subject.source.arrays[0]
    if len(subject.source.arrays) == 1 and whole.shape == other.shape and whole.size <= LONG_NELEM and {"differing", "first_at"} & set(columns):

        def check(rows, count):
            differs = test_compare.differing(whole, other).reshape(-1)
            facts = {"differing": int(differs.sum()), "first_at": int(differs.argmax()) if differs.any() else None}
            for name, got in zip(columns, rows[0]):
                assert got == facts.get(name, got), f"NumPy's {name} is {facts[name]}"

    return Question(f"SELECT {', '.join(columns)} FROM npy_compare({a}, {b})", parameters, {columns.index("rms"): peak} if "rms" in columns else {}, check)


def nearest(rng, subject):
    array = subject.view.array
    length = array.shape[1] if array is not None and array.ndim == 2 else 3
    if length > 100000:
        return stats(rng, subject)
    nqueries = pick(rng, [1, 1, 1, 3, 20]) if subject.size != BIG else pick(rng, [1, 3])
    query = np.round(rng.normal(size=(nqueries, length)) * 3, 1)
    if array is not None and array.ndim == 2 and array.size and array.dtype.kind in "iuf" and chance(rng, 0.5):
        with np.errstate(all="ignore"):
            query = np.nan_to_num(array[rng.integers(len(array), size=nqueries)].astype("f8"), posinf=0, neginf=0)
    query = query[0] if nqueries == 1 and chance(rng, 0.7) else query
    metric, k = pick(rng, test_vectors.METRICS), pick(rng, [1, 3, 10, 1000])
    most = pick(rng, ["", "", 0.4713, 3.3171, 1017.3, math.inf])
    if most != "" and chance(rng, 0.5):
        k = ""
    text, parameters = table(rng, subject, "npy_nearest", npy_bytes(query), k, metric, max_distance=most)
    columns = pick(rng, ["query_row, row, distance", "query_row, row, distance, npy_hash(data)"])
    check = None
    known = subject.checked("iuf")
    if most == "" and known is not None and known.ndim == 2 and not subject.view.slice and not subject.is_wild and known.size * nqueries <= 1 << 19:
        check = lambda rows, count: test_vectors.assert_nearest([row[:3] for row in rows], known, query, k, metric) if count == len(rows) else None
    total, peak = magnitudes(subject)
    with np.errstate(all="ignore"):
        scale = float(max(peak, length * np.square(np.float64(peak) + np.abs(query).max(initial=0))))
    return Question(f"SELECT {columns} FROM {text}", parameters, {2: scale, "ties": (0, 2)}, check)


# --- questions about items ---------------------------------------------------------------------------------


def threshold(rng, subject):
    """A number that some items exceed."""
    array = subject.source.arrays[0]
    if array.dtype.names is not None or array.dtype.kind not in "iufb" or not array.size:
        return pick(rng, [0, 1, 1.5, "a", "1970-01-02"])
    with np.errstate(all="ignore"):
        sample = array.reshape(-1)[rng.integers(array.size, size=min(array.size, 5000))].astype("f8")
    sample = np.sort(sample[np.isfinite(sample)])
    if not len(sample):
        return 0
    at = pick(rng, [0.5, 0.9, 1.0]) if subject.size != BIG else pick(rng, [0.999, 1.0])
    value = float(sample[min(len(sample) - 1, int(at * len(sample)))])
    return int(value) if value.is_integer() and abs(value) < 2**62 and chance(rng, 0.5) else value


def conditions(rng, subject, key):
    """(text, parameters): conditions that npyext takes over, and some that SQLite checks itself."""
    found, parameters = [], {}
    array = subject.source.arrays[0]
    most = array.size if key == "idx" else (array.shape[0] if array.ndim else 1)
    kinds = ["value"] * 3 + [key] * 2 + (["i0", "i1"] if key == "idx" else [])
    for i in range(pick(rng, [0, 1, 1, 2])):
        column = pick(rng, kinds)
        if column == "value":
            operator = pick(rng, [">", ">=", "=", "<>", "<", "IS NULL"]) if subject.size != BIG else pick(rng, [">", "=", "IS NULL"])
            parameters[f"x{i}"] = threshold(rng, subject)
        else:
            length = most if column == key else array.shape[int(column[1])] if array.ndim > int(column[1]) else 1
            operator = pick(rng, ["=", ">=", "<", "BETWEEN", "IN"])
            parameters[f"x{i}"] = int(rng.integers(-1, length + 1))
        if operator == "IS NULL":
            del parameters[f"x{i}"]
            found.append(f"{column} IS NULL")
        elif operator == "BETWEEN":
            parameters[f"y{i}"] = parameters[f"x{i}"] + int(rng.integers(0, 300))
            found.append(f"{column} BETWEEN :x{i} AND :y{i}")
        elif operator == "IN":
            found.append(f"{column} IN (:x{i}, 0, {int(rng.integers(0, most + 1))})")
        else:
            found.append(f"{column} {operator} :x{i}")
    return "".join(f" AND {condition}" for condition in found), parameters


def tail(rng, subject, key):
    order = pick(rng, ["", "", f" ORDER BY {key}", f" ORDER BY {key} DESC"])
    limit = chance(rng, 0.9 if subject.size != same_data.SMALL else 0.4)
    return order + (f" LIMIT {pick(rng, [1, 7, 300])}" + pick(rng, ["", f" OFFSET {pick(rng, [1, 50, 5000])}"]) if limit else "")


def elements(rng, subject):
    text, parameters = table(rng, subject, "npy_elements")
    where, more = conditions(rng, subject, "idx")
    if chance(rng, 0.3):
        return Question(f"SELECT count(*), count(value), min(idx), max(idx), sum(i0), max(value), min(value) FROM {text}{where}", parameters | more)
    columns = pick(rng, ["idx, value", "idx, i0, i1, i2, value", "idx, real, imag", "name, idx, value", "idx"])
    end = tail(rng, subject, "idx")
    check, array = None, subject.checked("biufSU")
    if not where and not end and columns == "idx, value" and array is not None and array.size <= 5000:

        def check(rows, count):
            wanted = zip(subject.view.places.ravel().tolist(), array.ravel())
            assert count == array.size and all(idx == place and identical(value, scalar_value(item)) for (idx, value), (place, item) in zip(rows, wanted)), "NumPy has other items"

    return Question(f"SELECT {columns} FROM {text}{where}{end}", parameters | more, {}, check)


def rows(rng, subject):
    text, parameters = table(rng, subject, "npy_rows")
    where, more = conditions(rng, subject, "row")
    array = subject.source.arrays[0]
    if array.ndim > 1 or array.dtype.kind in "cV":
        where, more = ("", {}) if "value" in where else (where, more)
    is_long = math.prod(array.shape[1:]) > 1000
    columns = pick(rng, ["row, npy_hash(data)", "row, npy_hash(array)", "row"] if is_long else ["row, value", "row, value, data", "row, array", "name, row, value", "row, npy_hash(data)"])
    if chance(rng, 0.2):
        columns = "count(*), sum(row), max(npy_hash(data)), min(npy_hash(array))"
        return Question(f"SELECT {columns} FROM {text}{where}", parameters | more)
    if chance(rng, 0.15) and not subject.is_wild:
        text = text + " AND astype = :astype"
        parameters["astype"] = pick(rng, ["<f4", ">f8", "i8", "u1", "c16"])
    return Question(f"SELECT {columns} FROM {text}{where}{tail(rng, subject, 'row')}", parameters | more)


def joined(rng, subject):
    """Lookups, which go ways of their own after the fourth."""
    source = subject.source
    array = source.arrays[0]
    length = max(1, array.shape[0] if array.ndim else 1)
    numbers = json.dumps([int(n) for n in rng.integers(0, length, size=pick(rng, [2, 6, 40]))])
    parameters = {"source": source.value, "member": source.member, "numbers": numbers}
    if chance(rng, 0.5):
        sql = f"SELECT j.value, npy_hash(r.data) FROM json_each(:numbers) AS j JOIN npy_rows({source.text}, :member) AS r ON r.row = j.value"
    else:
        sql = f"SELECT j.value, e.idx, e.value FROM json_each(:numbers) AS j JOIN npy_elements({source.text}, :member) AS e ON e.idx = j.value"
    return Question(sql, parameters)


def typed_table(rng, subject):
    source = subject.source
    if not isinstance(source.value, str) or source.how in ("pattern", "range", "concat", "calc"):
        return rows(rng, subject)
    arguments = [literal(source.value)]
    if source.member != "":
        arguments.append(f"member={source.member}")
    if subject.view.slice and not subject.view.field and chance(rng, 0.6):
        arguments.append("slice=%s" % literal(subject.view.slice))
    setup = ("DROP TABLE IF EXISTS temp.t", f"CREATE VIRTUAL TABLE temp.t USING npy({', '.join(arguments)})")
    array = source.arrays[0]
    x = int(rng.integers(0, (array.shape[0] if array.ndim else 1) + 2))
    where = pick(rng, ["", " WHERE rowid >= :x", " WHERE rowid BETWEEN :x AND :x + 100", " WHERE rowid IN (:x, 0, 2)"])
    if array.ndim == 2 and array.shape[1] > 50:
        columns = f"rowid, c0, c{array.shape[1] // 2}" if array.shape[1] < 1900 else "rowid"
    else:
        columns = "rowid" if math.prod(array.shape[1:]) > 1000 else "rowid, *"
    return Question(f"SELECT {columns} FROM temp.t{where}{tail(rng, subject, 'rowid')}", {"x": x}, {}, None, setup)


# A file of each process for itself, which same.py names and removes.
OWN = "@own.npy"


def written(rng, subject):
    """A part written row by row through a table, or changed through one, with savepoints; and read while it is or after."""
    array, source = subject.checked(), subject.source
    if array is None or not isinstance(source.value, str) or source.how in ("pattern", "range", "concat", "calc") or subject.view.field or not array.ndim or array.size > 100000 or not array.size:
        return typed_table(rng, subject)
    place = f"{literal(source.value)}, {literal(source.member)}, {literal(subject.view.slice)}"
    middle = int(rng.integers(len(array) + 1))
    rows = f"SELECT value FROM npy_rows({place}) LIMIT %d OFFSET %d"
    insert = f"INSERT INTO temp.out {rows % (len(array), middle)}"
    steps = ["BEGIN", f"INSERT INTO temp.out {rows % (middle, 0)}"] if chance(rng, 0.8) or middle == 0 else [f"INSERT INTO temp.out {rows % (middle, 0)}", "BEGIN"]
    steps += ["SAVEPOINT s", insert, "ROLLBACK TO s"] if chance(rng, 0.4) else []
    steps += [insert] + (["COMMIT"] if chance(rng, 0.5) else [])
    shape = json.dumps([-1, *array.shape[1:]])
    setup = ["DROP TABLE IF EXISTS temp.out", f"CREATE VIRTUAL TABLE temp.out USING npy('{OWN}', mode='w+', dtype='{array.dtype.str}', shape='{shape}')", *steps]
    wanted, table = array.copy(), "temp.out"
    if steps[-1] == "COMMIT" and chance(rng, 0.6) and (array.ndim == 1 or array.ndim == 2 and array.shape[1] < 300):
        column = "value" if array.ndim == 1 else f"c{array.shape[1] // 2}"
        setup += ["DROP TABLE IF EXISTS temp.edited", f"CREATE VIRTUAL TABLE temp.edited USING npy('{OWN}', mode='r+')", "BEGIN", f"UPDATE temp.edited SET {column} = 1 WHERE rowid % 3 = 0"]
        setup += ["SAVEPOINT s", f"UPDATE temp.edited SET {column} = 0 WHERE rowid % 2 = 0", "ROLLBACK TO s"] if chance(rng, 0.5) else []
        setup += ["COMMIT"] if chance(rng, 0.5) else []
        wanted.reshape(len(array), -1)[::3, array.shape[1] // 2 if array.ndim == 2 else 0] = 1
        table = "temp.edited"
    order = pick(rng, ["", " ORDER BY rowid", " ORDER BY rowid DESC"])

    def check(found, count):
        assert count == len(wanted), f"NumPy has {len(wanted)} rows"
        for row in found:
            items = parse_json(row[1]) if wanted.ndim > 1 and table == "temp.out" else list(row[1:])
            want = json_of(wanted[row[0]]) if wanted.ndim > 1 else [scalar_value(wanted[row[0]])]
            assert items == want or wanted.dtype.kind == "f" and parse_json(json.dumps(items)) == want, f"NumPy's row {row[0]} is {want!r}"[:300]

    is_checked = array.size <= LONG_NELEM and not subject.is_wild and array.dtype.kind in "iu"
    after = ("ROLLBACK", "DROP TABLE temp.edited", "DROP TABLE temp.out")
    return Question(f"SELECT rowid, * FROM {table}{order}", {}, {}, check if is_checked else None, tuple(setup), after)


# --- functions of an array ---------------------------------------------------------------------------------


def get(rng, subject):
    text, parameters, array = arrays_of(subject)
    whole = subject.view.array if subject.view.array is not None else subject.source.arrays[0]
    indices = [str(int(rng.integers(-length - 1, length + 1))) for length in whole.shape]
    if math.prod(whole.shape[len(indices) :]) > LONG_NELEM or chance(rng, 0.3) and whole.size <= LONG_NELEM:
        indices = indices[: int(rng.integers(0, len(indices), endpoint=True))]
    return Question(f"SELECT {pick(rng, ['npy_get', 'npy_get'])}({', '.join([array, *indices])}) FROM {text}", parameters)


def contents(rng, subject):
    """The bytes of the part, in the forms that an array can be made into."""
    text, parameters, array = arrays_of(subject)
    view = subject.view
    kind = pick(rng, ["data", "data", "slice", "order", "transpose", "reshape", "astype", "hash"])
    if kind == "data":
        return Question(f"SELECT npy_data({array}) FROM {text}", parameters, {}, check_data(subject))
    if kind == "slice":
        check = check_bytes(subject, npy_bytes) if view.array is not None and view.array.dtype.names is None else None
        return Question(f"SELECT {stored(subject, 'npy_slice(array, :slice)')} FROM {text}", parameters | {"slice": view.slice}, {}, check)
    if kind == "hash":
        return Question(f"SELECT npy_hash(npy_data({array})), npy_shape({array}), npy_dtype({array}), npy_size({array}), npy_valid(array) FROM {text}", parameters)
    if kind == "order":
        order = pick(rng, ["C", "F"])
        return Question(f"SELECT npy_order({array}, '{order}') FROM {text}", parameters)
    if kind == "transpose":
        return Question(f"SELECT npy_transpose({array}) FROM {text}", parameters)
    if kind == "reshape":
        return Question(f"SELECT {stored(subject, f'npy_reshape({array}, :shape)')} FROM {text}", parameters | {"shape": pick(rng, ["[-1]", "[-1, 1]", "[2, -1]", "[1, -1, 3]"])})
    return Question(f"SELECT {stored(subject, f'npy_astype({array}, :dtype)')} FROM {text}", parameters | {"dtype": pick(rng, ["<f4", ">f8", "<i8", "u1", "<f2", "c8", "?", ">u8", "f16"])})


def as_json(rng, subject):
    if subject.nelem > LONG_NELEM:
        return contents(rng, subject)
    text, parameters, array = arrays_of(subject)
    known, check = subject.view.array, None
    if known is not None and not subject.view.field and known.size <= 1000 and known.dtype.kind in "biufc" and not (subject.is_wild and known.dtype.itemsize >= 16):

        def check(rows, count):
            if isinstance(rows[0][0], str):
                assert parse_json(rows[0][0]) == json_of(known), "NumPy's is another"

    return Question(f"SELECT npy_json({array}) FROM {text}", parameters, {}, check)


def reduced(rng, subject):
    text, parameters, array = arrays_of(subject)
    ndim = subject.view.array.ndim if subject.view.array is not None else 2
    name = pick(rng, ["sum", "mean", "std", "min", "max", "argmin", "argmax", "median"])
    axis = None if chance(rng, 0.5) else random_axis(rng, ndim)
    found = scales(subject, [name])
    return Question(f"SELECT npy_{name}({array}, :axis) FROM {text}", parameters | {"axis": axis}, found)


def vectors(rng, subject):
    text, parameters, array = arrays_of(subject)
    known = subject.checked("iuf") if not subject.view.field else None
    total, peak = magnitudes(subject)
    kind = pick(rng, ["norm", "norm", "dot", "distance", "corrcoef"])
    if kind == "norm":
        ord = pick(rng, [None, None, 1, 2, 0, 3, 0.5, "inf", "-inf", "fro"])
        sql = f"SELECT npy_norm({array}{'' if ord is None else ', :ord'}) FROM {text}"
        check = None
        if known is not None and ord is None and not subject.is_wild:
            want = float(np.linalg.norm(known.astype("f8").ravel()))
            check = lambda rows, count: none_but(near(rows[0][0], None if math.isnan(want) else want, 0), f"NumPy's is {want}")
        return Question(sql, parameters | ({} if ord is None else {"ord": ord}), {0: 0.0}, check)
    if kind == "corrcoef":
        return Question(f"SELECT npy_corrcoef({array}, :rowvar) FROM {text}", parameters | {"rowvar": pick(rng, [0, 1])}, {0: 1.0})
    length = subject.view.array.size if subject.view.array is not None else 3
    vector = np.round(rng.normal(size=min(length, 200000)) * 3, 1)
    parameters["vector"] = npy_bytes(vector)
    if kind == "dot":
        check = None
        if known is not None and known.ndim == 1 and len(known) == len(vector) and not subject.is_wild and np.isfinite(known.astype("f8")).all():
            want = float(np.dot(known.astype("g"), vector))
            scale = float(np.dot(np.abs(known.astype("f8")), np.abs(vector)))
            check = lambda rows, count: none_but(near(rows[0][0], want, scale), f"NumPy's is {want}")
        return Question(f"SELECT npy_dot({array}, :vector) FROM {text}", parameters, {0: total * 15}, check)
    return Question(f"SELECT npy_distance({array}, :vector, :metric) FROM {text}", parameters | {"metric": pick(rng, test_vectors.METRICS)}, {0: total * 15})


def none_but(is_right, text):
    assert is_right, text


def pictures(rng, subject):
    text, parameters, array = arrays_of(subject)
    kind = pick(rng, ["preview", "preview", "spark", "spark", "plot", "png"])
    more = {"preview": ["", ", 1", ", 10"], "spark": ["", ", 7", ", 300", ", 5, 0, 10"], "plot": ["", ", 'title'"], "png": ["", ", 'viridis'", ", 'gray', 0, 5"]}
    return Question(f"SELECT npy_{kind}({array}{pick(rng, more[kind])}) FROM {text}", parameters)


def aggregated(rng, subject):
    text, parameters = table(rng, subject, "npy_rows" if chance(rng, 0.5) else "npy_elements")
    if subject.nelem > 200000:
        return elements(rng, subject)
    if "npy_rows" in text and chance(rng, 0.5):
        return Question(f"SELECT npy_stack(array) FROM {text}", parameters)
    return Question(f"SELECT npy_array(value{pick(rng, ['', chr(44) + chr(39) + '<f8' + chr(39)])}) FROM {text}", parameters)


def sketched(rng, subject):
    text, parameters, array = arrays_of(subject)
    return Question(f"SELECT npy_sketch({array}, :k), npy_sketch_quantile(npy_sketch({array}, :k), :q) FROM {text}", parameters | {"k": pick(rng, [8, 200, 800]), "q": pick(rng, [0, 0.25, 0.5, 1])})


def headers(rng, subject):
    columns = "name, idx, format, dtype, descr, kind, itemsize, byteorder, ndim, shape, size, nbytes, fortran_order, fields, version, data_offset, compression, file_size, strides, error"
    functions = {"npy_meta": columns, "npz_members": "name, idx, is_array, shape, method, crc32, crc_ok, error", "ten_arrays": "*", "npy_paths": "path, file_size"}
    function = pick(rng, {"npy_meta": 5, "npz_members": 2, "ten_arrays": 1, "npy_paths": 1})
    return Question(f"SELECT {functions[function]} FROM {function}({subject.source.text})", {"source": subject.source.value})


KINDS = {
    stats: 7, stats_by: 3, histogram: 3, quantile: 3, quantile_by: 2, unique: 3, compare: 2, nearest: 3, elements: 4, rows: 4, joined: 1, typed_table: 2, written: 2, get: 1.5,
    contents: 3, as_json: 1, reduced: 3, vectors: 3, pictures: 2, aggregated: 1, sketched: 0.7, headers: 0.7,
}  # fmt: skip

# Of large arrays what reads them whole, by several threads.
BIG_KINDS = {
    stats: 12, stats_by: 1.5, histogram: 3, quantile: 1.5, quantile_by: 1, unique: 1.5, compare: 2, nearest: 1.5, elements: 3, rows: 2, joined: 0.5, typed_table: 1, contents: 1,
    reduced: 3, vectors: 1.5, pictures: 0.5,
}  # fmt: skip


def random_question(rng, subject):
    return pick(rng, BIG_KINDS if subject.size == BIG else KINDS)(rng, subject)
