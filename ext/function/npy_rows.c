/* npy_rows(source, member, slice): one row per entry along the first axis of an array. */
#include <string.h>

#include "core/range.h"
#include "functions.h"
#include "scan/selection.h"
#include "scan/value_filter.h"

enum {
    ROWS_ROW,
    ROWS_VALUE,
    ROWS_SOURCE,
    ROWS_MEMBER,
    ROWS_SLICE,
    ROWS_FIELD,
    ROWS_VIEW,
    ROWS_ASTYPE,
    ROWS_EXPECT,
    ROWS_ON_ERROR,
    ROWS_DATA,
    ROWS_PATH,
    ROWS_NAME,
    ROWS_PARTS,
    ROWS_STEM,
    ROWS_PARENT,
    ROWS_ARRAY_KEY,
    ROWS_NCOLUMNS
};

static const npyext_column rows_columns[ROWS_NCOLUMNS] = {
    [ROWS_ROW] = NPYEXT_INDEX("row INTEGER"),
    [ROWS_VALUE] = NPYEXT_VALUE("value", false),
    [ROWS_SOURCE] = NPYEXT_ARGUMENT("source BLOB", NPYEXT_SOURCE),
    [ROWS_MEMBER] = NPYEXT_ARGUMENT("member BLOB", NPYEXT_MEMBER),
    [ROWS_SLICE] = NPYEXT_ARGUMENT("slice BLOB", NPYEXT_SLICE),
    [ROWS_FIELD] = NPYEXT_ARGUMENT("field BLOB", NPYEXT_FIELD),
    [ROWS_VIEW] = NPYEXT_ARGUMENT("view BLOB", NPYEXT_VIEW),
    [ROWS_ASTYPE] = NPYEXT_ARGUMENT("astype BLOB", NPYEXT_ASTYPE),
    [ROWS_EXPECT] = NPYEXT_ARGUMENT("expect BLOB", NPYEXT_EXPECT),
    [ROWS_ON_ERROR] = NPYEXT_ARGUMENT("on_error BLOB", NPYEXT_ON_ERROR),
    [ROWS_DATA] = NPYEXT_HIDDEN("data BLOB", NPYEXT_NEEDS_ITEMS),
    [ROWS_PATH] = NPYEXT_PATH(true),
    [ROWS_NAME] = NPYEXT_NAME(true),
    [ROWS_PARTS] = NPYEXT_PATH_COLUMNS,
    [ROWS_ARRAY_KEY] = NPYEXT_ARRAY_KEY,
};

typedef struct rows_cursor {
    sqlite3_vtab_cursor base;
    /* what xNext, xEof and xColumn touch for every row; rows are counted from the view's first */
    bool is_eof;
    npyx_type
        plain_type;    /* of the items of a one-dimensional view; NPYX_NTYPES: to be decoded by their dtype */
    int64_t index;     /* of the row at hand */
    int64_t block_end; /* the index behind the block at hand */
    int64_t plain_end; /* the same, when every row of it is a candidate; otherwise 0 */
    bool is_filtered;  /* not every row of the block is a candidate */
    const uint8_t *items; /* of the row at hand; of nothing when no column needs them */
    int64_t step_nbytes;  /* from row to row */
    npyext_range range;   /* of rows asked for, as the file counts them */
    npyext_window window; /* what LIMIT and OFFSET leave of them */
    int64_t last_index;   /* of the rows asked for that the array at hand has */
    bool is_underway;     /* this call of xFilter or xNext has read a block */
    bool begins_again;    /* this call of xFilter is for the array that is open */
    int64_t nlookups;     /* xFilter calls in a row for the same array */
    /* what changes from array to array */
    npyext_scan scan;
    npyext_selection selection;
    npyx_reader reader;
    npyx_buffer converted; /* the block as astype wants it */
    npyext_value_filter filter;
    int64_t filtered_index; /* of the first row in the filter's block */
    npyx_buffer scratch;
    npyx_buffer swapped;
    bool needs_swap;
} rows_cursor;

