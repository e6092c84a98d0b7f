/* npy_stats(source, member, slice, axis): counts, extremes and moments of arrays, one row per array, field,
 * or coordinate of the remaining axes. */
#include <math.h>

#include "functions.h"
#include "scan/array_rows.h"
#include "scan/result.h"
#include "stat/quantile.h"
#include "stat/reduction.h"
#include "value/scalars.h"

/* Where the least item is can be known only if items come in order. */
enum { NEEDS_ORDER = NPYEXT_NEEDS_ITEMS | NPYEXT_NEEDS_PLACE };
enum { NEEDS_MOMENTS = NPYEXT_NEEDS_ITEMS | NPYEXT_NEEDS_MOMENTS };

/* The columns that are looked up by number. */
enum { STATS_MIN = 8, STATS_MAX, STATS_MEAN, STATS_MEDIAN = 28 };

typedef struct stats_cursor {
    npyext_array_rows_cursor base;
    npyx_reduction reduction;
    int64_t label, coordinate; /* of the current row, in the reduction's group */
    int leaf;
    npyx_quantiles medians;       /* if the query asks for them */
    npyx_quantile median;         /* the one that they found last */
    npyx_quantile *group_medians; /* as the reduction's statistics */
} stats_cursor;

static void end_reduction(npyext_cursor *cursor) {
    stats_cursor *stats = (stats_cursor *)cursor;
    npyx_reduction_end(&stats->reduction);
    npyx_free(stats->medians.host, stats->group_medians);
    stats->group_medians = NULL;
    npyx_quantiles_end(&stats->medians);
}

static npyx_status begin_medians(stats_cursor *stats, const bool *axes, npyx_error *error) {
    const npyext_selection *selection = &stats->base.base.selection;
    const npyx_quantiles_options options = {.axes = axes,
                                            .method = NPYX_MEDIAN,
                                            .list = &stats->median,
                                            .nquantiles = 1,
                                            .takes_any = true,
                                            .labels = npyext_array_rows_labels(&stats->base.base)};
    stats->median = (npyx_quantile){.q = 0.5};
    return npyx_quantiles_begin(&stats->medians, selection->payload, &selection->view, &options, error);
}

static npyx_status begin_reduction(npyext_cursor *cursor, npyx_error *error) {
    stats_cursor *stats = (stats_cursor *)cursor;
    const npyext_selection *selection = &stats->base.base.selection;
    int needs = stats->base.base.scan.plan.needs;
    const bool *axes;
    bool room[NPYX_MAX_NDIM];
    NPYX_TRY(npyext_array_rows_axes(cursor, room, &axes, error));
    npyx_reduction_options options = {.axes = axes,
                                      .is_in_order = (needs & NPYEXT_NEEDS_PLACE) != 0,
                                      .wants_crc32 = (needs & NPYEXT_NEEDS_CRC) != 0,
                                      .skips_items = (needs & NPYEXT_NEEDS_ITEMS) == 0,
                                      .skips_moments = (needs & NPYEXT_NEEDS_MOMENTS) == 0,
                                      .labels = npyext_array_rows_labels(cursor)};
    stats->label = stats->coordinate = stats->leaf = 0;
    NPYX_TRY(npyx_reduction_begin(&stats->reduction, selection->payload, &selection->view, &options, error));
    return needs & NPYEXT_NEEDS_MEDIAN ? begin_medians(stats, axes, error) : NPYX_OK;
}

/* The place of a row among the statistics of the group. */
static int64_t place_in_group(const npyx_reduction *reduction, int64_t label, int64_t coordinate, int leaf) {
    return (label * reduction->group_ncoordinates + coordinate) * reduction->nleaves + leaf;
}

static int64_t place_of_row(const stats_cursor *cursor) {
    return place_in_group(&cursor->reduction, cursor->label, cursor->coordinate, cursor->leaf);
}

static const npyx_stats *stats_of_row(const stats_cursor *cursor) {
    return &cursor->reduction.stats[place_of_row(cursor)];
}

/* A statistic of the current row as an item. */
typedef struct item_statistic {
    npyx_dtype dtype;
    const uint8_t *bytes;
    uint8_t made[NPYX_STATS_ITEM_NBYTES];
} item_statistic;

