/* npy_elements(source, member, slice): one row per element of an array, with its place in the file's array.
 */
#include <string.h>

#include "core/range.h"
#include "functions.h"
#include "scan/selection.h"
#include "scan/value_filter.h"

enum {
    ELEMENTS_IDX,
    ELEMENTS_I0, /* I0 + K is the coordinate along axis K, for K from 0 to 3 */
    ELEMENTS_VALUE = ELEMENTS_I0 + 4,
    ELEMENTS_SOURCE,
    ELEMENTS_MEMBER,
    ELEMENTS_SLICE,
    ELEMENTS_FIELD,
    ELEMENTS_VIEW,
    ELEMENTS_ASTYPE,
    ELEMENTS_EXPECT,
    ELEMENTS_ON_ERROR,
    ELEMENTS_REAL,
    ELEMENTS_IMAG,
    ELEMENTS_PATH,
    ELEMENTS_NAME,
    ELEMENTS_I4, /* I4 + K - 4, for K from 4 to 63 */
    ELEMENTS_PARTS = ELEMENTS_I4 + NPYX_MAX_NDIM - 4,
    ELEMENTS_STEM,
    ELEMENTS_PARENT,
    ELEMENTS_ARRAY_KEY,
    ELEMENTS_NCOLUMNS
};

#define COORDINATE(k)                                                                                        \
    { .declaration = "i" #k " INTEGER", .is_hidden = (k) > 3, .kind = NPYEXT_IS_COORDINATE }
#define FIVE_COORDINATES(a, b, c, d, e)                                                                      \
    COORDINATE(a), COORDINATE(b), COORDINATE(c), COORDINATE(d), COORDINATE(e)

static const npyext_column elements_columns[ELEMENTS_NCOLUMNS] = {
    NPYEXT_INDEX("idx INTEGER"),
    COORDINATE(0),
    COORDINATE(1),
    COORDINATE(2),
    COORDINATE(3),
    NPYEXT_VALUE("value", false),
    NPYEXT_ARGUMENT("source BLOB", NPYEXT_SOURCE),
    NPYEXT_ARGUMENT("member BLOB", NPYEXT_MEMBER),
    NPYEXT_ARGUMENT("slice BLOB", NPYEXT_SLICE),
    NPYEXT_ARGUMENT("field BLOB", NPYEXT_FIELD),
    NPYEXT_ARGUMENT("view BLOB", NPYEXT_VIEW),
    NPYEXT_ARGUMENT("astype BLOB", NPYEXT_ASTYPE),
    NPYEXT_ARGUMENT("expect BLOB", NPYEXT_EXPECT),
    NPYEXT_ARGUMENT("on_error BLOB", NPYEXT_ON_ERROR),
    NPYEXT_VALUE("real BLOB", true), /* BLOB is no affinity: HIDDEN alone would be NUMERIC */
    NPYEXT_VALUE("imag BLOB", true),
    NPYEXT_PATH(true),
    NPYEXT_NAME(true),
    FIVE_COORDINATES(4, 5, 6, 7, 8),
    FIVE_COORDINATES(9, 10, 11, 12, 13),
    FIVE_COORDINATES(14, 15, 16, 17, 18),
    FIVE_COORDINATES(19, 20, 21, 22, 23),
    FIVE_COORDINATES(24, 25, 26, 27, 28),
    FIVE_COORDINATES(29, 30, 31, 32, 33),
    FIVE_COORDINATES(34, 35, 36, 37, 38),
    FIVE_COORDINATES(39, 40, 41, 42, 43),
    FIVE_COORDINATES(44, 45, 46, 47, 48),
    FIVE_COORDINATES(49, 50, 51, 52, 53),
    FIVE_COORDINATES(54, 55, 56, 57, 58),
    FIVE_COORDINATES(59, 60, 61, 62, 63),
    NPYEXT_PATH_COLUMNS,
    NPYEXT_ARRAY_KEY,
};

/* The axis whose coordinate a column is; -1 for other columns. */
static int coordinate_axis(int column) {
    if (column >= ELEMENTS_I0 && column < ELEMENTS_I0 + 4)
        return column - ELEMENTS_I0;
    return column >= ELEMENTS_I4 && column < ELEMENTS_PARTS ? column - ELEMENTS_I4 + 4 : -1;
}

typedef struct elements_cursor {
    sqlite3_vtab_cursor base;
    /* what xNext, xEof and xColumn touch for every element; elements are counted from the view's first */
    bool is_eof;
    bool is_whole;          /* the view is all of the array: idx is the position */
    npyx_type plain_type;   /* NPYX_NTYPES: to be decoded by the dtype */
    int64_t position;       /* of the element at hand */
    int64_t block_end;      /* the position behind the block at hand */
    int64_t block_nskipped; /* elements of the next block that are not wanted */
    int64_t plain_end;      /* the same, when every element of it is a candidate; otherwise 0 */
    bool is_filtered;       /* not every element of the block is a candidate */
    const uint8_t *item;
    int64_t itemsize;
    /* what the WHERE clause leaves */
    bool is_underway; /* this call of xFilter or xNext has read a block */
    int64_t nlookups; /* xFilter calls in a row for the same array */
    npyext_window window;
    npyext_range idx_range;
    npyext_range ranges[NPYX_MAX_NDIM]; /* by file axis */
    uint64_t ranged_axes;               /* bit K: ranges[K] is one */
    /* what changes from array to array */
    npyext_scan scan;
    npyext_selection selection;
    npyx_view view; /* the selection's, narrowed */
    npyx_blocks blocks;
    npyext_value_filter filter;
    npyx_buffer converted;
    npyx_buffer scratch;
} elements_cursor;

static int elements_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor) {
    npyext_connection *connection = ((npyext_vtab *)vtab)->connection;
    elements_cursor *elements = sqlite3_malloc(sizeof *elements);
    if (elements == NULL)
        return SQLITE_NOMEM;
    memset(elements, 0, sizeof *elements);
    elements->is_eof = true;
    npyext_selection_init(&elements->selection, &connection->host);
    elements->scratch.host = elements->converted.host = &connection->host;
    npyext_value_filter_init(&elements->filter, &connection->host);
    *cursor = &elements->base;
    return SQLITE_OK;
}

