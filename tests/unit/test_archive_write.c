/* Writers of .npz and .ten, read back by the readers of this codec: marks, refusals, faults at every point.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/names.h"
#include "format/archive_write.h"
#include "rounds.h"
#include "unit_host.h"

static unit_host unit;
static npyx_error error;
static npyx_arena arena;

static const npyx_zip_method stored = {.is_deflated = false};
static const npyx_zip_method deflated = {.is_deflated = true, .level = -1};

static const npyx_dtype int64 = {.type = NPYX_I8, .itemsize = 8};

static int open_host(void **state) {
    (void)state;
    unit_host_init(&unit);
    arena = (npyx_arena){.host = &unit.host};
    return 0;
}

static int check_host(void **state) {
    (void)state;
    npyx_arena_clear(&arena);
    return unit.nblocks == 0 ? 0 : -1;
}

static const npyx_dtype *dtype_of(const char *text) {
    const npyx_dtype *dtype = NULL;
    assert_int_equal(npyx_dtype_from_text(&arena, text, strlen(text), &dtype, &error), NPYX_OK);
    return dtype;
}

/* An archive in memory that is being written. */
typedef struct work {
    npyx_buffer bytes;
    npyx_sink *sink;
    npyx_archive_writer *writer;
} work;

static void begin(work *w, npyx_format format) {
    *w = (work){.bytes.host = &unit.host};
    assert_int_equal(npyx_sink_open_memory(&w->bytes, &w->sink, &error), NPYX_OK);
    assert_int_equal(npyx_archive_writer_open(w->sink, format, &w->writer, &error), NPYX_OK);
}

static void end(work *w) {
    npyx_archive_writer_close(w->writer);
    npyx_sink_close(w->sink);
    npyx_buffer_clear(&w->bytes);
}

/* n int64s that count from first. */
static npyx_status add(work *w, const char *name, int64_t first, int64_t n, npyx_zip_method method) {
    npyx_member member = {.name = name, .name_nbytes = strlen(name), .dtype = &int64, .ndim = 1, .shape = &n};
    npyx_status status = npyx_archive_writer_begin(w->writer, &member, method, &error);
    for (int64_t i = 0; i < n && status == NPYX_OK; i++) {
        uint8_t item[8];
        for (int byte = 0; byte < 8; byte++)
            item[byte] = (uint8_t)((uint64_t)(first + i) >> (8 * byte));
        status = npyx_archive_writer_append(w->writer, item, 1, &error);
    }
    return status == NPYX_OK ? npyx_archive_writer_end(w->writer, &error) : status;
}

/* Reads the archive: `name[first..]` of each array, counted and checked. */
static void assert_reads(work *w, const char *expected) {
    char found[2000] = "";
    npyx_source *source = NULL;
    npyx_archive *archive = NULL;
    npyx_entry entry;
    assert_int_equal(npyx_archive_writer_finish(w->writer, &error), NPYX_OK);
    assert_int_equal(npyx_source_open_memory(&unit.host, w->bytes.bytes, w->bytes.nbytes, &source, &error),
                     NPYX_OK);
    assert_int_equal(npyx_archive_open(source, NPYX_HINT_TEN, &archive, &error), NPYX_OK);
    for (int64_t i = 0; npyx_archive_entry(archive, i, &entry, &error) == NPYX_OK; i++) {
        npyx_array array;
        npyx_source *payload = NULL;
        size_t used = strlen(found);
        snprintf(found + used, sizeof found - used, "%s%.*s", used == 0 ? "" : " ", (int)entry.name_nbytes,
                 entry.name);
        npyx_array_init(&array, &unit.host);
        assert_int_equal(npyx_archive_describe(archive, i, &array, &error), NPYX_OK);
        assert_int_equal(npyx_archive_open_payload(archive, i, &payload, &error), NPYX_OK);
        uint8_t *items = malloc((size_t)array.nbytes + 1);
        assert_non_null(items);
        assert_int_equal(
            npyx_source_read_exactly(payload, array.data_off, items, (size_t)array.nbytes, &error), NPYX_OK);
        assert_int_equal(npyx_source_drain(payload, &error), NPYX_OK);
        if (array.nelem > 0) {
            uint64_t first = npyx_load_u64(items, false);
            for (int64_t k = 0; k < array.nelem; k++)
                assert_int_equal(npyx_load_u64(items + 8 * k, false), first + (uint64_t)k);
            used = strlen(found);
            snprintf(found + used, sizeof found - used, "=%d+%d", (int)first, (int)array.nelem);
        }
        free(items);
        npyx_source_close(payload);
        npyx_array_clear(&array);
    }
    npyx_archive_close(archive);
    assert_string_equal(found, expected);
}

