#include "row_value.h"

#include <inttypes.h>
#include <string.h>

/* Raw items lie in little-endian order, whatever the order of the dtype that they are stored as. */
static npyx_status copy_raw(const npyx_dtype *dtype, int64_t nelem, const npyx_value *raw, uint8_t *out,
                            npyx_error *error) {
    int64_t nbytes = nelem * dtype->itemsize;
    if ((int64_t)raw->nbytes != nbytes)
        return npyx_fail(error, NPYX_INVALID, -1,
                         "the BLOB has %zu bytes, and %" PRId64 " items of %" PRId64 " bytes are %" PRId64,
                         raw->nbytes, nelem, dtype->itemsize, nbytes);
    if (nbytes > 0)
        memcpy(out, raw->bytes, (size_t)nbytes);
    npyx_element_swap(dtype, out, nelem);
    return NPYX_OK;
}

npyx_status npyext_items_encode(npyx_host *host, const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                sqlite3_value *value, uint8_t *out, npyx_error *error) {
    npyx_value read;
    npyx_status status = npyext_value_read(value, &read, error);
    if (status != NPYX_OK || ndim == 0)
        return status == NPYX_OK ? npyx_encode_value(host, dtype, &read, out, error) : status;
    int64_t nelem = 1;
    for (int axis = 0; axis < ndim; axis++)
        nelem *= shape[axis]; /* of a dtype or a table that was measured */
    if (read.kind == NPYX_VALUE_BLOB)
        return copy_raw(dtype, nelem, &read, out, error);
    if (read.kind == NPYX_VALUE_TEXT)
        return npyx_encode_json(host, read.bytes, read.nbytes, dtype, ndim, shape, out, error);
    return npyx_fail(error, NPYX_INVALID, -1,
                     "%s is no row of items; a BLOB of raw items is one, a JSON array, or an array",
                     read.kind == NPYX_VALUE_NULL ? "NULL" : "a number");
}

/* ---- rows ---- */

/* Holds a row's shape against those before it; the first one decides. */
static npyx_status take_shape(npyext_rows *rows, npyx_host *host, int ndim, const int64_t *shape,
                              npyx_error *error) {
    size_t nbytes = (size_t)ndim * sizeof shape[0];
    if (!rows->has_shape) {
        rows->has_shape = true;
        rows->ndim = ndim;
        rows->nelem = 1;
        memcpy(rows->shape, shape, nbytes);
        bool is_empty = false;
        for (int axis = 0; axis < ndim; axis++)
            is_empty = is_empty || shape[axis] == 0;
        for (int axis = 0; axis < ndim && !is_empty; axis++) {
            if (!npyx_multiply_i64(rows->nelem, shape[axis], &rows->nelem))
                return npyx_fail(error, NPYX_INVALID, -1, "a row has more items than an array holds");
        }
        rows->nelem = is_empty ? 0 : rows->nelem;
        return ndim < NPYX_MAX_NDIM
                   ? NPYX_OK
                   : npyx_fail(error, NPYX_INVALID, -1,
                               "a row of %d dimensions makes an array of more than %d", ndim, NPYX_MAX_NDIM);
    }
    if (rows->ndim == ndim && memcmp(rows->shape, shape, nbytes) == 0)
        return NPYX_OK;
    npyx_buffer text = {.host = host};
    npyext_append_json_integers(&text, shape, ndim);
    npyx_buffer_append_char(&text, '\0');
    size_t other = text.nbytes;
    npyext_append_json_integers(&text, rows->shape, rows->ndim);
    npyx_buffer_append_char(&text, '\0');
    npyx_status status = npyx_buffer_check(&text, error);
    if (status == NPYX_OK)
        status = npyx_fail(error, NPYX_INVALID, -1, "the row's shape is %.100s, and %.100s is expected",
                           text.bytes, text.bytes + other);
    npyx_buffer_clear(&text);
    return status;
}

/* Room for a row behind the items; NULL with the buffer's status set. */
static uint8_t *row_reserve_row(const npyext_rows *rows, npyext_array_builder *builder, npyx_error *error) {
    int64_t nbytes;
    if (!npyx_multiply_i64(rows->nelem, builder->dtype->itemsize, &nbytes) || (uint64_t)nbytes > SIZE_MAX)
        builder->out.status = NPYX_TOOBIG;
    else if (npyx_buffer_reserve(&builder->out, (size_t)nbytes))
        return (uint8_t *)builder->out.bytes + builder->out.nbytes;
    npyx_buffer_check(&builder->out, error);
    return NULL;
}

