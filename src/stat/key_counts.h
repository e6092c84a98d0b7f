/*
 * How often keys come: each a uint64_t, of any number of them in memory that follows from how many are
 * different.
 *
 * Few different ones are counted in a hash table under the host's key. When there are many, sorting is
 * quicker: keys are then listed, and when the list is full it is sorted and goes into the runs, which are in
 * order.
 */
#ifndef NPYX_KEY_COUNTS_H
#define NPYX_KEY_COUNTS_H

#include "base/host.h"

typedef struct npyx_key_count {
    uint64_t key;
    int64_t count; /* 0: a free place of the table */
    int64_t first; /* the place of the first, where that is wanted */
} npyx_key_count;

/* No more different keys are kept: 1.6 GB of them in a table. */
enum { NPYX_MAX_NKEYS = 1 << 26 };

typedef struct npyx_key_counts {
    npyx_host *host;
    bool wants_first;
    /* in the end */
    int64_t n; /* different keys */
    uint64_t *keys;
    int64_t *counts;
    int64_t *firsts; /* NULL: not wanted */
    /* private */
    uint64_t multiplier;
    int nbits;      /* the table has 2^nbits places */
    int64_t ntaken; /* of which these are taken */
    npyx_key_count *table;
    uint64_t *list, *room;
    int64_t nlisted, list_nkeys;
} npyx_key_counts;

/* Allocates nothing yet. To be cleared. */
void npyx_key_counts_init(npyx_key_counts *counts, npyx_host *host, bool wants_first);

/* Adds n keys, the first of which is at a place, the next one behind it, and so on. NPYX_TOOBIG for too many
 * different ones. */
npyx_status npyx_key_counts_add(npyx_key_counts *counts, const uint64_t *keys, int64_t n, int64_t place,
                                npyx_error *error);

/* Adds a key that comes so often, at that place first. Places of equal keys rise. */
npyx_status npyx_key_counts_add_many(npyx_key_counts *counts, uint64_t key, int64_t count, int64_t first,
                                     npyx_error *error);

/* Ends the adding: from now on keys, and what belongs to them, are in order. Polls the host. */
npyx_status npyx_key_counts_finish(npyx_key_counts *counts, npyx_error *error);

/* Takes counts of zeros, too. */
void npyx_key_counts_clear(npyx_key_counts *counts);

#endif
