#include "sketch.h"

#include <math.h>

#include "base/bytes.h"
#include "base/siphash.h"
#include "order.h"

static const uint8_t sketch_magic[8] = {0x93, 'N', 'P', 'Y', 'K', 'L', 'L', 1};

enum { SKETCH_HEAD_NBYTES = 40, SKETCH_LEAST_CAPACITY = 8 };

/* The greatest number of items in a sketch: all capacities together are less. */
static int64_t sketch_most_nitems(const npyx_sketch *sketch) {
    return 3 * sketch->k + SKETCH_LEAST_CAPACITY * NPYX_SKETCH_NLEVELS;
}

void npyx_sketch_init(npyx_sketch *sketch, npyx_host *host, int64_t k) {
    *sketch = (npyx_sketch){.host = host, .k = k, .nlevels = 1};
}

void npyx_sketch_end(npyx_sketch *sketch) {
    for (int h = 0; h < sketch->nlevels; h++)
        npyx_free(sketch->host, sketch->levels[h].items);
    *sketch = (npyx_sketch){0};
}

/* Makes room for this many more items. */
static npyx_status sketch_reserve(npyx_sketch *sketch, npyx_sketch_level *level, int64_t more,
                                  npyx_error *error) {
    if (level->n + more <= level->room)
        return NPYX_OK;
    double *grown = npyx_alloc_array(sketch->host, level->n + more, sizeof *grown);
    NPYX_TRY(npyx_check_memory(grown, error));
    if (level->n > 0)
        memcpy(grown, level->items, (size_t)level->n * sizeof *grown);
    npyx_free(sketch->host, level->items);
    level->items = grown;
    level->room = level->n + more;
    return NPYX_OK;
}

/* ---- of an array ---- */

npyx_status npyx_sketch_check(const npyx_dtype *dtype, npyx_error *error) {
    npyx_order_keys keys;
    if (npyx_type_is_date(dtype->type))
        return npyx_refuse(error, "sketches need numbers; these items are %s", npyx_dtype_shown(dtype).name);
    return npyx_order_keys_of(dtype, "sketches", &keys, error);
}

/* The ranks of a sketch's items among n in order: of runs of 2^h, at most 2k of them with the least h, and,
 * for what is left of n, of ever shorter runs. The rank is the middle of each run. */
static int64_t sketch_list_ranks(npyx_sketch *sketch, int64_t n, int64_t *ranks) {
    int64_t count = 0, at = 0;
    int h = 0;
    while (n >> h > 2 * sketch->k)
        h++;
    sketch->nlevels = h + 1;
    for (; h >= 0; h--) {
        const int64_t run = (int64_t)1 << h, nruns = (n - at) >> h;
        sketch->levels[h].n = nruns;
        for (int64_t i = 0; i < nruns; i++, at += run)
            ranks[count++] = at + (run - 1) / 2;
    }
    return count;
}

static npyx_status sketch_take_ranks(npyx_sketch *sketch, npyx_order *order, npyx_error *error) {
    const int64_t nkeys = npyx_order_nkeys(order, 0);
    npyx_arena arena = {.host = sketch->host};
    const size_t most = (size_t)(2 * sketch->k + NPYX_SKETCH_NLEVELS + 2);
    int64_t *ranks = npyx_arena_array(&arena, (int64_t)most, sizeof *ranks);
    uint64_t *found = npyx_arena_array(&arena, (int64_t)most, sizeof *found);
    npyx_status status = ranks == NULL || found == NULL ? npyx_fail_nomem(error) : NPYX_OK;
    int64_t count = 0, at = 1;
    if (status == NPYX_OK) {
        ranks[0] = 0;
        count = 1 + sketch_list_ranks(sketch, nkeys, ranks + 1);
        ranks[count++] = nkeys - 1;
        status = npyx_order_find(order, NULL, ranks, count, found, error);
    }
    sketch->n = nkeys;
    for (int h = sketch->nlevels - 1; h >= 0; h--) {
        npyx_sketch_level *level = &sketch->levels[h];
        const int64_t n = level->n;
        level->n = 0;
        if (status == NPYX_OK)
            status = sketch_reserve(sketch, level, n, error);
        for (; status == NPYX_OK && level->n < n; level->n++)
            level->items[level->n] = npyx_order_key_real(&order->keys, found[at++]);
    }
    if (status == NPYX_OK) {
        sketch->least = npyx_order_key_real(&order->keys, found[0]);
        sketch->greatest = npyx_order_key_real(&order->keys, found[count - 1]);
    }
    npyx_arena_clear(&arena);
    return status;
}