static npyx_status keep_row(const npyext_rows *rows, npyext_array_builder *builder, npyx_status status) {
    if (status == NPYX_OK)
        builder->out.nbytes += (size_t)(rows->nelem * builder->dtype->itemsize);
    return status;
}

static npyx_status row_fail_dtype(npyext_array_builder *builder, const npyx_dtype *found, npyx_error *error) {
    npyx_buffer text = {.host = builder->out.host};
    npyx_dtype_append_name(found, &text);
    npyx_buffer_append_char(&text, '\0');
    size_t other = text.nbytes;
    npyx_dtype_append_name(builder->dtype, &text);
    npyx_buffer_append_char(&text, '\0');
    npyx_status status = npyx_buffer_check(&text, error);
    if (status == NPYX_OK)
        status = npyx_fail(error, NPYX_INVALID, -1,
                           "the row is %.80s, those before it are %.80s; name the dtype to convert to",
                           text.bytes, text.bytes + other);
    npyx_buffer_clear(&text);
    return status;
}

static npyx_status append_raw(npyext_rows *rows, npyext_array_builder *builder, const npyx_value *raw,
                              npyx_error *error) {
    const npyx_dtype *dtype = builder->dtype;
    if (dtype == NULL)
        return npyx_fail(error, NPYX_INVALID, -1,
                         "raw items need a dtype that says what they are, as in 'float32'");
    if (dtype->itemsize == 0)
        return npyx_fail(error, NPYX_INVALID, -1, "items without bytes cannot be counted in a BLOB");
    int64_t nelem = (int64_t)raw->nbytes / dtype->itemsize;
    npyx_status status = NPYX_OK;
    if (!rows->has_shape && (int64_t)raw->nbytes % dtype->itemsize == 0)
        status = take_shape(rows, builder->out.host, 1, &nelem, error);
    else if (!rows->has_shape)
        return npyx_fail(error, NPYX_INVALID, -1,
                         "the BLOB's %zu bytes are no whole number of items of %" PRId64 " bytes",
                         raw->nbytes, dtype->itemsize);
    uint8_t *out = status == NPYX_OK ? row_reserve_row(rows, builder, error) : NULL;
    if (out == NULL)
        return status == NPYX_OK ? error->status : status;
    return keep_row(rows, builder, copy_raw(dtype, rows->nelem, raw, out, error));
}

/* ---- JSON ---- */

/* Brings the builder's dtype and that of a row of JSON together: numbers meet in float64, what else there is
 * has to be of one type. An array before the row may have given the builder another byte order or length of
 * texts than JSON has by itself: the items are always written as the builder's. */
static npyx_status agree(npyext_array_builder *builder, const npyx_dtype *row_dtype, npyx_error *error) {
    if (builder->dtype == NULL && row_dtype->type == NPYX_TEXT)
        return npyx_fail(error, NPYX_INVALID, -1,
                         "texts need a dtype that says how long they get, as in 'U16'");
    if (builder->dtype == NULL) {
        builder->dtype = row_dtype;
        return NPYX_OK;
    }
    npyx_type before = builder->dtype->type, now = row_dtype->type;
    if (before == NPYX_I8 && now == NPYX_F8) {
        int64_t item = 0;
        npyx_status status = npyext_array_builder_widen(builder, &item, error);
        return status == NPYX_OK ? NPYX_OK
                                 : npyx_error_place(error, status, "item %" PRId64 " before it", item);
    }
    if (before == now || (before == NPYX_F8 && now == NPYX_I8))
        return NPYX_OK;
    return row_fail_dtype(builder, row_dtype, error);
}

/* At out: what the row needs as the builder's dtype. Integers among inferred float64 are not to be rounded.
 */
static npyx_status encode_row(const npyext_rows *rows, const npyext_array_builder *builder,
                              const npyx_value *json, const npyx_dtype *row_dtype, uint8_t *out,
                              npyx_error *error) {
    bool is_widened = row_dtype->type == NPYX_I8 && builder->dtype->type == NPYX_F8;
    npyx_status status =
        npyx_encode_json(builder->out.host, json->bytes, json->nbytes,
                         is_widened ? row_dtype : builder->dtype, rows->ndim, rows->shape, out, error);
    int64_t item;
    if (status == NPYX_OK && is_widened)
        status = npyext_items_widen(out, rows->nelem, row_dtype->is_big_endian, builder->dtype->is_big_endian,
                                    &item, error);
    return status;
}

