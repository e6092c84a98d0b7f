/*
 * One loop for each operation and type, from two templates. A bool is a byte of 0 or 1, so most loops of
 * uint8 serve it; a date is a count in which the least number is NaT.
 */
#include "calc_loops.h"

#include <math.h>
#include <string.h>

#include "base/simd.h"

/* A loop over a block's items, most of them in pieces of one length: with -O2 gcc vectorises only loops of
 * which it knows how often they run. */
enum { CALC_PIECE_NELEM = 256, CALC_VECTORS_NELEM = 64 };
#define CALC_EACH(...)                                                                                       \
    int64_t nwhole = nelem - nelem % CALC_PIECE_NELEM;                                                       \
    for (int64_t first = 0; first < nwhole; first += CALC_PIECE_NELEM)                                       \
        for (int64_t i = first; i < first + CALC_PIECE_NELEM; i++) {                                         \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    for (int64_t i = nwhole; i < nelem; i++) {                                                               \
        __VA_ARGS__                                                                                          \
    }

#define CALC_WORD      i1
#define CALC_ITEM      int8_t
#define CALC_UNSIGNED  unsigned
#define CALC_WIDE      int
#define CALC_IS_SIGNED 1
#define CALC_LEAST     INT8_MIN
#include "calc_integers_template.h"
#define CALC_WORD      i2
#define CALC_ITEM      int16_t
#define CALC_UNSIGNED  unsigned
#define CALC_WIDE      int
#define CALC_IS_SIGNED 1
#define CALC_LEAST     INT16_MIN
#include "calc_integers_template.h"
#define CALC_WORD      i4
#define CALC_ITEM      int32_t
#define CALC_UNSIGNED  uint32_t
#define CALC_WIDE      int64_t
#define CALC_IS_SIGNED 1
#define CALC_LEAST     INT32_MIN
#include "calc_integers_template.h"
#define CALC_WORD      i8
#define CALC_ITEM      int64_t
#define CALC_UNSIGNED  uint64_t
#define CALC_IS_SIGNED 1
#define CALC_LEAST     INT64_MIN
#include "calc_integers_template.h"
#define CALC_WORD      u1
#define CALC_ITEM      uint8_t
#define CALC_WIDE      unsigned
#define CALC_IS_SIGNED 0
#define CALC_LEAST     0
#include "calc_integers_template.h"
#define CALC_WORD      u2
#define CALC_ITEM      uint16_t
#define CALC_WIDE      unsigned
#define CALC_IS_SIGNED 0
#define CALC_LEAST     0
#include "calc_integers_template.h"
#define CALC_WORD      u4
#define CALC_ITEM      uint32_t
#define CALC_WIDE      uint64_t
#define CALC_IS_SIGNED 0
#define CALC_LEAST     0
#include "calc_integers_template.h"
#define CALC_WORD      u8
#define CALC_ITEM      uint64_t
#define CALC_IS_SIGNED 0
#define CALC_LEAST     0
#include "calc_integers_template.h"

/* C libraries divide expm1 by a sum that is rounded, and are more than 2 units off here and there. Here the
 * quotient is corrected by what it and the sum have lost. */
static double calc_tanh(double x) {
    double size = fabs(x);
    if (!(size > 0x1p-28 && size < 20)) /* x itself, 1 or NaN */
        return tanh(x);
    double grown = expm1(2 * size), sum = grown + 2, rounded_2 = sum - grown;
    double lost = (grown - (sum - rounded_2)) + (2 - rounded_2);
    double quotient = grown / sum;
    double rest = fma(-quotient, sum, grown) - quotient * lost;
    return copysign(quotient + rest / sum, x);
}

#define CALC_WORD           f4
#define CALC_COMPLEX_WORD   c8
#define CALC_ITEM           float
#define CALC_MATH(name)     name##f
#define CALC_CLOSE(name, x) (float)name((double)(x))
#include "calc_floats_template.h"
#define CALC_WORD           f8
#define CALC_COMPLEX_WORD   c16
#define CALC_ITEM           double
#define CALC_MATH(name)     name
#define CALC_CLOSE(name, x) name(x)
#include "calc_floats_template.h"

/* NaT stays NaT, and compares as unequal to everything. */
#define DATE_LOOP(name, type, expression)                                                                    \
    static bool calc_date_##name(void *restrict made, const void *restrict x, const void *restrict y,        \
                                 int64_t nelem) {                                                            \
        const int64_t *a = x, *b = y;                                                                        \
        __typeof__((type)0) *out = made;                                                                     \
        bool fault = false;                                                                                  \
        for (int64_t i = 0; i < nelem; i++) {                                                                \
            bool is_nat = a[i] == INT64_MIN || b[i] == INT64_MIN;                                            \
            expression;                                                                                      \
        }                                                                                                    \
        return fault;                                                                                        \
    }
