/*
 * Runs a script of SQL with the first call of a kind failing, then with the second, ... until it succeeds.
 *
 *     faults EXTENSION SETUP SCRIPT CHECK FAULT...
 *
 * Each time on a new connection: SETUP, and CHECK for what it then says; SCRIPT with the fault. When that
 * fails, it is by SQLITE_NOMEM (by a message of the extension's where a system call failed), CHECK says what
 * it said before the script or what it says after it, and SCRIPT succeeds at the second attempt. Nothing is
 * left behind: no memory, no descriptor. An empty SCRIPT stands for loading the extension.
 *
 * FAULT is a kind (memory, libc, an errno's name, short, end), with `+` after it when all calls from the
 * n-th on are to fail, with `/N` when of those past the first hundred only each N-th is tried, and `/N,M`
 * when of those past the first M. Prints one line of numbers for each: calls, faults tried, of these
 * absorbed, and of these absorbed where SQLite says that it may.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject.h"
#include "remote_functions.h"

enum { TEXT_NBYTES = 1 << 22 };

/* What statements gave: a line for each row. Not to be malloced while faults are armed. */
typedef struct answer {
    int code;
    char message[2000];
    size_t nbytes;
    char text[TEXT_NBYTES];
} answer;

static struct {
    const char *extension, *setup, *script, *check, *fault_name;
    long nth;
} job;

static answer before, after, expected, found, checked;

static void fail(const char *what, const answer *said) {
    fprintf(stderr, "%s, call %ld: %s\ncode %d: %s\n%.900s\nwhere it should be\n%.900s\n", job.fault_name,
            job.nth, what, said->code, said->message, said->text, expected.text);
    exit(1);
}

static void add(answer *out, const char *bytes, size_t nbytes) {
    if (out->nbytes + nbytes + 1 > sizeof out->text) {
        fprintf(stderr, "an answer is too long\n");
        exit(1);
    }
    memcpy(out->text + out->nbytes, bytes, nbytes);
    out->nbytes += nbytes;
    out->text[out->nbytes] = '\0';
}

static int add_row(sqlite3_stmt *statement, answer *out) {
    size_t row_at = out->nbytes;
    int code = SQLITE_OK;
    for (int i = 0; i < sqlite3_column_count(statement) && code == SQLITE_OK; i++) {
        int type = sqlite3_column_type(statement, i);
        const char *value = type == SQLITE_BLOB ? sqlite3_column_blob(statement, i)
                                                : (const char *)sqlite3_column_text(statement, i);
        int nbytes = sqlite3_column_bytes(statement, i);
        if (value == NULL && type != SQLITE_NULL && !(type == SQLITE_BLOB && nbytes == 0))
            code = SQLITE_NOMEM;
        else
            add(out, value == NULL ? "NULL" : value, value == NULL ? 4 : (size_t)nbytes);
        add(out, "|", 1);
    }
    if (code == SQLITE_OK)
        add(out, "\n", 1);
    else
        out->text[out->nbytes = row_at] = '\0';
    return code;
}

static int load(sqlite3 *db, char **message) {
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    return sqlite3_load_extension(db, job.extension, NULL, message);
}

static int run_statement(sqlite3 *db, const char **sql, answer *out) {
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, *sql, -1, &statement, sql);
    while (code == SQLITE_OK && statement != NULL && (code = sqlite3_step(statement)) == SQLITE_ROW)
        code = add_row(statement, out);
    if (code == SQLITE_DONE)
        code = SQLITE_OK;
    if (code != SQLITE_OK)
        snprintf(out->message, sizeof out->message, "%s", sqlite3_errmsg(db));
    int finalized = sqlite3_finalize(statement);
    return code == SQLITE_OK ? finalized : code;
}

static void run(sqlite3 *db, const char *sql, answer *out) {
    out->code = SQLITE_OK;
    out->nbytes = 0;
    out->message[0] = out->text[0] = '\0';
    while (out->code == SQLITE_OK && *sql != '\0')
        out->code = run_statement(db, &sql, out);
}

