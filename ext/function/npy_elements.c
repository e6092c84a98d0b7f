/* npy_elements(source, member, slice): one row per element of an array, with its place in the file's array.
 */

#include "functions.h"
#include "scan/item_cursor.h"
#include "scan/result.h"

enum { ELEMENTS_POLL_NELEM = 1 << 16 };

enum {
    ELEMENTS_IDX,
    ELEMENTS_I0, /* I0 + K is the coordinate along axis K, for K from 0 to 3 */
    ELEMENTS_VALUE = ELEMENTS_I0 + 4,
    ELEMENTS_REAL = ELEMENTS_VALUE + 9, /* after the arguments */
    ELEMENTS_IMAG,
    ELEMENTS_I4 = ELEMENTS_IMAG + 3, /* I4 + K - 4, for K from 4 to 63 */
    ELEMENTS_AFTER = ELEMENTS_I4 + NPYX_MAX_NDIM - 4
};

/* The axis that a column is the coordinate of; -1 for other columns. */
static int elements_axis(int column) {
    if (column >= ELEMENTS_I0 && column < ELEMENTS_I0 + 4)
        return column - ELEMENTS_I0;
    return column >= ELEMENTS_I4 && column < ELEMENTS_AFTER ? column - ELEMENTS_I4 + 4 : -1;
}

typedef struct elements_cursor {
    npyext_item_cursor items;
    bool is_whole;   /* the view is all of the array: idx is the position */
    bool is_seeking; /* the blocks are of a whole array in C order, for lookups */
    /* what the WHERE clause leaves */
    npyext_range idx_range;
    npyext_range ranges[NPYX_MAX_NDIM]; /* by file axis */
    uint64_t ranged_axes;               /* bit K: ranges[K] is set */
    /* for the open array */
    npyx_view view;     /* the selection's, narrowed */
    int64_t first, end; /* the positions in it that the idx range leaves */
    npyx_blocks blocks;
    int64_t block_nskipped; /* elements at the start of the next block that are not wanted */
} elements_cursor;

static void narrow_axis(npyx_view *view, int file_axis, int64_t low, int64_t high) {
    for (int axis = 0; axis < view->ndim; axis++) {
        if (view->file_axis[axis] == file_axis)
            npyx_view_narrow(view, axis, low, high);
    }
}

/* Narrows the view to what the ranges leave of it. A range of an axis that the array does not have leaves
 * nothing, because such a coordinate is NULL. */
static void narrow_view(elements_cursor *elements) {
    npyx_view *view = &elements->view;
    bool is_empty = elements->idx_range.low > elements->idx_range.high;
    *view = elements->items.base.selection.view;
    int64_t inner = 1; /* the idx range limits the first axis, too */
    for (int axis = 1; axis < view->file_ndim; axis++)
        inner *= view->file_shape[axis] == 0 ? 1 : view->file_shape[axis];
    if (!is_empty)
        narrow_axis(view, 0, elements->idx_range.low / inner, elements->idx_range.high / inner);
    for (uint64_t axes = elements->ranged_axes; axes != 0 && !is_empty; axes &= axes - 1) {
        int file_axis = __builtin_ctzll(axes);
        npyext_range range = elements->ranges[file_axis];
        is_empty = file_axis >= view->file_ndim ||
                   (view->fixed[file_axis] >= 0 &&
                    (view->fixed[file_axis] < range.low || view->fixed[file_axis] > range.high));
        if (!is_empty)
            narrow_axis(view, file_axis, range.low, range.high);
    }
    if (is_empty) { /* a 0-d view has no axis to be empty */
        view->ndim = 1;
        view->shape[0] = 0;
    }
}

/* 1 if idx rises from each element to the next, -1 if it falls, 0 if it does neither. */
static int idx_direction(const npyx_view *view) {
    int direction = 0, last_file_axis = -1;
    for (int axis = 0; axis < view->ndim; axis++) {
        if (view->shape[axis] < 2 || view->file_axis[axis] < 0)
            continue;
        int own = view->step[axis] < 0 ? -1 : 1;
        if (view->file_axis[axis] < last_file_axis || own == -direction)
            return 0;
        direction = own;
        last_file_axis = view->file_axis[axis];
    }
    return direction == 0 ? 1 : direction;
}

