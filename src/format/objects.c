#include "objects.h"

#include "archive.h"
#include "pickle_machine.h"

struct npyx_objects {
    npyx_arena arena;   /* of nodes and items */
    npyx_buffer pickle; /* nodes point to its bytes */
    const uint8_t *items;
    size_t items_nbytes;
    int nusers;
};

/* ---- reading ---- */

/* Reads the bytes after the header. A deflated member only claims how many there are, and a gzip file does
 * not say. */
static npyx_status objects_read_pickle(npyx_source *payload, int64_t off, npyx_buffer *pickle,
                                       npyx_error *error) {
    size_t nbytes = NPYX_PICKLE_PIECE_NBYTES;
    while (nbytes == NPYX_PICKLE_PIECE_NBYTES) {
        if (!npyx_buffer_reserve(pickle, NPYX_PICKLE_PIECE_NBYTES))
            return npyx_buffer_check(pickle, error);
        NPYX_TRY(npyx_source_read(payload, off + (int64_t)pickle->nbytes, pickle->bytes + pickle->nbytes,
                                  NPYX_PICKLE_PIECE_NBYTES, &nbytes, error));
        pickle->nbytes += nbytes;
        NPYX_TRY(npyx_poll(pickle->host, error));
    }
    return NPYX_OK;
}

static npyx_status objects_fail(const npyx_array *array, const char *what, npyx_error *error) {
    return npyx_fail_as(error, NPYX_KIND_OBJECTS, NPYX_CORRUPT, array->data_off, "the pickle holds %s", what);
}

/* Collects the contents of nested lists in one. */
static npyx_status objects_flatten(npyx_pickle *p, npyx_object *from, const npyx_array *array, int axis,
                                   npyx_object *list) {
    NPYX_TRY(npyx_pickle_work(p, sizeof *from)); /* lists may be empty, and be in many places */
    if (axis == array->ndim)
        return npyx_pickle_add(p, list, from);
    if (from->kind != NPYX_OBJECT_LIST || from->list.count != (uint64_t)array->shape[axis])
        return objects_fail(array, "an array of another shape than the header says", p->error);
    for (uint32_t i = 0; i < from->list.count; i++)
        NPYX_TRY(objects_flatten(p, from->list.items[i], array, axis + 1, list));
    return NPYX_OK;
}

/* The list of a pickled array's items, in C order. */
static npyx_status objects_list(npyx_pickle *p, npyx_object *root, const npyx_array *array,
                                npyx_object **list) {
    const npyx_object *state = root->kind == NPYX_OBJECT_INSTANCE ? root->instance->state : NULL;
    if (root->kind == NPYX_OBJECT_LIST) { /* of a masked array */
        NPYX_TRY(npyx_pickle_new(p, NPYX_OBJECT_LIST, list));
        return objects_flatten(p, root, array, 0, *list);
    }
    if (root->kind == NPYX_OBJECT_ARRAY)
        state = root->array->state;
    const npyx_object *shape = npyx_pickle_part(state, 1);
    *list = npyx_pickle_part(state, 4);
    if (*list == NULL || (*list)->kind != NPYX_OBJECT_LIST || shape->kind != NPYX_OBJECT_TUPLE)
        return objects_fail(array, "something else than an array of objects", p->error);
    bool is_same =
        shape->list.count == (uint32_t)array->ndim && (*list)->list.count == (uint64_t)array->nelem;
    for (int axis = 0; axis < array->ndim && is_same; axis++) {
        int64_t length;
        is_same = npyx_pickle_integer_of(shape->list.items[axis], &length) && length == array->shape[axis];
    }
    return is_same ? NPYX_OK
                   : objects_fail(array, "an array of another shape than the header says", p->error);
}

static npyx_status objects_make(npyx_objects *made, npyx_source *payload, const npyx_array *array,
                                npyx_error *error) {
    npyx_object *root, *list;
    uint8_t *items = NULL;
    NPYX_TRY(objects_read_pickle(payload, array->data_off, &made->pickle, error));
    const uint8_t *bytes = (const uint8_t *)made->pickle.bytes;
    npyx_budget budget =
        npyx_budget_of(made->arena.host, npyx_budget_allowance((uint64_t)made->pickle.nbytes));
    npyx_pickle p = {.arena = &made->arena,
                     .budget = &budget,
                     .bytes = bytes,
                     .nbytes = made->pickle.nbytes,
                     .base_off = array->data_off,
                     .error = error};
    NPYX_TRY(npyx_pickle_read(&made->arena, &budget, bytes, p.nbytes, array->data_off, &root, NULL, error));
    p.op_off = p.nbytes; /* what follows belongs to no opcode */
    NPYX_TRY(objects_list(&p, root, array, &list));
    const npyx_dtype *held;
    NPYX_TRY(npyx_dtype_hold(&made->arena, array->dtype, budget.allowed_nbytes, &held, error));
    npyx_status status = npyx_pickle_store_list(&p, held, list, &items);
    if (status == NPYX_DONE)
        return objects_fail(array, "items that do not fit the dtype of the header", error);
    made->items = items;
    made->items_nbytes = (size_t)array->nbytes;
    return status;
}

