/*
 * CRC-32 by folding (Gopal and others, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", Intel,
 * 2009).
 *
 * A CRC is the remainder of a polynomial with coefficients of 0 and 1, the message, modulo P. Bits d places
 * earlier count times x^d, and x^d can be replaced by its own remainder. So 64 bits of the message, times the
 * constant x^d mod P, can be added to the bits d places later without changing the CRC:
 *
 *     |  lane 0  |  lane 1  |  lane 2  |  lane 3  |  lane 0' |  lane 1' | ...      16 bytes a lane
 *          |                                           ^
 *          +---- low * x^(512+32), high * x^(512-32) --+
 *
 * Four lanes keep the multiplier busy. At the end one lane is left, with the same CRC as everything folded
 * into it, and goes to zlib ahead of the last bytes. The 32 in the exponents, and one more place, come from
 * the reflected bit order.
 *
 * With VPCLMULQDQ a lane is 32 or 64 bytes: two or four of 16, each folded separately, that much further.
 */
#include "crc32.h"

#include <stdbool.h>
#include <string.h>

#include <zlib.h>

/* From x^0, which reflected is the highest of 32 bits, one place at a time: times x is a shift down by one,
 * and the bit that falls off is replaced by its remainder, P without x^32. tests/unit/test_crc32.c computes
 * them this way. */
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

#define HAS_FOLD_128            __builtin_cpu_supports("pclmul")
#define FOLD_TARGET             __attribute__((target("pclmul,sse2")))
#define FOLD_LANE               __m128i
#define FOLD_MULTIPLY(lane, by) (_mm_clmulepi64_si128(lane, by, 0x00) ^ _mm_clmulepi64_si128(lane, by, 0x11))

#elif defined(__aarch64__) && defined(__GNUC__) && !defined(__AARCH64EB__)
#include <arm_neon.h>

#ifdef __linux__
#include <sys/auxv.h>
#define HAS_FOLD_128 ((getauxval(AT_HWCAP) & 1 << 4) != 0) /* the kernel's HWCAP_PMULL */
#else
#define HAS_FOLD_128 true /* every 64-bit Apple processor has it */
#endif
#ifdef __clang__
#define FOLD_TARGET __attribute__((target("aes")))
#else
#define FOLD_TARGET __attribute__((target("+crypto")))
#endif
#define FOLD_LANE               uint64x2_t
#define FOLD_MULTIPLY(lane, by) fold_multiply(vreinterpretq_p64_u64(lane), vreinterpretq_p64_u64(by))

FOLD_TARGET static inline FOLD_LANE fold_multiply(poly64x2_t lane, poly64x2_t by) {
    poly128_t low = vmull_p64(vgetq_lane_p64(lane, 0), vgetq_lane_p64(by, 0));
    return vreinterpretq_u64_p128(low) ^ vreinterpretq_u64_p128(vmull_high_p64(lane, by));
}
#endif

#ifdef HAS_FOLD_128
#define FOLD(word)         fold_128_##word
#define FOLD_BY_ONE_LANE   FOLD_BY_128
#define FOLD_BY_FOUR_LANES FOLD_BY_512
#define FOLD_REST          crc32_of_zlib
#include "crc32_fold_template.h"
#else
#define HAS_FOLD_128    false
#define fold_128_kernel NULL
#endif

#if defined(__x86_64__) && defined(__GNUC__)
#define HAS_FOLD_256 (__builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx2"))
#define FOLD(word)   fold_256_##word
#define FOLD_TARGET  __attribute__((target("vpclmulqdq,avx2,pclmul")))
#define FOLD_LANE    __m256i
#define FOLD_MULTIPLY(lane, by)                                                                              \
    (_mm256_clmulepi64_epi128(lane, by, 0x00) ^ _mm256_clmulepi64_epi128(lane, by, 0x11))
#define FOLD_BY_ONE_LANE   FOLD_BY_256
#define FOLD_BY_FOUR_LANES FOLD_BY_1024
#define FOLD_REST          fold_128_kernel
#include "crc32_fold_template.h"

#define HAS_FOLD_512 (HAS_FOLD_256 && __builtin_cpu_supports("avx512f"))
#define FOLD(word)   fold_512_##word
#define FOLD_TARGET  __attribute__((target("vpclmulqdq,avx512f,avx2,pclmul")))
#define FOLD_LANE    __m512i
#define FOLD_MULTIPLY(lane, by)                                                                              \
    (_mm512_clmulepi64_epi128(lane, by, 0x00) ^ _mm512_clmulepi64_epi128(lane, by, 0x11))
#define FOLD_BY_ONE_LANE   FOLD_BY_512
#define FOLD_BY_FOUR_LANES FOLD_BY_2048
#define FOLD_REST          fold_256_kernel
#include "crc32_fold_template.h"
#else
#define HAS_FOLD_256    false
#define HAS_FOLD_512    false
#define fold_256_kernel NULL
#define fold_512_kernel NULL
#endif

npyx_crc32_kernel *npyx_crc32_kernel_of(npyx_crc32_way way) {
    switch (way) {
    case NPYX_CRC32_FOLD_512: return HAS_FOLD_512 ? fold_512_kernel : NULL;
    case NPYX_CRC32_FOLD_256: return HAS_FOLD_256 ? fold_256_kernel : NULL;
    case NPYX_CRC32_FOLD_128: return HAS_FOLD_128 ? fold_128_kernel : NULL;
    default: return crc32_of_zlib;
    }
}

uint32_t npyx_crc32(uint32_t crc, const uint8_t *bytes, size_t nbytes) {
    npyx_crc32_kernel *kernel = NULL;
    for (int way = NPYX_CRC32_NWAYS - 1; kernel == NULL; way--)
        kernel = npyx_crc32_kernel_of((npyx_crc32_way)way);
    return kernel(crc, bytes, nbytes);
}

uint32_t npyx_crc32_join(uint32_t before, uint32_t after, int64_t after_nbytes) {
    return (uint32_t)crc32_combine(before, after, (z_off_t)after_nbytes);
}
