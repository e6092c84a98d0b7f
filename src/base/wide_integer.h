/*
 * Integers of 128 bits in two's complement, for exact sums of 64-bit ones: 32-bit targets have no type for
 * them.
 */
#ifndef NPYX_WIDE_INTEGER_H
#define NPYX_WIDE_INTEGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

typedef struct npyx_wide {
    uint64_t low;
    int64_t high;
} npyx_wide;

/* Room for the longest text: a sign and 39 digits. */
enum { NPYX_WIDE_TEXT_NBYTES = 40 };

static inline npyx_wide npyx_wide_of_i64(int64_t value) {
    return (npyx_wide){(uint64_t)value, value < 0 ? -1 : 0};
}

static inline npyx_wide npyx_wide_of_u64(uint64_t value) {
    return (npyx_wide){value, 0};
}

/* Modulo 2^128. */
static inline npyx_wide npyx_wide_add(npyx_wide a, npyx_wide b) {
    npyx_wide sum = {a.low + b.low, 0};
    sum.high = (int64_t)((uint64_t)a.high + (uint64_t)b.high + (sum.low < a.low));
    return sum;
}

static inline npyx_wide npyx_wide_subtract(npyx_wide a, npyx_wide b) {
    npyx_wide difference = {a.low - b.low, 0};
    difference.high = (int64_t)((uint64_t)a.high - (uint64_t)b.high - (a.low < b.low));
    return difference;
}

static inline bool npyx_wide_is_i64(npyx_wide value) {
    return value.high == ((int64_t)value.low < 0 ? -1 : 0);
}

/* The nearest double, or one beside it. */
double npyx_wide_to_f64(npyx_wide value);

/* Writes the decimal text, without a NUL, and returns its length. */
size_t npyx_wide_text(npyx_wide value, char text[NPYX_WIDE_TEXT_NBYTES]);

#pragma GCC visibility pop

#endif
