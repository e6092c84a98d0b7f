/*
 * The transactions of a table that writes: how it goes from state to state (table_writer.h).
 *
 * A file that rows are added to, and what a savepoint and the end make of it:
 *
 *    | header | rows that were there | rows of this transaction ... |
 *                                    ^ mark 0        ^ mark of a savepoint
 *
 * A return cuts it off at a mark. The header, which says how many rows there are, is written over last, by
 * the target's commit; until then a reader sees none of the new ones.
 */

#include "table_writer.h"

/* The first mark is of the beginning: that is where the table was at savepoints older than its transaction.
 */
enum { BEGINNING = -1 };

static npyext_published *record_of(const npyext_table_writer *writer) {
    return npyext_published_of(writer->connection, writer->table);
}

void npyext_table_writer_withdraw(npyext_table_writer *writer) {
    if (writer->state == NPYEXT_WRITER_PREPARED)
        npyx_target_withdraw(&writer->target);
    if (writer->state >= NPYEXT_WRITER_VAIN)
        writer->state = NPYEXT_WRITER_OPEN;
}

/* ---- savepoints ---- */

static void clear_marks_from(npyext_table_writer *writer, int64_t first) {
    while (writer->nmarks > first)
        npyx_archive_mark_clear(&writer->marks[--writer->nmarks].archive);
}

/* The first mark of a savepoint not older than this one. */
static int64_t find_mark(const npyext_table_writer *writer, int savepoint) {
    int64_t i = 0;
    while (i < writer->nmarks && writer->marks[i].savepoint < savepoint)
        i++;
    return i;
}

static void transaction_release(npyext_table_writer *writer, int savepoint) {
    clear_marks_from(writer, find_mark(writer, savepoint));
    if (writer->empty_savepoint >= savepoint)
        writer->empty_savepoint = savepoint - 1; /* it is a part of the one around it now */
}

static npyx_status transaction_mark(npyext_table_writer *writer, int savepoint, npyx_error *error) {
    if (writer->state == NPYEXT_WRITER_CLOSED) {
        /* In the transaction that has made the table this is all that SQLite tells of an INSERT without rows.
         */
        writer->empty_savepoint = savepoint;
        writer->state = NPYEXT_WRITER_AWAITED;
    }
    if (!npyext_table_writer_is_open(writer))
        return NPYX_OK;
    transaction_release(writer, savepoint);
    writer->unmarked = savepoint;
    npyext_writer_mark *marks = npyx_grow(&writer->connection->host, writer->marks, writer->nmarks,
                                          &writer->capacity_nmarks, sizeof *marks);
    NPYX_TRY(npyx_check_memory(marks, error));
    writer->marks = marks;
    npyext_writer_mark *mark = &marks[writer->nmarks++];
    *mark = (npyext_writer_mark){.savepoint = savepoint, .nrows = writer->nrows};
    npyx_status status =
        writer->archive == NULL ? NPYX_OK : npyx_archive_writer_mark(writer->archive, &mark->archive, error);
    if (status == NPYX_OK)
        writer->unmarked = BEGINNING;
    else
        clear_marks_from(writer, writer->nmarks - 1);
    return status;
}

/* Takes the rows behind a mark out of the file. */
static npyx_status cut_back(const npyext_table_writer *writer, const npyext_writer_mark *mark,
                            npyx_error *error) {
    npyx_sink *sink = writer->target.sink;
    if (writer->archive != NULL)
        return npyx_archive_writer_return(writer->archive, &mark->archive, error);
    return npyx_sink_cut(sink, sink->nbytes - (writer->nrows - mark->nrows) * writer->row_nbytes, error);
}

