/*
 * What holds arrays: a .npy (one, or several one after the other), an .npz (a zip of .npy files) or a .ten
 * (chunks), behind one interface.
 *
 * Entries are numbered from 0 in the order of the file; of an .npz every zip entry counts, array or not.
 * Headers and directories are read when they are asked for, data never.
 */
#ifndef NPYX_ARCHIVE_H
#define NPYX_ARCHIVE_H

#include "array/array.h"
#include "base/names.h"
#include "zip_directory.h"

typedef enum npyx_format {
    NPYX_FORMAT_NPY,
    NPYX_FORMAT_NPZ,
    NPYX_FORMAT_TEN,
    NPYX_FORMAT_TAR,
    NPYX_FORMAT_SAFETENSORS
} npyx_format;

/* One entry. The texts live as long as the archive, but those of a .ten until the next entry is asked for. */
typedef struct npyx_entry {
    /* Of the array: that of an .npz's or a tar's member without `.npy`, of an array inside of a tar's member
     * MEMBER:ARRAY, of a .ten its info, '' for a .npy; UTF-8. */
    const char *name;
    size_t name_nbytes;
    size_t member_nbytes; /* of an .npz or a tar: name with the `.npy` that it left out */
    size_t sample_nbytes; /* of a tar: as much of it as is the tar's member; 0: it is of no tar */
    int64_t header_off;   /* .npz local header, .ten header chunk, the first byte of an array of a .npy */
    int zip_method;       /* of an .npz's, also inside of a tar; -1: it is in no .npz */
    const npyx_zip_record *zip; /* what an .npz says of it; NULL: it is of no .npz */
} npyx_entry;

typedef struct npyx_archive npyx_archive;

typedef struct npyx_archive_ops {
    npyx_status (*entry)(npyx_archive *archive, int64_t index, npyx_entry *entry, npyx_error *error);
    npyx_status (*describe)(npyx_archive *archive, int64_t index, npyx_array *array, npyx_error *error);
    npyx_status (*locate)(npyx_archive *archive, int64_t index, int64_t *payload_off, npyx_error *error);
    npyx_status (*open)(npyx_archive *archive, int64_t index, npyx_source **payload, npyx_error *error);
    void (*rest)(npyx_archive *archive); /* NULL member: there is nothing to give back */
    void (*close)(npyx_archive *archive);
} npyx_archive_ops;

/* The part that all formats share. */
struct npyx_archive {
    const npyx_archive_ops *ops;
    npyx_format format;
    npyx_source *source; /* owned */
    bool is_inflated;    /* the source is what a gzip file inflates to: offsets in it are none in a file */
    /* Of all entries, as they are stored; learnt when the first is looked up. */
    npyx_name_set names;
    npyx_status names_status; /* NPYX_OK: not learnt yet; NPYX_DONE, or what is wrong behind the last name */
    struct npyx_kept_objects *kept_objects; /* of arrays whose pickle was read */
};

/* What a file's name says where its first bytes say nothing: an empty .ten has no arrays, and a .tar of zeros
 * no members; a .safetensors whose header is too long or cut off is told so. */
typedef enum npyx_hint { NPYX_NO_HINT, NPYX_HINT_TEN, NPYX_HINT_TAR, NPYX_HINT_SAFETENSORS } npyx_hint;

/* Tells the format by the first bytes of source, which belongs to the archive from here on (closed on failure
 * too). */
npyx_status npyx_archive_open(npyx_source *source, npyx_hint hint, npyx_archive **archive, npyx_error *error);

/* Nobody wants the next entry for now: other threads of the archive's end, and what they made is given back.
 */
void npyx_archive_rest(npyx_archive *archive);

/* The same of a source whose first head_nbytes are known: NPYX_LOOKALIKE_NBYTES or all. The format is one of
 * what a tar's members may be: .npy, .npz or .ten; NPYX_DONE, and the source is closed, for all others. */
npyx_status npyx_archive_open_member(npyx_source *source, const uint8_t *head, size_t head_nbytes,
                                     npyx_archive **archive, npyx_error *error);

/* Takes NULL. Sources opened from the archive must be closed first. */
void npyx_archive_close(npyx_archive *archive);

/* Entry number index; NPYX_DONE when there are not so many. An error says that the directory is damaged here.
 */
npyx_status npyx_archive_entry(npyx_archive *archive, int64_t index, npyx_entry *entry, npyx_error *error);

/* Whether it is a .npy of one array, which needs no name or number. One behind which nothing can be read is.
 */
bool npyx_archive_is_one_npy(npyx_archive *archive);

