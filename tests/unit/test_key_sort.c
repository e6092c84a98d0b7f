/* Keys sorted, against the C library's qsort: few and many, of all kinds of likeness, with one thread and
 * several; and the kernels of every processor, and of this one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/tunables.h"
#include "rounds.h"
#include "stat/key_kernels.h"
#include "stat/key_sort.h"
#include "unit_host.h"

enum { NKINDS = 9 };

/* The kinds: all bits; few values; one value; the last bits only, and the first only; in order, and in
 * falling order; nearly all with the same leading bits; the least and the greatest that there are. */
static uint64_t key_of(int kind, int64_t i, uint64_t fixed) {
    const uint64_t random = unit_random();
    switch (kind) {
    case 0: return random;
    case 1: return fixed + (random % 5 << random % 3 * 20);
    case 2: return fixed;
    case 3: return random % 1000000;
    case 4: return random << 50;
    case 5: return fixed + (uint64_t)i * 3;
    case 6: return fixed - (uint64_t)i;
    case 7: return random % 3 == 0 ? 0 : random % 3 == 1 ? UINT64_MAX : random;
    default: return random % 1000 == 0 ? random : fixed << 40 | random >> (random % 2 ? 40 : 60);
    }
}

static int compare(const void *a, const void *b) {
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}

/* The keys of a few ranks alone, first and last among them. */
static void assert_ranks(npyx_host *host, uint64_t *keys, int64_t n, const uint64_t *wanted) {
    int64_t ranks[5] = {n - 1, 0};
    npyx_error error;
    for (int i = 2; i < 5 && n > 0; i++)
        ranks[i] = (int64_t)(unit_random() % (uint64_t)n);
    assert_int_equal(npyx_keys_sort_ranks(host, keys, n, ranks, n == 0 ? 0 : 5, &error), NPYX_OK);
    for (int i = 0; i < 5 && n > 0; i++)
        assert_true(keys[ranks[i]] == wanted[ranks[i]]);
    assert_true(keys[n] == 77);
}

static void assert_sorted(npyx_host *host, int kind, int64_t n) {
    uint64_t *keys = malloc((size_t)(n + 1) * sizeof *keys);
    uint64_t *wanted = malloc((size_t)(n + 1) * sizeof *wanted),
             *again = malloc((size_t)(n + 1) * sizeof *again);
    const uint64_t fixed = unit_random();
    int64_t nwanted = 0, ndifferent;
    npyx_error error;
    for (int64_t i = 0; i < n; i++)
        keys[i] = key_of(kind, i, fixed);
    keys[n] = 77; /* what follows the keys must stay */
    memcpy(wanted, keys, (size_t)n * sizeof *keys);
    memcpy(again, keys, (size_t)(n + 1) * sizeof *keys);
    qsort(wanted, (size_t)n, sizeof *wanted, compare);
    for (int64_t i = 0; i < n; i++)
        nwanted += i == 0 || wanted[i] != wanted[i - 1];
    assert_int_equal(npyx_keys_sort(host, keys, n, &ndifferent, &error), NPYX_OK);
    assert_int_equal(ndifferent, nwanted);
    assert_memory_equal(keys, wanted, (size_t)n * sizeof *keys);
    assert_true(keys[n] == 77);
    assert_ranks(host, again, n, wanted);
    free(again);
    free(keys);
    free(wanted);
}

static void test_sorts(void **state) {
    const int nrounds = unit_rounds(20);
    (void)state;
    unit_start_random();
    for (int nthreads = 1; nthreads <= 3; nthreads += 2) {
        unit_host unit;
        unit_host_init(&unit);
        unit.host.nthreads = nthreads;
        for (int kind = 0; kind < NKINDS; kind++) {
            for (int64_t n = 0; n < 200; n++) /* more than are few */
                assert_sorted(&unit.host, kind, n);
            for (int round = 0; round < nrounds; round++)
                assert_sorted(&unit.host, kind, (int64_t)(unit_random() % 3000));
            assert_sorted(&unit.host, kind, NPYX_SORT_PIECE_NKEYS); /* the most that are one piece */
            assert_sorted(&unit.host, kind, NPYX_SORT_PIECE_NKEYS + 1);
            assert_sorted(&unit.host, kind, NPYX_SORT_THREADS_NKEYS + (int64_t)(unit_random() % 300000));
        }
        assert_sorted(&unit.host, nthreads, (1 << 21) + 5); /* while these are divided, the host is polled */
        assert_int_equal(unit.nblocks, 0);
    }
}

typedef struct polled_host {
    unit_host unit;
    int npolls_left; /* that are answered with no */
} polled_host;

static bool is_interrupted(void *ctx) {
    return --((polled_host *)ctx)->npolls_left < 0;
}

