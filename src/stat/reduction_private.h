/* The parts of a reduction: reduction.c, and what it calls. */
#ifndef NPYX_REDUCTION_PRIVATE_H
#define NPYX_REDUCTION_PRIVATE_H

#include "reduction.h"

/* ---- where items go ---- */

/* The coordinate in the group at which a run begins. */
static inline int64_t npyx_reduction_coordinate_of_run(const npyx_reduction *r, int64_t run) {
    int64_t coordinate = 0, factor = r->run_is_kept ? r->run_nelem : 1;
    for (int axis = r->outer_ndim - 1; axis >= 0; axis--) {
        int64_t index = run % r->group.shape[axis];
        run /= r->group.shape[axis];
        if (r->is_kept[axis]) {
            coordinate += index * factor;
            factor *= r->group.shape[axis];
        }
    }
    return coordinate;
}

/* Items one after the other: part of a run, or whole runs as far as they repeat. */
typedef struct npyx_stretch {
    int64_t coordinate; /* in the group: of the first item */
    int64_t nruns;
    int64_t nelem; /* of all of them */
} npyx_stretch;

/* The stretch that begins with item number position of the group, of at most nelem. */
static inline npyx_stretch npyx_reduction_stretch(const npyx_reduction *r, int64_t position, int64_t nelem) {
    const int64_t run = position / r->run_nelem, from = position % r->run_nelem;
    const int64_t coordinate = npyx_reduction_coordinate_of_run(r, run) + (r->run_is_kept ? from : 0);
    if (from > 0 || nelem < r->run_nelem)
        return (npyx_stretch){coordinate, 1, r->run_nelem - from < nelem ? r->run_nelem - from : nelem};
    const int64_t nleft = r->repeat_nruns - run % r->repeat_nruns;
    const int64_t nruns = nelem / r->run_nelem < nleft ? nelem / r->run_nelem : nleft;
    return (npyx_stretch){coordinate, nruns, nruns * r->run_nelem};
}

/* ---- by labels: reduction_by.c ---- */

/* The statistics of all leaves of a coordinate, for an entry along the labels' axis. */
static inline npyx_stats *npyx_reduction_stats_of(const npyx_reduction *r, int64_t entry,
                                                  int64_t coordinate) {
    const int64_t label = npyx_label_runs_at(&r->labels, entry);
    return &r->stats[(label * r->group_ncoordinates + coordinate) * r->nleaves];
}

/* Initialises statistics as this reduction wants them. */
static inline void npyx_reduction_init_stats(const npyx_reduction *r, npyx_stats *stats,
                                             const npyx_dtype *dtype, uint8_t *extremes) {
    npyx_stats_init(stats, dtype, extremes);
    stats->skips_moments = r->how.skips_moments;
}

/* Finds the labels' axis, and checks that they fit. */
npyx_status npyx_reduction_begin_by(npyx_reduction *reduction, const npyx_reduction_options *options,
                                    npyx_error *error);

/* Adds a group's items, in whole entries of one block after the other, to the statistics of their labels.
 * NPYX_DONE, with nothing done: they must be added one by one. */
npyx_status npyx_reduction_pass_by(npyx_reduction *reduction, npyx_error *error);

void npyx_reduction_end_by(npyx_reduction *reduction);

/* ---- along short axes: reduction_columns.c ---- */

/* Adds a group's items to statistics of many coordinates at once. NPYX_DONE, with nothing done: they must be
 * added one by one. Polls the host. */
npyx_status npyx_reduction_pass_columns(npyx_reduction *reduction, npyx_error *error);

#endif
