/* npy_unique(source, member, slice): the distinct values of arrays, and how often each occurs; with labels
 * (by), for each label. */
#include "functions.h"
#include "scan/array_rows.h"
#include "scan/result.h"
#include "stat/unique.h"

/* Where a value occurs first can be known only if items come in order. */
enum { UNIQUE_NEEDS_FIRST = NPYEXT_NEEDS_ITEMS | NPYEXT_NEEDS_PLACE };

enum { UNIQUE_VALUE }; /* the column that is looked up by number */

typedef struct unique_cursor {
    npyext_array_rows_cursor base;
    npyx_unique unique; /* of the open array */
} unique_cursor;

/* The current row's number in it. */
static int64_t unique_at(const unique_cursor *cursor) {
    return cursor->base.nrows - 1;
}

/* SQL has a value for any number, but not for any text or date. */
static bool unique_checks_items(const unique_cursor *cursor) {
    return !npyx_dtype_is_real(cursor->unique.dtype) &&
           npyext_plan_uses(&cursor->base.base.scan.plan, UNIQUE_VALUE);
}

static npyx_status unique_begin_array(npyext_cursor *base, npyx_error *error) {
    unique_cursor *cursor = (unique_cursor *)base;
    const npyext_selection *selection = &base->selection;
    bool wants_first = (base->scan.plan.needs & NPYEXT_NEEDS_PLACE) != 0;
    NPYX_TRY(npyx_unique_make(&cursor->unique, selection->payload, &selection->view,
                              npyext_array_rows_labels(base), wants_first, error));
    if (!unique_checks_items(cursor))
        cursor->base.nsure = cursor->unique.nrows;
    return NPYX_OK;
}

static void unique_end_array(npyext_cursor *cursor) {
    npyx_unique_clear(&((unique_cursor *)cursor)->unique);
}

/* Fails if SQL has no value for an item. */
static npyx_status unique_next_row(npyext_cursor *cursor, npyx_error *error) {
    const unique_cursor *at_hand = (const unique_cursor *)cursor;
    const npyx_unique *unique = &at_hand->unique;
    uint8_t room[NPYX_ORDER_ITEM_NBYTES];
    if (at_hand->base.nrows >= unique->nrows)
        return NPYX_DONE;
    const uint8_t *item =
        unique_checks_items(at_hand) ? npyx_unique_item(unique, at_hand->base.nrows, room) : NULL;
    return item == NULL ? NPYX_OK : npyext_check_item(cursor, unique->dtype, item, error);
}

static const npyext_array_rows_methods unique_rows = {
    .begin_array = unique_begin_array, .next_row = unique_next_row, .end_array = unique_end_array};

/* ---- columns ---- */

#define UNIQUE_RESULT(name, is_known, ...)                                                                   \
    NPYEXT_KNOWN_RESULT(static, name, const unique_cursor *at_hand = (const unique_cursor *)cursor;          \
                        const npyx_unique *unique = &at_hand->unique;                                        \
                        (void)unique, !cursor->scan.has_error && (is_known), __VA_ARGS__)

static void unique_put(sqlite3_context *context, npyext_cursor *cursor, const npyx_unique *unique,
                       int64_t at) {
    uint8_t room[NPYX_ORDER_ITEM_NBYTES];
    const uint8_t *item = npyx_unique_item(unique, at, room);
    if (item != NULL)
        npyext_result_item(context, cursor, unique->dtype, item);
}
UNIQUE_RESULT(unique_value, true, unique_put, cursor, unique, unique_at(at_hand))
UNIQUE_RESULT(unique_count, true, sqlite3_result_int64, npyx_unique_count(unique, unique_at(at_hand)))
UNIQUE_RESULT(unique_first, true, sqlite3_result_int64,
              npyx_view_file_position(&cursor->selection.view, npyx_unique_first(unique, unique_at(at_hand))))
UNIQUE_RESULT(unique_label, true, npyext_array_rows_result_label, cursor,
              npyx_unique_label(unique, unique_at(at_hand)))

static const npyext_column unique_columns[] = {
    [UNIQUE_VALUE] = NPYEXT_OUTPUT("value", NPYEXT_NEEDS_ITEMS, unique_value),
    NPYEXT_OUTPUT("count INTEGER", NPYEXT_NEEDS_ITEMS, unique_count),
    NPYEXT_ERROR(NPYEXT_NEEDS_ITEMS),
    NPYEXT_FIRST_ARGUMENTS,
    NPYEXT_LAST_ARGUMENTS,
    NPYEXT_ARGUMENT("by BLOB", NPYEXT_BY),
    NPYEXT_HIDDEN("label BLOB", 0, unique_label),
    NPYEXT_HIDDEN("first INTEGER", UNIQUE_NEEDS_FIRST, unique_first),
    NPYEXT_PATH(true),
    NPYEXT_NAME(true, npyext_result_name),
    NPYEXT_ENTRY_COLUMNS,
    NPYEXT_ERROR_KIND(NPYEXT_NEEDS_ITEMS),
    NPYEXT_ARRAY_KEY(npyext_array_rows_result_key),
};

const npyext_function npyext_npy_unique = {
    .name = "npy_unique",
    NPYEXT_COLUMNS(unique_columns),
    .has_error_column = true,
    .estimated_nrows = 100,
    NPYEXT_ARRAY_ROWS(unique_cursor, unique_rows),
};
