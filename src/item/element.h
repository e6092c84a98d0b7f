/*
 * Items to values and to JSON.
 *
 * The mapping is the types table of docs/reference/types.md. Items are as in the file: any alignment, the
 * dtype's byte order.
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
    const char *bytes; /* of TEXT, BLOB and JSON: in the item or in the scratch buffer; no NUL after them */
    size_t nbytes;
} npyx_value;

/* The value of one item. scratch is reset and may be written; *value is valid until item or scratch changes.
 * NPYX_CORRUPT for an item that has no value (a code point above U+10FFFF, a date beyond the calendar),
 * NPYX_UNSUPPORTED for objects that are not held. */
npyx_status npyx_element_value(const npyx_dtype *dtype, const uint8_t *item, npyx_buffer *scratch,
                               npyx_value *value, npyx_error *error);

/* The same for a held object (_object), and for an item that is not an object, complex or structured
 * (_plain). */
npyx_status npyx_element_object(const npyx_dtype *dtype, const uint8_t *item, npyx_buffer *scratch,
                                npyx_value *value, npyx_error *error);
npyx_status npyx_element_plain(const npyx_dtype *dtype, const uint8_t *item, npyx_buffer *scratch,
                               npyx_value *value, npyx_error *error);

/* The same for an item of either of these two kinds. */
static inline npyx_status npyx_element_scalar(const npyx_dtype *dtype, const uint8_t *item,
                                              npyx_buffer *scratch, npyx_value *value, npyx_error *error) {
    return dtype->type == NPYX_HELD_OBJECT ? npyx_element_object(dtype, item, scratch, value, error)
                                           : npyx_element_plain(dtype, item, scratch, value, error);
}

/* The real or the imaginary part of a complex item; false for other dtypes. */
bool npyx_element_complex_part(const npyx_dtype *dtype, const uint8_t *item, bool is_imag, double *part);

/* Appends an array of the given shape, with items in C order, as nested JSON lists; ndim 0 appends one item.
 * Check out->status afterwards. */
npyx_status npyx_element_append_json(const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                     const uint8_t *items, npyx_buffer *out, npyx_error *error);

/* The least number of bytes npyx_element_append_json writes. Any number will do beyond every limit. */
double npyx_element_least_json(const npyx_dtype *dtype, int ndim, const int64_t *shape);

/* Whether items of this dtype have big-endian parts, however deep. */
bool npyx_element_needs_swap(const npyx_dtype *dtype);

/* Swaps the big-endian parts of nelem items to little-endian, or back, in place. */
void npyx_element_swap(const npyx_dtype *dtype, uint8_t *items, int64_t nelem);

#endif
