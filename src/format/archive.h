/*
 * A file of arrays, by one interface: a .npy (of one array, or several one after the other), an .npz (a zip
 * of .npy files), a .ten (chunks), a .tar of any of these, a .safetensors, a .gguf, what torch.save writes,
 * or pickles.
 *
 * Entries are numbered from 0 in the order of the file; in an .npz every zip entry counts, array or not.
 * Headers and directories are read on demand, data never.
 */
#ifndef NPYX_ARCHIVE_H
#define NPYX_ARCHIVE_H

#include "array/view.h"
#include "base/names.h"
#include "zip_directory.h"

/* The order counts: first those that are written (up to NPYX_FORMAT_TEN), last those that no path's ending
 * names (from NPYX_FORMAT_TORCH on). */
typedef enum npyx_format {
    NPYX_FORMAT_NPY,
    NPYX_FORMAT_NPZ,
    NPYX_FORMAT_TEN,
    NPYX_FORMAT_TAR,
    NPYX_FORMAT_SAFETENSORS,
    NPYX_FORMAT_GGUF,
    NPYX_FORMAT_TORCH,
    NPYX_FORMAT_PICKLE
} npyx_format;

/* One entry. The texts are valid as long as the archive, a .ten's only until the next entry is asked for. */
typedef struct npyx_entry {
    /* The array's name, UTF-8: for a member of an .npz or a tar without `.npy`, for an array inside a tar's
     * member MEMBER:ARRAY, for a .ten its info, for a safetensors or GGUF the tensor's name, for a torch file
     * or a pickle the way to it, '' for a .npy. */
    const char *name;
    size_t name_nbytes;
    size_t member_nbytes; /* for an .npz or a tar: name including the omitted `.npy` */
    size_t sample_nbytes; /* for a tar: the part of name that is the member's; 0: not in a tar */
    int64_t header_off;   /* .npz local header, .ten header chunk, the first byte of an array of a .npy */
    int zip_method;   /* of an .npz's entry, also inside a tar, or of a tensor's storage; -1: not in a zip */
    bool is_unpacked; /* its bytes are in the file in another form: opcodes of a pickle, blocks of a GGUF */
    const npyx_zip_record *zip; /* the record of an .npz's entry; otherwise NULL */
} npyx_entry;

typedef struct npyx_archive npyx_archive;

typedef struct npyx_archive_ops {
    npyx_status (*entry)(npyx_archive *archive, int64_t index, npyx_entry *entry, npyx_error *error);
    npyx_status (*describe)(npyx_archive *archive, int64_t index, npyx_array *array, npyx_error *error);
    npyx_status (*locate)(npyx_archive *archive, int64_t index, int64_t *payload_off, npyx_error *error);
    npyx_status (*open)(npyx_archive *archive, int64_t index, npyx_source **payload, npyx_error *error);
    /* npyx_archive_open_values of an array of objects, where its own payload is no pickle; else NULL. */
    npyx_status (*open_objects)(npyx_archive *archive, int64_t index, npyx_array *array, npyx_source **items,
                                npyx_error *error);
    void (*quiesce)(npyx_archive *archive); /* NULL member: nothing to release */
    void (*close)(npyx_archive *archive);
    /* NULL member: there is none. */
    npyx_status (*metadata)(npyx_archive *archive, const char **text, size_t *nbytes, npyx_error *error);
} npyx_archive_ops;

/* The part shared by all formats. */
struct npyx_archive {
    const npyx_archive_ops *ops;
    npyx_format format;
    npyx_source *source; /* owned */
    bool is_inflated;    /* the source is a gzip file's output: its offsets are not those of a file */
    /* Of all entries, as stored; learnt at the first lookup. */
    npyx_name_set names;
    npyx_status names_status; /* NPYX_OK: not learnt yet; NPYX_DONE, or the fault after the last name */
    struct npyx_kept_objects *kept_objects; /* of arrays whose pickle was read */
};

/* What a file's name says where its first bytes say nothing: an empty .ten has no arrays, and a .tar of zeros
 * no members; a .safetensors whose header is too long or cut off is reported as that; the pickles of
 * protocols 0 and 1 begin with anything. */
typedef enum npyx_hint {
    NPYX_NO_HINT,
    NPYX_HINT_TEN,
    NPYX_HINT_TAR,
    NPYX_HINT_SAFETENSORS,
    NPYX_HINT_PICKLE
} npyx_hint;

