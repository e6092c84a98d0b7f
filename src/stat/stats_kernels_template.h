/*
 * The two passes over items of one type. Included for each by stats_kernels.c, with
 *
 *     STATS_TARGET            an attribute: the processor features they may use
 *     STATS_NBYTES            of a vector of doubles; such vectors are GNU C's
 *     STATS_LESSER(x, y),
 *     STATS_GREATER(x, y)     of two of them, lane by lane, and y where x is NaN
 *     STATS(word)             the names of the functions
 *     STATS_ITEM              the items' type, and where GNU C does not widen it
 *     STATS_LOAD(items)       a vector of doubles of the items there
 *
 * of which the last three are undefined again at the end.
 */
typedef double STATS(reals) __attribute__((vector_size(STATS_NBYTES)));
typedef int64_t STATS(masks) __attribute__((vector_size(STATS_NBYTES)));

typedef struct STATS(tally) {
    STATS(masks) nnan, nfinite, nzero;
    STATS(reals) low0, low1, high0, high1; /* of every other vector */
} STATS(tally);

STATS_INLINE STATS(reals) STATS(load)(const uint8_t *items) {
#ifdef STATS_LOAD
    return STATS_LOAD(items);
#else
    typedef STATS_ITEM item_vector __attribute__((vector_size(STATS_NBYTES / 8 * sizeof(STATS_ITEM))));
    item_vector x;
    memcpy(&x, items, sizeof x);
    return __builtin_convertvector(x, STATS(reals));
#endif
}

STATS_INLINE STATS(masks) STATS(are_finite)(STATS(reals) x) {
    const STATS(masks) magnitude = (STATS(masks)){0} + INT64_MAX;
    return (STATS(masks))((STATS(reals))((STATS(masks))x & magnitude) <= DBL_MAX);
}

/* Adds x to high + low without rounding, except in low. */
STATS_INLINE void STATS(two_sum)(STATS(reals) * high, STATS(reals) * low, STATS(reals) x) {
    STATS(reals) sum = *high + x, part = sum - *high;
    *low += (*high - (sum - part)) + (x - part);
    *high = sum;
}

STATS_INLINE void STATS(sum_step)(const uint8_t *items, bool are_all_finite, STATS(tally) * tally,
                                  STATS(reals) * total, STATS(reals) * low, STATS(reals) * high) {
    STATS(reals) x = STATS(load)(items);
    *low = STATS_LESSER(x, *low);
    *high = STATS_GREATER(x, *high);
    tally->nzero -= (STATS(masks))(x == 0);
    if (!are_all_finite) {
        STATS(masks) is_finite = STATS(are_finite)(x);
        tally->nnan -= (STATS(masks))NPYX_ARE_NAN(x);
        tally->nfinite -= is_finite;
        x = (STATS(reals))((STATS(masks))x & is_finite);
    }
    *total += x;
}

/* The sums of a few rounds, lane by lane. */
STATS_INLINE STATS(reals)
    STATS(sum_rounds)(const uint8_t *items, int64_t nrounds, bool are_all_finite, STATS(tally) * tally) {
    enum { WIDTH = STATS_NBYTES / 8 * sizeof(STATS_ITEM) };
    STATS(reals) total0 = {0}, total1 = {0}, total2 = {0}, total3 = {0};
    for (STATS(tally) *t = tally; nrounds > 0; nrounds--, items += (size_t)WIDTH * NVECTORS) {
        STATS(sum_step)(items, are_all_finite, t, &total0, &t->low0, &t->high0);
        STATS(sum_step)(items + WIDTH, are_all_finite, t, &total1, &t->low1, &t->high1);
        STATS(sum_step)(items + 2 * WIDTH, are_all_finite, t, &total2, &t->low0, &t->high0);
        STATS(sum_step)(items + 3 * WIDTH, are_all_finite, t, &total3, &t->low1, &t->high1);
    }
    return (total0 + total1) + (total2 + total3);
}

STATS_INLINE void STATS(deviation_step)(const uint8_t *items, double mean, bool are_all_finite,
                                        STATS(reals) * total, STATS(reals) * squares) {
    STATS(reals) x = STATS(load)(items), d = x - mean;
    if (!are_all_finite)
        d = (STATS(reals))((STATS(masks))d & STATS(are_finite)(x));
    *total += d;
    *squares += d * d;
}

