/* Functions that describe an array, and functions that take something out of it. */
#include "scalars.h"

#include <math.h>

#include "base/siphash.h"

/* ---- what an array is ---- */

static npyx_status scalars_shape(npyext_call *c) {
    npyext_append_json_integers(&c->out, c->value.array->shape, c->value.array->ndim);
    return NPYX_OK;
}

NPYEXT_SCALAR(npy_shape, ARRAY, JSON, scalars_shape, "npy_shape(array)");

static npyx_status scalars_dtype(npyext_call *c) {
    npyx_dtype_append_name(c->value.array->dtype, &c->out);
    return NPYX_OK;
}

NPYEXT_SCALAR(npy_dtype, ARRAY, TEXT, scalars_dtype, "npy_dtype(array)");

static npyx_status scalars_ndim(npyext_call *c) {
    sqlite3_result_int(c->context, c->value.array->ndim);
    return NPYX_OK;
}

NPYEXT_SCALAR(npy_ndim, ARRAY, VALUE, scalars_ndim, "npy_ndim(array)");

static npyx_status scalars_size(npyext_call *c) {
    sqlite3_result_int64(c->context, c->value.array->nelem);
    return NPYX_OK;
}

NPYEXT_SCALAR(npy_size, ARRAY, VALUE, scalars_size, "npy_size(array)");

static npyx_status scalars_valid(npyext_call *c) {
    npyx_status status =
        npyext_array_value_open(&c->value, c->value.connection, c->context, c->caller, c->argv[0], &c->error);
    bool is_host_fault = status == NPYX_NOMEM || status == NPYX_INTERRUPTED;
    /* a path is not a broken array, but a mistake */
    if (status == NPYX_OK ||
        (!is_host_fault && status != NPYX_DONE && sqlite3_value_type(c->argv[0]) != SQLITE_TEXT)) {
        sqlite3_result_int(c->context, status == NPYX_OK);
        return NPYX_OK;
    }
    return status;
}

NPYEXT_SCALAR(npy_valid, ANYTHING, VALUE, scalars_valid, "npy_valid(array)");

/* ---- items and parts ---- */

/* Reads an index. NPYX_DONE if it is NULL. A number beyond 64 bits becomes the nearest int64_t, which is
 * beyond all axes. */
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
        return npyext_call_refuse(c, "index %d is not an integer (found %g)", number, real);
    return npyext_call_refuse(c, "index %d is not an integer (found a %s)", number,
                              type == SQLITE_TEXT ? "TEXT" : "BLOB");
}

