#include "stats.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

/*
 * Four accumulators of each kind hide the latency of additions. Every few rounds they are added up with
 * compensation (Knuth's two-sum), so that no sum is the plain one of more than 16 numbers a lane: NumPy's
 * pairwise summation has as many, and roundings of partial sums on top. Comparisons with NaN are false, so
 * that a NaN is neither less nor greater, and neither finite nor zero. Whatever an item's type, the doubles
 * of a chunk go the same way, so that a type which is widened first has the same answers.
 */
enum { NVECTORS = 4, NROUNDS = 16 };

static inline void stats_two_sum(double *high, double *low, double x) {
    double sum = *high + x, part = sum - *high;
    *low += (*high - (sum - part)) + (x - part);
    *high = sum;
}

/* Steps are parts of loops whose accumulators stay in registers. */
#define STATS_INLINE STATS_TARGET static inline __attribute__((always_inline))

/* x where it is less, y otherwise, also when x is NaN: what MINPD does. */
#if defined(__x86_64__) || defined(__i386__)
#define STATS_LESSER(x, y)  _mm_min_pd(x, y)
#define STATS_GREATER(x, y) _mm_max_pd(x, y)
#else
typedef double stats_pair __attribute__((vector_size(16)));
typedef int64_t stats_pair_mask __attribute__((vector_size(16)));

static inline stats_pair stats_chosen(stats_pair_mask mask, stats_pair x, stats_pair y) {
    return (stats_pair)(((stats_pair_mask)x & mask) | ((stats_pair_mask)y & ~mask));
}

#define STATS_LESSER(x, y)  stats_chosen((stats_pair_mask)((x) < (y)), x, y)
#define STATS_GREATER(x, y) stats_chosen((stats_pair_mask)((x) > (y)), x, y)
#endif

#define STATS_TARGET
#define STATS_NBYTES 16

#define STATS(word) stats_f64_portable_##word
#define STATS_ITEM  double
#include "stats_kernels_template.h"

#define STATS(word) stats_f32_portable_##word
#define STATS_ITEM  float
#include "stats_kernels_template.h"

/* By types, of which F2 is the last here. */
static const npyx_stats_kernels *const stats_kernels_portable[NPYX_F2 + 1] = {
    [NPYX_F4] = &stats_f32_portable_kernels, [NPYX_F8] = &stats_f64_portable_kernels};

#if defined(__x86_64__) || defined(__i386__)
#undef STATS_TARGET
#undef STATS_NBYTES
#undef STATS_LESSER
#undef STATS_GREATER
#define STATS_TARGET        NPYX_WITH_AVX2_FMA
#define STATS_NBYTES        NPYX_AVX2_NBYTES
#define STATS_LESSER(x, y)  _mm256_min_pd(x, y)
#define STATS_GREATER(x, y) _mm256_max_pd(x, y)

#define STATS(word) stats_f64_avx2_##word
#define STATS_ITEM  double
#include "stats_kernels_template.h"

/* gcc 12 widens four floats by __builtin_convertvector through memory. */
#define STATS(word)       stats_f32_avx2_##word
#define STATS_ITEM        float
#define STATS_LOAD(items) _mm256_cvtps_pd(_mm_loadu_ps((const void *)(items)))
#include "stats_kernels_template.h"

#undef STATS_TARGET
#define STATS_TARGET      __attribute__((target("avx2,fma,f16c")))
#define STATS(word)       stats_f16_avx2_##word
#define STATS_ITEM        uint16_t
#define STATS_LOAD(items) _mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64((const void *)(items))))
#include "stats_kernels_template.h"

static const npyx_stats_kernels *const stats_kernels_avx2[NPYX_F2 + 1] = {[NPYX_F2] = &stats_f16_avx2_kernels,
                                                                          [NPYX_F4] = &stats_f32_avx2_kernels,
                                                                          [NPYX_F8] =
                                                                              &stats_f64_avx2_kernels};

/* clang 14 cannot ask for it: there halves go the way of all other types. */
static inline bool stats_has_f16c(void) {
#ifdef __clang__
    return false;
#else
    return __builtin_cpu_supports("f16c");
#endif
}
#endif

const npyx_stats_kernels *npyx_stats_kernels_of(npyx_type type, bool has_avx2) {
    if (type > NPYX_F2)
        return NULL;
#if defined(__x86_64__) || defined(__i386__)
    if (has_avx2 && (type != NPYX_F2 || stats_has_f16c()))
        return stats_kernels_avx2[type];
#else
    (void)has_avx2;
#endif
    return stats_kernels_portable[type];
}
