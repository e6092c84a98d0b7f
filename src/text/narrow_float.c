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

/* Inlined into a function of each format, whose numbers the compiler then knows. */
static inline float float8_to_f32(npyx_float8 format, uint8_t bits) {
    bool is_signed = format.kind != NPYX_FLOAT8_FNU;
    uint32_t sign = is_signed ? (uint32_t)(bits & 0x80) << 24 : 0;
    uint32_t magnitude = is_signed ? bits & 0x7f : bits;
    uint32_t highest = 0x7fu >> format.fraction_nbits << format.fraction_nbits; /* exponent */
    if (format.kind == NPYX_FLOAT8_IEEE && magnitude >= highest) {
        uint32_t fraction = magnitude & ~highest;
        return float_of_bits(sign | 0x7f800000 | fraction << (23 - format.fraction_nbits));
    }
    if ((format.kind == NPYX_FLOAT8_FN && magnitude == 0x7f) ||
        (format.kind == NPYX_FLOAT8_FNUZ && bits == 0x80) || (format.kind == NPYX_FLOAT8_FNU && bits == 0xff))
        return float_of_bits(sign | 0x7fc00000);
    if (magnitude >> format.fraction_nbits != 0)
        return float_of_bits(
            sign | ((magnitude << (23 - format.fraction_nbits)) + ((uint32_t)(127 - format.bias) << 23)));
    if (format.kind == NPYX_FLOAT8_FNU)
        return 0x1p-127f;
    /* Subnormal. From an integer and not from a float32 subnormal, which a host that flushes those to zero
     * would lose. */
    float value = (float)(int32_t)magnitude *
                  float_of_bits((uint32_t)(128 - format.bias - format.fraction_nbits) << 23);
    return sign != 0 ? -value : value;
}

#define TO_F32(type, word, kind, fraction_nbits, bias)                                                       \
    float npyx_##word##_to_f32(uint8_t bits) {                                                               \
        return float8_to_f32((npyx_float8){kind, fraction_nbits, bias}, bits);                               \
    }
NPYX_FLOAT8S(TO_F32)

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
static inline uint32_t narrow_narrow(double value, int fraction_nbits, int min_exponent, uint32_t infinity,
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
    return (uint16_t)(sign_of(value) << 15 | narrow_narrow(value, 10, -14, 0x7c00, 0x7e00));
}

uint16_t npyx_bfloat16_from_f64(double value) {
    return (uint16_t)(sign_of(value) << 15 | narrow_narrow(value, 7, -126, 0x7f80, 0x7fc0));
}

/* The exponent of the nearest power of two, biased by 127; the greater of two that are as near. */
static uint8_t power_of_two_from_f64(double value) {
    uint64_t bits = bits_of_double(value);
    int exponent = (int)(bits >> 52) - 1023 + (int)(bits >> 51 & 1);
    if (!(value > 0) || exponent > 127)
        return 0xff;
    return (uint8_t)(exponent < -127 ? 0 : exponent + 127);
}

static inline uint8_t float8_from_f64(npyx_float8 format, double value) {
    uint32_t sign = sign_of(value) << 7;
    uint32_t highest = 0x7fu >> format.fraction_nbits << format.fraction_nbits;
    int min_exponent = 1 - format.bias;
    switch (format.kind) {
    case NPYX_FLOAT8_IEEE:
        return (uint8_t)(sign | narrow_narrow(value, format.fraction_nbits, min_exponent, highest,
                                              highest | 1u << (format.fraction_nbits - 1)));
    case NPYX_FLOAT8_FN:
        return (uint8_t)(sign | narrow_narrow(value, format.fraction_nbits, min_exponent, 0x7f, 0x7f));
    case NPYX_FLOAT8_FNUZ: {
        uint32_t magnitude = narrow_narrow(value, format.fraction_nbits, min_exponent, 0x80, 0x80);
        return (uint8_t)(magnitude == 0 || magnitude == 0x80 ? magnitude : sign | magnitude);
    }
    default: return power_of_two_from_f64(value);
    }
}

#define FROM_F64(type, word, kind, fraction_nbits, bias)                                                     \
    uint8_t npyx_##word##_from_f64(double value) {                                                           \
        return float8_from_f64((npyx_float8){kind, fraction_nbits, bias}, value);                            \
    }
NPYX_FLOAT8S(FROM_F64)

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