npyx_status npyx_objects_read(npyx_source *payload, const npyx_array *array, npyx_objects **objects,
                              npyx_error *error) {
    npyx_host *host = payload->host;
    npyx_objects *made = npyx_alloc_zeroed(host, sizeof *made);
    NPYX_TRY(npyx_check_memory(made, error));
    made->arena.host = made->pickle.host = host;
    made->nusers = 1;
    npyx_status status = objects_make(made, payload, array, error);
    if (status == NPYX_OK)
        *objects = made;
    else
        npyx_objects_release(made);
    return status;
}

/* ---- as items ---- */

static void objects_close(void *ctx) {
    npyx_objects_release(ctx);
}

npyx_status npyx_objects_open(npyx_objects *objects, npyx_array *array, npyx_source **items,
                              npyx_error *error) {
    const npyx_dtype *held;
    NPYX_TRY(npyx_dtype_hold(&array->arena, array->dtype,
                             npyx_budget_allowance((uint64_t)objects->pickle.nbytes), &held, error));
    NPYX_TRY(
        npyx_source_open_memory(objects->arena.host, objects->items, objects->items_nbytes, items, error));
    (*items)->on_close = objects_close;
    (*items)->on_close_ctx = objects;
    objects->nusers++;
    array->dtype = held;
    array->is_held = true;
    array->fortran_order = false;
    array->data_off = 0;
    return NPYX_OK;
}

size_t npyx_objects_nbytes(const npyx_objects *objects) {
    return npyx_arena_nbytes(&objects->arena) + objects->pickle.capacity_nbytes;
}

void npyx_objects_release(npyx_objects *objects) {
    if (objects == NULL || --objects->nusers > 0)
        return;
    npyx_host *host = objects->arena.host;
    npyx_buffer_clear(&objects->pickle);
    npyx_arena_clear(&objects->arena);
    npyx_free(host, objects);
}

/* ---- kept with an archive ---- */

typedef struct npyx_kept_objects {
    struct npyx_kept_objects *next;
    int64_t index;
    npyx_objects *objects;
    size_t nbytes;
} npyx_kept_objects;

static void objects_keep(npyx_archive *archive, int64_t index, npyx_objects *objects) {
    npyx_host *host = archive->source->host;
    size_t nbytes = npyx_objects_nbytes(objects);
    bool has_room =
        nbytes <= NPYX_KEPT_OBJECTS_NBYTES && host->kept_objects_nbytes <= NPYX_KEPT_OBJECTS_NBYTES - nbytes;
    npyx_kept_objects *kept = has_room ? npyx_alloc(host, sizeof *kept) : NULL;
    if (kept == NULL) /* it will be read again */
        return;
    *kept = (npyx_kept_objects){archive->kept_objects, index, objects, nbytes};
    archive->kept_objects = kept;
    host->kept_objects_nbytes += nbytes;
    objects->nusers++;
}

void npyx_archive_forget_objects(npyx_archive *archive) {
    while (archive->kept_objects != NULL) {
        npyx_host *host = archive->source->host;
        npyx_kept_objects *kept = archive->kept_objects;
        archive->kept_objects = kept->next;
        host->kept_objects_nbytes -= kept->nbytes;
        npyx_objects_release(kept->objects);
        npyx_free(host, kept);
    }
}

/* The objects of an entry, with one more user. */
static npyx_status objects_of_entry(npyx_archive *archive, int64_t index, const npyx_array *array,
                                    npyx_objects **objects, npyx_error *error) {
    npyx_source *payload = NULL;
    for (const npyx_kept_objects *kept = archive->kept_objects; kept != NULL; kept = kept->next) {
        if (kept->index == index) {
            *objects = kept->objects;
            (*objects)->nusers++;
            return NPYX_OK;
        }
    }
    NPYX_TRY(npyx_archive_open_payload(archive, index, &payload, error));
    npyx_status status = npyx_objects_read(payload, array, objects, error);
    npyx_source_close(payload);
    if (status == NPYX_OK)
        objects_keep(archive, index, *objects);
    return status;
}

npyx_status npyx_archive_open_values(npyx_archive *archive, int64_t index, npyx_array *array,
                                     npyx_source **items, npyx_error *error) {
    npyx_objects *objects = NULL;
    if (!array->dtype->has_objects)
        return npyx_archive_open_payload(archive, index, items, error);
    NPYX_TRY(objects_of_entry(archive, index, array, &objects, error));
    npyx_status status = npyx_objects_open(objects, array, items, error);
    npyx_objects_release(objects);
    return status;
}