npyx_status npyx_sketch_read(npyx_sketch *sketch, npyx_source *source, const npyx_view *view,
                             npyx_error *error) {
    npyx_order order;
    npyx_order_keys keys;
    NPYX_TRY(npyx_order_keys_of(view->dtype, "sketches", &keys, error));
    npyx_status status = npyx_order_init(&order, sketch->host, 1, error);
    /* so many places that no sample is taken: the runs' middles are everywhere */
    if (status == NPYX_OK)
        status = npyx_order_read(&order, source, view, &keys, NULL, NULL, INT64_MAX, error);
    if (status == NPYX_OK && npyx_order_nkeys(&order, 0) > 0)
        status = sketch_take_ranks(sketch, &order, error);
    npyx_order_end(&order);
    return status;
}

/* ---- bytes ---- */

static npyx_status sketch_fail(npyx_error *error, size_t off, const char *what) {
    return npyx_fail(error, NPYX_CORRUPT, (int64_t)off, "no sketch, which npy_sketch makes: %s", what);
}

/* Reads the items of a level, which must be in order and between the ends. */
static npyx_status sketch_parse_level(npyx_sketch *sketch, npyx_sketch_level *level, int64_t n,
                                      const uint8_t *bytes, size_t off, npyx_error *error) {
    NPYX_TRY(sketch_reserve(sketch, level, n, error));
    double last = sketch->least;
    for (; level->n < n; level->n++) {
        const double item = npyx_load_f64(bytes + off + (size_t)level->n * sizeof item, false);
        if (!(item >= last && item <= sketch->greatest))
            return sketch_fail(error, off + (size_t)level->n * sizeof item, "its items are not in order");
        level->items[level->n] = last = item;
    }
    return NPYX_OK;
}

static npyx_status sketch_parse_head(npyx_sketch *sketch, const uint8_t *bytes, size_t nbytes,
                                     npyx_error *error) {
    if (nbytes < SKETCH_HEAD_NBYTES || memcmp(bytes, sketch_magic, sizeof sketch_magic) != 0)
        return sketch_fail(error, 0, "it does not begin like one");
    sketch->k = npyx_load_u32(bytes + 8, false);
    if (sketch->k < NPYX_SKETCH_MIN_K || sketch->k > NPYX_SKETCH_MAX_K)
        return sketch_fail(error, 8, "its k is out of bounds");
    const uint32_t nlevels = npyx_load_u32(bytes + 12, false);
    if (nlevels < 1 || nlevels > NPYX_SKETCH_NLEVELS || nbytes < SKETCH_HEAD_NBYTES + 4 * (size_t)nlevels)
        return sketch_fail(error, 12, "its number of levels is out of bounds");
    sketch->nlevels = (int)nlevels;
    sketch->n = (int64_t)npyx_load_u64(bytes + 16, false);
    sketch->least = npyx_load_f64(bytes + 24, false);
    sketch->greatest = npyx_load_f64(bytes + 32, false);
    if (isnan(sketch->least) || isnan(sketch->greatest))
        return sketch_fail(error, 24, "its ends are not numbers");
    return NPYX_OK;
}

