#include "connection.h"

#include <stdatomic.h>
#include <time.h>

#include "io/remote.h"
#include "remote_host.h"

/* Interrupts are thus noticed within 10 ms; asking this often costs half a percent. */
static const int64_t PROBE_INTERVAL_NS = 5 * 1000 * 1000;

/* Linux has a clock that goes on at each timer tick, after 10 ms at most, and takes a quarter of the time to
 * read: lookups read it often. */
#if defined(__linux__) && defined(CLOCK_MONOTONIC_COARSE)
static const clockid_t PROBE_CLOCK = CLOCK_MONOTONIC_COARSE;
#else
static const clockid_t PROBE_CLOCK = CLOCK_MONOTONIC;
#endif

static void *resize(void *ctx, void *block, size_t nbytes) {
    (void)ctx;
    return sqlite3_realloc64(block, nbytes); /* frees for 0 bytes, as the host's contract demands */
}

static int64_t now_ns(void) {
    struct timespec now;
    if (clock_gettime(PROBE_CLOCK, &now) != 0)
        return 0;
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Runs a statement of about 2,000 virtual machine steps. On every version, it ends with SQLITE_INTERRUPT
 * after sqlite3_interrupt, and it is long enough for a progress handler to be called and to say stop. It is
 * not kept: a prepared statement would make sqlite3_close fail. */
static bool is_stopped(sqlite3 *db) {
#if SQLITE_VERSION_NUMBER >= 3041000
    if (sqlite3_libversion_number() >= 3041000 && sqlite3_is_interrupted(db))
        return true;
#endif
    static const char probe[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200) "
                                "SELECT max(i) FROM n";
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, probe, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    sqlite3_finalize(statement);
    return code == SQLITE_INTERRUPT; /* other failures (an authorizer's refusal) say nothing about stopping */
}

static bool interrupted(void *ctx) {
    npyext_connection *connection = ctx;
    int64_t now = now_ns();
    if (now < connection->probe_at_ns)
        return false;
    npyext_counters_share(connection); /* before the host's progress handler may ask for them */
    bool stopped = is_stopped(connection->db);
    connection->probe_at_ns = stopped ? 0 : now_ns() + PROBE_INTERVAL_NS;
    return stopped;
}

int npyext_connection_new(sqlite3 *db, npyext_entry_point entry_point, npyext_connection **connection,
                          char **message) {
    npyx_error error;
    npyext_connection *made = *connection = sqlite3_malloc(sizeof *made);
    if (made == NULL)
        return SQLITE_NOMEM;
    *made = (npyext_connection){
        .db = db, .nreferences = 1, .host = {.ctx = made, .resize = resize, .interrupted = interrupted}};
    npyx_status status = npyext_policy_read(&made->policy, entry_point, &made->host, &error);
    if (status == NPYX_OK)
        status = npyext_remote_attach(made, &error);
    if (status == NPYX_OK) {
        sqlite3_randomness(sizeof made->handle_key.bytes, made->handle_key.bytes);
        sqlite3_randomness(sizeof made->host.hash_key, made->host.hash_key);
        return SQLITE_OK;
    }
    npyext_connection_release(made);
    *connection = NULL;
    if (status != NPYX_NOMEM)
        *message = npyext_error_text((npyext_place){0}, &error);
    return npyext_code(status);
}

void npyext_connection_release(npyext_connection *connection) {
    if (--connection->nreferences > 0)
        return;
    npyext_counters_share(connection);
    npyext_memo_clear(connection, false);
    npyext_cache_clear(connection);
    npyx_remote_free(connection->host.remote);
    npyx_free(&connection->host, connection->published);
    npyext_policy_clear(&connection->policy, &connection->host);
    sqlite3_free(connection);
}

void npyext_connection_begin(npyext_connection *connection) {
    npyext_counters_share(connection);
    connection->probe_at_ns = now_ns() + PROBE_INTERVAL_NS;
}

int npyext_declare_risk(const npyext_connection *connection, int flags) {
    const npyext_policy *policy = &connection->policy;
    if (policy->entry_point == NPYEXT_ENTRY_BLOB)
        return sqlite3_vtab_config(connection->db, SQLITE_VTAB_INNOCUOUS);
    if ((flags & SQLITE_DIRECTONLY) != 0 || !policy->allows_views)
        return sqlite3_vtab_config(connection->db, SQLITE_VTAB_DIRECTONLY);
    return SQLITE_OK;
}

int npyext_declare_columns(sqlite3 *db, sqlite3_str *text) {
    int code = sqlite3_str_errcode(text);
    char *statement = sqlite3_str_finish(text); /* NULL after every error */
    if (code == SQLITE_OK)
        code = statement == NULL ? SQLITE_NOMEM : sqlite3_declare_vtab(db, statement);
    sqlite3_free(statement);
    /* sqlite3_declare_vtab returns SQLITE_ERROR for whatever its parser met; only the message shows an
     * interrupt. */
    bool is_interrupted =
        code == SQLITE_ERROR && strcmp(sqlite3_errmsg(db), sqlite3_errstr(SQLITE_INTERRUPT)) == 0;
    return is_interrupted ? SQLITE_INTERRUPT : code;
}

const char *npyext_declare_reason(sqlite3 *db, int code) {
    return code == SQLITE_TOOBIG ? sqlite3_errstr(code)
                                 : sqlite3_errmsg(db); /* which knows nothing of an sqlite3_str */
}

int npyext_run(sqlite3 *db, char *sql) {
    int code = sql == NULL ? SQLITE_NOMEM : sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return code;
}

npyx_status npyext_connection_writes_disk(npyext_connection *connection, bool *does, npyx_error *error) {
    sqlite3_stmt *statement = NULL;
    *does = false;
    int code = sqlite3_prepare_v2(connection->db, "PRAGMA database_list", -1, &statement, NULL);
    while (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        const char *schema = (const char *)sqlite3_column_text(statement, 1);
        const char *path = schema == NULL ? NULL : sqlite3_db_filename(connection->db, schema);
        bool is_on_disk = path != NULL && path[0] != '\0'; /* else in memory, or TEMP */
        *does = *does || schema == NULL ||
                (is_on_disk && sqlite3_txn_state(connection->db, schema) == SQLITE_TXN_WRITE);
    }
    if (code == SQLITE_OK)
        code = sqlite3_finalize(statement);
    *does = *does || code != SQLITE_OK; /* an authorizer's refusal leaves it unknown */
    return npyext_fail_code(code, error);
}

/* ---- what all connections of this process have counted together ---- */

enum { NCOUNTERS = sizeof(npyx_counters) / sizeof(int64_t) };

/* Closed connections are included. A running connection counts in fields of its own, which only its thread
 * reads, and adds them here now and then: so counting needs no atomics, and asking for the sums never
 * waits. */
static _Atomic int64_t counter_sums[NCOUNTERS];

void npyext_counters_share(npyext_connection *connection) {
    int64_t now[NCOUNTERS], shared[NCOUNTERS];
    if (memcmp(&connection->host.counters, &connection->shared_counters, sizeof now) == 0)
        return;
    memcpy(now, &connection->host.counters, sizeof now);
    memcpy(shared, &connection->shared_counters, sizeof shared);
    for (int i = 0; i < NCOUNTERS; i++)
        atomic_fetch_add_explicit(&counter_sums[i], now[i] - shared[i], memory_order_relaxed);
    connection->shared_counters = connection->host.counters;
}

npyx_counters npyext_counters_of_process(void) {
    npyx_counters counters;
    int64_t read[NCOUNTERS];
    for (int i = 0; i < NCOUNTERS; i++)
        read[i] = atomic_load_explicit(&counter_sums[i], memory_order_relaxed);
    memcpy(&counters, read, sizeof counters);
    return counters;
}
