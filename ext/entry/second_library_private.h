/*
 * One process, two SQLite libraries: Python's sqlite3 and apsw in a notebook, each with an SQLite of its own.
 *
 * An extension has one pointer to the routines of the library that loaded it, in a static variable, and
 * dlopen gives the second library the same object with the same variable. Calls would go to the wrong
 * library, which knows nothing of the connection. So the object serves the library that came first, and every
 * other one gets a copy of the object with its own variables: the file is copied, into memory if possible,
 * and loaded from there.
 */
#ifndef NPYEXT_SECOND_LIBRARY_PRIVATE_H
#define NPYEXT_SECOND_LIBRARY_PRIVATE_H

#include <sqlite3ext.h>

typedef int (*npyext_entry_function)(sqlite3 *db, char **message, const sqlite3_api_routines *api);

/* The entry point of that name in the copy for the library whose routines api are; the copy is made if there
 * is none yet. On failure returns NULL, with a *message allocated by that library. address is any address in
 * this object. Call it in one thread at a time. */
npyext_entry_function npyext_entry_of_copy(const char *entry_point, const void *address, char **message,
                                           const sqlite3_api_routines *api);

#endif
