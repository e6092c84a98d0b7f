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

/* Reads the arguments, and for mode 'a' the file's header; an object that is made anew can do without the
 * file if the arguments say enough. Records the columns in the table's declaration. */
npyx_status npyext_table_writer_new(npyext_table *table, npyx_error *error);

/* Gives a cursor's layout the form of the rows of such a table. */
void npyext_table_writer_shape_layout(const npyext_transaction *writer, npyext_layout *layout);

/* Stores a number of one of the usual types, in the host's byte order, without a detour: most of what is ever
 * written. False for anything that needs a closer look. */
bool npyext_store_plain(npyx_type type, sqlite3_value *value, uint8_t *item);

/* ---- the editor ----
 * What a typed table with mode='r+' changes: existing rows of a .npy.
 *
 * The file itself is never written to. The first change of a transaction copies it (sharing blocks, if the
 * file system can), and all changes go into the copy (io/sink.h), which takes the file's place at COMMIT. So
 * others see the old rows until then, and a crash leaves them. A SELECT from the table in between reads the
 * copy.
 *
 * SQLite's UPDATE first reads all rows that it is going to change, and then changes them. What was read and
 * what is copied must be the same file; if another program has replaced it in between, the statement fails.
 */

/* Makes an editor, and the columns of the table's declaration from the file's header. NPYX_INVALID for a file
 * that is not a .npy, and for arrays whose items cannot be written. */
npyx_status npyext_table_editor_new(npyext_table *table, npyx_error *error);

/* Notes which file a cursor of the table reads. The transaction must be an editor's. */
void npyext_table_editor_has_read(npyext_transaction *transaction, const npyx_file_info *info);

#endif
