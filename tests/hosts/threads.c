/*
 * Many threads: PROGRAM npyext.so SCENARIO [ROUNDS], in a folder that test_threads.py fills. The
 * answers of each thread are those that one thread alone has; that nothing races is what ThreadSanitizer
 * says.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "driver.h"

enum { NTHREADS = 6 };

/* Every table function, and what reads through handles; the larger files, small deflated members, what was
 * inflated before and the files of a pattern are read by several threads each. */
static const char *const questions[] = {
    "SELECT count(*), sum(value) FROM npy_rows('big.npy') WHERE value > 0.95",
    "SELECT sum(value) FROM npy_rows('big.npy', '', '::9')",
    "SELECT * FROM npy_stats('big.npy')",
    "SELECT *, crc32 FROM npy_stats('{stored,deflated}.npz')",
    "SELECT * FROM npy_stats('fortran.npy', '', '', 0)",
    "SELECT count(*) FROM npy_elements('fortran.npy') WHERE value > 0.9",
    "SELECT * FROM npy_histogram('big.npy', '', '', 20)",
    "SELECT count(*), sum(value) FROM npy_unique('big.npy')",
    "SELECT * FROM npy_nearest('fortran.npy', '', '', (SELECT npy_slice(array, ':6') FROM "
    "npy_file('fortran.npy')), 3)",
    "SELECT n.* FROM npy_file('big.npy') AS f, npy_nearest(npy_reshape(f.array, '[-1, 50]'), '', '', "
    "npy_slice(npy_reshape(f.array, '[-1, 50]'), ':6'), 3) AS n",
    "SELECT * FROM npy_quantile('big.npy', '', '', '[0.1, 0.5, 0.9]')",
    "SELECT * FROM npy_stats('members.npz')",
    "SELECT sum(value) FROM npy_rows('members.npz') WHERE row < 100",
    "SELECT * FROM npy_stats('again.npz') UNION ALL SELECT * FROM npy_stats('again.npz')",
    "SELECT path, mean, error FROM npy_stats('many/*')",
    "SELECT * FROM npy_compare('big.npy', 'big.npy')",
    "SELECT * FROM npy_compare('stored.npz', 'deflated.npz')",
    "SELECT path, name, dtype, shape, error FROM npy_meta('**')",
    "SELECT *, crc_ok FROM npz_members('*.npz')",
    "SELECT * FROM ten_arrays('*.ten')",
    "SELECT path, name, npy_get(array, -1), npy_json(npy_slice(array, ':2')) FROM npy_file('*.{npz,ten}')",
    "SELECT hex(npy_array(value, 'f4')) FROM npy_rows('small.npy')",
    "SELECT length(npz_archive('x', array, 'deflate')) FROM npy_file('small.npy')",
    ("WITH n(i) AS (SELECT 1 UNION ALL SELECT (i * 7919) % 100000 FROM n LIMIT 300) "
     "SELECT sum(r.value) FROM n JOIN npy_rows('deflated.npz', 'x') r ON r.row = n.i"),
    "SELECT sum(c0), count(*) FROM typed WHERE rowid > 100",
    "SELECT sum(value) FROM npy_rows((SELECT contents FROM blobs))",
    /* the sums of all, which others add to meanwhile, hold what this one has */
    ("SELECT npyext_counters('process') ->> 'bytes_read' >= npyext_counters() ->> 'bytes_read', "
     "npyext_counters('process') ->> 'files_opened' >= npyext_counters() ->> 'files_opened'"),
};
enum { NQUESTIONS = sizeof questions / sizeof questions[0] };

static uint64_t answers[NQUESTIONS];
static int nrounds_of_each;
static sqlite3 *shared_db;
static atomic_int nready;

static sqlite3 *open_asking(void) {
    sqlite3 *db = open_loaded(":memory:");
    must_run(db,
             "CREATE VIRTUAL TABLE temp.typed USING npy('fortran.npy');"
             "CREATE TABLE blobs AS SELECT npy_slice(array, ':1000') AS contents FROM npy_file('big.npy')");
    return db;
}

static void ask_all(sqlite3 *db, int first) {
    for (int i = 0; i < NQUESTIONS; i++) {
        int which = (first + i) % NQUESTIONS;
        if (digest_of(db, questions[which]) != answers[which])
            fail("another answer than one thread has: %s", questions[which]);
    }
}

static void find_answers(void) {
    sqlite3 *db = open_asking();
    for (int i = 0; i < NQUESTIONS; i++)
        answers[i] = digest_of(db, questions[i]);
    CHECK(sqlite3_close(db) == SQLITE_OK);
}

/* Lets all threads go on at once. */
static void meet(int n) {
    atomic_fetch_add(&nready, 1);
    while (atomic_load(&nready) < n)
        sched_yield();
}