npyx_status npyx_sketch_parse(npyx_sketch *sketch, const uint8_t *bytes, size_t nbytes, npyx_error *error) {
    NPYX_TRY(sketch_parse_head(sketch, bytes, nbytes, error));
    const uint8_t *sizes = bytes + SKETCH_HEAD_NBYTES;
    size_t off = SKETCH_HEAD_NBYTES + 4 * (size_t)sketch->nlevels;
    int64_t n = 0, left = sketch_most_nitems(sketch);
    for (int h = 0; h < sketch->nlevels; h++) {
        const int64_t size = npyx_load_u32(sizes + 4 * (size_t)h, false);
        if ((uint64_t)size > (nbytes - off) / sizeof(double))
            return sketch_fail(error, SKETCH_HEAD_NBYTES + 4 * (size_t)h, "it ends before its items do");
        if ((left -= size) < 0)
            return sketch_fail(error, SKETCH_HEAD_NBYTES + 4 * (size_t)h,
                               "it has more items than its k allows");
        NPYX_TRY(sketch_parse_level(sketch, &sketch->levels[h], size, bytes, off, error));
        off += (size_t)size * sizeof(double);
        if (size > INT64_MAX >> h || !npyx_add_i64(n, size << h, &n))
            return sketch_fail(error, 16, "its items stand for too many");
    }
    if (off != nbytes)
        return sketch_fail(error, off, "bytes follow it");
    return n == sketch->n ? NPYX_OK : sketch_fail(error, 16, "its items stand for more or less than it says");
}

void npyx_sketch_append(const npyx_sketch *sketch, npyx_buffer *out) {
    uint8_t head[SKETCH_HEAD_NBYTES];
    memcpy(head, sketch_magic, sizeof sketch_magic);
    npyx_store_u32(head + 8, (uint32_t)sketch->k, false);
    npyx_store_u32(head + 12, (uint32_t)sketch->nlevels, false);
    npyx_store_u64(head + 16, (uint64_t)sketch->n, false);
    npyx_store_f64(head + 24, sketch->least, false);
    npyx_store_f64(head + 32, sketch->greatest, false);
    npyx_buffer_append(out, head, sizeof head);
    for (int h = 0; h < sketch->nlevels; h++) {
        uint8_t size[4];
        npyx_store_u32(size, (uint32_t)sketch->levels[h].n, false);
        npyx_buffer_append(out, size, sizeof size);
    }
    for (int h = 0; h < sketch->nlevels; h++) {
        for (int64_t i = 0; i < sketch->levels[h].n; i++) {
            uint8_t item[sizeof(double)];
            npyx_store_f64(item, sketch->levels[h].items[i], false);
            npyx_buffer_append(out, item, sizeof item);
        }
    }
}

/* ---- merging ---- */

/* Merges items that are in order into a level. */
static npyx_status sketch_add_items(npyx_sketch *sketch, npyx_sketch_level *level, const double *items,
                                    int64_t n, npyx_error *error) {
    NPYX_TRY(sketch_reserve(sketch, level, n, error));
    int64_t left = level->n; /* from the end, where there is room */
    level->n += n;
    for (int64_t to = level->n - 1; n > 0; to--) {
        const bool is_new = left == 0 || items[n - 1] >= level->items[left - 1];
        level->items[to] = is_new ? items[--n] : level->items[--left];
    }
    return NPYX_OK;
}

/* The greatest number of items of level h: k for the last level, and for each before it two thirds of the
 * next. */
static int64_t sketch_capacity(const npyx_sketch *sketch, int h) {
    double capacity = (double)sketch->k;
    for (int above = h + 1; above < sketch->nlevels; above++)
        capacity *= 2.0 / 3;
    return capacity > SKETCH_LEAST_CAPACITY ? (int64_t)ceil(capacity) : SKETCH_LEAST_CAPACITY;
}

