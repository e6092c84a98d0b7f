/*
 * Items, arrays of them, and Python objects as JSON and as values. They are one file because they hold each
 * other: an object may be an array, whose items may be objects. What is written of objects is charged to an
 * account.
 */
#include "object.h"

#include "base/host.h"
#include "base/names.h"
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
    npyx_status status = npyx_element_plain(dtype, item, &scratch, &value, error);
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
            npyx_buffer_append_chars(out, ']', nbegun);
            npyx_buffer_append_char(out, ',');
        }
        npyx_buffer_append_chars(out, '[', nbegun + 1);
        NPYX_TRY(element_append_items(dtype, items, nelem, out, error));
        npyx_buffer_append_char(out, ']');
        if ((i & 0xffff) == 0)
            NPYX_TRY(npyx_poll(out->host, error));
    }
    npyx_buffer_append_chars(out, ']', nouter);
    return NPYX_OK;
}

/* Limits what a claim can make of few bytes: more JSON than this is refused if no bytes back it. */
enum { EMPTY_JSON_NBYTES = 1 << 20 };

npyx_status npyx_element_append_json(const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                     const uint8_t *items, npyx_buffer *out, npyx_error *error) {
    double least_nbytes = npyx_element_least_json(dtype, ndim, shape);
    bool has_bytes = dtype->itemsize > 0;
    for (int axis = 0; axis < ndim; axis++)
        has_bytes = has_bytes && shape[axis] > 0;
    bool is_bomb = !has_bytes && least_nbytes > (double)EMPTY_JSON_NBYTES;
    if (is_bomb || (out->limit_nbytes != 0 && least_nbytes > (double)out->limit_nbytes)) {
        out->status = NPYX_TOOBIG; /* known before anything is built */
        return NPYX_OK;
    }
    return element_append_json(dtype, ndim, shape, items, out, error);
}

static const npyx_dtype object_f8 = {
    .type = NPYX_F8, .is_big_endian = NPYX_HOST_IS_BIG_ENDIAN, .multiple = 1, .itemsize = 8};

/* ---- objects ---- */

/* What the current object of a file is in: such objects were not measured, and may contain themselves. */
typedef struct object_ancestors {
    npyx_object_array_name *name;
    const void *ctx;
    const npyx_object *objects[NPYX_OBJECT_MAX_DEPTH];
    int depth;
} object_ancestors;

/* What the writing of an object and of all that is in it shares. */
typedef struct object_writing {
    npyx_buffer *out;
    npyx_error *error;
    object_ancestors *ancestors; /* NULL: it is the item of an array, and measured */
} object_writing;

static npyx_status object_append(const object_writing *w, const npyx_object *object);

/* Texts and bytes are written in pieces of this size, with a check of the account in between. A multiple of
 * 3. */
enum { OBJECT_PIECE_NBYTES = 3 << 12 };

/* Charges what was appended since out had before_nbytes. */
static npyx_status object_charge(const object_writing *w, size_t before_nbytes) {
    return npyx_budget_spend(w->out->budget, w->out->nbytes - before_nbytes, w->error);
}

/* How much of a text is its next piece, in whole characters. */
static size_t object_piece(const char *text, size_t nbytes) {
    size_t n = nbytes < OBJECT_PIECE_NBYTES ? nbytes : OBJECT_PIECE_NBYTES;
    while (n < nbytes && n > OBJECT_PIECE_NBYTES - 4 && ((uint8_t)text[n] & 0xc0) == 0x80)
        n--;
    return n;
}

/* A text as a JSON string; a long one in pieces. */
static npyx_status object_append_text(const object_writing *w, const char *text, size_t nbytes) {
    npyx_buffer *out = w->out;
    if (nbytes <= OBJECT_PIECE_NBYTES) { /* like most */
        size_t before_nbytes = out->nbytes;
        npyx_buffer_append_json(out, text, nbytes);
        return object_charge(w, before_nbytes);
    }
    npyx_buffer_append_char(out, '"');
    for (size_t i = 0, n; i < nbytes && out->status == NPYX_OK; i += n) {
        size_t before_nbytes = out->nbytes;
        n = object_piece(text + i, nbytes - i);
        npyx_buffer_append_json_part(out, text + i, n);
        NPYX_TRY(object_charge(w, before_nbytes));
    }
    npyx_buffer_append_char(out, '"');
    return NPYX_OK;
}

