#include "array_value.h"

#include "format/archive.h"
#include "format/header.h"
#include "io/first_bytes.h"
#include "item/convert.h"
#include "pattern.h"
#include "walk/reader.h"

/* A number that stays the same throughout a run of a statement and differs in the next: files are checked
 * against the file system once for each run. In every call, that would take 2.2 us of 2.6. */
static int64_t statement_tick(sqlite3_context *context, npyext_connection *connection) {
    const int64_t *kept = sqlite3_get_auxdata(context, NPYEXT_KEPT_TICK);
    if (kept != NULL)
        return *kept;
    int64_t tick = npyext_cache_tick(connection);
    int64_t *made = sqlite3_malloc(sizeof *made);
    if (made != NULL) {
        *made = tick;
        sqlite3_set_auxdata(context, NPYEXT_KEPT_TICK, made, sqlite3_free);
    }
    return tick;
}

static npyx_status fail_type(const npyext_caller *caller, sqlite3_value *argument, npyx_error *error) {
    if (sqlite3_value_type(argument) != SQLITE_TEXT)
        return npyx_refuse(error, "a number is not an array; pass a .npy BLOB, or a handle from npy_file");
    const char *text = (const char *)sqlite3_value_text(argument);
    NPYX_TRY(npyx_check_memory(text, error));
    char quoted[300];
    sqlite3_snprintf(sizeof quoted, quoted, "%!.60Q", text);
    if (text[0] == '[')
        return npyx_refuse(
            error,
            "%s is a TEXT; npy_from_json makes an array from JSON, and npy_rows has each row as "
            "an array in its column `array`",
            quoted);
    return npyx_refuse(error, "%s is a TEXT; to open a path, use npy_file, as in SELECT %s FROM npy_file(%s)",
                       quoted, caller->call, quoted);
}

/* For a BLOB that is not a .npy: says what it is. */
static npyx_status fail_blob(npyext_array_value *value, const npyext_caller *caller, npyx_error *error) {
    npyx_archive *archive = NULL;
    NPYX_TRY(npyext_open_blob(&value->connection->host, value->bytes, value->nbytes, NPYX_NO_HINT, &archive,
                              error));
    npyx_format format = archive->format;
    npyx_archive_close(archive);
    return npyx_refuse(error,
                       "is %s .%s, which may contain several arrays; use npy_file to choose one, as in "
                       "SELECT name, %s FROM npy_file(blob)",
                       format == NPYX_FORMAT_NPZ ? "an" : "a", npyx_format_name(format), caller->call);
}

/* Bytes after an array are ignored, unless they are another array. */
static npyx_status check_is_only(const npyext_array_value *value, const npyext_caller *caller,
                                 npyx_error *error) {
    if (value->array->dtype->has_objects) /* a pickle: its header does not say where it ends */
        return NPYX_OK;
    size_t end = (size_t)(value->array->data_off + value->array->nbytes);
    if (!npyx_begins_npy((const char *)value->bytes + end, value->nbytes - end))
        return NPYX_OK;
    return npyx_fail(error, NPYX_INVALID, (int64_t)end,
                     "contains several arrays, one after the other (the second at byte %zu); use npy_file to "
                     "choose one, as in SELECT idx, %s FROM npy_file(blob)",
                     end, caller->call);
}

static npyx_status open_blob(npyext_array_value *value, const npyext_caller *caller, npyx_error *error) {
    npyext_connection *connection = value->connection;
    size_t header_nbytes = 0;
    value->place.path = "BLOB";
    if (!npyx_begins_npy(value->bytes, value->nbytes))
        return fail_blob(value, caller, error);
    NPYX_TRY(npyx_header_npy_measure(value->bytes, value->nbytes, &header_nbytes, error));
    if (header_nbytes > value->nbytes)
        return npyx_fail_as(error, NPYX_KIND_TRUNCATED, NPYX_CORRUPT, (int64_t)value->nbytes,
                            "the header is truncated (it ends at byte %zu, the BLOB at byte %zu)",
                            header_nbytes, value->nbytes);
    NPYX_TRY(npyext_memo_of_header(connection, value->bytes, header_nbytes, &value->known, error));
    value->array = &value->known->array;
    NPYX_TRY(npyx_array_check_nbytes(value->array, (int64_t)value->nbytes, error));
    return check_is_only(value, caller, error);
}

