/*
 * Arrays one after the other along an axis, as one array: numpy.concatenate, made when it is read.
 *
 * The result's bytes are, for each place on the axes before that axis, the bytes of every part there:
 *
 *     axis 0: part 0 | part 1 | part 2          axis 1: rows 0 of all parts | rows 1 of all parts | ...
 *
 * A part is opened when its bytes are wanted, and a few ahead of that, so that other threads can read them.
 */
#ifndef NPYX_CONCAT_H
#define NPYX_CONCAT_H

#include "array/view.h"

typedef struct npyx_concat {
    const npyx_dtype *dtype; /* of the result; parts may differ in byte order */
    int ndim;
    int axis;
    int64_t shape[NPYX_MAX_NDIM]; /* of the result */
    bool has_gaps;                /* the parts' sources may have (io/source.h) */
    int64_t nparts;
    const int64_t *ends; /* by part: where it ends along the axis */
    /* Opens a part: a source, which the caller closes, and a view of the part's items in it. */
    npyx_status (*open_part)(void *ctx, int64_t part, npyx_source **source, npyx_view *view,
                             npyx_error *error);
    /* Puts the part's name before an error that reading it has met; returns status. */
    npyx_status (*fail_part)(void *ctx, int64_t part, npyx_status status, npyx_error *error);
    void *ctx;
} npyx_concat;

/* The part that holds an entry along the axis. */
int64_t npyx_concat_part_at(const npyx_concat *concat, int64_t entry);

/* The result's items in C order as a source. What concat points to must outlive it. */
npyx_status npyx_concat_open(npyx_host *host, const npyx_concat *concat, npyx_source **opened,
                             npyx_error *error);

#endif
