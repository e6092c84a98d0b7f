/* npy_astype, npy_reshape, npy_order and npy_transpose. */
#include <inttypes.h>

#include "array_makers.h"
#include "maker_arguments.h"

/* Makes what was appended the result, and ends the call. */
static void change_finish(npyext_call *c, npyx_status status) {
    if (status == NPYX_OK)
        npyext_call_result_blob(c);
    npyext_call_end(c, status);
}

/* Items keep the order in which they lie, as with ndarray.astype's order 'K'. */
static npyx_status append_as_type(npyext_call *c, const npyx_dtype *dtype) {
    bool is_fortran = npyx_view_is_fortran(&c->view);
    npyx_view stored = c->view;
    npyx_status status = npyx_convert_check(c->view.dtype, dtype, &c->error);
    if (status != NPYX_OK)
        return npyext_call_fault(c, status);
    if (is_fortran)
        npyx_view_reverse(&stored);
    npyx_header_npy_append(dtype, c->view.ndim, c->view.shape, is_fortran, &c->out);
    status = npyext_array_value_append_converted(&c->value, &stored, dtype, &c->out, &c->error);
    if (status != NPYX_INVALID)
        return status;
    if (is_fortran) { /* once more, to say where in C order the first misfit stands */
        npyx_buffer_reset(&c->out);
        status = npyext_array_value_append_converted(&c->value, &c->view, dtype, &c->out, &c->error);
    }
    return npyext_call_fault(c, status);
}

void npyext_astype_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    static const npyext_caller caller = {"npy_astype", "npy_astype(array, 'f4')"};
    (void)argc;
    npyext_call c;
    if (!npyext_call_begin_array(&c, context, &caller, argv[0]))
        return;
    npyx_arena arena = {.host = c.out.host};
    const npyx_dtype *dtype = NULL;
    npyx_status status = npyext_call_begin_values(&c);
    if (status == NPYX_OK)
        status = npyext_maker_dtype(&c, argv[1], &arena, &dtype);
    if (status == NPYX_OK)
        status = append_as_type(&c, dtype);
    change_finish(&c, status);
    npyx_arena_clear(&arena);
}

/* Fortran order is kept where the new shape allows it. */
static npyx_status append_reshaped(npyext_call *c, int ndim, const int64_t *shape) {
    if (npyx_view_reshape(&c->view, ndim, shape))
        return npyext_array_value_append_npy(&c->value, &c->view, &c->out, &c->error);
    npyx_header_npy_append(c->view.dtype, ndim, shape, false, &c->out);
    return npyext_array_value_append_items(&c->value, &c->view, false, &c->out, &c->error);
}

void npyext_reshape_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    static const npyext_caller caller = {"npy_reshape", "npy_reshape(array, '[2, -1]')"};
    (void)argc;
    npyext_call c;
    int64_t shape[NPYX_MAX_NDIM];
    int ndim = 0;
    if (!npyext_call_begin_array(&c, context, &caller, argv[0]))
        return;
    npyx_status status = npyext_call_begin_values(&c);
    if (status == NPYX_OK)
        status = npyext_maker_integers(&c, argv[1], "shape", shape, &ndim);
    if (status == NPYX_OK) {
        status = npyx_shape_resolve(shape, ndim, c.value.array->nelem, &c.error);
        if (status != NPYX_OK)
            npyext_call_fault(&c, status);
    }
    if (status == NPYX_OK)
        status = append_reshaped(&c, ndim, shape);
    change_finish(&c, status);
}

/* NPYX_DONE: the argument is NULL. */
static npyx_status read_order(npyext_call *c, sqlite3_value *argument, bool *is_fortran) {
    const char *text = NULL;
    size_t nbytes = 0;
    NPYX_TRY(npyext_call_text(c, argument, "the order", &text, &nbytes));
    char letter = nbytes == 1 ? text[0] : '\0';
    *is_fortran = letter == 'F' || letter == 'f';
    if (*is_fortran || letter == 'C' || letter == 'c')
        return NPYX_OK;
    return npyext_call_fault(c,
                             npyx_fail(&c->error, NPYX_INVALID, -1, "the order is 'C' or 'F' (found '%.*s')",
                                       (int)(nbytes < 40 ? nbytes : 40), text));
}

void npyext_order_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    static const npyext_caller caller = {"npy_order", "npy_order(array, 'F')"};
    (void)argc;
    npyext_call c;
    bool is_fortran = false;
    if (!npyext_call_begin_array(&c, context, &caller, argv[0]))
        return;
    npyx_status status = npyext_call_begin_values(&c);
    if (status == NPYX_OK)
        status = read_order(&c, argv[1], &is_fortran);
    if (status == NPYX_OK) {
        npyx_view stored = c.view;
        is_fortran = npyx_header_npy_is_fortran(c.view.ndim, c.view.shape, is_fortran);
        if (is_fortran)
            npyx_view_reverse(&stored);
        npyx_header_npy_append(c.view.dtype, c.view.ndim, c.view.shape, is_fortran, &c.out);
        status = npyext_array_value_append_items(&c.value, &stored, false, &c.out, &c.error);
    }
    change_finish(&c, status);
}

/* Axes count from the end when negative; each is to stand there once. */
static npyx_status check_axes(npyext_call *c, const int64_t *given, int n, int *axes) {
    bool is_taken[NPYX_MAX_NDIM] = {false};
    const int ndim = c->view.ndim;
    if (n != ndim)
        return npyx_fail(&c->error, NPYX_INVALID, -1, "axes has %d number%s, and the array %d dimension%s", n,
                         n == 1 ? "" : "s", ndim, ndim == 1 ? "" : "s");
    for (int i = 0; i < n; i++) {
        int64_t axis = given[i] < 0 ? given[i] + ndim : given[i];
        if (axis < 0 || axis >= ndim)
            return npyx_fail(&c->error, NPYX_INVALID, -1,
                             "axis %" PRId64 " is out of range (the array has %d dimension%s)", given[i],
                             ndim, ndim == 1 ? "" : "s");
        if (is_taken[axis])
            return npyx_fail(&c->error, NPYX_INVALID, -1, "axis %" PRId64 " stands in axes twice", given[i]);
        is_taken[axis] = true;
        axes[i] = (int)axis;
    }
    return NPYX_OK;
}

static npyx_status permute(npyext_call *c, sqlite3_value *argument) {
    int64_t given[NPYX_MAX_NDIM];
    int axes[NPYX_MAX_NDIM], n = 0;
    NPYX_TRY(npyext_maker_integers(c, argument, "axes", given, &n));
    npyx_status status = check_axes(c, given, n, axes);
    if (status != NPYX_OK)
        return npyext_call_fault(c, status);
    npyx_view_permute(&c->view, axes);
    return NPYX_OK;
}

void npyext_transpose_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    static const npyext_caller caller = {"npy_transpose", "npy_transpose(array)"};
    npyext_call c;
    if (!npyext_call_begin_array(&c, context, &caller, argv[0]))
        return;
    npyx_status status = npyext_call_begin_values(&c);
    if (status == NPYX_OK && argc > 1)
        status = permute(&c, argv[1]);
    else if (status == NPYX_OK)
        npyx_view_reverse(&c.view);
    if (status == NPYX_OK)
        status = npyext_array_value_append_npy(&c.value, &c.view, &c.out, &c.error);
    change_finish(&c, status);
}
