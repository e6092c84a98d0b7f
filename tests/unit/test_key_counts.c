/* Keys counted where a list of different ones and runs of others come together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/tunables.h"
#include "rounds.h"
#include "stat/key_counts.h"
#include "unit_host.h"

enum { NRUNS = (1 << 16) + 5000, COUNT = 10 };

/* Runs of a second table came after the list had got its memory, which had no room for them: they were merged
 * beyond its end. */
static void test_runs_that_come_after_a_list_that_becomes_full(void **state) {
    const int64_t nlisted = NPYX_KEY_LIST_NKEYS, nbefore = nlisted / 2;
    uint64_t *keys = malloc((size_t)nlisted * sizeof *keys);
    unit_host unit;
    npyx_key_counts counts;
    npyx_error error;
    (void)state;
    unit_host_init(&unit);
    npyx_key_counts_init(&counts, &unit.host, nlisted + (int64_t)NRUNS * COUNT, false);
    for (int64_t i = 0; i < nlisted; i++)
        keys[i] = (uint64_t)(nlisted - i) * 2;
    assert_int_equal(npyx_key_counts_add(&counts, keys, nbefore, 0, &error), NPYX_OK);
    for (uint64_t i = 0; i < NRUNS; i++)
        assert_int_equal(npyx_key_counts_add_many(&counts, 2 * i + 1, COUNT, 0, &error), NPYX_OK);
    assert_int_equal(npyx_key_counts_add(&counts, keys + nbefore, nlisted - nbefore, nbefore, &error),
                     NPYX_OK);
    assert_int_equal(npyx_key_counts_finish(&counts, &error), NPYX_OK);
    assert_int_equal(counts.n, nlisted + NRUNS);
    for (int64_t i = 0; i < counts.n; i++) {
        const bool is_run = counts.keys[i] % 2 != 0;
        assert_true(i == 0 || counts.keys[i] > counts.keys[i - 1]);
        assert_int_equal(npyx_key_counts_of(&counts, i), is_run ? COUNT : 1);
    }
    npyx_key_counts_clear(&counts);
    assert_int_equal(unit.nblocks, 0);
    free(keys);
}

/* ---- parts of all kinds, in any order ---- */

/* Of so many lists of keys at most, in so many rounds, with so many keys in all. */
enum { MOST_NLISTS = 4, MOST_NROUNDS = 20000, ALL_NKEYS = 1 << 24 };

static int compare(const void *a, const void *b) {
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}

/* Fills a part: keys that are nearly all different, those of a few values, or equal ones side by side. */
static void fill_part(uint64_t *keys, int64_t n) {
    const uint64_t kind = unit_random() % 3, nvalues = (uint64_t)1 << unit_random() % 20;
    const uint64_t nequal = 1 + unit_random() % 20;
    for (int64_t i = 0; i < n; i++)
        keys[i] = kind == 0   ? unit_random() % ((uint64_t)1 << 40)
                  : kind == 1 ? unit_random() % nvalues
                              : (uint64_t)i / nequal * 977;
}

/* Adds a part as a block of an array is added: key by key, or each different one with its count. */
static void add_part(npyx_key_counts *counts, const uint64_t *keys, int64_t n, int64_t place,
                     bool is_counted) {
    npyx_error error;
    if (!is_counted)
        assert_int_equal(npyx_key_counts_add(counts, keys, n, place, &error), NPYX_OK);
    for (int64_t i = 0, first; is_counted && i < n;) {
        for (first = i; i < n && keys[i] == keys[first]; i++)
            ;
        assert_int_equal(npyx_key_counts_add_many(counts, keys[first], i - first, place + first, &error),
                         NPYX_OK);
    }
}

/* The different keys of n, and how often each occurs, against qsort. */
static void assert_counts(const npyx_key_counts *counts, uint64_t *keys, int64_t n) {
    int64_t ndifferent = 0;
    qsort(keys, (size_t)n, sizeof *keys, compare);
    for (int64_t i = 0, first; i < n; ndifferent++) {
        for (first = i; i < n && keys[i] == keys[first]; i++)
            ;
        assert_true(ndifferent < counts->n);
        assert_true(counts->keys[ndifferent] == keys[first]);
        assert_int_equal(npyx_key_counts_of(counts, ndifferent), i - first);
    }
    assert_int_equal(counts->n, ndifferent);
}

/* How many keys a part has: as many as a table or a list holds, or about so many, or any number. */
static int64_t part_length(int64_t most) {
    const int64_t edges[] = {NPYX_KEY_LIST_NKEYS, NPYX_KEY_LIST_NKEYS / 2, NPYX_KEY_TABLE_MOST_N,
                             (int64_t)NPYX_KEY_TABLE_MOST_N * 8};
    const uint64_t kind = unit_random() % 6;
    int64_t n = kind < 4 ? edges[kind] : (int64_t)(unit_random() % (uint64_t)NPYX_KEY_LIST_NKEYS);
    n += kind % 2 == 0 ? 0 : (int64_t)(unit_random() % 20) - 10;
    return n < 1 ? 1 : n > most ? most : n;
}

static void assert_counted(uint64_t *keys, int64_t nadded) {
    unit_host unit;
    npyx_key_counts counts;
    npyx_error error;
    unit_host_init(&unit);
    npyx_key_counts_init(&counts, &unit.host, nadded, false);
    for (int64_t i = 0, n; i < nadded; i += n) {
        n = part_length(nadded - i);
        fill_part(keys + i, n);
        add_part(&counts, keys + i, n, i, unit_random() % 2 == 0);
    }
    assert_int_equal(npyx_key_counts_finish(&counts, &error), NPYX_OK);
    assert_counts(&counts, keys, nadded);
    npyx_key_counts_clear(&counts);
    assert_int_equal(unit.nblocks, 0);
}

static void test_parts_of_all_kinds_in_any_order(void **unused) {
    const int64_t most = (int64_t)MOST_NLISTS * NPYX_KEY_LIST_NKEYS;
    uint64_t *keys = malloc((size_t)most * sizeof *keys);
    int nrounds = ALL_NKEYS / (int)most;
    (void)unused;
    unit_start_random();
    for (nrounds = unit_rounds(nrounds < MOST_NROUNDS ? nrounds : MOST_NROUNDS); nrounds > 0; nrounds--)
        assert_counted(keys, most >> unit_random() % 4);
    free(keys);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_runs_that_come_after_a_list_that_becomes_full),
                                       cmocka_unit_test(test_parts_of_all_kinds_in_any_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
