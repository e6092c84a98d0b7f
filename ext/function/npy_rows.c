/* npy_rows(source, member, slice): one row per entry along the first axis of an array. */

#include "format/header.h"
#include "functions.h"
#include "scan/item_cursor.h"
#include "scan/result.h"

enum { ROWS_ROW, ROWS_VALUE, ROWS_DATA = 10 }; /* after the arguments */

typedef struct rows_cursor {
    npyext_item_cursor items; /* its items are rows, counted from the view's first */
    npyext_range range;       /* the rows asked for, as the file counts */
    int64_t last;             /* of those rows, the last in the open array */
    npyx_reader reader;
    bool goes_on; /* from the row after the block of the last lookup: rows after these will be wanted, too */
    bool may_read_on; /* rows that were not asked for may be read, too */
    bool may_hold;    /* all rows may be read into memory for many lookups */
    bool needs_swap;
    int64_t raw_nbytes; /* of a row, if its bytes in the reader's block are its `data`; otherwise 0 */
    npyx_buffer npy;    /* a row as a .npy: the header, which all rows of the array share, and then the row */
    size_t header_nbytes; /* 0: not made yet */
} rows_cursor;

/* The number of axes of a row: none in an array of one axis or none, whose rows are scalars. */
static int rows_item_ndim(const npyx_view *view) {
    return view->ndim <= 1 ? 0 : view->ndim - 1;
}

/* Whether the plan is `row = ?` of the only array, as it is in the file, and nothing else. */
static bool rows_has_short_way(rows_cursor *rows) {
    npyext_scan *scan = &rows->items.base.scan;
    const npyext_selection *selection = &rows->items.base.selection;
    const npyext_term *last = &scan->plan.terms[scan->plan.nterms - 1];
    for (int i = 0; i < scan->plan.nterms - 1; i++) {
        int column = scan->plan.terms[i].column;
        if (column == NPYEXT_NO_COLUMN || scan->function->columns[column].kind != NPYEXT_IS_ARGUMENT)
            return false;
    }
    return last->column == ROWS_ROW && last->op == SQLITE_INDEX_CONSTRAINT_EQ && selection->astype == NULL &&
           selection->view.ndim > 0 && selection->view.step[0] == 1 && npyext_scan_is_single(scan);
}

/* What stays as it is for all lookups in the open array. */
static void rows_begin_array(rows_cursor *rows) {
    npyext_selection *selection = &rows->items.base.selection;
    const npyext_scan *scan = &rows->items.base.scan;
    const npyx_dtype *dtype = npyext_selection_dtype(selection);
    npyx_reader *reader = &rows->reader;
    if (scan->plan.order != NPYEXT_OWN_ORDER)
        npyx_view_orient(&selection->view, 1, scan->plan.order == NPYEXT_DESCENDING);
    npyx_reader_clear(reader);
    npyx_reader_init(reader, selection->payload, &selection->view, npyext_max_nbytes(scan->connection));
    rows->needs_swap = npyx_element_needs_swap(dtype);
    bool is_raw = selection->astype == NULL && !rows->needs_swap && !dtype->has_objects;
    rows->raw_nbytes = is_raw && reader->row_nbytes <= INT32_MAX ? reader->row_nbytes : 0;
    rows->header_nbytes = 0;
    /* Converting or making items that were not asked for could fail. */
    rows->may_read_on = selection->astype == NULL && !selection->payload->has_gaps;
    rows->may_hold =
        rows->may_read_on && reader->row_nbytes > 0 && reader->nrows <= NPYX_HELD_NBYTES / reader->row_nbytes;
    rows->items.has_short_way = rows_has_short_way(rows);
}

