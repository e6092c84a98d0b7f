#include "scalars.h"

#include <inttypes.h>
#include <math.h>

#include "scalar_call.h"
#include "scan/selection.h"
#include "scan/survey.h"

void npyext_shape_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    static const npyext_caller caller = {"npy_shape", "npy_shape(array)"};
    (void)argc;
    npyext_call c;
    if (!npyext_call_begin_array(&c, context, &caller, argv[0]))
        return;
    npyext_append_json_integers(&c.out, c.value.array->shape, c.value.array->ndim);
    npyx_status status = npyx_buffer_check(&c.out, &c.error);
    if (status == NPYX_OK)
        npyext_call_result_json(&c);
    npyext_call_end(&c, status);
}

void npyext_dtype_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    static const npyext_caller caller = {"npy_dtype", "npy_dtype(array)"};
    (void)argc;
    npyext_call c;
    if (!npyext_call_begin_array(&c, context, &caller, argv[0]))
        return;
    npyx_dtype_append_name(c.value.array->dtype, &c.out);
    npyx_status status = npyx_buffer_check(&c.out, &c.error);
    if (status == NPYX_OK)
        npyext_result_text(context, c.out.bytes, c.out.nbytes);
    npyext_call_end(&c, status);
}

void npyext_ndim_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    static const npyext_caller caller = {"npy_ndim", "npy_ndim(array)"};
    (void)argc;
    npyext_call c;
    if (!npyext_call_begin_array(&c, context, &caller, argv[0]))
        return;
    sqlite3_result_int(context, c.value.array->ndim);
    npyext_call_end(&c, NPYX_OK);
}

void npyext_size_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    static const npyext_caller caller = {"npy_size", "npy_size(array)"};
    (void)argc;
    npyext_call c;
    if (!npyext_call_begin_array(&c, context, &caller, argv[0]))
        return;
    sqlite3_result_int64(context, c.value.array->nelem);
    npyext_call_end(&c, NPYX_OK);
}

void npyext_valid_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    static const npyext_caller caller = {"npy_valid", "npy_valid(array)"};
    (void)argc;
    int type = sqlite3_value_type(argv[0]);
    npyext_call c = {.context = context, .caller = &caller};
    npyx_status status = npyext_array_value_open(&c.value, context, &caller, argv[0], &c.error);
    bool is_host_fault = status == NPYX_NOMEM || status == NPYX_INTERRUPTED;
    if (is_host_fault || (type == SQLITE_TEXT && status != NPYX_OK)) /* a path is not a bad array */
        npyext_call_fail(&c);
    else if (status != NPYX_DONE)
        sqlite3_result_int(context, status == NPYX_OK);
    npyext_array_value_close(&c.value);
}

/* An index as SQL may have it. NPYX_DONE: it is NULL. One beyond all axes becomes the nearest int64_t. */
static npyx_status scalars_read_index(npyext_call *c, sqlite3_value *value, int number, int64_t *index) {
    int type = sqlite3_value_type(value);
    if (type == SQLITE_INTEGER) {
        *index = sqlite3_value_int64(value);
        return NPYX_OK;
    }
    if (type == SQLITE_NULL)
        return NPYX_DONE;
    double real = type == SQLITE_FLOAT ? sqlite3_value_double(value) : NAN;
    if (type == SQLITE_FLOAT && isfinite(real) && real == floor(real)) {
        *index = real >= 0x1p63 ? INT64_MAX : real < -0x1p63 ? INT64_MIN : (int64_t)real;
        return NPYX_OK;
    }
    if (type == SQLITE_FLOAT)
        return npyext_call_fault(
            c, npyx_fail(&c->error, NPYX_INVALID, -1, "index %d is not an integer (found %g)", number, real));
    return npyext_call_fault(c,
                             npyx_fail(&c->error, NPYX_INVALID, -1, "index %d is not an integer (found a %s)",
                                       number, type == SQLITE_TEXT ? "TEXT" : "BLOB"));
}

/* Makes the view the part that the indices choose. NPYX_DONE: one of them is NULL. */
static npyx_status scalars_choose(npyext_call *c, int nindices, sqlite3_value **indices, bool *is_inside) {
    npyx_view *view = &c->view;
    bool has_null = false;
    *is_inside = true;
    if (nindices > view->ndim)
        return npyext_call_fault(c, npyx_fail(&c->error, NPYX_INVALID, -1,
                                              "too many indices: the array has %d dimension%s, %d %s given",
                                              view->ndim, view->ndim == 1 ? "" : "s", nindices,
                                              nindices == 1 ? "was" : "were"));
    for (int axis = 0; axis < nindices; axis++) {
        int64_t index = 0, length = view->shape[axis];
        npyx_status status = scalars_read_index(c, indices[axis], axis + 1, &index);
        if (status != NPYX_OK && status != NPYX_DONE)
            return status;
        has_null = has_null || status == NPYX_DONE;
        if (index < 0)
            index += length;
        if (index < 0 || index >= length)
            *is_inside = false;
        else
            view->off += index * view->strides[axis];
    }
    view->ndim -= nindices; /* of a view for reading, shape, strides and offset are all that is looked at */
    memmove(view->shape, view->shape + nindices, sizeof view->shape[0] * (size_t)view->ndim);
    memmove(view->strides, view->strides + nindices, sizeof view->strides[0] * (size_t)view->ndim);
    return has_null ? NPYX_DONE : NPYX_OK;
}

