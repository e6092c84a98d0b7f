/*
 * What all modules and functions of one SQLite connection share, and how the codec meets SQLite: its
 * allocator, its interrupts, its word on who may use a table.
 */
#ifndef NPYEXT_CONNECTION_H
#define NPYEXT_CONNECTION_H

#include "npyx.h"
#include "policy.h"
#include "values.h"

typedef struct npyext_connection npyext_connection;

/* ---- handles ----
 * BLOBs of some 50 bytes that stand for an array of a file, for functions that may not open files by
 * name.
 *
 * Only npy_file makes them. A handle carries a MAC under a secret of its connection, so that no database, nor
 * anyone else who hands BLOBs to a query, can make one that names a file; what is in it is not secret. It is
 * plain bytes: it goes through CTEs, sorting and temporary tables as any value does.
 */

/* A connection's secret. */
typedef struct npyext_handle_key {
    uint8_t bytes[NPYX_SIPHASH_KEY_NBYTES];
} npyext_handle_key;

/* The part of a file that a source means: a range of it, or all. Zeros: all. */
typedef struct npyext_part {
    bool is_range;
    int64_t off, nbytes;
} npyext_part;

static inline bool npyext_part_is_same(const npyext_part *a, const npyext_part *b) {
    return a->is_range == b->is_range && a->off == b->off && a->nbytes == b->nbytes;
}

/* What a handle says. */
typedef struct npyext_handle {
    const char *path; /* borrowed from the handle; no NUL behind */
    size_t path_nbytes;
    npyext_part part;
    int64_t index; /* of the entry */
    uint64_t stamp;
} npyext_handle;

/* What tells a file's contents from other ones at the same path. */
uint64_t npyext_handle_stamp(const npyext_handle_key *key, const npyx_file_info *info);

/* Whether the file is still the one of that stamp. */
npyx_status npyext_handle_check(const npyext_handle_key *key, uint64_t stamp, const npyx_file_info *info,
                                npyx_error *error);

/* Appends the handle's bytes. Look at out->status behind it. */
void npyext_handle_append(const npyext_handle_key *key, const npyext_handle *handle, npyx_buffer *out);

/* Whether bytes begin as a handle's; no .npy, .npz, .ten, .tar or .safetensors file does. */
bool npyext_handle_is_like(const void *bytes, size_t nbytes);

/* Reads a handle that was made with this key; false for any other bytes. */
bool npyext_handle_read(const npyext_handle_key *key, const void *bytes, size_t nbytes,
                        npyext_handle *handle);

/* ---- open files ----
 * Kept for the next xFilter call and the next query that wants them.
 *
 * A join that looks rows up one by one must not open, stat or parse its file for each. A file found here is
 * held against the file system once a cursor: another size, time of change or inode makes it another file.
 * Archives are shared between cursors; what a cursor reads from one it opens for itself.
 */

typedef struct npyext_cached_file {
    struct npyext_cached_file *older;
    npyx_archive *archive;
    npyx_file_info info;
    int nusers;
    bool is_stale; /* not to be found; closed when its last user lets go */
    int64_t validated_at;
    uint64_t path_hash;
    npyext_part part;
    char path[];
} npyext_cached_file;

/* A number for a new cursor: files validated before it are validated again. */
int64_t npyext_cache_tick(npyext_connection *connection);

/* A file that was opened ahead, or will be opened. */
typedef struct npyext_open_file {
    npyx_source *source; /* NULL: it was not */
    npyx_file_info info; /* set when it was or could be opened, whatever it holds */
} npyext_open_file;

/* The part of the file at path, open, and one user more. part and ahead may be NULL; ahead's source is taken
 * over. A tick of 0 is a survey's, which wants each of many files once: only a tar is kept open behind it,
 * whose directory was a pass through all of it. */
npyx_status npyext_cache_acquire(npyext_connection *connection, const char *path, const npyext_part *part,
                                 int64_t tick, npyext_open_file *ahead, npyext_cached_file **file,
                                 npyx_error *error);
/* One user less. Takes NULL. */
void npyext_cache_release(npyext_connection *connection, npyext_cached_file *file);
/* Closes all; nobody uses any. */
void npyext_cache_clear(npyext_connection *connection);

/* The format is told by the first bytes; where these say nothing, by the path. */
npyx_hint npyext_path_hint(const char *path);

/* The format that a path's name ends in, in small letters or capitals; false for none of ours. */
bool npyext_path_format(const char *path, npyx_format *format);

/* Opens a BLOB as an archive; its bytes outlive that. */
npyx_status npyext_open_blob(npyx_host *host, const void *bytes, size_t nbytes, npyx_hint hint,
                             npyx_archive **archive, npyx_error *error);

/* ---- arrays described a moment ago ----
 * What a scalar function is called with in one row it is called with, mostly, in the next: the same handle,
 * or a BLOB that begins with the same header. Neither is parsed, opened or validated twice then.
 */

