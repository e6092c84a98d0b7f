/* What all connections of this process have counted together. */
#include <stdatomic.h>

#include "connection.h"

enum { NCOUNTERS = sizeof(npyx_counters) / sizeof(int64_t) };

/* Closed connections are included. A running connection counts in fields of its own, which only its thread
 * reads, and adds them here now and then: so counting needs no atomics, and asking for the sums never
 * waits. */
static _Atomic int64_t counter_sums[NCOUNTERS];

void npyext_counters_share(npyext_connection *connection) {
    int64_t now[NCOUNTERS], shared[NCOUNTERS];
    if (memcmp(&connection->host.counters, &connection->shared_counters, sizeof now) == 0)
        return;
    memcpy(now, &connection->host.counters, sizeof now);
    memcpy(shared, &connection->shared_counters, sizeof shared);
    for (int i = 0; i < NCOUNTERS; i++)
        atomic_fetch_add_explicit(&counter_sums[i], now[i] - shared[i], memory_order_relaxed);
    connection->shared_counters = connection->host.counters;
}

npyx_counters npyext_counters_of_process(void) {
    npyx_counters counters;
    int64_t read[NCOUNTERS];
    for (int i = 0; i < NCOUNTERS; i++)
        read[i] = atomic_load_explicit(&counter_sums[i], memory_order_relaxed);
    memcpy(&counters, read, sizeof counters);
    return counters;
}
