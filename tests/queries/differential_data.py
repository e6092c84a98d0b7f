"""Files of random arrays for tests/queries/differential.py, and ordinary tables that hold what npyext is to answer of them.

The ordinary tables are filled from NumPy, zipfile and the bytes that were written, never from npyext. Their columns are
declared as reference.md says that npyext's are, because affinities belong to a comparison's meaning.
"""

import io
import json
import os
import zipfile
import zlib
from fractions import Fraction

import numpy as np

import histograms
from arrays import FEW_FIELDS, few_values, npy_bytes
from expected import Number, is_json_row, json_of, little_endian, rows_of, scalar_value, sql_literal
from formats import ten, ten_chunk, ten_header

# --- values ------------------------------------------------------------------------------------------------


def json_text(value):
    """The text of what expected.json_of returns."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, list):
        return f"[{','.join(map(json_text, value))}]"
    if isinstance(value, tuple):
        return "{%s}" % ",".join(f"{json_text(name)}:{json_text(part)}" for name, part in value[1])
    return json.dumps(value, ensure_ascii=False)


def sql_value(array):
    """Of an array without axes its item, of another one its JSON."""
    if array.ndim == 0 and array.dtype.names is None and array.dtype.kind != "c":
        return scalar_value(array[()])
    return json_text(json_of(array))


def as_number(value):
    """A text that reads like a number as that number; anything else as it is."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def variants(value):
    """What a value may be compared with: itself, as another type, and its neighbours."""
    yield value
    if isinstance(value, (int, float)) and abs(value) < 2**62:
        yield from (str(value), float(value), value + 1, value - 1, value + 0.5, f" {value}", f"{value}.0")
    if isinstance(value, str):
        yield from (value.upper(), value[:-1], value + "a", value.encode(), value + " ")
        for kind in (int, float):
            try:
                number = kind(value)
                yield number if abs(number) < 2**62 else value
            except ValueError:
                pass
    if isinstance(value, bytes):
        yield value[:1]


ODD = [None, 0, 1, -1, 2, 0.5, 3.0, -0.0, 2**63 - 1, -(2**63), 2.0**63, 1e300, float("inf"), float("-inf"), "", "0", "1", "abc", "1e1", "é", b"", b"1", b"abc"]

# --- tables ------------------------------------------------------------------------------------------------


class Column:
    """A column of a table: its name, and (value, literal) of what it can be compared with. is_small: integers of which
    no sum overflows."""

    def __init__(self, name, values, is_small=False, affinity=""):
        self.name = name
        self.is_number = affinity in ("INTEGER", "REAL", "NUMERIC")
        self.has_number_texts = any(isinstance(value, str) and as_number(value) is not value for value in values)
        self.is_small = is_small and all(value is None or (type(value) is int and abs(value) < 2**31) for value in values)
        self.pool = {}
        for value in list(dict.fromkeys(values))[:8]:
            for variant in variants(value):
                self.pool[sql_literal(variant)] = variant
        for value in ODD:
            self.pool[sql_literal(value)] = value
        self.pool = [(value, text) for text, value in self.pool.items()]
        self.own = [(value, sql_literal(value)) for value in list(dict.fromkeys(values))[:8]] or self.pool


class Table:
    """An ordinary table, and how npyext has the same: as a function with arguments, or as a table of its own.

    function: None for a table that stands on both sides. arguments: what the function is given, by column.
    key: columns that tell rows from each other. is_in_order: a scan gives the rows as npyext does.
    """

    def __init__(self, name, columns, key, nrows, function=None, arguments=None, positions=(), is_in_order=True):
        self.name, self.columns, self.key, self.nrows = name, columns, key, nrows
        self.function, self.arguments, self.is_in_order = function, arguments or {}, is_in_order
        self.by_name = {column.name: column for column in columns}
        # `=` with an argument chooses what is read, as reference.md says, so that no condition is about one.
        self.outputs = [column for column in columns if column.name not in ARGUMENTS]
        # What plans are made of.
        self.planned = [self.by_name[n] for n in PLANNED if n in self.by_name] or self.outputs
        self.is_long = nrows > 100
        # Arguments without a gap can stand in brackets.
        values = list(self.arguments.values())
        self.is_bracketed = bool(values) and list(positions[: len(values)]) == list(self.arguments)
        self.literals = ", ".join(map(sql_literal, values))
        self.parameters = {f"{name}_{i}": value for i, value in enumerate(values)}
        self.placeholders = ", ".join(f":{parameter}" for parameter in self.parameters)


