/*
 * An array as an argument of a function: a .npy BLOB, used in place, or a handle from npy_file.
 *
 * Nothing else is accepted, least of all a path: a hostile database may contain calls of these functions.
 */
#ifndef NPYEXT_ARRAY_VALUE_H
#define NPYEXT_ARRAY_VALUE_H

#include "array/view.h"
#include "core/connection.h"
#include "format/archive_write.h"

/* A function as its messages show it. */
typedef struct npyext_caller {
    const char *name;
    const char *call; /* for an array in a column `array`: `npy_get(array, 0)` */
} npyext_caller;

/*
 * What functions keep until the statement halts, whatever their arguments are; all calls in it share it.
 * These are numbers for sqlite3_set_auxdata.
 *
 * SQLite keeps auxiliary data with a negative number so (sqlite3VdbeDeleteAuxData). It documents only numbers
 * from 0 on, and reserves negative ones for the future, but its own JSON functions have depended on this
 * since 3.9. Data with a number from 0 on is dropped after each call unless the argument is a constant, and
 * nothing else shows where a statement begins. If SQLite ever kept nothing, every call would make it anew.
 */
enum {
    NPYEXT_KEPT_TICK = -0x6e7078,  /* when files were checked */
    NPYEXT_KEPT_VECTOR = -0x6e7079 /* the second vector of the last call */
};

typedef struct npyext_array_value {
    npyext_connection *connection;
    npyext_memo_array *known;
    const npyx_array *array; /* described; its data is as long as its header says */
    const uint8_t *bytes;    /* the BLOB's, or the items of its objects; NULL for a handle */
    size_t nbytes;
    npyext_place place;  /* for messages */
    npyx_source *memory; /* the BLOB as a source, once one was needed */
    npyx_array *held;    /* for a BLOB of objects whose values were asked for; NULL otherwise */
} npyext_array_value;

/* Describes an argument; NPYX_DONE if it is NULL. Only one can be open at a time on a connection. Close it
 * whatever the status. context is the running function's: a handle's file is checked against the file system
 * once in each run of the statement. It is NULL outside of a function, as in xFilter and xUpdate: then every
 * call checks. */
npyx_status npyext_array_value_open(npyext_array_value *value, npyext_connection *connection,
                                    sqlite3_context *context, const npyext_caller *caller,
                                    sqlite3_value *argument, npyx_error *error);
void npyext_array_value_close(npyext_array_value *value);

/* Reads the pickle of an array of objects, so that the array has values. Does nothing for other arrays. */
npyx_status npyext_array_value_hold(npyext_array_value *value, npyx_error *error);

/* The source that the array's offsets refer to, for what may take long (npyext_connection_begin). It lives as
 * long as the value. */
npyx_status npyext_array_value_source(npyext_array_value *value, npyx_source **source, npyx_error *error);

/* The one item of a 0-d view of the array. Its bytes are valid until the next call. */
npyx_status npyext_array_value_item(npyext_array_value *value, const npyx_view *view, const uint8_t **item,
                                    npyx_error *error);

/* Reserves room for nelem items after the contents of out, whose nbytes does not change: *items is where they
 * go. NPYX_TOOBIG or NPYX_NOMEM, which out->status then keeps. */
npyx_status npyext_items_reserve(npyx_buffer *out, const npyx_dtype *dtype, int64_t nelem, uint8_t **items,
                                 npyx_error *error);

/* Replaces the header_nbytes at start of out, a .npy's, by another header, moves the items_nbytes after them
 * if need be, and drops what follows. A failure is in out->status. */
void npyext_replace_header(npyx_buffer *out, size_t start, size_t header_nbytes, size_t items_nbytes,
                           const npyx_buffer *header);

/* Appends the items of a view in C order, in their own byte order or, if as_little_endian, in
 * little-endian. */
npyx_status npyext_array_value_append_items(npyext_array_value *value, const npyx_view *view,
                                            bool as_little_endian, npyx_buffer *out, npyx_error *error);

/* Appends the view as numpy.save writes it, header and items, in C or in Fortran order. */
npyx_status npyext_array_value_append_npy(npyext_array_value *value, const npyx_view *view, bool is_fortran,
                                          npyx_buffer *out, npyx_error *error);

/* Appends the items of a view, converted to dtype, in C order. Fails as npyx_convert_items does. */
npyx_status npyext_array_value_append_converted(npyext_array_value *value, const npyx_view *view,
                                                const npyx_dtype *dtype, npyx_buffer *out, npyx_error *error);

/* Appends the items of a view as JSON: nested lists, or one item. */
npyx_status npyext_array_value_append_json(npyext_array_value *value, const npyx_view *view, npyx_buffer *out,
                                           npyx_error *error);

/* ---- one array of an open archive: which one an argument means, and that one as a .npy ---- */

/* NPYX_INVALID unless the argument is a name (TEXT), an idx (INTEGER, or a REAL without a fraction) or not
 * given. */
npyx_status npyext_member_check(const npyext_argument *member, npyx_error *error);

/* The entry that an argument means, which is given and was checked. NPYX_NOT_FOUND if there is none. */
npyx_status npyext_member_find(npyx_archive *archive, const npyext_argument *member, int64_t *index,
                               npyx_error *error);

/* Appends the array as numpy.save writes it; an array of Python objects, which is a pickle, as it is stored.
 * Reads an entry to its end, so the CRC-32 of a zip's member is checked. NPYX_CORRUPT for an entry that is
 * not an array, NPYX_TOOBIG beyond the limit of out. */
npyx_status npyext_member_append_npy(npyx_archive *archive, int64_t index, npyx_buffer *out,
                                     npyx_error *error);

/* What the planner can know of a literal source: while the statement is prepared, the file is opened through
 * the cache and its header is read. When the statement runs, the file is open already. */
typedef struct npyext_estimate {
    bool is_one_array; /* then the shape is known */
    int64_t nrows;     /* along its first axis; 1 for a 0-d array */
    int64_t nelem;
} npyext_estimate;

/* Looks at the array that a path and a member (NULL: left out) choose. For patterns, lists, BLOBs and on any
 * failure, everything stays unknown: the error is reported when the statement runs. */
npyext_estimate npyext_estimate_of(npyext_connection *connection, sqlite3_value *source,
                                   sqlite3_value *member);

/* ---- into files and archives, in little memory however large the array is ---- */

/* Appends the array as numpy.save writes it, in C or Fortran order as it is stored. */
npyx_status npyext_stream_npy(npyext_array_value *value, npyx_sink *sink, npyx_error *error);

/* The name that an array gets in an archive: a TEXT or an INTEGER; '' if value is NULL (left out). The text
 * belongs to the value. NPYX_INVALID for other values. */
npyx_status npyext_member_name(sqlite3_value *value, npyx_value *name, npyx_error *error);

/* Appends the array to an archive: in the order it is stored in to an .npz, in C order to a .ten. */
npyx_status npyext_stream_member(npyext_array_value *value, npyx_archive_writer *writer, npyx_format format,
                                 const npyx_value *name, npyx_zip_method method, npyx_error *error);

#endif