/* Finds it; false: there is none. */
static bool find_item(const stats_cursor *cursor, npyext_statistic statistic, item_statistic *found) {
    const npyx_stats *stats = stats_of_row(cursor);
    if (statistic == NPYEXT_STATISTIC_MIN || statistic == NPYEXT_STATISTIC_MAX) { /* may be long texts */
        const npyx_extreme *extreme =
            &stats->extremes[statistic == NPYEXT_STATISTIC_MIN ? NPYX_LEAST : NPYX_GREATEST];
        found->dtype = *stats->dtype;
        found->bytes = npyx_extreme_item(extreme);
        return extreme->position >= 0;
    }
    const npyx_quantile *median =
        statistic == NPYEXT_STATISTIC_MEDIAN ? &cursor->group_medians[place_of_row(cursor)] : NULL;
    double parts[2];
    found->dtype = npyext_statistic_dtype(statistic, stats->dtype);
    found->bytes = found->made;
    if (found->dtype.type == NPYX_NTYPES || (median != NULL && !median->is_known))
        return false;
    npyext_statistic_put(statistic, &found->dtype, stats, median, found->made);
    if (found->dtype.type != NPYX_C16)
        return true;
    memcpy(parts, found->made, sizeof parts);
    return !isnan(parts[0]) || !isnan(parts[1]);
}

/* Fails if SQL has no value for an item that the query asks for. */
static npyx_status check_items(stats_cursor *stats, npyx_error *error) {
    static const struct {
        int column;
        npyext_statistic statistic;
    } items[] = {{STATS_MIN, NPYEXT_STATISTIC_MIN},
                 {STATS_MAX, NPYEXT_STATISTIC_MAX},
                 {STATS_MEAN, NPYEXT_STATISTIC_MEAN},
                 {STATS_MEDIAN, NPYEXT_STATISTIC_MEDIAN}};
    if (npyx_dtype_is_real(stats_of_row(stats)->dtype))
        return NPYX_OK;
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) {
        item_statistic item;
        if (npyext_plan_uses(&stats->base.base.scan.plan, items[i].column) &&
            find_item(stats, items[i].statistic, &item))
            NPYX_TRY(npyext_check_item(&stats->base.base, &item.dtype, item.bytes, error));
    }
    return NPYX_OK;
}

/* Finds the medians of the reduction's group. */
static npyx_status find_group_medians(stats_cursor *stats, npyx_error *error) {
    const npyx_reduction *reduction = &stats->reduction;
    npyx_host *host = stats->medians.host;
    npyx_free(host, stats->group_medians);
    stats->group_medians = npyx_alloc_array(host, place_in_group(reduction, reduction->nlabels, 0, 0) + 1,
                                            sizeof *stats->group_medians);
    NPYX_TRY(npyx_check_memory(stats->group_medians, error));
    for (int64_t coordinate = 0; coordinate < reduction->group_ncoordinates; coordinate++) {
        for (int leaf = 0; leaf < reduction->nleaves; leaf++) {
            for (int64_t label = 0; label < reduction->nlabels; label++) {
                NPYX_TRY(npyx_quantiles_next(&stats->medians, error));
                stats->group_medians[place_in_group(reduction, label, coordinate, leaf)] = stats->median;
            }
        }
    }
    return NPYX_OK;
}

/* Goes on to the next field, coordinate or label of the reduction; NPYX_DONE after the last. */
static npyx_status next_statistics(stats_cursor *stats, npyx_error *error) {
    npyx_reduction *reduction = &stats->reduction;
    if (stats->base.nrows > 0 && ++stats->leaf < reduction->nleaves)
        return NPYX_OK;
    stats->leaf = 0;
    if (stats->base.nrows > 0 && ++stats->coordinate < reduction->group_ncoordinates)
        return NPYX_OK;
    stats->coordinate = 0;
    if (stats->base.nrows == 0 || ++stats->label == reduction->nlabels) {
        stats->label = 0;
        NPYX_TRY(npyx_reduction_next(reduction, error));
        return stats->medians.host == NULL ? NPYX_OK : find_group_medians(stats, error);
    }
    return NPYX_OK;
}

/* Goes on to the next row of the open array. */
static npyx_status next_row(npyext_cursor *cursor, npyx_error *error) {
    stats_cursor *stats = (stats_cursor *)cursor;
    NPYX_TRY(next_statistics(stats, error));
    return check_items(stats, error);
}

