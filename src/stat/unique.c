#include "unique.h"

#include "io/system.h"
#include "key_sort.h"

/* Of a block's table: places, keys at most, and keys that come at a time. */
#define UNIQUE_NPLACES     (1 << NPYX_UNIQUE_NBITS)
#define UNIQUE_MOST_N      (UNIQUE_NPLACES / 2)
#define UNIQUE_PIECE_NELEM (UNIQUE_NPLACES / 4)
enum { UNIQUE_MOST_NPLACES = 1 << NPYX_UNIQUE_NBITS_MOST, UNIQUE_MOST_PIECE_NELEM = UNIQUE_MOST_NPLACES / 4 };

/* ---- how often keys occur ---- */

enum { KEY_NBITS = 64 };

static npyx_status key_counts_fail_many(npyx_error *error) {
    return npyx_fail(error, NPYX_TOOBIG, -1, "has more than %d different values, which are not kept",
                     NPYX_MAX_NKEYS);
}

/* ---- the runs ---- */

/* Steps between two checks for an interrupt. */
enum { RUNS_POLL_N = 1 << 20 };

/* Merges the runs into n other sorted keys, each with its count, from the last one on: these arrays have room
 * for both. The counts of common keys are added up. *n: how many keys there are then. */
static npyx_status key_runs_merge(const npyx_key_counts *c, uint64_t *keys, int64_t *counts, int64_t *n,
                                  npyx_error *error) {
    const int64_t end = *n + c->n;
    int64_t at = end, i = *n, j = c->n;
    while (j > 0) {
        const bool takes_key = i > 0 && keys[i - 1] > c->keys[j - 1];
        const bool is_common = i > 0 && keys[i - 1] == c->keys[j - 1];
        const int64_t count =
            (takes_key ? 0 : c->counts[j - 1]) + (takes_key || is_common ? counts[i - 1] : 0);
        at--;
        keys[at] = takes_key ? keys[i - 1] : c->keys[j - 1];
        counts[at] = count;
        i -= takes_key || is_common;
        j -= !takes_key;
        if (at % RUNS_POLL_N == 0)
            NPYX_TRY(npyx_poll(c->host, error));
    }
    memmove(keys + i, keys + at, (size_t)(end - at) * sizeof *keys);
    memmove(counts + i, counts + at, (size_t)(end - at) * sizeof *counts);
    *n = i + end - at;
    return NPYX_OK;
}

/* Adds n sorted keys, each with its count, to the runs. Takes their arrays, which have room for the runs,
 * too; on failure, too. */
static npyx_status key_runs_take(npyx_key_counts *c, uint64_t *keys, int64_t *counts, int64_t n,
                                 npyx_error *error) {
    npyx_status status = key_runs_merge(c, keys, counts, &n, error);
    npyx_free(c->host, c->keys);
    npyx_free(c->host, c->counts);
    /* What is longer than the keys is given back; without memory for that it stays. */
    void *shorter_keys = npyx_resize_array(c->host, keys, n, sizeof *keys);
    void *shorter_counts = npyx_resize_array(c->host, counts, n, sizeof *counts);
    c->keys = shorter_keys == NULL ? keys : shorter_keys;
    c->counts = shorter_counts == NULL ? counts : shorter_counts;
    c->n = n;
    return status == NPYX_OK && n > NPYX_MAX_NKEYS ? key_counts_fail_many(error) : status;
}

/* ---- the table ---- */

typedef struct key_count {
    uint64_t key;
    int64_t count; /* 0: an empty place of the table */
    int64_t first; /* the place of the first, if wanted */
} key_count;

static int key_count_compare(const void *a, const void *b, const void *ctx) {
    uint64_t x = ((const key_count *)a)->key, y = ((const key_count *)b)->key;
    (void)ctx;
    return x < y ? -1 : x > y;
}

/* M. Dietzfelbinger et al., A Reliable Randomized Algorithm for the Closest-Pair Problem (1997): the high
 * bits of a product with a random odd number. */
static key_count *key_table_place(const npyx_key_counts *counts, uint64_t key) {
    const size_t mask = ((size_t)1 << counts->nbits) - 1;
    size_t place = (size_t)(key * counts->multiplier >> (KEY_NBITS - counts->nbits));
    while (counts->table[place].count > 0 && counts->table[place].key != key)
        place = (place + 1) & mask;
    return &counts->table[place];
}

