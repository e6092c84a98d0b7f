/* Blocks of views, from the beginning and from anywhere, against items found one by one by their strides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "walk/reader.h"
#include "array/view.h"
#include "unit_host.h"

static unit_host unit;
static npyx_error error;
static npyx_dtype dtype = {.type = NPYX_I4, .itemsize = 4};
static npyx_array array;
static npyx_view view;
static npyx_source *source;
static int32_t *items; /* item i is the number i */

static void open_array(const int64_t shape[3], bool fortran_order) {
    int64_t nelem = shape[0] * shape[1] * shape[2];
    unit_host_init(&unit);
    items = malloc((size_t)nelem * sizeof items[0]);
    assert_non_null(items);
    for (int64_t i = 0; i < nelem; i++)
        items[i] = (int32_t)i;
    array = (npyx_array){.dtype = &dtype, .ndim = 3, .fortran_order = fortran_order};
    memcpy(array.shape, shape, 3 * sizeof shape[0]);
    size_t nbytes = (size_t)nelem * sizeof items[0];
    assert_int_equal(npyx_source_open_memory(&unit.host, items, nbytes, &source, &error), NPYX_OK);
}

static void close_array(void) {
    npyx_source_close(source);
    free(items);
    assert_int_equal(unit.nblocks, 0);
}

static void make_view(const char *slice) {
    npyx_view_of_array(&array, &view);
    assert_int_equal(npyx_slice_apply(slice, strlen(slice), &view, &error), NPYX_OK);
}

static int32_t item_at(int64_t position) {
    int64_t off = view.off;
    for (int axis = view.ndim - 1; axis >= 0; axis--) {
        off += position % view.shape[axis] * view.strides[axis];
        position /= view.shape[axis];
    }
    return items[off / (int64_t)sizeof items[0]];
}

static void assert_reads_from(int64_t position) {
    npyx_blocks blocks = {0};
    int64_t nelem = npyx_view_nelem(&view), nskipped = 0;
    npyx_blocks_begin(&blocks, source, &view);
    if (position > 0)
        npyx_blocks_seek(&blocks, position, &nskipped);
    npyx_status status;
    while ((status = npyx_blocks_next(&blocks, &error)) == NPYX_OK) {
        assert_true(nskipped < blocks.nelem);
        for (int64_t i = nskipped; i < blocks.nelem; i++, position++) {
            int32_t item;
            memcpy(&item, blocks.items + i * (int64_t)sizeof item, sizeof item);
            assert_true(position < nelem);
            assert_int_equal(item, item_at(position));
        }
        nskipped = 0;
    }
    assert_int_equal(status, NPYX_DONE);
    assert_int_equal(position, nelem);
    npyx_blocks_clear(&blocks);
}

static const char *const slices[] = {"",  "..., ::-1", "::-1",          ":, 1:, ::2",
                                     "1", "..., 3",    "::2, ::-2, 5:", "None"};

static void assert_every_view_reads(const int64_t shape[3], int64_t nseeks) {
    for (int fortran_order = 0; fortran_order < 2; fortran_order++) {
        open_array(shape, fortran_order == 1);
        for (size_t i = 0; i < sizeof slices / sizeof slices[0]; i++) {
            make_view(slices[i]);
            int64_t nelem = npyx_view_nelem(&view);
            assert_true(nelem > 0);
            for (int64_t k = 0; k <= nseeks; k++)
                assert_reads_from(k * nelem / nseeks);
        }
        close_array();
    }
}

static void test_small_arrays(void **state) {
    (void)state;
    assert_every_view_reads((const int64_t[]){3, 4, 7}, 84);
}

/* Rows of more than a block, and so axes outside of what is read at once. */
static void test_rows_longer_than_a_block(void **state) {
    (void)state;
    assert_every_view_reads((const int64_t[]){3, 4, 70001}, 7);
    assert_every_view_reads((const int64_t[]){2, 300, 311}, 7);
}

static void test_a_first_block_no_larger_than_expected(void **state) {
    (void)state;
    open_array((const int64_t[]){1000, 10, 10}, false);
    make_view("");
    npyx_blocks blocks = {0};
    npyx_blocks_begin(&blocks, source, &view);
    npyx_blocks_expect(&blocks, 250);
    assert_int_equal(npyx_blocks_next(&blocks, &error), NPYX_OK);
    assert_true(blocks.nelem >= 250 && blocks.nelem <= 400);
    npyx_blocks_clear(&blocks);
    close_array();
}

/* Each file axis that falls is turned, and the items that are read are the same ones. */
static void test_orientation(void **state) {
    (void)state;
    open_array((const int64_t[]){3, 4, 7}, false);
    make_view("::-1, 1:, ::-2");
    npyx_view_orient(&view, NPYX_MAX_NDIM, false);
    for (int64_t i = 1; i < npyx_view_nelem(&view); i++) {
        assert_true(item_at(i - 1) < item_at(i));
        assert_int_equal(npyx_view_file_position(&view, i), item_at(i));
    }
    npyx_view_orient(&view, NPYX_MAX_NDIM, true);
    assert_int_equal(item_at(0), 2 * 28 + 3 * 7 + 6);
    for (int64_t i = 1; i < npyx_view_nelem(&view); i++) {
        assert_true(item_at(i - 1) > item_at(i));
        assert_int_equal(npyx_view_file_position(&view, i), item_at(i));
    }
    make_view("::-1, 1:, ::-2");
    npyx_view_orient(&view, 1, false);
    assert_int_equal(item_at(0), 1 * 7 + 6);
    assert_int_equal(view.first[0], 0);
    /* an axis that the slice made stays as it is */
    make_view("None, 1, 1");
    npyx_view_orient(&view, NPYX_MAX_NDIM, true);
    assert_int_equal(item_at(0), 28 + 7 + 6);
    close_array();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_arrays),
        cmocka_unit_test(test_rows_longer_than_a_block),
        cmocka_unit_test(test_a_first_block_no_larger_than_expected),
        cmocka_unit_test(test_orientation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
