/*
 * The chunks of a .ten file (WebDataset's tenbin): `~TenBin~`, a byte count, a payload, padding of the
 * payload to 64 bytes. An array is a header chunk and a data chunk.
 */
#ifndef NPYX_HEADER_TEN_H
#define NPYX_HEADER_TEN_H

#include "array/view.h"

/* Where one array of a file is. Offsets count from the start of the file. */
typedef struct npyx_ten_array {
    int64_t header_off; /* of the header chunk's magic */
    int64_t data_off;
    int64_t end_off;  /* after the data, or the end of the file if that comes first */
    int64_t next_off; /* of the next header chunk; after the last array, at or beyond the file's end */
    char info[24];    /* without NULs at either end; UTF-8, with U+FFFD for invalid bytes */
    size_t info_nbytes;
} npyx_ten_array;

/* The dtype codes of the format. */
#define NPYX_TEN_CODES "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8"

/* Whether the file with these first bytes was written by a big-endian host: the format does not say, so it is
 * the byte order that makes the first count plausible. */
bool npyx_header_ten_is_big_endian(const uint8_t *bytes, size_t nbytes);

/* Reads the two chunk headers at off, which is inside the source, and describes the array (initialised; clear
 * it on failure, too). The data themselves are skipped, but their presence is checked: when only they are at
 * fault, array->is_known is true. */
npyx_status npyx_header_ten_read(npyx_source *source, int64_t off, bool is_big_endian, npyx_array *array,
                                 npyx_ten_array *ten, npyx_error *error);

#endif
