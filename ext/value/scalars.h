/*
 * Scalar functions of an array: npy_shape, npy_dtype, npy_ndim, npy_size, npy_valid, npy_get, npy_get_or,
 * npy_slice, npy_json, npy_data.
 *
 * Each takes a .npy BLOB or a handle first; NULL there gives NULL. Their user data is the connection.
 */
#ifndef NPYEXT_SCALARS_H
#define NPYEXT_SCALARS_H

#include "core/connection.h"
#include "core/results.h"

#pragma GCC visibility push(hidden)

void npyext_shape_function(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_dtype_function(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_ndim_function(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_size_function(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_valid_function(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_get_function(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_get_or_function(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_slice_function(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_json_function(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_data_function(sqlite3_context *context, int argc, sqlite3_value **argv);

#pragma GCC visibility pop

#endif
