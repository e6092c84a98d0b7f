#include "stats_add.h"

#include <math.h>
#include <string.h>

void npyx_sum_add(npyx_sum *sum, double x) {
    double total = sum->high + x;
    sum->low += fabs(sum->high) >= fabs(x) ? (sum->high - total) + x : (x - total) + sum->high;
    sum->high = total;
}

double npyx_sum_value(npyx_sum sum) {
    return isfinite(sum.high) ? sum.high + sum.low : sum.high;
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

static void set_extreme(uint8_t *own, uint8_t *given, const uint8_t *item, int64_t itemsize) {
    memcpy(given != NULL ? given : own, item, (size_t)itemsize);
}

void npyx_stats_set_min(npyx_stats *stats, const uint8_t *item, int64_t position) {
    stats->argmin = position;
    set_extreme(stats->small_items[0], stats->min_item, item, stats->dtype->itemsize);
}

void npyx_stats_set_max(npyx_stats *stats, const uint8_t *item, int64_t position) {
    stats->argmax = position;
    set_extreme(stats->small_items[1], stats->max_item, item, stats->dtype->itemsize);
}
