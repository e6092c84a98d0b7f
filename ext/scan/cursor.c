#include "cursor.h"

/* ---- the methods that table functions share ---- */

npyext_place npyext_cursor_place(const npyext_cursor *cursor) {
    const npyext_function *function = npyext_cursor_function(cursor);
    return function->place != NULL ? function->place(cursor) : npyext_scan_place(&cursor->scan);
}

int npyext_cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor) {
    const npyext_function *function = ((npyext_vtab *)vtab)->function;
    npyx_host *host = &((npyext_vtab *)vtab)->connection->host;
    npyext_cursor *made = npyx_alloc_zeroed(host, function->cursor_nbytes);
    if (made == NULL)
        return SQLITE_NOMEM;
    made->base.pVtab = vtab;
    made->is_eof = true;
    made->scratch.host = host;
    npyx_array_init(&made->selection.array, host);
    if (function->open != NULL)
        function->open(made, host);
    *cursor = &made->base;
    return SQLITE_OK;
}

int npyext_cursor_close(sqlite3_vtab_cursor *base) {
    npyext_cursor *cursor = (npyext_cursor *)base;
    const npyext_function *function = npyext_cursor_function(cursor);
    if (function->close != NULL)
        function->close(cursor);
    npyext_selection_close(&cursor->selection);
    npyext_counters_share(((const npyext_vtab *)base->pVtab)->connection);
    npyext_scan_clear(&cursor->scan);
    npyx_buffer_clear(&cursor->scratch);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

int npyext_cursor_eof(sqlite3_vtab_cursor *cursor) {
    return ((npyext_cursor *)cursor)->is_eof;
}

static npyx_status cursor_begin_scan(npyext_cursor *cursor, const npyext_request *request,
                                     npyx_error *error) {
    return npyext_scan_begin(&cursor->scan, request, npyext_cursor_function(cursor)->keeps_files, error);
}

int npyext_cursor_filter(sqlite3_vtab_cursor *base, int idx_num, const char *sentence, int argc,
                         sqlite3_value **argv) {
    (void)idx_num;
    (void)argc;
    npyext_begin *begin = npyext_cursor_function((npyext_cursor *)base)->begin;
    int code = npyext_cursor_begin_by(begin == NULL ? cursor_begin_scan : begin, base, sentence, argv);
    return code == SQLITE_OK ? npyext_cursor_function((npyext_cursor *)base)->module.xNext(base) : code;
}

int npyext_cursor_next(sqlite3_vtab_cursor *base) {
    enum { NROWS_PER_CLOCK = 16 }; /* reading the clock takes as long as a short row */
    npyext_cursor *cursor = (npyext_cursor *)base;
    if (cursor->nrows_begun++ % NROWS_PER_CLOCK == 0)
        npyext_connection_begin(cursor->scan.connection);
    return npyext_cursor_go_on_by(npyext_cursor_function(cursor)->step, cursor);
}

int npyext_cursor_judge(npyext_cursor *cursor, npyx_status status, bool *is_over) {
    npyext_scan *scan = &cursor->scan;
    npyext_on_error fate = status == NPYX_DONE ? NPYEXT_SKIP : npyext_scan_fate(scan, &scan->error);
    *is_over = scan->has_error = fate == NPYEXT_ROW;
    if (scan->has_error)
        return SQLITE_OK;
    *is_over = fate == NPYEXT_RAISE || npyx_poll(&scan->connection->host, &scan->error) != NPYX_OK;
    return *is_over ? npyext_cursor_report(cursor, &scan->error) : SQLITE_OK;
}

int npyext_cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column) {
    npyext_cursor *cursor = (npyext_cursor *)base;
    const npyext_column *declared = &cursor->scan.function->columns[column];
    if (declared->kind == NPYEXT_IS_ARGUMENT)
        npyext_result_argument(context, &cursor->scan.arguments[declared->role]);
    else
        declared->result(context, cursor);
    return SQLITE_OK; /* errors are set in the context */
}

int npyext_cursor_report(npyext_cursor *cursor, const npyx_error *error) {
    return npyext_report(cursor->base.pVtab, npyext_cursor_place(cursor), error);
}

/* ---- from array to array ---- */

npyx_status npyext_cursor_begin(npyext_cursor *cursor, const npyext_request *request, npyx_error *error) {
    npyext_scan *scan = &cursor->scan;
    bool is_same = npyext_scan_is_same(scan, request);
    if (is_same && cursor->selection.is_open && npyext_scan_is_single(scan))
        return NPYX_OK;
    npyext_selection_close(&cursor->selection);
    if (!is_same)
        return npyext_scan_begin(scan, request, true, error);
    npyext_connection_begin(scan->connection);
    npyext_scan_close_file(scan);
    scan->next_file = 0;
    return NPYX_OK;
}

npyx_status npyext_cursor_next_file(npyext_cursor *cursor, npyx_error *error) {
    npyx_status status = npyext_scan_next_file(&cursor->scan, error);
    cursor->is_eof = status == NPYX_DONE;
    return status;
}

npyx_status npyext_cursor_forget(npyext_cursor *cursor, npyx_error *error) {
    npyx_error reason = *error; /* it may be the scan's own */
    npyext_scan_clear(&cursor->scan);
    *error = reason;
    return reason.status;
}

/* One step: to a file, or to an entry of it. */
static npyx_status cursor_step(npyext_cursor *cursor, npyx_error *error) {
    npyext_scan *scan = &cursor->scan;
    npyx_status status = scan->opened.archive == NULL ? NPYX_DONE : npyext_scan_next_entry(scan, error);
    if (status == NPYX_DONE)
        return npyext_scan_next_file(scan, error);
    if (status == NPYX_OK)
        status = npyext_selection_open(&cursor->selection, scan, error);
    return status == NPYX_DONE ? NPYX_OK : status; /* an entry that is not an array has no items */
}

npyx_status npyext_cursor_next_array(npyext_cursor *cursor, npyx_error *error) {
    npyx_status status = NPYX_OK;
    cursor->is_eof = cursor->selection.is_open && npyext_scan_is_single(&cursor->scan);
    if (cursor->is_eof)
        return NPYX_DONE;
    npyext_selection_close(&cursor->selection);
    if (!cursor->scan.has_entry) /* the whole file failed, not one of its arrays */
        npyext_scan_close_file(&cursor->scan);
    while (!cursor->selection.is_open && status == NPYX_OK) {
        npyext_selection_close(&cursor->selection);
        status = cursor_step(cursor, error);
        if (status == NPYX_OK)
            status = npyx_poll(&cursor->scan.connection->host, error);
    }
    cursor->is_eof = status == NPYX_DONE;
    return status;
}