static npyx_status open_handle(npyext_array_value *value, int64_t tick, npyx_error *error) {
    npyext_connection *connection = value->connection;
    NPYX_TRY(npyext_policy_check_name(&connection->policy, "a handle", "a .npy BLOB", error));
    npyx_status status =
        npyext_memo_of_handle(connection, value->bytes, value->nbytes, tick, &value->known, error);
    value->bytes = NULL;
    if (value->known != NULL) {
        value->array = &value->known->array;
        value->place.path = value->known->path;
        value->place.entry = value->known->has_entry ? &value->known->entry : NULL;
    }
    if (status == NPYX_OK && value->array->is_foreign)
        return npyx_array_check_values(value->array, error);
    return status;
}

npyx_status npyext_array_value_open(npyext_array_value *value, npyext_connection *connection,
                                    sqlite3_context *context, const npyext_caller *caller,
                                    sqlite3_value *argument, npyx_error *error) {
    int type = sqlite3_value_type(argument);
    *value = (npyext_array_value){.connection = connection, .place.path = caller->name};
    if (type == SQLITE_NULL)
        return NPYX_DONE;
    if (type == SQLITE_TEXT)
        NPYX_TRY(npyext_policy_check_name(&connection->policy, "a TEXT", "a .npy BLOB", error));
    if (type != SQLITE_BLOB)
        return fail_type(caller, argument, error);
    value->bytes = sqlite3_value_blob(argument);
    value->nbytes = (size_t)sqlite3_value_bytes(argument);
    if (value->bytes == NULL && value->nbytes > 0) /* a zeroblob that there was no memory for */
        return npyx_fail_nomem(error);
    if (!npyext_handle_is_like(value->bytes, value->nbytes))
        return open_blob(value, caller, error);
    return open_handle(
        value, context == NULL ? npyext_cache_tick(connection) : statement_tick(context, connection), error);
}

/* Reads the objects of a BLOB. The memo's description may serve other BLOBs with the same header, so this one
 * gets a description of its own, and the objects take the place of its bytes. */
static npyx_status hold_blob(npyext_array_value *value, npyx_error *error) {
    npyx_host *host = &value->connection->host;
    npyx_objects *objects = NULL;
    npyx_source *blob = NULL, *items = NULL;
    value->held = npyx_alloc(host, sizeof *value->held);
    NPYX_TRY(npyx_check_memory(value->held, error));
    npyx_array_init(value->held, host);
    NPYX_TRY(npyx_header_npy_parse(value->bytes, value->known->key.nbytes, value->held, error));
    NPYX_TRY(npyx_source_open_memory(host, value->bytes, value->nbytes, &blob, error));
    npyx_status status = npyx_objects_read(blob, value->held, &objects, error);
    npyx_source_close(blob);
    NPYX_TRY(status);
    status = npyx_objects_open(objects, value->held, &items, error);
    npyx_objects_release(objects);
    NPYX_TRY(status);
    npyx_source_close(value->memory);
    value->memory = items;
    value->array = value->held;
    value->nbytes = (size_t)items->nbytes;
    return npyx_source_window(items, 0, value->nbytes, NULL, &value->bytes, error);
}

npyx_status npyext_array_value_hold(npyext_array_value *value, npyx_error *error) {
    if (!value->array->dtype->has_objects || value->array->is_held)
        return NPYX_OK;
    return value->bytes == NULL ? npyext_memo_hold(value->known, error) : hold_blob(value, error);
}

void npyext_array_value_close(npyext_array_value *value) {
    npyx_source_close(value->memory);
    value->memory = NULL;
    if (value->held != NULL)
        npyx_array_clear(value->held);
    npyx_free(&value->connection->host, value->held);
    value->held = NULL;
    npyext_memo_clear(value->connection, true);
    npyext_counters_share(value->connection);
}

npyx_status npyext_array_value_item(npyext_array_value *value, const npyx_view *view, const uint8_t **item,
                                    npyx_error *error) {
    if (value->bytes == NULL)
        return npyext_memo_read(value->known, view->off, (size_t)view->dtype->itemsize, item, error);
    *item = value->bytes + view->off;
    return NPYX_OK;
}

