/* npy_file(source, member): a handle for each array, for the functions that may not open files. */
#include "functions.h"
#include "scan/survey.h"
#include "source/array_value.h"

/* In a zip, only an entry's first bytes tell whether it is an array. An unsound header is no error here, but
 * where the handle is used. */
static npyx_status file_visit(npyext_survey *survey, npyx_error *error) {
    npyext_scan *scan = &survey->base.scan;
    if (scan->opened.archive->format != NPYX_FORMAT_NPZ)
        return NPYX_OK;
    npyx_status status = npyext_survey_describe(survey, error);
    bool is_host_fault = status == NPYX_NOMEM || status == NPYX_INTERRUPTED;
    if (survey->base.selection.array.is_array && !is_host_fault)
        return NPYX_OK;
    if (status == NPYX_OK && npyext_argument_is_given(&scan->arguments[NPYEXT_MEMBER]))
        return npyx_archive_fail_no_array(scan->opened.archive, error);
    return status == NPYX_OK ? NPYX_DONE : status;
}

/* Unlike other surveys, this one leaves files in the cache: whatever uses a handle finds its file open. */
static const npyext_survey_methods file_methods = {
    .visit = file_visit, .only_format = -1, .keeps_files = true};

static void file_array(sqlite3_context *context, npyext_cursor *cursor) {
    npyext_scan *scan = &cursor->scan;
    npyext_connection *connection = scan->connection;
    npyx_buffer *out = &cursor->scratch;
    npyx_error error;
    npyx_status status;
    if (scan->opened.cached == NULL && npyx_archive_is_one_npy(scan->opened.archive)) {
        npyext_result_argument(context, &scan->arguments[NPYEXT_SOURCE]);
        return;
    }
    npyx_buffer_reset(out);
    out->limit_nbytes = (size_t)sqlite3_limit(connection->db, SQLITE_LIMIT_LENGTH, -1);
    if (scan->opened.cached != NULL) {
        const npyext_handle handle = {
            .path = scan->path,
            .path_nbytes = strlen(scan->path),
            .part = scan->opened.cached->part,
            .index = scan->index,
            .stamp = npyext_handle_stamp(&connection->handle_key, &scan->opened.cached->info)};
        npyext_handle_append(&connection->handle_key, &handle, out);
        status = npyx_buffer_check(out, &error);
    } else {
        status = npyext_member_append_npy(scan->opened.archive, scan->index, out, &error);
    }
    if (status == NPYX_OK)
        npyext_result_blob(context, out->bytes, out->nbytes);
    else
        npyext_result_error(context, npyext_scan_place(scan), &error);
}

static const npyext_column file_columns[] = {
    NPYEXT_PATH(false),
    NPYEXT_NAME(false, npyext_result_name),
    NPYEXT_OUTPUT("array BLOB", 0, file_array),
    NPYEXT_ARGUMENT("source BLOB", NPYEXT_SOURCE),
    NPYEXT_ARGUMENT("member BLOB", NPYEXT_MEMBER),
    NPYEXT_ARGUMENT("on_error BLOB", NPYEXT_ON_ERROR),
    NPYEXT_PATH_COLUMNS,
    NPYEXT_SAMPLE_COLUMNS,
    NPYEXT_ARRAY_KEY(npyext_result_array_key),
};

const npyext_function npyext_npy_file = {
    .name = "npy_file",
    NPYEXT_COLUMNS(file_columns),
    .takes_member = true,
    NPYEXT_SURVEY(file_methods),
};
