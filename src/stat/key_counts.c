#include "key_counts.h"

#include <inttypes.h>

#include "order_keys.h"

enum { KEY_NBITS = 64 };

void npyx_key_counts_init(npyx_key_counts *counts, npyx_host *host, bool wants_first) {
    *counts = (npyx_key_counts){.host = host, .wants_first = wants_first};
    counts->multiplier = npyx_hash_name(host, "key counts", 10) | 1;
}

void npyx_key_counts_clear(npyx_key_counts *counts) {
    if (counts->host == NULL)
        return;
    npyx_free(counts->host, counts->table);
    npyx_free(counts->host, counts->list);
    npyx_free(counts->host, counts->room);
    npyx_free(counts->host, counts->keys);
    npyx_free(counts->host, counts->counts);
    npyx_free(counts->host, counts->firsts);
    *counts = (npyx_key_counts){0};
}

static npyx_status key_counts_fail_many(npyx_error *error) {
    return npyx_fail(error, NPYX_TOOBIG, -1, "has more than %d different values, which are not kept",
                     NPYX_MAX_NKEYS);
}

/* ---- the table ---- */

/* M. Dietzfelbinger et al., A Reliable Randomized Algorithm for the Closest-Pair Problem (1997): the high
 * bits of a product with a random odd number. */
static npyx_key_count *key_table_place(const npyx_key_counts *counts, uint64_t key) {
    const size_t mask = ((size_t)1 << counts->nbits) - 1;
    size_t place = (size_t)(key * counts->multiplier >> (KEY_NBITS - counts->nbits));
    while (counts->table[place].count > 0 && counts->table[place].key != key)
        place = (place + 1) & mask;
    return &counts->table[place];
}

static npyx_status key_table_grow(npyx_key_counts *counts, npyx_error *error) {
    npyx_key_count *old = counts->table;
    const size_t nold = old == NULL ? 0 : (size_t)1 << counts->nbits;
    const int nbits = old == NULL ? NPYX_KEY_TABLE_NBITS : counts->nbits + 1;
    npyx_key_count *table = npyx_alloc_array_zeroed(counts->host, (int64_t)1 << nbits, sizeof *table);
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
    npyx_key_count *place = key_table_place(counts, key);
    if (place->count == 0) {
        if (counts->ntaken == NPYX_MAX_NKEYS)
            return key_counts_fail_many(error);
        *place = (npyx_key_count){.key = key, .first = first};
        counts->ntaken++;
    }
    place->count += count;
    return NPYX_OK;
}

/* ---- the list, and the runs ---- */

/* Merges two runs: the counts of common keys are added up. */
static int64_t key_runs_merge(const uint64_t *a_keys, const int64_t *a_counts, int64_t na,
                              const uint64_t *b_keys, const int64_t *b_counts, int64_t nb, uint64_t *keys,
                              int64_t *counts) {
    int64_t n = 0;
    for (int64_t a = 0, b = 0; a < na || b < nb; n++) {
        bool takes_a = b == nb || (a < na && a_keys[a] <= b_keys[b]);
        bool takes_b = a == na || (b < nb && b_keys[b] <= a_keys[a]);
        keys[n] = takes_a ? a_keys[a] : b_keys[b];
        counts[n] = (takes_a ? a_counts[a++] : 0) + (takes_b ? b_counts[b++] : 0);
    }
    return n;
}

/* Merges sorted keys, each with its count, into the runs. */
static npyx_status key_runs_add(npyx_key_counts *c, const uint64_t *keys, const int64_t *counts, int64_t n,
                                npyx_error *error) {
    const size_t nmost = (size_t)(c->n + n) + 1;
    uint64_t *new_keys = npyx_alloc_array(c->host, (int64_t)nmost, sizeof *new_keys);
    int64_t *new_counts = npyx_alloc_array(c->host, (int64_t)nmost, sizeof *new_counts);
    if (new_keys == NULL || new_counts == NULL) {
        npyx_free(c->host, new_keys);
        npyx_free(c->host, new_counts);
        return npyx_fail_nomem(error);
    }
    c->n = key_runs_merge(c->keys, c->counts, c->n, keys, counts, n, new_keys, new_counts);
    npyx_free(c->host, c->keys);
    npyx_free(c->host, c->counts);
    c->keys = new_keys;
    c->counts = new_counts;
    return c->n > NPYX_MAX_NKEYS ? key_counts_fail_many(error) : NPYX_OK;
}

/* Sorts the list, counts equal keys, and adds the counts to the runs. */
static npyx_status key_list_empty(npyx_key_counts *c, npyx_error *error) {
    int64_t n = 0;
    NPYX_TRY(npyx_order_keys_sort(c->host, c->list, c->nlisted, KEY_NBITS, c->room, error));
    int64_t *counts = (int64_t *)(void *)c->room; /* free for the moment */
    for (int64_t i = 0, begin = 0; i < c->nlisted; begin = i) {
        const uint64_t key = c->list[i];
        while (i < c->nlisted && c->list[i] == key)
            i++;
        c->list[n] = key;
        counts[n++] = i - begin;
    }
    c->nlisted = 0;
    return key_runs_add(c, c->list, counts, n, error);
}

