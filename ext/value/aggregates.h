/*
 * Aggregates that make a BLOB from the rows of a group; npyext.c registers them.
 *
 * An aggregate is a constant npyext_aggregate; SQLite calls the same two functions for all of them. Items
 * have the order of the rows. None of them writes a file: SQLite calls xFinal after an error, too, and does
 * not say so.
 */
#ifndef NPYEXT_AGGREGATES_H
#define NPYEXT_AGGREGATES_H

#include "source/array_value.h"

typedef struct npyext_aggregate npyext_aggregate;

/* What SQLite keeps for a group, zero-initialised: the state of every aggregate begins with one. */
typedef struct npyext_group {
    bool has_begun;
    bool has_failed; /* the result is an error already; the final call comes all the same */
    int64_t nrows;   /* before the current one */
    const npyext_aggregate *aggregate;
    npyext_connection *connection;
    /* of SQLite's current call; the final call has no arguments */
    sqlite3_context *context;
    int argc;
    sqlite3_value **argv;
    npyext_place place; /* where an error is: in the call, unless append knows better */
} npyext_group;

struct npyext_aggregate {
    npyext_caller caller;
    const char *row_name; /* goes before a row's number in messages; NULL: append says it itself */
    npyx_format format;   /* of the BLOB */
    size_t state_nbytes;
    bool takes_none; /* without rows, the result is an empty archive; otherwise NULL, for want of a dtype */
    npyx_status (*begin)(npyext_group *group, npyx_error *error); /* before the first row, or for no rows */
    npyx_status (*append)(npyext_group *group, npyx_error *error);
    /* Called after append and the report of its error; may be NULL. */
    void (*end_row)(npyext_group *group);
    npyx_status (*finish)(npyext_group *group, npyx_error *error);
    /* For every group that was begun, even if begin failed. */
    void (*clear)(npyext_group *group);
};

/* xStep and xFinal for sqlite3_create_function_v2; their user data is an npyext_registration. */
void npyext_aggregate_step(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_aggregate_final(sqlite3_context *context);

/* npy_array(value [, dtype [, shape]]): scalars. */
extern const npyext_aggregate npyext_npy_array;
/* The xStep of npy_array: npyext_aggregate_step, but faster for plain numbers. */
void npyext_npy_array_step(sqlite3_context *context, int argc, sqlite3_value **argv);

/* npy_stack(row [, dtype]): rows along a new first axis. npy_records(descr, v1, v2, ...): a structured array.
 */
extern const npyext_aggregate npyext_npy_stack, npyext_npy_records;

/* npy_sketch_merge(sketch): one sketch from many. */
extern const npyext_aggregate npyext_npy_sketch_merge;

/* npz_archive(name, array [, method]): an .npz with an array for each row. ten_archive(array [, name]): a
 * .ten. */
extern const npyext_aggregate npyext_npz_archive, npyext_ten_archive;

#endif
