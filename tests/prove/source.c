/* Ranges of bytes: src/io/source.c. */
#include "memory.h"

#include "base/utf8.c"
#include "io/source.c"

uint32_t npyx_crc32(uint32_t crc, const void *bytes, size_t nbytes) {
    holds(nbytes == 0 || __CPROVER_r_ok(bytes, nbytes));
    return crc ^ nondet_u32();
}
uint32_t npyx_crc32_join(uint32_t first, uint32_t second, int64_t second_nbytes) {
    holds(second_nbytes >= 0);
    return first ^ second;
}

npyx_status npyx_renew(npyx_host *host, uint8_t **bytes, size_t *capacity_nbytes, size_t nbytes,
                       npyx_error *error) {
    if (*capacity_nbytes >= nbytes)
        return NPYX_OK;
    npyx_free(host, *bytes);
    *bytes = npyx_alloc(host, nbytes);
    *capacity_nbytes = nbytes;
    return npyx_check_memory(*bytes, error);
}

/* A file in memory, which notes what it is asked for: never anything outside it. Fewer bytes may come. */
static npyx_status asked_read(npyx_source *source, int64_t off, void *bytes, size_t nbytes,
                              size_t *read_nbytes, npyx_error *error) {
    holds(off >= 0 && nbytes > 0 && nbytes <= (uint64_t)(source->nbytes - off));
    holds(__CPROVER_w_ok(bytes, nbytes));
    *read_nbytes = nondet_size_to(nbytes);
    return nondet_bool() ? NPYX_OK : npyx_fail(error, NPYX_IO, off, "no bytes");
}
static const npyx_source_ops asked_ops = {.read = asked_read};

/*
 * A read never goes beyond the source, from whatever place and however long.
 *
 * Bound: any place of 64 bits, up to 16 bytes, a source of any length
 * Unwind: 2
 * Planted: src/io/source.c: nbytes = (size_t)present_nbytes; => nbytes = (size_t)present_nbytes + 1;
 * Took: 3 s, quick
 */
void prove_source_read(void) {
    npyx_source source = {.ops = &asked_ops, .host = &prove_host, .nbytes = nondet_i64_from(0, INT64_MAX)};
    uint8_t bytes[16];
    size_t read_nbytes, nbytes = nondet_size_to(16);
    npyx_error error;
    npyx_status status = npyx_source_read(&source, nondet_i64(), bytes, nbytes, &read_nbytes, &error);
    holds(read_nbytes <= nbytes);
    reached(status == NPYX_OK && read_nbytes == 16);
}

/*
 * A range that is opened lies in its parent.
 *
 * Bound: any place and length of 64 bits, a parent of any length
 * Unwind: 2
 * Planted: src/io/source.c: nbytes > parent->nbytes - off) => nbytes > parent->nbytes)
 * Took: 2 s, quick
 */
void prove_source_open_range(void) {
    npyx_source parent = {.ops = &asked_ops, .host = &prove_host, .nbytes = nondet_i64_from(0, INT64_MAX)};
    npyx_source *range = NULL;
    npyx_error error;
    int64_t off = nondet_i64(), nbytes = nondet_i64();
    npyx_status status = npyx_source_open_range(&parent, off, nbytes, nondet_bool(), 0, &range, &error);
    holds((status == NPYX_OK) ==
          (off >= 0 && nbytes >= 0 && off <= parent.nbytes && nbytes <= parent.nbytes - off));
    holds(status != NPYX_OK || (range->nbytes == nbytes && range->parent == &parent));
    reached(status == NPYX_OK && nbytes == 7);
}

/*
 * The bytes of a window are those at the place asked for, and all of them are in memory.
 *
 * Bound: any place of 64 bits; 8 bytes and up to 16 ahead, of a window that holds up to 16
 * Unwind: 2
 * Planted: src/io/source.c: off - w->off <= (int64_t)w->nbytes - (int64_t)nbytes
 *           => off - w->off <= (int64_t)w->nbytes
 * Took: 2 s, quick
 */
