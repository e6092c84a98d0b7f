/*
 * What all modules and functions of one SQLite connection share, and how the codec meets SQLite: its
 * allocator, its interrupts, its word on who may use a table.
 */
#ifndef NPYEXT_CONNECTION_H
#define NPYEXT_CONNECTION_H

#include "array_memo.h"
#include "cache.h"
#include "handle.h"
#include "npyx.h"
#include "policy.h"
#include "values.h"

/* What the tables of a connection that write have published, by their names.
 *
 * SQLite makes its objects of a table anew whenever a schema changes. A table of mode 'w+' replaces what lies
 * at its path once and then adds to its own file: that it has done so is remembered here. */
typedef struct npyext_published {
    struct npyext_published *next;
    bool is_published;
    npyx_file_info info;               /* of the file as it was then */
    struct npyext_table_writer *owner; /* the object whose transaction is open; NULL: none */
    char table[];
} npyext_published;

/* Counted: each registration holds one reference. */
struct npyext_connection {
    sqlite3 *db;
    npyx_host host; /* its ctx is this struct */
    npyext_policy policy;
    npyext_cache cache;
    npyext_array_memo arrays;
    npyext_handle_key handle_key; /* random: handles mean nothing to other connections */
    npyext_published *published;  /* by its tables that write */
    int nreferences;
    int64_t probe_at_ns; /* when a native loop next asks SQLite whether to stop */
};

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

/* The record of a table, made when there is none; NULL when memory is out. Names are as SQLite's: ASCII
 * letters of either case are the same. */
npyext_published *npyext_published_of(npyext_connection *connection, const char *table);
/* Forgets a table that is made anew or dropped. */
void npyext_published_forget(npyext_connection *connection, const char *table);
/* False when memory is out. */
bool npyext_published_rename(npyext_connection *connection, const char *table, const char *new_table);
void npyext_published_clear(npyext_connection *connection);

#endif
