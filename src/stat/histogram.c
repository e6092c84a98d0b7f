#include "histogram.h"

#include "text/number_text.h"
#include "text/span.h"

npyx_status npyx_histogram_check(const npyx_dtype *dtype, npyx_error *error) {
    if (npyx_dtype_is_real(dtype))
        return NPYX_OK;
    return npyx_refuse(error, "a histogram is one of real numbers, not of %s%s", npyx_dtype_shown(dtype).name,
                       npyx_type_is_date(dtype->type) ? "; view = 'i8' takes the counts of its unit"
                       : dtype->type == NPYX_STRUCT   ? "; choose one of its fields with field"
                                                      : "");
}

void npyx_histogram_clear(npyx_histogram *histogram) {
    npyx_blocks_clear(&histogram->blocks);
    if (histogram->host == NULL)
        return;
    npyx_free(histogram->host, histogram->edges);
    npyx_free(histogram->host, histogram->counts);
    *histogram = (npyx_histogram){.host = histogram->host};
}

/* What a pass does with all items. */
typedef struct histogram_step {
    void (*add)(const npyx_placing *placing, const uint8_t *items, int64_t nelem, void *out);
    /* The rest is for other threads, which add a block to a result of its own; run is NULL: no other
     * threads. */
    npyx_work work;
    void (*merge)(const npyx_placing *placing, const void *result, void *out);
} histogram_step;

static npyx_status run_pass(npyx_histogram *histogram, const histogram_step *step, void *out,
                            npyx_error *error) {
    npyx_blocks *blocks = &histogram->blocks;
    const npyx_placing *placing = &histogram->placing;
    npyx_reader_quiesce(&blocks->reader);
    npyx_blocks_begin(blocks, histogram->source, &histogram->view);
    if (step->work.run != NULL && !blocks->is_done)
        npyx_reader_set_work(&blocks->reader, step->work);
    npyx_status status;
    while ((status = npyx_blocks_next(blocks, error)) == NPYX_OK) {
        if (step->merge != NULL && blocks->reader.result != NULL)
            step->merge(placing, blocks->reader.result, out);
        else
            step->add(placing, blocks->items, blocks->nelem, out);
    }
    npyx_blocks_clear(blocks);
    return status == NPYX_DONE ? NPYX_OK : status;
}

static int64_t nelem_of(const npyx_placing *placing, size_t nbytes) {
    return (int64_t)(nbytes / npyx_types[placing->type].itemsize);
}

/* Limits. */

static void limit_block(const void *ctx, int64_t first, const uint8_t *bytes, size_t nbytes, void *result) {
    (void)first;
    *(npyx_limits *)result = npyx_no_limits;
    npyx_limit_items(ctx, bytes, nelem_of(ctx, nbytes), result);
}

static void merge_limits(const npyx_placing *placing, const void *result, void *out) {
    const npyx_limits *from = result;
    npyx_limits *into = out;
    (void)placing;
    into->ranks[0] = from->ranks[0] < into->ranks[0] ? from->ranks[0] : into->ranks[0];
    into->ranks[1] = from->ranks[1] > into->ranks[1] ? from->ranks[1] : into->ranks[1];
    into->f64[0] = from->f64[0] < into->f64[0] ? from->f64[0] : into->f64[0];
    into->f64[1] = from->f64[1] > into->f64[1] ? from->f64[1] : into->f64[1];
}

/* Counts. */

static void count_block(const void *ctx, int64_t first, const uint8_t *bytes, size_t nbytes, void *result) {
    (void)first;
    const npyx_placing *placing = ctx;
    memset(result, 0, (size_t)(placing->nbins + 1) * sizeof(uint64_t));
    npyx_place_items(placing, bytes, nelem_of(placing, nbytes), result);
}

static void merge_counts(const npyx_placing *placing, const void *result, void *out) {
    const uint64_t *counts = result;
    uint64_t *sums = out;
    for (int64_t bin = 0; bin <= placing->nbins; bin++)
        sums[bin] += counts[bin];
}

