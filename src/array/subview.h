/*
 * Which part of an array is meant: a field of a structured one, its items as another dtype, a range along an
 * axis.
 */
#ifndef NPYX_SUBVIEW_H
#define NPYX_SUBVIEW_H

#include "view.h"

#pragma GCC visibility push(hidden)

/* Makes *view, of a structured dtype, the field that the text names: `x`, nested `pos.x`; titles are names
 * too. A field's subarray adds its axes behind the view's, as in NumPy, and they count as the file's.
 * NPYX_INVALID names the fields there are. */
npyx_status npyx_view_select_field(npyx_view *view, const char *text, size_t nbytes, npyx_error *error);

/* Makes *view read its items as dtype, which must have the same size and outlive the view. NPYX_INVALID. */
npyx_status npyx_view_reinterpret(npyx_view *view, const npyx_dtype *dtype, npyx_error *error);

/* Narrows an axis of the view to the file's indices from low to high (both included); an empty range empties
 * it. */
void npyx_view_narrow(npyx_view *view, int axis, int64_t low, int64_t high);

/* Reverses those of the first naxes axes along which the file's index falls, or with is_falling those along
 * which it rises. */
void npyx_view_orient(npyx_view *view, int naxes, bool is_falling);

/* Puts the axes into the order in which the items lie in the file. Where the view lies in the whole array is
 * not known any more; it must have items. */
void npyx_view_sort_axes(npyx_view *view);

/* Narrows the view's items to one field. NPYX_INVALID for more dimensions than there can be. */
npyx_status npyx_view_enter_field(npyx_view *view, const npyx_field *field, npyx_error *error);

/* Where a view was before it entered a field. A view is large, and who walks through nested fields would keep
 * one for every level on the stack. */
typedef struct npyx_view_level {
    const npyx_dtype *dtype;
    int ndim;
    int file_ndim;
    int64_t off;
} npyx_view_level;

npyx_view_level npyx_view_level_of(const npyx_view *view);
/* Takes the view out of the fields that it has entered since. */
void npyx_view_return_to(npyx_view *view, const npyx_view_level *level);

/* The flat C-order position in the file's whole array of the item at flat C-order position nelem of the view.
 */
int64_t npyx_view_file_position(const npyx_view *view, int64_t position);

/* The file's index along one of its axes of the same item. */
int64_t npyx_view_file_coordinate(const npyx_view *view, int64_t position, int file_axis);

/* Items in the view. */
int64_t npyx_view_nelem(const npyx_view *view);

/* Whether the view is all of the file's array, its axes in order. */
bool npyx_view_is_whole(const npyx_view *view);

#pragma GCC visibility pop

#endif
