/*
 * Numbers as decimal text, without regard to the host's locale.
 *
 * Floats are printed as Python's repr prints them: the shortest digits that read back as the same value of
 * their own width, positional for exponents from -4 to 15 (`0.0001`, `1e-05`, `1e+16`), always with a point
 * or an exponent, so that SQLite's JSON takes them for REAL.
 */
#ifndef NPYX_NUMBER_TEXT_H
#define NPYX_NUMBER_TEXT_H

#include "base/status.h"

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

/* What a number's text says, exactly where 64 bits can: an int64_t, else a uint64_t, else the nearest double
 * (ties to even; an infinity when it is too large). */
typedef enum npyx_number_form { NPYX_NUMBER_I64, NPYX_NUMBER_U64, NPYX_NUMBER_F64 } npyx_number_form;

typedef struct npyx_number {
    npyx_number_form form;
    bool is_integer; /* it has neither point nor exponent; of F64: an integer beyond both types */
    int64_t i64;     /* of I64 */
    uint64_t u64;    /* of U64: above 2^63 - 1 */
    double f64;      /* of F64 */
} npyx_number;

/* Reads the number, as JSON spells them, that text begins with. Returns its bytes, 0 when there is none; any
 * number of digits is taken. */
size_t npyx_number_read(const char *text, size_t nbytes, npyx_number *number);

/* As a double, rounded to nearest. */
double npyx_number_to_f64(const npyx_number *number);

/* Writes the number as the functions above do, infinities and NaN as `inf`, `-inf` and `NaN`. */
size_t npyx_number_text(const npyx_number *number, char *out);

/* Copies a text with its NUL, and gives its number of bytes without that. */
static inline size_t npyx_put_text(char *out, const char *text) {
    size_t nbytes = strlen(text);
    memcpy(out, text, nbytes + 1);
    return nbytes;
}

#endif
