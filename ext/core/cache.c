#include "cache.h"

#include <string.h>

int64_t npyext_cache_tick(npyext_cache *cache) {
    return ++cache->clock;
}

bool npyext_path_may_be_empty(const char *path) {
    size_t nbytes = strlen(path);
    return nbytes >= 4 && memcmp(path + nbytes - 4, ".ten", 4) == 0;
}

npyx_status npyext_open_archive(npyx_host *host, const char *path, npyx_archive **archive,
                                npyx_file_info *info, npyx_error *error) {
    npyx_source *source = NULL;
    npyx_status status = npyx_source_open_file(host, path, &source, info, error);
    return status == NPYX_OK ? npyx_archive_open(source, npyext_path_may_be_empty(path), archive, error)
                             : status;
}

static uint32_t hash_path(const char *path) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *path != '\0'; path++)
        hash = (hash ^ (unsigned char)*path) * 16777619u;
    return hash;
}

static void cache_close_file(npyx_host *host, npyext_cached_file *file) {
    npyx_archive_close(file->archive);
    npyx_free(host, file);
}

/* Closes what nobody uses: stale files, and the oldest beyond the limit. */
static void cache_trim(npyext_cache *cache, npyx_host *host) {
    int nidle = 0;
    npyext_cached_file **link = &cache->newest;
    while (*link != NULL) {
        npyext_cached_file *file = *link;
        if (file->nusers == 0 && (file->is_stale || ++nidle > NPYEXT_CACHE_NFILES)) {
            *link = file->older;
            cache_close_file(host, file);
        } else {
            link = &file->older;
        }
    }
}

/* The file kept for a path, moved to the front; NULL when there is none or it is not the file at the path
 * now. */
static npyext_cached_file *cache_find(npyext_cache *cache, const npyx_host *host, const char *path,
                                      uint32_t path_hash, int64_t tick) {
    npyext_cached_file **link = &cache->newest;
    while (*link != NULL &&
           ((*link)->is_stale || (*link)->path_hash != path_hash || strcmp((*link)->path, path) != 0))
        link = &(*link)->older;
    npyext_cached_file *file = *link;
    if (file == NULL)
        return NULL;
    if (file->validated_at < tick) {
        npyx_file_info now;
        file->is_stale =
            !npyx_file_info_of_path(host, path, &now) || !npyx_file_info_is_untouched(&now, &file->info);
        file->validated_at = cache->clock;
    }
    if (file->is_stale)
        return NULL;
    *link = file->older;
    file->older = cache->newest;
    cache->newest = file;
    return file;
}

npyx_status npyext_cache_acquire(npyext_cache *cache, npyx_host *host, const char *path, int64_t tick,
                                 npyext_cached_file **file, npyx_error *error) {
    uint32_t path_hash = hash_path(path);
    *file = cache_find(cache, host, path, path_hash, tick);
    if (*file != NULL) {
        host->counters.cache_hits++;
        (*file)->nusers++;
        return NPYX_OK;
    }
    cache_trim(cache, host);
    size_t path_nbytes = strlen(path) + 1;
    npyext_cached_file *opened = npyx_alloc_zeroed(host, sizeof *opened + path_nbytes);
    if (opened == NULL)
        return npyx_fail_nomem(error);
    npyx_status status = npyext_open_archive(host, path, &opened->archive, &opened->info, error);
    if (status != NPYX_OK) {
        npyx_free(host, opened);
        return status;
    }
    memcpy(opened->path, path, path_nbytes);
    opened->path_hash = path_hash;
    opened->nusers = 1;
    opened->validated_at = cache->clock;
    opened->older = cache->newest;
    cache->newest = opened;
    *file = opened;
    return NPYX_OK;
}

void npyext_cache_release(npyext_cache *cache, npyx_host *host, npyext_cached_file *file) {
    if (file == NULL)
        return;
    file->nusers--;
    cache_trim(cache, host);
}

void npyext_cache_clear(npyext_cache *cache, npyx_host *host) {
    while (cache->newest != NULL) {
        npyext_cached_file *file = cache->newest;
        cache->newest = file->older;
        cache_close_file(host, file);
    }
}
