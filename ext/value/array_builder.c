#include "array_builder.h"

#include "format/header.h"
#include "io/first_bytes.h"
#include "item/convert.h"
#include "item/encode.h"

npyx_status npyext_array_builder_begin(npyext_array_builder *builder, npyext_connection *connection,
                                       npyx_error *error) {
    static const char room[NPYEXT_HEADER_NBYTES];
    builder->connection = connection;
    builder->out = (npyx_buffer){.host = &connection->host, .limit_nbytes = npyext_max_nbytes(connection)};
    builder->arena.host = &connection->host;
    npyx_buffer_append(&builder->out, room, sizeof room);
    return npyx_buffer_check(&builder->out, error);
}

void npyext_array_builder_clear(npyext_array_builder *builder) {
    npyx_buffer_clear(&builder->out);
    npyx_arena_clear(&builder->arena);
    *builder = (npyext_array_builder){0};
}

npyx_status npyext_array_builder_set_dtype(npyext_array_builder *builder, sqlite3_value *argument,
                                           npyx_error *error) {
    npyx_value text;
    NPYX_TRY(npyext_value_read(argument, &text, error));
    if (text.kind != NPYX_VALUE_NULL && text.kind != NPYX_VALUE_TEXT)
        return npyx_refuse(error, "a dtype must be a TEXT, as in 'float32'");
    if (text.nbytes == 0)
        return NPYX_OK;
    builder->is_dtype_given = true;
    return npyx_dtype_for_writing(&builder->arena, text.bytes, text.nbytes, &builder->dtype, error);
}

npyx_status npyext_array_builder_infer(npyext_array_builder *builder, const char *code, npyx_error *error) {
    return npyx_dtype_from_text(&builder->arena, code, strlen(code), &builder->dtype, error);
}

npyx_status npyext_check_exact(int64_t value, npyx_error *error) {
    double real = (double)value;
    bool is_exact = real < 0x1p63 && (int64_t)real == value;
    return is_exact ? NPYX_OK
                    : npyx_refuse(
                          error,
                          "%" PRId64
                          " would be rounded, since other values are REALs; name a dtype, such as 'float64'",
                          value);
}

/* Turns nitems int64 items of one byte order into float64 of another, in place. NPYX_INVALID if an item is
 * not exactly a float64, since nobody asked for rounding; *item is its number. */
static npyx_status items_widen(uint8_t *items, int64_t nitems, bool from_big_endian, bool to_big_endian,
                               int64_t *item, npyx_error *error) {
    for (*item = 0; *item < nitems; ++*item, items += sizeof(int64_t)) {
        int64_t integer = (int64_t)npyx_load_u64(items, from_big_endian);
        NPYX_TRY(npyext_check_exact(integer, error));
        npyx_store_f64(items, (double)integer, to_big_endian);
    }
    return NPYX_OK;
}

npyx_status npyext_array_builder_widen(npyext_array_builder *builder, int64_t *item, npyx_error *error) {
    int64_t nitems = (int64_t)((builder->out.nbytes - NPYEXT_HEADER_NBYTES) / sizeof(int64_t));
    bool is_big_endian = builder->dtype == NULL ? NPYX_HOST_IS_BIG_ENDIAN : builder->dtype->is_big_endian;
    NPYX_TRY(items_widen(npyext_array_builder_items(builder), nitems, is_big_endian, NPYX_HOST_IS_BIG_ENDIAN,
                         item, error));
    return npyext_array_builder_infer(builder, "f8", error);
}

npyx_status npyext_array_builder_result(npyext_array_builder *builder, sqlite3_context *context, int ndim,
                                        const int64_t *shape, npyx_error *error) {
    npyx_buffer *out = &builder->out;
    npyx_buffer header = {.host = out->host};
    npyx_header_npy_append(builder->dtype, ndim, shape, false, &header);
    npyext_replace_header(out, 0, NPYEXT_HEADER_NBYTES, out->nbytes - NPYEXT_HEADER_NBYTES, &header);
    npyx_buffer_clear(&header);
    NPYX_TRY(npyx_buffer_check(out, error));
    npyext_result_buffer(context, out);
    return NPYX_OK;
}

/* ---- items that come as one SQL value, raw, as JSON or as an array ----
 *
 * For a cell, or as a row of an array that grows row by row.
 */

/* Raw items are little-endian, whatever the byte order of the dtype that they are stored as. */
static npyx_status copy_raw(const npyx_dtype *dtype, int64_t nelem, const npyx_value *raw, uint8_t *out,
                            npyx_error *error) {
    int64_t nbytes = nelem * dtype->itemsize;
    if ((int64_t)raw->nbytes != nbytes)
        return npyx_refuse(error,
                           "the BLOB has %zu bytes, and %" PRId64 " items of %" PRId64 " bytes are %" PRId64,
                           raw->nbytes, nelem, dtype->itemsize, nbytes);
    memcpy(out, raw->bytes, raw->nbytes);
    npyx_element_swap(dtype, out, nelem);
    return NPYX_OK;
}

