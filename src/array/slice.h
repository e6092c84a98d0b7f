/*
 * NumPy's basic indexing as text: `10:20`, `:, 3`, `..., ::-2`, `-1`, `None`, with or without brackets around
 * it.
 */
#ifndef NPYX_SLICE_H
#define NPYX_SLICE_H

#include "view.h"

#pragma GCC visibility push(hidden)

/* Makes *view the part of itself that the text chooses, as ndarray.__getitem__ would: integers remove their
 * axis (negative ones count from the end; out of range is an error), ranges clamp, a missing axis is whole,
 * one `...` stands for all axes not named, `None` and `newaxis` make an axis of length 1. Nothing at all, or
 * `()`, is the whole. Slicing a sliced view composes. NPYX_INVALID, with the offset in the text, for what is
 * not basic indexing, for too many indices, for a step of 0, and for more than NPYX_MAX_NDIM axes; *view is
 * then as it was. A result without items keeps the view's offset; a range of one item has a step of 1. */
npyx_status npyx_slice_apply(const char *text, size_t nbytes, npyx_view *view, npyx_error *error);

#pragma GCC visibility pop

#endif
