/*
 * Results handed out to SQLite.
 */
#ifndef NPYEXT_RESULTS_H
#define NPYEXT_RESULTS_H

#include "arguments.h"
#include "errors.h"

/* Exactly the value that came in. */
void npyext_result_argument(sqlite3_context *context, const npyext_argument *argument);

/* Text that is JSON for SQLite's JSON functions too; copied. */
void npyext_result_json(sqlite3_context *context, const char *text, size_t nbytes);
/* The same of a finished buffer, or its failure. */
int npyext_result_json_buffer(sqlite3_context *context, const npyx_buffer *text);
void npyext_result_text(sqlite3_context *context, const char *text, size_t nbytes);
/* A BLOB; copied. bytes may be NULL where nbytes is 0: an empty BLOB all the same, of which SQLite would make
 * NULL. */
void npyext_result_blob(sqlite3_context *context, const void *bytes, size_t nbytes);

/* Appends integers as a JSON array. */
void npyext_append_json_integers(npyx_buffer *buffer, const int64_t *integers, int n);

/* What npyx_element_value made. */
void npyext_result_value(sqlite3_context *context, const npyx_value *value);
/* Items of a shape: one as a value, several as JSON. Or the error, at place. Returns SQLite's code. */
int npyext_result_items(sqlite3_context *context, npyext_place place, const npyx_dtype *dtype, int ndim,
                        const int64_t *shape, const uint8_t *items, npyx_buffer *scratch);

#endif
