/*
 * Table functions that give several rows for an array: each array is begun, and then gives row after row. A
 * step leads to a row, or begins an array, whose first row is left to the next step.
 */
#ifndef NPYEXT_ARRAY_ROWS_H
#define NPYEXT_ARRAY_ROWS_H

#include "cursor.h"

/* What such a function's cursor begins with. */
typedef struct npyext_rows_cursor {
    npyext_cursor base;
    bool is_begun; /* the open array is */
    bool is_again; /* by the last call: what was computed from the array is still right */
    int64_t nrows; /* how many it has given, errors' rows included */
} npyext_rows_cursor;

typedef struct npyext_rows_methods {
    /* Reads the arguments of a call that differs from the last one; NULL: it has none of its own. */
    npyx_status (*read_arguments)(npyext_cursor *cursor, npyx_error *error);
    npyx_status (*begin_array)(npyext_cursor *cursor, npyx_error *error); /* the selection's, which is open */
    npyx_status (*next_row)(npyext_cursor *cursor, npyx_error *error);    /* NPYX_DONE after the last */
    void (*end_array)(npyext_cursor *cursor); /* also if begin_array failed or was not called */
} npyext_rows_methods;

/* The function's begin and step. */
npyx_status npyext_rows_begin(npyext_cursor *cursor, const npyext_rows_methods *methods,
                              const npyext_request *request, npyx_error *error);
npyx_status npyext_rows_step(npyext_cursor *cursor, const npyext_rows_methods *methods, npyx_error *error);

/* The result of array_key, which must differ from row to row: no other column tells all rows of an array
 * apart. */
void npyext_rows_result_key(sqlite3_context *context, npyext_cursor *cursor);

#endif
