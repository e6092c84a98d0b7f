/*
 * One of two files that are compared: its entries by their names, each to be taken once, and the array at
 * hand.
 *
 * Of an .npz the last of equal names counts, as in NumPy; of a .ten equal names are taken in their order.
 */
#ifndef NPYEXT_ARRAY_SIDE_H
#define NPYEXT_ARRAY_SIDE_H

#include "core/connection.h"

typedef struct npyext_listed {
    int64_t index; /* of the entry */
    size_t name_off, name_nbytes;
    bool is_taken;
    /* private: numbers of entries of the same name */
    int64_t first_same, next_same; /* -1: there is no next one */
    int64_t current;               /* of the first: where those begin that may not be taken */
} npyext_listed;

typedef struct npyext_array_side {
    npyx_archive *archive;  /* borrowed; NULL: nothing is open */
    const char *path;       /* as messages show it; borrowed */
    npyx_name_set names;    /* of the entries, by the same numbers */
    npyext_listed *entries; /* in the order of the file */
    int64_t nentries, capacity_nentries;
    const npyext_listed *listed; /* the entry at hand; NULL: none */
    npyx_array array;            /* its description */
    npyx_entry entry;            /* its name */
} npyext_array_side;

void npyext_array_side_init(npyext_array_side *side, npyx_host *host);
/* Forgets the file; what it was read from may then be closed. */
void npyext_array_side_clear(npyext_array_side *side);

/* Reads the names, all or, with only_index not negative, that of one entry. Polls the host. */
npyx_status npyext_array_side_list(npyext_array_side *side, int64_t only_index, npyx_error *error);

static inline const char *npyext_listed_name(const npyext_array_side *side, const npyext_listed *listed) {
    return listed->name_nbytes == 0 ? "" : side->names.bytes.bytes + listed->name_off;
}

/* The first entry of a name that is not taken, or NULL. */
npyext_listed *npyext_array_side_find(npyext_array_side *side, const char *name, size_t nbytes);

/* Makes an entry the one at hand and reads its header. NPYX_DONE: it is no array, and nothing is at hand. */
npyx_status npyext_array_side_describe(npyext_array_side *side, const npyext_listed *listed,
                                       npyx_error *error);

/* Whether the file holds exactly one array, then the entry *only; NULL otherwise. What cannot be read is
 * taken for one: its error comes when it is described. Fails with NPYX_NOMEM and NPYX_INTERRUPTED alone. */
npyx_status npyext_array_side_find_only(npyext_array_side *side, npyext_listed **only, npyx_error *error);

/* Where a fault lies. */
npyext_place npyext_array_side_place(const npyext_array_side *side);

#endif