static npyx_status mark(work *w, npyx_archive_mark *made) {
    return npyx_archive_writer_mark(w->writer, made, &error);
}

static void go_back(work *w, npyx_archive_mark *to) {
    assert_int_equal(npyx_archive_writer_return(w->writer, to, &error), NPYX_OK);
}

static void test_arrays_are_read_back(void **state) {
    (void)state;
    for (npyx_format format = NPYX_FORMAT_NPZ; format <= NPYX_FORMAT_TEN; format++) {
        work w;
        begin(&w, format);
        assert_reads(&w, "");
        assert_int_equal(w.bytes.nbytes, format == NPYX_FORMAT_NPZ ? 22 : 0);
        assert_int_equal(add(&w, "a", 5, 3, stored), NPYX_OK);
        assert_int_equal(add(&w, "b", 100, 70000, deflated), NPYX_OK);
        assert_reads(&w, "a=5+3 b=100+70000");
        assert_int_equal(add(&w, "none", 0, 0, deflated), NPYX_OK);
        assert_int_equal(add(&w, "c", 7, 1, stored), NPYX_OK);
        assert_reads(&w, "a=5+3 b=100+70000 none c=7+1");
        size_t nbytes = w.bytes.nbytes;
        assert_reads(&w, "a=5+3 b=100+70000 none c=7+1");
        assert_int_equal(w.bytes.nbytes, nbytes);
        end(&w);
    }
}

static void test_an_archive_is_continued(void **state) {
    (void)state;
    for (npyx_format format = NPYX_FORMAT_NPZ; format <= NPYX_FORMAT_TEN; format++) {
        work w, whole;
        begin(&w, format);
        begin(&whole, format);
        assert_reads(&w, "");
        const char *names[] = {"a", "b", "c"};
        for (int i = 0; i < 3; i++) {
            /* opened anew by another writer each time, it comes to the same bytes */
            assert_int_equal(add(&whole, names[i], i, 10, stored), NPYX_OK);
            npyx_archive_writer_close(w.writer);
            assert_int_equal(npyx_archive_writer_open(w.sink, format, &w.writer, &error), NPYX_OK);
            assert_int_equal(add(&w, names[i], i, 10, stored), NPYX_OK);
            if (format == NPYX_FORMAT_NPZ)
                assert_int_equal(add(&w, "a", 1, 1, stored), NPYX_INVALID);
            assert_int_equal(npyx_archive_writer_finish(w.writer, &error), NPYX_OK);
        }
        assert_reads(&whole, "a=0+10 b=1+10 c=2+10");
        assert_reads(&w, "a=0+10 b=1+10 c=2+10");
        assert_int_equal(w.bytes.nbytes, whole.bytes.nbytes);
        assert_memory_equal(w.bytes.bytes, whole.bytes.bytes, w.bytes.nbytes);
        end(&w);
        end(&whole);
    }
}

