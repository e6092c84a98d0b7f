#include "unique.h"

#include "key_sort.h"

/* Of a block's table: places, keys at most, and keys that come at a time. */
#define UNIQUE_NPLACES     (1 << NPYX_UNIQUE_NBITS)
#define UNIQUE_MOST_N      (UNIQUE_NPLACES / 2)
#define UNIQUE_PIECE_NELEM (UNIQUE_NPLACES / 4)
enum { UNIQUE_MOST_NPLACES = 1 << NPYX_UNIQUE_NBITS_MOST, UNIQUE_MOST_PIECE_NELEM = UNIQUE_MOST_NPLACES / 4 };

/* ---- numbers, a block at a time ---- */

typedef struct unique_place {
    uint64_t key;
    uint32_t count; /* 0: empty */
    uint32_t first; /* in the block */
} unique_place;

/* A thread's result of a block. Keys near each other, such as small integers, are places themselves: near[0]
 * counts the key base. All others are in a hash table. */
typedef struct unique_block {
    bool is_many; /* more than UNIQUE_MOST_N may be different: the rest was not counted */
    bool has_near;
    int32_t n;                  /* in the table */
    int64_t nnulls, first_null; /* -1: none */
    uint64_t base;
    uint32_t near[UNIQUE_MOST_NPLACES], near_too[UNIQUE_MOST_NPLACES];
    unique_place places[UNIQUE_MOST_NPLACES];
} unique_block;

static void unique_count_key(const npyx_unique *unique, uint64_t key, uint32_t position,
                             unique_block *block) {
    uint32_t at = (uint32_t)(key * unique->counts.multiplier >> (64 - NPYX_UNIQUE_NBITS));
    while (block->places[at].count > 0 && block->places[at].key != key)
        at = (at + 1) % UNIQUE_NPLACES;
    unique_place *place = &block->places[at];
    if (place->count++ == 0) {
        place->key = key;
        place->first = position;
        block->n++;
    }
}

/* Decides by a block's first keys where its places begin. */
static void unique_place_near(const uint64_t *keys, int64_t n, unique_block *block) {
    const uint64_t below = UNIQUE_NPLACES / 2;
    uint64_t least, greatest;
    npyx_keys_range(keys, n, &least, &greatest);
    block->has_near = greatest - least < below;
    block->base = least < below ? 0 : least - below;
}

/* The bits of all places that keys would have. */
static uint64_t unique_bits(const uint64_t *keys, int64_t n, uint64_t base) {
    typedef uint64_t pair __attribute__((vector_size(16)));
    const pair bases = {base, base};
    pair low = {0}, high = {0}, next[2];
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        memcpy(next, keys + i, sizeof next);
        low |= next[0] - bases;
        high |= next[1] - bases;
    }
    low |= high;
    uint64_t bits = low[0] | low[1];
    for (; i < n; i++)
        bits |= keys[i] - base;
    return bits;
}

/* Counts keys that are places, if all are. Neighbours go to different tables: with equal ones the second
 * would wait for the first. */
static bool unique_count_near(const uint64_t *keys, int64_t n, unique_block *block) {
    if (!block->has_near)
        unique_place_near(keys, n, block);
    const uint64_t base = block->base;
    if (!block->has_near || unique_bits(keys, n, base) >= UNIQUE_NPLACES)
        return false;
    for (int64_t i = 0; i + 1 < n; i += 2) {
        block->near[keys[i] - base]++;
        block->near_too[keys[i + 1] - base]++;
    }
    if (n % 2 != 0)
        block->near[keys[n - 1] - base]++;
    return true;
}

/* Positions are those of the items, if all have keys. */
static void unique_count_keys(const npyx_unique *unique, const uint64_t *keys, int64_t n, int64_t position,
                              unique_block *block) {
    if (n == 0 || (!unique->wants_first && unique_count_near(keys, n, block)))
        return;
    for (int64_t i = 0; i < n; i++)
        unique_count_key(unique, keys[i], (uint32_t)(position + i), block);
}

