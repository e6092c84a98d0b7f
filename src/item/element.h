/*
 * Items to values and to JSON.
 *
 * The mapping is the types table of docs/reference/types.md. Items are given as they lie in the file: any
 * alignment, the dtype's byte order.
 */
#ifndef NPYX_ELEMENT_H
#define NPYX_ELEMENT_H

#include "array/dtype.h"

typedef enum npyx_value_kind {
    NPYX_VALUE_NULL,
    NPYX_VALUE_INTEGER,
    NPYX_VALUE_REAL,
    NPYX_VALUE_TEXT, /* UTF-8 */
    NPYX_VALUE_BLOB,
    NPYX_VALUE_JSON /* UTF-8 that is JSON */
} npyx_value_kind;

typedef struct npyx_value {
    npyx_value_kind kind;
    int64_t integer;
    double real;
    const char *bytes; /* of TEXT, BLOB and JSON: in the item or in the scratch buffer; no NUL behind */
    size_t nbytes;
} npyx_value;

/* The value of one item. scratch is reset and may be written; *value lives as long as item and scratch stay
 * untouched. NPYX_CORRUPT for an item that no value stands for (a code point above U+10FFFF, a date beyond
 * the calendar), NPYX_UNSUPPORTED for objects that are not held. */
npyx_status npyx_element_value(const npyx_dtype *dtype, const uint8_t *item, npyx_buffer *scratch,
                               npyx_value *value, npyx_error *error);

/* The same for an item that is neither complex nor structured. */
npyx_status npyx_element_scalar(const npyx_dtype *dtype, const uint8_t *item, npyx_buffer *scratch,
                                npyx_value *value, npyx_error *error);

/* The real or the imaginary part of a complex item; false for other dtypes. */
bool npyx_element_complex_part(const npyx_dtype *dtype, const uint8_t *item, bool is_imag, double *part);

/* Appends an array of the given shape, whose items lie in C order, as nested JSON lists; ndim 0 appends one
 * item. Look at out->status behind it. */
npyx_status npyx_element_append_json(const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                     const uint8_t *items, npyx_buffer *out, npyx_error *error);

/* The least that this takes. Beyond every limit any number will do. */
double npyx_element_least_json(const npyx_dtype *dtype, int ndim, const int64_t *shape);

/* Whether items of this dtype have big-endian parts, however deep. */
bool npyx_element_needs_swap(const npyx_dtype *dtype);

/* Turns nelem items into little-endian ones in place. */
void npyx_element_swap(const npyx_dtype *dtype, uint8_t *items, int64_t nelem);

#endif