static int elements_close(sqlite3_vtab_cursor *cursor) {
    elements_cursor *elements = (elements_cursor *)cursor;
    npyx_blocks_clear(&elements->blocks);
    npyext_selection_close(&elements->selection);
    npyext_scan_clear(&elements->scan);
    npyx_buffer_clear(&elements->scratch);
    npyx_buffer_clear(&elements->converted);
    npyext_value_filter_clear(&elements->filter);
    sqlite3_free(elements);
    return SQLITE_OK;
}

/* Narrows the view to what the ranges leave of it. Those of axes that the array does not have leave nothing:
 * such a coordinate is NULL. */
static void narrow_view(elements_cursor *elements) {
    npyx_view *view = &elements->view;
    bool is_empty = elements->idx_range.low > elements->idx_range.high;
    *view = elements->selection.view;
    /* the idx range as one of the first axis that differs; the elements themselves are looked at one by one
     */
    int64_t inner_nelem = 1;
    for (int axis = 1; axis < view->file_ndim; axis++)
        inner_nelem *= view->file_shape[axis] == 0 ? 1 : view->file_shape[axis];
    for (int axis = 0; axis < view->ndim && !is_empty; axis++) {
        if (view->file_axis[axis] == 0)
            npyx_view_narrow(view, axis, elements->idx_range.low / inner_nelem,
                             elements->idx_range.high / inner_nelem);
    }
    for (uint64_t axes = elements->ranged_axes; axes != 0 && !is_empty; axes &= axes - 1) {
        int file_axis = __builtin_ctzll(axes);
        npyext_range range = elements->ranges[file_axis];
        is_empty = file_axis >= view->file_ndim ||
                   (view->fixed[file_axis] >= 0 &&
                    (view->fixed[file_axis] < range.low || view->fixed[file_axis] > range.high));
        for (int axis = 0; axis < view->ndim && !is_empty; axis++) {
            if (view->file_axis[axis] == file_axis)
                npyx_view_narrow(view, axis, range.low, range.high);
        }
    }
    if (is_empty) { /* a 0-d view has no axis to be empty */
        view->ndim = 1;
        view->shape[0] = 0;
    }
}

static bool has_idx_range(const elements_cursor *elements) {
    return elements->idx_range.low > 0 || elements->idx_range.high < INT64_MAX;
}

/* Goes over the elements that OFFSET takes from the open array; behind an idx range they are stepped over one
 * by one. */
