#include "stats.h"

#include "item/convert.h"
#include "item/element.h"
#include "item/object.h"

npyx_stats_form npyx_stats_form_of(const npyx_dtype *dtype) {
    npyx_type type = dtype->type;
    if (type == NPYX_I8 || type == NPYX_U8 || npyx_type_is_date(type))
        return NPYX_STATS_WIDE;
    if (type == NPYX_BYTES || type == NPYX_TEXT)
        return NPYX_STATS_ORDER;
    return type < NPYX_U8           ? NPYX_STATS_INTEGER
           : type <= NPYX_LAST_REAL ? NPYX_STATS_REAL
           : type <= NPYX_C32       ? NPYX_STATS_COMPLEX
                                    : NPYX_STATS_COUNT;
}

void npyx_stats_init(npyx_stats *stats, const npyx_dtype *dtype, uint8_t *extremes) {
    *stats = (npyx_stats){.dtype = dtype,
                          .form = npyx_stats_form_of(dtype),
                          .extremes = {{.position = -1, .own_item = extremes}, {.position = -1}}};
    if (extremes != NULL)
        stats->extremes[NPYX_GREATEST].own_item = extremes + dtype->itemsize;
}

/* ---- the kernels ---- */

/*
 * Four accumulators of each kind hide the latency of additions. Every few rounds they are added up with
 * compensation (Knuth's two-sum), so that at most 16 numbers per lane are summed plainly: NumPy's pairwise
 * summation has as many, and roundings of partial sums on top. Comparisons with NaN are false, so that a NaN
 * is neither less nor greater, and neither finite nor zero. Whatever an item's type, the doubles of a chunk
 * take the same way, so that a type that is widened first has the same results.
 */

enum { NVECTORS = 4, NROUNDS = 16 };

static inline void stats_two_sum(double *high, double *low, double x) {
    double sum = *high + x, part = sum - *high;
    *low += (*high - (sum - part)) + (x - part);
    *high = sum;
}

#define KERNELS         stats
#define KERNEL_TEMPLATE "stat/stats_kernels_template.h"
#define KERNELS_HAVE_F16
#include "base/simd_kernels_template.h"

_Static_assert(NPYX_CHUNK_UNIT % (NPYX_AVX512_NBYTES / 8 * NVECTORS) == 0, "chunks are of whole rounds");

#ifdef NPYX_AVX2_GREATER
/* Any processor with AVX-512 widens halves. clang 14 cannot ask for it below that: there halves go the way of
 * all other types. */
static const npyx_stats_kernels *stats_halves(npyx_simd simd) {
#ifdef __clang__
    bool has_f16c = false;
#else
    bool has_f16c = __builtin_cpu_supports("f16c");
#endif
    return NPYX_BY_SIMD(simd, NULL, has_f16c ? &stats_f16_avx2_kernels : NULL, &stats_f16_avx512_kernels);
}
#else
#define stats_halves(simd) NULL
#endif

const npyx_stats_kernels *npyx_stats_kernels_of(npyx_type type, npyx_simd simd) {
    switch (type) {
    case NPYX_F2: return stats_halves(simd);
    case NPYX_F4: return NPYX_KERNELS(simd, stats, f32, kernels);
    case NPYX_F8: return NPYX_KERNELS(simd, stats, f64, kernels);
    default: return NULL;
    }
}

/* ---- compensated sums, moments and extremes ---- */

/* Below 1 / 2^100 of the greatest double, 2^100 numbers can be added up. */
static const double SCALE = 0x1p-100;

static void scale_down(npyx_sum *sum) {
    if (sum->is_scaled)
        return;
    sum->high *= SCALE;
    sum->low *= SCALE;
    sum->is_scaled = true;
}

/* Adds a number on the scale of the sum. */
static void add_as_it_is(npyx_sum *sum, double x) {
    double total = sum->high + x;
    sum->low += fabs(sum->high) >= fabs(x) ? (sum->high - total) + x : (x - total) + sum->high;
    sum->high = total;
}

