/*
 * The kernels for columns of each type, with each processor's vectors. At most NPYX_COLUMNS_NPLAIN numbers
 * are summed plainly; beyond that, what rounding loses is kept and added in the end.
 */
#include "columns.h"

#define COLUMNS_INLINE COLUMNS_TARGET static inline __attribute__((always_inline))

#define COLUMNS_TARGET
#define COLUMNS_NBYTES        16
#define COLUMNS_LESSER(x, y)  NPYX_LESSER_PORTABLE(x, y)
#define COLUMNS_GREATER(x, y) NPYX_GREATER_PORTABLE(x, y)

#define COLUMNS(word) columns_f64_portable_##word
#define COLUMNS_ITEM  double
#include "columns_kernels_template.h"

#define COLUMNS(word) columns_f32_portable_##word
#define COLUMNS_ITEM  float
#include "columns_kernels_template.h"

#ifdef NPYX_AVX2_GREATER
#undef COLUMNS_TARGET
#undef COLUMNS_NBYTES
#undef COLUMNS_LESSER
#undef COLUMNS_GREATER
#define COLUMNS_TARGET        NPYX_WITH_AVX2_FMA
#define COLUMNS_NBYTES        NPYX_AVX2_NBYTES
#define COLUMNS_LESSER(x, y)  NPYX_AVX2_LESSER(x, y)
#define COLUMNS_GREATER(x, y) NPYX_AVX2_GREATER(x, y)

#define COLUMNS(word) columns_f64_avx2_##word
#define COLUMNS_ITEM  double
#include "columns_kernels_template.h"

#define COLUMNS(word)       columns_f32_avx2_##word
#define COLUMNS_ITEM        float
#define COLUMNS_LOAD(items) NPYX_AVX2_LOAD_F32(items)
#include "columns_kernels_template.h"

#undef COLUMNS_TARGET
#undef COLUMNS_NBYTES
#undef COLUMNS_LESSER
#undef COLUMNS_GREATER
#define COLUMNS_TARGET        NPYX_WITH_AVX512
#define COLUMNS_NBYTES        NPYX_AVX512_NBYTES
#define COLUMNS_LESSER(x, y)  _mm512_min_pd(x, y)
#define COLUMNS_GREATER(x, y) _mm512_max_pd(x, y)

_Static_assert(NPYX_COLUMNS_UNIT == 2 * NPYX_AVX512_NBYTES / 8, "the widest tile is a unit");

#define COLUMNS(word) columns_f64_avx512_##word
#define COLUMNS_ITEM  double
#include "columns_kernels_template.h"

#define COLUMNS(word)       columns_f32_avx512_##word
#define COLUMNS_ITEM        float
#define COLUMNS_LOAD(items) _mm512_cvtps_pd(_mm256_loadu_ps((const void *)(items)))
#include "columns_kernels_template.h"
#endif

const npyx_columns_kernels *npyx_columns_kernels_of(npyx_type type, npyx_simd simd) {
    bool is_f64 = type == NPYX_F8;
    if (!is_f64 && type != NPYX_F4)
        return NULL;
#ifdef NPYX_AVX2_GREATER
    if (simd == NPYX_SIMD_AVX512)
        return is_f64 ? &columns_f64_avx512_kernels : &columns_f32_avx512_kernels;
    if (simd == NPYX_SIMD_AVX2)
        return is_f64 ? &columns_f64_avx2_kernels : &columns_f32_avx2_kernels;
#else
    (void)simd;
#endif
    return is_f64 ? &columns_f64_portable_kernels : &columns_f32_portable_kernels;
}
