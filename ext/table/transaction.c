#include "transaction.h"

#include <limits.h>

#include "format/zip_write.h"

/* ---- what outlives a transaction: the TEMP table ---- */

/* WITHOUT ROWID, since last_insert_rowid() belongs to the user. */
int npyext_written_create(npyext_connection *connection, const char *table) {
    return npyext_run(
        connection->db,
        sqlite3_mprintf(
            "CREATE TABLE IF NOT EXISTS temp.npyext_written(name TEXT PRIMARY KEY COLLATE NOCASE, "
            "made INTEGER, device INTEGER, inode INTEGER, number INTEGER) WITHOUT ROWID;"
            "INSERT OR REPLACE INTO temp.npyext_written(name, made) VALUES (%Q, %lld)",
            table, (sqlite3_int64)++connection->ntables_made));
}

/* Without the TEMP table there is nothing to forget or rename. */
static int written_ignore_missing(int code) {
    return code == SQLITE_ERROR ? SQLITE_OK : code;
}

int npyext_written_forget(sqlite3 *db, const char *table) {
    return written_ignore_missing(
        npyext_run(db, sqlite3_mprintf("DELETE FROM temp.npyext_written WHERE name = %Q", table)));
}

int npyext_written_rename(sqlite3 *db, const char *table, const char *new_table) {
    return written_ignore_missing(
        npyext_run(db, sqlite3_mprintf("UPDATE OR REPLACE temp.npyext_written SET name = %Q WHERE name = %Q",
                                       new_table, table)));
}

static npyx_status written_fail(sqlite3 *db, int code, const char *table, npyx_error *error) {
    NPYX_TRY(npyext_fail_code(code, error));
    return npyx_fail(error, NPYX_IO, -1,
                     "table temp.npyext_written, which records what is written, cannot be used (%.200s); "
                     "drop %.60s and create it again",
                     sqlite3_errmsg(db), table);
}

/* ---- what was published ---- */

static npyx_file_info *written_published(const npyext_connection *connection, const npyx_file_info *file) {
    for (int64_t i = 0; i < connection->npublished; i++) {
        npyx_file_info *info = &connection->published[i];
        if (info->device == file->device && info->inode == file->inode)
            return info;
    }
    return NULL;
}

/* Notes what the file before is like now, or which file has taken its place; before may be NULL. There is one
 * entry for each inode, since that of a file that is gone may be used again. */
static void written_remember(npyext_connection *connection, const npyx_file_info *before,
                             const npyx_file_info *now) {
    npyx_file_info *replaced = before == NULL ? NULL : written_published(connection, before);
    npyx_file_info *known = written_published(connection, now);
    known = known == NULL ? replaced : known;
    if (known == NULL) {
        if (npyx_grow(&connection->host, &connection->published, connection->npublished,
                      &connection->capacity_npublished, sizeof connection->published[0], NULL) != NPYX_OK)
            return; /* the table then takes it for another file */
        known = &connection->published[connection->npublished++];
    }
    *known = *now;
    if (replaced != NULL && replaced != known)
        *replaced = connection->published[--connection->npublished];
}

npyx_status npyext_written_find(npyext_connection *connection, const char *table, npyext_written *written,
                                npyx_error *error) {
    sqlite3_stmt *statement = NULL;
    sqlite3 *db = connection->db;
    *written = (npyext_written){0};
    int code =
        sqlite3_prepare_v2(db, "SELECT made, device, inode, number FROM temp.npyext_written WHERE name = ?1",
                           -1, &statement, NULL);
    if (code == SQLITE_ERROR) /* there is no such table */
        return NPYX_OK;
    if (code == SQLITE_OK)
        code = sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW) {
        written->made = sqlite3_column_int64(statement, 0);
        written->is_there = sqlite3_column_type(statement, 1) != SQLITE_NULL;
        written->info.device = (uint64_t)sqlite3_column_int64(statement, 1);
        written->info.inode = (uint64_t)sqlite3_column_int64(statement, 2);
        written->number = sqlite3_column_int64(statement, 3);
        const npyx_file_info *known =
            written->is_there ? written_published(connection, &written->info) : NULL;
        written->has_info = known != NULL;
        if (known != NULL)
            written->info = *known;
    }
    sqlite3_finalize(statement);
    return code == SQLITE_ROW || code == SQLITE_DONE ? NPYX_OK : written_fail(db, code, table, error);
}

