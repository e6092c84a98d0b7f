/* Headers, archives, readers and elements over bytes in memory, without SQLite. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "format/archive_write.h"
#include "item/print.h"
#include "walk/reader.h"
#include "unit_host.h"

static unit_host unit;
static npyx_error error;

/* A version 1.0 .npy of the header text and the data; returns its length. */
static size_t make_npy(uint8_t *out, const char *header, const void *data, size_t nbytes) {
    size_t header_nbytes = strlen(header);
    memcpy(out, "\x93NUMPY\1\0", 8);
    out[8] = (uint8_t)header_nbytes;
    out[9] = (uint8_t)(header_nbytes >> 8);
    memcpy(out + 10, header, header_nbytes);
    if (nbytes > 0)
        memcpy(out + 10 + header_nbytes, data, nbytes);
    return 10 + header_nbytes + nbytes;
}

/* Opens bytes as an archive and describes its only array. */
static npyx_status describe(const uint8_t *bytes, size_t nbytes, npyx_archive **archive, npyx_array *array) {
    npyx_source *source = NULL;
    npyx_array_init(array, &unit.host);
    npyx_status status = npyx_source_open_memory(&unit.host, bytes, nbytes, &source, &error);
    if (status == NPYX_OK)
        status = npyx_archive_open(source, NPYX_NO_HINT, archive, &error);
    if (status == NPYX_OK)
        status = npyx_archive_describe(*archive, 0, array, &error);
    return status;
}

/* Reads every row of an array in blocks into out; returns the rows read. */
static int64_t read_rows(npyx_archive *archive, const npyx_array *array, uint8_t *out) {
    npyx_source *payload = NULL;
    npyx_reader reader;
    npyx_view view;
    assert_int_equal(npyx_archive_open_payload(archive, 0, &payload, &error), NPYX_OK);
    npyx_view_of_array(array, &view);
    npyx_reader_init(&reader, payload, &view, INT32_MAX);
    int64_t row = 0;
    while (row < reader.nrows) {
        assert_int_equal(npyx_reader_fill(&reader, row, INT64_MAX, &error), NPYX_OK);
        assert_true(reader.nrows_read > 0);
        memcpy(out, reader.rows, (size_t)(reader.nrows_read * reader.row_nbytes));
        out += reader.nrows_read * reader.row_nbytes;
        row += reader.nrows_read;
    }
    npyx_reader_clear(&reader);
    npyx_source_close(payload);
    return row;
}

static void test_fortran_order_is_gathered(void **state) {
    (void)state;
    const uint8_t stored[6] = {0, 3, 1, 4, 2, 5}; /* [[0, 1, 2], [3, 4, 5]] by columns */
    uint8_t file[256], rows[6];
    npyx_archive *archive = NULL;
    npyx_array array;
    size_t nbytes = make_npy(file, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}\n", stored, 6);
    assert_int_equal(describe(file, nbytes, &archive, &array), NPYX_OK);
    assert_true(array.fortran_order);
    assert_int_equal(read_rows(archive, &array, rows), 2);
    for (int i = 0; i < 6; i++)
        assert_int_equal(rows[i], i);
    npyx_array_clear(&array);
    npyx_archive_close(archive);
}

static void test_data_that_are_missing(void **state) {
    (void)state;
    uint8_t file[256];
    npyx_archive *archive = NULL;
    npyx_array array;
    size_t nbytes = make_npy(file, "{'descr': '<i4', 'fortran_order': False, 'shape': (3,)}\n", "1234567", 7);
    assert_int_equal(describe(file, nbytes, &archive, &array), NPYX_CORRUPT);
    assert_true(array.is_known); /* the header was sound */
    assert_string_equal(error.message, "data is truncated (header says 12 bytes, there are 7 from byte 66)");
    assert_int_equal(error.off, 66);
    npyx_array_clear(&array);
    npyx_archive_close(archive);
}

static void test_shapes_that_overflow(void **state) {
    (void)state;
    const char *const shapes[] = {"(3037000500, 3037000500)", "(0, 9223372036854775807, 3)",
                                  "(1152921504606846976,)"};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        char header[128];
        uint8_t file[256];
        npyx_archive *archive = NULL;
        npyx_array array;
        snprintf(header, sizeof header, "{'descr': '<f8', 'fortran_order': False, 'shape': %s}", shapes[i]);
        size_t nbytes = make_npy(file, header, NULL, 0);
        assert_int_equal(describe(file, nbytes, &archive, &array), NPYX_CORRUPT);
        assert_false(array.is_known);
        npyx_array_clear(&array);
        npyx_archive_close(archive);
    }
}

static void assert_json(const char *descr, const void *item, const char *expected) {
    npyx_arena arena = {.host = &unit.host};
    npyx_buffer out = {.host = &unit.host};
    const npyx_dtype *dtype = NULL;
    assert_int_equal(npyx_dtype_from_text(&arena, descr, strlen(descr), &dtype, &error), NPYX_OK);
    assert_int_equal(npyx_element_append_json(dtype, 0, NULL, item, &out, &error), NPYX_OK);
    npyx_buffer_append_char(&out, '\0');
    assert_string_equal(out.bytes, expected);
    npyx_buffer_clear(&out);
    npyx_arena_clear(&arena);
}

