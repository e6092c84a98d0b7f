/*
 * The two passes over a chunk of reals that npyx_stats makes, vectorised for the processor at hand.
 */
#ifndef NPYX_STATS_KERNELS_H
#define NPYX_STATS_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    NPYX_STATS_NELEM = 1024, /* what stays in the first-level cache between the passes */
    NPYX_CHUNK_UNIT = 16     /* chunks are a multiple of it, filled up with NaN */
};

/* NaN enters nothing but nnan, infinities least and greatest alone. */
typedef struct npyx_chunk_sums {
    int64_t nnan, nfinite, nzero;
    double sum, lost;       /* sum + lost: of the finite ones; may overflow */
    double least, greatest; /* inf and -inf when all are NaN */
} npyx_chunk_sums;

typedef struct npyx_chunk_deviations {
    double sum, sum_of_squares; /* of x - mean over the finite ones */
} npyx_chunk_deviations;

typedef struct npyx_stats_kernels {
    /* reals: doubles of the host's byte order at any alignment, nelem a multiple of NPYX_CHUNK_UNIT */
    void (*sums)(const uint8_t *reals, int64_t nelem, npyx_chunk_sums *sums);
    void (*deviations)(const uint8_t *reals, int64_t nelem, double mean, npyx_chunk_deviations *deviations);
} npyx_stats_kernels;

/* The fastest ones that this processor runs; they are chosen once a call. */
const npyx_stats_kernels *npyx_stats_kernels_here(void);

/* The ones for any processor, for tests. */
const npyx_stats_kernels *npyx_stats_kernels_portable(void);

#endif
