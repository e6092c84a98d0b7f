#include "stats_add.h"

#include <math.h>
#include <string.h>

/* Below 1 / 2^100 of the greatest double 2^100 numbers may be added up. */
static const double SCALE = 0x1p-100;

static void scale_down(npyx_sum *sum) {
    if (sum->is_scaled)
        return;
    sum->high *= SCALE;
    sum->low *= SCALE;
    sum->is_scaled = true;
}

/* Adds what is scaled as the sum is. */
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

void npyx_stats_merge_moments(npyx_stats *stats, double n, const npyx_moments *next, double base_difference) {
    if (n == 0) {
        stats->mean = next->mean;
        stats->mean_low = next->mean_low;
        stats->m2 = next->m2;
        return;
    }
    double total = n + next->n;
    double delta = base_difference + ((next->mean - stats->mean) + (next->mean_low - stats->mean_low));
    double shift = stats->mean_low + delta * (next->n / total);
    double mean = stats->mean + shift;
    stats->mean_low = (stats->mean - mean) + shift;
    stats->mean = mean;
    stats->m2 += next->m2 + delta * delta * (n * (next->n / total));
}

void npyx_stats_set_extreme(npyx_stats *stats, int k, const uint8_t *item, int64_t position) {
    npyx_extreme *extreme = &stats->extremes[k];
    extreme->position = position;
    memcpy(extreme->own_item != NULL ? extreme->own_item : extreme->small_item, item,
           (size_t)stats->dtype->itemsize);
}
