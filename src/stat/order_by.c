#include "order_by.h"

/* Keys of one label that begin with the same bits, and the wanted ranks among them. */
typedef struct by_span {
    uint64_t prefix; /* key >> the search's shift */
    int64_t nkeys;
    int64_t start;      /* of its keys in the list */
    int64_t first, end; /* of the wanted ranks */
} by_span;

typedef struct by_search {
    npyx_order_by *by;
    const int32_t *labels;
    int64_t *ranks; /* within their spans */
    int64_t n;
    int shift;             /* bits of a key that are not known yet */
    by_span *spans, *next; /* room for n each; by label, and then by prefix */
    int64_t nspans;
    int32_t *firsts; /* by label: its first span; one more at the end */
    uint64_t *counts;
    uint64_t *list, *room; /* the same for as many in sorting */
} by_search;

/* What a pass does with keys and their labels. */
typedef void by_visit(void *ctx, const uint64_t *keys, const int32_t *labels, int64_t n);

/* ---- keys with labels ---- */

/* Reads the keys of a piece's items, and drops the labels of those that have none. Returns their number. */
static int64_t by_read_keys(const npyx_order_keys *how, const uint8_t *items, int64_t n, uint64_t *keys,
                            int32_t *labels) {
    int64_t nkeys = npyx_order_keys_read(how, items, n, keys);
    if (nkeys == n)
        return n;
    nkeys = 0;
    for (int64_t i = 0; i < n; i++) {
        labels[nkeys] = labels[i];
        nkeys += npyx_order_keys_read(how, items + i * how->dtype->itemsize, 1, &keys[nkeys]);
    }
    return nkeys;
}

static void by_visit_items(const npyx_order_by *by, const npyx_blocks *blocks, by_visit *visit, void *ctx) {
    uint64_t keys[NPYX_ORDER_PIECE_NELEM_MOST];
    int32_t labels[NPYX_ORDER_PIECE_NELEM_MOST];
    for (int64_t i = 0, n; i < blocks->nelem; i += n) {
        n = blocks->nelem - i < NPYX_ORDER_PIECE_NELEM ? blocks->nelem - i : NPYX_ORDER_PIECE_NELEM;
        npyx_label_runs_read(&by->runs, blocks->position + i, n, labels);
        visit(ctx, keys, labels,
              by_read_keys(&by->keys, blocks->items + i * by->keys.dtype->itemsize, n, keys, labels));
    }
}

static npyx_status by_pass(const npyx_order_by *by, by_visit *visit, void *ctx, npyx_error *error) {
    npyx_blocks blocks = {0};
    npyx_status status;
    npyx_blocks_begin(&blocks, by->source, &by->view);
    while ((status = npyx_blocks_next(&blocks, error)) == NPYX_OK)
        by_visit_items(by, &blocks, visit, ctx);
    npyx_blocks_clear(&blocks);
    return status == NPYX_DONE ? NPYX_OK : status;
}

/* ---- how many there are ---- */

static void by_count_labels(void *ctx, const uint64_t *keys, const int32_t *labels, int64_t n) {
    int64_t *nkeys = ctx;
    (void)keys;
    for (int64_t i = 0; i < n; i++)
        nkeys[labels[i]]++;
}

static bool by_has_nulls(const npyx_dtype *dtype) {
    char kind = npyx_dtype_kind(dtype);
    return kind != 'i' && kind != 'u' && kind != 'b';
}

npyx_status npyx_order_by_init(npyx_order_by *by, npyx_host *host, int64_t nlabels, npyx_error *error) {
    *by = (npyx_order_by){.host = host, .nlabels = nlabels};
    if (nlabels > NPYX_ORDER_BY_MAX_NLABELS)
        return npyx_fail(error, NPYX_TOOBIG, -1,
                         "there are %" PRId64 " labels; quantiles and medians by label take at most %d",
                         nlabels, NPYX_ORDER_BY_MAX_NLABELS);
    by->nkeys = npyx_alloc_array(by->host, nlabels + 1, sizeof *by->nkeys);
    return npyx_check_memory(by->nkeys, error);
}

npyx_status npyx_order_by_read(npyx_order_by *by, npyx_source *source, const npyx_view *view,
                               const npyx_order_keys *keys, const npyx_label_runs *runs, npyx_error *error) {
    by->keys = *keys;
    by->source = source;
    by->view = *view;
    by->runs = *runs;
    memset(by->nkeys, 0, (size_t)by->nlabels * sizeof *by->nkeys);
    const int64_t nelem = npyx_view_nelem(view);
    if (nelem == 0 || by_has_nulls(keys->dtype))
        return by_pass(by, by_count_labels, by->nkeys, error);
    for (int64_t entry = 0; entry < runs->nentries; entry++)
        by->nkeys[runs->numbers[runs->first + entry * runs->step]] += nelem / runs->nentries;
    return NPYX_OK;
}

