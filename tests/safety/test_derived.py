"""Pickles that make much of little: parts that stand once and count many times, claims of items, keys of keys. Whatever is
derived of a value is charged to one account, which grows with its bytes; so memory and time are bounded by them, and an
interrupt is noticed within 10 ms. Families with parameters, each asked in a process of its own."""

import json
import os
import struct
import subprocess
import sys
import tempfile

import pytest

import shell
from formats import npy

MIB = 1 << 20
# What docs/safety.md promises, and what SQLite, Python and buffers that double take beside it.
FREE_NBYTES, NBYTES_PER_BYTE, BESIDE_NBYTES = 8 * MIB, 512, 56 * MIB
NOTICED_SECONDS = 0.1 if shell.SANITIZED else 0.01


# --- pickles ------------------------------------------------------------------------------------------------


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def integer(value):
    return b"J" + struct.pack("<i", value)


def shape_of(*lengths):
    return b"(" + b"".join(map(integer, lengths)) + b"t"


def put(number):
    return b"r" + struct.pack("<I", number)


def get(number):
    return b"j" + struct.pack("<I", number)


def kept(number, value):
    """Puts a value by, and off the stack."""
    return value + put(number) + b"0"


def plain_dtype(code, order):
    return b"cnumpy\ndtype\n" + text(code) + b"\x89\x88\x87R(K\3" + text(order) + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"


def struct_dtype(fields, itemsize):
    """Of (name, dtype's pickle, offset)."""
    names = b"(" + b"".join(text(name) for name, _, _ in fields) + b"t"
    pairs = b"".join(text(name) + dtype + integer(offset) + b"\x86" for name, dtype, offset in fields)
    state = b"(K\3" + text("|") + b"N" + names + b"}(" + pairs + b"u" + integer(itemsize) + b"K\1K\x10tb"
    return b"cnumpy\ndtype\n" + text(f"V{itemsize}") + b"\x89\x88\x87R" + state


OBJECTS = plain_dtype("O8", "|")
NEW_ARRAY = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85C\1b\x87R"
NEW_MASKED = b"cnumpy.ma.core\n_mareconstruct\n(cnumpy.ma.core\nMaskedArray\ncnumpy\nndarray\nK\0\x85C\1btR"


def items_of(n, item):
    """A list of n times what one opcode pushes."""
    return b"](" + item * n + b"e"


def array_of(stream, n=1, dtype="|O", header=None):
    """A .npy whose pickle is a list of objects."""
    return npy(dtype, header or (n,), b"\x80\4" + stream + b".")


def repeated(before, each, n):
    """One object: a list of n objects, each made anew of what stands before."""
    return array_of(b"]" + before + b"](" + each * n + b"ea")


# --- families -----------------------------------------------------------------------------------------------


def shared_masked(axes, length):
    """The root of a masked array: lists of one list, length^axes items."""
    stream = items_of(length, b"N")
    for number in range(axes - 1):
        stream = kept(number, stream) + items_of(length, get(number))
    return array_of(stream, header=(length,) * axes)


