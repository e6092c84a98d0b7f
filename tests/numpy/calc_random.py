"""Random expressions over random arrays, as npy_calc computes them and as NumPy does (calc_oracle.py):

    python3 tests/numpy/calc_random.py [SECONDS | --questions N] [--seed S] [--only NUMBER] [--goes-on]

or `make calc SECONDS=...`. Question NUMBER of a seed is always the same one.

Operands are .npy BLOBs in both byte orders and orders of items, handles of files, of deflated members of archives, of bfloat16 in
safetensors, of several files one after the other, slices of arrays that are made when they are read, and numbers. A part of the
questions is also asked of the build whose sizes are variables (src/base/tunables.h), with sizes at random and 1 and 3 threads:
those answers are the same to the last bit, errors included. All builds are in this process, each a copy of the library.
A difference is printed with how to have it again, and ends the run, unless it --goes-on.
"""

import argparse
import ast
import collections
import functools
import io
import itertools
import os
import random
import re
import shutil
import sqlite3
import sys
import tarfile
import tempfile
import time
import zipfile
from typing import Any, NamedTuple

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))

import numpy as np  # noqa: E402

import calc_oracle  # noqa: E402
import shell  # noqa: E402
from formats import safetensors  # noqa: E402

SMALL_BUILD = os.environ.get("NPYEXT_SMALL_SO") or os.path.join(shell.ROOT, ".build", "small", "npyext.so")
# Of the questions, asked of the small build, and of some that are read in a slice.
SHARE_ASKED_AGAIN, SHARE_SLICED = 0.05, 0.3
LONG_NELEM = 256  # of so many items, all are: it is these that other sizes make other pieces of
QUESTIONS_PER_TUNING = 20000
NTUNINGS = 3


def is_same(mine, theirs):
    """Two answers of ours: of NaN also the sign and what else it has, for files are made of it."""
    if isinstance(mine, str) or isinstance(theirs, str):
        return isinstance(mine, str) and isinstance(theirs, str) and mine == theirs
    return mine.dtype == theirs.dtype and mine.shape == theirs.shape and mine.tobytes() == theirs.tobytes()


class Difference(Exception):
    pass


