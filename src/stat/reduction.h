/*
 * Statistics of a view along some of its axes, of each field of a structured dtype by itself.
 *
 * The axes that are kept make coordinates; the view is walked in groups of coordinates, each of which takes
 * so much memory at most, and every byte of the file that a group needs is read once. Items come to their
 * statistics in C order, so that argmin and argmax count along the reduced axes.
 */
#ifndef NPYX_REDUCTION_H
#define NPYX_REDUCTION_H

#include "stats.h"
#include "walk/reader.h"

/* A field that is not structured itself. */
typedef struct npyx_leaf {
    char *name;        /* `pos.x`, or "" when the dtype is not structured; NUL-terminated */
    npyx_view view;    /* of it in one item: its subarrays are axes */
    int64_t nelem;     /* in one item */
    uint8_t *extremes; /* for its statistics */
} npyx_leaf;

typedef struct npyx_reduction {
    npyx_host *host;
    npyx_source *source; /* borrowed */
    npyx_view view;
    bool is_kept[NPYX_MAX_NDIM]; /* by axis */
    int nkept;                   /* axes that are kept */
    bool has_axes;               /* some were named */
    bool wants_crc32;            /* of the one coordinate */
    bool skips_items;
    npyx_arena arena;
    int nleaves;
    npyx_leaf *leaves;
    /* the group at hand: coordinates from first_coordinate on, in C order of the kept axes */
    int64_t ncoordinates; /* in all */
    int64_t first_coordinate, group_ncoordinates;
    npyx_stats *stats; /* [group_ncoordinates][nleaves] */
    uint32_t *crc32;   /* [nleaves], of the one coordinate */
    /* private */
    npyx_view group;
    /* Where the items of a block go. The axes at the end that are all kept, or all reduced, make runs: those
     * of reduced ones go to one coordinate, those of kept ones side by side. */
    bool run_is_kept;
    int64_t run_nelem;
    int64_t repeat_nruns; /* runs of kept axes that go to the same coordinates one after the other */
    int outer_ndim;       /* axes before those of the run */
    npyx_blocks blocks;
    npyx_buffer gathered;
    int64_t gathered_nelem;
} npyx_reduction;

typedef struct npyx_reduction_options {
    const bool *axes; /* which to reduce, from 0 to view->ndim - 1; NULL for all, as one coordinate */
    bool is_in_order; /* argmin and argmax are wanted: else, without axes, items come as they lie in the file
                       */
    bool wants_crc32; /* only without axes */
    bool skips_items; /* coordinates and fields are all that is wanted */
} npyx_reduction_options;

/* Prepares to reduce a view. source and the view's dtype must
 * outlive the reduction. NPYX_NOMEM, or NPYX_INVALID for texts along some axes. A reduction that failed to
 * begin is to be ended, too. */
npyx_status npyx_reduction_begin(npyx_reduction *reduction, npyx_source *source, const npyx_view *view,
                                 const npyx_reduction_options *options, npyx_error *error);

/* Makes the statistics of the next group; NPYX_DONE behind the last one. Polls the host. */
npyx_status npyx_reduction_next(npyx_reduction *reduction, npyx_error *error);

/* Gives everything back; a reduction of zeros is taken too. */
void npyx_reduction_end(npyx_reduction *reduction);

/* The index along each kept axis, as the file counts, of a coordinate; the result has room for nkept. */
void npyx_reduction_coordinate(const npyx_reduction *reduction, int64_t coordinate, int64_t *indices);

/* Where a leaf's item number position of a coordinate lies: its flat C-order place in the file's whole array
 * or, when one axis is reduced, the index along it as the file counts. */
int64_t npyx_reduction_place(const npyx_reduction *reduction, int leaf, int64_t position);

#endif
