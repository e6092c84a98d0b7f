#include "opener.h"

#include "io/file_system.h"
#include "io/remote.h"

/* Stops opening files ahead. */
static void files_rest(npyext_files *files) {
    npyx_files_ahead_stop(files->ahead);
    files->ahead = NULL;
    files->nopened = 0;
}

void npyext_files_clear(npyext_files *files) {
    npyx_files_ahead_stop(files->ahead);
    npyx_free(files->paths.arena.host, files->parts);
    npyext_paths_clear(&files->paths);
    *files = (npyext_files){.paths = files->paths};
}

size_t npyext_files_count(const npyext_files *files) {
    return files->content != NULL ? 1 : files->paths.npaths;
}

const char *npyext_files_path(const npyext_files *files, size_t index) {
    return files->content != NULL ? NULL : files->paths.paths[index];
}

npyext_part npyext_files_part(const npyext_files *files, size_t index) {
    return index < (size_t)files->nparts ? files->parts[index] : (npyext_part){0};
}

/* ---- ranges: {"path": "train-000000.tar", "offset": 1536, "nbytes": 4224} ---- */

/* Adds a path of which only a part is meant. */
static npyx_status files_add_range(npyext_files *files, const char *path, size_t path_nbytes,
                                   npyext_part part, npyx_error *error) {
    npyx_host *host = files->paths.arena.host;
    if (strlen(path) != path_nbytes)
        return npyx_refuse(error, "a path contains a NUL character");
    NPYX_TRY(npyext_paths_append(&files->paths, path, path_nbytes, error));
    while (files->nparts < (int64_t)files->paths.npaths) {
        NPYX_TRY(npyx_grow(host, &files->parts, files->nparts, &files->capacity_nparts,
                           sizeof files->parts[0], error));
        files->parts[files->nparts++] = (npyext_part){0};
    }
    files->parts[files->nparts - 1] = part;
    return NPYX_OK;
}

static npyx_status fail_range(npyx_error *error) {
    return npyx_refuse(
        error,
        "a range of a file must have exactly the keys path (a string), offset and nbytes (non-negative "
        "integers), as in {\"path\": \"x.tar\", \"offset\": 1536, \"nbytes\": 4224}");
}

static npyx_status fail_raw(npyx_error *error) {
    return npyx_refuse(
        error, "the items of a file without a header need the keys path and dtype, and may have shape "
               "(integers, one of them -1), order (C or F), offset and nbytes (not negative), as in "
               "{\"path\": \"x.bin\", \"dtype\": \"<u2\", \"shape\": [-1, 128]}");
}

/* The columns of a JSON object's query. */
enum {
    RANGE_IS_WHOLE,
    RANGE_PATH,
    RANGE_OFF,
    RANGE_NBYTES,
    RANGE_IS_OBJECT,
    RAW_DTYPE,
    RAW_SHAPE,
    RAW_ORDER,
    RAW_IS_SOUND
};

static npyext_argument raw_text(sqlite3_stmt *statement, int column, const char *otherwise) {
    const char *text = (const char *)sqlite3_column_text(statement, column);
    size_t nbytes = text == NULL ? strlen(otherwise) : (size_t)sqlite3_column_bytes(statement, column);
    return (npyext_argument){.type = SQLITE_TEXT, .bytes = text == NULL ? otherwise : text, .nbytes = nbytes};
}