void npyx_sum_add(npyx_sum *sum, double x) {
    bool overflows = !isfinite(sum->high + x) && isfinite(sum->high) && isfinite(x);
    if (overflows && !sum->is_scaled)
        scale_down(sum);
    add_as_it_is(sum, sum->is_scaled ? x * SCALE : x);
}

void npyx_sum_merge(npyx_sum *sum, npyx_sum next) {
    if (next.is_scaled) {
        scale_down(sum);
        add_as_it_is(sum, next.high);
        sum->low += next.low;
        return;
    }
    npyx_sum_add(sum, next.high);
    sum->low += sum->is_scaled ? next.low * SCALE : next.low;
}

static double scaled_up(npyx_sum sum, double x) {
    return sum.is_scaled ? x / SCALE : x;
}

double npyx_sum_value(npyx_sum sum) {
    return scaled_up(sum, isfinite(sum.high) ? sum.high + sum.low : sum.high);
}

/* sum / n, rounded about once; finite even if the sum is not. */
static double stats_quotient(npyx_sum sum, double n) {
    double q = sum.high / n;
    if (isfinite(q))
        q += (fma(-q, n, sum.high) + sum.low) / n;
    return scaled_up(sum, q);
}

/* Adds moments to those of stats; base_difference: their base less that of stats. Chan, Golub and LeVeque,
 * Updating Formulae and a Pairwise Algorithm for Computing Sample Variances (1979). */
static void stats_merge_moments(npyx_stats *stats, const npyx_moments *next, double base_difference) {
    const npyx_moments own = stats->moments;
    if (own.n == 0) {
        stats->moments = *next;
        return;
    }
    double total = own.n + next->n;
    double delta = base_difference + ((next->mean - own.mean) + (next->mean_low - own.mean_low));
    double shift = own.mean_low + delta * (next->n / total);
    double mean = own.mean + shift, m2 = next->m2 + delta * delta * (own.n * (next->n / total));
    stats->moments = (npyx_moments){total, mean, (own.mean - mean) + shift, own.m2 + m2};
}

/* Whether an item with that key, or that real, replaces the least or the greatest one: the other is 0 in
 * both. */
static bool stats_is_beyond(const npyx_stats *stats, int k, uint64_t key, double real) {
    const npyx_extreme *extreme = &stats->extremes[k];
    bool is_less = key < extreme->key || real < extreme->real;
    bool is_greater = key > extreme->key || real > extreme->real;
    return extreme->position < 0 || (k == NPYX_LEAST ? is_less : is_greater);
}

void npyx_stats_set_extreme(npyx_stats *stats, int k, uint64_t key, double real, const uint8_t *item,
                            int64_t position) {
    npyx_extreme *extreme = &stats->extremes[k];
    extreme->key = key;
    extreme->real = real;
    extreme->position = position;
    memcpy(extreme->own_item != NULL ? extreme->own_item : extreme->small_item, item,
           (size_t)stats->dtype->itemsize);
}

/* ---- integers of 64 bits ---- */

/* The offset that, added to an item modulo 2^64, makes an unsigned key in the order of the items. */
static uint64_t key_offset(const npyx_dtype *dtype) {
    return dtype->type == NPYX_U8 ? 0 : (uint64_t)1 << 63;
}

/* Converts the sum of n keys to the sum of their items. */
static npyx_wide wide_of_keys(npyx_wide keys, int64_t n, const npyx_dtype *dtype) {
    if (key_offset(dtype) == 0)
        return keys;
    npyx_wide offsets = {(uint64_t)n << 63, (uint64_t)n >> 1};
    return npyx_wide_subtract(keys, offsets);
}

