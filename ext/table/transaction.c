/* The transactions of a table that writes (transaction.h). */

#include "transaction.h"

/* The first mark is of the beginning: that is where the table was at savepoints older than its transaction.
 */
enum { BEGINNING = -1 };

static npyext_published *record_of(const npyext_transaction *t) {
    return npyext_published_of(t->connection, t->table);
}

static void withdraw_targets(npyext_transaction *t) {
    npyx_target *target;
    for (int64_t i = 0; (target = t->ops->target(t, i)) != NULL; i++)
        npyx_target_withdraw(target);
}

void npyext_transaction_withdraw(npyext_transaction *t) {
    if (t->state == NPYEXT_WRITER_PREPARED)
        withdraw_targets(t);
    if (t->state >= NPYEXT_WRITER_VAIN)
        t->state = NPYEXT_WRITER_OPEN;
}

/* ---- savepoints ---- */

static void clear_marks_from(npyext_transaction *t, int64_t first) {
    while (t->nmarks > first) {
        void *place = t->marks[--t->nmarks].place;
        if (place != NULL)
            t->ops->unmark(t, place);
    }
}

/* The first mark of a savepoint not older than this one. */
static int64_t find_mark(const npyext_transaction *t, int savepoint) {
    int64_t i = 0;
    while (i < t->nmarks && t->marks[i].savepoint < savepoint)
        i++;
    return i;
}

static void transaction_release(npyext_transaction *t, int savepoint) {
    clear_marks_from(t, find_mark(t, savepoint));
    if (t->empty_savepoint >= savepoint)
        t->empty_savepoint = savepoint - 1; /* it is a part of the one around it now */
}

static npyx_status transaction_mark(npyext_transaction *t, int savepoint, npyx_error *error) {
    if (t->state == NPYEXT_WRITER_CLOSED) {
        /* In the transaction that has made the table this is all that SQLite tells of an INSERT without rows.
         */
        t->empty_savepoint = savepoint;
        t->state = NPYEXT_WRITER_AWAITED;
    }
    if (!npyext_transaction_is_open(t))
        return NPYX_OK;
    transaction_release(t, savepoint);
    t->unmarked = savepoint;
    npyext_transaction_mark *marks =
        npyx_grow(&t->connection->host, t->marks, t->nmarks, &t->capacity_nmarks, sizeof *marks);
    NPYX_TRY(npyx_check_memory(marks, error));
    t->marks = marks;
    npyext_transaction_mark *mark = &marks[t->nmarks];
    *mark = (npyext_transaction_mark){.savepoint = savepoint, .nrows = t->nrows};
    NPYX_TRY(t->ops->mark == NULL ? NPYX_OK : t->ops->mark(t, &mark->place, error));
    t->nmarks++;
    t->unmarked = BEGINNING;
    return NPYX_OK;
}

static npyx_status transaction_return(npyext_transaction *t, int savepoint, npyx_error *error) {
    if (t->state == NPYEXT_WRITER_AWAITED && t->empty_savepoint >= savepoint)
        t->state = NPYEXT_WRITER_CLOSED;
    if (!npyext_transaction_is_open(t))
        return NPYX_OK;
    npyext_transaction_withdraw(t);
    t->has_taken_back = true;
    int64_t i = find_mark(t, savepoint);
    bool is_marked = i < t->nmarks && t->marks[i].savepoint == savepoint;
    if (!is_marked && t->unmarked == savepoint)
        return NPYX_OK; /* what was to follow it has not begun */
    const npyext_transaction_mark *mark = &t->marks[is_marked ? i : 0];
    t->state = NPYEXT_WRITER_SPOILT; /* until the rows are out */
    NPYX_TRY(t->ops->cut_back(t, mark, error));
    t->state = NPYEXT_WRITER_OPEN;
    t->nrows = mark->nrows;
    clear_marks_from(t, i + is_marked); /* the savepoint itself stays, to be returned to again */
    return NPYX_OK;
}

/* ---- xRollback ---- */

static void close_transaction(npyext_transaction *t, bool is_published) {
    npyext_published *record = record_of(t); /* there is one: begin made it */
    transaction_release(t, BEGINNING);
    t->state = NPYEXT_WRITER_CLOSED;
    if (record != NULL && record->owner == t)
        record->owner = NULL;
    if (t->ops->closed != NULL)
        t->ops->closed(t, record, is_published);
}

/* Cutting off what was added is no change by others. */
static void record_cut(const npyext_transaction *t, npyext_published *record) {
    npyx_file_info now;
    if (npyx_file_info_of_path(&t->connection->host, t->path, &now) && now.inode == record->info.inode &&
        now.device == record->info.device && now.nbytes == record->info.nbytes)
        record->info = now;
}

