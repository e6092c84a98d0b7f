/*
 * What all modules and functions of one SQLite connection share, and how the codec meets SQLite: its
 * allocator, its interrupts, its rules on who may use a table.
 */
#ifndef NPYEXT_CONNECTION_H
#define NPYEXT_CONNECTION_H

#include "handle.h"
#include "policy.h"
#include "values.h"

typedef struct npyext_connection npyext_connection;

/* ---- open files ----
 * Kept for the next xFilter call and the next query that wants them.
 *
 * A join that looks up rows one by one must not open, stat or parse its file for each. A file found here is
 * checked against the file system once per cursor: with another size, time of change or inode it is another
 * file. Archives are shared between cursors; what a cursor reads from one it opens for itself.
 */

typedef struct npyext_cached_file {
    struct npyext_cached_file *older;
    npyx_archive *archive;
    npyx_file_info info;
    int nusers;
    bool is_stale; /* must not be found; closed when its last user releases it */
    int64_t validated_at;
    uint64_t path_hash;
    npyext_part part;
    char path[]; /* and the part's recipe after it */
} npyext_cached_file;

/* How recipes become archives of one array: source/lazy_array.c, a layer above, implements it. */
typedef struct npyext_recipes {
    /* Opens one, which must outlive the archive. info tells its contents from others, like a file's. */
    npyx_status (*open)(npyext_connection *connection, const void *recipe, size_t nbytes,
                        npyx_archive **archive, npyx_file_info *info, npyx_error *error);
    /* Whether everything that it was opened from is still what it was. What was validated at this tick is not
     * validated again: recipes may have the same operands many times over. Polls the host; false if that says
     * to stop. */
    bool (*is_untouched)(npyx_archive *archive, int64_t tick);
} npyext_recipes;

/* A number for a new cursor: files validated before it was drawn are validated again. */
int64_t npyext_cache_tick(npyext_connection *connection);

/* A file that was opened ahead, or is yet to be opened. */
typedef struct npyext_open_file {
    npyx_source *source; /* NULL: not opened yet */
    npyx_file_info info; /* set if the file was or could be opened, whatever it holds */
} npyext_open_file;

/* Opens the part of a file as a source of its own, unless that was done ahead. On failure nothing is open. */
npyx_status npyext_open_part(npyx_host *host, const char *path, const npyext_part *part,
                             npyext_open_file *file, npyx_error *error);

/* Opens the part of the file at path, or finds it open, and counts one more user. part and ahead may be NULL;
 * ahead's source is taken over. A tick of 0 is for a survey, which wants each of many files once: afterwards
 * only a tar is kept open, since its directory took a pass through all of it. */
npyx_status npyext_cache_acquire(npyext_connection *connection, const char *path, const npyext_part *part,
                                 int64_t tick, npyext_open_file *ahead, npyext_cached_file **file,
                                 npyx_error *error);
/* Counts one user less. Accepts NULL. */
void npyext_cache_release(npyext_connection *connection, npyext_cached_file *file);
/* Closes all; none may be in use. */
void npyext_cache_clear(npyext_connection *connection);

/* Opens a BLOB as an archive; its bytes must outlive the archive. */
npyx_status npyext_open_blob(npyx_host *host, const void *bytes, size_t nbytes, npyx_hint hint,
                             npyx_archive **archive, npyx_error *error);

/* ---- arrays described a moment ago ----
 * A scalar function is mostly called with the same array in one row after another: the same handle, or a BLOB
 * that begins with the same header. Then neither is parsed, opened or validated twice.
 */

/* A statement seldom alternates between more arrays. */
enum { NPYEXT_MEMO_NARRAYS = 8 };

typedef struct npyext_memo_array {
    npyx_buffer key; /* the header or the handle that describes it */
    bool is_sound;
    int64_t used_at;
    npyx_array array;
    /* for a handle's array */
    const char *path; /* NULL: a header describes it */
    npyext_part part;
    int64_t index;
    npyx_entry entry; /* its name is in the arena below, since a failed description drops the array's */
    bool has_entry;
    npyx_arena arena;
    npyext_cached_file *file;
    npyx_source *payload;
    int64_t tick;     /* when the file was checked against the file system */
    int64_t nlookups; /* reads that the window could not answer */
    npyx_window window;
} npyext_memo_array;

/* The array that a .npy header of header_nbytes (as measured) describes. Valid until the next call for the
 * same connection, like those below. */
npyx_status npyext_memo_of_header(npyext_connection *connection, const void *header, size_t header_nbytes,
                                  npyext_memo_array **known, npyx_error *error);

