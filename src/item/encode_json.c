/*
 * Values and JSON as items.
 *
 * JSON is read token by token while the dtype says what must follow: lists along the axes, and for an item a
 * scalar, `[re, im]`, or an object or a list of fields, whose subarrays are lists again:
 *
 *     [[{"x": 1, "v": [1, 2]}, ...], ...]       shape (n, m) of [('x', '<i4'), ('v', '<f4', (2,))]
 *
 * Nothing is built in between; the recursion is as deep as the text, which the reader bounds.
 */
#include "encode.h"

#include <stdio.h>

#include "array/view.h"
#include "convert.h"
#include "text/json_text.h"

/* Both read the value whose first token is current, and leave its last one current. */
static npyx_status encode_item(npyx_json_reader *r, const npyx_dtype *dtype, uint8_t *item,
                               npyx_error *error);
static npyx_status encode_lists(npyx_json_reader *r, const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                uint8_t *items, npyx_error *error);

/* Puts the indices of the lists around a fault before its message, outermost first: `[2, 0]: `. */
static __attribute__((noinline)) npyx_status encode_place(npyx_error *error, npyx_status status,
                                                          int64_t index) {
    if (error != NULL && error->message[0] == '[') { /* written by the list within */
        char within[NPYX_MESSAGE_NBYTES];
        memcpy(within, error->message + 1, sizeof within - 1);
        if (status == NPYX_INVALID)
            npyx_error_set(error, status, error->off, "[%" PRId64 ", %s", index, within);
        return status;
    }
    return npyx_error_place(error, status, "[%" PRId64 "]", index);
}

/* Moves to the next value of a list of nexpected, nread of which were read. *is_end: there is none. */
static __attribute__((noinline)) npyx_status
next_of_list(npyx_json_reader *r, int64_t nread, int64_t nexpected, bool *is_end, npyx_error *error) {
    NPYX_TRY(npyx_json_next(r, error));
    *is_end = r->token == NPYX_JSON_LIST_END;
    if (*is_end ? nread < nexpected : nread == nexpected)
        return npyx_refuse(error, "the list has %s than %" PRId64 " item%s", *is_end ? "fewer" : "more",
                           nexpected, nexpected == 1 ? "" : "s");
    return NPYX_OK;
}

/* The tokens that begin a value. */
static const char *const token_names[] = {
    [NPYX_JSON_NULL] = "null",       [NPYX_JSON_TRUE] = "true",       [NPYX_JSON_FALSE] = "false",
    [NPYX_JSON_NUMBER] = "a number", [NPYX_JSON_STRING] = "a string", [NPYX_JSON_LIST] = "a list",
    [NPYX_JSON_OBJECT] = "an object"};

static npyx_status encode_complex(npyx_json_reader *r, const npyx_dtype *dtype, uint8_t *item,
                                  npyx_error *error) {
    const npyx_dtype part = npyx_dtype_part(dtype);
    bool is_end = false;
    for (int64_t i = 0;; i++, item += part.itemsize) {
        npyx_status status = next_of_list(r, i, 2, &is_end, error);
        if (status != NPYX_OK)
            return npyx_error_place(error, status, "a complex item is [re, im], an innermost list");
        if (is_end)
            return NPYX_OK;
        if (r->token == NPYX_JSON_LIST)
            return npyx_refuse(error,
                               "a complex item is [re, im], an innermost list: it has a list for a number");
        NPYX_TRY(encode_item(r, &part, item, error));
    }
}

/* ---- structured items ---- */

static npyx_status encode_field(npyx_json_reader *r, const npyx_field *field, uint8_t *item,
                                npyx_error *error) {
    npyx_status status = encode_lists(r, field->dtype, field->ndim, field->shape, item + field->off, error);
    return npyx_error_place(error, status, "field '%.*s'", NPYX_SHOWN(field->name, field->name_nbytes, 80));
}

static int64_t nfields_of(const npyx_dtype *dtype) {
    int64_t nfields = 0;
    for (const npyx_field *field = NULL; (field = npyx_field_after(dtype, field)) != NULL;)
        nfields++;
    return nfields;
}

