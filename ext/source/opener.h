/*
 * The opener: from an SQL value to open archives.
 */
#ifndef NPYEXT_OPENER_H
#define NPYEXT_OPENER_H

#include "core/connection.h"
#include "pattern.h"

/* What a source argument stands for. */
typedef struct npyext_files {
    npyext_paths paths; /* of a TEXT source */
    npyext_part *parts; /* of the first nparts paths; of those behind them all is meant */
    int64_t nparts, capacity_nparts;
    const npyext_argument *content; /* of a BLOB source, borrowed; NULL otherwise */
    bool is_many;                   /* a pattern or a list: more than one file was meant */
    bool is_list;                   /* a JSON list: a path may stand in it more than once */
    bool is_handle;                 /* one array of one file, as a handle names it */
    int64_t handle_index;
    uint64_t handle_stamp;
    int64_t nopened;         /* one after the other, from the first on */
    npyx_files_ahead *ahead; /* NULL: the next ones are not opened ahead */
} npyext_files;

/* Finds the files of a source. files is zero but for paths.arena.host; clear it on failure too. */
npyx_status npyext_files_resolve(npyext_connection *connection, const npyext_argument *source,
                                 npyext_files *files, npyx_error *error);
void npyext_files_clear(npyext_files *files);

/* Files in it; a BLOB is one. */
size_t npyext_files_count(const npyext_files *files);
/* The path of file number index; NULL for a BLOB. */
const char *npyext_files_path(const npyext_files *files, size_t index);

/* What of it is meant. */
npyext_part npyext_files_part(const npyext_files *files, size_t index);

/* A source as messages show it before a file of it is open; NULL for one that is not shown. */
const char *npyext_source_shown(const npyext_argument *source);

/* An open file, or a BLOB. */
typedef struct npyext_opened {
    npyx_archive *archive;      /* NULL: nothing is open */
    npyext_cached_file *cached; /* whose the archive is; NULL: it is a BLOB's */
    /* what is known of it without reading it, of what is no archive too */
    bool is_known; /* it could be opened: info.nbytes is set */
    bool is_file;  /* not a BLOB: all of info is set */
    npyx_file_info info;
} npyext_opened;

/* Opens file number index; who goes through many in order has the next ones opened ahead. tick, as given by
 * npyext_cache_tick for the cursor, or 0 for a survey, is what npyext_cache_acquire takes. */
npyx_status npyext_files_open(npyext_connection *connection, npyext_files *files, size_t index, int64_t tick,
                              npyext_opened *opened, npyx_error *error);
/* Takes what is not open, too. */
void npyext_opened_close(npyext_connection *connection, npyext_opened *opened);

#endif
