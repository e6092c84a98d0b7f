/* Items and arrays of them as JSON. */
#include "object.h"
#include "text/number_text.h"

/* Structures hold fields, which hold structures: what recurses here has small frames, since a header nests
 * them up to 98 deep and a thread may have a stack of 128 KiB. Axes do not recurse. */
static npyx_status element_append_json(const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                       const uint8_t *items, npyx_buffer *out, npyx_error *error);

/* JSON has no infinities, but 9e999 overflows to one in every reader of doubles, the host's included. */
static size_t append_special(double value, char *out) {
    return npyx_put_text(out, isnan(value) ? "null" : value > 0 ? "9e999" : "-9e999");
}

static size_t text_f64(double value, char *out) {
    return isfinite(value) ? npyx_text_f64(value, out) : append_special(value, out);
}

/* Narrow floats get only the digits their own width needs for a fraction to read back as the same float. From
 * 2^precision on all of them are whole, and fewer digits would be another number in a wider dtype: these get
 * float64's. */
static bool element_is_whole(float value, int precision_nbits) {
    return fabsf(value) >= (float)((uint64_t)1 << precision_nbits);
}

static size_t text_f32(float value, char *out) {
    return isfinite(value) && !element_is_whole(value, 24) ? npyx_text_f32(value, out)
                                                           : text_f64((double)value, out);
}

static size_t text_narrow(float value, int precision_nbits, int min_exponent, char *out) {
    return isfinite(value) && !element_is_whole(value, precision_nbits)
               ? npyx_text_narrow(value, precision_nbits, min_exponent, out)
               : text_f64((double)value, out);
}

/* Writes nelem items as text renders them, separated by commas; there must be room for all. */
#define WRITE_RUN(text)                                                                                      \
    for (int64_t i = 0; i < nelem; i++, item += itemsize) {                                                  \
        if (i > 0)                                                                                           \
            *out++ = ',';                                                                                    \
        out += (text);                                                                                       \
    }                                                                                                        \
    break

static size_t text_bool(const uint8_t *item, char *out) {
    return npyx_put_text(out, *item != 0 ? "true" : "false");
}

/* A string above 2^63 - 1, as the host's JSON would round a number. */
static size_t text_u64(uint64_t value, char *out) {
    if (value <= INT64_MAX)
        return npyx_text_u64(value, out);
    out[0] = '"';
    size_t nbytes = npyx_text_u64(value, out + 1);
    out[nbytes + 1] = '"';
    return nbytes + 2;
}

static size_t text_timedelta(int64_t count, char *out) {
    return count == NPYX_NAT ? append_special(NAN, out) : npyx_text_i64(count, out);
}

/* Writes at most NPYX_JSON_NELEM numbers of one type, checking the type only once. Returns the end of what it
 * wrote. */