/* Adds the moments of n keys, the least of which is least: deviations from it are exact. */
static void add_wide_moments(npyx_stats *stats, const uint64_t *keys, int64_t n, uint64_t least,
                             npyx_wide total) {
    npyx_wide leasts = npyx_wide_multiply(least, (uint64_t)n);
    double mean = npyx_wide_to_f64(npyx_wide_subtract(total, leasts)) / (double)n;
    npyx_sum sum_of_squares = {0};
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = (double)(keys[i] - least) - mean;
        sum += d;
        npyx_sum_add(&sum_of_squares, d * d);
    }
    double squares = npyx_sum_value(sum_of_squares);
    double m2 = squares - sum * (sum / (double)n);
    npyx_moments chunk = {.n = (double)n, .mean = mean, .mean_low = sum / (double)n, .m2 = m2 > 0 ? m2 : 0};
    npyx_wide base = wide_of_keys(npyx_wide_of_u64(least), 1, stats->dtype);
    if (stats->count == 0)
        stats->base = base;
    stats_merge_moments(stats, &chunk, npyx_wide_to_f64(npyx_wide_subtract(base, stats->base)));
    if (fabs(stats->moments.mean) < 0x1p62) { /* the rest of the mean is small, and so exact */
        double whole = floor(stats->moments.mean);
        stats->base = npyx_wide_add(stats->base, npyx_wide_of_i64((int64_t)whole));
        stats->moments.mean -= whole;
    }
}

static void stats_add_wide(npyx_stats *stats, const uint8_t *items, int64_t nelem) {
    const npyx_dtype *dtype = stats->dtype;
    const uint64_t offset = key_offset(dtype);
    bool is_date = npyx_type_is_date(dtype->type);
    uint64_t keys[NPYX_STATS_NELEM_MOST], bounds[2] = {UINT64_MAX, 0};
    int64_t places[2] = {0, 0}; /* of the least and the greatest key */
    npyx_wide total = {0};
    int64_t n = 0;
    for (int64_t i = 0; i < nelem; i++) {
        uint64_t key = npyx_load_u64(items + i * 8, dtype->is_big_endian) + offset;
        if (is_date && key == 0) /* NaT */
            continue;
        for (int k = NPYX_LEAST; k <= NPYX_GREATEST; k++) {
            if (n == 0 || (k == NPYX_LEAST ? key < bounds[k] : key > bounds[k])) {
                bounds[k] = key;
                places[k] = i;
            }
        }
        total = npyx_wide_add(total, npyx_wide_of_u64(key));
        stats->zeros += key == offset;
        keys[n++] = key;
    }
    for (int k = NPYX_LEAST; k <= NPYX_GREATEST && n > 0; k++) {
        if (stats_is_beyond(stats, k, bounds[k], 0))
            npyx_stats_set_extreme(stats, k, bounds[k], 0, items + places[k] * 8, stats->nseen + places[k]);
    }
    if (n > 0 && !stats->skips_moments)
        add_wide_moments(stats, keys, n, bounds[NPYX_LEAST], total);
    stats->wide_sum = npyx_wide_add(stats->wide_sum, wide_of_keys(total, n, dtype));
    stats->count += n;
    stats->nulls += nelem - n;
}

/* ---- items that are not real numbers ---- */

static void stats_add_complex_items(npyx_stats *stats, const uint8_t *items, int64_t nelem) {
    for (int64_t i = 0; i < nelem; i++, items += stats->dtype->itemsize) {
        double re = 0, im = 0;
        npyx_element_complex_part(stats->dtype, items, false, &re);
        npyx_element_complex_part(stats->dtype, items, true, &im);
        if (isnan(re) || isnan(im)) {
            stats->nulls++;
            continue;
        }
        stats->count++;
        stats->zeros += re == 0 && im == 0;
        stats->npositive_infs += isinf(re) || isinf(im);
        npyx_sum_add(&stats->sum, re);
        npyx_sum_add(&stats->imaginary_sum, im);
    }
}

