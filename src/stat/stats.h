/*
 * Statistics of items in one pass: counts, extremes and moments.
 *
 * Null items (NaN, NaT; complex ones with any part that is NaN) are counted and enter nothing else, and
 * infinities enter no moment: a sum or mean with them is infinite, or NaN if they have both signs, and the
 * squares are NaN. Sums of integers are exact. Reals are taken in chunks that the first-level cache holds, in
 * two passes (the chunk's mean, then the deviations from it); the chunks' sums are added up with
 * compensation, their moments by Chan, Golub and LeVeque's rule, which npyx_stats_merge exposes. So the
 * chunks' boundaries affect the result only by rounding.
 */
#ifndef NPYX_STATS_H
#define NPYX_STATS_H

#include "array/dtype.h"
#include "base/simd.h"
#include "base/wide_integer.h"

typedef enum npyx_stats_form {
    NPYX_STATS_REAL,    /* floats, read as doubles */
    NPYX_STATS_INTEGER, /* bool and integers that doubles hold */
    NPYX_STATS_WIDE,    /* integers and counts of 64 bits */
    NPYX_STATS_COMPLEX, /* count, nulls, infs, zeros, sum and mean */
    NPYX_STATS_ORDER,   /* texts and bytes: count, min and max */
    NPYX_STATS_COUNT    /* what has no order: count */
} npyx_stats_form;

enum { NPYX_STATS_ITEM_NBYTES = 16 };

/* A sum and what its roundings lost. If it exceeds the range of doubles on its way, it is kept as a small
 * fraction of itself, from which it may return. */
typedef struct npyx_sum {
    double high, low;
    bool is_scaled;
} npyx_sum;

/* The least or the greatest item. */
enum { NPYX_LEAST, NPYX_GREATEST };
typedef struct npyx_extreme {
    int64_t position;  /* how many items came before it; -1: none */
    uint8_t *own_item; /* the item as it is in the file; NULL: in small_item */
    uint8_t small_item[NPYX_STATS_ITEM_NBYTES];
    double real;  /* for REAL and INTEGER */
    uint64_t key; /* for WIDE: order-preserving */
} npyx_extreme;

static inline const uint8_t *npyx_extreme_item(const npyx_extreme *extreme) {
    return extreme->own_item != NULL ? extreme->own_item : extreme->small_item;
}

/* The moments of n items. */
typedef struct npyx_moments {
    double n;
    double mean, mean_low; /* mean + mean_low */
    double m2;             /* the sum of the squares of the deviations from the mean */
} npyx_moments;

/* Copied freely, except for the memory of extremes. */
typedef struct npyx_stats {
    const npyx_dtype *dtype; /* borrowed */
    npyx_stats_form form;
    bool skips_moments; /* set after npyx_stats_init if no variance is wanted */
    int64_t nseen;      /* items, including null ones */
    int64_t count, nulls, zeros;
    int64_t npositive_infs, nnegative_infs;
    npyx_extreme extremes[2];
    /* of the finite items */
    npyx_sum sum, imaginary_sum;
    npyx_wide wide_sum; /* INTEGER and WIDE */
    npyx_wide base;     /* WIDE: the mean is base plus the moments' mean */
    npyx_moments moments;
} npyx_stats;

npyx_stats_form npyx_stats_form_of(const npyx_dtype *dtype);

/* Statistics of nothing. extremes: the caller's memory for two items of an ORDER dtype; NULL for all
 * others. */
void npyx_stats_init(npyx_stats *stats, const npyx_dtype *dtype, uint8_t *extremes);

/* Adds items that are side by side, as in the file. */
void npyx_stats_add(npyx_stats *stats, const uint8_t *items, int64_t nelem);

/* Adds the statistics of later items; both are of the same dtype, which is not an ORDER one. */
void npyx_stats_merge(npyx_stats *stats, const npyx_stats *next);

static inline int64_t npyx_stats_infs(const npyx_stats *stats) {
    return stats->npositive_infs + stats->nnegative_infs;
}

/* The sum of reals; NaN if there is none. For INTEGER and WIDE see wide_sum. */
double npyx_stats_sum(const npyx_stats *stats);
double npyx_stats_imaginary_sum(const npyx_stats *stats);
/* NaN if nothing was counted. */
double npyx_stats_mean(const npyx_stats *stats);
double npyx_stats_imaginary_mean(const npyx_stats *stats);
/* For a WIDE dtype with signed items: the integer nearest to the mean, exactly, ties to even; something must
 * have been counted. */
int64_t npyx_stats_nearest_mean(const npyx_stats *stats);
/* The sum of squared deviations from the mean; NaN if nothing was counted, or with infinities. */
double npyx_stats_m2(const npyx_stats *stats);

/* ---- the two passes over a chunk of floats, vectorised for the current processor ---- */

enum { NPYX_CHUNK_UNIT = 32 }; /* chunks are a multiple of it, padded with NaN: a round of AVX-512 */

/* NaN enters only nnan, infinities only least and greatest. */
typedef struct npyx_chunk_sums {
    int64_t nnan, nfinite, nzero;
    double sum, lost;       /* sum + lost: of the finite ones; may overflow */
    double least, greatest; /* inf and -inf if all are NaN */
} npyx_chunk_sums;

typedef struct npyx_chunk_deviations {
    double sum, sum_of_squares; /* of x - mean over the finite ones */
} npyx_chunk_deviations;

typedef struct npyx_stats_kernels {
    /* items: in the host's byte order, at any alignment; nelem: a multiple of NPYX_CHUNK_UNIT; nfinite: from
     * sums */
    void (*sums)(const uint8_t *items, int64_t nelem, npyx_chunk_sums *sums);
    void (*deviations)(const uint8_t *items, int64_t nelem, int64_t nfinite, double mean,
                       npyx_chunk_deviations *deviations);
} npyx_stats_kernels;

/* Exists for f8 and f4, and for f2 if the processor widens it; NULL for all other types, whose items are
 * converted to doubles first. The results are the same, to the last bit, as those of f8 for the items as
 * doubles. simd: npyx_simd_here(), or a lower one. */
const npyx_stats_kernels *npyx_stats_kernels_of(npyx_type type, npyx_simd simd);

/* ---- sums and extremes ---- */

/* Adds x with compensation (Neumaier). */
void npyx_sum_add(npyx_sum *sum, double x);
void npyx_sum_merge(npyx_sum *sum, npyx_sum next);

/* The sum; infinite if it is beyond the range of doubles or an infinity was added. */
double npyx_sum_value(npyx_sum sum);

/* Makes an item the least or the greatest one; position: the number of items before it. */
void npyx_stats_set_extreme(npyx_stats *stats, int k, uint64_t key, double real, const uint8_t *item,
                            int64_t position);

#endif