/* A statement seldom looks at more arrays in turn. */
enum { NPYEXT_MEMO_NARRAYS = 8 };

typedef struct npyext_known_array {
    npyx_buffer key; /* the header or the handle that describes it */
    bool is_sound;
    int64_t used_at;
    npyx_array array;
    /* of a handle's array */
    const char *path; /* NULL: it is a header's */
    npyext_part part;
    int64_t index;
    npyx_entry entry; /* its name is in the arena below: a description that fails takes the array's with it */
    bool has_entry;
    npyx_arena arena;
    npyext_cached_file *file;
    npyx_source *payload;
    int64_t tick;     /* when the file was held against the file system */
    int64_t nlookups; /* reads that the window did not answer */
    uint8_t *window;
    int64_t window_off;
    size_t window_nbytes;
} npyext_known_array;

/* The array that a .npy header of header_nbytes (as measured) describes. It stays until the next call for the
 * same connection, as do those below. */
npyx_status npyext_memo_of_header(npyext_connection *connection, const void *header, size_t header_nbytes,
                                  npyext_known_array **known, npyx_error *error);

/* The array that a handle stands for, open. A file validated at this tick (see npyext_cache_tick) is not
 * validated again. On failure *known says where the fault lies (path, entry); it is NULL when the bytes are
 * no handle of this key. */
npyx_status npyext_memo_of_handle(npyext_connection *connection, const void *bytes, size_t nbytes,
                                  int64_t tick, npyext_known_array **known, npyx_error *error);

/* Makes a handle's array of objects one that has values. After a failure it is opened anew the next time. */
npyx_status npyext_known_hold(npyext_known_array *known, npyx_error *error);

/* nbytes at off of a handle's array, alive until the next call. */
npyx_status npyext_known_read(npyext_known_array *known, int64_t off, size_t nbytes, const uint8_t **bytes,
                              npyx_error *error);

/* Forgets all, or only what takes much memory to remember. To be called before the cache is cleared. */
void npyext_memo_clear(npyext_connection *connection, bool only_large);

/* ---- the connection ---- */

/* Counted: each registration holds one reference. */
struct npyext_connection {
    sqlite3 *db;
    npyx_host host; /* its ctx is this struct */
    npyext_policy policy;
    npyext_cached_file *newest_file;
    npyext_known_array known[NPYEXT_MEMO_NARRAYS];
    int64_t clock;                /* counts cursors that were opened, and lookups of known arrays */
    npyext_handle_key handle_key; /* random: handles mean nothing to other connections */
    /* Of its tables that write (table/transaction.h, table/written.h): */
    struct npyext_transaction *open_transactions; /* what has rows pending */
    npyx_file_info *published;                    /* the files of mode 'w+', as they were published */
    int64_t npublished, capacity_npublished;
    int64_t ntables_made;
    int nreferences;
    int64_t probe_at_ns;           /* when a native loop next asks SQLite whether to stop */
    npyx_counters shared_counters; /* how much of the host's the sums of the process have */
};

/* With one reference; *connection is NULL on failure, whose *message must be freed with sqlite3_free.
 * Returns an SQLite code. */
int npyext_connection_new(sqlite3 *db, npyext_entry_point entry_point, npyext_connection **connection,
                          char **message);
void npyext_connection_release(npyext_connection *connection);

/* Adds to the sums of the process what the connection has counted since the last time. It is called where a
 * native loop looks for interrupts, and at the end of what may have read files. */
void npyext_counters_share(npyext_connection *connection);
/* The sums over all connections that this object was loaded into, closed ones too; for any thread. */
npyx_counters npyext_counters_of_process(void);

/* To be called where SQLite's virtual machine hands control over for what may take long: it has itself just
 * looked for interrupts, so the codec's polls need not for the next 5 ms. */
void npyext_connection_begin(npyext_connection *connection);

/* Tells SQLite, from an xCreate or xConnect, who may use a table. flags is SQLITE_DIRECTONLY for what writes
 * files, whoever trusts their databases; 0 for what reads them, which NPYEXT_VIEWS=1 frees. Where there are
 * no files, all is innocuous. */
int npyext_declare_risk(const npyext_connection *connection, int flags);

/* Declares the columns of a table, from an xCreate or xConnect, by the CREATE TABLE statement in text, which
 * is freed. A statement beyond the host's SQLITE_LIMIT_LENGTH is SQLITE_TOOBIG. */
int npyext_declare_columns(sqlite3 *db, sqlite3_str *text);
/* Why that failed, for a message; good until the next call of the connection. */
const char *npyext_declare_reason(sqlite3 *db, int code);

/* *does: a database on disk has its own part in the open transaction, or that cannot be told. Its commit,
 * which comes between xSync and xCommit, may fail or be put off (SQLITE_BUSY). NPYX_NOMEM or
 * NPYX_INTERRUPTED. */
npyx_status npyext_connection_writes_disk(npyext_connection *connection, bool *does, npyx_error *error);

#endif
