/*
 * CREATE VIRTUAL TABLE s USING wds(shards, ...): what the files of the module share.
 *
 * A row is a sample: neighbouring members of a tar with one key. What is known of a shard is its directory
 * (format/samples.h): keys, extensions, and where each part is. It is made in one pass over the headers and
 * kept with the table, so that a later lookup by __key__ opens one file and reads one part.
 */
#ifndef NPYEXT_WDS_TABLE_H
#define NPYEXT_WDS_TABLE_H

#include "format/samples.h"
#include "source/opener.h"
#include "table.h"

/* ---- columns ---- */

/* The first two; one for each extension follows. */
enum { NPYEXT_WDS_KEY, NPYEXT_WDS_URL, NPYEXT_WDS_FIRST_EXT };

/* If there are more, they are most likely names with dots in them rather than extensions. */
enum { NPYEXT_WDS_MAX_NFOUND = 200 };

/* The type of an extension's column, by what follows its last dot (webdataset, autodecode.py): TEXT for txt,
 * text, transcript and JSON (json, jsn), INTEGER for cls, cls2, index, inx and id, BLOB for all others. */
npyext_table_type npyext_wds_type_of(const char *ext);

/* A part as a value of its column's type, which borrows bytes. NPYX_CORRUPT if it is no such value,
 * NPYX_UNSUPPORTED for an integer that SQLite cannot hold. */
npyx_status npyext_wds_decode(npyext_table_type type, const uint8_t *bytes, size_t nbytes, npyx_value *value,
                              npyx_error *error);

/* ---- shards ---- */

/* How much memory the directories may take; those in use are kept beyond it. */
enum { NPYEXT_WDS_KEPT_NBYTES = 1 << 28 };

typedef struct npyext_wds_shard {
    struct npyext_wds_shard *next;
    npyx_file_info info; /* of the file as it was read */
    npyext_part part;
    npyx_samples samples;
    npyx_error fault; /* what ended the samples early; its status is NPYX_OK if nothing did */
    int64_t nbytes;   /* of memory */
    int nusers;
    bool is_stale; /* another file is at the path: forgotten when its last user releases it */
    uint64_t path_hash;
    char path[];
} npyext_wds_shard;

typedef struct npyext_wds_table {
    npyext_table base;
    npyext_wds_shard *shards; /* most recently used first */
    int64_t shards_nbytes;
} npyext_wds_table;

/* The directory of the part of the file at path, for one more user. It is checked against the file system,
 * and read if there is none yet or another file is there. What is wrong with a tar is in its fault, and is
 * not a failure. tick: as for npyext_cache_acquire. */
npyx_status npyext_wds_shard_acquire(npyext_wds_table *table, const char *path, const npyext_part *part,
                                     int64_t tick, npyext_wds_shard **shard, npyx_error *error);

/* One user less. Accepts NULL. */
void npyext_wds_shard_release(npyext_wds_table *table, npyext_wds_shard *shard);

/* The files of the table's path. files is zero-initialised except for paths.arena.host; clear it on failure,
 * too. */
npyx_status npyext_wds_resolve(const npyext_wds_table *table, npyext_files *files, npyx_error *error);

/* Whether the directories take more memory than is kept. */
bool npyext_wds_is_full(const npyext_wds_table *table);

/* Forgets all; none may be in use. For the table's kind. */
void npyext_wds_shards_clear(npyext_table *base);

/* ---- the writer ----
 * What a table of samples with mode='w+' or 'a' writes: shards, one after the other, as WebDataset's
 * ShardWriter writes them with mtime=0.
 *
 *     out-000000.tar        out-000001.tar        out-000002.tar
 *     finished, rests       finished, rests       samples are added
 *
 * A full shard rests under a name beside its path, without a descriptor (target.h). The end of a transaction
 * publishes all of them, in order. Each transaction continues with the last shard, unless that is full, in a
 * copy.
 */

/* Makes the writer that the declaration's arguments and columns describe. NPYX_INVALID or NPYX_NOMEM. */
npyx_status npyext_shard_writer_new(npyext_table *table, npyx_error *error);

/* ---- the table ---- */

/* CREATE VIRTUAL TABLE s USING wds(...). */
extern const npyext_table_kind npyext_wds_table_kind;
extern const sqlite3_module npyext_wds_module;

#endif