/* All fields in order. */
static npyx_status encode_fields(npyx_json_reader *r, const npyx_dtype *dtype, uint8_t *item,
                                 npyx_error *error) {
    const int64_t nfields = nfields_of(dtype);
    const npyx_field *field = npyx_field_after(dtype, NULL);
    for (int64_t i = 0;; i++, field = npyx_field_after(dtype, field)) {
        bool is_end = false;
        npyx_status status = next_of_list(r, i, nfields, &is_end, error);
        if (status != NPYX_OK)
            return npyx_error_place(error, status, "a structured item has %" PRId64 " field%s", nfields,
                                    nfields == 1 ? "" : "s");
        if (is_end || field == NULL)
            return NPYX_OK;
        NPYX_TRY(encode_field(r, field, item, error));
    }
}

static npyx_status fail_name(const char *what, const char *name, size_t name_nbytes, npyx_error *error) {
    return npyx_refuse(error, "%s field '%.*s'", what, NPYX_SHOWN(name, name_nbytes, 80));
}

/* The members of an object; is_set has a byte for each field. */
static npyx_status encode_members(npyx_json_reader *r, const npyx_dtype *dtype, uint8_t *item, bool *is_set,
                                  npyx_error *error) {
    for (int next = 0;; next++) {
        NPYX_TRY(npyx_json_next(r, error));
        if (r->token == NPYX_JSON_OBJECT_END)
            break;
        int i = npyx_dtype_find_field(dtype, next, r->string, r->string_nbytes, false);
        if (i < 0)
            return fail_name("there is no", r->string, r->string_nbytes, error);
        if (is_set[i])
            return fail_name("two values are given for", r->string, r->string_nbytes, error);
        is_set[i] = true;
        next = i;
        NPYX_TRY(npyx_json_next(r, error));
        NPYX_TRY(encode_field(r, &dtype->fields[i], item, error));
    }
    for (const npyx_field *field = NULL; (field = npyx_field_after(dtype, field)) != NULL;) {
        if (!is_set[field - dtype->fields])
            return fail_name("no value is given for", field->name, field->name_nbytes, error);
    }
    return NPYX_OK;
}

static npyx_status encode_object(npyx_json_reader *r, const npyx_dtype *dtype, uint8_t *item,
                                 npyx_error *error) {
    bool few[32] = {false};
    npyx_host *host = r->scratch.host;
    bool is_many = (size_t)dtype->nfields > sizeof few / sizeof few[0];
    bool *is_set = is_many ? npyx_alloc_array_zeroed(host, dtype->nfields, sizeof few[0]) : few;
    NPYX_TRY(npyx_check_memory(is_set, error));
    npyx_status status = encode_members(r, dtype, item, is_set, error);
    if (is_many)
        npyx_free(host, is_set);
    return status;
}

static npyx_status encode_struct(npyx_json_reader *r, const npyx_dtype *dtype, uint8_t *item,
                                 npyx_error *error) {
    memset(item, 0, (size_t)dtype->itemsize); /* the bytes between the fields */
    if (r->token == NPYX_JSON_OBJECT)
        return encode_object(r, dtype, item, error);
    if (r->token == NPYX_JSON_LIST)
        return encode_fields(r, dtype, item, error);
    return npyx_encode_refuse(dtype, token_names[r->token],
                              "a structured item is an object or a list of its fields", error);
}

/* ---- items ---- */

static npyx_status encode_item(npyx_json_reader *r, const npyx_dtype *dtype, uint8_t *item,
                               npyx_error *error) {
    if (dtype->type == NPYX_STRUCT)
        return encode_struct(r, dtype, item, error);
    switch (r->token) {
    case NPYX_JSON_NUMBER: return npyx_encode_number(dtype, &r->number, item, error);
    case NPYX_JSON_STRING: return npyx_encode_text(dtype, r->string, r->string_nbytes, item, error);
    case NPYX_JSON_NULL: return npyx_encode_null(dtype, "null", item, error);
    case NPYX_JSON_TRUE:
    case NPYX_JSON_FALSE: return npyx_encode_truth(dtype, r->token == NPYX_JSON_TRUE, item, error);
    default: break;
    }
    if (r->token == NPYX_JSON_LIST && npyx_dtype_kind(dtype) == 'c')
        return encode_complex(r, dtype, item, error);
    return npyx_encode_refuse(dtype, token_names[r->token], "", error);
}

/* What all lists of an array share. JSON nests 1,000 deep, and a thread may have a stack of 128 KiB: so it is
 * not passed down. */
