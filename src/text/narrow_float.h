/*
 * Floating-point formats that C has no type for, as bits: IEEE 754 binary16, bfloat16, the one-byte formats
 * of ml_dtypes, and the 80-bit extended format of x87.
 */
#ifndef NPYX_NARROW_FLOAT_H
#define NPYX_NARROW_FLOAT_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* What the highest patterns of a one-byte float stand for. */
typedef enum npyx_float8_kind {
    NPYX_FLOAT8_IEEE, /* infinities and NaN have the highest exponent */
    NPYX_FLOAT8_FN,   /* finite and NaN: no infinity, and of magnitudes the last one alone is NaN */
    NPYX_FLOAT8_FNUZ, /* and unsigned zero: what would be -0 is the NaN */
    NPYX_FLOAT8_FNU   /* and unsigned: powers of two, the last one NaN; no zero */
} npyx_float8_kind;

/* A one-byte float is its sign, an exponent with a bias, and a fraction. */
typedef struct npyx_float8 {
    npyx_float8_kind kind;
    int fraction_nbits;
    int bias;
} npyx_float8;

/* The one-byte floats of ml_dtypes, one to a line: type, word for names of functions, kind, bits of the
 * fraction, bias. E4M3FN, E5M2 and E8M0 are OCP's (OFP8, and MX 1.0), the FNUZ ones Graphcore's and AMD's
 * (arXiv:2206.02915). */
#define NPYX_FLOAT8S(X)                                                                                      \
    X(E4M3FN, e4m3fn, NPYX_FLOAT8_FN, 3, 7)                                                                  \
    X(E5M2, e5m2, NPYX_FLOAT8_IEEE, 2, 15)                                                                   \
    X(E3M4, e3m4, NPYX_FLOAT8_IEEE, 4, 3)                                                                    \
    X(E4M3, e4m3, NPYX_FLOAT8_IEEE, 3, 7)                                                                    \
    X(E4M3B11FNUZ, e4m3b11fnuz, NPYX_FLOAT8_FNUZ, 3, 11)                                                     \
    X(E4M3FNUZ, e4m3fnuz, NPYX_FLOAT8_FNUZ, 3, 8)                                                            \
    X(E5M2FNUZ, e5m2fnuz, NPYX_FLOAT8_FNUZ, 2, 16)                                                           \
    X(E8M0FNU, e8m0fnu, NPYX_FLOAT8_FNU, 0, 127)

/* Exact: every value of these formats is a float. NaN payloads may change, NaN stays NaN. */
float npyx_f16_to_f32(uint16_t bits);
float npyx_bfloat16_to_f32(uint16_t bits);
#define NPYX_FLOAT8_TO_F32(type, word, kind, fraction_nbits, bias) float npyx_##word##_to_f32(uint8_t bits);
NPYX_FLOAT8S(NPYX_FLOAT8_TO_F32)
#undef NPYX_FLOAT8_TO_F32

/* x87 extended precision: significand is the 64-bit one with its explicit integer bit, sign_exponent the sign
 * bit and 15-bit biased exponent. Rounded to nearest, ties to even, once; overflow is infinity. An encoding
 * that x87 itself refuses (unnormal, pseudo-infinity) is NaN. */
double npyx_x87_to_f64(uint64_t significand, uint16_t sign_exponent);

/* Each rounds once, to nearest, ties to even. What is too large becomes infinity, NaN where there is none,
 * and so does an infinity there. NaN is the quiet NaN of value's sign. What e8m0fnu lacks (0 and negative
 * numbers) is NaN there, and what is smaller than its least becomes that. */
uint16_t npyx_f16_from_f64(double value);
uint16_t npyx_bfloat16_from_f64(double value);
#define NPYX_FLOAT8_FROM_F64(type, word, kind, fraction_nbits, bias)                                         \
    uint8_t npyx_##word##_from_f64(double value);
NPYX_FLOAT8S(NPYX_FLOAT8_FROM_F64)
#undef NPYX_FLOAT8_FROM_F64

/* Whether a value that was rounded to bits is not in them: what is no NaN has become one, or what is finite
 * an infinity. */
#define NPYX_FLOAT8_IS_LOST(type, word, kind, fraction_nbits, bias)                                          \
    static inline bool npyx_##word##_is_lost(double value, uint8_t bits) {                                   \
        float rounded = npyx_##word##_to_f32(bits);                                                          \
        return (isnan(rounded) && !isnan(value)) || (isinf(rounded) && isfinite(value));                     \
    }
NPYX_FLOAT8S(NPYX_FLOAT8_IS_LOST)
#undef NPYX_FLOAT8_IS_LOST

/* Exact: every double is an x87 value. */
void npyx_x87_from_f64(double value, uint64_t *significand, uint16_t *sign_exponent);

#pragma GCC visibility pop

#endif
