/*
 * The headers of arrays, in a .npy and in a .ten.
 *
 * That of a .npy (numpy.lib.format; NEP 1) is magic, version, length, and a Python dict. It is written byte
 * for byte like numpy.save's.
 */
#ifndef NPYX_HEADER_H
#define NPYX_HEADER_H

#include "array/view.h"
#include "io/sink.h"
#include "text/literal.h"

/* NumPy refuses more than 10,000 characters because it evaluates them; this parser only has to stay bounded.
 */
enum { NPYX_HEADER_NPY_MAX_NBYTES = NPYX_LITERAL_NBYTES };

/* A first read of this size holds most headers: NumPy pads to a multiple of 64 and seldom needs 192. */
enum { NPYX_HEADER_NPY_USUAL_NBYTES = 512 };

/* From the first bytes of a file: the length of the header, prefix included. NPYX_CORRUPT when bytes is too
 * short for a prefix, the version unknown or the length beyond NPYX_HEADER_NPY_MAX_NBYTES. */
npyx_status npyx_header_npy_measure(const uint8_t *bytes, size_t nbytes, size_t *header_nbytes,
                                    npyx_error *error);

/* Describes the array whose header, of header_nbytes as measured, is in bytes. *array is initialised; on
 * failure it may be partly filled, and must still be cleared. */
npyx_status npyx_header_npy_parse(const uint8_t *bytes, size_t header_nbytes, npyx_array *array,
                                  npyx_error *error);

/* The same from a source that begins with the header; head holds its first bytes, already read: at least 12,
 * if the source has as many. Does not look at the data. */
npyx_status npyx_header_npy_read(npyx_source *source, const uint8_t *head, size_t head_nbytes,
                                 npyx_array *array, npyx_error *error);

/* Appends the header, magic included, of an array whose items follow in C order or, with fortran_order, in
 * Fortran order. NumPy says the latter only of what is not in C order, too: never for fewer than two
 * dimensions, for no items, or for 1 x N. Check out->status afterwards. */
void npyx_header_npy_append(const npyx_dtype *dtype, int ndim, const int64_t *shape, bool fortran_order,
                            npyx_buffer *out);

/* The same into a sink. */
npyx_status npyx_header_npy_write(const npyx_dtype *dtype, int ndim, const int64_t *shape, bool fortran_order,
                                  npyx_sink *sink, npyx_error *error);

/* Appends a header of exactly header_nbytes with the given major version, to overwrite one of an array of
 * another length, in C order: numpy.save's if that has the size, otherwise the same with as many blanks as
 * there is room for. NPYX_INVALID when there is too little. */
npyx_status npyx_header_npy_append_fitted(const npyx_dtype *dtype, int ndim, const int64_t *shape,
                                          int version_major, size_t header_nbytes, npyx_buffer *out,
                                          npyx_error *error);

/* Whether an array in Fortran order is called that: not when that is C order, too. */
bool npyx_header_npy_is_fortran(int ndim, const int64_t *shape, bool fortran_order);

/* ---- .ten ----
 *
 * The chunks of a .ten file (WebDataset's tenbin): `~TenBin~`, a byte count, a payload, padding of the
 * payload to 64 bytes. An array is a header chunk and a data chunk. */

/* Where one array of a file is. Offsets count from the start of the file. */
typedef struct npyx_ten_array {
    int64_t header_off; /* of the header chunk's magic */
    int64_t data_off;
    int64_t end_off;      /* after the data, or the end of the file if that comes first */
    int64_t next_off;     /* of the next header chunk; after the last array, at or beyond the file's end */
    char info[8 * 3 + 1]; /* without NULs at either end; UTF-8, with U+FFFD for invalid bytes */
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
