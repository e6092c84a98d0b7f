#include "reduction_private.h"

#include "base/crc32.h"
#include "item/element.h"

enum {
    MOST_NSTATS_BY = 1 << 22,
};

/* ---- groups ---- */

/* The greatest number of coordinates in a group. Without bytes there is nothing to read, so that many passes
 * cost no more than one. */
static int64_t most_coordinates(const npyx_reduction *r) {
    bool has_bytes = r->view.dtype->itemsize > 0 && npyx_view_nelem(&r->view) > 0;
    int64_t nstats = r->nlabels > 1 && has_bytes ? NPYX_GROUP_NSTATS_BY : NPYX_GROUP_NSTATS;
    int64_t neach = r->nleaves * (r->nlabels > 1 ? r->nlabels : 1);
    return neach > nstats ? 1 : nstats / neach;
}

/* ---- items to statistics ---- */

/* With labels a run is within one entry of their axis. */
static void reduction_plan_runs(npyx_reduction *r) {
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

/* The offset of item k of a leaf in its item. */
static int64_t leaf_off(const npyx_leaf *leaf, int64_t k) {
    int64_t off = leaf->view.off;
    for (int axis = leaf->view.ndim - 1; axis >= 0; axis--) {
        off += k % leaf->view.shape[axis] * leaf->view.strides[axis];
        k /= leaf->view.shape[axis];
    }
    return off;
}

/* Adds a leaf's items, which are side by side, to statistics or, if these are NULL, to a checksum: equal
 * items have equal bytes in little-endian order. */
static void take_leaf(const npyx_dtype *dtype, uint8_t *items, int64_t nelem, npyx_stats *stats,
                      uint32_t *crc32) {
    if (stats != NULL) {
        npyx_stats_add(stats, items, nelem);
        return;
    }
    npyx_element_swap(dtype, items, nelem);
    *crc32 = npyx_crc32(*crc32, items, (size_t)(nelem * dtype->itemsize));
}

/* Gathers one leaf of nelem items, stride_nbytes apart, for either. */
static void gather(npyx_reduction *r, const npyx_leaf *leaf, const uint8_t *items, int64_t nelem,
                   int64_t stride_nbytes, npyx_stats *stats, uint32_t *crc32) {
    const npyx_dtype *dtype = leaf->view.dtype;
    int64_t itemsize = dtype->itemsize, ngathered = 0;
    uint8_t *out = (uint8_t *)r->gathered.bytes;
    if (leaf->nelem == 0) /* however many items have none of it */
        return;
    for (int64_t i = 0; i < nelem && itemsize > 0; i++, items += stride_nbytes) {
        for (int64_t k = 0; k < leaf->nelem; k++) {
            memcpy(out + ngathered * itemsize, items + leaf_off(leaf, k), (size_t)itemsize);
            if (++ngathered < r->gathered_nelem)
                continue;
            take_leaf(dtype, out, ngathered, stats, crc32);
            ngathered = 0;
        }
    }
    if (itemsize == 0) /* as many as are claimed, which is no work */
        ngathered = nelem > INT64_MAX / leaf->nelem ? INT64_MAX : nelem * leaf->nelem;
    take_leaf(dtype, out, ngathered, stats, crc32);
}

/* Adds nelem items of an entry to every leaf of a coordinate. */
static void add_items(npyx_reduction *r, int64_t entry, int64_t coordinate, const uint8_t *items,
                      int64_t nelem, int64_t stride_nbytes) {
    npyx_stats *stats = npyx_reduction_stats_of(r, entry, coordinate);
    const int64_t nbefore = r->has_labels ? r->entry_nelem / r->group_ncoordinates * entry : 0;
    for (int leaf = 0; leaf < r->nleaves && nbefore > 0;
         leaf++) { /* positions count items of other labels, too */
        if (stats[leaf].nseen < nbefore * r->leaves[leaf].nelem)
            stats[leaf].nseen = nbefore * r->leaves[leaf].nelem;
    }
    if (r->view.dtype->type != NPYX_STRUCT && stride_nbytes == r->view.dtype->itemsize) {
        npyx_stats_add(stats, items, nelem);
        return;
    }
    for (int leaf = 0; leaf < r->nleaves; leaf++)
        gather(r, &r->leaves[leaf], items, nelem, stride_nbytes, &stats[leaf], NULL);
}

/* Distributes items, the first of which is number position in the group's C order. */
static void distribute(npyx_reduction *r, int64_t position, const uint8_t *items, int64_t nelem) {
    const int64_t itemsize = r->view.dtype->itemsize;
    for (npyx_stretch s; nelem > 0; position += s.nelem, items += s.nelem * itemsize, nelem -= s.nelem) {
        s = npyx_reduction_stretch(r, position, nelem);
        const int64_t entry = position / r->entry_nelem, neach = s.nelem / s.nruns;
        for (int64_t i = 0; r->run_is_kept && i < neach; i++)
            add_items(r, entry, s.coordinate + i, items + i * itemsize, s.nruns, r->run_nelem * itemsize);
        for (int64_t i = 0; !r->run_is_kept && i < s.nruns; i++)
            add_items(r, entry, s.coordinate + i, items + i * neach * itemsize, neach, itemsize);
    }
}

/* ---- checksums ---- */

static void extend_checksums(npyx_reduction *r, const uint8_t *items, int64_t nelem) {
    const npyx_dtype *dtype = r->view.dtype;
    if (dtype->type != NPYX_STRUCT && !npyx_element_needs_swap(dtype)) {
        r->crc32[0] = npyx_crc32(r->crc32[0], items, (size_t)(nelem * dtype->itemsize));
        return;
    }
    for (int i = 0; i < r->nleaves; i++)
        gather(r, &r->leaves[i], items, nelem, dtype->itemsize, NULL, &r->crc32[i]);
}

/* ---- passes ---- */

/* Whether the runs of a block, or the parts of them in it, get statistics of their own, by any thread, which
 * are then merged in order: so they are the same to the last bit. */
static bool reduction_merges_runs(const npyx_reduction *r) {
    const npyx_dtype *dtype = r->view.dtype;
    bool is_long = r->ncoordinates == 1 || (!r->run_is_kept && r->run_nelem >= NPYX_MERGED_NELEM);
    return is_long && r->run_nelem > 0 && !r->has_labels && dtype->type != NPYX_STRUCT &&
           dtype->itemsize > 0 && npyx_stats_form_of(dtype) != NPYX_STATS_ORDER;
}

/* How many of nelem items from number position on belong to its run. */
static int64_t reduction_run_rest(const npyx_reduction *r, int64_t position, int64_t nelem) {
    int64_t rest = r->run_nelem - position % r->run_nelem;
    return rest < nelem ? rest : nelem;
}

/* Makes the statistics of each run that has items in the block, one after the other. */
static void reduction_work(const void *ctx, int64_t first, const uint8_t *bytes, size_t nbytes,
                           void *result) {
    const npyx_reduction *r = ctx;
    const npyx_dtype *dtype = r->view.dtype;
    npyx_stats *stats = result;
    int64_t nelem = (int64_t)nbytes / dtype->itemsize;
    for (int64_t n; nelem > 0; nelem -= n, first += n, bytes += n * dtype->itemsize) {
        n = reduction_run_rest(r, first, nelem);
        npyx_reduction_init_stats(r, stats, dtype, NULL);
        npyx_stats_add(stats++, bytes, n);
    }
}

/* Merges what reduction_work made of a block; made NULL: makes it first. */
static void reduction_merge_runs(npyx_reduction *r, int64_t position, const uint8_t *items, int64_t nelem,
                                 const npyx_stats *made) {
    const npyx_dtype *dtype = r->view.dtype;
    npyx_stats stats;
    for (int64_t n; nelem > 0; nelem -= n, position += n, items += n * dtype->itemsize) {
        n = reduction_run_rest(r, position, nelem);
        if (made == NULL) {
            npyx_reduction_init_stats(r, &stats, dtype, NULL);
            npyx_stats_add(&stats, items, n);
        }
        int64_t coordinate = npyx_reduction_coordinate_of_run(r, position / r->run_nelem);
        npyx_stats *whole = npyx_reduction_stats_of(r, 0, coordinate);
        const npyx_stats *part = made == NULL ? &stats : made++;
        if (whole->nseen == 0)
            *whole = *part;
        else
            npyx_stats_merge(whole, part);
    }
}

static npyx_status reduction_pass(npyx_reduction *r, npyx_error *error) {
    npyx_blocks *blocks = &r->blocks;
    npyx_blocks_begin(blocks, r->source, &r->group);
    bool merges = reduction_merges_runs(r);
    if (merges) {
        size_t nruns = (size_t)(NPYX_WORK_NBYTES / r->view.dtype->itemsize / r->run_nelem) + 2;
        npyx_reader_set_work(&blocks->reader, (npyx_work){.run = reduction_work,
                                                          .ctx = r,
                                                          .result_nbytes = nruns * sizeof(npyx_stats),
                                                          .has_all = !r->how.wants_crc32});
    }
    npyx_status status;
    while ((status = npyx_blocks_next(blocks, error)) == NPYX_OK) {
        if (r->view.dtype->itemsize == 0 && (r->has_axes || r->nlabels > 1 || r->has_labels))
            continue; /* reduction_check has left only leaves without items: nothing goes to any coordinate */
        if (merges)
            reduction_merge_runs(r, blocks->position, blocks->items, blocks->nelem, blocks->reader.result);
        else
            distribute(r, blocks->position, blocks->items, blocks->nelem);
        if (r->how.wants_crc32)
            extend_checksums(r, blocks->items, blocks->nelem);
    }
    npyx_reader_quiesce(&blocks->reader);
    return status == NPYX_DONE ? NPYX_OK : status;
}

/* ---- a reduction ---- */

static npyx_status reduction_check(const npyx_reduction *r, bool has_labels, npyx_error *error) {
    for (int i = 0; i < r->nleaves && (r->has_axes || has_labels); i++) {
        const npyx_dtype *dtype = r->leaves[i].view.dtype;
        bool is_text = npyx_stats_form_of(dtype) == NPYX_STATS_ORDER;
        if (is_text || dtype->itemsize == 0)
            return npyx_refuse(error, "%s is for numbers; these items %s", r->has_axes ? "axis" : "by",
                               is_text ? "are texts" : "have no bytes");
    }
    return NPYX_OK;
}

/* Allocates one group's statistics, and room for what is gathered. */
static npyx_status make_room(npyx_reduction *r, npyx_error *error) {
    int64_t most = most_coordinates(r) > r->ncoordinates ? r->ncoordinates : most_coordinates(r);
    if (r->nlabels * r->nleaves > MOST_NSTATS_BY)
        return npyx_fail(error, NPYX_TOOBIG, -1,
                         "has %" PRId64 " labels for each of %d fields, more than %d statistics", r->nlabels,
                         r->nleaves, MOST_NSTATS_BY);
    size_t nstats = (size_t)most * (size_t)r->nleaves * (size_t)r->nlabels;
    int64_t largest_nbytes = 1;
    r->extremes = npyx_arena_array(&r->arena, r->nleaves, sizeof r->extremes[0]);
    NPYX_TRY(npyx_check_memory(r->extremes, error));
    bool has_items = npyx_view_nelem(&r->view) > 0; /* without any, an item's size is a mere claim */
    for (int i = 0; i < r->nleaves; i++) {
        int64_t itemsize = has_items ? r->leaves[i].view.dtype->itemsize : 0;
        largest_nbytes = itemsize > largest_nbytes ? itemsize : largest_nbytes;
        r->extremes[i] = NULL;
        if (has_items && npyx_stats_form_of(r->leaves[i].view.dtype) == NPYX_STATS_ORDER) {
            r->extremes[i] = npyx_arena_alloc(&r->arena, 2 * (size_t)itemsize + 1);
            NPYX_TRY(npyx_check_memory(r->extremes[i], error));
        }
    }
    int64_t nelem = NPYX_GATHERED_NBYTES / largest_nbytes;
    r->gathered_nelem = nelem > NPYX_STATS_NELEM ? NPYX_STATS_NELEM : nelem < 1 ? 1 : nelem;
    r->stats = npyx_alloc_array_zeroed(r->host, (int64_t)nstats, sizeof r->stats[0]);
    r->crc32 = npyx_arena_array(&r->arena, r->nleaves, sizeof r->crc32[0]);
    npyx_buffer_reserve_array(&r->gathered, r->gathered_nelem, (size_t)largest_nbytes);
    if (r->stats == NULL || r->crc32 == NULL)
        return npyx_fail_nomem(error);
    return npyx_buffer_check(&r->gathered, error);
}

npyx_status npyx_reduction_begin(npyx_reduction *r, npyx_source *source, const npyx_view *view,
                                 const npyx_reduction_options *options, npyx_error *error) {
    npyx_host *host = source->host;
    const bool *axes = options->axes;
    *r = (npyx_reduction){.host = host,
                          .source = source,
                          .view = *view,
                          .has_axes = axes != NULL,
                          .how = *options,
                          .nlabels = 1,
                          .labels = npyx_one_label,
                          .ncoordinates = 1,
                          .arena = {.host = host},
                          .gathered = {.host = host}};
    r->how.wants_crc32 &= axes == NULL && options->labels == NULL;
    r->how.axes = NULL; /* the caller's, only for this call */
    r->ncoordinates = npyx_view_keep_axes(view, axes, r->is_kept, &r->nkept);
    NPYX_TRY(npyx_leaves_list(&r->arena, view->dtype, &r->leaves, &r->nleaves, error));
    NPYX_TRY(reduction_check(r, options->labels != NULL, error));
    NPYX_TRY(npyx_reduction_begin_by(r, options, error));
    if (r->nleaves > 0)
        NPYX_TRY(make_room(r, error));
    bool has_order = options->is_in_order || r->how.wants_crc32 || axes != NULL || options->labels != NULL;
    if (!has_order && npyx_view_nelem(view) > 0)
        npyx_view_sort_axes(&r->view);
    return NPYX_OK;
}

npyx_status npyx_reduction_next(npyx_reduction *r, npyx_error *error) {
    r->first_coordinate += r->group_ncoordinates;
    if (r->first_coordinate >= r->ncoordinates || r->nleaves == 0 || r->nlabels == 0)
        return NPYX_DONE;
    r->group_ncoordinates =
        npyx_view_take_coordinates(&r->view, r->is_kept, r->first_coordinate, most_coordinates(r), &r->group);
    reduction_plan_runs(r);
    if (!r->how.skips_items) {
        npyx_status status = npyx_reduction_pass_by(r, error);
        if (status == NPYX_DONE)
            status = npyx_reduction_pass_columns(r, error);
        if (status != NPYX_DONE)
            return status;
    }
    for (int64_t i = 0; i < r->nlabels * r->group_ncoordinates * r->nleaves; i++) {
        int64_t leaf = i % r->nleaves;
        npyx_reduction_init_stats(r, &r->stats[i], r->leaves[leaf].view.dtype, r->extremes[leaf]);
    }
    for (int i = 0; i < r->nleaves; i++)
        r->crc32[i] = 0;
    return r->how.skips_items ? NPYX_OK : reduction_pass(r, error);
}

void npyx_reduction_end(npyx_reduction *r) {
    if (r->host == NULL)
        return;
    npyx_reduction_end_by(r);
    npyx_blocks_clear(&r->blocks);
    npyx_buffer_clear(&r->gathered);
    npyx_free(r->host, r->columns);
    npyx_free(r->host, r->places);
    npyx_free(r->host, r->stats);
    npyx_arena_clear(&r->arena);
    *r = (npyx_reduction){0};
}

int64_t npyx_reduction_place(const npyx_reduction *r, int leaf, int64_t position) {
    const npyx_view *view = &r->view;
    int64_t nelem = r->leaves[leaf].nelem, item = position / nelem;
    if (!r->has_axes)
        return npyx_view_file_position(view, item) * nelem + position % nelem;
    for (int axis = 0; axis < view->ndim; axis++) {
        if (!r->is_kept[axis] && r->nkept == view->ndim - 1)
            return view->first[axis] + item * view->step[axis];
    }
    return item;
}
