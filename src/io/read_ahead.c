#include "read_ahead.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum { NSLOTS = 4, AHEAD_PAGE_NBYTES = 4096 };

typedef struct slot {
    uint8_t *memory; /* for a block at any offset in a page */
    uint8_t *room;   /* in there, for this one */
    void *result;
    bool is_made;
    const uint8_t *bytes; /* NULL: they could not be read */
} slot;

struct npyx_read_ahead {
    npyx_host *host;
    npyx_source *source;
    int64_t off, nbytes;
    size_t block_nbytes;
    npyx_work work;
    int64_t nblocks;
    uint8_t *memory;  /* of all slots */
    int64_t ntaken;   /* blocks given to the caller */
    npyx_error error; /* of the block that could not be read, when only the caller reads */
    pid_t process;    /* in a forked copy of which there is no helper, and the mutex is in any state */
    pthread_t helper;
    pthread_mutex_t mutex; /* of all below */
    pthread_cond_t changed;
    int64_t nread;    /* of a source that is not concurrent: blocks that the caller has read */
    int64_t nclaimed; /* blocks that a thread makes or has made */
    int64_t nfree;    /* blocks that have a slot, or could have one now */
    bool is_stopping;
    slot slots[NSLOTS]; /* block i is in slot i % NSLOTS */
};

static size_t nbytes_of(const npyx_read_ahead *ahead, int64_t index) {
    int64_t left_nbytes = ahead->nbytes - index * (int64_t)ahead->block_nbytes;
    return left_nbytes < (int64_t)ahead->block_nbytes ? (size_t)left_nbytes : ahead->block_nbytes;
}

static int64_t off_of(const npyx_read_ahead *ahead, int64_t index) {
    return ahead->off + index * (int64_t)ahead->block_nbytes;
}

/* Gives a block its room: congruent to the file modulo a page, because the kernel copies to any other place
 * several times slower. */
static slot *take_slot(npyx_read_ahead *ahead, int64_t index) {
    slot *taken = &ahead->slots[index % NSLOTS];
    size_t shift =
        (size_t)(ahead->source->file_off + off_of(ahead, index)) - (size_t)(uintptr_t)taken->memory;
    taken->room = taken->memory + (shift & (AHEAD_PAGE_NBYTES - 1));
    return taken;
}

/* Makes a block that was claimed, without the mutex. */
static void ahead_make(npyx_read_ahead *ahead, int64_t index) {
    slot *made = &ahead->slots[index % NSLOTS];
    size_t nbytes = nbytes_of(ahead, index);
    if (ahead->source->is_concurrent) {
        take_slot(ahead, index);
        made->bytes = ahead->source->ops->read_aside(ahead->source, off_of(ahead, index), made->room, nbytes);
    }
    if (made->bytes != NULL)
        ahead->work.run(ahead->work.ctx, made->bytes, nbytes, made->result);
}

/* Claims the next block that can be made and makes it, if there is one. To be called with the mutex, which is
 * not held while the block is made. */
static bool make_next(npyx_read_ahead *ahead) {
    int64_t nready = ahead->source->is_concurrent ? ahead->nfree : ahead->nread;
    if (ahead->nclaimed == ahead->nblocks || ahead->nclaimed == nready)
        return false;
    int64_t index = ahead->nclaimed++;
    pthread_mutex_unlock(&ahead->mutex);
    ahead_make(ahead, index);
    pthread_mutex_lock(&ahead->mutex);
    ahead->slots[index % NSLOTS].is_made = true;
    return true;
}

/* Reads the next block of a source that only the caller can read, if there is one and a slot for it. With the
 * mutex, as above. A failure makes it the last one. */
static bool read_next(npyx_read_ahead *ahead) {
    if (ahead->source->is_concurrent || ahead->nread == ahead->nblocks || ahead->nread == ahead->nfree)
        return false;
    int64_t index = ahead->nread;
    pthread_mutex_unlock(&ahead->mutex);
    slot *taken = take_slot(ahead, index);
    npyx_status status = npyx_source_window(ahead->source, off_of(ahead, index), nbytes_of(ahead, index),
                                            taken->room, &taken->bytes, &ahead->error);
    pthread_mutex_lock(&ahead->mutex);
    if (status != NPYX_OK) {
        taken->bytes = NULL;
        ahead->nblocks = index + 1;
    }
    ahead->nread++;
    pthread_cond_signal(&ahead->changed);
    return true;
}

static void *help(void *argument) {
    npyx_read_ahead *ahead = argument;
    pthread_mutex_lock(&ahead->mutex);
    while (!ahead->is_stopping && ahead->nclaimed < ahead->nblocks) {
        if (make_next(ahead))
            pthread_cond_signal(&ahead->changed);
        else
            pthread_cond_wait(&ahead->changed, &ahead->mutex);
    }
    pthread_mutex_unlock(&ahead->mutex);
    return NULL;
}

