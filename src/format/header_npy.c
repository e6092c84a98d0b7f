#include "header_npy.h"

#include "base/bytes.h"
#include "io/first_bytes.h"
#include "text/number_text.h"
#include "text/span.h"

/* ---- reading ---- */

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
    if (literal->kind == kind)
        return NPYX_OK;
    return npyx_fail(error, NPYX_CORRUPT, (int64_t)literal->off, "%s (found %s)", what,
                     npyx_literal_kind_name(literal->kind));
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
        while (i < NKEYS && !(key->kind == NPYX_LITERAL_TEXT && npyx_span_is(name, names[i])))
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

/* ---- writing ---- */

bool npyx_header_npy_is_fortran(int ndim, const int64_t *shape, bool fortran_order) {
    int nlong = 0;
    for (int axis = 0; axis < ndim; axis++) {
        if (shape[axis] == 0)
            return false;
        nlong += shape[axis] != 1;
    }
    return fortran_order && nlong > 1;
}

static void append_spaces(npyx_buffer *text, size_t n) {
    for (; n > 0; n--)
        npyx_buffer_append_char(text, ' ');
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
        append_spaces(text, GROWTH_NDIGITS - npyx_text_i64(shape[fortran_order ? ndim - 1 : 0], digits));
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
    append_spaces(text, text_nbytes - text->nbytes - 1);
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
