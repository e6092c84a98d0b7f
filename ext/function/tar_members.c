/* tar_members(source): one row per member of every tar, from headers alone unless the contents are asked for.
 */

#include "format/samples.h"
#include "functions.h"
#include "scan/result.h"

typedef struct tar_cursor {
    npyext_cursor base;
    npyx_tar_walk walk;
    int64_t idx;       /* of the current member */
    bool has_member;   /* the row is a member's, perhaps one with a fault */
    bool has_contents; /* they can be read, as far as is known */
    bool is_over;      /* a fault of the tar has been reported, past which nothing can be read */
    npyx_sample_walk samples;
} tar_cursor;

/* Call it before the tar is closed. */
static void tar_end_walk(tar_cursor *tar) {
    npyx_tar_clear(&tar->walk);
    tar->walk = (npyx_tar_walk){0};
}

static void tar_members_close(npyext_cursor *cursor) {
    tar_cursor *tar = (tar_cursor *)cursor;
    tar_end_walk(tar);
    npyx_sample_walk_clear(&tar->samples);
}

static npyx_status tar_members_begin(npyext_cursor *cursor, const npyext_request *request,
                                     npyx_error *error) {
    tar_end_walk((tar_cursor *)cursor);
    return npyext_scan_begin(&cursor->scan, request, false, error);
}

/* Opens the next tar. */
static npyx_status tar_next_file(tar_cursor *tar, npyx_error *error) {
    npyext_scan *scan = &tar->base.scan;
    tar_end_walk(tar);
    NPYX_TRY(npyext_cursor_next_file(&tar->base, error));
    npyx_archive *archive = scan->opened.archive;
    tar->idx = -1;
    tar->is_over = archive->format != NPYX_FORMAT_TAR;
    tar->walk = (npyx_tar_walk){.window.source = archive->source};
    npyx_sample_walk_begin(&tar->samples, &scan->connection->host);
    if (!tar->is_over)
        return NPYX_DONE;
    return npyx_fail(error, NPYX_INVALID, 0, "is a .%s file, not a .tar; npy_meta lists it",
                     npyx_format_name(archive->format));
}

/* If errors become rows, a fault in the contents must be known before the row's first column is asked for. */
static npyx_status check_data_of_row(tar_cursor *tar, npyx_error *error) {
    const npyext_scan *scan = &tar->base.scan;
    if (scan->on_error == NPYEXT_RAISE || (scan->plan.needs & NPYEXT_NEEDS_ITEMS) == 0)
        return NPYX_OK;
    if (tar->walk.member.type == NPYX_TAR_SPARSE) {
        tar->has_contents = false;
        return npyx_tar_fail_sparse(tar->walk.member.header_off, error);
    }
    npyx_status status = npyx_tar_check_data(&tar->walk, error);
    tar->has_contents = status == NPYX_OK;
    tar->is_over = status != NPYX_OK;
    return status;
}

/* Makes messages name the member. */
static void name_member(tar_cursor *tar) {
    const npyx_buffer *name = &tar->walk.member.texts[NPYX_TAR_NAME];
    npyext_scan *scan = &tar->base.scan;
    scan->has_entry = true;
    scan->entry = (npyx_entry){.name = name->nbytes == 0 ? "" : name->bytes, .name_nbytes = name->nbytes};
}

static npyx_status tar_members_step(npyext_cursor *cursor, npyx_error *error) {
    tar_cursor *tar = (tar_cursor *)cursor;
    tar->has_member = tar->base.scan.has_entry = false;
    if (tar->walk.window.source == NULL || tar->is_over)
        return tar_next_file(tar, error);
    npyx_status status = npyx_tar_next(&tar->walk, error);
    if (status == NPYX_DONE) {
        npyx_archive_tar_learn_end(tar->base.scan.opened.archive, &tar->walk);
        return tar_next_file(tar, error);
    }
    tar->idx++;
    tar->is_over = status != NPYX_OK;
    NPYX_TRY(status);
    npyx_archive_tar_learn(tar->base.scan.opened.archive, &tar->walk);
    tar->has_member = tar->has_contents = true;
    name_member(tar);
    NPYX_TRY(npyx_sample_walk_take(&tar->samples, &tar->walk.member, error));
    return check_data_of_row(tar, error);
}

/* ---- columns ---- */

#define TAR_RESULT(name, is_known, ...)                                                                      \
    NPYEXT_KNOWN_RESULT(static, name, tar_cursor *tar = (tar_cursor *)cursor;                                \
                        const npyx_tar_member *member = &tar->walk.member;                                   \
                        (void)member, tar->has_member && (is_known), __VA_ARGS__)
#define TAR_INTEGER(name, number) TAR_RESULT(name, true, sqlite3_result_int64, number)
TAR_INTEGER(tar_result_idx, tar->idx)
TAR_INTEGER(tar_result_size, member->numbers[NPYX_TAR_SIZE])
TAR_INTEGER(tar_result_mode, member->numbers[NPYX_TAR_MODE])
TAR_INTEGER(tar_result_uid, member->numbers[NPYX_TAR_UID])
TAR_INTEGER(tar_result_gid, member->numbers[NPYX_TAR_GID])
#define TAR_OFFSET(name, off)                                                                                \
    TAR_RESULT(name, !cursor->scan.opened.archive->is_inflated, sqlite3_result_int64,                        \
               cursor->scan.opened.archive->source->file_off + (off))
TAR_OFFSET(tar_result_header_offset, member->header_off)
TAR_OFFSET(tar_result_data_offset, member->data_off)
TAR_RESULT(tar_result_sample, tar->samples.sample >= 0, sqlite3_result_int64, tar->samples.sample)
TAR_RESULT(tar_result_type, true, sqlite3_result_text, npyx_tar_type_name(member->type), -1, SQLITE_STATIC)

