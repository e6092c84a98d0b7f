/*
 * Items of one numeric dtype as another, as ndarray.astype, but refusing what NumPy leaves undefined or
 * wraps.
 */
#ifndef NPYX_CONVERT_H
#define NPYX_CONVERT_H

#include "array/dtype.h"

/* Whether items of from can be converted to to at all: bool, integers, floats of every width and complex,
 * from any to any, but complex to what is not complex; dtypes that are equal but for their byte order always.
 * NPYX_INVALID names both. */
npyx_status npyx_convert_check(const npyx_dtype *from, const npyx_dtype *to, npyx_error *error);

/* Converts nelem items, which lie in C order in items, to out, which has room for nelem of to's items and
 * overlaps nothing. Floats are rounded once to nearest, ties to even; floats to integers are truncated toward
 * zero; not zero is true. NPYX_INVALID, naming the value and its index (counted
 * from first_item, which the first of these items has), for what does not fit: an integer
 * outside of the type, a finite float that would become infinite, NaN or an infinity as an integer. NaN stays
 * NaN and infinities stay infinities among floats (float8_e4m3fn has none: refused). */
npyx_status npyx_convert_items(const npyx_dtype *from, const uint8_t *items, int64_t nelem,
                               const npyx_dtype *to, uint8_t *out, int64_t first_item, npyx_error *error);

#endif