/* Adds the items of a file without a header. */
static npyx_status files_add_raw(npyext_files *files, sqlite3_stmt *statement, npyx_error *error) {
    npyx_host *host = files->paths.arena.host;
    bool has_nbytes = sqlite3_column_type(statement, RANGE_NBYTES) != SQLITE_NULL;
    int64_t off = sqlite3_column_int64(statement, RANGE_OFF),
            nbytes = sqlite3_column_int64(statement, RANGE_NBYTES);
    const char *path = (const char *)sqlite3_column_text(statement, RANGE_PATH);
    if (path == NULL || !sqlite3_column_int(statement, RAW_IS_SOUND) || off < 0 || nbytes < 0)
        return fail_raw(error);
    npyext_recipe recipe = {.kind = NPYEXT_RECIPE_RAW, .narguments = 6};
    recipe.arguments[0] = raw_text(statement, RANGE_PATH, "");
    recipe.arguments[1] = (npyext_argument){.type = SQLITE_INTEGER, .integer = off};
    recipe.arguments[2] = (npyext_argument){.type = SQLITE_INTEGER, .integer = has_nbytes ? nbytes : -1};
    recipe.arguments[3] = raw_text(statement, RAW_DTYPE, "");
    recipe.arguments[4] = raw_text(statement, RAW_SHAPE, "[-1]");
    recipe.arguments[5] = raw_text(statement, RAW_ORDER, "C");
    npyx_buffer bytes = {.host = host};
    npyext_recipe_append(&recipe, &bytes);
    npyx_status status = npyx_buffer_check(&bytes, error);
    npyext_part part = {.recipe_nbytes = bytes.nbytes};
    if (status == NPYX_OK) {
        part.recipe = npyx_arena_copy(&files->paths.arena, bytes.bytes, bytes.nbytes);
        status = npyx_check_memory(part.recipe, error);
    }
    npyx_buffer_clear(&bytes);
    size_t path_nbytes = (size_t)sqlite3_column_bytes(statement, RANGE_PATH);
    return status == NPYX_OK ? files_add_range(files, path, path_nbytes, part, error) : status;
}

/* Whether json_each accepts JSON5, too (since 3.42). Then json_valid is asked as well, so that every SQLite
 * takes the same texts for JSON. Older ones do not ask it: there it returns 0 when memory runs out, whereas
 * the other functions fail with a code that tells why. */
static bool takes_json5(void) {
    return sqlite3_libversion_number() >= 3042000;
}

/* Prepares a statement over a text that may be JSON. NPYX_DONE: an SQLite without JSON, where a text is a
 * path. */
static npyx_status prepare_json(npyext_connection *connection, const char *query, const char *text,
                                size_t nbytes, sqlite3_stmt **statement, npyx_error *error) {
    int code = sqlite3_prepare_v2(connection->db, query, -1, statement, NULL);
    NPYX_TRY(npyext_fail_code(code, error));
    if (code != SQLITE_OK)
        return NPYX_DONE;
    sqlite3_bind_text64(*statement, 1, text, nbytes, SQLITE_STATIC, SQLITE_UTF8);
    return NPYX_OK;
}

