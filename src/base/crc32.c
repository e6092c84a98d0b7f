/*
 * CRC-32 by folding (Gopal and others, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ",
 * Intel, 2009).
 *
 * A CRC is the remainder of a polynomial with coefficients of 0 and 1, the message, modulo P. What stands d
 * bits further in front counts times x^d, and x^d can be replaced by its own remainder. So 64 bits of the
 * message, times the constant x^d mod P, can be added to those d bits behind them without a change of the
 * CRC:
 *
 *     |  lane 0  |  lane 1  |  lane 2  |  lane 3  |  lane 0' |  lane 1' | ...      16 bytes a lane
 *          |                                           ^
 *          +---- low * x^(512+32), high * x^(512-32) --+
 *
 * Four lanes keep the multiplier busy. In the end one lane is left, of the same CRC as all that was folded
 * into it, and goes to zlib in front of the last bytes. The 32 in the exponents, and one place more, come of
 * the reflected order of the bits.
 *
 * With VPCLMULQDQ a lane is 32 or 64 bytes: two or four of 16, each folded for itself, so much further.
 */
#include "crc32.h"

#include <stdbool.h>

#include <zlib.h>

/* From x^0, which reflected is the highest of 32 bits, one place at a time: times x is a shift down by one,
 * and what falls off is replaced by its remainder, P without x^32. tests/unit/test_crc32.c goes that way. */
const npyx_crc32_distance npyx_crc32_distances[NPYX_CRC32_NDISTANCES] = {
    {128, {0x1751997d0u, 0x0ccaa009eu}},  {256, {0x0f1da05aau, 0x15a546366u}},
    {512, {0x154442bd4u, 0x1c6e41596u}},  {1024, {0x1e88ef372u, 0x14a7fe880u}},
    {2048, {0x11542778au, 0x1322d1430u}},
};

enum { FOLD_BY_128, FOLD_BY_256, FOLD_BY_512, FOLD_BY_1024, FOLD_BY_2048 };

static uint32_t crc32_of_zlib(uint32_t crc, const uint8_t *bytes, size_t nbytes) {
    return (uint32_t)crc32_z(crc, bytes, nbytes);
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define FOLD_128_TARGET __attribute__((target("pclmul,sse2")))
typedef __m128i fold_128_lane;

static inline bool has_fold_128(void) {
    return __builtin_cpu_supports("pclmul");
}

FOLD_128_TARGET static inline fold_128_lane fold_128_load(const void *bytes) {
    return _mm_loadu_si128(bytes);
}

FOLD_128_TARGET static inline void fold_128_store(void *bytes, fold_128_lane lane) {
    _mm_storeu_si128(bytes, lane);
}

FOLD_128_TARGET static inline fold_128_lane fold_128_add(fold_128_lane a, fold_128_lane b) {
    return _mm_xor_si128(a, b);
}

/* low of the lane times low of the factors, and high times high, added. */
FOLD_128_TARGET static inline fold_128_lane fold_128_multiply(fold_128_lane lane, fold_128_lane factors) {
    return _mm_xor_si128(_mm_clmulepi64_si128(lane, factors, 0x00),
                         _mm_clmulepi64_si128(lane, factors, 0x11));
}

#define FOLD_256_TARGET __attribute__((target("vpclmulqdq,avx2,pclmul")))
typedef __m256i fold_256_lane;

FOLD_256_TARGET static inline fold_256_lane fold_256_load(const void *bytes) {
    return _mm256_loadu_si256(bytes);
}

FOLD_256_TARGET static inline void fold_256_store(void *bytes, fold_256_lane lane) {
    _mm256_storeu_si256(bytes, lane);
}

FOLD_256_TARGET static inline fold_256_lane fold_256_add(fold_256_lane a, fold_256_lane b) {
    return _mm256_xor_si256(a, b);
}

/* As of 128 bits, in each half. */
FOLD_256_TARGET static inline fold_256_lane fold_256_multiply(fold_256_lane lane, fold_256_lane factors) {
    return _mm256_xor_si256(_mm256_clmulepi64_epi128(lane, factors, 0x00),
                            _mm256_clmulepi64_epi128(lane, factors, 0x11));
}

FOLD_256_TARGET static inline fold_256_lane fold_256_factors(int distance) {
    const void *factors = npyx_crc32_distances[distance].factors;
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(factors));
}

#define FOLD_512_TARGET __attribute__((target("vpclmulqdq,avx512f,avx2,pclmul")))
typedef __m512i fold_512_lane;

FOLD_512_TARGET static inline fold_512_lane fold_512_load(const void *bytes) {
    return _mm512_loadu_si512(bytes);
}

FOLD_512_TARGET static inline void fold_512_store(void *bytes, fold_512_lane lane) {
    _mm512_storeu_si512(bytes, lane);
}

FOLD_512_TARGET static inline fold_512_lane fold_512_add(fold_512_lane a, fold_512_lane b) {
    return _mm512_xor_si512(a, b);
}