/* The chosen part as the result. */
static npyx_status scalars_result_part(npyext_call *c) {
    const uint8_t *item = NULL;
    npyx_status status;
    if (c->view.ndim > 0) {
        status = npyext_array_value_append_json(&c->value, &c->view, &c->out, &c->error);
        if (status == NPYX_OK)
            npyext_call_result_json(c);
        return status;
    }
    status = npyext_array_value_item(&c->value, &c->view, &item, &c->error);
    if (status != NPYX_OK || npyext_result_plain(c->context, npyext_plain_type(c->view.dtype), item))
        return status;
    npyx_value value = {0};
    status = npyx_element_value(c->view.dtype, item, &c->out, &value, &c->error);
    if (status == NPYX_OK)
        npyext_result_value(c->context, &value);
    return status;
}

/* fallback: what is given for an index out of range; NULL: SQL's NULL. */
static void get(sqlite3_context *context, const npyext_caller *caller, sqlite3_value *array,
                sqlite3_value *fallback, int nindices, sqlite3_value **indices) {
    npyext_call c;
    bool is_inside = false;
    if (!npyext_call_begin_array(&c, context, caller, array))
        return;
    npyx_status status = npyext_call_begin_values(&c);
    if (status == NPYX_OK)
        status = scalars_choose(&c, nindices, indices, &is_inside);
    if (status == NPYX_OK && is_inside)
        status = scalars_result_part(&c);
    else if (status == NPYX_OK && fallback != NULL)
        sqlite3_result_value(context, fallback);
    npyext_call_end(&c, status);
}

void npyext_get_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    static const npyext_caller caller = {"npy_get", "npy_get(array, 0)"};
    if (argc < 1)
        sqlite3_result_error(context, "npyext: npy_get: takes an array and indices", -1);
    else
        get(context, &caller, argv[0], NULL, argc - 1, argv + 1);
}

void npyext_get_or_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    static const npyext_caller caller = {"npy_get_or", "npy_get_or(array, NULL, 0)"};
    if (argc < 2)
        sqlite3_result_error(context, "npyext: npy_get_or: takes an array, a fallback and indices", -1);
    else
        get(context, &caller, argv[0], argv[1], argc - 2, argv + 2);
}

/* NPYX_DONE: the slice is NULL. */
static npyx_status scalars_apply_slice(npyext_call *c, sqlite3_value *slice) {
    int type = sqlite3_value_type(slice);
    if (type == SQLITE_NULL)
        return NPYX_DONE;
    if (type != SQLITE_TEXT && type != SQLITE_INTEGER)
        return npyext_call_fault(
            c, npyx_fail(&c->error, NPYX_INVALID, -1, "the slice is to be a text, as '10:20'"));
    const char *text = (const char *)sqlite3_value_text(slice);
    if (text == NULL)
        return npyx_fail_nomem(&c->error);
    return npyx_slice_apply(text, (size_t)sqlite3_value_bytes(slice), &c->view, &c->error);
}

void npyext_slice_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    static const npyext_caller caller = {"npy_slice", "npy_slice(array, '0:10')"};
    (void)argc;
    npyext_call c;
    if (!npyext_call_begin_array(&c, context, &caller, argv[0]))
        return;
    npyx_status status = npyext_call_begin_values(&c);
    if (status == NPYX_OK)
        status = scalars_apply_slice(&c, argv[1]);
    if (status == NPYX_OK)
        status = npyext_array_value_append_npy(&c.value, &c.view, &c.out, &c.error);
    if (status == NPYX_OK)
        npyext_call_result_blob(&c);
    npyext_call_end(&c, status);
}

void npyext_json_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    static const npyext_caller caller = {"npy_json", "npy_json(array)"};
    (void)argc;
    npyext_call c;
    if (!npyext_call_begin_array(&c, context, &caller, argv[0]))
        return;
    npyx_status status = npyext_call_begin_values(&c);
    if (status == NPYX_OK)
        status = npyext_array_value_append_json(&c.value, &c.view, &c.out, &c.error);
    if (status == NPYX_OK)
        npyext_call_result_json(&c);
    npyext_call_end(&c, status);
}

void npyext_data_function(sqlite3_context *context, int argc, sqlite3_value **argv) {
    static const npyext_caller caller = {"npy_data", "npy_data(array)"};
    (void)argc;
    npyext_call c;
    if (!npyext_call_begin_array(&c, context, &caller, argv[0]))
        return;
    npyx_status status = npyext_call_begin_values(&c);
    if (status == NPYX_OK)
        status = npyext_array_value_append_items(&c.value, &c.view, true, &c.out, &c.error);
    if (status == NPYX_OK)
        npyext_call_result_blob(&c);
    npyext_call_end(&c, status);
}
