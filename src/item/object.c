/* Objects are measured before they are written, so that what is too deep or too long is refused in time. */
#include "object.h"

#include <math.h>

#include "array/view.h"
#include "base/host.h"

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

/* The least length of the JSON of a node without parts. */
static double object_leaf_nbytes(const npyx_object *object) {
    bool has_text = object->kind == NPYX_OBJECT_TEXT || object->kind == NPYX_OBJECT_BYTES ||
                    object->kind == NPYX_OBJECT_GLOBAL || object->kind == NPYX_OBJECT_WIDE;
    return has_text ? (double)object->text.nbytes : 1;
}

static npyx_status object_measure_kind(const npyx_object *object, object_measuring *m, int depth) {
    m->nbytes = object_leaf_nbytes(object);
    m->height = 0;
    if (object->kind == NPYX_OBJECT_ARRAY)
        return object_measure_array(object->array, m, depth);
    uint32_t nparts;
    npyx_object *const *parts = npyx_object_parts(object, &nparts);
    for (uint32_t i = 0; i < nparts; i++)
        NPYX_TRY(object_measure_part(parts[i], m, depth));
    return NPYX_OK;
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

npyx_status npyx_object_array_to_c_order(const npyx_object_array *array, int64_t nelem, uint8_t *items,
                                         npyx_budget *budget, npyx_error *error) {
    int64_t itemsize = array->dtype->itemsize, index[NPYX_MAX_NDIM] = {0}, strides[NPYX_MAX_NDIM] = {0};
    int64_t stride = itemsize, off = 0;
    for (int axis = 0; axis < array->ndim; axis++) {
        strides[axis] = stride;
        stride *= array->shape[axis];
    }
    for (int64_t i = 0; i < nelem; i++) {
        NPYX_TRY(npyx_budget_work(budget, (uint64_t)itemsize + sizeof index[0], error));
        memcpy(items + i * itemsize, array->items + off, (size_t)itemsize);
        for (int axis = array->ndim - 1; axis >= 0; axis--) {
            off += strides[axis];
            if (++index[axis] < array->shape[axis])
                break;
            off -= strides[axis] * array->shape[axis];
            index[axis] = 0;
        }
    }
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
