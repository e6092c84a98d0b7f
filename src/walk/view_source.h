/*
 * The items of a view as a source: in C order, and if need be converted to another dtype. What a slice, a
 * shape or a dtype makes of an array, made when it is read.
 */
#ifndef NPYX_VIEW_SOURCE_H
#define NPYX_VIEW_SOURCE_H

#include "array/view.h"

/* Opens the items of the view as items of dtype: the view's own, another one of numbers, or one that differs
 * in byte order only. payload is the source that the view's offsets refer to; it is owned from here on and
 * closed on failure, too. view is copied; its dtype and the other one must outlive the source. Reads fail as
 * npyx_convert_items does, with the item's number in the view. NPYX_NOMEM; NPYX_CORRUPT if the view ends
 * after the payload. */
npyx_status npyx_view_source_open(npyx_source *payload, const npyx_view *view, const npyx_dtype *dtype,
                                  npyx_source **opened, npyx_error *error);

#endif
