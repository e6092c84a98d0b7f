/*
 * Objects are measured before they are written, so that what is too deep or too long is refused in time; what
 * is written is charged to an account.
 */
#include "object.h"

#include <math.h>

#include "base/budget.h"
#include "base/names.h"
#include "text/number_text.h"

static const npyx_dtype object_f8 = {
    .type = NPYX_F8, .is_big_endian = NPYX_HOST_IS_BIG_ENDIAN, .multiple = 1, .itemsize = 8};

/* ---- what a node takes ---- */

enum { OBJECT_UNDERWAY = 1, OBJECT_MEASURED = 2 };

typedef struct object_measuring {
    npyx_budget budget; /* only polls: each node is measured once */
    npyx_error *error;
    double nbytes; /* of the current node, without its parts */
    int height;    /* of its parts */
} object_measuring;

static npyx_status object_measure(npyx_object *object, object_measuring *m, int depth);

static npyx_status object_fail_deep(npyx_error *error) {
    return npyx_fail_as(error, NPYX_KIND_OBJECTS, NPYX_UNSUPPORTED, -1,
                        "a Python object is nested more than %d deep", NPYX_OBJECT_MAX_HEIGHT);
}

/* Adds a part to the current node. Any number will do beyond every limit. */
static npyx_status object_measure_part(npyx_object *part, object_measuring *m, int depth) {
    const double nbytes = m->nbytes;
    const int height = m->height;
    if (part == NULL)
        return NPYX_OK;
    NPYX_TRY(object_measure(part, m, depth + 1));
    m->nbytes = fmin(nbytes + part->json_nbytes + 1, 0x1p900);
    m->height = part->height > height ? part->height : height;
    return NPYX_OK;
}

static npyx_status object_measure_parts(npyx_object *const *parts, int64_t nparts, object_measuring *m,
                                        int depth) {
    for (int64_t i = 0; i < nparts; i++)
        NPYX_TRY(object_measure_part(parts[i], m, depth));
    return NPYX_OK;
}

/* Measures all held objects in an item, however deep. */
static npyx_status object_measure_item(const npyx_dtype *dtype, const uint8_t *item, object_measuring *m,
                                       int depth) {
    if (dtype->type == NPYX_HELD_OBJECT)
        return object_measure_part(npyx_object_of_item(item), m, depth);
    for (const npyx_field *field = NULL; (field = npyx_field_after(dtype, field)) != NULL;) {
        for (int64_t i = 0; field->dtype->has_objects && i < field->nelem; i++)
            NPYX_TRY(
                object_measure_item(field->dtype, item + field->off + i * field->dtype->itemsize, m, depth));
    }
    return NPYX_OK;
}

static int object_dtype_height(const npyx_dtype *dtype, uint64_t *nfields) {
    int height = 2;
    for (const npyx_field *field = NULL; (field = npyx_field_after(dtype, field)) != NULL; ++*nfields) {
        int within = object_dtype_height(field->dtype, nfields) + field->ndim + 1;
        height = within > height ? within : height;
    }
    return height;
}

static npyx_status object_measure_array(const npyx_object_array *array, object_measuring *m, int depth) {
    uint64_t nfields = 1;
    int frames = object_dtype_height(array->dtype, &nfields) + array->ndim;
    NPYX_TRY(npyx_budget_work(&m->budget, nfields * sizeof(npyx_field), m->error));
    for (int64_t i = 0; i < array->nobjects; i++) {
        NPYX_TRY(npyx_budget_work(&m->budget, nfields * sizeof(void *), m->error));
        NPYX_TRY(
            object_measure_item(array->dtype, array->items + i * array->dtype->itemsize, m, depth + frames));
    }
    m->nbytes = fmin(m->nbytes + npyx_element_least_json(array->dtype, array->ndim, array->shape), 0x1p900);
    m->height += frames;
    return NPYX_OK;
}

static npyx_status object_measure_instance(const npyx_object_instance *instance, object_measuring *m,
                                           int depth) {
    npyx_object *const parts[] = {instance->callable, instance->args,  instance->kwargs,
                                  instance->state,    instance->items, instance->entries};
    return object_measure_parts(parts, sizeof parts / sizeof parts[0], m, depth);
}

/* The least length of the JSON of a node without parts. */
static double object_leaf_nbytes(const npyx_object *object) {
    bool has_text = object->kind == NPYX_OBJECT_TEXT || object->kind == NPYX_OBJECT_BYTES ||
                    object->kind == NPYX_OBJECT_GLOBAL || object->kind == NPYX_OBJECT_WIDE;
    return has_text ? (double)object->text.nbytes : 1;
}