ROWS = "row INTEGER, value, source BLOB, member BLOB, slice BLOB, field BLOB, astype BLOB, expect BLOB, on_error BLOB, data BLOB, path TEXT, name TEXT"
ELEMENTS = "idx INTEGER, i0 INTEGER, i1 INTEGER, i2 INTEGER, i3 INTEGER, value, source BLOB, member BLOB, slice BLOB, expect BLOB, on_error BLOB, real BLOB, imag BLOB, path TEXT, name TEXT"
META = "path TEXT, name TEXT, idx INTEGER, format TEXT, dtype TEXT, descr TEXT, kind TEXT, itemsize INTEGER, byteorder TEXT, ndim INTEGER, shape TEXT, size INTEGER, "
META += "nbytes INTEGER, fortran_order INTEGER, has_objects INTEGER, version TEXT, data_offset INTEGER, compression TEXT, file_size INTEGER, mtime INTEGER, source BLOB, on_error BLOB, stem TEXT"
MEMBERS = "path TEXT, idx INTEGER, name TEXT, filename TEXT, is_array INTEGER, dtype TEXT, shape TEXT, ndim INTEGER, size INTEGER, fortran_order INTEGER, method TEXT, "
MEMBERS += "compressed_size INTEGER, uncompressed_size INTEGER, ratio REAL, crc32 INTEGER, modified TEXT, encrypted INTEGER, error TEXT, source BLOB, crc_ok INTEGER"
TENS = "path TEXT, idx INTEGER, name TEXT, dtype TEXT, shape TEXT, ndim INTEGER, size INTEGER, nbytes INTEGER, header_offset INTEGER, data_offset INTEGER, error TEXT, source BLOB"
STATS = "path TEXT, name TEXT, at, count INTEGER, nulls INTEGER, infs INTEGER, zeros INTEGER, min, max, error TEXT, source BLOB, member BLOB, axis BLOB, argmin INTEGER, "
STATS += "argmax INTEGER, crc32 INTEGER, dtype TEXT, shape TEXT"
HISTOGRAM = "bin INTEGER, lo REAL, hi REAL, count INTEGER, source BLOB, member BLOB, bins BLOB, range_lo BLOB, range_hi BLOB, path TEXT, name TEXT"
COMPARE = "name TEXT, status TEXT, max_abs REAL, differing INTEGER, first_at INTEGER, error TEXT, a BLOB, b BLOB, path TEXT"
FILE = "path TEXT, name TEXT, source BLOB, member BLOB"
ARGUMENTS = {"source", "member", "slice", "field", "astype", "expect", "on_error", "axis", "bins", "range_lo", "range_hi", "a", "b"}
PLANNED = ["value", "value", "value", "row", "row", "idx", "idx", "i0", "i1", "name", "path", "rowid", "rowid", "real", "imag", "i", "u", "t"]
# Positional arguments, and the key of rows of one array.
FUNCTIONS = {
    "npy_rows": (ROWS, ["source", "member", "slice", "field", "view", "astype"], ["row"]),
    "npy_elements": (ELEMENTS, ["source", "member", "slice", "field", "view", "astype"], ["idx"]),
    "npy_meta": (META, ["source", "on_error"], ["idx"]),
    "npz_members": (MEMBERS, ["source"], ["idx"]),
    "ten_arrays": (TENS, ["source"], ["idx"]),
    "npy_stats": (STATS, ["source", "member", "slice", "axis"], ["at"]),
    "npy_histogram": (HISTOGRAM, ["source", "member", "slice", "bins", "range_lo", "range_hi"], ["bin"]),
    "npy_compare": (COMPARE, ["a", "b"], ["name"]),
    "npy_file": (FILE, ["source", "member"], []),
}
SMALL = {"row", "idx", "i0", "i1", "i2", "i3", "ndim", "size", "nbytes", "bin", "count", "nulls", "zeros", "rowid", "id", "i", "differing", "at"}

# --- what npyext is to answer ------------------------------------------------------------------------------


class Array:
    """An array and where it lies. path is None in a BLOB."""

    blob_nbytes = None

    def __init__(self, path, name, idx, items, **facts):
        self.path, self.name, self.idx, self.items, self.facts = path, name, idx, items, facts

    @property
    def place(self):
        return {"path": self.path, "name": self.name}


