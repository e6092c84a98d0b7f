/* npy_quantile(source, member, slice, quantiles, axis): quantiles of arrays, one row for each of them and
 * each field or coordinate of the remaining axes, and of these for each label (by). */
#include "functions.h"
#include "scan/array_rows.h"
#include "scan/result.h"
#include "stat/quantile.h"

enum { QUANTILE_DEFAULT_N = 5 }; /* the least, the quartiles, the greatest */

typedef struct quantile_cursor {
    npyext_array_rows_cursor base;
    /* for the call */
    npyx_arena arena;
    npyx_quantile_method method;
    npyx_quantile *list;
    int64_t n;
    /* for the open array */
    npyx_quantiles quantiles;
    int64_t at; /* the current one in the list */
} quantile_cursor;

static void quantile_end_array(npyext_cursor *cursor) {
    npyx_quantiles_end(&((quantile_cursor *)cursor)->quantiles);
}

static void quantile_open(npyext_cursor *base, npyx_host *host) {
    ((quantile_cursor *)base)->arena.host = host;
}

static void quantile_close(npyext_cursor *base) {
    npyx_arena_clear(&((quantile_cursor *)base)->arena);
}

/* ---- arguments ---- */

static npyx_status quantile_read_method(quantile_cursor *cursor, npyx_error *error) {
    const npyext_argument *argument = &cursor->base.base.scan.arguments[NPYEXT_METHOD];
    cursor->method = NPYX_LINEAR;
    if (!npyext_argument_is_given(argument))
        return NPYX_OK;
    if (argument->type != SQLITE_TEXT)
        return npyx_refuse(error, "method must be a text, such as 'linear' or 'nearest'");
    return npyx_quantile_method_parse(argument->bytes, argument->nbytes, &cursor->method, error);
}

static npyx_status quantile_read_list(quantile_cursor *cursor, npyx_error *error) {
    const npyext_argument *argument = &cursor->base.base.scan.arguments[NPYEXT_QUANTILES];
    bool is_given = npyext_argument_is_given(argument);
    if (is_given && argument->type == SQLITE_TEXT)
        return npyx_quantiles_parse(&cursor->arena, argument->bytes, argument->nbytes, &cursor->list,
                                    &cursor->n, error);
    bool is_integer = argument->type == SQLITE_INTEGER;
    if (is_given && !is_integer && argument->type != SQLITE_FLOAT)
        return npyx_refuse(error,
                           "quantiles must be a number or a JSON array of numbers, as in '[0.1, 0.5, 0.9]'");
    cursor->n = is_given ? 1 : QUANTILE_DEFAULT_N;
    cursor->list = npyx_arena_array(&cursor->arena, QUANTILE_DEFAULT_N, sizeof *cursor->list);
    NPYX_TRY(npyx_check_memory(cursor->list, error));
    for (int i = 0; i < QUANTILE_DEFAULT_N; i++)
        cursor->list[i] = (npyx_quantile){.q = (double)i / (QUANTILE_DEFAULT_N - 1)};
    if (is_given)
        cursor->list[0].q = is_integer ? (double)argument->integer : argument->real;
    return npyx_quantile_check(cursor->list[0].q, error);
}

static npyx_status quantile_read_arguments(npyext_cursor *base, npyx_error *error) {
    quantile_cursor *cursor = (quantile_cursor *)base;
    npyx_arena_clear(&cursor->arena);
    cursor->n = 0;
    if (cursor->base.base.scan.has_null)
        return NPYX_OK;
    NPYX_TRY(quantile_read_method(cursor, error));
    return quantile_read_list(cursor, error);
}

/* ---- rows ---- */

static npyx_status quantile_begin_array(npyext_cursor *base, npyx_error *error) {
    quantile_cursor *cursor = (quantile_cursor *)base;
    const npyext_selection *selection = &cursor->base.base.selection;
    const bool *axes;
    bool room[NPYX_MAX_NDIM];
    NPYX_TRY(npyext_array_rows_axes(base, room, &axes, error));
    const npyx_quantiles_options options = {.axes = axes,
                                            .method = cursor->method,
                                            .list = cursor->list,
                                            .nquantiles = cursor->n,
                                            .labels = npyext_array_rows_labels(base)};
    cursor->at = cursor->n;
    return npyx_quantiles_begin(&cursor->quantiles, selection->payload, &selection->view, &options, error);
}

