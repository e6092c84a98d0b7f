/* npy_histogram(source, member, slice, bins, range_lo, range_hi): one row per bin of an array's histogram. */

#include "format/tar.h"
#include "functions.h"
#include "scan/array_rows.h"
#include "scan/result.h"
#include "stat/histogram.h"

enum { DEFAULT_NBINS = 10 };

typedef struct histogram_cursor {
    npyext_array_rows_cursor base;
    int64_t bin;
    uint64_t greatest; /* of the counts */
    npyx_bins bins;
    npyx_histogram histogram;
} histogram_cursor;

static void histogram_open(npyext_cursor *cursor, npyx_host *host) {
    histogram_cursor *made = (histogram_cursor *)cursor;
    made->bins.host = made->histogram.host = host;
}

static void histogram_close(npyext_cursor *cursor) {
    histogram_cursor *closed = (histogram_cursor *)cursor;
    npyx_histogram_clear(&closed->histogram);
    npyx_bins_clear(&closed->bins);
}

static npyx_status read_range(npyx_bins *bins, const npyext_argument *arguments, npyx_error *error) {
    static const char *const names[2] = {"range_lo", "range_hi"};
    const npyext_argument *given = &arguments[NPYEXT_RANGE_LO];
    bool has_lo = npyext_argument_is_given(&given[0]), has_hi = npyext_argument_is_given(&given[1]);
    npyx_operand ends[2];
    if (!has_lo && !has_hi)
        return NPYX_OK;
    if (!has_lo || !has_hi)
        return npyx_refuse(error, "range_lo and range_hi go together; %s is missing", names[has_lo]);
    for (int k = 0; k < 2; k++) {
        bool is_real = given[k].type == SQLITE_FLOAT;
        if (!is_real && given[k].type != SQLITE_INTEGER)
            return npyx_refuse(error, "%s must be a number", names[k]);
        ends[k] = (npyx_operand){.is_real = is_real, .integer = given[k].integer, .real = given[k].real};
    }
    return npyx_bins_set_range(bins, ends[0], ends[1], error);
}

/* Takes bins and range from the scan's arguments; they do not matter if one of these is NULL. */
static npyx_status read_bins(npyext_cursor *cursor, npyx_error *error) {
    const npyext_scan *scan = &cursor->scan;
    npyx_bins *bins = &((histogram_cursor *)cursor)->bins;
    const npyext_argument *argument = &scan->arguments[NPYEXT_BINS];
    int64_t nbins;
    npyx_bins_clear(bins);
    if (scan->has_null)
        return NPYX_OK;
    if (!npyext_argument_is_given(argument))
        bins->nbins = DEFAULT_NBINS;
    else if (argument->type == SQLITE_TEXT)
        NPYX_TRY(npyx_bins_parse(bins, argument->bytes, argument->nbytes, error));
    else if (npyext_argument_is_whole(argument, &nbins))
        NPYX_TRY(npyx_bins_set_count(bins, nbins, error));
    else
        return npyx_refuse(
            error,
            "bins must be the number of bins (an INTEGER) or a JSON array of edges, as in '[0, 0.5, 10]'");
    return read_range(bins, scan->arguments, error);
}

/* Counts the items of the open array. */
static npyx_status histogram_make(npyext_cursor *base, npyx_error *error) {
    histogram_cursor *cursor = (histogram_cursor *)base;
    npyx_histogram *histogram = &cursor->histogram;
    const npyext_selection *selection = &base->selection;
    cursor->bin = -1;
    if (cursor->base.is_again) /* counted already: an array that cannot be counted is not left open */
        return NPYX_OK;
    cursor->greatest = 0;
    if (!(base->scan.plan.needs & NPYEXT_NEEDS_ITEMS))
        return npyx_histogram_check(selection->view.dtype, error);
    NPYX_TRY(npyx_histogram_make(histogram, &cursor->bins, selection->payload, &selection->view, error));
    for (int64_t bin = 0; bin < histogram->nbins; bin++)
        cursor->greatest =
            histogram->counts[bin] > cursor->greatest ? histogram->counts[bin] : cursor->greatest;
    return NPYX_OK;
}

