/* npy_stats(source, member, slice, axis): counts, extremes and moments of arrays, one row an array, a field
 * or a coordinate of the axes that are left. */
#include <math.h>
#include <string.h>

#include "functions.h"
#include "scan/axis_argument.h"
#include "scan/selection.h"

/* Where the least item stands is known only when items come in their order. */
enum { NEEDS_ORDER = NPYEXT_NEEDS_ITEMS | NPYEXT_NEEDS_PLACE };

/* The columns that are looked for by number. */
enum { STATS_MIN = 8, STATS_MAX, STATS_MEAN };

typedef struct stats_cursor {
    npyext_cursor base;
    npyext_selection selection;
    bool is_reducing;
    npyx_reduction reduction;
    int64_t coordinate; /* of the row at hand, in the reduction's group */
    int leaf;
    int64_t nrows; /* given of the array at hand */
    npyx_buffer scratch;
} stats_cursor;

static int stats_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor) {
    npyext_connection *connection = ((npyext_vtab *)vtab)->connection;
    int code = npyext_cursor_open(sizeof(stats_cursor), cursor);
    if (code != SQLITE_OK)
        return code;
    stats_cursor *stats = (stats_cursor *)*cursor;
    npyext_selection_init(&stats->selection, &connection->host);
    stats->scratch.host = &connection->host;
    return SQLITE_OK;
}

static void end_reduction(stats_cursor *stats) {
    npyx_reduction_end(&stats->reduction);
    stats->is_reducing = false;
}

static int stats_close(sqlite3_vtab_cursor *cursor) {
    stats_cursor *stats = (stats_cursor *)cursor;
    end_reduction(stats);
    npyext_selection_close(&stats->selection);
    npyext_scan_clear(&stats->base.scan);
    npyx_buffer_clear(&stats->scratch);
    sqlite3_free(stats);
    return SQLITE_OK;
}

static npyx_status begin_reduction(stats_cursor *stats, npyx_error *error) {
    const npyext_selection *selection = &stats->selection;
    int needs = stats->base.scan.plan.needs;
    bool axes[NPYX_MAX_NDIM], has_axes = false;
    NPYX_TRY(npyext_axis_argument_read(&stats->base.scan.arguments[NPYEXT_AXIS], &selection->view,
                                       &stats->base.scan.connection->host, axes, &has_axes, error));
    npyx_reduction_options options = {.axes = has_axes ? axes : NULL,
                                      .is_in_order = (needs & NPYEXT_NEEDS_PLACE) != 0,
                                      .wants_crc32 = (needs & NPYEXT_NEEDS_CRC) != 0,
                                      .skips_items = (needs & NPYEXT_NEEDS_ITEMS) == 0};
    stats->is_reducing = true;
    stats->coordinate = stats->leaf = 0;
    stats->nrows = 0;
    return npyx_reduction_begin(&stats->reduction, selection->payload, &selection->view, &options, error);
}

static const npyx_stats *stats_of_row(const stats_cursor *cursor) {
    const npyx_reduction *reduction = &cursor->reduction;
    return &reduction->stats[cursor->coordinate * reduction->nleaves + cursor->leaf];
}

/* A statistic that is an item: the least, the greatest, and the mean of dates. */
typedef struct item_statistic {
    npyx_dtype dtype;
    const uint8_t *bytes; /* NULL: there is none */
    int64_t date;
} item_statistic;

static bool find_item(const npyx_stats *stats, int column, item_statistic *found) {
    *found = (item_statistic){.dtype = *stats->dtype};
    const npyx_extreme *extreme = &stats->extremes[column == STATS_MIN ? NPYX_LEAST : NPYX_GREATEST];
    if ((column == STATS_MIN || column == STATS_MAX) && extreme->position >= 0)
        found->bytes = npyx_extreme_item(extreme);
    if (column == STATS_MEAN && stats->dtype->type == NPYX_DATETIME && stats->count > 0) {
        found->date = npyx_stats_nearest_mean(stats); /* the mean itself lies between two dates */
        found->dtype.is_big_endian = NPYX_HOST_IS_BIG_ENDIAN;
        found->bytes = (const uint8_t *)&found->date;
    }
    return found->bytes != NULL;
}

/* Fails when SQL has no value for an item that the query asks for: a date outside of the calendar, a text
 * with a code point that there is not. xColumn would find it too late for on_error. */
static npyx_status check_items(stats_cursor *stats, npyx_error *error) {
    static const int checked[] = {STATS_MIN, STATS_MAX, STATS_MEAN};
    const npyx_stats *row = stats_of_row(stats);
    if (npyx_dtype_is_real(row->dtype))
        return NPYX_OK;
    for (size_t i = 0; i < sizeof checked / sizeof checked[0]; i++) {
        item_statistic item;
        npyx_value value;
        if (npyext_plan_uses(&stats->base.scan.plan, checked[i]) && find_item(row, checked[i], &item))
            NPYX_TRY(npyx_element_value(&item.dtype, item.bytes, &stats->scratch, &value, error));
    }
    return NPYX_OK;
}

