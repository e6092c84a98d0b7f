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

struct npyx_crew {
    npyx_host *host;
    npyx_crew_make *make;
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

static void crew_wake(npyx_crew *crew, pthread_cond_t *cond, int64_t nwaiting) {
    pthread_mutex_lock(&crew->mutex);
    for (int64_t i = 0; i < nwaiting; i++)
        pthread_cond_signal(cond);
    pthread_mutex_unlock(&crew->mutex);
}

/* Claims and makes the next job that is allowed, if there is one. */
static bool crew_make_next(npyx_crew *crew) {
    int64_t index = atomic_load(&crew->nclaimed);
    do {
        if (index >= atomic_load(&crew->end))
            return false;
    } while (!atomic_compare_exchange_weak(&crew->nclaimed, &index, index + 1));
    int64_t began_ns = crew->is_waiting ? threads_now_ns() : 0;
    crew->make(crew->ctx, index);
    bool is_slow = crew->is_waiting && threads_now_ns() - began_ns > SLOW_NS;
    atomic_store(&crew->nslow, is_slow ? atomic_load(&crew->nslow) + 1 : 0);
    atomic_store(&crew->made_number[index % crew->nslots], index + 1);
    if (atomic_load(&crew->is_caller_waiting))
        crew_wake(crew, &crew->made, 1);
    return true;
}

/* Waits for work. npyx_crew_allow checks for idle threads after allowing work, so work is checked for again
 * here. */
static void crew_idle(npyx_crew *crew) {
    pthread_mutex_lock(&crew->mutex);
    atomic_fetch_add(&crew->nidle, 1);
    while (atomic_load(&crew->nclaimed) >= atomic_load(&crew->end) && !atomic_load(&crew->is_stopping))
        pthread_cond_wait(&crew->allowed, &crew->mutex);
    atomic_fetch_sub(&crew->nidle, 1);
    pthread_mutex_unlock(&crew->mutex);
}

static void *crew_run(void *argument) {
    npyx_crew *crew = argument;
    while (!atomic_load(&crew->is_stopping)) {
        if (!crew_make_next(crew))
            crew_idle(crew);
    }
    return NULL;
}

/* Signals are for the host's threads: Ctrl-C must interrupt the one that waits for it. */
static bool crew_add_thread(npyx_crew *crew) {
    npyx_signals before;
    if (crew->nthreads == crew->max_nthreads || !npyx_system_block_signals(&before))
        return false;
    bool is_started = pthread_create(&crew->threads[crew->nthreads], NULL, crew_run, crew) == 0;
    npyx_system_allow_signals(&before);
    crew->nthreads += is_started;
    return is_started;
}

npyx_crew *npyx_crew_start(npyx_host *host, int nslots, bool is_waiting, npyx_crew_make *make, void *ctx) {
    int nthreads = npyx_nthreads(host);
    bool is_alone = is_waiting ? host->nthreads == 1 : nthreads == 1;
    npyx_crew *crew = is_alone ? NULL : npyx_alloc(host, sizeof *crew);
    if (crew == NULL)
        return NULL;
    *crew = (npyx_crew){.host = host,
                        .make = make,
                        .ctx = ctx,
                        .nslots = nslots < MAX_NSLOTS ? nslots : MAX_NSLOTS,
                        .is_waiting = is_waiting,
                        .process = getpid(),
                        .max_nthreads = is_waiting ? NPYX_MAX_NTHREADS : nthreads - 1};
    pthread_mutex_init(&crew->mutex, NULL);
    pthread_cond_init(&crew->allowed, NULL);
    pthread_cond_init(&crew->made, NULL);
    int nfirst = nthreads > 1 ? nthreads - 1 : 1;
    while (crew->nthreads < nfirst && crew_add_thread(crew))
        ;
    if (crew->nthreads > 0)
        return crew;
    npyx_crew_stop(crew);
    return NULL;
}

void npyx_crew_allow(npyx_crew *crew, int64_t end) {
    int64_t nmore = end - atomic_load(&crew->end);
    if (nmore <= 0 || crew->process != getpid())
        return;
    atomic_store(&crew->end, end);
    int64_t nidle = atomic_load(&crew->nidle);
    if (nidle > 0)
        crew_wake(crew, &crew->allowed, nmore < nidle ? nmore : nidle);
}

bool npyx_crew_has_made(npyx_crew *crew, int64_t index) {
    return atomic_load(&crew->made_number[index % crew->nslots]) == index + 1;
}

/* Waits for a job to be made, though not for long. */
static void crew_wait(npyx_crew *crew, int64_t index) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    int64_t ns = until.tv_nsec + WAIT_NS;
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    pthread_mutex_lock(&crew->mutex);
    atomic_store(&crew->is_caller_waiting, true);
    if (!npyx_crew_has_made(crew, index))
        pthread_cond_timedwait(&crew->made, &crew->mutex, &until);
    atomic_store(&crew->is_caller_waiting, false);
    pthread_mutex_unlock(&crew->mutex);
}

npyx_status npyx_crew_help(npyx_crew *crew, int64_t index, npyx_error *error) {
    if (crew->process != getpid())
        return npyx_fail(error, NPYX_INVALID, -1,
                         "cannot be read on by a child of the process that began to");
    bool is_slow = atomic_load(&crew->nslow) >= MIN_NSLOW;
    for (int i = crew->nthreads; is_slow && i > 0 && crew_add_thread(crew); i--)
        ; /* doubles the threads, until there are enough */
    if (is_slow || !crew_make_next(crew))
        crew_wait(crew, index);
    return npyx_poll(crew->host, error);
}

bool npyx_crew_is_stopping(npyx_crew *crew) {
    return crew != NULL && atomic_load(&crew->is_stopping);
}

void npyx_crew_stop(npyx_crew *crew) {
    if (crew == NULL)
        return;
    if (crew->process == getpid()) {
        atomic_store(&crew->is_stopping, true);
        crew_wake(crew, &crew->allowed, crew->nthreads);
        for (int i = 0; i < crew->nthreads; i++)
            pthread_join(crew->threads[i], NULL);
        pthread_mutex_destroy(&crew->mutex);
        pthread_cond_destroy(&crew->allowed);
        pthread_cond_destroy(&crew->made);
    }
    npyx_free(crew->host, crew);
}
