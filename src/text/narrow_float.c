#include "narrow_float.h"

/* Inlined into one function per format, so that the compiler knows the format's numbers: with so many formats
 * it would not do so unasked. */
#define NARROW_INLINE static inline __attribute__((always_inline))

NARROW_INLINE float narrow_to_f32(npyx_narrow format, uint32_t bits) {
    const bool is_signed = format.kind != NPYX_NARROW_FNU;
    const uint32_t sign_bit = is_signed ? 1u << (format.nbits - 1) : 0;
    uint32_t sign = is_signed ? (bits & sign_bit) << (32 - format.nbits) : 0;
    uint32_t magnitude = bits & ~sign_bit;
    uint32_t exponent = npyx_narrow_exponent(&format);
    if (format.nbits - format.fraction_nbits == 9) /* the upper half of a float32 */
        return npyx_f32_of_bits(bits << 16);
    if (format.kind == NPYX_NARROW_IEEE && magnitude >= exponent) /* infinity and NaN keep the exponent */
        return npyx_f32_of_bits(sign | 0x7f800000 | (magnitude & ~exponent) << (23 - format.fraction_nbits));
    if ((format.kind == NPYX_NARROW_FN && magnitude == 0x7f) ||
        (format.kind == NPYX_NARROW_FNUZ && bits == 0x80) || (format.kind == NPYX_NARROW_FNU && bits == 0xff))
        return npyx_f32_of_bits(sign | 0x7fc00000);
    if (magnitude >> format.fraction_nbits != 0)
        return npyx_f32_of_bits(
            sign | ((magnitude << (23 - format.fraction_nbits)) + ((uint32_t)(127 - format.bias) << 23)));
    if (format.kind == NPYX_NARROW_FNU)
        return 0x1p-127f;
    /* Subnormal. Computed from an integer, not a float32 subnormal, which a host that flushes those to zero
     * would lose. */
    float value = (float)(int32_t)magnitude *
                  npyx_f32_of_bits((uint32_t)(128 - format.bias - format.fraction_nbits) << 23);
    return sign != 0 ? -value : value;
}

/* A significand without its lowest cut_nbits, 1 to 64 of them, rounded to nearest, ties to even. */
NARROW_INLINE uint64_t round_significand(uint64_t significand, unsigned cut_nbits) {
    uint64_t kept = cut_nbits == 64 ? 0 : significand >> cut_nbits;
    uint64_t half = (uint64_t)1 << (cut_nbits - 1);
    uint64_t cut = significand & (half | (half - 1));
    return kept + (cut > half || (cut == half && (kept & 1) != 0));
}

double npyx_x87_to_f64(npyx_x87 value) {
    const uint64_t significand = value.significand;
    uint64_t sign = (uint64_t)(value.sign_exponent & 0x8000) << 48;
    int biased_exponent = value.sign_exponent & 0x7fff;
    const uint64_t infinity = (uint64_t)0x7ff << 52;
    if (biased_exponent == 0) /* below 2^-16381 */
        return npyx_f64_of_bits(sign);
    if (significand >> 63 == 0)
        return (double)NAN;
    if (biased_exponent == 0x7fff)
        return significand << 1 == 0 ? npyx_f64_of_bits(sign | infinity) : (double)NAN;

    int exponent = biased_exponent - 16383 + 1023; /* as a double would bias it */
    if (exponent >= 0x7ff)
        return npyx_f64_of_bits(sign | infinity);
    /* 53 of 64 bits are kept; fewer for a subnormal, and none for less than half of the smallest one. */
    unsigned cut_nbits = exponent > 0 ? 11 : 12 - (unsigned)exponent;
    if (cut_nbits > 64)
        return npyx_f64_of_bits(sign);
    /* The integer bit adds one to the exponent, and a carry out of it adds another: up to infinity. */
    uint64_t exponent_bits = exponent > 0 ? (uint64_t)(exponent - 1) << 52 : 0;
    return npyx_f64_of_bits(sign | (exponent_bits + round_significand(significand, cut_nbits)));
}

/* The magnitude of a finite double in a format of fraction_nbits whose smallest normal value is
 * 2^min_exponent, as if its exponents were unlimited: the caller compares it with its infinity. */
