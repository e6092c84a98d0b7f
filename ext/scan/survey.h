/*
 * A survey: the rows of the functions that list what is in files (npy_meta, npz_members, ten_arrays), one for
 * each entry, and one for each error if on_error says so.
 */
#ifndef NPYEXT_SURVEY_H
#define NPYEXT_SURVEY_H

#include "cursor.h"

typedef struct npyext_survey npyext_survey;

typedef struct npyext_survey_methods {
    /* Looks at the current entry: NPYX_OK makes it a row, NPYX_DONE skips it, an error becomes its row. */
    npyx_status (*visit)(npyext_survey *survey, npyx_error *error);
    int only_format;  /* the npyx_format that files must have; -1: any */
    bool lists_empty; /* a file without rows of its own gets one, with no entry */
    bool keeps_files; /* in the cache */
} npyext_survey_methods;

struct npyext_survey {
    npyext_cursor base;
    int64_t nrows_of_file;
    int64_t payload_off; /* for functions that locate entries; -1: not known */
};

/* The begin and step of such a cursor; they go by the function's npyext_survey_methods. */
npyx_status npyext_survey_begin(npyext_cursor *cursor, const npyext_request *request, npyx_error *error);
npyx_status npyext_survey_step(npyext_cursor *cursor, npyx_error *error);

#define NPYEXT_SURVEY(methods_of)                                                                            \
    .estimated_nrows = 100, .cursor_nbytes = sizeof(npyext_survey), .methods = &(methods_of),                \
    .begin = npyext_survey_begin, .step = npyext_survey_step, .module = NPYEXT_CURSOR_MODULE

/* Describes the current entry in the selection's array, whose is_known tells whether that succeeded. */
npyx_status npyext_survey_describe(npyext_survey *survey, npyx_error *error);

/* A column about the survey and its scan; NULL if is_known is false. */
#define NPYEXT_SURVEY_RESULT(linkage, name, is_known, ...)                                                   \
    NPYEXT_KNOWN_RESULT(linkage, name, const npyext_scan *scan = &cursor->scan;                              \
                        const npyx_array *array = &cursor->selection.array; (void)scan;                      \
                        (void)array, is_known, __VA_ARGS__)

/* Columns of the entry that several functions share; NULL if there is none. */
void npyext_survey_name(sqlite3_context *context, npyext_cursor *cursor);
void npyext_survey_idx(sqlite3_context *context, npyext_cursor *cursor);
/* Columns of the entry's array, as its header describes it; NULL if that could not be read. */
void npyext_survey_dtype(sqlite3_context *context, npyext_cursor *cursor);
void npyext_survey_descr(sqlite3_context *context, npyext_cursor *cursor);
void npyext_survey_shape(sqlite3_context *context, npyext_cursor *cursor);
void npyext_survey_ndim(sqlite3_context *context, npyext_cursor *cursor);
void npyext_survey_size(sqlite3_context *context, npyext_cursor *cursor);
void npyext_survey_nbytes(sqlite3_context *context, npyext_cursor *cursor);
void npyext_survey_fortran_order(sqlite3_context *context, npyext_cursor *cursor);

#endif
