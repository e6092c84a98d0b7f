/* npy_histogram(source, member, slice, bins, range_lo, range_hi): one row per bin of an array's histogram. */
#include <math.h>
#include <string.h>

#include "functions.h"
#include "scan/selection.h"

enum { DEFAULT_NBINS = 10 };

typedef struct histogram_cursor {
    npyext_cursor base;
    bool is_made; /* of the array that is open */
    int64_t bin;
    uint64_t greatest; /* of the counts */
    npyext_selection selection;
    npyx_bins bins;
    npyx_histogram histogram;
} histogram_cursor;

static int histogram_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor) {
    npyx_host *host = &((npyext_vtab *)vtab)->connection->host;
    int code = npyext_cursor_open(sizeof(histogram_cursor), cursor);
    if (code != SQLITE_OK)
        return code;
    histogram_cursor *made = (histogram_cursor *)*cursor;
    npyext_selection_init(&made->selection, host);
    made->bins.host = made->histogram.host = host;
    return SQLITE_OK;
}

static int histogram_close(sqlite3_vtab_cursor *cursor) {
    histogram_cursor *closed = (histogram_cursor *)cursor;
    npyx_histogram_clear(&closed->histogram);
    npyx_bins_clear(&closed->bins);
    npyext_selection_close(&closed->selection);
    npyext_scan_clear(&closed->base.scan);
    sqlite3_free(closed);
    return SQLITE_OK;
}

/* A REAL without a fraction is as good as an INTEGER, as it is in member. */
static npyx_status read_count(npyx_bins *bins, const npyext_argument *argument, npyx_error *error) {
    bool is_whole = argument->type == SQLITE_FLOAT && argument->real == floor(argument->real) &&
                    fabs(argument->real) < 1e15;
    if (argument->type == SQLITE_INTEGER || is_whole)
        return npyx_bins_set_count(bins, is_whole ? (int64_t)argument->real : argument->integer, error);
    return npyx_fail(error, NPYX_INVALID, -1,
                     "bins is a number of bins (INTEGER) or a JSON array of edges, as in '[0, 0.5, 10]'");
}

static npyx_status read_end(const npyext_argument *argument, const char *name, npyx_operand *end,
                            npyx_error *error) {
    *end = (npyx_operand){
        .is_real = argument->type == SQLITE_FLOAT, .integer = argument->integer, .real = argument->real};
    if (argument->type == SQLITE_INTEGER || argument->type == SQLITE_FLOAT)
        return NPYX_OK;
    return npyx_fail(error, NPYX_INVALID, -1, "%s is to be a number", name);
}

static npyx_status read_range(npyx_bins *bins, const npyext_argument *arguments, npyx_error *error) {
    const npyext_argument *lo = &arguments[NPYEXT_RANGE_LO], *hi = &arguments[NPYEXT_RANGE_HI];
    bool has_lo = npyext_argument_is_given(lo), has_hi = npyext_argument_is_given(hi);
    npyx_operand ends[2];
    if (!has_lo && !has_hi)
        return NPYX_OK;
    if (!has_lo || !has_hi)
        return npyx_fail(error, NPYX_INVALID, -1, "range_lo and range_hi go together; %s is missing",
                         has_lo ? "range_hi" : "range_lo");
    NPYX_TRY(read_end(lo, "range_lo", &ends[0], error));
    NPYX_TRY(read_end(hi, "range_hi", &ends[1], error));
    return npyx_bins_set_range(bins, ends[0], ends[1], error);
}

/* Takes bins and range out of the scan's arguments; they do not matter when one of these is NULL. */
static npyx_status read_bins(npyx_bins *bins, const npyext_scan *scan, npyx_error *error) {
    const npyext_argument *argument = &scan->arguments[NPYEXT_BINS];
    npyx_bins_clear(bins);
    if (scan->has_null)
        return NPYX_OK;
    if (!npyext_argument_is_given(argument))
        bins->nbins = DEFAULT_NBINS;
    else if (argument->type == SQLITE_TEXT)
        NPYX_TRY(npyx_bins_parse(bins, argument->bytes, argument->nbytes, error));
    else
        NPYX_TRY(read_count(bins, argument, error));
    return read_range(bins, scan->arguments, error);
}

/* Counts the array that is open. */
static npyx_status histogram_make(histogram_cursor *cursor, npyx_error *error) {
    npyx_histogram *histogram = &cursor->histogram;
    const npyext_selection *selection = &cursor->selection;
    npyx_status status;
    cursor->is_made = false;
    cursor->greatest = 0;
    if (!(cursor->base.scan.plan.needs & NPYEXT_NEEDS_ITEMS)) {
        status = npyx_histogram_check(selection->view.dtype, error);
    } else {
        status = npyx_histogram_make(histogram, &cursor->bins, selection->payload, &selection->view, error);
        for (int64_t bin = 0; status == NPYX_OK && bin < histogram->nbins; bin++)
            cursor->greatest =
                histogram->counts[bin] > cursor->greatest ? histogram->counts[bin] : cursor->greatest;
    }
    cursor->is_made = status == NPYX_OK;
    return status;
}

/* Goes to the first bin of the next array; of the one at hand when it is open and nothing was made of it. */
static int histogram_advance(histogram_cursor *cursor, bool is_open) {
    npyext_scan *scan = &cursor->base.scan;
    npyx_error error;
    cursor->bin = 0;
    npyext_connection_begin(scan->connection);
    for (;;) {
        npyx_status status = NPYX_OK;
        if (!is_open)
            status = npyext_selection_next(&cursor->selection, scan, &error);
        is_open = false;
        cursor->base.is_eof = status == NPYX_DONE;
        if (status == NPYX_OK)
            status = histogram_make(cursor, &error);
        if (status == NPYX_OK || status == NPYX_DONE)
            return SQLITE_OK;
        if (!npyext_selection_skip(&cursor->selection, scan, &error)) {
            cursor->base.is_eof = true;
            return npyext_cursor_report(&cursor->base, &error);
        }
    }
}

