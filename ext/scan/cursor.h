/*
 * The cursor under all table functions: a scan, what is selected of its current array, and the
 * methods for SQLite that all of them share. What their columns show is in result.h; functions that give
 * several rows for an array build on array_rows.h.
 */
#ifndef NPYEXT_CURSOR_H
#define NPYEXT_CURSOR_H

#include "scan.h"

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

/* The table function of a cursor. */
static inline const npyext_function *npyext_cursor_function(const npyext_cursor *cursor) {
    return ((const npyext_vtab *)cursor->base.pVtab)->function;
}

/* Where the current error is, for messages. */
npyext_place npyext_cursor_place(const npyext_cursor *cursor);

/* Reports an error at its place; returns SQLite's code. */
int npyext_cursor_report(npyext_cursor *cursor, const npyx_error *error);

/* What follows a step that gave no row: another step or, if *is_over, a row for its error (SQLITE_OK) or the
 * end of the query (SQLite's code for it). */
int npyext_cursor_judge(npyext_cursor *cursor, npyx_status status, bool *is_over);

/* What xFilter does, by the function's begin. Inline, like the next one: a call through a pointer takes
 * longer than all that a lookup in a join does. */
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
 * lookup. On failure the scan stays where it is. */
npyx_status npyext_cursor_next_array(npyext_cursor *cursor, npyx_error *error);

/* Opens the scan's next file; NPYX_DONE after the last one (is_eof is set). */
npyx_status npyext_cursor_next_file(npyext_cursor *cursor, npyx_error *error);

/* Forgets the call, whose arguments are wrong, so that they are read again next time. Returns the error's
 * status. */
npyx_status npyext_cursor_forget(npyext_cursor *cursor, npyx_error *error);

#endif