static void object_append_base64(const uint8_t *bytes, size_t nbytes, npyx_buffer *out) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (nbytes > SIZE_MAX / 2 || !npyx_buffer_reserve(out, (nbytes + 2) / 3 * 4))
        return;
    char *at = out->bytes + out->nbytes;
    for (size_t i = 0; i < nbytes; i += 3, at += 4) {
        size_t n = nbytes - i < 3 ? nbytes - i : 3;
        uint32_t word =
            (uint32_t)bytes[i] << 16 | (n > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) | (n > 2 ? bytes[i + 2] : 0);
        at[0] = digits[word >> 18];
        at[1] = digits[word >> 12 & 63];
        at[2] = n > 1 ? digits[word >> 6 & 63] : '=';
        at[3] = n > 2 ? digits[word & 63] : '=';
    }
    out->nbytes = (size_t)(at - out->bytes);
}

static npyx_status object_append_bytes(const object_writing *w, const npyx_object *object) {
    npyx_buffer *out = w->out;
    const size_t nbytes = object->text.nbytes;
    npyx_buffer_append_text(out, "{\"__bytes__\":\"");
    for (size_t i = 0, n; i < nbytes && out->status == NPYX_OK; i += n) {
        size_t before_nbytes = out->nbytes;
        n = nbytes - i < OBJECT_PIECE_NBYTES ? nbytes - i : OBJECT_PIECE_NBYTES;
        object_append_base64((const uint8_t *)object->text.bytes + i, n, out);
        NPYX_TRY(object_charge(w, before_nbytes));
    }
    npyx_buffer_append_text(out, "\"}");
    return NPYX_OK;
}

static npyx_status object_append_list(const object_writing *w, const npyx_object *object) {
    npyx_buffer_append_char(w->out, '[');
    for (uint32_t i = 0; i < object->list.count && w->out->status == NPYX_OK; i++) {
        if (i > 0)
            npyx_buffer_append_char(w->out, ',');
        NPYX_TRY(object_append(w, object->list.items[i]));
    }
    npyx_buffer_append_char(w->out, ']');
    return NPYX_OK;
}

/* A key as a text: its JSON if it is not one, as json.dumps does with numbers and None. That is in scratch.
 */
static npyx_status object_key(const object_writing *w, const npyx_object *key, npyx_buffer *scratch,
                              const char **text, size_t *nbytes) {
    if (key->kind == NPYX_OBJECT_TEXT) {
        *text = key->text.bytes;
        *nbytes = key->text.nbytes;
        return NPYX_OK;
    }
    const object_writing aside = {scratch, w->error, w->ancestors};
    npyx_buffer_reset(scratch);
    NPYX_TRY(object_append(&aside, key));
    *text = scratch->bytes;
    *nbytes = scratch->nbytes;
    return npyx_buffer_check(scratch, w->error);
}

/* Collects all keys of a dict, so that the last of equal ones can be found. */
static npyx_status object_list_keys(const object_writing *w, const npyx_object *dict, npyx_name_set *keys,
                                    npyx_buffer *scratch) {
    enum { KEY_NBYTES = 64 }; /* of an entry and its slots */
    for (uint32_t i = 0; i < dict->list.count; i += 2) {
        const char *text;
        size_t nbytes;
        NPYX_TRY(object_key(w, dict->list.items[i], scratch, &text, &nbytes));
        NPYX_TRY(npyx_budget_spend(scratch->budget, KEY_NBYTES + nbytes, w->error));
        NPYX_TRY(npyx_name_set_add(keys, text, nbytes, w->error));
    }
    return NPYX_OK;
}