static int histogram_filter(sqlite3_vtab_cursor *base, int idx_num, const char *sentence, int argc,
                            sqlite3_value **argv) {
    (void)argc;
    histogram_cursor *cursor = (histogram_cursor *)base;
    npyx_error error;
    bool is_lookup = false;
    cursor->base.is_eof = true;
    npyx_status status = npyext_selection_begin(&cursor->selection, &cursor->base.scan, base->pVtab, idx_num,
                                                sentence, argv, &is_lookup, &error);
    if (status == NPYX_OK && !is_lookup)
        status = read_bins(&cursor->bins, &cursor->base.scan, &error);
    if (status != NPYX_OK) {
        npyext_scan_clear(&cursor->base.scan); /* arguments at fault are looked at again */
        return npyext_report(base->pVtab, (npyext_place){0}, &error);
    }
    if (!is_lookup || !cursor->is_made)
        return histogram_advance(cursor, is_lookup);
    cursor->bin = 0;
    cursor->base.is_eof = false;
    return SQLITE_OK;
}

static int histogram_next(sqlite3_vtab_cursor *base) {
    histogram_cursor *cursor = (histogram_cursor *)base;
    if (++cursor->bin < cursor->bins.nbins)
        return SQLITE_OK;
    if (npyext_scan_is_single(&cursor->base.scan)) {
        cursor->base.is_eof = true; /* the array stays open for the same call once more */
        return SQLITE_OK;
    }
    return histogram_advance(cursor, false);
}

/* The count in block characters, those at the end an eighth wide to seven; the greatest count has BAR_WIDTH
 * of them, and none that is not 0 has nothing to show. */
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

static int histogram_result_bin(sqlite3_context *context, npyext_cursor *cursor) {
    sqlite3_result_int64(context, ((histogram_cursor *)cursor)->bin);
    return SQLITE_OK;
}

static int histogram_result_lo(sqlite3_context *context, npyext_cursor *cursor) {
    const histogram_cursor *at = (histogram_cursor *)cursor;
    sqlite3_result_double(context, at->histogram.edges[at->bin]);
    return SQLITE_OK;
}

static int histogram_result_hi(sqlite3_context *context, npyext_cursor *cursor) {
    const histogram_cursor *at = (histogram_cursor *)cursor;
    sqlite3_result_double(context, at->histogram.edges[at->bin + 1]);
    return SQLITE_OK;
}

static int histogram_result_count(sqlite3_context *context, npyext_cursor *cursor) {
    const histogram_cursor *at = (histogram_cursor *)cursor;
    sqlite3_result_int64(context, (sqlite3_int64)at->histogram.counts[at->bin]);
    return SQLITE_OK;
}

static int histogram_result_bar(sqlite3_context *context, npyext_cursor *cursor) {
    const histogram_cursor *at = (histogram_cursor *)cursor;
    histogram_draw(context, at->histogram.counts[at->bin], at->greatest);
    return SQLITE_OK;
}

static const npyext_column histogram_columns[] = {
    NPYEXT_OUTPUT("bin INTEGER", NPYEXT_NEEDS_HEADER, histogram_result_bin),
    NPYEXT_OUTPUT("lo REAL", NPYEXT_NEEDS_ITEMS, histogram_result_lo),
    NPYEXT_OUTPUT("hi REAL", NPYEXT_NEEDS_ITEMS, histogram_result_hi),
    NPYEXT_OUTPUT("count INTEGER", NPYEXT_NEEDS_ITEMS, histogram_result_count),
    NPYEXT_OUTPUT("bar TEXT", NPYEXT_NEEDS_ITEMS, histogram_result_bar),
    NPYEXT_ARGUMENT("source BLOB", NPYEXT_SOURCE),
    NPYEXT_ARGUMENT("member BLOB", NPYEXT_MEMBER),
    NPYEXT_ARGUMENT("slice BLOB", NPYEXT_SLICE),
    NPYEXT_ARGUMENT("bins BLOB", NPYEXT_BINS),
    NPYEXT_ARGUMENT("range_lo BLOB", NPYEXT_RANGE_LO),
    NPYEXT_ARGUMENT("range_hi BLOB", NPYEXT_RANGE_HI),
    NPYEXT_ARGUMENT("field BLOB", NPYEXT_FIELD),
    NPYEXT_ARGUMENT("view BLOB", NPYEXT_VIEW),
    NPYEXT_ARGUMENT("expect BLOB", NPYEXT_EXPECT),
    NPYEXT_ARGUMENT("on_error BLOB", NPYEXT_ON_ERROR),
    NPYEXT_PATH(true),
    NPYEXT_NAME(true, npyext_result_name),
    NPYEXT_PATH_COLUMNS,
    NPYEXT_ARRAY_KEY(npyext_result_array_key),
};

const npyext_function npyext_npy_histogram = {
    .name = "npy_histogram",
    NPYEXT_COLUMNS(histogram_columns),
    .key = "array_key, bin",
    .takes_member = true,
    .row = NPYEXT_ROW_OF_ARRAY,
    .estimated_nrows = DEFAULT_NBINS,
    .module = NPYEXT_MODULE(histogram_open, histogram_close, histogram_filter, histogram_next,
                            npyext_cursor_column),
};
