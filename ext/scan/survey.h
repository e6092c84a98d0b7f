/*
 * A survey: the rows of the functions that list what is in files (npy_meta, npz_members, ten_arrays), one an
 * entry, with a row for what went wrong where on_error says so.
 */
#ifndef NPYEXT_SURVEY_H
#define NPYEXT_SURVEY_H

#include "scan.h"

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
    const npyext_survey_methods *methods;
    int64_t nrows_of_file;
    npyx_array array;    /* of the entry at hand; is_known tells whether it was described */
    bool is_array;       /* what npyx_archive_describe found */
    int64_t payload_off; /* for visitors that locate entries; -1: not known */
    npyx_buffer text;    /* for xColumn */
};

/* The methods of such a cursor, by the function's npyext_survey_methods. */
void npyext_survey_open(npyext_cursor *cursor, const npyext_function *function, npyx_host *host);
void npyext_survey_close(npyext_cursor *cursor);
npyx_status npyext_survey_begin(npyext_cursor *cursor, const npyext_request *request, npyx_error *error);
npyx_status npyext_survey_step(npyext_cursor *cursor, npyx_error *error);

#define NPYEXT_SURVEY(methods_of)                                                                            \
    .cursor_nbytes = sizeof(npyext_survey), .methods = &(methods_of), .open = npyext_survey_open,            \
    .close = npyext_survey_close, .begin = npyext_survey_begin, .step = npyext_survey_step,                  \
    .module = NPYEXT_CURSOR_MODULE

/* The entry at hand, described. */
npyx_status npyext_survey_describe(npyext_survey *survey, npyx_error *error);

/* A column that is a number of the survey and its scan; NULL where is_known is false. */
#define NPYEXT_SURVEY_INTEGER(head, is_known, number)                                                        \
    NPYEXT_NUMBER_COLUMN(head, const npyext_survey *survey = (const npyext_survey *)cursor, is_known,        \
                         sqlite3_result_int64, number)

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
