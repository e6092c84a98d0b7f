/*
 * Numbers as decimal text, without regard to the host's locale.
 *
 * Floats are printed as Python's repr prints them: the shortest digits that read back as the same value of
 * their own width, positional for exponents from -4 to 15 (`0.0001`, `1e-05`, `1e+16`), always with a point
 * or an exponent, so that SQLite's JSON takes them for REAL.
 */
#ifndef NPYX_NUMBER_TEXT_H
#define NPYX_NUMBER_TEXT_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* Room that any number needs; nothing below writes more, and nothing writes a NUL. */
enum { NPYX_NUMBER_TEXT_NBYTES = 32 };

/* Each writes to out and returns the bytes written. */
size_t npyx_text_i64(int64_t value, char *out);
size_t npyx_text_u64(uint64_t value, char *out);

/* value is finite. */
size_t npyx_text_f64(double value, char *out);
size_t npyx_text_f32(float value, char *out);

/* A finite value of a format with precision_nbits of significand (the hidden bit included: float16 11,
 * bfloat16 8, float8_e4m3fn 4, float8_e5m2 3) whose smallest normal exponent is min_exponent (float16 -14,
 * bfloat16 -126, float8_e4m3fn -6, float8_e5m2 -14): the shortest digits that read back in that format. */
size_t npyx_text_narrow(float value, int precision_nbits, int min_exponent, char *out);

#pragma GCC visibility pop

#endif
