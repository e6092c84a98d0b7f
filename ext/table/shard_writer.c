#include "wds_table.h"

#include "format/samples.h"
#include "io/first_bytes.h"
#include "io/target.h"
#include "source/array_value.h"
#include "source/opener.h"
#include "text/span.h"

/* ---- the paths of the shards, such as `out-%06d.tar` with a number in it, and which of them exist ---- */

typedef struct shard_paths {
    npyext_connection *connection;
    const char *prefix, *suffix; /* in the arena; the number goes between them */
    bool has_number;             /* false: there is only one shard */
    int width;                   /* numbers are padded to it with zeros; 0: they are not */
    npyx_buffer name;            /* scratch: a path to compare with */
} shard_paths;

/* Reads a path with exactly one %d or %0Nd in its last part, or without any %. paths has its connection and
 * name.host; clear its name on failure, too. The texts are in arena. */
static npyx_status shard_paths_read(shard_paths *paths, npyx_arena *arena, const char *path,
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

/* Replaces the buffer's contents with the path of a number, NUL-terminated. */
static npyx_status shard_path(shard_paths *paths, int64_t number, npyx_buffer *path, npyx_error *error) {
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
static npyx_status paths_pattern(const shard_paths *paths, bool is_beside, npyx_buffer *pattern,
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
static npyx_status paths_list(shard_paths *paths, bool is_beside, npyext_files *files, npyx_error *error) {
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
static int64_t paths_digits(const shard_paths *paths, const char *path, size_t nskipped) {
    size_t off = strlen(paths->prefix) + nskipped, nbytes = strlen(path);
    uint64_t number = 0;
    const npyx_span rest = {path + (off < nbytes ? off : nbytes), off < nbytes ? nbytes - off : 0};
    return npyx_span_digits(rest, &number) > 0 && number <= INT64_MAX ? (int64_t)number : -1;
}

/* The number of a path; -1 if it is not a shard's. */
static int64_t paths_number(shard_paths *paths, const char *path) {
    npyx_error error;
    int64_t number = paths_digits(paths, path, 0);
    bool is_its = number >= 0 && shard_path(paths, number, &paths->name, &error) == NPYX_OK &&
                  strcmp(paths->name.bytes, path) == 0;
    return is_its ? number : -1;
}

/* *highest: the highest number that exists, or -1. list gets the paths of those above `above`; it may be
 * NULL. */
static npyx_status shard_paths_find(shard_paths *paths, int64_t above, int64_t *highest, npyx_name_list *list,
                                    npyx_error *error) {
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

/* Removes what a crash has left beside shards, whatever their numbers: opening a target does. Failures are
 * ignored: what is in the way of a shard is reported when that shard is written. */
static npyx_status shard_paths_sweep(shard_paths *paths, npyx_error *error) {
    npyext_files files = {.paths.arena.host = &paths->connection->host};
    npyx_status status = paths->has_number ? paths_list(paths, true, &files, error) : NPYX_OK;
    for (size_t i = 0; status == NPYX_OK && i < npyext_files_count(&files); i++) {
        npyx_target target = {.is_tar = true};
        npyx_error unseen;
        int64_t number = paths_digits(paths, npyext_files_path(&files, i), strlen("."));
        if (number >= 0 && shard_path(paths, number, &paths->name, &unseen) == NPYX_OK &&
            npyx_target_open(&target, &paths->connection->host, NPYX_TARGET_NEW, paths->name.bytes,
                             &unseen) == NPYX_OK)
            npyx_target_abandon(&target);
    }
    npyext_files_clear(&files);
    return status;
}

/* ---- the writer ---- */

/* The state of the last shard, and the key of its last sample. */
typedef struct shard_mark {
    int64_t nshards, nsamples, payload_nbytes, nbytes;
    size_t key_nbytes;
    char key[];
} shard_mark;

/* A column. They are in the order of the parts of a sample, which are sorted by extension. */
typedef struct shard_column {
    const char *ext;
    int value; /* the column's number */
    npyext_table_type type;
} shard_column;

typedef struct shard_writer {
    npyext_transaction transaction;
    npyx_arena arena;
    shard_paths paths;
    int64_t maxcount;
    double maxsize;
    shard_column *columns;
    int ncolumns;
    /* of the last shard, for the open transaction */
    int64_t nsamples, payload_nbytes;
    int64_t end_nbytes; /* how long it was before its end was written; -1: it has no end yet */
    npyx_buffer key;    /* of its last sample, if it has one */
    npyx_buffer cell;   /* an array on its way into a shard */
    npyx_buffer name;
} shard_writer;

static shard_writer *shards_of(npyext_transaction *transaction) {
    return (shard_writer *)transaction;
}

static npyx_host *shards_host(const shard_writer *writer) {
    return &writer->transaction.connection->host;
}

/* ---- arguments ---- */

/* A number above 0, as a user may write it: 100000 or 3e9. */
static npyx_status shards_read_limit(const char *text, const char *name, double *limit, npyx_error *error) {
    npyx_number number = {0};
    bool is_number = *text != '\0' && npyx_number_read(text, strlen(text), &number) == strlen(text);
    *limit = npyx_number_to_f64(&number);
    if (is_number && *limit > 0 && *limit < 9e18)
        return NPYX_OK;
    return npyx_refuse(error, "%s must be a number above 0, not '%.*s'", name,
                       NPYX_SHOWN(text, strlen(text), 40));
}

static npyx_status shards_read_limits(shard_writer *writer, const char *const *arguments, npyx_error *error) {
    const char *maxcount = arguments[NPYEXT_TABLE_MAXCOUNT], *maxsize = arguments[NPYEXT_TABLE_MAXSIZE];
    double count = 100000;
    writer->maxsize = 3e9;
    if (!writer->paths.has_number && (maxcount != NULL || maxsize != NULL))
        return npyx_refuse(error, "without a %%d in its path, a table writes only one shard, so it cannot "
                                  "have maxcount or maxsize");
    if (maxcount != NULL)
        NPYX_TRY(shards_read_limit(maxcount, "maxcount", &count, error));
    if (maxcount != NULL && count != (double)(int64_t)count)
        return npyx_refuse(error, "maxcount must be a whole number, not '%.*s'",
                           NPYX_SHOWN(maxcount, strlen(maxcount), 40));
    if (maxsize != NULL)
        NPYX_TRY(shards_read_limit(maxsize, "maxsize", &writer->maxsize, error));
    writer->maxcount = (int64_t)count;
    return NPYX_OK;
}

/* The columns of the declaration, in the order that Python gives their extensions: by code point, which is
 * the order of UTF-8's bytes, too. */
static npyx_status shards_sort_columns(shard_writer *writer, const npyext_declaration *declaration,
                                       npyx_error *error) {
    writer->ncolumns = declaration->ncolumns - NPYEXT_WDS_FIRST_EXT;
    writer->columns = npyx_arena_array(&writer->arena, writer->ncolumns + 1, sizeof writer->columns[0]);
    NPYX_TRY(npyx_check_memory(writer->columns, error));
    for (int i = 0; i < writer->ncolumns; i++) {
        const char *ext = declaration->columns[NPYEXT_WDS_FIRST_EXT + i].name;
        int at = i;
        for (; at > 0 && strcmp(writer->columns[at - 1].ext, ext) > 0; at--)
            writer->columns[at] = writer->columns[at - 1];
        writer->columns[at] =
            (shard_column){.ext = ext, .value = NPYEXT_WDS_FIRST_EXT + i, .type = npyext_wds_type_of(ext)};
    }
    return NPYX_OK;
}

/* ---- shards ---- */

static npyx_target *shards_last(const shard_writer *writer) {
    return npyext_transaction_last_target(&writer->transaction);
}

/* Adds a shard and opens it at its path. On failure none is added. */
static npyx_status shards_add(shard_writer *writer, int64_t number, npyx_target_kind kind,
                              npyx_error *error) {
    npyext_transaction *transaction = &writer->transaction;
    /* only the first transaction of mode 'w+' replaces shards */
    const npyx_target shard = {.is_tar = true,
                               .must_be_new = kind == NPYX_TARGET_NEW &&
                                              (!transaction->is_own || transaction->written.is_there)};
    NPYX_TRY(shard_path(&writer->paths, number, &writer->name, error));
    NPYX_TRY(npyext_transaction_add_target(transaction, shard, kind, writer->name.bytes, error));
    transaction->number = number;
    writer->nsamples = writer->payload_nbytes = 0;
    writer->end_nbytes = -1;
    return NPYX_OK;
}

static npyx_status shards_take_key(shard_writer *writer, const char *key, size_t nbytes, npyx_error *error) {
    npyx_buffer_reset(&writer->key);
    npyx_buffer_append(&writer->key, key, nbytes);
    return npyx_buffer_check(&writer->key, error);
}

/* Counts the samples of the last shard and the bytes of their parts, takes the last one's key, and finds
 * where the shard's end begins. */
static npyx_status shards_measure(shard_writer *writer, npyx_source *source, int64_t *end_off,
                                  npyx_error *error) {
    npyx_tar_walk tar = {.window.source = source};
    npyx_sample_walk walk = {0};
    npyx_status status = NPYX_OK;
    *end_off = 0;
    npyx_sample_walk_begin(&walk, source->host);
    while (status == NPYX_OK && (status = npyx_tar_next(&tar, error)) == NPYX_OK) {
        status = npyx_sample_walk_take(&walk, &tar.member, error);
        writer->payload_nbytes += walk.sample >= 0 ? tar.member.data_nbytes : 0;
        *end_off = tar.off;
    }
    if (status == NPYX_DONE) {
        writer->nsamples = walk.nsamples;
        status = shards_take_key(writer, walk.sample_key.bytes, walk.sample_key.nbytes, error);
    }
    npyx_sample_walk_clear(&walk);
    npyx_tar_clear(&tar);
    return status;
}

static bool shards_last_is_full(const shard_writer *writer) {
    return writer->paths.has_number &&
           (writer->nsamples >= writer->maxcount || (double)writer->payload_nbytes >= writer->maxsize);
}

/* Opens a copy of an existing shard, with its end cut off. NPYX_DONE: it is full. */
static npyx_status shards_reopen(shard_writer *writer, int64_t number, npyx_error *error) {
    npyx_source *source = NULL;
    int64_t end_off = 0;
    NPYX_TRY(shards_add(writer, number, NPYX_TARGET_COPY, error));
    npyx_sink *sink = shards_last(writer)->sink;
    npyx_status status = npyx_source_open_sink(sink, &source, error);
    if (status == NPYX_OK)
        status = shards_measure(writer, source, &end_off, error);
    npyx_source_close(source);
    if (status == NPYX_OK && shards_last_is_full(writer))
        status = NPYX_DONE;
    if (status == NPYX_OK)
        status = npyx_sink_cut(sink, end_off, error);
    if (status != NPYX_OK)
        npyext_transaction_drop_target(&writer->transaction);
    return status;
}

/* ---- a transaction ---- */

/* The number of the shard to continue with; -1 if there is none. */
static npyx_status shards_find_last(shard_writer *writer, int64_t *number, npyx_error *error) {
    const npyext_written *written = &writer->transaction.written;
    if (!writer->transaction.is_own && writer->paths.has_number)
        return shard_paths_find(&writer->paths, INT64_MAX, number, NULL, error);
    *number = written->is_there ? written->number : writer->transaction.is_own ? -1 : 0;
    return NPYX_OK;
}

static npyx_status shards_open(npyext_transaction *transaction, npyx_error *error) {
    shard_writer *writer = shards_of(transaction);
    int64_t number = -1;
    if (!transaction->written.is_there)
        NPYX_TRY(shard_paths_sweep(&writer->paths, error));
    NPYX_TRY(shards_find_last(writer, &number, error));
    if (number < 0)
        return shards_add(writer, 0, NPYX_TARGET_NEW, error);
    npyx_status status = shards_reopen(writer, number, error);
    if (status == NPYX_NOT_FOUND && !writer->transaction.is_own)
        return shards_add(writer, number, NPYX_TARGET_NEW, error);
    return status == NPYX_DONE ? shards_add(writer, number + 1, NPYX_TARGET_NEW, error) : status;
}

/* Notes the state of the last shard, as if it had no end. A resting shard has no sink, but always an end. */
static void shards_note_place(const shard_writer *writer, shard_mark *mark) {
    *mark = (shard_mark){.nshards = writer->transaction.ntargets,
                         .nsamples = writer->nsamples,
                         .payload_nbytes = writer->payload_nbytes,
                         .nbytes =
                             writer->end_nbytes >= 0 ? writer->end_nbytes : shards_last(writer)->sink->nbytes,
                         .key_nbytes = writer->key.nbytes};
}

static npyx_status shards_mark(npyext_transaction *transaction, void **place, npyx_error *error) {
    const shard_writer *writer = shards_of(transaction);
    shard_mark *mark = npyx_alloc(shards_host(writer), sizeof *mark + writer->key.nbytes);
    NPYX_TRY(npyx_check_memory(mark, error));
    shards_note_place(writer, mark);
    if (mark->key_nbytes > 0)
        memcpy(mark->key, writer->key.bytes, mark->key_nbytes);
    *place = mark;
    return NPYX_OK;
}

/* Removes the samples after a mark. Its shard must not rest any longer: another writer of the set would
 * remove its file. */
static npyx_status shards_return(shard_writer *writer, const shard_mark *mark, npyx_error *error) {
    for (; writer->transaction.ntargets > mark->nshards; writer->transaction.number--)
        npyext_transaction_drop_target(&writer->transaction);
    npyx_target *last = shards_last(writer);
    NPYX_TRY(npyx_target_resume(last, error));
    writer->nsamples = mark->nsamples;
    writer->payload_nbytes = mark->payload_nbytes;
    writer->end_nbytes = -1;
    return npyx_sink_cut(last->sink, mark->nbytes, error);
}

static npyx_status shards_cut_back(npyext_transaction *transaction, const npyext_transaction_mark *to,
                                   npyx_error *error) {
    shard_writer *writer = shards_of(transaction);
    const shard_mark *mark = to->place;
    NPYX_TRY(shards_return(writer, mark, error));
    return shards_take_key(writer, mark->key, mark->key_nbytes, error);
}

static npyx_status shards_end_last(shard_writer *writer, npyx_error *error) {
    if (writer->end_nbytes >= 0)
        return NPYX_OK;
    npyx_sink *sink = shards_last(writer)->sink;
    int64_t nbytes = sink->nbytes;
    NPYX_TRY(npyx_tar_write_end(sink, error));
    writer->end_nbytes = nbytes;
    return NPYX_OK;
}

static npyx_status shards_finish(npyext_transaction *transaction, npyx_error *error) {
    shard_writer *writer = shards_of(transaction);
    npyx_name_list list = {0};
    int64_t last = transaction->number, highest = -1;
    NPYX_TRY(shard_paths_find(&writer->paths, last, &highest, &list, error));
    if (highest > last) /* a reader would take it for one of the new ones */
        return npyx_refuse(error,
                           "shards numbered above the last one written exist already: %s; remove them first",
                           npyx_name_list_text(&list));
    return shards_end_last(writer, error);
}

/* ---- samples ---- */

static npyx_status shards_stream_ten(npyext_array_value *array, npyx_sink *sink, npyx_error *error) {
    static const npyx_value no_name = {.kind = NPYX_VALUE_TEXT, .bytes = ""};
    static const npyx_zip_method stored = {0};
    npyx_archive_writer *archive = NULL;
    NPYX_TRY(npyx_archive_writer_open(sink, NPYX_FORMAT_TEN, &archive, error));
    npyx_status status = npyext_stream_member(array, archive, NPYX_FORMAT_TEN, &no_name, stored, error);
    if (status == NPYX_OK)
        status = npyx_archive_writer_finish(archive, error);
    npyx_archive_writer_close(archive);
    return status;
}

/* Makes a .npy or .ten file, in writer->cell, from an array that was not given as one. */
static npyx_status shards_array_cell(shard_writer *writer, bool is_ten, sqlite3_value *value,
                                     npyx_error *error) {
    static const npyext_caller caller = {"a cell", "cell"};
    npyext_connection *connection = writer->transaction.connection;
    npyext_array_value array;
    npyx_sink *sink = NULL;
    npyx_buffer_reset(&writer->cell);
    writer->cell.limit_nbytes = npyext_max_nbytes(connection);
    NPYX_TRY(npyx_sink_open_memory(&writer->cell, &sink, error));
    npyx_status status = npyext_array_value_open(&array, connection, NULL, &caller, value, error);
    if (status == NPYX_OK)
        status = (is_ten ? shards_stream_ten : npyext_stream_npy)(&array, sink, error);
    npyext_array_value_close(&array);
    npyx_sink_close(sink);
    return status;
}

static bool shard_ends_as(const char *ext, const char *last) {
    const char *dot = strrchr(ext, '.');
    return strcmp(dot == NULL ? ext : dot + 1, last) == 0;
}

/* Whether all arrays of a file can be described; in a .npy only the first, which anything may follow. */
static npyx_status shards_describe(npyx_archive *archive, npyx_host *host, npyx_error *error) {
    npyx_status status = NPYX_OK;
    for (int64_t i = 0; status == NPYX_OK && (i == 0 || archive->format == NPYX_FORMAT_TEN); i++) {
        npyx_entry entry;
        npyx_array array;
        npyx_array_init(&array, host);
        status = npyx_archive_entry(archive, i, &entry, error);
        if (status == NPYX_OK)
            status = npyx_archive_describe(archive, i, &array, error);
        npyx_array_clear(&array);
    }
    return status == NPYX_DONE ? NPYX_OK : status;
}

/* A file of an array is stored as it is. Unless it were checked here, damage would first be found in
 * training. */
static npyx_status shards_check_file(const shard_writer *writer, const npyx_value *cell, npyx_error *error) {
    npyx_source *source = NULL;
    npyx_archive *archive = NULL;
    npyx_host *host = shards_host(writer);
    NPYX_TRY(npyx_source_open_memory(host, cell->bytes, cell->nbytes, &source, error));
    NPYX_TRY(npyx_archive_open(source, NPYX_NO_HINT, &archive, error));
    npyx_status status = shards_describe(archive, host, error);
    npyx_archive_close(archive);
    return status;
}

/* The bytes of a cell, valid until the next one and as long as room: a file for an array, otherwise its bytes
 * or its text. */
static npyx_status shards_cell_bytes(shard_writer *writer, const shard_column *column, sqlite3_value *value,
                                     char room[NPYX_NUMBER_TEXT_NBYTES], npyx_value *cell,
                                     npyx_error *error) {
    npyx_value checked;
    bool is_npy = shard_ends_as(column->ext, "npy"),
         is_ten = shard_ends_as(column->ext, "ten") || shard_ends_as(column->ext, "tb");
    bool is_blob = sqlite3_value_type(value) == SQLITE_BLOB;
    NPYX_TRY(is_blob ? npyext_value_read(value, cell, error)
                     : npyext_value_stable_text(value, room, cell, error));
    bool is_file = is_blob && (is_ten ? npyx_begins_ten(cell->bytes, cell->nbytes)
                                      : npyx_begins_npy(cell->bytes, cell->nbytes));
    if ((is_npy || is_ten) && is_file)
        NPYX_TRY(shards_check_file(writer, cell, error));
    if ((is_npy || is_ten) && !is_file) {
        NPYX_TRY(shards_array_cell(writer, is_ten, value, error));
        cell->bytes = writer->cell.bytes;
        cell->nbytes = writer->cell.nbytes;
    }
    return npyext_wds_decode(column->type, (const uint8_t *)cell->bytes, cell->nbytes, &checked, error);
}

static npyx_status shards_append_part(shard_writer *writer, const npyx_value *key, const shard_column *column,
                                      sqlite3_value *value, npyx_error *error) {
    npyx_value cell;
    char room[NPYX_NUMBER_TEXT_NBYTES];
    npyx_status status = shards_cell_bytes(writer, column, value, room, &cell, error);
    if (status != NPYX_OK) {
        status = status == NPYX_CORRUPT || status == NPYX_UNSUPPORTED ? NPYX_INVALID : status;
        error->status = status;
        return npyx_error_place(error, status, "column '%.60s'", column->ext);
    }
    npyx_buffer *name = &writer->name;
    npyx_buffer_reset(name);
    npyx_buffer_append(name, key->bytes, key->nbytes);
    npyx_buffer_append_char(name, '.');
    npyx_buffer_append_text(name, column->ext);
    NPYX_TRY(npyx_buffer_check(name, error));
    NPYX_TRY(npyx_tar_write_member(shards_last(writer)->sink, name->bytes, name->nbytes, cell.bytes,
                                   cell.nbytes, error));
    writer->payload_nbytes += (int64_t)cell.nbytes;
    return NPYX_OK;
}

static npyx_status shards_append_parts(shard_writer *writer, const npyx_value *key, sqlite3_value **values,
                                       npyx_error *error) {
    int nparts = 0;
    for (int i = 0; i < writer->ncolumns; i++) {
        sqlite3_value *value = values[writer->columns[i].value];
        if (sqlite3_value_type(value) == SQLITE_NULL)
            continue;
        NPYX_TRY(shards_append_part(writer, key, &writer->columns[i], value, error));
        nparts++;
    }
    return nparts > 0 ? NPYX_OK
                      : npyx_refuse(error, "a sample needs at least one part, but all columns are NULL");
}

/* A full shard is finished before the next sample, as by ShardWriter. One that is not full has an end if a
 * COMMIT was put off, and loses it again. */
static npyx_status shards_make_room(shard_writer *writer, npyx_error *error) {
    npyx_target *last = shards_last(writer);
    if (!shards_last_is_full(writer))
        return writer->end_nbytes < 0 ? NPYX_OK : npyx_sink_cut(last->sink, writer->end_nbytes, error);
    NPYX_TRY(shards_end_last(writer, error));
    NPYX_TRY(npyx_target_rest(last, error));
    return shards_add(writer, writer->transaction.number + 1, NPYX_TARGET_NEW, error);
}

/* Adds a sample; on failure, part of it may be there. */
static npyx_status shards_write_sample(shard_writer *writer, const npyx_value *key, sqlite3_value **values,
                                       npyx_error *error) {
    npyx_status opened = shards_make_room(writer, error);
    if (opened == NPYX_INVALID) /* something in the way is not the row's fault */
        opened = error->status = NPYX_IO;
    NPYX_TRY(opened);
    writer->end_nbytes = -1;
    if (writer->nsamples > 0 && npyx_is_same(writer->key.bytes, writer->key.nbytes, key->bytes, key->nbytes))
        return npyx_refuse(error, "__key__ '%.*s' is the same as that of the sample before",
                           NPYX_SHOWN(key->bytes, key->nbytes, 100));
    NPYX_TRY(shards_append_parts(writer, key, values, error));
    writer->nsamples++;
    return shards_take_key(writer, key->bytes, key->nbytes, error);
}

static npyx_status shards_insert(npyext_transaction *transaction, sqlite3_value **values, npyx_error *error) {
    shard_writer *writer = shards_of(transaction);
    npyx_value key;
    npyext_connection_begin(transaction->connection);
    char room[NPYX_NUMBER_TEXT_NBYTES];
    if (sqlite3_value_type(values[NPYEXT_WDS_URL]) != SQLITE_NULL)
        return npyx_refuse(error, "__url__ is set by the table (the shard that the sample goes to); "
                                  "name the other columns, as in "
                                  "INSERT INTO out(__key__, cls) SELECT __key__, cls FROM ...");
    if (sqlite3_value_type(values[NPYEXT_WDS_KEY]) == SQLITE_NULL)
        return npyx_refuse(error, "__key__ is NULL");
    NPYX_TRY(npyext_value_stable_text(values[NPYEXT_WDS_KEY], room, &key, error));
    NPYX_TRY(npyx_tar_check_key(key.bytes, key.nbytes, error));
    shard_mark before;
    shards_note_place(writer, &before);
    npyx_status status = shards_write_sample(writer, &key, values, error);
    npyx_error second;
    if (status != NPYX_OK && shards_return(writer, &before, &second) != NPYX_OK)
        transaction->state = NPYEXT_TRANSACTION_SPOILT;
    return status;
}

/* ---- making and freeing ---- */

static void shards_clear(npyext_transaction *transaction) {
    shard_writer *writer = shards_of(transaction);
    npyx_buffer_clear(&writer->key);
    npyx_buffer_clear(&writer->cell);
    npyx_buffer_clear(&writer->name);
    npyx_buffer_clear(&writer->paths.name);
    npyx_arena_clear(&writer->arena);
}

static const npyext_transaction_ops shard_writer_ops = {.nbytes = sizeof(shard_writer),
                                                        .open = shards_open,
                                                        .mark = shards_mark,
                                                        .cut_back = shards_cut_back,
                                                        .finish = shards_finish,
                                                        .insert = shards_insert,
                                                        .clear = shards_clear};

npyx_status npyext_shard_writer_new(npyext_table *table, npyx_error *error) {
    npyx_host *host = &table->connection->host;
    const npyext_declaration *declaration = &table->declaration;
    NPYX_TRY(npyext_table_new_writer(table, &shard_writer_ops, error));
    shard_writer *made = shards_of(table->writer);
    made->paths.connection = table->connection;
    made->arena.host = made->key.host = made->cell.host = made->name.host = made->paths.name.host = host;
    NPYX_TRY(shard_paths_read(&made->paths, &made->arena, made->transaction.path, error));
    NPYX_TRY(shards_read_limits(made, declaration->arguments, error));
    return shards_sort_columns(made, declaration, error);
}
