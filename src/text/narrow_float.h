/*
 * Floating-point formats for which C has no type, as bits: IEEE 754 binary16, bfloat16, the one-byte formats
 * of ml_dtypes, and the 80-bit extended format of x87.
 *
 *     sign | exponent, biased | fraction
 *       1  |    the others    |  fraction_nbits      f16: 1 5 10    bfloat16: 1 8 7    e4m3fn: 1 4 3
 *
 * The narrow ones are rows of one table, NPYX_NARROWS, from which the code to read, write, print, convert and
 * compare them is generated.
 */
#ifndef NPYX_NARROW_FLOAT_H
#define NPYX_NARROW_FLOAT_H

#include <math.h>

#include "base/bytes.h"

/* The meaning of the highest bit patterns. */
typedef enum npyx_narrow_kind {
    NPYX_NARROW_IEEE, /* infinities and NaN have the highest exponent */
    NPYX_NARROW_FN,   /* finite and NaN: no infinity, and only the largest magnitude is NaN */
    NPYX_NARROW_FNUZ, /* and unsigned zero: -0's pattern is the NaN */
    NPYX_NARROW_FNU   /* and unsigned: powers of two, the last one NaN; no zero */
} npyx_narrow_kind;

typedef struct npyx_narrow {
    npyx_narrow_kind kind;
    int nbits; /* 8 or 16 */
    int fraction_nbits;
    int bias;
    /* Exact: every value of these formats is a float. NaN payloads may change, NaN stays NaN. */
    float (*to_f32)(uint16_t bits);
    /* Rounds once, to nearest, ties to even. Values that are too large, infinities included, become infinity,
     * or NaN where there is none. NaN becomes the quiet NaN of value's sign. What e8m0fnu lacks (0 and
     * negative numbers) becomes NaN there, and smaller values become its least. */
    uint16_t (*from_f64)(double value);
} npyx_narrow;

/* One per line: type, word for function names, kind, bits, fraction bits, bias. E4M3FN, E5M2 and E8M0 are
 * OCP's (OFP8, and MX 1.0), the FNUZ ones Graphcore's and AMD's (arXiv:2206.02915). */
#define NPYX_NARROWS(X)                                                                                      \
    X(F2, f16, IEEE, 16, 10, 15)                                                                             \
    X(BFLOAT16, bfloat16, IEEE, 16, 7, 127)                                                                  \
    X(E4M3FN, e4m3fn, FN, 8, 3, 7)                                                                           \
    X(E5M2, e5m2, IEEE, 8, 2, 15)                                                                            \
    X(E3M4, e3m4, IEEE, 8, 4, 3)                                                                             \
    X(E4M3, e4m3, IEEE, 8, 3, 7)                                                                             \
    X(E4M3B11FNUZ, e4m3b11fnuz, FNUZ, 8, 3, 11)                                                              \
    X(E4M3FNUZ, e4m3fnuz, FNUZ, 8, 3, 8)                                                                     \
    X(E5M2FNUZ, e5m2fnuz, FNUZ, 8, 2, 16)                                                                    \
    X(E8M0FNU, e8m0fnu, FNU, 8, 0, 127)

/* npyx_f16_to_f32, npyx_f16_from_f64, and so on. */
#define NPYX_NARROW_FUNCTIONS(type, word, kind, nbits, fraction_nbits, bias)                                 \
    float npyx_##word##_to_f32(uint16_t bits);                                                               \
    uint16_t npyx_##word##_from_f64(double value);
NPYX_NARROWS(NPYX_NARROW_FUNCTIONS)
#undef NPYX_NARROW_FUNCTIONS

enum { NPYX_NNARROWS = 10 };
/* In the order of the list. */
extern const npyx_narrow npyx_narrows[NPYX_NNARROWS];

static inline uint16_t npyx_narrow_load(const npyx_narrow *narrow, const uint8_t *item, bool is_big_endian) {
    return narrow->nbits == 8 ? *item : npyx_load_u16(item, is_big_endian);
}

/* The exponent bits, all of which are set in infinities. */
static inline uint32_t npyx_narrow_exponent(const npyx_narrow *narrow) {
    return (1u << (narrow->nbits - 1)) - (1u << narrow->fraction_nbits);
}

/* Whether rounding value to bits lost it: a number became NaN, or a finite one an infinity. */
static inline bool npyx_narrow_is_lost(const npyx_narrow *narrow, double value, uint16_t bits) {
    switch (narrow->kind) {
    case NPYX_NARROW_IEEE:
        return (bits & ((1u << (narrow->nbits - 1)) - 1)) == npyx_narrow_exponent(narrow) && isfinite(value);
    case NPYX_NARROW_FN: return (bits & 0x7f) == 0x7f && !isnan(value);
    case NPYX_NARROW_FNUZ: return bits == 0x80 && !isnan(value);
    default: return bits == 0xff && !isnan(value);
    }
}

/* x87 extended precision: the 64-bit significand with its explicit integer bit, and the sign bit with the
 * 15-bit biased exponent. */
typedef struct npyx_x87 {
    uint64_t significand;
    uint16_t sign_exponent;
} npyx_x87;

/* An item of nbytes: 10 bytes and padding, lowest byte first; in big-endian all of them are reversed. */
static inline npyx_x87 npyx_x87_load(const uint8_t *item, size_t nbytes, bool is_big_endian) {
    return (npyx_x87){npyx_load_u64(is_big_endian ? item + nbytes - 8 : item, is_big_endian),
                      npyx_load_u16(is_big_endian ? item + nbytes - 10 : item + 8, is_big_endian)};
}

static inline void npyx_x87_store(npyx_x87 value, uint8_t *item, size_t nbytes, bool is_big_endian) {
    memset(item, 0, nbytes);
    npyx_store_u64(is_big_endian ? item + nbytes - 8 : item, value.significand, is_big_endian);
    npyx_store_u16(is_big_endian ? item + nbytes - 10 : item + 8, value.sign_exponent, is_big_endian);
}

/* Rounds once, to nearest, ties to even; overflow is infinity. An encoding that x87 itself refuses (unnormal,
 * pseudo-infinity) is NaN. */
double npyx_x87_to_f64(npyx_x87 value);

/* Exact: every double is an x87 value. */
npyx_x87 npyx_x87_from_f64(double value);

#endif
