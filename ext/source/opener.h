/*
 * The opener: from an SQL value to open archives.
 */
#ifndef NPYEXT_OPENER_H
#define NPYEXT_OPENER_H

#include "core/connection.h"
#include "io/source.h"
#include "pattern.h"

/* What a source argument stands for. */
typedef struct npyext_files {
    npyext_paths paths; /* of a TEXT source */
    npyext_part *parts; /* of the first nparts paths; all of the file is meant for the others */
    int64_t nparts, capacity_nparts;
    const npyext_argument *content; /* the BLOB, if the source is one; borrowed */
    bool is_many;                   /* a pattern or a list: more than one file was meant */
    bool is_list;                   /* a JSON list: it may contain a path more than once */
    bool is_handle;                 /* one array of one file, as a handle names it */
    int64_t handle_index;
    uint64_t handle_stamp;
    int64_t nopened;         /* so far, in order from the first */
    npyx_files_ahead *ahead; /* NULL: files are not being opened ahead */
    int64_t nexpected;       /* URLs asked for so far, in order from the first */
    int64_t expected_at;     /* what the host had read by then (remote_bytes) */
} npyext_files;

/* Finds the files of a source, which must outlive them. Zero-initialise files with paths.arena.host set;
 * clear it on failure, too. */
npyx_status npyext_files_resolve(npyext_connection *connection, const npyext_argument *source,
                                 npyext_files *files, npyx_error *error);
void npyext_files_clear(npyext_files *files);

/* How many files there are; 1 for a BLOB. */
size_t npyext_files_count(const npyext_files *files);
/* The path of file number index; NULL for a BLOB. */
const char *npyext_files_path(const npyext_files *files, size_t index);

/* The part of file number index that is meant. */
npyext_part npyext_files_part(const npyext_files *files, size_t index);

/* How messages show a source before one of its files is open; NULL if it is too long to show. */
const char *npyext_source_shown(const npyext_argument *source);

/* An open file, or a BLOB. */
typedef struct npyext_opened {
    npyx_archive *archive;      /* NULL: nothing is open */
    npyext_cached_file *cached; /* the archive's owner; NULL for a BLOB's archive */
    npyx_archive *torch;        /* whose zip the archive is; else NULL */
    /* what is known without reading it, even if it is not an archive */
    bool is_known; /* it could be opened: info.nbytes is set */
    bool is_file;  /* not a BLOB: all of info is set */
    npyx_file_info info;
} npyext_opened;

/* Opens file number index. A caller that opens many in order has the next ones opened ahead. tick is passed
 * to npyext_cache_acquire: the cursor's, from npyext_cache_tick, or 0 for a survey. Close opened on failure,
 * too. */
npyx_status npyext_files_open(npyext_connection *connection, npyext_files *files, size_t index, int64_t tick,
                              npyext_opened *opened, npyx_error *error);
/* The same for a function that looks at a file's bytes itself, whatever they are: *source belongs to the
 * caller. NULL: it is an array of a recipe, and open. */
npyx_status npyext_files_open_source(npyext_connection *connection, npyext_files *files, size_t index,
                                     npyext_opened *opened, npyx_source **source, npyx_error *error);
/* Of a torch file that is a zip, makes archive that zip; false for all others. */
bool npyext_opened_zip(npyext_opened *opened);
/* Accepts one that is not open. */
void npyext_opened_close(npyext_connection *connection, npyext_opened *opened);

/* ---- an array that a table function takes in addition to its source ----
 *
 * The vectors that npy_nearest looks for, the labels of npy_stats. It is a .npy BLOB, a handle or, where
 * paths are accepted, a file of one array.
 */

typedef struct npyext_operand {
    const npyx_array *array; /* described; its items are values, not objects. NULL: nothing is open */
    npyx_source *payload;    /* the source that the array's offsets refer to */
    int64_t index;           /* of the array in opened.archive */
    npyext_opened opened;
    /* private */
    npyext_connection *connection;
    npyx_array described;
    npyext_files files;
} npyext_operand;

typedef enum npyext_operand_use {
    NPYEXT_OPERAND_DESCRIBED, /* payload stays NULL */
    NPYEXT_OPERAND_READ,
    NPYEXT_OPERAND_READ_OF_PATH /* a TEXT is a path, never a pattern or a list; the others refuse it */
} npyext_operand_use;

/* Opens the array that an argument stands for, which must be given and must outlive the operand. Messages
 * begin with what, the argument's name. Close the operand whatever the status. */
npyx_status npyext_operand_open(npyext_operand *operand, npyext_connection *connection,
                                const npyext_argument *argument, const char *what, npyext_operand_use use,
                                npyx_error *error);

/* Whether its file, if it has one, is still what it was when it was opened. tick: see npyext_cache_acquire.
 */
bool npyext_operand_is_untouched(npyext_operand *operand, int64_t tick);

/* Accepts a zero-initialised operand. */
void npyext_operand_close(npyext_operand *operand);

#endif
