/* Edges, places and counts of histograms; tests/numpy/test_histogram.py compares with NumPy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "stat/histogram.h"
#include "unit_host.h"

static unit_host unit;
static npyx_error error;
static npyx_bins bins;
static npyx_histogram histogram;

static int setup(void **state) {
    (void)state;
    unit_host_init(&unit);
    bins = (npyx_bins){.host = &unit.host, .nbins = 4};
    histogram = (npyx_histogram){.host = &unit.host};
    return 0;
}

static int teardown(void **state) {
    (void)state;
    npyx_bins_clear(&bins);
    npyx_histogram_clear(&histogram);
    return unit.nblocks != 0;
}

/* Counts items of the host's byte order in memory. */
static npyx_status make(npyx_type type, bool is_swapped, const void *items, int64_t nelem) {
    const npyx_dtype dtype = {.type = type,
                              .itemsize = npyx_types[type].itemsize,
                              .is_big_endian = NPYX_HOST_IS_BIG_ENDIAN != is_swapped};
    npyx_array array = {.dtype = &dtype, .ndim = 1, .shape = {nelem}};
    npyx_view view;
    npyx_source *source = NULL;
    npyx_status status =
        npyx_source_open_memory(&unit.host, items, (size_t)(nelem * dtype.itemsize), &source, &error);
    if (status == NPYX_OK) {
        npyx_view_of_array(&array, &view);
        status = npyx_histogram_make(&histogram, &bins, source, &view, &error);
    }
    npyx_source_close(source);
    return status;
}

static void assert_counts(const uint64_t *counts) {
    for (int64_t bin = 0; bin < histogram.nbins; bin++)
        assert_int_equal(histogram.counts[bin], counts[bin]);
}

static void parse(const char *text, npyx_status status) {
    npyx_bins_clear(&bins);
    assert_int_equal(npyx_bins_parse(&bins, text, strlen(text), &error), status);
}

static void test_the_last_bin_is_closed(void **state) {
    (void)state;
    const double items[] = {0, 1, 1, 2, 3, 4, NAN, 4};
    assert_int_equal(make(NPYX_F8, false, items, 8), NPYX_OK);
    assert_counts((const uint64_t[]){1, 2, 1, 3});
    for (int i = 0; i <= 4; i++)
        assert_true(histogram.edges[i] == i);
}

static void test_either_byte_order_at_any_alignment(void **state) {
    (void)state;
    uint8_t bytes[1 + 8 * sizeof(uint64_t)];
    const double values[8] = {-1, 0, 0.5, 1, 1.5, 2, 3, 7};
    for (size_t i = 0; i < 8; i++) {
        uint64_t word;
        memcpy(&word, &values[i], sizeof word);
        word = __builtin_bswap64(word);
        memcpy(bytes + 1 + 8 * i, &word, sizeof word);
    }
    assert_int_equal(make(NPYX_F8, true, bytes + 1, 8), NPYX_OK);
    assert_counts((const uint64_t[]){3, 3, 1, 1}); /* -1 to 7: an edge belongs to the bin above it */
}

static void test_a_range_leaves_out_what_is_outside(void **state) {
    (void)state;
    const int32_t items[] = {-1, 0, 1, 2, 3, 4, 5};
    npyx_operand lo = {.integer = 0}, hi = {.is_real = true, .real = 4};
    assert_int_equal(npyx_bins_set_range(&bins, lo, hi, &error), NPYX_OK);
    assert_int_equal(make(NPYX_I4, false, items, 7), NPYX_OK);
    assert_counts((const uint64_t[]){1, 1, 1, 2});
    assert_int_equal(npyx_bins_set_range(&bins, hi, lo, &error), NPYX_INVALID);
}

/* A double holds neither end of this range. */
static void test_integers_are_bounded_exactly(void **state) {
    (void)state;
    const int64_t base = INT64_C(1) << 53;
    const int64_t items[] = {base, base + 1, base + 2, base + 3, base + 4};
    npyx_operand lo = {.integer = base + 1}, hi = {.integer = base + 3};
    bins.nbins = 1;
    assert_int_equal(npyx_bins_set_range(&bins, lo, hi, &error), NPYX_OK);
    assert_int_equal(make(NPYX_I8, false, items, 5), NPYX_OK);
    assert_counts((const uint64_t[]){3});
    parse("[9007199254740993, 9007199254740994, 9007199254740995]", NPYX_OK);
    assert_int_equal(make(NPYX_I8, false, items, 5), NPYX_OK);
    assert_counts((const uint64_t[]){1, 2});
}

static void test_narrow_items_and_an_empty_array(void **state) {
    (void)state;
    const uint16_t halves[] = {0x0000, 0x3c00, 0x4000, 0x7e00, 0x4400}; /* 0, 1, 2, NaN, 4 */
    assert_int_equal(make(NPYX_F2, false, halves, 5), NPYX_OK);
    assert_counts((const uint64_t[]){1, 1, 1, 1});
    assert_int_equal(make(NPYX_F2, false, halves, 0), NPYX_OK);
    assert_counts((const uint64_t[]){0, 0, 0, 0});
    assert_true(histogram.edges[0] == 0 && histogram.edges[4] == 1);
    const int8_t bytes[] = {-128, 127, 0};
    assert_int_equal(make(NPYX_I1, false, bytes, 3), NPYX_OK);
    assert_counts((const uint64_t[]){1, 0, 1, 1});
}

