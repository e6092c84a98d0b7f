/*
 * Edges of bins of one width, and the arithmetic in which NumPy finds a value's bin.
 *
 * Both follow numpy.lib._histograms_impl and numpy.linspace of NumPy 2 step by step. The items decide: a
 * given range consists of Python's numbers, which adopt the precision of their operands.
 */
#include "histogram.h"

#include "text/number_text.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

double npyx_precision_round(npyx_precision precision, double value) {
    switch (precision) {
    case NPYX_PRECISION_F2: return (double)npyx_f16_to_f32(npyx_f16_from_f64(value));
    case NPYX_PRECISION_F4: return (double)(float)value;
    default: return value;
    }
}

/* For the items' own type: integers of every width are placed as float64. */
static npyx_precision precision_of_type(npyx_type type) {
    return type == NPYX_F2                                      ? NPYX_PRECISION_F2
           : type == NPYX_F4 || npyx_type_is_of_ml_dtypes(type) ? NPYX_PRECISION_F4
                                                                : NPYX_PRECISION_F8;
}

/* A range, and the precision of its ends: that of the items if it was found among them. */
typedef struct edges_range {
    npyx_range_end lo, hi;
    npyx_precision precision;
} edges_range;

/* The ends of a range of a single value are moved half a unit away from it. A zero loses its sign: which of
 * two zeros is the greatest item would depend on how the items are divided into blocks. */
static edges_range range_of_ends(npyx_range_end lo, npyx_range_end hi, npyx_precision precision) {
    lo.real += 0.0;
    hi.real += 0.0;
    if (lo.real == hi.real && (!lo.is_integer || !hi.is_integer || lo.bits == hi.bits)) {
        lo = (npyx_range_end){.real = npyx_precision_round(precision, lo.real - 0.5)};
        hi = (npyx_range_end){.real = npyx_precision_round(precision, hi.real + 0.5)};
    }
    return (edges_range){lo, hi, precision};
}

static npyx_status check_width(double lo, double hi, npyx_error *error) {
    char texts[2][NPYX_NUMBER_TEXT_NBYTES];
    if (isfinite(hi - lo))
        return NPYX_OK;
    return npyx_fail(error, NPYX_INVALID, -1,
                     "the range from %.*s to %.*s is wider than a float64 can express",
                     (int)npyx_text_f64(lo, texts[0]), texts[0], (int)npyx_text_f64(hi, texts[1]), texts[1]);
}

/* numpy.linspace(lo, hi, nbins + 1, dtype=items), which computes in the precision of the ends. */
static void make_edges(const edges_range *range, int64_t nbins, npyx_precision items, double *edges) {
    const npyx_precision precision = range->precision;
    const double lo = range->lo.real, hi = range->hi.real;
    double width = npyx_precision_round(precision, hi - lo);
    double divisor = npyx_precision_round(precision, (double)nbins);
    double step = npyx_precision_round(precision, width / divisor);
    for (int64_t i = 0; i < nbins; i++) {
        double place = npyx_precision_round(precision, (double)i);
        double share = step == 0 ? npyx_precision_round(precision, place / divisor) * width : place * step;
        double edge = npyx_precision_round(precision, npyx_precision_round(precision, share) + lo);
        edges[i] = npyx_precision_round(items, edge);
    }
    edges[nbins] = npyx_precision_round(items, hi);
}

/* NumPy refuses edges that do not increase. */
static bool are_increasing(const double *edges, int64_t nbins) {
    if (!isfinite(edges[0]) || !isfinite(edges[nbins]))
        return false;
    for (int64_t i = 0; i < nbins; i++) {
        if (!(edges[i] < edges[i + 1]))
            return false;
    }
    return true;
}

/* The item of 64 bits with rank items of its type below it. */
static uint64_t bits_of_rank(npyx_type type, uint64_t rank) {
    return rank ^ npyx_rank_flip(NPYX_U8) ^ npyx_rank_flip(type);
}

/* Whether an item, given as its rank, is below the end of a range; or_equal: or equal to it. */
static bool is_below(npyx_type type, uint64_t rank, npyx_range_end end, bool or_equal) {
    uint64_t bits = bits_of_rank(type, rank);
    if (!end.is_integer) {
        double value = type == NPYX_I8 ? (double)(int64_t)bits : (double)bits;
        return or_equal ? value <= end.real : value < end.real;
    }
    if (type == NPYX_I8)
        return (int64_t)bits < (int64_t)end.bits || (or_equal && bits == end.bits);
    bool is_negative = (int64_t)end.bits < 0;
    return !is_negative && (bits < end.bits || (or_equal && bits == end.bits));
}