/* A result that is NaT by chance has overflown, too. */
#define DATE_SUM(name, sum)                                                                                  \
    DATE_LOOP(name, int64_t, {                                                                               \
        bool has_overflown = sum(a[i], b[i], &out[i]) || out[i] == INT64_MIN;                                \
        out[i] = is_nat ? INT64_MIN : out[i];                                                                \
        fault |= has_overflown && !is_nat;                                                                   \
    })
DATE_SUM(add, __builtin_add_overflow)
DATE_SUM(sub, __builtin_sub_overflow)
DATE_LOOP(lt, uint8_t, out[i] = !is_nat && a[i] < b[i])
DATE_LOOP(ge, uint8_t, out[i] = !is_nat && a[i] >= b[i])
DATE_LOOP(gt, uint8_t, out[i] = !is_nat && a[i] > b[i])
DATE_LOOP(le, uint8_t, out[i] = !is_nat && a[i] <= b[i])
DATE_LOOP(eq, uint8_t, out[i] = !is_nat && a[i] == b[i])
DATE_LOOP(ne, uint8_t, out[i] = is_nat || a[i] != b[i])

static bool calc_bool_invert(void *restrict made, const void *restrict x, const void *restrict y,
                             int64_t nelem) {
    const uint8_t *a = x;
    uint8_t *out = made;
    (void)y;
    for (int64_t i = 0; i < nelem; i++)
        out[i] = a[i] ^ 1;
    return false;
}

bool npyx_calc_order_i8_u8(void *restrict made, const void *restrict x, const void *restrict y,
                           int64_t nelem) {
    const int64_t *a = x;
    const uint64_t *b = y;
    int8_t *out = made;
    for (int64_t i = 0; i < nelem; i++)
        out[i] = a[i] < 0 ? -1 : (int8_t)(((uint64_t)a[i] > b[i]) - ((uint64_t)a[i] < b[i]));
    return false;
}

#define ON_INTEGERS(name)                                                                                    \
    [NPYX_I1] = calc_i1_##name, [NPYX_I2] = calc_i2_##name, [NPYX_I4] = calc_i4_##name,                      \
    [NPYX_I8] = calc_i8_##name, [NPYX_U1] = calc_u1_##name, [NPYX_U2] = calc_u2_##name,                      \
    [NPYX_U4] = calc_u4_##name, [NPYX_U8] = calc_u8_##name
#define ON_FLOATS(name)  [NPYX_F4] = calc_f4_##name, [NPYX_F8] = calc_f8_##name
#define ON_COMPLEX(name) [NPYX_C8] = calc_c8_##name, [NPYX_C16] = calc_c16_##name
#define ON_BOOLS(name)   [NPYX_BOOL] = calc_u1_##name
#define ON_DATES(name)   [NPYX_DATETIME] = calc_date_##name, [NPYX_TIMEDELTA] = calc_date_##name

#define ORDER(name)                                                                                          \
    { ON_BOOLS(name), ON_INTEGERS(name), ON_FLOATS(name), ON_DATES(name) }
#define EQUALS(name)                                                                                         \
    { ON_BOOLS(name), ON_INTEGERS(name), ON_FLOATS(name), ON_COMPLEX(name), ON_DATES(name) }
#define BITS(name)                                                                                           \
    { ON_BOOLS(name), ON_INTEGERS(name) }
#define FLOATS(name)                                                                                         \
    { ON_FLOATS(name) }

