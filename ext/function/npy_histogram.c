/* npy_histogram(source, member, slice, bins, range_lo, range_hi): one row per bin of an array's histogram. */
#include <math.h>
#include <string.h>

#include "functions.h"
#include "scan/selection.h"

enum { DEFAULT_NBINS = 10 };

enum {
    HISTOGRAM_BIN,
    HISTOGRAM_LO,
    HISTOGRAM_HI,
    HISTOGRAM_COUNT,
    HISTOGRAM_BAR,
    HISTOGRAM_SOURCE,
    HISTOGRAM_MEMBER,
    HISTOGRAM_SLICE,
    HISTOGRAM_BINS,
    HISTOGRAM_RANGE_LO,
    HISTOGRAM_RANGE_HI,
    HISTOGRAM_FIELD,
    HISTOGRAM_VIEW,
    HISTOGRAM_EXPECT,
    HISTOGRAM_ON_ERROR,
    HISTOGRAM_PATH,
    HISTOGRAM_NAME,
    HISTOGRAM_PARTS,
    HISTOGRAM_STEM,
    HISTOGRAM_PARENT,
    HISTOGRAM_ARRAY_KEY,
    HISTOGRAM_NCOLUMNS
};

static const npyext_column histogram_columns[HISTOGRAM_NCOLUMNS] = {
    [HISTOGRAM_BIN] = NPYEXT_OUTPUT("bin INTEGER", NPYEXT_NEEDS_HEADER),
    [HISTOGRAM_LO] = NPYEXT_OUTPUT("lo REAL", NPYEXT_NEEDS_ITEMS),
    [HISTOGRAM_HI] = NPYEXT_OUTPUT("hi REAL", NPYEXT_NEEDS_ITEMS),
    [HISTOGRAM_COUNT] = NPYEXT_OUTPUT("count INTEGER", NPYEXT_NEEDS_ITEMS),
    [HISTOGRAM_BAR] = NPYEXT_OUTPUT("bar TEXT", NPYEXT_NEEDS_ITEMS),
    [HISTOGRAM_SOURCE] = NPYEXT_ARGUMENT("source BLOB", NPYEXT_SOURCE),
    [HISTOGRAM_MEMBER] = NPYEXT_ARGUMENT("member BLOB", NPYEXT_MEMBER),
    [HISTOGRAM_SLICE] = NPYEXT_ARGUMENT("slice BLOB", NPYEXT_SLICE),
    [HISTOGRAM_BINS] = NPYEXT_ARGUMENT("bins BLOB", NPYEXT_BINS),
    [HISTOGRAM_RANGE_LO] = NPYEXT_ARGUMENT("range_lo BLOB", NPYEXT_RANGE_LO),
    [HISTOGRAM_RANGE_HI] = NPYEXT_ARGUMENT("range_hi BLOB", NPYEXT_RANGE_HI),
    [HISTOGRAM_FIELD] = NPYEXT_ARGUMENT("field BLOB", NPYEXT_FIELD),
    [HISTOGRAM_VIEW] = NPYEXT_ARGUMENT("view BLOB", NPYEXT_VIEW),
    [HISTOGRAM_EXPECT] = NPYEXT_ARGUMENT("expect BLOB", NPYEXT_EXPECT),
    [HISTOGRAM_ON_ERROR] = NPYEXT_ARGUMENT("on_error BLOB", NPYEXT_ON_ERROR),
    [HISTOGRAM_PATH] = NPYEXT_PATH(true),
    [HISTOGRAM_NAME] = NPYEXT_NAME(true),
    [HISTOGRAM_PARTS] = NPYEXT_PATH_COLUMNS,
    [HISTOGRAM_ARRAY_KEY] = NPYEXT_ARRAY_KEY,
};

typedef struct histogram_cursor {
    sqlite3_vtab_cursor base;
    bool is_eof;
    bool is_made; /* of the array that is open */
    int64_t bin;
    uint64_t greatest; /* of the counts */
    npyext_scan scan;
    npyext_selection selection;
    npyx_bins bins;
    npyx_histogram histogram;
} histogram_cursor;

static int histogram_open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor) {
    npyx_host *host = &((npyext_vtab *)vtab)->connection->host;
    histogram_cursor *made = sqlite3_malloc(sizeof *made);
    if (made == NULL)
        return SQLITE_NOMEM;
    memset(made, 0, sizeof *made);
    npyext_selection_init(&made->selection, host);
    made->bins.host = made->histogram.host = host;
    *cursor = &made->base;
    return SQLITE_OK;
}

static int histogram_close_cursor(sqlite3_vtab_cursor *cursor) {
    histogram_cursor *closed = (histogram_cursor *)cursor;
    npyx_histogram_clear(&closed->histogram);
    npyx_bins_clear(&closed->bins);
    npyext_selection_close(&closed->selection);
    npyext_scan_clear(&closed->scan);
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
    npyx_status status = read_end(lo, "range_lo", &ends[0], error);
    if (status == NPYX_OK)
        status = read_end(hi, "range_hi", &ends[1], error);
    return status == NPYX_OK ? npyx_bins_set_range(bins, ends[0], ends[1], error) : status;
}