static void test_marks(void **state) {
    (void)state;
    for (npyx_format format = NPYX_FORMAT_NPZ; format <= NPYX_FORMAT_TEN; format++) {
        work w;
        npyx_archive_mark empty, one, same, two;
        begin(&w, format);
        assert_int_equal(mark(&w, &empty), NPYX_OK);
        assert_int_equal(add(&w, "a", 1, 1000, deflated), NPYX_OK);
        assert_int_equal(mark(&w, &one), NPYX_OK);
        assert_int_equal(mark(&w, &same), NPYX_OK);
        assert_int_equal(one.nbytes, same.nbytes);
        assert_int_equal(one.narrays, 1);
        go_back(&w, &same); /* nothing came after it */
        assert_int_equal(add(&w, "b", 2, 1000, stored), NPYX_OK);
        assert_int_equal(mark(&w, &two), NPYX_OK);
        /* an array in the middle of being written */
        npyx_member member = {.name = "c", .name_nbytes = 1, .dtype = dtype_of("<i8"), .ndim = 0};
        assert_int_equal(npyx_archive_writer_begin(w.writer, &member, stored, &error), NPYX_OK);
        assert_int_equal(npyx_archive_writer_finish(w.writer, &error), NPYX_INVALID);
        go_back(&w, &two);
        assert_reads(&w, "a=1+1000 b=2+1000");
        assert_int_equal(add(&w, "c", 3, 2, deflated), NPYX_OK);
        assert_reads(&w, "a=1+1000 b=2+1000 c=3+2");
        go_back(&w, &one);
        assert_reads(&w, "a=1+1000");
        assert_int_equal(add(&w, "b", 9, 2, stored), NPYX_OK);
        assert_reads(&w, "a=1+1000 b=9+2");
        go_back(&w, &empty);
        assert_reads(&w, "");
        assert_int_equal(add(&w, "a", 4, 2, stored), NPYX_OK);
        assert_reads(&w, "a=4+2");
        end(&w);
    }
}

/* Random adding, marking and returning against a list of names. */
static void test_random_marks(void **state) {
    (void)state;
    enum { NMARKS = 10, NSTEPS = 400 };
    unsigned seed = (unsigned)unit_seed();
    print_message("seed %u\n", seed);
    srand(seed);
    for (npyx_format format = NPYX_FORMAT_NPZ; format <= NPYX_FORMAT_TEN; format++) {
        work w;
        npyx_archive_mark marks[NMARKS];
        size_t lengths[NMARKS];
        int nmarks = 0, next = 0;
        char expected[2000] = "";
        begin(&w, format);
        for (int step = 0; step < NSTEPS; step++) {
            size_t used = strlen(expected);
            int what = rand() % 10;
            if (what < 5 && used < 1500) {
                char name[16];
                int n = rand() % 4 == 0 ? 5000 : 1 + rand() % 5;
                snprintf(name, sizeof name, "n%d", next++);
                assert_int_equal(add(&w, name, step, n, rand() % 2 ? stored : deflated), NPYX_OK);
                snprintf(expected + used, sizeof expected - used, "%s%s=%d+%d", used == 0 ? "" : " ", name,
                         step, n);
            } else if (what < 8 && nmarks < NMARKS) {
                lengths[nmarks] = used;
                assert_int_equal(mark(&w, &marks[nmarks++]), NPYX_OK);
            } else if (nmarks > 0) {
                int to = rand() % nmarks;
                while (nmarks - 1 > to)
                    nmarks--;
                go_back(&w, &marks[--nmarks]);
                expected[lengths[to]] = '\0';
            }
            if (step % 20 == 0)
                assert_reads(&w, expected);
        }
        while (nmarks > 0)
            nmarks--;
        assert_reads(&w, expected);
        end(&w);
    }
}

static void assert_refused(work *w, const npyx_member *member, const char *message) {
    size_t nbytes = w->bytes.nbytes;
    assert_int_equal(npyx_archive_writer_begin(w->writer, member, stored, &error), NPYX_INVALID);
    if (strstr(error.message, message) == NULL)
        fail_msg("%s", error.message);
    assert_int_equal(w->bytes.nbytes, nbytes);
}