void npyx_order_by_end(npyx_order_by *by) {
    if (by->host == NULL)
        return;
    npyx_free(by->host, by->nkeys);
    *by = (npyx_order_by){0};
}

/* ---- spans ---- */

/* Adds a wanted rank to the last span, if it is of the same label and begins with the same bits, or to one
 * more. */
static void by_add_wanted(by_search *search, by_span *spans, int64_t *nspans, int64_t wanted, uint64_t prefix,
                          int64_t nkeys) {
    by_span *last = *nspans == 0 ? NULL : &spans[*nspans - 1];
    if (last == NULL || search->labels[last->first] != search->labels[wanted] || last->prefix != prefix) {
        last = &spans[(*nspans)++];
        *last = (by_span){.prefix = prefix, .nkeys = nkeys, .first = wanted};
    }
    last->end = wanted + 1;
}

static void by_index_spans(by_search *search) {
    int64_t span = 0;
    for (int64_t label = 0; label <= search->by->nlabels; label++) {
        while (span < search->nspans && search->labels[search->spans[span].first] < label)
            span++;
        search->firsts[label] = (int32_t)span;
    }
}

/* The span that contains a key; NULL: none. */
static inline by_span *by_span_of(const by_search *search, uint64_t key, int32_t label) {
    int64_t low = search->firsts[label], end = search->firsts[label + 1];
    const uint64_t prefix = search->shift == search->by->keys.nbits ? 0 : key >> search->shift;
    if (low == end)
        return NULL;
    for (int64_t high = end; high - low > 1;) {
        int64_t middle = low + (high - low) / 2;
        if (search->spans[middle].prefix <= prefix)
            low = middle;
        else
            high = middle;
    }
    return search->spans[low].prefix == prefix ? &search->spans[low] : NULL;
}

/* ---- counting the next bits ---- */

typedef struct by_counting {
    const by_search *search;
    int nbits;
} by_counting;

static void by_count(void *ctx, const uint64_t *keys, const int32_t *labels, int64_t n) {
    const by_counting *counting = ctx;
    const by_search *search = counting->search;
    const int shift = search->shift - counting->nbits;
    const uint64_t mask = ((uint64_t)1 << counting->nbits) - 1;
    for (int64_t i = 0; i < n; i++) {
        const by_span *span = by_span_of(search, keys[i], labels[i]);
        if (span != NULL)
            search->counts[(uint64_t)(span - search->spans) << counting->nbits | (keys[i] >> shift & mask)]++;
    }
}

/* Assigns the ranks of a span to the buckets in which its keys were counted. */
static npyx_status by_split(by_search *search, const by_span *span, const uint64_t *counts, int nbits,
                            int64_t *nnext, npyx_error *error) {
    int64_t nbelow = 0;
    uint64_t bucket = 0;
    for (int64_t wanted = span->first; wanted < span->end; wanted++) {
        while (bucket >> nbits == 0 && nbelow + (int64_t)counts[bucket] <= search->ranks[wanted])
            nbelow += (int64_t)counts[bucket++];
        if (bucket >> nbits > 0)
            return npyx_fail_changed(error);
        search->ranks[wanted] -= nbelow;
        by_add_wanted(search, search->next, nnext, wanted, span->prefix << nbits | bucket,
                      (int64_t)counts[bucket]);
    }
    return NPYX_OK;
}

static npyx_status by_narrow(by_search *search, npyx_error *error) {
    by_counting counting = {search, 1};
    while (counting.nbits < search->shift && counting.nbits < NPYX_ORDER_NLEADING &&
           search->nspans << (counting.nbits + 1) <= NPYX_ORDER_BY_NCOUNTERS)
        counting.nbits++;
    by_index_spans(search);
    memset(search->counts, 0, ((size_t)search->nspans << counting.nbits) * sizeof *search->counts);
    NPYX_TRY(by_pass(search->by, by_count, &counting, error));
    int64_t nnext = 0;
    for (int64_t i = 0; i < search->nspans; i++)
        NPYX_TRY(by_split(search, &search->spans[i], search->counts + (i << counting.nbits), counting.nbits,
                          &nnext, error));
    by_span *spans = search->spans;
    search->spans = search->next;
    search->next = spans;
    search->nspans = nnext;
    search->shift -= counting.nbits;
    return NPYX_OK;
}

/* ---- listing what is left ---- */

typedef struct by_listing {
    const by_search *search;
    bool has_lost; /* some keys found no room: the file has changed */
} by_listing;

static void by_list(void *ctx, const uint64_t *keys, const int32_t *labels, int64_t n) {
    by_listing *listing = ctx;
    for (int64_t i = 0; i < n; i++) {
        by_span *span = by_span_of(listing->search, keys[i], labels[i]);
        if (span != NULL && span->nkeys == 0)
            listing->has_lost = true;
        else if (span != NULL)
            listing->search->list[span->start + --span->nkeys] = keys[i];
    }
}

