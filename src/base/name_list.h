/* The names that there are, for the message of an error about one that there is not. */
#ifndef NPYX_NAME_LIST_H
#define NPYX_NAME_LIST_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

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

#pragma GCC visibility pop

#endif