typedef struct encode_axes {
    npyx_json_reader *r;
    const npyx_dtype *dtype;
    npyx_error *error;
    bool is_end; /* of the current list */
} encode_axes;

static npyx_status encode_axis(encode_axes *axes, int ndim, const int64_t *shape, uint8_t *items) {
    if (ndim == 0)
        return encode_item(axes->r, axes->dtype, items, axes->error);
    if (axes->r->token != NPYX_JSON_LIST)
        return npyx_refuse(axes->error, "%s is found where a list of %" PRId64 " item%s is expected",
                           token_names[axes->r->token], shape[0], shape[0] == 1 ? "" : "s");
    const int64_t nbytes = npyx_dtype_entry_nbytes(axes->dtype, ndim, shape);
    for (int64_t i = 0;; i++, items += nbytes) {
        npyx_status status = next_of_list(axes->r, i, shape[0], &axes->is_end, axes->error);
        if (status != NPYX_OK || axes->is_end)
            return status;
        status = encode_axis(axes, ndim - 1, shape + 1, items);
        if (status != NPYX_OK)
            return encode_place(axes->error, status, i);
    }
}

static npyx_status encode_lists(npyx_json_reader *r, const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                uint8_t *items, npyx_error *error) {
    encode_axes axes = {.r = r, .dtype = dtype, .error = error};
    return encode_axis(&axes, ndim, shape, items);
}

static npyx_status check_no_objects(const npyx_dtype *dtype, npyx_error *error) {
    if (!dtype->has_objects)
        return NPYX_OK;
    return npyx_fail(error, NPYX_UNSUPPORTED, -1,
                     "items of Python objects (dtype O), which are a pickle, are never written");
}

static npyx_status encode_whole(npyx_json_reader *r, const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                uint8_t *items, npyx_error *error) {
    NPYX_TRY(npyx_json_next(r, error));
    NPYX_TRY(encode_lists(r, dtype, ndim, shape, items, error));
    return npyx_json_next(r, error); /* nothing follows */
}

npyx_status npyx_encode_json(npyx_host *host, const char *text, size_t nbytes, const npyx_dtype *dtype,
                             int ndim, const int64_t *shape, uint8_t *items, npyx_error *error) {
    npyx_json_reader reader;
    NPYX_TRY(check_no_objects(dtype, error));
    npyx_json_init(&reader, host, text, nbytes);
    npyx_status status = encode_whole(&reader, dtype, ndim, shape, items, error);
    npyx_json_clear(&reader);
    return status;
}

/* A complex number is a list in JSON; `1e3` and `true` are texts instead of numbers. */
static bool begins_list(const char *text, size_t nbytes) {
    size_t i = 0;
    while (i < nbytes && (text[i] == ' ' || (text[i] >= '\t' && text[i] <= '\r')))
        i++;
    return i < nbytes && text[i] == '[';
}

npyx_status npyx_encode_value(npyx_host *host, const npyx_dtype *dtype, const npyx_value *value,
                              uint8_t *item, npyx_error *error) {
    bool is_json = value->kind == NPYX_VALUE_JSON || dtype->type == NPYX_STRUCT;
    const npyx_number number = {.form = value->kind == NPYX_VALUE_INTEGER ? NPYX_NUMBER_I64 : NPYX_NUMBER_F64,
                                .i64 = value->integer,
                                .f64 = value->real};
    NPYX_TRY(check_no_objects(dtype, error));
    switch (value->kind) {
    case NPYX_VALUE_INTEGER:
    case NPYX_VALUE_REAL: return npyx_encode_number(dtype, &number, item, error);
    case NPYX_VALUE_BLOB: return npyx_encode_blob(dtype, value->bytes, value->nbytes, item, error);
    case NPYX_VALUE_TEXT:
    case NPYX_VALUE_JSON:
        is_json |= npyx_dtype_kind(dtype) == 'c' && begins_list(value->bytes, value->nbytes);
        return is_json ? npyx_encode_json(host, value->bytes, value->nbytes, dtype, 0, NULL, item, error)
                       : npyx_encode_text(dtype, value->bytes, value->nbytes, item, error);
    default: return npyx_encode_null(dtype, "NULL", item, error);
    }
}

/* ---- what a JSON text holds, and the dtype that follows from it ---- */

_Static_assert(sizeof((npyx_json_form *)0)->shape / sizeof(int64_t) == NPYX_MAX_NDIM, "room for every axis");