def built(n, nbuilds, fortran, item=b"N"):
    """Arrays of one list of n objects."""
    state = b"(K\1" + shape_of(n // 2, 2) + OBJECTS + (b"\x88" if fortran else b"\x89") + items_of(n, item) + b"t"
    return repeated(kept(0, state), NEW_ARRAY + get(0) + b"b", nbuilds)


def built_in_fortran_order(nbytes, nbuilds):
    state = b"(K\1" + shape_of(2, nbytes // 2) + plain_dtype("u1", "|") + b"\x88B" + struct.pack("<I", nbytes) + b"\1" * nbytes + b"t"
    return repeated(kept(0, state), NEW_ARRAY + get(0) + b"b", nbuilds)


def built_masked(nbytes, nbuilds):
    data = b"B" + struct.pack("<I", nbytes) + b"\0" * nbytes
    state = b"(K\1" + shape_of(nbytes) + plain_dtype("u1", "|") + b"\x89" + data + data + b"Nt"
    return repeated(kept(0, state), NEW_MASKED + get(0) + b"b", nbuilds)


def claimed(item_nbytes, nitems, narrays):
    """Structured arrays whose items have a long text that is not there."""
    dtype = struct_dtype([("s", plain_dtype(f"S{item_nbytes}", "|"), 8), ("o", OBJECTS, 0)], item_nbytes + 8)
    state = b"(K\1" + shape_of(nitems) + dtype + b"\x89" + items_of(nitems, b"C\0N\x86") + b"t"
    return repeated(kept(0, state), NEW_ARRAY + get(0) + b"b", narrays)


def claimed_by_header(item_nbytes, nitems):
    return array_of(items_of(nitems, b"C\0N\x86"), nitems, [("s", f"S{item_nbytes}"), ("o", "O")])


def claimed_fields(nfields, nitems, narrays):
    """Items of no bytes, with many fields."""
    void = kept(1, plain_dtype("V0", "|"))
    fields = [(f"{i:04}", get(1), 0) for i in range(nfields)] + [("o", OBJECTS, 0)]
    item = kept(2, b"(" + b"C\0" * nfields + b"Nt")
    state = b"(K\1" + shape_of(nitems) + struct_dtype(fields, 8) + b"\x89" + items_of(nitems, get(2)) + b"t"
    return repeated(void + item + kept(0, state), NEW_ARRAY + get(0) + b"b", narrays)


def dtypes_of_dtypes(nfields, levels, narrays):
    """Dtypes of fields of one dtype, nfields^levels fields."""
    stream = kept(1, plain_dtype("f4", "<"))
    for _ in range(levels):
        stream += kept(1, struct_dtype([(f"{i:03}", get(1), 0) for i in range(nfields)], 4))
    state = b"(K\1K\1\x85" + get(1) + b"\x89C\4abcdt"
    return repeated(stream + kept(0, state), NEW_ARRAY + get(0) + b"b", narrays)


def sets(n, nsets):
    return repeated(kept(0, items_of(n, b"N") + b"\x85"), b"cbuiltins\nset\n" + get(0) + b"R", nsets)


def newobjs(n, ncalls):
    args = b"(cA\nb\n" + b"N" * n + b"t"
    return repeated(kept(0, args), b"ccopyreg\n__newobj__\n" + get(0) + b"R", ncalls)


def ordered_dicts(n, ncalls):
    return repeated(kept(1, b"](NNe") + kept(0, items_of(n, get(1)) + b"\x85"), b"ccollections\nOrderedDict\n" + get(0) + b"R", ncalls)


def encoded(nbytes, ncalls):
    args = text("a" * nbytes) + text("latin1") + b"\x86"
    return repeated(kept(0, args), b"c_codecs\nencode\n" + get(0) + b"R", ncalls)


def globals_of(nbytes, ncalls):
    return repeated(kept(0, text("a" * nbytes)), get(0) + get(0) + b"\x93", ncalls)


def attributes(nbytes, ncalls):
    args = b"c" + b"a" * nbytes + b"\nb\n" + text("c" * nbytes) + b"\x86"
    return repeated(kept(0, args), b"cbuiltins\ngetattr\n" + get(0) + b"R", ncalls)


def paths(nbytes, nparts, ncalls):
    part = kept(1, text("a" * nbytes))
    return repeated(part + kept(0, b"(" + get(1) * nparts + b"t"), b"cpathlib\nPurePosixPath\n" + get(0) + b"R", ncalls)


def uuids(nkeys, nbuilds):
    """States whose number stands first, or not at all."""
    state = b"}(" + b"NN" * nkeys + b"u"
    return repeated(kept(0, state), b"cuuid\nUUID\n)R" + get(0) + b"b", nbuilds)


def keys_of_keys(levels, width=1):
    """Dicts as keys of dicts: the backslashes of each level are twice those within."""
    stream = text("a")
    for _ in range(levels):
        stream = b"}" + stream + b"N" + b"s"
    return array_of(b"](" + stream * width + b"e", width)


def keys_of_arrays(levels):
    """The same, with an array of objects around each dict."""
    stream = text("a")
    for _ in range(levels):
        state = b"(K\1K\1\x85" + OBJECTS + b"\x89](}" + stream + b"Nset"
        stream = NEW_ARRAY + state + b"b"
    return array_of(b"](" + stream + b"e")


def equal_keys(nkeys, levels, nbytes):
    """Many keys are one tuple, and only the last of them is shown; over and over."""
    stream = kept(0, text("a" * nbytes) + b"\x85")
    for _ in range(levels):
        stream += kept(0, b"}(" + (get(0) + b"N") * nkeys + b"u\x85")
    return array_of(stream + items_of(1, get(0)))


def doubled(times, width=2):
    stream = b"]"
    for number in range(times):
        stream = kept(number, stream) + b"(" + get(number) * width + b"l"
    return array_of(b"](" + stream + b"e")


def shared_texts(nbytes, n):
    return repeated(kept(0, text("\1" * nbytes)), get(0), n)


def one_array_in_lists(times, width, key_nbytes=0):
    """An array that is in many places, width^times, and has a name in each; with keys, a long one."""
    state = b"(K\1" + shape_of(2) + plain_dtype("u1", "|") + b"\x89C\2abt"
    stream = NEW_ARRAY + state + b"b"
    for number in range(times):
        keys = [text(f"{i:02}" + "k" * key_nbytes) if key_nbytes else b"" for i in range(width)]
        stream = kept(number, stream) + b"(" + b"".join(key + get(number) for key in keys) + (b"d" if key_nbytes else b"l")
    return array_of(b"](" + stream + b"e")


def keys_cut_short(levels, width, times):
    """A key that is a tuple of one tuple over and over, too long to be a name, on each of many ways to an array."""
    key, array = 0, 1
    stream = kept(key, text("k" * 20))
    for _ in range(levels):
        stream += kept(key, b"(" + get(key) * width + b"t")
    stream += kept(array, NEW_ARRAY + b"(K\1" + shape_of(2) + plain_dtype("u1", "|") + b"\x89C\2abtb")
    for _ in range(times):
        stream += kept(array, b"}(" + get(key) + b"(" + get(array) * 2 + b"lu")
    return array_of(b"](" + stream + get(array) + b"e")


def many_pickles(n):
    """Pickles in a row, as a file may hold them."""
    return npy("|O", (1,), b"\x80\4N." * n)


FAMILIES = [
    (shared_masked, [(4, 128), (7, 16), (14, 4), (28, 2), (2, 2000)]),
    (built, [(10_000, 3_000, False), (1_000, 20_000, True), (40_000, 4_000, False)]),
    (built_in_fortran_order, [(40_000, 8_000), (1 << 18, 2_000)]),
    (built_masked, [(20_000, 3_000), (1 << 18, 500)]),
    (claimed, [(1_000_000, 1, 300), (1_000, 1_000, 2_000), (100_000_000, 40, 1), (2_000_000_000, 1, 1)]),
    (claimed_by_header, [(2_000_000_000, 1), (1_000_000, 500)]),
    (claimed_fields, [(2_000, 5_000, 500)]),
    (dtypes_of_dtypes, [(60, 2, 3_000), (15, 12, 100), (4_000, 1, 5_000)]),
    (sets, [(20_000, 5_000), (500, 20_000)]),
    (newobjs, [(20_000, 5_000), (500, 20_000)]),
    (ordered_dicts, [(10_000, 3_000)]),
    (encoded, [(40_000, 5_000), (1 << 19, 500)]),
    (globals_of, [(20_000, 10_000), (1 << 19, 500)]),
    (attributes, [(20_000, 5_000)]),
    (paths, [(500, 500, 3_000), (4_000, 50, 5_000)]),
    (uuids, [(20_000, 20_000)]),
    (keys_of_keys, [(20,), (24,), (27,), (40,), (90,), (16, 50)]),
    (keys_of_arrays, [(8,), (20,), (45,)]),
    (equal_keys, [(500, 1, 10_000), (10_000, 1, 20_000), (500, 2, 10_000), (50, 5, 100), (5, 30, 10)]),
    (doubled, [(20,), (26,), (28,), (60,), (8, 16)]),
    (shared_texts, [(20_000, 20_000), (1 << 18, 100)]),
    (keys_cut_short, [(7, 6, 40), (4, 40, 12), (1, 5_000, 20)]),
    (many_pickles, [(1_000_000,)]),
    (one_array_in_lists, [(20, 2), (60, 2), (6, 16), (90, 1), (20, 2, 20_000), (3, 50, 2_000)]),
]
CASES = [(make, arguments) for make, parameters in FAMILIES for arguments in shell.some(parameters, 3)]

OF_A_FILE = ["SELECT count(*) FROM npy_meta(:a)", "SELECT length(metadata) FROM npy_meta(:a) LIMIT 1", "SELECT count(value) FROM npy_elements(:a, 0)"]
QUESTIONS = ["SELECT count(value) FROM npy_rows(:a)", "SELECT npy_json(:a)", "SELECT npy_preview(:a)", "SELECT value, count FROM npy_unique(:a)"]

# --- a process that may die of it ----------------------------------------------------------------------------

# Python and the extension are loaded once; each case is asked in a child of that process, which knows nothing of the others.
SERVE = """
import json, os, resource, signal, sqlite3, sys, time
sys.path.insert(0, sys.argv[1])
import shell
def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name)) << 10
def answer(array, questions, seconds):
    if sys.argv[2] != "asan":
        resource.setrlimit(resource.RLIMIT_AS, (status("VmSize") + (3 << 30),) * 2)
    db = shell.connect()
    answers = []
    for sql in questions:
        with open("/proc/self/clear_refs", "w") as peaks:
            peaks.write("5")
        before, start = status("VmHWM"), time.process_time()
        db.set_progress_handler(None, 0)
        if seconds > 0:
            deadline = start + seconds
            db.set_progress_handler(lambda: time.process_time() > deadline, 100)
        try:
            rows = db.execute(sql, {"a": array}).fetchall()
            said = None
            del rows
        except (sqlite3.Error, MemoryError) as error:
            said = str(error)[:300] or type(error).__name__
        answers.append([sql, time.process_time() - start, status("VmHWM") - before, said])
    return answers
while line := sys.stdin.buffer.readline():
    nbytes, patience, questions, seconds = json.loads(line)
    array = sys.stdin.buffer.read(nbytes)
    child = os.fork()
    if child == 0:
        signal.alarm(patience)
        try:
            os.write(1, json.dumps(answer(array, questions, seconds)).encode() + b"\\n")
        except BaseException as error:
            os.write(2, repr(error).encode() + b"\\n")
            os._exit(1)
        os._exit(0)
    _, ended = os.waitpid(child, 0)
    os.write(1, json.dumps(os.waitstatus_to_exitcode(ended)).encode() + b"\\n")
"""


@pytest.fixture(scope="module")
def asked():
    """asked(array, questions, seconds=0.0) -> [question, seconds of CPU, bytes at most, message of an error] for each."""
    command = [sys.executable, "-B", "-c", SERVE, os.path.dirname(shell.__file__), shell.FLAVOUR]
    with tempfile.TemporaryFile() as complaints, subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints) as server:

        def asked(array, questions, seconds=0.0):
            server.stdin.write(json.dumps([len(array), shell.PATIENCE, questions, seconds]).encode() + b"\n" + array)
            server.stdin.flush()
            answers = json.loads(server.stdout.readline() or b"-1")
            ended = json.loads(server.stdout.readline() or b"-1") if isinstance(answers, list) else answers
            complaints.seek(0)
            assert isinstance(answers, list) and ended == 0, (ended, complaints.read().decode("utf-8", "backslashreplace")[-800:])
            return answers

        yield asked
        server.stdin.close()


def name_of(case):
    return case.__name__ if callable(case) else "x".join(map(str, case))


@pytest.mark.parametrize("make, arguments", CASES, ids=name_of)
def test_what_is_derived_is_bounded_by_the_bytes_there_are(asked, make, arguments):
    array = make(*arguments)
    allowance = FREE_NBYTES + NBYTES_PER_BYTE * len(array)  # of the values, and as much of the text of one item
    for sql, seconds, nbytes, said in asked(array, QUESTIONS):
        assert said is None or said.startswith("npyext: "), (sql, said)
        if not shell.SANITIZED:
            assert nbytes < 2 * allowance + BESIDE_NBYTES, (sql, len(array), nbytes, said)
            assert seconds < 1 + 4 * len(array) / MIB, (sql, len(array), seconds, said)


@pytest.mark.parametrize("make, arguments", CASES, ids=name_of)
def test_what_is_derived_of_a_pickle_as_a_file(asked, make, arguments):
    """It is listed and searched for arrays, and those of objects are read."""
    array = make(*arguments)
    pickle = array[array.index(b"\x80\4") :]
    allowance = FREE_NBYTES + NBYTES_PER_BYTE * len(pickle)
    for sql, seconds, nbytes, said in asked(pickle, OF_A_FILE):
        assert said is None or said.startswith("npyext: "), (sql, said)
        if not shell.SANITIZED:
            assert nbytes < 2 * allowance + BESIDE_NBYTES, (sql, len(array), nbytes, said)
            assert seconds < 1 + 4 * len(array) / MIB, (sql, len(array), seconds, said)
    late = []
    for _ in range(3):
        late = [row for row in asked(pickle, OF_A_FILE, 0.05) if row[1] >= 0.05 + NOTICED_SECONDS + row[2] / (8 << 30)]
        if not late:
            break
    assert late == []


@pytest.mark.parametrize("make, arguments", CASES, ids=name_of)
def test_an_interrupt_is_noticed_whatever_is_derived(asked, make, arguments):
    array = make(*arguments)
    questions = QUESTIONS
    for attempt in range(3):  # another process may have the caches, and the processor then takes twice as long
        late = []
        for sql, seconds, nbytes, said in asked(array, questions, 0.05):
            assert said is None or said.startswith("npyext: ") or "interrupted" in said, (sql, said)
            freeing = nbytes / (8 << 30)  # what was made until then is given back
            if seconds >= 0.05 + NOTICED_SECONDS + freeing:
                late.append((sql, len(array), seconds, nbytes, said))
        questions = [question for question in QUESTIONS if question in [answer[0] for answer in late]]
        if not late:
            break
    assert late == [], attempt
