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
 */
#include "crc32.h"

#include <zlib.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define FOLDS       1
#define FOLD_TARGET __attribute__((target("pclmul,sse2")))
typedef __m128i fold_lane;

static inline int can_fold(void) {
    return __builtin_cpu_supports("pclmul");
}

FOLD_TARGET static inline fold_lane fold_load(const void *bytes) {
    return _mm_loadu_si128(bytes);
}

FOLD_TARGET static inline void fold_store(void *bytes, fold_lane lane) {
    _mm_storeu_si128(bytes, lane);
}

FOLD_TARGET static inline fold_lane fold_add(fold_lane a, fold_lane b) {
    return _mm_xor_si128(a, b);
}

/* low of the lane times low of the constants, and high times high, added. */
FOLD_TARGET static inline fold_lane fold_multiply(fold_lane lane, fold_lane constants) {
    return _mm_xor_si128(_mm_clmulepi64_si128(lane, constants, 0x00),
                         _mm_clmulepi64_si128(lane, constants, 0x11));
}

#elif defined(__aarch64__) && defined(__GNUC__) && !defined(__AARCH64EB__)
#include <arm_neon.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif

#define FOLDS 1
#ifdef __clang__
#define FOLD_TARGET __attribute__((target("aes")))
#else
#define FOLD_TARGET __attribute__((target("+crypto")))
#endif
typedef uint64x2_t fold_lane;

static inline int can_fold(void) {
#ifdef __linux__
    enum { HWCAP_OF_PMULL = 1 << 4 }; /* the kernel's HWCAP_PMULL */
    return (getauxval(AT_HWCAP) & HWCAP_OF_PMULL) != 0;
#else
    return 1; /* every 64-bit processor of Apple's */
#endif
}

FOLD_TARGET static inline fold_lane fold_load(const void *bytes) {
    return vreinterpretq_u64_u8(vld1q_u8(bytes));
}

FOLD_TARGET static inline void fold_store(void *bytes, fold_lane lane) {
    vst1q_u8(bytes, vreinterpretq_u8_u64(lane));
}

FOLD_TARGET static inline fold_lane fold_add(fold_lane a, fold_lane b) {
    return veorq_u64(a, b);
}

FOLD_TARGET static inline fold_lane fold_multiply(fold_lane lane, fold_lane constants) {
    poly64x2_t a = vreinterpretq_p64_u64(lane), b = vreinterpretq_p64_u64(constants);
    return veorq_u64(vreinterpretq_u64_p128(vmull_p64(vgetq_lane_p64(a, 0), vgetq_lane_p64(b, 0))),
                     vreinterpretq_u64_p128(vmull_high_p64(a, b)));
}
#endif

#ifdef FOLDS
enum { LANE_NBYTES = 16, NLANES = 4, FOLD_NBYTES = LANE_NBYTES * NLANES };

/* x^(d+32) and x^(d-32) mod P, bits reflected and moved up by one, for d = 512 and d = 128 bits. */
static const uint64_t by_four_lanes[2] = {0x154442bd4u, 0x1c6e41596u};
static const uint64_t by_one_lane[2] = {0x1751997d0u, 0x0ccaa009eu};

/* Folds whole blocks of four lanes into one lane, whose CRC from a register of zeros is the register of all.
 * nbytes is FOLD_NBYTES at least; what is left behind whole blocks is not looked at. */
FOLD_TARGET static void fold(uint32_t crc_register, const uint8_t *bytes, size_t nbytes,
                             uint8_t folded[LANE_NBYTES]) {
    uint64_t in_front[2] = {crc_register, 0};
    fold_lane four = fold_load(by_four_lanes), one = fold_load(by_one_lane);
    fold_lane lanes[NLANES];
    for (int i = 0; i < NLANES; i++)
        lanes[i] = fold_load(bytes + i * LANE_NBYTES);
    lanes[0] = fold_add(lanes[0], fold_load(in_front));
    for (size_t at = FOLD_NBYTES; at + FOLD_NBYTES <= nbytes; at += FOLD_NBYTES) {
        for (int i = 0; i < NLANES; i++)
            lanes[i] = fold_add(fold_multiply(lanes[i], four), fold_load(bytes + at + i * LANE_NBYTES));
    }
    for (int i = 1; i < NLANES; i++)
        lanes[i] = fold_add(fold_multiply(lanes[i - 1], one), lanes[i]);
    fold_store(folded, lanes[NLANES - 1]);
}
#endif

uint32_t npyx_crc32(uint32_t crc, const uint8_t *bytes, size_t nbytes) {
#ifdef FOLDS
    if (nbytes >= 2 * (size_t)FOLD_NBYTES && can_fold()) {
        uint8_t folded[LANE_NBYTES];
        size_t whole_nbytes = nbytes / FOLD_NBYTES * FOLD_NBYTES;
        fold(~crc, bytes, whole_nbytes, folded);
        /* zlib's register is the complement of what it is given: of zeros for this one */
        crc = (uint32_t)crc32_z(UINT32_MAX, folded, sizeof folded);
        bytes += whole_nbytes;
        nbytes -= whole_nbytes;
    }
#endif
    return (uint32_t)crc32_z(crc, bytes, nbytes);
}

uint32_t npyx_crc32_join(uint32_t before, uint32_t behind, int64_t behind_nbytes) {
    return (uint32_t)crc32_combine(before, behind, (z_off_t)behind_nbytes);
}