/* Goes on to the next coordinate or field of the open array; NPYX_DONE behind its last. */
static npyx_status stats_step(stats_cursor *stats, npyx_error *error) {
    npyx_reduction *reduction = &stats->reduction;
    if (stats->nrows > 0 && ++stats->leaf < reduction->nleaves)
        return NPYX_OK;
    stats->leaf = 0;
    if (stats->nrows > 0 && ++stats->coordinate < reduction->group_ncoordinates)
        return NPYX_OK;
    stats->coordinate = 0;
    return npyx_reduction_next(reduction, error);
}

static npyx_status next_row(stats_cursor *stats, npyx_error *error) {
    NPYX_TRY(stats_step(stats, error));
    return check_items(stats, error);
}

/* Goes on to the next array that can be opened, or answers NPYX_DONE. */
static npyx_status stats_next_array(stats_cursor *stats, npyx_error *error) {
    if (stats->selection.is_open && npyext_scan_is_single(&stats->base.scan))
        return NPYX_DONE; /* it stays open for the next lookup */
    NPYX_TRY(npyext_selection_next(&stats->selection, &stats->base.scan, error));
    return begin_reduction(stats, error);
}

/* What becomes of a fault: a row, nothing, or the end of the query. */
static int stats_meet_fault(stats_cursor *stats) {
    npyext_scan *scan = &stats->base.scan;
    int code = npyext_cursor_meet_fault(&stats->base, npyext_scan_place(scan));
    end_reduction(stats);
    stats->nrows++; /* array_key tells the row from the one before it */
    if (code == SQLITE_OK && !scan->has_error)
        npyext_selection_leave(&stats->selection, scan);
    return code;
}

static int stats_advance(stats_cursor *stats) {
    bool is_row = false;
    int code = SQLITE_OK;
    npyext_connection_begin(stats->base.scan.connection);
    if (stats->base.scan.has_error) /* its row was given */
        npyext_selection_leave(&stats->selection, &stats->base.scan);
    stats->base.scan.has_error = false;
    while (!is_row && !stats->base.is_eof && code == SQLITE_OK) {
        bool was_reducing = stats->is_reducing;
        npyx_status status = was_reducing ? next_row(stats, &stats->base.scan.error)
                                          : stats_next_array(stats, &stats->base.scan.error);
        if (status == NPYX_DONE && was_reducing) {
            end_reduction(stats);
        } else if (status == NPYX_DONE) {
            stats->base.is_eof = true;
        } else if (status != NPYX_OK) {
            code = stats_meet_fault(stats);
            is_row = stats->base.scan.has_error;
        } else if (was_reducing) {
            stats->nrows++;
            is_row = true;
        }
    }
    return code;
}

static int stats_filter(sqlite3_vtab_cursor *cursor, int idx_num, const char *sentence, int argc,
                        sqlite3_value **argv) {
    (void)argc;
    stats_cursor *stats = (stats_cursor *)cursor;
    bool is_lookup = false;
    end_reduction(stats);
    stats->base.scan.has_error = false;
    stats->base.is_eof = false;
    npyx_status status = npyext_selection_begin(&stats->selection, &stats->base.scan, cursor->pVtab, idx_num,
                                                sentence, argv, &is_lookup, &stats->base.scan.error);
    if (status == NPYX_OK && is_lookup)
        status = begin_reduction(stats, &stats->base.scan.error);
    if (status != NPYX_OK) {
        stats->base.is_eof = true;
        end_reduction(stats);
        return npyext_cursor_report(&stats->base, &stats->base.scan.error);
    }
    return stats_advance(stats);
}

static int stats_next(sqlite3_vtab_cursor *cursor) {
    return stats_advance((stats_cursor *)cursor);
}

static int result_item(sqlite3_context *context, npyext_cursor *cursor, const npyx_dtype *dtype,
                       const uint8_t *item) {
    return npyext_result_items(context, npyext_scan_place(&cursor->scan), dtype, 0, NULL, item,
                               &((stats_cursor *)cursor)->scratch);
}

static int result_complex(sqlite3_context *context, npyext_cursor *cursor, double real, double imaginary) {
    const npyx_dtype complex128 = {
        .type = NPYX_C16, .is_big_endian = NPYX_HOST_IS_BIG_ENDIAN, .itemsize = 16};
    uint8_t item[16];
    if (isnan(real) && isnan(imaginary))
        return SQLITE_OK;
    memcpy(item, &real, sizeof real);
    memcpy(item + sizeof real, &imaginary, sizeof imaginary);
    return result_item(context, cursor, &complex128, item);
}