static void test_items_as_json(void **state) {
    (void)state;
    assert_json("<i2", "\xff\xff", "-1");
    assert_json(">i2", "\x01\x02", "258");
    assert_json("<u8", "\xff\xff\xff\xff\xff\xff\xff\xff", "\"18446744073709551615\"");
    assert_json("?", "\x07", "true");
    assert_json("<f2", "\x00\x7c", "9e999");
    assert_json("bfloat16", "\xc0\x7f", "null");
    assert_json("<c8", "\0\0\xc0\x3f\0\0\0\0", "[1.5,0.0]");
    assert_json("S4", "a\"\0\0", "\"a\\\"\"");
    assert_json("S2", "\xff\xfe", "\"FFFE\"");
    assert_json("<M8[D]", "\1\0\0\0\0\0\0\0", "\"1970-01-02\"");
    assert_json("<m8[s]", "\0\0\0\0\0\0\0\x80", "null");
    assert_json("[('a', 'u1'), ('', 'V2'), ('m', 'u1', (2, 1))]", "\1..\2\3", "{\"a\":1,\"m\":[[2],[3]]}");
    assert_json("[[\"x\", \"<i2\", [2]]]", "\1\0\2\0", "{\"x\":[1,2]}");
    assert_json("[]", "", "{}");
}

static void test_dtypes_that_are_none(void **state) {
    (void)state;
    const char *const wrong[] = {
        "",    "<",      "zz",      "f3",          "<i16",       "S-5",
        "M8[", "M8[xs]", "i4 ",     "i8[s]",       "[('a',)]",   "[('a','i4'),('a','f4')]",
        "5",   "None",   "('i4')x", "S2147483648", "U536870912", "[('a','V2147483647'),('b','u1')]"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        npyx_arena arena = {.host = &unit.host};
        const npyx_dtype *dtype = NULL;
        assert_int_equal(npyx_dtype_from_text(&arena, wrong[i], strlen(wrong[i]), &dtype, &error),
                         NPYX_INVALID);
        npyx_arena_clear(&arena);
    }
}

/* After an append that failed, one that would fit must not stand. */
static void test_a_buffer_that_failed_takes_no_more(void **state) {
    (void)state;
    npyx_buffer buffer = {.host = &unit.host, .limit_nbytes = 4};
    npyx_buffer_append_text(&buffer, "ab");
    npyx_buffer_append_text(&buffer, "cde");
    npyx_buffer_append_char(&buffer, 'f');
    npyx_buffer_append_text(&buffer, "g");
    assert_int_equal(buffer.status, NPYX_TOOBIG);
    assert_int_equal(buffer.nbytes, 2);
    assert_memory_equal(buffer.bytes, "ab", 2);
    npyx_buffer_reset(&buffer);
    npyx_buffer_append_text(&buffer, "wxyz");
    assert_int_equal(npyx_buffer_check(&buffer, &error), NPYX_OK);
    assert_memory_equal(buffer.bytes, "wxyz", 4);
    npyx_buffer_clear(&buffer);
}

static void test_a_poll_stops_a_read(void **state) {
    (void)state;
    uint8_t file[256], rows[6];
    npyx_archive *archive = NULL;
    npyx_array array;
    npyx_source *payload = NULL;
    npyx_view view;
    npyx_blocks blocks = {0};
    size_t nbytes = make_npy(file, "{'descr': '|u1', 'fortran_order': False, 'shape': (6,)}", "abcdef", 6);
    assert_int_equal(describe(file, nbytes, &archive, &array), NPYX_OK);
    assert_int_equal(read_rows(archive, &array, rows), 6);
    assert_memory_equal(rows, "abcdef", 6);
    assert_int_equal(npyx_archive_open_payload(archive, 0, &payload, &error), NPYX_OK);
    npyx_view_of_array(&array, &view);
    npyx_blocks_begin(&blocks, payload, &view);
    unit.wants_interrupt = true;
    assert_int_equal(npyx_blocks_next(&blocks, &error), NPYX_INTERRUPTED);
    unit.wants_interrupt = false;
    assert_int_equal(npyx_blocks_next(&blocks, &error), NPYX_OK);
    assert_memory_equal(blocks.items, "abcdef", 6);
    npyx_blocks_clear(&blocks);
    npyx_source_close(payload);
    npyx_array_clear(&array);
    npyx_archive_close(archive);
}

static int set_up(void **state) {
    (void)state;
    unit_host_init(&unit);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    return unit.nblocks == 0 ? 0 : -1; /* every test gives back what it took */
}

/* Found by CBMC (tests/prove): the size of a block for nearly all memory wrapped, and the block was too
 * small. */
static void test_arena_of_nearly_all_memory(void **state) {
    unit_host unit;
    unit_host_init(&unit);
    npyx_arena arena = {.host = &unit.host};
    (void)state;
    for (size_t less = 0; less < 64; less++)
        assert_null(npyx_arena_alloc(&arena, SIZE_MAX - less));
    assert_null(arena.newest);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arena_of_nearly_all_memory),
        cmocka_unit_test(test_fortran_order_is_gathered),
        cmocka_unit_test(test_data_that_are_missing),
        cmocka_unit_test(test_shapes_that_overflow),
        cmocka_unit_test(test_items_as_json),
        cmocka_unit_test(test_dtypes_that_are_none),
        cmocka_unit_test(test_a_poll_stops_a_read),
        cmocka_unit_test(test_a_buffer_that_failed_takes_no_more),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
