#include "array_rows.h"

#include "result.h"

static const npyext_array_rows_methods *array_rows_methods_of(const npyext_cursor *cursor) {
    return npyext_cursor_function(cursor)->methods;
}

static void array_rows_end_array(npyext_cursor *cursor) {
    if (array_rows_methods_of(cursor)->end_array != NULL)
        array_rows_methods_of(cursor)->end_array(cursor);
    ((npyext_array_rows_cursor *)cursor)->is_begun = false;
    ((npyext_array_rows_cursor *)cursor)->nsure = 0;
}

static npyx_status array_rows_begin_array(npyext_cursor *cursor, bool is_again, npyx_error *error) {
    npyext_array_rows_cursor *rows = (npyext_array_rows_cursor *)cursor;
    rows->is_begun = true;
    rows->is_again = is_again;
    rows->nrows = rows->nsure = 0;
    return array_rows_methods_of(cursor)->begin_array(cursor, error);
}

/* Reads the labels of the argument by. */
static npyx_status array_rows_read_labels(npyext_cursor *cursor, npyx_error *error) {
    const npyext_scan *scan = &cursor->scan;
    const npyext_argument *by = &scan->arguments[NPYEXT_BY];
    npyx_labels *labels = &((npyext_array_rows_cursor *)cursor)->labels;
    npyext_operand operand;
    npyx_labels_clear(labels);
    if (!npyext_argument_is_given(by) || scan->has_null)
        return NPYX_OK;
    npyx_status status =
        npyext_operand_open(&operand, scan->connection, by, "by", NPYEXT_OPERAND_READ_OF_PATH, error);
    if (status == NPYX_OK) {
        npyx_view view;
        npyx_view_of_array(operand.array, &view);
        status = npyx_labels_read(labels, operand.payload, &view, error);
        status = npyx_error_place(error, status, "by");
    }
    npyext_operand_close(&operand);
    return status;
}

npyx_status npyext_array_rows_begin(npyext_cursor *cursor, const npyext_request *request, npyx_error *error) {
    array_rows_end_array(cursor);
    NPYX_TRY(npyext_cursor_begin(cursor, request, error));
    if (cursor->selection.is_open)
        return array_rows_begin_array(cursor, true, error);
    npyx_status status = array_rows_read_labels(cursor, error);
    if (status == NPYX_OK && array_rows_methods_of(cursor)->read_arguments != NULL)
        status = array_rows_methods_of(cursor)->read_arguments(cursor, error);
    return status == NPYX_OK ? NPYX_OK : npyext_cursor_forget(cursor, error);
}

npyx_status npyext_array_rows_step(npyext_cursor *cursor, npyx_error *error) {
    npyext_array_rows_cursor *rows = (npyext_array_rows_cursor *)cursor;
    bool was_begun = rows->is_begun;
    npyx_status status = was_begun ? array_rows_methods_of(cursor)->next_row(cursor, error)
                                   : npyext_cursor_next_array(cursor, error);
    if (status == NPYX_OK && !was_begun) {
        status = array_rows_begin_array(cursor, false, error);
        if (status == NPYX_OK)
            return NPYX_DONE;
    }
    if (status != NPYX_OK)
        array_rows_end_array(cursor);
    if (status != NPYX_OK && status != NPYX_DONE)
        npyext_selection_close(&cursor->selection);
    rows->nrows += status != NPYX_DONE; /* the row of an error differs from the one before it */
    return status;
}

int npyext_array_rows_next(sqlite3_vtab_cursor *cursor) {
    npyext_array_rows_cursor *rows = (npyext_array_rows_cursor *)cursor;
    if (rows->nrows >= rows->nsure)
        return npyext_cursor_next(cursor);
    rows->nrows++;
    return SQLITE_OK;
}

void npyext_array_rows_close(npyext_cursor *cursor) {
    array_rows_end_array(cursor);
    npyx_labels_clear(&((npyext_array_rows_cursor *)cursor)->labels);
    if (array_rows_methods_of(cursor)->close != NULL)
        array_rows_methods_of(cursor)->close(cursor);
}

npyx_status npyext_array_rows_axes(const npyext_cursor *cursor, bool room[NPYX_MAX_NDIM], const bool **axes,
                                   npyx_error *error) {
    const npyext_argument *axis = &cursor->scan.arguments[NPYEXT_AXIS];
    *axes = npyext_argument_is_given(axis) ? room : NULL;
    if (*axes == NULL)
        return NPYX_OK;
    memset(room, 0, NPYX_MAX_NDIM);
    return npyext_argument_axes(axis, &cursor->scan.connection->host, cursor->selection.view.ndim, room,
                                error);
}

void npyext_array_rows_result_label(sqlite3_context *context, npyext_cursor *cursor, int64_t label) {
    const npyx_labels *labels = npyext_array_rows_labels(cursor);
    if (labels != NULL)
        npyext_result_item(context, cursor, labels->dtype, labels->items + label * labels->dtype->itemsize);
}

void npyext_array_rows_result_key(sqlite3_context *context, npyext_cursor *cursor) {
    uint64_t key = (uint64_t)npyext_scan_array_key(&cursor->scan);
    sqlite3_result_int64(context, (int64_t)(key + (uint64_t)((npyext_array_rows_cursor *)cursor)->nrows));
}
