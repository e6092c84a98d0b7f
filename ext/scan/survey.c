#include "survey.h"

#include "format/tar.h"

static const npyext_survey_methods *methods_of(const npyext_cursor *cursor) {
    return ((const npyext_vtab *)cursor->base.pVtab)->function->methods;
}

npyx_status npyext_survey_begin(npyext_cursor *cursor, const npyext_request *request, npyx_error *error) {
    return npyext_scan_begin(&cursor->scan, request, methods_of(cursor)->keeps_files, error);
}

static npyx_status survey_check_format(const npyext_survey *survey, npyx_error *error) {
    npyx_format format = survey->base.scan.opened.archive->format;
    int only_format = methods_of(&survey->base)->only_format;
    if (only_format < 0 || (int)format == only_format)
        return NPYX_OK;
    return npyx_fail(error, NPYX_INVALID, 0, "is a .%s file, not %s .%s; %s lists it",
                     npyx_format_name(format), only_format == NPYX_FORMAT_NPZ ? "an" : "a",
                     npyx_format_name((npyx_format)only_format),
                     format == NPYX_FORMAT_TAR ? "tar_members" : "npy_meta");
}

/* Opens the next file; an error may become a row. */
static npyx_status survey_next_file(npyext_survey *survey, npyx_error *error) {
    npyext_scan *scan = &survey->base.scan;
    survey->nrows_of_file = 0;
    npyx_status status = npyext_scan_next_file(scan, error);
    survey->base.is_eof = status == NPYX_DONE;
    NPYX_TRY(status);
    status = survey_check_format(survey, error);
    if (status != NPYX_OK) /* its row says all there is to say */
        scan->next_index = INT64_MAX;
    return status == NPYX_OK ? NPYX_DONE : status;
}

npyx_status npyext_survey_step(npyext_cursor *cursor, npyx_error *error) {
    npyext_survey *survey = (npyext_survey *)cursor;
    npyext_scan *scan = &cursor->scan;
    npyext_selection_close(&cursor->selection);
    if (scan->opened.archive == NULL || scan->next_index == INT64_MAX)
        return survey_next_file(survey, error);
    npyx_status status = npyext_scan_next_entry(scan, error);
    if (status == NPYX_OK) {
        status = methods_of(cursor)->visit(survey, error);
        survey->nrows_of_file += status != NPYX_DONE;
        return status;
    }
    /* After the last entry, or at a damaged directory, which cannot be passed. The file is closed by the next
     * call, as its row still shows its format. */
    scan->index = -1;
    scan->next_index = INT64_MAX;
    bool is_row = status == NPYX_DONE && survey->nrows_of_file == 0 && methods_of(cursor)->lists_empty;
    return is_row ? NPYX_OK : status;
}

npyx_status npyext_survey_describe(npyext_survey *survey, npyx_error *error) {
    const npyext_scan *scan = &survey->base.scan;
    return npyx_archive_describe(scan->opened.archive, scan->index, &survey->base.selection.array, error);
}

#define SURVEY_OF_ARRAY(name, ...) NPYEXT_SURVEY_RESULT(extern, name, array->is_known, __VA_ARGS__)
SURVEY_OF_ARRAY(npyext_survey_ndim, sqlite3_result_int64, array->ndim)
SURVEY_OF_ARRAY(npyext_survey_size, sqlite3_result_int64, array->nelem)
SURVEY_OF_ARRAY(npyext_survey_nbytes, sqlite3_result_int64, array->nbytes)
SURVEY_OF_ARRAY(npyext_survey_fortran_order, sqlite3_result_int64, array->fortran_order)
SURVEY_OF_ARRAY(npyext_survey_descr, npyext_result_text, array->descr, array->descr_nbytes)
SURVEY_OF_ARRAY(npyext_survey_shape, npyext_result_integers, &cursor->scratch, array->shape, array->ndim)
NPYEXT_SURVEY_RESULT(extern, npyext_survey_idx, scan->has_entry, sqlite3_result_int64, scan->index)
NPYEXT_SURVEY_RESULT(extern, npyext_survey_name, scan->has_entry, npyext_result_text, scan->entry.name,
                     scan->entry.name_nbytes)

void npyext_survey_dtype(sqlite3_context *context, npyext_cursor *cursor) {
    const npyx_array *array = &cursor->selection.array;
    npyx_buffer *text = &cursor->scratch;
    if (!array->is_known)
        return;
    npyx_buffer_reset(text);
    if (array->is_foreign)
        npyx_buffer_append(text, array->descr, array->descr_nbytes);
    else
        npyx_dtype_append_name(array->dtype, text);
    if (text->status == NPYX_OK)
        npyext_result_text(context, text->bytes, text->nbytes);
    else
        sqlite3_result_error_nomem(context);
}