/* Adds the range that a JSON object describes. NPYX_DONE if the text is not a JSON object. */
static npyx_status add_json_range(npyext_connection *connection, npyext_files *files, const char *text,
                                  size_t nbytes, npyx_error *error) {
    static const char query[] =
        "SELECT count(*) = 3, max(CASE WHEN key = 'path' AND type = 'text' THEN value END), "
        "max(CASE WHEN key = 'offset' AND type = 'integer' THEN value END), "
        "max(CASE WHEN key = 'nbytes' AND type = 'integer' THEN value END), "
        "json_type(?1) = 'object' AND CASE WHEN ?2 THEN json_valid(?1) ELSE 1 END, "
        "max(CASE WHEN key = 'dtype' AND type IN ('text', 'array') THEN value END), "
        "max(CASE WHEN key = 'shape' AND type IN ('array', 'integer') THEN value END), "
        "max(CASE WHEN key = 'order' AND type = 'text' THEN value END), "
        "count(*) = count(DISTINCT key) AND sum(CASE key WHEN 'path' THEN type = 'text' "
        "WHEN 'dtype' THEN type IN ('text', 'array') WHEN 'shape' THEN type IN ('array', 'integer') "
        "WHEN 'order' THEN type = 'text' WHEN 'offset' THEN type = 'integer' "
        "WHEN 'nbytes' THEN type = 'integer' ELSE 0 END) = count(*) FROM json_each(?1)";
    sqlite3_stmt *statement = NULL;
    NPYX_TRY(prepare_json(connection, query, text, nbytes, &statement, error));
    sqlite3_bind_int(statement, 2, takes_json5());
    int code = sqlite3_step(statement);
    npyx_status status = npyext_fail_code(code, error);
    bool is_object = code == SQLITE_ROW && sqlite3_column_int(statement, RANGE_IS_OBJECT);
    if (is_object && sqlite3_column_type(statement, RAW_DTYPE) != SQLITE_NULL) {
        status = files_add_raw(files, statement, error);
    } else if (is_object) {
        const char *path = (const char *)sqlite3_column_text(statement, RANGE_PATH);
        npyext_part part = {.is_range = true,
                            .off = sqlite3_column_int64(statement, RANGE_OFF),
                            .nbytes = sqlite3_column_int64(statement, RANGE_NBYTES)};
        bool is_whole = sqlite3_column_int(statement, RANGE_IS_WHOLE) && path != NULL &&
                        sqlite3_column_type(statement, RANGE_OFF) == SQLITE_INTEGER &&
                        sqlite3_column_type(statement, RANGE_NBYTES) == SQLITE_INTEGER && part.off >= 0 &&
                        part.nbytes >= 0;
        status = is_whole ? files_add_range(files, path, (size_t)sqlite3_column_bytes(statement, RANGE_PATH),
                                            part, error)
                          : fail_range(error);
    }
    sqlite3_finalize(statement);
    return status == NPYX_OK && !is_object ? NPYX_DONE : status;
}

/* ---- paths, patterns and lists ---- */

/* A path that exists as written is never a pattern. */
static npyx_status add_path_or_pattern(npyext_files *files, const char *text, size_t nbytes,
                                       npyx_error *error) {
    if (strlen(text) != nbytes)
        return npyx_refuse(error, "a path contains a NUL character");
    bool is_path = !npyext_pattern_is_pattern(text);
    if (!is_path && !npyx_path_is_url(text))
        NPYX_TRY(npyx_path_exists(files->paths.arena.host, text, &is_path, error));
    if (is_path)
        return npyext_paths_append(&files->paths, text, nbytes, error);
    files->is_many = true;
    return npyext_pattern_expand(text, &files->paths, error);
}

/* Fails for a statement over a list that failed: a list must not be truncated silently. */
static npyx_status fail_list(npyext_connection *connection, int code, npyx_error *error) {
    NPYX_TRY(npyext_fail_code(code, error));
    return npyx_fail(error, NPYX_IO, -1, "the list cannot be read (%s)", sqlite3_errmsg(connection->db));
}

/* Adds the entry of the list that the statement is at. */
static npyx_status add_list_entry(npyext_connection *connection, npyext_files *files, sqlite3_stmt *statement,
                                  npyx_error *error) {
    enum { SHOWN_NBYTES = 60 };
    const char *value = (const char *)sqlite3_column_text(statement, 0);
    size_t nbytes = (size_t)sqlite3_column_bytes(statement, 0);
    NPYX_TRY(npyx_check_memory(value, error));
    if (sqlite3_column_int(statement, 1))
        return add_path_or_pattern(files, value, nbytes, error);
    if (value[0] == '{')
        return add_json_range(connection, files, value, nbytes, error);
    return npyx_refuse(
        error, "entry %lld of the list, counted from 0, is %.*s, and neither a path nor a pattern in quotes",
        (long long)sqlite3_column_int64(statement, 2), (int)(nbytes < SHOWN_NBYTES ? nbytes : SHOWN_NBYTES),
        value);
}

/* Adds the entries of a JSON array. NPYX_DONE if the text is not one, or is neither empty nor contains a
 * string, a null or an object. SQLite's own JSON functions parse it. */