# --- arrays as SQL -----------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=20000)
def header_of(descr, shape, is_fortran):
    text = str({"descr": descr, "fortran_order": is_fortran, "shape": shape}).encode("latin1")
    length = -(-(len(text) + 11) // 64) * 64 - 10
    return b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + text.ljust(length - 1) + b"\n"


def npy_of(array):
    is_fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    return header_of(array.dtype.str, array.shape, is_fortran) + array.tobytes("A")


@functools.lru_cache(maxsize=20000)
def read_header(header):
    fields = ast.literal_eval(header[10:].decode("latin1"))
    assert not fields["fortran_order"]
    return np.dtype(fields["descr"]), fields["shape"]


def array_of(blob):
    begin = 10 + int.from_bytes(blob[8:10], "little")
    dtype, shape = read_header(blob[:begin])
    return np.frombuffer(blob, dtype, offset=begin).reshape(shape)


class Operand(NamedTuple):
    value: Any  # the array or number that it is
    sql: str
    parameters: tuple
    how: str


HANDLE = "(SELECT array FROM npy_file(?))"


def write(name, contents):
    with open(name, "wb") as file:
        file.write(contents)
    return name


def deflated(name, array):
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("x.npy", npy_of(array))
    return name


def in_a_tar(name, array):
    contents = npy_of(array)
    with tarfile.open(name, "w:gz", compresslevel=1) as archive:
        member = tarfile.TarInfo("x.npy")
        member.size = len(contents)
        archive.addfile(member, io.BytesIO(contents))
    return name


def of_several_files(rng, name, array):
    """npy_concat of parts, in any byte order."""
    cuts = sorted(rng.randint(0, len(array)) for _ in range(rng.randint(0, 3)))
    for i, part in enumerate(np.split(array, cuts)):
        part = part.astype(part.dtype.newbyteorder(rng.choice("<>")))
        write(f"{name}-{i}.npy", npy_of(np.asfortranarray(part) if rng.random() < 0.3 else part))
    return Operand(array, "npy_concat(?)", (f"{name}-*.npy",), "npy_concat")


def sliced(rng, name, array):
    """A slice of an array that is made when it is read, and has other items around those of this one."""
    around = array
    slices, spec = [], []
    for axis, length in enumerate(array.shape):
        way = rng.choice([":", ":", "::-1", "1:", "::2", f":{length}"])
        if way == "::-1":
            around = np.flip(around, axis)
        elif way == "1:":
            around = np.concatenate([np.take(around, [0] if length else [], axis), around], axis)
            way = "1:" if length else ":"
        elif way == "::2":
            around = np.repeat(around, 2, axis)
        elif way != ":":
            around = np.concatenate([around, around], axis)
        spec.append(way)
        slices.append(slice(*[int(part) if part else None for part in way.split(":")]))
    around = around.astype(array.dtype)  # concatenate makes the machine's byte order
    assert np.array_equal(around[tuple(slices)], array, equal_nan=array.dtype.kind in "fcmM")
    path = write(f"{name}.npy", npy_of(around))
    return Operand(array, f"npy_slice(npy_calc('a', {HANDLE}), ?)", (path, ", ".join(spec)), "npy_slice of npy_calc")


def bfloat16(name, array):
    """The nearest zero-wards, as a tensor whose items are read as float32."""
    bits = np.array(array, dtype="<f4", order="C").view("<u4") >> 16
    path = write(f"{name}.safetensors", safetensors([("x", "BF16", array.shape, bits.astype("<u2").tobytes())], None))
    return Operand((bits.astype("<u4") << 16).view("<f4").reshape(array.shape), HANDLE, (path,), "bfloat16")


def given(rng, name, array, is_of_files):
    """The array as an operand."""
    if calc_oracle.is_number(array):
        return Operand(array, "?", (array,), "number")
    way = rng.choice(["blob", "blob", "file", "deflated", "tar.gz", "several", "sliced", "bfloat16"] if is_of_files else ["blob"])
    if way == "bfloat16" and array.dtype.kind == "f":
        return bfloat16(name, array)
    if way == "file":
        return Operand(array, HANDLE, (write(f"{name}.npy", npy_of(array)),), "npy_file")
    if way == "tar.gz":
        return Operand(array, HANDLE, (in_a_tar(f"{name}.tar.gz", array),), "tar.gz")
    if way == "deflated":
        return Operand(array, HANDLE, (deflated(f"{name}.npz", array),), "deflated")
    if way == "several" and array.ndim:
        return of_several_files(rng, name, array)
    if way == "sliced" and array.ndim:
        return sliced(rng, name, array)
    return Operand(array, "?", (npy_of(array),), "BLOB")


# --- random values -----------------------------------------------------------------------------------------------------

INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FLOATS = ["f2", "f4", "f8"]
# Dtypes and operators that mostly have an answer together.
FAMILIES = {
    "any": (["?", *INTEGERS, *FLOATS, "c8", "c16"], [*(symbol for symbol, _, _ in calc_oracle.BINARY.values()), *calc_oracle.COMPARED]),
    "integers": (["?", *INTEGERS, *INTEGERS], ["+", "-", "*", "//", "%", "**", "&", "|", "^", "/", "<", "<=", "==", "!=", ">", ">="]),
    "one integer": (INTEGERS, ["+", "-", "*", "//", "%", "**", "&", "|", "^"]),
    "floats": (["?", "i1", "u2", "i4", *FLOATS, *FLOATS, *FLOATS], ["+", "-", "*", "/", "//", "%", "**", "<", "<=", "==", "!=", ">", ">="]),
    "complex": (["c8", "c16", "c8", "f4", "f2", "i4", "?"], ["+", "-", "*", "/", "==", "!="]),
    "dates": (["M8[s]", "m8[s]", "M8[s]"], ["-", "-", "+", "<", "<=", "==", "!=", ">", ">="]),
}
FAMILY_WEIGHTS = {"any": 15, "integers": 25, "one integer": 15, "floats": 35, "complex": 8, "dates": 6}
UNITS = ["Y", "D", "h", "s", "25s", "ns"]
SPECIALS = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e30, 1e300, -1e-310, 1e-40, 65504.0, 0.5, -0.5, 1.5, 2.5, 1.0, -1.0, 2.0**53, -(2.0**63)]
NUMBERS = ["0", "1", "2", "3", "7", "64", "127", "128", "255", "300", "65536", "4294967296", "9223372036854775807"]
NUMBERS += ["0.5", "2.5", ".25", "3.", "1e3", "1e-3", "1e300", "0.1", "16777217", "1e5", "9007199254740993"]
SMALL_SHAPES = [(), (), (3,), (3,), (2, 3), (2, 3), (4, 1), (70,), (5, 7), (0,), (1,), (1, 1), (2, 0, 3), (130,), (64,), (2, 1, 3, 2), (20, 3)]
LARGE_SHAPES = [(2047,), (2048,), (2049,), (4100,), (3, 700), (700, 3), (70, 1, 45), (2, 2049), (2049, 2), (1, 4097)]


