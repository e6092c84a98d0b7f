/*
 * What outlives a transaction of a table that writes: which CREATE has made it, and of mode 'w+' that it has
 * replaced what was at its path, and which file it goes on with.
 *
 * SQLite makes its objects of a table anew whenever a schema changes, and undoes CREATE, DROP, RENAME and
 * rows without telling them. So this is a row of a TEMP table, npyext_written, keyed by the table's name:
 * SQLite takes it back with the transaction or savepoint that it belongs to. No row, or no such table, means
 * that nothing was written yet.
 *
 * The row says which file (device and inode). What the file was like when it was published, its times
 * included, is known to the connection: an inode alone may be used for another file later.
 */
#ifndef NPYEXT_WRITTEN_H
#define NPYEXT_WRITTEN_H

#include "core/connection.h"

typedef struct npyext_written {
    int64_t made;  /* which CREATE of the connection, from 1 on; 0: there is no row */
    bool is_there; /* false: nothing was written yet */
    npyx_file_info info;
    bool has_info;  /* it was published by this connection; else info has only device and inode */
    int64_t number; /* of the last of several shards; else 0 */
} npyext_written;

/* Makes the TEMP table if there is none, and the row of a new table. An SQLite code. */
int npyext_written_create(npyext_connection *connection, const char *table);

/* What the table of that name has written. NPYX_NOMEM or NPYX_INTERRUPTED. */
npyx_status npyext_written_find(npyext_connection *connection, const char *table, npyext_written *written,
                                npyx_error *error);

/* Notes that the table writes this file. */
npyx_status npyext_written_note(npyext_connection *connection, const char *table,
                                const npyext_written *written, npyx_error *error);

/* Whether info is that of the file as it was published: NPYX_INVALID if not. */
npyx_status npyext_written_check(const npyext_written *written, const npyx_file_info *info,
                                 npyx_error *error);

/* For xRename and xDestroy. An SQLite code. */
int npyext_written_rename(sqlite3 *db, const char *table, const char *new_table);
int npyext_written_forget(sqlite3 *db, const char *table);

/* What the file before is now like, or which one has taken its place; before may be NULL. */
void npyext_written_publish(npyext_connection *connection, const npyx_file_info *before,
                            const npyx_file_info *now);

#endif
