/*
 * Builds kernels from one template, once for each kind of vector (simd.h) and type of items. Include it with
 *
 *     KERNELS             the first word of the functions' names
 *     KERNEL_TEMPLATE     the template's file, which may use all of the words below
 *     KERNELS_HAVE_I32,
 *     KERNELS_HAVE_F16    defined: for these types, too (portable kernels know no halves)
 *     KERNELS_END_AT_AVX2 defined: none for AVX-512, and no product and sum in one rounding
 *
 * of which all are undefined again at the end. The template is included with
 *
 *     KERNEL(word)        the name of a function: KERNELS_f32_avx2_word
 *     KERNEL_TARGET       an attribute: the processor features it may use
 *     KERNEL_INLINE       the same for a part of a loop whose accumulators stay in registers
 *     KERNEL_NBYTES       of a vector of doubles; such vectors are GNU C's
 *     KERNEL_LESSER(x, y),
 *     KERNEL_GREATER(x, y) of two of them, lane by lane, and y where x is NaN
 *     KERNEL_FUSED(x, y, z) x * y + z, in one rounding where KERNEL_TARGET has that
 *     KERNEL_ADD_TOTALS(x, sums) adds the lanes of x[0] to x[3] to sums[0] to sums[3]
 *     KERNEL_ADD_ZEROS(n, x) n, a KERNEL(masks), and 1 more in each lane where x is 0
 *     KERNEL_ITEM         the type of the items
 *     KERNEL(reals)       a vector of doubles; KERNEL(masks) of 64-bit integers
 *     KERNEL(load)(items) a vector of doubles of the items there
 *
 * and with what most kernels need of vectors: KERNEL(load_reals), KERNEL(magnitude), KERNEL(are_finite) and
 * KERNEL(two_sum) of simd_items_template.h.
 */
#define KERNEL(word)  NPYX_JOIN_4(KERNELS, KERNEL_KIND, KERNEL_VECTOR, word)
#define KERNEL_INLINE KERNEL_TARGET static inline __attribute__((always_inline, unused))

#define KERNEL_VECTOR portable
#define KERNEL_TARGET
#define KERNEL_NBYTES              16
#define KERNEL_LESSER(x, y)        NPYX_LESSER_PORTABLE(x, y)
#define KERNEL_GREATER(x, y)       NPYX_GREATER_PORTABLE(x, y)
#define KERNEL_FUSED(x, y, z)      ((x) * (y) + (z))
#define KERNEL_ADD_TOTALS(x, sums) npyx_portable_add_totals(x, sums)
#define KERNEL_ADD_ZEROS(n, x)     ((n) - (KERNEL(masks))((x) == 0))
#include "simd_types_template.h"

#ifdef NPYX_AVX2_GREATER
#define KERNEL_VECTOR avx2
#ifdef KERNELS_END_AT_AVX2
#define KERNEL_TARGET         NPYX_WITH_AVX2
#define KERNEL_FUSED(x, y, z) ((x) * (y) + (z))
#else
#define KERNEL_TARGET         NPYX_WITH_AVX2_FMA
#define KERNEL_FUSED(x, y, z) _mm256_fmadd_pd(x, y, z)
#endif
#define KERNEL_NBYTES              NPYX_AVX2_NBYTES
#define KERNEL_LESSER(x, y)        NPYX_AVX2_LESSER(x, y)
#define KERNEL_GREATER(x, y)       NPYX_AVX2_GREATER(x, y)
#define KERNEL_ADD_TOTALS(x, sums) npyx_avx2_add_totals(x, sums)
#define KERNEL_ADD_ZEROS(n, x)     ((n) - (KERNEL(masks))((x) == 0))
#define KERNEL_LOAD_F32(items)     NPYX_AVX2_LOAD_F32(items)
#define KERNEL_LOAD_I32(items)     NPYX_AVX2_LOAD_I32(items)
#define KERNEL_LOAD_F16(items)     _mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64((const void *)(items))))
#include "simd_types_template.h"

#if !defined(KERNELS_END_AT_AVX2)
#define KERNEL_VECTOR              avx512
#define KERNEL_TARGET              NPYX_WITH_AVX512
#define KERNEL_NBYTES              NPYX_AVX512_NBYTES
#define KERNEL_LESSER(x, y)        _mm512_min_pd(x, y)
#define KERNEL_GREATER(x, y)       _mm512_max_pd(x, y)
#define KERNEL_FUSED(x, y, z)      _mm512_fmadd_pd(x, y, z)
#define KERNEL_ADD_TOTALS(x, sums) npyx_avx512_add_totals(x, sums)
#define KERNEL_ADD_ZEROS(n, x)     ((KERNEL(masks))npyx_avx512_add_zeros((__m512i)(n), x))
#define KERNEL_LOAD_F32(items)     _mm512_cvtps_pd(_mm256_loadu_ps((const void *)(items)))
#define KERNEL_LOAD_F16(items)     _mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128((const void *)(items))))
#include "simd_types_template.h"
#endif
#endif

#undef KERNEL
#undef KERNEL_INLINE
#undef KERNELS
#undef KERNEL_TEMPLATE
#undef KERNELS_HAVE_I32
#undef KERNELS_HAVE_F16
#undef KERNELS_END_AT_AVX2
