/*
 * Kernels for vectors are made of one template for each kind of vectors: GNU C's that every processor has (16
 * bytes), those of AVX2, and where much is computed of an item those of AVX-512. Which of them run is a
 * question to the processor, whose answer the C library keeps.
 */
#ifndef NPYX_SIMD_H
#define NPYX_SIMD_H

#include <stdbool.h>
#include <stdint.h>

/* a_b_c, of what the macros among them stand for. */
#define NPYX_JOIN(a, b, c)  NPYX_JOIN_(a, b, c)
#define NPYX_JOIN_(a, b, c) a##_##b##_##c

/* The best that a processor has, in their order. AVX-512 is taken from where it has VBMI2, too: processors
 * before those run slower for a while once they have used it. */
typedef enum npyx_simd { NPYX_SIMD_PORTABLE, NPYX_SIMD_AVX2, NPYX_SIMD_AVX512 } npyx_simd;

/* Of a vector, lane by lane: C's isnan takes none. */
#define NPYX_ARE_NAN(x) ((x) != (x))

/*
 * Behind NPYX_WITH_AVX2 stands a function that may use it, and with _FMA multiply and add in one rounding.
 * Where there is no AVX2 these are kernels as all others, which nothing calls.
 *
 * LESSER and GREATER choose between vectors of doubles lane by lane, and y where one is NaN: what MINPD and
 * MAXPD do. The PORTABLE ones are of 16 bytes.
 */
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>

#define NPYX_WITH_AVX2     __attribute__((target("avx2")))
#define NPYX_WITH_AVX2_FMA __attribute__((target("avx2,fma")))
#define NPYX_WITH_AVX512   __attribute__((target("avx512f,avx512dq,f16c")))
enum { NPYX_AVX2_NBYTES = 32, NPYX_AVX512_NBYTES = 64 };
static inline npyx_simd npyx_simd_here(void) {
    bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool has_avx512 = __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vbmi2");
    return has_avx2 ? has_avx512 ? NPYX_SIMD_AVX512 : NPYX_SIMD_AVX2 : NPYX_SIMD_PORTABLE;
}

#define NPYX_LESSER_PORTABLE(x, y)  _mm_min_pd(x, y)
#define NPYX_GREATER_PORTABLE(x, y) _mm_max_pd(x, y)
#define NPYX_AVX2_LESSER(x, y)      _mm256_min_pd(x, y)
#define NPYX_AVX2_GREATER(x, y)     _mm256_max_pd(x, y)
/* Four items as doubles: gcc 12 takes __builtin_convertvector of these apart, through memory. */
#define NPYX_AVX2_LOAD_F32(items) _mm256_cvtps_pd(_mm_loadu_ps((const void *)(items)))
#define NPYX_AVX2_LOAD_I32(items) _mm256_cvtepi32_pd(_mm_loadu_si128((const void *)(items)))
#else
#define NPYX_WITH_AVX2
enum { NPYX_AVX2_NBYTES = 16 };
static inline npyx_simd npyx_simd_here(void) {
    return NPYX_SIMD_PORTABLE;
}

typedef double npyx_pair __attribute__((vector_size(16)));
typedef int64_t npyx_pair_mask __attribute__((vector_size(16)));

static inline npyx_pair npyx_pair_choose(npyx_pair_mask mask, npyx_pair x, npyx_pair y) {
    return (npyx_pair)(((npyx_pair_mask)x & mask) | ((npyx_pair_mask)y & ~mask));
}

#define NPYX_LESSER_PORTABLE(x, y)  npyx_pair_choose((npyx_pair_mask)((x) < (y)), x, y)
#define NPYX_GREATER_PORTABLE(x, y) npyx_pair_choose((npyx_pair_mask)((x) > (y)), x, y)
#endif

#endif
