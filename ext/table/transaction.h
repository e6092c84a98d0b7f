/*
 * The transactions of a table that writes: how what it writes, one file or a set of them, follows SQLite's
 * transactions.
 *
 * Only rows write. The first row that a transaction adds or changes opens the file; if no row is left (after
 * an error, or at a savepoint), all is as if it had never been opened.
 *
 * An open file belongs to the connection, which finds it by the table's name. SQLite makes its object of a
 * table anew when a schema changes; the new one continues with the file that the old one opened. SQLite keeps
 * the old object until the transaction ends, and tells it of every event, too.
 */
#ifndef NPYEXT_TRANSACTION_H
#define NPYEXT_TRANSACTION_H

#include "core/connection.h"
#include "io/target.h"

/* ---- what outlives a transaction ----
 *
 * Which CREATE made the table and, for mode 'w+', whether it has replaced what was at its path, and which
 * file it continues with.
 *
 * SQLite makes its objects of a table anew whenever a schema changes, and undoes CREATE, DROP, RENAME and
 * rows without telling them. So this is a row of a TEMP table, npyext_written, keyed by the table's name:
 * SQLite rolls it back with the transaction or savepoint that it belongs to. No row, or no such table, means
 * that nothing has been written yet.
 *
 * The row says which file it is (device and inode). What the file was like when it was published, including
 * its times, is kept by the connection: the inode alone may later be another file's.
 */

typedef struct npyext_written {
    int64_t made;  /* which CREATE of the connection, from 1; 0: there is no row */
    bool is_there; /* false: nothing has been written yet */
    npyx_file_info info;
    bool has_info;  /* this connection published the file; otherwise info has only device and inode */
    int64_t number; /* of the last of several shards; else 0 */
} npyext_written;

/* Makes the TEMP table if there is none, and the row for a new table. Returns an SQLite code. */
int npyext_written_create(npyext_connection *connection, const char *table);

/* Finds what the table of that name has written. NPYX_NOMEM or NPYX_INTERRUPTED, or NPYX_IO if the TEMP table
 * cannot be used. */
npyx_status npyext_written_find(npyext_connection *connection, const char *table, npyext_written *written,
                                npyx_error *error);

/* NPYX_INVALID unless info is that of the file as it was published. */
npyx_status npyext_written_check(const npyext_written *written, const npyx_file_info *info,
                                 npyx_error *error);

/* For xRename; returns an SQLite code. */
int npyext_written_rename(sqlite3 *db, const char *table, const char *new_table);
/* For xDestroy; returns an SQLite code. */
int npyext_written_forget(sqlite3 *db, const char *table);

/* ---- a transaction ---- */

typedef enum npyext_transaction_state {
    NPYEXT_TRANSACTION_CLOSED, /* no rows are pending */
    NPYEXT_TRANSACTION_OPEN,
    NPYEXT_TRANSACTION_SPOILT /* rows could not be removed: rows and COMMIT fail until all is rolled back */
} npyext_transaction_state;

typedef struct npyext_transaction npyext_transaction;

/* How far a transaction was at a savepoint. */
typedef struct npyext_transaction_mark {
    int savepoint;
    int64_t nrows;
    void *place; /* anything else that the ops' mark notes */
} npyext_transaction_mark;

/* What differs between the kinds of writers. */
typedef struct npyext_transaction_ops {
    size_t nbytes; /* of the writer, which begins with an npyext_transaction */
    /* Opens what is written, for the first row. On failure close follows. */
    npyx_status (*open)(npyext_transaction *transaction, npyx_error *error);
    /* Notes how far it is, in memory of the host; NULL: there is nothing else to note. */
    npyx_status (*mark)(npyext_transaction *transaction, void **place, npyx_error *error);
    /* Removes the rows after a mark. */
    npyx_status (*cut_back)(npyext_transaction *transaction, const npyext_transaction_mark *mark,
                            npyx_error *error);
    /* Completes what is written, before it is prepared; more rows may follow all the same. */
    npyx_status (*finish)(npyext_transaction *transaction, npyx_error *error);
    /* Releases everything but the targets, before they are closed; NULL: there is nothing else. */
    void (*close)(npyext_transaction *transaction);

    /* ---- rows ---- */

    /* Adds a row; values are those of the columns. On failure nothing is added. NULL: rows cannot be
     * added. */
    npyx_status (*insert)(npyext_transaction *transaction, sqlite3_value **values, npyx_error *error);
    /* Changes a row; a value with sqlite3_value_nochange stays. If a value does not fit (NPYX_INVALID),
     * nothing is changed. NULL: rows cannot be changed. */
    npyx_status (*update)(npyext_transaction *transaction, int64_t rowid, sqlite3_value **values,
                          npyx_error *error);
    /* What an open transaction has written, as a file of its format. The source may outlive the transaction.
     * NULL: it cannot be read. */
    npyx_status (*read)(npyext_transaction *transaction, npyx_source **source, npyx_error *error);
    /* Releases what the writer holds besides, after a rollback; NULL: nothing. */
    void (*clear)(npyext_transaction *transaction);
} npyext_transaction_ops;

