/*
 * Arrays as NumPy prints them (numpy.array2string with its defaults: 8 digits after the point, all items
 * alike), on one line, and only the items at both ends of long axes.
 */
#ifndef NPYX_PRINT_H
#define NPYX_PRINT_H

#include "element.h"

/* How many entries of an axis are shown: nedge at each end, or all. */
static inline int64_t npyx_print_nshown(int64_t length, int64_t nedge) {
    return length > 2 * nedge ? 2 * nedge : length;
}

/* Appends an array of the given shape. items: those shown, in C order, in the dtype's own byte order. Items
 * without a value are printed as NumPy prints them, or as their number. arena: for working memory. Check
 * out->status afterwards. */
npyx_status npyx_print_array(npyx_arena *arena, const npyx_dtype *dtype, int ndim, const int64_t *shape,
                             int64_t nedge, const uint8_t *items, npyx_buffer *out, npyx_error *error);

#endif
