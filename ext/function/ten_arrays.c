/* ten_arrays(source): one row per array of a .ten file, skipping over the data. */
#include "functions.h"
#include "scan/survey.h"

enum {
    PATH,
    IDX,
    NAME,
    DTYPE,
    SHAPE,
    NDIM,
    SIZE,
    NBYTES,
    HEADER_OFFSET,
    DATA_OFFSET,
    ERROR,
    SOURCE,
    ON_ERROR,
    PARTS,
    STEM,
    PARENT,
    ERROR_KIND,
    ARRAY_KEY,
    NCOLUMNS
};

static const npyext_column columns[NCOLUMNS] = {
    [PATH] = NPYEXT_PATH(false),
    [IDX] = NPYEXT_OUTPUT("idx INTEGER", 0),
    [NAME] = NPYEXT_NAME(false),
    [DTYPE] = NPYEXT_OUTPUT("dtype TEXT", NPYEXT_NEEDS_HEADER),
    [SHAPE] = NPYEXT_OUTPUT("shape TEXT", NPYEXT_NEEDS_HEADER),
    [NDIM] = NPYEXT_OUTPUT("ndim INTEGER", NPYEXT_NEEDS_HEADER),
    [SIZE] = NPYEXT_OUTPUT("size INTEGER", NPYEXT_NEEDS_HEADER),
    [NBYTES] = NPYEXT_OUTPUT("nbytes INTEGER", NPYEXT_NEEDS_HEADER),
    [HEADER_OFFSET] = NPYEXT_OUTPUT("header_offset INTEGER", 0),
    [DATA_OFFSET] = NPYEXT_OUTPUT("data_offset INTEGER", NPYEXT_NEEDS_HEADER),
    [ERROR] = NPYEXT_OUTPUT("error TEXT", NPYEXT_NEEDS_HEADER),
    [SOURCE] = NPYEXT_ARGUMENT("source BLOB", NPYEXT_SOURCE),
    [ON_ERROR] = NPYEXT_ARGUMENT("on_error BLOB", NPYEXT_ON_ERROR),
    [PARTS] = NPYEXT_PATH_COLUMNS,
    [ERROR_KIND] = NPYEXT_KIND_OF_ERROR(NPYEXT_NEEDS_HEADER),
    [ARRAY_KEY] = NPYEXT_ARRAY_KEY,
};

static npyx_status visit(npyext_survey *survey, npyx_error *error) {
    npyext_scan *scan = &survey->scan;
    return npyx_archive_describe(scan->opened.archive, scan->index, &survey->array, &survey->is_array, error);
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor) {
    return npyext_survey_open(vtab, visit, NPYX_FORMAT_TEN, false, cursor);
}

static int column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column) {
    npyext_survey *survey = (npyext_survey *)cursor;
    npyext_scan *scan = &survey->scan;
    const npyx_array *array = &survey->array;
    if (npyext_result_common(context, scan, column))
        return SQLITE_OK;
    switch (column) {
    case PATH: npyext_result_path(context, scan); return SQLITE_OK;
    case NAME:
        if (survey->scan.has_entry)
            npyext_result_name(context, scan);
        return SQLITE_OK;
    case IDX:
        if (scan->has_entry)
            sqlite3_result_int64(context, scan->index);
        return SQLITE_OK;
    case ERROR: npyext_survey_result_error(context, survey); return SQLITE_OK;
    case DTYPE: npyext_survey_result_dtype(context, survey); return SQLITE_OK;
    case SHAPE: npyext_survey_result_shape(context, survey); return SQLITE_OK;
    default: break;
    }
    if (!array->is_known)
        return SQLITE_OK;
    switch (column) {
    case NDIM: sqlite3_result_int(context, array->ndim); break;
    case SIZE: sqlite3_result_int64(context, array->nelem); break;
    case NBYTES: sqlite3_result_int64(context, array->nbytes); break;
    case HEADER_OFFSET: sqlite3_result_int64(context, scan->entry.header_off); break;
    case DATA_OFFSET: sqlite3_result_int64(context, array->data_off); break;
    default: break;
    }
    return SQLITE_OK;
}

static const sqlite3_module module = NPYEXT_SURVEY_MODULE(open_cursor, column);

const npyext_function npyext_ten_arrays = {
    .name = "ten_arrays",
    .columns = columns,
    .ncolumns = NCOLUMNS,
    .key = "array_key",
    .has_error_column = true,
    .estimated_nrows = 100,
    .module = &module,
};
