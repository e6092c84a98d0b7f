/*
 * Values that SQLite hands in, copied or as the codec stores them.
 */
#ifndef NPYEXT_ARGUMENTS_H
#define NPYEXT_ARGUMENTS_H

#include <sqlite3ext.h>

#include "npyx.h"

SQLITE_EXTENSION_INIT3

/* An argument, copied out of an sqlite3_value, which does not outlive xFilter. */
typedef struct npyext_argument {
    int type; /* SQLITE_INTEGER, SQLITE_TEXT, ...; 0 when the argument was left out */
    int64_t integer;
    double real;
    const char *bytes; /* of TEXT (UTF-8, NUL-terminated) and BLOB */
    size_t nbytes;
    char *owned; /* what to free: NULL for a bound BLOB, which is used in place */
} npyext_argument;

/* A BLOB bound to a parameter stays where it is until its statement is reset, which closes the cursor before:
 * it is not copied. */
npyx_status npyext_argument_copy(npyext_argument *argument, sqlite3_value *value, npyx_error *error);
void npyext_argument_clear(npyext_argument *argument);
/* Whether a copy of the value would be the same. */
bool npyext_argument_equals(const npyext_argument *argument, sqlite3_value *value);
/* Left out, or an empty text. */
bool npyext_argument_is_given(const npyext_argument *argument);
/* A value as the codec stores it; its bytes are SQLite's and live as long as value does unchanged. */
npyx_status npyext_value_read(sqlite3_value *value, npyx_value *read, npyx_error *error);

#endif
