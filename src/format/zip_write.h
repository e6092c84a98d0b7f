/*
 * A zip written by minizip over an npyx_sink.
 *
 * Debian's minizip 1.1 loses memory when one of its writes fails, so here they never do. An error is kept,
 * what is written after it is dropped, and every call returns it.
 */
#ifndef NPYX_ZIP_WRITE_H
#define NPYX_ZIP_WRITE_H

#include "io/sink.h"

typedef struct npyx_zip_write {
    npyx_sink *sink;       /* borrowed */
    void *zip;             /* minizip's; NULL: the sink holds a complete zip, or nothing */
    int64_t directory_off; /* of such a complete zip */
    bool is_empty;         /* it has no entries */
    int64_t off;           /* where minizip reads or writes next */
    int64_t entry_off;     /* where the last begun entry begins */
    bool is_dropping;
    npyx_buffer *taken; /* receives everything written, instead of the sink; NULL: the sink does */
    npyx_error error;   /* its status is NPYX_OK while all goes well */
} npyx_zip_write;

enum { NPYX_ZIP_STORE = -2 };

/* Begins an entry, with a file name of at most 65,535 bytes of UTF-8, to be followed by nbytes. level is
 * zlib's, -1 to 9; NPYX_ZIP_STORE: not deflated. A complete zip is reopened, and everything from its
 * directory on is cut off. */
npyx_status npyx_zip_write_begin(npyx_zip_write *writer, const char *filename, int level, int64_t nbytes,
                                 npyx_error *error);

/* Polls the host. */
npyx_status npyx_zip_write_append(npyx_zip_write *writer, const void *bytes, size_t nbytes,
                                  npyx_error *error);
npyx_status npyx_zip_write_end(npyx_zip_write *writer, npyx_error *error);

/* Completes the zip: writes its directory. */
npyx_status npyx_zip_write_finish(npyx_zip_write *writer, npyx_error *error);

/* Removes the entry begun last, if it was not ended or failed: completes the zip with only its first
 * nentries. Does nothing if none was begun. */
npyx_status npyx_zip_write_take_back(npyx_zip_write *writer, int64_t nentries, npyx_error *error);

/* Keeps the first nentries of a directory, and what follows its records, for a place at directory_off. False
 * when it is not a directory, or has fewer. */
bool npyx_zip_keep_entries(npyx_buffer *directory, int64_t nentries, int64_t directory_off);

/* NPYX_INVALID, with the reason, unless a writer of arrays made the zip: no other may be replaced. The
 * descriptor is open for reading, of a file of nbytes bytes; the caller closes it. */
npyx_status npyx_zip_check_replaceable(npyx_host *host, int descriptor, int64_t nbytes, npyx_error *error);

/* Drops an incomplete zip and its error; the sink must then be cut. */
void npyx_zip_write_drop(npyx_zip_write *writer);

#endif
