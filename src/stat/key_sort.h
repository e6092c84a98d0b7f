/*
 * Sorting of unsigned integers, such as the keys of order_keys.h.
 */
#ifndef NPYX_KEY_SORT_H
#define NPYX_KEY_SORT_H

#include "base/host.h"

/* The least and the greatest of n keys, of which there is one at least. */
void npyx_keys_range(const uint64_t *keys, int64_t n, uint64_t *least, uint64_t *greatest);

/* Sorts n keys, and tells how many of them are different: a cache still has them. Nobody can choose keys that
 * make it slow. Many are sorted by threads, which take some kilobytes more. Polls the host. After
 * NPYX_INTERRUPTED the keys are undefined. */
npyx_status npyx_keys_sort(npyx_host *host, uint64_t *keys, int64_t n, int64_t *ndifferent,
                           npyx_error *error);

/* As far as is needed for the keys of a few ranks, in any order, to be where npyx_keys_sort would put them;
 * the others are undefined. */
npyx_status npyx_keys_sort_ranks(npyx_host *host, uint64_t *keys, int64_t n, const int64_t *ranks,
                                 int64_t nranks, npyx_error *error);

#endif
