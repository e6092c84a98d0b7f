"""npy_calc: some seconds of random expressions (calc_random.py; NPYEXT_CALC_SECONDS, which is 4 to 10 in CI), and what they do not
meet often enough."""

import itertools
import os
import random
import re
import sqlite3
import threading
import time

import numpy as np
import pytest

import calc_oracle
import calc_random
import shell
from arrays import npy_bytes, seeded_generator, write_sparse_npy
from expected import error_of

SECONDS = float(os.environ.get("NPYEXT_CALC_SECONDS", "3"))
NUMBERS = "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()
DATES = ["M8[s]", "m8[s]"]
LETTERS = "abcdefghijklmnopqrstuvwxyz"
HANDLE = "(SELECT array FROM npy_file(?))"
# Seconds; without a stop the tasks take longer.
SOON = 20.0 if shell.SANITIZED else 4.0


@pytest.fixture(autouse=True)
def rules():
    with calc_oracle.numpy_2_rules():
        yield


def blob(*items, dtype="f8"):
    return npy_bytes(np.array(items, dtype))


def calc(db, text, *operands):
    """The array that it makes of arrays and numbers."""
    marks = ", ".join("?" * len(operands))
    given = [npy_bytes(operand) if isinstance(operand, np.ndarray) else operand for operand in operands]
    [[made]] = db.execute(f"SELECT npy_copy(npy_calc(?, {marks}))", (text, *given))
    return None if made is None else calc_random.array_of(made)


def error_of_calc(db, text, *operands):
    given = [npy_bytes(operand) if isinstance(operand, np.ndarray) else operand for operand in operands]
    return error_of(db, f"SELECT npy_calc(?, {', '.join('?' * len(operands))})", text, *given)


def test_random_expressions(monkeypatch):
    if shell.SAMPLES:  # only `make check-whole` builds it: what lies there may be of another day
        monkeypatch.setattr(calc_random, "SMALL_BUILD", "")
    try:
        print(calc_random.run(SECONDS))
    except calc_random.Difference as difference:
        raise AssertionError(str(difference)) from None


# --- every operator and function on every dtype ------------------------------------------------------------------------


def items_of(rng, code):
    """Eight items, of which most have results in most operations."""
    dtype = np.dtype(code)
    if dtype.kind in "Mm":
        return np.array([*rng.integers(-1000, 1000, 7), np.iinfo("i8").min]).view(dtype)
    if dtype.kind in "iu":
        return rng.integers(0, 4, 8).astype(dtype)
    if dtype.kind == "c":
        return (rng.normal(size=8) + 1j * rng.normal(size=8)).astype(dtype)
    return (np.array([0, -0.0, 1, 0.5, 2.5, np.nan, np.inf, -3]) if dtype.kind == "f" else rng.random(8) < 0.5).astype(dtype)


def assert_as_oracle(db, text, *operands):
    """The value, the place of the first fault, or an error that names no item."""
    ask = lambda text, operands: calc(db, text, *operands)
    try:
        wanted, fault = calc_oracle.answer(text, dict(zip(LETTERS, operands)), ask)
    except calc_oracle.Refused:
        assert calc_random.place_of(error_of_calc(db, text, *operands)) is None
        return
    if fault is not None:
        assert calc_random.place_of(error_of_calc(db, text, *operands)) == tuple(np.argwhere(fault)[0])
        return
    found = calc(db, text, *operands)
    assert calc_oracle.is_same(found, wanted), (text, operands, found, wanted)


@pytest.mark.parametrize("symbol", [symbol for symbol, _, _ in [*calc_oracle.BINARY.values(), *calc_oracle.COMPARISONS.values()]])
def test_operators(db, symbol):
    rng = seeded_generator()
    for a, b in itertools.product(NUMBERS + DATES, repeat=2):
        assert_as_oracle(db, f"a {symbol} b", items_of(rng, a), items_of(rng, b))
    for a, number in itertools.product(NUMBERS + DATES, [0, 1, -1, 3, 300, 2**40, 0.5, -2.5, 1e300]):
        assert_as_oracle(db, f"a {symbol} b", items_of(rng, a), number)
        assert_as_oracle(db, f"a {symbol} b", number, items_of(rng, a))


