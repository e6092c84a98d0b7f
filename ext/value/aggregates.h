/*
 * Aggregates that make a BLOB of the rows of a group; npyext.c registers them.
 *
 * An aggregate is a constant npyext_aggregate; SQLite calls the same two functions for all of them. The order
 * of an array is that of the rows. None of them writes a file: SQLite calls xFinal after an error too, and
 * does not tell.
 */
#ifndef NPYEXT_AGGREGATES_H
#define NPYEXT_AGGREGATES_H

#include "source/array_value.h"

typedef struct npyext_aggregate npyext_aggregate;

/* What SQLite keeps of a group, zeros at first: an aggregate's own state begins with one. */
typedef struct npyext_group {
    bool has_begun;
    bool has_failed; /* the result is an error; the final call is made all the same */
    int64_t nrows;   /* before the one at hand */
    const npyext_aggregate *aggregate;
    npyext_connection *connection;
    /* of SQLite's call at hand; that for the result has no arguments */
    sqlite3_context *context;
    int argc;
    sqlite3_value **argv;
    npyext_place place; /* where a fault lies: the call, unless append knows better */
} npyext_group;

struct npyext_aggregate {
    npyext_caller caller;
    const char *row_name; /* what messages about a row begin with, before its number; NULL: append says it */
    npyx_format format;   /* of the BLOB */
    size_t state_nbytes;
    bool takes_none; /* a group of no rows is an archive of no arrays; of others nothing is known, and it is
                        NULL */
    npyx_status (*begin)(npyext_group *group, npyx_error *error); /* before the first row, or for no rows */
    npyx_status (*append)(npyext_group *group, npyx_error *error);
    /* After append, and what there is to say of it; may be NULL. */
    void (*end_row)(npyext_group *group);
    npyx_status (*finish)(npyext_group *group, npyx_error *error);
    /* Of a group that was begun, whether that failed or not. */
    void (*clear)(npyext_group *group);
};

/* Shaped as sqlite3_create_function_v2 has them; their user data is an npyext_registration. */
void npyext_aggregate_step(sqlite3_context *context, int argc, sqlite3_value **argv);
void npyext_aggregate_final(sqlite3_context *context);

/* npy_array(value [, dtype [, shape]]): scalars. It has a step of its own, which is npyext_aggregate_step for
 * all but plain numbers. */
extern const npyext_aggregate npyext_npy_array;
void npyext_npy_array_step(sqlite3_context *context, int argc, sqlite3_value **argv);

/* npy_stack(row [, dtype]): rows along a new first axis. npy_records(descr, v1, v2, ...): a structured array.
 */
extern const npyext_aggregate npyext_npy_stack, npyext_npy_records;

/* npy_sketch_merge(sketch): one sketch of many. */
extern const npyext_aggregate npyext_npy_sketch_merge;

/* npz_archive(name, array [, method]): an .npz of an array a row. ten_archive(array [, name]): a .ten. */
extern const npyext_aggregate npyext_npz_archive, npyext_ten_archive;

#endif
