#include "survey.h"

#include <inttypes.h>
#include <string.h>

int npyext_survey_open(sqlite3_vtab *vtab, npyext_survey_visit visit, int only_format, bool lists_empty,
                       sqlite3_vtab_cursor **cursor) {
    npyext_connection *connection = ((npyext_vtab *)vtab)->connection;
    int code = npyext_cursor_open(sizeof(npyext_survey), cursor);
    if (code != SQLITE_OK)
        return code;
    npyext_survey *survey = (npyext_survey *)*cursor;
    survey->visit = visit;
    survey->only_format = only_format;
    survey->lists_empty = lists_empty;
    survey->text.host = &connection->host;
    npyx_array_init(&survey->array, &connection->host);
    return SQLITE_OK;
}

int npyext_survey_close(sqlite3_vtab_cursor *cursor) {
    npyext_survey *survey = (npyext_survey *)cursor;
    npyext_scan_clear(&survey->base.scan);
    npyx_array_clear(&survey->array);
    npyx_buffer_clear(&survey->text);
    sqlite3_free(survey);
    return SQLITE_OK;
}

static npyx_status survey_check_format(const npyext_survey *survey, npyx_error *error) {
    npyx_format format = survey->base.scan.opened.archive->format;
    if (survey->only_format < 0 || (int)format == survey->only_format)
        return NPYX_OK;
    return npyx_fail(error, NPYX_INVALID, 0, "is a .%s file, not %s .%s; npy_meta lists it",
                     npyx_format_name(format), survey->only_format == NPYX_FORMAT_NPZ ? "an" : "a",
                     npyx_format_name((npyx_format)survey->only_format));
}

/* Opens the next file; its failure may be a row. */
static npyx_status survey_next_file(npyext_survey *survey, npyx_error *error) {
    npyext_scan *scan = &survey->base.scan;
    survey->nrows_of_file = 0;
    npyx_status status = npyext_scan_next_file(scan, error);
    survey->base.is_eof = status == NPYX_DONE;
    if (status != NPYX_OK)
        return status == NPYX_DONE ? NPYX_OK : status;
    status = survey_check_format(survey, error);
    if (status != NPYX_OK) /* its row is all there is to say */
        scan->next_index = INT64_MAX;
    return status;
}

/* Goes to the next entry of the open file. *found: it makes a row, as its failure may. */
static npyx_status survey_next_entry(npyext_survey *survey, bool *found, npyx_error *error) {
    npyext_scan *scan = &survey->base.scan;
    npyx_status status = npyext_scan_next_entry(scan, error);
    if (status == NPYX_OK) {
        status = survey->visit(survey, error);
        survey->nrows_of_file += status != NPYX_DONE;
        *found = status == NPYX_OK;
    } else { /* behind the last one, or a damaged directory: there is no way past it */
        *found = status == NPYX_DONE && survey->nrows_of_file == 0 && survey->lists_empty;
        scan->index = -1;
        /* the file is closed by the next call: its row still shows its format */
        scan->next_index = INT64_MAX;
    }
    return status == NPYX_DONE ? NPYX_OK : status;
}

int npyext_survey_next(sqlite3_vtab_cursor *cursor) {
    npyext_survey *survey = (npyext_survey *)cursor;
    npyext_scan *scan = &survey->base.scan;
    npyx_error *error = &scan->error;
    int code = SQLITE_OK;
    bool found = false;
    npyext_connection_begin(scan->connection);
    scan->has_error = false;
    while (!found && !survey->base.is_eof && code == SQLITE_OK) {
        npyx_array_clear(&survey->array);
        bool is_at_file = scan->opened.archive == NULL || scan->next_index == INT64_MAX;
        npyx_status status =
            is_at_file ? survey_next_file(survey, error) : survey_next_entry(survey, &found, error);
        if (status != NPYX_OK) {
            code = npyext_cursor_meet_fault(&survey->base, npyext_scan_place(scan));
            found = scan->has_error;
        }
        if (code == SQLITE_OK && npyx_poll(&scan->connection->host, error) != NPYX_OK)
            code = npyext_cursor_report(&survey->base, error);
    }
    return code;
}

int npyext_survey_filter(sqlite3_vtab_cursor *cursor, int idx_num, const char *sentence, int argc,
                         sqlite3_value **argv) {
    (void)argc;
    npyext_survey *survey = (npyext_survey *)cursor;
    npyext_vtab *vtab = (npyext_vtab *)cursor->pVtab;
    npyext_connection_begin(vtab->connection);
    survey->base.is_eof = false;
    npyx_status status = npyext_scan_begin(&survey->base.scan, vtab, idx_num, sentence, survey->keeps_files,
                                           argv, &survey->base.scan.error);
    return status == NPYX_OK ? npyext_survey_next(cursor)
                             : npyext_cursor_report(&survey->base, &survey->base.scan.error);
}

int npyext_survey_name(sqlite3_context *context, npyext_cursor *cursor) {
    return cursor->scan.has_entry ? npyext_result_name(context, cursor) : SQLITE_OK;
}

NPYEXT_SURVEY_INTEGER(npyext_survey_idx, survey->base.scan.has_entry, survey->base.scan.index)
NPYEXT_SURVEY_INTEGER(npyext_survey_ndim, survey->array.is_known, survey->array.ndim)
NPYEXT_SURVEY_INTEGER(npyext_survey_size, survey->array.is_known, survey->array.nelem)
NPYEXT_SURVEY_INTEGER(npyext_survey_nbytes, survey->array.is_known, survey->array.nbytes)
NPYEXT_SURVEY_INTEGER(npyext_survey_fortran_order, survey->array.is_known, survey->array.fortran_order)

int npyext_survey_shape(sqlite3_context *context, npyext_cursor *cursor) {
    npyext_survey *survey = (npyext_survey *)cursor;
    if (!survey->array.is_known)
        return SQLITE_OK;
    npyx_buffer_reset(&survey->text);
    npyext_append_json_integers(&survey->text, survey->array.shape, survey->array.ndim);
    return npyext_result_json_buffer(context, &survey->text);
}

int npyext_survey_dtype(sqlite3_context *context, npyext_cursor *cursor) {
    npyext_survey *survey = (npyext_survey *)cursor;
    if (!survey->array.is_known)
        return SQLITE_OK;
    npyx_buffer_reset(&survey->text);
    npyx_dtype_append_name(survey->array.dtype, &survey->text);
    if (survey->text.status != NPYX_OK)
        sqlite3_result_error_nomem(context);
    else
        npyext_result_text(context, survey->text.bytes, survey->text.nbytes);
    return SQLITE_OK;
}

int npyext_survey_descr(sqlite3_context *context, npyext_cursor *cursor) {
    const npyext_survey *survey = (const npyext_survey *)cursor;
    if (survey->array.is_known)
        npyext_result_text(context, survey->array.descr, survey->array.descr_nbytes);
    return SQLITE_OK;
}
