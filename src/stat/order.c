#include "order.h"

enum { ORDER_MOST_NCOUNTERS = 1 << 19 }; /* with many spans */

/* Keys that begin with the same bits as a wanted one. */
typedef struct order_span {
    uint64_t prefix; /* key >> the pass's shift */
    int64_t nbelow;  /* keys below all of these */
    int64_t nkeys;
} order_span;

/* What a pass does with each key in a span: counts or catches it. */
typedef struct order_pass {
    const npyx_order *order;
    int shift; /* of the spans' prefixes; all bits: there is one span, of all keys */
    int nbits; /* counted after the prefix */
    const order_span *spans;
    int64_t nspans;
    int32_t *firsts; /* by leading bits: the first span that has them; one more at the end */
    bool catches;
    int64_t ncounters;
} order_pass;

/* A block's result, in memory of result_nbytes. */
typedef struct order_result {
    int64_t ncaught; /* those beyond NPYX_ORDER_CAUGHT_NKEYS found no room */
    int64_t nkeys;
    uint32_t counters[]; /* or keys */
} order_result;

/* ---- spans ---- */

static int order_leading_shift(const npyx_order *order) {
    return order->keys.nbits > NPYX_ORDER_NLEADING ? order->keys.nbits - NPYX_ORDER_NLEADING : 0;
}

/* The number of the span that contains a key; -1: none. */
static inline int64_t order_span_of(const order_pass *pass, uint64_t key) {
    const uint64_t leading = key >> order_leading_shift(pass->order), prefix = key >> pass->shift;
    int64_t low = pass->firsts[leading], end = pass->firsts[leading + 1];
    if (low == end)
        return -1;
    for (int64_t high = end; high - low > 1;) {
        int64_t middle = low + (high - low) / 2;
        if (pass->spans[middle].prefix <= prefix)
            low = middle;
        else
            high = middle;
    }
    return pass->spans[low].prefix == prefix ? low : -1;
}

static void order_index_spans(order_pass *pass) {
    const int shift = order_leading_shift(pass->order) - pass->shift;
    int64_t span = 0;
    for (int64_t leading = 0; leading <= (1 << NPYX_ORDER_NLEADING); leading++) {
        while (span < pass->nspans && (int64_t)(pass->spans[span].prefix >> shift) < leading)
            span++;
        pass->firsts[leading] = (int32_t)span;
    }
}

/* ---- what a pass does with a block ---- */

static void order_count(const order_pass *pass, const uint64_t *keys, int64_t n, uint32_t *counters) {
    const int shift = pass->shift - pass->nbits;
    const uint64_t mask = ((uint64_t)1 << pass->nbits) - 1;
    for (int64_t i = 0; i < n && pass->spans == NULL; i++)
        counters[keys[i] >> shift]++;
    for (int64_t i = 0; i < n && pass->spans != NULL; i++) {
        int64_t span = order_span_of(pass, keys[i]);
        if (span >= 0)
            counters[(uint64_t)span << pass->nbits | (keys[i] >> shift & mask)]++;
    }
}

static void order_catch(const order_pass *pass, const uint64_t *keys, int64_t n, order_result *result) {
    uint64_t *caught = (uint64_t *)(void *)result->counters;
    for (int64_t i = 0; i < n; i++) {
        if (order_span_of(pass, keys[i]) < 0)
            continue;
        if (result->ncaught < NPYX_ORDER_CAUGHT_NKEYS)
            caught[result->ncaught] = keys[i];
        result->ncaught++;
    }
}

static size_t order_result_nbytes(const order_pass *pass) {
    size_t nbytes = pass->catches ? NPYX_ORDER_CAUGHT_NKEYS * sizeof(uint64_t)
                                  : (size_t)pass->ncounters * sizeof(uint32_t);
    return sizeof(order_result) + nbytes;
}

