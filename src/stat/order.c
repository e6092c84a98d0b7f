#include "order.h"

enum { ORDER_MOST_NCOUNTERS = 1 << 19 }; /* with many spans */

/* Keys of one label that begin with the same bits, and the wanted ranks among them. */
typedef struct order_span {
    uint64_t prefix; /* key >> the search's shift */
    int64_t nkeys;
    int64_t start, nlisted; /* of its keys in the list */
    int64_t first, end;     /* of the wanted ranks */
} order_span;

/* One search for keys. */
typedef struct order_search {
    npyx_order *order;
    const int32_t *labels; /* NULL: all are of label 0 */
    int64_t *ranks;        /* within their spans */
    int64_t n;
    int shift;                /* bits of a key that are not known yet */
    order_span *spans, *next; /* room for n each; by label, and then by prefix */
    int64_t nspans, nnext;
    uint64_t *prefixes; /* of the spans, side by side, since every key is looked up among them */
    int32_t *firsts;    /* by label or, without labels, by leading bits: the first span that has them */
    uint64_t *counts;
} order_search;

/* What a pass does with each key in a span: counts or catches it. */
typedef struct order_pass {
    const npyx_order *order;
    const order_search *search; /* NULL: there is a span for each label, of all its keys */
    int shift, nbits;           /* of a key, the bits that are counted */
    int64_t ncounters;
    uint64_t *counts; /* NULL: keys are caught */
} order_pass;

/* The keys that were caught in a block. */
typedef struct order_caught {
    int64_t n; /* those beyond NPYX_ORDER_CAUGHT_NKEYS found no room */
    int32_t spans[NPYX_ORDER_CAUGHT_NKEYS_MOST];
    uint64_t keys[NPYX_ORDER_CAUGHT_NKEYS_MOST];
} order_caught;

/* ---- keys with labels ---- */

/* Reads the keys of items, the first of which is number position, and their labels, if there are any. Returns
 * how many have keys. */
static int64_t order_read_keys(const npyx_order *order, int64_t position, const uint8_t *items, int64_t n,
                               uint64_t *keys, int32_t *labels) {
    const npyx_order_keys *how = &order->keys;
    int64_t nkeys = npyx_order_keys_read(how, items, n, keys);
    if (!order->has_labels)
        return nkeys;
    npyx_label_runs_read(&order->runs, position, n, labels);
    if (nkeys == n)
        return n;
    nkeys = 0;
    for (int64_t i = 0; i < n; i++) { /* drops the labels of those that have none */
        labels[nkeys] = labels[i];
        nkeys += npyx_order_keys_read(how, items + i * how->dtype->itemsize, 1, &keys[nkeys]);
    }
    return nkeys;
}

/* ---- spans ---- */

static int64_t order_label_of(const order_search *search, int64_t wanted) {
    return search->labels == NULL ? 0 : search->labels[wanted];
}

/* The number of the span that contains a key; -1: none. */
static inline int64_t order_span_of(const order_pass *pass, uint64_t key, int32_t label) {
    const npyx_order *order = pass->order;
    const order_search *search = pass->search;
    if (search == NULL)
        return label;
    const uint64_t at = order->has_labels ? (uint32_t)label : key >> (order->keys.nbits - order->nbits);
    const uint64_t prefix = key >> search->shift;
    int64_t low = search->firsts[at], end = search->firsts[at + 1];
    if (low == end)
        return -1;
    for (int64_t high = end; high - low > 1;) {
        int64_t middle = low + (high - low) / 2;
        if (search->prefixes[middle] <= prefix)
            low = middle;
        else
            high = middle;
    }
    return search->prefixes[low] == prefix ? low : -1;
}

/* The number of labels, or of the leading bits' values. */
static int64_t order_nfirsts(const npyx_order *order) {
    return order->has_labels ? order->nlabels : (int64_t)1 << order->nbits;
}

