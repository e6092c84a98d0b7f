/*
 * Edges of bins of one width, and the arithmetic in which NumPy finds a value's bin.
 *
 * Both follow numpy.lib._histograms_impl and numpy.linspace of NumPy 2 step by step. The items decide: a
 * given range consists of Python's numbers, which adopt the precision of their operands.
 */
#include "histogram.h"

#include "item/convert.h"
#include "text/number_text.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

/* A double rounded once to a precision. */
static double precision_round(npyx_precision precision, double value) {
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
        lo = (npyx_range_end){.real = precision_round(precision, lo.real - 0.5)};
        hi = (npyx_range_end){.real = precision_round(precision, hi.real + 0.5)};
    }
    return (edges_range){lo, hi, precision};
}

static npyx_status check_width(double lo, double hi, npyx_error *error) {
    char texts[2][NPYX_NUMBER_TEXT_NBYTES];
    if (isfinite(hi - lo))
        return NPYX_OK;
    return npyx_refuse(error, "the range from %.*s to %.*s is wider than a float64 can express",
                       (int)npyx_text_f64(lo, texts[0]), texts[0], (int)npyx_text_f64(hi, texts[1]),
                       texts[1]);
}

/* numpy.linspace(lo, hi, nbins + 1, dtype=items), which computes in the precision of the ends. */
static void make_edges(const edges_range *range, int64_t nbins, npyx_precision items, double *edges) {
    const npyx_precision precision = range->precision;
    const double lo = range->lo.real, hi = range->hi.real;
    double width = precision_round(precision, hi - lo);
    double divisor = precision_round(precision, (double)nbins);
    double step = precision_round(precision, width / divisor);
    for (int64_t i = 0; i < nbins; i++) {
        double place = precision_round(precision, (double)i);
        double share = step == 0 ? precision_round(precision, place / divisor) * width : place * step;
        double edge = precision_round(precision, precision_round(precision, share) + lo);
        edges[i] = precision_round(items, edge);
    }
    edges[nbins] = precision_round(items, hi);
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
    return precision_round(range->precision, range->hi.real - range->lo.real);
}

/* The value's place among the bins, as NumPy computes it. */
static double edges_place_of(const npyx_placing *placing, double value) {
    double difference = precision_round(placing->difference, value - placing->first);
    double share = precision_round(placing->quotient, difference / placing->width);
    return precision_round(placing->quotient, share * placing->scale);
}

static bool has_fast_loop(const npyx_placing *placing) {
    return placing->difference == NPYX_PRECISION_F8 ||
           (placing->type == NPYX_F4 && placing->difference == NPYX_PRECISION_F4);
}