/* A finite sum contains no NaN and no infinity: items that pass that test need no other. From the first
 * rounds on that fail it, the rest of a chunk is masked. */
STATS_TARGET static void STATS(sums)(const uint8_t *items, int64_t nelem, npyx_chunk_sums *sums) {
    enum { NLANES = STATS_NBYTES / 8, ROUND_NELEM = NLANES * NVECTORS };
    const STATS(reals) top = (STATS(reals)){0} + INFINITY;
    STATS(tally) tally = {.low0 = top, .low1 = top, .high0 = -top, .high1 = -top};
    STATS(reals) sum = {0}, lost = {0};
    for (bool are_all_finite = true; nelem > 0;) {
        int64_t nrounds = nelem / ROUND_NELEM < NROUNDS ? nelem / ROUND_NELEM : NROUNDS;
        STATS(tally) next = tally;
        STATS(reals) round = {0};
        if (are_all_finite) {
            round = STATS(sum_rounds)(items, nrounds, true, &next);
            next.nfinite += nrounds * NVECTORS;
            for (int lane = 0; lane < NLANES; lane++)
                are_all_finite &= isfinite(round[lane]) != 0;
        }
        if (!are_all_finite) {
            next = tally;
            round = STATS(sum_rounds)(items, nrounds, false, &next);
        }
        tally = next;
        STATS(two_sum)(&sum, &lost, round);
        items += nrounds * ROUND_NELEM * (int64_t)sizeof(STATS_ITEM);
        nelem -= nrounds * ROUND_NELEM;
    }
    STATS(reals) low = STATS_LESSER(tally.low1, tally.low0);
    STATS(reals) high = STATS_GREATER(tally.high1, tally.high0);
    *sums = (npyx_chunk_sums){.least = low[0], .greatest = high[0]};
    for (int lane = 0; lane < NLANES; lane++) {
        sums->nnan += tally.nnan[lane];
        sums->nfinite += tally.nfinite[lane];
        sums->nzero += tally.nzero[lane];
        stats_two_sum(&sums->sum, &sums->lost, sum[lane]);
        sums->lost += lost[lane];
        sums->least = low[lane] < sums->least ? low[lane] : sums->least;
        sums->greatest = high[lane] > sums->greatest ? high[lane] : sums->greatest;
    }
}

STATS_INLINE void STATS(deviations_of)(const uint8_t *items, int64_t nelem, double mean, bool are_all_finite,
                                       npyx_chunk_deviations *deviations) {
    enum { NLANES = STATS_NBYTES / 8, WIDTH = NLANES * sizeof(STATS_ITEM) };
    STATS(reals) total0 = {0}, total1 = {0}, total2 = {0}, total3 = {0}, sum = {0}, lost = {0};
    while (nelem > 0) {
        STATS(reals) squares0 = {0}, squares1 = {0}, squares2 = {0}, squares3 = {0};
        int64_t nrounds = nelem / (NLANES * NVECTORS);
        nrounds = nrounds < NROUNDS ? nrounds : NROUNDS;
        nelem -= nrounds * NLANES * NVECTORS;
        for (; nrounds > 0; nrounds--, items += (size_t)WIDTH * NVECTORS) {
            STATS(deviation_step)(items, mean, are_all_finite, &total0, &squares0);
            STATS(deviation_step)(items + WIDTH, mean, are_all_finite, &total1, &squares1);
            STATS(deviation_step)(items + 2 * WIDTH, mean, are_all_finite, &total2, &squares2);
            STATS(deviation_step)(items + 3 * WIDTH, mean, are_all_finite, &total3, &squares3);
        }
        STATS(two_sum)(&sum, &lost, (squares0 + squares1) + (squares2 + squares3));
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
STATS_TARGET static void STATS(deviations)(const uint8_t *items, int64_t nelem, int64_t nfinite, double mean,
                                           npyx_chunk_deviations *deviations) {
    if (nfinite == nelem)
        STATS(deviations_of)(items, nelem, mean, true, deviations);
    else
        STATS(deviations_of)(items, nelem, mean, false, deviations);
}

static const npyx_stats_kernels STATS(kernels) = {STATS(sums), STATS(deviations)};

#undef STATS
#undef STATS_ITEM
#undef STATS_LOAD
