/*
 * What ends while something is open: PROGRAM npyext.so SCENARIO, in a folder that test_threads.py
 * fills. Nothing of a scenario may be left behind: no descriptor, no byte of SQLite's memory.
 */
#include "driver.h"

enum { NROWS = 1000, HALF = 500 };

/* A cursor in the middle of its rows, which are 0, 1, 2 ... */
static sqlite3_stmt *open_cursor(sqlite3 *db, const char *sql) {
    sqlite3_stmt *cursor = prepare(db, sql);
    for (int i = 0; i < HALF; i++) {
        if (sqlite3_step(cursor) != SQLITE_ROW)
            fail("%s: row %d: %s", sql, i, sqlite3_errmsg(db));
        CHECK(sqlite3_column_int(cursor, 0) == i);
    }
    return cursor;
}

/* Reads on, to the end or to an error, and closes it. */
static int finish(sqlite3_stmt *cursor) {
    int i = HALF, code;
    while ((code = sqlite3_step(cursor)) == SQLITE_ROW)
        CHECK(sqlite3_column_int(cursor, 0) == i++);
    CHECK(code != SQLITE_DONE || i == NROWS);
    sqlite3_finalize(cursor);
    return code;
}

static void close_db(sqlite3 *db) {
    CHECK(sqlite3_close(db) == SQLITE_OK);
}

/* ---- a cursor, and what happens to its transaction and its table meanwhile ---- */

static const char *const sources[] = {
    "SELECT value FROM npy_rows('counted.npy')",
    "SELECT value FROM npy_elements('counted.npy')",
    "SELECT value FROM npy_rows('counted.npz')",
    "SELECT value FROM npy_rows('counted.ten', 'x')",
    "SELECT value FROM typed",
    "SELECT value FROM temp_typed",
    "SELECT value FROM npy_rows((SELECT b FROM blobs))",
    "SELECT value FROM npy_rows('counted.npy') WHERE value >= 0",
};
enum { NSOURCES = sizeof sources / sizeof sources[0] };

static sqlite3 *open_database(void) {
    unlink("database.db");
    sqlite3 *db = open_loaded("database.db");
    must_run(db, "CREATE TABLE plain(x);"
                 "CREATE TABLE blobs AS SELECT npy_slice(array, ':') AS b FROM npy_file('counted.npy');"
                 "CREATE VIRTUAL TABLE typed USING npy('counted.npy');"
                 "CREATE VIRTUAL TABLE temp.temp_typed USING npy('counted.npy')");
    return db;
}

/* The event comes in the middle; whether the cursor goes on or ends as SQLite likes, the next query is whole.
 */
static void meet_event(const char *source, const char *before, const char *event, bool may_end) {
    sqlite3 *db = open_database();
    must_run(db, before);
    sqlite3_stmt *cursor = open_cursor(db, source);
    must_run(db, event);
    int code = finish(cursor);
    if (code != SQLITE_DONE && !(may_end && (code == SQLITE_ABORT || code == SQLITE_ABORT_ROLLBACK)))
        fail("%s; %s: %d", source, event, code);
    if (!sqlite3_get_autocommit(db))
        must_run(db, "COMMIT");
    CHECK(finish(open_cursor(db, source)) == SQLITE_DONE);
    close_db(db);
}

static void transactions(int nrounds) {
    (void)nrounds;
    for (int i = 0; i < NSOURCES; i++) {
        meet_event(sources[i], "BEGIN", "INSERT INTO plain VALUES (1); COMMIT", false);
        meet_event(sources[i], "BEGIN", "INSERT INTO plain VALUES (1); ROLLBACK", true);
        meet_event(sources[i], "BEGIN; CREATE TABLE more(x)", "ROLLBACK", true);
        meet_event(sources[i], "SAVEPOINT s", "INSERT INTO plain VALUES (1); ROLLBACK TO s; RELEASE s", true);
        meet_event(sources[i], "SELECT 1", "CREATE TABLE more(x); ALTER TABLE more RENAME TO other", false);
    }
}

