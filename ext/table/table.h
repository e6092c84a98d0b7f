/*
 * CREATE VIRTUAL TABLE t USING npy(...) or wds(...): what tables that a database keeps have in common.
 *
 * A declaration is what the database keeps of a table: its arguments, its columns, and what its arrays were
 * when it was made. It is in the shadow table, so that xConnect never reads the files. Nothing that a
 * database says is pasted into SQL or used as an offset.
 */
#ifndef NPYEXT_TABLE_H
#define NPYEXT_TABLE_H

#include "core/connection.h"
#include "scan/plan.h"
#include "transaction.h"

typedef enum npyext_table_argument {
    NPYEXT_TABLE_PATH,
    NPYEXT_TABLE_MEMBER,
    NPYEXT_TABLE_MEMBER_IDX, /* member=1 without quotes */
    NPYEXT_TABLE_MEMBERS,
    NPYEXT_TABLE_COLUMNS,
    NPYEXT_TABLE_SLICE,
    NPYEXT_TABLE_VIEW,
    NPYEXT_TABLE_MODE,
    /* for tables that write */
    NPYEXT_TABLE_DTYPE,
    NPYEXT_TABLE_SHAPE,
    NPYEXT_TABLE_METHOD,
    /* for tables of samples that write */
    NPYEXT_TABLE_MAXCOUNT,
    NPYEXT_TABLE_MAXSIZE,
    NPYEXT_TABLE_NARGUMENTS
} npyext_table_argument;

/* Their names, as typed (path and idx cannot be) and in the shadow table. */
extern const char *const npyext_table_argument_names[NPYEXT_TABLE_NARGUMENTS];

/* A declared type. ANY is none, and has no affinity: uint64 is INTEGER up to 2^63 - 1 and TEXT above, which a
 * numeric affinity would round. */
typedef enum npyext_table_type {
    NPYEXT_TABLE_ANY,
    NPYEXT_TABLE_INTEGER,
    NPYEXT_TABLE_REAL,
    NPYEXT_TABLE_TEXT,
    NPYEXT_TABLE_BLOB,
    NPYEXT_TABLE_NTYPES
} npyext_table_type;

extern const char *const npyext_table_type_names[NPYEXT_TABLE_NTYPES];

typedef struct npyext_declared_column {
    const char *name;
    npyext_table_type type;
} npyext_declared_column;

/* An array as it was: with another dtype, or another shape after the first axis, it is a different one. */
typedef struct npyext_declared_array {
    const char *name;
    const char *form; /* `<f4[*, 128]` */
} npyext_declared_array;

/* What the mode says; what the database keeps is always of a table that reads. */
typedef enum npyext_table_mode {
    NPYEXT_TABLE_READS,    /* 'r', or none */
    NPYEXT_TABLE_EDITS,    /* 'r+': changes existing rows, in a copy that replaces the file */
    NPYEXT_TABLE_REPLACES, /* 'w+': writes a new file */
    NPYEXT_TABLE_ADDS,     /* 'a': adds to one */
    NPYEXT_TABLE_NMODES
} npyext_table_mode;

/* All texts are in the arena. */
typedef struct npyext_declaration {
    npyx_arena arena;
    npyext_table_mode mode;
    const char *arguments[NPYEXT_TABLE_NARGUMENTS]; /* NULL: not given */
    int narrays;
    npyext_declared_array *arrays;
    int ncolumns;
    npyext_declared_column *columns;
} npyext_declaration;

/* Makes room for narrays and ncolumns in a declaration that has none. NPYX_NOMEM. */
npyx_status npyext_declaration_reserve(npyext_declaration *declaration, int narrays, int ncolumns,
                                       npyx_error *error);

typedef struct npyext_table_kind npyext_table_kind;

/* Reads the arguments as SQLite passes them: raw, with their quotes. NPYX_INVALID or NPYX_NOMEM. */
npyx_status npyext_table_parse_arguments(npyext_declaration *declaration, const npyext_table_kind *kind,
                                         int nraw, const char *const *raw, npyx_error *error);

/* Splits a list at its commas. An item in double quotes is what is between them, commas included. The items
 * are in the arena. NPYX_INVALID or NPYX_NOMEM. */
npyx_status npyext_table_parse_list(npyx_arena *arena, const char *text, const char ***items, int *nitems,
                                    npyx_error *error);

/* ---- the shadow table "schema"."table_npy" ----
 * Each function returns an SQLite code.
 */

/* On failure there is only a message, which must be freed with sqlite3_free. */
int npyext_shadow_write(sqlite3 *db, const char *schema, const char *table,
                        const npyext_declaration *declaration, char **message);
