/* A source that is a regular file: read with pread(2), or mapped; it notices when the file changes. A mapped
 * file has operations of its own, so that reading asks nothing about maps. */
#include "file_system.h"

#include <errno.h>
#include <time.h>

#include "remote.h"
#include "threads.h"

enum {
    /* how a file is opened for reading: without waiting, in case it is not a regular one after all */
    FILE_FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
    /* how many of a file's first bytes are read when it is opened ahead */
    FILE_HEAD_NBYTES = 512
};

typedef struct file_source {
    npyx_source base;
    int descriptor;
    struct timespec mtime;
    uint8_t *map;       /* of the whole file; NULL: it is read instead */
    int64_t passed_off; /* how far a scan of the map has got */
    size_t head_nbytes; /* first bytes, read when it was opened */
    uint8_t head[];
} file_source;

static npyx_status file_check(const npyx_source *source, npyx_error *error) {
    const file_source *file = (const file_source *)source;
    npyx_stat now;
    NPYX_TRY(npyx_descriptor_stat(file->descriptor, &now, error));
    if (now.st_size == file->base.nbytes && now.st_mtim.tv_sec == file->mtime.tv_sec &&
        now.st_mtim.tv_nsec == file->mtime.tv_nsec)
        return NPYX_OK;
    return npyx_fail_as(error, NPYX_KIND_CHANGED, NPYX_IO, -1,
                        "the file changed while it was read (%" PRId64 " bytes at first, now %" PRId64 ")",
                        file->base.nbytes, (int64_t)now.st_size);
}

static npyx_status file_check_when_due(const file_source *file, int64_t off, size_t nbytes,
                                       npyx_error *error) {
    int64_t end_off = off + (int64_t)nbytes;
    bool is_due = off / NPYX_CHECKED_NBYTES != end_off / NPYX_CHECKED_NBYTES ||
                  (off > 0 && end_off == file->base.nbytes);
    return is_due ? file_check(&file->base, error) : NPYX_OK;
}

/* Bytes are missing that were there at the opening. */
static npyx_status fail_early_end(const file_source *file, int64_t off, npyx_error *error) {
    NPYX_TRY(file_check(&file->base, error));
    return npyx_fail(error, NPYX_IO, off,
                     "cannot be read (the system gives nothing at byte %" PRId64
                     ", and says that the file has "
                     "%" PRId64 ")",
                     off, file->base.nbytes);
}

static npyx_status source_file_read(npyx_source *source, int64_t off, void *bytes, size_t nbytes,
                                    size_t *read_nbytes, npyx_error *error) {
    const file_source *file = (file_source *)source;
    if (off + (int64_t)nbytes <= (int64_t)file->head_nbytes) {
        memcpy(bytes, file->head + off, nbytes);
        *read_nbytes = nbytes;
        return NPYX_OK;
    }
    NPYX_TRY(npyx_descriptor_read(source->host, file->descriptor, off, bytes, nbytes, read_nbytes,
                                  "cannot be read", error));
    if (*read_nbytes < nbytes)
        return fail_early_end(file, off + (int64_t)*read_nbytes, error);
    return file_check_when_due(file, off, nbytes, error);
}

static const uint8_t *file_read_aside(const npyx_source *source, int64_t off, void *scratch, size_t nbytes,
                                      uint32_t *crc32) {
    (void)crc32; /* files have none */
    ssize_t n = pread(((const file_source *)source)->descriptor, scratch, nbytes, (off_t)off);
    return n >= 0 && (size_t)n == nbytes ? scratch : NULL;
}

static npyx_status file_account(npyx_source *source, int64_t off, const uint8_t *bytes, size_t nbytes,
                                uint32_t crc32, npyx_error *error) {
    (void)bytes, (void)crc32;
    source->host->counters.read_calls++;
    source->host->counters.bytes_read += (int64_t)nbytes;
    return file_check_when_due((file_source *)source, off, nbytes, error);
}

/* ---- mapped ---- */

static const uint8_t *map_read_aside(const npyx_source *source, int64_t off, void *scratch, size_t nbytes,
                                     uint32_t *crc32) {
    (void)scratch, (void)nbytes, (void)crc32;
    return ((const file_source *)source)->map + off;
}

/* Releases what a scan has passed: the pages stay mapped, and are loaded again when touched. */
static void map_forget(file_source *file, int64_t off, int64_t end_off) {
    bool goes_on = off >= file->passed_off && off - file->passed_off < NPYX_MAPPED_NBYTES;
    int64_t kept_off = file->passed_off / NPYX_MAPPED_NBYTES * NPYX_MAPPED_NBYTES;
    int64_t left_nbytes = end_off / NPYX_MAPPED_NBYTES * NPYX_MAPPED_NBYTES - kept_off;
    if (goes_on && left_nbytes > 0)
        npyx_system_forget(file->map + kept_off, (size_t)left_nbytes);
    file->passed_off = end_off;
}

