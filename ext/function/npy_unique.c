/* npy_unique(source, member, slice): the different values of arrays, and how often each comes. */
#include "functions.h"
#include "scan/cursor.h"

/* Where a value comes first is known only when items come in their order. */
enum { UNIQUE_NEEDS_FIRST = NPYEXT_NEEDS_ITEMS | NPYEXT_NEEDS_PLACE };

enum { UNIQUE_VALUE }; /* the column that is looked for by number */

typedef struct unique_cursor {
    npyext_cursor base;
    bool is_made; /* of the array that is open */
    npyx_unique unique;
    int64_t at;    /* the value at hand; behind the last one: NULL */
    int64_t nrows; /* given of the array */
} unique_cursor;

static void unique_end(unique_cursor *cursor) {
    npyx_unique_clear(&cursor->unique);
    cursor->is_made = false;
}

static void unique_close(npyext_cursor *base) {
    unique_end((unique_cursor *)base);
}

/* Counts the array that is open. */
static npyx_status unique_count_array(unique_cursor *cursor, npyx_error *error) {
    const npyext_selection *selection = &cursor->base.selection;
    bool wants_first = (cursor->base.scan.plan.needs & NPYEXT_NEEDS_PLACE) != 0;
    cursor->at = -1;
    cursor->nrows = 0;
    cursor->is_made = true;
    return npyx_unique_make(&cursor->unique, selection->payload, &selection->view, wants_first, error);
}

/* Fails when SQL has no value for an item: a date outside of the calendar, a text with a code point that
 * there is not. */
static npyx_status unique_check_item(unique_cursor *cursor, npyx_error *error) {
    const npyx_unique *unique = &cursor->unique;
    uint8_t room[NPYX_ORDER_ITEM_NBYTES];
    npyx_value value;
    if (npyx_dtype_is_real(unique->dtype) || cursor->at == unique->n ||
        !npyext_plan_uses(&cursor->base.scan.plan, UNIQUE_VALUE))
        return NPYX_OK;
    return npyx_element_value(unique->dtype, npyx_unique_item(unique, cursor->at, room),
                              &cursor->base.scratch, &value, error);
}

static npyx_status unique_next_row(unique_cursor *cursor, npyx_error *error) {
    const npyx_unique *unique = &cursor->unique;
    if (++cursor->at >= unique->n + (unique->nnulls > 0))
        return NPYX_DONE;
    return unique_check_item(cursor, error);
}

/* A step to a row, or to an array, whose first row is the next step's. */
static npyx_status unique_step(npyext_cursor *base, npyx_error *error) {
    unique_cursor *cursor = (unique_cursor *)base;
    npyx_status status =
        cursor->is_made ? unique_next_row(cursor, error) : npyext_cursor_next_array(base, error);
    if (status == NPYX_OK && !cursor->is_made) {
        status = unique_count_array(cursor, error);
        if (status == NPYX_OK)
            return NPYX_DONE;
    }
    if (status != NPYX_OK)
        unique_end(cursor);
    if (status != NPYX_OK && status != NPYX_DONE)
        npyext_selection_close(&base->selection);
    cursor->nrows += status != NPYX_DONE; /* array_key tells a fault's row from the one before it */
    return status;
}

static npyx_status unique_begin(npyext_cursor *base, const npyext_request *request, npyx_error *error) {
    unique_cursor *cursor = (unique_cursor *)base;
    unique_end(cursor);
    NPYX_TRY(npyext_cursor_begin(base, request, error));
    return base->selection.is_open ? unique_count_array(cursor, error) : NPYX_OK;
}

/* ---- columns ---- */

#define UNIQUE_RESULT(name, is_known, result_of, ...)                                                        \
    NPYEXT_KNOWN_RESULT(static, name, const unique_cursor *at_hand = (const unique_cursor *)cursor;          \
                        const npyx_unique *unique = &at_hand->unique;                                        \
                        bool is_null = at_hand->at == unique->n;                                             \
                        (void)is_null, !cursor->scan.has_error && (is_known), result_of, __VA_ARGS__)

static void unique_put(sqlite3_context *context, npyext_cursor *base, const unique_cursor *cursor) {
    const npyx_unique *unique = &cursor->unique;
    uint8_t room[NPYX_ORDER_ITEM_NBYTES];
    npyext_result_items(context, npyext_scan_place(&base->scan), unique->dtype, 0, NULL,
                        npyx_unique_item(unique, cursor->at, room), &base->scratch);
}
UNIQUE_RESULT(unique_value, !is_null, unique_put, cursor, at_hand)
UNIQUE_RESULT(unique_count, true, sqlite3_result_int64,
              is_null ? unique->nnulls : npyx_unique_count(unique, at_hand->at))
UNIQUE_RESULT(unique_first, true, sqlite3_result_int64,
              npyx_view_file_position(&cursor->selection.view,
                                      is_null ? unique->first_null : npyx_unique_first(unique, at_hand->at)))

/* No other column tells all the rows of an array apart. */
static void unique_array_key(sqlite3_context *context, npyext_cursor *cursor) {
    uint64_t key = (uint64_t)npyext_scan_array_key(&cursor->scan);
    sqlite3_result_int64(context, (int64_t)(key + (uint64_t)((unique_cursor *)cursor)->nrows));
}

static const npyext_column unique_columns[] = {
    [UNIQUE_VALUE] = NPYEXT_OUTPUT("value", NPYEXT_NEEDS_ITEMS, unique_value),
    NPYEXT_OUTPUT("count INTEGER", NPYEXT_NEEDS_ITEMS, unique_count),
    NPYEXT_ERROR(NPYEXT_NEEDS_ITEMS),
    NPYEXT_FIRST_ARGUMENTS,
    NPYEXT_FIELD_AND_VIEW,
    NPYEXT_EXPECT_AND_ON_ERROR,
    NPYEXT_HIDDEN("first INTEGER", UNIQUE_NEEDS_FIRST, unique_first),
    NPYEXT_PATH(true),
    NPYEXT_NAME(true, npyext_result_name),
    NPYEXT_PATH_COLUMNS,
    NPYEXT_SAMPLE_COLUMNS,
    NPYEXT_ERROR_KIND(NPYEXT_NEEDS_ITEMS),
    NPYEXT_ARRAY_KEY(unique_array_key),
};

const npyext_function npyext_npy_unique = {
    .name = "npy_unique",
    NPYEXT_COLUMNS(unique_columns),
    .takes_member = true,
    .row = NPYEXT_ROW_OF_ARRAY,
    .has_error_column = true,
    .estimated_nrows = 100,
    .cursor_nbytes = sizeof(unique_cursor),
    .close = unique_close,
    .begin = unique_begin,
    .step = unique_step,
    .module = NPYEXT_CURSOR_MODULE,
};
