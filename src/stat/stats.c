#include "stats.h"

#include "item/convert.h"
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

static void chunk_take(stats_chunk *chunk) {
    npyx_type type = chunk->dtype->type;
    chunk->taken = chunk->items;
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

static void note_extremes(npyx_stats *stats, const npyx_chunk_sums *sums, stats_chunk *chunk) {
    for (int k = NPYX_LEAST; k <= NPYX_GREATEST; k++) {
        double value = k == NPYX_LEAST ? sums->least : sums->greatest;
        if (!npyx_stats_is_beyond(stats, k, 0, value))
            continue;
        const uint8_t *reals = chunk_reals(chunk);
        int64_t i = 0; /* the first place of the value in the chunk */
        while (real_at(reals, i) != value)
            i++;
        npyx_stats_set_extreme(stats, k, 0, value, chunk->items + i * stats->dtype->itemsize,
                               stats->nseen + i);
    }
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
    npyx_stats_merge_moments(stats, &moments, 0);
}

static void add_sums(npyx_stats *stats, const npyx_chunk_sums *sums, stats_chunk *chunk) {
    if (stats->form == NPYX_STATS_INTEGER) { /* at most 1024 numbers below 2^32: exact */
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

static void add_reals(npyx_stats *stats, const uint8_t *items, int64_t nelem) {
    double loaded[NPYX_STATS_NELEM_MOST];
    stats_chunk chunk = {.dtype = stats->dtype, .items = items, .nelem = nelem, .loaded = loaded};
    chunk_take(&chunk);
    npyx_chunk_sums sums;
    chunk.kernels->sums(chunk.taken, chunk.ntaken, &sums);
    int64_t nnulls = sums.nnan - (chunk.ntaken - nelem);
    if (nnulls < nelem)
        note_extremes(stats, &sums, &chunk);
    if (sums.nfinite > 0) {
        add_moments(stats, &sums, &chunk);
        add_sums(stats, &sums, &chunk);
    }
    if (sums.nfinite + nnulls < nelem)
        count_infs(stats, &chunk);
    stats->nulls += nnulls;
    stats->count += nelem - nnulls;
    stats->zeros += sums.nzero;
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

static void add_chunk(npyx_stats *stats, const uint8_t *items, int64_t nelem) {
    switch (stats->form) {
    case NPYX_STATS_REAL:
    case NPYX_STATS_INTEGER: add_reals(stats, items, nelem); break;
    case NPYX_STATS_WIDE: npyx_stats_add_wide(stats, items, nelem); break;
    case NPYX_STATS_COMPLEX: npyx_stats_add_complex(stats, items, nelem); break;
    case NPYX_STATS_ORDER: npyx_stats_add_texts(stats, items, nelem); break;
    case NPYX_STATS_COUNT: stats_count_items(stats, items, nelem); break;
    }
    stats->nseen += nelem;
}

void npyx_stats_add(npyx_stats *stats, const uint8_t *items, int64_t nelem) {
    if (stats->dtype->itemsize == 0 && nelem > 1) { /* they all equal the first, however many are claimed */
        add_chunk(stats, items, 1);
        stats->count += nelem - 1;
        stats->nseen += nelem - 1;
        return;
    }
    while (nelem > 0) {
        int64_t chunk_nelem = nelem < NPYX_STATS_NELEM ? nelem : NPYX_STATS_NELEM;
        add_chunk(stats, items, chunk_nelem);
        items += chunk_nelem * stats->dtype->itemsize;
        nelem -= chunk_nelem;
    }
}

static void merge_extremes(npyx_stats *stats, const npyx_stats *next) {
    for (int k = NPYX_LEAST; k <= NPYX_GREATEST; k++) {
        const npyx_extreme *from = &next->extremes[k];
        if (from->position >= 0 && npyx_stats_is_beyond(stats, k, from->key, from->real))
            npyx_stats_set_extreme(stats, k, from->key, from->real, npyx_extreme_item(from),
                                   stats->nseen + from->position);
    }
}

void npyx_stats_merge(npyx_stats *stats, const npyx_stats *next) {
    merge_extremes(stats, next);
    if (stats->moments.n == 0)
        stats->base = next->base;
    if (next->moments.n > 0)
        npyx_stats_merge_moments(stats, &next->moments,
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
    return npyx_sum_quotient(stats->sum, n);
}

double npyx_stats_imaginary_mean(const npyx_stats *stats) {
    return stats->count == 0 ? NAN : npyx_sum_quotient(stats->imaginary_sum, (double)stats->count);
}

int64_t npyx_stats_nearest_mean(const npyx_stats *stats) {
    return npyx_wide_nearest_quotient(stats->wide_sum, (uint64_t)stats->count);
}

double npyx_stats_m2(const npyx_stats *stats) {
    if (stats->count == 0 || npyx_stats_infs(stats) > 0)
        return NAN;
    return isnan(stats->moments.m2) ? INFINITY : stats->moments.m2; /* finite numbers with huge squares */
}
