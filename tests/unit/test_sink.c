/* Sinks: in memory and in files they are the same bytes; what fails leaves them as long as before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/sink.h"
#include "rounds.h"
#include "unit_host.h"

enum { BUFFERED_NBYTES = 1 << 18, ROOM_NBYTES = 1 << 22 };

static unit_host unit;
static npyx_error error;

static int open_host(void **state) {
    (void)state;
    unit_host_init(&unit);
    return 0;
}

static int check_host(void **state) {
    (void)state;
    return unit.nblocks == 0 ? 0 : -1;
}

static int temporary_file(void) {
    char path[] = "/tmp/npyext-sink-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    unlink(path);
    return descriptor;
}

static void assert_holds(npyx_sink *sink, const uint8_t *expected, int64_t nbytes) {
    assert_int_equal(sink->nbytes, nbytes);
    uint8_t *found = malloc((size_t)nbytes + 1);
    assert_non_null(found);
    assert_int_equal(npyx_sink_read(sink, 0, found, (size_t)nbytes, &error), NPYX_OK);
    assert_memory_equal(found, expected, (size_t)nbytes);
    free(found);
}

/* Random appends, rewrites, cuts and flushes against a plain array. */
static void work_on(npyx_sink *sink, unsigned seed) {
    uint8_t *expected = malloc(ROOM_NBYTES), *bytes = malloc(ROOM_NBYTES);
    assert_non_null(expected);
    assert_non_null(bytes);
    int64_t nbytes = 0;
    srand(seed);
    for (int i = 0; i < ROOM_NBYTES; i++)
        bytes[i] = (uint8_t)rand();
    for (int round = 0; round < 2000; round++) {
        int64_t piece = rand() % 20 == 0 ? rand() % (3 * BUFFERED_NBYTES) : rand() % 500;
        int64_t off = nbytes == 0 ? 0 : rand() % nbytes;
        int what = rand() % 100;
        if (what < 80 && nbytes + piece <= ROOM_NBYTES) {
            memcpy(expected + nbytes, bytes + off, (size_t)piece % (ROOM_NBYTES - (size_t)off));
            piece %= ROOM_NBYTES - off;
            assert_int_equal(npyx_sink_append(sink, bytes + off, (size_t)piece, &error), NPYX_OK);
            nbytes += piece;
        } else if (what < 90) {
            piece = piece < nbytes - off ? piece : nbytes - off;
            memcpy(expected + off, bytes + round, (size_t)piece);
            assert_int_equal(npyx_sink_rewrite(sink, off, bytes + round, (size_t)piece, &error), NPYX_OK);
        } else if (what < 95) {
            assert_int_equal(npyx_sink_cut(sink, off, &error), NPYX_OK);
            nbytes = off;
        } else {
            assert_int_equal(npyx_sink_flush(sink, &error), NPYX_OK);
        }
        assert_int_equal(sink->nbytes, nbytes);
        if (round % 50 == 0)
            assert_holds(sink, expected, nbytes);
    }
    assert_holds(sink, expected, nbytes);
    free(expected);
    free(bytes);
}

static void test_random_work_in_memory(void **state) {
    (void)state;
    unsigned seed = (unsigned)unit_seed();
    print_message("seed %u\n", seed);
    npyx_buffer buffer = {.host = &unit.host};
    npyx_sink *sink = NULL;
    npyx_buffer_append_text(&buffer, "before");
    assert_int_equal(npyx_sink_open_memory(&buffer, &sink, &error), NPYX_OK);
    work_on(sink, seed);
    assert_int_equal((int64_t)buffer.nbytes, sink->nbytes + 6);
    assert_memory_equal(buffer.bytes, "before", 6);
    npyx_sink_close(sink);
    npyx_buffer_clear(&buffer);
}

static void test_random_work_in_a_file(void **state) {
    (void)state;
    unsigned seed = (unsigned)unit_seed();
    print_message("seed %u\n", seed);
    int descriptor = temporary_file();
    npyx_sink *sink = NULL;
    assert_int_equal(npyx_sink_open_file(&unit.host, descriptor, 0, &sink, &error), NPYX_OK);
    work_on(sink, seed);
    assert_int_equal(npyx_sink_flush(sink, &error), NPYX_OK);
    assert_int_equal(lseek(descriptor, 0, SEEK_END), sink->nbytes);
    npyx_sink_close(sink);
    close(descriptor);
}