/* The range of the items. Without items, NumPy's for an empty array: 0 to 1. */
static npyx_status range_of_limits(npyx_type type, const npyx_limits *limits, npyx_range_end ends[2],
                                   npyx_error *error) {
    bool is_wide = (type == NPYX_I8 || type == NPYX_U8) && limits->ranks[0] <= limits->ranks[1];
    bool is_none = !is_wide && limits->f64[0] > limits->f64[1];
    for (uint64_t k = 0; k < 2; k++) {
        double real = limits->f64[k];
        uint64_t bits = (uint64_t)limits->ranks[k] ^ npyx_rank_flip(type);
        if (is_wide)
            ends[k] = (npyx_range_end){true, bits, type == NPYX_U8 ? (double)bits : (double)(int64_t)bits};
        else if (is_none)
            ends[k] = (npyx_range_end){true, k, (double)k};
        else if (!isfinite(real))
            return npyx_refuse(
                error, "there are infinite values; give range_lo and range_hi, between which to count");
        else if (type <= NPYX_U8)
            ends[k] = (npyx_range_end){true, (uint64_t)(int64_t)real, real};
        else
            ends[k] = (npyx_range_end){.real = real};
    }
    return NPYX_OK;
}

static npyx_range_end end_of(npyx_operand operand) {
    if (operand.is_real)
        return (npyx_range_end){.real = operand.real};
    return (npyx_range_end){true, (uint64_t)operand.integer, (double)operand.integer};
}

/* Allocates the result. */
static npyx_status allocate(npyx_histogram *histogram, int64_t nbins, npyx_error *error) {
    histogram->nbins = nbins;
    histogram->edges = npyx_alloc_array(histogram->host, nbins + 1, sizeof histogram->edges[0]);
    histogram->counts = npyx_alloc_array_zeroed(histogram->host, nbins + 1, sizeof histogram->counts[0]);
    NPYX_TRY(npyx_check_memory(histogram->edges, error));
    return npyx_check_memory(histogram->counts, error);
}

static void histogram_place_by_edges(npyx_histogram *histogram, const npyx_bins *bins) {
    npyx_placing *placing = &histogram->placing;
    memcpy(histogram->edges, bins->edges, (size_t)(bins->nbins + 1) * sizeof bins->edges[0]);
    placing->nbins = bins->nbins;
    placing->edges = histogram->edges;
    placing->lo = bins->edges[0];
    placing->hi = bins->edges[bins->nbins];
    bool is_signed = placing->type == NPYX_I8;
    placing->integer_edges = is_signed ? bins->integer_edges : NULL;
    placing->integer_lo = is_signed ? (uint64_t)INT64_MIN : 0;
    placing->integer_hi = is_signed ? (uint64_t)INT64_MAX : UINT64_MAX;
}

/* Decides how items go into bins, finding their limits if nothing else gives the range. */
static npyx_status histogram_prepare(npyx_histogram *histogram, const npyx_bins *bins,
                                     const npyx_histogram_tally *t, npyx_error *error) {
    npyx_placing *placing = &histogram->placing;
    npyx_limits limits = npyx_no_limits;
    npyx_range_end ends[2] = {end_of(bins->lo), end_of(bins->hi)};
    if (bins->edges != NULL) {
        histogram_place_by_edges(histogram, bins);
        return NPYX_OK;
    }
    if (!bins->has_range && t->npatterns > 0) {
        npyx_place_tally(t, placing, &limits, NULL);
    } else if (!bins->has_range) {
        histogram_step step = {npyx_limit_items,
                               {.run = limit_block, .ctx = placing, .result_nbytes = sizeof limits},
                               merge_limits};
        NPYX_TRY(run_pass(histogram, &step, &limits, error));
    }
    if (!bins->has_range)
        NPYX_TRY(range_of_limits(placing->type, &limits, ends, error));
    bool is_found = limits.ranks[0] <= limits.ranks[1] || limits.f64[0] <= limits.f64[1];
    return npyx_placing_init_uniform(placing, ends[0], ends[1], !is_found, bins->nbins, histogram->edges,
                                     error);
}

