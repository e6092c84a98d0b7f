/* ten_arrays(source): one row per array of a .ten file. The data are skipped. */
#include "functions.h"
#include "scan/survey.h"

static const npyext_survey_methods tens_methods = {.visit = npyext_survey_describe,
                                                   .only_format = NPYX_FORMAT_TEN};

NPYEXT_SURVEY_RESULT(static, tens_header_offset, array->is_known, sqlite3_result_int64,
                     scan->opened.archive->source->file_off + scan->entry.header_off)
NPYEXT_SURVEY_RESULT(static, tens_data_offset, array->is_known, sqlite3_result_int64,
                     scan->opened.archive->source->file_off + array->data_off)

static const npyext_column tens_columns[] = {
    NPYEXT_PATH(false),
    NPYEXT_OUTPUT("idx INTEGER", 0, npyext_survey_idx),
    NPYEXT_NAME(false, npyext_survey_name),
    NPYEXT_OUTPUT("dtype TEXT", NPYEXT_NEEDS_HEADER, npyext_survey_dtype),
    NPYEXT_OUTPUT("shape TEXT", NPYEXT_NEEDS_HEADER, npyext_survey_shape),
    NPYEXT_OUTPUT("ndim INTEGER", NPYEXT_NEEDS_HEADER, npyext_survey_ndim),
    NPYEXT_OUTPUT("size INTEGER", NPYEXT_NEEDS_HEADER, npyext_survey_size),
    NPYEXT_OUTPUT("nbytes INTEGER", NPYEXT_NEEDS_HEADER, npyext_survey_nbytes),
    NPYEXT_OUTPUT("header_offset INTEGER", 0, tens_header_offset),
    NPYEXT_OUTPUT("data_offset INTEGER", NPYEXT_NEEDS_HEADER, tens_data_offset),
    NPYEXT_ERROR(NPYEXT_NEEDS_HEADER),
    NPYEXT_ARGUMENT("source BLOB", NPYEXT_SOURCE),
    NPYEXT_ARGUMENT("on_error BLOB", NPYEXT_ON_ERROR),
    NPYEXT_PATH_COLUMNS,
    NPYEXT_ERROR_KIND(NPYEXT_NEEDS_HEADER),
    NPYEXT_ARRAY_KEY(npyext_result_array_key),
};

const npyext_function npyext_ten_arrays = {
    .name = "ten_arrays",
    .example = "'x.ten'",
    NPYEXT_COLUMNS(tens_columns),
    .has_error_column = true,
    NPYEXT_SURVEY(tens_methods),
};