/* Appends the pairs, except those whose key occurs again later. */
static npyx_status object_append_pairs(const object_writing *w, const npyx_object *dict,
                                       const npyx_name_set *keys) {
    npyx_buffer *out = w->out;
    char before = '{';
    for (int64_t i = 0; i < keys->count && out->status == NPYX_OK; i++) {
        size_t nbytes = 0;
        const char *text = npyx_name_set_text(keys, i, &nbytes);
        NPYX_TRY(npyx_budget_work(out->budget, nbytes, w->error)); /* it is hashed */
        if (npyx_name_set_find(keys, text, nbytes, NULL) != i)
            continue;
        npyx_buffer_append_char(out, before);
        before = ',';
        NPYX_TRY(object_append_text(w, text, nbytes));
        npyx_buffer_append_char(out, ':');
        NPYX_TRY(object_append(w, dict->list.items[2 * i + 1]));
    }
    npyx_buffer_append_text(out, before == '{' ? "{}" : "}");
    return NPYX_OK;
}

static npyx_status object_append_dict(const object_writing *w, const npyx_object *dict) {
    npyx_buffer *out = w->out;
    npyx_name_set keys = {.bytes.host = out->host};
    npyx_buffer scratch = {.host = out->host, .limit_nbytes = out->limit_nbytes, .budget = out->budget};
    npyx_status status = object_list_keys(w, dict, &keys, &scratch);
    if (status == NPYX_OK)
        status = object_append_pairs(w, dict, &keys);
    npyx_buffer_clear(&scratch);
    npyx_name_set_clear(&keys);
    return status;
}

static npyx_status object_append_member(const object_writing *w, const char *name,
                                        const npyx_object *object) {
    if (object == NULL)
        return NPYX_OK;
    npyx_buffer_append_text(w->out, name);
    return object_append(w, object);
}

/* Appends the name of what would have been called, or the JSON if that is an object itself. */
static npyx_status object_append_class(const object_writing *w, const npyx_object *callable) {
    npyx_buffer_append_text(w->out, "{\"__class__\":");
    if (callable->kind != NPYX_OBJECT_GLOBAL)
        return object_append(w, callable);
    return object_append_text(w, callable->text.bytes, callable->text.nbytes);
}

static npyx_status object_append_instance(const object_writing *w, const npyx_object_instance *instance) {
    NPYX_TRY(object_append_class(w, instance->callable));
    if (instance->args == NULL && w->ancestors == NULL)
        npyx_buffer_append_text(w->out, ",\"args\":[]");
    NPYX_TRY(object_append_member(w, ",\"args\":", instance->args));
    NPYX_TRY(object_append_member(w, ",\"kwargs\":", instance->kwargs));
    NPYX_TRY(object_append_member(w, ",\"items\":", instance->items));
    NPYX_TRY(object_append_member(w, ",\"entries\":", instance->entries));
    NPYX_TRY(object_append_member(w, ",\"state\":", instance->state));
    npyx_buffer_append_char(w->out, '}');
    return NPYX_OK;
}

static void object_append_integer(int64_t integer, npyx_buffer *out) {
    if (npyx_buffer_reserve(out, NPYX_NUMBER_TEXT_NBYTES))
        out->nbytes += npyx_text_i64(integer, out->bytes + out->nbytes);
}

static npyx_status object_append_reals(const object_writing *w, const double *reals, int ndim) {
    const int64_t two = 2;
    return npyx_element_append_json(&object_f8, ndim, &two, (const uint8_t *)reals, w->out, w->error);
}

/* Objects in it are charged by themselves, and their places here. */
static npyx_status object_append_array(const object_writing *w, const npyx_object_array *array) {
    size_t before_nbytes = w->out->nbytes;
    uint64_t nbytes = (uint64_t)(array->nobjects * array->dtype->itemsize);
    NPYX_TRY(npyx_budget_spend(w->out->budget, nbytes, w->error));
    NPYX_TRY(
        npyx_element_append_json(array->dtype, array->ndim, array->shape, array->items, w->out, w->error));
    return array->nobjects > 0 ? NPYX_OK : object_charge(w, before_nbytes);
}