static npyx_status object_measure_kind(const npyx_object *object, object_measuring *m, int depth) {
    m->nbytes = object_leaf_nbytes(object);
    m->height = 0;
    switch (object->kind) {
    case NPYX_OBJECT_LIST:
    case NPYX_OBJECT_TUPLE:
    case NPYX_OBJECT_SET:
    case NPYX_OBJECT_DICT: return object_measure_parts(object->list.items, object->list.count, m, depth);
    case NPYX_OBJECT_ARRAY: return object_measure_array(object->array, m, depth);
    case NPYX_OBJECT_INSTANCE: return object_measure_instance(object->instance, m, depth);
    default: return NPYX_OK;
    }
}

static npyx_status object_measure(npyx_object *object, object_measuring *m, int depth) {
    NPYX_TRY(npyx_budget_work(&m->budget, sizeof *object, m->error));
    if (object->progress == OBJECT_MEASURED)
        return depth + object->height > NPYX_OBJECT_MAX_HEIGHT ? object_fail_deep(m->error) : NPYX_OK;
    if (object->progress == OBJECT_UNDERWAY)
        return npyx_fail_as(m->error, NPYX_KIND_OBJECTS, NPYX_UNSUPPORTED, -1,
                            "a Python object contains itself, which no value does");
    if (depth >= NPYX_OBJECT_MAX_HEIGHT)
        return object_fail_deep(m->error);
    object->progress = OBJECT_UNDERWAY;
    npyx_status status = object_measure_kind(object, m, depth);
    object->progress = status == NPYX_OK ? OBJECT_MEASURED : 0;
    object->json_nbytes = m->nbytes;
    object->height = (uint16_t)(m->height + 1);
    return status;
}

npyx_status npyx_object_measure(npyx_object *object, npyx_host *host, npyx_error *error) {
    if (object->kind < NPYX_OBJECT_LIST) { /* like most */
        object->json_nbytes = object_leaf_nbytes(object);
        object->height = 1;
        object->progress = OBJECT_MEASURED;
        return NPYX_OK;
    }
    object_measuring m = {.budget = npyx_budget_of(host, UINT64_MAX), .error = error};
    return object_measure(object, &m, 0);
}

/* ---- JSON ---- */

static npyx_status object_append(const npyx_object *object, npyx_buffer *out, npyx_error *error);

/* Texts and bytes are written in pieces of this size, with a check of the account in between. A multiple of
 * 3. */
enum { OBJECT_PIECE_NBYTES = 3 << 12 };

/* Charges what was appended since out had before_nbytes. */
static npyx_status object_charge(const npyx_buffer *out, size_t before_nbytes, npyx_error *error) {
    return npyx_budget_spend(out->budget, out->nbytes - before_nbytes, error);
}

/* How much of a text is its next piece, in whole characters. */
static size_t object_piece(const char *text, size_t nbytes) {
    size_t n = nbytes < OBJECT_PIECE_NBYTES ? nbytes : OBJECT_PIECE_NBYTES;
    while (n < nbytes && n > OBJECT_PIECE_NBYTES - 4 && ((uint8_t)text[n] & 0xc0) == 0x80)
        n--;
    return n;
}

