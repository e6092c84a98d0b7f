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

#define KERNELS         stats
#define KERNEL_TEMPLATE "stat/stats_kernels_template.h"
#define KERNELS_HAVE_F16
#include "base/simd_kernels_template.h"

_Static_assert(NPYX_CHUNK_UNIT % (NPYX_AVX512_NBYTES / 8 * NVECTORS) == 0, "chunks are of whole rounds");

#ifdef NPYX_AVX2_GREATER
/* Any processor with AVX-512 widens halves. clang 14 cannot ask for it below that: there halves go the way of
 * all other types. */
static const npyx_stats_kernels *stats_halves(npyx_simd simd) {
#ifdef __clang__
    bool has_f16c = false;
#else
    bool has_f16c = __builtin_cpu_supports("f16c");
#endif
    return NPYX_BY_SIMD(simd, NULL, has_f16c ? &stats_f16_avx2_kernels : NULL, &stats_f16_avx512_kernels);
}
#else
#define stats_halves(simd) NULL
#endif

const npyx_stats_kernels *npyx_stats_kernels_of(npyx_type type, npyx_simd simd) {
    switch (type) {
    case NPYX_F2: return stats_halves(simd);
    case NPYX_F4: return NPYX_KERNELS(simd, stats, f32, kernels);
    case NPYX_F8: return NPYX_KERNELS(simd, stats, f64, kernels);
    default: return NULL;
    }
}
