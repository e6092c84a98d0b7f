/*
 * Each item becomes a key: bytes that are equal for equal items and in the order of the items. A table
 * numbers the keys as they come; it is searched once for a run of equal items, and not for an item seen
 * recently.
 */
#include "labels.h"

#include <inttypes.h>

#include "order_keys.h"

enum {
    NUMBERING_MOST_NLATELY = 1 << NPYX_LATELY_NBITS_MOST,
    NUMBERING_LATELY_NBYTES = 8, /* items longer than this are not remembered */
};

/* An item as it is in the file, and the number of its key. */
typedef struct numbering_lately {
    uint64_t item;
    int32_t number; /* -1: none */
} numbering_lately;

struct npyx_numbering {
    npyx_host *host;
    const npyx_dtype *dtype;
    bool is_text; /* or bytes */
    npyx_order_keys order;
    int32_t most, null; /* null: the number of NaN and NaT; -1: none has occurred */
    const char *why;
    npyx_name_set keys;
    npyx_buffer items; /* the first item of each key */
    npyx_buffer key;   /* of the current item */
    numbering_lately lately[NUMBERING_MOST_NLATELY];
};

static bool numbering_is_text(const npyx_dtype *dtype) {
    return dtype->type == NPYX_TEXT || dtype->type == NPYX_BYTES;
}

bool npyx_numbering_takes(const npyx_dtype *dtype) {
    return numbering_is_text(dtype) || npyx_dtype_is_real(dtype) || npyx_type_is_date(dtype->type);
}

npyx_status npyx_numbering_make(npyx_numbering **made, npyx_host *host, const npyx_dtype *dtype, int32_t most,
                                const char *why, npyx_error *error) {
    npyx_numbering *numbering = *made = npyx_alloc_zeroed(host, sizeof *numbering);
    NPYX_TRY(npyx_check_memory(numbering, error));
    numbering->host = host;
    numbering->dtype = dtype;
    numbering->is_text = numbering_is_text(dtype);
    numbering->most = most;
    numbering->null = -1;
    numbering->why = why;
    numbering->keys.bytes.host = numbering->items.host = numbering->key.host = host;
    for (int i = 0; i < 1 << NPYX_LATELY_NBITS; i++)
        numbering->lately[i].number = -1;
    return numbering->is_text ? NPYX_OK : npyx_order_keys_of(dtype, "values", &numbering->order, error);
}

/* ---- keys: code points and numbers the most significant byte first ---- */

static void numbering_append(npyx_buffer *key, uint64_t number, int nbytes) {
    for (int shift = 8 * (nbytes - 1); shift >= 0; shift -= 8)
        npyx_buffer_append_char(key, (char)(number >> shift));
}

/* Builds the key; returns whether the item is NaN or NaT. */
static bool numbering_make_key(npyx_numbering *numbering, const uint8_t *item) {
    const npyx_dtype *dtype = numbering->dtype;
    npyx_buffer *key = &numbering->key;
    uint64_t number = 0;
    npyx_buffer_reset(key);
    if (dtype->type == NPYX_BYTES) {
        npyx_buffer_append(key, item, (size_t)dtype->itemsize);
    } else if (dtype->type == NPYX_TEXT) {
        for (int64_t off = 0; off < dtype->itemsize; off += 4)
            numbering_append(key, npyx_load_u32(item + off, dtype->is_big_endian), 4);
    } else {
        bool is_null = npyx_order_keys_read(&numbering->order, item, 1, &number) == 0;
        npyx_buffer_append_char(key, (char)is_null); /* any number may be a key */
        numbering_append(key, is_null ? 0 : number, sizeof number);
        return is_null;
    }
    return false;
}

/* ---- numbers as they come ---- */

static npyx_status numbering_look_up(npyx_numbering *numbering, const uint8_t *item, int32_t *number,
                                     npyx_error *error) {
    npyx_buffer *key = &numbering->key;
    npyx_name_set *keys = &numbering->keys;
    bool is_null = numbering_make_key(numbering, item);
    NPYX_TRY(npyx_buffer_check(key, error));
    *number = (int32_t)npyx_name_set_find(keys, key->bytes, key->nbytes, NULL);
    if (*number >= 0)
        return NPYX_OK;
    *number = (int32_t)keys->count;
    if (*number == numbering->most)
        return npyx_fail(error, NPYX_TOOBIG, -1, "has more than %d different values, %s",
                         (int)numbering->most, numbering->why);
    if (is_null)
        numbering->null = *number;
    NPYX_TRY(npyx_name_set_add(keys, key->bytes, key->nbytes, error));
    npyx_buffer_append(&numbering->items, item, (size_t)numbering->dtype->itemsize);
    return npyx_buffer_check(&numbering->items, error);
}

/* The bytes of a short item as a number; a call of memcpy would take longer than all the rest. */
static inline uint64_t numbering_bits(const uint8_t *item, size_t itemsize) {
    uint64_t bits = 0;
    uint32_t half;
    switch (itemsize) {
    case sizeof bits: memcpy(&bits, item, sizeof bits); return bits;
    case sizeof half: memcpy(&half, item, sizeof half); return half;
    case 1: return *item;
    default: memcpy(&bits, item, itemsize); return bits;
    }
}

/* Likewise, unless the item was seen recently: with few different ones nearly all were. */
static npyx_status numbering_read_short(npyx_numbering *numbering, const uint8_t *item, int32_t *number,
                                        npyx_error *error) {
    uint64_t bits = numbering_bits(item, (size_t)numbering->dtype->itemsize);
    numbering_lately *lately = &numbering->lately[bits * 0x9e3779b97f4a7c15u >> (64 - NPYX_LATELY_NBITS)];
    if (lately->number < 0 || lately->item != bits) {
        NPYX_TRY(numbering_look_up(numbering, item, number, error));
        *lately = (numbering_lately){bits, *number};
    }
    *number = lately->number;
    return NPYX_OK;
}

