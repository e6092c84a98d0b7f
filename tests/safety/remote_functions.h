/* A host of URLs in C, for programs that test the extension. */
#ifndef REMOTE_FUNCTIONS_H
#define REMOTE_FUNCTIONS_H

#include <sqlite3.h>

/* Defines the three functions; returns an SQLite code. */
int define_remote_functions(sqlite3 *db);

#endif