/* As of 128 bits, in each quarter. */
FOLD_512_TARGET static inline fold_512_lane fold_512_multiply(fold_512_lane lane, fold_512_lane factors) {
    return _mm512_xor_si512(_mm512_clmulepi64_epi128(lane, factors, 0x00),
                            _mm512_clmulepi64_epi128(lane, factors, 0x11));
}

FOLD_512_TARGET static inline fold_512_lane fold_512_factors(int distance) {
    const void *factors = npyx_crc32_distances[distance].factors;
    return _mm512_broadcast_i32x4(_mm_loadu_si128(factors));
}

#elif defined(__aarch64__) && defined(__GNUC__) && !defined(__AARCH64EB__)
#include <arm_neon.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif

#ifdef __clang__
#define FOLD_128_TARGET __attribute__((target("aes")))
#else
#define FOLD_128_TARGET __attribute__((target("+crypto")))
#endif
typedef uint64x2_t fold_128_lane;

static inline bool has_fold_128(void) {
#ifdef __linux__
    enum { HWCAP_OF_PMULL = 1 << 4 }; /* the kernel's HWCAP_PMULL */
    return (getauxval(AT_HWCAP) & HWCAP_OF_PMULL) != 0;
#else
    return true; /* every 64-bit processor of Apple's */
#endif
}

FOLD_128_TARGET static inline fold_128_lane fold_128_load(const void *bytes) {
    return vreinterpretq_u64_u8(vld1q_u8(bytes));
}

FOLD_128_TARGET static inline void fold_128_store(void *bytes, fold_128_lane lane) {
    vst1q_u8(bytes, vreinterpretq_u8_u64(lane));
}

FOLD_128_TARGET static inline fold_128_lane fold_128_add(fold_128_lane a, fold_128_lane b) {
    return veorq_u64(a, b);
}

FOLD_128_TARGET static inline fold_128_lane fold_128_multiply(fold_128_lane lane, fold_128_lane factors) {
    poly64x2_t a = vreinterpretq_p64_u64(lane), b = vreinterpretq_p64_u64(factors);
    return veorq_u64(vreinterpretq_u64_p128(vmull_p64(vgetq_lane_p64(a, 0), vgetq_lane_p64(b, 0))),
                     vreinterpretq_u64_p128(vmull_high_p64(a, b)));
}
#endif

#ifdef FOLD_128_TARGET
FOLD_128_TARGET static inline fold_128_lane fold_128_factors(int distance) {
    return fold_128_load(npyx_crc32_distances[distance].factors);
}

#define FOLD_TARGET        FOLD_128_TARGET
#define FOLD(word)         fold_128_##word
#define FOLD_BY_ONE_LANE   FOLD_BY_128
#define FOLD_BY_FOUR_LANES FOLD_BY_512
#define FOLD_REST          crc32_of_zlib
#include "crc32_fold_template.h"
#endif

#ifdef FOLD_256_TARGET
#define FOLD_TARGET        FOLD_256_TARGET
#define FOLD(word)         fold_256_##word
#define FOLD_BY_ONE_LANE   FOLD_BY_256
#define FOLD_BY_FOUR_LANES FOLD_BY_1024
#define FOLD_REST          fold_128_kernel
#include "crc32_fold_template.h"

#define FOLD_TARGET        FOLD_512_TARGET
#define FOLD(word)         fold_512_##word
#define FOLD_BY_ONE_LANE   FOLD_BY_512
#define FOLD_BY_FOUR_LANES FOLD_BY_2048
#define FOLD_REST          fold_256_kernel
#include "crc32_fold_template.h"
#endif

npyx_crc32_kernel *npyx_crc32_kernel_of(npyx_crc32_way way) {
#ifdef FOLD_256_TARGET
    bool has_wide = __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx2");
    if (way == NPYX_CRC32_FOLD_512)
        return has_wide && __builtin_cpu_supports("avx512f") ? fold_512_kernel : NULL;
    if (way == NPYX_CRC32_FOLD_256)
        return has_wide ? fold_256_kernel : NULL;
#endif
#ifdef FOLD_128_TARGET
    if (way == NPYX_CRC32_FOLD_128)
        return has_fold_128() ? fold_128_kernel : NULL;
#endif
    return way == NPYX_CRC32_PORTABLE ? crc32_of_zlib : NULL;
}

uint32_t npyx_crc32(uint32_t crc, const uint8_t *bytes, size_t nbytes) {
    npyx_crc32_kernel *kernel = NULL;
    for (int way = NPYX_CRC32_NWAYS - 1; kernel == NULL; way--)
        kernel = npyx_crc32_kernel_of((npyx_crc32_way)way);
    return kernel(crc, bytes, nbytes);
}

uint32_t npyx_crc32_join(uint32_t before, uint32_t behind, int64_t behind_nbytes) {
    return (uint32_t)crc32_combine(before, behind, (z_off_t)behind_nbytes);
}