static npyx_status transaction_return(npyext_table_writer *writer, int savepoint, npyx_error *error) {
    if (writer->state == NPYEXT_WRITER_AWAITED && writer->empty_savepoint >= savepoint)
        writer->state = NPYEXT_WRITER_CLOSED;
    if (!npyext_table_writer_is_open(writer))
        return NPYX_OK;
    npyext_table_writer_withdraw(writer);
    writer->has_taken_back = true;
    int64_t i = find_mark(writer, savepoint);
    bool is_marked = i < writer->nmarks && writer->marks[i].savepoint == savepoint;
    if (!is_marked && writer->unmarked == savepoint)
        return NPYX_OK; /* what was to follow it has not begun */
    const npyext_writer_mark *mark = &writer->marks[is_marked ? i : 0];
    writer->state = NPYEXT_WRITER_SPOILT; /* until the rows are out */
    NPYX_TRY(cut_back(writer, mark, error));
    writer->state = NPYEXT_WRITER_OPEN;
    writer->nrows = mark->nrows;
    clear_marks_from(writer, i + is_marked); /* the savepoint itself stays, to be returned to again */
    return NPYX_OK;
}

/* ---- xRollback ---- */

/* The archive is written to the target's sink, and goes first. */
static void close_archive(npyext_table_writer *writer) {
    npyx_archive_writer_close(writer->archive);
    writer->archive = NULL;
}

static void close_transaction(npyext_table_writer *writer) {
    npyext_published *record = record_of(writer); /* there is one: begin made it */
    transaction_release(writer, BEGINNING);
    npyext_array_builder_clear(&writer->row);
    writer->state = NPYEXT_WRITER_CLOSED;
    if (record != NULL && record->owner == writer)
        record->owner = NULL;
}

/* Cutting off what was added is no change by others. */
static void record_cut(const npyext_table_writer *writer, npyext_published *record) {
    npyx_file_info now;
    if (npyx_file_info_of_path(&writer->connection->host, writer->path, &now) &&
        now.inode == record->info.inode && now.device == record->info.device &&
        now.nbytes == record->info.nbytes)
        record->info = now;
}

static void transaction_rollback(npyext_table_writer *writer) {
    if (npyext_table_writer_is_open(writer)) {
        npyext_published *record = record_of(writer);
        close_archive(writer);
        npyx_target_abandon(&writer->target);
        if (record != NULL)
            record_cut(writer, record);
        close_transaction(writer);
    }
    writer->state = NPYEXT_WRITER_CLOSED;
}

/* ---- xBegin ---- */

/* Describes the array that rows are added to. What is locked is read, and not what is at the path. */
static npyx_status read_header(const npyext_table_writer *writer, npyx_array *array, npyx_error *error) {
    uint8_t head[NPYX_HEADER_NPY_USUAL_NBYTES];
    size_t head_nbytes = 0;
    npyx_source *source = NULL;
    NPYX_TRY(npyx_source_open_sink(writer->target.sink, &source, error));
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

/* Of several arrays that were saved one after the other rows would take the place of the next one. */
static npyx_status check_behind(npyx_sink *sink, int64_t end_off, npyx_error *error) {
    char behind[16];
    size_t nbytes = (size_t)(sink->nbytes - end_off);
    nbytes = nbytes < sizeof behind ? nbytes : sizeof behind;
    if (nbytes > 0)
        NPYX_TRY(npyx_sink_read(sink, end_off, behind, nbytes, error));
    if (!npyx_begins_npy(behind, nbytes))
        return NPYX_OK;
    return npyx_fail(
        error, NPYX_INVALID, end_off,
        "another array begins where this one ends (byte %" PRId64
        "): rows would be written over it; write the arrays to an .npz, or each to a .npy of its own",
        end_off);
}

/* Takes the header of the array that more rows are added to; *end_off is where its rows end. */
static npyx_status take_header(npyext_table_writer *writer, npyx_array *array, int64_t *end_off,
                               npyx_error *error) {
    NPYX_TRY(read_header(writer, array, error));
    if (!is_as_declared(writer, array))
        return npyx_refuse(error, "has changed since the table was made; drop the table and create it anew");
    writer->nrows_before = array->shape[0];
    writer->header_nbytes = (size_t)array->data_off;
    writer->version_major = array->version_major;
    *end_off = array->data_off + array->nbytes;
    return check_behind(writer->target.sink, *end_off, error);
}

static npyx_status find_end(npyext_table_writer *writer, int64_t *end_off, npyx_error *error) {
    npyx_array array;
    npyx_array_init(&array, &writer->connection->host);
    npyx_status status = take_header(writer, &array, end_off, error);
    npyx_array_clear(&array);
    return status;
}

/* Goes to where the rows end. What lies behind them belongs to nothing, but it stays until the COMMIT: such a
 * file is copied, and the copy added to. */
static npyx_status go_to_end(npyext_table_writer *writer, npyx_error *error) {
    npyx_host *host = &writer->connection->host;
    int64_t end_off = 0;
    NPYX_TRY(find_end(writer, &end_off, error));
    if (writer->target.sink->nbytes == end_off)
        return NPYX_OK;
    npyx_target_abandon(&writer->target);
    NPYX_TRY(npyx_target_open(&writer->target, host, NPYX_TARGET_COPY, writer->path, error));
    NPYX_TRY(find_end(writer, &end_off, error));
    return npyx_sink_cut(writer->target.sink, end_off, error);
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
        writer->version_major = (uint8_t)header.bytes[6];
        status = npyx_sink_append(writer->target.sink, header.bytes, header.nbytes, error);
    }
    npyx_buffer_clear(&header);
    return status;
}

