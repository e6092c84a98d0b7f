/*
 * Writing .npz and .ten: arrays one after the other into a sink, each streamed.
 *
 * A .npz is written by minizip: entries are named as numpy.savez names them (`NAME.npy`), dated 1980-01-01 so
 * that the same arrays make the same bytes, UTF-8 with flag 0x800 where a name is not ASCII, zip64 where an
 * array may need it. A .ten is little-endian, in C order.
 */
#ifndef NPYX_ARCHIVE_WRITE_H
#define NPYX_ARCHIVE_WRITE_H

#include "archive.h"
#include "io/sink.h"

typedef struct npyx_archive_writer npyx_archive_writer;

/* How an .npz entry is stored. */
typedef struct npyx_zip_method {
    bool is_deflated;
    int level; /* zlib's, 0 to 9; -1 is its default, 6 */
} npyx_zip_method;

/* Reads `stored`, `deflate` or `deflate:9`. NPYX_INVALID. */
npyx_status npyx_zip_method_parse(const char *text, size_t nbytes, npyx_zip_method *method,
                                  npyx_error *error);

/* An array that is about to be written: in C order or, with fortran_order and never in a .ten, in Fortran
 * order. */
typedef struct npyx_member {
    const char *name; /* UTF-8 */
    size_t name_nbytes;
    const npyx_dtype *dtype;
    int ndim;
    const int64_t *shape;
    bool fortran_order;
} npyx_member;

/* Writes to a sink, which stays the caller's and outlives the writer. What the sink holds already is an
 * archive of that format, to which arrays are added; nothing at all is an empty one. */
npyx_status npyx_archive_writer_open(npyx_sink *sink, npyx_format format, npyx_archive_writer **writer,
                                     npyx_error *error);

/* Begins an array. NPYX_INVALID for what the format does not hold: in a .ten a name of more than 8 bytes or
 * not ASCII, a dtype other than its eleven; in an .npz a name that is there already, an empty one, one with a
 * NUL or over 65,531 bytes; objects in either. The header is written too: append gives the items alone. */
npyx_status npyx_archive_writer_begin(npyx_archive_writer *writer, const npyx_member *member,
                                      npyx_zip_method method, npyx_error *error);
/* Items in the dtype's own byte order (the writer swaps for a .ten); whole items, in pieces of any number. */
npyx_status npyx_archive_writer_append(npyx_archive_writer *writer, const void *items, int64_t nelem,
                                       npyx_error *error);
/* NPYX_INVALID when the items were not as many as the shape says. */
npyx_status npyx_archive_writer_end(npyx_archive_writer *writer, npyx_error *error);

/* Takes out the array that was begun last, if it was not ended or failed: those before it stay, and the next
 * one can begin. */
npyx_status npyx_archive_writer_take_back(npyx_archive_writer *writer, npyx_error *error);

/* Makes what was written whole: the zip's directory. Arrays may be added behind it all the same. */
npyx_status npyx_archive_writer_finish(npyx_archive_writer *writer, npyx_error *error);

/* How far the archive was at some moment between two arrays; to be cleared. */
typedef struct npyx_archive_mark {
    int64_t nbytes;
    int64_t narrays;
    npyx_buffer directory; /* the zip's, as it is written behind nbytes */
} npyx_archive_mark;

npyx_status npyx_archive_writer_mark(npyx_archive_writer *writer, npyx_archive_mark *mark, npyx_error *error);
/* Takes out all that came after the mark; an array in the middle of being written too. */
npyx_status npyx_archive_writer_return(npyx_archive_writer *writer, const npyx_archive_mark *mark,
                                       npyx_error *error);
void npyx_archive_mark_clear(npyx_archive_mark *mark);

/* Takes NULL. */
void npyx_archive_writer_close(npyx_archive_writer *writer);

#endif
