/*
 * Access to the file system: nothing else opens or looks up a path, so that a host's root confines all paths;
 * and what the system says about files, as this codec's errors and values.
 */
#ifndef NPYX_FILE_SYSTEM_H
#define NPYX_FILE_SYSTEM_H

#include "system.h"

#include "root.h"
#include "source.h"

_Static_assert(sizeof(off_t) == 8,
               "files beyond 2 GiB: on a 32-bit host, add -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64");

/* open(2), without O_CREAT: -1 and errno on failure. The descriptor is the caller's. */
int npyx_path_open(const npyx_host *host, const char *path, int flags);

/* stat(2): links are followed. */
int npyx_path_stat(const npyx_host *host, const char *path, npyx_stat *found);

/* Whether an errno means that there is nothing at a path that this process could read: it is missing,
 * forbidden, or leads nowhere. Anything else is a fault, and must not be mistaken for that. */
bool npyx_errno_is_absence(int errno_value);

/* Whether something is at the path; a link counts, wherever it leads. */
npyx_status npyx_path_exists(const npyx_host *host, const char *path, bool *exists, npyx_error *error);

/* readlink(2): EINVAL for anything but a link. */
ssize_t npyx_path_read_link(const npyx_host *host, const char *path, char *target, size_t capacity_nbytes);

/* lstat(2) of an entry of an open folder, by name. */
int npyx_entry_stat(int folder, const char *name, npyx_stat *found);

/* npyx_fail_errno for a path that could not be opened or looked up: says so when it leads out of the root. */
npyx_status npyx_path_fail(const npyx_host *host, npyx_error *error, int errno_value, const char *what);

/* What to say of a path at which nothing was found and which a shell would have changed first (`~/x`,
 * `$HOME/x`): a hint in parentheses, with a space before it; "" for any other. */
const char *npyx_path_unexpanded(const char *path);

/* pread(2) until nbytes are read or the file ends, as *read_nbytes says. A failure is `what (the reason)`.
 * With a host the calls are counted, and between pieces of a long read it is asked whether to stop. */
npyx_status npyx_descriptor_read(npyx_host *host, int descriptor, int64_t off, void *bytes, size_t nbytes,
                                 size_t *read_nbytes, const char *what, npyx_error *error);

/* Copies the first nbytes of one open file into another, empty one: by sharing blocks, within the kernel or
 * the file server, or else, or if plainly, by reading and writing. Holes stay holes. Between pieces the host
 * is asked whether to stop. */
npyx_status npyx_descriptor_copy(npyx_host *host, int from, int to, int64_t nbytes, bool plainly,
                                 npyx_error *error);

/* ftruncate(2): the file becomes nbytes long. A failure is `what (the reason)`. */
npyx_status npyx_descriptor_cut(int descriptor, int64_t nbytes, const char *what, npyx_error *error);

/* fstat(2). */
npyx_status npyx_descriptor_stat(int descriptor, npyx_stat *found, npyx_error *error);

/* close(2) unless *descriptor is -1, which it is afterwards. */
void npyx_descriptor_close(int *descriptor);

/* NPYX_UNSUPPORTED, with what it is, for anything but a regular file. */
npyx_status npyx_file_check_regular(const npyx_stat *found, npyx_error *error);

npyx_file_info npyx_file_info_of_stat(const npyx_stat *found);

#endif
