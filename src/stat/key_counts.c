#include "key_counts.h"

#include "io/system.h"
#include "key_sort.h"

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
            (takes_key ? 0 : npyx_key_counts_of(c, j - 1)) + (takes_key || is_common ? counts[i - 1] : 0);
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

npyx_status npyx_key_counts_add_many(npyx_key_counts *counts, uint64_t key, int64_t count, int64_t first,
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

/* Of so many keys one is sampled, each time it comes. */
enum { KEY_SAMPLED_NBITS = 10 };

/* The room of the list's sample: sixteen times what is likely if the keys are different. */
static int64_t key_sample_most_nkeys(const npyx_key_counts *c) {
    return (c->list_nkeys >> (KEY_SAMPLED_NBITS - 4)) + 4;
}

/* Adds to the sample by which the list is judged. It is one of keys, not of places, which are as far apart as
 * equal ones may be; it is taken as they come, while a cache has them. */
static void key_sample_add(npyx_key_counts *c, const uint64_t *keys, int64_t n) {
    const int64_t most = key_sample_most_nkeys(c);
    for (int64_t i = 0; i < n; i++) {
        if (keys[i] * c->multiplier >> (KEY_NBITS - KEY_SAMPLED_NBITS) == 0 && c->nsampled < most)
            c->sample[c->nsampled++] = keys[i];
    }
}

/* Leaves one of each key in a sorted list, and makes the counts. */
static npyx_status key_list_count(const npyx_key_counts *c, int64_t *counts, npyx_error *error) {
    uint64_t *keys = c->list;
    int64_t n = 0;
    for (int64_t i = 0; i < c->nlisted; n++) {
        const int64_t first = i;
        if (n % RUNS_POLL_N == 0)
            NPYX_TRY(npyx_poll(c->host, error));
        while (++i < c->nlisted && keys[i] == keys[first])
            ;
        keys[n] = keys[first];
        counts[n] = i - first;
    }
    return NPYX_OK;
}

/* Sorts the list, counts its equal keys, and adds the counts to the runs, whose array of keys the list
 * becomes. */
static npyx_status key_list_empty(npyx_key_counts *c, npyx_error *error) {
    int64_t n;
    NPYX_TRY(npyx_keys_sort(c->host, c->list, c->nlisted, &n, error));
    if (c->n == 0 && n == c->nlisted) {
        c->keys = c->list;
        c->n = n;
        c->list = NULL;
        c->nlisted = c->list_nkeys = c->nsampled = 0;
        return n > NPYX_MAX_NKEYS ? key_counts_fail_many(error) : NPYX_OK;
    }
    int64_t *counts = npyx_alloc_array(c->host, n + c->n, sizeof *counts);
    NPYX_TRY(npyx_check_memory(counts, error));
    npyx_system_use_large_pages(counts, (size_t)(n + c->n) * sizeof *counts);
    npyx_status status = key_list_count(c, counts, error);
    uint64_t *keys = status == NPYX_OK ? npyx_resize_array(c->host, c->list, n + c->n, sizeof *keys) : NULL;
    if (keys == NULL) {
        npyx_free(c->host, counts);
        NPYX_TRY(status);
        return npyx_fail_nomem(error);
    }
    c->list = NULL;
    c->nlisted = c->list_nkeys = c->nsampled = 0;
    return key_runs_take(c, keys, counts, n, error);
}

/* Whether most keys of a full list are different. Told by its sample; without room for that, few keys make up
 * the list. */
static npyx_status key_list_is_distinct(npyx_key_counts *c, bool *is_distinct, npyx_error *error) {
    int64_t ndifferent = 0;
    *is_distinct = false;
    if (c->nsampled == key_sample_most_nkeys(c))
        return NPYX_OK;
    NPYX_TRY(npyx_keys_sort(c->host, c->sample, c->nsampled, &ndifferent, error));
    *is_distinct = ndifferent >= c->nsampled / 4 * 3;
    return NPYX_OK;
}

/* Makes the list one of nkeys, and its sample; both keep those in them. */
static npyx_status key_list_resize(npyx_key_counts *c, int64_t nkeys, npyx_error *error) {
    uint64_t *list = npyx_resize_array(c->host, c->list, nkeys, sizeof *c->list);
    NPYX_TRY(npyx_check_memory(list, error));
    c->list = list;
    c->list_nkeys = nkeys;
    npyx_system_use_large_pages(c->list, (size_t)nkeys * sizeof *c->list);
    uint64_t *sample = npyx_resize_array(c->host, c->sample, key_sample_most_nkeys(c), sizeof *sample);
    NPYX_TRY(npyx_check_memory(sample, error));
    c->sample = sample;
    return NPYX_OK;
}

/* Makes room in the list for one of nmore keys. A full one in which most keys are different is made longer,
 * so that all are sorted once, and no runs are merged; any other becomes runs. */
static npyx_status key_list_grow(npyx_key_counts *c, int64_t nmore, npyx_error *error) {
    if (c->nlisted < c->list_nkeys)
        return NPYX_OK;
    if (c->nlisted > 0) {
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
        if (nmore > nfree) /* it will be full */
            key_sample_add(c, keys, nadded);
        c->nlisted += nadded;
    }
    return NPYX_OK;
}

/* What makes more places of the list than this for each different key is no list of different keys. */
enum { KEY_LIST_MOST_COUNT = 4 };

/* Gives up a full table, whose keys become runs, or those of the list if they occur few times. nmore: keys
 * that may follow. */
static npyx_status key_table_give_up(npyx_key_counts *c, int64_t nmore, npyx_error *error) {
    int64_t nkeys = 0;
    c->is_listed = true;
    for (size_t i = 0; i < (size_t)1 << c->nbits; i++)
        nkeys += c->table[i].count;
    if (nkeys > KEY_LIST_MOST_COUNT * c->ntaken)
        return key_table_empty(c, error);
    for (size_t i = 0; i < (size_t)1 << c->nbits; i++) {
        const key_count *place = &c->table[i];
        for (int64_t j = 0; j < place->count; j++)
            NPYX_TRY(key_list_add(c, &place->key, 1, nkeys-- + nmore, error));
    }
    npyx_free(c->host, c->table);
    c->table = NULL;
    c->ntaken = 0;
    return NPYX_OK;
}

/* ---- all of them ---- */

void npyx_key_counts_init(npyx_key_counts *counts, npyx_host *host, int64_t nitems, bool wants_first) {
    *counts = (npyx_key_counts){.host = host,
                                .wants_first = wants_first,
                                .nitems = nitems,
                                .multiplier = npyx_hash_name(host, "key counts", 10) | 1};
}

npyx_status npyx_key_counts_add(npyx_key_counts *counts, const uint64_t *keys, int64_t n, int64_t place,
                                npyx_error *error) {
    for (int64_t i = 0, begin = 0; i < n; begin = i) {
        const int64_t nmore = counts->nitems - place - i;
        if (!counts->wants_first && counts->ntaken >= NPYX_KEY_TABLE_MOST_N)
            NPYX_TRY(key_table_give_up(counts, nmore, error));
        if (counts->is_listed)
            return key_list_add(counts, keys + i, n - i, nmore, error);
        while (i < n && keys[i] == keys[begin])
            i++;
        NPYX_TRY(npyx_key_counts_add_many(counts, keys[begin], i - begin, place + begin, error));
    }
    return NPYX_OK;
}

npyx_status npyx_key_counts_finish(npyx_key_counts *counts, npyx_error *error) {
    if (counts->nlisted > 0)
        NPYX_TRY(key_list_empty(counts, error));
    return key_table_empty(counts, error);
}

npyx_status npyx_key_counts_sort(npyx_key_counts *counts, npyx_error *error) {
    key_count *sorted = npyx_alloc_array(counts->host, counts->n, sizeof *sorted);
    NPYX_TRY(npyx_check_memory(sorted, error));
    for (int64_t i = 0; i < counts->n; i++)
        sorted[i] = (key_count){.key = counts->keys[i],
                                .count = npyx_key_counts_of(counts, i),
                                .first = counts->firsts == NULL ? 0 : counts->firsts[i]};
    npyx_status status =
        npyx_sort(counts->host, sorted, (size_t)counts->n, sizeof *sorted, key_count_compare, NULL, error);
    for (int64_t i = 0; i < counts->n; i++) {
        counts->keys[i] = sorted[i].key;
        if (counts->counts != NULL)
            counts->counts[i] = sorted[i].count;
        if (counts->firsts != NULL)
            counts->firsts[i] = sorted[i].first;
    }
    npyx_free(counts->host, sorted);
    return status;
}

void npyx_key_counts_clear(npyx_key_counts *counts) {
    npyx_free(counts->host, counts->table);
    npyx_free(counts->host, counts->list);
    npyx_free(counts->host, counts->sample);
    npyx_free(counts->host, counts->keys);
    npyx_free(counts->host, counts->counts);
    npyx_free(counts->host, counts->firsts);
}
