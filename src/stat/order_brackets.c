/*
 * Order statistics in one pass: a sample shows about where the wanted keys are, and the pass counts all
 * others by the brackets that they are between.
 *
 *     keys      . . . . . . . . . . . . . . . . . . . . .
 *     brackets          |---|         |-----|               caught
 *     gaps        0             1                2          counted
 *
 * Nearly all items are far from a bracket. Those of the host's own dtypes are held against the ends of the
 * brackets, if there are few of these and the processor compares many items at once (order_bounds.h).
 * Otherwise a table gives their gap by their leading bits. What is in a bracket, or may be, is looked at
 * closer.
 */
#include <math.h>

#include "key_sort.h"
#include "order.h"
#include "order_bounds.h"

enum {
    BRACKETS_CLOSER = 255,
    BRACKETS_NULL = 254, /* no key */
    BRACKETS_NLANES = 4, /* an addition waits for the last one in the same place */
};

/* ---- lists of keys ---- */

npyx_status npyx_order_make_room(npyx_order *order, uint64_t **room, int64_t *nkeys, int64_t n,
                                 npyx_error *error) {
    if (*nkeys >= n && *room != NULL)
        return NPYX_OK;
    npyx_free(order->host, *room);
    *room = npyx_alloc_array(order->host, n > 0 ? n : 1, sizeof **room);
    *nkeys = n;
    return npyx_check_memory(*room, error);
}

npyx_status npyx_order_select(npyx_order *order, uint64_t *list, int64_t n, const int64_t *ranks,
                              int64_t nranks, uint64_t *found, npyx_error *error) {
    const bool are_few = nranks <= NPYX_ORDER_FEW_NRANKS;
    NPYX_TRY(npyx_keys_sort_ranks(order->host, list, n, are_few ? ranks : NULL, are_few ? nranks : 0, error));
    for (int64_t i = 0; i < nranks; i++)
        found[i] = list[ranks[i]];
    return NPYX_OK;
}

/* ---- passes ---- */

/* Does the work on a block for which no thread did it, or whose result had too little room. */
static void order_do_block(const npyx_order_pass *pass, const npyx_blocks *blocks, int64_t itemsize,
                           void *own) {
    const int64_t most = pass->part_nelem > 0 ? pass->part_nelem : blocks->nelem;
    for (int64_t i = 0, n; i < blocks->nelem; i += n) {
        n = blocks->nelem - i < most ? blocks->nelem - i : most;
        pass->work.run(pass->work.ctx, blocks->position + i, blocks->items + i * itemsize,
                       (size_t)(n * itemsize), own);
        if (own != NULL)
            (void)pass->add(pass->work.ctx, own);
    }
}

npyx_status npyx_order_go(const npyx_order *order, const npyx_order_pass *pass, npyx_error *error) {
    npyx_blocks blocks = {0};
    npyx_view view = order->view;
    void *own = NULL;
    if (npyx_view_nelem(&view) > 0 && !order->has_labels)
        npyx_view_sort_axes(&view); /* the order of the items does not matter */
    if (pass->part_nelem > 0) {
        own = npyx_alloc(order->host, pass->work.result_nbytes);
        NPYX_TRY(npyx_check_memory(own, error));
    }
    npyx_blocks_begin(&blocks, order->source, &view);
    if (!blocks.is_done && pass->has_threads)
        npyx_reader_set_work(&blocks.reader, pass->work);
    npyx_status status;
    while ((status = npyx_blocks_next(&blocks, error)) == NPYX_OK) {
        const void *result = blocks.reader.result;
        if (result == NULL || !pass->add(pass->work.ctx, result))
            order_do_block(pass, &blocks, view.dtype->itemsize, own);
    }
    npyx_blocks_clear(&blocks);
    npyx_free(order->host, own);
    return status == NPYX_DONE ? NPYX_OK : status;
}

/* ---- brackets ---- */

/* What the blocks add up to. */
typedef struct brackets_sums {
    int64_t ngaps[NPYX_ORDER_NBRACKETS + 1], nhits[NPYX_ORDER_NBRACKETS];
    int64_t ncaught; /* in the order's list */
    bool has_lost;   /* some found no room there */
} brackets_sums;

