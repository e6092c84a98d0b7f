/* Bins as they are asked for. */
#include "histogram.h"

#include "text/number_text.h"
#include "text/span.h"

npyx_status npyx_bins_set_count(npyx_bins *bins, int64_t nbins, npyx_error *error) {
    if (nbins < 1)
        return npyx_fail(error, NPYX_INVALID, -1, "bins is %" PRId64 "; there is to be at least 1", nbins);
    if (nbins > NPYX_MAX_NBINS)
        return npyx_fail(error, NPYX_INVALID, -1, "bins is %" PRId64 "; there can be at most %d", nbins,
                         NPYX_MAX_NBINS);
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
        return npyx_fail(error, NPYX_INVALID, -1, "range_lo and range_hi are to be finite");
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

/* A walk over the text of edges. */
typedef struct bins_parser {
    const char *text; /* with a NUL behind it */
    size_t nbytes;
    size_t off;
    npyx_error *error;
} bins_parser;

static void bins_skip_blanks(bins_parser *p) {
    p->off += strspn(p->text + p->off, " \t\r\n");
}

static bool bins_take(bins_parser *p, const char *text) {
    size_t nbytes = strlen(text);
    if (strncmp(p->text + p->off, text, nbytes) != 0)
        return false;
    p->off += nbytes;
    return true;
}

static bool take_edge(bins_parser *p, npyx_number *number) {
    bool is_negative = bins_take(p, "-Infinity");
    if (is_negative || bins_take(p, "Infinity")) {
        *number = (npyx_number){.form = NPYX_NUMBER_F64, .f64 = (double)(is_negative ? -INFINITY : INFINITY)};
        return true;
    }
    size_t nbytes = npyx_number_read(p->text + p->off, p->nbytes - p->off, number);
    p->off += nbytes;
    return nbytes > 0;
}

static npyx_status fail_syntax(const bins_parser *p) {
    return npyx_fail(p->error, NPYX_INVALID, (int64_t)p->off,
                     "bins is a number of bins (INTEGER) or a JSON array of edges, as in '[0, 0.5, 10]'");
}

/* Takes what stands between the brackets; *is_exact: all were integers. */
static npyx_status take_edges(bins_parser *p, npyx_bins *bins, int64_t *nedges, bool *is_exact) {
    *nedges = 0;
    *is_exact = true;
    bins_skip_blanks(p);
    if (bins_take(p, "]"))
        return NPYX_OK;
    do {
        int64_t i = (*nedges)++;
        npyx_number number = {0};
        bins_skip_blanks(p);
        size_t off = p->off;
        if (!take_edge(p, &number))
            return fail_syntax(p);
        bins->edges[i] = npyx_number_to_f64(&number);
        bins->integer_edges[i] = number.i64;
        *is_exact = *is_exact && number.form == NPYX_NUMBER_I64;
        bool is_less = i > 0 && (*is_exact ? bins->integer_edges[i] < bins->integer_edges[i - 1]
                                           : bins->edges[i] < bins->edges[i - 1]);
        if (is_less)
            return npyx_fail(p->error, NPYX_INVALID, (int64_t)off,
                             "the edges in bins do not increase: number %" PRId64
                             " (from 0, at byte %zu of the text) is less than the one before",
                             i, off);
        bins_skip_blanks(p);
    } while (bins_take(p, ","));
    return bins_take(p, "]") ? NPYX_OK : fail_syntax(p);
}

npyx_status npyx_bins_parse(npyx_bins *bins, const char *text, size_t nbytes, npyx_error *error) {
    bins_parser p = {.text = text, .nbytes = nbytes, .error = error};
    int64_t nedges = 1; /* every one but the last has a comma behind it */
    bool is_exact = false;
    if (npyx_span_is_among((npyx_span){text, nbytes}, "auto doane fd rice scott sqrt stone sturges"))
        return npyx_fail(error, NPYX_INVALID, -1,
                         "bins = '%s' is one of NumPy's estimators, which are not computed; give a number "
                         "of bins or their edges",
                         text);
    for (size_t off = 0; off < nbytes; off++)
        nedges += text[off] == ',';
    bins_skip_blanks(&p);
    if (!bins_take(&p, "["))
        return fail_syntax(&p);
    if (nedges > NPYX_MAX_NBINS + 1)
        return npyx_fail(error, NPYX_INVALID, -1, "bins has %" PRId64 " edges; there can be at most %d bins",
                         nedges, NPYX_MAX_NBINS);
    bins->edges = npyx_alloc(bins->host, (size_t)nedges * sizeof bins->edges[0]);
    bins->integer_edges = npyx_alloc(bins->host, (size_t)nedges * sizeof bins->integer_edges[0]);
    if (bins->edges == NULL || bins->integer_edges == NULL)
        return npyx_fail_nomem(error);
    NPYX_TRY(take_edges(&p, bins, &nedges, &is_exact));
    bins_skip_blanks(&p);
    if (p.off != nbytes)
        return fail_syntax(&p);
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
