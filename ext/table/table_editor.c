/* The editor of a table that changes rows in place (table_writer.h). */

#include "io/sink.h"
#include "table_writer.h"

/* Where the items of a column are in the file. */
typedef struct editor_column {
    int64_t cell_off;    /* of its new items, in the row that is put together */
    int64_t cell_nbytes; /* of those items */
    int64_t off;         /* of the first item of row 0 */
    int ndim;            /* axes of a cell whose items are apart; 0: they are contiguous */
    bool is_field;       /* it is a field of a structured item */
    npyx_edit_line line;
} editor_column;

typedef struct table_editor {
    npyext_transaction transaction; /* borrows its texts from the declaration */
    npyx_file_info read_info;       /* of the file that was read last */
    bool has_read;
    /* for the open transaction */
    npyx_edit edit;
    npyext_layout layout; /* of the copy */
    npyx_arena arena;
    editor_column *columns;
    uint8_t *cells;           /* the new items of a row */
    npyext_array_builder row; /* converts arrays to such items */
} table_editor;

static table_editor *editor_of(npyext_transaction *transaction) {
    return (table_editor *)transaction;
}

/* ---- where items are ---- */

/* Extends a range of bytes along an axis, from its first item to its last; a negative stride extends it
 * downward. */
static void editor_stretch(const npyx_view *view, int axis, int64_t *low, int64_t *high) {
    int64_t last = view->shape[axis] > 0 ? (view->shape[axis] - 1) * view->strides[axis] : 0;
    *low += last < 0 ? last : 0;
    *high += last > 0 ? last : 0;
}

/* Columns of an array in Fortran order are far apart, each in a range of its own, so each has a window. The
 * items of all others are neighbours. */
static npyx_edit_line editor_line(const npyx_view *view, int64_t off, bool is_apart, int number) {
    npyx_edit_line line = {.window = number % NPYX_EDIT_MAX_NWINDOWS, .off = off, .end_off = off};
    for (int axis = 0; axis < (is_apart ? 1 : view->ndim); axis++)
        editor_stretch(view, axis, &line.off, &line.end_off);
    line.end_off += view->dtype->itemsize;
    return line;
}

static int64_t magnitude(int64_t value) {
    return value < 0 ? -value : value;
}

/* Where a column is. array_off is the array's position in the file, which the view's offsets count from. */
static editor_column editor_place(const npyext_layout *layout, int number, int64_t array_off) {
    const npyext_layout_column *column = &layout->columns[number];
    const npyx_view *view = &layout->arrays[column->array].view;
    bool is_item_of_row = npyext_layout_has_columns_of_items(layout);
    bool is_apart = is_item_of_row && magnitude(view->strides[1]) > magnitude(view->strides[0]);
    editor_column placed = {.off = array_off + view->off,
                            .is_field = !layout->is_side_by_side && view->ndim == 1 &&
                                        view->dtype->type == NPYX_STRUCT};
    placed.cell_nbytes = column->dtype->itemsize;
    for (int axis = 0; axis < column->ndim; axis++)
        placed.cell_nbytes *= column->shape[axis];
    if (is_item_of_row)
        placed.off += number * view->strides[1];
    else if (column->ndim > 0 && column->ndim == view->ndim - 1 && !npyext_view_has_solid_rows(view))
        placed.ndim = column->ndim;
    placed.line = editor_line(view, is_apart ? placed.off : array_off + view->off, is_apart,
                              layout->is_side_by_side ? column->array
                              : is_apart              ? number
                                                      : 0);
    placed.off += placed.is_field ? column->off : 0;
    return placed;
}