/* The first member of every writer. */
struct npyext_transaction {
    const npyext_transaction_ops *ops;
    npyext_connection *connection;
    const char *table; /* the table's name */
    const char *path;  /* as given: of one file, or of a set */
    bool is_own;       /* mode 'w+': what was at the path is replaced once, and then added to */
    npyext_transaction_state state;
    npyext_transaction *next; /* in the connection's list of open ones */
    npyext_written written;   /* mode 'w+': as before this transaction */
    npyx_target *targets;     /* published one after the other */
    int64_t ntargets, capacity_ntargets;
    int64_t number;        /* of the last one, if they are shards of a set; otherwise 0 */
    bool is_published;     /* at least in part: xCommit or xRollback follows */
    bool is_noted;         /* mode 'w+': npyext_written knows the file that is written */
    int64_t nrows_before;  /* in a .npy that is added to; set by open */
    int64_t nrows;         /* added or changed by this transaction */
    bool is_statement_new; /* a cursor was opened since the last row: a statement without marks */
    npyext_transaction_mark *marks;
    int64_t nmarks, capacity_nmarks;
    int unmarked;    /* the savepoint whose mark could not be made; nothing has followed it */
    npyx_error lost; /* of a commit that could not report it; its status is NPYX_OK if there is none */
};

/* The transaction with rows pending under a table's name; NULL if there is none. One whose table is gone is
 * rolled back. */
npyext_transaction *npyext_transaction_open_of(npyext_connection *connection, const char *table);

/* What SQLite tells a table about a transaction, by the methods of the same names; each except begin requires
 * that the transaction is open.
 *
 * For SQLite, COMMIT cannot fail: an error of xCommit (where it is the one to publish) is logged, and
 * returned by the next BEGIN. The number of a savepoint stands for all greater ones, too. */
typedef npyx_status npyext_transaction_event(npyext_transaction *transaction, int savepoint,
                                             npyx_error *error);
npyext_transaction_event npyext_transaction_begin, npyext_transaction_sync, npyext_transaction_commit,
    npyext_transaction_rollback, npyext_transaction_savepoint, npyext_transaction_release,
    npyext_transaction_rollback_to;

static inline bool npyext_transaction_is_open(const npyext_transaction *transaction) {
    return transaction->state != NPYEXT_TRANSACTION_CLOSED;
}

/* Prepares the transaction for a row to be added or changed; the first one opens the file. A failure here is
 * not the row's fault. insert or update follows. */
npyx_status npyext_transaction_begin_row(npyext_transaction *transaction, npyx_error *error);

/* Whether changes may have to be undone to a mark other than the beginning. */
static inline bool npyext_transaction_has_mark(const npyext_transaction *transaction) {
    return transaction->nmarks > 0 && transaction->marks[transaction->nmarks - 1].nrows > 0;
}

/* Adds a row. rowid is the number that it must get, or an SQL NULL; *added is the one that it got.
 * NPYX_INVALID for a row that does not fit. On failure the transaction is rolled back if it has no other
 * rows. */
npyx_status npyext_transaction_insert(npyext_transaction *transaction, sqlite3_value *rowid,
                                      sqlite3_value **values, int64_t *added, npyx_error *error);

/* Changes a row. SQLite opens no savepoint for an UPDATE ... FROM, so a statement that fails at one of its
 * rows is undone here. */
npyx_status npyext_transaction_update(npyext_transaction *transaction, int64_t rowid, sqlite3_value **values,
                                      npyx_error *error);

/* Adds a target and opens it, for the ops' open or insert; target has the caller's choices for
 * npyx_target_open. On failure none is added. NPYX_INVALID if another table of the connection has rows
 * pending for the same file, and, in mode 'w+', for a file that is not as the table wrote it. */
npyx_status npyext_transaction_add_target(npyext_transaction *transaction, npyx_target target,
                                          npyx_target_kind kind, const char *path, npyx_error *error);
/* Abandons the last target. */
void npyext_transaction_drop_target(npyext_transaction *transaction);

/* Of an open transaction. Later transactions of mode 'w+' continue with it. */
static inline npyx_target *npyext_transaction_last_target(const npyext_transaction *transaction) {
    return &transaction->targets[transaction->ntargets - 1];
}

/* Rolls back, and frees the writer. */
void npyext_transaction_free(npyext_transaction *transaction);

#endif