npyx_status npyext_array_value_source(npyext_array_value *value, npyx_source **source, npyx_error *error) {
    npyext_connection_begin(value->connection);
    if (value->bytes != NULL && value->memory == NULL)
        NPYX_TRY(npyx_source_open_memory(&value->connection->host, value->bytes, value->nbytes,
                                         &value->memory, error));
    *source = value->bytes == NULL ? value->known->payload : value->memory;
    return NPYX_OK;
}

/* Goes to the next block of the rows of a view; NPYX_DONE after the last. Blocks stay in place for a BLOB
 * whose rows are in C order. A row beyond SQLite's length limit is NPYX_TOOBIG. Polls the host. Only for
 * views that have bytes: there may be more items of 0 bytes than anyone can count. The reader is
 * zero-initialised; clear it whatever the status. */
static npyx_status value_next(npyext_array_value *value, const npyx_view *view, npyx_reader *reader,
                              npyx_error *error) {
    npyx_source *source = NULL;
    if (reader->source == NULL) {
        NPYX_TRY(npyext_array_value_source(value, &source, error));
        npyx_reader_init(reader, source, view, npyext_max_nbytes(value->connection));
    }
    int64_t row = reader->first_row + reader->nrows_read;
    NPYX_TRY(npyx_poll(reader->host, error));
    return row == reader->nrows ? NPYX_DONE : npyx_reader_fill(reader, row, INT64_MAX, error);
}

npyx_status npyext_items_reserve(npyx_buffer *out, const npyx_dtype *dtype, int64_t nelem, uint8_t **items,
                                 npyx_error *error) {
    int64_t nbytes;
    if (!npyx_multiply_i64(nelem, dtype->itemsize, &nbytes) || (uint64_t)nbytes > SIZE_MAX)
        out->status = NPYX_TOOBIG;
    else if (npyx_buffer_reserve(out, nbytes > 0 ? (size_t)nbytes : 1)) /* even no items need an address */
        *items = (uint8_t *)out->bytes + out->nbytes;
    return npyx_buffer_check(out, error);
}

/* Whether a view has bytes at all: a header may claim any number of items of 0 bytes. */
static bool has_bytes(const npyx_view *view) {
    return view->dtype->itemsize > 0 && npyx_view_nelem(view) > 0;
}

npyx_status npyext_array_value_append_items(npyext_array_value *value, const npyx_view *view,
                                            bool as_little_endian, npyx_buffer *out, npyx_error *error) {
    if (!has_bytes(view))
        return npyx_buffer_check(out, error);
    /* all at once, so that what exceeds the limit is refused before anything is read */
    if (!npyx_buffer_reserve(out, (size_t)(npyx_view_nelem(view) * view->dtype->itemsize)))
        return npyx_buffer_check(out, error);
    npyx_reader r = {0};
    npyx_status status = NPYX_OK;
    while (status == NPYX_OK && (status = value_next(value, view, &r, error)) == NPYX_OK) {
        size_t start = out->nbytes;
        npyx_buffer_append(out, r.rows, (size_t)(r.nrows_read * r.row_nbytes));
        if (as_little_endian)
            npyx_element_swap(view->dtype, (uint8_t *)out->bytes + start, r.nrows_read * r.row_nelem);
    }
    npyx_reader_clear(&r);
    return status == NPYX_DONE ? npyx_buffer_check(out, error) : status;
}

npyx_status npyext_array_value_append_npy(npyext_array_value *value, const npyx_view *view, bool is_fortran,
                                          npyx_buffer *out, npyx_error *error) {
    npyx_header_npy_append(view->dtype, view->ndim, view->shape, is_fortran, out);
    npyx_view stored = *view;
    if (is_fortran) /* the order of the items in the file is C order of the axes reversed */
        npyx_view_permute(&stored, NULL);
    return npyext_array_value_append_items(value, &stored, false, out, error);
}