static void run_script(sqlite3 *db, answer *out) {
    run(db, job.script, out);
    if (*job.script != '\0')
        return;
    char *message = NULL;
    out->code = load(db, &message);
    snprintf(out->message, sizeof out->message, "%s", message == NULL ? "" : message);
    sqlite3_free(message);
}

static void run_well(sqlite3 *db, const char *sql, answer *out) {
    run(db, sql, out);
    if (out->code != SQLITE_OK)
        fail("a statement without faults failed", out);
}

static int count_descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    int n = 0;
    while (readdir(folder) != NULL)
        n++;
    closedir(folder);
    return n;
}

static sqlite3 *open_prepared(void) {
    sqlite3 *db = NULL;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK || define_remote_functions(db) != SQLITE_OK ||
        (*job.script != '\0' && load(db, NULL) != SQLITE_OK)) {
        fprintf(stderr, "%s cannot be loaded: %s\n", job.extension, sqlite3_errmsg(db));
        exit(1);
    }
    run_well(db, job.setup, &found);
    return db;
}

static void close_well(sqlite3 *db) {
    if (sqlite3_close(db) != SQLITE_OK) {
        fprintf(stderr, "%s, call %ld: the connection cannot be closed\n", job.fault_name, job.nth);
        exit(1);
    }
}

static bool is_same(const answer *a, const answer *b) {
    return a->nbytes == b->nbytes && memcmp(a->text, b->text, a->nbytes) == 0;
}

static bool is_of_memory(fault what) {
    return what.kind == FAULT_MEMORY || what.kind == FAULT_LIBC;
}

/* Rows that the script gives without a fault, and rows with an error in them; *nerrors counts those. */
static void check_rows(int *nerrors) {
    *nerrors = 0;
    for (char *row = found.text, *end; (end = strchr(row, '\n')) != NULL; row = end + 1) {
        *end = '\0';
        bool is_error = strstr(row, "npyext: ") != NULL;
        size_t nbytes = (size_t)(end - row);
        const char *same = nbytes == 0 ? row : strstr(expected.text, row);
        *end = '\n';
        *nerrors += is_error;
        if (same == NULL && !is_error)
            fail("a wrong row", &found);
    }
}

/* Whether the fault was got over, so that the answer is the usual one. */
static bool judge(sqlite3 *db, fault what, bool has_failed) {
    if (found.code == SQLITE_OK && is_same(&found, &expected))
        return true;
    if (!has_failed)
        fail("a script without faults failed", &found);
    bool is_load =
        *job.script == '\0'; /* SQLite says SQLITE_ERROR when an entry point fails, however it does */
    if (is_of_memory(what) && found.code != SQLITE_NOMEM && !(is_load && found.code == SQLITE_ERROR))
        fail("no SQLITE_NOMEM", &found);
    if (is_of_memory(what) && !is_load && (sqlite3_errcode(db) & 0xff) != SQLITE_NOMEM)
        fail("sqlite3_errcode is not SQLITE_NOMEM", &found);
    int nerrors = 0;
    check_rows(&nerrors);
    bool is_told = found.code != SQLITE_OK ? strncmp(found.message, "npyext: ", 8) == 0 : nerrors > 0;
    if (!is_of_memory(what) && !is_told)
        fail("the fault is not told", &found);
    return false;
}

/* The script once more, after what the fault has left. */
static void run_again(sqlite3 *db) {
    if (!sqlite3_get_autocommit(db))
        run_well(db, "ROLLBACK", &found);
    if (*job.script == '\0')
        run_script(db, &found);
    run_well(db, job.check, &checked);
    if (!is_same(&checked, &before) && !is_same(&checked, &after))
        fail("neither the old contents nor the new ones", &checked);
    run_script(db, &found);
    if (found.code != SQLITE_OK || !is_same(&found, &expected))
        fail("the second attempt failed", &found);
}

static long next_n(long n, long step, long all_of_the_first) {
    return n < all_of_the_first ? n + 1 : n + step;
}

