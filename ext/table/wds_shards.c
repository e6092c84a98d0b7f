/* The directories of shards, which a table keeps for later statements, and parts of their samples as
 * values. */

#include "text/span.h"
#include "wds_table.h"

npyx_status npyext_wds_resolve(const npyext_wds_table *table, npyext_files *files, npyx_error *error) {
    const char *path = table->base.declaration.arguments[NPYEXT_TABLE_PATH];
    const npyext_argument source = {.type = SQLITE_TEXT, .bytes = path, .nbytes = strlen(path)};
    return npyext_files_resolve(table->base.connection, &source, files, error);
}

static void wds_shard_free(npyext_wds_table *table, npyext_wds_shard *shard) {
    table->shards_nbytes -= shard->nbytes;
    npyx_samples_clear(&shard->samples);
    npyx_free(&table->base.connection->host, shard);
}

bool npyext_wds_is_full(const npyext_wds_table *table) {
    return table->shards_nbytes > NPYEXT_WDS_KEPT_NBYTES;
}

/* Forgets what is not in use: stale ones, and the oldest beyond the limit. */
static void wds_shards_trim(npyext_wds_table *table) {
    npyext_wds_shard **link = &table->shards;
    int64_t nbytes = 0;
    while (*link != NULL) {
        npyext_wds_shard *shard = *link;
        nbytes += shard->nbytes;
        if (shard->nusers == 0 && (shard->is_stale || nbytes > NPYEXT_WDS_KEPT_NBYTES)) {
            *link = shard->next;
            nbytes -= shard->nbytes;
            wds_shard_free(table, shard);
        } else {
            link = &shard->next;
        }
    }
}

/* The directory kept for a path, moved to the front; NULL if there is none. */
static npyext_wds_shard *wds_shards_find(npyext_wds_table *table, const char *path, uint64_t path_hash,
                                         const npyext_part *part) {
    npyext_wds_shard **link = &table->shards;
    while (*link != NULL && ((*link)->is_stale || (*link)->path_hash != path_hash ||
                             !npyext_part_is_same(&(*link)->part, part) || strcmp((*link)->path, path) != 0))
        link = &(*link)->next;
    npyext_wds_shard *shard = *link;
    if (shard == NULL)
        return NULL;
    *link = shard->next;
    shard->next = table->shards;
    table->shards = shard;
    return shard;
}

/* Failures of the moment, or of this process, are not faults that the shard keeps. */
static bool wds_is_kept_fault(npyx_status status) {
    return status == NPYX_CORRUPT || status == NPYX_UNSUPPORTED;
}

static npyx_status wds_shard_read(npyext_wds_shard *shard, npyx_archive *archive, npyx_error *error) {
    if (archive->format != NPYX_FORMAT_TAR)
        return npyx_fail(error, NPYX_INVALID, 0,
                         "is a .%s file, not a .tar; for a table of it, use USING npy(...)",
                         npyx_format_name(archive->format));
    npyx_status status = npyx_samples_read(archive->source, &shard->samples, &shard->fault);
    if (status == NPYX_OK)
        status = npyx_source_check(archive->source, error);
    else if (!wds_is_kept_fault(status))
        npyx_fail_again(error, &shard->fault);
    if (status == NPYX_OK)
        shard->fault.status = NPYX_OK;
    return wds_is_kept_fault(status) && shard->fault.status == status ? NPYX_OK : status;
}

static npyx_status wds_shard_open(npyext_wds_table *table, const char *path, uint64_t path_hash,
                                  const npyext_part *part, int64_t tick, npyext_wds_shard **shard,
                                  npyx_error *error) {
    npyext_connection *connection = table->base.connection;
    npyext_cached_file *file = NULL;
    size_t path_nbytes = strlen(path) + 1;
    npyext_wds_shard *opened = npyx_alloc_zeroed(&connection->host, sizeof *opened + path_nbytes);
    NPYX_TRY(npyx_check_memory(opened, error));
    npyx_status status = npyext_cache_acquire(connection, path, part, tick, NULL, &file, error);
    if (status == NPYX_OK) {
        opened->info = file->info;
        status = wds_shard_read(opened, file->archive, error);
    }
    npyext_cache_release(connection, file);
    opened->nbytes = (int64_t)(sizeof *opened + path_nbytes + npyx_samples_nbytes(&opened->samples));
    table->shards_nbytes += opened->nbytes;
    if (status != NPYX_OK) {
        wds_shard_free(table, opened);
        return status;
    }
    memcpy(opened->path, path, path_nbytes);
    opened->path_hash = path_hash;
    opened->part = *part;
    opened->next = table->shards;
    table->shards = *shard = opened;
    return NPYX_OK;
}

