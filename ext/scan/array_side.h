/*
 * One of two files that are compared: its names, and the array at hand.
 */
#ifndef NPYEXT_ARRAY_SIDE_H
#define NPYEXT_ARRAY_SIDE_H

#include "core/connection.h"
#include "core/results.h"
#include "listing.h"

typedef struct npyext_array_side {
    npyx_archive *archive; /* borrowed; NULL: nothing is open */
    const char *path;      /* as messages show it; borrowed */
    npyext_listing listing;
    const npyext_listed *listed; /* the entry at hand; NULL: none */
    npyx_array array;            /* its description */
} npyext_array_side;

void npyext_array_side_init(npyext_array_side *side, npyx_host *host);
/* Forgets the file; what it was read from may then be closed. */
void npyext_array_side_clear(npyext_array_side *side);

/* Makes an entry the one at hand and reads its header. NPYX_DONE: it is no array, and nothing is at hand. */
npyx_status npyext_array_side_describe(npyext_array_side *side, const npyext_listed *listed,
                                       npyx_error *error);

/* Whether the file holds exactly one array, then the entry *only; NULL otherwise. What cannot be read is
 * taken for one: its error comes when it is described. Fails with NPYX_NOMEM and NPYX_INTERRUPTED alone. */
npyx_status npyext_array_side_find_only(npyext_array_side *side, npyext_listed **only, npyx_error *error);

/* Where a fault lies; *entry is room for what the place refers to. */
npyext_place npyext_array_side_place(const npyext_array_side *side, npyx_entry *entry);

#endif
