/*
 * CREATE VIRTUAL TABLE t USING npy(path, ...): what the files of the module share.
 *
 * A declaration is what the database keeps of a table: its arguments, its columns, and what its arrays were
 * when it was made. It lies in the shadow table, so that connecting never reads the disk. A layout is what
 * the file holds: it is made anew by every cursor and compared with the declaration, and rows are decoded by
 * it alone. Nothing that a database says is pasted into SQL or used as an offset.
 */
#ifndef NPYEXT_NPY_TABLE_H
#define NPYEXT_NPY_TABLE_H

#include "core/connection.h"

typedef enum npyext_table_argument {
    NPYEXT_TABLE_PATH,
    NPYEXT_TABLE_MEMBER,
    NPYEXT_TABLE_MEMBER_IDX, /* member=1 without quotes */
    NPYEXT_TABLE_MEMBERS,
    NPYEXT_TABLE_COLUMNS,
    NPYEXT_TABLE_SLICE,
    NPYEXT_TABLE_VIEW,
    NPYEXT_TABLE_MODE,
    /* of tables that write */
    NPYEXT_TABLE_DTYPE,
    NPYEXT_TABLE_SHAPE,
    NPYEXT_TABLE_METHOD,
    NPYEXT_TABLE_NARGUMENTS
} npyext_table_argument;

/* Their names in the shadow table. */
extern const char *const npyext_table_argument_names[NPYEXT_TABLE_NARGUMENTS];

/* A declared type. ANY is none: uint64 is INTEGER up to 2^63 - 1 and TEXT above, which the affinity of any
 * type that has one would round. */
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

/* An array as it was: another dtype or another shape behind the first axis makes it another one. */
typedef struct npyext_declared_array {
    const char *name;
    const char *form; /* `<f4[*, 128]` */
} npyext_declared_array;

/* All texts lie in the arena. */
typedef struct npyext_declaration {
    npyx_arena arena;
    const char *arguments[NPYEXT_TABLE_NARGUMENTS]; /* NULL: not given */
    int narrays;
    npyext_declared_array *arrays;
    int ncolumns;
    npyext_declared_column *columns;
} npyext_declaration;

/* Room for narrays and ncolumns in a declaration that has none. */
npyx_status npyext_declaration_reserve(npyext_declaration *declaration, int narrays, int ncolumns,
                                       npyx_error *error);

/* Reads the arguments as SQLite hands them on: raw, quotes kept. NPYX_INVALID or NPYX_NOMEM. */
npyx_status npyext_table_parse_arguments(npyext_declaration *declaration, int nraw, const char *const *raw,
                                         npyx_error *error);

/* Whether the arguments are of a table that writes: mode 'w+' or 'a'. */
bool npyext_table_is_writing(const npyext_declaration *declaration);

/* Splits a list at its commas. An item in double quotes is what stands between them, commas included. */
npyx_status npyext_table_parse_list(npyx_arena *arena, const char *text, const char ***items, int *nitems,
                                    npyx_error *error);

/* ---- the shadow table "schema"."table_npy" ---- */

/* Each returns an SQLite code. Write leaves nothing behind when it fails, but a message, to be freed with
 * sqlite3_free. */
int npyext_shadow_write(sqlite3 *db, const char *schema, const char *table,
                        const npyext_declaration *declaration, char **message);
int npyext_shadow_rename(sqlite3 *db, const char *schema, const char *table, const char *new_table);
int npyext_shadow_drop(sqlite3 *db, const char *schema, const char *table);
/* SQLITE_ERROR: what it holds is no declaration, and *error says why. */
int npyext_shadow_read(sqlite3 *db, const char *schema, const char *table, npyext_declaration *declaration,
                       npyx_error *error);

/* ---- what the file holds ---- */

typedef struct npyext_layout_array {
    int64_t index;    /* in the archive */
    npyx_entry entry; /* with no more than its name, which lies in the layout's arena */
    npyx_array array;
    const char *form; /* as npyext_declared_array has it; NULL: no file tells of the array */
    npyx_view view;
} npyext_layout_array;

typedef struct npyext_layout_column {
    const char *name;
    npyext_table_type type;
    int array;            /* which of the layout's */
    int64_t off;          /* in the array's row */
    npyx_type plain_type; /* of a scalar; NPYX_NTYPES: to be decoded by the dtype */
    const npyx_dtype *dtype;
    int ndim; /* above 0: a JSON array of this shape */
    const int64_t *shape;
} npyext_layout_column;

typedef struct npyext_layout {
    npyext_connection *connection;
    npyext_declaration *declaration;
    npyext_cached_file *file; /* that was opened; NULL: none */
    npyx_arena arena;
    bool is_side_by_side; /* a column an array */
    bool has_whole_rows;  /* rows of more than one item are one column, `row` */
    npyext_layout_array *arrays;
    int64_t narrays, capacity_narrays;
    npyext_layout_column *columns;
    int ncolumns, max_ncolumns; /* SQLite's limit */
    const npyx_entry *at;       /* the array at fault, or NULL */
} npyext_layout;

void npyext_layout_init(npyext_layout *layout, npyext_connection *connection,
                        npyext_declaration *declaration);
/* Closes the file, and makes it one that was just initialised. */
void npyext_layout_clear(npyext_layout *layout);

/* Opens the file, chooses the arrays that the arguments name, reads their headers, and makes their views,
 * whose first axes agree, and the columns of these. With is_declared each must be what the declaration says:
 * NPYX_INVALID when it is not, or when there are more columns than SQLite allows. */
npyx_status npyext_layout_read(npyext_layout *layout, bool is_declared, npyx_error *error);
/* Makes the columns of the views. */
npyx_status npyext_layout_make_columns(npyext_layout *layout, npyx_error *error);

/* For what is to be written: one array of which no file tells. dtype and shape stay the caller's. */
npyx_status npyext_layout_set_view(npyext_layout *layout, const npyx_dtype *dtype, int ndim,
                                   const int64_t *shape, npyx_error *error);

/* Writes arrays and columns down in the declaration; of no file, the columns alone. */
npyx_status npyext_layout_record(const npyext_layout *layout, npyx_error *error);

/* ---- the table ---- */

struct npyext_table_writer;

typedef struct npyext_table {
    sqlite3_vtab base;
    struct npyext_table_writer *writer; /* of a table that writes; NULL for one that reads */
    npyext_connection *connection;
    const char *schema; /* texts of the declaration's arena */
    const char *name;
    bool is_damaged; /* there is no declaration; the table can be dropped, and reading it is this error: */
    npyx_error damage;
    npyext_declaration declaration;
} npyext_table;

/* The cursor's methods. */
int npyext_table_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor);
int npyext_table_close(sqlite3_vtab_cursor *cursor);
int npyext_table_filter(sqlite3_vtab_cursor *cursor, int idx_num, const char *sentence, int argc,
                        sqlite3_value **argv);
int npyext_table_next(sqlite3_vtab_cursor *cursor);
int npyext_table_eof(sqlite3_vtab_cursor *cursor);
int npyext_table_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int number);
int npyext_table_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid);

/* CREATE VIRTUAL TABLE t USING npy(...); its client data is a registration without a definition. */
extern const sqlite3_module npyext_table_module;

#endif
