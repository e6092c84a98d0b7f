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

typedef struct table_writer {
    npyext_transaction transaction; /* borrows its texts from the declaration */
    const char *const *arguments;   /* likewise */
    npyx_format format;
    npyx_zip_method method;
    /* for a .npy: a row is all axes but the first, which is -1 or the number of rows that there must be */
    npyx_arena arena;
    const npyx_dtype *dtype;
    int ndim;
    int64_t shape[NPYX_MAX_NDIM];
    int64_t row_nelem, row_nbytes;
    npyext_layout layout; /* its columns */
    /* for the open transaction */
    size_t header_nbytes;
    int version_major;
    npyx_archive_writer *archive;
    npyext_array_builder row; /* the current row */
} table_writer;

static table_writer *writer_of(npyext_transaction *transaction) {
    return (table_writer *)transaction;
}

static npyx_sink *file_sink(const table_writer *writer) {
    return npyext_transaction_last_target(&writer->transaction)->sink;
}

/* ---- rows: their shape ---- */

/* Measures the array of nrows rows that the table writes: its items and bytes. It borrows the dtype and must
 * not be cleared. NPYX_CORRUPT if they cannot be counted, since nothing could read such an array. */
static npyx_status table_writer_measure(const table_writer *writer, int64_t nrows, npyx_array *array,
                                        npyx_error *error) {
    npyx_array_init(array, &writer->transaction.connection->host);
    array->dtype = writer->dtype;
    array->ndim = writer->ndim;
    memcpy(array->shape, writer->shape, sizeof array->shape[0] * (size_t)writer->ndim);
    array->shape[0] = nrows;
    return npyx_array_measure(array, error);
}

/* Whether an array of at least one axis has rows of the shape that the table writes. */
static bool table_writer_has_rows_of(const table_writer *writer, const npyx_array *array) {
    return npyx_is_same(writer->shape + 1, sizeof writer->shape[0] * (size_t)(writer->ndim - 1),
                        array->shape + 1, sizeof array->shape[0] * (size_t)(array->ndim - 1));
}

/* ---- their values ---- */