static const npyext_array_rows_methods stats_rows = {
    .begin_array = begin_reduction, .next_row = next_row, .end_array = end_reduction};

/* The statistics of the current row; NULL if that is an error's. */
static const npyx_stats *stats_at_hand(const npyext_cursor *cursor) {
    return cursor->scan.has_error ? NULL : stats_of_row((const stats_cursor *)cursor);
}

static bool has_numbers(const npyx_stats *stats) {
    return stats->form != NPYX_STATS_ORDER && stats->form != NPYX_STATS_COUNT;
}

#define STATS_RESULT(name, is_known, ...)                                                                    \
    NPYEXT_KNOWN_RESULT(static, name, const stats_cursor *at_hand = (stats_cursor *)cursor;                  \
                        const npyx_reduction *reduction = &at_hand->reduction;                               \
                        const npyx_stats *stats = stats_at_hand(cursor);                                     \
                        (void)reduction, stats != NULL && (is_known), __VA_ARGS__)
STATS_RESULT(stats_count, true, sqlite3_result_int64, stats->count)
STATS_RESULT(stats_nulls, true, sqlite3_result_int64, stats->nulls)
STATS_RESULT(stats_infs, has_numbers(stats), sqlite3_result_int64, npyx_stats_infs(stats))
STATS_RESULT(stats_zeros, has_numbers(stats), sqlite3_result_int64, stats->zeros)
#define STATS_PLACE(name, k)                                                                                 \
    STATS_RESULT(name, stats->extremes[k].position >= 0, sqlite3_result_int64,                               \
                 npyx_reduction_place(reduction, at_hand->leaf, stats->extremes[k].position))
STATS_PLACE(stats_argmin, NPYX_LEAST)
STATS_PLACE(stats_argmax, NPYX_GREATEST)
STATS_RESULT(stats_crc32,
             reduction->how.wants_crc32 && !reduction->leaves[at_hand->leaf].view.dtype->has_objects,
             sqlite3_result_int64, reduction->crc32[at_hand->leaf])
STATS_RESULT(stats_field_name, reduction->view.dtype->type == NPYX_STRUCT, sqlite3_result_text,
             reduction->leaves[at_hand->leaf].name, -1, SQLITE_TRANSIENT)
STATS_RESULT(stats_at, reduction->has_axes, npyext_result_coordinate, cursor, &reduction->view,
             reduction->is_kept, reduction->first_coordinate + at_hand->coordinate)
STATS_RESULT(stats_label, true, npyext_array_rows_result_label, cursor, at_hand->label)
STATS_RESULT(stats_dtype, true, npyext_result_dtype, cursor, reduction->leaves[at_hand->leaf].view.dtype)

/* What the row is about, before axes are reduced: a field's subarrays are axes, as in NumPy. */
static void stats_shape(sqlite3_context *context, npyext_cursor *cursor) {
    const stats_cursor *stats = (const stats_cursor *)cursor;
    const npyx_view *view = &cursor->selection.view;
    int64_t shape[2 * NPYX_MAX_NDIM];
    if (cursor->scan.has_error)
        return;
    const npyx_view *leaf = &stats->reduction.leaves[stats->leaf].view;
    memcpy(shape, view->shape, (size_t)view->ndim * sizeof shape[0]);
    memcpy(shape + view->ndim, leaf->shape, (size_t)leaf->ndim * sizeof shape[0]);
    npyext_result_integers(context, &cursor->scratch, shape, view->ndim + leaf->ndim);
}

static void result_statistic(sqlite3_context *context, npyext_cursor *cursor, npyext_statistic statistic) {
    item_statistic item;
    if (!cursor->scan.has_error && find_item((const stats_cursor *)cursor, statistic, &item))
        npyext_result_item(context, cursor, &item.dtype, item.bytes);
}

