/*
 * Statistics of a view along some of its axes, for each field of a structured dtype by itself.
 *
 * The axes that are kept form coordinates; the view is walked in groups of coordinates, each of which takes a
 * limited amount of memory, and every byte of the file that a group needs is read once. Items reach their
 * statistics in C order, so that argmin and argmax count along the reduced axes.
 *
 * With labels, the entries of the file's first axis go to the statistics of their labels (reduction_by.c).
 */
#ifndef NPYX_REDUCTION_H
#define NPYX_REDUCTION_H

#include "array/view.h"
#include "labels.h"
#include "stats.h"
#include "walk/reader.h"

typedef struct npyx_reduction_options {
    const bool *axes;   /* which to reduce, from 0 to view->ndim - 1; NULL for all, as one coordinate */
    bool is_in_order;   /* argmin and argmax are wanted: else, without axes, items come in file order */
    bool wants_crc32;   /* only without axes */
    bool skips_items;   /* only coordinates and fields are wanted */
    bool skips_moments; /* variances are not wanted */
    /* for the entries of the file's first axis; NULL: none. They must outlive the reduction. */
    const npyx_labels *labels;
} npyx_reduction_options;

typedef struct npyx_reduction {
    npyx_host *host;
    npyx_source *source; /* borrowed */
    npyx_view view;
    bool is_kept[NPYX_MAX_NDIM]; /* by axis */
    int nkept;                   /* the number of kept axes */
    bool has_axes;               /* some were named */
    npyx_reduction_options how;  /* wants_crc32 is set only if there is one coordinate */
    npyx_arena arena;
    int nleaves;
    npyx_leaf *leaves;
    uint8_t **extremes; /* [nleaves], for their statistics; NULL if not needed */
    /* the current group: coordinates from first_coordinate on, in C order of the kept axes */
    int64_t ncoordinates; /* in all */
    int64_t first_coordinate, group_ncoordinates;
    int64_t nlabels;   /* 1 without labels */
    npyx_stats *stats; /* [nlabels][group_ncoordinates][nleaves] */
    uint32_t *crc32;   /* [nleaves], of the one coordinate */
    /* private */
    npyx_view group;
    /* Where the items of a block go. The last axes, as far as all are kept or all are reduced, form runs: the
     * items of a run along reduced axes go to one coordinate, along kept ones to coordinates side by side. */
    bool run_is_kept;
    int64_t run_nelem;
    int64_t repeat_nruns;   /* runs one after the other that go to the same coordinates, if these are kept;
                             * else each to the next one */
    int outer_ndim;         /* axes before those of the run */
    npyx_label_runs labels; /* its numbers are borrowed */
    bool has_labels;        /* of several entries: else one is for all */
    int label_axis;         /* the view's axis that they are for */
    int64_t entry_nelem;    /* items of one entry along that axis */
    struct npyx_entry_rows *entry_rows; /* NULL: entries are added one by one */
    double *columns;                    /* of a group, or NULL (reduction_columns.c) */
    int64_t *places;                    /* of their least and greatest items, if wanted */
    npyx_blocks blocks;
    npyx_buffer gathered;
    int64_t gathered_nelem;
} npyx_reduction;

/* Prepares to reduce a view. source and the view's dtype must outlive the reduction. NPYX_NOMEM; NPYX_INVALID
 * for texts along some axes or by labels, and for labels that do not belong to a reduced axis; NPYX_TOOBIG
 * for more statistics of labels and fields than are kept. Call npyx_reduction_end on failure, too. */
npyx_status npyx_reduction_begin(npyx_reduction *reduction, npyx_source *source, const npyx_view *view,
                                 const npyx_reduction_options *options, npyx_error *error);

/* Computes the statistics of the next group; NPYX_DONE after the last. Polls the host. */
npyx_status npyx_reduction_next(npyx_reduction *reduction, npyx_error *error);

/* Frees everything; a zero-initialised reduction is accepted. */
void npyx_reduction_end(npyx_reduction *reduction);

/* The place of a leaf's item number position of a coordinate: its flat C-order place in the file's whole
 * array or, if one axis is reduced, the index along it as the file counts. */
int64_t npyx_reduction_place(const npyx_reduction *reduction, int leaf, int64_t position);

#endif
