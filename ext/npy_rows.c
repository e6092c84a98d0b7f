/* npy_rows(source, member, slice): one row per entry along the first axis of an array. */
#include <string.h>

#include "functions.h"
#include "range.h"
#include "scan.h"

enum {
    /* Lookups into an array of this size or less, from the fourth on, find it all in memory. */
    HELD_NBYTES = 1 << 23,
    HELD_FROM_NLOOKUPS = 4
};

enum {
    ROW,
    VALUE,
    SOURCE,
    MEMBER,
    SLICE,
    FIELD,
    VIEW,
    ASTYPE,
    EXPECT,
    ON_ERROR,
    DATA,
    PATH,
    NAME,
    ARRAY_KEY,
    NCOLUMNS
};

static const npyext_column columns[NCOLUMNS] = {
    [ROW] = NPYEXT_INDEX("row INTEGER"),
    [VALUE] = NPYEXT_VALUE("value", false),
    [SOURCE] = NPYEXT_ARGUMENT("source", NPYEXT_SOURCE),
    [MEMBER] = NPYEXT_ARGUMENT("member", NPYEXT_MEMBER),
    [SLICE] = NPYEXT_ARGUMENT("slice", NPYEXT_SLICE),
    [FIELD] = NPYEXT_ARGUMENT("field", NPYEXT_FIELD),
    [VIEW] = NPYEXT_ARGUMENT("view", NPYEXT_VIEW),
    [ASTYPE] = NPYEXT_ARGUMENT("astype", NPYEXT_ASTYPE),
    [EXPECT] = NPYEXT_ARGUMENT("expect", NPYEXT_EXPECT),
    [ON_ERROR] = NPYEXT_ARGUMENT("on_error", NPYEXT_ON_ERROR),
    [DATA] = NPYEXT_HIDDEN("data BLOB", NPYEXT_NEEDS_ITEMS),
    [PATH] = NPYEXT_PATH(true),
    [NAME] = NPYEXT_NAME(true),
    [ARRAY_KEY] = NPYEXT_ARRAY_KEY,
};

typedef struct rows_cursor {
    sqlite3_vtab_cursor base;
    /* what xNext, xEof and xColumn touch for every row */
    bool is_eof;
    npyx_type
        plain_type; /* of one-dimensional items in the host's byte order; NPYX_NTYPES: decode by dtype */
    int64_t row;
    int64_t block_end_row; /* the row behind the block at hand */
    const uint8_t *items;  /* of the row at hand; NULL when no column needs them */
    int64_t row_step_nbytes;
    npyext_range range; /* of rows asked for */
    int64_t last_row;   /* of them that the array at hand has; -1 before the first */
    int nlookups;       /* xFilter calls in a row for the same array */
    /* what changes from array to array */
    npyext_scan scan;
    npyx_array array;
    npyx_source *payload;
    npyx_reader reader;
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
    npyx_array_init(&rows->array, &connection->host);
    rows->scratch.host = rows->swapped.host = &connection->host;
    *cursor = &rows->base;
    return SQLITE_OK;
}

static void close_array(rows_cursor *rows) {
    npyx_reader_clear(&rows->reader);
    npyx_source_close(rows->payload);
    rows->payload = NULL;
    npyx_array_clear(&rows->array);
}

static int rows_close(sqlite3_vtab_cursor *cursor) {
    rows_cursor *rows = (rows_cursor *)cursor;
    close_array(rows);
    npyext_scan_clear(&rows->scan);
    npyx_buffer_clear(&rows->scratch);
    npyx_buffer_clear(&rows->swapped);
    sqlite3_free(rows);
    return SQLITE_OK;
}

/* The types that xColumn decodes in a line. */
static npyx_type plain_type(const npyx_view *view) {
    const npyx_dtype *dtype = view->dtype;
    bool is_native =
        dtype->is_big_endian == NPYX_HOST_IS_BIG_ENDIAN || npyx_types[dtype->type].swap_nbytes == 1;
    return view->ndim <= 1 && is_native ? dtype->type : NPYX_NTYPES;
}

/* Goes before the first row of the range that the open array has. */
static void begin_rows(rows_cursor *rows) {
    rows->row = rows->range.low < 0 ? 0 : rows->range.low;
    rows->last_row = rows->range.high < rows->reader.nrows ? rows->range.high : rows->reader.nrows - 1;
}

