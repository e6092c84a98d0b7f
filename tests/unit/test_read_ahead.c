/* Two threads over one file: every block in order, with its work done, whoever did it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "io/read_ahead.h"
#include "unit_host.h"

enum { NWORDS = 1 << 18, BLOCK_NBYTES = 24000, OFF = 1001 };

static unit_host unit;
static npyx_error error;
static char path[64];
static uint8_t *contents; /* of the file: OFF bytes, then NWORDS words */
static npyx_source *source;

static int open_source(void **state) {
    (void)state;
    size_t nbytes = OFF + NWORDS * sizeof(uint32_t);
    unit_host_init(&unit);
    contents = malloc(nbytes);
    strcpy(path, "/tmp/npyx-read-ahead-XXXXXX");
    int descriptor = mkstemp(path);
    if (contents == NULL || descriptor < 0)
        return -1;
    for (size_t i = 0; i < nbytes; i++)
        contents[i] = (uint8_t)(i * 2654435761u >> 13);
    bool is_written = write(descriptor, contents, nbytes) == (ssize_t)nbytes;
    close(descriptor);
    return is_written && npyx_source_open_file(&unit.host, path, &source, NULL, &error) == NPYX_OK ? 0 : -1;
}

static int close_source(void **state) {
    (void)state;
    npyx_source_close(source);
    unlink(path);
    free(contents);
    return unit.nblocks == 0 ? 0 : -1;
}

typedef struct slowness {
    int delay_ns; /* a block's work lasts so long */
} slowness;

static npyx_read_stretch stretch_of(int64_t off, int64_t nbytes) {
    return (npyx_read_stretch){.off = off, .nbytes = nbytes, .itemsize = 1, .block_nbytes = BLOCK_NBYTES};
}

/* The sum of the block's bytes. */
static void sum(const void *ctx, int64_t first, const uint8_t *bytes, size_t nbytes, void *result) {
    uint64_t total = 0;
    const slowness *c = ctx;
    (void)first;
    for (size_t i = 0; i < nbytes; i++)
        total += bytes[i];
    nanosleep(&(struct timespec){.tv_nsec = c->delay_ns}, NULL);
    memcpy(result, &total, sizeof total);
}

static void assert_gives_all(npyx_source *from, int work_ns, int caller_ns) {
    slowness c = {work_ns};
    npyx_work work = {.run = sum, .ctx = &c, .result_nbytes = sizeof(uint64_t)};
    int64_t nbytes = NWORDS * (int64_t)sizeof(uint32_t);
    npyx_read_ahead *ahead = npyx_read_ahead_start(from, stretch_of(OFF, nbytes), work);
    if (ahead == NULL) /* one processor */
        return;
    int64_t before = unit.host.counters.bytes_read;
    for (int64_t done = 0; done < nbytes;) {
        npyx_read_block block;
        assert_int_equal(npyx_read_ahead_next(ahead, &block, &error), NPYX_OK);
        assert_int_equal(block.nbytes, nbytes - done < BLOCK_NBYTES ? nbytes - done : BLOCK_NBYTES);
        assert_memory_equal(block.bytes, contents + OFF + done, block.nbytes);
        uint64_t want, got;
        sum(&(slowness){0}, 0, contents + OFF + done, block.nbytes, &want);
        memcpy(&got, block.result, sizeof got);
        assert_true(got == want);
        nanosleep(&(struct timespec){.tv_nsec = caller_ns}, NULL);
        done += (int64_t)block.nbytes;
    }
    if (from == source)
        assert_int_equal(unit.host.counters.bytes_read - before, nbytes);
    npyx_read_ahead_stop(ahead);
}

static void test_all_blocks_in_order(void **state) {
    (void)state;
    for (int turn = 0; turn < 20; turn++)
        assert_gives_all(source, 0, 0);
}

static void test_a_slow_caller_and_slow_work(void **state) {
    (void)state;
    assert_gives_all(source, 0, 300000);
    assert_gives_all(source, 300000, 0);
    assert_gives_all(source, 100000, 100000);
}

