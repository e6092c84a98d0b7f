/*
 * Constants in a query that cannot mean what they seem to say: SQLite would compare them and find nothing, or
 * the wrong rows, without a word.
 *
 *     value = '2023-06-01'     dates are texts, and those of datetime64[ns] have more digits
 *     row = ?                  where Python's sqlite3 has bound a NumPy scalar, which is a BLOB to SQLite
 *
 * Only literals, bound parameters and lists of an IN are judged: with a value from another table, the order
 * of the join would decide whether it comes here. Of several arrays, it is an error only if the constant fits
 * none of them.
 */
#ifndef NPYEXT_CONSTANTS_H
#define NPYEXT_CONSTANTS_H

#include "plan.h"

typedef struct npyext_constants {
    npyx_buffer list;   /* of npyext_constant (constants.c), for the current request */
    npyx_buffer texts;  /* theirs */
    bool has_met;       /* there was an array that they fit */
    npyx_error refusal; /* by the first array that they do not fit; status NPYX_OK: there was none */
} npyext_constants;

/* Call it first, with zero-initialised constants. */
void npyext_constants_init(npyext_constants *constants, npyx_host *host);
void npyext_constants_clear(npyext_constants *constants);

/* Reads the constants of an xFilter call. value_column: the number of the column `value`. NPYX_INVALID for a
 * BLOB that is compared with a row number, a coordinate, or a part of a complex number. */
npyx_status npyext_constants_take(npyext_constants *constants, const npyext_request *request,
                                  const npyext_plan *plan, int value_column, npyx_error *error);

/* Judges them by an array; is_json: its values are JSON. NPYX_INVALID if they do not fit, and the array is
 * the only one. */
npyx_status npyext_constants_check(npyext_constants *constants, const npyx_dtype *dtype, bool is_json,
                                   bool is_only, npyx_error *error);

/* There are no more arrays: NPYX_INVALID, once, if the constants fit none. */
npyx_status npyext_constants_end(npyext_constants *constants, npyx_error *error);

#endif
