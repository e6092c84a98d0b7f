/* The transactions and rows of a table that writes. */
#include <inttypes.h>
#include <string.h>

#include "array_stream.h"
#include "table_writer.h"

/* The first mark is of the beginning: that is where the table was at savepoints older than its transaction.
 */
enum { BEGINNING = -1 };

static npyext_published *record_of(const npyext_table_writer *writer) {
    npyext_connection *connection = writer->connection;
    return npyext_published_of(&connection->published, &connection->host, writer->table);
}

int64_t npyext_table_writer_next(const npyext_table_writer *writer) {
    return writer->nrows_before + writer->nrows;
}

/* ---- beginning ---- */

/* Reads the header of the file that rows are added to, and goes to where its rows end. */
static npyx_status find_end(npyext_table_writer *writer, npyx_error *error) {
    static const char magic[] = "\x93NUMPY";
    npyx_host *host = &writer->connection->host;
    npyx_sink *sink = writer->target.sink;
    int64_t file_nbytes = sink->nbytes;
    uint8_t head[NPYX_HEADER_NPY_USUAL_NBYTES];
    size_t head_nbytes = file_nbytes < (int64_t)sizeof head ? (size_t)file_nbytes : sizeof head;
    npyx_source *source = NULL;
    npyx_array array;
    npyx_array_init(&array, host);
    npyx_status status = npyx_source_open_file(host, writer->path, &source, NULL, error);
    if (status == NPYX_OK)
        status = npyx_sink_read(sink, 0, head, head_nbytes, error);
    if (status == NPYX_OK)
        status = npyx_header_npy_read(source, head, head_nbytes, &array, error);
    if (status == NPYX_OK)
        status = npyx_array_check_nbytes(&array, file_nbytes, error);
    bool is_same =
        status == NPYX_OK && npyx_dtype_is_same(array.dtype, writer->dtype) &&
        npyx_dtype_byteorder(array.dtype) == npyx_dtype_byteorder(writer->dtype) &&
        array.ndim == writer->ndim && (array.ndim == 1 || !array.fortran_order) &&
        memcmp(array.shape + 1, writer->shape + 1, sizeof array.shape[0] * (size_t)(writer->ndim - 1)) == 0;
    if (status == NPYX_OK && !is_same)
        status = npyx_fail(error, NPYX_INVALID, -1,
                           "has changed since the table was made; drop the table and create it anew");
    if (status == NPYX_OK) {
        writer->nrows_before = array.shape[0];
        writer->header_nbytes = (size_t)array.data_off;
        writer->version_major = array.version_major;
    }
    int64_t end_off = status == NPYX_OK ? array.data_off + array.nbytes : 0;
    char behind[sizeof magic - 1];
    if (status == NPYX_OK && file_nbytes - end_off >= (int64_t)sizeof behind)
        status = npyx_sink_read(sink, end_off, behind, sizeof behind, error);
    if (status == NPYX_OK && file_nbytes - end_off >= (int64_t)sizeof behind &&
        memcmp(behind, magic, sizeof behind) == 0)
        status =
            npyx_fail(error, NPYX_INVALID, end_off,
                      "another array begins where this one ends (byte %" PRId64 "): rows would be written "
                      "over it",
                      end_off);
    if (status == NPYX_OK)
        status = npyx_sink_cut(sink, end_off, error); /* what else lies behind it belongs to nothing */
    npyx_array_clear(&array);
    npyx_source_close(source);
    return status;
}

/* Room for the header, whose size does not depend on the number of rows. */
static npyx_status reserve_header(npyext_table_writer *writer, npyx_error *error) {
    npyx_buffer header = {.host = &writer->connection->host};
    int64_t shape[NPYX_MAX_NDIM] = {0};
    memcpy(shape + 1, writer->shape + 1, sizeof shape[0] * (size_t)(writer->ndim - 1));
    npyx_header_npy_append(writer->dtype, writer->ndim, shape, false, &header);
    npyx_status status = npyx_buffer_check(&header, error);
    if (status == NPYX_OK) {
        writer->header_nbytes = header.nbytes;
        writer->version_major = (unsigned char)header.bytes[6];
        status = npyx_sink_append(writer->target.sink, header.bytes, header.nbytes, error);
    }
    npyx_buffer_clear(&header);
    return status;
}

