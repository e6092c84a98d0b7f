/* Inflating at any place: the plain bytes, or the error that inflating from the start gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "io/inflate.h"
#include "io/source.h"
#include "rounds.h"
#include "unit_host.h"

enum { PLAIN_NBYTES = 3 << 20, MAX_READ_NBYTES = 300000, SPAN = NPYX_CHECKPOINT_MIN_SPAN_NBYTES };

typedef enum contents { NOISE, TEXT, ZEROS, MIXED, NCONTENTS } contents;

/* How a stream is made. */
typedef struct packing {
    const char *name;
    int level;
    int strategy;
    int memory; /* zlib's memLevel: the size of blocks */
    int flush;  /* after every 100,000 bytes */
} packing;

static const packing packings[] = {
    {"default", 5, Z_DEFAULT_STRATEGY, 8, Z_NO_FLUSH},
    {"stored", 0, Z_DEFAULT_STRATEGY, 8, Z_NO_FLUSH},
    {"fixed", 2, Z_FIXED, 8, Z_NO_FLUSH},
    {"huffman", 6, Z_HUFFMAN_ONLY, 9, Z_NO_FLUSH},
    {"runs", 1, Z_RLE, 8, Z_NO_FLUSH},
    {"small blocks", 1, Z_DEFAULT_STRATEGY, 1, Z_NO_FLUSH},
    {"flushed", 3, Z_DEFAULT_STRATEGY, 8, Z_SYNC_FLUSH},
    {"reset", 3, Z_DEFAULT_STRATEGY, 8, Z_FULL_FLUSH},
    {"partial", 2, Z_DEFAULT_STRATEGY, 8, Z_PARTIAL_FLUSH},
};
enum { NPACKINGS = sizeof packings / sizeof packings[0] };

static unit_host unit;
static npyx_error error;
static uint64_t sample; /* which cases are taken where few are asked */
static uint8_t *plain;
static uint8_t *got; /* room for any read */
static uint8_t *want;

static int64_t random_below(int64_t end) {
    return end <= 0 ? 0 : (int64_t)(unit_random() % (uint64_t)end);
}

static int open_all(void **state) {
    (void)state;
    unit_host_init(&unit);
    unit_seed_random(2463534242u);
    sample = unit_seed();
    printf("NPYEXT_SEED=%" PRIu64 "\n", sample);
    plain = malloc(PLAIN_NBYTES);
    got = malloc(MAX_READ_NBYTES);
    want = malloc(MAX_READ_NBYTES);
    return plain != NULL && got != NULL && want != NULL ? 0 : -1;
}

static int close_all(void **state) {
    (void)state;
    free(plain);
    free(got);
    free(want);
    return unit.nblocks == 0 && unit.host.ncheckpoints == 0 ? 0 : -1;
}

static void fill_plain(contents kind) {
    for (size_t i = 0; i < PLAIN_NBYTES; i++) {
        contents here = kind == MIXED ? (contents)(i / 700000 % MIXED) : kind;
        plain[i] = here == NOISE  ? (uint8_t)(unit_random() >> 11)
                   : here == TEXT ? (uint8_t)('a' + unit_random() % 9 * (unit_random() % 3 == 0))
                                  : 0;
    }
}

typedef struct stream {
    uint8_t *bytes;
    size_t nbytes;
    int64_t plain_nbytes;
    uint32_t crc;
} stream;

static stream pack(const packing *how, size_t nbytes) {
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, how->level, Z_DEFLATED, -15, how->memory, how->strategy), Z_OK);
    size_t room_nbytes = nbytes + nbytes / 4 + 4096;
    stream s = {malloc(room_nbytes), 0, (int64_t)nbytes, (uint32_t)crc32_z(0, plain, nbytes)};
    assert_non_null(s.bytes);
    z.next_out = s.bytes;
    z.avail_out = (uInt)room_nbytes;
    z.next_in = plain;
    for (size_t done = 0; done < nbytes; done += 100000) {
        z.avail_in = (uInt)(nbytes - done < 100000 ? nbytes - done : 100000);
        assert_int_equal(deflate(&z, how->flush), Z_OK);
    }
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    s.nbytes = z.total_out;
    deflateEnd(&z);
    return s;
}