/* Bytes in memory, and a range whose CRC-32 has to be passed in order. */
static void test_sources_that_only_the_caller_reads(void **state) {
    (void)state;
    size_t nbytes = OFF + NWORDS * sizeof(uint32_t);
    npyx_source *memory, *range;
    uint32_t crc = (uint32_t)crc32_z(0, contents, nbytes);
    assert_int_equal(npyx_source_open_memory(&unit.host, contents, nbytes, &memory, &error), NPYX_OK);
    assert_int_equal(npyx_source_open_range(source, 0, (int64_t)nbytes, true, crc, &range, &error), NPYX_OK);
    for (int turn = 0; turn < 10; turn++) {
        assert_gives_all(memory, 0, 0);
        assert_gives_all(range, 0, 0);
    }
    assert_gives_all(memory, 300000, 0);
    assert_gives_all(range, 0, 300000);
    npyx_source_close(memory);
    npyx_source_close(range);
}

static void test_an_error_of_the_source(void **state) {
    (void)state;
    slowness c = {0};
    npyx_work work = {.run = sum, .ctx = &c, .result_nbytes = sizeof(uint64_t)};
    npyx_source *range;
    assert_int_equal(npyx_source_open_range(source, 0, 100000, true, 0, &range, &error), NPYX_OK);
    npyx_read_ahead *ahead = npyx_read_ahead_start(range, stretch_of(0, 100000), work);
    npyx_read_block block;
    for (int i = 0; i < 4 && ahead != NULL; i++)
        assert_int_equal(npyx_read_ahead_next(ahead, &block, &error), NPYX_OK);
    if (ahead != NULL) {
        assert_int_equal(npyx_read_ahead_next(ahead, &block, &error), NPYX_CORRUPT);
        assert_non_null(strstr(error.message, "CRC-32"));
    }
    npyx_read_ahead_stop(ahead);
    npyx_source_close(range);
}

static void test_stopping_at_any_block(void **state) {
    (void)state;
    slowness c = {0};
    npyx_work work = {.run = sum, .ctx = &c, .result_nbytes = sizeof(uint64_t)};
    for (int ntaken = 0; ntaken < 30; ntaken++) {
        npyx_read_ahead *ahead = npyx_read_ahead_start(source, stretch_of(OFF, 1 << 20), work);
        npyx_read_block block;
        for (int i = 0; i < ntaken && ahead != NULL; i++)
            assert_int_equal(npyx_read_ahead_next(ahead, &block, &error), NPYX_OK);
        npyx_read_ahead_stop(ahead);
    }
    npyx_read_ahead_stop(NULL);
}

/* What a thread could not read is an error of the caller's, with its place. */
static void test_a_file_cut_short(void **state) {
    (void)state;
    slowness c = {0};
    npyx_work work = {.run = sum, .ctx = &c, .result_nbytes = sizeof(uint64_t)};
    assert_int_equal(truncate(path, OFF + 5 * BLOCK_NBYTES + 7), 0);
    npyx_read_ahead *ahead = npyx_read_ahead_start(source, stretch_of(OFF, 1 << 20), work);
    npyx_read_block block;
    for (int i = 0; i < 5 && ahead != NULL; i++)
        assert_int_equal(npyx_read_ahead_next(ahead, &block, &error), NPYX_OK);
    if (ahead != NULL) {
        assert_int_equal(npyx_read_ahead_next(ahead, &block, &error), NPYX_IO);
        assert_non_null(strstr(error.message, "the file changed while it was read"));
    }
    npyx_read_ahead_stop(ahead);
}

static void test_without_memory_there_is_none(void **state) {
    (void)state;
    slowness c = {0};
    npyx_work work = {.run = sum, .ctx = &c, .result_nbytes = sizeof(uint64_t)};
    for (long fail_after = 0; fail_after < 2; fail_after++) {
        unit.fail_after = fail_after;
        assert_null(npyx_read_ahead_start(source, stretch_of(OFF, 1 << 20), work));
    }
    unit.fail_after = -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_blocks_in_order, open_source, close_source),
        cmocka_unit_test_setup_teardown(test_a_slow_caller_and_slow_work, open_source, close_source),
        cmocka_unit_test_setup_teardown(test_sources_that_only_the_caller_reads, open_source, close_source),
        cmocka_unit_test_setup_teardown(test_an_error_of_the_source, open_source, close_source),
        cmocka_unit_test_setup_teardown(test_stopping_at_any_block, open_source, close_source),
        cmocka_unit_test_setup_teardown(test_a_file_cut_short, open_source, close_source),
        cmocka_unit_test_setup_teardown(test_without_memory_there_is_none, open_source, close_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
