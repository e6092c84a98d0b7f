/*
 * Integers of 128 bits in two's complement: for exact sums and products of 64-bit ones, and for counts of
 * attoseconds. 32-bit targets have no type for them.
 */
#ifndef NPYX_WIDE_INTEGER_H
#define NPYX_WIDE_INTEGER_H

#include "status.h"

/* Unsigned where a function says so. */
typedef struct npyx_wide {
    uint64_t low;
    uint64_t high;
} npyx_wide;

/* Room for the longest text: a sign and 39 digits. */
enum { NPYX_WIDE_TEXT_NBYTES = 40 };

static inline npyx_wide npyx_wide_of_i64(int64_t value) {
    return (npyx_wide){(uint64_t)value, value < 0 ? UINT64_MAX : 0};
}

static inline npyx_wide npyx_wide_of_u64(uint64_t value) {
    return (npyx_wide){value, 0};
}

static inline bool npyx_wide_is_negative(npyx_wide value) {
    return value.high >> 63 != 0;
}

static inline bool npyx_wide_is_i64(npyx_wide value) {
    return value.high == ((int64_t)value.low < 0 ? UINT64_MAX : 0);
}

/* Modulo 2^128. */
static inline npyx_wide npyx_wide_add(npyx_wide a, npyx_wide b) {
    uint64_t low = a.low + b.low;
    return (npyx_wide){low, a.high + b.high + (low < a.low)};
}

static inline npyx_wide npyx_wide_subtract(npyx_wide a, npyx_wide b) {
    return (npyx_wide){a.low - b.low, a.high - b.high - (a.low < b.low)};
}

/* The product of two unsigned numbers. */
static inline npyx_wide npyx_wide_multiply(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
    unsigned __int128 product = (unsigned __int128)a * b;
    return (npyx_wide){(uint64_t)product, (uint64_t)(product >> 64)};
#else
    uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
    uint64_t low = a_low * b_low;
    uint64_t middle = a_high * b_low + (low >> 32);
    uint64_t other_middle = a_low * b_high + (uint32_t)middle;
    return (npyx_wide){(other_middle << 32) | (uint32_t)low,
                       a_high * b_high + (middle >> 32) + (other_middle >> 32)};
#endif
}

/* Divides an unsigned number and returns the remainder. */
static inline uint32_t npyx_wide_divide_unsigned(npyx_wide *value, uint32_t divisor) {
    uint64_t remainder = 0;
    if (value->high != 0) {
        remainder = value->high % divisor;
        value->high /= divisor;
        uint64_t middle = remainder << 32 | value->low >> 32;
        uint64_t low = (middle % divisor) << 32 | (value->low & UINT32_MAX);
        value->low = (middle / divisor) << 32 | low / divisor;
        return (uint32_t)(low % divisor);
    }
    remainder = value->low % divisor;
    value->low /= divisor;
    return (uint32_t)remainder;
}

/* The same for a signed number, rounding down: the remainder is never negative. n with all bits flipped is -1
 * - n, and rounding that toward zero rounds n down. */
static inline uint32_t npyx_wide_divide(npyx_wide *value, uint32_t divisor) {
    uint64_t flip = npyx_wide_is_negative(*value) ? UINT64_MAX : 0;
    npyx_wide magnitude = {value->low ^ flip, value->high ^ flip};
    uint32_t remainder = npyx_wide_divide_unsigned(&magnitude, divisor);
    *value = (npyx_wide){magnitude.low ^ flip, magnitude.high ^ flip};
    return flip != 0 ? divisor - 1 - remainder : remainder;
}

/* The inverse: multiplies by factor and adds addend, which is below factor. False when the result does not
 * fit. */
static inline bool npyx_wide_scale(npyx_wide *value, uint32_t factor, uint32_t addend) {
    uint64_t flip = npyx_wide_is_negative(*value) ? UINT64_MAX : 0;
    npyx_wide scaled = npyx_wide_add(npyx_wide_multiply(value->low ^ flip, factor),
                                     npyx_wide_of_u64(flip != 0 ? factor - 1 - addend : addend));
    uint64_t high;
    bool fits = !__builtin_mul_overflow(value->high ^ flip, (uint64_t)factor, &high) &&
                !__builtin_add_overflow(high, scaled.high, &high) && high <= INT64_MAX;
    *value = (npyx_wide){scaled.low ^ flip, high ^ flip};
    return fits;
}

/* The magnitude, which always fits an unsigned 128-bit number. */
static inline npyx_wide npyx_wide_magnitude(npyx_wide value) {
    return npyx_wide_is_negative(value) ? npyx_wide_subtract((npyx_wide){0, 0}, value) : value;
}

/* The integer nearest to sum / n, ties to even, where it fits 64 bits: long division, bit by bit. */
static inline int64_t npyx_wide_nearest_quotient(npyx_wide sum, uint64_t n) {
    npyx_wide magnitude = npyx_wide_magnitude(sum);
    uint64_t rest = magnitude.high, quotient = 0; /* rest is below n, or the quotient would not fit */
    for (int bit = 63; bit >= 0; bit--) {
        bool carries = rest >> 63 != 0;
        rest = rest << 1 | (magnitude.low >> bit & 1);
        bool is_in = carries || rest >= n;
        quotient = quotient << 1 | is_in;
        rest -= is_in ? n : 0;
    }
    quotient += rest > n - rest || (rest == n - rest && (quotient & 1) != 0);
    return (int64_t)(npyx_wide_is_negative(sum) ? 0 - quotient : quotient);
}

/* The nearest double, or one next to it. */
static inline double npyx_wide_to_f64(npyx_wide value) {
    npyx_wide magnitude = npyx_wide_magnitude(value);
    double real = (double)magnitude.high * 0x1p64 + (double)magnitude.low;
    return npyx_wide_is_negative(value) ? -real : real;
}

/* Writes the decimal text, without a NUL, and returns its length. */
static inline size_t npyx_wide_text(npyx_wide value, char text[NPYX_WIDE_TEXT_NBYTES]) {
    npyx_wide magnitude = npyx_wide_magnitude(value);
    char digits[NPYX_WIDE_TEXT_NBYTES];
    size_t ndigits = 0, nbytes = 0;
    do { /* last digit first */
        digits[ndigits++] = (char)('0' + npyx_wide_divide_unsigned(&magnitude, 10));
    } while ((magnitude.low | magnitude.high) != 0);
    if (npyx_wide_is_negative(value))
        text[nbytes++] = '-';
    while (ndigits > 0)
        text[nbytes++] = digits[--ndigits];
    return nbytes;
}

#endif
