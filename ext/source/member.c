/* The array of an archive that a member argument chooses: which one that is, the array as a .npy, and what
 * the planner can learn of it. */
#include "array_value.h"
#include "format/header.h"
#include "format/tar.h"

#include "pattern.h"

npyx_status npyext_member_check(const npyext_argument *member, npyx_error *error) {
    int64_t index;
    if (!npyext_argument_is_given(member) || member->type == SQLITE_TEXT ||
        npyext_argument_is_whole(member, &index))
        return NPYX_OK;
    return npyx_fail(error, NPYX_INVALID, -1, "member must be an array's name (TEXT) or its idx (INTEGER)");
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

/* Replaces the header_nbytes at start by the header that NumPy would write, and drops what follows the
 * data. */
static void replace_header(const npyx_array *array, size_t start, size_t header_nbytes, npyx_buffer *out) {
    npyx_buffer header = {.host = out->host};
    npyx_view view;
    size_t data_nbytes = (size_t)array->nbytes;
    npyx_view_of_array(array, &view);
    npyx_header_npy_append(array->dtype, array->ndim, array->shape, npyx_view_is_fortran(&view), &header);
    if (header.status != NPYX_OK)
        out->status = header.status;
    else if (header.nbytes <= header_nbytes || npyx_buffer_reserve(out, header.nbytes - header_nbytes)) {
        char *to = out->bytes + start;
        memmove(to + header.nbytes, to + header_nbytes, data_nbytes);
        memcpy(to, header.bytes, header.nbytes);
        out->nbytes = start + header.nbytes + data_nbytes;
    }
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
        replace_header(array, start, is_ten ? 0 : (size_t)array->data_off, out);
    return npyx_buffer_check(out, error);
}

npyx_status npyext_member_append_npy(npyx_archive *archive, int64_t index, npyx_buffer *out,
                                     npyx_error *error) {
    npyx_array array;
    npyx_source *payload = NULL;
    npyx_array_init(&array, out->host);
    npyx_status status = npyx_archive_describe(archive, index, &array, error);
    if (status == NPYX_OK && !array.is_array)
        status = npyx_archive_fail_no_array(archive, error);
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
