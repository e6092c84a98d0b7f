#include "cursor.h"

#include "format/samples.h"
#include "format/tar.h"
#include "item/convert.h"
#include "source/lazy_array.h"
#include "text/span.h"

/* ---- what is selected of an array ---- */

void npyext_selection_close(npyext_selection *selection) {
    npyx_source_close(selection->payload);
    selection->payload = NULL;
    selection->astype = NULL;
    selection->is_open = false;
    npyx_array_clear(&selection->array);
}

int64_t npyext_selection_entry(const npyext_selection *selection, int64_t row) {
    const npyx_view *view = &selection->view;
    if (view->file_ndim > 0 && view->fixed[0] >= 0)
        return view->fixed[0];
    return view->ndim > 0 && view->file_axis[0] == 0 ? view->first[0] + row * view->step[0] : -1;
}

static npyx_status apply_argument(npyext_selection *selection, const npyext_scan *scan, npyext_role role,
                                  const char *name, npyx_error *error) {
    const npyext_argument *argument = &scan->arguments[role];
    npyx_view *view = &selection->view;
    const npyx_dtype *dtype = NULL;
    bool is_text = argument->type == SQLITE_TEXT;
    char number[NPYX_NUMBER_TEXT_NBYTES];
    if (!npyext_argument_is_given(argument))
        return NPYX_OK;
    /* an index alone is a slice of one integer, and need not be quoted */
    if (!is_text && (role != NPYEXT_SLICE || argument->type != SQLITE_INTEGER))
        return npyx_refuse(error, "%s must be a text%s", name, role == NPYEXT_SLICE ? " or an INTEGER" : "");
    if (role == NPYEXT_VIEW || role == NPYEXT_ASTYPE)
        NPYX_TRY(
            npyx_dtype_from_text(&selection->array.arena, argument->bytes, argument->nbytes, &dtype, error));
    switch (role) {
    case NPYEXT_FIELD: return npyx_view_select_field(view, argument->bytes, argument->nbytes, error);
    case NPYEXT_VIEW: return npyx_view_reinterpret(view, dtype, error);
    case NPYEXT_EXPECT:
        return npyx_expect_check(&scan->connection->host, argument->bytes, argument->nbytes, view->dtype,
                                 view->ndim, view->shape, error);
    case NPYEXT_SLICE:
        return is_text ? npyx_slice_apply(argument->bytes, argument->nbytes, view, error)
                       : npyx_slice_apply(number, npyx_text_i64(argument->integer, number), view, error);
    default: selection->astype = dtype; return npyx_convert_check(view->dtype, dtype, error);
    }
}

/* Opens the scan's current array. NPYX_DONE if the entry is not an array, and was not asked for by name. */
static npyx_status selection_open(npyext_selection *selection, const npyext_scan *scan, npyx_error *error) {
    npyx_archive *archive = scan->opened.archive;
    NPYX_TRY(npyx_archive_describe(archive, scan->index, &selection->array, error));
    if (!selection->array.is_array) {
        if (!npyext_argument_is_given(&scan->arguments[NPYEXT_MEMBER]))
            return NPYX_DONE;
        return npyx_archive_fail_no_array(error);
    }
    if (!scan->function->takes_objects)
        NPYX_TRY(npyx_array_check_values(&selection->array, error));
    /* the items of objects are not the file's bytes; a query that only counts them does without */
    if (selection->array.dtype->has_objects && (scan->plan.needs & NPYEXT_NEEDS_ITEMS) != 0)
        NPYX_TRY(
            npyx_archive_open_values(archive, scan->index, &selection->array, &selection->payload, error));
    npyx_view_of_array(&selection->array, &selection->view);
    NPYX_TRY(apply_argument(selection, scan, NPYEXT_FIELD, "field", error));
    NPYX_TRY(apply_argument(selection, scan, NPYEXT_VIEW, "view", error));
    NPYX_TRY(apply_argument(selection, scan, NPYEXT_EXPECT, "expect", error));
    NPYX_TRY(apply_argument(selection, scan, NPYEXT_SLICE, "slice", error));
    NPYX_TRY(apply_argument(selection, scan, NPYEXT_ASTYPE, "astype", error));
    if (selection->payload == NULL)
        NPYX_TRY(npyx_archive_open_payload(archive, scan->index, &selection->payload, error));
    selection->is_open = true;
    return NPYX_OK;
}

/* ---- the methods that table functions share ---- */

static const npyext_function *function_of(const npyext_cursor *cursor) {
    return ((const npyext_vtab *)cursor->base.pVtab)->function;
}

/* Where the current error is, for messages. */
static npyext_place cursor_place(const npyext_cursor *cursor) {
    const npyext_function *function = function_of(cursor);
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
    const npyext_function *function = function_of(cursor);
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
    return npyext_scan_begin(&cursor->scan, request, function_of(cursor)->keeps_files, error);
}

