/*
 * Names: those of a file, in the order in which they were added, with lookup; and a list of the existing
 * names for an error message about a missing one.
 */
#ifndef NPYX_NAMES_H
#define NPYX_NAMES_H

#include "host.h"

/* Zero-initialise with the host of bytes set. */
typedef struct npyx_name_set {
    npyx_buffer bytes;               /* of all names */
    struct npyx_name_entry *entries; /* where each name is */
    int64_t count;                   /* of names */
    int64_t capacity;
    int64_t *slots; /* a hash table of entry numbers, -1 where free */
    size_t nslots;  /* a power of 2, or 0 */
} npyx_name_set;

/* The number of the last added name that equals this one, -1 when there is none. *nsame, which may be NULL:
 * how many there are. */
int64_t npyx_name_set_find(const npyx_name_set *set, const char *name, size_t nbytes, int64_t *nsame);

static inline bool npyx_name_set_has(const npyx_name_set *set, const char *name, size_t nbytes) {
    return npyx_name_set_find(set, name, nbytes, NULL) >= 0;
}

/* Name number i; not NUL-terminated. Valid until the next one is added. */
const char *npyx_name_set_text(const npyx_name_set *set, int64_t i, size_t *nbytes);

/* The number of the previous entry with the same name as number i; -1 when there is none. */
int64_t npyx_name_set_before(const npyx_name_set *set, int64_t i);

/* Copies the name; a name that is already there is then there twice. NPYX_NOMEM leaves the set unchanged. */
npyx_status npyx_name_set_add(npyx_name_set *set, const char *name, size_t nbytes, npyx_error *error);

/* The memory it occupies. */
size_t npyx_name_set_nbytes(const npyx_name_set *set);

/* Removes all but the first count names. */
void npyx_name_set_cut(npyx_name_set *set, int64_t count);

void npyx_name_set_clear(npyx_name_set *set);

/* Leaves room in a message for the requested name. */
enum { NPYX_NAME_LIST_NBYTES = 300 };

/* Zero-initialise; owns nothing. */
typedef struct npyx_name_list {
    char text[NPYX_NAME_LIST_NBYTES]; /* NUL-terminated; "" while there are no names */
    size_t nbytes;
    int64_t nmore; /* names that did not fit */
} npyx_name_list;

/* Adds a name of nbytes, shown in quotes, and cut when it is very long. */
void npyx_name_list_add(npyx_name_list *list, const char *name, size_t nbytes);

/* The list as text, ending in `and 25 more` when not all fit. Add nothing afterwards. */
const char *npyx_name_list_text(npyx_name_list *list);

#endif
