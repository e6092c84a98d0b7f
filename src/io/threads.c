#include "threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "system.h"

enum {
    MAX_NSLOTS = 64,
    /* a job that takes longer waits for a disk or a network, and others may wait at the same time */
    SLOW_NS = 200000,
    MIN_NSLOW = 3, /* or they were waiting for a processor */
    /* how often the host is asked whether to stop */
    WAIT_NS = 5000000
};

struct npyx_pool {
    npyx_host *host;
    npyx_pool_make *make;
    void *ctx;
    int nslots;
    bool is_waiting;
    pid_t process;              /* a forked copy of it has no threads, and the mutex in any state */
    int max_nthreads, nthreads; /* besides the caller */
    pthread_t threads[NPYX_MAX_NTHREADS];
    /* State that every job touches needs no lock: that would cost more than opening a file. */
    _Atomic int64_t nclaimed;                /* jobs that are being made or done */
    _Atomic int64_t end;                     /* of the jobs that may be made */
    _Atomic int64_t made_number[MAX_NSLOTS]; /* 1 + the number of the last job made in that slot */
    atomic_int nslow;                        /* the latest jobs in a row that were slow */
    atomic_int nidle;                        /* threads waiting for work */
    atomic_bool is_caller_waiting, is_stopping;
    pthread_mutex_t mutex; /* for waiting, and for waking */
    pthread_cond_t allowed, made;
};

int npyx_nthreads(const npyx_host *host) {
    int n = host->nthreads > 0 ? host->nthreads : npyx_system_nprocessors();
    return n < 1 ? 1 : n < NPYX_MAX_NTHREADS ? n : NPYX_MAX_NTHREADS;
}

static int64_t threads_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void pool_wake(npyx_pool *pool, pthread_cond_t *cond, int64_t nwaiting) {
    pthread_mutex_lock(&pool->mutex);
    for (int64_t i = 0; i < nwaiting; i++)
        pthread_cond_signal(cond);
    pthread_mutex_unlock(&pool->mutex);
}

/* Claims and makes the next job that is allowed, if there is one. */
static bool pool_make_next(npyx_pool *pool) {
    int64_t index = atomic_load(&pool->nclaimed);
    do {
        if (index >= atomic_load(&pool->end))
            return false;
    } while (!atomic_compare_exchange_weak(&pool->nclaimed, &index, index + 1));
    int64_t began_ns = pool->is_waiting ? threads_now_ns() : 0;
    pool->make(pool->ctx, index);
    bool is_slow = pool->is_waiting && threads_now_ns() - began_ns > SLOW_NS;
    atomic_store(&pool->nslow, is_slow ? atomic_load(&pool->nslow) + 1 : 0);
    atomic_store(&pool->made_number[index % pool->nslots], index + 1);
    if (atomic_load(&pool->is_caller_waiting))
        pool_wake(pool, &pool->made, 1);
    return true;
}

/* Waits for work. npyx_pool_allow checks for idle threads after allowing work, so work is checked for again
 * here. */
static void pool_idle(npyx_pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->nidle, 1);
    while (atomic_load(&pool->nclaimed) >= atomic_load(&pool->end) && !atomic_load(&pool->is_stopping))
        pthread_cond_wait(&pool->allowed, &pool->mutex);
    atomic_fetch_sub(&pool->nidle, 1);
    pthread_mutex_unlock(&pool->mutex);
}

static void *pool_run(void *argument) {
    npyx_pool *pool = argument;
    while (!atomic_load(&pool->is_stopping)) {
        if (!pool_make_next(pool))
            pool_idle(pool);
    }
    return NULL;
}

/* Signals are for the host's threads: Ctrl-C must interrupt the one that waits for it. */
static bool pool_add_thread(npyx_pool *pool) {
    npyx_signals before;
    if (pool->nthreads == pool->max_nthreads || !npyx_system_block_signals(&before))
        return false;
    bool is_started = pthread_create(&pool->threads[pool->nthreads], NULL, pool_run, pool) == 0;
    npyx_system_allow_signals(&before);
    pool->nthreads += is_started;
    return is_started;
}