int npyext_cursor_filter(sqlite3_vtab_cursor *base, int idx_num, const char *sentence, int argc,
                         sqlite3_value **argv) {
    (void)idx_num;
    (void)argc;
    npyext_begin *begin = function_of((npyext_cursor *)base)->begin;
    int code = npyext_cursor_begin_by(begin == NULL ? cursor_begin_scan : begin, base, sentence, argv);
    return code == SQLITE_OK ? function_of((npyext_cursor *)base)->module.xNext(base) : code;
}

int npyext_cursor_next(sqlite3_vtab_cursor *base) {
    enum { NROWS_PER_CLOCK = 16 }; /* reading the clock takes as long as a short row */
    npyext_cursor *cursor = (npyext_cursor *)base;
    if (cursor->nrows_begun++ % NROWS_PER_CLOCK == 0)
        npyext_connection_begin(cursor->scan.connection);
    return npyext_cursor_go_on_by(function_of(cursor)->step, cursor);
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
    return npyext_report(cursor->base.pVtab, cursor_place(cursor), error);
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
        status = selection_open(&cursor->selection, scan, error);
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

void npyext_result_item(sqlite3_context *context, npyext_cursor *cursor, const npyx_dtype *dtype,
                        const uint8_t *item) {
    if (!npyext_result_plain(context, npyext_plain_type(dtype), item))
        npyext_result_items(context, npyext_scan_place(&cursor->scan), dtype, 0, NULL, item,
                            &cursor->scratch);
}

void npyext_result_scratch(sqlite3_context *context, npyext_cursor *cursor) {
    const npyx_buffer *text = &cursor->scratch;
    if (text->status == NPYX_OK)
        npyext_result_text(context, text->nbytes == 0 ? "" : text->bytes, text->nbytes);
    else
        sqlite3_result_error_nomem(context);
}

void npyext_result_dtype(sqlite3_context *context, npyext_cursor *cursor, const npyx_dtype *dtype) {
    npyx_buffer_reset(&cursor->scratch);
    npyx_dtype_append_name(dtype, &cursor->scratch);
    npyext_result_scratch(context, cursor);
}

void npyext_result_blob_of(sqlite3_context *context, const npyext_cursor *cursor, npyx_buffer *bytes) {
    npyx_error error;
    if (npyx_buffer_check(bytes, &error) == NPYX_OK)
        npyext_result_blob(context, bytes->bytes, bytes->nbytes);
    else
        npyext_result_error(context, npyext_scan_place(&cursor->scan), &error);
}

void npyext_result_data(sqlite3_context *context, npyext_cursor *cursor, const npyx_dtype *dtype,
                        const uint8_t *items, int64_t nelem) {
    npyx_buffer_reset(&cursor->scratch);
    npyx_buffer_append(&cursor->scratch, items, (size_t)(nelem * dtype->itemsize));
    if (cursor->scratch.status == NPYX_OK)
        npyx_element_swap(dtype, (uint8_t *)cursor->scratch.bytes, nelem);
    npyext_result_blob_of(context, cursor, &cursor->scratch);
}

npyx_status npyext_check_item(npyext_cursor *cursor, const npyx_dtype *dtype, const uint8_t *item,
                              npyx_error *error) {
    npyx_value value;
    return npyx_element_value(dtype, item, &cursor->scratch, &value, error);
}

void npyext_result_coordinate(sqlite3_context *context, npyext_cursor *cursor, const npyx_view *view,
                              const bool *is_kept, int64_t coordinate) {
    int64_t indices[NPYX_MAX_NDIM];
    int n = npyx_view_coordinate(view, is_kept, coordinate, indices);
    if (n == 1)
        sqlite3_result_int64(context, indices[0]);
    else
        npyext_result_integers(context, &cursor->scratch, indices, n);
}

/* ---- columns of the file, of the entry, of the current error ---- */

/* The path of the current row: of a concatenation the part's, where the row belongs to one. */
static const char *cursor_path(const npyext_cursor *cursor) {
    const npyext_scan *scan = &cursor->scan;
    bool is_of_entry = function_of(cursor)->entry != NULL && scan->opened.archive != NULL && !scan->has_error;
    const char *path =
        is_of_entry ? npyext_lazy_path_of(scan->opened.archive, function_of(cursor)->entry(cursor)) : NULL;
    return path != NULL ? path : scan->path;
}

NPYEXT_KNOWN_RESULT(extern, npyext_result_path, const char *path = cursor_path(cursor), path != NULL,
                    npyext_result_text, path, strlen(path))
NPYEXT_KNOWN_RESULT(extern, npyext_result_name, const npyext_scan *scan = &cursor->scan, true,
                    npyext_result_text, scan->entry.name, scan->has_entry ? scan->entry.name_nbytes : 0)
NPYEXT_KNOWN_RESULT(extern, npyext_result_error_text, const npyext_scan *scan = &cursor->scan,
                    scan->has_error, npyext_result_fault, cursor_place(cursor), &scan->error)
NPYEXT_KNOWN_RESULT(extern, npyext_result_error_kind, const npyext_scan *scan = &cursor->scan,
                    scan->has_error, sqlite3_result_text, npyx_error_kind_name(&scan->error), -1,
                    SQLITE_STATIC)
NPYEXT_KNOWN_RESULT(extern, npyext_result_array_key, npyext_scan *scan = &cursor->scan, true,
                    sqlite3_result_int64, npyext_scan_array_key(scan))

/* ---- WebDataset's key and extension ---- */

static bool cursor_key(const npyext_cursor *cursor, npyx_sample_key *key) {
    const npyx_entry *entry = &cursor->scan.entry;
    return cursor->scan.has_entry && entry->sample_nbytes > 0 &&
           npyx_sample_key_of(entry->name, entry->sample_nbytes, key);
}

void npyext_result_key(sqlite3_context *context, npyext_cursor *cursor) {
    npyx_sample_key key;
    if (cursor_key(cursor, &key))
        npyext_result_text(context, cursor->scan.entry.name, key.key_nbytes);
}

void npyext_result_ext(sqlite3_context *context, npyext_cursor *cursor) {
    npyx_sample_key key;
    const npyx_entry *entry = &cursor->scan.entry;
    npyx_buffer *ext = &cursor->scratch;
    if (!cursor_key(cursor, &key))
        return;
    npyx_buffer_reset(ext);
    npyx_buffer_append_lower(ext, entry->name + key.ext_off, entry->sample_nbytes - key.ext_off);
    npyext_result_scratch(context, cursor);
}

/* ---- the parts of a path, as Python's pathlib names them; NULL for a BLOB, which has no path ---- */

/* The next part of a path; *path moves to its end. A `.` does not count as a part. */
static npyx_span next_part(const char **path) {
    npyx_span part;
    do {
        part.text = *path + strspn(*path, "/");
        part.nbytes = strcspn(part.text, "/");
        *path = part.text + part.nbytes;
    } while (part.nbytes == 1 && *part.text == '.');
    return part;
}

/* The root of an absolute path is a part of its own. */
void npyext_result_parts(sqlite3_context *context, npyext_cursor *cursor) {
    const char *path = cursor_path(cursor);
    if (path == NULL)
        return;
    npyx_buffer text = {.host = &cursor->scan.connection->host};
    npyx_buffer_append_text(&text, *path == '/' ? "[\"/\"" : "[");
    for (npyx_span part = next_part(&path); part.nbytes > 0; part = next_part(&path)) {
        if (text.nbytes > 1)
            npyx_buffer_append_char(&text, ',');
        npyx_buffer_append_json(&text, part.text, part.nbytes);
    }
    npyx_buffer_append_char(&text, ']');
    npyext_result_json_buffer(context, &text);
    npyx_buffer_clear(&text);
}

/* The last part up to its last dot, unless that is its first or last character. */
void npyext_result_stem(sqlite3_context *context, npyext_cursor *cursor) {
    const char *path = cursor_path(cursor);
    if (path == NULL)
        return;
    const char *slash = strrchr(path, '/');
    const char *last = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(last, '.');
    bool has_suffix = dot != NULL && dot != last && dot[1] != '\0';
    npyext_result_text(context, last, has_suffix ? (size_t)(dot - last) : strlen(last));
}

/* The name of the folder that contains the file; '' if the path names none. */
void npyext_result_parent(sqlite3_context *context, npyext_cursor *cursor) {
    const char *path = cursor_path(cursor);
    if (path == NULL)
        return;
    npyx_span folder = {"", 0}, last = folder;
    for (npyx_span part = next_part(&path); part.nbytes > 0; part = next_part(&path)) {
        folder = last;
        last = part;
    }
    npyext_result_text(context, folder.text, folder.nbytes);
}

/* ---- several rows for an array ---- */

static const npyext_array_rows_methods *array_rows_methods_of(const npyext_cursor *cursor) {
    return function_of(cursor)->methods;
}

static void array_rows_end_array(npyext_cursor *cursor) {
    if (array_rows_methods_of(cursor)->end_array != NULL)
        array_rows_methods_of(cursor)->end_array(cursor);
    ((npyext_array_rows_cursor *)cursor)->is_begun = false;
}

static npyx_status array_rows_begin_array(npyext_cursor *cursor, bool is_again, npyx_error *error) {
    npyext_array_rows_cursor *rows = (npyext_array_rows_cursor *)cursor;
    rows->is_begun = true;
    rows->is_again = is_again;
    rows->nrows = 0;
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
