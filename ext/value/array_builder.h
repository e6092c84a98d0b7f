/*
 * A .npy BLOB in the making: items that grow behind room for the header, which is known last.
 *
 *    out:  | 128 bytes of room | item 0 | item 1 | ... | capacity |
 *
 * The header of numpy.save is a multiple of 64 bytes long, and 128 for nearly all arrays: it is put into the
 * room, and the whole goes over to SQLite without a copy. Only for a longer or a shorter header do items
 * move.
 */
#ifndef NPYEXT_ARRAY_BUILDER_H
#define NPYEXT_ARRAY_BUILDER_H

#include "source/array_value.h"

typedef struct npyext_array_builder {
    npyext_connection *connection;
    npyx_buffer out; /* NPYEXT_HEADER_NBYTES of room, then the items in C order */
    npyx_arena arena;
    const npyx_dtype *dtype; /* of the items; NULL while nothing tells */
    bool is_dtype_given;     /* by the query: what follows is converted to it */
} npyext_array_builder;

/* What numpy.save writes before the items of most arrays. */
enum { NPYEXT_HEADER_NBYTES = 128 };

/* builder is zeroed memory, as sqlite3_aggregate_context gives it. The BLOB is bounded by
 * SQLITE_LIMIT_LENGTH. NPYX_NOMEM, or NPYX_TOOBIG where that leaves no room for a header: nothing but clear
 * may follow. */
npyx_status npyext_array_builder_begin(npyext_array_builder *builder, npyext_connection *connection,
                                       npyx_error *error);
void npyext_array_builder_clear(npyext_array_builder *builder);

/* Takes the dtype that an argument names; an empty text or NULL names none. */
npyx_status npyext_array_builder_set_dtype(npyext_array_builder *builder, sqlite3_value *argument,
                                           npyx_error *error);
/* Takes a dtype by its code. */
npyx_status npyext_array_builder_infer(npyext_array_builder *builder, const char *code, npyx_error *error);

static inline uint8_t *npyext_array_builder_items(npyext_array_builder *builder) {
    return (uint8_t *)builder->out.bytes + NPYEXT_HEADER_NBYTES;
}

/* Turns nitems int64 items of one byte order into float64 ones of another, in place. NPYX_INVALID for one
 * that is no float64 exactly: it would be rounded without anyone's asking. *item is its number. */
npyx_status npyext_items_widen(uint8_t *items, int64_t nitems, bool from_big_endian, bool to_big_endian,
                               int64_t *item, npyx_error *error);
/* The same with all items of the builder, which become the host's float64; they were the host's int64, or
 * those of its dtype. */
npyx_status npyext_array_builder_widen(npyext_array_builder *builder, int64_t *item, npyx_error *error);
/* Whether an integer is a float64 exactly; the error is that of widening. */
npyx_status npyext_check_exact(int64_t value, npyx_error *error);

/* Puts the header before the items, of which there are as many as the shape says, and makes all of it the
 * result; the builder is empty then. */
npyx_status npyext_array_builder_result(npyext_array_builder *builder, sqlite3_context *context, int ndim,
                                        const int64_t *shape, npyx_error *error);

/* ---- items given as one SQL value: row_value.c ----
 *
 * Raw bytes (little-endian, in C order: what `data` and npy_data give), JSON, or an array (a .npy BLOB or a
 * handle). */

/* One value as all items of a field or a cell, at out (nelem items of dtype): nelem is 1 and ndim 0 for a
 * scalar, which any value that fits the dtype is. NPYX_INVALID says what does not fit. */
npyx_status npyext_items_encode(npyx_host *host, const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                sqlite3_value *value, uint8_t *out, npyx_error *error);

/* Rows of one shape and dtype, one value each. The first one tells both, unless they are known. */
typedef struct npyext_rows {
    bool has_shape;
    int ndim; /* of a row */
    int64_t shape[NPYX_MAX_NDIM];
    int64_t nelem;
} npyext_rows;

/* Appends a row to the builder. Without a dtype that the query gives, rows of integers and then of numbers
 * become float64, and others must be of one dtype. context: of the running function, NULL outside of one. */
npyx_status npyext_rows_append(npyext_rows *rows, npyext_array_builder *builder, sqlite3_context *context,
                               const npyext_caller *caller, sqlite3_value *value, npyx_error *error);

#endif