def sliced(items, text):
    """The slice of an array, and of the array of its own flat positions."""
    positions = np.arange(items.size, dtype="i8").reshape(items.shape)
    if not text:
        return items, positions
    index = eval(f"numpy.s_[{text},]", {"numpy": np})
    index = index if ... in index else (*index, ...)  # an array without axes rather than a scalar, which forgets its dtype
    return items[index], positions[index]


def rows_facts(array, slice="", field=None, astype=None, **_):
    items, positions = sliced(array.items if field is None else array.items[field], slice)
    axis = len([part for part in slice.split(",") if part.strip().lstrip("-").isdigit()])
    items = items if astype is None else items.astype(astype)
    for i, (row, places) in enumerate(zip(rows_of(items), rows_of(positions))):
        number = 0
        if items.ndim:  # of the first axis that is left, as the file counts
            flat = places.flat[0] if places.size else i
            number = int(np.unravel_index(flat, array.items.shape)[axis]) if places.size else i
        yield {"row": number, "value": sql_value(row), "data": little_endian(row).tobytes(), **array.place}


def elements_facts(array, slice="", **_):
    items, positions = sliced(array.items, slice)
    for item, position in zip(items.reshape(-1), positions.reshape(-1).tolist()):
        item = np.asarray(item, items.dtype)
        facts = {"idx": position, "value": sql_value(item), **array.place}
        for axis, at in enumerate(np.unravel_index(position, array.items.shape) if array.items.ndim else ()):
            facts[f"i{axis}"] = int(at)
        if items.dtype.kind == "c":
            facts.update(real=scalar_value(item.real[()]), imag=scalar_value(item.imag[()]))
        elif items.dtype.kind in "biuf":
            facts.update(real=facts["value"], imag=0)
        yield facts


def header_facts(items):
    order = "F" if items.ndim > 1 and items.flags.f_contiguous and not items.flags.c_contiguous else "C"
    byteorder = {"=": "<"}.get(items.dtype.byteorder, items.dtype.byteorder)
    return {
        "dtype": items.dtype.name, "kind": items.dtype.kind, "itemsize": items.dtype.itemsize, "byteorder": byteorder, "ndim": items.ndim,
        "shape": json_text(list(items.shape)), "size": items.size, "nbytes": items.nbytes, "fortran_order": int(order == "F"), "has_objects": 0,
        "descr": str(np.lib.format.dtype_to_descr(items.dtype)),
    }  # fmt: skip


def meta_facts(array, **_):
    facts = {**header_facts(array.items), **array.facts, **array.place, "idx": array.idx}
    if array.path is None:
        facts["file_size"] = array.blob_nbytes
    else:
        facts.update(file_size=os.path.getsize(array.path), mtime=int(os.stat(array.path).st_mtime))
        facts["stem"] = os.path.basename(array.path).rsplit(".", 1)[0]
    return [facts]


def stats_facts(array, axis=None, **_):
    parts = [(None, array.items)]
    if axis is not None:
        parts = list(enumerate(np.moveaxis(array.items, axis, -1)))
    for at, part in parts:
        part, kind = part.reshape(-1), part.dtype.kind
        numbers = [float(n) if kind == "f" else int(n) for n in part]
        kept = [(n, i) for i, n in enumerate(numbers) if n == n]
        facts = {"at": at, "count": len(kept), "nulls": len(numbers) - len(kept), "zeros": sum(n == 0 for n, _ in kept), **array.place}
        facts.update(dtype=array.items.dtype.name, shape=json_text(list(array.items.shape)))
        facts["infs"] = sum(n in (float("inf"), float("-inf")) for n, _ in kept)
        if kept:
            least, greatest = min(kept), min(kept, key=lambda pair: (-Fraction(pair[0]) if abs(pair[0]) != float("inf") else -pair[0], pair[1]))
            facts.update(min=scalar_value(part[least[1]]), max=scalar_value(part[greatest[1]]), argmin=least[1], argmax=greatest[1])
        if axis is None:
            facts["crc32"] = zlib.crc32(little_endian(array.items).tobytes())
        yield facts


def histogram_facts(array, bins=10, range_lo=None, range_hi=None, **_):
    limits = None if range_lo is None else (range_lo, range_hi)
    counts, edges = histograms.histogram(array.items, json.loads(bins) if isinstance(bins, str) else bins, limits)
    for i, count in enumerate(counts.tolist()):
        yield {"bin": i, "lo": float(edges[i]), "hi": float(edges[i + 1]), "count": count, **array.place}