static char *write_numbers(const npyx_dtype *dtype, const uint8_t *item, int64_t nelem, char *out) {
    const bool big = dtype->is_big_endian;
    const int64_t itemsize = dtype->itemsize;
    switch (dtype->type) {
    case NPYX_BOOL: WRITE_RUN(text_bool(item, out));
    case NPYX_I1: WRITE_RUN(npyx_text_i64((int8_t)*item, out));
    case NPYX_I2: WRITE_RUN(npyx_text_i64((int16_t)npyx_load_u16(item, big), out));
    case NPYX_I4: WRITE_RUN(npyx_text_i64((int32_t)npyx_load_u32(item, big), out));
    case NPYX_I8: WRITE_RUN(npyx_text_i64((int64_t)npyx_load_u64(item, big), out));
    case NPYX_U1: WRITE_RUN(npyx_text_u64(*item, out));
    case NPYX_U2: WRITE_RUN(npyx_text_u64(npyx_load_u16(item, big), out));
    case NPYX_U4: WRITE_RUN(npyx_text_u64(npyx_load_u32(item, big), out));
    case NPYX_U8: WRITE_RUN(text_u64(npyx_load_u64(item, big), out));
    case NPYX_F4: WRITE_RUN(text_f32(npyx_load_f32(item, big), out));
    case NPYX_F8: WRITE_RUN(text_f64(npyx_load_f64(item, big), out));
#define WRITE_NARROW(type, word, kind, nbits, fraction_nbits, bias)                                          \
    case NPYX_##type:                                                                                        \
        WRITE_RUN(text_narrow(npyx_##word##_to_f32((nbits) == 8 ? *item : npyx_load_u16(item, big)),         \
                              (fraction_nbits) + 1,                                                          \
                              NPYX_NARROW_##kind == NPYX_NARROW_FNU ? -(bias) : 1 - (bias), out));
        NPYX_NARROWS(WRITE_NARROW)
    default: /* timedelta64, and datetime64 without a unit */
        WRITE_RUN(text_timedelta((int64_t)npyx_load_u64(item, big), out));
    }
    return out;
}

/* Likewise, to a buffer. Not inlined into its callers, which recurse: its frame is large. */
static __attribute__((noinline)) void append_numbers(const npyx_dtype *dtype, const uint8_t *item,
                                                     int64_t nelem, npyx_buffer *out) {
    enum { NUMBER_NBYTES = NPYX_NUMBER_TEXT_NBYTES + 1 };
    size_t max_nbytes = (size_t)nelem * NUMBER_NBYTES;
    if (out->limit_nbytes != 0 && out->limit_nbytes - out->nbytes < max_nbytes) {
        char text[NPYX_JSON_NELEM_MOST * NUMBER_NBYTES]; /* the text may be shorter, and fit */
        npyx_buffer_append(out, text, (size_t)(write_numbers(dtype, item, nelem, text) - text));
    } else if (npyx_buffer_reserve(out, max_nbytes)) {
        out->nbytes = (size_t)(write_numbers(dtype, item, nelem, out->bytes + out->nbytes) - out->bytes);
    }
}

static bool element_is_number(const npyx_dtype *dtype) {
    npyx_type type = dtype->type;
    return (type <= NPYX_LAST_REAL && type != NPYX_F12 && type != NPYX_F16) || type == NPYX_TIMEDELTA ||
           (type == NPYX_DATETIME && dtype->unit == NPYX_UNIT_GENERIC);
}

/* Appends bytes that are not text in hexadecimal: JSON has only strings for them. */
static void append_hex(const uint8_t *bytes, size_t nbytes, npyx_buffer *out) {
    static const char digits[] = "0123456789ABCDEF";
    if (nbytes > SIZE_MAX / 2 - 1 || !npyx_buffer_reserve(out, nbytes * 2 + 2))
        return;
    char *at = out->bytes + out->nbytes;
    *at++ = '"';
    for (size_t i = 0; i < nbytes; i++) {
        *at++ = digits[bytes[i] >> 4];
        *at++ = digits[bytes[i] & 15];
    }
    *at++ = '"';
    out->nbytes += nbytes * 2 + 2;
}

static npyx_status append_struct(const npyx_dtype *dtype, const uint8_t *item, npyx_buffer *out,
                                 npyx_error *error) {
    char before = '{';
    for (const npyx_field *field = NULL; (field = npyx_field_after(dtype, field)) != NULL;) {
        npyx_buffer_append_char(out, before);
        before = ',';
        npyx_buffer_append_json(out, field->name, field->name_nbytes);
        npyx_buffer_append_char(out, ':');
        NPYX_TRY(
            npyx_element_append_json(field->dtype, field->ndim, field->shape, item + field->off, out, error));
    }
    npyx_buffer_append_text(out, before == '{' ? "{}" : "}");
    return NPYX_OK;
}

static __attribute__((noinline)) npyx_status append_complex(const npyx_dtype *dtype, const uint8_t *item,
                                                            npyx_buffer *out, npyx_error *error) {
    const npyx_dtype part = npyx_dtype_part(dtype);
    return element_append_json(&part, 1, &(int64_t){2}, item, out, error);
}

static __attribute__((noinline)) npyx_status append_scalar(const npyx_dtype *dtype, const uint8_t *item,
                                                           npyx_buffer *out, npyx_error *error) {
    npyx_buffer scratch = {.host = out->host};
    npyx_value value = {0};
    npyx_status status = npyx_element_scalar(dtype, item, &scratch, &value, error);
    if (status == NPYX_OK) {
        switch (value.kind) {
        case NPYX_VALUE_TEXT: npyx_buffer_append_json(out, value.bytes, value.nbytes); break;
        case NPYX_VALUE_BLOB: append_hex((const uint8_t *)value.bytes, value.nbytes, out); break;
        case NPYX_VALUE_REAL:
            if (npyx_buffer_reserve(out, NPYX_NUMBER_TEXT_NBYTES))
                out->nbytes += text_f64(value.real, out->bytes + out->nbytes);
            break;
        default: npyx_buffer_append_text(out, "null"); break;
        }
    }
    npyx_buffer_clear(&scratch);
    return status;
}

/* One item of a type whose length in JSON is not bounded by a number's. */
static npyx_status append_item(const npyx_dtype *dtype, const uint8_t *item, npyx_buffer *out,
                               npyx_error *error) {
    if (dtype->type == NPYX_STRUCT)
        return append_struct(dtype, item, out, error);
    if (npyx_dtype_kind(dtype) == 'c')
        return append_complex(dtype, item, out, error);
    if (dtype->type != NPYX_HELD_OBJECT)
        return append_scalar(dtype, item, out, error);
    NPYX_TRY(npyx_object_measure(npyx_object_of_item(item), out->host, error));
    return npyx_object_append_json(npyx_object_of_item(item), dtype->text_nbytes, out, error);
}

/* A list of nelem items without its brackets. */
static npyx_status element_append_items(const npyx_dtype *dtype, const uint8_t *items, int64_t nelem,
                                        npyx_buffer *out, npyx_error *error) {
    const bool numbers = element_is_number(dtype);
    const int64_t step = numbers ? NPYX_JSON_NELEM : 1;
    for (int64_t i = 0; i < nelem; i += step) {
        const uint8_t *item = items + i * dtype->itemsize;
        if (i > 0)
            npyx_buffer_append_char(out, ',');
        if (numbers)
            append_numbers(dtype, item, nelem - i < step ? nelem - i : step, out);
        else
            NPYX_TRY(append_item(dtype, item, out, error));
        if (out->status != NPYX_OK)
            return NPYX_OK; /* the buffer keeps the reason, and the caller checks it */
        if ((i & 0xffff) == 0)
            NPYX_TRY(npyx_poll(out->host, error));
    }
    return NPYX_OK;
}

static void append_brackets(char bracket, int n, npyx_buffer *out) {
    for (int i = 0; i < n; i++)
        npyx_buffer_append_char(out, bracket);
}

/* How many of the outer axes begin anew at innermost list number i. */
static int count_begun(int nouter, const int64_t *shape, int64_t i) {
    int nbegun = 0;
    while (nbegun < nouter && i % shape[nouter - 1 - nbegun] == 0)
        i /= shape[nouter - 1 - nbegun++];
    return nbegun;
}

static npyx_status element_append_json(const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                       const uint8_t *items, npyx_buffer *out, npyx_error *error) {
    int nouter = 0; /* axes whose entries are lists; what is within an axis of length 0 is not shown */
    int64_t nlists = 1;
    if (ndim == 0)
        return element_append_items(dtype, items, 1, out, error);
    while (nouter < ndim - 1 && shape[nouter] > 0)
        nlists *= shape[nouter++];
    const int64_t nelem = shape[nouter], nbytes = nelem * dtype->itemsize;
    for (int64_t i = 0; i < nlists && out->status == NPYX_OK; i++, items += nbytes) {
        int nbegun = count_begun(nouter, shape, i);
        if (i > 0) {
            append_brackets(']', nbegun, out);
            npyx_buffer_append_char(out, ',');
        }
        append_brackets('[', nbegun + 1, out);
        NPYX_TRY(element_append_items(dtype, items, nelem, out, error));
        npyx_buffer_append_char(out, ']');
        if ((i & 0xffff) == 0)
            NPYX_TRY(npyx_poll(out->host, error));
    }
    append_brackets(']', nouter, out);
    return NPYX_OK;
}

/* Limits what a claim can make of few bytes: more JSON than this is refused if no bytes back it. */
enum { EMPTY_JSON_NBYTES = 1 << 20 };

/* The least length of nested lists whose items take item_nbytes each. Any number will do beyond every
 * limit. */
static double least_list(int ndim, const int64_t *shape, double item_nbytes) {
    for (int axis = ndim - 1; axis >= 0; axis--)
        item_nbytes = fmin(1 + (double)shape[axis] * (item_nbytes + 1), 0x1p900);
    return item_nbytes;
}

static double least_item(const npyx_dtype *dtype) {
    double nbytes = dtype->type == NPYX_STRUCT ? 2 : 1;
    for (const npyx_field *field = NULL; (field = npyx_field_after(dtype, field)) != NULL;)
        nbytes +=
            (double)field->name_nbytes + least_list(field->ndim, field->shape, least_item(field->dtype));
    return nbytes;
}

double npyx_element_least_json(const npyx_dtype *dtype, int ndim, const int64_t *shape) {
    return least_list(ndim, shape, least_item(dtype));
}

npyx_status npyx_element_append_json(const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                     const uint8_t *items, npyx_buffer *out, npyx_error *error) {
    double least_nbytes = npyx_element_least_json(dtype, ndim, shape);
    bool has_bytes = dtype->itemsize > 0;
    for (int axis = 0; axis < ndim; axis++)
        has_bytes = has_bytes && shape[axis] > 0;
    bool is_bomb = !has_bytes && least_nbytes > EMPTY_JSON_NBYTES;
    if (is_bomb || (out->limit_nbytes != 0 && least_nbytes > (double)out->limit_nbytes)) {
        out->status = NPYX_TOOBIG; /* known before anything is built */
        return NPYX_OK;
    }
    return element_append_json(dtype, ndim, shape, items, out, error);
}

npyx_status npyx_element_value(const npyx_dtype *dtype, const uint8_t *item, npyx_buffer *scratch,
                               npyx_value *value, npyx_error *error) {
    if (dtype->type != NPYX_STRUCT && npyx_dtype_kind(dtype) != 'c')
        return npyx_element_scalar(dtype, item, scratch, value, error);
    npyx_buffer_reset(scratch);
    npyx_status status = npyx_element_append_json(dtype, 0, NULL, item, scratch, error);
    if (status == NPYX_OK)
        status = npyx_buffer_check(scratch, error);
    *value = (npyx_value){.kind = NPYX_VALUE_JSON, .bytes = scratch->bytes, .nbytes = scratch->nbytes};
    return status;
}
