/*
 * What torch.save writes (torch/serialization.py, _save; caffe2/serialize/inline_container.cc): a zip of
 *
 *     NAME/data.pkl     a pickle, in which each storage is a persistent id
 *     NAME/byteorder    `little` or `big`; not there: little
 *     NAME/data/KEY     the bytes of the storage KEY
 *
 * TorchScript's has NAME/constants.pkl with NAME/constants/KEY, too. Until PyTorch 1.6 (_legacy_save) it was
 * five pickles in a row, a number that says so, the version, the system, the objects, and the storages' keys,
 * and after them for each key
 *
 *     8 bytes           how many items the storage has, little-endian
 *     its items         little-endian
 *
 * The arrays are the tensors of the pickles (object_arrays.h). Storages are read in place. A tensor whose
 * items are in C or Fortran order is a range of one; any other is put in order as it is read.
 */
#include "archive.h"
#include "object_arrays.h"
#include "text/span.h"
#include "walk/view_source.h"

/* A tensor may repeat the items of its storage (torch.Tensor.expand), so its size is a mere claim: bounded as
 * that of a deflated entry is, and where it is small not at all. */
enum { MAX_NREPEATS = 1032, FREE_NBYTES = 1 << 20 };

typedef struct torch_array {
    npyx_found_array found;
    int64_t storage; /* the zip's entry, or the number of one of the storages; -1: none */
    const char *fault;
    /* of a tensor with a storage: */
    int64_t off; /* of its first item, there */
    bool is_fortran;
    bool is_strided; /* in neither order */
} torch_array;

/* Of a file that is no zip. */
typedef struct torch_storage {
    int itemsize; /* 0: unknown */
    int64_t off;  /* -1: unknown */
    int64_t nbytes;
} torch_storage;

typedef struct torch_archive {
    npyx_archive base;
    npyx_archive *zip; /* NULL: it is none */
    npyx_arena arena;
    npyx_buffer pickles[2]; /* nodes point to their bytes */
    npyx_span name;         /* NAME/ */
    int64_t data;           /* the zip's entry NAME/data.pkl */
    bool is_big_endian;
    /* The pickles are read when the first array is asked for. */
    npyx_status learnt; /* NPYX_OK: not yet; NPYX_DONE, or the fault after the last array */
    npyx_error fault;
    torch_array *arrays;
    int64_t narrays, capacity_narrays;
    npyx_name_set keys; /* of the storages */
    torch_storage *storages;
} torch_archive;

/* ---- the zip's entries ---- */

/* The entry NAME/KIND/KEY or NAME/KIND; -1: there is none. */
static npyx_status torch_find(torch_archive *archive, const char *kind, const npyx_object *key,
                              int64_t *index, npyx_error *error) {
    npyx_buffer name = {.host = archive->arena.host};
    npyx_buffer_append(&name, archive->name.text, archive->name.nbytes);
    npyx_buffer_append(&name, kind, strlen(kind));
    if (key != NULL)
        npyx_buffer_append(&name, key->text.bytes, key->text.nbytes);
    npyx_status status = npyx_buffer_check(&name, error);
    *index = -1;
    if (status == NPYX_OK)
        status = npyx_archive_find(archive->zip, name.bytes, name.nbytes, index, error);
    npyx_buffer_clear(&name);
    return status == NPYX_NOT_FOUND ? NPYX_OK : status;
}

/* Reads the whole entry. */
static npyx_status torch_fetch(torch_archive *archive, int64_t index, npyx_buffer *bytes, npyx_error *error) {
    npyx_source *payload = NULL;
    NPYX_TRY(npyx_archive_open_payload(archive->zip, index, &payload, error));
    npyx_status status = npyx_pickle_fetch(payload, 0, bytes, error);
    npyx_source_close(payload);
    return status;
}

static npyx_status torch_read_byteorder(torch_archive *archive, npyx_error *error) {
    npyx_source *payload = NULL;
    char text[4];
    size_t nbytes = 0;
    int64_t index;
    NPYX_TRY(torch_find(archive, "byteorder", NULL, &index, error));
    if (index < 0)
        return NPYX_OK;
    NPYX_TRY(npyx_archive_open_payload(archive->zip, index, &payload, error));
    npyx_status status = npyx_source_read(payload, 0, text, sizeof text, &nbytes, error);
    npyx_source_close(payload);
    archive->is_big_endian = npyx_is_same(text, nbytes < 3 ? nbytes : 3, "big", 3);
    return status;
}