static npyx_status key_table_grow(npyx_key_counts *counts, npyx_error *error) {
    key_count *old = counts->table;
    const size_t nold = old == NULL ? 0 : (size_t)1 << counts->nbits;
    const int nbits = old == NULL ? NPYX_KEY_TABLE_NBITS : counts->nbits + 1;
    key_count *table = npyx_alloc_array_zeroed(counts->host, (int64_t)1 << nbits, sizeof *table);
    NPYX_TRY(npyx_check_memory(table, error));
    counts->table = table;
    counts->nbits = nbits;
    for (size_t i = 0; i < nold; i++) {
        if (old[i].count > 0)
            *key_table_place(counts, old[i].key) = old[i];
    }
    npyx_free(counts->host, old);
    return NPYX_OK;
}

/* Adds a key that occurs count times, first at that place. Places of equal keys must increase. */
static npyx_status key_table_add(npyx_key_counts *counts, uint64_t key, int64_t count, int64_t first,
                                 npyx_error *error) {
    if (counts->table == NULL || counts->ntaken >= ((int64_t)3 << counts->nbits) / 4)
        NPYX_TRY(key_table_grow(counts, error));
    key_count *place = key_table_place(counts, key);
    if (place->count == 0) {
        if (counts->ntaken == NPYX_MAX_NKEYS)
            return key_counts_fail_many(error);
        *place = (key_count){.key = key, .first = first};
        counts->ntaken++;
    }
    place->count += count;
    return NPYX_OK;
}

/* Moves the table's keys to its beginning, in order. */
static npyx_status key_table_sort(npyx_key_counts *counts, npyx_error *error) {
    size_t n = 0;
    for (size_t i = 0; (int64_t)n < counts->ntaken; i++) {
        if (counts->table[i].count > 0)
            counts->table[n++] = counts->table[i];
    }
    return npyx_sort(counts->host, counts->table, n, sizeof *counts->table, key_count_compare, NULL, error);
}

/* Adds the table's keys to the runs, and frees it. */
static npyx_status key_table_empty(npyx_key_counts *c, npyx_error *error) {
    const int64_t n = c->ntaken;
    if (n == 0)
        return NPYX_OK;
    NPYX_TRY(key_table_sort(c, error));
    uint64_t *keys = npyx_alloc_array(c->host, n + c->n, sizeof *keys);
    int64_t *counts = npyx_alloc_array(c->host, n + c->n, sizeof *counts);
    c->firsts = c->wants_first ? npyx_alloc_array(c->host, n, sizeof *c->firsts) : NULL;
    if (keys == NULL || counts == NULL || (c->firsts == NULL && c->wants_first)) {
        npyx_free(c->host, keys);
        npyx_free(c->host, counts);
        return npyx_fail_nomem(error);
    }
    for (int64_t i = 0; i < n; i++) {
        keys[i] = c->table[i].key;
        counts[i] = c->table[i].count;
        if (c->wants_first) /* then there are no other keys */
            c->firsts[i] = c->table[i].first;
    }
    npyx_free(c->host, c->table);
    c->table = NULL;
    c->ntaken = 0;
    return key_runs_take(c, keys, counts, n, error);
}

/* ---- the list ---- */

enum { KEY_LIST_MOST_NKEYS = 2 * NPYX_MAX_NKEYS };

/* Counts equal keys of a sorted list, and adds the counts to the runs, whose arrays the list's become. */
static npyx_status key_list_empty(npyx_key_counts *c, npyx_error *error) {
    uint64_t *keys = c->list;
    int64_t *counts = (int64_t *)(void *)c->room, n = 0; /* nothing is sorted any more */
    for (int64_t i = 0; i < c->nlisted; i++) {
        if (i % RUNS_POLL_N == 0)
            NPYX_TRY(npyx_poll(c->host, error));
        if (n > 0 && keys[n - 1] == keys[i]) {
            counts[n - 1]++;
        } else {
            keys[n] = keys[i];
            counts[n++] = 1;
        }
    }
    c->list = c->room = NULL;
    c->nlisted = c->list_nkeys = 0;
    return key_runs_take(c, keys, counts, n, error);
}

/* Whether most of the sorted keys of the list are different. */
static npyx_status key_list_is_distinct(const npyx_key_counts *c, bool *is_distinct, npyx_error *error) {
    int64_t ndifferent = 1;
    for (int64_t i = 1; i < c->nlisted; i++) {
        ndifferent += c->list[i] != c->list[i - 1];
        if (i % RUNS_POLL_N == 0)
            NPYX_TRY(npyx_poll(c->host, error));
    }
    *is_distinct = ndifferent >= c->nlisted / 4 * 3;
    return NPYX_OK;
}

