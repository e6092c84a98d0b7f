/*
 * The transactions of a table that writes: how what is written, one file or a set of them, follows what
 * SQLite tells of a transaction.
 *
 * Only rows write. A file is opened by the first row that a transaction adds or changes, and when no row is
 * left of it (an error, a savepoint), all is as if it had never been opened.
 *
 * An open file belongs to the connection, which finds it by the table's name. SQLite makes its object of a
 * table anew when a schema changes; the new one goes on with the file that the old one has opened. SQLite
 * keeps the old object until the transaction ends, and tells it of everything too.
 */
#ifndef NPYEXT_TRANSACTION_H
#define NPYEXT_TRANSACTION_H

#include "io/target.h"
#include "written.h"

typedef enum npyext_transaction_state {
    NPYEXT_TRANSACTION_CLOSED, /* no rows are pending */
    NPYEXT_TRANSACTION_OPEN,
    NPYEXT_TRANSACTION_SPOILT /* rows could not be taken out again: rows and COMMIT fail until all is rolled
                               * back */
} npyext_transaction_state;

/* What SQLite tells a table of a transaction; of the last three with the number of a savepoint. */
typedef enum npyext_transaction_event {
    NPYEXT_TRANSACTION_BEGIN,
    NPYEXT_TRANSACTION_SYNC,
    NPYEXT_TRANSACTION_COMMIT,
    NPYEXT_TRANSACTION_ROLLBACK,
    NPYEXT_TRANSACTION_MARK,
    NPYEXT_TRANSACTION_RELEASE,
    NPYEXT_TRANSACTION_RETURN
} npyext_transaction_event;

typedef struct npyext_transaction npyext_transaction;

/* How far it was at a savepoint. */
typedef struct npyext_transaction_mark {
    int savepoint;
    int64_t nrows;
    void *place; /* what else there is to note, by the ops' mark */
} npyext_transaction_mark;

/* What is written. */
typedef struct npyext_transaction_ops {
    /* Opens it for the first row. On failure close follows. */
    npyx_status (*open)(npyext_transaction *transaction, npyx_error *error);
    /* Notes how far it is, in memory of the host's; NULL: there is nothing to note. */
    npyx_status (*mark)(npyext_transaction *transaction, void **place, npyx_error *error);
    /* Takes out the rows after a mark. */
    npyx_status (*cut_back)(npyext_transaction *transaction, const npyext_transaction_mark *mark,
                            npyx_error *error);
    /* Makes it whole, before it is prepared; more rows may follow all the same. */
    npyx_status (*finish)(npyext_transaction *transaction, npyx_error *error);
    /* The targets that are published, one after the other, by their numbers from 0 on; NULL: there are no
     * more. */
    npyx_target *(*target)(npyext_transaction *transaction, int64_t number);
    /* Gives back all but the targets, before they are closed; NULL: there is nothing else. */
    void (*close)(npyext_transaction *transaction);
    /* The last target, which later transactions of mode 'w+' go on with, and its number in a set. */
    npyx_target *(*last)(npyext_transaction *transaction, int64_t *number);

    /* ---- rows ---- */

    /* Adds a row; values are the columns'. Nothing is added when it fails. NULL: no row can be added. */
    npyx_status (*insert)(npyext_transaction *transaction, sqlite3_value **values, npyx_error *error);
    /* Changes a row; a value of which sqlite3_value_nochange tells stays. When a value does not fit
     * (NPYX_INVALID), nothing is changed. NULL: no row can be changed. */
    npyx_status (*update)(npyext_transaction *transaction, int64_t rowid, sqlite3_value **values,
                          npyx_error *error);
    /* What is written, as a file of its format, to be read by who may outlive the transaction, which is open.
     * NULL: it cannot be read. */
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
    bool is_own;       /* mode 'w+': what was at the path is replaced once, and then added to */
    npyext_transaction_state state;
    npyext_transaction *next; /* of those that are open */
    npyext_written written;   /* of mode 'w+': before this transaction */
    bool is_published;        /* in part at least: xCommit or xRollback follows */
    bool is_noted;            /* of mode 'w+': npyext_written tells of the file that is written */
    int64_t nrows_before;     /* of a .npy that is added to; set by open */
    int64_t nrows;            /* that this transaction has added or changed */
    bool is_statement_new;    /* a cursor was opened since the last row: it is of a statement without marks */
    npyext_transaction_mark *marks;
    int64_t nmarks, capacity_nmarks;
    int unmarked;    /* the savepoint whose mark could not be made: nothing has followed it */
    npyx_error lost; /* of a commit that could not be told of at the time; its status is NPYX_OK when there is
                      * none */
};

/* What has rows pending under the name of a table; NULL: nothing. */
npyext_transaction *npyext_transaction_open_of(const npyext_connection *connection, const char *table);

/* Goes on by an event; each but BEGIN does nothing when no rows are pending.
 *
 * COMMIT cannot fail as SQLite sees it: what it meets (where it is the one to publish) is logged, and the
 * error of the next BEGIN. A number of a savepoint stands for all greater ones too. */
npyx_status npyext_transaction_go_on(npyext_transaction *transaction, npyext_transaction_event event,
                                     int savepoint, npyx_error *error);

static inline bool npyext_transaction_is_open(const npyext_transaction *transaction) {
    return transaction->state != NPYEXT_TRANSACTION_CLOSED;
}

/* Makes the transaction one that a row can be added to or changed in; the first one opens the file. What
 * fails here is no fault of the row. insert or update follows. */
npyx_status npyext_transaction_begin_row(npyext_transaction *transaction, npyx_error *error);

/* Whether there is a mark to which changes may have to be undone, other than all of them. */
static inline bool npyext_transaction_has_mark(const npyext_transaction *transaction) {
    return transaction->nmarks > 0 && transaction->marks[transaction->nmarks - 1].nrows > 0;
}

/* Adds a row. rowid is the number that it must get, or SQL's NULL; *added is the one that it has. */
npyx_status npyext_transaction_insert(npyext_transaction *transaction, sqlite3_value *rowid,
                                      sqlite3_value **values, int64_t *added, npyx_error *error);

/* Changes a row. SQLite opens no savepoint for an UPDATE ... FROM, so a statement that fails at one of its
 * rows is undone here. */
npyx_status npyext_transaction_update(npyext_transaction *transaction, int64_t rowid, sqlite3_value **values,
                                      npyx_error *error);

/* Opens a target for the ops' open or insert. NPYX_INVALID when another table of the connection has rows
 * pending for the same file, and for one of mode 'w+' that is not as the table has written it: that target
 * is open all the same. */
npyx_status npyext_transaction_open_target(npyext_transaction *transaction, npyx_target *target,
                                           npyx_target_kind kind, const char *path, npyx_error *error);

/* Rolls back, and gives back what a transaction itself holds. */
void npyext_transaction_clear(npyext_transaction *transaction);

#endif