npyx_status npyx_numbering_read(npyx_numbering *numbering, const uint8_t *items, int64_t nelem,
                                int32_t *numbers, npyx_error *error) {
    const size_t itemsize = (size_t)numbering->dtype->itemsize;
    bool is_short = itemsize <= NUMBERING_LATELY_NBYTES;
    for (int64_t i = 0; i < nelem; i++, items += itemsize) {
        if (is_short)
            NPYX_TRY(numbering_read_short(numbering, items, &numbers[i], error));
        else if (i > 0 && memcmp(items, items - itemsize, itemsize) == 0)
            numbers[i] = numbers[i - 1];
        else
            NPYX_TRY(numbering_look_up(numbering, items, &numbers[i], error));
    }
    return NPYX_OK;
}

/* ---- and in increasing order ---- */

static int numbering_compare(const void *a, const void *b, const void *ctx) {
    const npyx_name_set *keys = ctx;
    size_t nbytes, b_nbytes;
    const char *key = npyx_name_set_text(keys, *(const int32_t *)a, &nbytes);
    return memcmp(key, npyx_name_set_text(keys, *(const int32_t *)b, &b_nbytes), nbytes);
}

npyx_status npyx_numbering_sort(const npyx_numbering *numbering, npyx_arena *arena, npyx_numbered *numbered,
                                npyx_error *error) {
    const size_t n = (size_t)numbering->keys.count, itemsize = (size_t)numbering->dtype->itemsize;
    int32_t *order = npyx_arena_array(arena, (int64_t)n, sizeof *order);
    int32_t *ranks = npyx_arena_array(arena, (int64_t)n, sizeof *ranks);
    uint8_t *items = npyx_arena_alloc(arena, n * itemsize);
    if (order == NULL || ranks == NULL || items == NULL)
        return npyx_fail_nomem(error);
    for (size_t i = 0; i < n; i++)
        order[i] = (int32_t)i;
    NPYX_TRY(npyx_sort(numbering->host, order, n, sizeof *order, numbering_compare, &numbering->keys, error));
    for (size_t i = 0; i < n; i++) {
        ranks[order[i]] = (int32_t)i;
        if (itemsize > 0)
            memcpy(items + i * itemsize, numbering->items.bytes + (size_t)order[i] * itemsize, itemsize);
    }
    *numbered = (npyx_numbered){(int32_t)n, numbering->null >= 0, ranks, items};
    return NPYX_OK;
}

void npyx_numbering_free(npyx_numbering *numbering) {
    if (numbering == NULL)
        return;
    npyx_name_set_clear(&numbering->keys);
    npyx_buffer_clear(&numbering->items);
    npyx_buffer_clear(&numbering->key);
    npyx_free(numbering->host, numbering);
}

/* ---- labels ---- */

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
    npyx_status status = NPYX_OK;
    while (status == NPYX_OK && (status = npyx_blocks_next(&blocks, error)) == NPYX_OK)
        status = labels_add_block(labels, numbering, blocks.items, blocks.nelem, error);
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
        return npyx_refuse(error, "labels are numbers, dates or texts; these items are %s%s",
                           npyx_dtype_shown(view->dtype).name,
                           view->dtype->nfields > 0 ? "; npy_field(array, 'x') takes one field of them" : "");
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

npyx_status npyx_labels_find_axis(const npyx_labels *labels, const npyx_view *view, const bool *is_kept,
                                  int *axis, npyx_error *error) {
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
    else if (is_kept[*axis])
        return npyx_refuse(error, "by is for the entries of the first axis, which axis is to name, as in "
                                  "axis = 0 or axis = '[0, 1]'");
    return NPYX_OK;
}

static const int32_t label_0 = 0;
const npyx_label_runs npyx_one_label = {.numbers = &label_0, .nentries = 1, .run_nelem = INT64_MAX};

npyx_status npyx_labels_find_runs(const npyx_labels *labels, const npyx_view *view, const bool *is_kept,
                                  npyx_label_runs *runs, npyx_error *error) {
    int axis;
    NPYX_TRY(npyx_labels_find_axis(labels, view, is_kept, &axis, error));
    *runs = (npyx_label_runs){.numbers = labels->numbers, .nentries = 1, .run_nelem = 1};
    runs->first = axis < 0 ? view->fixed[0] : view->first[axis];
    if (axis >= 0) {
        runs->step = view->step[axis];
        runs->nentries = view->shape[axis];
    }
    for (int after = axis + 1; after < view->ndim; after++)
        runs->run_nelem *= is_kept[after] ? 1 : view->shape[after];
    return NPYX_OK;
}

void npyx_label_runs_read(const npyx_label_runs *runs, int64_t position, int64_t n, int32_t *labels) {
    if (n == 0)
        return;
    int64_t entry = position / runs->run_nelem % runs->nentries;
    int64_t left = runs->run_nelem - position % runs->run_nelem;
    for (int64_t i = 0; i < n; left = runs->run_nelem) {
        const int32_t label = npyx_label_runs_at(runs, entry);
        for (int64_t end = left < n - i ? i + left : n; i < end; i++)
            labels[i] = label;
        entry = entry + 1 == runs->nentries ? 0 : entry + 1;
    }
}

void npyx_labels_clear(npyx_labels *labels) {
    if (labels->host == NULL)
        return;
    npyx_buffer_clear(&labels->numbers_read);
    npyx_arena_clear(&labels->arena);
    *labels = (npyx_labels){0};
}