static void test_what_an_npz_does_not_hold(void **state) {
    (void)state;
    work w;
    char *longest = malloc(65532);
    assert_non_null(longest);
    memset(longest, 'x', 65532);
    npyx_member member = {.name = "a", .name_nbytes = 1, .dtype = dtype_of("<i8")};
    begin(&w, NPYX_FORMAT_NPZ);
    assert_int_equal(add(&w, "a", 1, 1, stored), NPYX_OK);
    assert_refused(&w, &member, "there is an array 'a' already");
    member.name_nbytes = 0;
    assert_refused(&w, &member, "the name is empty");
    member = (npyx_member){.name = "a\0b", .name_nbytes = 3, .dtype = dtype_of("<i8")};
    assert_refused(&w, &member, "has a NUL in it");
    member = (npyx_member){.name = "\xe9", .name_nbytes = 1, .dtype = dtype_of("<i8")};
    assert_refused(&w, &member, "is not UTF-8");
    member = (npyx_member){.name = "PK\6\7aaaaaaaaaaaa", .name_nbytes = 16, .dtype = dtype_of("<i8")};
    assert_refused(&w, &member, "would be taken for the end of the zip");
    member = (npyx_member){.name = "o", .name_nbytes = 1, .dtype = dtype_of("O")};
    assert_refused(&w, &member, "an array of objects is not written");
    member = (npyx_member){.name = longest, .name_nbytes = 65532, .dtype = dtype_of("<i8")};
    assert_refused(&w, &member, "the name has 65532 bytes");
    int64_t shape[2] = {INT64_MAX, 2};
    member =
        (npyx_member){.name = "b", .name_nbytes = 1, .dtype = dtype_of("<i8"), .ndim = 2, .shape = shape};
    assert_refused(&w, &member, "passes 2^63 - 1");
    /* none of these spoiled anything */
    member = (npyx_member){.name = longest, .name_nbytes = 65531, .dtype = dtype_of("|S0")};
    assert_int_equal(npyx_archive_writer_begin(w.writer, &member, stored, &error), NPYX_OK);
    assert_int_equal(npyx_archive_writer_end(w.writer, &error), NPYX_OK);
    assert_int_equal(npyx_archive_writer_finish(w.writer, &error), NPYX_OK);
    free(longest);
    end(&w);
}

static void test_what_a_ten_does_not_hold(void **state) {
    (void)state;
    static const char *const dtypes[] = {"?", "<c8", "<f16", "<M8[s]", "S3", "<U3", "bfloat16"};
    work w;
    int64_t shape[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    begin(&w, NPYX_FORMAT_TEN);
    npyx_member member = {.name = "123456789", .name_nbytes = 9, .dtype = dtype_of("<i8")};
    assert_refused(&w, &member, "has 9 bytes (a .ten holds 8)");
    member = (npyx_member){.name = "\xc3\xa9", .name_nbytes = 2, .dtype = dtype_of("<i8")};
    assert_refused(&w, &member, "is not ASCII");
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        member = (npyx_member){.name = "", .dtype = dtype_of(dtypes[i])};
        assert_refused(&w, &member, "a .ten holds f2, f4, f8");
    }
    member = (npyx_member){.name = "", .dtype = dtype_of("<i8"), .ndim = 10, .shape = shape};
    assert_refused(&w, &member, "10 dimensions (a .ten holds at most 9)");
    member =
        (npyx_member){.name = "", .dtype = dtype_of("<i8"), .ndim = 2, .shape = shape, .fortran_order = 1};
    assert_refused(&w, &member, "Fortran order");
    assert_int_equal(add(&w, "12345678", 1, 3, stored), NPYX_OK);
    assert_reads(&w, "12345678=1+3");
    end(&w);
}

static void test_as_many_items_as_the_shape_says(void **state) {
    (void)state;
    for (npyx_format format = NPYX_FORMAT_NPZ; format <= NPYX_FORMAT_TEN; format++) {
        work w;
        int64_t n = 3, items[4] = {0};
        npyx_member member = {
            .name = "a", .name_nbytes = 1, .dtype = dtype_of("<i8"), .ndim = 1, .shape = &n};
        begin(&w, format);
        assert_int_equal(npyx_archive_writer_append(w.writer, items, 1, &error), NPYX_INVALID);
        assert_int_equal(npyx_archive_writer_end(w.writer, &error), NPYX_INVALID);
        assert_int_equal(npyx_archive_writer_begin(w.writer, &member, stored, &error), NPYX_OK);
        assert_int_equal(npyx_archive_writer_begin(w.writer, &member, stored, &error), NPYX_INVALID);
        assert_int_equal(npyx_archive_writer_append(w.writer, items, 4, &error), NPYX_INVALID);
        assert_int_equal(npyx_archive_writer_append(w.writer, items, 2, &error), NPYX_OK);
        assert_int_equal(npyx_archive_writer_end(w.writer, &error), NPYX_INVALID);
        assert_non_null(strstr(error.message, "has 3 items, and 2 were given"));
        assert_int_equal(npyx_archive_writer_append(w.writer, items + 2, 1, &error), NPYX_OK);
        assert_int_equal(npyx_archive_writer_end(w.writer, &error), NPYX_OK);
        assert_int_equal(npyx_archive_writer_finish(w.writer, &error), NPYX_OK);
        end(&w);
    }
}

