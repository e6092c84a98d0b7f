/*
 * Bounds of floats of one width. Included for each by filter_kernels_template.h, with FILTER_KIND,
 * FILTER_ITEM, FILTER_LANE (an integer as wide), and FILTER_LEAST_FROM and FILTER_GREATEST_TO, which convert
 * the filter's doubles to bounds; all are undefined again at the end.
 */
typedef struct FILTER(bounds) {
    FILTER_ITEM low, high;
} FILTER(bounds);

#define FILTER_LOOP(word)            FILTER(is_nan_##word)
#define FILTER_PASSES(hits, lane, x) ((void)bounds, (hits)NPYX_ARE_NAN(x))
#include "filter_loop_template.h"

#define FILTER_LOOP(word)            FILTER(within_##word)
#define FILTER_PASSES(hits, lane, x) ((hits)((x) >= bounds.low) & (hits)((x) <= bounds.high))
#include "filter_loop_template.h"

#define FILTER_LOOP(word)            FILTER(outside_##word)
#define FILTER_PASSES(hits, lane, x) ((hits)((x) < bounds.low) | (hits)((x) > bounds.high))
#include "filter_loop_template.h"

FILTER_TARGET static void FILTER(kernel)(const npyx_filter *filter, const uint8_t *items, int64_t nwords,
                                         uint64_t *bitmap) {
    FILTER(bounds) bounds = {FILTER_LEAST_FROM(filter->low), FILTER_GREATEST_TO(filter->high)};
    if (filter->wants_null)
        FILTER(is_nan_run)(bounds, items, nwords, bitmap);
    else if (filter->is_negated)
        FILTER(outside_run)(bounds, items, nwords, bitmap);
    else
        FILTER(within_run)(bounds, items, nwords, bitmap);
}

#undef FILTER_KIND
#undef FILTER_ITEM
#undef FILTER_LANE
#undef FILTER_LEAST_FROM
#undef FILTER_GREATEST_TO