static npyx_status by_select(const by_search *search, const by_span *span, int64_t nkeys, uint64_t *found,
                             npyx_error *error) {
    uint64_t *keys = search->list + span->start;
    const int64_t *ranks = search->ranks + span->first;
    const int64_t nranks = span->end - span->first;
    if (nranks > NPYX_ORDER_FEW_NRANKS || !npyx_order_keys_select(keys, nkeys, ranks, nranks))
        NPYX_TRY(
            npyx_order_keys_sort(search->by->host, keys, nkeys, search->by->keys.nbits, search->room, error));
    for (int64_t i = 0; i < nranks; i++)
        found[span->first + i] = keys[ranks[i]];
    return NPYX_OK;
}

/* Lists the keys of all spans, nkeys in all, those of each side by side. */
static npyx_status by_collect(by_search *search, int64_t nkeys, uint64_t *found, npyx_error *error) {
    by_listing listing = {search, false};
    int64_t start = 0;
    for (int64_t i = 0; i < search->nspans; start += search->spans[i++].nkeys)
        search->spans[i].start = start;
    by_index_spans(search);
    NPYX_TRY(by_pass(search->by, by_list, &listing, error));
    for (int64_t i = 0; i < search->nspans; i++) {
        const by_span *span = &search->spans[i];
        int64_t end = i + 1 < search->nspans ? span[1].start : nkeys;
        if (listing.has_lost || span->nkeys > 0)
            return npyx_fail_changed(error);
        if ((i & 63) == 0)
            NPYX_TRY(npyx_poll(search->by->host, error));
        NPYX_TRY(by_select(search, span, end - span->start, found, error));
    }
    return NPYX_OK;
}

/* ---- the search ---- */

static int64_t by_span_nkeys(const by_search *search) {
    int64_t nkeys = 0;
    for (int64_t i = 0; i < search->nspans; i++)
        nkeys += search->spans[i].nkeys;
    return nkeys;
}

static npyx_status by_make_room(by_search *search, npyx_arena *arena, npyx_error *error) {
    const bool needs_counts = by_span_nkeys(search) > NPYX_ORDER_NKEYS;
    const int64_t nlisted = needs_counts ? NPYX_ORDER_NKEYS : by_span_nkeys(search);
    const int64_t ncounters =
        search->n * 2 < NPYX_ORDER_BY_NCOUNTERS ? NPYX_ORDER_BY_NCOUNTERS : search->n * 2;
    search->next = npyx_arena_array(arena, search->n, sizeof *search->next);
    search->counts = npyx_arena_array(arena, needs_counts ? ncounters : 1, sizeof *search->counts);
    search->list = npyx_arena_array(arena, nlisted, sizeof *search->list);
    search->room = npyx_arena_array(arena, nlisted, sizeof *search->room);
    bool has_room =
        search->next != NULL && search->counts != NULL && search->list != NULL && search->room != NULL;
    return has_room ? NPYX_OK : npyx_fail_nomem(error);
}

static npyx_status by_go(by_search *search, npyx_arena *arena, uint64_t *found, npyx_error *error) {
    for (int64_t i = 0; i < search->n; i++)
        by_add_wanted(search, search->spans, &search->nspans, i, 0, search->by->nkeys[search->labels[i]]);
    NPYX_TRY(by_make_room(search, arena, error));
    while (search->shift > 0 && by_span_nkeys(search) > NPYX_ORDER_NKEYS)
        NPYX_TRY(by_narrow(search, error));
    if (search->shift > 0)
        return by_collect(search, by_span_nkeys(search), found, error);
    for (int64_t i = 0; i < search->nspans; i++) {
        for (int64_t wanted = search->spans[i].first; wanted < search->spans[i].end; wanted++)
            found[wanted] = search->spans[i].prefix;
    }
    return NPYX_OK;
}

npyx_status npyx_order_by_find(npyx_order_by *by, const int32_t *labels, const int64_t *ranks, int64_t n,
                               uint64_t *found, npyx_error *error) {
    if (n == 0)
        return NPYX_OK;
    npyx_arena arena = {.host = by->host};
    by_search search = {.by = by, .labels = labels, .n = n, .shift = by->keys.nbits};
    search.ranks = npyx_arena_array(&arena, n, sizeof *search.ranks);
    search.spans = npyx_arena_array(&arena, n, sizeof *search.spans);
    search.firsts = npyx_arena_array(&arena, by->nlabels + 1, sizeof *search.firsts);
    npyx_status status = NPYX_NOMEM;
    if (search.ranks != NULL && search.spans != NULL && search.firsts != NULL) {
        memcpy(search.ranks, ranks, (size_t)n * sizeof *ranks);
        status = by_go(&search, &arena, found, error);
    } else {
        (void)npyx_fail_nomem(error);
    }
    npyx_arena_clear(&arena);
    return status;
}
