/*
 * Threads that make numbered jobs, in order or nearly so, for a caller that takes them in order.
 *
 *     taken | made | made | being made | being made | may be made | may not yet
 *           ^ the next one wanted                                 ^ allowed
 *
 * The threads call nothing of the host, allocate nothing and get no signal. The caller says how far they may
 * go, which is where the room for results ends; while the job it wants is not made, it makes others itself.
 * Where jobs are slow, because of a distant file system, more threads than processors wait for it.
 */
#ifndef NPYX_THREADS_H
#define NPYX_THREADS_H

#include "base/host.h"

/* No pool has more threads, including the caller's. */
enum { NPYX_MAX_NTHREADS = 16 };

/* Threads for work done by processors, including the caller's: host->nthreads, or when that is 0 the
 * processors that the process may run on. 1 to NPYX_MAX_NTHREADS. */
int npyx_nthreads(const npyx_host *host);

typedef struct npyx_pool npyx_pool;

/* Makes job number index, in any thread, at the same time as others. */
typedef void npyx_pool_make(void *ctx, int64_t index);

/* Starts the threads; no job may be made yet. Each of nslots consecutive jobs has its own slot: do not allow
 * job i + nslots before job i was taken. is_waiting: jobs mostly wait for something other than a processor.
 * NULL when there is no second processor, no thread or no memory for it, which is not an error: do it all in
 * the caller's thread. host and ctx must outlive the pool. */
npyx_pool *npyx_pool_start(npyx_host *host, int nslots, bool is_waiting, npyx_pool_make *make, void *ctx);

/* Jobs before end may be made. end never decreases. */
void npyx_pool_allow(npyx_pool *pool, int64_t end);

/* Whether a job, which must be allowed, is made. Job index - nslots was taken. */
bool npyx_pool_has_made(npyx_pool *pool, int64_t index);

/* Makes one of the allowed jobs, or waits a while for others to make job index. Polls the host. NPYX_INVALID
 * in a child of the process that started the pool, which has no such threads. */
npyx_status npyx_pool_help(npyx_pool *pool, int64_t index, npyx_error *error);

/* The same until job index is made. */
npyx_status npyx_pool_await(npyx_pool *pool, int64_t index, npyx_error *error);

/* Whether what is being made is no longer wanted: a long job checks now and then. Accepts NULL. */
bool npyx_pool_is_stopping(npyx_pool *pool);

/* Accepts NULL. Waits for jobs that were begun. */
void npyx_pool_stop(npyx_pool *pool);

#endif