/* Makes the list one of nkeys, which keeps those in it. Beside them there is room for the runs. */
static npyx_status key_list_resize(npyx_key_counts *c, int64_t nkeys, npyx_error *error) {
    npyx_free(c->host, c->room);
    c->room = npyx_alloc_array(c->host, nkeys + c->n, sizeof *c->room);
    uint64_t *list = npyx_resize_array(c->host, c->list, nkeys + c->n, sizeof *c->list);
    if (list != NULL) {
        c->list = list;
        c->list_nkeys = nkeys;
    }
    if (c->room == NULL || list == NULL)
        return npyx_fail_nomem(error);
    npyx_system_use_large_pages(c->list, (size_t)nkeys * sizeof *c->list);
    npyx_system_use_large_pages(c->room, (size_t)nkeys * sizeof *c->room);
    return NPYX_OK;
}

/* Makes room in the list for one of nmore keys. A full one in which most keys are different is made longer,
 * so that most keys are sorted last, and no runs are merged; any other becomes runs. */
static npyx_status key_list_grow(npyx_key_counts *c, int64_t nmore, npyx_error *error) {
    if (c->nlisted < c->list_nkeys)
        return NPYX_OK;
    if (c->nlisted > 0) {
        NPYX_TRY(npyx_keys_sort(c->host, c->list, c->nlisted, c->room, error));
        bool is_distinct;
        NPYX_TRY(key_list_is_distinct(c, &is_distinct, error));
        if (c->nlisted == KEY_LIST_MOST_NKEYS || !is_distinct)
            NPYX_TRY(key_list_empty(c, error));
    }
    int64_t nkeys = c->n > NPYX_KEY_LIST_NKEYS ? c->n : NPYX_KEY_LIST_NKEYS;
    if (c->nlisted > 0)
        nkeys = c->nlisted < KEY_LIST_MOST_NKEYS / 2 ? 2 * c->nlisted : KEY_LIST_MOST_NKEYS;
    return key_list_resize(c, nkeys < c->nlisted + nmore ? nkeys : c->nlisted + nmore, error);
}

/* Adds n keys; nmore: these, and those that may follow. */
static npyx_status key_list_add(npyx_key_counts *c, const uint64_t *keys, int64_t n, int64_t nmore,
                                npyx_error *error) {
    for (int64_t nadded; n > 0; keys += nadded, n -= nadded, nmore -= nadded) {
        NPYX_TRY(key_list_grow(c, nmore, error));
        const int64_t nfree = c->list_nkeys - c->nlisted;
        nadded = n < nfree ? n : nfree;
        memcpy(c->list + c->nlisted, keys, (size_t)nadded * sizeof *keys);
        c->nlisted += nadded;
    }
    return NPYX_OK;
}

/* ---- either ---- */

/* Adds n keys, the first of which is at place, the next one after it, and so on. */
static npyx_status key_counts_add(npyx_key_counts *counts, const uint64_t *keys, int64_t n, int64_t place,
                                  npyx_error *error) {
    for (int64_t i = 0, begin = 0; i < n; begin = i) {
        if (!counts->wants_first && counts->ntaken >= NPYX_KEY_TABLE_MOST_N)
            NPYX_TRY(key_table_empty(counts, error));
        if (counts->n > 0) /* there are many: the table was given up once */
            return key_list_add(counts, keys + i, n - i, counts->nitems - place - i, error);
        while (i < n && keys[i] == keys[begin])
            i++;
        NPYX_TRY(key_table_add(counts, keys[begin], i - begin, place + begin, error));
    }
    return NPYX_OK;
}

/* Ends the adding: from now on keys, and their counts and firsts, are in order. Polls the host. */
static npyx_status key_counts_finish(npyx_key_counts *counts, npyx_error *error) {
    if (counts->nlisted > 0) {
        NPYX_TRY(npyx_keys_sort(counts->host, counts->list, counts->nlisted, counts->room, error));
        NPYX_TRY(key_list_empty(counts, error));
    }
    return key_table_empty(counts, error);
}

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

/* Counts keys that are places, if all are; the block's first keys decide where these begin. Neighbours go to
 * different tables: with equal ones the second would wait for the first. */
static bool unique_count_near(const uint64_t *keys, int64_t n, unique_block *block) {
    uint64_t least = UINT64_MAX, greatest = 0;
    for (int64_t i = 0; i < n; i++) {
        least = keys[i] < least ? keys[i] : least;
        greatest = keys[i] > greatest ? keys[i] : greatest;
    }
    if (!block->has_near && n > 0) {
        const uint64_t below = UNIQUE_NPLACES / 2;
        block->has_near = greatest - least < below;
        block->base = least < below ? 0 : least - below;
    }
    if (!block->has_near || least < block->base || greatest - block->base >= UNIQUE_NPLACES)
        return false;
    for (int64_t i = 0; i + 1 < n; i += 2) {
        block->near[keys[i] - block->base]++;
        block->near_too[keys[i + 1] - block->base]++;
    }
    if (n % 2 != 0)
        block->near[keys[n - 1] - block->base]++;
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
            NPYX_TRY(key_table_add(counts, place->key, place->count, position + place->first, error));
        if (nnear > 0)
            NPYX_TRY(key_table_add(counts, block->base + i, nnear, position, error));
    }
    return NPYX_OK;
}