/* Goes before the first wanted row of the open array. */
static npyx_status rows_begin(npyext_item_cursor *items, bool is_again, npyx_error *error) {
    rows_cursor *rows = (rows_cursor *)items;
    const npyext_selection *selection = &items->base.selection;
    const npyx_view *view = &selection->view;
    if (!is_again)
        rows_begin_array(rows);
    if (!is_again || items->filter.is_asked) {
        NPYX_TRY(
            npyext_value_filter_check_rows(&items->filter, view, npyext_selection_dtype(selection), error));
        NPYX_TRY(npyext_items_begin_array(items, rows_item_ndim(view),
                                          items->filter.nterms > 0 && view->ndim <= 1, error));
    }
    npyext_range wanted = npyext_range_indices(rows->range, view);
    int64_t nrows = wanted.low <= wanted.high ? wanted.high - wanted.low + 1 : 0;
    int64_t nskipped = items->window.nskipped < nrows ? items->window.nskipped : nrows;
    items->position = items->block_end = wanted.low + nskipped;
    items->window.nskipped -= nskipped;
    rows->last = wanted.high;
    rows->goes_on = is_again && rows->may_read_on && rows->reader.nrows_read > 0 &&
                    items->position == rows->reader.first_row + rows->reader.nrows_read;
    npyx_reader_expect(&rows->reader, rows->goes_on ? INT64_MAX : items->window.nrows);
    if (items->is_filtered && selection->astype == NULL)
        npyx_reader_set_work(&rows->reader, npyext_value_filter_work(&items->filter));
    return NPYX_OK;
}

/* Reads a block that contains the current row. */
static npyx_status rows_read_block(rows_cursor *rows, npyx_error *error) {
    npyx_reader *reader = &rows->reader;
    npyext_item_cursor *items = &rows->items;
    const uint8_t *converted;
    NPYX_TRY(npyext_items_get_underway(items, error));
    if (rows->may_hold && items->nlookups >= NPYX_HELD_FROM_NLOOKUPS)
        NPYX_TRY(npyx_reader_fill_all(reader, error));
    else
        NPYX_TRY(npyx_reader_fill(reader, items->position,
                                  rows->goes_on ? INT64_MAX : rows->last - items->position + 1, error));
    npyx_status status = npyext_items_convert(items, reader->rows, reader->row_nelem, &reader->nrows_read,
                                              reader->first_row * reader->row_nelem, &converted, error);
    if (status != NPYX_OK)
        reader->nrows_read = 0; /* or the block would be taken for converted */
    return status;
}

static npyx_status rows_next_block(npyext_item_cursor *items, npyx_error *error) {
    rows_cursor *rows = (rows_cursor *)items;
    npyx_reader *reader = &rows->reader;
    const npyx_dtype *astype = items->base.selection.astype;
    if (items->position > rows->last)
        return NPYX_DONE;
    if (!(items->base.scan.plan.needs & NPYEXT_NEEDS_ITEMS)) {
        items->block_end = items->plain_end = rows->last + 1;
        return NPYX_OK;
    }
    if (items->position < reader->first_row || items->position >= reader->first_row + reader->nrows_read)
        NPYX_TRY(rows_read_block(rows, error));
    const uint8_t *block = astype == NULL ? reader->rows : (const uint8_t *)items->converted.bytes;
    int64_t block_end = reader->first_row + reader->nrows_read;
    items->step_nbytes = astype == NULL ? reader->row_nbytes : reader->row_nelem * astype->itemsize;
    items->item = block + (items->position - reader->first_row) * items->step_nbytes;
    items->block_end = block_end <= rows->last ? block_end : rows->last + 1;
    items->plain_end = items->is_filtered ? 0 : items->block_end;
    if (!items->is_filtered)
        return NPYX_OK;
    items->filtered_from = items->position;
    /* what other threads have judged begins at the block's first row */
    return npyext_value_filter_block(&items->filter, items->item, items->block_end - items->position,
                                     items->position == reader->first_row ? reader->result : NULL, error);
}