/* An interrupt is noticed wherever it comes, and the threads end. */
static void test_interrupts(void **state) {
    enum { N = (1 << 21) + 5 };
    uint64_t *keys = malloc(N * sizeof *keys);
    bool is_done = false;
    (void)state;
    unit_start_random();
    for (int npolls = 0; !is_done; npolls += npolls / 4 + 1) {
        polled_host polled = {.npolls_left = npolls};
        int64_t ndifferent;
        npyx_error error;
        unit_host_init(&polled.unit);
        polled.unit.host.interrupted = is_interrupted;
        polled.unit.host.nthreads = 2;
        for (int64_t i = 0; i < N; i++)
            keys[i] = unit_random();
        const npyx_status status = npyx_keys_sort(&polled.unit.host, keys, N, &ndifferent, &error);
        is_done = status == NPYX_OK;
        assert_true(is_done ? npolls > 0 : status == NPYX_INTERRUPTED);
        assert_int_equal(polled.unit.nblocks, 0);
    }
    free(keys);
}

/* ---- kernels ---- */

enum { MOST_FEW = 128, MOST_DIVIDED = 600 };

static void assert_few_sorted(const npyx_key_kernels *kernels, int kind, int64_t n) {
    uint64_t keys[MOST_FEW + 1], wanted[MOST_FEW + 1];
    const uint64_t fixed = unit_random();
    for (int64_t i = 0; i <= n; i++)
        wanted[i] = keys[i] = i < n ? key_of(kind, i, fixed) : 77;
    qsort(wanted, (size_t)n, sizeof *wanted, compare);
    kernels->sort_few(keys, n);
    assert_memory_equal(keys, wanted, (size_t)(n + 1) * sizeof *keys);
}

/* Both ends meet in keys that are divided, and not one is lost. */
static void assert_divided(uint64_t *keys, const uint64_t *low, int64_t n, uint64_t bound, uint64_t *before) {
    for (int64_t i = 0; i < n; i++)
        assert_true((keys + i < low) == (keys[i] < bound));
    qsort(keys, (size_t)n, sizeof *keys, compare);
    qsort(before, (size_t)n, sizeof *before, compare);
    assert_memory_equal(keys, before, (size_t)n * sizeof *keys);
}

/* Into as many words as there are keys. */
static void assert_divides(const npyx_key_kernels *kernels, int kind, int64_t n) {
    uint64_t keys[MOST_DIVIDED], divided[MOST_DIVIDED + 2];
    uint64_t *low = divided + 1, *high = low + n;
    const uint64_t fixed = unit_random();
    for (int64_t i = 0; i < n; i++)
        keys[i] = key_of(kind, i, fixed);
    const uint64_t bound =
        n == 0 || unit_random() % 8 == 0 ? unit_random() : keys[unit_random() % (uint64_t)n];
    divided[0] = divided[n + 1] = 77;
    kernels->divide(keys, n, bound, &low, &high);
    assert_true(low == high && divided[0] == 77 && divided[n + 1] == 77);
    assert_divided(divided + 1, low, n, bound, keys);
}

/* A chunk next to the room at one end, into that and as much at the other. */
static void assert_divides_in_place(const npyx_key_kernels *kernels, int kind, bool is_last) {
    enum { CHUNK = NPYX_KEYS_CHUNK_NKEYS };
    uint64_t words[4 * CHUNK], keys[CHUNK], divided[CHUNK];
    uint64_t *low = words + (is_last ? 0 : unit_random() % (CHUNK + 1)), *high;
    uint64_t *chunk = is_last ? words + 2 * CHUNK : low + unit_random() % (CHUNK + 1);
    const uint64_t fixed = unit_random(), bound_at = unit_random() % CHUNK;
    high = is_last ? chunk + CHUNK + unit_random() % (CHUNK + 1) : words + 4 * CHUNK;
    for (int64_t i = 0; i < CHUNK; i++)
        chunk[i] = keys[i] = key_of(kind, i, fixed);
    uint64_t *first = low, *last = high;
    kernels->divide(chunk, CHUNK, keys[bound_at], &low, &high);
    assert_int_equal(low - first + (last - high), CHUNK);
    memcpy(divided, first, (size_t)(low - first) * sizeof *divided);
    memcpy(divided + (low - first), high, (size_t)(last - high) * sizeof *divided);
    assert_divided(divided, divided + (low - first), CHUNK, keys[bound_at], keys);
}

static void test_kernels(void **state) {
    const npyx_key_kernels *kernels[2] = {npyx_key_kernels_of(NPYX_SIMD_PORTABLE),
                                          npyx_key_kernels_of(npyx_simd_here())};
    (void)state;
    unit_start_random();
    for (int i = 0; i < 2; i++) {
        assert_true(kernels[i]->few_nkeys <= MOST_FEW);
        for (int kind = 0; kind < NKINDS; kind++) {
            for (int64_t n = 0; n <= kernels[i]->few_nkeys; n++)
                assert_few_sorted(kernels[i], kind, n);
            for (int64_t n = 0; n <= MOST_DIVIDED; n += n < 140 ? 1 : 23)
                assert_divides(kernels[i], kind, n);
            for (int round = 0; round < 100; round++)
                assert_divides_in_place(kernels[i], kind, round % 2 != 0);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sorts), cmocka_unit_test(test_interrupts),
                                       cmocka_unit_test(test_kernels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