void prove_window_at(void) {
    npyx_source source = {.ops = &asked_ops, .host = &prove_host, .nbytes = nondet_i64_from(0, INT64_MAX)};
    uint8_t *held = malloc(16);
    assume(held != NULL);
    npyx_window w = {.source = &source, .bytes = held, .capacity_nbytes = 16, .nbytes = nondet_size_to(16)};
    w.off = nondet_i64_from(0, INT64_MAX - 16);
    int64_t off = nondet_i64_from(0, INT64_MAX), end_off = nondet_i64_from(0, INT64_MAX);
    size_t nbytes = nondet_size_to(8);
    assume(end_off <= source.nbytes && off <= end_off && nbytes <= (uint64_t)(end_off - off));
    assume(w.off + (int64_t)w.nbytes <= source.nbytes);
    const uint8_t *bytes = NULL;
    npyx_error error;
    if (npyx_window_at(&w, off, nbytes, nondet_size_to(16), end_off, &bytes, &error) != NPYX_OK)
        return;
    holds(nbytes == 0 || __CPROVER_r_ok(bytes, nbytes));
    holds(off >= w.off && off - w.off + (int64_t)nbytes <= (int64_t)w.nbytes &&
          bytes == w.bytes + (off - w.off));
    reached(bytes == held + 4 && nbytes == 8);
    reached(bytes == held && w.off == off && w.nbytes == 16);
}

/*
 * The same of bytes that need not be there.
 *
 * Bound: any place of 64 bits; 8 bytes and up to 16 ahead, of a window that holds up to 16
 * Unwind: 2
 * Planted: src/io/source.c: *some_nbytes = nbytes < left_nbytes ? nbytes : left_nbytes;
 *           => *some_nbytes = nbytes;
 * Took: 2 s, quick
 */
void prove_window_some(void) {
    npyx_source source = {.ops = &asked_ops, .host = &prove_host, .nbytes = nondet_i64_from(0, INT64_MAX)};
    uint8_t *held = malloc(16);
    assume(held != NULL);
    npyx_window w = {.source = &source, .bytes = held, .capacity_nbytes = 16, .nbytes = nondet_size_to(16)};
    w.off = nondet_i64_from(0, INT64_MAX - 16);
    assume(w.off + (int64_t)w.nbytes <= source.nbytes);
    int64_t off = nondet_i64_from(0, INT64_MAX);
    size_t nbytes = nondet_size_to(8), some_nbytes = 0;
    const uint8_t *bytes = NULL;
    npyx_error error;
    if (npyx_window_some(&w, off, nbytes, nondet_size_to(16), &bytes, &some_nbytes, &error) != NPYX_OK)
        return;
    holds(some_nbytes <= nbytes && (some_nbytes == 0 || __CPROVER_r_ok(bytes, some_nbytes)));
    holds(some_nbytes == 0 || off + (int64_t)some_nbytes <= source.nbytes);
    reached(some_nbytes == 8);
    reached(some_nbytes == 3 && nbytes == 8);
}

/*
 * A CRC covers each byte of a range once, in order.
 *
 * Bound: any pieces of up to 16 bytes of a range of any length
 * Unwind: 2
 * Planted: src/io/source.c: if (known_nbytes < 0 || known_nbytes >= (int64_t)nbytes)
 *           => if (known_nbytes < 0)
 * Took: 1 s, quick
 */
void prove_range_crc(void) {
    any_bytes(uint8_t, piece, 16);
    range_source range = {.base.nbytes = nondet_i64_from(0, INT64_MAX),
                          .crc_nbytes = nondet_i64_from(0, INT64_MAX)};
    int64_t off = nondet_i64_from(0, INT64_MAX), before = range.crc_nbytes;
    assume(range.crc_nbytes <= range.base.nbytes && off <= range.base.nbytes);
    assume((int64_t)piece_nbytes <= range.base.nbytes - off);
    range_extend_crc(&range, off, piece, piece_nbytes);
    holds(range.crc_nbytes >= before && range.crc_nbytes <= range.base.nbytes);
    holds(range.crc_nbytes == before || (off <= before && range.crc_nbytes == off + (int64_t)piece_nbytes));
    reached(range.crc_nbytes == before + 5 && piece_nbytes == 16);
}
