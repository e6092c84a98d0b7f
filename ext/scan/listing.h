/*
 * The entries of one file by their names, each to be taken once: what two files are matched by.
 *
 * Of an .npz the last of equal names counts, as in NumPy; of a .ten equal names are taken in their order.
 */
#ifndef NPYEXT_LISTING_H
#define NPYEXT_LISTING_H

#include "npyx.h"

typedef struct npyext_listed {
    int64_t index; /* of the entry */
    const char *name;
    size_t name_nbytes;
    uint64_t hash;
    bool is_taken;
    /* private: numbers of entries of the same name, -1 is none */
    int64_t next_same;
    int64_t last_same; /* of the first of them */
} npyext_listed;

typedef struct npyext_listing {
    npyx_arena names;
    npyext_listed *entries; /* in the order of the file */
    int64_t nentries;
    int64_t capacity_nentries;
    int64_t *slots; /* of a hash table: numbers of entries; -1 is free */
    uint64_t slot_mask;
} npyext_listing;

/* Reads the names, all or, with only_index not negative, that of one entry. listing is zero but for
 * names.host; clear it on failure too. Polls the host. */
npyx_status npyext_listing_read(npyext_listing *listing, npyx_archive *archive, int64_t only_index,
                                npyx_error *error);
void npyext_listing_clear(npyext_listing *listing);

/* The first entry of a name that is not taken, or NULL. */
npyext_listed *npyext_listing_find(npyext_listing *listing, const npyext_listed *name);

#endif
