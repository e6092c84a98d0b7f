/*
 * Comparisons of raw items, a block at a time, with the host's results.
 *
 * SQLite compares numbers exactly, integers with reals, too, and NaN and NaT are NULL: they satisfy IS NULL
 * and nothing else. A filter may let through items that do not satisfy a comparison (the host checks again),
 * but never drops one that does.
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

/* A number of the host's. */
typedef struct npyx_operand {
    bool is_real;
    int64_t integer;
    double real; /* never NaN */
} npyx_operand;

/* Which component of a complex item is compared; NPYX_WHOLE for every other type. */
typedef enum npyx_component { NPYX_WHOLE, NPYX_REAL_PART, NPYX_IMAGINARY_PART } npyx_component;

/* The items between two bit patterns, both included, as unsigned numbers of the item's width; if high is
 * below low, the range wraps past the largest pattern. */
typedef struct npyx_pattern_range {
    uint64_t low, high;
} npyx_pattern_range;

/* A comparison prepared for one dtype: opaque, copied freely, owns nothing. Texts are borrowed. */
typedef struct npyx_filter {
    const npyx_dtype *dtype;
    npyx_component component;
    bool passes_all;  /* every item is let through */
    bool passes_none; /* no item of the dtype satisfies it */
    /* Numbers: items in any of the ranges pass. */
    bool is_widened; /* the patterns are those of the doubles that items become */
    int nranges;
    npyx_pattern_range ranges[3];
    /* Texts: items that equal these itemsize bytes pass. NULL: a comparison of numbers. */
    const uint8_t *equal;
} npyx_filter;

/* Below, equal to or above 0, as a is less than, equal to or greater than b, exactly. */
int npyx_operand_compare(npyx_operand a, npyx_operand b);

/* Numeric, bool, timedelta64 and unitless datetime64 items are compared; for all other dtypes the filter
 * passes everything. There is one operand (ignored by the NULL tests), but any number for NPYX_EQUAL: with
 * several (value IN (...)) the filter passes what is within the bounds around all of them. */
void npyx_filter_init(npyx_filter *filter, const npyx_dtype *dtype, npyx_component component,
                      npyx_comparison comparison, const npyx_operand *operands, size_t noperands);

/* Passes items of texts and of bytes that read like an item, which must outlive the filter; NULL: none can
 * match. For all other dtypes everything passes. */
void npyx_filter_init_equal(npyx_filter *filter, const npyx_dtype *dtype, const uint8_t *item);

/* Clears the bits of the items that fail in bitmap (bit i % 64 of word i / 64, least significant first).
 * items are itemsize bytes apart, in the dtype's byte order, at any alignment; nelem may end within a word,
 * whose bits beyond it are left unchanged. Vectorised for the common types. */
void npyx_filter_apply(const npyx_filter *filter, const uint8_t *items, int64_t nelem, uint64_t *bitmap);

/* ---- the inner loops, over items in the host's byte order ---- */

/* Clears the bits of the items that fail in nwords words of the bitmap, of 64 items each. items have any
 * alignment. */
typedef void npyx_filter_kernel(const npyx_filter *filter, const uint8_t *items, int64_t nwords,
                                uint64_t *bitmap);

/* The kinds of loops, by the bits of a pattern. */
typedef enum npyx_lane { NPYX_LANE_8, NPYX_LANE_16, NPYX_LANE_32, NPYX_LANE_64, NPYX_NLANES } npyx_lane;

/* simd: npyx_simd_here(), or a lower one. */
npyx_filter_kernel *npyx_filter_kernel_of(npyx_lane lane, npyx_simd simd);

#endif
