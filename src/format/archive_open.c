/* From a file's first bytes to an archive of its format. */
#include "archive.h"

#include <strings.h>

#include "header.h"
#include "io/first_bytes.h"
#include "text/span.h"

npyx_hint npyx_path_hint(const char *path) {
    static const struct {
        const char *suffix;
        npyx_hint hint;
    } hints[] = {{".ten", NPYX_HINT_TEN},
                 {".tar", NPYX_HINT_TAR},
                 {".tar.gz", NPYX_HINT_TAR},
                 {".tgz", NPYX_HINT_TAR},
                 {".safetensors", NPYX_HINT_SAFETENSORS},
                 {".pkl", NPYX_HINT_PICKLE},
                 {".pickle", NPYX_HINT_PICKLE},
                 {".joblib", NPYX_HINT_PICKLE}};
    const npyx_span name = {path, strlen(path)};
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        if (npyx_span_ends(name, hints[i].suffix))
            return hints[i].hint;
    }
    return NPYX_NO_HINT;
}

bool npyx_path_format(const char *path, npyx_format *format) {
    const char *dot = strrchr(path, '.');
    for (*format = NPYX_FORMAT_NPY; dot != NULL && *format <= NPYX_FORMAT_GGUF; (*format)++) {
        if (strcasecmp(dot + 1, npyx_format_name(*format)) == 0)
            return true;
    }
    return false;
}

/* A script or a program, which may unpack the zip after it: of the known kinds of files, only in these does
 * such a zip count. Windows programs are not known here, like anything else that may precede a zip. */
static bool may_unpack_itself(const uint8_t *head, size_t nbytes) {
    return (nbytes >= 2 && memcmp(head, "#!", 2) == 0) || (nbytes >= 4 && memcmp(head, "\x7f\x45LF", 4) == 0);
}

static npyx_status fail_unknown(const uint8_t *head, size_t nbytes, const char *what, npyx_error *error) {
    char shown[NPYX_FIRST_BYTES_NBYTES];
    if (what != NULL)
        return npyx_fail(error, NPYX_CORRUPT, 0,
                         "is %s, not a .npy, .npz, .ten, .tar, .safetensors, .pt, .pkl or .gguf file", what);
    npyx_first_bytes_text(head, nbytes, shown);
    return npyx_fail_as(
        error, NPYX_KIND_UNKNOWN, NPYX_CORRUPT, 0,
        "is not a .npy, .npz, .ten, .tar, .safetensors, .pt, .pkl or .gguf file (none begins with %s)",
        shown);
}

/* A file that begins like no array file: known by its first bytes, or a zip with foreign bytes before it. */
static npyx_status open_unknown(npyx_source *source, const uint8_t *head, size_t nbytes,
                                npyx_archive **archive, npyx_error *error) {
    const char *what = npyx_lookalike(head, nbytes);
    npyx_status status = NPYX_DONE;
    if (what == NULL || may_unpack_itself(head, nbytes))
        status = npyx_archive_zip_open(source, true, archive, error);
    return status == NPYX_DONE ? fail_unknown(head, nbytes, what, error) : status;
}

static bool is_tar(const uint8_t *head, size_t nbytes, npyx_hint hint) {
    return npyx_begins_tar(head, nbytes) ||
           (hint == NPYX_HINT_TAR && nbytes == NPYX_TAR_BLOCK_NBYTES && npyx_is_zeros(head, nbytes));
}

/* A gzip file is read if it is a compressed tar or pickle; a zlib stream, as joblib writes it, if it is a
 * pickle. Its output replaces the source. */
static npyx_status open_compressed(npyx_source **source, bool is_zlib, npyx_hint hint, npyx_archive **archive,
                                   npyx_error *error) {
    uint8_t head[NPYX_TAR_BLOCK_NBYTES];
    size_t nbytes = 0;
    npyx_source *compressed = *source;
    *source = NULL;
    NPYX_TRY(npyx_source_open_gzip(compressed, is_zlib, source, error));
    NPYX_TRY(npyx_source_read(*source, 0, head, sizeof head, &nbytes, error));
    if (!is_zlib && is_tar(head, nbytes, hint))
        return npyx_archive_tar_open(*source, true, archive, error);
    if (npyx_begins_pickle(head, nbytes))
        return npyx_archive_pickle_open(*source, true, archive, error);
    return fail_unknown(head, nbytes, is_zlib ? "zlib-compressed data" : "gzip-compressed data", error);
}

/* What protocols 0 and 1 write is known by the file's name, unless it is known to be something else. */
static bool is_old_pickle(const uint8_t *head, size_t nbytes, npyx_hint hint) {
    const char *what = hint == NPYX_HINT_PICKLE ? npyx_lookalike(head, nbytes) : NULL;
    return hint == NPYX_HINT_PICKLE && (what == NULL || strcmp(what, "plain text") == 0);
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
        return npyx_archive_zip_open(source, false, archive, error);
    if (npyx_begins_ten(head, nbytes) || (nbytes == 0 && hint == NPYX_HINT_TEN))
        return npyx_archive_series_open(source, NPYX_FORMAT_TEN, head, nbytes, archive, error);
    if (is_tar(head, nbytes, hint))
        return npyx_archive_tar_open(source, false, archive, error);
    if (npyx_begins_safetensors(head, nbytes))
        return npyx_archive_safetensors_open(source, head, nbytes, archive, error);
    if (npyx_begins_gguf(head, nbytes))
        return npyx_archive_gguf_open(source, archive, error);
    if (npyx_begins_torch(head, nbytes))
        return npyx_archive_torch_open(source, archive, error);
    if (npyx_begins_pickle(head, nbytes))
        return npyx_archive_pickle_open(source, false, archive, error);
    if (npyx_begins_gzip(head, nbytes))
        return open_compressed(opened, false, hint, archive, error);
    if (npyx_begins_zlib(head, nbytes))
        return open_compressed(opened, true, hint, archive, error);
    if (nbytes == 0)
        return npyx_fail_as(
            error, NPYX_KIND_EMPTY, NPYX_CORRUPT, 0,
            "is empty (0 bytes), so not a .npy, .npz, .ten, .tar, .safetensors, .pt, .pkl or .gguf file");
    if (hint == NPYX_HINT_SAFETENSORS && npyx_lookalike(head, nbytes) == NULL)
        return npyx_archive_safetensors_open(source, head, nbytes, archive, error);
    if (is_old_pickle(head, nbytes, hint))
        return npyx_archive_pickle_open(source, false, archive, error);
    return open_unknown(source, head, nbytes, archive, error);
}

npyx_status npyx_archive_open(npyx_source *source, npyx_hint hint, npyx_archive **archive,
                              npyx_error *error) {
    npyx_status status = open_by_magic(&source, hint, archive, error);
    if (status != NPYX_OK)
        npyx_source_close(source);
    return status;
}