/* Room for the row at hand. */
static npyx_status reserve_row(npyext_table_writer *writer, npyx_error *error) {
    npyext_array_builder *row = &writer->row;
    npyext_array_builder_begin(row, writer->connection);
    row->dtype = writer->dtype;
    row->is_dtype_given = true;
    npyx_buffer_reserve(&row->out, (size_t)writer->row_nbytes);
    return npyx_buffer_check(&row->out, error);
}

/* NPYX_INVALID when the file is not the one that this table has written. */
static npyx_status check_published(const npyext_table_writer *writer, const npyext_published *record,
                                   npyx_error *error) {
    npyx_file_info now;
    if (npyx_target_info(&writer->target, &now) && npyx_file_info_is_same(&now, &record->info))
        return NPYX_OK;
    return npyx_fail(error, NPYX_INVALID, -1,
                     "is no longer as this table has written it; drop the table and create it anew");
}

static npyx_status open_target(npyext_table_writer *writer, const npyext_published *record,
                               npyx_error *error) {
    npyx_host *host = &writer->connection->host;
    bool is_npy = writer->format == NPYX_FORMAT_NPY;
    npyx_target_kind kind = record->is_published || writer->adds
                                ? (is_npy ? NPYX_TARGET_EXTEND : NPYX_TARGET_COPY)
                                : NPYX_TARGET_NEW;
    npyx_status status = npyx_target_open(&writer->target, host, kind, writer->path, error);
    if (status == NPYX_NOT_FOUND && writer->adds && !record->is_published) {
        kind = NPYX_TARGET_NEW; /* there is nothing to add to yet */
        status = npyx_target_open(&writer->target, host, kind, writer->path, error);
    }
    if (status != NPYX_OK)
        return status;
    writer->is_open = true;
    if (record->is_published)
        status = check_published(writer, record, error);
    if (status != NPYX_OK)
        return status;
    if (!is_npy)
        return npyx_archive_writer_open(writer->target.sink, writer->format, &writer->archive, error);
    status = reserve_row(writer, error);
    if (status != NPYX_OK)
        return status;
    return kind == NPYX_TARGET_NEW ? reserve_header(writer, error) : find_end(writer, error);
}

npyx_status npyext_table_writer_begin(npyext_table_writer *writer, npyx_error *error) {
    npyext_published *record = record_of(writer);
    if (record == NULL)
        return npyx_fail_nomem(error);
    if (writer->lost.status != NPYX_OK) {
        *error = writer->lost;
        writer->lost.status = NPYX_OK;
        return error->status;
    }
    if (writer->is_open)
        return NPYX_OK;
    if (record->owner != NULL)
        return npyx_fail(error, NPYX_INVALID, -1,
                         "this transaction has written rows and then changed a schema; commit it first");
    writer->nrows = writer->nrows_before = 0;
    npyx_status status = open_target(writer, record, error);
    if (status == NPYX_OK)
        status = npyext_table_writer_mark(writer, BEGINNING, error);
    if (status == NPYX_OK)
        record->owner = writer;
    else
        npyext_table_writer_rollback(writer);
    return status;
}

/* ---- ending ---- */

/* Before the target, whose sink it writes to until the end. */
static void close_archive(npyext_table_writer *writer) {
    npyx_archive_writer_close(writer->archive);
    writer->archive = NULL;
}

static void close_transaction(npyext_table_writer *writer) {
    npyext_published *record = record_of(writer); /* there is one: begin made it */
    npyext_table_writer_release(writer, BEGINNING);
    npyext_array_builder_clear(&writer->row);
    writer->is_open = false;
    if (record != NULL && record->owner == writer)
        record->owner = NULL;
}

void npyext_table_writer_rollback(npyext_table_writer *writer) {
    npyext_published *record = writer->is_open ? record_of(writer) : NULL;
    npyx_file_info now;
    if (!writer->is_open)
        return;
    close_archive(writer);
    npyx_target_abandon(&writer->target);
    /* cutting off what was added is no change by others */
    if (record != NULL && npyx_file_info_of_path(&writer->connection->host, writer->path, &now) &&
        now.inode == record->info.inode && now.device == record->info.device &&
        now.nbytes == record->info.nbytes)
        record->info = now;
    close_transaction(writer);
}