/* Opens the array at which the scan is. NPYX_DONE: the entry is none, and was not asked for by name. */
static npyx_status open_array(rows_cursor *rows, npyx_error *error) {
    npyext_scan *scan = &rows->scan;
    bool is_array = false;
    npyx_view view;
    npyx_status status =
        npyx_archive_describe(scan->opened.archive, scan->index, &rows->array, &is_array, error);
    if (status != NPYX_OK)
        return status;
    if (!is_array) {
        if (!npyext_argument_is_given(&scan->arguments[NPYEXT_MEMBER]))
            return NPYX_DONE;
        return npyx_fail(error, NPYX_CORRUPT, -1, "is not a .npy array (the magic bytes are missing)");
    }
    status = npyx_array_check_values(&rows->array, error);
    if (status == NPYX_OK)
        status = npyx_archive_open_payload(scan->opened.archive, scan->index, &rows->payload, error);
    if (status != NPYX_OK)
        return status;
    npyx_view_of_array(&rows->array, &view);
    int limit = sqlite3_limit(scan->connection->db, SQLITE_LIMIT_LENGTH, -1);
    npyx_reader_init(&rows->reader, rows->payload, &view, limit);
    /* SQLite adds a byte to what it keeps, and limits the sum */
    rows->scratch.limit_nbytes = (size_t)limit;
    rows->plain_type = plain_type(&view);
    rows->needs_swap = npyx_element_needs_swap(view.dtype);
    begin_rows(rows);
    return NPYX_OK;
}

/* Reads a block with rows->row in it. */
static npyx_status read_block(rows_cursor *rows, npyx_error *error) {
    npyx_reader *reader = &rows->reader;
    bool is_held = rows->nlookups >= HELD_FROM_NLOOKUPS && reader->row_nbytes > 0 &&
                   reader->nrows <= HELD_NBYTES / reader->row_nbytes;
    return is_held ? npyx_reader_fill_all(reader, error)
                   : npyx_reader_fill(reader, rows->row, rows->last_row - rows->row + 1, error);
}

/* Makes a block in which rows->row lies the one at hand. */
static npyx_status load_block(rows_cursor *rows, npyx_error *error) {
    npyx_reader *reader = &rows->reader;
    if (!(rows->scan.plan.needs & NPYEXT_NEEDS_ITEMS)) {
        rows->items = NULL;
        rows->row_step_nbytes = 0;
        rows->block_end_row = rows->last_row + 1;
        return NPYX_OK;
    }
    if (rows->row < reader->first_row || rows->row >= reader->first_row + reader->nrows_read) {
        npyext_connection_begin(rows->scan.connection);
        npyx_status status = read_block(rows, error);
        if (status != NPYX_OK)
            return status;
    }
    int64_t block_end_row = reader->first_row + reader->nrows_read;
    rows->items = reader->rows + (rows->row - reader->first_row) * reader->row_nbytes;
    rows->row_step_nbytes = reader->row_nbytes;
    rows->block_end_row = block_end_row <= rows->last_row ? block_end_row : rows->last_row + 1;
    return NPYX_OK;
}

/* Goes on to the next array that has rows. */
static npyx_status next_array(rows_cursor *rows, npyx_error *error) {
    npyext_scan *scan = &rows->scan;
    npyx_status status = NPYX_DONE;
    close_array(rows);
    if (scan->opened.archive != NULL)
        status = npyext_scan_next_entry(scan, error);
    if (status == NPYX_DONE) {
        status = npyext_scan_next_file(scan, error);
        if (status == NPYX_DONE)
            rows->is_eof = true;
        return status;
    }
    if (status == NPYX_OK)
        status = open_array(rows, error);
    return status == NPYX_DONE ? NPYX_OK : status; /* what is no array has no rows */
}

