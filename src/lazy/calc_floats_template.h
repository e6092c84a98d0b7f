/*
 * Loops over floats of one type (calc_loops.c), and over complex numbers of two of them:
 *
 *     CALC_WORD, CALC_COMPLEX_WORD    in the functions' names
 *     CALC_ITEM                       float or double
 *     CALC_MATH(name)                 the C library's function for it: expf or exp
 *     CALC_CLOSE(name, x)             likewise, where that for float is more than 2 units off here and there
 *
 * Nothing here has no result, so the loops return false.
 */
#define CALC(name)      NPYX_JOIN(calc, CALC_WORD, name)
#define CALC_PAIR(name) NPYX_JOIN(calc, CALC_COMPLEX_WORD, name)
#define CALC_LOOP(name, type, expression)                                                                    \
    static bool CALC(name)(void *restrict made, const void *restrict x, const void *restrict y,              \
                           int64_t nelem) {                                                                  \
        const CALC_ITEM *a = x, *b = y;                                                                      \
        __typeof__((type)0) *out = made;                                                                     \
        (void)b;                                                                                             \
        CALC_EACH(out[i] = expression;)                                                                      \
        return false;                                                                                        \
    }

/* Of two NaNs a processor keeps the first, and of a + b and a * b a compiler may take either as the first:
 * one in a vectorised loop, the other in the rest after it. So the last items are filled up to whole vectors,
 * and the same instructions go over all: the same items have the same bits, wherever they are. */