static npyx_status add_json_list(npyext_connection *connection, npyext_files *files, const char *text,
                                 size_t nbytes, npyx_error *error) {
    static const char *const queries[] = {
        "SELECT json_type(?1) = 'array' AND CASE WHEN ?2 THEN json_valid(?1) ELSE 1 END",
        "SELECT count(*) = 0 OR sum(type IN ('text', 'null', 'object')) > 0 FROM json_each(?1)",
        ("SELECT CASE type WHEN 'true' THEN type WHEN 'false' THEN type ELSE value END, type = 'text', key "
         "FROM json_each(?1) WHERE type <> 'null'"),
    };
    npyx_status status = NPYX_OK;
    for (int i = 0; i < 3 && status == NPYX_OK; i++) {
        sqlite3_stmt *statement = NULL;
        NPYX_TRY(prepare_json(connection, queries[i], text, nbytes, &statement, error));
        if (i == 0)
            sqlite3_bind_int(statement, 2, takes_json5());
        int code = sqlite3_step(statement);
        if (i < 2 && (code != SQLITE_ROW || !sqlite3_column_int(statement, 0)))
            status = NPYX_DONE;
        for (; i == 2 && code == SQLITE_ROW && status == NPYX_OK; code = sqlite3_step(statement))
            status = add_list_entry(connection, files, statement, error);
        bool is_json = i > 0 || code != SQLITE_ERROR;
        if (code != SQLITE_ROW && code != SQLITE_DONE && is_json)
            status = fail_list(connection, code, error);
        sqlite3_finalize(statement);
    }
    if (status == NPYX_OK)
        files->is_many = true;
    return status;
}

/* Adds the file of a handle, which npy_file must have made on this connection. */
static npyx_status add_handle(npyext_connection *connection, npyext_files *files,
                              const npyext_argument *source, npyx_error *error) {
    npyext_handle handle;
    if (!npyext_handle_read(&connection->handle_key, source->bytes, source->nbytes, &handle))
        return npyx_refuse(error,
                           "the source is a handle, but not one that npy_file made on this connection");
    files->handle_index = handle.index;
    files->handle_stamp = handle.stamp;
    NPYX_TRY(npyext_paths_append(&files->paths, handle.path, handle.path_nbytes, error));
    files->parts = npyx_alloc(files->paths.arena.host, sizeof *files->parts);
    NPYX_TRY(npyx_check_memory(files->parts, error));
    files->parts[0] = handle.part;
    files->nparts = files->capacity_nparts = 1;
    files->is_handle = true; /* from here on there is a path */
    return NPYX_OK;
}

/* Of the text after a `[`: then a list is meant (Python's, or JSON with a comma too many), since a bracket in
 * a pattern hardly begins with a quote. */
static bool begins_with_quote(const char *text) {
    text += strspn(text, " \t\r\n");
    return *text == '"' || *text == '\'';
}

npyx_status npyext_files_resolve(npyext_connection *connection, const npyext_argument *source,
                                 npyext_files *files, npyx_error *error) {
    bool is_handle = source->type == SQLITE_BLOB && npyext_handle_is_like(source->bytes, source->nbytes);
    if (is_handle || source->type == SQLITE_TEXT)
        NPYX_TRY(npyext_policy_check_name(
            &connection->policy, is_handle ? "a handle" : "a TEXT",
            "the contents of a .npy, .npz, .ten, .tar or .safetensors file as a BLOB", error));
    if (is_handle)
        return add_handle(connection, files, source, error);
    if (source->type == SQLITE_BLOB) {
        files->content = source;
        return NPYX_OK;
    }
    if (source->type != SQLITE_TEXT)
        return npyx_refuse(error,
                           "the source is a number; give a path, a pattern, a JSON array of them, or a BLOB");
    const char *text = source->bytes;
    size_t blank_nbytes = strspn(text, " \t\r\n");
    bool is_list = text[blank_nbytes] == '[', is_path = !is_list && text[blank_nbytes] != '{';
    if (!is_path)
        NPYX_TRY(npyx_path_exists(&connection->host, text, &is_path, error));
    if (!is_path) {
        npyx_status status =
            (is_list ? add_json_list : add_json_range)(connection, files, text, source->nbytes, error);
        files->is_list = is_list && status == NPYX_OK;
        if (status == NPYX_DONE && is_list && begins_with_quote(text + blank_nbytes + 1))
            return npyx_refuse(error, "the list is not JSON: put its strings in double quotes, with commas "
                                      "between them, as in '[\"a.npy\", \"b.npy\"]'");
        if (status != NPYX_DONE)
            return status;
    }
    return add_path_or_pattern(files, text, source->nbytes, error);
}

