/*
 * Counts of small units of time, which pass 64 bits: what dates to text and text to dates have in common.
 */
#ifndef NPYX_DATETIME_TICKS_H
#define NPYX_DATETIME_TICKS_H

#include <stdbool.h>
#include <stdint.h>

/* A number of more than 64 bits, counted from 0 up or from -1 down: n is stored as n, or as -1 - n when
 * negative. Truncating division of what is stored is then floor division of n. */
typedef struct npyx_ticks {
    uint64_t high;
    uint64_t low;
    bool is_negative;
} npyx_ticks;

/* value * multiple. */
static inline npyx_ticks npyx_ticks_of(int64_t value, int32_t multiple) {
    bool is_negative = value < 0;
    uint64_t magnitude = is_negative ? 0 - (uint64_t)value : (uint64_t)value;
    uint64_t low = (magnitude & UINT32_MAX) * (uint64_t)multiple;
    uint64_t high = (magnitude >> 32) * (uint64_t)multiple + (low >> 32);
    npyx_ticks ticks = {
        .high = high >> 32, .low = high << 32 | (low & UINT32_MAX), .is_negative = is_negative};
    if (is_negative) {
        ticks.high -= ticks.low == 0;
        ticks.low--;
    }
    return ticks;
}

/* Divides by divisor, rounding down, and returns the remainder, which is never negative. */
static inline uint32_t npyx_ticks_divide(npyx_ticks *ticks, uint32_t divisor) {
    uint64_t remainder;
    if (ticks->high == 0) {
        remainder = ticks->low % divisor;
        ticks->low /= divisor;
    } else {
        uint64_t middle = (ticks->high % divisor) << 32 | ticks->low >> 32;
        uint64_t low = (middle % divisor) << 32 | (ticks->low & UINT32_MAX);
        ticks->high /= divisor;
        ticks->low = (middle / divisor) << 32 | low / divisor;
        remainder = low % divisor;
    }
    return (uint32_t)(ticks->is_negative ? divisor - 1 - remainder : remainder);
}

/* The other way: multiplies by factor and adds addend, which is below factor. False when that does not fit.
 */
static inline bool npyx_ticks_scale(npyx_ticks *ticks, uint32_t factor, uint32_t addend) {
    uint32_t stored = ticks->is_negative ? factor - 1 - addend : addend;
    uint64_t low = (ticks->low & UINT32_MAX) * (uint64_t)factor + stored;
    uint64_t middle = (ticks->low >> 32) * (uint64_t)factor + (low >> 32);
    ticks->low = middle << 32 | (low & UINT32_MAX);
    return !__builtin_mul_overflow(ticks->high, (uint64_t)factor, &ticks->high) &&
           !__builtin_add_overflow(ticks->high, middle >> 32, &ticks->high);
}

/* False when 64 bits do not hold it. */
static inline bool npyx_ticks_fit(const npyx_ticks *ticks, int64_t *value) {
    *value = ticks->is_negative ? -1 - (int64_t)ticks->low : (int64_t)ticks->low;
    return ticks->high == 0 && ticks->low <= INT64_MAX;
}

#endif
