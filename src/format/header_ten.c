#include "header_ten.h"

#include "base/bytes.h"
#include "io/first_bytes.h"
#include "text/span.h"

enum {
    CHUNK_NBYTES = 16,        /* magic and count */
    HEADER_WORDS_NBYTES = 24, /* dtype code, info, rank */
    HEADER_MAX_NBYTES = HEADER_WORDS_NBYTES + 8 * NPYX_MAX_NDIM,
    PLAUSIBLE_NBYTES = 96 /* the reference writes at most nine dimensions */
};

bool npyx_header_ten_is_big_endian(const uint8_t *bytes, size_t nbytes) {
    if (nbytes < CHUNK_NBYTES)
        return false;
    uint64_t little = npyx_load_u64(bytes + 8, false), big = npyx_load_u64(bytes + 8, true);
    return (little < HEADER_WORDS_NBYTES || little > PLAUSIBLE_NBYTES) && big >= HEADER_WORDS_NBYTES &&
           big <= PLAUSIBLE_NBYTES;
}

/* Checks magic and count of the chunk at off, whose first nbytes are in bytes. */
static npyx_status check_chunk(const npyx_source *source, int64_t off, const uint8_t *bytes, size_t nbytes,
                               bool is_big_endian, const char *what, int64_t *payload_nbytes,
                               npyx_error *error) {
    if (nbytes < CHUNK_NBYTES)
        return npyx_fail_short(source, error, off,
                               "the %s chunk is truncated (the file ends %zu bytes into it, at byte %" PRId64
                               ")",
                               what, nbytes, off + (int64_t)nbytes);
    if (!npyx_begins_ten(bytes, nbytes))
        return npyx_fail(error, NPYX_CORRUPT, off, "no ~TenBin~ where the %s chunk begins (byte %" PRId64 ")",
                         what, off);
    uint64_t count = npyx_load_u64(bytes + 8, is_big_endian);
    uint64_t left_nbytes = (uint64_t)(source->nbytes - off) - CHUNK_NBYTES;
    if (count > INT64_MAX)
        return npyx_fail(error, NPYX_CORRUPT, off + 8,
                         "the %s chunk has a negative byte count (byte %" PRId64 ")", what, off + 8);
    if (count > left_nbytes)
        return npyx_fail_short(source, error, off + 8,
                               "data is truncated (the %s chunk says %" PRIu64 " bytes, there are %" PRIu64
                               " from byte %" PRId64 ")",
                               what, count, left_nbytes, off + CHUNK_NBYTES);
    *payload_nbytes = (int64_t)count;
    return NPYX_OK;
}

/* The end of a chunk with its padding, which depends on the payload only; the last chunk's may be missing. */
static int64_t chunk_end(int64_t off, int64_t payload_nbytes) {
    int64_t end_off;
    if (!npyx_add_i64(off + CHUNK_NBYTES, payload_nbytes, &end_off))
        return INT64_MAX;
    int64_t padding_nbytes = -payload_nbytes & 63;
    return end_off > INT64_MAX - padding_nbytes ? INT64_MAX : end_off + padding_nbytes;
}

/* `f4` and the like; the reference misspells uint32 and cannot write `u4`, but it is read. */
static npyx_status parse_code(const uint8_t *code, int64_t off, bool is_big_endian, npyx_array *array,
                              npyx_error *error) {
    bool is_padded = npyx_load_u64(code, false) >> 16 == 0;
    if (!is_padded || !npyx_span_is_among((npyx_span){(const char *)code, 2}, NPYX_TEN_CODES)) {
        char shown[9] = {0};
        for (int i = 0; i < 8 && code[i] != 0; i++)
            shown[i] = code[i] > ' ' && code[i] < 0x7f ? (char)code[i] : '?';
        return npyx_fail_as(error, NPYX_KIND_HEADER, NPYX_CORRUPT, off,
                            "unknown dtype code `%s` at byte %" PRId64, shown, off);
    }
    char descr[3] = {code[1] == '1' ? '|' : is_big_endian ? '>' : '<', (char)code[0], (char)code[1]};
    array->descr_nbytes = sizeof descr;
    array->descr = npyx_arena_copy(&array->arena, descr, sizeof descr);
    NPYX_TRY(npyx_check_memory(array->descr, error));
    return npyx_dtype_from_text(&array->arena, array->descr, array->descr_nbytes, &array->dtype, error);
}

static void parse_info(const uint8_t *info, npyx_ten_array *ten) {
    size_t first = 0, end = 8;
    while (end > 0 && info[end - 1] == 0)
        end--;
    while (first < end && info[first] == 0)
        first++;
    char *out = ten->info;
    while (first < end) {
        const char *at = (const char *)info + first;
        size_t nbytes = npyx_utf8_character(at, end - first);
        memcpy(out, nbytes == 0 ? NPYX_UTF8_REPLACEMENT : at, nbytes == 0 ? 3 : nbytes);
        out += nbytes == 0 ? 3 : nbytes;
        first += nbytes == 0 ? 1 : nbytes;
    }
    ten->info_nbytes = (size_t)(out - ten->info);
}

