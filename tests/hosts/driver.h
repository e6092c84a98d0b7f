/* What the drivers of SQLite share: connections with the extension loaded, statements run to their end, and a
 * failure that ends the program. */
#ifndef DRIVER_H
#define DRIVER_H

#include <dirent.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *extension; /* the path of npyext.so */

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            fail("%s:%d: %s", __FILE__, __LINE__, #condition);                                               \
    } while (0)

static sqlite3 *open_plain(const char *path) {
    sqlite3 *db = NULL;
    CHECK(sqlite3_open(path, &db) == SQLITE_OK);
    sqlite3_busy_timeout(db, 60000);
    return db;
}

static void load(sqlite3 *db) {
    char *message = NULL;
    CHECK(sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL) == SQLITE_OK);
    if (sqlite3_load_extension(db, extension, "sqlite3_npyext_init", &message) != SQLITE_OK)
        fail("%s: %s", extension, message);
}

static sqlite3 *open_loaded(const char *path) {
    sqlite3 *db = open_plain(path);
    load(db);
    return db;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail("%s: %s", sql, sqlite3_errmsg(db));
    return statement;
}

static uint64_t add_bytes(uint64_t digest, const void *bytes, int nbytes) {
    for (int i = 0; i < nbytes; i++)
        digest = (digest ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
    return (digest ^ 0xff) * 1099511628211u;
}

/* A hash of all columns of all rows. */
static __attribute__((unused)) uint64_t digest_of(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = prepare(db, sql);
    uint64_t digest = 14695981039346656037u;
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const void *bytes = sqlite3_column_blob(statement, i);
            digest = add_bytes(digest, bytes, sqlite3_column_bytes(statement, i));
        }
    }
    if (code != SQLITE_DONE)
        fail("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_finalize(statement);
    return digest;
}

static int run(sqlite3 *db, const char *sql) {
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

static __attribute__((unused)) void must_run(sqlite3 *db, const char *sql) {
    if (run(db, sql) != SQLITE_OK)
        fail("%s: %s", sql, sqlite3_errmsg(db));
}

static __attribute__((unused)) int64_t integer_of(sqlite3 *db, const char *sql) {
    sqlite3_stmt *statement = prepare(db, sql);
    int code = sqlite3_step(statement);
    if (code != SQLITE_ROW)
        fail("%s: %s", sql, code == SQLITE_DONE ? "no row" : sqlite3_errmsg(db));
    int64_t integer = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return integer;
}

static __attribute__((unused)) double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static __attribute__((unused)) int count_descriptors(void) {
    int n = 0;
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder != NULL);
    while (readdir(folder) != NULL)
        n++;
    closedir(folder);
    return n;
}

/* PROGRAM EXTENSION SCENARIO [ROUNDS] runs one of the scenarios. */
typedef struct scenario {
    const char *name;
    void (*run)(int nrounds);
} scenario;

static int run_scenario(int argc, char **argv, const scenario *scenarios, size_t n) {
    CHECK(argc >= 3);
    extension = argv[1];
    CHECK(sqlite3_initialize() ==
          SQLITE_OK); /* in threads it races with itself, harmlessly but for ThreadSanitizer */
#ifdef __SANITIZE_THREAD__
    /* Stays loaded: ThreadSanitizer does not see the lock under which one thread unloads the library and
     * another loads it anew at the same address, and takes what they write there for a race. */
    CHECK(dlopen(extension, RTLD_NOW) != NULL);
#endif
    for (size_t i = 0; i < n; i++) {
        if (strcmp(scenarios[i].name, argv[2]) == 0) {
            scenarios[i].run(argc > 3 ? atoi(argv[3]) : 1);
            printf("ok %s\n", argv[2]);
            return 0;
        }
    }
    fail("no scenario %s", argv[2]);
}

#endif