/* The first position whose idx is at least bound or, if idx falls, at most bound. */
static int64_t position_of(const npyx_view *view, int64_t bound, int direction) {
    int64_t low = 0, high = npyx_view_nelem(view);
    while (low < high) {
        int64_t middle = low + (high - low) / 2, idx = npyx_view_file_position(view, middle);
        if (direction > 0 ? idx < bound : idx > bound)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Finds the positions of the idx range. If the axes run in opposite directions, all are checked one by
 * one. */
static void find_positions(elements_cursor *elements) {
    const npyext_range range = elements->idx_range;
    const npyx_view *view = &elements->view;
    const int direction = idx_direction(view);
    elements->first = 0;
    elements->end = npyx_view_nelem(view);
    bool is_ranged = range.low > 0 || range.high < INT64_MAX;
    elements->items.is_checked = is_ranged && direction == 0;
    if (!is_ranged || direction == 0)
        return;
    int64_t before = direction > 0 ? range.low : range.high, last = direction > 0 ? range.high : range.low;
    elements->first = position_of(view, before, direction);
    if (direction > 0 ? last < INT64_MAX : last > 0)
        elements->end = position_of(view, last + direction, direction);
    if (elements->first >= elements->end)
        elements->first = elements->end = 0;
}

/* Goes to the first element, past those of the open array that OFFSET skips; where elements are checked one
 * by one, those are stepped over. */
static void skip(elements_cursor *elements) {
    npyext_item_cursor *items = &elements->items;
    int64_t nelem = elements->end - elements->first, nskipped = items->is_checked ? 0
                                                                : items->window.nskipped < nelem
                                                                    ? items->window.nskipped
                                                                    : nelem;
    items->window.nskipped -= nskipped;
    items->position = elements->first + nskipped;
    npyx_blocks_seek(&elements->blocks, items->position, &elements->block_nskipped);
    items->block_end = items->position - elements->block_nskipped;
    nelem -= nskipped;
    npyx_blocks_expect(&elements->blocks, nelem < items->window.nrows ? nelem : items->window.nrows);
}

/* Whether one element of a whole array in C order is looked up: then only the place that is read changes.
 * Narrowing a view and beginning to read it take as long as all the rest of a lookup. */
static bool is_look_up(const elements_cursor *elements) {
    const npyx_view *view = &elements->items.base.selection.view;
    return elements->idx_range.low == elements->idx_range.high && elements->ranged_axes == 0 &&
           elements->items.filter.nterms == 0 && npyx_view_is_whole(view) && npyx_view_is_contiguous(view);
}

static void begin_look_up(elements_cursor *elements) {
    const npyext_selection *selection = &elements->items.base.selection;
    if (!elements->is_seeking || elements->blocks.reader.source != selection->payload) {
        elements->view = selection->view;
        npyx_blocks_begin(&elements->blocks, selection->payload, &elements->view);
    }
    const int64_t idx = elements->idx_range.low;
    const bool is_there = idx < npyx_view_nelem(&elements->view);
    elements->is_whole = elements->is_seeking = true;
    elements->items.is_checked = false;
    elements->first = is_there ? idx : 0;
    elements->end = is_there ? idx + 1 : 0;
}

static void begin_walk(elements_cursor *elements) {
    const npyext_order order = elements->items.base.scan.plan.order;
    narrow_view(elements);
    if (order != NPYEXT_OWN_ORDER)
        npyx_view_orient(&elements->view, NPYX_MAX_NDIM, order == NPYEXT_DESCENDING);
    elements->is_whole = npyx_view_is_whole(&elements->view);
    elements->is_seeking = false;
    find_positions(elements);
    npyx_blocks_begin(&elements->blocks, elements->items.base.selection.payload, &elements->view);
}

/* Goes before the first element of the array in the selection. */
static npyx_status elements_begin(npyext_item_cursor *items, bool is_again, npyx_error *error) {
    elements_cursor *elements = (elements_cursor *)items;
    npyext_selection *selection = &items->base.selection;
    const npyext_plan *plan = &items->base.scan.plan;
    bool is_judged = is_again && !items->filter.is_asked;
    if (!is_judged)
        NPYX_TRY(npyext_value_filter_check(&items->filter, npyext_selection_dtype(selection), error));
    if (is_again && (plan->needs & NPYEXT_NEEDS_ITEMS) != 0)
        NPYX_TRY(npyx_source_hold(&selection->payload, items->nlookups, NPYX_HELD_NBYTES, error));
    elements->is_seeking = elements->is_seeking && is_again;
    elements->block_nskipped = 0;
    if (is_look_up(elements))
        begin_look_up(elements);
    else
        begin_walk(elements);
    if (!is_judged)
        NPYX_TRY(npyext_items_begin_array(items, 0, true, error));
    skip(elements);
    if (items->is_filtered && selection->astype == NULL)
        npyx_reader_set_work(&elements->blocks.reader, npyext_value_filter_work(&items->filter));
    return NPYX_OK;
}

/* Reads the next block of the open array, if items are asked for. */
static npyx_status elements_read_block(elements_cursor *elements, npyx_error *error) {
    npyext_item_cursor *items = &elements->items;
    npyx_blocks *blocks = &elements->blocks;
    NPYX_TRY(npyext_items_get_underway(items, error));
    NPYX_TRY(npyx_blocks_next(blocks, error));
    const int64_t nskipped = elements->block_nskipped;
    int64_t nelem = blocks->nelem - nskipped;
    elements->block_nskipped = 0;
    items->position = items->filtered_from = items->block_end + nskipped;
    items->step_nbytes = npyext_selection_dtype(&items->base.selection)->itemsize;
    const uint8_t *block = blocks->items + nskipped * elements->view.dtype->itemsize;
    NPYX_TRY(npyext_items_convert(items, block, 1, &nelem, items->position, &items->item, error));
    items->block_end = items->position + nelem;
    if (items->is_filtered)
        NPYX_TRY(npyext_value_filter_block(&items->filter, items->item, nelem,
                                           nskipped == 0 ? blocks->reader.result : NULL, error));
    if (items->block_end >= elements->end) {
        items->block_end = elements->end;
        items->fault.status = NPYX_OK; /* of an item that was not asked for */
    }
    return NPYX_OK;
}

static npyx_status elements_next_block(npyext_item_cursor *items, npyx_error *error) {
    elements_cursor *elements = (elements_cursor *)items;
    if (items->block_end >= elements->end)
        return NPYX_DONE;
    if (items->base.scan.plan.needs & NPYEXT_NEEDS_ITEMS) {
        NPYX_TRY(elements_read_block(elements, error));
    } else {
        bool is_long = items->is_checked && elements->end - items->block_end > ELEMENTS_POLL_NELEM;
        items->block_end = is_long ? items->block_end + ELEMENTS_POLL_NELEM : elements->end;
        NPYX_TRY(npyx_poll(&items->base.scan.connection->host, error));
    }
    items->plain_end = items->is_filtered || items->is_checked ? 0 : items->block_end;
    return NPYX_OK;
}

static int64_t idx_of(const elements_cursor *elements) {
    return elements->is_whole ? elements->items.position
                              : npyx_view_file_position(&elements->view, elements->items.position);
}

static int64_t elements_entry(const npyext_cursor *cursor) {
    const elements_cursor *elements = (const elements_cursor *)cursor;
    return elements->view.file_ndim == 0
               ? -1
               : npyx_view_file_coordinate(&elements->view, elements->items.position, 0);
}

/* Whether the current element is in the idx range, where they are checked one by one. */
static bool elements_is_wanted(const npyext_item_cursor *items) {
    const elements_cursor *elements = (const elements_cursor *)items;
    int64_t idx = idx_of(elements);
    return idx >= elements->idx_range.low && idx <= elements->idx_range.high;
}

static void elements_read_terms(npyext_item_cursor *items, sqlite3_value **argv) {
    elements_cursor *elements = (elements_cursor *)items;
    const npyext_plan *plan = &items->base.scan.plan;
    elements->idx_range = (npyext_range){0, INT64_MAX};
    elements->ranged_axes = 0;
    for (int i = 0; i < plan->nterms; i++) {
        int axis = elements_axis(plan->terms[i].column);
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

static const npyext_item_methods elements_methods = {
    .read_terms = elements_read_terms,
    .is_wanted = elements_is_wanted,
    .begin = elements_begin,
    .next_block = elements_next_block,
    .columns = {ELEMENTS_VALUE, ELEMENTS_REAL, ELEMENTS_IMAG},
    .reader_off = offsetof(elements_cursor, blocks.reader)};

NPYEXT_KNOWN_RESULT(static, elements_result_idx, const elements_cursor *at = (elements_cursor *)cursor, true,
                    sqlite3_result_int64, idx_of(at))

NPYEXT_KNOWN_RESULT(static, elements_result_value, , true, npyext_items_result, (npyext_item_cursor *)cursor,
                    0, NULL)

/* Like ndarray.real and .imag: a number that is not complex is its own real part; its imaginary part is 0. */
static void elements_result_part(sqlite3_context *context, npyext_cursor *cursor, bool is_imag) {
    const npyext_item_cursor *items = (npyext_item_cursor *)cursor;
    const npyx_dtype *dtype = npyext_selection_dtype(&items->base.selection);
    double part;
    if (npyx_element_complex_part(dtype, items->item, is_imag, &part))
        sqlite3_result_double(context, part);
    else if (npyx_dtype_is_real(dtype) && !is_imag)
        elements_result_value(context, cursor);
    else if (npyx_dtype_is_real(dtype))
        sqlite3_result_int(context, 0);
}

NPYEXT_KNOWN_RESULT(static, elements_result_real, , true, elements_result_part, cursor, false)
NPYEXT_KNOWN_RESULT(static, elements_result_imag, , true, elements_result_part, cursor, true)

static int elements_other_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column) {
    const elements_cursor *elements = (elements_cursor *)cursor;
    int axis = elements_axis(column);
    if (axis < 0)
        return npyext_cursor_column(cursor, context, column);
    if (axis < elements->view.file_ndim)
        sqlite3_result_int64(context,
                             npyx_view_file_coordinate(&elements->view, elements->items.position, axis));
    return SQLITE_OK;
}

/* The column that is asked for in every row bypasses the table. */
static int elements_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column) {
    const npyext_item_cursor *items = (npyext_item_cursor *)cursor;
    bool is_plain = column == ELEMENTS_VALUE && npyext_result_plain(context, items->plain_type, items->item);
    return is_plain ? SQLITE_OK : elements_other_column(cursor, context, column);
}

/* clang-format off */
#define COORDINATE(k)                                                                                        \
    { .declaration = "i" #k " INTEGER", .is_hidden = (k) > 3, .kind = NPYEXT_IS_COORDINATE }
/* clang-format on */
#define TEN_COORDINATES(a, b, c, d, e, f, g, h, i, j)                                                        \
    COORDINATE(a), COORDINATE(b), COORDINATE(c), COORDINATE(d), COORDINATE(e), COORDINATE(f), COORDINATE(g), \
        COORDINATE(h), COORDINATE(i), COORDINATE(j)

static const npyext_column elements_columns[] = {
    NPYEXT_INDEX("idx INTEGER", elements_result_idx),
    COORDINATE(0),
    COORDINATE(1),
    COORDINATE(2),
    COORDINATE(3),
    [ELEMENTS_VALUE] = NPYEXT_VALUE("value", false, elements_result_value),
    NPYEXT_ITEM_ARGUMENTS,
    /* BLOB gives no affinity; HIDDEN alone would give NUMERIC */
    [ELEMENTS_REAL] = NPYEXT_VALUE("real BLOB", true, elements_result_real),
    NPYEXT_VALUE("imag BLOB", true, elements_result_imag),
    NPYEXT_PATH(true),
    NPYEXT_NAME(true, npyext_result_name),
    [ELEMENTS_I4] = TEN_COORDINATES(4, 5, 6, 7, 8, 9, 10, 11, 12, 13),
    TEN_COORDINATES(14, 15, 16, 17, 18, 19, 20, 21, 22, 23),
    TEN_COORDINATES(24, 25, 26, 27, 28, 29, 30, 31, 32, 33),
    TEN_COORDINATES(34, 35, 36, 37, 38, 39, 40, 41, 42, 43),
    TEN_COORDINATES(44, 45, 46, 47, 48, 49, 50, 51, 52, 53),
    TEN_COORDINATES(54, 55, 56, 57, 58, 59, 60, 61, 62, 63),
    [ELEMENTS_AFTER] = NPYEXT_ENTRY_COLUMNS,
    NPYEXT_ARRAY_KEY(npyext_result_array_key),
};

const npyext_function npyext_npy_elements = {
    .name = "npy_elements",
    NPYEXT_COLUMNS(elements_columns),
    .key = ", idx",
    .row = NPYEXT_ROW_OF_ITEM,
    .entry = elements_entry,
    NPYEXT_ITEMS(elements_cursor, elements_methods, elements_column, npyext_items_open, npyext_items_close),
};
