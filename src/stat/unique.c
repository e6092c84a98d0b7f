#include "unique.h"

enum {
    UNIQUE_NPLACES = 1 << 12, /* of the table of a block */
    UNIQUE_MOST_N = UNIQUE_NPLACES / 2,
    UNIQUE_NBITS = 12,
    UNIQUE_PIECE_NELEM = 1 << 10,
    UNIQUE_BLOCK_NBYTES = 1 << 19
};

/* ---- numbers, a block at a time ---- */

typedef struct unique_place {
    uint64_t key;
    uint32_t count; /* 0: it is free */
    uint32_t first; /* in the block */
} unique_place;

/* What a thread makes of a block. */
typedef struct unique_block {
    bool is_many; /* more are different than UNIQUE_MOST_N: nothing of the rest is known */
    int32_t n;
    int64_t nnulls, first_null; /* -1: none is */
    unique_place places[UNIQUE_NPLACES];
} unique_block;

typedef struct unique_pass {
    npyx_unique *unique;
    bool wants_first;
} unique_pass;

static void unique_count_key(const unique_pass *pass, uint64_t key, uint32_t position, unique_block *block) {
    uint32_t at = (uint32_t)(key * pass->unique->numbers.multiplier >> (64 - UNIQUE_NBITS));
    while (block->places[at].count > 0 && block->places[at].key != key)
        at = (at + 1) % UNIQUE_NPLACES;
    unique_place *place = &block->places[at];
    if (place->count++ == 0) {
        place->key = key;
        place->first = position;
        block->n++;
    }
}

/* Positions are those of items where all have keys. */
static void unique_count_keys(const unique_pass *pass, const uint64_t *keys, int64_t n, int64_t position,
                              unique_block *block) {
    for (int64_t i = 0; i < n; i++)
        unique_count_key(pass, keys[i], (uint32_t)(position + i), block);
}

/* Items with NaN among them, whose places are wanted: one by one. */
static void unique_count_items(const unique_pass *pass, const uint8_t *items, int64_t n, int64_t position,
                               unique_block *block) {
    const npyx_order_keys *how = &pass->unique->keys;
    for (int64_t i = 0; i < n; i++) {
        uint64_t key;
        if (npyx_order_keys_read(how, items + i * how->dtype->itemsize, 1, &key) > 0)
            unique_count_key(pass, key, (uint32_t)(position + i), block);
        else if (block->first_null < 0)
            block->first_null = position + i;
    }
}

static void unique_run(const void *ctx, int64_t off, const uint8_t *bytes, size_t nbytes, void *memory) {
    (void)off;
    const unique_pass *pass = ctx;
    const npyx_order_keys *how = &pass->unique->keys;
    unique_block *block = memory;
    const int64_t nelem = (int64_t)nbytes / how->dtype->itemsize;
    uint64_t keys[UNIQUE_PIECE_NELEM];
    memset(block, 0, sizeof *block);
    block->first_null = -1;
    for (int64_t i = 0, n; i < nelem && !block->is_many; i += n) {
        n = nelem - i < UNIQUE_PIECE_NELEM ? nelem - i : UNIQUE_PIECE_NELEM;
        const uint8_t *items = bytes + i * how->dtype->itemsize;
        const int64_t nkeys = npyx_order_keys_read(how, items, n, keys);
        if (nkeys < n && pass->wants_first)
            unique_count_items(pass, items, n, i, block);
        else
            unique_count_keys(pass, keys, nkeys, i, block);
        block->nnulls += n - nkeys;
        block->is_many = block->n > UNIQUE_MOST_N - UNIQUE_PIECE_NELEM;
    }
}

/* ---- all blocks of numbers ---- */

static void unique_note_null(npyx_unique *unique, int64_t place) {
    if (unique->first_null < 0)
        unique->first_null = place;
}

static npyx_status unique_add_block(npyx_unique *unique, const unique_block *block, int64_t position,
                                    npyx_error *error) {
    unique->nnulls += block->nnulls;
    if (block->first_null >= 0)
        unique_note_null(unique, position + block->first_null);
    for (int32_t i = 0; i < UNIQUE_NPLACES; i++) {
        const unique_place *place = &block->places[i];
        if (place->count > 0)
            NPYX_TRY(npyx_key_counts_add_many(&unique->numbers, place->key, place->count,
                                              position + place->first, error));
    }
    return NPYX_OK;
}