npyx_status npyext_array_value_append_converted(npyext_array_value *value, const npyx_view *view,
                                                const npyx_dtype *dtype, npyx_buffer *out,
                                                npyx_error *error) {
    uint8_t *items = NULL;
    NPYX_TRY(npyext_items_reserve(out, dtype, npyx_view_nelem(view), &items, error));
    if (!has_bytes(view))
        return NPYX_OK;
    npyx_reader r = {0};
    npyx_status status = NPYX_OK;
    while (status == NPYX_OK && (status = value_next(value, view, &r, error)) == NPYX_OK) {
        int64_t nelem = r.nrows_read * r.row_nelem;
        status = npyx_convert_items(view->dtype, r.rows, nelem, dtype, (uint8_t *)out->bytes + out->nbytes,
                                    r.first_row * r.row_nelem, NULL, error);
        out->nbytes += (size_t)(nelem * dtype->itemsize);
    }
    npyx_reader_clear(&r);
    return status == NPYX_DONE ? npyx_buffer_check(out, error) : status;
}

/* Each block is written as a list of its own: the comma before a block replaces the bracket that ended the
 * last one. */
static npyx_status append_lists(npyext_array_value *value, const npyx_view *view, npyx_buffer *out,
                                npyx_error *error) {
    int64_t shape[NPYX_MAX_NDIM];
    memcpy(shape, view->shape, sizeof shape[0] * (size_t)view->ndim);
    npyx_reader r = {0};
    npyx_status status = NPYX_OK;
    while (status == NPYX_OK && (status = value_next(value, view, &r, error)) == NPYX_OK) {
        bool is_first = r.first_row == 0;
        size_t start = is_first ? out->nbytes : --out->nbytes;
        shape[0] = r.nrows_read;
        status = npyx_element_append_json(view->dtype, view->ndim, shape, r.rows, out, error);
        if (status == NPYX_OK)
            status = npyx_buffer_check(out, error);
        if (status == NPYX_OK && !is_first)
            out->bytes[start] = ',';
    }
    npyx_reader_clear(&r);
    return status == NPYX_DONE ? NPYX_OK : status;
}

npyx_status npyext_array_value_append_json(npyext_array_value *value, const npyx_view *view, npyx_buffer *out,
                                           npyx_error *error) {
    const uint8_t *item = (const uint8_t *)"";
    if (out->limit_nbytes != 0 && npyx_view_nelem(view) > (int64_t)out->limit_nbytes / 2 && view->ndim > 0)
        out->status = NPYX_TOOBIG; /* each takes a digit and a comma at least: no need to read anything */
    else if (view->ndim > 0 && has_bytes(view))
        return append_lists(value, view, out, error);
    else if (view->ndim == 0)
        NPYX_TRY(npyext_array_value_item(value, view, &item, error));
    if (out->status == NPYX_OK)
        NPYX_TRY(npyx_element_append_json(view->dtype, view->ndim, view->shape, item, out, error));
    return npyx_buffer_check(out, error);
}

/* ---- streamed into files and archives ---- */

static bool is_fortran(const npyx_array *array) {
    return npyx_header_npy_is_fortran(array->ndim, array->shape, array->fortran_order);
}

/* Appends all items to an archive or, if that is NULL, to a sink: in C order, or as they are stored, so that
 * they are read one after the other. */
static npyx_status stream_items(npyext_array_value *value, bool in_c_order, npyx_archive_writer *archive,
                                npyx_sink *sink, npyx_error *error) {
    npyx_view view;
    npyx_blocks blocks = {0};
    npyx_source *source = NULL;
    if (value->array->nbytes == 0)
        return NPYX_OK;
    npyx_view_of_array(value->array, &view);
    if (!in_c_order && is_fortran(value->array))
        npyx_view_permute(&view, NULL);
    NPYX_TRY(npyext_array_value_source(value, &source, error));
    npyx_status status = NPYX_OK;
    npyx_blocks_begin(&blocks, source, &view);
    while (status == NPYX_OK && (status = npyx_blocks_next(&blocks, error)) == NPYX_OK)
        status = archive != NULL ? npyx_archive_writer_append(archive, blocks.items, blocks.nelem, error)
                                 : npyx_sink_append(sink, blocks.items,
                                                    (size_t)(blocks.nelem * view.dtype->itemsize), error);
    npyx_blocks_clear(&blocks);
    return status == NPYX_DONE ? NPYX_OK : status;
}

