/* A gzip file as a source: the bytes that zlib makes of it, at any place, or an error that says where. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "io/source.h"
#include "rounds.h"
#include "unit_host.h"

enum {
    PLAIN_NBYTES = 3 << 20,
    FILE_NBYTES = 8 << 20,
    MAX_READ_NBYTES = 300000,
    SPAN = NPYX_CHECKPOINT_MIN_SPAN_NBYTES,
    GZIP_WINDOW_BITS = 31
};

typedef enum contents { NOISE, TEXT, ZEROS, MIXED, NCONTENTS } contents;

/* What a member's header has. */
enum { HAS_TEXT = 1, HAS_CRC = 2, HAS_EXTRA = 4, HAS_NAME = 8, HAS_COMMENT = 16, ALL_HEADERS = 31 };

static unit_host unit;
static npyx_error error;
static uint8_t *plain; /* what the file at hand is to inflate to */
static int64_t plain_nbytes;
static uint8_t *file;
static size_t file_nbytes;
static uint8_t *got; /* room for any read */
static long npolls_left;

static int64_t random_below(int64_t end) {
    return end <= 0 ? 0 : (int64_t)(unit_random() % (uint64_t)end);
}

static int open_all(void **state) {
    (void)state;
    unit_start_random();
    unit_host_init(&unit);
    plain = malloc(PLAIN_NBYTES);
    file = malloc(FILE_NBYTES);
    got = malloc(PLAIN_NBYTES);
    file_nbytes = 0;
    plain_nbytes = 0;
    return plain != NULL && file != NULL && got != NULL ? 0 : -1;
}

static int close_all(void **state) {
    (void)state;
    free(plain);
    free(file);
    free(got);
    return unit.nblocks == 0 && unit.host.ncheckpoints == 0 && unit.host.checkpoints == NULL ? 0 : -1;
}

static void fill_plain(contents kind) {
    for (size_t i = 0; i < PLAIN_NBYTES; i++) {
        contents here = kind == MIXED ? (contents)(i / 700000 % MIXED) : kind;
        plain[i] = here == NOISE  ? (uint8_t)(unit_random() >> 11)
                   : here == TEXT ? (uint8_t)('a' + unit_random() % 9 * (unit_random() % 3 == 0))
                                  : 0;
    }
}

/* ---- files, made by zlib ---- */

static void begin_file(void) {
    file_nbytes = 0;
    plain_nbytes = 0;
}

static void append(const void *bytes, size_t nbytes) {
    assert_true(nbytes <= FILE_NBYTES - file_nbytes);
    memcpy(file + file_nbytes, bytes, nbytes);
    file_nbytes += nbytes;
}

static void set_header(z_stream *z, gz_header *header, int flags) {
    static char name[] = "train-000000.tar", comment[] = "of samples";
    static uint8_t extra[300];
    *header = (gz_header){.text = (flags & HAS_TEXT) != 0,
                          .time = 1234567,
                          .os = 3,
                          .extra = (flags & HAS_EXTRA) != 0 ? extra : NULL,
                          .extra_len = (uInt)random_below(sizeof extra),
                          .name = (flags & HAS_NAME) != 0 ? (Bytef *)name : NULL,
                          .comment = (flags & HAS_COMMENT) != 0 ? (Bytef *)comment : NULL,
                          .hcrc = (flags & HAS_CRC) != 0};
    assert_int_equal(deflateSetHeader(z, header), Z_OK);
}

/* Puts one more member of the next nbytes after the file. */
static void add_member(size_t nbytes, int level, int memory, int flags) {
    z_stream z = {0};
    gz_header header;
    assert_true((int64_t)nbytes <= PLAIN_NBYTES - plain_nbytes);
    assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, GZIP_WINDOW_BITS, memory, Z_DEFAULT_STRATEGY), Z_OK);
    if (flags != 0)
        set_header(&z, &header, flags);
    z.next_in = plain + plain_nbytes;
    z.avail_in = (uInt)nbytes;
    z.next_out = file + file_nbytes;
    z.avail_out = (uInt)(FILE_NBYTES - file_nbytes);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    file_nbytes += z.total_out;
    plain_nbytes += (int64_t)nbytes;
    deflateEnd(&z);
}