@pytest.mark.parametrize("function", ["-", "~", *calc_oracle.UNARY])
def test_functions_of_one_array(db, function):
    rng = seeded_generator()
    for a in NUMBERS + DATES:
        assert_as_oracle(db, f"{function}(a)", items_of(rng, a))
    for number in (0, 2, -3, 0.25, -0.75):
        assert_as_oracle(db, f"{function}(b) + a * 0", np.zeros(2), number)


@pytest.mark.parametrize("function", ["minimum", "maximum"])
def test_functions_of_two_arrays(db, function):
    rng = seeded_generator()
    for a, b in itertools.product(NUMBERS + DATES, repeat=2):
        assert_as_oracle(db, f"{function}(a, b)", items_of(rng, a), items_of(rng, b))
    for a, number in itertools.product(NUMBERS + DATES, [1, -1, 300, 0.5]):
        assert_as_oracle(db, f"{function}(a, b)", items_of(rng, a), number)


@pytest.mark.parametrize("function", ["where", "clip"])
def test_functions_of_three_arrays(db, function):
    rng = seeded_generator()
    for a, b, c in itertools.product(["?", "i1", "u1", "u2", "i8", "u8", "f2", "f8", "c8", *DATES], repeat=3):
        assert_as_oracle(db, f"{function}(a, b, c)", items_of(rng, a), items_of(rng, b), items_of(rng, c))
    for a, b, c in itertools.product(NUMBERS + DATES, [1, -1, 0.5], [3, 300, 2.5]):
        assert_as_oracle(db, f"{function}(a, b, c)", items_of(rng, a), b, c)