/* A REAL if the tar has fractions of the second, otherwise an INTEGER. */
static void tar_result_mtime(sqlite3_context *context, npyext_cursor *cursor) {
    const npyx_tar_member *member = &((tar_cursor *)cursor)->walk.member;
    if (!((tar_cursor *)cursor)->has_member)
        return;
    if (member->has_fraction)
        sqlite3_result_double(context, member->mtime);
    else
        sqlite3_result_int64(context, member->numbers[NPYX_TAR_MTIME]);
}

/* A text from the file, as UTF-8. */
static void tar_result_bytes(sqlite3_context *context, npyext_cursor *cursor, const char *bytes,
                             size_t nbytes) {
    npyx_buffer_reset(&cursor->scratch);
    npyx_buffer_append_utf8(&cursor->scratch, bytes, nbytes);
    npyext_result_scratch(context, cursor);
}

#define TAR_TEXT(name, text)                                                                                 \
    TAR_RESULT(name, true, tar_result_bytes, cursor, member->texts[text].bytes, member->texts[text].nbytes)
TAR_TEXT(tar_result_name, NPYX_TAR_NAME)
TAR_TEXT(tar_result_linkname, NPYX_TAR_LINKNAME)
TAR_TEXT(tar_result_uname, NPYX_TAR_UNAME)
TAR_TEXT(tar_result_gname, NPYX_TAR_GNAME)
TAR_RESULT(tar_result_key, tar->samples.has_key, tar_result_bytes, cursor, member->texts[NPYX_TAR_NAME].bytes,
           tar->samples.key.key_nbytes)
TAR_RESULT(tar_result_ext, tar->samples.has_key, tar_result_bytes, cursor, tar->samples.ext.bytes,
           tar->samples.ext.nbytes)

/* Reads the contents now. Those of a sparse member are not put together. */
static npyx_status read_data(tar_cursor *tar, npyx_buffer *data, npyx_error *error) {
    const npyx_tar_member *member = &tar->walk.member;
    if (member->type == NPYX_TAR_SPARSE)
        return npyx_tar_fail_sparse(member->header_off, error);
    return npyx_tar_read_data(tar->walk.window.source, member->data_off, member->data_nbytes, data, error);
}

static void tar_result_data(sqlite3_context *context, npyext_cursor *cursor) {
    tar_cursor *tar = (tar_cursor *)cursor;
    npyx_error error;
    bool is_file = tar->walk.member.type == NPYX_TAR_FILE || tar->walk.member.type == NPYX_TAR_SPARSE;
    if (!tar->has_member || !tar->has_contents || !is_file)
        return;
    cursor->scratch.limit_nbytes = npyext_max_nbytes(cursor->scan.connection);
    if (read_data(tar, &cursor->scratch, &error) == NPYX_OK)
        npyext_result_blob(context, cursor->scratch.bytes, cursor->scratch.nbytes);
    else
        npyext_result_error(context, npyext_scan_place(&cursor->scan), &error);
}

/* No other column distinguishes all members of a tar. */
static void tar_result_array_key(sqlite3_context *context, npyext_cursor *cursor) {
    uint64_t key = (uint64_t)npyext_scan_array_key(&cursor->scan);
    sqlite3_result_int64(context, (int64_t)(key + (uint64_t)((tar_cursor *)cursor)->idx));
}

static const npyext_column tar_columns[] = {
    NPYEXT_PATH(false),
    NPYEXT_OUTPUT("idx INTEGER", 0, tar_result_idx),
    NPYEXT_OUTPUT("name TEXT", 0, tar_result_name),
    NPYEXT_OUTPUT("key TEXT", 0, tar_result_key),
    NPYEXT_OUTPUT("ext TEXT", 0, tar_result_ext),
    NPYEXT_OUTPUT("type TEXT", 0, tar_result_type),
    NPYEXT_OUTPUT("size INTEGER", 0, tar_result_size),
    NPYEXT_OUTPUT("mtime", 0, tar_result_mtime),
    NPYEXT_ERROR(0),
    NPYEXT_LISTING_ARGUMENTS,
    NPYEXT_HIDDEN("sample INTEGER", 0, tar_result_sample),
    NPYEXT_HIDDEN("header_offset INTEGER", 0, tar_result_header_offset),
    NPYEXT_HIDDEN("data_offset INTEGER", 0, tar_result_data_offset),
    NPYEXT_HIDDEN("mode INTEGER", 0, tar_result_mode),
    NPYEXT_HIDDEN("uid INTEGER", 0, tar_result_uid),
    NPYEXT_HIDDEN("gid INTEGER", 0, tar_result_gid),
    NPYEXT_HIDDEN("uname TEXT", 0, tar_result_uname),
    NPYEXT_HIDDEN("gname TEXT", 0, tar_result_gname),
    NPYEXT_HIDDEN("linkname TEXT", 0, tar_result_linkname),
    NPYEXT_HIDDEN("data BLOB", NPYEXT_NEEDS_ITEMS, tar_result_data),
    NPYEXT_PATH_COLUMNS,
    NPYEXT_ERROR_KIND(0),
    NPYEXT_ARRAY_KEY(tar_result_array_key),
};

const npyext_function npyext_tar_members = {
    .name = "tar_members",
    .example = "'x.tar'",
    NPYEXT_COLUMNS(tar_columns),
    .has_error_column = true,
    .estimated_nrows = 1000,
    .cursor_nbytes = sizeof(tar_cursor),
    .close = tar_members_close,
    .begin = tar_members_begin,
    .step = tar_members_step,
    .module = NPYEXT_CURSOR_MODULE,
};
