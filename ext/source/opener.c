#include "opener.h"

/* Ends what was opened ahead. */
static void files_rest(npyext_files *files) {
    npyx_files_ahead_stop(files->ahead);
    files->ahead = NULL;
    files->nopened = 0;
}

void npyext_files_clear(npyext_files *files) {
    files_rest(files);
    npyext_paths_clear(&files->paths);
    files->content = NULL;
    files->is_many = files->is_list = files->is_handle = false;
}

size_t npyext_files_count(const npyext_files *files) {
    return files->content != NULL ? 1 : files->paths.npaths;
}

const char *npyext_files_path(const npyext_files *files, size_t index) {
    return files->content != NULL ? NULL : files->paths.paths[index];
}

/* A path that exists as written is never a pattern. */
static npyx_status add_path_or_pattern(npyext_files *files, const char *text, size_t nbytes,
                                       npyx_error *error) {
    if (strlen(text) != nbytes)
        return npyx_fail(error, NPYX_INVALID, -1, "a path holds a NUL character");
    bool is_path = !npyext_pattern_is_pattern(text);
    if (!is_path)
        NPYX_TRY(npyx_path_exists(files->paths.arena.host, text, &is_path, error));
    if (is_path)
        return npyext_paths_append(&files->paths, text, nbytes, error);
    files->is_many = true;
    return npyext_pattern_expand(text, &files->paths, error);
}

/* The status of a statement over a list that failed: a list must not be cut silently. */
static npyx_status fail_list(npyext_connection *connection, int code, npyx_error *error) {
    if (code == SQLITE_NOMEM)
        return npyx_fail_nomem(error);
    if (code == SQLITE_INTERRUPT)
        return npyx_fail(error, NPYX_INTERRUPTED, -1, "interrupted");
    return npyx_fail(error, NPYX_IO, -1, "the list cannot be read (%s)", sqlite3_errmsg(connection->db));
}

/* Adds the list's entry at which the statement is. */
static npyx_status add_list_entry(npyext_files *files, sqlite3_stmt *statement, npyx_error *error) {
    enum { SHOWN_NBYTES = 60 };
    const char *value = (const char *)sqlite3_column_text(statement, 0);
    size_t nbytes = (size_t)sqlite3_column_bytes(statement, 0);
    NPYX_TRY(npyx_check_memory(value, error));
    if (sqlite3_column_int(statement, 1))
        return add_path_or_pattern(files, value, nbytes, error);
    return npyx_fail(
        error, NPYX_INVALID, -1,
        "entry %lld of the list, counted from 0, is %.*s, and neither a path nor a pattern in quotes",
        (long long)sqlite3_column_int64(statement, 2), (int)(nbytes < SHOWN_NBYTES ? nbytes : SHOWN_NBYTES),
        value);
}

/* NPYX_DONE unless the text is a JSON array that is empty or has a string or a null in it. SQLite's own JSON
 * functions parse it. */
static npyx_status add_json_list(npyext_connection *connection, npyext_files *files, const char *text,
                                 size_t nbytes, npyx_error *error) {
    static const char *const queries[] = {
        /* not json_valid, which says no when memory is out: this one fails, and how tells why */
        "SELECT json_type(?1) = 'array'",
        "SELECT count(*) = 0 OR sum(type IN ('text', 'null')) > 0 FROM json_each(?1)",
        ("SELECT CASE type WHEN 'true' THEN type WHEN 'false' THEN type ELSE value END, type = 'text', key "
         "FROM json_each(?1) WHERE type <> 'null'"),
    };
    npyx_status status = NPYX_OK;
    for (int i = 0; i < 3 && status == NPYX_OK; i++) {
        sqlite3_stmt *statement = NULL;
        int code = sqlite3_prepare_v2(connection->db, queries[i], -1, &statement, NULL);
        if (code == SQLITE_NOMEM || code == SQLITE_INTERRUPT)
            return fail_list(connection, code, error);
        if (code != SQLITE_OK)
            return NPYX_DONE; /* an SQLite without JSON: a text is a path */
        sqlite3_bind_text64(statement, 1, text, nbytes, SQLITE_STATIC, SQLITE_UTF8);
        code = sqlite3_step(statement);
        if (i < 2 && (code != SQLITE_ROW || !sqlite3_column_int(statement, 0)))
            status = NPYX_DONE;
        for (; i == 2 && code == SQLITE_ROW && status == NPYX_OK; code = sqlite3_step(statement))
            status = add_list_entry(files, statement, error);
        bool is_json = i > 0 || code != SQLITE_ERROR;
        if (code != SQLITE_ROW && code != SQLITE_DONE && is_json)
            status = fail_list(connection, code, error);
        sqlite3_finalize(statement);
    }
    if (status == NPYX_OK)
        files->is_many = true;
    return status;
}