int npyext_shadow_rename(sqlite3 *db, const char *schema, const char *table, const char *new_table);
int npyext_shadow_drop(sqlite3 *db, const char *schema, const char *table);
/* SQLITE_ERROR: what it holds is not a declaration, and *error says why. */
int npyext_shadow_read(sqlite3 *db, const char *schema, const char *table, npyext_declaration *declaration,
                       npyx_error *error);

/* ---- the table ---- */

typedef struct npyext_table npyext_table;

/* How the tables of one module differ from those of another. */
struct npyext_table_kind {
    const char *module;
    size_t table_nbytes;         /* of a struct that begins with an npyext_table */
    unsigned arguments;          /* a bit for each that it accepts */
    const char *arguments_text;  /* for the message about an unknown one */
    const char *example;         /* a path with its quotes */
    const char *writing_example; /* the arguments of a table that writes */
    const char *editing_example; /* the same for one that changes rows; NULL: there are none */
    /* Checks that the arguments go together. */
    npyx_status (*check)(const npyext_declaration *declaration, npyx_error *error);
    /* Makes the columns of the declaration from the files. *place has the path as given; for a fault it may
     * be set to texts in the declaration's arena. */
    npyx_status (*make)(npyext_table *table, npyext_place *place, npyx_error *error);
    /* Checks that a declaration from a database is one that make could have made. */
    npyx_status (*check_declared)(const npyext_declaration *declaration, npyx_error *error);
    void (*clear)(npyext_table *table); /* or NULL */
    /* Makes the writer of a table that writes, by npyext_table_new_writer. */
    npyx_status (*make_writer)(npyext_table *table, npyx_error *error);
};

struct npyext_table {
    sqlite3_vtab base;
    const npyext_table_kind *kind;
    npyext_transaction *writer; /* of a table that writes; NULL if it reads */
    npyext_connection *connection;
    const char *schema; /* both in the declaration's arena */
    const char *name;
    bool is_damaged; /* no declaration: the table can be dropped; reading it is the error below */
    npyx_error damage;
    bool is_made_anew; /* by xConnect, for a table that was created before */
    npyext_declaration declaration;
};

/* Gives the table a writer, zero-initialised but for its transaction. NPYX_NOMEM. */
npyx_status npyext_table_new_writer(npyext_table *table, const npyext_transaction_ops *ops,
                                    npyx_error *error);

/* The methods of every such module; its client data is a registration whose definition is a kind. */
typedef int npyext_table_maker(sqlite3 *db, void *client, int argc, const char *const *argv,
                               sqlite3_vtab **vtab, char **message);
typedef int npyext_table_method(sqlite3_vtab *vtab);
typedef int npyext_table_savepoint_method(sqlite3_vtab *vtab, int savepoint);
npyext_table_maker npyext_table_create, npyext_table_connect;
npyext_table_method npyext_table_disconnect, npyext_table_destroy, npyext_table_begin, npyext_table_sync,
    npyext_table_commit, npyext_table_rollback;
npyext_table_savepoint_method npyext_table_savepoint, npyext_table_release, npyext_table_rollback_to;
int npyext_table_rename(sqlite3_vtab *vtab, const char *name);
int npyext_table_update(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid);
int npyext_table_is_shadow_name(const char *suffix);

#define NPYEXT_TABLE_METHODS                                                                                 \
    .xCreate = npyext_table_create, .xConnect = npyext_table_connect,                                        \
    .xDisconnect = npyext_table_disconnect, .xDestroy = npyext_table_destroy,                                \
    .xUpdate = npyext_table_update, .xBegin = npyext_table_begin, .xSync = npyext_table_sync,                \
    .xCommit = npyext_table_commit, .xRollback = npyext_table_rollback, .xRename = npyext_table_rename,      \
    .xSavepoint = npyext_table_savepoint, .xRelease = npyext_table_release,                                  \
    .xRollbackTo = npyext_table_rollback_to, .xShadowName = npyext_table_is_shadow_name

/* Call it when a cursor of the table is opened: rows that follow belong to another statement. */
void npyext_table_begin_statement(const npyext_table *table);

/* What a plan's terms about the rowid have as their column. */
enum { NPYEXT_TABLE_ROWID = 0 };

/* Takes the comparisons of the rowid, which are exact, into the plan and its text; returns the number of
 * rows, out of nrows, that they are likely to leave. */
double npyext_table_take_rowid(sqlite3_index_info *info, double nrows, npyext_plan *plan, sqlite3_str *text);

#endif
