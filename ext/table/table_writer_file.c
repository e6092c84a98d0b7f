/*
 * What a transaction of a typed table that writes (transaction.h) does to its file.
 *
 * A file that rows are added to, and its marks:
 *
 *    | header | rows that were there | rows of this transaction ... |
 *                                    ^ mark 0        ^ mark of a savepoint
 *
 * A return cuts the file off at a mark. The header, which says how many rows there are, is overwritten last,
 * by the target's commit; until then readers see none of the new rows.
 */
#include <float.h>

#include "format/header.h"
#include "io/first_bytes.h"
#include "table_writer.h"

static npyext_table_writer *writer_of(npyext_transaction *transaction) {
    return (npyext_table_writer *)transaction;
}

static npyx_sink *file_sink(const npyext_table_writer *writer) {
    return npyext_transaction_last_target(&writer->transaction)->sink;
}

/* ---- rows: their shape ---- */

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
    return npyx_sink_append(file_sink(writer), npyext_array_builder_items(row), (size_t)writer->row_nbytes,
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
    return npyx_sink_append(file_sink(writer), item, (size_t)writer->row_nbytes, error);
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

/* The number of the next row. */
static int64_t file_next_row(const npyext_transaction *transaction) {
    return transaction->nrows_before + transaction->nrows;
}

static npyx_status file_insert(npyext_transaction *transaction, sqlite3_value **values, npyx_error *error) {
    npyext_table_writer *writer = writer_of(transaction);
    int64_t row = file_next_row(transaction);
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

/* ---- savepoints ---- */

static npyx_status file_mark(npyext_transaction *transaction, void **place, npyx_error *error) {
    npyext_table_writer *writer = writer_of(transaction);
    if (writer->archive == NULL)
        return NPYX_OK;
    npyx_archive_mark *mark = npyx_alloc_zeroed(&transaction->connection->host, sizeof *mark);
    NPYX_TRY(npyx_check_memory(mark, error));
    npyx_status status = npyx_archive_writer_mark(writer->archive, mark, error);
    if (status == NPYX_OK)
        *place = mark;
    else
        npyx_free(&transaction->connection->host, mark);
    return status;
}

/* Removes the rows after a mark from the file. */
static npyx_status file_cut_back(npyext_transaction *transaction, const npyext_transaction_mark *mark,
                                 npyx_error *error) {
    npyext_table_writer *writer = writer_of(transaction);
    npyx_sink *sink = file_sink(writer);
    if (writer->archive != NULL)
        return npyx_archive_writer_return(writer->archive, mark->place, error);
    return npyx_sink_cut(sink, sink->nbytes - (transaction->nrows - mark->nrows) * writer->row_nbytes, error);
}

/* The archive writes to the target's sink, so it is closed first. */
static void file_close(npyext_transaction *transaction) {
    npyext_table_writer *writer = writer_of(transaction);
    npyx_archive_writer_close(writer->archive);
    writer->archive = NULL;
    npyext_array_builder_clear(&writer->row);
}

/* ---- the first row ---- */

static npyx_status open_target(npyext_table_writer *writer, npyx_target_kind kind, bool must_be_new,
                               npyx_error *error) {
    npyext_transaction *transaction = &writer->transaction;
    return npyext_transaction_add_target(transaction, (npyx_target){.must_be_new = must_be_new}, kind,
                                         transaction->path, error);
}

/* Describes the array that rows are added to, from the file that is locked rather than the one at the
 * path. */
static npyx_status read_header(const npyext_table_writer *writer, npyx_array *array, npyx_error *error) {
    uint8_t head[NPYX_HEADER_NPY_USUAL_NBYTES];
    size_t head_nbytes = 0;
    npyx_source *source = NULL;
    NPYX_TRY(npyx_source_open_sink(file_sink(writer), &source, error));
    npyx_status status = npyx_source_read(source, 0, head, sizeof head, &head_nbytes, error);
    if (status == NPYX_OK)
        status = npyx_header_npy_read(source, head, head_nbytes, array, error);
    if (status == NPYX_OK)
        status = npyx_array_check_nbytes(array, source->nbytes, error);
    npyx_source_close(source);
    return status;
}

static bool is_as_declared(const npyext_table_writer *writer, const npyx_array *array) {
    bool is_same = npyx_dtype_is_same(array->dtype, writer->dtype) &&
                   npyx_dtype_byteorder(array->dtype) == npyx_dtype_byteorder(writer->dtype);
    return (is_same || npyx_dtype_is_spelled_by(writer->dtype, array->dtype)) && array->ndim > 0 &&
           npyext_table_writer_has_rows_of(writer, array) && (array->ndim == 1 || !array->fortran_order);
}

/* If several arrays were saved one after the other, rows would overwrite the next one. */
static npyx_status check_after(npyx_sink *sink, int64_t end_off, npyx_error *error) {
    char after[16];
    size_t nbytes = (size_t)(sink->nbytes - end_off);
    nbytes = nbytes < sizeof after ? nbytes : sizeof after;
    if (nbytes > 0)
        NPYX_TRY(npyx_sink_read(sink, end_off, after, nbytes, error));
    if (!npyx_begins_npy(after, nbytes))
        return NPYX_OK;
    return npyx_fail(
        error, NPYX_INVALID, end_off,
        "another array begins where this one ends (byte %" PRId64
        "): rows would be written over it; write the arrays to an .npz, or each to a .npy of its own",
        end_off);
}

/* Takes the header of the array that rows are added to; *end_off is where its rows end. */
static npyx_status take_header(npyext_table_writer *writer, npyx_array *array, int64_t *end_off,
                               npyx_error *error) {
    NPYX_TRY(read_header(writer, array, error));
    if (!is_as_declared(writer, array))
        return npyx_refuse(error, "has changed since the table was made; drop the table and create it again");
    writer->transaction.nrows_before = array->shape[0];
    writer->header_nbytes = (size_t)array->data_off;
    writer->version_major = array->version_major;
    *end_off = array->data_off + array->nbytes;
    return check_after(file_sink(writer), *end_off, error);
}

static npyx_status find_end(npyext_table_writer *writer, int64_t *end_off, npyx_error *error) {
    npyx_array array;
    npyx_array_init(&array, &writer->transaction.connection->host);
    npyx_status status = take_header(writer, &array, end_off, error);
    npyx_array_clear(&array);
    return status;
}

/* Goes to where the rows end. Bytes after them belong to no array, but must stay until the COMMIT: such a
 * file is copied, and rows are added to the copy. */
static npyx_status go_to_end(npyext_table_writer *writer, npyx_error *error) {
    int64_t end_off = 0;
    NPYX_TRY(find_end(writer, &end_off, error));
    if (file_sink(writer)->nbytes == end_off)
        return NPYX_OK;
    npyext_transaction_drop_target(&writer->transaction);
    NPYX_TRY(open_target(writer, NPYX_TARGET_COPY, false, error));
    NPYX_TRY(find_end(writer, &end_off, error));
    return npyx_sink_cut(file_sink(writer), end_off, error);
}

/* Reserves room for the header, whose size does not depend on the number of rows. */
static npyx_status reserve_header(npyext_table_writer *writer, npyx_error *error) {
    npyx_buffer header = {.host = &writer->transaction.connection->host};
    int64_t shape[NPYX_MAX_NDIM] = {0};
    memcpy(shape + 1, writer->shape + 1, sizeof shape[0] * (size_t)(writer->ndim - 1));
    npyx_header_npy_append(writer->dtype, writer->ndim, shape, false, &header);
    npyx_status status = npyx_buffer_check(&header, error);
    if (status == NPYX_OK) {
        writer->header_nbytes = header.nbytes;
        writer->version_major = (uint8_t)header.bytes[6];
        status = npyx_sink_append(file_sink(writer), header.bytes, header.nbytes, error);
    }
    npyx_buffer_clear(&header);
    return status;
}

/* Makes room for the current row. */
static npyx_status make_room_for_row(npyext_table_writer *writer, npyx_error *error) {
    uint8_t *items = NULL;
    npyext_array_builder *row = &writer->row;
    NPYX_TRY(npyext_array_builder_begin(row, writer->transaction.connection, error));
    row->dtype = writer->dtype;
    row->is_dtype_given = true;
    return npyext_items_reserve(&row->out, row->dtype, writer->row_nelem, &items, error);
}

/* Opens the file to add to, or a new one (*is_new). Mode 'a' makes one if there is none, mode 'w+' until it
 * has written one. */
static npyx_status open_either(npyext_table_writer *writer, bool *is_new, npyx_error *error) {
    npyx_target_kind kind = writer->format == NPYX_FORMAT_NPY ? NPYX_TARGET_EXTEND : NPYX_TARGET_COPY;
    *is_new = writer->transaction.is_own && !writer->transaction.written.is_there;
    if (*is_new)
        return open_target(writer, NPYX_TARGET_NEW, false, error);
    npyx_status status = open_target(writer, kind, false, error);
    if (!writer->transaction.is_own && status == NPYX_NOT_FOUND) {
        *is_new = true;
        status = open_target(writer, NPYX_TARGET_NEW, true, error);
    }
    return status;
}

static npyx_status file_open(npyext_transaction *transaction, npyx_error *error) {
    npyext_table_writer *writer = writer_of(transaction);
    bool is_new = false;
    NPYX_TRY(open_either(writer, &is_new, error));
    if (writer->format != NPYX_FORMAT_NPY)
        return npyx_archive_writer_open(file_sink(writer), writer->format, &writer->archive, error);
    NPYX_TRY(make_room_for_row(writer, error));
    return is_new ? reserve_header(writer, error) : go_to_end(writer, error);
}

/* ---- xSync ---- */

/* Appends the header for the present number of rows. */
static npyx_status file_append_header(const npyext_table_writer *writer, npyx_buffer *header,
                                      npyx_error *error) {
    npyx_array array;
    NPYX_TRY(npyext_table_writer_measure(writer, file_next_row(&writer->transaction), &array, error));
    return npyx_header_npy_append_fitted(writer->dtype, writer->ndim, array.shape, writer->version_major,
                                         writer->header_nbytes, header, error);
}

/* Has the commit write the header, after all rows are on disk. */
static npyx_status seal_header(npyext_table_writer *writer, npyx_error *error) {
    npyx_buffer header = {.host = &writer->transaction.connection->host};
    int64_t nrows = file_next_row(&writer->transaction);
    if (writer->shape[0] >= 0 && nrows != writer->shape[0])
        return npyx_refuse(error,
                           "the shape says %" PRId64 " rows, and there are %" PRId64
                           "; write all in one transaction (BEGIN, COMMIT), or declare -1 rows",
                           writer->shape[0], nrows);
    npyx_status status = file_append_header(writer, &header, error);
    if (status == NPYX_OK)
        status = npyx_target_seal(npyext_transaction_last_target(&writer->transaction), 0, header.bytes,
                                  header.nbytes, error);
    npyx_buffer_clear(&header);
    return status;
}

static npyx_status file_finish(npyext_transaction *transaction, npyx_error *error) {
    npyext_table_writer *writer = writer_of(transaction);
    return writer->format == NPYX_FORMAT_NPY ? seal_header(writer, error)
                                             : npyx_archive_writer_finish(writer->archive, error);
}

/* ---- what is read of it ---- */

/* The header in the file does not count the new rows yet. */
static npyx_status file_read(npyext_transaction *transaction, npyx_source **source, npyx_error *error) {
    npyext_table_writer *writer = writer_of(transaction);
    npyx_buffer header = {.host = &transaction->connection->host};
    if (writer->format != NPYX_FORMAT_NPY) {
        NPYX_TRY(npyx_archive_writer_finish(writer->archive, error));
        return npyx_source_open_written(file_sink(writer), NULL, 0, source, error);
    }
    npyx_status status = file_append_header(writer, &header, error);
    if (status == NPYX_OK)
        status = npyx_source_open_written(file_sink(writer), header.bytes, header.nbytes, source, error);
    npyx_buffer_clear(&header);
    return status;
}

static void file_free(npyext_transaction *transaction) {
    npyext_table_writer *writer = writer_of(transaction);
    npyx_host *host = &transaction->connection->host;
    npyext_transaction_clear(transaction);
    npyext_layout_clear(&writer->layout);
    npyx_arena_clear(&writer->arena);
    npyx_free(host, writer);
}

const npyext_transaction_ops npyext_table_writer_ops = {.open = file_open,
                                                        .mark = file_mark,
                                                        .cut_back = file_cut_back,
                                                        .finish = file_finish,
                                                        .close = file_close,
                                                        .insert = file_insert,
                                                        .read = file_read,
                                                        .free = file_free};
