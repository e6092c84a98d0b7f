/* CREATE VIRTUAL TABLE t USING npy(path, ...): an array, or the arrays of a file side by side, as a typed
 * table. */

#include "npy_table.h"
#include "scan/plan.h"
#include "source/array_value.h"
#include "source/pattern.h"
#include "table_writer.h"
#include "walk/reader.h"

/* ---- xBestIndex ---- */

/* Planning does not read the header, so this is a guess, small enough for lookups to be preferred to
 * sorting. */
static const double ESTIMATED_NROWS = 1000000;

static int table_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info) {
    const npyext_table *table = (const npyext_table *)vtab;
    const char *path = table->declaration.arguments[NPYEXT_TABLE_PATH];
    npyext_plan plan = {.used = info->colUsed};
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendf(text, "%s", path == NULL ? "a damaged declaration" : path);
    double nrows = npyext_table_take_rowid(info, ESTIMATED_NROWS, &plan, text);
    /* a rowid is of one row only: what follows it in ORDER BY changes nothing */
    if (info->nOrderBy > 0 && info->aOrderBy[0].iColumn < 0) {
        info->orderByConsumed = 1;
        plan.order = info->aOrderBy[0].desc ? NPYEXT_DESCENDING : NPYEXT_ASCENDING;
        sqlite3_str_appendall(text, info->aOrderBy[0].desc ? "; last row first" : "; in order");
    }
    npyext_take_window(info, &plan);
    info->estimatedRows = (sqlite3_int64)nrows;
    info->estimatedCost = nrows + 1;
    return npyext_plan_give(&plan, text, info);
}

/* ---- what a table that writes has written ----
 *
 * A SELECT reads what its open transaction has written, or else what is committed. Only its own connection
 * sees the former. In an .npz or a .ten, the rows are the arrays as they were inserted: a name, and a .npy
 * BLOB.
 */

/* In mode 'w+', what is committed is the file that the table has written itself; until then there is none.
 * NPYX_DONE: to the table, there is nothing. */
static npyx_status layout_read_own(const npyext_table *table, npyext_layout *layout, npyx_error *error) {
    npyext_written written;
    NPYX_TRY(npyext_written_find(table->connection, table->name, &written, error));
    if (!written.is_there)
        return NPYX_DONE;
    npyx_status status = npyext_layout_read(layout, true, error);
    if (status == NPYX_NOT_FOUND && layout->file == NULL)
        return NPYX_DONE;
    return layout->file == NULL ? status : npyext_written_check(&written, &layout->file->info, error);
}

static npyx_status layout_read_committed(const npyext_table *table, npyext_layout *layout,
                                         npyx_error *error) {
    if (table->writer->is_own)
        return layout_read_own(table, layout, error);
    npyx_status status = npyext_layout_read(layout, true, error);
    if (table->declaration.mode != NPYEXT_TABLE_EDITS)
        return status == NPYX_NOT_FOUND && layout->file == NULL ? NPYX_DONE : status;
    if (layout->file != NULL)
        npyext_table_editor_has_read(table->writer, &layout->file->info);
    return status;
}

/* Looks for the transaction that is open under the table's name, not for the table's own: SQLite makes the
 * table's object anew if a schema changes during a transaction. */
