/* Bins as they are requested. */
#include "histogram.h"

#include "text/number_text.h"
#include "text/span.h"

npyx_status npyx_bins_set_count(npyx_bins *bins, int64_t nbins, npyx_error *error) {
    bool is_less = nbins < 1;
    if (is_less || nbins > NPYX_MAX_NBINS)
        return npyx_fail(error, NPYX_INVALID, -1, "bins is %" PRId64 "; there %s %d", nbins,
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
        return npyx_fail(error, NPYX_INVALID, -1,
                         "bins gives the edges already; leave range_lo and range_hi out");
    if ((lo.is_real && !isfinite(lo.real)) || (hi.is_real && !isfinite(hi.real)))
        return npyx_fail(error, NPYX_INVALID, -1, "range_lo and range_hi must be finite");
    if (npyx_operand_compare(lo, hi) > 0)
        return npyx_fail(error, NPYX_INVALID, -1, "range_lo (%s) is greater than range_hi (%s)",
                         operand_text(lo, texts[0]), operand_text(hi, texts[1]));
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
        return npyx_fail(error, NPYX_INVALID, -1,
                         "bins = '%s' is one of NumPy's estimators, which are not computed; give a number "
                         "of bins or their edges",
                         text);
    for (size_t off = 0; off < nbytes; off++)
        nedges += text[off] == ',';
    if (whole.nbytes < 2 || whole.text[0] != '[' || whole.text[whole.nbytes - 1] != ']')
        return fail_syntax(text, whole, error);
    whole = npyx_span_trim((npyx_span){whole.text + 1, whole.nbytes - 2});
    if (nedges > NPYX_MAX_NBINS + 1)
        return npyx_fail(error, NPYX_INVALID, -1, "bins has %" PRId64 " edges; there can be at most %d bins",
                         nedges, NPYX_MAX_NBINS);
    bins->edges = npyx_alloc_array(bins->host, nedges, sizeof bins->edges[0]);
    bins->integer_edges = npyx_alloc_array(bins->host, nedges, sizeof bins->integer_edges[0]);
    if (bins->edges == NULL || bins->integer_edges == NULL)
        return npyx_fail_nomem(error);
    if (whole.nbytes == 0) /* `[]` */
        whole.text = NULL;
    NPYX_TRY(take_edges(bins, text, whole, &nedges, &is_exact, error));
    if (nedges < 2)
        return npyx_fail(error, NPYX_INVALID, -1, "bins has %" PRId64 " %s; a bin needs two", nedges,
                         nedges == 1 ? "edge" : "edges");
    bins->nbins = nedges - 1;
    if (!is_exact) {
        npyx_free(bins->host, bins->integer_edges);
        bins->integer_edges = NULL;
    }
    return NPYX_OK;
}