/* ---- storages ---- */

static npyx_status torch_find_storage(torch_archive *archive, const char *kind, const npyx_object *key,
                                      int64_t *storage, npyx_error *error) {
    if (archive->zip != NULL)
        return torch_find(archive, kind, key, storage, error);
    *storage = npyx_name_set_find(&archive->keys, key->text.bytes, key->text.nbytes, NULL);
    if (*storage >= 0 && archive->storages[*storage].off < 0)
        *storage = -1;
    return NPYX_OK;
}

static npyx_status torch_storage_nbytes(torch_archive *archive, int64_t storage, int64_t *nbytes,
                                        npyx_error *error) {
    npyx_entry entry;
    if (archive->zip == NULL) {
        *nbytes = archive->storages[storage].nbytes;
        return NPYX_OK;
    }
    NPYX_TRY(npyx_archive_entry(archive->zip, storage, &entry, error));
    *nbytes = entry.zip->nbytes;
    return NPYX_OK;
}

static npyx_status torch_open_storage(torch_archive *archive, int64_t storage, npyx_source **payload,
                                      npyx_error *error) {
    if (archive->zip != NULL)
        return npyx_archive_open_payload(archive->zip, storage, payload, error);
    const torch_storage *range = &archive->storages[storage];
    return npyx_source_open_range(archive->base.source, range->off, range->nbytes, false, 0, payload, error);
}

/* ---- the arrays ---- */

/* A tensor in its storage. The strides of axes of length 1 mean nothing. */
static npyx_view torch_view(const npyx_found_array *found, const npyx_dtype *dtype) {
    npyx_view view = {.dtype = dtype, .ndim = found->ndim, .off = found->first * dtype->itemsize};
    for (int axis = 0; axis < found->ndim; axis++) {
        int64_t stride = found->shape[axis] == 1 ? 0 : found->strides[axis] * dtype->itemsize;
        npyx_view_set_axis(&view, axis, found->shape[axis], stride, axis);
    }
    return view;
}

/* Finds the order of the items of a sound tensor. */
static void torch_find_order(torch_array *array, int64_t nelem) {
    if (nelem == 0)
        return;
    const npyx_dtype dtype = {.type = array->found.type, .itemsize = npyx_types[array->found.type].itemsize};
    const npyx_view view = torch_view(&array->found, &dtype);
    array->off = view.off;
    array->is_fortran = npyx_view_is_fortran(&view);
    array->is_strided = !array->is_fortran && !npyx_view_is_contiguous(&view);
}

/* The number of the last item after the first one, in the storage, and of all items; false if one is no
 * number of 63 bits. */
