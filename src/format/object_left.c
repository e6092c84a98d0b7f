#include "object_left.h"

typedef struct left_reading {
    npyx_arena *arena;
    npyx_budget *budget;
    npyx_source *source;
    npyx_error *error;
} left_reading;

static npyx_status left_visit(const left_reading *r, npyx_object *object, int depth);

static npyx_status left_alloc(const left_reading *r, uint64_t nbytes, void **block) {
    NPYX_TRY(npyx_budget_spend(r->budget, nbytes, r->error));
    *block = npyx_arena_alloc(r->arena, (size_t)nbytes + 1);
    return npyx_check_memory(*block, r->error);
}

static npyx_status left_read(const left_reading *r, int64_t off, int64_t nbytes, void **bytes) {
    NPYX_TRY(left_alloc(r, (uint64_t)nbytes, bytes));
    return npyx_source_read_exactly(r->source, off, *bytes, (size_t)nbytes, r->error);
}

/* Python 2's str is a text if it is ASCII (pickle.c). */
static npyx_status left_read_bytes(const left_reading *r, npyx_object *object) {
    void *bytes = NULL;
    const int64_t nbytes = object->left.nbytes;
    NPYX_TRY(left_read(r, object->left.off, nbytes, &bytes));
    bool is_text = object->is_str && npyx_count_high(bytes, (size_t)nbytes) == 0;
    object->kind = is_text ? NPYX_OBJECT_TEXT : NPYX_OBJECT_BYTES;
    object->text.bytes = bytes;
    object->text.nbytes = (size_t)nbytes;
    return NPYX_OK;
}

static npyx_status left_read_array(const left_reading *r, npyx_object *object, int depth) {
    npyx_object_array array = *object->array;
    int64_t nelem = 1;
    void *items = NULL;
    for (int axis = 0; axis < array.ndim; axis++)
        nelem *= array.shape[axis];
    if (array.items == NULL) {
        NPYX_TRY(left_read(r, array.left_off, nelem * array.dtype->itemsize, &items));
        array.items = items;
    }
    if (array.is_fortran) {
        NPYX_TRY(left_alloc(r, (uint64_t)(nelem * array.dtype->itemsize), &items));
        NPYX_TRY(npyx_object_array_to_c_order(&array, nelem, items, r->budget, r->error));
        array.items = items;
        array.is_fortran = false;
    }
    for (int64_t i = 0; i < array.nobjects && array.dtype->type == NPYX_HELD_OBJECT; i++)
        NPYX_TRY(left_visit(r, npyx_object_of_item(array.items + i * array.dtype->itemsize), depth));
    NPYX_TRY(left_alloc(r, sizeof array, &items));
    memcpy(items, &array, sizeof array);
    object->array = items;
    return NPYX_OK;
}

static npyx_status left_visit_kind(const left_reading *r, npyx_object *object, int depth) {
    if (object->kind == NPYX_OBJECT_LEFT)
        return left_read_bytes(r, object);
    if (object->kind == NPYX_OBJECT_ARRAY)
        return left_read_array(r, object, depth);
    uint32_t nparts;
    npyx_object *const *parts = npyx_object_parts(object, &nparts);
    for (uint32_t i = 0; i < nparts; i++) {
        if (parts[i] != NULL)
            NPYX_TRY(left_visit(r, parts[i], depth));
    }
    return NPYX_OK;
}

/* One that was read is passed, wherever it is. */
static npyx_status left_visit(const left_reading *r, npyx_object *object, int depth) {
    NPYX_TRY(npyx_budget_work(r->budget, sizeof *object, r->error));
    if (object->kind < NPYX_OBJECT_LEFT || object->is_read)
        return NPYX_OK;
    if (depth == NPYX_OBJECT_MAX_HEIGHT)
        return npyx_fail_as(r->error, NPYX_KIND_OBJECTS, NPYX_UNSUPPORTED, -1,
                            "a Python object is too deep, or contains itself");
    NPYX_TRY(left_visit_kind(r, object, depth + 1));
    object->is_read = true;
    return NPYX_OK;
}

npyx_status npyx_object_left_read(npyx_arena *arena, npyx_budget *budget, npyx_source *source,
                                  npyx_object *object, npyx_error *error) {
    const left_reading r = {.arena = arena, .budget = budget, .source = source, .error = error};
    return left_visit(&r, object, 0);
}
