/*
 * The planner: what xBestIndex promises and xFilter does, declared once.
 *
 * A table function is a constant npyext_function: its columns, in the order of its CREATE TABLE, say which
 * argument they are or what must be read for them. From that follow the schema, the plan, and what a scan
 * reads.
 *
 * idxNum is the sum of the bits below; xFilter's argv holds the given arguments in the order of their roles.
 * idxStr is the plan as a sentence, for EXPLAIN QUERY PLAN alone.
 *
 *   bits 0-7    which arguments are given, by role
 *   bits 8-15   what the columns asked for need (NPYEXT_NEEDS_*)
 *
 * Costs: a source given is one table of its estimated rows; a source left out is hopeless (1e300), so that
 * SQLite tries every other order of a join first, and is an error when it is run all the same.
 */
#ifndef NPYEXT_PLAN_H
#define NPYEXT_PLAN_H

#include "bridge.h"

#pragma GCC visibility push(hidden)

/* Arguments, in the order in which every function declares those that it takes. */
typedef enum npyext_role {
    NPYEXT_SOURCE,
    NPYEXT_MEMBER,
    NPYEXT_SLICE,
    NPYEXT_FIELD,
    NPYEXT_VIEW,
    NPYEXT_ASTYPE,
    NPYEXT_EXPECT,
    NPYEXT_ON_ERROR,
    NPYEXT_NROLES
} npyext_role;

/* What a column needs beyond the list of files and entries. */
enum {
    NPYEXT_NEEDS_HEADER = 1 << 8, /* the array's header */
    NPYEXT_NEEDS_PLACE = 1 << 9,  /* where an entry's bytes begin */
    NPYEXT_NEEDS_CRC = 1 << 10,   /* a pass through the entry */
    NPYEXT_NEEDS_ITEMS = 1 << 11  /* the array's data */
};

typedef struct npyext_column {
    const char *declaration; /* `name TYPE` */
    bool is_hidden;
    bool is_argument;
    npyext_role role; /* of an argument */
    int needs;
} npyext_column;

/* Column literals: an output, a hidden output, an argument. */
#define NPYEXT_OUTPUT(text, needed)                                                                          \
    { .declaration = (text), .needs = (needed) }
#define NPYEXT_HIDDEN(text, needed)                                                                          \
    { .declaration = (text), .is_hidden = true, .needs = (needed) }
#define NPYEXT_ARGUMENT(text, of_role)                                                                       \
    { .declaration = (text), .is_hidden = true, .is_argument = true, .role = (of_role) }
/* The last column of every function: never NULL, so that it can be a key. */
#define NPYEXT_ARRAY_KEY                                                                                     \
    { .declaration = "array_key INTEGER", .is_hidden = true }

typedef struct npyext_function {
    const char *name;
    const npyext_column *columns;
    int ncolumns;
    const char *key;       /* the PRIMARY KEY's columns */
    bool takes_member;     /* the argument chooses one array of many */
    bool has_error_column; /* on_error = 'row' is possible, and the default for many files */
    int64_t estimated_nrows;
    const sqlite3_module *module;
} npyext_function;

typedef struct npyext_vtab {
    sqlite3_vtab base;
    npyext_connection *connection;
    const npyext_function *function;
} npyext_vtab;

/* What sqlite3_create_module_v2 is given for a function; freed with npyext_registration_free. */
typedef struct npyext_registration {
    npyext_connection *connection;
    const npyext_function *function;
} npyext_registration;

npyext_registration *npyext_registration_new(npyext_connection *connection, const npyext_function *function);
void npyext_registration_free(void *registration);

/* xConnect, xBestIndex and xDisconnect of every table function. */
int npyext_connect(sqlite3 *db, void *registration, int argc, const char *const *argv, sqlite3_vtab **vtab,
                   char **message);
int npyext_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info);
int npyext_disconnect(sqlite3_vtab *vtab);

#pragma GCC visibility pop

#endif