/* The array that a handle stands for, open. A file validated at this tick (see npyext_cache_tick) is not
 * validated again. On failure *known says where the fault is (path, entry); it is NULL if the bytes are not a
 * handle of this key. */
npyx_status npyext_memo_of_handle(npyext_connection *connection, const void *bytes, size_t nbytes,
                                  int64_t tick, npyext_memo_array **known, npyx_error *error);

/* Gives a handle's array of objects values. After a failure it is opened anew next time. */
npyx_status npyext_memo_hold(npyext_memo_array *known, npyx_error *error);

/* nbytes at off of a handle's array, valid until the next call. */
npyx_status npyext_memo_read(npyext_memo_array *known, int64_t off, size_t nbytes, const uint8_t **bytes,
                             npyx_error *error);

/* Forgets all, or only what takes much memory to remember. Call it before the cache is cleared. */
void npyext_memo_clear(npyext_connection *connection, bool only_large);

/* ---- the connection ---- */

/* Counted: each registration holds one reference. */
struct npyext_connection {
    sqlite3 *db;
    npyx_host host; /* its ctx is this struct */
    npyext_policy policy;
    npyext_cached_file *newest_file;
    const npyext_recipes *recipes;
    int recipe_depth; /* recipes that are being opened, each for the one before it */
    bool is_trimming; /* the cache, which need not be trimmed for what it closes */
    npyext_memo_array known[NPYEXT_MEMO_NARRAYS];
    int64_t clock;                /* counts cursors opened, and lookups of known arrays */
    npyext_handle_key handle_key; /* random: handles mean nothing to other connections */
    /* for its tables that write (table/transaction.h): */
    struct npyext_transaction *open_transactions; /* those with rows pending */
    npyx_file_info *published;                    /* the files of mode 'w+', as published */
    int64_t npublished, capacity_npublished;
    int64_t ntables_made;
    int nreferences;
    int64_t probe_at_ns;           /* when a native loop next asks SQLite whether to stop */
    npyx_counters shared_counters; /* how much of the host's is in the sums of the process */
};

/* Makes one with one reference; on failure *connection is NULL, and *message must be freed with sqlite3_free.
 * Returns an SQLite code. */
int npyext_connection_new(sqlite3 *db, npyext_entry_point entry_point, npyext_connection **connection,
                          char **message);
void npyext_connection_release(npyext_connection *connection);

/* How many bytes the host allows a value in SQLite. */
static inline uint32_t npyext_max_nbytes(const npyext_connection *connection) {
    return (uint32_t)sqlite3_limit(connection->db, SQLITE_LIMIT_LENGTH, -1);
}

/* Adds what the connection has counted since the last time to the sums of the process. Called where a native
 * loop looks for interrupts, and at the end of what may have read files. */
void npyext_counters_share(npyext_connection *connection);
/* The sums over all connections that this object was loaded into, closed ones included; for any thread. */
npyx_counters npyext_counters_of_process(void);

/* Call it where SQLite's virtual machine hands over control for what may take long: it has just looked for
 * interrupts itself, so the codec need not for the next 5 ms. */
void npyext_connection_begin(npyext_connection *connection);

/* Tells SQLite, from an xCreate or xConnect, who may use a table. flags is SQLITE_DIRECTONLY for what writes
 * files, whatever NPYEXT_VIEWS says; 0 for what reads them, which NPYEXT_VIEWS=1 allows everywhere. Where no
 * files are opened, everything is innocuous. */
int npyext_declare_risk(const npyext_connection *connection, int flags);

/* Declares the columns of a table, from an xCreate or xConnect, by the CREATE TABLE statement in text, which
 * it frees. SQLITE_TOOBIG for a statement beyond the host's SQLITE_LIMIT_LENGTH. */
int npyext_declare_columns(sqlite3 *db, sqlite3_str *text);
/* Why that failed, for a message; valid until the next call on the connection. */
const char *npyext_declare_reason(sqlite3 *db, int code);

/* Runs statements, whose text it frees; NULL: memory is out. Returns an SQLite code. */
int npyext_run(sqlite3 *db, char *sql);

/* *does: whether a database on disk takes part in the open transaction, or that is unknown. Its commit, which
 * comes between xSync and xCommit, may fail or be put off (SQLITE_BUSY). NPYX_NOMEM or NPYX_INTERRUPTED. */
npyx_status npyext_connection_writes_disk(npyext_connection *connection, bool *does, npyx_error *error);

#endif