static npyx_status make_tally(npyx_histogram *histogram, npyx_histogram_tally *t, npyx_error *error) {
    size_t itemsize = npyx_types[histogram->placing.type].itemsize;
    if (itemsize > 2)
        return NPYX_OK;
    t->npatterns = (size_t)1 << 8 * itemsize;
    t->counts = npyx_alloc_array_zeroed(histogram->host, (int64_t)t->npatterns, sizeof t->counts[0]);
    NPYX_TRY(npyx_check_memory(t->counts, error));
    return run_pass(histogram, &(histogram_step){.add = npyx_tally_items}, t->counts, error);
}

static npyx_status count(npyx_histogram *histogram, const npyx_histogram_tally *t, npyx_error *error) {
    if (t->npatterns > 0) {
        npyx_place_tally(t, &histogram->placing, &(npyx_limits){0}, histogram->counts);
        return NPYX_OK;
    }
    histogram_step step = {.add = npyx_place_items, .merge = merge_counts};
    if (histogram->nbins <= NPYX_SHARED_NBINS)
        step.work = (npyx_work){.run = count_block,
                                .ctx = &histogram->placing,
                                .result_nbytes = (size_t)(histogram->nbins + 1) * sizeof(uint64_t)};
    return run_pass(histogram, &step, histogram->counts, error);
}

static npyx_status histogram_fill(npyx_histogram *histogram, const npyx_bins *bins, npyx_histogram_tally *t,
                                  npyx_error *error) {
    NPYX_TRY(npyx_histogram_check(histogram->view.dtype, error));
    NPYX_TRY(allocate(histogram, bins->nbins, error));
    NPYX_TRY(make_tally(histogram, t, error));
    NPYX_TRY(histogram_prepare(histogram, bins, t, error));
    return count(histogram, t, error);
}

npyx_status npyx_histogram_make(npyx_histogram *histogram, const npyx_bins *bins, npyx_source *source,
                                const npyx_view *view, npyx_error *error) {
    npyx_histogram_tally t = {0};
    npyx_histogram_clear(histogram);
    histogram->source = source;
    histogram->view = *view;
    if (npyx_view_nelem(view) > 0) /* the order of the items does not matter */
        npyx_view_sort_axes(&histogram->view);
    histogram->placing =
        (npyx_placing){.type = view->dtype->type, .is_big_endian = view->dtype->is_big_endian};
    npyx_status status = histogram_fill(histogram, bins, &t, error);
    npyx_free(histogram->host, t.counts);
    npyx_blocks_clear(&histogram->blocks);
    histogram->placing.integer_edges = NULL;
    return status;
}

/* ---- bins as they are requested ---- */

npyx_status npyx_bins_set_count(npyx_bins *bins, int64_t nbins, npyx_error *error) {
    bool is_less = nbins < 1;
    if (is_less || nbins > NPYX_MAX_NBINS)
        return npyx_refuse(error, "bins is %" PRId64 "; there %s %d", nbins,
                           is_less ? "must be at least" : "can be at most", is_less ? 1 : NPYX_MAX_NBINS);
    bins->nbins = nbins;
    return NPYX_OK;
}

static const char *operand_text(npyx_operand operand, char text[NPYX_NUMBER_TEXT_NBYTES + 1]) {
    size_t nbytes =
        operand.is_real ? npyx_text_f64(operand.real, text) : npyx_text_i64(operand.integer, text);
    text[nbytes] = '\0';
    return text;
}

npyx_status npyx_bins_set_range(npyx_bins *bins, npyx_operand lo, npyx_operand hi, npyx_error *error) {
    char texts[2][NPYX_NUMBER_TEXT_NBYTES + 1];
    if (bins->edges != NULL)
        return npyx_refuse(error, "bins gives the edges already; leave range_lo and range_hi out");
    if ((lo.is_real && !isfinite(lo.real)) || (hi.is_real && !isfinite(hi.real)))
        return npyx_refuse(error, "range_lo and range_hi must be finite");
    if (npyx_operand_compare(lo, hi) > 0)
        return npyx_refuse(error, "range_lo (%s) is greater than range_hi (%s)", operand_text(lo, texts[0]),
                           operand_text(hi, texts[1]));
    bins->has_range = true;
    bins->lo = lo;
    bins->hi = hi;
    return NPYX_OK;
}

