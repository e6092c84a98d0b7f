/* What a JSON text holds, and the dtype that follows from it. */
#include <stdio.h>

#include "array/view.h"
#include "encode.h"
#include "text/json_text.h"

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
        return npyx_fail(m->error, NPYX_INVALID, -1, "lists nested %d deep make more than %d dimensions",
                         depth, NPYX_MAX_NDIM);
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
        return "there is an integer beyond 64 bits; give a float dtype to have it rounded";
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
        return npyx_fail(error, NPYX_INVALID, -1, "%s", why);
    npyx_dtype *made = npyx_arena_alloc(arena, sizeof *made);
    NPYX_TRY(npyx_check_memory(made, error));
    bool is_real = form->has_real || form->has_null; /* nulls occur only among numbers */
    npyx_type type = form->has_text      ? NPYX_TEXT
                     : is_real           ? NPYX_F8
                     : form->has_u64     ? NPYX_U8
                     : form->has_integer ? NPYX_I8
                     : form->has_bool    ? NPYX_BOOL
                                         : NPYX_F8;
    *made = (npyx_dtype){.type = type,
                         .is_big_endian = NPYX_HOST_IS_BIG_ENDIAN,
                         .multiple = 1,
                         .itemsize = npyx_types[type].itemsize};
    if (type == NPYX_TEXT) /* NumPy has no texts of no characters here */
        made->itemsize = 4 * (form->longest_ncharacters == 0 ? 1 : form->longest_ncharacters);
    if (made->itemsize > NPYX_MAX_ITEMSIZE)
        return npyx_fail(error, NPYX_INVALID, -1, "a text of %" PRId64 " characters is too long for an item",
                         form->longest_ncharacters);
    *dtype = made;
    return NPYX_OK;
}