static void skip(elements_cursor *elements) {
    npyext_window *window = &elements->window;
    int64_t nelem = npyx_view_nelem(&elements->view);
    if (window->nskipped > 0 && !has_idx_range(elements)) {
        elements->position = window->nskipped < nelem ? window->nskipped : nelem;
        window->nskipped -= elements->position;
        npyx_blocks_seek(&elements->blocks, elements->position, &elements->block_nskipped);
        elements->block_end = elements->position - elements->block_nskipped;
    }
    npyx_blocks_expect(&elements->blocks, window->nrows);
}

/* Goes before the first element of the array that the selection holds. */
static npyx_status elements_begin_array(elements_cursor *elements, npyx_error *error) {
    const npyext_selection *selection = &elements->selection;
    const npyx_dtype *dtype = npyext_selection_dtype(selection);
    narrow_view(elements);
    if (elements->scan.plan.order != NPYEXT_OWN_ORDER)
        npyx_view_orient(&elements->view, NPYX_MAX_NDIM, elements->scan.plan.order == NPYEXT_DESCENDING);
    elements->is_whole = npyx_view_is_whole(&elements->view);
    elements->plain_type = npyext_plain_type(dtype);
    npyext_value_filter_begin(&elements->filter, dtype);
    elements->is_filtered = elements->filter.nfilters > 0;
    elements->itemsize = dtype->itemsize;
    elements->position = elements->block_end = elements->block_nskipped = 0;
    elements->scratch.limit_nbytes =
        (size_t)sqlite3_limit(elements->scan.connection->db, SQLITE_LIMIT_LENGTH, -1);
    npyx_status status = npyx_blocks_begin(&elements->blocks, selection->payload, &elements->view, error);
    if (status == NPYX_OK)
        skip(elements);
    if (status == NPYX_OK && elements->is_filtered && selection->astype == NULL)
        npyx_reader_set_work(&elements->blocks.reader, npyext_value_filter_work(&elements->filter));
    return status;
}

static npyx_status convert_block(elements_cursor *elements, npyx_error *error) {
    const npyx_blocks *blocks = &elements->blocks;
    npyx_buffer_reset(&elements->converted);
    if (!npyx_buffer_reserve(&elements->converted, (size_t)(blocks->nelem * elements->itemsize)))
        return npyx_buffer_check(&elements->converted, error);
    elements->item = (const uint8_t *)elements->converted.bytes;
    return npyx_convert_items(elements->view.dtype, blocks->items, blocks->nelem, elements->selection.astype,
                              (uint8_t *)elements->converted.bytes, elements->position, error);
}

/* The next block of the open array; NPYX_DONE behind the last. */
static npyx_status next_block(elements_cursor *elements, npyx_error *error) {
    npyx_blocks *blocks = &elements->blocks;
    const npyext_selection *selection = &elements->selection;
    if (!(elements->scan.plan.needs & NPYEXT_NEEDS_ITEMS)) {
        int64_t nelem = npyx_view_nelem(&elements->view);
        if (elements->block_end == nelem)
            return NPYX_DONE;
        elements->item = (const uint8_t *)""; /* never looked at */
        elements->itemsize = 0;
        elements->block_end = nelem;
        return NPYX_OK;
    }
    if (!elements->is_underway) /* once a call of SQLite's: else a loop over blocks would never be stopped */
        npyext_connection_begin(elements->scan.connection);
    elements->is_underway = true;
    npyx_status status = npyx_blocks_next(blocks, error);
    if (status != NPYX_OK)
        return status;
    elements->position = elements->block_end;
    elements->block_end += blocks->nelem;
    elements->item = blocks->items;
    if (selection->astype != NULL)
        status = convert_block(elements, error);
    if (status == NPYX_OK && elements->is_filtered)
        status = npyext_value_filter_block(&elements->filter, elements->item, blocks->nelem,
                                           blocks->reader.result, error);
    elements->position += elements->block_nskipped;
    elements->item += elements->block_nskipped * elements->itemsize;
    elements->block_nskipped = 0;
    return status;
}

/* Goes to the first candidate from the element at hand on, or behind the block. */
static void elements_go_to_candidate(elements_cursor *elements) {
    int64_t first = elements->block_end - elements->blocks.nelem;
    int64_t found = first + npyext_value_filter_next(&elements->filter, elements->position - first);
    elements->item += (found - elements->position) * elements->itemsize;
    elements->position = found;
}