/* Notes that the table writes this file. */
static npyx_status written_note(npyext_connection *connection, const char *table,
                                const npyext_written *written, npyx_error *error) {
    int code = npyext_run(
        connection->db,
        sqlite3_mprintf("INSERT OR REPLACE INTO temp.npyext_written VALUES (%Q, %lld, %lld, %lld, %lld)",
                        table, (sqlite3_int64)written->made, (sqlite3_int64)written->info.device,
                        (sqlite3_int64)written->info.inode, (sqlite3_int64)written->number));
    return code == SQLITE_OK ? NPYX_OK : written_fail(connection->db, code, table, error);
}

npyx_status npyext_written_check(const npyext_written *written, const npyx_file_info *info,
                                 npyx_error *error) {
    if (written->has_info && npyx_file_info_is_same(info, &written->info))
        return NPYX_OK;
    return npyx_refuse(error, "is no longer as this table wrote it; drop the table and create it again");
}

/* Numbers of marks that are not savepoints: of the beginning, where the table was at savepoints older than
 * its first row, and of the current statement, newer than all savepoints. */
enum { BEGINNING = -1, STATEMENT = INT_MAX };

/* ---- opening and closing ---- */

static void clear_marks_from(npyext_transaction *t, int64_t first) {
    while (t->nmarks > first)
        npyx_free(&t->connection->host, t->marks[--t->nmarks].place);
}

/* Its targets must be closed. */
static void transaction_close(npyext_transaction *t) {
    npyext_transaction **link = &t->connection->open_transactions;
    while (*link != t)
        link = &(*link)->next;
    *link = t->next;
    clear_marks_from(t, 0);
    t->ntargets = 0;
    t->state = NPYEXT_TRANSACTION_CLOSED;
}

static void transaction_rollback(npyext_transaction *t) {
    if (!npyext_transaction_is_open(t))
        return;
    if (t->ops->close != NULL)
        t->ops->close(t);
    for (int64_t i = 0; i < t->ntargets; i++)
        npyx_target_abandon(&t->targets[i]);
    transaction_close(t);
}

/* Whether the table that the rows went to is gone. A ROLLBACK TO a savepoint older than its CREATE removes
 * it, and may bring back an older one of the same name; SQLite does not tell the table if only single rows
 * came in between. */
static bool is_of_no_table(npyext_connection *connection, const char *table, int64_t made) {
    npyext_written now;
    if (npyext_written_find(connection, table, &now, NULL) == NPYX_OK && now.made > 0)
        return now.made != made;
    return sqlite3_table_column_metadata(connection->db, "temp", table, NULL, NULL, NULL, NULL, NULL, NULL) ==
           SQLITE_ERROR;
}

static npyext_transaction *transaction_named(const npyext_connection *connection, const char *table) {
    npyext_transaction *t = connection->open_transactions;
    while (t != NULL && sqlite3_stricmp(t->table, table) != 0)
        t = t->next;
    return t;
}

npyext_transaction *npyext_transaction_open_of(npyext_connection *connection, const char *table) {
    npyext_transaction *t = transaction_named(connection, table);
    if (t == NULL)
        return NULL;
    bool is_gone = is_of_no_table(connection, table, t->written.made);
    /* Where memory ran out in that statement, SQLite has rolled everything back, and there may be none. */
    t = transaction_named(connection, table);
    if (t == NULL || !is_gone)
        return t;
    transaction_rollback(t);
    return NULL;
}

/* Whether a table has rows pending for a path: its own, which may be a set's, or that of one of its
 * shards. */
static bool transaction_is_at(const npyext_transaction *t, const char *path) {
    npyx_host *host = &t->connection->host;
    bool is_at = npyx_target_is_same_path(host, t->path, path);
    for (int64_t i = 0; !is_at && i < t->ntargets; i++)
        is_at = npyx_target_is_at(&t->targets[i], host, path);
    return is_at;
}

static npyx_status transaction_check_path(const npyext_transaction *t, const char *path, npyx_error *error) {
    const npyext_transaction *other = t->connection->open_transactions;
    for (; other != NULL; other = other->next) {
        if (other != t && transaction_is_at(other, path))
            return npyx_refuse(error, "is being written to by table %.60s; commit its rows first",
                               other->table);
    }
    return NPYX_OK;
}

