/* Lists of integers and axes, and other shapes of the same items. */
#include "view.h"

npyx_status npyx_integers_parse(npyx_host *host, const char *what, const char *text, size_t nbytes,
                                int64_t *integers, int *n, npyx_error *error) {
    npyx_arena arena = {.host = host};
    const npyx_literal *item = NULL;
    npyx_status status = npyx_literal_parse(&arena, text, nbytes, false, &item, error);
    bool is_read = status == NPYX_OK;
    int64_t nitems = 1;
    if (is_read && (item->kind == NPYX_LITERAL_TUPLE || item->kind == NPYX_LITERAL_LIST)) {
        nitems = item->nitems;
        item = item->first;
    }
    if (is_read && nitems > NPYX_MAX_NDIM)
        status =
            npyx_fail(error, NPYX_INVALID, -1, "%s has %" PRId64 " numbers; there are at most %d dimensions",
                      what, nitems, NPYX_MAX_NDIM);
    for (*n = 0; status == NPYX_OK && *n < nitems; item = item->next) {
        if (item->kind != NPYX_LITERAL_INT || item->is_too_big)
            status = NPYX_CORRUPT;
        else
            integers[(*n)++] = item->integer;
    }
    if (status == NPYX_CORRUPT || (!is_read && status != NPYX_NOMEM))
        status = npyx_fail(error, NPYX_INVALID, -1, "%s '%.*s' must be a list of integers, as '[2, 3]'", what,
                           NPYX_SHOWN(text, nbytes, 60));
    npyx_arena_clear(&arena);
    return status;
}

npyx_status npyx_axes_fail(npyx_error *error) {
    return npyx_refuse(error, "axis is an integer or a list of integers, as in '[0, 2]'");
}

npyx_status npyx_axes_mark(int64_t axis, int ndim, bool *axes, npyx_error *error) {
    int64_t from_start = axis < 0 ? axis + ndim : axis;
    if (from_start < 0 || from_start >= ndim)
        return npyx_refuse(error, "axis %" PRId64 " is out of range for an array of %d dimensions", axis,
                           ndim);
    if (axes[from_start])
        return npyx_refuse(error, "axis %" PRId64 " is named twice", axis);
    axes[from_start] = true;
    return NPYX_OK;
}

npyx_status npyx_axes_parse(npyx_host *host, const char *text, size_t nbytes, int ndim, bool *axes,
                            npyx_error *error) {
    int64_t integers[NPYX_MAX_NDIM];
    int n = 0;
    npyx_status status = npyx_integers_parse(host, "axis", text, nbytes, integers, &n, error);
    if (status == NPYX_INVALID)
        return npyx_axes_fail(error);
    for (int i = 0; i < n && status == NPYX_OK; i++)
        status = npyx_axes_mark(integers[i], ndim, axes, error);
    return status;
}

static npyx_status fail_shape(const int64_t *shape, int ndim, int64_t nelem, int64_t product, bool has_open,
                              npyx_error *error) {
    char text[160];
    npyx_buffer buffer = npyx_buffer_over(text, sizeof text);
    npyx_buffer_append_integers(&buffer, shape, ndim);
    npyx_buffer_text(&buffer);
    const char *comma = ndim == 1 ? "," : "";
    if (product < 0)
        return npyx_fail(error, NPYX_INVALID, -1,
                         "shape (%s%s) has more than 2^63 - 1 items, and there are %" PRId64, text, comma,
                         nelem);
    return npyx_fail(error, NPYX_INVALID, -1, "shape (%s%s) has %s%" PRId64 " item%s, and there %s %" PRId64,
                     text, comma, has_open ? "a multiple of " : "", product, product == 1 ? "" : "s",
                     nelem == 1 ? "is" : "are", nelem);
}

npyx_status npyx_shape_resolve(int64_t *shape, int ndim, int64_t nelem, npyx_error *error) {
    int open = -1;
    bool is_empty = false, is_endless = false;
    int64_t product = 1;
    for (int axis = 0; axis < ndim; axis++) {
        if (shape[axis] < -1 || (shape[axis] == -1 && open >= 0))
            return npyx_fail(error, NPYX_INVALID, -1,
                             shape[axis] < -1 ? "shape has a length of %" PRId64
                                              : "shape has more than one %" PRId64 " to be worked out",
                             shape[axis]);
        if (shape[axis] == -1)
            open = axis;
        else if (shape[axis] == 0)
            is_empty = true;
        else if (!npyx_multiply_i64(product, shape[axis], &product))
            is_endless = true;
    }
    /* NumPy refuses a product that overflows even beside dimensions of 0 */
    product = is_endless ? -1 : is_empty ? 0 : product;
    bool fits = open >= 0 ? product > 0 && nelem % product == 0 : product == nelem;
    if (!fits)
        return fail_shape(shape, ndim, nelem, product, open >= 0, error);
    if (open >= 0)
        shape[open] = nelem / product;
    return NPYX_OK;
}

void npyx_view_permute(npyx_view *view, const int *axes) {
    const npyx_view before = *view;
    for (int axis = 0; axis < before.ndim; axis++)
        npyx_view_copy_axis(view, axis, &before, axes != NULL ? axes[axis] : before.ndim - 1 - axis);
}

/* Matches runs of old axes with runs of new ones that hold as many items; the old axes of a run must be laid
 * out like a single axis (NumPy's _attempt_nocopy_reshape). There are items, and as many in the new shape. */
static bool find_strides(const npyx_view *old, int ndim, const int64_t *shape, int64_t itemsize,
                         int64_t *strides) {
    int first_old = 0, first_new = 0;
    while (first_new < ndim && first_old < old->ndim) {
        int end_old = first_old + 1, end_new = first_new + 1;
        int64_t nold = old->shape[first_old], nnew = shape[first_new];
        while (nold != nnew) {
            if (nnew < nold)
                nnew *= shape[end_new++];
            else
                nold *= old->shape[end_old++];
        }
        for (int axis = first_old; axis < end_old - 1; axis++) {
            if (old->strides[axis] != old->shape[axis + 1] * old->strides[axis + 1])
                return false;
        }
        strides[end_new - 1] = old->strides[end_old - 1];
        for (int axis = end_new - 1; axis > first_new; axis--)
            strides[axis - 1] = strides[axis] * shape[axis];
        first_old = end_old;
        first_new = end_new;
    }
    int64_t last = first_new == 0 ? itemsize : strides[first_new - 1];
    for (int axis = first_new; axis < ndim; axis++) /* axes of length 1 */
        strides[axis] = last;
    return true;
}

bool npyx_view_reshape(npyx_view *view, int ndim, const int64_t *shape) {
    npyx_view old = {0}; /* the axes whose length is not 1 */
    int64_t strides[NPYX_MAX_NDIM];
    for (int axis = 0; axis < view->ndim; axis++) {
        if (view->shape[axis] != 1)
            npyx_view_copy_axis(&old, old.ndim++, view, axis);
    }
    if (npyx_view_nelem(view) == 0)
        memset(strides, 0, sizeof strides);
    else if (!find_strides(&old, ndim, shape, view->dtype->itemsize, strides))
        return false;
    view->ndim = ndim;
    memcpy(view->shape, shape, sizeof shape[0] * (size_t)ndim);
    memcpy(view->strides, strides, sizeof strides[0] * (size_t)ndim);
    return true;
}
