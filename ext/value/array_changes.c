/* Functions that make one array from another: npy_astype, npy_reshape, npy_order and npy_transpose. */

#include "scalars.h"

/* Items keep the order in which they are stored, as in ndarray.astype with order 'K'. */
static npyx_status change_type(npyext_call *c) {
    const npyx_dtype *dtype = NULL;
    NPYX_TRY(npyext_call_dtype(c, 1, &dtype));
    NPYX_TRY(npyext_call_fault(c, npyx_convert_check(c->view.dtype, dtype, &c->error)));
    bool is_fortran = npyx_view_is_fortran(&c->view);
    npyx_header_npy_append(dtype, c->view.ndim, c->view.shape, is_fortran, &c->out);
    npyx_view stored = c->view;
    if (is_fortran)
        npyx_view_permute(&stored, NULL);
    npyx_status status = npyext_array_value_append_converted(&c->value, &stored, dtype, &c->out, &c->error);
    if (status != NPYX_INVALID)
        return status;
    if (is_fortran) { /* again, to find the first misfit in C order */
        npyx_buffer_reset(&c->out);
        status = npyext_array_value_append_converted(&c->value, &c->view, dtype, &c->out, &c->error);
    }
    return npyext_call_fault(c, status);
}

NPYEXT_SCALAR(npy_astype, ITEMS, BLOB, change_type, "npy_astype(array, 'f4')");

/* Fortran order is kept if the new shape allows it. */
static npyx_status change_shape(npyext_call *c) {
    int64_t shape[NPYX_MAX_NDIM];
    int ndim = 0;
    NPYX_TRY(npyext_call_integers(c, 1, "shape", shape, &ndim));
    NPYX_TRY(npyext_call_fault(c, npyx_shape_resolve(shape, ndim, c->value.array->nelem, &c->error)));
    if (npyx_view_reshape(&c->view, ndim, shape))
        return npyext_call_append_view(c);
    npyx_header_npy_append(c->view.dtype, ndim, shape, false, &c->out);
    return npyext_array_value_append_items(&c->value, &c->view, false, &c->out, &c->error);
}

NPYEXT_SCALAR(npy_reshape, ITEMS, BLOB, change_shape, "npy_reshape(array, '[2, -1]')");

static npyx_status change_order(npyext_call *c) {
    npyx_value text;
    NPYX_TRY(npyext_call_read(c, 1, NPYX_VALUE_TEXT, "the order", "", &text));
    char letter = text.nbytes == 1 ? text.bytes[0] : '\0';
    bool is_fortran = letter == 'F' || letter == 'f';
    if (!is_fortran && letter != 'C' && letter != 'c')
        return npyext_call_refuse(c, "the order is 'C' or 'F' (found '%.*s')",
                                  NPYX_SHOWN(text.bytes, text.nbytes, 40));
    is_fortran = npyx_header_npy_is_fortran(c->view.ndim, c->view.shape, is_fortran);
    return npyext_array_value_append_npy(&c->value, &c->view, is_fortran, &c->out, &c->error);
}

NPYEXT_SCALAR(npy_order, ITEMS, BLOB, change_order, "npy_order(array, 'F')");

/* Negative axes count from the end; each axis must be named once. */
static npyx_status check_axes(npyext_call *c, const int64_t *given, int n, int *axes) {
    bool is_taken[NPYX_MAX_NDIM] = {false};
    const int ndim = c->view.ndim;
    if (n != ndim)
        return npyext_call_refuse(c, "axes has %d number%s, and the array %d dimension%s", n,
                                  n == 1 ? "" : "s", ndim, ndim == 1 ? "" : "s");
    for (int i = 0; i < n; i++) {
        int64_t axis = given[i] < 0 ? given[i] + ndim : given[i];
        if (axis < 0 || axis >= ndim)
            return npyext_call_refuse(c, "axis %" PRId64 " is out of range (the array has %d dimension%s)",
                                      given[i], ndim, ndim == 1 ? "" : "s");
        if (is_taken[axis])
            return npyext_call_refuse(c, "axis %" PRId64 " stands in axes twice", given[i]);
        is_taken[axis] = true;
        axes[i] = (int)axis;
    }
    return NPYX_OK;
}

static npyx_status change_axes(npyext_call *c) {
    int64_t given[NPYX_MAX_NDIM];
    int axes[NPYX_MAX_NDIM], n = 0;
    if (c->argc > 1) {
        NPYX_TRY(npyext_call_integers(c, 1, "axes", given, &n));
        NPYX_TRY(check_axes(c, given, n, axes));
    }
    npyx_view_permute(&c->view, c->argc > 1 ? axes : NULL);
    return npyext_call_append_view(c);
}

NPYEXT_SCALAR(npy_transpose, ITEMS, BLOB, change_axes, "npy_transpose(array)");