@pytest.mark.parametrize("code", "i1 i2 i4 i8 u1 u2 u4 u8".split())
def test_integers_at_their_limits(db, code):
    """Every pair of items near the limits, one by one, so that each has its value or its error."""
    low, high = calc_oracle.INTEGER_LIMITS[np.dtype(code)]
    near = {low, low + 1, low // 2, -2, -1, 0, 1, 2, 3, 7, high // 2, high // 2 + 1, high - 1, high}
    edges = sorted(edge for edge in near if edge >= low)
    for symbol in ("+", "-", "*", "//", "%", "**"):
        for a, b in itertools.product(edges, repeat=2):
            assert_as_oracle(db, f"a {symbol} b", np.array([a], code), np.array([b], code))
    for a in edges:
        assert_as_oracle(db, "-a", np.array([a], code))
        assert_as_oracle(db, "abs(a)", np.array([a], code))


def test_integers_and_unsigned_ones_are_compared_exactly(db):
    a, b = np.array([2**63 - 1, -1, 2**53 + 1], "i8"), np.array([2**63, 2**64 - 1, 2**53], "u8")
    for symbol in ("<", "<=", ">", ">=", "==", "!="):
        assert_as_oracle(db, f"a {symbol} b", a, b)
        assert_as_oracle(db, f"b {symbol} a", a, b)


def test_dates_that_overflow_and_dates_that_are_none(db):
    most, nat = 2**63 - 1, -(2**63)
    dates, counts = np.array([most, nat, 5], "i8").view("M8[s]"), np.array([0, 1, nat], "i8").view("m8[s]")
    assert_as_oracle(db, "a + b", dates, counts)
    assert_as_oracle(db, "a - b", dates, counts)
    assert_as_oracle(db, "a + b", dates, np.array([1, 0, 0], "m8[s]"))
    # A result that is NaT by chance.
    assert_as_oracle(db, "a - b", np.array([-(2**63) + 1], "i8").view("M8[s]"), np.array([1], "m8[s]"))


# --- the text ----------------------------------------------------------------------------------------------------------

OPERAND = "an operand, a number or a function is expected in the expression"
F, I, U, B, C = np.zeros(3), np.zeros(3, "i4"), np.zeros(3, "u1"), np.zeros(3, "?"), np.zeros(3, "c8")
DATE, SPAN = np.zeros(3, "M8[s]"), np.zeros(3, "m8[s]")
CHAINED = "comparisons are not chained: write (a < b) & (b < c)"
EACH_SIDE = "with parentheses around each side"
# The text and its operands; the message; what stands at the place that is shown.
MESSAGES = [
    (("", F), OPERAND, None),
    (("a +", F), OPERAND, None),
    (("+a", F), OPERAND, "+a"),
    (("abs()", F), OPERAND, ")"),
    (("a + é", F), OPERAND, "é"),
    (("(a", F), "')' is expected in the expression", None),
    (("a)", F), "an operator is expected in the expression", ")"),
    (("a b", F, F), "an operator is expected in the expression", "b"),
    (("a sqrt(a)", F), "an operator is expected in the expression", "sqrt(a)"),
    (("a = 1", F), "'=' has no meaning here; write ==", "= 1"),
    (("a == = 1", F), "'=' has no meaning here; write ==", "= 1"),
    (("== a", F), OPERAND, "== a"),
    (("a <> 1", F), "'<>' has no meaning here; write !=", "> 1"),
    (("a < > 1", F), OPERAND, "> 1"),
    (("a && b", F, F), f"'&&' has no meaning here; write & {EACH_SIDE}", "& b"),
    (("a || b", F, F), f"'||' has no meaning here; write | {EACH_SIDE}", "| b"),
    (("!a", F), "'!' has no meaning here; write ~ before a condition in parentheses", "!a"),
    (("a[0]", F), "'[' has no meaning here; write npy_slice(array, ...) for the operand", "[0]"),
    (("np.sqrt(a)", F), "'np' has no meaning here; write the function's name alone", "np.sqrt(a)"),
    (("pow(a, 2)", F), "'pow' has no meaning here; write a ** b", "pow(a, 2)"),
    (("1 if a > 0 else 2", F), "'if' has no meaning here; write where(condition, x, y)", "if a > 0 else 2"),
    (("a - mean(a)", F), "'mean' has no meaning here; write npy_mean(array), whose result may be an operand", "mean(a)"),
    (("a ^ 2.5", F), "'^' is not defined for float64; a power is `**`", "^ 2.5"),
    (("abs a", F), "'(' after a function's name is expected in the expression", "a"),
    (("minimum(a)", F), "',' before the next argument is expected in the expression", ")"),
    (("minimum(a, 1, 2)", F), "')' after the arguments is expected in the expression", ", 2)"),
    (("a < b < 1", F, F), CHAINED, "< 1"),
    (("a * (1 < a <= 2)", F), CHAINED, "<= 2)"),
    (("a and b", F, F), f"'and' has no meaning here; write & {EACH_SIDE}", "and b"),
    (("(a or b)", F, F), f"'or' has no meaning here; write | {EACH_SIDE}", "or b)"),
    (("where(a > 0 and b, 1, 2)", F, F), f"'and' has no meaning here; write & {EACH_SIDE}", "and b, 1, 2)"),
    (("not a", F), "'not' has no meaning here; write ~ before a condition in parentheses", "not a"),
    (("max(a, b)", F, F), "'max' has no meaning here; write maximum(a, b)", "max(a, b)"),
    (("min(a, b)", F, F), "'min' has no meaning here; write minimum(a, b)", "min(a, b)"),
    (("a1 + 1", F), "'a1' is neither an operand (a to z) nor one of the functions abs sign floor", None),
    (("0x10 + a", F), "'0x' is not a number", "0x10 + a"),
    (("a + 1e", F), "'1e' is not a number", "1e"),
    (("1..2 + a", F), "'1..' is not a number", "1..2 + a"),
    (("1_000 + a", F), "'1_' is not a number", "1_000 + a"),
    (("9223372036854775808 + a", F), "an integer of more than 63 bits; with a decimal point it is a float", "9223372036854775808 + a"),
    (("b", F), "there is no operand 'b'", "b"),
    (("a", F, F), "operand number 2, 'b', does not occur in the expression", None),
    (("1 + a", np.zeros(2, "U3")), "'a' is str96, which has no arithmetic here", "a"),
    (("a + b", np.zeros((2, 3)), np.zeros((3, 2))), "the shapes do not broadcast: axis 1 of 'b' has length 2, and that of an operand before it 3", None),
    (("a + 300", U), "300 does not fit uint8", "300"),
    (("clip(a, -1, 5)", U), "-1 does not fit uint8", "-1, 5)"),
    (("a - b", B, B), "'-' is not defined for bool; `^` is", "- b"),
    (("~a", F), "'~' is not defined for float64", "~a"),
    (("a & 1.5", I), "'&' is not defined for float64", "& 1.5"),
    (("a < b", C, C), "'<' is not defined for complex64", "< b"),
    (("1 + sqrt(a)", C), "'sqrt' is not defined for complex64", "sqrt(a)"),
    (("clip(a, 0, 1)", C), "'clip' is not defined for complex64", "clip(a, 0, 1)"),
    (("round(a)", B), "'round' is not defined for bool", "round(a)"),
    (("where(a, 1, 2)", C), "'where': the condition must be bools or real numbers", "where(a, 1, 2)"),
    (("a + b", DATE, DATE), "'+': dates are subtracted or compared", "+ b"),
    (("b - a", DATE, SPAN), "'-': a date is not subtracted from a timedelta", "- a"),
    (("a < b", DATE, SPAN), "'<': dates and timedeltas do not mix", "< b"),
    (("a + 1", DATE), "'+': dates and numbers do not mix", "+ 1"),
    (("a + b", DATE, I), "'+': dates and numbers do not mix", "+ b"),
    (("a - b", DATE, np.zeros(3, "M8[ms]")), "dates of two units, datetime64[s] and datetime64[ms]; convert one with npy_astype", None),
    (("(1 < 2) + a", F), "'<': both sides are numbers", "< 2) + a"),
    (("1 // 0 + a", F), "'//': division by zero", "// 0 + a"),
    (("9223372036854775807 + 1 + a", F), "'+': the number does not fit 64 bits; with a decimal point it is a float", "+ 1 + a"),
    (("10.0 ** 400 + a", F), "'**': the number does not fit a float", "** 400 + a"),
    (("a - 1", U), "item [0]: '-' of uint8 overflows", "- 1"),
    (("a // b", I, I), "item [0]: '//' of int32 divides by zero, or overflows", "// b"),
    (("a % b", U, U), "item [0]: '%' of uint8 divides by zero", "% b"),
    (("a ** -1", I), "item [0]: '**' of int32 overflows, or has a negative power", "** -1"),
    (("a", "x.npy"), "a (x.npy): a TEXT is not an array", None),
]


@pytest.mark.parametrize("asked, message, place", MESSAGES, ids=[asked[0][:20] for asked, _, _ in MESSAGES])
def test_messages(db, asked, message, place):
    found = error_of_calc(db, *asked)
    assert f"npy_calc: {message}" in found
    if place is not None:
        off = len(asked[0].encode()) - len(place.encode())
        if asked[0].endswith(place):
            assert found.endswith(f", at byte {off}: {place}")
        else:
            assert re.search(rf", at byte \d+: {re.escape(place)}", found)


def test_the_expression_is_a_text(db):
    assert "the expression must be a TEXT" in error_of_calc(db, 5, F)
    assert "takes an expression and its operands" in error_of(db, "SELECT npy_calc('1')")
    assert "takes an expression and its operands" in error_of_calc(db, "+".join(LETTERS), *[F] * 27)


def test_nulls_make_null(db):
    assert calc(db, None, F) is None
    assert calc(db, "a", None) is None
    assert calc(db, "a + b", F, None) is None


def test_numbers_alone_make_an_array_of_one(db):
    assert calc(db, "a + 1", 2) == np.array(3)
    assert calc(db, "a / 2", 1).shape == ()


def random_numbers(rng, depth):
    """An expression of numbers with as few parentheses as chance wants."""
    if depth == 0 or rng.random() < 0.1:
        return rng.choice(["0", "1", "2", "3", "7", "10", "0.5", "2.", ".25", "1e3", "9007199254740993", "1e-2"])
    if rng.random() < 0.15:
        return f"{rng.choice('--~')}{random_numbers(rng, depth - 1)}"
    text = f"{random_numbers(rng, depth - 1)} {rng.choice('+ - * / // % ** & | ^ + - *'.split())} {random_numbers(rng, depth - 1)}"
    return f"({text})" if rng.random() < 0.25 else text


def test_numbers_are_what_python_makes_of_them(db):
    """Precedence and all, by Python's own parser and numbers."""
    seed = shell.random_seed()
    print(f"NPYEXT_SEED={seed}")
    rng = random.Random(seed)
    nvalues = 0
    for _ in range(4000):
        text = random_numbers(rng, rng.randint(1, 5))
        whole = f"where(a, {text}, 0)"
        try:
            [wanted], _ = calc_oracle.answer(whole, {"a": np.ones(1, "?")}, None)
        except calc_oracle.Refused:
            assert isinstance(error_of_calc(db, whole, np.ones(1, "?")), str), text
            continue
        nvalues += 1
        [found] = calc(db, whole, np.ones(1, "?"))
        assert found == wanted and found.dtype == wanted.dtype, (text, found, wanted)
    assert nvalues > 1000


def test_limits_of_the_text(db):
    a = np.ones(2)
    assert (calc(db, "(" * 47 + "a" + ")" * 47, a) == a).all()
    assert "nested more than 48 levels deep, at byte 48: a" in error_of_calc(db, "(" * 48 + "a" + ")" * 48, a)
    assert (calc(db, "-" * 46 + "a", a) == a).all()
    assert "nested more than 48 levels deep" in error_of_calc(db, "-" * 48 + "a", a)
    assert "nested more than 48 levels deep" in error_of_calc(db, "a ** " * 48 + "a", a)
    assert "nested more than 48 levels deep" in error_of_calc(db, "abs(" * 100_000, a)
    assert (calc(db, "+".join(["a"] * 128), a) == 128).all()
    assert "more than 256 operands, numbers and operations, at byte 255: +a" in error_of_calc(db, "+".join(["a"] * 129), a)
    assert (calc(db, "a + " + "1" * 79 + ".", a) == 1 + float("1" * 79)).all()
    assert "a number has more than 80 characters, at byte 4: 111" in error_of_calc(db, "a + " + "1" * 80 + ".", a)
    assert (calc(db, "+".join(LETTERS), *[a] * 26) == 26).all()
    assert (calc(db, " \t\r\n" * 1000 + "a" + " " * 5000, a) == a).all()


# --- faults ------------------------------------------------------------------------------------------------------------


def test_a_fault_counts_only_where_it_is_chosen(db):
    a, b = np.array([6, 1, 9]), np.array([3, 0, 2])
    assert calc(db, "where(b == 0, 0, a // b)", a, b).tolist() == [2, 0, 4]
    assert calc(db, "where(b != 0, a // b, -1)", a, b).tolist() == [2, -1, 4]
    assert calc(db, "where(b == 0, 7, where(a > 0, a % b, 1 // b))", a, b).tolist() == [0, 7, 1]
    assert calc(db, "where(b == 0, 0, (a // b) * 2 + 1)", a, b).tolist() == [5, 0, 9]
    assert calc_random.place_of(error_of_calc(db, "where(a // b, 1, 1)", a, b)) == (1,)
    assert calc_random.place_of(error_of_calc(db, "where(b == 0, a // b, 1)", a, b)) == (1,)
    assert calc_random.place_of(error_of_calc(db, "isnan(a // b)", a, b)) == (1,)
    assert calc_random.place_of(error_of_calc(db, "a // b > 2 ** 40", np.array(a, "i1"), np.array(b, "i1"))) == (1,)


def test_the_first_fault_in_order_is_named(db):
    b = np.ones((30, 200), "i2")
    b[20, 7] = b[20, 9] = b[29, 199] = 0
    assert calc_random.place_of(error_of_calc(db, "1 // b + a", np.ones(200), b)) == (20, 7)
    for order in ("C", "F"):
        assert calc_random.place_of(error_of_calc(db, "1 // a", np.array(b, order=order))) == (20, 7)


# --- handles -----------------------------------------------------------------------------------------------------------


def test_handles_nest_sixteen_deep(db, folder):
    np.save("x.npy", np.arange(4))
    [[handle]] = db.execute(f"SELECT {HANDLE}", ("x.npy",))
    for _ in range(16):
        [[handle]] = db.execute("SELECT npy_calc('a + 1', ?)", (handle,))
    assert calc_random.array_of(db.execute("SELECT npy_copy(?)", (handle,)).fetchone()[0]).tolist() == [16, 17, 18, 19]


@pytest.mark.parametrize("shape", [(1100, 1100), (3, 1_100_000)])
def test_operands_too_large_to_hold(db, folder, shape):
    """More than 8 MiB, in another order or broadcast: they are walked through."""
    rng = seeded_generator()
    a, b = np.asfortranarray(rng.normal(size=shape)), rng.normal(size=(2, 1, shape[1]))
    np.save("a.npy", a)
    np.save("b.npy", b)
    found = db.execute(f"SELECT npy_copy(npy_calc('a - b', {HANDLE}, {HANDLE}))", ("a.npy", "b.npy")).fetchone()[0]
    assert calc_oracle.is_same(calc_random.array_of(found), a - b)
    assert calc_oracle.is_same(calc(db, "a - b", a, b), a - b)


def interrupted(connection):
    """Stops the connection's statement as soon as it runs."""
    stop = threading.Timer(0.2, connection.interrupt)
    stop.start()
    return stop


@pytest.mark.parametrize("source", ["handle", "BLOB"])
def test_interrupts(folder, connect, source):
    write_sparse_npy("x.npy", (20_000_000_000,) if source == "handle" else (1, 3_000_000))
    db = connect()
    if source == "handle":
        sql, operands = f"SELECT count(*) FROM npy_stats(npy_calc('sin(a) ** 2', {HANDLE})) WHERE max > 0", ("x.npy",)
    else:
        sql, operands = "SELECT length(npy_calc('sin(cos(tan(a + b)))', ?1, ?2))", (npy_bytes(np.zeros((1, 3000))), npy_bytes(np.zeros((40_000, 1))))
    stop = interrupted(db)
    began = time.monotonic()
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        db.execute(sql, operands).fetchall()
    stop.join()
    assert time.monotonic() - began < SOON
    assert calc(db, "a + 1", np.ones(1)) == 2


# --- defects -----------------------------------------------------------------------------------------------------------


def test_a_number_of_many_points_overran_a_buffer(db):
    for text in ("1" + "." * 75, "1" + ".1" * 37, "." * 80, "1." * 38, ".1" * 38):
        assert "npy_calc: " in error_of_calc(db, f"a + {text}", F)


@pytest.mark.parametrize("code", ["f4", "f8", "c8", "c16"])
def test_which_of_two_nans_a_sum_is_depended_on_its_place(db, code):
    rng = seeded_generator()
    real = np.empty(0, code).real.dtype

    def nans(n):
        """Of either sign, each with a payload of its own."""
        bits = np.full(n, np.inf, real).view(f"u{real.itemsize}") | rng.integers(1, 1 << 20, n, dtype=f"u{real.itemsize}")
        return np.where(rng.random(n) < 0.5, bits.view(real), -bits.view(real)).view(code)

    a, b = nans(3000), nans(3000)
    assert np.isnan(a).all() and np.isnan(b).all()
    for operator in "+-*/":
        whole = calc(db, f"a {operator} b", a, b)
        for begin, end in ((0, 1), (1, 700), (250, 520), (777, 1400)):
            assert calc(db, f"a {operator} b", a[begin:end], b[begin:end]).tobytes() == whole[begin:end].tobytes(), operator


def test_functions_of_complex_numbers_took_them_for_real_ones(db):
    for function in ("sqrt", *calc_oracle.INEXACT):
        assert f"'{function}' is not defined for complex64" in error_of_calc(db, f"{function}(a)", C)


def test_dates_were_compared_with_timedeltas(db):
    for text in ("a < b", "a == b", "where(1, a, b)", "where(1, b, a)"):
        assert "dates and timedeltas do not mix" in error_of_calc(db, text, DATE, SPAN)


def test_large_written_integers_were_divided_as_floats(db):
    for text in ("300 / 9007199254740993", "9223372036854775807 / 3", "9007199254740993 / -7", "1 / 9223372036854775807", "-5 / (-9223372036854775807 - 1)"):
        assert calc(db, f"where(a, {text}, 0)", np.ones(1)) == eval(text)


def test_clip_took_its_integers_before_its_floats(db):
    assert calc(db, "clip(a, b, c)", np.ones(1, "i1"), np.ones(1, "u1"), np.ones(1, "f2")).dtype == "f2"


def test_the_least_integer_was_divided_by_zero(db):
    found = error_of_calc(db, "a // -1", np.array([-(2**31)], "i4"))
    assert "'//' of int32 divides by zero, or overflows" in found


def test_what_became_of_a_fault_was_told_in_its_place(db):
    """a // 0 is nothing, of which the next operation was told to divide by zero."""
    found = error_of_calc(db, "5 % (a // b)", np.ones(1, "i4"), np.zeros(1, "i4"))
    assert "'//' of int32" in found


def test_an_operand_failed_after_faults_that_were_not_chosen(db, folder):
    """Notes of the block before said that all is well, and there was no block."""
    divisor = np.ones(3 * 2048, "i8")
    divisor[5] = 0
    other = np.ones(3 * 2048, "i8")
    other[5000] = 0
    np.save("d.npy", divisor)
    np.save("o.npy", other)
    sql = f"SELECT npy_copy(npy_calc('where(a == 0, 0, b // a)', {HANDLE}, npy_calc('1 // a', {HANDLE})))"
    for nthreads in ("1", "3"):
        os.environ["NPYEXT_THREADS"] = nthreads
        try:
            connection = shell.connect()
        finally:
            del os.environ["NPYEXT_THREADS"]
        assert "item [5000]: '//'" in error_of(connection, sql, "d.npy", "o.npy")
        connection.close()


def test_log10_and_tanh_were_more_than_two_units_off(db):
    """By the C library's own functions, of float32 and of float64."""
    rng = seeded_generator()
    ask = lambda text, operands: calc(db, text, *operands)
    given = [np.float32([1.0176982, 1.0176983]), np.array([0.2312050484729023]), rng.uniform(0.9, 1.1, 100_000).astype("f4"), rng.uniform(-1, 1, 200_000)]
    for function, items in itertools.product(["log10", "log1p", "expm1", "tan", "tanh"], given):
        calc_oracle.answer(f"{function}(a)", {"a": items}, ask)