static npyx_status layout_read_written(npyext_layout *layout, const npyext_table *table, npyx_error *error) {
    npyx_source *source = NULL;
    if (table->writer == NULL)
        return npyext_layout_read(layout, true, error);
    npyext_transaction *open = npyext_transaction_open_of(table->connection, table->name);
    if (table->declaration.mode != NPYEXT_TABLE_EDITS)
        npyext_table_writer_shape_layout(table->writer, layout);
    if (open == NULL)
        return layout_read_committed(table, layout, error);
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

static void list_column(const npyext_layout *layout, int64_t index, int number, sqlite3_context *context,
                        npyx_buffer *scratch) {
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

/* ---- its rows: each array of the layout is read by a stream of its own ---- */

/* One array being read; nothing is opened until one of its columns is asked for. */
typedef struct table_stream {
    npyx_source *payload;
    npyx_reader reader;
    int64_t skipped_nbytes; /* of the array's row, before what the reader reads */
    bool is_narrow;         /* the reader reads only part of the row */
    npyx_dtype row_dtype;   /* of rows that are read as one item each */
} table_stream;

typedef struct table_cursor {
    sqlite3_vtab_cursor base;
    bool is_eof;
    int64_t index;          /* of the current row, as the views count */
    int64_t last;           /* of the last row */
    int64_t nrows_expected; /* more are unlikely to be wanted */
    table_stream *streams;  /* one per array; NULL: the file is not open */
    npyext_layout layout;
    npyx_buffer scratch;
    int64_t nlookups; /* xFilter calls after the first */
    npyext_plan plan;
} table_cursor;

static npyext_table *table_of(const table_cursor *cursor) {
    return (npyext_table *)cursor->base.pVtab;
}

static int table_rows_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor) {
    npyext_table_begin_statement((const npyext_table *)vtab);
    npyext_table *table = (npyext_table *)vtab;
    npyext_connection *connection = table->connection;
    table_cursor *opened = npyx_alloc_zeroed(&connection->host, sizeof *opened);
    if (opened == NULL)
        return SQLITE_NOMEM;
    opened->is_eof = true;
    opened->scratch.host = &connection->host;
    opened->scratch.limit_nbytes = npyext_max_nbytes(connection);
    npyext_layout_init(&opened->layout, connection, &table->declaration);
    *cursor = &opened->base;
    return SQLITE_OK;
}

/* ---- the file ---- */

static void close_stream(table_stream *stream) {
    npyx_reader_clear(&stream->reader);
    npyx_source_close(stream->payload);
    *stream = (table_stream){0};
}

static void close_streams(table_cursor *cursor) {
    for (int i = 0; cursor->streams != NULL && i < cursor->layout.narrays; i++)
        close_stream(&cursor->streams[i]);
}

static void cursor_close_file(table_cursor *cursor) {
    close_streams(cursor);
    npyx_free(cursor->scratch.host, cursor->streams);
    cursor->streams = NULL;
    npyext_layout_clear(&cursor->layout);
}

static int table_rows_close(sqlite3_vtab_cursor *cursor) {
    table_cursor *closed = (table_cursor *)cursor;
    npyext_counters_share(table_of(closed)->connection);
    cursor_close_file(closed);
    npyx_buffer_clear(&closed->scratch);
    sqlite3_free(closed);
    return SQLITE_OK;
}

static npyx_status cursor_open_file(table_cursor *cursor, npyx_error *error) {
    npyext_connection_begin(cursor->layout.connection);
    NPYX_TRY(layout_read_written(&cursor->layout, table_of(cursor), error));
    cursor->streams =
        npyx_alloc_array_zeroed(cursor->scratch.host, cursor->layout.narrays, sizeof cursor->streams[0]);
    return npyx_check_memory(cursor->streams, error);
}

/* ---- blocks ---- */

/* Leaves unused columns out of a view of items where that reads less: in Fortran order, and in long rows. */
static void cursor_narrow(const table_cursor *cursor, npyx_view *view, table_stream *stream) {
    uint64_t used = cursor->plan.used;
    if (!npyext_layout_has_columns_of_items(&cursor->layout) || used == 0)
        return;
    /* the first and the last column in use; the last bit stands for all columns from 63 on */
    int64_t low = __builtin_ctzll(used), high = 63 - __builtin_clzll(used);
    if (high == 63)
        high = cursor->layout.ncolumns - 1;
    if (high >= cursor->layout.ncolumns)
        return;
    int64_t stride = view->strides[1] < 0 ? -view->strides[1] : view->strides[1];
    int64_t row_stride = view->strides[0] < 0 ? -view->strides[0] : view->strides[0];
    int64_t nskipped = view->shape[1] - (high - low + 1);
    if (nskipped == 0 || (stride <= row_stride && nskipped * view->dtype->itemsize < NPYX_SKIPPED_NBYTES))
        return;
    view->off += low * view->strides[1];
    view->shape[1] = high - low + 1;
    stream->skipped_nbytes = low * view->dtype->itemsize;
    stream->is_narrow = true;
}

static npyx_status open_stream(table_cursor *cursor, int array, bool may_narrow, npyx_error *error) {
    const npyext_layout_array *opened = &cursor->layout.arrays[array];
    table_stream *stream = &cursor->streams[array];
    NPYX_TRY(opened->items != NULL
                 ? npyx_source_open_range(opened->items, 0, opened->items->nbytes, false, 0, &stream->payload,
                                          error)
                 : npyx_archive_open_payload(cursor->layout.archive, opened->index, &stream->payload, error));
    npyx_view view = opened->view;
    if (may_narrow)
        cursor_narrow(cursor, &view, stream);
    if (view.ndim > 1 && npyext_view_has_solid_rows(&view)) { /* which are faster to turn round as a whole */
        stream->row_dtype =
            (npyx_dtype){.type = NPYX_VOID, .itemsize = npyx_view_row_nelem(&view) * view.dtype->itemsize};
        view.dtype = &stream->row_dtype;
        view.ndim = 1;
    }
    npyx_reader_init(&stream->reader, stream->payload, &view, (int64_t)cursor->scratch.limit_nbytes);
    return NPYX_OK;
}

/* Reads a block of the array that contains the current row. */
static npyx_status cursor_load(table_cursor *cursor, int array, npyx_error *error) {
    table_stream *stream = &cursor->streams[array];
    npyx_reader *reader = &stream->reader;
    npyext_connection_begin(cursor->layout.connection);
    if (stream->payload == NULL)
        NPYX_TRY(open_stream(cursor, array, true, error));
    int64_t row_nbytes = reader->row_nbytes > 0 ? reader->row_nbytes : 1;
    int64_t max_nrows = NPYX_TABLE_BLOCKS_NBYTES / cursor->layout.narrays / row_nbytes;
    bool is_held = cursor->nlookups >= NPYX_HELD_FROM_NLOOKUPS && reader->row_nbytes > 0 &&
                   reader->nrows <= NPYX_HELD_NBYTES / cursor->layout.narrays / row_nbytes;
    if (is_held)
        return npyx_reader_fill_all(reader, error);
    max_nrows = max_nrows < cursor->nrows_expected ? max_nrows : cursor->nrows_expected;
    max_nrows = max_nrows < 1 ? 1 : max_nrows;
    int64_t nrows = cursor->last - cursor->index + 1;
    return npyx_reader_fill(reader, cursor->index, nrows < max_nrows ? nrows : max_nrows, error);
}

/* ---- rows ---- */

/* Turns the views so that rows come in the order that the plan asks for. */
static void cursor_orient(table_cursor *cursor) {
    npyext_order order = cursor->plan.order;
    bool is_falling = order == NPYEXT_DESCENDING;
    if (order == NPYEXT_OWN_ORDER || (cursor->layout.arrays[0].view.step[0] < 0) == is_falling)
        return;
    close_streams(cursor);
    for (int64_t i = 0; i < cursor->layout.narrays; i++)
        npyx_view_orient(&cursor->layout.arrays[i].view, 1, is_falling);
}

static void cursor_begin_rows(table_cursor *cursor, npyext_range range, npyext_window window) {
    cursor_orient(cursor);
    npyext_range indices = npyext_range_indices(range, &cursor->layout.arrays[0].view);
    bool is_any = indices.low <= indices.high && window.nskipped <= indices.high - indices.low;
    cursor->nrows_expected = window.nrows;
    cursor->index = is_any ? indices.low + window.nskipped : 0;
    cursor->last = indices.high;
    cursor->is_eof = !is_any;
}

/* The file stays open for the next lookup; its arrays are opened anew if other columns are in use. */
static int table_rows_filter(sqlite3_vtab_cursor *cursor, int idx_num, const char *sentence, int argc,
                             sqlite3_value **argv) {
    (void)idx_num;
    table_cursor *rows = (table_cursor *)cursor;
    const npyext_table *table = table_of(rows);
    npyext_place place = {.path = table->declaration.arguments[NPYEXT_TABLE_PATH]};
    rows->is_eof = true;
    npyx_error error;
    if (table->is_damaged)
        return npyext_report(cursor->pVtab, (npyext_place){.path = table->name}, &table->damage);
    uint64_t used_before = rows->plan.used;
    npyext_plan_read(&rows->plan, sentence);
    if (rows->plan.used != used_before)
        close_streams(rows);
    npyext_range range = {INT64_MIN, INT64_MAX};
    for (int i = 0; i < rows->plan.nterms && i < argc; i++) {
        if (rows->plan.terms[i].column != NPYEXT_NO_COLUMN)
            npyext_range_narrow(&range, rows->plan.terms[i].op, argv[i]);
    }
    if (range.low > range.high)
        return SQLITE_OK;
    rows->nlookups = rows->streams != NULL ? rows->nlookups + 1 : 0;
    npyx_status status = rows->streams == NULL ? cursor_open_file(rows, &error) : NPYX_OK;
    if (status != NPYX_OK) {
        place.entry = rows->layout.at;
        int code = status == NPYX_DONE ? SQLITE_OK : npyext_report(cursor->pVtab, place, &error);
        cursor_close_file(rows);
        return code;
    }
    cursor_begin_rows(rows, range, npyext_plan_window(&rows->plan, argv));
    return SQLITE_OK;
}

static int table_rows_next(sqlite3_vtab_cursor *cursor) {
    table_cursor *rows = (table_cursor *)cursor;
    if (rows->index == rows->last)
        rows->is_eof = true;
    else
        rows->index++;
    return SQLITE_OK;
}

static int table_rows_eof(sqlite3_vtab_cursor *cursor) {
    return ((table_cursor *)cursor)->is_eof;
}

/* The current row, counted as in the file. */
static int64_t table_row(const table_cursor *cursor) {
    const npyx_view *view = &cursor->layout.arrays[0].view;
    return view->first[0] + cursor->index * view->step[0];
}

static int table_rows_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid) {
    *rowid = table_row((table_cursor *)cursor);
    return SQLITE_OK;
}