/* The typed tables, while a cursor is open on them. */
static void drops(int nrounds) {
    (void)nrounds;
    static const char *const statements[] = {"DROP TABLE typed", "DROP TABLE temp_typed"};
    static const char *const selects[] = {"SELECT value FROM typed", "SELECT value FROM temp_typed"};
    for (int i = 0; i < 2; i++) {
        sqlite3 *db = open_database();
        sqlite3_stmt *cursor = open_cursor(db, selects[i]);
        CHECK(run(db, statements[i]) == SQLITE_LOCKED);
        CHECK(finish(cursor) == SQLITE_DONE);
        must_run(db, statements[i]);
        CHECK(run(db, selects[i]) == SQLITE_ERROR);
        close_db(db);
    }
    /* in a transaction that is rolled back the table is there again */
    sqlite3 *db = open_database();
    must_run(db, "BEGIN; DROP TABLE typed; ROLLBACK");
    CHECK(finish(open_cursor(db, selects[0])) == SQLITE_DONE);
    must_run(db, "ALTER TABLE typed RENAME TO renamed");
    CHECK(finish(open_cursor(db, "SELECT value FROM renamed")) == SQLITE_DONE);
    /* a database that is detached while its table is read */
    must_run(db, "ATTACH ':memory:' AS other; CREATE VIRTUAL TABLE other.t USING npy('counted.npy')");
    sqlite3_stmt *cursor = open_cursor(db, "SELECT value FROM other.t");
    CHECK(run(db, "DETACH other") == SQLITE_ERROR);
    CHECK(finish(cursor) == SQLITE_DONE);
    must_run(db, "DETACH other");
    close_db(db);
}

static const char make_out[] = "CREATE VIRTUAL TABLE temp.out USING npy('out.npy', mode='w+', dtype='<i8')";

static bool exists(const char *path) {
    return access(path, F_OK) == 0;
}

/* A statement that inserts what another cursor gives, row by row, and is left in the middle. */
static sqlite3_stmt *insert_half(sqlite3 *db) {
    sqlite3_stmt *cursor = open_cursor(db, sources[0]);
    sqlite3_stmt *insert = prepare(db, "INSERT INTO out VALUES (?)");
    for (int i = 0; i < HALF; i++) {
        sqlite3_bind_int(insert, 1, i);
        CHECK(sqlite3_step(insert) == SQLITE_DONE);
        CHECK(sqlite3_reset(insert) == SQLITE_OK);
    }
    sqlite3_finalize(insert);
    return cursor;
}

/* The table that writes, while a cursor is open beside it and its transaction ends. */
static void writing(int nrounds) {
    (void)nrounds;
    sqlite3 *db = open_database();
    unlink("out.npy");
    must_run(db, make_out);
    must_run(db, "BEGIN");
    sqlite3_stmt *cursor = insert_half(db);
    must_run(db, "COMMIT");
    CHECK(finish(cursor) == SQLITE_DONE);
    CHECK(integer_of(db, "SELECT count(*) FROM npy_rows('out.npy')") == HALF);

    must_run(db, "BEGIN");
    cursor = insert_half(db);
    must_run(db, "ROLLBACK");
    CHECK(finish(cursor) == SQLITE_DONE);
    CHECK(integer_of(db, "SELECT count(*) FROM npy_rows('out.npy')") == HALF);

    /* dropped in a transaction, with rows that nobody has committed: the DROP is part of it */
    must_run(db, "BEGIN");
    cursor = insert_half(db);
    int code = run(db, "DROP TABLE out");
    CHECK(code == SQLITE_OK || code == SQLITE_LOCKED);
    finish(cursor);
    must_run(db, "ROLLBACK");
    CHECK(integer_of(db, "SELECT count(*) FROM npy_rows('out.npy')") == HALF);
    run(db, "DROP TABLE IF EXISTS out");
    close_db(db);
}

/* ---- closing ---- */

static void busy(int nrounds) {
    (void)nrounds;
    for (int i = 0; i < NSOURCES; i++) {
        sqlite3 *db = open_database();
        sqlite3_stmt *cursor = open_cursor(db, sources[i]);
        CHECK(sqlite3_close(db) == SQLITE_BUSY);
        CHECK(finish(cursor) == SQLITE_DONE);
        close_db(db);
    }
}

