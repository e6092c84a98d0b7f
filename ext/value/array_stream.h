/*
 * Arrays that are SQL values, streamed into files and archives, in as little memory however large they are.
 */
#ifndef NPYEXT_ARRAY_STREAM_H
#define NPYEXT_ARRAY_STREAM_H

#include "source/array_value.h"

/* Appends the array as numpy.save writes it, in the order in which it lies. */
npyx_status npyext_stream_npy(npyext_array_value *value, npyx_sink *sink, npyx_error *error);

/* The name that an array is to have in an archive: a TEXT or an INTEGER; no value at all (NULL) is ''. The
 * text is the value's. */
npyx_status npyext_member_name(sqlite3_value *value, const char **name, size_t *nbytes, npyx_error *error);

/* Appends the array to an archive: in an .npz in the order in which it lies, in a .ten in C order. */
npyx_status npyext_stream_member(npyext_array_value *value, npyx_archive_writer *writer, npyx_format format,
                                 const char *name, size_t name_nbytes, npyx_zip_method method,
                                 npyx_error *error);

#endif