/* Narrows the view to the part that the indices choose. NPYX_DONE if one of them is NULL. */
static npyx_status scalars_choose(npyext_call *c, int first, bool *is_inside) {
    npyx_view *view = &c->view;
    int nindices = c->argc - first;
    bool has_null = false;
    *is_inside = true;
    if (nindices > view->ndim)
        return npyext_call_refuse(c, "too many indices: the array has %d dimension%s, %d %s given",
                                  view->ndim, view->ndim == 1 ? "" : "s", nindices,
                                  nindices == 1 ? "was" : "were");
    for (int axis = 0; axis < nindices; axis++) {
        int64_t index = 0, length = view->shape[axis];
        npyx_status status = scalars_read_index(c, c->argv[first + axis], axis + 1, &index);
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
    view->ndim -= nindices; /* reading uses nothing of a view but shape, strides and offset */
    memmove(view->shape, view->shape + nindices, sizeof view->shape[0] * (size_t)view->ndim);
    memmove(view->strides, view->strides + nindices, sizeof view->strides[0] * (size_t)view->ndim);
    return has_null ? NPYX_DONE : NPYX_OK;
}

/* Makes the chosen part the result. */
static npyx_status scalars_result_part(npyext_call *c) {
    const uint8_t *item = NULL;
    if (c->view.ndim > 0) {
        NPYX_TRY(npyext_array_value_append_json(&c->value, &c->view, &c->out, &c->error));
        return npyext_call_give(c, NPYEXT_GIVES_JSON);
    }
    NPYX_TRY(npyext_array_value_item(&c->value, &c->view, &item, &c->error));
    if (!npyext_result_plain(c->context, npyext_plain_type(c->view.dtype), item))
        npyext_result_items(c->context, c->value.place, c->view.dtype, 0, NULL, item, &c->out);
    return NPYX_OK;
}

/* npy_get_or has a fallback before the indices. */
static npyx_status scalars_get(npyext_call *c) {
    bool has_fallback = c->caller == &npyext_npy_get_or.caller, is_inside = false;
    if (c->argc < 1 + has_fallback)
        return npyext_call_refuse(c, "takes an array%s and indices", has_fallback ? ", a fallback" : "");
    NPYX_TRY(npyext_call_take_values(c));
    NPYX_TRY(scalars_choose(c, 1 + has_fallback, &is_inside));
    if (is_inside)
        return scalars_result_part(c);
    if (has_fallback)
        sqlite3_result_value(c->context, c->argv[1]);
    return NPYX_DONE;
}

NPYEXT_SCALAR(npy_get, ANYTHING, VALUE, scalars_get, "npy_get(array, 0)");
NPYEXT_SCALAR(npy_get_or, ANYTHING, VALUE, scalars_get, "npy_get_or(array, NULL, 0)");

static npyx_status scalars_slice(npyext_call *c) {
    npyx_value text;
    int type = sqlite3_value_type(c->argv[1]);
    if (type == SQLITE_NULL)
        return NPYX_DONE;
    if (type != SQLITE_TEXT && type != SQLITE_INTEGER)
        return npyext_call_refuse(c, "the slice must be a TEXT, such as '10:20'");
    NPYX_TRY(npyext_value_text(c->argv[1], &text, &c->error));
    NPYX_TRY(npyx_slice_apply(text.bytes, text.nbytes, &c->view, &c->error));
    return npyext_call_append_view(c);
}

NPYEXT_SCALAR(npy_slice, ITEMS, BLOB, scalars_slice, "npy_slice(array, '0:10')");

/* ---- all items ---- */

static npyx_status scalars_json(npyext_call *c) {
    return npyext_array_value_append_json(&c->value, &c->view, &c->out, &c->error);
}

NPYEXT_SCALAR(npy_json, VALUES, JSON, scalars_json, "npy_json(array)");

static npyx_status scalars_data(npyext_call *c) {
    return npyext_array_value_append_items(&c->value, &c->view, true, &c->out, &c->error);
}

NPYEXT_SCALAR(npy_data, ITEMS, BLOB, scalars_data, "npy_data(array)");

/* ---- a value of any kind ---- */

/* The key of SipHash: the seed in its first eight bytes, little-endian, and zeros after it. */
static npyx_status scalars_hash_key(npyext_call *c, uint8_t key[NPYX_SIPHASH_KEY_NBYTES]) {
    memset(key, 0, NPYX_SIPHASH_KEY_NBYTES);
    if (c->argc < 2)
        return NPYX_OK;
    int type = sqlite3_value_type(c->argv[1]);
    if (type == SQLITE_NULL)
        return NPYX_DONE;
    if (type != SQLITE_INTEGER)
        return npyext_call_refuse(c, "the seed must be an INTEGER, as in npy_hash(key, 7)");
    uint64_t seed = (uint64_t)sqlite3_value_int64(c->argv[1]);
    for (int i = 0; i < 8; i++)
        key[i] = (uint8_t)(seed >> 8 * i);
    return NPYX_OK;
}

/* Never negative, so that `% 100` is a percentage. The bytes of a handle differ from connection to
 * connection, so their hash would never be the same. */
static npyx_status scalars_hash(npyext_call *c) {
    npyx_value value;
    uint8_t key[NPYX_SIPHASH_KEY_NBYTES];
    int type = sqlite3_value_type(c->argv[0]);
    if (type == SQLITE_NULL)
        return NPYX_DONE;
    NPYX_TRY(scalars_hash_key(c, key));
    char real[NPYX_NUMBER_TEXT_NBYTES];
    if (type == SQLITE_FLOAT) { /* as SQLite wrote it before 3.53: hashes must not change */
        sqlite3_snprintf(sizeof real, real, "%!.15g", sqlite3_value_double(c->argv[0]));
        value = (npyx_value){.kind = NPYX_VALUE_TEXT, .bytes = real, .nbytes = strlen(real)};
    } else {
        NPYX_TRY(type == SQLITE_BLOB ? npyext_value_read(c->argv[0], &value, &c->error)
                                     : npyext_value_text(c->argv[0], &value, &c->error));
    }
    if (type == SQLITE_BLOB && npyext_handle_is_like(value.bytes, value.nbytes))
        return npyext_call_refuse(
            c, "takes bytes or a text, not a handle; to hash its items, use npy_hash(npy_data(array)); for a "
               "whole file, see the column crc32 of npy_stats");
    uint64_t hash = npyx_siphash(key, value.bytes, value.nbytes);
    sqlite3_result_int64(c->context, (sqlite3_int64)(hash & INT64_MAX));
    return NPYX_OK;
}

NPYEXT_SCALAR(npy_hash, ANYTHING, VALUE, scalars_hash, "npy_hash(key)");
