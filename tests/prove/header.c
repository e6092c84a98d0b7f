/* Headers of arrays: src/format/header.c. */
#include "memory.h"

#include "array/view.c"
#include "base/utf8.c"
#include "format/header.c"

bool npyx_begins_npy(const void *bytes, size_t nbytes) {
    return nbytes >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0;
}
bool npyx_begins_ten(const void *bytes, size_t nbytes) {
    return nbytes >= 8 && memcmp(bytes, "~TenBin~", 8) == 0;
}
const char *npyx_literal_kind_name(npyx_literal_kind kind) {
    holds(kind <= NPYX_LITERAL_DICT);
    return "a kind";
}
npyx_status npyx_source_blame_writer(const npyx_source *source, npyx_status status, npyx_error *error) {
    (void)source, (void)error;
    return status;
}

/*
 * The length of a .npy header is at most what is read, and counts the prefix.
 *
 * Bound: 12 bytes
 * Unwind: 8
 * Planted: src/format/header.c: if (nbytes < prefix_nbytes(bytes[6])) => if (nbytes < 10)
 * Took: 2 s, quick
 */
void prove_npy_measure(void) {
    any_bytes(uint8_t, bytes, 12);
    size_t header_nbytes = 0;
    npyx_error error;
    if (npyx_header_npy_measure(bytes, bytes_nbytes, &header_nbytes, &error) != NPYX_OK)
        return;
    holds(header_nbytes >= 10 && header_nbytes <= NPYX_HEADER_NPY_MAX_NBYTES + 12);
    holds(bytes[6] >= 1 && bytes[6] <= 3);
    reached(bytes[6] == 3 && header_nbytes == NPYX_HEADER_NPY_MAX_NBYTES + 12);
    reached(bytes[6] == 1 && bytes_nbytes == 10);
}

/*
 * UTF-8 whose characters are all of latin1 becomes latin1 of as many characters.
 *
 * Bound: 6 bytes
 * Unwind: 8
 * Planted: src/format/header.c: c << 6 | => c << 5 |
 * Took: 7 s, quick
 */
void prove_npy_latin1(void) {
    char bytes[6], was[6];
    npyx_buffer text = {.bytes = bytes, .nbytes = nondet_size_to(6), .capacity_nbytes = 6};
    __CPROVER_havoc_object(was);
    memcpy(bytes, was, sizeof was);
    size_t nbytes = text.nbytes;
    assume(npyx_utf8_is_valid(was, nbytes));
    if (!make_latin1(&text)) {
        holds(text.nbytes == nbytes);
        return;
    }
    size_t at = 0;
    for (size_t i = 0; i < text.nbytes; i++) {
        char character[4];
        size_t n = npyx_utf8_encode((uint8_t)bytes[i], character);
        holds(at + n <= nbytes && memcmp(character, was + at, n) == 0);
        at += n;
    }
    holds(at == nbytes);
    reached(text.nbytes == 3 && nbytes == 6);
}

/* Values of a header's shape: up to 3 of any kind. */
static npyx_literal dims[3];

/*
 * Each length of a shape is one that there may be, and there are no more than there is room for.
 *
 * Bound: up to 3 values of any kind, counted as any number
 * Unwind: 5
 * Planted: src/format/header.c: if (dim->integer < 0) => if (dim->integer < -1)
 * Took: 3 s, quick
 */
void prove_npy_shape(void) {
    npyx_array array = {.ndim = 0};
    npyx_error error;
    npyx_literal shape = {.kind = (npyx_literal_kind)(nondet_u8() & 7)};
    size_t n = nondet_size_to(3);
    for (size_t i = 0; i < n; i++) {
        dims[i] = (npyx_literal){.kind = (npyx_literal_kind)(nondet_u8() & 7),
                                 .integer = nondet_i64(),
                                 .is_too_big = nondet_bool(),
                                 .next = i + 1 < n ? &dims[i + 1] : NULL};
    }
    shape.first = n > 0 ? &dims[0] : NULL;
    shape.nitems = (int64_t)n;
    if (npy_header_parse_shape(&shape, &array, &error) != NPYX_OK)
        return;
    holds(array.ndim == (int)n);
    for (int axis = 0; axis < array.ndim; axis++)
        holds(array.shape[axis] >= 0);
    reached(array.ndim == 3 && array.shape[2] == INT64_MAX);
}