static void run_threads(void *(*work)(void *)) {
    pthread_t threads[NTHREADS];
    atomic_store(&nready, 0);
    for (intptr_t i = 0; i < NTHREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < NTHREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

/* ---- a connection for each thread, and one for all ---- */

static void *ask_alone(void *number) {
    sqlite3 *db = open_asking();
    meet(NTHREADS);
    for (int round = 0; round < nrounds_of_each; round++)
        ask_all(db, (int)(intptr_t)number * 3 + round);
    CHECK(sqlite3_close(db) == SQLITE_OK);
    return NULL;
}

static void many(int nrounds) {
    nrounds_of_each = nrounds;
    find_answers();
    run_threads(ask_alone);
}

static void *ask_together(void *number) {
    meet(NTHREADS);
    for (int round = 0; round < nrounds_of_each; round++)
        ask_all(shared_db, (int)(intptr_t)number * 3 + round);
    return NULL;
}

static void shared(int nrounds) {
    nrounds_of_each = nrounds;
    find_answers();
    CHECK(sqlite3_threadsafe() == 1);
    shared_db = open_asking();
    CHECK(sqlite3_db_mutex(shared_db) != NULL);
    run_threads(ask_together);
    CHECK(sqlite3_close(shared_db) == SQLITE_OK);
}

/* ---- concatenations ---- */

/* Several passes, each of which begins where parts of the last one are still open, to be closed for others.
 */
static void concatenations(int nrounds) {
    static const char *const asked[] = {
        "SELECT q, value FROM npy_quantile(npy_concat('parts/*'), '', '', '[0.1, 0.5]')",
        "SELECT * FROM npy_histogram(npy_concat('parts/*'), '', '', 9)",
        "SELECT * FROM npy_histogram(npy_calc('a * 2 + b', npy_concat('parts/*'), npy_concat('parts/*')))",
        "SELECT status FROM npy_compare(npy_concat('parts/*'), npy_concat('parts/*'))",
    };
    sqlite3 *db = open_loaded(":memory:");
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        uint64_t answer = digest_of(db, asked[i]);
        for (int round = 1; round < nrounds; round++)
            CHECK(digest_of(db, asked[i]) == answer);
    }
    CHECK(sqlite3_close(db) == SQLITE_OK);
}

/* ---- loading ---- */

static void *load_and_leave(void *number) {
    (void)number;
    for (int round = 0; round < nrounds_of_each; round++) {
        sqlite3 *db = open_plain(":memory:");
        if (round == 0)
            meet(NTHREADS);
        load(db);
        load(db); /* the second time does nothing */
        CHECK(integer_of(db, "SELECT sum(value) FROM npy_rows('small.npy')") == 4950);
        CHECK(sqlite3_close(db) == SQLITE_OK);
    }
    return NULL;
}

static void loading(int nrounds) {
    nrounds_of_each = 20 * nrounds;
    run_threads(load_and_leave);
}

/* ---- interrupts ---- */

/* Each takes far longer than anybody waits. */
static const char *const tasks[] = {
    "SELECT count(value) FROM npy_rows('endless/x.npy')",
    "SELECT count(*) FROM npy_rows('endless/x.npy') WHERE value > 1",
    "SELECT count(*) FROM npy_elements('endless/fortran.npy') WHERE value > 1",
    "SELECT max FROM npy_stats('endless/x.npy')",
    "SELECT max FROM npy_stats('endless/fortran.npy', '', '', 0)",
    "SELECT max FROM npy_stats('endless/x.npz')",
    "SELECT sum(count) FROM npy_histogram('endless/x.npy')",
    "SELECT differing FROM npy_compare('endless/x.npy', 'endless/x.npy')",
    "SELECT crc_ok FROM npz_members('endless/x.npz')",
    "SELECT value FROM npy_rows('endless/x.npz') WHERE row = 4000000000",
    "SELECT count(*) FROM npy_meta((SELECT json_group_array('endless/tree/**/*.none') FROM generate_many))",
    "SELECT count(*) FROM npy_meta((SELECT json_group_array('words') FROM generate_many), 'skip')",
    "SELECT * FROM npy_write('never.npy', (SELECT array FROM npy_file('endless/x.npy')))",
    "SELECT length(npz_archive('x', array, 'deflate')) FROM npy_file('long.npy')",
    "INSERT INTO out SELECT value FROM npy_rows('endless/x.npy')",
};

typedef struct task {
    sqlite3 *db;
    const char *sql;
    int code;
    atomic_bool is_done;
} task;

static void *run_task(void *argument) {
    task *running = argument;
    running->code = run(running->db, running->sql);
    atomic_store(&running->is_done, true);
    return NULL;
}

static double interrupt_task(sqlite3 *db, const char *sql) {
    task running = {.db = db, .sql = sql};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, run_task, &running) == 0);
    usleep(100000);
    double begin = now();
    while (!atomic_load(&running.is_done)) {
        sqlite3_interrupt(db);
        usleep(5000);
    }
    double seconds = now() - begin;
    CHECK(pthread_join(thread, NULL) == 0);
    if (running.code != SQLITE_INTERRUPT)
        fail("%s: %d instead of SQLITE_INTERRUPT (%s)", sql, running.code, sqlite3_errmsg(db));
    return seconds;
}