typedef struct measuring {
    npyx_json_reader reader;
    npyx_json_form *form;
    int64_t at[NPYX_MAX_NDIM]; /* the indices of the current token */
    npyx_error *error;
} measuring;

/* How many lists enclose the first scalar of a structured item that is written as lists. *ends_empty: the
 * innermost of them is empty. */
static int list_depth(const npyx_dtype *dtype, bool *ends_empty) {
    int depth = 0;
    *ends_empty = false;
    while (dtype->type == NPYX_STRUCT) {
        const npyx_field *field = npyx_field_after(dtype, NULL);
        *ends_empty = field == NULL;
        depth++;
        for (int axis = 0; !*ends_empty && axis < field->ndim; axis++, depth++)
            *ends_empty = field->shape[axis] == 0;
        if (*ends_empty)
            return depth;
        dtype = field->dtype;
    }
    return depth + (npyx_dtype_kind(dtype) == 'c');
}

/* Finds ndim by descending into the first entry of each list. */
static npyx_status find_ndim(measuring *m, const npyx_dtype *dtype) {
    npyx_json_reader *r = &m->reader;
    int depth = -1;
    do {
        NPYX_TRY(npyx_json_next(r, m->error));
        depth++;
    } while (r->token == NPYX_JSON_LIST);
    bool is_empty = r->token == NPYX_JSON_LIST_END, ends_empty = false;
    int item_depth = dtype == NULL ? 0 : list_depth(dtype, &ends_empty);
    if (r->token == NPYX_JSON_OBJECT || is_empty != ends_empty || item_depth > depth)
        item_depth = 0; /* objects are items, and an empty list has none */
    depth -= item_depth;
    if (depth > NPYX_MAX_NDIM)
        return npyx_refuse(m->error, "lists nested %d deep make more than %d dimensions", depth,
                           NPYX_MAX_NDIM);
    m->form->ndim = depth;
    for (int axis = 0; axis < depth; axis++)
        m->form->shape[axis] = -1;
    return NPYX_OK;
}

static npyx_status fail_ragged(measuring *m, int depth, const char *what) {
    char place[200];
    npyx_buffer text = npyx_buffer_over(place, sizeof place);
    npyx_buffer_append_integers(&text, m->at, depth);
    return npyx_fail(m->error, NPYX_INVALID, (int64_t)m->reader.token_off,
                     depth == 0 ? "%sthe lists are ragged: %s" : "[%s]: the lists are ragged: %s",
                     npyx_buffer_text(&text), what);
}

static void count_text(npyx_json_form *form, const char *text, size_t nbytes) {
    int64_t ncharacters = 0;
    for (size_t i = 0; i < nbytes; i++)
        ncharacters += ((unsigned char)text[i] & 0xc0) != 0x80;
    form->has_text = true;
    if (ncharacters > form->longest_ncharacters)
        form->longest_ncharacters = ncharacters;
}

static npyx_status measure_item(measuring *m, bool has_list_items) {
    npyx_json_reader *r = &m->reader;
    npyx_json_form *form = m->form;
    switch (r->token) {
    case NPYX_JSON_NULL: form->has_null = true; break;
    case NPYX_JSON_TRUE:
    case NPYX_JSON_FALSE: form->has_bool = true; break;
    case NPYX_JSON_STRING: count_text(form, r->string, r->string_nbytes); break;
    case NPYX_JSON_NUMBER:
        form->has_integer |= r->number.form == NPYX_NUMBER_I64;
        form->has_negative |= r->number.form == NPYX_NUMBER_I64 && r->number.i64 < 0;
        form->has_u64 |= r->number.form == NPYX_NUMBER_U64;
        form->has_wide_integer |= r->number.form == NPYX_NUMBER_F64 && r->number.is_integer;
        form->has_real |= r->number.form == NPYX_NUMBER_F64 && !r->number.is_integer;
        break;
    case NPYX_JSON_OBJECT: form->has_object = true; return npyx_json_skip(r, m->error);
    default: /* a list */
        if (!has_list_items)
            return fail_ragged(m, form->ndim, "there is a list where others have an item");
        return npyx_json_skip(r, m->error);
    }
    return NPYX_OK;
}