/* Of a file, NumPy's scalars, which are arrays without axes, are shown by their value. */
static npyx_status named_append_array(const object_writing *w, const npyx_object_array *array) {
    if (array->dtype->type == NPYX_HELD_OBJECT && array->nobjects == 1)
        return object_append(w, npyx_object_of_item(array->items));
    if (array->ndim == 0 && array->items != NULL && !array->dtype->has_objects)
        return npyx_element_append_json(array->dtype, 0, NULL, array->items, w->out, w->error);
    npyx_buffer_append_text(w->out, "null");
    return NPYX_OK;
}

static npyx_status named_append_key(const object_writing *w, const npyx_object *key) {
    npyx_buffer scratch = {.host = w->out->host, .budget = w->out->budget};
    const char *text;
    size_t nbytes;
    if (key->kind == NPYX_OBJECT_TEXT)
        return object_append(w, key);
    npyx_status status = object_key(w, key, &scratch, &text, &nbytes);
    if (status == NPYX_OK)
        status = object_append_text(w, text, nbytes);
    npyx_buffer_clear(&scratch);
    return status;
}

/* Of a file, all pairs are shown. */
static npyx_status named_append_dict(const object_writing *w, const npyx_object *dict) {
    npyx_buffer_append_char(w->out, '{');
    for (uint32_t i = 0; i + 1 < dict->list.count; i += 2) {
        npyx_buffer_append_text(w->out, i > 0 ? "," : "");
        NPYX_TRY(named_append_key(w, dict->list.items[i]));
        npyx_buffer_append_char(w->out, ':');
        NPYX_TRY(object_append(w, dict->list.items[i + 1]));
    }
    npyx_buffer_append_char(w->out, '}');
    return NPYX_OK;
}

static npyx_status object_append_kind(const object_writing *w, const npyx_object *object) {
    npyx_buffer *out = w->out;
    switch (object->kind) {
    case NPYX_OBJECT_NONE: npyx_buffer_append_text(out, "null"); break;
    case NPYX_OBJECT_BOOL: npyx_buffer_append_text(out, object->integer != 0 ? "true" : "false"); break;
    case NPYX_OBJECT_INTEGER: object_append_integer(object->integer, out); break;
    case NPYX_OBJECT_WIDE: npyx_buffer_append(out, object->text.bytes, object->text.nbytes); break;
    case NPYX_OBJECT_REAL: return object_append_reals(w, &object->real, 0);
    case NPYX_OBJECT_TEXT: return object_append_text(w, object->text.bytes, object->text.nbytes);
    case NPYX_OBJECT_BYTES: return object_append_bytes(w, object);
    case NPYX_OBJECT_GLOBAL:
        NPYX_TRY(object_append_class(w, object));
        npyx_buffer_append_char(out, '}');
        break;
    case NPYX_OBJECT_COMPLEX: return object_append_reals(w, object->parts, 1);
    case NPYX_OBJECT_LEFT: npyx_buffer_printf(out, "{\"__bytes__\":%" PRId64 "}", object->left.nbytes); break;
    case NPYX_OBJECT_LIST:
    case NPYX_OBJECT_TUPLE:
    case NPYX_OBJECT_SET: return object_append_list(w, object);
    case NPYX_OBJECT_DICT:
        return w->ancestors == NULL ? object_append_dict(w, object) : named_append_dict(w, object);
    case NPYX_OBJECT_ARRAY:
        return w->ancestors == NULL ? object_append_array(w, object->array)
                                    : named_append_array(w, object->array);
    default: return object_append_instance(w, object->instance);
    }
    return NPYX_OK;
}

enum { OBJECT_NBYTES = 8 }; /* a comma, and what is not text */