/* Goes on to the next block or array that has elements. */
static int elements_advance(elements_cursor *elements) {
    npyext_scan *scan = &elements->scan;
    npyx_error error;
    while (!elements->is_eof) {
        npyx_status status = NPYX_DONE;
        if (elements->selection.is_open) {
            status = next_block(elements, &error);
            bool is_plain = !elements->is_filtered && !has_idx_range(elements);
            elements->plain_end = is_plain ? elements->block_end : 0;
            if (status == NPYX_OK && elements->is_filtered)
                elements_go_to_candidate(elements);
            if (status == NPYX_OK && elements->position < elements->block_end)
                break;
            if (status == NPYX_OK)
                continue;
        }
        if (status == NPYX_DONE && elements->selection.is_open && npyext_scan_is_single(scan)) {
            elements->is_eof = true; /* the array stays open for the next lookup */
            break;
        }
        if (status == NPYX_DONE) {
            status = npyext_selection_next(&elements->selection, scan, &error);
            elements->is_eof = status == NPYX_DONE;
            if (status == NPYX_OK)
                status = elements_begin_array(elements, &error);
        }
        if (status != NPYX_OK && status != NPYX_DONE &&
            !npyext_selection_skip(&elements->selection, scan, &error))
            return npyext_report(elements->base.pVtab, npyext_scan_place(scan), &error);
    }
    return SQLITE_OK;
}

static int64_t idx_of(const elements_cursor *elements) {
    return elements->is_whole ? elements->position
                              : npyx_view_file_position(&elements->view, elements->position);
}

/* Whether the element at hand is none that the idx range leaves: narrowing took only whole rows out. */
static bool is_outside(const elements_cursor *elements) {
    int64_t idx = idx_of(elements);
    return idx < elements->idx_range.low || idx > elements->idx_range.high;
}

/* Goes on to the next element that is wanted. */
static int elements_go_on(elements_cursor *elements) {
    int code = SQLITE_OK;
    for (;;) {
        if (elements->is_filtered && elements->position < elements->block_end)
            elements_go_to_candidate(elements);
        if (elements->position >= elements->block_end)
            code = elements_advance(elements);
        if (!has_idx_range(elements) || code != SQLITE_OK || elements->is_eof || !is_outside(elements))
            return code;
        elements->item += elements->itemsize;
        ++elements->position;
    }
}

/* Leaves the element at hand inside of xFilter. */
static int elements_step(elements_cursor *elements) {
    elements->item += elements->itemsize;
    elements->position++;
    return elements_go_on(elements);
}

/* The way of xNext at the end of a block, and where not every element of one is a candidate. */
static __attribute__((noinline)) int elements_next_slowly(elements_cursor *elements) {
    elements->is_underway = false;
    return elements_go_on(elements);
}

static int elements_next(sqlite3_vtab_cursor *cursor) {
    elements_cursor *elements = (elements_cursor *)cursor;
    elements->item += elements->itemsize;
    if (++elements->position < elements->plain_end)
        return SQLITE_OK;
    return elements_next_slowly(elements);
}

static int elements_eof(sqlite3_vtab_cursor *cursor) {
    return ((elements_cursor *)cursor)->is_eof;
}

static void read_ranges(elements_cursor *elements, sqlite3_value **argv) {
    const npyext_plan *plan = &elements->scan.plan;
    elements->idx_range = (npyext_range){0, INT64_MAX};
    elements->ranged_axes = 0;
    for (int i = 0; i < plan->nterms; i++) {
        int axis = coordinate_axis(plan->terms[i].column);
        if (plan->terms[i].column == ELEMENTS_IDX)
            npyext_range_narrow(&elements->idx_range, plan->terms[i].op, argv[i]);
        if (axis < 0)
            continue;
        if (!(elements->ranged_axes >> axis & 1))
            elements->ranges[axis] = (npyext_range){INT64_MIN, INT64_MAX};
        elements->ranged_axes |= (uint64_t)1 << axis;
        npyext_range_narrow(&elements->ranges[axis], plan->terms[i].op, argv[i]);
    }
}

