/*
 * What a file is, judging by its first bytes: a format of arrays, or something that people mistake for one or
 * could overwrite by accident, for error messages. Only certain matches are named.
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
/* Like a zlib stream (RFC 1950) with a window of 32 KiB. */
bool npyx_begins_zlib(const void *bytes, size_t nbytes);
/* Like a pickle of protocol 2 or later. bytes are its first NPYX_PICKLE_HEAD_NBYTES, or all of it if it is
 * shorter. */
enum { NPYX_PICKLE_HEAD_NBYTES = 11 };
bool npyx_begins_pickle(const void *bytes, size_t nbytes);
/* Like a GGUF file (ggml, docs/gguf.md: File Structure). */
bool npyx_begins_gguf(const void *bytes, size_t nbytes);
/* Like what torch.save wrote before it wrote zips: a pickle of a certain number. */
bool npyx_begins_torch(const void *bytes, size_t nbytes);

/* Whether they begin like a tar, with a header that has a name and a correct sum; and whether a block is a
 * tar header, judging only by its sum. */
enum { NPYX_TAR_BLOCK_NBYTES = 512 };
bool npyx_begins_tar(const void *bytes, size_t nbytes);
bool npyx_is_tar_header(const uint8_t block[NPYX_TAR_BLOCK_NBYTES]);

/* Whether all of at least one byte are zeros, as the blocks at the end of a tar are. */
static inline bool npyx_is_zeros(const uint8_t *bytes, size_t nbytes) {
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, nbytes - 1) == 0;
}

/* How much of a file's beginning is looked at: a tar header is a block of that size. */
enum { NPYX_LOOKALIKE_NBYTES = 512 };

/* head is the file's first NPYX_LOOKALIKE_NBYTES, or all of it. Returns a phrase to follow "is", such as `an
 * SQLite database` or `plain text`; NULL when unknown. Array files are not recognised here, except a zip,
 * which an .npz is, and a GGUF. */
const char *npyx_lookalike(const uint8_t *head, size_t nbytes);

/* `the bytes 93 4E 55 4D`: the first bytes of something unknown, at most four, for a message. */
enum { NPYX_FIRST_BYTES_NBYTES = 24 };
void npyx_first_bytes_text(const uint8_t *head, size_t nbytes, char text[NPYX_FIRST_BYTES_NBYTES]);

#endif