def random_integers(rng, nprng, dtype, shape):
    low, high = calc_oracle.INTEGER_LIMITS[dtype]
    way = rng.random()
    if way < 0.65:
        low, high = max(low, rng.choice([-4, -100, 0])), min(high, rng.choice([4, 11, 100]))
    array = nprng.integers(low, high, shape, dtype=dtype, endpoint=True)
    if way > 0.9 and array.size:
        array.flat[nprng.integers(0, array.size, 2)] = rng.choice(calc_oracle.INTEGER_LIMITS[dtype])
    return array


def random_floats(rng, nprng, shape):
    array = nprng.standard_normal(shape) * rng.choice([1, 3, 10, 1000, 1e-3])
    if rng.random() < 0.2:
        array = np.round(array)
    if rng.random() < 0.3:
        array = np.where(nprng.random(shape) < 0.3, np.array(SPECIALS)[nprng.integers(0, len(SPECIALS), shape)], array)
    return np.asarray(array)


def random_array(rng, nprng, code, shape):
    dtype = np.dtype(code)
    if dtype.kind == "b":
        array = nprng.random(shape) < 0.5
    elif dtype.kind in "iu":
        array = random_integers(rng, nprng, dtype, shape)
    elif dtype.kind in "Mm":
        array = np.asarray(random_integers(rng, nprng, np.dtype("i8"), shape)).astype("i8").view(dtype)
        if array.size and rng.random() < 0.2:
            array.flat[rng.randrange(array.size)] = np.array("NaT", dtype)
    elif dtype.kind == "f":
        array = random_floats(rng, nprng, shape).astype(dtype)
    else:
        array = (random_floats(rng, nprng, shape) + 1j * random_floats(rng, nprng, shape)).astype(dtype)
    array = np.asarray(array)
    if dtype.itemsize > 1 and rng.random() < 0.25:
        array = array.astype(array.dtype.newbyteorder(">"))
    return np.asfortranarray(array) if rng.random() < 0.25 else array


def random_shape_of(rng, shape):
    """One that broadcasts to it, mostly itself."""
    way = rng.random()
    if way < 0.2:
        shape = tuple(1 if rng.random() < 0.5 else length for length in shape)
    if 0.15 < way < 0.3:
        shape = shape[rng.randint(0, len(shape)) :]
    return shape


def random_leaf(rng, names):
    return rng.choice(NUMBERS) if rng.random() < 0.22 else rng.choice(names)


