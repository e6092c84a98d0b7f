/* The open files of a connection, the most recently used first. */
#include "connection.h"

int64_t npyext_cache_tick(npyext_connection *connection) {
    return ++connection->clock;
}

npyx_status npyext_open_blob(npyx_host *host, const void *bytes, size_t nbytes, npyx_hint hint,
                             npyx_archive **archive, npyx_error *error) {
    npyx_source *source = NULL;
    NPYX_TRY(npyx_source_open_memory(host, bytes, nbytes, &source, error));
    npyx_status status = npyx_archive_open(source, hint, archive, error);
    /* bytes of no known format are mostly a column `data` where `array` was meant */
    if (status == NPYX_CORRUPT && error->kind == NPYX_KIND_UNKNOWN)
        npyx_error_add(error, "; for raw items: take `array` in place of `data`, and from Python call "
                              "npyext.register_adapters() first");
    return status;
}

/* Turns a file's source into a range of it, which owns the file's source; closes it on failure. */
static npyx_status cache_take_part(npyx_source **source, const npyext_part *part, npyx_error *error) {
    npyx_source *file = *source;
    if (part == NULL || !part->is_range)
        return NPYX_OK;
    if (part->off <= file->nbytes && part->nbytes <= file->nbytes - part->off)
        return npyx_source_open_owned_range(file, part->off, part->nbytes, source, error);
    npyx_status status = npyx_fail_short(file, error, part->off,
                                         "the range of %" PRId64 " bytes at byte %" PRId64
                                         " goes beyond the file, which has %" PRId64,
                                         part->nbytes, part->off, file->nbytes);
    npyx_source_close(file);
    return status;
}

npyx_status npyext_open_part(npyx_host *host, const char *path, const npyext_part *part,
                             npyext_open_file *file, npyx_error *error) {
    if (file->source == NULL)
        NPYX_TRY(npyx_source_open_file(host, path, &file->source, &file->info, error));
    npyx_status status = cache_take_part(&file->source, part, error);
    if (status != NPYX_OK)
        file->source = NULL;
    return status;
}

static npyx_status cache_open(npyext_connection *connection, const char *path, const npyext_part *part,
                              npyext_open_file *file, npyx_archive **archive, npyx_error *error) {
    npyx_host *host = &connection->host;
    if (part->recipe != NULL) {
        npyx_source_close(file->source); /* opened ahead: a raw array's file, which its recipe opens itself */
        return connection->recipes->open(connection, part->recipe, part->recipe_nbytes, archive, &file->info,
                                         error);
    }
    NPYX_TRY(npyext_open_part(host, path, part, file, error));
    npyx_status status = npyx_archive_open(file->source, npyx_path_hint(path), archive, error);
    if (status == NPYX_CORRUPT && error->kind == NPYX_KIND_UNKNOWN && !part->is_range)
        npyx_error_add(error,
                       "; for raw items give a dtype, as in {\"path\": \"x.bin\", \"dtype\": \"<f4\"}");
    return status;
}

/* Closes what is not in use: stale files, and the oldest beyond the limit. What was made of other files
 * releases them when it is closed, so the list is looked through anew after that: here, not by a call in the
 * release, which would go as deep as there are such files. */
static void cache_trim(npyext_connection *connection) {
    int nidle = 0;
    if (connection->is_trimming)
        return;
    connection->is_trimming = true;
    npyext_cached_file **link = &connection->newest_file;
    while (*link != NULL) {
        npyext_cached_file *file = *link;
        if (file->nusers == 0 && (file->is_stale || ++nidle > NPYX_CACHE_NFILES)) {
            bool is_made = file->part.recipe != NULL;
            *link = file->older;
            npyx_archive_close(file->archive);
            npyx_free(&connection->host, file);
            if (is_made) {
                link = &connection->newest_file;
                nidle = 0;
            }
        } else {
            link = &file->older;
        }
    }
    connection->is_trimming = false;
}