#define STATS_STATISTIC(name, statistic)                                                                     \
    NPYEXT_KNOWN_RESULT(static, name, , true, result_statistic, cursor, NPYEXT_STATISTIC_##statistic)
STATS_STATISTIC(stats_min, MIN)
STATS_STATISTIC(stats_max, MAX)
STATS_STATISTIC(stats_mean, MEAN)
STATS_STATISTIC(stats_median, MEDIAN)
STATS_STATISTIC(stats_m2, M2)
STATS_STATISTIC(stats_var, VAR)
STATS_STATISTIC(stats_std, STD)

/* Here a sum of integers has as many digits as it needs. */
static void stats_sum(sqlite3_context *context, npyext_cursor *cursor) {
    const npyx_stats *stats = stats_at_hand(cursor);
    char text[NPYX_WIDE_TEXT_NBYTES];
    bool is_whole = stats != NULL && stats->dtype->type != NPYX_DATETIME &&
                    (stats->form == NPYX_STATS_INTEGER || stats->form == NPYX_STATS_WIDE);
    if (!is_whole)
        result_statistic(context, cursor, NPYEXT_STATISTIC_SUM);
    else if (npyx_wide_is_i64(stats->wide_sum))
        sqlite3_result_int64(context, (int64_t)stats->wide_sum.low);
    else
        npyext_result_text(context, text, npyx_wide_text(stats->wide_sum, text));
}

static const npyext_column stats_columns[] = {
    NPYEXT_PATH(false),
    NPYEXT_NAME(false, npyext_result_name),
    NPYEXT_OUTPUT("field_name TEXT", 0, stats_field_name),
    NPYEXT_OUTPUT("at", 0, stats_at),
    NPYEXT_OUTPUT("count INTEGER", NPYEXT_NEEDS_ITEMS, stats_count),
    NPYEXT_OUTPUT("nulls INTEGER", NPYEXT_NEEDS_ITEMS, stats_nulls),
    NPYEXT_OUTPUT("infs INTEGER", NPYEXT_NEEDS_ITEMS, stats_infs),
    NPYEXT_OUTPUT("zeros INTEGER", NPYEXT_NEEDS_ITEMS, stats_zeros),
    [STATS_MIN] = NPYEXT_OUTPUT("min", NPYEXT_NEEDS_ITEMS, stats_min),
    [STATS_MAX] = NPYEXT_OUTPUT("max", NPYEXT_NEEDS_ITEMS, stats_max),
    [STATS_MEAN] = NPYEXT_OUTPUT("mean", NPYEXT_NEEDS_ITEMS, stats_mean),
    NPYEXT_OUTPUT("std REAL", NEEDS_MOMENTS, stats_std),
    NPYEXT_OUTPUT("sum", NPYEXT_NEEDS_ITEMS, stats_sum),
    NPYEXT_ERROR(NPYEXT_NEEDS_ITEMS),
    NPYEXT_FIRST_ARGUMENTS,
    NPYEXT_ARGUMENT("axis BLOB", NPYEXT_AXIS),
    NPYEXT_LAST_ARGUMENTS,
    NPYEXT_ARGUMENT("by BLOB", NPYEXT_BY),
    NPYEXT_HIDDEN("label BLOB", 0, stats_label),
    NPYEXT_HIDDEN("argmin INTEGER", NEEDS_ORDER, stats_argmin),
    NPYEXT_HIDDEN("argmax INTEGER", NEEDS_ORDER, stats_argmax),
    NPYEXT_HIDDEN("var REAL", NEEDS_MOMENTS, stats_var),
    NPYEXT_HIDDEN("m2 REAL", NEEDS_MOMENTS, stats_m2),
    [STATS_MEDIAN] = NPYEXT_HIDDEN("median BLOB", NPYEXT_NEEDS_MEDIAN, stats_median),
    NPYEXT_HIDDEN("crc32 INTEGER", NPYEXT_NEEDS_ITEMS | NPYEXT_NEEDS_CRC, stats_crc32),
    NPYEXT_HIDDEN("dtype TEXT", 0, stats_dtype),
    NPYEXT_HIDDEN("shape TEXT", 0, stats_shape),
    NPYEXT_ENTRY_COLUMNS,
    NPYEXT_ERROR_KIND(NPYEXT_NEEDS_ITEMS),
    NPYEXT_ARRAY_KEY(npyext_array_rows_result_key),
};

const npyext_function npyext_npy_stats = {
    .name = "npy_stats",
    NPYEXT_COLUMNS(stats_columns),
    .takes_objects = true,
    .has_error_column = true,
    .estimated_nrows = 1,
    NPYEXT_ARRAY_ROWS(stats_cursor, stats_rows),
};
