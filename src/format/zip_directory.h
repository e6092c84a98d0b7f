/*
 * The central directory of a zip, read as by Python's zipfile.
 *
 * The end record is at the end of the file and says how long the directory before it is; bytes that the
 * offsets leave over precede the zip. zip64's end record takes precedence, and counts and the end record's
 * disk numbers are not trusted. Names are decoded, zip64's sizes and offsets resolved; local headers are not
 * looked at.
 */
#ifndef NPYX_ZIP_DIRECTORY_H
#define NPYX_ZIP_DIRECTORY_H

#include "io/source.h"

enum { NPYX_ZIP_STORED = 0, NPYX_ZIP_DEFLATE = 8 };

/* More entries than any archive of arrays has; each takes 80 bytes in memory and three times its name. */
enum { NPYX_ZIP_MAX_NRECORDS = 1000000 };

/* APPNOTE 4.3.16, 4.3.15, 4.3.14 and 4.3.12: the size of each without name, extra field and comment. */
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

/* What the zip says about an entry (APPNOTE 4.3.12); zip64 sizes resolved. */
typedef struct npyx_zip_record {
    const char *filename; /* UTF-8: as flagged, or converted from code page 437 */
    size_t filename_nbytes;
    uint32_t whole_name_nbytes;  /* with what follows a NUL */
    uint16_t stored_name_nbytes; /* the bytes of the name in the zip */
    uint16_t method;             /* 0 stored, 8 deflate; others are listed but not read */
    uint16_t flags;
    uint32_t crc32;
    uint32_t dos_time;  /* MS-DOS date and time */
    npyx_status status; /* NPYX_CORRUPT when the record contradicts itself: sizes are then 0 */
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
    int64_t prefix_nbytes; /* at the start of the source, not counted by the zip's own offsets */
    int64_t tail_nbytes;   /* after the end record and its comment */
} npyx_zip_directory;

/* Reads the whole directory, block by block. *directory is zero except for names.host. On failure the records
 * before the fault are there, and clear must still be called. NPYX_UNSUPPORTED for more than
 * NPYX_ZIP_MAX_NRECORDS.
 *
 * A source that begins as a zip may continue after it. In one that is_prefixed, which begins as something
 * else, only a comment may follow the end record, and the offsets must agree with where the zip begins:
 * NPYX_DONE when there is no such zip. */
npyx_status npyx_zip_directory_read(npyx_source *source, bool is_prefixed, npyx_zip_directory *directory,
                                    npyx_error *error);
void npyx_zip_directory_clear(npyx_zip_directory *directory);

/* Whether the record has that name, as spelled in a zip. */
bool npyx_zip_name_is(const npyx_zip_record *record, const char *name, size_t nbytes, bool is_utf8);

/* How much of a record's file name is the array's: np.load shows it without `.npy`. */
size_t npyx_zip_array_name_nbytes(const npyx_zip_record *record);

#endif
