/*
 * Loops over integers of one type (calc_loops.c):
 *
 *     CALC_WORD        in the functions' names
 *     CALC_ITEM        the type
 *     CALC_UNSIGNED    the unsigned one of that size, or a wider one
 *     CALC_WIDE        one that holds every product; undefined: none
 *     CALC_IS_SIGNED, CALC_LEAST, CALC_MOST
 *
 * A loop returns whether an item has no result. What overflows is seen in the sign of the result, so that
 * loops have no branches and are vectorised.
 */
#define CALC(name) NPYX_JOIN(calc, CALC_WORD, name)
#define CALC_LOOP(name, type, ...)                                                                           \
    static bool CALC(name)(void *restrict made, const void *restrict x, const void *restrict y,              \
                           int64_t nelem) {                                                                  \
        const CALC_ITEM *a = x, *b = y;                                                                      \
        __typeof__((type)0) *out = made;                                                                     \
        CALC_ITEM fault = 0;                                                                                 \
        (void)b;                                                                                             \
        CALC_EACH(__VA_ARGS__)                                                                               \
        return CALC_HAS_FAULT(fault);                                                                        \
    }

#if CALC_IS_SIGNED
#define CALC_HAS_FAULT(fault)    ((fault) < 0)
#define CALC_IS_BELOW_0(x)       ((x) < 0)
#define CALC_FAULT_IF(condition) fault |= (CALC_ITEM)((condition) ? CALC_LEAST : 0)
CALC_LOOP(add, CALC_ITEM, {
    out[i] = (CALC_ITEM)((CALC_UNSIGNED)a[i] + (CALC_UNSIGNED)b[i]);
    fault |= (CALC_ITEM)((a[i] ^ out[i]) & (b[i] ^ out[i]));
})
CALC_LOOP(sub, CALC_ITEM, {
    out[i] = (CALC_ITEM)((CALC_UNSIGNED)a[i] - (CALC_UNSIGNED)b[i]);
    fault |= (CALC_ITEM)((a[i] ^ b[i]) & (a[i] ^ out[i]));
})
CALC_LOOP(neg, CALC_ITEM, {
    out[i] = (CALC_ITEM)(0 - (CALC_UNSIGNED)a[i]);
    fault |= (CALC_ITEM)(a[i] & out[i]);
})
CALC_LOOP(abs, CALC_ITEM, {
    out[i] = a[i] < 0 ? (CALC_ITEM)(0 - (CALC_UNSIGNED)a[i]) : a[i];
    fault |= out[i];
})
CALC_LOOP(sign, CALC_ITEM, { out[i] = (CALC_ITEM)((a[i] > 0) - (a[i] < 0)); })
#else
#define CALC_HAS_FAULT(fault)    ((fault) != 0)
#define CALC_IS_BELOW_0(x)       false
#define CALC_FAULT_IF(condition) fault |= (CALC_ITEM)(condition)
CALC_LOOP(add, CALC_ITEM, {
    out[i] = (CALC_ITEM)(a[i] + b[i]);
    fault |= (CALC_ITEM)(out[i] < a[i]);
})
CALC_LOOP(sub, CALC_ITEM, {
    out[i] = (CALC_ITEM)(a[i] - b[i]);
    fault |= (CALC_ITEM)(a[i] < b[i]);
})
CALC_LOOP(neg, CALC_ITEM, {
    out[i] = 0;
    fault |= a[i];
})
CALC_LOOP(abs, CALC_ITEM, { out[i] = a[i]; })
CALC_LOOP(sign, CALC_ITEM, { out[i] = a[i] > 0; })
#endif

#ifdef CALC_WIDE
CALC_LOOP(mul, CALC_ITEM, {
    CALC_WIDE product = (CALC_WIDE)a[i] * b[i];
    out[i] = (CALC_ITEM)product;
    CALC_FAULT_IF(product != out[i]);
})
#else
CALC_LOOP(mul, CALC_ITEM, { CALC_FAULT_IF(__builtin_mul_overflow(a[i], b[i], &out[i])); })
#endif

