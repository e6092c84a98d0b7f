/* npy_preview(array [, n]): an array as NumPy prints it, on one line, with n items at both ends of each
 * axis. */
#include "item/print.h"
#include "scalars.h"

enum { PREVIEW_NEDGE = 3, PREVIEW_MOST_NEDGE = 1000, PREVIEW_MOST_NELEM = 10000 };

static npyx_status preview_read_nedge(npyext_call *c, int64_t *nedge) {
    int type = c->argc < 2 ? SQLITE_NULL : sqlite3_value_type(c->argv[1]);
    *nedge = PREVIEW_NEDGE;
    if (type == SQLITE_NULL)
        return NPYX_OK;
    *nedge = sqlite3_value_int64(c->argv[1]);
    if (type != SQLITE_INTEGER || *nedge < 1 || *nedge > PREVIEW_MOST_NEDGE)
        return npyext_call_refuse(c, "n, the items at each end, must be an INTEGER from 1 to %d",
                                  PREVIEW_MOST_NEDGE);
    return NPYX_OK;
}

/* If there are many axes, shows fewer items at each end. */
static npyx_status preview_fit(npyext_call *c, int64_t *nedge) {
    const npyx_view *view = &c->view;
    for (; *nedge > 0; --*nedge) {
        int64_t nelem = 1;
        for (int axis = 0; axis < view->ndim && nelem <= PREVIEW_MOST_NELEM; axis++)
            nelem *= npyx_print_nshown(view->shape[axis], *nedge);
        if (nelem <= PREVIEW_MOST_NELEM || npyx_view_nelem(view) == 0)
            return NPYX_OK;
    }
    return npyx_refuse(&c->error,
                       "the array has too many axes for a preview (%d); npy_slice takes a part of it",
                       view->ndim);
}

/* Appends the items that are shown: if the last axis is long, those at both of its ends. */
static npyx_status preview_append_ends(npyext_call *c, const npyx_view *entry, int64_t nedge,
                                       npyx_buffer *items) {
    npyx_view part = *entry;
    const int64_t length = entry->ndim == 0 ? 0 : entry->shape[0];
    if (length <= 2 * nedge)
        return npyext_array_value_append_items(&c->value, entry, false, items, &c->error);
    part.shape[0] = nedge;
    NPYX_TRY(npyext_array_value_append_items(&c->value, &part, false, items, &c->error));
    part.off += (length - nedge) * part.strides[0];
    return npyext_array_value_append_items(&c->value, &part, false, items, &c->error);
}

/* The view along the last axis, for the entry with that number among those shown along the other axes. */
static npyx_view preview_entry(const npyx_view *view, int64_t nedge, int64_t number) {
    npyx_view entry = *view;
    const int last = view->ndim - 1;
    for (int axis = last - 1; axis >= 0; axis--) {
        const int64_t nshown = npyx_print_nshown(view->shape[axis], nedge), at = number % nshown;
        number /= nshown;
        entry.off += (at < nedge ? at : view->shape[axis] - nshown + at) * view->strides[axis];
    }
    if (last >= 0)
        npyx_view_copy_axis(&entry, 0, view, last);
    entry.ndim = last < 0 ? 0 : 1;
    return entry;
}

static npyx_status preview_make(npyext_call *c, int64_t nedge, npyx_buffer *items) {
    const npyx_view *view = &c->view;
    int64_t nentries = npyx_view_nelem(view) > 0;
    for (int axis = 0; axis < view->ndim - 1 && nentries > 0; axis++)
        nentries *= npyx_print_nshown(view->shape[axis], nedge);
    for (int64_t i = 0; i < nentries; i++) {
        const npyx_view entry = preview_entry(view, nedge, i);
        NPYX_TRY(preview_append_ends(c, &entry, nedge, items));
    }
    const uint8_t *bytes = items->bytes == NULL ? (const uint8_t *)"" : (const uint8_t *)items->bytes;
    return npyx_print_array(&c->arena, view->dtype, view->ndim, view->shape, nedge, bytes, &c->out,
                            &c->error);
}

static npyx_status preview_run(npyext_call *c) {
    int64_t nedge;
    npyx_buffer items = {.host = c->out.host, .limit_nbytes = c->out.limit_nbytes};
    NPYX_TRY(preview_read_nedge(c, &nedge));
    NPYX_TRY(preview_fit(c, &nedge));
    npyext_connection_begin(c->value.connection);
    npyx_status status = preview_make(c, nedge, &items);
    npyx_buffer_clear(&items);
    return status;
}

NPYEXT_SCALAR(npy_preview, VALUES, TEXT, preview_run, "npy_preview(array)");
