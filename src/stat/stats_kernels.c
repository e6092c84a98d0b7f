/*
 * Four accumulators of each kind hide the latency of additions. Every few rounds they are added up with
 * compensation (Knuth's two-sum), so that at most 16 numbers per lane are summed plainly: NumPy's pairwise
 * summation has as many, and roundings of partial sums on top. Comparisons with NaN are false, so that a NaN
 * is neither less nor greater, and neither finite nor zero. Whatever an item's type, the doubles of a chunk
 * take the same way, so that a type that is widened first has the same results.
 */
#include "stats.h"

enum { NVECTORS = 4, NROUNDS = 16 };

static inline void stats_two_sum(double *high, double *low, double x) {
    double sum = *high + x, part = sum - *high;
    *low += (*high - (sum - part)) + (x - part);
    *high = sum;
}

/* Steps are parts of loops whose accumulators stay in registers. */
#define STATS_INLINE STATS_TARGET static inline __attribute__((always_inline))

#define STATS_TARGET
#define STATS_NBYTES        16
#define STATS_LESSER(x, y)  NPYX_LESSER_PORTABLE(x, y)
#define STATS_GREATER(x, y) NPYX_GREATER_PORTABLE(x, y)

#define STATS(word) stats_f64_portable_##word
#define STATS_ITEM  double
#include "stats_kernels_template.h"

#define STATS(word) stats_f32_portable_##word
#define STATS_ITEM  float
#include "stats_kernels_template.h"

/* By type, up to F2. */
static const npyx_stats_kernels *const stats_kernels_portable[NPYX_F2 + 1] = {
    [NPYX_F4] = &stats_f32_portable_kernels, [NPYX_F8] = &stats_f64_portable_kernels};

#ifdef NPYX_AVX2_GREATER
#undef STATS_TARGET
#undef STATS_NBYTES
#undef STATS_LESSER
#undef STATS_GREATER
#define STATS_TARGET        NPYX_WITH_AVX2_FMA
#define STATS_NBYTES        NPYX_AVX2_NBYTES
#define STATS_LESSER(x, y)  NPYX_AVX2_LESSER(x, y)
#define STATS_GREATER(x, y) NPYX_AVX2_GREATER(x, y)

#define STATS(word) stats_f64_avx2_##word
#define STATS_ITEM  double
#include "stats_kernels_template.h"

#define STATS(word)       stats_f32_avx2_##word
#define STATS_ITEM        float
#define STATS_LOAD(items) NPYX_AVX2_LOAD_F32(items)
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

#undef STATS_TARGET
#undef STATS_NBYTES
#undef STATS_LESSER
#undef STATS_GREATER
#define STATS_TARGET        NPYX_WITH_AVX512
#define STATS_NBYTES        NPYX_AVX512_NBYTES
#define STATS_LESSER(x, y)  _mm512_min_pd(x, y)
#define STATS_GREATER(x, y) _mm512_max_pd(x, y)

_Static_assert(NPYX_CHUNK_UNIT % (NPYX_AVX512_NBYTES / 8 * NVECTORS) == 0, "chunks are of whole rounds");

#define STATS(word) stats_f64_avx512_##word
#define STATS_ITEM  double
#include "stats_kernels_template.h"

#define STATS(word)       stats_f32_avx512_##word
#define STATS_ITEM        float
#define STATS_LOAD(items) _mm512_cvtps_pd(_mm256_loadu_ps((const void *)(items)))
#include "stats_kernels_template.h"

#define STATS(word)       stats_f16_avx512_##word
#define STATS_ITEM        uint16_t
#define STATS_LOAD(items) _mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128((const void *)(items))))
#include "stats_kernels_template.h"

static const npyx_stats_kernels *const stats_kernels_avx512[NPYX_F2 + 1] = {
    [NPYX_F2] = &stats_f16_avx512_kernels,
    [NPYX_F4] = &stats_f32_avx512_kernels,
    [NPYX_F8] = &stats_f64_avx512_kernels};

/* clang 14 cannot ask for it: there halves go the way of all other types. */
static inline bool stats_has_f16c(void) {
#ifdef __clang__
    return false;
#else
    return __builtin_cpu_supports("f16c");
#endif
}
#endif

const npyx_stats_kernels *npyx_stats_kernels_of(npyx_type type, npyx_simd simd) {
    if (type > NPYX_F2)
        return NULL;
#ifdef NPYX_AVX2_GREATER
    if (simd == NPYX_SIMD_AVX512) /* has f16c, too */
        return stats_kernels_avx512[type];
    if (simd == NPYX_SIMD_AVX2 && (type != NPYX_F2 || stats_has_f16c()))
        return stats_kernels_avx2[type];
#else
    (void)simd;
#endif
    return stats_kernels_portable[type];
}
