#include "stats.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

/*
 * Vectors are GNU C's. Four accumulators of each kind hide the latency of additions. Every few rounds they
 * are added up with compensation (Knuth's two-sum), so that no sum is the plain one of more than 16 numbers a
 * lane: NumPy's pairwise summation has as many, and roundings of partial sums on top. Comparisons with NaN
 * are false, so that a NaN is neither less nor greater, and neither finite nor zero.
 */
enum { NVECTORS = 4, NROUNDS = 16 };

/* x where it is less, y otherwise, also when x is NaN: what MINPD does. */
#if defined(__x86_64__) || defined(__i386__)
#define LEAST_PORTABLE(m, v, x, y)    ((v)_mm_min_pd((__m128d)(x), (__m128d)(y)))
#define GREATEST_PORTABLE(m, v, x, y) ((v)_mm_max_pd((__m128d)(x), (__m128d)(y)))
#define LEAST_AVX2(m, v, x, y)        ((v)_mm256_min_pd((__m256d)(x), (__m256d)(y)))
#define GREATEST_AVX2(m, v, x, y)     ((v)_mm256_max_pd((__m256d)(x), (__m256d)(y)))
#else
#define SELECT(m, v, mask, x, y)      ((v)(((m)(x) & (m)(mask)) | ((m)(y) & ~(m)(mask))))
#define LEAST_PORTABLE(m, v, x, y)    SELECT(m, v, (x) < (y), x, y)
#define GREATEST_PORTABLE(m, v, x, y) SELECT(m, v, (x) > (y), x, y)
#define LEAST_AVX2                    LEAST_PORTABLE
#define GREATEST_AVX2                 GREATEST_PORTABLE
#endif

/* Adds x to high + low without a rounding, but that of low. */
#define TWO_SUM(vector, high, low, x)                                                                        \
    do {                                                                                                     \
        vector sum_ = (high) + (x), part_ = sum_ - (high);                                                   \
        (low) += ((high) - (sum_ - part_)) + ((x)-part_);                                                    \
        (high) = sum_;                                                                                       \
    } while (0)

/* One vector of each pass. */
#define SUM_STEP(reals_type, mask_type, least_of, greatest_of, off, total, low, high)                        \
    do {                                                                                                     \
        reals_type x;                                                                                        \
        memcpy(&x, reals + (off), sizeof x);                                                                 \
        mask_type is_finite = (mask_type)((reals_type)((mask_type)x & magnitude) <= DBL_MAX);                \
        nnan -= (mask_type)(x != x);                                                                         \
        nfinite -= is_finite;                                                                                \
        nzero -= (mask_type)(x == 0);                                                                        \
        (total) += (reals_type)((mask_type)x & is_finite);                                                   \
        (low) = least_of(mask_type, reals_type, x, low);                                                     \
        (high) = greatest_of(mask_type, reals_type, x, high);                                                \
    } while (0)

#define DEVIATION_STEP(reals_type, mask_type, off, total, squares)                                           \
    do {                                                                                                     \
        reals_type x;                                                                                        \
        memcpy(&x, reals + (off), sizeof x);                                                                 \
        mask_type is_finite = (mask_type)((reals_type)((mask_type)x & magnitude) <= DBL_MAX);                \
        reals_type d = (reals_type)((mask_type)(x - mean) & is_finite);                                      \
        (total) += d;                                                                                        \
        (squares) += d * d;                                                                                  \
    } while (0)

