/*
 * Names in the order in which they were added, and which of them is a given one.
 */
#ifndef NPYX_NAME_SET_H
#define NPYX_NAME_SET_H

#include "host.h"

#pragma GCC visibility push(hidden)

/* Zero-initialise with the host set in both buffers. */
typedef struct npyx_name_set {
    npyx_buffer bytes;   /* of all names */
    npyx_buffer entries; /* where each lies */
    int64_t *slots;      /* a hash table of entry numbers, -1 where there is none */
    size_t nslots;       /* a power of 2, or 0 */
} npyx_name_set;

int64_t npyx_name_set_count(const npyx_name_set *set);

/* The number of the name that was added last of all that are equal to this one, -1 when there is none.
 * *nsame: how many there are. */
int64_t npyx_name_set_find(const npyx_name_set *set, const char *name, size_t nbytes, int64_t *nsame);

static inline bool npyx_name_set_has(const npyx_name_set *set, const char *name, size_t nbytes) {
    int64_t nsame;
    return npyx_name_set_find(set, name, nbytes, &nsame) >= 0;
}

/* Copies the name; one that is there already is there twice then. NPYX_NOMEM leaves the set as it was. */
npyx_status npyx_name_set_add(npyx_name_set *set, const char *name, size_t nbytes, npyx_error *error);

/* Takes out all but the first count names. */
void npyx_name_set_cut(npyx_name_set *set, int64_t count);

void npyx_name_set_clear(npyx_name_set *set);

#pragma GCC visibility pop

#endif
