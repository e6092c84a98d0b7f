/*
 * Scalar functions that make an array: each gives a .npy BLOB, byte for byte what numpy.save writes for the
 * same array, and NULL when an argument is NULL. Their user data is the connection.
 */
#ifndef NPYEXT_ARRAY_MAKERS_H
#define NPYEXT_ARRAY_MAKERS_H

#include "core/connection.h"
#include "core/results.h"

#pragma GCC visibility push(hidden)

/* From other things: npy_from_json(json [, dtype]), npy_from_data(blob, dtype, shape), npy_member(b, name).
 */
void npyext_from_json_function(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_from_data_function(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_member_function(sqlite3_context *context, int argc, sqlite3_value **argv);

/* From an array, a BLOB or a handle: npy_astype(a, dtype), npy_reshape(a, shape), npy_order(a, order),
 * npy_transpose(a [, axes]). */
void npyext_astype_function(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_reshape_function(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_order_function(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_transpose_function(sqlite3_context *context, int argc, sqlite3_value **argv);

#pragma GCC visibility pop

#endif