static int rows_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor) {
    npyext_connection *connection = ((npyext_vtab *)vtab)->connection;
    rows_cursor *rows = sqlite3_malloc(sizeof *rows);
    if (rows == NULL)
        return SQLITE_NOMEM;
    memset(rows, 0, sizeof *rows);
    rows->is_eof = true;
    npyext_selection_init(&rows->selection, &connection->host);
    rows->scratch.host = rows->swapped.host = rows->converted.host = &connection->host;
    npyext_value_filter_init(&rows->filter, &connection->host);
    *cursor = &rows->base;
    return SQLITE_OK;
}

static int rows_close(sqlite3_vtab_cursor *cursor) {
    rows_cursor *rows = (rows_cursor *)cursor;
    npyx_reader_clear(&rows->reader);
    npyext_selection_close(&rows->selection);
    npyext_scan_clear(&rows->scan);
    npyx_buffer_clear(&rows->scratch);
    npyx_buffer_clear(&rows->swapped);
    npyx_buffer_clear(&rows->converted);
    npyext_value_filter_clear(&rows->filter);
    sqlite3_free(rows);
    return SQLITE_OK;
}

/* The row number of an index: along the axis that is the first one left, in the file's array. */
static inline int64_t row_number(const npyx_view *view, int64_t index) {
    return view->ndim == 0 ? 0 : view->first[0] + index * view->step[0];
}

/* The rows of the range that the open array has. */
static void find_rows(rows_cursor *rows) {
    const npyx_view *view = &rows->selection.view;
    rows->index = 0;
    rows->last_index = rows->reader.nrows - 1;
    if (rows->range.low <= 0 && rows->range.high == INT64_MAX)
        return;
    if (view->ndim == 0) {
        rows->last_index = rows->range.low <= 0 && rows->range.high >= 0 ? 0 : -1;
    } else if (view->step[0] == 1) {
        rows->index = rows->range.low <= view->first[0] ? 0 : rows->range.low - view->first[0];
        if (rows->range.high < view->first[0])
            rows->last_index = -1;
        else if (rows->range.high - view->first[0] < rows->last_index)
            rows->last_index = rows->range.high - view->first[0];
    } else {
        npyx_view narrowed = *view;
        npyx_view_narrow(&narrowed, 0, rows->range.low, rows->range.high);
        rows->index = narrowed.shape[0] == 0 ? 0 : (narrowed.first[0] - view->first[0]) / view->step[0];
        rows->last_index = rows->index + narrowed.shape[0] - 1;
    }
}

/* Goes before the first row that is wanted of the open array. */
static npyx_status rows_begin_rows(rows_cursor *rows, npyx_error *error) {
    npyx_status status =
        npyext_value_filter_check(&rows->filter, &rows->selection.view, &rows->scan.connection->host, error);
    if (status != NPYX_OK)
        return status;
    if (rows->filter.nterms > 0)
        npyext_value_filter_begin(&rows->filter, npyext_selection_dtype(&rows->selection));
    rows->is_filtered =
        rows->filter.nterms > 0 && rows->filter.nfilters > 0 && rows->selection.view.ndim <= 1;
    find_rows(rows);
    int64_t nrows = rows->index <= rows->last_index ? rows->last_index - rows->index + 1 : 0;
    int64_t nskipped = rows->window.nskipped < nrows ? rows->window.nskipped : nrows;
    rows->index += nskipped;
    rows->window.nskipped -= nskipped;
    npyx_reader_expect(&rows->reader, rows->window.nrows);
    if (rows->is_filtered && rows->selection.astype == NULL)
        npyx_reader_set_work(&rows->reader, npyext_value_filter_work(&rows->filter));
    return NPYX_OK;
}

/* Makes a reader for the array that the selection has just opened. */
static npyx_status rows_begin_array(rows_cursor *rows, npyx_error *error) {
    npyext_selection *selection = &rows->selection;
    if (rows->scan.plan.order != NPYEXT_OWN_ORDER)
        npyx_view_orient(&selection->view, 1, rows->scan.plan.order == NPYEXT_DESCENDING);
    const npyx_dtype *dtype = npyext_selection_dtype(selection);
    int limit = sqlite3_limit(rows->scan.connection->db, SQLITE_LIMIT_LENGTH, -1);
    npyx_reader_init(&rows->reader, selection->payload, &selection->view, limit);
    rows->scratch.limit_nbytes = (size_t)limit;
    rows->plain_type = selection->view.ndim <= 1 ? npyext_plain_type(dtype) : NPYX_NTYPES;
    rows->needs_swap = npyx_element_needs_swap(dtype);
    return rows_begin_rows(rows, error);
}

