#include "array_rows.h"

static void rows_end_array(npyext_cursor *cursor, const npyext_rows_methods *methods) {
    methods->end_array(cursor);
    ((npyext_rows_cursor *)cursor)->is_begun = false;
}

static npyx_status rows_begin_array(npyext_cursor *cursor, const npyext_rows_methods *methods, bool is_again,
                                    npyx_error *error) {
    npyext_rows_cursor *rows = (npyext_rows_cursor *)cursor;
    rows->is_begun = true;
    rows->is_again = is_again;
    rows->nrows = 0;
    return methods->begin_array(cursor, error);
}

npyx_status npyext_rows_begin(npyext_cursor *cursor, const npyext_rows_methods *methods,
                              const npyext_request *request, npyx_error *error) {
    rows_end_array(cursor, methods);
    NPYX_TRY(npyext_cursor_begin(cursor, request, error));
    if (cursor->selection.is_open)
        return rows_begin_array(cursor, methods, true, error);
    npyx_status status = methods->read_arguments == NULL ? NPYX_OK : methods->read_arguments(cursor, error);
    if (status == NPYX_OK)
        return NPYX_OK;
    npyx_error reason = *error;
    npyext_scan_clear(&cursor->scan); /* arguments that are wrong are read again next time */
    *error = reason;
    return status;
}

npyx_status npyext_rows_step(npyext_cursor *cursor, const npyext_rows_methods *methods, npyx_error *error) {
    npyext_rows_cursor *rows = (npyext_rows_cursor *)cursor;
    bool was_begun = rows->is_begun;
    npyx_status status =
        was_begun ? methods->next_row(cursor, error) : npyext_cursor_next_array(cursor, error);
    if (status == NPYX_OK && !was_begun) {
        status = rows_begin_array(cursor, methods, false, error);
        if (status == NPYX_OK)
            return NPYX_DONE;
    }
    if (status != NPYX_OK)
        rows_end_array(cursor, methods);
    if (status != NPYX_OK && status != NPYX_DONE)
        npyext_selection_close(&cursor->selection);
    rows->nrows += status != NPYX_DONE; /* the row of an error differs from the one before it */
    return status;
}

void npyext_rows_result_key(sqlite3_context *context, npyext_cursor *cursor) {
    uint64_t key = (uint64_t)npyext_scan_array_key(&cursor->scan);
    sqlite3_result_int64(context, (int64_t)(key + (uint64_t)((npyext_rows_cursor *)cursor)->nrows));
}
