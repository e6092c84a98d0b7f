/*
 * Threads that make numbered works, in their order or nearly so, for one who takes them in order.
 *
 *     taken | made | made | being made | being made | may be made | may not yet
 *           ^ the next one wanted                                 ^ allowed
 *
 * The threads are in no SQLite function and no host's, allocate nothing and get no signal. The caller says
 * how far they may go, which is where the room for results ends; while the work that it wants is not made, it
 * makes others itself. Where works are slow, because a file system far away takes its time, more threads than
 * processors wait for it.
 */
#ifndef NPYX_THREADS_H
#define NPYX_THREADS_H

#include "base/host.h"

/* No crew has more threads, the caller's included. */
enum { NPYX_MAX_NTHREADS = 16 };

/* Threads for what processors do, the caller's included: host->nthreads, or when that is 0 the processors
 * that the process may run on. 1 to NPYX_MAX_NTHREADS. */
int npyx_nthreads(const npyx_host *host);

typedef struct npyx_crew npyx_crew;

/* Makes work number index, in any thread and beside others. */
typedef void npyx_crew_make(void *ctx, int64_t index);

/* Starts threads of which nothing may be made yet. No two of nslots works that follow each other wait for
 * the same place: work i + nslots is not to be allowed before work i was taken. is_waiting: works mostly wait
 * for something else than a processor. NULL when there is no second processor, no thread or no memory for it,
 * which is no error: do it all in the caller's. host and ctx outlive the crew. */
npyx_crew *npyx_crew_start(npyx_host *host, int nslots, bool is_waiting, npyx_crew_make *make, void *ctx);

/* Works before end may be made. end never falls. */
void npyx_crew_allow(npyx_crew *crew, int64_t end);

/* Whether a work, which is allowed, is made. Work index - nslots was taken. */
bool npyx_crew_has_made(npyx_crew *crew, int64_t index);

/* Makes one of the works that are allowed, or waits a while for others to make the work index. Polls the
 * host. In a child of the process that started the crew, where there are no such threads, NPYX_INVALID. */
npyx_status npyx_crew_help(npyx_crew *crew, int64_t index, npyx_error *error);

/* Whether nobody wants what is being made any more: a work that takes long looks now and then. Takes NULL. */
bool npyx_crew_is_stopping(npyx_crew *crew);

/* Takes NULL. Waits for works that were begun. */
void npyx_crew_stop(npyx_crew *crew);

#endif
