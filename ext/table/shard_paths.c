#include "shard_paths.h"

#include "io/target.h"
#include "source/opener.h"
#include "text/span.h"

/* Accepts one %d or %0Nd, in the last part of the path, or no % at all. */
npyx_status npyext_shard_paths_read(npyext_shard_paths *paths, npyx_arena *arena, const char *path,
                                    npyx_error *error) {
    const npyx_span name = {path, strlen(path)};
    if (npyx_span_ends(name, ".gz") || npyx_span_ends(name, ".tgz"))
        return npyx_refuse(
            error,
            "shards are written uncompressed; name them .tar, and compress them afterwards if need be");
    const char *percent = strchr(path, '%'), *after = percent;
    paths->has_number = percent != NULL;
    if (percent != NULL) {
        bool is_padded = *++after == '0';
        for (; *after >= '0' && *after <= '9' && paths->width < 100; after++)
            paths->width = paths->width * 10 + (*after - '0');
        bool is_one = *after == 'd' && strchr(after, '%') == NULL && strchr(after, '/') == NULL &&
                      (is_padded ? paths->width > 0 && paths->width <= 18 : paths->width == 0);
        if (!is_one)
            return npyx_refuse(error, "a path may have one %%d (or %%06d) in its file name, and no other %%");
        after++;
    }
    paths->prefix = npyx_arena_copy(arena, path, percent == NULL ? strlen(path) : (size_t)(percent - path));
    paths->suffix = percent == NULL ? "" : npyx_arena_copy(arena, after, strlen(after));
    NPYX_TRY(npyx_check_memory(paths->prefix, error));
    return npyx_check_memory(paths->suffix, error);
}

npyx_status npyext_shard_path(npyext_shard_paths *paths, int64_t number, npyx_buffer *path,
                              npyx_error *error) {
    npyx_buffer_reset(path);
    npyx_buffer_append_text(path, paths->prefix);
    if (paths->has_number)
        npyx_buffer_printf(path, "%0*" PRId64, paths->width, number);
    npyx_buffer_append(path, paths->suffix, strlen(paths->suffix) + 1);
    return npyx_buffer_check(path, error);
}

static void paths_append_literal(npyx_buffer *pattern, const char *text, size_t nbytes) {
    for (size_t i = 0; i < nbytes; i++)
        npyx_buffer_printf(pattern, strchr("*?[]{}", text[i]) == NULL ? "%c" : "[%c]", text[i]);
}

/* The pattern for every path that may be a shard's, or for what a crash may have left beside one. */
static npyx_status paths_pattern(const npyext_shard_paths *paths, bool is_beside, npyx_buffer *pattern,
                                 npyx_error *error) {
    const char *slash = strrchr(paths->prefix, '/');
    size_t folder_nbytes = slash == NULL ? 0 : (size_t)(slash - paths->prefix) + 1;
    npyx_buffer_reset(pattern);
    paths_append_literal(pattern, paths->prefix, folder_nbytes);
    npyx_buffer_append_text(pattern, is_beside ? "." : "");
    paths_append_literal(pattern, paths->prefix + folder_nbytes, strlen(paths->prefix) - folder_nbytes);
    npyx_buffer_append_text(pattern, "*");
    paths_append_literal(pattern, paths->suffix, strlen(paths->suffix));
    npyx_buffer_append_text(pattern, is_beside ? ".*.npyext" : "");
    npyx_buffer_append_char(pattern, '\0');
    return npyx_buffer_check(pattern, error);
}

/* The files that match that pattern; there may be none. */
static npyx_status paths_list(npyext_shard_paths *paths, bool is_beside, npyext_files *files,
                              npyx_error *error) {
    npyext_connection *connection = paths->connection;
    npyx_buffer pattern = {.host = &connection->host};
    npyx_status status = paths_pattern(paths, is_beside, &pattern, error);
    if (status == NPYX_OK) {
        const npyext_argument source = {
            .type = SQLITE_TEXT, .bytes = pattern.bytes, .nbytes = pattern.nbytes - 1};
        status = npyext_files_resolve(connection, &source, files, error);
    }
    npyx_buffer_clear(&pattern);
    return status == NPYX_NOT_FOUND ? NPYX_OK : status;
}

/* The number in a path that matched the pattern, nskipped bytes after the prefix; -1 if there is none. */
static int64_t paths_digits(const npyext_shard_paths *paths, const char *path, size_t nskipped) {
    size_t off = strlen(paths->prefix) + nskipped, nbytes = strlen(path);
    uint64_t number = 0;
    const npyx_span rest = {path + (off < nbytes ? off : nbytes), off < nbytes ? nbytes - off : 0};
    return npyx_span_digits(rest, &number) > 0 && number <= INT64_MAX ? (int64_t)number : -1;
}

/* The number of a path; -1 if it is not a shard's. */
static int64_t paths_number(npyext_shard_paths *paths, const char *path) {
    npyx_error error;
    int64_t number = paths_digits(paths, path, 0);
    bool is_its = number >= 0 && npyext_shard_path(paths, number, &paths->name, &error) == NPYX_OK &&
                  strcmp(paths->name.bytes, path) == 0;
    return is_its ? number : -1;
}

npyx_status npyext_shard_paths_find(npyext_shard_paths *paths, int64_t above, int64_t *highest,
                                    npyx_name_list *list, npyx_error *error) {
    npyext_files files = {.paths.arena.host = &paths->connection->host};
    *highest = -1;
    if (!paths->has_number)
        return NPYX_OK;
    npyx_status status = paths_list(paths, false, &files, error);
    for (size_t i = 0; status == NPYX_OK && i < npyext_files_count(&files); i++) {
        const char *path = npyext_files_path(&files, i);
        int64_t number = paths_number(paths, path);
        *highest = number > *highest ? number : *highest;
        if (number > above && list != NULL)
            npyx_name_list_add(list, path, strlen(path));
    }
    npyext_files_clear(&files);
    return status;
}

/* Opening a target removes what a crash has left. Failures are ignored: what is in the way of a shard is
 * reported when that shard is written. */
npyx_status npyext_shard_paths_sweep(npyext_shard_paths *paths, npyx_error *error) {
    npyext_files files = {.paths.arena.host = &paths->connection->host};
    npyx_status status = paths->has_number ? paths_list(paths, true, &files, error) : NPYX_OK;
    for (size_t i = 0; status == NPYX_OK && i < npyext_files_count(&files); i++) {
        npyx_target target = {.is_tar = true};
        npyx_error unseen;
        int64_t number = paths_digits(paths, npyext_files_path(&files, i), strlen("."));
        if (number >= 0 && npyext_shard_path(paths, number, &paths->name, &unseen) == NPYX_OK &&
            npyx_target_open(&target, &paths->connection->host, NPYX_TARGET_NEW, paths->name.bytes,
                             &unseen) == NPYX_OK)
            npyx_target_abandon(&target);
    }
    npyext_files_clear(&files);
    return status;
}