static npyx_calc_loop *const loops[NPYX_NOPS][NPYX_TIMEDELTA + 1] = {
    [NPYX_OP_LT] = ORDER(lt),
    [NPYX_OP_GE] = ORDER(ge),
    [NPYX_OP_GT] = ORDER(gt),
    [NPYX_OP_LE] = ORDER(le),
    [NPYX_OP_EQ] = EQUALS(eq),
    [NPYX_OP_NE] = EQUALS(ne),
    [NPYX_OP_OR] = BITS(or),
    [NPYX_OP_XOR] = BITS(xor),
    [NPYX_OP_AND] = BITS(and),
    /* As in NumPy a sum of bools is their `or`, a product their `and`; a difference is none. */
    [NPYX_OP_ADD] =
        {[NPYX_BOOL] = calc_u1_or, ON_INTEGERS(add), ON_FLOATS(add), ON_COMPLEX(add), ON_DATES(add)},
    [NPYX_OP_SUB] = {ON_INTEGERS(sub), ON_FLOATS(sub), ON_COMPLEX(sub), ON_DATES(sub)},
    [NPYX_OP_MUL] = {[NPYX_BOOL] = calc_u1_and, ON_INTEGERS(mul), ON_FLOATS(mul), ON_COMPLEX(mul)},
    [NPYX_OP_DIV] = {ON_FLOATS(div), ON_COMPLEX(div)},
    [NPYX_OP_FLOORDIV] = {ON_INTEGERS(floordiv), ON_FLOATS(floordiv)},
    [NPYX_OP_MOD] = {ON_INTEGERS(mod), ON_FLOATS(mod)},
    [NPYX_OP_POW] = {ON_INTEGERS(pow), ON_FLOATS(pow)},
    [NPYX_OP_NEG] = {ON_INTEGERS(neg), ON_FLOATS(neg), ON_COMPLEX(neg)},
    [NPYX_OP_INVERT] = {[NPYX_BOOL] = calc_bool_invert, ON_INTEGERS(invert)},
    [NPYX_OP_ABS] = {ON_BOOLS(abs), ON_INTEGERS(abs), ON_FLOATS(abs), ON_COMPLEX(abs)},
    [NPYX_OP_SIGN] = {ON_INTEGERS(sign), ON_FLOATS(sign)},
    /* Integers are whole already: their abs would do, but for the least one. */
    [NPYX_OP_FLOOR] = FLOATS(floor),
    [NPYX_OP_CEIL] = FLOATS(ceil),
    [NPYX_OP_TRUNC] = FLOATS(trunc),
    [NPYX_OP_ROUND] = FLOATS(round),
    [NPYX_OP_SQRT] = FLOATS(sqrt),
    [NPYX_OP_EXP] = FLOATS(exp),
    [NPYX_OP_EXPM1] = FLOATS(expm1),
    [NPYX_OP_LOG] = FLOATS(log),
    [NPYX_OP_LOG1P] = FLOATS(log1p),
    [NPYX_OP_LOG2] = FLOATS(log2),
    [NPYX_OP_LOG10] = FLOATS(log10),
    [NPYX_OP_SIN] = FLOATS(sin),
    [NPYX_OP_COS] = FLOATS(cos),
    [NPYX_OP_TAN] = FLOATS(tan),
    [NPYX_OP_TANH] = FLOATS(tanh),
    [NPYX_OP_ISNAN] = {ON_FLOATS(isnan), ON_COMPLEX(isnan)},
    [NPYX_OP_ISFINITE] = {ON_FLOATS(isfinite), ON_COMPLEX(isfinite)},
    [NPYX_OP_MINIMUM] = {ON_BOOLS(minimum), ON_INTEGERS(minimum), ON_FLOATS(minimum)},
    [NPYX_OP_MAXIMUM] = {ON_BOOLS(maximum), ON_INTEGERS(maximum), ON_FLOATS(maximum)},
};

npyx_calc_loop *npyx_calc_loop_of(npyx_op op, npyx_type type) {
    return type <= NPYX_TIMEDELTA ? loops[op][type] : NULL;
}