/* The statistics of the row at hand; NULL where it is a fault's. */
static const npyx_stats *stats_at_hand(const npyext_cursor *cursor) {
    return cursor->scan.has_error ? NULL : stats_of_row((const stats_cursor *)cursor);
}

static bool has_numbers(const npyx_stats *stats) {
    return stats->form != NPYX_STATS_ORDER && stats->form != NPYX_STATS_COUNT;
}

#define STATS_INTEGER(name, is_known, number)                                                                \
    static int name(sqlite3_context *context, npyext_cursor *cursor) {                                       \
        const npyx_stats *stats = stats_at_hand(cursor);                                                     \
        if (stats != NULL && (is_known))                                                                     \
            sqlite3_result_int64(context, (number));                                                         \
        return SQLITE_OK;                                                                                    \
    }
STATS_INTEGER(stats_count, true, stats->count)
STATS_INTEGER(stats_nulls, true, stats->nulls)
STATS_INTEGER(stats_infs, has_numbers(stats), npyx_stats_infs(stats))
STATS_INTEGER(stats_zeros, has_numbers(stats), stats->zeros)

static int64_t place_of_item(const npyext_cursor *cursor, int64_t position) {
    const stats_cursor *stats = (const stats_cursor *)cursor;
    return npyx_reduction_place(&stats->reduction, stats->leaf, position);
}
STATS_INTEGER(stats_argmin, stats->extremes[NPYX_LEAST].position >= 0,
              place_of_item(cursor, stats->extremes[NPYX_LEAST].position))
STATS_INTEGER(stats_argmax, stats->extremes[NPYX_GREATEST].position >= 0,
              place_of_item(cursor, stats->extremes[NPYX_GREATEST].position))

static int stats_crc32(sqlite3_context *context, npyext_cursor *cursor) {
    const stats_cursor *stats = (stats_cursor *)cursor;
    if (!cursor->scan.has_error && stats->reduction.wants_crc32)
        sqlite3_result_int64(context, stats->reduction.crc32[stats->leaf]);
    return SQLITE_OK;
}

static int stats_field_name(sqlite3_context *context, npyext_cursor *cursor) {
    const stats_cursor *stats = (stats_cursor *)cursor;
    const npyx_reduction *reduction = &stats->reduction;
    if (!cursor->scan.has_error && reduction->view.dtype->type == NPYX_STRUCT)
        sqlite3_result_text(context, reduction->leaves[stats->leaf].name, -1, SQLITE_TRANSIENT);
    return SQLITE_OK;
}

static int stats_at(sqlite3_context *context, npyext_cursor *cursor) {
    stats_cursor *stats = (stats_cursor *)cursor;
    const npyx_reduction *reduction = &stats->reduction;
    int64_t indices[NPYX_MAX_NDIM];
    if (cursor->scan.has_error || !reduction->has_axes)
        return SQLITE_OK;
    npyx_reduction_coordinate(reduction, reduction->first_coordinate + stats->coordinate, indices);
    if (reduction->nkept == 1) {
        sqlite3_result_int64(context, indices[0]);
        return SQLITE_OK;
    }
    npyx_buffer_reset(&stats->scratch);
    npyext_append_json_integers(&stats->scratch, indices, reduction->nkept);
    return npyext_result_json_buffer(context, &stats->scratch);
}

static int result_found(sqlite3_context *context, npyext_cursor *cursor, int column) {
    const npyx_stats *stats = stats_at_hand(cursor);
    item_statistic item;
    return stats != NULL && find_item(stats, column, &item)
               ? result_item(context, cursor, &item.dtype, item.bytes)
               : SQLITE_OK;
}

static int stats_min(sqlite3_context *context, npyext_cursor *cursor) {
    return result_found(context, cursor, STATS_MIN);
}

static int stats_max(sqlite3_context *context, npyext_cursor *cursor) {
    return result_found(context, cursor, STATS_MAX);
}

static int stats_mean(sqlite3_context *context, npyext_cursor *cursor) {
    const npyx_stats *stats = stats_at_hand(cursor);
    if (stats == NULL || stats->dtype->type == NPYX_DATETIME)
        return result_found(context, cursor, STATS_MEAN);
    double mean = npyx_stats_mean(stats);
    if (stats->form == NPYX_STATS_COMPLEX)
        return result_complex(context, cursor, mean, npyx_stats_imaginary_mean(stats));
    if (has_numbers(stats) && stats->count > 0)
        sqlite3_result_double(context, mean);
    return SQLITE_OK;
}

