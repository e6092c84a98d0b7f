#include "archive_found_private.h"
#include "object_left.h"
#include "walk/view_source.h"

/* A tensor may repeat the items of its storage (torch.Tensor.expand), so its size is a mere claim: bounded as
 * that of a deflated entry is, and where it is small not at all. */
enum { FOUND_MAX_NREPEATS = 1032, FOUND_FREE_NBYTES = 1 << 20 };

/* ---- tensors ---- */

/* A tensor in its storage. The strides of axes of length 1 mean nothing. */
static npyx_view found_view(const npyx_found_array *found, const npyx_dtype *dtype) {
    npyx_view view = {.dtype = dtype, .ndim = found->ndim, .off = found->first * dtype->itemsize};
    for (int axis = 0; axis < found->ndim; axis++) {
        int64_t stride = found->shape[axis] == 1 ? 0 : found->strides[axis] * dtype->itemsize;
        npyx_view_set_axis(&view, axis, found->shape[axis], stride, axis);
    }
    return view;
}

/* Finds the order of the items of a sound tensor. */
static void found_find_order(npyx_found_entry *array, int64_t nelem) {
    if (nelem == 0)
        return;
    const npyx_dtype dtype = {.type = array->found.type, .itemsize = npyx_types[array->found.type].itemsize};
    const npyx_view view = found_view(&array->found, &dtype);
    array->off = view.off;
    array->is_fortran = npyx_view_is_fortran(&view);
    array->is_strided = !array->is_fortran && !npyx_view_is_contiguous(&view);
}

/* The number of the last item after the first one, in the storage, and of all items; false if one is no
 * number of 63 bits. */
static bool found_measure(const npyx_found_array *found, int64_t *last, int64_t *nelem) {
    *last = 0;
    *nelem = 1;
    for (int axis = 0; axis < found->ndim; axis++) {
        if (found->shape[axis] == 0) {
            *nelem = *last = 0;
            return true;
        }
    }
    for (int axis = 0; axis < found->ndim; axis++) {
        int64_t span;
        if (!npyx_multiply_i64(found->shape[axis] - 1, found->strides[axis], &span) ||
            !npyx_add_i64(*last, span, last) || !npyx_multiply_i64(*nelem, found->shape[axis], nelem))
            return false;
    }
    return true;
}

/* Sets the array's fault if its items are not all in the bytes of its storage. */
static void found_check(npyx_found_entry *array) {
    const npyx_found_array *found = &array->found;
    int64_t itemsize = npyx_types[found->type].itemsize, last, nelem, end;
    bool is_measured = found_measure(found, &last, &nelem) && npyx_add_i64(found->first, last, &end);
    int64_t present_nelem = array->storage.nbytes / itemsize;
    if (found->storage_nelem > present_nelem)
        array->fault = "its storage has fewer bytes than its pickle says";
    else if (!is_measured || (nelem > 0 && end >= found->storage_nelem))
        array->fault = "its items go beyond the end of its storage";
    else if (nelem > FOUND_FREE_NBYTES / itemsize && nelem / FOUND_MAX_NREPEATS > present_nelem)
        array->fault = "it repeats the items of its storage more than 1032 times";
    if (array->fault == NULL)
        found_find_order(array, nelem);
}

static npyx_status found_resolve(npyx_found_archive *archive, npyx_found_entry *array, npyx_error *error) {
    const npyx_found_array *found = &array->found;
    array->fault = found->fault;
    if (found->array != NULL)
        array->is_fortran = found->array->is_fortran;
    if (array->fault != NULL || found->foreign != NULL || found->array != NULL)
        return NPYX_OK;
    npyx_status status = archive->form->find_storage == NULL
                             ? NPYX_DONE
                             : archive->form->find_storage(archive, found->key, &array->storage, error);
    array->has_storage = status == NPYX_OK;
    if (array->has_storage)
        found_check(array);
    else
        array->fault = "its storage is not in the file";
    return status == NPYX_DONE ? NPYX_OK : status;
}

npyx_status npyx_found_add_all(npyx_found_archive *archive, const npyx_budget *budget,
                               const npyx_object *root, const npyx_found_arrays *found, npyx_error *error) {
    int64_t first_entry = archive->nentries;
    NPYX_TRY(npyx_grow(archive->arena.host, &archive->roots, archive->nroots, &archive->capacity_nroots,
                       sizeof archive->roots[0], error));
    archive->allowed_nbytes = budget->allowed_nbytes;
    for (int64_t i = 0; i < found->count; i++) {
        NPYX_TRY(npyx_grow(archive->arena.host, &archive->entries, archive->nentries,
                           &archive->capacity_nentries, sizeof archive->entries[0], error));
        archive->entries[archive->nentries] =
            (npyx_found_entry){.found = found->arrays[i], .storage.zip_method = -1};
        NPYX_TRY(found_resolve(archive, &archive->entries[archive->nentries], error));
        archive->nentries++;
        if (archive->nentries % 256 == 0)
            NPYX_TRY(npyx_poll(archive->arena.host, error));
    }
    /* metadata ask for all its arrays */
    archive->roots[archive->nroots++] = (npyx_found_root){root, first_entry};
    return NPYX_OK;
}