#define SUMS_KERNEL(suffix, target, vector_nbytes, least_of, greatest_of)                                    \
    target static void sums_##suffix(const uint8_t *reals, int64_t nelem, npyx_chunk_sums *sums) {           \
        enum { NLANES = (vector_nbytes) / 8, WIDTH = (vector_nbytes) };                                      \
        typedef double R __attribute__((vector_size(vector_nbytes)));                                        \
        typedef int64_t M __attribute__((vector_size(vector_nbytes)));                                       \
        R low0 = (R){0} + INFINITY, high0 = (R){0} - INFINITY, low1 = low0, high1 = high0;                   \
        R sum = {0}, lost = {0};                                                                             \
        M nnan = {0}, nfinite = {0}, nzero = {0};                                                            \
        const M magnitude = (M){0} + INT64_MAX;                                                              \
        while (nelem > 0) {                                                                                  \
            R total0 = {0}, total1 = {0}, total2 = {0}, total3 = {0};                                        \
            int64_t nrounds = nelem / (NLANES * NVECTORS);                                                   \
            nrounds = nrounds < NROUNDS ? nrounds : NROUNDS;                                                 \
            nelem -= nrounds * NLANES * NVECTORS;                                                            \
            for (; nrounds > 0; nrounds--, reals += (size_t)WIDTH * NVECTORS) {                              \
                SUM_STEP(R, M, least_of, greatest_of, 0, total0, low0, high0);                               \
                SUM_STEP(R, M, least_of, greatest_of, WIDTH, total1, low1, high1);                           \
                SUM_STEP(R, M, least_of, greatest_of, 2 * WIDTH, total2, low0, high0);                       \
                SUM_STEP(R, M, least_of, greatest_of, 3 * WIDTH, total3, low1, high1);                       \
            }                                                                                                \
            R round = (total0 + total1) + (total2 + total3);                                                 \
            TWO_SUM(R, sum, lost, round);                                                                    \
        }                                                                                                    \
        low0 = least_of(M, R, low1, low0);                                                                   \
        high0 = greatest_of(M, R, high1, high0);                                                             \
        *sums = (npyx_chunk_sums){.least = low0[0], .greatest = high0[0]};                                   \
        for (int lane = 0; lane < NLANES; lane++) {                                                          \
            sums->nnan += nnan[lane];                                                                        \
            sums->nfinite += nfinite[lane];                                                                  \
            sums->nzero += nzero[lane];                                                                      \
            TWO_SUM(double, sums->sum, sums->lost, sum[lane]);                                               \
            sums->lost += lost[lane];                                                                        \
            sums->least = low0[lane] < sums->least ? low0[lane] : sums->least;                               \
            sums->greatest = high0[lane] > sums->greatest ? high0[lane] : sums->greatest;                    \
        }                                                                                                    \
    }

#define DEVIATIONS_KERNEL(suffix, target, vector_nbytes)                                                     \
    target static void deviations_##suffix(const uint8_t *reals, int64_t nelem, double mean,                 \
                                           npyx_chunk_deviations *deviations) {                              \
        enum { NLANES = (vector_nbytes) / 8, WIDTH = (vector_nbytes) };                                      \
        typedef double R __attribute__((vector_size(vector_nbytes)));                                        \
        typedef int64_t M __attribute__((vector_size(vector_nbytes)));                                       \
        R total0 = {0}, total1 = {0}, total2 = {0}, total3 = {0}, sum = {0}, lost = {0};                     \
        const M magnitude = (M){0} + INT64_MAX;                                                              \
        while (nelem > 0) {                                                                                  \
            R squares0 = {0}, squares1 = {0}, squares2 = {0}, squares3 = {0};                                \
            int64_t nrounds = nelem / (NLANES * NVECTORS);                                                   \
            nrounds = nrounds < NROUNDS ? nrounds : NROUNDS;                                                 \
            nelem -= nrounds * NLANES * NVECTORS;                                                            \
            for (; nrounds > 0; nrounds--, reals += (size_t)WIDTH * NVECTORS) {                              \
                DEVIATION_STEP(R, M, 0, total0, squares0);                                                   \
                DEVIATION_STEP(R, M, WIDTH, total1, squares1);                                               \
                DEVIATION_STEP(R, M, 2 * WIDTH, total2, squares2);                                           \
                DEVIATION_STEP(R, M, 3 * WIDTH, total3, squares3);                                           \
            }                                                                                                \
            R round = (squares0 + squares1) + (squares2 + squares3);                                         \
            TWO_SUM(R, sum, lost, round);                                                                    \
        }                                                                                                    \
        total0 = (total0 + total1) + (total2 + total3);                                                      \
        double squares = 0, squares_lost = 0;                                                                \
        *deviations = (npyx_chunk_deviations){0};                                                            \
        for (int lane = 0; lane < NLANES; lane++) {                                                          \
            deviations->sum += total0[lane];                                                                 \
            TWO_SUM(double, squares, squares_lost, sum[lane]);                                               \
            squares_lost += lost[lane];                                                                      \
        }                                                                                                    \
        deviations->sum_of_squares = isfinite(squares) ? squares + squares_lost : squares;                   \
    }

#define KERNELS(suffix, target, vector_nbytes, least_of, greatest_of)                                        \
    SUMS_KERNEL(suffix, target, vector_nbytes, least_of, greatest_of)                                        \
    DEVIATIONS_KERNEL(suffix, target, vector_nbytes)                                                         \
    static const npyx_stats_kernels stats_kernels_##suffix = {sums_##suffix, deviations_##suffix};

KERNELS(portable, , 16, LEAST_PORTABLE, GREATEST_PORTABLE)
KERNELS(avx2, NPYX_WITH_AVX2_FMA, NPYX_AVX2_NBYTES, LEAST_AVX2, GREATEST_AVX2)

const npyx_stats_kernels *npyx_stats_kernels_of(bool has_avx2) {
    return has_avx2 ? &stats_kernels_avx2 : &stats_kernels_portable;
}
