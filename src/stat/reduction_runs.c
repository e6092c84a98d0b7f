#include "reduction_private.h"

/* With labels a run is within one entry of their axis. */
void npyx_reduction_plan_runs(npyx_reduction *r) {
    int axis = r->group.ndim, first = r->has_labels ? r->label_axis + 1 : 0;
    r->run_nelem = r->repeat_nruns = r->entry_nelem = 1;
    for (int inner = first; inner < r->group.ndim; inner++)
        r->entry_nelem *= r->group.shape[inner];
    r->run_is_kept = axis > first && r->is_kept[axis - 1];
    while (axis > first && r->is_kept[axis - 1] == r->run_is_kept)
        r->run_nelem *= r->group.shape[--axis];
    r->outer_ndim = axis;
    while (axis > first && r->is_kept[axis - 1] != r->run_is_kept)
        r->repeat_nruns *= r->group.shape[--axis];
}

int64_t npyx_reduction_coordinate_of_run(const npyx_reduction *r, int64_t run) {
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

npyx_stretch npyx_reduction_stretch(const npyx_reduction *r, int64_t position, int64_t nelem) {
    const int64_t run = position / r->run_nelem, from = position % r->run_nelem;
    const int64_t coordinate = npyx_reduction_coordinate_of_run(r, run) + (r->run_is_kept ? from : 0);
    if (from > 0 || nelem < r->run_nelem)
        return (npyx_stretch){coordinate, 1, r->run_nelem - from < nelem ? r->run_nelem - from : nelem};
    const int64_t nleft = r->repeat_nruns - run % r->repeat_nruns;
    const int64_t nruns = nelem / r->run_nelem < nleft ? nelem / r->run_nelem : nleft;
    return (npyx_stretch){coordinate, nruns, nruns * r->run_nelem};
}