void npyx_bins_clear(npyx_bins *bins) {
    if (bins->host == NULL)
        return;
    npyx_free(bins->host, bins->edges);
    npyx_free(bins->host, bins->integer_edges);
    *bins = (npyx_bins){.host = bins->host};
}

static npyx_status fail_syntax(const char *text, npyx_span at, npyx_error *error) {
    return npyx_fail(
        error, NPYX_INVALID, at.text - text,
        "bins must be the number of bins (an INTEGER) or a JSON array of edges, as in '[0, 0.5, 10]'");
}

/* Reads the edges between the brackets of a text; *is_exact: all were integers. */
static npyx_status take_edges(npyx_bins *bins, const char *text, npyx_span rest, int64_t *nedges,
                              bool *is_exact, npyx_error *error) {
    *nedges = 0;
    *is_exact = true;
    while (rest.text != NULL) {
        int64_t i = (*nedges)++;
        npyx_number number = {.form = NPYX_NUMBER_F64, .f64 = (double)INFINITY};
        npyx_span edge = npyx_span_cut(&rest, ',');
        if (npyx_span_is(edge, "-Infinity"))
            number.f64 = -number.f64;
        else if (!npyx_span_is(edge, "Infinity") &&
                 (edge.nbytes == 0 || npyx_number_read(edge.text, edge.nbytes, &number) < edge.nbytes))
            return fail_syntax(text, edge, error);
        bins->edges[i] = npyx_number_to_f64(&number);
        bins->integer_edges[i] = number.i64;
        *is_exact = *is_exact && number.form == NPYX_NUMBER_I64;
        bool is_less = i > 0 && (*is_exact ? bins->integer_edges[i] < bins->integer_edges[i - 1]
                                           : bins->edges[i] < bins->edges[i - 1]);
        if (is_less)
            return npyx_fail(error, NPYX_INVALID, edge.text - text,
                             "the edges in bins do not increase: number %" PRId64
                             " (from 0, at byte %td of the text) is less than the one before",
                             i, edge.text - text);
    }
    return NPYX_OK;
}

npyx_status npyx_bins_parse(npyx_bins *bins, const char *text, size_t nbytes, npyx_error *error) {
    npyx_span whole = npyx_span_trim((npyx_span){text, nbytes});
    int64_t nedges = 1; /* a comma follows each but the last */
    bool is_exact = false;
    if (npyx_span_is_among((npyx_span){text, nbytes}, "auto doane fd rice scott sqrt stone sturges"))
        return npyx_refuse(error,
                           "bins = '%s' is one of NumPy's estimators, which are not computed; give a number "
                           "of bins or their edges",
                           text);
    for (size_t off = 0; off < nbytes; off++)
        nedges += text[off] == ',';
    if (whole.nbytes < 2 || whole.text[0] != '[' || whole.text[whole.nbytes - 1] != ']')
        return fail_syntax(text, whole, error);
    whole = npyx_span_trim((npyx_span){whole.text + 1, whole.nbytes - 2});
    if (nedges > NPYX_MAX_NBINS + 1)
        return npyx_refuse(error, "bins has %" PRId64 " edges; there can be at most %d bins", nedges,
                           NPYX_MAX_NBINS);
    bins->edges = npyx_alloc_array(bins->host, nedges, sizeof bins->edges[0]);
    bins->integer_edges = npyx_alloc_array(bins->host, nedges, sizeof bins->integer_edges[0]);
    if (bins->edges == NULL || bins->integer_edges == NULL)
        return npyx_fail_nomem(error);
    if (whole.nbytes == 0) /* `[]` */
        whole.text = NULL;
    NPYX_TRY(take_edges(bins, text, whole, &nedges, &is_exact, error));
    if (nedges < 2)
        return npyx_refuse(error, "bins has %" PRId64 " %s; a bin needs two", nedges,
                           nedges == 1 ? "edge" : "edges");
    bins->nbins = nedges - 1;
    if (!is_exact) {
        npyx_free(bins->host, bins->integer_edges);
        bins->integer_edges = NULL;
    }
    return NPYX_OK;
}
