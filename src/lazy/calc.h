/*
 * Arithmetic on arrays, made when it is read: `(a - b) / c` is a source of the items that NumPy would make.
 *
 * The expression is planned once: every node gets a dtype by NumPy 2's rules (NEP 50: numbers of the text are
 * weak), and the operands are broadcast to one shape. Then items are made in blocks, by loops over one
 * operation and one type. Nothing wraps: an integer that overflows, or is divided by zero, is an error of its
 * item, and in where(c, x, y) only if it is chosen.
 */
#ifndef NPYX_CALC_H
#define NPYX_CALC_H

#include "array/view.h"
#include "expression.h"

typedef struct npyx_calc_operand {
    bool is_number;
    npyx_plain_number number; /* if is_number */
    npyx_view view;           /* else: of a whole array */
} npyx_calc_operand;

typedef struct npyx_calc npyx_calc;

/* Plans an expression over operands `a`, `b`, …; they, their dtypes and the text are borrowed and must
 * outlive it. NPYX_INVALID, with the place in the text where one applies, for an operand that is missing or
 * not used, shapes that do not broadcast, and dtypes that have no such operation. NPYX_NOMEM. */
npyx_status npyx_calc_plan(npyx_host *host, const char *text, size_t nbytes,
                           const npyx_calc_operand *operands, int noperands, npyx_calc **calc,
                           npyx_error *error);
/* Accepts NULL. */
void npyx_calc_free(npyx_calc *calc);

/* What it makes, in C order and the host's byte order; valid as long as the plan. */
const npyx_dtype *npyx_calc_dtype(const npyx_calc *calc);
int npyx_calc_shape(const npyx_calc *calc, const int64_t **shape);

/* Its items as a source. sources, by operand: those that the views' offsets refer to, NULL for numbers; they
 * are owned from here on, and closed on failure, too. The plan must outlive the source. Operands of up to
 * NPYX_HELD_NBYTES are read into memory if they are broadcast or not in C order. */
npyx_status npyx_calc_open(const npyx_calc *calc, npyx_source *const *sources, npyx_source **opened,
                           npyx_error *error);

#endif
