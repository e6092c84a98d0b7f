#include "header.h"

#include "io/first_bytes.h"
#include "text/number_text.h"
#include "text/span.h"

/* ---- .npy: reading ---- */

/* The length of magic, version and length. */
static size_t prefix_nbytes(int version_major) {
    return version_major == 1 ? 10 : 12;
}

npyx_status npyx_header_npy_measure(const uint8_t *bytes, size_t nbytes, size_t *header_nbytes,
                                    npyx_error *error) {
    if (!npyx_begins_npy(bytes, nbytes))
        return npyx_fail(error, NPYX_CORRUPT, 0, "is not a .npy array (the magic bytes are missing)");
    if (nbytes < 8)
        return npyx_fail_as(error, NPYX_KIND_TRUNCATED, NPYX_CORRUPT, (int64_t)nbytes,
                            "the header is truncated (the file ends at byte %zu, before the version)",
                            nbytes);
    if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
        return npyx_fail_as(error, NPYX_KIND_HEADER, NPYX_CORRUPT, 6,
                            "unknown .npy version %d.%d at byte 6 (known are 1.0, 2.0 and 3.0)", bytes[6],
                            bytes[7]);
    if (nbytes < prefix_nbytes(bytes[6]))
        return npyx_fail_as(
            error, NPYX_KIND_TRUNCATED, NPYX_CORRUPT, (int64_t)nbytes,
            "the header is truncated (the file ends at byte %zu, inside of the header's length)", nbytes);
    uint32_t text_nbytes = bytes[6] == 1 ? npyx_load_u16(bytes + 8, false) : npyx_load_u32(bytes + 8, false);
    if (text_nbytes > NPYX_HEADER_NPY_MAX_NBYTES)
        return npyx_fail_as(error, NPYX_KIND_HEADER, NPYX_CORRUPT, 8,
                            "the header claims %" PRIu32
                            " bytes (at most %d are read; the length is at byte 8)",
                            text_nbytes, NPYX_HEADER_NPY_MAX_NBYTES);
    *header_nbytes = prefix_nbytes(bytes[6]) + text_nbytes;
    return NPYX_OK;
}

/* The header's text as UTF-8: versions 1 and 2 are latin1, version 3 UTF-8. */
static npyx_status decode_text(const uint8_t *bytes, size_t nbytes, bool is_utf8, npyx_array *array,
                               const char **text, size_t *text_nbytes, npyx_error *error) {
    *text = (const char *)bytes;
    *text_nbytes = nbytes;
    size_t nhigh = npyx_count_high(*text, nbytes);
    if (nhigh == 0 || (is_utf8 && npyx_utf8_is_valid(*text, nbytes)))
        return NPYX_OK;
    if (is_utf8)
        return npyx_fail_as(error, NPYX_KIND_HEADER, NPYX_CORRUPT, -1,
                            "the header of version 3.0 is not valid UTF-8");
    char *out = npyx_arena_alloc(&array->arena, nbytes + nhigh);
    NPYX_TRY(npyx_check_memory(out, error));
    *text = out;
    for (size_t i = 0; i < nbytes; i++)
        out += npyx_utf8_encode(bytes[i], out);
    *text_nbytes = (size_t)(out - *text);
    return NPYX_OK;
}

static npyx_status check_kind(const npyx_literal *literal, npyx_literal_kind kind, const char *what,
                              npyx_error *error) {
    return literal->kind == kind ? NPYX_OK : npyx_literal_fail_kind(literal, what, error);
}

static npyx_status npy_header_parse_shape(const npyx_literal *shape, npyx_array *array, npyx_error *error) {
    NPYX_TRY(check_kind(shape, NPYX_LITERAL_TUPLE, "shape is not a tuple", error));
    if (shape->nitems > NPYX_MAX_NDIM)
        return npyx_fail(error, NPYX_CORRUPT, (int64_t)shape->off,
                         "shape has %" PRId64 " dimensions (at most %d are read)", shape->nitems,
                         NPYX_MAX_NDIM);
    for (const npyx_literal *dim = shape->first; dim != NULL; dim = dim->next) {
        NPYX_TRY(check_kind(dim, NPYX_LITERAL_INT, "the shape has a dimension that is not an int", error));
        if (dim->is_too_big)
            return npyx_fail(error, NPYX_CORRUPT, (int64_t)dim->off,
                             "the shape has a dimension beyond 64-bit integers");
        if (dim->integer < 0)
            return npyx_fail(error, NPYX_CORRUPT, (int64_t)dim->off,
                             "the shape has a negative dimension (%" PRId64 ")", dim->integer);
        array->shape[array->ndim++] = dim->integer;
    }
    return NPYX_OK;
}