/* Reads the row at a position, if the block does not have it. false: that failed, or more should be read. */
static bool rows_read_one(rows_cursor *rows, int64_t position) {
    npyx_reader *reader = &rows->reader;
    npyx_error error; /* the long way meets it again */
    int64_t nth = position - reader->first_row;
    if (nth >= 0 && nth < reader->nrows_read)
        return true;
    bool is_more = rows->may_hold || (nth == reader->nrows_read && nth > 0);
    return !is_more && npyext_items_get_underway(&rows->items, &error) == NPYX_OK &&
           npyx_reader_fill(reader, position, 1, &error) == NPYX_OK;
}

static bool rows_look_up(npyext_item_cursor *items, sqlite3_value **argv) {
    rows_cursor *rows = (rows_cursor *)items;
    const npyx_reader *reader = &rows->reader;
    sqlite3_value *value = argv[items->base.scan.plan.nterms - 1];
    if (sqlite3_value_type(value) != SQLITE_INTEGER)
        return false;
    int64_t row = sqlite3_value_int64(value), first = items->base.selection.view.first[0];
    items->base.is_eof = row < first || row - first >= reader->nrows;
    if (items->base.is_eof)
        return true;
    items->position = rows->last = row - first;
    items->block_end = items->plain_end = items->position + 1;
    if (!(items->base.scan.plan.needs & NPYEXT_NEEDS_ITEMS))
        return true;
    if (!rows_read_one(rows, items->position))
        return false;
    items->step_nbytes = reader->row_nbytes;
    items->item = reader->rows + (items->position - reader->first_row) * reader->row_nbytes;
    __builtin_prefetch(items->item); /* for xColumn, which comes soon */
    return true;
}

/* Takes the range of rows from the plan's terms. */
static void rows_read_terms(npyext_item_cursor *items, sqlite3_value **argv) {
    const npyext_plan *plan = &items->base.scan.plan;
    npyext_range *range = &((rows_cursor *)items)->range;
    *range = (npyext_range){0, INT64_MAX};
    for (int i = 0; i < plan->nterms; i++) {
        if (plan->terms[i].column == ROWS_ROW)
            npyext_range_narrow(range, plan->terms[i].op, argv[i]);
    }
    /* no array has rows in an empty range, and none need be opened to say so */
    items->base.is_eof = range->low > range->high;
}

static const npyext_item_methods rows_methods = {.read_terms = rows_read_terms,
                                                 .begin = rows_begin,
                                                 .next_block = rows_next_block,
                                                 .look_up = rows_look_up,
                                                 .columns = {ROWS_VALUE, -1, -1},
                                                 .reader_off = offsetof(rows_cursor, reader)};

/* The row's number in the file's array, along the first axis that is left. */
NPYEXT_KNOWN_RESULT(static, rows_result_row, const npyext_item_cursor *items = (npyext_item_cursor *)cursor;
                    const npyx_view *view = &items->base.selection.view, true, sqlite3_result_int64,
                    view->ndim == 0 ? 0 : view->first[0] + items->position * view->step[0])

static int64_t rows_entry(const npyext_cursor *cursor) {
    return npyext_selection_entry(&cursor->selection, ((const npyext_item_cursor *)cursor)->position);
}

static void rows_result_value(sqlite3_context *context, npyext_cursor *cursor) {
    npyext_item_cursor *items = (npyext_item_cursor *)cursor;
    const npyx_view *view = &items->base.selection.view;
    npyext_items_result(context, items, rows_item_ndim(view), view->shape + 1);
}

/* Whether the row has bytes to show; the addresses of Python objects must not get out. */
static bool rows_has_bytes(sqlite3_context *context, const npyext_cursor *cursor) {
    npyx_error error;
    if (!npyext_selection_dtype(&cursor->selection)->has_objects)
        return true;
    npyx_error_set(&error, NPYX_UNSUPPORTED, -1, "items that are Python objects have no data");
    npyext_result_error(context, npyext_scan_place(&cursor->scan), &error);
    return false;
}