static npyx_status editor_place_columns(table_editor *editor, npyx_error *error) {
    const npyext_layout *layout = &editor->layout;
    int64_t nbytes = 0;
    editor->columns = npyx_arena_array(&editor->arena, layout->ncolumns, sizeof editor->columns[0]);
    NPYX_TRY(npyx_check_memory(editor->columns, error));
    for (int i = 0; i < layout->ncolumns; i++) {
        const npyext_layout_array *array = &layout->arrays[layout->columns[i].array];
        int64_t array_off = 0;
        NPYX_TRY(npyx_archive_locate(layout->archive, array->index, &array_off, error));
        editor->columns[i] = editor_place(layout, i, array_off);
        editor->columns[i].cell_off = nbytes;
        nbytes += editor->columns[i].cell_nbytes;
        if (nbytes > npyext_max_nbytes(layout->connection))
            return npyx_refuse(error, "a row has more bytes than a value in SQLite may have");
    }
    editor->cells = npyx_arena_alloc(&editor->arena, (size_t)nbytes);
    return npyx_check_memory(editor->cells, error);
}

/* ---- the copy ---- */

/* Closes what reads and writes the copy, but not the target. */
static void editor_close(npyext_transaction *transaction) {
    table_editor *editor = editor_of(transaction);
    npyx_edit_close(&editor->edit);
    npyext_layout_clear(&editor->layout);
    npyx_arena_clear(&editor->arena);
    npyext_array_builder_clear(&editor->row);
    editor->columns = NULL;
    editor->cells = NULL;
}

static npyx_status editor_check_read(const table_editor *editor, npyx_error *error) {
    const npyx_target *target = npyext_transaction_last_target(&editor->transaction);
    if (!editor->has_read || npyx_file_info_is_same(&target->info, &editor->read_info))
        return NPYX_OK;
    return npyx_fail_as(error, NPYX_KIND_CHANGED, NPYX_IO, -1,
                        "was changed by another program after its rows were read; run the statement again");
}

static npyx_status editor_fill(table_editor *editor, npyx_error *error) {
    int notes = -1, nwindows = 1;
    npyx_source *source = NULL;
    const npyx_target *target = npyext_transaction_last_target(&editor->transaction);
    NPYX_TRY(editor_check_read(editor, error));
    NPYX_TRY(npyx_source_open_written(target->sink, NULL, 0, &source, error));
    NPYX_TRY(npyext_layout_read_written(&editor->layout, source, error));
    NPYX_TRY(editor_place_columns(editor, error));
    for (int i = 0; i < editor->layout.ncolumns; i++) {
        int window = editor->columns[i].line.window;
        nwindows = window >= nwindows ? window + 1 : nwindows;
    }
    NPYX_TRY(npyx_target_make_scratch(target, &notes, error));
    return npyx_edit_open(&editor->edit, target->sink, notes, nwindows, error);
}

/* The first row that changes makes the copy. */
static npyx_status editor_open(npyext_transaction *transaction, npyx_error *error) {
    table_editor *editor = editor_of(transaction);
    NPYX_TRY(npyext_transaction_add_target(transaction, (npyx_target){0}, NPYX_TARGET_COPY, transaction->path,
                                           error));
    return editor_fill(editor, error);
}

/* ---- rows ---- */

/* Rows of more than one item can also be given as arrays. */
static npyx_status editor_encode_row(table_editor *editor, int number, sqlite3_value *value,
                                     npyx_error *error) {
    static const npyext_caller caller = {"value", "value"};
    const npyext_layout_column *column = &editor->layout.columns[number];
    const editor_column *placed = &editor->columns[number];
    npyext_rows rows = {.has_shape = true, .ndim = column->ndim, .nelem = 1};
    npyext_array_builder *row = &editor->row;
    for (int axis = 0; axis < column->ndim; axis++)
        rows.nelem *= rows.shape[axis] = column->shape[axis];
    if (row->connection == NULL)
        NPYX_TRY(npyext_array_builder_begin(row, editor->transaction.connection, error));
    row->out.nbytes = NPYEXT_HEADER_NBYTES;
    row->dtype = column->dtype;
    row->is_dtype_given = true;
    NPYX_TRY(npyext_rows_append(&rows, row, NULL, &caller, value, error));
    memcpy(editor->cells + placed->cell_off, npyext_array_builder_items(row), (size_t)placed->cell_nbytes);
    return NPYX_OK;
}

