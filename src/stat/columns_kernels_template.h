/* A tile of columns: a template of kernels (base/simd_kernels_template.h). */
#include "sum_steps_template.h"

/* What is gathered down the rows of one vector of columns. */
typedef struct KERNEL(tally) {
    KERNEL(reals) sum, lost, low, high;
    KERNEL(counts) counts;
} KERNEL(tally);

typedef struct KERNEL(squares) {
    KERNEL(reals) mean, sum, squares;
} KERNEL(squares);

KERNEL_INLINE void KERNEL(put)(double *column, KERNEL(reals) x) {
    memcpy(column, &x, sizeof x);
}

KERNEL_INLINE bool KERNEL(is_all)(KERNEL(masks) mask) {
    int64_t all = -1;
    for (size_t lane = 0; lane < KERNEL_NBYTES / 8; lane++)
        all &= mask[lane];
    return all != 0;
}

/* Sums two vectors of columns; false if one of the sums is not finite. */
KERNEL_INLINE bool KERNEL(sums)(const uint8_t *const *rows, int64_t nrows, size_t off, bool are_all_finite,
                                KERNEL(tally) * first, KERNEL(tally) * second) {
    enum { SECOND = KERNEL_NBYTES / 8 * sizeof(KERNEL_ITEM) };
    const KERNEL(reals) top = (KERNEL(reals)){0} + INFINITY;
    KERNEL(tally) t0 = {.low = top, .high = -top}, t1 = {.low = top, .high = -top};
    if (are_all_finite)
        t0.counts.nfinite = t1.counts.nfinite = (KERNEL(masks)){0} + nrows;
    for (int64_t row = 0; row < nrows;) {
        KERNEL(reals) total0 = {0}, total1 = {0};
        for (int64_t end = row + NPYX_COLUMNS_NPLAIN < nrows ? row + NPYX_COLUMNS_NPLAIN : nrows; row < end;
             row++) {
            KERNEL(sum_step)(rows[row] + off, are_all_finite, &t0.counts, &total0, &t0.low, &t0.high);
            KERNEL(sum_step)
            (rows[row] + off + SECOND, are_all_finite, &t1.counts, &total1, &t1.low, &t1.high);
        }
        KERNEL(two_sum)(&t0.sum, &t0.lost, total0);
        KERNEL(two_sum)(&t1.sum, &t1.lost, total1);
    }
    *first = t0;
    *second = t1;
    return KERNEL(is_all)(KERNEL(are_finite)(t0.sum) & KERNEL(are_finite)(t1.sum));
}

KERNEL_INLINE void KERNEL(deviations)(const uint8_t *const *rows, int64_t nrows, size_t off,
                                      bool are_all_finite, KERNEL(squares) * first,
                                      KERNEL(squares) * second) {
    enum { SECOND = KERNEL_NBYTES / 8 * sizeof(KERNEL_ITEM) };
    KERNEL(squares) s0 = *first, s1 = *second;
    for (int64_t row = 0; row < nrows; row++) {
        KERNEL(deviation_step)(rows[row] + off, s0.mean, are_all_finite, &s0.sum, &s0.squares);
        KERNEL(deviation_step)(rows[row] + off + SECOND, s1.mean, are_all_finite, &s1.sum, &s1.squares);
    }
    *first = s0;
    *second = s1;
}

/* Adds moments to those of the columns: Chan, Golub and LeVeque's rule, as in stats_merge_moments. If
 * either side has no items the product of both counts is 0, whatever the square of delta. */
KERNEL_INLINE void KERNEL(merge_moments)(double *columns, int64_t width, KERNEL(reals) next_n,
                                         KERNEL(reals) next_mean, KERNEL(reals) next_low,
                                         KERNEL(reals) next_m2) {
    double *counts = columns + NPYX_COLUMN_NFINITE * width, *means = columns + NPYX_COLUMN_MEAN * width;
    double *lows = columns + NPYX_COLUMN_MEAN_LOW * width, *m2s = columns + NPYX_COLUMN_M2 * width;
    const KERNEL(reals) zero = {0}, one = zero + 1;
    KERNEL(reals) n = KERNEL(load_reals)(counts);
    KERNEL(reals) own_mean = KERNEL(load_reals)(means), low = KERNEL(load_reals)(lows);
    KERNEL(reals) total = n + next_n;
    KERNEL(reals) share = next_n / KERNEL_GREATER(one, total);
    KERNEL(reals) delta = (next_mean - own_mean) + (next_low - low), shift = low + delta * share;
    KERNEL(reals) mean = own_mean + shift;
    KERNEL(masks) has_both = (KERNEL(masks))(n * next_n > 0);
    KERNEL(reals) between = (KERNEL(reals))((KERNEL(masks))(delta * delta * (n * share)) & has_both);
    KERNEL(put)(counts, total);
    KERNEL(put)(means, mean);
    KERNEL(put)(lows, (own_mean - mean) + shift);
    KERNEL(put)(m2s, KERNEL(load_reals)(m2s) + (next_m2 + between));
}

KERNEL_INLINE void KERNEL(increase)(double *column, KERNEL(reals) x) {
    KERNEL(put)(column, KERNEL(load_reals)(column) + x);
}