/* A longer source is a list that no message needs to repeat. */
enum { SHOWN_SOURCE_NBYTES = 300 };

const char *npyext_source_shown(const npyext_argument *source) {
    if (source->type == SQLITE_BLOB)
        return "BLOB";
    return source->type == SQLITE_TEXT && source->nbytes <= SHOWN_SOURCE_NBYTES ? source->bytes : NULL;
}

/* Whether a path's suffix is one of the zips that hold arrays, whose directory is at their end. */
static bool is_zip_by_name(const char *path) {
    static const char *const suffixes[] = {".npz", ".pt", ".pth", ".ckpt"};
    const npyx_span name = {path, npyx_url_shown_nbytes(path)};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        if (npyx_span_ends(name, suffixes[i]))
            return true;
    }
    return false;
}

/* Asks at once for the first bytes of the URLs from file number index on, or for the ranges that are meant of
 * them: of one at first, and each time of twice as many. Only of one if so much is read of each file that
 * they would not be kept until they are wanted. */
static npyx_status files_expect(npyext_connection *connection, npyext_files *files, size_t index,
                                npyx_error *error) {
    npyx_remote_request requests[NPYX_REMOTE_AHEAD_NFILES_MOST];
    int64_t nrequests = 0, most = files->nexpected + 1;
    int64_t nbytes = connection->host.counters.remote_bytes;
    if ((int64_t)index < files->nexpected)
        return NPYX_OK;
    if (most > NPYX_REMOTE_AHEAD_NFILES)
        most = NPYX_REMOTE_AHEAD_NFILES;
    if (nbytes - files->expected_at > NPYX_REMOTE_KEPT_NBYTES / 4)
        most = 1;
    files->expected_at = nbytes;
    for (size_t i = index; i < files->paths.npaths && nrequests < most; i++) {
        const npyext_part part = npyext_files_part(files, i);
        bool is_range = part.is_range && part.nbytes <= NPYX_REMOTE_RANGE_NBYTES;
        npyx_remote_request request = {.url = files->paths.paths[i], .nbytes = 1};
        if (is_range) {
            request.off = part.off;
            request.nbytes = part.nbytes;
        }
        request.with_end = !part.is_range && is_zip_by_name(request.url);
        files->nexpected = (int64_t)i + 1;
        bool is_worth_it = is_range || request.with_end || files->paths.npaths > 1;
        if (npyx_path_is_url(request.url) && part.recipe == NULL && is_worth_it)
            requests[nrequests++] = request;
    }
    return npyx_remote_expect(&connection->host, requests, nrequests, error);
}

/* Takes file number index if it was opened ahead; NPYX_DONE if it was not. Opening ahead begins after a few
 * files in order, which show that more are wanted. */
