/*
 * A tile of columns. Included for each type of items by columns_kernels.c, with
 *
 *     COLUMNS_TARGET          an attribute: the processor features they may use
 *     COLUMNS_NBYTES          of a vector of doubles; such vectors are GNU C's
 *     COLUMNS_LESSER(x, y),
 *     COLUMNS_GREATER(x, y)   of two of them, lane by lane, and y where x is NaN
 *     COLUMNS(word)           the names of the functions
 *     COLUMNS_ITEM            the items' type, and where GNU C does not widen it
 *     COLUMNS_LOAD(items)     a vector of doubles of the items there
 *
 * of which the last three are undefined again at the end.
 */
typedef double COLUMNS(reals) __attribute__((vector_size(COLUMNS_NBYTES)));
typedef int64_t COLUMNS(masks) __attribute__((vector_size(COLUMNS_NBYTES)));

/* What is gathered down the rows of one vector of columns. */
typedef struct COLUMNS(tally) {
    COLUMNS(reals) sum, lost, low, high;
    COLUMNS(masks) nnan, nfinite, nzero;
} COLUMNS(tally);

typedef struct COLUMNS(squares) {
    COLUMNS(reals) mean, sum, squares;
} COLUMNS(squares);

COLUMNS_INLINE COLUMNS(reals) COLUMNS(load)(const uint8_t *items) {
#ifdef COLUMNS_LOAD
    return COLUMNS_LOAD(items);
#else
    typedef COLUMNS_ITEM item_vector __attribute__((vector_size(COLUMNS_NBYTES / 8 * sizeof(COLUMNS_ITEM))));
    item_vector x;
    memcpy(&x, items, sizeof x);
    return __builtin_convertvector(x, COLUMNS(reals));
#endif
}

COLUMNS_INLINE COLUMNS(reals) COLUMNS(at)(const double *column) {
    COLUMNS(reals) x;
    memcpy(&x, column, sizeof x);
    return x;
}

COLUMNS_INLINE void COLUMNS(put)(double *column, COLUMNS(reals) x) {
    memcpy(column, &x, sizeof x);
}

COLUMNS_INLINE COLUMNS(masks) COLUMNS(are_finite)(COLUMNS(reals) x) {
    const COLUMNS(masks) magnitude = (COLUMNS(masks)){0} + INT64_MAX;
    return (COLUMNS(masks))((COLUMNS(reals))((COLUMNS(masks))x & magnitude) <= DBL_MAX);
}

COLUMNS_INLINE bool COLUMNS(is_all)(COLUMNS(masks) mask) {
    int64_t all = -1;
    for (size_t lane = 0; lane < COLUMNS_NBYTES / 8; lane++)
        all &= mask[lane];
    return all != 0;
}

/* Adds x to high + low without rounding, except in low. */
COLUMNS_INLINE void COLUMNS(two_sum)(COLUMNS(reals) * high, COLUMNS(reals) * low, COLUMNS(reals) x) {
    COLUMNS(reals) sum = *high + x, part = sum - *high;
    *low += (*high - (sum - part)) + (x - part);
    *high = sum;
}

COLUMNS_INLINE void COLUMNS(sum_step)(const uint8_t *items, bool are_all_finite, COLUMNS(tally) * t,
                                      COLUMNS(reals) * total) {
    COLUMNS(reals) x = COLUMNS(load)(items);
    t->low = COLUMNS_LESSER(x, t->low);
    t->high = COLUMNS_GREATER(x, t->high);
    t->nzero -= (COLUMNS(masks))(x == 0);
    if (!are_all_finite) {
        COLUMNS(masks) is_finite = COLUMNS(are_finite)(x);
        t->nnan -= (COLUMNS(masks))NPYX_ARE_NAN(x);
        t->nfinite -= is_finite;
        x = (COLUMNS(reals))((COLUMNS(masks))x & is_finite);
    }
    *total += x;
}

/* Sums two vectors of columns; false if one of the sums is not finite. */
COLUMNS_INLINE bool COLUMNS(sums)(const uint8_t *const *rows, int64_t nrows, size_t off, bool are_all_finite,
                                  COLUMNS(tally) * first, COLUMNS(tally) * second) {
    enum { SECOND = COLUMNS_NBYTES / 8 * sizeof(COLUMNS_ITEM) };
    const COLUMNS(reals) top = (COLUMNS(reals)){0} + INFINITY;
    COLUMNS(tally) t0 = {.low = top, .high = -top}, t1 = {.low = top, .high = -top};
    if (are_all_finite)
        t0.nfinite = t1.nfinite = (COLUMNS(masks)){0} + nrows;
    for (int64_t row = 0; row < nrows;) {
        COLUMNS(reals) total0 = {0}, total1 = {0};
        for (int64_t end = row + NPYX_COLUMNS_NPLAIN < nrows ? row + NPYX_COLUMNS_NPLAIN : nrows; row < end;
             row++) {
            COLUMNS(sum_step)(rows[row] + off, are_all_finite, &t0, &total0);
            COLUMNS(sum_step)(rows[row] + off + SECOND, are_all_finite, &t1, &total1);
        }
        COLUMNS(two_sum)(&t0.sum, &t0.lost, total0);
        COLUMNS(two_sum)(&t1.sum, &t1.lost, total1);
    }
    *first = t0;
    *second = t1;
    return COLUMNS(is_all)(COLUMNS(are_finite)(t0.sum) & COLUMNS(are_finite)(t1.sum));
}

