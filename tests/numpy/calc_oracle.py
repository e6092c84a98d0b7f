"""What NumPy 2 makes of an expression over whole arrays, and where it has no item: what npy_calc must answer.

An expression is Python's, parsed by Python's ast. Numbers are weak (NEP 50), NumPy says which dtype an operation has and what its
items are. Python's own integers say which items have none: those that overflow, are divided by zero or have a negative power. Such
an item is a fault, in where() only if it is chosen.

- What NumPy has and npy_calc has not by its specification (order of complex numbers, products of dates) is Refused, too.
- NumPy's loops differ in the sign of minimum(0.0, -0.0) and the like. Here the first one of equal items is taken, and NumPy's
  answer must be equal to it.
- A product of complex numbers is rounded four times here, and on some processors less often in NumPy.
- exp, log and their like are rounded by the C library. Whoever asks gives a function that asks npy_calc for one of them alone; its
  answer is compared with the exact one, and is then what the rest of the expression goes on with. So all the rest is exact.
"""

import ast
import contextlib
import functools
import operator
import warnings

import numpy as np

try:
    import mpmath
except ImportError:
    mpmath = None


@contextlib.contextmanager
def numpy_2_rules():
    """NumPy 1.24 to 1.26 promote dtypes as NumPy 2 does; and none warns of what overflows. Other tests in this process want
    neither."""
    has_both = hasattr(np, "_set_promotion_state")
    before = np._get_promotion_state() if has_both else None
    try:
        if has_both:
            np._set_promotion_state("weak")
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
    finally:
        if has_both:
            np._set_promotion_state(before)


def power(base, exponent):
    """Of integers: exponents beyond 64 change the sign alone, or are too large for all but -1, 0 and 1. Python would try."""
    return base ** (exponent if type(exponent) is float or exponent <= 64 else 64 + (exponent & 1))


INTEGER_LIMITS = {np.dtype(code): (int(np.iinfo(code).min), int(np.iinfo(code).max)) for code in "bhilqBHILQ"}
BINARY = {
    ast.Add: ("+", np.add, operator.add),
    ast.Sub: ("-", np.subtract, operator.sub),
    ast.Mult: ("*", np.multiply, operator.mul),
    ast.Div: ("/", np.true_divide, operator.truediv),
    ast.FloorDiv: ("//", np.floor_divide, operator.floordiv),
    ast.Mod: ("%", np.remainder, operator.mod),
    ast.Pow: ("**", np.power, lambda x, y: power(x, y) if type(x) is int else x**y),
    ast.BitAnd: ("&", np.bitwise_and, operator.and_),
    ast.BitOr: ("|", np.bitwise_or, operator.or_),
    ast.BitXor: ("^", np.bitwise_xor, operator.xor),
}
COMPARISONS = {
    ast.Lt: ("<", np.less, operator.lt),
    ast.LtE: ("<=", np.less_equal, operator.le),
    ast.Gt: (">", np.greater, operator.gt),
    ast.GtE: (">=", np.greater_equal, operator.ge),
    ast.Eq: ("==", np.equal, operator.eq),
    ast.NotEq: ("!=", np.not_equal, operator.ne),
}
# Rounded by the C library, each within these many units in the last place of the exact value and of NumPy's.
INEXACT = "exp expm1 log log1p log2 log10 sin cos tan tanh".split()
MOST_ULPS, MOST_ULPS_OF_NUMPY = 2, 5
UNARY = ["abs", "sqrt", *INEXACT, "floor", "ceil", "trunc", "round", "sign", "isnan", "isfinite"]
FUNCTIONS = {**dict.fromkeys(UNARY, 1), "minimum": 2, "maximum": 2, "where": 3, "clip": 3}
OF_COMPLEX = {"+", "-", "*", "/", "==", "!="}
WIDE = np.longdouble
# Integers of 64 bits are exact there, and functions of doubles good to a thousandth of their last place.
assert np.finfo(WIDE).nmant >= 63, "this oracle needs a long double of 64 bits"


class Refused(Exception):
    """There is no such operation on these dtypes, or no such number."""


class Wrong(AssertionError):
    """npy_calc's answer to a function alone is too far from the exact one, or NumPy's is not what this file takes for it."""


def is_number(value):
    return type(value) in (int, float)


def kinds_of(values):
    return {value.dtype.kind for value in values if not is_number(value)}


def is_integer(dtype):
    return dtype.kind in "iu"