static void transaction_rollback(npyext_transaction *t) {
    if (npyext_transaction_is_open(t)) {
        npyext_published *record = record_of(t);
        npyx_target *target;
        t->ops->close(t);
        for (int64_t i = 0; (target = t->ops->target(t, i)) != NULL; i++)
            npyx_target_abandon(target);
        if (record != NULL)
            record_cut(t, record);
        close_transaction(t, false);
    }
    t->state = NPYEXT_WRITER_CLOSED;
}

/* ---- xBegin ---- */

static npyx_status transaction_begin(npyext_transaction *t, npyx_error *error) {
    npyext_published *record = record_of(t);
    NPYX_TRY(npyx_check_memory(record, error));
    npyx_status lost = t->lost.status;
    t->lost.status = NPYX_OK;
    if (lost != NPYX_OK)
        return npyx_fail(error, lost, -1, "what the last COMMIT wrote is lost: %s", t->lost.message);
    if (npyext_transaction_is_open(t))
        return NPYX_OK;
    if (record->owner != NULL)
        return npyx_refuse(error,
                           "this transaction has written rows and then changed a schema; commit it first");
    t->nrows = 0;
    t->has_taken_back = false;
    t->state = NPYEXT_WRITER_OPEN;
    npyx_status status = t->ops->open(t, record, error);
    if (status == NPYX_OK)
        status = transaction_mark(t, BEGINNING, error);
    if (status == NPYX_OK)
        record->owner = t;
    else
        transaction_rollback(t);
    return status;
}

/* ---- xSync and xCommit ---- */

static bool is_at_path_of_one(npyext_transaction *t, const npyx_target *target) {
    npyx_target *own;
    for (int64_t i = 0; (own = t->ops->target(t, i)) != NULL; i++) {
        if (npyx_target_is_at_path_of(own, target))
            return true;
    }
    return false;
}

/* Makes another transaction's target make way, if it is for the same path. */
static npyx_status supersede_one(npyext_transaction *t, npyext_transaction *other, npyx_target *target,
                                 npyx_error *error) {
    if (!is_at_path_of_one(t, target))
        return NPYX_OK;
    bool gives_way = t->is_new && !target->is_tar; /* of a set of shards some would stay */
    if (other->state == NPYEXT_WRITER_PREPARED && !gives_way)
        return npyx_refuse(error,
                           "is written by another table of this transaction, too; commit one of them first");
    npyx_target_yield(target); /* it may hold the lock since a COMMIT that was put off */
    if (other->state == NPYEXT_WRITER_PREPARED)
        other->state = NPYEXT_WRITER_SUPERSEDED;
    return NPYX_OK;
}

/* Two tables of a connection may write the same file in one transaction. The one that is published later has
 * the path, as if the other one had committed before: so that one makes way, and lets go of the lock. */