static npyx_status histogram_next_bin(npyext_cursor *base, npyx_error *error) {
    histogram_cursor *cursor = (histogram_cursor *)base;
    (void)error;
    return ++cursor->bin < cursor->bins.nbins ? NPYX_OK : NPYX_DONE;
}

/* The counts stay until those of the next array take their place. */
static const npyext_array_rows_methods histogram_rows = {.read_arguments = read_bins,
                                                         .begin_array = histogram_make,
                                                         .next_row = histogram_next_bin,
                                                         .close = histogram_close};

/* Draws the count in block characters, of which the last may be one to seven eighths wide. The greatest count
 * has BAR_WIDTH of them, and any count above 0 at least an eighth of one. */
static void histogram_draw(sqlite3_context *context, uint64_t count, uint64_t greatest) {
    enum { BAR_WIDTH = 40, BLOCK_NBYTES = 3 };
    char bar[(BAR_WIDTH + 1) * BLOCK_NBYTES];
    int neighths = count == 0 ? 0 : (int)((double)count / (double)greatest * (8 * BAR_WIDTH) + 0.5);
    size_t nbytes = 0;
    if (count > 0 && neighths == 0)
        neighths = 1;
    for (; neighths > 0; neighths -= 8) {
        char block[BLOCK_NBYTES] = {(char)0xe2, (char)0x96, /* U+2588 is full, U+258F an eighth */
                                    (char)(0x90 - (neighths < 8 ? neighths : 8))};
        memcpy(bar + nbytes, block, sizeof block);
        nbytes += sizeof block;
    }
    npyext_result_text(context, bar, nbytes);
}

#define HISTOGRAM_RESULT(name, ...)                                                                          \
    NPYEXT_KNOWN_RESULT(static, name, const histogram_cursor *at = (histogram_cursor *)cursor, true,         \
                        __VA_ARGS__)
HISTOGRAM_RESULT(histogram_result_bin, sqlite3_result_int64, at->bin)
HISTOGRAM_RESULT(histogram_result_lo, sqlite3_result_double, at->histogram.edges[at->bin])
HISTOGRAM_RESULT(histogram_result_hi, sqlite3_result_double, at->histogram.edges[at->bin + 1])
HISTOGRAM_RESULT(histogram_result_count, sqlite3_result_int64, (int64_t)at->histogram.counts[at->bin])
HISTOGRAM_RESULT(histogram_result_bar, histogram_draw, at->histogram.counts[at->bin], at->greatest)

static const npyext_column histogram_columns[] = {
    NPYEXT_OUTPUT("bin INTEGER", NPYEXT_NEEDS_HEADER, histogram_result_bin),
    NPYEXT_OUTPUT("lo REAL", NPYEXT_NEEDS_ITEMS, histogram_result_lo),
    NPYEXT_OUTPUT("hi REAL", NPYEXT_NEEDS_ITEMS, histogram_result_hi),
    NPYEXT_OUTPUT("count INTEGER", NPYEXT_NEEDS_ITEMS, histogram_result_count),
    NPYEXT_OUTPUT("bar TEXT", NPYEXT_NEEDS_ITEMS, histogram_result_bar),
    NPYEXT_FIRST_ARGUMENTS,
    NPYEXT_ARGUMENT("bins BLOB", NPYEXT_BINS),
    NPYEXT_ARGUMENT("range_lo BLOB", NPYEXT_RANGE_LO),
    NPYEXT_ARGUMENT("range_hi BLOB", NPYEXT_RANGE_HI),
    NPYEXT_LAST_ARGUMENTS,
    NPYEXT_PATH(true),
    NPYEXT_NAME(true, npyext_result_name),
    NPYEXT_ENTRY_COLUMNS,
    NPYEXT_ARRAY_KEY(npyext_result_array_key),
};

const npyext_function npyext_npy_histogram = {
    .name = "npy_histogram",
    NPYEXT_COLUMNS(histogram_columns),
    .key = ", bin",
    .estimated_nrows = DEFAULT_NBINS,
    .open = histogram_open,
    NPYEXT_ARRAY_ROWS(histogram_cursor, histogram_rows),
};
