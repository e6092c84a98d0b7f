/* npyext_version(), npyext_debug(), npyext_counters(): what is loaded, and what it did. */
#ifndef NPYEXT_INTROSPECTION_H
#define NPYEXT_INTROSPECTION_H

#include "core/connection.h"
#include "core/results.h"

/* Scalar functions of no arguments; their user data is the connection. */
void npyext_version_function(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_debug_function(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_counters_function(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
