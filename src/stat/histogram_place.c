/* The inner loops over items: a chunk is loaded, its bins are found, and these are counted. */
#include "histogram.h"

#include "item/convert.h"

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
