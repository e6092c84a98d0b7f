/*
 * Many keys are dealt into pieces that a cache holds; each piece is sorted by any thread.
 *
 *     leading bits that differ    0 1 2 3 4 5 6 7 ...        counted: 16 of them at once
 *     pieces                      |-----| |-| |---|          neighbours with few keys share one
 *
 * A piece of too many keys, which have the same leading bits, is dealt again by those after them.
 *
 * The keys of a piece are dealt once more, into heaps of a few keys, which are sorted by insertion. A heap of
 * many keys is sorted from its last bits up, so that no keys make this slow.
 */
#include "key_sort.h"

#include "io/threads.h"

enum {
    DIGIT_NBITS = 8, /* of a heap's keys */
    NDIGITS = 1 << DIGIT_NBITS,
    HEAPS_MOST_NBITS = 12, /* that a piece is dealt by */
    HEAP_NKEYS = 8,        /* about, if they are spread evenly */
    FEW_NKEYS = 48,        /* of a heap: insertion takes no longer */
    LEADING_NBITS = 16,    /* of all keys */
    NLEADING = 1 << LEADING_NBITS,
    MOST_NPIECES = 1 << 8, /* about: with more places that are written to by turns each is slower */
    SORT_NSLOTS = 64,
    POLL_NKEYS = 1 << 20, /* a few milliseconds' work */
};

void npyx_keys_range(const uint64_t *keys, int64_t n, uint64_t *least, uint64_t *greatest) {
    uint64_t low = UINT64_MAX, high = 0;
    for (int64_t i = 0; i < n; i++) {
        low = keys[i] < low ? keys[i] : low;
        high = keys[i] > high ? keys[i] : high;
    }
    *least = low;
    *greatest = high;
}

/* ---- a piece ---- */

typedef struct key_piece {
    uint64_t *keys, *room;
    int64_t n;
    bool goes_to_room; /* where they are to be in the end */
} key_piece;

/* The bits in which keys differ from the first. */
static uint64_t keys_differ(const uint64_t *keys, int64_t n) {
    typedef uint64_t pair __attribute__((vector_size(16)));
    pair low = {0}, high = {0}, next[2], first = (pair){0} + keys[0];
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        memcpy(next, keys + i, sizeof next);
        low |= next[0] ^ first;
        high |= next[1] ^ first;
    }
    low |= high;
    uint64_t bits = low[0] | low[1];
    for (; i < n; i++)
        bits |= keys[i] ^ keys[0];
    return bits;
}

/* From the last bits up. */
static void piece_sort_by_digits(const key_piece *piece) {
    uint64_t *keys = piece->keys, *sorted = piece->room;
    for (uint64_t left = keys_differ(keys, piece->n); left != 0;) {
        const int shift = __builtin_ctzll(left);
        uint32_t starts[NDIGITS] = {0}, start = 0;
        for (int64_t i = 0; i < piece->n; i++)
            starts[keys[i] >> shift & (NDIGITS - 1)]++;
        for (int digit = 0; digit < NDIGITS; digit++) {
            const uint32_t count = starts[digit];
            starts[digit] = start;
            start += count;
        }
        for (int64_t i = 0; i < piece->n; i++)
            sorted[starts[keys[i] >> shift & (NDIGITS - 1)]++] = keys[i];
        uint64_t *other = keys;
        keys = sorted;
        sorted = other;
        left = left >> shift >> DIGIT_NBITS << DIGIT_NBITS << shift;
    }
    uint64_t *wanted = piece->goes_to_room ? piece->room : piece->keys;
    if (keys != wanted)
        memcpy(wanted, keys, (size_t)piece->n * sizeof *keys);
}