/* The quotient of numbers that have one, rounded down. */
static inline CALC_ITEM CALC(quotient)(CALC_ITEM a, CALC_ITEM b) {
    CALC_ITEM quotient = (CALC_ITEM)(a / b);
    return (CALC_ITEM)(quotient - (a % b != 0 && (CALC_IS_BELOW_0(a) != CALC_IS_BELOW_0(b))));
}

CALC_LOOP(floordiv, CALC_ITEM, {
    bool has_none = b[i] == 0 || (CALC_IS_SIGNED && b[i] == (CALC_ITEM)-1 && a[i] == CALC_LEAST);
    CALC_FAULT_IF(has_none);
    out[i] = has_none ? 0 : CALC(quotient)(a[i], b[i]);
})
/* Of the remainder towards zero: the quotient rounded down, times b, may overflow. */
CALC_LOOP(mod, CALC_ITEM, {
    bool is_zero =
        b[i] == 0 || (CALC_IS_SIGNED && b[i] == (CALC_ITEM)-1); /* the least one has no quotient by -1 */
    CALC_FAULT_IF(b[i] == 0);
    CALC_ITEM rest = (CALC_ITEM)(is_zero ? 0 : a[i] % b[i]);
    bool is_other_sign = rest != 0 && CALC_IS_BELOW_0(rest) != CALC_IS_BELOW_0(b[i]);
    out[i] = (CALC_ITEM)(rest + (is_other_sign ? b[i] : 0));
})

static bool CALC(power_of)(CALC_ITEM base, CALC_ITEM exponent, CALC_ITEM *power) {
    bool has_overflown = false, is_too_large = false;
    *power = 1;
    for (; exponent > 0; exponent = (CALC_ITEM)(exponent >> 1)) {
        if (exponent & 1) {
            has_overflown |= is_too_large;
            has_overflown |= __builtin_mul_overflow(*power, base, power);
        }
        is_too_large |= __builtin_mul_overflow(base, base, &base);
    }
    return !has_overflown && !CALC_IS_BELOW_0(exponent);
}
CALC_LOOP(pow, CALC_ITEM, { CALC_FAULT_IF(!CALC(power_of)(a[i], b[i], &out[i])); })

CALC_LOOP(and, CALC_ITEM, { out[i] = a[i] & b[i]; })
CALC_LOOP(or, CALC_ITEM, { out[i] = a[i] | b[i]; })
CALC_LOOP(xor, CALC_ITEM, {
  out[i] = a[i] ^ b[i];
})
CALC_LOOP(invert, CALC_ITEM, { out[i] = (CALC_ITEM)~a[i]; })
CALC_LOOP(minimum, CALC_ITEM, { out[i] = a[i] < b[i] ? a[i] : b[i]; })
CALC_LOOP(maximum, CALC_ITEM, { out[i] = a[i] > b[i] ? a[i] : b[i]; })
CALC_LOOP(lt, uint8_t, { out[i] = a[i] < b[i]; })
CALC_LOOP(ge, uint8_t, { out[i] = a[i] >= b[i]; })
CALC_LOOP(gt, uint8_t, { out[i] = a[i] > b[i]; })
CALC_LOOP(le, uint8_t, { out[i] = a[i] <= b[i]; })
CALC_LOOP(eq, uint8_t, { out[i] = a[i] == b[i]; })
CALC_LOOP(ne, uint8_t, { out[i] = a[i] != b[i]; })

#undef CALC
#undef CALC_LOOP
#undef CALC_FAULT_IF
#undef CALC_HAS_FAULT
#undef CALC_IS_BELOW_0
#undef CALC_WORD
#undef CALC_ITEM
#undef CALC_UNSIGNED
#undef CALC_WIDE
#undef CALC_IS_SIGNED
#undef CALC_LEAST
#undef CALC_MOST
