/*
 * A view without gaps is a range of its source, and other threads may read it. Any other is walked, in the
 * caller's thread. Numbers are converted in small blocks of stored items, by threads, too; all else is
 * copied, and only the order of bytes can change.
 */
#include "view_source.h"

#include "item/convert.h"
#include "item/element.h"
#include "item_walk.h"

enum { BLOCK_NBYTES = 4096, MAX_ITEM_NBYTES = 32 };

typedef struct view_source {
    npyx_source base;
    npyx_source *payload;
    npyx_view view;
    npyx_dtype from; /* the view's */
    npyx_dtype to;
    bool is_converted;
    bool swaps; /* if not: the order of bytes */
    bool is_contiguous;
    uint8_t *cut_item; /* room for one of more than MAX_ITEM_NBYTES; NULL: not needed yet */
    npyx_item_walk walk;
} view_source;

/* Stored items from number `first` on. aside: in another thread; NULL if they cannot be read there. */
static npyx_status stored_items(view_source *source, bool is_aside, int64_t first, int64_t nelem,
                                uint8_t *room, const uint8_t **items, uint32_t *crc32, npyx_error *error) {
    int64_t off = source->view.off + first * source->from.itemsize;
    size_t nbytes = (size_t)(nelem * source->from.itemsize);
    *items = room;
    if (is_aside) {
        *items = source->payload->ops->read_aside(source->payload, off, room, nbytes, crc32);
        return *items == NULL ? NPYX_INVALID : NPYX_OK;
    }
    if (source->is_contiguous)
        return npyx_source_read_exactly(source->payload, off, room, nbytes, error);
    return npyx_item_walk_copy(&source->walk, first, nelem, room, error);
}

/* Items from number `first` on as they are in the result. */
static npyx_status make_items(view_source *source, bool is_aside, int64_t first, int64_t nelem, uint8_t *out,
                              uint32_t *crc32, npyx_error *error) {
    uint8_t room[BLOCK_NBYTES];
    const uint8_t *items = NULL;
    if (source->is_converted) {
        NPYX_TRY(stored_items(source, is_aside, first, nelem, room, &items, crc32, error));
        return npyx_convert_items(&source->from, items, nelem, &source->to, out, first, NULL, error);
    }
    NPYX_TRY(npyx_item_walk_copy(&source->walk, first, nelem, out, error));
    if (source->swaps) { /* to little-endian, and from there to the other order */
        npyx_element_swap(&source->from, out, nelem);
        npyx_element_swap(&source->to, out, nelem);
    }
    return NPYX_OK;
}

/* Items that are cut at an end of the range are made whole, one at a time. */
static npyx_status make_range(view_source *source, bool is_aside, int64_t off, uint8_t *out, size_t nbytes,
                              uint32_t *crc32, npyx_error *error) {
    uint8_t few[MAX_ITEM_NBYTES];
    const int64_t itemsize = source->to.itemsize, end = off + (int64_t)nbytes;
    const int64_t most_nelem = source->is_converted ? BLOCK_NBYTES / source->from.itemsize : INT64_MAX;
    while (off < end) {
        int64_t first = off / itemsize, nelem = (end - off) / itemsize, cut_nbytes = off % itemsize;
        bool is_cut = cut_nbytes > 0 || nelem == 0;
        nelem = is_cut ? 1 : nelem < most_nelem ? nelem : most_nelem;
        if (is_cut && itemsize > MAX_ITEM_NBYTES && source->cut_item == NULL) {
            source->cut_item = npyx_alloc(source->base.host, (size_t)itemsize);
            NPYX_TRY(npyx_check_memory(source->cut_item, error));
        }
        uint8_t *item = itemsize > MAX_ITEM_NBYTES ? source->cut_item : few;
        NPYX_TRY(make_items(source, is_aside, first, nelem, is_cut ? item : out, crc32, error));
        int64_t done_nbytes = nelem * itemsize - cut_nbytes;
        done_nbytes = done_nbytes < end - off ? done_nbytes : end - off;
        if (is_cut)
            memcpy(out, item + cut_nbytes, (size_t)done_nbytes);
        out += done_nbytes;
        off += done_nbytes;
    }
    return NPYX_OK;
}

