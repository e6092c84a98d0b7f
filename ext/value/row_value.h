/*
 * Items given as one SQL value: raw bytes (little-endian, in C order: what `data` and npy_data give), JSON,
 * or an array (a .npy BLOB or a handle).
 */
#ifndef NPYEXT_ROW_VALUE_H
#define NPYEXT_ROW_VALUE_H

#include "array_builder.h"
#include "source/array_value.h"

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
    int64_t nrows; /* so far */
} npyext_rows;

/* Appends a row to the builder. Without a dtype that the query gives, rows of integers and then of numbers
 * become float64, and others must be of one dtype. context: of the running function, NULL outside of one. */
npyx_status npyext_rows_append(npyext_rows *rows, npyext_array_builder *builder, sqlite3_context *context,
                               const npyext_caller *caller, sqlite3_value *value, npyx_error *error);

#endif
