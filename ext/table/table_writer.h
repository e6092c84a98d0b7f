/*
 * What a typed table with mode='w+' or 'a' writes: a .npy row by row, an .npz or a .ten array by array.
 *
 * The file follows SQLite's transaction: the first row opens it, and xSync publishes it, so that a failure
 * makes COMMIT fail; xRollback can still take it back. If a database on disk takes part in the transaction,
 * xSync only prepares the file, and xCommit publishes it once that database has committed. In between nobody
 * else publishes at that path (target.h).
 *
 * A table of mode 'w+' replaces what is at its path once, and adds to its own file in later transactions.
 * Rows are added to a .npy in place. An .npz or a .ten is copied and replaced, because its readers start at
 * its end; so is a .npy with bytes after its last item, which must survive a ROLLBACK or a crash.
 */
#ifndef NPYEXT_TABLE_WRITER_H
#define NPYEXT_TABLE_WRITER_H

#include "npy_table.h"
#include "transaction.h"
#include "value/array_builder.h"

typedef struct npyext_table_writer {
    npyext_transaction transaction; /* borrows its texts from the declaration */
    const char *const *arguments;   /* likewise */
    npyx_format format;
    bool adds; /* mode 'a' */
    npyx_zip_method method;
    /* for a .npy: a row is all axes but the first, which is -1 or the number of rows that there must be */
    npyx_arena arena;
    const npyx_dtype *dtype;
    int ndim;
    int64_t shape[NPYX_MAX_NDIM];
    int64_t row_nelem, row_nbytes;
    npyext_layout layout; /* its columns */
    /* for the open transaction */
    npyx_target target;
    size_t header_nbytes;
    int version_major;
    npyx_archive_writer *archive;
    npyext_array_builder row; /* the current row */
} npyext_table_writer;

/* Reads the arguments, and for mode 'a' the file's header; an object that is made anew can do without the
 * file if the arguments say enough. The table must outlive the writer, which records its columns in the
 * table's declaration. On failure *writer is NULL. */
npyx_status npyext_table_writer_new(npyext_table *table, npyext_transaction **writer, npyx_error *error);

/* Measures the array of nrows rows that the table writes: its items and bytes. It borrows the dtype and must
 * not be cleared. NPYX_CORRUPT if they cannot be counted, since nothing could read such an array. */
npyx_status npyext_table_writer_measure(const npyext_table_writer *writer, int64_t nrows, npyx_array *array,
                                        npyx_error *error);

/* Whether an array of at least one axis has rows of the shape that the table writes. */
bool npyext_table_writer_has_rows_of(const npyext_table_writer *writer, const npyx_array *array);

/* Gives a cursor's layout the form of the table's rows. */
void npyext_table_writer_shape_layout(const npyext_table_writer *writer, npyext_layout *layout);

extern const npyext_transaction_ops npyext_table_writer_ops;

/* The ops' insert. */
npyx_status npyext_table_writer_insert(npyext_transaction *transaction, sqlite3_value **values,
                                       npyx_error *error);
/* The number of the next row. */
int64_t npyext_table_writer_next(const npyext_transaction *transaction);

/* Stores a number of one of the usual types, in the host's byte order, without a detour: most of what is ever
 * written. False for anything that needs a closer look. */
bool npyext_store_plain(npyx_type type, sqlite3_value *value, uint8_t *item);

#endif