/* Places values in the precision of items, and divides in that of the range. */
static void place_in(npyx_placing *placing, npyx_precision items, const edges_range *range) {
    placing->difference = items;
    placing->quotient = range->precision;
    placing->first = precision_round(items, range->lo.real);
    placing->lo = placing->first;
    placing->hi = precision_round(items, range->hi.real);
    placing->width = width_of(range);
    placing->scale = precision_round(range->precision, (double)placing->nbins);
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

/* ---- the inner loops over items: a chunk is loaded, its bins are found, and these are counted ---- */

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

_Static_assert(NPYX_HISTOGRAM_NELEM_MOST % NPYX_BLOCK_NELEM == 0, "a chunk is so many blocks");

typedef union chunk {
    double f64[NPYX_HISTOGRAM_NELEM_MOST];
    float f32[NPYX_HISTOGRAM_NELEM_MOST];
    int64_t i64[NPYX_HISTOGRAM_NELEM_MOST];
} chunk;

const npyx_limits npyx_no_limits = {.ranks = {INT64_MAX, INT64_MIN},
                                    .f64 = {(double)INFINITY, -(double)INFINITY}};

/* Items of 4 or 8 bytes as they are, in the host's byte order. */
static void load_words(const npyx_placing *placing, const uint8_t *items, size_t nelem, void *out) {
    size_t itemsize = npyx_types[placing->type].itemsize;
    memcpy(out, items, nelem * itemsize);
    if (placing->is_big_endian != NPYX_HOST_IS_BIG_ENDIAN)
        npyx_swap_words(out, itemsize, nelem);
}

/* Items as doubles. */
static void place_load_reals(const npyx_placing *placing, const uint8_t *items, size_t nelem, double *out) {
    if (placing->type == NPYX_F8)
        load_words(placing, items, nelem, out);
    else
        npyx_block_reals(placing->type, placing->is_big_endian, items, npyx_types[placing->type].itemsize,
                         nelem, out);
}

/* Items of 8 bytes as doubles, or as NaN if they exceed bounds that a double may not hold. */
static void load_bounded(const npyx_placing *placing, const uint8_t *items, size_t nelem, double *out) {
    int64_t integers[NPYX_HISTOGRAM_NELEM_MOST];
    const uint64_t lo = placing->integer_lo, hi = placing->integer_hi;
    const int64_t signed_lo = (int64_t)lo, signed_hi = (int64_t)hi;
    bool is_signed = placing->type == NPYX_I8;
    load_words(placing, items, nelem, integers);
    for (size_t i = 0; is_signed && i < nelem; i++) {
        int64_t item = integers[i];
        out[i] = item >= signed_lo && item <= signed_hi ? (double)item : (double)NAN;
    }
    for (size_t i = 0; !is_signed && i < nelem; i++) {
        uint64_t item = (uint64_t)integers[i];
        out[i] = item >= lo && item <= hi ? (double)item : (double)NAN;
    }
}

/*
 * The bins of values in one precision, divided in another; the results are npyx_place's if the placing is
 * regular. First come the indices, for a whole chunk whatever nelem, so that compilers vectorise them; then
 * the corrections, without a branch, because values are in any order. A value out of the range has a
 * meaningless index, which still is within the edges.
 */
#define PLACE_REGULAR(name, real, quotient)                                                                  \
    static void name(const npyx_placing *placing, const real *values, size_t nelem, int32_t *bins) {         \
        const real lo = (real)placing->lo, hi = (real)placing->hi, first = (real)placing->first;             \
        const quotient width = (quotient)placing->width, scale = (quotient)placing->scale;                   \
        const quotient last = (quotient)(placing->nbins - 1);                                                \
        const double *edges = placing->edges;                                                                \
        const int32_t nbins = (int32_t)placing->nbins;                                                       \
        for (size_t i = 0; i < NPYX_HISTOGRAM_NELEM; i++) {                                                  \
            real difference = values[i] - first;                                                             \
            quotient place = (quotient)difference / width * scale;                                           \
            place = place > 0 ? place : 0;                                                                   \
            bins[i] = (int32_t)(place < last ? place : last);                                                \
        }                                                                                                    \
        for (size_t i = 0; i < nelem; i++) {                                                                 \
            int32_t bin = bins[i], outside = nbins;                                                          \
            int32_t is_within = (values[i] >= lo) & (values[i] <= hi);                                       \
            bin -= (double)values[i] < edges[bin];                                                           \
            bin += ((double)values[i] >= edges[bin + 1]) & (bin != nbins - 1);                               \
            bins[i] = outside ^ ((outside ^ bin) & -is_within);                                              \
        }                                                                                                    \
    }

PLACE_REGULAR(place_f64, double, double)
PLACE_REGULAR(place_f32, float, float)
PLACE_REGULAR(place_f32_in_f64, float, double)

/* The bin begins at the last edge that is not above the value, found without a branch. */
#define PLACE_BY_EDGES(name, number, edges_member)                                                           \
    static void name(const npyx_placing *placing, const number *values, size_t nelem, int32_t *bins) {       \
        const number *edges = placing->edges_member;                                                         \
        const int32_t nbins = (int32_t)placing->nbins;                                                       \
        for (size_t i = 0; i < nelem; i++) {                                                                 \
            int32_t bin = 0;                                                                                 \
            for (int32_t nleft = nbins; nleft > 1; nleft -= nleft / 2)                                       \
                bin += edges[bin + nleft / 2] <= values[i] ? nleft / 2 : 0;                                  \
            bins[i] = values[i] >= edges[0] && values[i] <= edges[nbins] ? bin : nbins;                      \
        }                                                                                                    \
    }

PLACE_BY_EDGES(place_by_edges, double, edges)
PLACE_BY_EDGES(place_by_integer_edges, int64_t, integer_edges)

/* Finds the bins of at most a chunk of items. */
static void place_chunk(const npyx_placing *placing, const uint8_t *items, size_t nelem, int32_t *bins) {
    chunk values;
    bool is_wide = placing->type == NPYX_I8 || placing->type == NPYX_U8;
    if (nelem < NPYX_HISTOGRAM_NELEM) /* the fast loops process all of it */
        memset(&values, 0, sizeof values);
    if (!placing->is_uniform && placing->integer_edges != NULL) {
        load_words(placing, items, nelem, values.i64);
        place_by_integer_edges(placing, values.i64, nelem, bins);
        return;
    }
    if (placing->is_regular && placing->difference == NPYX_PRECISION_F4) {
        load_words(placing, items, nelem, values.f32);
        if (placing->quotient == NPYX_PRECISION_F4)
            place_f32(placing, values.f32, nelem, bins);
        else
            place_f32_in_f64(placing, values.f32, nelem, bins);
        return;
    }
    if (is_wide)
        load_bounded(placing, items, nelem, values.f64);
    else
        place_load_reals(placing, items, nelem, values.f64);
    if (!placing->is_uniform) {
        place_by_edges(placing, values.f64, nelem, bins);
    } else if (placing->is_regular) {
        place_f64(placing, values.f64, nelem, bins);
    } else {
        for (size_t i = 0; i < nelem; i++)
            bins[i] = (int32_t)npyx_place(placing, values.f64[i]);
    }
}

void npyx_place_items(const npyx_placing *placing, const uint8_t *items, int64_t nelem, void *out) {
    uint64_t *counts = out;
    size_t itemsize = npyx_types[placing->type].itemsize;
    int32_t bins[NPYX_HISTOGRAM_NELEM_MOST];
    while (nelem > 0) {
        size_t count = nelem < NPYX_HISTOGRAM_NELEM ? (size_t)nelem : NPYX_HISTOGRAM_NELEM;
        place_chunk(placing, items, count, bins);
        for (size_t i = 0; i < count; i++)
            counts[bins[i]]++;
        items += count * itemsize;
        nelem -= (int64_t)count;
    }
}

/* Keeps several running limits at once, because each comparison waits for the previous one. A NaN compares as
 * false and so is left out. */
enum { LIMIT_NLANES = 8 };

#define LIMIT(name, number, greatest, least)                                                                 \
    static void name(const number *values, size_t nelem, number limits[2]) {                                 \
        number low[LIMIT_NLANES], high[LIMIT_NLANES];                                                        \
        for (size_t k = 0; k < LIMIT_NLANES; k++) {                                                          \
            low[k] = (greatest);                                                                             \
            high[k] = (least);                                                                               \
        }                                                                                                    \
        for (size_t i = 0; i + LIMIT_NLANES <= nelem; i += LIMIT_NLANES) {                                   \
            for (size_t k = 0; k < LIMIT_NLANES; k++) {                                                      \
                low[k] = values[i + k] < low[k] ? values[i + k] : low[k];                                    \
                high[k] = values[i + k] > high[k] ? values[i + k] : high[k];                                 \
            }                                                                                                \
        }                                                                                                    \
        for (size_t i = nelem - nelem % LIMIT_NLANES; i < nelem; i++) {                                      \
            low[0] = values[i] < low[0] ? values[i] : low[0];                                                \
            high[0] = values[i] > high[0] ? values[i] : high[0];                                             \
        }                                                                                                    \
        for (size_t k = 0; k < LIMIT_NLANES; k++) {                                                          \
            limits[0] = low[k] < limits[0] ? low[k] : limits[0];                                             \
            limits[1] = high[k] > limits[1] ? high[k] : limits[1];                                           \
        }                                                                                                    \
    }

LIMIT(limit_f64, double, (double)INFINITY, -(double)INFINITY)
LIMIT(limit_i64, int64_t, INT64_MAX, INT64_MIN)

void npyx_limit_items(const npyx_placing *placing, const uint8_t *items, int64_t nelem, void *out) {
    npyx_limits *limits = out;
    const int64_t flip = (int64_t)npyx_rank_flip(placing->type);
    bool is_wide = placing->type == NPYX_I8 || placing->type == NPYX_U8;
    chunk values;
    for (; nelem > 0;
         nelem -= NPYX_HISTOGRAM_NELEM, items += NPYX_HISTOGRAM_NELEM * npyx_types[placing->type].itemsize) {
        size_t count = nelem < NPYX_HISTOGRAM_NELEM ? (size_t)nelem : NPYX_HISTOGRAM_NELEM;
        if (is_wide) {
            load_words(placing, items, count, values.i64);
            for (size_t i = 0; flip != 0 && i < count; i++)
                values.i64[i] ^= flip;
            limit_i64(values.i64, count, limits->ranks);
        } else {
            place_load_reals(placing, items, count, values.f64);
            limit_f64(values.f64, count, limits->f64);
        }
    }
}

/* ---- items of at most 16 bits, by their patterns ---- */

void npyx_tally_items(const npyx_placing *placing, const uint8_t *items, int64_t nelem, void *out) {
    uint64_t *counts = out;
    if (npyx_types[placing->type].itemsize == 1) {
        for (int64_t i = 0; i < nelem; i++)
            counts[items[i]]++;
    } else {
        for (int64_t i = 0; i < nelem; i++)
            counts[npyx_load_u16(items + 2 * i, placing->is_big_endian)]++;
    }
}

/* The values of a block of patterns from first on. */
static void pattern_values(npyx_type type, size_t first, double values[NPYX_BLOCK_NELEM]) {
    uint8_t bytes[NPYX_BLOCK_NELEM];
    uint16_t words[NPYX_BLOCK_NELEM];
    for (size_t i = 0; i < NPYX_BLOCK_NELEM; i++) {
        bytes[i] = (uint8_t)(first + i);
        words[i] = (uint16_t)(first + i);
    }
    size_t itemsize = npyx_types[type].itemsize;
    npyx_block_reals(type, NPYX_HOST_IS_BIG_ENDIAN, itemsize == 1 ? bytes : (uint8_t *)words, itemsize,
                     NPYX_BLOCK_NELEM, values);
}

void npyx_place_tally(const npyx_histogram_tally *tally, const npyx_placing *placing, npyx_limits *limits,
                      uint64_t *counts) {
    for (size_t first = 0; first < tally->npatterns; first += NPYX_BLOCK_NELEM) {
        double values[NPYX_BLOCK_NELEM];
        pattern_values(placing->type, first, values);
        for (size_t i = 0; i < NPYX_BLOCK_NELEM; i++) {
            if (tally->counts[first + i] == 0)
                continue;
            if (counts != NULL)
                counts[npyx_place(placing, values[i])] += tally->counts[first + i];
            limits->f64[0] = values[i] < limits->f64[0] ? values[i] : limits->f64[0];
            limits->f64[1] = values[i] > limits->f64[1] ? values[i] : limits->f64[1];
        }
    }
}
