/*
 * Labels: a value for each entry of an axis, by which statistics are grouped.
 *
 * Equal values are one label: -0.0 is 0.0, and NaN and NaT are one of their own, after all others. Labels are
 * numbered in increasing order, so that an entry's label is an index into an array of results.
 */
#ifndef NPYX_LABELS_H
#define NPYX_LABELS_H

#include "base/names.h"
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
 * are for; -1 if an index has chosen one of them. NPYX_INVALID if their numbers differ, or if the axis is one
 * of those kept. */
npyx_status npyx_labels_find_axis(const npyx_labels *labels, const npyx_view *view, const bool *is_kept,
                                  int *axis, npyx_error *error);

/* The labels of the items of one coordinate of the kept axes, in C order: run_nelem items of the first entry,
 * as many of the second, and so on for nentries entries; then the same sequence again, to the end. */
typedef struct npyx_label_runs {
    const int32_t *numbers; /* the labels' own */
    int64_t first, step;    /* the view's entries among these */
    int64_t nentries, run_nelem;
} npyx_label_runs;

/* All items are of label 0. */
extern const npyx_label_runs npyx_one_label;

/* The label of an entry. */
static inline int32_t npyx_label_runs_at(const npyx_label_runs *runs, int64_t entry) {
    return runs->numbers[runs->first + entry * runs->step];
}

/* Fails as npyx_labels_find_axis does. */
npyx_status npyx_labels_find_runs(const npyx_labels *labels, const npyx_view *view, const bool *is_kept,
                                  npyx_label_runs *runs, npyx_error *error);

/* The labels of n items from one position on. There are entries, unless n is 0. */
void npyx_label_runs_read(const npyx_label_runs *runs, int64_t position, int64_t n, int32_t *labels);

/* Frees everything; zero-initialised labels are accepted. */
void npyx_labels_clear(npyx_labels *labels);

/* ---- numbers for the different items of an array, as they come ----
 *
 * 0 is for the first, 1 for the next different one. In the end they can be sorted: numbers and dates by
 * value, texts by code point, bytes by byte. -0.0 is 0.0. NaN and NaT are one item, after all others.
 */

typedef struct npyx_numbering npyx_numbering;

/* *made: for items of this dtype, which must outlive it and pass npyx_numbering_takes; NULL on failure. At
 * most `most` items are numbered; a message of NPYX_TOOBIG ends with why: `which are not kept`. */
npyx_status npyx_numbering_make(npyx_numbering **made, npyx_host *host, const npyx_dtype *dtype, int32_t most,
                                const char *why, npyx_error *error);

/* Whether items are real numbers, dates, texts or bytes. */
bool npyx_numbering_takes(const npyx_dtype *dtype);

/* The numbers of nelem items, side by side. */
npyx_status npyx_numbering_read(npyx_numbering *numbering, const uint8_t *items, int64_t nelem,
                                int32_t *numbers, npyx_error *error);

/* The numbered items, in increasing order. */
typedef struct npyx_numbered {
    int32_t n;
    bool has_null;        /* the last is NaN or NaT */
    const int32_t *ranks; /* by number: its place in that order */
    const uint8_t *items; /* in that order: the first occurrence of each */
} npyx_numbered;

/* ranks and items belong to the arena. Polls the host. */
npyx_status npyx_numbering_sort(const npyx_numbering *numbering, npyx_arena *arena, npyx_numbered *numbered,
                                npyx_error *error);

/* Accepts NULL. */
void npyx_numbering_free(npyx_numbering *numbering);

#endif