/* Room for the row at hand. */
static npyx_status make_room_for_row(npyext_table_writer *writer, npyx_error *error) {
    uint8_t *items = NULL;
    npyext_array_builder *row = &writer->row;
    NPYX_TRY(npyext_array_builder_begin(row, writer->connection, error));
    row->dtype = writer->dtype;
    row->is_dtype_given = true;
    return npyext_items_reserve(&row->out, row->dtype, writer->row_nelem, &items, error);
}

/* NPYX_INVALID when the file is not the one that this table has written. */
static npyx_status check_published(const npyext_table_writer *writer, const npyext_published *record,
                                   npyx_error *error) {
    npyx_file_info now;
    if (npyx_target_info(&writer->target, &now) && npyx_file_info_is_same(&now, &record->info))
        return NPYX_OK;
    return npyx_refuse(error, "is no longer as this table has written it; drop the table and create it anew");
}

static npyx_status open_target(npyext_table_writer *writer, const npyext_published *record,
                               npyx_error *error) {
    npyx_host *host = &writer->connection->host;
    bool is_npy = writer->format == NPYX_FORMAT_NPY;
    npyx_target_kind kind = is_npy ? NPYX_TARGET_EXTEND : NPYX_TARGET_COPY;
    npyx_status status = NPYX_NOT_FOUND;
    if (record->is_published || writer->adds)
        status = npyx_target_open(&writer->target, host, kind, writer->path, error);
    writer->is_new = status == NPYX_NOT_FOUND && !record->is_published; /* there is nothing to add to yet */
    NPYX_TRY(writer->is_new ? npyx_target_open(&writer->target, host, NPYX_TARGET_NEW, writer->path, error)
                            : status);
    writer->state = NPYEXT_WRITER_OPEN;
    if (record->is_published)
        NPYX_TRY(check_published(writer, record, error));
    if (!is_npy)
        return npyx_archive_writer_open(writer->target.sink, writer->format, &writer->archive, error);
    NPYX_TRY(make_room_for_row(writer, error));
    return writer->is_new ? reserve_header(writer, error) : go_to_end(writer, error);
}