typedef struct brackets_pass {
    const npyx_order *order;
    int itemsize; /* if the marks are by the items' own leading bits; 0: by those of keys */
    int shift;    /* to the leading bits */
    uint8_t *marks;
    npyx_order_bounds_kernel *bounds_kernel; /* NULL: there are marks instead */
    npyx_order_bounds bounds;                /* of brackets that are next to each other */
    int firsts[NPYX_ORDER_MOST_NBOUNDS];     /* each pair's first bracket */
    brackets_sums *sums;
} brackets_pass;

/* A block's result. */
typedef struct brackets_result {
    int64_t ncaught; /* those beyond NPYX_BRACKETS_CAUGHT_NKEYS found no room */
    uint32_t ngaps[NPYX_ORDER_NBRACKETS + 1];
    uint32_t nhits[NPYX_ORDER_NBRACKETS];
    uint64_t caught[NPYX_BRACKETS_CAUGHT_NKEYS_MOST];
} brackets_result;

/* ---- a sample, and brackets from it ---- */

/* Lists the keys of pieces of the file, each at a random place in its part, so that they do not follow what
 * repeats in the file. */
static npyx_status brackets_sample(npyx_order *order, int64_t *nsampled, npyx_error *error) {
    npyx_blocks blocks = {0};
    npyx_view view = order->view;
    npyx_status status = NPYX_OK;
    const int64_t most = NPYX_ORDER_NKEYS / 4,
                  npieces = NPYX_BRACKETS_NPIECES < most ? NPYX_BRACKETS_NPIECES : most;
    const int64_t sample_nelem = NPYX_ORDER_NKEYS / 2 / npieces; /* half of the room */
    const int64_t part_nelem = npyx_view_nelem(&view) / npieces;
    uint64_t jitter = 1;
    npyx_view_sort_axes(&view);
    npyx_blocks_begin(&blocks, order->source, &view);
    *nsampled = 0;
    for (int64_t i = 0, nskipped; i < npieces && status == NPYX_OK; i++) {
        jitter = jitter * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        int64_t room_nelem = part_nelem - sample_nelem, n = sample_nelem;
        npyx_blocks_seek(&blocks, i * part_nelem + (int64_t)((jitter >> 33) % (uint64_t)room_nelem),
                         &nskipped);
        npyx_blocks_expect(&blocks, sample_nelem + nskipped);
        status = npyx_blocks_next(&blocks, error);
        if (status == NPYX_OK && blocks.nelem - nskipped < n)
            n = blocks.nelem - nskipped;
        if (status == NPYX_OK)
            *nsampled += npyx_order_keys_read(&order->keys, blocks.items + nskipped * view.dtype->itemsize, n,
                                              order->list + *nsampled);
    }
    npyx_blocks_clear(&blocks);
    return status;
}

/* The standard deviation of a place's position in the sample. */
static double brackets_deviation(double place, int64_t nsampled) {
    return sqrt(place * (1 - place) * (double)nsampled) + 1;
}

/* How many deviations wide brackets may be on both sides, so that the list has room for what they catch. */
static double brackets_width(const npyx_order *order, const double *places, int64_t nplaces,
                             int64_t nsampled) {
    const double most = 5, share = 0.8;
    double sum = 0;
    for (int64_t i = 0; i < nplaces; i++)
        sum += 2 * brackets_deviation(places[i], nsampled);
    double nkeys_each = (double)npyx_view_nelem(&order->view) / (double)nsampled;
    double width = share * NPYX_ORDER_NKEYS / (sum * nkeys_each);
    return width < most ? width : most;
}

/* Where a place is in the sample: from low to high. */
static void brackets_expect(double place, double width, int64_t nsampled, int64_t *low, int64_t *high) {
    double last = (double)(nsampled - 1), at = place * last;
    double margin = width * brackets_deviation(place, nsampled);
    *low = at - margin < 0 ? -1 : (int64_t)(at - margin); /* -1: from the very first key on */
    *high = at + margin > last ? nsampled : (int64_t)(at + margin);
}

/* Adds a bracket from low on, or from after the previous one. */
static void brackets_add(npyx_order *order, uint64_t low, uint64_t high) {
    const npyx_order_bracket *last = order->nbrackets == 0 ? NULL : &order->brackets[order->nbrackets - 1];
    if (last != NULL && high <= last->high)
        return;
    if (last != NULL && low <= last->high)
        low = last->high + 1;
    if (low <= high)
        order->brackets[order->nbrackets++] = (npyx_order_bracket){.low = low, .high = high};
}

/* Builds a bracket for each place, and others for only the keys at its ends: many items may be equal. Builds
 * none if the array is so large that they would be too narrow to be right. */