static npyx_status editor_encode_cell(table_editor *editor, int number, sqlite3_value *value,
                                      npyx_error *error) {
    const npyext_layout_column *column = &editor->layout.columns[number];
    uint8_t *cell = editor->cells + editor->columns[number].cell_off;
    if (npyext_store_plain(column->plain_type, value, cell))
        return NPYX_OK;
    if (column->ndim > 0 && !editor->columns[number].is_field)
        return editor_encode_row(editor, number, value, error);
    memset(cell, 0, (size_t)editor->columns[number].cell_nbytes); /* padding */
    return npyext_items_encode(&editor->transaction.connection->host, column->dtype, column->ndim,
                               column->shape, value, cell, error);
}

/* Whether notes are needed: of the bytes that a savepoint may have to restore. Rolling back the whole
 * transaction just drops the copy. */
static bool editor_takes_notes(const table_editor *editor) {
    return npyext_transaction_has_mark(&editor->transaction);
}

/* Writes items that are not contiguous, one after the other. */
static npyx_status editor_store_apart(table_editor *editor, const editor_column *placed,
                                      const npyx_view *view, int64_t off, const uint8_t *cell,
                                      npyx_error *error) {
    int64_t index[NPYX_MAX_NDIM] = {0};
    size_t itemsize = (size_t)view->dtype->itemsize;
    for (int64_t done = 0; done < placed->cell_nbytes; done += (int64_t)itemsize) {
        NPYX_TRY(npyx_edit_write(&editor->edit, &placed->line, off, cell + done, itemsize,
                                 editor_takes_notes(editor), error));
        int axis = view->ndim;
        while (--axis > 0) { /* the next place in C order */
            off += view->strides[axis];
            if (++index[axis] < view->shape[axis])
                break;
            off -= view->shape[axis] * view->strides[axis];
            index[axis] = 0;
        }
    }
    return NPYX_OK;
}

static npyx_status editor_store(table_editor *editor, int number, int64_t index, npyx_error *error) {
    const editor_column *placed = &editor->columns[number];
    const npyx_view *view = &editor->layout.arrays[editor->layout.columns[number].array].view;
    const uint8_t *cell = editor->cells + placed->cell_off;
    int64_t off = placed->off + (view->ndim > 0 ? index * view->strides[0] : 0);
    if (placed->ndim > 0)
        return editor_store_apart(editor, placed, view, off, cell, error);
    return npyx_edit_write(&editor->edit, &placed->line, off, cell, (size_t)placed->cell_nbytes,
                           editor_takes_notes(editor), error);
}

/* The index in the view of a row that the file numbers rowid. */
static npyx_status editor_find(const table_editor *editor, int64_t rowid, int64_t *index, npyx_error *error) {
    const npyx_view *view = &editor->layout.arrays[0].view;
    int64_t after_first = rowid - view->first[0];
    *index = after_first / view->step[0];
    bool is_there =
        rowid >= 0 && *index >= 0 && *index < npyx_view_nrows(view) && *index * view->step[0] == after_first;
    return is_there ? NPYX_OK : npyx_refuse(error, "row %" PRId64 " no longer exists", rowid);
}

static npyx_status editor_update(npyext_transaction *transaction, int64_t rowid, sqlite3_value **values,
                                 npyx_error *error) {
    table_editor *editor = editor_of(transaction);
    int64_t index = 0;
    NPYX_TRY(editor_find(editor, rowid, &index, error));
    for (int i = 0; i < editor->layout.ncolumns; i++) {
        npyx_status status =
            sqlite3_value_nochange(values[i]) ? NPYX_OK : editor_encode_cell(editor, i, values[i], error);
        if (status != NPYX_OK)
            return npyx_error_place(error, status, "column '%.60s'", editor->layout.columns[i].name);
    }
    for (int i = 0; i < editor->layout.ncolumns; i++) {
        if (!sqlite3_value_nochange(values[i]))
            NPYX_TRY(editor_store(editor, i, index, error));
    }
    return NPYX_OK;
}