def result_dtype(values):
    """numpy.result_type of NumPy 2: of three, NumPy 1 takes some numbers first."""
    numbers = [value for value in values if is_number(value)]
    dtypes = [value.dtype for value in values if not is_number(value)]
    return functools.reduce(np.result_type, numbers, np.result_type(*dtypes)) if dtypes else np.result_type(*numbers)


def common_dtype(values):
    """numpy.result_type, refusing integers that do not fit."""
    dtype = result_dtype(values)
    if is_integer(dtype) and any(is_number(value) and not fits(value, dtype) for value in values):
        raise Refused(f"a number does not fit {dtype}")
    return dtype


def fits(number, dtype):
    low, high = INTEGER_LIMITS[dtype]
    return low <= number <= high


def either(*faults):
    """Where one of them is; None stands for nowhere."""
    some = [fault for fault in faults if fault is not None]
    return functools.reduce(np.logical_or, some) if some else None


def native(array):
    return np.asarray(array, dtype=array.dtype.newbyteorder("="))


# --- faults of integers ------------------------------------------------------------------------------------------------


def limits_of(array):
    return (int(array.min()), int(array.max())) if array.size else (0, 0)


def may_overflow(symbol, x, y, dtype):
    """False if the least and greatest items show that no item does."""
    low, high = INTEGER_LIMITS[dtype]
    if symbol == "**":
        base, exponent = max(abs(n) for n in limits_of(x)), max(*limits_of(y), 0)
        return base > 1 and (exponent > 64 or base**exponent > high)
    exactly = {"+": operator.add, "-": operator.sub, "*": operator.mul}[symbol]
    corners = [exactly(a, b) for a in limits_of(x) for b in limits_of(y)]
    return min(corners) < low or max(corners) > high


def overflows(symbol, x, y, made):
    """Where an integer operation of two arrays has another result than made, by Python's integers."""
    dtype = made.dtype
    x, y = np.asarray(x, dtype=dtype), np.asarray(y, dtype=dtype)
    if symbol in ("//", "%"):
        has_none = (y == 0) if symbol == "%" or dtype.kind == "u" else (y == 0) | ((x == INTEGER_LIMITS[dtype][0]) & (y == -1))
        return np.broadcast_to(has_none, made.shape) if has_none.any() else None
    if symbol not in ("+", "-", "*", "**") or made.size == 0 or not may_overflow(symbol, x, y, dtype):
        return None
    exactly = np.frompyfunc(power, 2, 1) if symbol == "**" else {"+": np.add, "-": np.subtract, "*": np.multiply}[symbol]
    return np.asarray(exactly(x.astype(object), y.astype(object)) != made.astype(object), dtype=bool)


# --- functions that the C library rounds -------------------------------------------------------------------------------


def as_wide(array, dtype):
    """In long double; infinity is where the next finite number would be."""
    wide = array.astype(WIDE)
    beyond = WIDE(np.finfo(dtype).max) + WIDE(np.spacing(np.finfo(dtype).max))
    return np.where(np.isinf(wide), np.copysign(beyond, wide), wide)


def is_far(mine, other, most_ulps):
    """Where mine is more than so many units in the last place from the other ones, which may be long doubles."""
    dtype = mine.dtype
    rounded = other.astype(dtype)
    is_equal = (mine == rounded) & (np.signbit(mine) == np.signbit(rounded)) | np.isnan(mine) & np.isnan(other)
    if is_equal.all():
        return ~is_equal
    capped = np.where(np.isinf(rounded), np.copysign(np.finfo(dtype).max, rounded), rounded)
    ulp = np.spacing(np.abs(capped)).astype(WIDE)
    distance = np.abs(as_wide(mine, dtype) - (other if other.dtype == WIDE and not np.isinf(other).any() else as_wide(other, dtype)))
    return ~is_equal & ~(distance <= most_ulps * ulp)


def check_near(label, mine, exact, theirs, arguments):
    if mine.dtype != theirs.dtype or mine.shape != theirs.shape:
        raise Wrong(f"{label} is {mine.dtype}{mine.shape}, NumPy's {theirs.dtype}{theirs.shape}")
    is_wrong = is_far(mine, exact, MOST_ULPS) | is_far(mine, theirs, MOST_ULPS_OF_NUMPY)
    if is_wrong.any():
        at = np.flatnonzero(is_wrong)[0]
        shown = [np.broadcast_to(x, mine.shape).flat[at] for x in arguments]
        raise Wrong(f"{label} of {shown} in {mine.dtype}: {mine.flat[at]!r}, exactly {exact.flat[at]!r}, NumPy's {theirs.flat[at]!r}")
    if mpmath is not None and mine.size:
        check_one_exactly(label, mine, arguments)


