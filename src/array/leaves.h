/*
 * Leaves: the fields of a dtype that are not structured themselves, at any depth. A dtype that is not
 * structured is one leaf without a name.
 */
#ifndef NPYX_LEAVES_H
#define NPYX_LEAVES_H

#include "view.h"

typedef struct npyx_leaf {
    char *name;     /* `pos.x`, or "" when the dtype is not structured; NUL-terminated */
    npyx_view view; /* of the leaf in one item: its subarrays are axes */
    int64_t nelem;  /* in one item */
} npyx_leaf;

/* Lists the leaves in the arena, in the order of the fields. dtype must outlive them. NPYX_NOMEM;
 * NPYX_INVALID for too many dimensions. */
npyx_status npyx_leaves_list(npyx_arena *arena, const npyx_dtype *dtype, npyx_leaf **leaves, int *nleaves,
                             npyx_error *error);

/* Narrows a view's items, which must be of that dtype, to the leaf; its axes follow the view's. Their place
 * in the whole array is unknown. NPYX_INVALID for too many dimensions. */
npyx_status npyx_leaf_enter(const npyx_leaf *leaf, npyx_view *view, npyx_error *error);

#endif
