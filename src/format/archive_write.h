/*
 * Writing .npz and .ten: arrays in a row into a sink, each streamed.
 *
 * A .npz is written by minizip: entries are named as by numpy.savez (`NAME.npy`), dated 1980-01-01 so that
 * the same arrays make the same bytes, UTF-8 with flag 0x800 where a name is not ASCII, zip64 where an array
 * may need it. A .ten is little-endian, in C order.
 */
#ifndef NPYX_ARCHIVE_WRITE_H
#define NPYX_ARCHIVE_WRITE_H

#include "archive.h"
#include "zip_write.h"

typedef struct npyx_archive_writer npyx_archive_writer;

/* How an .npz entry is stored. */
typedef struct npyx_zip_method {
    bool is_deflated;
    int level; /* zlib's, 0 to 9; -1 is its default, 6 */
} npyx_zip_method;

/* Reads `stored`, `deflate` or `deflate:9`. NPYX_INVALID. */
npyx_status npyx_zip_method_parse(const char *text, size_t nbytes, npyx_zip_method *method,
                                  npyx_error *error);

/* An array about to be written: in C order or, with fortran_order and never in a .ten, in Fortran order. */
typedef struct npyx_member {
    const char *name; /* UTF-8 */
    size_t name_nbytes;
    const npyx_dtype *dtype;
    int ndim;
    const int64_t *shape;
    bool fortran_order;
} npyx_member;

/* Writes to a sink, which stays the caller's and must outlive the writer. If the sink is not empty, it holds
 * an archive of that format, to which arrays are added. */
npyx_status npyx_archive_writer_open(npyx_sink *sink, npyx_format format, npyx_archive_writer **writer,
                                     npyx_error *error);

/* Begins an array. NPYX_INVALID for what the format cannot hold: in a .ten a name of more than 8 bytes or not
 * ASCII, a dtype other than its eleven; in an .npz a name that is taken, empty, contains a NUL or has more
 * than 65,531 bytes; objects in either. The header is written, too: append passes only the items. */
npyx_status npyx_archive_writer_begin(npyx_archive_writer *writer, const npyx_member *member,
                                      npyx_zip_method method, npyx_error *error);
/* Items in the dtype's own byte order (the writer swaps for a .ten); whole items, in pieces of any number. */
npyx_status npyx_archive_writer_append(npyx_archive_writer *writer, const void *items, int64_t nelem,
                                       npyx_error *error);
/* NPYX_INVALID unless the items were as many as the shape says. */
npyx_status npyx_archive_writer_end(npyx_archive_writer *writer, npyx_error *error);

/* Removes the array begun last, if it was not ended or failed: those before it stay, and the next one can
 * begin. */
npyx_status npyx_archive_writer_take_back(npyx_archive_writer *writer, npyx_error *error);

/* Completes what was written: the zip's directory. More arrays may still be added. */
npyx_status npyx_archive_writer_finish(npyx_archive_writer *writer, npyx_error *error);

/* The state of the archive at a moment between two arrays. */
typedef struct npyx_archive_mark {
    int64_t nbytes; /* of a zip: where its directory begins */
    int64_t narrays;
} npyx_archive_mark;

npyx_status npyx_archive_writer_mark(npyx_archive_writer *writer, npyx_archive_mark *mark, npyx_error *error);
/* Removes everything after the mark, an unfinished array, too. Later marks become void. */
npyx_status npyx_archive_writer_return(npyx_archive_writer *writer, const npyx_archive_mark *mark,
                                       npyx_error *error);

/* Accepts NULL. */
void npyx_archive_writer_close(npyx_archive_writer *writer);

#endif
