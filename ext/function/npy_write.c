/* npy_write(path, array): publishes an array or an archive as a file. */

#include "format/tar.h"
#include "format/zip_write.h"
#include "functions.h"
#include "io/target.h"
#include "scan/result.h"
#include "source/array_value.h"

typedef struct write_cursor {
    npyext_cursor base; /* its scan has the arguments and, as its path, the target */
    int64_t nbytes;     /* how many were published */
    npyext_place place; /* of a fault */
    bool is_told;       /* the only row has been returned */
} write_cursor;

/* A name that promises another format would mislead whoever reads the file next. */
static npyx_status check_name(const char *path, npyx_format format, npyx_error *error) {
    npyx_format named;
    if (!npyx_path_format(path, &named) || named == format)
        return NPYX_OK;
    return npyx_refuse(error, "the name ends in .%s, but the file would be a .%s%s", npyx_format_name(named),
                       npyx_format_name(format),
                       named == NPYX_FORMAT_NPZ   ? "; npz_archive(name, array) makes an .npz"
                       : named == NPYX_FORMAT_TEN ? "; ten_archive(name, array) makes a .ten"
                                                  : "");
}

/* Whether a BLOB is a file that can be read, as far as its headers and its directory show. */
static npyx_status check_contents(npyext_connection *connection, const npyext_argument *array, npyx_hint hint,
                                  npyx_format *format, npyx_error *error) {
    npyx_archive *archive = NULL;
    npyx_entry entry;
    npyx_status status =
        npyext_open_blob(&connection->host, array->bytes, array->nbytes, hint, &archive, error);
    if (status == NPYX_OK)
        *format = archive->format;
    for (int64_t i = 0; status == NPYX_OK; i++) {
        npyx_array described;
        status = npyx_archive_entry(archive, i, &entry, error);
        if (status != NPYX_OK)
            break;
        npyx_array_init(&described, &connection->host);
        status = npyx_archive_describe(archive, i, &described, error);
        npyx_array_clear(&described);
        if (status == NPYX_UNSUPPORTED) /* sound, but not for us to read */
            status = NPYX_OK;
        if (status == NPYX_OK)
            status = npyx_poll(&connection->host, error);
        else if (entry.name_nbytes > 0)
            npyx_error_place(error, status, "%.*s", (int)(entry.name_nbytes < 100 ? entry.name_nbytes : 100),
                             entry.name);
    }
    npyx_archive_close(archive);
    return status == NPYX_DONE ? NPYX_OK : status;
}

/* Writes piece by piece; the host may stop it in between. */
static npyx_status append_contents(const npyext_argument *array, npyx_sink *sink, npyx_error *error) {
    for (size_t off = 0; off < array->nbytes; off += NPYX_WRITE_PIECE_NBYTES) {
        size_t left_nbytes = array->nbytes - off;
        NPYX_TRY(npyx_sink_append(
            sink, array->bytes + off,
            left_nbytes < NPYX_WRITE_PIECE_NBYTES ? left_nbytes : NPYX_WRITE_PIECE_NBYTES, error));
        NPYX_TRY(npyx_poll(sink->host, error));
    }
    return NPYX_OK;
}

/* Writes the array that value is or, if it is NULL, the BLOB's contents to a new file, which then takes the
 * path's place. */
static npyx_status write_publish(write_cursor *cursor, npyext_array_value *value, npyx_error *error) {
    const npyext_scan *scan = &cursor->base.scan;
    npyx_target target = {.is_one_act = true, .check_zip = npyx_zip_check_replaceable};
    NPYX_TRY(npyx_target_open(&target, &scan->connection->host, NPYX_TARGET_NEW, scan->path, error));
    npyx_status status = value == NULL ? append_contents(&scan->arguments[NPYEXT_ARRAY], target.sink, error)
                                       : npyext_stream_npy(value, target.sink, error);
    if (status == NPYX_OK)
        status = npyx_target_commit(&target, error);
    else
        npyx_target_abandon(&target);
    cursor->nbytes = status == NPYX_OK ? target.info.nbytes : 0;
    return status;
}

