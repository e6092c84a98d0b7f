#include "written.h"

#include "format/tar.h"

/* ---- the TEMP table ---- */

static int written_run(sqlite3 *db, char *sql) {
    int code = sql == NULL ? SQLITE_NOMEM : sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return code;
}

/* WITHOUT ROWID, since last_insert_rowid() belongs to the user. */
int npyext_written_create(npyext_connection *connection, const char *table) {
    return written_run(
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
        written_run(db, sqlite3_mprintf("DELETE FROM temp.npyext_written WHERE name = %Q", table)));
}

int npyext_written_rename(sqlite3 *db, const char *table, const char *new_table) {
    return written_ignore_missing(
        written_run(db, sqlite3_mprintf("UPDATE OR REPLACE temp.npyext_written SET name = %Q WHERE name = %Q",
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

/* There is one entry for each inode, since that of a file that is gone may be used again. */
void npyext_written_publish(npyext_connection *connection, const npyx_file_info *before,
                            const npyx_file_info *now) {
    npyx_file_info *replaced = before == NULL ? NULL : written_published(connection, before);
    npyx_file_info *known = written_published(connection, now);
    known = known == NULL ? replaced : known;
    if (known == NULL) {
        npyx_file_info *grown = npyx_grow(&connection->host, connection->published, connection->npublished,
                                          &connection->capacity_npublished, sizeof *grown);
        if (grown == NULL) /* the table then takes it for another file */
            return;
        connection->published = grown;
        known = &grown[connection->npublished++];
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

npyx_status npyext_written_note(npyext_connection *connection, const char *table,
                                const npyext_written *written, npyx_error *error) {
    int code = written_run(
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