/* Signals are for the host's threads: Ctrl-C is to interrupt the one that waits for it. */
static bool start_helper(npyx_read_ahead *ahead) {
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    bool is_started = pthread_create(&ahead->helper, NULL, help, ahead) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

static void destroy_mutex(npyx_read_ahead *ahead) {
    pthread_mutex_destroy(&ahead->mutex);
    pthread_cond_destroy(&ahead->changed);
}

static void give_back(npyx_read_ahead *ahead) {
    npyx_host *host = ahead->host;
    npyx_free(host, ahead->memory);
    npyx_free(host, ahead);
}

npyx_read_ahead *npyx_read_ahead_start(npyx_source *source, int64_t off, int64_t nbytes, size_t block_nbytes,
                                       npyx_work work) {
    if (source->host->uses_one_thread || sysconf(_SC_NPROCESSORS_ONLN) < 2)
        return NULL;
    npyx_read_ahead *ahead = npyx_alloc(source->host, sizeof *ahead);
    if (ahead == NULL)
        return NULL;
    *ahead = (npyx_read_ahead){.host = source->host,
                               .source = source,
                               .process = getpid(),
                               .off = off,
                               .nbytes = nbytes,
                               .block_nbytes = block_nbytes,
                               .work = work,
                               .nblocks = (nbytes + (int64_t)block_nbytes - 1) / (int64_t)block_nbytes,
                               .nfree = NSLOTS};
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    size_t result_nbytes = (work.result_nbytes + 7) / 8 * 8;
    size_t slot_nbytes = result_nbytes + (block_nbytes + 7) / 8 * 8 + AHEAD_PAGE_NBYTES;
    ahead->memory = npyx_alloc(source->host, NSLOTS * slot_nbytes);
    for (int i = 0; i < NSLOTS && ahead->memory != NULL; i++) {
        ahead->slots[i].result = ahead->memory + (size_t)i * slot_nbytes;
        ahead->slots[i].memory = ahead->memory + (size_t)i * slot_nbytes + result_nbytes;
    }
    if (ahead->memory != NULL && start_helper(ahead))
        return ahead;
    destroy_mutex(ahead);
    give_back(ahead);
    return NULL;
}

/* Waits until a block is made, making others meanwhile. */
static void await(npyx_read_ahead *ahead, int64_t index) {
    slot *wanted = &ahead->slots[index % NSLOTS];
    pthread_mutex_lock(&ahead->mutex);
    if (index > 0) { /* the slot of the one before is free */
        ahead->slots[(index - 1) % NSLOTS].is_made = false;
        ahead->nfree = index + NSLOTS;
        pthread_cond_signal(&ahead->changed);
    }
    while (!wanted->is_made) {
        if (!read_next(ahead) && !make_next(ahead))
            pthread_cond_wait(&ahead->changed, &ahead->mutex);
    }
    pthread_mutex_unlock(&ahead->mutex);
}

npyx_status npyx_read_ahead_next(npyx_read_ahead *ahead, npyx_read_block *block, npyx_error *error) {
    if (ahead->process != getpid())
        return npyx_fail(error, NPYX_INVALID, -1,
                         "cannot be read on by a child of the process that began to");
    int64_t index = ahead->ntaken++;
    await(ahead, index);
    slot *wanted = &ahead->slots[index % NSLOTS];
    npyx_source *source = ahead->source;
    size_t nbytes = nbytes_of(ahead, index);
    int64_t off = off_of(ahead, index);
    *block = (npyx_read_block){.bytes = wanted->bytes, .nbytes = nbytes, .result = wanted->result};
    if (wanted->bytes != NULL)
        return source->is_concurrent ? source->ops->account(source, off, nbytes, error) : NPYX_OK;
    if (!source->is_concurrent) {
        *error = ahead->error;
        return ahead->error.status;
    }
    NPYX_TRY(npyx_source_read_exactly(source, off, wanted->room, nbytes, error));
    block->bytes = wanted->bytes = wanted->room;
    ahead->work.run(ahead->work.ctx, wanted->bytes, nbytes, wanted->result);
    return NPYX_OK;
}

void npyx_read_ahead_stop(npyx_read_ahead *ahead) {
    if (ahead == NULL)
        return;
    if (ahead->process == getpid()) {
        pthread_mutex_lock(&ahead->mutex);
        ahead->is_stopping = true;
        pthread_cond_signal(&ahead->changed);
        pthread_mutex_unlock(&ahead->mutex);
        pthread_join(ahead->helper, NULL);
        destroy_mutex(ahead);
    }
    give_back(ahead);
}