static npyx_status map_account(npyx_source *source, int64_t off, const uint8_t *bytes, size_t nbytes,
                               uint32_t crc32, npyx_error *error) {
    (void)bytes, (void)crc32;
    file_source *file = (file_source *)source;
    source->host->counters.bytes_read += (int64_t)nbytes;
    map_forget(file, off, off + (int64_t)nbytes);
    return file_check_when_due(file, off, nbytes, error);
}

static npyx_status map_borrow(npyx_source *source, int64_t off, size_t nbytes, const uint8_t **bytes,
                              npyx_error *error) {
    /* the check comes before anyone looks: past the end of a truncated file there is no memory */
    npyx_status status = map_account(source, off, NULL, nbytes, 0, error);
    *bytes = status == NPYX_OK ? ((file_source *)source)->map + off : NULL;
    return status;
}

/* ---- opening and closing ---- */

static void source_file_close(npyx_source *source) {
    const file_source *file = (const file_source *)source;
    if (file->map != NULL)
        npyx_system_unmap(file->map, (size_t)source->nbytes);
    close(file->descriptor);
}

/* Also if our clock is slower than the file server's. */
static bool file_is_fresh(const npyx_source *source) {
    enum { FRESH_SECONDS = 10 };
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t age_seconds = (int64_t)now.tv_sec - ((const file_source *)source)->mtime.tv_sec;
    return age_seconds < FRESH_SECONDS && age_seconds > -FRESH_SECONDS;
}

static const npyx_source_ops source_file_ops = {.read = source_file_read,
                                                .close = source_file_close,
                                                .read_aside = file_read_aside,
                                                .account = file_account,
                                                .check = file_check,
                                                .is_fresh = file_is_fresh};

static const npyx_source_ops map_ops = {.read = source_file_read,
                                        .borrow = map_borrow,
                                        .close = source_file_close,
                                        .read_aside = map_read_aside,
                                        .account = map_account,
                                        .check = file_check,
                                        .is_fresh = file_is_fresh};

static npyx_status source_fail_open(const npyx_host *host, const char *path, npyx_error *error) {
    if (errno == ENOENT || errno == ENOTDIR)
        return npyx_fail(error, NPYX_NOT_FOUND, -1, "no such file%s",
                         strstr(path, "://") != NULL ? " (a URL begins with a scheme in small letters: s3://)"
                                                     : npyx_path_unexpanded(path));
    return npyx_path_fail(host, error, errno, "cannot be opened");
}

static npyx_status source_check_regular(const npyx_stat *found, npyx_error *error) {
    npyx_status status = npyx_file_check_regular(found, error);
    if (S_ISDIR(found->st_mode))
        npyx_error_add(error, "; add '/*' to read the files in it, '/**' for all below it");
    return status;
}

/* A source of an open regular file, given its latest stat in found and its first head_nbytes, already read;
 * 0: none were. The descriptor is the source's from here on, and closed on failure, too. */
static npyx_status file_adopt(npyx_host *host, int descriptor, const npyx_stat *found, const uint8_t *head,
                              size_t head_nbytes, npyx_source **source, npyx_file_info *info,
                              npyx_error *error) {
    file_source *file = npyx_alloc(host, sizeof *file + head_nbytes);
    if (file == NULL) {
        close(descriptor);
        return npyx_fail_nomem(error);
    }
    *file = (file_source){
        .base = {.ops = &source_file_ops, .host = host, .nbytes = found->st_size, .is_concurrent = true},
        .descriptor = descriptor,
        .mtime = found->st_mtim,
        .head_nbytes = head_nbytes};
    if (head_nbytes > 0)
        memcpy(file->head, head, head_nbytes);
    if (host->maps_files && found->st_size > 0 && (uint64_t)found->st_size <= SIZE_MAX)
        file->map = npyx_system_map(descriptor, (size_t)found->st_size); /* NULL: it is read */
    if (file->map != NULL)
        file->base.ops = &map_ops;
    if (info != NULL)
        *info = npyx_file_info_of_stat(found);
    host->counters.files_opened++;
    host->counters.read_calls += head_nbytes > 0;
    host->counters.bytes_read += (int64_t)head_nbytes;
    *source = &file->base;
    return NPYX_OK;
}

npyx_status npyx_source_open_file(npyx_host *host, const char *path, npyx_source **source,
                                  npyx_file_info *info, npyx_error *error) {
    npyx_stat found;
    if (npyx_path_is_url(path))
        return npyx_source_open_remote(host, path, source, info, error);
    if (npyx_path_stat(host, path, &found) != 0)
        return source_fail_open(host, path, error);
    /* before it is opened: a process at the other end of a FIFO must not notice */
    NPYX_TRY(source_check_regular(&found, error));
    int descriptor = npyx_path_open(host, path, FILE_FLAGS);
    if (descriptor < 0)
        return source_fail_open(host, path, error);
    npyx_status status = npyx_descriptor_stat(descriptor, &found, error);
    if (status == NPYX_OK)
        status = source_check_regular(&found, error);
    if (status == NPYX_OK)
        return file_adopt(host, descriptor, &found, NULL, 0, source, info, error);
    close(descriptor);
    return status;
}

