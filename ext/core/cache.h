/*
 * Open files, kept for the next xFilter call and the next query that wants them.
 *
 * A join that looks rows up one by one must not open, stat or parse its file for each. A file found here is
 * held against the file system once a cursor: another size, time of change or inode makes it another file.
 * Archives are shared between cursors; what a cursor reads from one it opens for itself.
 */
#ifndef NPYEXT_CACHE_H
#define NPYEXT_CACHE_H

#include "npyx.h"

/* Files kept open that nobody uses; those in use are not limited. */
enum { NPYEXT_CACHE_NFILES = 16 };

typedef struct npyext_cached_file {
    struct npyext_cached_file *older;
    npyx_archive *archive;
    npyx_file_info info;
    int nusers;
    bool is_stale; /* replaced on disk: closed when its last user lets go */
    int64_t validated_at;
    uint64_t path_hash;
    char path[];
} npyext_cached_file;

typedef struct npyext_cache {
    npyext_cached_file *newest;
    int64_t clock; /* counts the cursors that were opened */
} npyext_cache;

typedef struct npyext_connection npyext_connection; /* connection.h */

/* A number for a new cursor: files validated before it are validated again. */
int64_t npyext_cache_tick(npyext_connection *connection);

/* The file at path, open, and one user more. */
npyx_status npyext_cache_acquire(npyext_connection *connection, const char *path, int64_t tick,
                                 npyext_cached_file **file, npyx_error *error);
/* One user less. Takes NULL. */
void npyext_cache_release(npyext_connection *connection, npyext_cached_file *file);
/* Closes all; nobody uses any. */
void npyext_cache_clear(npyext_connection *connection);

/* The format is told by the first bytes; but an empty .ten, which has none, is a file of no arrays. */
bool npyext_path_may_be_empty(const char *path);

/* Opens a BLOB as an archive; its bytes outlive that. */
npyx_status npyext_open_blob(npyx_host *host, const void *bytes, size_t nbytes, bool may_be_empty,
                             npyx_archive **archive, npyx_error *error);

/* Opens a path as an archive, without keeping it. */
npyx_status npyext_open_archive(npyx_host *host, const char *path, npyx_archive **archive,
                                npyx_file_info *info, npyx_error *error);

#endif