static npyx_status view_read(npyx_source *base, int64_t off, void *bytes, size_t nbytes, size_t *read_nbytes,
                             npyx_error *error) {
    *read_nbytes = nbytes;
    return make_range((view_source *)base, false, off, bytes, nbytes, NULL, error);
}

static const uint8_t *view_read_aside(const npyx_source *base, int64_t off, void *scratch, size_t nbytes,
                                      uint32_t *crc32) {
    npyx_error error; /* whoever reads the items again meets the fault */
    return make_range((view_source *)base, true, off, scratch, nbytes, crc32, &error) == NPYX_OK ? scratch
                                                                                                 : NULL;
}

/* Counted where the bytes are, in the payload. */
static npyx_status view_account(npyx_source *base, int64_t off, const uint8_t *bytes, size_t nbytes,
                                uint32_t crc32, npyx_error *error) {
    view_source *source = (view_source *)base;
    int64_t itemsize = source->to.itemsize, first = off / itemsize;
    int64_t nelem = (off + (int64_t)nbytes + itemsize - 1) / itemsize - first;
    (void)bytes;
    return source->payload->ops->account(source->payload, source->view.off + first * source->from.itemsize,
                                         NULL, (size_t)(nelem * source->from.itemsize), crc32, error);
}

static npyx_status view_check(const npyx_source *base, npyx_error *error) {
    return npyx_source_check(((const view_source *)base)->payload, error);
}

static void view_close(npyx_source *base) {
    view_source *source = (view_source *)base;
    npyx_item_walk_clear(&source->walk);
    npyx_free(base->host, source->cut_item);
    npyx_source_close(source->payload);
}

static const npyx_source_ops view_ops = {.read = view_read,
                                         .close = view_close,
                                         .read_aside = view_read_aside,
                                         .account = view_account,
                                         .check = view_check};

/* Whether items of one dtype are those of the other, to the byte. Fields differ in byte order each for
 * itself. */
static bool has_same_bytes(const npyx_dtype *from, const npyx_dtype *to) {
    bool needs_swap = npyx_element_needs_swap(from);
    return from == to || (npyx_dtype_is_same(from, to) && needs_swap == npyx_element_needs_swap(to) &&
                          !(needs_swap && from->type == NPYX_STRUCT));
}

/* The bytes that are there already. What a CRC-32 covers is read in order, by one thread. */
static npyx_status open_in_place(npyx_source *payload, const npyx_view *view, npyx_source **opened,
                                 npyx_error *error) {
    bool wants_order = payload->wants_order;
    NPYX_TRY(npyx_source_open_owned_range(payload, view->off, npyx_view_nelem(view) * view->dtype->itemsize,
                                          opened, error));
    (*opened)->is_concurrent &= !wants_order;
    return NPYX_OK;
}

npyx_status npyx_view_source_open(npyx_source *payload, const npyx_view *view, const npyx_dtype *dtype,
                                  npyx_source **opened, npyx_error *error) {
    bool is_contiguous = npyx_view_is_contiguous(view), swaps = !has_same_bytes(view->dtype, dtype);
    if (is_contiguous && !swaps)
        return open_in_place(payload, view, opened, error);
    bool is_converted = swaps && dtype->type <= NPYX_C32;
    view_source *source = npyx_alloc_zeroed(payload->host, sizeof *source);
    if (source == NULL) {
        npyx_source_close(payload);
        return npyx_fail_nomem(error);
    }
    source->payload = payload;
    source->view = *view;
    source->from = *view->dtype;
    source->to = *dtype;
    source->view.dtype = &source->from;
    source->is_converted = is_converted;
    source->swaps = swaps;
    source->is_contiguous = is_contiguous;
    source->walk = (npyx_item_walk){.source = payload, .view = source->view};
    source->base = (npyx_source){.ops = &view_ops,
                                 .host = payload->host,
                                 .nbytes = npyx_view_nelem(view) * dtype->itemsize,
                                 .is_forward = payload->is_forward || !is_contiguous,
                                 .is_inflated = payload->is_inflated,
                                 .has_gaps = is_converted || payload->has_gaps,
                                 .is_concurrent = is_contiguous && is_converted && payload->is_concurrent &&
                                                  !payload->wants_order};
    *opened = &source->base;
    return NPYX_OK;
}