/* An object of a file; null if it contains itself, or is too deep. Not inlined into its caller, which
 * recurses deeper for items. */
static __attribute__((noinline)) npyx_status named_append(const object_writing *w,
                                                          const npyx_object *object) {
    enum { NODE_NBYTES = 16 }; /* brackets and names */
    object_ancestors *ancestors = w->ancestors;
    npyx_budget *budget = w->out->budget;
    int i = 0;
    NPYX_TRY(npyx_budget_spend(budget, NODE_NBYTES + (object->kind < NPYX_OBJECT_LIST ? OBJECT_NBYTES : 0),
                               w->error));
    NPYX_TRY(npyx_budget_work(budget, sizeof *object * (size_t)ancestors->depth, w->error));
    if (object->array_number > 0) {
        const char *name = NULL;
        size_t nbytes = 0;
        ancestors->name(ancestors->ctx, object->array_number, &name, &nbytes);
        npyx_buffer_append_text(w->out, "{\"__array__\":");
        NPYX_TRY(object_append_text(w, name, nbytes));
        npyx_buffer_append_char(w->out, '}');
        return NPYX_OK;
    }
    while (i < ancestors->depth && ancestors->objects[i] != object)
        i++;
    if (i < ancestors->depth || ancestors->depth == NPYX_OBJECT_MAX_DEPTH) {
        npyx_buffer_append_text(w->out, "null");
        return NPYX_OK;
    }
    ancestors->objects[ancestors->depth++] = object;
    npyx_status status = object_append_kind(w, object);
    ancestors->depth--;
    return status;
}

static npyx_status object_append(const object_writing *w, const npyx_object *object) {
    if (w->out->status != NPYX_OK)
        return NPYX_OK; /* the buffer keeps the reason */
    if (w->ancestors != NULL)
        return named_append(w, object);
    NPYX_TRY(npyx_budget_spend(w->out->budget, OBJECT_NBYTES, w->error));
    return object_append_kind(w, object);
}

npyx_status npyx_object_append_named(const npyx_object *root, npyx_object_array_name *name, const void *ctx,
                                     npyx_buffer *out, npyx_error *error) {
    object_ancestors *ancestors = npyx_alloc(out->host, sizeof *ancestors);
    NPYX_TRY(npyx_check_memory(ancestors, error));
    *ancestors = (object_ancestors){.name = name, .ctx = ctx};
    npyx_status status = object_append(&(object_writing){out, error, ancestors}, root);
    npyx_free(out->host, ancestors);
    return status;
}

/* What is too long is known before anything is built. */
static npyx_status object_append_measured(const npyx_object *object, npyx_buffer *out, npyx_error *error) {
    if (out->limit_nbytes != 0 && object->json_nbytes > (double)out->limit_nbytes) {
        out->status = NPYX_TOOBIG;
        return NPYX_OK;
    }
    if (object->json_nbytes > (double)npyx_budget_left(out->budget))
        return npyx_budget_fail(out->budget, error);
    return object_append(&(object_writing){out, error, NULL}, object);
}

npyx_status npyx_object_append_json(const npyx_object *object, uint64_t text_nbytes, npyx_buffer *out,
                                    npyx_error *error) {
    if (out->budget != NULL)
        return object_append_measured(object, out, error);
    if (object->kind == NPYX_OBJECT_INTEGER) { /* most are, and numbers need no account */
        object_append_integer(object->integer, out);
        return NPYX_OK;
    }
    if (object->kind == NPYX_OBJECT_TEXT && object->text.nbytes <= OBJECT_PIECE_NBYTES) {
        npyx_buffer_append_json(out, object->text.bytes, object->text.nbytes);
        return NPYX_OK;
    }
    npyx_budget budget = npyx_budget_of(out->host, text_nbytes);
    out->budget = &budget;
    npyx_status status = object_append_measured(object, out, error);
    out->budget = NULL;
    return status;
}

/* ---- values ---- */