void npyext_transaction_drop_target(npyext_transaction *t) {
    npyx_target_abandon(&t->targets[--t->ntargets]);
}

npyx_status npyext_transaction_add_target(npyext_transaction *t, npyx_target target, npyx_target_kind kind,
                                          const char *path, npyx_error *error) {
    NPYX_TRY(npyx_grow(&t->connection->host, &t->targets, t->ntargets, &t->capacity_ntargets,
                       sizeof t->targets[0], error));
    NPYX_TRY(transaction_check_path(t, path, error));
    t->is_noted = false;
    npyx_target *added = &t->targets[t->ntargets++];
    *added = target;
    added->check_zip = npyx_zip_check_replaceable;
    npyx_status status = npyx_target_open(added, &t->connection->host, kind, path, error);
    if (status == NPYX_OK && t->written.is_there && kind != NPYX_TARGET_NEW)
        status = npyext_written_check(&t->written, &added->info, error);
    if (status != NPYX_OK)
        npyext_transaction_drop_target(t);
    return status;
}

/* ---- savepoints ---- */

/* The first mark whose savepoint is not older than this one. */
static int64_t find_mark(const npyext_transaction *t, int savepoint) {
    int64_t i = 0;
    while (i < t->nmarks && t->marks[i].savepoint < savepoint)
        i++;
    return i;
}

npyx_status npyext_transaction_savepoint(npyext_transaction *t, int savepoint, npyx_error *error) {
    clear_marks_from(t, find_mark(t, savepoint));
    t->unmarked = savepoint;
    NPYX_TRY(npyx_grow(&t->connection->host, &t->marks, t->nmarks, &t->capacity_nmarks, sizeof t->marks[0],
                       error));
    npyext_transaction_mark *mark = &t->marks[t->nmarks];
    *mark = (npyext_transaction_mark){.savepoint = savepoint, .nrows = t->nrows};
    NPYX_TRY(t->ops->mark == NULL ? NPYX_OK : t->ops->mark(t, &mark->place, error));
    t->nmarks++;
    t->unmarked = BEGINNING;
    return NPYX_OK;
}

/* Returns to a mark, which stays: a savepoint can be returned to again. */
static npyx_status transaction_return_to(npyext_transaction *t, int64_t number, npyx_error *error) {
    const npyext_transaction_mark *mark = &t->marks[number];
    if (mark->nrows == 0) {
        transaction_rollback(t);
        return NPYX_OK;
    }
    t->state = NPYEXT_TRANSACTION_SPOILT; /* until the rows are removed */
    NPYX_TRY(t->ops->cut_back(t, mark, error));
    t->state = NPYEXT_TRANSACTION_OPEN;
    t->nrows = mark->nrows;
    t->is_noted = false;
    clear_marks_from(t, number + 1);
    return NPYX_OK;
}

/* If a database on disk puts off a COMMIT (SQLITE_BUSY), rows may still be added or removed, because xSync
 * has only prepared. Only another virtual table can put it off after rows were published. */
static npyx_status transaction_check_unpublished(npyext_transaction *t, npyx_error *error) {
    if (!t->is_published)
        return NPYX_OK;
    return npyx_fail(error, NPYX_IO, -1, "has already been published; COMMIT or ROLLBACK");
}

/* A savepoint without a mark is older than the first row, or nothing has followed it. */
npyx_status npyext_transaction_rollback_to(npyext_transaction *t, int savepoint, npyx_error *error) {
    NPYX_TRY(transaction_check_unpublished(t, error));
    int64_t i = find_mark(t, savepoint);
    bool is_marked = i < t->nmarks && t->marks[i].savepoint == savepoint;
    if (!is_marked && t->unmarked == savepoint)
        return NPYX_OK;
    return transaction_return_to(t, is_marked ? i : 0, error);
}

npyx_status npyext_transaction_release(npyext_transaction *t, int savepoint, npyx_error *error) {
    (void)error;
    clear_marks_from(t, find_mark(t, savepoint));
    return NPYX_OK;
}

/* ---- rows ---- */

/* Reports a commit that could not report its failure itself. */
npyx_status npyext_transaction_begin(npyext_transaction *t, int savepoint, npyx_error *error) {
    (void)savepoint;
    npyx_status lost = t->lost.status;
    t->lost.status = NPYX_OK;
    return lost == NPYX_OK
               ? NPYX_OK
               : npyx_fail(error, lost, -1, "the rows of the last COMMIT were lost: %s", t->lost.message);
}