#define CALC_PIECES(word, name, step, ...)                                                                   \
    static __attribute__((noinline)) void NPYX_JOIN(calc, word, name##_pieces)(                              \
        CALC_ITEM *restrict out, const CALC_ITEM *a, const CALC_ITEM *b, int64_t n) {                        \
        for (int64_t first = 0; first < n; first += CALC_VECTORS_NELEM)                                      \
            for (int64_t i = first; i < first + CALC_VECTORS_NELEM; i += (step)) {                           \
                __VA_ARGS__                                                                                  \
            }                                                                                                \
    }                                                                                                        \
    static bool NPYX_JOIN(calc, word, name)(void *restrict made, const void *restrict x,                     \
                                            const void *restrict y, int64_t nelem) {                         \
        const CALC_ITEM *a = x, *b = y;                                                                      \
        int64_t n = (step)*nelem, nleft = n % CALC_VECTORS_NELEM, nwhole = n - nleft;                        \
        NPYX_JOIN(calc, word, name##_pieces)(made, a, b, nwhole);                                            \
        if (nleft == 0)                                                                                      \
            return false;                                                                                    \
        CALC_ITEM left[3][CALC_VECTORS_NELEM] = {{0}};                                                       \
        memcpy(left[0], a + nwhole, (size_t)nleft * sizeof a[0]);                                            \
        memcpy(left[1], b + nwhole, (size_t)nleft * sizeof b[0]);                                            \
        NPYX_JOIN(calc, word, name##_pieces)(left[2], left[0], left[1], CALC_VECTORS_NELEM);                 \
        memcpy((CALC_ITEM *)made + nwhole, left[2], (size_t)nleft * sizeof a[0]);                            \
        return false;                                                                                        \
    }

CALC_PIECES(CALC_WORD, add, 1, out[i] = a[i] + b[i];)
CALC_PIECES(CALC_WORD, mul, 1, out[i] = a[i] * b[i];)
CALC_LOOP(sub, CALC_ITEM, a[i] - b[i])
CALC_LOOP(div, CALC_ITEM, a[i] / b[i])

/* NumPy's npy_divmod: the quotient rounded down, and the remainder with the divisor's sign. */
static CALC_ITEM CALC(divide)(CALC_ITEM a, CALC_ITEM b, CALC_ITEM *remainder) {
    CALC_ITEM rest = CALC_MATH(fmod)(a, b), quotient = (a - rest) / b;
    if (b == 0) {
        *remainder = rest;
        return a / b;
    }
    if (rest == 0) {
        rest = CALC_MATH(copysign)(0, b);
    } else if ((b < 0) != (rest < 0)) {
        rest += b;
        quotient -= 1;
    }
    *remainder = rest;
    if (quotient == 0)
        return CALC_MATH(copysign)(0, a / b);
    CALC_ITEM whole = CALC_MATH(floor)(quotient);
    return quotient - whole > (CALC_ITEM)0.5 ? whole + 1 : whole;
}
static CALC_ITEM CALC(remainder_of)(CALC_ITEM a, CALC_ITEM b) {
    CALC_ITEM remainder;
    CALC(divide)(a, b, &remainder);
    return remainder;
}
CALC_LOOP(floordiv, CALC_ITEM, CALC(divide)(a[i], b[i], &(CALC_ITEM){0}))
CALC_LOOP(mod, CALC_ITEM, CALC(remainder_of)(a[i], b[i]))

CALC_LOOP(pow, CALC_ITEM, CALC_MATH(pow)(a[i], b[i]))
CALC_LOOP(neg, CALC_ITEM, -a[i])
CALC_LOOP(abs, CALC_ITEM, CALC_MATH(fabs)(a[i]))
CALC_LOOP(sign, CALC_ITEM, a[i] > 0 ? 1 : a[i] < 0 ? -1 : a[i] == 0 ? 0 : a[i])
CALC_LOOP(floor, CALC_ITEM, CALC_MATH(floor)(a[i]))
CALC_LOOP(ceil, CALC_ITEM, CALC_MATH(ceil)(a[i]))
CALC_LOOP(trunc, CALC_ITEM, CALC_MATH(trunc)(a[i]))
CALC_LOOP(round, CALC_ITEM, CALC_MATH(rint)(a[i]))
CALC_LOOP(sqrt, CALC_ITEM, CALC_MATH(sqrt)(a[i]))
CALC_LOOP(exp, CALC_ITEM, CALC_MATH(exp)(a[i]))
CALC_LOOP(expm1, CALC_ITEM, CALC_CLOSE(expm1, a[i]))
CALC_LOOP(log, CALC_ITEM, CALC_MATH(log)(a[i]))
CALC_LOOP(log1p, CALC_ITEM, CALC_CLOSE(log1p, a[i]))
CALC_LOOP(log2, CALC_ITEM, CALC_MATH(log2)(a[i]))
CALC_LOOP(log10, CALC_ITEM, CALC_CLOSE(log10, a[i]))
CALC_LOOP(sin, CALC_ITEM, CALC_MATH(sin)(a[i]))
CALC_LOOP(cos, CALC_ITEM, CALC_MATH(cos)(a[i]))
CALC_LOOP(tan, CALC_ITEM, CALC_CLOSE(tan, a[i]))
CALC_LOOP(tanh, CALC_ITEM, CALC_CLOSE(calc_tanh, a[i]))
/* NaN of either side stays. */
CALC_LOOP(minimum, CALC_ITEM, a[i] <= b[i] || a[i] != a[i] ? a[i] : b[i])
CALC_LOOP(maximum, CALC_ITEM, a[i] >= b[i] || a[i] != a[i] ? a[i] : b[i])
CALC_LOOP(isnan, uint8_t, a[i] != a[i])
CALC_LOOP(isfinite, uint8_t, a[i] - a[i] == 0)
CALC_LOOP(lt, uint8_t, a[i] < b[i])
CALC_LOOP(ge, uint8_t, a[i] >= b[i])
CALC_LOOP(gt, uint8_t, a[i] > b[i])
CALC_LOOP(le, uint8_t, a[i] <= b[i])
CALC_LOOP(eq, uint8_t, a[i] == b[i])
CALC_LOOP(ne, uint8_t, a[i] != b[i])

/* Complex numbers are pairs: a[0] and a[1] are the parts. */
#define CALC_PAIRS(name, type, step, ...)                                                                    \
    static bool CALC_PAIR(name)(void *restrict made, const void *restrict x, const void *restrict y,         \
                                int64_t nelem) {                                                             \
        const CALC_ITEM *a = x, *b = y == NULL ? x : y;                                                      \
        (void)b; /* half of them have one argument */                                                        \
        __typeof__((type)0) *out = made;                                                                     \
        for (int64_t i = 0; i < nelem; i++, a += 2, b += 2, out += (step)) {                                 \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
        return false;                                                                                        \
    }

CALC_PIECES(CALC_COMPLEX_WORD, add, 2, {
    out[i] = a[i] + b[i];
    out[i + 1] = a[i + 1] + b[i + 1];
})
CALC_PAIRS(sub, CALC_ITEM, 2, {
    out[0] = a[0] - b[0];
    out[1] = a[1] - b[1];
})
CALC_PIECES(CALC_COMPLEX_WORD, mul, 2, {
    out[i] = a[i] * b[i] - a[i + 1] * b[i + 1];
    out[i + 1] = a[i] * b[i + 1] + a[i + 1] * b[i];
})
/* Smith's way (Communications of the ACM 5, 1962), in NumPy's order. */
CALC_PAIRS(div, CALC_ITEM, 2, {
    CALC_ITEM real = CALC_MATH(fabs)(b[0]), imag = CALC_MATH(fabs)(b[1]);
    if (real == 0 && imag == 0) {
        out[0] = a[0] / real;
        out[1] = a[1] / real;
    } else if (real >= imag) {
        CALC_ITEM ratio = b[1] / b[0], scale = 1 / (b[0] + b[1] * ratio);
        out[0] = (a[0] + a[1] * ratio) * scale;
        out[1] = (a[1] - a[0] * ratio) * scale;
    } else {
        CALC_ITEM ratio = b[0] / b[1], scale = 1 / (b[1] + b[0] * ratio);
        out[0] = (a[0] * ratio + a[1]) * scale;
        out[1] = (a[1] * ratio - a[0]) * scale;
    }
})
CALC_PAIRS(neg, CALC_ITEM, 2, {
    out[0] = -a[0];
    out[1] = -a[1];
})
CALC_PAIRS(abs, CALC_ITEM, 1, { *out = CALC_MATH(hypot)(a[0], a[1]); })
CALC_PAIRS(eq, uint8_t, 1, { *out = a[0] == b[0] && a[1] == b[1]; })
CALC_PAIRS(ne, uint8_t, 1, { *out = a[0] != b[0] || a[1] != b[1]; })
CALC_PAIRS(isnan, uint8_t, 1, { *out = a[0] != a[0] || a[1] != a[1]; })
CALC_PAIRS(isfinite, uint8_t, 1, { *out = a[0] - a[0] == 0 && a[1] - a[1] == 0; })

#undef CALC
#undef CALC_PAIR
#undef CALC_LOOP
#undef CALC_PIECES
#undef CALC_PAIRS
#undef CALC_WORD
#undef CALC_COMPLEX_WORD
#undef CALC_ITEM
#undef CALC_MATH
#undef CALC_CLOSE
