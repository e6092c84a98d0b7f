/*
 * Numbers as decimal text, without regard to the host's locale.
 *
 * Floats are printed as by Python's repr: the shortest digits that read back as the same value of their own
 * width, positional for exponents from -4 to 15 (`0.0001`, `1e-05`, `1e+16`), always with a point or an
 * exponent, so that SQLite's JSON reads them as REAL.
 */
#ifndef NPYX_NUMBER_TEXT_H
#define NPYX_NUMBER_TEXT_H

#include "base/status.h"

/* Room for any number; nothing below writes more, and nothing writes a NUL. */
enum { NPYX_NUMBER_TEXT_NBYTES = 32 };

/* Each writes to out and returns the bytes written. */
size_t npyx_text_i64(int64_t value, char *out);
size_t npyx_text_u64(uint64_t value, char *out);

/* value is finite. */
size_t npyx_text_f64(double value, char *out);
size_t npyx_text_f32(float value, char *out);

/* A finite value of a format with precision_nbits of significand (including the hidden bit: float16 11,
 * bfloat16 8, float8_e4m3fn 4, float8_e5m2 3) whose smallest normal exponent is min_exponent (float16 -14,
 * bfloat16 -126, float8_e4m3fn -6, float8_e5m2 -14): the shortest digits that read back in that format. */
size_t npyx_text_narrow(float value, int precision_nbits, int min_exponent, char *out);

/* The value of a number's text, exact where 64 bits allow it: an int64_t, else a uint64_t, else the nearest
 * double (ties to even; an infinity when it is too large). */
typedef enum npyx_number_form { NPYX_NUMBER_I64, NPYX_NUMBER_U64, NPYX_NUMBER_F64 } npyx_number_form;

typedef struct npyx_number {
    npyx_number_form form;
    bool is_integer; /* no point and no exponent; in F64: an integer beyond both types */
    int64_t i64;     /* of I64 */
    uint64_t u64;    /* of U64: above 2^63 - 1 */
    double f64;      /* of F64 */
} npyx_number;

/* Reads the number, in JSON's spelling, at the start of text. Returns its bytes, 0 when there is none; it may
 * have any number of digits. */
size_t npyx_number_read(const char *text, size_t nbytes, npyx_number *number);

/* As a double, rounded to nearest. */
double npyx_number_to_f64(const npyx_number *number);

/* Writes the number like the functions above, infinities and NaN as `inf`, `-inf` and `NaN`. */
size_t npyx_number_text(const npyx_number *number, char *out);

/* Copies a text with its NUL, and returns its number of bytes without that. */
static inline size_t npyx_put_text(char *out, const char *text) {
    size_t nbytes = strlen(text);
    memcpy(out, text, nbytes + 1);
    return nbytes;
}

#endif