/* Reads a block with rows->index in it. */
static npyx_status read_block(rows_cursor *rows, npyx_error *error) {
    npyx_reader *reader = &rows->reader;
    const npyext_selection *selection = &rows->selection;
    bool is_held = rows->nlookups >= NPYX_HELD_FROM_NLOOKUPS && reader->row_nbytes > 0 &&
                   reader->nrows <= NPYX_HELD_NBYTES / reader->row_nbytes;
    npyx_status status =
        is_held ? npyx_reader_fill_all(reader, error)
                : npyx_reader_fill(reader, rows->index, rows->last_index - rows->index + 1, error);
    if (status != NPYX_OK || selection->astype == NULL)
        return status;
    npyx_buffer_reset(&rows->converted);
    int64_t nelem = reader->nrows_read * reader->row_nelem;
    if (!npyx_buffer_reserve(&rows->converted, (size_t)(nelem * selection->astype->itemsize))) {
        reader->nrows_read = 0;
        return npyx_buffer_check(&rows->converted, error);
    }
    status =
        npyx_convert_items(selection->view.dtype, reader->rows, nelem, selection->astype,
                           (uint8_t *)rows->converted.bytes, reader->first_row * reader->row_nelem, error);
    if (status != NPYX_OK)
        reader->nrows_read = 0;
    return status;
}

/* Makes a block in which rows->index lies the one at hand. */
static npyx_status load_block(rows_cursor *rows, npyx_error *error) {
    npyx_reader *reader = &rows->reader;
    const npyx_dtype *astype = rows->selection.astype;
    if (!(rows->scan.plan.needs & NPYEXT_NEEDS_ITEMS)) {
        rows->plain_end = rows->last_index + 1;
        rows->items = (const uint8_t *)""; /* never looked at */
        rows->step_nbytes = 0;
        rows->block_end = rows->last_index + 1;
        return NPYX_OK;
    }
    if (rows->index < reader->first_row || rows->index >= reader->first_row + reader->nrows_read) {
        if (!rows->is_underway) /* once a call of SQLite's: else a loop over blocks would never be stopped */
            npyext_connection_begin(rows->scan.connection);
        rows->is_underway = true;
        npyx_status status = read_block(rows, error);
        if (status != NPYX_OK)
            return status;
    }
    const uint8_t *block = astype == NULL ? reader->rows : (const uint8_t *)rows->converted.bytes;
    int64_t block_end = reader->first_row + reader->nrows_read;
    rows->step_nbytes = astype == NULL ? reader->row_nbytes : reader->row_nelem * astype->itemsize;
    rows->items = block + (rows->index - reader->first_row) * rows->step_nbytes;
    __builtin_prefetch(rows->items); /* a lookup wants it soon, and it is rarely in the processor's cache */
    rows->block_end = block_end <= rows->last_index ? block_end : rows->last_index + 1;
    rows->plain_end = rows->is_filtered ? 0 : rows->block_end;
    if (!rows->is_filtered)
        return NPYX_OK;
    rows->filtered_index = rows->index;
    /* a block that another thread has judged begins with the row that is wanted */
    return npyext_value_filter_block(&rows->filter, rows->items, rows->block_end - rows->index,
                                     rows->index == reader->first_row ? reader->result : NULL, error);
}

/* Goes to the first candidate from the row at hand on, or behind the block. */
static void rows_go_to_candidate(rows_cursor *rows) {
    int64_t found =
        rows->filtered_index + npyext_value_filter_next(&rows->filter, rows->index - rows->filtered_index);
    rows->items += (found - rows->index) * rows->step_nbytes;
    rows->index = found;
}