static void pad(size_t nbytes) {
    memset(file + file_nbytes, 0, nbytes);
    file_nbytes += nbytes;
}

/* Members of up to most_nbytes each, of nbytes together: stored, and by either of zlib's ways to compress.
 * Levels above 4 only search longer for the same. */
static void make_file(size_t nbytes, size_t most_nbytes, bool has_padding) {
    begin_file();
    do {
        size_t left_nbytes = nbytes - (size_t)plain_nbytes;
        size_t some_nbytes = most_nbytes - (size_t)random_below((int64_t)most_nbytes / 2);
        add_member(some_nbytes < left_nbytes ? some_nbytes : left_nbytes, (int)random_below(5),
                   1 + (int)random_below(9), (int)random_below(ALL_HEADERS + 1));
        if (has_padding && unit_random() % 4 == 0)
            pad((size_t)random_below(20000));
    } while (plain_nbytes < (int64_t)nbytes);
}

/* zlib's own word on the file, and how it says it: Z_OK when all of it is members. */
static int inflate_by_zlib(uint8_t *bytes, int64_t *nbytes) {
    z_stream z = {.next_in = file, .avail_in = (uInt)file_nbytes};
    int code = inflateInit2(&z, GZIP_WINDOW_BITS);
    assert_int_equal(code, Z_OK);
    z.next_out = bytes;
    z.avail_out = PLAIN_NBYTES;
    while ((code = inflate(&z, Z_FINISH)) == Z_STREAM_END && z.avail_in > 0) {
        uInt left_nbytes = z.avail_out;
        assert_int_equal(inflateReset(&z), Z_OK);
        z.avail_out = left_nbytes;
    }
    *nbytes = PLAIN_NBYTES - z.avail_out;
    inflateEnd(&z);
    return code == Z_STREAM_END ? Z_OK : code;
}

/* ---- reads ---- */

static npyx_source *open_file(void) {
    npyx_source *compressed = NULL, *source = NULL;
    assert_int_equal(npyx_source_open_memory(&unit.host, file, file_nbytes, &compressed, &error), NPYX_OK);
    assert_int_equal(npyx_source_open_gzip(compressed, false, &source, &error), NPYX_OK);
    return source;
}

static npyx_status read_at(npyx_source *source, int64_t off, int64_t nbytes, int64_t *read_nbytes) {
    size_t n = 0;
    memset(got, 0xA5, (size_t)nbytes);
    npyx_status status = npyx_source_read(source, off, got, (size_t)nbytes, &n, &error);
    *read_nbytes = (int64_t)n;
    return status;
}

/* Reads anywhere, beyond the end as well. */
static void assert_reads(npyx_source *source, int64_t off, int64_t nbytes) {
    int64_t left_nbytes = off > plain_nbytes ? 0 : plain_nbytes - off, read_nbytes = 0;
    if (read_at(source, off, nbytes, &read_nbytes) != NPYX_OK)
        fail_msg("%s (reading %lld bytes at %lld)", error.message, (long long)nbytes, (long long)off);
    assert_int_equal(read_nbytes, nbytes < left_nbytes ? nbytes : left_nbytes);
    assert_memory_equal(got, plain + (left_nbytes == 0 ? 0 : off), (size_t)read_nbytes);
    if (read_nbytes < nbytes)
        assert_false(source->is_open_ended);
    assert_true(source->nbytes == (source->is_open_ended ? INT64_MAX : plain_nbytes));
}

/* Somewhere: near the last place, anywhere, at the start, at the end. */
static void pick(int64_t end, int64_t *off, int64_t *nbytes) {
    uint64_t kind = unit_random() % 8;
    int64_t most = unit_random() % 4 == 0 ? MAX_READ_NBYTES : 1000;
    if (kind < 2)
        *off += random_below(200000) - 100000;
    else
        *off = kind == 2 ? 0 : kind == 3 ? end + 100 - random_below(5000) : random_below(end);
    *off = *off < 0 ? 0 : *off;
    *nbytes = random_below(most + 1);
}

