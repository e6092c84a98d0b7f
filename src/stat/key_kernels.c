#include "key_kernels.h"

/* ---- any processor: without branches on keys, which it would predict wrongly half the time ---- */

enum { FEW_NKEYS = 32, FOUR = 4 };

static void keys_divide(const uint64_t *keys, int64_t n, uint64_t bound, uint64_t **low, uint64_t **high) {
    uint64_t *below = *low, *above = *high, chunk[NPYX_KEYS_CHUNK_NKEYS];
    for (int64_t nchunk; n > 0; n -= nchunk, keys += nchunk) {
        nchunk = n < NPYX_KEYS_CHUNK_NKEYS ? n : NPYX_KEYS_CHUNK_NKEYS;
        memcpy(chunk, keys, (size_t)nchunk * sizeof *chunk);
        for (int64_t i = 0; i < nchunk; i++) {
            const uint64_t key = chunk[i];
            const bool is_below = key < bound;
            *below = key; /* one of the two will be overwritten */
            above[-1] = key;
            below += is_below;
            above -= !is_below;
        }
    }
    *low = below;
    *high = above;
}

static inline void keys_exchange(uint64_t *a, uint64_t *b) {
    const uint64_t x = *a, y = *b;
    *a = x < y ? x : y;
    *b = x < y ? y : x;
}

static void keys_sort_four(uint64_t *keys) {
    keys_exchange(keys, keys + 1);
    keys_exchange(keys + 2, keys + 3);
    keys_exchange(keys, keys + 2);
    keys_exchange(keys + 1, keys + 3);
    keys_exchange(keys + 1, keys + 2);
}

static void keys_insert(uint64_t *keys, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        const uint64_t key = keys[i];
        int64_t at = i;
        for (; at > 0 && keys[at - 1] > key; at--)
            keys[at] = keys[at - 1];
        keys[at] = key;
    }
}

/* Merges two runs of n keys, which lie side by side, from both ends at once: neither waits for the other. */
static void keys_merge_equal(const uint64_t *runs, int64_t n, uint64_t *merged) {
    const uint64_t *a = runs, *b = runs + n, *last_a = b - 1, *last_b = b + n - 1;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t x = *a, y = *b, last_x = *last_a, last_y = *last_b;
        const bool takes_b = y < x, takes_last_a = last_y < last_x;
        merged[i] = takes_b ? y : x;
        merged[2 * n - 1 - i] = takes_last_a ? last_x : last_y;
        b += takes_b;
        a += !takes_b;
        last_a -= takes_last_a;
        last_b -= !takes_last_a;
    }
}

/* Merges a run of na keys and the nb after it, of which there may be none. */
static void keys_merge(const uint64_t *runs, int64_t na, int64_t nb, uint64_t *merged) {
    int64_t i = 0, j = na;
    while (i < na && j < na + nb) {
        const bool takes_b = runs[j] < runs[i];
        *merged++ = runs[takes_b ? j : i];
        j += takes_b;
        i += !takes_b;
    }
    memcpy(merged, runs + i, (size_t)(na - i) * sizeof *runs);
    memcpy(merged + na - i, runs + j, (size_t)(na + nb - j) * sizeof *runs);
}

static void keys_sort_few(uint64_t *keys, int64_t n) {
    uint64_t room[FEW_NKEYS], *runs = keys, *merged = room;
    int64_t whole = n / FOUR * FOUR;
    for (int64_t i = 0; i < whole; i += FOUR)
        keys_sort_four(keys + i);
    keys_insert(keys + whole, n - whole);
    for (int64_t run = FOUR; run < n; run *= 2) {
        for (int64_t i = 0; i < n; i += 2 * run) {
            const int64_t left = n - i;
            if (left >= 2 * run)
                keys_merge_equal(runs + i, run, merged + i);
            else
                keys_merge(runs + i, left < run ? left : run, left < run ? 0 : left - run, merged + i);
        }
        uint64_t *other = runs;
        runs = merged;
        merged = other;
    }
    if (runs != keys)
        memcpy(keys, runs, (size_t)n * sizeof *keys);
}