/* What npy_file made on this connection. */
static npyx_status add_handle(npyext_connection *connection, npyext_files *files,
                              const npyext_argument *source, npyx_error *error) {
    npyext_handle handle;
    if (!npyext_handle_read(&connection->handle_key, source->bytes, source->nbytes, &handle))
        return npyx_fail(error, NPYX_INVALID, -1,
                         "the source is a handle that npy_file did not make on this connection");
    files->is_handle = true;
    files->handle_index = handle.index;
    files->handle_stamp = handle.stamp;
    return npyext_paths_append(&files->paths, handle.path, handle.path_nbytes, error);
}

npyx_status npyext_files_resolve(npyext_connection *connection, const npyext_argument *source,
                                 npyext_files *files, npyx_error *error) {
    bool is_handle = source->type == SQLITE_BLOB && npyext_handle_is_like(source->bytes, source->nbytes);
    if (is_handle || source->type == SQLITE_TEXT)
        NPYX_TRY(npyext_policy_check_name(&connection->policy, is_handle ? "a handle" : "a TEXT",
                                          "the contents of a .npy, .npz or .ten file as a BLOB", error));
    if (is_handle)
        return add_handle(connection, files, source, error);
    if (source->type == SQLITE_BLOB) {
        files->content = source;
        return NPYX_OK;
    }
    if (source->type != SQLITE_TEXT)
        return npyx_fail(error, NPYX_INVALID, -1,
                         "the source is a number; give a path, a pattern, a JSON array of them, or a BLOB");
    const char *text = source->bytes;
    size_t blank_nbytes = strspn(text, " \t\r\n");
    bool is_path = text[blank_nbytes] != '[';
    if (!is_path)
        NPYX_TRY(npyx_path_exists(&connection->host, text, &is_path, error));
    if (!is_path) {
        npyx_status status = add_json_list(connection, files, text, source->nbytes, error);
        files->is_list = status == NPYX_OK;
        if (status != NPYX_DONE)
            return status;
    }
    return add_path_or_pattern(files, text, source->nbytes, error);
}

/* File number index as it was opened ahead, if it was; a few in order show that more are wanted. */
static npyx_status files_take(npyext_connection *connection, npyext_files *files, size_t index,
                              npyext_open_file *taken, npyx_error *error) {
    enum { NBEFORE = 4, MIN_NAHEAD = 8 };
    size_t npaths = files->paths.npaths;
    if ((int64_t)index != files->nopened)
        files_rest(files);
    files->nopened = (int64_t)index + 1;
    if (files->ahead == NULL && index == NBEFORE && npaths >= NBEFORE + MIN_NAHEAD)
        files->ahead = npyx_files_ahead_start(&connection->host, files->paths.paths, (int64_t)npaths,
                                              (int64_t)index, files->is_many && !files->is_list);
    if (files->ahead == NULL)
        return NPYX_DONE;
    npyx_status status =
        npyx_files_ahead_take(files->ahead, (int64_t)index, &taken->source, &taken->info, error);
    if (index + 1 == npaths)
        files_rest(files);
    return status;
}

npyx_status npyext_files_open(npyext_connection *connection, npyext_files *files, size_t index, int64_t tick,
                              npyext_opened *opened, npyx_error *error) {
    const npyext_argument *content = files->content;
    *opened = (npyext_opened){0};
    if (content != NULL) {
        opened->is_known = true;
        opened->info.nbytes = (int64_t)content->nbytes;
        return npyext_open_blob(&connection->host, content->bytes, content->nbytes, false, &opened->archive,
                                error);
    }
    const char *path = files->paths.paths[index];
    opened->info.nbytes = -1;
    npyext_open_file ahead = {0};
    npyx_status status = files_take(connection, files, index, &ahead, error);
    if (status != NPYX_OK && status != NPYX_DONE)
        return status;
    status = tick == 0 ? npyext_open_archive(&connection->host, path, &ahead, &opened->archive, &opened->info,
                                             error)
                       : npyext_cache_acquire(connection, path, tick, &ahead, &opened->cached, error);
    if (opened->cached != NULL) {
        opened->archive = opened->cached->archive;
        opened->info = opened->cached->info;
    }
    opened->is_known = opened->is_file = opened->info.nbytes >= 0;
    if (status == NPYX_OK && files->is_handle)
        return npyext_handle_check(&connection->handle_key, files->handle_stamp, &opened->info, error);
    return status;
}

void npyext_opened_close(npyext_connection *connection, npyext_opened *opened) {
    if (opened->cached != NULL)
        npyext_cache_release(connection, opened->cached);
    else
        npyx_archive_close(opened->archive);
    *opened = (npyext_opened){0};
}
