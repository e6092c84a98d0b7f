#include "header_npy.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "base/utf8.h"
#include "io/first_bytes.h"

static size_t prefix_nbytes(const uint8_t *bytes) {
    return bytes[6] == 1 ? 10 : 12;
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
    if (nbytes < prefix_nbytes(bytes))
        return npyx_fail_as(
            error, NPYX_KIND_TRUNCATED, NPYX_CORRUPT, (int64_t)nbytes,
            "the header is truncated (the file ends at byte %zu, inside of the header's length)", nbytes);
    uint32_t text_nbytes = bytes[6] == 1 ? npyx_load_u16(bytes + 8, false) : npyx_load_u32(bytes + 8, false);
    if (text_nbytes > NPYX_HEADER_NPY_MAX_NBYTES)
        return npyx_fail_as(error, NPYX_KIND_HEADER, NPYX_CORRUPT, 8,
                            "the header claims %" PRIu32
                            " bytes (at most %d are read; the length is at byte 8)",
                            text_nbytes, NPYX_HEADER_NPY_MAX_NBYTES);
    *header_nbytes = prefix_nbytes(bytes) + text_nbytes;
    return NPYX_OK;
}

/* The header's text as UTF-8: versions 1 and 2 are latin1, version 3 UTF-8. */
static npyx_status decode_text(const uint8_t *bytes, size_t nbytes, bool is_utf8, npyx_array *array,
                               const char **text, size_t *text_nbytes, npyx_error *error) {
    size_t nhigh = 0;
    for (size_t i = 0; i < nbytes; i++)
        nhigh += bytes[i] >> 7;
    *text = (const char *)bytes;
    *text_nbytes = nbytes;
    if (nhigh == 0)
        return NPYX_OK;
    if (is_utf8) {
        if (npyx_utf8_is_valid(*text, nbytes))
            return NPYX_OK;
        return npyx_fail_as(error, NPYX_KIND_HEADER, NPYX_CORRUPT, -1,
                            "the header of version 3.0 is not valid UTF-8");
    }
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

static bool key_is(const npyx_literal *key, const char *name) {
    return key->kind == NPYX_LITERAL_TEXT && key->text_nbytes == strlen(name) &&
           memcmp(key->text, name, key->text_nbytes) == 0;
}

static npyx_status parse_dict(const npyx_literal *dict, const char *text, npyx_array *array,
                              npyx_error *error) {
    const npyx_literal *descr = NULL, *fortran_order = NULL, *shape = NULL;
    NPYX_TRY(check_kind(dict, NPYX_LITERAL_DICT, "the header is not a dict", error));
    for (const npyx_literal *key = dict->first; key != NULL; key = key->next->next) {
        if (key_is(key, "descr")) /* a repeated key: the last wins, as in Python */
            descr = key->next;
        else if (key_is(key, "fortran_order"))
            fortran_order = key->next;
        else if (key_is(key, "shape"))
            shape = key->next;
        else
            return npyx_fail(error, NPYX_CORRUPT, (int64_t)key->off,
                             "the header has a key `%.*s` beside descr, fortran_order and shape",
                             NPYX_SHOWN(key->text_nbytes > 0 ? key->text : "", key->text_nbytes, 40));
    }
    if (descr == NULL || fortran_order == NULL || shape == NULL)
        return npyx_fail(error, NPYX_CORRUPT, (int64_t)dict->off, "the header has no key `%s`",
                         descr == NULL           ? "descr"
                         : fortran_order == NULL ? "fortran_order"
                                                 : "shape");
    NPYX_TRY(check_kind(fortran_order, NPYX_LITERAL_BOOL, "fortran_order is not a bool", error));
    array->fortran_order = fortran_order->truth;
    NPYX_TRY(npy_header_parse_shape(shape, array, error));
    return parse_descr(descr, text, array, error);
}

npyx_status npyx_header_npy_parse(const uint8_t *bytes, size_t header_nbytes, npyx_array *array,
                                  npyx_error *error) {
    size_t text_off = prefix_nbytes(bytes);
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
        /* what counted from the dict counts from the file, and says so */
        npyx_error inner = *error;
        for (int64_t i = 0; text != (const char *)bytes + text_off && i < error->off; i++)
            inner.off -=
                ((unsigned char)text[i] & 0xc0) == 0x80; /* one byte in latin1, two in what was parsed */
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
    if (status != NPYX_OK) /* of a header or less: as much as there is */
        return source->nbytes < 12 ? npyx_source_blame_writer(source, status, error) : status;
    if (header_nbytes <= head_nbytes)
        return npyx_header_npy_parse(head, header_nbytes, array, error);
    if ((int64_t)header_nbytes > source->nbytes) { /* checked before anything of that size is allocated */
        status = npyx_fail_as(error, NPYX_KIND_TRUNCATED, NPYX_CORRUPT, source->nbytes,
                              "the header is truncated (its length says %zu bytes, there are %" PRId64
                              " from byte %zu)",
                              header_nbytes - prefix_nbytes(head),
                              source->nbytes - (int64_t)prefix_nbytes(head), prefix_nbytes(head));
        return npyx_source_blame_writer(source, status, error);
    }
    uint8_t *bytes = npyx_alloc(source->host, header_nbytes);
    NPYX_TRY(npyx_check_memory(bytes, error));
    status = npyx_source_read_exactly(source, 0, bytes, header_nbytes, error);
    if (status == NPYX_OK)
        status = npyx_header_npy_parse(bytes, header_nbytes, array, error);
    npyx_free(source->host, bytes);
    return status;
}
