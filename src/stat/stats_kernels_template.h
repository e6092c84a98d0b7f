/* The two passes over items of one type: a template of kernels (base/simd_kernels_template.h). */
#include "sum_steps_template.h"

typedef struct KERNEL(tally) {
    KERNEL(counts) counts;
    KERNEL(reals) low0, low1, high0, high1; /* of every other vector */
} KERNEL(tally);

/* The sums of a few rounds, lane by lane. */
KERNEL_INLINE KERNEL(reals)
    KERNEL(sum_rounds)(const uint8_t *items, int64_t nrounds, bool are_all_finite, KERNEL(tally) * tally) {
    enum { WIDTH = KERNEL_NBYTES / 8 * sizeof(KERNEL_ITEM) };
    KERNEL(reals) total0 = {0}, total1 = {0}, total2 = {0}, total3 = {0};
    for (KERNEL(tally) *t = tally; nrounds > 0; nrounds--, items += (size_t)WIDTH * NVECTORS) {
        KERNEL(sum_step)(items, are_all_finite, &t->counts, &total0, &t->low0, &t->high0);
        KERNEL(sum_step)(items + WIDTH, are_all_finite, &t->counts, &total1, &t->low1, &t->high1);
        KERNEL(sum_step)(items + 2 * WIDTH, are_all_finite, &t->counts, &total2, &t->low0, &t->high0);
        KERNEL(sum_step)(items + 3 * WIDTH, are_all_finite, &t->counts, &total3, &t->low1, &t->high1);
    }
    return (total0 + total1) + (total2 + total3);
}

/* A finite sum contains no NaN and no infinity: items that pass that test need no other. From the first
 * rounds on that fail it, the rest of a chunk is masked. */
KERNEL_TARGET static void KERNEL(sums)(const uint8_t *items, int64_t nelem, npyx_chunk_sums *sums) {
    enum { NLANES = KERNEL_NBYTES / 8, ROUND_NELEM = NLANES * NVECTORS };
    const KERNEL(reals) top = (KERNEL(reals)){0} + INFINITY;
    KERNEL(tally) tally; /* one by one: gcc clears a whole struct by bytes */
    tally.counts.nnan = tally.counts.nfinite = tally.counts.nzero = (KERNEL(masks)){0};
    tally.low0 = tally.low1 = top;
    tally.high0 = tally.high1 = -top;
    KERNEL(reals) sum = {0}, lost = {0};
    for (bool are_all_finite = true; nelem > 0;) {
        int64_t nrounds = nelem / ROUND_NELEM < NROUNDS ? nelem / ROUND_NELEM : NROUNDS;
        KERNEL(tally) next = tally;
        KERNEL(reals) round = {0};
        if (are_all_finite) {
            round = KERNEL(sum_rounds)(items, nrounds, true, &next);
            next.counts.nfinite += nrounds * NVECTORS;
            for (int lane = 0; lane < NLANES; lane++)
                are_all_finite &= isfinite(round[lane]) != 0;
        }
        if (!are_all_finite) {
            next = tally;
            round = KERNEL(sum_rounds)(items, nrounds, false, &next);
        }
        tally = next;
        KERNEL(two_sum)(&sum, &lost, round);
        items += nrounds * ROUND_NELEM * (int64_t)sizeof(KERNEL_ITEM);
        nelem -= nrounds * ROUND_NELEM;
    }
    KERNEL(reals) low = KERNEL_LESSER(tally.low1, tally.low0);
    KERNEL(reals) high = KERNEL_GREATER(tally.high1, tally.high0);
    *sums = (npyx_chunk_sums){.least = low[0], .greatest = high[0]};
    for (int lane = 0; lane < NLANES; lane++) {
        sums->nnan += tally.counts.nnan[lane];
        sums->nfinite += tally.counts.nfinite[lane];
        sums->nzero += tally.counts.nzero[lane];
        stats_two_sum(&sums->sum, &sums->lost, sum[lane]);
        sums->lost += lost[lane];
        sums->least = low[lane] < sums->least ? low[lane] : sums->least;
        sums->greatest = high[lane] > sums->greatest ? high[lane] : sums->greatest;
    }
}

KERNEL_INLINE void KERNEL(deviations_of)(const uint8_t *items, int64_t nelem, double mean,
                                         bool are_all_finite, npyx_chunk_deviations *deviations) {
    enum { NLANES = KERNEL_NBYTES / 8, WIDTH = NLANES * sizeof(KERNEL_ITEM) };
    KERNEL(reals) total0 = {0}, total1 = {0}, total2 = {0}, total3 = {0}, sum = {0}, lost = {0};
    const KERNEL(reals) means = (KERNEL(reals)){0} + mean;
    while (nelem > 0) {
        KERNEL(reals) squares0 = {0}, squares1 = {0}, squares2 = {0}, squares3 = {0};
        int64_t nrounds = nelem / (NLANES * NVECTORS);
        nrounds = nrounds < NROUNDS ? nrounds : NROUNDS;
        nelem -= nrounds * NLANES * NVECTORS;
        for (; nrounds > 0; nrounds--, items += (size_t)WIDTH * NVECTORS) {
            KERNEL(deviation_step)(items, means, are_all_finite, &total0, &squares0);
            KERNEL(deviation_step)(items + WIDTH, means, are_all_finite, &total1, &squares1);
            KERNEL(deviation_step)(items + 2 * WIDTH, means, are_all_finite, &total2, &squares2);
            KERNEL(deviation_step)(items + 3 * WIDTH, means, are_all_finite, &total3, &squares3);
        }
        KERNEL(two_sum)(&sum, &lost, (squares0 + squares1) + (squares2 + squares3));
    }
    total0 = (total0 + total1) + (total2 + total3);
    double squares = 0, squares_lost = 0;
    *deviations = (npyx_chunk_deviations){0};
    for (int lane = 0; lane < NLANES; lane++) {
        deviations->sum += total0[lane];
        stats_two_sum(&squares, &squares_lost, sum[lane]);
        squares_lost += lost[lane];
    }
    deviations->sum_of_squares = isfinite(squares) ? squares + squares_lost : squares;
}

/* One loop for each case; the first has a third less to do. */
KERNEL_TARGET static void KERNEL(deviations)(const uint8_t *items, int64_t nelem, int64_t nfinite,
                                             double mean, npyx_chunk_deviations *deviations) {
    if (nfinite == nelem)
        KERNEL(deviations_of)(items, nelem, mean, true, deviations);
    else
        KERNEL(deviations_of)(items, nelem, mean, false, deviations);
}

static const npyx_stats_kernels KERNEL(kernels) = {KERNEL(sums), KERNEL(deviations)};
