/*
 * The transactions of a table that writes, as SQLite tells of them: how it goes from state to state, and what
 * a savepoint and the end make of what was written, whatever that is: one file, or a set of them.
 */
#ifndef NPYEXT_TRANSACTION_H
#define NPYEXT_TRANSACTION_H

#include "core/connection.h"

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
    NPYEXT_WRITER_VAIN,      /* nothing will be published */
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

typedef struct npyext_transaction npyext_transaction;

/* How far it was at a savepoint. */
typedef struct npyext_transaction_mark {
    int savepoint;
    int64_t nrows;
    void *place; /* what else there is to note, by the ops' mark */
} npyext_transaction_mark;

/* What is written. */
typedef struct npyext_transaction_ops {
    /* Opens it, and sets is_new. On failure close follows, and targets are abandoned. */
    npyx_status (*open)(npyext_transaction *transaction, const npyext_published *record, npyx_error *error);
    /* Notes how far it is, in memory of the host's; both may be NULL. */
    npyx_status (*mark)(npyext_transaction *transaction, void **place, npyx_error *error);
    void (*unmark)(npyext_transaction *transaction, void *place);
    /* Takes out the rows behind a mark. */
    npyx_status (*cut_back)(npyext_transaction *transaction, const npyext_transaction_mark *mark,
                            npyx_error *error);
    /* Makes it whole, before it is prepared; more rows may follow all the same. */
    npyx_status (*finish)(npyext_transaction *transaction, npyx_error *error);
    /* The targets that are published, one after the other, by their numbers from 0 on; NULL: there are no
     * more.
     */
    npyx_target *(*target)(npyext_transaction *transaction, int64_t number);
    /* Gives back all but the targets; what they are written by before they are closed. */
    void (*close)(npyext_transaction *transaction);
    /* The transaction has ended, and its targets are closed; NULL: there is nothing to do. record is what is
     * to be remembered of what was published, or NULL. */
    void (*closed)(npyext_transaction *transaction, npyext_published *record, bool is_published);

    /* ---- rows ---- */

    /* Adds a row; values are the columns'. *rowid is its number. Nothing is added when it fails. NULL: no row
     * can be added. */
    npyx_status (*insert)(npyext_transaction *transaction, sqlite3_value **values, int64_t *rowid,
                          npyx_error *error);
    /* The number that the next row gets. */
    int64_t (*next_rowid)(const npyext_transaction *transaction);
    /* Changes a row; a value of which sqlite3_value_nochange tells stays. When a value does not fit
     * (NPYX_INVALID), nothing is changed. NULL: no row can be changed. */
    npyx_status (*update)(npyext_transaction *transaction, int64_t rowid, sqlite3_value **values,
                          npyx_error *error);
    /* What is written, as a file of its format, to be read by who may outlive the transaction, which is open.
     * A *source of NULL is the file at the path. NULL: it cannot be read. */
    npyx_status (*read)(npyext_transaction *transaction, npyx_source **source, npyx_error *error);
    /* Rolls back. */
    void (*free)(npyext_transaction *transaction);
} npyext_transaction_ops;

/* The first member of what a table writes by. */
struct npyext_transaction {
    const npyext_transaction_ops *ops;
    npyext_connection *connection;
    const char *table; /* its name */
    const char *path;  /* for messages */
    npyext_writer_state state;
    bool is_new;         /* what is written replaces what is at its path, or nothing */
    bool has_taken_back; /* a statement that failed, or a savepoint: without rows, all stays as it is */
    int empty_savepoint; /* the one that takes AWAITED back */
    int64_t nrows;       /* that this transaction added */
    npyext_transaction_mark *marks;
    int64_t nmarks, capacity_nmarks;
    int unmarked;    /* the savepoint whose mark could not be made: nothing has followed it */
    npyx_error lost; /* of a commit that could not be told of at the time; its status is NPYX_OK when there is
                      * none */
};

static inline bool npyext_transaction_is_open(const npyext_transaction *transaction) {
    return transaction->state >= NPYEXT_WRITER_OPEN;
}

/* Goes on by an event; each but BEGIN and MARK does nothing when no transaction is open.
 *
 * SYNC opens one of no rows when an INSERT may have had none. COMMIT cannot fail as SQLite sees it: what it
 * meets (where it is the one to publish) is logged, and the error of the next BEGIN. A number of a savepoint
 * stands for all greater ones too; RETURN to where no row had been added leaves a transaction that publishes
 * nothing, unless more is added. */
npyx_status npyext_transaction_go_on(npyext_transaction *transaction, npyext_writer_event event,
                                     int savepoint, npyx_error *error);

/* Takes back what xSync has prepared or published: a COMMIT that SQLITE_BUSY has put off leaves the
 * transaction open to more. To be called before anything is written. */
void npyext_transaction_withdraw(npyext_transaction *transaction);

/* Rolls back, and gives back what a transaction itself holds. */
void npyext_transaction_clear(npyext_transaction *transaction);

#endif