def in_parentheses(rng, text, likely):
    return f"({text})" if rng.random() < likely else text


def random_text(rng, names, symbols, depth):
    """An expression, with blanks and parentheses here and there: precedence decides the rest."""
    way = rng.random()
    if depth == 0 or way < 0.12:
        return random_leaf(rng, names)
    inner = lambda: random_text(rng, names, symbols, depth - 1)
    if way < 0.68:
        blank = rng.choice(["", " "])
        return f"{in_parentheses(rng, inner(), 0.6)}{blank}{rng.choice(symbols)}{blank}{in_parentheses(rng, inner(), 0.6)}"
    if way < 0.74:
        return f"{rng.choice('--~')}{in_parentheses(rng, inner(), 0.5)}"
    function = rng.choice(calc_oracle.UNARY) if way < 0.86 else rng.choice(["minimum", "maximum", "where", "where", "clip"])
    arguments = [inner() for _ in range(calc_oracle.FUNCTIONS[function])]
    return f"{function}({', '.join(arguments)})"


class Question(NamedTuple):
    text: str
    operands: list
    slice: Any  # of the first axis, as (from, to), or None: all of it

    def told(self):
        lines = [f"    npy_calc({self.text!r})" + (f" [{self.slice[0]}:{self.slice[1]}]" if self.slice else "")]
        for letter, operand in zip("abcd", self.operands):
            value = operand.value
            shown = value if calc_oracle.is_number(value) else f"{value.dtype.str} {value.shape} {value.ravel()[:6].tolist()}"
            lines.append(f"    {letter}, {operand.how}: {shown}")
        return "\n".join(lines)


def with_all_names(rng, text, names, symbols):
    for name in sorted(set(names) - set(re.findall(r"\b[a-d]\b", text))):
        text = rng.choice([f"({text}) {rng.choice(symbols)} {name}", f"where({name} == {name}, {text}, {random_leaf(rng, names)})"])
    return text


def random_question(seed, number):
    rng = random.Random((seed << 32) + number)
    nprng = np.random.Generator(np.random.SFC64(rng.getrandbits(64)))
    family = rng.choices(list(FAMILY_WEIGHTS), FAMILY_WEIGHTS.values())[0]
    codes, symbols = FAMILIES[family]
    if family == "one integer":
        codes = [rng.choice(codes)]
    if family == "dates":
        unit = rng.choice(UNITS)
        codes = [code.replace("[s]", f"[{unit}]") for code in codes]
    shape = rng.choice(LARGE_SHAPES if rng.random() < 0.04 else SMALL_SHAPES)
    names = "abcd"[: rng.choice([1, 2, 2, 2, 3, 3, 4])]
    is_of_files = rng.random() < 0.25
    operands = []
    for name in names:
        if family != "dates" and rng.random() < 0.06:
            value = rng.choice([1, 2, -3, 0, 255, -1, 0.5, -7.25, 1e300, 2**40])
        else:
            value = random_array(rng, nprng, rng.choice(codes), random_shape_of(rng, shape))
        operands.append(given(rng, f"{name}{number}", value, is_of_files))
    text = with_all_names(rng, random_text(rng, names, symbols, rng.choice([1, 1, 2, 2, 3])), names, symbols)
    # Of BLOBs alone all items are made at once.
    is_sliced = rng.random() < SHARE_SLICED and any(operand.sql.startswith(("(", "npy_concat")) for operand in operands)
    return Question(text, operands, (rng.random(), rng.random()) if is_sliced else None)


# --- asking ------------------------------------------------------------------------------------------------------------


class Library(NamedTuple):
    label: str
    connection: Any

    def ask(self, sql, parameters):
        """An array, or the text of an error."""
        try:
            return array_of(self.connection.execute(sql, parameters).fetchone()[0])
        except sqlite3.Error as error:
            return str(error)


