/* The directory of a zip: src/format/zip_directory.c. */
#include "memory.h"

#include "base/utf8.c"
#include "format/zip_directory.c"

#include "window.h"

/*
 * An end record and its comment end with the file, or before its tail.
 *
 * Bound: files up to 28 bytes
 * Unwind: 9
 * Planted: src/format/zip_directory.c: if (tail_nbytes < 0 || => if (tail_nbytes < -1 ||
 * Took: 4 s, quick
 */
void prove_zip_end_record(void) {
    any_bytes(uint8_t, file, 28);
    const npyx_window w = {
        .bytes = (uint8_t *)file, .nbytes = file_nbytes, .off = nondet_i64_from(0, INT32_MAX)};
    end found = {0};
    bool with_tail = nondet_bool();
    if (!find_end_record(&w, with_tail, &found))
        return;
    int64_t at = found.off - w.off;
    holds(at >= 0 && at + NPYX_ZIP_END_NBYTES <= (int64_t)file_nbytes && memcmp(file + at, "PK\5\6", 4) == 0);
    holds(found.tail_nbytes >= 0 && found.tail_nbytes <= (int64_t)file_nbytes - at - NPYX_ZIP_END_NBYTES);
    holds(with_tail || found.tail_nbytes == 0);
    reached(at == 6);
    reached(at == 1 && found.tail_nbytes == 2);
}

/*
 * zip64's values come from extra fields, of which none is read beyond its end; those that are given stay.
 *
 * Bound: 32 bytes
 * Unwind: 10
 * Planted: src/format/zip_directory.c: if (next_off - off < 8) => if (next_off - off < 4)
 * Took: 27 s
 */
void prove_zip64_fields(void) {
    any_bytes(uint8_t, extra, 32);
    uint64_t size = nondet_u32(), compressed_size = nondet_u32(), header_off = nondet_u32(), given = size;
    bool is_sound = resolve_zip64(extra, extra_nbytes, &size, &compressed_size, &header_off);
    holds(given == UINT32_MAX || size == given);
    reached(is_sound && size == INT64_MAX && header_off == INT64_MAX - 1);
    reached(!is_sound && extra_nbytes == 32);
}

/* A record's name is any. */
npyx_status any_name(npyx_arena *arena, const char *name, size_t nbytes, npyx_zip_record *record,
                     npyx_error *error) {
    (void)arena, (void)record;
    holds(nbytes == 0 || __CPROVER_r_ok(name, nbytes));
    return nondet_bool() ? NPYX_OK : npyx_fail_nomem(error);
}

/*
 * A record's name and extra field lie in it, and its sizes and place are numbers that can be computed on.
 *
 * Bound: a name and an extra field of up to 12 bytes, a prefix of any length
 * Unwind: 8
 * Replaces: decode_name by any_name
 * Planted: src/format/zip_directory.c: header_off <= INT64_MAX / 2 ? (int64_t)header_off
 *           => true ? (int64_t)header_off
 * Took: 10 s, quick
 */
void prove_zip_take_record(void) {
    uint8_t bytes[NPYX_ZIP_RECORD_NBYTES + 24];
    npyx_zip_record records[1];
    npyx_zip_directory directory = {.names.host = &prove_host, .records = records, .capacity_nrecords = 1};
    npyx_error error;
    __CPROVER_havoc_object(bytes);
    directory.prefix_nbytes = nondet_i64_from(0, INT64_MAX / 2);
    uint16_t name_nbytes = npyx_load_u16(bytes + 28, false), extra_nbytes = npyx_load_u16(bytes + 30, false);
    assume(name_nbytes <= 12 && extra_nbytes == 24 - name_nbytes);
    if (take_record(&directory, bytes, &error) != NPYX_OK)
        return;
    holds(records[0].nbytes >= 0 && records[0].compressed_nbytes >= 0);
    holds(records[0].header_off >= directory.prefix_nbytes && directory.nrecords == 1);
    reached(records[0].nbytes == INT64_MAX && records[0].status == NPYX_OK);
    reached(records[0].status == NPYX_CORRUPT);
}

/* Makes room for nothing: there is room for one record. */
npyx_status npyx_grow(npyx_host *host, void *items, int64_t n, int64_t *capacity, size_t item_nbytes,
                      npyx_error *error) {
    (void)host, (void)items, (void)item_nbytes;
    holds(n < *capacity);
    return nondet_bool() ? NPYX_OK : npyx_fail_nomem(error);
}

/*
 * A directory that is accepted lies before its end record, and the zip begins in the file.
 *
 * Bound: any values of 64 bits
 * Unwind: 2
 * Planted: src/format/zip_directory.c: if (found->directory_nbytes > (uint64_t)found->off || => if (
 * Took: 2 s, quick
 */
void prove_zip_place_directory(void) {
    const end found = {.off = nondet_i64_from(0, INT64_MAX),
                       .directory_off = nondet_u64(),
                       .directory_nbytes = nondet_u64(),
                       .tail_nbytes = nondet_i64()};
    npyx_zip_directory directory = {0};
    npyx_error error;
    if (place_directory(&found, nondet_bool(), &directory, &error) != NPYX_OK)
        return;
    holds(directory.start_off >= 0 && directory.start_off <= found.off);
    holds(directory.prefix_nbytes >= 0 && directory.prefix_nbytes <= directory.start_off);
    reached(directory.prefix_nbytes == 100 && directory.start_off == 200);
}

/*
 * A zip64 locator leads to a record in the file, or nowhere, and nothing outside the file is read.
 *
 * Bound: any end record of a file of any length, any bytes in it
 * Unwind: 5
 * Planted: src/format/zip_directory.c: if (last_off < 0 || said_off > (uint64_t)last_off)
 *           => if (said_off > (uint64_t)last_off)
 * Took: 10 s, quick
 */
void prove_zip64_locator(void) {
    npyx_source source = {.host = &prove_host, .nbytes = nondet_i64_from(22, INT64_MAX)};
    npyx_window w = {.source = &source};
    end found = {.off = nondet_i64_from(0, INT64_MAX)};
    npyx_error error;
    assume(found.off <= source.nbytes - 22);
    int64_t before = found.off;
    if (read_end64(&w, &found, &error) != NPYX_OK)
        return;
    holds(found.off >= 0 && found.off <= before);
    reached(found.off < before && found.directory_nbytes == 46);
}
