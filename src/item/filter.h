/*
 * Comparisons over raw items, a block at a time, with SQLite's answers.
 *
 * SQLite compares numbers exactly, integers against reals too, and NaN and NaT are NULL: they satisfy IS NULL
 * and nothing else. A filter may let through items that do not satisfy a comparison (SQLite looks again),
 * never drop one that does.
 */
#ifndef NPYX_FILTER_H
#define NPYX_FILTER_H

#include "array/dtype.h"
#include "base/simd.h"

typedef enum npyx_comparison {
    NPYX_EQUAL,
    NPYX_NOT_EQUAL,
    NPYX_LESS,
    NPYX_LESS_EQUAL,
    NPYX_GREATER,
    NPYX_GREATER_EQUAL,
    NPYX_IS_NULL,
    NPYX_NOT_NULL
} npyx_comparison;

/* A number of SQLite's. */
typedef struct npyx_operand {
    bool is_real;
    int64_t integer;
    double real; /* never NaN */
} npyx_operand;

/* Which component of a complex item is compared; NPYX_WHOLE for every other type. */
typedef enum npyx_component { NPYX_WHOLE, NPYX_REAL_PART, NPYX_IMAGINARY_PART } npyx_component;

/* The items between two bit patterns, both included, as unsigned numbers of the item's width; high may lie
 * below low: then it goes on past the largest pattern. */
typedef struct npyx_pattern_range {
    uint64_t low, high;
} npyx_pattern_range;

/* A comparison made ready for one dtype: opaque, copied freely, owns nothing. Texts are borrowed. */
typedef struct npyx_filter {
    const npyx_dtype *dtype;
    npyx_component component;
    bool passes_all;  /* every item is let through */
    bool passes_none; /* no item of the dtype satisfies it */
    /* Integers, dates and most comparisons of floats below 32 bits: items in any of the ranges pass. */
    bool is_by_pattern;
    int nranges; /* 1 or 2 */
    npyx_pattern_range ranges[2];
    /* All others: items from low to high, both included, pass, or those that do not. */
    bool is_negated; /* outside of the bounds, NULL excluded */
    bool wants_null; /* the bounds do not matter */
    double low, high;
    /* Texts: items that are these itemsize bytes pass. NULL: it is a comparison of numbers. */
    const uint8_t *equal;
} npyx_filter;

/* Below 0, 0 or above it, as a is less than b, equal to it or greater, exactly. */
int npyx_operand_compare(npyx_operand a, npyx_operand b);

/* Numeric, bool, timedelta64 and unitless datetime64 items are compared; for all other dtypes the filter lets
 * everything through. There is one operand (not looked at for the NULL tests), but of NPYX_EQUAL any number:
 * with several (value IN (...)) the filter lets through what the loosest bounds around them do. */
void npyx_filter_init(npyx_filter *filter, const npyx_dtype *dtype, npyx_component component,
                      npyx_comparison comparison, const npyx_operand *operands, size_t noperands);

/* Lets items of texts and of bytes through that read like an item, which outlives the filter; NULL: none is
 * like what is sought. For all other dtypes everything passes. */
void npyx_filter_init_equal(npyx_filter *filter, const npyx_dtype *dtype, const uint8_t *item);

/* Clears in bitmap (bit i of word i / 64, least significant first) the bits of the items that fail. items lie
 * one after the other, itemsize bytes apart, in the dtype's byte order, at any alignment; nelem may end
 * inside of a word, whose bits beyond are left alone. Vectorised for the common types. */
void npyx_filter_apply(const npyx_filter *filter, const uint8_t *items, int64_t nelem, uint64_t *bitmap);

/* ---- the inner loops, over items of the host's byte order ---- */

/* Clears the bits of the items that fail in nwords words of the bitmap, of 64 items each. items may lie at
 * any alignment. */
typedef void npyx_filter_kernel(const npyx_filter *filter, const uint8_t *items, int64_t nwords,
                                uint64_t *bitmap);

/* What can be run over. The pattern lanes look at the filter's ranges, F4 and F8 at its bounds. */
typedef enum npyx_lane {
    NPYX_LANE_8,
    NPYX_LANE_16,
    NPYX_LANE_32,
    NPYX_LANE_64,
    NPYX_LANE_F4,
    NPYX_LANE_F8,
    NPYX_NLANES
} npyx_lane;

/* simd: npyx_simd_here(), or one before it. */
npyx_filter_kernel *npyx_filter_kernel_of(npyx_lane lane, npyx_simd simd);

#endif