def connect(label, path, nthreads, tune=""):
    """A connection of a library with settings of its own."""
    settings = {"NPYEXT_THREADS": str(nthreads) if nthreads else "", "NPYEXT_TUNE": tune}
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    if not nthreads:
        del os.environ["NPYEXT_THREADS"]
    connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=500)
    connection.enable_load_extension(True)
    connection.load_extension(path)
    for name, value in before.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    return Library(label, connection)


def random_tune(rng):
    settings = {"calc_nelem": rng.choice([64, 128, 192, 1024]), "held_nbytes": rng.choice([64, 1000, 1 << 23])}
    settings |= {"ahead_nbytes": rng.choice([1, 1000]), "member_piece_nbytes": rng.choice([7, 64, 1001]), "concat_ahead_nbytes": rng.choice([64, 1 << 23])}
    return ",".join(f"{name}={value}" for name, value in settings.items())


def small_libraries(rng, folder, serial):
    """With every size at its least, or at random; each with 1 and 3 threads, of one copy of the library."""
    libraries = []
    for i in range(NTUNINGS if os.path.exists(SMALL_BUILD) else 0):
        tune = "least" if i == 0 else random_tune(rng)
        path = shutil.copy(SMALL_BUILD, os.path.join(folder, f"npyext-{serial}-{i}.so"))
        libraries += [connect(f"NPYEXT_TUNE={tune} NPYEXT_THREADS={nthreads}", path, nthreads, tune) for nthreads in (1, 3)]
    return libraries


def statement(question, shape):
    """(SQL, parameters, the rows that are wanted)"""
    marks = ", ".join(operand.sql for operand in question.operands)
    parameters = (question.text, *itertools.chain.from_iterable(operand.parameters for operand in question.operands))
    sql = f"npy_calc(?, {marks})"
    rows = slice(None)
    if question.slice is not None and shape:
        low, high = sorted(int(part * (shape[0] + 1)) for part in question.slice)
        rows = slice(low, high)
        sql, parameters = f"npy_slice({sql}, ?)", (*parameters, f"{low}:{high}")
    is_lazy = any(operand.sql != "?" for operand in question.operands)
    return f"SELECT {'npy_copy' if is_lazy else ''}({sql})", parameters, rows


def place_of(message):
    """The index that an error of an item names, or None."""
    found = re.search(r": item \[([-\d, ]*)\]: ", message)
    return tuple(int(n) for n in found[1].split(",") if n.strip()) if found else None