/* Adds sums to those of the columns; false if they exceed the range of doubles. */
KERNEL_INLINE bool KERNEL(merge_sums)(double *columns, int64_t width, KERNEL(reals) sum, KERNEL(reals) lost,
                                      KERNEL(reals) least, KERNEL(reals) greatest) {
    double *sums = columns + NPYX_COLUMN_SUM * width, *losts = columns + NPYX_COLUMN_LOST * width;
    double *leasts = columns + NPYX_COLUMN_LEAST * width;
    double *greatests = columns + NPYX_COLUMN_GREATEST * width;
    KERNEL(reals) high = KERNEL(load_reals)(sums), low = KERNEL(load_reals)(losts) + lost;
    KERNEL(two_sum)(&high, &low, sum);
    KERNEL(put)(sums, high);
    KERNEL(put)(losts, low);
    KERNEL(put)(leasts, KERNEL_LESSER(least, KERNEL(load_reals)(leasts)));
    KERNEL(put)(greatests, KERNEL_GREATER(greatest, KERNEL(load_reals)(greatests)));
    return KERNEL(is_all)(KERNEL(are_finite)(high));
}

KERNEL_INLINE KERNEL(squares) KERNEL(begin_squares)(const KERNEL(tally) * t) {
    const KERNEL(reals) one = (KERNEL(reals)){0} + 1;
    KERNEL(reals) n = __builtin_convertvector(t->counts.nfinite, KERNEL(reals));
    return (KERNEL(squares)){.mean = t->sum / KERNEL_GREATER(one, n)};
}

/* Adds what was gathered down one vector of columns. */
KERNEL_INLINE bool KERNEL(finish)(double *columns, int64_t width, int64_t nrows, const KERNEL(tally) * t,
                                  const KERNEL(squares) * s) {
    const KERNEL(reals) zero = {0}, one = zero + 1;
    KERNEL(reals) n = __builtin_convertvector(t->counts.nfinite, KERNEL(reals));
    KERNEL(reals) nnan = __builtin_convertvector(t->counts.nnan, KERNEL(reals));
    KERNEL(reals) all = __builtin_convertvector((KERNEL(masks)){0} + nrows, KERNEL(reals));
    KERNEL(reals) low = s->sum / KERNEL_GREATER(one, n);
    KERNEL(reals) m2 = KERNEL_GREATER(zero, s->squares - s->sum * low);
    KERNEL(increase)(columns + NPYX_COLUMN_NNAN * width, nnan);
    KERNEL(increase)(columns + NPYX_COLUMN_NINF * width, all - n - nnan);
    KERNEL(increase)
    (columns + NPYX_COLUMN_NZERO * width, __builtin_convertvector(t->counts.nzero, KERNEL(reals)));
    KERNEL(merge_moments)(columns, width, n, s->mean, low, m2);
    bool is_sound = KERNEL(is_all)(KERNEL(are_finite)(s->sum));
    return KERNEL(merge_sums)(columns, width, t->sum, t->lost, t->low, t->high) && is_sound;
}

/* A finite sum contains no NaN and no infinity: items that pass that test need no other. */
KERNEL_TARGET static bool KERNEL(add)(double *columns, int64_t width, const uint8_t *const *rows,
                                      int64_t nrows, size_t off, bool skips_moments) {
    KERNEL(tally) t0, t1;
    bool are_all_finite = KERNEL(sums)(rows, nrows, off, true, &t0, &t1);
    if (!are_all_finite && !KERNEL(sums)(rows, nrows, off, false, &t0, &t1))
        return false;
    KERNEL(squares) s0 = KERNEL(begin_squares)(&t0), s1 = KERNEL(begin_squares)(&t1);
    if (are_all_finite && !skips_moments)
        KERNEL(deviations)(rows, nrows, off, true, &s0, &s1);
    else if (!skips_moments)
        KERNEL(deviations)(rows, nrows, off, false, &s0, &s1);
    bool is_sound = KERNEL(finish)(columns, width, nrows, &t0, &s0);
    return KERNEL(finish)(columns + KERNEL_NBYTES / 8, width, nrows, &t1, &s1) && is_sound;
}

KERNEL_TARGET static bool KERNEL(merge)(double *columns, const double *next, int64_t width) {
    bool is_sound = true;
    for (const double *end = next + width; next < end;
         columns += KERNEL_NBYTES / 8, next += KERNEL_NBYTES / 8) {
        for (int i = 0; i < 3; i++) {
            static const int counts[3] = {NPYX_COLUMN_NNAN, NPYX_COLUMN_NINF, NPYX_COLUMN_NZERO};
            KERNEL(increase)(columns + counts[i] * width, KERNEL(load_reals)(next + counts[i] * width));
        }
        KERNEL(merge_moments)
        (columns, width, KERNEL(load_reals)(next + NPYX_COLUMN_NFINITE * width),
         KERNEL(load_reals)(next + NPYX_COLUMN_MEAN * width),
         KERNEL(load_reals)(next + NPYX_COLUMN_MEAN_LOW * width),
         KERNEL(load_reals)(next + NPYX_COLUMN_M2 * width));
        is_sound &= KERNEL(merge_sums)(columns, width, KERNEL(load_reals)(next + NPYX_COLUMN_SUM * width),
                                       KERNEL(load_reals)(next + NPYX_COLUMN_LOST * width),
                                       KERNEL(load_reals)(next + NPYX_COLUMN_LEAST * width),
                                       KERNEL(load_reals)(next + NPYX_COLUMN_GREATEST * width));
    }
    return is_sound;
}

static const npyx_columns_kernels KERNEL(kernels) = {2 * KERNEL_NBYTES / 8, KERNEL(add), KERNEL(merge)};