static const npyx_key_kernels any_kernels = {
    .few_nkeys = FEW_NKEYS, .sort_few = keys_sort_few, .divide = keys_divide};

/* ---- AVX-512 ---- */

#ifdef NPYX_WITH_AVX512

enum {
    NLANES = NPYX_AVX512_NBYTES / sizeof(uint64_t),
    CHUNK_NVECTORS = NPYX_KEYS_CHUNK_NKEYS / NLANES,
    MOST_NVECTORS = 16
};

#define KEYS_INLINE NPYX_WITH_AVX512 static inline __attribute__((always_inline))

/* The first lanes of a vector that begins n keys before the end. */
static inline __mmask8 lanes_before(int64_t n) {
    return (__mmask8)(n >= NLANES ? (1u << NLANES) - 1 : n <= 0 ? 0 : (1u << n) - 1);
}

NPYX_WITH_AVX512 static void avx512_divide(const uint64_t *keys, int64_t n, uint64_t bound, uint64_t **low,
                                           uint64_t **high) {
    const __m512i bounds = _mm512_set1_epi64((int64_t)bound);
    uint64_t *below = *low, *above = *high;
    for (; n >= NPYX_KEYS_CHUNK_NKEYS; n -= NPYX_KEYS_CHUNK_NKEYS, keys += NPYX_KEYS_CHUNK_NKEYS) {
        __m512i x[CHUNK_NVECTORS];
#pragma GCC unroll 8
        for (int i = 0; i < CHUNK_NVECTORS; i++)
            x[i] = _mm512_loadu_si512(keys + (ptrdiff_t)i * NLANES);
#pragma GCC unroll 8
        for (int i = 0; i < CHUNK_NVECTORS; i++) {
            const __mmask8 are_below = _mm512_cmplt_epu64_mask(x[i], bounds);
            const int nbelow = __builtin_popcount(are_below), nabove = NLANES - nbelow;
            above -= nabove;
            _mm512_storeu_si512(below, _mm512_maskz_compress_epi64(are_below, x[i]));
            _mm512_mask_storeu_epi64(above, (__mmask8)((1u << nabove) - 1),
                                     _mm512_maskz_compress_epi64((__mmask8)~are_below, x[i]));
            below += nbelow;
        }
    }
    for (; n > 0; n -= NLANES, keys += NLANES) {
        const __mmask8 lanes = lanes_before(n);
        const __m512i x = _mm512_maskz_loadu_epi64(lanes, keys);
        const __mmask8 are_below = _mm512_mask_cmplt_epu64_mask(lanes, x, bounds);
        const __mmask8 are_above = (__mmask8)(lanes & ~are_below);
        const int nbelow = __builtin_popcount(are_below), nabove = __builtin_popcount(are_above);
        above -= nabove;
        _mm512_mask_storeu_epi64(below, lanes_before(nbelow), _mm512_maskz_compress_epi64(are_below, x));
        _mm512_mask_storeu_epi64(above, lanes_before(nabove), _mm512_maskz_compress_epi64(are_above, x));
        below += nbelow;
    }
    *low = below;
    *high = above;
}

/* The lanes whose number has a bit. */
static inline __mmask8 lanes_with(int bit) {
    return bit == 1 ? 0xaa : bit == 2 ? 0xcc : 0xf0;
}

/* Each lane and the one whose number differs in a bit: one gets the lesser key, one the greater. */
KEYS_INLINE __m512i lanes_exchange(__m512i x, int bit, __mmask8 get_greater) {
    const __m512i others = bit == 1   ? _mm512_shuffle_epi32(x, _MM_PERM_BADC)
                           : bit == 2 ? _mm512_permutex_epi64(x, 0x4e)
                                      : _mm512_shuffle_i64x2(x, x, 0x4e);
    return _mm512_mask_max_epu64(_mm512_min_epu64(x, others), get_greater, x, others);
}

