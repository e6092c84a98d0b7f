/*
 * The cursor under all table functions: a scan, what is selected of its current array, and the methods for
 * SQLite that all of them share.
 */
#ifndef NPYEXT_CURSOR_H
#define NPYEXT_CURSOR_H

#include "scan.h"
#include "stat/labels.h"

/*
 * What a scan's arguments select of the current array: member, field, view, expect, slice and astype, in this
 * order.
 */
typedef struct npyext_selection {
    bool is_open;
    npyx_array array;
    npyx_source *payload;
    npyx_view view;
    const npyx_dtype *astype; /* what items are converted to; NULL: they stay as they are */
} npyext_selection;

void npyext_selection_close(npyext_selection *selection);

/* The entry along the file's first axis that a row of the view belongs to; -1: several. */
int64_t npyext_selection_entry(const npyext_selection *selection, int64_t row);

/* The dtype of the items as SQL gets them. */
static inline const npyx_dtype *npyext_selection_dtype(const npyext_selection *selection) {
    return selection->astype != NULL ? selection->astype : selection->view.dtype;
}

/* Every table function's cursor begins with this. */
struct npyext_cursor {
    sqlite3_vtab_cursor base;
    bool is_eof;
    unsigned nrows_begun;
    npyext_scan scan;
    npyext_selection selection; /* of functions that read items; those that list entries use its array only */
    npyx_buffer scratch;        /* for xColumn */
};

/* The methods for SQLite that table functions share; their own are in npyext_function. If a step fails, its
 * error becomes a row (scan.has_error), is skipped, or ends the query, as on_error says. */
int npyext_cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor);
int npyext_cursor_close(sqlite3_vtab_cursor *base);
int npyext_cursor_eof(sqlite3_vtab_cursor *cursor);
int npyext_cursor_filter(sqlite3_vtab_cursor *base, int idx_num, const char *sentence, int argc,
                         sqlite3_value **argv);
int npyext_cursor_next(sqlite3_vtab_cursor *base);
int npyext_cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column);

/* Reports an error at its place; returns SQLite's code. */
int npyext_cursor_report(npyext_cursor *cursor, const npyx_error *error);

/* What follows a step that gave no row: another step or, if *is_over, a row for its error (SQLITE_OK) or the
 * end of the query (SQLite's code for it). */
int npyext_cursor_judge(npyext_cursor *cursor, npyx_status status, bool *is_over);

/* What xFilter does, by the function's begin. Inline, like the next one: a call through a pointer takes
 * longer than all that a look-up in a join does. */
static inline int npyext_cursor_begin_by(npyext_begin *begin, sqlite3_vtab_cursor *base, const char *sentence,
                                         sqlite3_value **argv) {
    npyext_cursor *cursor = (npyext_cursor *)base;
    npyext_scan *scan = &cursor->scan;
    const npyext_request request = {(npyext_vtab *)base->pVtab, sentence, argv};
    cursor->is_eof = false;
    if (begin(cursor, &request, &scan->error) != NPYX_OK)
        return npyext_cursor_report(cursor, &scan->error);
    cursor->is_eof |= scan->has_null;
    return SQLITE_OK;
}

/* What xNext does, by the function's step. */
static inline int npyext_cursor_go_on_by(npyext_step *step, npyext_cursor *cursor) {
    bool is_over = false;
    int code = SQLITE_OK;
    cursor->scan.has_error = false;
    while (!is_over && !cursor->is_eof) {
        npyx_status status = step(cursor, &cursor->scan.error);
        is_over = status == NPYX_OK || cursor->is_eof;
        if (!is_over)
            code = npyext_cursor_judge(cursor, status, &is_over);
    }
    return code;
}

/* The module of a table function; what SQLite calls for every row may be the function's own. */
/* clang-format off */
#define NPYEXT_MODULE(filter, next, column)                                                                  \
    {                                                                                                        \
        .iVersion = 1, .xConnect = npyext_connect, .xBestIndex = npyext_best_index,                          \
        .xDisconnect = npyext_disconnect, .xOpen = npyext_cursor_open, .xClose = npyext_cursor_close,        \
        .xFilter = (filter), .xNext = (next), .xEof = npyext_cursor_eof, .xColumn = (column)                 \
    }
/* clang-format on */
#define NPYEXT_CURSOR_MODULE NPYEXT_MODULE(npyext_cursor_filter, npyext_cursor_next, npyext_cursor_column)

