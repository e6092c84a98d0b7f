/*
 * One process, two SQLite libraries: Python's sqlite3 and apsw in a notebook, each with a SQLite of its own.
 *
 * An extension has one pointer to the routines of the library that loaded it, in a static variable, and
 * dlopen gives the second library the same object with the same variable. Calls would go to the wrong
 * library, which knows nothing of the connection. So the object serves the library that came first, and every
 * other one gets a copy of the object with variables of its own: the file is copied into memory and loaded
 * from there.
 */
#ifndef NPYEXT_SECOND_LIBRARY_H
#define NPYEXT_SECOND_LIBRARY_H

#include <sqlite3ext.h>

typedef int (*npyext_entry_function)(sqlite3 *db, char **message, const sqlite3_api_routines *api);

/* The entry point of that name of the copy that belongs to the library whose routines api are; the copy is
 * made when there is none. NULL, with a *message of that library's memory, when it cannot be. address is of
 * anything in this object. To be called by one thread at a time. */
npyext_entry_function npyext_entry_of_copy(const char *entry_point, const void *address, char **message,
                                           const sqlite3_api_routines *api);

#endif
