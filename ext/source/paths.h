/*
 * A list of paths, in the order in which they are to be read.
 */
#ifndef NPYEXT_PATHS_H
#define NPYEXT_PATHS_H

#include <stdbool.h>
#include <stddef.h>

#include "npyx.h"

typedef struct npyext_paths {
    npyx_arena arena; /* holds the texts */
    const char **paths;
    size_t npaths;
    size_t capacity_npaths;
    size_t max_npaths; /* 0 stands for NPYEXT_MAX_NPATHS */
} npyext_paths;

/* Paths take memory, and a few patterns that match everything make as many as there are files. */
enum { NPYEXT_MAX_NPATHS = 16000000 };

/* Zero-initialise with arena.host set. NPYX_TOOBIG for more paths than the list may have. */
npyx_status npyext_paths_append(npyext_paths *paths, const char *path, size_t nbytes, npyx_error *error);
void npyext_paths_clear(npyext_paths *paths);

/* Sorts the paths from number first on by their bytes and drops repetitions; all of them begin with the same
 * shared_nbytes. Not by qsort, which takes memory past the host and cannot be interrupted. Polls the host. */
npyx_status npyext_paths_sort(npyext_paths *paths, size_t first, size_t shared_nbytes, npyx_error *error);

#endif