/* The header with the number of rows, to be written when all of them are on disk. */
static npyx_status seal_header(npyext_table_writer *writer, npyx_error *error) {
    npyx_buffer header = {.host = &writer->connection->host};
    int64_t shape[NPYX_MAX_NDIM];
    memcpy(shape, writer->shape, sizeof shape[0] * (size_t)writer->ndim);
    shape[0] = npyext_table_writer_next(writer);
    if (writer->shape[0] >= 0 && shape[0] != writer->shape[0])
        return npyx_fail(error, NPYX_INVALID, -1, "the shape says %" PRId64 " rows, and there are %" PRId64,
                         writer->shape[0], shape[0]);
    npyx_status status =
        npyx_header_npy_append_fitted(writer->dtype, writer->ndim, shape, false, writer->version_major,
                                      writer->header_nbytes, &header, error);
    if (status == NPYX_OK)
        status = npyx_target_seal(&writer->target, 0, header.bytes, header.nbytes, error);
    npyx_buffer_clear(&header);
    return status;
}

/* Whether the table is there. A ROLLBACK TO a savepoint older than its CREATE takes it away, and SQLite does
 * not tell it so when nothing but single rows came in between. */
static bool is_declared(const npyext_table_writer *writer) {
    return sqlite3_table_column_metadata(writer->connection->db, "temp", writer->table, NULL, NULL, NULL,
                                         NULL, NULL, NULL) != SQLITE_ERROR;
}

npyx_status npyext_table_writer_prepare(npyext_table_writer *writer, npyx_error *error) {
    if (writer->is_open && !is_declared(writer))
        npyext_table_writer_rollback(writer);
    if (!writer->is_open)
        return NPYX_OK;
    npyext_connection_begin(writer->connection);
    npyx_status status = writer->format == NPYX_FORMAT_NPY
                             ? seal_header(writer, error)
                             : npyx_archive_writer_finish(writer->archive, error);
    return status == NPYX_OK ? npyx_target_prepare(&writer->target, error) : status;
}

void npyext_table_writer_commit(npyext_table_writer *writer) {
    npyext_published *record = writer->is_open ? record_of(writer) : NULL;
    if (record == NULL)
        return;
    close_archive(writer);
    npyx_status status = npyx_target_commit(&writer->target, &writer->lost);
    writer->lost.status = status;
    record->is_published =
        record->is_published || status == NPYX_OK; /* what has failed has published nothing */
    npyx_file_info_of_path(&writer->connection->host, writer->path, &record->info);
    close_transaction(writer);
}

/* ---- savepoints ---- */

static void clear_marks_from(npyext_table_writer *writer, int first) {
    while (writer->nmarks > first)
        npyx_archive_mark_clear(&writer->marks[--writer->nmarks].archive);
}

/* The first mark of a savepoint not older than this one. */
static int find_mark(const npyext_table_writer *writer, int savepoint) {
    int i = 0;
    while (i < writer->nmarks && writer->marks[i].savepoint < savepoint)
        i++;
    return i;
}

void npyext_table_writer_release(npyext_table_writer *writer, int savepoint) {
    clear_marks_from(writer, find_mark(writer, savepoint));
}

npyx_status npyext_table_writer_mark(npyext_table_writer *writer, int savepoint, npyx_error *error) {
    npyx_host *host = &writer->connection->host;
    if (!writer->is_open)
        return NPYX_OK;
    npyext_table_writer_release(writer, savepoint);
    if (writer->nmarks == writer->capacity_nmarks) {
        int capacity_nmarks = writer->capacity_nmarks == 0 ? 4 : writer->capacity_nmarks * 2;
        void *grown =
            host->resize(host->ctx, writer->marks, (size_t)capacity_nmarks * sizeof writer->marks[0]);
        if (grown == NULL)
            return npyx_fail_nomem(error);
        writer->marks = grown;
        writer->capacity_nmarks = capacity_nmarks;
    }
    npyext_writer_mark *mark = &writer->marks[writer->nmarks];
    *mark = (npyext_writer_mark){.savepoint = savepoint, .nrows = writer->nrows};
    npyx_status status =
        writer->archive == NULL ? NPYX_OK : npyx_archive_writer_mark(writer->archive, &mark->archive, error);
    if (status == NPYX_OK)
        writer->nmarks++;
    else
        npyx_archive_mark_clear(&mark->archive);
    return status;
}