/* K. E. Batcher, Sorting networks and their applications (1968): runs that ascend and descend by turns become
 * runs twice as long, by exchanging keys whose numbers differ in one bit, and then in the next lower one.
 * nvectors, run and bit are constants. */
KEYS_INLINE void vectors_exchange(__m512i *x, int nvectors, int run, int bit) {
#pragma GCC unroll 16
    for (int i = 0; i < nvectors; i++) {
        const bool descends = (i * NLANES & run) != 0;
        if (bit < NLANES) {
            const int descending = run < NLANES ? lanes_with(run) : descends ? 0xff : 0;
            x[i] = lanes_exchange(x[i], bit, (__mmask8)(lanes_with(bit) ^ descending));
        } else if ((i * NLANES & bit) == 0) {
            const int j = i + bit / NLANES;
            const __m512i lesser = _mm512_min_epu64(x[i], x[j]), greater = _mm512_max_epu64(x[i], x[j]);
            x[i] = descends ? greater : lesser;
            x[j] = descends ? lesser : greater;
        }
    }
}

KEYS_INLINE void vectors_merge(__m512i *x, int nvectors, int run) {
    if (run > 64)
        vectors_exchange(x, nvectors, run, 64);
    if (run > 32)
        vectors_exchange(x, nvectors, run, 32);
    if (run > 16)
        vectors_exchange(x, nvectors, run, 16);
    if (run > 8)
        vectors_exchange(x, nvectors, run, 8);
    if (run > 4)
        vectors_exchange(x, nvectors, run, 4);
    if (run > 2)
        vectors_exchange(x, nvectors, run, 2);
    vectors_exchange(x, nvectors, run, 1);
}

KEYS_INLINE void vectors_sort(uint64_t *keys, int64_t n, int nvectors) {
    __m512i x[MOST_NVECTORS];
#pragma GCC unroll 16
    for (int i = 0; i < nvectors; i++)
        x[i] = _mm512_mask_loadu_epi64(_mm512_set1_epi64(-1), lanes_before(n - (int64_t)i * NLANES),
                                       keys + (ptrdiff_t)i * NLANES);
    vectors_merge(x, nvectors, 2);
    vectors_merge(x, nvectors, 4);
    vectors_merge(x, nvectors, 8);
    if (nvectors > 1)
        vectors_merge(x, nvectors, 16);
    if (nvectors > 2)
        vectors_merge(x, nvectors, 32);
    if (nvectors > 4)
        vectors_merge(x, nvectors, 64);
    if (nvectors > 8)
        vectors_merge(x, nvectors, 128);
#pragma GCC unroll 16
    for (int i = 0; i < nvectors; i++)
        _mm512_mask_storeu_epi64(keys + (ptrdiff_t)i * NLANES, lanes_before(n - (int64_t)i * NLANES), x[i]);
}

NPYX_WITH_AVX512 static void avx512_sort_few(uint64_t *keys, int64_t n) {
    if (n <= NLANES)
        vectors_sort(keys, n, 1);
    else if (n <= 2 * NLANES)
        vectors_sort(keys, n, 2);
    else if (n <= 4 * NLANES)
        vectors_sort(keys, n, 4);
    else if (n <= 8 * NLANES)
        vectors_sort(keys, n, 8);
    else
        vectors_sort(keys, n, MOST_NVECTORS);
}

static const npyx_key_kernels avx512_kernels = {
    .few_nkeys = MOST_NVECTORS * NLANES, .sort_few = avx512_sort_few, .divide = avx512_divide};

const npyx_key_kernels *npyx_key_kernels_of(npyx_simd simd) {
    return simd >= NPYX_SIMD_AVX512 ? &avx512_kernels : &any_kernels;
}

#else

const npyx_key_kernels *npyx_key_kernels_of(npyx_simd simd) {
    (void)simd;
    return &any_kernels;
}

#endif
