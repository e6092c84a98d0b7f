#include "archive.h"

#include "pickle.h"
#include "text/span.h"

struct npyx_objects {
    npyx_arena arena; /* of the pickle, nodes and items */
    const uint8_t *items;
    size_t items_nbytes;
    uint64_t allowed_nbytes; /* that may be made of each */
    int nusers;
};

/* ---- objects: reading ---- */

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
    int64_t end_off = 0;
    npyx_budget budget = npyx_budget_of_none(made->arena.host);
    NPYX_TRY(npyx_pickle_read(&made->arena, &budget, payload, array->data_off, (npyx_pickle_options){0},
                              &root, &end_off, error));
    if (payload->wants_order)
        NPYX_TRY(npyx_source_drain(payload, error));
    npyx_pickle p = {.arena = &made->arena, .budget = &budget, .op_off = end_off, .error = error};
    NPYX_TRY(objects_list(&p, root, array, &list));
    const npyx_dtype *held;
    NPYX_TRY(npyx_dtype_hold(&made->arena, array->dtype, budget.allowed_nbytes, &held, error));
    npyx_status status = npyx_pickle_store_list(&p, held, list, &items);
    if (status == NPYX_DONE)
        return objects_fail(array, "items that do not fit the dtype of the header", error);
    made->items = items;
    made->items_nbytes = (size_t)array->nbytes;
    made->allowed_nbytes = budget.allowed_nbytes;
    return status;
}

npyx_status npyx_objects_read(npyx_source *payload, const npyx_array *array, npyx_objects **objects,
                              npyx_error *error) {
    npyx_host *host = payload->host;
    npyx_objects *made = npyx_alloc_zeroed(host, sizeof *made);
    NPYX_TRY(npyx_check_memory(made, error));
    made->arena.host = host;
    made->nusers = 1;
    npyx_status status = objects_make(made, payload, array, error);
    if (status == NPYX_OK)
        *objects = made;
    else
        npyx_objects_release(made);
    return status;
}

/* ---- objects as items ---- */

static void objects_close(void *ctx) {
    npyx_objects_release(ctx);
}