/* Begins a scan for a request, or goes on with the current one if it asks for the same arrays. If the open
 * array is all that it asks for, as when a join looks rows up, the selection stays open; otherwise nothing is
 * open, and npyext_cursor_next_array goes to the first array. */
npyx_status npyext_cursor_begin(npyext_cursor *cursor, const npyext_request *request, npyx_error *error);

/* Goes to the next array of the scan that can be opened, past what failed before: the current array, or its
 * whole file. NPYX_DONE after the last one (is_eof is set); if there is only one, it stays open for the next
 * look-up. On failure the scan stays where it is. */
npyx_status npyext_cursor_next_array(npyext_cursor *cursor, npyx_error *error);

/* Opens the scan's next file; NPYX_DONE after the last one (is_eof is set). */
npyx_status npyext_cursor_next_file(npyext_cursor *cursor, npyx_error *error);

/* Forgets the call, whose arguments are wrong, so that they are read again next time. Returns the error's
 * status. */
npyx_status npyext_cursor_forget(npyext_cursor *cursor, npyx_error *error);

/* The result for an item of an array. */
void npyext_result_item(sqlite3_context *context, npyext_cursor *cursor, const npyx_dtype *dtype,
                        const uint8_t *item);
/* The result for items in the file's byte order, side by side: their bytes, little-endian. */
void npyext_result_data(sqlite3_context *context, npyext_cursor *cursor, const npyx_dtype *dtype,
                        const uint8_t *items, int64_t nelem);
/* A finished buffer as a BLOB, or its failure. */
void npyext_result_blob_of(sqlite3_context *context, const npyext_cursor *cursor, npyx_buffer *bytes);
/* The name of a dtype: NumPy's dtype.name. */
void npyext_result_dtype(sqlite3_context *context, npyext_cursor *cursor, const npyx_dtype *dtype);
/* The text in the cursor's scratch buffer, or its failure. */
void npyext_result_scratch(sqlite3_context *context, npyext_cursor *cursor);

/* Fails if SQL has no value for an item: a date outside the calendar, a text with a code point that does not
 * exist. xColumn would find it too late for on_error. */
npyx_status npyext_check_item(npyext_cursor *cursor, const npyx_dtype *dtype, const uint8_t *item,
                              npyx_error *error);

/* The result for a coordinate of the view: its index along each kept axis, as the file counts; a JSON array
 * if there are several. */
void npyext_result_coordinate(sqlite3_context *context, npyext_cursor *cursor, const npyx_view *view,
                              const bool *is_kept, int64_t coordinate);

/* Columns that several functions share: of the file, of the entry, of the current error. */
void npyext_result_path(sqlite3_context *context, npyext_cursor *cursor);
void npyext_result_parts(sqlite3_context *context, npyext_cursor *cursor);
void npyext_result_stem(sqlite3_context *context, npyext_cursor *cursor);
void npyext_result_parent(sqlite3_context *context, npyext_cursor *cursor);
void npyext_result_name(sqlite3_context *context, npyext_cursor *cursor);
void npyext_result_key(sqlite3_context *context, npyext_cursor *cursor);
void npyext_result_ext(sqlite3_context *context, npyext_cursor *cursor);
void npyext_result_error_text(sqlite3_context *context, npyext_cursor *cursor);
void npyext_result_error_kind(sqlite3_context *context, npyext_cursor *cursor);
void npyext_result_array_key(sqlite3_context *context, npyext_cursor *cursor);

/* ---- table functions that give several rows for an array ----
 *
 * Each array is begun, and then gives row after row. A step leads to a row, or begins an array, whose first
 * row is left to the next step.
 */

/* What such a function's cursor begins with. */
typedef struct npyext_array_rows_cursor {
    npyext_cursor base;
    npyx_labels labels; /* given by the query (by); without a host: none */
    bool is_begun;      /* the open array is */
    bool is_again;      /* by the last call: what was computed from the array is still right */
    int64_t nrows;      /* how many it has given, errors' rows included */
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

#define NPYEXT_ARRAY_ROWS(cursor, methods_of)                                                                \
    .takes_member = true, .row = NPYEXT_ROW_OF_ARRAY, .cursor_nbytes = sizeof(cursor),                       \
    .methods = &(methods_of), .begin = npyext_array_rows_begin, .step = npyext_array_rows_step,              \
    .close = npyext_array_rows_close, .module = NPYEXT_CURSOR_MODULE

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