static void assert_reads_anywhere(int nreads) {
    npyx_source *source = open_file();
    int64_t off = 0, nbytes = 0;
    for (int i = 0; i < nreads; i++) {
        pick(i < nreads / 2 ? plain_nbytes / 2 : plain_nbytes, &off, &nbytes);
        assert_reads(source, off, nbytes);
        off += nbytes;
        if (unit_random() % 16 == 0) {
            npyx_source_close(source);
            source = open_file();
        }
    }
    assert_int_equal(npyx_source_drain(source, &error), NPYX_OK);
    assert_int_equal(source->nbytes, plain_nbytes);
    assert_false(source->is_open_ended);
    assert_int_equal(npyx_source_drain(source, &error), NPYX_OK);
    assert_reads(source, 0, MAX_READ_NBYTES);
    npyx_source_close(source);
}

static void test_any_order_of_reads(void **state) {
    (void)state;
    static const size_t mosts[] = {PLAIN_NBYTES, 1000000, 65280, 3000};
    const uint64_t first = unit_seed(); /* all kinds, and all of mosts */
    for (int kind = 0; kind < NCONTENTS; kind++) {
        fill_plain((contents)kind);
        for (size_t i = 0; i < sizeof mosts / sizeof mosts[0]; i++) {
            if (!unit_takes(kind + (int)i, first))
                continue;
            make_file((size_t)PLAIN_NBYTES / (size_t)(1 + unit_random() % 2), mosts[i],
                      (kind / 2 + (int)i) % 2 == 1);
            assert_reads_anywhere(unit_rounds(40));
        }
    }
}

static void test_sizes(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 32767, 32768, SPAN - 1, SPAN, SPAN + 1, 2 * SPAN};
    fill_plain(MIXED);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int nbefore = 0; nbefore < 3; nbefore++) {
            begin_file();
            for (int k = 0; k < nbefore; k++)
                add_member((size_t)random_below(3) * 10000, 4, 8, 0);
            add_member(sizes[i], 4, 1, 0);
            assert_reads_anywhere(unit_rounds(10));
        }
    }
}

/* The length is known after the end was reached. */
static void test_the_end(void **state) {
    (void)state;
    fill_plain(TEXT);
    make_file(5000, 3000, false);
    npyx_source *source = open_file();
    assert_true(source->is_open_ended && source->nbytes == INT64_MAX && source->is_forward);
    assert_reads(source, 0, 4000);
    assert_reads(source, 4000, 1000);
    assert_true(source->is_open_ended);
    assert_reads(source, 5000, 1);
    assert_false(source->is_open_ended);
    assert_reads(source, 4999, 100);
    npyx_source_close(source);
    source = open_file();
    assert_reads(source, (int64_t)1 << 40, 10);
    assert_int_equal(source->nbytes, 5000);
    assert_int_equal(npyx_source_read_exactly(source, 4990, got, 11, &error), NPYX_CORRUPT);
    assert_string_equal(error.message, "data is truncated (11 bytes wanted at byte 4990 of 5000)");
    npyx_source_close(source);
}

static void test_every_header(void **state) {
    (void)state;
    fill_plain(TEXT);
    for (int flags = 0; flags <= ALL_HEADERS; flags++) {
        int64_t nbytes = 0;
        begin_file();
        add_member(1000, 6, 8, flags);
        add_member(70000, 1, 8, ALL_HEADERS - flags);
        assert_int_equal(inflate_by_zlib(got, &nbytes), Z_OK);
        assert_int_equal(nbytes, plain_nbytes);
        assert_reads_anywhere(5);
    }
}

