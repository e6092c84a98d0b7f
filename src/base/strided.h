/*
 * Items copied with a stride, and one item repeated. A copy whose size the compiler does not know is a call,
 * or a string instruction, of which either costs more than a small item: the common sizes have loops of their
 * own.
 */
#ifndef NPYX_STRIDED_H
#define NPYX_STRIDED_H

#include <stddef.h>
#include <stdint.h>

/* Copies nelem items, in_stride bytes apart, to places that are out_stride bytes apart. */
void npyx_strided_copy(uint8_t *out, int64_t out_stride, const uint8_t *in, int64_t in_stride, int64_t nelem,
                       size_t itemsize);

/* Repeats an item nelem times, side by side; out may hold it as its first. */
void npyx_item_repeat(uint8_t *out, const uint8_t *item, size_t itemsize, int64_t nelem);

#endif