/* A row that is one value: raw items, JSON or an array. */
static npyx_status append_whole_row(table_writer *writer, sqlite3_value *value, npyx_error *error) {
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
static void advise_shape(const table_writer *writer, const npyext_layout_column *column, sqlite3_value *value,
                         npyx_error *error) {
    const uint8_t *text = sqlite3_value_type(value) == SQLITE_TEXT ? sqlite3_value_text(value) : NULL;
    bool is_array = text != NULL ? text[0] == '[' : sqlite3_value_type(value) == SQLITE_BLOB;
    if (is_array && writer->dtype->type != NPYX_STRUCT && column->ndim == 0 &&
        npyx_dtype_is_real(column->dtype))
        npyx_error_add(error, "; rows that are arrays need a shape, as in mode='w+', shape='[-1, 4]'");
}

static npyx_status append_columns(table_writer *writer, sqlite3_value **values, npyx_error *error) {
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

static npyx_status writer_append_array(table_writer *writer, sqlite3_value **values, npyx_error *error) {
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
    table_writer *writer = writer_of(transaction);
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
    table_writer *writer = writer_of(transaction);
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
    table_writer *writer = writer_of(transaction);
    npyx_sink *sink = file_sink(writer);
    if (writer->archive != NULL)
        return npyx_archive_writer_return(writer->archive, mark->place, error);
    return npyx_sink_cut(sink, sink->nbytes - (transaction->nrows - mark->nrows) * writer->row_nbytes, error);
}

/* The archive writes to the target's sink, so it is closed first. */
static void file_close(npyext_transaction *transaction) {
    table_writer *writer = writer_of(transaction);
    npyx_archive_writer_close(writer->archive);
    writer->archive = NULL;
    npyext_array_builder_clear(&writer->row);
}

/* ---- the first row ---- */

static npyx_status open_target(table_writer *writer, npyx_target_kind kind, bool must_be_new,
                               npyx_error *error) {
    npyext_transaction *transaction = &writer->transaction;
    return npyext_transaction_add_target(transaction, (npyx_target){.must_be_new = must_be_new}, kind,
                                         transaction->path, error);
}

/* Describes the array that rows are added to, from the file that is locked rather than the one at the
 * path. */
static npyx_status read_header(const table_writer *writer, npyx_array *array, npyx_error *error) {
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

static bool is_as_declared(const table_writer *writer, const npyx_array *array) {
    bool is_same = npyx_dtype_is_same(array->dtype, writer->dtype) &&
                   npyx_dtype_byteorder(array->dtype) == npyx_dtype_byteorder(writer->dtype);
    return (is_same || npyx_dtype_is_spelled_by(writer->dtype, array->dtype)) && array->ndim > 0 &&
           table_writer_has_rows_of(writer, array) && (array->ndim == 1 || !array->fortran_order);
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
static npyx_status take_header(table_writer *writer, npyx_array *array, int64_t *end_off, npyx_error *error) {
    NPYX_TRY(read_header(writer, array, error));
    if (!is_as_declared(writer, array))
        return npyx_refuse(error, "has changed since the table was made; drop the table and create it again");
    writer->transaction.nrows_before = array->shape[0];
    writer->header_nbytes = (size_t)array->data_off;
    writer->version_major = array->version_major;
    *end_off = array->data_off + array->nbytes;
    return check_after(file_sink(writer), *end_off, error);
}

static npyx_status find_end(table_writer *writer, int64_t *end_off, npyx_error *error) {
    npyx_array array;
    npyx_array_init(&array, &writer->transaction.connection->host);
    npyx_status status = take_header(writer, &array, end_off, error);
    npyx_array_clear(&array);
    return status;
}

/* Goes to where the rows end. Bytes after them belong to no array, but must stay until the COMMIT: such a
 * file is copied, and rows are added to the copy. */
static npyx_status go_to_end(table_writer *writer, npyx_error *error) {
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
static npyx_status reserve_header(table_writer *writer, npyx_error *error) {
    npyx_sink *sink = file_sink(writer);
    uint8_t version_major = 0;
    int64_t shape[NPYX_MAX_NDIM] = {0};
    memcpy(shape + 1, writer->shape + 1, sizeof shape[0] * (size_t)(writer->ndim - 1));
    NPYX_TRY(npyx_header_npy_write(writer->dtype, writer->ndim, shape, false, sink, error));
    NPYX_TRY(npyx_sink_read(sink, 6, &version_major, 1, error));
    writer->header_nbytes = (size_t)sink->nbytes;
    writer->version_major = version_major;
    return NPYX_OK;
}

/* Makes room for the current row. */
static npyx_status make_room_for_row(table_writer *writer, npyx_error *error) {
    uint8_t *items = NULL;
    npyext_array_builder *row = &writer->row;
    NPYX_TRY(npyext_array_builder_begin(row, writer->transaction.connection, error));
    row->dtype = writer->dtype;
    row->is_dtype_given = true;
    return npyext_items_reserve(&row->out, row->dtype, writer->row_nelem, &items, error);
}

/* Opens the file to add to, or a new one (*is_new). Mode 'a' makes one if there is none, mode 'w+' until it
 * has written one. */
static npyx_status open_either(table_writer *writer, bool *is_new, npyx_error *error) {
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
    table_writer *writer = writer_of(transaction);
    bool is_new = false;
    NPYX_TRY(open_either(writer, &is_new, error));
    if (writer->format != NPYX_FORMAT_NPY)
        return npyx_archive_writer_open(file_sink(writer), writer->format, &writer->archive, error);
    NPYX_TRY(make_room_for_row(writer, error));
    return is_new ? reserve_header(writer, error) : go_to_end(writer, error);
}

/* ---- xSync ---- */

/* Appends the header for the present number of rows. */
static npyx_status file_append_header(const table_writer *writer, npyx_buffer *header, npyx_error *error) {
    npyx_array array;
    NPYX_TRY(table_writer_measure(writer, file_next_row(&writer->transaction), &array, error));
    return npyx_header_npy_append_fitted(writer->dtype, writer->ndim, array.shape, writer->version_major,
                                         writer->header_nbytes, header, error);
}

/* Has the commit write the header, after all rows are on disk. */
static npyx_status seal_header(table_writer *writer, npyx_error *error) {
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
    table_writer *writer = writer_of(transaction);
    return writer->format == NPYX_FORMAT_NPY ? seal_header(writer, error)
                                             : npyx_archive_writer_finish(writer->archive, error);
}

/* ---- what is read of it ---- */

/* The header in the file does not count the new rows yet. */
static npyx_status file_read(npyext_transaction *transaction, npyx_source **source, npyx_error *error) {
    table_writer *writer = writer_of(transaction);
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

static void file_clear(npyext_transaction *transaction) {
    npyext_layout_clear(&writer_of(transaction)->layout);
    npyx_arena_clear(&writer_of(transaction)->arena);
}

static const npyext_transaction_ops table_writer_ops = {.nbytes = sizeof(table_writer),
                                                        .open = file_open,
                                                        .mark = file_mark,
                                                        .cut_back = file_cut_back,
                                                        .finish = file_finish,
                                                        .close = file_close,
                                                        .insert = file_insert,
                                                        .read = file_read,
                                                        .clear = file_clear};

/* ---- what will be written ---- */

/* The format of a file that does not exist yet can only be told from its name. */
static npyx_format format_of_name(const char *path) {
    npyx_format named;
    bool is_archive =
        npyx_path_format(path, &named) && (named == NPYX_FORMAT_NPZ || named == NPYX_FORMAT_TEN);
    return is_archive ? named : NPYX_FORMAT_NPY;
}

/* Counts the items and bytes of a row, if they can be counted. */
static npyx_status measure_row(table_writer *writer, npyx_error *error) {
    npyx_array row;
    npyx_status status = table_writer_measure(writer, 1, &row, error);
    if (status != NPYX_OK || row.nbytes > npyext_max_nbytes(writer->transaction.connection))
        return npyx_refuse(error, "a row has more bytes than a value in SQLite may have");
    writer->row_nelem = row.nelem;
    writer->row_nbytes = row.nbytes;
    return NPYX_OK;
}

static npyx_status read_shape(table_writer *writer, const char *text, npyx_error *error) {
    NPYX_TRY(npyx_integers_parse(&writer->transaction.connection->host, "shape", text, strlen(text),
                                 writer->shape, &writer->ndim, error));
    if (writer->ndim == 0)
        return npyx_refuse(error, "an array without an axis has no rows to add");
    for (int axis = 0; axis < writer->ndim; axis++) {
        if (writer->shape[axis] < (axis == 0 ? -1 : 0))
            return npyx_refuse(error,
                               "a dimension of the shape is %" PRId64
                               "; only the first, the number of rows, may be negative: -1",
                               writer->shape[axis]);
    }
    return NPYX_OK;
}

/* Compares the arguments with the array in the file; *is_other: they describe something else. writer->dtype
 * is theirs if the file's is only its size (V2 for bfloat16), otherwise NULL. */
static npyx_status read_given(table_writer *writer, const npyx_array *array, bool *is_other,
                              npyx_error *error) {
    const char *dtype = writer->arguments[NPYEXT_TABLE_DTYPE], *shape = writer->arguments[NPYEXT_TABLE_SHAPE];
    writer->dtype = NULL;
    if (dtype != NULL) {
        NPYX_TRY(npyx_dtype_for_writing(&writer->arena, dtype, strlen(dtype), &writer->dtype, error));
        bool is_spelled = npyx_dtype_is_spelled_by(writer->dtype, array->dtype);
        *is_other = !is_spelled && !npyx_dtype_is_same(writer->dtype, array->dtype);
        if (!is_spelled)
            writer->dtype = NULL;
    }
    if (shape == NULL)
        return NPYX_OK;
    NPYX_TRY(read_shape(writer, shape, error));
    *is_other = *is_other || writer->shape[0] != -1 || !table_writer_has_rows_of(writer, array);
    return NPYX_OK;
}

static npyx_status fail_other(const npyx_array *array, npyx_error *error) {
    char shown[400];
    npyx_buffer text = npyx_buffer_over(shown, sizeof shown);
    npyx_dtype_append_name(array->dtype, &text);
    npyext_append_json_integers(&text, array->shape, array->ndim);
    return npyx_refuse(error,
                       "rows can only be added as in the existing array, which is %.100s (leave out dtype "
                       "and shape, or give these)",
                       npyx_buffer_text(&text));
}

static npyx_status check_growing(const npyx_array *array, npyx_error *error) {
    if (array->ndim == 0)
        return npyx_refuse(error, "an array without an axis has no rows to add to");
    if (array->ndim > 1 && array->fortran_order)
        return npyx_refuse(error,
                           "rows cannot be added to an array in Fortran order: only its last axis can grow");
    return npyx_array_check_written(array, error);
}

/* Takes dtype and shape from the array that mode 'a' adds to. */
static npyx_status take_array(table_writer *writer, npyx_archive *archive, npyx_array *array,
                              npyx_error *error) {
    bool is_other = false;
    NPYX_TRY(npyx_archive_describe(archive, 0, array, error));
    NPYX_TRY(read_given(writer, array, &is_other, error));
    if (is_other)
        return fail_other(array, error);
    NPYX_TRY(check_growing(array, error));
    writer->ndim = array->ndim;
    memcpy(writer->shape, array->shape, sizeof array->shape[0] * (size_t)array->ndim);
    writer->shape[0] = -1;
    if (writer->dtype == NULL)
        writer->dtype = npyx_dtype_copy(&writer->arena, array->dtype);
    return npyx_check_memory(writer->dtype, error);
}

static npyx_status fail_adding(npyx_format format, npyx_error *error) {
    return npyx_refuse(error, "mode='a' adds to a .npy, an .npz or a .ten, and this is a .%s%s",
                       npyx_format_name(format),
                       format == NPYX_FORMAT_TAR ? "; USING wds(..., mode='a') adds samples to shards" : "");
}

/* Reads what is at the path for mode 'a'. *is_there: whether anything is. */
static npyx_status try_to_read_file(table_writer *writer, bool *is_there, npyx_error *error) {
    npyext_connection *connection = writer->transaction.connection;
    npyext_cached_file *file = NULL;
    npyx_status status = npyext_cache_acquire(connection, writer->transaction.path, NULL,
                                              npyext_cache_tick(connection), NULL, &file, error);
    *is_there = status != NPYX_NOT_FOUND;
    if (!*is_there)
        return NPYX_OK;
    NPYX_TRY(status);
    writer->format = file->archive->format;
    if (writer->format > NPYX_FORMAT_TEN) {
        status = fail_adding(writer->format, error);
    } else if (writer->format == NPYX_FORMAT_NPY) {
        npyx_array array;
        npyx_array_init(&array, &connection->host);
        status = take_array(writer, file->archive, &array, error);
        npyx_array_clear(&array);
    }
    npyext_cache_release(connection, file);
    return status;
}

/* Another writer that has added rows in place may be rolling them back at this moment; the next attempt does
 * not see them. */
static npyx_status writer_read_file(table_writer *writer, bool *is_there, npyx_error *error) {
    enum { NTRIES = 5 };
    npyx_status status = NPYX_IO;
    for (int i = 0; i < NTRIES && status == NPYX_IO; i++)
        status = try_to_read_file(writer, is_there, error);
    return status;
}

/* What is at the path when an object is made anew may be there only for a moment, which is no reason to
 * refuse all that follows. A transaction looks again. */
static npyx_status writer_look_at_file(table_writer *writer, bool is_made_anew, bool *is_there,
                                       npyx_error *error) {
    npyx_format named = writer->format;
    bool can_do_without =
        is_made_anew && (named != NPYX_FORMAT_NPY || writer->arguments[NPYEXT_TABLE_DTYPE] != NULL);
    npyx_status status = writer_read_file(writer, is_there, error);
    if (!can_do_without || status == NPYX_OK || status == NPYX_NOMEM || status == NPYX_INTERRUPTED)
        return status;
    writer->format = named;
    *is_there = false;
    return NPYX_OK;
}

/* Refuses arguments that are of no use to the format. */
static npyx_status writer_check_format(const table_writer *writer, npyx_error *error) {
    static const npyext_table_argument of_npy[] = {NPYEXT_TABLE_DTYPE, NPYEXT_TABLE_SHAPE,
                                                   NPYEXT_TABLE_COLUMNS};
    for (size_t i = 0; i < sizeof of_npy / sizeof of_npy[0]; i++) {
        if (writer->format != NPYX_FORMAT_NPY && writer->arguments[of_npy[i]] != NULL)
            return npyx_refuse(
                error, "%s is for a .npy; an .npz or a .ten is made of whole arrays: INSERT name and array",
                npyext_table_argument_names[of_npy[i]]);
    }
    if (writer->format != NPYX_FORMAT_NPZ && writer->arguments[NPYEXT_TABLE_METHOD] != NULL)
        return npyx_refuse(error, "method is for an .npz; a .%s is never compressed",
                           npyx_format_name(writer->format));
    return NPYX_OK;
}

static npyx_status read_arguments(table_writer *writer, bool is_made_anew, npyx_error *error) {
    const char *dtype = writer->arguments[NPYEXT_TABLE_DTYPE], *shape = writer->arguments[NPYEXT_TABLE_SHAPE];
    const char *method = writer->arguments[NPYEXT_TABLE_METHOD];
    bool is_there = false;
    bool adds = !writer->transaction.is_own;
    writer->format = format_of_name(writer->transaction.path);
    if (adds)
        NPYX_TRY(writer_look_at_file(writer, is_made_anew, &is_there, error));
    NPYX_TRY(writer_check_format(writer, error));
    if (method != NULL)
        NPYX_TRY(npyx_zip_method_parse(method, strlen(method), &writer->method, error));
    if (writer->format != NPYX_FORMAT_NPY)
        return NPYX_OK;
    if (!is_there && dtype == NULL)
        return npyx_refuse(error, "%sa new .npy needs a dtype, as in dtype='float32'",
                           adds ? "there is no such file to add to, and " : "");
    if (!is_there) {
        NPYX_TRY(npyx_dtype_for_writing(&writer->arena, dtype, strlen(dtype), &writer->dtype, error));
        NPYX_TRY(read_shape(writer, shape == NULL ? "-1" : shape, error));
    }
    return measure_row(writer, error);
}

/* ---- columns ---- */

static npyx_status make_columns(table_writer *writer, npyx_error *error) {
    npyext_layout *layout = &writer->layout;
    static const npyext_declared_column of_archives[] = {{"name", NPYEXT_TABLE_TEXT},
                                                         {"array", NPYEXT_TABLE_BLOB}};
    if (writer->format != NPYX_FORMAT_NPY) {
        npyext_declaration *declaration = layout->declaration;
        NPYX_TRY(npyext_declaration_reserve(declaration, 0, 2, error));
        declaration->ncolumns = 2;
        memcpy(declaration->columns, of_archives, sizeof of_archives);
        return NPYX_OK;
    }
    layout->has_whole_rows =
        writer->ndim > 2 || (writer->ndim == 2 && writer->arguments[NPYEXT_TABLE_COLUMNS] == NULL);
    NPYX_TRY(npyext_layout_set_view(layout, writer->dtype, writer->ndim, writer->shape, error));
    NPYX_TRY(npyext_layout_make_columns(layout, error));
    return npyext_layout_record(layout, error);
}

npyx_status npyext_table_writer_new(npyext_table *table, npyx_error *error) {
    NPYX_TRY(npyext_table_new_writer(table, &table_writer_ops, error));
    table_writer *made = writer_of(table->writer);
    made->arena.host = &table->connection->host;
    made->arguments = table->declaration.arguments;
    npyext_layout_init(&made->layout, table->connection, &table->declaration);
    NPYX_TRY(read_arguments(made, table->is_made_anew, error));
    return make_columns(made, error);
}

void npyext_table_writer_shape_layout(const npyext_transaction *writer, npyext_layout *layout) {
    const table_writer *of = (const table_writer *)writer;
    layout->has_whole_rows = of->layout.has_whole_rows;
    layout->lists_arrays = of->format != NPYX_FORMAT_NPY;
}
