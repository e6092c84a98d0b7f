/*
 * What a file is, told by its first bytes: a format of arrays, or what people take for one or could overwrite
 * by mistake, for error messages. Only what is sure is named.
 */
#ifndef NPYX_FIRST_BYTES_H
#define NPYX_FIRST_BYTES_H

#include "base/status.h"

/* Whether bytes begin like a .npy (numpy/lib/format.py, MAGIC_PREFIX), like a chunk of a .ten (webdataset,
 * tenbin.py), like a zip archive (APPNOTE 4.3.7, 4.3.14, 4.3.16: a member, or the end of an empty one) or
 * like a gzip file (RFC 1952, 2.3.1). */
bool npyx_begins_npy(const void *bytes, size_t nbytes);
bool npyx_begins_ten(const void *bytes, size_t nbytes);
bool npyx_begins_zip(const void *bytes, size_t nbytes);
bool npyx_begins_gzip(const void *bytes, size_t nbytes);
/* Like a safetensors file: with the length of a header and its first brace (README, Format). */
bool npyx_begins_safetensors(const void *bytes, size_t nbytes);

/* Whether they begin like a tar: with a header that has a name and whose sum is right. And whether a block is
 * a tar's header, by its sum alone. */
enum { NPYX_TAR_BLOCK_NBYTES = 512 };
bool npyx_begins_tar(const void *bytes, size_t nbytes);
bool npyx_is_tar_header(const uint8_t block[NPYX_TAR_BLOCK_NBYTES]);

/* As much of a file's beginning as is looked at: a tar header is a block of that size. */
enum { NPYX_LOOKALIKE_NBYTES = 512 };

/* head is the file's first nbytes, NPYX_LOOKALIKE_NBYTES of them or all that there are. A phrase that goes
 * after "is", such as `an SQLite database` or `plain text`; NULL for what is not known. Array files are not
 * known here, but for a zip, which an .npz is. */
const char *npyx_lookalike(const uint8_t *head, size_t nbytes);

/* `the bytes 93 4E 55 4D`: the first of what is not known, four at most, for a message. */
enum { NPYX_FIRST_BYTES_NBYTES = 24 };
void npyx_first_bytes_text(const uint8_t *head, size_t nbytes, char text[NPYX_FIRST_BYTES_NBYTES]);

#endif
