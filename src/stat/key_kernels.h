/*
 * What sorting keys does most: dividing them by a bound, and sorting the few that are left. There are kernels
 * for every processor, and for AVX-512, which packs those lanes of a vector that it is told to.
 */
#ifndef NPYX_KEY_KERNELS_H
#define NPYX_KEY_KERNELS_H

#include "base/bytes.h"
#include "base/simd.h"

enum { NPYX_KEYS_CHUNK_NKEYS = 64 };

typedef struct npyx_key_kernels {
    int64_t few_nkeys; /* the most that sort_few can sort */
    void (*sort_few)(uint64_t *keys, int64_t n);
    /* Writes the keys below bound from *low upwards and the others from *high downwards, in any order, and
     * moves both ends. There is room for n keys at each end, or for n in all. The keys are elsewhere, but one
     * whole chunk may be next to the room at either end. */
    void (*divide)(const uint64_t *keys, int64_t n, uint64_t bound, uint64_t **low, uint64_t **high);
} npyx_key_kernels;

/* Those for a processor, or for one that has less. */
const npyx_key_kernels *npyx_key_kernels_of(npyx_simd simd);

#endif