/* What sources leave to the next one; where spare is NULL each has its own. */
static npyx_spare_inflater left, *spare;

static npyx_source *open_stream(const stream *s, npyx_checkpoints *checkpoints) {
    npyx_source *compressed = NULL, *source = NULL;
    assert_int_equal(npyx_source_open_memory(&unit.host, s->bytes, s->nbytes, &compressed, &error), NPYX_OK);
    assert_int_equal(npyx_source_open_inflate(compressed, s->plain_nbytes, spare, &source, &error), NPYX_OK);
    npyx_source_inflate_check(source, s->crc, checkpoints);
    return source;
}

static npyx_status read_at(npyx_source *source, int64_t off, int64_t nbytes) {
    memset(got, 0xA5, (size_t)nbytes);
    return npyx_source_read_exactly(source, off, got, (size_t)nbytes, &error);
}

static void assert_reads(npyx_source *source, int64_t off, int64_t nbytes) {
    if (read_at(source, off, nbytes) != NPYX_OK)
        fail_msg("%s (reading %lld bytes at %lld)", error.message, (long long)nbytes, (long long)off);
    assert_memory_equal(got, plain + off, (size_t)nbytes);
}

/* Somewhere: near the last place, anywhere, at the start, at the end. */
static void pick(int64_t end, int64_t *off, int64_t *nbytes) {
    uint64_t kind = unit_random() % 8;
    int64_t most = unit_random() % 4 == 0 ? MAX_READ_NBYTES : 1000;
    if (kind < 2)
        *off += random_below(200000) - 100000;
    else
        *off = kind == 2 ? 0 : kind == 3 ? end - random_below(5000) : random_below(end);
    *off = *off < 0 ? 0 : *off > end ? end : *off;
    *nbytes = random_below(most + 1);
    if (*nbytes > end - *off)
        *nbytes = end - *off;
}

/* Two sources over one table, each closed and opened now and then, in any order. */
static void assert_reads_anywhere(const stream *s, int nreads) {
    npyx_checkpoints *checkpoints = npyx_checkpoints_make(&unit.host, s->plain_nbytes);
    npyx_source *sources[2] = {open_stream(s, checkpoints), open_stream(s, checkpoints)};
    int64_t off = 0, nbytes = 0;
    for (int i = 0; i < nreads; i++) {
        npyx_source **source = &sources[unit_random() % 2];
        pick(s->plain_nbytes, &off, &nbytes);
        assert_reads(*source, off, nbytes);
        off += nbytes;
        if (unit_random() % 16 == 0) {
            npyx_source_close(*source);
            *source = open_stream(s, checkpoints);
        }
    }
    assert_int_equal(npyx_source_drain(sources[0], &error), NPYX_OK);
    npyx_source_close(sources[0]);
    npyx_source_close(sources[1]);
    npyx_checkpoints_free(checkpoints);
}

static void test_any_order_of_reads(void **state) {
    (void)state;
    for (int kind = 0; kind < NCONTENTS; kind++) {
        fill_plain((contents)kind);
        for (int i = 0; i < NPACKINGS; i++) {
            if (!unit_takes(kind + i, sample))
                continue;
            stream s = pack(&packings[i], PLAIN_NBYTES);
            assert_reads_anywhere(&s, unit_rounds(30));
            free(s.bytes);
        }
    }
}

/* Streams of all kinds, damaged and interrupted ones among them, one after the other with one inflater. */
static void test_one_inflater_for_many_streams(void **state) {
    (void)state;
    fill_plain(MIXED);
    spare = &left;
    void *first = NULL;
    long nblocks = 0;
    for (int i = 0; i < 3 * NPACKINGS; i++) {
        stream s = pack(&packings[i % NPACKINGS], (size_t)SPAN + 1000 * (size_t)i);
        if (i % 3 == 1)
            s.bytes[s.nbytes / 2] ^= 0x55;
        npyx_source *source = open_stream(&s, NULL);
        assert_null(left.inflater);
        unit.wants_interrupt = i % 3 == 2;
        npyx_status status = npyx_source_drain(source, &error);
        assert_true(i % 3 == 0 ? status == NPYX_OK : status != NPYX_OK);
        unit.wants_interrupt = false;
        npyx_source_close(source);
        assert_true(first == NULL || left.inflater == first);
        assert_true(i < 3 || unit.nblocks == nblocks);
        first = left.inflater;
        nblocks = unit.nblocks;
        free(s.bytes);
    }
    for (int i = 0; i < NPACKINGS; i++) {
        stream s = pack(&packings[i], 3 * SPAN);
        assert_reads_anywhere(&s, unit_rounds(30));
        free(s.bytes);
    }
    npyx_spare_inflater_clear(&unit.host, &left);
    spare = NULL;
}