static npyx_status transaction_open(npyext_transaction *t, npyx_error *error) {
    npyext_connection_begin(t->connection);
    t->nrows = t->nrows_before = 0;
    t->is_noted = t->is_published = false;
    t->unmarked = BEGINNING;
    NPYX_TRY(npyext_written_find(t->connection, t->table, &t->written, error));
    t->state = NPYEXT_TRANSACTION_OPEN;
    t->next = t->connection->open_transactions;
    t->connection->open_transactions = t;
    npyx_status status = transaction_check_path(t, t->path, error);
    if (status == NPYX_OK)
        status = t->ops->open(t, error);
    if (status == NPYX_OK)
        status = npyext_transaction_savepoint(t, BEGINNING, error);
    if (status != NPYX_OK)
        transaction_rollback(t);
    return status;
}

static npyx_status transaction_fail_spoilt(npyx_error *error) {
    return npyx_fail(error, NPYX_IO, -1,
                     "rows that were to be removed are still there; ROLLBACK the transaction");
}

npyx_status npyext_transaction_begin_row(npyext_transaction *t, npyx_error *error) {
    if (t->state == NPYEXT_TRANSACTION_SPOILT)
        return transaction_fail_spoilt(error);
    return npyext_transaction_is_open(t) ? transaction_check_unpublished(t, error)
                                         : transaction_open(t, error);
}

/* If no row is left, everything is as before: nothing keeps others from the path. */
static npyx_status transaction_fail_row(npyext_transaction *t, npyx_status status) {
    if (t->nrows == 0)
        transaction_rollback(t);
    return status;
}

/* An explicit rowid must be the next one. */
static npyx_status transaction_check_rowid(sqlite3_value *value, int64_t next, npyx_error *error) {
    if (sqlite3_value_type(value) == SQLITE_NULL || sqlite3_value_int64(value) == next)
        return NPYX_OK;
    return npyx_refuse(error, "rows are added at the end: the next rowid is %" PRId64 ", not %" PRId64, next,
                       (int64_t)sqlite3_value_int64(value));
}

/* Notes, for mode 'w+', the file that is being written. */
static npyx_status transaction_note(npyext_transaction *t, npyx_error *error) {
    const npyext_written written = {
        .made = t->written.made, .info = npyext_transaction_last_target(t)->written, .number = t->number};
    NPYX_TRY(written_note(t->connection, t->table, &written, error));
    t->is_noted = true;
    return NPYX_OK;
}

/* If the note's own statement fails (no memory, an interrupt), SQLite may roll back everything there and
 * then. */
static npyx_status transaction_add(npyext_transaction *t, sqlite3_value *rowid, sqlite3_value **values,
                                   int64_t *added, npyx_error *error) {
    *added = t->nrows_before + t->nrows;
    NPYX_TRY(transaction_check_rowid(rowid, *added, error));
    npyx_status status = t->ops->insert(t, values, error);
    if (status != NPYX_OK)
        return npyx_error_place(error, status, "row %" PRId64, *added);
    status = t->is_own && !t->is_noted ? transaction_note(t, error) : NPYX_OK;
    if (status == NPYX_OK)
        t->nrows++;
    else if (t->nrows > 0 && npyext_transaction_is_open(t)) /* the row is in the file */
        t->state = NPYEXT_TRANSACTION_SPOILT;
    return status;
}

npyx_status npyext_transaction_insert(npyext_transaction *t, sqlite3_value *rowid, sqlite3_value **values,
                                      int64_t *added, npyx_error *error) {
    npyx_status status = transaction_add(t, rowid, values, added, error);
    return status == NPYX_OK ? status : transaction_fail_row(t, status);
}

/* Undoes what the statement has changed so far, unless the conflict clause keeps it. */
static npyx_status transaction_fail_change(npyext_transaction *t, npyx_status status) {
    int mode = sqlite3_vtab_on_conflict(t->connection->db);
    npyx_error unseen;
    bool stays = mode == SQLITE_FAIL || (mode == SQLITE_IGNORE && status == NPYX_INVALID);
    if (!stays && t->nmarks > 0 && t->marks[t->nmarks - 1].savepoint == STATEMENT)
        (void)!transaction_return_to(t, t->nmarks - 1, &unseen); /* SPOILT makes the COMMIT fail */
    return transaction_fail_row(t, status);
}