npyx_status npyext_wds_shard_acquire(npyext_wds_table *table, const char *path, const npyext_part *part,
                                     int64_t tick, npyext_wds_shard **shard, npyx_error *error) {
    npyx_host *host = &table->base.connection->host;
    npyx_file_info now;
    uint64_t path_hash = npyx_siphash(host->hash_key, path, strlen(path));
    *shard = wds_shards_find(table, path, path_hash, part);
    if (*shard != NULL &&
        (!npyx_file_info_of_path(host, path, &now) || !npyx_file_info_is_untouched(&now, &(*shard)->info))) {
        (*shard)->is_stale = true;
        *shard = NULL;
    }
    if (*shard == NULL) {
        wds_shards_trim(table);
        NPYX_TRY(wds_shard_open(table, path, path_hash, part, tick, shard, error));
    }
    (*shard)->nusers++;
    return NPYX_OK;
}

void npyext_wds_shard_release(npyext_wds_table *table, npyext_wds_shard *shard) {
    if (shard == NULL)
        return;
    shard->nusers--;
    if (shard->is_stale || npyext_wds_is_full(table))
        wds_shards_trim(table);
}

void npyext_wds_shards_clear(npyext_table *base) {
    npyext_wds_table *table = (npyext_wds_table *)base;
    for (npyext_wds_shard *shard = table->shards; shard != NULL; shard = shard->next)
        shard->is_stale = true;
    wds_shards_trim(table);
}

/* ---- parts as values, as webdataset's basichandlers (autodecode.py) make them ---- */

npyext_table_type npyext_wds_type_of(const char *ext) {
    static const struct {
        const char *ext;
        npyext_table_type type;
    } types[] = {{"txt", NPYEXT_TABLE_TEXT},        {"text", NPYEXT_TABLE_TEXT},
                 {"transcript", NPYEXT_TABLE_TEXT}, {"json", NPYEXT_TABLE_TEXT},
                 {"jsn", NPYEXT_TABLE_TEXT},        {"cls", NPYEXT_TABLE_INTEGER},
                 {"cls2", NPYEXT_TABLE_INTEGER},    {"index", NPYEXT_TABLE_INTEGER},
                 {"inx", NPYEXT_TABLE_INTEGER},     {"id", NPYEXT_TABLE_INTEGER}};
    const char *dot = strrchr(ext, '.');
    const char *last = dot == NULL ? ext : dot + 1;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(last, types[i].ext) == 0)
            return types[i].type;
    }
    return NPYEXT_TABLE_BLOB;
}

/* Reads what Python's int() reads: digits, with single underscores between them, a sign before them and
 * blanks around. False for anything else. *fits: it fits SQLite's INTEGER. */
static bool wds_decode_integer(npyx_span text, int64_t *number, bool *fits) {
    text = npyx_span_trim(text);
    bool is_negative = npyx_span_begins(text, "-"), was_digit = false;
    uint64_t size = 0, limit = (uint64_t)INT64_MAX + is_negative;
    *fits = true;
    if (is_negative || npyx_span_begins(text, "+"))
        text = npyx_span_after(text, 1);
    for (; text.nbytes > 0; text = npyx_span_after(text, 1)) {
        char c = text.text[0];
        if (c == '_' && was_digit) {
            was_digit = false;
            continue;
        }
        if (!npyx_is_digit(c))
            return false;
        was_digit = true;
        uint64_t digit = (uint64_t)(c - '0');
        *fits = *fits && size <= (limit - digit) / 10;
        size = *fits ? size * 10 + digit : 0;
    }
    *number = (int64_t)(is_negative ? 0 - size : size);
    return was_digit;
}

npyx_status npyext_wds_decode(npyext_table_type type, const uint8_t *bytes, size_t nbytes, npyx_value *value,
                              npyx_error *error) {
    const char *text = nbytes == 0 ? "" : (const char *)bytes;
    bool fits = true;
    *value = (npyx_value){.bytes = text, .nbytes = nbytes};
    if (type == NPYEXT_TABLE_BLOB) {
        value->kind = NPYX_VALUE_BLOB;
    } else if (type == NPYEXT_TABLE_TEXT) {
        value->kind = NPYX_VALUE_TEXT;
        if (!npyx_utf8_is_valid(text, nbytes))
            return npyx_fail(error, NPYX_CORRUPT, -1, "is not UTF-8, so it is not a text");
    } else {
        value->kind = NPYX_VALUE_INTEGER;
        if (!wds_decode_integer((npyx_span){text, nbytes}, &value->integer, &fits))
            return npyx_fail(error, NPYX_CORRUPT, -1, "is not an integer but '%.*s'",
                             NPYX_SHOWN(text, nbytes, 40));
        if (!fits)
            return npyx_fail(error, NPYX_UNSUPPORTED, -1, "is an integer of more than 64 bits: %.*s",
                             NPYX_SHOWN(text, nbytes, 40));
    }
    return NPYX_OK;
}
