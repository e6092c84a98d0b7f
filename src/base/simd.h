/*
 * Kernels for vectors are made twice of one template, of GNU C's vectors that every processor has (16 bytes)
 * and of those of AVX2. Which of them run is a question to the processor, whose answer the C library keeps.
 */
#ifndef NPYX_SIMD_H
#define NPYX_SIMD_H

#include <stdbool.h>

/* a_b_c, of what the macros among them stand for. */
#define NPYX_JOIN(a, b, c)  NPYX_JOIN_(a, b, c)
#define NPYX_JOIN_(a, b, c) a##_##b##_##c

/* Behind NPYX_WITH_AVX2 stands a function that may use it, and with _FMA multiply and add in one rounding.
 * Where there is no AVX2 these are kernels as all others, which nothing calls. */
#if defined(__x86_64__) || defined(__i386__)
#define NPYX_WITH_AVX2     __attribute__((target("avx2")))
#define NPYX_WITH_AVX2_FMA __attribute__((target("avx2,fma")))
enum { NPYX_AVX2_NBYTES = 32 };
static inline bool npyx_has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
#define NPYX_WITH_AVX2
#define NPYX_WITH_AVX2_FMA
enum { NPYX_AVX2_NBYTES = 16 };
static inline bool npyx_has_avx2(void) {
    return false;
}
#endif

#endif
