/*
 * Members of a tar as WebDataset's ShardWriter writes them with mtime=0, byte for byte: ustar, and a pax
 * header before a member whose name is not ASCII or has more than 100 bytes.
 *
 *     [ pax header 512 | `LENGTH path=NAME\n`, filled up ] header 512 | contents, filled up to 512 | ... |
 * zeros
 *
 * Sources: webdataset, writer.py, TarWriter.write; CPython, Lib/tarfile.py, create_pax_header; POSIX.1-2017,
 * pax, "ustar Interchange Format" and "pax Extended Header".
 */
#ifndef NPYX_TAR_WRITE_H
#define NPYX_TAR_WRITE_H

#include "io/sink.h"

/* Appends a member: a regular file of mode 0444, of bigdata, whose name is UTF-8. When it fails the sink is
 * as long as before, unless that fails, too. Errors are the sink's; NPYX_TOOBIG for contents beyond 8 GiB,
 * which ustar has no number for. */
npyx_status npyx_tar_write_member(npyx_sink *sink, const char *name, size_t name_nbytes, const void *contents,
                                  size_t nbytes, npyx_error *error);

/* Appends the end: two blocks of zeros, and more up to a record of 10,240 bytes. */
npyx_status npyx_tar_write_end(npyx_sink *sink, npyx_error *error);

/* Whether WebDataset would read a sample of that key, in whose parts no extension changes it, as one of that
 * key: NPYX_INVALID for a key that is empty, absolute, leads out of the tar (`..`), has a dot behind its last
 * slash, or is one that is passed over; or with which the tar would begin as another archive does. */
npyx_status npyx_tar_check_key(const char *key, size_t nbytes, npyx_error *error);

#endif
