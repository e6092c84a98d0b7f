/*
 * An array that is one SQL value, streamed into an archive.
 */
#ifndef NPYEXT_ARCHIVE_VALUE_H
#define NPYEXT_ARCHIVE_VALUE_H

#include "array_value.h"

#pragma GCC visibility push(hidden)

/* Writes an array (a .npy BLOB or a handle) of the given name. context: of the running function, NULL outside
 * of one. */
npyx_status npyext_archive_append(npyx_archive_writer *writer, npyext_connection *connection,
                                  sqlite3_context *context, const npyx_value *name, sqlite3_value *array,
                                  npyx_zip_method method, npyx_error *error);

#pragma GCC visibility pop

#endif