npyx_status npyx_objects_open(npyx_objects *objects, npyx_array *array, npyx_source **items,
                              npyx_error *error) {
    const npyx_dtype *held;
    NPYX_TRY(npyx_dtype_hold(&array->arena, array->dtype, objects->allowed_nbytes, &held, error));
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

void npyx_objects_release(npyx_objects *objects) {
    if (objects == NULL || --objects->nusers > 0)
        return;
    npyx_host *host = objects->arena.host;
    npyx_arena_clear(&objects->arena);
    npyx_free(host, objects);
}

/* ---- objects kept with an archive ---- */

typedef struct npyx_kept_objects {
    struct npyx_kept_objects *next;
    int64_t index;
    npyx_objects *objects;
    size_t nbytes;
} npyx_kept_objects;

static void objects_keep(npyx_archive *archive, int64_t index, npyx_objects *objects) {
    npyx_host *host = archive->source->host;
    size_t nbytes = npyx_arena_nbytes(&objects->arena);
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

static void objects_forget(npyx_archive *archive) {
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
    if (archive->ops->open_objects != NULL)
        return archive->ops->open_objects(archive, index, array, items, error);
    NPYX_TRY(objects_of_entry(archive, index, array, &objects, error));
    npyx_status status = npyx_objects_open(objects, array, items, error);
    npyx_objects_release(objects);
    return status;
}

/* ---- archives ---- */

void npyx_archive_close(npyx_archive *archive) {
    if (archive == NULL)
        return;
    npyx_name_set_clear(&archive->names);
    objects_forget(archive);
    archive->ops->close(archive);
}

bool npyx_archive_is_one_npy(npyx_archive *archive) {
    npyx_entry entry;
    return archive->format == NPYX_FORMAT_NPY && npyx_archive_entry(archive, 1, &entry, NULL) != NPYX_OK;
}

npyx_status npyx_archive_entry_asked_for(npyx_archive *archive, int64_t index, npyx_entry *entry,
                                         npyx_error *error) {
    npyx_status status = npyx_archive_entry(archive, index, entry, error);
    if (status != NPYX_DONE)
        return status;
    int64_t count = 0;
    while (npyx_archive_entry(archive, count, entry, NULL) == NPYX_OK)
        count++;
    if (count == 0)
        return npyx_fail(error, NPYX_NOT_FOUND, -1,
                         "there is no array number %" PRId64 ": the file holds none", index);
    if (count == 1 && archive->format == NPYX_FORMAT_NPY)
        return npyx_fail(error, NPYX_NOT_FOUND, -1,
                         "there is no array number %" PRId64
                         ": a .npy has only number 0; give '' here, and other arguments after it",
                         index);
    if (count == 1)
        return npyx_fail(error, NPYX_NOT_FOUND, -1,
                         "there is no array number %" PRId64 " (there is only number 0)", index);
    return npyx_fail(error, NPYX_NOT_FOUND, -1,
                     "there is no array number %" PRId64 " (there are %" PRId64 ", from 0)", index, count);
}

npyx_status npyx_archive_fail_no_array(npyx_error *error) {
    return npyx_fail(error, NPYX_CORRUPT, -1, "is not a .npy array (the magic bytes are missing)");
}

static npyx_status fail_not_found(npyx_archive *archive, const char *name, size_t name_nbytes,
                                  npyx_error *error) {
    if (archive->format == NPYX_FORMAT_NPY)
        return npyx_fail(error, NPYX_NOT_FOUND, -1,
                         "there is no array '%.*s': those of a .npy have no names; give '' here, and other "
                         "arguments after it",
                         NPYX_SHOWN(name, name_nbytes, 100));
    npyx_name_list list = {0};
    npyx_entry entry;
    int64_t count = archive->names.count;
    for (int64_t i = 0; list.nmore == 0 && npyx_archive_entry(archive, i, &entry, NULL) == NPYX_OK; i++) {
        npyx_name_list_add(&list, entry.name, entry.name_nbytes);
        if (list.nmore > 0) /* the following ones do not fit either */
            list.nmore = count - i;
    }
    if (list.nbytes == 0)
        return npyx_fail(error, NPYX_NOT_FOUND, -1, "there is no array '%.*s': the file holds none",
                         NPYX_SHOWN(name, name_nbytes, 100));
    return npyx_fail(error, NPYX_NOT_FOUND, -1, "there is no array '%.*s' (there are %s)",
                     NPYX_SHOWN(name, name_nbytes, 100), npyx_name_list_text(&list));
}

/* Learns the names of all entries: in a damaged archive those up to the fault, which is reported every
 * time. */
static npyx_status learn_names(npyx_archive *archive, npyx_error *error) {
    npyx_host *host = archive->source->host;
    npyx_name_set *names = &archive->names;
    npyx_status status = NPYX_OK;
    names->bytes.host = host;
    for (int64_t i = 0; status == NPYX_OK; i++) {
        npyx_entry entry;
        status = npyx_archive_entry(archive, i, &entry, error);
        if (status == NPYX_OK)
            status = npyx_name_set_add(names, entry.name, entry.member_nbytes, error);
        if (status == NPYX_OK && (i & 255) == 255)
            status = npyx_poll(host, error);
    }
    if (status == NPYX_DONE || status == NPYX_CORRUPT)
        archive->names_status = status;
    else
        npyx_name_set_clear(names);
    return status;
}

/* The entry of an .npz or a tar whose file name is that name plus `.npy`. */
static npyx_status find_npy(npyx_archive *archive, const char *name, size_t name_nbytes, int64_t *index,
                            npyx_error *error) {
    npyx_buffer filename = {.host = archive->source->host};
    npyx_buffer_append(&filename, name, name_nbytes);
    npyx_buffer_append(&filename, ".npy", 4);
    npyx_status status = npyx_buffer_check(&filename, error);
    if (status == NPYX_OK)
        *index = npyx_name_set_find(&archive->names, filename.bytes, filename.nbytes, NULL);
    npyx_buffer_clear(&filename);
    return status;
}

npyx_status npyx_archive_find(npyx_archive *archive, const char *name, size_t name_nbytes, int64_t *index,
                              npyx_error *error) {
    npyx_status status = archive->names_status;
    npyx_entry entry;
    if (status == NPYX_OK)
        status = learn_names(archive, error);
    else if (status != NPYX_DONE)
        status = npyx_archive_entry(archive, archive->names.count, &entry, error);
    if (status != NPYX_DONE)
        return status;
    int64_t nsame;
    *index = npyx_name_set_find(&archive->names, name, name_nbytes, &nsame);
    bool has_members = archive->format == NPYX_FORMAT_NPZ || archive->format == NPYX_FORMAT_TAR;
    if (*index < 0 && has_members)
        NPYX_TRY(find_npy(archive, name, name_nbytes, index, error));
    else if (!has_members && nsame > 1)
        return npyx_refuse(error,
                           "%" PRId64 " arrays have the name '%.*s'; give the idx of one instead of the name",
                           nsame, NPYX_SHOWN(name, name_nbytes, 100));
    return *index >= 0 ? NPYX_OK : fail_not_found(archive, name, name_nbytes, error);
}

const char *npyx_format_name(npyx_format format) {
    static const char *const names[] = {[NPYX_FORMAT_NPY] = "npy",
                                        [NPYX_FORMAT_NPZ] = "npz",
                                        [NPYX_FORMAT_TEN] = "ten",
                                        [NPYX_FORMAT_TAR] = "tar",
                                        [NPYX_FORMAT_SAFETENSORS] = "safetensors",
                                        [NPYX_FORMAT_GGUF] = "gguf",
                                        [NPYX_FORMAT_TORCH] = "torch",
                                        [NPYX_FORMAT_PICKLE] = "pickle"};
    return names[format];
}