static void test_sizes(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 32767, 32768, SPAN, SPAN + 1, 2 * SPAN - 1, 2 * SPAN + 40000};
    fill_plain(MIXED);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int k = 0; k < NPACKINGS; k++) {
            stream s = pack(&packings[k], sizes[i]);
            assert_reads_anywhere(&s, unit_rounds(20));
            free(s.bytes);
        }
    }
}

/* What a read costs after a pass through it all: a span, a block, what is not worth a jump, and itself. */
static void test_a_lookup_inflates_little(void **state) {
    (void)state;
    fill_plain(TEXT);
    stream s = pack(&packings[5], PLAIN_NBYTES);
    npyx_checkpoints *checkpoints = npyx_checkpoints_make(&unit.host, s.plain_nbytes);
    npyx_source *source = open_stream(&s, checkpoints);
    int64_t before = unit.host.counters.bytes_inflated;
    assert_int_equal(npyx_source_drain(source, &error), NPYX_OK);
    assert_int_equal(unit.host.counters.bytes_inflated - before, PLAIN_NBYTES);
    assert_true(unit.host.ncheckpoints >= PLAIN_NBYTES / SPAN - 2 &&
                unit.host.ncheckpoints <= PLAIN_NBYTES / SPAN);
    for (int i = 0; i < 200; i++) {
        int64_t off = random_below(PLAIN_NBYTES - 100);
        before = unit.host.counters.bytes_inflated;
        assert_reads(source, off, 100);
        assert_true(unit.host.counters.bytes_inflated - before < SPAN + 16384 + 8192 + 100);
    }
    npyx_source_close(source);
    npyx_checkpoints_free(checkpoints);
    free(s.bytes);
}

/* Reads everywhere, from both sides of the checkpoints, each as inflating from the start would have it. */
static void assert_same_errors(const stream *s) {
    npyx_checkpoints *checkpoints = npyx_checkpoints_make(&unit.host, s->plain_nbytes);
    npyx_source *resuming = open_stream(s, checkpoints);
    for (int i = 0; i < 8; i++) {
        npyx_source *fresh = open_stream(s, NULL);
        int64_t off = 0, nbytes = 0;
        if (i % 4 == 0) {
            npyx_error of_fresh = {0}, of_resuming = {0};
            assert_int_equal(npyx_source_drain(fresh, &of_fresh), npyx_source_drain(resuming, &of_resuming));
            assert_string_equal(of_fresh.message, of_resuming.message);
        } else {
            pick(s->plain_nbytes, &off, &nbytes);
            npyx_status status = read_at(fresh, off, nbytes);
            npyx_error of_fresh = error;
            memcpy(want, got, (size_t)nbytes); /* not the plain bytes, of a damaged stream */
            assert_int_equal(read_at(resuming, off, nbytes), status);
            if (status == NPYX_OK)
                assert_memory_equal(got, want, (size_t)nbytes);
            else
                assert_string_equal(error.message, of_fresh.message);
        }
        npyx_source_close(fresh);
    }
    npyx_source_close(resuming);
    npyx_checkpoints_free(checkpoints);
}

static void test_damaged_streams(void **state) {
    (void)state;
    fill_plain(MIXED);
    for (int i = 0; i < NPACKINGS; i++) {
        if (!unit_takes(i, sample))
            continue;
        stream s = pack(&packings[i], PLAIN_NBYTES);
        for (int turn = 0; turn < 3; turn++) {
            uint8_t *byte = &s.bytes[random_below((int64_t)s.nbytes)], whole = *byte;
            *byte ^= (uint8_t)(1u << unit_random() % 8);
            assert_same_errors(&s);
            *byte = whole;
        }
        stream cut = s;
        cut.nbytes = (size_t)random_below((int64_t)s.nbytes);
        assert_same_errors(&cut);
        free(s.bytes);
    }
}