/* A connection that is closed by close_v2 lives until its last statement does. */
static void zombies(int nrounds) {
    (void)nrounds;
    for (int i = 0; i < NSOURCES; i++) {
        sqlite3 *db = open_database();
        sqlite3_stmt *cursor = open_cursor(db, sources[i]);
        sqlite3_stmt *other = open_cursor(db, sources[(i + 1) % NSOURCES]);
        CHECK(sqlite3_close_v2(db) == SQLITE_OK);
        CHECK(finish(cursor) == SQLITE_DONE);
        sqlite3_finalize(other); /* in its middle */
    }
    /* what its transaction wrote is rolled back, as SQLite says */
    sqlite3 *db = open_database();
    unlink("zombie.npy");
    must_run(db, "CREATE VIRTUAL TABLE temp.out USING npy('zombie.npy', mode='w+', dtype='<i8'); BEGIN");
    sqlite3_stmt *cursor = insert_half(db);
    CHECK(sqlite3_close_v2(db) == SQLITE_OK);
    CHECK(finish(cursor) == SQLITE_DONE);
    CHECK(!exists("zombie.npy"));
}

/* Closing in a transaction that has written leaves the old file. */
static void closed_while_writing(int nrounds) {
    (void)nrounds;
    sqlite3 *db = open_database();
    unlink("left.npy");
    must_run(db, "CREATE VIRTUAL TABLE temp.out USING npy('left.npy', mode='w+', dtype='<i8'); BEGIN;"
                 "INSERT INTO out SELECT value FROM npy_rows('counted.npy')");
    close_db(db);
    CHECK(!exists("left.npy"));
}

/* Handles are bytes: they may outlive their connection, and then lead nowhere. */
static void handles(int nrounds) {
    (void)nrounds;
    sqlite3 *db = open_database();
    sqlite3_stmt *select = prepare(db, "SELECT array, npy_get(array, 7) FROM npy_file('counted.npy')");
    CHECK(sqlite3_step(select) == SQLITE_ROW && sqlite3_column_int(select, 1) == 7);
    int nbytes = sqlite3_column_bytes(select, 0);
    void *handle = malloc((size_t)nbytes);
    memcpy(handle, sqlite3_column_blob(select, 0), (size_t)nbytes);
    sqlite3_finalize(select);
    sqlite3_stmt *get = prepare(db, "SELECT npy_get(?, 8)");
    sqlite3_bind_blob(get, 1, handle, nbytes, SQLITE_TRANSIENT);
    CHECK(sqlite3_step(get) == SQLITE_ROW && sqlite3_column_int(get, 0) == 8);
    CHECK(sqlite3_close_v2(db) == SQLITE_OK);
    CHECK(sqlite3_step(get) == SQLITE_DONE);
    sqlite3_finalize(get);
    db = open_database();
    get = prepare(db, "SELECT npy_get(?, 8)");
    sqlite3_bind_blob(get, 1, handle, nbytes, SQLITE_TRANSIENT);
    CHECK(sqlite3_step(get) == SQLITE_ERROR);
    sqlite3_finalize(get);
    close_db(db);
    free(handle);
}

static void (*clean_run)(int);

/* Runs it twice: the second time leaves what the first did, which is nothing. */
static void run_cleanly(int nrounds) {
    clean_run(nrounds);
    int ndescriptors = count_descriptors();
    clean_run(nrounds);
    CHECK(count_descriptors() == ndescriptors);
    CHECK(sqlite3_memory_used() == 0);
}

#define CLEANLY(name)                                                                                        \
    static void name##_cleanly(int nrounds) {                                                                \
        clean_run = name;                                                                                    \
        run_cleanly(nrounds);                                                                                \
    }

CLEANLY(transactions)
CLEANLY(drops)
CLEANLY(writing)
CLEANLY(busy)
CLEANLY(zombies)
CLEANLY(closed_while_writing)
CLEANLY(handles)

int main(int argc, char **argv) {
    static const scenario scenarios[] = {
        {"transactions", transactions_cleanly}, {"drops", drops_cleanly},
        {"writing", writing_cleanly},           {"busy", busy_cleanly},
        {"zombies", zombies_cleanly},           {"closed_while_writing", closed_while_writing_cleanly},
        {"handles", handles_cleanly},
    };
    return run_scenario(argc, argv, scenarios, sizeof scenarios / sizeof scenarios[0]);
}