/* The sink's limit, the host's memory, an interrupt, at whatever moment: an error, and after the mark the
 * archive is sound again. */
static void test_faults(void **state) {
    (void)state;
    for (int what = 0; what < 6; what++) {
        npyx_format format = what & 1 ? NPYX_FORMAT_TEN : NPYX_FORMAT_NPZ;
        npyx_status wanted = what / 2 == 0 ? NPYX_TOOBIG : what / 2 == 1 ? NPYX_NOMEM : NPYX_INTERRUPTED;
        bool is_done = false;
        for (int at = 0; !is_done; at++) {
            work w;
            npyx_archive_mark made;
            begin(&w, format);
            assert_int_equal(add(&w, "a", 1, 5, stored), NPYX_OK);
            assert_int_equal(mark(&w, &made), NPYX_OK);
            w.bytes.limit_nbytes = wanted == NPYX_TOOBIG ? w.bytes.nbytes + (size_t)at * 8 : 0;
            if (wanted == NPYX_TOOBIG && w.bytes.nbytes < w.bytes.limit_nbytes) {
                /* room that was there before the limit would hide it */
                w.bytes.bytes = realloc(w.bytes.bytes, w.bytes.nbytes);
                w.bytes.capacity_nbytes = w.bytes.nbytes;
            }
            unit.fail_after = wanted == NPYX_NOMEM ? at : -1;
            unit.wants_interrupt = wanted == NPYX_INTERRUPTED;
            npyx_status status = add(&w, "b", 1, 40, at % 2 ? stored : deflated);
            if (status == NPYX_OK)
                status = npyx_archive_writer_finish(w.writer, &error);
            unit.fail_after = -1;
            unit.wants_interrupt = false;
            w.bytes.limit_nbytes = 0;
            is_done = status == NPYX_OK || wanted == NPYX_INTERRUPTED;
            if (status != NPYX_OK) {
                assert_int_equal(status, wanted);
                if (at > 10)
                    assert_int_not_equal(npyx_archive_writer_finish(w.writer, &error), NPYX_OK);
            }
            go_back(&w, &made);
            assert_reads(&w, "a=1+5");
            end(&w);
        }
    }
}

/* What is closed in the middle of an array loses no memory. */
static void test_closing_in_the_middle(void **state) {
    (void)state;
    for (npyx_format format = NPYX_FORMAT_NPZ; format <= NPYX_FORMAT_TEN; format++) {
        work w;
        npyx_member member = {.name = "a", .name_nbytes = 1, .dtype = dtype_of("<i8")};
        begin(&w, format);
        assert_int_equal(npyx_archive_writer_begin(w.writer, &member, deflated, &error), NPYX_OK);
        size_t nbytes = w.bytes.nbytes;
        npyx_archive_writer_close(w.writer);
        assert_int_equal(w.bytes.nbytes, nbytes);
        w.writer = NULL;
        end(&w);
    }
}

static void test_what_cannot_be_added_to(void **state) {
    (void)state;
    static const char big[] = "~TenBin~\0\0\0\0\0\0\0\x18"
                              "f4\0\0\0\0\0\0";
    npyx_buffer bytes = {.host = &unit.host};
    npyx_sink *sink = NULL;
    npyx_archive_writer *writer = NULL;
    assert_int_equal(npyx_sink_open_memory(&bytes, &sink, &error), NPYX_OK);
    assert_int_equal(npyx_sink_append(sink, "PK\5\6, but no end record", 23, &error), NPYX_OK);
    assert_int_equal(npyx_archive_writer_open(sink, NPYX_FORMAT_NPZ, &writer, &error), NPYX_CORRUPT);
    assert_int_equal(npyx_archive_writer_open(sink, NPYX_FORMAT_TEN, &writer, &error), NPYX_CORRUPT);
    assert_int_equal(npyx_archive_writer_open(sink, NPYX_FORMAT_NPY, &writer, &error), NPYX_INVALID);
    assert_int_equal(npyx_sink_cut(sink, 0, &error), NPYX_OK);
    assert_int_equal(npyx_sink_append(sink, big, sizeof big - 1, &error), NPYX_OK);
    assert_int_equal(npyx_archive_writer_open(sink, NPYX_FORMAT_TEN, &writer, &error), NPYX_UNSUPPORTED);
    assert_null(writer);
    npyx_sink_close(sink);
    npyx_buffer_clear(&bytes);
}