COLUMNS_INLINE void COLUMNS(square_step)(const uint8_t *items, bool are_all_finite, COLUMNS(squares) * s) {
    COLUMNS(reals) x = COLUMNS(load)(items), d = x - s->mean;
    if (!are_all_finite)
        d = (COLUMNS(reals))((COLUMNS(masks))d & COLUMNS(are_finite)(x));
    s->sum += d;
    s->squares += d * d;
}

COLUMNS_INLINE void COLUMNS(deviations)(const uint8_t *const *rows, int64_t nrows, size_t off,
                                        bool are_all_finite, COLUMNS(squares) * first,
                                        COLUMNS(squares) * second) {
    enum { SECOND = COLUMNS_NBYTES / 8 * sizeof(COLUMNS_ITEM) };
    COLUMNS(squares) s0 = *first, s1 = *second;
    for (int64_t row = 0; row < nrows; row++) {
        COLUMNS(square_step)(rows[row] + off, are_all_finite, &s0);
        COLUMNS(square_step)(rows[row] + off + SECOND, are_all_finite, &s1);
    }
    *first = s0;
    *second = s1;
}

/* Adds moments to those of the columns: Chan, Golub and LeVeque's rule, as in npyx_stats_merge_moments. If
 * either side has no items the product of both counts is 0, whatever the square of delta. */
COLUMNS_INLINE void COLUMNS(merge_moments)(double *columns, int64_t width, COLUMNS(reals) next_n,
                                           COLUMNS(reals) next_mean, COLUMNS(reals) next_low,
                                           COLUMNS(reals) next_m2) {
    double *counts = columns + NPYX_COLUMN_NFINITE * width, *means = columns + NPYX_COLUMN_MEAN * width;
    double *lows = columns + NPYX_COLUMN_MEAN_LOW * width, *m2s = columns + NPYX_COLUMN_M2 * width;
    const COLUMNS(reals) zero = {0}, one = zero + 1;
    COLUMNS(reals) n = COLUMNS(at)(counts), own_mean = COLUMNS(at)(means), low = COLUMNS(at)(lows);
    COLUMNS(reals) total = n + next_n;
    COLUMNS(reals) share = next_n / COLUMNS_GREATER(one, total);
    COLUMNS(reals) delta = (next_mean - own_mean) + (next_low - low), shift = low + delta * share;
    COLUMNS(reals) mean = own_mean + shift;
    COLUMNS(masks) has_both = (COLUMNS(masks))(n * next_n > 0);
    COLUMNS(reals) between = (COLUMNS(reals))((COLUMNS(masks))(delta * delta * (n * share)) & has_both);
    COLUMNS(put)(counts, total);
    COLUMNS(put)(means, mean);
    COLUMNS(put)(lows, (own_mean - mean) + shift);
    COLUMNS(put)(m2s, COLUMNS(at)(m2s) + (next_m2 + between));
}

COLUMNS_INLINE void COLUMNS(increase)(double *column, COLUMNS(reals) x) {
    COLUMNS(put)(column, COLUMNS(at)(column) + x);
}

/* Adds sums to those of the columns; false if they exceed the range of doubles. */
COLUMNS_INLINE bool COLUMNS(merge_sums)(double *columns, int64_t width, COLUMNS(reals) sum,
                                        COLUMNS(reals) lost, COLUMNS(reals) least, COLUMNS(reals) greatest) {
    double *sums = columns + NPYX_COLUMN_SUM * width, *losts = columns + NPYX_COLUMN_LOST * width;
    double *leasts = columns + NPYX_COLUMN_LEAST * width;
    double *greatests = columns + NPYX_COLUMN_GREATEST * width;
    COLUMNS(reals) high = COLUMNS(at)(sums), low = COLUMNS(at)(losts) + lost;
    COLUMNS(two_sum)(&high, &low, sum);
    COLUMNS(put)(sums, high);
    COLUMNS(put)(losts, low);
    COLUMNS(put)(leasts, COLUMNS_LESSER(least, COLUMNS(at)(leasts)));
    COLUMNS(put)(greatests, COLUMNS_GREATER(greatest, COLUMNS(at)(greatests)));
    return COLUMNS(is_all)(COLUMNS(are_finite)(high));
}

