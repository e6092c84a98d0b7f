/* Slices of views against what ndarray.__getitem__ makes of the same text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "array/view.h"

enum { OFF = 128, ITEMSIZE = 8 };

static npyx_dtype dtype = {.type = NPYX_F8, .itemsize = ITEMSIZE};
static npyx_array array;
static npyx_view view;
static npyx_error error;

static void make_view(int ndim, const int64_t *shape, bool fortran_order) {
    array = (npyx_array){.dtype = &dtype, .ndim = ndim, .fortran_order = fortran_order, .data_off = OFF};
    memcpy(array.shape, shape, sizeof shape[0] * (size_t)ndim);
    npyx_view_of_array(&array, &view);
}

/* An array of the shape (2, 3, 4) in C order: strides of 12, 4 and 1 items. */
static void make_cube(void) {
    make_view(3, (const int64_t[]){2, 3, 4}, false);
}

/* The text lies in memory of exactly its length, so that AddressSanitizer sees a step beyond. */
static npyx_status apply(const char *text) {
    size_t nbytes = strlen(text);
    char *exact = malloc(nbytes + (nbytes == 0));
    assert_non_null(exact);
    memcpy(exact, text, nbytes);
    npyx_status status = npyx_slice_apply(exact, nbytes, &view, &error);
    free(exact);
    return status;
}

/* Offset and strides are counted in items. */
static void assert_view(int64_t off, int ndim, const int64_t *shape, const int64_t *strides) {
    assert_int_equal(view.ndim, ndim);
    assert_int_equal(view.off, OFF + off * ITEMSIZE);
    for (int axis = 0; axis < ndim; axis++) {
        assert_int_equal(view.shape[axis], shape[axis]);
        assert_int_equal(view.strides[axis], strides[axis] * ITEMSIZE);
    }
}

#define ints(...) ((const int64_t[]){__VA_ARGS__})

static void test_the_whole(void **state) {
    (void)state;
    const char *const texts[] = {
        "",     "()",      " ",       "[]",    "...",     "[...]",      "Ellipsis",
        ":",    ":,:,:",   "::",      "[()]",  "0:,...,", ":, ..., :4", "\t[ : , : ]\n",
        "...,", "-2:2, :", "None:,:", "0:9:1", "+0:+2",   "00:2",       "(...)"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        make_cube();
        assert_int_equal(apply(texts[i]), NPYX_OK);
        assert_view(0, 3, ints(2, 3, 4), ints(12, 4, 1));
    }
}

static void test_integers(void **state) {
    (void)state;
    make_cube();
    assert_int_equal(apply("1"), NPYX_OK);
    assert_view(12, 2, ints(3, 4), ints(4, 1));
    make_cube();
    assert_int_equal(apply("-1, ..., - 2"), NPYX_OK);
    assert_view(14, 1, ints(3), ints(4));
    make_cube();
    assert_int_equal(apply("(1, 2, 0_3)"), NPYX_OK);
    assert_view(23, 0, NULL, NULL);
    assert_int_equal(view.fixed[0], 1);
    assert_int_equal(view.fixed[1], 2);
    assert_int_equal(view.fixed[2], 3);
    assert_int_equal(apply("..."), NPYX_OK);
    assert_view(23, 0, NULL, NULL);
}

static void test_ranges(void **state) {
    (void)state;
    make_cube();
    assert_int_equal(apply(":, 1:, 1::2"), NPYX_OK);
    assert_view(5, 3, ints(2, 2, 2), ints(12, 4, 2));
    make_cube();
    assert_int_equal(apply("..., ::-1"), NPYX_OK);
    assert_view(3, 3, ints(2, 3, 4), ints(12, 4, -1));
    make_cube();
    assert_int_equal(apply("::-1, 9:0:-1, -2:-9:-2"), NPYX_OK);
    assert_view(12 + 8 + 2, 3, ints(2, 2, 2), ints(-12, -4, -2));
    make_cube();
    assert_int_equal(apply("1000000000000000000000000000000::-1, -9223372036854775809:9223372036854775808"),
                     NPYX_OK);
    assert_view(12, 3, ints(2, 3, 4), ints(-12, 4, 1));
    make_cube();
    assert_int_equal(apply("1::-9223372036854775808, ::9223372036854775807"), NPYX_OK);
    assert_view(12, 3, ints(1, 1, 4), ints(12, 4, 1)); /* one item has no use for a step */
}