/* What a path's ending says. */
npyx_hint npyx_path_hint(const char *path);

/* The format that a path's ending names, in either case; false if it names none of ours. */
bool npyx_path_format(const char *path, npyx_format *format);

/* Recognises the format by the first bytes of source, which belongs to the archive from here on (closed on
 * failure, too). */
npyx_status npyx_archive_open(npyx_source *source, npyx_hint hint, npyx_archive **archive, npyx_error *error);

/* The next entry is not wanted for now: ends the archive's other threads, and frees what they made. */
static inline void npyx_archive_quiesce(npyx_archive *archive) {
    if (archive->ops->quiesce != NULL)
        archive->ops->quiesce(archive);
}

/* Accepts NULL. Sources opened from the archive must be closed first. */
void npyx_archive_close(npyx_archive *archive);

/* Entry number index; NPYX_DONE when there are fewer. An error says that the directory is damaged here. */
static inline npyx_status npyx_archive_entry(npyx_archive *archive, int64_t index, npyx_entry *entry,
                                             npyx_error *error) {
    return index < 0 ? NPYX_DONE : archive->ops->entry(archive, index, entry, error);
}

/* Whether it is a .npy of one array, which needs no name or number. What follows the array may be
 * unreadable. */
bool npyx_archive_is_one_npy(npyx_archive *archive);

/* npyx_archive_entry for an index that a user gave: NPYX_NOT_FOUND says how many entries there are. */
npyx_status npyx_archive_entry_asked_for(npyx_archive *archive, int64_t index, npyx_entry *entry,
                                         npyx_error *error);

/* The entry that a name selects: in an .npz or a tar an exact file name before one without `.npy`, and the
 * last of equal ones, as in NumPy; in the others the only one with that name (NPYX_INVALID when there are
 * several). NPYX_NOT_FOUND lists the names. */
npyx_status npyx_archive_find(npyx_archive *archive, const char *name, size_t name_nbytes, int64_t *index,
                              npyx_error *error);

/* Reads the header of array number index into *array (initialised); NPYX_DONE when there are fewer. Its
 * is_array is false for an entry that is no array, and for one that cannot be read (the error says why). When
 * only the data after a sound header are missing, the error says so and array->is_known is true. */
static inline npyx_status npyx_archive_describe(npyx_archive *archive, int64_t index, npyx_array *array,
                                                npyx_error *error) {
    return archive->ops->describe(archive, index, array, error);
}

/* The failure of an entry that should be an array but is not. */
npyx_status npyx_archive_fail_no_array(npyx_error *error);

/* Whether a zip has entries, none of which is named as an array is: error says what it is instead. */
bool npyx_archive_is_other_zip(npyx_archive *archive, npyx_error *error);

/* The zip that a torch file is, NULL if it is none. It lives as long as the archive. */
npyx_archive *npyx_archive_torch_zip(npyx_archive *archive);

/* An entry of a zip whose CRC-32 is not checked, for those who must see what a careless reader would. */
npyx_status npyx_archive_npz_open_unchecked(npyx_archive *zip, int64_t index, npyx_source **payload,
                                            npyx_error *error);

/* Where the entry's bytes begin in the file (for an .npz's as stored, deflated or not). */
static inline npyx_status npyx_archive_locate(npyx_archive *archive, int64_t index, int64_t *payload_off,
                                              npyx_error *error) {
    return archive->ops->locate(archive, index, payload_off, error);
}

/* The entry's bytes, inflated, header included: array.data_off counts from their start. The caller closes
 * it. */
static inline npyx_status npyx_archive_open_payload(npyx_archive *archive, int64_t index,
                                                    npyx_source **payload, npyx_error *error) {
    return archive->ops->open(archive, index, payload, error);
}

/* The same for callers that want values. array is the entry's, described; an array of objects becomes one
 * held in memory (npyx_objects_open): its pickle is read, and kept with the archive for the next time while
 * all that the host keeps of these is at most NPYX_KEPT_OBJECTS_NBYTES. */
npyx_status npyx_archive_open_values(npyx_archive *archive, int64_t index, npyx_array *array,
                                     npyx_source **items, npyx_error *error);