static void inject_all(fault what, long step, long all_of_the_first) {
    long ntried = 0, nabsorbed = 0, nbenign = 0, calls = 0;
    bool has_failed = true;
    for (job.nth = 1; has_failed; job.nth = next_n(job.nth, step, all_of_the_first)) {
        int ndescriptors = count_descriptors();
        long outstanding_nbytes = inject_outstanding_nbytes();
        sqlite3 *db = open_prepared();
        inject_arm(what, job.nth);
        run_script(db, &found);
        has_failed = inject_disarm();
        calls = inject_ncalls(); /* of the run without a fault in the end: one that takes long asks SQLite
                                    whether it is interrupted, and has calls of that, too */
        bool is_absorbed = judge(db, what, has_failed);
        ntried += has_failed;
        nabsorbed += has_failed && is_absorbed;
        nbenign += has_failed && is_absorbed && inject_was_benign();
        if (has_failed && is_absorbed && !inject_was_benign() && getenv("FAULTS_ABSORBED") != NULL)
            fprintf(stderr, "%s, call %ld: absorbed\n", job.fault_name, job.nth);
        if (!is_absorbed)
            run_again(db);
        close_well(db);
        if (inject_outstanding_nbytes() != outstanding_nbytes)
            fail("memory leaks", &found);
        if (count_descriptors() != ndescriptors)
            fail("a descriptor leaks", &found);
    }
    printf("%s %ld %ld %ld %ld\n", job.fault_name, calls, ntried, nabsorbed, nbenign);
    fflush(stdout);
}

static fault parse_fault(const char *text) {
    static const struct {
        const char *name;
        fault what;
    } known[] = {
        {"memory", {.kind = FAULT_MEMORY}},
        {"libc", {.kind = FAULT_LIBC}},
        {"EIO", {.kind = FAULT_IO, .errno_value = EIO}},
        {"EACCES", {.kind = FAULT_IO, .errno_value = EACCES}},
        {"EMFILE", {.kind = FAULT_IO, .errno_value = EMFILE}},
        {"EINTR", {.kind = FAULT_IO, .errno_value = EINTR}},
        {"short", {.kind = FAULT_SHORT}},
        {"end", {.kind = FAULT_END}},
    };
    size_t nbytes = strcspn(text, "+/");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strlen(known[i].name) != nbytes || memcmp(known[i].name, text, nbytes) != 0)
            continue;
        fault what = known[i].what;
        what.goes_on = text[nbytes] == '+';
        return what;
    }
    fprintf(stderr, "%s is no fault\n", text);
    exit(2);
}

/* What the script gives without faults: twice, so that all that is made once is made. */
static void expect(void) {
    for (int i = 0; i < 2; i++) {
        sqlite3 *db = open_prepared();
        if (*job.script != '\0')
            run_well(db, job.check, &before);
        run_script(db, &expected);
        if (expected.code != SQLITE_OK)
            fail("the script fails without faults", &expected);
        run_well(db, job.check, &after);
        close_well(db);
    }
}

int main(int argc, char **argv) {
    if (argc < 6)
        return 2;
    job.extension = argv[1];
    job.setup = argv[2];
    job.script = argv[3];
    job.check = argv[4];
    if (dlopen(job.extension, RTLD_NOW) == NULL) /* so that no connection loads it from the disk */
        return 2;
    inject_into_sqlite();
    sqlite3_initialize();
    job.fault_name = "no fault";
    expect();
    for (int i = 5; i < argc; i++) {
        const char *step = strchr(argv[i], '/');
        const char *first = strchr(argv[i], ',');
        job.fault_name = argv[i];
        inject_all(parse_fault(argv[i]), step == NULL ? 1 : atol(step + 1),
                   first == NULL ? 100 : atol(first + 1));
    }
    sqlite3_shutdown();
    if (inject_outstanding_nbytes() != 0) {
        fprintf(stderr, "%ld bytes are left\n", inject_outstanding_nbytes());
        return 1;
    }
    return 0;
}