static npyx_status check_arguments(const npyext_argument *target, const npyext_argument *array,
                                   npyx_error *error) {
    static const char usage[] = "npy_write needs a path and an array, as in npy_write('out.npy', array)";
    if (!npyext_argument_is_given(target) || array->type == 0)
        return npyx_refuse(error, "%s", usage);
    if (target->type != SQLITE_TEXT)
        return npyx_refuse(error, "npy_write: the path must be a TEXT: %s", usage);
    if (strlen(target->bytes) != target->nbytes)
        return npyx_refuse(error, "npy_write: the path contains a NUL character");
    if (strchr(target->bytes, '*') != NULL)
        return npyx_refuse(error, "npy_write: '%.*s' is a pattern; give the path of one file",
                           NPYX_SHOWN(target->bytes, target->nbytes, 80));
    if (array->type != SQLITE_BLOB)
        return npyx_refuse(error,
                           "npy_write: the array is %s; it must be a BLOB, as npy_from_json('[1, 2]') makes, "
                           "or a handle from npy_file",
                           array->type == SQLITE_TEXT ? "a TEXT" : "a number");
    return NPYX_OK;
}

/* Writes the array that a handle names. */
static npyx_status write_handle(write_cursor *cursor, sqlite3_value *array, npyx_error *error) {
    static const npyext_caller caller = {"npy_write", "npy_write('out.npy', array)"};
    npyext_array_value value;
    npyx_status status =
        npyext_array_value_open(&value, cursor->base.scan.connection, NULL, &caller, array, error);
    bool is_open = status == NPYX_OK;
    if (is_open)
        status = check_name(cursor->base.scan.path, NPYX_FORMAT_NPY, error);
    if (status == NPYX_OK)
        status = write_publish(cursor, &value, error);
    if (!is_open || status == NPYX_CORRUPT || status == NPYX_UNSUPPORTED)
        cursor->place = value.place; /* the connection keeps what it points to */
    npyext_array_value_close(&value);
    return status;
}

/* Does all of the writing: planning a statement writes nothing. */
static npyx_status write_begin(npyext_cursor *base, const npyext_request *request, npyx_error *error) {
    write_cursor *cursor = (write_cursor *)base;
    npyext_scan *scan = &base->scan;
    const npyext_argument *array = &scan->arguments[NPYEXT_ARRAY];
    cursor->place = (npyext_place){0};
    cursor->is_told = false;
    NPYX_TRY(npyext_scan_take(scan, request, error));
    if (scan->has_null)
        return NPYX_OK;
    NPYX_TRY(check_arguments(&scan->arguments[NPYEXT_TARGET], array, error));
    cursor->place.path = scan->path = scan->arguments[NPYEXT_TARGET].bytes;
    if (npyext_handle_is_like(array->bytes, array->nbytes))
        return write_handle(cursor, request->argv[1], error); /* argv is in the order of the roles */
    npyx_format format = NPYX_FORMAT_NPY;
    cursor->place.path = "BLOB";
    NPYX_TRY(check_contents(scan->connection, array, npyx_path_hint(scan->path), &format, error));
    cursor->place.path = scan->path;
    NPYX_TRY(check_name(scan->path, format, error));
    return write_publish(cursor, NULL, error);
}

static npyx_status write_step(npyext_cursor *base, npyx_error *error) {
    (void)error;
    write_cursor *cursor = (write_cursor *)base;
    base->is_eof = cursor->is_told;
    cursor->is_told = true;
    return base->is_eof ? NPYX_DONE : NPYX_OK;
}

static npyext_place write_place(const npyext_cursor *cursor) {
    return ((const write_cursor *)cursor)->place;
}

NPYEXT_KNOWN_RESULT(static, write_nbytes, const write_cursor *at = (write_cursor *)cursor, true,
                    sqlite3_result_int64, at->nbytes)

/* `path` is no NPYEXT_PATH: a condition on it must not decide whether the file is written. */
static const npyext_column write_columns[] = {
    NPYEXT_OUTPUT("path TEXT", 0, npyext_result_path),
    NPYEXT_OUTPUT("bytes INTEGER", 0, write_nbytes),
    NPYEXT_ARGUMENT("target BLOB", NPYEXT_TARGET),
    NPYEXT_ARGUMENT("array BLOB", NPYEXT_ARRAY),
    NPYEXT_PATH_COLUMNS,
    NPYEXT_ARRAY_KEY(npyext_result_array_key),
};

const npyext_function npyext_npy_write = {
    .name = "npy_write",
    NPYEXT_COLUMNS(write_columns),
    .writes = true,
    .estimated_nrows = 1,
    .cursor_nbytes = sizeof(write_cursor),
    .begin = write_begin,
    .step = write_step,
    .place = write_place,
    .module = NPYEXT_CURSOR_MODULE,
};
