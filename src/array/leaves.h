/*
 * Leaves: the fields of a dtype that are not structured themselves, however deep. A dtype that is not
 * structured is one leaf without a name.
 */
#ifndef NPYX_LEAVES_H
#define NPYX_LEAVES_H

#include "view.h"

typedef struct npyx_leaf {
    char *name;     /* `pos.x`, or "" when the dtype is not structured; NUL-terminated */
    npyx_view view; /* of it in one item: its subarrays are axes */
    int64_t nelem;  /* in one item */
} npyx_leaf;

/* Lists them in the arena, in the order of the fields. dtype outlives them. NPYX_NOMEM; NPYX_INVALID for more
 * dimensions than there can be. */
npyx_status npyx_leaves_list(npyx_arena *arena, const npyx_dtype *dtype, npyx_leaf **leaves, int *nleaves,
                             npyx_error *error);

/* Narrows the items of a view, which are of that dtype, to the leaf; its axes come behind the view's. Where
 * these lie in the whole array is not known. NPYX_INVALID for more dimensions than there can be. */
npyx_status npyx_leaf_enter(const npyx_leaf *leaf, npyx_view *view, npyx_error *error);

#endif