npyx_status npyx_found_add(npyx_found_archive *archive, npyx_budget *budget, npyx_object *root,
                           const char *prefix, npyx_error *error) {
    npyx_found_arrays found = {0};
    NPYX_TRY(npyx_budget_work(budget, sizeof(npyx_found_root), error));
    npyx_status status = npyx_object_arrays_find(&archive->arena, budget, root, prefix, &found, error);
    if (status == NPYX_OK)
        status = npyx_found_add_all(archive, budget, root, &found, error);
    npyx_free(archive->arena.host, found.arrays);
    return status;
}

/* ---- learning ---- */

static void found_forget(npyx_found_archive *archive) {
    npyx_free(archive->arena.host, archive->entries);
    archive->entries = NULL;
    archive->nentries = archive->capacity_nentries = 0;
    npyx_free(archive->arena.host, archive->roots);
    archive->roots = NULL;
    archive->nroots = archive->capacity_nroots = 0;
    npyx_buffer_clear(&archive->metadata);
    if (archive->form->forget != NULL)
        archive->form->forget(archive);
    npyx_arena_clear(&archive->arena);
}

/* Reads the pickles, if that has not been done. */
static npyx_status found_learn(npyx_found_archive *archive, npyx_error *error) {
    if (archive->learnt != NPYX_OK)
        return NPYX_OK;
    npyx_status status = archive->form->learn(archive, &archive->fault);
    if (status == NPYX_NOMEM || status == NPYX_INTERRUPTED || status == NPYX_IO) { /* another time */
        found_forget(archive);
        return npyx_fail_again(error, &archive->fault);
    }
    archive->learnt = status == NPYX_OK ? NPYX_DONE : status;
    return NPYX_OK;
}

/* NPYX_DONE when there are fewer. */
static npyx_status found_entry_at(npyx_found_archive *archive, int64_t index, npyx_found_entry **array,
                                  npyx_error *error) {
    NPYX_TRY(found_learn(archive, error));
    if (index < archive->nentries) {
        *array = &archive->entries[index];
        return NPYX_OK;
    }
    npyx_status learnt = archive->learnt;
    if (learnt == NPYX_OK || learnt == NPYX_DONE)
        return NPYX_DONE;
    (void)npyx_fail_again(error, &archive->fault);
    return learnt;
}

/* ---- as an archive ---- */

static npyx_status found_entry(npyx_archive *base, int64_t index, npyx_entry *entry, npyx_error *error) {
    npyx_found_archive *archive = (npyx_found_archive *)base;
    npyx_found_entry *array;
    NPYX_TRY(found_entry_at(archive, index, &array, error));
    const npyx_found_array *found = &array->found;
    *entry = (npyx_entry){.name = found->name,
                          .name_nbytes = found->name_nbytes,
                          .member_nbytes = found->name_nbytes,
                          .is_unpacked = found->array != NULL && found->array->items != NULL,
                          .zip_method = array->storage.zip_method};
    return NPYX_OK;
}

/* In the array's arena. The dtype of a file: nobody else may take its items for addresses of nodes. */
static npyx_status found_dtype(const npyx_found_archive *archive, const npyx_found_array *found,
                               npyx_array *array, npyx_error *error) {
    npyx_dtype *dtype = npyx_arena_alloc(&array->arena, sizeof *dtype);
    NPYX_TRY(npyx_check_memory(dtype, error));
    *dtype = (npyx_dtype){.type = found->type, .multiple = 1, .is_big_endian = archive->is_big_endian};
    if (found->foreign != NULL)
        dtype->type = NPYX_VOID;
    else if (found->type == NPYX_HELD_OBJECT)
        *dtype = (npyx_dtype){.type = NPYX_OBJECT, .multiple = 1, .has_objects = true};
    dtype->itemsize = found->foreign != NULL ? 1 : npyx_types[dtype->type].itemsize;
    array->dtype = dtype;
    if (found->array == NULL || found->foreign != NULL || dtype->has_objects)
        return NPYX_OK;
    array->dtype = npyx_dtype_copy(&array->arena, found->array->dtype);
    return npyx_check_memory(array->dtype, error);
}

