/* The public interface (npyx.h): what is written reads back, in parts and as other dtypes; what fails says
 * why, and leaves the path as it was. tests/packaging holds it against NumPy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "npyx.h"

static char folder[] = "/tmp/npyext-npyx-XXXXXX";
static char path[sizeof folder + 32];

/* Numbers 0 to 11, little-endian. */
static const uint8_t numbers[] = {0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8, 0, 9, 0, 10, 0, 11, 0};
static const int64_t shape[] = {3, 4};

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

static int remove_file(void **state) {
    (void)state;
    unlink(path);
    return 0;
}

static const char *path_of(const char *name) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void assert_reads(npyx_input *input, const char *name, int ndim, int64_t nelem, const void *items) {
    uint8_t found[256];
    int64_t nbytes = nelem * npyx_input_itemsize(input);
    assert_string_equal(npyx_input_name(input), name);
    assert_int_equal(npyx_input_ndim(input), ndim);
    assert_int_equal(npyx_input_nelem(input), nelem);
    assert_true(nbytes <= (int64_t)sizeof found);
    assert_true(npyx_input_read(input, 0, nelem, found));
    assert_memory_equal(found, items, (size_t)nbytes);
}

static void assert_fails(const char *error, const char *part) {
    assert_non_null(error);
    if (strstr(error, part) == NULL)
        fail_msg("'%s' does not say '%s'", error, part);
}

/* Two arrays, or in a .npy one, in two pieces. */
static void write_file(const char *name) {
    npyx_output *output = npyx_output_open(path_of(name));
    assert_non_null(output);
    assert_null(npyx_output_error(output));
    bool has_names = strstr(name, ".npy") == NULL;
    assert_true(npyx_output_begin(output, has_names ? "a" : "", "<i2", 2, shape));
    assert_true(npyx_output_append(output, numbers, 5));
    assert_true(npyx_output_append(output, numbers + 10, 7));
    if (has_names) {
        assert_true(npyx_output_begin(output, "b", "uint8", 1, (int64_t[]){2}));
        assert_true(npyx_output_append(output, "\7\11", 2));
    }
    assert_int_equal(access(path, F_OK), -1);
    assert_true(npyx_output_commit(output));
    assert_int_equal(access(path, F_OK), 0);
    npyx_output_close(output);
}

static void test_what_is_written_reads_back(void **state) {
    static const char *const formats[] = {"npy", "npz", "ten"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "x.%s", formats[i]);
        write_file(name);
        npyx_input *input = npyx_input_open(path);
        assert_string_equal(npyx_input_format(input), formats[i]);
        assert_null(npyx_input_name(input));
        assert_true(npyx_input_next(input));
        assert_string_equal(npyx_input_dtype(input), "int16");
        assert_memory_equal(npyx_input_shape(input), shape, sizeof shape);
        assert_reads(input, i == 0 ? "" : "a", 2, 12, numbers);
        if (i > 0) {
            assert_true(npyx_input_next(input));
            assert_reads(input, "b", 1, 2, "\7\11");
            assert_true(npyx_input_find(input, "a"));
            assert_reads(input, "a", 2, 12, numbers);
            assert_true(npyx_input_find(input, "b"));
        }
        assert_true(i == 0 || npyx_input_name(input)[0] == 'b');
        while (npyx_input_next(input))
            ;
        assert_null(npyx_input_error(input));
        assert_null(npyx_input_shape(input));
        npyx_input_close(input);
        unlink(path);
    }
}

static void test_parts_and_other_dtypes(void **state) {
    double as_double[2];
    (void)state;
    write_file("x.npy");
    npyx_input *input = npyx_input_open(path);
    assert_true(npyx_input_next(input));
    assert_string_equal(npyx_input_descr(input), "<i2");
    assert_true(npyx_input_slice(input, "1:, ::-2"));
    assert_reads(input, "", 2, 4, "\7\0\5\0\13\0\11");
    assert_true(npyx_input_astype(input, "float64"));
    assert_true(npyx_input_read(input, 1, 2, as_double));
    assert_true(as_double[0] == 5 && as_double[1] == 11);
    assert_true(npyx_input_astype(input, ">i2"));
    assert_true(npyx_input_slice(input, "-1"));
    assert_reads(input, "", 1, 2, "\0\13\0\11");
    assert_true(npyx_input_read(input, 2, 0, as_double));

    assert_false(npyx_input_read(input, 1, 2, as_double));
    assert_fails(npyx_input_error(input), "2 items from number 1 on, of an array of 2");
    assert_false(npyx_input_read(input, INT64_MAX, INT64_MAX, as_double));
    assert_false(npyx_input_read(input, -1, 1, as_double));
    assert_false(npyx_input_slice(input, "5"));
    assert_fails(npyx_input_error(input), "out of range");
    assert_false(npyx_input_astype(input, "U3"));
    assert_false(npyx_input_astype(input, "nothing"));
    assert_reads(input, "", 1, 2, "\0\13\0\11"); /* what failed changed nothing */
    assert_null(npyx_input_error(input));
    assert_false(npyx_input_next(input));
    assert_false(npyx_input_read(input, 0, 0, as_double));
    assert_fails(npyx_input_error(input), "no current array");
    npyx_input_close(input);
}

