/*
 * Numbers for the different items of an array, as they come: 0 for the first, 1 for the next different one.
 * In the end they can be sorted: numbers and dates by value, texts by code point, bytes by byte. -0.0 is 0.0.
 * NaN and NaT are one item, after all others.
 */
#ifndef NPYX_NUMBERING_H
#define NPYX_NUMBERING_H

#include "array/dtype.h"
#include "base/names.h"

typedef struct npyx_numbering npyx_numbering;

/* *made: for items of this dtype, which must outlive it and pass npyx_numbering_takes; NULL on failure. At
 * most `most` items are numbered; a message of NPYX_TOOBIG ends with why: `which are not kept`. */
npyx_status npyx_numbering_make(npyx_numbering **made, npyx_host *host, const npyx_dtype *dtype, int32_t most,
                                const char *why, npyx_error *error);

/* Whether items are real numbers, dates, texts or bytes. */
bool npyx_numbering_takes(const npyx_dtype *dtype);

/* The numbers of nelem items, side by side. */
npyx_status npyx_numbering_read(npyx_numbering *numbering, const uint8_t *items, int64_t nelem,
                                int32_t *numbers, npyx_error *error);

/* The numbered items, in increasing order. */
typedef struct npyx_numbered {
    int32_t n;
    bool has_null;        /* the last is NaN or NaT */
    const int32_t *ranks; /* by number: its place in that order */
    const uint8_t *items; /* in that order: the first occurrence of each */
} npyx_numbered;

/* ranks and items belong to the arena. Polls the host. */
npyx_status npyx_numbering_sort(const npyx_numbering *numbering, npyx_arena *arena, npyx_numbered *numbered,
                                npyx_error *error);

/* Accepts NULL. */
void npyx_numbering_free(npyx_numbering *numbering);

#endif