static bool object_is_null_scalar(const npyx_object_array *array) {
    const npyx_dtype *dtype = array->dtype;
    npyx_buffer unused = {0};
    npyx_value value = {0};
    npyx_error error;
    if (dtype->type == NPYX_HELD_OBJECT)
        return npyx_object_is_null(npyx_object_of_item(array->items));
    if (npyx_type_is_date(dtype->type))
        return (int64_t)npyx_load_u64(array->items, dtype->is_big_endian) == NPYX_NAT;
    return npyx_dtype_is_real(dtype) &&
           npyx_element_plain(dtype, array->items, &unused, &value, &error) == NPYX_OK &&
           value.kind == NPYX_VALUE_NULL;
}

bool npyx_object_is_null(const npyx_object *object) {
    if (object->kind == NPYX_OBJECT_ARRAY && object->array->ndim == 0)
        return object_is_null_scalar(object->array);
    return object->kind == NPYX_OBJECT_NONE || (object->kind == NPYX_OBJECT_REAL && isnan(object->real));
}

/* The JSON in scratch as a value, unless it could not be made. */
static npyx_status json_value(npyx_status status, npyx_buffer *scratch, npyx_value *value,
                              npyx_error *error) {
    *value = (npyx_value){.kind = NPYX_VALUE_JSON, .bytes = scratch->bytes, .nbytes = scratch->nbytes};
    return status == NPYX_OK ? npyx_buffer_check(scratch, error) : status;
}

npyx_status npyx_object_value(const npyx_object *object, uint64_t text_nbytes, npyx_buffer *scratch,
                              npyx_value *value, npyx_error *error) {
    if (object->kind == NPYX_OBJECT_ARRAY && object->array->ndim == 0)
        return npyx_element_value(object->array->dtype, object->array->items, scratch, value, error);
    switch (object->kind) {
    case NPYX_OBJECT_NONE: *value = (npyx_value){.kind = NPYX_VALUE_NULL}; return NPYX_OK;
    case NPYX_OBJECT_BOOL:
    case NPYX_OBJECT_INTEGER:
        *value = (npyx_value){.kind = NPYX_VALUE_INTEGER, .integer = object->integer};
        return NPYX_OK;
    case NPYX_OBJECT_REAL:
        *value = (npyx_value){.kind = isnan(object->real) ? NPYX_VALUE_NULL : NPYX_VALUE_REAL,
                              .real = object->real};
        return NPYX_OK;
    case NPYX_OBJECT_WIDE:
    case NPYX_OBJECT_TEXT:
    case NPYX_OBJECT_BYTES:
        *value = (npyx_value){.kind = object->kind == NPYX_OBJECT_BYTES ? NPYX_VALUE_BLOB : NPYX_VALUE_TEXT,
                              .bytes = object->text.nbytes == 0 ? "" : object->text.bytes,
                              .nbytes = object->text.nbytes};
        return NPYX_OK;
    default:
        npyx_buffer_reset(scratch);
        return json_value(npyx_object_append_json(object, text_nbytes, scratch, error), scratch, value,
                          error);
    }
}

/* ---- items as values ---- */

npyx_status npyx_element_object(const npyx_dtype *dtype, const uint8_t *item, npyx_buffer *scratch,
                                npyx_value *value, npyx_error *error) {
    NPYX_TRY(npyx_object_measure(npyx_object_of_item(item), scratch->host, error));
    return npyx_object_value(npyx_object_of_item(item), dtype->text_nbytes, scratch, value, error);
}

npyx_status npyx_element_value(const npyx_dtype *dtype, const uint8_t *item, npyx_buffer *scratch,
                               npyx_value *value, npyx_error *error) {
    if (dtype->type != NPYX_STRUCT && npyx_dtype_kind(dtype) != 'c')
        return npyx_element_scalar(dtype, item, scratch, value, error);
    npyx_buffer_reset(scratch);
    return json_value(npyx_element_append_json(dtype, 0, NULL, item, scratch, error), scratch, value, error);
}