static void test_ranges_outside_are_refused(void **state) {
    (void)state;
    npyx_buffer buffer = {.host = &unit.host};
    npyx_sink *sink = NULL;
    uint8_t bytes[4] = {0};
    assert_int_equal(npyx_sink_open_memory(&buffer, &sink, &error), NPYX_OK);
    assert_int_equal(npyx_sink_append(sink, "abc", 3, &error), NPYX_OK);
    assert_int_equal(npyx_sink_read(sink, 1, bytes, 3, &error), NPYX_INVALID);
    assert_int_equal(npyx_sink_read(sink, -1, bytes, 1, &error), NPYX_INVALID);
    assert_int_equal(npyx_sink_rewrite(sink, 3, bytes, 1, &error), NPYX_INVALID);
    assert_int_equal(npyx_sink_cut(sink, 4, &error), NPYX_INVALID);
    assert_int_equal(npyx_sink_read(sink, 3, bytes, 0, &error), NPYX_OK);
    assert_memory_equal(buffer.bytes, "abc", 3);
    npyx_sink_close(sink);
    npyx_buffer_clear(&buffer);
}

static void test_the_limit_of_memory(void **state) {
    (void)state;
    npyx_buffer buffer = {.host = &unit.host, .limit_nbytes = 10};
    npyx_sink *sink = NULL;
    assert_int_equal(npyx_sink_open_memory(&buffer, &sink, &error), NPYX_OK);
    assert_int_equal(npyx_sink_append(sink, "12345678", 8, &error), NPYX_OK);
    assert_int_equal(npyx_sink_append(sink, "abc", 3, &error), NPYX_TOOBIG);
    assert_int_equal(sink->nbytes, 8);
    assert_int_equal(npyx_sink_append(sink, "ab", 2, &error), NPYX_OK);
    assert_memory_equal(buffer.bytes, "12345678ab", 10);
    npyx_sink_close(sink);
    npyx_buffer_clear(&buffer);
}

static void test_memory_runs_out(void **state) {
    (void)state;
    npyx_buffer buffer = {.host = &unit.host};
    npyx_sink *sink = NULL;
    unit.fail_after = 0;
    assert_int_equal(npyx_sink_open_memory(&buffer, &sink, &error), NPYX_NOMEM);
    assert_int_equal(npyx_sink_open_file(&unit.host, 0, 0, &sink, &error), NPYX_NOMEM);
    unit.fail_after = 1;
    assert_int_equal(npyx_sink_open_memory(&buffer, &sink, &error), NPYX_OK);
    assert_int_equal(npyx_sink_append(sink, "a", 1, &error), NPYX_NOMEM);
    assert_int_equal(sink->nbytes, 0);
    npyx_sink_close(sink);
}

/* What the file holds after the sink's length is written over, and gone in the end. */
static void test_a_file_that_is_longer(void **state) {
    (void)state;
    int descriptor = temporary_file();
    npyx_sink *sink = NULL;
    char found[8] = {0};
    assert_int_equal(write(descriptor, "0123456789", 10), 10);
    assert_int_equal(npyx_sink_open_file(&unit.host, descriptor, 4, &sink, &error), NPYX_OK);
    assert_int_equal(npyx_sink_append(sink, "ab", 2, &error), NPYX_OK);
    assert_int_equal(npyx_sink_read(sink, 2, found, 4, &error), NPYX_OK);
    assert_string_equal(found, "23ab");
    assert_int_equal(npyx_sink_cut(sink, 3, &error), NPYX_INVALID); /* those are not its own */
    assert_int_equal(npyx_sink_cut(sink, 4, &error), NPYX_OK);
    assert_int_equal(npyx_sink_append(sink, "xyz", 3, &error), NPYX_OK);
    assert_int_equal(npyx_sink_flush(sink, &error), NPYX_OK);
    assert_int_equal(pread(descriptor, found, sizeof found, 0), 7);
    assert_memory_equal(found, "0123xyz", 7);
    npyx_sink_close(sink);
    close(descriptor);
}

