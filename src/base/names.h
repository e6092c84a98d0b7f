/*
 * Names: those of a file in the order in which they were added, and which of them is a given one; and those
 * that there are, for the message of an error about one that there is not.
 */
#ifndef NPYX_NAMES_H
#define NPYX_NAMES_H

#include "host.h"

/* Zero-initialise with the host of bytes set. */
typedef struct npyx_name_set {
    npyx_buffer bytes;               /* of all names */
    struct npyx_name_entry *entries; /* where each lies */
    int64_t count;                   /* of names */
    int64_t capacity;
    int64_t *slots; /* a hash table of entry numbers, -1 where there is none */
    size_t nslots;  /* a power of 2, or 0 */
} npyx_name_set;

/* The number of the name that was added last of all that are equal to this one, -1 when there is none.
 * *nsame, which may be NULL: how many there are. */
int64_t npyx_name_set_find(const npyx_name_set *set, const char *name, size_t nbytes, int64_t *nsame);

static inline bool npyx_name_set_has(const npyx_name_set *set, const char *name, size_t nbytes) {
    return npyx_name_set_find(set, name, nbytes, NULL) >= 0;
}

/* Name number i; not NUL-terminated. It stays until the next is added. */
const char *npyx_name_set_text(const npyx_name_set *set, int64_t i, size_t *nbytes);

/* The number of the entry of the same name that was added before number i; -1 when there is none. */
int64_t npyx_name_set_before(const npyx_name_set *set, int64_t i);

/* Copies the name; one that is there already is there twice then. NPYX_NOMEM leaves the set as it was. */
npyx_status npyx_name_set_add(npyx_name_set *set, const char *name, size_t nbytes, npyx_error *error);

/* What it takes of memory. */
size_t npyx_name_set_nbytes(const npyx_name_set *set);

/* Takes out all but the first count names. */
void npyx_name_set_cut(npyx_name_set *set, int64_t count);

void npyx_name_set_clear(npyx_name_set *set);

/* Leaves a message room for the name that was asked for. */
enum { NPYX_NAME_LIST_NBYTES = 300 };

/* Begins as zeros, and owns nothing. */
typedef struct npyx_name_list {
    char text[NPYX_NAME_LIST_NBYTES]; /* NUL-terminated; "" as long as there are no names */
    size_t nbytes;
    int64_t nmore; /* names that found no room */
} npyx_name_list;

/* Adds a name of nbytes bytes, which is shown in quotes, and cut when it is very long. */
void npyx_name_list_add(npyx_name_list *list, const char *name, size_t nbytes);

/* The list as text, which ends in `and 25 more` when not all found room. Nothing may be added then. */
const char *npyx_name_list_text(npyx_name_list *list);

#endif
