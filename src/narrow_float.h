/*
 * Floating-point formats that C has no type for, as bits: IEEE 754 binary16, bfloat16, the two float8 kinds
 * of ml_dtypes (OCP OFP8), and the 80-bit extended format of x87.
 */
#ifndef NPYX_NARROW_FLOAT_H
#define NPYX_NARROW_FLOAT_H

#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Exact: every value of these formats is a float. NaN payloads may change, NaN stays NaN. */
float npyx_f16_to_f32(uint16_t bits);
float npyx_bfloat16_to_f32(uint16_t bits);
float npyx_e4m3fn_to_f32(uint8_t bits); /* no infinities; 0x7f and 0xff are NaN */
float npyx_e5m2_to_f32(uint8_t bits);

/* x87 extended precision: significand is the 64-bit one with its explicit integer bit, sign_exponent the sign
 * bit and 15-bit biased exponent. Rounded to nearest, ties to even, once; overflow is infinity. An encoding
 * that x87 itself refuses (unnormal, pseudo-infinity) is NaN. */
double npyx_x87_to_f64(uint64_t significand, uint16_t sign_exponent);

/* Each rounds once, to nearest, ties to even. What is too large becomes infinity, in e4m3fn NaN, and so does
 * an infinity there. NaN is the quiet NaN of value's sign. */
uint16_t npyx_f16_from_f64(double value);
uint16_t npyx_bfloat16_from_f64(double value);
uint8_t npyx_e4m3fn_from_f64(double value);
uint8_t npyx_e5m2_from_f64(double value);

/* Exact: every double is an x87 value. */
void npyx_x87_from_f64(double value, uint64_t *significand, uint16_t *sign_exponent);

#pragma GCC visibility pop

#endif
