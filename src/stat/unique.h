/*
 * The different values of a view and how often each occurs: numpy.unique with counts; with labels, how often
 * for each label. Rows are in increasing order, first of the label and then of the value: numbers, dates by
 * time, texts by code point, bytes by byte. -0.0 is 0.0. NaN and NaT are one value, after all others.
 *
 * Blocks with few different numbers are counted on all processors.
 */
#ifndef NPYX_UNIQUE_H
#define NPYX_UNIQUE_H

#include "key_counts.h"
#include "labels.h"
#include "order_keys.h"

typedef struct npyx_unique {
    npyx_host *host;
    const npyx_dtype *dtype; /* the view's */
    int64_t nrows;           /* different values, or pairs of a label and a value */
    /* private */
    bool wants_first;
    int64_t nnulls, first_null; /* of NaN and NaT, if there are no pairs */
    npyx_order_keys order;
    npyx_key_counts counts;    /* of the keys, or of label << 32 | value */
    npyx_numbering *numbering; /* of values, if pairs are counted; NULL: keys are */
    npyx_numbered values;
    npyx_arena arena; /* of values */
} npyx_unique;

/* Counts the items of a view. labels are for the first axis of its array; NULL: none. wants_first: places are
 * flat ones in C order of the view. source and the view's dtype must outlive the result. NPYX_INVALID for
 * items that are neither numbers, dates, texts nor bytes, or are complex, and for labels that do not fit;
 * NPYX_TOOBIG for more than NPYX_MAX_NKEYS rows. Polls the host. Clear unique on failure, too. */
npyx_status npyx_unique_make(npyx_unique *unique, npyx_source *source, const npyx_view *view,
                             const npyx_labels *labels, bool wants_first, npyx_error *error);

/* The number of row i's label, 0 without labels. */
int64_t npyx_unique_label(const npyx_unique *unique, int64_t i);
/* The item of row i, in the dtype's own byte order, valid as long as the result or the room; NULL: NaN or
 * NaT. */
const uint8_t *npyx_unique_item(const npyx_unique *unique, int64_t i, uint8_t room[NPYX_ORDER_ITEM_NBYTES]);
/* How often row i occurs, and where first, if wants_first. */
static inline int64_t npyx_unique_count(const npyx_unique *unique, int64_t i) {
    return i == unique->counts.n ? unique->nnulls : npyx_key_counts_of(&unique->counts, i);
}
int64_t npyx_unique_first(const npyx_unique *unique, int64_t i);

/* Accepts a zero-initialised one, too. */
void npyx_unique_clear(npyx_unique *unique);

#endif