static npyx_status row_append_json(npyext_rows *rows, npyext_array_builder *builder, const npyx_value *json,
                                   npyx_error *error) {
    npyx_host *host = builder->out.host;
    npyx_json_form form;
    const npyx_dtype *row_dtype = builder->dtype;
    npyx_status status = NPYX_OK;
    if (!rows->has_shape || !builder->is_dtype_given) {
        status = npyx_json_measure(host, json->bytes, json->nbytes, builder->dtype, &form, error);
        if (status == NPYX_OK)
            status = take_shape(rows, host, form.ndim, form.shape, error);
    }
    if (status == NPYX_OK && !builder->is_dtype_given) {
        status = npyx_json_dtype(&builder->arena, &form, &row_dtype, error);
        if (status == NPYX_OK)
            status = agree(builder, row_dtype, error);
    }
    uint8_t *out = status == NPYX_OK ? row_reserve_row(rows, builder, error) : NULL;
    if (out == NULL)
        return status == NPYX_OK ? error->status : status;
    return keep_row(rows, builder, encode_row(rows, builder, json, row_dtype, out, error));
}

/* ---- arrays ---- */

/* Appends the items of an array, block by block, as the builder's dtype. */
static npyx_status row_append_items(npyext_array_builder *builder, npyext_array_value *array,
                                    const npyx_view *view, npyx_error *error) {
    const npyx_dtype *from = view->dtype, *to = builder->dtype;
    bool is_same = from->type != NPYX_STRUCT && npyx_dtype_is_same(from, to) &&
                   npyx_dtype_byteorder(from) == npyx_dtype_byteorder(to);
    if (is_same)
        return npyext_array_value_append_items(array, view, false, &builder->out, error);
    npyx_status status = npyx_convert_check(from, to, error);
    return status == NPYX_OK ? npyext_array_value_append_converted(array, view, to, &builder->out, error)
                             : status;
}

static npyx_status row_append_array(npyext_rows *rows, npyext_array_builder *builder,
                                    npyext_array_value *array, npyx_error *error) {
    npyx_view view;
    npyx_status status = npyx_array_check_values(array->array, error);
    if (status == NPYX_OK && builder->dtype == NULL) {
        /* its own: that of an array lives as long as the array is remembered */
        builder->dtype = npyx_dtype_copy(&builder->arena, array->array->dtype);
        status = builder->dtype == NULL ? npyx_fail_nomem(error) : NPYX_OK;
    } else if (status == NPYX_OK && !builder->is_dtype_given &&
               !npyx_dtype_is_same(builder->dtype, array->array->dtype))
        status = row_fail_dtype(builder, array->array->dtype, error);
    if (status == NPYX_OK)
        status = take_shape(rows, builder->out.host, array->array->ndim, array->array->shape, error);
    if (status != NPYX_OK)
        return status;
    npyx_view_of_array(array->array, &view);
    return row_append_items(builder, array, &view, error);
}

static bool is_array(const npyx_value *value) {
    return npyx_begins_npy(value->bytes, value->nbytes) || npyext_handle_is_like(value->bytes, value->nbytes);
}

npyx_status npyext_rows_append(npyext_rows *rows, npyext_array_builder *builder, sqlite3_context *context,
                               const npyext_caller *caller, sqlite3_value *value, npyx_error *error) {
    npyx_value read;
    NPYX_TRY(npyext_value_read(value, &read, error));
    npyx_status status;
    if (read.kind == NPYX_VALUE_TEXT)
        status = row_append_json(rows, builder, &read, error);
    else if (read.kind != NPYX_VALUE_BLOB)
        status = npyx_fail(error, NPYX_INVALID, -1,
                           "%s is no row; a BLOB of raw items is one, a JSON array, or an array",
                           read.kind == NPYX_VALUE_NULL ? "NULL" : "a number");
    else if (!is_array(&read))
        status = append_raw(rows, builder, &read, error);
    else {
        npyext_array_value array;
        status = context == NULL ? npyext_array_value_open_at(&array, builder->connection,
                                                              npyext_cache_tick(&builder->connection->cache),
                                                              caller, value, error)
                                 : npyext_array_value_open(&array, context, caller, value, error);
        if (status == NPYX_OK)
            status = row_append_array(rows, builder, &array, error);
        npyext_array_value_close(&array);
    }
    rows->nrows += status == NPYX_OK;
    return status;
}