/* The sums of each part. Few items, and any that are not finite or have no such sum, are added one by one. */
static void stats_add_complex(npyx_stats *stats, const uint8_t *items, int64_t nelem) {
    const npyx_dtype *dtype = stats->dtype;
    const int64_t npadded = (nelem + NPYX_CHUNK_UNIT - 1) / NPYX_CHUNK_UNIT * NPYX_CHUNK_UNIT;
    double parts[2][NPYX_STATS_NELEM_MOST];
    npyx_chunk_sums sums[2];
    if (nelem < NPYX_CHUNK_UNIT) {
        stats_add_complex_items(stats, items, nelem);
        return;
    }
    for (int k = 0; k < 2; k++) {
        npyx_block_reals(npyx_type_part(dtype->type), dtype->is_big_endian, items + k * (dtype->itemsize / 2),
                         (size_t)dtype->itemsize, (size_t)nelem, parts[k]);
        for (int64_t i = nelem; i < npadded; i++)
            parts[k][i] = NAN;
        npyx_stats_kernels_of(NPYX_F8, npyx_simd_here())->sums((const uint8_t *)parts[k], npadded, &sums[k]);
        if (sums[k].nfinite < nelem || !isfinite(sums[k].sum)) {
            stats_add_complex_items(stats, items, nelem);
            return;
        }
    }
    stats->count += nelem;
    for (int64_t i = 0; i < nelem && sums[0].nzero > 0 && sums[1].nzero > 0; i++)
        stats->zeros += parts[0][i] == 0 && parts[1][i] == 0;
    npyx_sum_merge(&stats->sum, (npyx_sum){.high = sums[0].sum, .low = sums[0].lost});
    npyx_sum_merge(&stats->imaginary_sum, (npyx_sum){.high = sums[1].sum, .low = sums[1].lost});
}