static npyx_status found_describe_type(const npyx_found_archive *archive, const npyx_found_array *found,
                                       npyx_array *array, npyx_error *error) {
    npyx_buffer descr = {.host = archive->arena.host};
    NPYX_TRY(found_dtype(archive, found, array, error));
    if (found->foreign != NULL)
        npyx_buffer_append(&descr, found->foreign, strlen(found->foreign));
    else
        npyx_dtype_append_descr(array->dtype, &descr);
    npyx_status status = npyx_buffer_check(&descr, error);
    array->descr_nbytes = descr.nbytes;
    if (status == NPYX_OK) {
        array->descr = npyx_arena_copy(&array->arena, descr.bytes, descr.nbytes);
        status = npyx_check_memory(array->descr, error);
    }
    npyx_buffer_clear(&descr);
    return status;
}

static npyx_status found_describe(npyx_archive *base, int64_t index, npyx_array *array, npyx_error *error) {
    npyx_found_archive *archive = (npyx_found_archive *)base;
    npyx_found_entry *from;
    NPYX_TRY(found_entry_at(archive, index, &from, error));
    const npyx_found_array *found = &from->found;
    array->is_array = true;
    if (from->fault != NULL)
        return npyx_fail_as(error, NPYX_KIND_HEADER, NPYX_CORRUPT, -1, "%s", from->fault);
    array->is_foreign = found->foreign != NULL;
    NPYX_TRY(found_describe_type(archive, found, array, error));
    array->ndim = found->ndim;
    if (found->ndim > 0)
        memcpy(array->shape, found->shape, (size_t)found->ndim * sizeof array->shape[0]);
    array->fortran_order = from->is_fortran;
    array->data_off =
        from->is_strided ? 0 : from->off; /* of what is put in order, the payload begins there */
    return npyx_array_measure(array, error);
}

static npyx_status found_locate(npyx_archive *base, int64_t index, int64_t *payload_off, npyx_error *error) {
    npyx_found_archive *archive = (npyx_found_archive *)base;
    npyx_found_entry *array;
    NPYX_TRY(found_entry_at(archive, index, &array, error));
    *payload_off = array->found.array != NULL ? array->found.array->left_off : array->storage.place;
    if (array->has_storage && archive->zip != NULL)
        NPYX_TRY(npyx_archive_locate(archive->zip, array->storage.place, payload_off, error));
    if (array->is_strided) /* where its first item is, as describe does not say */
        *payload_off += array->off;
    return NPYX_OK;
}

/* The bytes in which data_off counts. */
static npyx_status found_open_bytes(npyx_found_archive *archive, const npyx_found_entry *from,
                                    const npyx_array *array, npyx_source **payload, npyx_error *error) {
    const npyx_object_array *numpy = from->found.array;
    npyx_source *source = archive->base.source;
    const npyx_found_storage *storage = &from->storage;
    if (numpy == NULL && archive->zip != NULL)
        return npyx_archive_open_payload(archive->zip, storage->place, payload, error);
    if (numpy == NULL)
        return npyx_source_open_range(source, storage->place, storage->nbytes, false, 0, payload, error);
    if (numpy->items == NULL)
        return npyx_source_open_range(source, numpy->left_off, array->nbytes, false, 0, payload, error);
    return npyx_source_open_memory(source->host, numpy->items, (size_t)array->nbytes, payload, error);
}

static npyx_status found_open(npyx_archive *base, int64_t index, npyx_source **payload, npyx_error *error) {
    npyx_found_archive *archive = (npyx_found_archive *)base;
    npyx_found_entry *from;
    NPYX_TRY(found_entry_at(archive, index, &from, error));
    npyx_array array;
    npyx_source *bytes = NULL;
    npyx_array_init(&array, archive->arena.host);
    npyx_status status = found_describe(base, index, &array, error);
    if (status == NPYX_OK)
        status = npyx_array_check_values(&array, error);
    if (status == NPYX_OK)
        status = found_open_bytes(archive, from, &array, &bytes, error);
    if (status == NPYX_OK && from->is_strided) {
        const npyx_view view = found_view(&from->found, array.dtype);
        status = npyx_view_source_open(bytes, &view, array.dtype, payload, error);
    } else if (status == NPYX_OK) {
        *payload = bytes;
    }
    npyx_array_clear(&array);
    return status;
}

/* Reads what the objects have left in the file. */
static npyx_status found_read_left(npyx_found_archive *archive, const npyx_object_array *numpy,
                                   npyx_error *error) {
    npyx_budget budget = npyx_budget_of(archive->arena.host, numpy->dtype->text_nbytes);
    npyx_status status = NPYX_OK;
    for (int64_t i = 0; i < numpy->nobjects && status == NPYX_OK; i++)
        status = npyx_object_left_read(&archive->arena, &budget, archive->base.source,
                                       npyx_object_of_item(numpy->items + i * numpy->dtype->itemsize), error);
    if (status != NPYX_TOOBIG)
        return status;
    return npyx_fail_as(error, NPYX_KIND_LIMIT, NPYX_UNSUPPORTED, -1,
                        "the arrays in its items take more than %" PRIu64
                        " bytes; each has a name of its own",
                        budget.allowed_nbytes);
}