/* A name of megabytes is passed over in the memory that the input takes. */
static void test_a_long_name(void **state) {
    (void)state;
    static const uint8_t head[] = {0x1F, 0x8B, 8, HAS_NAME | HAS_COMMENT, 0, 0, 0, 0, 0, 3};
    fill_plain(TEXT);
    begin_file();
    add_member(5000, 6, 8, 0);
    size_t nbytes = file_nbytes;
    uint8_t *member = malloc(nbytes);
    memcpy(member, file, nbytes);
    file_nbytes = 0;
    append(head, sizeof head);
    memset(file + file_nbytes, 'n', 5 << 20);
    file_nbytes += 5 << 20;
    append("", 1);
    append("c", 2);
    append(member + 10, nbytes - 10);
    free(member);
    assert_reads_anywhere(3);
    npyx_source *source = open_file();
    unit.wants_interrupt = true;
    assert_int_equal(npyx_source_drain(source, &error), NPYX_INTERRUPTED);
    unit.wants_interrupt = false;
    assert_int_equal(npyx_source_drain(source, &error), NPYX_OK);
    assert_true(unit.nblocks < 10);
    npyx_source_close(source);
}

/* ---- cost ---- */

static void assert_lookups_are_cheap(npyx_source *source, int64_t nbytes, int64_t most_nbytes) {
    for (int i = 0; i < 200; i++) {
        int64_t before = unit.host.counters.bytes_inflated, read_nbytes = 0;
        assert_int_equal(read_at(source, random_below(nbytes - 100), 100, &read_nbytes), NPYX_OK);
        assert_true(unit.host.counters.bytes_inflated - before <= most_nbytes);
    }
}

/* What a read costs after a pass through it all, of one member and of those of bgzip. */
static void test_a_lookup_inflates_little(void **state) {
    (void)state;
    static const size_t mosts[] = {PLAIN_NBYTES, 65280};
    fill_plain(TEXT);
    for (int i = 0; i < 2; i++) {
        begin_file();
        while (plain_nbytes < PLAIN_NBYTES) {
            int64_t left_nbytes = PLAIN_NBYTES - plain_nbytes;
            add_member(left_nbytes < (int64_t)mosts[i] ? (size_t)left_nbytes : mosts[i], 1, 1, 0);
        }
        npyx_source *source = open_file();
        int64_t before = unit.host.counters.bytes_inflated;
        assert_int_equal(npyx_source_drain(source, &error), NPYX_OK);
        assert_int_equal(unit.host.counters.bytes_inflated - before, PLAIN_NBYTES);
        assert_true(unit.host.ncheckpoints >= PLAIN_NBYTES / (SPAN + 65280) &&
                    unit.host.ncheckpoints <= PLAIN_NBYTES / SPAN);
        assert_lookups_are_cheap(source, PLAIN_NBYTES, SPAN + 65536 + 16384 + 100);
        npyx_source_close(source);
    }
}

static bool stop_later(void *ctx) {
    (void)ctx;
    return npolls_left-- <= 0;
}

/* A member that is a thousandth of what it inflates to: checkpoints become rarer, nothing else grows. */
static void test_a_bomb(void **state) {
    (void)state;
    enum { NPIECES = 100 };
    uint8_t *zeros = calloc(1, 1 << 20);
    z_stream z = {.next_out = file, .avail_out = FILE_NBYTES};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, GZIP_WINDOW_BITS, 1, Z_DEFAULT_STRATEGY), Z_OK);
    for (int i = 0; i < NPIECES; i++) {
        z.next_in = zeros;
        z.avail_in = 1 << 20;
        assert_int_equal(deflate(&z, i < NPIECES - 1 ? Z_BLOCK : Z_FINISH),
                         i < NPIECES - 1 ? Z_OK : Z_STREAM_END);
    }
    file_nbytes = z.total_out;
    deflateEnd(&z);
    free(zeros);
    npyx_source *source = open_file();
    unit.host.interrupted = stop_later;
    npolls_left = 50;
    assert_int_equal(npyx_source_drain(source, &error), NPYX_INTERRUPTED);
    npolls_left = LONG_MAX;
    assert_int_equal(npyx_source_drain(source, &error), NPYX_OK);
    assert_int_equal(source->nbytes, (int64_t)NPIECES << 20);
    assert_true(unit.host.ncheckpoints >= 50 && unit.host.ncheckpoints <= NPYX_CHECKPOINTS_PER_TABLE);
    assert_lookups_are_cheap(source, source->nbytes, 3 << 20);
    npyx_source_close(source);
}