static npyx_status brackets_make(npyx_order *order, const double *places, int64_t nplaces,
                                 npyx_error *error) {
    const uint64_t last_key = UINT64_MAX >> (64 - order->keys.nbits);
    const double least_width = 2;
    int64_t ranks[2 * NPYX_ORDER_NPLACES], nranks = 0, nsampled = 0;
    NPYX_TRY(npyx_order_make_room(order, &order->list, &order->list_nkeys, NPYX_ORDER_NKEYS, error));
    NPYX_TRY(brackets_sample(order, &nsampled, error));
    double width = nsampled == 0 ? 0 : brackets_width(order, places, nplaces, nsampled);
    for (int64_t i = 0; i < nplaces && width >= least_width; i++, nranks += 2)
        brackets_expect(places[i], width, nsampled, &ranks[nranks], &ranks[nranks + 1]);
    if (nranks > 0)
        NPYX_TRY(npyx_keys_sort_ranks(order->host, order->list, nsampled, ranks, nranks, error));
    for (int64_t i = 0; i < nranks; i += 2) {
        const uint64_t low_key = ranks[i] < 0 ? 0 : order->list[ranks[i]];
        const uint64_t high_key = ranks[i + 1] == nsampled ? last_key : order->list[ranks[i + 1]];
        brackets_add(order, low_key, low_key);
        if (high_key > low_key) {
            brackets_add(order, low_key + 1, high_key - 1);
            brackets_add(order, high_key, high_key);
        }
    }
    return NPYX_OK;
}

/* ---- the table ---- */

/* Whether items of a dtype can be sorted out by their own leading bits. */
static bool brackets_takes_raw(const npyx_dtype *dtype) {
    switch (dtype->type) {
    case NPYX_F4:
    case NPYX_F8:
    case NPYX_I4:
    case NPYX_I8:
    case NPYX_U4:
    case NPYX_U8: return npyx_dtype_is_native(dtype);
    default: return false;
    }
}

/* The leading bits of the items whose keys have these. */
static uint32_t brackets_raw_of(const npyx_dtype *dtype, uint32_t leading) {
    const uint32_t top = (1u << NPYX_BRACKETS_NLEADING) / 2;
    switch (npyx_dtype_kind(dtype)) {
    case 'f': return leading & top ? leading ^ top : ~leading & ((1u << NPYX_BRACKETS_NLEADING) - 1);
    case 'i': return leading ^ top;
    default: return leading;
    }
}

/* Marks what the keys' order does not show: NaN has no key, and -0.0 is 0.0. */
static void brackets_mark_floats(const npyx_dtype *dtype, uint8_t *marks) {
    const uint32_t top = (1u << NPYX_BRACKETS_NLEADING) / 2;
    const int nexponent = dtype->type == NPYX_F8 ? 11 : 8, nfraction = NPYX_BRACKETS_NLEADING - 1 - nexponent;
    const uint32_t infinite = ((1u << nexponent) - 1) << nfraction;
    for (uint32_t fraction = 0; fraction < 1u << nfraction; fraction++)
        marks[infinite | fraction] = marks[top | infinite | fraction] =
            fraction == 0 ? BRACKETS_CLOSER : BRACKETS_NULL;
    marks[top] = BRACKETS_CLOSER;
}

static void brackets_mark(const brackets_pass *pass) {
    const npyx_order *order = pass->order;
    const npyx_dtype *dtype = order->keys.dtype;
    const int shift = order->keys.nbits - NPYX_BRACKETS_NLEADING;
    int k = 0;
    for (uint32_t leading = 0; leading < (1u << NPYX_BRACKETS_NLEADING); leading++) {
        const uint64_t low = (uint64_t)leading << shift, high = low | (((uint64_t)1 << shift) - 1);
        while (k < order->nbrackets && order->brackets[k].high < low)
            k++;
        bool is_near = k < order->nbrackets && order->brackets[k].low <= high;
        pass->marks[pass->itemsize > 0 ? brackets_raw_of(dtype, leading) : leading] =
            is_near ? BRACKETS_CLOSER : (uint8_t)k;
    }
    if (pass->itemsize > 0 && npyx_dtype_kind(dtype) == 'f')
        brackets_mark_floats(dtype, pass->marks);
}

/* ---- bounds ---- */

/* Makes bounds of brackets for items as they are: a pair for those next to each other. False: there are too
 * many, and marks are needed. */