/* Adds all keys of a block that has many different ones, or that no thread has counted. */
static npyx_status unique_add_items(npyx_unique *unique, const uint8_t *items, int64_t nelem,
                                    int64_t position, npyx_error *error) {
    const npyx_order_keys *order = &unique->order;
    uint64_t keys[UNIQUE_MOST_PIECE_NELEM];
    for (int64_t n; nelem > 0; nelem -= n, position += n, items += n * order->dtype->itemsize) {
        n = nelem < UNIQUE_PIECE_NELEM ? nelem : UNIQUE_PIECE_NELEM;
        int64_t nkeys = npyx_order_keys_read(order, items, n, keys);
        unique->nnulls += n - nkeys;
        if (nkeys == n || !unique->wants_first) {
            NPYX_TRY(key_counts_add(&unique->counts, keys, nkeys, position, error));
            continue;
        }
        for (int64_t i = 0; i < n; i++) {
            if (npyx_order_keys_read(order, items + i * order->dtype->itemsize, 1, keys) > 0)
                NPYX_TRY(key_counts_add(&unique->counts, keys, 1, position + i, error));
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
    while (status == NPYX_OK && (status = npyx_blocks_next(&blocks, error)) == NPYX_OK) {
        const unique_block *block = blocks.reader.result;
        status = block != NULL && !block->is_many
                     ? unique_add_block(unique, block, blocks.position, error)
                     : unique_add_items(unique, blocks.items, blocks.nelem, blocks.position, error);
    }
    npyx_blocks_clear(&blocks);
    if (status == NPYX_DONE)
        status = key_counts_finish(&unique->counts, error);
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
        NPYX_TRY(key_counts_add(&unique->counts, keys, n, position, error));
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
        NPYX_TRY(key_table_add(&pairs->unique->counts, unique_pair(label, number), pairs->runs.run_nelem,
                               position, error));
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
    key_count *pairs = npyx_alloc_array(unique->host, counts->n, sizeof *pairs);
    NPYX_TRY(npyx_check_memory(pairs, error));
    for (int64_t i = 0; i < counts->n; i++)
        pairs[i] = (key_count){.key = unique_pair((int64_t)(counts->keys[i] >> 32),
                                                  unique->values.ranks[(uint32_t)counts->keys[i]]),
                               .count = counts->counts[i],
                               .first = counts->firsts == NULL ? 0 : counts->firsts[i]};
    npyx_status status =
        npyx_sort(unique->host, pairs, (size_t)counts->n, sizeof *pairs, key_count_compare, NULL, error);
    for (int64_t i = 0; i < counts->n; i++) {
        counts->keys[i] = pairs[i].key;
        counts->counts[i] = pairs[i].count;
        if (counts->firsts != NULL)
            counts->firsts[i] = pairs[i].first;
    }
    npyx_free(unique->host, pairs);
    return status;
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
    NPYX_TRY(key_counts_finish(&unique->counts, error));
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
    unique->counts = (npyx_key_counts){.host = host,
                                       .wants_first = wants_first,
                                       .nitems = npyx_view_nelem(view),
                                       .multiplier = npyx_hash_name(host, "key counts", 10) | 1};
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

int64_t npyx_unique_count(const npyx_unique *unique, int64_t i) {
    return i == unique->counts.n ? unique->nnulls : unique->counts.counts[i];
}

int64_t npyx_unique_first(const npyx_unique *unique, int64_t i) {
    return i == unique->counts.n ? unique->first_null : unique->counts.firsts[i];
}

void npyx_unique_clear(npyx_unique *unique) {
    if (unique->host == NULL)
        return;
    npyx_free(unique->host, unique->counts.table);
    npyx_free(unique->host, unique->counts.list);
    npyx_free(unique->host, unique->counts.room);
    npyx_free(unique->host, unique->counts.keys);
    npyx_free(unique->host, unique->counts.counts);
    npyx_free(unique->host, unique->counts.firsts);
    npyx_numbering_free(unique->numbering);
    npyx_arena_clear(&unique->arena);
    *unique = (npyx_unique){0};
}
