/*
 * What a scan's arguments select of its current array: member, field, view, expect, slice and astype, in this
 * order.
 */
#ifndef NPYEXT_SELECTION_H
#define NPYEXT_SELECTION_H

#include "scan.h"

typedef struct npyext_selection {
    bool is_open;
    npyx_array array;
    npyx_source *payload;
    npyx_view view;
    const npyx_dtype *astype; /* what items are converted to; NULL: they stay as they are */
} npyext_selection;

/* Opens the scan's current array. NPYX_DONE if the entry is not an array, and was not asked for by name. */
npyx_status npyext_selection_open(npyext_selection *selection, const npyext_scan *scan, npyx_error *error);

void npyext_selection_close(npyext_selection *selection);

/* The entry along the file's first axis that a row of the view belongs to; -1: several. */
int64_t npyext_selection_entry(const npyext_selection *selection, int64_t row);

/* The dtype of the items as SQL gets them. */
static inline const npyx_dtype *npyext_selection_dtype(const npyext_selection *selection) {
    return selection->astype != NULL ? selection->astype : selection->view.dtype;
}

#endif
