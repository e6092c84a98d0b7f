/*
 * Histograms with the edges and counts of numpy.histogram (as of NumPy 1.24).
 *
 * NaN is counted nowhere. float16 and float32 are placed in the precision in which NumPy places them,
 * bfloat16 and float8 as float32, float96 and float128 as float64. Where NumPy itself fails, because steps
 * between edges are too small for its arithmetic, values are placed by the edges.
 */
#ifndef NPYX_HISTOGRAM_H
#define NPYX_HISTOGRAM_H

#include "histogram_place.h"
#include "item/filter.h"
#include "walk/blocks.h"

enum { NPYX_MAX_NBINS = 1000000 };

/* The bins that are asked for: so many of one width, over a range or over all values; or by their edges. */
typedef struct npyx_bins {
    npyx_host *host;
    int64_t nbins;
    double *edges;          /* nbins + 1, owned; NULL: bins of one width */
    int64_t *integer_edges; /* the same, exact, when all were integers of 64 bits; else NULL; owned */
    bool has_range;
    npyx_operand lo, hi;
} npyx_bins;

/* nbins bins of one width. NPYX_INVALID unless 1 to NPYX_MAX_NBINS. */
npyx_status npyx_bins_set_count(npyx_bins *bins, int64_t nbins, npyx_error *error);

/* Bins by their edges, a JSON array of numbers (Infinity is one) in increasing order, of which neighbours may
 * be equal; a name of one of NumPy's estimators is refused as such. The text has a NUL behind it. Offsets in
 * errors are in the text. NPYX_INVALID or NPYX_NOMEM. Clear bins on failure too. */
npyx_status npyx_bins_parse(npyx_bins *bins, const char *text, size_t nbytes, npyx_error *error);

/* The range of bins of one width. NPYX_INVALID when it is not finite or ends before it begins. */
npyx_status npyx_bins_set_range(npyx_bins *bins, npyx_operand lo, npyx_operand hi, npyx_error *error);

/* Gives the edges back and keeps the host. */
void npyx_bins_clear(npyx_bins *bins);

typedef struct npyx_histogram {
    npyx_host *host;
    int64_t nbins;
    double *edges;    /* nbins + 1, owned */
    uint64_t *counts; /* nbins, owned; one more counts what lies in no bin */
    /* private */
    npyx_placing placing;
    npyx_blocks blocks;
} npyx_histogram;

/* NPYX_INVALID, naming the dtype, unless its items are real numbers. */
npyx_status npyx_histogram_check(const npyx_dtype *dtype, npyx_error *error);

/* Counts the items of a view, reading them once, or twice when they are wider than 16 bits and bins have
 * neither range nor edges. The histogram is one of zeros and a host, or one made before. source and bins are
 * needed during the call only. NPYX_INVALID for a dtype that has no histogram, infinite values without a
 * range, and a range wider than a float64; NPYX_NOMEM, NPYX_INTERRUPTED, and what reading gives. */
npyx_status npyx_histogram_make(npyx_histogram *histogram, const npyx_bins *bins, npyx_source *source,
                                const npyx_view *view, npyx_error *error);

void npyx_histogram_clear(npyx_histogram *histogram);

#endif
