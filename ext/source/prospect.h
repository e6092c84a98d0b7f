/*
 * What a plan can know of a literal source: the file is opened, through the cache, while the statement is
 * prepared, and its header read. Execution finds it open.
 */
#ifndef NPYEXT_PROSPECT_H
#define NPYEXT_PROSPECT_H

#include "core/connection.h"
#include "core/results.h"

typedef struct npyext_prospect {
    bool is_one_array; /* and the shape is known */
    int64_t nrows;     /* along its first axis; 1 for a 0-d array */
    int64_t nelem;
} npyext_prospect;

/* Looks at the array that a path and a member (NULL: left out) choose. Patterns, lists, BLOBs and whatever
 * fails leave everything unknown: running the statement says what is wrong. */
npyext_prospect npyext_prospect_of(npyext_connection *connection, sqlite3_value *source,
                                   sqlite3_value *member);

#endif