/* Allocates the list: as many keys as the runs have, so that they are not merged too often. */
static npyx_status key_list_grow(npyx_key_counts *c, npyx_error *error) {
    const int64_t nkeys = c->n > NPYX_KEY_LIST_NKEYS ? c->n : NPYX_KEY_LIST_NKEYS;
    if (c->list != NULL && c->list_nkeys >= nkeys)
        return NPYX_OK;
    npyx_free(c->host, c->list);
    npyx_free(c->host, c->room);
    c->list = npyx_alloc_array(c->host, nkeys, sizeof *c->list);
    c->room = npyx_alloc_array(c->host, nkeys, sizeof *c->room);
    c->list_nkeys = nkeys;
    return c->list == NULL || c->room == NULL ? npyx_fail_nomem(error) : NPYX_OK;
}

static npyx_status key_list_add(npyx_key_counts *c, const uint64_t *keys, int64_t n, npyx_error *error) {
    while (n > 0) {
        if (c->list == NULL || c->nlisted == c->list_nkeys) {
            if (c->nlisted > 0)
                NPYX_TRY(key_list_empty(c, error));
            NPYX_TRY(key_list_grow(c, error));
        }
        int64_t left = c->list_nkeys - c->nlisted, nadded = n < left ? n : left;
        memcpy(c->list + c->nlisted, keys, (size_t)nadded * sizeof *keys);
        c->nlisted += nadded;
        keys += nadded;
        n -= nadded;
    }
    return NPYX_OK;
}

/* ---- from the table ---- */

static int key_count_compare(const void *a, const void *b, const void *ctx) {
    uint64_t x = ((const npyx_key_count *)a)->key, y = ((const npyx_key_count *)b)->key;
    (void)ctx;
    return x < y ? -1 : x > y;
}

/* Moves the table's keys to its beginning, in order. */
static npyx_status key_table_sort(npyx_key_counts *counts, npyx_error *error) {
    const size_t nplaces = (size_t)1 << counts->nbits;
    size_t n = 0;
    for (size_t i = 0; i < nplaces; i++) {
        if (counts->table[i].count > 0)
            counts->table[n++] = counts->table[i];
    }
    return npyx_sort(counts->host, counts->table, n, sizeof *counts->table, key_count_compare, NULL, error);
}

/* Merges the table's keys into those in order already, and frees it. */
static npyx_status key_table_empty(npyx_key_counts *c, npyx_error *error) {
    const int64_t n = c->ntaken;
    const size_t nbytes = (size_t)n * sizeof(int64_t);
    if (n == 0)
        return NPYX_OK;
    NPYX_TRY(key_table_sort(c, error));
    uint64_t *keys = npyx_alloc(c->host, nbytes);
    int64_t *counts = npyx_alloc(c->host, nbytes),
            *firsts = c->wants_first ? npyx_alloc(c->host, nbytes) : NULL;
    npyx_status status = NPYX_OK;
    if (keys == NULL || counts == NULL || (firsts == NULL && c->wants_first))
        status = npyx_fail_nomem(error);
    for (int64_t i = 0; i < n && status == NPYX_OK; i++) {
        keys[i] = c->table[i].key;
        counts[i] = c->table[i].count;
        if (firsts != NULL)
            firsts[i] = c->table[i].first;
    }
    npyx_free(c->host, c->table);
    c->table = NULL;
    c->ntaken = 0;
    if (status == NPYX_OK && c->n > 0)
        status = key_runs_add(c, keys, counts, n, error);
    else if (status == NPYX_OK)
        c->n = n;
    if (status == NPYX_OK && c->keys == NULL) {
        c->keys = keys;
        c->counts = counts;
        c->firsts = firsts;
        return NPYX_OK;
    }
    npyx_free(c->host, keys);
    npyx_free(c->host, counts);
    npyx_free(c->host, firsts);
    return status;
}

npyx_status npyx_key_counts_add(npyx_key_counts *counts, const uint64_t *keys, int64_t n, int64_t place,
                                npyx_error *error) {
    for (int64_t i = 0, begin = 0; i < n; begin = i) {
        if (!counts->wants_first && counts->ntaken >= NPYX_KEY_TABLE_MOST_N)
            NPYX_TRY(key_table_empty(counts, error));
        if (counts->n > 0) /* there are many: the table was given up once */
            return key_list_add(counts, keys + i, n - i, error);
        while (i < n && keys[i] == keys[begin])
            i++;
        NPYX_TRY(npyx_key_counts_add_many(counts, keys[begin], i - begin, place + begin, error));
    }
    return NPYX_OK;
}

npyx_status npyx_key_counts_finish(npyx_key_counts *counts, npyx_error *error) {
    if (counts->nlisted > 0)
        NPYX_TRY(key_list_empty(counts, error));
    npyx_free(counts->host, counts->list);
    npyx_free(counts->host, counts->room);
    counts->list = counts->room = NULL;
    return key_table_empty(counts, error);
}