/* Fails if SQL has no value for an item. */
static npyx_status quantile_check_items(quantile_cursor *cursor, npyx_error *error) {
    const npyx_quantiles *quantiles = &cursor->quantiles;
    const npyx_order_keys *keys = &quantiles->keys[quantiles->leaf];
    uint8_t item[NPYX_ORDER_ITEM_NBYTES];
    for (int64_t i = 0; i < cursor->n && npyx_quantiles_has(quantiles, quantiles->leaf) &&
                        npyx_type_is_date(keys->dtype->type);
         i++) {
        if (!cursor->list[i].is_known)
            break;
        npyx_order_key_item(keys, cursor->list[i].key, item);
        NPYX_TRY(npyext_check_item(&cursor->base.base, keys->dtype, item, error));
    }
    return NPYX_OK;
}

/* Goes to the next quantile, label, field or coordinate of the open array; NPYX_DONE after the last. */
static npyx_status quantile_next_row(npyext_cursor *base, npyx_error *error) {
    quantile_cursor *cursor = (quantile_cursor *)base;
    if (cursor->n == 0)
        return NPYX_DONE;
    if (++cursor->at < cursor->n)
        return NPYX_OK;
    NPYX_TRY(npyx_quantiles_next(&cursor->quantiles, error));
    cursor->at = 0;
    return quantile_check_items(cursor, error);
}

static const npyext_array_rows_methods quantile_rows = {
    quantile_read_arguments, quantile_begin_array, quantile_next_row, quantile_end_array, quantile_close};

/* ---- columns ---- */

#define QUANTILE_RESULT(name, is_known, result_of, ...)                                                      \
    NPYEXT_KNOWN_RESULT(static, name, const quantile_cursor *at_hand = (const quantile_cursor *)cursor;      \
                        const npyx_quantiles *quantiles = &at_hand->quantiles;                               \
                        (void)quantiles, !cursor->scan.has_error && (is_known), result_of, __VA_ARGS__)
QUANTILE_RESULT(quantile_field_name, quantiles->view.dtype->type == NPYX_STRUCT, sqlite3_result_text,
                quantiles->leaves[quantiles->leaf].name, -1, SQLITE_TRANSIENT)
QUANTILE_RESULT(quantile_at, quantiles->has_axes, npyext_result_coordinate, cursor, &quantiles->view,
                quantiles->is_kept, quantiles->coordinate)
QUANTILE_RESULT(quantile_label, true, npyext_array_rows_result_label, cursor, quantiles->label)
QUANTILE_RESULT(quantile_q, true, sqlite3_result_double, at_hand->list[at_hand->at].q)

static void quantile_put(sqlite3_context *context, npyext_cursor *base, const quantile_cursor *cursor) {
    const npyx_order_keys *keys = &cursor->quantiles.keys[cursor->quantiles.leaf];
    const npyx_quantile *quantile = &cursor->list[cursor->at];
    uint8_t item[NPYX_ORDER_ITEM_NBYTES];
    if (!npyx_quantile_is_item(cursor->method)) {
        sqlite3_result_double(context, quantile->value); /* NULL for NaN */
        return;
    }
    npyx_order_key_item(keys, quantile->key, item);
    npyext_result_item(context, base, keys->dtype, item);
}
QUANTILE_RESULT(quantile_value,
                npyx_quantiles_has(quantiles, quantiles->leaf) && at_hand->list[at_hand->at].is_known,
                quantile_put, cursor, at_hand)

static const npyext_column quantile_columns[] = {
    NPYEXT_PATH(false),
    NPYEXT_NAME(false, npyext_result_name),
    NPYEXT_OUTPUT("field_name TEXT", 0, quantile_field_name),
    NPYEXT_OUTPUT("at", 0, quantile_at),
    NPYEXT_OUTPUT("q REAL", 0, quantile_q),
    NPYEXT_OUTPUT("value", NPYEXT_NEEDS_ITEMS, quantile_value),
    NPYEXT_ERROR(NPYEXT_NEEDS_ITEMS),
    NPYEXT_FIRST_ARGUMENTS,
    NPYEXT_ARGUMENT("quantiles BLOB", NPYEXT_QUANTILES),
    NPYEXT_ARGUMENT("axis BLOB", NPYEXT_AXIS),
    NPYEXT_LAST_ARGUMENTS,
    NPYEXT_ARGUMENT("method BLOB", NPYEXT_METHOD),
    NPYEXT_ARGUMENT("by BLOB", NPYEXT_BY),
    NPYEXT_HIDDEN("label BLOB", 0, quantile_label),
    NPYEXT_ENTRY_COLUMNS,
    NPYEXT_ERROR_KIND(NPYEXT_NEEDS_ITEMS),
    NPYEXT_ARRAY_KEY(npyext_array_rows_result_key),
};

const npyext_function npyext_npy_quantile = {
    .name = "npy_quantile",
    NPYEXT_COLUMNS(quantile_columns),
    .has_error_column = true,
    .estimated_nrows = QUANTILE_DEFAULT_N,
    .open = quantile_open,
    NPYEXT_ARRAY_ROWS(quantile_cursor, quantile_rows),
};