/* Members of nothing, between two of something. */
static void test_empty_members(void **state) {
    (void)state;
    fill_plain(TEXT);
    begin_file();
    add_member(1000, 6, 8, 0);
    size_t before_nbytes = file_nbytes;
    add_member(0, 6, 8, 0);
    size_t empty_nbytes = file_nbytes - before_nbytes;
    while (file_nbytes < FILE_NBYTES - 2000)
        append(file + before_nbytes, empty_nbytes);
    add_member(1000, 6, 8, 0);
    npyx_source *source = open_file();
    unit.host.interrupted = stop_later;
    npolls_left = 10000;
    assert_int_equal(npyx_source_drain(source, &error), NPYX_INTERRUPTED);
    npolls_left = LONG_MAX;
    assert_int_equal(npyx_source_drain(source, &error), NPYX_OK);
    assert_reads(source, 900, 200);
    assert_true(unit.nblocks < 10);
    npyx_source_close(source);
}

/* ---- defects ---- */

/* Reads that stay before the fault, then beyond it: the error, again and again. */
static void assert_ends_with(int64_t sound_nbytes, npyx_status status, const char *kind, int64_t off,
                             const char *message) {
    npyx_source *source = open_file();
    int64_t read_nbytes = 0;
    for (int turn = 0; turn < 3; turn++) {
        assert_int_equal(read_at(source, 0, sound_nbytes, &read_nbytes), NPYX_OK);
        assert_int_equal(read_nbytes, sound_nbytes);
        assert_memory_equal(got, plain, (size_t)sound_nbytes);
        error = (npyx_error){0};
        assert_int_equal(read_at(source, sound_nbytes, 1, &read_nbytes), status);
        assert_string_equal(error.message, message);
        assert_string_equal(npyx_error_kind_name(&error), kind);
        assert_int_equal(error.off, off);
        assert_int_equal(npyx_source_drain(source, &error), status);
        assert_string_equal(error.message, message);
        assert_true(source->is_open_ended);
    }
    npyx_source_close(source);
}

static void test_defects(void **state) {
    (void)state;
    fill_plain(TEXT);
    begin_file();
    assert_ends_with(0, NPYX_CORRUPT, "truncated", 0,
                     "the gzip data end early (at byte 0, 0 bytes inflated)");
    append("PK\003\004", 4);
    assert_ends_with(0, NPYX_CORRUPT, "crc", 0,
                     "the gzip data are damaged (incorrect header check, in the header at byte 0)");
    begin_file();
    add_member(0, 6, 8, 0);
    assert_int_equal(file_nbytes, 20);
    pad(7);
    append("tail", 4);
    assert_ends_with(0, NPYX_CORRUPT, "format", 27,
                     "something else follows the gzip data (at byte 27 of 31)");
    begin_file();
    add_member(300, 0, 8, 0);
    add_member(100, 0, 8, HAS_CRC);
    size_t second = 300 + 5 + 18;
    file[second + 10] ^= 1;
    assert_ends_with(300, NPYX_CORRUPT, "crc", (int64_t)second,
                     "the gzip data are damaged (header crc mismatch, in the header at byte 323)");
    file[second + 3] = 0x40;
    assert_ends_with(300, NPYX_CORRUPT, "crc", (int64_t)second,
                     "the gzip data are damaged (unknown header flags set, in the header at byte 323)");
    file[second + 2] = 7;
    assert_ends_with(300, NPYX_CORRUPT, "crc", (int64_t)second,
                     "the gzip data are damaged (unknown compression method, in the header at byte 323)");
    file[second + 2] = 8; /* sound, but cut short */
    file[second + 3] = 2;
    file_nbytes = second + 5;
    assert_ends_with(300, NPYX_CORRUPT, "truncated", (int64_t)second + 5,
                     "the gzip data end early (at byte 328, 300 bytes inflated)");
    file[second - 3]++;
    assert_ends_with(300, NPYX_CORRUPT, "crc", (int64_t)second - 4,
                     "the gzip data are damaged (300 bytes inflated, at byte 319 they say 556)");
    file[10 + 1] ^= 1; /* the length of the stored block */
    assert_ends_with(
        0, NPYX_CORRUPT, "crc", 15,
        "the gzip data are damaged (invalid stored block lengths before byte 15, 0 bytes inflated)");
}