def check_one_exactly(label, mine, arguments):
    """Long double is not exact itself: mpmath looks at one item."""
    at = mine.size // 2
    item = mine.flat[at]
    numbers = [float(np.broadcast_to(x, mine.shape).flat[at]) for x in arguments]
    largest = max(map(abs, numbers))
    if not np.isfinite(item) or not item or not largest < 1e15:
        return
    functions = {"log2": lambda x: mpmath.log(x, 2), "**": mpmath.power, "abs": mpmath.hypot}
    with mpmath.workprec(120):
        exact = functions.get(label, getattr(mpmath, label, None))(*[mpmath.mpf(x) for x in numbers])
        distance = abs(mpmath.mpf(float(item)) - exact)
        if distance > MOST_ULPS * mpmath.mpf(float(np.spacing(abs(item)))):
            raise Wrong(f"{label} of {numbers} in {mine.dtype}: {item!r}, by mpmath {exact}")


def rounded_by_c(name, x, ask):
    ufunc = getattr(np, name)
    theirs = np.asarray(ufunc(x))
    argument = np.asarray(x).astype(theirs.dtype)
    mine = ask(f"{name}(a)", [x])
    check_near(name, mine, np.asarray(ufunc(argument.astype(WIDE))), theirs, [argument])
    return mine


def float_power(x, y, ask):
    theirs = np.asarray(np.power(x, y))
    arguments = [np.asarray(value).astype(theirs.dtype) for value in (x, y)]
    exact = np.asarray(np.power(*[argument.astype(WIDE) for argument in arguments]))
    # Powers to one number 0.5 are square roots in NumPy, with another result here.
    theirs = np.where(np.isneginf(arguments[0]) & (arguments[1] == 0.5), exact.astype(theirs.dtype), theirs)
    mine = ask("a ** b", [x, y])
    check_near("**", mine, exact, theirs, arguments)
    return mine


def modulus(x, ask):
    theirs = np.asarray(np.abs(x))
    mine = ask("abs(a)", [x])
    check_near("abs", mine, np.asarray(np.hypot(x.real.astype(WIDE), x.imag.astype(WIDE))), theirs, [x.real, x.imag])
    return mine


# --- operations --------------------------------------------------------------------------------------------------------


def of_numbers(python, *numbers):
    """As Python does; what does not fit 63 bits or is not finite is refused."""
    try:
        made = python(*numbers)
    except (TypeError, ArithmeticError) as error:
        raise Refused(str(error)) from None
    if not is_number(made):
        raise Refused("no real number")
    if type(made) is int and not -(2**63) <= made < 2**63:
        raise Refused("an integer of more than 63 bits")
    if type(made) is float and not np.isfinite(made):
        raise Refused("not finite")
    return made


def of_dates(symbol, ufunc, x, y):
    kinds = [value.dtype.kind if not is_number(value) else "number" for value in (x, y)]
    if not set(kinds) <= {"M", "m"} or (symbol in COMPARED and kinds[0] != kinds[1]) or symbol not in {"+", "-", *COMPARED}:
        raise Refused("no such operation on dates")
    made = np.asarray(ufunc(x, y))
    if symbol in COMPARED:
        return made, None
    counts = [np.asarray(value).astype("i8", copy=False) for value in (x, y, made)]
    exactly = np.add if symbol == "+" else np.subtract
    wanted = exactly(counts[0].astype(object), counts[1].astype(object))
    is_nat = np.isnat(x) | np.isnat(y)
    fault = np.asarray((wanted != counts[2].astype(object)) | (wanted == -(2**63)), dtype=bool) & ~is_nat
    return made, fault if fault.any() else None


def complex_product(x, y):
    dtype = common_dtype([x, y])
    x, y = np.asarray(x, dtype=dtype), np.asarray(y, dtype=dtype)
    theirs = np.asarray(np.multiply(x, y))
    made = np.empty(theirs.shape, dtype)
    made.real = x.real * y.real - x.imag * y.imag
    made.imag = x.real * y.imag + x.imag * y.real
    largest = np.maximum(np.abs(x.real), np.abs(x.imag)) * np.maximum(np.abs(y.real), np.abs(y.imag))
    bound = 8 * np.finfo(dtype).eps * largest + 4 * np.finfo(dtype).tiny
    is_near = (abs(made.real - theirs.real) <= bound) & (abs(made.imag - theirs.imag) <= bound) | ~np.isfinite(bound) | ~np.isfinite(made)
    if not is_near.all():
        raise Wrong("NumPy's product of complex numbers is another one")
    return made


