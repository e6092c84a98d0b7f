/*
 * Edges of bins of one width, and the arithmetic in which NumPy finds a value's bin.
 *
 * Both follow numpy.lib.histograms and numpy.linspace of NumPy 1.24 step by step, with its promotion of
 * scalars by their value: a range of (0, 1) leaves float32 items float32, one of (0, 1e39) does not.
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

static npyx_precision wider(npyx_precision a, npyx_precision b) {
    return a > b ? a : b;
}

/* numpy.min_scalar_type of a float. */
static npyx_precision precision_of_real(double value) {
    if (!isfinite(value) || fabs(value) < 65000)
        return NPYX_PRECISION_F2;
    return fabs(value) < 3.4e38 ? NPYX_PRECISION_F4 : NPYX_PRECISION_F8;
}

/* Of the float that NumPy promotes small floats to beside integers from lo to hi: the smallest integer type
 * that holds both decides. */
static npyx_precision precision_of_integers(int64_t lo, int64_t hi) {
    int64_t most = lo < 0 && ~lo > hi ? ~lo : hi;
    bool is_signed = lo < 0;
    return most <= UINT8_MAX >> is_signed    ? NPYX_PRECISION_F2
           : most <= UINT16_MAX >> is_signed ? NPYX_PRECISION_F4
                                             : NPYX_PRECISION_F8;
}

static npyx_precision precision_of_end(npyx_range_end end) {
    int64_t integer = (int64_t)end.bits;
    return end.is_integer ? precision_of_integers(integer, integer) : precision_of_real(end.real);
}

static npyx_precision precision_of_range(npyx_range_end lo, npyx_range_end hi) {
    if (lo.is_integer && hi.is_integer)
        return precision_of_integers((int64_t)lo.bits, (int64_t)hi.bits);
    return wider(precision_of_end(lo), precision_of_end(hi));
}

/* Of the items' own type: integers of every width are placed as float64. */
static npyx_precision precision_of_type(npyx_type type) {
    return type == NPYX_F2                                      ? NPYX_PRECISION_F2
           : type == NPYX_F4 || npyx_type_is_of_ml_dtypes(type) ? NPYX_PRECISION_F4
                                                                : NPYX_PRECISION_F8;
}

/* numpy.linspace(lo, hi, nbins + 1), which computes in float64 and rounds in the end. */
static npyx_status make_edges(double lo, double hi, int64_t nbins, npyx_precision precision, double *edges,
                              npyx_error *error) {
    double width = hi - lo;
    double step = width / (double)nbins;
    if (!isfinite(width)) {
        char texts[2][NPYX_NUMBER_TEXT_NBYTES];
        return npyx_fail(
            error, NPYX_INVALID, -1, "the range from %.*s to %.*s is wider than a float64 can express",
            (int)npyx_text_f64(lo, texts[0]), texts[0], (int)npyx_text_f64(hi, texts[1]), texts[1]);
    }
    for (int64_t i = 0; i < nbins; i++) {
        double share = step == 0 ? (double)i / (double)nbins * width : (double)i * step;
        edges[i] = npyx_precision_round(precision, share + lo);
    }
    edges[nbins] = npyx_precision_round(precision, hi);
    return NPYX_OK;
}

/* The end of the range as the items are compared with it. Ends that are items have the items' type; a number
 * that was given, or that is half beside an item, has the type that its value asks for. */
static double compared_end(npyx_precision items, npyx_range_end end, bool is_item) {
    return npyx_precision_round(is_item ? items : wider(items, precision_of_end(end)), end.real);
}

/* An item of 64 bits from how many of its type are below. */
static uint64_t bits_of_rank(npyx_type type, uint64_t rank) {
    return rank ^ npyx_rank_flip(NPYX_U8) ^ npyx_rank_flip(type);
}

/* Whether an item, given as its rank, is below the end of a range; or_equal: or is that end. */
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

/* The rank of the last item that is below, where the first one is. */
static uint64_t last_below(npyx_type type, npyx_range_end end, bool or_equal) {
    uint64_t rank = 0;
    for (uint64_t bit = (uint64_t)1 << 63; bit != 0; bit >>= 1)
        rank |= is_below(type, rank | bit, end, or_equal) ? bit : 0;
    return rank;
}

/* Exact bounds for items that a double does not hold. */
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

/* What NumPy multiplies with, in float64. */
static double norm_of(npyx_precision items, npyx_range_end lo, npyx_range_end hi, bool is_given,
                      int64_t nbins) {
    if (lo.is_integer && hi.is_integer)
        return (double)nbins / (double)(hi.bits - lo.bits);
    return (double)nbins / npyx_precision_round(is_given ? NPYX_PRECISION_F8 : items, hi.real - lo.real);
}

/* The value's place among the bins as NumPy computes it. */
static double edges_place_of(const npyx_placing *placing, double value) {
    double difference = npyx_precision_round(placing->difference, value - placing->first);
    return npyx_precision_round(placing->product, difference * placing->norm);
}

static bool has_fast_loop(const npyx_placing *placing) {
    bool has_loop = placing->type == NPYX_F4 ? placing->product != NPYX_PRECISION_F2
                                             : placing->product == NPYX_PRECISION_F8;
    return has_loop && placing->product == placing->difference;
}

npyx_status npyx_placing_init_uniform(npyx_placing *placing, npyx_range_end lo, npyx_range_end hi,
                                      bool is_given, int64_t nbins, double *edges, npyx_error *error) {
    npyx_precision items = precision_of_type(placing->type);
    bool is_widened = lo.real == hi.real && (!lo.is_integer || !hi.is_integer || lo.bits == hi.bits);
    if (is_widened) {
        lo = (npyx_range_end){.real = lo.real - 0.5};
        hi = (npyx_range_end){.real = hi.real + 0.5};
    }
    bool ends_are_items = !is_given && !is_widened;
    npyx_precision precision = ends_are_items ? items : wider(items, precision_of_range(lo, hi));
    NPYX_TRY(make_edges(lo.real, hi.real, nbins, precision, edges, error));
    double norm = norm_of(items, lo, hi, is_given || is_widened, nbins);
    placing->is_uniform = true;
    placing->nbins = nbins;
    placing->edges = edges;
    placing->lo = compared_end(items, lo, ends_are_items);
    placing->hi = compared_end(items, hi, ends_are_items);
    if (placing->type == NPYX_I8 || placing->type == NPYX_U8)
        bound_integers(placing, lo, hi, is_given);
    placing->difference = precision;
    placing->product = wider(precision, precision_of_real(norm));
    placing->first = npyx_precision_round(precision, lo.real);
    placing->norm = npyx_precision_round(placing->product, norm);
    placing->is_computable = isfinite(norm) && norm > 0;
    /* rounding is monotone: what holds for the ends holds for all values between */
    placing->is_regular = placing->is_computable && has_fast_loop(placing) &&
                          edges_place_of(placing, placing->lo) >= 0 && placing->lo >= edges[0] &&
                          edges_place_of(placing, placing->hi) < (double)(nbins + 1);
    return NPYX_OK;
}

/* The last of the bins that begin at or before the value; the first when none does. */
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
