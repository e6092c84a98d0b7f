/* INSERT, and the transactions it stands in: what SQLite asks of tables that write. */
#include <inttypes.h>

#include "table_writer.h"

/* Of a table that reads NULL: it has no part in transactions. */
static npyext_table_writer *writer_of(sqlite3_vtab *vtab) {
    return ((npyext_table *)vtab)->writer;
}

static int update_report(sqlite3_vtab *vtab, npyx_status status, const npyx_error *error) {
    if (status == NPYX_OK)
        return SQLITE_OK;
    npyext_place place = {.path = ((npyext_table *)vtab)->declaration.arguments[NPYEXT_TABLE_PATH]};
    return npyext_report(vtab, place, error);
}

static npyx_status fail_reading(const npyext_table *table, npyx_error *error) {
    if (table->is_damaged) {
        *error = table->damage;
        return error->status;
    }
    return npyx_fail(error, NPYX_INVALID, -1,
                     "table %.60s reads this file; one that writes is made with mode='w+' or mode='a', as in "
                     "CREATE VIRTUAL TABLE temp.out USING npy('out.npy', mode='w+', dtype='float32')",
                     table->name);
}

/* An explicit rowid can only be the one that comes next. */
static npyx_status check_rowid(const npyext_table_writer *writer, sqlite3_value *value, npyx_error *error) {
    int64_t next = npyext_table_writer_next(writer);
    if (sqlite3_value_type(value) == SQLITE_NULL || sqlite3_value_int64(value) == next)
        return NPYX_OK;
    return npyx_fail(error, NPYX_INVALID, -1,
                     "rows are added at the end: the next rowid is %" PRId64 ", not %" PRId64, next,
                     (int64_t)sqlite3_value_int64(value));
}

/* A row that does not fit is a constraint that fails: INSERT OR IGNORE goes on without it. */
int npyext_table_update(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid) {
    npyext_table_writer *writer = writer_of(vtab);
    npyx_error error;
    npyx_status status;
    int64_t row = 0;
    if (writer == NULL)
        return update_report(vtab, fail_reading((npyext_table *)vtab, &error), &error);
    if (argc == 1 || sqlite3_value_type(argv[0]) != SQLITE_NULL)
        return update_report(vtab,
                             npyx_fail(&error, NPYX_INVALID, -1, "rows can be added, not %s",
                                       argc == 1 ? "deleted" : "changed"),
                             &error);
    if (!npyext_table_writer_is_open(
            writer)) { /* SQLite leaves xBegin out in the transaction that has made the table */
        status = npyext_table_writer_begin(writer, &error);
        if (status != NPYX_OK)
            return update_report(vtab, status, &error);
    }
    status = check_rowid(writer, argv[1], &error);
    if (status == NPYX_OK)
        status = npyext_table_writer_insert(writer, argv + 2, &row, &error);
    *rowid = row;
    int code = update_report(vtab, status, &error);
    return status == NPYX_INVALID && code == SQLITE_ERROR ? SQLITE_CONSTRAINT : code;
}

int npyext_table_begin(sqlite3_vtab *vtab) {
    npyx_error error;
    npyext_table_writer *writer = writer_of(vtab);
    return writer == NULL ? SQLITE_OK
                          : update_report(vtab, npyext_table_writer_begin(writer, &error), &error);
}

int npyext_table_sync(sqlite3_vtab *vtab) {
    npyx_error error;
    npyext_table_writer *writer = writer_of(vtab);
    return writer == NULL ? SQLITE_OK
                          : update_report(vtab, npyext_table_writer_prepare(writer, &error), &error);
}

int npyext_table_commit(sqlite3_vtab *vtab) {
    npyext_table_writer *writer = writer_of(vtab);
    if (writer != NULL)
        npyext_table_writer_commit(writer);
    return SQLITE_OK;
}

int npyext_table_rollback(sqlite3_vtab *vtab) {
    npyext_table_writer *writer = writer_of(vtab);
    if (writer != NULL)
        npyext_table_writer_rollback(writer);
    return SQLITE_OK;
}

int npyext_table_savepoint(sqlite3_vtab *vtab, int savepoint) {
    npyx_error error;
    npyext_table_writer *writer = writer_of(vtab);
    return writer == NULL ? SQLITE_OK
                          : update_report(vtab, npyext_table_writer_mark(writer, savepoint, &error), &error);
}

int npyext_table_release(sqlite3_vtab *vtab, int savepoint) {
    npyext_table_writer *writer = writer_of(vtab);
    if (writer != NULL)
        npyext_table_writer_release(writer, savepoint);
    return SQLITE_OK;
}

int npyext_table_rollback_to(sqlite3_vtab *vtab, int savepoint) {
    npyx_error error;
    npyext_table_writer *writer = writer_of(vtab);
    return writer == NULL
               ? SQLITE_OK
               : update_report(vtab, npyext_table_writer_return(writer, savepoint, &error), &error);
}
