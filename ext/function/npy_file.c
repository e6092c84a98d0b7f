/* npy_file(source, member): a handle for each array, for the functions that may not open files. */
#include "functions.h"
#include "scan/survey.h"
#include "source/member.h"

enum {
    FILE_PATH,
    FILE_NAME,
    FILE_ARRAY,
    FILE_SOURCE,
    FILE_MEMBER,
    FILE_ON_ERROR,
    FILE_PARTS,
    FILE_STEM,
    FILE_PARENT,
    FILE_ARRAY_KEY,
    FILE_NCOLUMNS
};

static const npyext_column file_columns[FILE_NCOLUMNS] = {
    [FILE_PATH] = NPYEXT_PATH(false),
    [FILE_NAME] = NPYEXT_NAME(false),
    [FILE_ARRAY] = NPYEXT_OUTPUT("array BLOB", 0),
    [FILE_SOURCE] = NPYEXT_ARGUMENT("source", NPYEXT_SOURCE),
    [FILE_MEMBER] = NPYEXT_ARGUMENT("member", NPYEXT_MEMBER),
    [FILE_ON_ERROR] = NPYEXT_ARGUMENT("on_error", NPYEXT_ON_ERROR),
    [FILE_PARTS] = NPYEXT_PATH_COLUMNS,
    [FILE_ARRAY_KEY] = NPYEXT_ARRAY_KEY,
};

/* Of a zip only an entry's first bytes tell whether it is an array. A header that is not sound is for those
 * to find out who use the handle. */
static npyx_status file_visit(npyext_survey *survey, npyx_error *error) {
    npyext_scan *scan = &survey->scan;
    if (scan->opened.archive->format != NPYX_FORMAT_NPZ)
        return NPYX_OK;
    npyx_status status =
        npyx_archive_describe(scan->opened.archive, scan->index, &survey->array, &survey->is_array, error);
    bool is_host_fault = status == NPYX_NOMEM || status == NPYX_INTERRUPTED;
    if (survey->is_array && !is_host_fault)
        return NPYX_OK;
    if (status == NPYX_OK && npyext_argument_is_given(&scan->arguments[NPYEXT_MEMBER]))
        return npyx_archive_fail_no_array(scan->opened.archive, error);
    return status == NPYX_OK ? NPYX_DONE : status;
}

static int file_open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor) {
    return npyext_survey_open(vtab, file_visit, -1, false, cursor);
}

/* Unlike other surveys it leaves files in the cache: what is done with a handle finds its file open. */
static int file_filter(sqlite3_vtab_cursor *cursor, int idx_num, const char *sentence, int argc,
                       sqlite3_value **argv) {
    (void)argc;
    npyext_survey *survey = (npyext_survey *)cursor;
    npyext_vtab *vtab = (npyext_vtab *)cursor->pVtab;
    npyext_connection_begin(vtab->connection);
    survey->is_eof = false;
    npyx_status status =
        npyext_scan_begin(&survey->scan, vtab, idx_num, sentence, true, argv, &survey->scan.error);
    if (status != NPYX_OK)
        return npyext_report(cursor->pVtab, npyext_scan_place(&survey->scan), &survey->scan.error);
    return npyext_survey_next(cursor);
}

static int result_array(sqlite3_context *context, npyext_survey *survey) {
    npyext_scan *scan = &survey->scan;
    npyext_connection *connection = scan->connection;
    npyx_buffer *out = &survey->text;
    npyx_error error;
    npyx_status status = NPYX_OK;
    npyx_buffer_reset(out);
    out->limit_nbytes = (size_t)sqlite3_limit(connection->db, SQLITE_LIMIT_LENGTH, -1);
    if (scan->opened.cached != NULL) {
        const npyext_handle handle = {
            .path = scan->path,
            .path_nbytes = strlen(scan->path),
            .index = scan->index,
            .stamp = npyext_handle_stamp(&connection->handle_key, &scan->opened.cached->info)};
        npyext_handle_append(&connection->handle_key, &handle, out);
        status = npyx_buffer_check(out, &error);
    } else if (npyx_archive_is_one_npy(scan->opened.archive)) {
        npyext_result_argument(context, &scan->arguments[NPYEXT_SOURCE]);
        return SQLITE_OK;
    } else {
        status = npyext_member_append_npy(scan->opened.archive, scan->index, out, &error);
    }
    if (status != NPYX_OK)
        return npyext_result_error(context, npyext_scan_place(scan), &error);
    npyext_result_blob(context, out->bytes, out->nbytes);
    return SQLITE_OK;
}

static int file_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int file_column) {
    npyext_survey *survey = (npyext_survey *)cursor;
    switch (file_column) {
    case FILE_PATH: npyext_result_path(context, &survey->scan); return SQLITE_OK;
    case FILE_NAME: npyext_result_name(context, &survey->scan); return SQLITE_OK;
    case FILE_ARRAY: return result_array(context, survey);
    default: npyext_result_common(context, &survey->scan, file_column); return SQLITE_OK;
    }
}

static const sqlite3_module file_module = NPYEXT_MODULE(file_open_cursor, npyext_survey_close, file_filter,
                                                        npyext_survey_next, npyext_survey_eof, file_column);

const npyext_function npyext_npy_file = {
    .name = "npy_file",
    .columns = file_columns,
    .ncolumns = FILE_NCOLUMNS,
    .key = "array_key",
    .takes_member = true,
    .has_error_column = false,
    .estimated_nrows = 100,
    .module = &file_module,
};