/* ---- files opened ahead ---- */

/* Three for each thread that may wait: one being opened, one waiting to be taken, one waiting to be
 * opened. */
enum {
    FILES_NSLOTS = 3 * NPYX_MAX_NTHREADS,
    /* waiting threads are woken for this many, because waking them costs as much as opening two */
    FILES_NALLOWED = NPYX_MAX_NTHREADS
};

typedef struct file_slot {
    int descriptor; /* -1: none */
    bool is_out_of_descriptors;
    npyx_stat found;
    ssize_t head_nbytes;
    uint8_t head[FILE_HEAD_NBYTES];
} file_slot;

struct npyx_files_ahead {
    npyx_host *host;
    const char *const *paths;
    int64_t npaths, first;
    bool are_regular;
    npyx_pool *pool;
    int64_t ntaken;                /* paths from first on */
    file_slot slots[FILES_NSLOTS]; /* path first + i is in slot i % FILES_NSLOTS */
};

/* Opens a file, in any thread. Reports errors only by errno, like the system's calls. */
static bool files_open(const npyx_files_ahead *ahead, const char *path, file_slot *slot) {
    npyx_stat before;
    /* before it is opened: a process at the other end of a FIFO must not notice */
    if (!ahead->are_regular && (npyx_path_stat(ahead->host, path, &before) != 0 || !S_ISREG(before.st_mode)))
        return false;
    slot->descriptor = npyx_path_open(ahead->host, path, FILE_FLAGS);
    slot->is_out_of_descriptors = slot->descriptor < 0 && (errno == EMFILE || errno == ENFILE);
    if (slot->descriptor < 0 || fstat(slot->descriptor, &slot->found) != 0 || !S_ISREG(slot->found.st_mode))
        return false;
    slot->head_nbytes = pread(slot->descriptor, slot->head, sizeof slot->head, 0);
    return slot->head_nbytes >= 0;
}

static void files_make(void *ctx, int64_t number) {
    npyx_files_ahead *ahead = ctx;
    file_slot *slot = &ahead->slots[number % FILES_NSLOTS];
    if (!files_open(ahead, ahead->paths[ahead->first + number], slot))
        npyx_descriptor_close(&slot->descriptor);
}

static void files_allow(const npyx_files_ahead *ahead) {
    if (ahead->ntaken % FILES_NALLOWED != 0)
        return;
    int64_t end = ahead->ntaken + FILES_NSLOTS, nfiles = ahead->npaths - ahead->first;
    npyx_pool_allow(ahead->pool, end < nfiles ? end : nfiles);
}

npyx_files_ahead *npyx_files_ahead_start(npyx_host *host, const char *const *paths, int64_t npaths,
                                         int64_t first, bool are_regular) {
    npyx_files_ahead *ahead = npyx_alloc(host, sizeof *ahead);
    if (ahead == NULL)
        return NULL;
    *ahead = (npyx_files_ahead){
        .host = host, .paths = paths, .npaths = npaths, .first = first, .are_regular = are_regular};
    for (int i = 0; i < FILES_NSLOTS; i++)
        ahead->slots[i].descriptor = -1;
    ahead->pool = npyx_pool_start(host, FILES_NSLOTS, true, files_make, ahead);
    if (ahead->pool == NULL) {
        npyx_free(host, ahead);
        return NULL;
    }
    files_allow(ahead);
    return ahead;
}

/* Ends the threads and closes what was not taken. */
static void files_give_up(npyx_files_ahead *ahead) {
    npyx_pool_stop(ahead->pool);
    ahead->pool = NULL;
    for (int i = 0; i < FILES_NSLOTS; i++)
        npyx_descriptor_close(&ahead->slots[i].descriptor);
}

npyx_status npyx_files_ahead_take(npyx_files_ahead *ahead, int64_t index, npyx_source **source,
                                  npyx_file_info *info, npyx_error *error) {
    int64_t number = index - ahead->first;
    while (ahead->pool != NULL && ahead->ntaken <= number) {
        file_slot *slot = &ahead->slots[ahead->ntaken % FILES_NSLOTS];
        NPYX_TRY(npyx_pool_await(ahead->pool, ahead->ntaken, error));
        if (slot->is_out_of_descriptors) { /* the caller needs them more */
            files_give_up(ahead);
            return NPYX_DONE;
        }
        if (ahead->ntaken++ < number) {
            npyx_descriptor_close(&slot->descriptor);
            files_allow(ahead);
            continue;
        }
        int descriptor = slot->descriptor;
        slot->descriptor = -1;
        npyx_status status = descriptor < 0 ? NPYX_DONE
                                            : file_adopt(ahead->host, descriptor, &slot->found, slot->head,
                                                         (size_t)slot->head_nbytes, source, info, error);
        files_allow(ahead);
        return status;
    }
    return NPYX_DONE;
}

void npyx_files_ahead_stop(npyx_files_ahead *ahead) {
    if (ahead == NULL)
        return;
    files_give_up(ahead);
    npyx_free(ahead->host, ahead);
}