NARROW_INLINE uint32_t round_magnitude(uint64_t magnitude, int fraction_nbits, int min_exponent) {
    int exponent = (int)(magnitude >> 52) - 1023;
    uint64_t significand = (magnitude & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
    int below = exponent < min_exponent ? min_exponent - exponent : 0;
    int cut_nbits = 52 - fraction_nbits + below;
    if (cut_nbits > 53) /* less than half of the smallest value, double's own subnormals included */
        return 0;
    /* The hidden bit adds one to the exponent, and a carry out of it adds another. */
    uint64_t exponent_bits = (uint64_t)(exponent + below - min_exponent) << fraction_nbits;
    return (uint32_t)(exponent_bits + round_significand(significand, (unsigned)cut_nbits));
}

/* infinity is the result for values that are too large, nan for NaN: both are magnitudes. */
NARROW_INLINE uint32_t narrow_magnitude(double value, int fraction_nbits, int min_exponent, uint32_t infinity,
                                        uint32_t nan) {
    uint64_t magnitude = npyx_f64_bits(value) & (UINT64_MAX >> 1);
    const uint64_t wide_infinity = (uint64_t)0x7ff << 52;
    if (magnitude > wide_infinity)
        return nan;
    if (magnitude == wide_infinity)
        return infinity;
    uint32_t rounded = round_magnitude(magnitude, fraction_nbits, min_exponent);
    return rounded < infinity ? rounded : infinity;
}

/* The exponent of the nearest power of two, biased by 127; of two equally near, the greater one. */
static uint16_t power_of_two_from_f64(double value) {
    uint64_t bits = npyx_f64_bits(value);
    int exponent = (int)(bits >> 52) - 1023 + (int)(bits >> 51 & 1);
    if (!(value > 0) || exponent > 127)
        return 0xff;
    return (uint16_t)(exponent < -127 ? 0 : exponent + 127);
}

NARROW_INLINE uint16_t narrow_from_f64(npyx_narrow format, double value) {
    const uint32_t exponent = npyx_narrow_exponent(&format);
    if (format.kind == NPYX_NARROW_FNU)
        return power_of_two_from_f64(value);
    uint32_t infinity = format.kind == NPYX_NARROW_IEEE ? exponent
                        : format.kind == NPYX_NARROW_FN ? 0x7f
                                                        : 0x80;
    uint32_t nan = format.kind == NPYX_NARROW_IEEE ? exponent | 1u << (format.fraction_nbits - 1) : infinity;
    uint32_t magnitude = narrow_magnitude(value, format.fraction_nbits, 1 - format.bias, infinity, nan);
    if (format.kind == NPYX_NARROW_FNUZ && (magnitude == 0 || magnitude == infinity))
        return (uint16_t)magnitude;
    return (uint16_t)((uint32_t)(npyx_f64_bits(value) >> 63) << (format.nbits - 1) | magnitude);
}

#define NARROW_FUNCTIONS(type, word, kind, nbits, fraction_nbits, bias)                                      \
    float npyx_##word##_to_f32(uint16_t bits) {                                                              \
        return narrow_to_f32((npyx_narrow){NPYX_NARROW_##kind, nbits, fraction_nbits, bias, NULL, NULL},     \
                             bits);                                                                          \
    }                                                                                                        \
    uint16_t npyx_##word##_from_f64(double value) {                                                          \
        return narrow_from_f64((npyx_narrow){NPYX_NARROW_##kind, nbits, fraction_nbits, bias, NULL, NULL},   \
                               value);                                                                       \
    }
NPYX_NARROWS(NARROW_FUNCTIONS)

#define NARROW_ROW(type, word, kind, nbits, fraction_nbits, bias)                                            \
    {NPYX_NARROW_##kind, nbits, fraction_nbits, bias, npyx_##word##_to_f32, npyx_##word##_from_f64},
const npyx_narrow npyx_narrows[NPYX_NNARROWS] = {NPYX_NARROWS(NARROW_ROW)};

npyx_x87 npyx_x87_from_f64(double value) {
    const uint64_t integer_bit = (uint64_t)1 << 63;
    uint64_t bits = npyx_f64_bits(value);
    int sign = (int)(bits >> 48 & 0x8000), biased_exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    if (biased_exponent == 0x7ff) {
        uint64_t quiet = fraction != 0 ? integer_bit >> 1 : 0;
        return (npyx_x87){integer_bit | quiet | fraction << 11, (uint16_t)(sign | 0x7fff)};
    }
    if (biased_exponent != 0)
        return (npyx_x87){integer_bit | fraction << 11, (uint16_t)(sign | (biased_exponent - 1023 + 16383))};
    if (fraction == 0)
        return (npyx_x87){0, (uint16_t)sign};
    int nzeros = __builtin_clzll(fraction); /* subnormal as a double, normal here */
    return (npyx_x87){fraction << nzeros, (uint16_t)(sign | (63 - nzeros - 1074 + 16383))};
}