/* The row's items as little-endian bytes in C order. */
static void rows_result_data(sqlite3_context *context, npyext_cursor *cursor) {
    const rows_cursor *rows = (rows_cursor *)cursor;
    const npyext_item_cursor *items = &rows->items;
    if (!rows_has_bytes(context, cursor))
        return;
    if (rows->needs_swap && items->step_nbytes > 0)
        npyext_result_data(context, cursor, npyext_selection_dtype(&cursor->selection), items->item,
                           rows->reader.row_nelem);
    else
        npyext_result_blob(context, items->item, (size_t)items->step_nbytes);
}

/* The row as numpy.save writes it, in the array's own byte order; all rows share one header. */
static void rows_result_array(sqlite3_context *context, npyext_cursor *cursor) {
    rows_cursor *rows = (rows_cursor *)cursor;
    const npyx_view *view = &cursor->selection.view;
    npyx_buffer *npy = &rows->npy;
    if (!rows_has_bytes(context, cursor))
        return;
    npy->nbytes = rows->header_nbytes;
    npy->limit_nbytes = npyext_max_nbytes(cursor->scan.connection);
    if (rows->header_nbytes == 0) {
        npyx_buffer_reset(npy);
        npyx_header_npy_append(npyext_selection_dtype(&cursor->selection), rows_item_ndim(view),
                               view->shape + 1, false, npy);
        rows->header_nbytes = npy->status == NPYX_OK ? npy->nbytes : 0;
    }
    npyx_buffer_append(npy, rows->items.item, (size_t)rows->items.step_nbytes);
    npyext_result_blob_of(context, cursor, npy);
    if (npy->status != NPYX_OK)
        rows->header_nbytes = 0; /* so that the next row begins anew */
}

static void rows_open(npyext_cursor *cursor, npyx_host *host) {
    npyext_items_open(cursor, host);
    ((rows_cursor *)cursor)->npy.host = host;
}

static void rows_close(npyext_cursor *cursor) {
    npyext_items_close(cursor);
    npyx_buffer_clear(&((rows_cursor *)cursor)->npy);
}

/* The columns that are asked for in every row bypass the table. SQLite copies the data, because the block is
 * overwritten while aggregates still hold rows of it. */
static int rows_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column) {
    const npyext_item_cursor *items = (npyext_item_cursor *)cursor;
    int64_t raw_nbytes = ((const rows_cursor *)cursor)->raw_nbytes;
    if (column == ROWS_VALUE && npyext_result_plain(context, items->plain_type, items->item))
        return SQLITE_OK;
    if (column != ROWS_DATA || raw_nbytes == 0)
        return npyext_cursor_column(cursor, context, column);
    sqlite3_result_blob(context, items->item, (int)raw_nbytes, SQLITE_TRANSIENT);
    return SQLITE_OK;
}

static const npyext_column rows_columns[] = {
    [ROWS_ROW] = NPYEXT_INDEX("row INTEGER", rows_result_row),
    [ROWS_VALUE] = NPYEXT_VALUE("value", false, rows_result_value),
    NPYEXT_ITEM_ARGUMENTS,
    [ROWS_DATA] = NPYEXT_HIDDEN("data BLOB", NPYEXT_NEEDS_ITEMS, rows_result_data),
    NPYEXT_HIDDEN("array BLOB", NPYEXT_NEEDS_ITEMS, rows_result_array),
    NPYEXT_PATH(true),
    NPYEXT_NAME(true, npyext_result_name),
    NPYEXT_ENTRY_COLUMNS,
    NPYEXT_ARRAY_KEY(npyext_result_array_key),
};

const npyext_function npyext_npy_rows = {
    .name = "npy_rows",
    NPYEXT_COLUMNS(rows_columns),
    .key = ", row",
    .row = NPYEXT_ROW_OF_ENTRY,
    .entry = rows_entry,
    NPYEXT_ITEMS(rows_cursor, rows_methods, rows_column, rows_open, rows_close),
};
