/*
 * A .npy BLOB being built: items are appended after room for the header, which is known last.
 *
 *    out:  | 128 bytes of room | item 0 | item 1 | ... | capacity |
 *
 * The header that numpy.save writes is a multiple of 64 bytes long, and 128 for nearly all arrays: it is put
 * into the room, and SQLite gets the whole without a copy. Items move only for a longer or a shorter header.
 */
#ifndef NPYEXT_ARRAY_BUILDER_H
#define NPYEXT_ARRAY_BUILDER_H

#include "source/array_value.h"

typedef struct npyext_array_builder {
    npyext_connection *connection;
    npyx_buffer out; /* NPYEXT_HEADER_NBYTES of room, then the items in C order */
    npyx_arena arena;
    const npyx_dtype *dtype; /* of the items; NULL while it is not known */
    bool is_dtype_given;     /* by the query: values are converted to it */
} npyext_array_builder;

/* The size of the header that numpy.save writes for most arrays. */
enum { NPYEXT_HEADER_NBYTES = 128 };

/* builder is zero-initialised, as sqlite3_aggregate_context returns it. The BLOB is bounded by
 * SQLITE_LIMIT_LENGTH: NPYX_TOOBIG if that leaves no room for a header, or NPYX_NOMEM. After a failure, only
 * clear it. */
npyx_status npyext_array_builder_begin(npyext_array_builder *builder, npyext_connection *connection,
                                       npyx_error *error);
void npyext_array_builder_clear(npyext_array_builder *builder);

/* Sets the dtype that an argument names; an empty text and NULL name none. NPYX_INVALID for what is not a
 * dtype, or cannot be written. */
npyx_status npyext_array_builder_set_dtype(npyext_array_builder *builder, sqlite3_value *argument,
                                           npyx_error *error);
/* Sets a dtype by its code, such as `f8`. */
npyx_status npyext_array_builder_infer(npyext_array_builder *builder, const char *code, npyx_error *error);

/* Where the items begin. */
static inline uint8_t *npyext_array_builder_items(npyext_array_builder *builder) {
    return (uint8_t *)builder->out.bytes + NPYEXT_HEADER_NBYTES;
}

/* Turns all items, which were int64, into the host's float64, in place. NPYX_INVALID if one is not exactly a
 * float64, since nobody asked for rounding; *item is its number. They were the host's int64 if there is no
 * dtype yet, or else the dtype's. */
npyx_status npyext_array_builder_widen(npyext_array_builder *builder, int64_t *item, npyx_error *error);
/* NPYX_INVALID unless an integer is exactly a float64; the error is that of widening. */
npyx_status npyext_check_exact(int64_t value, npyx_error *error);

/* Puts the header before the items, of which there must be as many as the shape says, and makes the whole the
 * result. The builder is then empty. */
npyx_status npyext_array_builder_result(npyext_array_builder *builder, sqlite3_context *context, int ndim,
                                        const int64_t *shape, npyx_error *error);

/* ---- items given as one SQL value ----
 *
 * Raw bytes (little-endian, in C order: what `data` and npy_data give), JSON, or an array (a .npy BLOB or a
 * handle).
 */

/* Stores one value as all items of a field or a cell, at out, which has room for them. For a scalar, ndim is
 * 0, and any value that fits the dtype will do. NPYX_INVALID says what does not fit. */
npyx_status npyext_items_encode(npyx_host *host, const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                sqlite3_value *value, uint8_t *out, npyx_error *error);

/* Rows of one shape and dtype, one value each. The first row decides on what is not known yet. */
typedef struct npyext_rows {
    bool has_shape;
    int ndim; /* of a row */
    int64_t shape[NPYX_MAX_NDIM];
    int64_t nelem;
} npyext_rows;

/* Appends a row to the builder. Unless the query gives a dtype, rows of integers and rows of REALs become
 * float64, and any others must have the same dtype. context: the running function's; NULL outside of one. */
npyx_status npyext_rows_append(npyext_rows *rows, npyext_array_builder *builder, sqlite3_context *context,
                               const npyext_caller *caller, sqlite3_value *value, npyx_error *error);

#endif
