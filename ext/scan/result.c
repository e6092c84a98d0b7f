#include "result.h"

#include "format/samples.h"
#include "source/lazy_array.h"
#include "text/span.h"

/* ---- of items ---- */

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
    bool is_of_entry =
        npyext_cursor_function(cursor)->entry != NULL && scan->opened.archive != NULL && !scan->has_error;
    const char *path =
        is_of_entry ? npyext_lazy_path_of(scan->opened.archive, npyext_cursor_function(cursor)->entry(cursor))
                    : NULL;
    return path != NULL ? path : scan->path;
}

NPYEXT_KNOWN_RESULT(extern, npyext_result_path, const char *path = cursor_path(cursor), path != NULL,
                    npyext_result_text, path, strlen(path))
NPYEXT_KNOWN_RESULT(extern, npyext_result_name, const npyext_scan *scan = &cursor->scan, true,
                    npyext_result_text, scan->entry.name, scan->has_entry ? scan->entry.name_nbytes : 0)
NPYEXT_KNOWN_RESULT(extern, npyext_result_error_text, const npyext_scan *scan = &cursor->scan,
                    scan->has_error, npyext_result_fault, npyext_cursor_place(cursor), &scan->error)
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