/* ---- values ---- */

/* Where a fault of an array is. */
static npyext_place table_cursor_place(const table_cursor *cursor, int array) {
    return (npyext_place){.path = table_of(cursor)->declaration.arguments[NPYEXT_TABLE_PATH],
                          .entry = &cursor->layout.arrays[array].entry};
}

/* Whether the stream's rows include the column. */
static bool has_column(const table_stream *stream, const npyext_layout_column *column) {
    int64_t off = column->off - stream->skipped_nbytes;
    return !stream->is_narrow || (off >= 0 && off + column->dtype->itemsize <= stream->reader.row_nbytes);
}

/* Reads a block that contains the current row, including the column. */
static npyx_status fetch(table_cursor *cursor, const npyext_layout_column *column, npyx_error *error) {
    table_stream *stream = &cursor->streams[column->array];
    if (stream->payload == NULL || has_column(stream, column))
        NPYX_TRY(cursor_load(cursor, column->array, error));
    if (has_column(stream, column))
        return NPYX_OK;
    close_stream(stream); /* colUsed did not include it */
    NPYX_TRY(open_stream(cursor, column->array, false, error));
    return cursor_load(cursor, column->array, error);
}

static int table_rows_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int number) {
    table_cursor *rows = (table_cursor *)cursor;
    if (table_of(rows)->writer != NULL && sqlite3_vtab_nochange(context))
        return SQLITE_OK; /* an UPDATE does not change it, and needs no value */
    if (rows->layout.lists_arrays) {
        list_column(&rows->layout, table_row(rows), number, context, &rows->scratch);
        return SQLITE_OK;
    }
    const npyext_layout_column *column = &rows->layout.columns[number];
    table_stream *stream = &rows->streams[column->array];
    bool has_row = (uint64_t)(rows->index - stream->reader.first_row) < (uint64_t)stream->reader.nrows_read;
    bool is_at_hand = has_row && has_column(stream, column);
    npyx_error error;
    if (!is_at_hand && fetch(rows, column, &error) != NPYX_OK) {
        npyext_result_error(context, table_cursor_place(rows, column->array), &error);
        return SQLITE_OK;
    }
    const npyx_reader *reader = &stream->reader;
    const uint8_t *item = reader->rows + (rows->index - reader->first_row) * reader->row_nbytes +
                          (column->off - stream->skipped_nbytes);
    if (!npyext_result_plain(context, column->plain_type, item))
        npyext_result_items(context, table_cursor_place(rows, column->array), column->dtype, column->ndim,
                            column->shape, item, &rows->scratch);
    return SQLITE_OK;
}