/* A block of many different ones, or one that nobody has looked at: all of its keys. */
static npyx_status unique_add_items(npyx_unique *unique, const uint8_t *items, int64_t nelem,
                                    int64_t position, bool wants_first, npyx_error *error) {
    const npyx_order_keys *how = &unique->keys;
    uint64_t keys[UNIQUE_PIECE_NELEM];
    for (int64_t n; nelem > 0; nelem -= n, position += n, items += n * how->dtype->itemsize) {
        n = nelem < UNIQUE_PIECE_NELEM ? nelem : UNIQUE_PIECE_NELEM;
        int64_t nkeys = npyx_order_keys_read(how, items, n, keys);
        unique->nnulls += n - nkeys;
        if (nkeys == n || !wants_first) {
            NPYX_TRY(npyx_key_counts_add(&unique->numbers, keys, nkeys, position, error));
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            if (npyx_order_keys_read(how, items + i * how->dtype->itemsize, 1, keys) > 0)
                NPYX_TRY(npyx_key_counts_add(&unique->numbers, keys, 1, position + i, error));
            else
                unique_note_null(unique, position + i);
        }
    }
    return NPYX_OK;
}

static npyx_status unique_read_numbers(npyx_unique *unique, npyx_source *source, const npyx_view *view,
                                       bool wants_first, npyx_error *error) {
    const unique_pass pass = {unique, wants_first};
    npyx_blocks blocks = {0};
    npyx_blocks_begin(&blocks, source, view);
    if (!blocks.is_done)
        npyx_reader_set_work(&blocks.reader, (npyx_work){.run = unique_run,
                                                         .ctx = &pass,
                                                         .result_nbytes = sizeof(unique_block),
                                                         .block_nbytes = UNIQUE_BLOCK_NBYTES});
    npyx_status status;
    for (int64_t position = 0; (status = npyx_blocks_next(&blocks, error)) == NPYX_OK;
         position += blocks.nelem) {
        const unique_block *block = blocks.reader.result;
        if (block != NULL && !block->is_many)
            status = unique_add_block(unique, block, position, error);
        else
            status = unique_add_items(unique, blocks.items, blocks.nelem, position, wants_first, error);
        if (status != NPYX_OK)
            break;
    }
    npyx_blocks_clear(&blocks);
    if (status == NPYX_DONE)
        status = npyx_key_counts_finish(&unique->numbers, error);
    unique->n = unique->numbers.n;
    return status;
}

/* ---- texts and bytes ---- */

static npyx_status unique_add_text(npyx_unique *unique, const uint8_t *item, npyx_buffer *key,
                                   int64_t *number, npyx_error *error) {
    NPYX_TRY(npyx_label_key(unique->dtype, item, key, error));
    *number = npyx_name_set_find(&unique->texts, key->bytes, key->nbytes, NULL);
    if (*number >= 0)
        return NPYX_OK;
    *number = unique->texts.count;
    if (*number == NPYX_MAX_NKEYS)
        return npyx_fail(error, NPYX_TOOBIG, -1, "has more than %d different values, which are not kept",
                         NPYX_MAX_NKEYS);
    npyx_key_count *counts =
        npyx_grow(unique->host, unique->text_counts, *number, &unique->text_capacity, sizeof *counts);
    NPYX_TRY(npyx_check_memory(counts, error));
    unique->text_counts = counts;
    NPYX_TRY(npyx_name_set_add(&unique->texts, key->bytes, key->nbytes, error));
    npyx_buffer_append(&unique->items, item, (size_t)unique->dtype->itemsize);
    counts[*number] = (npyx_key_count){.key = (uint64_t)*number, .first = -1};
    return npyx_buffer_check(&unique->items, error);
}

static npyx_status unique_add_texts(npyx_unique *unique, const uint8_t *items, int64_t nelem,
                                    int64_t position, npyx_buffer *key, npyx_error *error) {
    const size_t itemsize = (size_t)unique->dtype->itemsize;
    int64_t number = -1;
    for (int64_t i = 0; i < nelem; i++, items += itemsize) {
        if (number < 0 || memcmp(items, items - itemsize, itemsize) != 0)
            NPYX_TRY(unique_add_text(unique, items, key, &number, error));
        npyx_key_count *count = &unique->text_counts[number];
        if (count->count++ == 0)
            count->first = position + i;
    }
    return NPYX_OK;
}

