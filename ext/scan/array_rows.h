/*
 * Table functions that give several rows of an array: something is begun of each array, and then gives row
 * after row. A step is one to a row, or to an array, whose first row is the next step's.
 */
#ifndef NPYEXT_ARRAY_ROWS_H
#define NPYEXT_ARRAY_ROWS_H

#include "cursor.h"

/* What such a function's cursor begins with. */
typedef struct npyext_rows_cursor {
    npyext_cursor base;
    bool is_begun; /* of the array that is open */
    bool is_again; /* by the call that was before: what was made of the array is still right */
    int64_t nrows; /* given of it, those of faults among them */
} npyext_rows_cursor;

typedef struct npyext_rows_methods {
    /* Looks at the arguments of a call that is not that of before; NULL: there are none of its own. */
    npyx_status (*read_arguments)(npyext_cursor *cursor, npyx_error *error);
    npyx_status (*begin_array)(npyext_cursor *cursor, npyx_error *error); /* that the selection has open */
    npyx_status (*next_row)(npyext_cursor *cursor, npyx_error *error);    /* NPYX_DONE behind the last */
    void (*end_array)(npyext_cursor *cursor); /* what was begun, wholly or not, or ended before */
} npyext_rows_methods;

/* The function's begin and step. */
npyx_status npyext_rows_begin(npyext_cursor *cursor, const npyext_rows_methods *methods,
                              const npyext_request *request, npyx_error *error);
npyx_status npyext_rows_step(npyext_cursor *cursor, const npyext_rows_methods *methods, npyx_error *error);

/* The column array_key: no other one tells all the rows of an array apart. */
void npyext_rows_result_key(sqlite3_context *context, npyext_cursor *cursor);

#endif