static void order_run(const void *ctx, int64_t first, const uint8_t *bytes, size_t nbytes, void *memory) {
    (void)first;
    const order_pass *pass = ctx;
    const npyx_order_keys *how = &pass->order->keys;
    order_result *result = memory;
    uint64_t keys[NPYX_ORDER_PIECE_NELEM_MOST];
    *result = (order_result){0};
    if (!pass->catches)
        memset(result->counters, 0, (size_t)pass->ncounters * sizeof(uint32_t));
    int64_t nelem = (int64_t)nbytes / how->dtype->itemsize;
    for (int64_t n; nelem > 0; nelem -= n, bytes += n * how->dtype->itemsize) {
        n = nelem < NPYX_ORDER_PIECE_NELEM ? nelem : NPYX_ORDER_PIECE_NELEM;
        int64_t nkeys = npyx_order_keys_read(how, bytes, n, keys);
        result->nkeys += nkeys;
        if (pass->catches)
            order_catch(pass, keys, nkeys, result);
        else
            order_count(pass, keys, nkeys, result->counters);
    }
}

/* ---- a pass ---- */

/* Where the results of a pass go. */
typedef struct order_sums {
    int64_t nkeys;
    uint64_t *counts; /* or */
    uint64_t *list;   /* with room for NPYX_ORDER_NKEYS */
    int64_t nlisted;
} order_sums;

static void order_add_result(const order_pass *pass, const order_result *result, order_sums *sums) {
    int64_t left = NPYX_ORDER_NKEYS - sums->nlisted, n = result->ncaught < left ? result->ncaught : left;
    sums->nkeys += result->nkeys;
    for (int64_t i = 0; i < pass->ncounters && !pass->catches; i++)
        sums->counts[i] += result->counters[i];
    if (!pass->catches)
        return;
    memcpy(sums->list + sums->nlisted, result->counters, (size_t)n * sizeof(uint64_t));
    sums->nlisted += n;
}

/* Does the pass's work on a block for which no thread did it, or whose result had too little room: in parts
 * that cannot catch too many. */
static void order_do_block(const order_pass *pass, const npyx_blocks *blocks, order_result *result,
                           order_sums *sums) {
    const int64_t itemsize = pass->order->keys.dtype->itemsize;
    for (int64_t i = 0, n; i < blocks->nelem; i += n) {
        n = pass->catches && blocks->nelem - i > NPYX_ORDER_CAUGHT_NKEYS ? NPYX_ORDER_CAUGHT_NKEYS
                                                                         : blocks->nelem - i;
        order_run(pass, 0, blocks->items + i * itemsize, (size_t)(n * itemsize), result);
        order_add_result(pass, result, sums);
    }
}

/* Likewise with so many counters that they are not added up per block. */
static void order_count_block(const order_pass *pass, const npyx_blocks *blocks, order_sums *sums) {
    const npyx_order_keys *how = &pass->order->keys;
    const int shift = pass->shift - pass->nbits;
    const uint64_t mask = ((uint64_t)1 << pass->nbits) - 1;
    uint64_t keys[NPYX_ORDER_PIECE_NELEM_MOST];
    for (int64_t i = 0, n; i < blocks->nelem; i += n) {
        n = blocks->nelem - i < NPYX_ORDER_PIECE_NELEM ? blocks->nelem - i : NPYX_ORDER_PIECE_NELEM;
        int64_t nkeys = npyx_order_keys_read(how, blocks->items + i * how->dtype->itemsize, n, keys);
        for (int64_t k = 0; k < nkeys; k++) {
            int64_t span = order_span_of(pass, keys[k]);
            if (span >= 0)
                sums->counts[(uint64_t)span << pass->nbits | (keys[k] >> shift & mask)]++;
        }
        sums->nkeys += nkeys;
    }
}