/* The `__metadata__` of a safetensors file, the pairs of a GGUF, or what is not an array in a torch file or
 * a pickle: JSON valid as long as the archive.
 * NPYX_DONE: there is none. */
static inline npyx_status npyx_archive_metadata(npyx_archive *archive, const char **text, size_t *nbytes,
                                                npyx_error *error) {
    return archive->ops->metadata == NULL ? NPYX_DONE : archive->ops->metadata(archive, text, nbytes, error);
}

/* `npy`, `npz`, `ten`, `tar`, `safetensors`, `gguf`, `torch`, `pickle`. */
const char *npyx_format_name(npyx_format format);

/* `stored`, `deflate`, `bzip2`, ...; NULL for a method without a name. */
const char *npyx_zip_method_name(int method);

/* Room for `YYYY-MM-DD HH:MM:SS` and a NUL. */
enum { NPYX_DOS_TIME_NBYTES = 20 };
/* False, and nothing written, when the DOS time is no date: some writers put 0 there. */
bool npyx_dos_time_text(uint32_t dos_time, char *out);

/* ---- a tar, for callers that walk through its source ----
 *
 * Listing a tar's members passes its arrays. What that walk reports here, the tar need not look for again. */

struct npyx_tar_walk;

/* Notes the arrays of the current member, if that takes only its first bytes and no member was skipped. The
 * tar's own walk will meet a failure. */
void npyx_archive_tar_learn(npyx_archive *archive, struct npyx_tar_walk *walk);

/* The walk has reached a sound end. */
void npyx_archive_tar_learn_end(npyx_archive *archive, const struct npyx_tar_walk *walk);

/* For archive_open.c and archive_tar.c: each takes over the source on success only. A .npy or a .ten with the
 * first bytes head: NPYX_HEADER_NPY_USUAL_NBYTES or all. */
npyx_status npyx_archive_series_open(npyx_source *source, npyx_format format, const uint8_t *head,
                                     size_t head_nbytes, npyx_archive **archive, npyx_error *error);
/* A tar; is_inflated: as above. */
npyx_status npyx_archive_tar_open(npyx_source *source, bool is_inflated, npyx_archive **archive,
                                  npyx_error *error);
/* A safetensors file with the first bytes head. */
npyx_status npyx_archive_safetensors_open(npyx_source *source, const uint8_t *head, size_t head_nbytes,
                                          npyx_archive **archive, npyx_error *error);
/* A GGUF file. */
npyx_status npyx_archive_gguf_open(npyx_source *source, npyx_archive **archive, npyx_error *error);
/* A zip, which if is_prefixed follows something else; NPYX_DONE when there is none. An .npz, or if it has a
 * NAME/data.pkl a torch file. */
npyx_status npyx_archive_zip_open(npyx_source *source, bool is_prefixed, npyx_archive **archive,
                                  npyx_error *error);
/* Pickles; is_inflated: as above. */
npyx_status npyx_archive_pickle_open(npyx_source *source, bool is_inflated, npyx_archive **archive,
                                     npyx_error *error);
/* A torch file that is no zip. */
npyx_status npyx_archive_torch_open(npyx_source *source, npyx_archive **archive, npyx_error *error);
/* The same as npyx_archive_zip_open, always as an .npz. */
npyx_status npyx_archive_npz_open(npyx_source *source, bool is_prefixed, npyx_archive **archive,
                                  npyx_error *error);

/* ---- the values of an array of objects, whose data are one pickle ---- */

/* In memory, and reference-counted. */
typedef struct npyx_objects npyx_objects;

/* Reads what follows the header of an array with objects, anywhere in its items. payload holds the array, and
 * may be closed afterwards. *objects has one user. NPYX_CORRUPT and NPYX_UNSUPPORTED as for npyx_pickle_read,
 * and for a pickle of something other than the header says. Polls the host. */
npyx_status npyx_objects_read(npyx_source *payload, const npyx_array *array, npyx_objects **objects,
                              npyx_error *error);

/* Turns the array into one of what was read: its dtype has held objects, and its items are in C order from
 * offset 0 of *items, which is a user until it is closed. The array must be the one that was read, described
 * in memory of its own. */
npyx_status npyx_objects_open(npyx_objects *objects, npyx_array *array, npyx_source **items,
                              npyx_error *error);

/* One user less. Accepts NULL. */
void npyx_objects_release(npyx_objects *objects);

#endif
