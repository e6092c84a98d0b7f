/*
 * CREATE VIRTUAL TABLE t USING npy(path, ...): what the files of the module share.
 *
 * A layout is what the file holds: it is made anew by every cursor and compared with the declaration, and
 * rows are decoded by it alone.
 */
#ifndef NPYEXT_NPY_TABLE_H
#define NPYEXT_NPY_TABLE_H

#include "table.h"

/* ---- what the file holds ---- */

typedef struct npyext_layout_array {
    int64_t index;    /* in the archive */
    npyx_entry entry; /* with no more than its name, which lies in the layout's arena */
    npyx_array array;
    const char *form; /* as npyext_declared_array has it; NULL: no file tells of the array */
    npyx_view view;
    npyx_source *items; /* of an array of objects that a cursor reads; NULL for others */
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
    npyx_archive *archive;    /* the file's, or the layout's own where there is no file */
    npyx_arena arena;
    bool is_side_by_side; /* a column an array */
    bool reads_values;    /* it is a cursor's */
    bool has_whole_rows;  /* rows of more than one item are one column, `row` */
    bool lists_arrays;    /* a row is an array: its name, and all of it */
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
/* The same of what a transaction has written: its source, which is the layout's from here on, closed on
 * failure, too. */
npyx_status npyext_layout_read_written(npyext_layout *layout, npyx_source *source, npyx_error *error);
/* Makes the columns of the views. */
npyx_status npyext_layout_make_columns(npyext_layout *layout, npyx_error *error);

/* For what will be written: one array of which no file tells. dtype and shape stay the caller's. */
npyx_status npyext_layout_set_view(npyext_layout *layout, const npyx_dtype *dtype, int ndim,
                                   const int64_t *shape, npyx_error *error);

/* Whether the columns are the items of a row: those along the second axis of a single array of two. */
bool npyext_layout_has_columns_of_items(const npyext_layout *layout);

/* Writes arrays and columns down in the declaration; of no file, the columns alone. */
npyx_status npyext_layout_record(const npyext_layout *layout, npyx_error *error);

/* ---- what tables that write have written ---- */

/* npyext_layout_read for a cursor of the table: of one that writes, what a transaction has written so far.
 * NPYX_DONE: the table is empty, and there is no file. */
npyx_status npyext_layout_read_table(npyext_layout *layout, const npyext_table *table, npyx_error *error);

/* A column of a row of a layout that lists_arrays: name, array. */
void npyext_layout_list_column(const npyext_layout *layout, int64_t index, int number,
                               sqlite3_context *context, npyx_buffer *scratch);

/* ---- the table ---- */

/* The cursor's methods. */
int npyext_table_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor);
int npyext_table_close(sqlite3_vtab_cursor *cursor);
int npyext_table_filter(sqlite3_vtab_cursor *cursor, int idx_num, const char *sentence, int argc,
                        sqlite3_value **argv);
int npyext_table_next(sqlite3_vtab_cursor *cursor);
int npyext_table_eof(sqlite3_vtab_cursor *cursor);
int npyext_table_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int number);
int npyext_table_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid);

/* CREATE VIRTUAL TABLE t USING npy(...). */
extern const npyext_table_kind npyext_npy_table_kind;
extern const sqlite3_module npyext_table_module;

#endif