COLUMNS_INLINE COLUMNS(squares) COLUMNS(begin_squares)(const COLUMNS(tally) * t) {
    const COLUMNS(reals) one = (COLUMNS(reals)){0} + 1;
    COLUMNS(reals) n = __builtin_convertvector(t->nfinite, COLUMNS(reals));
    return (COLUMNS(squares)){.mean = t->sum / COLUMNS_GREATER(one, n)};
}

/* Adds what was gathered down one vector of columns. */
COLUMNS_INLINE bool COLUMNS(finish)(double *columns, int64_t width, int64_t nrows, const COLUMNS(tally) * t,
                                    const COLUMNS(squares) * s) {
    const COLUMNS(reals) zero = {0}, one = zero + 1;
    COLUMNS(reals) n = __builtin_convertvector(t->nfinite, COLUMNS(reals));
    COLUMNS(reals) nnan = __builtin_convertvector(t->nnan, COLUMNS(reals));
    COLUMNS(reals) all = __builtin_convertvector((COLUMNS(masks)){0} + nrows, COLUMNS(reals));
    COLUMNS(reals) low = s->sum / COLUMNS_GREATER(one, n);
    COLUMNS(reals) m2 = COLUMNS_GREATER(zero, s->squares - s->sum * low);
    COLUMNS(increase)(columns + NPYX_COLUMN_NNAN * width, nnan);
    COLUMNS(increase)(columns + NPYX_COLUMN_NINF * width, all - n - nnan);
    COLUMNS(increase)(columns + NPYX_COLUMN_NZERO * width, __builtin_convertvector(t->nzero, COLUMNS(reals)));
    COLUMNS(merge_moments)(columns, width, n, s->mean, low, m2);
    bool is_sound = COLUMNS(is_all)(COLUMNS(are_finite)(s->sum));
    return COLUMNS(merge_sums)(columns, width, t->sum, t->lost, t->low, t->high) && is_sound;
}

/* A finite sum contains no NaN and no infinity: items that pass that test need no other. */
COLUMNS_TARGET static bool COLUMNS(add)(double *columns, int64_t width, const uint8_t *const *rows,
                                        int64_t nrows, size_t off, bool skips_moments) {
    COLUMNS(tally) t0, t1;
    bool are_all_finite = COLUMNS(sums)(rows, nrows, off, true, &t0, &t1);
    if (!are_all_finite && !COLUMNS(sums)(rows, nrows, off, false, &t0, &t1))
        return false;
    COLUMNS(squares) s0 = COLUMNS(begin_squares)(&t0), s1 = COLUMNS(begin_squares)(&t1);
    if (are_all_finite && !skips_moments)
        COLUMNS(deviations)(rows, nrows, off, true, &s0, &s1);
    else if (!skips_moments)
        COLUMNS(deviations)(rows, nrows, off, false, &s0, &s1);
    bool is_sound = COLUMNS(finish)(columns, width, nrows, &t0, &s0);
    return COLUMNS(finish)(columns + COLUMNS_NBYTES / 8, width, nrows, &t1, &s1) && is_sound;
}

COLUMNS_TARGET static bool COLUMNS(merge)(double *columns, const double *next, int64_t width) {
    bool is_sound = true;
    for (const double *end = next + width; next < end;
         columns += COLUMNS_NBYTES / 8, next += COLUMNS_NBYTES / 8) {
        for (int i = 0; i < 3; i++) {
            static const int counts[3] = {NPYX_COLUMN_NNAN, NPYX_COLUMN_NINF, NPYX_COLUMN_NZERO};
            COLUMNS(increase)(columns + counts[i] * width, COLUMNS(at)(next + counts[i] * width));
        }
        COLUMNS(merge_moments)
        (columns, width, COLUMNS(at)(next + NPYX_COLUMN_NFINITE * width),
         COLUMNS(at)(next + NPYX_COLUMN_MEAN * width), COLUMNS(at)(next + NPYX_COLUMN_MEAN_LOW * width),
         COLUMNS(at)(next + NPYX_COLUMN_M2 * width));
        is_sound &= COLUMNS(merge_sums)(columns, width, COLUMNS(at)(next + NPYX_COLUMN_SUM * width),
                                        COLUMNS(at)(next + NPYX_COLUMN_LOST * width),
                                        COLUMNS(at)(next + NPYX_COLUMN_LEAST * width),
                                        COLUMNS(at)(next + NPYX_COLUMN_GREATEST * width));
    }
    return is_sound;
}

static const npyx_columns_kernels COLUMNS(kernels) = {2 * COLUMNS_NBYTES / 8, COLUMNS(add), COLUMNS(merge)};

#undef COLUMNS
#undef COLUMNS_ITEM
#undef COLUMNS_LOAD
