#include "archive.h"

#include "base/utf8.h"
#include "header_npy.h"
#include "header_ten.h"
#include "io/first_bytes.h"
#include "objects.h"
#include "text/span.h"

/* A script or a program, which may unpack the zip after it: of the known kinds of files, only in these does
 * such a zip count. Windows programs are not known here, like anything else that may precede a zip. */
static bool may_unpack_itself(const uint8_t *head, size_t nbytes) {
    return (nbytes >= 2 && memcmp(head, "#!", 2) == 0) || (nbytes >= 4 && memcmp(head, "\x7f\x45LF", 4) == 0);
}

static npyx_status fail_unknown(const uint8_t *head, size_t nbytes, const char *what, npyx_error *error) {
    char shown[NPYX_FIRST_BYTES_NBYTES];
    if (what != NULL)
        return npyx_fail(error, NPYX_CORRUPT, 0, "is %s, not a .npy, .npz, .ten, .tar or .safetensors file",
                         what);
    npyx_first_bytes_text(head, nbytes, shown);
    return npyx_fail_as(error, NPYX_KIND_UNKNOWN, NPYX_CORRUPT, 0,
                        "is not a .npy, .npz, .ten, .tar or .safetensors file (none begins with %s)", shown);
}

/* A file that begins like no array file: known by its first bytes, or a zip with foreign bytes before it. */
static npyx_status open_unknown(npyx_source *source, const uint8_t *head, size_t nbytes,
                                npyx_archive **archive, npyx_error *error) {
    const char *what = npyx_lookalike(head, nbytes);
    npyx_status status = NPYX_DONE;
    if (what == NULL || may_unpack_itself(head, nbytes))
        status = npyx_archive_npz_open(source, true, archive, error);
    return status == NPYX_DONE ? fail_unknown(head, nbytes, what, error) : status;
}

static bool begins_with_zeros(const uint8_t *head, size_t nbytes) {
    return nbytes == NPYX_TAR_BLOCK_NBYTES && head[0] == 0 && memcmp(head, head + 1, nbytes - 1) == 0;
}

static bool is_tar(const uint8_t *head, size_t nbytes, npyx_hint hint) {
    return npyx_begins_tar(head, nbytes) || (hint == NPYX_HINT_TAR && begins_with_zeros(head, nbytes));
}

/* A gzip file is read if it is a compressed tar. Its output replaces the source. */
static npyx_status open_gzip(npyx_source **source, npyx_hint hint, npyx_archive **archive,
                             npyx_error *error) {
    uint8_t head[NPYX_TAR_BLOCK_NBYTES];
    size_t nbytes = 0;
    npyx_source *compressed = *source;
    *source = NULL;
    NPYX_TRY(npyx_source_open_gzip(compressed, source, error));
    NPYX_TRY(npyx_source_read(*source, 0, head, sizeof head, &nbytes, error));
    if (is_tar(head, nbytes, hint))
        return npyx_archive_tar_open(*source, true, archive, error);
    return fail_unknown(head, nbytes, "gzip-compressed data", error);
}

/* On failure, *opened must be closed. */
static npyx_status open_by_magic(npyx_source **opened, npyx_hint hint, npyx_archive **archive,
                                 npyx_error *error) {
    npyx_source *source = *opened;
    enum { HEAD_NBYTES = (int)NPYX_HEADER_NPY_USUAL_NBYTES };
    _Static_assert((int)HEAD_NBYTES >= (int)NPYX_LOOKALIKE_NBYTES, "one read serves both");
    uint8_t head[HEAD_NBYTES];
    size_t nbytes = 0;
    NPYX_TRY(npyx_source_read(source, 0, head, sizeof head, &nbytes, error));
    if (npyx_begins_npy(head, nbytes))
        return npyx_archive_series_open(source, NPYX_FORMAT_NPY, head, nbytes, archive, error);
    if (npyx_begins_zip(head, nbytes))
        return npyx_archive_npz_open(source, false, archive, error);
    if (npyx_begins_ten(head, nbytes) || (nbytes == 0 && hint == NPYX_HINT_TEN))
        return npyx_archive_series_open(source, NPYX_FORMAT_TEN, head, nbytes, archive, error);
    if (is_tar(head, nbytes, hint))
        return npyx_archive_tar_open(source, false, archive, error);
    if (npyx_begins_safetensors(head, nbytes))
        return npyx_archive_safetensors_open(source, head, nbytes, archive, error);
    if (npyx_begins_gzip(head, nbytes))
        return open_gzip(opened, hint, archive, error);
    if (nbytes == 0)
        return npyx_fail_as(error, NPYX_KIND_EMPTY, NPYX_CORRUPT, 0,
                            "is empty (0 bytes), so not a .npy, .npz, .ten, .tar or .safetensors file");
    if (hint == NPYX_HINT_SAFETENSORS && npyx_lookalike(head, nbytes) == NULL)
        return npyx_archive_safetensors_open(source, head, nbytes, archive, error);
    return open_unknown(source, head, nbytes, archive, error);
}

npyx_status npyx_archive_open_member(npyx_source *source, const uint8_t *head, size_t head_nbytes,
                                     npyx_archive **archive, npyx_error *error) {
    npyx_status status = NPYX_DONE;
    if (npyx_begins_npy(head, head_nbytes) || npyx_begins_ten(head, head_nbytes))
        status = npyx_archive_series_open(
            source, npyx_begins_npy(head, head_nbytes) ? NPYX_FORMAT_NPY : NPYX_FORMAT_TEN, head, head_nbytes,
            archive, error);
    else if (npyx_begins_zip(head, head_nbytes))
        status = npyx_archive_npz_open(source, false, archive, error);
    if (status != NPYX_OK)
        npyx_source_close(source);
    return status;
}

npyx_status npyx_archive_open(npyx_source *source, npyx_hint hint, npyx_archive **archive,
                              npyx_error *error) {
    npyx_status status = open_by_magic(&source, hint, archive, error);
    if (status != NPYX_OK)
        npyx_source_close(source);
    return status;
}

void npyx_archive_rest(npyx_archive *archive) {
    if (archive->ops->rest != NULL)
        archive->ops->rest(archive);
}

void npyx_archive_close(npyx_archive *archive) {
    if (archive == NULL)
        return;
    npyx_name_set_clear(&archive->names);
    npyx_archive_forget_objects(archive);
    archive->ops->close(archive);
}

npyx_status npyx_archive_entry(npyx_archive *archive, int64_t index, npyx_entry *entry, npyx_error *error) {
    return index < 0 ? NPYX_DONE : archive->ops->entry(archive, index, entry, error);
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

npyx_status npyx_archive_describe(npyx_archive *archive, int64_t index, npyx_array *array,
                                  npyx_error *error) {
    return archive->ops->describe(archive, index, array, error);
}

npyx_status npyx_archive_locate(npyx_archive *archive, int64_t index, int64_t *payload_off,
                                npyx_error *error) {
    return archive->ops->locate(archive, index, payload_off, error);
}

npyx_status npyx_archive_open_payload(npyx_archive *archive, int64_t index, npyx_source **payload,
                                      npyx_error *error) {
    return archive->ops->open(archive, index, payload, error);
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
                         "arguments behind it",
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
