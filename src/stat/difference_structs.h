/*
 * Items that are not subtracted, equal or not: text, bytes, void, and structures field by field.
 */
#ifndef NPYX_DIFFERENCE_STRUCTS_H
#define NPYX_DIFFERENCE_STRUCTS_H

#include "difference_tally.h"

/* Sets differs[i] for each of nelem items (at most NPYX_DIFFERENCE_NELEM) that differs, and leaves the others
 * as they are. Dtypes are equal but for byte orders and without objects; items lie step_nbytes apart. Padding
 * between fields is no part of an item. chunks are scratch. */
void npyx_difference_mark(const npyx_dtype *a_dtype, const uint8_t *a, const npyx_dtype *b_dtype,
                          const uint8_t *b, int64_t step_nbytes, int64_t nelem, npyx_chunk chunks[2],
                          bool *differs);

#endif
