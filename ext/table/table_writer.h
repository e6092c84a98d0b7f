/*
 * What a typed table with mode='w+' or 'a' writes: a .npy row by row, an .npz or a .ten array by array.
 *
 * A transaction of SQLite is one of the file: it is opened by the first row, and published by xSync, so that
 * COMMIT fails when that does; xRollback can still take it back. Where a database on disk takes part in the
 * transaction, xSync prepares the file and xCommit publishes it when that database has committed. In between
 * nobody else publishes at that path (target.h). A table of mode 'w+' replaces what is at its path once, and
 * adds to its own file in later transactions. Rows are added to a .npy in place; an .npz or a .ten is copied
 * and replaced, because its reader looks at its end, and so is a .npy with bytes behind its last item, which
 * a ROLLBACK or a crash is to leave there.
 */
#ifndef NPYEXT_TABLE_WRITER_H
#define NPYEXT_TABLE_WRITER_H

#include "npy_table.h"
#include "transaction.h"
#include "value/array_builder.h"

typedef struct npyext_table_writer {
    npyext_transaction transaction; /* its texts are the declaration's, as are these: */
    const char *const *arguments;
    npyx_format format;
    bool adds; /* mode 'a' */
    npyx_zip_method method;
    /* of a .npy: a row is all but the first dimension, which is -1 or the number of rows there shall be */
    npyx_arena arena;
    const npyx_dtype *dtype;
    int ndim;
    int64_t shape[NPYX_MAX_NDIM];
    int64_t row_nelem, row_nbytes;
    npyext_layout layout; /* its columns */
    /* of the transaction that is open */
    npyx_target target;
    size_t header_nbytes;
    int version_major;
    npyx_archive_writer *archive;
    npyext_array_builder row; /* the row at hand */
} npyext_table_writer;

/* Reads the arguments, and for mode 'a' the file's header; an object that is made anew can do without the
 * file where the arguments say enough. NULL with *error set on failure. The table outlives the writer, which
 * records its columns in its declaration. */
npyx_status npyext_table_writer_new(npyext_table *table, npyext_transaction **writer, npyx_error *error);

/* The array of so many rows that the table writes, its items and bytes counted; it borrows the dtype and is
 * not to be cleared. NPYX_CORRUPT when they cannot be counted: nobody could read it. */
npyx_status npyext_table_writer_measure(const npyext_table_writer *writer, int64_t nrows, npyx_array *array,
                                        npyx_error *error);

/* Whether an array of at least one axis has rows of the shape that the table writes. */
bool npyext_table_writer_has_rows_of(const npyext_table_writer *writer, const npyx_array *array);

/* Gives the layout of a cursor the form of the table's rows. */
void npyext_table_writer_shape_layout(const npyext_table_writer *writer, npyext_layout *layout);

extern const npyext_transaction_ops npyext_table_writer_ops;

/* Its insert. */
npyx_status npyext_table_writer_insert(npyext_transaction *transaction, sqlite3_value **values,
                                       npyx_error *error);
int64_t npyext_table_writer_next(const npyext_transaction *transaction);

/* Numbers of the usual types in the host's byte order, without the way around: most of what is ever written.
 * False for all that needs a closer look. */
bool npyext_store_plain(npyx_type type, sqlite3_value *value, uint8_t *item);

#endif
