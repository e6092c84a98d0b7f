/*
 * Compensated sums, moments and extremes, and the items that are not reals: integers of 64 bits, complex
 * numbers and texts.
 */
#include "stats.h"

#include "item/element.h"

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

double npyx_sum_quotient(npyx_sum sum, double n) {
    double q = sum.high / n;
    if (isfinite(q))
        q += (fma(-q, n, sum.high) + sum.low) / n;
    return scaled_up(sum, q);
}

void npyx_stats_merge_moments(npyx_stats *stats, const npyx_moments *next, double base_difference) {
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

bool npyx_stats_is_beyond(const npyx_stats *stats, int k, uint64_t key, double real) {
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
    npyx_stats_merge_moments(stats, &chunk, npyx_wide_to_f64(npyx_wide_subtract(base, stats->base)));
    if (fabs(stats->moments.mean) < 0x1p62) { /* the rest of the mean is small, and so exact */
        double whole = floor(stats->moments.mean);
        stats->base = npyx_wide_add(stats->base, npyx_wide_of_i64((int64_t)whole));
        stats->moments.mean -= whole;
    }
}

void npyx_stats_add_wide(npyx_stats *stats, const uint8_t *items, int64_t nelem) {
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
        if (npyx_stats_is_beyond(stats, k, bounds[k], 0))
            npyx_stats_set_extreme(stats, k, bounds[k], 0, items + places[k] * 8, stats->nseen + places[k]);
    }
    if (n > 0 && !stats->skips_moments)
        add_wide_moments(stats, keys, n, bounds[NPYX_LEAST], total);
    stats->wide_sum = npyx_wide_add(stats->wide_sum, wide_of_keys(total, n, dtype));
    stats->count += n;
    stats->nulls += nelem - n;
}

/* ---- items that are not real numbers ---- */

void npyx_stats_add_complex(npyx_stats *stats, const uint8_t *items, int64_t nelem) {
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

void npyx_stats_add_texts(npyx_stats *stats, const uint8_t *items, int64_t nelem) {
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