npyx_pool *npyx_pool_start(npyx_host *host, int nslots, bool is_waiting, npyx_pool_make *make, void *ctx) {
    int nthreads = npyx_nthreads(host);
    bool is_alone = is_waiting ? host->nthreads == 1 : nthreads == 1;
    npyx_pool *pool = is_alone ? NULL : npyx_alloc(host, sizeof *pool);
    if (pool == NULL)
        return NULL;
    *pool = (npyx_pool){.host = host,
                        .make = make,
                        .ctx = ctx,
                        .nslots = nslots < MAX_NSLOTS ? nslots : MAX_NSLOTS,
                        .is_waiting = is_waiting,
                        .process = getpid(),
                        .max_nthreads = is_waiting ? NPYX_MAX_NTHREADS : nthreads - 1};
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->allowed, NULL);
    pthread_cond_init(&pool->made, NULL);
    int nfirst = nthreads > 1 ? nthreads - 1 : 1;
    while (pool->nthreads < nfirst && pool_add_thread(pool))
        ;
    if (pool->nthreads > 0)
        return pool;
    npyx_pool_stop(pool);
    return NULL;
}

void npyx_pool_allow(npyx_pool *pool, int64_t end) {
    int64_t nmore = end - atomic_load(&pool->end);
    if (nmore <= 0 || pool->process != getpid())
        return;
    atomic_store(&pool->end, end);
    int64_t nidle = atomic_load(&pool->nidle);
    if (nidle > 0)
        pool_wake(pool, &pool->allowed, nmore < nidle ? nmore : nidle);
}

bool npyx_pool_has_made(npyx_pool *pool, int64_t index) {
    return atomic_load(&pool->made_number[index % pool->nslots]) == index + 1;
}

/* Waits for a job to be made, though not for long. */
static void pool_wait(npyx_pool *pool, int64_t index) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    int64_t ns = until.tv_nsec + WAIT_NS;
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    pthread_mutex_lock(&pool->mutex);
    atomic_store(&pool->is_caller_waiting, true);
    if (!npyx_pool_has_made(pool, index))
        pthread_cond_timedwait(&pool->made, &pool->mutex, &until);
    atomic_store(&pool->is_caller_waiting, false);
    pthread_mutex_unlock(&pool->mutex);
}

npyx_status npyx_pool_help(npyx_pool *pool, int64_t index, npyx_error *error) {
    if (pool->process != getpid())
        return npyx_refuse(error, "cannot be read on by a child of the process that began to");
    bool is_slow = atomic_load(&pool->nslow) >= MIN_NSLOW;
    for (int i = pool->nthreads; is_slow && i > 0 && pool_add_thread(pool); i--)
        ; /* doubles the threads, until there are enough */
    if (is_slow || !pool_make_next(pool))
        pool_wait(pool, index);
    return npyx_poll(pool->host, error);
}

npyx_status npyx_pool_await(npyx_pool *pool, int64_t index, npyx_error *error) {
    while (!npyx_pool_has_made(pool, index))
        NPYX_TRY(npyx_pool_help(pool, index, error));
    return NPYX_OK;
}

bool npyx_pool_is_stopping(npyx_pool *pool) {
    return pool != NULL && atomic_load(&pool->is_stopping);
}

void npyx_pool_stop(npyx_pool *pool) {
    if (pool == NULL)
        return;
    if (pool->process == getpid()) {
        atomic_store(&pool->is_stopping, true);
        pool_wake(pool, &pool->allowed, pool->nthreads);
        for (int i = 0; i < pool->nthreads; i++)
            pthread_join(pool->threads[i], NULL);
        pthread_mutex_destroy(&pool->mutex);
        pthread_cond_destroy(&pool->allowed);
        pthread_cond_destroy(&pool->made);
    }
    npyx_free(pool->host, pool);
}
