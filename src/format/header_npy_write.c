#include "header_npy_write.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"

enum {
    MAGIC_NBYTES = 8, /* with the version */
    SHORT_PREFIX_NBYTES = MAGIC_NBYTES + 2,
    MAX_PREFIX_NBYTES = MAGIC_NBYTES + 4,
    NPY_HEADER_ALIGNMENT_NBYTES = 64,
    /* room for the dimension along which an array may grow, so that its header can be written over */
    GROWTH_NDIGITS = 21
};

static void append_spaces(npyx_buffer *text, size_t n) {
    for (; n > 0; n--)
        npyx_buffer_append_char(text, ' ');
}

/* The dict, without what pads it. */
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
    char digits[24];
    if (ndim == 0)
        return;
    int ndigits = snprintf(digits, sizeof digits, "%" PRId64, shape[fortran_order ? ndim - 1 : 0]);
    append_spaces(text, (size_t)(GROWTH_NDIGITS - ndigits));
}

/* Turns UTF-8 into latin1 in place; false, and nothing changed, when it has other characters. */
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

/* Magic, version and length, for a text that is complete. */
static void append_with_prefix(const npyx_buffer *text, int version_major, npyx_buffer *out) {
    char prefix[MAX_PREFIX_NBYTES] = "\x93NUMPY";
    size_t prefix_nbytes = version_major == 1 ? SHORT_PREFIX_NBYTES : MAX_PREFIX_NBYTES;
    prefix[6] = (char)version_major;
    for (size_t i = MAGIC_NBYTES; i < prefix_nbytes; i++)
        prefix[i] = (char)(uint8_t)(text->nbytes >> (8 * (i - MAGIC_NBYTES)));
    npyx_buffer_append(out, prefix, prefix_nbytes);
    npyx_buffer_append(out, text->bytes, text->nbytes);
}

void npyx_header_npy_append(const npyx_dtype *dtype, int ndim, const int64_t *shape, bool fortran_order,
                            npyx_buffer *out) {
    npyx_buffer text = {.host = out->host};
    append_dict(dtype, ndim, shape, fortran_order, &text);
    append_growth_room(ndim, shape, fortran_order, &text);
    bool is_latin1 = text.status == NPYX_OK && make_latin1(&text);
    size_t text_nbytes = text.nbytes + 1; /* with its newline */
    size_t pad_nbytes =
        NPY_HEADER_ALIGNMENT_NBYTES - (SHORT_PREFIX_NBYTES + text_nbytes) % NPY_HEADER_ALIGNMENT_NBYTES;
    bool is_short = is_latin1 && text_nbytes + pad_nbytes <= UINT16_MAX;
    if (!is_short)
        pad_nbytes =
            NPY_HEADER_ALIGNMENT_NBYTES - (MAX_PREFIX_NBYTES + text_nbytes) % NPY_HEADER_ALIGNMENT_NBYTES;
    append_spaces(&text, pad_nbytes);
    npyx_buffer_append_char(&text, '\n');
    append_with_prefix(&text, is_short ? 1 : is_latin1 ? 2 : 3, out);
    if (text.status != NPYX_OK)
        out->status = text.status;
    npyx_buffer_clear(&text);
}

/* Pads a dict to the size that its header is to have. */
static npyx_status fit(npyx_buffer *text, int version_major, size_t header_nbytes, npyx_error *error) {
    size_t prefix_nbytes = version_major == 1 ? SHORT_PREFIX_NBYTES : MAX_PREFIX_NBYTES;
    bool is_spelled = text->status == NPYX_OK && (version_major == 3 || make_latin1(text));
    size_t used_nbytes = prefix_nbytes + text->nbytes + 1;
    NPYX_TRY(npyx_buffer_check(text, error));
    if (!is_spelled || used_nbytes > header_nbytes)
        return npyx_fail(error, NPYX_INVALID, 0,
                         "the header has no room for more rows (it has %zu bytes, and would need %zu); write "
                         "a new file instead",
                         header_nbytes, used_nbytes);
    append_spaces(text, header_nbytes - used_nbytes);
    npyx_buffer_append_char(text, '\n');
    return npyx_buffer_check(text, error);
}

npyx_status npyx_header_npy_append_fitted(const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                          bool fortran_order, int version_major, size_t header_nbytes,
                                          npyx_buffer *out, npyx_error *error) {
    npyx_buffer text = {.host = out->host};
    append_dict(dtype, ndim, shape, fortran_order, &text);
    npyx_status status = fit(&text, version_major, header_nbytes, error);
    if (status == NPYX_OK)
        append_with_prefix(&text, version_major, out);
    npyx_buffer_clear(&text);
    return status == NPYX_OK ? npyx_buffer_check(out, error) : status;
}

bool npyx_header_npy_is_fortran(int ndim, const int64_t *shape, bool fortran_order) {
    int nlong = 0;
    for (int axis = 0; axis < ndim; axis++) {
        if (shape[axis] == 0)
            return false;
        nlong += shape[axis] != 1;
    }
    return fortran_order && nlong > 1;
}
