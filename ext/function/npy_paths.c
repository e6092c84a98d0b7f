/* npy_paths(source): the files of a source. None is opened. */
#include <errno.h>

#include "functions.h"
#include "io/file_system.h"
#include "io/remote.h"
#include "scan/result.h"

typedef struct paths_cursor {
    npyext_cursor base;
    bool is_looked_up; /* the current file has been */
    bool is_known;
    npyx_file_info info;
} paths_cursor;

/* The length of a BLOB is known. A file that does not exist or cannot be seen is no error; a path that leads
 * out of the root is one, as everywhere. */
static npyx_status paths_look_up(paths_cursor *cursor, npyx_error *error) {
    const npyext_scan *scan = &cursor->base.scan;
    npyx_host *host = &scan->connection->host;
    npyx_stat found;
    if (cursor->is_looked_up)
        return NPYX_OK;
    cursor->is_looked_up = cursor->is_known = true;
    cursor->info = (npyx_file_info){0};
    if (scan->path == NULL)
        cursor->info.nbytes = (int64_t)scan->files.content->nbytes;
    else if (npyx_path_is_url(scan->path))
        return npyx_remote_info(host, scan->path, &cursor->info, error);
    else if (npyx_path_stat(host, scan->path, &found) == 0)
        cursor->info = npyx_file_info_of_stat(&found);
    else if (!npyx_errno_is_absence(errno) || (errno == EXDEV && host->root != NULL))
        return npyx_path_fail(host, error, errno, "cannot be looked up");
    else
        cursor->is_known = false;
    return NPYX_OK;
}

static npyx_status paths_step(npyext_cursor *base, npyx_error *error) {
    paths_cursor *cursor = (paths_cursor *)base;
    cursor->is_looked_up = false;
    base->is_eof = npyext_scan_next_path(&base->scan) == NPYX_DONE;
    if (base->is_eof)
        return NPYX_DONE;
    bool is_confined = base->scan.connection->host.root != NULL &&
                       !(base->scan.path != NULL && npyx_path_is_url(base->scan.path));
    return is_confined ? paths_look_up(cursor, error) : NPYX_OK;
}

static void paths_give(sqlite3_context *context, npyext_cursor *base, bool is_mtime) {
    paths_cursor *cursor = (paths_cursor *)base;
    npyx_error error;
    if (paths_look_up(cursor, &error) != NPYX_OK)
        npyext_result_error(context, npyext_scan_place(&base->scan), &error);
    else if (cursor->is_known && !is_mtime)
        sqlite3_result_int64(context, cursor->info.nbytes);
    else if (cursor->is_known && base->scan.path != NULL && !cursor->info.is_remote)
        sqlite3_result_int64(context, cursor->info.mtime_seconds);
}

static void paths_file_size(sqlite3_context *context, npyext_cursor *cursor) {
    paths_give(context, cursor, false);
}

static void paths_mtime(sqlite3_context *context, npyext_cursor *cursor) {
    paths_give(context, cursor, true);
}

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
    .step = paths_step,
    .module = NPYEXT_CURSOR_MODULE,
};
