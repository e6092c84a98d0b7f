/*
 * C. A. R. Hoare's Quicksort (1961): keys are divided by a bound, those below it and the others are sorted.
 *
 *     < < < < |   | . . . . . . . . . . . . |   | >= >= >=
 *            low   ^ next                  ^     high
 *
 * Whole chunks are read from either end, and divided into the room that was read before: two chunks are kept
 * elsewhere, so that there is always enough at both ends.
 *
 * The caller divides long spans and polls its host; threads sort short ones. The bounds are keys at random
 * places, which nobody can foresee. Keys equal to a bound are in the span that it is the least of: if it is
 * chosen once more, they come first there, and are done. So many equal keys cost two passes.
 */
#include <stdatomic.h>

#include "io/threads.h"
#include "key_kernels.h"
#include "key_sort.h"

enum {
    CHUNK_NKEYS = NPYX_KEYS_CHUNK_NKEYS,
    SHORT_NKEYS = 512,             /* divided from a copy */
    AHEAD_NKEYS = 4 * CHUNK_NKEYS, /* fetched before they are read: a processor foresees no next page */
    LINE_NKEYS = NPYX_CACHE_LINE_NBYTES / sizeof(uint64_t),
    SORT_NSLOTS = 64,
    POLL_NKEYS = 1 << 20, /* a few milliseconds' work */
};
_Static_assert((int)NPYX_SORT_PIECE_NKEYS_MOST < (int)POLL_NKEYS, "threads do not poll");

void npyx_keys_range(const uint64_t *keys, int64_t n, uint64_t *least, uint64_t *greatest) {
    uint64_t low = UINT64_MAX, high = 0;
    for (int64_t i = 0; i < n; i++) {
        low = keys[i] < low ? keys[i] : low;
        high = keys[i] > high ? keys[i] : high;
    }
    *least = low;
    *greatest = high;
}

typedef struct key_span {
    uint64_t *keys;
    int64_t n;
    uint64_t least; /* none is less */
} key_span;

typedef struct key_sort {
    npyx_host *host;
    const npyx_key_kernels *kernels;
    const uint64_t *first; /* of all keys */
    const int64_t *ranks;  /* NULL: all are wanted */
    int64_t nranks;
    uint64_t seed;
    _Atomic int64_t ndifferent;
    npyx_pool *pool; /* NULL: there are no threads */
    int64_t npieces; /* for threads */
    key_span pieces[SORT_NSLOTS];
} key_sort;

/* Whether a span has keys that are wanted. */
static bool sort_wants(const key_sort *sort, const key_span *span) {
    const int64_t start = span->keys - sort->first;
    for (int64_t i = 0; i < sort->nranks; i++) {
        if (sort->ranks[i] >= start && sort->ranks[i] < start + span->n)
            return true;
    }
    return sort->ranks == NULL;
}

/* ---- dividing ---- */

