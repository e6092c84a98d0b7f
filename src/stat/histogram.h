/*
 * Histograms with the edges and counts of numpy.histogram (as of NumPy 2).
 *
 * NaN is counted nowhere. float16 and float32 are placed in the precision in which NumPy places them,
 * bfloat16 and float8 as float32, float96 and float128 as float64. If float16 or float32 cannot express that
 * many edges, or one of them, which NumPy refuses, they are placed as float64. If float64 cannot, either,
 * values are placed by the edges, some of which are then equal.
 */
#ifndef NPYX_HISTOGRAM_H
#define NPYX_HISTOGRAM_H

#include "item/filter.h"
#include "walk/reader.h"

/* ---- where numpy.histogram puts a value, and the inner loops over items ---- */

/* The precisions of NumPy's arithmetic. */
typedef enum npyx_precision { NPYX_PRECISION_F2, NPYX_PRECISION_F4, NPYX_PRECISION_F8 } npyx_precision;

/* An end of a range, as a NumPy scalar holds it. */
typedef struct npyx_range_end {
    bool is_integer;
    uint64_t bits; /* of an integer: two's complement, or a uint64 */
    double real;   /* of an integer, too, rounded */
} npyx_range_end;

/* Maps an integer of 64 bits to a signed one in the order of its type, and back, by exclusive or: u8 has its
 * first bit flipped. */
static inline uint64_t npyx_rank_flip(npyx_type type) {
    return type == NPYX_U8 ? (uint64_t)1 << 63 : 0;
}

/* The least and the greatest of items, without NaN: ranks of i8 and u8, f64 of all other types. If the first
 * of a pair is greater than the second, none was seen. */
typedef struct npyx_limits {
    int64_t ranks[2];
    double f64[2];
} npyx_limits;

extern const npyx_limits npyx_no_limits;

/* How items go into bins. Constant while items are placed. */
typedef struct npyx_placing {
    npyx_type type;
    bool is_big_endian;
    int64_t nbins;
    const double *edges;          /* nbins + 1, borrowed */
    const int64_t *integer_edges; /* likewise for i8 items, if edges were given as integers; borrowed */
    /* True for bins of one width. Values from lo to hi, both included, are counted. */
    bool is_uniform;
    double lo, hi;
    uint64_t integer_lo, integer_hi; /* likewise of i8 and u8 items, exact and as bits */
    /* (value - first) in one precision / width * scale in another is the bin, or next to it */
    double first, width, scale;
    npyx_precision difference, quotient;
    bool is_computable; /* else values are placed only by the edges */
    bool is_regular;    /* the fast loops may be used: no index can be out of range */
} npyx_placing;

/* Sets up a placing for nbins bins of one width from lo to hi, and their edges, for nbins + 1 of which there
 * is room. is_given: the range was given, not found among items. type and is_big_endian are set before.
 * NPYX_INVALID if hi - lo is not finite. */
npyx_status npyx_placing_init_uniform(npyx_placing *placing, npyx_range_end lo, npyx_range_end hi,
                                      bool is_given, int64_t nbins, double *edges, npyx_error *error);

/* The bin of a value that is exact in a double; nbins if it is in none. */
int64_t npyx_place(const npyx_placing *placing, double value);

/* Counts nelem items, side by side at any alignment, in nbins + 1 counts (uint64_t), the last for those in no
 * bin. */
void npyx_place_items(const npyx_placing *placing, const uint8_t *items, int64_t nelem, void *out);

/* Widens limits (npyx_limits) to items. Only type and is_big_endian of the placing are used. */
void npyx_limit_items(const npyx_placing *placing, const uint8_t *items, int64_t nelem, void *out);

/* For items of at most 16 bits: how many have each pattern, from which limits and counts follow. */
typedef struct npyx_histogram_tally {
    size_t npatterns;
    uint64_t *counts; /* by pattern in the host's byte order */
} npyx_histogram_tally;

/* The first counts items by pattern; the second widens limits to them and, unless counts is NULL, counts them
 * by bin as npyx_place_items does. */
void npyx_tally_items(const npyx_placing *placing, const uint8_t *items, int64_t nelem, void *out);
void npyx_place_tally(const npyx_histogram_tally *tally, const npyx_placing *placing, npyx_limits *limits,
                      uint64_t *counts);

/* ---- bins and counts ---- */

enum { NPYX_MAX_NBINS = 1000000 };

/* The bins requested: a number of one width, over a range or over all values; or by their edges. */
typedef struct npyx_bins {
    npyx_host *host;
    int64_t nbins;
    double *edges;          /* nbins + 1, owned; NULL: bins of one width */
    int64_t *integer_edges; /* likewise, exact, if all were integers of 64 bits; else NULL; owned */
    bool has_range;
    npyx_operand lo, hi;
} npyx_bins;

/* Requests nbins bins of one width. NPYX_INVALID unless 1 to NPYX_MAX_NBINS. */
npyx_status npyx_bins_set_count(npyx_bins *bins, int64_t nbins, npyx_error *error);

/* Requests bins by their edges, a JSON array of numbers (Infinity is one) in increasing order, neighbours of
 * which may be equal; names of NumPy's estimators are refused as such. A NUL follows the text. Offsets in
 * errors are in the text. NPYX_INVALID or NPYX_NOMEM. Clear bins on failure, too. */
npyx_status npyx_bins_parse(npyx_bins *bins, const char *text, size_t nbytes, npyx_error *error);

/* Sets the range of bins of one width. NPYX_INVALID if it is not finite or ends before it begins. */
npyx_status npyx_bins_set_range(npyx_bins *bins, npyx_operand lo, npyx_operand hi, npyx_error *error);

/* Frees the edges and keeps the host. */
void npyx_bins_clear(npyx_bins *bins);

typedef struct npyx_histogram {
    npyx_host *host;
    int64_t nbins;
    double *edges;    /* nbins + 1, owned */
    uint64_t *counts; /* nbins, owned; one more counts what is in no bin */
    /* private */
    npyx_source *source; /* borrowed, during npyx_histogram_make */
    npyx_view view;
    npyx_placing placing;
    npyx_blocks blocks;
} npyx_histogram;

/* NPYX_INVALID, naming the dtype, unless its items are real numbers. */
npyx_status npyx_histogram_check(const npyx_dtype *dtype, npyx_error *error);

/* Counts the items of a view, reading them once, or twice if they are wider than 16 bits and bins have
 * neither range nor edges. Zero-initialise the histogram with the host set, or reuse one. source and bins are
 * needed only during the call. NPYX_INVALID for a dtype that has no histogram, infinite values without a
 * range, and a range wider than a float64; NPYX_NOMEM, NPYX_INTERRUPTED, and what reading returns. */
npyx_status npyx_histogram_make(npyx_histogram *histogram, const npyx_bins *bins, npyx_source *source,
                                const npyx_view *view, npyx_error *error);

void npyx_histogram_clear(npyx_histogram *histogram);

#endif