/* The failure of a TEXT that is not JSON. SQLite's || makes a TEXT of two BLOBs, with their bytes. */
static npyx_status fail_json(const npyx_value *json, npyx_status status, npyx_error *error) {
    bool is_text =
        npyx_utf8_is_valid(json->bytes, json->nbytes) && memchr(json->bytes, 0, json->nbytes) == NULL;
    if (status != NPYX_INVALID || is_text)
        return status;
    return npyx_refuse(error, "is a TEXT of raw bytes, as || makes of BLOBs; CAST(a || b AS BLOB) is a BLOB");
}

npyx_status npyext_items_encode(npyx_host *host, const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                sqlite3_value *value, uint8_t *out, npyx_error *error) {
    npyx_value read;
    npyx_status status = npyext_value_read(value, &read, error);
    if (status != NPYX_OK || ndim == 0)
        return status == NPYX_OK ? npyx_encode_value(host, dtype, &read, out, error) : status;
    int64_t nelem = 1;
    for (int axis = 0; axis < ndim; axis++)
        nelem *= shape[axis]; /* does not overflow: a dtype or a table has measured it */
    if (read.kind == NPYX_VALUE_BLOB)
        return copy_raw(dtype, nelem, &read, out, error);
    if (read.kind == NPYX_VALUE_TEXT)
        return fail_json(
            &read, npyx_encode_json(host, read.bytes, read.nbytes, dtype, ndim, shape, out, error), error);
    return npyx_refuse(error, "%s is not a row of items; pass a BLOB of raw items, a JSON array, or an array",
                       read.kind == NPYX_VALUE_NULL ? "NULL" : "a number");
}

/* ---- rows ----
 *
 * The dtype of the rows is the builder's. If the query names none, the rows decide:
 *
 *    the first row        an array: its dtype; JSON: int64, float64, bool; raw items have none
 *    a row after it       the same dtype, or integers among REALs, which meet in float64
 *
 * Nothing is rounded without being asked for: an integer that is not exactly a float64 is an error.
 */

/* Compares a row's shape with the shape of those before it; the first one decides. */
static npyx_status take_shape(npyext_rows *rows, int ndim, const int64_t *shape, int64_t nelem,
                              npyx_error *error) {
    size_t nbytes = (size_t)ndim * sizeof shape[0];
    if (!rows->has_shape) {
        rows->has_shape = true;
        rows->ndim = ndim;
        rows->nelem = nelem;
        memcpy(rows->shape, shape, nbytes);
        return ndim < NPYX_MAX_NDIM
                   ? NPYX_OK
                   : npyx_refuse(error, "a row of %d dimensions makes an array of more than %d", ndim,
                                 NPYX_MAX_NDIM);
    }
    if (rows->ndim == ndim && memcmp(rows->shape, shape, nbytes) == 0)
        return NPYX_OK;
    char given[400], expected[400];
    npyx_buffer text = npyx_buffer_over(given, sizeof given);
    npyx_buffer wanted = npyx_buffer_over(expected, sizeof expected);
    npyext_append_json_integers(&text, shape, ndim);
    npyext_append_json_integers(&wanted, rows->shape, rows->ndim);
    return npyx_refuse(error, "the row's shape is %.100s, and %.100s is expected", npyx_buffer_text(&text),
                       npyx_buffer_text(&wanted));
}

static npyx_status row_fail_dtype(const npyx_dtype *before, const npyx_dtype *found, npyx_error *error) {
    return npyx_refuse(error, "the row is %s, those before it are %s; name the dtype to convert to",
                       npyx_dtype_shown(found).name, npyx_dtype_shown(before).name);
}

static npyx_status append_raw(npyext_rows *rows, npyext_array_builder *builder, const npyx_value *raw,
                              npyx_error *error) {
    const npyx_dtype *dtype = builder->dtype;
    if (dtype == NULL)
        return npyx_refuse(error, "raw items need a dtype that says what they are, as in 'float32'");
    if (dtype->itemsize == 0)
        return npyx_refuse(error, "items of 0 bytes cannot be counted in a BLOB");
    int64_t nelem = (int64_t)raw->nbytes / dtype->itemsize;
    uint8_t *out = NULL;
    if (!rows->has_shape && (int64_t)raw->nbytes % dtype->itemsize != 0)
        return npyx_refuse(error, "the BLOB's %zu bytes are not a whole number of items of %" PRId64 " bytes",
                           raw->nbytes, dtype->itemsize);
    if (!rows->has_shape)
        NPYX_TRY(take_shape(rows, 1, &nelem, nelem, error));
    NPYX_TRY(npyext_items_reserve(&builder->out, dtype, rows->nelem, &out, error));
    NPYX_TRY(copy_raw(dtype, rows->nelem, raw, out, error));
    builder->out.nbytes += raw->nbytes;
    return NPYX_OK;
}

/* ---- JSON ---- */

/* Reconciles the builder's dtype with that of a row of JSON: numbers meet in float64, and anything else must
 * be of the same type. If an earlier array gave the builder another byte order or length of texts than JSON
 * has by itself, the items are written as the builder's. */