static int unique_compare_texts(const void *a, const void *b, const void *ctx) {
    const npyx_name_set *texts = ctx;
    size_t nbytes, b_nbytes;
    const char *text = npyx_name_set_text(texts, (int64_t)((const npyx_key_count *)a)->key, &nbytes);
    return memcmp(text, npyx_name_set_text(texts, (int64_t)((const npyx_key_count *)b)->key, &b_nbytes),
                  nbytes);
}

/* Texts without bytes are all the same, however many are claimed. */
static npyx_status unique_read_empty(npyx_unique *unique, int64_t nelem, npyx_error *error) {
    npyx_buffer key = {.host = unique->host};
    int64_t number;
    npyx_status status =
        nelem == 0 ? NPYX_OK : unique_add_text(unique, (const uint8_t *)"", &key, &number, error);
    if (status == NPYX_OK && nelem > 0)
        unique->text_counts[0] = (npyx_key_count){.count = nelem};
    npyx_buffer_clear(&key);
    return status;
}

static npyx_status unique_read_texts(npyx_unique *unique, npyx_source *source, const npyx_view *view,
                                     npyx_error *error) {
    npyx_buffer key = {.host = unique->host};
    npyx_blocks blocks = {0};
    npyx_status status;
    npyx_blocks_begin(&blocks, source, view);
    for (int64_t position = 0; (status = npyx_blocks_next(&blocks, error)) == NPYX_OK;
         position += blocks.nelem) {
        status = unique_add_texts(unique, blocks.items, blocks.nelem, position, &key, error);
        if (status != NPYX_OK)
            break;
    }
    npyx_blocks_clear(&blocks);
    npyx_buffer_clear(&key);
    return status == NPYX_DONE ? NPYX_OK : status;
}

static npyx_status unique_make_texts(npyx_unique *unique, npyx_source *source, const npyx_view *view,
                                     npyx_error *error) {
    if (unique->dtype->itemsize == 0)
        NPYX_TRY(unique_read_empty(unique, npyx_view_nelem(view), error));
    else
        NPYX_TRY(unique_read_texts(unique, source, view, error));
    unique->n = unique->texts.count;
    return npyx_sort(unique->host, unique->text_counts, (size_t)unique->n, sizeof *unique->text_counts,
                     unique_compare_texts, &unique->texts, error);
}

/* ---- all ---- */

npyx_status npyx_unique_make(npyx_unique *unique, npyx_source *source, const npyx_view *view,
                             bool wants_first, npyx_error *error) {
    npyx_host *host = source->host;
    const npyx_dtype *dtype = view->dtype;
    npyx_view sorted = *view;
    *unique = (npyx_unique){
        .host = host, .dtype = dtype, .first_null = -1, .items.host = host, .texts.bytes.host = host};
    npyx_key_counts_init(&unique->numbers, host, wants_first);
    if (!wants_first && npyx_view_nelem(view) > 0)
        npyx_view_sort_axes(&sorted);
    if (dtype->type == NPYX_TEXT || dtype->type == NPYX_BYTES)
        return unique_make_texts(unique, source, &sorted, error);
    if (!npyx_dtype_is_real(dtype) && !npyx_type_is_date(dtype->type))
        return npyx_refuse(error, "npy_unique is of numbers, dates, texts and bytes; these items are %s",
                           npyx_dtype_shown(dtype).name);
    NPYX_TRY(npyx_order_keys_of(dtype, "values", &unique->keys, error));
    return unique_read_numbers(unique, source, &sorted, wants_first, error);
}

const uint8_t *npyx_unique_item(const npyx_unique *unique, int64_t i, uint8_t room[NPYX_ORDER_ITEM_NBYTES]) {
    if (unique->text_counts != NULL)
        return (const uint8_t *)unique->items.bytes +
               unique->text_counts[i].key * (size_t)unique->dtype->itemsize;
    npyx_order_key_item(&unique->keys, unique->numbers.keys[i], room);
    return room;
}

void npyx_unique_clear(npyx_unique *unique) {
    if (unique->host == NULL)
        return;
    npyx_key_counts_clear(&unique->numbers);
    npyx_name_set_clear(&unique->texts);
    npyx_buffer_clear(&unique->items);
    npyx_free(unique->host, unique->text_counts);
    *unique = (npyx_unique){0};
}
