/*
 * Each item becomes a key: bytes that are the same for what is equal and whose order is the labels'. A table
 * numbers the keys as they come, and is asked once for a run of equal items, or for one that was met lately.
 * Sorted in the end, the keys tell which number each label is to have.
 */
#include "labels.h"

#include "base/names.h"
#include "item/convert.h"

enum {
    LABEL_NUMBER_NBYTES = 8, /* of a number's key */
    LABELS_LATELY = 1 << 10,
    LABELS_LATELY_NBYTES = 8, /* items longer than this are not remembered */
    LABELS_POLLED_NELEM = 1 << 20
};

/* Items as they lie in the file, and the number of their key. */
typedef struct label_lately {
    uint64_t item;
    int64_t number; /* -1: none */
} label_lately;

typedef struct labels_reading {
    npyx_labels *labels;
    const npyx_dtype *dtype;
    npyx_name_set keys;
    npyx_buffer items; /* the first item of each key */
    npyx_buffer key;   /* of the item at hand */
    label_lately lately[LABELS_LATELY];
} labels_reading;

/* ---- keys ---- */

/* Numbers whose order as unsigned ones is the items'; that of NaN and NaT is the greatest. */
static uint64_t label_number_key(const npyx_dtype *dtype, const uint8_t *item) {
    const uint64_t sign = (uint64_t)1 << 63;
    npyx_form form = npyx_type_is_date(dtype->type) ? NPYX_FORM_I64 : npyx_block_form(dtype->type);
    npyx_block block;
    npyx_block_room room;
    if (npyx_type_is_date(dtype->type)) {
        uint64_t count = npyx_load_u64(item, dtype->is_big_endian);
        return count == sign ? UINT64_MAX : count ^ sign;
    }
    if (form == NPYX_FORM_I64 || form == NPYX_FORM_U64) {
        const uint8_t *staged = npyx_block_stage(&room, dtype->type, dtype->is_big_endian, item, 0, 1);
        npyx_block_loader(dtype->type, form)(staged, &block);
        return form == NPYX_FORM_U64 ? block.u64[0] : block.u64[0] ^ sign;
    }
    npyx_block_reals(dtype->type, dtype->is_big_endian, item, 0, 1, block.f64);
    double real = block.f64[0] == 0 ? 0 : block.f64[0];
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return isnan(real) ? UINT64_MAX : bits >> 63 ? ~bits : bits | sign;
}

npyx_status npyx_label_key(const npyx_dtype *dtype, const uint8_t *item, npyx_buffer *key,
                           npyx_error *error) {
    npyx_buffer_reset(key);
    if (dtype->type == NPYX_BYTES) {
        npyx_buffer_append(key, item, (size_t)dtype->itemsize);
    } else if (dtype->type == NPYX_TEXT) { /* code points, the most significant byte first */
        for (int64_t off = 0; off < dtype->itemsize; off += 4) {
            uint32_t point = npyx_load_u32(item + off, dtype->is_big_endian);
            for (int shift = 24; shift >= 0; shift -= 8)
                npyx_buffer_append_char(key, (char)(point >> shift));
        }
    } else {
        uint64_t number = label_number_key(dtype, item);
        for (int shift = 56; shift >= 0; shift -= 8)
            npyx_buffer_append_char(key, (char)(number >> shift));
    }
    return npyx_buffer_check(key, error);
}

/* ---- numbers as they come ---- */

static npyx_status label_look_up(labels_reading *reading, const uint8_t *item, int64_t *number,
                                 npyx_error *error) {
    NPYX_TRY(npyx_label_key(reading->dtype, item, &reading->key, error));
    *number = npyx_name_set_find(&reading->keys, reading->key.bytes, reading->key.nbytes, NULL);
    if (*number >= 0)
        return NPYX_OK;
    *number = reading->keys.count;
    if (*number == NPYX_MAX_NLABELS)
        return npyx_fail(error, NPYX_TOOBIG, -1,
                         "has more than %d different values, for each of which statistics are kept",
                         NPYX_MAX_NLABELS);
    NPYX_TRY(npyx_name_set_add(&reading->keys, reading->key.bytes, reading->key.nbytes, error));
    npyx_buffer_append(&reading->items, item, (size_t)reading->dtype->itemsize);
    return npyx_buffer_check(&reading->items, error);
}

/* The same, but for an item that was met lately: of a few labels nearly all are. */
static npyx_status label_number(labels_reading *reading, const uint8_t *item, int64_t *number,
                                npyx_error *error) {
    int64_t itemsize = reading->dtype->itemsize;
    uint64_t bits = 0;
    if (itemsize > LABELS_LATELY_NBYTES)
        return label_look_up(reading, item, number, error);
    memcpy(&bits, item, (size_t)itemsize);
    label_lately *lately = &reading->lately[bits * 0x9e3779b97f4a7c15u >> 54];
    _Static_assert(LABELS_LATELY == 1 << (64 - 54), "the hash is an index");
    if (lately->number < 0 || lately->item != bits) {
        NPYX_TRY(label_look_up(reading, item, number, error));
        *lately = (label_lately){bits, *number};
    }
    *number = lately->number;
    return NPYX_OK;
}