static npyx_status transaction_begin(npyext_table_writer *writer, npyx_error *error) {
    npyext_published *record = record_of(writer);
    NPYX_TRY(npyx_check_memory(record, error));
    npyx_status lost = writer->lost.status;
    writer->lost.status = NPYX_OK;
    if (lost != NPYX_OK)
        return npyx_fail(error, lost, -1, "what the last COMMIT wrote is lost: %s", writer->lost.message);
    if (npyext_table_writer_is_open(writer))
        return NPYX_OK;
    if (record->owner != NULL)
        return npyx_refuse(error,
                           "this transaction has written rows and then changed a schema; commit it first");
    writer->nrows = writer->nrows_before = 0;
    writer->has_taken_back = false;
    npyx_status status = open_target(writer, record, error);
    if (status == NPYX_OK)
        status = transaction_mark(writer, BEGINNING, error);
    if (status == NPYX_OK)
        record->owner = writer;
    else
        transaction_rollback(writer);
    return status;
}

/* ---- xSync and xCommit ---- */

/* Two tables of a connection may write the same file in one transaction. The one that is published later has
 * the path, as if the other one had committed before: so that one makes way, and lets go of the lock. */
static npyx_status supersede_others(npyext_table_writer *writer, npyx_error *error) {
    for (npyext_published *record = writer->connection->published; record != NULL; record = record->next) {
        npyext_table_writer *other = record->owner;
        if (other == NULL || other == writer || !npyx_target_is_at_path_of(&other->target, &writer->target))
            continue;
        if (other->state == NPYEXT_WRITER_PREPARED && !writer->is_new)
            return npyx_refuse(
                error, "is written by another table of this transaction, too; commit one of them first");
        npyx_target_yield(&other->target); /* it may hold the lock since a COMMIT that was put off */
        if (other->state == NPYEXT_WRITER_PREPARED)
            other->state = NPYEXT_WRITER_SUPERSEDED;
    }
    return NPYX_OK;
}

/* The header with the number of rows, to be written when all of them are on disk. */
static npyx_status seal_header(npyext_table_writer *writer, npyx_error *error) {
    npyx_buffer header = {.host = &writer->connection->host};
    npyx_array array;
    int64_t nrows = npyext_table_writer_next(writer);
    if (writer->shape[0] >= 0 && nrows != writer->shape[0])
        return npyx_refuse(error, "the shape says %" PRId64 " rows, and there are %" PRId64, writer->shape[0],
                           nrows);
    NPYX_TRY(npyext_table_writer_measure(writer, nrows, &array, error));
    npyx_status status =
        npyx_header_npy_append_fitted(writer->dtype, writer->ndim, array.shape, writer->version_major,
                                      writer->header_nbytes, &header, error);
    if (status == NPYX_OK)
        status = npyx_target_seal(&writer->target, 0, header.bytes, header.nbytes, error);
    npyx_buffer_clear(&header);
    return status;
}

/* *does_one: a database on disk has its own part in the transaction. Its commit, which comes between xSync
 * and xCommit, may fail or be put off (SQLITE_BUSY). TEMP is always written to by an INSERT into a table of
 * its own; that cannot fail. */
static npyx_status look_for_others(sqlite3 *db, bool *does_one, npyx_error *error) {
    sqlite3_stmt *statement = NULL;
    *does_one = false;
    int code = sqlite3_prepare_v2(db, "PRAGMA database_list", -1, &statement, NULL);
    while (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        const char *schema = (const char *)sqlite3_column_text(statement, 1);
        *does_one = *does_one || schema == NULL ||
                    (strcmp(schema, "temp") != 0 && sqlite3_txn_state(db, schema) == SQLITE_TXN_WRITE);
    }
    if (code == SQLITE_OK)
        code = sqlite3_finalize(statement);
    if (code == SQLITE_NOMEM)
        return npyx_fail_nomem(error);
    if (code == SQLITE_INTERRUPT)
        return npyx_fail(error, NPYX_INTERRUPTED, -1, "interrupted");
    *does_one = *does_one || code != SQLITE_OK; /* an authorizer's no says nothing */
    return NPYX_OK;
}

