/*
 * A folder that paths are confined to, symbolic links and `..` included.
 *
 * Nothing is checked first and then opened: opening itself is confined, by openat2(2), or part by part where
 * the system has no such call or does not allow it. So it does not matter if someone swaps folders and links
 * in the meantime. Relative paths start in the folder. An absolute path is below it when it begins with the
 * folder's real path; a link's absolute target never is, wherever it leads. Anything mounted below the
 * folder, and a file's other names (hard links), are below it.
 *
 * The functions are open(2), stat(2) and so on, below the folder: they return -1 and set errno, to
 * EXDEV for a path that leads out.
 */
#ifndef NPYX_ROOT_H
#define NPYX_ROOT_H

#include "base/host.h"
#include "system.h"

typedef struct npyx_root {
    int descriptor; /* of the folder; -1: every path fails (EACCES) */
    char *path;     /* its real path without a trailing slash, so '' for `/`; the host's memory */
    bool walks;     /* part by part, even with openat2: for tests */
} npyx_root;

/* Every path fails: for a host that must not reach any files. */
extern const npyx_root npyx_root_of_nothing;

/* Opens the folder. NPYX_NOT_FOUND, NPYX_IO or NPYX_UNSUPPORTED (not a folder), with nothing to close. */
npyx_status npyx_root_open(npyx_root *root, npyx_host *host, const char *folder, npyx_error *error);
void npyx_root_close(npyx_root *root, npyx_host *host);

/* open(2), without O_CREAT. The descriptor is the caller's. */
int npyx_root_open_below(const npyx_root *root, const char *path, int flags);

/* stat(2), or unless it follows a last link, lstat(2). */
int npyx_root_stat(const npyx_root *root, const char *path, npyx_stat *found, bool follows);

/* readlink(2); EINVAL for anything but a link. */
ssize_t npyx_root_read_link(const npyx_root *root, const char *path, char *target, size_t capacity_nbytes);

#endif