/* ---- its kind ---- */

/* Whether the mode allows the other arguments. */
static npyx_status npy_table_check_arguments(const npyext_declaration *declaration, npyx_error *error) {
    const char *const *arguments = declaration->arguments;
    /* one that changes rows in place takes the arguments of one that reads */
    bool makes = declaration->mode == NPYEXT_TABLE_REPLACES || declaration->mode == NPYEXT_TABLE_ADDS;
    int nmembers = (arguments[NPYEXT_TABLE_MEMBER] != NULL) + (arguments[NPYEXT_TABLE_MEMBER_IDX] != NULL) +
                   (arguments[NPYEXT_TABLE_MEMBERS] != NULL);
    if (nmembers > 1)
        return npyx_refuse(error, "give one member or a list of members, not both");
    if (makes && strchr(arguments[NPYEXT_TABLE_PATH], '*') != NULL) /* many files are meant: none is made */
        return npyx_refuse(error, "a table that writes has one path, not a pattern, as in npy(%s)",
                           npyext_npy_table_kind.writing_example);
    for (int i = NPYEXT_TABLE_MEMBER; i < NPYEXT_TABLE_NARGUMENTS; i++) {
        bool is_of_writers = i >= NPYEXT_TABLE_DTYPE,
             is_of_both = i == NPYEXT_TABLE_COLUMNS || i == NPYEXT_TABLE_MODE;
        if (arguments[i] != NULL && !is_of_both && is_of_writers != makes)
            return npyx_refuse(error, "%s belongs to tables that %s (mode='%s')",
                               npyext_table_argument_names[i], makes ? "read" : "write", makes ? "r" : "w+");
    }
    return NPYX_OK;
}