/* Goes on to the next array that can be read. */
static npyx_status rows_next_array(rows_cursor *rows, npyx_error *error) {
    npyx_reader_clear(&rows->reader);
    npyx_status status = npyext_selection_next(&rows->selection, &rows->scan, error);
    return status == NPYX_OK ? rows_begin_array(rows, error) : status;
}

/* Goes on to the next block or array that has rows. */
static int rows_advance(rows_cursor *rows) {
    npyx_error error;
    while (!rows->is_eof) {
        npyx_status status = NPYX_OK;
        bool is_within = !rows->begins_again && rows->selection.is_open && rows->index <= rows->last_index;
        if (rows->begins_again) {
            status = rows_begin_rows(rows, &error);
            rows->begins_again = false;
        } else if (is_within) {
            status = load_block(rows, &error);
            if (status == NPYX_OK && rows->is_filtered) {
                rows_go_to_candidate(rows);
                if (rows->index == rows->block_end)
                    continue;
            }
        } else if (rows->selection.is_open && npyext_scan_is_single(&rows->scan)) {
            status = NPYX_DONE; /* the array stays open for the next lookup */
        } else {
            status = rows_next_array(rows, &error);
        }
        if (is_within && status == NPYX_OK)
            break;
        if (status == NPYX_DONE)
            rows->is_eof = true;
        else if (status != NPYX_OK && !npyext_selection_skip(&rows->selection, &rows->scan, &error))
            return npyext_report(rows->base.pVtab, npyext_scan_place(&rows->scan), &error);
    }
    return SQLITE_OK;
}

/* The way of xNext at the end of a block, and for every row of a filtered one. */
static __attribute__((noinline)) int rows_next_slowly(rows_cursor *rows) {
    rows->is_underway = false;
    if (rows->is_filtered && rows->index < rows->block_end)
        rows_go_to_candidate(rows);
    return rows->index < rows->block_end ? SQLITE_OK : rows_advance(rows);
}

static int rows_next(sqlite3_vtab_cursor *cursor) {
    rows_cursor *rows = (rows_cursor *)cursor;
    rows->items += rows->step_nbytes;
    if (++rows->index < rows->plain_end)
        return SQLITE_OK;
    return rows_next_slowly(rows);
}

static int rows_eof(sqlite3_vtab_cursor *cursor) {
    return ((rows_cursor *)cursor)->is_eof;
}

/* The range of rows that the plan's terms leave. */
static npyext_range row_range(const npyext_plan *plan, sqlite3_value **argv) {
    npyext_range range = {0, INT64_MAX};
    for (int i = 0; i < plan->nterms; i++) {
        if (plan->terms[i].column == ROWS_ROW)
            npyext_range_narrow(&range, plan->terms[i].op, argv[i]);
    }
    return range;
}

static int rows_filter(sqlite3_vtab_cursor *cursor, int idx_num, const char *sentence, int argc,
                       sqlite3_value **argv) {
    (void)argc;
    rows_cursor *rows = (rows_cursor *)cursor;
    npyext_scan *scan = &rows->scan;
    npyx_error error;
    bool is_lookup = false;
    rows->is_underway = false;
    npyx_reader_rest(&rows->reader);
    npyx_status status = npyext_selection_begin(&rows->selection, scan, cursor->pVtab, idx_num, sentence,
                                                argv, &is_lookup, &error);
    if (status != NPYX_OK) {
        rows->is_eof = true;
        return npyext_report(cursor->pVtab, npyext_scan_place(scan), &error);
    }
    rows->nlookups = is_lookup ? rows->nlookups + 1 : 0;
    rows->range = row_range(&scan->plan, argv);
    rows->window = npyext_plan_window(&scan->plan, argv);
    npyext_value_filter_read(&rows->filter, &scan->plan, (npyext_value_columns){ROWS_VALUE, -1, -1}, argv);
    /* no array has rows in an empty range, and none needs be opened to say so */
    rows->is_eof = rows->range.low > rows->range.high;
    rows->begins_again = is_lookup;
    int code = rows_advance(rows);
    return code == SQLITE_OK ? npyext_scan_confirm(scan) : code;
}

