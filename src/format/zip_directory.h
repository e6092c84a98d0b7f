/*
 * The central directory of a zip, read as Python's zipfile reads it.
 *
 * The end record stands at the end of the file and says how long the directory before it is; what the
 * offsets leave over stands before the zip. zip64's end record goes before it, and count and disk numbers are
 * not believed. Names are decoded, sizes and offsets of zip64 resolved; local headers are not looked at.
 */
#ifndef NPYX_ZIP_DIRECTORY_H
#define NPYX_ZIP_DIRECTORY_H

#include "io/source.h"

enum { NPYX_ZIP_STORED = 0, NPYX_ZIP_DEFLATE = 8 };

/* More entries than any archive of arrays has; what is kept of one takes 80 bytes and three times its name.
 */
enum { NPYX_ZIP_MAX_NRECORDS = 1000000 };

/* APPNOTE 4.3.16, 4.3.15, 4.3.14 and 4.3.12: what each takes without its name, extra field and comment. */
enum {
    NPYX_ZIP_END_NBYTES = 22,
    NPYX_ZIP_LOCATOR_NBYTES = 20,
    NPYX_ZIP_END64_NBYTES = 56,
    NPYX_ZIP_RECORD_NBYTES = 46
};

/* General purpose flags (APPNOTE 4.4.4). */
enum {
    NPYX_ZIP_ENCRYPTED = 0x1,
    NPYX_ZIP_PATCHED = 0x20,
    NPYX_ZIP_STRONG_ENCRYPTION = 0x40,
    NPYX_ZIP_UTF8 = 0x800
};

/* What zip says of an entry (APPNOTE 4.3.12); zip64 sizes resolved. */
typedef struct npyx_zip_record {
    const char *filename; /* UTF-8: as flagged, or converted from code page 437 */
    size_t filename_nbytes;
    uint32_t whole_name_nbytes;  /* with what stands behind a NUL */
    uint16_t stored_name_nbytes; /* the bytes that the name takes in the zip */
    uint16_t method;             /* 0 stored, 8 deflate; others are listed but not read */
    uint16_t flags;
    uint32_t crc32;
    uint32_t dos_time;  /* MS-DOS date and time */
    npyx_status status; /* NPYX_CORRUPT when the record contradicts itself: sizes are 0 then */
    int64_t compressed_nbytes;
    int64_t nbytes;
    int64_t header_off; /* of the local header, from the start of the source; INT64_MAX: beyond 2^62 */
    int64_t end_off;    /* where the next entry begins, or the directory: this one's data end before it */
} npyx_zip_record;

static inline bool npyx_zip_is_encrypted(const npyx_zip_record *record) {
    return (record->flags & (NPYX_ZIP_ENCRYPTED | NPYX_ZIP_STRONG_ENCRYPTION)) != 0;
}

typedef struct npyx_zip_directory {
    npyx_arena names;
    npyx_zip_record *records;
    int64_t nrecords;
    int64_t capacity_nrecords;
    int64_t start_off;     /* of the first record */
    int64_t prefix_nbytes; /* at the start of the source, which the zip's own offsets do not count */
    int64_t tail_nbytes;   /* behind the end record and its comment */
} npyx_zip_directory;

/* Reads the whole directory, block by block. *directory is zero but for names.host. On failure the records
 * before the fault are there, and clear must be called all the same. NPYX_UNSUPPORTED for more than
 * NPYX_ZIP_MAX_NRECORDS.
 *
 * A source that begins as a zip may go on behind it. For one that is_prefixed, which begins as something
 * else, the end record has to be the last thing in it but its comment, and the offsets have to agree with
 * where the zip begins: NPYX_DONE when there is no such zip. */
npyx_status npyx_zip_directory_read(npyx_source *source, bool is_prefixed, npyx_zip_directory *directory,
                                    npyx_error *error);
void npyx_zip_directory_clear(npyx_zip_directory *directory);

/* Whether the record is of that name, as it stands in a zip. */
bool npyx_zip_name_is(const npyx_zip_record *record, const char *name, size_t nbytes, bool is_utf8);

/* How much of a record's file name is the array's: np.load shows it without `.npy`. */
size_t npyx_zip_array_name_nbytes(const npyx_zip_record *record);

#endif