/* A file or array with a fault is left behind, or ends the query. */
static int handle_fault(rows_cursor *rows, const npyx_error *error) {
    npyext_scan *scan = &rows->scan;
    bool is_host_fault = error->status == NPYX_NOMEM || error->status == NPYX_INTERRUPTED;
    if (scan->on_error == NPYEXT_SKIP && !is_host_fault) {
        scan->connection->host.counters.files_skipped++;
        close_array(rows);
        if (!scan->has_entry) /* the whole file is at fault, not one array of it */
            npyext_scan_close_file(scan);
        return SQLITE_OK;
    }
    return npyext_report(rows->base.pVtab, npyext_scan_place(scan), error);
}

/* The way of xNext at the end of a block. */
static int advance(rows_cursor *rows) {
    npyx_error error;
    int code = SQLITE_OK;
    while (code == SQLITE_OK && !rows->is_eof) {
        npyx_status status = NPYX_OK;
        bool is_within = rows->payload != NULL && rows->row <= rows->last_row;
        if (is_within)
            status = load_block(rows, &error);
        else if (rows->payload != NULL && npyext_scan_is_single(&rows->scan))
            rows->is_eof = true; /* and the array stays open for the next lookup */
        else
            status = next_array(rows, &error);
        if (is_within && status == NPYX_OK)
            break;
        if (status == NPYX_OK)
            status = npyx_poll(&rows->scan.connection->host, &error);
        if (status != NPYX_OK && status != NPYX_DONE)
            code = handle_fault(rows, &error);
    }
    return code;
}

static int rows_next(sqlite3_vtab_cursor *cursor) {
    rows_cursor *rows = (rows_cursor *)cursor;
    rows->items += rows->row_step_nbytes;
    if (++rows->row < rows->block_end_row)
        return SQLITE_OK;
    return advance(rows);
}

static int rows_eof(sqlite3_vtab_cursor *cursor) {
    return ((rows_cursor *)cursor)->is_eof;
}

/* The range of rows that the plan's terms leave. */
static npyext_range row_range(const npyext_plan *plan, sqlite3_value **argv) {
    npyext_range range = {0, INT64_MAX};
    for (int i = 0; i < plan->nterms; i++) {
        if (plan->terms[i].column == ROW)
            npyext_range_narrow(&range, plan->terms[i].op, argv[i]);
    }
    return range;
}

static int rows_filter(sqlite3_vtab_cursor *cursor, int needs, const char *sentence, int argc,
                       sqlite3_value **argv) {
    (void)argc;
    rows_cursor *rows = (rows_cursor *)cursor;
    npyext_scan *scan = &rows->scan;
    bool is_same = npyext_scan_is_same(scan, sentence, argv);
    bool is_lookup = is_same && rows->payload != NULL && npyext_scan_is_single(scan);
    rows->nlookups = is_lookup ? rows->nlookups + 1 : 0;
    if (!is_lookup) {
        npyext_vtab *vtab = (npyext_vtab *)cursor->pVtab;
        npyx_error error;
        npyx_status status = NPYX_OK;
        npyext_connection_begin(vtab->connection);
        close_array(rows);
        if (is_same)
            npyext_scan_rewind(scan);
        else
            status = npyext_scan_begin(scan, vtab, needs, sentence, true, argv, &error);
        if (status != NPYX_OK) {
            rows->is_eof = true;
            return npyext_report(cursor->pVtab, npyext_scan_place(scan), &error);
        }
    }
    rows->range = row_range(&scan->plan, argv);
    /* no array has rows in an empty range, and none needs be opened to say so */
    rows->is_eof = rows->range.low > rows->range.high;
    if (is_lookup)
        begin_rows(rows);
    return advance(rows);
}

/* An item of a type that is not decoded in a line. */
static int result_decoded(sqlite3_context *context, rows_cursor *rows) {
    const npyx_view *view = &rows->reader.view;
    npyx_value value;
    npyx_error error;
    npyx_status status;
    if (view->ndim <= 1) {
        status = npyx_element_value(view->dtype, rows->items, &rows->scratch, &value, &error);
    } else {
        npyx_buffer_reset(&rows->scratch);
        if (rows->reader.row_nelem >
            (int64_t)rows->scratch.limit_nbytes / 2) /* a digit and a comma each at least */
            rows->scratch.status = NPYX_TOOBIG;
        status = npyx_element_append_json(view->dtype, view->ndim - 1, view->shape + 1, rows->items,
                                          &rows->scratch, &error);
        if (status == NPYX_OK)
            status = npyx_buffer_check(&rows->scratch, &error);
        value = (npyx_value){
            .kind = NPYX_VALUE_JSON, .bytes = rows->scratch.bytes, .nbytes = rows->scratch.nbytes};
    }
    if (status != NPYX_OK)
        return npyext_result_error(context, npyext_scan_place(&rows->scan), &error);
    npyext_result_value(context, &value);
    return SQLITE_OK;
}

