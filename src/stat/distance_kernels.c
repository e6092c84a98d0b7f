/* The kernels of each metric, for doubles and floats, with each processor's vectors. */
#include <math.h>

#include "distance.h"

#define DISTANCE_INLINE DISTANCE_TARGET static inline __attribute__((always_inline))

#define DISTANCE_TARGET
#define DISTANCE_NBYTES 16

#define DISTANCE(word) distance_f64_portable_##word
#define DISTANCE_ITEM  double
#include "distance_kernels_template.h"

#define DISTANCE(word) distance_f32_portable_##word
#define DISTANCE_ITEM  float
#include "distance_kernels_template.h"

#ifdef NPYX_AVX2_GREATER
#undef DISTANCE_TARGET
#undef DISTANCE_NBYTES
#define DISTANCE_TARGET NPYX_WITH_AVX2_FMA
#define DISTANCE_NBYTES NPYX_AVX2_NBYTES

#define DISTANCE(word) distance_f64_avx2_##word
#define DISTANCE_ITEM  double
#include "distance_kernels_template.h"

#define DISTANCE(word)       distance_f32_avx2_##word
#define DISTANCE_ITEM        float
#define DISTANCE_LOAD(items) NPYX_AVX2_LOAD_F32(items)
#include "distance_kernels_template.h"

#undef DISTANCE_TARGET
#undef DISTANCE_NBYTES
#define DISTANCE_TARGET NPYX_WITH_AVX512
#define DISTANCE_NBYTES NPYX_AVX512_NBYTES

_Static_assert(NPYX_DISTANCE_UNIT == 4 * NPYX_AVX512_NBYTES / 8, "a round of the widest vectors is a unit");

#define DISTANCE(word) distance_f64_avx512_##word
#define DISTANCE_ITEM  double
#include "distance_kernels_template.h"

#define DISTANCE(word)       distance_f32_avx512_##word
#define DISTANCE_ITEM        float
#define DISTANCE_LOAD(items) _mm512_cvtps_pd(_mm256_loadu_ps((const void *)(items)))
#include "distance_kernels_template.h"
#endif

npyx_distance_kernel *npyx_distance_kernel_of(npyx_metric metric, npyx_type type, npyx_simd simd) {
    bool is_f64 = type == NPYX_F8;
    if (!is_f64 && type != NPYX_F4)
        return NULL;
#ifdef NPYX_AVX2_GREATER
    if (simd == NPYX_SIMD_AVX512)
        return (is_f64 ? distance_f64_avx512_kernels : distance_f32_avx512_kernels)[metric];
    if (simd == NPYX_SIMD_AVX2)
        return (is_f64 ? distance_f64_avx2_kernels : distance_f32_avx2_kernels)[metric];
#else
    (void)simd;
#endif
    return (is_f64 ? distance_f64_portable_kernels : distance_f32_portable_kernels)[metric];
}