/* The fast loops and npyx_place are two ways to one answer. */
static void check_loop(bool is_given) {
    enum { NELEM = 5000 };
    float *items = malloc(NELEM * sizeof items[0]);
    double edges[301];
    uint64_t counts[301] = {0}, expected[301] = {0};
    uint32_t seed = 1;
    assert_non_null(items);
    for (int i = 0; i < NELEM; i++) {
        seed = seed * 1664525 + 1013904223;
        items[i] = (float)(seed >> 8) * 0x1p-24f + 1000;
    }
    npyx_placing placing = {.type = NPYX_F4, .is_big_endian = NPYX_HOST_IS_BIG_ENDIAN};
    npyx_range_end lo = {.real = 1000}, hi = {.real = 1001};
    assert_int_equal(npyx_placing_init_uniform(&placing, lo, hi, is_given, 300, edges, &error), NPYX_OK);
    assert_true(placing.is_regular && placing.difference == NPYX_PRECISION_F4);
    assert_true(placing.quotient == (is_given ? NPYX_PRECISION_F8 : NPYX_PRECISION_F4));
    npyx_place_items(&placing, (const uint8_t *)items, NELEM, counts);
    for (int i = 0; i < NELEM; i++)
        expected[npyx_place(&placing, (double)items[i])]++;
    assert_memory_equal(counts, expected, sizeof counts);
    free(items);
}

static void test_the_loops_agree_with_single_values(void **state) {
    (void)state;
    check_loop(false);
    check_loop(true);
}

static void test_edges_as_text(void **state) {
    (void)state;
    const double items[] = {-5, 0, 0.25, 1, 1, 3, 10, 11};
    parse(" [ -Infinity , 0, 1e0,\n1, 10.0 ] ", NPYX_OK);
    assert_int_equal(bins.nbins, 4);
    assert_null(bins.integer_edges);
    assert_int_equal(make(NPYX_F8, false, items, 8), NPYX_OK);
    assert_counts((const uint64_t[]){1, 2, 0, 4});
    parse("[0, 1, 18446744073709551616]", NPYX_OK);
    assert_null(bins.integer_edges);
    assert_true(bins.edges[2] == 0x1p64);
    static const char *const bad[] = {
        "",       "[",      "[]",   "[1]", "[1,2",    "[2,1]",   "[1 2]",   "[1,2]x",    "[1,,2]",  "[,1,2]",
        "[1,.5]", "[1,+2]", "auto", "5",   "[1,nan]", "[1,0x2]", "[1,2e+]", "[1,\"2\"]", "[1,[2]]", "{}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        parse(bad[i], NPYX_INVALID);
}

static void test_errors(void **state) {
    (void)state;
    const double items[] = {0, INFINITY};
    assert_int_equal(make(NPYX_F8, false, items, 2), NPYX_INVALID);
    assert_int_equal(make(NPYX_C16, false, items, 1), NPYX_INVALID);
    const double wide[] = {-1e308, 1e308};
    assert_int_equal(make(NPYX_F8, false, wide, 2), NPYX_INVALID);
    assert_int_equal(npyx_bins_set_count(&bins, 0, &error), NPYX_INVALID);
    assert_int_equal(npyx_bins_set_count(&bins, NPYX_MAX_NBINS + 1, &error), NPYX_INVALID);
    unit.wants_interrupt = true;
    assert_int_equal(make(NPYX_F8, false, items, 1), NPYX_INTERRUPTED);
}

static void test_out_of_memory_leaks_nothing(void **state) {
    (void)state;
    const double items[] = {0, 1, 2};
    const uint8_t bytes[] = {0, 1, 2};
    npyx_status status = NPYX_NOMEM;
    for (long i = 0; status != NPYX_OK; i++) {
        assert_true(i < 100);
        unit.fail_after = i;
        npyx_bins_clear(&bins);
        status = npyx_bins_parse(&bins, "[0, 1, 2]", 9, &error);
        if (status == NPYX_OK)
            status = make(NPYX_F8, false, items, 3);
        if (status == NPYX_OK)
            status = make(NPYX_U1, false, bytes, 3);
        assert_true(status == NPYX_OK || status == NPYX_NOMEM);
    }
    unit.fail_after = -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_last_bin_is_closed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_either_byte_order_at_any_alignment, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_range_leaves_out_what_is_outside, setup, teardown),
        cmocka_unit_test_setup_teardown(test_integers_are_bounded_exactly, setup, teardown),
        cmocka_unit_test_setup_teardown(test_narrow_items_and_an_empty_array, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_loops_agree_with_single_values, setup, teardown),
        cmocka_unit_test_setup_teardown(test_edges_as_text, setup, teardown),
        cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_out_of_memory_leaks_nothing, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