/* ---- the transaction ---- */

static npyx_status editor_finish(npyext_transaction *transaction, npyx_error *error) {
    table_editor *editor = editor_of(transaction);
    return npyx_edit_flush(&editor->edit, editor_takes_notes(editor), error);
}

static npyx_status editor_mark(npyext_transaction *transaction, void **place, npyx_error *error) {
    NPYX_TRY(editor_finish(transaction, error));
    int64_t *mark = npyx_alloc(&transaction->connection->host, sizeof *mark);
    NPYX_TRY(npyx_check_memory(mark, error));
    *mark = npyx_edit_mark(&editor_of(transaction)->edit);
    *place = mark;
    return NPYX_OK;
}

static npyx_status editor_cut_back(npyext_transaction *transaction, const npyext_transaction_mark *mark,
                                   npyx_error *error) {
    return npyx_edit_return(&editor_of(transaction)->edit, *(const int64_t *)mark->place, error);
}

static npyx_status editor_read(npyext_transaction *transaction, npyx_source **source, npyx_error *error) {
    NPYX_TRY(editor_finish(transaction, error));
    return npyx_source_open_written(npyext_transaction_last_target(transaction)->sink, NULL, 0, source,
                                    error);
}

static const npyext_transaction_ops editor_ops = {.nbytes = sizeof(table_editor),
                                                  .open = editor_open,
                                                  .mark = editor_mark,
                                                  .cut_back = editor_cut_back,
                                                  .finish = editor_finish,
                                                  .close = editor_close,
                                                  .update = editor_update,
                                                  .read = editor_read};

/* ---- making an editor ---- */

/* Refuses a format, and says how to make a new file instead. */
static npyx_status editor_fail_format(npyx_format format, npyx_error *error) {
    bool is_ten = format == NPYX_FORMAT_TEN;
    const char *made = is_ten ? "ten" : "npz";
    return npyx_refuse(
        error,
        "mode='r+' only changes rows of a .npy; make a new .%s from this file's arrays instead, "
        "as in SELECT * FROM npy_write('new.%s', (SELECT %s FROM npy_file('old.%s')))",
        made, made, is_ten ? "ten_archive(array, name)" : "npz_archive(name, array)",
        npyx_format_name(format));
}

static npyx_status editor_make_columns(table_editor *editor, npyx_error *error) {
    npyext_layout *layout = &editor->layout;
    npyx_status status = npyext_layout_read(layout, false, error);
    if (status == NPYX_NOT_FOUND && layout->archive == NULL)
        npyx_error_set(error, status, -1,
                       "no such file; mode='r+' changes an existing one, and 'w+' makes a new one");
    else if (layout->archive != NULL && layout->archive->format != NPYX_FORMAT_NPY)
        status = editor_fail_format(layout->archive->format, error);
    NPYX_TRY(status);
    for (int64_t i = 0; i < layout->narrays; i++)
        NPYX_TRY(npyx_array_check_written(&layout->arrays[i].array, error));
    return npyext_layout_record(layout, error);
}

npyx_status npyext_table_editor_new(npyext_table *table, npyx_error *error) {
    NPYX_TRY(npyext_table_new_writer(table, &editor_ops, error));
    table_editor *made = editor_of(table->writer);
    made->arena.host = &table->connection->host;
    npyext_layout_init(&made->layout, table->connection, &table->declaration);
    npyx_status status = editor_make_columns(made, error);
    npyext_layout_clear(&made->layout);
    return status;
}

void npyext_table_editor_has_read(npyext_transaction *transaction, const npyx_file_info *info) {
    table_editor *editor = editor_of(transaction);
    editor->read_info = *info;
    editor->has_read = true;
}
