/*
 * The members of a tar, in order, in every dialect: v7, ustar, pax, GNU.
 *
 *     header 512 | data, padded to 512 | header | data ... | zeros 512 | zeros 512 | perhaps more zeros
 *
 * Headers of some types (GNU L and K, pax x and g) do not stand for a member but say more about the next one.
 * Python's tarfile is the model for sound archives, down to which of several overrides counts. What it
 * ignores silently (an invalid header after the first member, bytes other than zeros after the end) is a
 * fault here.
 *
 * Sources: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Header"; GNU tar's manual, "Basic Tar
 * Format"; CPython, Lib/tarfile.py.
 */
#ifndef NPYX_TAR_H
#define NPYX_TAR_H

#include "io/source.h"

typedef enum npyx_tar_type {
    NPYX_TAR_FILE,
    NPYX_TAR_DIRECTORY,
    NPYX_TAR_SYMLINK,
    NPYX_TAR_HARDLINK,
    NPYX_TAR_CHAR,
    NPYX_TAR_BLOCK,
    NPYX_TAR_FIFO,
    NPYX_TAR_SPARSE, /* of any of GNU's kinds: listed, but not read */
    NPYX_TAR_OTHER
} npyx_tar_type;

/* `file`, `directory`, ... */
const char *npyx_tar_type_name(npyx_tar_type type);

/* Texts of a member, as stored: usually UTF-8. */
typedef enum npyx_tar_text {
    NPYX_TAR_NAME,
    NPYX_TAR_LINKNAME,
    NPYX_TAR_UNAME,
    NPYX_TAR_GNAME,
    NPYX_TAR_NTEXTS
} npyx_tar_text;

typedef enum npyx_tar_number {
    NPYX_TAR_SIZE, /* of the contents */
    NPYX_TAR_MODE,
    NPYX_TAR_UID,
    NPYX_TAR_GID,
    NPYX_TAR_MTIME, /* Unix time; the fraction is mtime_fraction */
    NPYX_TAR_NNUMBERS
} npyx_tar_number;

typedef struct npyx_tar_member {
    int64_t header_off; /* of the first header that describes it */
    int64_t data_off;
    int64_t data_nbytes; /* bytes there: for a sparse one fewer than its size */
    npyx_tar_type type;
    int64_t numbers[NPYX_TAR_NNUMBERS];
    double mtime;      /* with its fraction, which only pax has */
    bool has_fraction; /* or exceeds 64 bits: mtime has the value, not its number */
    npyx_buffer texts[NPYX_TAR_NTEXTS];
} npyx_tar_member;

/* A walk. Zero-initialise with window.source set, which is borrowed. */
typedef struct npyx_tar_walk {
    npyx_window window;
    int64_t off;                       /* of the next header */
    bool is_at_end;                    /* only zeros follow */
    bool is_unchecked;                 /* the data of the current member may be incomplete */
    struct npyx_tar_overrides *global; /* what g headers have said up to here */
    npyx_tar_member member;            /* the current one; its texts are valid until the next call */
} npyx_tar_walk;

/* Moves to the next member. NPYX_DONE after the last; NPYX_CORRUPT where the tar is broken, from where there
 * is no way on; NPYX_UNSUPPORTED for headers beyond the limits. A failure leaves the walk where it was. Polls
 * the host. */
npyx_status npyx_tar_next(npyx_tar_walk *walk, npyx_error *error);

/* The first bytes of the current member, at most nbytes and no more than it has; valid until the next
 * call. */
npyx_status npyx_tar_head(npyx_tar_walk *walk, size_t nbytes, const uint8_t **bytes, size_t *head_nbytes,
                          npyx_error *error);

/* Checks that the data of the current member are complete, as the next call to npyx_tar_next does anyway.
 * This is unknown before only for a source of unknown length. */
npyx_status npyx_tar_check_data(npyx_tar_walk *walk, npyx_error *error);

/* Reads the contents of a member, nbytes at off of a tar, into data, which is emptied first. A compressed tar
 * may claim a thousand times the bytes that are there, so the room doubles with what has arrived. */
npyx_status npyx_tar_read_data(npyx_source *source, int64_t off, int64_t nbytes, npyx_buffer *data,
                               npyx_error *error);

/* Resumes the walk at the header of a member that it has passed. */
void npyx_tar_seek(npyx_tar_walk *walk, int64_t header_off);

/* Resumes the walk after the current member of another walk through the same source. No global header may be
 * between the two. */
void npyx_tar_catch_up(npyx_tar_walk *walk, const npyx_tar_walk *other);

void npyx_tar_clear(npyx_tar_walk *walk);

/* The failure of reading a sparse member, whose header is at header_off. */
#define npyx_tar_fail_sparse(header_off, error)                                                              \
    npyx_fail((error), NPYX_UNSUPPORTED, (header_off),                                                       \
              "is a sparse member, whose contents are not put together")

/* ---- what extended headers say (tar_header.c) ---- */

/* What pax records and GNU's long names say about a member besides its own header. The first of several
 * headers counts, as in tarfile, which applies them from the inside out. */
typedef struct npyx_tar_overrides {
    bool has_number[NPYX_TAR_NNUMBERS];
    int64_t numbers[NPYX_TAR_NNUMBERS];
    double mtime;
    bool has_fraction;
    bool is_sparse;
    bool has_real_nbytes; /* the size of a sparse member's contents, of which NPYX_TAR_SIZE bytes are there */
    int64_t real_nbytes;
    bool has_text[NPYX_TAR_NTEXTS];
    npyx_buffer texts[NPYX_TAR_NTEXTS];
} npyx_tar_overrides;

/* Adds the records of a pax header, which is at off of the file. Of equal keywords the last counts, also over
 * what was said before. NPYX_CORRUPT at anything but a record. */
npyx_status npyx_tar_read_records(npyx_tar_overrides *overrides, const char *records, size_t nbytes,
                                  int64_t off, npyx_error *error);

/* Adds what an outer header said, where the overrides say nothing yet. */
npyx_status npyx_tar_add_overrides(npyx_tar_overrides *overrides, const npyx_tar_overrides *more,
                                   npyx_error *error);

void npyx_tar_overrides_init(npyx_tar_overrides *overrides, npyx_host *host);
void npyx_tar_overrides_clear(npyx_tar_overrides *overrides);

/* ---- what a header block says (tar_header.c) ---- */

/* The number of bytes after it; false: it has no such number. */
bool npyx_tar_size_of(const uint8_t *block, int64_t *nbytes);

/* The letter of its type. */
char npyx_tar_flag_of(const uint8_t *block);

/* For an old GNU sparse member: the size of its contents, and whether its map continues after its header, or
 * after a block of the map. */
int64_t npyx_tar_real_size_of(const uint8_t *block);
bool npyx_tar_map_goes_on(const uint8_t *block, bool is_header);

/* Sets type, numbers, mtime and texts of a member from its header, which is at off, and from what was said
 * about it before. NPYX_CORRUPT for a field that is not a number. */
npyx_status npyx_tar_read_header(npyx_tar_member *member, const uint8_t *block, int64_t off,
                                 const npyx_tar_overrides *said, npyx_error *error);

#endif