static int result_value(sqlite3_context *context, rows_cursor *rows) {
    const uint8_t *item = rows->items;
    const bool big = NPYX_HOST_IS_BIG_ENDIAN;
    switch (rows->plain_type) { /* SQLite turns a NaN into NULL itself */
    case NPYX_F8: sqlite3_result_double(context, npyx_load_f64(item, big)); return SQLITE_OK;
    case NPYX_F4: sqlite3_result_double(context, (double)npyx_load_f32(item, big)); return SQLITE_OK;
    case NPYX_BOOL: sqlite3_result_int(context, *item != 0); return SQLITE_OK;
    case NPYX_I1: sqlite3_result_int(context, (int8_t)*item); return SQLITE_OK;
    case NPYX_I2: sqlite3_result_int(context, (int16_t)npyx_load_u16(item, big)); return SQLITE_OK;
    case NPYX_I4: sqlite3_result_int(context, (int32_t)npyx_load_u32(item, big)); return SQLITE_OK;
    case NPYX_I8: sqlite3_result_int64(context, (int64_t)npyx_load_u64(item, big)); return SQLITE_OK;
    case NPYX_U1: sqlite3_result_int(context, *item); return SQLITE_OK;
    case NPYX_U2: sqlite3_result_int(context, npyx_load_u16(item, big)); return SQLITE_OK;
    case NPYX_U4: sqlite3_result_int64(context, npyx_load_u32(item, big)); return SQLITE_OK;
    default: return result_decoded(context, rows);
    }
}

/* The row's items as little-endian bytes in C order. */
static int result_data(sqlite3_context *context, rows_cursor *rows) {
    const npyx_reader *reader = &rows->reader;
    const uint8_t *bytes = rows->items;
    if (rows->needs_swap) {
        npyx_error error;
        npyx_buffer_reset(&rows->swapped);
        npyx_buffer_append(&rows->swapped, bytes, (size_t)reader->row_nbytes);
        if (npyx_buffer_check(&rows->swapped, &error) != NPYX_OK)
            return npyext_result_error(context, npyext_scan_place(&rows->scan), &error);
        npyx_element_swap(reader->view.dtype, (uint8_t *)rows->swapped.bytes, reader->row_nelem);
        bytes = (const uint8_t *)rows->swapped.bytes;
    }
    /* copied by SQLite: the block is overwritten while aggregates still hold rows of it */
    sqlite3_result_blob64(context, reader->row_nbytes == 0 ? (const void *)"" : bytes,
                          (sqlite3_uint64)reader->row_nbytes, SQLITE_TRANSIENT);
    return SQLITE_OK;
}

static int rows_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column) {
    rows_cursor *rows = (rows_cursor *)cursor;
    switch (column) {
    case ROW: sqlite3_result_int64(context, rows->row); return SQLITE_OK;
    case VALUE: return result_value(context, rows);
    case DATA: return result_data(context, rows);
    case PATH: npyext_result_path(context, &rows->scan); return SQLITE_OK;
    case NAME: npyext_result_name(context, &rows->scan); return SQLITE_OK;
    default: npyext_result_common(context, &rows->scan, column); return SQLITE_OK;
    }
}

static const sqlite3_module module = {
    .iVersion = 1,
    .xConnect = npyext_connect,
    .xBestIndex = npyext_best_index,
    .xDisconnect = npyext_disconnect,
    .xOpen = rows_open,
    .xClose = rows_close,
    .xFilter = rows_filter,
    .xNext = rows_next,
    .xEof = rows_eof,
    .xColumn = rows_column,
};

const npyext_function npyext_npy_rows = {
    .name = "npy_rows",
    .columns = columns,
    .ncolumns = NCOLUMNS,
    .key = "array_key, row",
    .takes_member = true,
    .has_error_column = false,
    .estimated_nrows = 1000000,
    .module = &module,
};
