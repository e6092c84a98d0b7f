/*
 * The braces of a pattern: `{a,b}` and `{000..127}`, as bash expands them.
 *
 * The patterns without braces are written one after another, from a list of the braces alone: memory is bound
 * to the length of the pattern, not to the number or nesting of what it makes.
 */
#ifndef NPYEXT_PATTERN_BRACES_H
#define NPYEXT_PATTERN_BRACES_H

#include "npyx.h"

typedef struct npyext_braces {
    const char *pattern; /* borrowed */
    size_t pattern_nbytes;
    struct npyext_brace *items;
    size_t nitems;
    size_t choice; /* the group chosen from last */
} npyext_braces;

/* Appends the first pattern to out, which is empty; look at its status. NPYX_INVALID for unbalanced braces,
 * for ranges that are not of whole numbers, and for more than a million patterns, which are counted before
 * the first is written. Clear *braces on failure too. */
npyx_status npyext_braces_first(npyext_braces *braces, const char *pattern, npyx_buffer *out,
                                npyx_error *error);

/* Replaces in out the pattern written last by the next one; false after the last. */
bool npyext_braces_next(npyext_braces *braces, npyx_buffer *out);

void npyext_braces_clear(npyext_braces *braces, npyx_host *host);

#endif