static bool cache_is_untouched(npyext_connection *connection, npyext_cached_file *file, int64_t tick) {
    npyx_file_info now;
    if (file->part.recipe == NULL)
        return npyx_file_info_of_path(&connection->host, file->path, &now) &&
               npyx_file_info_is_untouched(&now, &file->info);
    file->nusers++; /* looking at what it was made of changes the list */
    bool is_untouched = connection->recipes->is_untouched(file->archive, tick);
    file->nusers--;
    return is_untouched;
}

/* The file kept for a path, moved to the front; NULL if there is none or the path leads to another file by
 * now. */
static npyext_cached_file *cache_find(npyext_connection *connection, const char *path, uint64_t path_hash,
                                      const npyext_part *part, int64_t tick) {
    npyext_cached_file **link = &connection->newest_file;
    while (*link != NULL && ((*link)->is_stale || (*link)->path_hash != path_hash ||
                             !npyext_part_is_same(&(*link)->part, part) || strcmp((*link)->path, path) != 0))
        link = &(*link)->older;
    npyext_cached_file *file = *link;
    if (file == NULL)
        return NULL;
    *link = file->older;
    file->older = connection->newest_file;
    connection->newest_file = file;
    if (file->validated_at < tick) {
        file->is_stale = !cache_is_untouched(connection, file, tick);
        file->validated_at = connection->clock;
    }
    return file->is_stale ? NULL : file;
}

npyx_status npyext_cache_acquire(npyext_connection *connection, const char *path, const npyext_part *part,
                                 int64_t tick, npyext_open_file *ahead, npyext_cached_file **file,
                                 npyx_error *error) {
    static const npyext_part all;
    npyx_host *host = &connection->host;
    npyext_open_file own = {0};
    size_t path_nbytes = strlen(path) + 1;
    bool is_survey = tick == 0;
    ahead = ahead == NULL ? &own : ahead;
    part = part == NULL ? &all : part;
    uint64_t path_hash = npyx_siphash(host->hash_key, path, path_nbytes);
    *file = cache_find(connection, path, path_hash, part, is_survey ? npyext_cache_tick(connection) : tick);
    if (*file != NULL) {
        host->counters.cache_hits++;
        (*file)->nusers++;
        npyx_source_close(ahead->source);
        ahead->info = (*file)->info;
        return NPYX_OK;
    }
    cache_trim(connection);
    npyext_cached_file *opened = npyx_alloc_zeroed(host, sizeof *opened + path_nbytes + part->recipe_nbytes);
    if (opened == NULL) {
        npyx_source_close(ahead->source);
        return npyx_fail_nomem(error);
    }
    memcpy(opened->path, path, path_nbytes);
    opened->path_hash = path_hash;
    opened->part = *part;
    if (part->recipe != NULL)
        opened->part.recipe = memcpy(opened->path + path_nbytes, part->recipe, part->recipe_nbytes);
    npyx_status status = cache_open(connection, path, &opened->part, ahead, &opened->archive, error);
    if (status != NPYX_OK) {
        npyx_free(host, opened);
        return status;
    }
    opened->info = ahead->info;
    opened->nusers = 1;
    opened->validated_at = connection->clock;
    opened->is_stale = is_survey && opened->archive->format != NPYX_FORMAT_TAR;
    opened->older = connection->newest_file;
    connection->newest_file = opened;
    *file = opened;
    return NPYX_OK;
}

void npyext_cache_release(npyext_connection *connection, npyext_cached_file *file) {
    if (file == NULL)
        return;
    if (--file->nusers == 0) {
        npyx_archive_quiesce(file->archive);
        file->is_stale |= file->part.recipe_nbytes > (size_t)NPYX_KEPT_HEADER_NBYTES; /* a copy of BLOBs */
    }
    cache_trim(connection);
}

void npyext_cache_clear(npyext_connection *connection) {
    for (npyext_cached_file *file = connection->newest_file; file != NULL; file = file->older)
        file->is_stale = true;
    cache_trim(connection);
}