static npyx_status supersede_others(npyext_transaction *t, npyx_error *error) {
    for (npyext_published *record = t->connection->published; record != NULL; record = record->next) {
        npyext_transaction *other = record->owner;
        npyx_target *target;
        for (int64_t i = 0; other != NULL && other != t && (target = other->ops->target(other, i)) != NULL;
             i++)
            NPYX_TRY(supersede_one(t, other, target, error));
    }
    return NPYX_OK;
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
static bool is_declared(const npyext_transaction *t) {
    return sqlite3_table_column_metadata(t->connection->db, "temp", t->table, NULL, NULL, NULL, NULL, NULL,
                                         NULL) != SQLITE_ERROR;
}

/* Of the targets of one transaction so many are open at a time while they take their places. One that is
 * further behind is for good then. */
enum { NOPEN_TARGETS = 64 };

static npyx_status prepare_target(npyx_target *target, npyx_error *error) {
    NPYX_TRY(npyx_target_resume(target, error));
    return npyx_target_prepare(target, error);
}

/* The first ones: what can be in the way of the others is met by the commit. */
static npyx_status prepare_targets(npyext_transaction *t, npyx_error *error) {
    npyx_target *target;
    for (int64_t i = 0; i < NOPEN_TARGETS && (target = t->ops->target(t, i)) != NULL; i++)
        NPYX_TRY(prepare_target(target, error));
    return NPYX_OK;
}

static npyx_status publish_targets(npyext_transaction *t, npyx_error *error) {
    npyx_target *target;
    for (int64_t i = 0; (target = t->ops->target(t, i)) != NULL; i++) {
        if (!npyx_target_is_prepared(target))
            NPYX_TRY(prepare_target(target, error));
        NPYX_TRY(npyx_target_publish(target, error));
        if (i >= NOPEN_TARGETS - 1)
            NPYX_TRY(npyx_target_commit(t->ops->target(t, i - (NOPEN_TARGETS - 1)), error));
    }
    return NPYX_OK;
}

static npyx_status transaction_sync(npyext_transaction *t, npyx_error *error) {
    if (t->state != NPYEXT_WRITER_CLOSED && !is_declared(t))
        transaction_rollback(t);
    if (t->state == NPYEXT_WRITER_AWAITED)
        NPYX_TRY(transaction_begin(t, error));
    if (!npyext_transaction_is_open(t))
        return NPYX_OK;
    if (t->state == NPYEXT_WRITER_SPOILT)
        return npyx_fail(error, NPYX_IO, -1,
                         "rows that a ROLLBACK TO should have taken out are still there; roll all back");
    npyext_transaction_withdraw(t);
    if (t->nrows == 0 && (t->has_taken_back || !t->is_new)) {
        t->state = NPYEXT_WRITER_VAIN;
        return NPYX_OK;
    }
    bool does_another_write = false;
    npyext_connection_begin(t->connection);
    NPYX_TRY(t->ops->finish(t, error));
    NPYX_TRY(supersede_others(t, error));
    t->state = NPYEXT_WRITER_PREPARED; /* also when only some are: all are withdrawn then */
    NPYX_TRY(prepare_targets(t, error));
    NPYX_TRY(look_for_others(t->connection->db, &does_another_write, error));
    return does_another_write ? NPYX_OK : publish_targets(t, error);
}

static npyx_status commit_target(npyx_target *target, npyx_error *error) {
    npyx_status status = npyx_target_is_prepared(target) ? NPYX_OK : prepare_target(target, error);
    if (status == NPYX_OK)
        return npyx_target_commit(target, error);
    npyx_target_abandon(target);
    return status;
}

/* Those before one that fails are for good; of the others nothing is. */
static npyx_status commit_targets(npyext_transaction *t, npyx_file_info *info) {
    npyx_status status = NPYX_OK;
    npyx_target *target;
    for (int64_t i = 0; (target = t->ops->target(t, i)) != NULL; i++) {
        bool is_superseded = t->state == NPYEXT_WRITER_SUPERSEDED;
        *info = (npyx_file_info){0};
        if (target->file != NULL && (status != NPYX_OK || is_superseded))
            npyx_target_abandon(target);
        else if (target->file != NULL)
            status = commit_target(target, &t->lost);
        if (status == NPYX_OK && !is_superseded)
            npyx_target_info(target, info);
    }
    return status;
}

static void transaction_commit(npyext_transaction *t) {
    npyext_published *record = npyext_transaction_is_open(t) ? record_of(t) : NULL;
    npyx_file_info info = {0};
    if (record == NULL)
        return;
    if (t->state == NPYEXT_WRITER_VAIN) {
        transaction_rollback(t);
        return;
    }
    t->ops->close(t);
    npyx_status status = commit_targets(t, &info);
    if (status != NPYX_OK) { /* it has published nothing */
        sqlite3_log(npyext_code(status), "npyext: %s: a COMMIT was not published: %s", t->path,
                    t->lost.message);
        record_cut(t, record);
    } else { /* of the file that was written: at its path there may be another one by now */
        record->is_published = true;
        record->info = info;
    }
    t->lost.status = status;
    close_transaction(t, status == NPYX_OK);
}

npyx_status npyext_transaction_go_on(npyext_transaction *t, npyext_writer_event event, int savepoint,
                                     npyx_error *error) {
    switch (event) {
    case NPYEXT_WRITER_BEGIN: return transaction_begin(t, error);
    case NPYEXT_WRITER_SYNC: return transaction_sync(t, error);
    case NPYEXT_WRITER_MARK: return transaction_mark(t, savepoint, error);
    case NPYEXT_WRITER_RETURN: return transaction_return(t, savepoint, error);
    case NPYEXT_WRITER_COMMIT: transaction_commit(t); break;
    case NPYEXT_WRITER_ROLLBACK: transaction_rollback(t); break;
    case NPYEXT_WRITER_RELEASE: transaction_release(t, savepoint); break;
    }
    return NPYX_OK;
}

void npyext_transaction_clear(npyext_transaction *t) {
    transaction_rollback(t);
    npyx_free(&t->connection->host, t->marks);
    t->marks = NULL;
}