static bool torch_measure(const npyx_found_array *found, int64_t *last, int64_t *nelem) {
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
static npyx_status torch_check(torch_archive *archive, torch_array *array, npyx_error *error) {
    const npyx_found_array *found = &array->found;
    int64_t itemsize = npyx_types[found->type].itemsize, stored_nbytes, last, nelem, end;
    NPYX_TRY(torch_storage_nbytes(archive, array->storage, &stored_nbytes, error));
    bool is_measured = torch_measure(found, &last, &nelem) && npyx_add_i64(found->first, last, &end);
    int64_t present_nelem = stored_nbytes / itemsize;
    if (found->storage_nelem > present_nelem)
        array->fault = "its storage has fewer bytes than its pickle says";
    else if (!is_measured || (nelem > 0 && end >= found->storage_nelem))
        array->fault = "its items go beyond the end of its storage";
    else if (nelem > FREE_NBYTES / itemsize && nelem / MAX_NREPEATS > present_nelem)
        array->fault = "it repeats the items of its storage more than 1032 times";
    if (array->fault == NULL)
        torch_find_order(array, nelem);
    return NPYX_OK;
}

static npyx_status torch_resolve(torch_archive *archive, const char *kind, torch_array *array,
                                 npyx_error *error) {
    array->storage = -1;
    array->fault = array->found.fault;
    if (array->fault != NULL || array->found.foreign != NULL || array->found.array != NULL)
        return NPYX_OK;
    NPYX_TRY(torch_find_storage(archive, kind, array->found.key, &array->storage, error));
    if (array->storage >= 0)
        return torch_check(archive, array, error);
    array->fault = "its storage is not in the file";
    return NPYX_OK;
}

static npyx_status torch_add(torch_archive *archive, const char *kind, const npyx_found_array *found,
                             npyx_error *error) {
    torch_array *arrays = npyx_grow(archive->arena.host, archive->arrays, archive->narrays,
                                    &archive->capacity_narrays, sizeof *arrays);
    NPYX_TRY(npyx_check_memory(arrays, error));
    archive->arrays = arrays;
    arrays[archive->narrays] = (torch_array){.found = *found};
    NPYX_TRY(torch_resolve(archive, kind, &arrays[archive->narrays], error));
    archive->narrays++;
    return archive->narrays % 256 == 0 ? npyx_poll(archive->arena.host, error) : NPYX_OK;
}

static npyx_status torch_add_all(torch_archive *archive, const char *kind, const npyx_found_arrays *found,
                                 npyx_error *error) {
    for (int64_t i = 0; i < found->count; i++)
        NPYX_TRY(torch_add(archive, kind, &found->arrays[i], error));
    return NPYX_OK;
}

/* ---- a zip's pickles ---- */

/* Reads the pickle of an entry, and lists its arrays. */
static npyx_status torch_read(torch_archive *archive, int64_t index, npyx_buffer *pickle, const char *prefix,
                              const char *kind, npyx_error *error) {
    npyx_object *root;
    npyx_found_arrays found = {0};
    NPYX_TRY(torch_fetch(archive, index, pickle, error));
    npyx_budget budget = npyx_budget_of(archive->arena.host, npyx_budget_allowance(pickle->nbytes));
    NPYX_TRY(npyx_pickle_read(&archive->arena, &budget, (const uint8_t *)pickle->bytes, pickle->nbytes, 0,
                              true, &root, NULL, error));
    npyx_status status = npyx_object_arrays_find(&archive->arena, &budget, root, prefix, &found, error);
    if (status == NPYX_OK)
        status = torch_add_all(archive, kind, &found, error);
    npyx_free(archive->arena.host, found.arrays);
    return status;
}

static npyx_status torch_read_zip(torch_archive *archive, npyx_error *error) {
    int64_t constants;
    NPYX_TRY(torch_read_byteorder(archive, error));
    NPYX_TRY(torch_read(archive, archive->data, &archive->pickles[0], "", "data/", error));
    NPYX_TRY(torch_find(archive, "constants.pkl", NULL, &constants, error));
    if (constants < 0)
        return NPYX_OK;
    return torch_read(archive, constants, &archive->pickles[1], "constants", "constants/", error);
}

/* ---- pickles in a row ---- */

typedef struct legacy_pickles {
    npyx_budget budget;
    npyx_object *objects[5]; /* the number, the version, the system, the objects, the keys */
    size_t nbytes;           /* of all; SIZE_MAX: there are more than were read */
} legacy_pickles;

static npyx_status legacy_parse(torch_archive *archive, legacy_pickles *pickles, npyx_error *error) {
    const npyx_buffer *bytes = &archive->pickles[0];
    pickles->budget = npyx_budget_of(archive->arena.host, npyx_budget_allowance(bytes->nbytes));
    pickles->nbytes = 0;
    for (int i = 0; i < 5; i++) {
        size_t nbytes = 0, off = pickles->nbytes;
        npyx_status status =
            npyx_pickle_read(&archive->arena, &pickles->budget, (const uint8_t *)bytes->bytes + off,
                             bytes->nbytes - off, (int64_t)off, true, &pickles->objects[i], &nbytes, error);
        pickles->nbytes = nbytes == SIZE_MAX ? SIZE_MAX : off + nbytes;
        NPYX_TRY(status);
    }
    return NPYX_OK;
}

/* Nobody says how long the pickles are. Storages come after them, so they are read in steps. */
static npyx_status legacy_read(torch_archive *archive, legacy_pickles *pickles, npyx_error *error) {
    npyx_source *source = archive->base.source;
    npyx_buffer *bytes = &archive->pickles[0];
    for (int64_t nbytes = NPYX_PICKLE_PIECE_NBYTES;; nbytes *= 2) {
        nbytes = nbytes < source->nbytes ? nbytes : source->nbytes;
        npyx_buffer_reset(bytes);
        if (!npyx_buffer_reserve(bytes, (size_t)nbytes))
            return npyx_buffer_check(bytes, error);
        NPYX_TRY(npyx_source_read_exactly(source, 0, bytes->bytes, (size_t)nbytes, error));
        bytes->nbytes = (size_t)nbytes;
        npyx_status status = legacy_parse(archive, pickles, error);
        if (status == NPYX_OK || pickles->nbytes != SIZE_MAX || nbytes == source->nbytes)
            return status;
        npyx_arena_clear(&archive->arena);
        NPYX_TRY(npyx_poll(archive->arena.host, error));
    }
}

/* The size of a storage's items is known from a tensor in it. */
static npyx_status legacy_find_itemsizes(torch_archive *archive, const npyx_object *keys,
                                         const npyx_found_arrays *found, npyx_error *error) {
    npyx_host *host = archive->arena.host;
    uint32_t nkeys = keys->kind == NPYX_OBJECT_LIST ? keys->list.count : 0;
    archive->keys.bytes.host = host;
    archive->storages = npyx_alloc_array_zeroed(host, (int64_t)nkeys + 1, sizeof archive->storages[0]);
    NPYX_TRY(npyx_check_memory(archive->storages, error));
    for (uint32_t i = 0; i < nkeys; i++) {
        const npyx_object *key = keys->list.items[i];
        if (key->kind != NPYX_OBJECT_TEXT)
            return npyx_fail(error, NPYX_CORRUPT, -1, "the key of a storage is not a text");
        NPYX_TRY(npyx_name_set_add(&archive->keys, key->text.bytes, key->text.nbytes, error));
        archive->storages[i].off = -1;
    }
    for (int64_t i = 0; i < found->count; i++) {
        const npyx_object *key = found->arrays[i].key;
        int64_t number =
            key == NULL ? -1 : npyx_name_set_find(&archive->keys, key->text.bytes, key->text.nbytes, NULL);
        if (number >= 0 && found->arrays[i].storage_itemsize > 0)
            archive->storages[number].itemsize = found->arrays[i].storage_itemsize;
    }
    return NPYX_OK;
}

/* Finds the storages from off on. Where one cannot be passed, the others stay unknown. */
static npyx_status legacy_locate(torch_archive *archive, int64_t off, npyx_error *error) {
    npyx_source *source = archive->base.source;
    for (int64_t i = 0; i < archive->keys.count; i++) {
        uint8_t head[8];
        torch_storage *storage = &archive->storages[i];
        if (source->nbytes - off < (int64_t)sizeof head || storage->itemsize == 0)
            return NPYX_OK;
        NPYX_TRY(npyx_source_read_exactly(source, off, head, sizeof head, error));
        uint64_t nelem = npyx_load_u64(head, false);
        off += (int64_t)sizeof head;
        if (nelem > (uint64_t)(source->nbytes - off) / (uint64_t)storage->itemsize)
            return NPYX_OK;
        storage->off = off;
        storage->nbytes = (int64_t)nelem * storage->itemsize;
        off += storage->nbytes;
        if (i % 256 == 255)
            NPYX_TRY(npyx_poll(archive->arena.host, error));
    }
    return NPYX_OK;
}

static npyx_status torch_read_legacy(torch_archive *archive, npyx_error *error) {
    legacy_pickles pickles = {0};
    npyx_found_arrays found = {0};
    NPYX_TRY(legacy_read(archive, &pickles, error));
    npyx_status status =
        npyx_object_arrays_find(&archive->arena, &pickles.budget, pickles.objects[3], "", &found, error);
    if (status == NPYX_OK)
        status = legacy_find_itemsizes(archive, pickles.objects[4], &found, error);
    if (status == NPYX_OK)
        status = legacy_locate(archive, (int64_t)pickles.nbytes, error);
    if (status == NPYX_OK)
        status = torch_add_all(archive, "", &found, error);
    npyx_free(archive->arena.host, found.arrays);
    return status;
}

/* ---- learning ---- */

static void torch_forget(torch_archive *archive) {
    npyx_free(archive->arena.host, archive->arrays);
    archive->arrays = NULL;
    archive->narrays = archive->capacity_narrays = 0;
    npyx_buffer_clear(&archive->pickles[0]);
    npyx_buffer_clear(&archive->pickles[1]);
    npyx_name_set_clear(&archive->keys);
    npyx_free(archive->arena.host, archive->storages);
    archive->storages = NULL;
    npyx_arena_clear(&archive->arena);
}

/* Reads the pickles, if that has not been done. */
static npyx_status torch_learn(torch_archive *archive, npyx_error *error) {
    if (archive->learnt != NPYX_OK)
        return NPYX_OK;
    npyx_status status = archive->zip != NULL ? torch_read_zip(archive, &archive->fault)
                                              : torch_read_legacy(archive, &archive->fault);
    if (status == NPYX_NOMEM || status == NPYX_INTERRUPTED || status == NPYX_IO) { /* another time */
        torch_forget(archive);
        return npyx_fail_again(error, &archive->fault);
    }
    archive->learnt = status == NPYX_OK ? NPYX_DONE : status;
    return NPYX_OK;
}

/* NPYX_DONE when there are fewer. */
static npyx_status torch_array_at(torch_archive *archive, int64_t index, torch_array **array,
                                  npyx_error *error) {
    NPYX_TRY(torch_learn(archive, error));
    if (index < archive->narrays) {
        *array = &archive->arrays[index];
        return NPYX_OK;
    }
    npyx_status learnt = archive->learnt;
    if (learnt == NPYX_OK || learnt == NPYX_DONE)
        return NPYX_DONE;
    (void)npyx_fail_again(error, &archive->fault);
    return learnt;
}

/* ---- as an archive ---- */

static npyx_status torch_entry(npyx_archive *base, int64_t index, npyx_entry *entry, npyx_error *error) {
    torch_archive *archive = (torch_archive *)base;
    torch_array *array;
    NPYX_TRY(torch_array_at(archive, index, &array, error));
    *entry = (npyx_entry){.name = array->found.name,
                          .name_nbytes = array->found.name_nbytes,
                          .member_nbytes = array->found.name_nbytes,
                          .is_unpacked = array->found.array != NULL,
                          .zip_method = -1};
    npyx_entry stored;
    if (array->storage >= 0 && archive->zip != NULL) {
        NPYX_TRY(npyx_archive_entry(archive->zip, array->storage, &stored, error));
        entry->zip_method = stored.zip_method;
    }
    return NPYX_OK;
}

static npyx_status torch_describe_type(const torch_archive *archive, const npyx_found_array *found,
                                       npyx_array *array, npyx_error *error) {
    npyx_buffer descr = {.host = archive->arena.host};
    npyx_dtype *dtype = npyx_arena_alloc(&array->arena, sizeof *dtype);
    NPYX_TRY(npyx_check_memory(dtype, error));
    *dtype = (npyx_dtype){.type = found->foreign != NULL ? NPYX_VOID : found->type,
                          .multiple = 1,
                          .itemsize = found->foreign != NULL ? 1 : npyx_types[found->type].itemsize,
                          .is_big_endian = archive->is_big_endian};
    array->dtype = found->array != NULL && found->foreign == NULL
                       ? npyx_dtype_copy(&array->arena, found->array->dtype)
                       : dtype;
    NPYX_TRY(npyx_check_memory(array->dtype, error));
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

static npyx_status torch_describe(npyx_archive *base, int64_t index, npyx_array *array, npyx_error *error) {
    torch_archive *archive = (torch_archive *)base;
    torch_array *from;
    NPYX_TRY(torch_array_at(archive, index, &from, error));
    const npyx_found_array *found = &from->found;
    array->is_array = true;
    if (from->fault != NULL)
        return npyx_fail_as(error, NPYX_KIND_HEADER, NPYX_CORRUPT, -1, "%s", from->fault);
    array->is_foreign = found->foreign != NULL;
    NPYX_TRY(torch_describe_type(archive, found, array, error));
    array->ndim = found->ndim;
    if (found->ndim > 0)
        memcpy(array->shape, found->shape, (size_t)found->ndim * sizeof array->shape[0]);
    array->fortran_order = from->is_fortran;
    array->data_off =
        from->is_strided ? 0 : from->off; /* of what is put in order, the payload begins there */
    return npyx_array_measure(array, error);
}

static npyx_status torch_locate(npyx_archive *base, int64_t index, int64_t *payload_off, npyx_error *error) {
    torch_archive *archive = (torch_archive *)base;
    torch_array *array;
    NPYX_TRY(torch_array_at(archive, index, &array, error));
    *payload_off = 0;
    if (array->storage < 0)
        return NPYX_OK;
    if (archive->zip == NULL)
        *payload_off = archive->storages[array->storage].off;
    else
        NPYX_TRY(npyx_archive_locate(archive->zip, array->storage, payload_off, error));
    if (array->is_strided) /* where its first item is, as describe does not say */
        *payload_off += array->off;
    return NPYX_OK;
}

static npyx_status torch_open(npyx_archive *base, int64_t index, npyx_source **payload, npyx_error *error) {
    torch_archive *archive = (torch_archive *)base;
    torch_array *from;
    NPYX_TRY(torch_array_at(archive, index, &from, error));
    const npyx_found_array *found = &from->found;
    npyx_array array;
    npyx_source *storage = NULL;
    npyx_array_init(&array, archive->arena.host);
    npyx_status status = torch_describe(base, index, &array, error);
    if (status == NPYX_OK)
        status = npyx_array_check_values(&array, error);
    if (status == NPYX_OK && found->array != NULL)
        status = npyx_source_open_memory(archive->arena.host, found->array->items, (size_t)array.nbytes,
                                         &storage, error);
    else if (status == NPYX_OK)
        status = torch_open_storage(archive, from->storage, &storage, error);
    if (status == NPYX_OK && from->is_strided) {
        const npyx_view view = torch_view(found, array.dtype);
        status = npyx_view_source_open(storage, &view, array.dtype, payload, error);
    } else if (status == NPYX_OK) {
        *payload = storage;
    }
    npyx_array_clear(&array);
    return status;
}

static void torch_quiesce(npyx_archive *base) {
    if (((torch_archive *)base)->zip != NULL)
        npyx_archive_quiesce(((torch_archive *)base)->zip);
}

static void torch_close(npyx_archive *base) {
    torch_archive *archive = (torch_archive *)base;
    npyx_host *host = archive->arena.host;
    torch_forget(archive);
    if (archive->zip != NULL) /* which owns the source */
        npyx_archive_close(archive->zip);
    else
        npyx_source_close(base->source);
    npyx_free(host, archive);
}

static const npyx_archive_ops torch_ops = {.entry = torch_entry,
                                           .describe = torch_describe,
                                           .locate = torch_locate,
                                           .open = torch_open,
                                           .quiesce = torch_quiesce,
                                           .close = torch_close};

/* Finds NAME/data.pkl, where NAME has no slash. */
static bool torch_find_pickle(npyx_archive *zip, torch_archive *archive) {
    static const char pickle[] = "/data.pkl";
    npyx_entry entry;
    npyx_error error; /* a damaged directory is reported to whoever lists it */
    for (int64_t i = 0; npyx_archive_entry(zip, i, &entry, &error) == NPYX_OK; i++) {
        npyx_span filename = {entry.zip->filename, entry.zip->filename_nbytes};
        size_t name_nbytes = filename.nbytes - strlen(pickle);
        if (filename.nbytes > strlen(pickle) && npyx_span_ends(filename, pickle) &&
            memchr(filename.text, '/', name_nbytes) == NULL) {
            archive->data = i;
            archive->name = (npyx_span){filename.text, name_nbytes + 1};
            return true;
        }
    }
    return false;
}

static torch_archive *torch_make(npyx_source *source) {
    torch_archive *made = npyx_alloc_zeroed(source->host, sizeof *made);
    if (made == NULL)
        return NULL;
    made->base = (npyx_archive){.ops = &torch_ops, .format = NPYX_FORMAT_TORCH, .source = source};
    made->arena.host = made->pickles[0].host = made->pickles[1].host = source->host;
    return made;
}

npyx_status npyx_archive_torch_open(npyx_source *source, npyx_archive **archive, npyx_error *error) {
    torch_archive *made = torch_make(source);
    *archive = made == NULL ? NULL : &made->base;
    return npyx_check_memory(made, error);
}

npyx_status npyx_archive_zip_open(npyx_source *source, bool is_prefixed, npyx_archive **archive,
                                  npyx_error *error) {
    npyx_host *host = source->host;
    torch_archive *made = torch_make(source);
    NPYX_TRY(npyx_check_memory(made, error));
    npyx_status status = npyx_archive_npz_open(source, is_prefixed, &made->zip, error);
    if (status == NPYX_OK && torch_find_pickle(made->zip, made)) {
        *archive = &made->base;
        return NPYX_OK;
    }
    *archive = made->zip;
    npyx_free(host, made);
    return status;
}

npyx_archive *npyx_archive_torch_zip(npyx_archive *archive) {
    return ((torch_archive *)archive)->zip;
}
