/*
 * The paths of the shards that a table writes: `out-%06d.tar` with a number in it, and what of them is there.
 */
#ifndef NPYEXT_SHARD_PATHS_H
#define NPYEXT_SHARD_PATHS_H

#include "core/connection.h"

typedef struct npyext_shard_paths {
    npyext_connection *connection;
    const char *prefix, *suffix; /* the arena's; between them stands the number */
    bool has_number;             /* false: there is one shard */
    int width;                   /* that numbers are filled up to with zeros; 0: they are not */
    npyx_buffer name;            /* a path that is compared */
} npyext_shard_paths;

/* Reads a path with exactly one %d or %0Nd in its last part, or none. paths has its connection, and
 * name.host; clear the name on failure too. NPYX_INVALID or NPYX_NOMEM. */
npyx_status npyext_shard_paths_read(npyext_shard_paths *paths, npyx_arena *arena, const char *path,
                                    npyx_error *error);

/* The path of a number, with its NUL, in place of what the buffer had. */
npyx_status npyext_shard_path(npyext_shard_paths *paths, int64_t number, npyx_buffer *path,
                              npyx_error *error);

/* The highest number that there is, -1 for none, and the paths of those above one; list may be NULL. */
npyx_status npyext_shard_paths_find(npyext_shard_paths *paths, int64_t above, int64_t *highest,
                                    npyx_name_list *list, npyx_error *error);

/* Clears away what a crash has left beside shards of whatever number. */
npyx_status npyext_shard_paths_sweep(npyext_shard_paths *paths, npyx_error *error);

#endif
