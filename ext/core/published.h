/*
 * What the tables of a connection that write have published, by their names.
 *
 * SQLite makes its objects of a table anew whenever a schema changes. A table of mode 'w+' replaces what lies
 * at its path once and then adds to its own file: that it has done so is remembered here.
 */
#ifndef NPYEXT_PUBLISHED_H
#define NPYEXT_PUBLISHED_H

#include "npyx.h"

typedef struct npyext_connection npyext_connection; /* connection.h */

typedef struct npyext_published {
    struct npyext_published *next;
    bool is_published;
    npyx_file_info info;               /* of the file as it was then */
    struct npyext_table_writer *owner; /* the object whose transaction is open; NULL: none */
    char table[];
} npyext_published;

/* The record of a table, made when there is none; NULL when memory is out. Names are as SQLite's: ASCII
 * letters of either case are the same. */
npyext_published *npyext_published_of(npyext_connection *connection, const char *table);
/* Forgets a table that is made anew or dropped. */
void npyext_published_forget(npyext_connection *connection, const char *table);
/* False when memory is out. */
bool npyext_published_rename(npyext_connection *connection, const char *table, const char *new_table);
void npyext_published_clear(npyext_connection *connection);

#endif