static void test_new_axes(void **state) {
    (void)state;
    make_cube();
    assert_int_equal(apply("None, 1, ..., newaxis, 2, np.newaxis"), NPYX_OK);
    assert_view(14, 4, ints(1, 3, 1, 1), ints(0, 4, 0, 0));
    assert_int_equal(view.file_axis[0], -1);
    assert_int_equal(view.file_axis[1], 1);
    assert_int_equal(view.file_axis[2], -1);
    assert_int_equal(apply("0, ::-1, -1"), NPYX_OK); /* integers remove them again */
    assert_view(22, 2, ints(3, 1), ints(-4, 0));
    assert_int_equal(view.fixed[0], 1);
    assert_int_equal(view.fixed[1], -1);
    assert_int_equal(view.fixed[2], 2);
}

static void test_a_slice_of_a_slice(void **state) {
    (void)state;
    make_view(1, ints(100), false);
    assert_int_equal(apply("10:90:3"), NPYX_OK); /* 10, 13, ..., 88 */
    assert_view(10, 1, ints(27), ints(3));
    assert_int_equal(apply("::-2"), NPYX_OK); /* 88, 82, ..., 10 */
    assert_view(88, 1, ints(14), ints(-6));
    assert_int_equal(view.first[0], 88);
    assert_int_equal(view.step[0], -6);
    assert_int_equal(apply("1:3"), NPYX_OK);
    assert_int_equal(view.first[0], 82);
    assert_int_equal(view.step[0], -6);
    assert_int_equal(apply("-1"), NPYX_OK);
    assert_view(76, 0, NULL, NULL);
    assert_int_equal(view.fixed[0], 76);
}

static void test_fortran_order(void **state) {
    (void)state;
    make_view(2, ints(3, 5), true);
    assert_int_equal(apply("::-2, 1:4"), NPYX_OK);
    assert_view(2 + 3, 2, ints(2, 3), ints(-2, 3));
    assert_int_equal(apply("1"), NPYX_OK);
    assert_view(3, 1, ints(3), ints(3));
    assert_int_equal(view.fixed[0], 0);
    assert_int_equal(view.file_axis[0], 1);
    assert_int_equal(view.first[0], 1);
}

static void test_empty_results(void **state) {
    (void)state;
    const char *const texts[] = {"2:", "1:1", "5:9", "1:0", "0:1:-1", "-1:-2", ":, :, 4:, None"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        make_cube();
        assert_int_equal(apply(texts[i]), NPYX_OK);
        assert_int_equal(view.off, OFF);
        assert_true(view.shape[0] == 0 || view.shape[2] == 0);
    }
    /* strides are huge where an empty array hides what its shape would take */
    make_view(3, ints(0, INT64_C(1) << 29, INT64_C(1) << 30), false);
    assert_int_equal(apply(":, -1, ::-1073741823"), NPYX_OK);
    assert_int_equal(view.off, OFF);
    assert_int_equal(view.shape[0], 0);
    assert_int_equal(view.shape[1], 2);
    make_view(2, ints(0, INT64_MAX / ITEMSIZE), false);
    assert_int_equal(apply(":, -1"), NPYX_OK);
    assert_int_equal(view.off, OFF);
}

static void assert_refused(const char *text, int64_t off, const char *message) {
    npyx_view before = view;
    assert_int_equal(apply(text), NPYX_INVALID);
    assert_string_equal(error.message, message);
    assert_int_equal(error.status, NPYX_INVALID);
    assert_int_equal(error.off, off);
    assert_memory_equal(&view, &before, sizeof view);
    assert_int_equal(npyx_slice_apply(text, strlen(text), &view, NULL), NPYX_INVALID);
}

static void test_faults_of_indices(void **state) {
    (void)state;
    memset(&view, 0, sizeof view);
    make_cube();
    assert_refused("1, 7", 3, "index 7 is out of range for axis 1 of length 3");
    assert_refused("..., -5", 5, "index -5 is out of range for axis 2 of length 4");
    assert_refused("99999999999999999999", 0,
                   "index 99999999999999999999 is out of range for axis 0 of length 2");
    assert_refused("-9223372036854775808", 0,
                   "index -9223372036854775808 is out of range for axis 0 of length 2");
    assert_refused("0, 1:2:0", 3, "slice `1:2:0` has a step of 0");
    assert_refused("0,1,2,3", 0, "too many indices: the array has 3 dimensions, 4 were given");
    assert_refused("..., 1, ...", 8, "a second `...`: there can be only one");
    make_view(0, ints(0), false);
    assert_refused("0", 0, "too many indices: the array has 0 dimensions, 1 was given");
    make_view(1, ints(0), false);
    assert_refused("0", 0, "index 0 is out of range for axis 0 of length 0");
    make_view(1, ints(INT64_MAX / ITEMSIZE), false);
    assert_refused("-1", 0, "the slice begins beyond byte 2^63 - 1");
}