static void test_what_cannot_be_read(void **state) {
    (void)state;
    npyx_input *input = npyx_input_open(path_of("missing.npy"));
    assert_fails(npyx_input_error(input), "no such file");
    assert_null(npyx_input_format(input));
    assert_false(npyx_input_next(input));
    assert_false(npyx_input_find(input, "a"));
    assert_fails(npyx_input_error(input), "no such file");
    npyx_input_close(input);
    npyx_input_close(NULL);

    write_file("x.npz");
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, 60, SEEK_SET); /* in the header of the first array */
    fputs("????", file);
    fclose(file);
    input = npyx_input_open(path);
    assert_false(npyx_input_next(input));
    assert_non_null(npyx_input_error(input));
    assert_true(npyx_input_next(input));
    assert_reads(input, "b", 1, 2, "\7\11");
    assert_false(npyx_input_find(input, "c"));
    assert_fails(npyx_input_error(input), "b");
    npyx_input_close(input);
}

static void test_what_is_not_complete_is_not_published(void **state) {
    (void)state;
    write_file("x.npy");
    npyx_output *output = npyx_output_open(path);
    assert_true(npyx_output_begin(output, "", "f8", 1, (int64_t[]){2}));
    assert_false(npyx_output_commit(output));
    assert_fails(npyx_output_error(output), "2 items of the array are missing");
    assert_false(npyx_output_append(output, "0123456701234567", 2));
    assert_fails(npyx_output_error(output), "an earlier call failed");
    assert_false(npyx_output_commit(output));
    npyx_output_close(output);
    npyx_output_close(NULL);

    static const struct {
        const char *dtype;
        int ndim;
        int64_t length;
        const char *error;
    } refused[] = {{"f9", 1, 1, "f9"},       {"O", 1, 1, "object"},     {"f8", 65, 1, "65 axes"},
                   {"f8", -1, 1, "-1 axes"}, {"f8", 1, -1, "negative"}, {"f8", 1, INT64_MAX, "2^63"}};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        output = npyx_output_open(path);
        assert_false(npyx_output_begin(output, "", refused[i].dtype, refused[i].ndim, &refused[i].length));
        assert_fails(npyx_output_error(output), refused[i].error);
        npyx_output_close(output);
    }
    output = npyx_output_open(path);
    assert_false(npyx_output_commit(output));
    assert_fails(npyx_output_error(output), "none was begun");
    npyx_output_close(output);
    output = npyx_output_open(path);
    assert_true(npyx_output_begin(output, "", "u1", 0, NULL));
    assert_false(npyx_output_append(output, "12", 2));
    assert_fails(npyx_output_error(output), "2 items, where the array lacks 1");
    npyx_output_close(output);
    output = npyx_output_open(path);
    assert_true(npyx_output_begin(output, "", "u1", 0, NULL));
    assert_true(npyx_output_append(output, "1", 1));
    assert_false(npyx_output_begin(output, "", "u1", 0, NULL));
    assert_fails(npyx_output_error(output), "one array");
    npyx_output_close(output);

    npyx_input *input = npyx_input_open(path);
    assert_true(npyx_input_next(input));
    assert_reads(input, "", 2, 12, numbers);
    npyx_input_close(input);
}

static void test_what_is_not_ours_is_not_replaced(void **state) {
    (void)state;
    FILE *file = fopen(path_of("x.npy"), "wb");
    assert_non_null(file);
    fputs("a letter", file);
    fclose(file);
    npyx_output *output = npyx_output_open(path);
    assert_non_null(npyx_output_error(output));
    assert_false(npyx_output_begin(output, "", "u1", 0, NULL));
    assert_fails(npyx_output_error(output), "not open");
    npyx_output_close(output);
    char text[16] = "";
    file = fopen(path, "rb");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_string_equal(text, "a letter");
    output = npyx_output_open("x.csv");
    assert_fails(npyx_output_error(output), ".npy, .npz or .ten");
    npyx_output_close(output);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_what_is_written_reads_back, remove_file),
        cmocka_unit_test_teardown(test_parts_and_other_dtypes, remove_file),
        cmocka_unit_test_teardown(test_what_cannot_be_read, remove_file),
        cmocka_unit_test_teardown(test_what_is_not_complete_is_not_published, remove_file),
        cmocka_unit_test_teardown(test_what_is_not_ours_is_not_replaced, remove_file),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