/* By insertion, wherever they go. */
static void piece_insert(const key_piece *piece) {
    uint64_t *sorted = piece->goes_to_room ? piece->room : piece->keys;
    for (int64_t i = 0; i < piece->n; i++) {
        const uint64_t key = piece->keys[i];
        int64_t at = i;
        for (; at > 0 && sorted[at - 1] > key; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = key;
    }
}

/* How keys are numbered by their heap: by the leading bits of what they are above the least one. */
typedef struct piece_heaps {
    uint64_t least;
    int shift, n;
} piece_heaps;

static piece_heaps piece_heaps_of(const key_piece *piece) {
    uint64_t least, greatest;
    int nbits = 1;
    npyx_keys_range(piece->keys, piece->n, &least, &greatest);
    while (nbits < HEAPS_MOST_NBITS && piece->n >> nbits > HEAP_NKEYS)
        nbits++;
    const int all_nbits = 64 - __builtin_clzll((greatest - least) | 1);
    return (piece_heaps){.least = least, .shift = all_nbits > nbits ? all_nbits - nbits : 0, .n = 1 << nbits};
}

static inline uint32_t piece_heap(const piece_heaps *heaps, uint64_t key) {
    return (uint32_t)((key - heaps->least) >> heaps->shift);
}

static void piece_sort(const key_piece *piece) {
    uint32_t ends[1 << HEAPS_MOST_NBITS], start = 0;
    if (piece->n <= FEW_NKEYS) {
        piece_insert(piece);
        return;
    }
    const piece_heaps heaps = piece_heaps_of(piece);
    memset(ends, 0, (size_t)heaps.n * sizeof *ends);
    for (int64_t i = 0; i < piece->n; i++)
        ends[piece_heap(&heaps, piece->keys[i])]++;
    for (int heap = 0; heap < heaps.n; heap++) {
        const uint32_t count = ends[heap];
        ends[heap] = start;
        start += count;
    }
    for (int64_t i = 0; i < piece->n; i++)
        piece->room[ends[piece_heap(&heaps, piece->keys[i])]++] = piece->keys[i];
    start = 0;
    for (int heap = 0; heap < heaps.n; start = ends[heap++]) {
        const key_piece dealt = {.keys = piece->room + start,
                                 .room = piece->keys + start,
                                 .n = ends[heap] - start,
                                 .goes_to_room = !piece->goes_to_room};
        if (dealt.n <= FEW_NKEYS)
            piece_insert(&dealt);
        else
            piece_sort_by_digits(&dealt);
    }
}

/* ---- dealing ---- */

typedef struct key_sort {
    npyx_host *host;
    const uint64_t *first; /* of all keys, where they are to be in the end */
    const int64_t *ranks;  /* NULL: all are wanted */
    int64_t nranks;
    key_piece *pieces;
    int64_t npieces, capacity;
    int64_t counts[NLEADING];   /* of keys by their leading bits, */
    uint16_t numbers[NLEADING]; /* and the number of their piece */
    int64_t starts[NLEADING];   /* where each piece begins, and then goes on */
} key_sort;

/* Whether a piece will have keys that are wanted. */
static bool sort_wants(const key_sort *sort, const key_piece *piece) {
    const int64_t start = (piece->goes_to_room ? piece->room : piece->keys) - sort->first;
    for (int64_t i = 0; i < sort->nranks; i++) {
        if (sort->ranks[i] >= start && sort->ranks[i] < start + piece->n)
            return true;
    }
    return sort->ranks == NULL;
}

static npyx_status sort_add_piece(key_sort *sort, key_piece piece, npyx_error *error) {
    NPYX_TRY(npyx_grow(sort->host, &sort->pieces, sort->npieces, &sort->capacity, sizeof piece, error));
    sort->pieces[sort->npieces++] = piece;
    return NPYX_OK;
}

/* Numbers the pieces that the counts make, and adds them. */
static npyx_status sort_add_pieces(key_sort *sort, const key_piece *whole, npyx_error *error) {
    int64_t target = whole->n / MOST_NPIECES, start = 0, n = 0;
    target = target > NPYX_SORT_PIECE_NKEYS ? target : NPYX_SORT_PIECE_NKEYS;
    if (target >= whole->n) /* two pieces at least: keys are never dealt forever */
        target = whole->n - 1;
    uint16_t number = 0;
    for (int digit = 0; digit <= NLEADING; digit++) {
        const int64_t count = digit < NLEADING ? sort->counts[digit] : 0;
        if (n > 0 && (digit == NLEADING || n + count > target)) {
            const key_piece piece = {.keys = whole->room + start,
                                     .room = whole->keys + start,
                                     .n = n,
                                     .goes_to_room = !whole->goes_to_room};
            NPYX_TRY(sort_add_piece(sort, piece, error));
            sort->starts[number++] = start;
            start += n;
            n = 0;
        }
        if (digit < NLEADING)
            sort->numbers[digit] = number;
        n += count;
    }
    return NPYX_OK;
}

/* As keys_differ, of many keys. */
static npyx_status sort_differ(const key_sort *sort, const key_piece *whole, uint64_t *differ,
                               npyx_error *error) {
    *differ = 0;
    for (int64_t i = 0, n; i < whole->n; i += n) {
        NPYX_TRY(npyx_poll(sort->host, error));
        n = whole->n - i < POLL_NKEYS ? whole->n - i : POLL_NKEYS;
        *differ |= keys_differ(whole->keys + i, n) | (whole->keys[i] ^ whole->keys[0]);
    }
    return NPYX_OK;
}

/* Deals the keys of a piece, which differ in some bits, into the room, as more pieces. */
static npyx_status sort_deal(key_sort *sort, const key_piece *whole, uint64_t differ, npyx_error *error) {
    const uint64_t *keys = whole->keys;
    const int nbits = 64 - __builtin_clzll(differ);
    const int shift = nbits > LEADING_NBITS ? nbits - LEADING_NBITS : 0;
    memset(sort->counts, 0, sizeof sort->counts);
    for (int64_t i = 0; i < whole->n; i++) {
        if (i % POLL_NKEYS == 0)
            NPYX_TRY(npyx_poll(sort->host, error));
        sort->counts[keys[i] >> shift & (NLEADING - 1)]++;
    }
    NPYX_TRY(sort_add_pieces(sort, whole, error));
    for (int64_t i = 0; i < whole->n; i++) {
        if (i % POLL_NKEYS == 0)
            NPYX_TRY(npyx_poll(sort->host, error));
        whole->room[sort->starts[sort->numbers[keys[i] >> shift & (NLEADING - 1)]]++] = keys[i];
    }
    return NPYX_OK;
}

/* ---- all pieces ---- */

static void sort_make(void *ctx, int64_t index) {
    const key_sort *sort = ctx;
    if (sort_wants(sort, &sort->pieces[index]))
        piece_sort(&sort->pieces[index]);
}

static npyx_status sort_all_pieces(key_sort *sort, int64_t n, npyx_error *error) {
    npyx_pool *pool =
        n < NPYX_SORT_THREADS_NKEYS ? NULL : npyx_pool_start(sort->host, SORT_NSLOTS, false, sort_make, sort);
    npyx_status status = NPYX_OK;
    for (int64_t i = 0; i < sort->npieces && status == NPYX_OK; i++) {
        if (pool == NULL) {
            sort_make(sort, i);
            status = npyx_poll(sort->host, error);
        } else {
            npyx_pool_allow(pool, i + SORT_NSLOTS < sort->npieces ? i + SORT_NSLOTS : sort->npieces);
            status = npyx_pool_await(pool, i, error);
        }
    }
    npyx_pool_stop(pool);
    return status;
}

static npyx_status sort_many(key_sort *sort, const key_piece *all, npyx_error *error) {
    NPYX_TRY(sort_add_piece(sort, *all, error));
    for (int64_t i = 0; i < sort->npieces; i++) { /* those that are added meanwhile, too */
        const key_piece piece = sort->pieces[i];
        uint64_t differ;
        if (piece.n <= NPYX_SORT_MOST_NKEYS || !sort_wants(sort, &piece))
            continue;
        NPYX_TRY(sort_differ(sort, &piece, &differ, error));
        if (differ == 0)
            continue;
        sort->pieces[i].n = 0;
        NPYX_TRY(sort_deal(sort, &piece, differ, error));
    }
    return sort_all_pieces(sort, all->n, error);
}

npyx_status npyx_keys_sort_ranks(npyx_host *host, uint64_t *keys, int64_t n, uint64_t *room,
                                 const int64_t *ranks, int64_t nranks, npyx_error *error) {
    const key_piece all = {.keys = keys, .room = room, .n = n};
    if (n <= NPYX_SORT_MOST_NKEYS) {
        piece_sort(&all);
        return npyx_poll(host, error);
    }
    key_sort *sort = npyx_alloc(host, sizeof *sort);
    NPYX_TRY(npyx_check_memory(sort, error));
    sort->host = host;
    sort->first = keys;
    sort->ranks = ranks;
    sort->nranks = nranks;
    sort->pieces = NULL;
    sort->npieces = sort->capacity = 0;
    npyx_status status = sort_many(sort, &all, error);
    npyx_free(host, sort->pieces);
    npyx_free(host, sort);
    return status;
}

npyx_status npyx_keys_sort(npyx_host *host, uint64_t *keys, int64_t n, uint64_t *room, npyx_error *error) {
    return npyx_keys_sort_ranks(host, keys, n, room, NULL, 0, error);
}