npyx_status npyext_stream_npy(npyext_array_value *value, npyx_sink *sink, npyx_error *error) {
    const npyx_array *array = value->array;
    NPYX_TRY(npyx_array_check_values(array, error));
    NPYX_TRY(npyx_header_npy_write(array->dtype, array->ndim, array->shape, is_fortran(array), sink, error));
    return stream_items(value, false, NULL, sink, error);
}

npyx_status npyext_stream_member(npyext_array_value *value, npyx_archive_writer *writer, npyx_format format,
                                 const npyx_value *name, npyx_zip_method method, npyx_error *error) {
    const npyx_array *array = value->array;
    bool in_c_order = format == NPYX_FORMAT_TEN;
    npyx_member member = {.name = name->bytes,
                          .name_nbytes = name->nbytes,
                          .dtype = array->dtype,
                          .ndim = array->ndim,
                          .shape = array->shape,
                          .fortran_order = !in_c_order && is_fortran(array)};
    NPYX_TRY(npyx_archive_writer_begin(writer, &member, method, error));
    NPYX_TRY(stream_items(value, in_c_order, writer, NULL, error));
    return npyx_archive_writer_end(writer, error);
}

npyx_status npyext_member_name(sqlite3_value *value, npyx_value *name, npyx_error *error) {
    int type = value == NULL ? SQLITE_TEXT : sqlite3_value_type(value);
    *name = (npyx_value){.bytes = ""};
    if (type != SQLITE_TEXT && type != SQLITE_INTEGER)
        return npyx_refuse(error, "the name is %s, not a TEXT",
                           type == SQLITE_NULL   ? "NULL"
                           : type == SQLITE_BLOB ? "a BLOB"
                                                 : "a REAL");
    return value == NULL ? NPYX_OK : npyext_value_text(value, name, error);
}

/* ---- one array of an open archive ----
 *
 * The array of an archive that a member argument chooses: which one that is, the array as a .npy, and what
 * the planner can learn of it.
 */

npyx_status npyext_member_check(const npyext_argument *member, npyx_error *error) {
    int64_t index;
    if (!npyext_argument_is_given(member) || member->type == SQLITE_TEXT ||
        npyext_argument_is_whole(member, &index))
        return NPYX_OK;
    return npyx_refuse(error,
                       "member must be an array's name (TEXT) or its idx (INTEGER); it is '' where only "
                       "arguments after it are given");
}

npyx_status npyext_member_find(npyx_archive *archive, const npyext_argument *member, int64_t *index,
                               npyx_error *error) {
    npyx_entry entry;
    if (member->type == SQLITE_TEXT)
        return npyx_archive_find(archive, member->bytes, member->nbytes, index, error);
    (void)npyext_argument_is_whole(member, index);
    return npyx_archive_entry_asked_for(archive, *index, &entry, error);
}

static npyx_status append_bytes(npyx_source *payload, int64_t off, int64_t end, npyx_buffer *out,
                                npyx_error *error) {
    if (out->limit_nbytes < (uint64_t)(end - off))
        out->status = NPYX_TOOBIG;
    for (size_t nbytes = 0; off < end && out->status == NPYX_OK; off += (int64_t)nbytes) {
        nbytes = end - off < NPYX_MEMBER_PIECE_NBYTES ? (size_t)(end - off) : NPYX_MEMBER_PIECE_NBYTES;
        if (!npyx_buffer_reserve(out, nbytes))
            break;
        NPYX_TRY(npyx_source_read_exactly(payload, off, out->bytes + out->nbytes, nbytes, error));
        out->nbytes += nbytes;
        NPYX_TRY(npyx_poll(out->host, error));
    }
    return npyx_buffer_check(out, error);
}

void npyext_replace_header(npyx_buffer *out, size_t start, size_t header_nbytes, size_t items_nbytes,
                           const npyx_buffer *header) {
    if (header->status != NPYX_OK) {
        out->status = header->status;
    } else if (header->nbytes <= header_nbytes || npyx_buffer_reserve(out, header->nbytes - header_nbytes)) {
        char *to = out->bytes + start;
        if (header->nbytes != header_nbytes)
            memmove(to + header->nbytes, to + header_nbytes, items_nbytes);
        memcpy(to, header->bytes, header->nbytes);
        out->nbytes = start + header->nbytes + items_nbytes;
    }
}

/* Replaces the header_nbytes at start by the header that NumPy would write, and drops what follows the
 * data. */
