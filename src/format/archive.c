#include "archive.h"

#include "objects.h"
#include "text/span.h"

void npyx_archive_close(npyx_archive *archive) {
    if (archive == NULL)
        return;
    npyx_name_set_clear(&archive->names);
    npyx_archive_forget_objects(archive);
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
    if (count == 1)
        return npyx_fail(error, NPYX_NOT_FOUND, -1,
                         "there is no array number %" PRId64 " (there is only number 0)", index);
    return npyx_fail(error, NPYX_NOT_FOUND, -1,
                     "there is no array number %" PRId64 " (there are %" PRId64 ", from 0)", index, count);
}

/* torch/serialization.py: `NAME/data.pkl` is written first, after at most a few records of a few bytes. */
bool npyx_archive_is_pytorch(npyx_archive *archive) {
    enum { NFIRST = 4 };
    static const char pickle[] = "/data.pkl";
    npyx_entry entry;
    for (int64_t i = 0; i < NFIRST && archive->format == NPYX_FORMAT_NPZ; i++) {
        if (npyx_archive_entry(archive, i, &entry, NULL) != NPYX_OK)
            return false;
        npyx_span filename = {entry.zip->filename, entry.zip->filename_nbytes};
        if (filename.nbytes > strlen(pickle) && npyx_span_ends(filename, pickle))
            return true;
    }
    return false;
}

static const char pytorch_hint[] = "; the file is a PyTorch one, which torch.load reads";

npyx_status npyx_archive_fail_no_array(npyx_archive *archive, npyx_error *error) {
    return npyx_fail(error, NPYX_CORRUPT, -1, "is not a .npy array (the magic bytes are missing%s)",
                     npyx_archive_is_pytorch(archive) ? pytorch_hint : "");
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
    return npyx_fail(error, NPYX_NOT_FOUND, -1, "there is no array '%.*s' (there are %s%s)",
                     NPYX_SHOWN(name, name_nbytes, 100), npyx_name_list_text(&list),
                     npyx_archive_is_pytorch(archive) ? pytorch_hint : "");
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
        return npyx_fail(error, NPYX_INVALID, -1,
                         "%" PRId64 " arrays have the name '%.*s'; give the idx of one instead of the name",
                         nsame, NPYX_SHOWN(name, name_nbytes, 100));
    return *index >= 0 ? NPYX_OK : fail_not_found(archive, name, name_nbytes, error);
}

const char *npyx_format_name(npyx_format format) {
    static const char *const names[] = {"npy", "npz", "ten", "tar", "safetensors"};
    return names[format];
}
