/*
 * Handles: BLOBs of some 50 bytes that stand for an array of a file, for functions that may not open files by
 * name.
 *
 * Only npy_file makes them. A handle carries a MAC under a secret of its connection, so that no database, nor
 * anyone else who hands BLOBs to a query, can make one that names a file; what is in it is not secret. It is
 * plain bytes: it goes through CTEs, sorting and temporary tables as any value does.
 */
#ifndef NPYEXT_HANDLE_H
#define NPYEXT_HANDLE_H

#include "npyx.h"

/* A connection's secret. */
typedef struct npyext_handle_key {
    uint8_t bytes[NPYX_SIPHASH_KEY_NBYTES];
} npyext_handle_key;

/* What a handle says. */
typedef struct npyext_handle {
    const char *path; /* borrowed from the handle; no NUL behind */
    size_t path_nbytes;
    int64_t index; /* of the entry */
    uint64_t stamp;
} npyext_handle;

/* What tells a file's contents from other ones at the same path. */
uint64_t npyext_handle_stamp(const npyext_handle_key *key, const npyx_file_info *info);

/* Whether the file is still the one of that stamp. */
npyx_status npyext_handle_check(const npyext_handle_key *key, uint64_t stamp, const npyx_file_info *info,
                                npyx_error *error);

/* Appends the handle's bytes. Look at out->status behind it. */
void npyext_handle_append(const npyext_handle_key *key, const npyext_handle *handle, npyx_buffer *out);

/* Whether bytes begin as a handle's; no .npy, .npz or .ten file does. */
bool npyext_handle_is_like(const void *bytes, size_t nbytes);

/* Reads a handle that was made with this key; false for any other bytes. */
bool npyext_handle_read(const npyext_handle_key *key, const void *bytes, size_t nbytes,
                        npyext_handle *handle);

#endif
