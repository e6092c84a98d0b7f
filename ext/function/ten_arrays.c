/* ten_arrays(source): one row per array of a .ten file, skipping over the data. */
#include "functions.h"
#include "scan/survey.h"

enum {
    TENS_PATH,
    TENS_IDX,
    TENS_NAME,
    TENS_DTYPE,
    TENS_SHAPE,
    TENS_NDIM,
    TENS_SIZE,
    TENS_NBYTES,
    TENS_HEADER_OFFSET,
    TENS_DATA_OFFSET,
    TENS_ERROR,
    TENS_SOURCE,
    TENS_ON_ERROR,
    TENS_PARTS,
    TENS_STEM,
    TENS_PARENT,
    TENS_ERROR_KIND,
    TENS_ARRAY_KEY,
    TENS_NCOLUMNS
};

static const npyext_column tens_columns[TENS_NCOLUMNS] = {
    [TENS_PATH] = NPYEXT_PATH(false),
    [TENS_IDX] = NPYEXT_OUTPUT("idx INTEGER", 0),
    [TENS_NAME] = NPYEXT_NAME(false),
    [TENS_DTYPE] = NPYEXT_OUTPUT("dtype TEXT", NPYEXT_NEEDS_HEADER),
    [TENS_SHAPE] = NPYEXT_OUTPUT("shape TEXT", NPYEXT_NEEDS_HEADER),
    [TENS_NDIM] = NPYEXT_OUTPUT("ndim INTEGER", NPYEXT_NEEDS_HEADER),
    [TENS_SIZE] = NPYEXT_OUTPUT("size INTEGER", NPYEXT_NEEDS_HEADER),
    [TENS_NBYTES] = NPYEXT_OUTPUT("nbytes INTEGER", NPYEXT_NEEDS_HEADER),
    [TENS_HEADER_OFFSET] = NPYEXT_OUTPUT("header_offset INTEGER", 0),
    [TENS_DATA_OFFSET] = NPYEXT_OUTPUT("data_offset INTEGER", NPYEXT_NEEDS_HEADER),
    [TENS_ERROR] = NPYEXT_OUTPUT("error TEXT", NPYEXT_NEEDS_HEADER),
    [TENS_SOURCE] = NPYEXT_ARGUMENT("source BLOB", NPYEXT_SOURCE),
    [TENS_ON_ERROR] = NPYEXT_ARGUMENT("on_error BLOB", NPYEXT_ON_ERROR),
    [TENS_PARTS] = NPYEXT_PATH_COLUMNS,
    [TENS_ERROR_KIND] = NPYEXT_KIND_OF_ERROR(NPYEXT_NEEDS_HEADER),
    [TENS_ARRAY_KEY] = NPYEXT_ARRAY_KEY,
};

static npyx_status tens_visit(npyext_survey *survey, npyx_error *error) {
    npyext_scan *scan = &survey->scan;
    return npyx_archive_describe(scan->opened.archive, scan->index, &survey->array, &survey->is_array, error);
}

static int tens_open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor) {
    return npyext_survey_open(vtab, tens_visit, NPYX_FORMAT_TEN, false, cursor);
}

static int tens_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int tens_column) {
    npyext_survey *survey = (npyext_survey *)cursor;
    npyext_scan *scan = &survey->scan;
    const npyx_array *array = &survey->array;
    if (npyext_result_common(context, scan, tens_column))
        return SQLITE_OK;
    switch (tens_column) {
    case TENS_PATH: npyext_result_path(context, scan); return SQLITE_OK;
    case TENS_NAME:
        if (survey->scan.has_entry)
            npyext_result_name(context, scan);
        return SQLITE_OK;
    case TENS_IDX:
        if (scan->has_entry)
            sqlite3_result_int64(context, scan->index);
        return SQLITE_OK;
    case TENS_ERROR: npyext_survey_result_error(context, survey); return SQLITE_OK;
    case TENS_DTYPE: npyext_survey_result_dtype(context, survey); return SQLITE_OK;
    case TENS_SHAPE: npyext_survey_result_shape(context, survey); return SQLITE_OK;
    default: break;
    }
    if (!array->is_known)
        return SQLITE_OK;
    switch (tens_column) {
    case TENS_NDIM: sqlite3_result_int(context, array->ndim); break;
    case TENS_SIZE: sqlite3_result_int64(context, array->nelem); break;
    case TENS_NBYTES: sqlite3_result_int64(context, array->nbytes); break;
    case TENS_HEADER_OFFSET: sqlite3_result_int64(context, scan->entry.header_off); break;
    case TENS_DATA_OFFSET: sqlite3_result_int64(context, array->data_off); break;
    default: break;
    }
    return SQLITE_OK;
}

static const sqlite3_module tens_module = NPYEXT_SURVEY_MODULE(tens_open_cursor, tens_column);

const npyext_function npyext_ten_arrays = {
    .name = "ten_arrays",
    .columns = tens_columns,
    .ncolumns = TENS_NCOLUMNS,
    .key = "array_key",
    .has_error_column = true,
    .estimated_nrows = 100,
    .module = &tens_module,
};
