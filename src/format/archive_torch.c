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
 * Storages are read in place.
 */
#include "archive_found_private.h"
#include "text/span.h"

/* Of a file that is no zip. */
typedef struct torch_storage {
    int itemsize; /* 0: unknown */
    int64_t off;  /* -1: unknown */
    int64_t nbytes;
} torch_storage;

typedef struct torch_archive {
    npyx_found_archive found;
    npyx_span name;     /* NAME/ */
    int64_t data;       /* the zip's entry NAME/data.pkl */
    const char *kind;   /* `data/` or `constants/`: where storages are looked for */
    npyx_name_set keys; /* of the storages */
    torch_storage *storages;
} torch_archive;

/* ---- the zip's entries ---- */

/* The entry NAME/KIND/KEY or NAME/KIND; -1: there is none. */
static npyx_status torch_find(torch_archive *archive, const char *kind, const npyx_object *key,
                              int64_t *index, npyx_error *error) {
    npyx_buffer name = {.host = archive->found.arena.host};
    npyx_buffer_append(&name, archive->name.text, archive->name.nbytes);
    npyx_buffer_append(&name, kind, strlen(kind));
    if (key != NULL)
        npyx_buffer_append(&name, key->text.bytes, key->text.nbytes);
    npyx_status status = npyx_buffer_check(&name, error);
    *index = -1;
    if (status == NPYX_OK)
        status = npyx_archive_find(archive->found.zip, name.bytes, name.nbytes, index, error);
    npyx_buffer_clear(&name);
    return status == NPYX_NOT_FOUND ? NPYX_OK : status;
}

static npyx_status torch_read_byteorder(torch_archive *archive, npyx_error *error) {
    npyx_source *payload = NULL;
    char text[4];
    size_t nbytes = 0;
    int64_t index;
    NPYX_TRY(torch_find(archive, "byteorder", NULL, &index, error));
    if (index < 0)
        return NPYX_OK;
    NPYX_TRY(npyx_archive_open_payload(archive->found.zip, index, &payload, error));
    npyx_status status = npyx_source_read(payload, 0, text, sizeof text, &nbytes, error);
    npyx_source_close(payload);
    archive->found.is_big_endian = npyx_is_same(text, nbytes < 3 ? nbytes : 3, "big", 3);
    return status;
}

static npyx_status torch_find_storage(npyx_found_archive *found, const npyx_object *key,
                                      npyx_found_storage *storage, npyx_error *error) {
    torch_archive *archive = (torch_archive *)found;
    npyx_entry entry;
    int64_t index;
    NPYX_TRY(torch_find(archive, archive->kind, key, &index, error));
    if (index < 0)
        return NPYX_DONE;
    NPYX_TRY(npyx_archive_entry(found->zip, index, &entry, error));
    *storage = (npyx_found_storage){index, entry.zip->nbytes, entry.zip_method};
    return NPYX_OK;
}

/* ---- a zip's pickles ---- */

/* Reads the pickle of an entry, and lists its arrays. */
static npyx_status torch_read(torch_archive *archive, int64_t index, const char *prefix, const char *kind,
                              npyx_error *error) {
    npyx_arena *arena = &archive->found.arena;
    npyx_budget budget = npyx_budget_of_none(arena->host);
    npyx_source *payload = NULL;
    npyx_object *root;
    archive->kind = kind;
    NPYX_TRY(npyx_archive_open_payload(archive->found.zip, index, &payload, error));
    npyx_status status = npyx_pickle_read(arena, &budget, payload, 0,
                                          (npyx_pickle_options){.takes_ids = true}, &root, NULL, error);
    if (status == NPYX_OK)
        status = npyx_source_drain(payload, error);
    npyx_source_close(payload);
    return status == NPYX_OK ? npyx_found_add(&archive->found, &budget, root, prefix, error) : status;
}

static npyx_status torch_learn(npyx_found_archive *found, npyx_error *error) {
    torch_archive *archive = (torch_archive *)found;
    int64_t constants;
    NPYX_TRY(torch_read_byteorder(archive, error));
    NPYX_TRY(torch_read(archive, archive->data, "", "data/", error));
    NPYX_TRY(torch_find(archive, "constants.pkl", NULL, &constants, error));
    return constants < 0 ? NPYX_OK : torch_read(archive, constants, "constants", "constants/", error);
}

