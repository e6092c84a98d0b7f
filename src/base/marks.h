/*
 * Where arrays begin that are found one after the other: every so many leave a mark, from which the walk can
 * be taken up again, so that a file of millions costs little memory and no array is far.
 */
#ifndef NPYX_MARKS_H
#define NPYX_MARKS_H

#include "host.h"

/* Zero-initialise with the host set. */
typedef struct npyx_marks {
    npyx_host *host;
    int64_t *offs; /* where array i * NPYX_MARKS_SPAN begins */
    int64_t noffs;
    int64_t capacity_noffs;
} npyx_marks;

enum { NPYX_MARKS_SPAN = 256 };

/* Notes that array index begins at off; all before it have been noted, once or more. */
npyx_status npyx_marks_note(npyx_marks *marks, int64_t index, int64_t off, npyx_error *error);

/* The array nearest before index that has a mark, and where it begins; false when none has. */
bool npyx_marks_nearest(const npyx_marks *marks, int64_t index, int64_t *marked_index, int64_t *off);

void npyx_marks_clear(npyx_marks *marks);

#endif
