/* npy_file(source, member): a handle for each array, for the functions that may not open files. */
#include "functions.h"
#include "scan/survey.h"
#include "source/member.h"

enum { PATH, NAME, ARRAY, SOURCE, MEMBER, ON_ERROR, PARTS, STEM, PARENT, ARRAY_KEY, NCOLUMNS };

static const npyext_column columns[NCOLUMNS] = {
    [PATH] = NPYEXT_PATH(false),
    [NAME] = NPYEXT_NAME(false),
    [ARRAY] = NPYEXT_OUTPUT("array BLOB", 0),
    [SOURCE] = NPYEXT_ARGUMENT("source", NPYEXT_SOURCE),
    [MEMBER] = NPYEXT_ARGUMENT("member", NPYEXT_MEMBER),
    [ON_ERROR] = NPYEXT_ARGUMENT("on_error", NPYEXT_ON_ERROR),
    [PARTS] = NPYEXT_PATH_COLUMNS,
    [ARRAY_KEY] = NPYEXT_ARRAY_KEY,
};

/* Of a zip only an entry's first bytes tell whether it is an array. A header that is not sound is for those
 * to find out who use the handle. */
static npyx_status visit(npyext_survey *survey, npyx_error *error) {
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

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor) {
    return npyext_survey_open(vtab, visit, -1, false, cursor);
}

/* Unlike other surveys it leaves files in the cache: what is done with a handle finds its file open. */
static int filter(sqlite3_vtab_cursor *cursor, int idx_num, const char *sentence, int argc,
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

static int column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column) {
    npyext_survey *survey = (npyext_survey *)cursor;
    switch (column) {
    case PATH: npyext_result_path(context, &survey->scan); return SQLITE_OK;
    case NAME: npyext_result_name(context, &survey->scan); return SQLITE_OK;
    case ARRAY: return result_array(context, survey);
    default: npyext_result_common(context, &survey->scan, column); return SQLITE_OK;
    }
}

static const sqlite3_module module =
    NPYEXT_MODULE(open_cursor, npyext_survey_close, filter, npyext_survey_next, npyext_survey_eof, column);

const npyext_function npyext_npy_file = {
    .name = "npy_file",
    .columns = columns,
    .ncolumns = NCOLUMNS,
    .key = "array_key",
    .takes_member = true,
    .has_error_column = false,
    .estimated_nrows = 100,
    .module = &module,
};
