/*
 * Labels: a value for each entry of an axis, by which statistics are made.
 *
 * What is equal is one label: -0.0 is 0.0, and NaN and NaT are one of their own, behind all others. Labels
 * are numbered in increasing order, so that an entry's label is an index into an array of what is kept of
 * each.
 */
#ifndef NPYX_LABELS_H
#define NPYX_LABELS_H

#include "walk/reader.h"

/* No more different ones: something is kept for each of them. */
enum { NPYX_MAX_NLABELS = 1 << 20 };

typedef struct npyx_labels {
    npyx_host *host;
    int64_t nentries;
    const int32_t *numbers; /* by entry: which label it has */
    int64_t nlabels;
    const npyx_dtype *dtype; /* of the labels, in the arena */
    const uint8_t *items; /* they themselves, in increasing order: one that stands for all that are equal */
    /* private */
    npyx_arena arena;
    npyx_buffer numbers_read;
} npyx_labels;

/* Reads the labels of a view of one axis: numbers that are not complex, dates, texts or bytes. NPYX_INVALID
 * for any other view, NPYX_TOOBIG for more than NPYX_MAX_NLABELS different ones. Polls the host. To be
 * cleared on failure, too. */
npyx_status npyx_labels_read(npyx_labels *labels, npyx_source *source, const npyx_view *view,
                             npyx_error *error);

/* Makes *key that of an item: bytes that are the same for what is equal, and whose order is the items'. The
 * dtype is one that labels have. */
npyx_status npyx_label_key(const npyx_dtype *dtype, const uint8_t *item, npyx_buffer *key, npyx_error *error);

/* Gives everything back; labels of zeros are taken too. */
void npyx_labels_clear(npyx_labels *labels);

#endif