/* The rank of the last item that is below, if the first one is. */
static uint64_t last_below(npyx_type type, npyx_range_end end, bool or_equal) {
    uint64_t rank = 0;
    for (uint64_t bit = (uint64_t)1 << 63; bit != 0; bit >>= 1)
        rank |= is_below(type, rank | bit, end, or_equal) ? bit : 0;
    return rank;
}

/* Sets exact bounds for items that a double does not hold. */
static void bound_integers(npyx_placing *placing, npyx_range_end lo, npyx_range_end hi, bool is_given) {
    npyx_type type = placing->type;
    uint64_t first = 0, last = UINT64_MAX;
    if (is_given && (is_below(type, UINT64_MAX, lo, false) || !is_below(type, 0, hi, true))) {
        first = 1; /* all are outside */
        last = 0;
    } else if (is_given) {
        first = is_below(type, 0, lo, false) ? last_below(type, lo, false) + 1 : 0;
        last = last_below(type, hi, true);
    }
    placing->integer_lo = bits_of_rank(type, first);
    placing->integer_hi = bits_of_rank(type, last);
}

/* What NumPy divides by. */
static double width_of(const edges_range *range) {
    if (range->lo.is_integer && range->hi.is_integer)
        return (double)(range->hi.bits - range->lo.bits);
    return npyx_precision_round(range->precision, range->hi.real - range->lo.real);
}

/* The value's place among the bins, as NumPy computes it. */
static double edges_place_of(const npyx_placing *placing, double value) {
    double difference = npyx_precision_round(placing->difference, value - placing->first);
    double share = npyx_precision_round(placing->quotient, difference / placing->width);
    return npyx_precision_round(placing->quotient, share * placing->scale);
}

static bool has_fast_loop(const npyx_placing *placing) {
    return placing->difference == NPYX_PRECISION_F8 ||
           (placing->type == NPYX_F4 && placing->difference == NPYX_PRECISION_F4);
}

/* Places values in the precision of items, and divides in that of the range. */
static void place_in(npyx_placing *placing, npyx_precision items, const edges_range *range) {
    placing->difference = items;
    placing->quotient = range->precision;
    placing->first = npyx_precision_round(items, range->lo.real);
    placing->lo = placing->first;
    placing->hi = npyx_precision_round(items, range->hi.real);
    placing->width = width_of(range);
    placing->scale = npyx_precision_round(range->precision, (double)placing->nbins);
}

npyx_status npyx_placing_init_uniform(npyx_placing *placing, npyx_range_end lo, npyx_range_end hi,
                                      bool is_given, int64_t nbins, double *edges, npyx_error *error) {
    npyx_precision items = precision_of_type(placing->type);
    edges_range range = range_of_ends(lo, hi, is_given ? NPYX_PRECISION_F8 : items);
    NPYX_TRY(check_width(range.lo.real, range.hi.real, error));
    make_edges(&range, nbins, items, edges);
    placing->is_computable = are_increasing(edges, nbins);
    if (!placing->is_computable && items != NPYX_PRECISION_F8) {
        items = NPYX_PRECISION_F8;
        range = range_of_ends(lo, hi, items);
        make_edges(&range, nbins, items, edges);
        placing->is_computable = are_increasing(edges, nbins);
    }
    placing->is_uniform = true;
    placing->nbins = nbins;
    placing->edges = edges;
    place_in(placing, items, &range);
    if (placing->type == NPYX_I8 || placing->type == NPYX_U8)
        bound_integers(placing, range.lo, range.hi, is_given);
    /* rounding is monotone: what holds for the ends holds for all values between */
    placing->is_regular = placing->is_computable && has_fast_loop(placing) &&
                          edges_place_of(placing, placing->hi) < (double)(nbins + 1);
    return NPYX_OK;
}

/* The last of the bins that begin at or before the value; the first if none does. */
static int64_t find_bin(const npyx_placing *placing, double value) {
    int64_t bin = 0;
    for (int64_t nleft = placing->nbins; nleft > 1; nleft -= nleft / 2)
        bin += placing->edges[bin + nleft / 2] <= value ? nleft / 2 : 0;
    return bin;
}

int64_t npyx_place(const npyx_placing *placing, double value) {
    int64_t nbins = placing->nbins;
    const double *edges = placing->edges;
    if (!(value >= placing->lo && value <= placing->hi))
        return nbins;
    double place = placing->is_uniform && placing->is_computable ? edges_place_of(placing, value) : -1;
    if (!(place > -1 && place < (double)(nbins + 1)))
        return find_bin(placing, value);
    int64_t bin = (int64_t)place;
    bin -= bin == nbins;
    bin -= value < edges[bin];
    if (bin < 0)
        return 0;
    return bin + (value >= edges[bin + 1] && bin != nbins - 1);
}
