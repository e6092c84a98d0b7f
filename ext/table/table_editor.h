/*
 * What a typed table with mode='r+' changes: rows of a .npy, in place.
 *
 * The file itself is never written to. The first change of a transaction copies it (sharing blocks, if the
 * file system can), and all changes go into the copy (io/sink.h), which takes the file's place at COMMIT. So
 * others see the old rows until then, and a crash leaves them. A SELECT from the table in between reads the
 * copy.
 *
 * SQLite's UPDATE first reads all rows that it is going to change, and then changes them. What was read and
 * what is copied must be the same file; if another program has replaced it in between, the statement fails.
 */
#ifndef NPYEXT_TABLE_EDITOR_H
#define NPYEXT_TABLE_EDITOR_H

#include "npy_table.h"
#include "transaction.h"

/* Makes an editor, and the columns of the declaration from the file's header. The declaration and table must
 * outlive the editor. NPYX_INVALID for a file that is not a .npy, and for arrays whose items cannot be
 * written. */
npyx_status npyext_table_editor_new(npyext_connection *connection, const char *table,
                                    npyext_declaration *declaration, npyext_transaction **editor,
                                    npyx_error *error);

/* Notes which file a cursor of the table reads. The transaction must be an editor's. */
void npyext_table_editor_has_read(npyext_transaction *transaction, const npyx_file_info *info);

extern const npyext_transaction_ops npyext_table_editor_ops;

#endif
