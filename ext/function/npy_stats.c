/* npy_stats(source, member, slice, axis): counts, extremes and moments of arrays, one row an array, a field
 * or a coordinate of the axes that are left. */
#include <math.h>
#include <string.h>

#include "functions.h"
#include "scan/axis_argument.h"
#include "scan/selection.h"

enum {
    STATS_PATH,
    STATS_NAME,
    STATS_FIELD_NAME,
    STATS_AT,
    STATS_COUNT,
    STATS_NULLS,
    STATS_INFS,
    STATS_ZEROS,
    STATS_MIN,
    STATS_MAX,
    STATS_MEAN,
    STATS_STD,
    STATS_SUM,
    STATS_ERROR,
    STATS_SOURCE,
    STATS_MEMBER,
    STATS_SLICE,
    STATS_AXIS,
    STATS_FIELD,
    STATS_VIEW,
    STATS_EXPECT,
    STATS_ON_ERROR,
    STATS_ARGMIN,
    STATS_ARGMAX,
    STATS_VAR,
    STATS_M2,
    STATS_CRC32,
    STATS_PARTS,
    STATS_STEM,
    STATS_PARENT,
    STATS_ERROR_KIND,
    STATS_ARRAY_KEY,
    STATS_NCOLUMNS
};

/* Where the least item stands is known only when items come in their order. */
enum { NEEDS_ORDER = NPYEXT_NEEDS_ITEMS | NPYEXT_NEEDS_PLACE };

static const npyext_column stats_columns[STATS_NCOLUMNS] = {
    NPYEXT_PATH(false),
    NPYEXT_NAME(false),
    NPYEXT_OUTPUT("field_name TEXT", 0),
    NPYEXT_OUTPUT("at", 0),
    NPYEXT_OUTPUT("count INTEGER", NPYEXT_NEEDS_ITEMS),
    NPYEXT_OUTPUT("nulls INTEGER", NPYEXT_NEEDS_ITEMS),
    NPYEXT_OUTPUT("infs INTEGER", NPYEXT_NEEDS_ITEMS),
    NPYEXT_OUTPUT("zeros INTEGER", NPYEXT_NEEDS_ITEMS),
    NPYEXT_OUTPUT("min", NPYEXT_NEEDS_ITEMS),
    NPYEXT_OUTPUT("max", NPYEXT_NEEDS_ITEMS),
    NPYEXT_OUTPUT("mean", NPYEXT_NEEDS_ITEMS),
    NPYEXT_OUTPUT("std REAL", NPYEXT_NEEDS_ITEMS),
    NPYEXT_OUTPUT("sum", NPYEXT_NEEDS_ITEMS),
    NPYEXT_OUTPUT("error TEXT", NPYEXT_NEEDS_ITEMS),
    NPYEXT_ARGUMENT("source BLOB", NPYEXT_SOURCE),
    NPYEXT_ARGUMENT("member BLOB", NPYEXT_MEMBER),
    NPYEXT_ARGUMENT("slice BLOB", NPYEXT_SLICE),
    NPYEXT_ARGUMENT("axis BLOB", NPYEXT_AXIS),
    NPYEXT_ARGUMENT("field BLOB", NPYEXT_FIELD),
    NPYEXT_ARGUMENT("view BLOB", NPYEXT_VIEW),
    NPYEXT_ARGUMENT("expect BLOB", NPYEXT_EXPECT),
    NPYEXT_ARGUMENT("on_error BLOB", NPYEXT_ON_ERROR),
    NPYEXT_HIDDEN("argmin INTEGER", NEEDS_ORDER),
    NPYEXT_HIDDEN("argmax INTEGER", NEEDS_ORDER),
    NPYEXT_HIDDEN("var REAL", NPYEXT_NEEDS_ITEMS),
    NPYEXT_HIDDEN("m2 REAL", NPYEXT_NEEDS_ITEMS),
    NPYEXT_HIDDEN("crc32 INTEGER", NPYEXT_NEEDS_ITEMS | NPYEXT_NEEDS_CRC),
    NPYEXT_PATH_COLUMNS,
    NPYEXT_KIND_OF_ERROR(NPYEXT_NEEDS_ITEMS),
    NPYEXT_ARRAY_KEY,
};

