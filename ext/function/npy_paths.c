/* npy_paths(source): the files of a source, none of which is opened. */
#include <errno.h>

#include "functions.h"
#include "scan/cursor.h"

typedef struct paths_cursor {
    npyext_cursor base;
    bool is_looked_up; /* the file at hand */
    bool is_known;
    npyx_file_info info;
} paths_cursor;

static npyx_status paths_begin(npyext_cursor *cursor, const npyext_request *request, npyx_error *error) {
    return npyext_scan_begin(&cursor->scan, request, false, error);
}

/* Of a BLOB its length is known. */
static bool paths_look_up(paths_cursor *cursor) {
    const npyext_scan *scan = &cursor->base.scan;
    struct stat found;
    if (cursor->is_looked_up)
        return cursor->is_known;
    cursor->is_looked_up = cursor->is_known = true;
    cursor->info = (npyx_file_info){0};
    if (scan->path == NULL)
        cursor->info.nbytes = (int64_t)scan->files.content->nbytes;
    else if (npyx_path_stat(&scan->connection->host, scan->path, &found) == 0)
        cursor->info = npyx_file_info_of_stat(&found);
    else
        cursor->is_known = false;
    return cursor->is_known;
}

/* A path that leads out of the root is an error here as everywhere. */
static npyx_status paths_step(npyext_cursor *base, npyx_error *error) {
    paths_cursor *cursor = (paths_cursor *)base;
    npyx_host *host = &base->scan.connection->host;
    cursor->is_looked_up = false;
    base->is_eof = npyext_scan_next_path(&base->scan) == NPYX_DONE;
    if (base->is_eof)
        return NPYX_DONE;
    if (host->root == NULL || paths_look_up(cursor) || errno != EXDEV)
        return NPYX_OK;
    return npyx_path_fail(host, error, errno, "cannot be looked up");
}

#define PATHS_RESULT(name, is_known, value)                                                                  \
    NPYEXT_KNOWN_RESULT(static, name, paths_cursor *at_hand = (paths_cursor *)cursor,                        \
                        paths_look_up(at_hand) && (is_known), sqlite3_result_int64, at_hand->info.value)
PATHS_RESULT(paths_file_size, true, nbytes)
PATHS_RESULT(paths_mtime, cursor->scan.path != NULL, mtime_seconds)

static const npyext_column paths_columns[] = {
    NPYEXT_PATH(false),
    NPYEXT_OUTPUT("file_size INTEGER", 0, paths_file_size),
    NPYEXT_OUTPUT("mtime INTEGER", 0, paths_mtime),
    NPYEXT_ARGUMENT("source BLOB", NPYEXT_SOURCE),
    NPYEXT_PATH_COLUMNS,
    NPYEXT_ARRAY_KEY(npyext_result_array_key),
};

const npyext_function npyext_npy_paths = {
    .name = "npy_paths",
    NPYEXT_COLUMNS(paths_columns),
    .estimated_nrows = 100,
    .cursor_nbytes = sizeof(paths_cursor),
    .begin = paths_begin,
    .step = paths_step,
    .module = NPYEXT_CURSOR_MODULE,
};