/*
 * A .npy header is a multiple of 64 bytes, with room for a newline and a blank.
 *
 * Bound: any length below 2^63
 * Unwind: 2
 * Planted: src/format/header.c: (nbytes + 1) / 64 * 64 + 64 => (nbytes + 64) / 64 * 64
 * Took: 2 s, quick
 */
void prove_npy_aligned(void) {
    size_t nbytes = nondet_size_to(INT64_MAX), aligned = aligned_nbytes(nbytes);
    holds(aligned % 64 == 0 && aligned >= nbytes + 2 && aligned <= nbytes + 65);
    reached(aligned == 128);
}

/*
 * A chunk of a .ten that is accepted lies in the file, and the next one is at a multiple of 64 after it.
 *
 * Bound: a file of any length, a chunk at any place, 16 bytes of it
 * Unwind: 9
 * Planted: src/format/header.c: if (count > left_nbytes) => if (count > left_nbytes + 1)
 * Took: 5 s, quick
 */
void prove_ten_chunk(void) {
    any_bytes(uint8_t, bytes, CHUNK_NBYTES);
    npyx_source source = {.nbytes = nondet_i64_from(0, INT64_MAX)};
    int64_t off = nondet_i64_from(0, INT64_MAX), payload_nbytes = 0;
    npyx_error error;
    assume((int64_t)bytes_nbytes <= source.nbytes && off <= source.nbytes - (int64_t)bytes_nbytes);
    npyx_status status =
        check_chunk(&source, off, bytes, bytes_nbytes, nondet_bool(), "data", &payload_nbytes, &error);
    if (status != NPYX_OK)
        return;
    holds(payload_nbytes >= 0 && payload_nbytes <= source.nbytes - off - CHUNK_NBYTES);
    int64_t end_off = chunk_end(off, payload_nbytes);
    holds(end_off >= off + CHUNK_NBYTES + payload_nbytes);
    holds(end_off == INT64_MAX || (end_off - off - CHUNK_NBYTES) % 64 == 0);
    reached(end_off == INT64_MAX);
    reached(payload_nbytes == 100 && end_off == off + 144);
}

/* A dtype is any. */
npyx_status any_code(const uint8_t *code, int64_t off, bool is_big_endian, npyx_array *array,
                     npyx_error *error) {
    static npyx_dtype dtype = {.itemsize = 8};
    (void)code, (void)off, (void)is_big_endian;
    array->dtype = &dtype;
    return nondet_bool() ? NPYX_OK : npyx_fail(error, NPYX_CORRUPT, off, "code");
}

/* As view.c says. */
npyx_status any_measure(npyx_array *array, npyx_error *error) {
    array->is_known = nondet_bool();
    return array->is_known ? NPYX_OK : npyx_fail(error, NPYX_CORRUPT, -1, "too large");
}

/*
 * The words of a .ten's header: no dimension is read that is not there, and none is negative.
 *
 * Bound: 5 words, of a header of any length
 * Unwind: 12
 * Replaces: parse_code by any_code
 * Replaces: npyx_array_measure by any_measure
 * Replaces: parse_info by any_info
 * Planted: src/format/header.c: if (ndim > (uint64_t)stored_ndim ||
 *           => if (ndim > (uint64_t)stored_ndim + 1 ||
 * Took: 3 s, quick
 */
void prove_ten_words(void) {
    uint8_t words[40];
    npyx_array array = {.ndim = 0};
    npyx_ten_array ten;
    npyx_error error;
    __CPROVER_havoc_object(words);
    int64_t nbytes = nondet_i64_from(0, 40);
    bool is_big_endian = nondet_bool();
    npyx_status status = parse_words(words + 40 - nbytes, nbytes, 16, is_big_endian, &array, &ten, &error);
    holds(array.ndim >= 0 && array.ndim <= 2);
    for (int axis = 0; status == NPYX_OK && axis < array.ndim; axis++)
        holds(array.shape[axis] >= 0);
    reached(status == NPYX_OK && array.ndim == 2 && is_big_endian);
}
void any_info(const uint8_t *info, npyx_ten_array *ten) {
    (void)info, (void)ten;
}