static void order_index_spans(order_search *search) {
    const npyx_order *order = search->order;
    const int shift = order->keys.nbits - order->nbits - search->shift;
    int64_t i = 0;
    for (int64_t at = 0; at <= order_nfirsts(order); at++) {
        for (; i < search->nspans; i++) {
            const order_span *span = &search->spans[i];
            int64_t own =
                order->has_labels ? order_label_of(search, span->first) : (int64_t)(span->prefix >> shift);
            if (own >= at)
                break;
            search->prefixes[i] = span->prefix;
        }
        search->firsts[at] = (int32_t)i;
    }
}

/* Adds a wanted rank to the last of the next spans, if it is of the same label and begins with the same bits,
 * or to one more. */
static void order_want(order_search *search, int64_t wanted, uint64_t prefix, int64_t nkeys) {
    order_span *last = search->nnext == 0 ? NULL : &search->next[search->nnext - 1];
    if (last == NULL || order_label_of(search, last->first) != order_label_of(search, wanted) ||
        last->prefix != prefix) {
        last = &search->next[search->nnext++];
        *last = (order_span){.prefix = prefix, .nkeys = nkeys, .first = wanted};
    }
    last->end = wanted + 1;
}

/* Assigns the ranks of a span to the buckets in which its keys were counted. */
static npyx_status order_split(order_search *search, const order_span *span, const uint64_t *counts,
                               int nbits, npyx_error *error) {
    int64_t nbelow = 0;
    uint64_t bucket = 0;
    for (int64_t wanted = span->first; wanted < span->end; wanted++) {
        while (bucket >> nbits == 0 && nbelow + (int64_t)counts[bucket] <= search->ranks[wanted])
            nbelow += (int64_t)counts[bucket++];
        if (bucket >> nbits > 0)
            return npyx_fail_changed(error);
        search->ranks[wanted] -= nbelow;
        order_want(search, wanted, span->prefix << nbits | bucket, (int64_t)counts[bucket]);
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

/* ---- what a pass does with a block ---- */

/* Without counters, in the caller's thread, keys are counted among those of all blocks. */
static void order_count(const order_pass *pass, const uint64_t *keys, const int32_t *labels, int64_t n,
                        uint32_t *counters) {
    const uint64_t mask = ((uint64_t)1 << pass->nbits) - 1;
    const int shift = pass->shift;
    bool is_plain = pass->search == NULL && !pass->order->has_labels && counters != NULL;
    for (int64_t i = 0; i < n && is_plain; i++) /* mostly the only pass */
        counters[keys[i] >> shift]++;
    for (int64_t i = 0; i < n && !is_plain; i++) {
        const int64_t span = order_span_of(pass, keys[i], labels[i]);
        const size_t at = (size_t)span << pass->nbits | (size_t)(keys[i] >> shift & mask);
        if (span >= 0 && counters != NULL)
            counters[at]++;
        else if (span >= 0)
            pass->counts[at]++;
    }
}

static void order_catch(const order_pass *pass, const uint64_t *keys, const int32_t *labels, int64_t n,
                        order_caught *caught) {
    for (int64_t i = 0; i < n; i++) {
        const int64_t span = order_span_of(pass, keys[i], labels[i]);
        if (span < 0)
            continue;
        if (caught->n < NPYX_ORDER_CAUGHT_NKEYS) {
            caught->spans[caught->n] = (int32_t)span;
            caught->keys[caught->n] = keys[i];
        }
        caught->n++;
    }
}

static void order_run(const void *ctx, int64_t first, const uint8_t *bytes, size_t nbytes, void *result) {
    const order_pass *pass = ctx;
    const int64_t itemsize = pass->order->keys.dtype->itemsize;
    uint64_t keys[NPYX_ORDER_PIECE_NELEM_MOST];
    int32_t labels[NPYX_ORDER_PIECE_NELEM_MOST] = {0};
    if (pass->counts == NULL)
        ((order_caught *)result)->n = 0;
    else if (result != NULL)
        memset(result, 0, (size_t)pass->ncounters * sizeof(uint32_t));
    for (int64_t n, nelem = (int64_t)nbytes / itemsize; nelem > 0;
         nelem -= n, first += n, bytes += n * itemsize) {
        n = nelem < NPYX_ORDER_PIECE_NELEM ? nelem : NPYX_ORDER_PIECE_NELEM;
        int64_t nkeys = order_read_keys(pass->order, first, bytes, n, keys, labels);
        if (pass->counts == NULL)
            order_catch(pass, keys, labels, nkeys, result);
        else
            order_count(pass, keys, labels, nkeys, result);
    }
}

static bool order_add_counts(const void *ctx, const void *result) {
    const order_pass *pass = ctx;
    const uint32_t *counters = result;
    for (int64_t i = 0; i < pass->ncounters; i++)
        pass->counts[i] += counters[i];
    return true;
}

/* Lists the keys of a block in their spans; if a span has more than were counted, the file has changed. */
static bool order_add_caught(const void *ctx, const void *result) {
    const order_pass *pass = ctx;
    const order_caught *caught = result;
    for (int64_t i = 0; i < caught->n && caught->n <= NPYX_ORDER_CAUGHT_NKEYS; i++) {
        order_span *span = &pass->search->spans[caught->spans[i]];
        if (span->nlisted++ < span->nkeys)
            pass->order->list[span->start + span->nlisted - 1] = caught->keys[i];
    }
    return caught->n <= NPYX_ORDER_CAUGHT_NKEYS;
}

/* Counts keys by the bits after those that are known. */
static npyx_status order_go_counting(const order_pass *pass, npyx_error *error) {
    memset(pass->counts, 0, (size_t)pass->ncounters * sizeof *pass->counts);
    const npyx_order_pass counting = {.work = {.run = order_run,
                                               .ctx = pass,
                                               .result_nbytes = (size_t)pass->ncounters * sizeof(uint32_t),
                                               .block_nbytes = NPYX_ORDER_BLOCK_NBYTES},
                                      /* else adding up would be most of the work */
                                      .has_threads = pass->ncounters <= 1 << NPYX_ORDER_NLEADING,
                                      .add = order_add_counts};
    return npyx_order_go(pass->order, &counting, error);
}

/* ---- the first pass ---- */

npyx_status npyx_order_init(npyx_order *order, npyx_host *host, int64_t nlabels, npyx_error *error) {
    *order = (npyx_order){.host = host, .nlabels = nlabels};
    if (nlabels > NPYX_ORDER_MAX_NLABELS)
        return npyx_fail(error, NPYX_TOOBIG, -1,
                         "there are %" PRId64 " labels; quantiles and medians by label take at most %d",
                         nlabels, NPYX_ORDER_MAX_NLABELS);
    order->firsts = npyx_alloc_array(host, nlabels + 1, sizeof *order->firsts);
    return npyx_check_memory(order->firsts, error);
}

void npyx_order_end(npyx_order *order) {
    if (order->host == NULL)
        return;
    npyx_free(order->host, order->firsts);
    npyx_free(order->host, order->list);
    npyx_free(order->host, order->room);
    npyx_free(order->host, order->labels);
    npyx_free(order->host, order->counts);
    *order = (npyx_order){0};
}

static void order_begin_anew(npyx_order *order, const npyx_order_keys *keys, const npyx_label_runs *runs) {
    order->keys = *keys;
    order->has_labels = runs != NULL;
    if (runs != NULL)
        order->runs = *runs;
    memset(order->firsts, 0, (size_t)(order->nlabels + 1) * sizeof *order->firsts);
    order->is_listed = false;
    npyx_free(order->host, order->counts);
    order->counts = NULL;
    order->nbrackets = 0;
}

/* Begins a list of at most n keys. */
static npyx_status order_begin_list(npyx_order *order, int64_t n, npyx_error *error) {
    order->is_listed = true;
    NPYX_TRY(npyx_order_make_room(order, &order->list, &order->list_nkeys, n, error));
    if (!order->has_labels)
        return NPYX_OK;
    NPYX_TRY(npyx_order_make_room(order, &order->room, &order->room_nkeys, n, error));
    npyx_free(order->host, order->labels);
    order->labels = npyx_alloc_array(order->host, n + 1, sizeof *order->labels);
    return npyx_check_memory(order->labels, error);
}

/* Lists the keys of items, the first of which is number position. */
static void order_list(npyx_order *order, int64_t position, const uint8_t *items, int64_t nelem) {
    int64_t *n = &order->firsts[order->nlabels];
    *n += order_read_keys(order, position, items, nelem, order->list + *n,
                          order->has_labels ? order->labels + *n : NULL);
}

/* Puts the listed keys label after label. */
static void order_end_list(npyx_order *order) {
    int64_t *firsts = order->firsts, n = firsts[order->nlabels];
    if (!order->has_labels)
        return;
    firsts[order->nlabels] = 0;
    for (int64_t i = 0; i < n; i++)
        firsts[order->labels[i] + 1]++;
    for (int64_t label = 0; label < order->nlabels; label++)
        firsts[label + 1] += firsts[label];
    memcpy(order->room, order->list, (size_t)n * sizeof *order->list);
    for (int64_t i = n; i-- > 0;) /* after which an end is a beginning */
        order->list[--firsts[order->labels[i] + 1]] = order->room[i];
    memmove(firsts, firsts + 1, (size_t)order->nlabels * sizeof *firsts);
    firsts[order->nlabels] = n;
}

/* Lists all keys of few items, which are read without threads and without a pass. */
static npyx_status order_list_all(npyx_order *order, npyx_error *error) {
    npyx_blocks blocks = {0};
    npyx_view view = order->view;
    if (npyx_view_nelem(&view) > 0 && !order->has_labels)
        npyx_view_sort_axes(&view); /* the order of the items does not matter */
    npyx_status status;
    NPYX_TRY(order_begin_list(order, npyx_view_nelem(&view), error));
    npyx_blocks_begin(&blocks, order->source, &view);
    while ((status = npyx_blocks_next(&blocks, error)) == NPYX_OK)
        order_list(order, blocks.position, blocks.items, blocks.nelem);
    npyx_blocks_clear(&blocks);
    order_end_list(order);
    return status == NPYX_DONE ? NPYX_OK : status;
}

npyx_status npyx_order_take(npyx_order *order, const uint8_t *items, int64_t nelem,
                            const npyx_order_keys *keys, const npyx_label_runs *runs, npyx_error *error) {
    order_begin_anew(order, keys, runs);
    NPYX_TRY(order_begin_list(order, nelem, error));
    order_list(order, 0, items, nelem);
    order_end_list(order);
    return NPYX_OK;
}

/* At most as many counters are used for so many spans, unless they need more for one bit each. */
static int64_t order_most_ncounters(const npyx_order *order, int64_t nspans) {
    return order->has_labels                 ? NPYX_ORDER_BY_NCOUNTERS
           : nspans <= NPYX_ORDER_FEW_NSPANS ? 1 << NPYX_ORDER_NLEADING
                                             : ORDER_MOST_NCOUNTERS;
}

/* How many of the bits of the keys in so many spans that are left can be counted: at least one. */
static int order_nbits(const npyx_order *order, int64_t nspans, int nleft) {
    int nbits = 1;
    while (nbits < nleft && nbits < NPYX_ORDER_NLEADING &&
           nspans << (nbits + 1) <= order_most_ncounters(order, nspans))
        nbits++;
    return nbits;
}

static uint64_t *order_alloc_counts(const npyx_order *order, int64_t nspans) {
    const int64_t n = order_most_ncounters(order, nspans);
    return npyx_alloc_array(order->host, n > 2 * nspans ? n : 2 * nspans, sizeof(uint64_t));
}

/* Counts all keys of each label by their leading bits. */
static npyx_status order_count_all(npyx_order *order, npyx_error *error) {
    order->nbits = order_nbits(order, order->nlabels, order->keys.nbits);
    order->counts = order_alloc_counts(order, order->nlabels);
    NPYX_TRY(npyx_check_memory(order->counts, error));
    const order_pass pass = {.order = order,
                             .shift = order->keys.nbits - order->nbits,
                             .nbits = order->nbits,
                             .ncounters = order->nlabels << order->nbits,
                             .counts = order->counts};
    NPYX_TRY(order_go_counting(&pass, error));
    for (int64_t label = 0; label < order->nlabels; label++) {
        order->firsts[label + 1] = order->firsts[label];
        for (int64_t i = label << order->nbits; i < (label + 1) << order->nbits; i++)
            order->firsts[label + 1] += (int64_t)order->counts[i];
    }
    return NPYX_OK;
}

npyx_status npyx_order_read(npyx_order *order, npyx_source *source, const npyx_view *view,
                            const npyx_order_keys *keys, const npyx_label_runs *runs, const double *places,
                            int64_t nplaces, npyx_error *error) {
    order_begin_anew(order, keys, runs);
    order->source = source;
    order->view = *view;
    if (npyx_view_nelem(view) <= NPYX_ORDER_NKEYS)
        return order_list_all(order, error);
    /* an inflating source would start anew for every piece, and narrow keys are known from one pass anyway */
    bool is_sampled = runs == NULL && keys->nbits > NPYX_BRACKETS_NLEADING && !source->is_forward &&
                      nplaces <= NPYX_ORDER_NPLACES;
    npyx_status status = is_sampled ? npyx_order_read_brackets(order, places, nplaces, error) : NPYX_DONE;
    return status == NPYX_DONE ? order_count_all(order, error) : status;
}

/* ---- the later passes ---- */

static int64_t order_span_nkeys(const order_search *search) {
    int64_t nkeys = 0;
    for (int64_t i = 0; i < search->nspans; i++)
        nkeys += search->spans[i].nkeys;
    return nkeys;
}

/* Counts the next bits of the keys in all spans. */
static npyx_status order_narrow(order_search *search, npyx_error *error) {
    const int nbits = order_nbits(search->order, search->nspans, search->shift);
    if (search->counts == NULL) { /* in place of those by leading bits: both may be large */
        npyx_free(search->order->host, search->order->counts);
        search->order->counts = NULL;
        search->counts = order_alloc_counts(search->order, search->n);
    }
    NPYX_TRY(npyx_check_memory(search->counts, error));
    const order_pass pass = {.order = search->order,
                             .search = search,
                             .shift = search->shift - nbits,
                             .nbits = nbits,
                             .ncounters = search->nspans << nbits,
                             .counts = search->counts};
    order_index_spans(search);
    NPYX_TRY(order_go_counting(&pass, error));
    for (int64_t i = 0; i < search->nspans; i++)
        NPYX_TRY(order_split(search, &search->spans[i], search->counts + (i << nbits), nbits, error));
    order_take_next(search);
    search->shift -= nbits;
    return NPYX_OK;
}

/* Lists the keys in all spans, those of each side by side. */
static npyx_status order_collect(order_search *search, uint64_t *found, npyx_error *error) {
    npyx_order *order = search->order;
    const order_pass pass = {.order = order, .search = search};
    const npyx_order_pass catching = {.work = {.run = order_run,
                                               .ctx = &pass,
                                               .result_nbytes = sizeof(order_caught),
                                               .block_nbytes = NPYX_ORDER_BLOCK_NBYTES},
                                      .has_threads = true,
                                      .part_nelem = NPYX_ORDER_CAUGHT_NKEYS,
                                      .add = order_add_caught};
    int64_t start = 0;
    NPYX_TRY(npyx_order_make_room(order, &order->list, &order->list_nkeys, order_span_nkeys(search), error));
    for (int64_t i = 0; i < search->nspans; start += search->spans[i++].nkeys)
        search->spans[i].start = start;
    order_index_spans(search);
    NPYX_TRY(npyx_order_go(order, &catching, error));
    for (int64_t i = 0; i < search->nspans; i++) {
        const order_span *span = &search->spans[i];
        if (span->nlisted != span->nkeys)
            return npyx_fail_changed(error);
        NPYX_TRY(npyx_order_select(order, order->list + span->start, span->nkeys, search->ranks + span->first,
                                   span->end - span->first, found + span->first, error));
    }
    return NPYX_OK;
}

static npyx_status order_search_on(order_search *search, uint64_t *found, npyx_error *error) {
    const npyx_order *order = search->order;
    for (int64_t i = 0; i < search->n; i++)
        order_want(search, i, 0, 0);
    order_take_next(search);
    for (int64_t i = 0; i < search->nspans; i++) {
        const order_span *span = &search->spans[i];
        const uint64_t *counts = order->counts + (order_label_of(search, span->first) << order->nbits);
        NPYX_TRY(order_split(search, span, counts, order->nbits, error));
    }
    order_take_next(search);
    while (search->shift > 0 && order_span_nkeys(search) > NPYX_ORDER_NKEYS)
        NPYX_TRY(order_narrow(search, error));
    if (search->shift > 0)
        return order_collect(search, found, error);
    for (int64_t i = 0; i < search->nspans; i++) { /* the prefixes are whole keys */
        for (int64_t wanted = search->spans[i].first; wanted < search->spans[i].end; wanted++)
            found[wanted] = search->spans[i].prefix;
    }
    return NPYX_OK;
}

/* For listed keys. */
static npyx_status order_find_listed(npyx_order *order, const int32_t *labels, const int64_t *ranks,
                                     int64_t n, uint64_t *found, npyx_error *error) {
    for (int64_t i = 0, end; i < n; i = end) {
        const int32_t label = labels == NULL ? 0 : labels[i];
        for (end = i + 1; end < n && (labels == NULL || labels[end] == label);)
            end++;
        NPYX_TRY(npyx_order_select(order, order->list + order->firsts[label], npyx_order_nkeys(order, label),
                                   ranks + i, end - i, found + i, error));
    }
    return NPYX_OK;
}

static npyx_status order_find_counted(npyx_order *order, const int32_t *labels, const int64_t *ranks,
                                      int64_t n, uint64_t *found, npyx_error *error) {
    npyx_arena arena = {.host = order->host};
    order_search search = {
        .order = order, .labels = labels, .n = n, .shift = order->keys.nbits - order->nbits};
    search.ranks = npyx_arena_array(&arena, n, sizeof *search.ranks);
    search.spans = npyx_arena_array(&arena, n, sizeof *search.spans);
    search.next = npyx_arena_array(&arena, n, sizeof *search.next);
    search.prefixes = npyx_arena_array(&arena, n, sizeof *search.prefixes);
    search.firsts = npyx_arena_array(&arena, order_nfirsts(order) + 1, sizeof *search.firsts);
    npyx_status status = NPYX_OK;
    if (search.ranks == NULL || search.spans == NULL || search.next == NULL || search.prefixes == NULL ||
        search.firsts == NULL) {
        status = npyx_fail_nomem(error);
    } else {
        memcpy(search.ranks, ranks, (size_t)n * sizeof *ranks);
        status = order_search_on(&search, found, error);
    }
    npyx_free(order->host, search.counts);
    npyx_arena_clear(&arena);
    return status;
}

npyx_status npyx_order_find(npyx_order *order, const int32_t *labels, const int64_t *ranks, int64_t n,
                            uint64_t *found, npyx_error *error) {
    if (n == 0)
        return NPYX_OK;
    if (order->is_listed)
        return order_find_listed(order, labels, ranks, n, found, error);
    bool is_found = false;
    NPYX_TRY(npyx_order_find_in_brackets(order, ranks, n, found, &is_found, error));
    if (is_found)
        return NPYX_OK;
    const int64_t nkeys = order->firsts[order->nlabels];
    order->nbrackets = 0; /* their keys make room for others */
    if (order->counts == NULL)
        NPYX_TRY(order_count_all(order, error));
    if (nkeys != order->firsts[order->nlabels])
        return npyx_fail_changed(error);
    return order_find_counted(order, labels, ranks, n, found, error);
}