/* Whether the table is there. A ROLLBACK TO a savepoint older than its CREATE takes it away, and SQLite does
 * not tell it so when nothing but single rows came in between. */
static bool is_declared(const npyext_table_writer *writer) {
    return sqlite3_table_column_metadata(writer->connection->db, "temp", writer->table, NULL, NULL, NULL,
                                         NULL, NULL, NULL) != SQLITE_ERROR;
}

static npyx_status transaction_sync(npyext_table_writer *writer, npyx_error *error) {
    if (writer->state != NPYEXT_WRITER_CLOSED && !is_declared(writer))
        transaction_rollback(writer);
    if (writer->state == NPYEXT_WRITER_AWAITED)
        NPYX_TRY(transaction_begin(writer, error));
    if (!npyext_table_writer_is_open(writer))
        return NPYX_OK;
    if (writer->state == NPYEXT_WRITER_SPOILT)
        return npyx_fail(error, NPYX_IO, -1,
                         "rows that a ROLLBACK TO should have taken out are still there; roll all back");
    npyext_table_writer_withdraw(writer);
    if (writer->nrows == 0 && (writer->has_taken_back || !writer->is_new)) {
        writer->state = NPYEXT_WRITER_VAIN;
        return NPYX_OK;
    }
    bool does_another_write = false;
    npyext_connection_begin(writer->connection);
    NPYX_TRY(writer->format == NPYX_FORMAT_NPY ? seal_header(writer, error)
                                               : npyx_archive_writer_finish(writer->archive, error));
    NPYX_TRY(supersede_others(writer, error));
    NPYX_TRY(npyx_target_prepare(&writer->target, error));
    writer->state = NPYEXT_WRITER_PREPARED;
    NPYX_TRY(look_for_others(writer->connection->db, &does_another_write, error));
    return does_another_write ? NPYX_OK : npyx_target_publish(&writer->target, error);
}

static void transaction_commit(npyext_table_writer *writer) {
    npyext_published *record = npyext_table_writer_is_open(writer) ? record_of(writer) : NULL;
    if (record == NULL)
        return;
    if (writer->state == NPYEXT_WRITER_VAIN) {
        transaction_rollback(writer);
        return;
    }
    close_archive(writer);
    /* the file that it has written is not at the path any more */
    bool is_superseded = writer->state == NPYEXT_WRITER_SUPERSEDED;
    npyx_status status = is_superseded ? NPYX_OK : npyx_target_commit(&writer->target, &writer->lost);
    if (is_superseded)
        npyx_target_abandon(&writer->target);
    if (status != NPYX_OK) { /* it has published nothing */
        sqlite3_log(npyext_code(status), "npyext: %s: a COMMIT was not published: %s", writer->path,
                    writer->lost.message);
        record_cut(writer, record);
    } else { /* of the file that was written: at its path there may be another one by now */
        record->is_published = true;
        record->info = (npyx_file_info){0};
        if (!is_superseded)
            npyx_target_info(&writer->target, &record->info);
    }
    writer->lost.status = status;
    close_transaction(writer);
}

npyx_status npyext_table_writer_go_on(npyext_table_writer *writer, npyext_writer_event event, int savepoint,
                                      npyx_error *error) {
    switch (event) {
    case NPYEXT_WRITER_BEGIN: return transaction_begin(writer, error);
    case NPYEXT_WRITER_SYNC: return transaction_sync(writer, error);
    case NPYEXT_WRITER_MARK: return transaction_mark(writer, savepoint, error);
    case NPYEXT_WRITER_RETURN: return transaction_return(writer, savepoint, error);
    case NPYEXT_WRITER_COMMIT: transaction_commit(writer); break;
    case NPYEXT_WRITER_ROLLBACK: transaction_rollback(writer); break;
    case NPYEXT_WRITER_RELEASE: transaction_release(writer, savepoint); break;
    }
    return NPYX_OK;
}