static void assert_ends_with(const stream *s, const char *message) {
    npyx_checkpoints *checkpoints = npyx_checkpoints_make(&unit.host, s->plain_nbytes);
    npyx_source *source = open_stream(s, checkpoints);
    for (int turn = 0; turn < 3; turn++) {
        assert_reads(source, 0, 1000);
        assert_reads(source, SPAN + 100000, 1000);
        error = (npyx_error){0};
        assert_int_equal(read_at(source, s->plain_nbytes - 10, 10), NPYX_CORRUPT);
        assert_non_null(strstr(error.message, message));
        assert_int_equal(npyx_source_drain(source, &error), NPYX_CORRUPT);
        assert_non_null(strstr(error.message, message));
    }
    npyx_source_close(source);
    npyx_checkpoints_free(checkpoints);
    assert_same_errors(s);
}

static void test_claims_that_are_wrong(void **state) {
    (void)state;
    fill_plain(MIXED);
    for (int i = 0; i < NPACKINGS; i++) {
        if (!unit_takes(i, sample))
            continue;
        stream s = pack(&packings[i], PLAIN_NBYTES / 2), claim = s;
        claim.plain_nbytes += 100;
        assert_ends_with(&claim, "the entry inflates to 1572864 bytes, the directory says 1572964");
        claim.plain_nbytes = s.plain_nbytes - 1;
        assert_ends_with(&claim, "the entry inflates to more than the 1572863 bytes");
        claim = s;
        claim.crc ^= 1;
        assert_ends_with(&claim, "the entry's bytes are damaged (CRC-32 is");
        free(s.bytes);
    }
}

/* The reads of a source, each of which may lack memory and is right otherwise. */
static int read_some(npyx_source *source) {
    static const int64_t offs[] = {0, 100, 300000, 2000000, 290000, 2900000, 5, 1500000, 2999000};
    int nfailed = 0;
    for (size_t i = 0; i < sizeof offs / sizeof offs[0]; i++) {
        npyx_status status = read_at(source, offs[i], 5000);
        assert_true(status == NPYX_OK || status == NPYX_NOMEM);
        if (status == NPYX_OK)
            assert_memory_equal(got, plain + offs[i], 5000);
        nfailed += status != NPYX_OK;
    }
    return nfailed;
}

static void test_failing_allocations(void **state) {
    (void)state;
    fill_plain(TEXT);
    stream s = pack(&packings[0], PLAIN_NBYTES);
    for (long fail_after = 0; fail_after < 20; fail_after++) {
        npyx_checkpoints *checkpoints = npyx_checkpoints_make(&unit.host, s.plain_nbytes);
        npyx_source *source = open_stream(&s, checkpoints);
        unit.fail_after = fail_after;
        int nfailed = read_some(source);
        /* zlib's state and window, the input and what is skipped; checkpoints are no need */
        assert_int_equal(nfailed > 0, fail_after < 4);
        unit.fail_after = -1;
        assert_int_equal(read_some(source), 0);
        assert_int_equal(npyx_source_drain(source, &error), NPYX_OK);
        npyx_source_close(source);
        npyx_checkpoints_free(checkpoints);
        assert_int_equal(unit.nblocks, 0);
    }
    free(s.bytes);
}

/* A stop in the middle of a read leaves a source that goes on rightly. */
static void test_interruption(void **state) {
    (void)state;
    fill_plain(MIXED);
    stream s = pack(&packings[0], PLAIN_NBYTES);
    npyx_checkpoints *checkpoints = npyx_checkpoints_make(&unit.host, s.plain_nbytes);
    npyx_source *source = open_stream(&s, checkpoints);
    for (int64_t off = 0; off < PLAIN_NBYTES - 1000; off += 400000) {
        unit.wants_interrupt = true;
        assert_int_equal(read_at(source, off, 1000), NPYX_INTERRUPTED);
        unit.wants_interrupt = false;
        assert_reads(source, off, 1000);
    }
    npyx_source_close(source);
    npyx_checkpoints_free(checkpoints);
    free(s.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_any_order_of_reads, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_one_inflater_for_many_streams, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_sizes, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_a_lookup_inflates_little, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_damaged_streams, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_claims_that_are_wrong, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_failing_allocations, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_interruption, open_all, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