static bool brackets_bound(brackets_pass *pass) {
    const npyx_order *order = pass->order;
    const uint64_t are_floats = npyx_dtype_kind(order->keys.dtype) == 'f';
    /* the keys that are no NaN: these have as many beyond the infinities */
    const uint64_t least = (are_floats << (order->keys.nbits == 64 ? 52 : 23)) - are_floats;
    const uint64_t greatest = (UINT64_MAX >> (64 - order->keys.nbits)) - least;
    npyx_order_bounds *bounds = &pass->bounds;
    for (int k = 0, end; k < order->nbrackets; k = end, bounds->n++) {
        for (end = k + 1; end < order->nbrackets; end++) {
            if (order->brackets[end].low != order->brackets[end - 1].high + 1)
                break;
        }
        if (bounds->n == NPYX_ORDER_MOST_NBOUNDS)
            return false;
        const uint64_t low = order->brackets[k].low, high = order->brackets[end - 1].high;
        npyx_order_key_item(&order->keys, low > least ? low : least, bounds->low[bounds->n]);
        npyx_order_key_item(&order->keys, high < greatest ? high : greatest, bounds->high[bounds->n]);
        pass->firsts[bounds->n] = k;
    }
    return true;
}

/* ---- the pass ---- */

/* The first bracket that contains the key or is above it. Branches would be mispredicted half of the time. */
static int brackets_seek(const npyx_order *order, uint64_t key) {
    const npyx_order_bracket *first = order->brackets;
    for (int n = order->nbrackets, half; n > 0; n -= half) {
        half = (n + 1) / 2;
        first += -(int)(key > first[half - 1].high) & half;
    }
    return (int)(first - order->brackets);
}

static void brackets_take_keys(const npyx_order *order, const uint64_t *keys, int64_t n,
                               brackets_result *result) {
    for (int64_t i = 0; i < n; i++) {
        const int k = brackets_seek(order, keys[i]);
        const npyx_order_bracket *bracket = &order->brackets[k];
        if (k == order->nbrackets || keys[i] < bracket->low) {
            result->ngaps[k]++;
            continue;
        }
        result->nhits[k]++;
        if (bracket->low == bracket->high)
            continue;
        if (result->ncaught < NPYX_BRACKETS_CAUGHT_NKEYS)
            result->caught[result->ncaught] = keys[i];
        result->ncaught++;
    }
}

/* For items that the table does not decide. */
static void brackets_take_items(const npyx_order *order, const void *items, int64_t n,
                                brackets_result *result) {
    uint64_t keys[2 * NPYX_BRACKETS_CLOSER_NELEM_MOST];
    brackets_take_keys(order, keys, npyx_order_keys_read(&order->keys, items, n, keys), result);
}

#define BRACKETS_RUN_RAW(name, type)                                                                         \
    static void name(const brackets_pass *pass, const uint8_t *items, int64_t nelem,                         \
                     brackets_result *result) {                                                              \
        uint32_t counts[BRACKETS_NLANES][256] = {{0}};                                                       \
        type closer[NPYX_BRACKETS_CLOSER_NELEM_MOST];                                                        \
        const uint8_t *marks = pass->marks;                                                                  \
        const int shift = pass->shift;                                                                       \
        int64_t ncloser = 0;                                                                                 \
        for (int64_t i = 0; i < nelem; i++) {                                                                \
            type raw;                                                                                        \
            memcpy(&raw, items + i * (int64_t)sizeof raw, sizeof raw);                                       \
            const uint8_t mark = marks[raw >> shift];                                                        \
            counts[i % BRACKETS_NLANES][mark]++;                                                             \
            closer[ncloser] = raw;                                                                           \
            ncloser += mark == BRACKETS_CLOSER;                                                              \
            if (ncloser == NPYX_BRACKETS_CLOSER_NELEM) {                                                     \
                brackets_take_items(pass->order, closer, ncloser, result);                                   \
                ncloser = 0;                                                                                 \
            }                                                                                                \
        }                                                                                                    \
        brackets_take_items(pass->order, closer, ncloser, result);                                           \
        for (int k = 0; k <= pass->order->nbrackets; k++) {                                                  \
            for (int lane = 0; lane < BRACKETS_NLANES; lane++)                                               \
                result->ngaps[k] += counts[lane][k];                                                         \
        }                                                                                                    \
    }
