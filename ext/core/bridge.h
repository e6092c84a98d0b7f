/*
 * The bridge between SQLite and the codec: memory, interruption, errors, values.
 *
 * This is the one place where a codec status becomes an SQLite code and message, and where SQLite's values
 * are copied in and results handed out.
 */
#ifndef NPYEXT_BRIDGE_H
#define NPYEXT_BRIDGE_H

#include <sqlite3ext.h>

#include "array_memo.h"
#include "cache.h"
#include "handle.h"
#include "npyx.h"
#include "policy.h"
#include "published.h"

#pragma GCC visibility push(hidden)

SQLITE_EXTENSION_INIT3

/* What all modules and functions of one connection share. Counted: each registration holds one reference. */
typedef struct npyext_connection {
    sqlite3 *db;
    npyx_host host; /* its ctx is this struct */
    npyext_policy policy;
    npyext_cache cache;
    npyext_array_memo arrays;
    npyext_handle_key handle_key; /* random: handles mean nothing to other connections */
    npyext_published *published;  /* by its tables that write */
    int nreferences;
    int64_t probe_at_ns; /* when a native loop next asks SQLite whether to stop */
} npyext_connection;

/* With one reference; *connection is NULL on failure, whose *message is to be freed with sqlite3_free.
 * Returns an SQLite code. */
int npyext_connection_new(sqlite3 *db, npyext_entry_point entry_point, npyext_connection **connection,
                          char **message);
/* Shaped as a destructor of sqlite3_create_module_v2 and sqlite3_create_function_v2. */
void npyext_connection_release(void *connection);

/* To be called where SQLite's virtual machine hands control over for what may take long: it has itself just
 * looked for interrupts, so the codec's polls need not for the next 10 ms. */
void npyext_connection_begin(npyext_connection *connection);

/* Tells SQLite, from an xCreate or xConnect, who may use a table. flags is SQLITE_DIRECTONLY for what writes
 * files, whoever trusts their databases; 0 for what reads them, which NPYEXT_VIEWS=1 frees. Where there are
 * no files, all is innocuous. */
int npyext_declare_risk(const npyext_connection *connection, int flags);

/* Declares the columns of a table, from an xCreate or xConnect, by the CREATE TABLE statement in text, which
 * is freed. A statement beyond the host's SQLITE_LIMIT_LENGTH is SQLITE_TOOBIG. */
int npyext_declare_columns(sqlite3 *db, sqlite3_str *text);
/* Why that failed, for a message; good until the next call of the connection. */
const char *npyext_declare_reason(sqlite3 *db, int code);

/* The SQLite result code of a status. */
int npyext_code(npyx_status status);

/* Where a fault lies: both may be NULL. */
typedef struct npyext_place {
    const char *path;
    const npyx_entry *entry; /* its name is shown when it has one */
} npyext_place;

/* Sets vtab's message to `npyext: path:name: what is wrong`, or SQLite's own for an interrupt, and returns
 * the code. error is one that failed. */
int npyext_report(sqlite3_vtab *vtab, npyext_place place, const npyx_error *error);

/* The same text, to be freed with sqlite3_free; NULL when memory is out. */
char *npyext_error_text(npyext_place place, const npyx_error *error);

/* An argument, copied out of an sqlite3_value, which does not outlive xFilter. */
typedef struct npyext_argument {
    int type; /* SQLITE_INTEGER, SQLITE_TEXT, ...; 0 when the argument was left out */
    int64_t integer;
    double real;
    const char *bytes; /* of TEXT (UTF-8, NUL-terminated) and BLOB */
    size_t nbytes;
    char *owned; /* what to free: NULL for a bound BLOB, which is used in place */
} npyext_argument;

/* A BLOB bound to a parameter stays where it is until its statement is reset, which closes the cursor before:
 * it is not copied. */
npyx_status npyext_argument_copy(npyext_argument *argument, sqlite3_value *value, npyx_error *error);
void npyext_argument_clear(npyext_argument *argument);
/* Whether a copy of the value would be the same. */
bool npyext_argument_equals(const npyext_argument *argument, sqlite3_value *value);
/* Left out, or an empty text. */
bool npyext_argument_is_given(const npyext_argument *argument);
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

/* A value as the codec stores it; its bytes are SQLite's and live as long as value does unchanged. */
npyx_status npyext_value_read(sqlite3_value *value, npyx_value *read, npyx_error *error);

/* What npyx_element_value made. */
void npyext_result_value(sqlite3_context *context, const npyx_value *value);
/* Items of a shape: one as a value, several as JSON. Or the error, at place. Returns SQLite's code. */
int npyext_result_items(sqlite3_context *context, npyext_place place, const npyx_dtype *dtype, int ndim,
                        const int64_t *shape, const uint8_t *items, npyx_buffer *scratch);

/* A fault as the value of a row's column `error`: the text that ends other queries. */
void npyext_result_fault(sqlite3_context *context, npyext_place place, const npyx_error *error);

/* A failure as xColumn's result: the message on the context, the code returned. */
int npyext_result_error(sqlite3_context *context, npyext_place place, const npyx_error *error);

#pragma GCC visibility pop

#endif