static npyx_status order_go(const npyx_order *order, const order_pass *pass, order_sums *sums,
                            npyx_error *error) {
    npyx_blocks blocks = {0};
    npyx_view view = order->view;
    if (npyx_view_nelem(&view) > 0)
        npyx_view_sort_axes(&view); /* the order of the items does not matter */
    npyx_blocks_begin(&blocks, order->source, &view);
    bool is_added_up = pass->ncounters <= (1 << NPYX_ORDER_NLEADING);
    order_result *own = is_added_up ? npyx_alloc(order->host, order_result_nbytes(pass)) : NULL;
    npyx_status status = is_added_up ? npyx_check_memory(own, error) : NPYX_OK;
    if (!blocks.is_done && is_added_up && status == NPYX_OK)
        npyx_reader_set_work(&blocks.reader, (npyx_work){.run = order_run,
                                                         .ctx = pass,
                                                         .result_nbytes = order_result_nbytes(pass),
                                                         .block_nbytes = NPYX_ORDER_BLOCK_NBYTES});
    while (status == NPYX_OK && (status = npyx_blocks_next(&blocks, error)) == NPYX_OK) {
        const order_result *result = blocks.reader.result;
        if (result != NULL && result->ncaught <= NPYX_ORDER_CAUGHT_NKEYS)
            order_add_result(pass, result, sums);
        else if (is_added_up)
            order_do_block(pass, &blocks, own, sums);
        else if (sums->counts != NULL && pass->firsts != NULL)
            order_count_block(pass, &blocks, sums);
    }
    npyx_blocks_clear(&blocks);
    npyx_free(order->host, own);
    return status == NPYX_DONE ? NPYX_OK : status;
}

/* ---- the first pass ---- */

static void order_begin_anew(npyx_order *order, const npyx_order_keys *keys) {
    order->keys = *keys;
    order->n = 0;
    order->is_listed = order->is_sorted = false;
    order->is_counted = false;
    order->nbrackets = 0;
}

/* Lists all keys of few items, which are read without threads and without a pass. */
static npyx_status order_list_all(npyx_order *order, npyx_error *error) {
    npyx_blocks blocks = {0};
    npyx_view view = order->view;
    if (npyx_view_nelem(&view) > 0)
        npyx_view_sort_axes(&view);
    npyx_status status;
    NPYX_TRY(npyx_order_make_room(order, &order->list, &order->list_nkeys, npyx_view_nelem(&view), error));
    npyx_blocks_begin(&blocks, order->source, &view);
    while ((status = npyx_blocks_next(&blocks, error)) == NPYX_OK)
        order->n += npyx_order_keys_read(&order->keys, blocks.items, blocks.nelem, order->list + order->n);
    npyx_blocks_clear(&blocks);
    order->is_listed = true;
    return status == NPYX_DONE ? NPYX_OK : status;
}

/* Counts all keys by their leading bits. */
static npyx_status order_count_all(npyx_order *order, npyx_error *error) {
    int nbits = order->keys.nbits < NPYX_ORDER_NLEADING ? order->keys.nbits : NPYX_ORDER_NLEADING;
    const order_pass pass = {
        .order = order, .shift = order->keys.nbits, .nbits = nbits, .ncounters = (int64_t)1 << nbits};
    if (order->counts == NULL)
        order->counts = npyx_alloc_array(order->host, 1 << NPYX_ORDER_NLEADING, sizeof *order->counts);
    NPYX_TRY(npyx_check_memory(order->counts, error));
    memset(order->counts, 0, (1 << NPYX_ORDER_NLEADING) * sizeof *order->counts);
    order_sums sums = {.counts = order->counts};
    NPYX_TRY(order_go(order, &pass, &sums, error));
    order->n = sums.nkeys;
    order->is_counted = true;
    return NPYX_OK;
}

void npyx_order_init(npyx_order *order, npyx_host *host) {
    *order = (npyx_order){.host = host};
}

npyx_status npyx_order_take(npyx_order *order, const uint8_t *items, int64_t nelem,
                            const npyx_order_keys *keys, npyx_error *error) {
    order_begin_anew(order, keys);
    NPYX_TRY(npyx_order_make_room(order, &order->list, &order->list_nkeys, nelem, error));
    order->n = npyx_order_keys_read(keys, items, nelem, order->list);
    order->is_listed = true;
    return NPYX_OK;
}