static npyx_status agree(npyext_array_builder *builder, const npyx_dtype *row_dtype, npyx_error *error) {
    if (builder->dtype == NULL && row_dtype->type == NPYX_TEXT)
        return npyx_refuse(error, "texts need a dtype that says how long they can be, such as 'U16'");
    if (builder->dtype == NULL) {
        builder->dtype = row_dtype;
        return NPYX_OK;
    }
    npyx_type before = builder->dtype->type, now = row_dtype->type;
    if (before == NPYX_I8 && now == NPYX_F8) {
        int64_t item = 0;
        npyx_status status = npyext_array_builder_widen(builder, &item, error);
        return npyx_error_place(error, status, "item %" PRId64 " before it", item);
    }
    if (before == now || (before == NPYX_F8 && now == NPYX_I8))
        return NPYX_OK;
    return row_fail_dtype(builder->dtype, row_dtype, error);
}

static npyx_status row_append_json(npyext_rows *rows, npyext_array_builder *builder, const npyx_value *json,
                                   npyx_error *error) {
    npyx_json_form form;
    int64_t item;
    const npyx_dtype *row_dtype = builder->dtype;
    uint8_t *out = NULL;
    if (!rows->has_shape || !builder->is_dtype_given) {
        NPYX_TRY(npyx_json_measure(builder->out.host, json->bytes, json->nbytes, row_dtype, &form, error));
        NPYX_TRY(take_shape(rows, form.ndim, form.shape, form.nelem, error));
    }
    if (!builder->is_dtype_given) {
        NPYX_TRY(npyx_json_dtype(&builder->arena, &form, &row_dtype, error));
        NPYX_TRY(agree(builder, row_dtype, error));
    }
    NPYX_TRY(npyext_items_reserve(&builder->out, builder->dtype, rows->nelem, &out, error));
    /* integers among inferred float64 must not be rounded */
    bool is_widened = row_dtype->type == NPYX_I8 && builder->dtype->type == NPYX_F8;
    NPYX_TRY(npyx_encode_json(builder->out.host, json->bytes, json->nbytes,
                              is_widened ? row_dtype : builder->dtype, rows->ndim, rows->shape, out, error));
    if (is_widened)
        NPYX_TRY(items_widen(out, rows->nelem, row_dtype->is_big_endian, builder->dtype->is_big_endian, &item,
                             error));
    builder->out.nbytes += (size_t)(rows->nelem * builder->dtype->itemsize);
    return NPYX_OK;
}

/* ---- arrays ---- */

/* Appends the items of an array, block by block, converted to the builder's dtype. */
static npyx_status row_append_items(npyext_array_builder *builder, npyext_array_value *array,
                                    const npyx_view *view, npyx_error *error) {
    const npyx_dtype *from = view->dtype, *to = builder->dtype;
    if (from->type != NPYX_STRUCT && npyx_dtype_is_same(from, to) &&
        npyx_dtype_byteorder(from) == npyx_dtype_byteorder(to))
        return npyext_array_value_append_items(array, view, false, &builder->out, error);
    NPYX_TRY(npyx_convert_check(from, to, error));
    return npyext_array_value_append_converted(array, view, to, &builder->out, error);
}

static npyx_status row_append_array(npyext_rows *rows, npyext_array_builder *builder,
                                    npyext_array_value *array, npyx_error *error) {
    npyx_view view;
    const npyx_dtype *dtype = array->array->dtype;
    NPYX_TRY(npyx_array_check_values(array->array, error));
    if (builder->dtype == NULL) /* a copy: an array's own lives only as long as the array is remembered */
        builder->dtype = npyx_dtype_copy(&builder->arena, dtype);
    else if (!builder->is_dtype_given && !npyx_dtype_is_same(builder->dtype, dtype))
        return row_fail_dtype(builder->dtype, dtype, error);
    NPYX_TRY(npyx_check_memory(builder->dtype, error));
    NPYX_TRY(take_shape(rows, array->array->ndim, array->array->shape, array->array->nelem, error));
    npyx_view_of_array(array->array, &view);
    return row_append_items(builder, array, &view, error);
}

npyx_status npyext_rows_append(npyext_rows *rows, npyext_array_builder *builder, sqlite3_context *context,
                               const npyext_caller *caller, sqlite3_value *value, npyx_error *error) {
    npyx_value read;
    NPYX_TRY(npyext_value_read(value, &read, error));
    if (read.kind == NPYX_VALUE_TEXT)
        return fail_json(&read, row_append_json(rows, builder, &read, error), error);
    if (read.kind != NPYX_VALUE_BLOB)
        return npyx_refuse(error, "%s is not a row; pass a BLOB of raw items, a JSON array, or an array",
                           read.kind == NPYX_VALUE_NULL ? "NULL" : "a number");
    if (!npyx_begins_npy(read.bytes, read.nbytes) && !npyext_handle_is_like(read.bytes, read.nbytes))
        return append_raw(rows, builder, &read, error);
    npyext_array_value array;
    npyx_status status = npyext_array_value_open(&array, builder->connection, context, caller, value, error);
    if (status == NPYX_OK)
        status = row_append_array(rows, builder, &array, error);
    npyext_array_value_close(&array);
    return status;
}
