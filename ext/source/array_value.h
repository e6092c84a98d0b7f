/*
 * An array as an argument of a function: a .npy BLOB, used in place, or a handle from npy_file.
 *
 * Nothing else is taken, a path least of all: what calls these functions may stand in a hostile database.
 */
#ifndef NPYEXT_ARRAY_VALUE_H
#define NPYEXT_ARRAY_VALUE_H

#include "core/connection.h"

/* A function as its messages show it. */
typedef struct npyext_caller {
    const char *name;
    const char *call; /* of a column `array`: `npy_get(array, 0)` */
} npyext_caller;

typedef struct npyext_array_value {
    npyext_connection *connection;
    npyext_known_array *known;
    const npyx_array *array; /* described, its data as long as the header says */
    const uint8_t *bytes;    /* the BLOB, while the function runs; NULL for a handle */
    size_t nbytes;
    npyext_place place;  /* for messages */
    npyx_source *memory; /* the BLOB as a source, once one was needed */
    npyx_array *held;    /* of a BLOB with objects, whose values were asked for; NULL otherwise */
} npyext_array_value;

/* Describes an argument. NPYX_DONE: it is NULL. There is one at a time in a connection; close it whatever the
 * status. context is the running function's: a handle's file is held against the file system once in a run of
 * its statement. It is NULL outside of one, as in xFilter and xUpdate: then each call does so. */
npyx_status npyext_array_value_open(npyext_array_value *value, npyext_connection *connection,
                                    sqlite3_context *context, const npyext_caller *caller,
                                    sqlite3_value *argument, npyx_error *error);
void npyext_array_value_close(npyext_array_value *value);

/* Has the pickle of an array of objects read, so that it has values; of another array all stays. */
npyx_status npyext_array_value_hold(npyext_array_value *value, npyx_error *error);

/* What the array's data are read from; its offsets are the array's. Lives as long as the value. */
npyx_status npyext_array_value_source(npyext_array_value *value, npyx_source **source, npyx_error *error);

/* The one item of a 0-d view of the array, in place or until the next call. */
npyx_status npyext_array_value_item(npyext_array_value *value, const npyx_view *view, const uint8_t **item,
                                    npyx_error *error);

/* Room for nelem items behind the contents of out, whose nbytes stays: *items is where they belong.
 * NPYX_TOOBIG or NPYX_NOMEM, which are the buffer's status from then on. */
npyx_status npyext_items_reserve(npyx_buffer *out, const npyx_dtype *dtype, int64_t nelem, uint8_t **items,
                                 npyx_error *error);

/* The items of a view, appended in C order with their own byte order or, with as_little_endian, as such. */
npyx_status npyext_array_value_append_items(npyext_array_value *value, const npyx_view *view,
                                            bool as_little_endian, npyx_buffer *out, npyx_error *error);

/* The view as numpy.save writes it, header and items, in C or in Fortran order. */
npyx_status npyext_array_value_append_npy(npyext_array_value *value, const npyx_view *view, bool is_fortran,
                                          npyx_buffer *out, npyx_error *error);

/* The items of a view converted to dtype, in C order; npyx_convert_items has the errors. */
npyx_status npyext_array_value_append_converted(npyext_array_value *value, const npyx_view *view,
                                                const npyx_dtype *dtype, npyx_buffer *out, npyx_error *error);

/* The same as JSON: nested lists, or one item. */
npyx_status npyext_array_value_append_json(npyext_array_value *value, const npyx_view *view, npyx_buffer *out,
                                           npyx_error *error);

/* ---- one array of an open archive: which one an argument means, and a .npy of it alone ---- */

/* Whether the argument is a name (TEXT), an idx (INTEGER, or a REAL without a fraction) or not given. */
npyx_status npyext_member_check(const npyext_argument *member, npyx_error *error);

/* The entry that a given argument, checked, means. NPYX_NOT_FOUND when there is none. */
npyx_status npyext_member_find(npyx_archive *archive, const npyext_argument *member, int64_t *index,
                               npyx_error *error);

/* Appends the array as numpy.save writes it; one of Python objects, which is a pickle, as it is stored. The
 * entry's own checks are made. NPYX_CORRUPT for an entry that is no array. */
npyx_status npyext_member_append_npy(npyx_archive *archive, int64_t index, npyx_buffer *out,
                                     npyx_error *error);

/* What a plan can know of a literal source: the file is opened, through the cache, while the statement is
 * prepared, and its header read. Execution finds it open. */
typedef struct npyext_prospect {
    bool is_one_array; /* and the shape is known */
    int64_t nrows;     /* along its first axis; 1 for a 0-d array */
    int64_t nelem;
} npyext_prospect;

/* Looks at the array that a path and a member (NULL: left out) choose. Patterns, lists, BLOBs and whatever
 * fails leave everything unknown: running the statement says what is wrong. */
npyext_prospect npyext_prospect_of(npyext_connection *connection, sqlite3_value *source,
                                   sqlite3_value *member);

/* ---- into files and archives, in as little memory however large it is: array_stream.c ---- */

/* Appends the array as numpy.save writes it, in the order in which it lies. */
npyx_status npyext_stream_npy(npyext_array_value *value, npyx_sink *sink, npyx_error *error);

/* The name that an array gets in an archive: a TEXT or an INTEGER; no value at all (NULL) is ''. The
 * text is the value's. */
npyx_status npyext_member_name(sqlite3_value *value, npyx_value *name, npyx_error *error);

/* Appends the array to an archive: in an .npz in the order in which it lies, in a .ten in C order. */
npyx_status npyext_stream_member(npyext_array_value *value, npyx_archive_writer *writer, npyx_format format,
                                 const npyx_value *name, npyx_zip_method method, npyx_error *error);

#endif