/* All that is there, from both sides of the checkpoints, as inflating from the start would have it. */
static void assert_same_errors(void) {
    npyx_source *resuming = open_file();
    int64_t off = 0, nbytes = 0;
    for (int i = 0; i < 8; i++) {
        npyx_source *fresh = open_file();
        npyx_error of_fresh = {0}, of_resuming = {0};
        size_t fresh_nbytes = 0, resuming_nbytes = 0;
        pick(plain_nbytes, &off, &nbytes);
        uint8_t *want = malloc((size_t)nbytes + 1);
        npyx_status status = npyx_source_read(fresh, off, want, (size_t)nbytes, &fresh_nbytes, &of_fresh);
        assert_int_equal(npyx_source_read(resuming, off, got, (size_t)nbytes, &resuming_nbytes, &of_resuming),
                         status);
        assert_string_equal(of_fresh.message, of_resuming.message);
        assert_int_equal(of_fresh.off, of_resuming.off);
        if (status == NPYX_OK) {
            assert_int_equal(fresh_nbytes, resuming_nbytes);
            assert_memory_equal(got, want, fresh_nbytes);
        }
        assert_int_equal(npyx_source_drain(fresh, &of_fresh), npyx_source_drain(resuming, &of_resuming));
        assert_string_equal(of_fresh.message, of_resuming.message);
        free(want);
        npyx_source_close(fresh);
    }
    npyx_source_close(resuming);
}

static void test_damaged_files(void **state) {
    (void)state;
    fill_plain(MIXED);
    for (int i = 0; i < unit_rounds(12); i++) {
        make_file(PLAIN_NBYTES / 2, i % 2 == 0 ? PLAIN_NBYTES : 100000, i % 3 == 0);
        uint8_t *byte = &file[random_below((int64_t)file_nbytes)];
        *byte ^= (uint8_t)(1u << unit_random() % 8);
        assert_same_errors();
        file_nbytes = (size_t)random_below((int64_t)file_nbytes);
        assert_same_errors();
    }
}

/* A file of every kind of header, of all kinds of blocks, and some padding; ends[] are where its members end.
 */
static void make_small_file(size_t ends[3]) {
    begin_file();
    add_member(60, 6, 8, ALL_HEADERS & ~HAS_EXTRA);
    ends[0] = file_nbytes;
    add_member(30, 0, 8, HAS_NAME);
    pad(3);
    ends[1] = file_nbytes;
    add_member(500, 9, 8, 0);
    ends[2] = file_nbytes;
}

static void test_every_truncation(void **state) {
    (void)state;
    static const int64_t offs[] = {60, 90, 590};
    fill_plain(TEXT);
    size_t ends[3];
    make_small_file(ends);
    for (size_t cut = file_nbytes; cut-- > 0;) {
        file_nbytes = cut;
        bool is_between = cut == ends[0] || (cut >= ends[1] - 3 && cut <= ends[1]);
        npyx_source *source = open_file();
        npyx_status status = npyx_source_drain(source, &error);
        assert_int_equal(status, is_between ? NPYX_OK : NPYX_CORRUPT);
        if (is_between)
            assert_int_equal(source->nbytes, offs[cut == ends[0] ? 0 : 1]);
        else
            assert_string_equal(npyx_error_kind_name(&error), "truncated");
        for (int i = 0; i < 3 && cut >= ends[i]; i++)
            assert_int_equal(npyx_source_read_exactly(source, 0, got, (size_t)offs[i], &error), NPYX_OK);
        npyx_source_close(source);
    }
}

