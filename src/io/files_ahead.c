#include "files_ahead.h"

#include <errno.h>

#include "file_system.h"
#include "threads.h"

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
    uint8_t head[NPYX_FILE_HEAD_NBYTES];
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
    slot->descriptor = npyx_path_open(ahead->host, path, NPYX_FILE_FLAGS);
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
        while (!npyx_pool_has_made(ahead->pool, ahead->ntaken))
            NPYX_TRY(npyx_pool_help(ahead->pool, ahead->ntaken, error));
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
        npyx_status status = descriptor < 0
                                 ? NPYX_DONE
                                 : npyx_source_adopt_file(ahead->host, descriptor, &slot->found, slot->head,
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
