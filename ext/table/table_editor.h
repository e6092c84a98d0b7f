/*
 * What a typed table with mode='r+' changes: rows of a .npy, in their places.
 *
 * The file itself is never written to. The first change of a transaction makes a copy of it (by the file
 * system, where that can share blocks), and all changes go into the copy (io/edit.h), which takes the file's
 * place at COMMIT. So others see the old rows until then, and a crash leaves them. Who reads the table in
 * between reads the copy.
 *
 * An UPDATE of SQLite's reads all rows that it is going to change first, and changes them then. What was read
 * and what is copied must be the same file; where another program has replaced it in between, the statement
 * fails.
 */
#ifndef NPYEXT_TABLE_EDITOR_H
#define NPYEXT_TABLE_EDITOR_H

#include "npy_table.h"
#include "transaction.h"

/* Makes the columns of the declaration, which outlives the editor, from the file's header. NULL with *error
 * set on failure: NPYX_INVALID for what is no .npy, and for arrays whose items cannot be written. */
npyx_status npyext_table_editor_new(npyext_connection *connection, const char *table,
                                    npyext_declaration *declaration, npyext_transaction **editor,
                                    npyx_error *error);

/* Notes which file a cursor of the table reads, for the editor that the transaction is of. */
void npyext_table_editor_has_read(npyext_transaction *transaction, const npyx_file_info *info);

extern const npyext_transaction_ops npyext_table_editor_ops;

#endif
