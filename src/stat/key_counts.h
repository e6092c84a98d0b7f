/*
 * How often keys occur: memory depends only on how many are different.
 *
 * A few different ones are counted in a hash table under the host's key. With many, sorting is faster: keys
 * are then listed, and the list is sorted and becomes the runs, which are in order.
 */
#ifndef NPYX_KEY_COUNTS_H
#define NPYX_KEY_COUNTS_H

#include "base/host.h"

/* At most this many different keys are kept: 1.6 GB of them in a table. */
enum { NPYX_MAX_NKEYS = 1 << 26 };

typedef struct npyx_key_counts {
    npyx_host *host;
    bool wants_first;
    int64_t nitems; /* keys that will come, at most */
    /* the runs: all there is once the adding has ended */
    int64_t n; /* different keys */
    uint64_t *keys;
    int64_t *counts; /* NULL: each key occurs once */
    int64_t *firsts; /* NULL: not wanted */
    /* private */
    uint64_t multiplier;
    int nbits;      /* the table has 2^nbits places */
    int64_t ntaken; /* how many of them are taken */
    struct key_count *table;
    bool is_listed;          /* the table was given up: there are many */
    uint64_t *list, *sample; /* the sample tells whether most listed keys are different */
    int64_t nlisted, list_nkeys, nsampled;
} npyx_key_counts;

/* No keys yet. nitems: how many will be added, at most. wants_first: the place of each key's first, too. */
void npyx_key_counts_init(npyx_key_counts *counts, npyx_host *host, int64_t nitems, bool wants_first);

/* Adds n keys, the first of which is at place, the next one after it, and so on. Polls the host. NPYX_TOOBIG
 * for more than NPYX_MAX_NKEYS different ones. */
npyx_status npyx_key_counts_add(npyx_key_counts *counts, const uint64_t *keys, int64_t n, int64_t place,
                                npyx_error *error);

/* Adds a key that occurs count times, first at that place. Places of equal keys must increase. For few keys:
 * they stay in the table. */
npyx_status npyx_key_counts_add_many(npyx_key_counts *counts, uint64_t key, int64_t count, int64_t first,
                                     npyx_error *error);

/* Ends the adding: from now on keys, and their counts and firsts, are in order. Polls the host. */
npyx_status npyx_key_counts_finish(npyx_key_counts *counts, npyx_error *error);

/* Sorts the keys again, after the caller has replaced them by the same number of other keys, all different.
 * Polls the host. */
npyx_status npyx_key_counts_sort(npyx_key_counts *counts, npyx_error *error);

/* How often key i occurs, once the adding has ended. */
static inline int64_t npyx_key_counts_of(const npyx_key_counts *counts, int64_t i) {
    return counts->counts == NULL ? 1 : counts->counts[i];
}

void npyx_key_counts_clear(npyx_key_counts *counts);

#endif
