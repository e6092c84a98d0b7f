/*
 * Labels: a value for each entry of an axis, by which statistics are grouped.
 *
 * Equal values are one label: -0.0 is 0.0, and NaN and NaT are one of their own, after all others. Labels are
 * numbered in increasing order, so that an entry's label is an index into an array of results.
 */
#ifndef NPYX_LABELS_H
#define NPYX_LABELS_H

#include "walk/reader.h"

/* At most this many different ones: something is kept for each of them. */
enum { NPYX_MAX_NLABELS = 1 << 20 };

typedef struct npyx_labels {
    npyx_host *host;
    int64_t nentries;
    const int32_t *numbers; /* by entry: its label */
    int64_t nlabels;
    const npyx_dtype *dtype; /* of the labels, in the arena */
    const uint8_t *items;    /* the labels themselves, in increasing order: one item for all that are equal */
    /* private */
    npyx_arena arena;
    npyx_buffer numbers_read;
} npyx_labels;

/* Reads the labels of a view of one axis: numbers that are not complex, dates, texts or bytes. NPYX_INVALID
 * for any other view, NPYX_TOOBIG for more than NPYX_MAX_NLABELS different ones. Polls the host. Clear labels
 * on failure, too. */
npyx_status npyx_labels_read(npyx_labels *labels, npyx_source *source, const npyx_view *view,
                             npyx_error *error);

/* Finds the axis of a view that corresponds to the first axis of the whole array, whose entries the labels
 * are for; -1 if an index has chosen one of them. NPYX_INVALID if their numbers differ. */
npyx_status npyx_labels_find_axis(const npyx_labels *labels, const npyx_view *view, int *axis,
                                  npyx_error *error);

/* The label of an entry of that axis. */
static inline int32_t npyx_labels_at(const npyx_labels *labels, const npyx_view *view, int axis,
                                     int64_t entry) {
    return labels->numbers[axis < 0 ? view->fixed[0] : view->first[axis] + entry * view->step[axis]];
}

/* Frees everything; zero-initialised labels are accepted. */
void npyx_labels_clear(npyx_labels *labels);

#endif
