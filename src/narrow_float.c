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

static inline uint64_t bits_of_double(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
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

/* The magnitude of a finite double in a format of fraction_nbits whose smallest normal value is
 * 2^min_exponent, as if its exponents had no end: the caller compares it with its infinity. */
static inline uint32_t round_magnitude(uint64_t magnitude, int fraction_nbits, int min_exponent) {
    int exponent = (int)(magnitude >> 52) - 1023;
    uint64_t significand = (magnitude & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
    int below = exponent < min_exponent ? min_exponent - exponent : 0;
    int cut_nbits = 52 - fraction_nbits + below;
    if (cut_nbits > 53) /* less than half the smallest value; double's own subnormals among them */
        return 0;
    uint64_t kept = significand >> cut_nbits;
    uint64_t half = (uint64_t)1 << (cut_nbits - 1);
    uint64_t cut = significand & (half | (half - 1));
    uint64_t round_up = cut > half || (cut == half && (kept & 1) != 0);
    /* The hidden bit of kept adds one to the exponent, and a carry out of it one more. */
    uint64_t exponent_bits = (uint64_t)(exponent + below - min_exponent) << fraction_nbits;
    return (uint32_t)(exponent_bits + kept + round_up);
}

/* infinity is what too large values become, nan what NaN does: magnitudes both. */
static inline uint32_t narrow(double value, int fraction_nbits, int min_exponent, uint32_t infinity,
                              uint32_t nan) {
    uint64_t magnitude = bits_of_double(value) & (UINT64_MAX >> 1);
    const uint64_t wide_infinity = (uint64_t)0x7ff << 52;
    if (magnitude > wide_infinity)
        return nan;
    if (magnitude == wide_infinity)
        return infinity;
    uint32_t rounded = round_magnitude(magnitude, fraction_nbits, min_exponent);
    return rounded < infinity ? rounded : infinity;
}

static inline uint32_t sign_of(double value) {
    return (uint32_t)(bits_of_double(value) >> 63);
}

uint16_t npyx_f16_from_f64(double value) {
    return (uint16_t)(sign_of(value) << 15 | narrow(value, 10, -14, 0x7c00, 0x7e00));
}

uint16_t npyx_bfloat16_from_f64(double value) {
    return (uint16_t)(sign_of(value) << 15 | narrow(value, 7, -126, 0x7f80, 0x7fc0));
}

uint8_t npyx_e4m3fn_from_f64(double value) {
    return (uint8_t)(sign_of(value) << 7 | narrow(value, 3, -6, 0x7f, 0x7f));
}

uint8_t npyx_e5m2_from_f64(double value) {
    return (uint8_t)(sign_of(value) << 7 | narrow(value, 2, -14, 0x7c, 0x7e));
}

void npyx_x87_from_f64(double value, uint64_t *significand, uint16_t *sign_exponent) {
    uint64_t bits = bits_of_double(value);
    uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    int biased_exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    const uint64_t integer_bit = (uint64_t)1 << 63;
    if (biased_exponent == 0x7ff) {
        uint64_t quiet = fraction != 0 ? integer_bit >> 1 : 0;
        *significand = integer_bit | quiet | fraction << 11;
        *sign_exponent = sign | 0x7fff;
    } else if (biased_exponent != 0) {
        *significand = integer_bit | fraction << 11;
        *sign_exponent = (uint16_t)(sign | (biased_exponent - 1023 + 16383));
    } else if (fraction != 0) { /* subnormal in a double, normal here */
        int nzeros = __builtin_clzll(fraction);
        *significand = fraction << nzeros;
        *sign_exponent = (uint16_t)(sign | (63 - nzeros - 1074 + 16383));
    } else {
        *significand = 0;
        *sign_exponent = sign;
    }
}
