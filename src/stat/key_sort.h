/*
 * Sorting of unsigned integers, such as the keys of order_keys.h.
 */
#ifndef NPYX_KEY_SORT_H
#define NPYX_KEY_SORT_H

#include "base/host.h"

/* The least and the greatest of n keys, of which there is one at least. */
void npyx_keys_range(const uint64_t *keys, int64_t n, uint64_t *least, uint64_t *greatest);

/* Sorts n keys; room: for as many. No order of the keys makes it slow. If there are many keys, it takes
 * about a megabyte more, and threads. Polls the host. After NPYX_NOMEM or NPYX_INTERRUPTED the keys are
 * undefined. */
npyx_status npyx_keys_sort(npyx_host *host, uint64_t *keys, int64_t n, uint64_t *room, npyx_error *error);

/* As far as is needed for the keys of a few ranks, in any order, to be where npyx_keys_sort would put them;
 * the others are undefined. */
npyx_status npyx_keys_sort_ranks(npyx_host *host, uint64_t *keys, int64_t n, uint64_t *room,
                                 const int64_t *ranks, int64_t nranks, npyx_error *error);

#endif
