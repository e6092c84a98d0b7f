#include "labels.h"

#include <inttypes.h>

#include "numbering.h"

enum {
    LABELS_POLLED_NELEM = 1 << 20,
    LABELS_MOST_CLAIMED = 1 << 20 /* not backed by bytes of the file: 4 MiB of numbers */
};

static npyx_status labels_add_block(npyx_labels *labels, npyx_numbering *numbering, const uint8_t *items,
                                    int64_t nelem, npyx_error *error) {
    npyx_buffer *numbers = &labels->numbers_read;
    if (!npyx_buffer_reserve_array(numbers, nelem, sizeof(int32_t)))
        return npyx_buffer_check(numbers, error);
    int32_t *next = (int32_t *)(void *)(numbers->bytes + numbers->nbytes);
    NPYX_TRY(npyx_numbering_read(numbering, items, nelem, next, error));
    numbers->nbytes += (size_t)nelem * sizeof(int32_t);
    labels->nentries += nelem;
    return NPYX_OK;
}

static npyx_status labels_read_blocks(npyx_labels *labels, npyx_numbering *numbering, npyx_source *source,
                                      const npyx_view *view, npyx_error *error) {
    npyx_blocks blocks = {0};
    npyx_blocks_begin(&blocks, source, view);
    npyx_status status;
    while ((status = npyx_blocks_next(&blocks, error)) == NPYX_OK) {
        status = labels_add_block(labels, numbering, blocks.items, blocks.nelem, error);
        if (status != NPYX_OK)
            break;
    }
    npyx_blocks_clear(&blocks);
    return status == NPYX_DONE ? NPYX_OK : status;
}

/* Renumbers the labels in increasing order. */
static npyx_status labels_sort(npyx_labels *labels, const npyx_numbering *numbering, npyx_error *error) {
    npyx_numbered numbered;
    NPYX_TRY(npyx_numbering_sort(numbering, &labels->arena, &numbered, error));
    int32_t *numbers = (int32_t *)(void *)labels->numbers_read.bytes;
    for (int64_t i = 0; i < labels->nentries; i++) {
        numbers[i] = numbered.ranks[numbers[i]];
        if (i % LABELS_POLLED_NELEM == 0)
            NPYX_TRY(npyx_poll(labels->host, error));
    }
    labels->numbers = numbers;
    labels->items = numbered.items;
    labels->nlabels = numbered.n;
    return NPYX_OK;
}

static npyx_status labels_check(const npyx_view *view, npyx_error *error) {
    if (!npyx_numbering_takes(view->dtype))
        return npyx_refuse(error, "labels are numbers, dates or texts; these items are %s",
                           npyx_dtype_shown(view->dtype).name);
    if (view->ndim != 1)
        return npyx_refuse(error, "labels are an array of one axis; this one has %d", view->ndim);
    if (view->dtype->itemsize == 0 && view->shape[0] > LABELS_MOST_CLAIMED)
        return npyx_fail(error, NPYX_TOOBIG, -1,
                         "has %" PRId64
                         " labels without bytes, more than %d, for each of which something is kept",
                         view->shape[0], LABELS_MOST_CLAIMED);
    return NPYX_OK;
}

npyx_status npyx_labels_read(npyx_labels *labels, npyx_source *source, const npyx_view *view,
                             npyx_error *error) {
    npyx_host *host = source->host;
    npyx_numbering *numbering;
    *labels = (npyx_labels){.host = host, .arena.host = host, .numbers_read.host = host};
    NPYX_TRY(labels_check(view, error));
    labels->dtype = npyx_dtype_copy(&labels->arena, view->dtype);
    NPYX_TRY(npyx_check_memory(labels->dtype, error));
    npyx_status status = npyx_numbering_make(&numbering, host, labels->dtype, NPYX_MAX_NLABELS,
                                             "for each of which something is kept", error);
    if (status == NPYX_OK)
        status = labels_read_blocks(labels, numbering, source, view, error);
    if (status == NPYX_OK)
        status = labels_sort(labels, numbering, error);
    npyx_numbering_free(numbering);
    return status;
}

npyx_status npyx_labels_find_axis(const npyx_labels *labels, const npyx_view *view, int *axis,
                                  npyx_error *error) {
    if (view->file_ndim == 0)
        return npyx_refuse(error, "the array has no axes, and by is for the entries of its first");
    if (labels->nentries != view->file_shape[0])
        return npyx_refuse(error, "by has %" PRId64 " labels, and the array's first axis %" PRId64 " entries",
                           labels->nentries, view->file_shape[0]);
    *axis = 0;
    while (*axis < view->ndim && view->file_axis[*axis] != 0)
        ++*axis;
    if (*axis == view->ndim)
        *axis = -1;
    return NPYX_OK;
}

void npyx_labels_clear(npyx_labels *labels) {
    if (labels->host == NULL)
        return;
    npyx_buffer_clear(&labels->numbers_read);
    npyx_arena_clear(&labels->arena);
    *labels = (npyx_labels){0};
}
