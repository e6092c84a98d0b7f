/* Tables of checkpoints: found again, thinned, and bounded together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/inflate.h"
#include "unit_host.h"

enum { SPAN = NPYX_CHECKPOINT_MIN_SPAN_NBYTES };

static unit_host unit;

static int open_host(void **state) {
    (void)state;
    unit_host_init(&unit);
    return 0;
}

static int check_host(void **state) {
    (void)state;
    return unit.nblocks == 0 && unit.host.ncheckpoints == 0 && unit.host.checkpoints == NULL ? 0 : -1;
}

/* Adds one at off, whose fields and window tell where it belongs. */
static void add(npyx_checkpoints *table, int64_t off) {
    uint8_t *window = npyx_alloc(&unit.host, NPYX_CHECKPOINT_WINDOW_NBYTES);
    if (window != NULL)
        memset(window, (int)(off % 251), NPYX_CHECKPOINT_WINDOW_NBYTES);
    npyx_checkpoint checkpoint = {.off = off,
                                  .input_off = off / 2,
                                  .input_nbits = (int)(off % 8),
                                  .input_bits = (int)(off % 5),
                                  .crc = (uint32_t)(off * 3),
                                  .window = window,
                                  .window_nbytes = NPYX_CHECKPOINT_WINDOW_NBYTES,
                                  .crc_off = off / 7};
    npyx_checkpoints_add(table, &checkpoint);
}

static void assert_is_of(const npyx_checkpoint *checkpoint) {
    int64_t off = checkpoint->off;
    assert_int_equal(checkpoint->input_off, off / 2);
    assert_int_equal(checkpoint->input_nbits, off % 8);
    assert_int_equal(checkpoint->input_bits, off % 5);
    assert_int_equal(checkpoint->crc, (uint32_t)(off * 3));
    assert_int_equal(checkpoint->crc_off, off / 7);
    for (int i = 0; i < NPYX_CHECKPOINT_WINDOW_NBYTES; i += NPYX_CHECKPOINT_WINDOW_NBYTES - 1)
        assert_int_equal(checkpoint->window[i], off % 251);
}

/* How many a table holds, going back from its end; each is checked. */
static int count(const npyx_checkpoints *table) {
    int n = 0;
    const npyx_checkpoint *checkpoint = npyx_checkpoints_find(table, INT64_MAX);
    for (; checkpoint != NULL; checkpoint = npyx_checkpoints_find(table, checkpoint->off - 1)) {
        assert_is_of(checkpoint);
        assert_ptr_equal(npyx_checkpoints_find(table, checkpoint->off), checkpoint);
        n++;
    }
    return n;
}

static void test_short_streams_have_none(void **state) {
    (void)state;
    assert_null(npyx_checkpoints_make(&unit.host, 0));
    assert_null(npyx_checkpoints_make(&unit.host, 1));
    assert_null(npyx_checkpoints_make(&unit.host, SPAN));
    assert_null(npyx_checkpoints_find(NULL, 5));
    assert_true(npyx_checkpoints_next_off(NULL) == INT64_MAX);
    npyx_checkpoints_free(NULL);
}

static void test_the_nearest_before(void **state) {
    (void)state;
    npyx_checkpoints *table = npyx_checkpoints_make(&unit.host, 20 * SPAN);
    assert_int_equal(npyx_checkpoints_next_off(table), SPAN);
    assert_null(npyx_checkpoints_find(table, INT64_MAX));
    for (int i = 1; i < 20; i++) {
        add(table, npyx_checkpoints_next_off(table) + i);
        assert_int_equal(count(table), i);
    }
    const npyx_checkpoint *first = npyx_checkpoints_find(table, SPAN + 1);
    assert_int_equal(first->off, SPAN + 1);
    assert_null(npyx_checkpoints_find(table, SPAN));
    assert_null(npyx_checkpoints_find(table, 0));
    assert_int_equal(npyx_checkpoints_find(table, 2 * SPAN)->off, SPAN + 1);
    npyx_checkpoints_free(table);
}