static npyx_status parse_descr(const npyx_literal *descr, const char *text, npyx_array *array,
                               npyx_error *error) {
    if (descr->kind == NPYX_LITERAL_TEXT) {
        array->descr = descr->text;
        array->descr_nbytes = descr->text_nbytes;
    } else {
        array->descr_nbytes = descr->end_off - descr->off;
        array->descr = npyx_arena_copy(&array->arena, text + descr->off, array->descr_nbytes);
        NPYX_TRY(npyx_check_memory(array->descr, error));
    }
    return npyx_dtype_from_literal(&array->arena, descr, &array->dtype, error);
}

static npyx_status parse_dict(const npyx_literal *dict, const char *text, npyx_array *array,
                              npyx_error *error) {
    enum { DESCR, FORTRAN_ORDER, SHAPE, NKEYS };
    static const char *const names[NKEYS] = {"descr", "fortran_order", "shape"};
    const npyx_literal *values[NKEYS] = {NULL};
    NPYX_TRY(check_kind(dict, NPYX_LITERAL_DICT, "the header is not a dict", error));
    for (const npyx_literal *key = dict->first; key != NULL; key = key->next->next) {
        npyx_span name = {key->text_nbytes > 0 ? key->text : "", key->text_nbytes};
        int i = 0;
        while (i < NKEYS && (key->kind != NPYX_LITERAL_TEXT || !npyx_span_is(name, names[i])))
            i++;
        if (i == NKEYS)
            return npyx_fail(error, NPYX_CORRUPT, (int64_t)key->off,
                             "the header has a key `%.*s` beside descr, fortran_order and shape",
                             NPYX_SHOWN(name.text, name.nbytes, 40));
        values[i] = key->next; /* a repeated key: the last wins, as in Python */
    }
    for (int i = 0; i < NKEYS; i++) {
        if (values[i] == NULL)
            return npyx_fail(error, NPYX_CORRUPT, (int64_t)dict->off, "the header has no key `%s`", names[i]);
    }
    const npyx_literal *fortran_order = values[FORTRAN_ORDER];
    NPYX_TRY(check_kind(fortran_order, NPYX_LITERAL_BOOL, "fortran_order is not a bool", error));
    array->fortran_order = fortran_order->truth;
    NPYX_TRY(npy_header_parse_shape(values[SHAPE], array, error));
    return parse_descr(values[DESCR], text, array, error);
}

npyx_status npyx_header_npy_parse(const uint8_t *bytes, size_t header_nbytes, npyx_array *array,
                                  npyx_error *error) {
    size_t text_off = prefix_nbytes(bytes[6]);
    array->version_major = bytes[6];
    array->version_minor = bytes[7];
    array->data_off = (int64_t)header_nbytes;
    const char *text = NULL;
    size_t text_nbytes = 0;
    NPYX_TRY(decode_text(bytes + text_off, header_nbytes - text_off, bytes[6] == 3, array, &text,
                         &text_nbytes, error));
    const npyx_literal *dict = NULL;
    npyx_status status = npyx_literal_parse(&array->arena, text, text_nbytes, bytes[6] < 3, &dict, error);
    if (status == NPYX_OK)
        status = parse_dict(dict, text, array, error);
    if (status == NPYX_OK)
        status = npyx_array_measure(array, error);
    if (status == NPYX_CORRUPT && error != NULL && error->off >= 0) {
        /* offsets in the dict become offsets in the file, and the message says so */
        npyx_error inner = *error;
        for (int64_t i = 0; text != (const char *)bytes + text_off && i < error->off; i++)
            inner.off -=
                ((unsigned char)text[i] & 0xc0) == 0x80; /* one byte in latin1, two in the parsed text */
        inner.off += (int64_t)text_off;
        npyx_error_set(error, status, inner.off, "bad header: %.*s at byte %" PRId64,
                       NPYX_MESSAGE_NBYTES - 60, inner.message, inner.off);
    }
    if (status == NPYX_CORRUPT)
        npyx_error_set_kind(error, NPYX_KIND_HEADER);
    return status;
}

