/* The rows of a table that writes: values become a row of a .npy, or an array of an archive. */
#include <float.h>

#include "table_writer.h"

/* ---- their shape ---- */

npyx_status npyext_table_writer_measure(const npyext_table_writer *writer, int64_t nrows, npyx_array *array,
                                        npyx_error *error) {
    npyx_array_init(array, &writer->transaction.connection->host);
    array->dtype = writer->dtype;
    array->ndim = writer->ndim;
    memcpy(array->shape, writer->shape, sizeof array->shape[0] * (size_t)writer->ndim);
    array->shape[0] = nrows;
    return npyx_array_measure(array, error);
}

bool npyext_table_writer_has_rows_of(const npyext_table_writer *writer, const npyx_array *array) {
    return npyx_is_same(writer->shape + 1, sizeof writer->shape[0] * (size_t)(writer->ndim - 1),
                        array->shape + 1, sizeof array->shape[0] * (size_t)(array->ndim - 1));
}

/* ---- their values ---- */

/* A row that is one value: raw items, JSON or an array. */
static npyx_status append_whole_row(npyext_table_writer *writer, sqlite3_value *value, npyx_error *error) {
    static const npyext_caller caller = {"row", "row"};
    npyext_rows rows = {.has_shape = true, .ndim = writer->ndim - 1, .nelem = writer->row_nelem};
    npyext_array_builder *row = &writer->row;
    npyext_connection_begin(writer->transaction.connection);
    memcpy(rows.shape, writer->shape + 1, sizeof rows.shape[0] * (size_t)rows.ndim);
    row->out.nbytes = NPYEXT_HEADER_NBYTES;
    NPYX_TRY(npyext_rows_append(&rows, row, NULL, &caller, value, error));
    return npyx_sink_append(writer->target.sink, npyext_array_builder_items(row), (size_t)writer->row_nbytes,
                            error);
}

bool npyext_store_plain(npyx_type type, sqlite3_value *value, uint8_t *item) {
    int given = sqlite3_value_type(value);
    if (given == SQLITE_FLOAT && type == NPYX_F8) {
        npyx_store_f64(item, sqlite3_value_double(value), NPYX_HOST_IS_BIG_ENDIAN);
        return true;
    }
    if (given == SQLITE_FLOAT && type == NPYX_F4) {
        float narrow = (float)sqlite3_value_double(value);
        npyx_store_f32(item, narrow, NPYX_HOST_IS_BIG_ENDIAN);
        return narrow <= FLT_MAX && narrow >= -FLT_MAX;
    }
    if (given != SQLITE_INTEGER)
        return false;
    int64_t integer = sqlite3_value_int64(value);
    if (type == NPYX_I8)
        npyx_store_u64(item, (uint64_t)integer, NPYX_HOST_IS_BIG_ENDIAN);
    else if (type == NPYX_I4 && integer >= INT32_MIN && integer <= INT32_MAX)
        npyx_store_u32(item, (uint32_t)integer, NPYX_HOST_IS_BIG_ENDIAN);
    else
        return false;
    return true;
}

/* Given an array, as JSON or as bytes, for a single number: the table was declared without the rows'
 * shape. */
static void advise_shape(const npyext_table_writer *writer, const npyext_layout_column *column,
                         sqlite3_value *value, npyx_error *error) {
    const uint8_t *text = sqlite3_value_type(value) == SQLITE_TEXT ? sqlite3_value_text(value) : NULL;
    bool is_array = text != NULL ? text[0] == '[' : sqlite3_value_type(value) == SQLITE_BLOB;
    if (is_array && writer->dtype->type != NPYX_STRUCT && column->ndim == 0 &&
        npyx_dtype_is_real(column->dtype))
        npyx_error_add(error, "; rows that are arrays need a shape, as in mode='w+', shape='[-1, 4]'");
}

static npyx_status append_columns(npyext_table_writer *writer, sqlite3_value **values, npyx_error *error) {
    const npyext_layout *layout = &writer->layout;
    uint8_t *item = npyext_array_builder_items(&writer->row);
    if (writer->dtype->type == NPYX_STRUCT)
        memset(item, 0, (size_t)writer->row_nbytes); /* padding */
    for (int i = 0; i < layout->ncolumns; i++) {
        const npyext_layout_column *column = &layout->columns[i];
        if (npyext_store_plain(column->plain_type, values[i], item + column->off))
            continue;
        npyx_status status =
            npyext_items_encode(&writer->transaction.connection->host, column->dtype, column->ndim,
                                column->shape, values[i], item + column->off, error);
        if (status == NPYX_INVALID)
            advise_shape(writer, column, values[i], error);
        if (status != NPYX_OK)
            return npyx_error_place(error, status, "column '%.60s'", column->name);
    }
    return npyx_sink_append(writer->target.sink, item, (size_t)writer->row_nbytes, error);
}

static npyx_status writer_append_array(npyext_table_writer *writer, sqlite3_value **values,
                                       npyx_error *error) {
    static const npyext_caller caller = {"array", "array"};
    npyext_array_value array;
    npyx_value name;
    npyext_connection_begin(writer->transaction.connection);
    NPYX_TRY(npyext_member_name(values[0], &name, error));
    npyx_status status =
        npyext_array_value_open(&array, writer->transaction.connection, NULL, &caller, values[1], error);
    if (status == NPYX_DONE)
        status = npyx_refuse(error, "the array is NULL");
    if (status == NPYX_CORRUPT || status == NPYX_UNSUPPORTED) /* the value does not fit */
        status = error->status = NPYX_INVALID;
    if (status == NPYX_OK)
        status = npyext_stream_member(&array, writer->archive, writer->format, &name, writer->method, error);
    npyext_array_value_close(&array);
    if (status == NPYX_CORRUPT)
        status = error->status = NPYX_INVALID;
    if (status != NPYX_OK) /* if that fails, too, the commit says so */
        npyx_archive_writer_take_back(writer->archive, NULL);
    return status;
}

int64_t npyext_table_writer_next(const npyext_transaction *transaction) {
    return transaction->nrows_before + transaction->nrows;
}

npyx_status npyext_table_writer_insert(npyext_transaction *transaction, sqlite3_value **values,
                                       npyx_error *error) {
    npyext_table_writer *writer = (npyext_table_writer *)transaction;
    int64_t row = npyext_table_writer_next(transaction);
    if (writer->archive != NULL)
        return writer_append_array(writer, values, error);
    if (writer->shape[0] >= 0 && row >= writer->shape[0])
        return npyx_refuse(error, "the shape says %" PRId64 " rows, and this would be one more",
                           writer->shape[0]);
    if (row == INT64_MAX)
        return npyx_refuse(error, "more rows than an array can have");
    return writer->layout.has_whole_rows ? append_whole_row(writer, values[0], error)
                                         : append_columns(writer, values, error);
}