/* Counts items with NaN among them whose places are wanted, one by one. */
static void unique_count_items(const npyx_unique *unique, const uint8_t *items, int64_t n, int64_t position,
                               unique_block *block) {
    const npyx_order_keys *order = &unique->order;
    for (int64_t i = 0; i < n; i++) {
        uint64_t key;
        if (npyx_order_keys_read(order, items + i * order->dtype->itemsize, 1, &key) > 0)
            unique_count_key(unique, key, (uint32_t)(position + i), block);
        else if (block->first_null < 0)
            block->first_null = position + i;
    }
}

static void unique_run(const void *ctx, int64_t first, const uint8_t *bytes, size_t nbytes, void *memory) {
    (void)first;
    const npyx_unique *unique = ctx;
    const npyx_order_keys *order = &unique->order;
    unique_block *block = memory;
    const int64_t nelem = (int64_t)nbytes / order->dtype->itemsize;
    uint64_t keys[UNIQUE_MOST_PIECE_NELEM];
    memset(block, 0, sizeof *block);
    block->first_null = -1;
    for (int64_t i = 0, n; i < nelem && !block->is_many; i += n) {
        n = nelem - i < UNIQUE_PIECE_NELEM ? nelem - i : UNIQUE_PIECE_NELEM;
        const uint8_t *items = bytes + i * order->dtype->itemsize;
        const int64_t nkeys = npyx_order_keys_read(order, items, n, keys);
        if (nkeys < n && unique->wants_first)
            unique_count_items(unique, items, n, i, block);
        else
            unique_count_keys(unique, keys, nkeys, i, block);
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
    npyx_key_counts *counts = &unique->counts;
    unique->nnulls += block->nnulls;
    if (block->first_null >= 0)
        unique_note_null(unique, position + block->first_null);
    for (uint32_t i = 0; i < UNIQUE_NPLACES; i++) {
        const unique_place *place = &block->places[i];
        const int64_t nnear = (int64_t)block->near[i] + block->near_too[i];
        if (place->count > 0)
            NPYX_TRY(
                npyx_key_counts_add_many(counts, place->key, place->count, position + place->first, error));
        if (nnear > 0)
            NPYX_TRY(npyx_key_counts_add_many(counts, block->base + i, nnear, position, error));
    }
    return NPYX_OK;
}

/* Adds all keys of a block that has many different ones. */
static npyx_status unique_add_items(npyx_unique *unique, const uint8_t *items, int64_t nelem,
                                    int64_t position, npyx_error *error) {
    const npyx_order_keys *order = &unique->order;
    uint64_t keys[UNIQUE_MOST_PIECE_NELEM];
    for (int64_t n; nelem > 0; nelem -= n, position += n, items += n * order->dtype->itemsize) {
        n = nelem < UNIQUE_PIECE_NELEM ? nelem : UNIQUE_PIECE_NELEM;
        int64_t nkeys = npyx_order_keys_read(order, items, n, keys);
        unique->nnulls += n - nkeys;
        if (nkeys == n || !unique->wants_first) {
            NPYX_TRY(npyx_key_counts_add(&unique->counts, keys, nkeys, position, error));
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            if (npyx_order_keys_read(order, items + i * order->dtype->itemsize, 1, keys) > 0)
                NPYX_TRY(npyx_key_counts_add(&unique->counts, keys, 1, position + i, error));
            else
                unique_note_null(unique, position + i);
        }
    }
    return NPYX_OK;
}

static npyx_status unique_make_numbers(npyx_unique *unique, npyx_source *source, const npyx_view *view,
                                       npyx_error *error) {
    npyx_blocks blocks = {0};
    npyx_blocks_begin(&blocks, source, view);
    if (!blocks.is_done)
        npyx_reader_set_work(&blocks.reader, (npyx_work){.run = unique_run,
                                                         .ctx = unique,
                                                         .result_nbytes = sizeof(unique_block),
                                                         .block_nbytes = NPYX_UNIQUE_BLOCK_NBYTES});
    npyx_status status = NPYX_OK;
    unique_block *own = NULL;
    bool is_many = false; /* those that no thread counts: the rest is not tried */
    while (status == NPYX_OK && (status = npyx_blocks_next(&blocks, error)) == NPYX_OK) {
        const unique_block *block = blocks.reader.result;
        if (block == NULL && !is_many && blocks.nelem >= UNIQUE_NPLACES) { /* no thread has counted it */
            own = own == NULL ? npyx_alloc(unique->host, sizeof *own) : own;
            if ((status = npyx_check_memory(own, error)) != NPYX_OK)
                break;
            unique_run(unique, 0, blocks.items, (size_t)(blocks.nelem * view->dtype->itemsize), own);
            is_many = own->is_many;
            block = own;
        }
        status = block != NULL && !block->is_many
                     ? unique_add_block(unique, block, blocks.position, error)
                     : unique_add_items(unique, blocks.items, blocks.nelem, blocks.position, error);
    }
    npyx_free(unique->host, own);
    npyx_blocks_clear(&blocks);
    if (status == NPYX_DONE)
        status = npyx_key_counts_finish(&unique->counts, error);
    unique->nrows = unique->counts.n + (unique->nnulls > 0);
    return status;
}

/* ---- pairs of a label and a value: texts, and whatever is counted by labels ---- */

typedef struct unique_pairs {
    npyx_unique *unique;
    const npyx_view *view;
    npyx_label_runs runs;
} unique_pairs;

static uint64_t unique_pair(int64_t label, int32_t number) {
    return (uint64_t)label << 32 | (uint32_t)number;
}

static npyx_status unique_add_pairs(const unique_pairs *pairs, const uint8_t *items, int64_t nelem,
                                    int64_t position, npyx_error *error) {
    npyx_unique *unique = pairs->unique;
    int32_t numbers[UNIQUE_MOST_PIECE_NELEM], labels[UNIQUE_MOST_PIECE_NELEM];
    uint64_t keys[UNIQUE_MOST_PIECE_NELEM];
    for (int64_t n; nelem > 0; nelem -= n, position += n, items += n * unique->dtype->itemsize) {
        n = nelem < UNIQUE_PIECE_NELEM ? nelem : UNIQUE_PIECE_NELEM;
        npyx_label_runs_read(&pairs->runs, position, n, labels);
        NPYX_TRY(npyx_numbering_read(unique->numbering, items, n, numbers, error));
        for (int64_t i = 0; i < n; i++)
            keys[i] = unique_pair(labels[i], numbers[i]);
        NPYX_TRY(npyx_key_counts_add(&unique->counts, keys, n, position, error));
    }
    return NPYX_OK;
}

/* Texts without bytes are all equal, however many are claimed: counts a whole entry's at once. */
static npyx_status unique_add_empty(const unique_pairs *pairs, npyx_error *error) {
    int32_t number, label;
    const int64_t nelem = npyx_view_nelem(pairs->view);
    if (nelem > 0)
        NPYX_TRY(npyx_numbering_read(pairs->unique->numbering, (const uint8_t *)"", 1, &number, error));
    for (int64_t position = 0; position < nelem; position += pairs->runs.run_nelem) {
        npyx_label_runs_read(&pairs->runs, position, 1, &label);
        NPYX_TRY(npyx_key_counts_add_many(&pairs->unique->counts, unique_pair(label, number),
                                          pairs->runs.run_nelem, position, error));
    }
    return NPYX_OK;
}

static npyx_status unique_read_pairs(const unique_pairs *pairs, npyx_source *source, npyx_error *error) {
    npyx_blocks blocks = {0};
    npyx_status status = NPYX_OK;
    npyx_blocks_begin(&blocks, source, pairs->view);
    while (status == NPYX_OK && (status = npyx_blocks_next(&blocks, error)) == NPYX_OK)
        status = unique_add_pairs(pairs, blocks.items, blocks.nelem, blocks.position, error);
    npyx_blocks_clear(&blocks);
    return status == NPYX_DONE ? NPYX_OK : status;
}

/* Replaces the values' numbers, in order of occurrence, by their ranks. */
static npyx_status unique_sort_pairs(npyx_unique *unique, npyx_error *error) {
    npyx_key_counts *counts = &unique->counts;
    for (int64_t i = 0; i < counts->n; i++)
        counts->keys[i] =
            unique_pair((int64_t)(counts->keys[i] >> 32), unique->values.ranks[(uint32_t)counts->keys[i]]);
    return npyx_key_counts_sort(counts, error);
}

static npyx_status unique_make_pairs(npyx_unique *unique, npyx_source *source, const npyx_view *view,
                                     const npyx_labels *labels, npyx_error *error) {
    static const bool is_kept[NPYX_MAX_NDIM] = {false};
    unique_pairs pairs = {.unique = unique, .view = view, .runs = npyx_one_label};
    pairs.runs.run_nelem = npyx_view_nelem(view);
    if (labels != NULL)
        NPYX_TRY(npyx_labels_find_runs(labels, view, is_kept, &pairs.runs, error));
    NPYX_TRY(npyx_numbering_make(&unique->numbering, unique->host, unique->dtype, NPYX_MAX_NKEYS,
                                 "which are not kept", error));
    NPYX_TRY(unique->dtype->itemsize == 0 ? unique_add_empty(&pairs, error)
                                          : unique_read_pairs(&pairs, source, error));
    NPYX_TRY(npyx_key_counts_finish(&unique->counts, error));
    NPYX_TRY(npyx_numbering_sort(unique->numbering, &unique->arena, &unique->values, error));
    unique->nrows = unique->counts.n;
    return unique_sort_pairs(unique, error);
}

/* ---- all ---- */

npyx_status npyx_unique_make(npyx_unique *unique, npyx_source *source, const npyx_view *view,
                             const npyx_labels *labels, bool wants_first, npyx_error *error) {
    npyx_host *host = source->host;
    const npyx_dtype *dtype = view->dtype;
    npyx_view sorted = *view;
    *unique = (npyx_unique){
        .host = host, .dtype = dtype, .wants_first = wants_first, .first_null = -1, .arena.host = host};
    npyx_key_counts_init(&unique->counts, host, npyx_view_nelem(view), wants_first);
    if (!npyx_numbering_takes(dtype))
        return npyx_refuse(error, "npy_unique needs numbers, dates, texts or bytes; these items are %s",
                           npyx_dtype_shown(dtype).name);
    if (!wants_first && labels == NULL && npyx_view_nelem(view) > 0)
        npyx_view_sort_axes(&sorted);
    if (labels != NULL || dtype->type == NPYX_TEXT || dtype->type == NPYX_BYTES)
        return unique_make_pairs(unique, source, &sorted, labels, error);
    NPYX_TRY(npyx_order_keys_of(dtype, "values", &unique->order, error));
    return unique_make_numbers(unique, source, &sorted, error);
}

int64_t npyx_unique_label(const npyx_unique *unique, int64_t i) {
    return unique->numbering == NULL ? 0 : (int64_t)(unique->counts.keys[i] >> 32);
}

const uint8_t *npyx_unique_item(const npyx_unique *unique, int64_t i, uint8_t room[NPYX_ORDER_ITEM_NBYTES]) {
    const npyx_numbered *values = &unique->values;
    if (unique->numbering != NULL) {
        uint32_t rank = (uint32_t)unique->counts.keys[i];
        bool is_null = values->has_null && rank == (uint32_t)values->n - 1;
        return is_null ? NULL : values->items + rank * (size_t)unique->dtype->itemsize;
    }
    if (i == unique->counts.n)
        return NULL;
    npyx_order_key_item(&unique->order, unique->counts.keys[i], room);
    return room;
}

int64_t npyx_unique_first(const npyx_unique *unique, int64_t i) {
    return i == unique->counts.n ? unique->first_null : unique->counts.firsts[i];
}

void npyx_unique_clear(npyx_unique *unique) {
    if (unique->host == NULL)
        return;
    npyx_key_counts_clear(&unique->counts);
    npyx_numbering_free(unique->numbering);
    npyx_arena_clear(&unique->arena);
    *unique = (npyx_unique){0};
}