static npyx_status files_take(npyext_connection *connection, npyext_files *files, size_t index,
                              npyext_open_file *taken, npyx_error *error) {
    enum { NBEFORE = 4, MIN_NAHEAD = 8 };
    size_t npaths = files->paths.npaths;
    if (npyx_path_is_url(files->paths.paths[index])) {
        NPYX_TRY(files_expect(connection, files, index, error));
        return NPYX_DONE;
    }
    if ((int64_t)index != files->nopened)
        files_rest(files);
    files->nopened = (int64_t)index + 1;
    bool is_opened_here = npyext_files_part(files, index).recipe == NULL;
    if (files->ahead == NULL && is_opened_here && index == NBEFORE && npaths >= NBEFORE + MIN_NAHEAD)
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
        return npyext_open_blob(&connection->host, content->bytes, content->nbytes, NPYX_NO_HINT,
                                &opened->archive, error);
    }
    const char *path = files->paths.paths[index];
    npyext_open_file ahead = {.info.nbytes = -1};
    npyx_status status = files_take(connection, files, index, &ahead, error);
    if (status != NPYX_OK && status != NPYX_DONE)
        return status;
    const npyext_part part = npyext_files_part(files, index);
    status = npyext_cache_acquire(connection, path, &part, tick, &ahead, &opened->cached, error);
    if (opened->cached != NULL)
        opened->archive = opened->cached->archive;
    opened->info = ahead.info;
    opened->is_known = opened->info.nbytes >= 0;
    opened->is_file = opened->is_known && !npyext_part_is_made(&part);
    if (status == NPYX_OK && files->is_handle)
        return npyext_handle_check(&connection->handle_key, files->handle_stamp, &part, &opened->info, error);
    return status;
}

npyx_status npyext_files_open_source(npyext_connection *connection, npyext_files *files, size_t index,
                                     npyext_opened *opened, npyx_source **source, npyx_error *error) {
    npyx_host *host = &connection->host;
    const npyext_argument *content = files->content;
    const npyext_part part = npyext_files_part(files, index);
    npyext_open_file file = {0};
    *source = NULL;
    if (content != NULL)
        return npyx_source_open_memory(host, content->bytes, content->nbytes, source, error);
    if (part.recipe != NULL)
        return npyext_files_open(connection, files, index, 0, opened, error);
    npyx_status status = files_take(connection, files, index, &file, error);
    if (status == NPYX_OK || status == NPYX_DONE)
        status = npyext_open_part(host, files->paths.paths[index], &part, &file, error);
    if (status == NPYX_OK && files->is_handle)
        status = npyext_handle_check(&connection->handle_key, files->handle_stamp, &part, &file.info, error);
    if (status == NPYX_OK)
        *source = file.source;
    else
        npyx_source_close(file.source);
    return status;
}

bool npyext_opened_zip(npyext_opened *opened) {
    npyx_archive *zip =
        opened->archive->format == NPYX_FORMAT_TORCH ? npyx_archive_torch_zip(opened->archive) : NULL;
    if (zip == NULL)
        return false;
    opened->torch = opened->archive;
    opened->archive = zip;
    return true;
}

void npyext_opened_close(npyext_connection *connection, npyext_opened *opened) {
    if (opened->cached != NULL)
        npyext_cache_release(connection, opened->cached);
    else
        npyx_archive_close(opened->torch != NULL ? opened->torch : opened->archive);
    *opened = (npyext_opened){0};
}

/* ---- an array in addition to a source ---- */

static npyx_status operand_check_type(const npyext_argument *argument, bool takes_path, npyx_error *error) {
    if (argument->type == SQLITE_BLOB || (argument->type == SQLITE_TEXT && takes_path))
        return NPYX_OK;
    if (argument->type != SQLITE_TEXT)
        return npyx_refuse(error, "a number is not an array; npy_from_json('[1.0]') makes one");
    if (argument->bytes[strspn(argument->bytes, " \t\r\n")] == '[')
        return npyx_refuse(error, "a TEXT is not an array; npy_from_json makes one from JSON");
    return npyx_refuse(
        error,
        "a TEXT is not an array; to read one from a file, write (SELECT array FROM npy_file('x.npy'))");
}

