/*
 * Vector kernels are built from one template, once for each kind of vector: GNU C's, which every processor
 * has (16 bytes), AVX2's, and AVX-512's where much is computed per item. The processor is asked which of them
 * to run; the C library keeps its answer.
 */
#ifndef NPYX_SIMD_H
#define NPYX_SIMD_H

#include <stdbool.h>
#include <stdint.h>

/* a_b_c, with macros among them expanded. */
#define NPYX_JOIN(a, b, c)  NPYX_JOIN_(a, b, c)
#define NPYX_JOIN_(a, b, c) a##_##b##_##c
/* a_b_c_d, likewise. */
#define NPYX_JOIN_4(a, b, c, d)  NPYX_JOIN_4_(a, b, c, d)
#define NPYX_JOIN_4_(a, b, c, d) a##_##b##_##c##_##d

/* The best that a processor has, in ascending order. AVX-512 is used only together with VBMI2: processors
 * without that run slower for a while once they have used it. */
typedef enum npyx_simd { NPYX_SIMD_PORTABLE, NPYX_SIMD_AVX2, NPYX_SIMD_AVX512 } npyx_simd;

enum { NPYX_AVX512_NBYTES = 64 }; /* of the widest vectors, wherever this is compiled */

/* Lane by lane: C's isnan accepts no vector. */
#define NPYX_ARE_NAN(x) ((x) != (x))

typedef double npyx_pair __attribute__((vector_size(16)));

static inline void npyx_portable_add_totals(const npyx_pair *x, double *sums) {
    for (int i = 0; i < 4; i++)
        sums[i] += x[i][0] + x[i][1];
}

/*
 * NPYX_WITH_AVX2 marks a function that may use AVX2, and with _FMA multiply and add in one rounding. Where
 * there is no AVX2 these are ordinary kernels, which nothing calls.
 *
 * ADD_TOTALS adds the lanes of four vectors of doubles to a sum each. LESSER and GREATER choose between
 * vectors of doubles lane by lane, and y where one is NaN, as MINPD and MAXPD do. The PORTABLE ones have 16
 * bytes.
 */
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>

#define NPYX_WITH_AVX2 __attribute__((target("avx2")))
/* F16C is used for nothing but halves, whose kernels ask for it. */
#define NPYX_WITH_AVX2_FMA __attribute__((target("avx2,fma,f16c")))
#define NPYX_WITH_AVX512   __attribute__((target("avx512f,avx512dq,f16c")))
enum { NPYX_AVX2_NBYTES = 32 };
static inline npyx_simd npyx_simd_here(void) {
    bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool has_avx512 = __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vbmi2");
    return has_avx2 ? has_avx512 ? NPYX_SIMD_AVX512 : NPYX_SIMD_AVX2 : NPYX_SIMD_PORTABLE;
}

#define NPYX_LESSER_PORTABLE(x, y)  _mm_min_pd(x, y)
#define NPYX_GREATER_PORTABLE(x, y) _mm_max_pd(x, y)
#define NPYX_PAIR_SQRT(x)           _mm_sqrt_pd(x)
#define NPYX_AVX2_LESSER(x, y)      _mm256_min_pd(x, y)
#define NPYX_AVX2_GREATER(x, y)     _mm256_max_pd(x, y)
/* Four items as doubles: gcc 12 splits __builtin_convertvector of these, through memory. */
#define NPYX_AVX2_LOAD_F32(items) _mm256_cvtps_pd(_mm_loadu_ps((const void *)(items)))
#define NPYX_AVX2_LOAD_I32(items) _mm256_cvtepi32_pd(_mm_loadu_si128((const void *)(items)))

/* Adds the lanes of four vectors to a sum each: those of its halves, then of their halves. */
NPYX_WITH_AVX512 static inline void npyx_avx512_add_totals(const __m512d *x, double *sums) {
    const __m512d a = _mm512_shuffle_f64x2(x[0], x[1], 0x44) + _mm512_shuffle_f64x2(x[0], x[1], 0xee);
    const __m512d b = _mm512_shuffle_f64x2(x[2], x[3], 0x44) + _mm512_shuffle_f64x2(x[2], x[3], 0xee);
    const __m512d pairs = _mm512_shuffle_f64x2(a, b, 0x88) + _mm512_shuffle_f64x2(a, b, 0xdd);
    const __m512d totals = pairs + _mm512_permute_pd(pairs, 0x55);
    const __m512d packed = _mm512_permutexvar_pd(_mm512_setr_epi64(0, 2, 4, 6, 0, 2, 4, 6), totals);
    _mm256_storeu_pd(sums, _mm256_loadu_pd(sums) + _mm512_castpd512_pd256(packed));
}
/* gcc makes three instructions of what is two. */
NPYX_WITH_AVX512 static inline __m512i npyx_avx512_add_zeros(__m512i n, __m512d x) {
    return _mm512_mask_sub_epi64(n, _mm512_cmp_pd_mask(x, _mm512_setzero_pd(), _CMP_EQ_OQ), n,
                                 _mm512_set1_epi64(-1));
}
NPYX_WITH_AVX2 static inline void npyx_avx2_add_totals(const __m256d *x, double *sums) {
    const __m256d a = _mm256_permute2f128_pd(x[0], x[1], 0x20) + _mm256_permute2f128_pd(x[0], x[1], 0x31);
    const __m256d b = _mm256_permute2f128_pd(x[2], x[3], 0x20) + _mm256_permute2f128_pd(x[2], x[3], 0x31);
    const __m256d totals = _mm256_unpacklo_pd(a, b) + _mm256_unpackhi_pd(a, b);
    _mm256_storeu_pd(sums, _mm256_loadu_pd(sums) + _mm256_permute4x64_pd(totals, 0xd8));
}
#define NPYX_BY_SIMD(simd, portable, avx2, avx512)                                                           \
    ((simd) == NPYX_SIMD_AVX512 ? (avx512) : (simd) == NPYX_SIMD_AVX2 ? (avx2) : (portable))
#else
#define NPYX_BY_SIMD(simd, portable, avx2, avx512) ((void)(simd), (portable))
#define NPYX_WITH_AVX2
enum { NPYX_AVX2_NBYTES = 16 };
static inline npyx_simd npyx_simd_here(void) {
    return NPYX_SIMD_PORTABLE;
}

typedef int64_t npyx_pair_mask __attribute__((vector_size(16)));

static inline npyx_pair npyx_pair_choose(npyx_pair_mask mask, npyx_pair x, npyx_pair y) {
    return (npyx_pair)(((npyx_pair_mask)x & mask) | ((npyx_pair_mask)y & ~mask));
}

#define NPYX_LESSER_PORTABLE(x, y)  npyx_pair_choose((npyx_pair_mask)((x) < (y)), x, y)
#define NPYX_GREATER_PORTABLE(x, y) npyx_pair_choose((npyx_pair_mask)((x) > (y)), x, y)
#define NPYX_PAIR_SQRT(x)           ((npyx_pair){__builtin_sqrt((x)[0]), __builtin_sqrt((x)[1])})
#endif

/* A pointer to what simd_kernels_template.h built under that word for a type of items, for the vectors of
 * simd; NPYX_BY_SIMD chooses among any three. */
#define NPYX_KERNELS(simd, kernels, kind, word)                                                              \
    NPYX_BY_SIMD(simd, &kernels##_##kind##_portable_##word, &kernels##_##kind##_avx2_##word,                 \
                 &kernels##_##kind##_avx512_##word)

#endif