static int elements_filter(sqlite3_vtab_cursor *cursor, int idx_num, const char *sentence, int argc,
                           sqlite3_value **argv) {
    (void)argc;
    elements_cursor *elements = (elements_cursor *)cursor;
    npyext_scan *scan = &elements->scan;
    npyx_error error;
    bool is_lookup = false;
    elements->is_eof = elements->is_underway = false;
    npyx_reader_rest(&elements->blocks.reader);
    npyx_status status = npyext_selection_begin(&elements->selection, scan, cursor->pVtab, idx_num, sentence,
                                                argv, &is_lookup, &error);
    if (status == NPYX_OK) {
        read_ranges(elements, argv);
        elements->window = npyext_plan_window(&scan->plan, argv);
        npyext_value_filter_read(&elements->filter, &scan->plan,
                                 (npyext_value_columns){ELEMENTS_VALUE, ELEMENTS_REAL, ELEMENTS_IMAG}, argv);
    }
    elements->nlookups = is_lookup ? elements->nlookups + 1 : 0;
    if (status == NPYX_OK && is_lookup && (scan->plan.needs & NPYEXT_NEEDS_ITEMS) != 0)
        status = npyx_source_hold(&elements->selection.payload, elements->nlookups, NPYX_HELD_NBYTES, &error);
    if (status == NPYX_OK && is_lookup)
        status = elements_begin_array(elements, &error);
    if (status != NPYX_OK) {
        elements->is_eof = true;
        return npyext_report(cursor->pVtab, npyext_scan_place(scan), &error);
    }
    int code = elements_advance(elements);
    if (code == SQLITE_OK && !elements->is_eof && is_outside(elements))
        code = elements_step(elements);
    while (code == SQLITE_OK && !elements->is_eof && elements->window.nskipped > 0) {
        elements->window.nskipped--;
        code = elements_step(elements);
    }
    return code == SQLITE_OK ? npyext_scan_confirm(scan) : code;
}

static int elements_result_decoded(sqlite3_context *context, elements_cursor *elements) {
    npyx_value value;
    npyx_error error;
    npyx_status status = npyx_element_value(npyext_selection_dtype(&elements->selection), elements->item,
                                            &elements->scratch, &value, &error);
    if (status != NPYX_OK)
        return npyext_result_error(context, npyext_scan_place(&elements->scan), &error);
    npyext_result_value(context, &value);
    return SQLITE_OK;
}

static int elements_result_value(sqlite3_context *context, elements_cursor *elements) {
    return npyext_result_plain(context, elements->plain_type, elements->item)
               ? SQLITE_OK
               : elements_result_decoded(context, elements);
}

/* As ndarray.real and .imag: a number that is not complex is its own real part, and 0 its imaginary one. */
static int elements_result_part(sqlite3_context *context, elements_cursor *elements, bool is_imag) {
    const npyx_dtype *dtype = npyext_selection_dtype(&elements->selection);
    double part;
    if (npyx_element_complex_part(dtype, elements->item, is_imag, &part)) {
        sqlite3_result_double(context, part);
        return SQLITE_OK;
    }
    if (!npyx_dtype_is_real(dtype))
        return SQLITE_OK;
    if (!is_imag)
        return elements_result_value(context, elements);
    sqlite3_result_int(context, 0);
    return SQLITE_OK;
}

static int elements_other_column(elements_cursor *elements, sqlite3_context *context, int column) {
    switch (column) {
    case ELEMENTS_IDX: sqlite3_result_int64(context, idx_of(elements)); return SQLITE_OK;
    case ELEMENTS_REAL: return elements_result_part(context, elements, false);
    case ELEMENTS_IMAG: return elements_result_part(context, elements, true);
    case ELEMENTS_PATH: npyext_result_path(context, &elements->scan); return SQLITE_OK;
    case ELEMENTS_NAME: npyext_result_name(context, &elements->scan); return SQLITE_OK;
    default: break;
    }
    int axis = coordinate_axis(column);
    if (axis < 0)
        npyext_result_common(context, &elements->scan, column);
    else if (axis < elements->view.file_ndim)
        sqlite3_result_int64(context, npyx_view_file_coordinate(&elements->view, elements->position, axis));
    return SQLITE_OK;
}

static int elements_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column) {
    elements_cursor *elements = (elements_cursor *)cursor;
    return column == ELEMENTS_VALUE ? elements_result_value(context, elements)
                                    : elements_other_column(elements, context, column);
}

static const sqlite3_module elements_module = NPYEXT_MODULE(elements_open, elements_close, elements_filter,
                                                            elements_next, elements_eof, elements_column);

const npyext_function npyext_npy_elements = {
    .name = "npy_elements",
    .columns = elements_columns,
    .ncolumns = ELEMENTS_NCOLUMNS,
    .key = "array_key, idx",
    .takes_member = true,
    .takes_window = true,
    .row = NPYEXT_ROW_OF_ITEM,
    .has_error_column = false,
    .estimated_nrows = 1000000,
    .module = &elements_module,
};
