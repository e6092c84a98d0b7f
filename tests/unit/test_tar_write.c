/* Tars as WebDataset writes them: the sums are of what CPython 3.11's tarfile writes of the same members
 * (mode "w|", its default format, mtime 0, mode 0444, bigdata), which is what ShardWriter does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/crc32.h"
#include "format/tar.h"
#include "format/samples.h"
#include "unit_host.h"

static unit_host unit;
static npyx_error error;
static npyx_buffer bytes;
static npyx_sink *sink;

static int open_sink(void **state) {
    (void)state;
    unit_host_init(&unit);
    bytes = (npyx_buffer){.host = &unit.host};
    return npyx_sink_open_memory(&bytes, &sink, &error) == NPYX_OK ? 0 : -1;
}

static int close_sink(void **state) {
    (void)state;
    npyx_sink_close(sink);
    npyx_buffer_clear(&bytes);
    return unit.nblocks == 0 ? 0 : -1;
}

static void write_member(const char *name, const void *contents, size_t nbytes) {
    assert_int_equal(npyx_tar_write_member(sink, name, strlen(name), contents, nbytes, &error), NPYX_OK);
}

static void check(int64_t nbytes, uint32_t sum) {
    assert_int_equal(npyx_tar_write_end(sink, &error), NPYX_OK);
    assert_int_equal(sink->nbytes, nbytes);
    assert_int_equal(npyx_crc32(0, (const uint8_t *)bytes.bytes, bytes.nbytes), sum);
}

static void test_nothing(void **state) {
    (void)state;
    check(10240, 0x271dde9a);
}

static void test_a_sample(void **state) {
    char text[512];
    (void)state;
    memset(text, 'x', sizeof text);
    write_member("000000.cls", "7", 1);
    write_member("000000.txt", text, sizeof text);
    write_member("000000.npy", NULL, 0);
    check(10240, 0xf16a1620);
}

/* The longest name that needs no pax header, and the shortest one that does. */
static void test_long_names(void **state) {
    char name[120] = "d/";
    (void)state;
    memset(name + 2, 'k', 96);
    memcpy(name + 98, ".x", 3);
    write_member(name, "100", 3);
    check(10240, 0x58182f2a);
    assert_int_equal(npyx_sink_cut(sink, 0, &error), NPYX_OK);
    memcpy(name + 98, "k.x", 4);
    write_member(name, "101", 3);
    check(10240, 0x5831e91d);
}

static void test_names_that_are_not_ascii(void **state) {
    (void)state;
    write_member("gr\xc3\xbcn.txt", "1", 1);
    write_member("\xe4\xb8\xad\xf0\x9f\x98\x80.cls", "2", 1);
    check(10240, 0x79de2cee);
}

static void test_a_name_of_300_bytes(void **state) {
    char name[305], contents[1000];
    (void)state;
    memset(name, 'k', 300);
    memcpy(name + 300, ".jpg", 5);
    memset(contents, 'y', sizeof contents);
    write_member(name, contents, sizeof contents);
    check(10240, 0xa0372fad);
}

static void test_more_than_one_record(void **state) {
    char name[16], contents[700];
    (void)state;
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "%06d.bin", i);
        memset(contents, i, sizeof contents);
        write_member(name, contents, sizeof contents);
    }
    check(40960, 0xcd405fb4);
}

/* A disk that is full at any byte leaves the members before. */
static void test_a_full_disk(void **state) {
    (void)state;
    write_member("a.txt", "a", 1);
    for (size_t room = 0; room < 3 * 512; room += 100) {
        bytes.limit_nbytes = 1024 + room;
        npyx_status status = npyx_tar_write_member(sink, "gr\xc3\xbcn.txt", 9, "b", 1, &error);
        assert_int_equal(status, NPYX_TOOBIG);
        assert_int_equal(sink->nbytes, 1024);
    }
}

static void test_keys(void **state) {
    static const char *const sound[] = {"0",        "d/0",        "a.b/c", "x/..y/k",
                                        "\xc3\xa9", "with space", "__x",   "d/__x__"};
    static const char *const refused[] = {"",     "/abs", "..",  "../k", "d/../k",     "d/..",      "a.b",
                                          "d/a.", ".hid", "a/.", "\xff", "__meta__/x", "a\nb/c.d/e"};
    (void)state;
    for (size_t i = 0; i < sizeof sound / sizeof sound[0]; i++)
        assert_int_equal(npyx_tar_check_key(sound[i], strlen(sound[i]), &error), NPYX_OK);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (npyx_tar_check_key(refused[i], strlen(refused[i]), &error) != NPYX_INVALID)
            fail_msg("taken: %s", refused[i]);
    }
    assert_int_equal(npyx_tar_check_key("a\0b", 3, &error), NPYX_INVALID);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing, open_sink, close_sink),
        cmocka_unit_test_setup_teardown(test_a_sample, open_sink, close_sink),
        cmocka_unit_test_setup_teardown(test_long_names, open_sink, close_sink),
        cmocka_unit_test_setup_teardown(test_names_that_are_not_ascii, open_sink, close_sink),
        cmocka_unit_test_setup_teardown(test_a_name_of_300_bytes, open_sink, close_sink),
        cmocka_unit_test_setup_teardown(test_more_than_one_record, open_sink, close_sink),
        cmocka_unit_test_setup_teardown(test_a_full_disk, open_sink, close_sink),
        cmocka_unit_test_setup_teardown(test_keys, open_sink, close_sink),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