static npyx_status labels_add_block(labels_reading *reading, const uint8_t *items, int64_t nelem,
                                    npyx_error *error) {
    npyx_buffer *numbers = &reading->labels->numbers_read;
    int64_t number = 0;
    if (!npyx_buffer_reserve(numbers, (size_t)nelem * sizeof(int32_t)))
        return npyx_buffer_check(numbers, error);
    for (int64_t i = 0; i < nelem; i++, items += reading->dtype->itemsize) {
        NPYX_TRY(label_number(reading, items, &number, error));
        int32_t narrow = (int32_t)number;
        memcpy(numbers->bytes + numbers->nbytes, &narrow, sizeof narrow);
        numbers->nbytes += sizeof narrow;
    }
    reading->labels->nentries += nelem;
    return NPYX_OK;
}

static npyx_status labels_read_blocks(labels_reading *reading, npyx_source *source, const npyx_view *view,
                                      npyx_error *error) {
    npyx_blocks blocks = {0};
    npyx_blocks_begin(&blocks, source, view);
    npyx_status status;
    while ((status = npyx_blocks_next(&blocks, error)) == NPYX_OK) {
        status = labels_add_block(reading, blocks.items, blocks.nelem, error);
        if (status != NPYX_OK)
            break;
    }
    npyx_blocks_clear(&blocks);
    return status == NPYX_DONE ? NPYX_OK : status;
}

/* ---- and in increasing order ---- */

static int label_compare(const void *a, const void *b, const void *ctx) {
    const npyx_name_set *keys = ctx;
    size_t nbytes, b_nbytes;
    const char *key = npyx_name_set_text(keys, *(const int32_t *)a, &nbytes);
    return memcmp(key, npyx_name_set_text(keys, *(const int32_t *)b, &b_nbytes), nbytes);
}

static npyx_status labels_sort(labels_reading *reading, npyx_error *error) {
    npyx_labels *labels = reading->labels;
    const size_t nlabels = (size_t)reading->keys.count, itemsize = (size_t)reading->dtype->itemsize;
    int32_t *order = npyx_arena_alloc(&labels->arena, nlabels * sizeof *order);
    int32_t *ranks = npyx_arena_alloc(&labels->arena, nlabels * sizeof *ranks);
    uint8_t *items = npyx_arena_alloc(&labels->arena, nlabels * itemsize);
    if (order == NULL || ranks == NULL || items == NULL)
        return npyx_fail_nomem(error);
    for (size_t i = 0; i < nlabels; i++)
        order[i] = (int32_t)i;
    NPYX_TRY(npyx_sort(labels->host, order, nlabels, sizeof *order, label_compare, &reading->keys, error));
    for (size_t i = 0; i < nlabels; i++) {
        ranks[order[i]] = (int32_t)i;
        if (itemsize > 0)
            memcpy(items + i * itemsize, reading->items.bytes + (size_t)order[i] * itemsize, itemsize);
    }
    int32_t *numbers = (int32_t *)(void *)labels->numbers_read.bytes;
    for (int64_t i = 0; i < labels->nentries; i++) {
        numbers[i] = ranks[numbers[i]];
        if (i % LABELS_POLLED_NELEM == 0)
            NPYX_TRY(npyx_poll(labels->host, error));
    }
    labels->numbers = numbers;
    labels->items = items;
    labels->nlabels = (int64_t)nlabels;
    return NPYX_OK;
}

static npyx_status labels_check(const npyx_view *view, npyx_error *error) {
    npyx_type type = view->dtype->type;
    bool is_label =
        npyx_dtype_is_real(view->dtype) || npyx_type_is_date(type) || type == NPYX_BYTES || type == NPYX_TEXT;
    if (!is_label)
        return npyx_refuse(error, "labels are numbers, dates or texts; these items are %s",
                           npyx_dtype_shown(view->dtype).name);
    if (view->ndim != 1)
        return npyx_refuse(error, "labels are an array of one axis; this one has %d", view->ndim);
    return NPYX_OK;
}

npyx_status npyx_labels_read(npyx_labels *labels, npyx_source *source, const npyx_view *view,
                             npyx_error *error) {
    npyx_host *host = source->host;
    *labels = (npyx_labels){.host = host, .arena.host = host, .numbers_read.host = host};
    NPYX_TRY(labels_check(view, error));
    labels->dtype = npyx_dtype_copy(&labels->arena, view->dtype);
    NPYX_TRY(npyx_check_memory(labels->dtype, error));
    labels_reading *reading = npyx_alloc_zeroed(host, sizeof *reading);
    NPYX_TRY(npyx_check_memory(reading, error));
    reading->labels = labels;
    reading->dtype = labels->dtype;
    reading->keys.bytes.host = reading->items.host = reading->key.host = host;
    for (int i = 0; i < LABELS_LATELY; i++)
        reading->lately[i].number = -1;
    npyx_status status = labels_read_blocks(reading, source, view, error);
    if (status == NPYX_OK)
        status = labels_sort(reading, error);
    npyx_name_set_clear(&reading->keys);
    npyx_buffer_clear(&reading->items);
    npyx_buffer_clear(&reading->key);
    npyx_free(host, reading);
    return status;
}

void npyx_labels_clear(npyx_labels *labels) {
    if (labels->host == NULL)
        return;
    npyx_buffer_clear(&labels->numbers_read);
    npyx_arena_clear(&labels->arena);
    *labels = (npyx_labels){0};
}