def integer_power(x, y):
    """NumPy raises an error for all items if one exponent is negative."""
    dtype = common_dtype([x, y])
    dtype = np.dtype("i1") if dtype == bool else dtype
    base, exponent = np.asarray(x, dtype=dtype), np.asarray(y, dtype=dtype)
    is_negative = exponent < 0
    made = np.asarray(np.power(base, np.where(is_negative, dtype.type(0), exponent)))
    fault = overflows("**", base, np.where(is_negative, dtype.type(0), exponent), made)
    return made, either(fault, np.broadcast_to(is_negative, made.shape) if is_negative.any() else None)


def binary(symbol, ufunc, python, x, y, ask):
    if is_number(x) and is_number(y):
        return of_numbers(python, x, y), None
    kinds = kinds_of([x, y])
    if kinds & {"M", "m"}:
        return of_dates(symbol, ufunc, x, y)
    if "c" in kinds and symbol not in OF_COMPLEX:
        raise Refused(f"{symbol} of complex numbers")
    dtype = common_dtype([x, y]) if symbol != "/" else None
    if "c" in kinds and symbol == "*":
        return complex_product(x, y), None
    if symbol == "**" and dtype.kind in "biu":
        return integer_power(x, y)
    if symbol == "**":
        return float_power(x, y, ask), None
    made = np.asarray(ufunc(x, y))
    return made, overflows(symbol, x, y, made) if is_integer(made.dtype) else None


def compare(symbol, ufunc, python, x, y):
    if is_number(x) and is_number(y):
        raise Refused("both sides are numbers")
    kinds = kinds_of([x, y])
    if kinds & {"M", "m"}:
        return of_dates(symbol, ufunc, x, y)
    if "c" in kinds and symbol not in OF_COMPLEX:
        raise Refused("order of complex numbers")
    dtype = result_dtype([x, y])
    for array, number, is_first in ((y, x, True), (x, y, False)):
        if is_number(number) and is_integer(dtype) and not fits(number, dtype):
            return np.full(array.shape, python(number, 0) if is_first else python(0, number)), None
    if kinds <= {"i", "u", "b"} and dtype == "f8" and not is_number(x) and not is_number(y):
        x, y = x.astype(WIDE), y.astype(WIDE)  # i8 with u8, which NumPy 2 compares exactly
    return np.asarray(ufunc(x, y)), None


COMPARED = {symbol for symbol, _, _ in COMPARISONS.values()}


def first_of(is_it, x, y):
    """The first one where it is so or is NaN, else the second one."""
    return np.where(is_it | (x != x), x, y)


def least(x, y):
    return first_of(x <= y, x, y)


def greatest(x, y):
    return first_of(x >= y, x, y)


def check_equal(made, theirs):
    if made.dtype != theirs.dtype or not ((made == theirs) | (made != made) & (theirs != theirs)).all():
        raise Wrong("NumPy's minimum, maximum or clip is another one")
    return made


def bounds(name, values):
    dtype = common_dtype(values)
    if dtype.kind not in "biuf" or (name == "clip" and dtype == bool):
        raise Refused(f"{name} of {dtype}")
    values = [np.asarray(value, dtype=dtype) for value in values]
    made = {"minimum": least, "maximum": greatest, "clip": lambda x, low, high: least(greatest(x, low), high)}[name](*values)
    # Within the bounds, as NumPy's clip differs from release to release where the lower one is above the upper one or NaN.
    theirs = np.minimum(np.maximum(*values[:2]), values[2]) if name == "clip" else getattr(np, name)(*values)
    return check_equal(made, np.asarray(theirs))


def where(values, faults):
    condition, x, y = values
    kinds = kinds_of([x, y])
    if kinds_of([condition]) & {"c", "M", "m"} or len(kinds & {"M", "m"}) == 2 or (kinds & {"M", "m"} and (len(kinds) > 1 or is_number(x) or is_number(y))):
        raise Refused("where")
    dtype = common_dtype([x, y])
    chooses = np.asarray(condition) != 0
    made = np.where(chooses, np.asarray(x, dtype=dtype), np.asarray(y, dtype=dtype))
    chooses = np.broadcast_to(chooses, made.shape)
    chosen = [fault & counts for fault, counts in zip(faults[1:], (chooses, ~chooses)) if fault is not None]
    return made, either(faults[0], *chosen)


