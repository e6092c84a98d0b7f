/*
 * The different values of a view and how often each comes: numpy.unique with counts. Values are in increasing
 * order: numbers, dates by time, texts by code point, bytes by byte. -0.0 is 0.0. NaN and NaT are one value,
 * and counted by themselves.
 *
 * Blocks with few different numbers are counted by all processors.
 */
#ifndef NPYX_UNIQUE_H
#define NPYX_UNIQUE_H

#include "base/names.h"
#include "key_counts.h"
#include "labels.h"
#include "order_keys.h"

typedef struct npyx_unique {
    npyx_host *host;
    const npyx_dtype *dtype; /* the view's */
    int64_t n;               /* different values, NaN and NaT not among them */
    int64_t nnulls;          /* which came so often */
    int64_t first_null;      /* at that place first, where places are wanted */
    /* private */
    npyx_order_keys keys;
    npyx_key_counts numbers;
    npyx_name_set texts;
    npyx_buffer items;           /* the first of each text */
    npyx_key_count *text_counts; /* key: its number among the items */
    int64_t text_capacity;
} npyx_unique;

/* Counts the items of a view. wants_first: places are flat ones in C order of the view. source and the view's
 * dtype outlive the result. NPYX_INVALID for items that are neither numbers, dates, texts nor bytes, or that
 * are complex; NPYX_TOOBIG for more than NPYX_MAX_NKEYS different ones. Polls the host. To be cleared on
 * failure, too. */
npyx_status npyx_unique_make(npyx_unique *unique, npyx_source *source, const npyx_view *view,
                             bool wants_first, npyx_error *error);

/* Value number i: its item, in the dtype's own byte order, which lives as long as the result or, of a number,
 * until the next call with the same room. */
const uint8_t *npyx_unique_item(const npyx_unique *unique, int64_t i, uint8_t room[NPYX_ORDER_ITEM_NBYTES]);

static inline int64_t npyx_unique_count(const npyx_unique *unique, int64_t i) {
    return unique->text_counts != NULL ? unique->text_counts[i].count : unique->numbers.counts[i];
}
static inline int64_t npyx_unique_first(const npyx_unique *unique, int64_t i) {
    return unique->text_counts != NULL ? unique->text_counts[i].first : unique->numbers.firsts[i];
}

/* Takes one of zeros, too. */
void npyx_unique_clear(npyx_unique *unique);

#endif