static int stats_sum(sqlite3_context *context, npyext_cursor *cursor) {
    const npyx_stats *stats = stats_at_hand(cursor);
    char text[NPYX_WIDE_TEXT_NBYTES];
    if (stats == NULL || !has_numbers(stats) ||
        stats->dtype->type == NPYX_DATETIME) /* days are not added up */
        return SQLITE_OK;
    if (stats->form == NPYX_STATS_COMPLEX)
        return result_complex(context, cursor, npyx_stats_sum(stats), npyx_stats_imaginary_sum(stats));
    if (stats->form == NPYX_STATS_REAL)
        sqlite3_result_double(context, npyx_stats_sum(stats));
    else if (npyx_wide_is_i64(stats->wide_sum))
        sqlite3_result_int64(context, (int64_t)stats->wide_sum.low);
    else
        npyext_result_text(context, text, npyx_wide_text(stats->wide_sum, text));
    return SQLITE_OK;
}

/* The sum of squared deviations; NaN, of which SQLite makes NULL, where it says nothing. */
static double second_moment(const npyext_cursor *cursor, int64_t *count) {
    const npyx_stats *stats = stats_at_hand(cursor);
    bool has_moments =
        stats != NULL && (stats->form == NPYX_STATS_REAL || stats->form == NPYX_STATS_INTEGER ||
                          (stats->form == NPYX_STATS_WIDE && stats->dtype->type != NPYX_DATETIME));
    *count = has_moments ? stats->count : 0;
    return *count > 0 ? npyx_stats_m2(stats) : NAN;
}

static int stats_m2(sqlite3_context *context, npyext_cursor *cursor) {
    int64_t count;
    sqlite3_result_double(context, second_moment(cursor, &count));
    return SQLITE_OK;
}

static int stats_var(sqlite3_context *context, npyext_cursor *cursor) {
    int64_t count;
    double m2 = second_moment(cursor, &count);
    sqlite3_result_double(context, m2 / (double)count);
    return SQLITE_OK;
}

static int stats_std(sqlite3_context *context, npyext_cursor *cursor) {
    int64_t count;
    double m2 = second_moment(cursor, &count);
    sqlite3_result_double(context, sqrt(m2 / (double)count));
    return SQLITE_OK;
}

/* No other column tells all the rows of an array apart. */
static int stats_array_key(sqlite3_context *context, npyext_cursor *cursor) {
    uint64_t key = (uint64_t)npyext_scan_array_key(&cursor->scan);
    sqlite3_result_int64(context, (int64_t)(key + (uint64_t)((stats_cursor *)cursor)->nrows));
    return SQLITE_OK;
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
    NPYEXT_OUTPUT("std REAL", NPYEXT_NEEDS_ITEMS, stats_std),
    NPYEXT_OUTPUT("sum", NPYEXT_NEEDS_ITEMS, stats_sum),
    NPYEXT_ERROR(NPYEXT_NEEDS_ITEMS),
    NPYEXT_ARGUMENT("source BLOB", NPYEXT_SOURCE),
    NPYEXT_ARGUMENT("member BLOB", NPYEXT_MEMBER),
    NPYEXT_ARGUMENT("slice BLOB", NPYEXT_SLICE),
    NPYEXT_ARGUMENT("axis BLOB", NPYEXT_AXIS),
    NPYEXT_ARGUMENT("field BLOB", NPYEXT_FIELD),
    NPYEXT_ARGUMENT("view BLOB", NPYEXT_VIEW),
    NPYEXT_ARGUMENT("expect BLOB", NPYEXT_EXPECT),
    NPYEXT_ARGUMENT("on_error BLOB", NPYEXT_ON_ERROR),
    NPYEXT_HIDDEN("argmin INTEGER", NEEDS_ORDER, stats_argmin),
    NPYEXT_HIDDEN("argmax INTEGER", NEEDS_ORDER, stats_argmax),
    NPYEXT_HIDDEN("var REAL", NPYEXT_NEEDS_ITEMS, stats_var),
    NPYEXT_HIDDEN("m2 REAL", NPYEXT_NEEDS_ITEMS, stats_m2),
    NPYEXT_HIDDEN("crc32 INTEGER", NPYEXT_NEEDS_ITEMS | NPYEXT_NEEDS_CRC, stats_crc32),
    NPYEXT_PATH_COLUMNS,
    NPYEXT_ERROR_KIND(NPYEXT_NEEDS_ITEMS),
    NPYEXT_ARRAY_KEY(stats_array_key),
};

const npyext_function npyext_npy_stats = {
    .name = "npy_stats",
    NPYEXT_COLUMNS(stats_columns),
    .key = "array_key",
    .takes_member = true,
    .row = NPYEXT_ROW_OF_ARRAY,
    .has_error_column = true,
    .estimated_nrows = 1,
    .module = NPYEXT_MODULE(stats_open, stats_close, stats_filter, stats_next, npyext_cursor_column),
};