static void test_every_bit(void **state) {
    (void)state;
    fill_plain(TEXT);
    size_t ends[3];
    int nfaults = 0;
    make_small_file(ends);
    for (size_t bit = 0; bit < 8 * file_nbytes; bit++) {
        int64_t read_nbytes = 0;
        file[bit / 8] ^= (uint8_t)(1 << bit % 8);
        npyx_source *source = open_file();
        npyx_status status = read_at(source, 0, 1000, &read_nbytes);
        nfaults += status != NPYX_OK;
        if (status == NPYX_OK) {
            assert_int_equal(read_nbytes, plain_nbytes);
            assert_memory_equal(got, plain, (size_t)plain_nbytes);
        }
        assert_int_equal(npyx_source_drain(source, &error), status);
        npyx_source_close(source);
        file[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(nfaults > (int)(8 * file_nbytes) * 3 / 4);
}

/* ---- memory and interrupts ---- */

static void test_failing_allocations(void **state) {
    (void)state;
    static const int64_t offs[] = {0, 100, 300000, 2000000, 290000, 2900000, 5, 1500000, 2999000};
    int nfailed = 1;
    fill_plain(TEXT);
    make_file(PLAIN_NBYTES, 400000, false);
    for (long fail_after = 0; nfailed > 0 || fail_after < 40; fail_after++) {
        npyx_source *compressed = NULL, *source = NULL;
        int64_t read_nbytes = 0;
        assert_int_equal(npyx_source_open_memory(&unit.host, file, file_nbytes, &compressed, &error),
                         NPYX_OK);
        unit.fail_after = fail_after;
        npyx_status status = npyx_source_open_gzip(compressed, false, &source, &error);
        nfailed = status != NPYX_OK;
        for (size_t i = 0; status == NPYX_OK && i < sizeof offs / sizeof offs[0]; i++) {
            npyx_status of_read = read_at(source, offs[i], 5000, &read_nbytes);
            assert_true(of_read == NPYX_OK || of_read == NPYX_NOMEM);
            if (of_read == NPYX_OK)
                assert_memory_equal(got, plain + offs[i], 5000);
            nfailed += of_read != NPYX_OK;
        }
        unit.fail_after = -1;
        for (size_t i = 0; status == NPYX_OK && i < sizeof offs / sizeof offs[0]; i++)
            assert_reads(source, offs[i], 5000);
        if (status == NPYX_OK)
            npyx_source_close(source);
        assert_int_equal(unit.nblocks, 0);
        assert_true(fail_after < 1000);
    }
}

/* A stop at any look for one leaves a source that goes on rightly. */
static void test_interruption(void **state) {
    (void)state;
    fill_plain(MIXED);
    make_file(PLAIN_NBYTES, 100000, true);
    npyx_source *source = open_file();
    unit.host.interrupted = stop_later;
    for (long after = 0, off = 0; off < PLAIN_NBYTES; off += 100000, after = after * 3 / 2 + 1) {
        int64_t read_nbytes = 0;
        npolls_left = after;
        npyx_status status = read_at(source, off, 1000, &read_nbytes);
        assert_true(status == NPYX_OK || status == NPYX_INTERRUPTED);
        npolls_left = LONG_MAX;
        assert_reads(source, off, 1000);
    }
    npyx_source_close(source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_any_order_of_reads, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_sizes, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_the_end, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_every_header, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_a_long_name, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_a_lookup_inflates_little, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_a_bomb, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_empty_members, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_defects, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_damaged_files, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_every_truncation, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_every_bit, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_failing_allocations, open_all, close_all),
        cmocka_unit_test_setup_teardown(test_interruption, open_all, close_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