/* A stream that goes on beyond what was said of it: twice the span, as often as it takes. */
static void test_a_size_that_was_wrong(void **state) {
    (void)state;
    npyx_checkpoints *table = npyx_checkpoints_make(&unit.host, SPAN + 1);
    int64_t end = 5000 * (int64_t)SPAN, widest = 0, off;
    while ((off = npyx_checkpoints_next_off(table) + 77) < end) {
        add(table, off);
        assert_true(count(table) <= NPYX_CHECKPOINTS_PER_TABLE);
    }
    for (off = end; npyx_checkpoints_find(table, off) != NULL;) {
        int64_t before = npyx_checkpoints_find(table, off)->off;
        widest = off - before > widest ? off - before : widest;
        off = before - 1;
    }
    widest = off > widest ? off : widest;
    assert_true(count(table) > NPYX_CHECKPOINTS_PER_TABLE / 4);
    assert_true(widest < end / (NPYX_CHECKPOINTS_PER_TABLE / 8));
    npyx_checkpoints_free(table);
}

static void test_sizes_without_bound(void **state) {
    (void)state;
    npyx_checkpoints *table = npyx_checkpoints_make(&unit.host, INT64_MAX);
    assert_int_equal(unit.nblocks, 1);
    assert_true(npyx_checkpoints_next_off(table) == INT64_MAX / NPYX_CHECKPOINTS_PER_TABLE);
    for (int i = 0; i < 1000 && npyx_checkpoints_next_off(table) < INT64_MAX; i++)
        add(table, npyx_checkpoints_next_off(table));
    assert_true(count(table) <= NPYX_CHECKPOINTS_PER_TABLE);
    npyx_checkpoints_free(table);
}

static void test_tables_share_a_limit(void **state) {
    (void)state;
    enum { NTABLES = 40 };
    npyx_checkpoints *tables[NTABLES];
    for (int t = 0; t < NTABLES; t++) {
        tables[t] = npyx_checkpoints_make(&unit.host, 300 * (int64_t)SPAN);
        for (int64_t off; (off = npyx_checkpoints_next_off(tables[t]) + t) < 300 * (int64_t)SPAN;)
            add(tables[t], off);
        int total = 0;
        for (int i = 0; i <= t; i++) {
            int n = count(tables[i]);
            assert_true(n >= NPYX_CHECKPOINTS_PER_HOST / (t + 1) / 4);
            total += n;
        }
        assert_int_equal(total, unit.host.ncheckpoints);
        assert_true(total <= NPYX_CHECKPOINTS_PER_HOST);
    }
    for (int t = 0; t < NTABLES; t++) /* from the middle on, so that neighbours are let go of everywhere */
        npyx_checkpoints_free(tables[(t * 7 + NTABLES / 2) % NTABLES]);
}

/* More tables than checkpoints: some have none, and none is lost. */
static void test_many_small_tables(void **state) {
    (void)state;
    enum { NTABLES = 3 * NPYX_CHECKPOINTS_PER_HOST };
    static npyx_checkpoints *tables[NTABLES];
    for (int t = 0; t < NTABLES; t++) {
        tables[t] = npyx_checkpoints_make(&unit.host, 4 * SPAN);
        for (int i = 0; i < 3; i++)
            add(tables[t], npyx_checkpoints_next_off(tables[t]));
        assert_true(unit.host.ncheckpoints <= NPYX_CHECKPOINTS_PER_HOST);
        assert_true(unit.nblocks <= 2 * (t + 1) + NPYX_CHECKPOINTS_PER_HOST);
    }
    int total = 0;
    for (int t = 0; t < NTABLES; t++)
        total += count(tables[t]);
    assert_int_equal(total, unit.host.ncheckpoints);
    assert_true(total > NPYX_CHECKPOINTS_PER_HOST / 2);
    for (int t = 0; t < NTABLES; t++)
        npyx_checkpoints_free(tables[t]);
}

static void test_without_memory_there_are_fewer(void **state) {
    (void)state;
    unit.fail_after = 0;
    assert_null(npyx_checkpoints_make(&unit.host, 20 * SPAN));
    for (long fail_after = 0; fail_after < 30; fail_after++) {
        unit.fail_after = -1;
        npyx_checkpoints *table = npyx_checkpoints_make(&unit.host, 40 * SPAN);
        unit.fail_after = fail_after;
        for (int i = 1; i <= 20; i++) {
            assert_int_equal(npyx_checkpoints_next_off(table), i * SPAN);
            add(table, i * SPAN);
        }
        int n = count(table);
        assert_true(n < fail_after || n == 0);
        assert_true(n == 20 || fail_after < 23);
        npyx_checkpoints_free(table);
        assert_int_equal(unit.nblocks, 0);
    }
    unit.fail_after = -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_short_streams_have_none, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_the_nearest_before, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_a_size_that_was_wrong, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_sizes_without_bound, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_tables_share_a_limit, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_many_small_tables, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_without_memory_there_are_fewer, open_host, check_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