BRACKETS_RUN_RAW(brackets_run_u64, uint64_t)
BRACKETS_RUN_RAW(brackets_run_u32, uint32_t)

/* The gaps of a block whose hits are counted, by how many of its keys are at or above the pairs' lower
 * bounds. */
static void brackets_set_gaps(const brackets_pass *pass, int64_t nkeys, const int64_t *nfrom,
                              brackets_result *result) {
    int64_t n = nkeys;
    int bracket = 0;
    for (int k = 0; k < pass->bounds.n; k++) {
        const int end = k + 1 < pass->bounds.n ? pass->firsts[k + 1] : pass->order->nbrackets;
        result->ngaps[bracket] = (uint32_t)(n - nfrom[k]);
        for (n = nfrom[k]; bracket < end; bracket++)
            n -= result->nhits[bracket];
    }
    result->ngaps[bracket] = (uint32_t)n;
}

static void brackets_run_bounds(const brackets_pass *pass, const uint8_t *items, int64_t nelem,
                                brackets_result *result) {
    uint64_t room[2 * NPYX_BRACKETS_CLOSER_NELEM_MOST + NPYX_ORDER_BETWEEN_NMORE];
    uint8_t *between = (uint8_t *)room;
    int64_t nfrom[NPYX_ORDER_MOST_NBOUNDS] = {0}, nnan = 0, nbetween = 0;
    for (int64_t i = 0, n; i < nelem; i += n) {
        n = nelem - i < NPYX_BRACKETS_CLOSER_NELEM ? nelem - i : NPYX_BRACKETS_CLOSER_NELEM;
        nbetween += pass->bounds_kernel(&pass->bounds, items + i * pass->itemsize, n, nfrom, &nnan,
                                        between + nbetween * pass->itemsize);
        if (nbetween < NPYX_BRACKETS_CLOSER_NELEM && i + n < nelem)
            continue;
        brackets_take_items(pass->order, between, nbetween, result);
        nbetween = 0;
    }
    brackets_set_gaps(pass, nelem - nnan, nfrom, result);
}

static void brackets_run_keys(const brackets_pass *pass, const uint8_t *items, int64_t nelem,
                              brackets_result *result) {
    const npyx_order_keys *how = &pass->order->keys;
    uint64_t keys[NPYX_BRACKETS_PIECE_NELEM_MOST];
    for (int64_t n; nelem > 0; nelem -= n, items += n * how->dtype->itemsize) {
        n = nelem < NPYX_BRACKETS_PIECE_NELEM ? nelem : NPYX_BRACKETS_PIECE_NELEM;
        const int64_t nkeys = npyx_order_keys_read(how, items, n, keys);
        int64_t ncloser = 0;
        for (int64_t i = 0; i < nkeys; i++) {
            const uint8_t mark = pass->marks[keys[i] >> pass->shift];
            if (mark == BRACKETS_CLOSER)
                keys[ncloser++] = keys[i];
            else
                result->ngaps[mark]++;
        }
        brackets_take_keys(pass->order, keys, ncloser, result);
    }
}

static void brackets_run(const void *ctx, int64_t first, const uint8_t *bytes, size_t nbytes, void *memory) {
    (void)first;
    const brackets_pass *pass = ctx;
    brackets_result *result = memory;
    const int64_t nelem = (int64_t)nbytes / pass->order->keys.dtype->itemsize;
    memset(result, 0, offsetof(brackets_result, caught));
    if (pass->bounds_kernel != NULL)
        brackets_run_bounds(pass, bytes, nelem, result);
    else if (pass->itemsize == 8)
        brackets_run_u64(pass, bytes, nelem, result);
    else if (pass->itemsize == 4)
        brackets_run_u32(pass, bytes, nelem, result);
    else
        brackets_run_keys(pass, bytes, nelem, result);
}

/* ---- adding up the blocks ---- */

static bool brackets_add_result(const void *ctx, const void *memory) {
    const brackets_pass *pass = ctx;
    const brackets_result *result = memory;
    brackets_sums *sums = pass->sums;
    int64_t left = NPYX_ORDER_NKEYS - sums->ncaught, n = result->ncaught < left ? result->ncaught : left;
    if (result->ncaught > NPYX_BRACKETS_CAUGHT_NKEYS)
        return false;
    for (int k = 0; k <= pass->order->nbrackets; k++)
        sums->ngaps[k] += result->ngaps[k];
    for (int k = 0; k < pass->order->nbrackets; k++)
        sums->nhits[k] += result->nhits[k];
    memcpy(pass->order->list + sums->ncaught, result->caught, (size_t)n * sizeof(uint64_t));
    sums->ncaught += n;
    sums->has_lost = sums->has_lost || n < result->ncaught;
    return true;
}

