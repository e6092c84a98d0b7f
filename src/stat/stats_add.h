/*
 * What the files of npyx_stats share: the forms of items are added in two of them.
 */
#ifndef NPYX_STATS_ADD_H
#define NPYX_STATS_ADD_H

#include "base/simd.h"
#include "stats.h"

/* ---- the two passes over a chunk of reals, vectorised for the processor at hand ---- */

enum { NPYX_CHUNK_UNIT = 16 }; /* chunks are a multiple of it, filled up with NaN */

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

/* has_avx2: what npyx_has_avx2 says, or false, as any processor has it. */
const npyx_stats_kernels *npyx_stats_kernels_of(bool has_avx2);

/* ---- sums and moments ---- */

/* Adds x with compensation (Neumaier). */
void npyx_sum_add(npyx_sum *sum, double x);
void npyx_sum_merge(npyx_sum *sum, npyx_sum next);

/* The sum; infinite when it is beyond the range of doubles or an infinity was added. */
double npyx_sum_value(npyx_sum sum);

/* sum / n, rounded about once; finite also where the sum is not. */
double npyx_sum_quotient(npyx_sum sum, double n);

/* Adds moments to those that stats has; base_difference: from the base that stats has to theirs.
 * Chan, Golub and LeVeque, Updating Formulae and a Pairwise Algorithm for Computing Sample Variances (1979).
 */
void npyx_stats_merge_moments(npyx_stats *stats, const npyx_moments *next, double base_difference);

/* Whether the least or the greatest item is to give way to one of that key, or of that real: the other is 0
 * in both. */
bool npyx_stats_is_beyond(const npyx_stats *stats, int k, uint64_t key, double real);

/* Makes an item the least or the greatest one, with the number of items before it. */
void npyx_stats_set_extreme(npyx_stats *stats, int k, const uint8_t *item, int64_t position);

/* Add at most NPYX_STATS_NELEM items of one form; nseen is the caller's. */
void npyx_stats_add_wide(npyx_stats *stats, const uint8_t *items, int64_t nelem);
void npyx_stats_add_complex(npyx_stats *stats, const uint8_t *items, int64_t nelem);
void npyx_stats_add_texts(npyx_stats *stats, const uint8_t *items, int64_t nelem);

#endif