npyx_status npyx_header_npy_read(npyx_source *source, const uint8_t *head, size_t head_nbytes,
                                 npyx_array *array, npyx_error *error) {
    size_t header_nbytes = 0;
    npyx_status status = npyx_header_npy_measure(head, head_nbytes, &header_nbytes, error);
    if (status != NPYX_OK) /* a header or less, as far as it goes */
        return source->nbytes < 12 ? npyx_source_blame_writer(source, status, error) : status;
    if (header_nbytes <= head_nbytes)
        return npyx_header_npy_parse(head, header_nbytes, array, error);
    if ((int64_t)header_nbytes > source->nbytes) /* checked before anything of that size is allocated */
        return npyx_fail_short(source, error, source->nbytes,
                               "the header is truncated (its length says %zu bytes, there are %" PRId64
                               " from byte %zu)",
                               header_nbytes - prefix_nbytes(head[6]),
                               source->nbytes - (int64_t)prefix_nbytes(head[6]), prefix_nbytes(head[6]));
    uint8_t *bytes = npyx_alloc(source->host, header_nbytes);
    NPYX_TRY(npyx_check_memory(bytes, error));
    status = npyx_source_read_exactly(source, 0, bytes, header_nbytes, error);
    if (status == NPYX_OK)
        status = npyx_header_npy_parse(bytes, header_nbytes, array, error);
    npyx_free(source->host, bytes);
    return status;
}

/* ---- .npy: writing ---- */

bool npyx_header_npy_is_fortran(int ndim, const int64_t *shape, bool fortran_order) {
    int nlong = 0;
    for (int axis = 0; axis < ndim; axis++) {
        if (shape[axis] == 0)
            return false;
        nlong += shape[axis] != 1;
    }
    return fortran_order && nlong > 1;
}

/* The dict, without padding. */
static void append_dict(const npyx_dtype *dtype, int ndim, const int64_t *shape, bool fortran_order,
                        npyx_buffer *text) {
    bool is_list = dtype->type == NPYX_STRUCT;
    npyx_buffer_append_text(text, is_list ? "{'descr': " : "{'descr': '");
    npyx_dtype_append_descr(dtype, text);
    npyx_buffer_printf(text, "%s, 'fortran_order': %s, 'shape': (", is_list ? "" : "'",
                       fortran_order ? "True" : "False");
    npyx_buffer_append_integers(text, shape, ndim);
    npyx_buffer_append_text(text, ndim == 1 ? ",), }" : "), }");
}

static void append_growth_room(int ndim, const int64_t *shape, bool fortran_order, npyx_buffer *text) {
    /* room for the dimension along which an array may grow, so that its header can be overwritten */
    enum { GROWTH_NDIGITS = 21 };
    char digits[NPYX_NUMBER_TEXT_NBYTES];
    if (ndim > 0)
        npyx_buffer_append_chars(
            text, ' ', GROWTH_NDIGITS - (int64_t)npyx_text_i64(shape[fortran_order ? ndim - 1 : 0], digits));
}

/* Turns UTF-8 into latin1 in place; false, with nothing changed, when it has other characters. */
static bool make_latin1(npyx_buffer *text) {
    for (size_t i = 0; i < text->nbytes; i++) {
        if ((unsigned char)text->bytes[i] > 0xc3) /* leads a character above U+00FF */
            return false;
    }
    size_t used_nbytes = 0;
    for (size_t i = 0; i < text->nbytes; i++) {
        unsigned char c = (unsigned char)text->bytes[i];
        if (c >= 0x80 && i + 1 < text->nbytes)
            c = (unsigned char)(c << 6 | ((unsigned char)text->bytes[++i] & 0x3f));
        text->bytes[used_nbytes++] = (char)c;
    }
    text->nbytes = used_nbytes;
    return true;
}