npyx_status npyext_table_writer_return(npyext_table_writer *writer, int savepoint, npyx_error *error) {
    if (!writer->is_open)
        return NPYX_OK;
    int i = find_mark(writer, savepoint);
    bool is_marked = i < writer->nmarks && writer->marks[i].savepoint == savepoint;
    const npyext_writer_mark *mark = &writer->marks[is_marked ? i : 0];
    npyx_status status;
    if (mark->nrows == 0) { /* nothing was written, so that a COMMIT is to replace nothing */
        npyext_table_writer_rollback(writer);
        return NPYX_OK;
    }
    if (writer->archive != NULL)
        status = npyx_archive_writer_return(writer->archive, &mark->archive, error);
    else
        status = npyx_sink_cut(
            writer->target.sink,
            writer->target.sink->nbytes - (writer->nrows - mark->nrows) * writer->row_nbytes, error);
    if (status != NPYX_OK)
        return status;
    writer->nrows = mark->nrows;
    clear_marks_from(writer, i + is_marked); /* the savepoint itself stays, to be returned to again */
    return NPYX_OK;
}

/* ---- rows ---- */

/* A row of one value: raw items, JSON or an array. */
static npyx_status append_whole_row(npyext_table_writer *writer, sqlite3_value *value, npyx_error *error) {
    static const npyext_caller caller = {"row", "row"};
    npyext_rows rows = {.has_shape = true, .ndim = writer->ndim - 1, .nelem = 1};
    npyext_array_builder *row = &writer->row;
    memcpy(rows.shape, writer->shape + 1, sizeof rows.shape[0] * (size_t)rows.ndim);
    for (int axis = 0; axis < rows.ndim; axis++)
        rows.nelem *= rows.shape[axis]; /* measured with the table */
    row->out.nbytes = NPYEXT_HEADER_NBYTES;
    npyx_status status = npyext_rows_append(&rows, row, NULL, &caller, value, error);
    return status == NPYX_OK ? npyx_sink_append(writer->target.sink, npyext_array_builder_items(row),
                                                (size_t)writer->row_nbytes, error)
                             : status;
}

static npyx_status append_columns(npyext_table_writer *writer, sqlite3_value **values, npyx_error *error) {
    const npyext_layout *layout = &writer->layout;
    uint8_t *item = npyext_array_builder_items(&writer->row);
    if (writer->dtype->type == NPYX_STRUCT)
        memset(item, 0, (size_t)writer->row_nbytes); /* padding */
    for (int i = 0; i < layout->ncolumns; i++) {
        const npyext_layout_column *column = &layout->columns[i];
        npyx_status status = npyext_items_encode(&writer->connection->host, column->dtype, column->ndim,
                                                 column->shape, values[i], item + column->off, error);
        if (status != NPYX_OK)
            return npyx_error_place(error, status, "column '%.60s'", column->name);
    }
    return npyx_sink_append(writer->target.sink, item, (size_t)writer->row_nbytes, error);
}

static npyx_status append_array(npyext_table_writer *writer, sqlite3_value **values, npyx_error *error) {
    static const npyext_caller caller = {"array", "array"};
    npyext_array_value array;
    const char *name;
    size_t name_nbytes;
    npyx_status status = npyext_member_name(values[0], &name, &name_nbytes, error);
    if (status != NPYX_OK)
        return status;
    status = npyext_array_value_open_at(
        &array, writer->connection, npyext_cache_tick(&writer->connection->cache), &caller, values[1], error);
    if (status == NPYX_DONE)
        status = npyx_fail(error, NPYX_INVALID, -1, "the array is NULL");
    if (status == NPYX_OK)
        status = npyext_stream_member(&array, writer->archive, writer->format, name, name_nbytes,
                                      writer->method, error);
    npyext_array_value_close(&array);
    return status;
}

npyx_status npyext_table_writer_insert(npyext_table_writer *writer, sqlite3_value **values, int64_t *rowid,
                                       npyx_error *error) {
    npyx_status status;
    *rowid = npyext_table_writer_next(writer);
    if (writer->archive != NULL)
        status = append_array(writer, values, error);
    else if (writer->shape[0] >= 0 && *rowid >= writer->shape[0])
        status = npyx_fail(error, NPYX_INVALID, -1, "the shape says %" PRId64 " rows, and this is one more",
                           writer->shape[0]);
    else if (writer->layout.has_whole_rows)
        status = append_whole_row(writer, values[0], error);
    else
        status = append_columns(writer, values, error);
    if (status != NPYX_OK)
        return npyx_error_place(error, status, "row %" PRId64, *rowid);
    writer->nrows++;
    return NPYX_OK;
}
