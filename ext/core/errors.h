/*
 * Errors of the codec as SQLite's: the one place where a status becomes a code and a message.
 */
#ifndef NPYEXT_ERRORS_H
#define NPYEXT_ERRORS_H

#include <sqlite3ext.h>

#include "npyx.h"

SQLITE_EXTENSION_INIT3

/* The SQLite result code of a status. */
int npyext_code(npyx_status status);

/* Where a fault lies: both may be NULL. */
typedef struct npyext_place {
    const char *path;
    const npyx_entry *entry; /* its name is shown when it has one */
} npyext_place;

/* Sets vtab's message to `npyext: path:name: what is wrong`, or SQLite's own for an interrupt, and returns
 * the code. error is one that failed. */
int npyext_report(sqlite3_vtab *vtab, npyext_place place, const npyx_error *error);

/* The same text, to be freed with sqlite3_free; NULL when memory is out. */
char *npyext_error_text(npyext_place place, const npyx_error *error);

/* A fault as the value of a row's column `error`: the text that ends other queries. */
void npyext_result_fault(sqlite3_context *context, npyext_place place, const npyx_error *error);

/* A failure as xColumn's result: the message on the context, the code returned. */
int npyext_result_error(sqlite3_context *context, npyext_place place, const npyx_error *error);

#endif
