/*
 * The central directory of a zip, walked by minizip over an npyx_source.
 *
 * Debian's minizip 1.1 leaves gaps that are closed here: it does not parse the zip64 extra field of the
 * central directory, finds no end record behind a comment of 65,535 bytes or before trailing bytes, fails on
 * an archive without entries, trusts the entry count, and does not tell where a local header lies.
 */
#ifndef NPYX_ZIP_DIRECTORY_H
#define NPYX_ZIP_DIRECTORY_H

#include "host.h"
#include "source.h"

#pragma GCC visibility push(hidden)

enum { NPYX_ZIP_STORED = 0, NPYX_ZIP_DEFLATE = 8 };

/* More entries than any archive of arrays has; what is kept of one takes 88 bytes and three times its name.
 */
enum { NPYX_ZIP_MAX_NRECORDS = 1000000 };

/* General purpose flags (APPNOTE 4.4.4). */
enum {
    NPYX_ZIP_ENCRYPTED = 0x1,
    NPYX_ZIP_PATCHED = 0x20,
    NPYX_ZIP_STRONG_ENCRYPTION = 0x40,
    NPYX_ZIP_UTF8 = 0x800
};

typedef struct npyx_zip_record {
    const char *filename; /* UTF-8: as flagged, or converted from code page 437 */
    size_t filename_nbytes;
    uint32_t stored_name_nbytes; /* the bytes that the name takes in the zip */
    uint16_t method;
    uint16_t flags;
    uint32_t crc32;
    uint32_t dos_time;
    int64_t compressed_nbytes;
    int64_t nbytes;
    int64_t header_off; /* of the local header, from the start of the source */
    npyx_status status; /* NPYX_CORRUPT when the record contradicts itself: sizes and offset are then 0 */
} npyx_zip_record;

typedef struct npyx_zip_directory {
    npyx_arena names;
    npyx_zip_record *records;
    int64_t nrecords;
    int64_t capacity_nrecords;
    int64_t start_off; /* of the first record: local data end before it */
} npyx_zip_directory;

/* Reads the whole directory. *directory is zero but for names.host. On failure the records before the fault
 * are there, and clear is to be called all the same. NPYX_UNSUPPORTED for more than NPYX_ZIP_MAX_NRECORDS. */
npyx_status npyx_zip_directory_read(npyx_source *source, npyx_zip_directory *directory, npyx_error *error);
void npyx_zip_directory_clear(npyx_zip_directory *directory);

/* Finds the end record (APPNOTE 4.3.16): NPYX_DONE when there is none. *is_empty: it counts no entries. */
npyx_status npyx_zip_find_end(npyx_source *source, int64_t *end_off, bool *is_empty, npyx_error *error);

/* How much of a record's file name is the array's: np.load shows it without `.npy`. */
size_t npyx_zip_array_name_nbytes(const npyx_zip_record *record);

#pragma GCC visibility pop

#endif