def file_facts(array, **_):
    return [array.place]


ANSWERS = {"npy_rows": rows_facts, "npy_elements": elements_facts, "npy_meta": meta_facts, "npy_stats": stats_facts, "npy_histogram": histogram_facts, "npy_file": file_facts}

# --- the world ---------------------------------------------------------------------------------------------

DTYPES = "? i1 i2 i4 >i4 i8 i8 i8 >i8 u1 u2 u4 u8 >u8 f2 f4 >f4 f8 f8 f8 >f8 f16 c8 c16 S3 S8 U2 >U3 U8 V2 M8[s] M8[D] m8[ms]".split()

SLICES = {0: ["", "..."], 1: ["1:", "::-1", "::2", ":3", "-2:", "0", "..."], 2: [":, 0", "1:, ::-1", "0", "::-1", "-1, 1:", "..., -1"], 3: ["0", ":, 0, :", "::-1, :, 0", "0, 0"]}


class World:
    """Files of one folder, which must be the working directory, and a connection's tables about them."""

    def __init__(self, db, rng):
        self.db, self.rng, self.tables, self.correlated = db, rng, [], []
        self.files = {}  # path -> arrays
        self.blobs = []  # (bytes, arrays)
        self.write_files()
        self.describe_all()

    def one(self, choices):
        return choices[int(self.rng.integers(len(choices)))]

    # --- files

    def array(self, dtype=None, ndim=None, rows=None, has_sign=True):
        """has_sign: there may be a -0.0, which a column declared REAL stores as 0.0."""
        dtype = dtype or (FEW_FIELDS if self.rng.random() < 0.08 else self.one(DTYPES))
        ndim = self.one([1, 1, 1, 1, 2, 2, 0, 3]) if ndim is None else ndim
        rows = self.one([0, 1, 3, 5, 6, 7, 8, 9]) if rows is None else rows
        shape = [(), (rows,), (rows // 2, self.one([1, 2, 3, 0 if rows == 3 else 2])), (2, 2, self.one([1, 3]))][ndim]
        items = few_values(self.rng, dtype, shape)
        if has_sign is False and items.dtype.kind == "f":
            items[items == 0] = 0
        return np.asfortranarray(items) if self.rng.random() < 0.3 else items

    def put(self, path, contents, arrays):
        with open(path, "wb") as out:
            out.write(contents)
        for array in arrays:
            array.path = path
        self.files[path] = arrays

    @staticmethod
    def npy_array(contents, items, name="", idx=0, **facts):
        length = 10 + int.from_bytes(contents[8:10], "little")
        if contents[6] > 1:
            length = 12 + int.from_bytes(contents[8:12], "little")
        return Array(None, name, idx, items, version=f"{contents[6]}.{contents[7]}", data_offset=length, **{"format": "npy", **facts})

    def npy(self, items):
        contents = npy_bytes(items)
        return contents, [self.npy_array(contents, items)]

    def npz(self, members, method):
        """members: name -> array, or bytes that are none."""
        out, arrays = io.BytesIO(), []
        with zipfile.ZipFile(out, "w") as archive:
            for i, (name, items) in enumerate(members.items()):
                contents = items if isinstance(items, bytes) else npy_bytes(items)
                entry = zipfile.ZipInfo(name if isinstance(items, bytes) else f"{name}.npy", (2026, 1, 2, 3, 4, 6))
                entry.compress_type = method
                archive.writestr(entry, contents)
                if not isinstance(items, bytes):
                    array = self.npy_array(contents, items, name, i, format="npz", compression={0: "stored", 8: "deflate"}[method])
                    # after the local header, which has no extra field
                    array.facts["data_offset"] += entry.header_offset + 30 + len(entry.filename.encode())
                    if method:
                        array.facts["data_offset"] = None
                    arrays.append(array)
        return out.getvalue(), arrays

    def ten(self, members):
        arrays, offset = [], 0
        for i, (name, items) in enumerate(members):
            code = np.dtype(items.dtype).newbyteorder("<").str[1:]
            header = ten_chunk(ten_header(code, name, items.shape))
            begins = offset + len(header) + 16
            arrays.append(Array(None, name, i, items, format="ten", header_offset=offset, data_offset=begins))
            offset += len(header) + len(ten_chunk(items.tobytes()))
        codes = [array.items.dtype.str[1:] for array in arrays]
        return ten([(code, array.name, array.items.shape, array.items.tobytes()) for code, array in zip(codes, arrays)]), arrays

    def write_files(self):
        for i in range(7):
            self.put(f"{i}.npy", *self.npy(self.array()))
        for i in range(4):  # a pattern's
            self.put(f"p{i}.npy", *self.npy(self.array(self.one(["i4", "f8", "S3", "u8"]), 1, self.one([0, 2, 3]))))
        self.put("ints.npy", *self.npy(self.array("i4", 1, 8)))
        self.put("table.npy", *self.npy(self.array(self.one(["i4", "f8", "u8", "U2"]), 2, 8, has_sign=False)))
        self.put("long.npy", *self.npy(self.array(self.one(["f8", "i8"]), 1, 1500, has_sign=False)))
        method = self.one([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
        self.put("m.npz", *self.npz({"a": self.array(), "1": self.array(), "t.txt": b"no array", "B": self.array(), "d/c": self.array()}, method))
        self.put("q.npz", *self.npz({"a": self.array(), "b": self.array(ndim=1)}, zipfile.ZIP_DEFLATED))
        self.put("side.npz", *self.npz({name: self.array(ndim=1, rows=5, has_sign=False) for name in ("x", "Y", "z")}, method))
        codes = ["f2", "f4", "f8", "i4", "i8", "u1", "u8"]
        self.put("t.ten", *self.ten([(name, np.ascontiguousarray(self.array(self.one(codes), 1))) for name in ("a", "b", "a")]))
        self.put("u.ten", *self.ten([(name, np.ascontiguousarray(self.array(self.one(codes), 2, 6))) for name in ("x", "")]))
        self.blobs.append(self.npy(self.array()))
        self.blobs.append(self.npz({"a": self.array(), "b": self.array()}, zipfile.ZIP_DEFLATED))

    # --- tables

    def make(self, name, declared, rows, **table):
        """An ordinary table of these rows, which are dicts by column."""
        names = [part.split()[0] for part in declared.split(", ")]
        affinities = [part.split()[1] if " " in part else "" for part in declared.split(", ")]
        self.db.execute(f'CREATE TABLE "{name}"({declared})')
        self.db.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(names))})', [[row.get(n) for n in names] for row in rows])
        columns = [Column(n, [row.get(n) for row in rows], n in SMALL, affinity) for n, affinity in zip(names, affinities)]
        return Table(name, columns, nrows=len(rows), **table)

    def rows_of_call(self, function, arrays, arguments):
        given = {name: value for name, value in arguments.items() if name not in ("source", "member")}
        return [{**facts, **arguments} for array in arrays for facts in ANSWERS[function](array, **given)]

    def call(self, function, arrays, source, **arguments):
        """The table of a function with arguments: positional ones, then those by name."""
        declared, positions, key = FUNCTIONS[function]
        arguments = {"source": source, **arguments}
        rows = self.rows_of_call(function, arrays, arguments)
        if len({(array.path, array.name, array.idx) for array in arrays}) != len(arrays):
            return  # a path that stands twice has no key
        key = [*(["path"] if len({array.path for array in arrays}) > 1 else []), *(["name"] if len(arrays) > 1 else []), *key]
        if len({tuple(row.get(name) for name in key) for row in rows}) != len(rows):
            return  # two arrays of one name in a .ten
        self.tables.append(
            self.make(f"t{len(self.tables)}", declared, rows, key=key, function=function, arguments=arguments, positions=positions)
        )

    def chosen(self, paths):
        return [array for path in paths for array in self.files[path]]

    def describe_all(self):
        for contents, arrays in self.blobs:
            for array in arrays:
                array.blob_nbytes = len(contents)
        self.describe_single_arrays()
        self.describe_surveys()
        self.describe_numbers()
        self.describe_archives()
        self.describe_comparison()
        self.make_typed_tables()
        self.make_others()
        self.tables = [table for table in self.tables if table.columns]

    def describe_single_arrays(self):
        for path, arrays in self.files.items():
            for array in arrays:
                items = array.items
                is_named = path.endswith("z") or (path.endswith("n") and sum(a.name == array.name for a in arrays) == 1 and array.name)
                member = {"member": self.one([array.name, array.idx]) if is_named else array.idx} if len(arrays) > 1 else {}
                function = self.one(["npy_rows", "npy_rows", "npy_elements"])
                if items.dtype.names is not None:
                    self.call("npy_rows", [array], path, **member, field="x")
                more = {"slice": self.one(SLICES[items.ndim])} if 0 < items.size < 100 and min(items.shape, default=2) > 1 and self.rng.random() < 0.4 else {}
                if function == "npy_rows" and items.dtype.kind in "iu" and items.dtype.itemsize < 8 and self.rng.random() < 0.2:
                    more["astype"] = "<f8"
                if self.rng.random() < 0.2:
                    # with 'skip' an array would be left out whose values are JSON and compared with a number
                    is_skipped = not is_json_row(items) and self.rng.random() < 0.5
                    more |= {"on_error": "skip"} if is_skipped else {"expect": f"[{', '.join(map(str, items.shape))}]"}
                if "slice" in more and self.rng.random() < 0.5:
                    more = {"member": "", **more}  # passed over, in brackets
                self.call(function, [array], path, **{**more, **member})
        for contents, arrays in self.blobs:
            for function in ("npy_rows", "npy_elements"):
                if len(arrays) == 1 or self.rng.random() < 0.5:
                    self.call(function, arrays, contents)
                else:
                    self.call(function, arrays[1:], contents, member="b")

    def describe_surveys(self):
        patterns = [("p*.npy", [f"p{i}.npy" for i in range(4)]), ("p[12].npy", ["p1.npy", "p2.npy"]), ('["p3.npy", "m.npz"]', ["p3.npy", "m.npz"])]
        patterns += [("{q,m}.npz", ["m.npz", "q.npz"]), ("{u.ten,p0.npy}", ["p0.npy", "u.ten"]), ("no*such", []), ("m.npz", ["m.npz"]), ("t.ten", ["t.ten"])]
        for pattern, paths in patterns:
            for function in ("npy_rows", "npy_elements", "npy_meta", "npy_file"):
                self.call(function, self.chosen(paths), pattern)
        with open("broken.npy", "wb") as out:
            out.write(b"no array")
        for function in ("npy_rows", "npy_elements", "npy_meta"):  # what is broken is left out
            self.call(function, self.chosen(["p0.npy"]), "{p0,broken}.npy", on_error="skip")
        self.call("npy_rows", self.files["m.npz"][:1] + self.files["q.npz"][:1], "{m,q}.npz", member="a")
        self.call("npy_meta", self.chosen(f"{i}.npy" for i in range(7)), "[0-9].npy")
        self.call("npy_meta", self.blobs[1][1], self.blobs[1][0])
        self.call("npy_file", self.files["ints.npy"], "ints.npy")

    def describe_numbers(self):
        is_number = lambda array: array.items.dtype.kind in "biuf" and array.items.dtype.itemsize <= 8
        # The least of both zeros may be either.
        has_zeros = lambda array: array.items.dtype.kind == "f" and np.signbit(array.items[array.items == 0]).any()
        fitting = [array for arrays in self.files.values() for array in arrays if is_number(array) and not has_zeros(array) and array.path != "long.npy"]
        for path in {array.path: None for array in fitting if array.path.endswith(".npy")}:
            self.call("npy_stats", self.files[path], path)
        both = [f"p{i}.npy" for i in range(4) if self.files[f"p{i}.npy"][0] in fitting]
        self.call("npy_stats", self.chosen(both), json.dumps(both))
        if self.files["table.npy"][0] in fitting and self.files["table.npy"][0].items.size:
            self.call("npy_stats", self.files["table.npy"], "table.npy", axis=self.one([0, 1]))
        self.files["h.npy"] = []
        items = self.rng.integers(-5, 9, 20).astype(self.one(["i4", "f8", "f4", "u1"]))
        self.put("h.npy", *self.npy(items))
        for bins in ({}, {"bins": 3}, {"bins": "[-4, 0, 1.5, 10]"}, {"bins": 4, "range_lo": 0, "range_hi": 5}):
            self.call("npy_histogram", self.files["h.npy"], "h.npy", **bins)
        self.put("g.npy", *self.npy(items[:7]))
        self.call("npy_histogram", self.chosen(["g.npy", "h.npy"]), "[gh].npy", bins=3)

    def describe_archives(self):
        for source, paths in (("m.npz", ["m.npz"]), ("*.npz", ["m.npz", "q.npz", "side.npz"])):
            rows = []
            for path in paths:
                names = {array.name: array for array in self.files[path]}
                with zipfile.ZipFile(path) as archive:
                    for i, entry in enumerate(archive.infolist()):
                        name = entry.filename[:-4] if entry.filename.endswith(".npy") else entry.filename
                        row = {"path": path, "idx": i, "name": name, "filename": entry.filename, "is_array": int(name in names), "source": source}
                        if name in names:
                            row.update(header_facts(names[name].items))
                        row.update(method={0: "stored", 8: "deflate"}[entry.compress_type], compressed_size=entry.compress_size, uncompressed_size=entry.file_size)
                        row.update(ratio=entry.compress_size / entry.file_size, crc32=entry.CRC, modified="2026-01-02 03:04:06", encrypted=0, crc_ok=1)
                        rows.append(row)
            self.tables.append(
                self.make(f"t{len(self.tables)}", MEMBERS, rows, key=["path", "idx"], function="npz_members", arguments={"source": source}, positions=["source"])
            )
        for source, paths in (("t.ten", ["t.ten"]), ("*.ten", ["t.ten", "u.ten"])):
            rows = [{**header_facts(a.items), **a.facts, **a.place, "idx": a.idx, "source": source} for a in self.chosen(paths)]
            self.tables.append(
                self.make(f"t{len(self.tables)}", TENS, rows, key=["path", "idx"], function="ten_arrays", arguments={"source": source}, positions=["source"])
            )

    def describe_comparison(self):
        base = {name: self.rng.integers(0, 9, 6).astype("i4") for name in ("same", "other", "long", "mine", "also")}
        there = {name: items.copy() for name, items in base.items() if name != "mine"}
        there["other"][2::2] += 3
        there["long"] = np.arange(9, dtype="i4")
        there["theirs"] = np.arange(2)
        os.mkdir("two")  # where no pattern finds them
        for path, members in (("two/a.npz", base), ("two/b.npz", there)):
            contents, arrays = self.npz(members, zipfile.ZIP_STORED)
            with open(path, "wb") as out:
                out.write(contents)
        rows = []
        for name, items in base.items():
            other = there.get(name)
            row = {"name": name, "a": "two/a.npz", "b": "two/b.npz", "path": "two/a.npz", "status": "only_a"}
            if other is not None and other.shape != items.shape:
                row["status"] = "shape"
            elif other is not None:
                apart = np.abs(items - other)
                row.update(status="differs" if apart.any() else "equal", max_abs=float(apart.max()), differing=int((apart != 0).sum()))
                row["first_at"] = int(np.flatnonzero(apart)[0]) if apart.any() else None
            rows.append(row)
        rows.append({"name": "theirs", "a": "two/a.npz", "b": "two/b.npz", "path": "two/a.npz", "status": "only_b"})
        self.tables.append(
            self.make(
                f"t{len(self.tables)}", COMPARE, rows, key=["name"], function="npy_compare", arguments={"a": "two/a.npz", "b": "two/b.npz"}, positions=["a", "b"]
            )
        )

    # --- typed tables

    def typed(self, name, arguments, columns, numbers, is_in_order=True):
        """columns: name -> (declared type, values)"""
        declared = ", ".join(f"{column} {kind}" for column, (kind, _) in columns.items())
        rows = [dict(zip(columns, values)) for values in zip(*(values for _, values in columns.values()))]
        self.db.execute(f"CREATE TABLE {name}({declared})")
        for number, row in zip(numbers, rows):
            self.db.execute(f"INSERT INTO {name}(rowid, {', '.join(row)}) VALUES (?{', ?' * len(row)})", (number, *row.values()))
        for column, (_, values) in columns.items():  # an affinity that changed a value would make it another table
            stored = [value for (value,) in self.db.execute(f"SELECT {column} FROM {name} ORDER BY rowid")]
            assert list(map(repr, stored)) == [repr(value) for _, value in sorted(zip(numbers, values), key=lambda pair: pair[0])], (name, column)
        self.db.execute(f"CREATE VIRTUAL TABLE v_{name} USING npy({arguments})")
        made = [Column("rowid", list(numbers), True, "INTEGER"), *(Column(column, values, False, kind) for column, (kind, values) in columns.items())]
        self.tables.append(Table(name, made, ["rowid"], len(rows), function=f"v_{name}", is_in_order=is_in_order))

    @staticmethod
    def declared_type(items):
        if is_json_row(items.reshape(-1)) or items.dtype.names is not None:
            return "TEXT"
        if items.dtype == "u8" or items.dtype == ">u8":
            return ""
        return {"b": "INTEGER", "i": "INTEGER", "u": "INTEGER", "m": "INTEGER", "f": "REAL", "V": "BLOB"}.get(items.dtype.kind, "TEXT")

    def column(self, items):
        """The declared type and the values of a typed table's column whose rows are the first axis."""
        kind = "TEXT" if items.ndim > 1 else self.declared_type(items)
        return kind, [sql_value(row) for row in rows_of(items)]

    def make_typed_tables(self):
        items = self.files["table.npy"][0].items
        self.typed("matrix", "'table.npy'", {f"c{i}": self.column(items[:, i]) for i in range(items.shape[1])}, range(len(items)))
        side = {array.name: self.column(array.items) for array in self.files["side.npz"]}
        self.typed("side", "'side.npz'", side, range(5))
        self.typed("backward", "'ints.npy', slice='::-1'", {"value": self.column(self.files["ints.npy"][0].items[::-1])}, range(7, -1, -1), is_in_order=False)
        self.typed("stepped", "'long.npy', slice='3::200'", {"value": self.column(self.files["long.npy"][0].items[3::200])}, range(3, 1500, 200))
        records = few_values(self.rng, FEW_FIELDS, (5,))
        records["x"][records["x"] == 0] = 0
        self.put("records.npy", *self.npy(records))
        self.typed("records", "'records.npy'", {name: self.column(records[name]) for name in records.dtype.names}, range(5))

    # --- tables that stand on both sides, and functions whose arguments come from them

    def make_others(self):
        """Ordinary tables, for joins of every affinity; and the files by path, name and number."""
        self.ordinary = []
        for name, size in (("k", 6), ("l", 3)):
            of = lambda kind, size=size: [sql_value(item) for item in rows_of(few_values(self.rng, kind, (size,)))]
            columns = {"id": ("INTEGER PRIMARY KEY", list(range(size))), "i": ("INTEGER", [int(n) for n in self.rng.integers(-1, 8, size)])}
            columns.update(t=("TEXT", of("U2")), r=("REAL", of("f4")), n=("NUMERIC", of("i2")), u=("", of(self.one(["f8", "u8", "S3"]))))
            rows = [dict(zip(columns, values)) for values in zip(*(values for _, values in columns.values()))]
            declared = ", ".join(f"{column} {kind}".strip() for column, (kind, _) in columns.items())
            self.ordinary.append(self.make(name, declared, rows, key=["id"]))
        files = []
        for path in ("p0.npy", "p1.npy", "0.npy", "m.npz", "q.npz", "u.ten"):
            for array in self.files[path]:
                size = array.items.shape[0] if array.items.ndim else 0
                files.append({"id": len(files), "path": path, "name": array.name, "idx": array.idx, "part": self.one(["", "", "::-1", "1:"]) if size > 1 else ""})
        files.append({"id": len(files), "path": None, "name": None, "idx": 0, "part": ""})
        self.file_table = self.make("files", "id INTEGER PRIMARY KEY, path TEXT, name TEXT, idx INTEGER, part TEXT", files, key=["id"])
        # SQLite hands `path = 'x'` on to what is joined by path, and there must be an x, with an array of this number.
        self.file_table.outputs = self.file_table.planned = [self.file_table.by_name[name] for name in ("id", "path")]
        self.file_table.by_name["path"].pool = self.file_table.by_name["path"].own
        self.ordinary.append(self.file_table)
        forms = [
            ("npy_rows", {"source": "path", "member": "name"}),
            ("npy_rows", {"source": "path", "member": "idx", "slice": "part"}),
            ("npy_elements", {"source": "path", "member": "idx"}),
            ("npy_meta", {"source": "path"}),
            ("npy_file", {"source": "path", "member": "name"}),
        ]
        for function, form in forms:
            self.correlated.append((self.make_correlated(function, form, files), form))

    def make_correlated(self, function, form, files):
        declared, positions, key = FUNCTIONS[function]
        rows, seen = [], set()
        for file in files:
            given = {argument: file[column] for argument, column in form.items()}
            if None in given.values() or tuple(given.values()) in seen:
                continue
            seen.add(tuple(given.values()))
            arrays = self.files[file["path"]]
            if "member" in form and given["member"] != "":
                arrays = [array for array in arrays if (array.name if form["member"] == "name" else array.idx) == given["member"]]
            rows += self.rows_of_call(function, arrays, given)
        key = ["source", *(["member"] if "member" in form else []), *(["slice"] if "slice" in form else ["name"]), *key]
        return self.make(f"all{len(self.correlated)}", declared, rows, key=key, function=function, arguments=form, positions=positions)
