/*
 * Arrays as NumPy prints them (numpy.array2string with its defaults: 8 digits behind the point, all items
 * alike), on one line, and of long axes the items at both ends alone.
 */
#ifndef NPYX_PRINT_H
#define NPYX_PRINT_H

#include "element.h"

/* How many entries of an axis are shown: nedge at each end, or all. */
static inline int64_t npyx_print_nshown(int64_t length, int64_t nedge) {
    return length > 2 * nedge ? 2 * nedge : length;
}

/* Appends an array of that shape. items: those that are shown, in C order, with the dtype's own byte order.
 * Items that no value stands for are shown as NumPy would have them, or as their number. arena: for what is
 * to be remembered meanwhile. Look at out->status behind it. */
npyx_status npyx_print_array(npyx_arena *arena, const npyx_dtype *dtype, int ndim, const int64_t *shape,
                             int64_t nedge, const uint8_t *items, npyx_buffer *out, npyx_error *error);

#endif