class Run:
    def __init__(self, seed, folder, goes_on):
        self.seed, self.folder, self.goes_on = seed, folder, goes_on
        self.rng = random.Random(seed)
        self.library = connect("released", shell.EXTENSION, 0)
        self.small = []
        self.counts = collections.Counter()
        self.ndifferences = 0

    def ask(self, text, operands):
        """npy_calc's answer to a function alone, for the oracle."""
        marks = ", ".join("?" * len(operands))
        parameters = [value if calc_oracle.is_number(value) else npy_of(value) for value in operands]
        found = self.library.ask(f"SELECT npy_calc(?, {marks})", (text, *parameters))
        if isinstance(found, str):
            raise calc_oracle.Wrong(f"{text}: {found}")
        return found

    def one(self, number):
        question = random_question(self.seed, number)
        operands = {letter: operand.value for letter, operand in zip("abcd", question.operands)}
        shape = ()
        try:
            wanted, fault = calc_oracle.answer(question.text, operands, self.ask)
            shape = wanted.shape
        except calc_oracle.Refused as refused:
            wanted, fault = refused, None
        except calc_oracle.Wrong as wrong:
            return self.report(number, question, str(wrong))
        sql, parameters, rows = statement(question, shape)
        found = self.library.ask(sql, parameters)
        problem = self.problem(found, wanted, fault, rows)
        if problem:
            return self.report(number, question, problem)
        share = SHARE_ASKED_AGAIN if isinstance(found, str) or found.size < LONG_NELEM else 1
        if self.small and self.rng.random() < share:
            self.ask_again(number, question, sql, parameters, found)
        if any(operand.sql != "?" for operand in question.operands):
            self.counts["of files"] += 1

    def problem(self, found, wanted, fault, rows):
        """What is wrong with an answer, or None."""
        if isinstance(wanted, calc_oracle.Refused):
            self.counts["refused"] += 1
            if isinstance(found, str) and place_of(found) is None:
                return None
            return f"must be refused ({wanted}), is {found!r}"
        if rows != slice(None):
            wanted, fault = wanted[rows], fault[rows] if fault is not None else None
        if fault is not None and fault.any():
            self.counts["faults"] += 1
            place = tuple(int(i) for i in np.argwhere(fault)[0])
            if isinstance(found, str) and place_of(found) == (place if rows == slice(None) else (place[0] + rows.start, *place[1:])):
                return None
            return f"must be an error of item {list(place)} from {rows}, is {found!r}"
        self.counts["values"] += 1
        if isinstance(found, str):
            return f"is an error: {found}"
        if calc_oracle.is_same(found, wanted):
            return None
        if found.shape != wanted.shape or found.dtype != wanted.dtype:
            return f"is {found.dtype}{found.shape}, must be {wanted.dtype}{wanted.shape}"
        unlike = [i for i in range(found.size) if not calc_oracle.is_same(found.ravel()[i : i + 1], wanted.ravel()[i : i + 1])]
        return f"item number {unlike[0]} of {found.dtype}{found.shape} is {found.flat[unlike[0]]!r}, must be {wanted.flat[unlike[0]]!r}"

    def ask_again(self, number, question, sql, parameters, found):
        self.counts["asked again"] += 1
        for library in self.small:
            other = library.ask(sql, parameters)
            if not is_same(other, found):
                self.report(number, question, f"is {found!r}, and with {library.label} {other!r}")

    def report(self, number, question, problem):
        self.ndifferences += 1
        told = f"question {number} of seed {self.seed}\n{question.told()}\n    {problem[:1500]}"
        if not self.goes_on:
            raise Difference(told)
        print(told, flush=True)

    def tune(self, serial):
        for library in self.small:
            library.connection.close()
        self.small = small_libraries(self.rng, self.folder, serial)

    def clear(self):
        for name in os.listdir("."):
            if not name.endswith(".so"):
                os.remove(name)


@calc_oracle.numpy_2_rules()
def run(seconds=None, questions=None, seed=None, only=None, goes_on=False):
    """Returns a line about what was run; raises Difference."""
    seed = shell.random_seed() if seed is None else seed
    home, began = os.getcwd(), time.monotonic()
    folder = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    os.chdir(folder)
    number = 0
    try:
        runs = Run(seed, folder, goes_on)
        for number in itertools.count() if only is None else [only]:
            if number >= questions if questions is not None else seconds is not None and time.monotonic() - began > seconds:
                break
            if number % QUESTIONS_PER_TUNING == 0 or only is not None:
                runs.tune(number)
            runs.one(number)
            if number % 100 == 0:
                runs.clear()
    finally:
        os.chdir(home)
        shutil.rmtree(folder)
    took = time.monotonic() - began
    counts = ", ".join(f"{n} {name}" for name, n in sorted(runs.counts.items()))
    return f"seed {seed}: {number} expressions with {runs.ndifferences or 'no'} differences in {took:.0f} s ({number / took:.0f} a second; {counts}; NumPy {np.__version__})"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("seconds", nargs="?", type=float, default=30)
    parser.add_argument("--questions", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--only", type=int)
    parser.add_argument("--goes-on", action="store_true")
    options = parser.parse_args()
    try:
        print(run(options.seconds, options.questions, options.seed, options.only, options.goes_on), flush=True)
    except Difference as difference:
        sys.exit(str(difference))


if __name__ == "__main__":
    main()
