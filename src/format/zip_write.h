/*
 * A zip written by minizip over an npyx_sink.
 *
 * Debian's minizip 1.1 loses memory when one of its writes fails: they never do here. What went wrong is
 * kept, what is written after that is dropped, and every call answers with it.
 */
#ifndef NPYX_ZIP_WRITE_H
#define NPYX_ZIP_WRITE_H

#include "io/sink.h"

typedef struct npyx_zip_write {
    npyx_sink *sink;       /* borrowed */
    void *zip;             /* minizip's; NULL: the sink holds a whole zip, or nothing */
    int64_t directory_off; /* of such a whole zip */
    bool is_empty;         /* it has no entries */
    int64_t off;           /* where minizip reads or writes next */
    int64_t entry_off;     /* where the entry begins that was begun last */
    bool is_dropping;
    npyx_buffer *taken; /* where to all is written at this moment, instead of the sink; NULL: it is not */
    npyx_error error;   /* its status is NPYX_OK as long as all went well */
} npyx_zip_write;

enum { NPYX_ZIP_STORE = -2 };

/* Begins an entry, of a file name of at most 65,535 bytes of UTF-8, of which nbytes will follow. level is
 * zlib's, -1 to 9; NPYX_ZIP_STORE: not deflated. A zip that is whole is opened again, and what stands from
 * its directory on cut off. */
npyx_status npyx_zip_write_begin(npyx_zip_write *writer, const char *filename, int level, int64_t nbytes,
                                 npyx_error *error);

/* Polls the host. */
npyx_status npyx_zip_write_append(npyx_zip_write *writer, const void *bytes, size_t nbytes,
                                  npyx_error *error);
npyx_status npyx_zip_write_end(npyx_zip_write *writer, npyx_error *error);

/* Makes the zip whole: writes its directory. */
npyx_status npyx_zip_write_finish(npyx_zip_write *writer, npyx_error *error);

/* Takes out the entry that was begun last and not ended, or that failed: makes the zip whole with its first
 * nentries alone. When nothing was begun it does nothing. */
npyx_status npyx_zip_write_take_back(npyx_zip_write *writer, int64_t nentries, npyx_error *error);

/* Leaves the first nentries of a directory, with what follows its records, to be put at directory_off. False
 * when it is not one, or has fewer. */
bool npyx_zip_keep_entries(npyx_buffer *directory, int64_t nentries, int64_t directory_off);

/* NPYX_INVALID, saying why, for a zip that no writer of arrays has made: it is not to be replaced. The
 * descriptor is that of a file of nbytes, open for reading, and stays the caller's. */
npyx_status npyx_zip_check_replaceable(npyx_host *host, int descriptor, int64_t nbytes, npyx_error *error);

/* Lets go of a zip that is not whole, and of what went wrong; the sink must be cut then. */
void npyx_zip_write_drop(npyx_zip_write *writer);

#endif
