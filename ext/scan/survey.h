/*
 * A survey: the rows of the functions that list what is in files (npy_meta, npz_members, ten_arrays), one an
 * entry, with a row for what went wrong where on_error says so.
 */
#ifndef NPYEXT_SURVEY_H
#define NPYEXT_SURVEY_H

#include "cursor.h"

typedef struct npyext_survey npyext_survey;

typedef struct npyext_survey_methods {
    /* Looks at the entry at hand: NPYX_OK makes it a row, NPYX_DONE passes it over, an error is the row's. */
    npyx_status (*visit)(npyext_survey *survey, npyx_error *error);
    int only_format;  /* the npyx_format that files must have; -1: any */
    bool lists_empty; /* a file without rows of its own gives one with no entry */
    bool keeps_files; /* in the cache */
} npyext_survey_methods;

struct npyext_survey {
    npyext_cursor base;
    int64_t nrows_of_file;
    int64_t payload_off; /* for visitors that locate entries; -1: not known */
};

/* The methods of such a cursor, by the function's npyext_survey_methods. */
npyx_status npyext_survey_begin(npyext_cursor *cursor, const npyext_request *request, npyx_error *error);
npyx_status npyext_survey_step(npyext_cursor *cursor, npyx_error *error);

#define NPYEXT_SURVEY(methods_of)                                                                            \
    .estimated_nrows = 100, .cursor_nbytes = sizeof(npyext_survey), .methods = &(methods_of),                \
    .begin = npyext_survey_begin, .step = npyext_survey_step, .module = NPYEXT_CURSOR_MODULE

/* Describes the entry at hand in the selection's array, whose is_known tells whether that went well. */
npyx_status npyext_survey_describe(npyext_survey *survey, npyx_error *error);

/* A column that is said of the survey and its scan; NULL where is_known is false. */
#define NPYEXT_SURVEY_RESULT(linkage, name, is_known, ...)                                                   \
    NPYEXT_KNOWN_RESULT(linkage, name, const npyext_scan *scan = &cursor->scan;                              \
                        const npyx_array *array = &cursor->selection.array; (void)scan;                      \
                        (void)array, is_known, __VA_ARGS__)

/* Columns that are the same in several functions, NULL when there is nothing to say: of the entry, */
void npyext_survey_name(sqlite3_context *context, npyext_cursor *cursor);
void npyext_survey_idx(sqlite3_context *context, npyext_cursor *cursor);
/* and of the array, as its header says. */
void npyext_survey_dtype(sqlite3_context *context, npyext_cursor *cursor);
void npyext_survey_descr(sqlite3_context *context, npyext_cursor *cursor);
void npyext_survey_shape(sqlite3_context *context, npyext_cursor *cursor);
void npyext_survey_ndim(sqlite3_context *context, npyext_cursor *cursor);
void npyext_survey_size(sqlite3_context *context, npyext_cursor *cursor);
void npyext_survey_nbytes(sqlite3_context *context, npyext_cursor *cursor);
void npyext_survey_fortran_order(sqlite3_context *context, npyext_cursor *cursor);

#endif