npyx_status npyx_order_read(npyx_order *order, npyx_source *source, const npyx_view *view,
                            const npyx_order_keys *keys, const double *places, int64_t nplaces,
                            npyx_error *error) {
    order_begin_anew(order, keys);
    order->source = source;
    order->view = *view;
    int64_t nelem = npyx_view_nelem(view);
    if (nelem <= NPYX_ORDER_NKEYS)
        return order_list_all(order, error);
    /* an inflating source would start anew for every piece, and narrow keys are known from one pass anyway */
    bool is_sampled =
        keys->nbits > NPYX_BRACKETS_NLEADING && !source->is_forward && nplaces <= NPYX_ORDER_NPLACES;
    npyx_status status = is_sampled ? npyx_order_read_brackets(order, places, nplaces, error) : NPYX_DONE;
    return status == NPYX_DONE ? order_count_all(order, error) : status;
}

void npyx_order_end(npyx_order *order) {
    if (order->host == NULL)
        return;
    npyx_free(order->host, order->list);
    npyx_free(order->host, order->room);
    npyx_free(order->host, order->counts);
    *order = (npyx_order){0};
}

/* ---- the later passes ---- */

/* One search for ranks; spans[i] is of one rank or several consecutive ones. */
typedef struct order_search {
    npyx_order *order;
    const int64_t *ranks;
    int64_t nranks;
    order_span *spans, *next; /* room for nranks each */
    int64_t nspans, nnext;
    uint64_t *counts;
    int32_t *firsts;
    uint64_t *list;
} order_search;

/* Assigns the ranks of a span to the buckets in which it was counted. *rank: the first in no span yet. */
static npyx_status order_split(order_search *search, const order_span *span, const uint64_t *counts,
                               int nbits, int64_t *rank, npyx_error *error) {
    int64_t nbelow = span->nbelow, end = span->nbelow + span->nkeys;
    for (uint64_t bucket = 0; *rank < search->nranks && search->ranks[*rank] < end; bucket++) {
        if (bucket >> nbits > 0)
            return npyx_fail_changed(error);
        int64_t nkeys = (int64_t)counts[bucket];
        if (search->ranks[*rank] < nbelow + nkeys)
            search->next[search->nnext++] = (order_span){span->prefix << nbits | bucket, nbelow, nkeys};
        while (*rank < search->nranks && search->ranks[*rank] < nbelow + nkeys)
            ++*rank;
        nbelow += nkeys;
    }
    return NPYX_OK;
}

static void order_take_next(order_search *search) {
    order_span *spans = search->spans;
    search->spans = search->next;
    search->nspans = search->nnext;
    search->next = spans;
    search->nnext = 0;
}

static int64_t order_nkeys(const order_search *search) {
    int64_t nkeys = 0;
    for (int64_t i = 0; i < search->nspans; i++)
        nkeys += search->spans[i].nkeys;
    return nkeys;
}

/* Counts the next bits of the keys in all spans. */
static npyx_status order_narrow(order_search *search, int *shift, npyx_error *error) {
    const int64_t most =
        search->nspans <= NPYX_ORDER_FEW_NSPANS ? (1 << NPYX_ORDER_NLEADING) : ORDER_MOST_NCOUNTERS;
    int nbits = 1;
    while (nbits < *shift && search->nspans << (nbits + 1) <= most)
        nbits++;
    order_pass pass = {.order = search->order,
                       .shift = *shift,
                       .nbits = nbits,
                       .spans = search->spans,
                       .nspans = search->nspans,
                       .firsts = search->firsts,
                       .ncounters = search->nspans << nbits};
    order_sums sums = {.counts = search->counts};
    order_index_spans(&pass);
    memset(search->counts, 0, (size_t)pass.ncounters * sizeof *search->counts);
    NPYX_TRY(order_go(search->order, &pass, &sums, error));
    int64_t rank = 0;
    for (int64_t i = 0; i < search->nspans; i++)
        NPYX_TRY(order_split(search, &search->spans[i], search->counts + (i << nbits), nbits, &rank, error));
    order_take_next(search);
    *shift -= nbits;
    return NPYX_OK;
}

/* Gives the keys of the ranks: those of a list, which has the spans one after the other, or if that is NULL
 * the prefixes, which are whole keys. */
static void order_give(const order_search *search, const uint64_t *list, uint64_t *found) {
    int64_t rank = 0, first = 0;
    for (int64_t i = 0; i < search->nspans; first += search->spans[i++].nkeys) {
        const order_span *span = &search->spans[i];
        for (; rank < search->nranks && search->ranks[rank] < span->nbelow + span->nkeys; rank++)
            found[rank] = list == NULL ? span->prefix : list[first + search->ranks[rank] - span->nbelow];
    }
}