static const npyx_found_form torch_form = {.learn = torch_learn, .find_storage = torch_find_storage};

/* ---- pickles in a row ---- */

static npyx_status legacy_find_storage(npyx_found_archive *found, const npyx_object *key,
                                       npyx_found_storage *storage, npyx_error *error) {
    const torch_archive *archive = (torch_archive *)found;
    int64_t number = npyx_name_set_find(&archive->keys, key->text.bytes, key->text.nbytes, NULL);
    (void)error;
    if (number < 0 || archive->storages[number].off < 0)
        return NPYX_DONE;
    storage->place = archive->storages[number].off;
    storage->nbytes = archive->storages[number].nbytes;
    return NPYX_OK;
}

/* The size of a storage's items is known from a tensor in it. */
static npyx_status legacy_find_itemsizes(torch_archive *archive, const npyx_object *keys,
                                         const npyx_found_arrays *found, npyx_error *error) {
    npyx_host *host = archive->found.arena.host;
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
    npyx_source *source = archive->found.base.source;
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
            NPYX_TRY(npyx_poll(archive->found.arena.host, error));
    }
    return NPYX_OK;
}

/* The number, the version, the system, the objects, the keys; then come the storages. */
static npyx_status legacy_learn(npyx_found_archive *base, npyx_error *error) {
    torch_archive *archive = (torch_archive *)base;
    npyx_budget budget = npyx_budget_of_none(base->arena.host);
    npyx_object *objects[5];
    npyx_pickle_rest rest = {0};
    int64_t off = 0;
    npyx_found_arrays found = {0};
    for (int i = 0; i < 5; i++)
        NPYX_TRY(npyx_pickle_read(&base->arena, &budget, base->base.source, off,
                                  (npyx_pickle_options){.takes_ids = true, .rest = &rest}, &objects[i], &off,
                                  error));
    npyx_status status = npyx_object_arrays_find(&base->arena, &budget, objects[3], "", &found, error);
    if (status == NPYX_OK)
        status = legacy_find_itemsizes(archive, objects[4], &found, error);
    if (status == NPYX_OK)
        status = legacy_locate(archive, off, error);
    if (status == NPYX_OK)
        status = npyx_found_add_all(base, &budget, objects[3], &found, error);
    npyx_free(base->arena.host, found.arrays);
    return status;
}

static void legacy_forget(npyx_found_archive *found) {
    torch_archive *archive = (torch_archive *)found;
    npyx_name_set_clear(&archive->keys);
    npyx_free(found->arena.host, archive->storages);
    archive->storages = NULL;
}

static const npyx_found_form legacy_form = {
    .learn = legacy_learn, .find_storage = legacy_find_storage, .forget = legacy_forget};

/* ---- opening ---- */

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

static torch_archive *torch_make(npyx_source *source, const npyx_found_form *form) {
    return (torch_archive *)npyx_found_make(source, sizeof(torch_archive), NPYX_FORMAT_TORCH, form);
}

npyx_status npyx_archive_torch_open(npyx_source *source, npyx_archive **archive, npyx_error *error) {
    torch_archive *made = torch_make(source, &legacy_form);
    *archive = made == NULL ? NULL : &made->found.base;
    return npyx_check_memory(made, error);
}

npyx_status npyx_archive_zip_open(npyx_source *source, bool is_prefixed, npyx_archive **archive,
                                  npyx_error *error) {
    npyx_host *host = source->host;
    torch_archive *made = torch_make(source, &torch_form);
    NPYX_TRY(npyx_check_memory(made, error));
    npyx_status status = npyx_archive_npz_open(source, is_prefixed, &made->found.zip, error);
    if (status == NPYX_OK && torch_find_pickle(made->found.zip, made)) {
        *archive = &made->found.base;
        return NPYX_OK;
    }
    *archive = made->found.zip;
    npyx_free(host, made);
    return status;
}

npyx_archive *npyx_archive_torch_zip(npyx_archive *archive) {
    return ((npyx_found_archive *)archive)->zip;
}
