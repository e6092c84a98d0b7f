/* Bounds of an index column, narrowed by the comparisons of a WHERE clause as SQLite would judge them. */
#ifndef NPYEXT_RANGE_H
#define NPYEXT_RANGE_H

#include "connection.h"
#include "results.h"

/* Both ends included; empty when low is above high. */
typedef struct npyext_range {
    int64_t low, high;
} npyext_range;

/* Narrows the range by `column op value` (SQLITE_INDEX_CONSTRAINT_EQ, IS, LT, LE, GT, GE), where the column
 * is an INTEGER: numeric affinity is applied to a text, any other text and a BLOB are above all numbers, and
 * NULL satisfies nothing. */
void npyext_range_narrow(npyext_range *range, int op, sqlite3_value *value);

/* The indices along a view's first axis whose numbers, as the file counts them, lie in the range; low is
 * above high when there are none. A view without axes is a row of number 0. */
npyext_range npyext_range_indices(npyext_range range, const npyx_view *view);

#endif
