/*
 * Aggregates that make a BLOB of the rows of a group; npyext.c registers them.
 *
 * The order of an array is that of the rows. Their user data is the connection. None of them writes a file:
 * SQLite calls xFinal after an error too, and does not tell.
 */
#ifndef NPYEXT_AGGREGATES_H
#define NPYEXT_AGGREGATES_H

#include <sqlite3ext.h>

#pragma GCC visibility push(hidden)

/* npy_array(value [, dtype [, shape]]): scalars. */
void npyext_npy_array_step(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_npy_array_final(sqlite3_context *context);

/* npy_stack(row [, dtype]): rows along a new first axis. */
void npyext_npy_stack_step(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_npy_stack_final(sqlite3_context *context);

/* npy_records(descr, v1, v2, ...): a structured array. */
void npyext_npy_records_step(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_npy_records_final(sqlite3_context *context);

/* npz_archive(name, array [, method]): an .npz of an array a row. */
void npyext_npz_archive_step(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_npz_archive_final(sqlite3_context *context);

/* ten_archive(array [, name]): a .ten. */
void npyext_ten_archive_step(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_ten_archive_final(sqlite3_context *context);

#pragma GCC visibility pop

#endif