/* The lowest level with more items than it may have, if all together have too many; else -1. */
static int sketch_full_level(const npyx_sketch *sketch) {
    int64_t nitems = 0, most = 0;
    int full = -1;
    for (int h = sketch->nlevels - 1; h >= 0; h--) {
        const int64_t capacity = sketch_capacity(sketch, h);
        nitems += sketch->levels[h].n;
        most += capacity;
        full = sketch->levels[h].n > capacity ? h : full;
    }
    return nitems > most ? full : -1;
}

/* Moves half of a level's items up. If their number is odd the least one stays. */
static npyx_status sketch_halve(npyx_sketch *sketch, int h, npyx_error *error) {
    static const uint8_t key[NPYX_SIPHASH_KEY_NBYTES] = {0};
    npyx_sketch_level *level = &sketch->levels[h];
    const int64_t first = level->n % 2, half = level->n / 2;
    if (h + 1 == NPYX_SKETCH_NLEVELS)
        return npyx_refuse(error, "the sketches stand for more items than can be counted");
    int64_t coin = 0;
    for (int64_t i = 0; i < level->n; i++) { /* from the items' bits, whatever the order of their bytes */
        uint8_t pair[2 * sizeof(uint64_t)];
        npyx_store_u64(pair, (uint64_t)coin, false);
        npyx_store_f64(pair + sizeof(uint64_t), level->items[i], false);
        coin = (int64_t)npyx_siphash(key, pair, sizeof pair);
    }
    for (int64_t i = 0; i < half; i++)
        level->items[first + i] = level->items[first + 2 * i + (coin & 1)];
    sketch->nlevels += h + 1 == sketch->nlevels;
    NPYX_TRY(sketch_add_items(sketch, &sketch->levels[h + 1], level->items + first, half, error));
    level->n = first;
    return NPYX_OK;
}

npyx_status npyx_sketch_merge(npyx_sketch *sketch, const npyx_sketch *other, npyx_error *error) {
    int64_t n;
    sketch->k = other->k < sketch->k ? other->k : sketch->k;
    if (other->n == 0)
        return NPYX_OK;
    if (!npyx_add_i64(sketch->n, other->n, &n))
        return npyx_refuse(error, "the sketches stand for more items than can be counted");
    sketch->least = sketch->n == 0 || other->least < sketch->least ? other->least : sketch->least;
    sketch->greatest =
        sketch->n == 0 || other->greatest > sketch->greatest ? other->greatest : sketch->greatest;
    sketch->n = n;
    sketch->nlevels = other->nlevels > sketch->nlevels ? other->nlevels : sketch->nlevels;
    for (int h = 0; h < other->nlevels; h++)
        NPYX_TRY(
            sketch_add_items(sketch, &sketch->levels[h], other->levels[h].items, other->levels[h].n, error));
    for (int full; (full = sketch_full_level(sketch)) >= 0;)
        NPYX_TRY(sketch_halve(sketch, full, error));
    return NPYX_OK;
}

/* ---- queries ---- */

double npyx_sketch_quantile(const npyx_sketch *sketch, double q) {
    const double place = ceil(q * (double)sketch->n); /* as in NumPy's inverted_cdf */
    int64_t at[NPYX_SKETCH_NLEVELS] = {0}, nbelow = 0;
    if (q <= 0 || place < 1)
        return sketch->least;
    while (q < 1) { /* through all items in order */
        int next = -1;
        for (int h = 0; h < sketch->nlevels; h++) {
            const npyx_sketch_level *level = &sketch->levels[h];
            if (at[h] < level->n && (next < 0 || level->items[at[h]] < sketch->levels[next].items[at[next]]))
                next = h;
        }
        if (next < 0)
            break; /* q * n was rounded up beyond n */
        nbelow += (int64_t)1 << next;
        if ((double)nbelow >= place)
            return sketch->levels[next].items[at[next]];
        at[next]++;
    }
    return sketch->greatest;
}