static void write_header_anew(const npyx_array *array, size_t start, size_t header_nbytes, npyx_buffer *out) {
    npyx_buffer header = {.host = out->host};
    npyx_view view;
    npyx_view_of_array(array, &view);
    npyx_header_npy_append(array->dtype, array->ndim, array->shape, npyx_view_is_fortran(&view), &header);
    npyext_replace_header(out, start, header_nbytes, (size_t)array->nbytes, &header);
    npyx_buffer_clear(&header);
}

/* An entry is read from its first byte to its last, so that the CRC-32 of a zip's member is checked. */
static npyx_status append_entry(npyx_source *payload, npyx_format format, const npyx_array *array,
                                npyx_buffer *out, npyx_error *error) {
    size_t start = out->nbytes;
    bool is_ten = format == NPYX_FORMAT_TEN;
    int64_t off = is_ten ? array->data_off : 0;
    NPYX_TRY(append_bytes(payload, off, is_ten ? off + array->nbytes : payload->nbytes, out, error));
    if (!array->dtype->has_objects)
        write_header_anew(array, start, is_ten ? 0 : (size_t)array->data_off, out);
    return npyx_buffer_check(out, error);
}

npyx_status npyext_member_append_npy(npyx_archive *archive, int64_t index, npyx_buffer *out,
                                     npyx_error *error) {
    npyx_array array;
    npyx_source *payload = NULL;
    npyx_array_init(&array, out->host);
    npyx_status status = npyx_archive_describe(archive, index, &array, error);
    if (status == NPYX_OK && !array.is_array)
        status = npyx_archive_fail_no_array(error);
    if (status == NPYX_OK)
        status = npyx_archive_open_payload(archive, index, &payload, error);
    if (status == NPYX_OK)
        status = append_entry(payload, archive->format, &array, out, error);
    npyx_source_close(payload);
    npyx_array_clear(&array);
    return status;
}

/* ---- estimates ---- */

/* The index of the array that is meant; -1 if there may be several, or none. */
static int64_t estimate_choose(npyx_archive *archive, sqlite3_value *member) {
    npyx_error error;
    npyext_argument argument = {0};
    int64_t index = -1;
    npyx_status status = member == NULL ? NPYX_OK : npyext_argument_copy(&argument, member, &error);
    if (status == NPYX_OK && !npyext_argument_is_given(&argument))
        index = npyx_archive_is_one_npy(archive) ? 0 : -1;
    else if (status == NPYX_OK && (argument.type == SQLITE_TEXT || argument.type == SQLITE_INTEGER))
        status = npyext_member_find(archive, &argument, &index, &error);
    npyext_argument_clear(&argument);
    return status == NPYX_OK ? index : -1;
}

static npyext_estimate describe(npyx_archive *archive, npyx_host *host, int64_t index) {
    npyext_estimate estimate = {0};
    npyx_error error;
    npyx_array array;
    npyx_array_init(&array, host);
    if (npyx_archive_describe(archive, index, &array, &error) == NPYX_OK && array.is_array)
        estimate = (npyext_estimate){true, array.ndim == 0 ? 1 : array.shape[0], array.nelem};
    npyx_array_clear(&array);
    return estimate;
}

npyext_estimate npyext_estimate_of(npyext_connection *connection, sqlite3_value *source,
                                   sqlite3_value *member) {
    npyext_estimate estimate = {0};
    if (sqlite3_value_type(source) != SQLITE_TEXT || connection->policy.entry_point == NPYEXT_ENTRY_BLOB)
        return estimate;
    const char *path = (const char *)sqlite3_value_text(source);
    /* what may be a pattern or a list is not looked up on disk */
    if (path == NULL || npyext_pattern_is_pattern(path) || path[strspn(path, " \t\r\n")] == '[')
        return estimate;
    npyx_error error;
    npyext_cached_file *file = NULL;
    npyext_connection_begin(connection);
    if (npyext_cache_acquire(connection, path, NULL, npyext_cache_tick(connection), NULL, &file, &error) ==
        NPYX_OK) {
        int64_t index = estimate_choose(file->archive, member);
        if (index >= 0)
            estimate = describe(file->archive, &connection->host, index);
    }
    npyext_cache_release(connection, file);
    return estimate;
}