def unary(name, x, ask):
    """(items, faults) of a function of one argument."""
    array = np.asarray(x)
    kind = array.dtype.kind
    if kind in "Mm" or (kind == "c" and name not in ("abs", "isnan", "isfinite")):
        raise Refused(f"{name} of {array.dtype}")
    if kind == "b" and name in ("sign", "round"):
        raise Refused(f"{name} of bools")
    if kind == "c" and name == "abs":
        return modulus(array, ask), None
    if name in INEXACT:
        return rounded_by_c(name, x, ask), None
    if name in ("floor", "ceil", "trunc", "round") and kind in "biu":
        return array, None  # since NumPy 2.1
    made = np.asarray({"abs": np.abs, "round": np.round}.get(name, getattr(np, name, None))(array))
    least = INTEGER_LIMITS[array.dtype][0] if name == "abs" and kind == "i" else None
    return made, array == least if least is not None and (array == least).any() else None


def negative(x):
    if is_number(x):
        return of_numbers(operator.neg, x), None
    if x.dtype.kind in "Mmb":
        raise Refused(f"- of {x.dtype}")
    made = np.asarray(np.negative(x))
    if not is_integer(x.dtype):
        return made, None
    fault = x != 0 if x.dtype.kind == "u" else x == INTEGER_LIMITS[x.dtype][0]
    return made, fault if fault.any() else None


def inverted(x):
    if is_number(x):
        return of_numbers(operator.invert, x), None
    return np.asarray(np.invert(x)), None


# --- expressions -------------------------------------------------------------------------------------------------------


def call(node, operands, ask):
    name = node.func.id
    found = [value_of(argument, operands, ask) for argument in node.args]
    values, faults = [value for value, _ in found], [fault for _, fault in found]
    if name == "where":
        return where(values, faults)
    if FUNCTIONS[name] == 1:
        made, fault = unary(name, values[0], ask)
        return made, either(fault, *faults)
    return bounds(name, values), either(*faults)


def value_of(node, operands, ask):
    """(a number or an array, where it has no item or None) of a node of an expression."""
    if isinstance(node, ast.Constant):
        return of_numbers(lambda: node.value), None
    if isinstance(node, ast.Name):
        return operands[node.id], None
    if isinstance(node, ast.Call):
        return call(node, operands, ask)
    if isinstance(node, ast.UnaryOp):
        x, before = value_of(node.operand, operands, ask)
        made, fault = negative(x) if isinstance(node.op, ast.USub) else inverted(x)
        return made, either(fault, before)
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        raise Refused("comparisons are chained")
    left, right = (node.left, node.comparators[0]) if isinstance(node, ast.Compare) else (node.left, node.right)
    (x, x_fault), (y, y_fault) = value_of(left, operands, ask), value_of(right, operands, ask)
    if isinstance(node, ast.Compare):
        made, fault = compare(*COMPARISONS[type(node.ops[0])], x, y)
    else:
        made, fault = binary(*BINARY[type(node.op)], x, y, ask)
    return made, either(fault, x_fault, y_fault)


def answer(text, operands, ask):
    """(array, where it has faults or None) of an expression over operands by their letters: arrays, and Python's numbers. ask(text,
    operands) gives npy_calc's answer to a function alone. Raises Refused, and Wrong."""
    operands = {name: value if is_number(value) else native(value) for name, value in operands.items()}
    try:
        made, fault = value_of(ast.parse(text, mode="eval").body, operands, ask)
    except (TypeError, ValueError, OverflowError) as error:
        raise Refused(str(error)) from None
    made = np.asarray(made)
    return made, np.broadcast_to(fault, made.shape) if fault is not None and np.broadcast_to(fault, made.shape).any() else None


def is_same(mine, theirs):
    """To the last bit; of NaN only that it is one."""
    if mine.dtype != theirs.dtype or mine.shape != theirs.shape:
        return False
    if mine.tobytes() == theirs.tobytes():
        return True
    if mine.dtype.kind not in "fc":
        return False
    if mine.dtype.kind == "c":
        return all(is_same(getattr(mine, part), getattr(theirs, part)) for part in ("real", "imag"))
    return bool(((mine == theirs) & (np.signbit(mine) == np.signbit(theirs)) | (mine != mine) & (theirs != theirs)).all())
