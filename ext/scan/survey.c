#include "survey.h"

#include <inttypes.h>
#include <string.h>

void npyext_survey_open(npyext_cursor *cursor, const npyext_function *function, npyx_host *host) {
    npyext_survey *survey = (npyext_survey *)cursor;
    survey->methods = function->methods;
    survey->text.host = host;
    npyx_array_init(&survey->array, host);
}

void npyext_survey_close(npyext_cursor *cursor) {
    npyext_survey *survey = (npyext_survey *)cursor;
    npyx_array_clear(&survey->array);
    npyx_buffer_clear(&survey->text);
}

npyx_status npyext_survey_begin(npyext_cursor *cursor, const npyext_request *request, npyx_error *error) {
    return npyext_scan_begin(&cursor->scan, request, ((npyext_survey *)cursor)->methods->keeps_files, error);
}

static npyx_status survey_check_format(const npyext_survey *survey, npyx_error *error) {
    npyx_format format = survey->base.scan.opened.archive->format;
    if (survey->methods->only_format < 0 || (int)format == survey->methods->only_format)
        return NPYX_OK;
    return npyx_fail(error, NPYX_INVALID, 0, "is a .%s file, not %s .%s; npy_meta lists it",
                     npyx_format_name(format), survey->methods->only_format == NPYX_FORMAT_NPZ ? "an" : "a",
                     npyx_format_name((npyx_format)survey->methods->only_format));
}

/* Opens the next file; its failure may be a row. */
static npyx_status survey_next_file(npyext_survey *survey, npyx_error *error) {
    npyext_scan *scan = &survey->base.scan;
    survey->nrows_of_file = 0;
    npyx_status status = npyext_scan_next_file(scan, error);
    survey->base.is_eof = status == NPYX_DONE;
    NPYX_TRY(status);
    status = survey_check_format(survey, error);
    if (status != NPYX_OK) /* its row is all there is to say */
        scan->next_index = INT64_MAX;
    return status == NPYX_OK ? NPYX_DONE : status;
}

npyx_status npyext_survey_step(npyext_cursor *cursor, npyx_error *error) {
    npyext_survey *survey = (npyext_survey *)cursor;
    npyext_scan *scan = &cursor->scan;
    npyx_array_clear(&survey->array);
    if (scan->opened.archive == NULL || scan->next_index == INT64_MAX)
        return survey_next_file(survey, error);
    npyx_status status = npyext_scan_next_entry(scan, error);
    if (status == NPYX_OK) {
        status = survey->methods->visit(survey, error);
        survey->nrows_of_file += status != NPYX_DONE;
        return status;
    }
    /* Behind the last one, or a damaged directory: there is no way past it. The file is closed by the next
     * call: its row still shows its format. */
    scan->index = -1;
    scan->next_index = INT64_MAX;
    bool is_row = status == NPYX_DONE && survey->nrows_of_file == 0 && survey->methods->lists_empty;
    return is_row ? NPYX_OK : status;
}

npyx_status npyext_survey_describe(npyext_survey *survey, npyx_error *error) {
    const npyext_scan *scan = &survey->base.scan;
    return npyx_archive_describe(scan->opened.archive, scan->index, &survey->array, &survey->is_array, error);
}

void npyext_survey_name(sqlite3_context *context, npyext_cursor *cursor) {
    if (cursor->scan.has_entry)
        npyext_result_name(context, cursor);
}

NPYEXT_SURVEY_INTEGER(void npyext_survey_idx, survey->base.scan.has_entry, survey->base.scan.index)
NPYEXT_SURVEY_INTEGER(void npyext_survey_ndim, survey->array.is_known, survey->array.ndim)
NPYEXT_SURVEY_INTEGER(void npyext_survey_size, survey->array.is_known, survey->array.nelem)
NPYEXT_SURVEY_INTEGER(void npyext_survey_nbytes, survey->array.is_known, survey->array.nbytes)
NPYEXT_SURVEY_INTEGER(void npyext_survey_fortran_order, survey->array.is_known, survey->array.fortran_order)

void npyext_survey_shape(sqlite3_context *context, npyext_cursor *cursor) {
    npyext_survey *survey = (npyext_survey *)cursor;
    if (!survey->array.is_known)
        return;
    npyx_buffer_reset(&survey->text);
    npyext_append_json_integers(&survey->text, survey->array.shape, survey->array.ndim);
    npyext_result_json_buffer(context, &survey->text);
}

void npyext_survey_dtype(sqlite3_context *context, npyext_cursor *cursor) {
    npyext_survey *survey = (npyext_survey *)cursor;
    if (!survey->array.is_known)
        return;
    npyx_buffer_reset(&survey->text);
    npyx_dtype_append_name(survey->array.dtype, &survey->text);
    if (survey->text.status != NPYX_OK)
        sqlite3_result_error_nomem(context);
    else
        npyext_result_text(context, survey->text.bytes, survey->text.nbytes);
}

void npyext_survey_descr(sqlite3_context *context, npyext_cursor *cursor) {
    const npyext_survey *survey = (const npyext_survey *)cursor;
    if (survey->array.is_known)
        npyext_result_text(context, survey->array.descr, survey->array.descr_nbytes);
}