static npyx_status object_append_text(const char *text, size_t nbytes, npyx_buffer *out, npyx_error *error) {
    if (nbytes <= OBJECT_PIECE_NBYTES) { /* like most */
        size_t before_nbytes = out->nbytes;
        npyx_buffer_append_json(out, text, nbytes);
        return object_charge(out, before_nbytes, error);
    }
    npyx_buffer_append_char(out, '"');
    for (size_t i = 0, n; i < nbytes && out->status == NPYX_OK; i += n) {
        size_t before_nbytes = out->nbytes;
        n = object_piece(text + i, nbytes - i);
        npyx_buffer_append_json_part(out, text + i, n);
        NPYX_TRY(object_charge(out, before_nbytes, error));
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

static npyx_status object_append_bytes(const npyx_object *object, npyx_buffer *out, npyx_error *error) {
    const size_t nbytes = object->text.nbytes;
    npyx_buffer_append_text(out, "{\"__bytes__\":\"");
    for (size_t i = 0, n; i < nbytes && out->status == NPYX_OK; i += n) {
        size_t before_nbytes = out->nbytes;
        n = nbytes - i < OBJECT_PIECE_NBYTES ? nbytes - i : OBJECT_PIECE_NBYTES;
        object_append_base64((const uint8_t *)object->text.bytes + i, n, out);
        NPYX_TRY(object_charge(out, before_nbytes, error));
    }
    npyx_buffer_append_text(out, "\"}");
    return NPYX_OK;
}

static npyx_status object_append_list(const npyx_object *object, npyx_buffer *out, npyx_error *error) {
    npyx_buffer_append_char(out, '[');
    for (uint32_t i = 0; i < object->list.count && out->status == NPYX_OK; i++) {
        if (i > 0)
            npyx_buffer_append_char(out, ',');
        NPYX_TRY(object_append(object->list.items[i], out, error));
    }
    npyx_buffer_append_char(out, ']');
    return NPYX_OK;
}

/* A key as a text: its JSON if it is not one, as json.dumps does with numbers and None. */
static npyx_status object_key(const npyx_object *key, npyx_buffer *scratch, const char **text, size_t *nbytes,
                              npyx_error *error) {
    if (key->kind == NPYX_OBJECT_TEXT) {
        *text = key->text.bytes;
        *nbytes = key->text.nbytes;
        return NPYX_OK;
    }
    npyx_buffer_reset(scratch);
    NPYX_TRY(object_append(key, scratch, error));
    *text = scratch->bytes;
    *nbytes = scratch->nbytes;
    return npyx_buffer_check(scratch, error);
}

/* Collects all keys of a dict, so that the last of equal ones can be found. */
static npyx_status object_list_keys(const npyx_object *dict, npyx_name_set *keys, npyx_buffer *scratch,
                                    npyx_error *error) {
    enum { KEY_NBYTES = 64 }; /* of an entry and its slots */
    for (uint32_t i = 0; i < dict->list.count; i += 2) {
        const char *text;
        size_t nbytes;
        NPYX_TRY(object_key(dict->list.items[i], scratch, &text, &nbytes, error));
        NPYX_TRY(npyx_budget_spend(scratch->budget, KEY_NBYTES + nbytes, error));
        NPYX_TRY(npyx_name_set_add(keys, text, nbytes, error));
    }
    return NPYX_OK;
}

/* Appends the pairs, except those whose key occurs again later. */
static npyx_status object_append_pairs(const npyx_object *dict, const npyx_name_set *keys, npyx_buffer *out,
                                       npyx_error *error) {
    char before = '{';
    for (int64_t i = 0; i < keys->count && out->status == NPYX_OK; i++) {
        size_t nbytes = 0;
        const char *text = npyx_name_set_text(keys, i, &nbytes);
        NPYX_TRY(npyx_budget_work(out->budget, nbytes, error)); /* it is hashed */
        if (npyx_name_set_find(keys, text, nbytes, NULL) != i)
            continue;
        npyx_buffer_append_char(out, before);
        before = ',';
        NPYX_TRY(object_append_text(text, nbytes, out, error));
        npyx_buffer_append_char(out, ':');
        NPYX_TRY(object_append(dict->list.items[2 * i + 1], out, error));
    }
    npyx_buffer_append_text(out, before == '{' ? "{}" : "}");
    return NPYX_OK;
}

static npyx_status object_append_dict(const npyx_object *dict, npyx_buffer *out, npyx_error *error) {
    npyx_name_set keys = {.bytes.host = out->host};
    npyx_buffer scratch = {.host = out->host, .limit_nbytes = out->limit_nbytes, .budget = out->budget};
    npyx_status status = object_list_keys(dict, &keys, &scratch, error);
    if (status == NPYX_OK)
        status = object_append_pairs(dict, &keys, out, error);
    npyx_buffer_clear(&scratch);
    npyx_name_set_clear(&keys);
    return status;
}

static npyx_status object_append_member(const char *name, const npyx_object *object, npyx_buffer *out,
                                        npyx_error *error) {
    if (object == NULL)
        return NPYX_OK;
    npyx_buffer_append_text(out, name);
    return object_append(object, out, error);
}

/* Appends the name of what would have been called, or the JSON if that is an object itself. */
static npyx_status object_append_class(const npyx_object *callable, npyx_buffer *out, npyx_error *error) {
    npyx_buffer_append_text(out, "{\"__class__\":");
    if (callable->kind != NPYX_OBJECT_GLOBAL)
        return object_append(callable, out, error);
    return object_append_text(callable->text.bytes, callable->text.nbytes, out, error);
}

static npyx_status object_append_instance(const npyx_object_instance *instance, npyx_buffer *out,
                                          npyx_error *error) {
    NPYX_TRY(object_append_class(instance->callable, out, error));
    if (instance->args == NULL)
        npyx_buffer_append_text(out, ",\"args\":[]");
    NPYX_TRY(object_append_member(",\"args\":", instance->args, out, error));
    NPYX_TRY(object_append_member(",\"kwargs\":", instance->kwargs, out, error));
    NPYX_TRY(object_append_member(",\"items\":", instance->items, out, error));
    NPYX_TRY(object_append_member(",\"entries\":", instance->entries, out, error));
    NPYX_TRY(object_append_member(",\"state\":", instance->state, out, error));
    npyx_buffer_append_char(out, '}');
    return NPYX_OK;
}

static void object_append_integer(int64_t integer, npyx_buffer *out) {
    if (npyx_buffer_reserve(out, NPYX_NUMBER_TEXT_NBYTES))
        out->nbytes += npyx_text_i64(integer, out->bytes + out->nbytes);
}

static npyx_status object_append_reals(const double *reals, int ndim, npyx_buffer *out, npyx_error *error) {
    const int64_t two = 2;
    return npyx_element_append_json(&object_f8, ndim, &two, (const uint8_t *)reals, out, error);
}

/* Objects in it are charged by themselves, and their places here. */
static npyx_status object_append_array(const npyx_object_array *array, npyx_buffer *out, npyx_error *error) {
    size_t before_nbytes = out->nbytes;
    uint64_t nbytes = (uint64_t)(array->nobjects * array->dtype->itemsize);
    NPYX_TRY(npyx_budget_spend(out->budget, nbytes, error));
    NPYX_TRY(npyx_element_append_json(array->dtype, array->ndim, array->shape, array->items, out, error));
    return array->nobjects > 0 ? NPYX_OK : object_charge(out, before_nbytes, error);
}

static npyx_status object_append(const npyx_object *object, npyx_buffer *out, npyx_error *error) {
    enum { OBJECT_NBYTES = 8 }; /* a comma, and what is not text */
    if (out->status != NPYX_OK)
        return NPYX_OK; /* the buffer keeps the reason */
    NPYX_TRY(npyx_budget_spend(out->budget, OBJECT_NBYTES, error));
    switch (object->kind) {
    case NPYX_OBJECT_NONE: npyx_buffer_append_text(out, "null"); break;
    case NPYX_OBJECT_BOOL: npyx_buffer_append_text(out, object->integer != 0 ? "true" : "false"); break;
    case NPYX_OBJECT_INTEGER: object_append_integer(object->integer, out); break;
    case NPYX_OBJECT_WIDE: npyx_buffer_append(out, object->text.bytes, object->text.nbytes); break;
    case NPYX_OBJECT_REAL: return object_append_reals(&object->real, 0, out, error);
    case NPYX_OBJECT_TEXT: return object_append_text(object->text.bytes, object->text.nbytes, out, error);
    case NPYX_OBJECT_BYTES: return object_append_bytes(object, out, error);
    case NPYX_OBJECT_GLOBAL:
        NPYX_TRY(object_append_class(object, out, error));
        npyx_buffer_append_char(out, '}');
        break;
    case NPYX_OBJECT_COMPLEX: return object_append_reals(object->parts, 1, out, error);
    case NPYX_OBJECT_LIST:
    case NPYX_OBJECT_TUPLE:
    case NPYX_OBJECT_SET: return object_append_list(object, out, error);
    case NPYX_OBJECT_DICT: return object_append_dict(object, out, error);
    case NPYX_OBJECT_ARRAY: return object_append_array(object->array, out, error);
    default: return object_append_instance(object->instance, out, error);
    }
    return NPYX_OK;
}

/* What is too long is known before anything is built. */
static npyx_status object_append_measured(const npyx_object *object, npyx_buffer *out, npyx_error *error) {
    if (out->limit_nbytes != 0 && object->json_nbytes > (double)out->limit_nbytes) {
        out->status = NPYX_TOOBIG;
        return NPYX_OK;
    }
    if (object->json_nbytes > (double)npyx_budget_left(out->budget))
        return npyx_budget_fail(out->budget, error);
    return object_append(object, out, error);
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
           npyx_element_scalar(dtype, array->items, &unused, &value, &error) == NPYX_OK &&
           value.kind == NPYX_VALUE_NULL;
}

bool npyx_object_is_null(const npyx_object *object) {
    if (object->kind == NPYX_OBJECT_ARRAY && object->array->ndim == 0)
        return object_is_null_scalar(object->array);
    return object->kind == NPYX_OBJECT_NONE || (object->kind == NPYX_OBJECT_REAL && isnan(object->real));
}

static npyx_status object_json_value(const npyx_object *object, uint64_t text_nbytes, npyx_buffer *scratch,
                                     npyx_value *value, npyx_error *error) {
    npyx_buffer_reset(scratch);
    npyx_status status = npyx_object_append_json(object, text_nbytes, scratch, error);
    if (status == NPYX_OK)
        status = npyx_buffer_check(scratch, error);
    *value = (npyx_value){.kind = NPYX_VALUE_JSON, .bytes = scratch->bytes, .nbytes = scratch->nbytes};
    return status;
}

npyx_status npyx_object_value(const npyx_object *object, uint64_t text_nbytes, npyx_buffer *scratch,
                              npyx_value *value, npyx_error *error) {
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
    case NPYX_OBJECT_ARRAY:
        if (object->array->ndim == 0)
            return npyx_element_value(object->array->dtype, object->array->items, scratch, value, error);
        return object_json_value(object, text_nbytes, scratch, value, error);
    default: return object_json_value(object, text_nbytes, scratch, value, error);
    }
}

/* ---- dtypes ---- */

/* The bytes of a field. */
typedef struct object_span {
    int64_t begin, end;
    bool has_objects;
} object_span;

static int object_compare_spans(const void *a, const void *b, const void *ctx) {
    const object_span *one = a, *other = b;
    (void)ctx;
    return one->begin < other->begin ? -1 : one->begin > other->begin;
}

static bool object_spans_lie_apart(const object_span *spans, int nspans) {
    int64_t end = 0, objects_end = 0; /* of the spans before */
    for (int i = 0; i < nspans; i++) {
        if (spans[i].begin < (spans[i].has_objects ? end : objects_end))
            return false;
        end = spans[i].end > end ? spans[i].end : end;
        if (spans[i].has_objects && spans[i].end > objects_end)
            objects_end = spans[i].end;
    }
    return true;
}

npyx_status npyx_dtype_check_objects(npyx_host *host, const npyx_dtype *dtype, npyx_error *error) {
    int nspans = 0;
    if (!dtype->has_objects || dtype->nfields < 2)
        return NPYX_OK;
    object_span *spans = npyx_alloc_array(host, dtype->nfields, sizeof *spans);
    NPYX_TRY(npyx_check_memory(spans, error));
    for (int i = 0; i < dtype->nfields; i++) {
        const npyx_field *field = &dtype->fields[i];
        int64_t nbytes = field->nelem * field->dtype->itemsize;
        if (nbytes > 0 && !field->is_padding)
            spans[nspans++] = (object_span){field->off, field->off + nbytes, field->dtype->has_objects};
    }
    npyx_status status =
        npyx_sort(host, spans, (size_t)nspans, sizeof *spans, object_compare_spans, NULL, error);
    if (status == NPYX_OK && !object_spans_lie_apart(spans, nspans))
        status = npyx_fail_as(error, NPYX_KIND_OBJECTS, NPYX_UNSUPPORTED, -1,
                              "has fields that lie over Python objects, which NumPy does not allow");
    npyx_free(host, spans);
    return status;
}

static npyx_status object_hold_fields(npyx_arena *arena, const npyx_dtype *dtype, uint64_t text_nbytes,
                                      const npyx_field **held, npyx_error *error) {
    npyx_field *fields = npyx_arena_array(arena, dtype->nfields, sizeof *fields);
    NPYX_TRY(npyx_check_memory(fields, error));
    for (int i = 0; i < dtype->nfields; i++) {
        fields[i] = dtype->fields[i];
        NPYX_TRY(npyx_dtype_hold(arena, dtype->fields[i].dtype, text_nbytes, &fields[i].dtype, error));
    }
    *held = fields;
    return NPYX_OK;
}

npyx_status npyx_dtype_hold(npyx_arena *arena, const npyx_dtype *dtype, uint64_t text_nbytes,
                            const npyx_dtype **held, npyx_error *error) {
    *held = dtype;
    if (!dtype->has_objects)
        return NPYX_OK;
    NPYX_TRY(npyx_dtype_check_objects(arena->host, dtype, error));
    npyx_dtype *made = npyx_arena_alloc(arena, sizeof *made);
    NPYX_TRY(npyx_check_memory(made, error));
    *made = *dtype;
    made->type = dtype->type == NPYX_OBJECT ? NPYX_HELD_OBJECT : dtype->type;
    made->text_nbytes = text_nbytes;
    if (dtype->nfields > 0)
        NPYX_TRY(object_hold_fields(arena, dtype, text_nbytes, &made->fields, error));
    *held = made;
    return NPYX_OK;
}