/* Makes the declaration from the file. For a table that reads, nothing else reads the disk until rows are
 * wanted. */
static npyx_status npy_table_make_columns(npyext_table *table, npyext_place *place, npyx_error *error) {
    const char *path = table->declaration.arguments[NPYEXT_TABLE_PATH];
    npyext_layout layout;
    npyext_layout_init(&layout, table->connection, &table->declaration);
    npyx_status status = npyext_layout_read(&layout, false, error);
    if (status == NPYX_NOT_FOUND && layout.file == NULL && npyext_pattern_is_pattern(path))
        npyx_error_set(error, status, -1,
                       "no such file; a table reads one file, so its path cannot be a pattern");
    if (status == NPYX_OK)
        status = npyext_layout_record(&layout, error);
    if (layout.at != NULL) { /* copied, since the layout owns its name */
        npyx_arena *arena = &table->declaration.arena;
        npyx_entry *entry = npyx_arena_alloc(arena, sizeof *entry);
        const char *name = npyx_arena_copy(arena, layout.at->name, layout.at->name_nbytes);
        if (entry != NULL && name != NULL) {
            *entry = (npyx_entry){.name = name, .name_nbytes = layout.at->name_nbytes};
            place->entry = entry;
        }
    }
    npyext_layout_clear(&layout);
    return status;
}

static npyx_status npy_table_check_declared(const npyext_declaration *declaration, npyx_error *error) {
    return declaration->narrays > 0
               ? NPYX_OK
               : npyx_fail(error, NPYX_CORRUPT, -1, "the table's declaration is incomplete");
}

static npyx_status npy_table_make_writer(npyext_table *table, npyx_error *error) {
    return (table->declaration.mode == NPYEXT_TABLE_EDITS ? npyext_table_editor_new
                                                          : npyext_table_writer_new)(table, error);
}

const npyext_table_kind npyext_npy_table_kind = {
    .module = "npy",
    .table_nbytes = sizeof(npyext_table),
    .arguments = (1u << NPYEXT_TABLE_MAXCOUNT) - 1,
    .arguments_text = "a path, member, members, columns, slice, view, mode, and for tables that write dtype, "
                      "shape and method",
    .example = "'x.npy'",
    .writing_example = "'out.npy', mode='w+', dtype='float32'",
    .editing_example = "'x.npy', mode='r+'",
    .check = npy_table_check_arguments,
    .make = npy_table_make_columns,
    .check_declared = npy_table_check_declared,
    .make_writer = npy_table_make_writer,
};

const sqlite3_module npyext_table_module = {
    .iVersion = 3,
    .xBestIndex = table_best_index,
    .xOpen = table_rows_open,
    .xClose = table_rows_close,
    .xFilter = table_rows_filter,
    .xNext = table_rows_next,
    .xEof = table_rows_eof,
    .xColumn = table_rows_column,
    .xRowid = table_rows_rowid,
    NPYEXT_TABLE_METHODS,
};
