/*
 * CREATE VIRTUAL TABLE s USING wds(shards, ...): what the files of the module share.
 *
 * A row is a sample: members of a tar next to each other under one key. What is known of a shard is its
 * directory (format/samples.h): keys, extensions, and where each part lies. It is made by one pass over the
 * headers and kept with the table, so that a later look-up by __key__ opens one file and reads one part.
 */
#ifndef NPYEXT_WDS_TABLE_H
#define NPYEXT_WDS_TABLE_H

#include "format/samples.h"
#include "source/opener.h"
#include "table.h"

/* ---- columns ---- */

/* The first two; behind them stands one for each extension. */
enum { NPYEXT_WDS_KEY, NPYEXT_WDS_URL, NPYEXT_WDS_FIRST_EXT };

/* More than these are most likely names with dots in them, and not extensions. */
enum { NPYEXT_WDS_MAX_NFOUND = 200 };

/* The type of an extension's column, by what is behind its last dot (webdataset, autodecode.py): TEXT for
 * txt, text, transcript and JSON (json, jsn), INTEGER for cls, cls2, index, inx and id, BLOB for all others.
 */
npyext_table_type npyext_wds_type_of(const char *ext);

/* A part as a value of its column's type, or the error of what is none of it. */
npyx_status npyext_wds_decode(npyext_table_type type, const uint8_t *bytes, size_t nbytes, npyx_value *value,
                              npyx_error *error);

/* ---- shards ---- */

/* What the directories that nobody uses may take of memory. */
enum { NPYEXT_WDS_KEPT_NBYTES = 1 << 28 };

typedef struct npyext_wds_shard {
    struct npyext_wds_shard *next;
    npyx_file_info info; /* of the file as it was */
    npyext_part part;
    npyx_samples samples;
    npyx_error fault; /* what ended them; its status is NPYX_OK where the end did */
    int64_t nbytes;   /* of memory */
    int nusers;
    bool is_stale; /* another file lies at the path: forgotten when its last user lets go */
    uint64_t path_hash;
    char path[];
} npyext_wds_shard;

typedef struct npyext_wds_table {
    npyext_table base;
    npyext_wds_shard *shards; /* the one used last is the first */
    int64_t shards_nbytes;
} npyext_wds_table;

/* The directory of the part of the file at path, and one user more. It is held against the file system, and
 * read when there is none or another file lies there. What is wrong with a tar is its fault, not a failure.
 */
npyx_status npyext_wds_shard_acquire(npyext_wds_table *table, const char *path, const npyext_part *part,
                                     int64_t tick, npyext_wds_shard **shard, npyx_error *error);

/* One user less. Takes NULL. */
void npyext_wds_shard_release(npyext_wds_table *table, npyext_wds_shard *shard);

/* The files of its path. files is zero but for paths.arena.host; clear it on failure too. */
npyx_status npyext_wds_resolve(const npyext_wds_table *table, npyext_files *files, npyx_error *error);

/* Whether directories take more than is kept of them. */
bool npyext_wds_is_full(const npyext_wds_table *table);

/* Forgets all; nobody uses any. */
void npyext_wds_shards_clear(npyext_wds_table *table);

/* ---- the table ---- */

/* The columns of a plan's terms behind the rowid's. */
enum { NPYEXT_WDS_KEY_TERM = NPYEXT_TABLE_ROWID + 1, NPYEXT_WDS_URL_TERM };

/* The cursor's methods. */
int npyext_wds_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor);
int npyext_wds_close(sqlite3_vtab_cursor *cursor);
int npyext_wds_filter(sqlite3_vtab_cursor *base, int idx_num, const char *sentence, int argc,
                      sqlite3_value **argv);
int npyext_wds_next(sqlite3_vtab_cursor *base);
int npyext_wds_eof(sqlite3_vtab_cursor *cursor);
int npyext_wds_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number);
int npyext_wds_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid);

/* CREATE VIRTUAL TABLE s USING wds(...). */
extern const npyext_table_kind npyext_wds_table_kind;
extern const sqlite3_module npyext_wds_module;

#endif