/* The last padding of a .ten may be missing; what is added stands where a reader looks for it. */
static void test_a_ten_without_its_padding(void **state) {
    (void)state;
    work w;
    begin(&w, NPYX_FORMAT_TEN);
    assert_int_equal(add(&w, "a", 1, 3, stored), NPYX_OK);
    assert_int_equal(npyx_sink_cut(w.sink, w.sink->nbytes - 40, &error), NPYX_OK);
    npyx_archive_writer_close(w.writer);
    assert_int_equal(npyx_archive_writer_open(w.sink, NPYX_FORMAT_TEN, &w.writer, &error), NPYX_OK);
    assert_int_equal(add(&w, "b", 5, 2, stored), NPYX_OK);
    assert_reads(&w, "a=1+3 b=5+2");
    end(&w);
}

static void test_methods(void **state) {
    (void)state;
    npyx_zip_method method;
    assert_int_equal(npyx_zip_method_parse("stored", 6, &method, &error), NPYX_OK);
    assert_false(method.is_deflated);
    assert_int_equal(npyx_zip_method_parse("deflate", 7, &method, &error), NPYX_OK);
    assert_true(method.is_deflated && method.level == -1);
    assert_int_equal(npyx_zip_method_parse("deflate:0", 9, &method, &error), NPYX_OK);
    assert_true(method.is_deflated && method.level == 0);
    static const char *const wrong[] = {"", "Stored", "deflate:", "deflate:10", "deflate:x", "zstd", "store"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(npyx_zip_method_parse(wrong[i], strlen(wrong[i]), &method, &error), NPYX_INVALID);
}

static bool has(const npyx_name_set *set, const char *name, size_t nbytes) {
    int64_t nsame;
    return npyx_name_set_find(set, name, nbytes, &nsame) >= 0;
}

static void test_a_set_of_names(void **state) {
    (void)state;
    npyx_name_set set = {.bytes.host = &unit.host};
    char name[20];
    assert_false(has(&set, "n1", 2));
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof name, "n%d", i);
        assert_false(has(&set, name, strlen(name)));
        assert_int_equal(npyx_name_set_add(&set, name, strlen(name), &error), NPYX_OK);
    }
    assert_true(has(&set, "n4999", 5) && has(&set, "n0", 2));
    assert_false(has(&set, "n", 1));
    npyx_name_set_cut(&set, 4000);
    assert_int_equal(set.count, 4000);
    assert_true(has(&set, "n3999", 5));
    assert_false(has(&set, "n4000", 5));
    int64_t nsame;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(npyx_name_set_add(&set, "n7", 2, &error), NPYX_OK);
    assert_int_equal(npyx_name_set_find(&set, "n7", 2, &nsame), 4999);
    assert_int_equal(nsame, 1001);
    npyx_name_set_cut(&set, 4000);
    assert_int_equal(npyx_name_set_find(&set, "n7", 2, &nsame), 7);
    assert_int_equal(nsame, 1);
    unit.fail_after = 0;
    while (npyx_name_set_add(&set, "another", 7, &error) == NPYX_OK)
        ;
    int64_t count = set.count;
    unit.fail_after = -1;
    assert_true(count >= 4000 && has(&set, "n3999", 5));
    npyx_name_set_clear(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_arrays_are_read_back, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_an_archive_is_continued, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_marks, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_random_marks, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_what_an_npz_does_not_hold, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_what_a_ten_does_not_hold, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_as_many_items_as_the_shape_says, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_faults, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_closing_in_the_middle, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_added_to, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_a_ten_without_its_padding, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_methods, open_host, check_host),
        cmocka_unit_test_setup_teardown(test_a_set_of_names, open_host, check_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