/* Compares bytes, or code points: trailing NULs sort first either way. */
static int compare_texts(const npyx_dtype *dtype, const uint8_t *a, const uint8_t *b) {
    if (dtype->type == NPYX_BYTES)
        return memcmp(a, b, (size_t)dtype->itemsize);
    for (int64_t off = 0; off < dtype->itemsize; off += 4) {
        uint32_t x = npyx_load_u32(a + off, dtype->is_big_endian);
        uint32_t y = npyx_load_u32(b + off, dtype->is_big_endian);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

static void stats_add_texts(npyx_stats *stats, const uint8_t *items, int64_t nelem) {
    for (int64_t i = 0; i < nelem; i++, items += stats->dtype->itemsize) {
        for (int k = NPYX_LEAST; k <= NPYX_GREATEST; k++) {
            const npyx_extreme *extreme = &stats->extremes[k];
            int sign = k == NPYX_LEAST ? 1 : -1;
            if (extreme->position < 0 ||
                sign * compare_texts(stats->dtype, items, npyx_extreme_item(extreme)) < 0)
                npyx_stats_set_extreme(stats, k, 0, 0, items, stats->nseen + i);
        }
    }
    stats->count += nelem;
}

/* ---- reals, and integers that doubles hold ---- */

/* Items of a chunk, in the kernels' form: as they are, or as doubles padded with NaN. */
typedef struct stats_chunk {
    const npyx_dtype *dtype;
    const uint8_t *items;
    int64_t nelem;
    const npyx_stats_kernels *kernels;
    const uint8_t *taken;
    int64_t ntaken;
    const uint8_t *reals; /* doubles; NULL: not needed yet */
    double *loaded;       /* room for them */
} stats_chunk;

static const uint8_t *chunk_reals(stats_chunk *chunk) {
    if (chunk->reals == NULL)
        npyx_block_reals(chunk->dtype->type, chunk->dtype->is_big_endian, chunk->items,
                         (size_t)chunk->dtype->itemsize, (size_t)chunk->nelem, chunk->loaded);
    return chunk->reals = chunk->reals != NULL ? chunk->reals : (const uint8_t *)chunk->loaded;
}

/* Takes the next chunk of nelem items. */
static void chunk_take(stats_chunk *chunk, const uint8_t *items, int64_t nelem) {
    npyx_type type = chunk->dtype->type;
    chunk->items = chunk->taken = items;
    chunk->nelem = nelem < NPYX_STATS_NELEM ? nelem : NPYX_STATS_NELEM;
    chunk->ntaken = (chunk->nelem + NPYX_CHUNK_UNIT - 1) / NPYX_CHUNK_UNIT * NPYX_CHUNK_UNIT;
    chunk->kernels = npyx_stats_kernels_of(type, npyx_simd_here());
    bool is_direct = npyx_dtype_is_native(chunk->dtype) && chunk->ntaken == chunk->nelem;
    chunk->reals = is_direct && type == NPYX_F8 ? chunk->items : NULL;
    if (is_direct && chunk->kernels != NULL)
        return;
    chunk->kernels = npyx_stats_kernels_of(NPYX_F8, npyx_simd_here());
    chunk->taken = chunk_reals(chunk);
    for (int64_t i = chunk->nelem; i < chunk->ntaken; i++)
        chunk->loaded[i] = NAN;
}

static double real_at(const uint8_t *reals, int64_t i) {
    return npyx_load_f64(reals + i * 8, NPYX_HOST_IS_BIG_ENDIAN);
}

/* The first place of a value that is among the reals, whose number is a multiple of NPYX_CHUNK_UNIT. */
static int64_t place_of(const uint8_t *reals, double value) {
    enum { NPAIRS = 4 };
    typedef int64_t pair_mask __attribute__((vector_size(16)));
    const npyx_pair values = {value, value};
    pair_mask are_equal = {0};
    int64_t i = 0;
    for (; (are_equal[0] | are_equal[1]) == 0; i += 2 * NPAIRS) {
        npyx_pair pairs[NPAIRS];
        memcpy(pairs, reals + i * 8, sizeof pairs);
        are_equal = (pair_mask)(pairs[0] == values) | (pair_mask)(pairs[1] == values) |
                    (pair_mask)(pairs[2] == values) | (pair_mask)(pairs[3] == values);
    }
    for (i -= 2 * NPAIRS; real_at(reals, i) != value; i++) {
    }
    return i;
}

/* Notes only the chunk's place: another extreme often follows. */
static void note_extremes(npyx_stats *stats, const npyx_chunk_sums *sums, int64_t place) {
    for (int k = NPYX_LEAST; k <= NPYX_GREATEST; k++) {
        const double value = k == NPYX_LEAST ? sums->least : sums->greatest;
        if (stats_is_beyond(stats, k, 0, value)) {
            stats->extremes[k].real = value;
            stats->extremes[k].position = place;
        }
    }
}

/* Finds an extreme in the chunk that was noted. */
static void place_extreme(npyx_stats *stats, int k, stats_chunk *chunk) {
    const double value = stats->extremes[k].real;
    const int64_t i = place_of(chunk_reals(chunk), value);
    npyx_stats_set_extreme(stats, k, 0, value, chunk->items + i * stats->dtype->itemsize,
                           stats->extremes[k].position + i);
}

/* The mean of finite numbers whose sum may be too large. */
static double chunk_mean(const npyx_chunk_sums *sums, stats_chunk *chunk) {
    double n = (double)sums->nfinite;
    if (isfinite(sums->sum))
        return sums->sum / n;
    double scaled = 0;
    for (int64_t i = 0; i < chunk->nelem; i++) {
        double x = real_at(chunk_reals(chunk), i);
        scaled += isfinite(x) ? x / NPYX_STATS_NELEM : 0;
    }
    return scaled / n * NPYX_STATS_NELEM;
}

static void add_moments(npyx_stats *stats, const npyx_chunk_sums *sums, stats_chunk *chunk) {
    double n = (double)sums->nfinite;
    if (stats->skips_moments)
        return;
    double mean = chunk_mean(sums, chunk);
    npyx_chunk_deviations deviations;
    chunk->kernels->deviations(chunk->taken, chunk->ntaken, sums->nfinite, mean, &deviations);
    if (!isfinite(deviations.sum)) /* near the greatest double */
        deviations.sum = 0;
    double m2 = deviations.sum_of_squares - deviations.sum * (deviations.sum / n);
    npyx_moments moments = {
        .n = n, .mean = mean, .mean_low = deviations.sum / n, .m2 = m2 > 0 || isnan(m2) ? m2 : 0};
    stats_merge_moments(stats, &moments, 0);
}

static void add_sums(npyx_stats *stats, const npyx_chunk_sums *sums, stats_chunk *chunk) {
    if (stats->form == NPYX_STATS_INTEGER) { /* at most NPYX_STATS_NELEM numbers below 2^32: exact */
        stats->wide_sum = npyx_wide_add(stats->wide_sum, npyx_wide_of_i64((int64_t)sums->sum));
        return;
    }
    if (isfinite(sums->sum)) {
        npyx_sum_merge(&stats->sum, (npyx_sum){.high = sums->sum, .low = sums->lost});
        return;
    }
    for (int64_t i = 0; i < chunk->nelem; i++) { /* what exceeds the range of doubles may return to it */
        double x = real_at(chunk_reals(chunk), i);
        npyx_sum_add(&stats->sum, isfinite(x) ? x : 0);
    }
}

static void count_infs(npyx_stats *stats, stats_chunk *chunk) {
    const uint8_t *reals = chunk_reals(chunk);
    for (int64_t i = 0; i < chunk->nelem; i++) {
        double x = real_at(reals, i);
        stats->npositive_infs += isinf(x) && x > 0;
        stats->nnegative_infs += isinf(x) && x < 0;
    }
}

/* Adds a chunk, before which there were so many items; extremes are only noted. */
static void add_chunk_of_reals(npyx_stats *stats, stats_chunk *chunk, int64_t place) {
    const int64_t nelem = chunk->nelem;
    npyx_chunk_sums sums;
    chunk->kernels->sums(chunk->taken, chunk->ntaken, &sums);
    int64_t nnulls = sums.nnan - (chunk->ntaken - nelem);
    if (nnulls < nelem)
        note_extremes(stats, &sums, place);
    if (sums.nfinite > 0) {
        add_moments(stats, &sums, chunk);
        add_sums(stats, &sums, chunk);
    }
    if (sums.nfinite + nnulls < nelem)
        count_infs(stats, chunk);
    stats->nulls += nnulls;
    stats->count += nelem - nnulls;
    stats->zeros += sums.nzero;
}

static void add_reals(npyx_stats *stats, const uint8_t *items, int64_t nelem) {
    const int64_t itemsize = stats->dtype->itemsize;
    double loaded[NPYX_STATS_NELEM_MOST];
    stats_chunk chunk = {.dtype = stats->dtype, .loaded = loaded};
    for (int64_t i = 0; i < nelem; i += chunk.nelem) {
        chunk_take(&chunk, items + i * itemsize, nelem - i);
        add_chunk_of_reals(stats, &chunk, stats->nseen + i);
    }
    for (int k = NPYX_LEAST; k <= NPYX_GREATEST; k++) {
        const int64_t start = stats->extremes[k].position - stats->nseen;
        if (start < 0)
            continue;
        if (chunk.items != items + start * itemsize)
            chunk_take(&chunk, items + start * itemsize, nelem - start);
        place_extreme(stats, k, &chunk);
    }
}

/* ---- all of them ---- */

/* None and NaN are null objects. */
static void stats_count_items(npyx_stats *stats, const uint8_t *items, int64_t nelem) {
    int64_t nnulls = 0;
    for (int64_t i = 0; stats->dtype->type == NPYX_HELD_OBJECT && i < nelem; i++)
        nnulls += npyx_object_is_null(npyx_object_of_item(items + i * stats->dtype->itemsize));
    stats->nulls += nnulls;
    stats->count += nelem - nnulls;
}

static void add_side_by_side(npyx_stats *stats, const uint8_t *items, int64_t nelem) {
    switch (stats->form) {
    case NPYX_STATS_REAL:
    case NPYX_STATS_INTEGER: add_reals(stats, items, nelem); break;
    case NPYX_STATS_WIDE: stats_add_wide(stats, items, nelem); break;
    case NPYX_STATS_COMPLEX: stats_add_complex(stats, items, nelem); break;
    case NPYX_STATS_ORDER: stats_add_texts(stats, items, nelem); break;
    case NPYX_STATS_COUNT: stats_count_items(stats, items, nelem); break;
    }
    stats->nseen += nelem;
}

void npyx_stats_add(npyx_stats *stats, const uint8_t *items, int64_t nelem) {
    const int64_t itemsize = stats->dtype->itemsize;
    const bool are_reals = stats->form == NPYX_STATS_REAL || stats->form == NPYX_STATS_INTEGER;
    const int64_t most = are_reals ? nelem : NPYX_STATS_NELEM; /* add_reals makes chunks itself */
    if (itemsize == 0 && nelem > 1) { /* they all equal the first, however many are claimed */
        add_side_by_side(stats, items, 1);
        stats->count += nelem - 1;
        stats->nseen += nelem - 1;
        return;
    }
    for (int64_t i = 0, n; i < nelem; i += n) {
        n = nelem - i < most ? nelem - i : most;
        add_side_by_side(stats, items + i * itemsize, n);
    }
}

static void merge_extremes(npyx_stats *stats, const npyx_stats *next) {
    for (int k = NPYX_LEAST; k <= NPYX_GREATEST; k++) {
        const npyx_extreme *from = &next->extremes[k];
        if (from->position >= 0 && stats_is_beyond(stats, k, from->key, from->real))
            npyx_stats_set_extreme(stats, k, from->key, from->real, npyx_extreme_item(from),
                                   stats->nseen + from->position);
    }
}

void npyx_stats_merge(npyx_stats *stats, const npyx_stats *next) {
    merge_extremes(stats, next);
    if (stats->moments.n == 0)
        stats->base = next->base;
    if (next->moments.n > 0)
        stats_merge_moments(stats, &next->moments,
                            npyx_wide_to_f64(npyx_wide_subtract(next->base, stats->base)));
    npyx_sum_merge(&stats->sum, next->sum);
    npyx_sum_merge(&stats->imaginary_sum, next->imaginary_sum);
    stats->wide_sum = npyx_wide_add(stats->wide_sum, next->wide_sum);
    stats->nseen += next->nseen;
    stats->count += next->count;
    stats->nulls += next->nulls;
    stats->zeros += next->zeros;
    stats->npositive_infs += next->npositive_infs;
    stats->nnegative_infs += next->nnegative_infs;
}

/* ---- results ---- */

double npyx_stats_sum(const npyx_stats *stats) {
    if (stats->form == NPYX_STATS_REAL && npyx_stats_infs(stats) > 0)
        return stats->npositive_infs == 0 ? -INFINITY : stats->nnegative_infs == 0 ? INFINITY : NAN;
    return npyx_sum_value(stats->sum);
}

double npyx_stats_imaginary_sum(const npyx_stats *stats) {
    return npyx_sum_value(stats->imaginary_sum);
}

double npyx_stats_mean(const npyx_stats *stats) {
    double n = (double)stats->count;
    if (stats->count == 0)
        return NAN;
    if (stats->form == NPYX_STATS_INTEGER || stats->form == NPYX_STATS_WIDE)
        return npyx_wide_to_f64(stats->wide_sum) / n;
    if (stats->form == NPYX_STATS_REAL && npyx_stats_infs(stats) > 0)
        return npyx_stats_sum(stats);
    return stats_quotient(stats->sum, n);
}

double npyx_stats_imaginary_mean(const npyx_stats *stats) {
    return stats->count == 0 ? NAN : stats_quotient(stats->imaginary_sum, (double)stats->count);
}

int64_t npyx_stats_nearest_mean(const npyx_stats *stats) {
    return npyx_wide_nearest_quotient(stats->wide_sum, (uint64_t)stats->count);
}

double npyx_stats_m2(const npyx_stats *stats) {
    if (stats->count == 0 || npyx_stats_infs(stats) > 0)
        return NAN;
    return isnan(stats->moments.m2) ? INFINITY : stats->moments.m2; /* finite numbers with huge squares */
}
