/*
 * A view: which items of an array, in which order. Strides and offsets in bytes; no I/O.
 */
#ifndef NPYX_VIEW_H
#define NPYX_VIEW_H

#include "array.h"

#pragma GCC visibility push(hidden)

typedef struct npyx_view {
    const npyx_dtype *dtype; /* borrowed from the array */
    int ndim;
    int64_t shape[NPYX_MAX_NDIM];
    int64_t strides[NPYX_MAX_NDIM];
    int64_t off; /* of the first item, from the start of the source that holds the array */
    /* Where the view lies in the whole array. Its axes and indices are called the file's. */
    int file_ndim;
    int64_t file_shape[NPYX_MAX_NDIM];
    int64_t
        fixed[NPYX_MAX_NDIM]; /* by file axis: the index that an integer chose; -1 for an axis that remains */
    int file_axis[NPYX_MAX_NDIM]; /* by view axis: the file's; -1 for an axis that the slice made (None) */
    int64_t first[NPYX_MAX_NDIM]; /* by view axis: the file's index at the view's index 0 */
    int64_t step[NPYX_MAX_NDIM];  /* by view axis: how far the file's index goes with the view's */
} npyx_view;

/* Makes an axis of the view one of length items that lie stride bytes apart, which is all of the file's axis.
 */
void npyx_view_set_axis(npyx_view *view, int axis, int64_t length, int64_t stride, int file_axis);

/* Makes an axis of the view what another view's is. */
void npyx_view_copy_axis(npyx_view *view, int axis, const npyx_view *from, int from_axis);

/* The strides of a whole array in its own order, as ndarray.strides. strides has room for array->ndim. */
void npyx_view_strides(const npyx_array *array, int64_t *strides);

/* The whole array. */
void npyx_view_of_array(const npyx_array *array, npyx_view *view);

/* Entries along the first axis (1 for a 0-d view), and items in each. */
static inline int64_t npyx_view_nrows(const npyx_view *view) {
    return view->ndim == 0 ? 1 : view->shape[0];
}
int64_t npyx_view_row_nelem(const npyx_view *view);

/* Whether the items lie in C order without gaps. */
bool npyx_view_is_contiguous(const npyx_view *view);

/* Whether they lie in Fortran order without gaps, and not in C order too: what numpy.save calls
 * fortran_order. Axes of length 1 have no say, and no items lie in C order. */
bool npyx_view_is_fortran(const npyx_view *view);

#pragma GCC visibility pop

#endif