/* A value that npyext_result_plain leaves to the codec. */
static int rows_result_decoded(sqlite3_context *context, rows_cursor *rows) {
    const npyx_view *view = &rows->selection.view;
    const npyx_dtype *dtype = npyext_selection_dtype(&rows->selection);
    npyx_buffer *scratch = &rows->scratch;
    npyx_value value = {.kind = NPYX_VALUE_JSON};
    npyx_error error;
    npyx_status status;
    if (view->ndim <= 1) {
        status = npyx_element_value(dtype, rows->items, scratch, &value, &error);
    } else {
        npyx_buffer_reset(scratch);
        if (rows->reader.row_nelem >
            (int64_t)scratch->limit_nbytes / 2) /* a digit and a comma each at least */
            scratch->status = NPYX_TOOBIG;
        status =
            npyx_element_append_json(dtype, view->ndim - 1, view->shape + 1, rows->items, scratch, &error);
        if (status == NPYX_OK)
            status = npyx_buffer_check(scratch, &error);
        value.bytes = scratch->bytes;
        value.nbytes = scratch->nbytes;
    }
    if (status != NPYX_OK)
        return npyext_result_error(context, npyext_scan_place(&rows->scan), &error);
    npyext_result_value(context, &value);
    return SQLITE_OK;
}

/* The row's items turned into little-endian ones; NULL, and an error as the result, when memory is out. */
static __attribute__((noinline)) const uint8_t *swapped_items(sqlite3_context *context, rows_cursor *rows) {
    npyx_error error;
    npyx_buffer_reset(&rows->swapped);
    npyx_buffer_append(&rows->swapped, rows->items, (size_t)rows->step_nbytes);
    if (npyx_buffer_check(&rows->swapped, &error) != NPYX_OK) {
        npyext_result_error(context, npyext_scan_place(&rows->scan), &error);
        return NULL;
    }
    npyx_element_swap(npyext_selection_dtype(&rows->selection), (uint8_t *)rows->swapped.bytes,
                      rows->reader.row_nelem);
    return (const uint8_t *)rows->swapped.bytes;
}

/* The row's items as little-endian bytes in C order. */
static inline int result_data(sqlite3_context *context, rows_cursor *rows) {
    const uint8_t *bytes = rows->items;
    if (rows->needs_swap && rows->step_nbytes > 0) {
        bytes = swapped_items(context, rows);
        if (bytes == NULL)
            return SQLITE_NOMEM;
    }
    /* copied by SQLite: the block is overwritten while aggregates still hold rows of it */
    npyext_result_blob(context, bytes, (size_t)rows->step_nbytes);
    return SQLITE_OK;
}

static int rows_other_column(rows_cursor *rows, sqlite3_context *context, int column) {
    switch (column) {
    case ROWS_PATH: npyext_result_path(context, &rows->scan); return SQLITE_OK;
    case ROWS_NAME: npyext_result_name(context, &rows->scan); return SQLITE_OK;
    default: npyext_result_common(context, &rows->scan, column); return SQLITE_OK;
    }
}

static int rows_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column) {
    rows_cursor *rows = (rows_cursor *)cursor;
    if (column == ROWS_VALUE)
        return npyext_result_plain(context, rows->plain_type, rows->items)
                   ? SQLITE_OK
                   : rows_result_decoded(context, rows);
    if (column == ROWS_DATA)
        return result_data(context, rows);
    if (column != ROWS_ROW)
        return rows_other_column(rows, context, column);
    sqlite3_result_int64(context, row_number(&rows->selection.view, rows->index));
    return SQLITE_OK;
}

static const sqlite3_module rows_module =
    NPYEXT_MODULE(rows_open, rows_close, rows_filter, rows_next, rows_eof, rows_column);

const npyext_function npyext_npy_rows = {
    .name = "npy_rows",
    .columns = rows_columns,
    .ncolumns = ROWS_NCOLUMNS,
    .key = "array_key, row",
    .takes_member = true,
    .takes_window = true,
    .row = NPYEXT_ROW_OF_ENTRY,
    .has_error_column = false,
    .estimated_nrows = 1000000,
    .module = &rows_module,
};