/* The dict with its prefix, padded with blanks to a header of header_nbytes. */
static void append_padded(npyx_buffer *text, int version_major, size_t header_nbytes, npyx_buffer *out) {
    enum { VERSION_OFF = 6, LENGTH_OFF = 8 };
    char prefix[12] = "\x93NUMPY";
    size_t text_off = prefix_nbytes(version_major), text_nbytes = header_nbytes - text_off;
    npyx_buffer_append_chars(text, ' ', (int64_t)(text_nbytes - text->nbytes - 1));
    npyx_buffer_append_char(text, '\n');
    prefix[VERSION_OFF] = (char)version_major;
    for (size_t i = LENGTH_OFF; i < text_off; i++)
        prefix[i] = (char)(uint8_t)(text_nbytes >> (8 * (i - LENGTH_OFF)));
    npyx_buffer_append(out, prefix, text_off);
    npyx_buffer_append(out, text->bytes, text->nbytes);
    if (text->status != NPYX_OK)
        out->status = text->status;
}

/* The next multiple of 64 that leaves room for at least a newline and a blank. */
static size_t aligned_nbytes(size_t nbytes) {
    return (nbytes + 1) / 64 * 64 + 64;
}

void npyx_header_npy_append(const npyx_dtype *dtype, int ndim, const int64_t *shape, bool fortran_order,
                            npyx_buffer *out) {
    npyx_buffer text = {.host = out->host};
    fortran_order = npyx_header_npy_is_fortran(ndim, shape, fortran_order);
    append_dict(dtype, ndim, shape, fortran_order, &text);
    append_growth_room(ndim, shape, fortran_order, &text);
    bool is_latin1 = text.status == NPYX_OK && make_latin1(&text);
    size_t short_nbytes = aligned_nbytes(prefix_nbytes(1) + text.nbytes);
    if (is_latin1 && short_nbytes - prefix_nbytes(1) <= UINT16_MAX)
        append_padded(&text, 1, short_nbytes, out);
    else
        append_padded(&text, is_latin1 ? 2 : 3, aligned_nbytes(prefix_nbytes(2) + text.nbytes), out);
    npyx_buffer_clear(&text);
}

npyx_status npyx_header_npy_write(const npyx_dtype *dtype, int ndim, const int64_t *shape, bool fortran_order,
                                  npyx_sink *sink, npyx_error *error) {
    npyx_buffer header = {.host = sink->host};
    npyx_header_npy_append(dtype, ndim, shape, fortran_order, &header);
    npyx_status status = npyx_buffer_check(&header, error);
    if (status == NPYX_OK)
        status = npyx_sink_append(sink, header.bytes, header.nbytes, error);
    npyx_buffer_clear(&header);
    return status;
}

npyx_status npyx_header_npy_append_fitted(const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                          int version_major, size_t header_nbytes, npyx_buffer *out,
                                          npyx_error *error) {
    npyx_buffer text = {.host = out->host};
    append_dict(dtype, ndim, shape, false, &text);
    bool is_spelled = version_major == 3 || make_latin1(&text);
    size_t used_nbytes = prefix_nbytes(version_major) + text.nbytes + 1;
    npyx_status status = npyx_buffer_check(&text, error);
    if (status == NPYX_OK && is_spelled && used_nbytes <= header_nbytes)
        append_padded(&text, version_major, header_nbytes, out);
    else if (status == NPYX_OK)
        status = npyx_fail(error, NPYX_INVALID, 0,
                           "the header has no room for more rows (it has %zu bytes, and would need %zu); "
                           "write a new file instead",
                           header_nbytes, used_nbytes);
    npyx_buffer_clear(&text);
    return status == NPYX_OK ? npyx_buffer_check(out, error) : status;
}

/* ---- .ten ---- */

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
    npyx_buffer text = npyx_buffer_over(ten->info, sizeof ten->info);
    npyx_buffer_append_utf8(&text, (const char *)info + first, end - first);
    ten->info_nbytes = text.nbytes;
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