static npyx_status measure_list(measuring *m, int depth, bool has_list_items) {
    npyx_json_reader *r = &m->reader;
    int64_t *length = &m->form->shape[depth];
    char what[100];
    if (depth == m->form->ndim)
        return measure_item(m, has_list_items);
    if (r->token != NPYX_JSON_LIST)
        return fail_ragged(m, depth, "there is an item where others have a list");
    int64_t n = 0;
    for (;; n++) {
        NPYX_TRY(npyx_json_next(r, m->error));
        if (r->token == NPYX_JSON_LIST_END)
            break;
        m->at[depth] = n;
        NPYX_TRY(measure_list(m, depth + 1, has_list_items));
    }
    if (*length < 0)
        *length = n;
    if (*length == n)
        return NPYX_OK;
    snprintf(what, sizeof what, "the list has %" PRId64 " item%s, others have %" PRId64, n, n == 1 ? "" : "s",
             *length);
    return fail_ragged(m, depth, what);
}

static npyx_status measure_whole(measuring *m, bool has_list_items) {
    NPYX_TRY(npyx_json_next(&m->reader, m->error));
    NPYX_TRY(measure_list(m, 0, has_list_items));
    return npyx_json_next(&m->reader, m->error); /* nothing follows */
}

npyx_status npyx_json_measure(npyx_host *host, const char *text, size_t nbytes, const npyx_dtype *dtype,
                              npyx_json_form *form, npyx_error *error) {
    measuring m = {.form = form, .error = error};
    bool has_list_items = dtype != NULL && (dtype->type == NPYX_STRUCT || npyx_dtype_kind(dtype) == 'c');
    *form = (npyx_json_form){0};
    npyx_json_init(&m.reader, host, text, nbytes);
    npyx_status status = find_ndim(&m, dtype);
    npyx_json_clear(&m.reader);
    npyx_json_init(&m.reader, host, text, nbytes);
    if (status == NPYX_OK)
        status = measure_whole(&m, has_list_items);
    npyx_json_clear(&m.reader);
    form->nelem = 1; /* there are at most as many items as bytes of text */
    for (int axis = 0; axis < form->ndim; axis++) {
        int64_t *length = &form->shape[axis];
        *length = *length < 0 ? 0 : *length; /* below 0 after an empty axis: never seen */
        form->nelem *= *length;
    }
    return status;
}

/* Why items of these kinds have no common dtype; NULL if they have one. */
static const char *why_without_dtype(const npyx_json_form *form) {
    bool has_number = form->has_integer || form->has_u64 || form->has_real;
    if (form->has_object)
        return "objects are items of a structured dtype; give it";
    if (form->has_wide_integer)
        return "there is an integer of more than 64 bits; give a float dtype to have it rounded";
    if (form->has_text && (has_number || form->has_bool))
        return "texts and numbers have no dtype in common";
    if (form->has_null && form->has_text)
        return "there is a null among texts";
    if (form->has_null && !has_number)
        return form->has_bool ? "there is a null among true and false"
                              : "nulls alone have no dtype; give one";
    if (form->has_negative && form->has_u64 && !form->has_real)
        return "integers above 2^63 - 1 are among negative ones; give a dtype";
    return NULL;
}

npyx_status npyx_json_dtype(npyx_arena *arena, const npyx_json_form *form, const npyx_dtype **dtype,
                            npyx_error *error) {
    const char *why = why_without_dtype(form);
    if (why != NULL)
        return npyx_refuse(error, "%s", why);
    npyx_dtype *made = npyx_arena_alloc(arena, sizeof *made);
    NPYX_TRY(npyx_check_memory(made, error));
    bool is_real = form->has_real || form->has_null; /* nulls occur only among numbers */
    npyx_type type = form->has_text      ? NPYX_TEXT
                     : is_real           ? NPYX_F8
                     : form->has_u64     ? NPYX_U8
                     : form->has_integer ? NPYX_I8
                     : form->has_bool    ? NPYX_BOOL
                                         : NPYX_F8;
    *made = npyx_native_dtype(type);
    if (type == NPYX_TEXT) /* NumPy has no texts of no characters here */
        made->itemsize = 4 * (form->longest_ncharacters == 0 ? 1 : form->longest_ncharacters);
    if (made->itemsize > NPYX_MAX_ITEMSIZE)
        return npyx_refuse(error, "a text of %" PRId64 " characters is too long for an item",
                           form->longest_ncharacters);
    *dtype = made;
    return NPYX_OK;
}
