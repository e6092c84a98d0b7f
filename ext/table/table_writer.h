/*
 * What a typed table with mode='w+' or 'a' writes: a .npy row by row, an .npz or a .ten array by array.
 *
 * A transaction of SQLite is one of the file: it is opened by the first statement that writes, and published
 * by xSync, so that COMMIT fails when that does; xRollback can still take it back. Where a database on disk
 * takes part in the transaction, xSync prepares the file and xCommit publishes it when that database has
 * committed. In between nobody else publishes at that path (target.h). A table of mode 'w+' replaces what is
 * at its path once, and adds to its own file in later transactions. Rows are added to a .npy in place; an
 * .npz or a .ten is copied and replaced, because its reader looks at its end, and so is a .npy with bytes
 * behind its last item, which a ROLLBACK or a crash is to leave there.
 */
#ifndef NPYEXT_TABLE_WRITER_H
#define NPYEXT_TABLE_WRITER_H

#include "npy_table.h"
#include "value/array_builder.h"

/*
 * A transaction is in one of these states. What SQLite calls (xBegin, a row or a return to a savepoint,
 * xSync, xCommit, xRollback) brings it from one to the other; `.` is no change, and xRollback always leads to
 * CLOSED:
 *
 *                 begin   row, return   sync                commit
 *    CLOSED       OPEN    begins first  .                   .
 *    AWAITED      OPEN    begins first  begins first        .
 *    OPEN         .       .             PREPARED, VAIN      -
 *    SPOILT       .       OPEN, if returned  fails          -
 *    VAIN         .       OPEN          PREPARED, VAIN      CLOSED
 *    PREPARED     .       OPEN          PREPARED, VAIN      CLOSED
 *    SUPERSEDED   .       OPEN          PREPARED, VAIN      CLOSED
 *
 * A savepoint makes AWAITED of CLOSED, and a return to it takes that back; the sync of another table that has
 * the same path makes SUPERSEDED of PREPARED.
 */
typedef enum npyext_writer_state {
    NPYEXT_WRITER_CLOSED,
    NPYEXT_WRITER_AWAITED, /* not open, and a statement that adds rows may have run: one without rows */
    /* Those from here on have a target open. */
    NPYEXT_WRITER_OPEN,
    NPYEXT_WRITER_SPOILT,    /* going back to a savepoint has failed: the file holds rows that are none */
    NPYEXT_WRITER_VAIN,      /* nothing is to be published */
    NPYEXT_WRITER_PREPARED,  /* or published; what xCommit makes final and xRollback takes back */
    NPYEXT_WRITER_SUPERSEDED /* was prepared, and another table of the transaction has taken the path since */
} npyext_writer_state;

/* What SQLite tells a table of a transaction; of the last three with the number of a savepoint. */
typedef enum npyext_writer_event {
    NPYEXT_WRITER_BEGIN,
    NPYEXT_WRITER_SYNC,
    NPYEXT_WRITER_COMMIT,
    NPYEXT_WRITER_ROLLBACK,
    NPYEXT_WRITER_MARK,
    NPYEXT_WRITER_RELEASE,
    NPYEXT_WRITER_RETURN
} npyext_writer_event;

/* How far a file was at a savepoint. */
typedef struct npyext_writer_mark {
    int savepoint;
    int64_t nrows;
    npyx_archive_mark archive;
} npyext_writer_mark;

typedef struct npyext_table_writer {
    npyext_connection *connection;
    const char *table; /* its name, and its arguments: the declaration's texts */
    const char *const *arguments;
    const char *path;
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
    /* the transaction */
    npyext_writer_state state;
    bool is_new;         /* its file replaces what is at the path, or nothing */
    bool has_taken_back; /* a statement that failed, or a savepoint: without rows, the file stays as it is */
    int empty_savepoint; /* the one that takes AWAITED back */
    npyx_target target;
    int64_t nrows;        /* or arrays of an archive, that this transaction added */
    int64_t nrows_before; /* of a .npy that is added to */
    size_t header_nbytes;
    int version_major;
    npyx_archive_writer *archive;
    npyext_array_builder row; /* the row at hand */
    npyext_writer_mark *marks;
    int64_t nmarks, capacity_nmarks;
    int unmarked;    /* the savepoint whose mark could not be made: nothing has followed it */
    npyx_error lost; /* of a commit that could not be told of at the time; its status is NPYX_OK when there is
                      * none */
} npyext_table_writer;

/* Reads the arguments, and for mode 'a' the file's header. NULL with *error set on failure. The declaration
 * outlives the writer, which records its columns in it. */
npyx_status npyext_table_writer_new(npyext_connection *connection, const char *table,
                                    npyext_declaration *declaration, npyext_table_writer **writer,
                                    npyx_error *error);
/* Takes NULL. A transaction that is open is rolled back. */
void npyext_table_writer_free(npyext_table_writer *writer);

/* The array of so many rows that the table writes, its items and bytes counted; it borrows the dtype and is
 * not to be cleared. NPYX_CORRUPT when they cannot be counted: nobody could read it. */
npyx_status npyext_table_writer_measure(const npyext_table_writer *writer, int64_t nrows, npyx_array *array,
                                        npyx_error *error);

/* Whether an array of at least one axis has rows of the shape that the table writes. */
bool npyext_table_writer_has_rows_of(const npyext_table_writer *writer, const npyx_array *array);

static inline bool npyext_table_writer_is_open(const npyext_table_writer *writer) {
    return writer->state >= NPYEXT_WRITER_OPEN;
}

/* The number that the next row gets. */
static inline int64_t npyext_table_writer_next(const npyext_table_writer *writer) {
    return writer->nrows_before + writer->nrows;
}

/* Goes on by an event; each but BEGIN and MARK does nothing when no transaction is open.
 *
 * SYNC opens one of no rows when an INSERT may have had none. COMMIT cannot fail as SQLite sees it: what it
 * meets (where it is the one to publish) is logged, and the error of the next BEGIN. A number of a savepoint
 * stands for all greater ones too; RETURN to where no row had been added leaves a transaction that publishes
 * nothing, unless more is added. */
npyx_status npyext_table_writer_go_on(npyext_table_writer *writer, npyext_writer_event event, int savepoint,
                                      npyx_error *error);

/* Takes back what xSync has prepared or published: a COMMIT that SQLITE_BUSY has put off leaves the
 * transaction open to more. To be called before anything is written. */
void npyext_table_writer_withdraw(npyext_table_writer *writer);

/* Adds a row; values are the columns'. *rowid is its number. Nothing is added when it fails. */
npyx_status npyext_table_writer_insert(npyext_table_writer *writer, sqlite3_value **values, int64_t *rowid,
                                       npyx_error *error);

/* The error of a statement that reads the table. */
void npyext_table_writer_fail_read(const npyext_table_writer *writer, npyx_error *error);

#endif
