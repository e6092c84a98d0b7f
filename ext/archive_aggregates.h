/*
 * The aggregates npz_archive(name, array [, method]) and ten_archive(array [, name]): a BLOB of the archive,
 * an array for each row, in the order of the rows. Their user data is the connection.
 */
#ifndef NPYEXT_ARCHIVE_AGGREGATES_H
#define NPYEXT_ARCHIVE_AGGREGATES_H

#include "bridge.h"

#pragma GCC visibility push(hidden)

void npyext_npz_archive_step(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_npz_archive_final(sqlite3_context *context);
void npyext_ten_archive_step(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_ten_archive_final(sqlite3_context *context);

#pragma GCC visibility pop

#endif