npyx_status npyext_transaction_update(npyext_transaction *t, int64_t rowid, sqlite3_value **values,
                                      npyx_error *error) {
    npyx_status status = t->is_statement_new ? npyext_transaction_savepoint(t, STATEMENT, error) : NPYX_OK;
    t->is_statement_new = t->is_statement_new && status != NPYX_OK;
    if (status == NPYX_OK)
        status = t->ops->update(t, rowid, values, error);
    if (status != NPYX_OK)
        return transaction_fail_change(t, npyx_error_place(error, status, "row %" PRId64, rowid));
    t->nrows++;
    return NPYX_OK;
}

/* ---- xSync and xCommit ---- */

/* Those that are not prepared yet are only checked, so that anything in their way is found in time. */
static npyx_status prepare_targets(const npyext_transaction *t, npyx_error *error) {
    for (int64_t i = 0; i < t->ntargets; i++)
        NPYX_TRY(i < NPYX_OPEN_NTARGETS ? npyx_target_prepare(&t->targets[i], error)
                                        : npyx_target_check(&t->targets[i], error));
    return NPYX_OK;
}

static npyx_status publish_targets(npyext_transaction *t, npyx_error *error) {
    t->is_published = true;
    for (int64_t i = 0; i < t->ntargets; i++) {
        NPYX_TRY(npyx_target_publish(&t->targets[i], error));
        if (i >= NPYX_OPEN_NTARGETS - 1)
            NPYX_TRY(npyx_target_commit(&t->targets[i - (NPYX_OPEN_NTARGETS - 1)], error));
    }
    return NPYX_OK;
}

npyx_status npyext_transaction_sync(npyext_transaction *t, int savepoint, npyx_error *error) {
    (void)savepoint;
    if (is_of_no_table(t->connection, t->table, t->written.made)) {
        transaction_rollback(t);
        return NPYX_OK;
    }
    if (t->state == NPYEXT_TRANSACTION_SPOILT)
        return transaction_fail_spoilt(error);
    npyext_connection_begin(t->connection);
    if (t->is_published) /* another virtual table has put off the COMMIT */
        return NPYX_OK;
    bool does_another_write = false;
    NPYX_TRY(t->ops->finish(t, error));
    NPYX_TRY(prepare_targets(t, error));
    NPYX_TRY(npyext_connection_writes_disk(t->connection, &does_another_write, error));
    return does_another_write ? NPYX_OK : publish_targets(t, error);
}

/* Targets before one that fails are published for good; it and those after it are not. */
static npyx_status commit_targets(npyext_transaction *t) {
    npyx_status status = NPYX_OK;
    for (int64_t i = 0; i < t->ntargets; i++) {
        npyx_target *target = &t->targets[i];
        if (status != NPYX_OK)
            npyx_target_abandon(target);
        else if (target->file != NULL)
            status = npyx_target_commit(target, &t->lost);
    }
    return status;
}

npyx_status npyext_transaction_commit(npyext_transaction *t, int savepoint, npyx_error *error) {
    (void)savepoint, (void)error;
    if (t->ops->close != NULL)
        t->ops->close(t);
    npyx_status status = commit_targets(t);
    const npyx_target *last = npyext_transaction_last_target(t);
    if (status != NPYX_OK)
        sqlite3_log(npyext_code(status), "npyext: %s: a COMMIT was not published: %s", t->path,
                    t->lost.message);
    else if (t->is_own && last->has_info) /* what the next transaction must find */
        written_remember(t->connection, t->written.has_info ? &t->written.info : NULL, &last->info);
    t->lost.status = status;
    transaction_close(t);
    return NPYX_OK;
}

npyx_status npyext_transaction_rollback(npyext_transaction *t, int savepoint, npyx_error *error) {
    (void)savepoint, (void)error;
    transaction_rollback(t);
    return NPYX_OK;
}

void npyext_transaction_free(npyext_transaction *t) {
    npyx_host *host = &t->connection->host;
    transaction_rollback(t);
    if (t->ops->clear != NULL)
        t->ops->clear(t);
    npyx_free(host, t->marks);
    npyx_free(host, t->targets);
    npyx_free(host, t);
}