static void interrupts(int nrounds) {
    double longest = 0;
    sqlite3 *db = open_loaded(":memory:");
    must_run(
        db,
        "CREATE TABLE generate_many AS WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 300000) "
        "SELECT i FROM n;"
        "CREATE VIRTUAL TABLE temp.out USING npy('never_too.npy', mode='w+', dtype='f8')");
    for (int round = 0; round < nrounds; round++) {
        for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++) {
            double seconds = interrupt_task(db, tasks[i]);
            longest = seconds > longest ? seconds : longest;
            CHECK(integer_of(db, "SELECT sum(value) FROM npy_rows('small.npy')") == 4950);
        }
    }
    CHECK(sqlite3_close(db) == SQLITE_OK);
    CHECK(access("never.npy", F_OK) != 0 && access("never_too.npy", F_OK) != 0);
    printf("longest wait %.3f s\n", longest);
}

/* ---- writers and readers of the same files ---- */

enum { NWRITTEN = 50000 };

static atomic_int nappended;

/* Whether the statement worked; it may meet another writer. */
static bool run_among_others(sqlite3 *db, const char *sql) {
    if (run(db, sql) == SQLITE_OK)
        return true;
    const char *message = sqlite3_errmsg(db);
    if (strstr(message, "another writer") == NULL && strstr(message, "others write") == NULL &&
        strstr(message, "was replaced") == NULL && strstr(message, "was changed") == NULL)
        fail("%s: %s", sql, message);
    run(db, "ROLLBACK");
    return false;
}

static void write_once(sqlite3 *db, int number) {
    char *publish =
        sqlite3_mprintf("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT %d) "
                        "SELECT * FROM npy_write('shared.npy', (SELECT npy_array(%d, 'i8') FROM n))",
                        NWRITTEN, number);
    char *table =
        sqlite3_mprintf("CREATE VIRTUAL TABLE temp.w USING npy('table.npy', mode='w+', dtype='i8'); BEGIN;"
                        "INSERT INTO w SELECT %d FROM npy_rows('shared.npy'); COMMIT",
                        number);
    run_among_others(db, publish);
    run_among_others(db, table);
    run(db, "DROP TABLE IF EXISTS temp.w");
    if (run_among_others(db, "CREATE VIRTUAL TABLE temp.a USING npy('log.npy', mode='a')") &&
        run_among_others(db, "INSERT INTO a VALUES (1)"))
        atomic_fetch_add(&nappended, 1);
    run(db, "DROP TABLE IF EXISTS temp.a");
    sqlite3_free(publish);
    sqlite3_free(table);
}

static void *write_and_read(void *number) {
    sqlite3 *db = open_loaded(":memory:");
    meet(NTHREADS);
    for (int round = 0; round < 4 * nrounds_of_each; round++) {
        if ((intptr_t)number % 2 == 0)
            write_once(db, (int)(intptr_t)number);
        /* a file is one writer's, whole */
        CHECK(integer_of(db, "SELECT count(*) FROM npy_rows('shared.npy')") == NWRITTEN);
        CHECK(integer_of(db, "SELECT min(value) = max(value) FROM npy_rows('table.npy')") == 1);
    }
    CHECK(sqlite3_close(db) == SQLITE_OK);
    return NULL;
}

static void writers(int nrounds) {
    sqlite3 *db = open_loaded(":memory:");
    nrounds_of_each = nrounds;
    must_run(db, "SELECT * FROM npy_write('log.npy', npy_from_json('[1]', '<i8'))");
    write_once(db, 7);
    run_threads(write_and_read);
    CHECK(integer_of(db, "SELECT count(*) FROM npy_rows('log.npy')") == 1 + atomic_load(&nappended));
    CHECK(sqlite3_close(db) == SQLITE_OK);
    printf("%d rows appended by all\n", atomic_load(&nappended));
}

int main(int argc, char **argv) {
    static const scenario scenarios[] = {
        {"many", many},       {"shared", shared},
        {"loading", loading}, {"interrupts", interrupts},
        {"writers", writers}, {"concatenations", concatenations},
    };
    return run_scenario(argc, argv, scenarios, sizeof scenarios / sizeof scenarios[0]);
}