static void test_what_is_no_index(void **state) {
    (void)state;
    memset(&view, 0, sizeof view);
    make_cube();
    assert_refused("a", 0, "`a` is not an index (integers, ranges, ... and None are)");
    assert_refused("[1, none]", 4, "`none` is not an index (integers, ranges, ... and None are)");
    assert_refused(
        "1 2", 0, "`1 2` is not an index: only basic indexing is supported (integers, ranges, ... and None)");
    assert_refused(
        "True", 0,
        "`True` is not an index: only basic indexing is supported (integers, ranges, ... and None)");
    assert_refused(
        "1.5", 0, "`1.5` is not an index: only basic indexing is supported (integers, ranges, ... and None)");
    assert_refused("0, [1, 2]", 3,
                   "`[1, 2]` is not an index: to choose places by a list, write a condition, as in "
                   "npy_rows('X.npy') WHERE row IN (0, 2)");
    assert_refused("[[1, 2]]", 0,
                   "`[[1, 2]]` is not an index: to choose places by a list, write a condition, as in "
                   "npy_rows('X.npy') WHERE row IN (0, 2)");
    assert_refused("[0], [1]", 0,
                   "`[0]` is not an index: to choose places by a list, write a condition, as in "
                   "npy_rows('X.npy') WHERE row IN (0, 2)");
    assert_refused("[1", 0, "a bracket is not closed in `[1`");
    assert_refused("1]", 0,
                   "`1]` is not an index: only basic indexing is supported (integers, ranges, ... and None)");
    assert_refused("1,,2", 2, "an index is missing before a comma");
    assert_refused(",", 0, "an index is missing before a comma");
    assert_refused("0, x:2", 3, "`x` is not an integer, as the parts of a slice must be");
    assert_refused("...:2", 0, "`...` is not an integer, as the parts of a slice must be");
    assert_refused("1:2:3:4", 0, "slice `1:2:3:4` has more than two colons");
    assert_refused("--1", 0, "`--1` is not an index (integers, ranges, ... and None are)");
    const char *const wrong[] = {"1_",   "_1",  "1__0",  "-",   "+",   "1-1",  "0x1", "1e3",      "1j",
                                 "....", "'a'", "(1):2", "1;2", "1:a", ":1.5", "{1}", "\xff\xfe", "slice(1)"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(apply(wrong[i]), NPYX_INVALID);
    assert_int_equal(npyx_slice_apply("1\0002", 3, &view, &error), NPYX_INVALID);
}

static void test_no_more_than_64_dimensions(void **state) {
    (void)state;
    char text[8 * NPYX_MAX_NDIM] = "";
    memset(&view, 0, sizeof view);
    make_cube();
    for (int i = 0; i < NPYX_MAX_NDIM - 2; i++)
        strcat(text, "None,");
    assert_refused(text, 0, "the slice makes 65 dimensions; 64 is the most");
    strcat(text, "0");
    assert_int_equal(apply(text), NPYX_OK);
    assert_int_equal(view.ndim, NPYX_MAX_NDIM);
    assert_refused("None", 0, "the slice makes 65 dimensions; 64 is the most");
    memset(text, ',', sizeof text - 1);
    for (size_t i = 0; i < sizeof text - 1; i += 2)
        text[i] = '0';
    text[2 * NPYX_MAX_NDIM - 1] = '\0';
    assert_int_equal(apply(text), NPYX_OK);
    assert_int_equal(view.ndim, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_whole),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_new_axes),
        cmocka_unit_test(test_a_slice_of_a_slice),
        cmocka_unit_test(test_fortran_order),
        cmocka_unit_test(test_empty_results),
        cmocka_unit_test(test_faults_of_indices),
        cmocka_unit_test(test_what_is_no_index),
        cmocka_unit_test(test_no_more_than_64_dimensions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