/* The one array of the open file. */
static npyx_status operand_find_only(npyext_operand *operand, npyx_error *error) {
    npyx_archive *archive = operand->opened.archive;
    npyx_entry entry;
    operand->index = operand->files.is_handle ? operand->files.handle_index : 0;
    if (operand->files.is_handle || npyx_archive_is_one_npy(archive))
        return NPYX_OK;
    npyx_status status = npyx_archive_entry(archive, 0, &entry, error);
    if (status == NPYX_DONE)
        return npyx_refuse(error, "holds no arrays");
    if (status == NPYX_OK)
        status = npyx_archive_entry(archive, 1, &entry, error);
    if (status != NPYX_OK) /* NPYX_DONE: there is one */
        return status == NPYX_DONE ? NPYX_OK : status;
    return npyx_refuse(
        error, "contains several arrays; choose one, as in (SELECT array FROM npy_file('x.npz', 'name'))");
}

static npyx_status operand_open_array(npyext_operand *operand, const npyext_argument *argument,
                                      npyext_operand_use use, npyx_error *error) {
    npyext_connection *connection = operand->connection;
    NPYX_TRY(operand_check_type(argument, use == NPYEXT_OPERAND_READ_OF_PATH, error));
    NPYX_TRY(npyext_files_resolve(connection, argument, &operand->files, error));
    if (npyext_files_count(&operand->files) != 1 || operand->files.is_many)
        return npyx_refuse(error, "must be one file, not a pattern or a list");
    NPYX_TRY(npyext_files_open(connection, &operand->files, 0, npyext_cache_tick(connection),
                               &operand->opened, error));
    NPYX_TRY(operand_find_only(operand, error));
    npyx_archive *archive = operand->opened.archive;
    npyx_status status = npyx_archive_describe(archive, operand->index, &operand->described, error);
    if (status == NPYX_DONE || (status == NPYX_OK && !operand->described.is_array))
        status = npyx_archive_fail_no_array(error);
    NPYX_TRY(status);
    NPYX_TRY(npyx_array_check_values(&operand->described, error));
    if (use != NPYEXT_OPERAND_DESCRIBED)
        NPYX_TRY(npyx_archive_open_payload(archive, operand->index, &operand->payload, error));
    operand->array = &operand->described;
    return NPYX_OK;
}

npyx_status npyext_operand_open(npyext_operand *operand, npyext_connection *connection,
                                const npyext_argument *argument, const char *what, npyext_operand_use use,
                                npyx_error *error) {
    const char *path = npyext_source_shown(argument);
    *operand = (npyext_operand){.connection = connection, .files.paths.arena.host = &connection->host};
    npyx_array_init(&operand->described, &connection->host);
    npyx_status status = operand_open_array(operand, argument, use, error);
    if (operand->files.is_handle)
        path = npyext_files_path(&operand->files, 0);
    if (status != NPYX_OK && status != NPYX_NOMEM && status != NPYX_INTERRUPTED)
        (void)npyx_error_place(error, NPYX_INVALID, "%s%s%s%s", what, path == NULL ? "" : " (",
                               path == NULL ? "" : path, path == NULL ? "" : ")");
    return status;
}

bool npyext_operand_is_untouched(npyext_operand *operand, int64_t tick) {
    npyext_opened again;
    npyext_connection *connection = operand->connection;
    if (operand->opened.cached == NULL)
        return true;
    npyx_error error;
    npyx_status status = npyext_files_open(connection, &operand->files, 0, tick, &again, &error);
    bool is_same = status == NPYX_OK && again.cached == operand->opened.cached;
    npyext_opened_close(connection, &again);
    return is_same;
}

void npyext_operand_close(npyext_operand *operand) {
    if (operand->connection == NULL)
        return;
    npyx_source_close(operand->payload);
    npyx_array_clear(&operand->described);
    npyext_opened_close(operand->connection, &operand->opened);
    npyext_files_clear(&operand->files);
    *operand = (npyext_operand){0};
}
