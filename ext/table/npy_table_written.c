/*
 * What a SELECT reads of a table that writes: what its open transaction has written, or else what is
 * committed. Only its own connection sees the former.
 *
 * In an .npz or a .ten, the rows are the arrays as they were inserted: a name, and a .npy BLOB.
 */

#include "npy_table.h"
#include "source/array_value.h"
#include "table_editor.h"
#include "table_writer.h"

/* In mode 'w+', what is committed is the file that the table has written itself; until then there is none.
 * NPYX_DONE: to the table, there is nothing. */
static npyx_status written_read_own(const npyext_table *table, npyext_layout *layout, npyx_error *error) {
    npyext_written written;
    NPYX_TRY(npyext_written_find(table->connection, table->name, &written, error));
    if (!written.is_there)
        return NPYX_DONE;
    npyx_status status = npyext_layout_read(layout, true, error);
    if (status == NPYX_NOT_FOUND && layout->file == NULL)
        return NPYX_DONE;
    return layout->file == NULL ? status : npyext_written_check(&written, &layout->file->info, error);
}

static npyx_status written_read_committed(const npyext_table *table, npyext_layout *layout,
                                          npyx_error *error) {
    if (table->writer->is_own)
        return written_read_own(table, layout, error);
    npyx_status status = npyext_layout_read(layout, true, error);
    if (!npyext_table_is_editing(&table->declaration))
        return status == NPYX_NOT_FOUND && layout->file == NULL ? NPYX_DONE : status;
    if (layout->file != NULL)
        npyext_table_editor_has_read(table->writer, &layout->file->info);
    return status;
}

/* Looks for the transaction that is open under the table's name, not for the table's own: SQLite makes the
 * table's object anew if a schema changes during a transaction. */
npyx_status npyext_layout_read_table(npyext_layout *layout, const npyext_table *table, npyx_error *error) {
    npyx_source *source = NULL;
    if (table->writer == NULL)
        return npyext_layout_read(layout, true, error);
    npyext_transaction *open = npyext_transaction_open_of(table->connection, table->name);
    if (!npyext_table_is_editing(&table->declaration))
        npyext_table_writer_shape_layout((const npyext_table_writer *)table->writer, layout);
    if (open == NULL)
        return written_read_committed(table, layout, error);
    NPYX_TRY(open->ops->read(open, &source, error));
    return npyext_layout_read_written(layout, source, error);
}

/* ---- arrays as rows ---- */

static npyx_status list_array(const npyext_layout *layout, int64_t index, npyx_buffer *out,
                              npyx_error *error) {
    npyx_array array;
    npyx_array_init(&array, layout->arena.host);
    npyx_status status = npyx_archive_describe(layout->archive, index, &array, error);
    bool is_no_array = status == NPYX_OK && !array.is_array;
    npyx_array_clear(&array);
    if (is_no_array)
        return NPYX_DONE;
    return npyext_member_append_npy(layout->archive, index, out, error);
}

void npyext_layout_list_column(const npyext_layout *layout, int64_t index, int number,
                               sqlite3_context *context, npyx_buffer *scratch) {
    npyext_place place = {.path = layout->declaration->arguments[NPYEXT_TABLE_PATH]};
    npyx_entry entry;
    npyx_error error;
    npyext_connection_begin(layout->connection);
    npyx_status status = npyx_archive_entry(layout->archive, index, &entry, &error);
    if (status == NPYX_OK && number == 0) {
        npyext_result_text(context, entry.name, entry.name_nbytes);
        return;
    }
    npyx_buffer_reset(scratch);
    if (status == NPYX_OK)
        status = list_array(layout, index, scratch, &error);
    if (status == NPYX_OK)
        npyext_result_blob(context, scratch->bytes, scratch->nbytes);
    else if (status != NPYX_DONE) /* NULL: a member that is not an array */
        npyext_result_error(context, place, &error);
}
