#include "survey.h"

#include <inttypes.h>
#include <string.h>

int npyext_survey_open(sqlite3_vtab *vtab, npyext_survey_visit visit, int only_format, bool lists_empty,
                       sqlite3_vtab_cursor **cursor) {
    npyext_survey *survey = sqlite3_malloc(sizeof *survey);
    if (survey == NULL)
        return SQLITE_NOMEM;
    npyext_connection *connection = ((npyext_vtab *)vtab)->connection;
    memset(survey, 0, sizeof *survey);
    survey->visit = visit;
    survey->only_format = only_format;
    survey->lists_empty = lists_empty;
    survey->is_eof = true;
    survey->text.host = &connection->host;
    npyx_array_init(&survey->array, &connection->host);
    *cursor = &survey->base;
    return SQLITE_OK;
}

int npyext_survey_close(sqlite3_vtab_cursor *cursor) {
    npyext_survey *survey = (npyext_survey *)cursor;
    npyext_scan_clear(&survey->scan);
    npyx_array_clear(&survey->array);
    npyx_buffer_clear(&survey->text);
    sqlite3_free(survey);
    return SQLITE_OK;
}

/* What becomes of an error: a row (true), or nothing (false, *code then tells whether the query goes on). */
static bool survey_becomes_row(npyext_survey *survey, int *code) {
    npyext_fate fate = npyext_scan_fate(&survey->scan, &survey->scan.error);
    *code = fate == NPYEXT_ENDS_QUERY
                ? npyext_report(survey->base.pVtab, npyext_scan_place(&survey->scan), &survey->scan.error)
                : SQLITE_OK;
    survey->scan.has_error = fate == NPYEXT_BECOMES_ROW;
    return survey->scan.has_error;
}

static npyx_status survey_check_format(const npyext_survey *survey, npyx_error *error) {
    npyx_format format = survey->scan.opened.archive->format;
    if (survey->only_format < 0 || (int)format == survey->only_format)
        return NPYX_OK;
    return npyx_fail(error, NPYX_INVALID, 0, "is a .%s file, not %s .%s; npy_meta lists it",
                     npyx_format_name(format), survey->only_format == NPYX_FORMAT_NPZ ? "an" : "a",
                     npyx_format_name((npyx_format)survey->only_format));
}

/* Opens the next file. *found: its failure is a row. */
static int next_file(npyext_survey *survey, bool *found) {
    int code = SQLITE_OK;
    survey->nrows_of_file = 0;
    npyx_status status = npyext_scan_next_file(&survey->scan, &survey->scan.error);
    if (status == NPYX_OK) {
        status = survey_check_format(survey, &survey->scan.error);
        if (status != NPYX_OK) /* its row is all there is to say */
            survey->scan.next_index = INT64_MAX;
    }
    if (status == NPYX_DONE)
        survey->is_eof = true;
    else if (status != NPYX_OK)
        *found = survey_becomes_row(survey, &code);
    return code;
}

/* Goes to the next entry of the open file that makes a row. */
static int next_entry(npyext_survey *survey, bool *found) {
    npyext_scan *scan = &survey->scan;
    int code = SQLITE_OK;
    npyx_status status = npyext_scan_next_entry(scan, &survey->scan.error);
    if (status == NPYX_OK) {
        status = survey->visit(survey, &survey->scan.error);
        if (status == NPYX_DONE)
            return SQLITE_OK;
        survey->nrows_of_file++;
        *found = status == NPYX_OK || survey_becomes_row(survey, &code);
        return code;
    }
    if (status == NPYX_DONE)
        *found = survey->nrows_of_file == 0 && survey->lists_empty;
    else /* a damaged directory: there is no way past it */
        *found = survey_becomes_row(survey, &code);
    scan->index = -1;
    /* the file is closed by the next call: its row still shows its format */
    scan->next_index = INT64_MAX;
    return code;
}

int npyext_survey_next(sqlite3_vtab_cursor *cursor) {
    npyext_survey *survey = (npyext_survey *)cursor;
    npyext_scan *scan = &survey->scan;
    int code = SQLITE_OK;
    bool found = false;
    npyext_connection_begin(scan->connection);
    survey->scan.has_error = false;
    while (!found && !survey->is_eof && code == SQLITE_OK) {
        npyx_array_clear(&survey->array);
        if (scan->opened.archive == NULL || scan->next_index == INT64_MAX)
            code = next_file(survey, &found);
        else
            code = next_entry(survey, &found);
        if (code == SQLITE_OK && npyx_poll(&scan->connection->host, &survey->scan.error) != NPYX_OK)
            code = npyext_report(cursor->pVtab, npyext_scan_place(scan), &survey->scan.error);
    }
    return code;
}

int npyext_survey_filter(sqlite3_vtab_cursor *cursor, int idx_num, const char *sentence, int argc,
                         sqlite3_value **argv) {
    (void)argc;
    npyext_survey *survey = (npyext_survey *)cursor;
    npyext_vtab *vtab = (npyext_vtab *)cursor->pVtab;
    npyext_connection_begin(vtab->connection);
    survey->is_eof = false;
    npyx_status status =
        npyext_scan_begin(&survey->scan, vtab, idx_num, sentence, false, argv, &survey->scan.error);
    if (status != NPYX_OK)
        return npyext_report(cursor->pVtab, npyext_scan_place(&survey->scan), &survey->scan.error);
    return npyext_survey_next(cursor);
}

int npyext_survey_eof(sqlite3_vtab_cursor *cursor) {
    return ((npyext_survey *)cursor)->is_eof;
}

void npyext_survey_result_error(sqlite3_context *context, const npyext_survey *survey) {
    if (survey->scan.has_error)
        npyext_result_fault(context, npyext_scan_place(&survey->scan), &survey->scan.error);
}

int npyext_survey_result_json_text(sqlite3_context *context, npyext_survey *survey) {
    npyx_error error;
    if (npyx_buffer_check(&survey->text, &error) != NPYX_OK)
        return npyext_result_error(context, npyext_scan_place(&survey->scan), &error);
    npyext_result_json(context, survey->text.bytes, survey->text.nbytes);
    return SQLITE_OK;
}

void npyext_survey_result_shape(sqlite3_context *context, npyext_survey *survey) {
    if (!survey->array.is_known)
        return;
    npyx_buffer_reset(&survey->text);
    npyext_append_json_integers(&survey->text, survey->array.shape, survey->array.ndim);
    npyext_survey_result_json_text(context, survey);
}

void npyext_survey_result_dtype(sqlite3_context *context, npyext_survey *survey) {
    if (!survey->array.is_known)
        return;
    npyx_buffer_reset(&survey->text);
    npyx_dtype_append_name(survey->array.dtype, &survey->text);
    if (survey->text.status != NPYX_OK)
        sqlite3_result_error_nomem(context);
    else
        npyext_result_text(context, survey->text.bytes, survey->text.nbytes);
}

void npyext_survey_result_descr(sqlite3_context *context, const npyext_survey *survey) {
    if (survey->array.is_known)
        npyext_result_text(context, survey->array.descr, survey->array.descr_nbytes);
}
