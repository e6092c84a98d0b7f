#include "narrow_float.h"

#include <math.h>
#include <string.h>

static inline float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double double_of_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float npyx_f16_to_f32(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
    uint32_t magnitude = bits & 0x7fff;
    uint32_t wide;
    if (magnitude >= 0x7c00) { /* infinity and NaN keep the highest exponent */
        wide = 0x7f800000 | (magnitude & 0x3ff) << 13;
    } else if (magnitude >= 0x400) {
        wide = (magnitude << 13) + ((uint32_t)(127 - 15) << 23);
    } else {
        /* Multiples of 2^-24. From an integer and not from a float32 subnormal, which a host that flushes
         * those to zero would lose. */
        float value = (float)(int32_t)magnitude * 0x1p-24f;
        memcpy(&wide, &value, sizeof wide);
    }
    return float_of_bits(sign | wide);
}

/* The upper half of a float32. */
float npyx_bfloat16_to_f32(uint16_t bits) {
    return float_of_bits((uint32_t)bits << 16);
}

float npyx_e4m3fn_to_f32(uint8_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x80) << 24;
    uint32_t magnitude = bits & 0x7f;
    uint32_t wide;
    if (magnitude == 0x7f) {
        wide = 0x7fc00000;
    } else if (magnitude >= 8) {
        wide = (magnitude << 20) + ((uint32_t)(127 - 7) << 23);
    } else {
        float value = (float)(int32_t)magnitude * 0x1p-9f;
        memcpy(&wide, &value, sizeof wide);
    }
    return float_of_bits(sign | wide);
}

/* The upper half of a float16. */
float npyx_e5m2_to_f32(uint8_t bits) {
    return npyx_f16_to_f32((uint16_t)(bits << 8));
}

double npyx_x87_to_f64(uint64_t significand, uint16_t sign_exponent) {
    uint64_t sign = (uint64_t)(sign_exponent & 0x8000) << 48;
    int biased_exponent = sign_exponent & 0x7fff;
    const uint64_t infinity = (uint64_t)0x7ff << 52;
    if (biased_exponent == 0) /* below 2^-16381 */
        return double_of_bits(sign);
    if (significand >> 63 == 0)
        return (double)NAN;
    if (biased_exponent == 0x7fff)
        return significand << 1 == 0 ? double_of_bits(sign | infinity) : (double)NAN;

    int exponent = biased_exponent - 16383 + 1023; /* as a double would bias it */
    if (exponent >= 0x7ff)
        return double_of_bits(sign | infinity);
    /* 53 of 64 bits are kept; fewer of a subnormal, and of less than half the smallest one none. */
    unsigned cut_nbits = exponent > 0 ? 11 : 12 - (unsigned)exponent;
    if (cut_nbits > 64)
        return double_of_bits(sign);
    uint64_t kept = cut_nbits == 64 ? 0 : significand >> cut_nbits;
    uint64_t half = (uint64_t)1 << (cut_nbits - 1);
    uint64_t cut = significand & (half | (half - 1));
    uint64_t round_up = cut > half || (cut == half && (kept & 1) != 0);
    /* The integer bit of kept adds one to the exponent, and a carry out of it one more: up to infinity. */
    uint64_t exponent_bits = exponent > 0 ? (uint64_t)(exponent - 1) << 52 : 0;
    return double_of_bits(sign | (exponent_bits + kept + round_up));
}