/* Takes bins and range out of the scan's arguments; they do not matter when one of these is NULL. */
static npyx_status read_bins(npyx_bins *bins, const npyext_argument *arguments, npyx_error *error) {
    const npyext_argument *argument = &arguments[NPYEXT_BINS];
    npyx_status status = NPYX_OK;
    npyx_bins_clear(bins);
    for (int role = 0; role < NPYEXT_NROLES; role++) {
        if (arguments[role].type == SQLITE_NULL)
            return NPYX_OK;
    }
    if (!npyext_argument_is_given(argument))
        bins->nbins = DEFAULT_NBINS;
    else if (argument->type == SQLITE_TEXT)
        status = npyx_bins_parse(bins, argument->bytes, argument->nbytes, error);
    else
        status = read_count(bins, argument, error);
    return status == NPYX_OK ? read_range(bins, arguments, error) : status;
}

/* Counts the array that is open. */
static npyx_status histogram_make(histogram_cursor *cursor, npyx_error *error) {
    npyx_histogram *histogram = &cursor->histogram;
    const npyext_selection *selection = &cursor->selection;
    npyx_status status;
    cursor->is_made = false;
    cursor->greatest = 0;
    if (!(cursor->scan.plan.needs & NPYEXT_NEEDS_ITEMS)) {
        status = npyx_histogram_check(histogram->host, selection->view.dtype, error);
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
    npyext_scan *scan = &cursor->scan;
    npyx_error error;
    cursor->bin = 0;
    npyext_connection_begin(scan->connection);
    for (;;) {
        npyx_status status = NPYX_OK;
        if (!is_open)
            status = npyext_selection_next(&cursor->selection, scan, &error);
        is_open = false;
        cursor->is_eof = status == NPYX_DONE;
        if (status == NPYX_OK)
            status = histogram_make(cursor, &error);
        if (status == NPYX_OK || status == NPYX_DONE)
            return SQLITE_OK;
        if (!npyext_selection_skip(&cursor->selection, scan, &error)) {
            cursor->is_eof = true;
            return npyext_report(cursor->base.pVtab, npyext_scan_place(scan), &error);
        }
    }
}

static int histogram_filter(sqlite3_vtab_cursor *base, int idx_num, const char *sentence, int argc,
                            sqlite3_value **argv) {
    (void)argc;
    histogram_cursor *cursor = (histogram_cursor *)base;
    npyx_error error;
    bool is_lookup = false;
    cursor->is_eof = true;
    npyx_status status = npyext_selection_begin(&cursor->selection, &cursor->scan, base->pVtab, idx_num,
                                                sentence, argv, &is_lookup, &error);
    if (status == NPYX_OK && !is_lookup)
        status = read_bins(&cursor->bins, cursor->scan.arguments, &error);
    if (status != NPYX_OK) {
        npyext_scan_clear(&cursor->scan); /* arguments at fault are looked at again */
        return npyext_report(base->pVtab, (npyext_place){0}, &error);
    }
    if (!is_lookup || !cursor->is_made)
        return histogram_advance(cursor, is_lookup);
    cursor->bin = 0;
    cursor->is_eof = false;
    return SQLITE_OK;
}

static int histogram_next(sqlite3_vtab_cursor *base) {
    histogram_cursor *cursor = (histogram_cursor *)base;
    if (++cursor->bin < cursor->bins.nbins)
        return SQLITE_OK;
    if (npyext_scan_is_single(&cursor->scan)) {
        cursor->is_eof = true; /* the array stays open for the same call once more */
        return SQLITE_OK;
    }
    return histogram_advance(cursor, false);
}

static int histogram_eof(sqlite3_vtab_cursor *base) {
    return ((histogram_cursor *)base)->is_eof;
}

/* The count in block characters, those at the end an eighth wide to seven; the greatest count has BAR_WIDTH
 * of them, and none that is not 0 has nothing to show. */
static void result_bar(sqlite3_context *context, uint64_t count, uint64_t greatest) {
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

static int histogram_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int histogram_column) {
    histogram_cursor *cursor = (histogram_cursor *)base;
    const npyx_histogram *histogram = &cursor->histogram;
    switch (histogram_column) {
    case HISTOGRAM_BIN: sqlite3_result_int64(context, cursor->bin); break;
    case HISTOGRAM_LO: sqlite3_result_double(context, histogram->edges[cursor->bin]); break;
    case HISTOGRAM_HI: sqlite3_result_double(context, histogram->edges[cursor->bin + 1]); break;
    case HISTOGRAM_COUNT: sqlite3_result_int64(context, (sqlite3_int64)histogram->counts[cursor->bin]); break;
    case HISTOGRAM_BAR: result_bar(context, histogram->counts[cursor->bin], cursor->greatest); break;
    case HISTOGRAM_PATH: npyext_result_path(context, &cursor->scan); break;
    case HISTOGRAM_NAME: npyext_result_name(context, &cursor->scan); break;
    default: npyext_result_common(context, &cursor->scan, histogram_column); break;
    }
    return SQLITE_OK;
}

static const sqlite3_module histogram_module =
    NPYEXT_MODULE(histogram_open_cursor, histogram_close_cursor, histogram_filter, histogram_next,
                  histogram_eof, histogram_column);

const npyext_function npyext_npy_histogram = {
    .name = "npy_histogram",
    .columns = histogram_columns,
    .ncolumns = HISTOGRAM_NCOLUMNS,
    .key = "array_key, bin",
    .takes_member = true,
    .row = NPYEXT_ROW_OF_ARRAY,
    .has_error_column = false,
    .estimated_nrows = DEFAULT_NBINS,
    .module = &histogram_module,
};
