/* Functions that make another array of one: npy_astype, npy_reshape, npy_order and npy_transpose. */

#include "scalars.h"

/* Appends the header of the view in C or in Fortran order; *stored is then the view whose items, in C order,
 * follow it. */
static void append_ordered_header(npyext_call *c, const npyx_dtype *dtype, bool is_fortran,
                                  npyx_view *stored) {
    *stored = c->view;
    if (is_fortran)
        npyx_view_permute(stored, NULL);
    npyx_header_npy_append(dtype, c->view.ndim, c->view.shape, is_fortran, &c->out);
}

/* Items keep the order in which they lie, as with ndarray.astype's order 'K'. */
static npyx_status change_type(npyext_call *c, int argc, sqlite3_value **argv) {
    const npyx_dtype *dtype = NULL;
    npyx_view stored;
    (void)argc;
    NPYX_TRY(npyext_call_dtype(c, argv[1], &dtype));
    npyx_status status = npyx_convert_check(c->view.dtype, dtype, &c->error);
    if (status != NPYX_OK)
        return npyext_call_fault(c, status);
    bool is_fortran = npyx_view_is_fortran(&c->view);
    append_ordered_header(c, dtype, is_fortran, &stored);
    status = npyext_array_value_append_converted(&c->value, &stored, dtype, &c->out, &c->error);
    if (status != NPYX_INVALID)
        return status;
    if (is_fortran) { /* once more, to say where in C order the first misfit stands */
        npyx_buffer_reset(&c->out);
        status = npyext_array_value_append_converted(&c->value, &c->view, dtype, &c->out, &c->error);
    }
    return npyext_call_fault(c, status);
}

const npyext_scalar npyext_npy_astype = {
    {"npy_astype", "npy_astype(array, 'f4')"}, NPYEXT_TAKES_ITEMS, NPYEXT_GIVES_BLOB, change_type};

/* Fortran order is kept where the new shape allows it. */
static npyx_status change_shape(npyext_call *c, int argc, sqlite3_value **argv) {
    int64_t shape[NPYX_MAX_NDIM];
    int ndim = 0;
    (void)argc;
    NPYX_TRY(npyext_call_integers(c, argv[1], "shape", shape, &ndim));
    npyx_status status = npyx_shape_resolve(shape, ndim, c->value.array->nelem, &c->error);
    if (status != NPYX_OK)
        return npyext_call_fault(c, status);
    if (npyx_view_reshape(&c->view, ndim, shape))
        return npyext_array_value_append_npy(&c->value, &c->view, &c->out, &c->error);
    npyx_header_npy_append(c->view.dtype, ndim, shape, false, &c->out);
    return npyext_array_value_append_items(&c->value, &c->view, false, &c->out, &c->error);
}

const npyext_scalar npyext_npy_reshape = {
    {"npy_reshape", "npy_reshape(array, '[2, -1]')"}, NPYEXT_TAKES_ITEMS, NPYEXT_GIVES_BLOB, change_shape};

static npyx_status change_order(npyext_call *c, int argc, sqlite3_value **argv) {
    const char *text = NULL;
    size_t nbytes = 0;
    npyx_view stored;
    (void)argc;
    NPYX_TRY(npyext_call_text(c, argv[1], "the order", &text, &nbytes));
    char letter = nbytes == 1 ? text[0] : '\0';
    bool is_fortran = letter == 'F' || letter == 'f';
    if (!is_fortran && letter != 'C' && letter != 'c')
        return npyext_call_refuse(c, "the order is 'C' or 'F' (found '%.*s')", NPYX_SHOWN(text, nbytes, 40));
    is_fortran = npyx_header_npy_is_fortran(c->view.ndim, c->view.shape, is_fortran);
    append_ordered_header(c, c->view.dtype, is_fortran, &stored);
    return npyext_array_value_append_items(&c->value, &stored, false, &c->out, &c->error);
}

const npyext_scalar npyext_npy_order = {
    {"npy_order", "npy_order(array, 'F')"}, NPYEXT_TAKES_ITEMS, NPYEXT_GIVES_BLOB, change_order};

/* Axes count from the end when negative; each is to stand there once. */
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

static npyx_status change_axes(npyext_call *c, int argc, sqlite3_value **argv) {
    int64_t given[NPYX_MAX_NDIM];
    int axes[NPYX_MAX_NDIM], n = 0;
    if (argc > 1) {
        NPYX_TRY(npyext_call_integers(c, argv[1], "axes", given, &n));
        NPYX_TRY(check_axes(c, given, n, axes));
    }
    npyx_view_permute(&c->view, argc > 1 ? axes : NULL);
    return npyext_array_value_append_npy(&c->value, &c->view, &c->out, &c->error);
}

const npyext_scalar npyext_npy_transpose = {
    {"npy_transpose", "npy_transpose(array)"}, NPYEXT_TAKES_ITEMS, NPYEXT_GIVES_BLOB, change_axes};
