/*
 * Members of a tar, byte for byte as WebDataset's ShardWriter writes them with mtime=0: ustar, and a pax
 * header before a member whose name is not ASCII or has more than 100 bytes.
 *
 *     [ pax header 512 | `LENGTH path=NAME\n`, padded ] header 512 | contents, padded to 512 | ... | zeros
 *
 * Sources: webdataset, writer.py, TarWriter.write; CPython, Lib/tarfile.py, create_pax_header; POSIX.1-2017,
 * pax, "ustar Interchange Format" and "pax Extended Header".
 */
#ifndef NPYX_TAR_WRITE_H
#define NPYX_TAR_WRITE_H

#include "io/sink.h"

/* Appends a member: a regular file of mode 0444, owned by bigdata, with a UTF-8 name. On failure the sink is
 * as long as before, unless cutting it fails, too. Errors are the sink's; NPYX_TOOBIG for contents beyond 8
 * GiB, for which ustar has no number. */
npyx_status npyx_tar_write_member(npyx_sink *sink, const char *name, size_t name_nbytes, const void *contents,
                                  size_t nbytes, npyx_error *error);

/* Appends the end: two blocks of zeros, and more to fill a record of 10,240 bytes. */
npyx_status npyx_tar_write_end(npyx_sink *sink, npyx_error *error);

/* Whether WebDataset would read a sample of that key back as one of that key, with any extensions that have
 * no part changing it: NPYX_INVALID for a key that is empty, absolute, leads out of the tar (`..`), has a dot
 * after its last slash, or is skipped; or that would make the tar begin like another archive. */
npyx_status npyx_tar_check_key(const char *key, size_t nbytes, npyx_error *error);

#endif
