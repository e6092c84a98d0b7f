/*
 * Items of a view as doubles, in C order, a piece at a time: for what is drawn, or summed in one pass.
 * Integers beyond 2^53 are rounded; complex items become their moduli.
 */
#ifndef NPYX_REALS_H
#define NPYX_REALS_H

#include "item/convert.h"
#include "reader.h"

enum { NPYX_REALS_NELEM = 8 * NPYX_BLOCK_NELEM };

typedef struct npyx_reals {
    /* the current piece */
    double values[NPYX_REALS_NELEM];
    int64_t n;
    /* private */
    npyx_type type; /* of an item, or of each of its two parts */
    npyx_dtype dtype;
    bool is_complex;
    npyx_blocks blocks;
} npyx_reals;

/* Whether items are such numbers: bool, integers, floats and complex ones. */
bool npyx_reals_take(const npyx_dtype *dtype);

/* Begins anew; a zero-initialised struct is accepted. The view's dtype must pass npyx_reals_take; it and
 * source must outlive the walk. */
void npyx_reals_begin(npyx_reals *reals, npyx_source *source, const npyx_view *view);

/* Moves to the next piece; NPYX_DONE after the last. Polls the host. */
npyx_status npyx_reals_next(npyx_reals *reals, npyx_error *error);

void npyx_reals_clear(npyx_reals *reals);

#endif