/* Collects the keys in all spans: sorted, they are the spans one after the other. */
static npyx_status order_collect(order_search *search, int shift, uint64_t *found, npyx_error *error) {
    npyx_order *order = search->order;
    order_pass pass = {.order = order,
                       .shift = shift,
                       .spans = search->spans,
                       .nspans = search->nspans,
                       .firsts = search->firsts,
                       .catches = true};
    order_sums sums = {.list = search->list};
    order_index_spans(&pass);
    NPYX_TRY(order_go(order, &pass, &sums, error));
    if (sums.nlisted != order_nkeys(search))
        return npyx_fail_changed(error);
    NPYX_TRY(npyx_order_sort(order, search->list, sums.nlisted, error));
    order_give(search, search->list, found);
    return NPYX_OK;
}

static npyx_status order_search_on(order_search *search, uint64_t *found, npyx_error *error) {
    const npyx_order *order = search->order;
    int64_t rank = 0;
    int shift = order_leading_shift(order);
    const order_span all = {.nkeys = order->n};
    NPYX_TRY(order_split(search, &all, order->counts, NPYX_ORDER_NLEADING, &rank, error));
    order_take_next(search);
    while (shift > 0 && order_nkeys(search) > NPYX_ORDER_NKEYS)
        NPYX_TRY(order_narrow(search, &shift, error));
    if (shift > 0)
        return order_collect(search, shift, found, error);
    order_give(search, NULL, found);
    return NPYX_OK;
}

/* For listed keys. */
static npyx_status order_find_listed(npyx_order *order, const int64_t *ranks, int64_t nranks, uint64_t *found,
                                     npyx_error *error) {
    bool is_found = order->is_sorted || (nranks <= NPYX_ORDER_FEW_NRANKS &&
                                         npyx_order_keys_select(order->list, order->n, ranks, nranks));
    if (!is_found) {
        NPYX_TRY(npyx_order_sort(order, order->list, order->n, error));
        order->is_sorted = true;
    }
    for (int64_t i = 0; i < nranks; i++)
        found[i] = order->list[ranks[i]];
    return NPYX_OK;
}

npyx_status npyx_order_find(npyx_order *order, const int64_t *ranks, int64_t nranks, uint64_t *found,
                            npyx_error *error) {
    if (nranks == 0)
        return NPYX_OK;
    if (order->is_listed)
        return order_find_listed(order, ranks, nranks, found, error);
    bool is_found = false;
    NPYX_TRY(npyx_order_find_in_brackets(order, ranks, nranks, found, &is_found, error));
    if (is_found)
        return NPYX_OK;
    int64_t n = order->n;
    if (!order->is_counted)
        NPYX_TRY(order_count_all(order, error));
    if (n != order->n)
        return npyx_fail_changed(error);
    npyx_arena arena = {.host = order->host};
    order_search search = {.order = order, .ranks = ranks, .nranks = nranks};
    search.spans = npyx_arena_array(&arena, nranks, sizeof *search.spans);
    search.next = npyx_arena_array(&arena, nranks, sizeof *search.next);
    search.counts = npyx_arena_array(
        &arena, nranks <= NPYX_ORDER_FEW_NSPANS ? 1 << NPYX_ORDER_NLEADING : ORDER_MOST_NCOUNTERS,
        sizeof *search.counts);
    search.firsts = npyx_arena_array(&arena, (1 << NPYX_ORDER_NLEADING) + 1, sizeof *search.firsts);
    npyx_status status =
        npyx_order_make_room(order, &order->list, &order->list_nkeys, NPYX_ORDER_NKEYS, error);
    search.list = order->list;
    order->nbrackets = 0; /* their keys make room for others */
    if (search.spans == NULL || search.next == NULL || search.counts == NULL || search.firsts == NULL)
        status = npyx_fail_nomem(error);
    if (status == NPYX_OK)
        status = order_search_on(&search, found, error);
    npyx_arena_clear(&arena);
    return status;
}