/* Computes how many keys are below and in each bracket. */
static void brackets_place(npyx_order *order, const brackets_sums *sums) {
    int64_t n = 0;
    for (int k = 0; k <= order->nbrackets; k++) {
        n += sums->ngaps[k];
        if (k == order->nbrackets)
            break;
        order->brackets[k].nbelow = n;
        order->brackets[k].nkeys = sums->nhits[k];
        n += sums->nhits[k];
    }
    order->firsts[1] = n;
    order->ncaught = sums->ncaught;
    order->nbrackets = sums->has_lost ? 0 : order->nbrackets;
}

npyx_status npyx_order_read_brackets(npyx_order *order, const double *places, int64_t nplaces,
                                     npyx_error *error) {
    bool is_raw = brackets_takes_raw(order->keys.dtype);
    brackets_sums sums = {0};
    brackets_pass pass = {.order = order,
                          .itemsize = is_raw ? (int)order->keys.dtype->itemsize : 0,
                          .shift = order->keys.nbits - NPYX_BRACKETS_NLEADING,
                          .sums = &sums};
    const npyx_order_pass go = {.work = {.run = brackets_run,
                                         .ctx = &pass,
                                         .result_nbytes = sizeof(brackets_result),
                                         .block_nbytes = NPYX_BRACKETS_BLOCK_NBYTES},
                                .has_threads = true,
                                .part_nelem = NPYX_BRACKETS_CAUGHT_NKEYS,
                                .add = brackets_add_result};
    NPYX_TRY(brackets_make(order, places, nplaces, error));
    if (order->nbrackets == 0)
        return NPYX_DONE;
    pass.bounds_kernel = is_raw ? npyx_order_bounds_kernel_of(order->keys.dtype->type) : NULL;
    if (pass.bounds_kernel == NULL || !brackets_bound(&pass)) {
        pass.bounds_kernel = NULL;
        pass.marks = npyx_alloc(order->host, (1u << NPYX_BRACKETS_NLEADING));
        NPYX_TRY(npyx_check_memory(pass.marks, error));
        brackets_mark(&pass);
    }
    npyx_status status = npyx_order_go(order, &go, error);
    npyx_free(order->host, pass.marks);
    if (status == NPYX_OK)
        brackets_place(order, &sums);
    return status;
}

/* ---- ranks in brackets ---- */

/* The bracket that contains the key of a rank; NULL: none. *nbefore: how many keys were caught below it. */
static const npyx_order_bracket *brackets_with(const npyx_order *order, int64_t rank, int64_t *nbefore) {
    *nbefore = 0;
    for (int k = 0; k < order->nbrackets; k++) {
        const npyx_order_bracket *bracket = &order->brackets[k];
        if (rank >= bracket->nbelow && rank < bracket->nbelow + bracket->nkeys)
            return bracket;
        *nbefore += bracket->low < bracket->high ? bracket->nkeys : 0;
    }
    return NULL;
}

npyx_status npyx_order_find_in_brackets(npyx_order *order, const int64_t *ranks, int64_t nranks,
                                        uint64_t *found, bool *is_found, npyx_error *error) {
    int64_t among[2 * NPYX_ORDER_NPLACES], of[2 * NPYX_ORDER_NPLACES], n = 0, nbefore;
    uint64_t caught[2 * NPYX_ORDER_NPLACES];
    *is_found = order->nbrackets > 0 && nranks <= 2 * NPYX_ORDER_NPLACES;
    for (int64_t i = 0; i < nranks && *is_found; i++) {
        const npyx_order_bracket *bracket = brackets_with(order, ranks[i], &nbefore);
        *is_found = bracket != NULL;
        if (bracket != NULL && bracket->low == bracket->high) {
            found[i] = bracket->low;
        } else if (bracket != NULL) {
            of[n] = i;
            among[n++] = nbefore + ranks[i] - bracket->nbelow;
        }
    }
    if (!*is_found)
        return NPYX_OK;
    NPYX_TRY(npyx_order_select(order, order->list, order->ncaught, among, n, caught, error));
    for (int64_t i = 0; i < n; i++)
        found[of[i]] = caught[i];
    return NPYX_OK;
}
