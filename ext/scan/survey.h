/*
 * A survey: the rows of the functions that list what is in files (npy_meta, npz_members, ten_arrays), one an
 * entry, with a row for what went wrong where on_error says so.
 */
#ifndef NPYEXT_SURVEY_H
#define NPYEXT_SURVEY_H

#include "scan.h"

typedef struct npyext_survey npyext_survey;

/* Looks at the entry at hand: NPYX_OK makes it a row, NPYX_DONE passes it over, an error is the row's. */
typedef npyx_status (*npyext_survey_visit)(npyext_survey *survey, npyx_error *error);

struct npyext_survey {
    npyext_cursor base;
    npyext_survey_visit visit;
    int only_format;  /* the npyx_format that files must have; -1: any */
    bool lists_empty; /* a file without rows of its own gives one with no entry */
    bool keeps_files; /* in the cache */
    int64_t nrows_of_file;
    npyx_array array;    /* of the entry at hand; is_known tells whether it was described */
    bool is_array;       /* what npyx_archive_describe found */
    int64_t payload_off; /* for visitors that locate entries; -1: not known */
    npyx_buffer text;    /* for xColumn */
};

/* xOpen's work. The connection is the vtab's. */
int npyext_survey_open(sqlite3_vtab *vtab, npyext_survey_visit visit, int only_format, bool lists_empty,
                       sqlite3_vtab_cursor **cursor);

/* The other methods of such a cursor. */
int npyext_survey_close(sqlite3_vtab_cursor *cursor);
int npyext_survey_filter(sqlite3_vtab_cursor *cursor, int idx_num, const char *sentence, int argc,
                         sqlite3_value **argv);
int npyext_survey_next(sqlite3_vtab_cursor *cursor);

#define NPYEXT_SURVEY_MODULE(open)                                                                           \
    NPYEXT_MODULE(open, npyext_survey_close, npyext_survey_filter, npyext_survey_next, npyext_cursor_column)

/* A column that is a number of the survey and its scan; NULL where is_known is false. */
#define NPYEXT_SURVEY_INTEGER(name, is_known, number)                                                        \
    int name(sqlite3_context *context, npyext_cursor *cursor) {                                              \
        const npyext_survey *survey = (const npyext_survey *)cursor;                                         \
        if (is_known)                                                                                        \
            sqlite3_result_int64(context, (number));                                                         \
        return SQLITE_OK;                                                                                    \
    }

/* Columns that are the same in several functions, NULL when there is nothing to say: of the entry, */
int npyext_survey_name(sqlite3_context *context, npyext_cursor *cursor);
int npyext_survey_idx(sqlite3_context *context, npyext_cursor *cursor);
/* and of the array, as its header says. */
int npyext_survey_dtype(sqlite3_context *context, npyext_cursor *cursor);
int npyext_survey_descr(sqlite3_context *context, npyext_cursor *cursor);
int npyext_survey_shape(sqlite3_context *context, npyext_cursor *cursor);
int npyext_survey_ndim(sqlite3_context *context, npyext_cursor *cursor);
int npyext_survey_size(sqlite3_context *context, npyext_cursor *cursor);
int npyext_survey_nbytes(sqlite3_context *context, npyext_cursor *cursor);
int npyext_survey_fortran_order(sqlite3_context *context, npyext_cursor *cursor);

#endif
