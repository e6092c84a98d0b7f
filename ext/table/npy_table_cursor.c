/* The rows of a typed table. Each array of the layout is read by a stream of its own. */

#include "npy_table.h"
#include "scan/plan.h"
#include "walk/reader.h"

/* One array being read; nothing is opened until one of its columns is asked for. */
typedef struct table_stream {
    npyx_source *payload;
    npyx_reader reader;
    int64_t skipped_nbytes; /* of the array's row, before what the reader reads */
    bool is_narrow;         /* the reader reads only part of the row */
    int64_t back_nbytes;    /* the size of the next block, if rows are read backward */
} table_stream;

typedef struct table_cursor {
    sqlite3_vtab_cursor base;
    bool is_eof;
    int64_t index;          /* of the current row, as the views count */
    int64_t last;           /* of the last row */
    int64_t step;           /* 1 or -1 */
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

int npyext_table_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor) {
    npyext_table_begin_statement((const npyext_table *)vtab);
    npyext_table *table = (npyext_table *)vtab;
    npyext_connection *connection = table->connection;
    table_cursor *opened = npyx_alloc_zeroed(&connection->host, sizeof *opened);
    if (opened == NULL)
        return SQLITE_NOMEM;
    opened->is_eof = true;
    opened->scratch.host = &connection->host;
    opened->scratch.limit_nbytes = (size_t)sqlite3_limit(connection->db, SQLITE_LIMIT_LENGTH, -1);
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

int npyext_table_close(sqlite3_vtab_cursor *cursor) {
    table_cursor *closed = (table_cursor *)cursor;
    npyext_counters_share(table_of(closed)->connection);
    cursor_close_file(closed);
    npyx_buffer_clear(&closed->scratch);
    sqlite3_free(closed);
    return SQLITE_OK;
}

static npyx_status cursor_open_file(table_cursor *cursor, npyx_error *error) {
    npyext_connection_begin(cursor->layout.connection);
    NPYX_TRY(npyext_layout_read_table(&cursor->layout, table_of(cursor), error));
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
    npyx_reader_init(&stream->reader, stream->payload, &view, (int64_t)cursor->scratch.limit_nbytes);
    stream->back_nbytes = NPYX_BACK_FIRST_NBYTES;
    return NPYX_OK;
}

/* Whether the current block contains the row. */
static bool has_row(const table_stream *stream, int64_t index) {
    return (uint64_t)(index - stream->reader.first_row) < (uint64_t)stream->reader.nrows_read;
}

/* Reads a block that ends with the current row, or contains it. */
static npyx_status fill_back(const table_cursor *cursor, table_stream *stream, int64_t max_nrows,
                             npyx_error *error) {
    npyx_reader *reader = &stream->reader;
    int64_t nrows = cursor->index - cursor->last + 1;
    if (reader->row_nbytes > 0) {
        int64_t block_nrows = stream->back_nbytes / reader->row_nbytes;
        block_nrows = block_nrows < max_nrows ? block_nrows : max_nrows;
        nrows = block_nrows >= nrows ? nrows : block_nrows < 1 ? 1 : block_nrows;
    }
    int64_t row = cursor->index - nrows + 1;
    npyx_status status = npyx_reader_fill(reader, row, nrows, error);
    if (status == NPYX_OK && reader->nrows_read < nrows) /* the reader gives no more at once */
        stream->back_nbytes = reader->nrows_read * reader->row_nbytes;
    else if (stream->back_nbytes < NPYX_BACK_MOST_NBYTES)
        stream->back_nbytes *= 2;
    while (status == NPYX_OK && !has_row(stream, cursor->index)) {
        row = reader->first_row + reader->nrows_read;
        status = npyx_reader_fill(reader, row, cursor->index - row + 1, error);
    }
    return status;
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
    if (cursor->step < 0)
        return fill_back(cursor, stream, max_nrows, error);
    int64_t nrows = cursor->last - cursor->index + 1;
    return npyx_reader_fill(reader, cursor->index, nrows < max_nrows ? nrows : max_nrows, error);
}

/* ---- rows ---- */

static void cursor_begin_rows(table_cursor *cursor, npyext_range range, npyext_window window) {
    npyext_order order = cursor->plan.order;
    npyext_range indices = npyext_range_indices(range, &cursor->layout.arrays[0].view);
    int64_t low = indices.low, high = indices.high;
    bool is_rising = cursor->layout.arrays[0].view.step[0] > 0;
    bool is_backward = order != NPYEXT_OWN_ORDER && is_rising != (order == NPYEXT_ASCENDING);
    int64_t nskipped = low > high ? 0 : window.nskipped <= high - low ? window.nskipped : high - low + 1;
    low += is_backward ? 0 : nskipped;
    high -= is_backward ? nskipped : 0;
    cursor->nrows_expected = window.nrows;
    cursor->index = is_backward ? high : low;
    cursor->last = is_backward ? low : high;
    cursor->step = is_backward ? -1 : 1;
    cursor->is_eof = low > high;
}

/* The file stays open for the next look-up; its arrays are opened anew if other columns are in use. */
int npyext_table_filter(sqlite3_vtab_cursor *cursor, int idx_num, const char *sentence, int argc,
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

int npyext_table_next(sqlite3_vtab_cursor *cursor) {
    table_cursor *rows = (table_cursor *)cursor;
    if (rows->index == rows->last)
        rows->is_eof = true;
    else
        rows->index += rows->step;
    return SQLITE_OK;
}

int npyext_table_eof(sqlite3_vtab_cursor *cursor) {
    return ((table_cursor *)cursor)->is_eof;
}

int npyext_table_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid) {
    const table_cursor *rows = (table_cursor *)cursor;
    const npyx_view *view = &rows->layout.arrays[0].view;
    *rowid = view->first[0] + rows->index * view->step[0]; /* counted as in the file */
    return SQLITE_OK;
}

/* ---- values ---- */

/* Where a fault of an array is. */
static npyext_place cursor_place(const table_cursor *cursor, int array) {
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

int npyext_table_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int number) {
    table_cursor *rows = (table_cursor *)cursor;
    if (table_of(rows)->writer != NULL && sqlite3_vtab_nochange(context))
        return SQLITE_OK; /* an UPDATE does not change it, and needs no value */
    if (rows->layout.lists_arrays) {
        npyext_layout_list_column(&rows->layout, rows->index, number, context, &rows->scratch);
        return SQLITE_OK;
    }
    const npyext_layout_column *column = &rows->layout.columns[number];
    table_stream *stream = &rows->streams[column->array];
    bool is_at_hand = has_row(stream, rows->index) && has_column(stream, column);
    npyx_error error;
    if (!is_at_hand && fetch(rows, column, &error) != NPYX_OK) {
        npyext_result_error(context, cursor_place(rows, column->array), &error);
        return SQLITE_OK;
    }
    const npyx_reader *reader = &stream->reader;
    const uint8_t *item = reader->rows + (rows->index - reader->first_row) * reader->row_nbytes +
                          (column->off - stream->skipped_nbytes);
    if (!npyext_result_plain(context, column->plain_type, item))
        npyext_result_items(context, cursor_place(rows, column->array), column->dtype, column->ndim,
                            column->shape, item, &rows->scratch);
    return SQLITE_OK;
}
