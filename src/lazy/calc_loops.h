/* The loops of npyx_calc over items of one type. */
#ifndef NPYX_CALC_LOOPS_H
#define NPYX_CALC_LOOPS_H

#include "array/dtype.h"
#include "expression.h"

/* Makes nelem items of x and, for an operation of two, y: aligned, in the host's byte order. True if an item
 * has no result, because it overflows, is divided by zero or raised to a negative power: it is undefined, the
 * others are made. */
typedef bool npyx_calc_loop(void *restrict made, const void *restrict x, const void *restrict y,
                            int64_t nelem);

/* The loop of an operation on items of a type; comparisons, isnan and isfinite make bools, abs of complex
 * numbers makes reals, differences of dates are counts, everything else makes items of the type. NULL: the
 * type has no such operation. */
npyx_calc_loop *npyx_calc_loop_of(npyx_op op, npyx_type type);

/* -1, 0 or 1, as int8, for the order of int64 in x and uint64 in y. */
npyx_calc_loop npyx_calc_order_i8_u8;

#endif
