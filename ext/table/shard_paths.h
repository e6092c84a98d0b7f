/*
 * The paths of the shards that a table writes, such as `out-%06d.tar` with a number in it, and which of them
 * exist.
 */
#ifndef NPYEXT_SHARD_PATHS_H
#define NPYEXT_SHARD_PATHS_H

#include "core/connection.h"

typedef struct npyext_shard_paths {
    npyext_connection *connection;
    const char *prefix, *suffix; /* in the arena; the number goes between them */
    bool has_number;             /* false: there is only one shard */
    int width;                   /* numbers are padded to it with zeros; 0: they are not */
    npyx_buffer name;            /* scratch: a path to compare with */
} npyext_shard_paths;

/* Reads a path with exactly one %d or %0Nd in its last part, or none. paths has its connection and name.host;
 * clear its name on failure, too. The texts are in arena. NPYX_INVALID or NPYX_NOMEM. */
npyx_status npyext_shard_paths_read(npyext_shard_paths *paths, npyx_arena *arena, const char *path,
                                    npyx_error *error);

/* Replaces the buffer's contents with the path of a number, NUL-terminated. */
npyx_status npyext_shard_path(npyext_shard_paths *paths, int64_t number, npyx_buffer *path,
                              npyx_error *error);

/* *highest: the highest number that exists, or -1. list gets the paths of those above `above`; it may be
 * NULL. */
npyx_status npyext_shard_paths_find(npyext_shard_paths *paths, int64_t above, int64_t *highest,
                                    npyx_name_list *list, npyx_error *error);

/* Removes what a crash has left beside shards, whatever their numbers. */
npyx_status npyext_shard_paths_sweep(npyext_shard_paths *paths, npyx_error *error);

#endif
