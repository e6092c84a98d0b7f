/*
 * Ranges of patterns of one width. Included for each by filter_kernels_template.h, with FILTER_KIND,
 * FILTER_ITEM and FILTER_LANE, its signed counterpart, which are undefined again at the end.
 *
 * A range of patterns takes one subtraction and one signed comparison, whether the items are signed or not:
 * with u = x - low (modulo 2^n), x is in the range if u <= high - low as unsigned numbers, that is, if both
 * compare so as signed ones with their highest bits flipped. The flip of u is part of `base`.
 */

/* clang-format off */
#define IN_RANGE(hits, lane, x, r) ((hits)((lane)((x)-bounds.base[r]) <= bounds.limit[r]))
/* clang-format on */

typedef struct FILTER(bounds) {
    FILTER_ITEM base[3];
    FILTER_LANE limit[3];
} FILTER(bounds);

#define FILTER_LOOP(word)            FILTER(one_range_##word)
#define FILTER_PASSES(hits, lane, x) IN_RANGE(hits, lane, x, 0)
#include "filter_loop_template.h"

#define FILTER_LOOP(word)            FILTER(two_ranges_##word)
#define FILTER_PASSES(hits, lane, x) (IN_RANGE(hits, lane, x, 0) | IN_RANGE(hits, lane, x, 1))
#include "filter_loop_template.h"

#define FILTER_LOOP(word) FILTER(three_ranges_##word)
#define FILTER_PASSES(hits, lane, x)                                                                         \
    (IN_RANGE(hits, lane, x, 0) | IN_RANGE(hits, lane, x, 1) | IN_RANGE(hits, lane, x, 2))
#include "filter_loop_template.h"

FILTER_TARGET static void FILTER(kernel)(const npyx_filter *filter, const uint8_t *items, int64_t nwords,
                                         uint64_t *bitmap) {
    const FILTER_ITEM flip = (FILTER_ITEM)((FILTER_ITEM)1 << (8 * sizeof(FILTER_ITEM) - 1));
    FILTER(bounds) bounds;
    for (int r = 0; r < 3; r++) {
        uint64_t span = filter->ranges[r].high - filter->ranges[r].low;
        bounds.base[r] = (FILTER_ITEM)(filter->ranges[r].low + flip);
        bounds.limit[r] = (FILTER_LANE)((FILTER_ITEM)span ^ flip);
    }
    if (filter->nranges == 1)
        FILTER(one_range_run)(bounds, items, nwords, bitmap);
    else if (filter->nranges == 2)
        FILTER(two_ranges_run)(bounds, items, nwords, bitmap);
    else
        FILTER(three_ranges_run)(bounds, items, nwords, bitmap);
}

#undef FILTER_KIND
#undef FILTER_ITEM
#undef FILTER_LANE
#undef IN_RANGE