/* The disk is full: everything that came before is there, and what follows fits again once there is room. */
static void test_a_full_disk(void **state) {
    (void)state;
    struct rlimit old, small = {.rlim_cur = 1000000, .rlim_max = RLIM_INFINITY};
    static uint8_t bytes[3 * BUFFERED_NBYTES], found[sizeof bytes];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 1000);
    int descriptor = temporary_file();
    npyx_sink *sink = NULL;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    assert_int_equal(npyx_sink_open_file(&unit.host, descriptor, 0, &sink, &error), NPYX_OK);
    assert_int_equal(npyx_sink_append(sink, bytes, sizeof bytes, &error), NPYX_OK);
    assert_int_equal(npyx_sink_append(sink, "small", 5, &error), NPYX_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    npyx_status status = npyx_sink_append(sink, bytes, sizeof bytes, &error);
    int64_t nbytes = sink->nbytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(status, NPYX_IO);
    assert_int_equal(nbytes, sizeof bytes + 5);
    assert_non_null(strstr(error.message, "cannot be written"));
    assert_int_equal(npyx_sink_flush(sink, &error), NPYX_OK);
    assert_int_equal(lseek(descriptor, 0, SEEK_END), nbytes);
    assert_int_equal(npyx_sink_append(sink, "more", 4, &error), NPYX_OK);
    assert_int_equal(npyx_sink_read(sink, 0, found, sizeof found, &error), NPYX_OK);
    assert_memory_equal(found, bytes, sizeof bytes);
    assert_int_equal(npyx_sink_read(sink, sizeof bytes, found, 9, &error), NPYX_OK);
    assert_memory_equal(found, "smallmore", 9);
    npyx_sink_close(sink);
    close(descriptor);
}

static void test_long_writes_are_interrupted(void **state) {
    (void)state;
    enum { LONG_NBYTES = 20 << 20 };
    int descriptor = temporary_file();
    npyx_sink *sink = NULL;
    uint8_t *bytes = calloc(1, LONG_NBYTES);
    assert_non_null(bytes);
    assert_int_equal(npyx_sink_open_file(&unit.host, descriptor, 0, &sink, &error), NPYX_OK);
    unit.wants_interrupt = true;
    assert_int_equal(npyx_sink_append(sink, bytes, LONG_NBYTES, &error), NPYX_INTERRUPTED);
    assert_int_equal(sink->nbytes, 0);
    unit.wants_interrupt = false;
    assert_int_equal(npyx_sink_flush(sink, &error), NPYX_OK);
    assert_int_equal(lseek(descriptor, 0, SEEK_END), 0);
    free(bytes);
    npyx_sink_close(sink);
    close(descriptor);
}

static void test_a_sink_as_a_source(void **state) {
    (void)state;
    npyx_buffer buffer = {.host = &unit.host};
    npyx_sink *sink = NULL;
    npyx_source *source = NULL;
    char found[4] = {0};
    size_t nbytes = 0;
    assert_int_equal(npyx_sink_open_memory(&buffer, &sink, &error), NPYX_OK);
    assert_int_equal(npyx_sink_append(sink, "abcdef", 6, &error), NPYX_OK);
    assert_int_equal(npyx_source_open_sink(sink, &source, &error), NPYX_OK);
    assert_int_equal(source->nbytes, 6);
    assert_int_equal(npyx_source_read(source, 3, found, 4, &nbytes, &error), NPYX_OK);
    assert_int_equal(nbytes, 3);
    assert_memory_equal(found, "def", 3);
    npyx_source_close(source);
    npyx_sink_close(sink);
    npyx_buffer_clear(&buffer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random_work_in_memory, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_random_work_in_a_file, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_ranges_outside_are_refused, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_the_limit_of_memory, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_memory_runs_out, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_a_file_that_is_longer, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_a_full_disk, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_long_writes_are_interrupted, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_a_sink_as_a_source, open_host, check_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
