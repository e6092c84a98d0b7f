/*
 * Table functions that give several rows for an array. Each array is begun, and then gives row after row. A
 * step leads to a row, or begins an array, whose first row is left to the next step.
 */
#ifndef NPYEXT_ARRAY_ROWS_H
#define NPYEXT_ARRAY_ROWS_H

#include "cursor.h"
#include "stat/labels.h"

/* What such a function's cursor begins with. */
typedef struct npyext_array_rows_cursor {
    npyext_cursor base;
    npyx_labels labels; /* given by the query (by); without a host: none */
    bool is_begun;      /* the open array is */
    bool is_again;      /* by the last call: what was computed from the array is still right */
    int64_t nrows;      /* how many it has given, errors' rows included */
    int64_t nsure;      /* these many have nothing that could fail, and are only counted */
} npyext_array_rows_cursor;

typedef struct npyext_array_rows_methods {
    /* Reads the arguments of a call that differs from the last one, except labels; NULL: there are none. */
    npyx_status (*read_arguments)(npyext_cursor *cursor, npyx_error *error);
    npyx_status (*begin_array)(npyext_cursor *cursor, npyx_error *error); /* the selection's, which is open */
    npyx_status (*next_row)(npyext_cursor *cursor, npyx_error *error);    /* NPYX_DONE after the last */
    void (*end_array)(npyext_cursor *cursor); /* also if begin_array failed or was not called; or NULL */
    void (*close)(npyext_cursor *cursor);     /* follows end_array; or NULL */
} npyext_array_rows_methods;

/* The begin, step and close of such a cursor; they go by the function's npyext_array_rows_methods. */
npyx_status npyext_array_rows_begin(npyext_cursor *cursor, const npyext_request *request, npyx_error *error);
npyx_status npyext_array_rows_step(npyext_cursor *cursor, npyx_error *error);
void npyext_array_rows_close(npyext_cursor *cursor);
int npyext_array_rows_next(sqlite3_vtab_cursor *cursor);

#define NPYEXT_ARRAY_ROWS(cursor, methods_of)                                                                \
    .takes_member = true, .row = NPYEXT_ROW_OF_ARRAY, .cursor_nbytes = sizeof(cursor),                       \
    .methods = &(methods_of), .begin = npyext_array_rows_begin, .step = npyext_array_rows_step,              \
    .close = npyext_array_rows_close,                                                                        \
    .module = NPYEXT_MODULE(npyext_cursor_filter, npyext_array_rows_next, npyext_cursor_column)

/* The result of array_key, which must differ from row to row: no other column tells all rows of an array
 * apart. */
void npyext_array_rows_result_key(sqlite3_context *context, npyext_cursor *cursor);

/* The axes of the open array that the argument axis names: *axes is room, or NULL if it is not given. */
npyx_status npyext_array_rows_axes(const npyext_cursor *cursor, bool room[NPYX_MAX_NDIM], const bool **axes,
                                   npyx_error *error);

/* The labels; NULL: none. */
static inline const npyx_labels *npyext_array_rows_labels(const npyext_cursor *cursor) {
    const npyx_labels *labels = &((const npyext_array_rows_cursor *)cursor)->labels;
    return labels->host == NULL ? NULL : labels;
}

/* The result for one of them, if there are any. */
void npyext_array_rows_result_label(sqlite3_context *context, npyext_cursor *cursor, int64_t label);

#endif