/* The same for an index that somebody gave: NPYX_NOT_FOUND says how many entries there are. */
npyx_status npyx_archive_entry_asked_for(npyx_archive *archive, int64_t index, npyx_entry *entry,
                                         npyx_error *error);

/* The entry that a name chooses: of an .npz an exact file name before one without `.npy`, and the last of
 * equal ones, as NumPy does; of a .ten the only one of that name (NPYX_INVALID when there are several).
 * NPYX_NOT_FOUND lists the names. */
npyx_status npyx_archive_find(npyx_archive *archive, const char *name, size_t name_nbytes, int64_t *index,
                              npyx_error *error);

/* Reads the array's header into *array (initialised). Its is_array is false for an entry that is no array,
 * and for one that cannot be read (its error says why). When only the data behind a sound header are missing,
 * the error says so and array->is_known is true. */
npyx_status npyx_archive_describe(npyx_archive *archive, int64_t index, npyx_array *array, npyx_error *error);

/* The failure of an entry that was to be an array and is none; says what the file is, where that is known. */
npyx_status npyx_archive_fail_no_array(npyx_archive *archive, npyx_error *error);

/* Whether it is a zip of torch.save: a pickle of tensors, whose bytes lie beside it. */
bool npyx_archive_is_pytorch(npyx_archive *archive);

/* Where the bytes of the entry begin in the file (of a .npz entry as stored, deflated or not). */
npyx_status npyx_archive_locate(npyx_archive *archive, int64_t index, int64_t *payload_off,
                                npyx_error *error);

/* The entry's bytes, header included, inflated: array.data_off counts from their start. Closed by the caller.
 */
npyx_status npyx_archive_open_payload(npyx_archive *archive, int64_t index, npyx_source **payload,
                                      npyx_error *error);

/* The same for who wants values. array is the entry's, described; one of objects becomes one that is held in
 * memory (npyx_objects_open): its pickle is read, and kept with the archive for the next time, as long as all
 * that a host keeps of this takes no more than NPYX_KEPT_OBJECTS_NBYTES. */
npyx_status npyx_archive_open_values(npyx_archive *archive, int64_t index, npyx_array *array,
                                     npyx_source **items, npyx_error *error);

/* The `__metadata__` of a safetensors file, JSON that lives as long as the archive. False: there is none. */
bool npyx_archive_metadata(const npyx_archive *archive, const char **text, size_t *nbytes);

/* `npy`, `npz`, `ten`, `tar`, `safetensors`. */
const char *npyx_format_name(npyx_format format);

/* `stored`, `deflate`, `bzip2`, ...; NULL for a method without a name. */
const char *npyx_zip_method_name(int method);

/* Room for `YYYY-MM-DD HH:MM:SS` and a NUL. */
enum { NPYX_DOS_TIME_NBYTES = 20 };
/* False, and nothing written, when the DOS time is no date: writers put 0 there. */
bool npyx_dos_time_text(uint32_t dos_time, char *out);

/* ---- of a tar, for who walks through its source ----
 *
 * Who lists the members of a tar has been where its arrays are. What it tells of them is what the tar need
 * not look for again. */

struct npyx_tar_walk;

/* Notes the arrays of the member at hand, as long as that takes no more than its first bytes and none was
 * passed over. A failure is for the tar's own walk to meet. */
void npyx_archive_tar_learn(npyx_archive *archive, struct npyx_tar_walk *walk);

/* The walk has come to a sound end. */
void npyx_archive_tar_learn_end(npyx_archive *archive, const struct npyx_tar_walk *walk);

/* For npyx_archive_open alone: each takes the source over on success only. A .npy or a .ten, whose first
 * bytes head is: NPYX_HEADER_NPY_USUAL_NBYTES or all. */
npyx_status npyx_archive_series_open(npyx_source *source, npyx_format format, const uint8_t *head,
                                     size_t head_nbytes, npyx_archive **archive, npyx_error *error);
/* A tar; is_inflated: as above. */
npyx_status npyx_archive_tar_open(npyx_source *source, bool is_inflated, npyx_archive **archive,
                                  npyx_error *error);
/* A safetensors file, whose first bytes head is. */
npyx_status npyx_archive_safetensors_open(npyx_source *source, const uint8_t *head, size_t head_nbytes,
                                          npyx_archive **archive, npyx_error *error);
/* A zip that is_prefixed stands behind something else; NPYX_DONE when there is none. */
npyx_status npyx_archive_npz_open(npyx_source *source, bool is_prefixed, npyx_archive **archive,
                                  npyx_error *error);

#endif
