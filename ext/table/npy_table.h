/*
 * CREATE VIRTUAL TABLE t USING npy(path, ...): what the files of the module share.
 *
 * A layout is how the arrays of a file become columns. Every cursor makes it anew from the file and compares
 * it with the declaration; rows are decoded by the layout alone.
 */
#ifndef NPYEXT_NPY_TABLE_H
#define NPYEXT_NPY_TABLE_H

#include "table.h"

/* ---- what the file holds ---- */

typedef struct npyext_layout_array {
    int64_t index;    /* in the archive */
    npyx_entry entry; /* only its name, which is in the layout's arena */
    npyx_array array;
    const char *form; /* as in npyext_declared_array; NULL: no file has the array */
    npyx_view view;
    npyx_source *items; /* the values of an array of objects, for a cursor; NULL otherwise */
} npyext_layout_array;

typedef struct npyext_layout_column {
    const char *name;
    npyext_table_type type;
    int array;            /* its index in the layout */
    int64_t off;          /* in the array's row, in bytes */
    npyx_type plain_type; /* of a scalar; NPYX_NTYPES: decoded by the dtype */
    const npyx_dtype *dtype;
    int ndim; /* above 0: values are JSON arrays of this shape */
    const int64_t *shape;
} npyext_layout_column;

typedef struct npyext_layout {
    npyext_connection *connection;
    npyext_declaration *declaration;
    npyext_cached_file *file; /* the file that is open; NULL: none */
    npyx_archive *archive;    /* the file's, or the layout's own if there is no file */
    npyx_arena arena;
    bool is_side_by_side; /* one column per array */
    bool reads_values;    /* for a cursor: opens the values of objects */
    bool has_whole_rows;  /* rows of several items are one column, `row` */
    bool lists_arrays;    /* each row is an array: its name, and all of it */
    npyext_layout_array *arrays;
    int64_t narrays, capacity_narrays;
    npyext_layout_column *columns;
    int ncolumns, max_ncolumns; /* the latter is SQLite's limit */
    const npyx_entry *at;       /* the array at fault, or NULL */
} npyext_layout;

void npyext_layout_init(npyext_layout *layout, npyext_connection *connection,
                        npyext_declaration *declaration);
/* Closes the file and resets the layout to what npyext_layout_init made. */
void npyext_layout_clear(npyext_layout *layout);

/* Opens the file, chooses the arrays that the arguments name, reads their headers, and makes their views,
 * whose first axes must agree, and the columns. If is_declared, all must be as the declaration says.
 * NPYX_INVALID if something is not, or if there are more columns than SQLite allows; layout->at is then the
 * array at fault, if it is one array's. */
npyx_status npyext_layout_read(npyext_layout *layout, bool is_declared, npyx_error *error);
/* The same for what a transaction has written. The layout takes over source, even on failure. */
npyx_status npyext_layout_read_written(npyext_layout *layout, npyx_source *source, npyx_error *error);
/* Makes the columns from the views. */
npyx_status npyext_layout_make_columns(npyext_layout *layout, npyx_error *error);

/* For a file yet to be written: adds one array that no file has. dtype and shape stay the caller's. */
npyx_status npyext_layout_set_view(npyext_layout *layout, const npyx_dtype *dtype, int ndim,
                                   const int64_t *shape, npyx_error *error);

/* Whether the columns are the items of a row, that is, those along the second axis of a single array of
 * two. */
bool npyext_layout_has_columns_of_items(const npyext_layout *layout);

/* Whether the items of a row of the view are side by side in the file, in C order. */
bool npyext_view_has_solid_rows(const npyx_view *view);

/* Writes arrays and columns to the declaration; arrays that no file has are left out. */
npyx_status npyext_layout_record(const npyext_layout *layout, npyx_error *error);

/* ---- the table ---- */

/* CREATE VIRTUAL TABLE t USING npy(...). */
extern const npyext_table_kind npyext_npy_table_kind;
extern const sqlite3_module npyext_table_module;

#endif