typedef struct stats_cursor {
    sqlite3_vtab_cursor base;
    bool is_eof;
    npyext_scan scan;
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
    stats_cursor *stats = sqlite3_malloc(sizeof *stats);
    if (stats == NULL)
        return SQLITE_NOMEM;
    memset(stats, 0, sizeof *stats);
    stats->is_eof = true;
    npyext_selection_init(&stats->selection, &connection->host);
    stats->scratch.host = &connection->host;
    *cursor = &stats->base;
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
    npyext_scan_clear(&stats->scan);
    npyx_buffer_clear(&stats->scratch);
    sqlite3_free(stats);
    return SQLITE_OK;
}

static npyx_status begin_reduction(stats_cursor *stats, npyx_error *error) {
    const npyext_selection *selection = &stats->selection;
    int needs = stats->scan.plan.needs;
    bool axes[NPYX_MAX_NDIM], has_axes = false;
    npyx_status status = npyext_axis_argument_read(&stats->scan.arguments[NPYEXT_AXIS], &selection->view,
                                                   &stats->scan.connection->host, axes, &has_axes, error);
    if (status != NPYX_OK)
        return status;
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
    if (column == STATS_MIN && stats->argmin >= 0)
        found->bytes = npyx_stats_min(stats);
    else if (column == STATS_MAX && stats->argmax >= 0)
        found->bytes = npyx_stats_max(stats);
    else if (column == STATS_MEAN && stats->dtype->type == NPYX_DATETIME && stats->count > 0) {
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
    npyx_status status = NPYX_OK;
    if (npyx_dtype_is_real(row->dtype))
        return NPYX_OK;
    for (size_t i = 0; i < sizeof checked / sizeof checked[0] && status == NPYX_OK; i++) {
        item_statistic item;
        npyx_value value;
        if (npyext_plan_uses(&stats->scan.plan, checked[i]) && find_item(row, checked[i], &item))
            status = npyx_element_value(&item.dtype, item.bytes, &stats->scratch, &value, error);
    }
    return status;
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
    npyx_status status = stats_step(stats, error);
    return status == NPYX_OK ? check_items(stats, error) : status;
}

/* Goes on to the next array that can be opened, or answers NPYX_DONE. */
static npyx_status stats_next_array(stats_cursor *stats, npyx_error *error) {
    if (stats->selection.is_open && npyext_scan_is_single(&stats->scan))
        return NPYX_DONE; /* it stays open for the next lookup */
    npyx_status status = npyext_selection_next(&stats->selection, &stats->scan, error);
    return status == NPYX_OK ? begin_reduction(stats, error) : status;
}

/* What becomes of a fault: a row, nothing, or the end of the query. */
static int meet_fault(stats_cursor *stats, bool *is_row) {
    npyext_scan *scan = &stats->scan;
    npyext_fate fate = npyext_scan_fate(scan, &stats->scan.error);
    end_reduction(stats);
    *is_row = fate == NPYEXT_BECOMES_ROW;
    stats->nrows++; /* array_key tells the row from the one before it */
    stats->scan.has_error = *is_row;
    if (fate == NPYEXT_ENDS_QUERY)
        return npyext_report(stats->base.pVtab, npyext_scan_place(scan), &stats->scan.error);
    if (fate == NPYEXT_IS_LEFT_OUT)
        npyext_selection_leave(&stats->selection, scan);
    return SQLITE_OK;
}

static int stats_advance(stats_cursor *stats) {
    bool is_row = false;
    int code = SQLITE_OK;
    npyext_connection_begin(stats->scan.connection);
    if (stats->scan.has_error) /* its row was given */
        npyext_selection_leave(&stats->selection, &stats->scan);
    stats->scan.has_error = false;
    while (!is_row && !stats->is_eof && code == SQLITE_OK) {
        bool was_reducing = stats->is_reducing;
        npyx_status status =
            was_reducing ? next_row(stats, &stats->scan.error) : stats_next_array(stats, &stats->scan.error);
        if (status == NPYX_DONE && was_reducing) {
            end_reduction(stats);
        } else if (status == NPYX_DONE) {
            stats->is_eof = true;
        } else if (status != NPYX_OK) {
            code = meet_fault(stats, &is_row);
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
    stats->scan.has_error = false;
    stats->is_eof = false;
    npyx_status status = npyext_selection_begin(&stats->selection, &stats->scan, cursor->pVtab, idx_num,
                                                sentence, argv, &is_lookup, &stats->scan.error);
    if (status == NPYX_OK && is_lookup)
        status = begin_reduction(stats, &stats->scan.error);
    if (status != NPYX_OK) {
        stats->is_eof = true;
        end_reduction(stats);
        return npyext_report(cursor->pVtab, npyext_scan_place(&stats->scan), &stats->scan.error);
    }
    return stats_advance(stats);
}

static int stats_next(sqlite3_vtab_cursor *cursor) {
    return stats_advance((stats_cursor *)cursor);
}

static int stats_eof(sqlite3_vtab_cursor *cursor) {
    return ((stats_cursor *)cursor)->is_eof;
}

static int result_item(sqlite3_context *context, stats_cursor *cursor, const npyx_dtype *dtype,
                       const uint8_t *item) {
    npyx_value value;
    npyx_error error;
    npyx_status status = npyx_element_value(dtype, item, &cursor->scratch, &value, &error);
    if (status != NPYX_OK)
        return npyext_result_error(context, npyext_scan_place(&cursor->scan), &error);
    npyext_result_value(context, &value);
    return SQLITE_OK;
}

static int result_found(sqlite3_context *context, stats_cursor *cursor, const npyx_stats *stats, int column) {
    item_statistic item;
    return find_item(stats, column, &item) ? result_item(context, cursor, &item.dtype, item.bytes)
                                           : SQLITE_OK;
}

static int result_complex(sqlite3_context *context, stats_cursor *cursor, double real, double imaginary) {
    const npyx_dtype complex128 = {
        .type = NPYX_C16, .is_big_endian = NPYX_HOST_IS_BIG_ENDIAN, .itemsize = 16};
    uint8_t item[16];
    if (isnan(real) && isnan(imaginary))
        return SQLITE_OK;
    memcpy(item, &real, sizeof real);
    memcpy(item + sizeof real, &imaginary, sizeof imaginary);
    return result_item(context, cursor, &complex128, item);
}

static int result_mean(sqlite3_context *context, stats_cursor *cursor, const npyx_stats *stats) {
    double mean = npyx_stats_mean(stats);
    if (stats->form == NPYX_STATS_COMPLEX)
        return result_complex(context, cursor, mean, npyx_stats_imaginary_mean(stats));
    if (stats->dtype->type == NPYX_DATETIME)
        return result_found(context, cursor, stats, STATS_MEAN);
    if (stats->form != NPYX_STATS_ORDER && stats->form != NPYX_STATS_COUNT && stats->count > 0)
        sqlite3_result_double(context, mean);
    return SQLITE_OK;
}

static int result_sum(sqlite3_context *context, stats_cursor *cursor, const npyx_stats *stats) {
    char text[NPYX_WIDE_TEXT_NBYTES];
    switch (stats->form) {
    case NPYX_STATS_REAL: sqlite3_result_double(context, npyx_stats_sum(stats)); break;
    case NPYX_STATS_COMPLEX:
        return result_complex(context, cursor, npyx_stats_sum(stats), npyx_stats_imaginary_sum(stats));
    case NPYX_STATS_INTEGER:
    case NPYX_STATS_WIDE:
        if (stats->dtype->type == NPYX_DATETIME) /* days are not added up */
            break;
        if (npyx_wide_is_i64(stats->wide_sum))
            sqlite3_result_int64(context, (int64_t)stats->wide_sum.low);
        else
            npyext_result_text(context, text, npyx_wide_text(stats->wide_sum, text));
        break;
    default: break;
    }
    return SQLITE_OK;
}

/* std, var and m2: SQLite makes NULL of NaN. */
static void result_moment(sqlite3_context *context, const npyx_stats *stats, int column) {
    bool has_moments = stats->form == NPYX_STATS_REAL || stats->form == NPYX_STATS_INTEGER ||
                       (stats->form == NPYX_STATS_WIDE && stats->dtype->type != NPYX_DATETIME);
    if (!has_moments || stats->count == 0)
        return;
    double m2 = npyx_stats_m2(stats), var = m2 / (double)stats->count;
    sqlite3_result_double(context, column == STATS_M2 ? m2 : column == STATS_VAR ? var : sqrt(var));
}

static void result_at(sqlite3_context *context, stats_cursor *cursor) {
    const npyx_reduction *reduction = &cursor->reduction;
    int64_t indices[NPYX_MAX_NDIM];
    if (!reduction->has_axes)
        return;
    npyx_reduction_coordinate(reduction, reduction->first_coordinate + cursor->coordinate, indices);
    if (reduction->nkept == 1) {
        sqlite3_result_int64(context, indices[0]);
        return;
    }
    npyx_buffer_reset(&cursor->scratch);
    npyext_append_json_integers(&cursor->scratch, indices, reduction->nkept);
    if (cursor->scratch.status != NPYX_OK)
        sqlite3_result_error_nomem(context);
    else
        npyext_result_json(context, cursor->scratch.bytes, cursor->scratch.nbytes);
}

static void result_place(sqlite3_context *context, const stats_cursor *cursor, int64_t position) {
    if (position >= 0)
        sqlite3_result_int64(context, npyx_reduction_place(&cursor->reduction, cursor->leaf, position));
}

static void result_count(sqlite3_context *context, const npyx_stats *stats, int column) {
    bool is_number = stats->form != NPYX_STATS_ORDER && stats->form != NPYX_STATS_COUNT;
    if (column == STATS_COUNT)
        sqlite3_result_int64(context, stats->count);
    else if (column == STATS_NULLS)
        sqlite3_result_int64(context, stats->nulls);
    else if (is_number)
        sqlite3_result_int64(context, column == STATS_INFS ? npyx_stats_infs(stats) : stats->zeros);
}

/* A column that says something of items. */
static int result_statistic(sqlite3_context *context, stats_cursor *cursor, int column) {
    const npyx_reduction *reduction = &cursor->reduction;
    const npyx_stats *stats = stats_of_row(cursor);
    switch (column) {
    case STATS_FIELD_NAME:
        if (reduction->view.dtype->type == NPYX_STRUCT)
            sqlite3_result_text(context, reduction->leaves[cursor->leaf].name, -1, SQLITE_TRANSIENT);
        return SQLITE_OK;
    case STATS_AT: result_at(context, cursor); return SQLITE_OK;
    case STATS_MIN:
    case STATS_MAX: return result_found(context, cursor, stats, column);
    case STATS_MEAN: return result_mean(context, cursor, stats);
    case STATS_SUM: return result_sum(context, cursor, stats);
    case STATS_STD:
    case STATS_VAR:
    case STATS_M2: result_moment(context, stats, column); return SQLITE_OK;
    case STATS_ARGMIN: result_place(context, cursor, stats->argmin); return SQLITE_OK;
    case STATS_ARGMAX: result_place(context, cursor, stats->argmax); return SQLITE_OK;
    case STATS_CRC32:
        if (reduction->wants_crc32)
            sqlite3_result_int64(context, reduction->crc32[cursor->leaf]);
        return SQLITE_OK;
    default: result_count(context, stats, column); return SQLITE_OK;
    }
}

static int stats_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column) {
    stats_cursor *stats = (stats_cursor *)cursor;
    if (column == STATS_PATH) {
        npyext_result_path(context, &stats->scan);
    } else if (column == STATS_NAME) {
        npyext_result_name(context, &stats->scan);
    } else if (column == STATS_ERROR) {
        if (stats->scan.has_error)
            npyext_result_fault(context, npyext_scan_place(&stats->scan), &stats->scan.error);
    } else if (column == STATS_ARRAY_KEY) { /* no other column tells all the rows of an array apart */
        int64_t key = npyext_scan_array_key(&stats->scan);
        sqlite3_result_int64(context, (int64_t)((uint64_t)key + (uint64_t)stats->nrows));
    } else if (!npyext_result_common(context, &stats->scan, column) && !stats->scan.has_error) {
        return result_statistic(context, stats, column);
    }
    return SQLITE_OK;
}

static const sqlite3_module stats_module =
    NPYEXT_MODULE(stats_open, stats_close, stats_filter, stats_next, stats_eof, stats_column);

const npyext_function npyext_npy_stats = {
    .name = "npy_stats",
    .columns = stats_columns,
    .ncolumns = STATS_NCOLUMNS,
    .key = "array_key",
    .takes_member = true,
    .row = NPYEXT_ROW_OF_ARRAY,
    .has_error_column = true,
    .estimated_nrows = 1,
    .module = &stats_module,
};
