/*
 * Two arrays, item by item: how many differ, which is the first, and by how much.
 *
 * NaN equals NaN, NaT equals NaT, and -0.0 equals 0.0. Byte order and memory order change nothing. Both
 * arrays are read once, block by block, and held a few blocks at a time.
 */
#ifndef NPYX_DIFFERENCE_H
#define NPYX_DIFFERENCE_H

#include "walk/blocks.h"

typedef enum npyx_comparability {
    NPYX_INCOMPARABLE,  /* text and numbers, structures of other fields, dates of other units */
    NPYX_EQUALITY_ONLY, /* text, bytes, void, structures: equal but for byte orders */
    NPYX_SUBTRACTABLE   /* numbers of any dtype; dates of one dtype, by their counts */
} npyx_comparability;

npyx_comparability npyx_difference_check(const npyx_dtype *a, const npyx_dtype *b);

/* One of the two. Both are borrowed. */
typedef struct npyx_difference_side {
    npyx_source *source;
    const npyx_view *view;
} npyx_difference_side;

/*
 * The numbers are of NPYX_SUBTRACTABLE ones and NaN otherwise. max_rel is |a - b| / max(|a|, |b|), 0 where
 * both are 0. The maxima and rms are of the items that are finite on both sides, and NaN when there are none;
 * max_abs is infinite when an infinity stands against a finite number or the other infinity. NaN against
 * anything else only counts as differing. Complex numbers are measured by modulus.
 */
typedef struct npyx_difference {
    int64_t ndiffering;
    int64_t first_at; /* flat C-order index of the first that differs; -1: none */
    double max_abs, max_rel, rms;
} npyx_difference;

/* Compares two arrays of one shape whose dtypes are not NPYX_INCOMPARABLE. stops_early: what is behind the
 * first block that differs is not read; ndiffering is then at least 1 and no more is known. On failure
 * *faulty is the number of the side, 0 or 1, whose source failed. */
npyx_status npyx_difference_find(const npyx_difference_side sides[2], bool stops_early,
                                 npyx_difference *difference, int *faulty, npyx_error *error);

#endif
