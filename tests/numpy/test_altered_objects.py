"""Pickles of one value in which something has been replaced: another constant, one item more or less in a tuple. What Python makes
of it is what is to be told here, or the pickle is refused, or the class is named and its arguments are shown. What Python refuses
may be told, for nothing is lost by that.

Left as they are: numpy.dtype's arguments and the last numbers of its state, of which NumPy makes items from memory of nobody's.
"""

import faulthandler
import pickle
import pickletools
import random
import sqlite3

import numpy as np
import pytest

import children
import shell
from expected import parse_json
from objects import after_header, json_value, random_scalar

NROUNDS = shell.fewer(60)
CONSTANTS = [b"N", b"\x88", b"\x89", b")", b"]", b"}", b"K\x01\x85", b"K\x02K\x03\x86", b"](K\x01K\x02e", b"}X\x01\0\0\0aK\x01s"]
CONSTANTS += [b"K" + bytes([number]) for number in (0, 1, 5, 255)] + [b"M\0\x01", b"J\xff\xff\xff\xff", b"J\xfe\xff\xff\xff", b"\x8a\x09" + b"\xff" * 8 + b"\0"]
CONSTANTS += [b"G?\xf8" + bytes(6), b"G\x7f\xf8" + bytes(6), b"cbuiltins\nlist\n", b"cnumpy\nndarray\n", b"cnumpy\ndtype\n"]
CONSTANTS += [b"X" + bytes([len(text), 0, 0, 0]) + text for text in (b"", b"a", b"<", b">", b"|", b"=", b"O8", b"f8", b"M8", b"i4", b"us", b"D")]
CONSTANTS += [b"C" + bytes([len(text)]) + text for text in (b"", b"ab", b"abcd", b"abcdefghij", b"D", b"us")]
INTEGERS = {"BININT", "BININT1", "BININT2"}
PUSHES = INTEGERS | set("NONE NEWTRUE NEWFALSE LONG1 LONG INT FLOAT BINFLOAT SHORT_BINUNICODE BINUNICODE UNICODE SHORT_BINBYTES BINBYTES".split())
PUSHES |= set("SHORT_BINSTRING BINSTRING EMPTY_TUPLE EMPTY_LIST EMPTY_DICT BYTEARRAY8".split())


def opcodes(stream):
    """[name, bytes] of each but FRAME, whose length would be another."""
    found = list(pickletools.genops(stream))
    ends = [place for _, _, place in found[1:]] + [len(stream)]
    return [[code.name, stream[place:end]] for (code, _, place), end in zip(found, ends) if code.name != "FRAME"]


def is_of_a_dtype(names, i):
    """Whether the opcode is in `False, True` of numpy.dtype('f8', False, True) or in the itemsize, alignment and flags of its state."""
    arguments = any(names[j] in ("NEWTRUE", "NEWFALSE") and names[j + 1 : j + 3] == ["NEWTRUE", "TUPLE3"] for j in (i - 1, i) if j >= 0)
    state = any(INTEGERS.issuperset(names[j : j + 3]) and names[j + 3] in ("TUPLE", "EMPTY_DICT") for j in (i - 2, i - 1, i) if j >= 0)
    return arguments or state or names[i : i + 1] == ["TUPLE3"] and names[i - 1] == "NEWTRUE"


def altered(stream, rng):
    """The pickle with one or two places changed; None: there is nothing to change."""
    parts = opcodes(stream)
    names = [name for name, _ in parts]
    places = [i for i, name in enumerate(names) if (name in PUSHES or name.startswith("TUPLE")) and not is_of_a_dtype(names, i)]
    if not places:
        return None
    for i in rng.sample(places, min(len(places), rng.choice([1, 1, 2]))):
        constant = rng.choice(CONSTANTS)
        changes = {
            "TUPLE": [constant + b"t", b"0t"],
            "TUPLE1": [b"0)", constant + b"\x86"],
            "TUPLE2": [b"0\x85", constant + b"\x87"],
            "TUPLE3": [b"0\x86", b"00\x85"],
        }
        parts[i][1] = rng.choice(changes.get(names[i], [constant]))
    return b"".join(code for _, code in parts)


def told(db, stream):
    """What is told of the value; None: it is refused, or only named."""
    try:
        ((text,),) = db.execute("SELECT npy_json(?)", (after_header(stream),)).fetchall()
    except sqlite3.Error as error:
        assert str(error).startswith("npyext: ") or "too big" in str(error)
        return None
    return None if '"__class__"' in text else text


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_an_altered_pickle_is_what_python_makes_of_it(connect, protocol):
    seed = shell.random_seed()
    print(f"NPYEXT_SEED={seed}")
    db, rng, nprng = connect(), random.Random(seed + protocol), np.random.default_rng(seed + protocol)
    ntold = 0
    for _ in range(NROUNDS):
        streams = [altered(pickle.dumps([random_scalar(nprng)], protocol=protocol), rng) for _ in range(100)]
        streams = {stream.hex(): told(db, stream) for stream in streams if stream is not None}

        def compare(name):
            faulthandler.disable()  # some make NumPy itself crash, which ends the child
            try:
                wanted = json_value(pickle.loads(bytes.fromhex(name)))
            except Exception:  # of any class, and objects that have no value here
                return
            assert parse_json(streams[name]) == wanted, f"{bytes.fromhex(name)}: {streams[name]}"

        outcomes = children.run(compare, [name for name, text in streams.items() if text is not None], 10)
        ntold += len(outcomes)
        problems = [problem for problem in outcomes.values() if problem is not None and "AssertionError" in problem]
        assert not problems, problems[0]
    assert ntold > NROUNDS


@pytest.mark.parametrize("kind", ["M8", "m8"])
@pytest.mark.parametrize("unit, multiple, divisor", [("s", 1, 5), ("ms", 3, 1), ("s", 2, 4), ("D", 1, 1), ("us", 1, 3), ("generic", 1, 1), ("fortnight", 1, 1)])
def test_the_divisor_of_a_unit_was_passed_over(connect, kind, unit, multiple, divisor):
    stream = pickle.dumps([np.array([5, -7], "i8").view(f"{kind}[s]")], protocol=4)
    ours = b"(C\x01s\x94K\x01K\x01K\x01t"
    assert stream.count(ours) == 1
    stream = stream.replace(ours, b"(C%c%b\x94K%cK%cK\x01t" % (len(unit), unit.encode(), multiple, divisor))
    stream = stream.replace(stream[2:11], b"")  # FRAME
    ((got,),) = connect().execute("SELECT npy_json(?)", (after_header(stream),)).fetchall()
    try:
        wanted = pickle.loads(stream)
    except (TypeError, ValueError):
        assert '"__class__"' in got
    else:
        assert parse_json(got) == json_value(wanted)
