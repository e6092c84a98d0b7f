/*
 * One array of an open archive: which one an argument means, and a .npy of it alone.
 */
#ifndef NPYEXT_MEMBER_H
#define NPYEXT_MEMBER_H

#include "core/connection.h"

/* Whether the argument is a name (TEXT), an idx (INTEGER, or a REAL without a fraction) or not given. */
npyx_status npyext_member_check(const npyext_argument *member, npyx_error *error);

/* The entry that a given argument, checked, means. NPYX_NOT_FOUND when there is none. */
npyx_status npyext_member_find(npyx_archive *archive, const npyext_argument *member, int64_t *index,
                               npyx_error *error);

/* Appends the array as numpy.save writes it; one of Python objects, which is a pickle, as it is stored. The
 * entry's own checks are made. NPYX_CORRUPT for an entry that is no array. */
npyx_status npyext_member_append_npy(npyx_archive *archive, int64_t index, npyx_buffer *out,
                                     npyx_error *error);

/* What a plan can know of a literal source: the file is opened, through the cache, while the statement is
 * prepared, and its header read. Execution finds it open. */
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