/* The nodes are those of the pickle that was read. */
static npyx_status found_open_objects(npyx_archive *base, int64_t index, npyx_array *array,
                                      npyx_source **items, npyx_error *error) {
    npyx_found_archive *archive = (npyx_found_archive *)base;
    npyx_found_entry *from;
    const npyx_dtype *held;
    NPYX_TRY(found_entry_at(archive, index, &from, error));
    const npyx_object_array *numpy = from->found.array;
    NPYX_TRY(found_read_left(archive, numpy, error));
    NPYX_TRY(npyx_dtype_hold(&array->arena, array->dtype, numpy->dtype->text_nbytes, &held, error));
    NPYX_TRY(npyx_source_open_memory(base->source->host, numpy->items, (size_t)array->nbytes, items, error));
    array->dtype = held;
    array->is_held = true;
    return NPYX_OK;
}

/* ---- what else there is ---- */

static void found_name(const void *ctx, uint32_t number, const char **name, size_t *nbytes) {
    const npyx_found_entry *entries = ctx;
    *name = entries[number - 1].found.name;
    *nbytes = entries[number - 1].found.name_nbytes;
}

/* One object, or a list of those of several pickles. */
static npyx_status found_append_metadata(const npyx_found_archive *archive, npyx_buffer *out,
                                         npyx_error *error) {
    bool is_list = archive->nroots > 1;
    npyx_buffer_append_text(out, is_list ? "[" : "");
    for (int64_t i = 0; i < archive->nroots; i++) {
        const npyx_found_root *root = &archive->roots[i];
        npyx_buffer_append_text(out, i > 0 ? "," : "");
        NPYX_TRY(npyx_object_append_named(root->object, found_name, archive->entries + root->first_entry, out,
                                          error));
    }
    npyx_buffer_append_text(out, is_list ? "]" : "");
    return npyx_buffer_check(out, error);
}

static npyx_status found_metadata(npyx_archive *base, const char **text, size_t *nbytes, npyx_error *error) {
    npyx_found_archive *archive = (npyx_found_archive *)base;
    npyx_buffer *out = &archive->metadata;
    NPYX_TRY(found_learn(archive, error));
    if (archive->nroots == 0)
        return NPYX_DONE;
    if (out->nbytes == 0) {
        npyx_budget budget = npyx_budget_of(archive->arena.host, archive->allowed_nbytes);
        out->host = archive->arena.host;
        out->budget = &budget;
        npyx_status status = found_append_metadata(archive, out, error);
        out->budget = NULL;
        if (status != NPYX_OK)
            npyx_buffer_clear(out);
        if (status == NPYX_TOOBIG)
            return npyx_fail_as(error, NPYX_KIND_LIMIT, NPYX_UNSUPPORTED, -1,
                                "its metadata take more than %" PRIu64 " bytes", budget.allowed_nbytes);
        NPYX_TRY(status);
    }
    *text = out->bytes;
    *nbytes = out->nbytes;
    return NPYX_OK;
}

static void found_quiesce(npyx_archive *base) {
    npyx_found_archive *archive = (npyx_found_archive *)base;
    if (archive->zip != NULL)
        npyx_archive_quiesce(archive->zip);
}

static void found_close(npyx_archive *base) {
    npyx_found_archive *archive = (npyx_found_archive *)base;
    npyx_host *host = archive->arena.host;
    found_forget(archive);
    if (archive->zip == NULL)
        npyx_source_close(base->source);
    npyx_archive_close(archive->zip);
    npyx_free(host, archive);
}

static const npyx_archive_ops found_ops = {.entry = found_entry,
                                           .describe = found_describe,
                                           .locate = found_locate,
                                           .open = found_open,
                                           .open_objects = found_open_objects,
                                           .metadata = found_metadata,
                                           .quiesce = found_quiesce,
                                           .close = found_close};

npyx_found_archive *npyx_found_make(npyx_source *source, size_t nbytes, npyx_format format,
                                    const npyx_found_form *form) {
    npyx_found_archive *made = npyx_alloc_zeroed(source->host, nbytes);
    if (made == NULL)
        return NULL;
    made->base = (npyx_archive){.ops = &found_ops, .format = format, .source = source};
    made->form = form;
    made->arena.host = source->host;
    return made;
}
