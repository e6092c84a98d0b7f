/*
 * What outlives a transaction of a table that writes: which CREATE made the table and, for mode 'w+', whether
 * it has replaced what was at its path, and which file it continues with.
 *
 * SQLite makes its objects of a table anew whenever a schema changes, and undoes CREATE, DROP, RENAME and
 * rows without telling them. So this is a row of a TEMP table, npyext_written, keyed by the table's name:
 * SQLite rolls it back with the transaction or savepoint that it belongs to. No row, or no such table, means
 * that nothing has been written yet.
 *
 * The row says which file it is (device and inode). What the file was like when it was published, including
 * its times, is kept by the connection: the inode alone may later be another file's.
 */
#ifndef NPYEXT_WRITTEN_H
#define NPYEXT_WRITTEN_H

#include "core/connection.h"

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

/* Notes that the table writes this file. Fails as npyext_written_find. */
npyx_status npyext_written_note(npyext_connection *connection, const char *table,
                                const npyext_written *written, npyx_error *error);

/* NPYX_INVALID unless info is that of the file as it was published. */
npyx_status npyext_written_check(const npyext_written *written, const npyx_file_info *info,
                                 npyx_error *error);

/* For xRename; returns an SQLite code. */
int npyext_written_rename(sqlite3 *db, const char *table, const char *new_table);
/* For xDestroy; returns an SQLite code. */
int npyext_written_forget(sqlite3 *db, const char *table);

/* Notes what the file before is like now, or which file has taken its place; before may be NULL. */
void npyext_written_publish(npyext_connection *connection, const npyx_file_info *before,
                            const npyx_file_info *now);

#endif