static uint64_t key_median(uint64_t a, uint64_t b, uint64_t c) {
    const uint64_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* The median of three keys at random places, of which there are 2^24. random: 64 bits. */
static uint64_t span_median(const key_span *span, uint64_t random) {
    const uint64_t mask = (1 << 24) - 1, n = (uint64_t)span->n;
    return key_median(span->keys[(random & mask) * n >> 24], span->keys[(random >> 20 & mask) * n >> 24],
                      span->keys[(random >> 40) * n >> 24]);
}

/* G. L. Steele et al., Fast splittable pseudorandom number generators (2014). */
static uint64_t sort_random(uint64_t state) {
    state = (state ^ state >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    state = (state ^ state >> 27) * UINT64_C(0x94D049BB133111EB);
    return state ^ state >> 31;
}

/* A key about in the middle. */
static uint64_t sort_bound(const key_sort *sort, const key_span *span) {
    const uint64_t step = UINT64_C(0x9E3779B97F4A7C15);
    const uint64_t state = sort->seed + (uint64_t)(span->keys - sort->first) * step + (uint64_t)span->n;
    const uint64_t median = span_median(span, sort_random(state));
    if (span->n <= 2 * SHORT_NKEYS)
        return median;
    return key_median(median, span_median(span, sort_random(state + step)),
                      span_median(span, sort_random(state + 2 * step)));
}

/* Fetches a chunk that will be read soon. */
static void sort_fetch(const uint64_t *chunk) {
    for (int i = 0; i < CHUNK_NKEYS; i += LINE_NKEYS)
        __builtin_prefetch(chunk + i);
}

/* Moves the keys below a bound before the others; *nbelow: how many there are. Polls the host if there are
 * many. Not inlined: what it keeps would be on the stack as often as spans are within each other. */
static __attribute__((noinline)) npyx_status sort_divide(const key_sort *sort, const key_span *span,
                                                         uint64_t bound, int64_t *nbelow, npyx_error *error) {
    const npyx_key_kernels *kernels = sort->kernels;
    uint64_t *low = span->keys, *high = low + span->n, kept[SHORT_NKEYS];
    if (span->n <= SHORT_NKEYS) {
        memcpy(kept, span->keys, (size_t)span->n * sizeof *kept);
        kernels->divide(kept, span->n, bound, &low, &high);
        *nbelow = low - span->keys;
        return NPYX_OK;
    }
    uint64_t *next = low + CHUNK_NKEYS, *end = high - CHUNK_NKEYS; /* of what is still to be read */
    memcpy(kept, low, CHUNK_NKEYS * sizeof *kept);
    memcpy(kept + CHUNK_NKEYS, end, CHUNK_NKEYS * sizeof *kept);
    for (int64_t i = 0; end - next >= CHUNK_NKEYS; i += CHUNK_NKEYS) {
        if (span->n > POLL_NKEYS && i % POLL_NKEYS == 0)
            NPYX_TRY(npyx_poll(sort->host, error));
        const bool takes_last = high - end < next - low; /* where there is less room */
        end -= takes_last ? CHUNK_NKEYS : 0;
        if (end - next >= AHEAD_NKEYS)
            sort_fetch(takes_last ? end - AHEAD_NKEYS : next + AHEAD_NKEYS);
        kernels->divide(takes_last ? end : next, CHUNK_NKEYS, bound, &low, &high);
        next += takes_last ? 0 : CHUNK_NKEYS;
    }
    const int64_t nleft = end - next;
    memcpy(kept + 2 * CHUNK_NKEYS, next, (size_t)nleft * sizeof *kept);
    kernels->divide(kept, 2 * CHUNK_NKEYS + nleft, bound, &low, &high);
    *nbelow = low - span->keys;
    return NPYX_OK;
}

/* Divides a span: *other is the shorter part, *span the longer one. Keys that are all equal are in neither.
 */
static npyx_status sort_split(key_sort *sort, key_span *span, key_span *other, npyx_error *error) {
    uint64_t bound = sort_bound(sort, span);
    const bool is_least = bound == span->least;
    int64_t n = span->n;
    if (!is_least || bound < UINT64_MAX)
        NPYX_TRY(sort_divide(sort, span, bound + is_least, &n, error));
    key_span below = {.keys = span->keys, .n = is_least ? 0 : n, .least = span->least};
    key_span above = {.keys = span->keys + n, .n = span->n - n, .least = bound + is_least};
    if (is_least && span->n > NPYX_SORT_PIECE_NKEYS) /* else the piece counts them */
        atomic_fetch_add(&sort->ndifferent, 1);
    *span = above.n < below.n ? below : above;
    *other = above.n < below.n ? above : below;
    return NPYX_OK;
}

/* ---- spans ---- */

static npyx_status sort_add_piece(key_sort *sort, const key_span *piece, npyx_error *error);

/* A piece is sorted here, and of others all pieces are handed on. The shorter part goes first: each time one
 * is within another, it has half of its keys at most. */
static npyx_status sort_span(key_sort *sort, key_span span, bool is_piece, npyx_error *error) {
    const int64_t most = is_piece ? sort->kernels->few_nkeys : NPYX_SORT_PIECE_NKEYS;
    while (span.n > most && sort_wants(sort, &span)) {
        key_span other;
        NPYX_TRY(sort_split(sort, &span, &other, error));
        NPYX_TRY(sort_span(sort, other, is_piece, error));
    }
    if (span.n == 0 || !sort_wants(sort, &span))
        return NPYX_OK;
    if (!is_piece)
        return sort_add_piece(sort, &span, error);
    sort->kernels->sort_few(span.keys, span.n);
    return NPYX_OK;
}

/* Pieces begin where other keys do. */
static void sort_piece(key_sort *sort, const key_span *piece) {
    int64_t ndifferent = 1;
    (void)sort_span(sort, *piece, true, NULL); /* it is too short to be interrupted */
    for (int64_t i = 1; i < piece->n && sort->ranks == NULL; i++)
        ndifferent += piece->keys[i] != piece->keys[i - 1];
    atomic_fetch_add(&sort->ndifferent, ndifferent);
}

static void sort_make(void *ctx, int64_t index) {
    key_sort *sort = ctx;
    sort_piece(sort, &sort->pieces[index % SORT_NSLOTS]);
}

static npyx_status sort_add_piece(key_sort *sort, const key_span *piece, npyx_error *error) {
    const int64_t index = sort->npieces++;
    if (sort->pool == NULL) {
        sort_piece(sort, piece);
        return npyx_poll(sort->host, error);
    }
    if (index >= SORT_NSLOTS)
        NPYX_TRY(npyx_pool_await(sort->pool, index - SORT_NSLOTS, error));
    sort->pieces[index % SORT_NSLOTS] = *piece;
    npyx_pool_allow(sort->pool, sort->npieces);
    return NPYX_OK;
}

static npyx_status sort_await_pieces(key_sort *sort, npyx_error *error) {
    int64_t index = sort->npieces > SORT_NSLOTS ? sort->npieces - SORT_NSLOTS : 0;
    for (; sort->pool != NULL && index < sort->npieces; index++)
        NPYX_TRY(npyx_pool_await(sort->pool, index, error));
    return NPYX_OK;
}

static npyx_status sort_all(key_sort *sort, npyx_host *host, uint64_t *keys, int64_t n, npyx_error *error) {
    sort->host = host;
    sort->kernels = npyx_key_kernels_of(npyx_simd_here());
    sort->first = keys;
    sort->seed = npyx_hash_name(host, "key sort", 8);
    if (n >= NPYX_SORT_THREADS_NKEYS)
        sort->pool = npyx_pool_start(host, SORT_NSLOTS, false, sort_make, sort);
    npyx_status status = sort_span(sort, (key_span){.keys = keys, .n = n}, false, error);
    if (status == NPYX_OK)
        status = sort_await_pieces(sort, error);
    npyx_pool_stop(sort->pool);
    return status;
}

npyx_status npyx_keys_sort(npyx_host *host, uint64_t *keys, int64_t n, int64_t *ndifferent,
                           npyx_error *error) {
    key_sort sort = {.ndifferent = 0};
    NPYX_TRY(sort_all(&sort, host, keys, n, error));
    *ndifferent = sort.ndifferent;
    return NPYX_OK;
}

npyx_status npyx_keys_sort_ranks(npyx_host *host, uint64_t *keys, int64_t n, const int64_t *ranks,
                                 int64_t nranks, npyx_error *error) {
    const npyx_key_kernels *kernels = npyx_key_kernels_of(npyx_simd_here());
    if (n <= kernels->few_nkeys) { /* of the many rows of an array, perhaps */
        kernels->sort_few(keys, n);
        return NPYX_OK;
    }
    key_sort sort = {.ranks = ranks, .nranks = nranks};
    return sort_all(&sort, host, keys, n, error);
}