/* Words are 64-bit: dtype code, info, rank, dimensions; extra ones are tolerated. */
static npyx_status parse_words(const uint8_t *words, int64_t nbytes, int64_t off, bool is_big_endian,
                               npyx_array *array, npyx_ten_array *ten, npyx_error *error) {
    if (nbytes < HEADER_WORDS_NBYTES)
        return npyx_fail_as(
            error, NPYX_KIND_HEADER, NPYX_CORRUPT, off,
            "the header chunk at byte %" PRId64 " has %" PRId64 " bytes (24 and 8 a dimension)", off, nbytes);
    int64_t stored_ndim = (nbytes - HEADER_WORDS_NBYTES) / 8;
    uint64_t ndim = npyx_load_u64(words + 16, is_big_endian);
    if (ndim > (uint64_t)stored_ndim || ndim > NPYX_MAX_NDIM)
        return npyx_fail_as(error, NPYX_KIND_HEADER, NPYX_CORRUPT, off + 16,
                            "rank %" PRId64 " at byte %" PRId64 " (the header has room for %" PRId64
                            " dimensions, and at most %d are read)",
                            (int64_t)ndim, off + 16, stored_ndim, NPYX_MAX_NDIM);
    NPYX_TRY(parse_code(words, off, is_big_endian, array, error));
    parse_info(words + 8, ten);
    array->ndim = (int)ndim;
    for (int axis = 0; axis < array->ndim; axis++) {
        int64_t dim = (int64_t)npyx_load_u64(words + HEADER_WORDS_NBYTES + 8 * axis, is_big_endian);
        if (dim < 0)
            return npyx_fail_as(error, NPYX_KIND_HEADER, NPYX_CORRUPT, off + HEADER_WORDS_NBYTES + 8 * axis,
                                "dimension %d is negative (%" PRId64 " at byte %" PRId64 ")", axis, dim,
                                off + HEADER_WORDS_NBYTES + 8 * axis);
        array->shape[axis] = dim;
    }
    return npyx_array_measure(array, error);
}

npyx_status npyx_header_ten_read(npyx_source *source, int64_t off, bool is_big_endian, npyx_array *array,
                                 npyx_ten_array *ten, npyx_error *error) {
    /* usually both chunk headers are in one read: the first has 16 + 64 bytes with up to five dimensions */
    uint8_t bytes[CHUNK_NBYTES + HEADER_MAX_NBYTES];
    size_t nbytes = 0;
    NPYX_TRY(npyx_source_read(source, off, bytes, 192, &nbytes, error));
    int64_t header_nbytes = 0;
    NPYX_TRY(check_chunk(source, off, bytes, nbytes, is_big_endian, "header", &header_nbytes, error));
    if (header_nbytes >= HEADER_WORDS_NBYTES &&
        header_nbytes % 8 != 0) /* as in the reference, whose words have 8 bytes */
        return npyx_fail(error, NPYX_CORRUPT, off + 8,
                         "the header chunk has %" PRId64
                         " bytes, which are not whole words of 8 (byte %" PRId64 ")",
                         header_nbytes, off + 8);
    int64_t words_nbytes = header_nbytes < HEADER_MAX_NBYTES ? header_nbytes : HEADER_MAX_NBYTES;
    if ((int64_t)nbytes < CHUNK_NBYTES + words_nbytes) {
        nbytes = (size_t)(CHUNK_NBYTES + words_nbytes);
        NPYX_TRY(npyx_source_read_exactly(source, off, bytes, nbytes, error));
    }
    ten->header_off = off;
    ten->end_off = source->nbytes;
    ten->next_off = INT64_MAX; /* unless the data chunk is sound, there is no way past it */
    NPYX_TRY(parse_words(bytes + CHUNK_NBYTES, header_nbytes, off + CHUNK_NBYTES, is_big_endian, array, ten,
                         error));

    int64_t data_chunk_off = chunk_end(off, header_nbytes);
    if (data_chunk_off >= source->nbytes)
        return npyx_fail_short(source, error, off,
                               "the header at byte %" PRId64
                               " has no data after it (file ends at byte %" PRId64 ")",
                               off, source->nbytes);
    const uint8_t *data_chunk = bytes;
    size_t data_chunk_nbytes = CHUNK_NBYTES;
    if (data_chunk_off - off <= (int64_t)nbytes - CHUNK_NBYTES)
        data_chunk += data_chunk_off - off;
    else
        NPYX_TRY(npyx_source_read(source, data_chunk_off, bytes, CHUNK_NBYTES, &data_chunk_nbytes, error));
    int64_t data_nbytes = 0;
    NPYX_TRY(check_chunk(source, data_chunk_off, data_chunk, data_chunk_nbytes, is_big_endian, "data",
                         &data_nbytes, error));
    ten->data_off = array->data_off = data_chunk_off + CHUNK_NBYTES;
    ten->next_off = chunk_end(data_chunk_off, data_nbytes);
    NPYX_TRY(npyx_array_check_nbytes(array, array->data_off + data_nbytes, error));
    ten->end_off = array->data_off + array->nbytes;
    return NPYX_OK;
}
